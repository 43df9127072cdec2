"""Whether one event is within the window of another, with every answer written down."""

from datetime import UTC, datetime, timedelta

import pytest

from cerify.semantics.events import Event
from cerify.semantics.sase.clauses import spans, stream_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import SaseQuery, SaseUnion, SaseWindow, Unit, names_of, type_of
from cerify.semantics.values import Value

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAN = float("nan")


@pytest.mark.parametrize(
    ("before", "after", "is_open", "is_closed"),
    [
        (10, 12, True, True),
        (10, 13, False, True),
        (10, 14, False, False),
        (10.5, 13, True, True),
        (10, 13.5, False, False),
        (-2, 0.5, True, True),
        (13, 10, True, True),
        (NOON, NOON + timedelta(seconds=2.5), True, True),
        (NOON, NOON + timedelta(seconds=3), False, True),
        (NOON, NOON + timedelta(seconds=4), False, False),
        (NOON, 3, None, None),
        (3, NOON, None, None),
        (True, 1, None, None),
        (1, True, None, None),
        (True, True, None, None),
        (NAN, 1, None, None),
        (1, NAN, None, None),
        ("1", 1, None, None),
        (None, 1, None, None),
        (1, None, None, None),
    ],
)
def test_within(before: Value | None, after: Value | None, is_open: bool | None, is_closed: bool | None) -> None:
    one, other = (Event("A", {} if t is None else {"time": t}) for t in (before, after))
    assert spans(SaseWindow(3, "seconds"), one, other, closed=False) is is_open
    assert spans(SaseWindow(3, "seconds"), one, other, closed=True) is is_closed


@pytest.mark.parametrize(
    ("returned", "names", "type_"),
    [
        ("RETURN T(a.x AS r)", ("r",), "T"),
        ("RETURN T(a.x AS r) IN STREAM S", ("r",), "T"),
        ("RETURN (a.x AS r, b.x AS s) IN STREAM S", ("r", "s"), "S"),
        ("RETURN a.x, b.x", ("a.x", "b.x"), "result"),
        ("RETURN a.x, b.y", ("x", "y"), "result"),
        ("RETURN a.x AS x, b.x", ("x", "b.x"), "result"),
    ],
)
def test_names_in_a_result(returned: str, names: tuple[str, ...], type_: str) -> None:
    query = parse(f"PATTERN SEQ(A a, B b) {returned}")
    assert isinstance(query, SaseQuery)
    assert (names_of(query.returned), type_of(query.returned)) == (names, type_)


@pytest.mark.parametrize(
    ("unit", "seconds"), [("seconds", 2), ("minutes", 120), ("hours", 7_200), ("days", 172_800), ("weeks", 1_209_600)]
)
def test_units(unit: Unit, seconds: int) -> None:
    assert SaseWindow(2, unit).seconds == seconds


def test_the_stream_of_a_union_is_named_in_one_of_its_parts() -> None:
    one, other = "PATTERN SEQ(A a) RETURN T(a.x)", "PATTERN SEQ(B b) RETURN T(b.x)"
    queries = [parse(text) for text in (one, f"{one} IN STREAM s UNION {other}", f"{one} UNION {other} IN STREAM s")]
    assert [stream_of(q) for q in queries if isinstance(q, SaseQuery | SaseUnion)] == [None, "s", "s"]
