"""Complex event automata: the compiler against the meaning, and what I/O-determinization promises."""

from itertools import product

import pytest

from cerify.automata.algebra.finite import satisfiable, types
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, Determinized, io_determinize, single_variable, trim
from cerify.automata.evaluate.tables import classify
from cerify.automata.exploration import explore
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Anything, Attribute, Both, Comparison, Constant, Not, OfType, holds
from proofs_tests.claims.cea_runs import valuations
from proofs_tests.support import sampled, stream

FORMULAS = [
    "A",
    "A IN X ; B IN X",
    "(A ; B) IN A FILTER A.x > 0",
    "A : B : A",
    "A:+",
    "(A OR B):+ FILTER A.x > 0 OR B.x < 1",
    "(A ; B):+",
    "((A : B):+ ; A)+",
    "(A+ ; B)+ IN Y FILTER Y[x >= 0 and not x = 2]",
    "(A:+ OR B+):+",
    "PROJECT[A](A ; B) : A",
    "B ; START(A+)",
    "(A ; B) AND ((A OR B) ; B) AND (A : B)",
    "A ALL B:+",
    "(A ; A) ALL (B : A)",
    "START(PROJECT[B](A ; B) ALL A)",
    "A+ UNLESS B",
    "B ; (A UNLESS START(B : A))",
    "A UNLESS (A FILTER A.x > 0)",
    "STRICT(A+)",
    "STRICT(PROJECT[B](A ; B ; A))",
    "NXT(A+ ; B)",
    "NXT((A IN X OR A)+ ; B)",
    "LAST((A ; B):+ OR A+)",
    "LAST((B ; C) OR (A ; A ; C))",
    "LAST(A IN X ; (A OR B)) ; B",
    "MAX(A ; (A OR B)+)",
    "MAX(((A IN X OR (A OR A FILTER A.x > 0)) ; A) OR A)",
]


def streams(length: int) -> list[Stream]:
    """Every stream of the length over two types and two values."""
    events = [Event(type_, {"x": x}) for type_ in "AB" for x in (0, 1)]
    return [Stream(choice) for choice in product(events, repeat=length)]


@pytest.mark.parametrize("query", sampled(FORMULAS, FORMULAS[::4]))
def test_the_compiled_automaton_has_the_valuations_of_the_formula(query: str) -> None:
    """All streams of four events, at every position, by the definition of runs."""
    phi = parse(query)
    A = compile_cel(phi)
    for S in streams(4):
        for n in range(4):
            assert valuations(A, S, n) == interpreter.valuations(phi, S, n)


@pytest.mark.parametrize("query", FORMULAS)
def test_determinization_keeps_the_valuations_and_has_one_run_for_each(query: str) -> None:
    A = compile_cel(parse(query))
    B = io_determinize(A)
    assert len(B.initial) == 1
    for S in streams(3):
        assert valuations(A, S, 2) == valuations(B, S, 2)
        for event in S:
            for leaving in B.leaving:
                taken = [t.marks for t in leaving if holds(t.predicate, event)]
                assert len(taken) == len(set(taken))


@pytest.mark.parametrize("query", FORMULAS)
def test_the_lazy_determinization_is_the_static_one(query: str) -> None:
    A = compile_cel(parse(query))
    B, lazy = io_determinize(A), Determinized(A)
    for S in streams(3):
        static, dynamic = {(0, frozenset[tuple[str, int]]())}, {(0, frozenset[tuple[str, int]]())}
        for i, (event, type_) in enumerate(zip(S, classify(A.predicates, S), strict=True)):
            static = {
                (t.target, mu | {(v, i) for v in t.marks})
                for q, mu in static
                for t in B.leaving[q]
                if holds(t.predicate, event)
            }
            dynamic = {(q_, mu | {(v, i) for v in marks}) for q, mu in dynamic for marks, q_ in lazy.step(q, type_)}
            assert {mu for q, mu in static if q in B.final} == {mu for q, mu in dynamic if lazy.final[q]}


def test_the_single_variable_form_keeps_the_complex_events_and_forgets_the_names() -> None:
    A = single_variable(compile_cel(parse("A IN X ; (B IN Y)+")))
    assert {t.marks for t in A.transitions} == {frozenset(), frozenset({"•"})}
    S = stream("A B B")
    got = {denote.sup(mu) for mu in valuations(A, S, 2)}
    assert got == interpreter.complex_events(parse("A ; B+"), S, 2)


