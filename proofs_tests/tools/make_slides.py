"""The slides of the course, from the pages of its sessions and the parts of the book that these name.

    python -m proofs_tests.tools.make_slides --out build/slides [--pdf]

A slide has the heading of a part of the book, the first sentences of each paragraph, as many as fit, and its formulas,
code, tables and pictures; an example is the query and the drawing of its matches. What is not on a slide:

- links to source files in parentheses, and a sentence that ends with a colon, if what it leads to is left out;
- a Python session with a name that neither it nor a session before it in the same part defines;
- a program that does not fit without its docstring: its name and its file are there instead;
- the block after a comment `<!-- book only -->`.
"""

from __future__ import annotations

import ast
import builtins
import doctest
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

try:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from mdit_py_plugins.dollarmath import dollarmath_plugin
except ModuleNotFoundError as error:
    raise SystemExit(f"the slides need {error.name}: python -m pip install -e '.[docs]'") from None

sys.path.append(str(Path(__file__).parents[2] / "docs" / "_ext"))  # what the book formats its code with
import sessions
from examples import rows_of
from mathematics import mathml

import cerify
from cerify.grade.grading import LEVELS, exercises
from cerify.languages import DEFAULT
from cerify.playground.session import evaluate
from cerify.semantics.errors import InputError
from cerify.semantics.files import write_whole
from proofs_tests.browser import CHROMIUM, NAMES

COURSE = Path(__file__).parents[2] / "docs" / "course"
HIGHEST = 17  # lines of text that a slide takes, about: the page makes them smaller where it has to
LONGEST_CODE = 20  # lines of one block
LONGEST_TEXT = 450  # characters of a paragraph
CHARACTERS = 84  # of a line of text, and of code
ZOOM = 1.35  # of drawings, and pixels of a line of text at the size in which they are drawn
LINE = 36
BOOK_ONLY = "<!-- book only -->"
TIMELINE = (Path(cerify.__file__).parent / "draw" / "timeline.css").read_text(encoding="utf-8")
TYPES = {".svg": "image/svg+xml", ".png": "image/png"}


def _formula(text: str, options: dict[str, bool]) -> str:
    """A formula as MathML, as the book has it."""
    return mathml(text, "block" if options["display_mode"] else "inline")


MARKDOWN = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, renderer=_formula)
SENTENCE = re.compile(r"(?:`[^`]*`|\$[^$]*\$|[^`$])*?[.:?!](?=\s+[A-Z*`φ(\[]|\s*$)", re.DOTALL)
SOURCES = re.compile(r"\s*\((?:\[[^\]]*\]\([^)]*\)(?:,\s*)?)+\)")

STYLE = """
:root { color-scheme: light dark; --ink: light-dark(#1b1f24, #e6e6e6); --paper: light-dark(#fff, #16181c);
  --code: light-dark(#f3f4f6, #23262d); --accent: light-dark(#0b5c8a, #7cc4ee); --u: min(1vw, 1.7778vh);
  --line: light-dark(#b9c0ca, #4a505a); --raised: var(--code); --soft: light-dark(#555d68, #a5adb8); }
* { box-sizing: border-box; }
html { scroll-snap-type: y mandatory; }
body { margin: 0; background: var(--paper); color: var(--ink); font: calc(2 * var(--u))/1.4 system-ui, sans-serif; }
section { width: calc(100 * var(--u)); height: calc(56.25 * var(--u)); margin: auto; padding: calc(3 * var(--u))
  calc(5 * var(--u)); scroll-snap-align: start; break-after: page; overflow: hidden; position: relative; }
section + section { border-top: 1px solid var(--code); }
h1, h2 { color: var(--accent); margin: 0 0 .6em; line-height: 1.2; } p { margin: .6em 0; }
pre { background: var(--code); padding: .6em 1em; font-size: .8em; line-height: 1.3; margin: .8em 0; }
code { font-family: ui-monospace, monospace; font-size: .92em; }
table { border-collapse: collapse; font-size: .8em; } td, th { padding: .3em .8em; text-align: left; }
tr + tr td { border-top: 1px solid var(--code); } figure { margin: .8em 0; } figure pre { margin: 0 0 .4em; }
img, svg { display: block; height: auto; max-width: 100%; max-height: calc(40 * var(--u)); }
img { background: #fff; }
math[display="block"] { margin: .5em 0; }
mtd { padding: .3em .1em; text-align: left; }
li { margin: .3em 0; } footer { position: absolute; bottom: 1em; right: 2em; font-size: .55em; opacity: .75; }
@media screen and (max-width: 50rem) { body { font-size: 1.1rem; } section { width: auto; height: auto; padding: 1rem; }
  pre { white-space: pre-wrap; } math { overflow-x: auto; } }
@page { size: 1280px 720px; margin: 0; }
@media print { :root { --u: 12.8px; } section + section { border: none; } }
"""
SCRIPT = """
const shrink = (one, fits) => {
  for (let size = 100; size >= 50; size -= 5) {
    one.style.fontSize = size < 100 ? `${size * (one.matches("pre") ? 0.8 : 1)}%` : "";
    if (fits()) break;
  }
};
const slides = [...document.querySelectorAll("section")];
const fit = () => slides.forEach((one) => {
  if (innerWidth <= 800) return;
  const width = one.querySelector("h1, h2").clientWidth;
  one.querySelectorAll("pre, math[display=block], table").forEach((wide) =>
    shrink(wide, () => Math.max(wide.scrollWidth, wide.getBoundingClientRect().width) <= width + 1));
  shrink(one, () => one.scrollHeight <= one.clientHeight + 1);
});
addEventListener("load", fit);
addEventListener("resize", fit);
addEventListener("keydown", (event) => {
  const here = slides.findIndex((one) => one.getBoundingClientRect().bottom > 10);
  const step = { ArrowRight: 1, ArrowDown: 1, " ": 1, PageDown: 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1 }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  const there = Math.min(Math.max(here + step, 0), slides.length - 1);
  slides[there].scrollIntoView();
  history.replaceState(null, "", `#${there + 1}`);
});
"""


