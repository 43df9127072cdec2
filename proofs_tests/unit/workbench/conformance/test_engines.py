"""The engines by name: where an adapter is built, and what is said where it cannot be."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from click.testing import CliRunner

from cerify import protocol
from cerify.commands import conform as command
from cerify.conformance import engines, harness
from cerify.conformance.harness import EngineProcess, Excerpt, Limits
from cerify.languages import language
from cerify.semantics.errors import InputError

# ---- engines ----
#

JAVA = engines.ADAPTERS / "java"
CRATES = {name: one for name, one in engines.SHIPPED.items() if isinstance(one, engines.CrateAdapter)}


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
    assert set(engines.SHIPPED) == programs | {"core", "nools", "opencep", *CRATES} | set(engines.PACKAGE_ADAPTERS)
    shipped = {path.name for path in (engines.ADAPTERS / "python").glob("*_adapter.py")}
    named = [*engines.PACKAGE_ADAPTERS.values(), *CRATES.values()]
    assert {adapter.program for adapter in named} == shipped
    assert all(re.fullmatch(r"[\w-]+==[\d.]+", one) for a in engines.PACKAGE_ADAPTERS.values() for one in a.packages)


@pytest.mark.parametrize("name", CRATES)
def test_the_crate_is_the_pinned_one(name: str, ran: list[list[str]], tmp_path: Path) -> None:
    crate = CRATES[name]
    folder, program = engines.ADAPTERS / "rust" / crate.crate, engines.ADAPTERS / "python" / crate.program
    asked = rf'^{crate.package} = ({{ version = )?"={re.escape(crate.version)}"'
    assert re.search(asked, (folder / "Cargo.toml").read_text(), re.MULTILINE)
    assert f'name = "{crate.package}"\nversion = "{crate.version}"' in (folder / "Cargo.lock").read_text()
    assert crate.version in program.read_text()
    command = crate.command(name, tmp_path)
    assert command[1:] == [str(program), *crate.arguments, str(crate.built(tmp_path))]
    assert ran[0][:4] == ["cargo", "build", "--quiet", "--release"]
    assert not crate.is_ready(tmp_path)
    crate.built(tmp_path).parent.mkdir(parents=True)
    crate.built(tmp_path).write_text("")
    ran.clear()
    assert crate.command(name, tmp_path) == command
    assert ran == []


def test_npm_installs_the_pinned_version_once(ran: list[list[str]], tmp_path: Path) -> None:
    adapter = engines.SHIPPED["nools"]
    assert isinstance(adapter, engines.NpmAdapter)
    program = adapter.home(tmp_path) / adapter.program
    for _ in range(2):
        assert adapter.command("nools", tmp_path) == ["node", str(program)]
    assert [(words[:2], words[-1]) for words in ran] == [(["npm", "install"], "nools@0.4.4")]
    assert program.read_bytes() == (engines.ADAPTERS / "javascript" / adapter.program).read_bytes()


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


def test_an_engine_runs_on_a_newer_java_than_builds_its_adapter(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is the one of JAVA_HOME or of the folder of development kits, if that on the PATH is older."""
    monkeypatch.setattr(shutil, "which", lambda program: str(tmp_path / "old" / "bin" / program))
    monkeypatch.setattr(engines, "JAVA_FOLDER", tmp_path)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    for name, version in (("old", "17.0.15"), ("new", "25.0.1")):
        (tmp_path / name / "bin").mkdir(parents=True)
        (tmp_path / name / "bin" / "java").write_text("")
        (tmp_path / name / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    assert engines.find_java(17) == "java"
    assert engines.find_java(25) == str(tmp_path / "new" / "bin" / "java")
    assert engines.missing_for("trino") is None
    (tmp_path / "new" / "release").unlink()
    assert "needs Java 25 or newer to run Trino 483" in (engines.missing_for("trino") or "")


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
    with pytest.raises(InputError, match=r"contains no build/sase\.jar"):
        engines.command_of("sase")
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "sase.jar").write_text("")
    assert engines.missing_for("sase") is None


def test_an_evaluator_that_needs_a_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(language, "find_spec", lambda name: None)
    assert "pip install 'cerify[fast]'" in (engines.missing_for("kernel") or "")
    assert engines.missing_for("automaton") is None


def test_the_command_lists_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", "")
    result = CliRunner().invoke(
        command.engines_command, ["--json", "--engine-dir", str(tmp_path)], standalone_mode=False
    )
    shown = CliRunner().invoke(command.engines_command, ["--engine-dir", str(tmp_path)], env={"COLUMNS": "80"})
    assert [name for name in engines.NAMES if f"\n  {name} " not in shown.output] == []
    rows = {row["name"]: row for row in map(json.loads, result.output.splitlines())}
    assert list(rows) == list(engines.NAMES)
    assert result.return_value == 1
    assert rows["automaton"]["missing"] is None
    assert "Java" in rows["flink"]["missing"]
    assert [rows[name]["state"] for name in ("automaton", "flink", "epigrep")] == ["ready", "missing", "installable"]


