"""Row patterns in WINDOW: the frame of a row, SEEK, rows that are skipped, and what the clause does not have.

Expected results follow from the steps in Trino's documentation of row patterns in window structures.
"""

from collections.abc import Callable
from typing import Any

import pytest

from cerify.automata.row_pattern import compile
from cerify.semantics.errors import CerifyError, IllFormed, ParseError
from cerify.semantics.row_pattern import denote
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import RowWindow, show
from proofs_tests.campaigns.row_patterns import compared
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import found, numbered, rows

UNBOUNDED = "ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING"
FELL = "B AS value < PREV(value), C AS value > PREV(value)"


def windowed(values: str, pattern: str, define: str = "", rest: str = "", to: str = "UNBOUNDED") -> list[str]:
    """Of each match the number of the row whose window it is in, and those of its rows."""
    text = f"WINDOW (ORDER BY id ROWS BETWEEN CURRENT ROW AND {to} FOLLOWING {rest} PATTERN ({pattern}) {define})"
    return [f"{m.at + 1}:{''.join(str(place + 1) for place in m.events)}" for m in found(text, numbered(values))]


@pytest.mark.parametrize(
    ("rest", "to", "expected"),
    [
        ("", "UNBOUNDED", "1:1234 5:56"),
        ("AFTER MATCH SKIP TO NEXT ROW", "UNBOUNDED", "1:1234 2:234 5:56"),
        ("AFTER MATCH SKIP TO LAST B", "UNBOUNDED", "1:1234 5:56"),
        ("", "2", "2:234"),
        ("", "0", ""),
    ],
)
def test_a_match_is_in_the_frame_of_its_row(rest: str, to: str, expected: str) -> None:
    pattern = "A B+ C" if "5" not in expected else "A B+ C | A B"
    assert windowed("90 80 70 75 75 60", pattern, f"DEFINE {FELL}", rest, to) == expected.split()


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        ("AFTER MATCH SKIP TO NEXT ROW SEEK", "1:234 2:234 3:34 4:4"),
        ("SEEK", "1:234"),
        ("INITIAL", "2:234"),
        ("", "2:234"),
    ],
)
def test_seek_finds_a_match_after_the_row(rest: str, expected: str) -> None:
    assert windowed("50 80 70 60 50", "B+", "DEFINE B AS value > NEXT(value)", rest) == expected.split()


def test_prev_and_next_see_the_frame_alone() -> None:
    assert windowed("1 2 3", "A", "DEFINE A AS PREV(value) IS NULL") == ["1:1", "2:2", "3:3"]
    assert windowed("1 2 3", "A", "DEFINE A AS NEXT(value) IS NULL", to="0") == ["1:1", "2:2", "3:3"]
    assert windowed("1 2 3", "A", "DEFINE A AS NEXT(value) IS NULL", to="1") == ["3:3"]
    assert windowed("1 2 3", "A", "DEFINE A AS PREV(value) = 1", "SEEK") == ["1:2"]


def test_the_output_has_every_row_with_the_measures_of_its_match() -> None:
    text = f"""WINDOW (ORDER BY id MEASURES RUNNING LAST(value) AS last, COUNT(*) AS n, PREV(B.value, 2) AS before
        {UNBOUNDED} PATTERN (A B+ | ()) DEFINE B AS value < PREV(value))"""
    assert rows(text, numbered("5 6 5 4 7")) == [
        (1, None, 0, None, 5), (2, 4, 3, 6, 6), (3, None, None, None, 5), (4, None, None, None, 4),
        (5, None, 0, None, 7),
    ]  # fmt: skip


def test_a_skip_to_the_first_row_of_a_match_is_an_error_with_seek_too() -> None:
    with pytest.raises(IllFormed, match="would match again"):
        windowed("1 2", "A", "DEFINE A AS value = 2", "AFTER MATCH SKIP TO A SEEK")


@pytest.mark.parametrize(
    ("body", "error", "message"),
    [
        ("PATTERN (A)", ParseError, "ROWS BETWEEN is missing before PATTERN"),
        ("ROWS BETWEEN 1 PRECEDING AND CURRENT ROW PATTERN (A)", ParseError, "ROWS BETWEEN CURRENT ROW AND UNBOUNDED"),
        ("RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING PATTERN (A)", ParseError, "ROWS BETWEEN CURRENT ROW"),
        (
            f"{UNBOUNDED} ONE ROW PER MATCH PATTERN (A)",
            ParseError,
            "ONE ROW PER MATCH is for row patterns in MATCH_REC",
        ),
        (f"{UNBOUNDED} MEASURES x AS y PATTERN (A)", ParseError, "MEASURES stands before ROWS BETWEEN"),
        (f"{UNBOUNDED} DEFINE A AS x > 1", ParseError, "PATTERN is missing before DEFINE"),
        (f"{UNBOUNDED} PATTERN (^ A)", IllFormed, r"\^ cannot be used in WINDOW"),
        (f"{UNBOUNDED} PATTERN (A $)", IllFormed, r"\$ cannot be used in WINDOW"),
        (f"{UNBOUNDED} PATTERN (A) DEFINE A AS MATCH_NUMBER() = 1", IllFormed, r"MATCH_NUMBER\(\) cannot be used"),
    ],
)
def test_what_the_clause_does_not_have(body: str, error: type[CerifyError], message: str) -> None:
    with pytest.raises(error, match=message) as raised:
        require_wellformed(parse(f"WINDOW ({body})"))
    assert raised.value.span is not None


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (UNBOUNDED, RowWindow()),
        ("rows between current row and current row", RowWindow(0)),
        ("ROWS BETWEEN CURRENT ROW AND 3 FOLLOWING seek", RowWindow(3, True)),
        (f"{UNBOUNDED} AFTER MATCH SKIP TO NEXT ROW INITIAL", RowWindow()),
    ],
)
def test_the_frame_is_read_and_printed(text: str, window: RowWindow) -> None:
    q = parse(f"window (PARTITION BY p MEASURES x AS m {text} PATTERN (A))")
    assert q.window == window
    assert parse(show(q)) == q


@pytest.mark.parametrize("cases", sampled([30, 150], [30]))
@pytest.mark.parametrize("profile", ["windows", "windows on columns"])
def test_the_evaluators_and_the_definition_agree(profile: str, cases: int) -> None:
    kinds, difference = compared(range(cases), profile=profile)
    assert difference == ""
    assert kinds["matched"] > cases / 3


right_rows, right_in_frame = denote.visible_rows, compile.in_frame

FAULTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "the frame begins with the partition": (
        denote, "visible_rows", lambda q, r, length: range(right_rows(q, r, length).stop),
    ),
    "the frame ends with the partition": (denote, "visible_rows", lambda q, r, length: range(r, length)),
    "conditions see the partition": (compile, "in_frame", lambda e, A, d, end: right_in_frame(e, A, 10**6, None)),
    "SEEK is INITIAL": (compile, "searched_pattern", lambda q: q.pattern),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*FAULTS[fault])
    assert compared(range(300), profile="windows on columns")[1] != ""
