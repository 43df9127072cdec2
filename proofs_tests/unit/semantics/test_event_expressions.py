"""The clauses of the meaning one by one, what was decided where the paper is open, and the interpreter's limits."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import product
from random import Random

import pytest

from cerify.equivalence.generate.expressions import CORRELATED, DERIVED, MASKED, STARTED, ExpressionProfile, case
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import ANY, NOTHING_BOUND, definition, expanded
from cerify.semantics.event_expressions.interpreter import (
    FIRST_TIME,
    LAST_TIME,
    ExpressionLetter,
    Machine,
    events_to_come,
    matches_of,
    takes_place,
)
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.predicates import (
    Anything,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OneOf,
    Predicate,
    holds,
)
from cerify.semantics.values import Value
from proofs_tests.support import sampled, stream
from proofs_tests.unit.semantics import expression_cases as examples
from proofs_tests.unit.semantics.expression_cases import EXAMPLES, found, history

# ---- denote ----
#


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
    with pytest.raises(Unsupported, match="f has infinitely many values of I; make them parameters"):
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
    with pytest.raises(BudgetExceeded, match="with its names written out"):
        takes_place(parse(text + "prefix(n40)"), history("a b"), Budget(states=1000))


# ---- interpreter ----
# The interpreter of event expressions looks at the clock.


def test_no_expression_is_applied_when_the_time_is_over() -> None:
    E, S = parse("prior(a, b)"), stream("a b")
    assert takes_place(E, S) == {1}
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        takes_place(E, S)


# ---- derived ----
# Each derived operator means what its definition means; as printed, with any, but for the start event.

OPERANDS = [parse(text) for text in ("a", "b", "!a", "first", "relative(a, b)", "!NULL", "start or b")]

OPERATORS: dict[str, tuple[int, Callable[..., expr.Expression]]] = {
    "or": (2, expr.ExpressionOr),
    "any": (0, expr.AnyEvent),
    "prior": (2, lambda *parts: expr.Prior(parts)),
    "prior of three": (3, lambda *parts: expr.Prior(parts)),
    "relative of three": (3, lambda *parts: expr.Relative(parts)),
    "sequence": (2, lambda *parts: expr.Sequence(parts)),
    "sequence of three": (3, lambda *parts: expr.Sequence(parts)),
    "first": (0, expr.First),
    "first of": (1, lambda E: expr.Nth(1, E)),
    "second of": (1, lambda E: expr.Nth(2, E)),
    "every": (1, lambda E: expr.EveryNth(1, E)),
    "every second": (1, lambda E: expr.EveryNth(2, E)),
    "after": (2, expr.After),
    "between": (2, expr.ExpressionBetween),
    "first_after": (3, expr.FirstAfter),
    "before": (1, expr.Before),
    "happened": (1, expr.Happened),
    "series": (2, expr.ExpressionSeries),
}


def histories(length: int, started: bool) -> Iterator[Stream]:
    """All histories of up to `length` events a and b, with and without a start event before them."""
    for n in range(length + 1):
        for types in product("ab", repeat=n):
            yield Stream(map(Event, types))
            if started:
                yield Stream(map(Event, ("start", *types)))


@pytest.mark.parametrize("length", sampled([2, 3], [2]))
@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.slow
def test_all_small_cases(name: str, length: int) -> None:
    arity, operator = OPERATORS[name]
    somewhere = 0
    for operands in product(OPERANDS if arity < 3 else OPERANDS[:4], repeat=arity):
        E = operator(*operands)
        F = definition(E)
        assert F is not None
        for S in histories(length + (arity < 2), started=True):
            expected = takes_place(E, S)
            somewhere += bool(expected)
            assert takes_place(F, S) == expected, f"{show(E)} over {S.events}"
    assert somewhere > 0


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.slow
def test_as_printed_where_no_event_is_the_start(name: str) -> None:
    arity, operator = OPERATORS[name]
    for operands in product(OPERANDS[: 5 if arity < 3 else 3], repeat=arity):
        E = operator(*operands)
        F = definition(E, ANY)
        assert F is not None
        for S in histories(3, started=False):
            assert takes_place(F, S) == takes_place(E, S), f"{show(E)} over {S.events}"


@pytest.mark.parametrize(
    ("query", "S", "meant", "printed"),
    [
        ("first", "start a", [0], [0, 1]),
        ("<1> start", "start", [0], []),
        ("every <1> start", "start", [0], []),
        ("every <2> !NULL", "start a", [1], []),
    ],
)
@pytest.mark.slow
def test_as_printed_the_start_event_makes_a_difference(
    query: str, S: str, meant: list[int], printed: list[int]
) -> None:
    E = parse(query)
    assert found(query, S) == meant
    assert sorted(takes_place(expanded(E, ANY), history(S))) == printed


@pytest.mark.slow
def test_or_lacks_a_negation_as_printed() -> None:
    """E or F = !(E and !F) would be !E or F."""
    assert found("a or b", "a") == [0]
    assert found("!(a and !b)", "a") == []


@pytest.mark.parametrize("cases", sampled([80, 200], [80]))
@pytest.mark.parametrize(
    "profile", [DERIVED, MASKED, STARTED, CORRELATED], ids=["derived", "masked", "started", "correlated"]
)
@pytest.mark.slow
def test_random_cases_three_ways(profile: ExpressionProfile, cases: int) -> None:
    """The meaning, that of the expansion, and that of reading one event at a time."""
    rng = Random(11)
    somewhere = 0
    for _ in range(cases):
        E, S = case(rng, profile, 8, 6)
        expected = takes_place(E, S)
        somewhere += bool(expected)
        assert takes_place(expanded(E), S) == expected, f"{show(E)} over {S.events}"
        assert Machine(E, NOTHING_BOUND, {}, {}).events(tuple(map(ExpressionLetter, S))) == expected, (
            f"{show(E)} over {S.events}"
        )
    assert somewhere > 0.3 * cases


# ---- examples ----
# The examples of the paper on small histories.


@pytest.mark.parametrize("name", EXAMPLES)
def test_section_2_4_1(name: str) -> None:
    query, S, expected = EXAMPLES[name]
    assert found(query, S) == expected


@pytest.mark.parametrize("query", [examples.NESTED_CUT, examples.PIPED_CUT, examples.CORRELATED_CUT])
def test_three_cuts_with_no_raise_in_between(query: str) -> None:
    assert found(query, "D x D I D D x D D") == [7, 8]


@pytest.mark.slow
def test_the_three_ways_to_say_three_cuts_agree_on_all_small_histories() -> None:
    for length in range(7):
        for events in product("DIx" if length < 5 else "DI", repeat=length):
            S = " ".join(events)
            assert found(examples.NESTED_CUT, S) == found(examples.PIPED_CUT, S) == found(examples.CORRELATED_CUT, S), S


@pytest.mark.parametrize(
    ("query", "last"),
    [
        (examples.E, {examples.H1: False, examples.H2: False, examples.H3: True}),
        (examples.E_PRIME, {examples.H1: False, examples.H2: True, examples.H3: True}),
        (examples.E_SECOND, {examples.H1: False, examples.H2: False, examples.H3: False}),
    ],
)
def test_what_a_correlation_variable_changes(query: str, last: dict[str, bool]) -> None:
    """Section 5: whether E, E' and E'' take place at the last event of h1, h2 and h3."""
    assert {S: len(S.split()) - 1 in found(query, S) for S in last} == last


