"""A query as it is sent to workers: plain data, which each worker parses."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from cerify.api import read_query
from cerify.automata.evaluator import Output
from cerify.languages import DEFAULT, language_named
from cerify.languages.language import Language, Options
from cerify.plan import Want, plan
from cerify.semantics.budget import Budget
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported, errors_in
from cerify.semantics.events import Schema
from cerify.semantics.json_events import schema_of_json


@dataclass(frozen=True)
class Query:
    """The text of a query, its language, the output wanted, and the schema of the events or None.

    predicates: functions by the names that a query of CEL has for them; they are sent to workers beside the JSON.
    """

    text: str
    language: str = DEFAULT
    output: Output = "matches"
    schema: Schema | None = None
    predicates: Predicates = field(default_factory=dict, compare=False)

    @cached_property
    def parsed(self) -> Any:
        """The tree of the query, checked. Raises ParseError, IllFormed and Unsupported."""
        with errors_in(self.text):
            if self.plugin.row_type is not None:
                raise Unsupported(f"{self.plugin.title} makes a table: use cerify.spark.match_recognize(df, clause)")
            _, phi = read_query(self.text, self.language, self.schema)
            _ = plan(self.plugin, phi, self.schema, Want(self.options())).chosen
            return phi

    def options(self, budget: Budget = Budget()) -> Options:
        """The options of an evaluation."""
        return Options(self.output, budget, self.predicates)

    def in_cel(self, budget: Budget) -> Formula | Unsupported:
        """The query as a formula of CEL, or why it has none, or too large a one."""
        try:
            return self.plugin.in_cel(self.parsed, budget)
        except BudgetExceeded as error:
            return Unsupported(error.message, error.span)

    @property
    def plugin(self) -> Language[Any]:
        """The language. Raises IllFormed if there is none of that name."""
        return language_named(self.language)

    @cached_property
    def identity(self) -> str:
        """A text that is equal for queries that are parsed as the same tree, with the same options."""
        types = None if self.schema is None else {name: dict(of) for name, of in sorted(self.schema.types.items())}
        return json.dumps([self.language, self.plugin.show(self.parsed), self.output, types], sort_keys=True)

    def to_json(self) -> str:
        """The query as JSON."""
        types = None if self.schema is None else {T: dict(names) for T, names in self.schema.types.items()}
        return json.dumps({"text": self.text, "language": self.language, "output": self.output, "schema": types})

    @classmethod
    def from_json(cls, text: str, predicates: Predicates = NO_PREDICATES) -> Query:
        """The query that `to_json` wrote, with these predicates."""
        fields = json.loads(text)
        schema = fields.pop("schema")
        return cls(**fields, schema=None if schema is None else schema_of_json(schema), predicates=predicates)
