"""The mutants are found again wherever they stand, and a change that no test finds is counted as a survivor."""

from __future__ import annotations

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from proofs_tests.mutation import table
from proofs_tests.mutation.mutants import DELETION, Mutant, lines_of, mutants, mutated
from proofs_tests.mutation.run import Outcome, outcome_of
from proofs_tests.mutation.table import as_object, equivalents, killers, page, write_killers
from proofs_tests.mutation.targets import AREAS, LITERAL, ROOT, checks_of, deletions, group_of, modules, sample, source

MODULE = '''"""A module."""
from cerify.semantics.cel import syntax as cel
LINEAR = (cel.Seq, cel.Or)
Label = tuple[int, cel.Seq]

def f(x, y):
    """What it does."""
    if not x < 1 and y:
        x += 1
    for n in range(x):
        raise ValueError("less than 1")
    match x:
        case cel.And() | cel.All():
            return min(x, y)
        case _:
            return {a for a in x | y if a}
'''


def changes(text: str) -> list[str]:
    return [f"{m.function or 'top'}: {m.kind}: {m.change}" for m in mutants("m.py", text)]


def test_the_mutants_of_a_module() -> None:
    assert changes(MODULE) == [
        "top: operator deleted: cel.Seq of (cel.Seq, cel.Or) → deleted",
        "top: operator deleted: cel.Or of (cel.Seq, cel.Or) → deleted",
        "f: statement deleted: if not x < 1 and y: x += 1 → deleted",
        "f: and/or swapped: not x < 1 and y → not x < 1 or y",
        "f: operand dropped: not x < 1 and y → y",
        "f: operand dropped: not x < 1 and y → not x < 1",
        "f: negation removed: not x < 1 → x < 1",
        "f: comparison swapped: x < 1 → x <= 1",
        "f: constant changed: 1 → 2",
        "f: constant changed: 1 → 0",
        "f: statement deleted: x += 1 → deleted",
        "f: constant changed: 1 → 2",
        "f: constant changed: 1 → 0",
        "f: bound moved: range(x) → range(x - 1)",
        "f: bound moved: range(x) → range(0 + 1, x)",
        "f: statement deleted: raise ValueError('less than 1') → deleted",
        "f: case deleted: case cel.And() | cel.All() → deleted",
        "f: operator deleted: cel.And() of case cel.And() | cel.All() → deleted",
        "f: operator deleted: cel.All() of case cel.And() | cel.All() → deleted",
        "f: min/max, any/all swapped: min(x, y) → max(x, y)",
        "f: arguments swapped: min(x, y) → min(y, x)",
        "f: condition negated: {a for a in x | y if a} → {a for a in x | y if not a}",
        "f: operation swapped: x | y → x & y",
        "f: operand returned: x | y → x",
        "f: operand returned: x | y → y",
        "f: condition dropped: if a → no condition",
    ]


def test_a_mutant_is_found_again_where_the_text_has_moved() -> None:
    moved = MODULE.replace("    match x:", "    # a comment\n\n    match (\n        x\n    ):")
    assert [m.key for m in mutants("m.py", moved)] == [m.key for m in mutants("m.py", MODULE)]
    for before, after in zip(mutants("m.py", MODULE), mutants("m.py", moved), strict=True):
        assert ast.dump(mutated(before, moved)) == ast.dump(mutated(after, MODULE))


def test_each_mutant_differs_from_the_module_and_from_the_others() -> None:
    trees = {ast.dump(mutated(m, MODULE)) for m in mutants("m.py", MODULE)} | {ast.dump(ast.parse(MODULE))}
    assert len(trees) == len(mutants("m.py", MODULE)) + 1


def test_a_mutant_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KeyError, match="x < 2"):
        mutated(Mutant("m.py", "f", 6, "comparison swapped", "x < 2 → x <= 2", 0), MODULE)


def test_the_lines_of_a_function_are_those_of_its_body() -> None:
    text = (
        "class A:\n    def f(self):\n        def g():\n            return 1\n\n        return g\n\ndef f():\n    pass\n"
    )
    assert lines_of(text, "A.f") == range(3, 7)
    assert lines_of(text, "A.f.g") == range(4, 5)
    assert lines_of(text, "A") is None
    assert lines_of(text, "") is None


def test_which_mutants_are_taken_depends_on_no_other_module() -> None:
    taken = sample(["automata/minimize.py", "semantics/cel/show.py"])
    assert taken == [*sample(["automata/minimize.py"]), *sample(["semantics/cel/show.py"])]
    assert len(taken) == len({m.key for m in taken}) == 4


