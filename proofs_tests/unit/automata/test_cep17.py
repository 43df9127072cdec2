"""The algorithms of cep17: what they output, against the definitions, and what holds of their data structures."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise, product
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, UNMARKED, Transition
from cerify.automata.evaluate.ces import BOTTOM, NOTHING
from cerify.automata.evaluate.tables import classify
from cerify.automata.exploration import members
from cerify.equivalence.generate.core_cel import UNARY_FILTERS, case
from cerify.equivalence.rewrite.translate_core_cel import to_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicates import Anything, OfType
from proofs_tests.claims.cep17_automata import drawn, meaning
from proofs_tests.claims.cep17_evaluation import (
    END,
    BlackWhiteStack,
    Cep17Next,
    Everything,
    Listed,
    Maximal,
    NodeLists,
    Ranked,
    Strategy,
    complex_events,
    enum_all,
    evaluate,
    evaluation,
)
from proofs_tests.claims.tods21_measured import nodes_of, valid
from proofs_tests.support import FIGURE_1, sampled, stream

STRATEGIES: dict[Strategy, Callable[[core.Formula], core.Formula]] = {
    "all": lambda phi: phi,
    "strict": core.CoreStrict,
    "nxt": core.CoreNext,
    "last": core.CoreLast,
    "max": core.CoreMax,
}
MARKED = frozenset({"•"})


def automaton(query: str) -> CEA:
    return compile_cel(parse(query))


def listed(query: str, S: Stream, strategy: Strategy) -> dict[int, list[tuple[int, ...]]]:
    found: dict[int, list[tuple[int, ...]]] = {}
    for match in evaluate(automaton(query), S, strategy):
        found.setdefault(match.at, []).append(match.events)
    return {at: sorted(events) for at, events in found.items()}


# --- outputs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", sampled([120, 400], [120]))
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_formulas_have_the_complex_events_of_their_definition(strategy: Strategy, number: int) -> None:
    rng, wrapped, cases, some = Random(71), STRATEGIES[strategy], 0, 0
    while cases < number:
        phi, S = case(rng, UNARY_FILTERS, 8, 7)
        try:
            A = compile_cel(to_cel(phi))
        except Unsupported:
            continue
        cases += 1
        found = list(evaluate(A, S, strategy))
        assert sorted(found) == matches_of(wrapped(phi), S), f"{show(wrapped(phi))} over {S.events}"
        some += bool(found)
    assert some > 0.375 * number


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_random_automata_have_the_complex_events_of_their_runs(strategy: Strategy) -> None:
    """Also those that no formula gives: final states that are reached without a mark, many initial ones."""
    for A, S in drawn("quick", seed=int.from_bytes(strategy.encode()[:2])):
        found = list(evaluate(A, S, strategy))
        expected = [Match(n, tuple(sorted(C))) for n, Cs in enumerate(meaning(A, S, strategy)) for C in Cs]
        assert sorted(found) == sorted(expected)
        assert [match.at for match in found] == sorted(match.at for match in found)


def test_the_running_example_under_each_strategy() -> None:
    """cep17, section 4: what the text says of fire, and of the temperatures while the humidity rose."""
    fire = "(T ; H) FILTER T.tmp > 40 AND H.hum <= 25 AND T.id = 0 AND H.id = 0"
    rise = "(H IN H1 ; T+ ; H IN H2) FILTER H1.hum < 30 AND H2.hum > 60 AND H.id = 1 AND T.id = 1"
    assert listed(fire, FIGURE_1, "all") == {2: [(1, 2)], 8: [(1, 8), (5, 8)]}
    assert listed(fire, FIGURE_1, "strict") == {2: [(1, 2)]}
    assert listed(fire, FIGURE_1, "nxt") == {2: [(1, 2)], 8: [(1, 8)]}
    assert listed(fire, FIGURE_1, "last") == {2: [(1, 2)], 8: [(5, 8)]}
    assert listed(fire, FIGURE_1, "max") == {2: [(1, 2)], 8: [(1, 8), (5, 8)]}
    assert listed(rise, FIGURE_1, "all") == {7: [(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)]}
    for strategy in ("nxt", "last", "max"):
        assert listed(rise, FIGURE_1, strategy) == {7: [(3, 4, 6, 7)]}


def test_nxt_hands_out_what_ends_here_though_an_earlier_one_stands_before_it() -> None:
    """The counterexample of cep17.alg5: {0} is the best complex event of the final state, and {1} the answer."""
    A = CEA(
        2,
        (
            Transition(0, Anything(), UNMARKED, 0),
            Transition(0, Anything(), MARKED, 1),
            Transition(1, Anything(), UNMARKED, 1),
        ),
        frozenset({0}),
        frozenset({1}),
    )
    assert list(evaluate(A, stream("A A"), "nxt")) == [Match(0, (0,)), Match(1, (1,))]


def test_the_empty_run_does_not_hide_what_ends_in_its_state() -> None:
    """The counterexample of cep17.alg8: the sink on top of the list would end it before the first node."""
    loops = tuple(Transition(0, Anything(), marks, 0) for marks in (UNMARKED, MARKED))
    A = CEA(1, loops, frozenset({0}), frozenset({0}))
    assert list(evaluate(A, stream("A A"), "strict")) == [Match(0, (0,)), Match(1, (0, 1)), Match(1, (1,))]


def test_too_many_sets_at_once_are_an_error() -> None:
    steps = tuple(Transition(q, Anything(), marks, q + 1) for q in range(1, 12) for marks in (UNMARKED, MARKED))
    loops = tuple(Transition(0, Anything(), marks, q) for marks, q in ((UNMARKED, 0), (MARKED, 0), (MARKED, 1)))
    A = CEA(13, (*loops, *steps), frozenset({0}), frozenset({12}))
    with pytest.raises(BudgetExceeded, match="more than 100 states are reached at once"):
        list(evaluate(A, stream("A " * 20), "all", Budget(states=100)))
    assert list(evaluate(A, stream("A " * 12), "last", Budget(states=100))) == [Match(11, tuple(range(12)))]


# --- the data structures ----------------------------------------------------------------------------------------------


def _running(strategies: tuple[Strategy, ...]) -> Iterator[tuple[object, CEA, Stream]]:
    """Evaluations of random automata, after every event."""
    for strategy in strategies:
        for A, S in drawn("quick", seed=72):
            running = evaluation(A, strategy)
            for n, type_ in enumerate(classify(running.A.A.predicates, S)):
                running.push(type_)
                yield running, A, Stream(S[: n + 1])


def test_the_lists_of_all_states_keep_the_five_properties_and_their_order() -> None:
    seen = 0
    for running, _, S in _running(("all", "strict", "max")):
        assert isinstance(running, Listed)
        D = running.D
        assert valid(D)
        ends = Counter(last for _, last in running.T.values())
        assert all(n == 1 for n in ends.values()), "two lists end in one node, and would go on alike"
        assert all(D.next[last] == NOTHING for _, last in running.T.values())
        carried = []
        for nodes in running.T.values():
            positions = [D.event[node] for node in nodes_of(D, nodes)]
            new = positions.count(len(S) - 1)
            assert set(positions[:new]) <= {len(S) - 1}, "the nodes of the present position come first"
            assert list(D.top(nodes, len(S) - 1)) == nodes_of(D, nodes)[:new]
            for node in nodes_of(D, nodes):
                carried += [()] if node == BOTTOM else list(complex_events(enum_all(D, node)))
        assert len(carried) == len(set(carried)), "one complex event in two places"
        seen += len(carried)
    assert seen > 3000


def test_a_list_means_the_same_for_ever() -> None:
    for strategy in ("all", "strict", "max"):
        for A, S in drawn("quick", seed=73):
            running = evaluation(A, strategy)
            kept = []
            for type_ in classify(running.A.A.predicates, S):
                running.push(type_)
                kept += [(root, list(complex_events(enum_all(running.D, root)))) for root in running.roots()]
            assert all(list(complex_events(enum_all(running.D, root))) == Cs for root, Cs in kept)


def test_the_state_of_a_list_is_where_the_runs_of_its_complex_events_are() -> None:
    """Algorithm 4: exactly the states. Algorithm 7: T those not reached by a larger one, and U those that are."""
    for running, A, S in _running(("all", "max")):
        reached = _reached(A, S)
        assert isinstance(running, Everything | Maximal)
        carried = {}
        for state, nodes in running.T.items():
            for node in nodes_of(running.D, nodes):
                Cs = [()] if node == BOTTOM else complex_events(enum_all(running.D, node))
                carried |= {frozenset(C): state for C in Cs}
        if isinstance(running, Everything):
            assert carried == {C: sum(1 << q for q in states) for C, states in reached.items()}
            continue
        for C, state in carried.items():
            assert isinstance(state, tuple)
            larger = set[int]().union(*(states for other, states in reached.items() if other > C))
            assert set(members(state[1])) == larger
            assert set(members(state[0])) == reached[C] - larger


def test_the_ranking_has_each_state_with_its_best_complex_event_in_their_order() -> None:
    for running, A, S in _running(("nxt", "last")):
        assert isinstance(running, Ranked)
        earlier_decides = isinstance(running, Cep17Next)

        def key(C: frozenset[int], n: int = len(S), forwards: bool = earlier_decides) -> list[bool]:
            return [i in C for i in (range(n) if forwards else reversed(range(n)))]

        best: dict[int, frozenset[int]] = {}
        for C, states in _reached(A, S).items():
            best |= {q: C for q in states if q not in best or key(best[q]) < key(C)}
        ranked: list[tuple[frozenset[int], list[int]]] = [
            (frozenset() if node == BOTTOM else frozenset(next(complex_events(enum_all(running.D, node)))), states)
            for node, states in running.ranking
        ]
        assert {q: C for C, states in ranked for q in states} == best
        assert sum(len(states) for _, states in ranked) == len(best)
        assert all(key(C) > key(D) for (C, _), (D, _) in pairwise(ranked))


def _reached(A: CEA, S: Stream) -> dict[frozenset[int], set[int]]:
    """Of each complex event the states that its runs have reached after the stream."""
    runs = {(q, frozenset[int]()) for q in A.initial}
    for n, type_ in enumerate(classify(A.predicates, S)):
        bits = {P for i, P in enumerate(A.predicates) if type_ >> i & 1}
        runs = {(t.target, C | {n} if t.marks else C) for q, C in runs for t in A.leaving[q] if t.predicate in bits}
    reached: dict[frozenset[int], set[int]] = {}
    for q, C in runs:
        reached.setdefault(C, set()).add(q)
    return reached


# --- enumeration ------------------------------------------------------------------------------------------------------


def test_the_tape_of_two_paths_that_meet_in_the_root() -> None:
    D = NodeLists()
    first = D.add(0, (BOTTOM, BOTTOM), None)
    second = D.add(1, (BOTTOM, BOTTOM), None)
    (root, _) = D.add(2, D.joined(first, second), None)
    assert list(enum_all(D, root)) == [2, 0, END, 2, 1, END]


def test_popping_white_nodes_is_one_step_and_leaves_the_black_one() -> None:
    D, stack = NodeLists(), BlackWhiteStack()
    nodes = [D.extend(position, MARKED, (BOTTOM, BOTTOM)) for position in range(4)]
    stack.push(nodes[0])
    stack.push(nodes[1])
    stack.blacken((nodes[3], nodes[3]))
    stack.push(nodes[2])
    stack.push(nodes[3])
    assert stack.pop_white() == (nodes[3], nodes[3])
    assert list(stack.recap(D)) == [0, 1]
    assert not stack.black
    stack.push(nodes[3])
    assert list(stack.recap(D)) == [0, 1, 3]


def test_a_long_complex_event_overflows_nothing() -> None:
    S = stream("A " * 3000 + "B")
    for strategy in ("nxt", "last", "max"):
        assert [len(match.events) for match in evaluate(automaton("A+ ; B"), S, strategy)] == [3001]


def test_every_transition_is_looked_at_once_for_nxt_and_last() -> None:
    """The lists of NXT and LAST need no sets: all states of a large automaton at once, one step each."""
    n = 60
    A = CEA(
        n,
        tuple(
            Transition(p, OfType("A"), marks, q) for p, q in product(range(n), repeat=2) for marks in (UNMARKED, MARKED)
        ),
        frozenset({0}),
        frozenset(range(n)),
    )
    for strategy in ("nxt", "last"):
        running = evaluation(A, strategy)
        asked: Counter[tuple[int, bool]] = Counter()
        of = running.A.of

        def counting(
            q: int,
            type_: int,
            marked: bool,
            of: Callable[..., list[int]] = of,
            asked: Counter[tuple[int, bool]] = asked,
        ) -> list[int]:
            asked[q, marked] += 1
            return of(q, type_, marked)

        running.A.of = counting  # type: ignore[method-assign]
        for _ in range(3):
            asked.clear()
            running.push(1)
            assert set(asked.values()) == {1}
        assert [C for root in running.roots() for C in complex_events(enum_all(running.D, root))] == [(0, 1, 2)]
