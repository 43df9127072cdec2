"""Funnels and sequences by key as a plug-in: their queries are for engines that have a function for funnels."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from cerify.automata.evaluator import Consumption
from cerify.languages.language import BuiltIn, Cases, Checked, Evaluators, Language, Options, Syntax
from cerify.semantics.cel.syntax import AttributeWindow
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import TIME, Match, Schema, Stream
from cerify.semantics.funnel_queries import (
    CLICKHOUSE_CALL,
    FunnelQuestion,
    KeyedQuestion,
    SequenceQuestion,
    answer_by_key,
    parse_keyed_question,
    query_constructs,
    show_keyed_question,
    step_problems,
)
from cerify.semantics.predicates import Problem, find_nearest_name

if TYPE_CHECKING:
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.hypotheses.interpretation import Interpretation


class FunnelSyntax(Syntax[KeyedQuestion]):
    """The syntax of funnels, and of sequences by key."""

    trees = (FunnelQuestion, SequenceQuestion)
    mark = rf"^\s*(?:FUNNEL|SEQUENCE)\b|{CLICKHOUSE_CALL.pattern}"

    def parse(self, text: str) -> KeyedQuestion:
        return parse_keyed_question(text)

    def looks_like(self, text: str) -> str:
        return "a funnel function of ClickHouse" if CLICKHOUSE_CALL.search(text) else "a funnel"

    def show(self, query: KeyedQuestion, /) -> str:
        return show_keyed_question(query)

    def problems(self, query: KeyedQuestion, schema: Schema | None, /) -> list[Problem]:
        if schema is None:
            return []
        measured = [] if query.by is None else [query.by]
        window = query.window.window if isinstance(query, FunnelQuestion) and query.window is not None else None
        if isinstance(window, AttributeWindow):
            measured.append(window.attribute)
        known = schema.attributes
        return [*step_problems(query, schema)] + [
            Problem("attribute", f"no event has the attribute {name!r}", None, find_nearest_name(name, known))
            for name in measured
            if name not in known and name != TIME
        ]

    def require_typed(self, query: KeyedQuestion, schema: Schema, /) -> None:
        for problem in self.problems(query, schema):
            raise IllFormed(problem.hinted)

    def check(self, query: KeyedQuestion, schema: Schema | None) -> Checked:
        used = sorted(query_constructs(query))
        kind = "sequence" if isinstance(query, SequenceQuestion) else "funnel"
        steps = f"{len(query.steps)} step{'s' * (len(query.steps) > 1)}"
        said = {"kind": kind, "steps": len(query.steps), "constructs": used}
        return Checked(said, f"a {kind} of {steps}: {', '.join(used)}", self.problems(query, schema))

    def children(self, query: KeyedQuestion, /) -> tuple[KeyedQuestion, ...]:
        return ()

    def size(self, query: KeyedQuestion, /) -> int:
        """Return the number of steps and clauses."""
        return len(query.steps) + len(query_constructs(query))

    def constructs(self, query: KeyedQuestion, /) -> frozenset[str]:
        return query_constructs(query)


class FunnelCases(Cases[KeyedQuestion]):
    """The random cases of funnels, and the operations that simplify funnels."""

    def operations(self) -> QueryOperations[KeyedQuestion]:
        from cerify.equivalence.generate.funnels import FUNNELS

        return FUNNELS

    def generator(self) -> Generator[KeyedQuestion]:
        from cerify.equivalence.generate.funnels import FUNNEL_GENERATOR

        return FUNNEL_GENERATOR


def _why_not(query: KeyedQuestion, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.consumption is not Consumption.NONE:
        return Unsupported("funnels do not support consumption; leave it out")
    return None


def _denotational(query: KeyedQuestion, S: Stream, options: Options) -> Iterable[Match]:
    with options.budget.timed():
        return list(answer_by_key(query, S))


def _interpretation() -> Interpretation:
    from cerify.hypotheses.funnel import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[KeyedQuestion] = Language(
    name="funnel",
    title="funnels",
    answer="the answer of a funnel is a row for each key",
    results=True,
    syntax=FunnelSyntax(),
    evaluators=Evaluators({"denotational": BuiltIn.from_matches(_denotational, _why_not)}),
    cases=FunnelCases(),
    hypotheses=_interpretation,
)
