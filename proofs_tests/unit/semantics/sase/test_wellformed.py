"""What is wrong with a query before any event is seen: each rule, and the place it is told for."""

from random import Random

import pytest

from cerify.equivalence.generate.sase import PROFILES, query
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import ObservedSchema, Schema
from cerify.semantics.sase.check import problems, require_typed, require_wellformed
from cerify.semantics.sase.parse import parse
from proofs_tests.unit.semantics.sase.printed import Q4_AND_Q5, QUERIES

AB = "PATTERN SEQ(A a, B+ b[])"


def said(text: str, schema: Schema | None = None) -> list[tuple[str, str]]:
    """The rules broken, and where."""
    found = problems(parse(text), schema)
    return [(p.rule, "" if p.span is None else text[p.span.start : p.span.end]) for p in found]


@pytest.mark.parametrize("name", [name for name in QUERIES if name != "sase07.q5"])
def test_the_printed_queries_are_well_formed(name: str) -> None:
    require_wellformed(parse(QUERIES[name]))
    require_wellformed(parse(Q4_AND_Q5))


@pytest.mark.parametrize(
    "condition", ["b[i].x > b[i-1].x or b[i].x > 3", "not b[i].x = a.x", "sum(b[].x) > b[b.LEN].x"]
)
def test_good_formulas(condition: str) -> None:
    assert said(f"{AB} WHERE {condition} RETURN a.x") == []


@pytest.mark.parametrize(
    ("condition", "rule"),
    [
        ("b[i].x > b[i-1].x or a.x > 3", "good_formula"),  # the last identifier is in one of two
        ("b[i].x > 1 or b[1].x > 3", "good_formula"),
        ("b[1].x > 1 or b[b.LEN].x > 3", "good_formula"),
        ("b[i].x > 1 or (b[i].x = 3 and a.x = 2)", "good_formula"),  # not in CNF
        ("not (b[i].x = 1 or b[i].y = 2)", "good_formula"),
        ("1 = 2", "good_formula"),
        ("b[i].x > avg(b[].x)", "reference"),  # an aggregate of all may not stand on a take edge
        ("b[i].x > b[b.LEN].x", "reference"),
        ("avg(b[..i-1].x) < sum(b[].x)", "reference"),
        ("b.x = 1", "reference"),
        ("a[1].x = 1", "reference"),
        ("max(a[].x) = 1", "reference"),
        ("c.x = 1", "unbound"),
    ],
)
def test_conditions_that_are_not_good(condition: str, rule: str) -> None:
    assert said(f"{AB} WHERE {condition} RETURN a.x") == [(rule, condition)]


def test_a_condition_that_is_not_good_is_shown() -> None:
    with pytest.raises(IllFormed, match="last identifier, that of b") as error:
        require_wellformed(parse(f"{AB} WHERE b[i].x > 1 or a.x > 3 RETURN a.x"))
    assert "split the condition, or move it to HAVING" in error.value.message


def test_no_i_once_the_array_is_complete() -> None:
    assert said("PATTERN SEQ(B+ b[], A a) WHERE b[i].x > a.x RETURN a.x") == [("reference", "b[i].x > a.x")]
    assert said(f"{AB} HAVING b[i].x > 1 RETURN a.x") == [("reference", "HAVING b[i].x > 1")]
    assert said(f"{AB} RETURN b[i].(x, y)") == [("reference", "b[i].(x, y)")]
    assert said(f"{AB} HAVING b[1].x > 1 or a.x = 2 RETURN a.x") == []  # HAVING takes any formula


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("PATTERN SEQ(B+ b[], A a) WHERE b[i].x > a.x RETURN a.x", "there is no i when a is selected"),
        ("PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > avg(b[].x) RETURN a.x", "there is no i when all of b is there"),
        ("PATTERN SEQ(A a, C c, ~B b) RETURN a.x", "~B b at the end of the pattern"),
    ],
)
def test_the_message_names_what_is_meant(text: str, message: str) -> None:
    (problem,) = problems(parse(text))
    assert message in problem.message


