"""One operator, few places: how many files of the product name the class of an operator of CEL.

Each file that names it has a case for it, which somebody who adds an operator has to find. An operator of a kind
(cel.Restriction, cel.Preference, cel.Iteration, cel.Sequencing) has those of its kind. The numbers are those of today:
they may go down, and nothing may make them go up. The aim is 10 for a primitive operator, 4 for a derived one.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cerify import plan
from cerify.automata.cea.compile import compile_cel
from cerify.automata.evaluate import evaluation_plan
from cerify.automata.evaluate.scope import strip_windows
from cerify.equivalence.decide import keys_and_windows
from cerify.equivalence.rewrite import normal_forms, simplify
from cerify.equivalence.rewrite.translate_core_cel import to_core_cel
from cerify.explanations import cel_rejection
from cerify.hypotheses import cel as hypotheses
from cerify.semantics.cel import check, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS
from cerify.semantics.errors import InternalError
from cerify.semantics.events import Event, Stream
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
    "Unless": 26,
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
    "PerKey": 30,
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


class Novel(cel._WithOperands):
    """A primitive operator that no function knows."""


NOVEL: Any = Novel(cel.Filter(cel.EventAtom("A"), cel.Every("A", cel.SMALL)), cel.EventAtom("B"))
JUDGES: dict[str, Callable[[], object]] = {
    "uses of variables": lambda: [*check.unused(NOVEL)],
    "definite variables": lambda: check._definite(NOVEL),
    "meaning": lambda: interpreter.valuations(NOVEL, Stream([Event("A")]), 0),
    "automaton": lambda: compile_cel(NOVEL),
    "windows around it": lambda: strip_windows(NOVEL),
    "its bindings": lambda: evaluation_plan.analyze_bindings(NOVEL),
    "over-approximation": lambda: evaluation_plan._anywhere(NOVEL),
    "always bound": lambda: keys_and_windows.always_bound(NOVEL),
    "binds last": lambda: keys_and_windows.binds_last(NOVEL),
    "bindable": lambda: normal_forms.bindable(NOVEL),
    "IN pushed down": lambda: normal_forms.bound(NOVEL, "X", None),
    "renamed": lambda: normal_forms.renamed(NOVEL, "A", "X"),
    "without matches": lambda: [*simplify.simplify_nothing(NOVEL)],
    "inside it": lambda: [*simplify.places(NOVEL)],
    "core-CEL": lambda: to_core_cel(NOVEL),
    "reach": lambda: plan._reach(NOVEL, [None, None], True),
    "local": lambda: cel_rejection.is_local(NOVEL),
    "derivation": lambda: [
        *cel_rejection._derive(NOVEL, frozenset(), 0, 0, interpreter.Interpreter(S=cel_rejection.Stream([])))
    ],
    "relaxed": lambda: [*cel_rejection.points(NOVEL)],
    "counts": lambda: cel_rejection.counts(NOVEL, 3),
    "filters at events": lambda: hypotheses.at_events(NOVEL, "A", cel.Every("A", cel.SMALL)),
    "alternatives": lambda: [*hypotheses.alternatives(NOVEL)],
}
"""Functions that claim something about an operator."""


@pytest.mark.parametrize("name", JUDGES)
def test_an_operator_without_a_case_is_refused(name: str) -> None:
    """No class stands for all operators of two operands, so that none has a meaning that nobody has thought of."""
    with pytest.raises((AssertionError, InternalError)):
        JUDGES[name]()


def test_each_operator_is_said_to_look_at_one_match_or_not() -> None:
    """Under PARTITION BY an operator that looks beyond one match is reported; a new one needs an entry."""
    of_one_match = "event or seq and all plus start in filter project partition perkey within repeat"
    beyond = [o.name for node, o in OPERATORS.items() if any(kind in check.EFFECTS for kind in node.__mro__)]
    assert sorted([*beyond, *of_one_match.split()]) == sorted(o.name for o in OPERATORS.values())
