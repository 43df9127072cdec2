"""Each derived operator means what its definition means; as printed, with any, but for the start event."""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, DERIVED, MASKED, STARTED, ExpressionProfile, case
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.continuations import ExpressionLetter, Machine
from cerify.semantics.event_expressions.denote import ANY, NOTHING_BOUND, after_by_pipe, definition, expanded
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.event_expressions.examples import found, history

OPERANDS = [parse(text) for text in ("a", "b", "!a", "first", "relative(a, b)", "!NULL", "start or b")]

OPERATORS: dict[str, tuple[int, Callable[..., expr.Expression]]] = {
    "or": (2, expr.ExpressionOr),
    "any": (0, expr.AnyEvent),
    "prior": (2, lambda *parts: expr.Prior(parts)),
    "prior of three": (3, lambda *parts: expr.Prior(parts)),
    "relative of three": (3, lambda *parts: expr.Relative(parts)),
    "sequence": (2, lambda *parts: expr.Sequence(parts)),
    "sequence of three": (3, lambda *parts: expr.Sequence(parts)),
    "first": (0, expr.First),
    "first of": (1, lambda E: expr.Nth(1, E)),
    "second of": (1, lambda E: expr.Nth(2, E)),
    "every": (1, lambda E: expr.EveryNth(1, E)),
    "every second": (1, lambda E: expr.EveryNth(2, E)),
    "after": (2, expr.After),
    "between": (2, expr.ExpressionBetween),
    "first_after": (3, expr.FirstAfter),
    "before": (1, expr.Before),
    "happened": (1, expr.Happened),
    "series": (2, expr.ExpressionSeries),
}


def histories(length: int, started: bool) -> Iterator[Stream]:
    """All histories of up to `length` events a and b, with and without a start event before them."""
    for n in range(length + 1):
        for types in product("ab", repeat=n):
            yield Stream(map(Event, types))
            if started:
                yield Stream(map(Event, ("start", *types)))


@pytest.mark.parametrize("length", sampled([2, 3], [2]))
@pytest.mark.parametrize("name", OPERATORS)
def test_all_small_cases(name: str, length: int) -> None:
    arity, operator = OPERATORS[name]
    somewhere = 0
    for operands in product(OPERANDS if arity < 3 else OPERANDS[:4], repeat=arity):
        E = operator(*operands)
        F = definition(E)
        assert F is not None
        for S in histories(length + (arity < 2), started=True):
            expected = takes_place(E, S)
            somewhere += bool(expected)
            assert takes_place(F, S) == expected, f"{show(E)} over {S.events}"
    assert somewhere > 0


@pytest.mark.parametrize("name", OPERATORS)
def test_as_printed_where_no_event_is_the_start(name: str) -> None:
    arity, operator = OPERATORS[name]
    for operands in product(OPERANDS[: 5 if arity < 3 else 3], repeat=arity):
        E = operator(*operands)
        F = definition(E, ANY)
        assert F is not None
        for S in histories(3, started=False):
            assert takes_place(F, S) == takes_place(E, S), f"{show(E)} over {S.events}"


def test_the_second_definition_of_after() -> None:
    for F, E in product(OPERANDS, repeat=2):
        after = expr.After(F, E)
        for S in histories(3, started=True):
            assert takes_place(after_by_pipe(after), S) == takes_place(after, S)


@pytest.mark.parametrize(
    ("query", "S", "meant", "printed"),
    [
        ("first", "start a", [0], [0, 1]),
        ("<1> start", "start", [0], []),
        ("every <1> start", "start", [0], []),
        ("every <2> !NULL", "start a", [1], []),
    ],
)
def test_as_printed_the_start_event_makes_a_difference(
    query: str, S: str, meant: list[int], printed: list[int]
) -> None:
    E = parse(query)
    assert found(query, S) == meant
    assert sorted(takes_place(expanded(E, ANY), history(S))) == printed


def test_or_lacks_a_negation_as_printed() -> None:
    """E or F = !(E and !F) would be !E or F."""
    assert found("a or b", "a") == [0]
    assert found("!(a and !b)", "a") == []


@pytest.mark.parametrize("cases", sampled([80, 200], [80]))
@pytest.mark.parametrize(
    "profile", [DERIVED, MASKED, STARTED, CORRELATED], ids=["derived", "masked", "started", "correlated"]
)
def test_random_cases_three_ways(profile: ExpressionProfile, cases: int) -> None:
    """The meaning, that of the expansion, and that of reading one event at a time."""
    rng = Random(11)
    somewhere = 0
    for _ in range(cases):
        E, S = case(rng, profile, 8, 6)
        expected = takes_place(E, S)
        somewhere += bool(expected)
        assert takes_place(expanded(E), S) == expected, f"{show(E)} over {S.events}"
        assert Machine(E, NOTHING_BOUND, {}, {}).events(tuple(map(ExpressionLetter, S))) == expected, (
            f"{show(E)} over {S.events}"
        )
    assert somewhere > 0.3 * cases
