"""CEL (tods21) as a plug-in.

Its six parts, in the order of `Language`: syntax, evaluators, explanations, cases, deciders, hypotheses. Each method
only imports and calls what does the work, so this module is the map from a feature of CEL to its code. At the end,
LANGUAGE names for each evaluator the function that makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast, get_args

from cerify.automata.evaluator import Evaluator, Output
from cerify.languages.language import (
    FOREIGN,
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    DecisionQuestion,
    Evaluation,
    Evaluators,
    Explanations,
    Language,
    Options,
    Syntax,
)
from cerify.semantics.arguments import Budget, Selection
from cerify.semantics.cel.check import missing_columns, problems, require_typed
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import (
    OPERATORS,
    Formula,
    Last,
    Max,
    Next,
    PerKey,
    Strict,
    expanded,
    show,
    size,
)
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.parsing import UNITS_REWRITTEN
from cerify.semantics.predicates import Problem
from cerify.semantics.readings import Reading

if TYPE_CHECKING:
    from cerify.automata.cea.model import CEA
    from cerify.draw.diagram import Diagram
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Certificate, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation
    from cerify.languages.language import Streamed


AROUND = r"(?:PARTITION BY|PER KEY) *\[[^\]]*\]|(?:FILTER|WITHIN) [^;:()]+?"
"""Operators that apply to everything on their left, and so need parentheses if a ; or : follows."""


class CelSyntax(Syntax[Formula]):
    """The syntax of CEL."""

    trees = get_args(Formula)
    operators = OPERATORS
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    missing_columns = staticmethod(missing_columns)
    size = staticmethod(size)
    expanded = staticmethod(expanded)
    strategies: ClassVar = {Selection.STRICT: Strict, Selection.NEXT: Next, Selection.LAST: Last, Selection.MAX: Max}
    mark = r"\b(FILTER|UNLESS|PROJECT)\b"
    foreign = FOREIGN
    rewritten: ClassVar = (
        # No B in between, as SASE+ writes it.
        (r"(\w+) *(?:;|->) *(?:[!~]|(?i:not)\b) *\(? *(\w+) *\)? *(?:;|->) *(\w+)", r"\1 ; (\3 UNLESS \2)"),
        # A step that may be missing, as in a regular expression.
        (r"(\w+) *(?:;|->) *(\w+)\? *(?:;|->) *(\w+)", r"\1 ; ((\2 ; \3) OR \3)"),
        # As in Esper. Without `every`, because a formula of CEL reports all matches anyway.
        (r"^ *(?i:every) +(\w+) *-> *", r"\1 ; "),
        (r"\b(?i:exists) *\(([^()]*)\)", r"\1"),
        (
            # A type and its variable, as SASE+ writes them.
            r"(?<!\bIN )(?<!\bAS )\b(?!(?i:not)\b)([A-Za-z]\w*) +([a-z]\w*)"
            r"(?= *(?:[;:)]|$|FILTER\b|WITHIN\b|PARTITION\b|PER\b))",
            r"\1 IN \2",
        ),
        *UNITS_REWRITTEN,
        (rf"^([^();:]*(?:[;:][^();:]*)*?) +({AROUND}) *([;:])", r"(\1 \2) \3"),
        (rf"\(([^();:]*(?:[;:][^();:]*)*?) +({AROUND}) *([;:])", r"((\1 \2) \3"),
    )

    def surprises(self, query: Formula, S: Stream | None) -> Iterator[Problem]:
        from cerify.semantics.cel.check import across_keys

        if not (found := list(across_keys(query))):
            return iter(())  # the usual case: the evaluator of examples is not imported
        from cerify.explanations.cel import warnings_across_keys

        return warnings_across_keys(found, S)

    def check(self, query: Formula, schema: Schema | None) -> Checked:
        from cerify.equivalence.decide.cel import find_vacuous_parts, satisfiable
        from cerify.semantics.cel.check import across_keys, beyond_star, is_unary, unused
        from cerify.semantics.cel.denote import find_named_atoms

        unary, beyond = is_unary(query), sorted(beyond_star(query))
        written = f"CEL* with {', '.join(beyond)}" if beyond else "CEL*"
        found = problems(query, schema)
        senseless = [] if found else find_vacuous_parts(query, schema)
        return Checked(
            {"unary": unary, "star": not beyond, "beyond_star": beyond},
            f"{written}, {_kind(query)}",
            [*found, *dict.fromkeys(unused(query)), *senseless, *(one.problem for one in across_keys(query))],
            tuple(dict.fromkeys((atom.name, atom.variables) for atom in find_named_atoms(query))),
            satisfiable(query, schema),
        )


class CelEvaluators(Evaluators[Formula]):
    """The evaluators of CEL."""

    def plain_matches(self, query: Formula, S: Stream, output: Output, budget: Budget) -> Iterator[Match]:
        """Yield the matches by the definition in "A Formal Framework for Complex Event Recognition" (2021), Figure 3.

        Its clauses are followed without any shortcut, which is slow.
        """
        from cerify.semantics.cel.denote import Valuations, clause, require_registered, sup
        from cerify.semantics.events import bindings_of

        require_registered(query, {})
        followed = 0

        def meaning(psi: Formula, i: int, j: int) -> Valuations:
            nonlocal followed
            followed += 1
            if followed > budget.valuations:
                raise BudgetExceeded(
                    f"the plain definition takes more than {budget.valuations} steps; use a shorter stream"
                )
            return frozenset(clause(psi, S, i, j, meaning))

        for n in range(len(S)):
            for mu in meaning(query, 0, n):
                bindings = bindings_of(mu) if output == "valuations" else None
                yield Match(n, tuple(sorted(sup(mu))), bindings)

    def waits(self, query: Formula) -> bool:
        return False

    def streamed(self, query: Formula, schema: Schema | None, options: Options) -> Streamed | Unsupported:
        batches = self["kernel"].batches
        assert batches is not None
        return cast("Streamed | Unsupported", batches(query, schema, options))


class CelExplanations(Explanations[Formula]):
    """The explanations and drawings of queries of CEL."""

    def explainer(self, query: Formula, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.cel import CelExplainer

        return CelExplainer(query, S)

    def automaton(self, query: Formula, schema: Schema | None, budget: Budget) -> CEA:
        from cerify.automata.cea.compile import compile_cel

        return compile_cel(query, budget)

    def diagram(self, query: Formula, title: str, schema: Schema | None, budget: Budget) -> Diagram:
        """Return the automaton of a formula; if windows or keys are around the whole formula, that of the part inside
        them.
        """
        from cerify.automata.evaluate.scope import Scope, strip_windows

        scope = strip_windows(query)
        # The automaton reads one stream of events. Windows and keys choose these events, so the title names them.
        if isinstance(scope, Scope) and (scope.widths or scope.attributes or scope.keys):
            inside = "on the events of each key" if scope.keys else "in its windows and partitions"
            title, query = f"{title}: that of {show(scope.core)}, {inside}", scope.core
        return super().diagram(query, title, schema, budget)

    def record(self, query: Formula, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.recording import record_cel

        return record_cel(query, S, title, options.output, options.budget)


class CelCases(Cases[Formula]):
    """The random cases of CEL."""

    def operations(self) -> QueryOperations[Formula]:
        from cerify.equivalence.generate.cel import CEL

        return CEL

    def generator(self) -> Generator[Formula]:
        from cerify.equivalence.generate.cel import CEL_GENERATOR

        return CEL_GENERATOR


class CelDeciders(Deciders[Formula]):
    """The comparisons of queries of CEL."""

    def in_cel(self, query: Formula, budget: Budget) -> Formula:
        return query

    def compare(self, left: Formula, right: Formula, question: DecisionQuestion) -> Verdict:
        from cerify.equivalence.decide.derivation import compare_formulas

        q = question
        return compare_formulas(left, right, q.claim, q.level, q.schema, q.order, q.bound, q.budget)

    def unproved(self, certificate: Certificate, budget: Budget) -> str | None:
        from cerify.equivalence.decide.checker import flaw

        return flaw(certificate, budget)

    @property
    def normal_forms(self) -> Mapping[str, Callable[[Formula, int], Formula] | None]:
        from cerify.equivalence.rewrite.normal_forms import disjunctive, push_filters, push_in

        return {"disjunctive": disjunctive, "push-in": push_in, "push-filters": push_filters, "star": None}

    @property
    def translations(self) -> Mapping[str, Callable[[Formula, Reading], Any]]:
        from cerify.equivalence.eql.translate import cel_to_eql
        from cerify.equivalence.rewrite.translate_core_cel import to_core_cel
        from cerify.equivalence.rewrite.translate_row_pattern import cel_to_row

        def in_core_cel(phi: Formula, reading: Reading) -> Any:
            return to_core_cel(phi)

        def in_row_pattern(phi: Formula, reading: Reading) -> Any:
            return cel_to_row(phi)

        def in_eql(phi: Formula, reading: Reading) -> Any:
            return cel_to_eql(phi)

        return {"core-cel": in_core_cel, "row-pattern": in_row_pattern, "eql": in_eql}


def _kind(phi: Formula) -> str:
    """Say whether the formula is unary (tods21, Definition 4.1); if not, why, and whether equivalence is decided."""
    from cerify.automata.cea.compile import compilable
    from cerify.equivalence.decide.keys_and_windows import is_reducible
    from cerify.semantics.cel.check import is_unary

    if is_unary(phi):
        return "unary"
    if compilable(phi):
        return "not unary: a window compares events, but an automaton can count events; equiv decides it"
    if isinstance(phi, PerKey) and compilable(phi.phi):
        return "not unary: it looks at the events of one key at a time; equiv decides it against others of that key"
    if is_reducible(phi):
        return "not unary, since it compares events with each other; equiv decides it"
    return "not unary: it compares events with each other"


def _denotational(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a formula by its definition.

    Raises IllFormed for a registered predicate that is not a function or has the wrong number of parameters.
    """
    from cerify.semantics.cel.denote import unregistered
    from cerify.semantics.cel.interpreter import iterate_matches

    def evaluate(S: Stream) -> Iterator[Match]:
        return iterate_matches(phi, S, options.output, options.budget, options.predicates)

    return unregistered(phi, options.predicates) or evaluate


