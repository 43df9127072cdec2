"""SASE+ in CEL and as event expressions: each rule, what is refused, and where NXT is skip till next match."""

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random

import pytest

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.nfab.compile import compile_query
from cerify.equivalence.generate.sase import PLAIN, SaseProfile, case
from cerify.equivalence.rewrite.translate_sase import require_written, sase_to_cel, sase_to_expression
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.event_expressions.syntax import show as show_expression
from cerify.semantics.events import Bindings, Event, Stream
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import SaseQuery
from proofs_tests.claims.sase_by_cel import bindings as bindings_sase_by_cel
from proofs_tests.claims.sase_by_cel import formula_for
from proofs_tests.claims.sase_regular import Memory, Regular
from proofs_tests.support import sampled
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import events, query

# ---- sase ----
#

EVERY = Reading(last_kleene="every", window="closed")
LETTERS = ("A1/k", "A2/k", "B1/k", "B2/k")


def matches_in_cel(phi: cel.Formula, q: sase.SaseQuery, S: Stream) -> set[Bindings]:
    """What the variables of the query hold in the valuations of a formula, at all positions."""
    return {
        tuple((k.variable, tuple(sorted(p for A, p in mu if k.variable == A))) for k in q.pattern)
        for n in range(len(S))
        for mu in interpreter.valuations(phi, S, n)
    }


def ends(found: set[Bindings]) -> set[int]:
    return {max(p for _, positions in M for p in positions) for M in found}


def translated(q: sase.SaseQuery, reading: Reading) -> tuple[cel.Formula | None, expr.Expression | None]:
    try:
        phi = sase_to_cel(q, reading)
    except Unsupported:
        return None, None
    try:
        return phi, sase_to_expression(q, reading)
    except Unsupported:
        return phi, None


def check(q: sase.SaseQuery, S: Stream, reading: Reading) -> tuple[bool, bool]:
    """Whether there is a formula, and an expression; they have to say what the query says."""
    phi, E = translated(q, reading)
    if phi is not None:
        expected = bindings(q, S, reading)
        assert matches_in_cel(phi, q, S) == expected, (q, show(phi), S)
        if E is not None:
            assert takes_place(E, S) == ends(expected), (q, show_expression(E), S)
    return phi is not None, E is not None


@pytest.mark.parametrize(
    ("text", "formula", "expression"),
    [
        (
            "SEQ(A a, B b) WHERE skip_till_any_match(a, b) { }",
            "A IN a ; B IN b",
            "relative(A, B)",
        ),
        (
            "SEQ(A a, B b) WHERE strict_contiguity(a, b) { b.x = 1 }",
            "A IN a : (B FILTER B.x = 1) IN b",
            "sequence(A, B[x = 1])",
        ),
        (
            "SEQ(A a, B b) WHERE skip_till_next_match(a, b) { }",
            "A IN a ; (B UNLESS (B ; B)) IN b",
            "relative(A, B and !relative(B, B))",
        ),
        ("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { }", "A+ IN a ; B IN b", "relative(A, B)"),
        ("SEQ(A+ a[], B b) WHERE strict_contiguity(a[], b) { }", "(A:+) IN a : B IN b", "sequence(A, B)"),
        (
            "SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { [y] and b.x > a[1].x }",
            None,
            None,
        ),
        ("SEQ(A a, B b) WHERE partition_contiguity(a, b) { }", "A IN a : B IN b", "sequence(A, B)"),
        ("SEQ(A a, B b) WHERE partition_contiguity(a, b) { [y] }", "(A IN a : B IN b) PER KEY [y]", None),
        (
            "SEQ(A a, B b) WHERE skip_till_next_match(a, b) { [x] and [y] }",
            "(A IN a ; (B UNLESS (B ; B)) IN b) PER KEY [x, y]",
            None,
        ),
    ],
)
def test_each_strategy_has_its_operator(text: str, formula: str | None, expression: str | None) -> None:
    q = query(text)
    if formula is None:
        assert isinstance(sase_to_cel(q), cel.PartitionBy)
    else:
        assert sase_to_cel(q) == parse_cel(formula)
    if expression is None:
        with pytest.raises(Unsupported):
            sase_to_expression(q)
    else:
        assert sase_to_expression(q) == parse_expression(expression)
    for S in small.streams(3):
        assert matches_in_cel(sase_to_cel(q), q, S) == bindings(q, S)


READINGS = sampled([DECIDED, EVERY], [DECIDED])  # random queries have both


def small_queries(every: int) -> Iterator[sase.SaseQuery]:
    for n, step in ((1, 7), (2, every), (3, every * 41)):
        for text in small.texts(n, True, False, ("", "WITHIN 2 seconds"), step=step):
            if "!" not in text:
                yield query(text)


@pytest.mark.parametrize("every", sampled([481, 241], [481]))
@pytest.mark.parametrize("reading", READINGS)
def test_small_queries_on_all_small_streams(reading: Reading, every: int) -> None:
    streams = list(small.streams(3))
    in_cel = expressions = 0
    for q in small_queries(every):
        for S in streams:
            yes, too = check(q, S, reading)
            in_cel, expressions = in_cel + yes, expressions + too
            if not yes:
                break
    assert in_cel > 72_300 / every
    assert expressions > 72_300 / every


