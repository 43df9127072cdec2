"""Claims about the automata and algorithms of cep17: the printed text and the library, against the runs of a CEA."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations, product
from random import Random
from typing import Any, cast

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Transition, io_determinize, single_variable
from cerify.automata.evaluate.tables import classify
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.core_cel.denote import last_at_most, next_at_most
from cerify.semantics.events import ComplexEvent, Event, Stream
from cerify.semantics.predicates import Anything, OfType, Predicate
from proofs_tests.claims import broken, cea_runs, cep17_evaluation, printed_cep17
from proofs_tests.claims.cep17_evaluation import Delta, Strategy, complex_events, enum_all, evaluate
from proofs_tests.claims.ledger import Effort, Finding, Kind, claim, plant

LOST = "from the surrounding text; the listing or the formulas are missing in our copy"
EVENTS = (Event("A"), Event("B"))
Outputs = Sequence[Collection[ComplexEvent]]
Evaluator = Callable[[CEA, Stream], Outputs]


# --- what is looked at ------------------------------------------------------------------------------------------------


def smallest(effort: Effort) -> Iterator[CEA]:
    """All automata on events of any kind, from the first state: of one and two states, and some of three by size."""
    for states, most in ((1, 2), (2, 8), (3, 2 if effort == "quick" else 4)):
        edges = [
            Transition(p, Anything(), m, q) for p, q in product(range(states), repeat=2) for m in (UNMARKED, MARKED)
        ]
        for size in range(1, most + 1):
            for transitions in combinations(edges, size):
                for chosen in range(1, states + 1):
                    for final in combinations(range(states), chosen):
                        yield CEA(states, transitions, frozenset({0}), frozenset(final))


def drawn(effort: Effort, seed: int) -> Iterator[tuple[CEA, Stream]]:
    """Random automata of one to four states that tell A and B apart, from any states, with random streams."""
    draw = Random(seed)
    labels: list[tuple[Predicate, frozenset[str]]] = [
        (P, m) for P in (Anything(), OfType("A"), OfType("B")) for m in (UNMARKED, MARKED)
    ]
    for _ in range(200 if effort == "quick" else 2000):
        n = draw.randint(1, 4)
        edges = {
            Transition(draw.randrange(n), *draw.choice(labels), draw.randrange(n)): None
            for _ in range(draw.randint(1, 3 * n))
        }
        initial, final = (frozenset(draw.sample(range(n), draw.randint(1, n))) for _ in range(2))
        yield CEA(n, tuple(edges), initial, final), Stream(draw.choices(EVENTS, k=draw.randint(1, 6)))


def cases(effort: Effort, seed: int) -> Iterator[tuple[CEA, Stream]]:
    """Every position of a stream is looked at, so that of the smallest one long stream stands for its prefixes."""
    S = Stream(EVENTS[:1] * 4)
    yield from ((A, S) for A in smallest(effort))
    yield from drawn(effort, seed)


def selected(Cs: frozenset[ComplexEvent], strategy: Strategy) -> frozenset[ComplexEvent]:
    """What a strategy keeps of the complex events with one last position, by its definition (section 4)."""
    match strategy:
        case "all":
            return Cs
        case "strict":
            return frozenset(C for C in Cs if max(C) - min(C) < len(C))
        case "max":
            return frozenset(C for C in Cs if not any(other > C for other in Cs))
        case "nxt" | "last":
            at_most = next_at_most if strategy == "nxt" else last_at_most
            return frozenset({reduce(lambda C, D: D if at_most(C, D) else C, Cs)}) if Cs else Cs


def meaning(A: CEA, S: Stream, strategy: Strategy) -> list[frozenset[ComplexEvent]]:
    """The complex events of the runs that end with a mark, those that the strategy keeps, at each position."""
    return [
        selected(frozenset(C for C in map(sup, cea_runs.valuations(A, S, n)) if n in C), strategy)
        for n in range(len(S))
    ]


def by_library(strategy: Strategy) -> Evaluator:
    """The library's evaluator; what it hands out twice is there twice."""

    def outputs(A: CEA, S: Stream) -> Outputs:
        found: list[list[ComplexEvent]] = [[] for _ in S]
        for match in evaluate(A, S, strategy):
            found[match.at].append(frozenset(match.events))
        return found

    return outputs


