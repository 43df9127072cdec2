"""SELECT statements around MATCH_RECOGNIZE: what they give, and what is refused with its place."""

import json
from pathlib import Path

import pytest

from cerify import cli
from cerify.semantics.errors import CerifyError, IllFormed, ParseError, Unsupported
from cerify.semantics.row_pattern.statement import is_statement, parse_statement
from cerify.statements import read_pasted, select

PRICES = [{"sym": "a", "day": i, "price": p} for i, p in enumerate([12, 10, 8, 11, 15, 14, 9, 13])]
PRICES += [{"sym": "b", "day": i, "price": p} for i, p in enumerate([5, 3, 4])]
CLAUSE = """MATCH_RECOGNIZE (
    PARTITION BY sym ORDER BY day  -- the days, in ORDER
    MEASURES A.day AS first_day, LAST(UP.day) AS last_day /* ) */, MATCH_NUMBER() AS n
    AFTER MATCH SKIP TO LAST UP
    PATTERN (A DOWN+ UP+) DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))"""


@pytest.mark.parametrize(
    ("statement", "columns", "rows"),
    [
        ("SELECT * FROM t {}", ("sym", "first_day", "last_day", "n"), (("a", 0, 4, 1), ("a", 4, 7, 2), ("b", 0, 2, 1))),
        ("select m.N, SYM from db.t {} as m order by first_day desc, m.sym;", ("n", "sym"),
         ((2, "a"), (1, "a"), (1, "b"))),
        ("SELECT last_day - first_day AS days FROM t {} m WHERE n = 1 ORDER BY days", ("days",), ((2,), (4,))),
        ("SELECT last_day - first_day days, sym s FROM t {} ORDER BY s DESC LIMIT 1", ("days", "s"), ((2, "b"),)),
        ("SELECT n FROM t {} WHERE sym <> 'x WHERE, ''FROM' AND n > 1", ("n",), ((2,),)),
        ("SELECT m.*, n + 1 FROM t {} AS m FETCH FIRST 1 ROW ONLY", ("sym", "first_day", "last_day", "n", "n + 1"),
         (("a", 0, 4, 1, 2),)),
        ("SELECT CASE WHEN n > 1 THEN 'x' ELSE NULL END AS c FROM t {} ORDER BY c NULLS FIRST, sym", ("c",),
         ((None,), (None,), ("x",))),
        ("SELECT CASE WHEN n > 1 THEN 'x' ELSE NULL END AS c FROM t {} ORDER BY c DESC LIMIT 1", ("c",), ((None,),)),
        ("SELECT sym FROM t {} WHERE NULLIF(n, 1) = 2", ("sym",), (("a",),)),
        ("SELECT NOT n FROM t {} WHERE sym = 'b'", ("NOT n",), ((None,),)),
        ("SELECT sym FROM t {} WHERE NULLIF(n, 1) > 5 OR n IS NULL", ("sym",), ()),
    ],
)  # fmt: skip
def test_what_a_statement_gives(statement: str, columns: tuple[str, ...], rows: tuple[object, ...]) -> None:
    made = select(statement.format(CLAUSE), PRICES)
    assert (made.columns, made.rows) == (columns, rows)