@pytest.mark.thorough
def test_there_are_enough_mutants_and_all_are_python() -> None:
    """At least 150 of the definitions and what they use, and 300 of the rest."""
    taken = sample(modules())
    groups = [group_of(m.module) for m in taken]
    assert len(taken) - groups.count("other") >= 150
    assert groups.count("other") >= 300
    for mutant in taken[::25]:
        compile(mutated(mutant, source(mutant.module)), mutant.module, "exec")


def test_of_the_tables_of_operators_some_are_taken_or_all() -> None:
    paths = ["semantics/cel/operators.py", "semantics/cel/extent.py"]
    every, some = deletions(paths), deletions(paths, 3)
    assert len(some) == 3 < len(every)
    assert {m.key for m in some} <= {m.key for m in every}
    assert {m.kind for m in every} == {DELETION}


def test_the_tests_that_are_named_are_there() -> None:
    named = {test.split()[0] for area in AREAS for test in area.tests} | {test.split()[0] for test in LITERAL}
    assert [test for test in sorted(named) if not (ROOT / "proofs_tests" / test).exists()] == []
    assert [area.prefix for area in AREAS if not any(path.startswith(area.prefix) for path in modules())] == []


def test_the_definitions_are_definitions_and_predicates_are_shared() -> None:
    definitions = [path for path in modules() if path.endswith("/denote.py")]
    assert len(definitions) == 5
    assert {group_of(path) for path in definitions} == {"definition"}
    assert group_of("semantics/predicates.py") == "shared"
    assert set(LITERAL) - set(checks_of("semantics/predicates.py")) == {
        "unit/semantics/row_pattern",
        "unit/workbench/commands",
    }
    assert checks_of("semantics/cel/extent.py")[0] == "unit/semantics/cel/test_extent.py"
    assert group_of("automata/minimize.py") == "other"


def test_each_mutant_that_is_said_to_be_equivalent_is_still_there() -> None:
    for (module, function, change, number), reason in equivalents().items():
        mutated(Mutant(module, function, 0, "", change, number), source(module))
        assert reason.endswith(".")


def test_the_status_of_a_mutant_and_the_page() -> None:
    one, two, three, *_ = (replace(m, module="automata/minimize.py") for m in mutants("m.py", MODULE))
    found = [Outcome(one, "a.py::test", (0.1, 0.2)), Outcome(two, None, (1.0,)), Outcome(three, None, (2.0,))]
    rows = [as_object(outcome, {three.key: "It is the same."}) for outcome in found]
    assert [(row["status"], row["by"]) for row in rows] == [
        ("killed", "a.py::test"),
        ("survived", None),
        ("equivalent", "It is the same."),
    ]
    text = page(rows)
    assert "| `automata/minimize.py` | 3 | 1 | 1 | 1 |" in text
    assert "## Survivors\n\n| module | function | change |\n|---|---|---|\n| `automata/minimize.py` |  |" in text
    assert "| It is the same. |" in text
    assert "Not run yet" not in text
    assert "Not run yet: 1 mutants of modules that are new or have changed, `automata/minimize.py`." in page(
        rows, [one]
    )


def test_a_test_in_which_the_time_ran_out_is_what_killed_the_mutant() -> None:
    mutant = mutants("m.py", MODULE)[0]
    begun = ['{"begins": "import"}', '{"by": null, "seconds": 0.5}', '{"begins": "a.py"}', '{"begins": "a.py::test"}']
    assert outcome_of(mutant, begun) == Outcome(mutant, "a.py::test (time)", (0.5,))
    assert outcome_of(mutant, [*begun, '{"by": "a.py::test", "seconds": 1}']).by == "a.py::test"
    assert outcome_of(mutant, begun[:2]).by is None


def test_what_killed_a_mutant_is_written_down_for_the_next_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(table, "KILLERS", tmp_path / "killers.jsonl")
    assert killers() == {}
    one, two = mutants("m.py", MODULE)[:2]
    write_killers([as_object(Outcome(one, "a.py::test", ()), {}), as_object(Outcome(two, None, ()), {})])
    assert killers() == {one.key: "a.py::test"}


@pytest.mark.thorough
def test_what_killed_a_mutant_is_timed_also_where_it_is_thorough() -> None:
    """In a process in which nothing of cerify is imported."""
    test = "proofs_tests/unit/automata/test_dfa_evaluate.py::test_more_masks_than_fit_into_a_number[3]"
    code = f"from proofs_tests.mutation.measured import times_of; print(*times_of({{{test!r}}}, 1, compiled=False))"
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.stdout.split() == [test], ran.stderr


@pytest.mark.thorough
def test_the_command_kills_the_mutants_of_a_module() -> None:
    command = [sys.executable, "-m", "proofs_tests.mutation", "semantics/cel/facts.py", "--jobs", "1"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " killed" in ran.stdout
