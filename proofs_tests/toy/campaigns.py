"""Random words, and how a word gets simpler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from random import Random
from typing import Any

from cerify.equivalence.generate.generator import Generator
from cerify.equivalence.shrink.shrink import QueryOperations
from cerify.semantics.events import Event, Stream
from proofs_tests.toy.syntax import Letter, Then, Word
from proofs_tests.toy.text import letters, parse, show

TYPES = "ABC"


def word_of(types: tuple[str, ...]) -> Word:
    """The word of these letters."""
    return reduce(Then, map(Letter, types))


def case(rng: Random, profile: Any, nodes: int, events: int) -> tuple[Word, Stream]:
    """A random word of at most four letters, and a stream for it."""
    word = word_of(tuple(rng.choices(TYPES, k=rng.randint(1, 4))))
    return word, stream(rng, profile, rng.randint(1, events), word)


def stream(rng: Random, profile: Any, length: int, word: Word) -> Stream:
    """A random stream, most of it repetitions of the word."""
    types = [*letters(word), *rng.choices(TYPES, k=length)][:length]
    return Stream([Event(R, {}) for R in types])


def shorter(word: Word) -> Iterator[Word]:
    """The word less one of its letters."""
    types = letters(word)
    if len(types) > 1:
        yield from (word_of(types[:i] + types[i + 1 :]) for i in range(len(types)))


def mapped(word: Word, name: Callable[[str], str] = str, value: Callable[[Any], Any] = str) -> Word:
    """The word with other event types."""
    return word_of(tuple(map(name, letters(word))))


GENERATOR = Generator[Word]({"words": None}, case, stream)
OPERATIONS = QueryOperations[Word](
    parse=parse,
    show=show,
    reductions=(shorter,),
    size=lambda word: len(letters(word)),
    complexity=lambda word: 0,
    types=letters,
    attributes=lambda word: (),
    predicates=lambda word: (),
    mapped=mapped,
    operators=lambda word: ("then",) if isinstance(word, Then) else (),
)
