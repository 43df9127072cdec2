"""The pictures of the guide are those that the interpreter gives today, and the guide shows all of them."""

import re

import pytest

from proofs_tests.pictures import FOLDER, PICTURES

PAGE = FOLDER.parent / "event-expression-examples.md"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    assert (FOLDER / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name].svg()


def test_the_guide_shows_each_picture_once_and_says_what_it_shows() -> None:
    shown = re.findall(r"!\[([^]]+)\]\(pictures/([\w-]+)\.svg\)", PAGE.read_text(encoding="utf-8"))
    assert sorted(name for _, name in shown) == sorted(PICTURES)
    assert sorted(path.stem for path in FOLDER.iterdir()) == sorted(PICTURES)
