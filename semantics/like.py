"""Whether a text matches a regular expression in RE2's syntax: in plain Python, or by RE2 where a pattern needs it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from cerify.semantics.packages import installed, pa, pc


def matches(pattern: str, value: object) -> bool:
    """Whether the value is a string that the pattern matches as a whole; takes time linear in the string.

    Raises MissingPackage for a pattern that only RE2 can match, if Arrow is not installed.
    """
    return isinstance(value, str) and _matches(pattern, value)


def flaw(pattern: str) -> str | None:
    """Why a text is no regular expression in RE2's syntax; None if it is one. Raises MissingPackage, see matches."""
    from cerify.semantics.pattern_syntax import NotCovered, PatternError
    from cerify.semantics.patterns import Pattern

    try:
        Pattern(pattern)
    except PatternError as error:
        if isinstance(error, NotCovered) or installed("pyarrow"):
            return _flaw_by_re2(pattern)
        return str(error)
    return None


def _flaw_by_re2(pattern: str) -> str | None:
    match_regex = pc.match_substring_regex
    try:
        for text in (pattern, whole(pattern)):  # alone `)(` is none, and in parentheses `\\Q` is none
            match_regex(pa.scalar(""), text)
    except pa.ArrowInvalid as error:
        return str(error).removeprefix("Invalid regular expression: ")
    return None


@lru_cache(maxsize=100_000)
def _matches(pattern: str, value: str) -> bool:
    return _matcher(pattern)(value)


@lru_cache(maxsize=1000)
def _matcher(pattern: str) -> Callable[[str], bool]:
    from cerify.semantics.pattern_syntax import NotCovered
    from cerify.semantics.patterns import Pattern

    try:
        return Pattern(pattern).matches
    except NotCovered:
        return lambda value: bool(pc.match_substring_regex(pa.scalar(value), whole(pattern)).as_py())


def whole(pattern: str) -> str:
    """The pattern that matches a string as a whole where the given one does."""
    return rf"\A(?:{pattern})\z"
