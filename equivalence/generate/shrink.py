"""Shrink a query and a stream on which two evaluators differ, for as long as they still differ.

A step takes the first candidate that weighs less and on which the evaluators still differ. `weight` alone decides what
is smaller. So every descent ends, and generators of candidates may offer anything. A language contributes functions
(QueryOperations), so that one loop shrinks the queries of all languages. It looks at the query and the stream only, and
so it also shrinks cases that no generator made.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import count
from random import Random
from typing import Any, Generic, TypeAlias, TypeVar, assert_never

from cerify.equivalence.rewrite.trees import noted
from cerify.semantics import predicates as pred
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Predicate, nodes
from cerify.semantics.trees import Operators, subtrees, with_operands
from cerify.semantics.values import EPOCH, Value, microseconds

# ---------------------------------------------------------------------------------------------------------------------
# What shrinking and campaigns have to know about a language: how to make, parse, show and simplify its queries.

Q = TypeVar("Q")
T = TypeVar("T")
X = TypeVar("X")
C = TypeVar("C", bound=Any)
Reduction: TypeAlias = Callable[[Q], Iterator[Q]]
"""Maps a query to others that may be simpler. Shrinking drops those that are not simpler or not well-formed."""


Mapped: TypeAlias = Callable[..., Q]
"""Replaces names and constants: mapped(query, name=..., value=...) calls both functions for each occurrence from left
to right. Without functions, the query only loses its spans."""


def require_nothing(query: Any) -> None:
    """Accept every query."""


def as_it_is(query: Q) -> Q:
    """Return the query itself."""
    return query


CaseMaker: TypeAlias = Callable[[Random, Any, int, int], tuple[Q, Stream]]
"""Makes a query and a stream of a profile, of at most the given numbers of nodes and of events."""
StreamMaker: TypeAlias = Callable[[Random, Any, int, Q], Stream]
"""Makes a stream of that length, of a profile, for a query."""


@dataclass(frozen=True)
class Generator(Generic[Q]):
    """The random cases of a language. The same random numbers give the same cases.

    profiles: what queries and streams are made of, by name; the first is the default. case: makes a query and a random
    stream. stream: makes another stream for a query. guided: like `case`, but most streams have a match; None if the
    language has no such function.
    """

    profiles: Mapping[str, Any]
    case: CaseMaker[Q]
    stream: StreamMaker[Q]
    guided: CaseMaker[Q] | None = None


@dataclass(frozen=True)
class QueryOperations(Generic[Q]):
    """The operations on the queries of a language that shrinking and campaigns use.

    parse, show: read and write texts; they are inverse to each other. reductions: functions that yield simpler queries;
    those that remove most come first. size: the number of nodes. complexity: how far the operators and their fields are
    from the simplest ones. types: the event types, with repetitions. attributes: the names of attributes that a query
    reads. predicates: the tuple predicates in a query. mapped: replaces event types, variables and constants; see
    Mapped. operators: the names or symbols of a query's operators. require_wellformed: raises IllFormed for a query
    that breaks a rule of the language. expanded: returns the query with its abbreviations written out. Shrinking begins
    with that query if it differs too.
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
        """Return the event types and variables in a query, with repetitions, in the order in which `mapped` replaces
        them.
        """
        return noted(lambda note: self.mapped(query, name=note))

    def constants(self, query: Q) -> list[Value]:
        """Return the constants in a query, with repetitions, in the order in which `mapped` replaces them."""
        return noted(lambda note: self.mapped(query, value=note))

    def is_wellformed(self, query: Q) -> bool:
        """Return whether parsing the query's text gives the same query. Raises ParseError and IllFormed."""
        self.require_wellformed(query)
        return self.parse(self.show(query)) == query


