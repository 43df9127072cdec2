"""From a complex event automaton back to CEL: tods21, Theorem 6.3, corrected, and made to be read.

The printed construction marks each event of a run with a fresh variable and puts START around the whole; it takes that
variable away too early (docs/errata.md). Here a state that may skip any event is no reason to mark: what is marked
before and after it is joined by `;`, and by `:` at the other states. An event that an automaton may skip there and
then, but not just any, is bound to a fresh variable, which is projected away at the end. START stands around what
begins in a state that may not skip. An automaton that skips freely or not at all so gets a formula of CEL without
PROJECT and START: one that marks all it reads gets the formula of Theorem 8.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import count
from typing import Literal, TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra, Mask
from cerify.automata.algebra.minterms import tests_of
from cerify.automata.cea.expressions import (
    Edges,
    Expression,
    Expressions,
    Join,
    Letter,
    Node,
    Repeated,
    Union,
    eliminated,
    parts_of,
)
from cerify.automata.cea.model import CEA, UNMARKED, Marks
from cerify.automata.cea.operations import minimized
from cerify.automata.cea.trim import trim
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Anything, OfType

Level: TypeAlias = Literal["valuations", "events"]
Label: TypeAlias = dict[Marks, Mask]
"""The types of events on which an edge is taken, by the marks."""


def to_cel(A: CEA, level: Level = "valuations", schema: Schema | None = None, budget: Budget = Budget()) -> cel.Formula:
    """A formula with the valuations of A, or the complex events only, at every position of every stream.

    With a schema: of every stream of that schema. CEL has no formula for an event of any type, so without a schema an
    automaton is refused that marks events of types it does not name, or may skip such only here and there. Its
    smallest I/O-deterministic form is tried too, and the shorter formula taken. Raises Unsupported, BudgetExceeded.
    """
    A = trim(A)
    found: list[cel.Formula] = []
    refused: list[BudgetExceeded | Unsupported] = []
    for B in _forms(A, budget):
        try:
            found.append(_Rewriting(B, level, schema, budget).formula())
        except (BudgetExceeded, Unsupported) as error:
            refused.append(error)
    if not found:
        raise refused[-1]
    return min(found, key=cel.size)


def _forms(A: CEA, budget: Budget) -> list[CEA]:
    """The automata to try: the smallest I/O-deterministic one, if there is one, and A unless it is much larger."""
    try:
        smallest = _relaxed(minimized(A, budget))
    except BudgetExceeded:
        return [A]
    return [smallest, A] if A.size <= 4 * smallest.size else [smallest]


def _relaxed(A: CEA) -> CEA:
    """The smallest automaton, but for states that differ from one that skips anything in being final.

    A step into such a state leads to the other instead, and beside it to one where all ends.
    """
    marking = [{t for t in leaving if t.marks} for leaving in A.leaving]
    skips = [{t.target for t in leaving if not t.marks and t.predicate == Anything()} for leaving in A.leaving]
    free = [q in skips[q] for q in range(A.states)]
    instead: dict[int, int] = {}
    for p in range(A.states):
        for q in skips[p]:
            if free[q] and p != q and {t._replace(source=q) for t in marking[p]} == marking[q]:
                instead[p] = q
    end = A.states
    steps = [t._replace(target=instead.get(t.target, t.target)) for t in A.transitions]
    ending = [t._replace(target=end) for t in A.transitions if t.target in instead and t.target in A.final]
    initial = frozenset(instead.get(q, q) for q in A.initial)
    return trim(CEA(end + 1, (*dict.fromkeys((*steps, *ending)),), initial, A.final | {end}))


@dataclass(frozen=True)
class _Kind:
    """What one event is: of one of these types, and bound to these variables, none if it is only to be skipped."""

    types: Mask
    marks: Marks


class _Rewriting:
    """One automaton on its way to a formula."""

    def __init__(self, A: CEA, level: Level, schema: Schema | None, budget: Budget) -> None:
        self.A = A
        self.level = level
        tests = [test for P in A.predicates for test in tests_of(P)]
        declared = [] if schema is None else map(OfType, schema.types)
        self.algebra = Algebra([*tests, *declared], budget, schema)
        named = [P for P in self.algebra.generators if isinstance(P, OfType)]
        self.types = [(P.type, self.algebra.mask(P)) for P in named]
        what = f"a formula for the automaton of {A.states} states and {len(A.transitions)} transitions"
        self.all = Expressions(budget.states, what)
        self.kinds: dict[_Kind, int] = {}

    def formula(self) -> cel.Formula:
        """The formula."""
        labels, gaps = self._labels()
        anchored, free, end = self.A.states, self.A.states + 1, self.A.states + 2
        for q in self.A.initial:
            begin = free if gaps[q] else anchored
            for (p, r), label in list(labels.items()):
                if p == q:
                    _joined(labels, (begin, r), label)
            if gaps[q] and q in self.A.final:  # nothing is marked: the last event that is skipped stands for all
                _joined(labels, (begin, end), {UNMARKED: self.algebra.everything})
        for q in self.A.final:
            if gaps[q]:
                _joined(labels, (q, end), {UNMARKED: self.algebra.everything})
        edges: Edges = {edge: self._letters(label) for edge, label in labels.items()}
        edges = eliminated(edges, gaps, self.A.final, end, self.all)
        ways = [edges[p, end] for p in (free, anchored) if (p, end) in edges]
        if not ways:
            return self._never()
        written = self._written(ways)
        parts = [written[edges[free, end]]] if (free, end) in edges else []
        parts += [cel.Start(written[edges[anchored, end]])] if (anchored, end) in edges else []
        phi = reduce(cel.Or, parts)
        return cel.Project(self.kept, phi) if self.spare else phi

    def _labels(self) -> tuple[dict[tuple[int, int], Label], dict[int, bool]]:
        """The transitions by their states, and which states may skip any event; those loops are left out."""
        labels: dict[tuple[int, int], Label] = {}
        for t in self.A.transitions:
            _joined(labels, (t.source, t.target), {t.marks: self.algebra.mask(t.predicate)})
        gaps = {}
        for q in range(self.A.states):
            loop = labels.get((q, q), {})
            if gap := loop.get(UNMARKED, 0) == self.algebra.everything:
                del loop[UNMARKED]
                if not loop:
                    del labels[q, q]
            gaps[q] = gap
        return labels, gaps

    def _letters(self, label: Label) -> Expression:
        kinds = [_Kind(types, marks) for marks, types in label.items()]
        return self.all.union(self.all.letter(self.kinds.setdefault(kind, len(self.kinds))) for kind in kinds)

    def _written(self, wanted: Iterable[Expression]) -> dict[Expression, cel.Formula]:
        """The expressions as formulas, and all parts of them."""
        used, pending = set[Expression](), list(wanted)
        while pending:
            if (e := pending.pop()) not in used:
                used.add(e)
                pending.extend(parts_of(self.all.nodes[e]))
        events = self._events([self.all.nodes[e] for e in used])
        written: dict[Expression, cel.Formula] = {}
        for e in sorted(used):
            match self.all.nodes[e]:
                case Letter(number):
                    written[e] = events[number]
                case Union(parts):
                    written[e] = reduce(cel.Or, [written[part] for part in parts])
                case Join(gap, left, right):
                    written[e] = (cel.Seq if gap else cel.ContiguousSeq)(written[left], written[right])
                case Repeated(gap, part):
                    written[e] = (cel.Plus if gap else cel.ContiguousPlus)(written[part])
                case node:
                    assert_never(node)
        return written

    def _events(self, nodes: Iterable[Node]) -> dict[int, cel.Formula]:
        """The letters that are used as formulas of one event; notes which variables are bound and to be kept."""
        used = {node.number for node in nodes if isinstance(node, Letter)}
        kinds = {number: kind for kind, number in self.kinds.items() if number in used}
        self.kept = frozenset(A for kind in kinds.values() for R in self._named(kind) for A in self._bound(kind, R))
        taken = self.kept | {R for R, _ in self.types}
        self.fresh = next(name for name in _names("skipped") if name not in taken)
        self.spare = False
        return {number: self._event(kind) for number, kind in kinds.items()}

    def _event(self, kind: _Kind) -> cel.Formula:
        """One event of the kind, bound to its variables, and if need be to others that are not kept."""
        alike: dict[tuple[Marks, bool], list[cel.Formula]] = {}
        for R in self._named(kind):
            among = dict(self.types)[R]
            decision = self.algebra.decision(among, kind.types & among)
            event: cel.Formula = cel.Event(R)
            if not isinstance(decision, bool):
                event = cel.Filter(event, cel.Every(R, decision))
            wanted = self._bound(kind, R) or frozenset({self.fresh})
            projected = R not in wanted and R in self.kept
            self.spare = self.spare or not kind.marks or (R not in wanted and not projected)
            alike.setdefault((wanted - {R}, projected), []).append(event)
        found = []
        for (variables, projected), events in alike.items():
            phi = reduce(cel.Or, events)
            for A in sorted(variables):
                phi = cel.In(phi, A)
            found.append(cel.Project(variables, phi) if projected else phi)
        return reduce(cel.Or, found)

    def _named(self, kind: _Kind) -> list[str]:
        """The event types of the kind. Raises Unsupported where others are of it too."""
        rest = kind.types
        for _, mask in self.types:
            rest &= ~mask
        if rest:
            does = "marks" if kind.marks else "skips here and there"
            raise Unsupported(
                f"the automaton {does} events of types that it does not name, and CEL has no formula for such an "
                "event; give the schema of the streams"
            )
        return [R for R, mask in self.types if kind.types & mask]

    def _bound(self, kind: _Kind, R: str) -> Marks:
        """What an event of the type is bound to in the end."""
        return frozenset({R}) if kind.marks and self.level == "events" else kind.marks

    def _never(self) -> cel.Formula:
        """A formula without a match."""
        R = cel.Event(self.types[0][0] if self.types else "A")
        return cel.Unless(R, R)


def _joined(labels: dict[tuple[int, int], Label], edge: tuple[int, int], label: Label) -> None:
    """Add the label to that of the edge."""
    known = labels.setdefault(edge, {})
    for marks, types in label.items():
        if types:
            known[marks] = known.get(marks, 0) | types
    if not known:
        del labels[edge]


def _names(name: str) -> Iterator[str]:
    return (f"{name}{i or ''}" for i in count())
