"""Find the variables of a resolved expression for the automata: vldb92, sections 5 and 6.

The reference evaluator has its own code for this, in semantics/event_expressions/denote.py. The two are independent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import KindedValue
from cerify.semantics.events import TIME, Schema, Stream
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Predicate, Term, satisfied
from cerify.semantics.values import Value, kind

ArgumentPosition: TypeAlias = tuple[str, int]
"""An event type, and the 0-based number of one of its arguments."""

ArgumentPositions: TypeAlias = Mapping[str, frozenset[ArgumentPosition]]
"""The places of each attribute variable; a variable without places may be missing."""


def unbound_variables(E: expr.Expression) -> tuple[str, ...]:
    """Return the correlation variables that occur in E outside an exists that binds them, sorted
    (vldb92, section 5, 1 to 7).
    """
    found: set[str] = set()
    pending: list[tuple[expr.Expression, frozenset[str]]] = [(E, frozenset())]
    while pending:
        F, bound = pending.pop()
        match F:
            case expr.Exists(x, _):
                bound |= {x}
            case expr.Equated(_, x) | expr.ExpressionVariable(x):
                found |= {x} - bound
        pending.extend((G, bound) for G in expr.children(F))
    return tuple(sorted(found))


def ranging_variables(body: expr.Expression, parameters: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the attribute variables of a scope that may take any value, sorted (vldb92, section 6.2).

    Parameters are left out: the caller of a definition chooses their values. A variable that occurs only once, as an
    argument of a primitive event, is left out too, because it constrains nothing: "if the same variable appears in
    multiple places in an expression, it constrains the corresponding values to be identical". A variable in a
    constraint, or passed to a name, is included.
    """
    once: set[str] = set()
    ranging: set[str] = set()
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(_, arguments):
                for X in arguments:
                    if isinstance(X, str):
                        (ranging if X in once else once).add(X)
            case expr.ExpressionNamed(_, arguments):
                ranging.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                ranging.update(side.name for side in sides if isinstance(side, Attribute))
    return tuple(sorted(ranging.difference(parameters)))


def variable_names(E: expr.Expression) -> frozenset[str]:
    """Return the names of all correlation and attribute variables in E, bound or not."""
    found: set[str] = set()
    for F in expr.subexpressions(E):
        match F:
            case expr.Primitive(_, arguments) | expr.ExpressionNamed(_, arguments):
                found.update(X for X in arguments if isinstance(X, str))
            case expr.Constraint(comparison):
                sides = (comparison.left, comparison.right)
                found.update(side.name for side in sides if isinstance(side, Attribute))
            case expr.ExpressionVariable(x) | expr.Equated(_, x) | expr.Exists(x, _):
                found.add(x)
    return frozenset(found)


def argument_places(body: expr.Expression, definitions: Mapping[str, expr.ExpressionDefinition]) -> ArgumentPositions:
    """Return the places of each attribute variable of a scope, including those in definitions to which it is passed.

    definitions: each definition after the definitions that it uses.
    """
    of_parameters: dict[str, tuple[frozenset[ArgumentPosition], ...]] = {}
    for name, definition in definitions.items():
        inside = _places(definition.body, of_parameters)
        of_parameters[name] = tuple(inside.get(X, frozenset()) for X in definition.parameters)
    return _places(body, of_parameters)


def _places(
    body: expr.Expression, of_parameters: Mapping[str, Sequence[frozenset[ArgumentPosition]]]
) -> ArgumentPositions:
    found: defaultdict[str, frozenset[ArgumentPosition]] = defaultdict(frozenset)
    for F in expr.subexpressions(body):
        match F:
            case expr.Primitive(T, arguments):
                for k, X in enumerate(arguments):
                    if isinstance(X, str):
                        found[X] |= {(T, k)}
            case expr.ExpressionNamed(name, arguments):
                for X, where in zip(arguments, of_parameters[name], strict=True):
                    if isinstance(X, str):
                        found[X] |= where
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The attribute that each argument of a primitive event stands for (vldb92, section 6: attributes are positional).

ArgumentOrder: TypeAlias = Mapping[str, tuple[str, ...]]
"""The attributes of each event type except the time, in the order of the arguments."""


def order_under(schema: Schema | None) -> ArgumentOrder:
    """Return the order in which the schema lists attributes; empty without a schema."""
    return {} if schema is None else {T: tuple(filter(TIME.__ne__, names)) for T, names in schema.types.items()}


def order_in(S: Stream) -> ArgumentOrder:
    """Return the order of attributes in the stream's schema; without a schema, the order of their first occurrence."""
    if S.schema is not None:
        return order_under(S.schema)
    columns: dict[str, set[str]] = {}  # the types of each attribute
    types: dict[str, None] = {}
    for event in S:
        types[event.type] = None
        for name in event.attributes:
            columns.setdefault(name, set()).add(event.type)
    return {T: tuple(name for name, having in columns.items() if T in having and name != TIME) for T in types}


def kinded(v: Value) -> KindedValue:
    """Return a value with its kind, because 1 and true are equal in Python but different here."""
    return kind(v), v


# ---------------------------------------------------------------------------------------------------------------------
# One expression for one choice of values (vldb92, section 6.2): names and attribute variables are replaced.

EVERY_EVENT = expr.ExpressionNot(expr.Null())

Terms: TypeAlias = Mapping[str, Constant | Attribute]
"""The terms that attribute variables stand for; a missing variable constrains nothing."""

Decide: TypeAlias = Callable[[Comparison], bool]
"""Whether a constraint between terms is true."""


