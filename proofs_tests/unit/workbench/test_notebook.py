"""What a notebook shows, through the one hook of IPython that the extension uses; no IPython is needed for that."""

from __future__ import annotations

import ast
import json
import re
import sys
from base64 import b64decode
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from cerify import notebook
from cerify.api import contained, diagram_of, equivalent, match, record
from cerify.automata.cea.compile import compile_cel
from cerify.automata.dfa.compile import compile_expression
from cerify.equivalence.verdict import Undecided
from cerify.explanations.cel import explain
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import CerifyError, MissingPackage, ParseError
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Event, Match, Stream
from proofs_tests.conftest import ROOT

EXPRESSIONS = ("event-expression", "event-expression")

S = Stream(map(Event, "ABAB"))
PHI = parse("A ; B")


class Formatter:
    """As much of IPython's formatter of HTML as the extension speaks to."""

    def __init__(self) -> None:
        self.type_printers: dict[type, Callable[[Any], str | None]] = {}

    def for_type(self, type_: type, shown: Callable[[Any], str | None]) -> None:
        self.type_printers[type_] = shown

    def pop(self, type_: type) -> None:
        del self.type_printers[type_]

    def __call__(self, value: Any) -> str | None:
        shown = self.type_printers.get(type(value))
        return None if shown is None else shown(value)


@pytest.fixture
def html() -> Formatter:
    formatter = Formatter()
    notebook.load_ipython_extension(ipython(formatter))
    return formatter


def ipython(formatter: Formatter) -> Any:
    """As much of IPython as the extension uses; what it shows of an error is in `shown`."""
    shell = SimpleNamespace(
        display_formatter=SimpleNamespace(formatters={"text/html": formatter}), shown=[], handled=()
    )

    def set_custom_exc(kinds: tuple[type, ...], handler: Any) -> None:
        shell.handled, shell.handler = kinds, handler

    shell.set_custom_exc = set_custom_exc
    shell._showtraceback = lambda kind, error, lines: shell.shown.extend(lines)
    return shell


def image(text: str | None) -> ElementTree.Element:
    """The picture in some HTML, which has a text for those who do not see it."""
    assert text is not None
    assert re.search(r'<img [^>]*alt="[^"]+"', text)
    return ElementTree.fromstring(b64decode(re.findall(r"base64,([^\"]+)", text)[0]))


def said(text: str | None) -> str:
    assert text is not None
    return " ".join(re.sub(r"<[^>]+>", " ", text).split())


RISE = "MATCH_RECOGNIZE (MEASURES LAST(UP.x) AS top PATTERN (A UP) DEFINE UP AS x > PREV(x))"
ROWS = [{"x": x} for x in (1, 2, 1)]


def test_the_output_table_of_match_recognize_is_a_table(html: Formatter) -> None:
    shown = html(match(RISE, ROWS, language="row-pattern", output="rows"))
    assert shown is not None
    assert "<caption>1 row</caption>" in shown
    assert '<th scope="col">top</th>' in shown
    assert "<td>2</td>" in shown


@pytest.mark.parametrize(
    ("query", "language", "text"),
    [
        ("A : B", "cel", "{0, 3} is not a match at 3"),
        ("A AS x ; A AS y", "core-cel", "{0, 3} is not a match at 3"),
        ("PATTERN SEQ(A a, A b) RETURN a.x", "sase", "{0, 3} is not a match"),
        (RISE, "row-pattern", "{0, 3} is not a match"),
    ],
)
def test_positions_are_explained_in_every_language(query: str, language: str, text: str) -> None:
    rows = [Event(type_, {"x": x}) for x, type_ in enumerate("ABAB")]
    page = notebook.explanation(query, rows, [0, 3], language)
    assert text in page.text
    assert query in page.title


def test_without_positions_all_matches_are_explained() -> None:
    text = notebook.explanation("A : B", S).text
    assert "{0, 1} is a match at 1" in text
    assert "{2, 3} is a match at 3" in text


def test_rows_without_a_type_are_drawn() -> None:
    """A frame of columns was refused: it has no column for the event type."""
    assert "3 events" in notebook.timeline(ROWS, language="row-pattern").words
    with pytest.raises(CerifyError, match="event 0: no field 'type'"):
        notebook.timeline(ROWS)


def test_streams_and_automata_are_pictures(html: Formatter) -> None:
    assert len(list(image(html(S)).iter("{http://www.w3.org/2000/svg}rect"))) == 1 + len(S)
    for value in (compile_cel(PHI), diagram_of("A ; B"), compile_expression(parse_expression("prior(a, b)"))):
        states = [group for group in image(html(value)).iter() if group.get("class") == "state"]
        assert len(states) == 3