def test_the_second_example_of_section_5() -> None:
    assert found(examples.E_NO_D, "a b d c a b c") == [6]
    assert found(examples.E_NO_D, "a b c d c a c") == [2]  # the c just after d: nothing is before it but d itself


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("s1 front h2 front h1 front", []),
        ("s1 wall front", [1]),  # a bad serve: the side wall first
        ("s1 front h2 floor front", [3, 4]),  # a bad hit, and then the front wall after the floor
        ("s1 front h2 wall front floor h1 front", []),
        ("s1 front floor floor floor", [3]),  # nobody returned the ball; only the first bounce too many counts
        ("s1 front floor wall floor", [4]),
        ("s1 front front", [2]),
    ],
)
def test_the_end_of_a_point(S: str, expected: list[int]) -> None:
    """Section 7.1, the disjunction of the three ways in which a point ends."""
    assert found(examples.END_OF_POINT, S) == expected


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("s1 front h2 front h1 front", []),
        ("s1 front floor h2 wall front floor h1 front h2 front", []),
        ("s1 front h2 floor", [3]),
        ("s1 front floor floor floor", [3, 4]),  # every event from the end of the point on
        ("s1 front front", [2]),
        ("s1 front h1", [2]),  # the wrong player: the other expression does not see it
        ("s1 wall front", []),  # a bad serve is no serve here
    ],
)
def test_the_end_of_a_point_by_prefix(S: str, expected: list[int]) -> None:
    """Section 7.1, the point that can no longer go on; as printed it could always go on, by a rally yet to begin."""
    assert found(examples.END_BY_PREFIX, S) == expected
    assert found(examples.END_BY_PREFIX_AS_PRINTED, S) == []


