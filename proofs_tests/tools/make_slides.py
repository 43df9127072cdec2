"""The slides of the course, from the pages of its sessions and the parts of the book that these name.

    python -m proofs_tests.tools.make_slides --out build/slides [--pdf]

A slide has the heading of a part of the book, the first sentence of each paragraph, and its code, tables and pictures.
"""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from textwrap import dedent

import click
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

sys.path.append(str(Path(__file__).parents[2] / "docs" / "_ext"))  # what the book formats its code with
import sessions

from cerify.grade.exercises import LEVELS, exercises
from cerify.semantics.errors import InputError
from cerify.semantics.output_files import write_whole
from proofs_tests.browser import CHROMIUM, NAMES

COURSE = Path(__file__).parents[2] / "docs" / "course"
HIGHEST = 18  # lines of text that a slide takes, about: the page makes them smaller where it has to
LONGEST_CODE = 18  # lines of one block
CHARACTERS = 78  # of a line of text, and of code
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def _formula(text: str, options: dict[str, bool]) -> str:
    """A formula as MathML, as the book has it."""
    return str(convert(text, display="block" if options["display_mode"] else "inline"))


MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=_formula)
SENTENCE = re.compile(r"(?:`[^`]*`|\$[^$]*\$|[^`$])*?[.:?!](?=\s+[A-Z*(\[]|\s*$)", re.DOTALL)

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e6e6); --paper: light-dark(#fff, #16181c);
  --code: light-dark(#f3f4f6, #23262d); --accent: light-dark(#0b5c8a, #7cc4ee); }
* { box-sizing: border-box; }
html { scroll-snap-type: y mandatory; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 1.5rem/1.4 system-ui, sans-serif; }
section { min-height: 100vh; padding: 3rem 4rem; scroll-snap-align: start; display: flex; flex-direction: column;
  justify-content: center; break-after: page; border-bottom: 1px solid var(--code); }
h1, h2 { color: var(--accent); margin: 0 0 1rem; line-height: 1.2; }
pre { background: var(--code); padding: .8rem 1rem; font-size: .8em; line-height: 1.3; white-space: pre-wrap; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: .8em; } td, th { padding: .3rem .8rem; text-align: left; }
tr + tr td { border-top: 1px solid var(--code); } img { max-height: 70vh; max-width: 100%; }
math[display="block"] { margin: .5em 0; max-width: 100%; overflow-x: auto; }
mtd { padding: .3em .1em; text-align: left; }
li { margin: .3rem 0; } footer { margin-top: auto; font-size: .9rem; opacity: .75; }
@media (max-width: 50rem) { section { padding: 1.5rem 1rem; min-height: 0; } body { font-size: 1.1rem; } }
@page { size: 1280px 720px; margin: 0; }
@media print { section { height: 720px; min-height: 0; overflow: hidden; } }
"""
SCRIPT = """
const fit = () => document.querySelectorAll("section").forEach((one) => {
  for (let size = 100; size >= (innerWidth > 800 ? 50 : 100); size -= 5) {
    one.style.fontSize = `${size}%`;
    if (one.scrollHeight <= innerHeight + 1 && one.scrollWidth <= one.clientWidth) break;
  }
});
addEventListener("load", fit);
addEventListener("resize", fit);
addEventListener("keydown", (event) => {
  const slides = [...document.querySelectorAll("section")];
  const here = slides.findIndex((one) => one.getBoundingClientRect().bottom > 10);
  const step = { ArrowRight: 1, ArrowDown: 1, " ": 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  slides[Math.min(Math.max(here + step, 0), slides.length - 1)].scrollIntoView();
});
"""


@dataclass(frozen=True)
class Block:
    """A part of a slide as HTML, and how many lines it takes."""

    html: str
    lines: int


@dataclass(frozen=True)
class Part:
    """A heading of a page with what stands below it, up to the next one."""

    title: str
    blocks: tuple[Block, ...]
    links: tuple[str, ...]


def slug(title: str) -> str:
    """The anchor of a heading, as the book has it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def parts_of(page: Path) -> Iterator[Part]:
    """The parts of a page of the book. Raises InputError for a page that cannot be read."""
    try:
        tokens = MARKDOWN.parse(page.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {page}: {error.strerror}") from None
    title, begin = page.stem, 0
    for i, token in enumerate([*tokens, Token("heading_open", "h1", 1)]):
        if token.type == "heading_open":
            if begin:
                yield _part(title, tokens[begin:i], page)
            title, begin = tokens[i + 1].content if i + 1 < len(tokens) else "", i + 3


def _part(title: str, tokens: list[Token], page: Path) -> Part:
    inline = (child for token in tokens for child in token.children or ())
    links = tuple(str(child.attrs["href"]) for child in inline if child.type == "link_open")
    return Part(title, tuple(_blocks(tokens, page)), links)


def _blocks(tokens: list[Token], page: Path) -> Iterator[Block]:
    i = 0
    while i < len(tokens):
        token, end = tokens[i], i + 1
        if token.nesting == 1:
            end = (
                next(j for j in range(i + 1, len(tokens)) if tokens[j].nesting < 0 and tokens[j].level == token.level)
                + 1
            )
        yield from _block(tokens[i:end], page)
        i = end


def _block(tokens: list[Token], page: Path) -> Iterator[Block]:
    """A paragraph as its first sentence, code as far as it fits, and lists and tables as they are."""
    first = tokens[0]
    if first.type == "fence":
        code = _code(first, page)
        if code:
            yield Block(f"<pre><code>{escape(code)}</code></pre>", code.count("\n") + 2)
    elif first.type == "math_block":
        yield Block(MARKDOWN.renderer.render([first], MARKDOWN.options, {}), 2)
    elif first.type == "paragraph_open" and (image := next(_images(tokens), None)) is not None:
        yield Block(_picture(page.parent / str(image.attrs["src"]), image.content), HIGHEST - 3)
    elif first.type == "paragraph_open":
        text = tokens[1].content
        found = SENTENCE.match(text)
        said = found[0] if found else text
        yield Block(_html(f"{said.rstrip(':')}\n"), 1 + len(said) // CHARACTERS)
    elif first.type in ("bullet_list_open", "ordered_list_open", "table_open"):
        html = _without_links(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
        yield Block(html, html.count("<li>") + html.count("<tr>") + len(html) // (4 * CHARACTERS))


def _images(tokens: list[Token]) -> Iterator[Token]:
    return (child for token in tokens for child in token.children or () if child.type == "image")


def _picture(file: Path, words: str) -> str:
    data = b64encode(file.read_bytes()).decode()
    return f'<img alt="{escape(words)}" src="data:{TYPES[file.suffix]};base64,{data}">'


def _html(text: str) -> str:
    return _without_links(MARKDOWN.render(text))


def _without_links(html: str) -> str:
    return re.sub(r"</?a\b[^>]*>", "", html)


def _code(fence: Token, page: Path) -> str:
    """The code of a block, without the empty lines at its end; "" for a directive that shows none."""
    info = fence.info.strip()
    code = (
        _included(page.parent / info.split(maxsplit=1)[1], fence.content)
        if info.startswith("{literal")
        else fence.content
    )
    if info.startswith("{") and not info.startswith("{literal"):
        return ""
    code = code.rstrip()
    if code.startswith(">>> "):
        code = sessions.session(code)
    elif "python" in info or ".py" in info:
        code = sessions.excerpt(code, CHARACTERS)
    lines = code.split("\n")
    return "\n".join(lines if len(lines) <= LONGEST_CODE else [*lines[: LONGEST_CODE - 1], "…"])


def _included(file: Path, options: str) -> str:
    """What a literalinclude shows: an object of Python, and of that the lines from one text to another."""
    given = dict(re.findall(r":([\w-]+):\s*\"?(.*?)\"?\s*$", options, re.MULTILINE))
    source = file.read_text(encoding="utf-8")
    lines = source.split("\n")
    if "pyobject" in given:
        node: ast.AST = ast.parse(source)
        for name in given["pyobject"].split("."):
            node = next(n for n in ast.walk(node) if getattr(n, "name", None) == name)
        assert isinstance(node, ast.FunctionDef | ast.ClassDef)
        lines = lines[node.lineno - 1 : node.end_lineno]
    if start := given.get("start-at"):
        lines = lines[next(i for i, line in enumerate(lines) if start in line) :]
    if end := given.get("end-before"):
        lines = lines[: next((i for i, line in enumerate(lines) if i and end in line), len(lines))]
    return dedent("\n".join(lines))


# --- slides -----------------------------------------------------------------------------------------------------------


def slides_of(session: Path) -> Iterator[str]:
    """The slides of a session, each as HTML. Raises InputError for a link to a part that the book does not have."""
    first, *parts = parts_of(session)
    number = int(first.title.partition(".")[0])
    opening = "".join(block.html for block in first.blocks)
    yield f"<h1>{_inline(first.title)}</h1><p>A course on complex event recognition</p>{opening}"
    for part in parts:
        if part.title != "In the book":
            yield from _slides(part)
            continue
        for link in part.links:
            page, _, anchor = link.partition("#")
            found = next((one for one in parts_of(session.parent / page) if slug(one.title) == anchor), None)
            if found is None:
                raise InputError(f"{session}: the book has no part {link}")
            yield from _slides(found)
    listed = [one for one in exercises().values() if one.session == number]
    items = (Block(f"<li>{escape(e.sentence)} <code>{e.id}</code>, {LEVELS[e.level]}</li>", 2) for e in listed)
    yield from _slides(Part("Exercises", tuple(items), ()))


def _slides(part: Part) -> Iterator[str]:
    """The blocks of a part on as many slides as they take; a sentence stands on the slide of what it leads to."""
    taken: list[Block] = []
    for block in part.blocks:
        if taken and sum(one.lines for one in taken) + block.lines > HIGHEST:
            leads = len(taken) > 1 and taken[-1].html.startswith("<p>") and not block.html.startswith("<p>")
            yield _slide(part.title, taken[:-1] if leads else taken)
            taken = taken[-1:] if leads else []
        taken.append(block)
    if taken:
        yield _slide(part.title, taken)


def _slide(title: str, blocks: list[Block]) -> str:
    body = "".join(block.html for block in blocks)
    return f"<h2>{_inline(title)}</h2>{f'<ul>{body}</ul>' if body.startswith('<li>') else body}"


def _inline(text: str) -> str:
    return _without_links(MARKDOWN.renderInline(text))


def page_of(session: Path) -> str:
    """The slides of a session as one page, which needs no other file."""
    slides = list(slides_of(session))
    body = "".join(
        f"<section>{slide}<footer>{number} of {len(slides)}</footer></section>\n"
        for number, slide in enumerate(slides, 1)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Session {session.stem[-1]}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}</style></head>\n'
        f"<body>\n{body}<script>{SCRIPT}</script></body></html>\n"
    )


def print_to_pdf(page: Path, browser: str) -> None:
    """Write a page as PDF beside it. Raises InputError if the browser does not."""
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", "--window-size=1280,720")
    target = page.with_suffix(".pdf")
    ran = subprocess.run(
        [browser, *options, f"--print-to-pdf={target}", page.resolve().as_uri()], capture_output=True, timeout=120
    )
    if ran.returncode or not target.exists():
        raise InputError(f"{browser} has not written {target}: {ran.stderr.decode(errors='replace')[-500:]}")


@click.command()
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path("build/slides"), show_default=True
)
@click.option("--pdf", is_flag=True, help=f"PDF too, by {', '.join(NAMES)}, whichever is installed.")
def main(out: Path, pdf: bool) -> None:
    """Write the slides of the course, a page for each session."""
    if pdf and CHROMIUM is None:
        raise click.UsageError(f"--pdf needs one of {', '.join(NAMES)} on the PATH")
    out.mkdir(parents=True, exist_ok=True)
    for session in sorted(COURSE.glob("session-*.md")):
        page = out / f"{session.stem}.html"
        write_whole(page, page_of(session))
        if pdf and CHROMIUM is not None:
            print_to_pdf(page, CHROMIUM)
        click.echo(page)


if __name__ == "__main__":
    main()
