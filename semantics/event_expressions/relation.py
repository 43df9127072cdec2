"""The type of the relation of compatible tuples (vldb92, section 6.1), which the definition and the automata return."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from cerify.semantics.values import Value

KindedValue: TypeAlias = tuple[str, Value]
"""A value after its kind, so that 1 and true are two."""

Row: TypeAlias = tuple[int, tuple[KindedValue, ...]]
"""The position of an event, and a value of each variable."""


class Relation(NamedTuple):
    """The names of the variables, and a row for each event and each choice of values, in the order of the names."""

    variables: tuple[str, ...]
    rows: frozenset[Row]
