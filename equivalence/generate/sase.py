"""Random queries of SASE+ and streams that fit them: all strategies, Kleene plus anywhere, negation, aggregates.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. A query is
well-formed and fits the profile's schema. Most streams are built to match where that is easy: their events are chosen,
one after the other, for the components of the pattern, with other events between them. The last
part simplifies queries, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import partial
from random import Random
from typing import Any, TypeVar, cast, get_args

from cerify.equivalence.generate.shrink import (
    Generator,
    QueryOperations,
    Reduction,
    dropped,
    parts,
    simpler_numbers,
    value_weight,
    varied,
)
from cerify.equivalence.rewrite.trees import same
from cerify.semantics import predicates as pred
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import require_wellformed
from cerify.semantics.sase.clauses import (
    blocks_of,
    clauses_of_matches,
    conjuncts,
    equivalences,
    positive,
    queries_of,
    strategies,
)
from cerify.semantics.sase.clauses import operators as operators_of
from cerify.semantics.sase.denote import Edge, agree, placed, value_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import RANKED, show
from cerify.semantics.values import Value, ValueType, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# Profiles of random queries of SASE+ and streams: which constructs they have, how often, and over which values.


@dataclass(frozen=True)
class SaseProfile:
    """The parameters of random queries and streams.

    A number is a probability: how often a feature is used where it is possible. attributes: every event type has all of
    them; the values of an attribute in streams and the constants in conditions come from one pool. mixed: a strategy
    for each component. default: predicates without a strategy. kleene, negated: components of that kind. cut: `!` after
    a component. equivalence: tests [attribute]; underlined: underlined predicates. related: conditions whose right side
    uses other events. aggregated: sides of conditions that are aggregates. led: streams that are built to match.
    constant: whether results are a constant.
    """

    types: tuple[str, ...] = ("A", "B", "C")
    attributes: tuple[tuple[str, tuple[Value, ...]], ...] = (("x", (0, 1, 2, 3)), ("y", (0, 1)))
    strategies: tuple[sase.Strategy, ...] = sase.STRATEGIES
    mixed: float = 0.3
    default: float = 0.15
    kleene: float = 0.5
    negated: float = 0.0
    cut: float = 0.25
    equivalence: float = 0.3
    underlined: float = 0.1
    related: float = 0.5
    aggregated: float = 0.0
    within: float = 0.3
    having: float = 0.0
    non_overlap: float = 0.0
    absent: float = 0.0
    led: float = 0.7
    constant: bool = False

    @property
    def schema(self) -> Schema:
        """Return the schema of the streams."""
        attributes: dict[str, ValueType] = {name: value_type_of(pool[0]) for name, pool in self.attributes}
        return Schema({T: {**attributes, TIME: "int"} for T in self.types})


PLAIN = SaseProfile()
"""All strategies, Kleene plus anywhere, correlated conditions, equivalence tests, windows and `!`."""

PER_EVENT = replace(PLAIN, related=0.0)
"""The same profile, but with only conditions on single events and equivalence tests."""

AGGREGATES = replace(PLAIN, aggregated=0.4, having=0.3)
"""Plain, with aggregates, running and of all events, and HAVING."""

NEGATION = replace(AGGREGATES, aggregated=0.2, negated=0.35, within=0.5)
"""The same profile with negated components, single and Kleene."""

EVERYTHING = replace(
    NEGATION,
    attributes=(*PLAIN.attributes, ("f", (0.0, 0.5, 1.5)), ("s", ("", "a", "ab")), ("b", (False, True))),
    non_overlap=0.1,
    absent=0.05,
)
"""The same profile with values of other kinds, some of them absent, and NON-OVERLAP."""

NEXT = replace(
    PLAIN,
    strategies=("strict_contiguity", "skip_till_next_match"),
    mixed=0.0,
    default=0.0,
    kleene=0.25,
    cut=1.0,
    negated=0.1,
    constant=True,
)
"""A profile for engines whose patterns take the next event: one such strategy, Kleene plus with `!`, constant
results.
"""

PROFILES = {
    "plain": PLAIN,
    "per-event": PER_EVENT,
    "aggregates": AGGREGATES,
    "negation": NEGATION,
    "everything": EVERYTHING,
    "next": NEXT,
}


# ---------------------------------------------------------------------------------------------------------------------
# Make one random SASE+ query: its pattern, then conditions on the components, then strategies for these conditions.

COMPARATORS: tuple[pred.Comparator, ...] = get_args(pred.Comparator)
EQUALITIES: tuple[pred.Comparator, ...] = ("=", "!=")


class Maker:
    """Makes a query with at most `nodes` nodes: some are components of the pattern, the others are conditions."""

    def __init__(self, rng: Random, profile: SaseProfile, nodes: int) -> None:
        self.rng, self.profile = rng, profile
        self.within = self._share(profile.within)
        self.pattern = self._pattern(rng.randint(1, max(1, min(4, nodes - 1))))
        self.left = nodes - len(self.pattern) - self.within

    def query(self) -> sase.SaseQuery:
        """Return a random query."""
        conditions: list[sase.Conjunct] = []
        if self.left > 0 and self._share(self.profile.equivalence):
            conditions.append(sase.Conjunct(sase.Equivalence(self._equivalence())))
        while len(conditions) < self.left and self.rng.random() < 0.8:
            conditions.append(sase.Conjunct(self._conjunct(self.rng.choice(self.pattern))))
        where = self._blocks(conditions)
        having = self._having() if self._share(self.profile.having) else None
        window = sase.SaseWindow(self.rng.randint(1, 9), "seconds") if self.within else None
        return sase.SaseQuery(self.pattern, self._returned(), where, window, having)

    def _share(self, share: float) -> bool:
        return self.rng.random() < share

    # --- PATTERN ---

    def _pattern(self, length: int) -> tuple[sase.Component, ...]:
        there = self.rng.randrange(length)  # one component must not be negated
        found = []
        for n in range(length):
            negated = n != there and self._share(self.profile.negated)
            # Without a window nobody knows when an event can come no more, so the checker refuses such a query.
            if negated and n == length - 1 and not self.within:
                negated = False
            type_ = self.rng.choice(self.profile.types)
            found.append(sase.Component(type_, "abcd"[n], self._share(self.profile.kleene), negated))
        return tuple(found)

    # --- WHERE ---

    def _blocks(self, conditions: list[sase.Conjunct]) -> tuple[sase.Block, ...]:
        if self._share(self.profile.default):
            return (sase.Block(None, (), tuple(conditions)),) if conditions else ()
        there = [k for k in self.pattern if not k.negated or self._share(0.5)]
        mixed = self._share(self.profile.mixed)
        groups = [[k] for k in there] if mixed else [there]
        chosen = [self.rng.choice(self.profile.strategies) for _ in groups]
        if "partition_contiguity" in chosen:
            conditions = self._partitioned(conditions)
        blocks = []
        for strategy, group in zip(chosen, groups, strict=True):
            names = {k.variable for k in group}
            own = tuple(c for c in conditions if self._belongs(c, names, first=group is groups[0]))
            arguments = tuple(sase.Selected(k.variable, self._is_cut(k)) for k in group)
            blocks.append(sase.Block(strategy, arguments, own))
        return tuple(blocks)

    def _is_cut(self, k: sase.Component) -> bool:
        return k.kleene and not k.negated and self._share(self.profile.cut)

    def _belongs(self, c: sase.Conjunct, names: set[str], first: bool) -> bool:
        """Return whether a conjunct belongs to the block of variables `names`.

        It belongs to the block of its last identifier; if it has none, to the first block.
        """
        if isinstance(c.condition, sase.Equivalence):
            return first
        k = self.pattern[placed(c.condition, self.pattern).component]
        return first if k.negated else k.variable in names

    def _partitioned(self, conditions: list[sase.Conjunct]) -> list[sase.Conjunct]:
        """Return conditions, at least one of which defines the partition."""
        if any(isinstance(c.condition, sase.Equivalence) for c in conditions) and not self._share(
            self.profile.underlined
        ):
            return conditions
        for n, c in enumerate(conditions):
            if isinstance(c.condition, sase.Equivalence) or not _aggregates(c.condition):
                return [*conditions[:n], replace(c, underlined=True), *conditions[n + 1 :]]
        return [*conditions, sase.Conjunct(sase.Equivalence(self._equivalence()))]

    def _equivalence(self) -> str:
        # Mostly an attribute with few values, so that events agree often enough for a match.
        return min(self.rng.choices(self.profile.attributes, k=2), key=lambda attribute: len(attribute[1]))[0]

    def _conjunct(self, k: sase.Component) -> pred.Predicate:
        """Return a condition about one event, or all events, of component k.

        In each operand of its OR, the last identifier is about the same events of the component.
        """
        edge: Edge = self.rng.choice(("first", "each", "each", "later", "later", "end")) if k.kleene else "first"
        p = self._atom(k, edge)
        while self._share(0.15):
            p = pred.Either(p, self._atom(k, edge))
        return p

    def _atom(self, k: sase.Component, edge: Edge) -> pred.Predicate:
        name, pool = self.rng.choice(self.profile.attributes)
        left, values = self._choose_left(k, edge, name, pool)
        if self._share(0.1) and not isinstance(values[0], bool):
            low, high = sorted(self.rng.choices(values, k=2))
            p: pred.Predicate = pred.InRange(left, low, high)
        else:
            right = self._right(k, edge, name, values) if values is pool else pred.Constant(self.rng.choice(values))
            p = pred.Comparison(
                self.rng.choice(EQUALITIES if isinstance(values[0], bool) else COMPARATORS), left, right
            )
        return pred.Not(p) if self._share(0.1) else p

    def _choose_left(
        self, k: sase.Component, edge: Edge, name: str, pool: tuple[Value, ...]
    ) -> tuple[pred.Term, tuple[Value, ...]]:
        """Return an identifier of component k for these events of it (`edge`), and the values that the identifier may
        have.
        """
        if edge == "end" and self._share(0.7 * bool(self.profile.aggregated)):
            return self._aggregate(k, name, pool, running=False)
        places: dict[Edge, sase.Index] = {"first": "first", "each": "current", "later": "current", "end": "last"}
        return sase.Reference(name, k.variable, places[edge] if k.kleene else "only"), pool

    def _right(self, k: sase.Component, edge: Edge, name: str, pool: tuple[Value, ...]) -> pred.Term:
        """Return the right side of a condition: a value of another event, of an earlier event of the same array, or a
        constant.
        """
        if edge == "later":
            if self._share(self.profile.aggregated):
                aggregate, values = self._aggregate(k, name, pool, running=True)
                if values is pool:
                    return aggregate
            return self._moved(
                sase.Reference(name, k.variable, self.rng.choice(("previous", "previous", "first"))), pool
            )
        index = self.pattern.index(k)
        others = [o for n, o in enumerate(self.pattern) if not o.negated and o is not k and (n < index or k.negated)]
        if not others or not self._share(self.profile.related):
            return pred.Constant(self.rng.choice(pool))
        other = self.rng.choice(others)
        if other.kleene and self._share(self.profile.aggregated):
            aggregate, values = self._aggregate(other, name, pool, running=False)
            if values is pool:
                return aggregate
        place: sase.Index = self.rng.choice(("first", "last")) if other.kleene else "only"
        return self._moved(sase.Reference(name, other.variable, place), pool)

    def _moved(self, term: pred.Term, pool: tuple[Value, ...]) -> pred.Term:
        """Return the term. A number sometimes has another number added to it, subtracted from it or multiplied with
        it.
        """
        if isinstance(pool[0], int | float) and not isinstance(pool[0], bool) and self._share(0.15):
            return pred.Arithmetic(self.rng.choice(("+", "-", "*")), term, pred.Constant(self.rng.choice(pool)))
        return term

    def _aggregate(
        self, k: sase.Component, name: str, pool: tuple[Value, ...], running: bool
    ) -> tuple[pred.Term, tuple[Value, ...]]:
        """Return an aggregate, and the values that it may have: the pool, or small numbers if it counts."""
        functions = ["min", "max", *RANKED]
        if isinstance(pool[0], bool):
            functions = []
        elif isinstance(pool[0], int | float):
            functions += ["sum", "avg", "sum", "avg"]
        function = self.rng.choice([*functions, "count"])
        if function == "count":
            return sase.SaseAggregate("", k.variable, "count", None, running), (1, 2, 3)
        parameter = self.rng.randint(1, 2) if function in RANKED else None
        return sase.SaseAggregate(name, k.variable, function, parameter, running), pool

    # --- HAVING, RETURN ---

    def _having(self) -> pred.Predicate:
        k = self.rng.choice([k for k in self.pattern if not k.negated])
        p = self._atom(k, "end" if k.kleene else "first")
        return pred.Not(p) if self._share(0.2) else p

    def _returned(self) -> sase.Return:
        if self.profile.constant:
            return sase.Return((sase.Item(sase.Simple(pred.Constant(1)), "one"),))
        items = tuple(
            sase.Item(self._output(k))
            for k in self.pattern
            if not k.negated and (self._share(0.4) or len(self.pattern) == 1)
        )
        there = next(k for k in self.pattern if not k.negated)
        return sase.Return(
            items or (sase.Item(self._output(there)),), non_overlap=self._share(self.profile.non_overlap)
        )

    def _output(self, k: sase.Component) -> sase.Output:
        name, pool = self.rng.choice(self.profile.attributes)
        names = tuple(n for n, _ in self.profile.attributes[:2])
        if not k.kleene:
            return (
                sase.Composite(k.variable, "only", names)
                if self._share(0.2)
                else sase.Simple(sase.Reference(name, k.variable))
            )
        chance = self.rng.random()
        if chance < 0.3:
            return sase.SaseSeries(k.variable, name)
        if chance < 0.5:
            return sase.CompositeSeries(k.variable, names)
        if chance < 0.8:
            return sase.Simple(self._aggregate(k, name, pool, running=False)[0])
        return sase.Simple(sase.Reference(name, k.variable, self.rng.choice(("first", "last"))))


def _aggregates(p: pred.Predicate) -> bool:
    return any(isinstance(a, sase.SaseAggregate) for a in mentions(p))


TRIES = 8  # random events to choose from for each event of a match


def case(rng: Random, profile: SaseProfile, nodes: int, events: int) -> tuple[sase.SaseQuery, Stream]:
    """Return a query of at most `nodes` nodes and a stream of at most `events` events; large ones are frequent."""
    q = query(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return q, stream(rng, profile, max(rng.randint(1, events), rng.randint(1, events)), q)


def size(q: sase.SaseQuery) -> int:
    """Return the number of components and conjuncts, plus one each for WITHIN and HAVING."""
    return len(q.pattern) + len(list(conjuncts(q))) + (q.within is not None) + (q.having is not None)


def query(rng: Random, profile: SaseProfile, nodes: int) -> sase.SaseQuery:
    """Return a query with at most that many nodes, as `size` counts them."""
    return Maker(rng, profile, nodes).query()


def stream(rng: Random, profile: SaseProfile, length: int, q: sase.SaseQuery | None = None) -> Stream:
    """Return a random stream of this length, mostly of the event types in the query."""
    asked = sorted({k.type for k in q.pattern}) if q is not None else []
    types = asked * 4 * len(profile.types) + [*profile.types] * len(asked) if asked else [*profile.types]
    clock = 0

    def event(type_: str | None = None) -> Event:
        nonlocal clock
        attributes = {name: rng.choice(pool) for name, pool in profile.attributes if rng.random() >= profile.absent}
        return Event(type_ or rng.choice(types), attributes)

    chosen = _led(rng, q, length, event) if q is not None and rng.random() < profile.led else []
    timed = []
    for e in [*chosen, *(event() for _ in range(length - len(chosen)))]:
        clock += rng.choice((0, 1, 1, 2))
        timed.append(Event(e.type, {**e.attributes, TIME: clock}))
    return Stream(timed, profile.schema)


# --- streams ----------------------------------------------------------------------------------------------------------


def _led(rng: Random, q: sase.SaseQuery, length: int, event: Callable[..., Event]) -> list[Event]:
    """Return one event for each component of the pattern, in order; an array gets several.

    An event satisfies its conditions if such an event is found in a few tries.
    """
    events: list[Event] = []
    bound: dict[str, list[int]] = {}
    last: int | None = None
    strict = all(block.strategy == "strict_contiguity" for block in q.where) and bool(q.where)
    pattern = positive(q)
    clauses = [(p, placed(p, q.pattern)) for p, _ in clauses_of_matches(q)]
    for k in pattern:
        index = q.pattern.index(k)
        for n in range(rng.choice((1, 1, 2, 3)) if k.kleene else 1):
            while not strict and len(events) < length and rng.random() < 0.3:
                events.append(event())
            if len(events) >= length:
                return events
            edges: set[Edge] = {"first", "each"} if n == 0 else {"each", "later"}
            here = [p for p, place in clauses if place.component == index and place.edge in edges]
            for _ in range(TRIES):
                candidate = event(k.type)
                tried = [*events, candidate]
                now = value_of({**bound, k.variable: [*bound.get(k.variable, []), len(events)]}, tried)
                same = last is None or all(agree(name, candidate, events[last]) for name, _ in equivalences(q))
                if same and all(satisfied(p, now) for p in here):
                    break
            bound.setdefault(k.variable, []).append(len(events))
            last = len(events)
            events.append(candidate)
    return events


def sase_stream(rng: Random, profile: SaseProfile, length: int, q: sase.Tree) -> Stream:
    """Return a random stream; if the query is a single PATTERN, most streams are built to match."""
    return stream(rng, profile, length, q if isinstance(q, sase.SaseQuery) else None)


SASE_GENERATOR = Generator[sase.Tree](PROFILES, case, sase_stream)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify SASE+ queries, for shrinking and campaigns.

N = TypeVar("N", bound=sase.SaseNode)
T = TypeVar("T")


def blocks(q: sase.Tree) -> list[sase.SaseQuery]:
    """Return the query blocks of a query, of its unions and of the queries that it reads."""
    return [block for query in queries_of(q) for block in blocks_of(query)]


def at_each_node(root: N, local: Callable[[Any], Iterable[Any]]) -> Iterator[N]:
    """Yield the tree with one node replaced, for each replacement that `local` offers, outermost first."""
    yield from local(root)
    for name in (field.name for field in fields(root)):
        value: Any = getattr(root, name)
        below = value if isinstance(value, tuple) else (value,)
        for others in varied(
            below, lambda child: at_each_node(child, local) if isinstance(child, sase.SaseNode) else ()
        ):
            changed: Any = {name: others if isinstance(value, tuple) else others[0]}
            yield replace(root, **changed)


def with_changes(tree: T, change: Callable[[Any], Any]) -> T:
    """Return the tree with `change` applied to each node, left to right, operands first."""
    if isinstance(tree, tuple):
        return cast("T", tuple(with_changes(part, change) for part in tree))
    if not isinstance(tree, sase.SaseNode):
        return tree
    below = {field.name: with_changes(getattr(tree, field.name), change) for field in fields(tree)}
    return cast("T", change(replace(tree, **below)))


def with_conditions(node: sase.SaseNode, change: Callable[[Predicate], Predicate]) -> sase.SaseNode:
    """Apply `change` to the condition of a conjunct or of HAVING; return any other node unchanged."""
    match node:
        case sase.Conjunct(p) if not isinstance(p, sase.Equivalence):
            return replace(node, condition=change(p))
        case sase.SaseQuery() if node.having is not None:
            return replace(node, having=change(node.having))
    return node


def tree_size(q: sase.Tree) -> int:
    """Return the number of components, conjuncts, other clauses and attributes of the result."""
    return sum(map(_size, blocks(q)))


def _size(q: sase.SaseQuery) -> int:
    clauses = (q.within is not None) + (q.having is not None) + (q.source is not None)
    return len(q.pattern) + len(list(conjuncts(q))) + len(q.returned.items) + clauses


def complexity(q: sase.Tree) -> int:
    """Return the complexity of a query, by which shrinking compares queries of equal size.

    It is a sum over the query's components, blocks, results and window; the simplest query has the least.
    """
    return sum(map(_complexity, blocks(q)))


def _complexity(q: sase.SaseQuery) -> int:
    return (
        sum(2 * k.kleene + 2 * k.negated for k in q.pattern)
        + sum(1 + sase.STRATEGIES.index(b.strategy) for b in q.where if b.strategy is not None)
        + len(q.where)
        + sum(argument.cut for b in q.where for argument in b.arguments)
        + sum(c.underlined for c in conjuncts(q))
        + sum(not isinstance(item.output, sase.Simple) for item in q.returned.items)
        + q.returned.non_overlap
        + (value_weight(q.within.amount) if q.within is not None else 0)
    )


def types(q: sase.Tree) -> Iterator[str]:
    """Yield the event types of the components."""
    return (k.type for block in blocks(q) for k in block.pattern)


def attributes(q: sase.Tree) -> Iterator[str]:
    """Yield only the time, which orders the events, so that shrinking can drop every other attribute."""
    return iter((TIME,))


def predicates(q: sase.Tree) -> Iterator[Predicate]:
    """Yield the conditions of WHERE and HAVING."""
    for block in blocks(q):
        yield from (c.condition for c in conjuncts(block) if not isinstance(c.condition, sase.Equivalence))
        if block.having is not None:
            yield block.having


def mapped(q: sase.Tree, name: Callable[[str], str] = same, value: Callable[[Value], Value] = same) -> sase.Tree:
    """Return the query with `name` applied to its event types, and `value` to the constants in its conditions."""

    def change(node: sase.SaseNode) -> sase.SaseNode:
        if isinstance(node, sase.Component):
            return replace(node, type=name(node.type))
        return with_conditions(node, lambda p: mapped_predicate(p, value=value))

    return with_changes(q, change)


def operators(q: sase.Tree) -> set[str]:
    """Return the names of the operators and strategies of a query."""
    return {*operators_of(q), *strategies(q)}


# --- reductions at one node -------------------------------------------------------------------------------------------


def fewer_blocks(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield queries with fewer blocks: a part of a union, a union with fewer parts, or a program with fewer queries."""
    match node:
        case sase.SaseUnion(parts_):
            yield from (*parts_, *map(sase.SaseUnion, dropped(parts_)))
        case sase.Program(queries):
            yield from (*queries, *map(sase.Program, dropped(queries)))


