"""Queries made to blow up end with the seconds of their budget, by a clock that moves when it is looked at.

Without a limit each of them runs for minutes, or fills the memory; the others are in the campaign.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable

import pytest

import cerify
from cerify import Budget, Stream, Undecided
from cerify.automata.nfab import evaluators
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Bindings
from cerify.semantics.readings import Reading
from cerify.semantics.sase import interpreter
from cerify.semantics.sase import syntax as sase
from proofs_tests.campaigns.budgets import QUERIES, cases

TICK = 0.1  # seconds between two looks at the clock
FEW = [
    ("cel", "matches", "push-automaton"),
    ("cel", "matches", "count"),
    ("cel", "types", "match-automaton"),
    ("cel", "correlated", "match-automaton"),
    ("core-cel", "matches", "match-denotational"),
    ("event-expression", "th", "contained"),
    ("sase", "rounds", "match-denotational"),
    ("sase", "matches", "match-automaton"),
    ("cel", "matches", "explain"),
    ("row-pattern", "texts", "match-automaton"),
    ("event-expression", "names", "contained"),
    ("row-pattern", "measures", "rows"),
    ("row-pattern", "results", "match-automaton"),
]


@pytest.mark.parametrize(
    ("language", "name", "function"),
    [pytest.param(*one, marks=() if one in FEW[::2] else pytest.mark.thorough) for one in FEW],
)
def test_the_clock_ends_it(language: str, name: str, function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = dict(cases(language, QUERIES[language][name]))[function]
    monkeypatch.setattr(time, "monotonic", itertools.count(0, TICK).__next__)
    warnings.simplefilter("ignore")
    if function in ("contained", "equivalent"):
        found = case(Budget(seconds=1))
        assert isinstance(found, Undecided)
        assert "more than 1 seconds" in found.reason
    else:
        with pytest.raises(BudgetExceeded, match="more than 1 seconds"):
            case(Budget(seconds=1))


def test_the_clock_ends_the_encoding_of_many_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """The solver of the conditions of rows was given each item of an IN, however long that took."""
    clause = "MATCH_RECOGNIZE (ORDER BY x PATTERN (a) DEFINE a AS x IN ({}))"
    monkeypatch.setattr(time, "monotonic", itertools.count(0, 0.001).__next__)
    items = ", ".join(map(str, range(500)))
    languages = ("row-pattern", "row-pattern")
    found = cerify.contained(clause.format(items), clause.format(1), budget=Budget(seconds=0.5), languages=languages)
    assert isinstance(found, Undecided)
    assert "more than 0.5 seconds" in found.reason


@pytest.mark.parametrize("function", [cerify.match, cerify.count, cerify.explain])
def test_events_without_an_end_are_read_within_the_seconds(function: Callable[..., object]) -> None:
    events = ({"type": "A", "x": 1} for _ in itertools.count())
    with pytest.raises(BudgetExceeded, match=r"more than 0\.05 seconds"):
        function("A ; B", events, budget=Budget(seconds=0.05))


def test_an_evaluator_reads_events_without_an_end_within_the_seconds() -> None:
    evaluator = cerify.compile("A ; B", budget=Budget(seconds=0.05))
    with pytest.raises(BudgetExceeded, match=r"more than 0\.05 seconds"):
        evaluator.push({"type": "A"} for _ in itertools.count())


def one_match(q: sase.SaseQuery, S: Stream, *rest: object) -> list[Bindings]:
    """A finder of one match, which looks at no clock."""
    return [(("a", (0,)),)]


@pytest.mark.parametrize("made_by", [evaluators.matches_of, interpreter.matches_of])
@pytest.mark.parametrize("clause", ["RETURN a.x", "HAVING a.x > 5 RETURN a.x", "RETURN NON-OVERLAP a.x"])
def test_the_results_of_matches_are_made_within_the_seconds(made_by: Callable[..., object], clause: str) -> None:
    """With evaluator="kernel" a call that had its matches in time took what HAVING, RETURN and NON-OVERLAP took."""
    q = cerify.parse(f"PATTERN SEQ(A a) {clause}", language="sase")
    S = cerify.as_stream([{"type": "A", "x": 1}])
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="more than 0 seconds"):
        made_by(q, S, find=one_match)


def test_results_at_the_end_of_a_stream_are_made_within_the_seconds() -> None:
    evaluator = cerify.compile("PATTERN SEQ(A+ a[]) RETURN sum(a[].x) AS s", language="sase", evaluator="kernel")
    evaluator.push([{"type": "A", "x": 1}])
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="more than 0 seconds"):
        evaluator.finish()


def test_matches_that_overlap_are_compared_within_the_seconds() -> None:
    q = cerify.parse("PATTERN SEQ(A a) RETURN NON-OVERLAP a.x", language="sase")
    S = cerify.as_stream([{"type": "A", "x": 1}])
    found = one_match(q, S)
    for chosen in (evaluators.non_overlapping, interpreter.without_overlap):
        with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded):
            chosen(q, found, S, Reading())
