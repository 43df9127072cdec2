"""Run queries on Spark, over data that is too large for one process.

A name is loaded when it is first used; only then is pyspark needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cerify.spark.auditing import audit as audit
    from cerify.spark.batch import match as match
    from cerify.spark.description import describe as describe
    from cerify.spark.description import key_costs as key_costs
    from cerify.spark.row_patterns import match_recognize as match_recognize
    from cerify.spark.sql import register as register
    from cerify.spark.sql import run_sql as run_sql
    from cerify.spark.streaming import ProgressLines as ProgressLines
    from cerify.spark.streaming import malformed as malformed
    from cerify.spark.streaming import match_stream as match_stream
    from cerify.spark.streaming import matches as matches
    from cerify.spark.transport import error_line as error_line
    from cerify.spark.transport import worker_errors as worker_errors


def _auditing() -> ModuleType:
    from cerify.spark import auditing

    return auditing


def _batch() -> ModuleType:
    from cerify.spark import batch

    return batch


def _description() -> ModuleType:
    from cerify.spark import description

    return description


def _row_patterns() -> ModuleType:
    from cerify.spark import row_patterns

    return row_patterns


def _sql() -> ModuleType:
    from cerify.spark import sql

    return sql


def _streaming() -> ModuleType:
    from cerify.spark import streaming

    return streaming


def _transport() -> ModuleType:
    from cerify.spark import transport

    return transport


_NAMES: Mapping[Callable[[], ModuleType], str] = {
    _auditing: "audit",
    _batch: "match",
    _description: "describe key_costs",
    _row_patterns: "match_recognize",
    _sql: "register run_sql",
    _streaming: "ProgressLines malformed match_stream matches",
    _transport: "error_line worker_errors",
}
_HOME = {name: load for load, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if _HOME.get(name) is _sql:  # its module derives from classes that earlier releases lack
        from cerify.spark.session import SQL, require_release

        require_release(SQL, name)
    if name in _HOME:
        return getattr(_HOME[name](), name)
    raise AttributeError(f"module 'cerify.spark' has no attribute {name!r}")
