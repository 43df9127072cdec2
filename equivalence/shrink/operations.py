"""What shrinking and campaigns have to know of a language: its texts, how a query gets simpler, and what it names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Generic, TypeAlias, TypeVar

from cerify.equivalence.rewrite.trees import noted
from cerify.semantics.operators import Operators, with_operands
from cerify.semantics.predicates import Predicate
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value

Q = TypeVar("Q")
T = TypeVar("T")
X = TypeVar("X")
C = TypeVar("C", bound=Any)
Reduction: TypeAlias = Callable[[Q], Iterator[Q]]
"""From a query to others that may be simpler; shrinking drops those that are not, and those that are no queries."""


Mapped: TypeAlias = Callable[..., Q]
"""From a query to the same with other names and constants: mapped(query, name=..., value=...), where both are functions
that are called for each occurrence from left to right. Without them the query only loses its spans."""


def require_nothing(query: Any) -> None:
    """Accept every query that is printed and parsed back."""


def as_it_is(query: Q) -> Q:
    """The query itself."""
    return query


@dataclass(frozen=True)
class QueryOperations(Generic[Q]):
    """The operations on the queries of a language that shrinking and campaigns use.

    parse, show: text; they are inverse to each other on queries of the language.
    reductions: simpler queries, those that cut deepest first.
    size: the number of nodes. complexity: how far the operators, with what they carry, are from the simplest.
    types: the event types, with repetitions. attributes: the names of those that a query reads.
    predicates: the tuple predicates in it. mapped: see Mapped; names are event types and variables.
    operators: the names or symbols of the operators that it has.
    require_wellformed: raises IllFormed for a query that breaks a rule of the language.
    expanded: the query with its abbreviations written out, from which shrinking begins if that fails too.
    """

    parse: Callable[[str], Q]
    show: Callable[[Q], str]
    reductions: tuple[Reduction[Q], ...]
    size: Callable[[Q], int]
    complexity: Callable[[Q], int]
    types: Callable[[Q], Iterable[str]]
    attributes: Callable[[Q], Iterable[str]]
    predicates: Callable[[Q], Iterable[Predicate]]
    mapped: Mapped[Q]
    operators: Callable[[Q], Iterable[str]]
    require_wellformed: Callable[[Q], None] = require_nothing
    expanded: Callable[[Q], Q] = as_it_is

    def names(self, query: Q) -> list[str]:
        """The event types and variables in a query, with repetitions, in the order in which `mapped` replaces them."""
        return noted(lambda note: self.mapped(query, name=note))

    def constants(self, query: Q) -> list[Value]:
        """The constants in a query, with repetitions, in the order in which `mapped` replaces them."""
        return noted(lambda note: self.mapped(query, value=note))

    def is_wellformed(self, query: Q) -> bool:
        """Whether the query is parsed back from its text. Raises ParseError, IllFormed."""
        self.require_wellformed(query)
        return self.parse(self.show(query)) == query


@dataclass(frozen=True)
class TreeShape(Generic[T]):
    """How the trees of a language are taken apart, and the reductions that need no more than that.

    children: the trees directly below a node. rebuilt: the node with others below it, as many.
    """

    children: Callable[[T], tuple[T, ...]]
    rebuilt: Callable[[T, tuple[T, ...]], T]

    def nodes(self, root: T) -> Iterator[T]:
        """All nodes of a tree, each before those below it, left to right."""
        return subtrees(root, self.children)

    def at_each_node(self, root: T, local: Reduction[T]) -> Iterator[T]:
        """The tree with one of its nodes replaced, in every way that local offers, outermost first."""
        yield from local(root)
        for below in varied(self.children(root), lambda child: self.at_each_node(child, local)):
            yield self.rebuilt(root, below)

    def parts_instead(self, root: T, around: Callable[[T], T] | None = None) -> Iterator[T]:
        """A tree in the place of one above it, the smallest first; then each of these with an operator around it."""

        def local(node: T) -> Iterator[T]:
            inside = sorted(list(self.nodes(node))[1:], key=self.size)
            yield from inside
            if around is not None:
                yield from map(around, inside)

        return self.at_each_node(root, local)

    def simpler_kinds(self, root: T, groups: Iterable[Sequence[type[Any]]]) -> Iterator[T]:
        """A node of a simpler kind with the same operands.

        A group has kinds whose nodes have as many operands and no other field, the simple ones first. A node of another
        kind with as many operands is replaced by every kind of the group.
        """
        by_number = {len(group[0].operands): group for group in groups}

        def local(node: T) -> Iterator[T]:
            below = self.children(node)
            group = by_number.get(len(below), ())
            simpler = group[: group.index(type(node))] if type(node) in group else group
            yield from (kind(*below) for kind in simpler)

        return self.at_each_node(root, local)

    def size(self, root: T) -> int:
        """The number of nodes."""
        return sum(1 for _ in self.nodes(root))


@dataclass(frozen=True)
class FormulaShape(TreeShape[T]):
    """The shape of formulas with event types, iteration and filters, whose conditions are AND and OR of atoms.

    table: the operators. event, iteration, filtering, conjunction: the classes of these nodes. simpler_atoms: from an
    atom to simpler conditions. It is pickled as the SHAPE of the module of simpler_atoms, since no table is pickled.
    """

    table: Operators
    event: type[Any]
    iteration: type[Any]
    filtering: type[Any]
    conjunction: type[Any]
    simpler_atoms: Callable[[Any], Iterator[Any]]

    def __reduce__(self) -> tuple[Callable[[str], Any], tuple[str]]:
        return _shape_in, (self.simpler_atoms.__module__,)

    def smaller(self, phi: T) -> Iterator[T]:
        """A sub-formula, or its iteration, in the place of a formula around it; a filter with fewer atoms."""
        yield from self.parts_instead(phi, self.iteration)
        yield from self._with_conditions(phi, lambda c: fewer_atoms(c, self.conjunction))

    def simpler_predicates(self, phi: T) -> Iterator[T]:
        """A predicate in a filter replaced by a part of it, or by a comparison."""
        return self._with_conditions(phi, lambda c: in_condition(c, self.simpler_atoms))

    def simpler_operators(self, phi: T) -> Iterator[T]:
        """An operator in the place of a more complex one with as many operands."""
        return self.simpler_kinds(phi, (with_operands(self.table, 2), with_operands(self.table, 1)))

    def types(self, phi: T) -> Iterator[str]:
        """The event types in a formula."""
        return (node.type for node in self.nodes(phi) if isinstance(node, self.event))

    def symbols(self, phi: T) -> set[str]:
        """The symbols of the operators of a formula, event types aside."""
        return {self.table[type(node)].symbol for node in self.nodes(phi) if not isinstance(node, self.event)}

    def _with_conditions(self, phi: T, other: Callable[[Any], Iterator[Any]]) -> Iterator[T]:
        def local(node: T) -> Iterator[T]:
            if isinstance(node, self.filtering):
                yield from (self.filtering(node.phi, condition) for condition in other(node.condition))

        return self.at_each_node(phi, local)


def dropped(items: tuple[X, ...]) -> Iterator[tuple[X, ...]]:
    """The items without one of them, in every way."""
    return (items[:i] + items[i + 1 :] for i in range(len(items)))


def varied(items: tuple[X, ...], others: Callable[[X], Iterable[X]]) -> Iterator[tuple[X, ...]]:
    """The items with another one in the place of one of them, in every way that others offers."""
    for i, item in enumerate(items):
        yield from ((*items[:i], other, *items[i + 1 :]) for other in others(item))


def in_condition(condition: C, atoms: Callable[[C], Iterator[C]]) -> Iterator[C]:
    """A condition of a filter with one of its atoms replaced, in every way that atoms offers."""
    if not _is_junction(condition):
        yield from atoms(condition)
        return
    kind, left, right = type(condition), condition.left, condition.right
    yield from (kind(other, right) for other in in_condition(left, atoms))
    yield from (kind(left, other) for other in in_condition(right, atoms))


def fewer_atoms(condition: C, conjunction: Callable[[C, C], C]) -> Iterator[C]:
    """A condition of a filter without one of its operands, or with a conjunction in place of a disjunction."""
    if not _is_junction(condition):
        return
    kind, left, right = type(condition), condition.left, condition.right
    yield left
    yield right
    yield from (kind(other, right) for other in fewer_atoms(left, conjunction))
    yield from (kind(left, other) for other in fewer_atoms(right, conjunction))
    if kind is not conjunction:
        yield conjunction(left, right)


def _is_junction(condition: Any) -> bool:
    return hasattr(condition, "left") and hasattr(condition, "right")


def _shape_in(module: str) -> Any:
    return import_module(module).SHAPE
