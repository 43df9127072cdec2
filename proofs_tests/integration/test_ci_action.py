"""The action and the container file for other repositories: their commands, run in a folder with a toy engine."""

import json
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent.parent
CI = ROOT / "docs" / "guide" / "ci"
TOY = ROOT / "docs" / "guide" / "adapters" / "toy.py"
SEQ = "--feature seq"
FILES = ("report.html", "junit.xml", "badge.svg", "run.jsonl", "summary.txt")
POLICY = {"profile": 1, "language": "cel", "axes": {"seq": {"value": "next-from-left"}}}


def action() -> Any:
    return yaml.safe_load((CI / "action.yml").read_text(encoding="utf-8"))


def environment(folder: Path) -> dict[str, str]:
    """Of a runner: cerify is on the PATH, and the variables of GitHub are set."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    github = {"GITHUB_ACTION_PATH": str(CI), "GITHUB_STEP_SUMMARY": str(folder / "page.md")}
    return {**os.environ, "PATH": path, **github}


def substituted(text: str, inputs: Mapping[str, str]) -> str:
    """The text with the inputs of the action in their places; an expression of another kind fails."""
    return re.sub(r"\$\{\{ inputs\.(\w+) \}\}", lambda found: inputs[found[1]], text)


def ran(folder: Path, **given: str) -> tuple[list[int], str]:
    """The statuses of the action's steps after the installation, run as GitHub runs them, and what they printed."""
    described = action()
    inputs = {name: one.get("default", "") for name, one in described["inputs"].items()} | given
    statuses, printed = [], ""
    for step in described["runs"]["steps"]:
        if "run" not in step or "Install" in step["name"]:
            continue
        if any(statuses) and step.get("if") != "always()":
            continue
        assert step["shell"] == "bash"
        own = {name: substituted(value, inputs) for name, value in step.get("env", {}).items()}
        assert "${{" not in step["run"] + "".join(own.values()), "an input would be taken for a part of the script"
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        done = subprocess.run(
            command, cwd=folder, env={**environment(folder), **own}, capture_output=True, text=True, timeout=300
        )
        statuses.append(done.returncode)
        printed += done.stdout + done.stderr
    return statuses, printed


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A repository with the engine of the first page, which loses matches of some sequences."""
    (tmp_path / "adapter.py").write_text(TOY.read_text(encoding="utf-8"), encoding="utf-8")
    return tmp_path


@pytest.mark.thorough
def test_a_defect_fails_the_build_until_it_is_in_the_baseline(engine: Path) -> None:
    """The baseline may be the run that is replaced; its files are not taken for those of one that fails to start."""
    command, report = f"{sys.executable} adapter.py", engine / "cerify-report"
    statuses, printed = ran(engine, command=command, options=SEQ)
    assert statuses == [1, 0], printed
    assert all((report / name).stat().st_size > 0 for name in FILES)
    summary = json.loads((report / "run.jsonl").read_text(encoding="utf-8").splitlines()[0])["summary"]
    assert summary["totals"]["failed"] == 6
    assert len(ElementTree.parse(report / "junit.xml").findall(".//failure")) == 6
    page = (engine / "page.md").read_text(encoding="utf-8")
    assert re.search(r"toy 1 +17 +23 ", page)

    statuses, printed = ran(engine, command=command, options=SEQ, baseline="cerify-report/run.jsonl")
    assert statuses == [0, 0], printed
    assert (report / "run.jsonl").stat().st_size
    assert ran(engine, command="exit 7", options=SEQ)[0] == [2, 0]
    assert [path.name for path in report.iterdir()] == ["run.jsonl"]


def test_a_wrong_option_and_an_engine_that_does_not_start_are_no_report(engine: Path) -> None:
    statuses, printed = ran(engine, command="exit 7", options=SEQ)
    assert statuses == [2, 0], printed
    statuses, printed = ran(engine, command=f"{sys.executable} adapter.py", options="--feature nothing", report="other")
    assert statuses == [2, 0], printed
    assert not (engine / "other" / "summary.txt").exists()
    statuses, printed = ran(engine, command="")
    assert statuses == [1, 0]
    assert "COMMAND is not set" in printed
    statuses, printed = ran(engine, command="exit 7", engine="automaton")
    assert statuses == [2, 0]
    assert "leave one of them out" in printed


@pytest.mark.thorough
def test_an_engine_by_name(engine: Path) -> None:
    statuses, printed = ran(engine, engine="automaton", options=SEQ)
    assert statuses == [0, 0], printed
    assert '"failed":0' in (engine / "cerify-report" / "run.jsonl").read_text(encoding="utf-8").partition("\n")[0]


@pytest.mark.thorough
def test_an_engine_of_a_registry(engine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The step installs it at its first use, in the runner's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(engine / "cache"))
    statuses, printed = ran(engine, engine="epigrep", options=f"{SEQ} --diagnosis-limit 20")
    if "without the package registry" in printed:
        pytest.skip("the registry cannot be reached")
    assert statuses == [0, 0], printed
    assert list((engine / "cache" / "cerify" / "adapters").glob("epigrep-*"))
    summary = json.loads((engine / "cerify-report" / "run.jsonl").read_text(encoding="utf-8").splitlines()[0])[
        "summary"
    ]
    assert summary["engine"]["name"] == "epigrep"
    assert summary["totals"]["passed"]


@pytest.mark.thorough
def test_a_policy_and_the_command_as_a_shell_writes_it(engine: Path) -> None:
    """The engine of the page on conformance takes the next event that fits, and says so in a policy."""
    adapter = ROOT / "docs" / "guide" / "adapters" / "next_match.py"
    (engine / "the adapter.py").write_text(adapter.read_text(encoding="utf-8"), encoding="utf-8")
    (engine / "policy.json").write_text(json.dumps(POLICY), encoding="utf-8")
    command = f"echo begun >&2 && {shlex.quote(sys.executable)} 'the adapter.py'"
    statuses, printed = ran(engine, command=command, options=SEQ, policy="policy.json", report="out/of the way")
    assert statuses == [0, 0], printed
    assert (engine / "out" / "of the way" / "badge.svg").exists()


@pytest.mark.thorough
def test_the_rules_that_changed_are_named_with_what_a_converter_makes_of_them(tmp_path: Path) -> None:
    """With a stand-in for the converter, which answers nothing."""
    rules, script = tmp_path / "rules", CI / "rules" / "rules.py"
    rules.mkdir()
    rule = (
        "title: {}\ncorrelation: {{type: event_count, rules: [a], timespan: {}, condition: {{gte: 2}}}}\n"
        "---\nname: a\ntitle: a\nlogsource: {{category: test}}\ndetection: {{s: {{k: x}}, condition: s}}\n"
    )
    for name in ("one", "two"):
        (rules / f"{name}.yml").write_text(rule.format(name, "5s"), encoding="utf-8")
    given = environment(tmp_path) | {"GIT_CONFIG_GLOBAL": "/dev/null"}

    def git(*words: str) -> None:
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *named, *words], cwd=tmp_path, env=given, check=True, capture_output=True)

    def report(**more: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, script], cwd=tmp_path, env=given | more, capture_output=True, text=True, timeout=120
        )
        return done.returncode, (tmp_path / "cerify-report" / "summary.md").read_text(encoding="utf-8")

    git("init", "-q")
    git("add", "rules")
    git("commit", "-qm", "a")
    assert report(BASE="HEAD") == (0, "No rule changed its meaning.\n")
    (rules / "one.yml").write_text(rule.format("one", "6s"), encoding="utf-8")
    status, page = report(BASE="HEAD")
    assert (status, "| one.yml | changed |" in page, "two.yml" in page) == (0, True, False)
    assert 'one.yml is another rule on this log:\n\n```json\n{"@timestamp"' in page
    stand_in = tmp_path / "bin" / "cerify"
    stand_in.parent.mkdir()
    case = {"id": "one.yml:1", "outcome": "failed"}
    summary = {"summary": {"defects": [{"causes": [{"axis": "edge", "value": "open"}], "cases": ["one.yml:1"]}]}}
    lines = "\\n".join(map(json.dumps, (summary, case)))
    real = Path(sys.executable).parent / "cerify"
    stand_in.write_text(f"#!/bin/sh\ntest $1 = conform || exec {real} \"$@\"\nprintf '{lines}\\n'\n", encoding="utf-8")
    stand_in.chmod(0o755)
    status, page = report(BASE="HEAD", CONVERTERS="x", PATH=f"{stand_in.parent}:{given['PATH']}")
    assert (status, "| changed | another meaning (1 of 1 logs): edge=open |" in page) == (1, True)
    assert "such as sigma-sqlite.html in the report, says what each cause means" in page
    (rules / "two.yml").write_text("title: x", encoding="utf-8")
    assert report(BASE="HEAD")[0] == 2
    described = yaml.safe_load((CI / "rules" / "action.yml").read_text(encoding="utf-8"))
    inputs = {name for step in described["runs"]["steps"] for name in re.findall(r"inputs\.(\w+)", str(step))}
    assert inputs == set(described["inputs"])


@pytest.mark.parametrize("version", ["", "0.2.0"])
def test_the_installation_is_of_this_checkout_or_of_a_version(tmp_path: Path, version: str) -> None:
    """With an extra that there is; a stand-in for Python prints what is to be installed."""
    (step,) = (step for step in action()["runs"]["steps"] if "Install" in step.get("name", ""))
    (tmp_path / "python").write_text("#!/bin/sh\necho $@\n")
    (tmp_path / "python").chmod(0o755)
    variables = {**environment(tmp_path), "VERSION": version, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-ec", step["run"]], env=variables, capture_output=True, text=True, check=True)
    found = re.fullmatch(r"-m pip install (.*)\[(\w+)\](.*)\n", done.stdout)
    assert found is not None
    assert (found[1], found[3]) == ("cerify", "==0.2.0") if version else Path(found[1]).resolve() == ROOT
    assert re.search(rf"^{found[2]} = \[", (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)


def test_the_hook_is_of_the_version_that_is_here() -> None:
    page = (ROOT / "docs" / "guide" / "ci.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```yaml\n(repos:.*?)^```", page, re.MULTILINE | re.DOTALL)
    ((hook,),) = (one["hooks"] for one in yaml.safe_load(shown)["repos"])
    version = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert version is not None
    assert hook["additional_dependencies"] == [f"cerify[conform]=={version[1]}"]


def test_the_workflow_gives_the_action_inputs_that_it_has() -> None:
    text = (CI / "workflow.yml").read_text(encoding="utf-8")
    assert f"```yaml\n{text}```" in (ROOT / "docs" / "guide" / "ci.md").read_text(encoding="utf-8")
    (job,) = yaml.safe_load(text)["jobs"].values()
    used = job["steps"][-1]
    assert used["uses"].partition("/cerify/")[2].partition("@")[0] == CI.relative_to(ROOT).as_posix()
    assert set(used["with"]) <= set(action()["inputs"])
    assert {n for n, one in action()["inputs"].items() if one.get("required")} <= set(used["with"])


@pytest.mark.thorough
def test_the_commands_of_the_container_file(engine: Path) -> None:
    """One stage makes the wheel of the checkout, another installs it; the entry point is the script of the action."""
    lines = (CI / "Containerfile").read_text(encoding="utf-8").splitlines()
    commands = [line.partition(" ") for line in lines if line and not line.startswith("#")]
    copies = [rest for name, _, rest in commands if name == "COPY"]
    assert copies[:2] == [". /cerify", "--from=build /wheels /wheels"]
    wheel, packages, install = (rest for name, _, rest in commands if name == "RUN")
    assert wheel == "python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels /cerify"
    subprocess.run(["sh", "-ec", packages], check=True, env={"PATH": os.environ["PATH"], "PACKAGES": ""})
    assert install == 'python -m pip install --no-cache-dir "$(echo /wheels/*.whl)[conform]"'
    ((_, _, entry),) = (command for command in commands if command[0] == "ENTRYPOINT")
    source, target = copies[2].split()
    start = [str(ROOT / source) if part == target else part for part in json.loads(entry)]
    assert str(CI / "conform.sh") in start
    variables = {**environment(engine), "COMMAND": f"{sys.executable} adapter.py", "OPTIONS": SEQ}
    done = subprocess.run(start, cwd=engine, env=variables, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1, done.stderr
    assert (engine / "cerify-report" / "junit.xml").exists()
