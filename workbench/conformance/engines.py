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
from typing import Protocol

from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, without_numba
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import InputError

ADAPTERS = Path(__file__).resolve().parent / "adapters"  # resolved: an editable install may be a tree of links
BUILD_SECONDS = 900
PROGRAMS = {
    "java": "a Java development kit, 17 or newer",
    "javac": "a Java development kit, 17 or newer",
    "mvn": "Maven",
    "cmake": "CMake, 3.20 or newer",
}


class Adapter(Protocol):
    """An adapter that ships: the engine's name in full, and its licence."""

    @property
    def engine(self) -> str: ...

    @property
    def licence(self) -> str: ...

    def missing(self) -> str | None:
        """Return the requirements that are missing to build and run it, as the end of a sentence; None if none are."""

    def command(self, name: str) -> Sequence[str]:
        """The command that starts it, once it is built. Raises InputError if it cannot be built."""


@dataclass(frozen=True)
class Checkout:
    """A checkout of an engine that the user names: the environment variable, and a pattern for a file in it."""

    engine: str
    variable: str
    marker: str

    @property
    def home(self) -> str:
        """Its folder."""
        return os.environ[self.variable]

    def missing(self) -> str | None:
        """Describe the checkout and the environment variable that are missing; None if the checkout is there."""
        home = os.environ.get(self.variable)
        if home is not None and any(Path(home).glob(self.marker)):
            return None
        value = "is not set" if home is None else f"is {home}: no {self.marker} is there"
        return f"a checkout of {self.engine}; the environment variable {self.variable} {value}"


@dataclass(frozen=True)
class JavaAdapter:
    """An adapter that Maven builds: the module of adapters/java, the engine's name in full, and its licence.

    checkout has the engine if Maven does not fetch it. options are those of the virtual machine.
    """

    module: str
    engine: str
    licence: str
    checkout: Checkout | None = None
    options: tuple[str, ...] = ()

    @property
    def jar(self) -> Path:
        """The runnable jar, in the folder of the modules."""
        return Path(self.module, "target", f"cerify-{self.module}.jar")

    def missing(self) -> str | None:
        """A program that is not on the PATH, or the checkout."""
        checkout = self.checkout.missing() if self.checkout is not None else None
        return _missing_programs("java", "javac", "mvn") or checkout

    def command(self, name: str) -> Sequence[str]:
        """The command that starts it, with the heap within the memory cap."""
        java = build_folder(ADAPTERS / "java", cache_folder(os.environ))
        jar = java / self.jar
        needed = [
            path for path in sources(java) if path.relative_to(java).parts[0] in ("pom.xml", "protocol", self.module)
        ]
        if not jar.exists() or any(source.stat().st_mtime > jar.stat().st_mtime for source in needed):
            pom = str(java / "pom.xml")
            _build(name, ["mvn", "-q", "-B", "-f", pom, "package", "-DskipTests", "-pl", self.module, "-am"])
        engine = ["--engine-home", self.checkout.home] if self.checkout is not None else []
        return ["java", "-Xmx1g", "-XX:+UseSerialGC", *self.options, "-jar", str(jar), *engine]


@dataclass(frozen=True)
class PythonAdapter:
    """An adapter in Python, in a folder of adapters, for an engine that is imported from a checkout."""

    folder: str
    engine: str
    licence: str
    checkout: Checkout

    def missing(self) -> str | None:
        """The checkout."""
        return self.checkout.missing()

    def command(self, name: str) -> Sequence[str]:
        """The command that starts it."""
        return [sys.executable, str(ADAPTERS / self.folder / "adapter.py"), "--engine-home", self.checkout.home]


@dataclass(frozen=True)
class CMakeAdapter:
    """An adapter that CMake builds, against an engine that is built in a checkout.

    program is its target in adapters/cpp, setting the variable of CMake with the checkout.
    """

    program: str
    setting: str
    engine: str
    licence: str
    checkout: Checkout

    def missing(self) -> str | None:
        """A program that is not on the PATH, or the checkout."""
        return _missing_programs("cmake") or self.checkout.missing()

    def command(self, name: str) -> Sequence[str]:
        """The command that starts it."""
        source, home = ADAPTERS / "cpp", str(Path(self.checkout.home).resolve())
        digest = hashlib.sha256(f"{source}\0{home}".encode()).hexdigest()[:16]
        folder = cache_folder(os.environ) / digest
        _build(name, ["cmake", "-S", str(source), "-B", str(folder), f"-D{self.setting}={home}"])
        _build(name, ["cmake", "--build", str(folder), "--target", self.program])
        return [str(folder / self.program)]


