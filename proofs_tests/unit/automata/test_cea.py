"""Complex event automata: the compiler against the meaning, and what I/O-determinization promises."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise, product
from random import Random

import pytest

from cerify.api import compile, match
from cerify.automata.algebra.finite import Algebra, satisfiable, types
from cerify.automata.cea import compile_core
from cerify.automata.cea.compile import chain_of, compile_cel, fixed_chain, generators, greatest_chain
from cerify.automata.cea.compile_core import mentioned
from cerify.automata.cea.model import (
    CEA,
    Determinized,
    Transition,
    complement,
    intersect_automata,
    io_determinize,
    minimized,
    quotient,
    single_variable,
    trim,
    union,
)
from cerify.automata.evaluate import compiled, streaming, tables
from cerify.automata.evaluate.chain_store import ChainStore, EarliestStore, RunsStore
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import required_plan, scope_of_counts
from cerify.automata.evaluate.parallel import ParallelEvaluator
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluate.tables import classify
from cerify.automata.evaluator import VERSION, Evaluator, Output, _checksum, seal, unseal
from cerify.automata.exploration import classes, explore
from cerify.conformance.cases import NAMED_SUITES, load
from cerify.equivalence.decide.cel import difference
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import CORE, EVERYTHING, formula
from cerify.equivalence.generate.cel import stream as stream_cel
from cerify.equivalence.generate.core_cel import ANYTHING, case
from cerify.plan import DefinitionEvaluator
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import SMALL, Formula, Repeat, distinct, show
from cerify.semantics.core_cel import check as by_definition
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Anything, Attribute, Both, Comparison, Constant, Not, OfType, holds
from proofs_tests.campaigns.per_key import in_batches
from proofs_tests.claims.cea_runs import valuations
from proofs_tests.pages import ROOT
from proofs_tests.support import sampled, stream
from proofs_tests.unit.automata.test_per_key import long_stream, pushed

# ---- cea ----
#

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


@pytest.mark.thorough
def test_a_window_too_long_to_count_stops() -> None:
    with pytest.raises(BudgetExceeded, match="window of 1000000 events"):
        compile_cel(parse("A ; ((B ; C) WITHIN 1000000 EVENTS)"))


def test_what_had_won_under_last_may_win_again_after_it_has_lost() -> None:
    """Over A B A C: {1} wins over {0} at the B and loses to {0, 2} at the next A, but {1, 3} may still come."""
    phi, S = parse("LAST((B ; C) OR (A ; A ; C))"), stream("A B A C")
    assert valuations(compile_cel(phi), S, 3) == interpreter.valuations(phi, S, 3)
    assert {frozenset(n for _, n in mu) for mu in valuations(compile_cel(phi), S, 3)} == {frozenset({0, 2, 3})}


# ---- operations ----
# Union is union, complement is complement, the smallest automaton is the smallest: decided.

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))
EMPTY = CEA(0, (), frozenset(), frozenset())


def automaton(rng: Random, nodes: int = 4) -> CEA:
    while not is_unary(phi := formula(rng, TINY, nodes)) or "Arithmetic" in repr(phi):
        pass
    return compile_cel(phi)


def test_both_halves_of_a_block_that_waits_are_looked_at() -> None:
    """All four states differ: a block that is split before it has split others has two halves that may split them."""
    steps = [{"a": 1, "b": 0}, {"a": 0, "b": 3}, {"b": 2}, {"a": 3, "b": 0}]
    assert classes(steps, [True, False, True, False]) == [0, 1, 2, 3]


@pytest.mark.parametrize("seed", range(12))
def test_the_laws_of_a_boolean_algebra(seed: int) -> None:
    rng = Random(seed)
    A, B = single_variable(automaton(rng)), single_variable(automaton(rng))
    marks = [t.marks for t in (*A.transitions, *B.transitions)]
    neither = intersect_automata(complement(A, marks), complement(B, marks))
    assert difference(complement(union(A, B), marks), neither) is None
    assert difference(complement(complement(A, marks), marks), A) is None
    assert difference(intersect_automata(A, complement(A, marks)), EMPTY) is None
    everything = union(A, complement(A, marks))
    assert difference(union(B, complement(B, marks)), everything) is None
    assert difference(intersect_automata(A, union(A, B)), A) is None
    assert difference(intersect_automata(union(A, B), A), A) is None


@pytest.mark.parametrize("seed", range(12))
def test_a_complement_has_what_the_automaton_has_not(seed: int) -> None:
    rng = Random(seed)
    A = single_variable(automaton(rng))
    S = stream_cel(rng, TINY, 3)
    (mark,) = {t.marks for t in A.transitions if t.marks} or {frozenset({"•"})}
    everything = {frozenset((x, p) for x in mark for p in range(3) if bits >> p & 1) for bits in range(8)}
    assert valuations(complement(A, [mark]), S, 2) == everything - valuations(A, S, 2)


@pytest.mark.parametrize("seed", range(25))
def test_the_smallest_automaton_has_the_same_valuations_and_no_fewer_states_would_do(seed: int) -> None:
    A = automaton(Random(seed), 5)
    small = minimized(A)
    assert difference(small, A) is None
    again = minimized(small)
    assert (again.states, len(again.transitions)) == (small.states, len(small.transitions))
    assert small.states <= trim(io_determinize(A)).states
    for p in range(small.states):  # from no two states the same is accepted, from each something
        from_p = replace(small, initial=frozenset({p}))
        assert trim(from_p).states
        for q in range(p):
            from_q = replace(small, initial=frozenset({q}))
            assert (p in small.final) != (q in small.final) or difference(from_p, from_q) is not None


@pytest.mark.parametrize(
    ("query", "states"),
    [("A", 2), ("A ; B", 3), ("A : B", 3), ("A+", 2), ("(A ; A) OR (A ; A)", 3), ("A OR B", 2), ("A UNLESS A", 0),
     ("A AND A", 2), ("(A OR B) ; (A OR B)", 3), ("START(A)", 2), ("STRICT(A ; B)", 3)],
)  # fmt: skip
def test_known_minima(query: str, states: int) -> None:
    assert minimized(compile_cel(parse(query))).states == states


def test_equivalent_formulas_have_the_same_smallest_automaton_up_to_numbers() -> None:
    left, right = minimized(compile_cel(parse("(A ; B) ; C"))), minimized(compile_cel(parse("A ; (B ; C)")))
    assert (left.states, len(left.transitions)) == (right.states, len(right.transitions))
    assert difference(left, right) is None


def test_what_grows_too_large_stops() -> None:
    phi = cel.EventAtom("A")
    grown: cel.Formula = phi
    for _ in range(9):
        grown = cel.Seq(cel.Or(grown, cel.EventAtom("B")), phi)
    with pytest.raises(BudgetExceeded):
        minimized(compile_cel(grown), Budget(states=5))
    with pytest.raises(BudgetExceeded):
        complement(compile_cel(grown), budget=Budget(states=5))


# ---- minimize ----
# The classes of states against Moore's algorithm, which splits them round by round.


def moore(steps: list[dict[str, int]], final: list[bool]) -> list[int]:
    of = [int(accepts) for accepts in final]
    while True:
        split = [(of[q], *(of[step[letter]] for letter in "ab")) for q, step in enumerate(steps)]
        numbers: dict[tuple[int, ...], int] = {}
        found = [numbers.setdefault(key, len(numbers)) for key in split]
        if len(set(found)) == len(set(of)):
            return found
        of = found


def test_states_are_merged_if_no_word_distinguishes_them() -> None:
    rng = Random(1)
    for _ in range(300):
        n = rng.randint(1, 9)
        steps = [{letter: rng.randrange(n) for letter in "ab"} for _ in range(n)]
        final = [rng.random() < 0.4 for _ in range(n)]
        assert classes(steps, final) == moore(steps, final)


# ---- quotient ----
# The quotient by bisimulation: fewer states, the same valuations.

PROFILE = replace(EVERYTHING, correlated=0.0)
A, B, ANY = OfType("A"), OfType("B"), Anything()
X, NONE = frozenset({"X"}), frozenset[str]()


def test_states_that_behave_alike_are_one() -> None:
    automaton = CEA(
        4,
        (Transition(0, A, X, 1), Transition(0, B, X, 2), Transition(1, ANY, NONE, 3), Transition(2, ANY, NONE, 3)),
        frozenset({0}),
        frozenset({3}),
    )
    assert quotient(automaton).states == 3


def test_what_differs_in_marks_predicates_or_acceptance_is_kept_apart() -> None:
    kept = (Transition(0, A, X, 3), Transition(1, A, NONE, 3), Transition(2, B, X, 3))
    automaton = CEA(5, kept, frozenset({0, 1, 2, 4}), frozenset({3}))
    assert quotient(automaton) == automaton


@pytest.mark.parametrize("seed", range(40))
def test_the_valuations_are_the_same(seed: int) -> None:
    rng = Random(seed)
    while not is_unary(phi := formula(rng, PROFILE, 6)):
        pass
    automaton, S = compile_cel(phi), stream_cel(rng, PROFILE, 5, phi)
    doubled = CEA(
        2 * automaton.states,
        tuple(
            t._replace(source=t.source + i * automaton.states, target=t.target + j * automaton.states)
            for t in automaton.transitions for i in (0, 1) for j in (0, 1)
        ),
        automaton.initial,
        automaton.final | {q + automaton.states for q in automaton.final},
    )  # fmt: skip
    small = quotient(doubled)
    assert small.states <= automaton.states
    for n in range(5):
        assert valuations(small, S, n) == valuations(automaton, S, n)


def test_a_nest_of_strategies_stays_small() -> None:
    """Without it this has 923 states, and takes ten times as long."""
    phi = parse("LAST((((A FILTER A.x > 1) UNLESS B) ALL A):+ IN X+)")
    assert compile_cel(phi, algebra=Algebra(generators(phi))).states < 50


# ---- sizes ----
# Where the size of an automaton comes from, operator by operator (tods21, Theorems 6.2 and 7.2).


def size(query: str) -> int:
    return compile_cel(parse(query)).size


@pytest.mark.parametrize("nodes", [10, 20, 40])
def test_the_core_is_linear(nodes: int) -> None:
    """Theorem 6.2: a few states and transitions for each node, also of formulas four times as large."""
    for seed in range(15):
        phi = formula(Random(f"sizes/{nodes}/{seed}"), CORE, nodes)
        assert compile_cel(phi).size <= 6 * cel.size(phi)


@pytest.mark.parametrize("join", [";", ":"])
def test_many_alternatives_after_many_others_are_linear(join: str) -> None:
    """They meet in one state; with a transition for each pair of them forty would have 6400."""
    for k in (5, 10, 20, 40):
        left, right = (" OR ".join(f"{R}{i}" for i in range(k)) for R in "AB")
        assert size(f"({left})+ {join} ({right})+") <= 18 * k


def test_operands_of_all_multiply_and_no_more() -> None:
    """Which of n events are marked: 2^n states, which is the minimum."""
    for n in (2, 4, 6):
        assert compile_cel(parse(" ALL ".join(f"A{i}" for i in range(n)))).states == 2**n


def test_a_window_inside_costs_a_state_for_each_event() -> None:
    for n in (4, 8, 16):
        assert compile_cel(parse(f"A ; ((B ; C) WITHIN {n} EVENTS)")).states == n + 2


def strategies(strategy: str, last: int) -> list[int]:
    """A family in which any of k events that have been seen may still decide who wins."""
    family = ["(A ; C)"]
    sizes = []
    for i in range(last):
        family.append(f"(A ; A{i} ; B{i} ; C)")
        sizes.append(size(f"{strategy}({' OR '.join(family)})"))
    return sizes


@pytest.mark.thorough
@pytest.mark.parametrize(("strategy", "last"), [("NXT", 4), ("LAST", 3), ("MAX", 6)])
@pytest.mark.slow
def test_strategies_are_exponential(strategy: str, last: int) -> None:
    """Theorem 7.2's bound is of the right kind: each more of the k makes for close to twice the size, or more."""
    sizes = strategies(strategy, last)
    assert all(larger > 1.8 * smaller for smaller, larger in pairwise(sizes)), sizes


