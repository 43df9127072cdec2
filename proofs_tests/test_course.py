"""The course: its pages name parts that the book has and the five papers, and slides are made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cerify.grade.grading import exercises
from cerify.semantics.errors import InputError

pytest.importorskip("latex2mathml")  # of the extra docs
from proofs_tests.browser import CHROMIUM
from proofs_tests.support import sampled
from proofs_tests.tools import make_slides
from proofs_tests.tools.make_slides import COURSE, page_of, parts_of, slides_of

SESSIONS = sorted(COURSE.glob("session-*.md"))
PARTS = ["Goals", "Read", "In the book", "To discuss", "Exercises"]


def test_there_are_eight_sessions_in_the_syllabus() -> None:
    syllabus = (COURSE / "README.md").read_text()
    assert [one.name for one in SESSIONS] == [f"session-{n}.md" for n in range(1, 9)]
    for n, session in enumerate(SESSIONS, 1):
        title, *parts = parts_of(session)
        assert f"- [{title.title}]({session.name})\n" in syllabus
        assert [part.title for part in parts] == PARTS
        assert all(part.blocks for part in parts[:-1])
        assert f"```{{exercises}} {n}\n" in session.read_text()


def test_every_paper_is_read_in_a_session() -> None:
    read = " ".join(
        block.html for one in SESSIONS for part in parts_of(one) if part.title == "Read" for block in part.blocks
    )
    assert all(paper in read for paper in ("tods21", "cep17", "vldb92", "sase07", "icde08"))


@pytest.mark.parametrize("session", sampled(SESSIONS, SESSIONS[::3]), ids=range(1, 9))
def test_a_session_has_slides_of_the_book_and_all_its_exercises(session: Path) -> None:
    """A part that the book has no longer is an InputError."""
    text = page_of(session)
    number = int(session.stem[-1])
    assert text.count("<section ") >= 8
    assert all(f"<code>{e.id}</code>" in text for e in exercises().values() if e.session == number)
    assert "<pre>" in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)


def test_a_part_that_the_book_has_not_is_named(tmp_path: Path) -> None:
    session = tmp_path / "session-1.md"
    session.write_text("# 1. Title\n\n## In the book\n\n- [x](page.md#gone)\n")
    (tmp_path / "page.md").write_text("# Page\n\nText.\n")
    with pytest.raises(InputError, match=r"the book has no part page\.md#gone"):
        page_of(session)


def blocks_of(tmp_path: Path, text: str) -> list[str]:
    """The blocks of slides that are made of a page with the text."""
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{text}")
    (part,) = parts_of(page)
    return [block.html for block in part.blocks]


def test_a_slide_has_the_clause_and_sentences_without_links_to_source(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "def f():\n    match x:\n        case 1:\n            return 2\n        case 3:\n            pass\n"
    )
    text = (
        "One `a. B` here. Two.\n([`f` in code.py](code.py#f),\n[`g` in code.py](code.py#g))\n\n"
        '```{literalinclude} code.py\n:pyobject: f\n:start-at: "case 1"\n'
        ':end-before: "case 3"\n:dedent: 8\n```\n\nGo: see. And so:\n\n```{stepper} A\n```\n'
    )
    assert blocks_of(tmp_path, text) == [
        "<p>One <code>a. B</code> here. Two.</p>\n",
        "<pre><code>case 1:\n    return 2</code></pre>",
        "<p>Go: see.</p>\n",
    ]


def test_a_long_paragraph_ends_with_a_sentence(tmp_path: Path) -> None:
    sentence = f"A {'word ' * 50}end."
    (block,) = blocks_of(tmp_path, f"{sentence} {sentence} Third.\n")
    assert block == f"<p>{sentence}</p>\n"


def test_a_program_stands_on_a_slide_whole_or_by_its_name(tmp_path: Path) -> None:
    short = 'def f():\n    """Text.\n' + "\n" * 20 + '    """\n    return 1\n'
    long = "def g():\n" + "    print()\n" * 30
    (tmp_path / "code.py").write_text(f"{short}\n\n{long}")
    shown = blocks_of(
        tmp_path, "".join(f"```{{literalinclude}} ../{tmp_path.name}/code.py\n:pyobject: {f}\n```\n\n" for f in "fg")
    )
    assert shown[0] == "<pre><code>def f():\n    return 1</code></pre>"
    assert shown[1] == f"<p><code>g</code> is in {tmp_path.name}/code.py.</p>\n"


def test_a_session_stands_on_a_slide_if_its_names_do(tmp_path: Path) -> None:
    session = "```python\n>>> {}\n\n```\n\n"
    texts = ["found('A')", "z = 1\n" + ">>> z\n1\n" * 20, "z", "x = [len(y) for y in 'a']", "match('A', x)", "found(x)"]
    shown = blocks_of(tmp_path, "".join(map(session.format, texts)))
    assert ["x = [len" in shown[0], "match(" in shown[1], len(shown)] == [True, True, 2]


def test_what_a_comment_leaves_to_the_book_is_on_no_slide(tmp_path: Path) -> None:
    assert blocks_of(tmp_path, "One.\n\n<!-- book only -->\n\nTwo.\n\nThree.\n") == ["<p>One.</p>\n", "<p>Three.</p>\n"]


def test_an_example_is_a_query_with_the_drawing_of_its_matches(tmp_path: Path) -> None:
    (html,) = blocks_of(tmp_path, "```{example} A ; B\nA A B\n```\n")
    assert html.startswith("<figure><pre><code>A ; B</code></pre><svg ")
    assert html.count('class="flag"') == 2


@pytest.mark.parametrize("session", sampled(SESSIONS, SESSIONS[::3]), ids=range(1, 9))
def test_slides_break_off_nothing(session: Path) -> None:
    """Each session has a drawing; no program and no paragraph ends in the middle, and no slide is there twice."""
    slides = list(slides_of(session))
    assert len(set(slides)) == len(slides)
    assert any("<svg " in one or "<img " in one for one in slides)
    assert not any("…</code></pre>" in one or re.search(r":</p>\s*$", one) for one in slides)


def test_no_part_of_the_book_is_in_two_sessions() -> None:
    parts = [link for one in SESSIONS for part in parts_of(one) if part.title == "In the book" for link in part.links]
    assert len(set(parts)) == len(parts)


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_slides_are_printed(tmp_path: Path) -> None:
    assert CliRunner().invoke(make_slides.main, ["--out", str(tmp_path), "--pdf"]).exit_code == 0
    assert all((tmp_path / f"{one.stem}.pdf").read_bytes().startswith(b"%PDF") for one in SESSIONS)
