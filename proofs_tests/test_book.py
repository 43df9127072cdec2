"""The book: it builds without a warning, every link in it leads somewhere, and the index of definitions is complete.

How its pages look, and whether they are accessible, `python -m proofs_tests.pages` finds in a browser.
"""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator
from functools import cache
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest
from click.testing import CliRunner

import cerify
from cerify.cli import COMMANDS
from cerify.languages import language_named
from cerify.playground.session import answer
from cerify.semantics import errors
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.core_cel.parse import parse as parse_core_cel
from cerify.semantics.event_expressions.parse import parse as parse_expression
from cerify.semantics.events import Event, Stream
from proofs_tests import operators, pages
from proofs_tests.browser import chromium, served
from proofs_tests.claims.everything import LEDGER
from proofs_tests.pictures import GROWING
from proofs_tests.unit.semantics.test_operators import EVERY

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
DEFINITIONS = DOCS / "theory" / "definitions.md"
NEEDED = ("sphinx", "myst_parser", "furo", "sphinx_click", "sphinx_copybutton", "latex2mathml")
STEPPER = re.compile(r"^```\{stepper\} (.*)\n(?::language: .*\n)?((?:.*\n)+?)```$", re.MULTILINE)
EXAMPLE = re.compile(r"^```\{example\} (.*)$", re.MULTILINE)
WHOLE_EXAMPLE = re.compile(r"^```\{example\} (.*)\n(?::language: (.*)\n)?((?:.*\n)+?)```$", re.MULTILINE)
LOST_ROW = re.compile(r"<p>\| ")  # of a table with an empty line in it
EMPTY_HEAD = re.compile(r"<th\b[^>]*>\s*(<p>\s*</p>\s*)?</th>")
STATE = "1."  # begins an address of the playground
STRING = re.compile(r'\s*f?".*",?')  # a line that is one text, which the formatter does not break
WIDEST = 85  # characters of code that a page shows without wrapping
SHOWN = 25  # entries of the table of contents, before one is unfolded
BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
HEAD = [["type", "x"], ["A", "1"]]
NOT_SHOWN = (  # by the playground: options of commands, and of calls
    *(
        "--tree",
        "--exercises",
        "--schema",
        "--level",
        "--bound",
        "--contained",
        "--reading",
        "--valuation",
        "--certificate",
        "contained(",
    ),
    *("budget=", "bound=", "schema=", "level=", "reading=", "aggregates=", "order_by="),
)
ID = re.compile(r"`((?:tods21|cep17|sase07|icde08|vldb92|vldb22|icdt22)\.[^`]+)`")

sys.path.insert(0, str(DOCS / "_ext"))
from source_names import names_in  # noqa: E402  (what the book takes for the names in a source file)


class Page(HTMLParser):
    """The ids of a page, its links, and its pictures without a text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.mute: list[str] = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if id_ := attributes.get("id"):
            self.ids.add(id_)
        if tag == "a" and (href := attributes.get("href")):
            self.links.add(href)
        if tag == "img" and not attributes.get("alt"):
            self.mute.append(attributes.get("src") or "")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)}: not installed; they are in the extra docs")
    folder = tmp_path_factory.mktemp("book")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-j", "auto", str(DOCS), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=900)
    assert built.returncode == 0, built.stderr[-4000:]
    return folder


def broken(book: Path) -> list[str]:
    """The links of the book's pages that lead nowhere in it."""
    page = cache(Page)
    found = []
    for path in book.rglob("*.html"):
        for link in page(path).links:
            file, _, anchor = unquote(link).partition("#")
            target = (path.parent / file).resolve() if file else path
            if re.match(r"[a-z]+:", link):
                continue
            if anchor.startswith(STATE) and target.is_file():
                continue
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in page(target).ids):
                found.append(f"{path.relative_to(book)}: {link}")
    return sorted(found)


@pytest.mark.thorough
def test_every_link_leads_somewhere(book: Path) -> None:
    assert not broken(book)


