"""The automaton of MATCH_RECOGNIZE: as the definition, in time that is linear in the rows, and what it refuses."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern, why_not
from cerify.automata.row_pattern.compiled import CompiledRun, find_matches
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch, column_values
from cerify.semantics.row_pattern.syntax import MatchRecognize, show
from proofs_tests.campaigns.row_patterns import answer, compared
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import found, table

READABLE = {"automaton": evaluate.find_matches}


def compiled(pattern: str) -> Automaton:
    return compile_pattern(parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))").pattern)


@pytest.mark.parametrize("cases", sampled([100, 20_000], [100]))
def test_the_definition_and_the_automaton_agree(cases: int) -> None:
    kinds, difference = compared(range(cases), READABLE)
    assert difference == ""
    assert min(kinds[kind] for kind in ("matched", "none", "ill_formed")) > cases / 16


def ways(text: str) -> tuple[Way, ...]:
    """As 0 1 ACCEPT$: targets, with the anchors on the way."""
    found = (word.rstrip("^$") for word in text.split())
    targets = [ACCEPT if name == "ACCEPT" else int(name) for name in found]
    return tuple(Way(n, "^" in word, "$" in word) for n, word in zip(targets, text.split(), strict=True))


@pytest.mark.parametrize(
    ("pattern", "first", "follow"),
    [
        ("A B", "1", ["ACCEPT", "0"]),  # states are numbered from the end of the pattern
        ("A*", "0 ACCEPT", ["0 ACCEPT"]),
        ("A*?", "ACCEPT 0", ["ACCEPT 0"]),
        ("A{2}", "1", ["ACCEPT", "0"]),
        ("A{1,2}", "1", ["ACCEPT", "0 ACCEPT"]),
        ("((A*)*)* B", "1 0", ["ACCEPT", "1 0"]),
        ("((A)??)*", "ACCEPT 0", ["ACCEPT 0"]),
        ("(A | ())* B", "1 0", ["ACCEPT", "1 0"]),
        ("^ A $", "0^", ["ACCEPT$"]),
        ("$ | A | ()", "ACCEPT$ 0 ACCEPT", ["ACCEPT"]),
        ("A ^ B", "1", ["ACCEPT", ""]),
    ],
)
def test_the_ways_are_in_the_order_of_preferment(pattern: str, first: str, follow: list[str]) -> None:
    made = compiled(pattern)
    assert made.first == ways(first)
    assert list(made.follow) == list(map(ways, follow))


def test_nested_quantifiers_take_linear_time() -> None:
    """A definition that tries labellings would not finish; neither would threads that begin at each row."""
    S = table("x", *((1,) for _ in range(20_000)))
    q = parse("MATCH_RECOGNIZE (PATTERN (((A*)*)* B) DEFINE A AS x = 1, B AS x = 2)")
    assert list(evaluate.find_matches(q, S)) == []
    q = parse("MATCH_RECOGNIZE (PATTERN (((A*)*)* B) DEFINE A AS x = 1, B AS NEXT(x) IS NULL)")
    assert [len(match.events) for match in evaluate.find_matches(q, S)] == [20_000]


def test_a_pattern_that_is_too_large_is_refused() -> None:
    huge = f"A{{{2**63}}}", f"A{{{2**63},}}", f"A{{0,{2**63}}}"  # which Python cannot count
    for pattern in ("A{100000}", "PERMUTE(A, B, C, D, E, F, G, H, I)", *huge):
        q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
        with pytest.raises(BudgetExceeded, match="more than 50000 states and branches"):
            list(evaluate.find_matches(q, table("x", (1,)), Budget(states=50_000)))


@pytest.mark.parametrize(
    ("condition", "carried"),
    [
        ("A.x > PREV(A.x, 2) + NEXT(x)", True),
        ("U.x > 1 AND CLASSIFIER(U) = 'A'", True),
        ("LAST(x) > PREV(LAST(A.x), 1)", True),
        ("B.x > 1", False),
        ("FIRST(x) > 1", False),
        ("LAST(x, 1) > 1", False),
        ("PREV(LAST(x, 1), 1) > 1", False),
        ("PREV(CLASSIFIER()) = 'A'", False),
        ("COUNT(*) > 1", False),
        ("SUM(x) > 1", False),
        ("MATCH_NUMBER() > 1", False),
    ],
)
def test_which_conditions_the_loops_carry(condition: str, carried: bool) -> None:
    q = parse(f"MATCH_RECOGNIZE (PATTERN (A+ B) SUBSET U = (A, B) DEFINE A AS {condition})")
    refused = why_not(q)
    assert (refused is None) == carried
    if refused is not None:
        assert answer(find_matches, q, table("x", (1,))) == ["unsupported"]


def test_nested_quantifiers_take_linear_time_in_loops() -> None:
    S = Stream.from_table(pa.table({"type": pa.repeat("row", 1_000_000), "x": np.ones(1_000_000, np.int64)}))
    q = parse("MATCH_RECOGNIZE (PATTERN (((A*)*)* B) DEFINE A AS x = 1, B AS x = 2)")
    assert CompiledRun(q, S).count() == 0
    q = parse("MATCH_RECOGNIZE (PATTERN (((A*)*)* B) DEFINE A AS x = 1, B AS NEXT(x) IS NULL)")
    assert [len(block.states) for block in CompiledRun(q, S).blocks()] == [1_000_000]


@pytest.mark.parametrize("fault", ["least preferred", "no anchor", "longest"])
def test_a_planted_fault_of_the_loops_is_found(fault: str) -> None:
    def planted(q: MatchRecognize, S: Stream, budget: Budget) -> Iterator[NumberedMatch]:
        run = CompiledRun(q, S, budget)
        run.framed = replace(run.framed, automaton=PLANTED[fault](run.framed.automaton))
        yield from run.find_matches()

    _, difference = compared(range(3000), {"planted": planted})
    assert difference


def with_automaton(change: Callable[[Automaton], Automaton]) -> Callable[..., Iterator[NumberedMatch]]:
    """An evaluator whose automaton is another one."""

    def find_matches(q: MatchRecognize, S: Stream, budget: Budget) -> Iterator[NumberedMatch]:
        columns = column_values(S)
        made = change(compile_pattern(q.pattern, budget))
        for places in evaluate.partitions(q, columns, len(S)):
            mine = {name: [values[place] for place in places] for name, values in columns.items()}
            yield from evaluate.RowPartition(q, made, places, mine).matches()

    return find_matches


PLANTED: dict[str, Callable[[Automaton], Automaton]] = {
    "least preferred": lambda made: replace(made, first=made.first[::-1], follow=tuple(w[::-1] for w in made.follow)),
    "no anchor": lambda made: replace(made, first=tuple(Way(way.target) for way in made.first)),
    "no exclusion": lambda made: replace(made, excluded=(False,) * len(made.excluded)),
    "longest": lambda made: replace(
        made, follow=tuple(tuple(sorted(ways, key=lambda way: way.target == ACCEPT)) for ways in made.follow)
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str) -> None:
    _, difference = compared(range(3000), {"planted": with_automaton(PLANTED[fault])})
    assert difference


def test_every_state_has_its_variable() -> None:
    made = compiled("A {- B | C -} A?")
    assert sorted(zip(made.variables, made.excluded, strict=True)) == [
        ("A", False), ("A", False), ("B", True), ("C", True),
    ]  # fmt: skip


@pytest.mark.parametrize("pattern", ["A{99999999999}", "A{99999999999,}", "A{0,99999999999}", "(A{9999999}){9999999}"])
def test_many_iterations_are_stopped_by_the_budget(pattern: str) -> None:
    """Found by a trial: they were repeated in memory before they were counted."""
    with pytest.raises(BudgetExceeded, match="more than 1000 states"):
        compile_pattern(parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))").pattern, Budget(states=1000))


@pytest.mark.parametrize("direction", ["", " DESC"])
def test_rows_are_in_the_order_of_values_of_all_kinds(direction: str) -> None:
    """Found by the campaign of values: the automaton compared values of several kinds, and NaN stood anywhere."""
    k = ["a", 2, math.nan, datetime(2020, 1, 1, tzinfo=UTC), 1.5, True, math.nan, None, 2**53 + 1, math.inf, "", 1]
    q, S = parse(f"MATCH_RECOGNIZE (ORDER BY k{direction} PATTERN (A+))"), table("k", *((value,) for value in k))
    (by_definition,), (by_automaton,) = found(show(q), S), evaluate.find_matches(q, S)
    assert by_definition == by_automaton
    upward = (5, 11, 4, 1, 8, 9, 2, 6, 10, 0, 3, 7)
    downward = (7, 3, 0, 10, 2, 6, 9, 8, 1, 4, 11, 5)
    assert by_automaton.events == (downward if direction else upward)


def test_partitions_are_of_values_that_are_not_distinct() -> None:
    q = parse("MATCH_RECOGNIZE (PARTITION BY k PATTERN (A+))")
    S = table("k", *((value,) for value in [1, True, 1.0, math.nan, "1", math.nan, None, None]))
    groups = [(0, 2), (1,), (3, 5), (4,), (6, 7)]
    assert [match.events for match in found(show(q), S)] == groups
    assert [match.events for match in evaluate.find_matches(q, S)] == groups
