"""Claims of tods21 about the running examples, I/O-determinization and evaluation."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace

from cerify.automata.algebra.finite import types
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, io_determinize, single_variable
from cerify.automata.evaluate.ces import CompactComplexEventSet, evaluate_automaton
from cerify.automata.evaluate.streaming import matches
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import holds
from proofs_tests.claims import broken, printed_tods21
from proofs_tests.claims.decide import algebra, separated
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.search import Space, meaning
from proofs_tests.claims.tods21_constructions import WIDE, is_io_deterministic, outputs
from proofs_tests.support import EXAMPLES, FIGURE_1


def _example(name: str) -> None:
    query, printed = EXAMPLES[name]

    reading = "the text gives no result; ours follows the definitions" if name == "phi5" else None

    @claim(f"tods21.ex3:{name}", f"{query} on Figure 1", "example", reading)
    def check(effort: Effort) -> Finding:
        got = {n: {tuple(sorted(C)) for C in complex_events(parse(query), FIGURE_1, n)} for n in range(len(FIGURE_1))}
        holds_ = {n: events for n, events in got.items() if events} == printed
        return Finding("holds" if holds_ else "refuted", "example", "all 9 positions of Figure 1")


for _name in EXAMPLES:
    _example(_name)

SELECTED = {
    "STRICT": ({2: {(1, 2)}}, {}),
    "NXT": ({2: {(1, 2)}, 8: {(1, 8)}}, {7: {(3, 4, 6, 7)}}),
    "LAST": ({2: {(1, 2)}, 8: {(5, 8)}}, {7: {(3, 4, 6, 7)}}),
    "MAX": ({2: {(1, 2)}, 8: {(1, 8), (5, 8)}}, {7: {(3, 4, 6, 7)}}),
}
"""What section 7.1 says that each strategy leaves of phi1 and of phi3, by position."""


@claim(
    "tods21.ex7.1",
    "What STRICT, NXT, LAST and MAX leave of phi1 and phi3 on Figure 1",
    "example",
    "STRICT follows the words of section 7.1; see sec7.1:strict",
)
def _(effort: Effort) -> Finding:
    for strategy, printed in SELECTED.items():
        for name, expected in zip(("phi1", "phi3"), printed, strict=True):
            phi = parse(f"{strategy}({EXAMPLES[name][0]})")
            got = {n: {tuple(sorted(C)) for C in complex_events(phi, FIGURE_1, n)} for n in range(len(FIGURE_1))}
            if {n: events for n, events in got.items() if events} != expected:
                return Finding("refuted", "example", f"{strategy} of {name}")
    return Finding(
        "holds", "example", "all 9 positions of Figure 1; where the text gives no result, by the definitions"
    )


plant("tods21.ex7.1", "a strategy keeps everything", interpreter, "clause", broken.for_root(cel.Last, broken.operand))


def _small(effort: Effort) -> Space:
    """All formulas of the core to a size, and streams of a length."""
    return replace(WIDE, nodes=3, events=3) if effort == "quick" else replace(WIDE, nodes=4, events=4)


def _in_words(space: Space) -> str:
    """What the space has, where a stream of its length is looked at after each of its events."""
    return f"{space.formulas_in_words}, at each position of all streams of {space.events} events over 3 tuples"


@claim(
    "tods21.prop5.5",
    "Every CEA has a valuation-equivalent I/O-deterministic one, of a size at most exponential",
    "proposition",
    "by the library, on the automata of formulas; the size of Definition 5.1 counts states and transitions, "
    "here of the reached non-empty sets",
)
def _(effort: Effort) -> Finding:
    space, cases = _small(effort), 0
    for phi in space.every():
        cases += 1
        over = algebra(phi)
        A = compile_cel(phi, algebra=over)
        B = io_determinize(A, algebra=over)
        small = B.states <= 2**A.states and B.size <= 2**A.size
        if not small or not is_io_deterministic(B) or separated(A, B, over) is not None:
            return Finding("refuted", "decided", show(phi))
    return Finding(
        "holds",
        "decided",
        f"the automata of {cases} formulas, {space.formulas_in_words}, on all streams; I/O-deterministic by Definition "
        "5.4, with at most 2^|Q| states, and of a size of at most 2^|A|",
    )


def _size_of_all_sets(A: CEA) -> int:
    """The size of the automaton of Proposition 5.5 with all sets of states: one successor for each type and label."""
    return 2**A.states * (1 + len(types(A.predicates)) * len(A.marks))


@claim(
    "tods21.prop5.5:size",
    "The automaton of the proof of Proposition 5.5 is of size O(2^(2|A|))",
    "proposition",
    "its states are all sets of states of A",
)
def _(effort: Effort) -> Finding:
    space, cases = _small(effort), 0
    for phi in space.every():
        A, cases = compile_cel(phi), cases + 1
        if _size_of_all_sets(A) > 2 ** (2 * A.size):
            return Finding("refuted", "exhaustive", show(phi))
    bound = f"for the automata A of {cases} formulas the size is at most 2^(2|A|), counted without building them: "
    return Finding("holds", "exhaustive", bound + space.formulas_in_words)


plant(
    "tods21.prop5.5:size",
    "states are sets of sets of states",
    sys.modules[__name__],
    "_size_of_all_sets",
    broken.result(lambda size: 2**size),
)


@claim(
    "tods21.prop9.2",
    "Every CEA has a single-variable one with the same complex events, of linear size",
    "proposition",
    "by the library, which replaces each non-empty set by one variable, as the proof does; on the automata of formulas",
)
def _(effort: Effort) -> Finding:
    space, cases = _small(effort), 0
    for phi in space.every():
        A, B = compile_cel(phi), single_variable(compile_cel(phi))
        for S in space.streams(space.events):
            cases += 1
            same = all(
                {sup(m) for m in a} == {sup(m) for m in b} for a, b in zip(outputs(A, S), outputs(B, S), strict=True)
            )
            if not same or B.size > A.size or len(B.marks - {frozenset()}) > 1:
                return Finding("refuted", "exhaustive", f"after {cases} cases")
    return Finding("holds", "exhaustive", f"{cases} cases: {_in_words(space)}; none of the automata gets larger")


def _printed_delta(A: CEA, S: Stream) -> printed_tods21.Delta:
    """Δ(p, t, m) of section 9.2, for an I/O-deterministic automaton of one variable."""

    def delta(p: int, i: int, marked: bool) -> int | None:
        found = [t.target for t in A.leaving[p] if bool(t.marks) == marked and holds(t.predicate, S[i])]
        if len(found) > 1:
            raise AssertionError("the automaton is not I/O-deterministic")
        return found[0] if found else None

    return delta


def _printed_outputs(
    A: CEA, S: Stream
) -> Iterator[tuple[printed_tods21.CCES, dict[int, printed_tods21.Pair], list[ComplexEvent]]]:
    """After each event: what Algorithm 2 has, and what it outputs by Algorithm 1, in its order."""
    (initial,) = A.initial
    for D, T in printed_tods21.tables(initial, len(S), _printed_delta(A, S)):
        yield D, T, [C for p in sorted(A.final & T.keys()) for C in printed_tods21.enumerate_(D, *T[p])]


_INSIDE = "OUTPUT (line 15) is called after each event, as the text says; its indentation would place it after the loop"


@claim("tods21.alg1", "Enumerate lists each complex event once", "algorithm", _INSIDE)
def _(effort: Effort) -> Finding:
    space, cases, outputs_ = _small(effort), 0, 0
    for phi in space.every():
        A = io_determinize(single_variable(compile_cel(phi)))
        for S in space.streams(space.events):
            cases += 1
            by_library = list(evaluate_automaton(compile_cel(phi), S))
            for n, (_, _, listed) in enumerate(_printed_outputs(A, S)):
                outputs_ += len(listed)
                expected = frozenset(map(sup, meaning(phi, S)[n]))
                if len(listed) != len(expected) or set(listed) != expected:
                    return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
                again = [frozenset(m.events) for m in by_library if m.at == n]
                if len(again) != len(expected) or set(again) != expected:
                    return Finding("refuted", "exhaustive", f"the library: {show(phi)} over {S.events}")
    bound = f"{cases} cases, {outputs_} outputs of the printed algorithm, and the library's; {_in_words(space)}"
    return Finding("holds", "exhaustive", bound)


@claim("tods21.alg2", "Evaluate keeps properties (1) to (5), and its table the two invariants", "algorithm", _INSIDE)
def _(effort: Effort) -> Finding:
    space, cases = _small(effort), 0
    for phi in space.every():
        A = io_determinize(single_variable(compile_cel(phi)))
        for S in space.streams(space.events):
            cases += 1
            (q0,) = A.initial
            runs = {(q0, frozenset[int]())}
            for n, (D, T, _) in enumerate(_printed_outputs(A, S)):
                runs = {
                    (t.target, C | {n} if t.marks else C)
                    for q, C in runs
                    for t in A.leaving[q]
                    if holds(t.predicate, S[n])
                }
                kept = {(q, C) for q, nodes in T.items() for C in printed_tods21.enumerate_(D, *nodes)}
                if (wrong := next(printed_tods21.problems(D, T), None)) is not None or kept != runs:
                    return Finding("refuted", "exhaustive", f"{wrong or 'an invariant'}: {show(phi)} over {S.events}")
    bound = f"{cases} cases of the printed algorithm: {_in_words(space)}"
    return Finding("holds", "exhaustive", bound)


plant(
    "tods21.alg1",
    "only the first node of a list is gone through",
    printed_tods21,
    "enumerate_",
    lambda right: lambda D, n1, n2, *rest: right(D, n1, n1, *rest),
)
plant(
    "tods21.alg2",
    "ADD forgets the list that is there",
    printed_tods21,
    "add",
    lambda right: lambda D, T, q, n1, n2: T.update({q: (n1, n2)}),
)


_AT_3 = (
    "the complex events at position 3, by Algorithms 1 and 2 as printed and by the library; not checked: T "
    "after each event, and the calls of Enumerate"
)


@claim(
    "tods21.fig8",
    "U ; ((V+ ; W) OR W) on U V V W",
    "figure",
    "our copy lacks the drawing of the automaton and the stream; we follow the words of the example",
)
def _(effort: Effort) -> Finding:
    from proofs_tests.support import stream

    phi, S = parse("U ; ((V+ ; W) OR W)"), stream("U V V W")
    got = {m.events for m in matches(phi, S)}
    *_, (_, _, listed) = _printed_outputs(io_determinize(single_variable(compile_cel(phi))), S)
    expected = {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}
    same = got == expected == {tuple(sorted(C)) for C in listed} and len(listed) == len(expected)
    return Finding("holds" if same else "refuted", "example", _AT_3)


plant(
    [f"tods21.ex3:{name}" for name in EXAMPLES],
    "FILTER keeps everything",
    interpreter,
    "clause",
    broken.for_root(cel.Filter, broken.operand),
)
plant("tods21.prop5.5", "nothing is made deterministic", sys.modules[__name__], "io_determinize", broken.same())
plant("tods21.prop9.2", "the variables stay", sys.modules[__name__], "single_variable", broken.same())
plant(
    "tods21.fig8",
    "a node has the last child only",
    CompactComplexEventSet,
    "extend",
    lambda right: lambda self, position, marks, nodes: right(self, position, marks, (nodes[1], nodes[1])),
)
