"""Queries over data that outgrows one process, on Spark.

The names are loaded when they are first used; pyspark is needed from then on.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerify.spark.auditing.audit import audit as audit
    from cerify.spark.batch import match as match
    from cerify.spark.costs import key_costs as key_costs
    from cerify.spark.description import describe as describe
    from cerify.spark.errors import error_line as error_line
    from cerify.spark.errors import worker_errors as worker_errors
    from cerify.spark.progress import ProgressLines as ProgressLines
    from cerify.spark.row_patterns import match_recognize as match_recognize
    from cerify.spark.sql import register as register
    from cerify.spark.streaming import malformed as malformed
    from cerify.spark.streaming import match_stream as match_stream
    from cerify.spark.streaming import matches as matches

_HOME = {
    "ProgressLines": "progress",
    "audit": "auditing.audit",
    "describe": "description",
    "error_line": "errors",
    "key_costs": "costs",
    "malformed": "streaming",
    "match": "batch",
    "match_recognize": "row_patterns",
    "match_stream": "streaming",
    "matches": "streaming",
    "register": "sql",
    "worker_errors": "errors",
}

__all__ = [
    "ProgressLines",
    "audit",
    "describe",
    "error_line",
    "key_costs",
    "malformed",
    "match",
    "match_recognize",
    "match_stream",
    "matches",
    "register",
    "worker_errors",
]


def __getattr__(name: str) -> Any:
    if name == "register":  # its module derives from classes of this release
        from cerify.spark.versions import SQL, require_release

        require_release(SQL, "a table function of SQL")
    if name in _HOME:
        return getattr(import_module(f"cerify.spark.{_HOME[name]}"), name)
    raise AttributeError(f"module 'cerify.spark' has no attribute {name!r}")
