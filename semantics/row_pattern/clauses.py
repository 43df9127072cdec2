"""The clauses MATCH_RECOGNIZE and WINDOW as a whole: ISO/IEC 9075-2, features R010 and R020."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, TypeAlias

from cerify.semantics.errors import Span
from cerify.semantics.row_pattern import syntax
from cerify.semantics.trees import subtrees

ROW = "row"
"""The type of the events of a table that has no column "type"."""


@dataclass(frozen=True)
class Order:
    """column [ASC | DESC] [NULLS FIRST | NULLS LAST]; nulls is None where the text leaves it open."""

    column: syntax.Column
    descending: bool = False
    nulls: Literal["FIRST", "LAST"] | None = None


@dataclass(frozen=True)
class Measure:
    """e AS name."""

    expression: syntax.Expression
    name: str
    quoted: bool = False
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Definition:
    """A AS e."""

    variable: str
    condition: syntax.Expression
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Subset:
    """U = (A, B): a union variable."""

    name: str
    members: tuple[str, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class Skip:
    """AFTER MATCH SKIP …; with "first" and "last" to a row of a variable."""

    to: Literal["past last row", "next row", "first", "last"] = "past last row"
    variable: str | None = None
    span: Span | None = field(default=None, compare=False, repr=False)


RowsPerMatch: TypeAlias = Literal["one", "all", "all omit empty", "all with unmatched"]
"""ONE ROW PER MATCH; ALL ROWS PER MATCH, SHOW EMPTY MATCHES, OMIT EMPTY MATCHES, WITH UNMATCHED ROWS."""


@dataclass(frozen=True)
class Window:
    """ROWS BETWEEN CURRENT ROW AND … FOLLOWING, None for UNBOUNDED; SEEK, or INITIAL."""

    following: int | None = None
    seek: bool = False


@dataclass(frozen=True)
class MatchRecognize:
    """A whole clause; with a window, that of WINDOW."""

    pattern: syntax.Pattern
    define: tuple[Definition, ...] = ()
    partition: tuple[syntax.Column, ...] = ()
    order: tuple[Order, ...] = ()
    measures: tuple[Measure, ...] = ()
    rows: RowsPerMatch = "one"
    skip: Skip = Skip()
    subsets: tuple[Subset, ...] = ()
    window: Window | None = None
    span: Span | None = field(default=None, compare=False, repr=False)

    @cached_property
    def primary(self) -> tuple[str, ...]:
        """The variables of the pattern, in the order in which they occur first."""
        nodes: Iterator[syntax.Pattern] = subtrees(self.pattern)
        return tuple(dict.fromkeys(p.name for p in nodes if isinstance(p, syntax.Variable)))

    @cached_property
    def unions(self) -> dict[str, frozenset[str]]:
        """For each variable, primary ones too, the primary variables that it stands for."""
        return {A: frozenset({A}) for A in self.primary} | {one.name: frozenset(one.members) for one in self.subsets}

    @cached_property
    def conditions(self) -> dict[str, syntax.Expression]:
        """The conditions of the variables that have one."""
        return {one.variable: one.condition for one in self.define}

    @property
    def all_columns(self) -> bool:
        """Whether the output has all columns of the table."""
        return self.rows != "one" or self.window is not None

    @property
    def expressions(self) -> tuple[syntax.Expression, ...]:
        """The conditions and the measures."""
        return (*(one.condition for one in self.define), *(one.expression for one in self.measures))
