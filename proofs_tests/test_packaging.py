"""What a user installs: every package folder, every data file, and nothing under a generic name."""

import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from cerify.conformance.engines import sources
from proofs_tests.benchmarks.installed import COMMANDS, build_wheel, command_of, environment
from proofs_tests.tools.package_sizes import named_packages

ROOT = Path(__file__).parent.parent
FOLDERS = {"workbench": "cerify", "semantics": "cerify/semantics"} | {
    name: f"cerify/{name}" for name in ("automata", "equivalence")
}
DATA = {".lark", ".json", ".jsonl", ".html", ".css", ".typed"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def names(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


@pytest.mark.thorough
def test_the_only_top_level_name_is_cerify(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"cerify"}


@pytest.mark.thorough
def test_every_package_folder_and_data_file_is_in_the_wheel(names: set[str]) -> None:
    expected = set()
    for folder, installed in FOLDERS.items():
        for path in (ROOT / folder).rglob("*"):
            relative = path.relative_to(ROOT / folder)
            if "adapters" in relative.parts or "__pycache__" in relative.parts:
                continue
            if path.suffix == ".py" or path.suffix in DATA:
                expected.add(f"{installed}/{relative.as_posix()}")
    assert expected - names == set()


def test_every_folder_with_modules_is_a_package() -> None:
    """find_packages passes over a folder without __init__.py in silence."""
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*.py"):
            if "adapters" in path.parts:  # programs of their own, which are started and not imported
                continue
            assert (path.parent / "__init__.py").exists(), f"{path.parent} has no __init__.py"


@pytest.mark.thorough
def test_the_adapters_are_in_the_wheel_as_sources(names: set[str]) -> None:
    """They are built where they are used: nothing that links an engine ships, and their licence ships with them."""
    java = ROOT / "workbench" / "conformance" / "adapters" / "java"
    installed = "cerify/conformance/adapters/java/"
    needed = {installed + path.relative_to(java).as_posix() for path in sources(java)}
    assert installed + "LICENSE" in needed
    assert needed - names == set()
    opencep = ("adapter.py", "chains.py", "sase_chains.py", "engine.py", "LICENSE")
    assert {f"cerify/conformance/adapters/opencep/{name}" for name in opencep} <= names
    own = ("adapter.hpp", "Build.cmake", "ceql.hpp", "main.cpp")
    cpp = ("CMakeLists.txt", "LICENSE", "cerify_protocol.hpp", *(f"core/{name}" for name in own))
    assert {f"cerify/conformance/adapters/cpp/{name}" for name in cpp} <= names
    assert not [name for name in names if name.endswith((".jar", ".class", ".a", ".o", ".so"))]


@pytest.mark.thorough
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_the_wheel_alone_runs_its_commands(version: str, wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own, without any extra."""
    try:
        python, _ = environment(tmp_path / "environment", wheel, f"python{version}")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip(f"there is no Python {version}, or pip does not reach what the wheel needs")
    for name in COMMANDS:
        command_of(python, name)


PROGRAM = """
import cerify
from cerify import Budget, Event, Stream

S = Stream([Event("A"), Event("B", {"x": 1})])
positions: list[int] = [match.at for match in cerify.match("A ; B", S, budget=Budget(seconds=5))]
total: int = cerify.count("A ; B", S)
verdict = cerify.equivalent("A ; B", "B ; A")
wrong: str = cerify.match("A ; B", S)
print(positions, total, verdict)
"""


@pytest.mark.thorough
def test_type_checkers_see_the_package_after_the_plain_install(tmp_path: Path) -> None:
    """In a fresh clone, mypy and pyright know the types of what a program imports: the one planted error is found."""
    clone, program = tmp_path / "clone", tmp_path / "program.py"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
    program.write_text(PROGRAM, encoding="utf-8")
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "environment")], check=True)
    python = tmp_path / "environment" / "bin" / "python"
    try:
        for what in (["-e", str(clone)], ["mypy", "pyright"]):
            subprocess.run([python, "-m", "pip", "install", "-q", *what], check=True, capture_output=True)
    except subprocess.CalledProcessError:
        pytest.skip("pip does not reach what the checkers need")
    mypy = subprocess.run([python, "-m", "mypy", "--strict", program], cwd=tmp_path, capture_output=True, text=True)
    assert next(line for line in mypy.stdout.splitlines() if ": error:" in line).startswith(
        "program.py:9: error: Incomp"
    )
    assert "Found 1 error" in mypy.stdout
    arguments = ["--pythonpath", python, program]
    pyright = subprocess.run([python, "-m", "pyright", *arguments], cwd=tmp_path, capture_output=True, text=True)
    assert re.search(r"program\.py:9:.*\n?.*reportAssignmentType", pyright.stdout), pyright.stdout
    assert "1 error" in pyright.stdout


def test_the_version_is_that_of_the_changelogs_package() -> None:
    import cerify

    assert cerify.__version__
    assert f"\n## {cerify.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {cerify.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_page_on_dependencies_has_a_row_for_each() -> None:
    page = (ROOT / "docs" / "reference" / "dependencies.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:3]] for line in page.splitlines() if line.startswith("| ")]
    assert sorted(rows[1:]) == sorted(map(list, named_packages().items()))


def test_what_ci_pins_fits_the_bounds_and_has_hashes() -> None:
    pins = re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n.*)*)", (ROOT / ".ci" / "constraints.txt").read_text(), re.MULTILINE)
    assert all("--hash=sha256:" in rest for *_, rest in pins)
    versions = {name: version for name, version, _ in pins}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    asked, extras = [Requirement(text) for text in project["dependencies"]], ["dev"]
    for extra in extras:
        some = [Requirement(text) for text in optional[extra]]
        extras += [inner for one in some if one.name == "cerify" for inner in one.extras if inner not in extras]
        asked += [one for one in some if one.name != "cerify"]
    wrong = [str(one) for one in asked if not one.specifier.contains(versions.get(normal(one.name), "0"))]
    assert len(asked) > 40
    assert wrong == []


IMPORTING = """
import sys
from importlib import import_module

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {blocked}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
sys.path.insert(0, "docs/_ext")
for name in {names}:
    import_module(name)
"""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def needed(texts: Iterable[str], found: set[tuple[str, frozenset[str]]]) -> set[str]:
    """The distributions that requirements bring, where they are installed."""
    optional = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for one in map(Requirement, texts):
        key = (normal(one.name), frozenset(one.extras))
        if key in found:
            continue
        found.add(key)
        if key[0] == "cerify":
            needed([text for extra in one.extras for text in optional[extra]], found)
            continue
        try:
            required = map(Requirement, metadata.requires(one.name) or ())
        except metadata.PackageNotFoundError:
            continue
        extras = ("", *one.extras)
        chosen = (r for r in required if r.marker is None or any(r.marker.evaluate({"extra": e}) for e in extras))
        needed(map(str, chosen), found)
    return {name for name, _ in found}


def importing_the_book(*requirements: str) -> subprocess.CompletedProcess[str]:
    """Import what the book is made of, without the packages that are not required."""
    core = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    there = needed([*core, *requirements], set())
    by_module = metadata.packages_distributions()
    blocked = {name for name, of in by_module.items() if "cerify" not in of and there.isdisjoint(map(normal, of))}
    pages = (page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    modules = {name for page in pages for name in re.findall(r"automodule:: ([\w.]+)", page)}
    modules |= {f"cerify.commands.{path.stem}" for path in (ROOT / "workbench" / "commands").glob("*.py")}
    names = sorted(modules) + sorted(path.stem for path in (ROOT / "docs" / "_ext").glob("*.py"))
    command = [sys.executable, "-c", IMPORTING.format(blocked=blocked, names=names)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


@pytest.mark.thorough
def test_the_extra_docs_has_what_the_book_imports() -> None:
    pytest.importorskip("sphinx", reason="needs the extra docs")
    ran = importing_the_book("cerify[docs]")
    assert ran.returncode == 0, ran.stderr
    assert "MissingPackage: this needs z3" in importing_the_book("cerify[columns,draw,research]", "sphinx").stderr
