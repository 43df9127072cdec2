"""One expression for one choice of values (vldb92, section 6.2): names and attribute variables are gone from it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings
from cerify.semantics.event_expressions.derived import EVERY_EVENT
from cerify.semantics.event_expressions.history import Places
from cerify.semantics.event_expressions.scope import chosen, free_variables
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Predicate, Term, satisfied

Terms: TypeAlias = Mapping[str, Constant | Attribute]
"""What attribute variables stand for; one that is left out is no constraint."""


def grounded(
    E: expr.Expression,
    b: Bindings,
    definitions: Mapping[str, expr.Definition],
    places: Places,
    budget: Budget = Budget(),
) -> expr.Expression:
    """E with its names replaced by what they stand for, and its arguments by masks.

    Raises Unsupported where a name has attribute variables of its own, for which there are as many expressions as there
    are values, and BudgetExceeded where names that use names several times make the expression too large.
    """
    terms = {X: Constant(v) for X, (kind, v) in b if kind != "position"}
    return with_terms(E, terms, lambda comparison: satisfied(comparison, lambda X: None), definitions, places, budget)


def with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Callable[[Comparison], bool],
    definitions: Mapping[str, expr.Definition],
    places: Places,
    budget: Budget = Budget(),
) -> expr.Expression:
    """As grounded, the variables being any terms; decide says which of the constraints between these are true."""
    count = 0

    def ground(F: expr.Expression, terms: Terms) -> expr.Expression:
        nonlocal count
        count += 1
        if count > budget.states:
            raise BudgetExceeded(f"without its names the expression has more than {budget.states} operators", F.span)
        match F:
            case expr.Primitive(T, arguments, mask):
                return expr.Primitive(T, (), _masked(T, arguments, mask, terms, places, F), span=F.span)
            case expr.Constraint(Comparison(comparator, left, right)):
                meant = Comparison(comparator, _term(left, terms), _term(right, terms))
                return EVERY_EVENT if decide(meant) else expr.Null()
            case expr.Named(name, arguments):
                definition = definitions[name]
                if own := chosen(definition.body, definition.parameters):
                    raise Unsupported(
                        f"{name} takes place for each value of {', '.join(own)}, and there are any number of them; "
                        "make them parameters",
                        F.span,
                    )
                given = zip(definition.parameters, arguments, strict=True)
                inner = {X: term for X, argument in given if (term := _meant(argument, terms)) is not None}
                body = ground(definition.body, inner)
                for x in sorted(free_variables(body)):
                    body = expr.Exists(x, body, span=F.span)
                return body
            case _:
                return expr.rebuilt(F, tuple(ground(G, terms) for G in expr.children(F)))

    return ground(E, terms)


def _meant(argument: expr.Argument, terms: Terms) -> Constant | Attribute | None:
    return argument if isinstance(argument, Constant) else terms.get(argument)


def _term(side: Term, terms: Terms) -> Term:
    return terms.get(side.name, side) if isinstance(side, Attribute) else side


def _masked(
    T: str,
    arguments: tuple[expr.Argument, ...],
    mask: Predicate | None,
    terms: Terms,
    places: Places,
    E: expr.Expression,
) -> Predicate | None:
    names = places.get(T, ())
    for k, argument in enumerate(arguments):
        if (term := _meant(argument, terms)) is None:
            continue
        if k >= len(names):
            raise Unsupported(f"which attribute of {T} is the argument {k + 1}? Give the stream a schema", E.span)
        test = Comparison("=", Attribute(names[k]), term)
        mask = test if mask is None else Both(mask, test)
    return mask
