"""The text of clauses: what parses, what it stands for, what is refused, and where."""

import re
from datetime import UTC, datetime
from functools import cache
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerify
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, ParseError, Span, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import CAST, problems, require_typed, require_wellformed, type_problems
from cerify.semantics.row_pattern.dialects import (
    DIALECTS,
    dialect_named,
    meant_reading,
    require_in_dialect,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import column_values, columns_of, combined, resolved
from cerify.semantics.row_pattern.show_dialects import show_in_dialect
from cerify.semantics.row_pattern.syntax import (
    EXPRESSIONS,
    PATTERNS,
    MatchRecognize,
    Measure,
    Order,
    RowSkip,
    show,
    show_expression,
    show_pattern,
)
from cerify.semantics.trees import Operator, rebuilt
from cerify.semantics.values import Value, ValueType, parse_time
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.row_tables import table

# ---- parse ----
#

WHOLE = r'''match_recognize(
    partition by k, "Other K"  -- a comment
    order by t desc nulls last, u
    measures A.x as first_x, final last(U."x y") + -2 - - 3 as "an ""x""", count(*) as n, running count(b.*) as m
    all rows per match omit empty matches
    after match skip to first u
    pattern ( (a | b+? c{2,3})* {- d?? -} permute(a, b*, ()) ^ $ e{,4}? f{5,} g{6} )
    subset u = (a, b), "v" = (c)
    define a as x between 1 and 2 or not y is not null and z in ('it''s', null),
        b as case x when 1 then true when 2 then prev(a.x, 2) > 1 end, /* and
        another */ c as (x + 1) * 2 <> abs(x) % 3 or coalesce(s, '') || 'a' not like 'b!%%' escape '!',
        d as cast(x as double precision) = next(first(b.x, 1)) and t < timestamp '2020-01-02 03:04:05' )'''


def condition(text: str) -> rows.Expression:
    return parse(f"MATCH_RECOGNIZE (PATTERN (A B) SUBSET U = (A, B) DEFINE A AS {text})").define[0].condition


def test_a_whole_clause() -> None:
    q = parse(WHOLE)
    assert parse(show(q)) == q
    assert (q.rows, q.skip) == ("all omit empty", RowSkip("first", "U"))
    assert [one.name for one in q.measures] == ["first_x", 'an "x"', "n", "m"]
    assert q.order[0] == Order(rows.RowColumn("t"), True, "LAST")
    assert q.unions["v"] == {"C"}
    short = parse("MATCH_RECOGNIZE (ORDER BY t MEASURES A.x AS n PATTERN (A))")
    assert short.order == (Order(rows.RowColumn("t")),)
    assert short.measures == (Measure(rows.RowColumn("x", "A"), "n"),)
    assert q.primary == ("A", "B", "C", "D", "E", "F", "G")
    require_wellformed(q)
    assert show_pattern(q.pattern) == "(A | B+? C{2,3})* {- D?? -} PERMUTE(A, B*, ()) ^ $ E{0,4}? F{5,} G{6}"


def test_what_is_written_is_what_it_stands_for() -> None:
    short = parse("MATCH_RECOGNIZE (PATTERN (a))")
    assert short == parse('MATCH_RECOGNIZE (ONE ROW PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN ("A"))')
    assert short != parse('MATCH_RECOGNIZE (PATTERN ("a"))')
    assert condition("CASE x WHEN 1 THEN 2 END = 3") == condition("CASE WHEN x = 1 THEN 2 ELSE NULL END = 3")
    assert condition("x != 1 AND y > 2 OR NOT z < 3") == condition("(((x <> 1) AND y > 2) OR (NOT (z < 3)))")
    assert condition("a.x - 1 - 2 * 3") == condition("(A.x - 1) - (2 * 3)")
    assert condition("PREV(x) = FIRST(y)") == condition("PREV(x, 1) = RUNNING FIRST(y, 0)")
    assert parse("MATCH_RECOGNIZE (AFTER MATCH SKIP TO b PATTERN (A B))").skip == RowSkip("last", "B")


@pytest.mark.parametrize("text", ["PREV(x)", "NEXT(x)", "FIRST(A.x)", "LAST(x)", "PREV(FIRST(x, 1), 2)", "PREV(x, 0)"])
def test_an_offset_is_printed_where_it_is_not_the_default_one(text: str) -> None:
    assert show_expression(condition(f"{text} = 1")) == f"{text} = 1"
    longer = text[:-1] + (", 0)" if text[0] in "FL" else ", 1)")
    assert text.count(",") or show_expression(condition(f"{longer} = 1")) == f"{text} = 1"


def test_names_that_are_keywords_elsewhere() -> None:
    q = parse(
        "MATCH_RECOGNIZE (MEASURES first AS last, count.match AS sum PATTERN (count PREV) DEFINE prev AS type = time)"
    )
    assert q.primary == ("COUNT", "PREV")
    assert parse(show(q)) == q


@pytest.mark.slow
def test_the_table_says_how_operators_bind() -> None:
    """Every operator under every other one, at each place, is printed so that it is read back."""
    A = rows.RowVariable("A")

    def arity(operator: Operator) -> int:
        return len(operator.node.operands)

    for outer in PATTERNS.values():
        for inner in PATTERNS.values():
            for make in outer.instances():
                for below in inner.instances():
                    p = below(*[A] * arity(inner))
                    for place in range(arity(outer)):
                        operands = [A] * arity(outer)
                        operands[place] = p
                        q = MatchRecognize(make(*operands))
                        assert parse(show(q)) == q, show(q)
    texts = "x|-x|x + y|x * y|ABS(x)|CAST(x AS BIGINT)|x = y|x IS NULL|x BETWEEN y AND z|x IN (y, z)|x LIKE y|NOT x"
    texts += "|x AND y|x OR y|x || y|x IS NOT NULL|x NOT IN (y)|PREV(x)|FINAL LAST(x)|COUNT(*)|AVG(x)|COALESCE(x, y)"
    texts += "|x NOT LIKE y ESCAPE '!'|CASE WHEN x THEN y ELSE z END|CLASSIFIER(U)|MATCH_NUMBER()|'a'|TRUE|NULL|1.5|-2"
    texts += "|UPPER(x)|EXTRACT(HOUR FROM x)|INTERVAL '-1.5' SECOND|ROUND(x, 2)|COUNT(DISTINCT x)"
    texts += "|ARRAY_AGG(DISTINCT x ORDER BY y DESC)|FINAL LISTAGG(x, ';' ORDER BY y)"
    found = [condition(text) for text in texts.split("|") if text]
    found += [condition("x || y")]
    assert {type(e) for e in found} == {*EXPRESSIONS}
    column = rows.RowColumn("x")
    for e in found:
        for node in found:
            for place in range(len(rows.below(node))):
                below = list(rows.below(node))
                folded = isinstance(node, rows.Negative) and isinstance(e, rows.RowConstant)  # - 2 is one constant
                if below[place] == column and not folded:
                    below[place] = e
                    changed = rebuilt(node, below)
                    assert condition(show_expression(changed)) == changed


@pytest.mark.parametrize("seed", range(60))
def test_random_clauses_are_read_back(seed: int) -> None:
    q, _ = case(Random(seed), PROFILES["everything"], 12, 1)
    assert parse(show(q)) == q
    assert problems(q) == []


@pytest.mark.parametrize(
    ("text", "error", "message", "place"),
    [
        ("PATTERN (A B DEFINE A AS x > 1", ParseError, "'\\)' is missing before 'DEFINE'", "DEFINE"),
        ("PATTERN (A) DEFINE A AS x >", ParseError, "is not expected here", ")"),
        ("PATTERN (A**)", ParseError, r"'\*' is not expected here", "*"),
        ("PATTERN (A{3,2})", ParseError, "from 3 to 2 iterations", "A{3,2}"),
        ("PATTERN (A{1.5})", ParseError, "a whole number is expected", "1.5"),
        ("PATTERN (A) DEFINE A AS x LIKE 'a' ESCAPE 'ab'", ParseError, "one character", "x LIKE 'a' ESCAPE 'ab'"),
        ("PATTERN (A) DEFINE A AS t < TIMESTAMP 'noon'", ParseError, "'noon' is not an ISO 8601", "TIMESTAMP 'noon'"),
        ("PATTERN (A) WITHIN INTERVAL '1' HOUR", Unsupported, "WITHIN is not part of the standard", None),
        ("PATTERN (A) DEFINE A AS INTERVAL '0 1:00' DAY TO SECOND > x", ParseError, "an interval is written as", None),
        ("PATTERN (A) DEFINE A AS STDDEV(x, 1) > 1", Unsupported, "no function STDDEV; there are PREV", "STDDEV"),
        ("PATTERN (A) DEFINE A AS x < lag(x)", Unsupported, "no function lag; did you mean PREV", "lag"),
        (
            "PATTERN (A) DEFINE A AS t - PREV(t) < INTERVAL '0 01:00' DAY TO SECOND",
            ParseError,
            "an interval is written as",
            "INTERVAL '0 01:00' DAY TO SECOND",
        ),
        ("PATTERN (A) DEFINE A AS t < PREV(t) + INTERVAL 5 MONTHS", Unsupported, "in days", "INTERVAL 5 MONTHS"),
        ("PATTERN (A) DEFINE A AS t < PREV(t) + INTERVAL '1:x' HOUR TO MINUTE", ParseError, "is written as", None),
        (
            "PATTERN (A) DEFINE A AS DATE '2020-01-01' - 5 > t",
            IllFormed,
            "- is not defined for timestamp and number",
            None,
        ),
        ("MEASURES ROUND(x, 1, 2) AS m PATTERN (A)", Unsupported, "takes 1 or 2 arguments, not 3", "ROUND(x, 1, 2)"),
        ("MEASURES EXTRACT(ERA FROM t) AS m PATTERN (A)", Unsupported, "no part ERA of a time", None),
        ("MEASURES DATEDIFF(DECADE, t, t) AS m PATTERN (A)", Unsupported, "one of YEAR, QUARTER", "DECADE"),
        ("MEASURES x::INT AS m PATTERN (A)", ParseError, r"write CAST\(price AS INT\)", "::"),
        ("PATTERN (A) DEFINE A AS STRUCT(x) = 1", Unsupported, "an ARRAY_AGG for each field", "STRUCT(x)"),
        ("MEASURES UPPER(1) AS m PATTERN (A)", IllFormed, "1 is a number, but a string is expected", "1"),
        ("PATTERN (A) DEFINE A AS INTERVAL '1' DAY > 5", IllFormed, "is an interval, but 5 is a number; write a", "5"),
        (
            "MEASURES COUNT(*) n PATTERN (A)",
            ParseError,
            "AS is missing before n: a measure is an expression, AS and a name",
            "COUNT(*) n",
        ),
        ("MEASURES ARRAY_AGG(x, ',') AS m PATTERN (A)", ParseError, "takes exactly one argument", None),
        ("SEEK PATTERN (A)", ParseError, "SEEK can be used only in WINDOW", "SEEK"),
        ("PATTERN (A) DEFINE B AS x > 1", IllFormed, "DEFINE has a condition for B, which is not", "B AS x > 1"),
        ("PATTERN (A) DEFINE A AS B.x > 1", IllFormed, "the variable B is not in the pattern", "B.x"),
        ("MEASURES COUNT(B.*) AS n PATTERN (A)", IllFormed, "the variable B is not", "COUNT(B.*)"),
        ("AFTER MATCH SKIP TO B PATTERN (A)", IllFormed, "the variable B is not", "AFTER MATCH SKIP TO B"),
        ("PATTERN (A) DEFINE A AS true, A AS false", IllFormed, "DEFINE defines A 2 times", "A AS false"),
        ("PARTITION BY x MEASURES y AS X PATTERN (A)", IllFormed, "columns x 2 times", "y AS X"),
        ("PATTERN (A B) SUBSET A = (B)", IllFormed, "A is a variable of the pattern too", "A = (B)"),
        ("PATTERN (A) SUBSET U = (B)", IllFormed, "B in the union U is not in the pattern", "U = (B)"),
        ("PATTERN (A) SUBSET U = (V), V = (U)", IllFormed, "V in the union U is a union itself", "U = (V)"),
        ("PATTERN (A) DEFINE A AS LAST(PREV(x)) = 1", IllFormed, "cannot be used inside LAST", "PREV(x)"),
        ("PATTERN (A) DEFINE A AS SUM(MAX(x)) = 1", IllFormed, "cannot be used inside SUM", "MAX(x)"),
        ("PATTERN (A) DEFINE A AS PREV(COUNT(*)) = 1", IllFormed, "cannot be used inside PREV", "COUNT(*)"),
        ("PATTERN (A) DEFINE A AS LAST(1) = 1", IllFormed, "no column and no CLASSIFIER", "LAST(1)"),
        ("PATTERN (A B) DEFINE A AS LAST(A.x + B.x) = 1", IllFormed, "more than one variable", "LAST(A.x + B.x)"),
        ("PATTERN (A) DEFINE A AS FINAL LAST(x) = 1", IllFormed, "FINAL needs the whole match", "FINAL LAST(x)"),
        ("ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN ({- A -})", IllFormed, "cannot be used with", "{- A -}"),
        ("PATTERN (A) DEFINE A AS x + 'a' > 1", IllFormed, "'a' is a string, but a number is expected", "'a'"),
        ("PATTERN (A) DEFINE A AS 1", IllFormed, "1 is a number, but a bool is expected", "1"),
        ("PATTERN (A) DEFINE A AS 1 = 'a'", IllFormed, "1 is a number, but 'a' is a string", "'a'"),
    ],
)
def test_what_is_refused(text: str, error: type[CerifyError], message: str, place: str | None) -> None:
    whole = f"MATCH_RECOGNIZE ({text})"
    with pytest.raises(error, match=message) as raised:
        require_wellformed(parse(whole))
    if place is not None:
        span = raised.value.span
        assert span is not None
        assert whole[span.start : span.end] == place


SKIP = "AFTER MATCH SKIP is followed by PAST LAST ROW, TO NEXT ROW, or TO, TO FIRST or TO LAST and a variable"
MISWRITTEN = {  # with « » around the place of the error
    "MATCH_RECOGNIZE («AFTER MATCH SKIP» PATTERN (A B))": SKIP,
    "MATCH_RECOGNIZE («AFTER MATCH» PATTERN (A B))": SKIP,
    "MATCH_RECOGNIZE («AFTER MATCH SKIP» PAST LAST PATTERN (A))": SKIP,
    "MATCH_RECOGNIZE (MEASURES x AS y «AFTER MATCH SKIP» PATTERN (A B))": SKIP,
    "MATCH_RECOGNIZE (AFTER MATCH SKIP TO «PATTERN» (A))": SKIP,
    "MATCH_RECOGNIZE (AFTER MATCH SKIP TO LAST «PATTERN» (A))": SKIP,
    "MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT «ROWS» PATTERN (A))": SKIP,
    "MATCH_RECOGNIZE (ORDER BY t «PARTITION BY» k PATTERN (A))": "PARTITION BY must come before ORDER BY",
    "MATCH_RECOGNIZE (PATTERN (A B) «order  by» t DEFINE A AS x > 1)": "ORDER BY must come before PATTERN",
    "MATCH_RECOGNIZE (PATTERN (A B) «AFTER MATCH SKIP» TO NEXT ROW)": "AFTER MATCH SKIP must come before PATTERN",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > 1 «SUBSET» U = (A))": "SUBSET must come before DEFINE",
    "MATCH_RECOGNIZE (MEASURES COUNT(*) AS n «ORDER BY» t PATTERN (A))": "ORDER BY must come before MEASURES",
    "MATCH_RECOGNIZE («DEFINE» A AS x > 1 PATTERN (A))": "PATTERN must come before DEFINE",
    "MATCH_RECOGNIZE (ORDER BY t «DEFINE» A AS x > 1)": "PATTERN is missing before DEFINE",
    "MATCH_RECOGNIZE (ORDER BY t «ORDER BY» x PATTERN (A))": "ORDER BY occurs here a second time",
    "MATCH_RECOGNIZE (ORDER BY t «ROWS BETWEEN» CURRENT ROW AND 3 FOLLOWING PATTERN (A))":
        "ROWS BETWEEN can be used only in WINDOW (…)",
    "MATCH_RECOGNIZE («SEEK» PATTERN (A))": "SEEK can be used only in WINDOW (…)",
    "WINDOW (ORDER BY t «ALL ROWS PER MATCH» PATTERN (A))":
        "ALL ROWS PER MATCH can be used only in MATCH_RECOGNIZE (…)",
    "WINDOW (ORDER BY t «PATTERN» (A))": "ROWS BETWEEN is missing before PATTERN",
    "MATCH_RECOGNIZE (MEASURES FINAL COUNT(*) «PATTERN» (A B) DEFINE A AS x > 1)":
        "AS is missing before PATTERN: a measure is an expression AS name",
    "MATCH_RECOGNIZE (MEASURES x AS a, MAX(x) «ONE ROW PER MATCH» PATTERN (A))":
        "AS is missing before ONE ROW PER MATCH: a measure is an expression AS name",
    "MATCH_RECOGNIZE (MEASURES COUNT(*) AS «PATTERN» (A))":
        "the name is missing before PATTERN: a measure is an expression AS name",
    "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s = «'»abc)":
        "the string does not end; write a ' inside a string as ''",
    'MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS s = «"»abc)':
        'the name in quotation marks does not end; write a string with \'…\', not "…"',
    "MATCH_RECOGNIZE (PATTERN (A B «DEFINE» A AS x > 1)": "')' is missing before 'DEFINE'",
    "MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x > 1 «B» AS x > 2)": "',' is missing before 'B'",
    "MATCH_RECOGNIZE (PATTERN (A«;» B) DEFINE A AS x > 1)": "';' is not expected here; leave it out",
    "MATCH_RECOGNIZE (PATTERN (A))«;»\n": "';' is not expected here; remove the ; at the end",
    "MATCH_RECOGNIZE (PATTERN (A)) «AS» mr":
        "'AS' is not expected here; the clause ends before it; remove the rest of the text",
}  # fmt: skip


