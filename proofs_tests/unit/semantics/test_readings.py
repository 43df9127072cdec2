"""The names of questions and answers of readings, read from texts."""

import pytest

from cerify.semantics.arguments import choices, parse_reading, vary_reading
from cerify.semantics.errors import InputError
from cerify.semantics.row_pattern.scalars import RowReading
from cerify.semantics.sase.syntax import Reading


def test_a_reading_is_read_from_texts() -> None:
    assert parse_reading(RowReading, []) == RowReading()
    assert parse_reading(RowReading, ["nulls=low", "skip_to_first=next_row"]) == RowReading(
        nulls="low", skip_to_first="next_row"
    )
    assert parse_reading(Reading, ["window=open"]).window == "open"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("null=low", "there is no question 'null' of a reading; there are bounded_iterations, "),
        ("nulls=lowest", "the reading nulls is high or low or last, not 'lowest'"),
        ("nulls", "the reading nulls is high or low or last, not ''"),
    ],
)
def test_what_is_no_reading_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_reading(RowReading, [text])


def test_the_decided_answer_is_the_first_and_none_of_the_others() -> None:
    assert choices(RowReading)["nulls"] == ("high", "low", "last")
    assert [answer for name, answer in vary_reading(RowReading()) if name == "nulls"] == ["low", "last"]