def test_strict_is_linear() -> None:
    sizes = strategies("STRICT", 12)
    assert {larger - smaller for smaller, larger in pairwise(sizes)} == {7}


# ---- variables ----
# Which variables a condition of core-CEL mentions, as the automata read it.


@pytest.mark.parametrize("both", [core.CoreConjunction, core.CoreDisjunction])
def test_both_sides_of_a_condition_are_mentioned(both: type[core.CoreConjunction | core.CoreDisjunction]) -> None:
    assert mentioned(both(core.Unary("x", Anything()), core.Unary("y", Anything()))) == {"x", "y"}


def test_the_variables_of_every_operator_are_those_of_the_definition() -> None:
    rng, met = Random(1), set[type]()
    for _ in range(300):
        phi, _ = case(rng, ANYTHING, 8, 1)
        for psi in core.subformulas(phi):
            met.add(type(psi))
            assert compile_core.defined_outside_iteration(psi) == by_definition.defined_outside_iteration(psi)
            assert compile_core.free(psi) == by_definition.free(psi)
            assert compile_core.bound(psi) == by_definition.bound(psi)
    assert met == set(core.OPERATORS)


# ---- chains ----
# LAST and NXT of events one after the other: an automaton that is linear in their number, and what counts them.


def link(rng: Random, deep: bool = False) -> Formula:
    R = rng.choice("AB")
    chance = rng.random()
    if chance < 0.5:
        return cel.EventAtom(R)
    if chance < 0.7:
        return cel.In(cel.EventAtom(R), "X")
    if chance < 0.9 or deep:
        return cel.Filter(cel.EventAtom(R), cel.Every(R, SMALL))
    return cel.Or(link(rng, deep=True), link(rng, deep=True))


