"""The meaning of CEL against the paper's own figures and against what each clause says in words."""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import reduce
from itertools import product
from random import Random

import pytest

import cerify
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.hypotheses.cel import INTERPRETATION
from cerify.hypotheses.interpretation import choices_of
from cerify.semantics import predicates
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star, is_unary, problems
from cerify.semantics.cel.denote import (
    Events,
    Meaning,
    Predicates,
    RememberedFacts,
    Valuations,
    WithRepetitions,
    clause,
    find_named_atoms,
    in_relation,
    last_at_most,
    meaning,
    next_at_most,
    require_registered,
    sup,
    unregistered,
)
from cerify.semantics.cel.interpreter import Interpreter, matches_of, valuations
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import (
    OPERATORS,
    ContiguousRepeat,
    Formula,
    Last,
    Max,
    Next,
    NextPlus,
    Repeat,
    Until,
    expanded,
    show,
    size,
    subformulas,
)
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError, Unsupported
from cerify.semantics.event_expressions import syntax as expressions
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant, Not, Predicate, Term
from cerify.semantics.trees import children
from proofs_tests.support import EXAMPLES, FIGURE_1, by_position, complex_events, sampled, stream

# ---- denote ----
#


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_section_3_give_the_printed_results(name: str) -> None:
    query, printed = EXAMPLES[name]
    assert by_position(query, FIGURE_1) == printed


def mus(query: str, types: str, at: int) -> set[frozenset[tuple[str, int]]]:
    return set(valuations(parse(query), stream(types), at))


def test_an_event_type_is_a_variable() -> None:
    assert mus("A", "B A", 1) == {frozenset({("A", 1)})}


def test_in_rebinds_rather_than_adds() -> None:
    """The variable A held position 0 only; after IN it holds all that was matched."""
    assert mus("(A ; B) IN A", "A B", 1) == {frozenset({("A", 0), ("A", 1), ("B", 1)})}


def test_sequencing_orders_without_contiguity() -> None:
    assert complex_events("A ; B", "A A B", 2) == {(0, 2), (1, 2)}


def test_iteration_skips() -> None:
    assert complex_events("A+", "A B A A", 3) == {(3,), (2, 3), (0, 3), (0, 2, 3)}


def test_contiguous_iteration_takes_a_third_round() -> None:
    """Two rounds are easy to get right by accident: the construction must loop."""
    assert complex_events("A:+", "A A A", 2) == {(2,), (1, 2), (0, 1, 2)}


def test_contiguity_is_between_the_rounds_not_within_them() -> None:
    """The note of section 4 on (R;S) and (R:S) under contiguous iteration."""
    assert (0, 2, 3, 4) in complex_events("(R ; S):+", "R T S R S", 4)
    assert (0, 2, 3, 4) not in complex_events("(R : S):+", "R T S R S", 4)


def test_contiguity_counts_from_the_operands_own_events() -> None:
    assert complex_events("A : B", "A C B B", 2) == set()
    assert complex_events("A : B", "C A B", 2) == {(1, 2)}


def test_a_filter_on_an_unbound_variable_holds() -> None:
    """Every event of nothing satisfies anything."""
    assert complex_events("A FILTER Z.x > 1", "A", 0) == {(0,)}


def test_a_filter_asks_every_event_of_the_variable() -> None:
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x > 3", S, 1) == {(1,)}


def test_or_in_a_filter_is_the_union_of_two_filtered_formulas() -> None:
    """Not: each event satisfies one of the two."""
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x < 2 OR A.x > 4", S, 1) == {(1,)}
    assert complex_events("A+ FILTER A[x < 2 or x > 4]", S, 1) == {(1,), (0, 1)}


def test_mentions_of_a_correlated_filter_range_independently() -> None:
    """A.x = A.x compares every event of A with every other; A[x = x] compares each with itself."""
    S = stream("A A", x=[1, 5])
    assert complex_events("A+ FILTER A.x = A.x", S, 1) == {(1,)}
    assert complex_events("A+ FILTER A[x = x]", S, 1) == {(1,), (0, 1)}


def test_correlation_compares_all_pairs() -> None:
    S = stream("A A B", x=[1, 3, 2])
    assert complex_events("A+ ; B FILTER A.x < B.x", S, 2) == {(0, 2)}


def test_project_forgets_events() -> None:
    assert complex_events("PROJECT[A](A ; B)", "A B", 1) == {(0,)}
    assert complex_events("PROJECT[](A ; B)", "A B", 1) == {()}


def test_start_anchors_at_the_interval_not_at_the_stream() -> None:
    assert complex_events("START(A)", "B A", 1) == set()
    assert complex_events("B ; START(A)", "B A", 1) == {(0, 1)}
    assert complex_events("B ; START(A)", "B C A", 2) == set()


def test_and_wants_the_same_valuation() -> None:
    assert complex_events("(A ; B) AND (A : B)", "A A B", 2) == {(1, 2)}
    assert complex_events("A IN X AND A IN Y", "A", 0) == set()


def test_all_lets_the_two_overlap_and_be_the_same_event() -> None:
    assert complex_events("A ALL A", "A A", 1) == {(1,), (0, 1)}


