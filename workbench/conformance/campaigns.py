"""Campaigns of `cerify fuzz`, on one machine or on Spark: the evaluators that they compare, and their plan.

A plan is plain data, and a case is computed from the plan and its number. So workers need only numbers, and every case
of a long campaign can be made again on its own, wherever it ran.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, Literal, TypeAlias, assert_never

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.conformance.cases import Claims, in_order_of_time
from cerify.conformance.harness import Engine
from cerify.conformance.model import Case, of_output
from cerify.conformance.oracle import SecondOpinionIn
from cerify.conformance.prediction import interpretation_of
from cerify.equivalence.differential import (
    Answer,
    CampaignPlan,
    Disagreement,
    Evaluator,
    GiveUp,
    NoAnswer,
    Output,
    Query,
    answer,
    cause,
    failure_form,
)
from cerify.equivalence.generate.shrink import CaseMaker, QueryOperations, StreamMaker
from cerify.hypotheses.interpretation import EngineError, choices_of
from cerify.languages import LANGUAGES, language_named
from cerify.languages.language import DENOTATIONAL, Language, Options
from cerify.plan import Want, plan
from cerify.semantics.arguments import Budget, Selection
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.json_events import (
    json_of_event,
    json_of_schema,
    lines_of,
    parse_json,
    schema_of_json,
    stream_of_json,
)

DEFINITION_BUDGET = Budget(valuations=1_000_000)

Streams = Literal["guided", "random"]
"""How a campaign makes streams. guided: most of them contain a match; random: all are random."""


@dataclass(frozen=True)
class BuiltInEvaluator:
    """Evaluates queries of a campaign with a built-in evaluator of their language.

    Raises IllFormed if the query does not fit the schema. The reference evaluator raises Unsupported if evaluating the
    query on these events is an error. less: the output to compare instead of results, for an engine that claims no
    results; None: compare results.
    """

    language: Language[Any]
    name: str
    budget: Budget = field(default_factory=Budget)
    consumption: Consumption = Consumption.NONE
    less: str | None = None

    def __call__(self, query: Any, S: Stream, output: Output) -> Collection[Match]:
        require_typed(self.language, query, S.schema)
        options = Options(output, self.budget, consumption=self.consumption)
        planned = plan(self.language, query, S.schema, Want(options, self.name))
        try:
            found = planned.unsorted(S)
        except IllFormed as error:
            if self.name != DENOTATIONAL:
                raise
            raise Unsupported(f"evaluating the query on these events is an error: {error.message}") from None
        return found if self.less is None else of_output(found, self.language.name, self.less)


@dataclass(frozen=True)
class PolicyEvaluator:
    """Evaluates queries like an engine that makes the choices of a policy.

    choices: axes with their values. less: the output to compare instead of results, for an engine that claims no
    results; None: compare results. Raises Unsupported if such an engine would report an error, or if its answer cannot
    be predicted.
    """

    language: Language[Any]
    choices: tuple[tuple[str, str], ...]
    less: str | None = None

    def __call__(self, query: Any, S: Stream, output: Output) -> Collection[Match]:
        require_typed(self.language, query, S.schema)
        interpretation = interpretation_of(self.language.name)
        try:
            found = interpretation.matches(query, S, choices_of(dict(self.choices), interpretation.axes), output)
        except EngineError as error:
            raise Unsupported(f"an engine with these choices reports an error: {error}") from None
        return found if self.less is None else of_output(found, self.language.name, self.less)


class EngineEvaluator:
    """An engine under test in a campaign.

    Raises Unsupported if the engine skips the query, IllFormed if the query does not fit the schema, NoAnswer if the
    engine fails, GiveUp if no restarts are left, and BudgetExceeded. A query with an unbound variable is not
    sent (Unsupported), because an engine may refuse it.
    """

    def __init__(self, engine: Engine, language: Language[Any], consumption: Consumption = Consumption.NONE) -> None:
        self.engine = engine
        self.language = language
        self.consumption = consumption
        self._numbers = count()

    def __call__(self, query: Any, S: Stream, output: Output) -> Collection[Match]:
        require_typed(self.language, query, S.schema)
        if has_unbound(self.language, query, S):
            raise Unsupported("the query names an unbound variable, which an engine may refuse")
        result = self.engine.answer(
            Case(
                id=f"fuzz/{next(self._numbers)}",
                feature="fuzz",
                clause="",
                language=self.language.name,
                query=self.language.syntax.show(query),
                schema=None if S.schema is None else json_of_schema(S.schema),
                events=[json_of_event(event) for event in S],
                output="valuations" if self.language.results else output,
                matches=(),
                consumption=self.consumption,
            )
        )
        if self.engine.twice:  # the case answered twice is judged already, so this one shows the fault
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


# One entry is enough, because a campaign asks all evaluators about one query; compared by identity, because to compare
# the trees would take as long as the check.
_TYPED: list[tuple[Any, Schema]] = []  # the query that was checked last, with its schema


def require_typed(language: Language[Any], query: Any, schema: Schema | None) -> None:
    """Raise IllFormed if the query does not fit the schema."""
    if schema is None or any(query is known and schema is fitted for known, fitted in _TYPED):
        return
    _TYPED.clear()
    language.syntax.require_typed(query, schema)
    _TYPED.append((query, schema))


def has_unbound(language: Language[Any], query: Any, S: Stream) -> bool:
    """Return whether a query names an unbound variable; an engine may refuse such a query."""
    return any(problem.rule == "unbound" for problem in language.syntax.problems(query, S.schema))


def name_of(maker: CaseMaker[Any]) -> str:
    """Return the name of a case maker: the name of a function, or the repr of an object."""
    return str(getattr(maker, "__qualname__", repr(maker)))


@dataclass(frozen=True, repr=False)
class BoundMaker:
    """Makes cases with another maker, and keeps only those whose query has no unbound variable."""

    language: Language[Any]
    maker: CaseMaker[Any]

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, bound"  # no memory address, because campaign files contain it

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        while True:
            query, S = self.maker(rng, profile, nodes, events)
            if not has_unbound(self.language, query, S):
                return query, S


@dataclass(frozen=True, repr=False)
class ClaimedMaker:
    """Makes cases with another maker, and keeps only those that an engine claims to support.

    After half of the tries the queries get smaller. For an engine that claims only streams in time order, the events
    are sorted by time.
    """

    language: Language[Any]
    maker: CaseMaker[Any]
    claims: Claims
    stream: StreamMaker[Any]
    tries: int = 1000

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, of {self.claims.described}"

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        """Return the first case that the engine claims. Raises Unsupported if there is none among `tries` cases."""
        for left in range(self.tries, 0, -1):
            query, S = self.maker(rng, profile, max(1, min(nodes, 2 * nodes * left // self.tries)), events)
            if self.claims.ordered_time:
                S = in_order_of_time(S)
            if not (why := self.claims.objection(self.language.name, query, S, "matches")):
                return query, S
        raise Unsupported(f"the engine claims none of {self.tries} random cases. The reason for the last one: {why}")

    def another_stream(self, rng: Random, profile: Any, length: int, query: Any) -> Stream:
        """Return another stream for a claimed query."""
        S = self.stream(rng, profile, length, query)
        return in_order_of_time(S) if self.claims.ordered_time else S


@dataclass(frozen=True, repr=False)
class SelectedMaker:
    """Makes the cases of another maker, and applies a selection strategy to each query."""

    language: Language[Any]
    maker: CaseMaker[Any]
    selection: Selection

    def __repr__(self) -> str:
        return f"{name_of(self.maker)}, {self.selection.value}"

    def __call__(self, rng: Random, profile: Any, nodes: int, events: int) -> tuple[Any, Stream]:
        query, S = self.maker(rng, profile, nodes, events)
        return self.language.syntax.selected(query, self.selection), S


def generated_languages() -> Iterator[Language[Any]]:
    """Yield the languages that have a generator of random cases."""
    return (language for language in LANGUAGES.values() if language.cases is not None)


def definition(
    language: Language[Any],
    budget: Budget = DEFINITION_BUDGET,
    consumption: Consumption = Consumption.NONE,
    less: str | None = None,
) -> Evaluator:
    """Return the reference evaluator of a language. The other evaluators of a campaign are compared with it."""
    return BuiltInEvaluator(language, DENOTATIONAL, budget, consumption, less)


def built_in(
    language: Language[Any], budget: Budget = Budget(), consumption: Consumption = Consumption.NONE
) -> Mapping[str, Evaluator]:
    """Return the built-in evaluators of a language, except the reference evaluator."""
    names = (name for name in language.evaluators if name != DENOTATIONAL)
    return {name: BuiltInEvaluator(language, name, budget, consumption) for name in names}


def plan_of(
    language: Language[Any], profile: str, streams: Streams | None, left: Evaluator, **settings: Any
) -> CampaignPlan:
    """Return a plan for a campaign in a language, with random cases of a profile.

    left: the evaluator that the plan has on both sides; the caller replaces the right one. streams: None stands for
    guided streams if the language has them. settings: other fields of the plan.
    """
    generator, operations = language.require_cases().generator(), language.operations()
    if operations is None:
        raise Unsupported(f"there are no campaigns for {language.title}: cerify cannot shrink its queries")
    maker = generator.case if streams == "random" or generator.guided is None else generator.guided
    return CampaignPlan(
        left,
        left,
        generator.profiles[profile],
        language=operations,
        maker=maker,
        stream=generator.stream,
        second_opinion=SecondOpinionIn(language.name),
        **settings,
    )


# ---------------------------------------------------------------------------------------------------------------------
# The plan of a campaign: plain data that is sent to workers, and the numbered cases that it stands for.
#
# Case i of a plan is the same in every process and in every call. If the plan has one part and `together` is 1, it is
# also case i of `cerify fuzz` with the same seed.

TOGETHER = 8  # cases that share a query in a large campaign
TRIES = 400  # questions to an evaluator for each disagreement that is shrunk

Asked = Literal["matches", "valuations", "both", "alternate"]
"""The output to compare on each case. alternate: compare matches and valuations in turn."""


@dataclass(frozen=True)
class PlanShare:
    """A part of a campaign: cases of one language and one profile of the generator, and the output to compare.

    share: the part's weight; a part with twice the weight gets about twice as many cases.
    """

    language: str
    profile: str
    output: Asked = "matches"
    share: int = 1


AUTOMATA = (
    PlanShare("cel", "everything", "alternate", 36),
    PlanShare("cel", "typed-everything", "alternate", 18),
    PlanShare("cel", "windows", "alternate", 34),
    PlanShare("core-cel", "core", share=4),
    PlanShare("core-cel", "strategies", share=4),
    PlanShare("core-cel", "everything", share=4),
)
MIXES: Mapping[str, tuple[PlanShare, ...]] = {
    "automata": AUTOMATA,
    "all": (
        *AUTOMATA,
        *(
            PlanShare("sase", profile, share=8)
            for profile in language_named("sase").require_cases().generator().profiles
        ),
        *(
            PlanShare("event-expression", profile, share=6)
            for profile in language_named("event-expression").require_cases().generator().profiles
        ),
    ),
}
"""Campaigns over several languages. automata: CEL and core-CEL; all: also SASE+ and event expressions."""


@dataclass(frozen=True)
class Job:
    """A campaign that can run on several machines, without its number of cases.

    evaluators: the built-in evaluators to compare with the reference evaluator, in languages that have them. engine:
    the command that starts an engine under test, empty for none. together: how many cases in a row share their query.
    valuations: the budget of the reference evaluator. states, matches: the budget of the other evaluators. seconds: the
    time of each evaluator for a case. memory: MiB for an engine, or for the built-in evaluators of a worker. restarts:
    the restarts of an engine that each worker may make.
    """

    parts: tuple[PlanShare, ...]
    evaluators: tuple[str, ...]
    engine: tuple[str, ...] = ()
    seed: int = 0
    nodes: int = 12
    events: int = 10
    streams: Streams = "guided"
    together: int = 1
    valuations: int = 20_000
    states: int = 3_000
    matches: int = 20_000
    seconds: float = 10.0
    memory: int = 2048
    restarts: int = 50

    def text(self) -> str:
        """Return the job as JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def of_text(cls, text: str) -> Job:
        """Read a job from JSON, in the form that the property `text` has. Raises InputError."""
        try:
            obj: dict[str, Any] = json.loads(text)
            parts = tuple(PlanShare(**part) for part in obj.pop("parts"))
            return cls(parts, tuple(obj.pop("evaluators")), tuple(obj.pop("engine")), **obj)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is not the plan of a campaign: {error!r}") from None

    def part(self, index: int) -> PlanShare:
        """Return the language, profile and output (the part of the campaign) from which the case with this number is
        drawn.

        Cases with the same query are in the same part.
        """
        if len(self.parts) == 1:
            return self.parts[0]
        rng = Random(f"{self.seed}/part/{index // self.together}")
        return rng.choices(self.parts, [part.share for part in self.parts])[0]

    def case(self, index: int) -> tuple[PlanShare, Query, Stream, tuple[Output, ...]]:
        """Return the case with this number: its part of the campaign, its query, its stream, and the outputs to
        compare.
        """
        part = self.part(index)
        phi, S = self.plans[part].case(index)
        return part, phi, S, asked_of(part, index)

    @cached_property
    def plans(self) -> Mapping[PlanShare, CampaignPlan]:
        """Return, for each part, a plan to run its cases in one process.

        In each plan both evaluators are the reference evaluator; the caller puts the evaluator under test in place of
        the right one.
        """
        return {part: self._plan(part) for part in self.parts}

    def _plan(self, part: PlanShare) -> CampaignPlan:
        return plan_of(
            language_named(part.language),
            part.profile,
            self.streams,
            self.definition(part),
            cases=0,
            seed=self.seed,
            nodes=self.nodes,
            events=self.events,
            together=self.together,
            tries=TRIES,
        )

    def definition(self, part: PlanShare) -> Evaluator:
        """Return the reference evaluator. The other evaluators of the campaign are compared with it."""
        return definition(language_named(part.language), Budget(valuations=self.valuations))

    def built_in(self, part: PlanShare) -> Mapping[str, Evaluator]:
        """Return the built-in evaluators under test."""
        own = built_in(language_named(part.language), Budget(states=self.states, matches=self.matches))
        return {name: own[name] for name in self.evaluators if name in own}


