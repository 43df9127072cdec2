"""The engines that can be put under test by name: our own evaluators, and engines for which an adapter ships."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cerify.languages.language import EVALUATORS
from cerify.semantics.errors import InputError
from cerify.terminal import did_you_mean

ADAPTERS = Path(__file__).resolve().parent / "adapters"  # resolved: an editable install may be a tree of links
BUILD_SECONDS = 900
PROGRAMS = {"java": "a Java runtime, 17 or newer", "mvn": "Maven"}


@dataclass(frozen=True)
class JavaAdapter:
    """An adapter that Maven builds: the module of adapters/java, the engine's name in full, and its licence."""

    module: str
    engine: str
    licence: str

    @property
    def jar(self) -> Path:
        """The runnable jar, in the folder of the modules."""
        return Path(self.module, "target", f"cerify-{self.module}.jar")


JAVA_ADAPTERS: Mapping[str, JavaAdapter] = {
    "esper": JavaAdapter("esper", "Esper 9", "GPL-2.0"),
    "flink": JavaAdapter("flink", "Flink CEP 2.3", "Apache-2.0"),
    "siddhi": JavaAdapter("siddhi", "Siddhi 5.1", "Apache-2.0"),
}


@dataclass(frozen=True)
class CheckoutAdapter:
    """An adapter in Python for an engine in Python, which is imported from a checkout that the user names.

    folder is that of the adapter, variable the environment variable with the checkout, marker a file in each checkout.
    """

    folder: str
    engine: str
    licence: str
    variable: str
    marker: str


CHECKOUT_ADAPTERS: Mapping[str, CheckoutAdapter] = {
    "opencep": CheckoutAdapter("opencep", "OpenCEP", "none stated", "CERIFY_OPENCEP_HOME", "CEP.py"),
}
SHIPPED: Mapping[str, JavaAdapter | CheckoutAdapter] = {**JAVA_ADAPTERS, **CHECKOUT_ADAPTERS}
NAMES = (*sorted(EVALUATORS), *sorted(SHIPPED))


def command_of(name: str) -> Sequence[str]:
    """The command that starts the engine, once its adapter is built. Raises InputError that says what is missing."""
    if name in EVALUATORS:
        return [sys.executable, "-m", "cerify.cli", "engine", "--evaluator", name]
    if name in JAVA_ADAPTERS:
        return ["java", "-Xmx1g", "-XX:+UseSerialGC", "-jar", str(_built(name))]  # the heap within the memory cap
    if name in CHECKOUT_ADAPTERS:
        if (missing := missing_for(name)) is not None:
            raise InputError(missing)
        adapter = CHECKOUT_ADAPTERS[name]
        program = ADAPTERS / adapter.folder / "adapter.py"
        return [sys.executable, str(program), "--engine-home", os.environ[adapter.variable]]
    meant = did_you_mean(name, NAMES)
    raise InputError(f"no engine {name!r};{meant} there are {', '.join(NAMES)}, and any command after --")


def missing_for(name: str) -> str | None:
    """What is missing to build and run the engine, as a sentence; None if nothing is."""
    if name in CHECKOUT_ADAPTERS:
        adapter = CHECKOUT_ADAPTERS[name]
        home = os.environ.get(adapter.variable)
        if home is None or not (Path(home) / adapter.marker).is_file():
            value = f"{adapter.variable} " + (
                "is not set" if home is None else f"is {home}: no {adapter.marker} is there"
            )
            return f"the {name} adapter needs a checkout of {adapter.engine}; the environment variable {value}"
    if name not in JAVA_ADAPTERS:
        return None
    for program, package in PROGRAMS.items():
        if shutil.which(program) is None:
            return f"the {name} adapter needs {package}: the program {program!r} is not on the PATH"
    return None


def sources(java: Path) -> Sequence[Path]:
    """The files of the adapters that Maven reads, without what it has built."""
    return sorted(
        path
        for pattern in ("**/*.java", "**/pom.xml", "**/*.properties", "LICENSE")
        for path in java.glob(pattern)
        if "target" not in path.relative_to(java).parts
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Where adapters are built when cerify is installed: $XDG_CACHE_HOME/cerify, or ~/.cache/cerify."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "cerify" / "adapters"


def build_folder(java: Path, cache: Path) -> Path:
    """The folder to build in: the checkout's own, or for an installed package a copy of the sources in the cache.

    Its name has a digest of the sources, so that another version of cerify builds in another folder.
    """
    if (java.parents[3] / "pyproject.toml").exists():
        return java
    files = sources(java)
    digest = hashlib.sha256()
    for path in files:
        digest.update(path.relative_to(java).as_posix().encode() + b"\0" + path.read_bytes())
    folder = cache / digest.hexdigest()[:16]
    for path in files:
        copy = folder / path.relative_to(java)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy)
    return folder


def _built(name: str) -> Path:
    if (missing := missing_for(name)) is not None:
        raise InputError(missing)
    adapter = JAVA_ADAPTERS[name]
    java = build_folder(ADAPTERS / "java", cache_folder(os.environ))
    jar = java / adapter.jar
    needed = [
        path for path in sources(java) if path.relative_to(java).parts[0] in ("pom.xml", "protocol", adapter.module)
    ]
    if jar.exists() and all(source.stat().st_mtime <= jar.stat().st_mtime for source in needed):
        return jar
    command = ["mvn", "-q", "-B", "-f", str(java / "pom.xml"), "package", "-DskipTests", "-pl", adapter.module, "-am"]
    try:
        built = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"building the {name} adapter took more than {BUILD_SECONDS} s: {' '.join(command)}") from None
    if built.returncode != 0 or not jar.exists():
        raise InputError(f"the {name} adapter cannot be built: {' '.join(command)}\n{built.stdout[-2000:]}")
    return jar
