"""Values that are easy to get wrong have the same matches in every evaluator and from every format; a few cases."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cerify import Different, Event, Schema, equivalent, match
from cerify.automata.algebra.finite import Minterm
from cerify.equivalence.rewrite.normal_forms import disjunctive
from cerify.equivalence.rewrite.simplify import Simplified
from cerify.equivalence.verdict import Bounded, Equivalent
from cerify.languages import LANGUAGES
from cerify.languages.language import Checked
from cerify.plan import DefinitionEvaluator
from cerify.semantics import columns
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.arrow_rows import rows_of_table, timed_table
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.columns import mask
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.patterns import NotCovered, Pattern, PatternError, whole
from cerify.semantics.predicates import (
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparator,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Operator,
    Predicate,
    holds,
)
from cerify.semantics.tables import CsvSource, fitted_table, line_of, read_csv, stream_of_csv
from cerify.semantics.time_columns import FieldReading
from cerify.spark.runs import SparkQuery
from proofs_tests import robustness
from proofs_tests.campaigns import values, verdicts
from proofs_tests.support import sampled

# ---- values ----
#

PARSED = LANGUAGES["cel"].syntax.parse("Nothing")
ROWS = "MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS type = 'Nothing')"
SEEDS = sampled(range(40), range(1))
MANY = 6  # cases of a seed


def seen(language: str, seed: int, answers: values.Answers = values.answers) -> Iterator[str]:
    for i in range(MANY):
        try:
            case_of = verdicts.alike_case if answers is verdicts.answers else values.wild_case
            case = case_of(LANGUAGES[language], f"{seed}/{i}")
            found = values.outcomes(LANGUAGES[language], case, answers)
            yield from (f"{i} {name}: {outcome}" for name, outcome in found)
        except (IllFormed, BudgetExceeded, Unsupported) as error:
            yield error.code


WILD = [language for language in LANGUAGES if language not in ("sigma", "ceql", "funnel")]
"""The languages whose random queries are given other values; CEQL has none, Sigma and funnels keep theirs."""


@pytest.mark.parametrize("answers", [values.answers, verdicts.answers], ids=["evaluators", "deciders"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", WILD)
def test_all_agree_with_the_definition(language: str, seed: int, answers: values.Answers) -> None:
    assert [outcome for outcome in seen(language, seed, answers) if "WRONG" in outcome] == []


@pytest.mark.parametrize("language", WILD)
def test_some_of_the_cases_match(language: str) -> None:
    assert any(outcome.endswith(": matched") for seed in range(4) for outcome in seen(language, seed))


def test_a_writer_that_loses_all_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(S: Stream, path: Path) -> None:
        values.write_arrow(S.part(0, 0), path)

    monkeypatch.setattr(values, "WRITERS", {"arrow": nothing})
    assert any("arrow: WRONG" in outcome for outcome in seen("cel", 1))


def test_a_state_without_its_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: DefinitionEvaluator[object], data: bytes) -> None:
        self.position = 4

    monkeypatch.setattr(DefinitionEvaluator, "load", nothing)
    assert any("denotational in batches: WRONG" in outcome for seed in range(3) for outcome in seen("cel", seed))


def test_a_worker_that_loses_all_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from cerify.spark import runs

    start = runs.start
    monkeypatch.setattr(runs, "start", lambda query, budget: start(SparkQuery("Nothing"), budget))
    assert any("a worker of Spark: WRONG" in outcome for outcome in seen("cel", 1))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("equivalent", lambda left, right, **_: equivalent("A", "A")),
        ("equivalent", lambda left, right, schema, **_: Bounded(8, schema or Schema({}))),
        ("minterms", lambda tests, *_: [Minterm(frozenset(range(len(tests))), None)]),
    ],
)
def test_a_false_proof_is_found(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, name, fault)
    answer = {"equivalent": "an equivalent query", "minterms": "the algebra"}[name]
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any(f"{answer}: WRONG" in outcome for outcome in outcomes)


def test_a_check_that_denies_all_matches_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Checked({}, "", [], satisfiable=False)
    monkeypatch.setattr(type(LANGUAGES["cel"].syntax), "check", lambda self, query, schema: nothing)
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any("the check: WRONG" in outcome for outcome in outcomes)


@pytest.mark.parametrize(
    ("rewriting", "answer"),
    [
        ("translations", "the query in row-pattern"),
        ("translations", "an equivalent query in core-cel"),
        ("normal_forms", "push-in"),
        ("simplify", "the smaller query"),
    ],
)
def test_a_rewriting_to_a_query_without_matches_is_found(
    rewriting: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(query: object, _: object) -> object:
        to = answer.rpartition(" ")[2] if rewriting == "translations" else "cel"
        return LANGUAGES[to].syntax.parse({"row-pattern": ROWS}.get(to, "Nothing"))

    if rewriting == "simplify":
        smaller = Simplified(PARSED, PARSED, "events", (), None, True)
        monkeypatch.setattr(verdicts, "simplify", lambda *_, **__: smaller)
    else:
        named = {answer.rpartition(" ")[2]: nothing}
        monkeypatch.setattr(type(LANGUAGES["cel"].deciders), rewriting, property(lambda self: named))
    if answer.startswith("an equivalent"):
        proof = equivalent("A", "A")
        monkeypatch.setattr(verdicts, "equivalent", lambda *_, **__: proof)
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any(f"{answer}: WRONG" in outcome for outcome in outcomes)


def test_figures_of_cases_that_follow_stored_ones_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "STORED", tmp_path / "r.json")
    for first, seed, cases in ((0, 1, 5), (5, 1, 10), (5, 1, 5), (5, 2, 5)):
        values.store_figures("values", "cel", first, 5, Counter(matched=5), seed)
        found = robustness.stored(robustness.STORED)["values"]["cel"]
        assert (found["cases"], found["seed"]) == (cases, seed)
        assert found["outcomes"] == {"matched": cases}


@pytest.mark.parametrize("name", LANGUAGES["event-expression"].evaluators)
def test_arguments_without_a_schema_are_in_the_order_of_the_columns(name: str) -> None:
    """Found by the campaign: a stream meant another thing after it was written to a file and read again."""
    S = Stream([Event("b", {"m": True}), Event("a", {"n": 1, "m": False}), Event("a", {"m": False, "n": 1})])
    for stream in (S, Stream.from_table(S.table), Stream(list(Stream.from_table(S.table)))):
        found = [
            [m.at for m in match(query, stream, language="event-expression", evaluator=name)]
            for query in ("a(J, 1)", "a(false, 1)", "a(1)", "b(true)")
        ]
        assert found == [[1, 2], [1, 2], [], [0]]


ENDS = ("n <= timestamp '0001-01-01T00:00:00Z'", "n > timestamp '9999-12-31T23:59:59.999999Z'")


@pytest.mark.parametrize("mask", ["n > 9007199254740992.0", "n < timestamp '0001-01-02T00:00:00Z'", *ENDS])
def test_the_future_of_an_expression_has_values_beyond_its_constants(mask: str) -> None:
    """Found by the campaign: of the first the definition said that no event can come, of the second the automaton."""
    S = Stream([Event("c", {"n": 1})])
    of_each = [
        match(f"prefix(a[{mask}])", S, language="event-expression", evaluator=name)
        for name in ("denotational", "automaton")
    ]
    assert of_each[0] == of_each[1]


@pytest.mark.parametrize("test", ["< timestamp '0001-01-02T00:00:00Z'", "> timestamp '9999-12-31T00:00:00Z'"])
def test_the_first_and_the_last_day_are_among_the_values_of_times(test: str) -> None:
    assert isinstance(equivalent(f"A FILTER A.t {test}", "A UNLESS A"), Different)


# ---- kinds ----
# Constants that Python takes for equal, and that are not: true, 1 and 1.0, in one query and in one stream.

VALUES = (False, 0, 0.0, True, 1, 1.0, 2, 0.5, "a", None)
EVENTS = [Event("A", {} if v is None else {"x": v}) for v in VALUES]
TESTS = [
    *(f"x {sign} {constant}" for sign in ("=", "!=") for constant in ("0", "0.0", "false", "1", "1.0", "true")),
    *("x in {0, 2}", "x in {false, 2}", "x in {1.0, true}", "x in range(0, 1)", "x in range(0.0, 1.0)"),
]
PAIRS = list(product(TESTS, repeat=2))
WRITTEN = {
    "cel": "(A FILTER A[{}]) OR (A FILTER A[{}])",
    "core-cel": "(A AS x FILTER x[{}]) OR (A AS x FILTER x[{}])",
    "event-expression": "A[{}] or A[{}]",
}


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
@pytest.mark.parametrize("language", WRITTEN)
def test_an_automaton_tells_them_apart(language: str, step: int) -> None:
    S = Stream(EVENTS)
    for pair in PAIRS[::step]:
        query = WRITTEN[language].format(*pair)
        assert match(query, S, language=language, evaluator="automaton") == match(
            query, S, language=language, evaluator="denotational"
        ), query


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
def test_the_deciders_tell_them_apart(step: int) -> None:
    for left, right in PAIRS[::step]:
        phi, psi = (f"A FILTER A[{test}]" for test in (left, right))
        same = match(phi, EVENTS, evaluator="denotational") == match(psi, EVENTS, evaluator="denotational")
        assert isinstance(equivalent(phi, psi), Equivalent if same else Different), (left, right)


def test_a_disjunct_is_left_out_only_if_it_is_the_same() -> None:
    phi = parse("(A FILTER A.x = 1) OR (A FILTER A.x = true) OR (A FILTER A.x = 1.0) OR (A FILTER A.x = 1)")
    assert show(disjunctive(phi)) == "(A FILTER A.x = 1) OR (A FILTER A.x = true) OR (A FILTER A.x = 1.0)"


def test_arithmetic_is_not_that_of_the_other_type() -> None:
    n = 2**53
    (event,) = S = Stream([Event("A", {"x": n})])
    for query, found in ((f"A FILTER A[x + 1 = {n + 1}]", 1), (f"A FILTER A[x + 1.0 = {n + 1}]", 0)):
        assert len(match(query, S)) == found
    both = f"(A FILTER A[x + 1.0 = {n + 1}]) AND (A FILTER A[x + 1 = {n + 1}])"
    assert match(both, [event]) == []


# ---- columns ----
# Predicates on columns agree with predicates on events, also where Arrow's arithmetic is not exact.

INTS = [0, 1, -1, 2, 3, 7, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 0.5, 1.0, 3.0, -7.25, 1e-320, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 1e300, -1e300]
FLOATS += [float("nan"), float("inf"), float("-inf")]
STRINGS = ["", "a", "ab", "A", "é", "ß", "z\n", "日本", "\U0001f40d", "\uffff", "'", "a.b"]
TIMES = [
    datetime(1970, 1, 1, tzinfo=UTC),
    datetime(2013, 1, 31, 14, 5, 0, 1, tzinfo=UTC),
    datetime(1, 1, 1, tzinfo=UTC),
]
PATTERNS = ["", "a", "a|ab", ".", ".*", "[a-z]+", "é|日本", "a.b", "(?i)A", r"\pL+", "z", "z\n", "^a$"]

COLUMNS = {
    "i": ("int", INTS), "j": ("int", INTS), "small": ("int", INTS[:6]),
    "f": ("float", FLOATS), "g": ("float", FLOATS),
    "s": ("string", STRINGS), "u": ("string", STRINGS),
    "b": ("bool", [True, False]), "t": ("timestamp", TIMES),
}  # fmt: skip
ATTRIBUTES = st.builds(Attribute, st.sampled_from([*COLUMNS, TYPE, "missing", "void"]))
NUMBERS = st.sampled_from([*INTS, 2**63, -(2**63) - 1, 10**400, *FLOATS]) | st.integers() | st.floats()
COLUMNS_VALUES = NUMBERS | st.sampled_from([*STRINGS, *TIMES, True, False])
TERMS = st.recursive(
    ATTRIBUTES | st.builds(Constant, COLUMNS_VALUES),
    lambda terms: st.builds(Arithmetic, st.sampled_from(get_args(Operator)), terms, terms),
    max_leaves=4,
)
COMPARATORS = st.sampled_from(get_args(Comparator))
SUMS = st.recursive(
    st.builds(Attribute, st.sampled_from(["i", "j", "small", "f", "g"])) | st.builds(Constant, NUMBERS),
    lambda terms: st.builds(Arithmetic, st.sampled_from(get_args(Operator)), terms, terms),
    max_leaves=4,
)
COLUMNS_TESTS = (
    st.builds(Comparison, COMPARATORS, TERMS, TERMS)
    | st.builds(Comparison, COMPARATORS, SUMS, SUMS)
    | st.builds(OneOf, TERMS, st.lists(COLUMNS_VALUES, max_size=3).map(tuple))
    | st.builds(InRange, TERMS, COLUMNS_VALUES, COLUMNS_VALUES)
    | st.builds(Like, TERMS, st.sampled_from(PATTERNS))
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    COLUMNS_TESTS | st.just(Anything()) | st.builds(OfType, st.sampled_from(["T", "H", "none"])),
    lambda inner: st.builds(Not, inner) | st.builds(Both, inner, inner) | st.builds(Either, inner, inner),
    max_leaves=4,
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables of up to six rows, in up to two chunks, with nulls."""
    rows = draw(st.integers(0, 6))
    arrays = {TYPE: pa.array(draw(st.lists(st.sampled_from(["T", "H"]), min_size=rows, max_size=rows)), pa.string())}
    for name, (value_type, domain) in COLUMNS.items():
        cells = st.lists(st.none() | st.sampled_from(domain), min_size=rows, max_size=rows)
        arrays[name] = pa.array(draw(cells), ARROW[value_type])
    arrays["void"] = pa.nulls(rows)
    table = pa.table(arrays)
    cut = draw(st.integers(0, rows))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


