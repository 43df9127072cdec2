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
from typing import Any, Literal, TypeAlias, cast

from cerify.conformance.engine_evaluator import EngineEvaluator
from cerify.conformance.harness import Engine
from cerify.conformance.model import Case, Result
from cerify.conformance.second_opinion import SecondOpinionIn
from cerify.equivalence.differential.campaign import CaseMaker, Plan
from cerify.equivalence.differential.judge import Evaluator, Output, SecondOpinion
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.equivalence.generate import expressions as generate_expressions
from cerify.equivalence.generate import sase as generate_sase
from cerify.equivalence.generate import sase_profiles
from cerify.equivalence.generate.cel import EVERYTHING, PROFILES, TYPED
from cerify.equivalence.generate.cel import case as random_case
from cerify.equivalence.generate.core_cel import CORE_CEL_PROFILES, CoreProfile
from cerify.equivalence.generate.guided import guided_case
from cerify.equivalence.generate.scoped import WINDOWS, Scoped, clocked
from cerify.equivalence.generate.scoped import case as scoped_case
from cerify.equivalence.rewrite.translate.shape import as_cel_tree, of_cel_tree
from cerify.equivalence.shrink import expression_shape
from cerify.equivalence.shrink import sase as shrink_sase
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, EVALUATORS, Options
from cerify.plan import Want, plan
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.core_cel.show import show as show_core_cel
from cerify.semantics.event_expressions.show import show as show_expression
from cerify.semantics.events import Match, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show as show_sase

Budgeted: TypeAlias = Callable[[Any, Stream, Output, Budget], list[Match]]
"""An evaluator of a language, as the package serves it."""

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
    second_opinion: SecondOpinion | None = None


@dataclass(frozen=True)
class CelPlan(Plan):
    """A campaign on formulas of CEL."""

    def another(self, rng: Random, phi: Formula) -> Stream:
        """Another random stream for the formula."""
        S = super().another(rng, phi)
        return clocked(rng, S) if isinstance(self.profile, Scoped) else S


@dataclass(frozen=True)
class CoreCelPlan(Plan):
    """A campaign on core-CEL formulas, written as trees of CEL."""

    def made(self, rng: Random) -> tuple[Formula, Stream]:
        """A random formula, and a stream for it."""
        phi, S = generate_core_cel.case(rng, cast("CoreProfile", self.profile), self.nodes, self.events)
        return as_cel_tree(phi), S

    def another(self, rng: Random, phi: Formula) -> Stream:
        """Another random stream for the formula."""
        return generate_core_cel.stream(rng, cast("CoreProfile", self.profile), self.length(rng), of_cel_tree(phi))


@dataclass(frozen=True)
class ExpressionPlan(Plan):
    """A campaign on event expressions, written as trees of CEL; no schema would fit these, so histories have none."""

    def made(self, rng: Random) -> tuple[Formula, Stream]:
        """A random expression, and a history for it."""
        E, S = generate_expressions.case(
            rng, cast("generate_expressions.Profile", self.profile), self.nodes, self.events
        )
        return expression_shape.as_cel_tree(E), Stream(S)

    def another(self, rng: Random, phi: Formula) -> Stream:
        """Another random history."""
        return Stream(
            generate_expressions.history(rng, cast("generate_expressions.Profile", self.profile), self.length(rng))
        )


@dataclass(frozen=True)
class SasePlan(Plan):
    """A campaign on queries of SASE+, which go through it as they are."""

    def made(self, rng: Random) -> tuple[sase.Query, Stream]:
        """A random query, and a stream for it."""
        return generate_sase.case(rng, cast("sase_profiles.Profile", self.profile), self.nodes, self.events)

    def another(self, rng: Random, phi: sase.Query) -> Stream:
        """Another random stream for the query."""
        return generate_sase.stream(rng, cast("sase_profiles.Profile", self.profile), self.length(rng), phi)

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
        tree: sase.Tree = LANGUAGES["sase"].parse(text)
        return tree


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
            LANGUAGES["sase"].require_typed(phi, S.schema)
        return self.asked("sase", show_sase(phi), S, "valuations")