def fewer_parts(q: sase.SaseNode) -> Iterator[sase.SaseQuery]:
    """Yield the query without one component (and all mentions of it), one clause, one conjunct, or one attribute of the
    result.
    """
    if not isinstance(q, sase.SaseQuery):
        return
    for k in q.pattern:
        if any(not other.negated for other in q.pattern if other is not k):
            yield without(q, k.variable)
    yield replace(q, where=(), within=None, having=None)
    yield replace(q, where=())
    yield replace(q, within=None)
    yield replace(q, having=None)
    for where in varied(q.where, lambda b: (replace(b, conjuncts=fewer) for fewer in dropped(b.conjuncts))):
        yield replace(q, where=tuple(filter(_is_written, where)))
    for items in dropped(q.returned.items):
        if items:
            yield replace(q, returned=replace(q.returned, items=items))


def without(q: sase.SaseQuery, variable: str) -> sase.SaseQuery:
    """Return the query without a component and its mentions. Some other component must be positive."""

    def is_kept(c: sase.Conjunct) -> bool:
        return isinstance(c.condition, sase.Equivalence) or not _mentions(c.condition, variable)

    blocks = tuple(
        sase.Block(
            b.strategy,
            tuple(argument for argument in b.arguments if argument.variable != variable),
            tuple(filter(is_kept, b.conjuncts)),
        )
        for b in q.where
    )
    pattern = tuple(k for k in q.pattern if k.variable != variable)
    there = next(k for k in pattern if not k.negated)
    items = tuple(item for item in q.returned.items if variable not in _variables(item.output))
    if not items:
        items = (sase.Item(sase.Simple(sase.Reference(TIME, there.variable, "first" if there.kleene else "only"))),)
    return replace(
        q,
        pattern=pattern,
        where=tuple(filter(_is_written, blocks)),
        having=None if q.having is not None and _mentions(q.having, variable) else q.having,
        returned=replace(q.returned, items=items),
    )