@pytest.mark.parametrize("marked", MISWRITTEN)
def test_what_is_meant_is_said(marked: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert raised.value.message == MISWRITTEN[marked]
    assert raised.value.span == Span(marked.index("«"), marked.index("»") - 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MATCH_RECOGNIZE (PATTERN (A B) x)", "), DEFINE or SUBSET"),
        ("MATCH_RECOGNIZE (PATTERN (A B) DEFINE A AS x IS 5)", "NOT, NULL, TRUE or FALSE or UNKNOWN"),
        ("WINDOW (ORDER BY t DESC NULLS LAST 5)", ",, MEASURES or ROWS BETWEEN"),
        ("WINDOW (ROWS BETWEEN CURRENT ROW AND 1 FOLLOWING AFTER MATCH SKIP TO NEXT ROW 5",
         "INITIAL or SEEK or PATTERN"),
        ("MATCH_RECOGNIZE (ORDER BY t DESC NULLS LAST MEASURES x AS y 5)",
         ",, AFTER MATCH SKIP, ONE ROW PER MATCH or ALL ROWS PER MATCH or PATTERN"),
    ],
)  # fmt: skip
def test_what_is_expected_is_what_is_carried(text: str, expected: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(text)
    assert raised.value.message.partition("; expected ")[2] == expected


@pytest.mark.parametrize("begin", ["x ", "x > ", "SUM("])
def test_nothing_that_is_only_refused_is_expected(begin: str) -> None:
    with pytest.raises(ParseError) as raised:
        parse(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {begin}= = 1)")
    assert not re.search("FUNCTION|LITERAL|DISTINCT|OTHER|WITHIN|_", raised.value.message.replace("MATCH_NUMBER", ""))


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        ("AFTER MATCH SKIP TO NEXT PATTERN (A)", "did you mean NEXT ROW? Or name a variable of the pattern, or skip"),
        ("PATTERN (A) DEFINE C AS x > 1", "write the variable in PATTERN, or leave its condition out"),
        ("PATTERN (A) DEFINE A AS C.x > 1", "write it in PATTERN, or name one of its variables"),
        ("PATTERN (A) DEFINE A AS SUM(PREV(x)) > 1", "use columns of one variable in an aggregate"),
        ("PATTERN (A B) DEFINE B AS SUM(A.x * B.x) > 1", "use columns of one variable in an aggregate"),
        ("PATTERN (A) DEFINE A AS LAST(PREV(x)) > 1", "put FIRST or LAST inside PREV or NEXT"),
        ("PATTERN (A) DEFINE A AS q > 1", "name a column of the table"),
    ],
)  # fmt: skip
def test_the_advice_fits(text: str, advice: str) -> None:
    found = problems(parse(f"MATCH_RECOGNIZE ({text})"), Schema({"row": {"x": "int"}}))
    assert found[0].mend.startswith(advice)