@pytest.mark.parametrize(
    ("statement", "kind", "message", "place"),
    [
        ("SELECT * FROM t JOIN u {}", Unsupported, "JOIN is not carried", "JOIN"),
        ("SELECT sym FROM t {} GROUP BY sym", Unsupported, "GROUP BY is not carried", "GROUP BY"),
        ("SELECT * FROM (SELECT 1) {}", Unsupported, "SELECT is not carried", "SELECT"),
        ("SELECT DISTINCT sym FROM t {}", Unsupported, "DISTINCT is not carried", "DISTINCT"),
        ("WITH u AS (t) SELECT * FROM u {}", Unsupported, "WITH is not carried", "WITH"),
        ("SELECT * FROM t, u {}", Unsupported, "two tables", " t, u "),
        ("SELECT * {}", ParseError, "FROM is missing", "SELECT * "),
        ("SELECT * FROM t {} LIMIT 3 WHERE n = 1", ParseError, "in this order", None),
        ("SELECT * FROM t {} WHERE n = 1 WHERE n = 2", ParseError, "once each", None),
        ("SELECT * FROM t {} LIMIT n", ParseError, "whole number of rows", " n"),
        ("SELECT sym, FROM t {}", ParseError, "is missing here", " "),
        ("SELECT nope FROM t {}", IllFormed, "no column nope; it has sym", "nope"),
        ("SELECT x.sym FROM t {} AS m", IllFormed, "not called X; it is m", "x.sym"),
        ("SELECT n + FROM t {}", ParseError, "not expected", None),
        ("SELECT FIRST(n) FROM t {}", Unsupported, "not around the clause", "FIRST(n)"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A)", ParseError, "not closed", "("),
        ("SELECT * FROM t", ParseError, "no MATCH_RECOGNIZE", "SELECT * FROM t"),
        ("SELECT * FROM t MATCH_RECOGNIZE (PATTERN (A B) DEFINE C AS price > )", ParseError, "not expected", ")"),
    ],
)
def test_what_is_refused_is_shown_where_it_is(
    statement: str, kind: type[CerifyError], message: str, place: str | None
) -> None:
    text = statement.format(CLAUSE)
    with pytest.raises(kind, match=message) as error:
        select(text, PRICES)
    assert error.value.text == text
    assert error.value.span is not None
    if place is not None:
        assert text[error.value.span.start : error.value.span.end] == place


def test_a_refusal_of_a_dialect_has_its_place_in_the_statement() -> None:
    text = "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY day PATTERN (A | B C) DEFINE A AS price > 3)"
    with pytest.raises(Unsupported, match="Flink SQL does not have alternation") as error:
        read_pasted(text, "flink")
    assert error.value.span is not None
    assert text[error.value.span.start : error.value.span.end] == "A | B C"


def test_two_measures_of_one_name_are_refused() -> None:
    with pytest.raises(CerifyError, match="2 times"):
        select("SELECT * FROM t MATCH_RECOGNIZE (MEASURES A.price AS p, A.day AS p PATTERN (A))", PRICES)


def test_what_is_a_statement() -> None:
    assert is_statement("  -- first\n select 1")
    assert is_statement("WITH a AS (SELECT 1) SELECT * FROM a")
    assert not is_statement("MATCH_RECOGNIZE (PATTERN (A))")
    assert parse_statement('SELECT * FROM "a b".c MATCH_RECOGNIZE (PATTERN (A)) "my m"').alias == "my m"


@pytest.mark.parametrize(
    ("dialect", "text", "rows"),
    [
        ("snowflake", "SELECT msq, c FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES "
         "MATCH_SEQUENCE_NUMBER() msq, CLASSIFIER c ALL ROWS PER MATCH PATTERN (A B) DEFINE B AS price < LAG(price)) "
         "WHERE day < 3 LIMIT 2", ((1, "A"), (2, "B"))),
        ("bigquery", "SELECT n FROM t MATCH_RECOGNIZE (PARTITION BY `sym` ORDER BY day MEASURES COUNT(A.day) AS n "
         "PATTERN (A+) DEFINE A AS sym = \"b\")", ((3,),)),
        ("oracle", "SELECT h FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES A.price / 8 AS h PATTERN (A) "
         "DEFINE A AS price = 12)", ((1.5,),)),
        ("trino", "SELECT h FROM t MATCH_RECOGNIZE (ORDER BY day MEASURES A.price / 8 AS h PATTERN (A) "
         "DEFINE A AS price = 12)", ((1,),)),
        ("flink", "SELECT f FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY day MEASURES A.day AS f PATTERN (A B) "
         "DEFINE A AS price < 12, B AS price < 12)", ((1,), (2,), (0,), (1,))),
    ],
)  # fmt: skip
def test_statements_of_dialects(dialect: str, text: str, rows: tuple[object, ...]) -> None:
    assert select(text, PRICES, dialect=dialect).rows == rows


def run(*argv: object, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setattr("sys.argv", ["cerify", *map(str, argv)])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    return (int(ended.value.code or 0), *capfd.readouterr())


def test_the_commands_take_statements_and_dialects(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in PRICES), encoding="utf-8")
    text = f"SELECT n AS k FROM t {CLAUSE} m WHERE n = 2;"

    def match(*more: object) -> tuple[int, str, str]:
        return run("match", *more, "--language", "row-pattern", "--json", capfd=capfd, monkeypatch=monkeypatch)

    assert json.loads(match(text, file)[1]) == {"columns": ["k"], "rows": [[2]]}
    assert len(match(text, file, "--output", "matches")[1].splitlines()) == 3
    halves = "SELECT h FROM t MATCH_RECOGNIZE (MEASURES A.price / 8 AS h PATTERN (A) DEFINE A AS price = 12)"
    answers = [
        json.loads(match(halves, file, *more)[1])["rows"]
        for more in ((), ("--dialect", "oracle"), ("--dialect", "oracle", "--reading", "integer_division=truncated"))
    ]
    assert answers == [[[1]], [[1.5]], [[1]]]
    status, _, err = match(f"SELECT * FROM t {CLAUSE} JOIN u", file)
    assert status == 2
    assert "JOIN is not carried" in err
    asked = ("translate", "MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS x > LAG(x))", "--from", "row-pattern")
    status, out, _ = run(
        *asked, "--to", "row-pattern", "--dialect", "snowflake", "--to-dialect", "trino", "--json",
        capfd=capfd, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert status == 0
    assert "x > PREV(x)" in json.loads(out)["query"]
    status, out, _ = run(
        *asked, "--to", "row-pattern", "--dialect", "snowflake", "--to-dialect", "flink",
        capfd=capfd, monkeypatch=monkeypatch,
    )  # fmt: skip
    assert status == 1
    assert "no translation: Flink SQL requires ORDER BY" in out
