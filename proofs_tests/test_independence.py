"""What each definition shares with what it judges is what docs/theory/independence.md lists, and nothing else."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "theory" / "independence.md"
FOLDERS = {"semantics": "cerify.semantics", "automata": "cerify.automata", "equivalence": "cerify.equivalence"}
MODULES = {
    ".".join(
        [package, *(part for part in path.relative_to(ROOT / folder).with_suffix("").parts if part != "__init__")]
    ): path
    for folder, package in FOLDERS.items()
    for path in (ROOT / folder).rglob("*.py")
}

DEFINITION_AND_JUDGED = {
    "Event expressions": (
        ("cerify.semantics.event_expressions.interpreter",),
        ("cerify.automata.dfa", "cerify.equivalence.decide.checker"),
    ),
    "CEL and core-CEL": (
        ("cerify.semantics.cel.interpreter", "cerify.semantics.core_cel.interpreter"),
        ("cerify.automata.cea", "cerify.automata.evaluate"),
    ),
    "MATCH_RECOGNIZE": (("cerify.semantics.row_pattern.interpreter",), ("cerify.automata.row_pattern",)),
    "EQL": (("cerify.semantics.eql.denote",), ("cerify.automata.eql",)),
    "SASE+": (
        ("cerify.semantics.sase.denote", "cerify.semantics.sase.interpreter"),
        (
            "cerify.automata.nfab",
            "cerify.equivalence.rewrite.translate_sase",
        ),
    ),
}
"""By language of the page: the modules of the definition, and the modules and packages that it judges."""

CLAUSES_OF_CEL = {f"cerify.semantics.cel.{name}" for name in ("denote", "interpreter")}


def imports(module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                name = f"{node.module}.{alias.name}"
                yield from (found for found in (name if name in MODULES else node.module,) if found in MODULES)


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the project that a module imports, also for types only."""
    return frozenset(imports(module))


def closure(starts: tuple[str, ...]) -> set[str]:
    """The modules, those of packages among them, and all that they import directly or indirectly."""
    pending = [m for m in MODULES for start in starts if m == start or m.startswith(f"{start}.")]
    found: set[str] = set()
    while pending:
        module = pending.pop()
        if module not in found:
            found.add(module)
            pending.extend(imported(module))
    return found


def listed(language: str) -> set[str]:
    """Return the modules that the table of the page has for this language."""
    rows = re.findall(r"^\| (`semantics[^|]*) \| ([^|]*) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {languages.removeprefix("all but ").casefold() for _, languages in rows} <= {
        "all",
        *(name.casefold() for name in DEFINITION_AND_JUDGED),
    }
    own = [
        modules
        for modules, languages in rows
        if languages.casefold() in ("all", language.casefold())
        or (languages.startswith("all but ") and languages != f"all but {language}")
    ]
    return set(re.findall(r"`([a-z_.]+)`", " ".join(own)))


@pytest.mark.parametrize("language", DEFINITION_AND_JUDGED)
def test_what_is_shared_is_on_the_page(language: str) -> None:
    definition, judged = DEFINITION_AND_JUDGED[language]
    assert listed(language) == {m.removeprefix("cerify.") for m in closure(definition) & closure(judged)}


def test_a_reading_is_no_part_of_the_closure_of_the_other_side() -> None:
    """The check sees a planted import: the definition's scopes are not among what the automata import."""
    definition, judged = DEFINITION_AND_JUDGED["Event expressions"]
    scopes = "cerify.semantics.event_expressions.denote"
    assert scopes in closure(definition)
    assert scopes not in closure(judged)
    assert scopes in closure((*judged, "cerify.semantics.event_expressions.check"))


def test_a_decider_uses_the_definition_for_replays_only() -> None:
    """The decider of event expressions imports their syntax alone; decide.replay asks the definition for it."""
    package = "cerify.semantics.event_expressions"
    found = {m.removeprefix(f"{package}.") for m in imported("cerify.equivalence.decide.expressions") if package in m}
    assert found == {"syntax"}


def test_the_deciders_of_cel_use_the_definition_for_replays_only() -> None:
    """One module imports it: for differences, and for streams which show that a formula is not in CEL*."""
    folders = ("cerify.automata.", "cerify.equivalence.decide.", "cerify.equivalence.bounded.")
    found = {m for m in MODULES if m.startswith(folders) and CLAUSES_OF_CEL & imported(m)}
    assert found == {"cerify.equivalence.decide.replay"}