def _is_written(b: sase.Block) -> bool:
    """Return whether a block can be written as text: it gives some variable a strategy, or has bare predicates."""
    return bool(b.arguments) if b.strategy is not None else bool(b.conjuncts)


def simpler_components(q: sase.SaseNode) -> Iterator[sase.SaseQuery]:
    """Yield the query with one component no longer negated, or no longer a Kleene plus."""
    if not isinstance(q, sase.SaseQuery):
        return
    for pattern in varied(q.pattern, lambda k: (replace(k, negated=False),)):
        yield replace(q, pattern=pattern)
    yield from (single(q, k.variable) for k in q.pattern if k.kleene)


def single(q: sase.SaseQuery, variable: str) -> sase.SaseQuery:
    """Return the query in which the variable is no longer an array."""

    def rename_variable(a: Attribute) -> Attribute:
        return sase.Reference(a.name or TIME, variable) if a.variable == variable else a

    def change(node: sase.SaseNode) -> sase.SaseNode:
        match node:
            case sase.Component() if node.variable == variable:
                return replace(node, kleene=False)
            case sase.Selected() if node.variable == variable:
                return replace(node, cut=False)
            case sase.Item(output) if variable in _variables(output):
                return sase.Item(sase.Simple(sase.Reference(TIME, variable)))
        return with_conditions(node, lambda p: mapped_predicate(p, rename_variable))

    return with_changes(q, change)


