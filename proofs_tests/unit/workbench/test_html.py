"""The HTML page of a conformance run: what it has to say, and what must never get into it."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from cerify.conformance.model import Case, CaseResult, Defect, Outcome, Report, difference
from cerify.conformance.report import DRAWN, render, rows_of
from cerify.draw.timeline import Row, TimelineColumn, timeline
from cerify.semantics.events import Match, result_of

HOSTILE = "<script>alert('x')</script>\"'&<img src=http://example.org/x>"
VOID = {"meta", "br", "img", "link", "input"}


class Outline(HTMLParser):
    """The elements of a page, with a complaint for each end tag that ends something else."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.complaints: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes.extend(attrs)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.complaints.append(f"</{tag}> at {self.getpos()}")


def case(id_="seq-0001", query="A ; B", feature="seq", events="A B B", matches=((1, (0, 1)), (2, (0, 2)))):
    return Case(
        id=id_,
        feature=feature,
        clause="tods21, Figure 3",
        language="cel",
        query=query,
        schema=None,
        events=[{"type": type_, "x": position} for position, type_ in enumerate(events.split())],
        output="matches",
        matches=[Match(at, positions) for at, positions in matches],
    )


def failed(*reported, **changes):
    return CaseResult(case(**changes), "failed", [Match(at, positions) for at, positions in reported])


def defect(result, *cases, id_="d1"):
    return Defect(id_, "missing", ("seq",), result, result, cases)


def report(*results, defects=(), engine="an engine"):
    return Report(engine, "1.2", "cel-core", results, defects, restarts=1, seconds=2.5)


def test_every_outcome_is_counted_with_the_whole_suite_as_the_denominator():
    """A page that leaves skipped or dead cases out of the total flatters the engine."""
    outcomes: list[Outcome] = ["passed", "passed", "skipped", "error", "crashed", "timeout", "memory", "protocol"]
    text = render(report(*(CaseResult(case(f"c{i}"), outcome) for i, outcome in enumerate(outcomes))))
    assert "passed of the 7 cases that the engine claims" in text
    assert "1 case of 8 skipped" in text
    rows = dict(re.findall(r'<tr><th scope="row">([a-z ]+)</th><td class="number">(\d+)</td><td>', text))
    expected = {"passed": "2", "failed": "0", "not run": "0", "disputed": "0"}
    expected |= dict.fromkeys(("skipped", "error", "crashed", "timeout", "memory", "protocol"), "1")
    assert rows == expected


def test_nothing_the_engine_or_the_suite_says_becomes_markup():
    """A hostile engine name, query, attribute, detail or case id must show as text."""
    hostile = Case(
        HOSTILE, HOSTILE, HOSTILE, "cel", HOSTILE, None, [{"type": HOSTILE, HOSTILE: HOSTILE}], "matches", []
    )
    extra = Match(0, (0,), ((HOSTILE, (0,)),))
    results = [CaseResult(hostile, "failed", [extra], HOSTILE), CaseResult(hostile, "skipped", None, HOSTILE)]
    report = Report(HOSTILE, HOSTILE, HOSTILE, results, [defect(results[0], HOSTILE)], 0, 0.0)
    page = Outline(render(report))
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert not [name for name, _ in page.attributes if name.startswith("on")]


def test_the_page_asks_for_nothing_from_the_network():
    text = render(report(failed((1, (0, 1))), defects=[defect(failed((1, (0, 1))), "seq-0001")]))
    page = Outline(text)
    assert not {"link", "img", "iframe", "object", "script"} & set(page.tags)
    assert "url(" not in text
    assert "@import" not in text
    assert all(value.startswith("#") for name, value in page.attributes if name in ("href", "src"))


def test_the_page_is_well_formed_and_its_ids_are_unique():
    """Two defects with the same id would send the links of the feature table to the wrong one."""
    result = failed((1, (0, 1)))
    text = render(
        report(result, CaseResult(case("x"), "skipped"), defects=[defect(result, "a", id_=f"d{i}") for i in range(3)])
    )
    page = Outline(text)
    ids = [value for name, value in page.attributes if name == "id"]
    assert page.complaints == []
    assert page.open == []
    assert len(ids) == len(set(ids))
    assert {value for name, value in page.attributes if name == "href"} <= {f"#{id_}" for id_ in ids}


def test_missing_extra_and_common_matches_are_told_apart():
    """An engine's own match drawn as an expected one would accuse the semantics."""
    rows = rows_of(failed((1, (0, 1)), (2, (1, 2))))
    assert [(row.kind, row.positions) for row in rows] == [("missing", (0, 2)), ("extra", (1, 2)), ("common", (0, 1))]


