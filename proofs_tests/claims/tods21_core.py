"""Claims of tods21 about the running examples, I/O-determinization and evaluation."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import product

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import io_determinize, single_variable
from cerify.automata.evaluate.streaming import evaluate_automaton, matches
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import holds
from proofs_tests.claims.decide import algebra, separated
from proofs_tests.claims.ledger import Effort, Finding, claim
from proofs_tests.claims.search import Space, meaning
from proofs_tests.claims.tods21_constructions import WIDE, outputs
from proofs_tests.support import EXAMPLES, FIGURE_1


def _example(name: str) -> None:
    query, printed = EXAMPLES[name]

    @claim(f"tods21.ex3:{name}", f"{query} on Figure 1", "example")
    def check(effort: Effort) -> Finding:
        got = {n: {tuple(sorted(C)) for C in complex_events(parse(query), FIGURE_1, n)} for n in range(len(FIGURE_1))}
        holds_ = {n: events for n, events in got.items() if events} == printed
        return Finding("holds" if holds_ else "refuted", "exhaustive", "all 9 positions of Figure 1")


for _name in EXAMPLES:
    _example(_name)


def _sample(effort: Effort, formulas_: int, seed: int) -> list[cel.Formula]:
    """A few formulas of each size to 5 nodes, drawn from all of them."""
    formulas_ //= 5 if effort == "quick" else 1
    draw = random.Random(seed)
    pools = [list(WIDE.formulas(size)) for size in range(1, 6)]
    return [phi for pool in pools for phi in (pool if len(pool) <= formulas_ else draw.sample(pool, formulas_))]


@claim("tods21.prop5.5", "CEA are closed under I/O-determinization", "proposition")
def _(effort: Effort) -> Finding:
    sample, cases = _sample(effort, 60, seed=1), 0
    for phi in sample:
        over = algebra(phi)
        A = compile_cel(phi, algebra=over)
        B = io_determinize(A, algebra=over)
        small = B.states <= 2**A.states
        if not small or separated(A, B, over) is not None:
            return Finding("refuted", "decided", show(phi))
        for S in WIDE.streams(2):
            cases += 1
            for event, leaving in product(S, B.leaving):
                taken = [t.marks for t in leaving if holds(t.predicate, event)]
                if len(taken) != len(set(taken)):
                    return Finding("refuted", "random", f"after {cases} cases")
    return Finding("holds", "decided", f"{len(sample)} formulas of the core to 5 nodes, drawn from all, on all streams")


def _small(effort: Effort) -> Space:
    """All formulas of the core to a size, and streams of a length."""
    return replace(WIDE, nodes=3, events=3) if effort == "quick" else replace(WIDE, nodes=4, events=4)


@claim("tods21.prop9.2", "Every CEA has a single-variable one with the same complex events", "proposition")
def _(effort: Effort) -> Finding:
    space, cases = _small(effort), 0
    for phi in space.every():
        A, B = compile_cel(phi), single_variable(compile_cel(phi))
        for S in space.streams(space.events):
            cases += 1
            same = all(
                {sup(m) for m in a} == {sup(m) for m in b} for a, b in zip(outputs(A, S), outputs(B, S), strict=True)
            )
            if not same or B.size > A.size:
                return Finding("refuted", "exhaustive", f"after {cases} cases")
    return Finding("holds", "exhaustive", f"{cases} cases; {space.describe()}")


def _evaluated(phi: cel.Formula, S: Stream) -> list[frozenset[Valuation]]:
    """What Algorithms 1 and 2 output, as valuations of one variable; a repetition would be lost, so it is refused."""
    found = list(evaluate_automaton(compile_cel(phi), S))
    if len(found) != len(set(found)):
        raise AssertionError("a complex event was enumerated twice")
    return [frozenset(frozenset(("•", p) for p in m.events) for m in found if m.at == n) for n in range(len(S))]


def _evaluation(id_: str, title: str) -> None:
    @claim(id_, title, "algorithm")
    def check(effort: Effort) -> Finding:
        space, cases = _small(effort), 0
        for phi in space.every():
            for S in space.streams(space.events):
                cases += 1
                expected = [frozenset(frozenset(("•", p) for p in sup(mu)) for mu in mus) for mus in meaning(phi, S)]
                if _evaluated(phi, S) != expected:
                    return Finding("refuted", "exhaustive", f"after {cases} cases")
        return Finding("holds", "exhaustive", f"{cases} cases; {space.describe()}")


_evaluation("tods21.alg1", "Enumerate lists each complex event once")
_evaluation("tods21.alg2", "Evaluate outputs the complex events at each position")


@claim("tods21.fig8", "U ; ((V+ ; W) OR W) on U V V W", "figure")
def _(effort: Effort) -> Finding:
    from proofs_tests.support import stream

    got = {m.events for m in matches(parse("U ; ((V+ ; W) OR W)"), stream("U V V W"))}
    expected = {(0, 3), (0, 1, 3), (0, 2, 3), (0, 1, 2, 3)}
    return Finding("holds" if got == expected else "refuted", "exhaustive", "the stream of the figure")