ONCE = ("-XX:TieredStopAtLevel=1",)  # Flink SQL makes classes for each query, which are run too seldom to be optimized
JAVA_ADAPTERS: Mapping[str, JavaAdapter] = {
    "calcite": JavaAdapter("calcite", "Calcite 1.42", "Apache-2.0"),
    "esper": JavaAdapter("esper", "Esper 9", "GPL-2.0"),
    "flink": JavaAdapter("flink", "Flink CEP 2.3", "Apache-2.0"),
    "flink-sql": JavaAdapter("flink-sql", "Flink SQL 2.3", "Apache-2.0", options=ONCE),
    "sase": JavaAdapter("sase", "SASE 1.0", "BSD-3-Clause", Checkout("SASE", "CERIFY_SASE_HOME", "build/sase.jar")),
    "siddhi": JavaAdapter("siddhi", "Siddhi 5.1", "Apache-2.0"),
    "trino": JavaAdapter("trino", "Trino 435", "Apache-2.0"),
}
SHIPPED: Mapping[str, Adapter] = {
    **JAVA_ADAPTERS,
    "core": CMakeAdapter(
        "cerify-core",
        "CORE_HOME",
        "CORE",
        "GPL-3.0",
        Checkout("CORE, built by its README", "CERIFY_CORE_HOME", "build/*/libcore.a"),
    ),
    "opencep": PythonAdapter("opencep", "OpenCEP", "none stated", Checkout("OpenCEP", "CERIFY_OPENCEP_HOME", "CEP.py")),
}
NAMES = (*sorted(EVALUATORS), *sorted(SHIPPED))


def command_of(name: str) -> Sequence[str]:
    """The command that starts the engine, once its adapter is built. Raises InputError that says what is missing."""
    if name in EVALUATORS:
        return [sys.executable, "-m", "cerify.cli", "engine", "--evaluator", name]
    if name not in SHIPPED:
        meant = did_you_mean(name, NAMES) or ";"
        raise InputError(f"no engine {name!r}{meant} there are {', '.join(NAMES)}, and any command after --")
    if (missing := missing_for(name)) is not None:
        raise InputError(missing)
    return SHIPPED[name].command(name)


def command_of_database(module: str, arguments: Sequence[str]) -> Sequence[str]:
    """The command that starts the adapter of a module of Python's DB-API, with the arguments of its `connect`."""
    return [sys.executable, "-m", "cerify.commands.dbapi", module, *arguments]


def missing_for(name: str) -> str | None:
    """Return a sentence on the requirements that are missing to build and run the engine; None if none are."""
    if name not in SHIPPED:
        of = [language.evaluators[name] for language in LANGUAGES.values() if name in language.evaluators]
        why = without_numba() if any(evaluator.compiled for evaluator in of) else None
        return None if why is None else why.message
    missing = SHIPPED[name].missing()
    return missing and f"the {name} adapter needs {missing}"


def sources(java: Path) -> Sequence[Path]:
    """The files of the adapters that Maven reads, without what it has built."""
    return sorted(
        path
        for pattern in ("**/*.java", "**/pom.xml", "**/*.properties", "LICENSE")
        for path in java.glob(pattern)
        if "target" not in path.relative_to(java).parts
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for adapters that an installed cerify builds: $XDG_CACHE_HOME/cerify, or ~/.cache/cerify."""
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


def _missing_programs(*programs: str) -> str | None:
    """The programs that are not on the PATH, as the end of a sentence; Maven finds a compiler by JAVA_HOME too."""
    by_home = Path(os.environ.get("JAVA_HOME", ""), "bin", "javac")
    absent = [one for one in programs if shutil.which(one) is None and not (one == "javac" and by_home.is_file())]
    if not absent:
        return None
    needed = " and ".join(dict.fromkeys(PROGRAMS[one] for one in absent))
    return f"{needed}: {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not on the PATH"


def _build(name: str, command: Sequence[str]) -> None:
    try:
        built = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        raise InputError(f"building the {name} adapter took more than {BUILD_SECONDS} s: {' '.join(command)}") from None
    if built.returncode != 0:
        output = (built.stdout + built.stderr)[-2000:]
        raise InputError(f"the {name} adapter cannot be built: {' '.join(command)}\n{output}")
