"""CEL (tods21) as a plug-in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

from cerify.automata.evaluator import Evaluator, Output
from cerify.languages.built_in import FOREIGN, BuiltInLanguage
from cerify.languages.language import BuiltIn, Checked, Evaluation, Options, Question
from cerify.semantics.budget import Budget
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula, Last, Max, Next, Strict, expanded, size
from cerify.semantics.cel.wellformed import missing_columns, problems, require_typed
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.sase.reading import Reading
from cerify.semantics.selection import Selection

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.draw.recording import Recording
    from cerify.equivalence.decide.certificate import Certificate
    from cerify.equivalence.verdict import Verdict
    from cerify.explanations.explainer import Explainer
    from cerify.languages.language import Streamed


class Cel(BuiltInLanguage[Formula]):
    """CEL."""

    name = "cel"
    title = "CEL"
    trees = get_args(Formula)
    package = "cel"
    constant = "CEL"
    operators = OPERATORS
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    missing_columns = staticmethod(missing_columns)
    size = staticmethod(size)
    expanded = staticmethod(expanded)
    strategies: ClassVar = {Selection.STRICT: Strict, Selection.NEXT: Next, Selection.LAST: Last, Selection.MAX: Max}
    settings = frozenset({"predicates"})
    loops = ("A+", "A+ WITHIN 2 EVENTS", "A+ PARTITION BY [x]")
    mark = r"\b(FILTER|UNLESS|PROJECT)\b"
    foreign = FOREIGN

    @cached_property
    def evaluators(self) -> Mapping[str, BuiltIn[Formula]]:
        return {
            "denotational": BuiltIn(_denotational),
            "automaton": BuiltIn(
                partial(_planned, "streaming"), batches=partial(_batches, "readable_evaluator", "ReadableCelEvaluator")
            ),
            "kernel": BuiltIn.guarded(
                partial(_planned, "compiled"),
                compiled=True,
                batches=partial(_batches, "compiled_evaluator", "CompiledCelEvaluator"),
            ),
        }

    def plain_matches(self, query: Formula, S: Stream, output: Output, budget: Budget) -> Iterator[Match]:
        """The matches by tods21, Figure 3, clause by clause."""
        from cerify.semantics.cel.denote import Valuations, clause, sup
        from cerify.semantics.cel.registered import require_registered
        from cerify.semantics.events import bindings_of

        require_registered(query, {})
        followed = 0

        def meaning(psi: Formula, i: int, j: int) -> Valuations:
            nonlocal followed
            followed += 1
            if followed > budget.valuations:
                raise BudgetExceeded(f"more than {budget.valuations} clauses were followed")
            return frozenset(clause(psi, S, i, j, meaning))

        for n in range(len(S)):
            for mu in meaning(query, 0, n):
                bindings = bindings_of(mu) if output == "valuations" else None
                yield Match(n, tuple(sorted(sup(mu))), bindings)

    def waits(self, query: Formula) -> bool:
        return False

    def check(self, query: Formula, schema: Schema | None) -> Checked:
        from cerify.equivalence.decide.vacuous import satisfiable, vacuous
        from cerify.semantics.cel.fragment import beyond_star
        from cerify.semantics.cel.registered import named
        from cerify.semantics.cel.unused import unused
        from cerify.semantics.cel.wellformed import is_unary

        unary, beyond = is_unary(query), sorted(beyond_star(query))
        written = f"CEL* with {', '.join(beyond)}" if beyond else "CEL*"
        found = problems(query, schema)
        senseless = [] if found else vacuous(query, schema)
        return Checked(
            {"unary": unary, "star": not beyond, "beyond_star": beyond},
            f"{written}, {_kind(query)}",
            [*found, *dict.fromkeys(unused(query)), *senseless],
            tuple(dict.fromkeys((atom.name, atom.variables) for atom in named(query))),
            satisfiable(query, schema),
        )

    def in_cel(self, query: Formula, budget: Budget) -> Formula:
        return query

    def compare(self, left: Formula, right: Formula, question: Question) -> Verdict:
        from cerify.automata.cea.compile import compilable
        from cerify.equivalence.decide.cel import contained, equivalent
        from cerify.equivalence.verdict import Undecided

        level, schema, budget = question.level, question.schema, question.budget
        if compilable(left) and compilable(right):
            decide = equivalent if question.claim == "equivalent" else contained
            return decide(left, right, level, schema, budget)
        if question.bound == 0:
            return Undecided("a query compares events with each other, and with a bound of 0 no stream is looked at")
        from cerify.equivalence.bounded.compare import compare

        return compare(left, right, question.bound, level, question.claim == "contained", schema, budget=budget)

    def unproved(self, certificate: Certificate, budget: Budget) -> str | None:
        from cerify.equivalence.decide.checker import flaw

        return flaw(certificate, budget)

    @property
    def normal_forms(self) -> Mapping[str, Callable[[Formula, int], Formula] | None]:
        from cerify.equivalence.rewrite.normal_forms.disjunctive import disjunctive
        from cerify.equivalence.rewrite.normal_forms.push_filters import push_filters
        from cerify.equivalence.rewrite.normal_forms.push_in import push_in

        return {"disjunctive": disjunctive, "push-in": push_in, "push-filters": push_filters, "star": None}

    @property
    def translations(self) -> Mapping[str, Callable[[Formula, Reading], Any]]:
        from cerify.equivalence.rewrite.translate.cel_to_row import cel_to_row
        from cerify.equivalence.rewrite.translate.to_core_cel import to_core_cel

        return {"core-cel": lambda phi, _: to_core_cel(phi), "row-pattern": lambda phi, _: cel_to_row(phi)}

    def explainer(self, query: Formula, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.explanation import CelExplainer

        return CelExplainer(query, S)

    def streamed(self, query: Formula, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        batches = self.evaluators["kernel"].batches
        assert batches is not None
        return cast("Streamed | Unsupported", batches(query, schema, options))

    def automaton(self, query: Formula, schema: Schema | None, budget: Budget) -> CEA:
        from cerify.automata.cea.compile import compile_cel

        return compile_cel(query, budget)

    def record(self, query: Formula, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.record_cel import record

        return record(query, S, title, options.output, options.budget)


def _kind(phi: Formula) -> str:
    """Whether the formula is unary (tods21, Definition 4.1), and if not, whether an automaton carries it."""
    from cerify.automata.cea.compile import compilable
    from cerify.semantics.cel.wellformed import is_unary

    if is_unary(phi):
        return "unary"
    if compilable(phi):
        return "not unary, since a window compares events; an automaton can count them, so equiv decides it"
    return "not unary: it compares events with each other"


def _denotational(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Raises IllFormed for a registered predicate that is no function, or of a wrong arity."""
    from cerify.semantics.cel.interpreter import found
    from cerify.semantics.cel.registered import unregistered

    return unregistered(phi, options.predicates) or (
        lambda S: found(phi, S, options.output, options.budget, options.predicates)
    )


def _planned(module: str, phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """By the module of cerify.automata.evaluate that is named."""
    from cerify.automata.evaluate.evaluation_plan import evaluation_plan

    made = evaluation_plan(phi, options.budget)
    if isinstance(made, Unsupported):
        return made
    evaluate = import_module(f"cerify.automata.evaluate.{module}").planned
    return partial(evaluate, made, output=options.output, budget=options.budget)


def _batches(module: str, name: str, phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """By the evaluator of that name in a module of cerify.automata.evaluate."""
    from cerify.automata.evaluate.partitions import batch_scope

    scope = batch_scope(phi)
    if isinstance(scope, Unsupported):
        return scope
    evaluator = getattr(import_module(f"cerify.automata.evaluate.{module}"), name)
    made: Evaluator = evaluator(phi, options.output, options.consumption, options.budget, scope)
    return made


LANGUAGE = Cel()
