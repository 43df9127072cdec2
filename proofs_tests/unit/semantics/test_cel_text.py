"""CEL as text: what is parsed and printed, and what is well-formed."""

from __future__ import annotations

import pytest

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star, is_unary, problems, require_typed, type_errors, unused
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant, Problem
from proofs_tests.support import EXAMPLES

# ---- parse ----
# From text to tree and back, and what is said about text that is no formula.

A, B, C = cel.EventAtom("A"), cel.EventAtom("B"), cel.EventAtom("C")


@pytest.mark.parametrize(
    ("text", "phi"),
    [
        ("A ; B ; C", cel.Seq(cel.Seq(A, B), C)),
        ("A ; (B ; C)", cel.Seq(A, cel.Seq(B, C))),
        ("A ; B+", cel.Seq(A, cel.Plus(B))),
        ("A IN X:+", cel.ContiguousPlus(cel.In(A, "X"))),
        ("A⊕ AS X", cel.In(cel.ContiguousPlus(A), "X")),
        ("A[x > 1]+ ; B", cel.Seq(cel.Plus(parse("A FILTER A[x > 1]")), B)),
        ("A[x > 1] IN X", cel.In(parse("A FILTER A.x > 1"), "X")),
        ("A ; B OR C", cel.Or(cel.Seq(A, B), C)),
        (
            "A OR B FILTER A.x > 1",
            cel.Filter(cel.Or(A, B), cel.Every("A", Comparison(">", Attribute("x"), Constant(1)))),
        ),
        ("A UNLESS B UNLESS C", cel.Unless(cel.Unless(A, B), C)),
        ("π[A, B](A)", cel.Project(frozenset({"A", "B"}), A)),
        ("PROJECT[](A)", cel.Project(frozenset(), A)),
        ("NEXT(A)", cel.Next(A)),
        ("A WITHIN 4 hours", cel.Within(A, cel.TimeWindow(4, "hour"))),
        ("A WITHIN 10 EVENTS PARTITION BY [id]", cel.PartitionBy(cel.Within(A, cel.EventWindow(10)), "id")),
        ("A WITHIN 10000 [stock_time]", cel.Within(A, cel.AttributeWindow(10000, "stock_time"))),
        (
            "A FILTER A.x + 1 > B.x",
            cel.Filter(
                A,
                cel.Correlated(Comparison(">", Arithmetic("+", Attribute("x", "A"), Constant(1)), Attribute("x", "B"))),
            ),
        ),
    ],
)
def test_trees(text: str, phi: cel.Formula) -> None:
    assert parse(text) == phi
    assert parse(show(phi)) == phi


@pytest.mark.parametrize(
    "text",
    [
        "A FILTER A[x > 1 and (y = 2 or not z like 'a.*')] OR A.x in {1, -2, 3.5} AND near(A, B)",
        "A FILTER (A.x > 1 OR A.y > 2) AND A.t >= timestamp '2013-01-31T14:05:00Z'",
        "A FILTER A.x in range(-1, 1e3) AND A[x = y] AND A[(x + 1) * 2 - -3 > y / (z - 1)]",
        "(A FILTER A.name = 'it''s' AND A.ok = true) ; (B : C) ; (A OR B)",
        "A FILTER A.x < 1 AND (A.x < 2 AND (A.x < 3 OR (A.x < 4 OR A.x < 5)))",
        "A[x in cidr('10.0.0.0/9') and cidr = 1] : B[not y = y]:+",
        "A[x IS NULL or y + 1 Is Not Null] : B[not (x is not null and not x is null)]",
        "STRICT(LAST(MAX(START(A ALL B)))) UNLESS (A AND B)",
        "A FILTER A.range > 1 AND A.like like 'x' AND A[timestamp > 3 and events = 1 and in in {1}]",
    ],
)
def test_show_parses_back(text: str) -> None:
    phi = parse(text)
    assert parse(show(phi)) == phi
    assert show(parse(show(phi))) == show(phi)