def table(name: str, *values: object) -> pa.Table:
    """One column of values, all of them in events of type T."""
    return pa.table({TYPE: ["T"] * len(values), name: pa.array(values, ARROW[COLUMNS[name][0]])})


I, J, F = Attribute("i"), Attribute("j"), Attribute("f")


@pytest.mark.thorough
@settings(max_examples=100, deadline=None)
@given(PREDICATES, tables())
@example(Comparison("=", I, Constant(2.0**53)), table("i", 2**53 + 1, None))
@example(Comparison("<", F, Constant(2**53 + 1)), table("f", 2.0**53, float("nan")))
@example(Comparison(">", Arithmetic("+", I, Constant(1)), I), table("i", 2**63 - 1))
@example(Comparison("<", I, Constant(2**63)), table("i", 2**63 - 1))
@example(Comparison("=", Arithmetic("/", I, Constant(3)), Constant((2**53 + 1) / 3)), table("i", 2**53 + 1))
@example(Not(Comparison("=", Arithmetic("/", F, F), Constant(1.0))), table("f", 0.0, -0.0, 2.0, None))
@example(Comparison(">", Arithmetic("/", F, Constant(0)), Constant(1)), table("f", 2.0, float("nan"), float("inf")))
@example(Comparison("<", Attribute("b"), Constant(True)), table("b", False, True, None))
@example(Comparison("!=", Attribute(TYPE), Constant("H")), table("i", 0))
@example(Comparison("<", Arithmetic("+", I, Constant(0.5)), Constant(2.0**53 + 2)), table("i", 2**53 + 1))
def test_a_mask_is_the_predicate_on_every_row(predicate: Predicate, table: pa.Table) -> None:
    """A row on which the two differ would make the automaton and the definition disagree."""
    result = mask(predicate, table)
    assert isinstance(result, pa.BooleanArray)
    assert result.to_pylist() == [holds(predicate, event) for event in Stream.from_table(table)]


