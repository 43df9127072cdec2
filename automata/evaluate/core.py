"""The matches of unary core-CEL, by an automaton of its own (automata/cea/compile_core.py).

A formula that looks ahead has an automaton that says at the end of the stream what has matched all along it.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.cached_compiler import CachedCompiler
from cerify.automata.cea.compile_core import compile_core, looks_ahead, whole_stream
from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.cea.model import CEA
from cerify.automata.evaluate import answers
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.streaming import Evaluation
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.events import Match, Stream


def matches(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> list[Match]:
    """All matches, sorted. Raises Unsupported where filters compare events, and BudgetExceeded."""
    return answers.at_most(budget.matches, found(phi, S, budget))


def found(phi: core.Formula, S: Stream, budget: Budget = Budget()) -> Iterator[Match]:
    """The matches, lazily and in the order of positions, if phi does not look ahead."""
    A, waits = COMPILED_CORE_CEL(phi, budget)
    return read(Determinized(A, budget), S, waits)


def automaton(phi: core.Formula, budget: Budget) -> tuple[CEA, bool]:
    """The automaton, and whether it says all that matches at the end of the stream."""
    waits = bool(looks_ahead(phi))
    return (whole_stream if waits else compile_core)(phi, budget), waits


COMPILED_CORE_CEL = CachedCompiler(automaton)


def read(D: Determinized, S: Stream, waits: bool) -> Iterator[Match]:
    """The matches in the order in which an automaton says them. Raises BudgetExceeded."""
    evaluation = Evaluation(D)
    for n, type_ in enumerate(timed_items(classify(D.A.predicates, S)), 1):
        evaluation.push(type_)
        if not waits or n == len(S):
            yield from (_match(evaluation.D.complex_event(path)) for path in evaluation.completed())


def _match(C: tuple[int, ...]) -> Match:
    """A complex event, reported at its last position."""
    return Match(C[-1], C)
