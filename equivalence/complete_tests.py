"""Complete tests of an implementation of bounded size: the W-method on the marked automaton of a formula of CEL.

A stream with a set of its positions is a word over letters (type of event, marked or not), and the complex events of a
formula without correlation are a regular language of such words. An implementation that behaves like a deterministic
automaton of at most m states over these letters, and differs from the formula anywhere, differs on one of the streams
given here (M. P. Vasilevskii 1973; T. S. Chow, "Testing software design modeled by finite-state machines", 1978). The
proof is in docs/theory/complete-tests.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import single_variable
from cerify.automata.exploration import Subset, classes, explore
from cerify.equivalence.decide.cel import MarkedNFA, algebras, marked_nfa, undecidable_reason
from cerify.equivalence.decide.keys_and_windows import (
    LONGEST,
    Measures,
    Real,
    RealStreams,
    Reduction,
    Width,
    cases_of,
    separate_alternatives,
    stream_of_word,
    with_hidden,
)
from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import TIME, Event, Schema, Stream

Letter: TypeAlias = tuple[int, bool]
"""The number of a type of events, and whether the event is marked."""

Word: TypeAlias = tuple[Letter, ...]
Types: TypeAlias = tuple[int, ...]
"""A stream as the numbers of its types of events."""


@dataclass(frozen=True)
class MarkedDFA:
    """The smallest complete automaton that reads a stream with some events marked, and accepts if these are a match at
    its end.

    A letter is a type of event and whether the event is marked. The initial state is 0. events: an example of each type
    that the formula distinguishes. steps: for each state the target of each letter. marks: the ways to mark an event;
    only one in a language whose match is a single event.
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
        """Return words that distinguish all states: of any two states, some word leads only one to a final state."""
        # The empty word comes first: it distinguishes final states from all others.
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
        # Each letter gets a target, if only the empty set: the W-method needs a complete automaton.
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
    """Return the streams of a complete test for implementations of at most `states` states.

    states: None stands for as many as the automaton has. Let the implementation have m states and the automaton n. A
    stream is then an access word, at most m - n + 1 letters, and a characterizing word. Prefixes of other streams are
    left out, because an engine answers at every position. Raises InputError, BudgetExceeded.
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
                    raise BudgetExceeded(
                        f"the test needs more than {budget.matches} streams; give a smaller number of states"
                    )
    beginnings = {word[:length] for word in found for length in range(len(word))}
    return sorted(found - beginnings, key=lambda word: (len(word), word))


def unmarked(word: Word) -> Types:
    """Return the types of events of a word, without the marks that say which events are in the match."""
    return tuple(type_ for type_, _ in word)


def _words(letters: int, longest: int) -> Iterator[Types]:
    for length in range(longest + 1):
        yield from product(range(letters), repeat=length)


# ---------------------------------------------------------------------------------------------------------------------
# Complete tests for formulas with partitions and windows on values: the W-method over events as the last event sees
# them.
#
# Whether a match ends with the last event depends on two facts about each of its events: whether it has the last
# event's key, and how near it is to the last event (decide/keys_and_windows.py). With these facts in the letters, the
# matches of a formula on streams that can exist are a regular language, to which the W-method applies. The tests have
# events just before the edge of a window, at the edge, just after it and beyond, so they find a window that is open
# where it should be closed. Two keys are enough, for the same reason as in the decider. docs/theory/complete-tests.md
# has the assumptions.


@dataclass(frozen=True)
class KeyedTest:
    """The part of a complete test for streams whose last event has given keys.

    automaton: accepts a stream with a marked match, for streams that can exist (`real`). Its events have the hidden
    attributes of the reduction, such as "has the key of the last event". zones: for each type of events and each
    attribute of a window, how near to the last event its events are.
    """

    automaton: MarkedDFA
    reduction: Reduction
    zones: tuple[tuple[int, ...], ...]
    real: RealStreams

    def words(self, states: int | None = None, budget: Budget = Budget()) -> list[Types]:
        """Return the words of a complete test, as types of events. Words that no stream has are left out (`is_real`).

        states: the greatest number of states of an engine under test. Raises InputError, BudgetExceeded.
        """
        own = len(self.automaton.steps)
        bound = own if states is None else states
        if bound < own:
            raise InputError(f"the query itself has an automaton of {own} states; give at least as many, not {bound}")
        found: set[Types] = set()
        begins = {unmarked(word) for word in self.automaton.access}
        ends = {unmarked(word) for word in self.automaton.characterizing}
        for begin, middle, end in product(begins, list(self._middles(bound - own + 1, budget)), ends):
            check_time()
            word = (*begin, *middle, *end)
            if word and self.is_real(word):
                found.add(word)
            if len(found) > budget.matches:
                raise BudgetExceeded(
                    f"the test needs more than {budget.matches} streams; give a smaller number of states"
                )
        return sorted(found, key=lambda word: (len(word), word))

    def _middles(self, longest: int, budget: Budget) -> Iterator[Types]:
        count = len(self.automaton.events)
        if count**longest > budget.matches:
            raise BudgetExceeded(
                f"the test would try {count} kinds of events in each of {longest} places; "
                "give a smaller number of states"
            )
        for length in range(longest + 1):
            yield from product(range(count), repeat=length)

    def is_real(self, word: Types) -> bool:
        """Return whether some stream has these types of events: a type tells how near an event is to the last one."""
        state = self.real.start
        for type_ in word:
            after = self.real.step(state, type_)
            if after is None:
                return False
            state = after
        return self.real.accepts(state)

    def stream(self, word: Types) -> Stream | None:
        """Return a stream with these types of events, in order; None if none is found, although one may exist."""
        events = [self.automaton.events[type_] for type_ in word]
        return stream_of_word(events, [self.zones[type_] for type_ in word], self.reduction, at_edges=True)


@dataclass(frozen=True)
class KeyedTests:
    """The tests of a formula: a KeyedTest for each case of the last event's keys."""

    cases: tuple[KeyedTest, ...]

    @cached_property
    def states(self) -> int:
        """Return the number of states of the largest of the automata for the cases of the last event's keys."""
        return max(len(case.automaton.steps) for case in self.cases)

    @property
    def kinds(self) -> int:
        """Return the greatest number of kinds of events, over the cases of the last event's keys.

        Events of one kind pass the same conditions, and relate to the last event's keys and windows in the same way.
        """
        return max(len(case.automaton.events) for case in self.cases)

    def streams(self, states: int | None = None, budget: Budget = Budget()) -> list[Stream]:
        """Return streams that find every wrong implementation with at most `states` states for each case of keys.

        Prefixes of other streams are left out, because an engine answers at every position. Raises
        InputError, BudgetExceeded, and Unsupported if no stream is found for a word.
        """
        if states is not None and states < self.states:
            raise InputError(
                f"the query itself has an automaton of {self.states} states; give at least as many, not {states}"
            )
        found: dict[tuple[tuple[str, tuple[tuple[str, object], ...]], ...], Stream] = {}
        for case in self.cases:
            for word in case.words(states, budget):
                S = case.stream(word)
                if S is None:
                    raise Unsupported("a filter tests the attribute of a window, so no streams were found")
                found.setdefault(tuple(map(_key, S)), S)
        beginnings = {key[:length] for key in found for length in range(1, len(key))}
        return [
            S for key, S in sorted(found.items(), key=lambda one: (len(one[0]), repr(one[0]))) if key not in beginnings
        ]