def test_an_ordinary_predicate_is_not_evaluated_row_by_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """Falling back everywhere would pass the property above, and be slow on every file."""

    def refuse(*_: object) -> None:
        raise AssertionError("evaluated row by row")

    monkeypatch.setattr(columns, "_row_by_row", refuse)
    rows = pa.table({TYPE: ["T"] * 3, "i": [1, 2, None], "f": [0.5, float("nan"), 4.0], "s": ["a", "é", ""]})
    predicate = Both(
        Comparison("<", Arithmetic("/", Arithmetic("*", I, Constant(3)), Constant(2)), F),
        Either(InRange(I, 0, 2.5), Either(OneOf(Attribute("s"), ("é", 1)), Like(Attribute("s"), "a+"))),
    )
    assert mask(predicate, rows).to_pylist() == [False] * 3
    assert mask(Not(predicate), rows).to_pylist() == [True] * 3


def test_columns_of_other_arrow_types_fall_back_to_the_definition() -> None:
    """A table that did not come from a reader may hold narrow integers or dictionaries; their meaning is the same."""
    rows = pa.table({TYPE: pa.array(["T", "H"]).dictionary_encode(), "i": pa.array([1, 300], pa.int16())})
    assert mask(Both(OfType("H"), Comparison(">", I, Constant(2))), rows).to_pylist() == [False, True]


