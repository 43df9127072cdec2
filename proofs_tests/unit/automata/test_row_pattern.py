"""The automaton of MATCH_RECOGNIZE: as the definition, in time that is linear in the rows, and what it refuses."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from random import Random
from types import FrameType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, at_fixed_distances, compile_pattern, why_not
from cerify.automata.row_pattern.compiled import CompiledRun, find_matches
from cerify.automata.row_pattern.evaluate import Backtracking, Lookahead, RowRegisters, View
from cerify.equivalence.decide.replay import tables, values
from cerify.equivalence.generate.row_pattern import PROFILES, RowProfile, case, clause
from cerify.languages.row_pattern import RegisterOutput
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.interpreter import find_matches as find_matches_interpreted
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch, column_values
from cerify.semantics.row_pattern.syntax import MatchRecognize, show, show_expression
from proofs_tests.campaigns.row_patterns import answer, compared, differing
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import found, table

# ---- evaluate ----
#

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
def test_the_ways_are_in_the_order_of_preference(pattern: str, first: str, follow: list[str]) -> None:
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


@pytest.mark.thorough
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


# ---- backtracking ----
# Conditions that look at what the match has so far: as the definition, with a memory, within a budget.


@pytest.mark.parametrize("cases", sampled([100, 20_000], [100]))
def test_the_definition_and_the_search_agree(cases: int) -> None:
    kinds, difference = compared(range(cases), READABLE, "everything")
    assert difference == ""
    assert min(kinds[kind] for kind in ("matched", "none", "ill_formed")) > cases / 16


@pytest.mark.parametrize(
    "condition",
    [
        "SUM(A.x) / COUNT(B.*) > 1", "AVG(x) < 1", "MIN(x) < MAX(B.x)", "COUNT(A.z) = 1", "SUM(U.x) = 2.5",
        "MAX(z) = 'b'",
        "SUM(MATCH_NUMBER()) = 3", "PREV(x + MATCH_NUMBER()) = 2", "PREV(CLASSIFIER(), 2) = 'A'", "SUM(x) / 2 = 1",
        "NEXT(FIRST(CLASSIFIER()), 1) = 'B'", "PREV(CLASSIFIER(A), 1) IS NULL", "FIRST(CLASSIFIER(U), 1) = 'B'",
        "NEXT(LAST(A.x, 1), 2) = x", "CLASSIFIER(A) = 'A'", "A.x = B.x", "COUNT(CLASSIFIER(U)) = 2",
        "MIN(CLASSIFIER()) = 'A'",
        "SUM(z) IS NULL", "MAX(w) = 1", "SUM(w) = 2", "AVG(y) IS NULL", "CAST(SUM(v) AS VARCHAR) = '1'",
    ],
)  # fmt: skip
@pytest.mark.parametrize("pattern", ["(A | B)+ C", "(B | A)*? C", "A B*? C"])
def test_everything_that_a_condition_can_see(condition: str, pattern: str) -> None:
    """Where 1 is not 1.0, and where values are of several kinds."""
    values = [
        (1, 1e308, "a", 1, 1), (None, 1e308, "b", 1.0, 0), (2, None, None, "x", 1.0),
        (1, 0.5, "a", True, -0.0), (0, 1.0, "", 1, 0),
    ]  # fmt: skip
    S = table("x y z w v", *values, *values[:2])
    clause = (
        f"MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) SUBSET U = (A, B) DEFINE C AS {condition})"
    )
    assert list(evaluate.find_matches(parse(clause), S)) == found(clause, S)


def test_a_search_that_failed_is_not_tried_again() -> None:
    """There are 2 to the 40 labellings."""
    S = table("x", *((n,) for n in range(40)))
    q = parse("MATCH_RECOGNIZE (PATTERN ((A B | A | B)* C) DEFINE C AS FIRST(x) = 99)")
    assert list(evaluate.find_matches(q, S)) == []
    q = parse("MATCH_RECOGNIZE (PATTERN ((A | B)* C) DEFINE C AS COUNT(A.*) = 20 AND COUNT(B.*) = 19)")
    (match,) = evaluate.find_matches(q, S)
    assert dict(match.bindings or ())["A"] == tuple(range(20))


def test_what_has_to_be_remembered_is_bounded() -> None:
    S = table("x", *((2**n,) for n in range(20)))
    q = parse("MATCH_RECOGNIZE (PATTERN ((A | B)* C) DEFINE C AS SUM(A.x) = -1)")
    with pytest.raises(BudgetExceeded, match="more than 1000 ways to label rows"):
        list(evaluate.find_matches(q, S, Budget(valuations=1000)))


def test_the_search_at_a_row_looks_at_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beside the look-ahead, which is made before it."""
    monkeypatch.setattr(evaluate, "ROWS_TOGETHER", 16)
    q = parse("MATCH_RECOGNIZE (PATTERN ((A | B)* C) DEFINE C AS SUM(A.x) = -1)")
    ahead = Lookahead(q, compile_pattern(q.pattern), {"x": [2**n for n in range(12)]}, 12)
    assert ahead.open
    assert Backtracking(ahead).match_at(0, 1) is None
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        Backtracking(ahead).match_at(0, 1)


