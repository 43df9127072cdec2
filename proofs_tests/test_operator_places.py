"""One operator, few places: how many files of the product name the class of an operator of CEL.

Each file that names it has a case for it, which somebody who adds an operator has to find. An operator of a kind
(cel.Restriction, cel.Preference, cel.Iteration, cel.Sequencing) has those of its kind. The numbers are those of today:
they may go down, and nothing may make them go up. The aim is 10 for a primitive operator, 4 for a derived one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from cerify.semantics.cel.syntax import OPERATORS
from proofs_tests.test_walk import TOP, imports_in

SYNTAX = "cerify.semantics.cel.syntax"
FOLDERS = ("semantics", "automata", "equivalence", "workbench")

FILES: dict[str, int] = {
    "EventAtom": 36,
    "Or": 26,
    "Seq": 21,
    "ContiguousSeq": 19,
    "And": 20,
    "All": 18,
    "Unless": 25,
    "Plus": 20,
    "ContiguousPlus": 17,
    "Start": 16,
    "Strict": 19,
    "Max": 11,
    "Last": 12,
    "Next": 12,
    "In": 33,
    "Filter": 35,
    "Project": 28,
    "PartitionBy": 26,
    "PerKey": 29,
    "Within": 28,
    "Repeat": 4,
    "ContiguousRepeat": 4,
    "NextPlus": 3,
    "Until": 3,
}
"""The most files that name each class, the file that defines it included."""


def named_in(path: Path) -> Iterator[str]:
    """The classes of CEL's syntax that the code of a file names, by whatever name it imports them or their module."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported = dict(imports_in(tree))
    is_syntax = path == TOP / "semantics" / "cel" / "syntax.py"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            place = imported.get(node.value.id)
            if place is not None and place.module == SYNTAX and not place.name:
                yield node.attr
        elif isinstance(node, ast.Name):
            place = imported.get(node.id)
            if place is not None and place.module == SYNTAX and place.name:
                yield place.name
            elif is_syntax:
                yield node.id


@cache
def files() -> Counter[str]:
    """For each class the number of files that name it."""
    found: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in sorted((TOP / folder).rglob("*.py")):
            found.update(set(named_in(path)))
    return found


@pytest.mark.parametrize("name", [node.__name__ for node in OPERATORS])
def test_no_more_files_name_an_operator(name: str) -> None:
    assert name in FILES, f"{files()[name]} files name {name}: add a line to FILES"
    assert files()[name] <= FILES[name], f"{files()[name]} files name {name}; derive what can be from its row or fold"


def test_a_name_is_counted_by_where_it_is_imported_from(tmp_path: Path) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        "from z3 import And\nfrom cerify.semantics.cel import syntax as cel\n"
        "from cerify.semantics.cel.syntax import Or as Either\nx = And, cel.Unless, Either, cel.Unless\n"
    )
    assert set(named_in(file)) == {"Unless", "Or"}
