"""The playground in a browser that reaches this machine only; it needs the extra `pages`, npm and a Chromium."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from cerify.playground.__main__ import build
from proofs_tests.benchmarks.figure import RUNS, Figure
from proofs_tests.browser import chromium, served

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


def playground(quick: bool) -> Iterator[Figure]:
    """Wall time from opening the page, with nothing cached, to its first match; and from a key to what it changes."""
    first, edits = [], []
    with TemporaryDirectory() as folder:
        build(Path(folder))
        with served(Path(folder)) as address, chromium() as browser:
            for _ in range(1 if quick else RUNS):
                context = browser.new_context()
                tab = context.new_page()
                begin = time.perf_counter()
                tab.goto(address)
                tab.wait_for_selector(".found button", timeout=60_000)
                first.append(time.perf_counter() - begin)
                tab.evaluate(WATCH)
                tab.focus("#query textarea")
                tab.keyboard.press("Control+End")
                for number, key in enumerate(TYPED):
                    tab.keyboard.type(key)
                    tab.wait_for_function(f"taken.length > {number}", timeout=60_000)
                edits += tab.evaluate("taken")
                context.close()
    for name, times, most in (("first", first, 10), ("edit", edits, 0.05)):
        value = median(times)
        spread = (min(times), max(times))
        yield Figure(f"playground.{name}", value, "s", "itself", 1.0, len(times), spread, f"≤ {most} s", value <= most)
