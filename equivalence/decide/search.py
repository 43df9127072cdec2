"""The search for a shortest word that two sets of states do not both accept: bisimulation up to congruence.

Determinization is done as far as it is needed: pairs of sets of states are followed in step, breadth first. A pair that
follows from those already processed, because sets that are equal stay equal in a union, is not followed (Bonchi and
Pous, "Checking NFA equivalence with bisimulations up to congruence", POPL 2013). Only processed pairs are used for
this, none that still waits; so a skipped pair that differs has among these one that is no deeper and differs as soon,
and the first difference found is a shortest.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.subsets import Subset
from cerify.equivalence.decide.marked import Letter, MarkedNFA
from cerify.semantics.budget import check_time
from cerify.semantics.errors import BudgetExceeded

Pair: TypeAlias = tuple[Subset, Subset]
Relation: TypeAlias = list[Pair]


@dataclass(frozen=True)
class Separation:
    """A shortest word that one of the two accepts and the other does not."""

    word: tuple[Letter, ...]


def separate(
    automata: MarkedNFA, limit: int, contained: bool = False, known_events: bool = False
) -> Separation | Relation:
    """A shortest word that separates the two, or the pairs that show that there is none.

    With contained only words that the left accepts and the right does not. With known_events only words of types of
    which an event is known. Raises BudgetExceeded after more than limit pairs.
    """
    relation: Relation = []
    parents: dict[Pair, tuple[Pair | None, Letter]] = {}
    start = (automata.left | automata.right if contained else automata.left, automata.right)
    pending = deque(_successors(automata, start, None, parents, known_events))
    while pending:
        check_time()
        pair = pending.popleft()
        left, right = pair
        if bool(left & automata.final) != bool(right & automata.final):
            return Separation(_word(pair, parents))
        if left == right or normal_form(left, relation) == normal_form(right, relation):
            continue
        relation.append(pair)
        if len(relation) > limit or len(parents) > 10 * limit:
            raise BudgetExceeded(f"the comparison has more than {limit} pairs of sets of states")
        pending.extend(_successors(automata, pair, pair, parents, known_events))
    return relation


def normal_form(states: Subset, relation: Sequence[Pair]) -> Subset:
    """The greatest set of states that equals this one if each pair of the relation is equal."""
    pending, grown = list(relation), True
    while grown:
        grown = False
        rest = []
        for left, right in pending:
            if left & ~states == 0 or right & ~states == 0:
                grown = grown or bool((left | right) & ~states)
                states |= left | right
            else:
                rest.append((left, right))
        pending = rest
    return states


def _successors(
    automata: MarkedNFA,
    pair: Pair,
    parent: Pair | None,
    parents: dict[Pair, tuple[Pair | None, Letter]],
    known_events: bool,
) -> list[Pair]:
    """The pairs after one letter that were not reached before."""
    left, right = automata.after(pair[0]), automata.after(pair[1])
    found = []
    for letter in sorted(left.keys() | right.keys()):
        successor = (left.get(letter, 0), right.get(letter, 0))
        if successor not in parents and not (known_events and automata.event(letter) is None):
            parents[successor] = (parent, letter)
            found.append(successor)
    return found


def _word(pair: Pair, parents: dict[Pair, tuple[Pair | None, Letter]]) -> tuple[Letter, ...]:
    letters: list[Letter] = []
    at: Pair | None = pair
    while at is not None:
        at, letter = parents[at]
        letters.append(letter)
    return tuple(reversed(letters))
