"""From text to tree and back, and what is said about text that is no formula."""

import pytest

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, ParseError
from cerify.semantics.predicates import Arithmetic, Attribute, Comparison, Constant
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES
from proofs_tests.unit.semantics.core_cel.formulas import cases

A, B, C = (core.CoreEventAtom(name.upper(), name) for name in "abc")
HOT = core.Unary("a", Comparison(">", Attribute("tmp"), Constant(40)))
SAME = core.CoreCorrelated(Comparison("=", Attribute("id", "a"), Attribute("id", "b")))


@pytest.mark.parametrize(
    ("text", "phi"),
    [
        ("A AS a", A),
        ("A AS a ; B AS b ; C AS c", core.CoreSeq(core.CoreSeq(A, B), C)),
        ("A AS a ; (B AS b ; C AS c)", core.CoreSeq(A, core.CoreSeq(B, C))),
        ("A AS a ; B AS b+", core.CoreSeq(A, core.CorePlus(B))),
        ("A AS a ; B AS b OR C AS c", core.CoreOr(core.CoreSeq(A, B), C)),
        ("A AS a OR B AS b OR C AS c", core.CoreOr(core.CoreOr(A, B), C)),
        ("A AS a ∨ B AS b FILTER a.tmp > 40", core.CoreFilter(core.CoreOr(A, B), HOT)),
        ("A AS a FILTER a[tmp > 40]", core.CoreFilter(A, HOT)),
        ("A AS a ; B AS b FILTER a.id = b.id", core.CoreFilter(core.CoreSeq(A, B), SAME)),
        ("A AS a FILTER a.tmp > 40 AND a.id = b.id", core.CoreFilter(A, core.CoreConjunction(HOT, SAME))),
        ("A AS a FILTER a.tmp > 40 ∧ a.id = b.id", core.CoreFilter(A, core.CoreConjunction(HOT, SAME))),
        ("A AS a FILTER a.tmp > 40 FILTER a.id = b.id", core.CoreFilter(core.CoreFilter(A, HOT), SAME)),
        ("NEXT(A AS a)", core.CoreNext(A)),
        ("STRICT(NXT(LAST(MAX(A AS a))))", core.CoreStrict(core.CoreNext(core.CoreLast(core.CoreMax(A))))),
        (
            "A AS a FILTER a.x + 1 > b.x",
            core.CoreFilter(
                A,
                core.CoreCorrelated(
                    Comparison(">", Arithmetic("+", Attribute("x", "a"), Constant(1)), Attribute("x", "b"))
                ),
            ),
        ),
    ],
)
def test_trees(text: str, phi: core.Formula) -> None:
    assert parse(text) == phi
    assert parse(show(phi)) == phi


def test_a_comparison_about_one_variable_is_unary_however_often_it_is_mentioned() -> None:
    assert parse("A AS a FILTER a.x = a.y") == parse("A AS a FILTER a[x = y]")


@pytest.mark.parametrize(
    "text",
    [
        *(query for query, _ in EXAMPLES.values()),
        "A AS a FILTER a[x > 1 and (y = 2 or not z like 'a.*')] OR a.x in {1, -2, 3.5} AND a.x < b.y",
        "A AS a FILTER (a.x > 1 OR a.y > 2) AND a.t >= timestamp '2013-01-31T14:05:00Z'",
        "A AS a FILTER a.x in range(-1, 1e3) AND a[x = y] AND a[1 = 1] AND (a.x + 1) * 2 - -3 > b.y / (b.z - 1)",
        "(A AS a FILTER a.name = 'it''s' AND a.ok = true) ; (B AS b ; C AS c)+ ; (A AS d OR B AS e)",
        "A AS a FILTER a.x < 1 AND (a.x < 2 AND (a.x < 3 OR (a.x < 4 OR a.x < 5)))",
        "A AS a FILTER a.range > 1 AND a.like like 'x' AND a[timestamp > 3 and in in {1}]",
    ],
)
def test_show_parses_back(text: str) -> None:
    phi = parse(text)
    assert parse(show(phi)) == phi
    assert show(parse(show(phi))) == show(phi)


def test_random_formulas_parse_back() -> None:
    for phi, _ in cases(3, 500):
        assert parse(show(phi)) == phi


def test_no_more_parentheses_than_needed() -> None:
    assert show(parse("A AS a FILTER a[x like 'b.*']")) == "A AS a FILTER a.x like 'b.*'"
    assert show(parse("((((A AS a) ; (B AS b))+ OR (C AS c)) FILTER ((a.tmp > 40)))")) == (
        "(A AS a ; B AS b)+ OR C AS c FILTER a.tmp > 40"
    )
    assert show(core.CorePlus(A)) == "(A AS a)+"


@pytest.mark.parametrize(
    ("text", "underlined", "says"),
    [
        ("A ; B AS b", ";", "expected AS"),
        ("A IN a", "IN", "expected AS"),
        ("A AS a : B AS b", ":", "not expected"),
        ("A AS a ;", "", "ends too early"),
        ("A AS a AND B AS b", "AND", "not expected"),
        ("A AS a FILTER a.x > 'open", "'", "does not end"),
        ("A AS a FILTER x > 3", "x > 3", "whose attribute"),
        ("A AS a FILTER 3 > 2", "3 > 2", "compares an attribute"),
        ("A AS a FILTER a[b.x > 3]", "a[b.x > 3]", "stands alone"),
        ("A AS a FILTER a.type = 'B'", "type", "no attribute"),
        ("A AS a FILTER a.x like '('", "'('", "regular expression"),
        ("A AS a FILTER a.x > 1e999", "1e999", "too large"),
        ("A AS a FILTER a.t > timestamp 'noon'", "timestamp 'noon'", "ISO 8601"),
        ("A AS a WITHIN 3 EVENTS", "WITHIN", "not expected"),
    ],
)
def test_errors_point_at_the_place(text: str, underlined: str, says: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse(text)
    span = caught.value.span
    assert span is not None
    assert text[span.start : span.end] == underlined
    assert says in caught.value.message


def test_a_node_knows_its_place() -> None:
    text = "A AS a ; (B AS b OR C AS c FILTER b.x = 1)+"
    spans = [text[phi.span.start : phi.span.end] for phi in core.subformulas(parse(text)) if phi.span]
    assert spans == [
        text,
        "A AS a",
        "(B AS b OR C AS c FILTER b.x = 1)+",
        "B AS b OR C AS c FILTER b.x = 1",
        "B AS b OR C AS c",
        "B AS b",
        "C AS c",
    ]


def test_a_formula_of_the_greatest_depth_is_carried_and_a_deeper_one_refused() -> None:
    deep = "MAX(" * 199 + "A AS a" + ")" * 199
    assert parse(show(parse(deep))) == parse(deep)
    with pytest.raises(BudgetExceeded):
        parse("MAX(" * 5000 + "A AS a" + ")" * 5000)


def test_size_counts_operators_types_and_atoms() -> None:
    assert core.size(parse("(A AS a ; B AS b)+ FILTER a.x = 1 AND b.x = 2")) == 6