def test_what_is_returned() -> None:
    assert said(f"{AB} RETURN a[].x") == [("reference", "a[].x")]
    assert said(f"{AB} RETURN b.(x, y)") == [("reference", "b.(x, y)")]
    assert said(f"{AB} RETURN c[].x") == [("unbound", "c[].x")]
    assert said(f"{AB} RETURN a.x AS y, b[].y AS y") == [("twice", "RETURN a.x AS y, b[].y AS y")]
    assert said(f"{AB} RETURN a.x, b[].x, a.y AS x") == []  # those without AS have other names then


def test_declarations_and_negation() -> None:
    assert said("PATTERN SEQ(A a, B a) RETURN 1") == [("twice", "B a")]
    assert said("PATTERN SEQ(~A a) RETURN 1") == [("negation", "~A a")]
    assert said("PATTERN SEQ(A a, ~B b) RETURN a.x") == [("negation", "~B b")]
    assert said("PATTERN SEQ(A a, C c, ~B b) RETURN a.x") == [("negation", "~B b")]
    assert said("PATTERN SEQ(A a, ~B b) WITHIN 1 hour RETURN a.x") == []
    assert said("PATTERN SEQ(A a, ~B b) WITHIN 0 hours RETURN a.x") == [("window", "WITHIN 0 hours")]
    assert said("PATTERN SEQ(~B b, A a) WHERE b.x = a.x RETURN a.x") == []
    assert said("PATTERN SEQ(~B b, A a) RETURN a.x, b.x") == [("unbound", "b.x")]
    two = "PATTERN SEQ(~B b, ~C c, A a) WHERE b.x = c.x RETURN a.x"
    assert said(two) == [("good_formula", "b.x = c.x")]


def test_strategies() -> None:
    def rules(where: str) -> list[str]:
        return [rule for rule, _ in said(f"PATTERN SEQ(A a, B+ b[], ~C c, A d) WHERE {where} RETURN a.x")]

    assert rules("strict_contiguity(a, b[]!, d) { }") == []
    assert rules("strict_contiguity(a, c) { } skip_till_any_match(b[], d) { b[i].x = 1 and c.x = 1 }") == []
    assert rules("strict_contiguity(a, b[]) { }") == ["strategy"]
    assert rules("strict_contiguity(a, b[], d, a) { }") == ["strategy"]
    assert rules("strict_contiguity(a!, b[], d) { }") == ["strategy"]
    assert rules("strict_contiguity(a, b[], c!, d) { }") == ["strategy"]
    assert rules("strict_contiguity(a) { b[i].x = 1 } skip_till_any_match(b[], d) { }") == ["strategy"]
    assert rules("strict_contiguity(a, b[], d, e) { }") == ["unbound"]
    assert rules("partition_contiguity(a, b[], d) { a.x = 1 }") == ["partition"]
    assert rules("partition_contiguity(a, b[], d) { [x] }") == []
    assert rules("partition_contiguity(a, b[], d) { _( b[i].x = b[i-1].x )_ }") == []
    assert rules("partition_contiguity(a, b[], d) { _( b[i].x = sum(b[..i-1].x) )_ }") == ["partition"]


def test_streams() -> None:
    one = "PATTERN SEQ(A a) RETURN T(a.x) IN STREAM s"
    other = "FROM s PATTERN SEQ(T a) RETURN T(a.x) IN STREAM t"
    assert said(f"{one}; {other}") == []
    assert said(f"{other}; {one}") == []  # in any order
    assert said(other) == [("stream", other)]
    assert said(f"FROM InputStream {one}") == []
    assert said(f"{one}; {one}") == [("twice", one)]
    assert [rule for rule, _ in said(f"{other}; FROM t {one}")] == ["stream"]
    assert "t reads s reads t" in problems(parse(f"{other}; FROM t {one}"))[0].message
    assert [rule for rule, _ in said(f"{one} UNION {other}")] == ["twice", "stream", "stream"]
    series = "PATTERN SEQ(A+ a[]) RETURN T(a[].x, a[1].y) IN STREAM s"
    assert said(f"{series}; {other}") == [("result", "a[].x")]
    assert said(series) == []


