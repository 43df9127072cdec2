"""Event expressions as text: what is parsed and printed, and what is well-formed."""

from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, MASKED, ExpressionProfile, expression
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError, Span
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import problems, require_typed, type_errors
from cerify.semantics.event_expressions.denote import find_scope_variables, free_variables, places
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import brief, show
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Attribute, Comparison, Constant
from proofs_tests.support import sampled
from proofs_tests.unit.semantics import expression_cases as examples

# ---- parse ----
# From text to tree and back, and what is said about text that is no expression.

a, b, c = map(expr.Primitive, "abc")
I, Q = Attribute("I"), Attribute("Q")
a_I, a_IQ = expr.Primitive("a", ("I",)), expr.Primitive("a", ("I", "Q"))


@pytest.mark.parametrize(
    ("text", "E"),
    [
        ("NULL", expr.Null()),
        ("a[n > 5 and not n = 7]", None),
        ("a and b or c", expr.ExpressionOr(expr.ExpressionAnd(a, b), c)),
        ("a ^ b ∨ c ∧ a", expr.ExpressionOr(expr.ExpressionAnd(a, b), expr.ExpressionAnd(c, a))),
        ("a or b or c", expr.ExpressionOr(expr.ExpressionOr(a, b), c)),
        ("!a and not b", expr.ExpressionAnd(expr.ExpressionNot(a), expr.ExpressionNot(b))),
        ("a and b | c", expr.ExpressionAnd(a, expr.Pipe(b, c))),
        ("a | b /+ c", expr.Pipe(a, expr.ExpressionBetween(b, c))),
        ("a / b /+ c", expr.ExpressionBetween(expr.After(a, b), c)),
        ("a / (b /+ c)", expr.After(a, expr.ExpressionBetween(b, c))),
        ("a * b / c", expr.After(expr.ExpressionSeries(a, b), c)),
        ("!<2> a", expr.ExpressionNot(expr.Nth(2, a))),
        ("every <3> <2> a * b", expr.ExpressionSeries(expr.EveryNth(3, expr.Nth(2, a)), b)),
        ("!a = x", expr.Equated(expr.ExpressionNot(a), "x")),
        ("a * b = x", expr.ExpressionSeries(a, expr.Equated(b, "x"))),
        ("relative +(a)", expr.RelativePlus(a)),
        ("rel+(a)", expr.RelativePlus(a)),
        ("relative(a, b, c)", expr.Relative((a, b, c))),
        ("prior(a, sequence(b, c))", expr.Prior((a, expr.Sequence((b, c))))),
        ("firstAfter(a, b, c)", expr.FirstAfter(a, b, c)),
        ("prefix(before(a) and happened(b))", expr.Prefix(expr.ExpressionAnd(expr.Before(a), expr.Happened(b)))),
        (
            "any and first and start",
            expr.ExpressionAnd(expr.ExpressionAnd(expr.AnyEvent(), expr.First()), expr.Primitive("start")),
        ),
        (
            "exists x (prior(a = x, x))",
            expr.Exists("x", expr.Prior((expr.Equated(a, "x"), expr.ExpressionVariable("x")))),
        ),
        ("exists a (b = a) and a", expr.ExpressionAnd(expr.Exists("a", expr.Equated(b, "a")), a)),
        ("prior(a = x, x)", expr.Prior((expr.Equated(a, "x"), expr.ExpressionVariable("x")))),
        ("a(I, -40, 'x') and I != Q", None),
        ("a(I) and I = Q", expr.ExpressionAnd(a_I, expr.Constraint(Comparison("=", I, Q)))),
        ("a(I, Q) ^ I ≠ Q", expr.ExpressionAnd(a_IQ, expr.Constraint(Comparison("!=", I, Q)))),
        ("a(I) and I >= 7", expr.ExpressionAnd(a_I, expr.Constraint(Comparison(">=", I, Constant(7))))),
        (
            "x := a; x or b",
            expr.Let((expr.ExpressionDefinition("x", (), a),), expr.ExpressionOr(expr.ExpressionNamed("x"), b)),
        ),
        (
            "f(I) := a(I); g(Q) := f(Q) or b",
            expr.Let(
                (
                    expr.ExpressionDefinition("f", ("I",), a_I),
                    expr.ExpressionDefinition("g", ("Q",), expr.ExpressionOr(expr.ExpressionNamed("f", ("Q",)), b)),
                ),
                expr.ExpressionNamed("g", ("Q",)),
            ),
        ),
    ],
)
def test_trees(text: str, E: expr.Expression | None) -> None:
    assert E is None or parse(text) == E
    assert parse(show(parse(text))) == parse(text)


@pytest.mark.parametrize(
    "text",
    [
        *(query for query, _, _ in examples.EXAMPLES.values()),
        *(examples.NESTED_CUT, examples.PIPED_CUT, examples.CORRELATED_CUT),
        *(examples.E, examples.E_PRIME, examples.E_SECOND, examples.E_NO_D),
        *(examples.END_OF_POINT, examples.NO_RETURN, examples.END_BY_PREFIX, examples.AIRPORT + "ELAB(I)"),
    ],
)
def test_the_expressions_of_the_paper_survive_being_shown(text: str) -> None:
    assert parse(show(parse(text))) == parse(text)


@pytest.mark.parametrize("number", sampled([100, 300], [100]))
@pytest.mark.parametrize("profile", [MASKED, CORRELATED])
def test_random_expressions_survive_being_shown(profile: ExpressionProfile, number: int) -> None:
    rng = Random(5)
    for _ in range(number):
        E = expression(rng, profile, rng.randint(1, 20))
        assert parse(show(E)) == E


