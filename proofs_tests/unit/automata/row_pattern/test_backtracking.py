"""Conditions that look at what the match has so far: as the definition, with a memory, within a budget."""

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import pytest

from cerify.automata.row_pattern import evaluate
from cerify.automata.row_pattern.compile import compile_pattern
from cerify.automata.row_pattern.evaluate import Backtracking, Lookahead, RowRegisters, View
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import NumberedMatch, column_values
from cerify.semantics.row_pattern.syntax import MatchRecognize
from proofs_tests.campaigns.row_patterns import compared, differing
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import found, table

READABLE = {"automaton": evaluate.find_matches}


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
def test_a_planted_fault_is_found(cases: int) -> None:
    assert compared(range(cases), {"as it is": searching(Backtracking)}, "everything")[1] == ""
    assert compared(range(1000), {"planted": searching(Forgetful)}, "everything")[1]


@pytest.mark.parametrize("seen", ["COUNT(*) = 2", "FIRST(x) = 0", "SUM(x) = 1", "COUNT(A.*) = 1", "LAST(x, 2) IS NULL"])
def test_a_search_with_another_view_is_tried(seen: str) -> None:
    """Random clauses seldom return to a row and a state with another view: two in 1,500."""
    q = parse(f"MATCH_RECOGNIZE (PATTERN (A+ C) DEFINE C AS {seen} AND x = 1)")
    S = table("x", (2,), (0,), (1,))
    assert differing(q, S, READABLE) == ""
    assert differing(q, S, {"planted": searching(ForgetsAll)}) == "planted"
