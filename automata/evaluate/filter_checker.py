"""Filters that compare events, checked during the enumeration of complex events, from the latest position to the first.

Such a filter is about all combinations of the events of its variables; AND and OR of such filters too can become false
as events are added, never true again, and so can a window on values. So a path is abandoned at the first event with
which a filter fails. Apart from this the enumerations are those of ces.py and ces_window.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple, TypeAlias, assert_never

from cerify.automata.cea.compile import ValueWindow
from cerify.automata.cea.model import Marks
from cerify.automata.evaluate.ces import BOTTOM, CompactComplexEventSet, NodeList
from cerify.automata.evaluate.ces_window import Bottom, Node, Output, Union
from cerify.automata.evaluate.decorrelation import ResidualFilter
from cerify.automata.evaluate.scope import width_of, within_width
from cerify.automata.evaluate.spending import Spending
from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import Event, Valuation
from cerify.semantics.predicates import compare, holds, mapped_predicate, mentions, satisfied


class Round(NamedTuple):
    """The state of one filter in the round that a path is in.

    colours: of the iterations around the round; None where the path is in none. bound: the events of each variable.
    failed: the atoms that are false for them.
    """

    colours: tuple[str | None, ...]
    bound: tuple[tuple[int, ...], ...]
    failed: frozenset[int]


Rounds: TypeAlias = tuple[Round, ...]
"""One for each check."""


@dataclass(frozen=True)
class _Atom:
    """An atom of a condition: the variables of its mentions, and its predicate, which names a mention by its number."""

    variables: tuple[int, ...]
    predicate: pred.Predicate
    single: bool


class CorrelatedFilterChecker:
    """The filters of a formula over a stream; each event of a path that they are checked on is spent."""

    def __init__(self, checks: Sequence[ResidualFilter], S: Sequence[Event], spending: Spending) -> None:
        events = tuple(S)
        self.spend = spending.spend
        self.checks = [_Compiled(check, events, self.spend) for check in checks]
        self.start: Rounds = tuple(check.start for check in self.checks)

    def extended(self, rounds: Rounds, position: int, marks: Marks) -> Rounds | None:
        """The states with one more event, before all others; None if a filter fails. Raises BudgetExceeded."""
        self.spend()
        found = []
        for check, known in zip(self.checks, rounds, strict=True):
            new = check.extended(known, position, marks)
            if new is None:
                return None
            found.append(new)
        return tuple(found)

    def passes(self, mu: Valuation) -> bool:
        """Whether a whole valuation, with its marks, satisfies the filters."""
        marks: dict[int, set[str]] = {}
        for A, p in mu:
            marks.setdefault(p, set()).add(A)
        rounds: Rounds | None = self.start
        for p in sorted(marks, reverse=True):
            if rounds is not None:
                rounds = self.extended(rounds, p, frozenset(marks[p]))
        return rounds is not None


class _Compiled:
    """A filter with its variables and atoms as numbers."""

    def __init__(self, check: ResidualFilter, S: Sequence[Event], spend: Callable[[], None]) -> None:
        self._S = S
        self._spend = spend
        self._rounds = check.rounds
        self._condition = check.condition
        self._marks = tuple(check.marks.values())
        atoms = () if isinstance(check.condition, ValueWindow) else tuple(cel.atoms(check.condition))
        self._atoms = [_atom(atom, list(check.marks)) for atom in atoms]
        self._number = {id(atom): i for i, atom in enumerate(atoms)}
        self._no_events: tuple[tuple[int, ...], ...] = ((),) * len(self._marks)
        self.start = Round((None,) * len(check.rounds), self._no_events, frozenset())

    def extended(self, known: Round, position: int, marks: Marks) -> Round | None:
        colours, bound, failed = known
        for level, pair in enumerate(self._rounds):
            colour = next((colour for colour in pair if colour in marks), None)
            if colour is None:
                break
            if colours[level] != colour:
                colours = (*colours[:level], colour, *(None for _ in colours[level + 1 :]))
                bound, failed = self._no_events, frozenset()
        new = [v for v, mark in enumerate(self._marks) if mark in marks]
        if not new:
            return known if colours is known.colours else Round(colours, bound, failed)
        bound = tuple((*events, position) if v in new else events for v, events in enumerate(bound))
        if isinstance(self._condition, ValueWindow):
            a, width = width_of(self._condition)
            inside = within_width(width, [self._S[p].get(a) for p in bound[0]])
            return Round(colours, bound, failed) if inside else None
        false = {i for i, atom in enumerate(self._atoms) if i not in failed and self._fails(atom, bound, new, position)}
        if false:
            failed |= false
            if not self._true(self._condition, failed):
                return None
        return Round(colours, bound, failed)

    def _fails(self, atom: _Atom, bound: tuple[tuple[int, ...], ...], new: list[int], position: int) -> bool:
        """Whether the atom is false of a combination of events in which the one at position takes part."""
        if atom.single:
            return atom.variables[0] in new and not holds(atom.predicate, self._S[position])
        for i, v in enumerate(atom.variables):
            if v in new:
                ranges = (bound[w] if i != j else (position,) for j, w in enumerate(atom.variables))
                if not all(self._holds(atom.predicate, positions) for positions in product(*ranges)):
                    return True
        return False

    def _holds(self, predicate: pred.Predicate, positions: tuple[int, ...]) -> bool:
        self._spend()
        S = self._S
        match predicate:
            # most are so, and this is the quick way
            case pred.Comparison(comparator, pred.Attribute(a), pred.Attribute(b)):
                return compare(comparator, S[positions[0]].get(a), S[positions[1]].get(b))
            case _:
                return satisfied(predicate, lambda m: S[positions[int(m.variable or 0)]].get(m.name))

    def _true(self, condition: cel.Condition, failed: frozenset[int]) -> bool:
        match condition:
            case cel.Conjunction(left, right):
                return self._true(left, failed) and self._true(right, failed)
            case cel.Disjunction(left, right):
                return self._true(left, failed) or self._true(right, failed)
            case cel.Every() | cel.Correlated() | cel.Named():
                return self._number[id(condition)] not in failed
            case _:
                assert_never(condition)


def _atom(atom: cel.Atom, variables: list[str]) -> _Atom:
    match atom:
        case cel.Every(A, predicate):
            return _Atom((variables.index(A),), predicate, True)
        case cel.Correlated(predicate):
            mentioned = tuple(variables.index(m.variable or "") for m in mentions(predicate))
            numbers = iter(range(len(mentioned)))
            return _Atom(
                mentioned, mapped_predicate(predicate, lambda a: pred.Attribute(a.name, str(next(numbers)))), False
            )
        case cel.Named(name, _):
            raise AssertionError(f"{name} is refused before")
        case _:
            assert_never(atom)


def in_list(D: CompactComplexEventSet, nodes: NodeList, checker: CorrelatedFilterChecker) -> Iterator[list[int]]:
    """The complex events of a list that pass, each as its nodes; otherwise as D.enumerate."""
    path: list[int] = []
    known = [checker.start]
    pending = [(*nodes, 0)]
    while pending:
        node, last, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        if node != last:
            pending.append((D.next[node], last, depth))
        if node == BOTTOM:
            yield path
        elif (rounds := checker.extended(known[-1], D.event[node], D.marks[node])) is not None:
            path.append(node)
            known.append(rounds)
            pending.append((D.first[node], D.last[node], depth + 1))


class ListNodes(NamedTuple):
    """The nodes of list_kernels: position, marks, children and what comes after, by number."""

    position: list[int]
    marks: list[Marks]
    child: list[int]
    next: list[int]


def in_reference(nodes: ListNodes, ref: int, checker: CorrelatedFilterChecker) -> Iterator[list[tuple[str, int]]]:
    """The complex events of a list of list_kernels that pass, each as pairs (variable, position)."""
    path: list[int] = []
    known = [checker.start]
    pending = [(ref, 0)]
    while pending:
        ref, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        if ref < 0:
            yield [(variable, nodes.position[n]) for n in path for variable in nodes.marks[n]]
            ref = ~ref
        if ref == 0:
            continue
        child, following = nodes.child[ref], nodes.next[ref]
        if following < 0:
            pending += (~following, depth), (child, depth)
            continue
        pending.append((following, depth))
        if (rounds := checker.extended(known[-1], nodes.position[ref], nodes.marks[ref])) is not None:
            path.append(ref)
            known.append(rounds)
            pending.append((child, depth + 1))


def in_node(node: Node, low: list[int], checker: CorrelatedFilterChecker) -> Iterator[list[Output]]:
    """The complex events of a node that are in its window and pass; otherwise as ces_window.enumerate_."""
    path: list[Output] = []
    known = [checker.start]
    pending: list[tuple[Node, int]] = [(node, 0)]
    bound = 0
    while pending:
        node, depth = pending.pop()
        del path[depth:], known[depth + 1 :]
        match node:
            case Bottom():
                yield path
            case Output():
                if not path:
                    bound = low[node.position]
                rounds = checker.extended(known[-1], node.position, node.marks)
                if rounds is not None:
                    path.append(node)
                    known.append(rounds)
                    pending.append((node.child, depth + 1))
            case Union():
                if node.right is not None and (not path or node.right.latest >= bound):
                    pending.append((node.right, depth))
                pending.append((node.left, depth))
