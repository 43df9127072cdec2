"""Shortest histories that tell two expressions apart, show that one can take place, or that it still can."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression, compile_together
from cerify.automata.dfa.model import (
    DFA,
    accepted_word,
    coaccessible_states,
    separating_word,
    shortest,
    shortest_extension,
    stream_of,
    types_under,
    uncontained_word,
)
from cerify.automata.exploration import classes
from cerify.equivalence.generate.expressions import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Schema, Stream


def together(left: str, right: str, schema: Schema | None = None) -> tuple[DFA, DFA]:
    A, B = compile_together([parse(left), parse(right)], schema)
    return A, B


def types(A: DFA, word: tuple[int, ...] | None) -> str | None:
    return None if word is None else " ".join(event.type for event in stream_of(word, types_under(A.alphabet)))


@pytest.mark.parametrize(
    ("left", "right", "separating", "left_only", "right_only"),
    [
        ("a", "a", None, None, None),
        ("relative(a, b)", "prior(a, b)", None, None, None),
        ("relative(a, <2> b)", "prior(a, <2> b)", "b a b", "a b b b", "b a b"),
        ("a", "a or b", "b", None, "b"),
        ("NULL", "<3> a", "a a a", None, "a a a"),
        ("before(start)", "!NULL and !first", "a Other", None, "a Other"),
        ("relative(a, start)", "NULL", None, None, None),
        ("!start", "any", None, None, None),
        ("first", "!relative(any, any)", "start a", None, "start a"),
    ],
)
def test_shortest_differences(
    left: str, right: str, separating: str | None, left_only: str | None, right_only: str | None
) -> None:
    A, B = together(left, right)
    for word, expected in [
        (separating_word(A, B), separating),
        (uncontained_word(A, B), left_only),
        (uncontained_word(B, A), right_only),
    ]:
        assert (word is None) == (expected is None)
        assert word is None or len(word) == len(str(expected).split())
    assert (A == B) == (separating is None)
    if separating is not None:
        S = Stream(map(Event, str(types(A, separating_word(A, B))).split()))
        last = len(S) - 1
        assert (last in takes_place(parse(left), S)) != (last in takes_place(parse(right), S))


def test_random_pairs_against_all_histories() -> None:
    """A word is as short as the shortest difference among all histories up to length 3; no word, no difference."""
    rng = Random(5)
    told_apart = 0
    for _ in range(60):
        E, F = (case(rng, PROFILES["started"], 4, 0)[0] for _ in range(2))
        A, B = compile_together([E, F])
        word = separating_word(A, B)
        events = types_under(A.alphabet)
        expected = next((n for n in range(1, 4) if _differ(E, F, A, n)), None)
        told_apart += expected is not None
        assert expected == (None if word is None or len(word) > 3 else len(word))
        if word is not None:
            S = stream_of(word, events)
            assert (len(S) - 1 in takes_place(E, S)) != (len(S) - 1 in takes_place(F, S))
    assert told_apart > 30


def _differ(E: expr.Expression, F: expr.Expression, A: DFA, n: int) -> bool:
    first, later = range(len(A.alphabet.types)), A.alphabet.coming
    histories = (stream_of(word, types_under(A.alphabet)) for word in product(first, *[later] * (n - 1)))
    return any((n - 1 in takes_place(E, S)) != (n - 1 in takes_place(F, S)) for S in histories)


def test_what_can_never_take_place() -> None:
    for text in ("NULL", "a and b", "a[n > 3 and n < 3]", "prior(a, start)", "<2> first", "prefix(first)"):
        assert accepted_word(compile_expression(parse(text))) is None, text
    A = compile_expression(parse("a[n > 3] and before(<2> b)"))
    word = accepted_word(A)
    assert word is not None
    S = stream_of(word, types_under(A.alphabet))
    assert [event.type for event in S] == ["b", "b", "a"]


def test_what_can_still_take_place() -> None:
    """After each prefix: the fewest events to come, and none once there is no way."""
    A = compile_expression(parse("<2> a and !before(b)"))
    for history, expected in [("", 2), ("a", 1), ("c c a", 1), ("a a", None), ("b", None), ("a b", None)]:
        q = 0
        for T in history.split():
            q = A.step(q, A.alphabet.type_of(Event(T)))
        word = shortest_extension(A, q)
        assert (None if word is None else len(word)) == expected, history
        assert (q in coaccessible_states(A)) == (expected is not None)


def test_hope_is_what_prefix_says() -> None:
    rng = Random(9)
    both = set()
    for _ in range(60):
        E, S = case(rng, PROFILES["masked"], 6, 6)
        A, B = compile_together([E, expr.Prefix(E)])
        q = p = 0
        for event in S:
            q, p = (M.step(state, M.alphabet.type_of(event)) for M, state in ((A, q), (B, p)))
            assert (q in coaccessible_states(A)) == (p in B.accepting) == (shortest_extension(A, q) is not None)
            both.add(p in B.accepting)
    assert both == {True, False}


def test_a_schema_rules_types_out() -> None:
    """Over integers nothing is between 3 and 4, and of types there are only those of the schema."""
    schema = Schema({"a": {"n": "int"}})
    A, B = together("a[n > 3]", "a[n >= 4]", schema)
    assert separating_word(A, B) is not None
    events = types_under(A.alphabet, schema)
    assert separating_word(A, B, events) is None
    A, B = together("!start", "a", schema)
    assert separating_word(A, B, types_under(A.alphabet, schema)) is None
    assert separating_word(A, B) is not None
    A, B = together("first", "!relative(any, any)", schema)
    assert separating_word(A, B, types_under(A.alphabet, schema)) is None
    begun = Schema({"a": {"n": "int"}, "start": {}})
    assert separating_word(A, B, types_under(A.alphabet, begun)) is not None
    A = compile_expression(parse("a[n > 3]"), schema)
    word = accepted_word(A, types_under(A.alphabet, schema))
    assert word is not None
    assert stream_of(word, types_under(A.alphabet, schema), schema)[0].get("n") == 4


def test_what_cannot_be_shown_is_refused() -> None:
    with pytest.raises(Unsupported, match="z3 could not decide"):
        stream_of((0,), {0: None})


def test_automata_are_compared_over_one_alphabet() -> None:
    with pytest.raises(InternalError, match="different alphabets"):
        separating_word(compile_expression(parse("a")), compile_expression(parse("b")))


def test_a_shortest_way_keeps_to_the_budget_and_stops_when_it_is_there() -> None:
    def onwards(n: int) -> list[tuple[int, int]]:
        return [(0, n + 1)]

    assert shortest(0, onwards, lambda n: n == 5, Budget(states=7)) == (0,) * 5
    with pytest.raises(BudgetExceeded, match="product"):
        shortest(0, onwards, lambda n: n == 50, Budget(states=7))


def test_minimization_against_moore() -> None:
    """The classes of random automata, some of whose letters lead nowhere, as refining them step by step finds them."""
    rng = Random(3)
    sizes = set()
    for _ in range(300):
        n = rng.randint(1, 9)
        steps = [{a: rng.randrange(n) for a in "ab" if rng.random() < 0.9} for _ in range(n)]
        final = [rng.random() < 0.4 for _ in range(n)]
        assert classes(steps, final) == _moore(steps, final)
        sizes.add(len(set(classes(steps, final))) - n)
    assert len(sizes) > 4


def _moore(steps: list[dict[str, int]], final: list[bool]) -> list[int]:
    of: list[object] = [*final, False]
    for _ in steps:
        of = [(of[q], *(of[step.get(a, len(steps))] for a in "ab")) for q, step in enumerate([*steps, {}])]
        numbers: dict[object, int] = {}
        of = [numbers.setdefault(key, len(numbers)) for key in of]
    numbers = {}
    return [numbers.setdefault(key, len(numbers)) for key in of[:-1]]
