"""The tree of labellings: its ends are the labellings of the definition in their order, its other leaves say why."""

from __future__ import annotations

from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner

from cerify.api import preference_tree
from cerify.commands import explain
from cerify.draw.diagram import MOST_STATES, Diagram, svg
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.row_pattern.denote import Meaning, visible_rows
from cerify.semantics.row_pattern.interpreter import RowOutput, RowStepBudget
from cerify.semantics.row_pattern.scalars import STANDARD
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import numbered


def tree(clause: str, values: str, row: int = 0) -> Diagram:
    return preference_tree(f"MATCH_RECOGNIZE ({clause})", numbered(values, "x"), row)


def leaves(diagram: Diagram) -> list[str]:
    """From the first to the last: the labels on the way to a leaf, and the lines beside its arrow."""
    found, pending = [], [(0, "")]
    while pending:
        state, way = pending.pop()
        below = [edge for edge in diagram.edges if edge.source == state]
        pending += [(edge.target, f"{way} {diagram.states[edge.target].name}") for edge in reversed(below)]
        if not below:
            lines = (line for edge in diagram.edges if edge.target == state for line in edge.lines)
            found.append(": ".join((way.strip(), *lines)))
    return found


@pytest.mark.parametrize("seeds", sampled([40, 150], [40]))
@pytest.mark.parametrize("profile", PROFILES)
def test_the_ends_are_the_labellings_of_the_definition(profile: str, seeds: int) -> None:
    compared = 0
    for seed in range(seeds):
        q, S = case(Random(f"{profile} {seed}"), PROFILES[profile], 5, 4)
        if not S:
            continue
        found = preference_tree(show(q), S, 0)
        if any("Not drawn" in note for note in found.notes):
            continue
        made = RowOutput(q, S)
        partition, s = made.place[0]
        visible = visible_rows(made.q, s, len(partition))
        if s == 0:
            at_row = Meaning(made.q, partition, s, visible, 1, STANDARD, RowStepBudget(20_000))
            labellings = at_row.labellings(made.q.pattern, ())
            expected = [" ".join((*(one.variable for one in w), str(n))) for n, w in enumerate(labellings, 1)]
            assert [leaf for leaf in leaves(found) if leaf[-1:].isdigit() and ":" not in leaf] == expected
            compared += bool(expected)
    assert compared > seeds // 8


def test_why_what_is_preferred_fails() -> None:
    falls = "DEFINE UP AS x > PREV(x), DOWN AS x < PREV(x), TOP AS x > 4"
    found = tree(f"PATTERN ((UP | DOWN)+ TOP) {falls}", "2 3 5", 1)
    assert leaves(found) == [
        "UP UP UP: there is no row",
        "UP UP DOWN: there is no row",
        "UP UP TOP: there is no row",
        "UP DOWN: row 2: x < PREV(x) is false, where x is 5, PREV(x) is 3",
        "UP TOP 1",
        "DOWN: row 1: x < PREV(x) is false, where x is 3, PREV(x) is 2",
    ]
    assert [(edge.lines, edge.kind) for edge in found.edges if edge.kind == "match"] == [
        (("row 1",), "match"),
        (("row 2",), "match"),
    ]
    assert [state.name for state in found.states if state.final] == ["1"]


def test_a_label_that_is_tried_again_later_has_a_node_of_its_own() -> None:
    assert leaves(tree("PATTERN (A B | C | A D)", "1 1")) == ["A B 1", "C 2", "A D 3"]
    assert leaves(tree("PATTERN (A B | A | A C)", "1 1")) == ["A B 1", "A 2", "A C 3"]
    assert leaves(tree("PATTERN (A? $)", "1 1")) == ["A: row 0: nothing can follow"]
    assert leaves(tree("PATTERN (A) DEFINE A AS x > 0", ".")) == ["A: row 0: x > 0 is unknown, where x is NULL"]


def test_what_is_too_much_is_counted_and_the_match_is_there() -> None:
    found = tree("PATTERN ((A | B | C)* D) DEFINE D AS COUNT(*) = 2", "1 1 1 1 1 1")
    assert "A D 1" in leaves(found)
    assert len(found.states) <= MOST_STATES
    assert "more attempts and" in found.notes[-1]
    assert "ordering" not in svg(found)
    endless = tree("PATTERN ((A | B | C)* D) DEFINE D AS x = 2", " ".join("1" * 14))
    assert "at least" in endless.notes[-1]
    assert "no match begins there" in endless.notes[-2]
    with pytest.raises(BudgetExceeded, match="the match at row 0 has 40 rows"):
        tree("PATTERN (A+)", " ".join("1" * 40))


def test_the_number_of_the_match_is_that_of_a_search_there() -> None:
    numbers = "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS MATCH_NUMBER() = 2"
    assert leaves(tree(numbers, "1 1")) == ["A: row 0: MATCH_NUMBER() = 2 is false, where MATCH_NUMBER() is 1"]
    assert leaves(tree("AFTER MATCH SKIP TO A PATTERN (A) DEFINE A AS MATCH_NUMBER() = 2", "1 1", 1))


def test_what_has_no_tree() -> None:
    with pytest.raises(InputError, match="no row 2: the table has 2 rows"):
        tree("PATTERN (A)", "1 1", 2)
    with pytest.raises(Unsupported, match="prefers no match"):
        preference_tree("A ; B", [Event("A")], 0, "cel")


def run(folder: Path, *arguments: str) -> str:
    (folder / "x.csv").write_text("x\n3\n2\n", encoding="utf-8")
    query = "MATCH_RECOGNIZE (PATTERN (A B | A) DEFINE B AS x > 2)"
    options = (query, *arguments, "--language", "row-pattern")
    return CliRunner().invoke(explain.draw_command, options, catch_exceptions=False, standalone_mode=False).output


def test_the_command_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = run(tmp_path, "x.csv", "--tree", "0", "--dot")
    assert "ordering=out;" in text
    assert 'label="row 1: x > 2 is false, where x is 2", style=dashed' in text
    assert run(tmp_path, "x.csv", "--tree", "0", "-o", "t.svg") == "t.svg: 4 nodes, 3 branches\n"
    drawn = (tmp_path / "t.svg").read_text(encoding="utf-8")
    assert "the row cannot have this label" in drawn
    assert "Nodes: " in drawn
    assert "States: " not in drawn
    for options in (["--tree", "0", "--svg"], ["x.csv", "--tree", "0", "--hoa"]):
        with pytest.raises(click.UsageError, match="--tree needs FILE"):
            run(tmp_path, *options)
