"""The wheel alone in an environment of its own: the sizes of both, and the CPU time of its commands."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from shutil import copytree, ignore_patterns
from statistics import median
from tempfile import TemporaryDirectory

from proofs_tests.benchmarks.figure import RUNS, Figure

ROOT = Path(__file__).parents[2]
FARM = str(ROOT / "workbench" / "examples" / "farm.csv")
QUERY = "(T ; H) FILTER T.tmp > 40 AND T.id = H.id"
COMMANDS: dict[str, tuple[list[str], int, str, float | None]] = {
    "check": (["check", QUERY], 0, "no problems", 0.2),
    "grade": (["grade", "cel-then", "Open : Close"], 1, "wrong", 0.2),
    "equiv": (["equiv", "NXT(T ; H)", "LAST(T ; H)"], 1, "on none shorter", 0.2),
    "match": (["match", QUERY, FARM], 0, "3 matches in", 0.2),
    "explain": (["explain", QUERY, FARM, "--match", "1,7"], 1, "is not a match", None),
}
"""The arguments, the exit status, a part of what is printed, and the CPU seconds that it may take."""


def build_wheel(folder: Path) -> Path:
    """The wheel, built from a copy of the sources, so that no earlier build is in it."""
    unwanted = (".*", "build", "dist", "target", "*.egg-info", "__pycache__", "cerify-report")
    copy = copytree(ROOT, folder / "sources", ignore=ignore_patterns(*unwanted))
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(copy)]
    built = subprocess.run(command, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr[-2000:]
    return next(folder.glob("*.whl"))


def environment(folder: Path, wheel: Path, python: str = sys.executable) -> tuple[Path, list[Path]]:
    """A virtual environment of that Python with the wheel and no extra: its Python, and the files that were added."""
    subprocess.run([python, "-m", "venv", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    before = {path for path in site.rglob("*") if path.is_file()}
    made = folder / "bin" / "python"
    subprocess.run([made, "-m", "pip", "install", "-q", wheel], check=True)
    return made, [path for path in site.rglob("*") if path.is_file() and path not in before]


def command_of(python: Path, name: str) -> list[str]:
    """A command of the environment, run once. Raises AssertionError where it does not print what it should."""
    arguments, status, shown, _ = COMMANDS[name]
    command = [str(python.with_name("cerify")), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert (ran.returncode, ran.stderr) == (status, ""), (command, ran.stderr)
    assert shown in ran.stdout, (command, ran.stdout)
    return command


def installed(quick: bool) -> Iterator[Figure]:
    """The sizes of the wheel and of what it installs, pip aside; and its commands, against Python without a program."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        wheel = build_wheel(folder)
        python, files = environment(folder / "environment", wheel)
        for name, added in (("wheel", [wheel]), ("size", files)):
            size = sum(path.stat().st_size for path in added) / 1e6
            yield Figure(f"installed.{name}", size, "MB", "itself", 1.0, 1, (size, size))
        for name, (_, _, _, most) in COMMANDS.items():
            command = command_of(python, name)
            pairs = [(_seconds(command), _seconds([str(python), "-c", ""])) for _ in range(RUNS)]
            taken = sorted(mine for mine, _ in pairs)
            value, ratio = median(taken), median(mine / base for mine, base in pairs)
            target, met = (None, None) if most is None else (f"≤ {most} s", value <= most)
            spread = (taken[0], taken[-1])
            yield Figure(f"installed.{name}.cpu", value, "s", "starting Python", ratio, RUNS, spread, target, met)


def _seconds(command: list[str]) -> float:
    """The CPU seconds of a process, from its start to its end."""
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, capture_output=True)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
