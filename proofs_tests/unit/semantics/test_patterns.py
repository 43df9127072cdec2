"""Patterns of `like` whose meaning is written down: matches, and why a text is no pattern."""

from __future__ import annotations

import pytest

from cerify.semantics import like
from cerify.semantics.pattern_syntax import PatternError
from cerify.semantics.patterns import Pattern

PLAIN = "invalid escape sequence: \\x{110000}"


@pytest.mark.parametrize(
    ("pattern", "matched", "others"),
    [
        ("a", ["a"], ["", "aa", "b"]),
        ("a|bc", ["a", "bc"], ["ac", "abc"]),
        ("a*b+c?", ["b", "aabbc"], ["", "ac", "bcc"]),
        ("a{2}", ["aa"], ["a", "aaa"]),
        ("a{2,}", ["aa", "aaa"], ["a"]),
        ("a{1,2}", ["a", "aa"], ["", "aaa"]),
        ("[a-c]", ["a", "c"], ["d", "-"]),
        ("[^a-c]", ["d", "\n"], ["a", "c"]),
        (r"\x{10FFFF}", ["\U0010ffff"], ["a"]),
        (r"\x41\101", ["AA"], ["A"]),
        (".", ["a", "é"], ["\n", "ab"]),
        ("(?s).", ["\n"], [""]),
        ("(?i)ab", ["AB", "aB"], ["ac"]),
        (r"\d\s\w", ["1 a"], ["a a", "1aa", "1 -"]),
        (r"\D\S\W", ["ab-"], ["1b-", "a -", "abc"]),
    ],
)
def test_a_pattern_matches_a_text_as_a_whole(pattern: str, matched: list[str], others: list[str]) -> None:
    assert all(like.matches(pattern, text) for text in matched)
    assert not any(like.matches(pattern, text) for text in others)
    assert like.flaw(pattern) is None
    assert not like.matches(pattern, 7)


def test_the_largest_code_point_is_the_last_that_an_escape_names() -> None:
    with pytest.raises(PatternError, match="invalid escape sequence"):
        Pattern(r"\x{110000}")


def test_re2_says_what_is_wrong_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert like.flaw("(?P<a>x") == "missing ): (?P<a>x"  # not covered in plain Python
    assert like.flaw("a**") == "bad repetition operator: **"
    monkeypatch.setattr(like, "installed", lambda name: False)
    assert like.flaw(r"\x{110000}") == PLAIN
    assert like.flaw("(?P<a>x") == "missing ): (?P<a>x"
