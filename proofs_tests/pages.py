"""Are the pages accessible, as a browser shows them? `python -m proofs_tests.pages` builds them and looks, by axe-core.

It needs the extra `pages`, and a Chromium on the PATH. Looked at are the pages of the book, and those that the commands
write: a report, explanations, drawings; each at three widths, light and dark, and by the tabulator key alone. Exit
status: 0 if nothing was found, 1 if something was.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, TypeAlias

import click

from cerify.commands.options import progress_bar
from proofs_tests.browser import chromium, served

ROOT = Path(__file__).parent.parent
TOY = ROOT / "docs" / "guide" / "adapters" / "toy.py"
WIDTHS = (390, 820, 1280)
TALLEST = 12_000  # pixels of a page that a picture has
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIOLATIONS = {"resultTypes": ["violations"]}  # of what passes, axe would else look for a selector for each element
COLOURS = VIOLATIONS | {"runOnly": ["color-contrast"]}
THE_REST = VIOLATIONS | {"rules": {"color-contrast": {"enabled": False}}}
OUTSIDE = {"exclude": [["article"]]}  # of what a page says: the menus, which differ from width to width
FOCUSED = 12  # how many steps of the tabulator key are looked at

STREAM = "type,x,time\nA,1,0\nB,2,60\nA,3,120\nC,1,180\nB,5,240\n"
HISTORY = "type,n\nstart,0\na,1\nb,2\na,3\n"
SASE = ("--language", "sase", "--match", "0,1", "--html")
ROWS = "MATCH_RECOGNIZE (ORDER BY time MEASURES LAST(x) AS top PATTERN (a b+) DEFINE b AS b.x > PREV(b.x))"
WRITTEN = (  # a file's name, and the arguments of the command that writes it, before the name or with it
    ("report.html", ("conform", "--engine", "denotational", "--feature", "plus", "--html")),
    ("defects.html", ("conform", "--feature", "seq", "--html", "defects.html", "--", sys.executable, str(TOY))),
    ("explained.html", ("explain", "A ; B FILTER A.x < 3", "stream.csv", "--match", "0,1", "--at", "1", "--html")),
    ("rejected.html", ("explain", "A ; B FILTER A.x < 3", "stream.csv", "--match", "2,4", "--at", "4", "--html")),
    ("explained-sase.html", ("explain", "PATTERN SEQ(A a, B b) WITHIN 1 hours RETURN a.x", "stream.csv", *SASE)),
    ("explained-core.html", ("explain", "A AS x ; B AS y", "stream.csv", "--language", "core-cel", "--html")),
    ("explained-rows.html", ("explain", ROWS, "stream.csv", "--language", "row-pattern", "--html")),
    ("explained-events.html", ("explain", "prior(a, a)", "history.csv", "--language", "event-expression", "--html")),
    ("automaton.html", ("draw", "(A ; B+) FILTER A.x < 3", "--output")),
    ("automaton-sase.html", ("draw", "PATTERN SEQ(A a, B+ b[]) RETURN a.x", "--language", "sase", "--output")),
    ("stream.html", ("draw", "A ; B", "stream.csv", "--output")),
    ("stepper.html", ("step", "A ; B+", "stream.csv", "--output")),
)

PLAYGROUND = "playground/index.html"
PANES = {
    "matches": ".found button",
    "why": ".yes",
    "compare": "#verdict p",
    "automaton": "svg",
    "steps": "iframe",
    "exercises": "#statement p",
}
"""The panes of the playground, each with a part that is there once it is filled."""
BROWSERS = os.cpu_count() or 1
WAIT = 60_000  # milliseconds, for a machine that does much else

AXE = """async (runs) => {
    const found = [];
    for (const [part, options] of runs) found.push(...(await axe.run(part ?? document, options)).violations);
    return found;
}"""
OVERFLOW = "document.documentElement.scrollWidth - window.innerWidth"
COVERED = """() => {  // signatures of which a part lies under the link to the source
    const boxes = (node) => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].filter((box) => box.width > 0);
    };
    const meet = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 2 && b.top < a.bottom - 2;
    const texts = (signature, link) => [...signature.childNodes].filter((node) => node !== link).flatMap(boxes);
    return [...document.querySelectorAll(".sig > a:has(> .viewcode-link)")]
        .filter((link) => texts(link.parentElement, link).some((box) => boxes(link).some((other) => meet(box, other))))
        .map((link) => link.parentElement.textContent.trim().slice(0, 60));
}"""
FOCUS = """() => {
    let e = document.activeElement;
    while (e.contentDocument?.activeElement) e = e.contentDocument.activeElement;
    const style = getComputedStyle(e), box = e.getBoundingClientRect(), { body, defaultView } = e.ownerDocument;
    const name = e.getAttribute("aria-label") || e.textContent || e.tagName;
    return {
        to: e.getAttribute("href"),
        what: e === body ? "" : name.trim().slice(0, 60),
        seen: box.width > 0 && box.height > 0 && box.right > 0 && box.left < defaultView.innerWidth,
        marked: (style.outlineStyle !== "none" && style.outlineWidth !== "0px") || style.boxShadow !== "none",
    };
}"""


Job: TypeAlias = Callable[[Any], Iterator["Problem"]]
"""Looks at a page in a tab."""


@dataclass(frozen=True)
class Problem:
    """What is wrong with a page at a width, and where on it."""

    page: str
    width: int
    scheme: str
    rule: str
    said: str
    where: str

    def __str__(self) -> str:
        return f"{self.page} {self.width} {self.scheme}: {self.rule}: {self.said}\n    {self.where}"


def problems_of(tab: Any, name: str, width: int, pictures: Path | None = None, whole: bool = True) -> Iterator[Problem]:
    """What axe-core finds on the page that is open, at this width, light and dark; each is drawn to a folder.

    In dark it looks at colours alone: nothing else depends on them. Where the page is not to be looked at whole, its
    article has been at another width, and its colours, which take most of the time, are the same.
    """
    from axe_playwright_python.sync_playwright import Axe

    tab.evaluate(Axe().axe_script)
    tab.set_viewport_size({"width": width, "height": 900})
    for scheme in SCHEMES:
        tab.emulate_media(color_scheme=scheme)
        if pictures is not None:
            height = min(tab.evaluate("document.documentElement.scrollHeight"), TALLEST)
            file = pictures / f"{name.replace('/', '-').removesuffix('.html')}-{width}-{scheme}.png"
            tab.set_viewport_size({"width": width, "height": height})  # a frame outside of it is not drawn
            tab.screenshot(path=file)
            tab.set_viewport_size({"width": width, "height": 900})
        runs = [(None if whole else OUTSIDE, COLOURS), *([(None, THE_REST)] if scheme == "light" else [])]
        for found in tab.evaluate(AXE, runs):
            for node in found["nodes"]:
                said = "; ".join(check["message"] for check in [*node["any"], *node["all"], *node["none"]])
                where = " ".join(map(str, node["target"]))
                yield Problem(name, width, scheme, found["id"], said or found["help"], where)
    for signature in tab.evaluate(COVERED):
        yield Problem(name, width, scheme, "covered", "a link lies over a part of the signature", signature)
    if (beyond := tab.evaluate(OVERFLOW)) > 0:
        yield Problem(name, width, scheme, "overflow", f"the page is {beyond} pixels wider than the window", "")


def page_problems(
    tab: Any, address: str, name: str, widths: Sequence[int], pictures: Path | None = None
) -> Iterator[Problem]:
    """The problems of a page at these widths, loaded once for each, and those that the tabulator key finds."""
    for width in widths:
        tab.set_viewport_size({"width": width, "height": 900})
        tab.emulate_media(color_scheme="light", reduced_motion="reduce")
        tab.goto(address)
        if (live := tab.locator("iframe[title=Playground]")).count():
            live.scroll_into_view_if_needed()
            live.content_frame.locator(".found button").first.wait_for(timeout=WAIT)
            tab.evaluate("scrollTo(0, 0)")
        yield from problems_of(tab, name, width, pictures, whole=width == widths[0])
        yield from _by_keyboard(tab, name, width)


def playground_problems(
    tab: Any, address: str, widths: Sequence[int], pictures: Path | None = None
) -> Iterator[Problem]:
    """The problems of the panes of the playground at these widths; it is loaded once."""
    tab.goto(address)
    tab.click(".found button >> nth=0", timeout=WAIT)
    for pane, shown in PANES.items():
        tab.click(f"#tab-{pane}")
        tab.wait_for_selector(f"#pane-{pane} {shown}", timeout=WAIT)
        if shown == "iframe":
            tab.frame_locator(f"#pane-{pane} iframe").locator("svg").first.wait_for(timeout=WAIT)
        tab.wait_for_function("!document.querySelector('.stale')", timeout=WAIT)  # dimmed until the new answer is there
        for width in widths:
            yield from problems_of(tab, f"playground/{pane}", width, pictures)


def _by_keyboard(tab: Any, name: str, width: int) -> Iterator[Problem]:
    """Where the tabulator key leads: first past the menus, then to what is seen, and marked as having the focus."""
    for step in range(FOCUSED):
        tab.keyboard.press("Tab")
        focus = tab.evaluate(FOCUS)
        if step == 0 and tab.locator("aside a").count() and not (focus["to"] or "").startswith("#"):
            yield Problem(name, width, "dark", "skip", "the first stop is no link past the menu", focus["what"])
        if focus["what"] and not (focus["seen"] and focus["marked"]):
            said = "has the focus, and is not marked" if focus["seen"] else "has the focus, and is not seen"
            yield Problem(name, width, "dark", "focus", said, focus["what"])
    for button in tab.locator("button[aria-expanded]:visible").all():
        for key, wanted in (("Enter", "true"), ("Escape", "false")):
            button.focus()
            tab.keyboard.press(key)
            if button.get_attribute("aria-expanded") != wanted:
                label = button.get_attribute("aria-label") or button.inner_text()
                yield Problem(name, width, "dark", "menu", f"{key} does not make it {wanted}", label)


def write_pages(folder: Path, only: str) -> None:
    """Return the requested pages that commands write."""
    (folder / "stream.csv").write_text(STREAM, encoding="utf-8")
    (folder / "history.csv").write_text(HISTORY, encoding="utf-8")
    for name, arguments in WRITTEN:
        if not Path(folder.name, name).match(only):
            continue
        command = [sys.executable, "-m", "cerify.cli", *arguments, *([] if name in arguments else [name])]
        subprocess.run(command, cwd=folder, capture_output=True, timeout=300)
        if not (folder / name).exists():
            raise click.ClickException(f"cerify {' '.join(arguments)} has written no {name}")


def build_book(folder: Path) -> None:
    """The book, built from docs/."""
    subprocess.run([sys.executable, "-m", "sphinx", "-q", "-j", "auto", str(ROOT / "docs"), str(folder)], check=True)


def pages_of(book: Path) -> list[Path]:
    """The pages of a book but the playground; of source files, one page, and of folders."""
    pages = sorted(page for page in book.rglob("*.html") if page.parent.name != "playground")
    sources = [page for page in pages if page.is_relative_to(book / "source")]
    folder = [page for page in sources if page.with_suffix("").is_dir()]
    shown = [page for page in sources if page.match("cel/denote.py.html")]
    return [page for page in pages if page not in sources] + shown[:1] + folder[:1]


def jobs_of(jobs: deque[Job]) -> Iterator[Job]:
    """The jobs that no other thread has taken."""
    with suppress(IndexError):  # of an empty deque
        while True:
            yield jobs.popleft()


def look(jobs: deque[Job], done: Callable[[], None]) -> int:
    """Does jobs in a browser of its own until there are none, and prints the problems. Returns their number."""
    count = 0
    with chromium() as browser:
        tab = browser.new_page()
        for job in jobs_of(jobs):
            for problem in job(tab):
                count += 1
                click.echo(problem)
            done()
    return count


@click.command()
@click.option("--book", type=click.Path(exists=True, file_okay=False, path_type=Path), help="A book built already.")
@click.option("--only", default="*", help="Only pages whose path ends like this pattern.")
@click.option("--width", "widths", type=int, multiple=True, default=WIDTHS, show_default=True)
@click.option(
    "--pictures", type=click.Path(file_okay=False, path_type=Path), help="A folder for a picture of each page."
)
def main(book: Path | None, only: str, widths: tuple[int, ...], pictures: Path | None) -> None:
    """Look at all pages, and print what is wrong with them."""
    with TemporaryDirectory() as temporary:
        if book is None:
            book = Path(temporary, "book")
            build_book(book)
        written = Path(temporary, "written")
        written.mkdir()
        write_pages(written, only)
        if pictures is not None:
            pictures.mkdir(parents=True, exist_ok=True)
        with served(book) as address, served(written) as other, progress_bar() as bar:
            seen = [(address, page.relative_to(book), "") for page in pages_of(book)]
            seen += [(other, page.relative_to(written), "written/") for page in sorted(written.glob("*.html"))]
            how: dict[str, Any] = {"widths": widths, "pictures": pictures}
            jobs: deque[Job] = deque(
                partial(page_problems, address=site + path.as_posix(), name=f"{folder}{path.as_posix()}", **how)
                for site, path, folder in seen
                if Path(folder, path).match(only)
            )
            if (book / PLAYGROUND).exists() and Path(PLAYGROUND).match(only):
                jobs.appendleft(partial(playground_problems, address=address + PLAYGROUND, **how))
            pages, task = len(jobs), bar.add_task("pages", total=len(jobs))
            with ThreadPoolExecutor(BROWSERS) as pool:
                counts = [pool.submit(look, jobs, partial(bar.advance, task)) for _ in range(min(BROWSERS, pages))]
                count = sum(one.result() for one in counts)
    click.echo(f"{pages} pages, {len(widths)} widths, light and dark: {count or 'no'} problems")
    sys.exit(1 if count or not pages else 0)


if __name__ == "__main__":
    main()
