"""The two readings of variables, of the definition and of the automata, give the same on all expressions."""

from random import Random

import pytest

from cerify.automata.dfa.scopes import argument_places, order_in, ranging_variables, unbound_variables, variable_names
from cerify.equivalence.generate.expressions import CORRELATED, EVERYTHING, VALUED, ExpressionProfile, expression
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import find_scope_variables, free_variables, names_in, places, places_of
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Schema, Stream

TEXTS = [
    "order(I, I)",
    "order(I, Q) and Q > 5",
    "p(I) := order(I, Q); q(J, K) := p(K) or perform(J, 1); q(1, X) and X != 2",
    "p(I) := order(I, Q); q(J, K) := p(K) or perform(J, 1); prior(q(I, I), perform(I, A))",
    "p(I) := prior(order(I, Q), perform(I, Q)); p(3)",
    "p(I) := exists x (prior(order(I) = x, x)) or x = y; p(Z)",
    "exists x (prior(a = x, b = y)) and exists y (a = y) and x",
    "a = x",
    "exists x (a)",
]


def agree(E: expr.Expression) -> None:
    definitions = {d.name: d for d in E.definitions} if isinstance(E, expr.Let) else {}
    scopes = [(d.body, d.parameters) for d in definitions.values()]
    for body, parameters in (*scopes, (E.body if isinstance(E, expr.Let) else E, ())):
        assert set(unbound_variables(body)) == free_variables(body)
        assert ranging_variables(body, parameters) == find_scope_variables(body, parameters)
        assert variable_names(body) == names_in(body)
        found = argument_places(body, definitions)
        assert all(found.get(X, frozenset()) == places(X, body, definitions) for X in names_in(body))


@pytest.mark.parametrize("text", TEXTS)
def test_of_chosen_texts(text: str) -> None:
    agree(parse(text))


@pytest.mark.parametrize("profile", [CORRELATED, VALUED, EVERYTHING], ids=["correlated", "valued", "everything"])
def test_of_random_expressions(profile: ExpressionProfile) -> None:
    rng = Random(5)
    for _ in range(300):
        agree(expression(rng, profile, rng.randint(1, 15)))


def test_the_order_of_arguments() -> None:
    schema = Schema({"a": {"m": "int", "time": "timestamp", "n": "int"}, "b": {}})
    events = [Event("a", {"n": 1}), Event("b"), Event("a", {"time": 3, "m": 2, "n": 1})]
    for S in (Stream([], schema), Stream(events)):
        assert dict(order_in(S)) == dict(places_of(S))
    assert order_in(Stream([], schema)) == {"a": ("m", "n"), "b": ()}
    assert order_in(Stream(events)) == {"a": ("n", "m"), "b": ()}


def test_a_variable_alone() -> None:
    """A text has one only where exists or = names it too."""
    agree(expr.ExpressionVariable("x"))
    assert variable_names(expr.ExpressionVariable("x")) == {"x"}
