"""How many events a match of a unary formula can have, and after how many events of a stream it can have one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import single_variable
from cerify.equivalence.decide.cel import NOTHING, MarkedNFA, equivalent, marked_nfa, undecidable_reason
from cerify.equivalence.verdict import Level, Verdict
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
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


# ---------------------------------------------------------------------------------------------------------------------
# Which selection strategies select the same from a formula.

STRATEGIES: Mapping[str, type[cel.Strategy] | None] = {
    "none": None,
    "STRICT": cel.Strict,
    "NXT": cel.Next,
    "LAST": cel.Last,
    "MAX": cel.Max,
}
"""The strategies of tods21, section 7.1; and to select nothing, that is, to keep all matches."""


def coinciding(
    phi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> dict[tuple[str, str], Verdict]:
    """For each two strategies, whether they select the same from the formula on every stream.

    A difference comes with a shortest stream, sameness with a certificate.
    """
    selected = {name: phi if strategy is None else strategy(phi) for name, strategy in STRATEGIES.items()}
    return {
        (left, right): equivalent(selected[left], selected[right], level, schema, budget)
        for left, right in combinations(selected, 2)
    }
