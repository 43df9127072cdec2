"""What a run remembers of the events it has selected: no more than the conditions to come can read of them.

A cell holds a value of the first, the last or the last but one event of a variable, or an aggregate of its events, kept
up to date by one `combine` for each event. Runs whose cells agree, as far as they will be read, have the same future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any, Literal, TypeAlias

from cerify.semantics.events import TIME, Event
from cerify.semantics.predicates import Attribute, Predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operation, Operations
from cerify.semantics.sase.conditions import ValueOf
from cerify.semantics.sase.folding import extended, operation_of

Values: TypeAlias = tuple[Any, ...]
"""The values of all cells; the first cell holds the first event of the run."""

Which = Literal["first", "last", "previous", "all", "before"]
PLACES: dict[sase.Place, Which] = {
    "only": "first",
    "first": "first",
    "current": "last",
    "last": "last",
    "previous": "previous",
}


class Cells:
    """The cells of the runs of a query: what its clauses mention, and what its equivalence tests compare."""

    def __init__(self, said: Iterable[Predicate], tests: Iterable[str], operations: Operations) -> None:
        self.tests = tuple(tests)
        self._index: dict[tuple[Which, str, str, str, int | None], int] = {}
        self._updates: dict[str, list[tuple[int, Which, str, Operation | None, int]]] = {}
        self._operations: dict[int, Operation] = {}
        self.initial: Values = (None,) * (1 + len(self.tests))
        self._user_operations = operations
        self._known: dict[Attribute, int] = {}
        for p in said:
            for attribute in mentions(p):
                self._known[attribute] = self._cell(attribute)

    def _cell(self, attribute: Attribute) -> int:
        """The number of the cell that an attribute is read from."""
        variable, name = attribute.variable or "", attribute.name
        match attribute:
            case sase.Aggregate(function=function, parameter=parameter, running=running):
                operation = operation_of(attribute, self._user_operations)
                source = self._add("all", variable, name, function, parameter, operation)
                if running:
                    source = self._add("before", variable, name, function, parameter, operation, source)
                self._operations[source] = operation
                return source
            case sase.Reference(place="previous"):
                source = self._add("last", variable, name)
                return self._add("previous", variable, name, source=source)
            case sase.Reference(place=place):
                return self._add(PLACES[place], variable, name)
            case _:
                raise TypeError(f"{attribute} is no reference of SASE+")

    def _add(
        self,
        which: Which,
        variable: str,
        name: str,
        function: str = "",
        parameter: int | None = None,
        operation: Operation | None = None,
        source: int = 0,
    ) -> int:
        key = (which, variable, name, function, parameter)
        if key not in self._index:
            self._index[key] = at = len(self.initial)
            self.initial += (None if operation is None else operation.identity,)
            self._updates.setdefault(variable, []).append((at, which, name, operation, source))
        return self._index[key]

    def selected(self, values: Values, variable: str, first: bool, event: Event) -> Values:
        """The values after one more event for the variable, its first or a later one."""
        new = list(values)
        if values[0] is None:
            new[0] = event
        for at, test in enumerate(self.tests, 1):
            new[at] = event.get(test)
        for at, which, name, operation, source in self._updates.get(variable, ()):
            match which:
                case "first":
                    new[at] = event.get(name) if first else values[at]
                case "last":
                    new[at] = event.get(name)
                case "previous" | "before":
                    new[at] = values[source] if not first or which == "before" else None
                case "all" if operation is not None:
                    new[at] = extended(operation, values[at], event, name)
        return tuple(new)

    def reader(self, values: Values) -> ValueOf:
        """The values of references and aggregates."""

        def value(attribute: Attribute) -> Any:
            at = self._known[attribute]
            operation = self._operations.get(at)
            return values[at] if operation is None else operation.result(values[at])

        return value

    def key_of(self, said: Iterable[Predicate], window: bool) -> Callable[[Values], object]:
        """What of the values the clauses can read, directly or by way of other cells; as a key, types told apart."""
        needed = set(range(1, 1 + len(self.tests))) | {self._known[a] for p in said for a in mentions(p)}
        sources = {at: source for updates in self._updates.values() for at, _, _, _, source in updates}
        needed |= {sources[at] for at in needed if sources.get(at, 0) > 0}
        cells = sorted(needed)

        def key(values: Values) -> object:
            first = (_key(values[0].get(TIME)),) if window else ()
            return (*first, *(_key(values[at]) for at in cells))

        return key


def _key(value: Any) -> object:
    """Equal for values that no condition tells apart; states of a user's operation only where they are the same."""
    match value:
        case None:
            return None
        case bool() | int() | float() | str() | datetime():
            return type(value), value
        case tuple():
            return tuple(map(_key, value))
        case _:
            return id(value)