SCHEMA = Schema({"A": {"x": "int", "s": "string", "b": "bool"}, "B": {"x": "int", "y": "float"}})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PATTERN SEQ(A a, C c) RETURN a.x", [("event_type", "C c")]),
        (f"{AB} WHERE [s] RETURN a.x", [("attribute", "[s]")]),
        (f"{AB} WHERE b[1].z = 1 RETURN a.x", [("attribute", "b[1].z = 1")]),
        (f"{AB} WHERE b[1].time = 1 RETURN a.time", []),
        (f"{AB} WHERE b[1].x = 's' RETURN a.x", [("kind", "b[1].x = 's'")]),
        (f"{AB} WHERE count(b[]) = 's' RETURN a.x", [("kind", "count(b[]) = 's'")]),
        (f"{AB} WHERE avg(b[].y) > a.x RETURN a.x", []),
        (f"{AB} HAVING a.b > true RETURN a.x", [("order", "HAVING a.b > true")]),
        (f"{AB} RETURN a.x + a.s", [("arithmetic", "a.x + a.s")]),
        (f"{AB} RETURN b[].s, b[1].(x, s)", [("attribute", "b[].s"), ("attribute", "b[1].(x, s)")]),
        ("PATTERN SEQ(A+ a[]) RETURN sum(a[].s)", [("arithmetic", "sum(a[].s)")]),
        ("PATTERN SEQ(A+ a[]) RETURN avg(a[].b)", [("arithmetic", "avg(a[].b)")]),
        ("PATTERN SEQ(A+ a[]) RETURN highest(2, a[].b)", [("order", "highest(2, a[].b)")]),
        ("PATTERN SEQ(A+ a[]) RETURN lowest(2, a[].b)", [("order", "lowest(2, a[].b)")]),
        ("PATTERN SEQ(A+ a[]) RETURN min(a[].b)", [("order", "min(a[].b)")]),
        ("PATTERN SEQ(A+ a[]) RETURN max(a[].b), min(a[].s), max(a[].x)", [("order", "max(a[].b)")]),
    ],
)
def test_type_errors(text: str, expected: list[tuple[str, str]]) -> None:
    assert said(text, SCHEMA) == expected
    assert said(text) == []
    if expected:
        with pytest.raises(IllFormed):
            require_typed(parse(text), SCHEMA)


def test_the_time_of_an_event_is_known_where_the_schema_is_not_of_events_that_were_seen() -> None:
    lacking = parse("PATTERN SEQ(A a) WHERE a.z = 1 RETURN a.x")
    assert [p.message for p in problems(lacking, SCHEMA)] == [
        "A, which a may hold, has no attribute 'z'; it has x, s, b"
    ]
    seen = ObservedSchema({"A": {"x": "int"}})
    assert [p.rule for p in problems(parse("PATTERN SEQ(A a) WHERE a.time = 1 RETURN a.x"), seen)] == ["attribute"]


def test_what_a_query_makes_is_known_to_those_that_read_it() -> None:
    one = "PATTERN SEQ(A a, B+ b[]) RETURN T(a.s, count(b[]) AS n, avg(b[].x) AS m) IN STREAM s; FROM s PATTERN SEQ"
    assert said(f"{one}(T t) RETURN t.s, t.n") == []
    assert said(f"{one}(T t) RETURN t.x") == [("attribute", "t.x")]  # even without a schema
    assert said(f"{one}(A t) RETURN t.s") == [("event_type", "A t")]
    assert said(f"{one}(T t) WHERE t.n = 's' RETURN t.s", SCHEMA) == [("kind", "t.n = 's'")]
    assert said(f"{one}(T t) WHERE t.n = t.m RETURN t.s", SCHEMA) == []


@pytest.mark.parametrize("name", PROFILES)
def test_random_queries_are_well_formed_and_typed(name: str) -> None:
    for n in range(150):
        assert problems(query(Random(n), PROFILES[name], 8), PROFILES[name].schema) == []


@pytest.mark.parametrize("series", ["a[].x", "a[].(x, y)"])
def test_one_event_has_no_series(series: str) -> None:
    assert said(f"{AB} RETURN {series}") == [("reference", series)]
