"""Predicates on columns agree with predicates on events, also where Arrow's arithmetic is not exact."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from cerify.semantics import columns
from cerify.semantics.arrow_types import ARROW
from cerify.semantics.columns import mask
from cerify.semantics.events import TYPE, Stream
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
VALUES = NUMBERS | st.sampled_from([*STRINGS, *TIMES, True, False])
TERMS = st.recursive(
    ATTRIBUTES | st.builds(Constant, VALUES),
    lambda terms: st.builds(Arithmetic, st.sampled_from(get_args(Operator)), terms, terms),
    max_leaves=4,
)
COMPARATORS = st.sampled_from(get_args(Comparator))
SUMS = st.recursive(
    st.builds(Attribute, st.sampled_from(["i", "j", "small", "f", "g"])) | st.builds(Constant, NUMBERS),
    lambda terms: st.builds(Arithmetic, st.sampled_from(get_args(Operator)), terms, terms),
    max_leaves=4,
)
TESTS = (
    st.builds(Comparison, COMPARATORS, TERMS, TERMS)
    | st.builds(Comparison, COMPARATORS, SUMS, SUMS)
    | st.builds(OneOf, TERMS, st.lists(VALUES, max_size=3).map(tuple))
    | st.builds(InRange, TERMS, VALUES, VALUES)
    | st.builds(Like, TERMS, st.sampled_from(PATTERNS))
)
PREDICATES: st.SearchStrategy[Predicate] = st.recursive(
    TESTS | st.just(Anything()) | st.builds(OfType, st.sampled_from(["T", "H", "none"])),
    lambda inner: st.builds(Not, inner) | st.builds(Both, inner, inner) | st.builds(Either, inner, inner),
    max_leaves=4,
)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    """Tables of up to six rows, in up to two chunks, with nulls."""
    rows = draw(st.integers(0, 6))
    arrays = {TYPE: pa.array(draw(st.lists(st.sampled_from(["T", "H"]), min_size=rows, max_size=rows)), pa.string())}
    for name, (value_type, values) in COLUMNS.items():
        cells = st.lists(st.none() | st.sampled_from(values), min_size=rows, max_size=rows)
        arrays[name] = pa.array(draw(cells), ARROW[value_type])
    arrays["void"] = pa.nulls(rows)
    table = pa.table(arrays)
    cut = draw(st.integers(0, rows))
    return pa.concat_tables([table.slice(0, cut), table.slice(cut)])


def table(name: str, *values: object) -> pa.Table:
    """One column of values, all of them in events of type T."""
    return pa.table({TYPE: ["T"] * len(values), name: pa.array(values, ARROW[COLUMNS[name][0]])})


I, J, F = Attribute("i"), Attribute("j"), Attribute("f")


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
