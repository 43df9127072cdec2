"""Translate a complex event automaton back to CEL: tods21, Theorem 6.3, corrected, with formulas that people can read.

The printed construction marks each event of a run with a fresh variable and puts START around the whole; it projects
that variable away too early (docs/errata.md). Here `;` joins the parts before and after a state that may skip any
event, and `:` joins them at other states. If a state may skip only certain events, the formula binds a skipped event to
a fresh variable, and projects the variable away at the end. START stands around a part that begins in a state that may
not skip. So an automaton whose states may all skip any event gets a formula without PROJECT and START; an automaton
that marks every event it reads gets the formula of Theorem 8.9.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import count, product
from typing import Literal, NamedTuple, NoReturn, TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra, Mask, tests_of
from cerify.automata.cea.model import CEA, UNMARKED, Marks, Transition, minimized, trim
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Anything, OfType

# ---------------------------------------------------------------------------------------------------------------------
# Regular expressions whose parts are joined directly or with a gap between them; and the elimination of states.
#
# An expression stands for a sequence of marked events. When two parts are joined, the second begins right after the
# first, or after a gap of any events. As in CEL, no expression stands for the empty sequence. Expressions are numbers;
# equal expressions have the same number, so that an expression used twice is built once.

Expression: TypeAlias = int
Edges: TypeAlias = dict[tuple[int, int], Expression]


STEPS = 50  # the number of parts and edges that may be looked at, for each node that an expression may have


class CeaLetter(NamedTuple):
    """An expression that stands for one event; `number` says which kind of event."""

    number: int


class CeaUnion(NamedTuple):
    """A choice of several parts; the parts are in ascending order."""

    parts: tuple[Expression, ...]


class Join(NamedTuple):
    """The left part, then the right part; with `gap`, any events may come between them."""

    gap: bool
    left: Expression
    right: Expression


class Repeated(NamedTuple):
    """The part, one or more times; with `gap`, any events may come between the rounds."""

    gap: bool
    part: Expression


Node: TypeAlias = CeaLetter | CeaUnion | Join | Repeated


def parts_of(node: Node) -> tuple[Expression, ...]:
    """Return the direct parts of an expression."""
    match node:
        case CeaLetter():
            return ()
        case CeaUnion(parts):
            return parts
        case Join(_, left, right):
            return (left, right)
        case Repeated(_, part):
            return (part,)
        case _:
            assert_never(node)


class Expressions:
    """All expressions built so far, by number. Equal expressions are stored once, after their parts.

    Raises BudgetExceeded if an expression would have more than `limit` nodes, or if building takes too many steps.
    """

    def __init__(self, limit: int, what: str) -> None:
        self.nodes: list[Node] = []
        self.sizes: list[int] = []
        self._limit = limit
        self._what = what
        self._known: dict[Node, Expression] = {}
        self._left = STEPS * limit

    def step(self, steps: int) -> None:
        """Count this many steps against the limit. Raises BudgetExceeded beyond it."""
        self._left -= steps
        if self._left < 0:
            self._too_large()

    def letter(self, number: int) -> Expression:
        """Build the expression for one event of the kind with this number."""
        return self._make(CeaLetter(number), 1)

    def union(self, expressions: Iterable[Expression]) -> Expression:
        """Return the union of one or more expressions; common beginnings and ends are written once."""
        parts = {part for e in expressions for part in self._alternatives(e)}
        self.step(len(parts))
        for e in list(parts):
            match self.nodes[e]:
                # `e OR e+` is `e+`.
                case Repeated(_, part):
                    parts.discard(part)
                # `x OR (x ; y+)`, where x ends with y, is x with its last part repeated; the next case mirrors this.
                case Join(gap, left, right) if self._among(left, parts) and isinstance(
                    rounds := self.nodes[right], Repeated
                ):
                    if rounds.gap == gap and (whole := self._grown(left, gap, rounds.part)) is not None:
                        parts = parts - {e, *self._alternatives(left)} | {whole}
                case Join(gap, left, right) if self._among(right, parts) and isinstance(
                    rounds := self.nodes[left], Repeated
                ):
                    if rounds.gap == gap and (whole := self._led(gap, rounds.part, right)) is not None:
                        parts = parts - {e, *self._alternatives(right)} | {whole}
        # Factors are taken out once from each side, not by a search for the shortest text, which is a hard problem.
        for left in (True, False):
            shared: dict[tuple[bool, Expression], list[Expression]] = {}
            for e in sorted(parts):
                if isinstance(node := self.nodes[e], Join):
                    shared.setdefault((node.gap, node.left if left else node.right), []).append(e)
            for (gap, same), those in shared.items():
                if len(those) > 1:
                    parts -= set(those)
                    rest = self.union(self._other(e, left) for e in those)
                    parts.add(self.join(gap, same, rest) if left else self.join(gap, rest, same))
        if len(parts) == 1:
            return parts.pop()
        return self._make(CeaUnion(tuple(sorted(parts))), sum(self.sizes[e] for e in parts) + len(parts) - 1)

    def join(self, gap: bool, left: Expression, right: Expression) -> Expression:
        """Build the sequence of two expressions; with `gap`, any events may come between them."""
        return self._make(Join(gap, left, right), self.sizes[left] + self.sizes[right] + 1)

    def repeated(self, gap: bool, part: Expression) -> Expression:
        """Build the part repeated one or more times; with `gap`, any events may come between the rounds."""
        return self._make(Repeated(gap, part), self.sizes[part] + 1)

    def through(self, gap: bool, before: Expression, loop: Expression | None, after: Expression) -> Expression:
        """Build a sequence: `before`, then `loop` any number of times, then `after`. gap: see `join`."""
        if loop is None:
            return self.join(gap, before, after)
        if (grown := self._grown(before, gap, loop)) is not None:
            return self.join(gap, grown, after)
        if (led := self._led(gap, loop, after)) is None:
            led = self.union((after, self.join(gap, self.repeated(gap, loop), after)))
        return self.join(gap, before, led)

    def then_maybe(self, gap: bool, before: Expression, loop: Expression | None) -> Expression:
        """Build a sequence: `before`, then `loop` any number of times. gap: see `join`."""
        if loop is None:
            return before
        if (grown := self._grown(before, gap, loop)) is not None:
            return grown
        return self.union((before, self.join(gap, before, self.repeated(gap, loop))))

    def _grown(self, e: Expression, gap: bool, loop: Expression) -> Expression | None:
        """Return e followed by `loop` any number of times, written as a repetition of e's last part; None if this is
        impossible.
        """
        if e == loop:
            return self.repeated(gap, loop)
        if isinstance(node := self.nodes[e], Join) and (grown := self._grown(node.right, gap, loop)) is not None:
            return self.join(node.gap, node.left, grown)
        return None

    def _led(self, gap: bool, loop: Expression, e: Expression) -> Expression | None:
        """Return `loop` any number of times, followed by e, written as a repetition of e's first part; None if this is
        impossible.
        """
        if e == loop:
            return self.repeated(gap, loop)
        if isinstance(node := self.nodes[e], Join) and (led := self._led(gap, loop, node.left)) is not None:
            return self.join(node.gap, led, node.right)
        return None

    def _alternatives(self, e: Expression) -> tuple[Expression, ...]:
        return node.parts if isinstance(node := self.nodes[e], CeaUnion) else (e,)

    def _among(self, e: Expression, parts: set[Expression]) -> bool:
        return parts.issuperset(self._alternatives(e))

    def _other(self, e: Expression, left: bool) -> Expression:
        node = self.nodes[e]
        assert isinstance(node, Join)
        return node.right if left else node.left

    def _make(self, node: Node, size: int) -> Expression:
        if size > self._limit:
            self._too_large()
        known = self._known.setdefault(node, len(self.nodes))
        if known == len(self.nodes):
            self.nodes.append(node)
            self.sizes.append(size)
        return known

    def _too_large(self) -> NoReturn:
        raise BudgetExceeded(
            f"{self._what} has more than {self._limit} nodes, or takes too long; use a smaller automaton"
        )


def eliminated(edges: Edges, gaps: Mapping[int, bool], final: Collection[int], end: int, all_: Expressions) -> Edges:
    """Remove all states in `gaps` from an automaton whose edges carry expressions; return the remaining edges.

    gaps: for each state to remove, whether any events may come between the part of a path before the state and the part
    after it. A path that ends in a final state gets an edge to the state `end`. The states that add the least text are
    removed first (Delgado and Morais, "Approximation to the smallest regular expression for a given regular language",
    CIAA 2004).
    """
    edges, inner = dict(edges), set(gaps)
    while inner:
        all_.step(len(edges))
        costs = dict.fromkeys(inner, 0)
        entering, leaving = dict.fromkeys(inner, 0), {q: int(q in final) for q in inner}
        for p, q in edges:
            if p != q:
                leaving[p] = leaving.get(p, 0) + 1
                entering[q] = entering.get(q, 0) + 1
        for (p, q), e in edges.items():
            if p == q:
                costs[p] += all_.sizes[e] * entering[p] * leaving[p]
                continue
            # The edge is copied for each edge that leaves q, and one copy takes its place.
            if q in costs:
                costs[q] += all_.sizes[e] * (leaving[q] - 1)
            if p in costs:
                costs[p] += all_.sizes[e] * (entering[p] - 1)
        # Costs are computed anew for each state: removing one changes the size of the edges of its neighbours.
        # The number breaks ties, so that an automaton has the same formula in every run.
        q = min(inner, key=lambda q: (costs[q], q))
        inner.remove(q)
        _eliminate(q, edges, gaps[q], end if q in final else None, all_)
    return edges


def _eliminate(q: int, edges: Edges, gap: bool, end: int | None, all_: Expressions) -> None:
    """Remove a state. Paths through it become edges; paths that may end in it become edges to `end`, if given."""
    loop = edges.pop((q, q), None)
    before = [(p, edges.pop((p, q))) for p, target in list(edges) if target == q]
    after = [(r, edges.pop((q, r))) for source, r in list(edges) if source == q]
    ways = [((p, r), all_.through(gap, one, loop, other)) for (p, one), (r, other) in product(before, after)]
    if end is not None:
        ways += [((p, end), all_.then_maybe(gap, one, loop)) for p, one in before]
    for edge, way in ways:
        edges[edge] = all_.union((edges[edge], way)) if edge in edges else way


Level: TypeAlias = Literal["valuations", "events"]
Label: TypeAlias = dict[Marks, Mask]
"""For each set of marks, the types of events on which an edge is taken with these marks."""


def to_cel(A: CEA, level: Level = "valuations", schema: Schema | None = None, budget: Budget = Budget()) -> cel.Formula:
    """Return a formula with the valuations of A, or with its complex events only, at every position of every stream.

    With a schema, this holds for the streams of that schema. CEL has no formula for an event of any type. So without a
    schema, an automaton is refused if it marks events of types that it does not name, or can skip them in some states
    only. The smallest I/O-deterministic form of A is converted too, and the shorter formula is returned. Raises
    Unsupported, BudgetExceeded.
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
    """Return the automata to convert: the smallest I/O-deterministic one, if the budget allows it, and A.

    A is left out if it is much larger.
    """
    try:
        # Either form may give the shorter formula: determinization may multiply the states, and minimization drops
        # many.
        smallest = _relaxed(minimized(A, budget))
    except BudgetExceeded:
        return [A]
    return [smallest, A] if A.size <= 4 * smallest.size else [smallest]