def test_only_the_prefix_tells_the_players_apart() -> None:
    assert found(examples.END_OF_POINT, "s1 front h1 front") == []
    assert found(examples.END_BY_PREFIX, "s1 front h1 front") == [2, 3]


@pytest.mark.parametrize(
    ("event", "S", "expected"),
    [
        ("AT_A(7)", "x EA(7) x LA(7) x", [2]),
        ("AT_A(7)", "EA(7) LA(8) EA(7) x", [1, 3]),  # the event that announces a landing only starts the waiting
        ("LAST_B(7)", "EB(7) LB(8) LB(7) LB(7)", [2]),
        ("LAST_B(7)", "EB(7) LA(7) LB(7)", []),
        ("LAST_B(7)", "EB(7) LB(7) EB(7) x LB(7)", [1, 4]),
        ("UB(7)", "EA(7) x LB(7)", [2]),
        ("UB(7)", "EB(7) x LB(7)", []),
        ("ELAB(7)", "EA(7) LB(7)", [1]),
        ("ELAB(7)", "EA(7) LA(7) LB(7)", []),
        ("ELAB(I)", "EA(7) EA(8) LB(8) LA(7) LB(7)", [2]),
    ],
)
def test_the_airport(event: str, S: str, expected: list[int]) -> None:
    """Section 7.2."""
    assert found(examples.AIRPORT + event, S) == expected


# ---- alphabet ----
# Representatives of the events that may come have each outcome of each combination of masks.

X, Y = Attribute("x"), Attribute("y")


def outcomes(*tests: Predicate) -> set[tuple[bool, ...]]:
    events = [event for event in events_to_come({"a": tests}) if event.type == "a"]
    found = [tuple(holds(test, event) for test in tests) for event in events]
    assert len(found) == len(set(found))
    return set(found)


