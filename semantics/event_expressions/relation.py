"""The relation of all compatible tuples (vldb92, section 6.1), whoever finds it."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from cerify.semantics.event_expressions.bindings import Bound

Row: TypeAlias = tuple[int, tuple[Bound, ...]]
"""An event, and a value of each variable, with its kind."""


class Relation(NamedTuple):
    """The names of the variables, and for each event and choice of values, in the order of the names, a row."""

    variables: tuple[str, ...]
    rows: frozenset[Row]
