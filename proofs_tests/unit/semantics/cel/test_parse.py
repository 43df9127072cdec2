"""From text to tree and back, and what is said about text that is no formula."""

import pytest

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, ParseError
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant

A, B, C = cel.EventAtom("A"), cel.EventAtom("B"), cel.EventAtom("C")
X_ABOVE_1 = Comparison(">", Attribute("x"), Constant(1))


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
        ("A B", "B", "';' or ':' is missing before 'B'"),
        ("A FILTER A.x > 3 A.y = 1", "A", "'AND' is missing before 'A'"),
        ("A FILTER A[x > 3 y = 1]", "y", "'and' is missing before 'y'"),
        ("A FILTER A.x > 3 )", ")", "leave it out"),
        ("FILTER A.x > 3", "FILTER", "the formula or condition before FILTER is missing"),
        ("A FILTER AND A.x > 3", "AND", "the formula or condition before AND is missing"),
        ("A FILTER A.x > 'open", "'", "does not end"),
        ("A FILTER x > 3", "x > 3", "whose attribute"),
        ("A FILTER 3 > 2", "3 > 2", "compares an attribute"),
        ("A FILTER A[B.x > 3]", "A[B.x > 3]", "stands alone"),
        ("A FILTER A.x like '('", "'('", "regular expression"),
        ("A FILTER A.x > 1e999", "1e999", "too large"),
        ("A FILTER A.t > timestamp 'noon'", "timestamp 'noon'", "ISO 8601"),
        ("A FILTER A.t > timestamp '9999-12-31T23:59-23:59'", "timestamp '9999-12-31T23:59-23:59'", "years 1 to 9999"),
        ("A WITHIN 0 EVENTS", "0", "at least 1"),
        ("A FILTER A.type = 'B'", "type", "no attribute"),
        ("A FILTER A[x = 1 and type = 'B']", "type", "no attribute"),
        ("A WITHIN 3 [type]", "type", "no attribute"),
        ("A PARTITION BY [type]", "type", "no attribute"),
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


AFTER_A = "+, :, :+, :{, ;, ALL, AND, AS, FILTER, IN, OR, PARTITION, PER, UNLESS"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A, B", f"{AFTER_A}, WITHIN, [, {{ or the end"),
        ("A | B", f"{AFTER_A}, WITHIN, [, {{ or the end"),
        ("(A | B)", f"), {AFTER_A}, WITHIN, [ or {{"),
        ("; A", "(, PROJECT, START, STRICT, NXT, LAST, MAX or a name"),
        ("!A", "(, PROJECT, START, STRICT, NXT, LAST, MAX or a name"),
    ],
)
def test_what_is_expected_is_what_may_stand_there(text: str, expected: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    assert caught.value.message.partition("; expected ")[2] == expected


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