def test_a_list_of_matches_is_a_table_and_other_lists_are_left_alone(html: Formatter) -> None:
    shown = html(match("A ; B", S, output="valuations"))
    assert said(shown) == (
        "3 matches at events variables 1 {0, 1} A {0}, B {1} 3 {0, 3} A {0}, B {3} 3 {2, 3} A {2}, B {3}"
    )
    assert html([]) is None
    assert html([1, 2]) is None
    assert html([Match(0, (0,)), 1]) is None
    many = html([Match(n, (n,)) for n in range(notebook.MOST_LISTED + 1)])
    assert said(many).startswith("101 matches, of which the first 100 are shown")
    assert many is not None
    assert many.count("<tr>") == 1 + notebook.MOST_LISTED


def test_a_query_of_sase_shows_what_it_returns(html: Formatter) -> None:
    events = Stream([Event("A", {"x": 7})])
    assert '{"x": 7}' in said(html(match("PATTERN SEQ(A a) RETURN a.x", events, language="sase"))).replace(
        "&quot;", '"'
    )


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (equivalent("A OR B", "B OR A"), "Equivalent on every stream; the certificate has 2 pairs of states."),
        (contained("A", "A OR B"), "Contained on every stream"),
        (equivalent("a", "a or a", languages=EXPRESSIONS), "Equivalent on every history"),
        (contained("a", "a or b", languages=EXPRESSIONS), "Contained on every history"),
        (
            equivalent("NXT(A WITHIN 1 hour)", "NXT(A WITHIN 2 hours)"),
            "on every stream whose times never decrease; the",
        ),
        (equivalent("A ; B FILTER A.x < B.x", "A ; B FILTER B.x > A.x"), "every stream; the certificate has 1 step."),
        (equivalent("A+ FILTER A.x <= A.x", "A+ PARTITION BY [x]", bound=2), "No difference found"),
        (Undecided("too <b>large</b>"), "Undecided : too &lt;b&gt;large"),
    ],
)
def test_verdicts_are_sentences(html: Formatter, verdict: Any, words: str) -> None:
    assert words in said(html(verdict))


def test_a_difference_is_a_stream_with_what_only_one_side_has(html: Formatter) -> None:
    shown = html(equivalent("A ; B", "A : B"))
    assert said(shown).startswith("Different : a shortest stream on which they differ, at 2")
    captions = [text.text for text in image(shown).iter() if text.get("class") == "caption"]
    assert captions == ["left only: {0, 2} at 2"]


def test_explanations_are_trees_or_reasons(html: Formatter) -> None:
    yes, no = (explain(PHI, S, frozenset(C), 3) for C in ({0, 3}, {1, 3}))
    assert said(html(yes)).startswith("{0, 3} is a match at 3 A ; B (0, 3) tods21, Figure 3, sequencing")
    assert said(html(no)).startswith("{1, 3} is not a match at 3")


def test_a_run_is_a_page_of_its_own(html: Formatter) -> None:
    shown = html(record("A ; B", S))
    assert shown is not None
    assert shown.startswith("<iframe title=")
    assert 'sandbox="allow-scripts"' in shown
    assert shown.count("<") == 2  # the page is in an attribute
    assert "&lt;!DOCTYPE html&gt;" in shown


def test_what_is_too_large_is_shown_as_ever(html: Formatter) -> None:
    assert html(compile_expression(parse_expression("every <70> a"))) is None


def test_what_is_in_the_events_stays_text(html: Formatter) -> None:
    hostile = '"><script>alert(1)</script>'
    shown = [
        html(Stream([Event(hostile)])),
        notebook.timeline([Event(hostile)])._repr_html_(),
        html([Match(0, (0,), ((hostile, (0,)),))]),
        notebook.steps("A", [Event(hostile)])._repr_html_(),
    ]
    assert all(text is not None and "<script" not in text for text in shown)


def test_pictures_are_made_on_demand() -> None:
    assert len([g for g in image(notebook.automaton("A ; B")._repr_html_()).iter() if g.get("class") == "state"]) == 3
    drawn = ElementTree.fromstring(notebook.timeline(S, match("A ; B", S))._repr_svg_())
    assert sum(path.get("class") == "flag" for path in drawn.iter()) == 3


