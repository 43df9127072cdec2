"""Cached machine code: an edit of anything that a loop is made of is seen, wherever the cache is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

numba = pytest.importorskip("numba")
jit = pytest.importorskip("cerify.automata.evaluate.jit")

ROOT = Path(__file__).parents[3]
LOOPS = sorted(
    "cerify." + str(path.relative_to(ROOT).with_suffix("")).replace("/", ".").removeprefix("workbench.")
    for folder in ("automata", "workbench")
    for path in (ROOT / folder).rglob("*.py")
    if "evaluate.jit import" in path.read_text(encoding="utf-8")
)

TOY = {
    "__init__": "",
    "constants": "STEP = 1",
    "part": """
from cerify.automata.evaluate.jit import {decorator}
from toy.constants import STEP

@{decorator}
def moved(x):
    return x + STEP
""",
    "loop": """
from cerify.automata.evaluate.jit import {outer}
from toy.part import moved

@{outer}
def run(n):
    x = 0
    for _ in range(n):
        x = moved(x)
    return x
""",
}
RUN = """
from toy.loop import run
print(run(5), sum(run.stats.cache_hits.values()), run.stats.cache_path)
"""


def ran(folder: Path, code: str = RUN, *arguments: str, **environment: str) -> list[str]:
    kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    there = {**kept, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=there, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.split()


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return written(tmp_path, "inlined", "compiled")


def written(folder: Path, decorator: str, outer: str) -> Path:
    (folder / "toy").mkdir()
    for name, text in TOY.items():
        source = text.replace("{decorator}", decorator).replace("{outer}", outer)
        (folder / "toy" / f"{name}.py").write_text(source)
    return folder


def test_a_loop_is_logged_if_it_is_not_in_the_cache(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    cache = object.__new__(jit._LoopCache)
    cache._name = "run"
    with caplog.at_level("INFO", logger="cerify"):
        for found in ("machine code", None):
            monkeypatch.setattr(jit._FunctionCache, "load_overload", lambda *_, found=found: found)
            assert cache.load_overload(None, None) == found
    assert [record.getMessage() for record in caplog.records] == ["compiling run"]


def test_a_compilation_is_announced_once(toy: Path) -> None:
    code = """
