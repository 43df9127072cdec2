"""Event expressions (vldb92) as a plug-in.

Its six parts are in the order of `Language`. An expression takes place at single events, so a match is one position,
and its automaton is an ordinary deterministic one. Attribute variables range over all values; such expressions have an
automaton for each value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, ClassVar, get_args

from cerify.automata.evaluator import Consumption, Evaluator, Output
from cerify.languages.language import (
    DENOTATIONAL,
    NO_COMMENTS,
    BuiltIn,
    Cases,
    Checked,
    Deciders,
    DecisionQuestion,
    Evaluators,
    Explanations,
    Language,
    Options,
    Syntax,
    ValuedMatch,
    instead,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import problems, require_typed
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import OPERATORS, Expression, children, rebuilt, show, size
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.predicates import Problem

if TYPE_CHECKING:
    from cerify.automata.dfa.model import DFA
    from cerify.automata.dfa.parametric import Symbolic
    from cerify.draw.recording import Recording
    from cerify.equivalence.generate.shrink import Generator, QueryOperations
    from cerify.equivalence.verdict import Certificate, Verdict
    from cerify.explanations.explanation import Explainer
    from cerify.hypotheses.interpretation import Interpretation

ANSWER = "the answer of an event expression is the events at which it takes place"


class ExpressionSyntax(Syntax[Expression]):
    """The syntax of event expressions."""

    trees = get_args(Expression)
    positional = (expr.Primitive, expr.ExpressionNamed)
    naming_others = (*positional, expr.ExpressionVariable, expr.ExpressionDefinition)
    operators = OPERATORS
    parse = staticmethod(parse)
    show = staticmethod(show)
    problems = staticmethod(problems)
    require_typed = staticmethod(require_typed)
    size = staticmethod(size)
    children = staticmethod(children)
    rebuilt = staticmethod(rebuilt)
    mark = r"\b(prior|relative|sequence|firstAfter)\+?\s*\("
    foreign: ClassVar = {
        **instead(
            {";": "prior(E, F)", ":": "sequence(E, F)", "->": "prior(E, F)", "UNLESS": "E and !before(F)"}, "have"
        ),
        **instead({"&": "and", "&&": "and", "||": "or", "=>": ">=", "=<": "<=", "==": "=", "<>": "!="}, "have"),
        "LIMIT": "{title} have no LIMIT: the answer has every event at which the expression takes place",
        **dict.fromkeys(("FILTER", "WHERE"), "a condition stands in brackets after an event type, as in E[x > 3]"),
        **{sign: hint.replace(" has ", " have ") for sign, hint in NO_COMMENTS.items()},
    }

    def check(self, query: Expression, schema: Schema | None) -> Checked:
        from cerify.equivalence.decide.expressions import shortest_history
        from cerify.semantics.event_expressions.denote import find_scope_variables

        definitions = query.definitions if isinstance(query, expr.Let) else ()
        body = query.body if isinstance(query, expr.Let) else query
        values = bool(find_scope_variables(body, ())) or any(
            find_scope_variables(d.body, d.parameters) for d in definitions
        )
        fragment = {
            "names": bool(definitions),
            "correlation_variables": any(
                isinstance(F, expr.Exists | expr.Equated | expr.ExpressionVariable) for F in expr.subexpressions(query)
            ),
            "attribute_variables": values,
        }
        used = ", ".join(name.replace("_", " ") for name, yes in fragment.items() if yes)
        automaton = "an automaton for each value" if values else "a finite automaton"
        summary = f"event expression{f' with {used}' if used else ''}: {automaton}"
        found = problems(query, schema)
        try:
            takes_place = shortest_history(query, schema) is not None
        except (Unsupported, BudgetExceeded):
            # The decider may give up where evaluation does not, so `check` then reports the rest.
            return Checked(fragment, summary, found)
        if not found and not takes_place:
            found = [Problem("never", "the expression takes place at no event of any history", body.span)]
        return Checked(fragment, summary, found, (), takes_place)


class ExpressionEvaluators(Evaluators[Expression]):
    """The evaluators of event expressions."""

    def plain_matches(self, query: Expression, S: Stream, output: Output, budget: Budget) -> Iterable[Match]:
        """Return the matches by the definition in "Composite Event Specification in Active Databases" (1992).

        Its clauses are followed without any shortcut; `prefix` searches through possible futures.
        """
        from cerify.semantics.event_expressions.interpreter import takes_place

        return [Match(e, (e,)) for e in sorted(takes_place(query, S, budget, plain=True))]

    def waits(self, query: Expression) -> bool:
        # An expression takes place at the event that was read last, so nothing has to be awaited.
        return False

    def needs_schema(self, query: Expression) -> bool:
        """Return whether an event type of the query has arguments.

        Arguments stand for attributes by their order. Without a schema, this is the order in which attributes first
        occur.
        """
        return any(isinstance(E, expr.Primitive) and E.arguments for E in self.language.syntax.subterms(query))

    def with_values(self, query: Expression, S: Stream, evaluator: str, options: Options) -> Iterator[Match]:
        """Yield each match with values of the attribute variables that make it one.

        These are the compatible tuples of "Composite Event Specification in Active Databases" (1992), section 6.1.
        """
        if evaluator == DENOTATIONAL:
            from cerify.semantics.event_expressions.interpreter import compatible

            relation = compatible(query, S, options.budget)
        else:
            from cerify.automata.dfa.parametric import tuples

            relation = tuples(query, S, options.budget)
        for e, values in sorted(relation.rows):
            named = zip(relation.variables, values, strict=True)
            yield ValuedMatch(e, (e,), values=tuple((X, v) for X, (_, v) in named))

    def streamed(self, query: Expression, schema: Schema | None, options: Options) -> DFA | Symbolic | Unsupported:
        """Return the query's automaton; with attribute variables, one automaton for each choice of values."""
        from cerify.automata.dfa.compile import order_under
        from cerify.automata.dfa.parametric import symbolic, why_not

        if (refused := why_not(query, schema, options.budget)) is not None:
            return refused
        return self.dfa(query, schema, options.budget) or symbolic(query, order_under(schema), options.budget)

    def dfa(self, query: Expression, schema: Schema | None, budget: Budget) -> DFA | None:
        from cerify.automata.dfa.compile import inlined, order_under
        from cerify.automata.dfa.parametric import Valued

        return None if inlined(query).variables else Valued(query, order_under(schema), budget).automaton(())


