"""The clauses of the meaning one by one, what was decided where the paper is open, and the interpreter's limits."""

from itertools import product
from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, DERIVED, MASKED, ExpressionProfile, case
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import matches_of, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream
from proofs_tests.unit.semantics.event_expressions.examples import found, history


@pytest.mark.parametrize(
    ("query", "S", "expected"),
    [
        ("NULL", "a b", []),
        ("!NULL", "start a", [0, 1]),
        ("any", "start a b", [1, 2]),
        ("a", "a b a", [0, 2]),
        ("a and first", "a b a", [0]),
        ("relative(a, first)", "b a b b a", [2]),  # the last a has nothing after it
        ("relative(a, b and !before(c))", "a c b a b", [4]),
        ("relative+(sequence(a, b))", "a b c a b", [1, 4]),
        ("relative+(<2> a)", "a a a a a a", [1, 3, 5]),  # counted anew after each one
        ("relative(a, prior(b, b))", "b a b b", [3]),
        ("prior(a, prior(b, b))", "b a b b", [2, 3]),  # the first b may be before the a: they overlap
        ("sequence(a, b)", "a x b a b", [4]),
        ("sequence(a, b, a)", "a b a b a", [2, 4]),
        ("!x | sequence(a, b)", "a x b a b", [2, 4]),
        ("a | first | first", "b a a", [1]),
        ("<2> a", "a b a a", [2]),
        ("<3> a", "a b a", []),
        ("every <2> a", "a a a b a a", [1, 4]),
        ("b / a", "b a b a b", [2, 4]),
        ("first / a", "b a b a b", [2]),
        ("first /+ a", "b a b a b", [2, 4]),
        ("!NULL /+ a", "b a b a a b", [2, 5]),  # the delimiters are in none of the parts
        ("<2> b /+ a", "a b a b b b", [4]),
        ("firstAfter(a, b, c)", "b a b b c b a b", [2, 3, 7]),
        ("firstAfter(a, any, NULL)", "a a b", [2]),  # an a begins anew, and is none of its own events
        ("firstAfter(a, b, b)", "a b b", [1]),
        ("before(a)", "b a b a", [2, 3]),
        ("happened(a)", "b a b", [1, 2]),
        ("prefix(<2> a)", "b a a b", [0, 1]),
        ("!prefix(first)", "b", [0]),  # E must take place at an event still to come
        ("prefix(a and b)", "a", []),
        ("prefix(a[n > 1 and n < 2])", "b", [0]),
        ("prefix(a[n > 1 and n < 1])", "b", []),
        ("relative(a, prefix(first))", "a b", []),
        ("a | prefix(b)", "a", [0]),  # what may come after the a in a history, not in one that a | makes
        ("b * a", "b b a b a", [2]),
        ("b * a", "a", [0]),
        ("a * a", "a a b a", [0, 1]),
    ],
)
def test_clauses(query: str, S: str, expected: list[int]) -> None:
    assert found(query, S) == expected


@pytest.mark.parametrize("query", ["!NULL", "!a", "!before(a)", "!prefix(a)", "exists x (!x)", "a(I) and I != 0 or !a"])
def test_the_empty_history_has_no_event(query: str) -> None:
    assert found(query, "") == []


@pytest.mark.parametrize(
    ("query", "S", "expected"),
    [
        ("first", "start a", [0]),
        ("relative(start, first)", "start a", [1]),
        ("!a", "start a", [0]),  # every other event, the start event too
        ("a and !prior(!a, a)", "start a", []),  # so that example 6 of section 2.4.1 needs a history without one
        ("!start | (a and !prior(!a, a))", "start a", [1]),
    ],
)
def test_the_start_event_is_an_event_that_any_leaves_out(query: str, S: str, expected: list[int]) -> None:
    assert found(query, S) == expected


def test_the_start_event_comes_first() -> None:
    with pytest.raises(InputError, match="event 1 is a start event"):
        found("a", "a start")


def test_masks() -> None:
    S = Stream([Event("w", {"n": 5}), Event("w", {"n": 2000}), Event("d", {"n": 3000}), Event("w")])
    assert found("w[n > 1000]", S) == [1]
    assert found("w[not n > 1000]", S) == [0, 3]


@pytest.mark.parametrize(
    ("query", "S", "expected"),
    [
        ("exists x (a = x)", "a b a", [0, 2]),
        ("exists x (relative(a = x, b) and prior(x, c))", "a b", []),
        ("exists x (prior(a = x, b) and !prior(prior(x, a), any))", "a a b a b", [1 + 1, 4]),
        ("exists x (b and !x)", "b", []),  # x is an event of the history up to b
        ("exists x (b and !x)", "b a", []),  # of which those to come are none
        ("exists x (b and !x)", "a b", [1]),
        ("exists x (relative(a = x, x))", "a a", []),  # x is not after itself
        ("relative(a, exists x (b = x))", "b a b", [2]),
        ("exists x (prior(a = x, exists x (prior(b = x, x or c))))", "a b c", [2]),
        ("exists x (x | first)", "a b", [0, 1]),
        ("prior(a = x, b) and !relative(x, c)", "a c a b", [3]),
    ],
)
def test_correlation_variables(query: str, S: str, expected: list[int]) -> None:
    assert found(query, S) == expected


