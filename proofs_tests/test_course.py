"""The course: its pages name parts that the book has and the five papers, and slides are made of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from cerify.grade.exercises import exercises
from cerify.semantics.errors import InputError

pytest.importorskip("latex2mathml")  # of the extra docs
from proofs_tests.browser import CHROMIUM
from proofs_tests.tools import make_slides
from proofs_tests.tools.make_slides import COURSE, page_of, parts_of, slides_of

SESSIONS = sorted(COURSE.glob("session-*.md"))
PARTS = ["Goals", "Read", "In the book", "To discuss", "Exercises"]


def test_there_are_eight_sessions_in_the_syllabus() -> None:
    syllabus = (COURSE / "README.md").read_text()
    assert [one.name for one in SESSIONS] == [f"session-{n}.md" for n in range(1, 9)]
    for n, session in enumerate(SESSIONS, 1):
        title, *parts = parts_of(session)
        assert f"| [{title.title}]({session.name}) | `cerify grade --session {n}` |" in syllabus
        assert [part.title for part in parts] == PARTS
        assert all(part.blocks for part in parts[:-1])
        assert f"```{{exercises}} {n}\n" in session.read_text()


def test_every_paper_is_read_in_a_session() -> None:
    read = " ".join(
        block.html for one in SESSIONS for part in parts_of(one) if part.title == "Read" for block in part.blocks
    )
    assert all(paper in read for paper in ("tods21", "cep17", "vldb92", "sase07", "icde08"))


@pytest.mark.parametrize("session", SESSIONS, ids=range(1, 9))
def test_a_session_has_slides_of_the_book_and_all_its_exercises(session: Path) -> None:
    """A part that the book has no longer is an InputError."""
    text = page_of(session)
    number = int(session.stem[-1])
    assert len(list(slides_of(session))) >= 8
    assert all(f"<code>{e.id}</code>" in text for e in exercises().values() if e.session == number)
    assert "<pre>" in text
    assert not re.search(r"(?:src|href)=\"(?!data:)", text)


def test_a_part_that_the_book_has_not_is_named(tmp_path: Path) -> None:
    session = tmp_path / "session-1.md"
    session.write_text("# 1. Title\n\n## In the book\n\n- [x](page.md#gone)\n")
    (tmp_path / "page.md").write_text("# Page\n\nText.\n")
    with pytest.raises(InputError, match=r"the book has no part page\.md#gone"):
        page_of(session)


def test_a_slide_has_the_clause_and_the_first_sentence(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    (tmp_path / "code.py").write_text(
        "def f():\n    match x:\n        case 1:\n            return 2\n        case 3:\n            pass\n"
    )
    page.write_text(
        '# Title\n\nOne `a. B` here. Two.\n\n```{literalinclude} code.py\n:pyobject: f\n:start-at: "case 1"\n'
        ':end-before: "case 3"\n:dedent: 8\n```\n\n```{stepper} A\n```\n'
    )
    (part,) = parts_of(page)
    assert [block.html for block in part.blocks] == [
        "<p>One <code>a. B</code> here.</p>\n",
        "<pre><code>case 1:\n    return 2</code></pre>",
    ]


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_slides_are_printed(tmp_path: Path) -> None:
    assert CliRunner().invoke(make_slides.main, ["--out", str(tmp_path), "--pdf"]).exit_code == 0
    assert all((tmp_path / f"{one.stem}.pdf").read_bytes().startswith(b"%PDF") for one in SESSIONS)
