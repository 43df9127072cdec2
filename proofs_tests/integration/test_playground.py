"""The playground in a headless Chromium, which reaches no host but this one: tasks done as a person would do them.

How long it takes to the first match, and to show an edit: `python -m proofs_tests.benchmarks playground`.
"""

from __future__ import annotations

import json
import shutil
import sys
from base64 import b64encode
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from cerify.playground.__main__ import build
from proofs_tests.browser import CHROMIUM, chromium, served
from proofs_tests.pages import WAIT, WIDTHS, playground_problems

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS / "_ext"))  # what the book makes its links with

MISSING = CHROMIUM is None or shutil.which("npm") is None or find_spec("playwright") is None
pytestmark = [pytest.mark.thorough, pytest.mark.skipif(MISSING, reason="needs Chromium, npm and the extra pages")]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    build(folder / "playground", book="../index.html")
    shutil.copyfile(DOCS / "_static" / "book.js", folder / "book.js")
    with served(folder) as address:
        yield f"{address}playground/"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as one:
        yield one


def new_tab(browser: Any, width: int = 1280, height: int = 720) -> Any:
    """A tab of a profile of its own, which waits as long as a machine that does much else needs."""
    context = browser.new_context(viewport={"width": width, "height": height})
    context.set_default_timeout(WAIT)
    return context.new_page()


@pytest.fixture(scope="module")
def page(browser: Any, site: str) -> Iterator[Any]:
    """The page with its example, after a cold load."""
    tab, errors = new_tab(browser, 1300, 900), []
    tab.on("pageerror", lambda error: errors.append(error))
    tab.goto(site)
    tab.wait_for_selector(".found button", timeout=WAIT)
    yield tab
    assert not errors
    tab.context.close()


def write(page: Any, editor: str, text: str) -> None:
    page.fill(f"#{editor} textarea", text)


def see(page: Any, selector: str, text: str) -> None:
    """Waits until an element shows a text."""
    page.wait_for_function("([s, t]) => document.querySelector(s)?.innerText.includes(t)", arg=[selector, text])


def example(page: Any, language: str = "cel") -> None:
    page.select_option("#language", language)
    page.click("#tab-matches")
    page.click("#example")


def test_a_query_is_typed_and_its_error_mended(page: Any) -> None:
    example(page)
    write(page, "query", "T ; ; H")
    see(page, "#query-message", "is not expected here")
    assert page.inner_text("#query .error") == ";"
    write(page, "query", "T ; H")
    see(page, "#pane-matches", "7 matches")
    assert page.locator("#query .error").count() == 0


def test_queries_to_try_are_taken_and_taken_back(page: Any) -> None:
    example(page)
    page.click("#variants summary")
    page.click("#variants button >> text=T : H")
    see(page, "#pane-matches", "2 matches")
    assert page.input_value("#query textarea") == "T : H"
    page.click("#undo")
    see(page, "#pane-matches", "3 matches")
    for cell in page.locator("#stream td:first-of-type input").all():
        cell.fill("A")
    page.wait_for_selector("#variants", state="hidden")
    page.click("#example")
    page.wait_for_selector("#variants summary")
    page.click("#variants summary")


def test_why_and_why_not(page: Any) -> None:
    example(page)
    page.click(".found button >> nth=0")
    see(page, "#pane-why", "{0, 1} is a match at 1")
    see(page, "#pane-why", "tods21, Figure 3")
    see(page, "#pane-why", "T -> {1} says that the variable T binds event 1")
    page.click("#tab-matches")
    assert page.get_attribute(".found button >> nth=0", "aria-pressed") == "true"
    page.click("#stream .position >> nth=1")
    page.click("#stream .position >> nth=2")
    see(page, "#pane-why", "is not a match")