def test_a_column_that_is_a_string_or_a_function() -> None:
    def refused(text: str) -> str:
        (problem,) = problems(
            parse(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))"), Schema({"row": {"s": "string"}})
        )
        return problem.hinted

    assert "there is no column 'ACME'; a string is written 'ACME', and the table has" in refused('s = "ACME"')
    assert "a string is written" not in refused("ACME")
    assert refused('"S"').endswith("did you mean s?")
    assert refused("classifier").endswith("did you mean CLASSIFIER()?")
    assert refused("MATCH_NUMBER").endswith("did you mean MATCH_NUMBER()?")


def test_a_cast_is_a_problem_exactly_where_no_value_of_the_type_can_be_cast() -> None:
    samples: dict[ValueType, list[Value]] = {
        "int": [0, 7], "float": [0.5, 1e300], "bool": [True, False], "timestamp": [parse_time("2020-01-02")],
        "string": ["7", "0.5", "true", "2020-01-02"],
    }  # fmt: skip
    for type_, values in samples.items():
        for to in CAST:
            e = rows.Cast(rows.RowColumn("x"), to)
            named = [problem.rule for problem in type_problems(e, lambda _, type_=type_: type_)]
            possible = any(combined(e, [value], STANDARD) is not None for value in values)
            assert named == ([] if possible else ["kind"]), (type_, to)


