"""The engines by name: where an adapter is built, and what is said where it cannot be."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from cerify.commands import conform as command
from cerify.conformance import engines
from cerify.languages import language
from cerify.semantics.errors import InputError

JAVA = engines.ADAPTERS / "java"


def installed(tmp_path: Path) -> Path:
    """The sources of the adapters as an installed package has them, with something built that is no source."""
    java = tmp_path / "site-packages" / "cerify" / "conformance" / "adapters" / "java"
    for path in engines.sources(JAVA):
        copy = java / path.relative_to(JAVA)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
    (java / "protocol" / "target").mkdir()
    (java / "protocol" / "target" / "Built.java").write_text("")
    return java


def test_a_checkout_builds_in_its_own_folder(tmp_path: Path) -> None:
    assert engines.build_folder(JAVA, tmp_path) == JAVA
    assert not list(tmp_path.iterdir())


def test_an_installed_package_builds_a_copy_in_the_cache(tmp_path: Path) -> None:
    java, cache = installed(tmp_path), tmp_path / "cache"
    folder = engines.build_folder(java, cache)
    assert folder.parent == cache
    assert {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()} == {
        path.relative_to(JAVA) for path in engines.sources(JAVA)
    }
    assert engines.build_folder(java, cache) == folder


def test_other_sources_are_built_in_another_folder(tmp_path: Path) -> None:
    java, cache = installed(tmp_path), tmp_path / "cache"
    before = engines.build_folder(java, cache)
    with (java / "pom.xml").open("a") as pom:
        pom.write("<!-- newer -->")
    assert engines.build_folder(java, cache) != before


def test_the_cache_is_where_the_environment_says() -> None:
    assert engines.cache_folder({"XDG_CACHE_HOME": "/there"}) == Path("/there/cerify/adapters")
    assert engines.cache_folder({}) == Path.home() / ".cache" / "cerify" / "adapters"


def test_each_adapter_has_a_name() -> None:
    programs = {path.parent.name for path in JAVA.glob("*/pom.xml")} - {"protocol", "template"}
    assert set(engines.JAVA_ADAPTERS) == programs
    assert set(engines.SHIPPED) == programs | {"core", "opencep"}


@pytest.mark.parametrize("name", engines.JAVA_ADAPTERS)
def test_a_missing_program_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    kit = "a Java development kit, 17 or newer"
    with pytest.raises(InputError, match=f"needs {kit} and Maven: java, javac, mvn are not on the PATH"):
        engines.command_of(name)


def test_a_runtime_without_a_compiler_is_not_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: None if program == "javac" else program)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert "development kit, 17 or newer: javac is not on the PATH" in (engines.missing_for("esper") or "")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "javac").write_text("")
    assert engines.missing_for("esper") is None


@pytest.mark.parametrize("name", engines.JAVA_ADAPTERS)
def test_an_adapter_is_a_module_of_the_build_with_a_page(name: str) -> None:
    adapter = engines.JAVA_ADAPTERS[name]
    assert f"<module>{adapter.module}</module>" in (JAVA / "pom.xml").read_text()
    assert (JAVA / adapter.module / "README.md").exists()


def test_sase_needs_a_checkout_with_its_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(shutil, "which", lambda program: program)
    monkeypatch.delenv("CERIFY_SASE_HOME", raising=False)
    with pytest.raises(InputError, match=r"the sase adapter needs a checkout of SASE; .* CERIFY_SASE_HOME is not set"):
        engines.command_of("sase")
    monkeypatch.setenv("CERIFY_SASE_HOME", str(tmp_path))
    with pytest.raises(InputError, match=r"no build/sase\.jar is there"):
        engines.command_of("sase")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "sase.jar").write_text("")
    assert engines.missing_for("sase") is None


def test_an_evaluator_that_needs_a_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)
    assert "pip install 'cerify[fast]'" in (engines.missing_for("kernel") or "")
    assert engines.missing_for("automaton") is None


def test_the_command_lists_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(command.engines_command, ["--json"], standalone_mode=False)
    rows = {row["name"]: row for row in map(json.loads, result.output.splitlines())}
    assert list(rows) == list(engines.NAMES)
    assert result.return_value == 1
    assert rows["automaton"]["missing"] is None
    assert "Java" in rows["flink"]["missing"]