# --- engines that a package brings ------------------------------------------------------------------------------------


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run to build and install, in the place of running them: a new environment is a folder."""
    commands: list[list[str]] = []

    def run(command: Sequence[str], **_: object) -> SimpleNamespace:
        commands.append(list(map(str, command)))
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
        return SimpleNamespace(returncode=0, stdout="", stderr="")

    monkeypatch.setattr(engines.subprocess, "run", run)
    return commands


def test_an_engine_is_installed_once_and_by_its_version(
    ran: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    adapter = engines.PACKAGE_ADAPTERS["epigrep"]
    assert not adapter.is_ready(tmp_path)
    command = engines.command_of("epigrep", tmp_path)
    assert "installing epigrep 0.2 in" in capsys.readouterr().err
    home = Path(command[1]).parent
    assert home.parent == tmp_path
    assert [words[1:3] for words in ran] == [["-m", "venv"], ["-m", "pip"], [str(home / adapter.program)]]
    assert ran[1][-1] == "epigrep==0.2.0"
    assert ran[2] == command  # started once, so that what it prepares is there
    assert {path.relative_to(home).as_posix() for path in home.rglob("*.py")} == {adapter.program, "cerify/adapter.py"}
    assert adapter.is_ready(tmp_path)
    ran.clear()
    (home / adapter.program).write_text("of another version of cerify")
    assert engines.command_of("epigrep", tmp_path) == command
    assert (ran, capsys.readouterr().err) == ([], "")
    assert (home / adapter.program).read_bytes() == (engines.ADAPTERS / "python" / adapter.program).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [home.name]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("", "took more than 60 minutes"),
        ("Could not find a version that satisfies epigrep==0.2.0", "cannot be built without the package registry"),
        ("error: command 'gcc' failed", "cannot be built: "),
    ],
)  # fmt: skip
def test_what_cannot_be_installed_leaves_nothing(
    output: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def run(command: list[str], **_: object) -> SimpleNamespace:
        if not output:
            raise engines.subprocess.TimeoutExpired(command, engines.BUILD_SECONDS)
        return SimpleNamespace(returncode=1, stdout="", stderr=output)

    monkeypatch.setattr(engines.subprocess, "run", run)
    result = CliRunner().invoke(command.conform_command, ["--engine", "epigrep", "--engine-dir", str(tmp_path)])
    assert isinstance(result.exception, InputError)
    assert said in result.exception.message
    assert output in result.exception.message
    assert list(tmp_path.iterdir()) == []


def test_another_python_is_used_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    adapter = engines.PackageAdapter("x.py", "x", "MIT", ("x==1",), ("9.9",))
    programs = {"python9.9": "/there/python9.9"}
    monkeypatch.setattr(shutil, "which", programs.get)
    answered = SimpleNamespace(returncode=0, stdout="/there/python9.9.1\n")
    monkeypatch.setattr(engines.subprocess, "run", lambda *_, **__: answered)
    assert adapter.python() == ["/there/python9.9.1", "-m", "venv"]
    answered.returncode = 1  # as a version manager's program that has no such version
    assert adapter.python() is None
    assert adapter.missing() == "Python 9.9: install it, or uv, which brings one"
    programs["uv"] = "/there/uv"
    assert adapter.python() == ["/there/uv", "venv", "--quiet", "--seed", "--python", "9.9"]
    mine = engines.PackageAdapter(
        "x.py", "x", "MIT", ("x==1",), (f"{sys.version_info.major}.{sys.version_info.minor}",)
    )
    assert mine.python() == [sys.executable, "-m", "venv"]


@pytest.mark.parametrize("pip", [[sys.executable, "-m", "pip"], ["/there/uv", "tool", "run", "--quiet", "pip"]])
def test_the_registries_are_asked_for_newer_versions(monkeypatch: pytest.MonkeyPatch, pip: list[str]) -> None:
    """An environment made by uv has no pip, so uv brings one."""
    asked: list[Sequence[str]] = []

    def package(words: Sequence[str]) -> str:
        return words[words.index("versions") + 1]

    def ask(words: Sequence[str]) -> str:
        asked.append(words)
        told = "[INFO]   io.trino:trino-main ....... 483 -> 484\n"
        pinned = dict(one.packages[0].split("==") for one in engines.PACKAGE_ADAPTERS.values())
        return told if words[0] == "mvn" else f"x ({pinned[package(words)]})" if "pip" in words else "version: 9"

    monkeypatch.setattr(engines, "_ask", ask)
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: name if "-m" in pip else None)
    monkeypatch.setattr(engines.shutil, "which", lambda name: f"/there/{name}")
    result = CliRunner().invoke(command.engines_command, ["--outdated", "--json"], standalone_mode=False)
    rows = {row["name"]: row for row in map(json.loads, result.output.splitlines())}
    assert result.return_value == 1
    assert rows["trino"] == {"name": "trino", "package": "io.trino:trino-main", "pinned": "483", "newest": "484"}
    assert rows["epigrep"]["newest"] == rows["epigrep"]["pinned"] == "0.2.0"
    assert rows["esper"]["newest"] == rows["esper"]["pinned"]
    by_pip = {package(words): words for words in asked if "pip" in words}
    assert by_pip["pycer"][-2:] == ["--python-version", "3.13"]
    assert all(words[: len(pip)] == pip for words in by_pip.values())
    monkeypatch.setattr(engines, "_ask", lambda words: "no versions")
    with pytest.raises(InputError, match="answered without a version"):
        CliRunner().invoke(command.engines_command, ["--outdated"], standalone_mode=False, catch_exceptions=False)


# ---- process ----
# Processes of engines, and what they write: nothing is left running, and long answers are read in linear time.

DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), flush=True)
        os.close(1)
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process other than the first")
def test_a_daemon_that_forked_twice_is_ended_with_its_engine() -> None:
    """Its parent is gone and its session is its own: neither the group nor the tree of processes leads to it."""
    with EngineProcess([sys.executable, "-c", DAEMON], Limits()) as engine:
        line = engine.early(60)
        assert line is not None
        daemon = psutil.Process(int(line))
        assert daemon.is_running()
    assert not daemon.is_running() or daemon.status() == psutil.STATUS_ZOMBIE
    assert engine._process.returncode is not None  # waited for, so that no zombie is left of the engine


def test_of_a_long_standard_error_the_first_and_the_last_lines_are_shown() -> None:
    """Node prints the message at the top and Python at the bottom; lines are not cut."""
    excerpt = Excerpt()
    lines = ["Error: boom in A", *(f"    at frame {number:05} of the stack" for number in range(5_000)), "Node.js v20"]
    for line in lines:
        excerpt.add(f"{line}\n")
    shown = excerpt.text().splitlines()
    assert (shown[0], shown[-1]) == ("Error: boom in A", "Node.js v20")
    assert set(shown) <= {*lines, "..."}
    assert len(excerpt.text()) <= 2 * harness.SHOWN_STDERR + 5
    excerpt.clear()
    excerpt.add("out of ")
    excerpt.add("luck\n")
    assert excerpt.text() == "out of luck"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux hands orphans to a process other than the first")
def test_what_cannot_be_ended_is_a_warning_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    running = iter([True] * 300)
    monkeypatch.setattr(harness, "_runs", lambda child: next(running))
    monkeypatch.setattr(harness, "KILLED", 0.1)
    engine = EngineProcess([sys.executable, "-c", DAEMON], Limits())
    assert engine.early(60) is not None
    with pytest.warns(UserWarning, match="has left processes that cannot be ended"):
        engine.close()


def answer(**match: object) -> str:
    return json.dumps({"id": "1", "matches": [{"at": 0, "events": [0]} | match]})


@pytest.mark.parametrize(
    ("wrong", "problem"),
    [
        ({"bindings": {"X": ["0"]}}, 'is not of type "integer"'),
        ({"bindings": {"X": [0, -1]}}, "is less than the minimum of 0"),
        ({"events": [0, 2.0]}, "a position is a whole number"),
    ],
)
def test_all_of_a_long_match_is_checked(wrong: dict[str, Any], problem: str) -> None:
    bindings = {f"X{i}": [0] for i in range(5_000)} | wrong.get("bindings", {})
    events = [0] * 5_000 + wrong.get("events", [])
    with pytest.raises(InputError, match=problem):
        protocol.answer_of_json(
            protocol.parse_message(answer(bindings=bindings, events=events), "answer"), "valuations", 3
        )


@pytest.mark.parametrize(
    ("parts", "kept"),
    [
        ({"skipped": "long"}, ["why"]),
        ({"skipped": "", "link": "long"}, ["link"]),
        ({"error": {"code": "internal", "message": "long"}}, ["message"]),
    ],
)
def test_a_long_text_of_an_engine_is_cut_where_it_is_read(parts: dict[str, Any], kept: list[str]) -> None:
    """Texts of 60 MB for each case were kept for the report, until there was no memory left."""
    text = json.dumps({"id": "1", **parts}).replace("long", "é" * 12_345)
    given = protocol.answer_of_json(protocol.parse_message(text, "answer"), "matches", 3)
    assert [getattr(given, name) for name in kept] == ["é" * 10_000 + "… (2,345 more characters)"]
    assert len(str(given)) < 11_000


def test_the_name_of_an_engine_is_cut_where_it_is_read() -> None:
    started = {"protocol": 1, "engine": {"name": "n" * 10_001, "version": "v" * 10_000}, "languages": []}
    info = protocol.info_of_json(protocol.parse_message(json.dumps(started), "started"))
    assert (info.name, info.version) == ("n" * 10_000 + "… (1 more characters)", "v" * 10_000)


def test_the_message_about_a_wrong_match_with_many_positions_is_short() -> None:
    obj = protocol.parse_message(answer(events=list(range(10_000))), "answer")
    given = protocol.answer_of_json(obj, "matches", 3)
    assert isinstance(given, protocol.MatchesAnswer)
    assert 0 < len(given.problem) < 11_000


def test_a_message_about_many_positions_is_short() -> None:
    obj = protocol.parse_message(answer(events=[0] * 100_000), "answer")
    given = protocol.answer_of_json(obj, "matches", 3)
    assert isinstance(given, protocol.MatchesAnswer)
    assert len(str(given)) < 1_000
