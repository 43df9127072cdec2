"""The shape of the code: types, style, import order, what an import costs, how long a module may be."""

import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from grimp import ImportGraph

from proofs_tests import shape
from proofs_tests.contracts import AllowListContract

ROOT = Path(__file__).parent.parent
THEORY = ("semantics", "automata", "equivalence")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["mypy"], marks=pytest.mark.thorough),  # it reads half a minute where it never ran before
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
        ["importlinter.cli", "lint-imports"],
    ],
    ids=["types", "lint", "format", "imports"],
)
def test_checks_pass(command: list[str]) -> None:
    if command[0] == "importlinter.cli":
        arguments = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as c; c()"]
    else:
        arguments = [sys.executable, "-m", *command]
    ran = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


@pytest.mark.parametrize("use", ["", "cerify.match('A', [cerify.Event('A')])"])
def test_importing_cerify_is_light(use: str) -> None:
    """import cerify loads neither Arrow nor any other heavy library, nor does a match of events; only the parser's."""
    code = f"import sys, cerify\n{use}\nprint(','.join(sorted({{m.split('.')[0] for m in sys.modules}})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    heavy = {
        "pyarrow",
        "numpy",
        "pandas",
        "lark",
        "jinja2",
        "jsonschema_rs",
        "rich",
        "click",
        "pyspark",
        "z3",
        "numba",
    }
    assert (heavy - {"lark"} if use else heavy).isdisjoint(loaded.strip().split(","))


Z3 = {
    "automata/algebra/solver.py",
    "equivalence/bounded.py",
    "equivalence/decide/row_solver.py",
    "equivalence/eql/checker.py",
    "equivalence/eql/letters.py",
    "semantics/packages.py",
}


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("numba", {"automata/evaluate/jit.py", "automata/dfa/kernels.py", "automata/row_pattern/kernels.py"}),
        ("z3", Z3),
    ],
)
def test_a_heavy_library_is_imported_where_it_belongs(library: str, home: set[str]) -> None:
    for folder in (*THEORY, "workbench"):
        for path in (ROOT / folder).rglob("*.py"):
            imports = re.search(rf"\b(from|import) {library}\b", path.read_text(encoding="utf-8")) is not None
            assert imports == (str(path.relative_to(ROOT)) in home), path.relative_to(ROOT)


def test_every_module_says_what_it_is_for() -> None:
    for folder in (*THEORY, "workbench", "proofs_tests"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if text.strip():
                assert text.lstrip().startswith(('"""', "r'''", 'r"""')), f"{path.relative_to(ROOT)} has no docstring"


@cache
def _trees() -> dict[str, ast.Module]:
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for folder in (*THEORY, "workbench")
        for path in sorted((ROOT / folder).rglob("*.py"))
    }


def _broken(rule: Callable[[ast.Module], Iterator[int]]) -> list[str]:
    return [f"{path}:{line}" for path, tree in _trees().items() for line in rule(tree)]


@pytest.mark.thorough
def test_no_default_takes_an_operator_that_is_added() -> None:
    assert not _broken(shape.open_defaults)


def test_an_open_default_is_found() -> None:
    planted = "match x:\n  case A():\n    pass\n  case B(y) | C(y):\n    pass\n  case _:\n    {}"
    assert list(shape.open_defaults(ast.parse(planted.format("return None")))) == [6]
    assert not list(shape.open_defaults(ast.parse(planted.format("assert_never(x)"))))


def test_functions_are_small() -> None:
    """Compiled loops are as long as they need to be: automata/evaluate/jit.py says why."""
    assert not [where for where in _broken(shape.large_functions) if "kernel" not in where]


def test_a_large_function_is_found() -> None:
    assert not list(shape.large_functions(ast.parse("def f():\n" + "    pass\n" * 99)))
    assert list(shape.large_functions(ast.parse("def f():\n" + "    pass\n" * 100))) == [1]


def test_only_plug_ins_and_the_plan_ask_for_a_language_or_an_evaluator() -> None:
    home = (
        "workbench/languages/",
        "workbench/plan.py:",
        "workbench/conformance/adapters/",
    )  # these are programs
    assert not [where for where in _broken(shape.switches) if not where.startswith(home)]


@pytest.mark.parametrize(
    "planted", ["x = name == 'sase'", "match name:\n  case 'kernel':\n    pass", "x = {'cel': f, 'core-cel': g}"]
)
def test_a_switch_on_a_language_or_an_evaluator_is_found(planted: str) -> None:
    assert len(list(shape.switches(ast.parse(planted)))) == 1


def test_no_evaluator_is_chosen_by_catching_an_exception() -> None:
    """Where evaluators are chosen the reason against one is a value; elsewhere it may become a message or an answer."""
    choosing = ("automata/evaluate/", "automata/nfab/", "automata/dfa/", "workbench/spark/", "workbench/plan.py:")
    choosing += ("workbench/api.py:", "workbench/plan.py:", "workbench/conformance/defects.py:")
    choosing += ("workbench/languages/cel.py:", "workbench/languages/core_cel.py:", "workbench/languages/language.py:")
    assert not [where for where in _broken(shape.refusals_caught) if where.startswith(choosing)]


@pytest.mark.parametrize("caught", ["Unsupported", "(Unsupported, BudgetExceeded)", "errors.Unsupported"])
def test_a_choice_by_an_exception_is_found(caught: str) -> None:
    planted = f"try:\n  f()\nexcept {caught}:\n  g()"
    assert list(shape.refusals_caught(ast.parse(planted))) == [3]


def test_nothing_is_unpickled_or_executed() -> None:
    """Query text and files are data."""
    for folder in (*THEORY, "workbench"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            for word in ("import pickle", "eval(", "exec(", "shell=True", "Lark.load("):
                # Spark asks for a method of that name of whoever makes a table function
                assert word not in text.replace("_eval(", "").replace("def eval(", ""), (
                    f"{word} in {path.relative_to(ROOT)}"
                )


def test_an_import_that_is_not_on_the_allow_list_breaks_it() -> None:
    """The contract finds a planted import of the definition, and an entry of the list that nothing imports."""
    graph = ImportGraph()
    for module in (
        "cerify",
        "cerify.semantics",
        "cerify.semantics.syntax",
        "cerify.semantics.denote",
        "cerify.automata",
    ):
        graph.add_module(module)
    options = {"importers": ["cerify.automata"], "package": "cerify.semantics", "allowed": ["syntax"]}
    contract = AllowListContract(name="", session_options={}, contract_options=options)
    assert contract.check(graph, verbose=False).metadata == {"links": [], "unused": ["cerify.semantics.syntax"]}
    graph.add_import(importer="cerify.automata", imported="cerify.semantics.syntax")
    assert contract.check(graph, verbose=False).kept
    graph.add_import(importer="cerify.automata", imported="cerify.semantics.denote")
    assert contract.check(graph, verbose=False).metadata["links"] == [("cerify.automata", "cerify.semantics.denote")]


def test_commands_start_without_large_packages() -> None:
    """Importing them would take longer than all of a short command."""
    modules = ", ".join(f"cerify.commands.{name}" for name in ("match", "equiv", "grade", "simplify", "explain"))
    loaded = "[name for name in ('numba', 'numpy', 'pandas', 'pyarrow', 'z3') if name in sys.modules]"
    command = [sys.executable, "-c", f"import sys, {modules}; print({loaded})"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "[]"