def asked_of(part: PlanShare, index: int) -> tuple[Output, ...]:
    """Return the outputs that a case of this part of a campaign compares."""
    match part.output:
        case "both":
            return "matches", "valuations"
        case "alternate":
            return ("valuations",) if index % 2 else ("matches",)
        case output:
            return (output,)


# ---------------------------------------------------------------------------------------------------------------------
# Disagreements that an earlier campaign found, and which of them an engine still shows.

WORD = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"|[A-Za-z_]\w*|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")

CauseAndForm: TypeAlias = tuple[str, str]
"""The cause of a disagreement, and the form of its query (see `form`)."""


@dataclass(frozen=True)
class KnownExample:
    """A disagreement from an earlier call: its cause, its case, and the engine's answer as JSON."""

    cause: str
    query: Query
    stream: Stream
    output: Output
    got: Any


@dataclass
class KnownDisagreements:
    """Disagreements that an earlier campaign found on an engine. A new campaign reports them as known.

    present: after `ask_again`, the (cause, form of the query) of each disagreement that the engine still shows.
    """

    examples: list[KnownExample] = field(default_factory=list)
    present: set[CauseAndForm] = field(default_factory=set)

    def ask_again(self, plan: CampaignPlan) -> None:
        """Run all examples again on a campaign's engine; record the cause and form of each unchanged answer."""
        for example in self.examples:
            with suppress(Unsupported, BudgetExceeded, GiveUp):
                got = answer(plan.right, example.query, example.stream, example.output)
                if _same(got, example.got):
                    self.present.add((example.cause, form(plan.language, example.query)))

    def has(self, d: Disagreement, operations: QueryOperations[Any]) -> bool:
        """Return whether a disagreement is already known from an earlier call.

        It is known if an earlier example has the same cause and a query of the same form (equal up to names and
        constants), and the engine still gives the same answer to that example.
        """
        return (str(cause(d, operations)), form(operations, d.phi)) in self.present

    @property
    def causes(self) -> list[str]:
        """Return the causes of earlier disagreements that the engine still shows."""
        return sorted({name for name, _ in self.present})

    @property
    def gone(self) -> list[str]:
        """Return the causes of earlier disagreements for which the engine now answers every example differently."""
        return sorted({example.cause for example in self.examples}.difference(self.causes))


