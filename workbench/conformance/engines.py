"""The engines that can be tested by name: the built-in evaluators, and engines for which an adapter ships.

An adapter is a separate program. It is built when it is first used, in a folder that the user names (`--engine-dir`) or
the user's cache folder. Maven, CMake and Cargo build it there; an engine in a Python package gets an environment with
the version pinned here. So cerify does not depend on any engine, engines can need different versions of a package, and
an engine's licence applies only to its own process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, without_numba
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.errors import InputError
from cerify.terminal import echo

ADAPTERS = Path(__file__).resolve().parent / "adapters"  # resolved: an editable install may be a tree of links
VERSIONS = "org.codehaus.mojo:versions-maven-plugin:2.18.0"
LIBRARY = ADAPTERS.parents[1] / "adapter.py"
BUILD_SECONDS = 3600  # a package of 200 MB on a slow line, or Cargo on a busy machine, needs more than 15 minutes
OLDEST_JAVA = 17
JAVA_FOLDER = Path("/usr/lib/jvm")  # where Linux has its development kits
PROGRAMS = {
    "java": "a Java development kit, 17 or newer",
    "javac": "a Java development kit, 17 or newer",
    "mvn": "Maven",
    "cmake": "CMake, 3.20 or newer",
    "cargo": "Rust's Cargo",
    "node": "Node.js, 20 or newer",
    "npm": "npm",
}
UNREACHABLE = re.compile(
    r"Could not (find a version|resolve|transfer)|Connection|Network|Temporary failure|timed out", re.I
)


class Adapter(Protocol):
    """An adapter that ships with cerify; it has the full name of its engine, and the engine's licence."""

    @property
    def engine(self) -> str: ...

    @property
    def licence(self) -> str: ...

    def missing(self) -> str | None:
        """Return what is missing to build and run the adapter, as the end of a sentence; None if nothing is."""

    def is_ready(self, folder: Path) -> bool:
        """Return whether the adapter is built and its engine installed in this folder, so that it starts at once."""

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter, which is built in this folder first if needed. Raises
        InputError.
        """


@dataclass(frozen=True)
class Checkout:
    """The sources of an engine, checked out by the user.

    variable: the environment variable that holds the path of the checkout. marker: a glob pattern of a file that every
    such checkout contains.
    """

    engine: str
    variable: str
    marker: str

    @property
    def home(self) -> str:
        """Return the folder of the checkout."""
        return os.environ[self.variable]

    def missing(self) -> str | None:
        """Describe the checkout and the environment variable that are missing; None if the checkout is there."""
        home = os.environ.get(self.variable)
        if home is not None and any(Path(home).glob(self.marker)):
            return None
        value = "is not set" if home is None else f"is {home}, which contains no {self.marker}"
        return f"a checkout of {self.engine}; the environment variable {self.variable} {value}"


@dataclass(frozen=True)
class JavaAdapter:
    """An adapter in Java, which Maven builds.

    module: its folder in adapters/java. engine, licence: the engine's full name and licence. checkout: the engine's
    sources, if Maven cannot download the engine. options: options of the Java virtual machine. java: the oldest version
    of Java on which the engine runs; the adapter is built with the Java on the PATH.
    """

    module: str
    engine: str
    licence: str
    checkout: Checkout | None = None
    options: tuple[str, ...] = ()
    artifact: str = ""  # the artifact of Maven whose version is the engine's
    java: int = OLDEST_JAVA

    @property
    def jar(self) -> Path:
        """Return the runnable jar, in the folder of the modules."""
        return Path(self.module, "target", f"cerify-{self.module}.jar")

    def missing(self) -> str | None:
        """Return the program missing on the PATH, or the missing checkout."""
        checkout = self.checkout.missing() if self.checkout is not None else None
        return _missing_programs("java", "javac", "mvn") or checkout or self._missing_java()

    def _missing_java(self) -> str | None:
        if find_java(self.java) is not None:
            return None
        return f"Java {self.java} or newer to run {self.engine}, on the PATH, in JAVA_HOME or in {JAVA_FOLDER}"

    def is_ready(self, folder: Path) -> bool:
        """Return whether the jar is newer than its sources."""
        java = build_folder(ADAPTERS / "java", folder)
        jar = java / self.jar
        needed = [
            path for path in sources(java) if path.relative_to(java).parts[0] in ("pom.xml", "protocol", self.module)
        ]
        return jar.exists() and all(source.stat().st_mtime <= jar.stat().st_mtime for source in needed)

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter, with a heap within the memory limit."""
        java = build_folder(ADAPTERS / "java", folder)
        jar = java / self.jar
        if not self.is_ready(folder):
            pom = str(java / "pom.xml")
            _build(name, ["mvn", "-q", "-B", "-f", pom, "package", "-DskipTests", "-pl", self.module, "-am"])
        engine = ["--engine-home", self.checkout.home] if self.checkout is not None else []
        return [find_java(self.java) or "java", "-Xmx1g", "-XX:+UseSerialGC", *self.options, "-jar", str(jar), *engine]