def test_a_schema_types_the_columns() -> None:
    schema = Schema({"row": {"x": "int", "s": "string", "a.z": "int"}})

    def refused(text: str) -> str:
        with pytest.raises(IllFormed) as raised:
            require_typed(parse(f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {text})"), schema)
        return raised.value.message

    assert re.search("no column 'y'", refused("y > 1"))
    assert re.search("did you mean x", refused('"X" > 1'))
    assert re.search('did you mean "a.z"', refused("A.z > 1"))
    assert re.search("x is a number, but 'a' is a string", refused("PREV(x) IS NULL OR x = 'a'"))
    assert re.search("s is a string, but a number is expected", refused("SUM(s) > 1"))
    assert re.search("x is a number, but a string is expected", refused("x LIKE 'a'"))
    require_typed(parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS X + 1 > 2 AND s LIKE 'a%')"), schema)


def test_a_name_that_may_be_two_columns_is_refused() -> None:
    q = parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS Price > 1)")
    with pytest.raises(IllFormed, match='write it as "price"'):
        resolved(q, ["price", "PRICE"])
    assert show_expression(resolved(q, ["price", "x"]).define[0].condition) == '"price" > 1'


def test_nesting_is_bounded() -> None:
    with pytest.raises(BudgetExceeded, match="nested more than 200"):
        parse(f"MATCH_RECOGNIZE (PATTERN ({'(' * 300}A{')*' * 300}))")


def test_what_the_text_leaves_open_is_the_default_of_the_tree() -> None:
    A, x = rows.RowVariable("A"), rows.RowColumn("x")
    assert pattern("A{2}") == rows.Quantified(A, 2, 2)
    assert pattern("A??") == rows.Quantified(A, 0, 1, False)
    for text, e in {
        "PREV(x) = 1": rows.RowComparison(rows.Physical("PREV", x), "=", rows.RowConstant(1)),
        "x IS NULL": rows.IsNull(x),
        "x IN (1)": rows.RowIn(x, (rows.RowConstant(1),)),
        "x LIKE 'a'": rows.RowLike(x, rows.RowConstant("a")),
        "x BETWEEN 1 AND 2": rows.RowBetween(x, rows.RowConstant(1), rows.RowConstant(2)),
    }.items():
        assert condition(text) == e


def pattern(text: str) -> rows.Pattern:
    return parse(f"MATCH_RECOGNIZE (PATTERN ({text}))").pattern


def test_the_samples_of_a_quantifier_are_all_its_forms() -> None:
    (quantified,) = (one for one in PATTERNS.values() if one.node is rows.Quantified)
    forms = {show_pattern(make(rows.RowVariable("A"))) for make in quantified.samples}
    bounds = ("*", "+", "?", "{2}", "{0,2}", "{1,2}", "{2,}", "{0}")
    assert forms == {f"A{bound}{reluctant}" for bound in bounds for reluctant in ("", "?")}


def test_the_columns_of_a_table_of_arrow_are_those_of_its_schema() -> None:
    table = Stream.from_table(pa.table({"type": ["row", "A"], "x": [1, 2], "z": pa.array([None, None], pa.int64())}))
    assert columns_of(table) == ("type", "x", "z")
    assert column_values(table) == {"type": ["row", "A"], "x": [1, 2], "z": [None, None]}
    assert columns_of(Stream.from_table(pa.table({"type": ["row", "row"], "x": [1, 2]}))) == ("x",)


def test_a_clause_that_is_nested_too_deeply_is_refused() -> None:
    text = "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {}x = 1)"
    parse(text.format("NOT " * 100))
    with pytest.raises(BudgetExceeded, match="the clause is nested more than 200 operators deep"):
        parse(text.format("NOT " * 200))