def test_unless_looks_at_every_interval_inside() -> None:
    assert complex_events("(A ; B) UNLESS C", "A B", 1) == {(0, 1)}
    assert complex_events("(A ; B) UNLESS C", "C A B", 2) == set()
    assert complex_events("A ; (B UNLESS C)", "C A B", 2) == {(1, 2)}


def test_strategies_of_section_7_on_the_running_examples() -> None:
    phi1, phi3 = EXAMPLES["phi1"][0], EXAMPLES["phi3"][0]
    assert complex_events(f"STRICT({phi1})", FIGURE_1, 8) == set()
    assert complex_events(f"STRICT({phi1})", FIGURE_1, 2) == {(1, 2)}
    assert complex_events(f"NXT({phi1})", FIGURE_1, 8) == {(1, 8)}
    assert complex_events(f"LAST({phi1})", FIGURE_1, 8) == {(5, 8)}
    assert complex_events(f"MAX({phi1})", FIGURE_1, 8) == {(1, 8), (5, 8)}
    for strategy in ("NXT", "LAST", "MAX"):
        assert complex_events(f"{strategy}({phi3})", FIGURE_1, 7) == {(3, 4, 6, 7)}


def test_the_orders_of_the_strategies() -> None:
    assert next_at_most(frozenset({5, 8}), frozenset({1, 8}))
    assert not next_at_most(frozenset({1, 8}), frozenset({5, 8}))
    assert last_at_most(frozenset({1, 8}), frozenset({5, 8}))
    assert not last_at_most(frozenset({5, 8}), frozenset({1, 8}))


def test_what_blows_up_stops_with_a_typed_error() -> None:
    with pytest.raises(BudgetExceeded):
        valuations(parse("A+"), stream("A " * 30), 29, Budget(valuations=1000))
    with pytest.raises(BudgetExceeded):
        valuations(parse("A:+"), stream("A " * 3000), 2999, Budget(valuations=10**9))


def test_a_window_of_events_has_so_many_events() -> None:
    assert complex_events("A ; B WITHIN 3 EVENTS", "A A C B", 3) == {(1, 3)}
    assert complex_events("A WITHIN 1 EVENTS", "C A", 1) == {(1,)}
    assert complex_events("PROJECT[](A) WITHIN 9 EVENTS", "A", 0) == set()


def test_a_window_of_time_is_closed() -> None:
    S = stream("A A B", time=[0, 1, 3601])
    assert complex_events("A ; B WITHIN 1 hour", S, 2) == {(1, 2)}
    assert complex_events("A ; B WITHIN 60 minutes", S, 2) == {(1, 2)}
    times = [datetime(2013, 1, 1, h, tzinfo=UTC) for h in (0, 1, 5)]
    assert complex_events("A ; B WITHIN 4 hours", stream("A A B", time=list(times)), 2) == {(1, 2)}


def test_a_window_on_an_attribute_spans_all_events_in_any_order() -> None:
    S = stream("A A B", x=[9, 4, 5])
    assert complex_events("A+ ; B WITHIN 4 [x]", S, 2) == {(0, 2), (1, 2)}
    assert complex_events("A+ ; B WITHIN 5 [x]", S, 2) == {(0, 2), (1, 2), (0, 1, 2)}
    assert complex_events("A WITHIN 5 [y]", S, 0) == set()
    assert complex_events("A ; B WITHIN 5 [y]", S, 2) == set()


def test_a_window_is_on_what_is_still_bound() -> None:
    """As the filter Q(W) on phi IN W would be."""
    assert complex_events("PROJECT[B](A ; B) WITHIN 1 EVENTS", "A C B", 2) == {(2,)}


def test_a_partition_wants_equal_values_of_every_event() -> None:
    S = stream("A A B", id=[1, 2, 1])
    assert complex_events("A ; B PARTITION BY [id]", S, 2) == {(0, 2)}
    assert complex_events("A PARTITION BY [id]", "A", 0) == set()
    for query in ("A+ ; B", "A ; B OR A"):
        bound = f"({query}) IN W FILTER W.id = W.id"
        assert by_position(f"({query}) PARTITION BY [id]", S) == by_position(bound, S)


def test_a_valuation_that_binds_nothing_is_not_contiguous_to_anything() -> None:
    assert complex_events("PROJECT[](A) : B", "A B", 1) == set()
    assert complex_events("START(PROJECT[](A))", "A", 0) == set()
    assert complex_events("STRICT(PROJECT[](A))", "A", 0) == {()}


def plainly(S: Stream) -> Meaning:
    """The meaning over S by the clauses and nothing else."""
    known: dict[tuple[int, int, int], Valuations] = {}

    def meaning(psi: Formula, i: int, j: int) -> Valuations:
        if (id(psi), i, j) not in known:
            known[id(psi), i, j] = frozenset(clause(psi, S, i, j, meaning))
        return known[id(psi), i, j]

    return meaning


@pytest.mark.parametrize("profile", ["core", "everything"])
def test_the_interpreter_skips_no_clause_that_has_a_valuation(profile: str) -> None:
    """It does not follow clauses that can add nothing; here they are all followed."""
    rng = Random(11)
    for _ in range(150):
        phi, S = case(rng, PROFILES[profile], nodes=8, events=6)
        interpreter, meaning = Interpreter(S), plainly(S)
        intervals = [(i, j) for i in range(len(S)) for j in range(i, len(S))]
        rng.shuffle(intervals)
        for psi in rng.sample(list(subformulas(phi)), k=len(list(subformulas(phi)))):
            for i, j in intervals:
                assert interpreter.meaning(psi, i, j) == meaning(psi, i, j), (show(psi), i, j)


