"""Whether an expression counts modulo a number; if not, its language is star-free, as in past temporal logic.

A language is star-free if no word permutes states of its minimal automaton in a cycle (Schützenberger 1965: the
transition monoid has no group but trivial ones; McNaughton and Papert 1971; Kamp 1968 for temporal logic).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.dfa.decide import Word, shortest
from cerify.automata.dfa.model import DFA
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported

Move: TypeAlias = tuple[int, ...]
"""What a word does: the state after each state."""


@dataclass(frozen=True)
class Counter:
    """A word that leads each of some states to the next one, and the last to the first; there are two at least.

    Whether the expression takes place depends on how often the word has been, modulo their number.
    """

    word: Word
    states: tuple[int, ...]


def counter(A: DFA, budget: Budget = Budget()) -> Counter | None:
    """A counter of the automaton with a shortest word, None if its language is star-free.

    The automaton is minimal and of a whole expression. Raises BudgetExceeded where there are too many different moves,
    and Unsupported where z3 returned unknown for a type of events.
    """
    coming = A.alphabet.coming
    if any(minterm.witness is None for minterm in A.alphabet.types):
        raise Unsupported(
            "z3 returned unknown for the masks; to decide whether it counts, compare attributes with values"
        )
    after = {a: tuple(A.step(q, a) for q in range(len(A.following))) for a in coming}

    def edges(move: Move) -> Iterator[tuple[int, Move]]:
        return ((a, tuple(after[a][q] for q in move)) for a in coming)

    nothing = tuple(range(len(A.following)))
    word = shortest(nothing, edges, lambda move: _cycle(move) is not None, budget)
    if word is None:
        return None
    move = nothing
    for a in word:
        move = tuple(after[a][q] for q in move)
    return Counter(word, _cycle(move) or ())


def _cycle(move: Move) -> tuple[int, ...] | None:
    """States that the move permutes in a cycle, two at least."""
    done: set[int] = set()
    for q in range(len(move)):
        way: dict[int, None] = {}
        while q not in done and q not in way:
            way[q] = None
            q = move[q]
        if q in way and move[q] != q:
            states = list(way)
            return tuple(states[states.index(q) :])
        done.update(way)
    return None
