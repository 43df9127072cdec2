"""The plug-in of the language in toy/: all that cerify has to be given of a language."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import get_args

from cerify.equivalence.generate.generator import Generator
from cerify.equivalence.shrink.shrink import QueryOperations
from cerify.languages.language import BuiltIn, Language, Options
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Match, Schema, Stream
from proofs_tests.toy import denote, text
from proofs_tests.toy.campaigns import GENERATOR, OPERATIONS
from proofs_tests.toy.syntax import Word


class Toy(Language[Word]):
    """Words."""

    name = "toy"
    title = "words"
    trees = get_args(Word)

    def parse(self, text_: str) -> Word:
        return text.parse(text_)

    def show(self, query: Word) -> str:
        return text.show(query)

    def require_typed(self, query: Word, schema: Schema) -> None:
        if missing := [R for R in text.letters(query) if R not in schema.types]:
            raise IllFormed(f"unknown event type {missing[0]}")

    def generator(self) -> Generator[Word]:
        return GENERATOR

    def operations(self) -> QueryOperations[Word]:
        return OPERATIONS

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Word]]:
        return {"denotational": BuiltIn.from_matches(_denotational), "automaton": BuiltIn.from_matches(_scan)}


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