def rounds(rng: Random, phi: Formula, varies: bool = False) -> Formula:
    n = rng.choice((1, 1, 2, 3))
    if varies and rng.random() < 0.4:
        return cel.Plus(phi) if rng.random() < 0.2 else Repeat(phi, n, rng.choice((n + 1, n + 2, None)))
    return phi if n == 1 else Repeat(phi, n, n)


def strategy(rng: Random, around: Callable[[Formula], Formula] = lambda phi: phi) -> cel.Next | cel.Last:
    """LAST or NXT of a chain, of which the first run or the last one may vary in number."""
    is_last, n = rng.random() < 0.5, rng.choice((1, 1, 2, 3))
    if rng.random() < 0.25:
        one = link(rng)
        phi: Formula = cel.Seq(one, rounds(rng, cel.Unless(one, link(rng)), varies=True))
    else:
        phi = reduce(cel.Seq, (rounds(rng, link(rng), i == (0 if is_last else n - 1)) for i in range(n)))
        chance = rng.random()
        if chance < 0.4:
            phi = cel.In(phi, "Y") if chance < 0.2 else cel.Filter(phi, cel.Every("X", SMALL))
    phi = around(phi)
    return cel.Last(phi) if is_last else cel.Next(phi)


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
@pytest.mark.slow
def test_the_greatest_match_of_a_chain_is_that_of_the_definition(seed: int) -> None:
    rng = Random(f"chains {seed}")
    for _ in range(150):
        phi: Formula = strategy(rng)
        assert greatest_chain(phi) is not None, show(phi)
        phi = cel.Seq(cel.EventAtom("A"), phi) if rng.random() < 0.3 else phi  # over intervals that begin later
        S = generate.stream(rng, generate.EVERYTHING, rng.randint(1, 9), phi)
        output: Output = rng.choice(("matches", "valuations"))
        right = matches_of(phi, S, output, Budget(10**6))
        assert streaming.matches(phi, S, output) == right, f"{show(phi)} {S.events}"
        assert ReadableCelEvaluator(phi, output).evaluate(S) == right, f"{show(phi)} {S.events}"