@dataclass(frozen=True)
class TreeShape(Generic[T]):
    """The shape of a language's trees: how to take trees apart and rebuild them, with reductions for all trees.

    children: the trees directly below a node. rebuilt: a node with other trees below it, as many as before.
    """

    children: Callable[[T], tuple[T, ...]]
    rebuilt: Callable[[T, tuple[T, ...]], T]

    def nodes(self, root: T) -> Iterator[T]:
        """Yield all nodes of a tree in pre-order."""
        return subtrees(root, self.children)

    def at_each_node(self, root: T, local: Reduction[T]) -> Iterator[T]:
        """Yield the tree with one node replaced, for each node and each replacement that `local` offers; the root is
        first.
        """
        yield from local(root)
        for below in varied(self.children(root), lambda child: self.at_each_node(child, local)):
            yield self.rebuilt(root, below)

    def parts_instead(self, root: T, around: Callable[[T], T] | None = None) -> Iterator[T]:
        """Yield the tree with one subtree replaced by a part of that subtree, the smallest part first.

        around: an operator. With it, each subtree is then also replaced by the operator applied to the same parts.
        """

        def local(node: T) -> Iterator[T]:
            inside = sorted(list(self.nodes(node))[1:], key=self.size)
            yield from inside
            if around is not None:
                yield from map(around, inside)

        return self.at_each_node(root, local)

    def simpler_kinds(self, root: T, groups: Iterable[Sequence[type[Any]]]) -> Iterator[T]:
        """Yield the tree with the operator of one node replaced by a simpler operator with the same operands.

        Each group lists operators with the same number of operands and no other field, the simplest first. Any other
        operator with this number of operands is replaced by every operator of the group.
        """
        by_number = {len(group[0].operands): group for group in groups}

        def local(node: T) -> Iterator[T]:
            below = self.children(node)
            group = by_number.get(len(below), ())
            simpler = group[: group.index(type(node))] if type(node) in group else group
            yield from (kind(*below) for kind in simpler)

        return self.at_each_node(root, local)

    def size(self, root: T) -> int:
        """Return the number of nodes."""
        return sum(1 for _ in self.nodes(root))


@dataclass(frozen=True)
class FormulaShape(TreeShape[T]):
    """The shape of formulas with event types, iteration and filters, whose conditions are AND and OR of atoms.

    table: the operators. event, iteration, filtering, conjunction: the classes of these nodes. simpler_atoms: maps an
    atom to simpler conditions. reload: returns this shape; pickle stores this function in place of the shape, because
    tables of operators cannot be pickled.
    """

    table: Operators
    event: type[Any]
    iteration: type[Any]
    filtering: type[Any]
    conjunction: type[Any]
    simpler_atoms: Callable[[Any], Iterator[Any]]
    reload: Callable[[], FormulaShape[T]]

    def __reduce__(self) -> tuple[Callable[[], Any], tuple[()]]:
        return self.reload, ()

    def smaller(self, phi: T) -> Iterator[T]:
        """Yield phi with a sub-formula replaced by a part of it or an iteration of a part, and phi with a smaller
        filter.
        """
        yield from self.parts_instead(phi, self.iteration)
        yield from self._with_conditions(phi, lambda c: fewer_atoms(c, self.conjunction))

    def simpler_predicates(self, phi: T) -> Iterator[T]:
        """Yield the formula with a predicate in a filter replaced by a part of it, or by a comparison."""
        return self._with_conditions(phi, lambda c: in_condition(c, self.simpler_atoms))

    def simpler_operators(self, phi: T) -> Iterator[T]:
        """Yield the formula with an operator replaced by a simpler one with as many operands."""
        return self.simpler_kinds(phi, (with_operands(self.table, 2), with_operands(self.table, 1)))

    def types(self, phi: T) -> Iterator[str]:
        """Yield the event types in a formula."""
        return (node.type for node in self.nodes(phi) if isinstance(node, self.event))

    def symbols(self, phi: T) -> set[str]:
        """Return the symbols of the operators of a formula, without event types."""
        return {self.table[type(node)].symbol for node in self.nodes(phi) if not isinstance(node, self.event)}

    def _with_conditions(self, phi: T, other: Callable[[Any], Iterator[Any]]) -> Iterator[T]:
        def local(node: T) -> Iterator[T]:
            if isinstance(node, self.filtering):
                yield from (self.filtering(node.phi, condition) for condition in other(node.condition))

        return self.at_each_node(phi, local)


