"""One expression for one choice of values (vldb92, section 6.2): names and attribute variables are gone from it."""

from __future__ import annotations

from collections.abc import Mapping

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.bindings import NOTHING_BOUND, Bindings, bound, value, value_of
from cerify.semantics.gehani.derived import EVERY_EVENT
from cerify.semantics.gehani.history import Places
from cerify.semantics.gehani.scope import chosen, free_variables
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Predicate, satisfied


def grounded(
    E: ev.Expression, b: Bindings, definitions: Mapping[str, ev.Definition], places: Places, budget: Budget = Budget()
) -> ev.Expression:
    """E with its names replaced by what they stand for, and its arguments by masks.

    Raises Unsupported where a name has attribute variables of its own, for which there are as many expressions as there
    are values, and BudgetExceeded where names that use names several times make the expression too large.
    """
    count = 0

    def ground(F: ev.Expression, b: Bindings) -> ev.Expression:
        nonlocal count
        count += 1
        if count > budget.states:
            raise BudgetExceeded(f"without its names the expression has more than {budget.states} operators", F.span)
        match F:
            case ev.Primitive(T, arguments, mask):
                return ev.Primitive(T, (), _masked(T, arguments, mask, b, places, F), span=F.span)
            case ev.Constraint(comparison):
                return EVERY_EVENT if satisfied(comparison, lambda X: value_of(X.name, b)) else ev.Null()
            case ev.Named(name, arguments):
                definition = definitions[name]
                if own := chosen(definition.body, definition.parameters):
                    raise Unsupported(
                        f"{name} takes place for each value of {', '.join(own)}, and there are any number of them; "
                        "make them parameters",
                        F.span,
                    )
                inner = NOTHING_BOUND
                for parameter, argument in zip(definition.parameters, arguments, strict=True):
                    if (v := value_of(argument, b)) is not None:
                        inner = bound(inner, parameter, value(v))
                body = ground(definition.body, inner)
                for x in sorted(free_variables(body)):
                    body = ev.Exists(x, body, span=F.span)
                return body
            case _:
                return ev.rebuilt(F, tuple(ground(G, b) for G in ev.children(F)))

    return ground(E, b)


def _masked(
    T: str, arguments: tuple[ev.Argument, ...], mask: Predicate | None, b: Bindings, places: Places, E: ev.Expression
) -> Predicate | None:
    names = places.get(T, ())
    for k, argument in enumerate(arguments):
        if (v := value_of(argument, b)) is None:
            continue
        if k >= len(names):
            raise Unsupported(f"which attribute of {T} is the argument {k + 1}? Give the stream a schema", E.span)
        test = Comparison("=", Attribute(names[k]), Constant(v))
        mask = test if mask is None else Both(mask, test)
    return mask
