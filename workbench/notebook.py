"""Rich displays for notebooks: `%load_ext cerify.notebook`.

The extension registers with IPython how the values of this toolkit are shown; the types themselves do not depend on it.
Pictures are embedded as images, so that the notebook's styles do not change their colours. Each has a text description.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from html import escape
from io import BytesIO
from pathlib import Path
from typing import Any
from warnings import catch_warnings, simplefilter

from cerify.api import diagram_of, match, read_query_and_events, record
from cerify.automata.cea.model import CEA
from cerify.automata.dfa.model import DFA
from cerify.draw.automata import diagram_of_cea, diagram_of_dfa
from cerify.draw.diagram import Diagram, document, svg
from cerify.draw.recording import Recording
from cerify.draw.stepper import match_text, stepper, summary
from cerify.draw.timeline import MOST_ROWS, WHOLE, Row, drawn, match_row
from cerify.equivalence.verdict import Bounded, Contained, Different, Equivalent, Undecided
from cerify.explanations.cel import MatchExplanation, Rejected, rejection_lines, steps_of
from cerify.explanations.cel import summary as explained
from cerify.explanations.explanation import ExplanationStep, Request, braces, render
from cerify.languages import DEFAULT, LANGUAGES, LanguageName, language_named
from cerify.languages.language import OutputTable
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError, QueryWarning, Unsupported
from cerify.semantics.events import TYPE, Events, Match, Schema, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.match_frames import Matches
from cerify.semantics.packages import naming_extras
from cerify.semantics.tables import CsvSource, stream_of_csv
from cerify.semantics.values import Value, plain

MOST_LISTED = 100  # matches in a table


@dataclass(frozen=True)
class Picture:
    """The text of an SVG file with a description; a notebook shows the picture."""

    text: str = field(repr=False)
    words: str

    def _repr_svg_(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        data = b64encode(self.text.encode()).decode()
        return f'<img style="max-width: none" alt="{escape(self.words)}" src="data:image/svg+xml;base64,{data}">'


@dataclass(frozen=True)
class Page:
    """A separate page inside a notebook."""

    text: str = field(repr=False)
    title: str
    height: int = 720

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" style="width: 100%; height: {self.height}px; border: 0" '
            # Without allow-same-origin: the page's script must not reach the notebook around it.
            f'sandbox="allow-scripts" srcdoc="{escape(self.text)}"></iframe>'
        )


def automaton(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> Picture:
    """Return the automaton of a query as a picture. Raises the errors of `cerify.api.diagram_of`."""
    return _of_diagram(diagram_of(query, language, schema, budget))


def timeline(
    events: Events | str | Path, matches: Collection[Match] = (), language: LanguageName | str = DEFAULT
) -> Picture:
    """Return a stream as a timeline, with a row for each of the first matches.

    language: the language of the query, which determines whether events need a type.
    """
    S = as_stream(events, default_type=language_named(language).row_type)
    shown = sorted(matches)[:MOST_ROWS]
    found = f" Matches: {', '.join(map(_at, shown))}." if shown else ""
    return Picture(document(drawn(S, list(map(match_row, shown)))), _description(S) + found)


def steps(
    query: str, events: Events | str | Path, language: LanguageName | str = DEFAULT, budget: Budget = Budget()
) -> Page:
    """Return a page that shows the run of a query over a stream, step by step. Raises the errors of
    `cerify.api.record`.
    """
    return _of_recording(record(query, events, language, budget=budget))


def explanation(
    query: str, events: Events | str | Path, match: Iterable[int] | None = None, language: LanguageName | str = DEFAULT
) -> Page:
    """Explain why positions are a match, or why not, as `cerify explain --html` does.

    match: the positions; None explains all matches. Raises ParseError, IllFormed, InputError, Unsupported,
    BudgetExceeded.
    """
    lang, tree, S = read_query_and_events(query, events, language)
    explainer = lang.explanations.explainer(tree, S, query)
    request = Request(None if match is None else frozenset(match))
    found = explainer.explain_request(request)
    listing = explainer.all(request) if found is None else None
    return Page(render(explainer, [found] if listing is None else listing.found, listing), f"Why: {query}")


def explore(query: str = "", events: Events | str | Path = (), language: LanguageName | str = DEFAULT) -> Any:
    """Return a widget with fields for a query, its language and the events as CSV, and the matches below.

    The matches are found again whenever a field changes. Raises MissingPackage without ipywidgets.
    """
    with naming_extras():
        import ipywidgets

    wide = ipywidgets.Layout(width="95%")
    S = as_stream(events, default_type=language_named(language).row_type)
    inputs = (
        ipywidgets.Text(query, description="query", layout=wide),
        ipywidgets.Textarea(csv_of(S), description="events", rows=min(len(S) + 2, 12), layout=wide),
        ipywidgets.Dropdown(options=list(LANGUAGES), value=language, description="language"),
    )
    output = ipywidgets.HTML()

    def refresh(_: object = None) -> None:
        output.value = evaluated_html(*(one.value for one in inputs))

    for one in inputs:
        one.observe(refresh, "value")
    refresh()
    return ipywidgets.VBox([*inputs, output])


def evaluated_html(query: str, events: str, language: str) -> str:
    """Return as HTML the warnings and matches of a query over events given as CSV, or the error with its place."""
    try:
        S = stream_of_csv(CsvSource("events", partial(BytesIO, events.encode())), None)
        with catch_warnings(record=True) as warned:
            simplefilter("always", QueryWarning)
            found = match(query, S, language=language)
    except CerifyError as error:
        return f"<pre>{escape(error.described())}</pre>"
    notes = "".join(f"<pre>{escape(str(one.message))}</pre>" for one in warned)
    return f"{notes}{timeline(S, found)._repr_html_()}{_matches(found)}"


def csv_of(S: Stream) -> str:
    """Return the events as CSV, with a column for each attribute."""
    names = list(dict.fromkeys(name for event in S for name in event.attributes))
    rows = ([event.type, *(_cell(event.get(name)) for name in names)] for event in S)
    return "\n".join(map(",".join, [[TYPE, *names], *rows]))


def load_ipython_extension(ipython: Any) -> None:
    """Register the displays with IPython. An error is shown as its message and place, without a traceback."""
    html = ipython.display_formatter.formatters["text/html"]
    for type_, shown in HTML.items():
        html.for_type(type_, shown)
    ipython.set_custom_exc((CerifyError,), _show_error)


def _show_error(shell: Any, kind: type, error: CerifyError, traceback: Any, tb_offset: int | None = None) -> list[str]:
    """Return the lines that IPython displays for an error."""
    lines = f"{kind.__name__}: {error.described()}".split("\n")
    shell._showtraceback(kind, error, lines)  # as IPython itself does with the lines of a traceback
    return lines


def unload_ipython_extension(ipython: Any) -> None:
    """Undo load_ipython_extension."""
    ipython.set_custom_exc((), None)
    html = ipython.display_formatter.formatters["text/html"]
    for type_, shown in HTML.items():
        if html.type_printers.get(type_) is shown:
            html.pop(type_)


# --- the display of each type -----------------------------------------------------------------------------------------


def _list(values: list[Any]) -> str | None:
    """Return a list of matches as a table; None for any other list, which IPython then shows as usual."""
    if not values or not all(isinstance(value, Match) for value in values):
        return None
    return _table(values)


def _matches(found: Matches) -> str:
    return _table(found) if found else "<p>No match.</p>"


def _cell(value: Value | timedelta | None) -> str:
    return "" if value is None else str(plain(value)) if isinstance(value, datetime | timedelta) else str(value)


def _table(matches: Sequence[Match]) -> str:
    bound = any(match.bindings for match in matches)
    rows = "".join(
        f'<tr><th scope="row">{match.at}</th><td>{braces(match.events)}</td>'
        f"{f'<td>{escape(match_text(match))}</td>' if bound else ''}"
        f"{f'<td>{escape(match.result.ordered_text)}</td>' if match.result else ''}</tr>"
        for match in matches[:MOST_LISTED]
    )
    heads = ["at", "events", *(["variables"] if bound else []), *(["result"] if matches[0].result else [])]
    more = f", of which the first {MOST_LISTED} are shown" if len(matches) > MOST_LISTED else ""
    said = f"{len(matches):,} {'match' if len(matches) == 1 else 'matches'}{more}"
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return f"<table><caption>{said}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _output_table(table: OutputTable) -> str:
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in table.columns)
    rows = "".join(
        f"<tr>{''.join(f'<td>{escape(_cell(value))}</td>' for value in row)}</tr>" for row in table.rows[:MOST_LISTED]
    )
    more = f", of which the first {MOST_LISTED} are shown" if len(table) > MOST_LISTED else ""
    said = f"{_count(len(table), 'row')}{more}"
    return f"<table><caption>{said}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _different(verdict: Different) -> str:
    rows = [
        *(Row("missing", m.events, m.at, f"left only: {_at(m)}") for m in verdict.left_only[:MOST_ROWS]),
        *(Row("extra", m.events, m.at, f"right only: {_at(m)}") for m in verdict.right_only[:MOST_ROWS]),
    ]
    said = f"{'a shortest' if verdict.shortest else 'a'} stream on which they differ, at {verdict.at}"
    words = f"{_description(verdict.stream)} {'. '.join(row.caption for row in rows)}."
    picture = Picture(document(drawn(verdict.stream, rows)), words)
    return f"<p><strong>Different</strong>: {said}</p>{picture._repr_html_()}"


def _proved(verdict: Equivalent | Contained) -> str:
    claim = type(verdict).__name__
    if verdict.states is not None:
        return f"<p><strong>{claim}</strong> on every history.</p>"
    proof = verdict.certificate
    if proof.derivation is not None:
        has = _count(proof.derivation.steps(), "step")
    elif proof.facts is not None:
        has = f"{_count(len(proof.facts), 'fact')} about the conditions"
    else:
        has = f"{_count(proof.pairs, 'pair')} of states"
    return f"<p><strong>{claim}</strong> on every stream{proof.times}; the certificate has {has}.</p>"


def _bounded(verdict: Bounded) -> str:
    return (
        f"<p><strong>No difference found</strong> on any stream of up to {_count(verdict.length, 'event')}; "
        "longer streams were not searched.</p>"
    )


def _derived(explanation: MatchExplanation) -> str:
    trees = "".join(f"<pre>{escape(chr(10).join(_lines(steps_of(root))))}</pre>" for root in explanation.derivations)
    more = "<p>There are more derivations.</p>" if explanation.more else ""
    return f"<p><strong>{escape(explained(explanation))}</strong></p>{trees}{more}"


def _rejected(explanation: Rejected) -> str:
    reasons = [f"{reason.clause}: {reason.message}" for reason in explanation.rejection.reasons]
    said = [*reasons, *rejection_lines(explanation.rejection, explanation.at)]
    items = "".join(f"<li>{escape(line)}</li>" for line in said)
    return f"<p><strong>{escape(explained(explanation))}</strong></p><ul>{items}</ul>"


def _lines(root: ExplanationStep) -> Iterator[str]:
    """Yield a derivation as a tree, a line for each step."""
    pending = [(root, 0)]
    while pending:
        step, depth = pending.pop()
        yield f"{'  ' * depth}{step.text}  {step.where}  {step.clause}"
        pending.extend((child, depth + 1) for child in reversed(step.children))


def _of_diagram(diagram: Diagram) -> Picture:
    return Picture(document(svg(diagram)), f"{diagram.title}. {diagram.described()}")


def _of_recording(run: Recording) -> Page:
    return Page(stepper(run), f"{run.query}, step by step: {summary(run)}")


def _or_plain(shown: Callable[[Any], str]) -> Callable[[Any], str | None]:
    """Return a function that displays a value, or returns None if it is too large to draw or Graphviz is missing.

    For None IPython shows the value as usual.
    """

    def html(value: Any) -> str | None:
        try:
            return shown(value)
        except (BudgetExceeded, Unsupported):
            return None

    return html


def _description(S: Stream) -> str:
    """Return a stream in words: the types of its first events."""
    types = ", ".join(f"{n} {event.type}" for n, event in enumerate(S[:WHOLE]))
    return f"Stream of {_count(len(S), 'event')}: {types}{' and so on' if len(S) > WHOLE else ''}."


def _at(match: Match) -> str:
    return f"{match_text(match)} at {match.at}"


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


HTML: Mapping[type, Callable[[Any], str | None]] = {
    Stream: lambda S: timeline(S)._repr_html_(),
    list: _list,
    Matches: _matches,
    OutputTable: _output_table,
    CEA: _or_plain(lambda A: _of_diagram(diagram_of_cea(A, "Automaton"))._repr_html_()),
    DFA: _or_plain(lambda A: _of_diagram(diagram_of_dfa(A, "Automaton"))._repr_html_()),
    Diagram: _or_plain(lambda diagram: _of_diagram(diagram)._repr_html_()),
    Recording: _or_plain(lambda run: _of_recording(run)._repr_html_()),
    Equivalent: _proved,
    Contained: _proved,
    Bounded: _bounded,
    Different: _different,
    Undecided: lambda verdict: f"<p><strong>Undecided</strong>: {escape(verdict.reason)}</p>",
    MatchExplanation: _derived,
    Rejected: _rejected,
}
"""The function that makes the HTML of a value, by type."""