def by_algorithm_1(A: CEA, S: Stream) -> Outputs:
    """The library's Algorithm 1, on an I/O-deterministic automaton."""
    running = cep17_evaluation.Deterministic(Delta(A))
    found = []
    for type_ in classify(running.A.A.predicates, S):
        running.push(type_)
        found.append([frozenset(C) for root in running.roots() for C in complex_events(enum_all(running.D, root))])
    return found


# --- comparing --------------------------------------------------------------------------------------------------------


def difference(candidate: Evaluator, A: CEA, S: Stream, expected: Outputs) -> int | None:
    """The first position at which something else is output than expected, or something twice."""
    for n, (got, right) in enumerate(zip(candidate(A, S), expected, strict=True)):
        if set(got) != set(right) or len(got) != len(set(got)):
            return n
    return None


def shown(candidate: Evaluator, A: CEA, S: Stream, n: int, expected: Outputs) -> dict[str, Any]:
    """The counterexample: the automaton, the stream as far as it is needed, and both results."""
    return {
        "automaton": {
            "initial": sorted(A.initial),
            "final": sorted(A.final),
            "transitions": [
                {
                    "from": t.source,
                    "on": t.predicate.type if isinstance(t.predicate, OfType) else "any",
                    "mark": bool(t.marks),
                    "to": t.target,
                }
                for t in A.transitions
            ],
        },
        "events": [{"type": event.type} for event in S[: n + 1]],
        "at": n,
        "expected": sorted(map(sorted, expected[n])),
        "got": sorted(map(sorted, candidate(A, S)[n])),
    }


@dataclass(frozen=True)
class Correction:
    """What to do instead, in words, and done."""

    words: str
    evaluator: Evaluator


def compared(
    id_: str,
    title: str,
    kind: Kind,
    strategy: Strategy,
    as_printed: Evaluator,
    correction: Correction | None = None,
    library: Evaluator | None = None,
    deterministic: bool = False,
    reading: str = LOST,
    on_formula: tuple[str, str] | None = None,
    at_best: Evaluator | None = None,
) -> None:
    """Enter that what is printed outputs what the strategy keeps; its correction and the library always have to.

    at_best has all that what is printed could output with other final states; a counterexample lacks something there
    too. on_formula is a formula and the types of a stream that show the difference too, at its last position.
    """

    @claim(id_, title, kind, reading)
    def check(effort: Effort) -> Finding:
        counterexample, least, looked_at = None, 0, 0
        for A, S in cases(effort, seed=17):
            if deterministic:
                A = io_determinize(single_variable(A))
            looked_at += 1
            expected = meaning(A, S, strategy)
            n = difference(as_printed, A, S, expected)
            if n is not None and at_best is not None:
                found_at_best = enumerate(zip(expected, at_best(A, S), strict=True))
                n = next((k for k, (right_, best) in found_at_best if not set(right_) <= set(best)), None)
            if n is not None and (counterexample is None or A.size + n < least):
                counterexample, least = shown(as_printed, A, S, n, expected), A.size + n
                if correction is None:
                    return Finding("refuted", "exhaustive", f"after {looked_at} cases", counterexample)
            for right in (correction and correction.evaluator, library):
                if right is not None and (n := difference(right, A, S, expected)) is not None:
                    found = shown(right, A, S, n, expected)
                    return Finding("refuted", "exhaustive", f"the correction or the library, after {looked_at}", found)
        bound = (
            f"{looked_at} automata: all of one and two states and those of three with up to "
            f"{2 if effort == 'quick' else 4} transitions, if they have a transition and a final state, from their "
            f"first state, on 4 events of one kind; and {len(list(drawn(effort, 17)))} random ones (seed 17), of 1 "
            "to 4 states, on A, B or any event, each on one stream of 1 to 6 events, at all positions"
        )
        bound += "; I/O-determinized" if deterministic else ""
        if counterexample is None or correction is None:
            return Finding("holds", "exhaustive", bound)
        if on_formula is not None:
            counterexample["on a formula"] = _of_formula(as_printed, strategy, *on_formula)
        return Finding("holds-corrected", "exhaustive", bound, counterexample, correction.words)


def _of_formula(as_printed: Evaluator, strategy: Strategy, query: str, types: str) -> dict[str, Any]:
    A, S = single_variable(compile_cel(parse(query))), Stream(map(Event, types.split()))
    found = shown(as_printed, A, S, len(S) - 1, meaning(A, S, strategy))
    assert found["expected"] != found["got"]
    return {"query": f"{strategy.upper()}({query})", **found}


