"""The release of PySpark that is installed, and what needs a later one."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from cerify.semantics.errors import Unsupported

Release = tuple[int, int]
STREAMS: Release = (4, 1)  # transformWithState over rows
CHUNKS: Release = (4, 1)  # repartitionById
SQL: Release = (4, 0)  # table functions that see the columns of their table before they run


def release() -> Release:
    """The release of PySpark, as (4, 1)."""
    major, minor, *_ = pyspark.__version__.split(".")
    return int(major), int(minor)


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """The Arrow schema in which Spark hands over rows, times in UTC, which releases before 4.2 need not be told."""
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def require_release(least: Release, purpose: str) -> None:
    """Raises Unsupported where PySpark is of an earlier release."""
    if release() < least:
        raise Unsupported(f"{purpose} needs PySpark {least[0]}.{least[1]} or newer, and this is {pyspark.__version__}")
