"""The chapters of the theory show the source itself: what a box takes from a file is there, and a link leads to it."""

import ast
import re
from pathlib import Path

import pytest

import cerify
from cerify.semantics.events import Event, Stream

DOCS = Path(__file__).parent.parent / "docs"
BOX = re.compile(r"^```\{literalinclude\} (\S+)\n((?::.*\n)*)```$", re.MULTILINE)
BOXES = [
    (page, found[1], dict(re.findall(r'^:([\w-]+): "?(.*?)"?$', found[2], re.MULTILINE)))
    for page in sorted((DOCS / "theory").glob("*.md"))
    for found in BOX.finditer(page.read_text(encoding="utf-8"))
]


def definition(path: Path, name: str) -> str:
    """The text of a function or class, by its dotted name."""
    text = path.read_text(encoding="utf-8")
    node: ast.AST = ast.parse(text)
    for part in name.split("."):
        inside = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.FunctionDef | ast.ClassDef)]
        node = next(n for n in inside if n.name == part)
    found = ast.get_source_segment(text, node)
    assert found is not None
    return found


def test_every_box_is_read() -> None:
    """A box with a typing error in its head would be shown as it stands, or not checked here."""
    written = sum(page.read_text(encoding="utf-8").count("literalinclude") for page in (DOCS / "theory").glob("*.md"))
    assert len(BOXES) == written > 80


@pytest.mark.parametrize(("page", "path", "options"), BOXES, ids=range(len(BOXES)))
def test_a_box_shows_what_is_in_the_file_and_is_linked(page: Path, path: str, options: dict[str, str]) -> None:
    name = options.get("pyobject")
    file = page.parent / path
    shown = file.read_text(encoding="utf-8") if name is None else definition(file, name)
    start = shown.index(options.get("start-at", ""))
    assert options.get("end-before", "") in shown[start + 1 :]
    text = page.read_text(encoding="utf-8")
    assert f"]({path}#{name})" in text or (f"]({path}" in text and "start-at" in options)


@pytest.mark.parametrize(
    ("page", "language", "query"),
    [
        ("cel.md", "cel", "(A ; B) WITHIN 5 [time]"),
        ("sase-plus.md", "sase", "PATTERN SEQ(A a, B b) WITHIN 5 seconds RETURN a.time"),
    ],
)
def test_a_window_is_closed_in_the_formula_where_it_is_in_the_definition(page: str, language: str, query: str) -> None:
    (sign,) = re.findall(
        r"- (?:\\min_\{.*?\} )?t\(.*?\)+ (<|\\le) w", (DOCS / "theory" / page).read_text(encoding="utf-8")
    )
    S = Stream([Event("A", {"time": 0}), Event("B", {"time": 5})])
    found = cerify.match(query, S, language=language, evaluator="denotational")
    assert bool(found) == (sign == r"\le")
