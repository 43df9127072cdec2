"""Which modules have mutants, how many, and which tests are run against them, in order.

A module of semantics belongs to a *definition* if one of DEFINITIONS imports it, directly or through others, and no
automaton, decider or evaluator does; it is *shared* if both do. All others are *other*. What a decider imports for the
replay of its witnesses by the definition does not count.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Literal, TypeAlias

from proofs_tests.mutation.mutants import DELETION, Mutant, mutants

ROOT = Path(__file__).parent.parent.parent
TESTS = ROOT / "proofs_tests"
Group: TypeAlias = Literal["definition", "shared", "other"]

NUMBERS: dict[Group, int] = {"definition": 20, "shared": 8, "other": 2}
"""How many mutants of each module are taken, besides the deletions of operators from tables."""

DEFINITIONS = ("/denote.py", "/interpreter.py", "/program.py")
"""How the paths of the definitions end: their clauses, what is around these, and of SASE+ what is made of bindings."""

SUITES = "unit/workbench/conformance"
CEL = f"{SUITES}/test_suite_data.py -k every_case_expects"
CORE_CEL = f"{SUITES}/test_core_cel_suite.py -k 'every_case or running_examples or automaton_agrees'"
EXPRESSIONS = f"{SUITES}/test_event_expression_suite.py -k 'every_case or automata_agree or occurrence_tuple'"
SASE = f"{SUITES}/test_sase_suite.py -k 'every_case and (denotational or automaton)'"
ROW_PATTERN = f"{SUITES}/test_row_pattern_suite.py -k every_case"
COMMANDS = "unit/workbench/commands"
EVERY_OPERATOR = "unit/test_every_operator.py"


@dataclass(frozen=True)
class Area:
    """The modules whose paths begin with a prefix, and the tests that are run against their mutants.

    A test is a file or folder under proofs_tests, with options of pytest. If a module is not sampled, its only mutants
    are tables from which an operator is deleted.
    """

    prefix: str
    tests: tuple[str, ...]
    sampled: bool = True


AREAS = (
    Area(
        "semantics/cel/",
        (
            "unit/semantics/cel/test_denote.py",
            CEL,
            "unit/semantics/test_definitions.py -k 'cel and not core or skipped'",
            "unit/semantics/cel",
            "unit/semantics/test_operators.py",
            "unit/equivalence/test_laws.py",
            "unit/automata/test_cea.py",
            "unit/workbench/test_evaluators.py",
            "properties/test_differential.py -k agrees",
        ),
    ),
    Area(
        "semantics/core_cel/",
        (
            "unit/semantics/core_cel/test_denote.py",
            CORE_CEL,
            "unit/semantics/test_definitions.py -k core",
            "unit/semantics/core_cel",
            "unit/semantics/test_operators.py",
            "unit/automata/test_compile_core.py",
            "unit/workbench/test_core_cel.py",
        ),
    ),
    Area(
        "semantics/event_expressions/",
        (
            "unit/semantics/event_expressions/test_denote.py",
            EXPRESSIONS,
            "unit/semantics/event_expressions",
            "unit/semantics/test_operators.py",
            "unit/automata/test_dfa.py",
            "unit/automata/test_dfa_evaluate.py",
            "unit/automata/test_dfa_scopes.py",
            "unit/automata/test_dfa_parametric.py",
            "unit/equivalence/test_decide_expressions.py",
            "unit/workbench/test_event_expressions.py",
        ),
    ),
    Area(
        "semantics/sase/",
        (
            "unit/semantics/sase/test_denote.py",
            SASE,
            "unit/semantics/sase",
            "unit/semantics/test_operators.py",
            "unit/automata/nfab",
            "unit/workbench/test_sase.py",
            "unit/workbench/test_explain_sase.py",
        ),
    ),
    Area("semantics/row_pattern/", ("unit/semantics/row_pattern", ROW_PATTERN, "unit/automata/row_pattern")),
    Area(
        "semantics/",
        (
            "unit/semantics/test_events.py",
            "unit/semantics/test_readers.py",
            "properties/test_csv_rows.py",
            "properties/test_patterns.py",
            "unit/workbench/test_inputs.py",
            CEL,
            SASE,
            EXPRESSIONS,
            CORE_CEL,
            "unit/semantics",
            "properties/test_kinds.py",
            "properties/test_columns.py",
            "unit/workbench/test_selection.py",
            COMMANDS,
            "unit/automata/test_algebra.py",
            "unit/workbench/test_evaluators.py",
        ),
    ),
    Area(
        "automata/algebra/",
        (
            "unit/automata/test_algebra.py",
            "unit/automata/test_cea.py",
            "unit/equivalence/test_decide.py",
            "unit/automata/test_dfa.py",
            "unit/equivalence/test_decide_expressions.py",
            "unit/automata/test_explosions.py",
        ),
    ),
    Area(
        "automata/cea/",
        (
            "unit/automata/test_cea.py",
            "unit/automata/test_compile_core.py",
            "unit/automata/test_operations.py",
            "unit/automata/test_quotient.py",
            "unit/automata/test_to_cel.py",
            "unit/automata/test_cea_laws.py",
            "unit/automata/test_exhaustive.py",
            "unit/automata/test_sizes.py",
            "unit/automata/evaluate",
            "unit/equivalence/test_decide.py",
            "unit/automata/test_explosions.py",
        ),
    ),
    Area(
        "automata/dfa/",
        (
            "unit/automata/test_dfa.py",
            "unit/automata/test_dfa_evaluate.py",
            "unit/automata/test_dfa_scopes.py",
            "unit/automata/test_dfa_parametric.py",
            "unit/automata/test_dfa_evaluator.py",
            "unit/automata/test_dfa_identities.py",
            "unit/automata/test_dfa_decide.py",
            "unit/automata/test_dfa_star_free.py",
            EXPRESSIONS,
            "unit/equivalence/test_decide_expressions.py",
            "unit/equivalence/expressions",
            "unit/workbench/test_event_expressions.py",
        ),
    ),
    Area(
        "automata/nfab/",
        (
            "unit/automata/nfab/test_run.py",
            "unit/automata/nfab/test_compile.py",
            "unit/automata/nfab",
            SASE,
            "unit/equivalence/translate/test_sase.py",
            "unit/workbench/test_sase.py",
            f"{SUITES}/test_sase_suite.py -k 'every_case and kernel'",
        ),
    ),
    Area(
        "automata/row_pattern/",
        (
            "unit/automata/row_pattern",
            "unit/semantics/row_pattern",
            "unit/workbench/spark/test_row_patterns.py",
            "unit/workbench/test_stepper_rows.py",
            "unit/equivalence/translate/test_rows.py",
        ),
    ),
    Area(
        "automata/",
        (
            "unit/automata/test_evaluate.py",
            "unit/automata/evaluate",
            "unit/automata/test_compiled.py",
            "unit/automata/test_cea.py",
            "unit/automata/test_dfa.py",
            "unit/automata/test_sizes.py",
            "unit/workbench/test_core_cel.py",
            "unit/workbench/test_evaluators.py",
            "unit/workbench/spark/test_runs.py",
            "unit/automata/test_explosions.py",
        ),
    ),
    Area(
        "equivalence/shrink/",
        (
            "unit/equivalence/test_shrink.py",
            "unit/equivalence/test_shrink_sase.py",
            f"{SUITES}/test_shrinking.py",
            "properties/test_shrinking.py",
            "properties/test_differential.py -k 'fault or crash'",
        ),
        sampled=False,
    ),
    Area(
        "equivalence/generate/",
        (
            "unit/equivalence/test_generate.py",
            "unit/equivalence/test_generate_core_cel.py",
            "unit/equivalence/test_generate_expressions.py",
            "unit/equivalence/test_generate_sase.py",
            "unit/equivalence/test_generate_guided.py",
            "unit/equivalence/test_strategies_hypothesis.py",
        ),
        sampled=False,
    ),
    Area("equivalence/differential/", ("unit/equivalence/test_differ.py", "properties/test_differential.py")),
    Area(
        "equivalence/rewrite/translate/",
        (
            "unit/equivalence/translate",
            "unit/equivalence/normal_forms",
            "unit/equivalence/test_simplify.py",
            "unit/automata/nfab/test_evaluate.py -k cel",
        ),
    ),
    Area(
        "equivalence/",
        (
            "unit/equivalence/test_decide.py",
            "unit/equivalence/test_decide_automata.py",
            "unit/equivalence/test_decide_expressions.py",
            "unit/equivalence/test_bounded.py",
            "unit/equivalence/test_exactly.py",
            "unit/equivalence/test_laws.py",
            "unit/equivalence/test_simplify.py",
            "unit/equivalence/test_vacuous.py",
            "unit/equivalence/test_row_conditions.py",
            "unit/equivalence/test_row_clauses.py",
            "unit/equivalence/test_row_tables.py",
            "unit/equivalence/test_strategies_and_lengths.py",
            "unit/equivalence/test_membership.py",
            "unit/equivalence/normal_forms",
            "unit/equivalence/expressions",
            "unit/equivalence/translate",
            f"{COMMANDS}/test_equiv.py",
        ),
    ),
    Area(
        "workbench/conformance/",
        (
            f"{SUITES}/test_small_parts.py",
            f"{SUITES}/test_shrinking.py",
            "unit/workbench/test_html.py",
            "integration/test_harness.py",
            f"{SUITES}/test_suite_data.py",
            SUITES,
            "unit/workbench/commands",
        ),
    ),
    Area(
        "workbench/explanations/",
        (
            "unit/workbench/test_explain.py",
            "unit/workbench/test_explain_sase.py",
            "unit/workbench/test_core_cel.py",
            "unit/workbench/test_event_expressions.py",
            "unit/workbench/test_sase.py",
            "unit/semantics/test_operators.py",
        ),
        sampled=False,
    ),
    Area(
        "workbench/draw/",
        (
            "unit/workbench/test_draw.py",
            "unit/workbench/test_draw_formats.py",
            "unit/workbench/test_pictures.py",
            "unit/workbench/test_stepper.py",
            "unit/workbench/test_stepper_keys.py",
            "unit/workbench/test_stepper_rows.py",
            "unit/workbench/test_preference_tree.py",
        ),
        sampled=False,
    ),
    Area(
        "workbench/",
        (
            "unit/workbench/test_evaluators.py",
            COMMANDS,
            "unit/semantics/test_operators.py",
            "unit/workbench/test_core_cel.py",
            "unit/workbench/test_event_expressions.py",
            "unit/workbench/test_sase.py",
            "test_docs.py -k 'command_lines and not spark'",
        ),
        sampled=False,
    ),
)

LEFT_OUT = ("workbench/spark/", "workbench/conformance/make_", "workbench/conformance/adapters", "workbench/examples/")
"""What needs a Spark session or is a program of its own; what writes the suites, whose cases are data; and faults."""

LITERAL = (
    CEL,
    CORE_CEL,
    EXPRESSIONS,
    SASE,
    ROW_PATTERN,
    "unit/semantics/test_arrow_columns.py",
    "unit/semantics/test_budget.py",
    "unit/semantics/test_errors.py",
    "unit/semantics/test_events.py",
    "unit/semantics/test_packages.py",
    "unit/semantics/test_patterns.py",
    "unit/semantics/test_predicates.py",
    "unit/semantics/test_readings.py",
    "unit/semantics/test_texts.py",
    "unit/semantics/test_trees.py",
    "unit/semantics/test_observed.py",
    "unit/semantics/cel/test_bounded.py",
    "unit/semantics/cel/test_denote.py",
    "unit/semantics/core_cel/test_denote.py",
    "unit/semantics/event_expressions/test_examples.py",
    "unit/semantics/event_expressions/test_denote.py",
    "unit/semantics/sase/test_denote.py",
    *(f"unit/semantics/{language}/test_parse.py" for language in ("cel", "core_cel", "event_expressions", "sase")),
    "unit/semantics/row_pattern",
    *(f"unit/semantics/{language}/test_wellformed.py" for language in ("cel", "core_cel", "event_expressions", "sase")),
    "unit/semantics/cel/test_registered.py",
    "unit/semantics/sase/test_aggregates.py",
    "unit/semantics/sase/test_clauses.py",
    "unit/semantics/sase/test_watch.py",
    "unit/semantics/sase/test_reading.py",
    "unit/semantics/test_readers.py",
    "unit/workbench/test_evaluators.py",
    COMMANDS,
)
"""For shared modules: tests whose expected answers are written down, so that none goes through the changed module."""


def area_of(path: str) -> Area:
    """The area of a module. Raises StopIteration if it has none."""
    return next(area for area in AREAS if path.startswith(area.prefix))


def checks_of(path: str) -> tuple[str, ...]:
    """What is run against a mutant of the module, file by file."""
    listed = LITERAL if group_of(path) == "shared" else (*own_checks(path), EVERY_OPERATOR, *area_of(path).tests)
    return tuple(dict.fromkeys(file for test in listed for file in _files(test)))


def own_checks(path: str) -> tuple[str, ...]:
    """The files of tests that are named after the module, in the folder that mirrors its folder or in one above it."""
    *folders, file = Path(path).parts
    places = (Path("unit", *folders[:n], f"test_{file}") for n in range(len(folders), 0, -1))
    return tuple(place.as_posix() for place in places if (TESTS / place).is_file())


def _files(test: str) -> list[str]:
    """A folder of tests as its files; a file as it is."""
    if not (TESTS / test).is_dir():
        return [test]
    return sorted(path.relative_to(TESTS).as_posix() for path in (TESTS / test).rglob("test_*.py"))


def modules() -> list[str]:
    """The modules of all areas, as paths from the root."""
    folders = ("semantics", "automata", "equivalence", "workbench")
    paths = sorted(path.relative_to(ROOT).as_posix() for f in folders for path in (ROOT / f).rglob("*.py"))
    return [path for path in paths if not path.startswith(LEFT_OUT) and "mutants" not in path]


def sample(paths: Iterable[str]) -> list[Mutant]:
    """The mutants that are taken of these modules, without deletions of operators; the same for the same text."""
    return [mutant for path in paths for mutant in _chosen(path)]


def deletions(paths: Iterable[str], most: int | None = None) -> list[Mutant]:
    """All tables of these modules that have an operator in them, each without one of its entries; at most that many."""
    found = [mutant for path in paths for mutant in mutants(path, source(path)) if mutant.kind == DELETION]
    taken = {mutant.key for mutant in sorted(found, key=_rank)[:most]}
    return [mutant for mutant in found if mutant.key in taken]


def source(path: str) -> str:
    """The text of a module."""
    return (ROOT / path).read_text(encoding="utf-8")


def _chosen(path: str) -> Iterator[Mutant]:
    found = [mutant for mutant in mutants(path, source(path)) if mutant.kind != DELETION]
    number = NUMBERS[group_of(path)] if area_of(path).sampled else 0
    taken = {mutant.key for mutant in sorted(found, key=_rank)[:number]}
    return (mutant for mutant in found if mutant.key in taken)


def _rank(mutant: Mutant) -> str:
    """A number that depends on the mutant alone, so that a change of one function does not choose others elsewhere."""
    return sha256(repr(mutant.key).encode()).hexdigest()


# --- groups -----------------------------------------------------------------------------------------------------------


def group_of(path: str) -> Group:
    """Whether a module is of a definition, shared by it and what is judged by it, or another."""
    definitions, judged = _groups()
    if path in definitions:
        return "shared" if path in judged else "definition"
    return "other"


@cache
def _groups() -> tuple[frozenset[str], frozenset[str]]:
    paths = modules()
    definitions = (path for path in paths if path.endswith(DEFINITIONS))
    judged = (path for path in paths if path.startswith(("automata/", "equivalence/decide/", "equivalence/bounded/")))
    return _imported(definitions), _imported(judged, but=DEFINITIONS)


def _imported(paths: Iterable[str], but: tuple[str, ...] = ()) -> frozenset[str]:
    """The modules, and those that they import, directly or through others, but for those whose path ends so."""
    found: set[str] = set()
    left = list(paths)
    while left:
        if (path := left.pop()) not in found and not path.endswith(but):
            found.add(path)
            left.extend(_imports(path))
    return frozenset(found)


@cache
def _imports(path: str) -> tuple[str, ...]:
    names = []
    for node in ast.parse(source(path)).body:  # not inside `if TYPE_CHECKING` and not inside functions
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("cerify"):
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    places = (name.removeprefix("cerify").lstrip(".").replace(".", "/") + ".py" for name in names)
    return tuple(place for place in places if (ROOT / place).is_file())