# ---- csv rows ----
# Small CSV files in plain Python against Arrow's reader: the same events, or left to Arrow.

CSV_WRITTEN = """
0 -7 007 12 123456789012345678 9223372036854775808 1.5 -0.25 1e3 1e99 .5 5. 0x1F
true False TRUE tRue a x_1 nan inf Infinity NaN null é
2013-01-31 2013-01-31T14:05:00 2013-01-31T14:05:00Z 2013-01-31T14:05:00.25 12:30 12:30:00 2013-13-01
"""
CELLS = ["", "A b", " a", "1 ", "2013-01-31 14:05:00Z", *CSV_WRITTEN.split()]
SCHEMAS = [
    None,
    Schema({"A": {"x": "int", "y": "float"}, "B": {"x": "int"}}),
    Schema({"A": {"x": "string", "y": "bool"}, "B": {"y": "bool", "time": "timestamp"}}),
]


def _source(text: str) -> CsvSource:
    data = text.encode()
    return CsvSource("x.csv", lambda: io.BytesIO(data))


def _by_arrow(source: CsvSource, schema: Schema | None) -> list[Event]:
    known = {"type": "string"} | dict({} if schema is None else schema.attributes)

    def place(row: int) -> str:
        return line_of(source, row)

    table = read_csv(source, known)
    if schema is None:
        return list(Stream.from_table(rows_of_table(table, FieldReading(), source.name, place).table))
    timed, _ = timed_table(table, schema, FieldReading(), source.name, place)
    return list(Stream.from_table(fitted_table(timed, schema, {"type": "type"}, source.name, place), schema))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('type,x\nA,1\nA,"4,5"\n', "x.csv, line 3: cells in quotes need Arrow's reader: pip install"),
        (
            "type,x\nA,1\nA,4o\n",
            "line 3, field 'x': '4o' has no clear type .*: correct it; columns of such values need",
        ),
        ("type,x\nA,4o\n", "line 2, field 'x': '4o' has no clear type: correct it"),
        ("type,x\nA, 1\n", "field 'x': ' 1' has no clear type; the blanks around it belong to the value: remove them"),
        ("type,x\nA, x\n", "field 'x': ' x' has no clear type; the blanks around it belong to the value: remove them"),
        (
            "type,time\nA,noon\n",
            "line 2, field 'time': 'noon' is not a time; a time is ISO 8601, such as 2013-01-31T14:05:00Z",
        ),
        ("type,time\nA,1\nA, 2\n", "line 3, field 'time': ' 2' is not a time; a time is ISO 8601"),
        ('type,x,y\nA,1,"2,\n', "x.csv, line 2: a quotation mark is opened and never closed"),
    ],
)
def test_what_is_left_to_arrow_is_named_with_its_line(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        stream_of_csv(_source(text), None)


def shown(event: Event) -> dict[str, str]:
    """The attributes as text, since NaN is not equal to itself, and 1 is equal to 1.0."""
    return {name: repr(value) for name, value in event.attributes.items()}


CSV_ROWS = st.lists(st.tuples(st.sampled_from(["A", "B", "B", "C", ""]), *[st.sampled_from(CELLS)] * 3), max_size=4)
CSV_COLUMNS = st.lists(st.sampled_from(CELLS), min_size=1, max_size=3)


@pytest.mark.thorough
@given(
    st.one_of(CSV_ROWS, CSV_COLUMNS.map(lambda cells: [("A", cell, "", "") for cell in cells])),
    st.sampled_from(SCHEMAS),
)
@example([("A", "1", "2.5", ""), ("B", "7", "", "60")], SCHEMAS[1])
@example([("A", "", "nan", "")], SCHEMAS[1])
@example([("A", "true", "2013-01-31", "0"), ("A", "False", "2013-02-01", "1")], None)
@settings(max_examples=500, deadline=None, derandomize=True)
def test_what_is_read_in_plain_python_is_what_arrow_reads(rows: list[tuple[str, ...]], schema: Schema | None) -> None:
    source = _source("type,x,y,time\n" + "".join(",".join(row) + "\n" for row in rows))
    try:
        found = stream_of_csv(source, schema)
    except InputError:
        return
    expected = _by_arrow(source, schema)
    assert [(e.type, shown(e)) for e in found] == [(e.type, shown(e)) for e in expected]


def test_what_is_clear_is_not_left_to_arrow() -> None:
    text = "type,id,tmp,hum,at,ok,name\nT,1,45.5,,2013-01-31,true,a b\nH,2,,20,2013-02-01,false,c\n"
    T, H = stream_of_csv(_source(text), None)
    assert (T.type, T.get("id"), T.get("tmp"), T.get("ok"), T.get("name")) == ("T", 1, 45.5, True, "a b")
    assert H.attributes.keys() == {"id", "hum", "at", "ok", "name"}
    assert T.get("at") == datetime(2013, 1, 31, tzinfo=UTC)


# ---- patterns ----
# Regular expressions in plain Python against RE2, which Arrow has.

REGULAR_WRITTEN = r"""
\d \D \s \S \w \W \b \B \A \z \n \. \x41 \x{e9} \101 \07 \Q.a\E \Q \E \pL \q \8 \1 (?i) (?s) (?m) (?i: (?-i) (?:
(?U) (?P<a> (?= a{2} a{1,3} a{2,} {2} {,3} {1001} {3,1} *? +? ?? ** )* )+ [a-c] [^a] [^a-c\n] [\d-] [[:alpha:]]
[[:^digit:]_] [[:foo:]] []a] [^]] [a-] [-a] [c-a] [\w.] [\b]
"""
PIECES = [*"abkK09_-. \n|()[]{}*+?^$\\éſ", *REGULAR_WRITTEN.split()]
REGULAR_PATTERNS = st.lists(st.sampled_from(PIECES), max_size=7).map("".join)
TEXTS = st.text(st.sampled_from("abckKsS\u212aſ019_-. \néÉ"), max_size=6)


def _by_re2(pattern: str, texts: list[str]) -> list[bool] | None:
    try:
        pc.match_substring_regex(pa.scalar(""), pattern)
        return pc.match_substring_regex(pa.array(texts, pa.string()), whole(pattern)).to_pylist()
    except pa.ArrowInvalid:
        return None


@given(REGULAR_PATTERNS, st.lists(TEXTS, min_size=1, max_size=8))
@example("(?i)k+s", ["KS", "\u212aſ", "k"])
@example("(?i)[^k]", ["K", "\u212a", "a"])
@example(r"(?m)^a$\n^b$", ["a\nb", "a\nb\n"])
@example(r".*\b", ["a", "é", ""])
@example("(a|b)*abb", ["aabb", "ab", "babb"])
@example("[[:!:]]", [":", "]"])
@settings(max_examples=500, deadline=None)
def test_a_pattern_matches_what_re2_matches(pattern: str, texts: list[str]) -> None:
    expected = _by_re2(pattern, texts)
    try:
        found = Pattern(pattern)
    except NotCovered:
        return
    except PatternError:
        assert expected is None
        return
    assert expected is not None
    assert [found.matches(text) for text in texts] == expected


@pytest.mark.parametrize("pattern", ["(a*)*b", "(a|a)*b", "(a|aa)+b", "a?" * 60 + "a" * 60 + "b"])
def test_no_pattern_takes_exponential_time(pattern: str) -> None:
    assert not Pattern(pattern).matches("a" * 3000)


@pytest.mark.parametrize("pattern", [r"\pL", "(?P<x>a)", r"\C", "(?i)é", "((a{40}){40}){40}", "(a{1000}){9}"])
def test_what_is_not_covered_is_left_to_re2(pattern: str) -> None:
    with pytest.raises(NotCovered):
        Pattern(pattern)
