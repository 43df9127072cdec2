"""What a user installs: every package folder, every data file, and nothing under a generic name."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from cerify.conformance.engines import sources
from proofs_tests.benchmarks.installed import COMMANDS, build_wheel, command_of, environment

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


def test_the_only_top_level_name_is_cerify(names: set[str]) -> None:
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"cerify"}


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


def test_the_version_is_that_of_the_changelogs_package() -> None:
    import cerify

    assert cerify.__version__
    assert f"\n## {cerify.__version__}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\nversion: {cerify.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
