"""A query that does not fit its events: names that they do not have, values of other kinds, in every language."""

from __future__ import annotations

import warnings
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cerify
from cerify import Event, Stream, count, explain, match
from cerify.api import record
from cerify.semantics.errors import IllFormed, InputError, QueryWarning
from cerify.semantics.events import Schema
from cerify.semantics.files import read_stream
from cerify.semantics.predicates import Attribute, Both, Comparison, Constant, Either, Not, never_true

COLUMNS = {"type": ["T", "H", "T"], "id": [1, 1, 2], "tmp": [40.0, None, 45.0], "s": ["a", "b", None]}
S = Stream.from_table(pa.table(COLUMNS))

LANGUAGES = {
    "cel": ("T ; {type} FILTER T.{attribute} > {value}", "{attribute}"),
    "core-cel": ("(T AS x ; {type} AS y) FILTER x.{attribute} > {value}", "{attribute}"),
    "event-expression": ("prior(T[{attribute} > {value}], {type})", "{attribute}"),
    "sase": (
        "PATTERN SEQ(T a, {type} b) WHERE skip_till_any_match(a, b) {{ a.{attribute} > {value} }} RETURN a.id",
        "a.{attribute}",
    ),
}


def warned(text: str, language: str, S: Stream = S) -> list[QueryWarning]:
    """The warnings about a query."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        match(text, S, language=language)
    assert all(isinstance(one.message, QueryWarning) for one in seen)
    assert all(one.filename == __file__ for one in seen)
    return [one.message for one in seen if isinstance(one.message, QueryWarning)]


def query(language: str, type: str = "H", attribute: str = "tmp", value: str = "3") -> str:
    """A query of the language about T, and events of the type after it."""
    return LANGUAGES[language][0].format(type=type, attribute=attribute, value=value)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_query_that_fits_is_run_without_a_warning(language: str) -> None:
    assert warned(query(language), language) == []
    assert match(query(language), S, language=language, strict=True)


def test_types_are_in_quotes_where_one_has_blanks_at_its_ends() -> None:
    (warning,) = warned("T", "cel", Stream([Event("T "), Event("H")]))
    assert warning.message == "unknown event type T; the events have 'T ', 'H'; did you mean \"T \"?"


MISSPELT = {
    "cel": ["(T ; H) PARTITION BY [ID]", "(T ; H) WITHIN 3 [idd]"],
    "sase": ["PATTERN SEQ(T a, H b) WHERE skip_till_any_match(a, b) { [idd] } RETURN a.id"],
    "row-pattern": [
        "MATCH_RECOGNIZE (PARTITION BY idd PATTERN (A))",
        "MATCH_RECOGNIZE (ORDER BY idd PATTERN (A))",
        "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS PREV(idd) > 1)",
    ],
}


@pytest.mark.parametrize(("language", "text"), [(name, text) for name, texts in MISSPELT.items() for text in texts])
def test_a_column_that_a_table_does_not_have_is_an_error(language: str, text: str, tmp_path: Path) -> None:
    """It was a warning, after which the rows were not divided, or there was no match."""
    file = tmp_path / "events.csv"
    file.write_text("type,id,tmp\nT,1,40\nH,1,\n")
    batches = cerify.compile("(T ; H) PARTITION BY [ID]")
    calls = [partial(match, text, events, language=language) for events in (S, S.part(0, 0), file)]
    for call in [*calls, partial(batches.push, S)]:
        with pytest.raises(IllFormed, match=r"there is no column '\w+'.* have|has.*; did you mean id\?"):
            call()


def test_a_column_without_values_is_there() -> None:
    empty = Stream.from_table(pa.table({"type": ["T", "T"], "id": pa.nulls(2, pa.int64())}))
    assert len(match("MATCH_RECOGNIZE (PARTITION BY id PATTERN (A B))", empty, language="row-pattern")) == 1
    assert not match("(T ; T) PARTITION BY [id]", empty)


def test_events_that_come_one_by_one_have_no_columns() -> None:
    events = Stream([Event("T", {"id": 1}), Event("T")])
    assert "has no attribute 'idd'" in str(warned("(T ; T) PARTITION BY [idd]", "cel", events)[0])
    text = "MATCH_RECOGNIZE (ORDER BY idd PATTERN (A))"
    assert "no column 'idd'" in str(warned(text, "row-pattern", events)[0])


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_attribute_that_no_event_has(language: str) -> None:
    text = query(language, attribute="temp")
    (warning,) = warned(text, language)
    assert "has no attribute 'temp'; it has id, tmp, s; did you mean tmp?" in warning.message
    assert warning.span is not None
    assert "temp" in text[warning.span.start : warning.span.end]
    assert "^^^" in str(warning)
    with pytest.raises(IllFormed, match="did you mean tmp") as error:
        match(text, S, language=language, strict=True)
    assert "^^^" in error.value.described()


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_event_type_that_no_event_has(language: str) -> None:
    text = query(language, type="HH")
    (warning,) = warned(text, language)
    shown = "the stream has" if language == "sase" else "the events have"
    assert warning.message == f"unknown event type HH; {shown} T, H; did you mean H?"
    assert warning.span is not None
    assert "HH" in text[warning.span.start : warning.span.end]
    with pytest.raises(IllFormed, match="unknown event type HH"):
        match(text, S, language=language, strict=True)


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_comparison_of_two_kinds(language: str) -> None:
    text = query(language, value="'hot'")
    (warning,) = warned(text, language)
    assert "tmp is a number and 'hot' a string, so they cannot be compared" in warning.message
    with pytest.raises(IllFormed, match="cannot be compared"):
        match(text, S, language=language, strict=True)


@pytest.mark.parametrize("as_table", [False, True])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_cell_that_makes_texts_of_a_column_of_numbers_is_named(
    language: str, as_table: bool, tmp_path: Path
) -> None:
    """All that was said is that the column is a string."""
    file = tmp_path / "a.csv"
    file.write_text("type,id,x\nT,1,\nT,2,4.5\nH,3,oops\nT,4,5\nH,5,n/a\n")
    stream = Stream.from_table(read_stream(file).table) if as_table else read_stream(file)
    (warning,) = warned(query(language, attribute="x"), language, stream)
    assert warning.message.endswith("so they cannot be compared; x is 'oops' in event 2 and a number in others")
    (warning,) = warned(query(language, attribute="s"), language)  # which has no numbers
    assert warning.message.endswith("so they cannot be compared")


def test_the_row_of_a_cell_that_is_no_number_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.csv"
    file.write_text("type,x\nT,1\nT,2 C\nT,3\n")
    text = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1)"
    (warning,) = warned(text, "row-pattern", read_stream(file))
    assert warning.message == "x is a string, but 1 is a number; x is '2 C' in row 1 and a number in others"


def test_an_argument_of_another_kind() -> None:
    (warning,) = warned("T('a', X)", "event-expression")
    assert warning.message == "id of T is a number, not a string"


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("(T ; H) WITHIN 5 seconds", "cel"),
        ("T AS x FILTER x.time > 3", "core-cel"),
        ("T[time > 3]", "event-expression"),
        ("PATTERN SEQ(T a, H b) WHERE skip_till_any_match(a, b) { [id] } WITHIN 5 seconds RETURN a.id", "sase"),
    ],
)
def test_a_time_that_no_event_has(text: str, language: str) -> None:
    """The file has one in another column, and nobody said which."""
    (warning,) = warned(text, language)
    assert "no attribute 'time'" in warning.message or "the events have no times" in warning.message
    timed = Stream([Event(event.type, {"time": 1, **event.attributes}) for event in S])
    assert warned(text, language, timed) == []


def test_an_attribute_that_some_of_the_types_lack_is_none_of_it() -> None:
    """Events of other types fail the filter, as the query may want."""
    assert warned("(T OR H) IN x FILTER x.tmp > 3", "cel") == []
    assert warned("(T AS x OR H AS x) FILTER x.tmp > 3", "core-cel") == []
    (warning,) = warned("(T OR H) IN x FILTER x.temp > 3", "cel")
    assert warning.message.startswith("H, T, which x may hold, have no attribute 'temp'")


def test_attributes_with_values_of_several_types_may_be_compared_with_any() -> None:
    mixed = Stream([Event("A", {"x": 1}), Event("A", {"x": "a"})])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert len(match("A FILTER A.x = 'a'", mixed, evaluator="denotational")) == 1
    with pytest.warns(QueryWarning, match="no attribute 'y'"):
        match("A FILTER A.y = 'a'", mixed, evaluator="denotational")


def test_with_a_schema_the_query_is_checked_against_that() -> None:
    declared = Stream([Event("A", {"x": 1})], Schema({"A": {"x": "int"}, "B": {}}))
    assert warned("A OR B", "cel", declared) == []
    with pytest.raises(IllFormed, match="unknown event type C"):
        match("C", declared)


def test_a_stream_without_events_shows_nothing() -> None:
    assert warned("A", "cel", Stream()) == []


def test_a_count_warns_as_its_matches() -> None:
    with pytest.warns(QueryWarning, match="did you mean tmp"):
        assert count("T FILTER T.temp > 3", S) == 0
    with pytest.raises(IllFormed, match="did you mean tmp"):
        count("T FILTER T.temp > 3", S, strict=True)


def test_an_explanation_warns_as_the_matches() -> None:
    with pytest.warns(QueryWarning, match="did you mean tmp"):
        explain("T FILTER T.temp > 3", S, [0])
    with pytest.raises(IllFormed, match="did you mean tmp"):
        explain("T FILTER T.temp > 3", S, [0], strict=True)


def test_the_steps_of_a_run_warn_as_its_matches() -> None:
    with pytest.warns(QueryWarning, match="did you mean tmp"):
        record("T FILTER T.temp > 3", S)
    with pytest.raises(IllFormed, match="did you mean tmp"):
        record("T FILTER T.temp > 3", S, strict=True)


def test_a_parsed_query_has_no_text_to_show() -> None:
    from cerify import parse

    with pytest.warns(QueryWarning, match="unknown event type K; the events have T, H$"):
        match(parse("K"), S)


def test_of_many_names_the_first_are_listed() -> None:
    many = Stream([Event(f"A{n}") for n in range(200)])
    (warning,) = warned("B", "cel", many)
    assert warning.message.endswith("A8, A9, ... (200 in all)")


@pytest.mark.parametrize(
    ("query", "language", "meant"),
    [
        ("T ; H FILTER T.id = G.id", "cel", "G"),
        ("T AS x ; H AS y FILTER x.id = z.id", "core-cel", "z"),
    ],
)
def test_a_variable_that_nothing_binds_is_a_warning_with_and_without_a_schema(
    query: str, language: str, meant: str
) -> None:
    """Its filter holds of every match, so a misspelt variable gives more matches and no error."""
    events = [Event("T", {"id": 1}), Event("H", {"id": 2})]
    for S in (Stream(events), Stream(events, Schema({"T": {"id": "int"}, "H": {"id": "int"}}))):
        with pytest.warns(QueryWarning, match=rf"binds {meant}|{meant}"):
            assert len(match(query, S, language=language)) == 1
        with pytest.raises(IllFormed, match=meant):
            match(query, S, language=language, strict=True)


PLACES = Stream([Event("A", {"x": 1}), Event("B", {"y": 2}), Event("A", {"x": 3})])


@pytest.mark.parametrize(
    ("text", "language", "message"),
    [
        ("((A OR B) IN V) FILTER V.x = V.y", "cel", "never true for the types that V may hold: A has x; B has y"),
        (
            "((A ; B) IN V) FILTER V.x > 0",
            "cel",
            "V always holds an event of B, but this is never true for B, and a condition on V must be true for "
            "every event of V; B has y",
        ),
        ("((A ALL B) IN V) FILTER V.y > 0", "cel", "V always holds an event of A, but this is never true for A"),
        ("((A OR B):+ IN V) FILTER V.x > V.y", "cel", "never true for the types that V may hold"),
        ("(A AS v OR B AS v) FILTER v.x + v.y > 1", "core-cel", "never true for the types that v may hold"),
    ],
)
def test_a_filter_that_is_never_true_of_a_variable_with_several_types(text: str, language: str, message: str) -> None:
    assert match(text, PLACES, language=language, evaluator="denotational") == []
    (warning,) = warned(text, language, PLACES)
    assert message in warning.message
    assert warning.span is not None


@pytest.mark.parametrize(
    "text",
    [
        "((A OR B) IN V) FILTER V.x > 0",
        "((A OR (A ; B)) IN V) FILTER V.x > 0",
        "((A ; B) IN V) FILTER A.x > 0",
        "(A IN V ; B) FILTER V.x > 0",
    ],
)
def test_a_filter_that_some_type_passes_is_no_fault(text: str) -> None:
    assert warned(text, "cel", PLACES) == []


def test_what_a_negation_and_a_disjunction_may_be_true_of() -> None:
    schema, held = Schema({"A": {"x": "int"}, "B": {"y": "int"}}), frozenset("AB")
    x, y = (Comparison(">", Attribute(name), Constant(0)) for name in "xy")
    wrong = {P: len(list(never_true("V", P, held, schema, None, held))) for P in (Both(x, y), Not(x), Either(x, y), x)}
    assert list(wrong.values()) == [1, 0, 0, 1]
    assert list(never_true("V", Both(x, Not(y)), held, schema, None)) == []


def test_an_attribute_with_values_of_several_kinds_hides_no_other() -> None:
    mixed = Stream([Event("T", {"m": 1, "x": 1}), Event("T", {"m": "a", "x": 2})])
    assert warned("T FILTER T.m > 0", "cel", mixed) == []
    for language, text in {
        "cel": "T FILTER T.x = 'q'",
        "core-cel": "T AS t FILTER t.x = 'q'",
        "event-expression": "T[x = 'q']",
        "sase": "PATTERN SEQ(T t) WHERE t.x = 'q' and t.m = 'a' RETURN t.x",
    }.items():
        (warning,) = warned(text, language, mixed)
        assert "cannot be compared" in warning.message


@pytest.mark.parametrize(("name", "hint"), [("TMP", "tmp"), ("Tmp", "tmp"), ("S", "s")])
def test_names_that_differ_in_case_alone(name: str, hint: str) -> None:
    (warning,) = warned(f"T FILTER T.{name} > 3", "cel")
    assert warning.message.endswith(f"did you mean {hint}?")
    (warning,) = warned("t", "cel")
    assert warning.message.endswith("did you mean T?")


def test_having_is_underlined() -> None:
    text = "PATTERN SEQ(T a) HAVING a.temp > 1 RETURN a.id"
    (warning,) = warned(text, "sase")
    assert warning.span is not None
    assert text[warning.span.start : warning.span.end] == "HAVING a.temp > 1"


def test_what_is_wrong_between_queries_is_an_error_once() -> None:
    """It was a warning first, and then the same as an error."""
    text = "PATTERN SEQ(T a) RETURN M(a.id AS u) IN STREAM s; FROM s PATTERN SEQ(M c) RETURN c.y"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(IllFormed, match="M, which c may hold, has no attribute 'y'; it has u"):
            match(text, S, language="sase")


def test_a_composed_query_warns_of_names_of_the_input() -> None:
    text = "PATTERN SEQ(T a) RETURN M(a.temp AS u) IN STREAM s; FROM s PATTERN SEQ(M c) RETURN c.u"
    (warning,) = warned(text, "sase")
    assert "T, which a may hold, has no attribute 'temp'" in warning.message


def test_an_error_about_a_tree_underlines_nothing() -> None:
    """The tree has spans, but the text in which they are is not known."""
    S = Stream([Event("T", {"tmp": 1})], Schema({"T": {"tmp": "int"}}))
    with pytest.raises(IllFormed) as error:
        match(cerify.parse("T FILTER T.tmp > 'a'"), S)
    assert error.value.described() == "tmp is a number and 'a' a string, so they cannot be compared"


@pytest.mark.parametrize(
    ("event", "message"),
    [
        (Event("B"), "event 1: unknown event type 'B'; the schema has A"),
        (Event("A", {"y": 1}), "event 1, attribute 'y': unknown attribute; A has n, f"),
        (Event("A", {"n": "a"}), "event 1, attribute 'n': string, but the schema has int"),
        (Event("A", {"n": True}), "event 1, attribute 'n': bool, but the schema has int"),
        (Event("A", {"n": 0.5}), "event 1, attribute 'n': float, but the schema has int"),
        (Event("A", {"n": 2**63}), "event 1, attribute 'n': 9223372036854775808 does not fit in 64 bits"),
        (
            Event("A", {"f": 2**53 + 1}),
            "event 1, attribute 'f': 9007199254740993 cannot be stored exactly as a 64-bit float",
        ),
    ],
)
def test_an_event_that_is_none_of_the_schema_is_refused(event: Event, message: str) -> None:
    """It matched what is proved to have no match under the schema."""
    schema = Schema({"A": {"n": "int", "f": "float"}})
    good = [Event("A", {"n": 1, "f": 2, "time": 3}), Event("A")]
    assert len(match("A", Stream(good, schema))) == 2
    with pytest.raises(InputError, match=f"^{message}"):
        match("A", Stream([good[0], event], schema))


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"type": ["A", "A"], "n": ["u", None]}, "event 0, field 'n': string, but the schema has int"),
        ({"type": ["A", "A"], "m": [None, 1]}, "event 1, field 'm': unknown attribute; A has n"),
        ({"type": ["A", "B"], "n": [1, 2]}, "event 1, field 'type': unknown event type 'B'; the schema has A"),
        ({"type": ["A", "A"], "time": [None, "2020"]}, "event 1, attribute 'time': a time is a number or a timestamp"),
    ],
)
def test_a_table_that_does_not_fit_the_schema_is_refused_too(columns: dict[str, Any], message: str) -> None:
    """Found by a trial: only events made one by one were held against it, and only before their table was made."""
    schema = Schema({"A": {"n": "int"}})
    for make in (Stream, Stream.from_table):
        with pytest.raises(InputError, match=f"^{message}"):
            match("A", make(pa.table(columns), schema))
    S = Stream([Event("A"), Event("B")], schema)
    assert S.table.num_rows == 2
    with pytest.raises(InputError, match="unknown event type 'B'"):
        match("A", S)


@pytest.mark.parametrize("value", ["2020-01-01", True])
@pytest.mark.parametrize(
    ("text", "language"), [("(A ; B) WITHIN 1 second", "cel"), ("PATTERN SEQ(A a, B b) WITHIN 1 second", "sase")]
)
def test_a_window_over_times_that_are_none_warns(text: str, language: str, value: Any) -> None:
    """Found by a trial: a frame with times of text had no match, and no word about it."""
    S = Stream([Event("A", {"time": value}), Event("B", {"time": value})])
    for stream in (S, Stream.from_table(S.table)):
        (warning,) = warned(text, language, stream)
        assert "WITHIN needs times that are numbers or timestamps, but time is a" in warning.message
        with pytest.raises(IllFormed, match="WITHIN needs times"):
            match(text, stream, language=language, strict=True)
    with pytest.raises(IllFormed, match="WITHIN needs times"):
        cerify.equivalent(text, text, languages=(language,) * 2, schema=cerify.observed(S))


def test_a_string_that_is_the_name_of_an_attribute_is_told_from_it() -> None:
    events = [{"type": "A", "order total": 60}]
    with pytest.warns(QueryWarning, match='so they cannot be compared; .* in double quotes: "order total"'):
        assert not cerify.match("A['order total' > 50]", events)
    assert len(cerify.match('A["order total" > 50]', events)) == 1
