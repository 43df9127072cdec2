"""What the plug-ins of the languages of this distribution share: where their syntax is, and their strategies."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cerify.languages.language import Language
from cerify.semantics.events import Schema
from cerify.semantics.operators import Operator
from cerify.semantics.predicate_types import Problem
from cerify.semantics.selection import Selection

if TYPE_CHECKING:
    from cerify.equivalence.generate.generator import Generator
    from cerify.equivalence.shrink.operations import QueryOperations

F = TypeVar("F")
FOREIGN: Mapping[str, str] = {
    **dict.fromkeys(("WHERE", "HAVING", "WHEN"), "FILTER"),
    **dict.fromkeys(("THEN", "FOLLOWED", "BEFORE", "->", ".*"), ";"),
    ",": "; between events, and AND between conditions",
    ".": "once, between a variable and an attribute, in a condition after FILTER",
    "*": "+, which takes one or more; no operator takes none",
    "==": "= once",
    "?": "OR, between what has the event and what has it not",
    "NOT": "in brackets, as in FILTER T[not x > 3]; that nothing happens, with UNLESS",
    "BETWEEN": "with two comparisons, as in T.x >= 1 AND T.x <= 3",
    "!": "UNLESS, as in A ; B UNLESS C",
    "EVERY": "without a word for it: all matches are reported",
    "BY": "PARTITION BY [id], with brackets around the attribute",
    **dict.fromkeys(("--", "//", "/*", "#"), "without comments"),
    "&": "AND between conditions, and ALL where a match of either side is put together with one of the other",
    "[": "after FILTER, as in T FILTER T[x > 3]",
    **dict.fromkeys(("SEC", "SECS"), "seconds"),
    **dict.fromkeys(("MIN", "MINS"), "minutes"),
    **dict.fromkeys(
        ("COUNT (", "SUM (", "AVG (", "MIN (", "MAX ("),
        "without aggregates, and a number of events as A{3}; SASE+ and MATCH_RECOGNIZE have aggregates",
    ),
    "LIMIT": "without a limit: all matches are reported, and cerify match --limit 3 stops after three",
    **{"&&": "AND", "|": "OR", "||": "OR", "<>": "!=", "=>": ">=", "=<": "<=", '"': "'...' around a string"},
}
"""What the two languages of formulas say for the words and signs of others."""


class BuiltInLanguage(Language[F]):
    """A language whose text and syntax are a package of cerify.semantics, with the modules parse, show and wellformed.

    package: its name, also of the module of cerify.equivalence.shrink with the operations on its queries. constant: the
    name of these operations, and of the generator. strategies: the operator of each selection strategy that is one; ALL
    needs none.
    """

    package: ClassVar[str]
    constant: ClassVar[str]
    strategies: ClassVar[Mapping[Selection, Callable[[Any], Any]]] = {}

    def parse(self, text: str) -> F:
        query: F = self._module("parse").parse(text)
        return query

    def show(self, query: F) -> str:
        return str(self._module("show").show(query))

    def problems(self, query: F, schema: Schema | None) -> list[Problem]:
        return list(self._module("wellformed").problems(query, schema))

    def missing_columns(self, query: F, columns: Collection[str]) -> Iterable[Problem]:
        found: Callable[[F, Collection[str]], Iterable[Problem]] = getattr(
            self._module("wellformed"), "missing_columns", super().missing_columns
        )
        return found(query, columns)

    def require_typed(self, query: F, schema: Schema) -> None:
        self._module("wellformed").require_typed(query, schema)

    def size(self, query: F) -> int:
        counted: Callable[[F], int] = getattr(self._module("syntax"), "size", super().size)
        return counted(query)

    def operations(self) -> QueryOperations[F]:
        found: QueryOperations[F] = getattr(import_module(f"cerify.equivalence.shrink.{self.package}"), self.constant)
        return found

    def generator(self) -> Generator[F]:
        found: Generator[F] = getattr(import_module("cerify.equivalence.generate.generators"), self.constant)
        return found

    def operator_of(self, query: F) -> str:
        return self._operators[type(query)].name if type(query) in self._operators and self.children(query) else ""

    def is_monotone(self, name: str) -> bool:
        return any(operator.name == name and operator.monotone for operator in self._operators.values())

    @cached_property
    def _operators(self) -> Mapping[type, Operator]:
        table: Mapping[type, Operator] = getattr(self._module("operators"), "OPERATORS", {})
        return table

    def selected(self, query: F, selection: Selection) -> F:
        if selection not in self.strategies:
            return super().selected(query, selection)
        found: F = self.strategies[selection](query)
        return found

    def _module(self, name: str) -> Any:
        return import_module(f"cerify.semantics.{self.package}.{name}")
