"""Every operation on complex event automata against its definition: on random automata, on all small streams.

What an operation should give is worked out here from the valuations of its operands' runs, on intervals where the
definition speaks of them, with the orders of the denotational interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from random import Random

import pytest

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, last, max_, next_, strict, within_events
from cerify.automata.cea.model import (
    CEA,
    UNMARKED,
    Transition,
    complement,
    conjunction,
    interleaving,
    intersect_automata,
    io_determinize,
    minimized,
    quotient,
    separate_start,
    single_variable,
    trim,
    union,
    unless,
)
from cerify.automata.cea.to_cel import star
from cerify.automata.exploration import classes
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel.denote import last_at_most, next_at_most, sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Event, Stream, Valuation
from cerify.semantics.predicates import Anything, Attribute, Comparison, Constant, Not, OfType, Predicate
from proofs_tests.claims import cea_runs
from proofs_tests.claims.printed_tods21 import star_valuations
from proofs_tests.support import sampled

POSITIVE = Comparison(">", Attribute("x"), Constant(0))
LABELS: tuple[tuple[Predicate, frozenset[str]], ...] = (
    (Anything(), UNMARKED),
    (OfType("A"), frozenset({"A"})),
    (OfType("A"), frozenset({"X"})),
    (Not(OfType("A")), UNMARKED),
    (POSITIVE, frozenset({"A", "X"})),
)
EVENTS = [Event("A", {"x": 0}), Event("A", {"x": 1}), Event("B", {"x": 1})]
STREAMS = [Stream(events) for events in product(EVENTS, repeat=3)]
WIDE = Budget(valuations=10**7)
Valuations = frozenset[Valuation]
Law = Callable[[CEA, Stream], Valuations]


def automata(seed: int, how_many: int) -> Iterator[CEA]:
    """Of three states; two of them may be initial or final, and some are of no use."""
    rng = Random(seed)
    edges = [Transition(p, P, L, q) for p, q in product(range(3), repeat=2) for P, L in LABELS]
    for _ in range(how_many):
        chosen = dict.fromkeys(rng.choices(edges, k=rng.randint(2, 8)))
        yield CEA(3, (*chosen,), frozenset(rng.sample(range(3), rng.randint(1, 2))), frozenset({rng.randrange(3), 2}))


@cache
def over(A: CEA, numbers: tuple[int, ...], i: int) -> Valuations:
    """The valuations of A over these of the events, the first of which is at position i."""
    found = cea_runs.valuations(A, Stream(EVENTS[e] for e in numbers), len(numbers) - 1, WIDE)
    return frozenset(frozenset((variable, p + i) for variable, p in mu) for mu in found)


def on(A: CEA, S: Stream, i: int, j: int) -> Valuations:
    """The valuations of A on the interval from i to j."""
    return over(A, tuple(EVENTS.index(event) for event in S[i : j + 1]), i)


def all_marked(S: Stream, n: int, marks: set[frozenset[str]]) -> Valuations:
    """All valuations that mark each event with one of the sets, or with none."""
    return frozenset(
        frozenset((variable, p) for p, L in enumerate(word) for variable in L)
        for word in product(marks | {UNMARKED}, repeat=n + 1)
    )


def kept(mus: Valuations, wins: Callable[[frozenset[int], frozenset[int]], bool]) -> Valuations:
    """Those that no other support wins over."""
    supports = set(map(sup, mus))
    return frozenset(mu for mu in mus if not any(wins(C, sup(mu)) for C in supports))


def spans(mu: Valuation) -> int:
    positions = sup(mu)
    return max(positions) - min(positions) + 1


UNARY: dict[str, tuple[Callable[[CEA], CEA], Callable[[Valuations], Valuations]]] = {
    "trim": (trim, lambda mus: mus),
    "quotient": (lambda A: quotient(union(A, A)), lambda mus: mus),
    "minimized": (minimized, lambda mus: mus),
    "io_determinize": (io_determinize, lambda mus: mus),
    "separate_start": (separate_start, lambda mus: mus),
    "single_variable": (
        single_variable,
        lambda mus: frozenset(frozenset(("•", p) for p in sup(mu)) for mu in mus),
    ),
    "remarked": (
        lambda A: A.remarked({L: L & {"X"} for L in A.marks}),
        lambda mus: frozenset(frozenset(pair for pair in mu if pair[0] == "X") for mu in mus),
    ),
    "strict": (strict, lambda mus: frozenset(mu for mu in mus if not mu or spans(mu) == len(sup(mu)))),
    "next": (
        lambda A: next_(A, Algebra(A.predicates)),
        lambda mus: kept(mus, lambda C, D: C != D and next_at_most(D, C)),
    ),
    "last": (
        lambda A: last(A, Algebra(A.predicates)),
        lambda mus: kept(mus, lambda C, D: C != D and last_at_most(D, C)),
    ),
    "max": (lambda A: max_(A, Algebra(A.predicates)), lambda mus: kept(mus, lambda C, D: C > D)),
    "within 1": (lambda A: within_events(A, 1, Budget()), lambda mus: frozenset(m for m in mus if m and spans(m) <= 1)),
    "within 2": (lambda A: within_events(A, 2, Budget()), lambda mus: frozenset(m for m in mus if m and spans(m) <= 2)),
}


@pytest.mark.parametrize("number", sampled([15, 40], [15]))
@pytest.mark.parametrize("name", UNARY)
def test_what_an_operation_on_one_automaton_gives(name: str, number: int) -> None:
    operation, law = UNARY[name]
    found = 0
    for A in automata(1, number):
        B = operation(A)
        for S in STREAMS:
            for n in range(3):
                expected = law(on(A, S, 0, n))
                assert on(B, S, 0, n) == expected, (A, S.events)
                found += bool(expected)
    assert found > 5 * number


def interleaved(A: CEA, B: CEA, S: Stream, n: int) -> Valuations:
    return frozenset(
        mu | nu for i1, j1, i2, j2 in denote.interleavings(0, n) for mu in on(A, S, i1, j1) for nu in on(B, S, i2, j2)
    )


def unblocked(A: CEA, B: CEA, S: Stream, n: int) -> Valuations:
    intervals = ((i, j) for j in range(n + 1) for i in range(j + 1))
    return frozenset() if any(on(B, S, i, j) for i, j in intervals) else on(A, S, 0, n)


BINARY: dict[str, tuple[Callable[[CEA, CEA], CEA], Callable[[CEA, CEA, Stream, int], Valuations]]] = {
    "union": (union, lambda A, B, S, n: on(A, S, 0, n) | on(B, S, 0, n)),
    "intersection": (intersect_automata, lambda A, B, S, n: on(A, S, 0, n) & on(B, S, 0, n)),
    "conjunction": (lambda A, B: conjunction(A, B, Budget()), lambda A, B, S, n: on(A, S, 0, n) & on(B, S, 0, n)),
    "interleaving": (lambda A, B: interleaving(A, B, Budget()), interleaved),
    "unless": (lambda A, B: unless(A, B, Algebra([*A.predicates, *B.predicates])), unblocked),
}


@pytest.mark.parametrize("name", BINARY)
def test_what_an_operation_on_two_automata_gives(name: str) -> None:
    operation, law = BINARY[name]
    found = 0
    for A, B in zip(automata(2, 25), automata(3, 25), strict=True):
        C = operation(A, B)
        for S in STREAMS:
            for n in range(3):
                expected = law(A, B, S, n)
                assert on(C, S, 0, n) == expected, (A, B, S.events)
                found += bool(expected)
    assert found > 50


@pytest.mark.parametrize("number", sampled([5, 12], [5]))
def test_the_complement_has_all_the_others(number: int) -> None:
    for A in automata(4, number):
        B, marks = complement(A, [frozenset({"Z"})]), {t.marks for t in A.transitions} | {frozenset({"Z"})}
        for S in STREAMS:
            assert on(B, S, 0, 2) == all_marked(S, 2, marks) - on(A, S, 0, 2)


def test_the_star_semantics_is_that_of_definition_8_7() -> None:
    found = 0
    for A in automata(5, 40):
        B = star(A)
        for S in STREAMS:
            expected = star_valuations(A, S, 2)
            assert on(B, S, 0, 2) == expected
            found += bool(expected)
    assert found > 100


@pytest.mark.parametrize(
    "query",
    [
        "LAST(PROJECT[A](A : A : B) OR B)",
        "LAST(PROJECT[A](A ; A ; B) OR (PROJECT[X](A ; A IN X ; B)))",
        "NXT(PROJECT[A](A : A : B) OR B)",
        "MAX(PROJECT[A](A : A : B) OR PROJECT[X](A ; A IN X ; B) OR B)",
    ],
)
def test_a_rival_that_marks_other_events_altogether(query: str) -> None:
    """It loses at one event, marks nothing at the next, and wins or loses at the last."""
    phi = parse(query)
    A = compile_cel(phi)
    for S in STREAMS:
        assert on(A, S, 0, 2) == interpreter.valuations(phi, S, 2)


def test_the_quotient_is_the_coarsest() -> None:
    """Against rounds in which every state is looked at again until nothing changes."""
    merged = 0
    for seed in range(150):
        rng = Random(seed)
        states = rng.randint(2, 12)
        labels = LABELS[: rng.randint(1, 2)]
        steps = [Transition(q, *rng.choice(labels), rng.randrange(states)) for q in range(states) for _ in range(2)]
        A = CEA(states, (*dict.fromkeys(steps),), frozenset({0}), frozenset({rng.randrange(states)}))
        of = [int(q in A.final) for q in range(states)]
        for _ in range(states + 1):
            kinds = [
                (of[q], frozenset((t.predicate, t.marks, of[t.target]) for t in leaving))
                for q, leaving in enumerate(A.leaving)
            ]
            of = [kinds.index(kind) for kind in kinds]
        assert quotient(A).states == len(set(of)), seed
        merged += 1 < len(set(of)) < states - 1
    assert merged > 15


def test_states_of_which_no_word_tells_one_from_the_other_are_one() -> None:
    """After an A or after a B the same is to come; the subsets are two, of which none is needed twice."""
    X, A, B = frozenset({"X"}), OfType("A"), OfType("B")
    steps = (Transition(0, A, X, 1), Transition(0, B, X, 2), Transition(1, A, X, 3), Transition(2, A, X, 4))
    automaton = CEA(5, steps, frozenset({0}), frozenset({3, 4}))
    assert io_determinize(automaton).states == 5
    assert minimized(automaton).states == 3


def test_io_determinism_and_one_run_for_each_valuation() -> None:
    """Definition 5.4, and what it is for."""
    for A in automata(8, 40):
        B = io_determinize(A)
        assert len(B.initial) == 1
        for event in EVENTS:
            for leaving in B.leaving:
                taken = [t.marks for t in leaving if cea_runs.holds(t.predicate, event)]
                assert len(taken) == len(set(taken))


# the least number of states of an I/O-deterministic automaton, and why it cannot have fewer
MINIMA = [
    ("A", 2, "before the event, and after it: more events would be too many"),
    ("A ; B", 3, "how many events are marked"),
    ("A : B", 3, "how many events are marked"),
    ("A+", 2, "whether an event was just marked, which is when there is a match"),
    ("A:+", 2, "nothing marked, or the last event marked"),
    ("STRICT(A+)", 2, "it is A:+"),
    ("(A ; A) OR (A ; A)", 3, "an OR of the same is the same"),
    ("A OR B", 2, "as one event of either type"),
    ("A UNLESS A", 0, "no run accepts"),
    ("(A OR B) ; (A OR B)", 3, "how many events are marked"),
    ("START(A)", 2, "before the event, and after it"),
    ("A ALL B", 4, "which of the two are marked"),
    ("A ALL B ALL C", 8, "which of the three are marked"),
    ("NXT(A)", 2, "the first A is marked, at once; a match later is at a later position, where it has skipped none"),
    ("MAX(A+)", 2, "every A is marked, and the last event is one"),
    ("(A ; B) WITHIN 3 EVENTS", 4, "nothing marked, one or two events of the window gone, two marked"),
    ("(A ; B) WITHIN 5 EVENTS", 6, "as many more as the window is longer"),
    ("PROJECT[X](A : (A OR B) : B IN X)", 5, "the last two events, where an A two ago is remembered: unmarked"),
]


@pytest.mark.parametrize(("query", "states", "why"), MINIMA)
def test_minimization_is_minimal_where_the_minimum_is_known(query: str, states: int, why: str) -> None:
    assert minimized(compile_cel(parse(query))).states == states, why


def test_the_classes_of_a_deterministic_automaton_are_those_of_the_words_it_accepts() -> None:
    """Hopcroft's algorithm against all words to a length that tells any two of four states apart."""
    for seed in range(60):
        rng = Random(seed)
        steps = [{c: rng.randrange(4) for c in "ab" if rng.random() < 0.8} for _ in range(4)]
        final = [rng.random() < 0.4 for _ in range(4)]

        def accepts(q: int | None, word: tuple[str, ...]) -> bool:
            for c in word:
                q = None if q is None else steps[q].get(c)  # noqa: B023
            return q is not None and final[q]  # noqa: B023

        words = [word for length in range(5) for word in product("ab", repeat=length)]
        language = [tuple(accepts(q, word) for word in words) for q in range(4)]
        of = classes(steps, final)
        assert all((of[p] == of[q]) == (language[p] == language[q]) for p in range(4) for q in range(4))
