"""Certificates, states, cases and links that were changed: `python -m proofs_tests.campaigns.tampered`.

Each is refused, or means the same: what a certificate that is accepted claims is true, a state that is restored is the
one that was saved, and the cases of a suite, and what the playground shows of a link, are the matches of the plain
definition.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import click

from cerify.api import contained, equivalent, read_query
from cerify.conformance.cases import case_of_line
from cerify.conformance.oracle import second_opinion, stream_of
from cerify.equivalence.verdict import Certificate, Contained, Equivalent
from cerify.languages import LANGUAGES, language_named
from cerify.playground.session import answer, stream_in
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError, InputWarning, QueryWarning
from proofs_tests.fuzz.run import changed
from proofs_tests.fuzz.targets import certificates, links, restored, states, suite
from proofs_tests.robustness import store

BUDGET = Budget(states=2_000, valuations=20_000, matches=2_000, seconds=5)


class Believed(AssertionError):
    """A changed text was accepted and means something that is not so."""


@cache
def certified() -> frozenset[tuple[Any, ...]]:
    """What the certificates claim that are changed."""
    return frozenset(claim_of(Certificate.from_json(data.decode())) for data in certificates())


def certificate(data: bytes) -> str:
    """Refused, or the claim is decided anew."""
    found = Certificate.from_json(data.decode("utf-8", "surrogateescape"))
    if language_named(found.language).deciders.flaw(found, BUDGET) is not None:
        return "refused"
    if claim_of(found) in certified():
        return "with the same claim"
    decide, yes = (equivalent, Equivalent) if found.claim == "equivalent" else (contained, Contained)
    verdict = decide(
        found.left,
        found.right,
        level=found.level,
        schema=found.schema,
        budget=BUDGET,
        languages=(found.language,) * 2,
        order=found.order,
        arrays=found.arrays,
    )
    if not isinstance(verdict, yes | Equivalent):
        raise Believed(f"{found.claim}: {found.left!r}, {found.right!r}: {type(verdict).__name__}")
    return "with another claim, which is true"


def claim_of(found: Certificate) -> tuple[Any, ...]:
    """What a certificate claims."""
    return found.claim, found.left, found.right, found.level, found.schema, found.language, found.order, found.arrays


def state(data: bytes) -> str:
    """Refused, or restored as it was saved."""
    taken = list(restored(lambda evaluator: data))
    if any(evaluator.save() not in states() for evaluator in taken):
        raise Believed("another state")
    return "leave the state as it was"


def lines() -> Sequence[bytes]:
    """Some cases of suites, one each."""
    return [line for text in suite() for line in text.splitlines()]


def case(data: bytes) -> str:
    """Refused, or its matches are those of the plain definition."""
    found = case_of_line(data.decode("utf-8"), "the suite")
    query = LANGUAGES[found.language].syntax.parse(found.query)
    second = second_opinion(found.language, query, stream_of(found), found.output)
    if second is not None and second != set(found.matches):
        raise Believed(f"{found.query} over {found.events}: {found.matches}, not {second}")
    return "cases that are right"


def link(data: bytes) -> str:
    """Refused with a message, or what the page then says of its query, and of two, is so."""
    text = data.decode("utf-8", "replace")  # as a browser decodes it
    found = json.loads(answer(text))
    if "error" in found:
        if found["error"]["code"] == "internal":
            raise Believed(found["error"]["message"])
        return "refused"
    asked = json.loads(text)
    if asked["do"] == "evaluate" and not found["more"]:
        _, query = read_query(asked["query"], asked["language"])
        header, *rows = asked["stream"]
        S = stream_in("the stream", header, rows, [f"event {n}" for n in range(len(rows))])
        expected = second_opinion(asked["language"], query, S, "matches")
        shown = {(one["at"], tuple(one["events"])) for one in found["matches"]}
        if expected is not None and shown != {(one.at, one.events) for one in expected}:
            raise Believed(f"{asked['query']}: {shown}, not {expected}")
        return "shown with the right matches"
    return "shown"


KINDS: dict[str, tuple[Callable[[], Sequence[bytes]], Callable[[bytes], str]]] = {
    "certificate": (certificates, certificate),
    "state": (states, state),
    "suite": (lines, case),
    "link": (links, link),
}


def tampered(data: bytes, others: Sequence[bytes], rng: Random) -> bytes:
    """The text with some bytes changed, or, if it is JSON, half of the time with some of its values changed."""
    with suppress(ValueError):
        if rng.random() < 0.5:
            return json.dumps(edited(json.loads(data), rng), ensure_ascii=False).encode()
    return changed(data, rng.choice(others), rng)


def edited(value: Any, rng: Random) -> Any:
    """JSON with one value changed: a number by one, a text by one of its words, a list by an entry."""
    if isinstance(value, dict) and value:
        name = rng.choice(list(value))
        return value | {name: edited(value[name], rng)}
    if isinstance(value, list) and value:
        i = rng.randrange(len(value))
        how = rng.randrange(4)
        new = [edited(value[i], rng)] if how > 1 else [] if how else [value[i], value[i]]
        return [*value[:i], *new, *value[i + 1 :]]
    if isinstance(value, bool) or value is None:
        return rng.choice((True, False, None))
    if isinstance(value, int | float):
        return value + rng.choice((-1, 1, 10, 0.5))
    if isinstance(value, str) and (words := value.split(" ")):
        i = rng.randrange(len(words))
        words[i] = rng.choice([*words, "A", "B", "OR", "AND", ";", "1", ""])
        return " ".join(words)
    return rng.choice((0, "A", [], {}))


def tried(name: str, edits: int, seed: int) -> tuple[Counter[str], list[str]]:
    """How many edits of a kind had which outcome, and what was believed, or ended in an error that is not typed."""
    originals, judge = KINDS[name]
    good, rng, counted = originals(), Random(f"{seed}/{name}"), Counter[str]()
    wrong: list[str] = []
    for _ in range(edits):
        data = tampered(rng.choice(good), good, rng)
        try:
            outcome = judge(data)
        except (CerifyError, UnicodeDecodeError) as error:
            outcome = "refused"
            if getattr(error, "code", "") == "internal":
                wrong.append(f"{error}: {data!r}")
        except Exception as error:
            outcome = "WRONG"
            wrong.append(f"{type(error).__name__}: {error}: {data!r}")
        counted[outcome] += 1
    return counted, wrong


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(list(KINDS)))
@click.option("--edits", default=100_000, show_default=True, help="Of each kind.")
@click.option("--seed", default=1, show_default=True)
@click.option("--store", "stores", is_flag=True, help="Add the figures to docs/findings/robustness.json.")
def main(kinds: tuple[str, ...], edits: int, seed: int, stores: bool) -> None:
    """One line for each kind, and one for each edit that is believed; status 1 if there is any."""
    for category in (InputWarning, QueryWarning):
        warnings.simplefilter("ignore", category)
    failed = False
    for name in kinds or KINDS:
        began = time.process_time()
        counted, wrong = tried(name, edits, seed)
        failed |= bool(wrong)
        for line in wrong:
            click.echo(f"{name}: {line}")
        if stores:
            figures = {"edits": edits, "outcomes": dict(sorted(counted.items())), "seed": seed}
            store("tampered", name, figures | {"seconds": round(time.process_time() - began)})
        click.echo(f"{name}: {', '.join(f'{n:,} {what}' for what, n in sorted(counted.items()))}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