def states(book: Path) -> Iterator[dict[str, object]]:
    """What the links of the pages have the playground show."""
    for path in book.rglob("*.html"):
        for link in Page(path).links:
            _, found, encoded = link.partition(f"playground/index.html#{STATE}")
            if found:
                yield json.loads(urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))


@pytest.mark.thorough
def test_the_playground_evaluates_what_the_examples_link_to(book: Path) -> None:
    found = list(states(book))
    if not (book / "playground").exists():
        pytest.skip("npm did not fetch what the playground needs")
    assert len(found) > 100
    for state in found:
        assert "error" not in json.loads(answer(json.dumps(state | {"do": "evaluate"}))), state


@pytest.mark.thorough
def test_the_table_of_contents_is_short(book: Path) -> None:
    text = (book / "index.html").read_text(encoding="utf-8")
    assert 10 < text.count('class="toctree-l1') <= SHOWN


@pytest.mark.thorough
def test_excerpts_of_code_are_not_cut(book: Path) -> None:
    wide = []
    for path in (book / "theory").glob("*.html"):
        for block in re.findall(r'<div class="highlight-default.*?</pre>', path.read_text(encoding="utf-8"), re.DOTALL):
            lines = unescape(re.sub("<.*?>", "", block)).splitlines()
            wide += [f"{path.name}: {line}" for line in lines if len(line) > WIDEST and not STRING.fullmatch(line)]
    assert not wide


def test_a_link_to_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<a href="b.html#x">1</a> <a href="#y">2</a> <a href="c.html">3</a>')
    (tmp_path / "b.html").write_text('<p id="x"><a href="a.html">4</a> <a href="https://example.org/no">5</a>')
    assert broken(tmp_path) == ["a.html: #y", "a.html: c.html"]


@pytest.mark.thorough
def test_every_picture_has_a_text(book: Path) -> None:
    mute = {str(path.relative_to(book)): pictures for path in book.rglob("*.html") if (pictures := Page(path).mute)}
    assert not mute


def test_a_picture_without_a_text_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.html").write_text('<img src="b.svg" alt="a stream"> <img src="c.svg"> <img src="d.svg" alt="">')
    assert Page(tmp_path / "a.html").mute == ["c.svg", "d.svg"]


@pytest.mark.thorough
def test_every_column_has_a_head(book: Path) -> None:
    assert not [path for path in book.rglob("*.html") if EMPTY_HEAD.search(path.read_text(encoding="utf-8"))]


@pytest.mark.thorough
def test_every_table_is_whole(book: Path) -> None:
    """Half of one stood on its page as a paragraph."""
    assert not [path for path in book.rglob("*.html") if LOST_ROW.search(path.read_text(encoding="utf-8"))]


def test_a_row_without_a_table_is_found() -> None:
    assert LOST_ROW.search("<p>| 3, prefix | one event or more |</p>")


def test_a_column_without_a_head_is_found() -> None:
    assert EMPTY_HEAD.search('<th class="head"><p></p></th>')
    assert not EMPTY_HEAD.search('<th class="head"><p>law</p></th>')


@pytest.mark.thorough
def test_a_browser_finds_nothing_wrong(book: Path) -> None:
    """On a phone; `python -m proofs_tests.pages` looks at all widths."""
    if any(importlib.util.find_spec(name) is None for name in ("playwright", "axe_playwright_python")):
        pytest.skip("axe-core is in the extra pages")
    looked = CliRunner().invoke(pages.main, ["--book", str(book), "--width", "390"])
    assert looked.exit_code == 0, looked.output


@pytest.mark.thorough
def test_a_column_of_names_is_no_wider_than_it_has_to_be(book: Path) -> None:
    """On a phone it took half of every table, beside text that was broken in words."""
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is in the extra pages")
    with served(book) as address, chromium() as browser:
        tab = browser.new_page(viewport={"width": 390, "height": 900})
        tab.goto(f"{address}reference/protocol.html")
        cells = "[...document.querySelectorAll('td:first-child:has(code)')]"
        widths = dict(tab.evaluate(f"{cells}.map((cell) => [cell.textContent.trim(), cell.offsetWidth])"))
    assert max(widths[name] for name in ("ordered_time", "statements", "ill_formed")) <= 130


