"""Patterns of `like` whose meaning is written down: matches, and why a text is no pattern."""

from __future__ import annotations

import pytest

from cerify.semantics import patterns
from cerify.semantics.patterns import Pattern, PatternError

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
    assert all(patterns.matches(pattern, text) for text in matched)
    assert not any(patterns.matches(pattern, text) for text in others)
    assert patterns.flaw(pattern) is None
    assert not patterns.matches(pattern, 7)


def test_the_largest_code_point_is_the_last_that_an_escape_names() -> None:
    with pytest.raises(PatternError, match="invalid escape sequence"):
        Pattern(r"\x{110000}")


def test_re2_says_what_is_wrong_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert patterns.flaw("(?P<a>x") == "missing ): (?P<a>x"  # not covered in plain Python
    assert patterns.flaw("a**") == "bad repetition operator: **"
    monkeypatch.setattr(patterns, "installed", lambda name: False)
    assert patterns.flaw(r"\x{110000}") == PLAIN
    assert patterns.flaw("(?P<a>x") == "missing ): (?P<a>x"
