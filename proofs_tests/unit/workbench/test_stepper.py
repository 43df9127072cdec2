"""A recorded run is what the evaluators do: its nodes, walked on their own, have the matches; and the page is whole."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from xml.etree import ElementTree

import click
import pytest
from click.testing import CliRunner

from cerify.api import match, record
from cerify.commands import explain as command
from cerify.draw.recording import MOST_EVENTS, MOST_FOUND, MOST_NODES, DrawnStep, Recording
from cerify.draw.stepper import growth_svg, sentence, stepper, summary
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, ParseError, Unsupported
from cerify.semantics.events import Event, Match, Stream

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
    with pytest.raises(BudgetExceeded, match=f"more than {MOST_NODES} nodes by event"):
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
    said = "PARTITION BY is not in the automaton"
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