@pytest.mark.thorough
def test_every_command_is_in_the_reference(book: Path) -> None:
    text = (book / "reference" / "commands.html").read_text(encoding="utf-8")
    assert [name for name in COMMANDS if f"<h2>cerify {name}<" not in text] == []


@pytest.mark.thorough
def test_what_programs_say_is_shown_as_they_say_it(book: Path) -> None:
    """Commands that can be pasted, signatures with short names; the quotation marks of prose are curly."""
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (book / "reference").glob("*.html")}
    generated = {name: text for name, text in pages.items() if name.startswith(("api", "commands"))}
    assert len(generated) == 5
    assert [name for name, text in generated.items() if re.search("[‘’“”]|~cerify", text)] == []
    assert "’" in pages["protocol"]


@pytest.mark.thorough
def test_the_name_of_a_file_breaks_at_its_slashes(book: Path) -> None:
    """On a phone it broke in a word."""
    page = (book / "source" / "semantics" / "cel" / "denote.py.html").read_text(encoding="utf-8")
    assert "<code>semantics/<wbr>cel/<wbr>denote.py</code></h1>" in page


@pytest.mark.thorough
def test_a_definition_is_two_clicks_away(book: Path) -> None:
    assert "theory/definitions.html" in Page(book / "index.html").links
    linked = {link.partition("#")[0] for link in Page(book / "theory" / "definitions.html").links}
    assert "../source/semantics/cel/denote.py.html" in linked


@pytest.mark.thorough
def test_every_drawn_run_can_be_gone_through(book: Path) -> None:
    """The blocks that lead to a stepper; those of the chapters are the runs that are drawn there."""
    blocks = {path: STEPPER.findall(path.read_text(encoding="utf-8")) for path in DOCS.rglob("*.md")}
    rows = ((query, events.splitlines()[1:]) for found in blocks.values() for query, events in found)
    shown = {(query, " ".join(row.rstrip(",") for row in events)) for query, events in rows}
    assert shown >= {(growth.query, growth.stream.replace(".", ",")) for growth in GROWING.values()}
    for path, found in blocks.items():
        for n, (query, _) in enumerate(found):
            page = book / "steps" / f"{path.relative_to(DOCS).with_suffix('').as_posix().replace('/', '-')}-{n}.html"
            assert escape(query) in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("chapter", "language", "without"),
    [
        ("cel", "cel", set()),
        ("core-cel", "core-cel", set()),
        ("expressions", "event-expression", {"null", "named"}),  # it takes place nowhere; a definition of one's own
    ],
)
def test_every_operator_is_drawn_in_its_chapter(chapter: str, language: str, without: set[str]) -> None:
    """An example has the stream with the matches, the run step by step where there is one, and the playground."""
    text = (DOCS / "theory" / f"{chapter}.md").read_text(encoding="utf-8")
    its = language_named(language)
    shown = {type(part) for query in EXAMPLE.findall(text) for part in its.syntax.subterms(its.syntax.parse(query))}
    operators = {operator.name: operator.node for one, operator in EVERY if one == language}
    assert len(operators) > 8
    derived = {name for name, node in operators.items() if issubclass(node, cel.Derived)}
    assert {name for name, node in operators.items() if node not in shown} - derived == without


def test_every_example_of_the_theory_has_a_match_and_no_warning() -> None:
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    for path in (DOCS / "theory").glob("*.md"):
        for query, language, events in WHOLE_EXAMPLE.findall(path.read_text(encoding="utf-8")):
            asked = {"do": "evaluate", "query": query, "stream": examples.rows_of(events)}
            found = json.loads(answer(json.dumps(asked | {"language": language or "cel"})))
            assert found["matches"], (path.name, query)
            assert not found["warnings"], (path.name, query)


def test_definitions_lead_to_names_that_are_there() -> None:
    text = DEFINITIONS.read_text(encoding="utf-8")
    for file, name in re.findall(r"\]\((\.\./\.\./[^)#]+)(?:#([^)]+))?\)", text):
        path = (DEFINITIONS.parent / file).resolve()
        assert path.is_file(), file
        assert not name or name in names_in(path), f"{file} has no {name}"


