"""Pictures of queries: the automaton as a diagram, as SVG and in the HOA format, and the run over a stream."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cerify.api import read_query, read_query_and_events
from cerify.automata.evaluator import Output
from cerify.draw.diagram import Diagram
from cerify.draw.hoa import hoa_of_automaton
from cerify.draw.recording import Recording
from cerify.draw.svg import document, svg
from cerify.fit import warn_of_misfits
from cerify.languages import DEFAULT, LanguageName
from cerify.languages.language import Options
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported, errors_in
from cerify.semantics.events import Events, Schema


def svg_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> str:
    """The automaton of a query as the text of an SVG file.

    Raises ParseError, IllFormed, Unsupported where no automaton carries the query, and BudgetExceeded where the
    automaton is too large, to be made or to be read.
    """
    return document(svg(diagram_of(query, language, schema, budget)))


def diagram_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> Diagram:
    """The automaton of a query as a diagram. Raises what svg_of raises."""
    lang, tree = read_query(query, language, schema)
    with errors_in(query):
        return lang.diagram(tree, f"Automaton of {_line(query)}", schema, budget)


def preference_tree(
    query: str, events: Events | str | Path, row: int, language: LanguageName | str = "row-pattern"
) -> Diagram:
    """The labellings of a row pattern at a row as a tree, the most preferred one first, with why each other one fails.

    Raises ParseError, IllFormed, InputError where there is no such row, Unsupported for a language that has no order of
    preferment, and BudgetExceeded.
    """
    lang, tree, S = read_query_and_events(query, events, language)
    with errors_in(query):
        warn_of_misfits(lang, tree, S, text=query, strict=False, stacklevel=2)
        return lang.preference_tree(tree, S, row, f"Labellings of {_line(query)} from row {row}")


def hoa_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> str:
    """The automaton of a query as the text of an HOA file.

    Raises ParseError, IllFormed, Unsupported where no automaton without a buffer carries the query, BudgetExceeded.
    """
    lang, tree = read_query(query, language, schema)
    with errors_in(query):
        return hoa_of_automaton(lang.automaton(tree, schema, budget), _line(query))


def record(
    query: str,
    events: Events | str | Path,
    language: LanguageName | str = DEFAULT,
    output: Output = "matches",
    budget: Budget = Budget(),
    strict: bool = False,
) -> Recording:
    """The run of a query over a stream, event by event, by the evaluator in readable Python.

    With output="valuations", nodes keep the variables that mark their events. Raises ParseError, IllFormed, Unsupported
    where not one automaton carries the query or its language has no valuations, and BudgetExceeded for a stream or a
    run too large to look at. What of the query does not fit the events is a QueryWarning, with strict IllFormed.
    """
    lang, tree, S = read_query_and_events(query, events, language)
    with errors_in(query):
        if output == "valuations" and lang.answer:
            raise Unsupported(f"{lang.answer}; a run cannot keep variables")
        warn_of_misfits(lang, tree, S, text=query, strict=strict, stacklevel=2)
        return lang.record(tree, S, _line(query), Options(output, budget))


def _line(query: Any) -> str:
    return " ".join(query.split())
