"""The plain definition of prefix: which histories to come it looks at, that they are enough, and that it stops."""

from itertools import product
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.model import DFA
from cerify.automata.exploration import classes
from cerify.equivalence.generate.expressions import CORRELATED, EVERYTHING, MASKED, ExpressionProfile, case, expression
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.continuations import distinguished_pasts, letters
from cerify.semantics.event_expressions.denote import NOTHING_BOUND, bound, value
from cerify.semantics.event_expressions.interpreter import ExpressionInterpreter, compatible, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.unit.semantics.event_expressions.examples import history

PLAIN = Budget(valuations=20_000)


def futures(A: DFA) -> int:
    """The number of states that differ in what may follow; whether a state itself accepts does not count."""
    steps = [
        {(a, A.step(q, a) in A.accepting): A.step(q, a) for a in A.alphabet.coming} for q in range(len(A.following))
    ]
    return len(set(classes(steps, [True] * len(steps))))


@pytest.mark.parametrize("profile", [MASKED, CORRELATED], ids=["masked", "correlated"])
def test_no_more_pasts_are_distinguished_than_counted(profile: ExpressionProfile) -> None:
    """A count too small would end the search before an expression that needs more events takes place."""
    rng, equal = Random(13), 0
    for _ in range(250):
        E = expression(rng, profile, rng.randint(1, 7))
        least, counted = futures(compile_expression(E)), distinguished_pasts(E, {})
        assert least <= counted, show(E)
        equal += least == counted
    assert equal > 60  # it is often exact


@pytest.mark.parametrize(
    ("text", "pasts"),
    [
        ("a", 1), ("first", 2), ("<3> a", 4), ("every <3> a", 3), ("relative(a, first)", 4), ("prior(a, b, c)", 4),
        ("sequence(a, b)", 2), ("a / b", 2), ("a /+ b", 2), ("firstAfter(a, b, c)", 3), ("before(a)", 2), ("a * b", 2),
        ("exists x (prior(a = x, x))", 8), ("relative+(first)", 4), ("firstAfter(first, <3> a, before(b))", 34),
        ("prior(<3> a, first)", 16), ("every <3> first", 6), ("<3> first", 8), ("before(<3> a)", 5),
        ("<2> a * first", 7),
        ("<2> a / first", 5), ("<3> a and first", 8),
    ],
)  # fmt: skip
def test_pasts(text: str, pasts: int) -> None:
    assert distinguished_pasts(parse(text), {}) == pasts


def test_a_name_counts_as_what_it_stands_for() -> None:
    E = parse("p(I) := <3> order(I, Q); q := p(1) or x = x; q and p(2)")
    assert isinstance(E, expr.Let)
    assert distinguished_pasts(E.body, {d.name: d for d in E.definitions}) == (4 << 4) * 4


def test_an_argument_that_is_of_no_attribute_is_refused_at_its_place() -> None:
    E = parse("b or a(1, 2)")
    with pytest.raises(Unsupported, match="which attribute of a is the argument 2") as caught:
        letters(E, NOTHING_BOUND, {}, {"a": ("n",)})
    assert caught.value.span == Span(5, 12)
    assert takes_place(E, Stream([Event("a", {"n": 1}), Event("b")])) == frozenset({1})


def test_every_event_is_like_a_letter() -> None:
    E = parse("a(I, 2) or a[n > 1] or b(I)[m = 'x'] or c(J)")
    order = {"a": ("n", "k"), "b": ("n", "m"), "c": ("n",)}
    b = bound(NOTHING_BOUND, "I", value(5))
    tests = [F for F in expr.subexpressions(E) if isinstance(F, expr.Primitive)]

    def outcome(event: Event) -> tuple[bool, ...]:
        known = ExpressionInterpreter(E, Stream([event]))
        known.order = order
        return tuple(bool(known.meaning(F, (0,), b)) for F in tests)

    listed = {outcome(event) for event in letters(E, b, {}, order)}
    values = {"n": (0, 1, 2, 5, 6, "x", None), "k": (1, 2, True, None), "m": ("x", "y", None)}
    for T, choice in product("abcd", product(*values.values())):
        event = Event(T, {name: v for name, v in zip(values, choice, strict=True) if v is not None})
        assert outcome(event) in listed, event


@pytest.mark.parametrize(
    ("text", "S", "expected"),
    [
        ("prefix(<3> a)", "b a a a", [0, 1, 2]),
        ("prefix(first)", "a b", []),
        ("prefix(sequence(first and a, b))", "a c", [0]),
        ("prefix(prefix(<2> a) and <1> a)", "b a", [0]),
        ("!prefix(a and b) | prefix(a)", "a b", [0, 1]),
        ("exists x (a = x and prefix(relative(x, b)))", "b a", [1]),
        ("p := a = x or x; prefix(p and <2> any)", "c c", [0]),
    ],
)
def test_prefix_by_its_definition(text: str, S: str, expected: list[int]) -> None:
    for plain in (False, True):
        assert sorted(takes_place(parse(text), history(S), plain=plain)) == expected


@pytest.mark.parametrize("profile", [MASKED, CORRELATED, EVERYTHING], ids=["masked", "correlated", "everything"])
def test_plain_and_with_what_saves_time(profile: ExpressionProfile) -> None:
    """The campaign does the same on many more cases."""
    rng, compared, prefix = Random(3), 0, 0
    for _ in range(150):
        E, S = case(rng, profile, 6, 5)
        try:
            plain = compatible(E, S, PLAIN, plain=True)
        except (BudgetExceeded, Unsupported):
            continue
        compared += 1
        prefix += any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E))
        assert compatible(E, S) == plain, f"{show(E)} over {S.events}"
    assert compared > 100
    assert prefix > 5


def test_where_the_budget_ends_before_the_search_there_is_no_answer() -> None:
    E = parse("prefix(<9> a and b)")
    with pytest.raises(BudgetExceeded, match="more than 500 events"):
        takes_place(E, history("a"), Budget(valuations=500), plain=True)
    assert takes_place(E, history("a")) == frozenset()


def test_the_states_of_prefix_are_counted() -> None:
    E, S = parse("prefix(<5> a)"), history("a")
    assert takes_place(E, S, Budget(states=4)) == frozenset({0})
    with pytest.raises(BudgetExceeded, match="prefix distinguishes more than 3 histories"):
        takes_place(E, S, Budget(states=3))