def test_random_queries() -> None:
    rng, profile = Random(5), SaseProfile(cut=0, strategies=PLAIN.strategies[:1] + PLAIN.strategies[2:], related=0.4)
    found = [check(*case(rng, profile, 5, 6), rng.choice((DECIDED, EVERY))) for _ in range(250)]
    assert sum(yes for yes, _ in found) > 50
    assert sum(too for _, too in found) > 15


def separated(q: sase.SaseQuery, E: expr.Expression, reading: Reading) -> tuple[int, ...] | None:
    """A shortest word over the letters on which an expression and the automaton of a query say different things of its
    last event; None if there is none, on all streams."""
    letters = tuple(events(" ".join(LETTERS)))
    N, D = Regular(compile_query(q, reading), letters), compile_expression(E)
    types = [D.alphabet.type_of(letter) for letter in letters]
    pending, seen = [((), frozenset(N.initial()), 0)], set()
    for word, memories, state in pending:
        for a in range(len(letters)):
            # a match may begin at any event
            now, following = memories | N.initial(), D.step(state, types[a])
            if N.ends(now, a) != (following in D.accepting):
                return (*word, a)
            pair = (forgotten(N.after(now, a)), following)
            if pair not in seen:
                seen.add(pair)
                pending.append(((*word, a), *pair))
    return None


def forgotten(memories: Iterable[Memory]) -> frozenset[Memory]:
    """The memories without what conditions on single events do not look at: all but the last event."""
    return frozenset((state, tuple((v, letters[-1:]) for v, letters in kept[-1:])) for state, kept in memories)


@pytest.mark.parametrize("every", sampled([166, 83], [166]))
@pytest.mark.parametrize("reading", READINGS)
def test_expressions_on_all_streams_by_the_two_automata(reading: Reading, every: int) -> None:
    decided = 0
    for q in small_queries(every):
        _, E = translated(q, reading)
        if E is not None and q.within is None:
            assert separated(q, E, reading) is None, show_expression(E)
            decided += 1
    assert decided > 249 / every


def test_the_two_automata_tell_a_wrong_expression() -> None:
    q = query("SEQ(A a, B b) WHERE skip_till_next_match(a, b) { }")
    assert separated(q, parse_expression("relative(A, B)"), DECIDED) is not None


# --- NXT --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "formula", "stream"),
    [
        ("SEQ(A a) WHERE skip_till_next_match(a) { }", "NXT(A IN a)", None),
        ("SEQ(A a, B b) WHERE skip_till_next_match(a, b) { }", "NXT(A IN a ; B IN b)", "A A B"),
        ("SEQ(A+ a[], B b) WHERE skip_till_next_match(a[], b) { }", "NXT(A+ IN a ; B IN b)", "A A B"),
        ("SEQ(A a, A b) WHERE skip_till_next_match(a, b) { }", "NXT(A IN a ; A IN b)", "A A A"),
    ],
)
def test_nxt_and_skip_till_next_match_part_at_the_second_beginning(text: str, formula: str, stream: str | None) -> None:
    q, phi = query(text), parse_cel(formula)
    assert first_difference(q, phi, 5) == stream


def first_difference(q: sase.SaseQuery, phi: cel.Formula, longest: int) -> str | None:
    """The first stream of A and B, the shorter ones first, on which the two differ."""
    for n in range(1, longest + 1):
        for word in product("AB", repeat=n):
            S = events(" ".join(word))
            if matches_in_cel(phi, q, S) != bindings(q, S):
                return " ".join(word)
    return None


@pytest.mark.parametrize(
    ("condition", "filter_"),
    [
        ("b.x >= a.x or b.x = 1", "b.x >= a.x OR b.x = 1"),
        ("not b.x = 1 or b.x > a.x or not b.y = 'a'", "b[not x = 1] OR b.x > a.x OR b[not y = 'a']"),
        ("b.x = b.y or b.x = a.x", "b.x = b.y OR b.x = a.x"),
    ],
)
def test_a_disjunction_across_events_has_a_text(condition: str, filter_: str) -> None:
    phi = sase_to_cel(query(f"SEQ(A a, B b) WHERE skip_till_any_match(a, b) {{ {condition} }}"))
    assert show(phi) == f"A IN a ; B IN b FILTER {filter_}"
    assert parse_cel(show(require_written(phi))) == phi


TIMES: list[list[object]] = [
    [0, 300, 599, 600, 601],
    [0.0, 300.5, 599.9999999999, 600.0, 600.0000001],
    [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=s) for s in (0, 300, 599.999999, 600, 600.000001)],
]