@dataclass(frozen=True)
class Block:
    """A part of a slide as HTML, and how many lines it takes."""

    html: str
    lines: float


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


def _blocks(tokens: list[Token], page: Path) -> list[Block]:
    """The blocks of a part that are on slides; the last ones are made first, since a sentence may lead to the next."""
    groups: list[list[Token]] = []
    i = 0
    while i < len(tokens):
        end = i + 1
        if tokens[i].nesting == 1:
            end += next(
                n for n, one in enumerate(tokens[i + 1 :], 1) if one.nesting < 0 and one.level == tokens[i].level
            )
        groups.append(tokens[i:end])
        i = end
    shown = _sessions(groups)
    found: list[Block] = []
    leads = False
    for n, group in reversed([*enumerate(groups)]):
        hidden = n > 0 and groups[n - 1][0].content.strip() == BOOK_ONLY
        block = None if hidden or id(group[0]) not in shown else _block(group, page, leads)
        found += [] if block is None else [block]
        leads = block is not None
    return found[::-1]


def _sessions(groups: list[list[Token]]) -> set[int]:
    """The first tokens of all groups, by identity, but for Python sessions with a name that no one before defines."""
    defined = {*dir(builtins), *cerify.__all__}
    shown = set()
    for first, *_ in groups:
        if first.content.startswith(">>> "):
            source = "".join(one.source for one in doctest.DocTestParser().get_examples(first.content))
            names, own = set(), set()
            for node in ast.walk(ast.parse(source)):
                match node:
                    case ast.Name(name, ast.Load()):
                        names.add(name)
                    case ast.Name(name) | ast.arg(name) | ast.FunctionDef(name) | ast.ClassDef(name):
                        own.add(name)
                    case ast.alias(name, other):
                        own.add(other or name)
                    case _:
                        pass
            too_long = sessions.session(first.content.rstrip()).count("\n") >= LONGEST_CODE
            if too_long or not names <= defined | own:
                continue
            defined |= own
        shown.add(id(first))
    return shown


