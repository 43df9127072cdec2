"""From text to tree and back, and what is said about text that is no query."""

from random import Random

import pytest

from cerify.equivalence.generate.sase import PROFILES, SaseProfile, query
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError
from cerify.semantics.predicates import Comparison, Constant, Either
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.sase.printed import Q4_AND_Q5, QUERIES


@pytest.mark.parametrize("text", [*QUERIES.values(), Q4_AND_Q5], ids=[*QUERIES, "sase07.q4 and q5"])
def test_the_printed_queries_parse_back(text: str) -> None:
    assert parse(show(parse(text))) == parse(text)


def test_a_query_of_every_clause() -> None:
    q = parse(
        "FROM s PATTERN SEQ(A a, ~B b, C+ c[]) WHERE skip_til_next_match(a, c[]!) { _([x])_ and c[1].x = 50% } "
        "WITHIN 2 weeks HAVING count(c[]) > 1 RETURN NON-OVERLAP T(a.x AS y, c[].x, c[c.LEN].(x, y)) IN STREAM t"
    )
    half = Comparison("=", sase.Reference("x", "c", "first"), Constant(0.5))
    assert q == sase.SaseQuery(
        (sase.Component("A", "a"), sase.Component("B", "b", negated=True), sase.Component("C", "c", kleene=True)),
        sase.Return(
            (
                sase.Item(sase.Simple(sase.Reference("x", "a")), "y"),
                sase.Item(sase.SaseSeries("c", "x")),
                sase.Item(sase.Composite("c", "last", ("x", "y"))),
            ),
            "T",
            "t",
            non_overlap=True,
        ),
        (
            sase.Block(
                "skip_till_next_match",
                (sase.Selected("a"), sase.Selected("c", cut=True)),
                (sase.Conjunct(sase.Equivalence("x"), underlined=True), sase.Conjunct(half)),
            ),
        ),
        sase.SaseWindow(2, "weeks"),
        Comparison(">", sase.SaseAggregate("", "c"), Constant(1)),
        "s",
    )


SAME = "PATTERN SEQ(A a, B b) WHERE a.x = 1 and (b.x = 2 or b.x = 3) RETURN a.x"


@pytest.mark.parametrize(
    "text",
    [
        "pattern seq(A a, B b) where a.x = 1 ∧ (b.x = 2 ∨ b.x = 3) return a.x",
        "PATTERN SEQ(A a, B b) WHERE a.x = 1\nb.x = 2 or b.x = 3 RETURN a.x",
        "PATTERN SEQ(A a, B b) WHERE (a.x = 1 AND (b.x = 2 OR b.x = 3)) RETURN (a.x)",
    ],
)
def test_other_ways_to_write_it(text: str) -> None:
    assert parse(text) == parse(SAME)


def test_a_strategy_without_arguments_is_that_of_all() -> None:
    bare = "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity { } RETURN a.x"
    assert parse(bare) == parse(bare.replace("contiguity", "contiguity(a, b[])"))


def test_union_and_programs() -> None:
    q = "PATTERN SEQ(A a) RETURN a.x"
    one = parse(q)
    assert isinstance(one, sase.SaseQuery)
    assert parse(f"{q} UNION {q}") == sase.SaseUnion((one, one))
    assert parse(f"{q}; {q} UNION {q};") == sase.Program((one, sase.SaseUnion((one, one))))


