"""Unary formulas, and the type errors of formulas under a schema."""

from __future__ import annotations

import pytest

from cerify.semantics.cel.check import is_unary, problems, require_typed, type_errors, unused
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Problem
from proofs_tests.support import EXAMPLES

SCHEMA = Schema(
    {
        "T": {"id": "int", "tmp": "float", "room": "string", "on": "bool", "seen": "timestamp"},
        "H": {"id": "int", "hum": "float"},
    }
)


def found(query: str, schema: Schema | None = SCHEMA) -> list[tuple[str, str]]:
    """The rules that the query breaks, each with the text that is underlined."""
    return [(p.rule, query[p.span.start : p.span.end] if p.span else "") for p in problems(parse(query), schema)]


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_papers_examples_are_typed(name: str) -> None:
    """phi1 to phi5 of tods21, section 3, over the schema of Figure 1."""
    phi = parse(EXAMPLES[name][0])
    assert problems(phi, Schema({"T": {"id": "int", "tmp": "int"}, "H": {"id": "int", "hum": "int"}})) == []


@pytest.mark.parametrize("name", EXAMPLES)
def test_of_the_papers_examples_phi5_alone_is_not_unary(name: str) -> None:
    """As the text after Definition 4.1 says."""
    assert is_unary(parse(EXAMPLES[name][0])) == (name != "phi5")


@pytest.mark.parametrize(
    ("query", "unary"),
    [
        ("A FILTER A[x > 1 and not y = x]", True),
        ("A FILTER (A.x > 1 OR A.y = 2)", True),
        ("(A ; B) FILTER A.x > 1 AND A.x = B.x", False),
        ("(A ; B) FILTER A.x > 1 OR A.x = A.y", False),
        ("(A ; B) FILTER near(A, B)", False),
        ("(A ; (B FILTER near(B)))+", False),
        ("A ; (B WITHIN 3 EVENTS)", False),
        ("A PARTITION BY [x]", False),
        ("MAX(A ; B)", True),
    ],
)
def test_unary_is_decided_on_every_filter(query: str, unary: bool) -> None:
    """One correlated atom anywhere is enough to leave what automata can carry."""
    assert is_unary(parse(query)) == unary


@pytest.mark.parametrize(
    ("query", "rule", "place"),
    [
        ("T ; X", "event_type", "X"),
        ("T FILTER T.hum > 1", "attribute", "T.hum > 1"),
        ("T FILTER T[tmp > 1 and hum > 1]", "attribute", "T[tmp > 1 and hum > 1]"),
        ("(T ; H) FILTER T.tmp = H.tmp", "attribute", "T.tmp = H.tmp"),
        ("(T OR H) IN A FILTER A.tmp > 1", "attribute", "A.tmp > 1"),
        ("(T ; H) PARTITION BY [tmp]", "attribute", "(T ; H) PARTITION BY [tmp]"),
        ("H WITHIN 5 [tmp]", "attribute", "H WITHIN 5 [tmp]"),
        ("T WITHIN 5 [room]", "arithmetic", "T WITHIN 5 [room]"),
        ("T FILTER T.tmp = 'hot'", "kind", "T.tmp = 'hot'"),
        ("T FILTER T.on = 1", "kind", "T.on = 1"),
        ("T FILTER T[tmp < seen]", "kind", "T[tmp < seen]"),
        ("T FILTER T.room in {'a', 1, 2}", "kind", "T.room in {'a', 1, 2}"),
        ("T FILTER T.tmp in range(0, 'x')", "kind", "T.tmp in range(0, 'x')"),
        ("T FILTER T.seen > '2013-01-01'", "kind", "T.seen > '2013-01-01'"),
        ("(T ; H) FILTER T.room = H.id", "kind", "T.room = H.id"),
        ("T FILTER T.room + 1 > 2", "arithmetic", "T.room + 1 > 2"),
        ("T FILTER T.tmp > 2 * (1 - T.on)", "arithmetic", "T.tmp > 2 * (1 - T.on)"),
        ("T FILTER T.on > false", "order", "T.on > false"),
        ("T FILTER T.on in range(false, true)", "order", "T.on in range(false, true)"),
        ("T FILTER T.tmp like '4.*'", "like", "T.tmp like '4.*'"),
        ("T FILTER T[not (id = 1 or (tmp like 'x'))]", "like", "T[not (id = 1 or (tmp like 'x'))]"),
        ("T ; (H FILTER H.hum = 'x')+", "kind", "H.hum = 'x'"),
    ],
)
def test_a_type_error_is_found_and_underlined(query: str, rule: str, place: str) -> None:
    """A query with one of these would silently match nothing."""
    assert found(query) == [(rule, place)]
    assert found(query, None) == []
    with pytest.raises(IllFormed) as error:
        require_typed(parse(query), SCHEMA)
    assert error.value.span is not None
    assert query[error.value.span.start : error.value.span.end] == place


