"""The matches of a query as an Arrow table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cerify.semantics.packages import pa

POSITIONS = pa.list_(pa.int64())
RESULT = pa.schema(
    [
        ("at", pa.int64()),
        ("events", POSITIONS),
        ("bindings", pa.map_(pa.string(), POSITIONS)),
        ("result", pa.string()),
    ]
)
"""The columns for a match: `at` and `events` are positions, `bindings` maps variables to positions, `result` is JSON.

bindings and result are null if the query does not give them.
"""

NO_MATCHES = RESULT.empty_table()


def table_of_matches(matches: Sequence[Any]) -> pa.Table:
    """Return a table with the columns of RESULT and a row for each match. The matches are of the class events.Match."""
    if not matches:  # a shortcut, because short streams often have no match
        return NO_MATCHES
    bindings: list[list[tuple[str, tuple[int, ...]]] | None] = [
        None if m.bindings is None else list(m.bindings) for m in matches
    ]
    columns: list[Any] = [
        [m.at for m in matches],
        [m.events for m in matches],
        bindings,
        [None if m.result is None else m.result.text for m in matches],
    ]
    return pa.table([pa.array(values, kind) for values, kind in zip(columns, RESULT.types, strict=True)], RESULT)