def test_the_stream_is_edited(page: Any) -> None:
    example(page)
    see(page, "#pane-matches", "3 matches")
    page.click("#add-event")
    page.keyboard.type("H")
    page.keyboard.press("Tab")
    see(page, "#pane-matches", "3 matches")
    page.fill("#stream input[aria-label='hum of event 6']", "10")
    see(page, "#pane-matches", "5 matches")
    page.fill("#stream input[aria-label='hum of event 6']", "wet")
    page.wait_for_selector("#query-message:not(:empty), #stream-message:not(:empty)")


def test_two_queries_are_compared(page: Any) -> None:
    example(page)
    write(page, "query", "NXT(A ; B)")
    page.click("#tab-compare")
    write(page, "other", "LAST(A ; B)")
    see(page, "#verdict", "different: on a stream of 3 events")
    page.click("#verdict button")
    assert page.locator("#stream tr").count() == 4
    write(page, "other", "NXT(A ; B)")
    see(page, "#verdict", "equivalent")
    write(page, "other", "NXT(A ; ; B)")
    see(page, "#verdict", "In the second query")
    assert page.inner_text("#other .error") == ";"
    write(page, "query", "A FILTER A.x > 1")
    write(page, "other", "A FILTER A.x + 1 > 2")
    see(page, "#verdict", "cerify equiv 'A FILTER A.x > 1' 'A FILTER A.x + 1 > 2' --language cel")


def test_what_is_empty_says_what_to_do(page: Any) -> None:
    example(page)
    write(page, "query", "")
    see(page, "#pane-matches", "Write a query")
    assert page.locator("#query-message").inner_text() == ""
    page.click("#example")
    for _ in range(6):
        page.click("[aria-label='Remove event 0']")
    see(page, "#pane-matches", "The stream has no events")
    assert page.evaluate("document.activeElement.id") == "stream"
    page.click("#tab-why")
    see(page, "#pane-why", "Choose a match")
    page.click("#tab-compare")
    write(page, "other", "")
    see(page, "#verdict", "Write a second query")


def test_a_link_opens_the_same_state_elsewhere(page: Any, browser: Any) -> None:
    example(page)
    write(page, "query", "H ; T")
    page.click("#tab-automaton")
    page.wait_for_selector("#pane-automaton svg")
    page.click("#share")
    link = page.url
    assert "#1." in link
    other = new_tab(browser)
    other.goto(link)
    other.wait_for_selector("#pane-automaton svg", timeout=WAIT)
    assert other.input_value("#query textarea") == "H ; T"
    other.context.close()


def test_a_link_that_was_cut_or_is_of_another_version_is_refused(browser: Any, site: str, page: Any) -> None:
    example(page)
    page.click("#share")
    whole = page.url.partition("#")[2]
    for hash_, message in (
        (whole[:-9], "not whole"),
        (whole.replace("1.", "2.", 1), "another version"),
        ("x", "not whole"),
    ):
        other = page.context.new_page()
        other.goto(f"{site}#{hash_}")
        see(other, "#status", message)
        other.wait_for_selector(".found button", timeout=WAIT)
        other.close()


def test_what_is_replaced_can_be_taken_back(page: Any) -> None:
    """By the button and by the browser's own; and each language keeps its query and its stream."""
    query = "#query textarea"
    example(page)
    write(page, "query", "T ; H")
    page.click("#example")
    assert page.input_value(query).startswith("(T ; H)")
    page.click("#undo")
    page.wait_for_function("document.querySelector('#query textarea').value === 'T ; H'")
    page.select_option("#language", "sase")
    write(page, "query", "PATTERN SEQ(H h)")
    page.select_option("#language", "cel")
    assert page.input_value(query) == "T ; H"
    page.select_option("#language", "sase")
    assert page.input_value(query) == "PATTERN SEQ(H h)"
    page.go_back()
    page.wait_for_function("document.querySelector('#query textarea').value === 'T ; H'")
    page.click("#tab-compare")
    page.click("#verdict button")
    page.wait_for_function("document.querySelectorAll('#stream tr').length === 3")
    assert page.evaluate("document.activeElement.textContent") == "Show on this stream"
    page.click("#undo")
    page.wait_for_function("document.querySelectorAll('#stream tr').length === 7")


