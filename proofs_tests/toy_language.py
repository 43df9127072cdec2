"""The plug-in of the language in toy/: all that cerify has to be given of a language."""

from __future__ import annotations

from collections.abc import Iterator
from typing import get_args

from cerify.equivalence.generate.generator import Generator
from cerify.equivalence.shrink.shrink import QueryOperations
from cerify.languages.language import BuiltIn, Cases, Evaluators, Language, Options, Syntax
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Match, Schema, Stream
from proofs_tests.toy import denote, text
from proofs_tests.toy.campaigns import GENERATOR, OPERATIONS
from proofs_tests.toy.syntax import Word


class ToySyntax(Syntax[Word]):
    """The text of words, and how they fit a schema."""

    trees = get_args(Word)

    def parse(self, text_: str) -> Word:
        return text.parse(text_)

    def show(self, query: Word) -> str:
        return text.show(query)

    def require_typed(self, query: Word, schema: Schema) -> None:
        if missing := [R for R in text.letters(query) if R not in schema.types]:
            raise IllFormed(f"unknown event type {missing[0]}")


class ToyCases(Cases[Word]):
    """Random words and streams, and how a word gets simpler."""

    def generator(self) -> Generator[Word]:
        return GENERATOR

    def operations(self) -> QueryOperations[Word]:
        return OPERATIONS


def _denotational(word: Word, S: Stream, options: Options) -> Iterator[Match]:
    for j in range(len(S)):
        for i in range(j + 1):
            if denote.holds(word, S, i, j):
                yield Match(j, tuple(range(i, j + 1)))


def _scan(word: Word, S: Stream, options: Options) -> Iterator[Match]:
    """By comparing the types of the last events with the word."""
    wanted = text.letters(word)
    for j in range(len(wanted) - 1, len(S)):
        i = j + 1 - len(wanted)
        if all(S[i + k].type == R for k, R in enumerate(wanted)):
            yield Match(j, tuple(range(i, j + 1)))


TOY: Language[Word] = Language(
    name="toy",
    title="words",
    syntax=ToySyntax(),
    evaluators=Evaluators(
        {"denotational": BuiltIn.from_matches(_denotational), "automaton": BuiltIn.from_matches(_scan)}
    ),
    cases=ToyCases(),
)
