"""The definition extracted from Coq, as an engine: `python -m proofs_tests.mechanised.engine [PROGRAM]`.

It shares with cerify the syntax of queries and the predicates on one event: an event goes to the extracted program as
its type and, for each atomic predicate of the query, whether the predicate holds. What the mechanised language lacks
(windows, partitions, filters across events) is skipped. `make -C proofs_tests/mechanised` builds the program.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Timer
from typing import IO, Any

from cerify import protocol
from cerify.commands.engine import serve
from cerify.languages.language import Options
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicates import Predicate, holds
from cerify.semantics.trees import children

PROGRAM = Path(__file__).parent / "cel-definition"

NAMES: dict[type, str] = {
    cel.Seq: "seq",
    cel.ContiguousSeq: "cseq",
    cel.Plus: "plus",
    cel.ContiguousPlus: "cplus",
    cel.Start: "start",
    cel.Or: "or",
    cel.And: "and",
    cel.All: "all",
    cel.Unless: "unless",
    cel.Strict: "strict",
    cel.Next: "nxt",
    cel.Last: "last",
    cel.Max: "max",
}
"""The operators that have operands only, as driver.ml names them."""

ANSWERED = (cel.EventAtom, cel.In, cel.Filter, cel.Project, cel.Derived, *NAMES)
FEATURES = tuple(operator.name for type_, operator in OPERATORS.items() if issubclass(type_, ANSWERED))
"""The operators of the mechanised language. Of filters it has those on single events."""


def words(phi: cel.Formula, predicates: list[Predicate]) -> Iterator[str]:
    """The formula in prefix form; its atomic predicates are appended to predicates. Raises Unsupported."""
    match phi:
        case cel.EventAtom(R):
            yield from ("event", R)
        case cel.In(psi, A):
            yield from ("in", A, *words(psi, predicates))
        case cel.Filter(psi, condition):
            yield from ("filter", *atoms(condition, predicates), *words(psi, predicates))
        case cel.Project(L, psi):
            yield from ("project", ",".join(sorted(L)), *words(psi, predicates))
        case cel.Derived():
            yield from words(phi.expansion, predicates)
        case _ if type(phi) in NAMES:
            yield NAMES[type(phi)]
            for psi in children(phi):
                yield from words(psi, predicates)
        case _:
            raise Unsupported(f"the mechanised language has no {type(phi).__name__}", phi.span)


def atoms(condition: cel.Condition, predicates: list[Predicate]) -> Iterator[str]:
    """A condition in prefix form."""
    match condition:
        case cel.Every(A, predicate):
            predicates.append(predicate)
            yield from ("every", A or "", str(len(predicates) - 1))
        case cel.Conjunction(left, right):
            yield from ("both", *atoms(left, predicates), *atoms(right, predicates))
        case cel.Disjunction(left, right):
            yield from ("either", *atoms(left, predicates), *atoms(right, predicates))
        case _:
            raise Unsupported("the mechanised language has no filters across events", condition.span)


class Extracted:
    """The matches by the extracted program, which is started with the first question.

    seconds: what an answer may take; None for as long as it takes.
    """

    def __init__(self, path: Path, seconds: float | None = None) -> None:
        self._path = path
        self._seconds = seconds
        self._program: subprocess.Popen[str] | None = None

    def matches(self, phi: cel.Formula, S: Stream, options: Options) -> list[Match]:
        """All matches, sorted. Raises Unsupported, and BudgetExceeded if the program ends."""
        if not len(S):
            return []
        predicates: list[Predicate] = []
        question = list(words(phi, predicates))
        for event in S:
            question += (event.type, "".join(str(int(holds(P, event))) for P in predicates) or "-")
        if any(" " in word for word in question):
            raise Unsupported("a name with a space")
        answer = self._asked(" ".join(question))
        found = set()
        for at, *bound in (word.split("/") for word in answer.split()):
            pairs = [name_positions.split("=") for name_positions in bound if name_positions]
            bindings = tuple((A, tuple(map(int, positions.split(",")))) for A, positions in pairs)
            events = sorted({p for _, positions in bindings for p in positions})
            found.add(Match(int(at), tuple(events), bindings if options.output == "valuations" else None))
        return sorted(found)

    def _asked(self, question: str) -> str:
        if self._program is None:
            self._program = subprocess.Popen([self._path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        writes, reads = _piped(self._program.stdin), _piped(self._program.stdout)
        writes.write(question + "\n")
        writes.flush()
        timer = None if self._seconds is None else Timer(self._seconds, self._program.kill)
        if timer is not None:
            timer.start()
        answer = reads.readline()
        if timer is not None:
            timer.cancel()
        if not answer:
            self._program = None
            raise BudgetExceeded("the extracted definition ran out of time, memory or stack")
        return answer


def _piped(stream: IO[str] | None) -> IO[Any]:
    assert stream is not None
    return stream


if __name__ == "__main__":
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else PROGRAM
    if not path.exists():
        sys.exit(f"{path} is not built: run make -C {PROGRAM.parent}")
    serve(protocol.EngineInfo("cel-in-coq", "1", ["cel"], FEATURES), {"cel": Extracted(path).matches})