# --- the algorithms ---------------------------------------------------------------------------------------------------

_MARKING = "of the transitions into final states only those that mark lead to the new final state"
_SIGN = LOST + "; a lost sign may restrict the transitions into the new final state to those that mark"
_END = "the sink comes last in the list of the state of the empty run"
_ADD = (
    LOST + "; line 13 adds a node whose name is missing, which we take to be the sink; add inserts at the beginning "
    "of a list"
)
_CONDITIONS = (
    "a marking step is forbidden only by marking steps of higher sets; a step without a mark by every marking step to "
    "the state, and by steps without a mark of higher sets"
)
_FINALS = (
    "one new final state, which only marking transitions reach, as for Algorithm 5; the construction itself is the same"
)

compared(
    "cep17.alg1",
    "Evaluate outputs the complex events of an I/O-deterministic CEA",
    "algorithm",
    "all",
    printed_cep17.evaluate,
    library=by_algorithm_1,
    deterministic=True,
    reading=LOST + "; that its update time is linear in the CEA (section 7.2) is not checked",
)
compared(
    "cep17.alg4",
    "NDetEvaluate outputs the complex events of any CEA",
    "algorithm",
    "all",
    printed_cep17.ndet_evaluate,
    library=by_library("all"),
)
compared(
    "cep17.alg5",
    "NextEvaluate outputs what NXT keeps",
    "algorithm",
    "nxt",
    printed_cep17.next_evaluate,
    Correction(_MARKING, lambda A, S: printed_cep17.next_evaluate(A, S, marking_only=True)),
    by_library("nxt"),
    reading=_SIGN,
)
compared(
    "cep17.alg6",
    "LastEvaluate outputs what LAST keeps",
    "algorithm",
    "last",
    printed_cep17.last_evaluate,
    library=by_library("last"),
)
compared(
    "cep17.alg7",
    "MaxEvaluate outputs what MAX keeps",
    "algorithm",
    "max",
    printed_cep17.max_evaluate,
    library=by_library("max"),
)
compared(
    "cep17.alg8",
    "StrictEvaluate outputs what STRICT keeps",
    "algorithm",
    "strict",
    printed_cep17.strict_evaluate,
    Correction(_END, lambda A, S: printed_cep17.strict_evaluate(A, S, at_the_end=True)),
    by_library("strict"),
    deterministic=True,
    reading=_ADD,
)


def _roots(A: CEA, S: Stream) -> list[printed_cep17.Node]:
    """The nodes from which Algorithm 4 enumerates at the last position."""
    roots: list[printed_cep17.Node] = []

    def keep(lists: list[printed_cep17.List], i: int) -> Iterator[ComplexEvent]:
        roots.clear()
        for list_ in lists:
            list_.begin()
            while (n := list_.next_()) is not None and n.position == i:
                roots.append(n)
        return iter(())

    printed_cep17.ndet_evaluate(A, S, keep)
    return roots


def _enumeration(id_: str, title: str, enumeration: Callable[[printed_cep17.Node], Iterator[ComplexEvent]]) -> None:
    @claim(id_, title, "algorithm", LOST)
    def check(effort: Effort) -> Finding:
        looked_at = outputs = 0
        for A, S in cases(effort, seed=18):
            looked_at += 1
            listed_ = [C for n in _roots(A, S) for C in enumeration(n)]
            again = [C for n in _roots(A, S) for C in printed_cep17.enum_all(n, frozenset())]
            expected = meaning(A, S, "all")[-1]
            outputs += len(listed_)
            if set(listed_) != expected or len(listed_) != len(expected) or listed_ != again:
                return Finding("refuted", "exhaustive", f"after {looked_at} automata: {A} over {S.events}")
        return Finding(
            "holds",
            "exhaustive",
            f"all {outputs:,} complex events at the last position of {looked_at} automata: those of alg4, but with "
            "other random ones (seed 18); from the lists of Algorithm 4, not of Algorithm 1",
        )


_enumeration(
    "cep17.alg2", "Enumerate and EnumAll list each complex event once", lambda n: printed_cep17.enum_all(n, frozenset())
)
_enumeration("cep17.alg3", "EnumAll* lists what EnumAll lists, in its order", lambda n: printed_cep17.enum_all_star(n))