def test_definitions_are_those_of_the_ledger() -> None:
    """Whatever the ledger checks as a definition, a construction or an algorithm has its place in the index."""
    said = set(ID.findall(DEFINITIONS.read_text(encoding="utf-8")))
    assert said <= LEDGER.keys()
    kinds = ("definition", "construction", "algorithm")
    later = ("icdt22", "vldb22")  # they are on the page of later work
    assert {one.id for one in LEDGER.values() if one.kind in kinds and not one.id.startswith(later)} <= said


def test_names_in_a_source_file(tmp_path: Path) -> None:
    python, grammar = tmp_path / "a.py", tmp_path / "a.lark"
    python.write_text(
        "N = 1\n\n\nclass A:\n    x: int\n\n    def f(self, y):\n        match y:\n            case m.B(z) | C():\n"
        "                if z:\n                    w = 1\n"
    )
    grammar.write_text('// a comment: no rule\n?start: one | two\none: "1"\nTWO.2: /2/\n')
    assert names_in(python) == {"N": 1, "A": 4, "A.x": 5, "A.f": 7, "A.f.B": 9, "A.f.C": 9}
    assert names_in(grammar) == {"start": 2, "one": 3, "TWO": 4}


def test_examples_become_states_of_the_playground() -> None:
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    page = "`a.csv`:\n\n```csv\ntype,x\nA,1\nB,2\n```\n"
    commands = (
        "$ cerify match --language core-cel 'A AS x' a.csv --json\n{}\n$ cerify equiv A 'A OR A'\n"
        "$ cerify explain 'A ; B' a.csv --match 0,1\n$ cerify grade cel-then 'A ; ; B'\n$ cerify check A\n"
    )
    match, equivalent, explained, graded = (one.shown for one in examples.in_console(commands, page))
    assert (match["query"], match["language"], match["stream"]) == ("A AS x", "core-cel", [*HEAD, ["B", "2"]])
    assert (equivalent["other"], equivalent["stream"], equivalent["pane"]) == ("A OR A", [["type"]], "compare")
    assert (explained["events"], explained["at"], explained["pane"]) == ([0, 1], 1, "why")
    assert (graded["exercise"], graded["answer"], graded["pane"]) == ("cel-then", "A ; ; B", "exercises")
    session = (
        '>>> S, f = Stream([Event("A", {"x": 1}), Event("B")]), "FILTER A.x > 0"\n'
        ">>> def found(query, events=S):\n...     return match(query, events)\n"
        '>>> [m.at for m in match(f"A {f}", S)], found("A"), found("B", "B A"), print("A", S)\n'
        '>>> equivalent("a", "b", languages=("event-expression", "sase"))\n'
    )
    names = {"Event": Event, "Stream": Stream}
    match, with_default, found, equivalent = (one.shown for one in examples.in_session(session, "cel", names))
    assert (match["query"], match["stream"]) == ("A FILTER A.x > 0", [*HEAD, ["B", ""]])
    assert (with_default["stream"], found["stream"]) == (match["stream"], [["type"], ["B"], ["A"]])
    assert (equivalent["other"], equivalent["language"], equivalent["otherLanguage"]) == (
        "b",
        "event-expression",
        "sase",
    )
    playground = pytest.importorskip("playground", reason="needs the extra docs")
    assert playground.address(match, "guide/match").startswith("../playground/index.html#1.")


def test_a_link_to_the_playground_says_what_it_opens() -> None:
    """An exercise without an answer was called by the query beside it, which has nothing to do with it."""
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    playground = pytest.importorskip("playground", reason="needs the extra docs")
    assert playground.said(examples.exercise_state("cel-then")) == ("Exercise", "cel-then")
    assert playground.said(examples.exercise_state("cel-then", "A  ; B")) == ("Grade", "A ; B")
    assert playground.said(examples.state_of("A ; B", examples.rows_of("A B"))) == ("Try", "A ; B")