def dropped(items: tuple[X, ...]) -> Iterator[tuple[X, ...]]:
    """Yield the tuple without its first item, without its second item, and so on."""
    return (items[:i] + items[i + 1 :] for i in range(len(items)))


def varied(items: tuple[X, ...], others: Callable[[X], Iterable[X]]) -> Iterator[tuple[X, ...]]:
    """Yield the tuple with one item replaced, for each replacement that `others` offers."""
    for i, item in enumerate(items):
        yield from ((*items[:i], other, *items[i + 1 :]) for other in others(item))


def in_condition(condition: C, atoms: Callable[[C], Iterator[C]]) -> Iterator[C]:
    """Yield the condition of a filter with one atom replaced, for each replacement that `atoms` offers."""
    if not _is_junction(condition):
        yield from atoms(condition)
        return
    kind, left, right = type(condition), condition.left, condition.right
    yield from (kind(other, right) for other in in_condition(left, atoms))
    yield from (kind(left, other) for other in in_condition(right, atoms))


def fewer_atoms(condition: C, conjunction: Callable[[C, C], C]) -> Iterator[C]:
    """Yield the condition of a filter without one of its operands, or with AND in place of OR."""
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


# ---------------------------------------------------------------------------------------------------------------------
# Generators of candidates for a smaller query and stream, in any language.
#
# A candidate need not be smaller: shrinking drops candidates that are not.

V = TypeVar("V")
Candidates: TypeAlias = Iterator[tuple[Q, Stream]]

SIMPLEST_VARIABLES = ("X", "Y", "Z")


