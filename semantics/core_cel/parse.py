"""From text to a core-CEL formula, with errors that know their place in the text."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, cast

from lark import Lark
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.operators import OPERATORS
from cerify.semantics.errors import ParseError
from cerify.semantics.operators import spelt
from cerify.semantics.parsing import PredicateBuilder, parsed, parser_of, span_of
from cerify.semantics.predicates import Predicate, about, mentions

INFIX = spelt(OPERATORS, "infix")
CALLS = spelt(OPERATORS, "call")


def parse(text: str) -> core.Formula:
    """The formula that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    return cast("core.Formula", parsed(text, _parser(), _Builder()))


@cache
def _parser() -> Lark:
    return parser_of(Path(__file__).parent)


@v_args(meta=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def filter(self, meta: Meta, children: list[Any]) -> core.Formula:
        phi, condition = children
        return core.Filter(phi, condition, span=span_of(meta))

    def binary(self, meta: Meta, children: list[Any]) -> core.Formula:
        left, operator, right = children
        return cast("core.Formula", INFIX[str(operator)](left, right, span=span_of(meta)))

    def plus(self, meta: Meta, children: list[Any]) -> core.Formula:
        return core.Plus(children[0], span=span_of(meta))

    def event(self, meta: Meta, children: list[Any]) -> core.Formula:
        type_, variable = map(str, children)
        return core.Event(type_, variable, span=span_of(meta))

    def strategy(self, meta: Meta, children: list[Any]) -> core.Formula:
        name, phi = children
        return cast("core.Formula", CALLS[str(name)](phi, span=span_of(meta)))

    def disjunction(self, meta: Meta, children: list[Any]) -> core.Condition:
        left, _, right = children
        return core.Disjunction(left, right, span=span_of(meta))

    def conjunction(self, meta: Meta, children: list[Any]) -> core.Condition:
        left, _, right = children
        return core.Conjunction(left, right, span=span_of(meta))

    def bracketed(self, meta: Meta, children: list[Any]) -> core.Condition:
        variable, predicate = children
        for attribute in mentions(predicate):
            if attribute.variable is not None:
                raise ParseError(
                    f"inside the brackets of {variable} an attribute stands alone: write {attribute.name}, "
                    f"not {attribute.variable}.{attribute.name}; two events are compared outside brackets",
                    span_of(meta),
                )
        return core.Unary(str(variable), predicate, span=span_of(meta))

    def compared(self, meta: Meta, children: list[Any]) -> core.Condition:
        predicate: Predicate = children[0]
        variables: set[str] = set()
        for attribute in mentions(predicate):
            if attribute.variable is None:
                raise ParseError(
                    f"whose attribute is {attribute.name!r}? Write variable.{attribute.name}, "
                    f"or variable[...] around a test of one event",
                    span_of(meta),
                )
            variables.add(attribute.variable)
        match list(variables):
            case []:
                raise ParseError("a filter compares an attribute of a variable, as in x.tmp > 40", span_of(meta))
            case [variable]:
                return core.Unary(variable, about(predicate, None), span=span_of(meta))
            case _:
                return core.Correlated(predicate, span=span_of(meta))