def test_the_extension_can_be_taken_off(html: Formatter) -> None:
    mine = html.type_printers[Stream] = lambda S: "mine"
    notebook.unload_ipython_extension(ipython(html))
    assert html.type_printers == {Stream: mine}


def test_an_error_is_its_message_with_the_place_and_no_traceback(html: Formatter) -> None:
    shell = ipython(html)
    notebook.load_ipython_extension(shell)
    assert shell.handled == (CerifyError,)
    with pytest.raises(ParseError) as caught:
        match("A ; ; B", S)
    lines = shell.handler(shell, ParseError, caught.value, None)
    assert lines == shell.shown
    assert lines[0].startswith("ParseError: ';' is not expected here")
    assert lines[1:] == ["A ; ; B", "    ^"]
    notebook.unload_ipython_extension(shell)
    assert shell.handled == ()


def test_no_matches_are_shown_as_such(html: Formatter) -> None:
    assert said(html(match("C", S))) == "No match."


def test_what_is_explored_follows_the_query_and_the_events() -> None:
    events = notebook.csv_of(Stream([Event("A", {"x": 1}), Event("B", {"y": "b"})]))
    assert events == "type,x,y\nA,1,\nB,,b"
    assert said(notebook.evaluated_html("A ; B", events, "cel")).startswith("1 match at events 1 {0, 1}")
    assert said(notebook.evaluated_html("B ; A", events, "cel")) == "No match."
    assert notebook.evaluated_html("A ; ; B", events, "cel").endswith("A ; ; B\n    ^</pre>")
    assert "no column" in notebook.evaluated_html("A", "x\n1", "cel")
    warned = notebook.evaluated_html("A ; C", events, "cel")
    assert warned.startswith("<pre>unknown event type C; the events have A, B\nA ; C\n    ^</pre>")
    assert said(warned).endswith("No match.")


def test_without_ipywidgets_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(MissingPackage, match=r"pip install 'cerify\[notebook\]'"):
        notebook.explore()


def test_the_widget_follows_what_is_typed() -> None:
    pytest.importorskip("ipywidgets")
    box = notebook.explore("A ; B", S)
    query, events, language, output = box.children
    assert "3 matches" in output.value
    query.value = "A ; C"
    assert "No match." in output.value
    query.value, events.value = "A", "type\nA"
    assert "1 match" in output.value
    language.value = "sase"
    assert "<pre>" in output.value


NOTEBOOKS = sorted((ROOT / "workbench" / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_an_example_run(
    path: Path, monkeypatch: pytest.MonkeyPatch, html: Formatter, tmp_path: Path
) -> None:
    """One after the other, as a kernel does, from any folder; what each shows is made."""
    text = path.read_text(encoding="utf-8")
    if "explore(" in text:
        pytest.importorskip("ipywidgets")
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads(text)["cells"]:
        if cell["cell_type"] == "code" and not cell["source"][0].startswith("%"):
            *before, last = ast.parse("".join(cell["source"])).body
            exec(compile(ast.Module(before, []), str(path), "exec"), names)
            if isinstance(last, ast.Expr):
                html(eval(compile(ast.Expression(last.value), str(path), "eval"), names))
            else:
                exec(compile(ast.Module([last], []), str(path), "exec"), names)
        assert not cell.get("outputs")
    assert len(names) > 2


TYPED = """
from cerify.notebook import explore
box = explore("A ; B", [{"type": "A"}, {"type": "B"}])
query, events, language, output = box.children
query.value = "B ; A"
"""


def run_in_a_kernel(notebook: Any, folder: Path) -> str:
    """What the cells of a notebook show in a kernel, with the state of its widgets, as JSON."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    return json.dumps(nbclient.NotebookClient(notebook, resources={"metadata": {"path": folder}}).execute())


@pytest.mark.thorough
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_an_example_runs_in_a_kernel(path: Path, tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    shown = run_in_a_kernel(nbformat.read(path, 4), tmp_path)
    assert path.stem == "assignment" or all(
        part in shown for part in ("data:image/svg+xml", "No match.", "3 matches", "jupyter.widget-view")
    )


@pytest.mark.thorough
def test_the_widget_of_a_kernel_follows_what_is_typed(tmp_path: Path) -> None:
    """The state of its output, which the kernel sends to the page."""
    v4 = pytest.importorskip("nbformat.v4")
    pytest.importorskip("ipywidgets")
    shown = run_in_a_kernel(v4.new_notebook(cells=[v4.new_code_cell(TYPED)]), tmp_path)
    assert "No match." in shown
    assert "1 match" not in shown
