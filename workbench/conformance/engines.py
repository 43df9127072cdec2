"""The engines that can be put under test by name: our own evaluators, and those with an adapter in the checkout."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cerify.languages.language import EVALUATORS
from cerify.semantics.errors import InputError

ADAPTERS = Path(__file__).resolve().parent / "adapters"  # resolved: an editable install may be a tree of links
JAVA_ADAPTERS = {"esper": Path("esper/target/cerify-esper.jar")}
NAMES = (*sorted(EVALUATORS), *sorted(JAVA_ADAPTERS))
BUILD_SECONDS = 900


def command_of(name: str) -> Sequence[str]:
    """The command that starts the engine, once its adapter is built. Raises InputError that says what is missing."""
    if name in EVALUATORS:
        return [sys.executable, "-m", "cerify.cli", "engine", "--evaluator", name]
    if name in JAVA_ADAPTERS:
        return ["java", "-Xmx1g", "-XX:+UseSerialGC", "-jar", str(_built(name))]  # the heap within the memory cap
    raise InputError(f"no engine {name!r}; there are {', '.join(NAMES)}, and any command after --")


def missing_for(name: str) -> str | None:
    """What is missing to build and run the engine, as a sentence; None if nothing is."""
    if name not in JAVA_ADAPTERS:
        return None
    if not (ADAPTERS / "java" / "pom.xml").exists():
        return f"the {name} adapter is not installed with the package; run this from a checkout of the repository"
    for program, package in (("java", "a Java runtime, 17 or newer"), ("mvn", "Maven")):
        if shutil.which(program) is None:
            return f"the {name} adapter needs {package}: the program {program!r} is not on the PATH"
    return None


def _built(name: str) -> Path:
    if (missing := missing_for(name)) is not None:
        raise InputError(missing)
    java = ADAPTERS / "java"
    jar = java / JAVA_ADAPTERS[name]
    sources = [*java.rglob("*.java"), *java.rglob("pom.xml")]
    if jar.exists() and all(source.stat().st_mtime <= jar.stat().st_mtime for source in sources):
        return jar
    command = ["mvn", "-q", "-B", "-f", str(java / "pom.xml"), "package", "-DskipTests"]
    try:
        built = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"building the {name} adapter took more than {BUILD_SECONDS} s: {' '.join(command)}") from None
    if built.returncode != 0 or not jar.exists():
        raise InputError(f"the {name} adapter cannot be built: {' '.join(command)}\n{built.stdout[-2000:]}")
    return jar
