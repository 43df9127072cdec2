"""From text to a CEL formula, with errors that know their place in the text (syntax.md, "CEL")."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, TypeAlias, cast

from lark import Lark
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.bounded import ContiguousRepeat, Repeat
from cerify.semantics.cel.operators import OPERATORS
from cerify.semantics.errors import ParseError, Span
from cerify.semantics.operators import spelt
from cerify.semantics.parsing import PredicateBuilder, attribute_name, number_of, parsed, parser_of, span_of
from cerify.semantics.predicates import Attribute, Predicate, about, mentions

INFIX = spelt(OPERATORS, "infix")
Bounds: TypeAlias = tuple[int, int | None]
CALLS = spelt(OPERATORS, "call")


def parse(text: str) -> cel.Formula:
    """The formula that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    return cast("cel.Formula", parsed(text, _parser(), _Builder()))


@cache
def _parser() -> Lark:
    return parser_of(Path(__file__).parent)


@v_args(meta=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def filter(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, condition = children
        return cel.Filter(phi, condition, span=span_of(meta))

    def within(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, window = children
        return cel.Within(phi, window, span=span_of(meta))

    def partition_by(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, attribute = children
        return cel.PartitionBy(phi, attribute_name(attribute), span=span_of(meta))

    def combination(self, meta: Meta, children: list[Any]) -> cel.Formula:
        operators = {INFIX[str(token)]: token for token in children[1::2]}
        if len(operators) > 1:
            first, second, *_ = operators.values()
            raise ParseError(
                f"{first} and {second} side by side: which one comes first? Put parentheses around one of them",
                span_of(second),
            )
        return _left_fold(children)

    def sequence(self, meta: Meta, children: list[Any]) -> cel.Formula:
        operators = {str(token): token for token in children[1::2]}
        if len(operators) > 1:
            _, second = operators.values()
            raise ParseError("; and : are mixed: put parentheses around one of them", span_of(second))
        return _left_fold(children)

    def bind(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, variable = children
        return cel.In(phi, str(variable), span=span_of(meta))

    def plus(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Plus(children[0], span=span_of(meta))

    def contiguous_plus(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.ContiguousPlus(children[0], span=span_of(meta))

    def repeat(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, (least, most) = children
        return Repeat(phi, least, most, span=span_of(meta))

    def contiguous_repeat(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, (least, most) = children
        return ContiguousRepeat(phi, least, most, span=span_of(meta))

    def exactly(self, meta: Meta, children: list[Any]) -> Bounds:
        return _rounds(children[0]), _rounds(children[0])

    def at_least(self, meta: Meta, children: list[Any]) -> Bounds:
        return _rounds(children[0]), None

    def between(self, meta: Meta, children: list[Any]) -> Bounds:
        least, most = map(_rounds, children)
        if most < least:
            raise ParseError(f"from {least} to {most} rounds: the second number is at least the first", span_of(meta))
        return least, most

    def event(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Event(str(children[0]), span=span_of(meta))

    def project(self, meta: Meta, children: list[Any]) -> cel.Formula:
        *variables, phi = children
        return cel.Project(frozenset(map(str, variables)), phi, span=span_of(meta))

    def start_(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Start(children[0], span=span_of(meta))

    def strategy(self, meta: Meta, children: list[Any]) -> cel.Formula:
        name, phi = children
        return cast("cel.Formula", CALLS[str(name)](phi, span=span_of(meta)))

    def event_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        count = number_of(children[0])
        if not isinstance(count, int) or count < 1:
            raise ParseError("a window of events is a whole number of at least 1", span_of(children[0]))
        return cel.EventWindow(count)

    def time_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        amount, unit = children
        return cel.TimeWindow(number_of(amount), cast("cel.Unit", str(unit).removesuffix("s")))

    def attribute_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        width, attribute = children
        return cel.AttributeWindow(number_of(width), attribute_name(attribute))

    def disjunction(self, meta: Meta, children: list[Any]) -> cel.Condition:
        left, _, right = children
        return cel.Disjunction(left, right, span=span_of(meta))

    def conjunction(self, meta: Meta, children: list[Any]) -> cel.Condition:
        left, _, right = children
        return cel.Conjunction(left, right, span=span_of(meta))

    def every(self, meta: Meta, children: list[Any]) -> cel.Condition:
        variable, predicate = children
        for attribute in mentions(predicate):
            if attribute.variable is not None:
                raise ParseError(
                    f"inside the brackets of {variable} an attribute stands alone: write {attribute.name}, "
                    f"not {attribute.variable}.{attribute.name}; events of two variables are compared outside brackets",
                    span_of(meta),
                )
        return cel.Every(str(variable), predicate, span=span_of(meta))

    def named(self, meta: Meta, children: list[Any]) -> cel.Condition:
        name, *variables = map(str, children)
        return cel.Named(name, tuple(variables), span=span_of(meta))

    def compared(self, meta: Meta, children: list[Any]) -> cel.Condition:
        predicate: Predicate = children[0]
        mentioned = list(mentions(predicate))
        if not mentioned:
            raise ParseError("a filter compares an attribute of a variable, as in A.x > 40", span_of(meta))
        for attribute in mentioned:
            if attribute.variable is None:
                raise ParseError(
                    f"whose attribute is {attribute.name!r}? Write VARIABLE.{attribute.name}, "
                    f"or VARIABLE[...] around a test of single events",
                    span_of(meta),
                )
        match mentioned:
            case [Attribute(_, variable)]:
                return cel.Every(cast("str", variable), about(predicate, None), span=span_of(meta))
            case _:
                return cel.Correlated(predicate, span=span_of(meta))


def _rounds(token: Any) -> int:
    number = number_of(token)
    if not isinstance(number, int) or number < 1:
        raise ParseError("a number of rounds is a whole number of at least 1", span_of(token))
    return number


def _left_fold(children: list[Any]) -> cel.Formula:
    phi: cel.Formula = children[0]
    for operator, right in zip(children[1::2], children[2::2], strict=True):
        start, end = cast("Span", phi.span).start, cast("Span", right.span).end
        phi = INFIX[str(operator)](phi, right, span=Span(start, end))
    return phi