import logging, sys
from cerify.cli import CompilationNotice
from toy.loop import run
sys.stderr = sys.stdout
logging.getLogger("cerify").setLevel(logging.INFO)
logging.getLogger("cerify").addHandler(CompilationNotice())
run(5), run(5.0)
"""
    assert " ".join(ran(toy, code)).count("compiling loops") == 1
    assert ran(toy, code) == []  # both are in the cache


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("decorator", "outer"),
    [
        ("inlined", "compiled"),
        pytest.param("part", "bare", marks=pytest.mark.thorough),
        pytest.param("compiled", "compiled", marks=pytest.mark.thorough),
    ],
)
def test_an_edit_of_a_part_or_of_a_constant_is_seen(tmp_path: Path, decorator: str, outer: str) -> None:
    toy = written(tmp_path, decorator, outer)
    assert ran(toy)[:2] == ["5", "0"]
    before = cached(toy)
    assert ran(toy)[:2] == ["5", "1"]  # from the cache
    assert cached(toy) == before
    (toy / "toy/constants.py").write_text("STEP = 3")
    assert ran(toy)[:2] == ["15", "0"]
    after = cached(toy)
    assert len(before) == len(after) == 2
    assert not before & after, "the files of other versions are removed"
    part = toy / "toy/part.py"
    part.write_text(part.read_text().replace("x + STEP", "x - STEP"))
    assert ran(toy)[:2] == ["-15", "0"]


def cached(toy: Path) -> set[str]:
    """The names of the files with machine code."""
    return {path.name for path in (toy / "toy/__pycache__").glob("*.nb?")}


def test_only_files_of_the_same_loop_and_the_same_python_are_removed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(jit._FunctionCache, "save_overload", lambda *_: None)
    cache = jit._LoopCache(jit.sources)
    here, folder = cache._impl.filename_base, Path(cache.cache_path)
    other_sources, other_python = f"{here.rpartition('-')[0]}-0", here.replace(".py3", ".py2")
    stays = {f"{here}.nbi", f"{here}.1.nbc", f"{other_python}.nbi", f"other{here}.nbi", "notes.txt"}
    for name in (*stays, f"{other_sources}.nbi", f"{other_sources}.1.nbc"):
        (folder / name).write_text("")
    cache.save_overload(None, None)
    assert {path.name for path in folder.iterdir()} == stays


@pytest.mark.thorough
def test_a_folder_that_cannot_be_written_is_replaced_by_the_cache_folder_of_the_user(toy: Path, tmp_path: Path) -> None:
    (toy / "toy/__pycache__").write_text("not a folder")
    user = tmp_path / "user"
    for hits in ("0", "1"):
        result, found, path = ran(toy, XDG_CACHE_HOME=str(user), HOME=str(user), LOCALAPPDATA=str(user))
        assert (result, found) == ("5", hits)
        assert Path(path).is_relative_to(user)
    (toy / "toy/constants.py").write_text("STEP = 3")
    assert ran(toy, XDG_CACHE_HOME=str(user), HOME=str(user), LOCALAPPDATA=str(user))[:2] == ["15", "0"]


def test_without_any_folder_the_loops_run_all_the_same(toy: Path) -> None:
    (toy / "toy/__pycache__").write_text("not a folder")
    nowhere = str(toy / "toy/__pycache__/nowhere")
    assert ran(toy, "from toy.loop import run; print(run(5))", XDG_CACHE_HOME=nowhere, HOME=nowhere) == ["5"]


@pytest.mark.thorough
def test_several_processes_may_fill_the_cache_at_once(toy: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(toy), "PYTHONDONTWRITEBYTECODE": "1"}
    processes = [
        subprocess.Popen([sys.executable, "-c", RUN], env=environment, cwd=toy, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    assert [process.communicate()[0].split()[0] for process in processes] == ["5", "5"]


def test_the_loops_are_found() -> None:
    assert "cerify.automata.nfab.kernels" in LOOPS
    assert len(LOOPS) >= 6


@pytest.mark.thorough
def test_the_fingerprint_covers_all_modules_that_the_loops_import() -> None:
    """What an import of each module loads, beside packages, is what `sources` reads."""
    code = """
import sys
from importlib import import_module

for module in sys.argv[1:]:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cerify"]:
        del sys.modules[name]
    import_module("cerify")
    before = set(sys.modules)
    import_module(module)
    loaded = {m for m in set(sys.modules) - before if m.startswith("cerify.")}
    from cerify.automata.evaluate.jit import fingerprint, sources
    found = sources(module)
    print(*sorted(m for m in loaded - set(found) if not hasattr(sys.modules[m], "__path__")))
    loops = [f for f in vars(sys.modules[module]).values() if hasattr(f, "py_func") and f.__module__ == module]
    assert loops
    for f in loops:
        if f.targetoptions.get("inline", "never") == "never" and not f.targetoptions.get("forceinline"):
            assert f._cache._impl.filename_base.endswith(fingerprint(module)), f
"""
    assert ran(ROOT, code, *LOOPS, PYTHONPATH="") == []


# ---- loops as python ----
# The compiled loops run as Python, where an index out of bounds is an error; machine code writes over other memory.

FILES = (
    "test_dfa_evaluate.py",
    "test_evaluate.py",
    "test_evaluator.py",
    "test_nfab.py",
    "test_row_pattern_compiled.py",
    "test_scope.py",
)


@pytest.mark.thorough
@pytest.mark.parametrize("file", FILES)
def test_the_loops_stay_within_their_arrays(file: str) -> None:
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        "-m",
        "not thorough",
        Path(__file__).with_name(file),
    ]
    ran = subprocess.run(command, env={**os.environ, "NUMBA_DISABLE_JIT": "1"}, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:]
