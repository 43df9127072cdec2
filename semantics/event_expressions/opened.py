"""An expression whose whole is a name, with what the name stands for in its place: its own variables come to the top.

rehired(Z) := sequence(fire(X), hire(X, Y, Z)) has an X of its own. Where such a name is the whole expression, to choose
values for the name's own variables inside of it or around it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.scope import chosen, names_in
from cerify.semantics.predicates import Attribute, Comparison, Constant, Term


@dataclass(frozen=True)
class Opened:
    """The expression, the definitions that it uses, and its variables: those that it is asked for, and then others."""

    body: expr.Expression
    definitions: Mapping[str, expr.Definition]
    asked: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that have a choice of values."""
        return self.asked + self.own


def opened(E: expr.Expression) -> Opened:
    """The expression with its outermost name replaced, as long as it is one."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    body = E.body if isinstance(E, expr.Let) else E
    asked, own = chosen(body, ()), tuple[str, ...]()
    while isinstance(body, expr.Named):
        definition = definitions[body.name]
        inside = chosen(definition.body, definition.parameters)
        taken = {*asked, *own, *inside, *names_in(definition.body)}
        terms: dict[str, expr.Argument] = dict(zip(definition.parameters, body.arguments, strict=True))
        for X in inside:
            terms[X] = X if X not in (*asked, *own) else _fresh(X, taken)
        single = {X for X in names_in(definition.body) if X in (*asked, *own) and X not in terms}
        terms.update((X, _fresh(X, taken)) for X in single)
        own = (*own, *(str(terms[X]) for X in inside))
        body = _renamed(definition.body, terms)
    return Opened(body, definitions, asked, own)


def _fresh(X: str, taken: set[str]) -> str:
    while X in taken:
        X += "'"
    taken.add(X)
    return X


def _renamed(E: expr.Expression, terms: Mapping[str, expr.Argument]) -> expr.Expression:
    """The expression with other variables, or values, for its attribute variables."""

    def meant(argument: expr.Argument) -> expr.Argument:
        return terms.get(argument, argument) if isinstance(argument, str) else argument

    def term(side: Term) -> Term:
        if not isinstance(side, Attribute):
            return side
        found = meant(side.name)
        return found if isinstance(found, Constant) else Attribute(found)

    match E:
        case expr.Primitive(_, given) | expr.Named(_, given):
            return replace(E, arguments=tuple(map(meant, given)))
        case expr.Constraint(Comparison(comparator, left, right)):
            return replace(E, comparison=Comparison(comparator, term(left), term(right)))
        case _:
            return expr.rebuilt(E, tuple(_renamed(F, terms) for F in expr.children(E)))
