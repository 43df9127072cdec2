"""An expression that is a single name, replaced by the body of its definition.

rehired(Z) := sequence(fire(X), hire(X, Y, Z)) has a variable X of its own. Where such a name is the whole expression,
X ranges over the same values inside the definition and around it, so that the body can stand for the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from cerify.automata.dfa.scopes import ranging_variables, variable_names
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.predicates import Attribute, Comparison, Constant, Term


@dataclass(frozen=True)
class Inlined:
    """An expression, the definitions that it uses, and its attribute variables that range over values.

    visible are those of the text itself, the columns of the compatible tuples; local are those of the definitions that
    were inlined.
    """

    body: expr.Expression
    definitions: Mapping[str, expr.Definition]
    visible: tuple[str, ...]
    local: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that range over values, the visible ones first."""
        return self.visible + self.local


def inlined(E: expr.Expression) -> Inlined:
    """The expression without its definitions; as long as it is a single name, the name is replaced by its body."""
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    body = E.body if isinstance(E, expr.Let) else E
    visible, local = ranging_variables(body), tuple[str, ...]()
    while isinstance(body, expr.Named):
        definition = definitions[body.name]
        inside = ranging_variables(definition.body, definition.parameters)
        names = variable_names(definition.body)
        taken = {*visible, *local, *inside, *names}
        terms: dict[str, expr.Argument] = dict(zip(definition.parameters, body.arguments, strict=True))
        for X in inside:
            terms[X] = X if X not in (*visible, *local) else _fresh(X, taken)
        single = {X for X in names if X in (*visible, *local) and X not in terms}
        terms.update((X, _fresh(X, taken)) for X in single)
        local = (*local, *(str(terms[X]) for X in inside))
        body = _renamed(definition.body, terms)
    return Inlined(body, definitions, visible, local)


def _fresh(X: str, taken: set[str]) -> str:
    while X in taken:
        X += "'"
    taken.add(X)
    return X


def _renamed(E: expr.Expression, terms: Mapping[str, expr.Argument]) -> expr.Expression:
    """The expression with other variables, or values, for its attribute variables."""

    def renamed(argument: expr.Argument) -> expr.Argument:
        return terms.get(argument, argument) if isinstance(argument, str) else argument

    def term(side: Term) -> Term:
        if not isinstance(side, Attribute):
            return side
        found = renamed(side.name)
        return found if isinstance(found, Constant) else Attribute(found)

    match E:
        case expr.Primitive(_, given) | expr.Named(_, given):
            return replace(E, arguments=tuple(map(renamed, given)))
        case expr.Constraint(Comparison(comparator, left, right)):
            return replace(E, comparison=Comparison(comparator, term(left), term(right)))
    return expr.rebuilt(E, tuple(_renamed(F, terms) for F in expr.children(E)))