@pytest.mark.parametrize("seed", sampled(range(20), range(1)))
@pytest.mark.slow
def test_windows_and_keys_inside_of_a_strategy_choose_among_what_is_in_them(seed: int) -> None:
    """LAST(A{60} WITHIN 30 seconds) is looked up, and not chosen out of all that there are."""
    rng = Random(f"windows in strategies {seed}")
    for _ in range(100):
        keyed = rng.random() < 0.4

        def around(phi: Formula, rng: Random = rng, keyed: bool = keyed) -> Formula:
            phi = generate.around(rng, phi)
            return cel.PerKey(phi, rng.choice((("k",), ("k", "x")))) if keyed else phi

        phi: Formula = strategy(rng, around)
        if rng.random() < 0.3:
            phi = cel.PerKey(phi, ("x",))
        phi = generate.around(rng, phi) if rng.random() < 0.3 else phi
        S = generate.clocked(rng, generate.stream(rng, generate.EVERYTHING, rng.randint(1, 9), phi))
        output: Output = rng.choice(("matches", "valuations"))
        right = matches_of(phi, S, output, Budget(10**6))
        assert streaming.matches(phi, S, output) == right, f"{show(phi)} {S.events}"
        if output == "matches":
            assert sum(streaming.count_matches(phi, S)) == len(right), f"{show(phi)} {S.events}"
        with suppress(Unordered):
            assert in_batches(partial(compile, phi, output=output), S, rng) == right, f"{show(phi)} {S.events}"


