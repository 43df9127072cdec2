"""A query as it is sent to workers: plain data, parsed again where it is run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args

from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.evaluators import CEL, CORE_CEL, EVENT_EXPRESSION, LANGUAGES, Language, Output
from cerify.semantics.budget import Budget
from cerify.semantics.cel.registered import NO_PREDICATES, require_registered
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported, errors_in
from cerify.semantics.events import Schema
from cerify.semantics.json_events import schema_of_json


@dataclass(frozen=True)
class Query:
    """A query's text, its language, what its matches are to tell, and the schema of the events, if they have one."""

    text: str
    language: str = "cel"
    output: Output = "matches"
    schema: Schema | None = None

    @cached_property
    def parsed(self) -> Any:
        """The tree of the query, checked. Raises ParseError, IllFormed and Unsupported."""
        with errors_in(self.text):
            phi = self.spoken.parse(self.text)
            if self.schema is not None:
                self.spoken.require_typed(phi, self.schema)
            if isinstance(phi, get_args(Formula)):
                require_registered(phi, NO_PREDICATES)
            if self.output == "valuations" and self.spoken in (CORE_CEL, EVENT_EXPRESSION):
                raise Unsupported(f"the answer of a query in {self.language} is its matches; it binds no sets to list")
            return phi

    def in_cel(self, budget: Budget) -> Formula:
        """The query as a formula of CEL. Raises Unsupported where there is none."""
        if self.spoken is CEL:
            phi: Formula = self.parsed
            return phi
        if self.spoken is not CORE_CEL:
            raise Unsupported(f"a query in {self.language} is not evaluated as one of CEL")
        try:
            return to_cel(self.parsed, budget)
        except BudgetExceeded as error:
            raise Unsupported(error.message, error.span) from None

    @property
    def spoken(self) -> Language[Any]:
        """The language. Raises IllFormed if there is none of that name."""
        if self.language not in LANGUAGES:
            raise IllFormed(f"there is no language {self.language!r}; use one of {', '.join(LANGUAGES)}")
        return LANGUAGES[self.language]

    def to_json(self) -> str:
        """All of it as text."""
        types = None if self.schema is None else {T: dict(names) for T, names in self.schema.types.items()}
        return json.dumps({"text": self.text, "language": self.language, "output": self.output, "schema": types})

    @classmethod
    def from_json(cls, text: str) -> Query:
        """The query of that text."""
        said = json.loads(text)
        schema = said.pop("schema")
        return cls(**said, schema=None if schema is None else schema_of_json(schema))