COMPLETE = "complete(I) := prior(order(I, Q), perform(I, A)); "


@pytest.mark.parametrize(
    ("query", "S", "expected"),
    [
        (COMPLETE + "complete(I)", "order(1,5) perform(2,5) order(2,7) perform(2,6) perform(1,1)", [3, 4]),
        (COMPLETE + "complete(2)", "order(1,5) perform(2,5) order(2,7) perform(2,6) perform(1,1)", [3]),
        ("prior(order(I, Q), perform(I, A))", "order(1,5) perform(2,5) perform(1,6)", [2]),
        ("prior(order(I, Q), perform(I, Q))", "order(1,5) perform(1,6) perform(1,5)", [2]),
        ("prior(order(I, Q), perform(J, A)) and I != J", "order(1,5) perform(1,6) perform(2,5)", [2]),
        ("prior(order(I, Q), perform(J, A)) and Q < A", "order(1,5) perform(1,5) perform(2,6)", [2]),
        ("order(I, Q) and I = 1", "order(1,5) order(2,5)", [0]),
        ("order(I, Q) and I = Q", "order(1,5) order(2,2)", [1]),
        ("!order(1, Q)", "order(1,5) order(2,5) x", [1, 2]),  # for no Q
        ("perform(I, A) and !before(order(I, Q))", "order(1,5) perform(1,5) perform(2,5)", [2]),
        # a value counts from its first event on
        ("b and !before(order(I, Q)) and I > 0", "b order(1,5)", []),
        # a name's own variables are its own: for no Q, and not: for some Q not
        ("same(I) := prior(order(I, Q), perform(I, Q)); perform(I, A) and !same(I)",
         "order(1,5) order(1,6) perform(1,6) perform(1,7)", [3]),
        ("fed(I) := order(I, Q) = x and !prior(order(I, Q), x); fed(1)", "order(2,1) order(1,1) order(1,1)", [1]),
    ],
)  # fmt: skip
def test_attribute_variables(query: str, S: str, expected: list[int]) -> None:
    assert found(query, S) == expected


def test_arguments_stand_for_attributes_in_the_order_of_the_schema() -> None:
    schema = Schema({"hire": {"time": "timestamp", "name": "string", "age": "int"}, "fire": {"name": "string"}})
    S = Stream([Event("fire", {"name": "smith"}), Event("hire", {"age": 27, "name": "smith"})], schema)
    assert found("rehire(X) := sequence(fire(X), hire(X, Y)); rehire(X)", S) == [1]
    assert found("hire('smith', 27)", S) == [1]
    assert found("hire(27)", S) == []


def test_true_is_not_one() -> None:
    S = Stream([Event("a", {"n": 1}), Event("b", {"n": True})])
    assert found("prior(a(X), b(X))", S) == []
    assert found("prior(a(X), b(Y)) and X != Y", S) == []  # they cannot be compared
    S = Stream([Event("a", {"n": 1}), Event("b", {"n": True}), Event("c", {"n": True})])
    assert found("prior(a(X) or b(X), c(X))", S) == [2]


def test_matches() -> None:
    assert matches_of(parse("a"), history("a b a")) == [Match(0, (0,)), Match(2, (2,))]


@pytest.mark.parametrize("profile", [DERIVED, MASKED, CORRELATED], ids=["derived", "masked", "correlated"])
def test_whether_it_takes_place_is_known_at_the_event(profile: ExpressionProfile) -> None:
    """Events to come change nothing."""
    rng = Random(7)
    for _ in range(150):
        E, S = case(rng, profile, 8, 6)
        whole = takes_place(E, S)
        for n in range(len(S)):
            assert takes_place(E, Stream(S[:n], S.schema)) == {e for e in whole if e < n}, f"{show(E)} over {S.events}"


WITHIN_TWO_EVENTS = [
    "sequence(a, b)",
    "sequence(first and a, b, a)",
    "a and first",
    "<2> a",
    "a * b",
    "relative(a, b) and !before(b)",
    "!b | sequence(a, a)",
    "first /+ a",
    "exists x (relative(a = x, b and !prior(x, c)))",
    "b and !prefix(b and !before(a))",
]