def evaluate_sase(
    evaluate: Budgeted, phi: sase.Query, S: Stream, output: Output, budget: Budget = Budget()
) -> Collection[Match]:
    """The matches of a query of SASE+ that fits the stream's schema."""
    if S.schema is not None:
        LANGUAGES["sase"].require_typed(phi, S.schema)
    return evaluate(phi, S, output, budget)


def evaluate_tree(
    evaluate: Budgeted, phi: Formula, S: Stream, output: Output, budget: Budget = Budget()
) -> Collection[Match]:
    """The matches of a core-CEL formula that is written as a tree of CEL."""
    return evaluate(of_cel_tree(phi), S, output, budget)


def evaluate_expression_tree(
    evaluate: Budgeted, phi: Formula, S: Stream, output: Output, budget: Budget = Budget()
) -> Collection[Match]:
    """The matches of an event expression that is written as a tree of CEL."""
    return evaluate(expression_shape.of_cel_tree(phi), S, output, budget)


def within(evaluator: Evaluator, budget: Budget) -> Evaluator:
    """One of the evaluators here with another budget."""
    return partial(cast("Callable[..., Collection[Match]]", evaluator), budget=budget)


def maker_of(profile: Any, streams: Literal["guided", "random"]) -> CaseMaker:
    """What makes cases of CEL; streams cannot be led to a match under windows and partitions."""
    if isinstance(profile, Scoped):
        return scoped_case
    return random_case if streams == "random" else guided_case


def _built_in(evaluate: Callable[..., Collection[Match]], language: str) -> Mapping[str, Evaluator]:
    """All evaluators of a language but the reference."""
    return {name: partial(evaluate, partial(_evaluated, language, name)) for name in EVALUATORS if name != DENOTATIONAL}


def _evaluated(
    language: str, evaluator: str, phi: Any, S: Stream, output: Output, budget: Budget = Budget()
) -> list[Match]:
    return plan(LANGUAGES[language], phi, S.schema, Want(Options(output, budget), evaluator)).all_matches(S)


def _show_tree(phi: Formula) -> str:
    return show_expression(expression_shape.of_cel_tree(phi))


def _show(phi: Formula) -> str:
    return show_core_cel(of_cel_tree(phi))


FUZZED: Mapping[str, Fuzzed] = {
    "cel": Fuzzed(
        {**PROFILES, "typed-everything": replace(TYPED, operators=EVERYTHING.operators), "windows": WINDOWS},
        CelPlan,
        partial(_evaluated, "cel", DENOTATIONAL, budget=ORACLE_BUDGET),
        {name: partial(_evaluated, "cel", name, budget=Budget()) for name in EVALUATORS if name != DENOTATIONAL},
        Engine,
        show,
        second_opinion=SecondOpinionIn("cel"),
    ),
    "core-cel": Fuzzed(
        CORE_CEL_PROFILES,
        CoreCelPlan,
        partial(evaluate_tree, partial(_evaluated, "core-cel", DENOTATIONAL), budget=ORACLE_BUDGET),
        _built_in(evaluate_tree, "core-cel"),
        CoreCelEngine,
        _show,
    ),
    "event-expression": Fuzzed(
        {**generate_expressions.PROFILES, **generate_expressions.VALUED_PROFILES},
        ExpressionPlan,
        partial(evaluate_expression_tree, partial(_evaluated, "event-expression", DENOTATIONAL), budget=ORACLE_BUDGET),
        _built_in(evaluate_expression_tree, "event-expression"),
        ExpressionEngine,
        _show_tree,
    ),
    "sase": Fuzzed(
        sase_profiles.PROFILES,
        SasePlan,
        partial(evaluate_sase, partial(_evaluated, "sase", DENOTATIONAL), budget=ORACLE_BUDGET),
        _built_in(evaluate_sase, "sase"),
        Engine,
        show_sase,
        SaseEngineEvaluator,
    ),
}
