"""Campaigns of `cerify fuzz` and Spark in any language: the definition, the evaluators under test, and the plan."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from random import Random
from typing import Any, Literal, assert_never

from cerify.automata.evaluator import Consumption
from cerify.conformance.claims import Claims, in_order_of_time
from cerify.conformance.harness import Engine
from cerify.conformance.model import Case, of_output
from cerify.conformance.second_opinion import SecondOpinionIn
from cerify.equivalence.differential.campaign import Plan
from cerify.equivalence.differential.judge import Evaluator, GiveUp, NoAnswer, Output
from cerify.equivalence.generate.generator import CaseMaker, StreamMaker
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Language, Options
from cerify.plan import Want, plan
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.json_events import json_of_event, json_of_schema
from cerify.semantics.selection import Selection

DEFINITION_BUDGET = Budget(valuations=1_000_000)

Streams = Literal["guided", "random"]
"""Whether most streams of a campaign are led to a match, or all are random."""


@dataclass(frozen=True)
class BuiltInEvaluator:
    """An evaluator of a language as a campaign takes it. Raises IllFormed where the query does not fit the schema.

    bare: whether matches are without results where they have them and the output is matches.
    """

    language: Language[Any]
    name: str
    budget: Budget = field(default_factory=Budget)
    consumption: Consumption = Consumption.NONE
    bare: bool = False

    def __call__(self, query: Any, S: Stream, output: Output) -> Collection[Match]:
        require_typed(self.language, query, S.schema)
        options = Options(output, self.budget, consumption=self.consumption)
        found = plan(self.language, query, S.schema, Want(options, self.name)).unsorted(S)
        return of_output(found, self.language.name, output) if self.bare else found


class EngineEvaluator:
    """An engine under test as a campaign takes it.

    Raises Unsupported where it skips, BudgetExceeded, IllFormed where the query does not fit the schema, NoAnswer where
    it fails, GiveUp if it may not be restarted again. It is not called with a query that names a variable which nothing
    binds (Unsupported), since an engine may refuse it.
    """

    def __init__(self, engine: Engine, language: Language[Any], consumption: Consumption = Consumption.NONE) -> None:
        self.engine = engine
        self.language = language
        self.consumption = consumption
        self._numbers = count()

    def __call__(self, query: Any, S: Stream, output: Output) -> Collection[Match]:
        require_typed(self.language, query, S.schema)
        if has_unbound(self.language, query, S):
            raise Unsupported("the query names a variable that nothing binds")
        result = self.engine.answer(
            Case(
                id=f"fuzz/{next(self._numbers)}",
                feature="fuzz",
                clause="",
                language=self.language.name,
                query=self.language.show(query),
                schema=None if S.schema is None else json_of_schema(S.schema),
                events=[json_of_event(event) for event in S],
                output="valuations" if self.language.results else output,
                matches=(),
                consumption=self.consumption,
            )
        )
        if self.engine.twice:  # the case before this one has been judged: it is this one that shows the fault
            raise NoAnswer(f"protocol: {self.engine.twice.popitem()[1]}")
        match result.outcome:
            case "passed" | "failed" | "disputed":
                return result.matches or ()
            case "skipped":
                raise Unsupported(result.detail)
            case "error" if result.detail.startswith("unsupported:"):
                raise Unsupported(result.detail)
            case "error" if result.detail.startswith("budget:"):
                raise BudgetExceeded(result.detail)
            case "not_run":
                raise GiveUp(result.detail)
            case "error" | "crashed" | "timeout" | "memory" | "protocol":
                raise NoAnswer(f"{result.outcome}: {result.detail}")
            case _:
                assert_never(result.outcome)


_TYPED: list[tuple[Any, Schema]] = []  # the query that was checked last, with its schema


def require_typed(language: Language[Any], query: Any, schema: Schema | None) -> None:
    """Raises IllFormed where the query does not fit the schema; for all evaluators that are asked a case once."""
    if schema is None or any(query is known and schema is fitted for known, fitted in _TYPED):
        return
    _TYPED.clear()
    language.require_typed(query, schema)
    _TYPED.append((query, schema))


def has_unbound(language: Language[Any], query: Any, S: Stream) -> bool:
    """Whether a query names a variable that nothing binds, which an engine may refuse."""
    return any(problem.rule == "unbound" for problem in language.problems(query, S.schema))


def name_of(maker: CaseMaker[Any]) -> str:
    """The name of a function that makes cases, or the text of an object that does."""
    return str(getattr(maker, "__qualname__", repr(maker)))


@dataclass(frozen=True, repr=False)
class BoundMaker:
    """Makes the cases of another maker, without those whose query names a variable that nothing binds."""

    language: Language[Any]
    maker: CaseMaker[Any]

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, bound"  # without an address: it is written into the file of a campaign

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        while True:
            query, S = self.maker(rng, profile, nodes, events)
            if not has_unbound(self.language, query, S):
                return query, S


@dataclass(frozen=True, repr=False)
class ClaimedMaker:
    """Makes the cases of another maker that an engine claims, of smaller and smaller queries after half of the tries.

    For an engine that claims streams in the order of time only, the events are sorted by their times.
    """

    language: Language[Any]
    maker: CaseMaker[Any]
    claims: Claims
    stream: StreamMaker[Any]
    tries: int = 1000

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, of {self.claims.described}"

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        """The first case that is claimed. Raises Unsupported if there is none among `tries` cases."""
        for left in range(self.tries, 0, -1):
            query, S = self.maker(rng, profile, max(1, min(nodes, 2 * nodes * left // self.tries)), events)
            if self.claims.ordered_time:
                S = in_order_of_time(S)
            if not (why := self.claims.objection(self.language.name, query, S, "matches")):
                return query, S
        raise Unsupported(f"the engine claims none of {self.tries} random cases; of the last one {why}")

    def another_stream(self, rng: Random, profile: Any, length: int, query: Any) -> Stream:
        """Another stream for a query that is claimed."""
        S = self.stream(rng, profile, length, query)
        return in_order_of_time(S) if self.claims.ordered_time else S


@dataclass(frozen=True, repr=False)
class SelectedMaker:
    """Makes the cases of another maker with a selection strategy around each query."""

    language: Language[Any]
    maker: CaseMaker[Any]
    selection: Selection

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, {self.selection.value}"

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        query, S = self.maker(rng, profile, nodes, events)
        return self.language.selected(query, self.selection), S


def generated_languages() -> Iterator[Language[Any]]:
    """The languages that have a generator of random cases."""
    for language in LANGUAGES.values():
        with suppress(Unsupported):
            language.generator()
            yield language


def definition(
    language: Language[Any],
    budget: Budget = DEFINITION_BUDGET,
    consumption: Consumption = Consumption.NONE,
    bare: bool = False,
) -> Evaluator:
    """The evaluator that the others are compared with."""
    return BuiltInEvaluator(language, DENOTATIONAL, budget, consumption, bare)


def built_in(
    language: Language[Any], budget: Budget = Budget(), consumption: Consumption = Consumption.NONE
) -> Mapping[str, Evaluator]:
    """The built-in evaluators of a language, all but the definition."""
    names = (name for name in language.evaluators if name != DENOTATIONAL)
    return {name: BuiltInEvaluator(language, name, budget, consumption) for name in names}


def plan_of(language: Language[Any], profile: str, streams: Streams | None, left: Evaluator, **settings: Any) -> Plan:
    """A campaign of the language and one of its profiles; its right evaluator is the left one, until it is replaced.

    streams: None for guided ones where the language has these. settings: other fields of the plan.
    """
    generator, operations = language.generator(), language.operations()
    if operations is None:
        raise Unsupported(f"a query in {language.title} is not shrunk, so there are no campaigns")
    maker = generator.case if streams == "random" or generator.guided is None else generator.guided
    return Plan(
        left,
        left,
        generator.profiles[profile],
        language=operations,
        maker=maker,
        stream=generator.stream,
        second_opinion=SecondOpinionIn(language.name),
        **settings,
    )