def test_an_example_that_the_playground_does_not_show_has_a_reason() -> None:
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    page = "`a.csv`:\n\n```csv\ntype\n" + 41 * "A\n" + "```\n\n`b.csv`:\n\n```csv\ntype\nA\n```\n"
    for command, reason in {
        "match A a.csv": "LARGE",
        "match A none.csv": "NO_STREAM",
        "grade --language cel": "NO_STREAM",
        "match 'A ; ;' b.csv": "ERROR",
        "match A b.csv --consumption any": "OPTION",
        "equiv A B --schema '{}'": "OPTION",
    }.items():
        (found,) = examples.in_console(f"$ cerify {command}\n", page)
        assert found.shown == examples.Reason[reason], command
    session = '>>> S = read("a.csv")\n>>> match("A", S), contained("A", "B"), match("A", [Event("A")], budget=1)\n'
    shown = [one.shown.name for one in examples.in_session(session, "cel", {"S": Stream([]), "Event": Event})]
    assert shown == ["COMPUTED", "OPTION", "OPTION"]


@pytest.mark.thorough
def test_the_examples_of_the_book_have_links_or_a_reason() -> None:
    """A command is never too hard to read, and an option is one of those that the playground has not."""
    examples = pytest.importorskip("examples", reason="needs the extra docs")
    linked, commands = 0, 0
    for path in DOCS.rglob("*.md"):
        page = path.read_text(encoding="utf-8")
        blocks = BLOCK.findall(page)
        commands += sum(
            len(re.findall(r"^\$ cerify (?:match|explain|step|draw|equiv|grade) ", text, re.M)) for _, text in blocks
        )
        for text, shown in (one for found in examples.in_blocks(page, blocks) for one in found):
            commands -= text.startswith("cerify ")
            match shown:
                case dict():
                    linked += 1
                case examples.Reason.OPTION:
                    assert any(option in text for option in NOT_SHOWN), text
                case examples.Reason.NO_STREAM:
                    assert text.startswith("cerify grade --language"), text
                case examples.Reason.COMPUTED:
                    assert not text.startswith("cerify "), text
                case _:
                    assert (path.stem, shown.name) in (
                        *((one, "ERROR") for one in ("match", "columns")),
                        ("correlated", "LARGE"),
                    ), text
    assert commands == 0, "a command has no example"
    assert linked > 150


def test_braces_of_a_formula_match() -> None:
    """Twelve formulas of the theory had one too few, and were drawn all the same."""
    mathematics = pytest.importorskip("mathematics", reason="needs the extra docs")
    assert mathematics.is_balanced(r"\{\, \mu \mid C \le_{\text{next}} D \,\}")
    for formula in (r"C \le_{\text{next \,\} D", "a}{b", "{"):
        assert not mathematics.is_balanced(formula)


def test_signs_of_a_formula_have_room_beside_them() -> None:
    """They were taken for names, so that φ : ψ was drawn as φ:ψ."""
    mathematics = pytest.importorskip("mathematics", reason="needs the extra docs")
    made = mathematics.mathml(r"a : b ; c \iff a{:}{+}", "inline")
    assert re.findall(r'<mo lspace="([^"]*)" rspace="[^"]*">([^<]*)</mo>', made) == [
        ("0.28em", ":"),
        ("0.28em", ";"),
        ("0.28em", "&#x027FA;"),
        ("0", ":"),
        ("0", "&#x0002B;"),
    ]


def test_a_list_in_a_docstring_is_a_list() -> None:
    """Its items ran on in the paragraph before them, and the second line of one was a block of code."""
    docstrings = pytest.importorskip("docstrings", reason="needs the extra docs")
    lines = ["The rules:", "- `x` is", "  one;", "- two.", "  as it is", "Not so", "  a = b"]
    docstrings.escaped(None, "", "", None, None, lines)
    text, code = ["The rules:", "", "- x is", "  one;", "- two.", "  as it is", "", "Not so"], ["  a = b", ""]
    assert lines == [*text, "", ".. code-block:: text", "", *code]