def test_trim_leaves_out_what_no_accepting_run_uses() -> None:
    A = compile_cel(parse("A ; B"))
    padded = CEA(A.states + 1, A.transitions, A.initial, A.final)
    assert trim(padded) == A
    nothing = CEA(2, tuple(t for t in A.transitions if t.target != 2), A.initial, A.final)
    assert trim(nothing).states == 0


@pytest.mark.parametrize(
    "query", ["A ; B FILTER A.x = B.x", "A FILTER near(A)", "A WITHIN 3 hours", "A WITHIN 3 [x]", "A PARTITION BY [x]"]
)
def test_what_it_does_not_carry_it_says_with_the_place(query: str) -> None:
    with pytest.raises(Unsupported) as caught:
        compile_cel(parse(query))
    assert caught.value.span is not None


def test_an_automaton_that_grows_too_large_stops() -> None:
    """The rounds of a nested iteration over alternatives need exponentially many subsets."""
    query = "A IN X0 FILTER X0.x0 = 0"
    for i in range(1, 12):
        query = f"({query}) OR (A IN X{i} FILTER X{i}.x{i} > {i})"
    with pytest.raises(BudgetExceeded):
        io_determinize(compile_cel(parse(query)), Budget(states=500))
    with pytest.raises(BudgetExceeded):
        compile_cel(parse(query), Budget(states=5))


def test_explore_counts_edges_too() -> None:
    with pytest.raises(BudgetExceeded):
        explore([0], lambda n: [(label, n) for label in range(100)], 10, "the graph")


def test_types_exclude_each_other_and_cover_everything() -> None:
    x_positive = Comparison(">", Attribute("x"), Constant(0))
    split = types([OfType("A"), OfType("B"), Both(OfType("A"), x_positive)])
    assert len(split) == 4
    for event in (Event("A", {"x": 1}), Event("A", {"x": 0}), Event("B"), Event("C")):
        assert sum(holds(P, event) for _, P in split) == 1


def test_an_event_has_one_type() -> None:
    assert not satisfiable(Both(OfType("A"), OfType("B")))
    assert not satisfiable(Both(Not(OfType("A")), OfType("A")))
    assert satisfiable(Both(Not(OfType("A")), Not(OfType("B"))))
    assert not satisfiable(Not(Anything()))


@pytest.mark.parametrize(
    "query",
    [
        "A WITHIN 1 EVENTS",
        "(A ; B) WITHIN 2 EVENTS",
        "(A+ WITHIN 2 EVENTS) ; B",
        "NXT((A ; B) WITHIN 3 EVENTS)",
        "MAX(A+ WITHIN 3 EVENTS) : B",
        "(A ; B) UNLESS (C WITHIN 1 EVENTS)",
        "A UNLESS ((B ; C) WITHIN 2 EVENTS)",
        "PROJECT[A](A ; B) WITHIN 2 EVENTS",
        "PROJECT[](A) WITHIN 2 EVENTS",
        "((A ALL B) WITHIN 2 EVENTS)+",
        "((A+ WITHIN 3 EVENTS) IN X) WITHIN 2 EVENTS",
    ],
)
def test_a_window_of_events_is_counted(query: str) -> None:
    """Wherever it stands; held against the definition on all streams of four events."""
    phi = parse(query)
    automaton = compile_cel(phi)
    for types_ in product("ABC", repeat=4):
        S = Stream([Event(R) for R in types_])
        for n in range(4):
            assert valuations(automaton, S, n) == interpreter.valuations(phi, S, n)


def test_a_window_too_long_to_count_stops() -> None:
    with pytest.raises(BudgetExceeded, match="window of 1000000 events"):
        compile_cel(parse("A ; ((B ; C) WITHIN 1000000 EVENTS)"))


def test_what_had_won_under_last_may_win_again_after_it_has_lost() -> None:
    """Over A B A C: {1} wins over {0} at the B and loses to {0, 2} at the next A, but {1, 3} may still come."""
    phi, S = parse("LAST((B ; C) OR (A ; A ; C))"), stream("A B A C")
    assert valuations(compile_cel(phi), S, 3) == interpreter.valuations(phi, S, 3)
    assert {frozenset(n for _, n in mu) for mu in valuations(compile_cel(phi), S, 3)} == {frozenset({0, 2, 3})}