def grounded(
    E: expr.Expression,
    values: Mapping[str, Value],
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """Return E without names and arguments: definitions replace names, and conditions on attributes replace arguments.

    values: the value of each attribute variable. Raises Unsupported if a definition has its own attribute variables,
    because there would be an expression for each value. Raises BudgetExceeded if definitions that use others several
    times make the expression too large.
    """
    terms = {X: Constant(v) for X, v in values.items()}
    return with_terms(E, terms, _is_true, definitions, order, budget)


def with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression:
    """Same as `grounded`, but a variable is replaced by a term, such as another attribute, instead of a value.

    decide: a function that returns whether a constraint between terms is true.
    """
    found = tried_with_terms(E, terms, decide, definitions, order, budget)
    if isinstance(found, Unsupported):
        raise found
    return found


def tried_with_terms(
    E: expr.Expression,
    terms: Terms,
    decide: Decide,
    definitions: Mapping[str, expr.ExpressionDefinition],
    order: ArgumentOrder,
    budget: Budget = Budget(),
) -> expr.Expression | Unsupported:
    """Same as `with_terms`, but returns Unsupported instead of raising it. Raises BudgetExceeded."""
    grounding = _Grounding(decide, definitions, order, budget)
    found = grounding.expression(E, terms)
    return grounding.refused or found


def _is_true(comparison: Comparison) -> bool:
    return satisfied(comparison, lambda X: None)


@dataclass
class _Grounding:
    """Replaces names and arguments in an expression.

    refused: the first reason for a failure; if it is not None, all results are invalid.
    """

    decide: Decide
    definitions: Mapping[str, expr.ExpressionDefinition]
    order: ArgumentOrder
    budget: Budget
    nodes: int = field(default=0, init=False)
    refused: Unsupported | None = field(default=None, init=False)

    def expression(self, E: expr.Expression, terms: Terms) -> expr.Expression:
        self.nodes += 1
        check_time()
        if self.nodes > self.budget.states:
            raise BudgetExceeded(
                f"with its names written out, the expression has more than {self.budget.states} operators", E.span
            )
        match E:
            case expr.Primitive():
                return replace(E, arguments=(), mask=self._mask(E, terms))
            case expr.Constraint(Comparison(comparator, left, right)):
                comparison = Comparison(comparator, _side(left, terms), _side(right, terms))
                return EVERY_EVENT if self.decide(comparison) else expr.Null()
            case expr.ExpressionNamed():
                return self._body(E, terms)
        return expr.rebuilt(E, tuple(self.expression(F, terms) for F in expr.children(E)))

    def _body(self, E: expr.ExpressionNamed, terms: Terms) -> expr.Expression:
        definition = self.definitions[E.name]
        if own := ranging_variables(definition.body, definition.parameters):
            names = ", ".join(own)
            why = f"{E.name} takes place for each value of {names}, and the number of values has no limit"
            self.refused = self.refused or Unsupported(f"{why}; make {names} parameters of {E.name}", E.span)
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
                why = f"the attribute for argument {k + 1} of {E.type} is unknown. Give the stream a schema"
                self.refused = self.refused or Unsupported(why, E.span)
                return mask
            test = Comparison("=", Attribute(names[k]), term)
            mask = test if mask is None else Both(mask, test)
        return mask


def _term(argument: expr.Argument, terms: Terms) -> Constant | Attribute | None:
    return argument if isinstance(argument, Constant) else terms.get(argument)


def _side(side: Term, terms: Terms) -> Term:
    return terms.get(side.name, side) if isinstance(side, Attribute) else side


# ---------------------------------------------------------------------------------------------------------------------
# An expression that is a single name, replaced by the body of its definition.
#
# rehired(Z) := sequence(fire(X), hire(X, Y, Z)) has a variable X of its own. Where such a name is the whole
# expression, X ranges over the same values inside the definition and around it, so that the body can stand for the
# name.


@dataclass(frozen=True)
class Inlined:
    """An expression, the definitions that it uses, and its attribute variables that range over values.

    visible: the variables of the text itself, which are the columns of the compatible tuples. local: those of the
    inlined definitions.
    """

    body: expr.Expression
    definitions: Mapping[str, expr.ExpressionDefinition]
    visible: tuple[str, ...]
    local: tuple[str, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """Return all variables that range over values, the visible ones first."""
        return self.visible + self.local


def inlined(E: expr.Expression) -> Inlined:
    """Separate the expression from its definitions.

    As long as the expression is a single name, it is replaced by the body of the name's definition.
    """
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    body = E.body if isinstance(E, expr.Let) else E
    visible, local = ranging_variables(body), tuple[str, ...]()
    while isinstance(body, expr.ExpressionNamed):
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
    """Return the expression with its attribute variables replaced by other variables, or by values."""

    def renamed(argument: expr.Argument) -> expr.Argument:
        return terms.get(argument, argument) if isinstance(argument, str) else argument

    def term(side: Term) -> Term:
        if not isinstance(side, Attribute):
            return side
        found = renamed(side.name)
        return found if isinstance(found, Constant) else Attribute(found)

    match E:
        case expr.Primitive(_, given) | expr.ExpressionNamed(_, given):
            return replace(E, arguments=tuple(map(renamed, given)))
        case expr.Constraint(Comparison(comparator, left, right)):
            return replace(E, comparison=Comparison(comparator, term(left), term(right)))
    return expr.rebuilt(E, tuple(_renamed(F, terms) for F in expr.children(E)))