# ---- dialects ----
# Dialects of MATCH_RECOGNIZE: what each takes, refuses and means, and translations that keep the matches.


def in_dialect(text: str, name: str) -> Any:
    dialect = dialect_named(name)
    q = parse(f"MATCH_RECOGNIZE ({text})", dialect)
    require_in_dialect(q, dialect)
    return q


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("standard", "NULLIF(x, 1)", "CASE WHEN x = 1 THEN NULL ELSE x END"),
        ("standard", "MOD(x, 2)", "x % 2"),
        ("oracle", "NVL(x, 1)", "COALESCE(x, 1)"),
        ("oracle", "NVL2(x, 1, 2)", "CASE WHEN x IS NOT NULL THEN 1 ELSE 2 END"),
        ("snowflake", "IFF(x > 1, 2, 3)", "CASE WHEN x > 1 THEN 2 ELSE 3 END"),
        ("trino", "IF(x > 1, 2)", "CASE WHEN x > 1 THEN 2 ELSE NULL END"),
        ("snowflake", "LAG(x)", "CASE WHEN COUNT(*) > 1 THEN PREV(x) ELSE NULL END"),
        ("snowflake", "lead(x, 2)", "CASE WHEN FINAL COUNT(*) >= COUNT(*) + 2 THEN NEXT(x, 2) ELSE NULL END"),
        ("snowflake", "x::NUMBER(10,2)", "ROUND(CAST(x AS DOUBLE), 2)"),
        ("snowflake", "t::date", "DATE_TRUNC('DAY', CAST(t AS TIMESTAMP))"),
        ("snowflake", "DATEADD(hour, -2, t)", "t + -2 * INTERVAL '1' HOUR"),
        ("snowflake", "DATEADD('month', x, t)", "ADD_MONTHS(t, x)"),
        ("snowflake", "TIMEDIFF(minute, t, u)", "DATEDIFF('MINUTE', t, u)"),
        ("oracle", "TRUNC(t, 'HH24')", "DATE_TRUNC('HOUR', t)"),
        ("oracle", "NUMTODSINTERVAL(x, 'MINUTE')", "x * INTERVAL '1' MINUTE"),
        ("oracle", "TO_DATE('01-APR-11', 'DD-MON-RR')", "TIMESTAMP '2011-04-01 00:00:00'"),
        ("oracle", "DECODE(x, 1, 'a', 'b')", "CASE WHEN x = 1 OR x IS NULL AND 1 IS NULL THEN 'a' ELSE 'b' END"),
        ("trino", "date_add('day', x, t)", "t + x * INTERVAL '1' DAY"),
        ("databricks", "DATE_ADD(t, 7)", "DATE_TRUNC('DAY', CAST(t AS TIMESTAMP)) + 7 * INTERVAL '1' DAY"),
        ("databricks", "DATEADD(day, 7, t)", "t + 7 * INTERVAL '1' DAY"),
        ("databricks", "DATEDIFF(t, u)", "DATEDIFF('DAY', u, t)"),
        ("bigquery", "TIMESTAMP_SUB(MAX(t), INTERVAL 3 HOUR)", "MAX(t) - INTERVAL '3' HOUR"),
        ("bigquery", "MAX(TIMESTAMP_TRUNC(t, HOUR))", "MAX(DATE_TRUNC('HOUR', t))"),
        ("bigquery", "MAX(MATCH_ROW_NUMBER())", "CASE WHEN COUNT(*) > 0 THEN COUNT(*) ELSE NULL END"),
        ("duckdb", "date_sub('hour', t, u)", "TIMESTAMPDIFF('HOUR', t, u)"),
        ("flink", "TIMESTAMPADD(MINUTE, 5, t)", "t + 5 * INTERVAL '1' MINUTE"),
        ("azure", "DATEADD(second, x, t)", "t + x * INTERVAL '1' SECOND"),
        ("standard", "x IS NOT DISTINCT FROM 1", "COALESCE(x = 1, x IS NULL AND 1 IS NULL)"),
        ("oracle", "CAST(t AS DATE)", "DATE_TRUNC('SECOND', CAST(t AS TIMESTAMP))"),
        (
            "oracle",
            "TRUNC(t) - MIN(TO_DATE('01-APR-11', 'DD-MON-RR'))",
            "TIMESTAMPDIFF('SECOND', MIN(TIMESTAMP '2011-04-01 00:00:00'), DATE_TRUNC('DAY', t)) / 86400.0",
        ),
        (
            "snowflake",
            "DATE(t) + 1 - DATE '2026-01-01'",
            "DATEDIFF('DAY', TIMESTAMP '2026-01-01 00:00:00', DATE_TRUNC('DAY', CAST(t AS TIMESTAMP)) + 1)",
        ),
        ("snowflake", "TO_DATE(t)", "DATE_TRUNC('DAY', CAST(t AS TIMESTAMP))"),
        ("bigquery", "DATE(t)", "DATE_TRUNC('DAY', CAST(t AS TIMESTAMP))"),
        ("trino", "to_unixtime(t)", "EXTRACT(EPOCH FROM t)"),
        ("trino", "TIMESTAMP '2026-03-01 10:00:00 UTC'", "TIMESTAMP '2026-03-01 10:00:00'"),
        ("duckdb", "TIMESTAMP '2026-03-01 10:00:00 +02:00'", "TIMESTAMP '2026-03-01 08:00:00'"),
        ("trino", "from_iso8601_timestamp(s)", "CAST(s AS TIMESTAMP)"),
        *(
            (name, text, "CAST(FLOOR(EXTRACT(EPOCH FROM t)) AS BIGINT)")
            for name, text in (
                ("bigquery", "UNIX_SECONDS(t)"),
                ("databricks", "unix_timestamp(t)"),
                ("snowflake", "DATE_PART(epoch_second, t)"),
                ("snowflake", "EXTRACT(epoch FROM t)"),
            )
        ),
        *(
            (name, f"{function}(x > 1)", "COUNT(CASE WHEN x > 1 THEN 1 ELSE NULL END)")
            for name, function in (("trino", "count_if"), ("bigquery", "COUNTIF"), ("databricks", "COUNT_IF"))
        ),
        ("trino", "STARTS_WITH(s, 'a')", "SUBSTRING(s, 1, CHAR_LENGTH('a')) = 'a'"),
        ("snowflake", "MATCH_SEQUENCE_NUMBER()", "COUNT(*)"),
        ("snowflake", "CLASSIFIER", "CLASSIFIER()"),
        ("snowflake", "match_number", "MATCH_NUMBER()"),
        ("bigquery", '"text"', "'text'"),
        ("bigquery", "`a b`", '"a b"'),
        ("duckdb", "LEAST(x, 3)", "CASE WHEN 3 IS NULL OR x <= 3 THEN x ELSE 3 END"),
    ],
)
def test_what_a_dialect_has_beside_the_standard(name: str, text: str, value: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))", dialect_named(name))
    assert show_expression(q.measures[0].expression) == value


