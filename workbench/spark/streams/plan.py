"""What workers need of a stream of events: the query, and the columns of the data by their purpose."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import pyarrow as pa

from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates
from cerify.semantics.events import TIME
from cerify.spark.runs.query import Query
from cerify.spark.runs.rows import Columns
from cerify.spark.streams.states import Compiled, compiled, compiled_query


@dataclass(frozen=True)
class Plan:
    """A query with its columns and the Arrow schema of the rows; the first column of the order is the event time."""

    query: Query
    columns: Columns
    schema: pa.Schema

    @property
    def event_time(self) -> str:
        """The column that the watermark is on."""
        return self.columns.order[0]

    @cached_property
    def compiled(self) -> Compiled:
        """The compiled query. Raises ParseError, IllFormed, Unsupported, BudgetExceeded."""
        if self.query.predicates:  # functions, which are no keys of a cache
            return compiled_query(self.query, self.clock)
        return compiled(self.query.to_json(), self.clock)

    @property
    def clock(self) -> str:
        """The name of the event time in the query: `time`, or that of an attribute."""
        return TIME if self.columns.time == self.event_time else self.event_time

    @cached_property
    def held(self) -> pa.Schema:
        """The schema of the rows that are held until the watermark passes them."""
        return pa.schema([self.schema.field(name) for name in self.columns.needed])

    @cached_property
    def order(self) -> list[tuple[str, str]]:
        """The sort keys of events. Events that agree on all of them are equal for the query."""
        ids = () if self.columns.id is None else (self.columns.id,)
        return [(name, "ascending") for name in dict.fromkeys((*self.columns.order, *ids, *self.columns.needed))]

    @cached_property
    def idle_timeout(self) -> int | None:
        """The microseconds without an event after which a key needs no state; None if it always needs one."""
        widths = self.compiled.widths
        if self.clock not in widths or not self.compiled.is_memoryless:
            return None
        return int(widths[self.clock] * MICROSECONDS) + 1

    @cached_property
    def fingerprint(self) -> bytes:
        """A hash of all that the state of a key depends on: the parsed query, and the columns that it needs."""
        parts = [self.query.identity, asdict(self.columns), self._types]
        return sha256(json.dumps(parts, sort_keys=True).encode()).digest()[:16]

    @cached_property
    def fingerprints(self) -> frozenset[bytes]:
        """The fingerprint, and that of release 0.1, which was of the query's text."""
        columns = ", ".join(f"{name}={value!r}" for name, value in asdict(self.columns).items())
        text = f"({self.query.to_json()!r}, Columns({columns}), {self._types!r})"
        return frozenset({self.fingerprint, sha256(text.encode()).digest()[:16]})

    @property
    def _types(self) -> list[tuple[str, str]]:
        return [(field.name, str(field.type)) for field in self.held]

    def to_json(self) -> str:
        """The plan as JSON."""
        schema = self.schema.serialize().to_pybytes().hex()
        return json.dumps({"query": self.query.to_json(), "columns": asdict(self.columns), "schema": schema})

    @classmethod
    def from_json(cls, text: str, predicates: Predicates = NO_PREDICATES) -> Plan:
        """The plan that `to_json` wrote, with the predicates of its query."""
        fields = json.loads(text)
        columns: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value for name, value in fields["columns"].items()
        }
        schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(fields["schema"])))
        return cls(Query.from_json(fields["query"], predicates), Columns(**columns), schema)