def _relaxed(A: CEA) -> CEA:
    """Return an automaton with the same valuations in which some states are replaced by states that they reach.

    A state is replaced by one that it reaches by skipping any event, and that has the same marking steps. If the
    replaced state was final, steps into it also lead to a new final state.
    """
    # In a determinized automaton a state just after a match is final, and the same state after a skip is not. As one
    # state it may skip any event, so that `;` can be written there.
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
    """The kind of one event: one of these types, bound to these variables. An event without variables is only
    skipped.
    """

    types: Mask
    marks: Marks


class _Rewriting:
    """The conversion of one automaton into a formula."""

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
        """Return a formula for the automaton."""
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
        written = self._write_formulas(ways)
        parts = [written[edges[free, end]]] if (free, end) in edges else []
        parts += [cel.Start(written[edges[anchored, end]])] if (anchored, end) in edges else []
        phi = reduce(cel.Or, parts)
        return cel.Project(self.kept, phi) if self.spare else phi

    def _labels(self) -> tuple[dict[tuple[int, int], Label], dict[int, bool]]:
        """Return (labels, gaps): the label of each edge, and for each state whether it may skip any event.

        Loops that skip any event are left out of the labels.
        """
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

    def _write_formulas(self, wanted: Iterable[Expression]) -> dict[Expression, cel.Formula]:
        """Return the formulas of the wanted expressions and of all their parts."""
        used, pending = set[Expression](), list(wanted)
        while pending:
            if (e := pending.pop()) not in used:
                used.add(e)
                pending.extend(parts_of(self.all.nodes[e]))
        events = self._events([self.all.nodes[e] for e in used])
        written: dict[Expression, cel.Formula] = {}
        for e in sorted(used):
            match self.all.nodes[e]:
                case CeaLetter(number):
                    written[e] = events[number]
                case CeaUnion(parts):
                    written[e] = reduce(cel.Or, [written[part] for part in parts])
                case Join(gap, left, right):
                    written[e] = (cel.Seq if gap else cel.ContiguousSeq)(written[left], written[right])
                case Repeated(gap, part):
                    written[e] = (cel.Plus if gap else cel.ContiguousPlus)(written[part])
                case node:
                    assert_never(node)
        return written

    def _events(self, nodes: Iterable[Node]) -> dict[int, cel.Formula]:
        """Return for each letter in use a formula of one event that has it.

        Also record the variables to keep, and choose the variable for skipped events.
        """
        used = {node.number for node in nodes if isinstance(node, CeaLetter)}
        kinds = {number: kind for kind, number in self.kinds.items() if number in used}
        self.kept = frozenset(
            A for kind in kinds.values() for R in self._find_types(kind) for A in self._bound(kind, R)
        )
        taken = self.kept | {R for R, _ in self.types}
        self.fresh = next(name for name in _names("skipped") if name not in taken)
        self.spare = False
        return {number: self._event(kind) for number, kind in kinds.items()}

    def _event(self, kind: _Kind) -> cel.Formula:
        """Build the formula for one event of the kind, bound to its variables and, if needed, to auxiliary ones."""
        alike: dict[tuple[Marks, bool], list[cel.Formula]] = {}
        for R in self._find_types(kind):
            among = dict(self.types)[R]
            decision = self.algebra.decision(among, kind.types & among)
            event: cel.Formula = cel.EventAtom(R)
            if not isinstance(decision, bool):
                event = cel.Filter(event, cel.Every(R, decision))
            wanted = self._bound(kind, R) or frozenset({self.fresh})
            # An event atom binds its own type. Where another event needs the variable R, the final PROJECT keeps it, so
            # this one is projected away here.
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

    def _find_types(self, kind: _Kind) -> list[str]:
        """Return the event types of the kind. Raises Unsupported if it includes events of types that the automaton does
        not name.
        """
        rest = kind.types
        for _, mask in self.types:
            rest &= ~mask
        if rest:
            does = "marks" if kind.marks else "skips at some states"
            raise Unsupported(
                f"the automaton {does} events of types that it does not name, and CEL has no formula for such an "
                "event; give the schema of the streams"
            )
        return [R for R, mask in self.types if kind.types & mask]

    def _bound(self, kind: _Kind, R: str) -> Marks:
        """Return the variables to which the result binds an event of this type."""
        return frozenset({R}) if kind.marks and self.level == "events" else kind.marks

    def _never(self) -> cel.Formula:
        """Return a formula without a match."""
        # CEL has no constant for false. Each match of R contains a match of R, so UNLESS rejects all of them.
        R = cel.EventAtom(self.types[0][0] if self.types else "A")
        return cel.Unless(R, R)


def _joined(labels: dict[tuple[int, int], Label], edge: tuple[int, int], label: Label) -> None:
    """Add the label to the labels of the edge."""
    known = labels.setdefault(edge, {})
    for marks, types in label.items():
        if types:
            known[marks] = known.get(marks, 0) | types
    if not known:
        del labels[edge]


def _names(name: str) -> Iterator[str]:
    return (f"{name}{i or ''}" for i in count())


# ---------------------------------------------------------------------------------------------------------------------
# The *-semantics of complex event automata: tods21, Definition 8.7.
#
# A *-run makes marking transitions only, and skips any events before each of them; it ends with its last mark. Here
# the automaton is turned into one whose ordinary runs are the *-runs.


def star(A: CEA) -> CEA:
    """Build a CEA whose valuations are those of A under the *-semantics (tods21, Definition 8.7).

    Under this semantics, a run may skip any events before each event that it marks.
    """
    end = A.states
    marking = [t for t in A.transitions if t.marks]
    waiting = [Transition(q, Anything(), UNMARKED, q) for q in range(A.states)]
    ending = [t._replace(target=end) for t in marking if t.target in A.final]
    return trim(CEA(A.states + 1, (*waiting, *marking, *ending), A.initial, frozenset({end})))