@pytest.mark.parametrize(
    ("text", "underlined", "says"),
    [
        ("A ; B : C", ":", "mixed"),
        ("A OR B AND C", "AND", "parentheses"),
        ("A ;", "", "ends too early"),
        ("A ; ) B", ")", "not expected"),
        ("A ; B)", ")", "')' is not expected here; leave it out"),
        ("A B", "B", "';' or ':' is missing before 'B'; if it is one name with a blank, write \"A B\""),
        (
            "A FILTER A.order total > 5",
            "total",
            "'total' is not expected here; expected *, +, -, /, a comparison (< <= > >= = !=), in or like; "
            'a name with a blank, dash or dot stands in double quotes: "order total"',
        ),
        (
            "A FILTER A.'order total' > 5",
            "'order total'",
            "\"'order total'\" is not expected here; expected a name; "
            'a name with a blank, dash or dot stands in double quotes: "order total"',
        ),
        *(
            (
                f"{quote}page-view{quote} ; check-out",
                quote or "-",
                'a name with a blank, dash or dot stands in double quotes: "page-view"',
            )
            for quote in ("", "`")
        ),
        (
            "A FILTER A.x AND A.y > 5",
            "AND",
            "'AND' is not expected here; expected *, +, -, /, a comparison (< <= > >= = !=), in or like",
        ),
        ("A FILTER A.x > 3 A.y = 1", "A", "'AND' is missing before 'A'"),
        ("A FILTER A[x > 3 y = 1]", "y", "'and' is missing before 'y'"),
        ("A FILTER A.x > 3 )", ")", "leave it out"),
        ("FILTER A.x > 3", "FILTER", "the formula or condition before FILTER is missing"),
        ("A FILTER AND A.x > 3", "AND", "the formula or condition before AND is missing"),
        ("A FILTER A.x > 'open", "'", "does not end"),
        ("A FILTER x > 3", "x > 3", "whose attribute"),
        ("A FILTER 3 > 2", "3 > 2", "must compare an attribute"),
        ("A FILTER A[B.x > 3]", "A[B.x > 3]", "stands alone"),
        ("A FILTER A.x like '('", "'('", "regular expression"),
        ("A FILTER A.x > 1e999", "1e999", "too large"),
        ("A FILTER A.t > timestamp 'noon'", "timestamp 'noon'", "ISO 8601"),
        ("A FILTER A.t > timestamp '9999-12-31T23:59-23:59'", "timestamp '9999-12-31T23:59-23:59'", "years 1 to 9999"),
        ("A WITHIN 0 EVENTS", "0", "at least 1"),
        ("A FILTER A.type = 'B'", "type", "not an attribute"),
        ("A FILTER A[x = 1 and type = 'B']", "type", "not an attribute"),
        ("A WITHIN 3 [type]", "type", "not an attribute"),
        ("A PARTITION BY [type]", "type", "not an attribute"),
        ("A FILTER NOT A.x > 3", "A", "not expected"),
    ],
)
def test_errors_point_at_the_place(text: str, underlined: str, says: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == underlined
    assert says in caught.value.message


AFTER_A = "+, :, :+, :{, ;, ALL, AND, AS, FILTER, IN, OR, PARTITION, PER, UNLESS, UNTIL, WITHIN, ["


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A, B", f"{AFTER_A}, {{, ~+ or the end"),
        ("A | B", f"{AFTER_A}, {{, ~+ or the end"),
        ("(A | B)", f"), {AFTER_A}, {{ or ~+"),
        ("; A", "(, PROJECT, START, STRICT, NXT, LAST, MAX or a name"),
        ("!A", "(, PROJECT, START, STRICT, NXT, LAST, MAX or a name"),
    ],
)
def test_what_is_expected_is_what_may_stand_there(text: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message.partition("; expected ")[2] == expected


@pytest.mark.slow
def test_a_formula_of_the_greatest_depth_is_carried_and_a_deeper_one_refused() -> None:
    deep = "START(" * 199 + "A" + ")" * 199
    assert parse(show(parse(deep))) == parse(deep)
    with pytest.raises(BudgetExceeded):
        parse("START(" * 5000 + "A" + ")" * 5000)


def test_a_described_error_shows_the_line() -> None:
    with pytest.raises(ParseError) as caught:
        parse("A ;\nB : C")
    assert caught.value.described().endswith("B : C\n  ^")


@pytest.mark.parametrize("pattern", [")(", "a)(b", "(", "a)"])
def test_a_pattern_is_one_on_its_own(pattern: str) -> None:
    """In the parentheses that match it as a whole `)(` would be one."""
    with pytest.raises(ParseError):
        parse(f"A FILTER A.s like '{pattern}'")


@pytest.mark.parametrize("text", ["A FILTER A.s like '\udcaf%'", "A FILTER A.s = '\udcaf'", "A[s = '\udcaf'] IN X"])
def test_half_of_a_surrogate_pair_is_an_error_at_its_place(text: str) -> None:
    """Found by the fuzzer: the first was a UnicodeEncodeError, the second was taken for a query."""
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert raised.value.span is not None
    assert text[raised.value.span.start : raised.value.span.end] == "\udcaf"
    str(raised.value).encode()


# ---- wellformed ----
# Unary formulas, and the type errors of formulas under a schema.

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


# ---- fragment ----
# Fragments of CEL, by the operators that a formula is written with.


@pytest.mark.parametrize(
    ("query", "operators"),
    [
        ("(A IN X ; B+) OR C FILTER X.x = C.x", set()),
        ("A : (B OR C)", {":"}),
        ("STRICT(A ; B)+", {"STRICT"}),
        ("(A : B):+ ; C", {":", ":+"}),
        ("PROJECT[A](START(A AND (B ALL C))) WITHIN 3 EVENTS", {"PROJECT", "START", "AND", "ALL", "WITHIN"}),
    ],
)
def test_the_operators_beyond_the_star_fragment(query: str, operators: set[str]) -> None:
    assert beyond_star(parse(query)) == operators