def _block(tokens: list[Token], page: Path, leads: bool) -> Block | None:
    """What a slide has of a block, if anything; leads: whether it has the next block."""
    first = tokens[0]
    match first.type:
        case "fence" if first.info.startswith("{example}"):
            return _example(first)
        case "fence":
            code = _code(first, page)
            if code.count("\n") < LONGEST_CODE:
                return Block(f"<pre><code>{escape(code)}</code></pre>", code.count("\n") * 0.75 + 2) if code else None
            found = re.search(r":pyobject: (\S+)", first.content)
            text = f"`{found[1]}` is in {first.info.split('../')[-1]}." if found else ""
            return Block(_html(text), 2) if found else None
        case "math_block":
            html = MARKDOWN.renderer.render([first], MARKDOWN.options, {})
            return Block(html, 2 + 1.2 * first.content.count("\\\\"))
        case "paragraph_open" if (image := next(_images(tokens), None)) is not None:
            return _picture(page.parent / str(image.attrs["src"]), image.content)
        case "paragraph_open":
            text = _sentences(tokens[1].content, leads)
            return Block(_html(text), 1 + len(text) // CHARACTERS + 0.6) if text else None
        case "bullet_list_open" | "ordered_list_open" | "table_open":
            html = _without_links(MARKDOWN.renderer.render(tokens, MARKDOWN.options, {}))
            return Block(html, html.count("<li>") + html.count("<tr>") + len(html) // (4 * CHARACTERS))
    return None


def _sentences(text: str, leads: bool) -> str:
    """The first sentences of a paragraph, as many as fit; one that leads to the next block only if that is there."""
    text = SOURCES.sub("", text)
    found = [one[0] for one in SENTENCE.finditer(text)] or [text]
    if found[-1].endswith(":") and not leads:
        found = found[:-1]
    kept = [one for n, one in enumerate(found) if n == 0 or len("".join(found[: n + 1])) <= LONGEST_TEXT]
    if len(kept) < len(found) and found[-1].endswith(":"):
        kept[-1] = found[-1]
    return "".join(kept).strip()


def _example(fence: Token) -> Block:
    """The query of a block `{example}`, and the drawing of its matches."""
    query = fence.info.removeprefix("{example}").strip()
    given = dict(re.findall(r"^:(\w+): *(.*)$", fence.content, re.MULTILINE))
    rows = rows_of(re.sub(r"^:\w+:.*\n", "", fence.content, flags=re.MULTILINE).strip())
    drawn = evaluate({"query": query, "language": given.get("language", DEFAULT), "stream": rows})["svg"]
    width, height = map(float, re.findall(r' (?:width|height)="([\d.]+)"', drawn)[:2])
    zoom = min(ZOOM, 1150 / width)
    drawn = drawn.replace("<svg ", f'<svg style="width: calc({zoom * width / 12.8:.1f} * var(--u))" ', 1)
    html = f"<figure><pre><code>{escape(query)}</code></pre>{drawn}</figure>"
    return Block(html, height * zoom / LINE + 2 + len(query) // CHARACTERS)


def _images(tokens: list[Token]) -> Iterator[Token]:
    return (child for token in tokens for child in token.children or () if child.type == "image")


def _picture(file: Path, words: str) -> Block:
    data = b64encode(file.read_bytes()).decode()
    html = f'<img alt="{escape(words)}" src="data:{TYPES[file.suffix]};base64,{data}"'
    box = re.search(r'viewBox="[-\d.]+ [-\d.]+ ([\d.]+) ([\d.]+)"', file.read_text()) if file.suffix == ".svg" else None
    if box is None:
        return Block(f"{html}>", HIGHEST - 3)
    width, height = float(box[1]), float(box[2])
    zoom = min(ZOOM, 1150 / width, 420 / height)
    return Block(f'{html} style="width: calc({zoom * width / 12.8:.1f} * var(--u))">', height * zoom / LINE + 0.6)


def _html(text: str) -> str:
    return _without_links(MARKDOWN.render(text))


def _without_links(html: str) -> str:
    return re.sub(r"</?a\b[^>]*>", "", html)


def _code(fence: Token, page: Path) -> str:
    """The code of a block, without the empty lines at its end; "" for a directive that shows none.

    A function of more lines than a slide takes is without its docstring.
    """
    info = fence.info.strip()
    if info.startswith("{literal"):
        code = _included(page.parent / info.split(maxsplit=1)[1], fence.content)
        if code.count("\n") >= LONGEST_CODE:
            code = re.sub(r'\A((?:@.*\n)*def .*?:\n)\s+""".*?"""\n+', r"\1", code, count=1, flags=re.DOTALL)
    else:
        code = "" if info.startswith("{") else fence.content
    code = code.rstrip()
    if code.startswith(">>> "):
        return sessions.session(code)
    return sessions.excerpt(code, CHARACTERS) if "python" in info or ".py" in info else code


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
            yield from _slides(part) if part.title != "Exercises" else ()
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
        f'<section id="{number}">{slide}<footer>{number} of {len(slides)}</footer></section>\n'
        for number, slide in enumerate(slides, 1)
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Session {session.stem[-1]}</title>'
        f'<meta name="viewport" content="width=device-width, initial-scale=1"><style>{STYLE}{TIMELINE}</style></head>\n'
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