def fewer_events(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Yield the stream without a part: halves first, then ever shorter parts, at last single events."""
    length = (len(S) + 1) // 2
    while length > 0:
        for start in range(0, len(S), length):
            yield query, Stream(S[:start] + S[start + length :], S.schema)
        length //= 2


def less_declared(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Yield the stream with a smaller schema: without attributes that the query does not read, or without unused
    types.
    """
    read = set(language.attributes(query))
    named = {*language.names(query), *(event.type for event in S)}

    def restricted(attributes: set[str], types: set[str]) -> Stream:
        events = [Event(e.type, {a: v for a, v in e.attributes.items() if a in attributes}) for e in S]
        if S.schema is None:
            return Stream(events)
        declared = {R: {a: t for a, t in of.items() if a in attributes} for R, of in S.schema.types.items()}
        return Stream(events, Schema({R: of for R, of in declared.items() if R in types}))

    declared = set(S.schema.attributes) if S.schema is not None else set()
    present = sorted(declared | {a for event in S for a in event.attributes})
    every_type = set(S.schema.types) if S.schema is not None else set()
    yield query, restricted(read, named)
    yield query, restricted(set(present), named)
    yield query, restricted(read, every_type)
    for name in present:
        if name not in read:
            yield query, restricted(set(present) - {name}, every_type)


def fewer_names(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Yield queries with simpler names, in one place or everywhere.

    Two names are merged, variables become X, Y, Z, or a type becomes a simpler one: another type of the query, or a
    type that the schema declares with the same attributes.
    """
    declared = S.schema.types if S.schema is not None else {}
    types = sorted({*(event.type for event in S), *language.types(query)})
    names = language.names(query)
    variables = sorted(set(names) - {*types, *declared})
    for old in reversed(types):
        alike = [R for R in declared if old in declared and declared[R] == declared[old]]
        for new in sorted({*types, *alike}):
            events = [retyped(e, new, S.schema) if e.type == old else e for e in S]
            yield renamed(language, query, old, new), Stream(events, S.schema)
    for old in variables:
        for new in (*types, *variables, *SIMPLEST_VARIABLES):
            yield renamed(language, query, old, new), S
    for i, event in enumerate(S):
        for R in types:
            yield query, Stream([*S[:i], retyped(event, R, S.schema), *S[i + 1 :]], S.schema)
    for i in range(len(names)):
        for new in (*types, *variables):
            yield language.mapped(query, name=replacing(i, new)), S


def replacing(index: int, new: V) -> Callable[[V], V]:
    """Return a function that returns its argument, but in its call number `index` (from 0) returns `new`."""
    calls = count()
    return lambda old: new if next(calls) == index else old


def renamed(language: QueryOperations[Q], query: Q, old: str, new: str) -> Q:
    """Return the query with a name replaced by another throughout."""
    return language.mapped(query, name=lambda name: new if name == old else name)


def simpler_values(language: QueryOperations[Q], query: Q, S: Stream) -> Candidates[Q]:
    """Yield simpler attribute values and constants.

    First all numbers are simplified at once, with their order kept; then one value at a time.
    """
    constants = language.constants(query)
    values = [*constants, *(value for event in S for value in event.attributes.values())]
    for kind, shift in ((int, 0), (int, 1), (float, 0), (float, 1)):
        numbers = sorted({v for v in values if isinstance(v, int | float) and type(v) is kind})
        ranked: dict[tuple[type, Value], Value] = {(kind, v): kind(rank + shift) for rank, v in enumerate(numbers)}

        def simpler_value(v: Value, ranked: Mapping[tuple[type, Value], Value] = ranked) -> Value:
            return ranked.get((type(v), v), v)

        yield (
            language.mapped(query, value=simpler_value),
            Stream([Event(e.type, {a: simpler_value(v) for a, v in e.attributes.items()}) for e in S], S.schema),
        )
    for i, event in enumerate(S):
        for name, value in event.attributes.items():
            for simpler in simpler_than(value):
                changed = Event(event.type, {**event.attributes, name: simpler})
                yield query, Stream([*S[:i], changed, *S[i + 1 :]], S.schema)
    for i, value in enumerate(constants):
        for simpler in simpler_than(value):
            yield language.mapped(query, value=replacing(i, simpler)), S


# --- parts of predicates ----------------------------------------------------------------------------------------------


def parts(P: pred.Predicate) -> Iterator[pred.Predicate]:
    """Yield smaller predicates: an operand of a connective, a comparison in place of a longer test, an operand of
    arithmetic.
    """
    match P:
        case pred.Both(left, right) | pred.Either(left, right):
            yield left
            yield right
            yield from (type(P)(other, right) for other in parts(left))
            yield from (type(P)(left, other) for other in parts(right))
        case pred.Not(inner):
            yield inner
            yield from map(pred.Not, parts(inner))
        case pred.OneOf(term, values):
            yield from (pred.Comparison("=", term, pred.Constant(value)) for value in values)
            yield from (pred.OneOf(term, values[:i] + values[i + 1 :]) for i in range(len(values)) if len(values) > 1)
            yield from (pred.OneOf(t, values) for t in operands(term))
        case pred.InRange(term, low, high):
            yield pred.Comparison(">=", term, pred.Constant(low))
            yield pred.Comparison("<=", term, pred.Constant(high))
            yield from (pred.InRange(t, low, high) for t in operands(term))
        case pred.Like(term, pattern):
            yield pred.Comparison("=", term, pred.Constant(pattern))
        case pred.Comparison(comparator, left_, right_):
            yield from (pred.Comparison(comparator, t, right_) for t in operands(left_))
            yield from (pred.Comparison(comparator, left_, t) for t in operands(right_))
            yield from (
                pred.Comparison(comparator, t, pred.Constant(0))
                for t in (left_, right_)
                if isinstance(t, pred.Attribute)
            )
        case pred.Anything() | pred.OfType():
            return
        case _:
            assert_never(P)


def operands(term: pred.Term) -> Iterator[pred.Term]:
    """Yield the terms inside an arithmetic term, and the term with one operand made smaller."""
    if isinstance(term, pred.Arithmetic):
        yield term.left
        yield term.right
        yield from (pred.Arithmetic(term.operator, t, term.right) for t in operands(term.left))
        yield from (pred.Arithmetic(term.operator, term.left, t) for t in operands(term.right))


# --- events and values ------------------------------------------------------------------------------------------------


def retyped(event: Event, R: str, schema: Schema | None) -> Event:
    """Return the event with the type R, keeping only attributes of R."""
    if schema is None or R not in schema.types:
        return Event(R, event.attributes)
    return Event(R, {a: v for a, v in event.attributes.items() if a in schema.types[R]})


def simpler_than(value: Value) -> Iterator[Value]:
    """Yield values of the same kind nearer to the simplest one, the simplest first."""
    match value:
        case bool():
            yield False
        case int() | float():
            yield from simpler_numbers(value)
        case str():
            yield from ("", "a", value[: len(value) // 2], value[1:], value[:-1])
        case datetime():
            yield EPOCH
            yield EPOCH + timedelta(seconds=1)
            yield value.replace(microsecond=0)
            yield value.replace(minute=0, second=0, microsecond=0)
            yield value.replace(month=1, day=1, hour=0, minute=0, second=0, microsecond=0)


def simpler_numbers(value: int | float) -> Iterator[int | float]:
    """Yield numbers of the same type nearer to 0."""
    if isinstance(value, float) and not math.isfinite(value):
        yield from (0.0, 1.0)
        return
    kind, towards = type(value), 1 if value > 0 else -1
    yield from (kind(0), kind(1), abs(value), kind(int(value)), kind(int(value / 2)), value - towards)


# ---------------------------------------------------------------------------------------------------------------------
# How heavy a query and a stream are: the well-founded order that shrinking descends.

Weight: TypeAlias = tuple[int, ...]


def weight(language: QueryOperations[Q], query: Q, stream: Stream) -> Weight:
    """Return the weight of a query and a stream: a tuple of natural numbers, compared left to right.

    These are, in turn, the numbers of nodes of the query, of events, and of predicate nodes; the complexity of the
    operators; the numbers of declared types and attributes, of attribute values, and of different names; and how far
    the names, then the values and constants, are from the simplest. This order is well-founded on tuples of the same
    length, so every descent ends.
    """
    schema = stream.schema.types if stream.schema is not None else {}
    names = [*language.names(query), *(event.type for event in stream)]
    values: Sequence[Value] = [value for event in stream for value in event.attributes.values()]
    return (
        language.size(query),
        len(stream),
        sum(map(predicate_weight, language.predicates(query))),
        language.complexity(query),
        sum(1 + len(attributes) for attributes in schema.values()),
        len(values),
        len(set(names)),
        sum(map(name_weight, names)),
        sum(map(value_weight, (*values, *language.constants(query)))),
    )


def predicate_weight(predicate: pred.Predicate) -> int:
    """Return the number of connectives, comparisons, terms and constants; an attribute is heavier than a constant."""
    return sum(_node_weight(node) for node in nodes(predicate))


def _node_weight(node: pred.Predicate | pred.Term) -> int:
    match node:
        case pred.OneOf(_, values):
            return 2 + len(values)
        case pred.InRange():
            return 4
        case pred.Like():
            return 3
        case pred.Attribute():
            return 2
        case (
            pred.Anything()
            | pred.OfType()
            | pred.Comparison()
            | pred.Not()
            | pred.Both()
            | pred.Either()
            | pred.Arithmetic()
            | pred.Constant()
        ):
            return 1
        case _:
            assert_never(node)


def name_weight(name: str) -> int:
    """Return the rank of a name among all names, which are ordered by length, then by their characters."""
    return int.from_bytes(name.encode())


def value_weight(value: Value) -> int:
    """Return the distance of a value from the simplest of its kind, which is 0, 0.0, false, '' or the epoch."""
    match value:
        case bool():
            return int(value)
        case int():
            return 2 * abs(value) + (value < 0)
        case float():
            if not math.isfinite(value):
                # More than the weight of any finite float, all of which are below 2^1024.
                return 1 << 1100
            return 2 * (2 * math.ceil(abs(value)) + (value < 0)) + (not value.is_integer())
        case str():
            return int.from_bytes(value.encode())
        case datetime():
            return value_weight(microseconds(value))


Differs: TypeAlias = Callable[[Q, Stream], bool]
Way: TypeAlias = Callable[[Q, Stream], Iterator[tuple[Q, Stream]]]
"""Maps a query and a stream to candidates; shrinking tries those that weigh less."""


def shrink(
    language: QueryOperations[Q],
    query: Q,
    stream: Stream,
    differs: Differs[Q],
    tries: int = 2000,
    small_enough: Differs[Q] = lambda query, stream: False,
) -> tuple[Q, Stream]:
    """Return a query and a stream on which `differs` is still true, and that no single rewriting makes smaller.

    A smaller pair that needs two rewritings at once may exist. Each step decreases `weight` and keeps only queries that
    are printed and parsed back unchanged. `differs` alone decides whether a pair differs; if it raises a CerifyError,
    the pair does not. Shrinking ends early, perhaps before the pair is minimal, after `tries` calls of `differs`, or at
    a pair for which `small_enough` is true. The same input gives the same result.
    """
    search = _Search(language, differs, tries)
    best = search.first(query, stream)
    while not small_enough(*best) and (better := search.step(*best)) is not None:
        best = better
    return best


def shrink_stream(stream: Stream, differs: Callable[[Stream], bool], tries: int = 2000) -> Stream:
    """Drop parts of the stream as long as `differs` stays true; see `shrink`."""
    length = (len(stream) + 1) // 2
    while length > 0:
        shorter = (Stream(stream[:i] + stream[i + length :], stream.schema) for i in range(0, len(stream), length))
        for other in shorter:
            if tries <= 0:
                return stream
            tries -= 1
            with suppress(CerifyError):
                if differs(other):
                    stream, length = other, len(other) + 1
                    break
        length //= 2
    return stream


def ways(language: QueryOperations[Q]) -> tuple[Way[Q], ...]:
    """Return the ways to make a query and a stream smaller; those that remove most come first."""
    reductions = (partial(_reduced, reduction) for reduction in language.reductions)
    return (
        partial(fewer_events, language),
        *reductions,
        partial(fewer_names, language),
        partial(less_declared, language),
        partial(simpler_values, language),
    )


def _reduced(reduction: Reduction[Q], query: Q, stream: Stream) -> Candidates[Q]:
    return ((other, stream) for other in reduction(query))


class _Search(Generic[Q]):
    """Searches for smaller pairs. Calls `differs` at most once for each candidate, and at most `tries` times."""

    def __init__(self, language: QueryOperations[Q], differs: Differs[Q], tries: int) -> None:
        self.language = language
        self.differs = differs
        self.tries = tries
        self.ways = deque(ways(language))
        self.refused: set[bytes] = set()

    def first(self, query: Q, stream: Stream) -> tuple[Q, Stream]:
        """Return the first pair: with the expanded query if `differs` is true of it, else the given pair."""
        expanded = self.language.expanded(query)
        return (expanded, stream) if expanded == query or self._accepted(expanded, stream) else (query, stream)

    def step(self, query: Q, stream: Stream) -> tuple[Q, Stream] | None:
        """Return the first smaller candidate for which `differs` is true, or None.

        The next step begins with the way that found it.
        """
        bound = weight(self.language, query, stream)
        for _ in range(len(self.ways)):
            for candidate in self._smaller(query, stream, bound):
                if self.tries <= 0:
                    return None
                if self._accepted(*candidate):
                    return candidate
            # A way that has just succeeded often succeeds again, so it keeps its turn until it fails.
            self.ways.rotate(-1)
        return None

    def _smaller(self, query: Q, stream: Stream, bound: Weight) -> Iterator[tuple[Q, Stream]]:
        candidates = self.ways[0](query, stream)
        return (candidate for candidate in candidates if weight(self.language, *candidate) < bound)

    def _accepted(self, query: Q, stream: Stream) -> bool:
        # A digest, because the refused queries and streams themselves would take much memory.
        key = hashlib.blake2b(repr((query, stream.events, stream.schema)).encode(), digest_size=16).digest()
        if key in self.refused:
            return False
        with suppress(CerifyError):
            if self.language.is_wellformed(query):
                self.tries -= 1
                if self.differs(query, stream):
                    return True
        self.refused.add(key)
        return False