# --- the constructions of Theorem 4 -----------------------------------------------------------------------------------


def _constructed(strategy: str, start: Callable[[CEA], list[Any]], accepts: Any) -> Evaluator:
    return lambda A, S: printed_cep17.outputs(A, S, getattr(printed_cep17, f"{strategy}_steps"), start(A), accepts)


def _strict_start(A: CEA) -> list[tuple[int, int]]:
    return [(q, 1) for q in sorted(A.initial)]


_NEXT = _constructed("next", printed_cep17.ranked_start, printed_cep17.ranked_accepts)
_NEXT_ALL_FINAL = _constructed("next", printed_cep17.ranked_start, lambda A, state: True)
_LAST = _constructed("last", printed_cep17.ranked_start, printed_cep17.ranked_accepts)


def _last_corrected(A: CEA, S: Stream) -> Outputs:
    steps = printed_cep17.last_steps_corrected
    return printed_cep17.outputs(A, S, steps, printed_cep17.ranked_start(A), printed_cep17.ranked_accepts)


_MAX = _constructed("max", printed_cep17.max_start, printed_cep17.max_accepts)
_STRICT = _constructed("strict", _strict_start, printed_cep17.strict_accepts)

compared("cep17.appC.3:strict", "The automaton of STRICT", "construction", "strict", _STRICT)
compared(
    "cep17.appC.3:nxt",
    "The automaton of NXT",
    "construction",
    "nxt",
    _NEXT,
    Correction(_FINALS, lambda A, S: _NEXT(printed_cep17.one_final(A, marking_only=True), S)),
    reading=LOST + "; in the counterexample, a complex event is on no run, whichever states are final",
    at_best=_NEXT_ALL_FINAL,
)
compared(
    "cep17.appC.3:last",
    "The automaton of LAST",
    "construction",
    "last",
    _LAST,
    Correction(_CONDITIONS, _last_corrected),
    on_formula=("A ; B", "A A B"),
)
compared("cep17.appC.3:max", "The automaton of MAX", "construction", "max", _MAX)


def _ordered(
    id_: str, title: str, steps: printed_cep17.Steps, at_most: Any, corrected: printed_cep17.Steps | None = None
) -> None:
    """Lemma C.14: of two runs of one length the one whose state stands earlier has the greater complex event."""

    def fails(steps: printed_cep17.Steps, A: CEA, S: Stream) -> tuple[int, Any] | None:
        for n, ending in enumerate(printed_cep17.runs(A, S, steps, printed_cep17.ranked_start(A))):
            for (C1, state1), (C2, state2) in product(ending, repeat=2):
                higher = printed_cep17.rank(state1) < printed_cep17.rank(state2)
                if higher != (C1 != C2 and at_most(C2, C1)):
                    return n, (sorted(C1), state1, sorted(C2), state2)
        return None

    @claim(id_, title, "lemma", LOST)
    def check(effort: Effort) -> Finding:
        counterexample, least, looked_at = None, 0, 0
        for A, S in cases(effort, seed=19):
            looked_at += 1
            found = fails(steps, A, S)
            if found is not None and (counterexample is None or A.size + found[0] < least):
                n, (C1, (p, T), C2, (q, _)) = found
                least = A.size + n
                sets = [sorted(Ti) for Ti in T]
                counterexample = shown(by_library("all"), A, S, n - 1, meaning(A, S, "all")) | {
                    "runs": [{"marks": C1, "ends in": p}, {"marks": C2, "ends in": q}],
                    "ranking": sets,
                }
                del counterexample["expected"], counterexample["got"]
                if corrected is None:
                    return Finding("refuted", "exhaustive", f"after {looked_at} cases", counterexample)
            if corrected is not None and fails(corrected, A, S) is not None:
                return Finding("refuted", "exhaustive", f"the correction, after {looked_at} cases", counterexample)
        bound = f"all pairs of runs of {looked_at} automata: those of appC.3, but with other random ones (seed 19)"
        if counterexample is None:
            return Finding("holds", "exhaustive", bound)
        return Finding("holds-corrected", "exhaustive", bound, counterexample, _CONDITIONS)