def _key(event: Event) -> tuple[str, tuple[tuple[str, object], ...]]:
    return event.type, tuple(sorted(event.attributes.items(), key=lambda pair: pair[0]))


def keyed_tests(phi: Formula, schema: Schema | None = None, budget: Budget = Budget()) -> KeyedTests:
    """Return the complete tests of a formula with partitions and windows around whole matches.

    They are for streams whose times never decrease. Raises Unsupported for a formula that the reduction does not
    support, and BudgetExceeded.
    """
    with depth_limited(phi.span):
        expanded = separate_alternatives(cel.expanded(phi))
        measures = Measures.from_formulas((expanded,), schema)
        if measures.entangled:
            raise Unsupported(
                "a filter tests the attribute of a window, or compares the attribute of a key with others"
            )
        if any(width >= LONGEST / 4 for widths in measures.widths.values() for width in widths):
            raise Unsupported("a window is wider than the times that an event can have; use a shorter window")
        cut = replace(
            measures, widths={name: _edges(name, widths, measures) for name, widths in measures.widths.items()}
        )
        return KeyedTests(
            tuple(_case(expanded, Reduction(cut, keys, "non-decreasing"), budget) for keys in cases_of(cut))
        )


def _edges(name: str, widths: Iterable[Width], measures: Measures) -> tuple[Width, ...]:
    """Return the widths of the windows, and the distances just below and just above each of them, ascending."""
    value_type = measures.type_of(name) or ("timestamp" if name == TIME else "int")
    tick = {"timestamp": Fraction(1, 10**6), "float": Fraction(1, 2**20)}.get(value_type, Fraction(1))
    cut = {Fraction(width) + step for width in widths for step in (-tick, 0, tick)}
    return tuple(int(w) if w.denominator == 1 else float(w) for w in sorted(cut) if w >= 0)


