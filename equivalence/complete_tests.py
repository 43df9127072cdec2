"""Complete tests of an implementation of bounded size: the W-method on the marked automaton of a formula of CEL.

A stream with a set of its positions is a word over letters (type of event, marked or not), and the complex events of a
formula without correlation are a regular language of such words. An implementation that behaves like a deterministic
automaton of at most m states over these letters, and differs from the formula anywhere, differs on one of the streams
given here (M. P. Vasilevskii 1973; T. S. Chow, "Testing software design modeled by finite-state machines", 1978). The
proof is in docs/theory/complete-tests.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import single_variable
from cerify.automata.exploration import Subset, classes, explore
from cerify.equivalence.decide.cel import MarkedNFA, algebras, marked_nfa, undecidable_reason
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Schema

Letter: TypeAlias = tuple[int, bool]
"""The number of a type of events, and whether the event is marked."""

Word: TypeAlias = tuple[Letter, ...]
Types: TypeAlias = tuple[int, ...]
"""A stream as the numbers of its types of events."""


@dataclass(frozen=True)
class MarkedDFA:
    """The minimal complete automaton of the marked words of a formula; the initial state is 0.

    events: an event of each type that the formula distinguishes. steps: for each state the target of each letter.
    marks: the ways to mark an event; only one way in a language whose answers are sets of events rather than complex
    events.
    """

    events: tuple[Event, ...]
    steps: tuple[dict[Letter, int], ...]
    final: tuple[bool, ...]
    marks: tuple[bool, ...] = (False, True)

    @cached_property
    def letters(self) -> tuple[Letter, ...]:
        """Return all letters."""
        return tuple(product(range(len(self.events)), self.marks))

    def accepts(self, word: Sequence[Letter], state: int = 0) -> bool:
        """Return whether a word leads from a state to a final state."""
        for letter in word:
            state = self.steps[state][letter]
        return self.final[state]

    @cached_property
    def access(self) -> tuple[Word, ...]:
        """Return for each state a shortest word that leads to it."""
        found: dict[int, Word] = {0: ()}
        pending = [0]
        for state in pending:
            for letter, target in self.steps[state].items():
                if target not in found:
                    found[target] = (*found[state], letter)
                    pending.append(target)
        return tuple(found[state] for state in range(len(self.steps)))

    @cached_property
    def characterizing(self) -> tuple[Word, ...]:
        """Return words that distinguish every two states: some word leads from exactly one of them to a final state."""
        found: list[Word] = [()]
        states = range(len(self.steps))
        while unequal := [(p, q) for p in states for q in states if p < q and not self._differ(p, q, found)]:
            found.append(self._distinguishing(*unequal[0]))
        return tuple(found)

    def _differ(self, p: int, q: int, words: Sequence[Word]) -> bool:
        return any(self.accepts(word, p) != self.accepts(word, q) for word in words)

    def _distinguishing(self, p: int, q: int) -> Word:
        """Return a shortest word that leads from exactly one of two states to a final state."""
        pending: list[tuple[int, int, Word]] = [(p, q, ())]
        seen = {(p, q)}
        for left, right, word in pending:
            if self.final[left] != self.final[right]:
                return word
            for letter in self.letters:
                pair = self.steps[left][letter], self.steps[right][letter]
                if pair not in seen:
                    seen.add(pair)
                    pending.append((*pair, (*word, letter)))
        raise AssertionError(f"the automaton is not minimal: no word distinguishes its states {p} and {q}")


def marked_dfa(phi: Formula, schema: Schema | None = None, budget: Budget = Budget()) -> MarkedDFA:
    """Return the minimal automaton of the complex events of a formula. Raises Unsupported, BudgetExceeded."""
    for algebra in algebras(phi, schema=schema, budget=budget):
        A = single_variable(compile_cel(phi, budget, algebra))
        automaton = marked_nfa(A, A, algebra)
        events = tuple(event for event in automaton.events if event is not None)
        if len(events) == len(automaton.events):
            return minimal(*_determinized(automaton, budget), events)
    raise Unsupported(undecidable_reason(schema))


def _determinized(automaton: MarkedNFA, budget: Budget) -> tuple[list[dict[Letter, int]], list[bool]]:
    """Return the complete, deterministic automaton of the left side of a union (subset construction)."""
    width = len(automaton.marks)

    def successors(states: Subset) -> Iterable[tuple[Letter, Subset]]:
        reached = dict.fromkeys(product(range(len(automaton.types)), (False, True)), 0)
        for letter, targets in automaton.after(states).items():
            reached[letter // width, bool(automaton.marks[letter % width])] |= targets
        return reached.items()

    found = explore([automaton.left], successors, budget.states, "the automaton of the marked events")
    number = {states: i for i, states in enumerate(found)}
    steps = [{letter: number[target] for letter, target in edges} for edges in found.values()]
    return steps, [bool(states & automaton.final) for states in found]


def minimal(steps: Sequence[dict[Letter, int]], final: Sequence[bool], events: tuple[Event, ...]) -> MarkedDFA:
    """Return the minimal automaton of a complete automaton without unreachable states."""
    of = classes(steps, final)
    chosen = [of.index(number) for number in range(max(of) + 1)]
    return MarkedDFA(
        events,
        tuple({letter: of[target] for letter, target in steps[q].items()} for q in chosen),
        tuple(final[q] for q in chosen),
    )


def vectors(automaton: MarkedDFA, states: int | None = None, budget: Budget = Budget()) -> list[Types]:
    """Return the streams of a complete test for implementations of at most `states` states (None: as many as the
    automaton has).

    A stream is an access word, at most m - n + 1 letters and a characterizing word, for m states of the implementation
    and n of the automaton. Prefixes of other streams are left out, because an engine answers at every position. Raises
    InputError, BudgetExceeded.
    """
    own = len(automaton.steps)
    bound = own if states is None else states
    if bound < own:
        raise InputError(f"the query itself has an automaton of {own} states; give at least as many, not {bound}")
    found: set[Types] = set()
    for begin in {unmarked(word) for word in automaton.access}:
        for middle in _words(len(automaton.events), bound - own + 1):
            for end in {unmarked(word) for word in automaton.characterizing}:
                found.add((*begin, *middle, *end))
                if len(found) > budget.matches:
                    raise BudgetExceeded(f"the test needs more than {budget.matches} streams; take fewer states")
    beginnings = {word[:length] for word in found for length in range(len(word))}
    return sorted(found - beginnings, key=lambda word: (len(word), word))


def unmarked(word: Word) -> Types:
    """Return the stream of a word, without its marks."""
    return tuple(type_ for type_, _ in word)


def _words(letters: int, longest: int) -> Iterator[Types]:
    for length in range(longest + 1):
        yield from product(range(letters), repeat=length)