def test_a_budget_of_seconds_ends_what_takes_longer() -> None:
    began = time.monotonic()
    with pytest.raises(BudgetExceeded, match=r"more than 0\.05 seconds; .*so far [1-9]\d* valuations, over [1-9]"):
        valuations(parse("A+"), stream("A " * 40), 39, Budget(valuations=10**9, seconds=0.05))
    assert time.monotonic() - began < 5


def test_a_budget_of_seconds_ends_what_finds_nothing() -> None:
    with pytest.raises(BudgetExceeded, match="seconds"):
        valuations(parse("(A ; B FILTER B.x = 2) UNLESS C"), stream("A B " * 30), 59, Budget(seconds=0.0))


@pytest.mark.parametrize("strategy", ["NXT", "LAST", "MAX"])
def test_a_strategy_looks_at_the_clock_while_it_compares(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All but one valuation lose to that one alone: nothing is found until it comes, and six seconds went by."""
    S, phi = stream("A " * 10), parse(f"{strategy}(A+)")
    assert isinstance(phi, Next | Last | Max)
    interpreter = Interpreter(S)
    assert len(interpreter.meaning(phi.phi, 0, 9)) == 512
    time_of_start, ticks = time.monotonic(), iter(range(10_000))
    with Budget(seconds=300).timed():
        monkeypatch.setattr("time.monotonic", lambda: time_of_start + next(ticks))
        with pytest.raises(BudgetExceeded, match="300 seconds"):
            interpreter.meaning(phi, 0, 9)


def test_valuations_found_again_count_too() -> None:
    """A round of A+ and the rounds of (A+)+ can be cut in many places: the budget is about the work."""
    with pytest.raises(BudgetExceeded, match="valuations"):
        valuations(parse("A++"), stream("A " * 10), 9, Budget(valuations=5_000))


def test_nan_and_infinities_are_in_no_window() -> None:
    """The difference of infinity and itself is not a number; a NaN is not at any distance, wherever it stands."""
    nan, inf = float("nan"), float("inf")
    for values in ([nan, 1.0], [1.0, nan], [inf, inf], [1.0, inf]):
        assert complex_events("A ; A WITHIN 5 [x]", stream("A A", x=values), 1) == set()
    assert complex_events("A WITHIN 5 [x]", stream("A", x=[nan]), 0) == set()
    assert complex_events("A WITHIN 5 [x]", stream("A", x=[inf]), 0) == set()


# ---- interpreter ----
# What is around the clauses of CEL: what is remembered by identity, and how a budget is counted.


def test_a_predicate_that_is_no_longer_used_elsewhere_is_not_taken_for_a_new_one() -> None:
    """Truth is remembered by the identity of a predicate, and Python gives the identity of what is gone to others."""
    facts = RememberedFacts(stream("A", x=[5]))
    found = [n for n in range(100) if facts.holds(Comparison(">", Attribute("x"), Constant(n)), 0)]
    assert found == [0, 1, 2, 3, 4]


def test_a_predicate_whose_identity_is_remembered_is_kept_alive() -> None:
    """As the test before, where Python happens not to give the identity to another."""
    facts, predicate = RememberedFacts(stream("A", x=[5])), Comparison(">", Attribute("x"), Constant(0))
    before = sys.getrefcount(predicate)
    assert facts.holds(predicate, 0)
    assert sys.getrefcount(predicate) > before


def test_a_formula_that_is_no_longer_used_elsewhere_is_not_taken_for_a_new_one() -> None:
    interpreter = Interpreter(stream("A"))
    found = [len(interpreter.meaning(parse(R), 0, 0)) for R in "AB" * 50]
    assert found == [1, 0] * 50


def test_valuations_and_intervals_are_counted_from_the_first() -> None:
    """A over 0 to 0 and over 0 to 1, B over 1 to 2, two of the whole; B over 2 to 2 inherits its valuation."""
    S, phi = stream("A A B"), parse("A ; B")
    assert len(Interpreter(S, Budget(valuations=5)).meaning(phi, 0, 2)) == 2
    with pytest.raises(BudgetExceeded, match=r"more than 4 valuations.*so far 5 valuations, over 4 intervals"):
        Interpreter(S, Budget(valuations=4)).meaning(phi, 0, 2)


def test_the_time_of_the_budget_counts_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 1000.0)
    interpreter = Interpreter(stream("A A A A"), Budget(seconds=5))
    phi = parse("A+ ; A")
    monkeypatch.setattr(time, "monotonic", lambda: 1004.0)
    assert interpreter.meaning(phi, 0, 2)
    monkeypatch.setattr(time, "monotonic", lambda: 1006.0)
    with pytest.raises(BudgetExceeded, match="5 seconds"):
        interpreter.meaning(phi, 0, 3)


# ---- bounded ----
# Bounded iteration: what it stands for, what is refused, and that large numbers end in an error.

A = cel.EventAtom("A")


def rounds(kind: type[Repeat], n: int) -> cel.Formula:
    """n rounds of A, written out."""
    phi: cel.Formula = A
    for _ in range(n - 1):
        phi = cel.Seq(phi, A) if kind is Repeat else cel.ContiguousSeq(phi, A)
    return phi


@pytest.mark.parametrize("kind", [Repeat, ContiguousRepeat])
@pytest.mark.parametrize("least", range(1, 6))
@pytest.mark.parametrize("more", [0, 1, 2, 3, 5, None])
def test_a_number_of_rounds_is_that_many_rounds(kind: type[Repeat], least: int, more: int | None) -> None:
    """Off by one in the halves would show for some numbers only."""
    S = Stream(map(Event, "AABAAAA"))
    most = None if more is None else least + more
    wanted = frozenset[object]().union(*(meaning(rounds(kind, n), S, 0, 6) for n in range(least, (most or len(S)) + 1)))
    assert meaning(kind(A, least, most), S, 0, 6) == wanted


def loops_by_rounds(phi: cel.Formula, psi: cel.Formula | None, S: Stream, i: int, j: int) -> Valuations:
    """phi~+ or, with psi, phi UNTIL psi, written from the sentences of docs/decisions/loops.md: round after round."""

    def over(chi: cel.Formula, a: int, b: int) -> bool:
        return any(meaning(chi, S, c, d) for d in range(a, b + 1) for c in range(a, d + 1))

    rounds = {(k, mu) for k in range(i, j + 1) for mu in meaning(phi, S, i, k)}  # by their ends
    pending = list(rounds)
    while pending:
        k, mu = pending.pop()
        for m in range(k + 1, j + 1):
            if over(phi, k + 1, m - 1) or (psi is not None and over(psi, k + 1, m)):
                continue
            new = {(m, mu | nu) for nu in meaning(phi, S, k + 1, m)} - rounds
            rounds |= new
            pending += new
    if psi is None:
        return frozenset(mu for k, mu in rounds if k == j)
    return frozenset(
        mu | nu
        for k, mu in rounds
        if k < j and not over(phi, k + 1, j - 1) and not over(psi, k + 1, j - 1)
        for nu in meaning(psi, S, k + 1, j)
    )


@pytest.mark.parametrize("seed", sampled(range(30), range(3)))
def test_loops_take_the_next_rounds(seed: int) -> None:
    rng = Random(f"loops {seed}")
    for _ in range(40):
        phi, psi = (generate.formula(rng, generate.EVERYTHING, rng.randint(1, 3)) for _ in range(2))
        S = generate.stream(rng, generate.EVERYTHING, rng.randint(1, 6), cel.Or(phi, psi))
        for loop, until in ((NextPlus(phi), None), (Until(phi, psi), psi)):
            expected = loops_by_rounds(phi, until, S, 0, len(S) - 1)
            assert meaning(loop, S, 0, len(S) - 1) == expected, f"{show(loop)} {S.events}"
            assert parse(show(loop)) == loop


@pytest.mark.parametrize(
    ("plain", "loop", "choices"),
    [
        ("B+", "B~+", {"loop": "no-gaps"}),
        ("B+ ; C", "B UNTIL C", {"loop": "taken-until-next", "seq": "next-from-left"}),
    ],
)
def test_loops_are_what_identify_calls_so(plain: str, loop: str, choices: dict[str, str]) -> None:
    for length in range(1, 5):
        for types in product("ABC", repeat=length):
            S = Stream(map(Event, types))
            found = INTERPRETATION.matches(parse(plain), S, choices_of(choices, INTERPRETATION.axes))
            assert found == frozenset(matches_of(parse(loop), S)), types


@pytest.mark.parametrize("text", ["A{0}", "A{0,2}", "A{3,2}", "A:{0,}", "A{1.5}", "A{,2}", "A{}"])
def test_what_is_refused(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


@pytest.mark.parametrize(("least", "most"), [(0, 1), (2, 1), (-1, None)])
def test_a_tree_that_is_no_formula(least: int, most: int | None) -> None:
    with pytest.raises(IllFormed):
        Repeat(A, least, most)


@pytest.mark.parametrize("text", ["A{1,1000000}", "A{100000000}", "A:{1000000,}", "((A{100}){100}){9}", "A{5000}"])
def test_too_many_rounds_are_an_error(text: str) -> None:
    with pytest.raises(BudgetExceeded, match="fewer rounds"):
        expanded(parse(text))
    assert size(expanded(parse("A{4999}"))) == 9997


def test_an_expansion_is_one_object_and_not_deep() -> None:
    """Interpreters remember formulas by identity; recursion goes as deep as the formula."""
    phi = Repeat(A, 1, 100)
    assert phi.expansion is phi.expansion
    assert size(phi.expansion) < 1000
    depth, level = 0, [phi.expansion]
    while level:
        depth += 1
        level = [child for psi in level for child in children(psi)]
    assert depth < 20


def test_expanded_formulas_keep_their_places_and_have_no_derived_operator() -> None:
    phi = parse("(A{2} ; B) FILTER A.x > 1")
    psi = expanded(phi)
    assert psi.span == phi.span
    assert not any(isinstance(part, cel.Derived) for part in subformulas(psi))
    assert expanded(psi) is psi


def test_what_has_no_derived_operator_in_it_stays_the_same_object() -> None:
    phi = parse("((A{2} WITHIN 3 EVENTS) ; MAX(B ; C))")
    left, right = children(expanded(phi))
    assert not any(isinstance(psi, cel.Derived) for psi in subformulas(left))
    assert right is children(phi)[1]


# ---- extent ----
# What the interpreter skips: every entry of its tables may be missing, and a wrong one is found.

INSIDE = tuple(map(parse, ("A", "A ; B", "B ; A", "B OR (A ; B)", "PROJECT[](A ; B)")))
STREAMS = tuple(
    Stream(Event(R, {"x": n % 2}) for n, R in enumerate(types)) for types in ("AAAB", "ABAB", "BABA", "AAB")
)


def around(operator: type) -> Iterator[Formula]:
    """Formulas with the operator, by itself and where intervals begin that are not the whole stream."""
    for below in product(INSIDE, repeat=len(operator.operands)):  # type: ignore[attr-defined]
        for make in OPERATORS[operator].instances():
            phi = make(*below)
            yield from (phi, cel.Seq(cel.EventAtom("A"), phi), cel.Plus(phi), cel.Unless(cel.EventAtom("B"), phi))


def departs(operator: type) -> bool:
    """Whether the interpreter departs from the clauses on a formula with the operator."""
    for phi in around(operator):
        for S in STREAMS:
            upwards, downwards = Interpreter(S), Interpreter(S)
            intervals = [(i, j) for j in range(len(S)) for i in range(j + 1)]
            for i, j in intervals:
                if upwards.meaning(phi, i, j) != meaning(phi, S, i, j):
                    return True
            for i, j in reversed(intervals):
                if downwards.meaning(phi, i, j) != upwards.meaning(phi, i, j):
                    return True
    return False


NODES = [operator.node for operator in OPERATORS.values()]


@pytest.mark.parametrize("operator", sampled(NODES, NODES[::3]))
@pytest.mark.slow
def test_the_tables_are_right_and_no_entry_is_needed(operator: type, monkeypatch: pytest.MonkeyPatch) -> None:
    """An operator that the tables do not have is never skipped: only slower."""
    assert not departs(operator)
    monkeypatch.setitem(interpreter.LAST, operator, lambda below: None)
    others = tuple(node for node in NODES if issubclass(node, interpreter.INHERITING) and node is not operator)
    monkeypatch.setattr(interpreter, "INHERITING", others)
    assert not departs(operator)


LOOKS_FURTHER = (cel.Start, cel.Project, cel.Unless, cel.Next, cel.Last, cel.Max)
"""Operators whose clause depends on more than the valuations of the operands and the events in them."""


@pytest.mark.slow
def test_no_entry_is_missing() -> None:
    """A missing entry changes no answer, but every formula with the operator would be followed over all intervals."""
    nodes = {operator.node for operator in OPERATORS.values() if not issubclass(operator.node, cel.Derived)}
    assert {node for node in nodes if set(node.__mro__) & set(interpreter.LAST)} == nodes - {cel.EventAtom}
    assert nodes - set(LOOKS_FURTHER) == {node for node in nodes if issubclass(node, interpreter.INHERITING)}


@pytest.mark.parametrize("operator", LOOKS_FURTHER)
@pytest.mark.slow
def test_an_operator_that_does_not_inherit_is_found(operator: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interpreter, "INHERITING", (*interpreter.INHERITING, operator))
    assert departs(operator)


WRONG = [
    *((operator, interpreter._first) for operator in (cel.Seq, cel.ContiguousSeq, cel.Or, cel.All)),
    *((operator, interpreter._second) for operator in (cel.Or, cel.All, cel.Unless)),
    *((operator, interpreter._both) for operator in (cel.Seq, cel.ContiguousSeq, cel.Or, cel.All, cel.Unless)),
]


@pytest.mark.parametrize(("operator", "wrong"), WRONG)
@pytest.mark.slow
def test_a_wrong_last_type_is_found(operator: type, wrong: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(interpreter.LAST, operator, wrong)
    assert departs(operator)


@pytest.mark.slow
def test_nxt_under_a_sequence() -> None:
    """With NXT among the operators that inherit, {1, 2, 3} is lost."""
    S = Stream(map(Event, "AAAB"))
    phi = parse("A ; NXT(A ; B)")
    found = {frozenset(p for _, p in mu) for mu in Interpreter(S).meaning(phi, 0, 3)}
    assert frozenset({1, 2, 3}) in found
    assert Interpreter(S).meaning(phi, 0, 3) == Interpreter(S, pruned=False).meaning(phi, 0, 3) == meaning(phi, S, 0, 3)


# ---- depth ----
# Formulas and texts that are nested much too deeply: a result or a typed error, never a RecursionError.

DEEP = 2000
POSITIVE = Comparison(">", Attribute("x"), Constant(0))


def nested(around: Callable[[cel.Formula], cel.Formula]) -> cel.Formula:
    return reduce(lambda phi, _: around(phi), range(DEEP), A)


@pytest.mark.slow
def test_the_atoms_of_a_deep_condition() -> None:
    left = reduce(cel.Conjunction, [cel.Every("A", POSITIVE)] * DEEP)
    right = reduce(lambda c, d: cel.Disjunction(d, c), [cel.Every("A", POSITIVE)] * DEEP)
    for condition in (left, right):
        assert len(list(cel.atoms(condition))) == DEEP
        assert cel.size(cel.Filter(A, condition)) == 1 + DEEP


def a_filter(P: Predicate) -> cel.Formula:
    return cel.Filter(A, cel.Every("A", P))


def sum_of_many() -> Term:
    return reduce(lambda t, _: Arithmetic("+", t, Constant(1)), range(DEEP), Attribute("x"))


FORMULAS: dict[str, Callable[[], cel.Formula]] = {
    "A ; A ; ...": lambda: nested(lambda phi: cel.Seq(phi, A)),
    "A ; (A ; ...": lambda: nested(lambda phi: cel.Seq(A, phi)),
    "A OR A OR ...": lambda: nested(lambda phi: cel.Or(phi, A)),
    "A ALL A ALL ...": lambda: nested(lambda phi: cel.All(phi, A)),
    "A IN X IN X ...": lambda: nested(lambda phi: cel.In(phi, "X")),
    "A++...": lambda: nested(cel.Plus),
    "NXT(NXT(...": lambda: nested(cel.Next),
    "A FILTER ... FILTER ...": lambda: nested(lambda phi: cel.Filter(phi, cel.Every("A", POSITIVE))),
    "A FILTER ... AND ...": lambda: cel.Filter(A, reduce(cel.Conjunction, [cel.Every("A", POSITIVE)] * DEEP)),
    "A FILTER A[not not ...": lambda: a_filter(reduce(lambda P, _: Not(P), range(DEEP), POSITIVE)),
    "A FILTER A[x + 1 + ...": lambda: a_filter(Comparison(">", sum_of_many(), Constant(0))),
}
each_formula = pytest.mark.parametrize("make", FORMULAS.values(), ids=FORMULAS)


@each_formula
@pytest.mark.slow
def test_deep_trees_are_compared_hashed_and_written(make: Callable[[], cel.Formula]) -> None:
    phi, same = make(), make()
    assert phi == same
    assert hash(phi) == hash(same)
    assert phi != cel.Plus(same)
    assert len(repr(phi)) > DEEP
    assert len({phi, same, A}) == 2


@pytest.mark.slow
def test_a_tree_is_hashed_once_and_leaves_its_hash_behind_when_it_is_pickled() -> None:
    """Strings have other hashes in another process: a tree that took its hash along would not be found in a dict."""
    phi = parse("A ; B")
    assert hash(phi) == hash(phi) == phi.__dict__["_hash"]
    phi.__dict__["_hash"] += 1
    other = pickle.loads(pickle.dumps(phi))
    assert other == phi
    assert hash(other) == hash(parse("A ; B")) != hash(phi)


@each_formula
@pytest.mark.slow
def test_of_a_deep_tree_the_size_and_the_fragment_are_known(make: Callable[[], cel.Formula]) -> None:
    phi = make()
    assert cel.size(phi) >= 2
    assert is_unary(phi)
    assert isinstance(beyond_star(phi), frozenset)


@each_formula
@pytest.mark.parametrize(
    "ask",
    [show, problems, lambda phi: valuations(phi, stream("A A A", x=[1, 1, 1]), 2)],
    ids=["show", "problems", "valuations"],
)
@pytest.mark.slow
def test_a_deep_tree_has_an_answer_or_a_typed_error(
    make: Callable[[], cel.Formula], ask: Callable[[cel.Formula], object]
) -> None:
    said = "an answer"
    try:
        ask(make())
    except (BudgetExceeded, RecursionError) as error:  # the traceback of the second would take minutes to print
        said = f"{type(error).__name__}: {error}"
    assert said == "an answer" or (said.startswith("BudgetExceeded") and "nested" in said)


@pytest.mark.parametrize(
    ("phi", "other"),
    [
        (cel.Seq(A, cel.Plus(A)), cel.Seq(cel.Plus(A), A)),
        (cel.In(A, "X"), cel.In(A, "Y")),
        (cel.Plus(A), cel.ContiguousPlus(A)),
        (cel.Project(frozenset({"A"}), A), cel.Project(frozenset(), A)),
        (a_filter(POSITIVE), a_filter(Not(POSITIVE))),
        (cel.Filter(A, cel.Named("f", ("A", "B"))), cel.Filter(A, cel.Named("f", ("A",)))),
    ],
)
@pytest.mark.slow
def test_trees_that_differ_are_not_equal(phi: cel.Formula, other: cel.Formula) -> None:
    assert phi != other
    assert phi == phi
    assert repr(phi) != repr(other)
    assert phi != "A"


@pytest.mark.slow
def test_the_repr_is_python() -> None:
    phi = parse("PROJECT[A](A+ IN X ; B) FILTER A[not x > 1 and x in {1, 2}] AND f(A, B)")
    names = {**vars(predicates), **vars(cel)}
    assert eval(repr(phi), {**names, "frozenset": frozenset}) == phi
    assert repr(cel.In(A, "X")) == "In(phi=EventAtom(type='A'), variable='X')"


@pytest.mark.parametrize("parenthesized", ["A", "A FILTER A.x > 1"])
@pytest.mark.slow
def test_ten_thousand_parentheses(parenthesized: str) -> None:
    assert parse("(" * 10_000 + parenthesized + ")" * 10_000) == parse(parenthesized)
    with pytest.raises(ParseError, match="ends too early"):
        parse("(" * 10_000 + parenthesized)


@pytest.mark.slow
def test_ten_thousand_parentheses_in_a_filter() -> None:
    many, closing = "(" * 10_000, ")" * 10_000
    assert parse(f"A FILTER {many}A.x > 1{closing}") == parse("A FILTER A.x > 1")
    assert parse(f"A FILTER A[{many}x > 1{closing}]") == parse("A FILTER A.x > 1")
    assert parse(f"A FILTER A.x > {many}1{closing}") == parse("A FILTER A.x > 1")


@pytest.mark.parametrize(
    "text",
    [
        " ; ".join("A" * 1000),
        "A" + " IN X" * DEEP,
        "A" + "+" * DEEP,
        "A ; (" * DEEP + "A" + ")" * DEEP,
        "A FILTER " + " AND ".join(["A.x > 1"] * DEEP),
        "A FILTER A[" + "not " * DEEP + "x > 1]",
        "A FILTER A[" + " and ".join(["x > 1"] * DEEP) + "]",
        "A FILTER A.x " + "+ 1 " * DEEP + "> 1",
        "A FILTER A.x > " + "- " * DEEP + "A.x",
    ],
    ids=lambda text: text[:12],
)
@pytest.mark.slow
def test_a_text_nested_too_deeply_is_refused(text: str) -> None:
    """The predicates were looked at while the tree was built, before its depth was known."""
    with pytest.raises(BudgetExceeded, match="more than 200 operators deep") as caught:
        parse(text)
    assert caught.value.span is not None


@pytest.mark.parametrize("text", ["A FILTER A.x > {}", "A FILTER A[x in {{1, {}}}]", "A WITHIN {} EVENTS"])
@pytest.mark.slow
def test_a_number_of_very_many_digits_is_refused_where_it_stands(text: str) -> None:
    """Python itself reads no more than 4300 digits."""
    digits = "9" * 5000
    with pytest.raises(ParseError, match="more than 308 digits") as caught:
        parse(text.format(digits))
    span = caught.value.span
    assert span is not None
    assert span.end - span.start == 5000


@pytest.mark.slow
def test_core_cel_shares_these_limits() -> None:
    with pytest.raises(BudgetExceeded):
        parse_core_cel("A AS x FILTER x.a " + "+ 1 " * DEEP + "> 1")
    with pytest.raises(ParseError, match="more than 308 digits"):
        parse_core_cel("A AS x FILTER x.a > " + "9" * 5000)


DEEPER = 20_000
OTHERS: dict[str, Callable[[], object]] = {
    "core-cel": lambda: reduce(lambda phi, _: core.CorePlus(phi), range(DEEPER), core.CoreEventAtom("A", "x")),
    "core-cel OR": lambda: reduce(core.CoreOr, [core.CoreEventAtom("A", "x")] * DEEPER),
    "cel FILTER": lambda: reduce(lambda phi, _: cel.Filter(phi, cel.Every("A", POSITIVE)), range(DEEPER), A),
    "cel not": lambda: a_filter(reduce(lambda P, _: Not(P), range(DEEPER), POSITIVE)),
    "event-expression": lambda: reduce(
        lambda E, _: expressions.ExpressionNot(E), range(DEEPER), expressions.Primitive("A")
    ),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.slow
def test_the_functions_of_the_api_refuse_what_is_nested_too_deeply(name: str) -> None:
    """Some ended in a RecursionError, and compile took minutes of a thousand filters after each other."""
    query, S = OTHERS[name](), [cerify.Event("A", {"x": 1})]
    for function in (
        lambda: cerify.match(query, S),
        lambda: cerify.count(query, S),
        lambda: cerify.compile(query),
        lambda: cerify.explain(query, S, [0], at=0),
        lambda: cerify.show(query),
    ):
        with pytest.raises((BudgetExceeded, Unsupported)):
            function()
    assert isinstance(cerify.equivalent(query, query), cerify.Undecided)


# ---- registered ----
# Predicates over sets of events that a user registers.


def same_zone(left: Events, right: Events) -> bool:
    return {event.get("zone") for event in left} == {event.get("zone") for event in right}


def rising(events: Events) -> bool:
    values = [event.attributes["zone"] for event in events]
    return values == sorted(values)  # type: ignore[type-var]


S = stream("A A B B", zone=[1, 2, 2, 1])


def matches(query: str, at: int, **predicates: object) -> set[tuple[int, ...]]:
    mus = Interpreter(S, predicates=predicates).meaning(parse(query), 0, at)  # type: ignore[arg-type]
    return {tuple(sorted(sup(mu))) for mu in mus}


def test_a_predicate_is_over_the_sets_that_the_variables_bind() -> None:
    assert matches("A ; B FILTER same_zone(A, B)", 3, same_zone=same_zone) == {(0, 3)}
    assert matches("A+ ; B+ FILTER same_zone(A, B)", 3, same_zone=same_zone) == {(0, 3), (0, 1, 2, 3)}


def test_events_come_in_the_order_of_the_stream() -> None:
    assert (0, 1, 2) in matches("(A OR B)+ IN X FILTER rising(X)", 2, rising=rising)
    assert (2, 3) not in matches("(A OR B)+ IN X FILTER rising(X)", 3, rising=rising)


def test_a_variable_that_binds_nothing_gives_an_empty_set() -> None:
    assert matches("A FILTER none(Z)", 0, none=lambda events: events == ()) == {(0,)}


def test_with_and_and_or_it_is_an_atom_as_any_other() -> None:
    assert matches("A ; B FILTER same_zone(A, B) AND A.zone > 1", 3, same_zone=same_zone) == set()
    assert matches("A ; B FILTER same_zone(A, B) OR A.zone > 1", 3, same_zone=same_zone) == {(0, 3), (1, 3)}


def test_two_interpreters_know_different_predicates() -> None:
    """A registry is a value: nothing is registered for everybody."""
    assert matches("A FILTER ok(A)", 1, ok=lambda events: True) == {(1,)}
    assert matches("A FILTER ok(A)", 1, ok=lambda events: False) == set()
    with pytest.raises(Unsupported):
        matches("A FILTER ok(A)", 1)


@pytest.mark.parametrize(
    ("query", "predicates", "error", "says"),
    [
        ("A FILTER ok(A)", {}, Unsupported, "ok is not registered; none is registered"),
        (
            "A FILTER ok(A)",
            {"b": rising, "a": rising},
            Unsupported,
            "ok is not registered; the registered predicates are a, b",
        ),
        ("A FILTER ok(A)", {"ok": 5}, IllFormed, "ok is 5; it must be a function"),
        ("A FILTER ok(A)", {"ok": None}, IllFormed, "ok is None; it must be a function"),
        ("A FILTER ok(A, A)", {"ok": rising}, IllFormed, "ok is given 2 variables, but its function takes (events:"),
        ("A FILTER ok(A)", {"ok": lambda events: 1 / 0}, IllFormed, "ok failed with ZeroDivisionError: div"),
        ("A FILTER ok(A)", {"ok": lambda events: 1}, IllFormed, "ok returned 1; it must return True or False"),
        ("A FILTER ok(A)", {"ok": lambda events: None}, IllFormed, "ok returned None"),
    ],
)  # fmt: skip
def test_errors_name_the_predicate_and_its_place(
    query: str, predicates: Predicates, error: type[Unsupported | IllFormed], says: str
) -> None:
    with pytest.raises(error) as caught:
        Interpreter(S, predicates=predicates).meaning(parse(query), 0, 0)
    assert says in caught.value.message
    assert caught.value.span is not None
    assert query[caught.value.span.start : caught.value.span.end].startswith("ok(")


def test_what_is_not_registered_is_an_error_even_where_nothing_matches() -> None:
    with pytest.raises(Unsupported):
        Interpreter(S).meaning(parse("Z ; A FILTER ok(A)"), 0, 0)


def test_a_formula_tells_which_predicates_it_needs() -> None:
    phi = parse("(A FILTER f(A)) ; (B FILTER B.zone = 1 AND g(A, B))")
    assert [(atom.name, atom.variables) for atom in find_named_atoms(phi)] == [("f", ("A",)), ("g", ("A", "B"))]
    require_registered(phi, {"f": rising, "g": same_zone})


def test_a_builtin_that_hides_its_signature_is_called() -> None:
    assert matches("A FILTER ok(A)", 0, ok=bool) == {(0,)}


def is_pair(events: Events) -> bool:
    return len(events) == 2


@pytest.mark.parametrize(
    ("predicate", "zones", "expected"),
    [
        (is_pair, [1, 1], set()),
        (is_pair, [1, 2], {(0, 1)}),
        (is_pair, [1, True], {(0, 1)}),
        (WithRepetitions(is_pair), [1, 1], {(0, 1)}),
        (WithRepetitions(is_pair), [1, 2], {(0, 1)}),
    ],
)
def test_a_set_has_equal_events_once(predicate: object, zones: list[int], expected: set[tuple[int, ...]]) -> None:
    """Figure 3 hands over S[μ(A)], a set of tuples (docs/decisions/registered-predicates.md)."""
    mus = Interpreter(stream("A A", zone=zones), predicates={"pair": predicate}).meaning(  # type: ignore[dict-item]
        parse("A+ FILTER pair(A)"), 0, 1
    )
    assert {tuple(sorted(sup(mu))) for mu in mus} == expected


def test_a_wrapped_predicate_is_checked_as_its_function_is() -> None:
    for wrong in (WithRepetitions(same_zone), WithRepetitions(5)):  # type: ignore[arg-type]
        with pytest.raises(IllFormed):
            matches("A FILTER ok(A)", 0, ok=wrong)
    assert pickle.loads(pickle.dumps(WithRepetitions(rising))) == WithRepetitions(rising)


def test_what_is_not_registered_is_a_value_and_what_is_no_predicate_an_error() -> None:
    phi = parse("(A ; B) FILTER same(A, B)")
    refused = unregistered(phi, {"rising": rising})
    assert isinstance(refused, Unsupported)
    assert refused.message == "the predicate same is not registered; the registered predicates are rising"
    assert unregistered(phi, {"same": same_zone}) is None
    for wrong in (rising, 3):  # of one variable; no function
        with pytest.raises(IllFormed):
            unregistered(phi, {"same": wrong})  # type: ignore[dict-item]


def test_the_relation_of_a_predicate_that_is_not_registered() -> None:
    (atom,) = find_named_atoms(parse("(A ; B) FILTER same(A, B)"))
    with pytest.raises(Unsupported, match="the predicate same is not registered; none is registered"):
        in_relation(atom, ((), ()), {})