@pytest.mark.parametrize("counted", ["A{2,60}", "A{3 DISTINCT [x]}"])
def test_what_is_out_of_reach_is_forgotten(counted: str) -> None:
    """Where no automaton reads batches, the events of the window are read again with each."""
    phi = parse(f"LAST({counted} WITHIN 29 seconds) PER KEY [k]")
    S = Stream(Event("A" if n % 3 else "B", {"k": n % 2, "x": n % 5, "time": n}) for n in range(300))
    E = compile(phi)
    assert sorted(match for start in range(0, 300, 7) for match in E.push(S.part(start, min(7, 300 - start)))) == (
        streaming.matches(phi, S)
    )
    assert len(E.save()) < 4_000
    assert E.position == 300
    with pytest.raises(Unordered):
        E.push([Event("A", {"k": 1, "x": 1, "time": 7})])


@pytest.mark.thorough
def test_what_batches_leave_to_the_definition() -> None:
    """The guide has the numbers of the different queries of the suites."""
    cases = [case for suite in (None, *(path.stem for path in NAMED_SUITES.glob("*.jsonl"))) for case in load(suite)]
    guide = (ROOT / "docs" / "guide" / "streaming.md").read_text(encoding="utf-8")
    for language in ("cel", "core-cel"):
        queries = {case.query for case in cases if case.language == language}
        left = sum(type(compile(query, language=language)) is DefinitionEvaluator for query in queries)
        assert f"({left} of {len(queries):,}" in guide


@pytest.mark.parametrize("seed", sampled(range(20), range(3)))
@pytest.mark.slow
def test_counting_them_gives_the_same(seed: int) -> None:
    """LAST and NXT of so many, in windows and by key, in batches whose states are saved: positions alone are kept."""
    rng = Random(f"counts {seed}")
    kept = earliest = 0
    for _ in range(60):
        parts = [Repeat(link(rng), n, n) for n in rng.choices((1, 2, 3), k=rng.choice((1, 1, 2, 3)))]
        phi: Formula = (cel.Last if rng.random() < 0.7 else cel.Next)(reduce(cel.Seq, parts))
        if rng.random() < 0.5:
            phi = generate.around(rng, phi)
        if rng.random() < 0.7:
            phi = cel.PerKey(phi, rng.choice((("k",), ("k", "x"))))
        phi = generate.around(rng, phi)
        S = generate.clocked(rng, generate.stream(rng, generate.EVERYTHING, rng.randint(3, 10), phi))
        right = matches_of(phi, S)
        E = CompiledCelEvaluator(phi) if not ReadableCelEvaluator(phi).scope.divided else None
        kept += E is not None and isinstance(E.store, ChainStore | RunsStore)
        earliest += E is not None and isinstance(E.store, EarliestStore)
        assert streaming.matches(phi, S) == right, f"{show(phi)} {S.events}"
        try:
            for make in (ReadableCelEvaluator,) if E is None else (ReadableCelEvaluator, CompiledCelEvaluator):
                assert in_batches(partial(make, phi), S, rng) == right, f"{show(phi)} {S.events}"
                assert make(phi).count_all(S) == len(right)
            assert E is None or E.count(S) == len(right)
        except Unordered:
            pass
    assert kept >= 20
    assert earliest >= 4


