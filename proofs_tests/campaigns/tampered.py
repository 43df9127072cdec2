"""Certificates, states, suites and campaign files that were changed: `python -m proofs_tests.campaigns.tampered`.

Each is refused, or means the same: what a certificate that is accepted claims is true, a state that is restored is the
one that was saved, and the cases of a suite have the matches of the plain definition.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from random import Random
from typing import Any

import click

from cerify.api import compile, contained, equivalent
from cerify.conformance.cases import case_of_line
from cerify.conformance.oracle import stream_of
from cerify.conformance.second_opinion import second_opinion
from cerify.equivalence.decide.certificate import Certificate
from cerify.equivalence.verdict import Contained, Equivalent
from cerify.languages import LANGUAGES, language_named
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event
from proofs_tests.fuzz.run import changed
from proofs_tests.fuzz.targets import suite

BUDGET = Budget(states=2_000, valuations=20_000, matches=2_000, seconds=5)
CLAIMS = (
    ("(A ; B) OR (A ; C)", "A ; (B OR C)", "cel"),
    ("A+ ; B", "(A OR (A+ ; A)) ; B", "cel"),
    ("A FILTER A.x > 1 AND A.x > 2", "A FILTER A.x > 2", "cel"),
    ("NXT(A ; B)", "NXT((A ; B) OR (A ; B))", "cel"),
    ("!(!A and !B)", "A or B", "event-expression"),
    ("relative(A, B) or relative(A, C)", "relative(A, B or C)", "event-expression"),
)
EVALUATORS = (("A ; B+ WITHIN 9 EVENTS", "kernel"), ("(A IN X ; B) PARTITION BY [x]", "automaton"))
EVENTS = [Event("A", {"x": 1}), Event("B", {"x": 1}), Event("A", {"x": 2}), Event("B", {"x": 2}), Event("B", {"x": 1})]


class Believed(AssertionError):
    """A changed text was accepted and means something that is not so."""


@cache
def certificates() -> Sequence[bytes]:
    """Some certificates."""
    verdicts = [equivalent(a, b, languages=(name, name)) for a, b, name in CLAIMS]
    return [v.certificate.to_json().encode() for v in verdicts if isinstance(v, Equivalent)]


def certificate(data: bytes) -> str:
    """Refused, or the claim is decided anew."""
    found = Certificate.from_json(data.decode("utf-8", "surrogateescape"))
    if language_named(found.language).flaw(found, BUDGET) is not None:
        return "refused"
    if data in certificates() or claim_of(found) in {
        claim_of(Certificate.from_json(c.decode())) for c in certificates()
    }:
        return "the same claim"
    decide, yes = (equivalent, Equivalent) if found.claim == "equivalent" else (contained, Contained)
    verdict = decide(
        found.left, found.right, level=found.level, schema=found.schema, budget=BUDGET, languages=(found.language,) * 2
    )
    if not isinstance(verdict, yes | Equivalent):
        raise Believed(f"{found.claim}: {found.left!r}, {found.right!r}: {type(verdict).__name__}")
    return "another claim, which is true"


def claim_of(found: Certificate) -> tuple[Any, ...]:
    """What a certificate claims."""
    return found.claim, found.left, found.right, found.level, found.schema, found.language


@cache
def states() -> Sequence[bytes]:
    """Some saved states."""
    saved = []
    for query, name in EVALUATORS:
        evaluator = compile(query, evaluator=name)
        evaluator.push(EVENTS)
        saved.append(evaluator.save())
    return saved


def state(data: bytes) -> str:
    """Refused, or restored as it was saved."""
    restored = 0
    for (query, name), saved in zip(EVALUATORS, states(), strict=True):
        evaluator = compile(query, evaluator=name)
        try:
            evaluator.restore(data)
        except CerifyError:
            continue
        restored += 1
        if evaluator.save() != saved:
            raise Believed(f"{query}, {name}: another state")
    return "the same state" if restored else "refused"


def lines() -> Sequence[bytes]:
    """Some cases of suites, one each."""
    return [line for text in suite() for line in text.splitlines()]


def case(data: bytes) -> str:
    """Refused, or its matches are those of the plain definition."""
    found = case_of_line(data.decode("utf-8"), "the suite")
    query = LANGUAGES[found.language].parse(found.query)
    second = second_opinion(found.language, query, stream_of(found), found.output)
    if second is not None and second != set(found.matches):
        raise Believed(f"{found.query} over {found.events}: {found.matches}, not {second}")
    return "a case that is right"


KINDS: dict[str, tuple[Callable[[], Sequence[bytes]], Callable[[bytes], str]]] = {
    "certificate": (certificates, certificate),
    "state": (states, state),
    "suite": (lines, case),
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


@click.command()
@click.argument("kinds", nargs=-1, type=click.Choice(list(KINDS)))
@click.option("--edits", default=100_000, show_default=True, help="Of all kinds together.")
@click.option("--seed", default=1, show_default=True)
def main(kinds: tuple[str, ...], edits: int, seed: int) -> None:
    """One line for each kind, and one for each edit that is believed; status 1 if there is any."""
    wrong = 0
    for name in kinds or KINDS:
        originals, judge = KINDS[name]
        good, rng, counted = originals(), Random(f"{seed}/{name}"), Counter[str]()
        for _ in range(edits // len(kinds or KINDS)):
            data = tampered(rng.choice(good), good, rng)
            try:
                outcome = judge(data)
            except (CerifyError, UnicodeDecodeError) as error:
                outcome = "WRONG" if getattr(error, "code", "") == "internal" else "refused"
            except Exception as error:
                outcome = "WRONG"
                click.echo(f"{name}: {type(error).__name__}: {error}: {data!r}")
            counted[outcome] += 1
        wrong += counted["WRONG"]
        click.echo(f"{name}: {', '.join(f'{n:,} {what}' for what, n in sorted(counted.items()))}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