@dataclass(frozen=True)
class CheckoutAdapter:
    """An adapter in Python for an engine whose sources are checked out; it imports the engine from there.

    folder: the folder of `adapters` that contains the adapter.
    """

    folder: str
    engine: str
    licence: str
    checkout: Checkout

    def missing(self) -> str | None:
        """Return which checkout is missing; None if it is there."""
        return self.checkout.missing()

    def is_ready(self, folder: Path) -> bool:
        """Return whether the checkout is there."""
        return self.missing() is None

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter."""
        return [sys.executable, str(ADAPTERS / self.folder / "adapter.py"), "--engine-home", self.checkout.home]


@dataclass(frozen=True)
class CMakeAdapter:
    """An adapter in C++, which CMake builds and links with an engine that is already built in a checkout of its
    sources.

    program: its target in adapters/cpp. setting: the CMake variable for the path of the checkout.
    """

    program: str
    setting: str
    engine: str
    licence: str
    checkout: Checkout

    def missing(self) -> str | None:
        """Return the program missing on the PATH, or the missing checkout."""
        return _missing_programs("cmake") or self.checkout.missing()

    def built(self, folder: Path) -> Path:
        """Return the folder in which CMake builds the adapter against the checkout."""
        home = str(Path(self.checkout.home).resolve())
        return folder / _digest(str(ADAPTERS / "cpp"), home)

    def is_ready(self, folder: Path) -> bool:
        """Return whether the adapter has been built against the checkout."""
        return self.checkout.missing() is None and (self.built(folder) / self.program).exists()

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter."""
        source, home, built = ADAPTERS / "cpp", str(Path(self.checkout.home).resolve()), self.built(folder)
        _build(name, ["cmake", "-S", str(source), "-B", str(built), f"-D{self.setting}={home}"])
        _build(name, ["cmake", "--build", str(built), "--target", self.program])
        return [str(built / self.program)]


