"""The recorded run of MATCH_RECOGNIZE: threads row by row, or the search in its order; the definition's matches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest

from cerify.api import record
from cerify.automata.row_pattern.compile import compile_pattern
from cerify.automata.row_pattern.evaluate import ThreadSimulation
from cerify.draw.recording import MOST_STEPS, Recording
from cerify.draw.stepper import stepper
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_pattern.tables import numbered

FALLS = "DEFINE D AS x < PREV(x), U AS x > PREV(x)"


def run(clause: str, values: str) -> Recording:
    return record(f"MATCH_RECOGNIZE ({clause})", numbered(values, "x"), "row-pattern")


def rows(recording: Recording) -> list[list[str]]:
    """Of each step the rows of the table: the labels, and what becomes of the last one."""
    return [[f"{row.holder} - {row.fate}" for row in step.rows] for step in recording.steps[1:]]


@pytest.mark.parametrize("seeds", sampled([30, 120], [30]))
@pytest.mark.parametrize("profile", PROFILES)
def test_the_matches_are_those_of_the_definition(profile: str, seeds: int) -> None:
    kinds = Counter[str]()
    for seed in range(seeds):
        q, S = case(Random(f"{profile} {seed}"), PROFILES[profile], 6, 6)
        q = replace(q, measures=(), rows="one") if q.window is None else q
        try:
            steps = record(show(q), S, "row-pattern").steps
        except BudgetExceeded:
            continue
        expected = list(find_matches(q, S))
        assert [found.match for step in steps for found in step.found] == expected, show(q)
        kinds["matched" if expected else "none"] += 1
    assert min(kinds["matched"], kinds["none"]) > seeds // 12


def test_a_row_of_threads_in_the_order_of_preferment() -> None:
    """At row 3 both labels are tried after the same rows: D is preferred and fails, U completes the match."""
    falls = run(f"PATTERN (D+ U+) {FALLS}", "5 4 3 6 2")
    assert rows(falls)[3] == [
        "D D D - ends: x < PREV(x) is false, where x is 6, PREV(x) is 3",
        "D D U - taken, and the match is complete: x > PREV(x), where x is 6, PREV(x) is 3",
    ]
    assert falls.steps[4].text == (
        "Search for match 1 from row 1. Row 3 (id 4, x 6): 2 threads tried, 1 goes on. Complete so far: D D U."
    )
    assert [sorted(falls.diagram.states[q].name for q in step.active) for step in falls.steps][:5] == [
        [], [], ["D"], ["D"], ["U"],
    ]  # fmt: skip
    assert falls.steps[5].text.endswith("Match 1: rows 1 2 3. The search goes on from row 4.")


def test_what_is_cut() -> None:
    """A less preferred thread in the same state, and one after a thread that is complete."""
    assert rows(run("PATTERN ((A | A) B)", "1 1"))[0] == [
        "A - taken: it has no condition",
        "A - taken: it has no condition",
    ]
    assert rows(run("PATTERN ((A | A) B)", "1 1"))[1] == [
        "A B - taken, and the match is complete: it has no condition",
        "A B - cut: a preferred thread is complete",
    ]
    assert rows(run("PATTERN ((A | A) B* C $)", "1 1 1"))[1][2] == "A B - cut: a preferred thread is in the same state"


def test_a_condition_on_the_match_is_searched_in_order() -> None:
    """A is preferred; B is true only after one row of A, so the second A is given back."""
    searched = run("PATTERN (A+ B) DEFINE B AS COUNT(A.*) = 1", "1 1 1")
    assert [step.text.split("x 1): ")[1] for step in searched.steps[1:]] == [
        "tried as A, and taken.",
        "tried as A, and taken.",
        "tried as B, and not taken.",
        "given back as A.",
        "tried as B, and taken. Match 1: rows 0 1. The search goes on from row 2.",
        "no label can be tried. No match begins there.",
    ]
    assert rows(searched)[2] == [
        "0 A - ",
        "1 A - Then: B.",
        "2 B - not taken: COUNT(A.*) = 1 is false, where COUNT(A.*) is 2",
    ]
    assert rows(searched)[3][-1] == "1 A - given back: nothing that follows leads to a match"


def test_what_has_failed_is_not_tried_again() -> None:
    fates = [fate for step in rows(run("PATTERN ((A | B)* C) DEFINE C AS COUNT(*) = 9", "1 1 1 1")) for fate in step]
    assert any("it has failed before" in fate for fate in fates)


def test_empty_matches_windows_and_the_end() -> None:
    assert run("PATTERN (A*?)", "1").steps[-1].text == (
        "Search for match 1 from row 0. Row 0 (id 1, x 1): the empty match is preferred to all others. "
        "An empty match. No row is left."
    )
    assert "no thread can begin. No match begins there." in run("PATTERN (^ A)", "1 2").steps[-1].text
    window = "WINDOW (ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW SEEK PATTERN (A) "
    sought = record(f"{window}DEFINE A AS x = 2)", numbered("1 2", "x"), "row-pattern")
    assert [(one.match.at, one.match.events) for step in sought.steps for one in step.found] == [(0, (1,)), (1, (1,))]


def test_what_cannot_be_recorded() -> None:
    with pytest.raises(BudgetExceeded, match=f"more than {MOST_STEPS} steps by row"):
        run("AFTER MATCH SKIP TO NEXT ROW PATTERN (A+)", " ".join("1" * 60))
    with pytest.raises(IllFormed, match="again and again"):
        run("AFTER MATCH SKIP TO A PATTERN (A)", "1")


def test_the_page_has_the_fates_and_what_is_over_is_struck_out() -> None:
    text = stepper(run(f"PATTERN (D+ U+) {FALLS}", "5 4 6 1"))
    assert "What becomes of the last label" in text
    assert '<tr class="gone"><th scope="row"><code>D D</code>' in text
    assert "One step back" in text
    assert 'max="4"' in text  # six steps, numbered from -1


def test_threads_are_the_states_of_a_match() -> None:
    def states(pattern: str, length: int) -> Sequence[int] | None:
        q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
        return ThreadSimulation(q, compile_pattern(q.pattern), {}, length).match_at(0, 1)

    assert states("A | A B", 2) == [0]
    assert states("A B $", 3) is None
