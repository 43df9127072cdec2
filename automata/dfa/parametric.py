"""A parametric monitor: one automaton, and a hash table with a state for each choice of values (vldb92, appendix 3).

Each choice of values of the attribute variables gives an expression of its own (section 6.2). The choices differ only
in which attributes of an event equal which variable. The automaton's letters distinguish this, so one automaton serves
all choices. A variable without a value equals no attribute; that is the paper's transition on an unknown symbol. When a
value first occurs, each choice without a value for the variable is copied with this value, in the same state.

Letters, in this module:  X  a variable, by number     key  a choice: for each X its value, or None for none yet
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import product
from math import prod
from typing import TypeAlias

from cerify.automata.dfa.compile import (
    ArgumentOrder,
    Inlined,
    argument_places,
    automata_of,
    grounded,
    inlined,
    kinded,
    order_in,
    order_under,
    tried_with_terms,
    with_terms,
)
from cerify.automata.dfa.evaluate import Classes, Positions, TableRunner, column
from cerify.automata.dfa.model import DFA, digest, require_first
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, Span, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.syntax import KindedValue, Relation, Row
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.packages import pa
from cerify.semantics.predicates import Attribute, Comparison, satisfied
from cerify.semantics.values import Value, parse_time, value_type_of

Key: TypeAlias = tuple[KindedValue | None, ...]
States: TypeAlias = tuple[int, ...]

MARK = "\0"  # MARK + X names the attribute of an event that holds the value of the variable X
CONSTRAINTS = 10  # at most; there is an automaton for each combination of their truth values


@dataclass(frozen=True)
class Symbolic:
    """The automata of an expression with attribute variables.

    visible: the number of variables that occur in the text. They come first; variables of inlined definitions follow.
    sources: for each event type, pairs (number of a variable, attribute that gives it a value). automata: one for each
    combination of truth values of the constraints.
    """

    variables: tuple[str, ...]
    visible: int
    sources: Mapping[str, tuple[tuple[int, str], ...]]
    constraints: tuple[Comparison, ...]
    automata: Mapping[tuple[bool, ...], DFA]

    @property
    def fingerprint(self) -> str:
        """Return a hash. Monitors with equal hashes can exchange states."""
        automata = [(way, A.fingerprint) for way, A in self.automata.items()]
        return digest(self.variables, sorted(self.sources.items()), self.constraints, automata)


def why_not(E: expr.Expression, schema: Schema | None, budget: Budget = Budget()) -> Unsupported | None:
    """Return why automata cannot evaluate the expression on streams of the schema; None if they can.

    The schema None stands for streams of any schema. Raises BudgetExceeded.
    """
    whole = inlined(E)
    if whole.variables and schema is None:
        return Unsupported("arguments, as in order(I, 40), name attributes by position; give a schema with their order")
    terms = {X: Attribute(MARK + X) for X in whole.variables}
    ground = tried_with_terms(whole.body, terms, lambda _: False, whole.definitions, order_under(schema), budget)
    return ground if isinstance(ground, Unsupported) else _about_values(ground, whole.variables)


def _about_values(ground: expr.Expression, variables: tuple[str, ...]) -> Unsupported | None:
    for F in expr.subexpressions(ground) if variables else ():
        if isinstance(F, expr.Prefix):
            return Unsupported(
                "automata cannot evaluate prefix here, because which events may follow depends on the values of "
                f"{', '.join(variables)}",
                F.span,
            )
    return None


def symbolic(E: expr.Expression, order: ArgumentOrder, budget: Budget = Budget()) -> Symbolic:
    """Return the automata of an expression whose arguments stand for attributes in this order.

    Raises Unsupported for prefix, which depends on the values, and for a name whose definition has its own variables;
    and BudgetExceeded.
    """
    whole = inlined(E)
    variables = whole.variables
    terms = {X: Attribute(MARK + X) for X in variables}
    compared: dict[Comparison, None] = {}

    def ground(true: Mapping[Comparison, bool]) -> expr.Expression:
        def decide(comparison: Comparison) -> bool:
            compared.setdefault(comparison)
            return true.get(comparison, False)

        return with_terms(whole.body, terms, decide, whole.definitions, order, budget)

    if (refused := _about_values(ground({}), variables)) is not None:
        raise refused
    constraints = tuple(compared)
    if len(constraints) > CONSTRAINTS:
        raise BudgetExceeded(f"the expression has more than {CONSTRAINTS} constraints between its variables", E.span)
    ways = list(product((False, True), repeat=len(constraints)))
    # Types without events make these automata larger, but not wrong, because prefix has been refused.
    automata = automata_of([ground(dict(zip(constraints, way, strict=True))) for way in ways], budget, solver=False)
    return Symbolic(
        variables, len(whole.visible), sources(whole, order), constraints, dict(zip(ways, automata, strict=True))
    )


def sources(whole: Inlined, order: ArgumentOrder) -> Mapping[str, tuple[tuple[int, str], ...]]:
    """Return for each event type the pairs (number of a variable, attribute that gives it a value)."""
    found: dict[str, tuple[tuple[int, str], ...]] = {}
    places = argument_places(whole.body, whole.definitions)
    for X, name in enumerate(whole.variables):
        for T, k in sorted(places.get(name, ())):
            if k < len(order.get(T, ())):
                found[T] = (*found.get(T, ()), (X, order[T][k]))
    return found


@dataclass(eq=False)
class _Group:
    """Choices of values whose automata are in the same states.

    deciding: the choices in which all variables have values, grouped by the automaton that fits the truth of their
    constraints.
    """

    states: States
    keys: set[Key] = field(default_factory=set)
    deciding: dict[int, set[Key]] = field(default_factory=lambda: defaultdict(set))


class ParametricMonitor:
    """The states of an expression with attribute variables over one history.

    There is an entry for each choice of values that have occurred so far: (v + 1)^k entries for k variables with v
    values each. An event costs one step for each distinct tuple of states, and one for each choice that includes a
    value of the event.
    """

    def __init__(self, symbolic: Symbolic, budget: Budget = Budget()) -> None:
        self.symbolic = symbolic
        self.budget = budget
        self.position = 0
        self._automata = tuple(self.symbolic.automata.values())
        self._classes = Classes(self._automata)
        self._steps: list[list[list[int]]] = []  # of each class, for each automaton, the state after each state
        self._number = {way: i for i, way in enumerate(self.symbolic.automata)}
        nothing: Key = (None,) * len(self.symbolic.variables)
        self._having: list[dict[KindedValue | None, list[Key]]] = [{None: [nothing]} for _ in nothing]
        self._group: dict[Key, _Group] = {}
        self._groups: dict[States, _Group] = {}
        self._decides: dict[Key, int] = {}
        self._enter(nothing, (0,) * len(self._automata))

    def push(self, event: Event) -> bool:
        """Return whether the expression takes place at the next event, for some values.

        Raises InputError for a late start event, and BudgetExceeded.
        """
        require_first(event, self.position)
        given = self._values_of(event)
        for X, values in given.items():
            for v in values:
                if v not in self._having[X]:
                    self._spawn(X, v)
        touched = {key: self._group[key] for X, values in given.items() for v in values for key in self._having[X][v]}
        # Choices with a value of the event take a step of their own; they leave their groups, so that the common step
        # of all others does not move them too.
        moved = []
        for key, group in touched.items():
            moved.append((key, self._after(group.states, self._class(event, key, given))))
            self._leave(key)
        self._advance(self._classes.of_event(_with(event, {})))
        for key, states in moved:
            self._enter(key, states)
        self.position += 1
        return any(True for _ in self._accepting())

    def advance(self, S: Stream) -> Positions:
        """Return the positions, among the next events, at which the expression takes place.

        Raises InputError for a late start event, before anything is read.
        """
        begin = self.position
        for i, event in enumerate(S):
            require_first(event, begin + i)
        return array("q", [begin + i for i, event in enumerate(S) if self.push(event)])

    def tuples(self) -> list[tuple[KindedValue, ...]]:
        """Return the values of the variables for which the expression takes place at the last event."""
        visible = self.symbolic.visible
        keys = (key[:visible] for some in self._accepting() for key in some)
        return list(dict.fromkeys(tuple(v for v in key if v is not None) for key in keys))

    def state(self) -> list[tuple[list[list[str | Value] | None], States]]:
        """Return the current state as JSON data for `resume`.

        It has a pair for each choice of values for the variables: the values (null for no value yet), and the states of
        the automata.
        """
        return [
            ([None if v is None else _encode_value(v) for v in key], group.states) for key, group in self._group.items()
        ]

    def resume(self, state: list[tuple[list[list[str | Value] | None], list[int]]], position: int) -> None:
        """Continue at a position with a state that the method `state` returned.

        Raises ValueError, TypeError or IndexError if the automata do not have these states; then nothing has changed.
        """
        width, sizes = len(self.symbolic.variables), [len(A.following) for A in self._automata]
        machines: dict[Key, States] = {}
        for written, states in state:
            key = tuple(None if v is None else _value(v) for v in written)
            fits = len(states) == len(sizes) and all(0 <= q < size for q, size in zip(states, sizes, strict=True))
            if len(key) != width or not fits:
                raise ValueError(written)
            machines[key] = tuple(states)
        if (None,) * width not in machines:
            raise ValueError(state)
        self.position = position
        self._having = [{} for _ in range(width)]
        self._group, self._groups, self._decides = {}, {}, {}
        for key, entered in machines.items():
            for X, v in enumerate(key):
                self._having[X].setdefault(v, []).append(key)
            self._enter(key, entered)

    @property
    def states(self) -> frozenset[States]:
        """Return the current states, without repetitions.

        Each choice of values for the variables has a tuple with one state of each automaton.
        """
        return frozenset(self._groups)

    def __len__(self) -> int:
        """Return the number of choices, including those in which a variable has no value."""
        return len(self._group)

    def _accepting(self) -> Iterator[set[Key]]:
        for group in self._groups.values():
            for i, keys in group.deciding.items():
                if keys and group.states[i] in self._automata[i].accepting:
                    yield keys

    def _values_of(self, event: Event) -> dict[int, list[KindedValue]]:
        """Return for each variable the values that the event can give it."""
        found: dict[int, list[KindedValue]] = {}
        for X, name in self.symbolic.sources.get(event.type, ()):
            if (v := event.get(name)) is not None:
                found.setdefault(X, []).append(kinded(v))
        return found

    def _spawn(self, X: int, v: KindedValue) -> None:
        """For each choice in which variable X has no value, add a copy in which it has this value."""
        for key in list(self._having[X][None]):
            child = (*key[:X], v, *key[X + 1 :])
            for Y, w in enumerate(child):
                self._having[Y].setdefault(w, []).append(child)
            self._enter(child, self._group[key].states)
        if len(self._group) > self.budget.states:
            raise _too_many_choices(self.symbolic.variables, self.budget)

    def _class(self, event: Event, key: Key, given: Mapping[int, list[KindedValue]]) -> int:
        """Return the class of the event for a choice; values that the event does not have count as unset."""
        names = self.symbolic.variables
        values = {names[X]: key[X] for X, values in given.items() if key[X] in values}
        return self._classes.of_event(_with(event, {X: v[1] for X, v in values.items() if v is not None}))

    def _after(self, states: States, c: int) -> States:
        for types in self._classes.types[len(self._steps) :]:
            self._steps.append([column(A, a) for A, a in zip(self._automata, types, strict=True)])
        return tuple([steps[q] for steps, q in zip(self._steps[c], states, strict=True)])

    def _advance(self, c: int) -> None:
        """Step all choices on an event of class c, and merge groups that reach the same states."""
        groups, self._groups = self._groups, {}
        for group in groups.values():
            group.states = self._after(group.states, c)
            other = self._groups.setdefault(group.states, group)
            if other is not group:
                # The smaller group into the larger: a choice changes its group at most log n times while groups merge.
                small, large = sorted((group, other), key=lambda g: len(g.keys))
                large.keys |= small.keys
                for i, keys in small.deciding.items():
                    large.deciding[i] |= keys
                for key in small.keys:
                    self._group[key] = large
                self._groups[group.states] = large

    def _enter(self, key: Key, states: States) -> None:
        group = self._groups.setdefault(states, _Group(states))
        group.keys.add(key)
        self._group[key] = group
        if None not in key:
            if key not in self._decides:
                self._decides[key] = self._deciding(key)
            group.deciding[self._decides[key]].add(key)

    def _leave(self, key: Key) -> None:
        group = self._group[key]
        group.keys.discard(key)
        if key in self._decides:
            group.deciding[self._decides[key]].discard(key)
        if not group.keys:
            del self._groups[group.states]

    def _deciding(self, key: Key) -> int:
        """Return the index of the automaton to use for a choice: it depends on which constraints hold for the
        values.
        """
        values = {MARK + X: v[1] for X, v in zip(self.symbolic.variables, key, strict=True) if v is not None}
        return self._number[tuple(satisfied(P, lambda X: values.get(X.name)) for P in self.symbolic.constraints)]


def _encode_value(v: KindedValue) -> list[str | Value]:
    """Return a value as JSON can hold it, with its kind."""
    return [v[0], v[1].isoformat() if isinstance(v[1], datetime) else v[1]]


def _value(written: list[str | Value]) -> KindedValue:
    kind_of, v = written
    found = kinded(parse_time(str(v), keep_nanoseconds=True) if kind_of == "timestamp" else v)
    if found[0] != kind_of:
        raise ValueError(written)
    return found


def _with(event: Event, values: Mapping[str, Value]) -> Event:
    """Return the event with the values of some variables as attributes."""
    known = {name: v for name, v in event.attributes.items() if not name.startswith(MARK)}
    return Event(event.type, known | {MARK + X: v for X, v in values.items()})


# ---------------------------------------------------------------------------------------------------------------------
# One expression, and one automaton, for each choice of values that a history has (vldb92, section 6.2).
#
# This needs the whole history, and an automaton for each choice. ParametricMonitor reads one event at a time, and needs
# one automaton for all choices.

Choice: TypeAlias = tuple[KindedValue, ...]
"""A value for each variable, in the order of their names."""


class Valued:
    """An expression with attribute variables, and the automata built for it so far. order: the attributes of each event
    type.
    """

    def __init__(self, E: expr.Expression, order: ArgumentOrder, budget: Budget = Budget()) -> None:
        self.E = E
        self.order = order
        self.budget = budget
        self.whole = inlined(E)
        self.variables = self.whole.variables
        self.sources = sources(self.whole, order)
        self._automata: dict[Choice, DFA] = {}
        self._last: tuple[tuple[type[TableRunner], tuple[Choice, ...]], TableRunner] | None = None

    def rows(self, S: Stream, evaluator: type[TableRunner] = TableRunner) -> frozenset[Row]:
        """Return the pairs (position, values): the expression takes place at this event for these values.

        The values are those of the visible variables, in the order of their names. Raises Unsupported for a name whose
        definition has its own variables, InputError for a late start event, and BudgetExceeded.
        """
        choices = self._choices(S)
        found = []
        for (choice, earliest), positions in zip(
            choices.items(), self._advance_tables(S, evaluator, tuple(choices)), strict=True
        ):
            values = tuple(choice[: len(self.whole.visible)])
            found += [(e, values) for e in positions.tolist() if e >= earliest]
        return frozenset(found)

    def events(self, S: Stream, evaluator: type[TableRunner] = TableRunner) -> frozenset[int]:
        """Return the positions in a history at which the expression takes place for some values of its variables."""
        return frozenset(e for e, _ in self.rows(S, evaluator))

    def automaton(self, choice: Choice) -> DFA:
        """Return the automaton of the expression for one choice of values."""
        if choice not in self._automata:
            values = {X: v for X, (_, v) in zip(self.variables, choice, strict=True)}
            ground = grounded(self.whole.body, values, self.whole.definitions, self.order, self.budget)
            (self._automata[choice],) = automata_of([ground], self.budget)
        return self._automata[choice]

    def _advance_tables(self, S: Stream, evaluator: type[TableRunner], choices: tuple[Choice, ...]) -> list[Positions]:
        if self._last is None or self._last[0] != (evaluator, choices):
            self._last = (evaluator, choices), evaluator(list(map(self.automaton, choices)))
        evaluating = self._last[1]
        evaluating.restart()
        return evaluating.advance(S)

    def _choices(self, S: Stream) -> dict[Choice, int]:
        """Return the choices of values that occur in the history, each with the first event at which it is complete."""
        seen: list[dict[KindedValue, int]] = [{} for _ in self.variables]
        for e, event in enumerate(S) if self.variables else ():
            for X, name in self.sources.get(event.type, ()):
                if (v := event.get(name)) is not None:
                    seen[X].setdefault(kinded(v), e)
        if prod(map(len, seen)) > self.budget.states:
            raise _too_many_choices(self.variables, self.budget, self.E.span)
        earliest = (max(pairs, default=0) for pairs in product(*(since.values() for since in seen)))
        return dict(zip(product(*seen), earliest, strict=True))


def _too_many_choices(variables: Sequence[str], budget: Budget, span: Span | None = None) -> BudgetExceeded:
    return BudgetExceeded(
        f"the events give more than {budget.states} combinations of values to {', '.join(variables)}; use a shorter "
        "stream or fewer variables, or raise the budget",
        span,
    )


# ---------------------------------------------------------------------------------------------------------------------
# All compatible tuples of an expression's attribute variables, as a table (vldb92, section 6.1).
#
# A row has an event at which the expression takes place, and the values for which it does. The definition's code for
# this relation is in semantics/event_expressions/interpreter.py.

AT = "at"  # the column of the events


def found_in(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> list[int]:
    """Return the positions at which E takes place, in order.

    If E has attribute variables and no `prefix`, a parametric monitor finds them. Otherwise each choice of values has
    its own automaton.
    """
    if not inlined(E).variables or _has_prefix(E):
        return sorted(Valued(E, order_in(S), budget).events(S))
    machines = ParametricMonitor(symbolic(E, order_in(S), budget), budget)
    return [e for e, event in enumerate(S) if machines.push(event)]


def tuples(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Relation:
    """Return the relation of compatible tuples of E over S: each event at which E takes place, with the values for
    which it does.

    The columns are the attribute variables in the text that may take any value: variables that occur at several places,
    and arguments of a definition. Raises Unsupported for a name inside the text whose definition has its own variables,
    InputError, and BudgetExceeded.
    """
    variables = inlined(E).visible
    if _has_prefix(E):
        return Relation(variables, Valued(E, order_in(S), budget).rows(S))
    machines, found = ParametricMonitor(symbolic(E, order_in(S), budget), budget), set[Row]()
    for e, event in enumerate(S):
        if machines.push(event):
            found.update((e, values) for values in machines.tuples())
        if len(found) > budget.matches:
            raise BudgetExceeded(f"there are more than {budget.matches} compatible tuples")
    return Relation(variables, frozenset(found))


def collected(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> pa.Table:
    """Return the compatible tuples as an Arrow table, sorted: the column "at" (int64, positions), and one for each
    variable.

    Raises the errors of `tuples`, and Unsupported if the values of a variable have no common column type.
    """
    from cerify.semantics.arrow_columns import array_of_times

    variables, rows = tuples(E, S, budget)
    if AT in variables:
        raise IllFormed(f"the column {AT} is reserved for the events; rename the variable", E.span)
    types = [_type(X, [values[i][1] for _, values in rows]) for i, X in enumerate(variables)]
    ordered = sorted(rows)
    columns = {AT: pa.array([e for e, _ in ordered], pa.int64())}
    for i, X in enumerate(variables):
        column = [values[i][1] for _, values in ordered]
        is_time = types[i] == pa.timestamp("us", tz="UTC")
        columns[X] = array_of_times(column) if is_time else pa.array(column, types[i])  # type: ignore[arg-type]
    return pa.table(columns)


def _has_prefix(E: expr.Expression) -> bool:
    """Return whether E uses prefix, which depends on the values, so that each choice needs its own automaton."""
    return any(isinstance(F, expr.Prefix) for F in expr.subexpressions(E))


def _type(X: str, values: list[Value]) -> pa.DataType:
    from cerify.semantics.arrow_columns import ARROW

    kinds = {value_type_of(v) for v in values}
    if kinds == {"int", "float"}:
        kinds = {"float"}
    if len(kinds) > 1:
        raise Unsupported(f"the values of {X} are of the types {', '.join(sorted(kinds))}; a column must have one type")
    return ARROW[kinds.pop()] if kinds else pa.null()
