"""SASE+ as text: what is parsed and printed, what is well-formed, and its table of operators."""

import json
from pathlib import Path
from random import Random

import pytest

import cerify
from cerify.equivalence.generate.sase import PROFILES, SaseProfile, query
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError
from cerify.semantics.events import ObservedSchema, Schema
from cerify.semantics.predicates import Comparison, Constant, Either
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import problems, require_typed, require_wellformed
from cerify.semantics.sase.clauses import CONSTRUCTS, STRATEGIES, Construct, operators, strategies
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.support import sampled
from proofs_tests.tools.suites.sase import CLAUSES
from proofs_tests.tools.suites.sase import QUERIES as SASE_QUERIES
from proofs_tests.unit.semantics.sase_cases import Q4_AND_Q5, QUERIES

# ---- parse ----
# From text to tree and back, and what is said about text that is no query.


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
        ("PATTERN SEQ(A a) WHERE a[2].x = 1 RETURN a.x", "an index must be 1, i, i-1", "[2]"),
        ("PATTERN SEQ(A+ a[]) WHERE a[b.LEN].x = 1 RETURN a.x", r"a\[a.LEN\]", "[b.LEN]"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(a[..i-2].x) = 1 RETURN a.x", r"b\[..i-1\]", "[..i-2]"),
        ("PATTERN SEQ(A+ a[]) WHERE highest(a[].x) = 1 RETURN a.x", "they need one", "highest(a[].x)"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(2, a[].x) = 1 RETURN a.x", "only highest and lowest", "sum(2, a[].x)"),
        ("PATTERN SEQ(A+ a[]) WHERE lowest(0, a[].x) = 1 RETURN a.x", "at least 1", "0"),
        ("PATTERN SEQ(A+ a[]) WHERE sum(a[]) = 1 RETURN a.x", "sum of what", "sum(a[])"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 a.y = 2 RETURN a.x", "two predicates are not joined", "a.y = 2"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 and a.y = 2 or a.y = 3 RETURN a.x", "is ambiguous", "a.y = 2 or a.y = 3"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 or a.y = 2 and a.y = 3 RETURN a.x", "is ambiguous", "a.x = 1 or a.y = 2"),
        ("PATTERN SEQ(A a) WITHIN 3 HAVING a.x = 1 RETURN a.x", "a unit of time", "HAVING"),
        ("PATTERN SEQ(A a) WHERE a.x = 1 )", r"'\)' is not expected here; leave it out", ")"),
        ("PATTERN SEQ() RETURN a.x", "expected a name or ~", ")"),
        ("PATTERN SEQ(A a) HAVING a.x > 1 WITHIN 1 hour", "WITHIN stands before HAVING; the order is FROM", "WITHIN"),
        ("PATTERN SEQ(A a) WITHIN 1 hour WHERE a.x > 1", "WHERE stands before WITHIN", "WHERE"),
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
@pytest.mark.slow
def test_deep_nesting_is_limited(clause: str, condition: str) -> None:
    with pytest.raises(BudgetExceeded, match="nested"):
        parse(f"PATTERN SEQ(A a) {clause} {condition} RETURN a.x")


@pytest.mark.slow
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


# ---- wellformed ----
# What is wrong with a query before any event is seen: each rule, and the place it is told for.

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
    with pytest.raises(IllFormed, match="must contain the last identifier, b") as error:
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
        ("PATTERN SEQ(B+ b[], A a) WHERE b[i].x > a.x RETURN a.x", "i has no meaning when a is selected"),
        ("PATTERN SEQ(A a, B+ b[]) WHERE b[i].x > avg(b[].x) RETURN a.x", "i has no meaning when b is complete"),
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


# ---- operators ----
# The table of constructs: each parses, prints, is found where it is used, and has a feature of the suite and a row.

SUITE = Path(cerify.__file__).parent / "conformance" / "suite" / "sase.jsonl"
OF_NO_CONSTRUCT = ("sase-printed", "sase-values", "sase-reading-")


def sample(construct: Construct) -> sase.Tree:
    text = f"PATTERN {construct.sample}"
    return parse(text if "RETURN" in text else f"{text} RETURN 1 AS one")


@pytest.mark.parametrize("construct", CONSTRUCTS, ids=lambda c: c.title)
def test_a_construct_is_parsed_printed_and_found(construct: Construct) -> None:
    q = sample(construct)
    assert parse(show(q)) == q
    if construct.used is not None:
        assert construct.used(q)
        assert not construct.used(parse("PATTERN SEQ(A a) WHERE strict_contiguity(a) { } RETURN a.x")) or (
            construct.symbol == "strict_contiguity"
        )
        assert construct.title in operators(q) or construct.symbol in strategies(q)


@pytest.mark.parametrize(
    ("symbol", "alias"), [(c.symbol, alias) for c in CONSTRUCTS for alias in c.aliases], ids=lambda text: text
)
def test_an_alias_is_the_same_query(symbol: str, alias: str) -> None:
    construct = next(c for c in CONSTRUCTS if c.symbol == symbol and alias in c.aliases)
    sign, other = (symbol, alias) if len(symbol) > 5 else (symbol[0], alias[0])
    assert sign in construct.sample
    text = f"PATTERN {construct.sample} RETURN 1 AS one"
    assert parse(text.replace(sign, other)) == parse(text)


def test_every_strategy_has_a_construct() -> None:
    assert set(STRATEGIES.values()) == set(sase.STRATEGIES)


def test_every_construct_is_a_feature_of_the_suite_with_its_source() -> None:
    lines = map(json.loads, SUITE.read_text(encoding="utf-8").splitlines())
    features = {case["feature"]: case["clause"] for case in lines if "feature" in case}
    of_constructs = {name for name in features if not name.startswith(OF_NO_CONSTRUCT)}
    assert of_constructs == {f"sase-{construct.name}" for construct in CONSTRUCTS}
    assert of_constructs < set(CLAUSES)
    assert of_constructs < set(SASE_QUERIES)
    for construct in CONSTRUCTS:
        assert features[f"sase-{construct.name}"].startswith(construct.source)
