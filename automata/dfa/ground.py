"""One expression for one choice of values (vldb92, section 6.2): names and attribute variables are replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cerify.automata.dfa.arguments import ArgumentOrder
from cerify.automata.dfa.scopes import ranging_variables, unbound_variables
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Predicate, Term, satisfied
from cerify.semantics.values import Value

EVERY_EVENT = expr.Not(expr.Null())

Terms: TypeAlias = Mapping[str, Constant | Attribute]
"""What attribute variables stand for; a variable that is missing is no constraint."""

Decide: TypeAlias = Callable[[Comparison], bool]
"""Whether a constraint between terms is true."""


def grounded(
    E: expr.Expression,
    values: Mapping[str, Value],
    definitions: Mapping[str, expr.Definition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """E with the bodies of definitions for names, and with masks for arguments.

    Raises Unsupported where a name has attribute variables of its own, for which there are as many expressions as there
    are values, and BudgetExceeded where names that use names several times make the expression too large.
    """
    terms = {X: Constant(v) for X, v in values.items()}
    return with_terms(E, terms, _is_true, definitions, order, budget)


def with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.Definition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """As grounded, with any terms for the variables; decide gives the truth of each constraint between terms."""
    found = tried_with_terms(E, terms, decide, definitions, order, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


def tried_with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.Definition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression | Unsupported:
    """As with_terms, with the error as a value. Raises BudgetExceeded."""
    grounding = _Grounding(decide, definitions, order, budget)
    found = grounding.expression(E, terms)
    return grounding.refused or found


def _is_true(comparison: Comparison) -> bool:
    return satisfied(comparison, lambda X: None)


@dataclass
class _Grounding:
    """refused: the first reason why there is no such expression; what the methods return is of no use then."""

    decide: Decide
    definitions: Mapping[str, expr.Definition]
    order: ArgumentOrder
    budget: Budget
    nodes: int = field(default=0, init=False)
    refused: Unsupported | None = field(default=None, init=False)

    def expression(self, E: expr.Expression, terms: Terms) -> expr.Expression:
        self.nodes += 1
        check_time()
        if self.nodes > self.budget.states:
            raise BudgetExceeded(
                f"without its names the expression has more than {self.budget.states} operators", E.span
            )
        match E:
            case expr.Primitive():
                return replace(E, arguments=(), mask=self._mask(E, terms))
            case expr.Constraint(Comparison(comparator, left, right)):
                comparison = Comparison(comparator, _side(left, terms), _side(right, terms))
                return EVERY_EVENT if self.decide(comparison) else expr.Null()
            case expr.Named():
                return self._body(E, terms)
        return expr.rebuilt(E, tuple(self.expression(F, terms) for F in expr.children(E)))

    def _body(self, E: expr.Named, terms: Terms) -> expr.Expression:
        definition = self.definitions[E.name]
        if own := ranging_variables(definition.body, definition.parameters):
            why = f"{E.name} takes place for each value of {', '.join(own)}, and there are any number of them"
            self.refused = self.refused or Unsupported(f"{why}; make them parameters", E.span)
            return E
        given = zip(definition.parameters, E.arguments, strict=True)
        inner = {X: term for X, argument in given if (term := _term(argument, terms)) is not None}
        body = self.expression(definition.body, inner)
        for x in unbound_variables(body):
            body = expr.Exists(x, body, span=E.span)
        return body

    def _mask(self, E: expr.Primitive, terms: Terms) -> Predicate | None:
        names = self.order.get(E.type, ())
        mask = E.mask
        for k, argument in enumerate(E.arguments):
            if (term := _term(argument, terms)) is None:
                continue
            if k >= len(names):
                why = f"which attribute of {E.type} is the argument {k + 1}? Give the stream a schema"
                self.refused = self.refused or Unsupported(why, E.span)
                return mask
            test = Comparison("=", Attribute(names[k]), term)
            mask = test if mask is None else Both(mask, test)
        return mask


def _term(argument: expr.Argument, terms: Terms) -> Constant | Attribute | None:
    return argument if isinstance(argument, Constant) else terms.get(argument)


def _side(side: Term, terms: Terms) -> Term:
    return terms.get(side.name, side) if isinstance(side, Attribute) else side