def test_names_that_a_docstring_explains_are_a_list() -> None:
    """They were one paragraph, and what was indented below one a block of code."""
    docstrings = pytest.importorskip("docstrings", reason="needs the extra docs")
    rest = ["", "Raises x: y", "z: w"]
    lines = ["Limits on a call.", "", "states: of one", "    automaton.", "seconds: by the clock.", *rest]
    docstrings.escaped(None, "", "", None, None, lines)
    items = ["- states: of one", "  automaton.", "- seconds: by the clock."]
    assert lines == ["Limits on a call.", "", "", *items, "", *rest]


def test_stars_around_words_of_a_docstring_are_emphasis() -> None:
    docstrings = pytest.importorskip("docstrings", reason="needs the extra docs")
    lines = ["It returns *unknown*, as CEL* and A* have the *-property; 2 * x * y"]
    docstrings.escaped(None, "", "", None, None, lines)
    assert lines == [r"It returns *unknown*, as CEL\* and A\* have the \*-property; 2 \* x \* y"]


def test_code_is_formatted_where_it_is_too_wide() -> None:
    sessions = pytest.importorskip("sessions", reason="needs the extra docs")
    case = "case A(x):\n    return function_with_a_long_name(argument_with_a_long_name=x, another_argument_with_one=x)"
    assert max(map(len, sessions.excerpt(case, 80).splitlines())) <= 80
    assert sessions.excerpt("case A(x):\n    return x", 80) == "case A(x):\n    return x"
    wide = f">>> f({', '.join(['argument'] * 12)})\n1\n>>> x = 1"
    assert sessions.session(wide).splitlines()[:2] == [">>> f(", "...     argument,"]
    assert sessions.session(wide).endswith("\n1\n>>> x = 1")
    body = f'"""{"word " * 17}\n    goes on.\n\n    name: an entry.\n    """\n    return x'
    folded = sessions.excerpt(f"def f(x):\n    {body}", 80).splitlines()
    assert folded[1:6] == [
        '    """' + " ".join(["word"] * 14),
        "    word word word goes on.",
        "",
        "    name: an entry.",
        '    """',
    ]


def test_every_error_code_is_explained() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    for code in get_args(errors.Code):
        assert f"| `{code}` |" in text
    for error in errors.CerifyError.__subclasses__():
        assert f"| `{error.code}` | [`{error.__name__}`]" in text


def test_every_name_of_the_api_is_in_its_reference() -> None:
    text = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    assert [name for name in cerify.__all__ if f":: cerify.{name}\n" not in text and f"`{name}`" not in text] == []


def test_every_command_has_its_exit_statuses() -> None:
    text = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    statuses = text.partition("## Exit statuses")[2]
    assert [name for name in COMMANDS if f"`{name}`" not in statuses] == []


def test_the_tables_of_operators_are_those_of_the_languages() -> None:
    """Written anew by: python -m proofs_tests.operators"""
    page = operators.PAGE.read_text(encoding="utf-8")
    assert operators.written(page) == page
    assert operators.written(page.replace("| `A+` |", "| `A*` |")) == page
    assert "`A+`" not in operators.hand_written(page)


def texts(section: str, columns: int) -> list[str]:
    """The texts that the table of a section of the syntax page shows, in its first `columns` columns."""
    page = operators.hand_written(operators.PAGE.read_text(encoding="utf-8"))
    table = page.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    rows = [re.split(r"(?<!\\)\|", line)[1 : 1 + columns] for line in table.splitlines() if line.startswith("| `")]
    return [text.replace("\\|", "|") for row in rows for text in re.findall("`([^`]+)`", " ".join(row))]


@pytest.mark.parametrize(
    ("section", "columns", "parse", "around"),
    [
        ("Predicates", 2, parse_cel, "A FILTER A[{}]"),
        ("CEL", 2, parse_cel, "{}"),
        ("core-CEL", 1, parse_core_cel, "{}"),
        ("Event expressions", 2, parse_expression, "{}"),
    ],
)
def test_the_syntax_page_shows_what_parses(
    section: str, columns: int, parse: Callable[[str], object], around: str
) -> None:
    shown = texts(section, columns)
    assert len(shown) > 1
    for text in shown:
        parse(around.format(text))
