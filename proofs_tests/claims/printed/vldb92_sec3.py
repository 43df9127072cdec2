"""vldb92, section 3, letter for letter: the automata for the base operators, and for |, /+ and prefix.

The letters are the primitive events; derived operators are translated. Where the text asks for a deterministic
automaton it is the one of the subset construction, without the subsets that cannot be reached. The reading of prefix is
an argument, since the text leaves open whether a sequence of events may be empty.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeAlias

from cerify.automata.exploration import explore
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import definition

State: TypeAlias = Any


@dataclass(frozen=True)
class Machine:
    """A finite automaton with silent steps."""

    letters: tuple[str, ...]
    start: State
    accepting: frozenset[State]
    moves: dict[tuple[State, str], frozenset[State]]
    silent: dict[State, frozenset[State]] = field(default_factory=dict)

    @property
    def states(self) -> frozenset[State]:
        sources = {q for q, _ in self.moves} | set(self.silent) | {self.start} | self.accepting
        return frozenset(sources).union(*self.moves.values(), *self.silent.values())

    def closed(self, states: Iterable[State]) -> frozenset[State]:
        """The states, with those that silent steps lead to."""
        return frozenset(explore(states, lambda q: [(None, p) for p in self.silent.get(q, ())], 10_000, "the closure"))

    def after(self, states: Iterable[State], a: str) -> frozenset[State]:
        return self.closed(p for q in states for p in self.moves.get((q, a), ()))

    def events(self, h: Iterable[str]) -> frozenset[int]:
        """Corollary 1: the events immediately after which the machine is in an accepting state."""
        found, q = set(), self.closed({self.start})
        for e, a in enumerate(h):
            q = self.after(q, a)
            if not q.isdisjoint(self.accepting):
                found.add(e)
        return frozenset(found)


def determinized(M: Machine) -> Machine:
    """M^d, its states numbered; the start state is 0."""
    found = explore(
        [M.closed({M.start})], lambda q: [(a, M.after(q, a)) for a in M.letters], 10_000, "the deterministic machine"
    )
    number = {q: i for i, q in enumerate(found)}
    moves = {(number[q], a): frozenset({number[p]}) for q, edges in found.items() for a, p in edges}
    return Machine(M.letters, 0, frozenset(i for q, i in number.items() if q & M.accepting), moves)


def renamed(M: Machine, name: Callable[[State], State]) -> Machine:
    return Machine(
        M.letters,
        name(M.start),
        frozenset(map(name, M.accepting)),
        {(name(q), a): frozenset(map(name, targets)) for (q, a), targets in M.moves.items()},
        {name(q): frozenset(map(name, targets)) for q, targets in M.silent.items()},
    )


def machine(E: expr.Expression, letters: tuple[str, ...], empty_sequences: bool = False) -> Machine:
    """M_E."""

    def of(F: expr.Expression) -> Machine:
        return machine(F, letters, empty_sequences)

    match E:
        case expr.Null():
            return null(letters)
        case expr.Primitive(a):
            return primitive(a, letters)
        case expr.ExpressionAnd(left, right):
            return conjunction(determinized(of(left)), determinized(of(right)))
        case expr.ExpressionNot(F):
            return negation(determinized(of(F)))
        case expr.Relative((left, right)):
            return relative(of(left), of(right))
        case expr.RelativePlus(F):
            return relative_plus(of(F))
        case expr.Pipe(left, right):
            return pipe(determinized(of(left)), determinized(of(right)))
        case expr.ExpressionBetween(left, right):
            return slash_plus(determinized(of(left)), determinized(of(right)))
        case expr.Prefix(F):
            return prefix(determinized(of(F)), empty_sequences)
        case _:
            short_for = definition(E)
            assert short_for is not None, "section 3 is without variables and names"
            return of(short_for)


def null(letters: tuple[str, ...]) -> Machine:
    return Machine(letters, 0, frozenset(), {(q, a): frozenset({1}) for q in (0, 1) for a in letters})


def primitive(a: str, letters: tuple[str, ...]) -> Machine:
    moves = {(q, b): frozenset({"p" if b == a else "q"}) for q in ("start", "p", "q") for b in letters}
    return Machine(letters, "start", frozenset({"p"}), moves)


def product(M1: Machine, M2: Machine) -> Iterator[tuple[tuple[State, State], str, State, State]]:
    """The pairs of states, with what each of the two deterministic machines does on a letter."""
    for p in M1.states:
        for q in M2.states:
            for a in M1.letters:
                (r,), (s,) = M1.moves[p, a], M2.moves[q, a]
                yield (p, q), a, r, s


def conjunction(M1: Machine, M2: Machine) -> Machine:
    moves = {(pq, a): frozenset({(r, s)}) for pq, a, r, s in product(M1, M2)}
    accepting = frozenset((p, q) for p in M1.accepting for q in M2.accepting)
    return Machine(M1.letters, (M1.start, M2.start), accepting, moves)


def negation(M: Machine) -> Machine:
    return Machine(M.letters, M.start, M.states - M.accepting - {M.start}, M.moves)


def relative(M1: Machine, M2: Machine) -> Machine:
    M1, M2 = renamed(M1, lambda q: (1, q)), renamed(M2, lambda q: (2, q))
    silent = {**M1.silent, **M2.silent}
    for q in M1.accepting:
        silent[q] = silent.get(q, frozenset()) | {M2.start}
    return Machine(M1.letters, M1.start, M2.accepting, {**M1.moves, **M2.moves}, silent)


def relative_plus(M: Machine) -> Machine:
    silent = dict(M.silent)
    for q in M.accepting:
        silent[q] = silent.get(q, frozenset()) | {M.start}
    return Machine(M.letters, M.start, M.accepting, M.moves, silent)


def pipe(M1: Machine, M2: Machine) -> Machine:
    moves = {((p, q), a): frozenset({(f, s if f in M1.accepting else q)}) for (p, q), a, f, s in product(M1, M2)}
    accepting = frozenset((p, q) for p in M1.accepting for q in M2.accepting)
    return Machine(M1.letters, (M1.start, M2.start), accepting, moves)


def slash_plus(MF: Machine, ME: Machine) -> Machine:
    """F /+ E."""
    moves = {
        (("M", p, q), a): frozenset({("M", r, MF.start if r in ME.accepting else s)})
        for (p, q), a, r, s in product(ME, MF)
    }
    accepting = frozenset(("M", p, q) for p in ME.states for q in MF.accepting)
    ME_ = renamed(ME, lambda q: ("E", q))
    moves |= {(q, a): targets for (q, a), targets in ME_.moves.items() if q not in ME_.accepting}
    silent = {q: frozenset({("M", ME.start, MF.start)}) for q in ME_.accepting}
    return Machine(MF.letters, ME_.start, accepting, moves, silent)


def prefix(M: Machine, empty_sequences: bool) -> Machine:
    """The start state stays non-accepting, as the text says of all machines."""
    coaccessible = M.accepting
    for _ in count():
        more = coaccessible | {q for q in M.states if any(M.after({q}, a) & coaccessible for a in M.letters)}
        if more == coaccessible:
            break
        coaccessible = more
    if not empty_sequences:
        coaccessible = frozenset(q for q in M.states if any(M.after({q}, a) & coaccessible for a in M.letters))
    return Machine(M.letters, M.start, coaccessible - {M.start}, M.moves)
