"""Drawings: what is on them, what fits on them, and what is said where it does not fit."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from random import Random

import click
import pytest
from click.testing import CliRunner

from cerify.api import diagram_of, hoa_of, match, svg_of
from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.compile import compile_cel
from cerify.automata.dfa.compile import compile_expression
from cerify.commands import explain
from cerify.draw.automata import diagram_of_cea, diagram_of_dfa, predicate_text, types_text
from cerify.draw.diagram import (
    CHARACTER,
    LINE,
    LONGEST,
    MOST_EDGES,
    MOST_LINES,
    MOST_STATES,
    RADIUS,
    STYLES,
    Diagram,
    DrawnEdge,
    DrawnState,
    EdgeKind,
    document,
    dot,
    graphviz,
    layout,
    svg,
)
from cerify.draw.timeline import matches_svg, places_svg
from cerify.equivalence.generate import expressions as generate_expressions
from cerify.equivalence.generate.cel import PROFILES, case
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, ParseError, Unsupported
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.predicates import holds
from proofs_tests.browser import CHROMIUM
from proofs_tests.support import sampled
from proofs_tests.unit.workbench.test_html import HOSTILE

# ---- draw ----
#

SVG = "{http://www.w3.org/2000/svg}"
EXPRESSION = "event-expression"


def drawn(text: str) -> ElementTree.Element:
    """The root of an SVG file that stands alone: no reference leads out of it."""
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")
    assert not re.search("<script|<image|href", text)
    return ElementTree.fromstring(text)


def groups(root: ElementTree.Element, kind: str) -> list[ElementTree.Element]:
    return [g for g in root.iter(f"{SVG}g") if kind in (g.get("class") or "").split()]


def texts(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def edges_of(diagram: Diagram) -> set[tuple[str, str, tuple[str, ...], EdgeKind]]:
    names = [state.name for state in diagram.states]
    return {(names[edge.source], names[edge.target], edge.lines, edge.kind) for edge in diagram.edges}


# --- what is on them --------------------------------------------------------------------------------------------------


def test_a_complex_event_automaton() -> None:
    diagram = diagram_of("(T ; H) FILTER T.tmp > 40")
    assert edges_of(diagram) == {
        ("0", "0", ("any",), "ignore"),
        ("0", "1", ("T[tmp > 40] / T",), "take"),
        ("1", "1", ("any",), "ignore"),
        ("1", "2", ("H / H",), "take"),
    }
    assert [(state.initial, state.final) for state in diagram.states] == [(True, False), (False, False), (False, True)]


def test_what_passes_over_all_but_some_events_says_so() -> None:
    diagram = diagram_of("NXT((A ; B+ ; C) FILTER B.x > 3)")
    assert ("0", "0", ("all but A",), "ignore") in edges_of(diagram)
    assert ("1", "1", ("all but B[x > 3]",), "ignore") in edges_of(diagram)


def test_an_automaton_of_types() -> None:
    diagram = diagram_of("(I or D) | sequence(D, D)", EXPRESSION)
    assert edges_of(diagram) == {
        ("0", "0", ("all but D",), "read"),
        ("0", "1", ("D",), "read"),
        ("1", "0", ("I",), "read"),
        ("1", "1", ("other",), "read"),
        ("1", "2", ("D",), "read"),
        ("2", "0", ("I",), "read"),
        ("2", "1", ("other",), "read"),
        ("2", "2", ("D",), "read"),
    }


def test_the_state_of_no_hope_is_not_drawn_and_a_note_says_so() -> None:
    diagram = diagram_of("a and !before(start)", EXPRESSION)
    whole = compile_expression(parse_expression("a and !before(start)"))
    assert len(diagram.states) == len(whole.following) - 1
    assert any("without an arrow" in note for note in diagram.notes)
    assert not any("without an arrow" in note for note in diagram_of("a", EXPRESSION).notes)
    assert len(diagram_of("NULL", EXPRESSION).states) == 1


def test_masks_are_said_where_they_matter() -> None:
    lines = {line for _, _, lines, _ in edges_of(diagram_of("w[n < 5] or prior(a, w)", EXPRESSION)) for line in lines}
    assert {"w[n < 5]", "w", "w[not n < 5]", "all but a, w"} & lines >= {"w[n < 5]", "w"}


@pytest.mark.parametrize("name", sampled(["core", "everything"], ["core"]))
def test_what_stands_at_the_arrows_of_an_automaton_is_its_predicates(name: str) -> None:
    """Each text is read again by hand: on a witness of every type of events, a line is true just if a predicate is."""
    rng, seen = Random(1), 0
    while seen < 60:
        try:
            A = compile_cel(case(rng, PROFILES[name], 6, 1)[0])
            types = minterms(A.predicates)
        except CerifyError:
            continue
        diagram = diagram_of_cea(A, "")
        names = {predicate_text(P): P for P in A.predicates}
        for edge in diagram.edges:
            for event in (minterm.witness for minterm in types if minterm.witness is not None):
                for marks in {t.marks for t in A.transitions if (t.source, t.target) == (edge.source, edge.target)}:
                    if bool(marks) == (edge.kind == "take"):
                        suffix = f" / {', '.join(sorted(marks))}" if marks else ""
                        own = [line.removesuffix(suffix) for line in edge.lines if line.endswith(suffix)]
                        if not marks:
                            own = list(edge.lines)
                        steps = [t for t in A.leaving[edge.source] if (t.target, t.marks) == (edge.target, marks)]
                        assert any(holds(t.predicate, event) for t in steps) == any(_true(s, names, event) for s in own)
        seen += 1


def _true(line: str, names: dict[str, object], event: Event) -> bool:
    if line == "any":
        return True
    if line in names:
        return holds(names[line], event)
    assert line.startswith("all but ")
    return not any(f"|{text}|" in _cut(line) and holds(P, event) for text, P in names.items())


def _cut(line: str) -> str:
    return "|" + line.removeprefix("all but ").replace(", ", "|") + "|"


def test_every_event_has_its_arrow_or_no_hope() -> None:
    """Each type of events is on exactly one arrow of each state, unless it leads to where there is no hope."""
    rng = Random(3)
    for _ in range(60):
        E, _ = generate_expressions.case(rng, generate_expressions.PROFILES["masked"], 6, 0)
        A = compile_expression(E)
        diagram = diagram_of_dfa(A, "")
        for q, state in enumerate(diagram.states):
            types = list(A.following[int(state.name)])
            arrows = [edge for edge in diagram.edges if edge.source == q]
            reached = {diagram.states[edge.target].name for edge in arrows}
            kept = {s.name for s in diagram.states}
            assert reached == {str(A.following[int(state.name)][a]) for a in types} & kept
            assert all(edge.lines for edge in arrows)
            for one, two in combinations(arrows, 2):
                assert not set(one.lines) & set(two.lines)


def test_types_in_few_words() -> None:
    alphabet = compile_expression(parse_expression("a or b or c[x > 1]")).alphabet
    every = frozenset(alphabet.coming) | frozenset(alphabet.starts)
    of = {(m.witness.type if m.witness else "?", m.chosen): a for a, m in enumerate(alphabet.types)}
    named = {T: a for (T, chosen), a in of.items() if chosen}
    assert list(types_text(alphabet, every, every)) == ["any event"]
    assert list(types_text(alphabet, frozenset({named["a"], named["b"]}), every)) == ["a", "b"]
    assert list(types_text(alphabet, every - {named["a"]}, every)) == ["all but a"]
    assert list(types_text(alphabet, frozenset({named["c"]}), every)) == ["c[x > 1]"]
    assert list(types_text(alphabet, every - {named["start"]}, every)) == ["all but start"]


# --- what fits --------------------------------------------------------------------------------------------------------


def chain(states: int, text: str = "A") -> Diagram:
    edges = [DrawnEdge(q, q + 1, (text,)) for q in range(states - 1)] + [
        DrawnEdge(q, q, ("any",)) for q in range(states)
    ]
    return Diagram("a chain", tuple(DrawnState(str(q), q == 0, q == states - 1) for q in range(states)), tuple(edges))


BRAID = "<5> a and !before(<5> b)"  # 26 states


@pytest.mark.parametrize(
    ("query", "language", "states"),
    [
        ("A", "cel", 2),
        ("A ; B+ ; C ; (D : E) ; F ; H", "cel", 8),
        (" ; ".join(f"A{i}" for i in range(29)), "cel", 30),
        ("(A AS x ; B AS y) FILTER x.n > 3", "core-cel", 3),
        ("a", EXPRESSION, 2),
        ("every <7> a", EXPRESSION, 8),
        (BRAID, EXPRESSION, 26),
        ("every <29> a", EXPRESSION, 30),
    ],
)
def test_states_and_texts_do_not_cover_each_other(query: str, language: str, states: int) -> None:
    diagram = diagram_of(query, language)
    assert len(diagram.states) == states
    sizes = [(max(map(len, edge.lines)), len(edge.lines)) for edge in diagram.edges]
    placed = layout(diagram, sizes)
    for (x1, y1), (x2, y2) in combinations(placed.states, 2):
        assert (x1 - x2) ** 2 + (y1 - y2) ** 2 > (2 * RADIUS) ** 2
    boxes = [
        (arrow.text[0] - c * CHARACTER / 2, arrow.text[1] - r * LINE / 2, c * CHARACTER, r * LINE)
        for arrow, (c, r) in zip(placed.arrows, sizes, strict=True)
    ]
    for (x1, y1, w1, h1), (x2, y2, w2, h2) in combinations(boxes, 2):
        assert x1 + w1 <= x2 + 1 or x2 + w2 <= x1 + 1 or y1 + h1 <= y2 + 1 or y2 + h2 <= y1 + 1
    for x, y in placed.states:
        assert 0 <= x <= placed.width
        assert 0 <= y <= placed.height
    root = drawn(svg_of(query, language))
    assert len(groups(root, "state")) == states
    assert len(groups(root, "initial")) == 1
    assert sum(circle.get("class") == "inner" for circle in root.iter(f"{SVG}circle")) >= 1


def test_a_loop_is_above_its_state_or_beside_it() -> None:
    short = Diagram("", (DrawnState("0"), DrawnState("1")), (DrawnEdge(0, 0, ("any",)), DrawnEdge(0, 1, ("A",))))
    wide = Diagram("", short.states, (DrawnEdge(0, 0, ("all but interest",)), DrawnEdge(0, 1, ("A",))))
    above, beside = layout(short, [(3, 1), (1, 1)]), layout(wide, [(16, 1), (1, 1)])
    assert above.arrows[0].text[1] < above.states[0][1] - RADIUS
    assert beside.arrows[0].text[0] > beside.states[0][0] + RADIUS


def test_several_loops_of_a_state_each_have_their_text() -> None:
    kinds: tuple[EdgeKind, ...] = ("take", "ignore", "proceed")
    diagram = Diagram("", (DrawnState("0"),), tuple(DrawnEdge(0, 0, (kind,), kind) for kind in kinds))
    heights = [arrow.text[1] for arrow in layout(diagram, [(len(kind), 1) for kind in kinds]).arrows]
    assert all(b - a >= LINE for a, b in combinations(heights, 2) if a < b)
    assert len(set(heights)) == 3


def test_the_slash_stays_with_the_variables_after_it() -> None:
    """Of a label that was a little too long the variable alone was below, and the slash ended the line above."""
    drawing = svg_of("H FILTER H.hum <= 25 AND H.id = 0")
    assert ">H[hum &lt;= 25 and id = 0]<" in drawing
    assert ">/ H<" in drawing


def test_a_long_condition_is_told_below_by_number_once() -> None:
    long = " and ".join(f"a.attribute_{i} > {i}" for i in range(20))
    diagram = Diagram(
        "", (DrawnState("0", True), DrawnState("1", final=True)), (DrawnEdge(0, 1, (long,)), DrawnEdge(1, 0, (long,)))
    )
    root = drawn(document(svg(diagram)))
    shown = texts(root)
    assert shown.count("(1)") == 3  # at two arrows, and below
    assert " ".join(text.strip() for text in shown if "attribute" in text) == long
    for x in (float(text.get("x", 0)) + len(text.text or "") * CHARACTER for text in root.iter(f"{SVG}text")):
        assert x <= float(root.get("width", 0)) + CHARACTER
    short = Diagram("", diagram.states, (DrawnEdge(0, 1, ("a" * LONGEST,) * MOST_LINES),))
    assert "(1)" not in texts(drawn(document(svg(short))))


def test_kinds_of_edges_have_strokes_of_their_own_and_a_key() -> None:
    kinds: tuple[EdgeKind, ...] = ("begin", "take", "ignore", "proceed", "match", "label", "fail", "end")
    edges = tuple(DrawnEdge(q, q + 1, (kind,), kind) for q, kind in enumerate(kinds))
    text = document(svg(Diagram("", tuple(DrawnState(str(q)) for q in range(9)), edges)))
    root = drawn(text)
    for kind in kinds:
        assert len(groups(root, kind)) == 3  # the arrow, its text, and the key
        assert re.search(rf"\.{kind} \.stroke[^{{}}]*{{[^}}]+}}", text)
    assert not any(said in texts(drawn(svg_of("a", EXPRESSION))) for said in ("takes the event", "reads the event"))


def test_too_many_states_or_arrows() -> None:
    assert svg(chain(MOST_STATES)).count('class="state"') == MOST_STATES
    with pytest.raises(BudgetExceeded, match=f"{MOST_STATES + 1} states.*draw a part"):
        svg(chain(MOST_STATES + 1))
    many = tuple(DrawnEdge(p, q, ("A",)) for p in range(20) for q in range(20))[: MOST_EDGES + 1]
    with pytest.raises(BudgetExceeded, match=f"{MOST_EDGES + 1} arrows"):
        svg(Diagram("", tuple(DrawnState(str(q)) for q in range(20)), many))


def test_an_automaton_without_states_is_said_to_match_nothing() -> None:
    root = drawn(svg_of("(A : B) WITHIN 1 EVENTS"))
    assert not groups(root, "state")
    assert "matches nothing" in " ".join(texts(root))


def test_nothing_that_is_written_becomes_markup() -> None:
    diagram = Diagram(HOSTILE, (DrawnState(HOSTILE, True),), (DrawnEdge(0, 0, (HOSTILE,)),), (HOSTILE,))
    root = ElementTree.fromstring(document(svg(diagram)))
    known = {"svg", "title", "desc", "style", "rect", "g", "path", "circle", "text"}
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known
    stream = Stream([Event(HOSTILE, {"x": HOSTILE})])
    root = ElementTree.fromstring(places_svg(stream, {HOSTILE: [0]}))
    assert {element.tag.removeprefix(SVG) for element in root.iter()} <= known


def test_a_drawing_is_told_in_words() -> None:
    root = drawn(svg_of("A ; B"))
    assert root.get("role") == "img"
    title, desc = root.find(f"{SVG}title"), root.find(f"{SVG}desc")
    assert title is not None
    assert desc is not None
    assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
    assert title.text == "Automaton of A ; B"
    assert "From 0 to 1 (take): A / A." in (desc.text or "")
    assert "2 (final)" in (desc.text or "")
    assert "1: b" in (drawn(places_svg(Stream(map(Event, "ab")), {"a": [0]})).findtext(f"{SVG}desc") or "")


def luminance(colour: str) -> float:
    digits = colour.lstrip("#")
    parts = [
        int(c * 2 if len(digits) == 3 else c, 16) / 255 for c in re.findall("." if len(digits) == 3 else "..", digits)
    ]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_texts_and_strokes_stand_out_in_light_and_dark() -> None:
    css = svg_of("A")
    light, dark = ({} for _ in range(2))
    for block, colours in ((light, css), (dark, "".join(re.findall(r"dark\) {(.*?)\n}", css, re.DOTALL)))):
        for name, value in re.findall(r"--([\w-]+): (#\w+)", colours):
            block.setdefault(name, value)
    for colours in (light, dark):
        ground = luminance(colours["paper"])
        for name in ("ink", "soft", "link", "act", "begin", "both", "missing", "extra"):
            one = luminance(colours[name])
            assert (max(one, ground) + 0.05) / (min(one, ground) + 0.05) >= 4.5, name


# --- streams ----------------------------------------------------------------------------------------------------------


def test_a_time_is_seen_on_its_card() -> None:
    """Of each was to be seen that it is a timestamp, and the beginning of its year."""
    time = datetime(2026, 1, 31, 10, 0, 30, tzinfo=UTC)
    assert "time 2026-01-31T10:00:30Z" in texts(drawn(matches_svg(Stream([Event("A", {"time": time})]), [])))


def test_places_are_not_joined_and_have_no_flag() -> None:
    S = Stream(map(Event, "aba"))
    root = drawn(places_svg(S, {"a": [0, 2], "c": []}))
    assert sum(path.get("class") in ("join", "flag") for path in root.iter(f"{SVG}path")) == 0
    assert len(list(root.iter(f"{SVG}circle"))) == 2
    assert "c: nowhere" in texts(root)
    joined = drawn(matches_svg(S, [Match(2, (0, 2))]))
    assert [path.get("class") for path in joined.iter(f"{SVG}path")].count("flag") == 1


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.csv").write_text("type,n\nA,1\nB,2\nA,3\nB,4\n", encoding="utf-8")
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(explain.draw_command, arguments, catch_exceptions=False, standalone_mode=False)
    assert result.exception is None
    return result.output


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["A ; B"], "3 states, 4 arrows"),
        (["A ; B", "s.csv"], "4 events, 3 matches"),
        (["(A ; B) FILTER A.n = B.n - 1", "s.csv"], "4 events, 2 matches"),
        (["A AS x", "s.csv", "--language", "core-cel"], "4 events, 2 matches"),
        (["prior(A, B)", "--language", EXPRESSION], "3 states, 6 arrows"),
        (["prior(A, B)", "s.csv", "--language", EXPRESSION], "4 events, it takes place at 2 of them"),
        (["prior(A(X), B(Y)) and X = 3", "s.csv", "--language", EXPRESSION], "4 events, it takes place at 1 of them"),
    ],
)
def test_the_command_draws(folder: Path, arguments: list[str], says: str) -> None:
    assert run(*arguments, "-o", "x.svg") == f"x.svg: {says}\n"
    drawn((folder / "x.svg").read_text(encoding="utf-8"))
    run(*arguments, "-o", "x.html")
    page = (folder / "x.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 1
    assert says in page


def test_the_command_prints(folder: Path) -> None:
    assert run("A ; B", "--svg") == svg_of("A ; B")
    assert 'class="flag"' in run("A ; B", "s.csv", "--svg")
    assert run("A ; B", "--dot").startswith('digraph "Automaton of A ; B" {')
    assert run("A ; B", "--hoa").startswith("HOA: v1\n")
    for arguments in (["A"], ["A", "--svg", "-o", "x.svg"], ["A", "s.csv", "--dot"], ["A", "s.csv", "--hoa"]):
        with pytest.raises(click.UsageError):
            run(*arguments)


def test_the_suffix_says_what_is_written(folder: Path) -> None:
    for suffix in ("dot", "hoa", "svg"):
        assert run("A ; B", "-o", f"x.{suffix}") == f"x.{suffix}: 3 states, 4 arrows\n"
        assert (folder / f"x.{suffix}").read_text(encoding="utf-8") == run("A ; B", f"--{suffix}")
    for arguments, says in (
        (["A", "-o", "x.png"], r"cannot write a \.png; name a file that ends in \.svg, .*\.tex"),
        (["A", "-o", "x"], "cannot write a file without a suffix"),
        (["A", "s.csv", "-o", "x.dot"], r"only an automaton can be written as \.dot"),
    ):
        with pytest.raises(click.UsageError, match=says):
            run(*arguments)


def test_an_automaton_is_written_for_latex(folder: Path) -> None:
    """Each state and text is a node, and what LaTeX would read as a command is escaped."""
    run("A ; (B FILTER B.n = '50%_{#}\\\\^~$&')", "-o", "x.tex")
    text = (folder / "x.tex").read_text(encoding="utf-8")
    assert text.startswith("\\documentclass[tikz, border=4bp]{standalone}\n")
    assert [text.count(part) for part in ("draw, circle", ", double,", "\\draw[->, dashed]")] == [3, 1, 2]
    assert r"50\%\_\{\#\}\textbackslash{}" in text
    assert r"\textasciicircum{}\textasciitilde{}\$\&" in text
    body = re.sub(r"\\.", "", text)
    assert body.count("{") == body.count("}")


@pytest.mark.thorough
@pytest.mark.skipif(CHROMIUM is None, reason="needs a Chromium")
@pytest.mark.parametrize("file", [[], ["s.csv"]])
def test_a_drawing_is_printed_on_one_page(folder: Path, file: list[str]) -> None:
    run("A ; B", *file, "-o", "x.pdf")
    printed = (folder / "x.pdf").read_bytes()
    assert (printed.startswith(b"%PDF"), len(re.findall(rb"/Type\s*/Page\b", printed))) == (True, 1)


def test_of_many_matches_the_first_are_drawn(folder: Path) -> None:
    (folder / "s.csv").write_text("type\n" + "A\n" * 40, encoding="utf-8")
    assert run("A+", "s.csv", "-o", "x.svg") == "x.svg: 40 events, 16 matches, and there are more\n"
    says = "x.svg: 40 events, it takes place at 40 of them; only the first 16 are drawn\n"
    assert run("A", "s.csv", "--language", EXPRESSION, "-o", "x.svg") == says


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["A", "-o", "none/x.svg"], click.UsageError),
        (["A ;", "-o", "x.svg"], ParseError),
        (["(A ; B) FILTER A.n = B.n", "-o", "x.svg"], Unsupported),
        (["A FILTER A.m > 1", "-o", "x.svg", "--schema", '{"A": {"n": "int"}}'], IllFormed),
        (["every <70> a", "-o", "x.svg", "--language", EXPRESSION], BudgetExceeded),
    ],
)
def test_what_cannot_be_drawn(folder: Path, arguments: list[str], error: type[Exception]) -> None:
    with pytest.raises(error):
        run(*arguments)


def test_there_is_a_drawing_for_each_language_or_a_word_about_it() -> None:
    with pytest.raises(IllFormed, match="no language 'sql'"):
        diagram_of("A", "sql")
    schema = Schema({"A": {"n": "int"}})
    with pytest.raises(IllFormed):
        diagram_of("A FILTER A.m > 1", "cel", schema)


# --- SASE+ ------------------------------------------------------------------------------------------------------------

QUERY_3 = (
    "PATTERN SEQ(STOCK+ a[], STOCK b) WHERE skip_till_next_match(a[]!, b) { [symbol] and a[1].volume > 1000 and "
    "a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume } WITHIN 1 hour RETURN a[1].symbol"
)


def test_the_automaton_of_query_3_is_that_of_figure_2() -> None:
    diagram = diagram_of(QUERY_3, "sase")
    assert edges_of(diagram) == {
        ("a[1]", "a[i]", ("begin",), "begin"),
        ("a[i]", "a[i]", ("take",), "take"),
        ("a[i]", "a[i]", ("ignore",), "ignore"),
        ("a[i]", "b", ("proceed",), "proceed"),
        ("b", "b", ("ignore",), "ignore"),
        ("b", "F", ("begin",), "begin"),
    }
    assert [section.title for section in diagram.table] == [
        "relevant event definition",
        "event selection strategy",
        "termination criteria",
    ]
    assert "θ_a[i]_proceed = θ_b_begin ∨ θ_a[i]_auto-stop" in diagram.table[2].lines


def test_the_table_of_formulas_is_below_the_drawing_and_in_its_words() -> None:
    text = svg_of(QUERY_3, "sase")
    shown = texts(drawn(text))
    assert "termination criteria" in shown
    assert "θ_a[i]_auto-stop = ¬θ_a[i]_take ∧ ¬θ_a[i]_ignore" in " ".join(shown)
    assert "termination criteria: θ_a[i]_forced-stop" in diagram_of(QUERY_3, "sase").described()


@pytest.mark.parametrize(
    ("query", "language"),
    [
        ("(A ; B ; C ; D ; E) FILTER A[x > 10 and y > 10 and z > 10]", "cel"),
        ("MATCH_RECOGNIZE (PATTERN ((A | B)+ C D E) DEFINE A AS x < PREV(x) AND y > 10 AND z > 10)", "row-pattern"),
    ],
)
def test_what_stands_below_a_wide_drawing_fits_a_phone(query: str, language: str) -> None:
    """It was as wide as the drawing, so that at 390 pixels its lines were cut."""
    drawing = drawn(svg_of(query, language))
    below = [text for text in drawing.iter() if text.get("class") in ("note", "heading")]
    assert float(drawing.get("width", 0)) > 350
    assert below
    assert all(float(text.get("x", 0)) + len(text.text or "") * CHARACTER <= 350 for text in below)


def test_a_negated_component_has_an_automaton_of_its_own() -> None:
    diagram = diagram_of("PATTERN SEQ(A a, ~B+ b[], A c) WHERE count(b[]) > 1 RETURN a.x", "sase")
    assert [state.name for state in diagram.states] == ["a", "c", "F", "b[1]", "b[i]", "F"]
    assert [section.title for section in diagram.table if not section.lines] == [
        "SEQ(A a, ~B+ b[], A c)",
        "~B+ b[]",
    ]


# --- MATCH_RECOGNIZE --------------------------------------------------------------------------------------------------


def test_ways_of_a_row_pattern_are_numbered_in_the_order_of_preference() -> None:
    query = "MATCH_RECOGNIZE (PATTERN (A B*? $ | {- A -}) DEFINE B AS x < PREV(x))"
    diagram = diagram_of(query, "row-pattern")
    assert edges_of(diagram) == {
        ("in", "A1", ("1",), "take"),
        ("in", "A2", ("2",), "take"),
        ("A1", "out", ("1 after the last row",), "proceed"),
        ("A1", "B", ("2",), "take"),
        ("B", "out", ("1 after the last row",), "proceed"),
        ("B", "B", ("2",), "take"),
        ("A2", "out", ("1",), "proceed"),
    }
    assert [(one.title, one.lines) for one in diagram.table] == [
        ("DEFINE", ("B AS x < PREV(x)",)),
        ("left out of the output", ("A2",)),
    ]
    greedy = diagram_of(query.replace("*?", "*"), "row-pattern")
    assert ("B", "B", ("1",), "take") in edges_of(greedy)
    with pytest.raises(IllFormed, match="the variable C is not in the pattern"):
        diagram_of("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS C.x > 1)", "row-pattern")
    with pytest.raises(
        Unsupported, match="in an order of preference, which HOA cannot express; draw it with -o, --svg"
    ):
        hoa_of(query, "row-pattern")


# ---- draw formats ----
# Automata as text for other tools: Graphviz reads what is written for it, and what HOA says is what they accept.


@pytest.mark.parametrize(
    ("query", "language", "states", "edges"),
    [("A ; B", "cel", 3, 4), ("prior(A, B)", EXPRESSION, 3, 6), ("PATTERN SEQ(A a, B+ b[]) RETURN a.x", "sase", 4, 6)],
)
def test_graphviz_reads_what_is_written_for_it(query: str, language: str, states: int, edges: int) -> None:
    diagram = diagram_of(query, language)
    assert (len(diagram.states), len(diagram.edges)) == (states, edges)
    read = graphviz(dot(diagram))
    named = {node["name"]: node for node in read["objects"]}
    assert [named[str(q)]["label"] for q in range(states)] == [state.name for state in diagram.states]
    assert [named[str(q)]["shape"] for q, state in enumerate(diagram.states) if state.final] == ["doublecircle"]
    shown = [(edge["label"], edge.get("style", "solid")) for edge in read["edges"] if edge.get("label")]
    assert sorted(shown) == sorted(("\\n".join(edge.lines), STYLES[edge.kind]) for edge in diagram.edges)


def test_what_is_written_for_graphviz_is_quoted() -> None:
    hostile = 'a"; b [label="c\\'
    read = graphviz(dot(Diagram(hostile, (DrawnState(hostile), DrawnState("1")), (DrawnEdge(0, 1, (hostile,)),))))
    assert len(read["objects"]) == 2
    assert len(read["edges"]) == 1


Hoa = tuple[list[int], list[str], dict[int, list[tuple[str, int]]], set[int]]


def read_hoa(text: str) -> Hoa:
    """The initial states, the propositions, the edges and the accepting states of an HOA file."""
    head, body = text.split("--BODY--\n")
    starts = [int(q) for q in re.findall(r"^Start: (\d+)$", head, re.MULTILINE)]
    propositions = re.findall(r'"([^"]*)"', re.findall(r"^AP: .*$", head, re.MULTILINE)[0])
    edges: dict[int, list[tuple[str, int]]] = {}
    accepting = set()
    for line in body.removesuffix("--END--\n").splitlines():
        if state := re.fullmatch(r"State: (\d+)( \{0\})?", line):
            q = int(state[1])
            edges[q] = []
            accepting |= {q} if state[2] else set()
        else:
            label, target = re.fullmatch(r"\[(.*)\] (\d+)", line).groups()  # type: ignore[union-attr]
            edges[q].append((label, int(target)))
    return starts, propositions, edges, accepting


def accepts(hoa: Hoa, word: list[set[str]]) -> bool:
    """Whether a run over a word, each letter the propositions that are true, ends in an accepting state."""
    starts, propositions, edges, accepting = hoa
    here = set(starts)
    for letter in word:
        true = {i for i, name in enumerate(propositions) if name in letter}
        here = {
            q
            for p in here
            for label, q in edges[p]
            if all(
                part == "t" or (int(part) in true if part[0] != "!" else int(part[1:]) not in true)
                for part in label.split("&")
            )
        }
    return bool(here & accepting)


def test_the_hoa_of_a_formula_accepts_its_valuations() -> None:
    hoa = read_hoa(hoa_of("A ; B+"))
    assert sorted(hoa[1]) == ["A", "B", "mark A", "mark B"]
    A, B, a, b = ({"A"}, {"B"}, {"A", "mark A"}, {"B", "mark B"})
    assert accepts(hoa, [a, b])
    assert accepts(hoa, [A, a, B, b, b])
    for word in ([a, B], [b], [a, {"A", "mark B"}], [a], [A, B], [b, a]):
        assert not accepts(hoa, word)


ASKED: dict[str, Callable[[Event], bool]] = {
    "a": lambda event: event.type == "a",
    "b": lambda event: event.type == "b",
    "a[x > 1]": lambda event: event == Event("a", {"x": 2}),
}


@pytest.mark.parametrize("query", ["prior(a, b)", "<2> a and !before(b)", "a[x > 1] or b"])
def test_the_hoa_of_an_expression_accepts_where_it_takes_place(query: str) -> None:
    hoa = read_hoa(hoa_of(query, EXPRESSION))
    S = [Event(T, {"x": x}) for T, x in (("a", 1), ("a", 2), ("b", 2), ("c", 2), ("b", 0), ("a", 2))]
    word = [{name for name, asks in ASKED.items() if asks(event)} for event in S]
    expected = {found.at for found in match(query, S, language=EXPRESSION)}
    assert expected
    assert {n for n in range(len(S)) if accepts(hoa, word[: n + 1])} == expected


def test_a_buffer_has_no_hoa() -> None:
    with pytest.raises(Unsupported, match="buffer"):
        hoa_of("PATTERN SEQ(A a) RETURN a.x", "sase")
