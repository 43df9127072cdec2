"""Claims of tods21 read by the letter: Definition 8.7, the indices of section 9, Table 1, Proposition 8.15.

Each is small, and a reader passes over it. What is printed is computed here from the words of the text; what it is
compared with is the definition that the text builds on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise, product

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, io_determinize, single_variable
from cerify.automata.cea.to_cel import star
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.cel import denote
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.predicates import holds
from proofs_tests.claims import broken, printed_tods21, tods21_section6
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.decide import SCHEMA
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.printed_tods21 import star_runs, star_valuations
from proofs_tests.claims.search import Space
from proofs_tests.claims.tods21_pumping import pumped
from proofs_tests.support import stream

STREAMS = Space((), nodes=1, events=3)

# --- Definition 8.7 ---------------------------------------------------------------------------------------------------


@claim(
    "tods21.def8.7",
    "The valuation of a *-run has each variable at the positions that are marked with it",
    "definition",
    "streams begin with t_1 in this definition, and with 0 here, where a *-run may begin",
)
def _(effort: Effort) -> Finding:
    from proofs_tests.claims.cea_runs import valuations

    cases = 0
    for A in automata(effort, seed=5):
        for S in STREAMS.streams(3):
            cases += 1
            if star_valuations(A, S, 2) != valuations(star(A), S, 2):
                return Finding("refuted", "exhaustive", f"{A} over {S.events}")
    A, S = compile_cel(parse("A ; A")), stream("A A")
    as_printed = {_by_the_letter(run) for run in star_runs(A, S, 1)}
    expected = star_valuations(A, S, 1)
    counterexample = {
        "query": "A ; A",
        "events": [{"type": event.type} for event in S],
        "at": 1,
        "expected": sorted(sorted(mu) for mu in expected),
        "got": sorted(sorted(mu) for mu in as_printed),
        "why": "i_k is the last position of the run, whichever step marks",
    }
    bound = (
        f"the corrected definition against the library's automaton for the *-semantics: {cases} cases, "
        f"{in_words(effort, seed=5)}; all streams of 3 events over 3 tuples"
    )
    if as_printed == expected:
        return Finding("holds", "exhaustive", bound)
    return Finding("holds-corrected", "exhaustive", bound, counterexample, "μ(A) = {i_j | A ∈ L_j}")


def _by_the_letter(run: tuple[tuple[int, frozenset[str]], ...]) -> Valuation:
    """μ(A) = {i_k | A ∈ L_i} of a *-run of k steps."""
    last = run[-1][0]
    return frozenset((A, last) for _, L in run for A in L)


plant(
    "tods21.def8.7",
    "the *-runs skip nothing",
    printed_tods21,
    "star_runs",
    lambda right: lambda A, S, n: [run for run in right(A, S, n) if [i for i, _ in run] == list(range(n + 1))],
)

# --- Proposition 8.15 for predicates that are not pointwise -----------------------------------------------------------


@claim(
    "tods21.prop8.15:arity",
    "With predicates of arity 1 that are not pointwise, CEL* with : and :+ expresses more than CEL* with STRICT",
    "remark",
    "a statement of this book: we read the unary predicates of Proposition 8.15 as the pointwise ones of "
    "Definition 4.1, like its proof and the paragraph before it. By section 4, which counts the sets of tuples "
    "that a predicate relates, these have arity 1 too",
)
def _(effort: Effort) -> Finding:
    phi, largest = parse("((A ; E) IN X FILTER X.a = X.a):+"), 4 if effort == "quick" else 7
    by_thm8_14 = parse("((A ; E) FILTER A.a = E.a):+")
    for N in range(1, largest + 1):
        S = Stream(Event(R, {"a": n}) for n in range(1, N + 1) for R in "ALE")
        C = frozenset(p for p in range(3 * N) if p % 3 != 1)
        if C not in _events(phi, S):
            return Finding("refuted", "exhaustive", f"the stream of Appendix D for N = {N}")
        for i, j in combinations(sorted(C), 2):
            longer, moved, last = pumped(S, frozenset(("•", p) for p in C), i, j, 2, (Event("U", {"a": 0}),))
            if sup(moved) in _events(phi, Stream(longer[: last + 1])):
                return Finding("refuted", "exhaustive", f"[{i}, {j}] can be pumped for N = {N}")
    same = all(
        _events(phi, S) == _events(by_thm8_14, S)
        for n in range(1, 5)
        for S in map(Stream, product((Event("A", {"a": 0}), Event("E", {"a": 0}), Event("E", {"a": 1})), repeat=n))
    )
    bound = (
        "((A ; E) IN X FILTER P(X)):+, where P holds of a set whose tuples share one a; the stream of Appendix D "
        f"for all N to {largest}, with lemD.1, whose case FILTER is about any predicate; the same complex events as "
        "the formula of Theorem 8.14 on all streams to 4 events of three kinds"
    )
    return Finding("holds" if same else "refuted", "exhaustive", bound)


def _events(phi: cel.Formula, S: Stream) -> frozenset[frozenset[int]]:
    return frozenset(map(sup, Interpreter(S).meaning(phi, 0, len(S) - 1)))


# --- Table 1 ----------------------------------------------------------------------------------------------------------


@claim(
    "tods21.tab1:windowing",
    "Windowing is not in unary CEL and CEA in general (Table 1): windows of events are, time windows are not",
    "figure",
    "we read the time window of Table 1 as a window on a timestamp attribute. If the time of an event is its "
    "index, as in section 4, a time window is a window of events. The window of 100 events in section 4 uses a "
    "filter that is not unary, but also has a unary formula",
)
def _(effort: Effort) -> Finding:
    sizes = (2, 3) if effort == "quick" else (2, 3, 4)
    decided = 0
    for phi, n in product(("A ; B", "A+", "(A OR B) ; A"), sizes):
        windowed = parse(f"({phi}) WITHIN {n} EVENTS")
        A = tods21_section6.one_initial_one_final(compile_cel(windowed))
        unary = tods21_section6.theorem_6_3_corrected(A)
        decided += 1
        if not _is_unary(unary):
            return Finding("refuted", "proof", f"{show(windowed)} became {show(unary)}")
        if not isinstance(equivalent(windowed, unary, "valuations", SCHEMA), Equivalent):
            return Finding("refuted", "proof", f"{show(windowed)} and {show(unary)}")
    bound = "time windows: the proof in docs/theory/expressiveness.md. Windows of events, decided: "
    bound += f"{decided} formulas, A ; B, A+ and (A OR B) ; A in windows of {', '.join(map(str, sizes))} events, on "
    bound += "all streams of A and B"
    return Finding("holds", "proof", bound)


def _is_unary(phi: cel.Formula) -> bool:
    """Definition 4.1, of a formula without windows and partitions."""
    return all(
        isinstance(psi.condition, cel.Every) if isinstance(psi, cel.Filter) else not isinstance(psi, cel.Within)
        for psi in cel.subformulas(phi)
    )


plant(
    "tods21.tab1:windowing",
    "the automaton has no window",
    sys.modules[__name__],
    "compile_cel",
    lambda right: lambda phi: right(phi.phi if isinstance(phi, cel.Within) else phi),
)

EQUAL_X = "(A ; B) FILTER A.x = B.x"


@claim(
    "tods21.tab1:correlation",
    "Correlation is not in unary CEL and CEA (Table 1)",
    "figure",
    "we take Unary as the header of the second column of the table; our copy has it above the first",
)
def _(effort: Effort) -> Finding:
    space, cases = Space(("in", "filter", "seq", "cseq", "plus", "or"), 3 if effort == "quick" else 4, 2), 0
    # The filters of the space ask x > 0: 1 and 2 are of one type.
    same, other = (Stream([Event("A", {"x": 1}), Event("B", {"x": x})]) for x in (1, 2))
    for phi in space.every():
        cases += 1
        if _events(phi, same) != _events(phi, other):
            return Finding("refuted", "proof", show(phi))
    if _events(parse(EQUAL_X), same) == _events(parse(EQUAL_X), other):
        return Finding("refuted", "proof", EQUAL_X)
    bound = f"docs/theory/expressiveness.md, of {EQUAL_X}; the {cases} unary formulas whose conditions do not "
    bound += f"tell 1 from 2 have the same matches on A(x=1) B(x=1) and A(x=1) B(x=2): {space.formulas_in_words}"
    return Finding("holds", "proof", bound)


plant(
    "tods21.tab1:correlation", "values are always equal", denote, "satisfied", lambda right: lambda predicate, get: True
)

# --- section 9 --------------------------------------------------------------------------------------------------------


def _recursion(A: CEA, S: Stream, shift: int) -> Iterator[dict[int, frozenset[frozenset[int]]]]:
    """⟦A⟧_i^q(S) for i from 0 by (**): from i - 1 to i with the tuple t_{i - shift}, which is added where it is marked.

    As printed, shift is 0; a tuple that is not there makes no step.
    """
    now = {q: frozenset({frozenset[int]()}) for q in A.initial}
    yield now
    for i in range(1, len(S) + 1):
        found: dict[int, frozenset[frozenset[int]]] = {}
        k = i - shift
        for p, Cs in now.items():
            for t in A.leaving[p] if k < len(S) else ():
                if holds(t.predicate, S[k]):
                    moved = frozenset(C | {k} for C in Cs) if t.marks else Cs
                    found[t.target] = found.get(t.target, frozenset()) | moved
        now = found
        yield now


def _by_runs(A: CEA, S: Stream, i: int) -> dict[int, frozenset[frozenset[int]]]:
    """⟦A⟧_i^q(S) by its definition: the marks of the runs over t_0 ... t_{i-1}, by the state they end in."""
    runs = {(q, frozenset[int]()) for q in A.initial}
    for k in range(i):
        runs = {
            (t.target, C | {k} if t.marks else C) for q, C in runs for t in A.leaving[q] if holds(t.predicate, S[k])
        }
    return {q: frozenset(C for p, C in runs if p == q) for q, _ in runs}


@claim(
    "tods21.thm9.1:recursion",
    "(**): the complex events of the runs that end in a state, computed from those one tuple earlier",
    "remark",
)
def _(effort: Effort) -> Finding:
    cases = 0
    space = Space(("seq", "plus", "or", "in"), nodes=3, events=3)
    for phi in space.every():
        A = io_determinize(single_variable(compile_cel(phi)))
        for S in STREAMS.streams(3):
            cases += 1
            if any(by != _by_runs(A, S, i) for i, by in enumerate(_recursion(A, S, shift=1))):
                return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    A, S = io_determinize(single_variable(compile_cel(parse("A")))), stream("A B")
    printed, expected = [
        sorted(sorted(C) for q, Cs in by.items() if q in A.final for C in Cs)
        for by in (list(_recursion(A, S, shift=0))[1], _by_runs(A, S, 1))
    ]
    counterexample = {
        "query": "A",
        "events": [{"type": event.type} for event in S],
        "expected": expected,
        "got": printed,
        "why": "⟦A⟧_1 is about t_0, and (**) as printed uses t_1 for the step to it; (†), (‡) and the definition "
        "of A_i, all of them about t_0 ... t_{i-1}, are right",
    }
    bound = f"with t_{{i-1}} and i - 1: {cases} cases, {space.formulas_in_words}, all streams of 3 events over 3 tuples"
    return Finding(
        "holds-corrected" if printed != expected else "holds",
        "exhaustive",
        bound,
        counterexample,
        "Δ(p, t_{i-1}, •) and C ∪ {i-1}, as in the definition of A_i beside the equation",
    )


def tape(outputs: Sequence[ComplexEvent]) -> list[str]:
    """#C_1#...#C_m#, a sign for each event of an output; ## where there is none."""
    return ["#", *(sign for C in outputs for sign in (*map(str, sorted(C)), "#"))] if outputs else ["#", "#"]


