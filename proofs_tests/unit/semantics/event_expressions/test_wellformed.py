"""The problems that are told to the user, and the variables that the checks go by."""

import pytest

from cerify.semantics.errors import IllFormed
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import problems, require_typed, type_errors
from cerify.semantics.event_expressions.denote import find_scope_variables, free_variables, places
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Schema
from proofs_tests.unit.semantics.event_expressions import examples

SCHEMA = Schema(
    {
        "order": {"time": "timestamp", "account": "int", "quantity": "int"},
        "perform": {"account": "int", "note": "string", "done": "bool"},
        "a": {},
    }
)


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("prior(a = x, y = x)", "x"),
        ("prior(a = x, b = y)", "xy"),
        ("exists x (prior(a = x, b = y))", "y"),
        ("!(a = x) or exists x (x)", "x"),
        ("f := a = x; f", ""),
    ],
)
def test_free_correlation_variables(text: str, free: str) -> None:
    E = parse(text)
    assert free_variables(E.body if isinstance(E, expr.Let) else E) == set(free)


def test_the_attribute_variables_that_have_a_value() -> None:
    assert find_scope_variables(parse("prior(order(I, Q), perform(I, A))"), ()) == ("I",)
    assert find_scope_variables(parse("prior(order(I, Q), perform(I, A))"), ("I",)) == ()
    assert find_scope_variables(parse("order(I, Q) and Q > 5"), ()) == ("Q",)
    E = parse("f(X, Y) := prior(order(X), perform(Y)); f(I, 3)")
    assert isinstance(E, expr.Let)
    assert find_scope_variables(E.body, ()) == ("I",)
    assert places("I", E.body, {"f": E.definitions[0]}) == {("order", 0)}


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("prior(a = x, b)", ["unbound"]),
        ("exists x (prior(a = x, b))", []),
        ("exists x (a)", ["unbound"]),
        ("exists x (relative+(prior(a = x, b)))", ["unsafe"]),
        ("relative+(exists x (prior(a = x, b)))", []),
        ("exists x (prior(a = x, b) = x)", ["unsafe"]),
        ("order(I) and X < 3", ["unbound"]),
        ("f := prior(a = x, b); f", ["unbound"]),
        ("big(I) := order(I) and I > 5; big(I)", []),
        ("big(I) := a and I > 5; big(I)", ["unbound"]),
        ("big(I) := a and I > 5; big(7)", []),
    ],
)
def test_variables(text: str, rules: list[str]) -> None:
    assert [problem.rule for problem in problems(parse(text))] == rules


@pytest.mark.parametrize(
    "text",
    [
        examples.NESTED_CUT,
        examples.PIPED_CUT,
        examples.E,
        examples.E_NO_D,
        examples.END_BY_PREFIX,
        examples.AIRPORT + "ELAB(I)",
    ],
)
def test_nothing_is_wrong_with_the_examples_of_the_paper(text: str) -> None:
    assert problems(parse(text)) == []


def test_but_for_a_variable_that_is_printed_free() -> None:
    assert [(p.rule, p.message.split()[0]) for p in problems(parse(examples.CORRELATED_CUT))] == [("unbound", "d3")]


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("b", "event_type"),
        ("before(b) and a", "event_type"),
        ("order[price > 5]", "attribute"),
        ("order(I, Q, R)", "attribute"),
        ("order(I, Q, R) and R > 3", "attribute"),
        ("order('x')", "kind"),
        ("order[quantity = 'x']", "kind"),
        ("prior(order(I), perform(X, I))", "kind"),
        ("order(I) and I != 'x'", "kind"),
        ("order(I) and perform(J, N) and I = N", "kind"),
        ("perform(I, N, D) and D < true", "order"),
        ("f(X) := perform(I, X); order(I) and f(I)", "kind"),
    ],
)
def test_type_errors(text: str, rule: str) -> None:
    assert problems(parse(text)) == []
    assert [problem.rule for problem in type_errors(parse(text), SCHEMA)] == [rule]
    with pytest.raises(IllFormed):
        require_typed(parse(text), SCHEMA)


@pytest.mark.parametrize(
    "text",
    [
        "start or any or NULL",
        "order[time > timestamp '2013-01-31T14:05:00Z']",
        "order(7, 5) and order(I, Q) and I < Q and Q != 3",
        "perform(I, N, D) and D = true",
        "prior(a = x, a)",
    ],
)
def test_no_type_errors(text: str) -> None:
    assert type_errors(parse(text), SCHEMA) == []


def test_problems_know_their_place() -> None:
    (problem,) = problems(parse("a or order('x')"), SCHEMA)
    assert problem.span is not None
    assert (problem.span.start, problem.span.end) == (5, 15)