def test_valuations_that_differ_in_their_bindings_alone_are_told_apart():
    expected, reported = Match(0, (0,), (("A", (0,)),)), Match(0, (0,), (("B", (0,)),))
    result = CaseResult(replace(case(), output="valuations", matches=[expected]), "failed", [reported])
    assert [(row.kind, row.caption) for row in rows_of(result)] == [
        ("missing", "missing · {0} at 0 (A: 0)"),
        ("extra", "extra · {0} at 0 (B: 0)"),
    ]


@pytest.mark.parametrize(
    ("result", "says"),
    [
        (failed((1, (0, 1))), "Missing {0, 2} at 2"),
        (failed((0, (0,)), matches=()), "Not expected {0} at 0"),
        (failed((2, (0, 1)), (2, (0, 2))), "the same events are reported at another position"),
        (CaseResult(case(), "crashed", None, "the process ended with status 139"), "The process ended with status 139"),
        (CaseResult(case(), "timeout", None, "no answer within 10 s"), "No answer within 10 s"),
    ],
)
def test_the_page_says_what_happened(result, says):
    assert says in render(report(result, defects=[defect(result, "seq-0001")]))


def test_a_wrong_result_is_shown_as_one():
    """The expected and the reported text would be the same without it, and no position has changed."""
    expected, reported = (Match(0, (0,), (("a", (0,)),), result_of({"x": x})) for x in (1, 2))
    said = difference({expected}, {reported})
    assert said == (
        'missing {0} at 0 (a: 0) returns {"x": 1}; not expected {0} at 0 (a: 0) returns {"x": 2}; '
        "the same match has another result"
    )


def test_a_long_list_of_matches_is_cut_and_says_so():
    many = failed(matches=[(2, (i, 99)) for i in range(DRAWN + 5)])
    assert "; 5 more not drawn" in render(report(many, defects=[defect(many, "seq-0001")]))


def test_reasons_are_grouped_with_their_counts():
    results = [CaseResult(case(f"c{i}"), "skipped", None, "no iteration" if i < 3 else "no filters") for i in range(5)]
    text = render(report(*results))
    counts = re.findall(r'data-label="Cases">(\d+)</td>\s*<td>([a-z ]+)', text)
    assert counts == [("3", "no iteration"), ("2", "no filters")]


# --- the drawing ------------------------------------------------------------------------------------------------------


def marks(svg, kind):
    """For each row of a kind: where its dots are, from left to right."""
    root = ElementTree.fromstring(svg)
    groups = [g for g in root.iter("g") if g.get("class") == kind]
    return [[float(c.get("cx")) for c in g.iter("circle")] for g in groups]


def test_dots_stand_below_their_events():
    svg = timeline([TimelineColumn(i, "T") for i in range(4)], [Row("missing", (0, 3), 3, "m")])
    root = ElementTree.fromstring(svg)
    middles = {t.text: float(t.get("x")) for t in root.iter("text") if t.get("class") == "position"}
    assert marks(svg, "missing") == [[middles["0"], middles["3"]]]


def test_the_flag_stands_at_the_position_of_the_report_and_not_at_the_last_event():
    columns = [TimelineColumn(i, "T") for i in range(4)]
    flags = [
        re.search(r'class="flag" d="M([\d.]+)', timeline(columns, [Row("common", (0, 1), at, "")]))[1] for at in (1, 3)
    ]
    assert float(flags[0]) < float(flags[1])


def test_positions_that_are_not_on_the_stream_are_named():
    """An engine may report a position that does not exist; the drawing must neither fail nor hide it."""
    assert "(not on the stream: 7, 9)" in timeline([TimelineColumn(0, "T")], [Row("extra", (0, 7), 9, "extra")])


def test_left_out_events_are_counted():
    assert "4 events left out" in timeline([TimelineColumn(2, "T"), TimelineColumn(7, "T")])


def test_an_empty_stream_and_an_empty_complex_event_can_be_drawn():
    assert ElementTree.fromstring(timeline([], [Row("missing", (), 0, "nothing")])).tag == "svg"


def test_what_is_written_on_the_drawing_is_escaped():
    svg = timeline([TimelineColumn(0, HOSTILE, [HOSTILE])], [Row("extra", (0,), 0, HOSTILE)])
    assert {element.tag for element in ElementTree.fromstring(svg).iter()} <= {
        "svg",
        "g",
        "title",
        "text",
        "rect",
        "path",
    }