@pytest.mark.parametrize("name", ["standard", "duckdb"])
def test_least_and_greatest_of_null(name: str) -> None:
    """NULL where one argument is, but the others' in DuckDB."""
    for text, expected in (("LEAST(x, y, 5)", 3), ("GREATEST(x, y, 5)", 7)):
        text = text.replace("5)", f"5{', 5' * 20})")  # in steps whose number is not exponential
        q = parse(f"MATCH_RECOGNIZE (MEASURES {text} AS m PATTERN (A))", dialect_named(name))
        table = cerify.match(q, [{"x": 7, "y": 3}, {"x": 7, "z": 1}, {"y": 3}], output="rows")
        nulls = [5, 3] if text.startswith("LEAST") else [7, 5]
        assert [row[0] for row in table.rows] == [expected, *(nulls if name == "duckdb" else [None, None])]


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("bigquery", "ORDER BY x PATTERN (A) DEFINE A AS TRUE", "requires MEASURES"),
        ("bigquery", "MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE", "requires ORDER BY"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A B) DEFINE A AS TRUE", "DEFINE B AS TRUE"),
        ("bigquery", "ORDER BY x MEASURES A.x AS n PATTERN (A) DEFINE A AS TRUE", "outside an aggregate"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS COUNT(*) > 1", "in DEFINE"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A{2}?) DEFINE A AS TRUE", "reluctant"),
        ("bigquery", "ORDER BY x MEASURES COUNT(*) AS n ALL ROWS PER MATCH PATTERN (A) DEFINE A AS TRUE", "ALL ROWS"),
        ("flink", "ORDER BY x PATTERN (A | B) DEFINE A AS TRUE", "alternation"),
        ("flink", "ORDER BY x PATTERN ((A B)+ C) DEFINE A AS TRUE", "a group"),
        ("flink", "ORDER BY x PATTERN (A B*) DEFINE A AS TRUE", "greedy"),
        ("flink", "ORDER BY x PATTERN (A B) DEFINE A AS x > PREV(x)", "PREV and NEXT"),
        ("flink", "ORDER BY x PATTERN (^ A) DEFINE A AS TRUE", r"\^ and"),
        ("flink", "ORDER BY x PATTERN (A)", "requires DEFINE"),
        ("snowflake", "PATTERN (A B) SUBSET U = (A, B) DEFINE A AS TRUE", "SUBSET"),
        ("oracle", "MEASURES CLASSIFIER(A) AS c PATTERN (A) DEFINE A AS TRUE", "CLASSIFIER with an argument"),
        ("oracle", "PATTERN (A)", "requires DEFINE"),
        ("snowflake", "PATTERN (A) DEFINE A AS x > LAG(x, 1, 0)", "takes 1 to 2 arguments"),
        ("snowflake", "PATTERN (A) DEFINE A AS x > LAG(x, y)", "whole number"),
        ("trino", "PATTERN (A) DEFINE A AS NULLIF(x) = 1", "takes 2 arguments"),
        ("trino", "PARTITION BY LOWER(s) PATTERN (A) DEFINE A AS TRUE", "expressions in PARTITION BY"),
        ("databricks", "PATTERN (A+? B) DEFINE A AS TRUE", "reluctant quantifiers"),
        ("databricks", "PATTERN (A ^ B) DEFINE A AS TRUE", "inside a pattern"),
        ("databricks", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS TRUE", "SKIP TO NEXT ROW"),
        (
            "azure",
            "MEASURES A.x AS x AFTER MATCH SKIP PAST LAST ROW PATTERN (A) DEFINE A AS TRUE",
            "SKIP PAST LAST ROW",
        ),
        ("azure", "MEASURES A.x AS x PATTERN (A{2}) DEFINE A AS TRUE", "quantifiers with numbers"),
        ("bigquery", "ORDER BY x MEASURES MAX(STRUCT(x)) AS l PATTERN (A) DEFINE A AS TRUE", "a whole measure"),
        (
            "bigquery",
            "ORDER BY x MEASURES SUM(MATCH_ROW_NUMBER()) AS l PATTERN (A) DEFINE A AS TRUE",
            "as the whole argument of",
        ),
        ("snowflake", "MEASURES LAG(A.x) AS l PATTERN (A) DEFINE A AS TRUE", "not a pattern variable"),
        ("databricks", "PARTITION BY LOWER(s) PATTERN (A) DEFINE A AS TRUE", "expressions in PARTITION BY"),
        ("databricks", "PATTERN (A+) DEFINE A AS SUM(x) < 9", "aggregates in DEFINE"),
        ("snowflake", "PATTERN (A) DEFINE A AS DATEDIFF('fortnight', t, t) = 1", "unit of time"),
        ("snowflake", "PATTERN (A) DEFINE A AS DATE_PART('era', t) = 1", "YEAR, QUARTER, MONTH, DAY, HOUR"),
        ("trino", "PATTERN (A) DEFINE A AS EXTRACT(EPOCH FROM t) > 1", "EXTRACT.EPOCH"),
        ("snowflake", "PATTERN (A) DEFINE A AS median(t) > 1", "COUNT_IF"),
        ("oracle", "PATTERN (A) DEFINE A AS TRUNC(x, 2) > 1", "number of digits"),
        ("duckdb", "PATTERN (A) DEFINE A AS SUBSTR(s, 2, -1) = 'a'", "a negative length counts back"),
        ("oracle", f"PATTERN (A) DEFINE A AS {'ADD_MONTHS(' * 9}t{', 1)' * 9} > t", "are too large to be repeated"),
        ("oracle", "PATTERN (A) DEFINE A AS t > SYSDATE - 1", 'a column is written "SYSDATE"'),
        ("databricks", "PATTERN (A) DEFINE A AS t > current_date", "a column is written `current_date`"),
        ("duckdb", "PATTERN (A) DEFINE A AS t > now()", "the time at which the query runs"),
        ("standard", "ORDER BY CURRENT_TIMESTAMP PATTERN (A)", "the time at which the query runs"),
    ],
)
def test_what_a_dialect_refuses(name: str, text: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason) as error:
        in_dialect(text, name)
    assert error.value.span is not None