@dataclass(frozen=True)
class PackageAdapter:
    """An adapter in Python for an engine in a Python package; pip installs the package on first use.

    program: its file in adapters/python. packages: the pinned packages that pip installs. pythons: the versions of
    Python that the package supports, newest first; all by default.
    """

    program: str
    engine: str
    licence: str
    packages: tuple[str, ...]
    pythons: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Return which version of Python is missing; None if none is."""
        if self.python() is not None:
            return None
        return f"Python {' or '.join(self.pythons)}: install it, or uv, which brings one"

    def python(self) -> Sequence[str] | None:
        """Return the command that creates an environment with a suitable Python; None if this machine has none."""
        mine = f"{sys.version_info.major}.{sys.version_info.minor}"
        if not self.pythons or mine in self.pythons:
            return [sys.executable, "-m", "venv"]
        for wanted in self.pythons:
            program = shutil.which(f"python{wanted}")
            if program is None:
                continue
            # this may be a stand-in by pyenv: tell it the version, and let Python print its own path
            asked = subprocess.run(
                [program, "-c", "import sys; print(sys.executable)"],
                env=os.environ | {"PYENV_VERSION": wanted}, capture_output=True, text=True,
            )  # fmt: skip
            if asked.returncode == 0:
                return [asked.stdout.strip(), "-m", "venv"]
        uv = shutil.which("uv")
        return None if uv is None else [uv, "venv", "--quiet", "--seed", "--python", self.pythons[0]]

    def environment(self, name: str, folder: Path) -> Path:
        """Return the folder of the adapter's environment; its name contains the pinned packages."""
        return folder / f"{name}-{_digest(*self.packages, *self.pythons)}"

    def is_ready(self, folder: Path) -> bool:
        """Return whether the engine is installed."""
        return any(self.environment(name, folder).exists() for name, of in SHIPPED.items() if of is self)

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter, after installing its engine."""
        home = self.environment(name, folder)
        is_new = not home.exists()
        if is_new:
            self._install(name, home)
        # adapter.py needs only the standard library: a copy of it beside the adapter keeps the packages of cerify out
        # of the engine's environment
        for source, copy in (
            (ADAPTERS / "python" / self.program, home / self.program),
            (LIBRARY, home / "cerify/adapter.py"),
        ):
            copy.parent.mkdir(exist_ok=True)
            if not copy.exists() or copy.read_bytes() != source.read_bytes():
                shutil.copyfile(source, copy)
        command = [str(_python_of(home)), str(home / self.program), *self.arguments]
        if is_new:  # some engines compile code at their first start; an engine that cannot start is noticed
            _build(name, command)
        return command

    def _install(self, name: str, home: Path) -> None:
        home.parent.mkdir(parents=True, exist_ok=True)
        # Beside its final place: a folder can be renamed atomically only within one file system.
        making = Path(tempfile.mkdtemp(prefix=f".{home.name}-", dir=home.parent))
        try:
            _build(name, [*(self.python() or ()), str(making)])
            pip = [str(_python_of(making)), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            _build(name, [*pip, *self.packages])
            making.rename(home)  # atomic, so that an environment is complete or absent
        except OSError:
            if not home.exists():  # else another process was faster
                raise
        finally:
            shutil.rmtree(making, ignore_errors=True)


@dataclass(frozen=True)
class CrateAdapter:
    """An adapter in Python for an engine in Rust: Cargo builds a program with the pinned version of the engine's crate.

    program: the adapter's file in adapters/python. crate: the folder in adapters/rust to build.
    """

    program: str
    crate: str
    engine: str
    licence: str
    package: str
    version: str
    arguments: tuple[str, ...] = ()

    def missing(self) -> str | None:
        """Name Cargo if it is missing on the PATH; None if it is there."""
        return _missing_programs("cargo")

    def built(self, folder: Path) -> Path:
        """Return the path of the program that Cargo builds; its folder's name has a digest of the sources."""
        texts = [
            (ADAPTERS / "rust" / self.crate / name).read_text() for name in ("Cargo.toml", "Cargo.lock", "src/main.rs")
        ]
        name = f"cerify-{self.crate}{'.exe' * (os.name == 'nt')}"
        return folder / f"{self.crate}-{_digest(*texts)}" / "release" / name

    def is_ready(self, folder: Path) -> bool:
        """Return whether the program has been built."""
        return self.built(folder).exists()

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter."""
        built, manifest = self.built(folder), ADAPTERS / "rust" / self.crate / "Cargo.toml"
        if not built.exists():
            cargo = ["cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", str(manifest)]
            _build(name, [*cargo, "--target-dir", str(built.parents[1])])
        return [sys.executable, str(ADAPTERS / "python" / self.program), *self.arguments, str(built)]


@dataclass(frozen=True)
class NpmAdapter:
    """An adapter in JavaScript for an engine in a package of npm; npm installs the package on first use.

    program: its file in adapters/javascript. package, version: what npm installs.
    """

    program: str
    engine: str
    licence: str
    package: str
    version: str

    def missing(self) -> str | None:
        """Name Node.js or npm if it is missing on the PATH; None if both are there."""
        return _missing_programs("node", "npm")

    def home(self, folder: Path) -> Path:
        """Return the folder in which the engine is installed; its name has a digest of the version."""
        return folder / f"{self.package}-{_digest(self.version)}"

    def is_ready(self, folder: Path) -> bool:
        """Return whether the engine is installed."""
        return (self.home(folder) / self.program).exists()

    def command(self, name: str, folder: Path) -> Sequence[str]:
        """Return the command that starts the adapter, after installing its engine."""
        home = self.home(folder)
        if not self.is_ready(folder):
            home.mkdir(parents=True, exist_ok=True)
            options = ["--silent", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(home)]
            _build(name, ["npm", "install", *options, f"{self.package}@{self.version}"])
        # Last, because its presence says that npm has finished; each time, because this version of cerify may have
        # another adapter; there, because Node.js seeks packages from the program's folder upwards.
        shutil.copyfile(ADAPTERS / "javascript" / self.program, home / self.program)
        return ["node", str(home / self.program)]


ONCE = ("-XX:TieredStopAtLevel=1",)  # Drools, Flink and Beam compile each query to classes, too short-lived to optimize
VECTORS = ("--add-modules", "jdk.incubator.vector")
JAVA_ADAPTERS: Mapping[str, JavaAdapter] = {
    "beam-sql": JavaAdapter(
        "beam-sql",
        "Beam SQL 2.71",
        "Apache-2.0",
        options=ONCE,
        artifact="org.apache.beam:beam-sdks-java-extensions-sql",
    ),
    "calcite": JavaAdapter("calcite", "Calcite 1.42", "Apache-2.0", artifact="org.apache.calcite:calcite-core"),
    "drools": JavaAdapter("drools", "Drools 10.2", "Apache-2.0", options=ONCE, artifact="org.drools:drools-engine"),
    "esper": JavaAdapter("esper", "Esper 9", "GPL-2.0", artifact="com.espertech:esper-runtime"),
    "flink": JavaAdapter("flink", "Flink CEP 2.3", "Apache-2.0", artifact="org.apache.flink:flink-cep"),
    "flink-sql": JavaAdapter(
        "flink-sql", "Flink SQL 2.3", "Apache-2.0", options=ONCE, artifact="org.apache.flink:flink-table-planner-loader"
    ),
    "sase": JavaAdapter("sase", "SASE 1.0", "BSD-3-Clause", Checkout("SASE", "CERIFY_SASE_HOME", "build/sase.jar")),
    "siddhi": JavaAdapter("siddhi", "Siddhi 5.1", "Apache-2.0", artifact="io.siddhi:siddhi-core"),
    "trino": JavaAdapter("trino", "Trino 483", "Apache-2.0", options=VECTORS, artifact="io.trino:trino-main", java=25),
}


def _sigma_converter(
    name: str, title: str, licence: str, packages: tuple[str, ...], pysigma: str, pythons: tuple[str, ...] = ()
) -> PackageAdapter:
    """Return the adapter of a converter of Sigma rules and the engine for its queries.

    pySigma is pinned; releases before 2 need an older pyparsing.
    """
    pinned = (*packages, f"pysigma=={pysigma}", *(() if pysigma >= "2" else ("pyparsing==3.2.5",)))
    return PackageAdapter("sigma_adapter.py", title, licence, pinned, pythons, (name,))


PACKAGE_ADAPTERS: Mapping[str, PackageAdapter] = {
    "clickhouse": PackageAdapter(
        "clickhouse_adapter.py", "ClickHouse (chdb 4.4)", "Apache-2.0", ("chdb==4.4.0",), ("3.13", "3.12", "3.11")
    ),
    "bobocep": PackageAdapter("bobocep_adapter.py", "bobocep 1.2", "MIT", ("bobocep==1.2.2",)),
    "clips": PackageAdapter("clips_adapter.py", "CLIPS 6.4 (clipspy 1.0)", "BSD-3-Clause", ("clipspy==1.0.6",)),
    "epigrep": PackageAdapter("epigrep_adapter.py", "epigrep 0.2", "MIT", ("epigrep==0.2.0",)),
    "eql": PackageAdapter("eql_adapter.py", "EQL for Python 1.0", "AGPL-3.0", ("eql==1.0.1",)),
    "googlesql": PackageAdapter("googlesql_adapter.py", "GoogleSQL (zetasql 0.1.5)", "Apache-2.0", ("zetasql==0.1.5",)),
    "pandas-match-recognize": PackageAdapter(
        "pandas_match_recognize_adapter.py",
        "pandas-match-recognize 0.2",
        "MIT",
        ("pandas-match-recognize==0.2.5",),
        ("3.12", "3.11", "3.10"),
    ),
    "pycer": PackageAdapter("pycer_adapter.py", "CORE (pycer 0.1.6)", "GPL-3.0", ("pycer==0.1.6",), ("3.13",)),
    "rustevex": PackageAdapter(
        "rustevex_adapter.py", "rustevex 0.0.1", "MIT", ("rustevex==0.0.1",), ("3.12", "3.11", "3.10")
    ),
    "sigma-clickhouse": _sigma_converter(
        "clickhouse",
        "Sigma to ClickHouse 1.1",
        "none stated",
        ("pysigma-backend-clickhouse==1.1.1", "chdb==4.4.0"),
        "1.5.1",
        ("3.13",),
    ),
    "sigma-duckdb": _sigma_converter(
        "duckdb", "Sigma to DuckDB 0.1", "MIT", ("pysigma-backend-duckdb==0.1.4", "duckdb==2.0.1"), "1.5.1"
    ),
    "sigma-eql": _sigma_converter(
        "eql", "Sigma to EQL 2.1", "LGPL-3.0, AGPL-3.0", ("pysigma-backend-elasticsearch==2.1.1", "eql==1.0.1"), "1.5.0"
    ),
    "sigma-sqlite": _sigma_converter(
        "sqlite", "Sigma to SQLite 2.1", "LGPL-3.0", ("pysigma-backend-sqlite==2.1.1",), "2.0.1"
    ),
    "stix2-matcher": PackageAdapter("stix2_adapter.py", "stix2-matcher 3.0", "BSD-3-Clause", ("stix2-matcher==3.0.0",)),
}
SHIPPED: Mapping[str, Adapter] = {
    **JAVA_ADAPTERS,
    **PACKAGE_ADAPTERS,
    "sigma-rsigma": CrateAdapter(
        "sigma_adapter.py", "rsigma", "rsigma 0.23", "MIT", "rsigma-eval", "0.23.0", ("rsigma",)
    ),
    "nools": NpmAdapter("nools_adapter.js", "nools 0.4", "MIT", "nools", "0.4.4"),
    "varpulis": CrateAdapter(
        "varpulis_adapter.py", "varpulis", "Varpulis 0.11", "MIT OR Apache-2.0", "varpulis-sase", "0.11.0"
    ),
    "core": CMakeAdapter(
        "cerify-core",
        "CORE_HOME",
        "CORE",
        "GPL-3.0",
        Checkout("CORE, built by its README", "CERIFY_CORE_HOME", "build/*/libcore.a"),
    ),
    "opencep": CheckoutAdapter(
        "opencep", "OpenCEP", "none stated", Checkout("OpenCEP", "CERIFY_OPENCEP_HOME", "CEP.py")
    ),
}
NAMES = (*sorted(EVALUATORS), *sorted(SHIPPED))


def command_of(name: str, folder: Path | None = None) -> Sequence[str]:
    """Return the command that starts the engine's adapter, after building it and installing the engine.

    folder: where they are built and installed, by default the user's cache folder (`cache_folder`). Raises InputError
    if something is missing; the message says what.
    """
    if name in EVALUATORS:
        return [sys.executable, "-m", "cerify.cli", "engine", "--evaluator", name]
    if name not in SHIPPED:
        meant = did_you_mean(name, NAMES) or ";"
        raise InputError(f"no engine {name!r}{meant} there are {', '.join(NAMES)}; for another engine give -- COMMAND")
    if (missing := missing_for(name)) is not None:
        raise InputError(missing)
    adapter, folder = SHIPPED[name], folder or cache_folder(os.environ)
    if not adapter.is_ready(folder):
        echo(f"cerify: installing {adapter.engine} in {folder}, only once; this can take many minutes", error=True)
    return adapter.command(name, folder)


def command_of_database(module: str, arguments: Sequence[str]) -> Sequence[str]:
    """Return the command that starts the adapter of a DB-API module, with the arguments of its `connect`."""
    return [sys.executable, "-m", "cerify.commands.dbapi", module, *arguments]


def missing_for(name: str) -> str | None:
    """Return a sentence about what is missing to build and run the engine; None if nothing is missing."""
    if name not in SHIPPED:
        of = [language.evaluators[name] for language in LANGUAGES.values() if name in language.evaluators]
        why = without_numba() if any(evaluator.compiled for evaluator in of) else None
        return None if why is None else why.message
    missing = SHIPPED[name].missing()
    return missing and f"the {name} adapter needs {missing}"


def find_java(oldest: int) -> str | None:
    """Return the program `java` of that version or a newer one; None if there is none on this machine.

    The program is sought on the PATH, in JAVA_HOME, and in the folder of development kits, where the file `release` has
    the version. A program on the PATH counts as version 17, the oldest that any adapter needs.
    """
    on_path = shutil.which("java")
    if oldest <= OLDEST_JAVA:
        return on_path and "java"
    homes = [Path(on_path).resolve().parents[1]] if on_path else []
    homes += [Path(home) for home in filter(None, [os.environ.get("JAVA_HOME")])]
    for home in [*homes, *sorted(JAVA_FOLDER.glob("*"))]:
        release = home / "release"
        version = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if release.is_file() else None
        if version is not None and int(version[1]) >= oldest and (home / "bin" / "java").is_file():
            return str(home / "bin" / "java")
    return None


def newer_versions() -> list[tuple[str, str, str, str]]:
    """Return (engine, package, pinned version, newest version) of each engine that a package registry has.

    Each registry is queried by its own client: pip, Maven, Cargo and npm. Raises InputError if one does not answer.
    """
    rows = []
    for name, adapter in SHIPPED.items():
        if isinstance(adapter, PackageAdapter):
            package, _, pinned = adapter.packages[0].partition("==")
            ask = [*_pip(), "index", "versions", package, "--disable-pip-version-check"]
            python = ["--only-binary=:all:", "--python-version", adapter.pythons[0]] if adapter.pythons else []
            told = _ask([*ask, *python])
            rows.append((name, package, pinned, _search(r"\((.+)\)", told)))
        elif isinstance(adapter, CrateAdapter):
            told = _ask(["cargo", "info", adapter.package])
            rows.append((name, adapter.package, adapter.version, _search(r"version: (\S+)", told)))
        elif isinstance(adapter, NpmAdapter):
            told = _ask(["npm", "view", adapter.package, "version"])
            rows.append((name, adapter.package, adapter.version, _search(r"(\S+)", told)))
    pom = ADAPTERS / "java" / "pom.xml"
    updates = ["mvn", "-B", "-f", str(pom), f"{VERSIONS}:display-dependency-updates"]
    told = _ask([*updates, "-DprocessDependencyManagement=false"])
    for name, java in JAVA_ADAPTERS.items():
        if java.artifact:
            pinned = _search(rf"<{name.partition('-')[0]}\.version>(.+?)<", pom.read_text())
            newer = re.search(rf"{re.escape(java.artifact)} [. ]*\s.*? -> (\S+)", told)
            rows.append((name, java.artifact, pinned, newer[1] if newer else pinned))
    return sorted(rows)


def sources(java: Path) -> Sequence[Path]:
    """Return the files in the folder of Java adapters that Maven reads, without its build output."""
    return sorted(
        path
        for pattern in ("**/*.java", "**/pom.xml", "**/*.properties", "LICENSE")
        for path in java.glob(pattern)
        if "target" not in path.relative_to(java).parts
    )


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for adapters and engines: $XDG_CACHE_HOME/cerify/adapters, or ~/.cache/cerify/adapters."""
    home = environment.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home) / "cerify" / "adapters"


