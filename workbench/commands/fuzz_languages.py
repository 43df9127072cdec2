"""What a campaign of `cerify fuzz` needs to know of a language.

The machinery of campaigns and of shrinking works on trees of CEL. A core-CEL formula or an event expression goes
through it written as such a tree, symbol by symbol, and is read back wherever it is evaluated or shown. A query of
SASE+ goes through it as it is, with its own ways to become smaller.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any, cast

from cerify.conformance.engine_evaluator import EngineEvaluator
from cerify.conformance.harness import Engine
from cerify.conformance.model import Case, Result
from cerify.equivalence.differential.campaign import Evaluator, Output, Plan
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.equivalence.generate import expressions as generate_gehani
from cerify.equivalence.generate import sase as generate_sase
from cerify.equivalence.generate.cel import PROFILES
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES, CoreProfile
from cerify.equivalence.rewrite.translate.shape import as_cel_tree, of_cel_tree
from cerify.equivalence.shrink import expression_shape
from cerify.equivalence.shrink import sase as shrink_sase
from cerify.evaluators import CORE_CEL, EVENT_EXPRESSION, SASE, automaton, denotational, kernel
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel.show import show as show_core_cel
from cerify.semantics.events import Match, Stream
from cerify.semantics.gehani.show import show as show_expression
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show as show_sase

ORACLE_BUDGET = Budget(valuations=1_000_000)


@dataclass(frozen=True)
class Fuzzed:
    """A language under test: where its cases come from, what judges them, who may be judged, and its text."""

    profiles: Mapping[str, Any]
    plan: type[Plan]
    oracle: Evaluator
    built_in: Mapping[str, Evaluator]
    engine: type[Engine]
    show: Callable[[Any], str]
    asked: Callable[[Engine], Evaluator] = EngineEvaluator


@dataclass(frozen=True)
class CoreCelPlan(Plan):
    """A campaign on core-CEL formulas, written as trees of CEL."""

    def case(self, index: int) -> tuple[Formula, Stream]:
        """The formula and the stream of that index."""
        rng, profile = Random(f"{self.seed}/{index}"), cast("CoreProfile", self.profile)
        phi, S = generate_core_cel.case(rng, profile, self.nodes, self.events)
        return as_cel_tree(phi), S


@dataclass(frozen=True)
class ExpressionPlan(Plan):
    """A campaign on event expressions, written as trees of CEL."""

    def case(self, index: int) -> tuple[Formula, Stream]:
        """The expression and the history of that index; the history has no schema, for the tree would not fit it."""
        rng, profile = Random(f"{self.seed}/{index}"), cast("generate_gehani.Profile", self.profile)
        E, S = generate_gehani.case(rng, profile, self.nodes, self.events)
        return expression_shape.as_cel_tree(E), Stream(S)


@dataclass(frozen=True)
class SasePlan(Plan):
    """A campaign on queries of SASE+, which go through it as they are."""

    def case(self, index: int) -> tuple[sase.Query, Stream]:
        """The query and the stream of that index."""
        rng, profile = Random(f"{self.seed}/{index}"), cast("generate_sase.Profile", self.profile)
        return generate_sase.case(rng, profile, self.nodes, self.events)

    def shrunk(
        self, phi: sase.Query, stream: Stream, differs: Callable[[sase.Query, Stream], bool]
    ) -> tuple[sase.Query, Stream]:
        """A query and a stream, as small as found, that still differ."""
        return shrink_sase.shrink(phi, stream, differs, self.tries)

    def show(self, phi: sase.Query) -> str:
        """The text of a query."""
        return show_sase(phi)

    def parse(self, text: str) -> sase.Tree:
        """The query that the text writes."""
        return SASE.parse(text)


class CoreCelEngine(Engine):
    """An engine that is asked in core-CEL what the case asks as a tree of CEL."""

    def run(self, case: Case) -> Result:
        """What becomes of a case."""
        return super().run(replace(case, language="core-cel", query=_show(parse(case.query))))


class ExpressionEngine(Engine):
    """An engine that is asked the event expression that the case asks as a tree of CEL."""

    def run(self, case: Case) -> Result:
        """What becomes of a case."""
        return super().run(replace(case, language="event-expression", query=_show_tree(parse(case.query))))


class SaseEngineEvaluator(EngineEvaluator):
    """The matches that an engine gives of a query of SASE+, with bindings and results; see EngineEvaluator."""

    def __call__(self, phi: Any, S: Stream, output: Output) -> Collection[Match]:
        if S.schema is not None:
            SASE.require_typed(phi, S.schema)
        return self.asked("sase", show_sase(phi), S, "valuations")


def evaluate_sase(
    evaluate: Callable[[sase.Query, Stream, Output, Budget], list[Match]],
    budget: Budget,
    phi: sase.Query,
    S: Stream,
    output: Output,
) -> Collection[Match]:
    """The matches of a query of SASE+ that fits the stream's schema."""
    if S.schema is not None:
        SASE.require_typed(phi, S.schema)
    return evaluate(phi, S, output, budget)


def evaluate_tree(
    evaluate: Callable[[Any, Stream, Output, Budget], list[Match]],
    budget: Budget,
    phi: Formula,
    S: Stream,
    output: Output,
) -> Collection[Match]:
    """The matches of a core-CEL formula that is written as a tree of CEL."""
    return evaluate(of_cel_tree(phi), S, output, budget)


def evaluate_expression_tree(
    evaluate: Callable[[Any, Stream, Output, Budget], list[Match]],
    budget: Budget,
    phi: Formula,
    S: Stream,
    output: Output,
) -> Collection[Match]:
    """The matches of an event expression that is written as a tree of CEL."""
    return evaluate(expression_shape.of_cel_tree(phi), S, output, budget)


def _show_tree(phi: Formula) -> str:
    return show_expression(expression_shape.of_cel_tree(phi))


def _show(phi: Formula) -> str:
    return show_core_cel(of_cel_tree(phi))


FUZZED: Mapping[str, Fuzzed] = {
    "cel": Fuzzed(
        PROFILES,
        Plan,
        partial(denotational, budget=ORACLE_BUDGET),
        {"automaton": partial(automaton, budget=Budget()), "kernel": partial(kernel, budget=Budget())},
        Engine,
        show,
    ),
    "core-cel": Fuzzed(
        CORE_CEL_PROFILES,
        CoreCelPlan,
        partial(evaluate_tree, CORE_CEL.evaluators["denotational"], ORACLE_BUDGET),
        {name: partial(evaluate_tree, CORE_CEL.evaluators[name], Budget()) for name in ("automaton", "kernel")},
        CoreCelEngine,
        _show,
    ),
    "event-expression": Fuzzed(
        {**generate_gehani.PROFILES, **generate_gehani.VALUED_PROFILES},
        ExpressionPlan,
        partial(evaluate_expression_tree, EVENT_EXPRESSION.evaluators["denotational"], ORACLE_BUDGET),
        {
            name: partial(evaluate_expression_tree, evaluate, Budget())
            for name, evaluate in EVENT_EXPRESSION.evaluators.items()
            if name != "denotational"
        },
        ExpressionEngine,
        _show_tree,
    ),
    "sase": Fuzzed(
        generate_sase.PROFILES,
        SasePlan,
        partial(evaluate_sase, SASE.evaluators["denotational"], ORACLE_BUDGET),
        {
            name: partial(evaluate_sase, evaluate, Budget())
            for name, evaluate in SASE.evaluators.items()
            if name != "denotational"
        },
        Engine,
        show_sase,
        SaseEngineEvaluator,
    ),
}