def test_sixty_of_a_hundred() -> None:
    S = Stream(Event("A" if n % 3 else "B", {"k": n % 2, "time": n}) for n in range(300))
    for number, states in (("60", 61), ("5,60", 120), ("60,", 61)):
        assert compile_cel(parse(f"LAST(A{{{number}}})")).states == states
    for query in ("LAST(A{60})", "LAST(A{60}) PER KEY [k] WITHIN 200 seconds", "NXT(A{60}) PER KEY [k]"):
        found = streaming.matches(parse(query), S)
        assert all(len(m.events) == 60 for m in found)
        assert len(found) == 200 - 59 * (1 + ("PER KEY" in query)), query
    found = streaming.matches(parse("LAST(A{5,60} WITHIN 29 seconds) PER KEY [k]"), S)
    assert {len(m.events) for m in found} == {*range(5, 11)}
    assert len(found) == 200 - 2 * 4
    (first, *_) = streaming.matches(parse("LAST(A{60}) PER KEY [k] WITHIN 200 seconds"), S)
    assert first.events == tuple(n for n in range(first.at + 1) if n % 3 and n % 2 == first.at % 2)[-60:]


@pytest.mark.parametrize("seed", sampled(range(20), range(1)))
@pytest.mark.slow
def test_the_greatest_match_of_different_values_has_the_newest_ones(seed: int) -> None:
    """By the definition of its expansion, whatever stands around LAST, also where values are of two kinds."""
    rng = Random(f"different values {seed}")
    kept = read = 0
    for _ in range(40):
        phi: Formula = distinct(link(rng), rng.choice((2, 2, 3)), rng.choice("kxyu"))
        phi = cel.Last(generate.around(rng, phi) if rng.random() < 0.5 else phi)
        if rng.random() < 0.6:
            phi = cel.PerKey(phi, rng.choice((("k",), ("k", "x"))))
        phi = generate.around(rng, phi)
        S = generate.clocked(rng, generate.stream(rng, generate.EVERYTHING, rng.randint(3, 8), phi))
        for output in ("matches", "valuations"):
            right = matches_of(phi, S, output)
            for evaluate in (streaming.matches, compiled.matches):
                assert evaluate(phi, S, output) == right, f"{show(phi)} {S.events}"
            for make in (ReadableCelEvaluator, CompiledCelEvaluator) if scope_of_counts(phi) is not None else ():
                with suppress(Unordered):
                    assert in_batches(partial(make, phi, output), S, rng) == right, f"{show(phi)} {S.events}"
                    assert make(phi, output).count(S) == len(right), f"{show(phi)} {S.events}"
                    read += 1
        kept += streaming.greatest_planned(required_plan(phi), S) is not None
    assert kept >= 10
    assert read >= 40


@pytest.mark.parametrize("rounds", [2, 3, 12])
def test_different_values_are_those_of_a_value_count(rounds: int) -> None:
    rng = Random(rounds)
    S = Stream(
        Event("A", {"user": rng.randint(1, 4 * rounds), "ip": rng.choice("xy"), "time": 3 * n}) for n in range(300)
    )
    rule = f"""
title: a
name: a
logsource: {{category: test}}
detection: {{s: {{ip: '*'}}, condition: s}}
---
title: t
correlation:
  {{type: value_count, rules: [a], group-by: [ip], timespan: {30 * rounds}s, condition: {{field: user, gte: {rounds}}}}}
"""
    alerts = [m.at for m in match(rule, S, language="sigma") if m.result.attributes["rule"] == "t"]
    assert 0 < len(alerts) < 300
    for query in (
        "LAST(A{{{} DISTINCT [user]}} WITHIN {} seconds) PER KEY [ip]",
        "LAST(A{{{} DISTINCT [user]}}) PER KEY [ip] WITHIN {} seconds",
    ):
        assert [m.at for m in streaming.matches(parse(query.format(rounds, 30 * rounds)), S)] == alerts