BOTH = {(True,), (False,)}
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    "test",
    [
        *(Comparison(sign, X, Constant(3)) for sign in ("<", "<=", ">", ">=", "=", "!=")),
        *(Comparison(sign, Constant(3), X) for sign in ("<", "<=", ">", ">=", "=", "!=")),
        *(Comparison(sign, X, Constant(value)) for sign in "<>=" for value in (0.5, "m", NOON)),
        Comparison("=", X, Constant(True)),
        OneOf(X, (1, 5)),
        *(Comparison(sign, X, Constant(value)) for sign in "<>" for value in (1e17, -1e17, 2**60)),
        Comparison("<", X, Constant(LAST_TIME)),
        Comparison(">", X, Constant(FIRST_TIME)),
        Both(Comparison(">", X, Constant(1.0)), Comparison("<", X, Constant(1.5))),
        Both(Comparison(">", X, Constant(1)), Comparison("<", X, Constant(1.5))),
        InRange(X, 1, 5),
        InRange(X, 2, 2),
        Not(Comparison(">", X, Constant(3))),
        Both(Comparison(">", X, Constant(3)), Comparison("<", X, Constant(5))),
        Both(Comparison(">", X, Constant(3)), Comparison("<", Y, Constant(5))),
        Either(Comparison("<", X, Constant(3)), Comparison("<", Y, Constant(5))),
    ],
)
def test_each_mask_is_true_of_one_and_false_of_another(test: Predicate) -> None:
    assert outcomes(test) == BOTH


def test_masks_are_combined_in_all_ways_that_there_are() -> None:
    low, high = Comparison(">", X, Constant(3)), Comparison(">", X, Constant(5))
    assert outcomes(low, high) == {(False, False), (True, False), (True, True)}
    other = Comparison("=", Y, Constant("m"))
    assert len(outcomes(low, high, other)) == 6
    assert outcomes(OneOf(X, (1, 2)), Comparison("=", X, Constant(1))) == {(False, False), (True, False), (True, True)}
    assert outcomes(InRange(X, 1, 3), InRange(X, 2, 4)) == {(a, b) for a in (True, False) for b in (True, False)}
    assert outcomes(Anything()) == {(True,)}


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (1, 2),
        (1, 3),
        (1, 9),
        (0.5, 1),
        (1, 1.5),
        ("k", "m"),
        (NOON, NOON.replace(hour=13)),
        (NOON, NOON.replace(microsecond=2)),
        (-3, 2.25),
        (2.0**53, 2.0**60),
        (-(2.0**60), 2.0**60),
        pytest.param(1.5, 10**400, id="1.5-beyond"),
        pytest.param(-(10**400), 1.5, id="beyond-1.5"),
        pytest.param(-(10**400), 10**400, id="beyond-beyond"),
    ],
)
def test_there_are_values_below_between_and_above(low: Value, high: Value) -> None:
    """Of no value and of one of another kind no comparison is true; 1 and 2 have one between them, of a float."""
    for sign in ("<", "<="):
        one, other = (Comparison(sign, X, Constant(value)) for value in (low, high))
        assert outcomes(one, other) == {(True, True), (False, True), (False, False)}
    one, other = (Comparison("<", X, Constant(low)), Comparison(">=", X, Constant(high)))
    assert outcomes(one, other) == {(True, False), (False, False), (False, True)}
    one, other = (Comparison(">", X, Constant(low)), Comparison("<", X, Constant(high)))
    assert outcomes(one, other) == {(True, True), (True, False), (False, True), (False, False)}
    assert (True, True) not in outcomes(Comparison("<", X, Constant(low)), Comparison(">", X, Constant(high)))


def test_there_is_an_event_of_another_type() -> None:
    types = [event.type for event in events_to_come({"a": (), "other": (), "other_": ()})]
    assert types == ["a", "other", "other_", "other__"]
    assert expr.START not in types


def test_what_is_not_a_comparison_with_a_value_is_refused_at_its_place() -> None:
    with pytest.raises(Unsupported, match="which events may come") as caught:
        events_to_come({"a": (Like(X, "m%"),)}, span=Span(2, 3))
    assert caught.value.span == Span(2, 3)


def test_combinations_are_counted() -> None:
    """Of each attribute: absent, the constant, below, and above."""
    tests = (Comparison("<", X, Constant(1)), Comparison("<", Y, Constant(1)))
    assert len(events_to_come({"a": tests}, Budget(states=16))) == 5
    with pytest.raises(BudgetExceeded, match="the masks of a distinguish more than 15 events"):
        events_to_come({"a": tests}, Budget(states=15))
