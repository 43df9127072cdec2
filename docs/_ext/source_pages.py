"""Make pages of the book from source files, so that links to files and folders of the project work in the book too.

`[the clause](../../semantics/cel/denote.py#clause.Seq)` opens the file in a browser of the repository. In the book it
opens the page of the file, at the name after `#` (source_names.py says which names there are).
"""

from __future__ import annotations

import importlib
import inspect
import posixpath
import re
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from source_names import names_in
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.util import logging

ROOT = Path(__file__).parents[2]
LINK = re.compile(r"(?<=\]\()(\.\./[^)#\s]*)#?([^)\s]*)(?=\))")
LANGUAGES = {".py": "python", ".json": "json", ".java": "java", ".md": "markdown", ".lark": "text", ".jsonl": "text"}
SHOWN = 200_000  # characters; the page of a longer file, such as a suite, shows the beginning

logger = logging.getLogger(__name__)


def address(file: Path, seen_from: str) -> str:
    """Return a link from a page of the book to the page of a file."""
    page = f"source/{file.relative_to(ROOT).as_posix()}.html"
    return posixpath.relpath(page, posixpath.dirname(seen_from) or ".")


def rewritten(app: Sphinx, docname: str, source: list[str]) -> None:
    """Turn links to files outside the documentation into links to pages of the book."""
    folder = (Path(app.srcdir) / docname).parent

    def link(found: re.Match[str]) -> str:
        target, name = (folder / found[1]).resolve(), found[2]
        if target.is_relative_to(app.srcdir) or not target.exists():
            return found[0]
        if name and name not in names_in(target):
            logger.warning("%s has no %s", found[1], name, location=docname)
        cite(app, docname, target)
        return f"source:{address(target, docname)}#{name or 'source'}"

    source[0] = LINK.sub(link, source[0])


def signed(app: Sphinx, doctree: nodes.document) -> None:
    """Add to each signature in the reference a link to its source."""
    for signature in doctree.findall(addnodes.desc_signature):
        found: Any = importlib.import_module(signature["module"]) if signature.get("module") else None
        home = found
        for part in signature.get("fullname", "").split("."):
            found = getattr(found, part, None)
        if inspect.isclass(found) or inspect.isfunction(found):
            home = inspect.getmodule(found)
        file = Path(getattr(home, "__file__", None) or "/").resolve()
        if file.is_relative_to(ROOT) and signature["fullname"] in names_in(file):
            cite(app, app.env.docname, file)
            text = nodes.inline("", "[source]", classes=["viewcode-link"])
            target = f"{address(file, app.env.docname)}#{signature['fullname']}"
            signature += nodes.reference("", "", text, internal=False, refuri=target)


def cite(app: Sphinx, docname: str, file: Path) -> None:
    """Record that the page `docname` mentions the file, so that the file gets a page."""
    app.env.cited.setdefault(docname, set()).add(file)  # type: ignore[attr-defined]


def remember(app: Sphinx) -> None:
    if not hasattr(app.env, "cited"):
        app.env.cited = {}  # type: ignore[attr-defined]


def forget(app: Sphinx, env: Any, docname: str) -> None:
    env.cited.pop(docname, None)


def merge(app: Sphinx, env: Any, docnames: set[str], other: Any) -> None:
    env.cited |= {docname: files for docname, files in other.cited.items() if docname in docnames}


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield a page for each file and folder that is cited, and for each file in such a folder."""
    cited: dict[Path, set[str]] = {}
    for docname, files in app.env.cited.items():  # type: ignore[attr-defined]
        for file in files:
            cited.setdefault(file, set()).add(docname)
            if file.is_dir():
                for inside in filter(_has_page, file.iterdir()):
                    cited.setdefault(inside, set())
    for file, docnames in sorted(cited.items()):
        name = file.relative_to(ROOT).as_posix()
        body = _folder(file) if file.is_dir() else _file(app, file)
        speak = ", ".join(
            f'<a href="{posixpath.relpath(f"{docname}.html", posixpath.dirname(f"source/{name}"))}">'
            f"{escape(app.env.titles[docname].astext())}</a>"
            for docname in sorted(docnames)
        )
        cited_by = f"<p>Pages that mention it: {speak}</p>" if speak else ""
        heading = f'<h1 id="source"><code>{escape(name).replace("/", "/<wbr>")}</code></h1>'
        yield f"source/{name}", {"title": name, "body": heading + cited_by + body, "parents": []}, "page.html"


def _has_page(path: Path) -> bool:
    return path.is_file() and path.suffix in LANGUAGES


def _folder(folder: Path) -> str:
    def item(path: Path) -> str:
        name = escape(path.name)
        return f'<li><a href="{escape(folder.name)}/{name}.html"><code>{name}</code></a></li>'

    return f"<ul>{''.join(map(item, filter(_has_page, sorted(folder.iterdir()))))}</ul>"


def _file(app: Sphinx, file: Path) -> str:
    """Return the highlighted code of a file as HTML, with an anchor at each of its names."""
    text = file.read_text(encoding="utf-8")
    code = text[:SHOWN]
    lines = app.builder.highlighter.highlight_block(
        code, LANGUAGES.get(file.suffix, "text"), linenos=False
    ).splitlines()  # type: ignore[attr-defined]
    before, first = lines[0].split("<pre>")
    lines[0] = first.removeprefix("<span></span>")
    leading = len(code) - len(code.lstrip("\n"))
    at: dict[int, list[str]] = {}
    for name, number in names_in(file).items():
        at.setdefault(number - leading, []).append(name)
    for number, names in at.items():
        opening = "".join(f'<span id="{escape(name)}">' for name in names)
        lines[number - 1] = f"{opening}{lines[number - 1]}{'</span>' * len(names)}"
    shown = "" if code == text else f"<p>The first {SHOWN} characters of {len(text)}.</p>"
    return f"{before}<pre><span></span>" + "\n".join(lines) + shown


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("builder-inited", remember)
    app.connect("source-read", rewritten)
    app.connect("doctree-read", signed)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("html-collect-pages", pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