@pytest.mark.slow
def test_an_event_that_is_in_no_window_is_one_of_the_last() -> None:
    """LAST prefers it, and then the window refuses the match."""
    S = Stream([Event("A", {"t": 0}), Event("A"), Event("A", {"t": 1}), Event("A", {"t": 2})])
    phi = parse("LAST(A{2}) WITHIN 9 [t]")
    assert [m.events for m in matches_of(phi, S)] == [(2, 3)]
    for E in (ReadableCelEvaluator(phi), CompiledCelEvaluator(phi)):
        assert [m.events for m in E.evaluate(S)] == [(2, 3)]
    phi = parse("NXT(A{3}) WITHIN 9 [t]")
    for found in (matches_of(phi, S), ReadableCelEvaluator(phi).evaluate(S), CompiledCelEvaluator(phi).evaluate(S)):
        assert found == []


def test_what_is_a_chain() -> None:
    for query, lengths in (
        ("LAST(A{60})", [60]),
        ("LAST((A OR B FILTER A.x > 1){2} ; (A OR B FILTER A.x > 1))", [3]),
        ("LAST(A{2} ; B ; A)", [2, 1, 1]),
        ("NXT(A{2})", [2]),
        ("NXT(A{2,})", None),
        ("LAST(A{2,})", None),
    ):
        chain = fixed_chain(parse(query))
        assert (chain and [length for _, length, _ in chain.runs]) == lengths, query
    guarded = chain_of(parse("A ; (A UNLESS B){59}"))
    assert guarded is not None
    assert [run[1:] for run in guarded.runs] == [(60, 60)]
    assert guarded.guard is not None
    for query, numbers in (("A{5,60}", (5, 60)), ("A ; A{4,}", (5, None)), ("A ; (A UNLESS B){4,59}", (5, 60))):
        found = chain_of(parse(query))
        assert found is not None, query
        assert [run[1:] for run in found.runs] == [numbers], query
    for query in ("LAST(A+ ; B)", "NXT(A ; B{2,3})", "LAST(A ; B+)", "NXT(A+ ; B)"):
        assert (greatest_chain(parse(query)) is not None) == (query not in ("LAST(A ; B+)", "NXT(A+ ; B)")), query
    for query in ("A ; (B UNLESS C)", "A ; (A UNLESS B) ; (A UNLESS C)", "(A UNLESS B){2}", "A ; (A UNLESS (B ; C))"):
        assert chain_of(parse(query)) is None, query
    for query in ("A:{2}", "A : B", "(A ; B){1,2}", "(A ; A)+", "A UNLESS B", "(A ; B) OR A", "A AND A"):
        assert chain_of(parse(query)) is None, query


LONG = [
    "LAST(A{5}) PER KEY [k] WITHIN 40 [t]",
    "LAST((A OR B){9}) WITHIN 30 [t]",
    "LAST(A{3}) WITHIN 9 EVENTS PER KEY [k]",
    "LAST(A{5} ; B{2} ; A ; (C OR A){3}) PER KEY [k] WITHIN 200 [t]",
    "LAST(A{9} ; D{12} ; B) WITHIN 60 EVENTS",
]


