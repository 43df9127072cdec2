"""Messages of errors, and how the place in a query is shown."""

import pytest

from cerify.semantics.errors import IllFormed, ParseError, QueryWarning, Span, errors_in, underline
from cerify.semantics.values import quote_text


@pytest.mark.parametrize("kind", [IllFormed, ParseError])
def test_the_text_of_an_error_is_its_message_alone(kind: type[Exception]) -> None:
    assert str(kind("no such type", Span(0, 1))) == "no such type"
    assert QueryWarning("no such type", Span(0, 1)).args == ("no such type",)


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("A ; B", Span(0, 1), "A ; B\n^"),
        ("A ; B", Span(4, 5), "A ; B\n    ^"),
        ("A ;\nB OR C\n; D", Span(4, 10), "B OR C\n^^^^^^"),
        ("A ;\n\tB", Span(5, 6), "\tB\n\t^"),
        ("A", Span(0, 0), "A\n^"),
        ("A", Span(1, 2), "A\n ^"),
        ("A", Span(-3, 1), "A\n^"),
        ("A OR\nB", Span(0, 6), "A OR\n^^^^"),
        ("A", Span(7, 9), "A\n ^"),
        ("A ;\n", Span(3, 4), "A ;\n   ^"),
        ("\nA", Span(0, 0), "\n^"),
        ("A" * 400, Span(0, 1), "A" * 400 + "\n^"),
        ("A" * 401, Span(0, 1), "A" * 60 + "…\n^"),
        ("A" * 401, Span(200, 401), "…" + "A" * 120 + "…\n" + " " * 61 + "^" * 61),
    ],
)
def test_the_line_is_shown_with_the_place_underlined(text: str, span: Span, expected: str) -> None:
    assert underline(text, span) == expected


def test_the_text_that_is_known_first_stays() -> None:
    with pytest.raises(ParseError) as caught, errors_in("outer"), errors_in("A ; B"):
        raise ParseError("no", Span(2, 3))
    assert caught.value.described() == "no\nA ; B\n  ^"


def test_a_long_value_is_cut_in_a_message() -> None:
    assert quote_text("a" * 60) == repr("a" * 60)
    assert quote_text("a" * 61) == repr("a" * 57 + "...")
