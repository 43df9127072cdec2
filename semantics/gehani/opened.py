"""An expression whose whole is a name, with what the name stands for in its place: its own variables come to the top.

rehired(Z) := sequence(fire(X), hire(X, Y, Z)) has an X of its own. Where such a name is the whole expression, to choose
values for the name's own variables inside of it or around it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.scope import chosen, names_in
from cerify.semantics.predicates import Attribute, Comparison, Constant, Term


@dataclass(frozen=True)
class Opened:
    """The expression, the definitions that it uses, and its variables: those that it is asked for, and then others."""

    body: ev.Expression
    definitions: Mapping[str, ev.Definition]
    asked: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that have a choice of values."""
        return self.asked + self.own


def opened(E: ev.Expression) -> Opened:
    """The expression with its outermost name replaced, as long as it is one."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, ev.Let) else {}
    body = E.body if isinstance(E, ev.Let) else E
    asked, own = chosen(body, ()), tuple[str, ...]()
    while isinstance(body, ev.Named):
        definition = definitions[body.name]
        inside = chosen(definition.body, definition.parameters)
        taken = {*asked, *own, *inside, *names_in(definition.body)}
        terms: dict[str, ev.Argument] = dict(zip(definition.parameters, body.arguments, strict=True))
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


def _renamed(E: ev.Expression, terms: Mapping[str, ev.Argument]) -> ev.Expression:
    """The expression with other variables, or values, for its attribute variables."""

    def meant(argument: ev.Argument) -> ev.Argument:
        return terms.get(argument, argument) if isinstance(argument, str) else argument

    def term(side: Term) -> Term:
        if not isinstance(side, Attribute):
            return side
        found = meant(side.name)
        return found if isinstance(found, Constant) else Attribute(found)

    match E:
        case ev.Primitive(_, given) | ev.Named(_, given):
            return replace(E, arguments=tuple(map(meant, given)))
        case ev.Constraint(Comparison(comparator, left, right)):
            return replace(E, comparison=Comparison(comparator, term(left), term(right)))
        case _:
            return ev.rebuilt(E, tuple(_renamed(F, terms) for F in ev.children(E)))
