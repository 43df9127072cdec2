"""Claims of tods21 that every automaton has a formula: Theorem 6.3 and Corollary 6.4."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Stream
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.decide import SCHEMA, differ, shown
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.printed_tods21 import one_initial_one_final, theorem_6_3, theorem_6_3_corrected
from proofs_tests.claims.search import Space

CORRECTION = (
    "let `ψ_t` keep the fresh variable: project on L and this variable, so that every event of a run is bound until "
    "the end. Remove the variable by a projection around START: `PROJECT[L](START(φ_1n))` with all variables L of the "
    "automaton"
)
ALLOWED = (cel.EventAtom, cel.In, cel.Filter, cel.ContiguousSeq, cel.ContiguousPlus, cel.Project, cel.Start, cel.Or)
SMALL = Space(("filter", "seq", "plus", "or", "and", "all", "unless"), nodes=4, events=3)


def _as_written(phi: cel.Formula) -> bool:
    """Whether it has the operators of Corollary 6.4 alone."""
    return all(isinstance(psi, ALLOWED) for psi in cel.subformulas(phi))


def refuted_by(built: Callable[[CEA], cel.Formula], A: CEA) -> Stream | None:
    """A shortest stream at whose end the formula built from A has not its valuations."""
    return differ(built(A), A, SCHEMA)


@claim(
    "tods21.thm6.3",
    "The proof of Theorem 6.3 builds from a CEA a valuation-equivalent formula without ; + AND ALL UNLESS",
    "construction",
)
def _(effort: Effort) -> Finding:
    A = compile_cel(parse("A"))  # Figure 5
    S = refuted_by(theorem_6_3, A)
    assert S is not None
    counterexample = {
        "automaton": "Figure 5 with R = A, which is that of the formula A",
        "compared with": show(theorem_6_3(A)),
        **shown(S, expected=A, got=compile_cel(theorem_6_3(A))),
    }
    for cases, A in enumerate(automata(effort, seed=3), 1):
        if not _as_written(theorem_6_3_corrected(A)) or refuted_by(theorem_6_3_corrected, A) is not None:
            return Finding("refuted", "decided", f"after {cases} automata", counterexample)
    bound = f"{in_words(effort, seed=3)}; on all streams of A and B"
    return Finding("holds-corrected", "decided", bound, counterexample, CORRECTION)


@claim(
    "tods21.cor6.4",
    "IN, FILTER, :, :+, PROJECT, START and OR express all of unary CEL, with its valuations",
    "corollary",
)
def _(effort: Effort) -> Finding:
    space = replace(SMALL, nodes=3) if effort == "quick" else SMALL
    cases, streams = 0, [(n, S) for n in range(3) for S in space.streams(n + 1)]
    for phi in space.every():
        cases += 1
        psi = theorem_6_3_corrected(one_initial_one_final(compile_cel(phi)))
        if not _as_written(psi) or not isinstance(equivalent(phi, psi, "valuations", SCHEMA), Equivalent):
            return Finding("refuted", "decided", f"after {cases} formulas")
        if any(interpreter.valuations(phi, S, n) != interpreter.valuations(psi, S, n) for n, S in streams):
            return Finding("refuted", "decided", f"after {cases} formulas, by the meaning")
    return Finding(
        "holds",
        "decided",
        f"{cases} formulas, translated by the corrected Theorem 6.3, on all streams of A and B, and compared with "
        f"the meaning on all to 3 events over 3 tuples; {space.formulas_in_words}",
    )


def _without_start(theorem: Callable[[CEA], cel.Formula]) -> Callable[[CEA], cel.Formula]:
    def unanchored(A: CEA) -> cel.Formula:
        phi = theorem(A)
        assert isinstance(phi, cel.Project)
        assert isinstance(phi.phi, cel.Start)
        return cel.Project(phi.variables, phi.phi.phi)

    return unanchored


plant(
    "tods21.cor6.4",
    "variables are left out",
    sys.modules[__name__],
    "theorem_6_3_corrected",
    lambda right: lambda A: cel.Project(frozenset(), right(A)),
)
plant("tods21.thm6.3", "START is left out", sys.modules[__name__], "theorem_6_3_corrected", _without_start)
