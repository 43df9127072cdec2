"""Makes one random query of SASE+: its pattern, then conditions about that, then the strategies that take them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import get_args

from cerify.equivalence.generate.sase_profiles import Profile
from cerify.semantics import predicates as pred
from cerify.semantics.predicates import mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import RANKED
from cerify.semantics.sase.conditions import Edge, placed
from cerify.semantics.values import Value

COMPARATORS: tuple[pred.Comparator, ...] = get_args(pred.Comparator)
EQUALITIES: tuple[pred.Comparator, ...] = ("=", "!=")


class Maker:
    """Makes a query of at most that many nodes; those that are left after the pattern become conditions."""

    def __init__(self, rng: Random, profile: Profile, nodes: int) -> None:
        self.rng, self.profile = rng, profile
        self.within = self._share(profile.within)
        self.pattern = self._pattern(rng.randint(1, max(1, min(4, nodes - 1))))
        self.left = nodes - len(self.pattern) - self.within

    def query(self) -> sase.Query:
        """The query."""
        conditions: list[sase.Conjunct] = []
        if self.left > 0 and self._share(self.profile.equivalence):
            conditions.append(sase.Conjunct(sase.Equivalence(self._equivalence())))
        while len(conditions) < self.left and self.rng.random() < 0.8:
            conditions.append(sase.Conjunct(self._conjunct(self.rng.choice(self.pattern))))
        where = self._blocks(conditions)
        having = self._having() if self._share(self.profile.having) else None
        window = sase.Window(self.rng.randint(1, 9), "seconds") if self.within else None
        return sase.Query(self.pattern, self._returned(), where, window, having)

    def _share(self, share: float) -> bool:
        return self.rng.random() < share

    # --- PATTERN ---

    def _pattern(self, length: int) -> tuple[sase.Component, ...]:
        there = self.rng.randrange(length)  # one of them has to be
        found = []
        for n in range(length):
            negated = n != there and self._share(self.profile.negated)
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
        """Each conjunct goes to the block of its last identifier; to the first one if no block has it."""
        if isinstance(c.condition, sase.Equivalence):
            return first
        k = self.pattern[placed(c.condition, self.pattern).component]
        return first if k.negated else k.variable in names

    def _partitioned(self, conditions: list[sase.Conjunct]) -> list[sase.Conjunct]:
        """Conditions of which one at least says what a partition is."""
        if any(isinstance(c.condition, sase.Equivalence) for c in conditions) and not self._share(
            self.profile.underlined
        ):
            return conditions
        for n, c in enumerate(conditions):
            if isinstance(c.condition, sase.Equivalence) or not _aggregates(c.condition):
                return [*conditions[:n], replace(c, underlined=True), *conditions[n + 1 :]]
        return [*conditions, sase.Conjunct(sase.Equivalence(self._equivalence()))]

    def _equivalence(self) -> str:
        return min(self.rng.choices(self.profile.attributes, k=2), key=lambda attribute: len(attribute[1]))[0]

    def _conjunct(self, k: sase.Component) -> pred.Predicate:
        """A clause about an event, or all events, of the component; each of its parts has its last identifier."""
        edge: Edge = self.rng.choice(("first", "each", "each", "later", "later", "end")) if k.kleene else "first"
        p = self._atom(k, edge)
        while self._share(0.15):
            p = pred.Either(p, self._atom(k, edge))
        return p

    def _atom(self, k: sase.Component, edge: Edge) -> pred.Predicate:
        name, pool = self.rng.choice(self.profile.attributes)
        left, values = self._left(k, edge, name, pool)
        if self._share(0.1) and not isinstance(values[0], bool):
            low, high = sorted(self.rng.choices(values, k=2))
            p: pred.Predicate = pred.InRange(left, low, high)
        else:
            right = self._right(k, edge, name, values) if values is pool else pred.Constant(self.rng.choice(values))
            p = pred.Comparison(
                self.rng.choice(EQUALITIES if isinstance(values[0], bool) else COMPARATORS), left, right
            )
        return pred.Not(p) if self._share(0.1) else p

    def _left(
        self, k: sase.Component, edge: Edge, name: str, pool: tuple[Value, ...]
    ) -> tuple[pred.Term, tuple[Value, ...]]:
        """The last identifier of a condition on that edge, and the values it may have."""
        if edge == "end" and self._share(0.7 * bool(self.profile.aggregated)):
            return self._aggregate(k, name, pool, running=False)
        places: dict[Edge, sase.Index] = {"first": "first", "each": "current", "later": "current", "end": "last"}
        return sase.Reference(name, k.variable, places[edge] if k.kleene else "only"), pool

    def _right(self, k: sase.Component, edge: Edge, name: str, pool: tuple[Value, ...]) -> pred.Term:
        """Another event's value of the attribute, or a constant; on the edge later always one of the same array."""
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
        """The term, of a number now and then with another number added, or times one."""
        if isinstance(pool[0], int | float) and not isinstance(pool[0], bool) and self._share(0.15):
            return pred.Arithmetic(self.rng.choice(("+", "-", "*")), term, pred.Constant(self.rng.choice(pool)))
        return term

    def _aggregate(
        self, k: sase.Component, name: str, pool: tuple[Value, ...], running: bool
    ) -> tuple[pred.Term, tuple[Value, ...]]:
        """An aggregate, and the values it may have: those of the pool, or others."""
        functions = ["min", "max", *RANKED]
        if isinstance(pool[0], bool):
            functions = []
        elif isinstance(pool[0], int | float):
            functions += ["sum", "avg", "sum", "avg"]
        function = self.rng.choice([*functions, "count"])
        if function == "count":
            return sase.Aggregate("", k.variable, "count", None, running), (1, 2, 3)
        parameter = self.rng.randint(1, 2) if function in RANKED else None
        return sase.Aggregate(name, k.variable, function, parameter, running), pool

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
            return sase.Series(k.variable, name)
        if chance < 0.5:
            return sase.CompositeSeries(k.variable, names)
        if chance < 0.8:
            return sase.Simple(self._aggregate(k, name, pool, running=False)[0])
        return sase.Simple(sase.Reference(name, k.variable, self.rng.choice(("first", "last"))))


def _aggregates(p: pred.Predicate) -> bool:
    return any(isinstance(a, sase.Aggregate) for a in mentions(p))
