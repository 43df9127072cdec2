"""What the interpreter skips: every entry of its tables may be missing, and a wrong one is found."""

from collections.abc import Iterator
from itertools import product

import pytest

from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import meaning
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import OPERATORS, Formula
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled

INSIDE = tuple(map(parse, ("A", "A ; B", "B ; A", "B OR (A ; B)", "PROJECT[](A ; B)")))
STREAMS = tuple(
    Stream(Event(R, {"x": n % 2}) for n, R in enumerate(types)) for types in ("AAAB", "ABAB", "BABA", "AAB")
)


def around(operator: type) -> Iterator[Formula]:
    """Formulas with the operator, by itself and where intervals begin that are not the whole stream."""
    for below in product(INSIDE, repeat=len(operator.operands)):  # type: ignore[attr-defined]
        for make in OPERATORS[operator].instances():
            phi = make(*below)
            yield from (phi, cel.Seq(cel.EventAtom("A"), phi), cel.Plus(phi), cel.Unless(cel.EventAtom("B"), phi))


def departs(operator: type) -> bool:
    """Whether the interpreter departs from the clauses on a formula with the operator."""
    for phi in around(operator):
        for S in STREAMS:
            upwards, downwards = Interpreter(S), Interpreter(S)
            intervals = [(i, j) for j in range(len(S)) for i in range(j + 1)]
            for i, j in intervals:
                if upwards.meaning(phi, i, j) != meaning(phi, S, i, j):
                    return True
            for i, j in reversed(intervals):
                if downwards.meaning(phi, i, j) != upwards.meaning(phi, i, j):
                    return True
    return False


NODES = [operator.node for operator in OPERATORS.values()]


@pytest.mark.parametrize("operator", sampled(NODES, NODES[::3]))
def test_the_tables_are_right_and_no_entry_is_needed(operator: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that the tables do not have is never skipped: only slower."""
    assert not departs(operator)
    monkeypatch.delitem(interpreter.LAST, operator, raising=False)
    monkeypatch.setattr(interpreter, "INHERITING", interpreter.INHERITING - {operator})
    assert not departs(operator)


LOOKS_FURTHER = (cel.Start, cel.Project, cel.Unless, cel.Next, cel.Last, cel.Max)
"""Operators whose clause depends on more than the valuations of the operands and the events in them."""


def test_no_entry_is_missing() -> None:
    """A missing entry changes no answer, but every formula with the operator would be followed over all intervals."""
    nodes = {operator.node for operator in OPERATORS.values() if not issubclass(operator.node, cel.Derived)}
    assert set(interpreter.LAST) == nodes - {cel.EventAtom}
    assert nodes - set(LOOKS_FURTHER) == interpreter.INHERITING


@pytest.mark.parametrize("operator", LOOKS_FURTHER)
def test_an_operator_that_does_not_inherit_is_found(operator: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "INHERITING", interpreter.INHERITING | {operator})
    assert departs(operator)


WRONG = [
    *((operator, interpreter._first) for operator in (cel.Seq, cel.ContiguousSeq, cel.Or, cel.All)),
    *((operator, interpreter._second) for operator in (cel.Or, cel.All, cel.Unless)),
    *((operator, interpreter._both) for operator in (cel.Seq, cel.ContiguousSeq, cel.Or, cel.All, cel.Unless)),
]


@pytest.mark.parametrize(("operator", "wrong"), WRONG)
def test_a_wrong_last_type_is_found(operator: type, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(interpreter.LAST, operator, wrong)
    assert departs(operator)


def test_nxt_under_a_sequence() -> None:
    """With NXT among the operators that inherit, {1, 2, 3} is lost."""
    S = Stream(map(Event, "AAAB"))
    phi = parse("A ; NXT(A ; B)")
    found = {frozenset(p for _, p in mu) for mu in Interpreter(S).meaning(phi, 0, 3)}
    assert frozenset({1, 2, 3}) in found
    assert Interpreter(S).meaning(phi, 0, 3) == Interpreter(S, pruned=False).meaning(phi, 0, 3) == meaning(phi, S, 0, 3)
