"""From text to tree and back, and what is said about text that is no expression."""

from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, MASKED, Profile, expression
from cerify.semantics.errors import BudgetExceeded, ParseError
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.parse import parse
from cerify.semantics.gehani.show import show
from cerify.semantics.predicates import Attribute, Comparison, Constant
from proofs_tests.unit.semantics.gehani import examples

a, b, c = map(ev.Primitive, "abc")
I, Q = Attribute("I"), Attribute("Q")
a_I, a_IQ = ev.Primitive("a", ("I",)), ev.Primitive("a", ("I", "Q"))


@pytest.mark.parametrize(
    ("text", "E"),
    [
        ("NULL", ev.Null()),
        ("a[n > 5 and not n = 7]", None),
        ("a and b or c", ev.Or(ev.And(a, b), c)),
        ("a ^ b ∨ c ∧ a", ev.Or(ev.And(a, b), ev.And(c, a))),
        ("a or b or c", ev.Or(ev.Or(a, b), c)),
        ("!a and not b", ev.And(ev.Not(a), ev.Not(b))),
        ("a and b | c", ev.And(a, ev.Pipe(b, c))),
        ("a | b /+ c", ev.Pipe(a, ev.Between(b, c))),
        ("a / b /+ c", ev.Between(ev.After(a, b), c)),
        ("a / (b /+ c)", ev.After(a, ev.Between(b, c))),
        ("a * b / c", ev.After(ev.Series(a, b), c)),
        ("!<2> a", ev.Not(ev.Nth(2, a))),
        ("every <3> <2> a * b", ev.Series(ev.EveryNth(3, ev.Nth(2, a)), b)),
        ("!a = x", ev.Equated(ev.Not(a), "x")),
        ("a * b = x", ev.Series(a, ev.Equated(b, "x"))),
        ("relative +(a)", ev.RelativePlus(a)),
        ("rel+(a)", ev.RelativePlus(a)),
        ("relative(a, b, c)", ev.Relative((a, b, c))),
        ("prior(a, sequence(b, c))", ev.Prior((a, ev.Sequence((b, c))))),
        ("firstAfter(a, b, c)", ev.FirstAfter(a, b, c)),
        ("prefix(before(a) and happened(b))", ev.Prefix(ev.And(ev.Before(a), ev.Happened(b)))),
        ("any and first and start", ev.And(ev.And(ev.AnyEvent(), ev.First()), ev.Primitive("start"))),
        ("exists x (prior(a = x, x))", ev.Exists("x", ev.Prior((ev.Equated(a, "x"), ev.Variable("x"))))),
        ("exists a (b = a) and a", ev.And(ev.Exists("a", ev.Equated(b, "a")), a)),
        ("prior(a = x, x)", ev.Prior((ev.Equated(a, "x"), ev.Variable("x")))),
        ("a(I, -40, 'x') and I != Q", None),
        ("a(I) and I = Q", ev.And(a_I, ev.Constraint(Comparison("=", I, Q)))),
        ("a(I, Q) ^ I ≠ Q", ev.And(a_IQ, ev.Constraint(Comparison("!=", I, Q)))),
        ("a(I) and I >= 7", ev.And(a_I, ev.Constraint(Comparison(">=", I, Constant(7))))),
        ("x := a; x or b", ev.Let((ev.Definition("x", (), a),), ev.Or(ev.Named("x"), b))),
        (
            "f(I) := a(I); g(Q) := f(Q) or b",
            ev.Let(
                (
                    ev.Definition("f", ("I",), a_I),
                    ev.Definition("g", ("Q",), ev.Or(ev.Named("f", ("Q",)), b)),
                ),
                ev.Named("g", ("Q",)),
            ),
        ),
    ],
)  # fmt: skip
def test_trees(text: str, E: ev.Expression | None) -> None:
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


@pytest.mark.parametrize("profile", [MASKED, CORRELATED])
def test_random_expressions_survive_being_shown(profile: Profile) -> None:
    rng = Random(5)
    for _ in range(300):
        E = expression(rng, profile, rng.randint(1, 20))
        assert parse(show(E)) == E


def test_parentheses_are_written_where_needed_only() -> None:
    assert show(parse("((a) and (b)) or (!(!(c)))")) == "a and b or !!c"
    assert show(parse("!(a and b) | (c | (a /+ b))")) == "!(a and b) | (c | a /+ b)"


@pytest.mark.parametrize(
    ("text", "start", "end", "words"),
    [
        ("", 0, 0, "ends too early"),
        ("a and", 5, 5, "ends too early"),
        ("a b", 2, 3, "'b' is not expected"),
        ("prior(a)", 7, 8, "expected"),
        ("<0> a", 1, 2, "counted from <1>"),
        ("<1.5> a", 1, 4, "counted from <1>"),
        ("exists x a = x", 9, 10, "expected ("),
        ("b or order(I) = 5", 5, 17, "only variables are compared"),
        ("a[x.n > 5]", 1, 10, "an attribute stands alone"),
        ("a[type = 'b']", 2, 6, "no attribute"),
        ("a[n > 'x]", 6, 7, "a string that does not end"),
        ("y := x; x := a; y", 5, 6, "define it before its use"),
        ("y := a or y; y", 10, 11, "define it before its use"),
        ("y := a; y := b; y", 8, 14, "defined twice"),
        ("y(I, I) := a(I); y(1, 2)", 0, 15, "the same name"),
        ("y(I) := a(I); y", 14, 15, "has 1 parameters"),
        ("y(I) := a(I); y(1)[n > 5]", 14, 25, "has no mask"),
        ("y(1) := a(I); y", 0, 4, "are names"),
        ("y[n > 5] := a; y", 0, 8, "has no mask"),
        ("exists x (prior(a = x, x[n > 1]))", 23, 31, "neither arguments nor a mask"),
        ("a(x) and exists x (b = x)", 9, 25, "cannot stand for"),
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
        "(a | " * 1_000 + "b" + ")" * 1_000,
        "x := " + "relative(a, " * 1_000 + "b" + ")" * 1_000 + "; x",
    ],
)
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