PASTE = """([selector, text]) => {
    const clipboardData = new DataTransfer(), target = document.querySelector(selector);
    clipboardData.setData("text", text);
    target.focus();
    target.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
}"""


def test_what_is_typed_is_taken_back_step_by_step_and_done_again(page: Any) -> None:
    """Undo went back to the last button, and all that had been typed since was lost."""
    query, cell = "#query textarea", "#stream input[aria-label='tmp of event 0']"
    example(page)
    whole = page.input_value(query)
    write(page, "query", "T ; H ; T")
    page.fill(cell, "77")
    page.click("#undo")
    assert (page.input_value(query), page.input_value(cell)) == ("T ; H ; T", "45")
    page.click("#undo")
    assert page.input_value(query) == whole
    page.click("#redo")
    page.click("#redo")
    assert (page.input_value(query), page.input_value(cell)) == ("T ; H ; T", "77")
    assert page.is_disabled("#redo")
    see(page, "#pane-matches", "2 matches")


def test_undo_shows_what_it_changes(page: Any) -> None:
    """What is in a pane that is out of sight was taken back, and nothing was seen of it."""
    other = "#other textarea"
    example(page)
    page.click("#tab-compare")
    before = page.input_value(other)
    write(page, "other", "H ; T")
    page.click("#tab-matches")
    page.click("#undo")
    page.wait_for_selector("#pane-compare:not([hidden])")
    assert page.input_value(other) == before
    page.click("#tab-matches")
    page.click("#redo")
    page.wait_for_selector("#pane-compare:not([hidden])")
    assert page.input_value(other) == "H ; T"


def test_steps_can_be_taken_back_after_the_page_is_loaded_again(page: Any) -> None:
    query = "#query textarea"
    example(page)
    whole = page.input_value(query)
    write(page, "query", "T ; H ; T")
    page.click("#add-event")
    page.click("#undo")
    page.wait_for_function("JSON.parse(sessionStorage.getItem('steps')).undone.length === 1")
    page.reload()
    page.wait_for_selector(".found button", timeout=WAIT)
    assert page.input_value(query) == "T ; H ; T"
    page.click("#redo")
    page.wait_for_function("document.querySelectorAll('#stream tr').length === 8")
    page.click("#undo")
    page.click("#undo")
    assert page.input_value(query) == whole


def test_a_pasted_stream_comes_along_to_a_language_without_own_work(page: Any) -> None:
    example(page, "core-cel")
    example(page)
    page.evaluate(PASTE, ["#stream td input", "type,time\nT,1\nH,noon"])
    see(page, "#stream-message", "line 3, field 'time': 'noon'")
    see(page, "#status", "line 3, field 'time': 'noon'")  # the message is below a table that may be long
    assert page.locator("#stream tr").count() == 7
    page.evaluate(PASTE, ["#stream td input", "type,time\nT,1\nH,2"])
    page.wait_for_function("document.querySelectorAll('#stream tr').length === 3")
    page.fill("#stream input[aria-label='time of event 1']", "noon")
    page.wait_for_selector("#stream input[aria-label='time of event 1'][aria-invalid=true]")
    page.fill("#stream input[aria-label='time of event 1']", "3")
    page.wait_for_selector("#stream input[aria-label='time of event 1'][aria-invalid=false]")
    page.select_option("#language", "core-cel")
    assert page.input_value("#stream input[aria-label='time of event 1']") == "3"
    write(page, "query", "T AS x")
    page.select_option("#language", "cel")
    example(page)
    page.select_option("#language", "core-cel")
    assert page.input_value("#stream input[aria-label='time of event 1']") == "3"
    assert page.input_value("#query textarea") == "T AS x"