def test_prefix_is_some_history_to_come() -> None:
    """All futures of up to two events are tried; the expressions need no more of them."""
    futures = [f for n in (1, 2) for f in product("abc", repeat=n)]
    for text in WITHIN_TWO_EVENTS:
        E = parse(text)
        for past in (t for n in (1, 2) for t in product("abc", repeat=n)):
            reachable = any(len(past + f) - 1 in takes_place(E, Stream(map(Event, past + f))) for f in futures)
            possible = len(past) - 1 in takes_place(expr.Prefix(E), Stream(map(Event, past)))
            assert possible == reachable, f"{text} over {past}"


def test_prefix_knows_masks_that_compare_an_attribute_with_values() -> None:
    S = Stream([Event("a", {"n": 1, "s": "x"})])
    for mask, possible in [
        ("n < 1", True),
        ("n > 1", True),
        ("s != true", True),
        ("n > 1 and n < 1.5", True),
        ("n > 1 and n <= 1", False),
        ("n in {1, 2} and not n in range(0, 1)", True),
        ("n in {1, 2} and not n in range(0, 3)", False),
        ("s > 'a' and s < 'b'", True),
        ("s > 'b' and s < 'a'", False),
        ("s != true and s != false", False),
        ("not s = true and not s = false", True),
    ]:
        assert found(f"prefix(a[{mask}])", S) == ([0] if possible else []), mask
    with pytest.raises(Unsupported, match="which events may come"):
        found("prefix(a[n > m])", S)


def test_prefix_of_a_name_with_variables_of_its_own_is_refused() -> None:
    with pytest.raises(Unsupported, match="for each value of I"):
        found("f := prior(order(I), perform(I)); prefix(f)", "order(1)")
    assert found("f(I) := prior(order(I), perform(I)); <1> f(1) | prefix(first)", "order(1) perform(1)") == []
    assert found("f(I) := prior(order(I), first); prefix(f(1)) and order(1)", "order(1)") == []


@pytest.mark.parametrize(
    ("query", "length"),
    [
        ("relative(a, relative(a, a))", 300),
        ("exists x (exists y (prior(a = x, a = y)))", 200),
        ("prior(order(I), order(I))", 300),
    ],
)
def test_what_blows_up_stops_with_a_typed_error(query: str, length: int) -> None:
    S = Stream([Event("a"), *(Event("order", {"n": n}) for n in range(length)), *map(Event, "a" * length)])
    with pytest.raises(BudgetExceeded):
        takes_place(parse(query), S, Budget(valuations=50_000))


def test_a_part_is_applied_once_whatever_names_that_it_does_not_have_stand_for() -> None:
    """relative(b, b) does not depend on x; were it applied for each x, 88 events would be needed."""
    E, S = parse("exists x (a = x and relative(b, b))"), history("a a b b")
    assert takes_place(E, S, Budget(valuations=49)) == frozenset()
    with pytest.raises(BudgetExceeded):
        takes_place(E, S, Budget(valuations=48))


def test_a_part_that_took_half_of_the_budget_is_not_named() -> None:
    """Of 6 events the whole and each operand take 3."""
    with pytest.raises(BudgetExceeded, match=r"^a and b: expressions") as caught:
        takes_place(parse("a and b"), history("a b c"), Budget(valuations=6))
    assert caught.value.span == Span(0, 7)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("a or relative(relative+(any), !relative(any, b))", "relative(relative+(any), !relative(any, b))"),
        ("b and exists x (exists y (relative(a = x, b = y)))", "exists y (relative(a = x, b = y))"),
        ("p := relative(any, any, b); a or p", "relative(any, any, b)"),
    ],
)
def test_the_error_names_the_innermost_part_that_took_most_of_the_budget(query: str, part: str) -> None:
    with pytest.raises(BudgetExceeded) as error:
        takes_place(parse(query), history("a b " * 10), Budget(valuations=300))
    assert error.value.message.startswith(f"{part}: ")
    assert error.value.span is not None
    assert query[error.value.span.start : error.value.span.end] == part


def test_without_such_a_part_the_error_is_about_the_whole() -> None:
    S = Stream([Event("a", {"n": n}) for n in range(20)])
    with pytest.raises(BudgetExceeded) as error:
        takes_place(parse("prior(a(I), a(I))"), S, Budget(valuations=300))
    assert (error.value.span.start, error.value.span.end) == (0, 17) if error.value.span else False


def test_a_prefix_that_tells_too_many_histories_apart_stops() -> None:
    with pytest.raises(BudgetExceeded, match="prefix distinguishes more than 100"):
        takes_place(parse("prefix(<500> a)"), history("a"), Budget(states=100))


def test_a_name_that_explodes_stops() -> None:
    doubling = "; ".join(f"n{i + 1} := n{i} or n{i}" for i in range(40))
    text = f"n0 := a; {doubling}; "
    assert found(text + "n40", "a b") == [0]
    with pytest.raises(BudgetExceeded, match="without its names"):
        takes_place(parse(text + "prefix(n40)"), history("a b"), Budget(states=1000))
