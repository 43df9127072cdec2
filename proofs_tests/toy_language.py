"""The language of docs/guide/words with all that a campaign needs: a second evaluator, and random words."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any

from cerify.equivalence.generate.shrink import Generator, QueryOperations
from cerify.languages.language import BuiltIn, Cases, Evaluators, Language, Options
from cerify.semantics.events import Event, Match, Stream

FOLDER = Path(__file__).parent.parent / "docs" / "guide" / "words"
sys.path.append(str(FOLDER))

from words import WORDS, Letter, Then, Word, find_matches, letters  # noqa: E402

TYPES = "ABC"


def word_of(types: tuple[str, ...]) -> Word:
    """Return the word of these letters."""
    return reduce(Then, map(Letter, types))


def case(rng: Random, profile: Any, nodes: int, events: int) -> tuple[Word, Stream]:
    """Return a random word of at most four letters, and a stream for it."""
    word = word_of(tuple(rng.choices(TYPES, k=rng.randint(1, 4))))
    return word, stream(rng, profile, rng.randint(1, events), word)


def stream(rng: Random, profile: Any, length: int, word: Word) -> Stream:
    """Return a random stream that begins with the word."""
    types = [*letters(word), *rng.choices(TYPES, k=length)][:length]
    return Stream([Event(R, {}) for R in types])


def shorter(word: Word) -> Iterator[Word]:
    """Yield the words without one of the letters."""
    types = letters(word)
    if len(types) > 1:
        yield from (word_of(types[:i] + types[i + 1 :]) for i in range(len(types)))


def mapped(word: Word, name: Callable[[str], str] = str, value: Callable[[Any], Any] = str) -> Word:
    """Return the word with other event types."""
    return word_of(tuple(map(name, letters(word))))


GENERATOR = Generator[Word]({"words": None}, case, stream)
OPERATIONS = QueryOperations[Word](
    parse=WORDS.syntax.parse,
    show=WORDS.syntax.show,
    reductions=(shorter,),
    size=lambda word: len(letters(word)),
    complexity=lambda word: 0,
    types=letters,
    attributes=lambda word: (),
    predicates=lambda word: (),
    mapped=mapped,
    operators=lambda word: ("then",) if isinstance(word, Then) else (),
)


class ToyCases(Cases[Word]):
    """Random words and streams, and how a word gets simpler."""

    def generator(self) -> Generator[Word]:
        return GENERATOR

    def operations(self) -> QueryOperations[Word]:
        return OPERATIONS


def _scan(word: Word, S: Stream, options: Options) -> Iterator[Match]:
    """By comparing the types of the last events with the word."""
    wanted = letters(word)
    for j in range(len(wanted) - 1, len(S)):
        i = j + 1 - len(wanted)
        if all(S[i + k].type == R for k, R in enumerate(wanted)):
            yield Match(j, tuple(range(i, j + 1)))


TOY: Language[Word] = replace(
    WORDS,
    name="toy",
    evaluators=Evaluators(
        {"denotational": BuiltIn.from_matches(find_matches), "automaton": BuiltIn.from_matches(_scan)}
    ),
    cases=ToyCases(),
)