def test_attributes_are_renamed_and_removed(page: Any) -> None:
    example(page)
    page.fill("[aria-label='Name of attribute tmp']", "temperature")
    see(page, "#query-message", "T has no attribute 'tmp'")
    assert page.locator("[aria-label='temperature of event 0']").input_value() == "45"
    page.click("[aria-label='Remove attribute temperature']")
    assert page.locator("#stream th input").count() == 3
    assert page.evaluate("document.activeElement.ariaLabel") == "Remove attribute hum"
    page.click("[aria-label='Remove event 0']")
    assert page.locator("#stream tr").count() == 6
    page.click("#undo")
    page.wait_for_function("document.querySelectorAll('#stream tr').length === 7")
    page.click("#undo")
    page.wait_for_selector("[aria-label='Name of attribute temperature']")


def test_an_edit_is_answered_in_sight_on_a_phone(browser: Any, site: str) -> None:
    tab = new_tab(browser, 390, 700)
    tab.goto(site)
    tab.wait_for_selector(".found button", timeout=WAIT)
    tab.fill("#stream input[aria-label='hum of event 5']", "10")
    tab.wait_for_function("document.querySelector('#status').textContent === '5 matches'")
    shown = "document.querySelector('#status').getBoundingClientRect()"
    assert 0 <= tab.evaluate(f"{shown}.top") <= tab.evaluate(f"{shown}.bottom") <= 700
    tab.click("#to-answers")
    top = tab.evaluate("document.querySelector('#tabs').getBoundingClientRect().top")
    assert tab.evaluate("document.querySelector('header').getBoundingClientRect().bottom") <= top <= 350
    assert tab.get_attribute("a", "href") == "../index.html"
    tab.close()


def test_a_live_example_opens_in_the_playground_with_its_edits(browser: Any, site: str) -> None:
    playground = pytest.importorskip("playground", reason="needs the extra docs")
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    address = playground.address(examples.state_of("A ; B", examples.rows_of("A A B")), "index")
    root = site.removesuffix("playground/")
    tab = new_tab(browser)
    tab.route(
        f"{root}live.html",
        lambda route: route.fulfill(
            content_type="text/html",
            body=f'<div class="example live"><p class="drawing">Drawn</p><a href="{address}">Open</a></div>'
            '<script src="book.js"></script>',
        ),
    )
    tab.goto(f"{root}live.html")
    assert (tab.is_visible(".drawing"), tab.get_attribute("iframe", "class")) == (True, "waiting")
    tab.wait_for_selector("iframe:not(.waiting)", timeout=WAIT)
    assert tab.locator(".drawing").count() == 0
    box = tab.frame_locator("iframe")
    box.locator(".found button").first.wait_for(timeout=WAIT)
    box.locator("#query textarea").fill("A ; A ; B")
    box.locator("#status", has_text="1 match").wait_for(timeout=WAIT)
    tab.click("text=Open")
    tab.wait_for_selector("#tab-exercises", timeout=WAIT)
    tab.wait_for_selector(".found button", timeout=WAIT)
    assert tab.input_value("#query textarea") == "A ; A ; B"
    tab.context.close()


def test_a_box_on_a_page_shows_the_query_and_its_matches(browser: Any, site: str) -> None:
    """As the landing page of the book has it, with the query and the stream of an example."""
    playground = pytest.importorskip("playground", reason="needs the extra docs")
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    state = examples.state_of("A ; B", examples.rows_of("A A B"))
    box = new_tab(browser, 700, 700)
    box.goto(site + playground.address(state, "index").replace("playground/index.html", "?box"))
    box.wait_for_selector(".found button", timeout=WAIT)
    assert box.locator(".found button").count() == 2
    assert box.locator("[role=tab]:visible").count() == 2
    assert not box.is_visible("#share")
    assert not box.is_visible("header a")
    assert box.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    box.context.close()