class ExpressionExplanations(Explanations[Expression]):
    """The explanations and drawings of queries of event expressions."""

    def explainer(self, query: Expression, S: Stream, text: str) -> Explainer[Any]:
        from cerify.explanations.event_expressions import ExpressionExplainer

        return ExpressionExplainer(query, S, text)

    def automaton(self, query: Expression, schema: Schema | None, budget: Budget) -> DFA:
        from cerify.automata.dfa.compile import compile_expression

        return compile_expression(query, schema, budget)

    def record(self, query: Expression, S: Stream, title: str, options: Options) -> Recording:
        from cerify.draw.recording import record_expression

        return record_expression(query, S, title, options.budget)


class ExpressionCases(Cases[Expression]):
    """The random cases of event expressions."""

    def operations(self) -> QueryOperations[Expression]:
        from cerify.equivalence.generate.expressions import EVENT_EXPRESSION

        return EVENT_EXPRESSION

    def generator(self) -> Generator[Expression]:
        from cerify.equivalence.generate.expressions import EXPRESSION_GENERATOR

        return EXPRESSION_GENERATOR


class ExpressionDeciders(Deciders[Expression]):
    """The comparisons of queries of event expressions."""

    def compare(self, left: Expression, right: Expression, question: DecisionQuestion) -> Verdict:
        from cerify.equivalence.decide.expressions import contained, equivalent

        decide = equivalent if question.claim == "equivalent" else contained
        return decide(left, right, question.schema, question.budget)

    def unproved(self, certificate: Certificate, budget: Budget) -> str | None:
        from cerify.equivalence.decide.checker import expression_flaw

        return expression_flaw(certificate, budget)


def _denotational(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.semantics.event_expressions.interpreter import matches_of

    return matches_of(E, S, options.budget)


def _automaton(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    """Evaluate by a finite automaton; with attribute variables, by one automaton for each choice of values."""
    from cerify.automata.dfa.parametric import found_in

    return [Match(e, (e,)) for e in found_in(E, S, options.budget)]


def _kernel(E: Expression, S: Stream, options: Options) -> Iterable[Match]:
    from cerify.automata.dfa.compile import order_in
    from cerify.automata.dfa.evaluators import CompiledRunner
    from cerify.automata.dfa.parametric import Valued

    found = Valued(E, order_in(S), options.budget).events(S, CompiledRunner)
    return [Match(e, (e,)) for e in sorted(found)]


def _consuming(consumption: Consumption) -> Unsupported | None:
    if consumption is Consumption.NONE:
        return None
    return Unsupported("the automata of event expressions do not support consumption; use the evaluator denotational")


def _readable(E: Expression, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    from cerify.automata.dfa.evaluators import ReadableExpressionEvaluator

    A = _consuming(options.consumption) or EVALUATORS.streamed(E, schema, options)
    return A if isinstance(A, Unsupported) else ReadableExpressionEvaluator(A, options.budget)


def _compiled(E: Expression, schema: Schema | None, options: Options) -> Evaluator | Unsupported:
    from cerify.automata.dfa.evaluators import CompiledExpressionEvaluator
    from cerify.automata.dfa.model import DFA

    A = _consuming(options.consumption) or EVALUATORS.streamed(E, schema, options)
    if isinstance(A, Unsupported):
        return A
    if isinstance(A, DFA):
        return CompiledExpressionEvaluator(A, options.budget)
    return Unsupported(
        "the compiled evaluator does not support attribute variables, whose values need an automaton each; "
        "use the evaluator automaton"
    )


def _no_valuations(E: Expression, schema: Schema | None, options: Options) -> Unsupported | None:
    if options.output == "matches":
        return None
    return Unsupported(f"{ANSWER}, so it has no valuations; use output='matches'")


EVALUATORS = ExpressionEvaluators(
    {
        "denotational": BuiltIn.from_matches(_denotational, _no_valuations),
        "automaton": BuiltIn.from_matches(_automaton, _no_valuations, batches=_readable),
        "kernel": BuiltIn.from_matches(_kernel, _no_valuations, True, _compiled),
    }
)


def _interpretation() -> Interpretation:
    from cerify.hypotheses.event_expressions import INTERPRETATION

    return INTERPRETATION


LANGUAGE: Language[Expression] = Language(
    name="event-expression",
    title="event expressions",
    answer=ANSWER,
    takes_place=True,
    positional=True,
    unsaved=(
        "the state of an event expression with attribute variables cannot be saved; use cerify.spark.match on data at "
        "rest"
    ),
    loops=("relative(A, A)",),
    syntax=ExpressionSyntax(),
    evaluators=EVALUATORS,
    explanations=ExpressionExplanations(),
    cases=ExpressionCases(),
    deciders=ExpressionDeciders(),
    hypotheses=_interpretation,
)
