"""CEQL, the language of the engine CORE, as a plug-in. Every query is evaluated by its formula of CEL.

So evaluators, explanations and deciders delegate to those of CEL; only the syntax, the cases and the consumption policy
(CONSUME BY) are CEQL's own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from cerify.automata.evaluator import Consumption, Evaluator
from cerify.languages.cel import LANGUAGE as CEL
from cerify.languages.language import (
    DENOTATIONAL,
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    Evaluation,
    Evaluators,
    Explanations,
    Language,
    Made,
    Options,
    Syntax,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.ceql.syntax import CeqlQuery, parse, show
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import Reading
from cerify.semantics.values import Value

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.automata.dfa.model import DFA
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.explanations.explanation import Explainer
    from cerify.languages.language import Streamed

M = TypeVar("M")
CONSUMES = "CEL has no CONSUME BY; leave it out to compare or explain the matches before consumption"


class CeqlSyntax(Syntax[CeqlQuery]):
    """The syntax of CEQL."""

    trees = (CeqlQuery,)
    mark = r"(?i)\bSELECT\b(?s:.*)\bWHERE\b(?s:.*)(?:;|:|\bFILTER\b)|\bCONSUME\s+BY\b"
    parse = staticmethod(parse)
    show = staticmethod(show)

    def problems(self, query: CeqlQuery, schema: Schema | None, /) -> list[Problem]:
        return CEL.syntax.problems(query.formula, schema)

    def require_typed(self, query: CeqlQuery, schema: Schema, /) -> None:
        CEL.syntax.require_typed(query.formula, schema)

    def missing_columns(self, query: CeqlQuery, columns: Collection[str], /) -> Iterable[Problem]:
        return CEL.syntax.missing_columns(query.formula, columns)

    def surprises(self, query: CeqlQuery, S: Stream | None, /) -> Iterable[Problem]:
        return CEL.syntax.surprises(query.formula, S)

    def children(self, query: CeqlQuery, /) -> tuple[CeqlQuery, ...]:
        return ()

    def size(self, query: CeqlQuery, /) -> int:
        return CEL.syntax.size(query.formula)

    def constants(self, query: CeqlQuery) -> list[Value]:
        return CEL.syntax.constants(query.formula)

    def constructs(self, query: CeqlQuery, /) -> frozenset[str]:
        return CEL.syntax.constructs(query.formula) | ({"consume"} if query.policy != "NONE" else set())

    def check(self, query: CeqlQuery, schema: Schema | None) -> Checked:
        return CEL.syntax.check(query.formula, schema)


class CeqlEvaluators(Evaluators[CeqlQuery]):
    """The evaluators of CEL, applied to the formula of a query."""

    def waits(self, query: CeqlQuery) -> bool:
        return False

    def streamed(self, query: CeqlQuery, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        consuming = _with_policy(query, options)
        if isinstance(consuming, Unsupported):
            return consuming
        return CEL.evaluators.streamed(query.formula, schema, consuming)


class CeqlExplanations(Explanations[CeqlQuery]):
    """Explain and draw queries of CEQL by their formulas of CEL."""

    def explainer(self, query: CeqlQuery, S: Stream, text: str) -> Explainer[Any]:
        return CEL.explanations.explainer(self.language.deciders.cel_formula(query, Budget()), S, text)

    def automaton(self, query: CeqlQuery, schema: Schema | None, budget: Budget) -> CEA | DFA:
        return CEL.explanations.automaton(self.language.deciders.cel_formula(query, budget), schema, budget)

    def record(self, query: CeqlQuery, S: Stream, title: str, options: Options) -> Recording:
        formula = self.language.deciders.cel_formula(query, options.budget)
        return CEL.explanations.record(formula, S, title, options)


class CeqlCases(Cases[CeqlQuery]):
    """The random cases of CEQL."""

    def operations(self) -> QueryOperations[CeqlQuery]:
        from cerify.equivalence.generate.ceql import CEQL

        return CEQL

    def generator(self) -> Generator[CeqlQuery]:
        from cerify.equivalence.generate.ceql import CEQL_GENERATOR

        return CEQL_GENERATOR


class CeqlDeciders(Deciders[CeqlQuery]):
    """Compare queries of CEQL by their formulas of CEL."""

    decides_its_own = False

    def in_cel(self, query: CeqlQuery, budget: Budget) -> Formula | Unsupported:
        return query.formula if query.policy == "NONE" else Unsupported(CONSUMES)

    @property
    def translations(self) -> Mapping[str, Callable[[CeqlQuery, Reading], Any]]:
        def in_cel(query: CeqlQuery, reading: Reading) -> Formula:
            return self.cel_formula(query, Budget())

        return {"cel": in_cel}


def _with_policy(query: CeqlQuery, options: Options) -> Options | Unsupported:
    """Return the options with the consumption that the query asks for, or why that is unsupported."""
    if query.policy == "NONE":
        return options
    if query.policy == "PARTITION" and query.keys:
        return Unsupported(
            "no evaluator supports CONSUME BY PARTITION together with PARTITION BY; write CONSUME BY ANY, "
            "which removes the events of all keys, or leave it out"
        )
    return replace(options, consumption=Consumption.ANY)


def _by_formula(name: str, built_in: BuiltIn[Formula]) -> BuiltIn[CeqlQuery]:
    """Turn an evaluator of CEL into an evaluator of CEQL."""

    def prepare(query: CeqlQuery, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
        consuming = _with_policy(query, options)
        if isinstance(consuming, Unsupported):
            return consuming
        evaluation = built_in.prepare(query.formula, schema, consuming)
        if query.policy == "NONE" or isinstance(evaluation, Unsupported):
            return evaluation
        if name != DENOTATIONAL:
            return Unsupported("only the evaluator denotational supports CONSUME BY over a whole stream")
        return _consuming(evaluation)

    def of_formula(make: Made[Formula, M]) -> Made[CeqlQuery, M | Unsupported]:
        def make_with_policy(query: CeqlQuery, schema: Schema | None, options: Options) -> M | Unsupported:
            consuming = _with_policy(query, options)
            return consuming if isinstance(consuming, Unsupported) else make(query.formula, schema, consuming)

        return make_with_policy

    batches: Made[CeqlQuery, Evaluator | Unsupported] | None = built_in.batches and of_formula(built_in.batches)
    return BuiltIn(prepare, built_in.compiled, batches)


def _consuming(evaluation: Evaluation) -> Evaluation:
    """Return an evaluation that forgets all events up to each position with a match, and evaluates the rest as a new
    stream.
    """

    def evaluate(S: Stream) -> Iterator[Match]:
        start = 0
        while start < len(S):
            at = None
            for match in evaluation(S.part(start, len(S) - start)):
                if at not in (None, match.at):
                    break
                at = match.at
                yield match.shifted(start)
            if at is None:
                return
            start += at + 1

    return evaluate


LANGUAGE: Language[CeqlQuery] = Language(
    name="ceql",
    title="CEQL",
    settings=frozenset({"predicates"}),
    loops=("SELECT * WHERE A+",),
    syntax=CeqlSyntax(),
    evaluators=CeqlEvaluators({name: _by_formula(name, one) for name, one in CEL.evaluators.items()}),
    explanations=CeqlExplanations(),
    deciders=CeqlDeciders(),
    cases=CeqlCases(),
)