def build_folder(java: Path, cache: Path) -> Path:
    """Return the folder to build in: the checkout's own, or for an installed package a copy of the sources in the
    cache.

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
    """Return the programs that are missing on the PATH, as the end of a sentence.

    The Java compiler may also be in JAVA_HOME, where Maven finds it.
    """
    by_home = Path(os.environ.get("JAVA_HOME", ""), "bin", "javac")
    absent = [one for one in programs if shutil.which(one) is None and not (one == "javac" and by_home.is_file())]
    if not absent:
        return None
    needed = " and ".join(dict.fromkeys(PROGRAMS[one] for one in absent))
    return f"{needed}: {', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not on the PATH"


def _python_of(environment: Path) -> Path:
    """Return the path of Python in an environment."""
    return environment / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def _digest(*texts: str) -> str:
    """Return a short digest of texts, for the name of a folder."""
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def _pip() -> Sequence[str]:
    """Return the command that runs pip: the pip of this environment or, in an environment made by uv, a copy that uv
    provides.
    """
    uv = None if importlib.util.find_spec("pip") else shutil.which("uv")
    return [sys.executable, "-m", "pip"] if uv is None else [uv, "tool", "run", "--quiet", "pip"]


def _ask(command: Sequence[str]) -> str:
    """Return the output of a package registry's client. Raises InputError if it fails or is not installed."""
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"a package registry did not answer: {error}") from None
    if asked.returncode != 0:
        output = (asked.stdout + asked.stderr)[-2000:]
        raise InputError(f"a package registry did not answer: {' '.join(command)}\n{output}")
    return asked.stdout


def _search(pattern: str, text: str) -> str:
    """Return the first group of a pattern in a client's output. Raises InputError if the pattern does not match."""
    if (found := re.search(pattern, text)) is None:
        raise InputError(f"a package registry answered without a version: {text[:500]}")
    return found[1]


def _build(name: str, command: Sequence[str]) -> None:
    try:
        built = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=BUILD_SECONDS)
    except subprocess.TimeoutExpired:
        message = f"building the {name} adapter took more than {BUILD_SECONDS // 60} minutes: {' '.join(command)}"
        raise InputError(f"{message}; try again: the downloads so far are cached") from None
    if built.returncode != 0:
        output = (built.stdout + built.stderr)[-2000:]
        why = " without the package registry, which is unreachable or lacks the package" * bool(
            UNREACHABLE.search(output)
        )
        raise InputError(f"the {name} adapter cannot be built{why}: {' '.join(command)}\n{output}")