@pytest.mark.parametrize("query", LONG)
@pytest.mark.slow
def test_long_streams(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    phi, S = parse(query), long_stream(3_000, 11)
    expected = pushed(ReadableCelEvaluator(phi), S, 1_000)
    assert expected
    assert sorted((m.at, m.events) for m in streaming.matches(phi, S)) == sorted(expected)
    monkeypatch.setattr(tables, "NODES_AT_FIRST", 64)  # so that nodes are removed
    for size in (7, 700, 3_000):
        assert sorted(pushed(CompiledCelEvaluator(phi), S, size)) == sorted(expected)
    threads = ParallelEvaluator(CompiledCelEvaluator(phi), 2, None)
    assert sorted((m.at, m.events) for m in threads.push(S)) == sorted(expected)
    assert CompiledCelEvaluator(phi, consumption="any").evaluate(S) == ReadableCelEvaluator(
        phi, consumption="any"
    ).evaluate(S)


@pytest.mark.slow
def test_keys_that_are_over_are_forgotten() -> None:
    n = 20_000
    S = Stream(Event("A", {"k": i // 2}) for i in range(n))
    E = CompiledCelEvaluator(parse("LAST(A{2}) PER KEY [k] WITHIN 10 EVENTS"))
    assert sum(E.count(S.part(start, 100)) for start in range(0, n, 100)) == n // 2
    assert isinstance(E.store, ChainStore)
    assert E.keys.size <= 1_024


# ---- saved state ----
# The header of saved states: all that differs from what was saved is refused, with what to do.

SASE = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x < b.x } RETURN a.x"
EVALUATORS = [
    ("A ; B+ WITHIN 9 EVENTS", "cel", "kernel"),
    ("A ; B+ PARTITION BY [x]", "cel", "automaton"),
    ("prior(A, B)", "event-expression", "automaton"),
    (SASE, "sase", "automaton"),
    ("A ; B", "cel", "denotational"),
]


def changed(rng: Random, data: bytes) -> bytes:
    """The bytes with one change: a bit, a byte, some bytes left out, doubled or moved."""
    at, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    match rng.randrange(5):
        case 0 if at < len(data):
            return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]
        case 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + data[other:]
        case 3:
            return data[:other] + data[at:]
        case _:
            return data[other:] + data[at:other] + data[:at]


@pytest.mark.parametrize(("query", "language", "evaluator"), EVALUATORS, ids=lambda text: text)
@pytest.mark.slow
def test_no_change_of_a_state_is_accepted(query: str, language: str, evaluator: str) -> None:
    """Without a checksum one damaged state of a hundred was restored, with other matches."""

    def made() -> Evaluator:
        return compile(query, language=language, evaluator=evaluator)

    E, rng = made(), Random(1)
    E.push([Event("A", {"x": 1}), Event("B", {"x": 2}), Event("A", {"x": 2})])
    state, fresh = E.save(), made()
    for _ in range(300):
        if (damaged := changed(rng, state)) != state:
            with pytest.raises(InputError, match=r"damaged|start again"):
                fresh.restore(damaged)
    fresh.restore(state)
    assert fresh.save() == state


def test_a_state_is_what_was_sealed() -> None:
    assert unseal(seal("kind", "query", b"a\nb"), "kind", "query") == b"a\nb"


@pytest.mark.parametrize(
    ("field", "value", "advice"),
    [
        ("version", VERSION - 1, "restore it with the release that saved it"),
        ("byteorder", "middle", "was saved on a middle-endian machine"),
        ("evaluator", "other", "the evaluator 'other', but this is 'kind': restore it with 'other'"),
        ("evaluator", "compiled", "the state was saved by the evaluator 'kernel'"),
        ("evaluator", ["other"], "restore it with"),
        ("query", "other", "the state was saved with another query, other options"),
        ("magic", "other", "not a valid saved state"),
        ("sha256", "other", "its checksum differs"),
        ("more", "other", "its checksum differs"),
    ],
)
def test_the_header_says_what_is_different_and_what_to_do(field: str, value: object, advice: str) -> None:
    line, data = seal("kind", "query", b"data").split(b"\n")
    header = json.loads(line) | {field: value}
    if field not in ("sha256", "more"):
        header["sha256"] = _checksum(header, data)
    with pytest.raises(InputError, match=advice):
        unseal(json.dumps(header).encode() + b"\n" + data, "kind", "query")


@pytest.mark.parametrize("line", [b"", b"[]", b"1", b'{"magic": 1}', b"[" * 100_000, b"\xff"])
def test_what_is_no_header_is_no_state(line: bytes) -> None:
    with pytest.raises(InputError, match="not a valid saved state"):
        unseal(line + b"\ndata", "kind", "query")


def test_what_is_no_bytes_is_no_state() -> None:
    with pytest.raises(InputError, match="the bytes that `save` returned, not a NoneType"):
        compile("A ; B").restore(None)  # type: ignore[arg-type]
