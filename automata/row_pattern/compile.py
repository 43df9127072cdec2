"""From a pattern to a prioritized automaton: after each row the ways on, in the order of preferment.

A state is a place of the pattern where a variable stands. The ways from a state to the next ones lead through
quantifiers and alternations without taking a row; they are found once, by a walk that takes the preferred branch first,
and of two that lead to the same state the first is the only one that counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations
from typing import TypeAlias, assert_never

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.row_pattern import syntax as rows

ACCEPT = -1
"""The target of a way on which a match is complete."""


@dataclass(frozen=True)
class Way:
    """A way to a state, or to ACCEPT; start and end: only before the first or after the last row of a partition."""

    target: int
    start: bool = False
    end: bool = False


@dataclass(frozen=True)
class Automaton:
    """The ways from the beginning, and from each state.

    Of each state there is its place in the pattern, its variable, and whether its row is excluded.
    """

    first: tuple[Way, ...]
    follow: tuple[tuple[Way, ...], ...]
    places: tuple[rows.Variable, ...]
    excluded: tuple[bool, ...]

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variable of each state."""
        return tuple(place.name for place in self.places)


# --- the graph of a pattern -------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Accept:
    """The end of the pattern."""


@dataclass(eq=False)
class _Take:
    """Take a row in a state."""

    state: int


@dataclass(eq=False)
class _Check:
    """An anchor."""

    end: bool
    after: _Node


@dataclass(eq=False)
class _Branch:
    """One of several ways, the preferred one first."""

    options: tuple[_Node, ...]


@dataclass(eq=False)
class _Enter:
    """An iteration of an unbounded quantifier begins."""

    loop: _Loop


@dataclass(eq=False)
class _Loop:
    """An iteration has ended: after one without rows only the exit is open, else another iteration is too."""

    after: _Node
    greedy: bool
    body: _Node = field(default_factory=_Accept)


_Node: TypeAlias = _Accept | _Take | _Check | _Branch | _Enter | _Loop


def compile_pattern(p: rows.Pattern, budget: Budget = Budget()) -> Automaton:
    """The automaton of a pattern. Raises BudgetExceeded for more than budget.states states or branches."""
    graph = _Graph(budget.states)
    entry = graph.built(p, _Accept(), False)
    follow = tuple(tuple(way for way in graph.ways(node) if not way.start) for node in graph.after)
    return Automaton(tuple(graph.ways(entry)), follow, tuple(graph.places), tuple(graph.excluded))


class _Graph:
    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.after: list[_Node] = []
        self.places: list[rows.Variable] = []
        self.excluded: list[bool] = []

    def built(self, p: rows.Pattern, after: _Node, excluded: bool) -> _Node:
        """The node at which p begins, if `after` comes after it."""
        self._count()
        match p:
            case rows.Variable():
                self.after.append(after)
                self.places.append(p)
                self.excluded.append(excluded)
                return _Take(len(self.after) - 1)
            case rows.Empty():
                return after
            case rows.Anchor(place):
                return _Check(place == "end", after)
            case rows.Concatenation(left, right):
                return self.built(left, self.built(right, after, excluded), excluded)
            case rows.Alternation(left, right):
                return _Branch((self.built(left, after, excluded), self.built(right, after, excluded)))
            case rows.Permute(parts):
                return _Branch(tuple(self._in_order(reversed(order), after, excluded) for order in permutations(parts)))
            case rows.Quantified(_, _, high):
                return self._unbounded(p, after, excluded) if high is None else self._bounded(p, high, after, excluded)
            case rows.Exclusion(inner):
                return self.built(inner, after, True)
            case _:
                assert_never(p)

    def _in_order(self, parts: Iterable[rows.Pattern], after: _Node, excluded: bool) -> _Node:
        """The node at which the first of parts begins; they are in the order from the last to the first."""
        for part in parts:
            after = self.built(part, after, excluded)
        return after

    def _unbounded(self, p: rows.Quantified, after: _Node, excluded: bool) -> _Node:
        """The iterations that are needed but the last, then one that is repeated."""
        loop = _Loop(after, p.greedy)
        loop.body = self.built(p.pattern, loop, excluded)
        if p.low == 0:
            return _Branch((_Enter(loop), after) if p.greedy else (after, _Enter(loop)))
        return self._in_order((p.pattern for _ in range(p.low - 1)), _Enter(loop), excluded)

    def _bounded(self, p: rows.Quantified, high: int, after: _Node, excluded: bool) -> _Node:
        """The iterations that are needed, then each of the others inside the one before it."""
        node = after
        for _ in range(high - p.low):
            more = self.built(p.pattern, node, excluded)
            node = _Branch((more, after) if p.greedy else (after, more))
        return self._in_order((p.pattern for _ in range(p.low)), node, excluded)

    def ways(self, entry: _Node) -> Iterator[Way]:
        """The ways from a node to the states, and to the end, in the order of preferment."""
        found: set[Way] = set()
        seen: set[tuple[int, frozenset[int], bool, bool]] = set()
        # with each node the loops in whose iteration no row is taken so far, and the anchors on the way
        pending: list[tuple[_Node, frozenset[int], bool, bool]] = [(entry, frozenset(), False, False)]
        while pending:
            node, rowless, start, end = pending.pop()
            if (state := (id(node), rowless, start, end)) in seen:
                continue
            seen.add(state)
            self._count()
            match node:
                case _Accept() | _Take():
                    way = Way(ACCEPT if isinstance(node, _Accept) else node.state, start, end)
                    # one with fewer anchors to the same state stands for this one
                    weaker = (Way(way.target, s, e) for s in {False, start} for e in {False, end})
                    if found.isdisjoint(weaker):
                        found.add(way)
                        yield way
                case _Check(at_end, after):
                    pending.append((after, rowless, start or not at_end, end or at_end))
                case _Branch(options):
                    pending += [(option, rowless, start, end) for option in reversed(options)]
                case _Enter(loop):
                    pending.append((loop.body, rowless | {id(loop)}, start, end))
                case _Loop(after, greedy, body):
                    onward = (after, rowless - {id(node)}, start, end)
                    again = (body, rowless | {id(node)}, start, end)
                    if id(node) in rowless:
                        pending.append(onward)
                    else:
                        pending += (onward, again) if greedy else (again, onward)
                case _:
                    assert_never(node)

    def _count(self) -> None:
        self.size += 1
        if self.size > self.limit:
            raise BudgetExceeded(
                f"the automaton of the pattern has more than {self.limit} states and branches; lower the bounds of "
                "its quantifiers, or write fewer parts into PERMUTE"
            )
