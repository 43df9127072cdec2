"""The playground in a browser that reaches this machine only; it needs the extra `pages`, npm and a Chromium."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from cerify.playground.__main__ import build
from proofs_tests.benchmarks.figure import RUNS, Figure
from proofs_tests.browser import chromium, served

FIRST, EDIT, STEP = 10.0, 0.05, 1.0  # seconds: to the first match of a page, after a key, after another click
WAIT = 60_000  # milliseconds
READING = 5_000  # milliseconds, for which a person looks at the first match
POSITION = "#stream .position >> nth="
TYPED = " OR H ; T"  # one key after the other
WATCH = """() => {
    window.taken = [];
    let begin = null;
    document.querySelector("#query textarea").addEventListener("input", () => { begin = performance.now(); }, true);
    new MutationObserver(() => {
        if (begin !== null) taken.push((performance.now() - begin) / 1000);
        begin = null;
    }).observe(document.querySelector("#pane-matches"), { childList: true });
}"""
"""From each edit of the query to what the page shows of it, in seconds."""
ANSWERED = """([selector, text]) => {
    let begin = null;
    window.answered = null;
    const start = () => { begin = performance.now(); };
    for (const kind of ["input", "click"]) addEventListener(kind, start, true);
    const observer = new MutationObserver(() => {
        if (begin === null || !document.querySelector(selector)?.textContent.includes(text)) return;
        window.answered = (performance.now() - begin) / 1000;
        for (const kind of ["input", "click"]) removeEventListener(kind, start, true);
        observer.disconnect();
    });
    observer.observe(document.body, { childList: true, subtree: true, characterData: true, attributes: true });
}"""
"""From the last key or click to the answer that the selector and the text name, in seconds."""


class Task(NamedTuple):
    """What a person does on the page, the element with the answer and a part of it, and the seconds it may take."""

    name: str
    do: Callable[[Any], object]
    selector: str
    text: str
    most: float


def _write(editor: str, text: str) -> Callable[[Any], object]:
    return lambda tab: tab.fill(f"#{editor} textarea", text)


def _click(*selectors: str) -> Callable[[Any], object]:
    return lambda tab: [tab.click(selector) for selector in selectors]


def _compare(tab: Any) -> None:
    tab.click("#tab-compare")
    tab.fill("#other textarea", "LAST(T ; H)")


def _grade(tab: Any) -> None:
    tab.click("#tab-exercises")
    tab.select_option("#exercise", "cel-then")
    tab.fill("#answer textarea", "Open : Close")
    tab.click("#grade")


TASKS = (
    Task("query", _write("query", "T ; H"), "#pane-matches", "7 matches", EDIT),
    Task("error", _write("query", "T ; ; H"), "#query-message", "is not expected here", EDIT),
    Task("mended", _write("query", "T : H"), "#pane-matches", "2 matches", EDIT),
    Task("example", _click("#example"), "#pane-matches", "3 matches", EDIT),
    Task("cell", lambda tab: tab.fill("[aria-label='hum of event 5']", "10"), "#pane-matches", "5 matches", EDIT),
    Task("why", _click(".found button >> nth=0"), "#pane-why", "{0, 1} is a match at 1", STEP),
    Task("why_not", _click("#tab-matches", POSITION + "1", POSITION + "2"), "#pane-why", "{0, 2} is not", STEP),
    Task("compare", _compare, "#verdict", "different: on a stream of", STEP),
    Task("automaton", _click("#tab-automaton"), "#pane-automaton svg", "", STEP),
    Task("steps", _click("#tab-steps"), "#pane-steps iframe", "", STEP),
    Task("exercise", _grade, "#feedback", "hint:", STEP),
)
"""Each begins where the one before it has ended; another is to open the link to what they have made elsewhere."""


def playground(quick: bool) -> Iterator[Figure]:
    """Wall time from opening the page, with nothing cached, to its first match; from keys and clicks to answers."""
    times: dict[str, list[float]] = {name: [] for name in ("first", "edit", *(task.name for task in TASKS), "link")}
    with TemporaryDirectory() as folder:
        build(Path(folder))
        with served(Path(folder)) as address, chromium() as browser:
            for _ in range(1 if quick else RUNS):
                tab, first = _opened(browser, address, ".found button")
                times["first"].append(first)
                tab.wait_for_timeout(READING)
                times["edit"] += _typing(tab)
                for task in TASKS:
                    tab.evaluate(ANSWERED, [task.selector, task.text])
                    task.do(tab)
                    tab.wait_for_function("answered !== null", timeout=WAIT)
                    times[task.name].append(tab.evaluate("answered"))
                tab.click("#share")
                elsewhere, link = _opened(browser, tab.url, "#feedback .no")
                times["link"].append(link)
                tab.context.close()
                elsewhere.context.close()
    limits = {"first": FIRST, "edit": EDIT, **{task.name: task.most for task in TASKS}, "link": FIRST}
    for name, taken in times.items():
        value, most = median(taken), limits[name]
        spread = (min(taken), max(taken))
        yield Figure(
            f"playground.{name}", value, "s", "itself", 1.0, len(taken), spread, f"≤ {most:g} s", value <= most
        )


def _opened(browser: Any, address: str, answer: str) -> tuple[Any, float]:
    """A tab of a profile of its own with the page, and the seconds until its first answer is there."""
    tab = browser.new_context().new_page()
    begin = time.perf_counter()
    tab.goto(address)
    tab.wait_for_selector(answer, timeout=WAIT)
    return tab, time.perf_counter() - begin


def _typing(tab: Any) -> list[float]:
    """The seconds after each key of TYPED."""
    tab.evaluate(WATCH)
    tab.focus("#query textarea")
    tab.keyboard.press("Control+End")
    for number, key in enumerate(TYPED):
        tab.keyboard.type(key)
        tab.wait_for_function(f"taken.length > {number}", timeout=WAIT)
    taken: list[float] = tab.evaluate("taken")
    return taken
