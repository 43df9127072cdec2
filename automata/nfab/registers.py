"""The values that a run keeps of the events it has selected: those that conditions to come can read, and no more.

A register is a value of the first, the last or the last but one event of a variable, or the state of an aggregate of
its events. Runs in one state whose registers are equal, as far as they will be read, have the same future.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from cerify.automata.nfab.edges import Identifier, identifier
from cerify.automata.nfab.folds import Fold, fold_of
from cerify.automata.nfab.instances import Values
from cerify.semantics.events import TIME, Event
from cerify.semantics.predicates import Attribute, Predicate, mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations

RegisterValues: TypeAlias = tuple[Any, ...]
"""The values of all registers; the first is the first event of the run."""

Content = Literal["first", "last", "previous", "all", "before"]
"""What a register is of: an event of its variable, or an aggregate of all events or of those before the last."""

SCALARS = frozenset({bool, int, float, str, datetime})
CONTENT: dict[Identifier, Content] = {
    "a": "first",
    "a[1]": "first",
    "a[i]": "last",
    "a[a.LEN]": "last",
    "a[i-1]": "previous",
    "a[]": "all",
    "a[..i-1]": "before",
}


@dataclass(frozen=True, slots=True)
class _Register:
    """The number of a register, its fold if it is an aggregate, and the register that it is copied from."""

    number: int
    fold: Fold | None = None
    source: int | None = None


class Registers:
    """The registers of the runs of a query: for what its conditions mention, and what its equivalence tests compare."""

    def __init__(self, conditions: Iterable[Predicate], tests: Iterable[str], operations: Operations) -> None:
        self.tests = tuple(tests)
        self.initial: RegisterValues = (None,) * (1 + len(self.tests))
        self._operations = operations
        self._by_key: dict[tuple[object, ...], _Register] = {}
        self._updates: dict[str, list[tuple[int, Content, str, Fold | None, int | None]]] = {}
        self._of_attribute: dict[Attribute, _Register] = {}
        for p in conditions:
            for a in mentions(p):
                self._of_attribute[a] = self._register(a)

    def _register(self, a: Attribute) -> _Register:
        """The register of an attribute; it is made, with the one that it is copied from, where there is none."""
        content = CONTENT[identifier(a)]
        fold = fold_of(a, self._operations) if isinstance(a, sase.Aggregate) else None
        match content:
            case "first" | "last" | "all":
                return self._added(content, a, fold, None)
            case "previous":
                return self._added(content, a, fold, self._added("last", a, fold, None).number)
            case "before":
                return self._added(content, a, fold, self._added("all", a, fold, None).number)

    def _added(self, content: Content, a: Attribute, fold: Fold | None, source: int | None) -> _Register:
        folded = (a.function, a.parameter) if isinstance(a, sase.Aggregate) else None
        key = (content, a.variable, a.name, folded)
        if key not in self._by_key:
            register = _Register(len(self.initial), fold, source)
            self._by_key[key] = register
            self.initial += (None if fold is None else fold.start,)
            self._updates.setdefault(a.variable or "", []).append((register.number, content, a.name, fold, source))
        return self._by_key[key]

    def after_selecting(self, values: RegisterValues, variable: str, is_first: bool, event: Event) -> RegisterValues:
        """The values after one more event for the variable, its first or a later one."""
        new = list(values)
        if values[0] is None:
            new[0] = event
        for number, test in enumerate(self.tests, 1):
            new[number] = event.get(test)
        for number, content, attribute, fold, source in self._updates.get(variable, ()):
            if content == "last" or (content == "first" and is_first):
                new[number] = event.get(attribute)
            elif content == "all" and fold is not None:
                new[number] = fold.read(values[number], event, attribute)
            elif source is not None:
                new[number] = None if is_first and content == "previous" else values[source]
        return tuple(new)

    def reader(self, values: RegisterValues) -> Values:
        """The values of references and aggregates, read from the registers."""

        def value(a: Attribute) -> Any:
            register = self._of_attribute[a]
            found = values[register.number]
            return found if register.fold is None else register.fold.result(found)

        return value

    def key_of(self, conditions: Iterable[Predicate], window: bool) -> Callable[[RegisterValues], object]:
        """A function from values to keys, equal for values that these conditions and the window do not tell apart."""
        read = [self._of_attribute[a] for p in conditions for a in mentions(p)]
        numbers = {register.number for register in read} | set(range(1, 1 + len(self.tests)))
        numbers |= {register.source for register in read if register.source is not None}
        needed = sorted(numbers)

        def key(values: RegisterValues) -> object:
            first = (_key(values[0].get(TIME)),) if window else ()
            return (*first, *(_key(values[number]) for number in needed))

        return key


def _key(value: Any) -> object:
    """Equal for values that no condition tells apart; states of a user's operation only if they are one object."""
    class_ = type(value)
    if class_ in SCALARS:
        return class_, value
    if value is None:
        return None
    return tuple(map(_key, value)) if class_ is tuple else id(value)
