"""Occurrence tuples: one wherever the meaning has the event, and what appendix 1 says of each, but for its slips."""

from dataclasses import replace
from itertools import islice, pairwise, product
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.model import DFA
from cerify.automata.exploration import classes
from cerify.equivalence.generate.expressions import (
    BASE,
    CORRELATED,
    EVERYTHING,
    MASKED,
    PROFILES,
    ExpressionProfile,
    case,
    expression,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import NOTHING_BOUND, bound, value
from cerify.semantics.event_expressions.interpreter import (
    ExpressionInterpreter,
    compatible,
    distinguished_pasts,
    letters,
    takes_place,
)
from cerify.semantics.event_expressions.occurrences import Occurrence, Occurrences, occurrence_tuple, occurrences
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import printed_vldb92
from proofs_tests.claims.printed_vldb92 import MENDED, PRINTED, Reading
from proofs_tests.support import sampled
from proofs_tests.unit.semantics import expression_cases as examples
from proofs_tests.unit.semantics.expression_cases import AIRPORT, found, history

# ---- occurrences ----
#


def with_occurrence(E: expr.Expression, S: Stream) -> list[int]:
    return [e for e in range(len(S)) if next(occurrences(E, S, e), None) is not None]


@pytest.mark.parametrize("cases", sampled([80, 160], [80]))
@pytest.mark.parametrize("name", PROFILES)
@pytest.mark.slow
def test_there_is_one_wherever_the_meaning_has_the_event(name: str, cases: int) -> None:
    rng = Random(4)
    somewhere = 0
    for _ in range(cases):
        E, S = case(rng, PROFILES[name], 8, 7)
        expected = sorted(takes_place(E, S))
        assert with_occurrence(E, S) == expected, f"{show(E)} over {S.events}"
        somewhere += bool(expected)
    assert somewhere > cases / 4


@pytest.mark.parametrize("operator", [name for name, _ in CORRELATED.operators])
@pytest.mark.slow
def test_for_each_operator(operator: str) -> None:
    rng = Random(9)
    profile = replace(PROFILES["correlated"], operators=((operator, 2), ("and", 1), ("not", 1), ("relative", 1)))
    somewhere = 0
    for _ in range(60):
        E, S = case(rng, profile, 6, 6)
        expected = sorted(takes_place(E, S))
        assert with_occurrence(E, S) == expected, f"{show(E)} over {S.events}"
        somewhere += bool(expected)
    assert somewhere > 12


@pytest.mark.parametrize("text", [
    "prior(order(I, Q), perform(I, A))",
    "prior(order(I, Q), perform(J, A)) and I != J",
    "perform(I, A) and !before(order(I, Q))",
    "late(I) := perform(I, A) and !before(order(I, Q)); late(1) or late(2)",
    "same(I) := prior(order(I, Q), perform(I, Q)); !same(1)",
    "exists x (prior(order(I, Q) = x, perform(I, Q)))",
    "perform and !before(order(I, Q)) and I > 0 or order(I, Q) and I > 0",
    "relative(order, prior(perform, perform = x) and !prior(order, x))",
])  # fmt: skip
@pytest.mark.slow
def test_variables_of_both_sorts(text: str) -> None:
    S = history("order(1,40) perform(2,40) order(2,7) perform(1,40) order(1,40) perform(2,7) perform(3,7)")
    expected = found(text, S)
    assert expected
    assert with_occurrence(parse(text), S) == expected


@pytest.mark.slow
def test_the_examples_of_the_paper() -> None:
    for text, h, expected in examples.EXAMPLES.values():
        assert with_occurrence(parse(text), history(h)) == expected
    for text in (examples.E, examples.E_PRIME, examples.E_SECOND):
        assert with_occurrence(parse(text), history(examples.H3)) == found(text, examples.H3)
    landing = history("EA(1) EA(2) EB(1) LA(1) LB(2)")
    text = AIRPORT + "ELAB(1) or ELAB(2)"
    assert with_occurrence(parse(text), landing) == found(text, landing)


# --- what is in a tuple -----------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_the_tuples_of_the_papers_sub_expressions() -> None:
    """Section 4: of relative(a, relative+(a)) the sub-expressions are itself, a, relative+(a), and the a inside."""
    tuples = [occurrence_tuple(o) for o in occurrences(parse("relative(a, relative+(a))"), history("a a a"), 2)]

    def round_(f: int, e: int) -> object:
        return f, ((f, e),)

    assert tuples == [
        (0, ((0, 2), (0, 0), (1, (round_(1, 2),)), None)),
        (0, ((0, 2), (0, 0), (1, (round_(1, 1), round_(2, 2))), None)),
        (0, ((0, 2), (0, 1), (2, (round_(2, 2),)), None)),
    ]


@pytest.mark.slow
def test_variables_are_bound_in_the_tree() -> None:
    (found_,) = occurrences(parse("exists x (prior(b = x, c) and !relative(x, prior(a, c)))"), history("b a b c"), 3)
    assert found_.bound == {("x", ("position", 2))}
    (free,) = occurrences(parse("prior(order(I), perform(I))"), history("order(1) order(2) perform(2)"), 2)
    assert free.bound == {("I", ("number", 2))}
    (named,) = occurrences(parse("p(I) := prior(a(I), b(I)); p(7)"), history("a(7) a(8) b(7)"), 2)
    assert named.bound == {("I", ("number", 7))}
    assert [show(part.expression) for part in named.parts if part is not None] == ["prior(a(I), b(I))"]


def flaw(o: Occurrence, S: Stream) -> str | None:
    """What in the clauses of the appendix, as mended, an occurrence of a base expression breaks."""
    parts = [part for part in o.parts if part is not None]
    for part in parts:
        if (below := flaw(part, S)) is not None:
            return below
    match o.expression:
        case expr.Primitive(T):
            right = S[o.at].type == T
        case expr.AnyEvent():
            right = S[o.at].type != expr.START
        case expr.First():
            right = o.at == o.start
        case expr.Relative():
            chained = all(G.start == F.at + 1 for F, G in pairwise(parts))
            right = chained and parts[0].start == o.start and parts[-1].at == o.at
            right = right and [part.expression for part in parts] == list(o.expression.parts)
        case expr.RelativePlus(F):
            chained = all(G.start == F.at + 1 for F, G in pairwise(parts))
            right = chained and parts[0].start == o.start and parts[-1].at == o.at
            right = right and all(part.expression == F for part in parts)
        case expr.ExpressionAnd(F, G):
            right = [(p.expression, p.start, p.at) for p in parts] == [(F, o.start, o.at), (G, o.start, o.at)]
        case expr.ExpressionNot(F):
            right = not parts and o.at - o.start not in takes_place(F, S.part(o.start, o.at - o.start + 1))
        case _:
            right = False
    return None if right else f"{show(o.expression)} from {o.start} at {o.at}"


def count(E: expr.Expression, S: Stream, f: int, e: int) -> int:
    """How many occurrences there are, by the same clauses."""
    if f > e:
        return 0
    match E:
        case expr.ExpressionAnd(F, G):
            return count(F, S, f, e) * count(G, S, f, e)
        case expr.Relative(parts) if len(parts) > 2:
            return count(expr.Relative((expr.Relative(parts[:-1]), parts[-1])), S, f, e)
        case expr.Relative((F, G)):
            return sum(count(F, S, f, d) * count(G, S, d + 1, e) for d in range(f, e))
        case expr.RelativePlus(F):
            return count(F, S, f, e) + sum(count(F, S, f, d) * count(E, S, d + 1, e) for d in range(f, e))
        case _:
            return int(e - f in takes_place(E, S.part(f, e - f + 1)))


@pytest.mark.slow
def test_every_tuple_keeps_the_clauses_and_none_is_left_out() -> None:
    rng = Random(8)
    several = 0
    for _ in range(250):
        E, S = case(rng, BASE, 8, 6)
        for e in range(len(S)):
            listed = list(occurrences(E, S, e))
            assert [flaw(o, S) for o in listed] == [None] * len(listed), f"{show(E)} over {S.events}"
            assert len(set(listed)) == len(listed) == count(E, S, 0, e), f"{show(E)} over {S.events}"
            several += len(listed) > 1
    assert several > 40


@pytest.mark.slow
def test_they_are_found_one_by_one() -> None:
    """There are two to the power of 98 of them."""
    listed = list(islice(occurrences(parse("relative+(any)"), history("a " * 100), 99), 50))
    assert len(set(listed)) == 50
    assert [len(o.parts) for o in listed[:3]] == [1, 2, 2]


@pytest.mark.parametrize("rounds", sampled([150, 400], [150]))
@pytest.mark.slow
def test_many_rounds_and_deep_expressions(rounds: int) -> None:
    last = list(islice(occurrences(parse("relative+(a and first)"), history("a " * rounds), rounds - 1), 2))
    assert [len(o.parts) for o in last] == [rounds]
    deep = expr.Primitive("a")
    for _ in range(3000):
        deep = expr.ExpressionNot(deep)  # type: ignore[assignment]
    with pytest.raises(BudgetExceeded, match="nested too deeply"):
        next(occurrences(deep, history("a"), 0))
    with pytest.raises(BudgetExceeded, match="more than 30 events"):
        next(occurrences(parse("relative(a, relative(a, a))"), history("a " * 9), 8, Budget(valuations=30)))


# --- the appendix as printed ------------------------------------------------------------------------------------------

BASE_LEAVES = [expr.Null(), expr.Primitive("a"), expr.Primitive("b")]


def smallest(reading: Reading) -> tuple[str, str] | None:
    """The first base expression, by size, and the shortest history on which the clauses differ from the meaning."""
    by_size: list[list[expr.Expression]] = [[], list(BASE_LEAVES)]
    for size in range(2, 5):
        below = by_size[size - 1]
        made: list[expr.Expression] = [*map(expr.ExpressionNot, below), *map(expr.RelativePlus, below)]
        for i in range(1, size - 1):
            for F, G in product(by_size[i], by_size[size - 1 - i]):
                made += [expr.ExpressionAnd(F, G), expr.Relative((F, G))]
        by_size.append(made)
    for E in (E for group in by_size for E in group):
        for length in range(1, 4):
            for types in product("ab", repeat=length):
                S = history(" ".join(types))
                if printed_vldb92.takes_place(E, S, reading) != takes_place(E, S):
                    return show(E), " ".join(types)
    return None


@pytest.mark.parametrize(("reading", "witness"), [
    (PRINTED, ("a", "a a")),
    (Reading(starts_earlier=False, effective=True), ("a", "a a")),
    (Reading(starts_earlier=True, effective=False), ("a and relative+(a)", "a")),
    (MENDED, None),
])  # fmt: skip
@pytest.mark.slow
def test_where_the_appendix_as_printed_differs(reading: Reading, witness: tuple[str, str] | None) -> None:
    assert smallest(reading) == witness


@pytest.mark.slow
def test_the_mended_clauses_are_the_meaning() -> None:
    rng = Random(6)
    for _ in range(300):
        E, S = case(rng, PROFILES["base"], 8, 7)
        if any(isinstance(F, expr.AnyEvent | expr.First) or len(expr.children(F)) > 2 for F in expr.subexpressions(E)):
            continue
        assert printed_vldb92.takes_place(E, S, MENDED) == takes_place(E, S), f"{show(E)} over {S.events}"


@pytest.mark.slow
def test_events_are_those_of_the_class() -> None:
    known = Occurrences(parse("prior(a, b)"), history("a b c b"))
    assert known.events(known.whole, known.history) == {1, 3}


# ---- continuations ----
# The plain definition of prefix: which histories to come it looks at, that they are enough, and that it stops.

PLAIN = Budget(valuations=20_000)


def futures(A: DFA) -> int:
    """The number of states that differ in what may follow; whether a state itself accepts does not count."""
    steps = [
        {(a, A.step(q, a) in A.accepting): A.step(q, a) for a in A.alphabet.coming} for q in range(len(A.following))
    ]
    return len(set(classes(steps, [True] * len(steps))))


@pytest.mark.parametrize("profile", [MASKED, CORRELATED], ids=["masked", "correlated"])
@pytest.mark.slow
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
    with pytest.raises(Unsupported, match="argument 2 of a is unknown") as caught:
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
