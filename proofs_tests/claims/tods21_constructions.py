"""Claims of tods21 that a formula, or a strategy on an automaton, has an automaton: Theorems 6.2 and 7.2, case by case.

Each case is the induction step of its proof: the printed construction on correct automata of the operands, so that an
error in one case is not counted against another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from cerify.automata.cea import run
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import Stream, Valuation
from proofs_tests.claims.ledger import Effort, Finding, claim
from proofs_tests.claims.printed import tods21_thm6_2, tods21_thm7_2
from proofs_tests.claims.search import ONE_EVENT, Difference, Space, first_difference

CORE = ("in", "filter", "plus", "cplus", "seq", "cseq", "or")
CASES = (*CORE, "project", "start", "and", "all", "unless")
STRATEGIES = ("strict", "nxt", "last", "max")

# Where each case is looked at: the core below every operator; anchored and projected operands, which end or begin where
# nothing is marked; and for the strategies formulas that mark one event in several ways.
WIDE = Space(CORE, nodes=5, events=4)
ANCHORED = Space(("in", "seq", "plus", "project", "start"), nodes=4, events=4)
MARKED = Space(("in", "seq", "plus", "or", "start"), nodes=9, events=3, alphabet=ONE_EVENT)

CORRECTIONS = {
    "tods21.thm6.2:cplus": "add (q, P, L, q) for every marking transition (q', P, L, q'') with q' initial and q'' "
    "final: a round of one event leads from the state between two rounds back to it",
    "tods21.thm6.2:all": "give each operand a state to wait in before its run and one to rest in after it, each with a "
    "loop (TRUE, {}); one operand at least begins in an initial state of its own, one at least ends in a final one",
    "tods21.thm6.2:unless": "let the determinized automaton recognize that psi2 has a match on some interval inside: "
    "loops (TRUE, {}) before its initial and after its final states",
    "tods21.thm7.2:nxt": "compare supports: keep, beside R, the states of all runs with the same support",
    "tods21.thm7.2:last": "compare supports: keep, beside R, the states of all runs with the same support",
    "tods21.thm7.2:max": "compare supports: keep, beside R, the states of all runs with the same support",
}


def outputs(A: CEA, S: Stream) -> list[frozenset[Valuation]]:
    """The valuations of an automaton at each position, by its runs."""
    return [run.valuations(A, S, n) for n in range(len(S))]


def by_theorem_6_2(phi: cel.Formula) -> CEA:
    """The printed case for phi's operator, on automata of its operands."""
    given = lambda psi: tods21_thm6_2.lifted(compile_cel(psi))  # noqa: E731
    return tods21_thm6_2.numbered(tods21_thm6_2.construct(phi, given))


def by_theorem_7_2(strategy: str) -> Callable[[cel.Formula], CEA]:
    """The printed construction of the strategy, on an automaton of its operand."""
    return lambda phi: tods21_thm7_2.construct(strategy, compile_cel(cel.children(phi)[0]))


def construction(id_: str, printed: Callable[[cel.Formula], CEA], *spaces: Space) -> None:
    """Enter the case of an operator: the printed construction and, where that fails, the corrected one."""
    operator = id_.split(":")[1]

    def first(built: Callable[[cel.Formula], CEA], spaces: list[Space]) -> tuple[Difference | None, int]:
        cases = chain.from_iterable(space.cases(operator) for space in spaces)
        return first_difference(lambda phi, S: outputs(built(phi), S), cases)

    @claim(id_, f"the automaton of the case {operator}", "construction")
    def check(effort: Effort) -> Finding:
        sized = [space if effort == "full" else replace(space, nodes=space.nodes - 1, events=3) for space in spaces]
        bound = f"{operator} on top; " + "; and ".join(space.describe() for space in sized)
        found, cases = first(printed, sized)
        if found is None:
            return Finding("holds", "exhaustive", f"{bound}: {cases} cases")
        still, cases = first(compile_cel, sized)
        status = "holds-corrected" if still is None else "refuted"
        return Finding(status, "exhaustive", f"{bound}: {cases} cases", found.as_json(), CORRECTIONS.get(id_))


for _operator in CASES:
    construction(f"tods21.thm6.2:{_operator}", by_theorem_6_2, ANCHORED, WIDE)
for _strategy in STRATEGIES:
    construction(f"tods21.thm7.2:{_strategy}", by_theorem_7_2(_strategy), ANCHORED, MARKED)