@pytest.mark.parametrize("times", TIMES, ids=["integers", "floats", "timestamps"])
@pytest.mark.parametrize("strategy", ["skip_till_any_match", "skip_till_next_match", "strict_contiguity"])
@pytest.mark.parametrize("pattern", ["A a, B b", "A+ a[], B b", "A a, B+ b[]"])
def test_a_window_is_open_on_times_of_every_kind(pattern: str, strategy: str, times: list[object]) -> None:
    """The text, read again, has the matches of the query on both sides of the edge."""
    names = "a[], b" if "a[]" in pattern else "a, b[]" if "b[]" in pattern else "a, b"
    q = query(f"SEQ({pattern}) WHERE {strategy}({names}) {{ }} WITHIN 10 minutes")
    reading = Reading(last_kleene="every")
    try:
        phi = parse_cel(show(sase_to_cel(q, reading)))
    except Unsupported:
        assert "+" in pattern
        return
    for chosen in (times, *([times[0], end] for end in times[1:])):
        S = Stream([Event("B" if p else "A", {"time": t}) for p, t in enumerate(chosen)])
        assert matches_in_cel(phi, q, S) == bindings(q, S, reading)
        assert bool(bindings(q, S, reading)) == (len(chosen) > 2 or chosen[1] in times[:3])


# --- what is refused --------------------------------------------------------------------------------------------------

REFUSED = [
    ("SEQ(A a, B b) WHERE skip_till_next_match(a, b) { b.x > a.x }", "UNLESS"),
    ("SEQ(A a, B b, A c) WHERE partition_contiguity(a, b) { [x] } strict_contiguity(c) { }", "PER KEY"),
    ("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[]!, b) { }", "`!`"),
    ("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }", "last place"),
    ("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { a[i].x > a[i-1].x }", "neighbours"),
    ("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { count(a[]) = 2 }", "aggregate"),
    ("SEQ(A a, ~B b, A c) WHERE skip_till_any_match(a, b, c) { }", "negated"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_what_is_refused_says_why_and_where(text: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why) as refused:
        sase_to_cel(query(text))
    assert refused.value.span is not None


def test_a_negated_comparison_of_events_has_a_meaning_and_no_text() -> None:
    q = query("SEQ(A a, B b) WHERE skip_till_any_match(a, b) { not b.x = a.x or b.x = 1 }")
    with pytest.raises(Unsupported, match="cannot write `not` before a comparison of two events") as refused:
        require_written(sase_to_cel(q))
    assert refused.value.span is not None
    for S in (events("A1 B2 B1"), events("A2 A1 B1")):
        assert check(q, S, DECIDED)[0]


def test_what_is_refused_under_one_reading_only() -> None:
    last, first = query("SEQ(A+ a[]) WHERE strict_contiguity(a[]) { }"), "SEQ(A+ a[], B b) WHERE "
    assert sase_to_cel(last, EVERY) == parse_cel("A:+ IN a")
    neither = Reading(kleene_skips="neither")
    assert sase_to_cel(query(first + "skip_till_any_match(a[], b) { }"), neither) == parse_cel("A+ IN a ; B IN b")
    with pytest.raises(Unsupported, match="kleene_skips=own"):
        sase_to_cel(query(first + "skip_till_next_match(a[], b) { }"), neither)


def test_streams_that_justify_refusals() -> None:
    """What the obvious formula would say in place of the one that is refused."""
    for text, formula, stream in [
        (REFUSED[0][0], "(A IN a ; (B UNLESS (B ; B)) IN b) FILTER b.x > a.x", "A1 B1 B2"),
        (REFUSED[1][0], "(A IN a : B IN b : A IN c) PER KEY [x]", "A1 B1 A2 A1"),
        (REFUSED[2][0], "A+ IN a ; B IN b", "A1 B1 A1 B1"),
        (REFUSED[3][0], "A:+ IN a", "A1 A1"),
        (REFUSED[4][0], "A+ IN a ; B IN b", "A1 A1 B1"),
    ]:
        q, S = query(text), events(stream)
        assert matches_in_cel(parse_cel(formula), q, S) != bindings(q, S), text


# ---- sase by cel ----
# Which streams a query block with a window is evaluated over by the evaluators of CEL.

TEXT = "PATTERN SEQ(A a, B b) {} RETURN a.x"


def block(rest: str) -> SaseQuery:
    q = parse(TEXT.format(rest))
    assert isinstance(q, SaseQuery)
    return q


def timed(*times: int | str) -> Stream:
    return Stream([Event(R, {"time": time}) for R, time in zip("AB", times, strict=True)])


def test_times_of_a_window_are_numbers_that_ascend() -> None:
    q = block("WITHIN 3 seconds")
    assert bindings_sase_by_cel(q, timed(1, 3)) == {(("a", (0,)), ("b", (1,)))}
    assert bindings_sase_by_cel(q, timed(1, 9)) == set()
    for S in (timed(4, 1), timed("1", "2")):
        with pytest.raises(Unsupported, match="ascend"):
            formula_for(q, S)


def test_without_a_window_times_are_not_looked_at() -> None:
    assert bindings_sase_by_cel(block(""), timed(4, 1)) == {(("a", (0,)), ("b", (1,)))}