def test_every_language_has_an_example_an_automaton_and_steps(page: Any) -> None:
    for option in page.locator("#language option").all():
        language = option.get_attribute("value")
        example(page, language)
        page.wait_for_selector(".found button")
        page.click("#tab-automaton")
        page.wait_for_selector("#pane-automaton svg")
        page.click("#tab-steps")
        page.wait_for_selector("#pane-steps iframe")


def test_an_exercise_is_graded(page: Any) -> None:
    example(page)
    page.click("#tab-exercises")
    page.select_option("#exercise", "cel-then")
    write(page, "answer", "Open : Close")
    page.click("#grade")
    see(page, "#feedback", "hint:")
    assert not page.is_visible("#feedback details .lines")
    page.click("#feedback summary")
    see(page, "#feedback details .lines", "after event 2 the sentence wants {0, 2}, {1, 2}; yours reports {1, 2}")
    write(page, "answer", "Open ; Close")
    page.click("#grade")
    see(page, "#feedback", "right")


def test_an_exercise_that_compares_events_is_graded_without_z3(page: Any) -> None:
    example(page)
    page.click("#tab-exercises")
    page.select_option("#exercise", "cel-same")
    write(page, "answer", "(Order ; Pay) PARTITION BY [user]")
    page.click("#grade")
    see(page, "#feedback", "right as far as it was tried")
    write(page, "answer", "Order ; Pay")
    page.click("#grade")
    see(page, "#feedback", "a condition is missing: which values must the attributes have?")


def test_a_link_with_an_answer_shows_its_grade(page: Any, browser: Any) -> None:
    example(page)
    page.click("#tab-exercises")
    page.select_option("#exercise", "cel-then")
    write(page, "answer", "Open : Close")
    page.click("#share")
    other = new_tab(browser)
    other.goto(page.url)
    other.wait_for_selector("#feedback .no", timeout=WAIT)
    assert "wrong" in other.inner_text("#feedback")
    other.context.close()


def test_the_tabs_follow_the_arrow_keys(page: Any) -> None:
    example(page)
    page.focus("#tab-matches")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.get_attribute("#tab-compare", "aria-selected") == "true"
    page.keyboard.press("Home")
    assert page.get_attribute("#tab-matches", "aria-selected") == "true"


def test_what_takes_long_is_stopped(page: Any) -> None:
    """A query that tries many ways to label rows, each of which has many aggregates."""
    stream = [["type", "x"], *[["A", "1"]] * 20, ["B", "1"]]
    aggregates = " + ".join(f"{f}({A}.x)" for f in ("SUM", "MIN", "MAX", "AVG") for A in "ABCDEF")
    query = f"MATCH_RECOGNIZE (PATTERN (A* B* C* D* E* F* G) DEFINE G AS {aggregates} = 1000)"
    slow = {"language": "row-pattern", "query": query, "stream": stream, "pane": "matches", "events": None, "at": None}
    state = {"other": "A", "otherLanguage": "cel", "exercise": None, "answer": ""} | slow
    encoded = b64encode(json.dumps(state).encode(), b"-_").decode().rstrip("=")
    page.evaluate(f"location.hash = '1.{encoded}'")
    page.click("#stop")
    see(page, "#status", "Stopped. Change the query")
    page.reload()
    see(page, "#pane-matches", "There is no answer: the reason is below the query.")
    see(page, "#query-message", "the call takes more than 10 seconds; simplify the query, or take a shorter stream")
    example(page)
    see(page, "#pane-matches", "3 matches")


def test_it_opens_without_a_network(page: Any) -> None:
    page.wait_for_function("navigator.serviceWorker.controller !== null")
    page.context.set_offline(True)
    page.goto(page.url.partition("#")[0])
    page.wait_for_selector(".found button", timeout=WAIT)
    page.context.set_offline(False)


def test_it_fits_a_phone_and_is_accessible(browser: Any, site: str) -> None:
    """Each pane at three widths, light and dark."""
    tab = new_tab(browser)
    assert not list(map(str, playground_problems(tab, site, WIDTHS)))
    tab.close()
