"""Which evaluator answers a query, and why not another: the only place where that is decided.

By default it is the first of AUTOMATIC that can take the query. The kernel is used only where it is named, since its
loops are compiled first, which takes seconds; its answers are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice, product
from typing import Generic, TypeVar

from cerify.automata.evaluator import Consumption, Evaluator
from cerify.definition import DefinitionEvaluator
from cerify.languages.language import DENOTATIONAL, Evaluation, Language, Options
from cerify.semantics.arguments import require_kind
from cerify.semantics.budget import timed_items
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Match, Schema, Stream

F = TypeVar("F")

AUTOMATIC = ("automaton", "denotational")


@dataclass(frozen=True)
class Want:
    """What is wanted of a query: the options of its evaluation, and the evaluator; None leaves the choice to plan.

    batches: whether the stream comes batch by batch. counting: whether only the number of matches is wanted, for which
    an evaluator reads the stream in batches where it can.
    """

    options: Options = field(default_factory=Options)
    evaluator: str | None = None
    batches: bool = False
    counting: bool = False


@dataclass(frozen=True)
class Plan(Generic[F]):
    """The evaluator of a query, by its name; None if none of those that were considered can take it.

    why_not: of each evaluator that was considered and cannot take the query, the reason. evaluation: what evaluates a
    whole stream; batches: what evaluates a stream that comes in batches, if that is wanted.
    """

    language: Language[F]
    query: F
    options: Options
    evaluator: str | None
    why_not: Mapping[str, Unsupported]
    evaluation: Evaluation | None = None
    batches: Evaluator | None = None

    def matches(self, S: Stream) -> Iterable[Match]:
        """All matches in the order of positions. Raises Unsupported, BudgetExceeded."""
        _ = self.chosen
        assert self.evaluation is not None
        return self.evaluation(S)

    def all_matches(self, S: Stream) -> list[Match]:
        """All matches, sorted. Raises as `unsorted`."""
        found = self.unsorted(S)
        return found if self.language.keeps_order else sorted(found)

    def unsorted(self, S: Stream) -> list[Match]:
        """All matches. Raises Unsupported, and BudgetExceeded also for more than budget.matches."""
        limit = self.options.budget.matches
        found = list(timed_items(islice(self.matches(S), limit + 1)))
        if len(found) > limit:
            raise BudgetExceeded(f"more than {limit} matches; allow more: Budget(matches=...)")
        return found

    def with_values(self, S: Stream) -> Iterable[Match]:
        """As matches, with the values of attribute variables where the language has any."""
        if self.options.consumption is not Consumption.NONE:
            return self.matches(S)
        return self.language.with_values(self.query, S, self.chosen, self.options)

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The languages into which the evaluator rewrites the query, one after the other."""
        return () if self.evaluator is None else self.language.rewrites(self.query, self.evaluator)

    @property
    def chosen(self) -> str:
        """The evaluator. Raises the last of the reasons where there is none."""
        if self.evaluator is None:
            raise list(self.why_not.values())[-1]
        return self.evaluator


def plan(language: Language[F], query: F, schema: Schema | None = None, want: Want = Want()) -> Plan[F]:
    """The plan for a query on streams of a schema (None: of any).

    Raises IllFormed for an evaluator that the language does not have, and for options that break its rules.
    """
    names = language.evaluators
    require_kind("evaluator", want.evaluator, str | None, "the name of an evaluator")
    if want.evaluator is not None and want.evaluator not in names:
        raise IllFormed(f"there is no evaluator {want.evaluator!r} of {language.title}; use one of {', '.join(names)}")
    why_not: dict[str, Unsupported] = {}
    ways = (_in_batches, _whole) if want.counting else (_in_batches,) if want.batches else (_whole,)
    considered = [name for name in (AUTOMATIC if want.evaluator is None else (want.evaluator,)) if name in names]
    for name, prepare in product(considered, ways):
        found = prepare(language, name, query, schema, want)
        if not isinstance(found, Unsupported):
            return Plan(language, query, want.options, name, why_not, *found)
        why_not[name] = found
    return Plan(language, query, want.options, None, why_not)


def _whole(
    language: Language[F], name: str, query: F, schema: Schema | None, want: Want
) -> tuple[Evaluation, None] | Unsupported:
    """What evaluates the query over a whole stream, or why the evaluator of that name does not."""
    if want.options.consumption is not Consumption.NONE:
        in_batches = _in_batches(language, name, query, schema, want)
        return (
            in_batches if isinstance(in_batches, Unsupported) else (lambda S: in_batches[1].fresh().evaluate(S), None)
        )
    found = language.evaluators[name].prepare(query, schema, want.options)
    return found if isinstance(found, Unsupported) else (found, None)


def _in_batches(
    language: Language[F], name: str, query: F, schema: Schema | None, want: Want
) -> tuple[None, Evaluator] | Unsupported:
    """What evaluates the query batch by batch, or why the evaluator of that name does not."""
    make = language.evaluators[name].batches
    if make is not None:
        made = make(query, schema, want.options)
        return made if isinstance(made, Unsupported) else (None, made)
    if name != DENOTATIONAL:
        return Unsupported(f"the evaluator {name} of {language.title} evaluates whole streams")
    refused = language.evaluators[name].prepare(query, schema, want.options)
    if isinstance(refused, Unsupported):
        return refused
    if schema is None and language.needs_schema(query):
        return Unsupported("which attribute an argument means depends on all events to come; give a schema")
    return None, DefinitionEvaluator(language, query, language.waits(query), want.options, schema)
