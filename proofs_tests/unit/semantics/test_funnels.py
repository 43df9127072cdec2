"""The definitions of funnels, on streams that tell them apart, and on what ClickHouse 26.9 answered."""

import pytest

from cerify.semantics.errors import BudgetExceeded, ParseError
from cerify.semantics.funnels import (
    FUNNEL_MODES,
    ChainReading,
    FunnelRow,
    Rows,
    deepest_chain,
    parse_sequence_pattern,
    retention,
    sequence_count,
    sequence_rows,
)


def rows_of(text: str) -> Rows:
    """Rows as "0:A 1:BC 2:-": the time and the steps, A the first; "!" bars a row, and "-" matches no step."""
    found = []
    for word in text.split():
        time, steps = word.split(":")
        numbers = frozenset("ABCDE".index(letter) + 1 for letter in steps if letter in "ABCDE")
        found.append(FunnelRow(int(time), numbers, "!" in steps))
    return found


MODES = list(FUNNEL_MODES)
LEVELS = {  # within 10; as ClickHouse answered, in the order of FUNNEL_MODES
    "1:A 2:B 3:C": (3, 3, 3, 3, 3, 3, 3),
    "1:A 2:B 3:B 4:C": (3, 3, 3, 3, 3, 3, 2),
    "1:A 2:B 3:A 4:C": (3, 3, 3, 3, 3, 3, 3),
    "1:A 2:- 3:B": (2, 2, 2, 2, 1, 1, 2),
    "1:A 2:C 3:B": (2, 2, 2, 2, 1, 2, 2),
    "1:AB": (2, 1, 1, 1, 2, 2, 2),
    "1:A 1:B": (2, 2, 1, 1, 2, 2, 2),
    "1:B 1:A": (2, 2, 1, 1, 2, 2, 2),
    "1:A 1:A 2:B": (2, 2, 2, 2, 2, 2, 2),
    "1:A 2:A 2:B": (2, 2, 1, 2, 2, 2, 2),
    "1:A 12:B": (1, 1, 1, 1, 1, 1, 1),
    "1:A 11:B": (2, 2, 2, 2, 2, 2, 2),
}


@pytest.mark.parametrize("text", LEVELS)
def test_levels_of_clickhouse(text: str) -> None:
    assert tuple(level(rows_of(text), 3, 10) for level in FUNNEL_MODES.values()) == LEVELS[text]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("other", MODES)
def test_each_two_modes_are_told_apart(mode: str, other: str) -> None:
    if mode != other:
        a, b = MODES.index(mode), MODES.index(other)
        assert any(levels[a] != levels[b] for levels in LEVELS.values())


@pytest.mark.parametrize(
    ("text", "reading", "chain"),
    [
        ("0:A 1:A 2:B 3:C", ChainReading(), (0, 2, 3)),
        ("0:A 5:A 6:B 9:C", ChainReading(window=4), (1, 2, 3)),
        ("0:A 5:B", ChainReading(window=5), (0, 1)),
        ("0:A 6:B", ChainReading(window=5), (0,)),
        ("0:A 5:A 6:B 9:C", ChainReading(window=4, first=True), (0,)),
        ("0:B 1:A", ChainReading(), (1,)),
        ("0:AB", ChainReading(), (0,)),
        ("0:A 0:B", ChainReading(), (0, 1)),
        ("0:B 0:A", ChainReading(), (1,)),
        ("0:A 0:B", ChainReading(increasing=True), (0,)),
        ("0:A 1:! 2:B", ChainReading(), (0,)),
        ("0:A 1:! 2:A 3:B", ChainReading(), (2, 3)),
        ("0:A 1:B! 2:B", ChainReading(), (0,)),
        ("0:! 1:A 2:B 3:!", ChainReading(), (1, 2)),
        ("0:- 1:C", ChainReading(), ()),
    ],
)
def test_the_deepest_chain(text: str, reading: ChainReading, chain: tuple[int, ...]) -> None:
    assert deepest_chain(rows_of(text), 3, reading) == chain


def test_more_log_can_lower_a_level() -> None:
    """A row that matches no step ends strict_order, a repeat strict_deduplication; cerify's own level never falls."""
    fewer, more = rows_of("1:A 3:B"), rows_of("1:A 2:- 3:B")
    assert FUNNEL_MODES["strict_order"](fewer, 2, 10) == 2
    assert FUNNEL_MODES["strict_order"](more, 2, 10) == 1
    assert len(deepest_chain(more, 2)) == 2


@pytest.mark.parametrize(
    ("pattern", "text", "count"),
    [  # as ClickHouse answered
        ("(?1)(?2)", "1:A 2:B", 1),
        ("(?1)(?2)", "1:A 2:- 3:B", 1),
        ("(?1)(?2)", "1:A 2:C 3:B", 0),
        ("(?1).*(?2)", "1:A 2:C 3:B 4:A 5:B", 2),
        ("(?1)(?t<=3)(?2)", "1:A 2:C 4:B", 1),
        ("(?1)(?t<3)(?2)", "1:A 2:C 4:B", 0),
        ("(?1)(?t>=3)(?2)", "1:A 2:B 5:B", 1),
        ("(?1).*(?t<=3)(?2)", "1:A 5:C 6:B", 1),
        ("(?1)(?1)", "1:A 2:A 3:A", 1),
        (".(?2)", "1:B 2:B", 1),
        ("(?1).(?2)", "1:A 2:A 3:B", 1),
    ],
)
def test_sequence_patterns(pattern: str, text: str, count: int) -> None:
    parts = parse_sequence_pattern(pattern)
    assert sequence_count(parts, rows_of(text)) == count
    assert (sequence_rows(parts, rows_of(text)) is not None) == (count > 0)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("", "no row"),
        (".*", "no row"),
        ("(?1", "not a part of a pattern"),
        ("(?0)", "from 1"),
        ("(?t<=3)(?1)", "must follow"),
        ("(?1)(?t<=3)(?t<=4)(?2)", "must follow"),
        ("(?1)(?t<=3)", "needs a row after it"),
        ("(?1)(?t<=3).*", "needs a row after it"),
        ("(?1)" * 101, "more than 100 parts"),
    ],
)
def test_patterns_that_are_refused(pattern: str, message: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        parse_sequence_pattern(pattern)
    assert error.value.span is not None


def test_a_long_search_ends() -> None:
    parts = parse_sequence_pattern("(?1).*(?1).*(?1).*(?2)")
    with pytest.raises(BudgetExceeded, match="100000 rows"):
        sequence_rows(parts, rows_of(" ".join(f"{i}:A" for i in range(300))))


def test_retention_has_no_order() -> None:
    assert retention(rows_of("1:B 2:A"), 3) == (True, True, False)
    assert retention(rows_of("1:B 2:C"), 3) == (False, False, False)
