"""Claims of tods21, section 8.1, about CEL* and the *-property."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations

from cerify.automata.cea.compile import _anchor, compile_cel
from cerify.automata.cea.model import CEA, UNMARKED, Transition, single_variable, trim
from cerify.automata.cea.to_cel import star
from cerify.automata.exploration import explore
from cerify.equivalence.decide.cel import InStar, star_form
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter, complex_events
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Stream
from cerify.semantics.predicates import Anything
from proofs_tests.claims import broken
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.decide import algebra, separated
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.printed_tods21 import star_valuations
from proofs_tests.claims.search import Space

STAR = Space(("in", "filter", "seq", "plus", "or"), nodes=5, events=3)
UNARY_OPERATORS = ("in", "filter", "plus", "cplus", "project", "start", "strict", "nxt", "last", "max")
CORRELATED = Space(("correlated", "seq", "plus", "or"), nodes=5, events=3)
WHOLE = Space(
    (*UNARY_OPERATORS, "seq", "cseq", "or", "and", "all", "unless"),
    nodes=4,
    events=4,
)


def smaller(space: Space, effort: Effort) -> Space:
    return space if effort == "full" else replace(space, nodes=space.nodes - 1)


def decided(title: str, effort: Effort, fails: Callable[[cel.Formula], bool], also: str = "") -> Finding:
    """All formulas of unary CEL*, each decided for all streams."""
    space, cases = smaller(STAR, effort), 0
    for phi in space.every():
        cases += 1
        if fails(phi):
            return Finding("refuted", "decided", f"after {cases} formulas", {"query": show(phi)})
    return Finding(
        "holds",
        "decided",
        f"{title}, on all streams, for {cases} formulas of unary CEL*: {space.formulas_in_words}{also}",
    )


def with_values(effort: Effort, fails: Callable[[cel.Formula, Stream], bool]) -> str | None:
    """All small cases of CEL* with a filter across variables; what was looked at, None if one fails."""
    space, cases = smaller(CORRELATED, effort), 0
    for phi in space.every():
        if any(isinstance(node, cel.Filter) for node in cel.subformulas(phi)):
            for length in range(1, space.events + 1):
                for S in space.streams(length):
                    cases += 1
                    if fails(phi, S):
                        return None
    return (
        f"; filters across variables are checked exhaustively only: {cases} cases, those with a filter of "
        f"{space.describe()}"
    )


def is_empty(A: CEA, B: CEA, phi: cel.Formula) -> bool:
    """Whether no stream has a valuation of A that B has not."""
    return separated(A, B, algebra(phi), contained=True) is None


def intervals(S: Stream) -> Iterator[tuple[int, int]]:
    return ((i, j) for j in range(len(S)) for i in range(j + 1))


@claim("tods21.lem8.2", "A valuation of CEL* contains the last event of its interval, and no event outside it", "lemma")
def _(effort: Effort) -> Finding:
    def fails(phi: cel.Formula) -> bool:
        A = compile_cel(phi, algebra=algebra(phi))
        end = A.states
        marked = [t._replace(target=end) for t in A.transitions if t.marks and t.target in A.final]
        return not is_empty(A, CEA(end + 1, (*A.transitions, *marked), A.initial, frozenset({end})), phi)

    def fails_on(phi: cel.Formula, S: Stream) -> bool:
        M = Interpreter(S)
        return any(
            j not in sup(mu) or not sup(mu) <= set(range(i, j + 1))
            for i, j in intervals(S)
            for mu in M.meaning(phi, i, j)
        )

    also = with_values(effort, fails_on)
    if also is None:
        return Finding("refuted", "exhaustive", "")
    found = decided("docs/theory/star.md; part (1) decided (no run marks outside its interval)", effort, fails, also)
    return replace(found, evidence="proof") if found.status == "holds" else found


@claim("tods21.lem8.3", "The evaluation of CEL* may start anywhere up to the first event", "lemma")
def _(effort: Effort) -> Finding:
    def fails(phi: cel.Formula) -> bool:
        A = trim(compile_cel(phi, algebra=algebra(phi)))
        skipped = explore(
            A.initial, lambda q: [(None, t.target) for t in A.leaving[q] if not t.marks], 10_000, "the states"
        )
        wait = A.states
        waiting = [t._replace(source=wait) for t in A.transitions if t.source in A.initial]
        loop = Transition(wait, Anything(), UNMARKED, wait)
        earlier = CEA(wait + 1, (*A.transitions, *waiting, loop), frozenset({wait}), A.final)
        return not is_empty(replace(A, initial=frozenset(skipped)), A, phi) or not is_empty(earlier, A, phi)

    def fails_on(phi: cel.Formula, S: Stream) -> bool:
        M = Interpreter(S)
        return any(
            mu not in M.meaning(phi, min(sup(mu)), max(sup(mu)))
            or any(mu not in M.meaning(phi, k, j) for k in range(i))
            for i, j in intervals(S)
            for mu in M.meaning(phi, i, j)
        )

    also = with_values(effort, fails_on)
    return Finding("refuted", "exhaustive", "") if also is None else decided("both parts", effort, fails, also)


def violates(phi: cel.Formula, S: Stream) -> bool:
    """Whether Definition 8.4 fails with S as one of its streams, the other being that of the events alone."""
    n = len(S) - 1
    matches = complex_events(phi, S, n)
    if any(n not in C for C in matches):
        return True
    for size in range(n + 1):
        for rest in combinations(range(n), size):
            C = frozenset((*rest, n))
            alone = Stream(S[p] for p in sorted(C))
            if (C in matches) != (frozenset(range(len(C))) in complex_events(phi, alone, len(C) - 1)):
                return True
    return False


def seems_to_have_the_property(phi: cel.Formula, events: int) -> bool:
    return not any(violates(phi, S) for length in range(1, events + 1) for S in WHOLE.streams(length))


@claim("tods21.def8.4", "The *-property, decided and by its definition", "definition")
def _(effort: Effort) -> Finding:
    space, counts = replace(smaller(WHOLE, "quick"), events=3 if effort == "quick" else 4), [0, 0]
    for phi in space.every():
        answer = star_form(phi)
        counts[isinstance(answer, InStar)] += 1
        if isinstance(answer, InStar) != seems_to_have_the_property(phi, space.events):
            return Finding("refuted", "exhaustive", show(phi))
    bound = (
        f"{counts[1]} formulas with the property and {counts[0]} without it, on all small streams; {space.describe()}"
    )
    return Finding("holds", "exhaustive", bound)


@claim(
    "tods21.prop8.5",
    "Every formula of CEL* has the *-property",
    "proposition",
    "part (3) of the proof, about valuations and intervals, is in docs/theory/star.md",
)
def _(effort: Effort) -> Finding:
    also = with_values(effort, violates)
    if also is None:
        return Finding("refuted", "exhaustive", "")
    return decided("the *-property", effort, lambda phi: not isinstance(star_form(phi), InStar), also)


@claim("tods21.prop8.8", "A CEA with the *-property has the same complex events under the *-semantics", "proposition")
def _(effort: Effort) -> Finding:
    cases = runs = 0
    for A in automata(effort, seed=5):
        for S in STAR.streams(3):
            runs += 1
            if star_valuations(A, S, 2) != outputs_at(star(A), S, 2):
                return Finding("refuted", "exhaustive", "Definition 8.7 and its automaton")
    space = smaller(WHOLE, "quick")
    for phi in space.every():
        if seems_to_have_the_property(phi, 3 if effort == "quick" else 4):
            cases += 1
            A = single_variable(compile_cel(phi, algebra=algebra(phi)))
            if separated(A, star(A), algebra(phi)) is not None:
                return Finding("refuted", "decided", show(phi))
    return Finding(
        "holds",
        "decided",
        f"on all streams, for {cases} formulas that have the property on all small ones ({space.formulas_in_words}); "
        f"Definition 8.7 against its automaton on {runs} cases, {in_words(effort, seed=5)}; all streams of 3 events "
        "over 3 tuples",
    )


def outputs_at(A: CEA, S: Stream, n: int) -> frozenset[frozenset[tuple[str, int]]]:
    from proofs_tests.claims.cea_runs import valuations

    return valuations(A, S, n)


plant(
    "tods21.lem8.2",
    "an automaton reads on after its last event",
    sys.modules[__name__],
    "compile_cel",
    broken.result(broken.goes_on),
)
plant("tods21.lem8.3", "a formula is anchored", sys.modules[__name__], "compile_cel", broken.result(_anchor))
_CONTIGUOUS = broken.for_root(cel.Plus, lambda phi, S, i, j, of, *_: of(cel.ContiguousPlus(phi.phi), i, j))
plant("tods21.prop8.5 tods21.def8.4", "+ is `:+`", interpreter, "clause", _CONTIGUOUS)
plant("tods21.prop8.8", "the *-semantics is the other", sys.modules[__name__], "star", broken.same())