def delays(outputs: Sequence[ComplexEvent]) -> list[int]:
    """delay_i of section 9.1, for a machine that writes one sign of the tape at each step."""
    at = [time for time, sign in enumerate(tape(outputs)) if sign == "#"]
    return [later - time for time, later in pairwise(at)]


ABOUT_NOTHING = "PROJECT[X](A) OR A"


@claim(
    "tods21.sec9.1:delay",
    "Output-linear delay: a constant k with delay_i <= k * |C_i| for each output C_i",
    "definition",
)
def _(effort: Effort) -> Finding:
    """A machine that writes one sign at each step is as fast as any."""
    outputs = sorted(_events(parse(ABOUT_NOTHING), stream("A")), key=sorted)
    found = list(zip(outputs, delays(outputs), strict=False))
    failing = next(((C, delay) for C, delay in found if not C and delay > 0), None)
    if failing is None or len(found) < len(outputs) or any(delay > len(C) + 1 for C, delay in found):
        return Finding("refuted", "example", str(found))
    counterexample = {
        "query": ABOUT_NOTHING,
        "events": [{"type": "A"}],
        "at": 0,
        "expected": "a bound that some machine can keep",
        "got": "delay_i <= k * 0 for the output {}, and the # after it is written later than the # before it",
    }
    bound = f"the outputs {{}} and {{0}} of {ABOUT_NOTHING} on A, by a machine that writes one sign at each step; "
    bound += "corrected, with k = 1"
    return Finding("holds-corrected", "example", bound, counterexample, "delay_i <= k * (|C_i| + 1)")


