"""The functions that users call: match, check, explain, compare. A query is a text, or a syntax tree.

Each function lists its parameters with their defaults, so that editors and `help` show them. To follow the code, begin
here: `read_query` finds the language, whose module in cerify.languages has its parser, evaluators and decider.
cerify.plan chooses the evaluator. The parameter `**unknown` catches misspelt names of parameters: type checkers refuse
them, and at run time they raise IllFormed, which suggests the right name.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Literal, Never, cast, overload

from cerify.automata.evaluate.scope import Unordered
from cerify.automata.evaluator import Consumption, Evaluator, Output
from cerify.equivalence.verdict import Level, Order, Undecided, Verdict
from cerify.languages import COMMON, DEFAULT, LANGUAGES, LanguageName, language_named, language_of
from cerify.languages.language import (
    Checked,
    DecisionQuestion,
    EvaluatorName,
    Language,
    Options,
    OutputTable,
    compare_in_cel,
)
from cerify.parts import FileQuery
from cerify.plan import COMPILED, FirstBatch, Plan, Want, attributes_in, plan, warn_of_misfits, with_workers
from cerify.query_json import query_of_json
from cerify.semantics.arguments import (
    MOST,
    Budget,
    Selection,
    check_time,
    depth_limited,
    require_keywords,
    require_kind,
    require_whole,
    short_repr,
    timed_items,
)
from cerify.semantics.cel.denote import Predicates
from cerify.semantics.errors import (
    BudgetExceeded,
    CerifyError,
    IllFormed,
    InputError,
    ParseError,
    QueryWarning,
    Span,
    Unsupported,
    errors_in,
)
from cerify.semantics.events import TIME, Events, Schema, Stream, require_schema
from cerify.semantics.files import NotInParts, as_stream, is_path
from cerify.semantics.match_frames import Matches
from cerify.semantics.readings import (
    DECIDED,
    ELASTIC,
    SPECIFICATION,
    STANDARD,
    EqlReading,
    Operations,
    Reading,
    RowReading,
    SigmaReading,
)

if TYPE_CHECKING:
    from cerify.draw.diagram import Diagram
    from cerify.draw.recording import Recording
    from cerify.equivalence.rewrite.laws import Law
    from cerify.equivalence.rewrite.simplify import Simplified
    from cerify.explanations.explanation import Request
    from cerify.explanations.near_misses import NearMissReport

BOUND = DecisionQuestion.bound
NOTHING: Mapping[str, Any] = {}
"""The default of a mapping: no predicates, no aggregates, no options."""


def read_query(query: Any, language: str, schema: Schema | None = None) -> tuple[Language[Any], Any]:
    """Return the language and the syntax tree of a query, given as text, as JSON, or as a tree of any language.

    With a schema the query is checked against it. Raises ParseError, IllFormed.
    """
    if schema is not None:
        require_schema(schema)
    with errors_in(_text_of(query)), depth_limited():
        query = query_of_json(query, language) if isinstance(query, Mapping) else query
        lang = language_named(language) if isinstance(query, str) else language_of(query)
        tree = _parsed(lang, query) if isinstance(query, str) else query
        if schema is not None:
            lang.syntax.require_typed(tree, schema)
        return lang, tree


def read_query_and_events(query: Any, events: Events | str | Path, language: str) -> tuple[Language[Any], Any, Stream]:
    """Return the language and the syntax tree of a query, and the events as a stream.

    If the events have a schema, the query must fit it. Events without a type get the language's default type. Raises
    ParseError, IllFormed, InputError.
    """
    lang, tree = read_query(query, language)
    if isinstance(events, Stream):
        S = events
    else:
        own = lang.syntax.read_events(cast("Any", events)) if is_path(events) else None
        nulls = lang.syntax.keeps_nulls
        given = None if is_path(events) or not isinstance(events, Sequence) else events
        if lang.syntax.reads_documents and given and isinstance(given[0], Mapping) and "@timestamp" in given[0]:
            own = _stream_of_documents(given, nulls)
        S = as_stream(events, default_type=lang.row_type, keep_fields=nulls) if own is None else own
        needed = attributes_in(lang, tree) if S.unread and lang.syntax.reads_documents else ()
        # The plain reader left a field out that the query needs, such as a list: read as documents, each element has a
        # name.
        if (needed is None or S.unread.keys() & needed) and given is not None:
            S = _stream_of_documents(given, nulls)
    if S.schema is not None:
        with errors_in(_text_of(query)), depth_limited():
            lang.syntax.require_typed(tree, S.schema)
    return lang, tree, S


def _stream_of_documents(documents: Sequence[object], keep_fields: bool) -> Stream:
    from cerify.semantics.ecs import UNCATEGORIZED, stream_of_documents
    from cerify.semantics.schemas import NO_CATEGORY

    default = UNCATEGORIZED if keep_fields else NO_CATEGORY  # in EQL, a document without a category is of no category
    pairs = ((one, f"event {n}") for n, one in enumerate(documents))
    return stream_of_documents(pairs, keep_fields=keep_fields, default_type=default)


def _text_of(query: Any) -> str | None:
    return query if isinstance(query, str) else None


REWRITABLE = 1000
"""The longest text, in characters, that is rewritten to suggest a query; the patterns can take quadratic time."""


CALL = re.compile(r"\s*\w+\s*\([^()]*\)\s*")
"""A pattern for a call such as count(A). In event expressions this is an event with arguments, but users who write it
most likely mean a function."""


def _parsed(language: Language[Any], text: str) -> Any:
    """Return the syntax tree of a text. Raises ParseError, whose message may suggest another language or a query."""
    try:
        return language.syntax.parse(text)
    except ParseError as error:
        own = language.syntax.marks(text)
        is_call = CALL.fullmatch(text) is not None
        others = [
            name
            for name, one in LANGUAGES.items()
            if one != language and one.syntax.marks(text) >= max(own, is_call) and _parses(one, text)
        ]
        there = _guess_other_language(language, text)
        hint = f"it is a query in another language: {_format_language_options(others)}" if others else ""
        if there is not None and there.name not in others:
            hint = f"this looks like {there.syntax.looks_like(text)}: {_format_language_options([there.name])}"
        elif there is None:
            found = _foreign_sign(language, text, error.span)
            forms = language.syntax.rewritten if len(text) <= REWRITABLE else ()
            written = (re.sub(form, new, text) for form, new in forms)
            whole = next((one for one in written if one != text and _parses(language, one)), None)
            if found is not None or whole is not None:
                sentence, span = found if found is not None else ("", error.span)
                word = "" if span is None else repr(text[span.start : span.end])
                said = sentence.format(title=language.title, word=word)
                if not said and whole is not None:
                    brackets = "; put parentheses" if whole.count("(") > text.count("(") else ""
                    said = error.message.partition("; expected ")[0] + brackets
                said += "" if whole is None else f"; the query may be: {whole}"
                raise ParseError(said + (f"; or {hint}" if hint else ""), span) from None
        if not hint:
            raise
        wrong, _, _ = error.message.partition("; expected ")  # the hint replaces the list of expected words
        raise ParseError(f"{wrong}; {hint}", error.span) from None


def _format_language_options(languages: Iterable[str]) -> str:
    """Write the argument that chooses one of these languages, such as `language="sase"`."""
    return " or ".join(f'language="{name}"' for name in languages)


def _foreign_sign(language: Language[Any], text: str, error: Span | None) -> tuple[str, Span] | None:
    """Return the language's hint about a word or sign at or just before an error, and its place in the text.

    Return None if there is no hint. The key of a hint may include the word before: "WHERE {" is "{" after WHERE; "[ ."
    is "." in a condition.
    """
    if error is None:
        return None
    head = text[: error.start]
    if text.startswith("(", error.start):
        call = re.search(r"(\w+)\s*\Z", head)
    else:  # the error is inside a call, or where its value is compared
        closed = r"\)\s*" if text.startswith(("<", ">", "=", "!"), error.start) else ""
        call = re.search(rf"(\w+)\s*\([^()]*{closed}\Z", head)
    if call and (key := f"{call[1].upper()} (") in language.syntax.foreign:
        return language.syntax.foreign[key], Span(call.start(1), call.end(1))
    starts = [error.start]
    in_condition = head.count("[") > head.count("]") or re.search(r"\bFILTER\b", head)
    before = re.search(r"[=<|]\Z|(?:(\w+)\s+)?(\w+)\s+\Z", text[: error.start])
    if before and not text.startswith("(", error.start):
        starts += [before.start(group) for group in (2, 0) if before.start(group) >= 0]
    for start in starts:
        preceding = re.search(r"(\w+|[^\w\s])\s*\Z", text[:start])
        found = re.match(r"\w+|[^\w\s]+", text[start:])
        signs = [] if found is None else [found[0]] if found[0].isalnum() else list(accumulate(found[0]))
        if found is not None and (following := re.match(r"\w+(?:\s+\w+|\s*\()", text[start:])) is not None:
            signs.append(" ".join(following[0].replace("(", " (").split()))
        # The longest first: "||" has a hint of its own, and "|" another one.
        for sign in sorted(signs, key=len, reverse=True):
            if sign == "like":  # CEL also has `like`, so the error is in the pattern after it
                continue
            for key in (f"{preceding[1]} {sign}" if preceding else sign, f"[ {sign}" if in_condition else sign, sign):
                if key.upper() in language.syntax.foreign:
                    return language.syntax.foreign[key.upper()], Span(start, start + len(sign))
    return None


def _guess_other_language(language: Language[Any], text: str) -> Language[Any] | None:
    """Return the language that has the most marks in a text; None if the text has a mark of this language, or none."""
    best, most = language, 0
    for other in LANGUAGES.values():
        if (number := other.syntax.marks(text)) > most:
            best, most = other, number
    return best if most and not language.syntax.marks(text) else None


def _parses(language: Language[Any], text: str) -> bool:
    with suppress(CerifyError):
        language.syntax.parse(text)
        return True
    return False


def parse(text: str | Mapping[str, Any], language: LanguageName | str = DEFAULT) -> Any:
    """Parse the text of a query; return its syntax tree.

      >>> import cerify
      >>> cerify.parse("A ; B")
      Seq(left=EventAtom(type='A'), right=EventAtom(type='B'))

    text: the query, or its tree in the JSON form of the protocol.
    language: one of cerify.LANGUAGES, such as "cel", "sase" or "row-pattern", or a plug-in.

    Raises ParseError, whose message shows the place in the text, IllFormed, and InputError for JSON that is not a
    query.
    """
    if isinstance(text, Mapping):
        return query_of_json(text, language)
    require_kind("a query", text, str, "a text")
    with errors_in(text):
        return language_named(language).syntax.parse(text)


def show(query: Any) -> str:
    """Return a syntax tree as text in its language; `parse` returns the same tree for this text.

      >>> import cerify
      >>> cerify.show(cerify.parse("((A) ; (B))"))
      'A ; B'

    Raises IllFormed if the argument is not a syntax tree.
    """
    with depth_limited():
        return language_of(query).syntax.show(query)


def plan_query(
    query: Any,
    language: str,
    schema: Schema | None,
    options: Options,
    evaluator: str | None,
    selection: Selection | str = Selection.ALL,
    *,
    batches: bool = False,
) -> Plan[Any]:
    """Return the plan for a query: the evaluator that is chosen for it. Raises ParseError, IllFormed."""
    lang, tree = read_query(query, language, schema)
    _require_own(lang, options)
    with errors_in(_text_of(query)), options.budget.timed():
        return plan(lang, _selected(lang, tree, selection), schema, Want(options, evaluator, batches))


def _selected(language: Language[Any], query: Any, selection: Selection | str) -> Any:
    """Return the query with a selection strategy around it, or the query itself for "all".

    Raises IllFormed, Unsupported.
    """
    if selection is Selection.ALL or selection == Selection.ALL.value:
        return query
    return language.syntax.selected(query, Selection.from_value(selection))


def _consumption(policy: Consumption | str) -> Consumption:
    """Return the consumption policy, given the policy or its name. Raises IllFormed."""
    return policy if isinstance(policy, Consumption) else Consumption.from_value(policy)


def _require_own(language: Language[Any], options: Options) -> None:
    """Raise IllFormed if `options` has a name that is not an option of the language."""
    for name in options.own:
        if name not in language.options:
            known = f"; it has {', '.join(sorted(language.options))}" if language.options else "; it has no options"
            raise IllFormed(f"options: {language.title} has no option {name!r}{known}")


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
    limit: int | None = None,
    budget: Budget = Budget(),
    predicates: Predicates = NOTHING,
    aggregates: Operations = NOTHING,
    reading: Reading = DECIDED,
    row_reading: RowReading = STANDARD,
    eql_reading: EqlReading = ELASTIC,
    sigma_reading: SigmaReading = SPECIFICATION,
    consumption: Consumption | str = Consumption.NONE,
    options: Mapping[str, Any] = NOTHING,
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
    limit: int | None = None,
    budget: Budget = Budget(),
    predicates: Predicates = NOTHING,
    aggregates: Operations = NOTHING,
    reading: Reading = DECIDED,
    row_reading: RowReading = STANDARD,
    eql_reading: EqlReading = ELASTIC,
    sigma_reading: SigmaReading = SPECIFICATION,
    consumption: Consumption | str = Consumption.NONE,
    options: Mapping[str, Any] = NOTHING,
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
    limit: int | None = None,
    budget: Budget = Budget(),
    predicates: Predicates = NOTHING,
    aggregates: Operations = NOTHING,
    reading: Reading = DECIDED,
    row_reading: RowReading = STANDARD,
    eql_reading: EqlReading = ELASTIC,
    sigma_reading: SigmaReading = SPECIFICATION,
    consumption: Consumption | str = Consumption.NONE,
    options: Mapping[str, Any] = NOTHING,
    **unknown: Never,
) -> Matches | OutputTable:
    """Find all matches of a query over a stream; return them sorted by position.

      >>> import cerify
      >>> events = [{"type": "A"}, {"type": "B"}, {"type": "B"}]
      >>> [match.events for match in cerify.match("A ; B", events)]
      [(0, 1), (0, 2)]

    query: a text in `language`, or a syntax tree of any language.
    events: a Stream, or an argument of `as_stream`: events, dicts, a table or data frame, the path of a file.
    output: "matches"; or "valuations", where a match also has the positions of each variable, so that two matches may
        differ only in these; or "rows", the output table of MATCH_RECOGNIZE: columns, rows, to_pandas(). A match of
        SASE+ or MATCH_RECOGNIZE always has its variables, and the result of RETURN or MEASURES.
    language: the language of a query given as text, one of cerify.LANGUAGES.
    evaluator: an evaluator of the language, such as "denotational" or "automaton"; None lets cerify.plan choose.
    selection: "all", or a selection strategy around the whole query: "strict", "next", "last" or "max".
    strict: whether a name or comparison that does not fit the events is an error instead of a QueryWarning.
    limit: the most matches to return; None: all.
    budget: how much may be computed before BudgetExceeded is raised.
    predicates: a mapping from names to functions that a CEL query calls. The interpreter evaluates such a query, since
        automata do not support it.
    aggregates: a mapping from names to functions that a SASE+ query calls, besides the aggregates of the language.
    reading: answers to questions that the papers of SASE+ leave open.
    row_reading: answers to questions about MATCH_RECOGNIZE that SQL leaves open.
    eql_reading: answers to questions on which engines of EQL differ.
    sigma_reading: answers to questions that the specification of Sigma's correlations leaves open.
    consumption: "none", or "any": after a position with a match, all events up to this position are forgotten.
    options: options of a plug-in language, by name.

    If the stream has a schema, the query has to fit it. Raises ParseError, IllFormed, InputError, Unsupported,
    BudgetExceeded.
    """
    if unknown:
        require_keywords(match, unknown)
    if limit is not None:
        require_whole("limit", limit, 1)
    chosen = Options(
        "matches" if output == "rows" else output,
        budget,
        predicates,
        aggregates,
        reading,
        row_reading,
        eql_reading,
        sigma_reading,
        _consumption(consumption),
        options,
    )
    text = _text_of(query)
    with budget.timed():
        if is_path(events) and output == "matches" and evaluator is None and limit is None:
            lang, tree = read_query(query, language)
            _require_own(lang, chosen)
            with errors_in(text), suppress(NotInParts):
                return FileQuery(lang, _selected(lang, tree, selection), events, chosen).all_matches()
        lang, tree, S = read_query_and_events(query, events, language)
        _require_own(lang, chosen)
        with errors_in(text):
            made = plan(lang, _selected(lang, tree, selection), S.schema, Want(chosen, evaluator))
            warn_of_misfits(lang, made.query, S, text=text, strict=strict, stacklevel=2)
            if output == "rows":
                return made.output_table(S)
            found = Matches(made.all_matches(S) if limit is None else made.first_matches(S, limit))
            if (is_open := lang.evaluators.open_test(made.query, S, chosen)) is not None and any(map(is_open, found)):
                found.open = [is_open(one) for one in found]
            return found


def count(
    query: Any,
    events: Events | str | Path,
    *,
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    strict: bool = False,
    workers: int = 1,
    output: Output = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NOTHING,
    aggregates: Operations = NOTHING,
    reading: Reading = DECIDED,
    row_reading: RowReading = STANDARD,
    eql_reading: EqlReading = ELASTIC,
    sigma_reading: SigmaReading = SPECIFICATION,
    consumption: Consumption | str = Consumption.NONE,
    options: Mapping[str, Any] = NOTHING,
    **unknown: Never,
) -> int:
    """Return the exact number of matches of a query over a stream, without building them if the evaluator can do so.

      >>> import cerify
      >>> cerify.count("A+", [{"type": "A"}] * 60) == 2**60 - 1
      True

    workers: see `compile`. All other parameters are those of `match`.

    Warns and raises as `match` does. Also warns if the values of a window's attribute decrease. Raises BudgetExceeded
    only if the matches have to be built.
    """
    if unknown:
        require_keywords(count, unknown)
    chosen = Options(
        output,
        budget,
        predicates,
        aggregates,
        reading,
        row_reading,
        eql_reading,
        sigma_reading,
        _consumption(consumption),
        options,
    )
    want, text = Want(chosen, evaluator, counting=True), _text_of(query)
    with budget.timed():
        if is_path(events):
            lang, tree = read_query(query, language)
            _require_own(lang, chosen)
            with errors_in(text), suppress(NotInParts):
                return FileQuery(lang, _selected(lang, tree, selection), events, chosen).count(evaluator, workers)
        lang, tree, S = read_query_and_events(query, events, language)
        _require_own(lang, chosen)
        with errors_in(text):
            selected = _selected(lang, tree, selection)
            warn_of_misfits(lang, selected, S, text=text, strict=strict, stacklevel=2)
            return _count(lang, selected, S, replace(want, events=len(S)), workers)


def _count(language: Language[Any], query: Any, S: Stream, want: Want, workers: int) -> int:
    """Return the number of matches of a query over a stream, counted by the evaluator that `plan` chooses."""
    made = plan(language, query, S.schema, want)
    if made.batches is None:
        return len(made.unsorted(S))
    running = with_workers(made.batches, workers)
    # `with_workers` may return another evaluator, which does not know this yet.
    running.needed = made.batches.needed
    try:
        return running.count_all(S)
    except Unordered as error:  # the values of a window's attribute decrease, so the matches have to be built
        if error.attribute != TIME:  # for TIME, warn_of_misfits has warned
            warnings.warn(QueryWarning(error.message), stacklevel=3)
        return len(plan(language, query, S.schema, replace(want, counting=False)).unsorted(S))
    except BudgetExceeded:
        check_time()
        if want.evaluator is not None or made.evaluator != COMPILED:
            raise
        # With no events, `plan` does not choose the compiled evaluator, which has just exceeded the budget.
        return _count(language, query, S, replace(want, events=0), workers)


def compile(
    query: Any,
    *,
    language: LanguageName | str = DEFAULT,
    evaluator: EvaluatorName | str | None = None,
    selection: Selection | str = Selection.ALL,
    schema: Schema | None = None,
    strict: bool = False,
    workers: int = 1,
    output: Output = "matches",
    budget: Budget = Budget(),
    predicates: Predicates = NOTHING,
    aggregates: Operations = NOTHING,
    reading: Reading = DECIDED,
    row_reading: RowReading = STANDARD,
    eql_reading: EqlReading = ELASTIC,
    sigma_reading: SigmaReading = SPECIFICATION,
    consumption: Consumption | str = Consumption.NONE,
    options: Mapping[str, Any] = NOTHING,
    **unknown: Never,
) -> Evaluator:
    """Return an evaluator that reads one stream in batches: call `push` with each batch, then `finish`.

      >>> import cerify
      >>> evaluator = cerify.compile("A ; B")
      >>> evaluator.push([{"type": "A"}])
      []
      >>> [match.events for match in evaluator.push([{"type": "B"}])]
      [(0, 1)]
      >>> evaluator.finish()
      []

    schema: the schema of all batches. Without a schema, the query is checked against the first batch that has events;
        problems are warnings, or errors if `strict`. Give a schema if an event type may first occur in a later batch.
    workers: how many threads read a batch, for CEL with evaluator="kernel".

    All other parameters are those of `match`.

    Raises ParseError, IllFormed, BudgetExceeded, and Unsupported if a named evaluator evaluates whole streams only.
    """
    if unknown:
        require_keywords(compile, unknown)
    chosen = Options(
        output,
        budget,
        predicates,
        aggregates,
        reading,
        row_reading,
        eql_reading,
        sigma_reading,
        _consumption(consumption),
        options,
    )
    made = plan_query(query, language, schema, chosen, evaluator, selection, batches=True)
    with errors_in(_text_of(query)):
        if made.batches is None:
            # The last candidate is the most general one, so its reason is about the query.
            raise list(made.why_not.values())[-1]
    running = with_workers(made.batches, workers)
    running.needed = attributes_in(made.language, made.query)
    if schema is not None:
        running.texts = frozenset(name for name, value_type in schema.attributes.items() if value_type == "string")
    else:
        running.check = FirstBatch(made.language, made.query, _text_of(query), strict)
    return running


def generate(
    language: LanguageName | str = DEFAULT,
    *,
    seed: int = 0,
    profile: str | None = None,
    nodes: int = 12,
    events: int = 10,
) -> tuple[Any, Stream]:
    """Return a random query, as a syntax tree, and a random stream for it. The same arguments give the same result.

      >>> import cerify
      >>> query, stream = cerify.generate(seed=1, nodes=3, events=2)
      >>> cerify.show(query), len(stream)
      ('A OR A', 2)

    language: one of cerify.LANGUAGES.
    seed: the seed of the random numbers.
    profile: the name of a profile, which determines what queries and streams may contain, as for `cerify fuzz`; None:
        the language's first profile.
    nodes: the most operators and leaves of the query, at least 1.
    events: the most events of the stream, at least 1. If the language supports it, most streams lead to a match.

    Raises IllFormed, and Unsupported for a language without random queries.
    """
    require_kind("seed", seed, int, "a whole number")
    require_whole("nodes", nodes, 1)
    require_whole("events", events, 1)
    require_kind("profile", profile, str | None, "the name of a profile")
    generator = language_named(language).require_cases().generator()
    profile = next(iter(generator.profiles)) if profile is None else profile
    if profile not in generator.profiles:
        raise IllFormed(f"there is no profile {profile!r} of {language}; use one of {', '.join(generator.profiles)}")
    make = generator.case if generator.guided is None else generator.guided
    return make(Random(seed), generator.profiles[profile], nodes, events)


def explain(
    query: Any,
    events: Events | str | Path,
    match: Iterable[int] | None = None,
    *,
    at: int | None = None,
    valuation: Mapping[str, Iterable[int]] | None = None,
    language: LanguageName | str = DEFAULT,
    count: int = 1,
    strict: bool = False,
    budget: Budget = Budget(),
    **unknown: Never,
) -> Any:
    """Explain why positions are a match of a query, with a derivation, or why they are not, with reasons.

      >>> import cerify
      >>> events = [{"type": "A"}, {"type": "B"}]
      >>> why_not = cerify.explain("A ; B", events, [1])
      >>> why_not.rejection.reasons[0].message
      '{1} has too few events: A ; B takes 2, not 1'

    query: a text in `language`, or a syntax tree of any language.
    events: as in `match`.
    match: the positions of the events.
    at: the position at which the match is reported; None: its last event. For an event expression, `at` alone names
        the event to explain.
    valuation: the positions that each variable binds, as {"T": [1]}; the explanation then says why it binds them.
    language: the language of a query given as text.
    count: the most derivations that are returned.
    strict: as in `match`.
    budget: only its seconds are used.

    The class of the explanation depends on the language. In cerify.explanations there are cel.MatchExplanation and
    cel.Rejected, event_expressions.TakesPlace and DoesNot, and sase.Accepted and NoMatch, for example. Warns as `match`
    does. Raises ParseError, IllFormed, InputError, Unsupported, BudgetExceeded.
    """
    if unknown:
        require_keywords(explain, unknown)
    require_kind("budget", budget, Budget, "a cerify.Budget")
    with budget.timed():
        request = _request(match, valuation, at, count)
        lang, tree, S = read_query_and_events(query, events, language)
        text = _text_of(query)
        with errors_in(text):
            warn_of_misfits(lang, tree, S, text=text, strict=strict, stacklevel=2)
            explainer = lang.explanations.explainer(tree, S, lang.syntax.show(tree))
            explanation = explainer.explain_request(request)
            if explanation is None:
                raise InputError("give either the positions of a match, or the valuation of its variables")
            return explanation


def near_misses(
    query: Any,
    events: Events | str | Path,
    *,
    limit: int = 1_000,
    language: LanguageName | str = DEFAULT,
    strict: bool = False,
    budget: Budget = Budget(),
) -> NearMissReport:
    """Report how far each start of a match came: an event that takes the first step, and the steps that followed.

    The query is a sequence of single events, joined by `;` or `:`, with `+`, `{n}` and UNLESS around single events, in
    windows, PARTITION BY and PER KEY; or a sequence in EQL. The report has for each step the number of starts that
    reached it, and how many events of the right type cannot take the step, by reason. It also has the first `limit`
    near misses, the deepest first, and the number of the others. A near miss has the partial match, the missing step,
    and the event that is the cause, if there is one. Warns as `match` does; with `strict`, warnings are errors.

    >>> from cerify import near_misses
    >>> funnel = near_misses("A ; B WITHIN 10 seconds", [{"type": "A", "time": 0}, {"type": "B", "time": 12}])
    >>> funnel.reached
    (1, 0)
    >>> funnel.misses[0].message
    'event 1 takes the step B, 12 seconds after the start'

    Raises Unsupported for any other query; ParseError, IllFormed, InputError and BudgetExceeded as `match` does.
    """
    require_kind("budget", budget, Budget, "a cerify.Budget")
    with budget.timed():
        lang, tree, S = read_query_and_events(query, events, language)
        text = _text_of(query)
        with errors_in(text), budget.timed():
            warn_of_misfits(lang, tree, S, text=text, strict=strict, stacklevel=2)
            return lang.explanations.near_misses(tree, S, limit, budget)


def _request(match: Any, valuation: Any, at: Any, count: Any) -> Request:
    """Return a request for an explanation. Raises IllFormed for an argument of a wrong kind, BudgetExceeded."""
    from cerify.explanations.explanation import Request

    require_whole("count", count, 1)
    if at is not None:
        _position(at, "at")
    require_kind("valuation", valuation, Mapping | None, 'a mapping from variables to positions, as {"T": [1]}')
    require_kind("match", match, Iterable | None, "the positions of a match")
    positions = None if match is None else frozenset(map(_position, timed_items(match)))
    if valuation is None:
        return Request(positions, None, at, count)
    for variable, places in valuation.items():
        require_kind("a key of the valuation", variable, str, "the name of a variable")
        require_kind(f"the valuation of {variable}", places, Iterable, "the positions of events")
    mu = frozenset((A, _position(p)) for A, places in valuation.items() for p in timed_items(places))
    return Request(positions, mu, at, count)


def _position(p: Any, name: str = "a position") -> int:
    require_kind(name, p, int, "a whole number")
    if abs(p) > MOST:
        raise IllFormed(f"{name}: {short_repr(p)} is not a position of a stream")
    return cast("int", p)


def check(
    query: Any, schema: Schema | None = None, *, language: LanguageName | str = DEFAULT, budget: Budget = Budget()
) -> Checked:
    """Check a query without events; return its fragment, its problems, and whether it can match at all.

      >>> import cerify
      >>> schema = cerify.Schema({"A": {"x": "int"}})
      >>> checked = cerify.check("A FILTER A.y > 0", schema)
      >>> checked.problems[0].message
      "A has no attribute 'y'; it has x"

    query: a text in `language`, or a syntax tree of any language.
    schema: the types of the events that the query has to fit.
    language: the language of a query given as text.
    budget: only its seconds are used. When they are over, questions that are not yet decided stay open in the result.

    Raises ParseError, IllFormed, BudgetExceeded.
    """
    require_schema(schema)
    require_kind("budget", budget, Budget, "a cerify.Budget")
    lang, tree = read_query(query, language)
    with budget.timed():
        return lang.syntax.check(tree, schema)


def equivalent(
    left: Any,
    right: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[LanguageName | str, LanguageName | str] = (DEFAULT, DEFAULT),
    budget: Budget = Budget(),
    order: Order | None = None,
    arrays: bool = True,
) -> Verdict:
    """Decide whether two queries have the same matches at every position of every stream.

      >>> import cerify
      >>> type(cerify.equivalent("A ; B", "A ; B OR A ; B")).__name__
      'Equivalent'
      >>> cerify.equivalent("A ; B", "A : B").stream
      Stream(3 events)

    left, right: each a text, or a syntax tree of any language.
    level: what has to be the same: "events" (the positions of each match), "valuations" (also its variables) or
        "positions" (only where matches end).
    schema: compare only on streams of this schema; None: on all streams.
    bound: the most events of the streams that are searched if no decision procedure applies.
    languages: the languages of the left and the right query, if they are texts.
    order: the order of times in the streams: "strict", "non-decreasing" or "any"; None: the order of the schema, or
      "non-decreasing".
    budget: how much may be computed before the verdict is Undecided.
    arrays: for rules in EQL, whether a field of an event may have several values.

    If each condition is on one event, or if there are windows and partitions around whole matches, the verdict is
    Equivalent with a certificate, or Different with a shortest stream. Other queries are compared on all streams of up
    to `bound` events; the verdict is Bounded if these show no difference. Queries in two languages are translated to
    CEL and then compared. Undecided has the reason why there is no answer. A certificate names the order of times for
    which its claim is proved, "any" if it needs no order. Raises ParseError, IllFormed.
    """
    return _compared(
        left,
        right,
        languages,
        DecisionQuestion("equivalent", level, schema, bound, budget, _order(order, schema), arrays),
    )


def contained(
    left: Any,
    right: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[LanguageName | str, LanguageName | str] = (DEFAULT, DEFAULT),
    budget: Budget = Budget(),
    order: Order | None = None,
    arrays: bool = True,
) -> Verdict:
    """Decide whether the right query has all matches of the left query, on every stream.

      >>> import cerify
      >>> type(cerify.contained("A : B", "A ; B")).__name__
      'Contained'

    The parameters and the verdicts are those of `equivalent`, with Contained in place of Equivalent.
    """
    return _compared(
        left,
        right,
        languages,
        DecisionQuestion("contained", level, schema, bound, budget, _order(order, schema), arrays),
    )


def _order(order: Order | None, schema: Schema | None) -> Order:
    """Return the requested order of times, else the order of the schema, else "non-decreasing"."""
    require_schema(schema)
    return order or (schema.order if schema is not None else None) or "non-decreasing"


def _compared(left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion) -> Verdict:
    if not isinstance(languages, tuple | list) or len(languages) != 2:
        raise IllFormed(f"languages: give a pair of names of languages, not {short_repr(languages)}")
    try:
        with question.budget.timed():
            return _compare_queries(left, right, languages, question)
    except BudgetExceeded as error:
        return Undecided(error.message)


def _compare_queries(left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion) -> Verdict:
    (mine, phi), (theirs, psi) = (
        read_query(query, name, question.schema) for query, name in zip((left, right), languages, strict=True)
    )
    for lang in (mine, theirs):
        if question.level == "valuations" and lang.answer:
            raise IllFormed(f'{lang.answer}; use the level "events"')
    if not question.arrays and (mine.name, theirs.name) != ("eql", "eql"):
        raise IllFormed("arrays=False, or --single, is only for two rules in EQL; other languages have no arrays")
    if mine is theirs or mine == theirs:
        return mine.deciders.compare(phi, psi, question)
    return compare_in_cel((mine, phi), (theirs, psi), question, (_text_of(left), _text_of(right)))


@dataclass(frozen=True)
class ComparedAs:
    """The CEL formulas by which two queries are compared, as texts.

    timed: whether each formula has the matches of its query only on streams where every event has a time and times
    never decrease.
    """

    left: str
    right: str
    timed: bool


def formulas_compared(
    left: Any, right: Any, languages: tuple[str, str], question: DecisionQuestion = DecisionQuestion()
) -> ComparedAs | None:
    """Return the CEL formulas that `equivalent` compares in place of queries in other languages.

    Return None if a query has no such formula.
    """
    found, timed = [], False
    for query, name in zip((left, right), languages, strict=True):
        lang, tree = read_query(query, name, question.schema)
        formula = lang.deciders.formula_to_compare(tree, question)
        if isinstance(formula, Unsupported):
            return None
        found.append(LANGUAGES[COMMON].syntax.show(formula))
        timed = timed or lang.deciders.needs_order(tree)
    return ComparedAs(found[0], found[1], timed)


def simplify(
    query: Any,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    budget: Budget = Budget(),
    tries: int | None = None,
) -> Simplified:
    """Return a smaller CEL query with the same meaning, and the steps that lead to it, each with its proof.

      >>> import cerify
      >>> simpler = cerify.simplify("A ; B OR A ; B")
      >>> cerify.show(simpler.phi)
      'A ; B'

    level: what stays the same, as in `equivalent`.
    schema: keep the meaning only on streams of this schema; None: on all streams.
    budget: how much may be computed before BudgetExceeded is raised.
    tries: how often the decider may be called; None: a default.

    Raises ParseError, IllFormed, BudgetExceeded, and Unsupported for a query that is not in CEL.
    """
    require_kind("budget", budget, Budget, "a cerify.Budget")
    if tries is not None:
        require_whole("tries", tries)
    from cerify.equivalence.rewrite.simplify import TRIES
    from cerify.equivalence.rewrite.simplify import simplify as simplify_formula

    lang, tree = read_query(query, DEFAULT, schema)
    with errors_in(_text_of(query)), budget.timed():
        return simplify_formula(
            lang.deciders.cel_formula(tree, budget), level, schema, budget, TRIES if tries is None else tries
        )


def laws() -> tuple[Law, ...]:
    """Return the laws of CEL: true laws, and false ones that look true, each with its source.

    >>> import cerify
    >>> cerify.laws()[0].name
    '; is associative'
    """
    from cerify.equivalence.rewrite.laws import LAWS

    return LAWS


# ---------------------------------------------------------------------------------------------------------------------
# Pictures of queries: the automaton as a diagram, as SVG and in the HOA format, and the run over a stream.


def svg_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> str:
    """Return the automaton of a query as the text of an SVG file.

    Raises ParseError, IllFormed, Unsupported if no automaton represents the query, and BudgetExceeded if the automaton
    is too large to build or to read.
    """
    from cerify.draw.diagram import document, svg

    return document(svg(diagram_of(query, language, schema, budget)))


def diagram_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> Diagram:
    """Return the automaton of a query as a diagram. Raises the errors that `svg_of` raises."""
    lang, tree = read_query(query, language, schema)
    with errors_in(query):
        return lang.explanations.diagram(tree, f"Automaton of {_line(query)}", schema, budget)


def preference_tree(
    query: str, events: Events | str | Path, row: int, language: LanguageName | str = "row-pattern"
) -> Diagram:
    """Draw a tree of the ways to assign variables to rows, from one row on: the preferred way first, and why ways fail.

    Raises ParseError, IllFormed, InputError if the stream has no such row, Unsupported for a language without
    preferences, and BudgetExceeded.
    """
    lang, tree, S = read_query_and_events(query, events, language)
    with errors_in(query):
        warn_of_misfits(lang, tree, S, text=query, strict=False, stacklevel=2)
        return lang.explanations.preference_tree(tree, S, row, f"Ways to label the rows from row {row}: {_line(query)}")


def hoa_of(
    query: str, language: LanguageName | str = DEFAULT, schema: Schema | None = None, budget: Budget = Budget()
) -> str:
    """Return the automaton of a query as text in the format HOA (Hanoi Omega-Automata), which tools for automata read.

    Raises ParseError, IllFormed, Unsupported if no automaton without a buffer represents the query, BudgetExceeded.
    """
    from cerify.draw.automata import hoa_of_automaton

    lang, tree = read_query(query, language, schema)
    with errors_in(query):
        return hoa_of_automaton(lang.explanations.automaton(tree, schema, budget), _line(query))


def record(
    query: str,
    events: Events | str | Path,
    language: LanguageName | str = DEFAULT,
    output: Output = "matches",
    budget: Budget = Budget(),
    strict: bool = False,
) -> Recording:
    """Record a run of a query over a stream for a drawing: the automaton, and the evaluator's state after each event.

    With output="valuations", the recording keeps the variables that mark each event. A part of the query that does not
    fit the events is a QueryWarning; with `strict` it raises IllFormed. Raises ParseError, IllFormed, Unsupported if a
    single automaton cannot represent the query or its language has no valuations, and BudgetExceeded if the stream or
    the run is too large to show.
    """
    lang, tree, S = read_query_and_events(query, events, language)
    with errors_in(query):
        if output == "valuations" and lang.answer:
            raise Unsupported(f"{lang.answer}, so a recording has no valuations; use output='matches'")
        warn_of_misfits(lang, tree, S, text=query, strict=strict, stacklevel=2)
        return lang.explanations.record(tree, S, _line(query), Options(output, budget))


def _line(query: Any) -> str:
    return " ".join(query.split())