def simpler_blocks(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield the node with one part made simpler: its strategies, a `!`, an underline, its window or its results."""
    match node:
        case sase.SaseQuery():
            every = tuple(conjuncts(node))
            arguments = tuple(argument for b in node.where for argument in b.arguments)
            yield replace(node, where=(sase.Block(None, (), every),) if every else ())
            for strategy in sase.STRATEGIES if arguments else ():
                yield replace(node, where=(sase.Block(strategy, arguments, every),))
            kleene = {k.variable: k.kleene for k in node.pattern}

            def plain(item: sase.Item) -> Iterator[sase.Item]:
                for a in sorted(_variables(item.output)):
                    yield sase.Item(sase.Simple(sase.Reference(TIME, a, "first" if kleene[a] else "only")))

            for items in varied(node.returned.items, plain):
                yield replace(node, returned=replace(node.returned, items=items))
        case sase.Block() if node.strategy is not None:
            yield from (replace(node, strategy=strategy) for strategy in sase.STRATEGIES)
        case sase.Selected():
            yield replace(node, cut=False)
        case sase.Conjunct():
            yield replace(node, underlined=False)
        case sase.Return():
            yield replace(node, non_overlap=False)
        case sase.SaseWindow():
            yield from (replace(node, amount=amount) for amount in simpler_numbers(node.amount))


def simpler_predicates(node: sase.SaseNode) -> Iterator[sase.SaseNode]:
    """Yield the node with its condition replaced by a part of it, or by a comparison."""
    match node:
        case sase.Conjunct(p) if not isinstance(p, sase.Equivalence):
            yield from (replace(node, condition=part) for part in parts(p))
        case sase.SaseQuery() if node.having is not None:
            yield from (replace(node, having=part) for part in parts(node.having))


def _mentions(p: Predicate, variable: str) -> bool:
    return any(a.variable == variable for a in mentions(p))


def _variables(output: sase.Output) -> set[str]:
    match output:
        case sase.Simple(term):
            return {a.variable or "" for a in mentions(term)}
        case sase.SaseSeries(a) | sase.Composite(a) | sase.CompositeSeries(a):
            return {a}


REDUCTIONS: tuple[Reduction[sase.Tree], ...] = tuple(
    partial(at_each_node, local=local)
    for local in (fewer_blocks, fewer_parts, simpler_components, simpler_blocks, simpler_predicates)
)

SASE = QueryOperations[sase.Tree](
    parse,
    show,
    REDUCTIONS,
    tree_size,
    complexity,
    types,
    attributes,
    predicates,
    mapped,
    operators,
    require_wellformed,
)
