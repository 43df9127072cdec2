"""Words as texts: the types of events in their order."""

from __future__ import annotations

from functools import reduce

from cerify.semantics.errors import ParseError, Span
from proofs_tests.toy.syntax import Letter, Then, Word


def parse(text: str) -> Word:
    """The word of a text. Raises ParseError."""
    for part in text.split():
        if not part.isidentifier():
            start = text.index(part)
            raise ParseError(f"{part!r} is no event type", Span(start, start + len(part)))
    if not text.split():
        raise ParseError("a word has at least one event type", Span(0, len(text)))
    return reduce(Then, map(Letter, text.split()))


def show(word: Word) -> str:
    """The text of a word."""
    return " ".join(letters(word))


def letters(word: Word) -> tuple[str, ...]:
    """The types of a word's events, in their order."""
    return (word.type,) if isinstance(word, Letter) else (*letters(word.left), *letters(word.right))
