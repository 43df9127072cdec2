"""The event type of events that have none, if the caller gives a default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cerify.semantics.packages import pa


def with_type(table: pa.Table, type_column: str, default_type: str | None) -> pa.Table:
    """The table, with a column for the type if it has none and there is a default."""
    if default_type is None or type_column in table.column_names:
        return table
    return table.append_column(type_column, pa.repeat(pa.scalar(default_type, pa.string()), table.num_rows))


def typed(obj: Mapping[str, Any], type_column: str, default_type: str | None) -> Mapping[str, Any]:
    """The object with a type: its own, or else the default, if there is one."""
    return obj if default_type is None or type_column in obj else {type_column: default_type, **obj}