@pytest.mark.parametrize(
    "query",
    [
        "T FILTER T.id < 2.5",
        "T FILTER T[tmp / 2 + id > -1 and on != true and room like 'x' and seen > timestamp '2013-01-01']",
        "T FILTER T.time > 3",
        "T FILTER T.time > timestamp '2013-01-01'",
        "(T OR H) IN A FILTER A.id = 1",
        "(T ; H) PARTITION BY [id] WITHIN 3 [time]",
        "PROJECT[A]((T IN A ; H) IN B) IN C FILTER C.tmp > 1",
        "((T OR H) IN A AND T IN A) FILTER A.tmp > 1",
        "(T IN A ; H IN B) FILTER A.tmp > 1 AND B.hum > 1",
        "(H IN A) UNLESS (T IN A) FILTER A.hum > 1",
    ],
)
def test_no_type_error_where_there_is_none(query: str) -> None:
    """What a variable can hold follows the formula: projected away, intersected and guarded events do not count."""
    assert found(query) == []


def test_each_event_type_that_a_variable_can_hold_is_looked_at() -> None:
    """The message says which of them lacks the attribute."""
    assert type_errors(parse("((T ; H) IN A ; H IN A) IN B FILTER B.seen > B.time"), SCHEMA)[0].message == (
        "H, which B may hold, has no attribute 'seen'; it has id, hum"
    )


def test_a_time_in_the_schema_has_a_kind() -> None:
    schema = Schema({"T": {"time": "timestamp"}})
    assert found("T FILTER T.time > 3", schema) == [("kind", "T.time > 3")]


@pytest.mark.parametrize(
    ("query", "place"),
    [
        ("T FILTER H.hum > 1", "H.hum > 1"),
        ("(T ; H) FILTER A[id = 1]", "A[id = 1]"),
        ("PROJECT[T](T ; H) FILTER H.id = T.id", "H.id = T.id"),
        ("T ; (H FILTER near(T, H))", "near(T, H)"),
        ("PROJECT[A](T)", "PROJECT[A](T)"),
        ("(PROJECT[](T) IN A) FILTER A.id = 1", "A.id = 1"),
        ("(T AND H) FILTER H.id = 1", "H.id = 1"),
    ],
)
def test_an_unbound_variable_is_a_problem_but_no_type_error(query: str, place: str) -> None:
    """The filter is vacuously true, which is hardly what was meant."""
    assert found(query) == found(query, None) == [("unbound", place)]
    assert type_errors(parse(query), SCHEMA) == []
    require_typed(parse(query), SCHEMA)


def test_problems_carry_a_sentence() -> None:
    [problem] = type_errors(parse("T FILTER T.tmp = 'hot'"), SCHEMA)
    assert isinstance(problem, Problem)
    assert problem.message == "tmp is a number and 'hot' a string, so they cannot be compared"


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("T IN X ; H", []),  # it is in the valuations
        ("PROJECT[T](T IN X ; H)", ["T IN X"]),
        ("PROJECT[X](T IN X ; H IN Y)", ["H IN Y"]),
        ("PROJECT[T]((T IN X ; H) FILTER X.tmp > 3)", []),
        ("PROJECT[T](T IN X ; H) FILTER T.tmp > 3", ["T IN X"]),
        ("PROJECT[T]((T IN X ; H IN Y ; H IN Z) FILTER X.id = Y.id AND near(Z))", []),
        ("PROJECT[X](PROJECT[X, Y](T IN X ; H IN Y))", ["H IN Y"]),
        ("(T IN X ; H) IN X", ["T IN X"]),  # bound anew
        ("((T IN X ; H) FILTER X.tmp > 3) IN X", []),
        ("(T IN X FILTER X.tmp > 3) UNLESS (H IN Y)", ["H IN Y"]),
        ("T UNLESS (H IN Y FILTER Y.hum > 3)", []),
        ("PROJECT[T]((T IN X) AND (T IN X))", []),  # both have to bind X
        ("PROJECT[T](NXT(T IN X+ ; H) WITHIN 5 EVENTS)", ["T IN X"]),
    ],
)
def test_a_variable_that_nothing_uses(query: str, places: list[str]) -> None:
    found = [problem.span for problem in unused(parse(query))]
    assert [query[span.start : span.end] for span in found if span is not None] == places
