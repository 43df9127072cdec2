"""Formulas compared on all short streams, filters across events included: held against the definition."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from cerify.equivalence.bounded import SIMPLE, compare, inferred_schema
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.generate.cel import FIGURE_3, formula
from cerify.equivalence.verdict import Bounded, Different, Equivalent, Level, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.support import compared_by, sampled

LENGTH = 3
TINY = replace(FIGURE_3, types=("A", "B"), attributes=(("x", (0, 1)),), correlated=0.5)
ALL = replace(TINY, operators=(*TINY.operators, ("strict", 3), ("nxt", 3), ("last", 3), ("max", 3)))
ALPHABET = (Event("A", {"x": 0}), Event("A", {"x": 1}), Event("B", {"x": 0}), Event("B"))


def differs(phi: cel.Formula, psi: cel.Formula, level: Level, length: int) -> bool:
    """Whether they differ on a stream of that length over the alphabet, as the definition has it."""
    for events in product(ALPHABET, repeat=length):
        interpreter = Interpreter(Stream(events))
        for n in range(length):
            left, right = (compared_by(interpreter.meaning(chi, 0, n), level) for chi in (phi, psi))
            if left != right:
                return True
    return False


def told(rng: Random) -> cel.Formula:
    """A formula without quotients, which are not translated for z3."""
    while "/" in show(phi := wrapped(formula(rng, ALL, 4), rng)):
        pass
    return phi


def wrapped(phi: cel.Formula, rng: Random) -> cel.Formula:
    """The formula, sometimes in a window or partitioned."""
    match rng.randint(0, 4):
        case 0:
            return cel.Within(phi, cel.EventWindow(rng.randint(1, 3)))
        case 1:
            return cel.Within(phi, cel.AttributeWindow(rng.randint(0, 1), "x"))
        case 2:
            return cel.PartitionBy(phi, "x")
        case _:
            return phi


@pytest.mark.parametrize("level", ["events", "valuations", "positions"])
@pytest.mark.parametrize("seed", sampled(range(30), range(10)))
def test_a_verdict_is_what_all_short_streams_say(seed: int, level: Level) -> None:
    rng = Random(seed)
    phi = told(rng)
    psi = told(rng) if seed % 2 else cel.Or(phi, phi)
    verdict = compare(phi, psi, LENGTH, level, schema=Schema({"A": {"x": "int"}, "B": {"x": "int"}}))
    match verdict:
        case Different(stream, _, _, _, shortest):
            assert shortest
            assert len(stream) == 1 or not differs(phi, psi, level, len(stream) - 1)
        case Bounded(length, _):
            assert length == LENGTH
            assert not differs(phi, psi, level, LENGTH)
        case Undecided(reason):
            raise AssertionError(reason)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("A ; B FILTER A.x = B.x", "A ; B FILTER B.x = A.x"),
        ("A+ FILTER A.x = A.x", "A+ PARTITION BY [x]"),
        ("(A ; B) WITHIN 3 hours", "(A ; B) WITHIN 180 minutes"),
        ("A+ FILTER A.x < A.x", "A AND B"),
        ("NXT(A+ FILTER A.x = A.x)", "NXT(A+ PARTITION BY [x])"),
        ("(A ; B) WITHIN 2 EVENTS", "A : B"),
        (
            "(A ; B FILTER A.f < B.f) OR (A ; B FILTER A.f > B.f)",
            "A ; B FILTER A.f != B.f AND A.f = A.f AND B.f = B.f",
        ),
    ],
)
def test_what_is_the_same_is_not_told_apart(left: str, right: str) -> None:
    assert isinstance(compare(parse(left), parse(right), 3), Bounded)


@pytest.mark.parametrize(
    ("left", "right", "length"),
    [
        ("A ; B FILTER A.x = B.x", "A ; B FILTER A.x >= B.x", 2),
        ("A+ FILTER A.x = A.y", "A+ FILTER A[x = y]", 2),
        ("(A ; B) WITHIN 3 hours", "(A ; B) WITHIN 181 minutes", 2),
        ("(A ; B ; C) WITHIN 2 [x]", "(A ; B ; C) WITHIN 3 [x]", 3),
        ("A+ PARTITION BY [x]", "A+", 1),  # an absent value agrees with nothing
        ("NXT((A ; B) FILTER A.x = B.x)", "NXT(A ; B) FILTER A.x = B.x", 3),
        ("A ; B FILTER A.s = B.s", "A ; B FILTER A.s = B.s AND A.s != 'a'", 2),
        ("START(A)", "A", 2),
    ],
)
def test_a_difference_is_shortest(left: str, right: str, length: int) -> None:
    verdict = compare(parse(left), parse(right), 4)
    assert isinstance(verdict, Different)
    assert len(verdict.stream) == length


@pytest.mark.parametrize("seed", range(10))
def test_it_agrees_with_the_exact_decider(seed: int) -> None:
    rng = Random(seed)
    unary = replace(ALL, correlated=0.0, attributes=(("x", (0, 1)),))
    phi, psi = formula(rng, unary, 4), formula(rng, unary, 4)
    exact, bounded = equivalent(phi, psi), compare(phi, psi, LENGTH)
    match exact:
        case Different(stream):
            assert isinstance(bounded, Different) == (len(stream) <= LENGTH) or len(stream) < LENGTH
        case Equivalent():
            assert isinstance(bounded, Bounded)


@pytest.mark.parametrize(("left", "right"), [("A.x < B.x", "A.x <= B.x"), ("A.x < B.x AND B.x > 40", "B.x > 40")])
def test_the_floats_of_a_difference_are_easy_to_read(left: str, right: str) -> None:
    """They were -0.0 and 2.9e-231."""
    schema = Schema({"T": {"x": "float"}})
    phi, psi = (parse(f"(T IN A ; T IN B) FILTER {P}") for P in (left, right))
    verdict = compare(phi, psi, 2, schema=schema)
    assert isinstance(verdict, Different)
    assert {str(event.get("x")) for event in verdict.stream} <= {f"{n}.0" for n in SIMPLE}


def test_one_way() -> None:
    less, more = parse("A ; B FILTER A.x = B.x"), parse("A ; B FILTER A.x >= B.x")
    assert isinstance(compare(less, more, 3, one_way=True), Bounded)
    assert isinstance(compare(more, less, 3, one_way=True), Different)


def test_what_it_cannot_be_told_is_undecided() -> None:
    assert isinstance(compare(parse("A ; B FILTER A.s like 'a+' AND A.s = B.s"), parse("A ; B"), 2), Undecided)
    assert isinstance(compare(parse("A FILTER near(A)"), parse("A"), 2), Undecided)
    verdict = compare(
        parse("A+ ALL A+ FILTER A.x = A.x"), parse("A+ FILTER A.x = A.x"), 6, budget=Budget(valuations=500)
    )
    assert isinstance(verdict, Undecided)
    assert "use a smaller bound" in verdict.reason


def test_a_schema_is_read_off_the_formulas() -> None:
    schema = inferred_schema(parse("A ; B FILTER A.x = B.y AND B.y > 1.5 AND A.s = 'a' AND A.z = B.z"), parse("Other"))
    assert schema.types["A"] == {"x": "float", "y": "float", "s": "string", "z": "int"}
    assert set(schema.types) == {"A", "B", "Other", "Other_____"}
    with pytest.raises(IllFormed):
        inferred_schema(parse("A FILTER A.x = 1 OR A.x = 'a'"))