def _case(phi: Formula, reduction: Reduction, budget: Budget) -> KeyedTest:
    measures = reduction.measures
    reduced = reduction.reduced(phi)
    if reduction.parts:
        what = "a key" if isinstance(reduction.parts[0], frozenset) else "a window"
        raise Unsupported(
            f"{what} is around a part of a match; complete tests are known only for whole matches", phi.span
        )
    near = [reduction.near(name, i) for name, widths in measures.widths.items() for i in range(len(widths))]
    known = [*near, *(reduction.last(key) for key in measures.keys)]
    for solver in (False, True):
        schema = with_hidden(measures, measures.schema)
        algebra = Algebra([*generators(reduced), *known], budget, schema, solver)
        A = single_variable(compile_cel(reduced, budget, algebra))
        # A wrong window may let in what the query never looks at, so all types of events are kept apart.
        automaton = marked_nfa(A, A, algebra, [*known, *generators(reduced)])
        events = tuple(event for event in automaton.events if event is not None)
        if len(events) == len(automaton.events):
            real = RealStreams(reduction, automaton.types, algebra)
            steps, final = _determinized_real(automaton, real, budget)
            zones = tuple(tuple(real.zones(type_)) for type_ in range(len(events)))
            return KeyedTest(minimal(steps, final, events), reduction, zones, real)
    raise Unsupported(undecidable_reason(measures.schema))


def _determinized_real(
    automaton: MarkedNFA, real: RealStreams, budget: Budget
) -> tuple[list[dict[Letter, int]], list[bool]]:
    """Return the complete automaton of the marked words that some stream has. Its state None is for all other words."""
    width = len(automaton.marks)
    letters = list(product(range(len(automaton.types)), (False, True)))
    State = tuple[Real, Subset]

    def successors(state: State | None) -> Iterable[tuple[Letter, State | None]]:
        if state is None:
            return [(letter, None) for letter in letters]
        known, states = state
        reached = dict.fromkeys(letters, 0)
        for number, targets in automaton.after(states).items():
            reached[number // width, bool(automaton.marks[number % width])] |= targets
        made: list[tuple[Letter, State | None]] = []
        for letter, targets in reached.items():
            after = real.step(known, letter[0])
            made.append((letter, None if after is None else (after, targets)))
        return made

    start: State | None = (real.start, automaton.left)
    found = explore([start], successors, budget.states, "the automaton of the marked events")
    number = {state: i for i, state in enumerate(found)}
    steps = [{letter: number[target] for letter, target in edges} for edges in found.values()]
    final = [state is not None and real.accepts(state[0]) and bool(state[1] & automaton.final) for state in found]
    return steps, final
