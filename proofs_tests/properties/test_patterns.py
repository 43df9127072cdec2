"""Regular expressions in plain Python against RE2, which Arrow has."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cerify.semantics.patterns import NotCovered, Pattern, PatternError, whole

WRITTEN = r"""
\d \D \s \S \w \W \b \B \A \z \n \. \x41 \x{e9} \101 \07 \Q.a\E \Q \E \pL \q \8 \1 (?i) (?s) (?m) (?i: (?-i) (?:
(?U) (?P<a> (?= a{2} a{1,3} a{2,} {2} {,3} {1001} {3,1} *? +? ?? ** )* )+ [a-c] [^a] [^a-c\n] [\d-] [[:alpha:]]
[[:^digit:]_] [[:foo:]] []a] [^]] [a-] [-a] [c-a] [\w.] [\b]
"""
PIECES = [*"abkK09_-. \n|()[]{}*+?^$\\éſ", *WRITTEN.split()]
PATTERNS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
TEXTS = st.text(st.sampled_from("abckKsS\u212aſ019_-. \néÉ"), max_size=6)


def _by_re2(pattern: str, texts: list[str]) -> list[bool] | None:
    try:
        pc.match_substring_regex(pa.scalar(""), pattern)
        return pc.match_substring_regex(pa.array(texts, pa.string()), whole(pattern)).to_pylist()
    except pa.ArrowInvalid:
        return None


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
@example("(?i)k+s", ["KS", "\u212aſ", "k"])
@example("(?i)[^k]", ["K", "\u212a", "a"])
@example(r"(?m)^a$\n^b$", ["a\nb", "a\nb\n"])
@example(r".*\b", ["a", "é", ""])
@example("(a|b)*abb", ["aabb", "ab", "babb"])
@example("[[:!:]]", [":", "]"])
@settings(max_examples=500, deadline=None)
def test_a_pattern_matches_what_re2_matches(pattern: str, texts: list[str]) -> None:
    expected = _by_re2(pattern, texts)
    try:
        found = Pattern(pattern)
    except NotCovered:
        return
    except PatternError:
        assert expected is None
        return
    assert expected is not None
    assert [found.matches(text) for text in texts] == expected


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "a?" * 60 + "a" * 60 + "b"])
def test_no_pattern_takes_exponential_time(pattern: str) -> None:
    assert not Pattern(pattern).matches("a" * 3000)


@pytest.mark.parametrize("pattern", [r"\pL", "(?P<x>a)", r"\C", "(?i)é", "((a{40}){40}){40}", "(a{1000}){9}"])
def test_what_is_not_covered_is_left_to_re2(pattern: str) -> None:
    with pytest.raises(NotCovered):
        Pattern(pattern)