def test_options_of_bigquery() -> None:
    clause = "ORDER BY x MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TRUE OPTIONS (use_longest_match = {})"
    assert not in_dialect(clause.format("FALSE"), "bigquery").longest
    q = in_dialect(clause.format("TRUE"), "bigquery")
    assert q.longest
    assert parse(show(q)) == q
    with pytest.raises(Unsupported, match="can only have OPTIONS"):
        in_dialect(clause.replace("use_longest_match", "speed").format("TRUE"), "bigquery")
    with pytest.raises(Unsupported, match="does not have the longest match"):
        in_dialect(clause.format("TRUE"), "trino")


@pytest.mark.parametrize(
    ("name", "function", "written"),
    [
        ("bigquery", "DATE_DIFF(b, a, DAY)", "DATEDIFF('DAY', a, b)"),
        ("bigquery", "DATETIME_DIFF(b, a, ISOWEEK)", "DATEDIFF('WEEK', a, b)"),
        ("bigquery", "TIMESTAMP_DIFF(b, a, MINUTE)", "TIMESTAMPDIFF('MINUTE', a, b)"),
        ("databricks", "DATEDIFF(HOUR, a, b)", "TIMESTAMPDIFF('HOUR', a, b)"),
        ("duckdb", "DATE_DIFF('hour', a, b)", "DATEDIFF('HOUR', a, b)"),
        ("duckdb", "DATEDIFF('week', a, b)", "TIMESTAMPDIFF('WEEK', DATE_TRUNC('DAY', a), DATE_TRUNC('DAY', b))"),
        ("trino", "DATE_DIFF('hour', a, b)", "TIMESTAMPDIFF('HOUR', a, b)"),
    ],
)
def test_differences_by_unit(name: str, function: str, written: str) -> None:
    q = in_dialect(f"ORDER BY a MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS {function} > 1", name)
    assert show_expression(q.conditions["A"]) == f"{written} > 1"


def test_weeks_of_bigquery_begin_on_sunday() -> None:
    with pytest.raises(Unsupported, match="ISOWEEK"):
        in_dialect("ORDER BY a MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS DATE_DIFF(b, a, WEEK) > 1", "bigquery")


def test_names_are_quoted_by_the_dialect() -> None:
    with pytest.raises(ParseError, match="not with backticks"):
        in_dialect("PATTERN (A) DEFINE A AS `x` > 1", "trino")
    assert in_dialect("ORDER BY y PATTERN (A) DEFINE A AS `x` > 1", "flink")
    for part in ("PARTITION", "ORDER"):
        with pytest.raises(ParseError, match=r"quoted with backticks: `user\.id`"):
            in_dialect(f'{part} BY "user.id" PATTERN (A) DEFINE A AS TRUE', "databricks")
    with pytest.raises(IllFormed, match="did you mean 'snowflake'"):
        dialect_named("snowflakes")


@pytest.mark.parametrize(
    ("name", "rows", "first"),
    [("standard", [1, None], 1), ("trino", [1, None], 1), ("bigquery", [1, None], None), ("flink", [1, None], None)],
)
@pytest.mark.parametrize("direction", ["ASC", "DESC"])
def test_the_place_of_null(name: str, rows: list[int | None], first: int | None, direction: str) -> None:
    q = parse(f"MATCH_RECOGNIZE (ORDER BY x {direction} MEASURES LAST(y) AS y PATTERN (A))", dialect_named(name))
    table = [{"x": x, "y": i} if x is not None else {"y": i} for i, x in enumerate(rows)]
    made = cerify.match(with_meant_nulls(q, dialect_named(name)), table, output="rows")
    nulls_first = {"standard": direction == "DESC", "trino": False}.get(name, direction == "ASC")
    assert [row[0] for row in made.rows] == ([1, 0] if nulls_first else [0, 1])


def test_flink_goes_on_at_the_next_row() -> None:
    text = "ORDER BY x PATTERN (A B) DEFINE B AS TRUE"
    found = {
        name: len(cerify.match(in_dialect(text, name), [{"x": i} for i in range(4)]))
        for name in ("standard", "flink", "trino")
    }
    assert found == {"standard": 2, "flink": 3, "trino": 2}


def test_division_is_exact_where_the_dialect_has_it_so() -> None:
    q = in_dialect("MEASURES A.x / 2 AS h PATTERN (A) DEFINE A AS TRUE", "oracle")
    assert meant_reading(q.expressions, DIALECTS["oracle"]) == RowReading(integer_division="exact")
    assert meant_reading(q.expressions, DIALECTS["trino"]) == RowReading()


@cache
def random_clause(seed: int, source: str) -> tuple[MatchRecognize, Stream, list[Match] | None]:
    """A clause in the dialect, a stream, and its matches; None where there is no answer."""
    here = dialect_named(source)
    q, S = cerify.generate("row-pattern", seed=seed, profile="everything", nodes=8, events=6)
    q = parse(show(q), here)
    meant, reading = with_meant_nulls(q, here), meant_reading(q.expressions, here)
    try:
        return q, S, cerify.match(meant, S, language="row-pattern", row_reading=reading)
    except CerifyError:
        return q, S, None


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("source", sampled(["standard", "trino", "duckdb"], ["standard"]))
@pytest.mark.slow
def test_random_clauses_keep_their_matches_in_another_dialect(source: str, target: str) -> None:
    """What is translated without a difference has the same matches under the other dialect's meaning."""
    here, there = dialect_named(source), dialect_named(target)
    translated = refused = 0
    for seed in range(80):
        q, S, mine = random_clause(seed, source)
        try:
            text, differences = show_in_dialect(q, here, there)
        except Unsupported:
            refused += 1
            continue
        if differences or mine is None:
            continue
        again = with_meant_nulls(parse(text, there), there)
        try:
            theirs = cerify.match(again, S, language="row-pattern", row_reading=meant_reading(again.expressions, there))
        except CerifyError:
            continue
        assert mine == theirs, text
        translated += 1
    assert translated > 20 or refused > 20


