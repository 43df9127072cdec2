"""The names and types of the states of a key in Spark's store, and of the columns that the stateful operator yields.

Spark starts a Python process for each batch to ask for the states alone; this module and processor.py import little.
"""

from __future__ import annotations

HELD, KEPT = "held", "kept"
HELD_SCHEMA = "rows binary"
KEPT_SCHEMA = (
    "plan binary, first bigint, last bigint, began bigint, position bigint, run binary, ids binary, timer bigint"
)
KIND, MATCH, MESSAGE, ROW = "kind", "match", "message", "row"
