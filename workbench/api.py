"""What one does with queries: match, check, compare. A query is a text, or the syntax tree of any language."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Unpack, cast, overload

from cerify.automata.evaluator import Evaluator, Output
from cerify.draw.automata import hoa_of_automaton
from cerify.draw.diagram import Diagram, document, svg
from cerify.draw.recording import Recording
from cerify.equivalence.verdict import Level, Order, Undecided, Verdict
from cerify.explanations.explanation import Request
from cerify.languages import COMMON, DEFAULT, LANGUAGES, LanguageName, language_named, language_of
from cerify.languages.language import (
    Checked,
    DecisionQuestion,
    EvaluationValues,
    EvaluatorName,
    Language,
    Options,
    OptionValues,
    OutputTable,
    confirmed,
    without_numba,
)
from cerify.plan import FirstBatch, Plan, Want, plan, warn_of_misfits
from cerify.semantics.arguments import (
    MOST,
    Budget,
    Selection,
    depth_limited,
    require_keywords,
    require_kind,
    require_whole,
    short_repr,
    timed_items,
)
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InputError,
    ParseError,
    Span,
    Unsupported,
    errors_in,
)
from cerify.semantics.events import Events, Matches, Schema, Stream, require_schema
from cerify.semantics.files import as_stream

if TYPE_CHECKING:
    from cerify.equivalence.rewrite.laws import Law
    from cerify.equivalence.rewrite.simplify import Simplified

BOUND = DecisionQuestion.bound


def read_query(query: Any, language: str, schema: Schema | None = None) -> tuple[Language[Any], Any]:
    """The language and the syntax tree of a query, which is a text of the language, or a tree of any.

    With a schema the query is checked against it. Raises ParseError, IllFormed.
    """
    require_schema(schema)
    with errors_in(_text_of(query)), depth_limited():
        lang = language_named(language) if isinstance(query, str) else language_of(query)
        tree = _parsed(lang, query) if isinstance(query, str) else query
        if schema is not None:
            lang.require_typed(tree, schema)
        return lang, tree


def read_query_and_events(query: Any, events: Events | str | Path, language: str) -> tuple[Language[Any], Any, Stream]:
    """As `read_query`, and the stream of the events, against whose schema the query is checked if it has one.

    Events without a type are of the one that the language gives them. Raises ParseError, IllFormed, InputError.
    """
    lang, tree = read_query(query, language)
    own = lang.read_events(events) if isinstance(events, str | Path) else None
    S = as_stream(events, default_type=lang.row_type) if own is None else own
    if S.schema is not None:
        with errors_in(_text_of(query)), depth_limited():
            lang.require_typed(tree, S.schema)
    return lang, tree, S


def _text_of(query: Any) -> str | None:
    return query if isinstance(query, str) else None


def _parsed(language: Language[Any], text: str) -> Any:
    """The syntax tree of a text. Raises ParseError, which names the languages in which the text is a query."""
    try:
        return language.parse(text)
    except ParseError as error:
        own = language.marks(text)
        others = [
            name for name, one in LANGUAGES.items() if one != language and one.marks(text) >= own and _parses(one, text)
        ]
        there = _marked(language, text)
        hint = f"it is a query in another language: {_named(others)}" if others else ""
        if there is not None and there.name not in others:
            hint = f"this looks like {there.looks_like(text)}: {_named([there.name])}"
        elif there is None and (found := _foreign_sign(language, text, error.span)) is not None:
            sign, span = found
            wrong = f"{text[span.start : span.end]!r} is not expected here; in {language.title} it is written {sign}"
            raise ParseError(wrong + (f"; or {hint}" if hint else ""), span) from None
        if not hint:
            raise
        wrong, _, _ = error.message.partition("; expected ")  # with what was meant, the list of what fits is of no use
        raise ParseError(f"{wrong}; {hint}", error.span) from None


def _named(languages: Iterable[str]) -> str:
    """The argument that chooses one of these languages."""
    return " or ".join(f'language="{name}"' for name in languages)


def _foreign_sign(language: Language[Any], text: str, error: Span | None) -> tuple[str, Span] | None:
    """What the language says for the word or sign at an error, or for one before it, which it read otherwise.

    What stands before that word or sign may be a part of what the language speaks of: "WHERE {" is "{" after WHERE.
    """
    if error is None:
        return None
    call = re.search(r"(\w+)\s*\([^()]*\Z", text[: error.start])
    if call and (key := f"{call[1].upper()} (") in language.foreign:
        return language.foreign[key], Span(call.start(1), call.end(1))
    starts = [error.start]
    before = re.search(r"[=<|]\Z|(?:(\w+)\s+)?(\w+)\s+\Z", text[: error.start])
    if before and not text.startswith("(", error.start):
        starts += [before.start(group) for group in (2, 0) if before.start(group) >= 0]
    for start in starts:
        preceding = re.search(r"(\w+|[^\w\s])\s*\Z", text[:start])
        found = re.match(r"\w+|[^\w\s]+", text[start:])
        signs = [] if found is None else [found[0]] if found[0].isalnum() else accumulate(found[0])
        for sign in sorted(signs, key=len, reverse=True):
            for key in (f"{preceding[1]} {sign}" if preceding else sign, sign):
                if key.upper() in language.foreign:
                    return language.foreign[key.upper()], Span(start, start + len(sign))
    return None


def _marked(language: Language[Any], text: str) -> Language[Any] | None:
    """The other language of which a text has the most marks, if it has none of this one."""
    best = max(LANGUAGES.values(), key=lambda other: other.marks(text))
    return best if best.marks(text) and not language.marks(text) else None


def _parses(language: Language[Any], text: str) -> bool:
    with suppress(CerifyError):
        language.parse(text)
        return True
    return False


def parse(text: str, language: LanguageName | str = DEFAULT) -> Any:
    """The syntax tree of a query. Raises ParseError, IllFormed."""
    require_kind("a query", text, str, "a text")
    with errors_in(text):
        return language_named(language).parse(text)


def show(query: Any) -> str:
    """The text of a syntax tree, in its language. Raises IllFormed for what is no syntax tree."""
    with depth_limited():
        return language_of(query).show(query)


def planned(
    query: Any,
    language: str,
    schema: Schema | None,
    options: Options,
    evaluator: str | None,
    selection: Selection | str = Selection.ALL,
    *,
    batches: bool = False,
) -> Plan[Any]:
    """The plan for a query. Raises ParseError, IllFormed."""
    lang, tree = read_query(query, language, schema)
    with errors_in(_text_of(query)), options.budget.timed():
        return plan(lang, lang.selected(tree, Selection.of(selection)), schema, Want(options, evaluator, batches))


def _options(function: Callable[..., Any], values: OptionValues) -> Options:
    """The options among the keyword arguments of a function. Raises IllFormed for one that there is not."""
    require_keywords(function, values, OptionValues)
    return Options.of(values)


@overload
def match(
    query: Any,
    events: Events | str | Path,
    *,
    output: Literal["rows"],
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    strict: bool = False,
    **options: Unpack[EvaluationValues],
) -> OutputTable: ...


@overload
def match(
    query: Any,
    events: Events | str | Path,
    *,
    output: Output = "matches",
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    strict: bool = False,
    **options: Unpack[EvaluationValues],
) -> Matches: ...


def match(
    query: Any,
    events: Events | str | Path,
    *,
    output: Output | Literal["rows"] = "matches",
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    strict: bool = False,
    **options: Unpack[EvaluationValues],
) -> Matches | OutputTable:
    """All matches of a query over a stream, sorted by position; language is that of a query given as text.

    events are a Stream, or what `as_stream` takes: events, dicts, a table or data frame, the path of a file.

    evaluator is one of the language's evaluators; by default cerify.plan chooses one. selection keeps the matches of a
    strategy around the whole query, as its operator does.

    With output="valuations" a match of CEL also has the positions of each variable, and two matches may differ in that
    alone. A match of SASE+ always has them, and the result that RETURN makes of it; one of MATCH_RECOGNIZE too, whose
    result are its measures. With output="rows" MATCH_RECOGNIZE gives its output table: columns, rows, to_pandas().

    The options are `budget` (a Budget), `predicates`, `aggregates`, `reading`, `row_reading` and `consumption`.
    predicates are those of the user's own that a CEL query may name; a query with one is evaluated by the interpreter,
    since no automaton carries it. aggregates are those that a query of SASE+ may name besides the language's own.
    reading answers what the papers of SASE+ leave open, row_reading what SQL does. With consumption="any" a position
    with a match forgets all events up to it.

    If the stream has a schema the query is checked against it first. If it has none, an event type or attribute that no
    event has, and a comparison of an attribute with a value of another kind, is a QueryWarning, or with strict an
    error. Raises ParseError, IllFormed, InputError, Unsupported, BudgetExceeded.
    """
    values: OptionValues = {**options, "output": "matches" if output == "rows" else output}
    chosen = _options(match, values)
    with chosen.budget.timed():
        lang, tree, S = read_query_and_events(query, events, language)
        text = _text_of(query)
        with errors_in(text), chosen.budget.timed():
            made = plan(lang, lang.selected(tree, Selection.of(selection)), S.schema, Want(chosen, evaluator))
            warn_of_misfits(lang, made.query, S, text=text, strict=strict, stacklevel=2)
            if output == "rows":
                return lang.output_table(made.query, S, made.unsorted(S), chosen)
            return Matches(made.all_matches(S))


def count(
    query: Any,
    events: Events | str | Path,
    *,
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    strict: bool = False,
    workers: int = 1,
    **options: Unpack[OptionValues],
) -> int:
    """The exact number of the matches of a query over a stream, as match has them.

    They are not built where an evaluator can do without. workers: as of compile. Warns and raises as match does,
    BudgetExceeded only where the matches have to be built.
    """
    chosen = _options(count, options)
    with chosen.budget.timed():
        lang, tree, S = read_query_and_events(query, events, language)
        text = _text_of(query)
        with errors_in(text), chosen.budget.timed():
            selected = lang.selected(tree, Selection.of(selection))
            made = plan(lang, selected, S.schema, Want(chosen, evaluator, counting=True))
            warn_of_misfits(lang, selected, S, text=text, strict=strict, stacklevel=2)
            if made.batches is None:
                return len(made.unsorted(S))
            reading = _parallel(made.batches, workers)
            return reading.count(S) + len(reading.finish())


def compile(
    query: Any,
    *,
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    schema: Schema | None = None,
    strict: bool = False,
    workers: int = 1,
    **options: Unpack[OptionValues],
) -> Evaluator:
    """An evaluator of the query that reads one stream in batches: push each of them, then finish.

    workers: the threads that read a batch, for CEL with evaluator="kernel". selection and the options are those of
    match. Without a schema the first batch that has events is held against the query, and match's warnings are issued,
    or with strict its error is raised before the batch is read. Where a type may come later give a schema.

    Raises ParseError, IllFormed, Unsupported where a named evaluator evaluates whole streams only, and BudgetExceeded.
    """
    made = planned(query, language, schema, _options(compile, options), evaluator, selection, batches=True)
    with errors_in(_text_of(query)):
        if made.batches is None:
            raise list(made.why_not.values())[-1]
    reading = _parallel(made.batches, workers)
    if schema is None:
        reading.check = FirstBatch(made.language, made.query, _text_of(query), strict)
    return reading


def _parallel(evaluator: Evaluator, workers: int) -> Evaluator:
    """The evaluator, with `workers` threads. Raises IllFormed, Unsupported."""
    require_whole("workers", workers, 1)
    if workers == 1:
        return evaluator
    if (missing := without_numba()) is not None:
        raise missing
    from cerify.automata.evaluate.parallel import parallel
    from cerify.plan import reach_of

    return parallel(evaluator, workers, reach_of)


def generate(
    language: LanguageName | str = DEFAULT,
    *,
    seed: int = 0,
    profile: str | None = None,
    nodes: int = 12,
    events: int = 10,
) -> tuple[Any, Stream]:
    """A random query and a random stream for it; the same arguments give the same case.

    The query is a syntax tree of the language. nodes and events are the most of each. profile names what they are made
    of; the profiles are those of `cerify fuzz`, and the first is the default. Where the language can do so, most
    streams lead to a match. Raises IllFormed, and Unsupported for a language without random queries.
    """
    require_kind("seed", seed, int, "a whole number")
    require_whole("nodes", nodes, 1)
    require_whole("events", events, 1)
    require_kind("profile", profile, str | None, "the name of a profile")
    generator = language_named(language).generator()
    profile = next(iter(generator.profiles)) if profile is None else profile
    if profile not in generator.profiles:
        raise IllFormed(f"there is no profile {profile!r} of {language}; use one of {', '.join(generator.profiles)}")
    make = generator.case if generator.guided is None else generator.guided
    return make(Random(seed), generator.profiles[profile], nodes, events)


class ExplainOptions(TypedDict, total=False):
    """Keyword arguments of explain, which documents them."""

    strict: bool
    budget: Budget


def explain(
    query: Any,
    events: Events | str | Path,
    match: Iterable[int] | None = None,
    *,
    at: int | None = None,
    valuation: Mapping[str, Iterable[int]] | None = None,
    language: LanguageName | str = DEFAULT,
    count: int = 1,
    **options: Unpack[ExplainOptions],
) -> Any:
    """Why positions are a match of a query reported at a position (None: the last of them), or why they are not.

    With a valuation, from variables to positions, why its variables bind these. count is the most derivations. Of an
    event expression `at` alone names the event that is explained. The explanation is one of the language, of
    cerify.explanations: explanation.Derived or Rejected for CEL, event_expressions.TakesPlace or DoesNot, sase.Accepted
    or NoMatch. The options are `strict`, as for match, and `budget`, of which only the seconds are used. Warns as match
    does. Raises ParseError, IllFormed, InputError, Unsupported, BudgetExceeded.
    """
    require_keywords(explain, options, ExplainOptions)
    budget = options.get("budget", Budget())
    require_kind("budget", budget, Budget, "a cerify.Budget")
    with budget.timed():
        request = _request(match, valuation, at, count)
        lang, tree, S = read_query_and_events(query, events, language)
        text = _text_of(query)
        with errors_in(text), budget.timed():
            warn_of_misfits(lang, tree, S, text=text, strict=options.get("strict", False), stacklevel=2)
            explainer = lang.explainer(tree, S, lang.show(tree))
            found = explainer.one(request)
            if found is None:
                raise InputError("name the positions of a match, or what variables bind")
            return found


def _request(match: Any, valuation: Any, at: Any, count: Any) -> Request:
    """What is to be explained. Raises IllFormed for an argument of a wrong kind, BudgetExceeded."""
    require_whole("count", count, 1)
    if at is not None:
        _position(at, "at")
    require_kind("valuation", valuation, Mapping | None, 'a mapping from variables to positions, as {"T": [1]}')
    require_kind("match", match, Iterable | None, "the positions of a match")
    positions = None if match is None else frozenset(map(_position, timed_items(match)))
    if valuation is None:
        return Request(positions, None, at, count)
    for variable, places in valuation.items():
        require_kind("what a valuation binds", variable, str, "the name of a variable")
        require_kind("what a variable binds", places, Iterable, "the positions of events")
    mu = frozenset((A, _position(p)) for A, places in valuation.items() for p in timed_items(places))
    return Request(positions, mu, at, count)


def _position(p: Any, name: str = "a position") -> int:
    require_kind(name, p, int, "a whole number")
    if abs(p) > MOST:
        raise IllFormed(f"{name}: {short_repr(p)} is on no stream")
    return cast("int", p)


def check(
    query: Any, schema: Schema | None = None, *, language: LanguageName | str = DEFAULT, budget: Budget = Budget()
) -> Checked:
    """The fragment that a query is in, its problems under the schema, and whether it matches on any stream.

    Of the budget only the seconds are used; what is not known when they are over is left open. Raises ParseError,
    IllFormed, BudgetExceeded.
    """
    require_schema(schema)
    require_kind("budget", budget, Budget, "a cerify.Budget")
    lang, tree = read_query(query, language)
    with budget.timed():
        return lang.check(tree, schema)


def equivalent(
    left: Any,
    right: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[LanguageName | str, LanguageName | str] = (DEFAULT, DEFAULT),
    budget: Budget = Budget(),
    order: Order = "non-decreasing",
) -> Verdict:
    """Whether two queries have the same complex events, or valuations, at every position of every stream.

    languages are those of the left and the right, where they are texts. Queries of CEL and core-CEL are compared with
    each other by their formulas of CEL; of two other languages the answer is Undecided. Where the queries look at one
    event at a time, or have windows and partitions around whole matches, the answer is Equivalent with a certificate,
    or Different with a shortest stream. Others are compared on all streams of up to `bound` events: Bounded if these
    do not differ. Undecided has the reason why there is no answer.

    order is that of the times of the streams: "strict", "non-decreasing" or "any". A certificate says for which order
    its claim is proved: "any" where no order is needed. Raises ParseError, IllFormed.
    """
    return _compared(left, right, languages, DecisionQuestion("equivalent", level, schema, bound, budget, order))


def contained(
    left: Any,
    right: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[LanguageName | str, LanguageName | str] = (DEFAULT, DEFAULT),
    budget: Budget = Budget(),
    order: Order = "non-decreasing",
) -> Verdict:
    """Whether the right query has all that the left one has; as equivalent, with Contained for Equivalent."""
    return _compared(left, right, languages, DecisionQuestion("contained", level, schema, bound, budget, order))


def _compared(left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion) -> Verdict:
    if not isinstance(languages, tuple | list) or len(languages) != 2:
        raise IllFormed(f"languages: expected a pair of names of languages, not {short_repr(languages)}")
    try:
        with question.budget.timed():
            return _decided(left, right, languages, question)
    except BudgetExceeded as error:
        return Undecided(error.message)


def _decided(left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion) -> Verdict:
    (mine, phi), (theirs, psi) = (
        read_query(query, name, question.schema) for query, name in zip((left, right), languages, strict=True)
    )
    for lang in (mine, theirs):
        if question.level == "positions" and not lang.fires:
            raise IllFormed(f"queries in {lang.title} are not compared by where they fire; compare them by events")
        if question.level == "valuations" and lang.answer:
            raise IllFormed(f"{lang.answer}; compare at the level of events")
    if mine == theirs:
        return mine.compare(phi, psi, question)
    in_cel = []
    for query, lang, tree in ((left, mine, phi), (right, theirs, psi)):
        with errors_in(_text_of(query)):
            formula = lang.formula_to_compare(tree, question)
        if isinstance(formula, Unsupported):
            formula.text = formula.text or _text_of(query)
            return Undecided(formula.described())
        in_cel.append(formula)
    verdict = LANGUAGES[COMMON].compare(in_cel[0], in_cel[1], question)
    return confirmed(verdict, ((mine, phi), (theirs, psi)), question)


@dataclass(frozen=True)
class ComparedAs:
    """The formulas of CEL by which two queries are compared, as texts.

    timed: whether they are the same as the queries only on streams whose events all have times that do not decrease.
    """

    left: str
    right: str
    timed: bool


def formulas_compared(
    left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion = DecisionQuestion()
) -> ComparedAs | None:
    """The formulas of CEL by which two queries of other languages are compared; None if they have none."""
    found, timed = [], False
    for query, name in zip((left, right), languages, strict=True):
        lang, tree = read_query(query, name, question.schema)
        formula = lang.formula_to_compare(tree, question)
        if isinstance(formula, Unsupported):
            return None
        found.append(LANGUAGES[COMMON].show(formula))
        timed = timed or lang.needs_order(tree)
    return ComparedAs(found[0], found[1], timed)


def simplify(
    query: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    budget: Budget = Budget(),
    tries: int | None = None,
) -> Simplified:
    """A smaller CEL query with the same meaning, with the steps and how each of them is proved.

    level is what stays the same, schema the streams on which it does, tries the most questions to the decider (None: a
    default). Raises ParseError, IllFormed, Unsupported for a query that is none of CEL, and BudgetExceeded.
    """
    require_kind("budget", budget, Budget, "a cerify.Budget")
    if tries is not None:
        require_whole("tries", tries)
    from cerify.equivalence.rewrite.simplify import TRIES
    from cerify.equivalence.rewrite.simplify import simplify as simplified

    lang, tree = read_query(query, DEFAULT, schema)
    with errors_in(_text_of(query)), budget.timed():
        return simplified(lang.cel_formula(tree, budget), level, schema, budget, TRIES if tries is None else tries)


def laws() -> tuple[Law, ...]:
    """The laws of CEL, those that hold and those that look as if they did, each with where it is from."""
    from cerify.equivalence.rewrite.laws import LAWS

    return LAWS


# ---------------------------------------------------------------------------------------------------------------------
# Pictures of queries: the automaton as a diagram, as SVG and in the HOA format, and the run over a stream.


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
