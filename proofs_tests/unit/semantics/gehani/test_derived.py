"""Each derived operator means what its definition means; as printed, with any, but for the start event."""

from collections.abc import Callable, Iterator
from itertools import product
from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, DERIVED, MASKED, STARTED, Profile, case
from cerify.semantics.events import Event, Stream
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.denote import takes_place
from cerify.semantics.gehani.derived import ANY, after_by_pipe, definition, expanded
from cerify.semantics.gehani.parse import parse
from cerify.semantics.gehani.residual import Letter, Machine
from cerify.semantics.gehani.show import show
from proofs_tests.unit.semantics.gehani.examples import found, history

OPERANDS = [parse(text) for text in ("a", "b", "!a", "first", "relative(a, b)", "!NULL", "start or b")]

OPERATORS: dict[str, tuple[int, Callable[..., ev.Expression]]] = {
    "or": (2, ev.Or),
    "any": (0, ev.AnyEvent),
    "prior": (2, lambda *parts: ev.Prior(parts)),
    "prior of three": (3, lambda *parts: ev.Prior(parts)),
    "relative of three": (3, lambda *parts: ev.Relative(parts)),
    "sequence": (2, lambda *parts: ev.Sequence(parts)),
    "sequence of three": (3, lambda *parts: ev.Sequence(parts)),
    "first": (0, ev.First),
    "first of": (1, lambda E: ev.Nth(1, E)),
    "second of": (1, lambda E: ev.Nth(2, E)),
    "every": (1, lambda E: ev.EveryNth(1, E)),
    "every second": (1, lambda E: ev.EveryNth(2, E)),
    "after": (2, ev.After),
    "between": (2, ev.Between),
    "first_after": (3, ev.FirstAfter),
    "before": (1, ev.Before),
    "happened": (1, ev.Happened),
    "series": (2, ev.Series),
}


def histories(length: int, started: bool) -> Iterator[Stream]:
    """All histories of up to so many events a and b, with and without a start event before them."""
    for n in range(length + 1):
        for types in product("ab", repeat=n):
            yield Stream(map(Event, types))
            if started:
                yield Stream(map(Event, ("start", *types)))


@pytest.mark.parametrize("name", OPERATORS)
def test_all_small_cases(name: str) -> None:
    arity, operator = OPERATORS[name]
    somewhere = 0
    for operands in product(OPERANDS if arity < 3 else OPERANDS[:4], repeat=arity):
        E = operator(*operands)
        F = definition(E)
        assert F is not None
        for S in histories(4 if arity < 2 else 3, started=True):
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
        after = ev.After(F, E)
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


@pytest.mark.parametrize(
    "profile", [DERIVED, MASKED, STARTED, CORRELATED], ids=["derived", "masked", "started", "correlated"]
)
def test_random_cases_three_ways(profile: Profile) -> None:
    """The meaning, that of the expansion, and that of reading one event at a time."""
    rng = Random(11)
    somewhere = 0
    for _ in range(200):
        E, S = case(rng, profile, 8, 6)
        expected = takes_place(E, S)
        somewhere += bool(expected)
        assert takes_place(expanded(E), S) == expected, f"{show(E)} over {S.events}"
        assert Machine(E).events(tuple(map(Letter, S))) == expected, f"{show(E)} over {S.events}"
    assert somewhere > 60
