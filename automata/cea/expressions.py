"""Regular expressions with two ways to join: neighbours, and anything between; and the elimination of states.

An expression stands for events that are marked one after the other. Of two parts that are joined, the second begins
right after the first, or leaves a gap: any events. None stands for no event at all, which keeps the expressions those
of CEL. Expressions are numbers, the same for equal ones, so that what comes up twice is written once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import product
from typing import NamedTuple, NoReturn, TypeAlias, assert_never

from cerify.semantics.errors import BudgetExceeded

Expression: TypeAlias = int
Edges: TypeAlias = dict[tuple[int, int], Expression]


STEPS = 50  # looks at a part or an edge, for each node that an expression may have


class Letter(NamedTuple):
    """One event of the letter's kind."""

    number: int


class Union(NamedTuple):
    """Either part; they are in ascending order."""

    parts: tuple[Expression, ...]


class Join(NamedTuple):
    """One part and then the other."""

    gap: bool
    left: Expression
    right: Expression


class Repeated(NamedTuple):
    """Once or more often."""

    gap: bool
    part: Expression


Node: TypeAlias = Letter | Union | Join | Repeated


def parts_of(node: Node) -> tuple[Expression, ...]:
    """The expressions directly in a node."""
    match node:
        case Letter():
            return ()
        case Union(parts):
            return parts
        case Join(_, left, right):
            return (left, right)
        case Repeated(_, part):
            return (part,)
        case _:
            assert_never(node)


class Expressions:
    """All expressions made so far, each after its parts.

    Raises BudgetExceeded where one has more than limit nodes, and where it takes too long to see to that.
    """

    def __init__(self, limit: int, what: str) -> None:
        self.nodes: list[Node] = []
        self.sizes: list[int] = []
        self._limit = limit
        self._what = what
        self._known: dict[Node, Expression] = {}
        self._left = STEPS * limit

    def step(self, steps: int) -> None:
        """So many steps are taken."""
        self._left -= steps
        if self._left < 0:
            self._too_large()

    def letter(self, number: int) -> Expression:
        """One event of the letter's kind."""
        return self._made(Letter(number), 1)

    def union(self, expressions: Iterable[Expression]) -> Expression:
        """Any of the expressions, of which there is one at least; what they begin or end with alike is written once."""
        parts = {part for e in expressions for part in self._alternatives(e)}
        self.step(len(parts))
        for e in list(parts):
            match self.nodes[e]:
                case Repeated(_, part):
                    parts.discard(part)
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
        return self._made(Union(tuple(sorted(parts))), sum(self.sizes[e] for e in parts) + len(parts) - 1)

    def join(self, gap: bool, left: Expression, right: Expression) -> Expression:
        """One and then the other."""
        return self._made(Join(gap, left, right), self.sizes[left] + self.sizes[right] + 1)

    def repeated(self, gap: bool, part: Expression) -> Expression:
        """Once or more often."""
        return self._made(Repeated(gap, part), self.sizes[part] + 1)

    def through(self, gap: bool, before: Expression, loop: Expression | None, after: Expression) -> Expression:
        """One, then the loop any number of times, then the other."""
        if loop is None:
            return self.join(gap, before, after)
        if (grown := self._grown(before, gap, loop)) is not None:
            return self.join(gap, grown, after)
        if (led := self._led(gap, loop, after)) is None:
            led = self.union((after, self.join(gap, self.repeated(gap, loop), after)))
        return self.join(gap, before, led)

    def then_maybe(self, gap: bool, before: Expression, loop: Expression | None) -> Expression:
        """One, then the loop any number of times."""
        if loop is None:
            return before
        if (grown := self._grown(before, gap, loop)) is not None:
            return grown
        return self.union((before, self.join(gap, before, self.repeated(gap, loop))))

    def _grown(self, e: Expression, gap: bool, loop: Expression) -> Expression | None:
        """e, then the loop any number of times, if that is e with its last part repeated."""
        if e == loop:
            return self.repeated(gap, loop)
        if isinstance(node := self.nodes[e], Join) and (grown := self._grown(node.right, gap, loop)) is not None:
            return self.join(node.gap, node.left, grown)
        return None

    def _led(self, gap: bool, loop: Expression, e: Expression) -> Expression | None:
        """The loop any number of times, then e, if that is e with its first part repeated."""
        if e == loop:
            return self.repeated(gap, loop)
        if isinstance(node := self.nodes[e], Join) and (led := self._led(gap, loop, node.left)) is not None:
            return self.join(node.gap, led, node.right)
        return None

    def _alternatives(self, e: Expression) -> tuple[Expression, ...]:
        return node.parts if isinstance(node := self.nodes[e], Union) else (e,)

    def _among(self, e: Expression, parts: set[Expression]) -> bool:
        return parts.issuperset(self._alternatives(e))

    def _other(self, e: Expression, left: bool) -> Expression:
        node = self.nodes[e]
        assert isinstance(node, Join)
        return node.right if left else node.left

    def _made(self, node: Node, size: int) -> Expression:
        if size > self._limit:
            self._too_large()
        known = self._known.setdefault(node, len(self.nodes))
        if known == len(self.nodes):
            self.nodes.append(node)
            self.sizes.append(size)
        return known

    def _too_large(self) -> NoReturn:
        raise BudgetExceeded(
            f"{self._what} has more than {self._limit} nodes, or is not found soon; a smaller automaton may have less"
        )


def eliminated(edges: Edges, gaps: Mapping[int, bool], final: Collection[int], end: int, all_: Expressions) -> Edges:
    """The edges that are left when all states of gaps are left out; those say how the ways through a state are joined.

    A way may end in a final state; it then leads to the state end. What makes the least to write is left out first
    (Delgado and Morais, "Approximation to the smallest regular expression for a given regular language", CIAA 2004).
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
            if q in costs:
                costs[q] += all_.sizes[e] * (leaving[q] - 1)
            if p in costs:
                costs[p] += all_.sizes[e] * (entering[p] - 1)
        q = min(inner, key=lambda q: (costs[q], q))
        inner.remove(q)
        _eliminate(q, edges, gaps[q], end if q in final else None, all_)
    return edges


def _eliminate(q: int, edges: Edges, gap: bool, end: int | None, all_: Expressions) -> None:
    """Leave a state out: the ways through it become edges, and those that may end in it lead to the end, if given."""
    loop = edges.pop((q, q), None)
    before = [(p, edges.pop((p, q))) for p, target in list(edges) if target == q]
    after = [(r, edges.pop((q, r))) for source, r in list(edges) if source == q]
    ways = [((p, r), all_.through(gap, one, loop, other)) for (p, one), (r, other) in product(before, after)]
    if end is not None:
        ways += [((p, end), all_.then_maybe(gap, one, loop)) for p, one in before]
    for edge, way in ways:
        edges[edge] = all_.union((edges[edge], way)) if edge in edges else way
