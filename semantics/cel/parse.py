"""Parse CEL formulas (docs: syntax.md, "CEL"). Errors have their place in the text.

`_Builder` makes the tree while the text is read: it has a method for each alternative of the grammar beside this
module, in the grammar's order. Conditions on events are the same in several languages, so their methods are in
`semantics/parsing.py`. What a grammar cannot express, such as bounds in the wrong order, is checked in these methods.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, ContiguousRepeat, Repeat, distinct
from cerify.semantics.errors import ParseError, Span
from cerify.semantics.parsing import (
    PREDICATES,
    PredicateBuilder,
    attribute_name,
    node,
    number_of,
    parsed,
    parser_of,
    require_alone,
    require_variables,
    span_of,
)
from cerify.semantics.predicates import Attribute, Predicate, about, mentions
from cerify.semantics.trees import spelt

INFIX = spelt(OPERATORS, "infix")
Bounds: TypeAlias = tuple[int, int | None]
Names: TypeAlias = tuple[str, ...]
CALLS = spelt(OPERATORS, "call")


def parse(text: str) -> cel.Formula:
    """Return the formula that the text writes. Raises ParseError, or BudgetExceeded if it is nested too deeply."""
    return cast("cel.Formula", parsed(text, parser_of("cerify.semantics.cel", PREDICATES), _Builder()))


@v_args(meta=True, inline=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    filter = node(cel.Filter)
    within = node(cel.Within)

    def partition_by(self, meta: Meta, phi: cel.Formula, attributes: Names) -> cel.Formula:
        for attribute in attributes:  # events agree on several attributes if they agree on each
            phi = cel.PartitionBy(phi, attribute, span=span_of(meta))
        return phi

    def per_key(self, meta: Meta, phi: cel.Formula, attributes: Names) -> cel.Formula:
        return cel.PerKey(phi, attributes, span=span_of(meta))

    def names(self, meta: Meta, *tokens: Token) -> Names:
        found: dict[str, Token] = {}
        for token in tokens:
            if attribute_name(token) in found:
                raise ParseError(f"{token} is written twice: name each attribute once", span_of(token))
            found[attribute_name(token)] = token
        return tuple(found)

    def combination(self, meta: Meta, *children: Any) -> cel.Formula:
        # By class, since OR and ∨ spell one operator. AND, OR, ALL and UNLESS have no precedence among each other, so
        # that nobody has to remember one to read a query.
        operators = {INFIX[str(token)]: token for token in children[1::2]}
        if len(operators) > 1:
            first, second, *_ = operators.values()
            raise ParseError(
                f"{first} and {second} side by side: which one comes first? Put parentheses around one of them",
                span_of(second),
            )
        return _left_fold(children)

    def sequence(self, meta: Meta, *children: Any) -> cel.Formula:
        operators = {str(token): token for token in children[1::2]}
        if len(operators) > 1:
            _, second = operators.values()
            raise ParseError("`;` and `:` are mixed: put parentheses around one of them", span_of(second))
        return _left_fold(children)

    bind = node(cel.In)
    plus = node(cel.Plus)
    contiguous_plus = node(cel.ContiguousPlus)
    next_plus = node(cel.NextPlus)
    until = node(cel.Until)

    def repeat(self, meta: Meta, phi: cel.Formula, bounds: Bounds) -> cel.Formula:
        return Repeat(phi, *bounds, span=span_of(meta))

    def distinct_rounds(self, meta: Meta, phi: cel.Formula, number: Token, attribute: Token) -> cel.Formula:
        if (rounds := _rounds(number)) < 2:
            raise ParseError("DISTINCT needs at least two rounds: write {2 DISTINCT [x]}", span_of(meta))
        return distinct(phi, rounds, attribute_name(attribute), span_of(meta))

    def contiguous_repeat(self, meta: Meta, phi: cel.Formula, bounds: Bounds) -> cel.Formula:
        return ContiguousRepeat(phi, *bounds, span=span_of(meta))

    def exactly(self, meta: Meta, number: Token) -> Bounds:
        return _rounds(number), _rounds(number)

    def at_least(self, meta: Meta, number: Token) -> Bounds:
        return _rounds(number), None

    def between(self, meta: Meta, *numbers: Token) -> Bounds:
        least, most = map(_rounds, numbers)
        if most < least:
            raise ParseError(
                f"the iteration goes from {least} to {most} rounds: the second number must not be less than the first",
                span_of(meta),
            )
        return least, most

    event = node(cel.EventAtom)

    def event_in(self, meta: Meta, type_: Token, predicate: Predicate) -> cel.Formula:
        """Return the formula of R[p], which is R FILTER R[p]."""
        R = str(type_)
        require_alone(predicate, f" of {R}", "; events of two variables are compared after FILTER", span_of(meta))
        event = cel.EventAtom(R, span=span_of(type_))
        return cel.Filter(event, cel.Every(R, predicate, span=span_of(meta)), span=span_of(meta))

    def project(self, meta: Meta, *children: Any) -> cel.Formula:
        *variables, phi = children
        return cel.Project(frozenset(map(str, variables)), phi, span=span_of(meta))

    start_ = node(cel.Start)

    def strategy(self, meta: Meta, name: Token, phi: cel.Formula) -> cel.Formula:
        return cast("cel.Formula", CALLS[str(name)](phi, span=span_of(meta)))

    def event_window(self, meta: Meta, number: Token) -> cel.Window:
        count = number_of(number)
        if not isinstance(count, int) or count < 1:
            raise ParseError("a window of events must be a whole number of at least 1", span_of(number))
        return cel.EventWindow(count)

    def time_window(self, meta: Meta, amount: Token, unit: Token) -> cel.Window:
        return cel.TimeWindow(number_of(amount), cast("cel.Unit", str(unit).removesuffix("s")))

    def attribute_window(self, meta: Meta, width: Token, attribute: Token) -> cel.Window:
        return cel.AttributeWindow(number_of(width), attribute_name(attribute))

    disjunction = node(cel.Disjunction)
    conjunction = node(cel.Conjunction)

    def every(self, meta: Meta, variable: Token, predicate: Predicate) -> cel.Condition:
        more = "; events of two variables are compared outside brackets"
        require_alone(predicate, f" of {variable}", more, span_of(meta))
        return cel.Every(str(variable), predicate, span=span_of(meta))

    def apply_name(self, meta: Meta, name: Token, *variables: Token) -> cel.Condition:
        return cel.Named(str(name), tuple(map(str, variables)), span=span_of(meta))

    def compared(self, meta: Meta, predicate: Predicate) -> cel.Condition:
        require_variables(predicate, "VARIABLE", "single events", "A.x > 40", span_of(meta))
        # With one mention, a comparison of all combinations is a test of every event, and Every is the cheaper
        # form: it is a tuple predicate, which automata read directly.
        match list(mentions(predicate)):
            case [Attribute(_, str(variable))]:
                return cel.Every(variable, about(predicate, None), span=span_of(meta))
        return cel.Correlated(predicate, span=span_of(meta))


def _rounds(token: Token) -> int:
    number = number_of(token)
    if not isinstance(number, int) or number < 1:
        raise ParseError(
            "the number of rounds must be a whole number of at least 1; for an optional part write (A{1,2} ; B) OR B",
            span_of(token),
        )
    return number


def _left_fold(children: tuple[Any, ...]) -> cel.Formula:
    phi: cel.Formula = children[0]
    for operator, right in zip(children[1::2], children[2::2], strict=True):
        # The span of each step ends at its right operand; `meta` spans the whole chain, and errors would mark too much.
        start, end = cast("Span", phi.span).start, cast("Span", right.span).end
        phi = INFIX[str(operator)](phi, right, span=Span(start, end))
    return phi
