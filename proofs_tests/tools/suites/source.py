"""How a suite is made from its queries: the streams are chosen so that mutants are killed, the definition answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeAlias, cast

from cerify.automata.evaluator import Output
from cerify.conformance.model import Case
from cerify.languages import language_named
from cerify.languages.language import DENOTATIONAL, Options
from cerify.semantics.events import Schema, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from proofs_tests.tools.choosing import most_killing
from proofs_tests.tools.mutants.mutant import Mutant, killed_by


@lru_cache(maxsize=10_000)
def parsed(language: str, query: str) -> Any:
    """The tree of a query, which is parsed once."""
    return language_named(language).syntax.parse(query)


@lru_cache(maxsize=10_000)
def printed_text(language: str, query: str) -> str:
    """The query as it is printed."""
    return language_named(language).syntax.show(parsed(language, query))


Printed: TypeAlias = tuple[str, str, Stream]
"""A feature, a query and a stream that are in a paper."""


def no_notes(feature: str, query: str, S: Stream) -> Iterator[str]:
    """Nothing to be added to the clause of a case."""
    return iter(())


def no_restriction(feature: str, killed: frozenset[str]) -> bool:
    """Every stream may be chosen."""
    return True


@dataclass(frozen=True)
class Source:
    """The part of the suite in one language; its cases are numbered by feature.

    file: the name of its file. clauses: by feature the place that defines it. queries: by feature. candidates: the
    streams to choose from, of a feature and a query. streams: how many are taken for one query. printed: cases that are
    not chosen. notes: what is added to the clause of a case. prefers: which streams, by the mutants that they kill,
    are chosen if there are enough of them. choosing: of a feature the mutants by which streams are chosen, all if None.
    """

    language: str
    file: str
    clauses: Mapping[str, str]
    queries: Mapping[str, Sequence[str]]
    candidates: Callable[[str, str], list[Stream]]
    streams: int
    meaning: Mutant
    mutants: Sequence[Mutant]
    printed: Callable[[], Iterable[Printed]] = tuple
    notes: Callable[[str, str, Stream], Iterable[str]] = no_notes
    prefers: Callable[[str, frozenset[str]], bool] = no_restriction
    choosing: Callable[[str], Sequence[Mutant]] | None = None

    @property
    def output(self) -> Output:
        """A match of a language with results always has its bindings and its result."""
        return "valuations" if language_named(self.language).results else "matches"

    def case(self, feature: str, number: int, query: str, S: Stream) -> Case:
        """The case of that number, its query as it is printed."""
        clause = "; ".join((self.clauses[feature], *self.notes(feature, query, S)))
        return case_of(self.language, f"{feature}/{number:03}", feature, clause, self.text(query), S, self.output)

    def text(self, query: str) -> str:
        """The query as it is printed."""
        return printed_text(self.language, query)

    def kills(self, query: str, S: Stream, mutants: Iterable[Mutant] | None = None) -> frozenset[str]:
        """The mutants, all if None, that give other matches than the meaning does."""
        return killed_by(
            parsed(self.language, query), S, self.meaning, self.mutants if mutants is None else mutants, self.output
        )

    def chosen(self, feature: str, query: str) -> list[Stream]:
        """The streams that kill the most mutants, of two that are as good the shorter one."""
        mutants = None if self.choosing is None else self.choosing(feature)
        found = [(S, self.kills(query, S, mutants)) for S in self.candidates(feature, query)]
        preferred = [(S, killed) for S, killed in found if self.prefers(feature, killed)]
        chosen = preferred if len(preferred) >= self.streams else found
        return list(most_killing(chosen, min(self.streams, len(chosen))))


def case_of(language: str, id_: str, feature: str, clause: str, query: str, S: Stream, output: Output) -> Case:
    """A case, with the matches that the definition gives; its id begins with the language."""
    known = language_named(language)
    return Case(
        id=f"{language}/{id_}",
        feature=feature,
        clause=clause,
        language=language,
        query=query,
        schema=json_of_schema(cast("Schema", S.schema)),
        events=[json_of_event(event) for event in S],
        output=output,
        matches=sorted(known.evaluators.matches(parsed(language, query), S, DENOTATIONAL, Options(output))),
    )