def test_the_look_ahead_looks_at_the_time_for_every_so_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    """PERMUTE of seven parts has 35,280 states: 400 rows took half a minute between two looks."""
    looks: list[None] = []
    monkeypatch.setattr(evaluate, "check_time", lambda: looks.append(None))
    q = parse("MATCH_RECOGNIZE (PATTERN (PERMUTE(A, B, C, D, E) F{1000}))")
    automaton = compile_pattern(q.pattern)
    assert len(automaton.variables) > 1000
    assert len(Lookahead(q, automaton, {}, 12).open) == 13
    assert len(looks) == 6


class Blind(set[Any]):
    """Failures without what the conditions saw."""

    def add(self, one: tuple[int, int, View]) -> None:
        super().add(one[:2])

    def __contains__(self, one: Any) -> bool:
        return super().__contains__(one[:2])


class ForgetsAll(Backtracking):
    """Takes two searches at the same row and state for one."""

    def __init__(self, ahead: Lookahead, budget: Budget = Budget()) -> None:
        super().__init__(ahead, budget)
        self.failed = Blind()


class OneRowFewer(RowRegisters):
    """Forgets the last row of LAST and FIRST."""

    def _step(self, register: Any, state: Any, r: int, label: str) -> Any:
        after = super()._step(register, state, r, label)
        return after[:1] if isinstance(after, tuple) and after and isinstance(after[0], tuple) else after


class Forgetful(Backtracking):
    """With such registers."""

    @cached_property
    def registers(self) -> RowRegisters:
        made = super().registers
        made.__class__ = OneRowFewer
        return made


def searching(search: type[Backtracking]) -> Callable[..., Iterator[NumberedMatch]]:
    """An evaluator with another search."""

    class Run(evaluate.RowPartition):
        @cached_property
        def search(self) -> Backtracking:
            return search(Lookahead(self.q, self.automaton, self.columns, len(self.places)))

    def answers(q: MatchRecognize, S: Stream, budget: Budget) -> Iterator[NumberedMatch]:
        columns, made = column_values(S), compile_pattern(q.pattern, budget)
        for places in evaluate.partitions(q, columns, len(S)):
            mine = {name: [values[place] for place in places] for name, values in columns.items()}
            yield from Run(q, made, places, mine).matches()

    return answers


@pytest.mark.parametrize("cases", sampled([50, 200], [50]))
def test_a_planted_fault_is_found_backtracking(cases: int) -> None:
    assert compared(range(cases), {"as it is": searching(Backtracking)}, "everything")[1] == ""
    assert compared(range(1000), {"planted": searching(Forgetful)}, "everything")[1]


@pytest.mark.parametrize("seen", ["COUNT(*) = 2", "FIRST(x) = 0", "SUM(x) = 1", "COUNT(A.*) = 1", "LAST(x, 2) IS NULL"])
def test_a_search_with_another_view_is_tried(seen: str) -> None:
    """Random clauses seldom return to a row and a state with another view: two in 1,500."""
    q = parse(f"MATCH_RECOGNIZE (PATTERN (A+ C) DEFINE C AS {seen} AND x = 1)")
    S = table("x", (2,), (0,), (1,))
    assert differing(q, S, READABLE) == ""
    assert differing(q, S, {"planted": searching(ForgetsAll)}) == "planted"


# ---- distances ----
# Rows of the match at one distance: which conditions become ones on columns, and that the matches stay.