def test_what_returns_an_aggregate_and_what_names_a_type() -> None:
    def returned(text: str) -> sase.Return:
        q = parse(f"PATTERN SEQ(A+ a[]) RETURN {text}")
        assert isinstance(q, sase.SaseQuery)
        assert parse(show(q)) == q
        return q.returned

    assert returned("f(a[].x)").type is None
    assert returned("f(a[].x AS x)").type == "f"
    assert returned("f(a[].x, a[1].x)").type == "f"
    assert returned("f((3), a[1].x)").type == "f"


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("PATTERN SEQ(A+ a) RETURN a.x", r"write A\+ a\[\]", "A+ a"),
        ("PATTERN SEQ(A a[]) RETURN a.x", r"write A\+ a\[\]", "A a[]"),
        ("PATTERN SEQ(A a) WHERE x = 1 RETURN a.x", "whose attribute is 'x'", "x"),
        ("PATTERN SEQ(A a) WHERE a[2].x = 1 RETURN a.x", "an index is 1, i, i-1", "[2]"),
        ("PATTERN SEQ(A+ a[]) WHERE a[b.LEN].x = 1 RETURN a.x", r"a\[a.LEN\]", "[b.LEN]"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(a[..i-2].x) = 1 RETURN a.x", r"b\[..i-1\]", "[..i-2]"),
        ("PATTERN SEQ(A+ a[]) WHERE highest(a[].x) = 1 RETURN a.x", "they need one", "highest(a[].x)"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(2, a[].x) = 1 RETURN a.x", "only highest and lowest", "sum(2, a[].x)"),
        ("PATTERN SEQ(A+ a[]) WHERE lowest(0, a[].x) = 1 RETURN a.x", "at least 1", "0"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(a[]) = 1 RETURN a.x", "sum of what", "sum(a[])"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 a.y = 2 RETURN a.x", "what joins these two", "a.y = 2"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 and a.y = 2 or a.y = 3 RETURN a.x", "which one comes", "a.y = 2 or a.y = 3"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 or a.y = 2 and a.y = 3 RETURN a.x", "which one comes", "a.x = 1 or a.y = 2"),
        ("PATTERN SEQ(A a) WITHIN 3 HAVING a.x = 1 RETURN a.x", "a unit of time", "HAVING"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 )", r"'\)' is not expected here; leave it out", ")"),
        ("PATTERN SEQ() RETURN a.x", "expected a name or ~", ")"),
    ],
)
def test_what_is_no_query_and_where(text: str, message: str, place: str) -> None:
    with pytest.raises(ParseError, match=message) as error:
        parse(text)
    assert error.value.span is not None
    assert text[error.value.span.start : error.value.span.end] == place


def test_an_array_is_written_as_one_in_a_strategy() -> None:
    with pytest.raises(IllFormed, match=r"declares b\[\]; write it so here") as error:
        parse("PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity(a, b) { } RETURN a.x")
    assert error.value.described().endswith("^")


@pytest.mark.parametrize(
    "condition",
    ["not " * 300 + "a.x = 1", " or ".join(["a.x = 1"] * 300), "(" * 5000 + "not " * 5000 + "a.x = 1" + ")" * 5000],
)
@pytest.mark.parametrize("clause", ["WHERE", "HAVING"])
def test_deep_nesting_is_limited(clause: str, condition: str) -> None:
    with pytest.raises(BudgetExceeded, match="nested"):
        parse(f"PATTERN SEQ(A a) {clause} {condition} RETURN a.x")


def test_many_conjuncts_and_queries_are_not_deep() -> None:
    conjuncts = " and ".join(["a.x = 1"] * 2000)
    q = f"PATTERN SEQ(A a) WHERE {conjuncts} RETURN a.x"
    assert show(parse(q)) == q
    many = "; ".join([f"PATTERN SEQ(A a) RETURN T(a.x) IN STREAM s{n}" for n in range(500)])
    assert show(parse(many)) == many


@pytest.mark.parametrize("number", sampled([50, 150], [50]))
@pytest.mark.parametrize("name", PROFILES)
def test_a_query_shown_parses_back(name: str, number: int) -> None:
    profile: SaseProfile = PROFILES[name]
    for n in range(number):
        q = query(Random(n), profile, 9)
        assert parse(show(q)) == q


def test_an_or_in_a_conjunct_keeps_its_parentheses() -> None:
    p = Comparison("=", sase.Reference("x", "a"), Constant(1))
    conjuncts = (sase.Conjunct(Either(p, p)), sase.Conjunct(Either(p, p), underlined=True))
    block = sase.Block(None, (), conjuncts)
    q = sase.SaseQuery((sase.Component("A", "a"),), sase.Return((sase.Item(sase.Simple(Constant(1))),)), (block,))
    assert show(q) == "PATTERN SEQ(A a) WHERE (a.x = 1 or a.x = 1) and _(a.x = 1 or a.x = 1)_ RETURN 1"
    assert parse(show(q)) == q
