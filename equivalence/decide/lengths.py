"""How many events a match of a unary formula can have, and after how many events of a stream it can have one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.io_determinize import single_variable
from cerify.equivalence.decide.cel import NOTHING, undecidable_reason
from cerify.equivalence.decide.marked import MarkedNFA, marked_nfa
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Schema


@dataclass(frozen=True)
class Lengths:
    """Up to a bound: the lengths of streams at whose end there can be a match, and the numbers of events of a match."""

    streams: tuple[int, ...]
    matches: tuple[int, ...]


def output_lengths(phi: Formula, up_to: int, schema: Schema | None = None, budget: Budget = Budget()) -> Lengths:
    """The lengths, exactly: each is there if and only if some stream has such a match, at its last position.

    Numbers of events are of matches on streams of any length. Raises Unsupported where no automaton carries it or the
    solver cannot tell, BudgetExceeded.
    """
    algebra = Algebra(generators(phi), budget, schema, solver=True)
    automata = marked_nfa(single_variable(compile_cel(phi, budget, algebra)), NOTHING, algebra)
    if any(event is None for event in automata.events):
        raise Unsupported(undecidable_reason(schema))
    return Lengths(tuple(_by_length(automata, up_to)), tuple(_by_events(automata, up_to)))


def _by_length(automata: MarkedNFA, up_to: int) -> Iterable[int]:
    """The lengths of the words that are accepted: one set of states for each length."""
    states = automata.left
    for length in range(1, up_to + 1):
        states = _after(automata, states, marked=(True, False))
        if states & automata.final:
            yield length


def _by_events(automata: MarkedNFA, up_to: int) -> Iterable[int]:
    """The numbers of marked letters in accepted words; letters that are not marked count for nothing."""
    states = _unmarked_closure(automata, automata.left)
    if _after(automata, states, marked=(False,)) & automata.final:  # the empty word is that of no stream
        yield 0
    for count in range(1, up_to + 1):
        states = _unmarked_closure(automata, _after(automata, states, marked=(True,)))
        if states & automata.final:
            yield count


def _unmarked_closure(automata: MarkedNFA, states: int) -> int:
    while (grown := states | _after(automata, states, marked=(False,))) != states:
        states = grown
    return states


def _after(automata: MarkedNFA, states: int, marked: tuple[bool, ...]) -> int:
    """The states after one letter that is marked, or is not."""
    reached = 0
    for letter, targets in automata.after(states).items():
        if bool(automata.marks[letter % len(automata.marks)]) in marked:
            reached |= targets
    return reached
