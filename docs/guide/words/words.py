"""A language for cerify: `A B C` matches three consecutive events of these types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias

from cerify.languages.language import BuiltIn, Evaluators, Language, Options, Syntax
from cerify.semantics.errors import IllFormed, ParseError, Span
from cerify.semantics.events import Match, Schema, Stream

# 1. The syntax tree.


@dataclass(frozen=True)
class Letter:
    """An event of this type."""

    type: str


@dataclass(frozen=True)
class Then:
    """A match of the left word, and directly after it a match of the right word."""

    left: Word
    right: Word


Word: TypeAlias = Letter | Then


def letters(word: Word) -> tuple[str, ...]:
    """Return the event types of a word, in their order."""
    return (word.type,) if isinstance(word, Letter) else (*letters(word.left), *letters(word.right))


# 2. The text.


class WordSyntax(Syntax[Word]):
    """Reads and writes words, and checks them against a schema."""

    trees = (Letter, Then)

    def parse(self, text: str) -> Word:
        """Return the word that a text stands for. Raises ParseError with the place."""
        names = text.split()
        if not names:
            raise ParseError("a word has at least one event type", Span(0, len(text)))
        for name in names:
            if not name.isidentifier():
                start = text.index(name)
                raise ParseError(f"{name!r} is not an event type", Span(start, start + len(name)))
        return reduce(Then, map(Letter, names))

    def show(self, query: Word) -> str:
        """Return the text of a word; it parses to the same word."""
        return " ".join(letters(query))

    def require_typed(self, query: Word, schema: Schema) -> None:
        """Raise IllFormed if the events have no such type."""
        if unknown := [name for name in letters(query) if name not in schema.types]:
            raise IllFormed(f"unknown event type {unknown[0]}")


# 3. The meaning.


def holds(word: Word, S: Stream, i: int, j: int) -> bool:
    """Return whether the events from i to j, both included, are a match of the word."""
    match word:
        case Letter(type_):
            return i == j and S[i].type == type_
        case Then(left, right):
            return any(holds(left, S, i, k) and holds(right, S, k + 1, j) for k in range(i, j))


def find_matches(word: Word, S: Stream, options: Options) -> Iterator[Match]:
    """Yield all matches, in the order of the positions at which they are reported."""
    for j in range(len(S)):
        for i in range(j + 1):
            if holds(word, S, i, j):
                yield Match(j, tuple(range(i, j + 1)))


# 4. The plug-in.

WORDS = Language(
    name="words",
    title="words",
    syntax=WordSyntax(),
    evaluators=Evaluators({"denotational": BuiltIn.from_matches(find_matches)}),
)