def read_known(path: Path, language: Language[Any]) -> KnownDisagreements:
    """Return the disagreements in a file that `cerify fuzz --json` printed. Raises InputError."""
    parsed = [(parse_json(text, where), where) for text, where in lines_of(path)]
    return KnownDisagreements(
        [_example(obj, where, language) for obj, where in parsed if not (isinstance(obj, dict) and "summary" in obj)]
    )


def _example(obj: Any, where: str, language: Language[Any]) -> KnownExample:
    try:
        schema = None if obj["schema"] is None else schema_of_json(obj["schema"])
        stream = stream_of_json(obj["events"], schema, where, keep_nulls=language.syntax.keeps_nulls)
        return KnownExample(obj["cause"], language.syntax.parse(obj["query"]), stream, obj["output"], obj["got"])
    except (KeyError, TypeError):
        raise InputError(f"{where} is not a disagreement: give the output of `cerify fuzz --json`") from None
    except CerifyError as error:
        raise InputError(f"{where} is not a disagreement about {language.title}: {error.message}") from None


def form(operations: QueryOperations[Any], query: Query) -> str:
    """Return the text of a query with its names replaced by n0, n1, ..., and its constants by 0 and ''.

    Comparators are kept, so that two queries with the same form differ only in names and constants.
    """
    named = {*operations.names(query), *operations.attributes(query), *operations.types(query)}
    number: dict[str, str] = {}

    def replaced(word: re.Match[str]) -> str:
        text = word[0].strip('"')
        if text in named:
            return number.setdefault(text, f"n{len(number)}")
        return "''" if word[0][0] in "'\"" else "0" if text[0].isdigit() else text

    return WORD.sub(replaced, operations.show(query))


def _same(given: Answer, stored: Any) -> bool:
    """Return whether an answer equals the stored one. Two failures are equal if their messages differ only in
    details.
    """
    if isinstance(given, str) or isinstance(stored, str):
        return isinstance(given, str) and isinstance(stored, str) and failure_form(given) == failure_form(stored)
    return _lines(match.json() for match in given) == _lines(stored)


def _lines(matches: Iterable[Any]) -> list[str]:
    return sorted(map(protocol.line, matches))