def _prepare_streaming(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a formula in plain Python: Algorithm 2 of tods21."""
    from cerify.automata.evaluate.evaluation_plan import evaluation_plan
    from cerify.automata.evaluate.streaming import evaluate_plan

    plan = evaluation_plan(phi, options.budget)
    if isinstance(plan, Unsupported):
        return plan
    return partial(evaluate_plan, plan, output=options.output, budget=options.budget)


def _prepare_compiled(phi: Formula, schema: Schema | None, options: Options) -> Evaluation | Unsupported:
    """Return the evaluation of a formula by the compiled evaluator."""
    from cerify.automata.evaluate.compiled import evaluate_plan
    from cerify.automata.evaluate.evaluation_plan import evaluation_plan

    plan = evaluation_plan(phi, options.budget)
    if isinstance(plan, Unsupported):
        return plan
    return partial(evaluate_plan, plan, output=options.output, budget=options.budget)


def _readable_batches(phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the batch evaluator in plain Python, or why there is none."""
    from cerify.automata.evaluate.evaluation_plan import batch_scope
    from cerify.automata.evaluate.readable import ReadableCelEvaluator

    scope = batch_scope(phi)
    if isinstance(scope, Unsupported):
        return _checked_batches(phi, options)
    return ReadableCelEvaluator(phi, options.output, options.consumption, options.budget, scope)


def _compiled_batches(phi: Formula, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    """Return the compiled batch evaluator, or why there is none."""
    from cerify.automata.evaluate.compiled import CompiledCelEvaluator
    from cerify.automata.evaluate.evaluation_plan import batch_scope

    scope = batch_scope(phi)
    if isinstance(scope, Unsupported):
        return scope
    if scope.divided:
        from cerify.automata.evaluate.compiled import divided_twice

        return divided_twice()
    return CompiledCelEvaluator(phi, options.output, options.consumption, options.budget, scope)


def _checked_batches(phi: Formula, options: Options) -> Evaluator | Unsupported:
    """Return a batch evaluator for a query with cross-event filters.

    An automaton without these filters finds candidates, and the filters are checked on each of them.
    """
    from cerify.automata.evaluate.evaluation_plan import counted_in_scope
    from cerify.automata.evaluate.readable import CheckedEvaluator, batch_plan

    plan = batch_plan(phi, options.budget)
    if isinstance(plan, Unsupported):
        return plan
    counted = counted_in_scope(plan) if options.consumption.value == "none" else None
    if counted is not None and (counted[1].widths or counted[1].events is not None):
        return Unsupported(
            "batch evaluation does not support LAST or NXT around a window, if the sequence in it has a cross-event "
            "filter; collect the stream and use `cerify.match`",
            phi.span,
        )
    return CheckedEvaluator(phi, options.output, options.consumption, options.budget, plan)


def _interpretation() -> Interpretation:
    from cerify.hypotheses.cel import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[Formula] = Language(
    name="cel",
    title="CEL",
    settings=frozenset({"predicates"}),
    loops=("A+", "A+ WITHIN 2 EVENTS", "A+ PARTITION BY [x]"),
    syntax=CelSyntax(),
    evaluators=CelEvaluators(
        {
            "denotational": BuiltIn(_denotational),
            "automaton": BuiltIn(_prepare_streaming, batches=_readable_batches),
            "kernel": BuiltIn.guarded(_prepare_compiled, compiled=True, batches=_compiled_batches),
        }
    ),
    explanations=CelExplanations(),
    cases=CelCases(),
    deciders=CelDeciders(),
    hypotheses=_interpretation,
)