@claim(
    "tods21.sec9.1:empty",
    "Output-linear delay where nothing is output: a constant k bounds the delay",
    "definition",
    "for m = 0 we read #C_1#...#C_m# as two #: a first one, and a last one after which the phase stops",
)
def _(effort: Effort) -> Finding:
    found = [delays([frozenset({0})] * m) for m in range(4)]
    bound = "the tapes of 0 to 3 outputs have 1, 1, 2 and 3 delays, by a machine that writes one sign at each step"
    if [len(by) for by in found] != [1, 1, 2, 3] or found[0] != [1]:
        return Finding("refuted", "example", bound)
    counterexample = {
        "expected": "a bound on the delay in phase n, which outputs nothing",
        "got": "delay_i(A, S, 1) = k: an equation about phase 1 for every n, with an unbound i",
    }
    correction = "where ⟦A⟧_n(S) is empty the phase takes at most k steps: delay_1(A, S, n) <= k, where ## is written"
    return Finding("holds-corrected", "example", bound, counterexample, correction)


plant(
    "tods21.sec9.1:delay tods21.sec9.1:empty",
    "the last # is left out",
    sys.modules[__name__],
    "tape",
    broken.result(lambda signs: signs[:-1]),
)
plant(
    "tods21.thm9.1:recursion",
    "what is marked is not added",
    sys.modules[__name__],
    "_recursion",
    lambda right: lambda A, S, shift: right(single_variable(A).remarked({L: frozenset() for L in A.marks}), S, shift),
)
plant(
    "tods21.prop8.15:arity", "values are always equal", denote, "satisfied", lambda right: lambda predicate, get: True
)
