"""Each reading has a clause and a table on which it differs from the decided one, as docs/decisions/row-patterns.md."""

from typing import Any

import pytest

from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import STANDARD, RowReading, list_other_readings
from proofs_tests.unit.semantics.row_pattern.tables import labels, numbered, rows

SEPARATING: dict[tuple[str, str], tuple[str, str, Any, Any]] = {
    ("bounded_iterations", "stop"): (
        "PATTERN ((() | A | B){0,2} C? $) DEFINE C AS COUNT(B.*) = 1", "1 1", "1:BC", "1:AA",
    ),
    ("skip_to_nothing", "next_row"): (
        "AFTER MATCH SKIP TO B PATTERN (A B?) DEFINE B AS x = 2", "1", "no row of match 1 is labelled B", "1:A",
    ),
    ("skip_to_first", "next_row"): ("AFTER MATCH SKIP TO A PATTERN (A)", "1", "the first row of match 1", "1:A"),
    ("nulls", "low"): ("ORDER BY x PATTERN (A B) DEFINE B AS x IS NULL", "1 .", "1:AB", ""),
    ("nulls", "last"): ("ORDER BY x DESC PATTERN (A B) DEFINE A AS x IS NULL", "1 .", "2:AB", ""),
    ("empty_matches", "unnumbered"): (
        "MEASURES MATCH_NUMBER() AS n PATTERN (B?) DEFINE B AS x = 1", "2 1", [1, 2], [0, 1],
    ),
    ("integer_division", "exact"): ("PATTERN (A) DEFINE A AS x / 2 = 0", "1", "1:A", ""),
    ("empty_iterations", "refused"): ("PATTERN ((A?)*)", "1", "1:A", "that may match no row is quantified"),
}  # fmt: skip


def test_every_other_reading_is_separated() -> None:
    assert SEPARATING.keys() == list_other_readings().keys()


@pytest.mark.parametrize("key", list_other_readings(), ids="-".join)
def test_the_answers_differ(key: tuple[str, str]) -> None:
    body, values, decided, other = SEPARATING[key]
    text, S = f"MATCH_RECOGNIZE ({body})", numbered(values, "x")
    for reading, expected in ((STANDARD, decided), (list_other_readings()[key], other)):
        if isinstance(expected, list):
            assert [row[0] for row in rows(text, S, reading)] == expected
        elif " " in expected:
            with pytest.raises(IllFormed, match=expected):
                checked(text, S, reading)
        else:
            assert checked(text, S, reading) == expected.split()


def checked(text: str, S: Stream, reading: RowReading) -> list[str]:
    require_wellformed(parse(text), reading)
    return labels(text, S, reading)


@pytest.mark.parametrize(
    ("reading", "to"),
    [(RowReading(skip_to_nothing="next_row"), "B"), (RowReading(skip_to_first="next_row"), "FIRST A")],
)
def test_a_skip_that_leads_nowhere_goes_on_at_the_next_row(reading: RowReading, to: str) -> None:
    text = f"MATCH_RECOGNIZE (AFTER MATCH SKIP TO {to} PATTERN (A B?) DEFINE B AS x = 2)"
    assert labels(text, numbered("1 1 1", "x"), reading) == ["1:A", "2:A", "3:A"]