@pytest.mark.parametrize(
    ("pattern", "condition", "rewritten"),
    [
        ("A B", "B.price < A.price", "price < PREV(price)"),
        ("A C B", "B.price < A.price", "price < PREV(price, 2)"),
        ("(A | C) C B", "price < FIRST(price)", "price < PREV(price, 2)"),
        ("A* C B", "price < LAST(C.price)", "price < PREV(price)"),
        ("A C B", "price < PREV(A.price)", "price < PREV(price, 3)"),
        ("A C B", "price < NEXT(A.price)", "price < PREV(price)"),
        ("A C B", "price < NEXT(LAST(A.price + 1), 2)", "price < price + 1"),
        ("A C B", "price < NEXT(A.price, 3)", "price < NEXT(price)"),
        ("A B+", "price < FIRST(B.price)", None),
        ("A? B", "price < A.price", None),
        ("A+ B+", "price < A.price", None),
        ("A+ B+", "price < FIRST(A.price)", None),
        ("A B", "price < LAST(A.price, 1)", None),
        ("A B", "CLASSIFIER(A) = 'A'", None),
        ("A B", "price < LAST(CLASSIFIER(A))", None),
        ("A B", "price < SUM(A.price)", None),
        ("PERMUTE(A, B)", "price < A.price", None),
        ("A B C", "price < C.price", None),
    ],
)
def test_what_is_looked_up_at_one_distance(pattern: str, condition: str, rewritten: str | None) -> None:
    q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}) DEFINE B AS {condition})")
    (found,) = at_fixed_distances(q).define
    assert show_expression(found.condition) == (rewritten or condition)
    assert (why_not(at_fixed_distances(q)) is None) == (rewritten is not None)


@pytest.mark.parametrize("seed", sampled(range(600), range(0, 600, 30)))
def test_the_matches_stay(seed: int) -> None:
    q = clause(Random(seed), RowProfile(), Random(seed).randint(2, 6))
    changed = at_fixed_distances(q)
    if changed.define == q.define:
        return
    for _, S in zip(range(400), tables(values([q], None), 4), strict=False):
        try:
            expected = list(find_matches_interpreted(q, S))
        except IllFormed:
            continue
        assert list(find_matches_interpreted(changed, S)) == expected, show(changed)


# ---- measure registers ----
# Measures by registers: as those of the definition, in a number of steps that is linear in the rows of a match.

MEASURES = (
    "CLASSIFIER()", "A.x", "FIRST(B.x)", "LAST(x, 2)", "PREV(LAST(A.x, 1), 2)", "PREV(CLASSIFIER())", "COUNT(A.*)",
    "SUM(x)", "AVG(B.x)", "MIN(x)", "FINAL LAST(B.x)", "FINAL SUM(A.x)", "NEXT(x)", "FINAL COUNT(*) - COUNT(B.*)",
)  # fmt: skip


@pytest.mark.parametrize("profile", ["everything", "windows"])
@pytest.mark.parametrize("cases", sampled([150, 10_000], [150]))
def test_the_measures_are_those_of_the_definition(cases: int, profile: str) -> None:
    shown = 0
    for number in range(cases):
        q, S = case(Random(number), PROFILES[profile], 8, 8)
        right, made = RowOutput(q, S), RegisterOutput(q, S)
        matches = list(evaluate.find_matches(q, S))
        expected = [list(right.measured(match)) for match in matches]
        assert repr([list(made.measured(match)) for match in matches]) == repr(expected), show(q)
        listed = list(made.rows(map(made.with_result, matches)))
        assert repr(listed) == repr(list(right.rows(matches))), show(q)
        shown += sum(map(len, expected))
    assert shown > cases


def steps(call: Callable[[], Any]) -> int:
    """How many instructions of Python a call takes."""
    number = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal number
        number += event == "opcode"
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return number


@pytest.mark.parametrize("measure", MEASURES)
def test_twice_the_rows_take_twice_the_steps(measure: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (MEASURES {measure} AS m ALL ROWS PER MATCH PATTERN ((A | B)+) DEFINE A AS x > 1)")
    taken = []
    for length in (100, 200):
        S = table("x", *((n % 4,) for n in range(length)))
        (match,) = evaluate.find_matches(q, S)
        made = RegisterOutput(q, S)
        assert len(list(made.rows([match]))) == length
        taken.append(steps(lambda made=made, match=match: list(made.rows([made.with_result(match)]))))  # type: ignore[misc]
    assert taken[1] < 2.2 * taken[0]