_ordered(
    "cep17.lemC.14:nxt",
    "The sets of a state of the automaton of NXT are ordered like the complex events of its runs",
    printed_cep17.next_steps,
    next_at_most,
)
_ordered(
    "cep17.lemC.14:last",
    "The sets of a state of the automaton of LAST are ordered like the complex events of its runs; the text "
    "refers to the proof for NXT",
    printed_cep17.last_steps,
    last_at_most,
    printed_cep17.last_steps_corrected,
)


def _free(q: int, delta: printed_cep17.Delta) -> Iterator[tuple[frozenset[str], int]]:
    """The steps of the automaton itself."""
    return ((m, q_) for m in (MARKED, UNMARKED) for q_ in delta.of(q, m))


def _deterministic(effort: Effort) -> Iterator[tuple[CEA, Stream]]:
    """The automata of alg4, I/O-determinized."""
    for A, S in cases(effort, seed=20):
        yield io_determinize(single_variable(A)), S


@claim(
    "cep17.lemC.16",
    "The automaton of MAX of an I/O-deterministic CEA has pairs (T, U) as states. If a run of the CEA begins "
    "in U and marks at least what the other run marks, it ends in U",
    "lemma",
    LOST,
)
def _(effort: Effort) -> Finding:
    looked_at = 0
    for A, S in _deterministic(effort):
        everything = [(frozenset({p}), frozenset({q})) for p, q in product(range(min(A.states, 2)), repeat=2)]
        for start in everything:
            (q0,) = start[1]
            free = printed_cep17.runs(A, S, _free, [q0])
            followed = printed_cep17.runs(A, S, printed_cep17.max_steps, [start])
            for ending, others in zip(followed, free, strict=True):
                for (C, (_, U)), (C_, q) in product(ending, others):
                    looked_at += C <= C_
                    if C <= C_ and q not in U:
                        return Finding("refuted", "exhaustive", f"{A} over {S.events}")
    return Finding(
        "holds",
        "exhaustive",
        f"all {looked_at:,} such pairs of runs, from the first two states, of the automata of alg4, but with other "
        "random ones (seed 20), I/O-determinized",
    )


@claim(
    "cep17.lemC.18",
    "The automaton of MAX of an I/O-deterministic CEA has pairs (T, U) as states. For each state of U, some "
    "run of the CEA with a larger complex event reaches it",
    "lemma",
    LOST,
)
def _(effort: Effort) -> Finding:
    looked_at = 0
    for A, S in _deterministic(effort):
        free = printed_cep17.runs(A, S, _free, sorted(A.initial))
        followed = printed_cep17.runs(A, S, printed_cep17.max_steps, cast("list[Any]", printed_cep17.max_start(A)))
        for ending, others in zip(followed, free, strict=True):
            for C, (_, U) in ending:
                looked_at += len(U)
                if not all(any(C < C_ and q == q_ for C_, q_ in others) for q in U):
                    return Finding("refuted", "exhaustive", f"{A} over {S.events}")
    return Finding(
        "holds",
        "exhaustive",
        f"{looked_at:,} states of the U of all runs, of the automata of alg4, but with other random ones (seed 20), "
        "I/O-determinized",
    )


_next_sets, _last_sets = printed_cep17.next_sets, printed_cep17.last_sets


def _skipping(right: printed_cep17.Steps) -> printed_cep17.Steps:
    def steps(state: tuple[int, int], delta: printed_cep17.Delta) -> Iterator[tuple[frozenset[str], tuple[int, int]]]:
        q, copy = state
        yield from right(state, delta)
        if copy == 2:
            yield from ((UNMARKED, (q_, 2)) for q_ in delta.of(q, UNMARKED))

    return steps


_FIRST_LOST = broken.result(lambda found: iter(list(found)[1:]))
plant("cep17.alg2", "the first complex event is lost", printed_cep17, "enum_all", _FIRST_LOST)
plant("cep17.alg3", "the first complex event is lost", printed_cep17, "enum_all_star", _FIRST_LOST)
plant("cep17.appC.3:nxt", "the sets are ordered as for LAST", printed_cep17, "next_sets", lambda right: _last_sets)
plant("cep17.appC.3:last", "the sets are ordered as for NXT", printed_cep17, "last_sets", lambda right: _next_sets)
plant("cep17.appC.3:strict", "the second copy skips too", printed_cep17, "strict_steps", lambda right: _skipping(right))
plant(
    "cep17.lemC.14:nxt cep17.lemC.14:last",
    "the last set is the highest",
    printed_cep17,
    "rank",
    broken.result(lambda rank: -rank),
)