def test_parentheses_are_written_where_needed_only() -> None:
    assert show(parse("((a) and (b)) or (!(!(c)))")) == "a and b or !!c"
    assert show(parse("!(a and b) | (c | (a /+ b))")) == "!(a and b) | (c | a /+ b)"


@pytest.mark.parametrize(
    ("text", "start", "end", "words"),
    [
        ("", 0, 0, "the query is empty"),
        ("a and", 5, 5, "ends too early"),
        ("a b", 2, 3, "'b' is not expected"),
        ("prior(a)", 7, 8, "expected"),
        ("<0> a", 1, 2, "a whole number of at least 1"),
        ("<1.5> a", 1, 4, "a whole number of at least 1"),
        ("exists x a = x", 9, 10, "expected ("),
        ("b or order(I) = 5", 5, 17, "two attribute variables"),
        ("a[x.n > 5]", 1, 10, "an attribute stands alone"),
        ("a[type = 'b']", 2, 6, "not an attribute"),
        ("a[n > 'x]", 6, 7, "the string does not end"),
        ("y := x; x := a; y", 5, 6, "before its definition; move the definition"),
        ("y := a or y; y", 10, 11, "before its definition; move the definition"),
        ("y := a; y := b; y", 8, 14, "defined twice"),
        ("y(I, I) := a(I); y(1, 2)", 0, 15, "the same name"),
        ("y(I) := a(I); y", 14, 15, "has 1 parameters"),
        ("y(I) := a(I); y(1)[n > 5]", 14, 25, "cannot have a condition"),
        ("y(1) := a(I); y", 0, 4, "must be names"),
        ("y[n > 5] := a; y", 0, 8, "a definition cannot have a condition"),
        ("exists x (prior(a = x, x[n > 1]))", 23, 31, "cannot have arguments or a condition in brackets"),
        ("a(x) and exists x (b = x)", 9, 25, "cannot be both an event and the value"),
    ],
)
def test_errors_know_their_place(text: str, start: int, end: int, words: str) -> None:
    with pytest.raises(ParseError, match=words.replace("(", r"\(")) as caught:
        parse(text)
    assert caught.value.span is not None
    assert (caught.value.span.start, caught.value.span.end) == (start, end)
    assert caught.value.text == text


@pytest.mark.parametrize(
    "text",
    [
        "!" * 10_000 + "a",
        "prior(" * 1_000 + "a" + ", b)" * 1_000,
        "prior(" * 200 + "a" + ", b)" * 200,
        "(a | " * 1_000 + "b" + ")" * 1_000,
        "x := " + "relative(a, " * 1_000 + "b" + ")" * 1_000 + "; x",
    ],
)
@pytest.mark.slow
def test_deep_nesting_is_a_typed_error(text: str) -> None:
    with pytest.raises(BudgetExceeded, match="nested more than 200 operators"):
        parse(text)


def test_parentheses_alone_do_not_nest() -> None:
    assert parse("(" * 10_000 + "a" + ")" * 10_000) == a
    with pytest.raises(ParseError, match="ends too early"):
        parse("(" * 10_000 + "a")


def test_what_nests_as_deeply_as_allowed_has_a_meaning() -> None:
    assert examples.found("!" * 199 + "a", "a b") == [1]
    assert examples.found("prior(" * 198 + "a" + ", b)" * 198, "b a " + "b " * 200) == [199, 200, 201]


def test_every_operand_is_a_subexpression_in_the_order_of_the_text() -> None:
    """Both readings of variables go through these; an operand that is left out would be left out of both."""
    E = parse("p := a; q := b or c; firstAfter(d, prior(e, f, g), p or h)")
    assert [F.type for F in expr.subexpressions(E) if isinstance(F, expr.Primitive)] == list("abcdefgh")
    assert list(map(show, expr.children(E))) == ["a", "b or c", "firstAfter(d, prior(e, f, g), p or h)"]
    for F in expr.subexpressions(E):
        assert expr.rebuilt(F, expr.children(F)) == F


@pytest.mark.parametrize(
    "text",
    ["a /+ b / c", "a / b / c", "a / (b / c)", "a /+ b /+ c", "a /+ (b /+ c)", "a / (b /+ c)", "a / b /+ c",
     "a | b | c",
     "a | (b | c)", "a * b * c", "(a or b) and c", "a or b and c", "!a and b", "!(a and b)", "<2> <3> a", "<2> a / b",
     "<2> (a / b)", "every <2> <3> a", "(a | b) * c"],
)  # fmt: skip
def test_text_with_no_more_parentheses_than_needed_stays(text: str) -> None:
    assert show(parse(text)) == text


def test_a_text_of_200_characters_is_shown_whole_in_an_error_and_a_longer_one_cut() -> None:
    whole = " or ".join(["a" * 17] * 9) + " or " + "b" * 11
    assert len(whole) == 200
    assert brief(parse(whole)) == whole
    assert len(brief(parse(whole + "b"))) < 200


def test_operands_and_bodies_of_definitions_are_replaced_in_their_order() -> None:
    E = parse("p := a; q := b and p; q or p")
    below = expr.children(E)
    assert [show(F) for F in below] == ["a", "b and p", "q or p"]
    assert expr.rebuilt(E, below) == E
    assert show(expr.rebuilt(E, (parse("c"), *below[1:]))) == "p := c; q := b and p; q or p"
    negated = expr.rebuilt(parse("!a"), (parse("b"),))
    assert (show(negated), negated.span) == ("!b", Span(0, 2))


def test_operators_events_and_names_are_counted() -> None:
    assert [expr.size(parse(text)) for text in ("a", "a and !b", "prior(a, b, c)", "p := a; p or b")] == [1, 4, 4, 5]


# ---- wellformed ----
# The problems that are told to the user, and the variables that the checks go by.

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
