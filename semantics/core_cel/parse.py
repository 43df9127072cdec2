"""Parse core-CEL formulas; errors name their place in the text."""

from __future__ import annotations

from typing import cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.syntax import OPERATORS
from cerify.semantics.parsing import (
    PREDICATES,
    PredicateBuilder,
    node,
    parsed,
    parser_of,
    require_alone,
    require_variables,
    span_of,
)
from cerify.semantics.predicates import Predicate, about, mentions
from cerify.semantics.trees import spelt

INFIX = spelt(OPERATORS, "infix")
CALLS = spelt(OPERATORS, "call")


def parse(text: str) -> core.Formula:
    """Parse the text of a formula. Raises ParseError, or BudgetExceeded if the formula is nested too deeply."""
    return cast("core.Formula", parsed(text, parser_of("cerify.semantics.core_cel", PREDICATES), _Builder()))


@v_args(meta=True, inline=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    filter = node(core.CoreFilter)

    def binary(self, meta: Meta, left: core.Formula, operator: Token, right: core.Formula) -> core.Formula:
        return cast("core.Formula", INFIX[str(operator)](left, right, span=span_of(meta)))

    plus = node(core.CorePlus)
    event = node(core.CoreEventAtom)

    def strategy(self, meta: Meta, name: Token, phi: core.Formula) -> core.Formula:
        return cast("core.Formula", CALLS[str(name)](phi, span=span_of(meta)))

    disjunction = node(core.CoreDisjunction)
    conjunction = node(core.CoreConjunction)

    def bracketed(self, meta: Meta, variable: Token, predicate: Predicate) -> core.Condition:
        require_alone(predicate, f" of {variable}", "; two events are compared outside brackets", span_of(meta))
        return core.Unary(str(variable), predicate, span=span_of(meta))

    def compared(self, meta: Meta, predicate: Predicate) -> core.Condition:
        require_variables(predicate, "variable", "one event", "x.tmp > 40", span_of(meta))
        match list({attribute.variable for attribute in mentions(predicate)}):
            case [str(variable)]:
                return core.Unary(variable, about(predicate, None), span=span_of(meta))
        return core.CoreCorrelated(predicate, span=span_of(meta))