def test_a_translation_writes_what_the_other_dialect_reads() -> None:
    q = in_dialect(
        "PARTITION BY sym ORDER BY day MEASURES FINAL LAST(B.price) AS p PATTERN (A B+) "
        'DEFINE A AS TRUE, B AS MOD(price, 2) = 1 AND CAST(price AS BIGINT) > "it is"',
        "trino",
    )
    text, differences = show_in_dialect(q, DIALECTS["trino"], DIALECTS["bigquery"])
    assert differences == ()
    assert "ORDER BY day NULLS LAST" in text
    assert "MEASURES LAST(B.price) AS p AFTER MATCH" in text
    assert "MOD(price, 2) = 1 AND CAST(price AS INT64) > `it is`" in text
    divided = in_dialect("MEASURES A.x / 2 AS h PATTERN (A) DEFINE A AS TRUE", "trino")
    assert "division" in show_in_dialect(divided, DIALECTS["trino"], DIALECTS["oracle"])[1][0]
    with pytest.raises(Unsupported, match="does not have alternation"):
        show_in_dialect(
            in_dialect("ORDER BY x PATTERN (A | B) DEFINE A AS TRUE", "trino"), DIALECTS["trino"], DIALECTS["flink"]
        )


@pytest.mark.parametrize(
    ("source", "text", "target", "written"),
    [
        ("standard", "MEASURES LENGTH(FIRST(z)) AS l PATTERN (A) DEFINE A AS TRUE", "oracle", "LENGTH(FIRST(z)) AS l"),
        ("oracle", "MEASURES SUBSTR(z, 2) AS l PATTERN (A) DEFINE A AS TRUE", "duckdb", "NULLIF(SUBSTRING(z, 2), '')"),
        ("standard", "PATTERN (A) DEFINE A AS t > u - INTERVAL '1:30' HOUR TO MINUTE", "trino", "INTERVAL '90' MINUTE"),
        ("duckdb", "PATTERN (A) DEFINE A AS t > u - INTERVAL 90 MINUTE", "snowflake", "INTERVAL '90 MINUTE'"),
        ("snowflake", "PATTERN (A) DEFINE A AS DATEDIFF(hour, t, u) > 1", "duckdb", "DATEDIFF('HOUR', t, u)"),
        ("flink", "ORDER BY t PATTERN (A) DEFINE A AS TIMESTAMPDIFF(DAY, t, u) > 1", "trino", "DATE_DIFF('DAY', t, u)"),
        ("bigquery", "ORDER BY t MEASURES COUNT(*) AS n PATTERN (A) DEFINE A AS TIMESTAMP_DIFF(u, t, DAY) > 1", "trino",
         "DATE_DIFF('DAY', t, u)"),
        ("duckdb", "ORDER BY o MEASURES STRING_AGG(z, '-' ORDER BY t DESC) AS l PATTERN (A) DEFINE A AS TRUE", "oracle",
         "LISTAGG(z, '-') WITHIN GROUP (ORDER BY t DESC) AS l"),
        ("trino", "ORDER BY o MEASURES ARRAY_AGG(z ORDER BY t) AS l PATTERN (A) DEFINE A AS TRUE", "snowflake",
         "ARRAY_AGG(z) WITHIN GROUP (ORDER BY t) AS l"),
        ("snowflake", "ORDER BY o MEASURES LISTAGG(z, '-') WITHIN GROUP (ORDER BY t) AS l PATTERN (A) DEFINE A AS TRUE",
         "bigquery", "STRING_AGG(z, '-' ORDER BY t) AS l"),
        *(
            ("snowflake", f"ORDER BY t MEASURES {months} AS s PATTERN (A) DEFINE A AS TRUE", target, written)
            for months, target, written in (
                ("ADD_MONTHS(t, 1)", "snowflake", "MEASURES ADD_MONTHS(t, 1) AS"),
                ("ADD_MONTHS(t, 1)", "oracle", "MEASURES ADD_MONTHS(t, 1) AS"),
                ("ADD_MONTHS(t, 1)", "databricks", "ELSE DATEADD(MONTH, 1, t) END AS"),
                ("DATEADD(month, 1, t)", "snowflake", "MEASURES DATEADD(MONTH, 1, t) AS"),
                ("DATEADD(month, 1, t)", "standard", "MEASURES ADD_MONTHS(t, 1) AS"),
            )
        ),
        ("trino", "PATTERN (A) DEFINE A AS DATE_DIFF('hour', t, u) > 1", "duckdb", "DATE_SUB('HOUR', t, u)"),
        ("duckdb", "PATTERN (A) DEFINE A AS DATE_DIFF('week', t, u) > 1", "duckdb", "DATE_SUB('WEEK', DATE_TRUNC("),
        ("databricks", "MEASURES ADD_MONTHS(t, 1) AS s PATTERN (A) DEFINE A AS TRUE", "databricks",
         "MEASURES ADD_MONTHS(t, 1) AS s"),
        ("trino", "MEASURES EXTRACT(SECOND FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle",
         "CAST(FLOOR(EXTRACT(SECOND FROM t)) AS NUMBER(19)) AS s"),
    ],
)  # fmt: skip
def test_times_and_functions_from_one_dialect_to_another(source: str, text: str, target: str, written: str) -> None:
    q = parse(f"MATCH_RECOGNIZE ({text})", DIALECTS[source])  # type: ignore[index]
    assert written in show_in_dialect(q, DIALECTS[source], DIALECTS[target])[0]  # type: ignore[index]


@pytest.mark.parametrize(
    ("source", "text", "target"),
    [
        ("snowflake", "MEASURES DATEDIFF(DAY, t, u) AS d PATTERN (A) DEFINE A AS TRUE", "trino"),
        ("standard", "MEASURES EXTRACT(SECOND FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "trino"),
        ("standard", "MEASURES EXTRACT(EPOCH FROM t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle"),
        ("standard", "MEASURES DATE_TRUNC('day', t) AS s PATTERN (A) DEFINE A AS TRUE", "oracle"),
    ],
)
def test_what_means_something_else_in_a_dialect_is_not_translated(source: str, text: str, target: str) -> None:
    q = parse(f"MATCH_RECOGNIZE ({text})", DIALECTS[source])  # type: ignore[index]
    with pytest.raises(Unsupported):
        show_in_dialect(q, DIALECTS[source], DIALECTS[target])  # type: ignore[index]


def test_within_is_less_than_its_width_in_flink() -> None:
    minutes = [datetime(2020, 1, 1, 0, n, tzinfo=UTC) for n in (0, 30, 59)]
    S = table("t", *((t,) for t in minutes))
    text = "MATCH_RECOGNIZE (ORDER BY t AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) WITHIN INTERVAL '30' MINUTE {})"
    for define in ("DEFINE A AS TRUE", "DEFINE B AS TRUE"):
        q = parse(text.format(define), DIALECTS["flink"])
        for evaluator in ("denotational", "automaton"):
            assert [m.events for m in cerify.match(q, S, language="row-pattern", evaluator=evaluator)] == [(1, 2)]
