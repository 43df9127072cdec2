"""What cerify generates, as bytes: `python -m proofs_tests.artefacts` prints a digest of each, the same everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from importlib.util import find_spec
from random import Random

from click.testing import CliRunner

from cerify.api import compile, equivalent
from cerify.cli import cerify
from cerify.languages import LANGUAGES
from cerify.semantics.events import Event
from cerify.semantics.json_events import json_of_event
from proofs_tests.claims.everything import LEDGER
from proofs_tests.claims.ledger import entry
from proofs_tests.laws import page as laws
from proofs_tests.tools.engine_board import findings, fuzz_runs, results
from proofs_tests.tools.engine_board import page as board

EVENTS = [Event("A", {"x": 1}), Event("B", {"x": 1}), Event("C", {"x": 2}), Event("A", {"x": 1, "s": "a"})]
CLAIMS = ("tods21.fig3", "cep17.lem", "vldb92.s2.3")
SEEDS = 40


def certificate(left: str, right: str, language: str) -> str:
    """The certificate that two queries are the same."""
    return equivalent(left, right, languages=(language, language)).certificate.to_json()  # type: ignore[union-attr]


def state(query: str, evaluator: str) -> bytes:
    """The state of an evaluator that has read some events."""
    found = compile(query, evaluator=evaluator)
    found.push(EVENTS)
    return found.save()


def cases() -> Iterator[str]:
    """Random queries and streams of every language."""
    for name, language in LANGUAGES.items():
        generator = language.generator()
        for profile in generator.profiles.values():
            for seed in range(SEEDS):
                query, S = generator.case(Random(f"{name}/{seed}"), profile, 10, 8)
                yield f"{language.show(query)} {[json_of_event(event) for event in S]}\n"


def entries() -> Iterator[str]:
    """Some claims, checked."""
    for id_ in LEDGER:
        if id_.startswith(CLAIMS):
            yield repr({name: value for name, value in entry(LEDGER[id_], "quick").items() if name != "seconds"})


def printed(*arguments: str) -> str:
    """What a command prints."""
    ran = CliRunner().invoke(cerify, arguments, catch_exceptions=False, standalone_mode=False)
    return f"{ran.return_value} {ran.output}"


RISE = "(A IN X ; B IN Y) FILTER X.x < Y.x"
ARTEFACTS: Mapping[str, Callable[[], str | bytes | Iterator[str]]] = {
    "certificate of CEL": lambda: certificate(
        "((A ; B) OR (A ; C)) FILTER A.x > 1", "(A ; (B OR C)) FILTER A.x > 1", "cel"
    ),
    "certificate of event expressions": lambda: certificate("!(!A and !B)", "A or B", "event-expression"),
    "state, compiled": lambda: state("((A IN X) ; (B OR C)+) WITHIN 9 EVENTS PARTITION BY [x]", "kernel"),
    "state, readable": lambda: state("((A IN X) ; (B OR C)+) WITHIN 9 EVENTS PARTITION BY [x]", "automaton"),
    "random cases": cases,
    "claims": entries,
    "laws": laws,
    "board": lambda: board(results(), findings(), fuzz_runs()),
    "suite of vectors": lambda: printed("vectors", "A ; B+", "--json"),
    "witness": lambda: printed("equiv", "A ; B+ ; C", "A ; B ; C", "--json"),
    "simplified": lambda: printed("simplify", "(A OR A ; A) UNLESS (B OR B)", "--steps"),
    "normal form": lambda: printed("normalize", "(A OR B) ; C", "--to", "disjunctive", "--json"),
    "automaton": lambda: printed("draw", "A ; (B OR C)+ ; D", "--dot"),
    "translation": lambda: printed("translate", RISE, "--from", "cel", "--to", "core-cel"),
}


def digests(kernel: bool = True) -> Iterator[tuple[str, str]]:
    """The name of each artefact, and the SHA-256 of its bytes. kernel: whether there are compiled loops."""
    for name, make in ARTEFACTS.items():
        if kernel or name != "state, compiled":
            made = make()
            text = made if isinstance(made, str | bytes) else "".join(made)
            yield name, sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def main() -> None:
    """A line for each artefact."""
    for name, digest in digests(find_spec("numba") is not None):
        print(f"{digest}  {name}")


if __name__ == "__main__":
    main()
