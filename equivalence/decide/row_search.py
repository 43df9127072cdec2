"""The search for a table on which two row patterns have different matches at some row: ordered sets of threads.

From a row on both prioritized automata are determinized together: after each row there are the states that may take the
next one, in the order of preferment, and the match that is there if none of them is completed. A table is taken as its
word, which says which conditions are true in each row. To see whether the matches are the same, threads have numbers:
those of equal numbers have the same labels so far.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple, TypeAlias

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way
from cerify.equivalence.claim import Claim, Level
from cerify.equivalence.decide.certificate import Fact, Letter, Word
from cerify.equivalence.decide.row_words import ClausePair, known_after, may_end
from cerify.semantics.budget import check_time
from cerify.semantics.errors import BudgetExceeded

MOST_CONDITIONS = 12  # that threads ask for in one row
Key: TypeAlias = Hashable


class Threads(NamedTuple):
    """After a row: the states that may take the next one, the preferred first, with the numbers of their labels.

    best: the match if no thread is completed; ended: the match if the partition ends here; None where there is none.
    """

    open: tuple[tuple[int, Key], ...]
    best: Key | None
    ended: Key | None


class Configuration(NamedTuple):
    """Between two rows: the threads of both, None before the row where they start, and what of facts is known."""

    threads: tuple[Threads, Threads] | None
    known: frozenset[tuple[int, int]] = frozenset()
    begins: bool = False
    row_taken: bool = False


@dataclass
class Search:
    """The automata of two clauses, on words of their conditions; limit: the most transitions that are looked at.

    claim: whether a row at which only the right has a match is a difference, too.
    """

    automata: tuple[Automaton, Automaton]
    clauses: ClausePair
    level: Level
    claim: Claim
    limit: int
    transitions: int = 0

    @cached_property
    def before(self) -> bool:
        """Whether it makes a difference that there are rows before the one where the matches start."""
        return self.clauses.reach("PREV") > 0 or any(way.start for A in self.automata for way in A.first)

    def separation(self, facts: Sequence[Fact]) -> Word | None:
        """The shortest word on which matches that start at the same row differ; None if there is none.

        Raises BudgetExceeded.
        """
        start = Configuration(None, begins=True)
        words: dict[Configuration, tuple[Configuration, Letter] | None] = {start: None}
        pending = deque([start])
        while pending:
            check_time()
            now = pending.popleft()
            for letter, later in self.after(now, facts):
                self.transitions += 1
                if self.transitions > self.limit:
                    raise BudgetExceeded(
                        f"the comparison has more than {self.limit} transitions between sets of threads"
                    )
                if later in words:
                    continue
                words[later] = (now, letter)
                if self.separates(later, facts):
                    return _word(later, words)
                pending.append(later)
        return None

    def separates(self, now: Configuration, facts: Sequence[Fact]) -> bool:
        """Whether the matches differ if the partition ends here."""
        if now.threads is None or not now.row_taken:
            return False
        left, right = now.threads
        missing = self.claim == "contained" and left.ended is None
        return left.ended != right.ended and not missing and may_end(facts, now.known)

    def after(self, now: Configuration, facts: Sequence[Fact]) -> Iterator[tuple[Letter, Configuration]]:
        """What another row leads to, with the least that has to be known of it."""
        if now.threads is None:
            begun = tuple(threads_of([(A.first, 0)], None, now.begins) for A in self.automata)
            yield from self._rows(Configuration(_numbered(*begun), now.known, now.begins), facts)
            known = known_after(facts, now.known, frozenset(), now.begins)
            if self.before and known is not None:
                yield frozenset(), Configuration(None, known)
        elif any(side.open or side.best != side.ended for side in now.threads) or not may_end(facts, now.known):
            yield from self._rows(now, facts)

    def _rows(self, now: Configuration, facts: Sequence[Fact]) -> Iterator[tuple[Letter, Configuration]]:
        assert now.threads is not None
        asked = sorted(
            {
                known[A.variables[state]]
                for A, known, side in zip(self.automata, self.clauses.of_variables, now.threads, strict=True)
                for state, _ in side.open
                if A.variables[state] in known
            }
        )
        if len(asked) > MOST_CONDITIONS:
            raise BudgetExceeded(f"more than {MOST_CONDITIONS} conditions have to be looked at in one row")
        for truths in product((True, False), repeat=len(asked)):
            letter = frozenset(zip(asked, truths, strict=True))
            known = known_after(facts, now.known, letter, now.begins)
            if known is not None:
                left, right = (self._taken(i, side, dict(letter)) for i, side in enumerate(now.threads))
                yield letter, Configuration(_numbered(left, right), known, row_taken=True)

    def _taken(self, i: int, side: Threads, true: Mapping[int, bool]) -> Threads:
        """The threads of an automaton after a row."""
        A, known = self.automata[i], self.clauses.of_variables[i]
        labels = A.variables if self.level == "valuations" else ("",) * len(A.variables)
        alive = [
            (A.follow[state], (number, labels[state]))
            for state, number in side.open
            if A.variables[state] not in known or true[known[A.variables[state]]]
        ]
        return threads_of(alive, None if side.best is None else ("ended", side.best), False)


def threads_of(alive: Iterable[tuple[Sequence[Way], Key]], best: Key | None, begins: bool) -> Threads:
    """The threads on the ways of those that are alive; best: the match if none of these is completed."""
    found: dict[int, Key] = {}
    ended: Key | None = None
    for ways, number in alive:
        for way in ways:
            if way.start and not begins:
                continue
            if way.target != ACCEPT:
                if not way.end:
                    found.setdefault(way.target, number)
                continue
            ended = number if ended is None else ended
            if not way.end:
                return Threads(tuple(found.items()), number, ended)
    return Threads(tuple(found.items()), best, best if ended is None else ended)


def _numbered(left: Threads, right: Threads) -> tuple[Threads, Threads]:
    """The threads with numbers from 0 on in place of what tells their labels apart."""
    numbers: dict[Key, int] = {}

    def number(key: Key | None) -> Key | None:
        return None if key is None else numbers.setdefault(key, len(numbers))

    return tuple(
        Threads(tuple((state, number(key)) for state, key in side.open), number(side.best), number(side.ended))
        for side in (left, right)
    )  # type: ignore[return-value]


def _word(now: Configuration, words: Mapping[Configuration, tuple[Configuration, Letter] | None]) -> Word:
    letters: list[Letter] = []
    while (step := words[now]) is not None:
        now, letter = step
        letters.append(letter)
    return tuple(reversed(letters))
