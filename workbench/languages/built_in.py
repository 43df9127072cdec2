"""What the plug-ins of the languages of this distribution share: where their operations, operators and words are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, TypeVar

from cerify.languages.language import Language
from cerify.semantics.operators import Operator

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
    """A language of cerify.semantics, whose functions its plug-in names in the place of the methods.

    package: its name, also of the module of cerify.equivalence.shrink with the operations on its queries. constant: the
    name of these operations, and of the generator. operators: the table of its operators.
    """

    package: ClassVar[str]
    constant: ClassVar[str]
    operators: ClassVar[Mapping[type, Operator]] = {}

    def operations(self) -> QueryOperations[F]:
        found: QueryOperations[F] = getattr(import_module(f"cerify.equivalence.shrink.{self.package}"), self.constant)
        return found

    def generator(self) -> Generator[F]:
        found: Generator[F] = getattr(import_module("cerify.equivalence.generate.generators"), self.constant)
        return found

    def operator_of(self, query: F) -> str:
        return self.operators[type(query)].name if type(query) in self.operators and self.children(query) else ""

    def is_monotone(self, name: str) -> bool:
        return any(operator.name == name and operator.monotone for operator in self.operators.values())
