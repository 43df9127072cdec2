"""Faults planted in the definition of MATCH_RECOGNIZE: cases with expected answers, or the automaton, find each.

Cases are written down for what the automaton leaves to the definition, and for the output table.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from cerify.semantics.row_pattern import denote, interpreter, scalars
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import RowSkip
from proofs_tests.campaigns.row_patterns import compared
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern import tables

CASES: tuple[tuple[str, str, Any], ...] = (
    ("MEASURES FINAL LAST(A.x) AS m ALL ROWS PER MATCH PATTERN (A A)", "1 2", [2, 2]),
    ("MEASURES FIRST(x, 1) AS m ALL ROWS PER MATCH PATTERN (A A A)", "1 2 3", [None, 2, 2]),
    ("MEASURES COUNT(A.*) AS m ALL ROWS PER MATCH PATTERN (A B A)", "1 2 3", [1, 1, 2]),
    ("MEASURES PREV(LAST(A.x), 1) AS m ALL ROWS PER MATCH PATTERN (B A)", "1 2", [None, 1]),
    ("MEASURES CLASSIFIER(A) AS m ALL ROWS PER MATCH PATTERN (A B)", "1 2", ["A", "A"]),
    ("MEASURES PREV(CLASSIFIER()) AS m ALL ROWS PER MATCH PATTERN (A B)", "1 2", [None, "A"]),
    ("MEASURES A.x AS m ALL ROWS PER MATCH PATTERN (A {- B -} C)", "1 2 3", [1, 1]),
    ("MEASURES MATCH_NUMBER() AS m ALL ROWS PER MATCH PATTERN (A?) DEFINE A AS x > 1", "1 2", [1, 2]),
    ("MEASURES MATCH_NUMBER() AS m ALL ROWS PER MATCH OMIT EMPTY MATCHES PATTERN (A?) DEFINE A AS x > 1", "1 2", [2]),
    ("MEASURES COUNT(*) AS m ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A) DEFINE A AS x > 1", "1 2", [None, 1]),
    ("MEASURES SUM(x) AS m PATTERN (A+ B) DEFINE A AS SUM(x) < 4", "1 2 3", [6]),
    ("MEASURES LAST(x) AS m PATTERN (A+) DEFINE A AS NOT x > 5", "1 . 2", [1, 2]),
)


def wrong() -> bool:
    """Whether a case has another answer than expected."""
    for body, values, expected in CASES:
        S = tables.table("x", *((None if v == "." else int(v),) for v in values.split()))
        first = [row[0] for row in tables.rows(f"MATCH_RECOGNIZE ({body})", S)]
        if first != expected:
            return True
    return False


def found(cases: int = 400) -> bool:
    """Whether a planted fault is found."""
    return wrong() or compared(range(cases))[1] != ""


@pytest.mark.parametrize("cases", sampled([50, 400], [50]))
def test_nothing_is_found_without_a_fault(cases: int) -> None:
    assert not found(cases)


right_sequence, right_rows_of, right_value = denote.Meaning.sequence, denote.Frame.rows_of, denote.value
right_resumed, right_row_of, right_both = denote.resumed, denote.row_of, scalars.both


def sequence(kind: type[Any], other: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    """The clauses, with another one for the patterns of one kind."""
    return lambda self, p, w: other(self, p, w) if isinstance(p, kind) else right_sequence(self, p, w)


def alternatives_backwards(self: Any, p: Any, w: Any) -> Iterator[Any]:
    yield from self.labellings(p.right, w)
    yield from self.labellings(p.left, w)


def permutations_backwards(self: Any, p: Any, w: Any) -> Iterator[Any]:
    for order in reversed(list(permutations(p.parts))):
        yield from (
            right_sequence(self, rows.Permute(order[:1]), w)
            if len(order) == 1
            else self.labellings(rows.RowConcatenation(order[0], rows.Permute(order[1:])), w)
        )


def shortest_first(self: Any, p: Any, w: Any) -> Iterator[Any]:
    yield from right_sequence(self, replace(p, greedy=False), w)


def longest_first(self: Any, p: Any, w: Any) -> Iterator[Any]:
    yield from sorted(right_sequence(self, p, w), key=len, reverse=True)


def included(self: Any, p: Any, w: Any) -> Iterator[Any]:
    yield from self.labellings(p.pattern, w)


def with_rows(self: Any, p: Any, w: Any) -> Iterator[Any]:
    yield from (u for u in right_sequence(self, p, w) if len(u) > len(w) or p.low == 0)


def all_final(self: Any, A: str | None, semantics: Any = "RUNNING") -> list[int]:
    return right_rows_of(self, A, "FINAL")


def all_rows(self: Any, A: str | None, semantics: Any = "RUNNING") -> list[int]:
    return right_rows_of(self, None, semantics)


FAULTS: dict[str, tuple[Any, str, Any]] = {
    "the last alternative is preferred": (
        denote.Meaning, "sequence", sequence(rows.Alternation, alternatives_backwards),
    ),
    "the last permutation is preferred": (denote.Meaning, "sequence", sequence(rows.Permute, permutations_backwards)),
    "all quantifiers are reluctant": (denote.Meaning, "sequence", sequence(rows.Quantified, shortest_first)),
    "the longest is preferred": (denote.Meaning, "sequence", sequence(rows.Quantified, longest_first)),
    "exclusion is grouping": (denote.Meaning, "sequence", sequence(rows.Exclusion, included)),
    "anchors hold everywhere": (denote.Meaning, "sequence", sequence(rows.Anchor, lambda self, p, w: iter((w,)))),
    "an iteration takes a row": (
        denote.Meaning, "sequence",
        sequence(rows.Quantified, with_rows),
    ),
    "FINAL is RUNNING": (denote.Frame, "rows_of", lambda self, A, semantics="RUNNING": right_rows_of(self, A)),
    "RUNNING is FINAL": (denote.Frame, "rows_of", all_final),
    "a variable is all rows": (denote.Frame, "rows_of", all_rows),
    "FIRST is LAST": (denote, "row_of", lambda e, f: right_row_of(replace(e, function="LAST"), f)),
    "offsets do not count": (denote, "row_of", lambda e, f: right_row_of(replace(e, offset=0), f)),
    "unknown is true": (scalars, "inverted", lambda one: not one),
    "a skip is past the last row": (denote, "resumed", lambda q, m, r: right_resumed(replace(q, skip=RowSkip()), m, r)),
    "a skip is to the next row": (denote, "resumed", lambda q, m, r: m.start + 1),
    "no order": (interpreter, "_ordered", lambda places, table, one, reading: places),
    "NULL in DEFINE is true": (
        denote, "value", lambda e, f, r=None: True if right_value(e, f, r) is None else right_value(e, f, r),
    ),
    "unmatched rows are dropped": (interpreter.RowOutput, "rows", lambda self, found: (
        self._row(place, shown) for match in found for place, shown in self.measured(match)
    )),
}  # fmt: skip


@pytest.mark.parametrize("fault", sampled(FAULTS, FAULTS.keys() - {"the last permutation is preferred"}))
def test_a_fault_in_the_definition_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, name, other = FAULTS[fault]
    monkeypatch.setattr(module, name, other)
    assert found()
