"""The pictures of guide and theory are those that the project draws today, and the pages show all of them."""

import re

import pytest

from proofs_tests.pictures import FOLDER, GROWING, PICTURES, THEORY, row_preference, theory

PAGE = FOLDER.parent / "event-expression-examples.md"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name].svg()


def test_the_guide_shows_each_picture_once_and_says_what_it_shows() -> None:
    shown = re.findall(r"!\[([^]]+)\]\(pictures/([\w-]+)\.svg\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(name for _, name in shown) == sorted(PICTURES)
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted([*PICTURES, "row-preference"])


def test_the_tree_of_labellings_is_up_to_date() -> None:
    assert (FOLDER / "row-preference.svg").read_text(encoding="utf-8") == row_preference()
    assert "(pictures/row-preference.svg)" in (FOLDER.parent / "row-patterns.md").read_text(encoding="utf-8")


def test_the_pictures_of_the_theory_are_up_to_date() -> None:
    """Those that are there are the automata and the evaluators' runs of today, and there are no others."""
    assert {path.name: path.read_text(encoding="utf-8") for path in THEORY.iterdir()} == theory()


def test_the_chapters_show_each_picture_and_say_what_it_shows() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in sorted(THEORY.parent.glob("*.md")))
    shown = re.findall(r"!\[([^]]+)\]\(pictures/([\w-]+\.svg)\)", text)
    assert {file for _, file in shown} == {path.name for path in THEORY.iterdir()}
    assert len(shown) == text.count("](pictures/")
    assert len({said for said, _ in shown}) == len(shown)


@pytest.mark.parametrize(
    ("name", "nodes", "matches"),
    [("lists", 6, 5), ("iteration", 7, 7), ("keys", 7, 3), ("buffer", 6, 3), ("shared", 6, 7)],
)
def test_what_the_growing_pictures_show(name: str, nodes: int, matches: int) -> None:
    run = GROWING[name].run()
    assert (len(run.nodes), sum(len(step.found) for step in run.steps)) == (nodes, matches)
