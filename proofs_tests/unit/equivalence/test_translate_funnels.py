"""Funnels in CEL and in SQL: the same levels on random rows, and each difference that is said on its stream."""

import re
import sqlite3
from itertools import accumulate
from random import Random

import pytest

import cerify
from cerify.equivalence.rewrite.translate_clickhouse import (
    DIFFERENCES,
    call_to_cel,
    call_to_row_pattern,
    parse_call,
    steps_of,
)
from cerify.equivalence.rewrite.translate_funnels import DIALECTS, chain_of, funnel_sql, query_text
from cerify.funnels import answer_question
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import CerifyError, ParseError, Unsupported
from cerify.semantics.funnel_queries import FunnelQuestion, parse_keyed_question, parse_step, parse_window
from cerify.semantics.funnels import (
    FUNNEL_MODES,
    ChainReading,
    Rows,
    deepest_chain,
    parse_sequence_pattern,
    sequence_count,
)
from proofs_tests.campaigns.funnels import PATTERNS, random_rows
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.test_funnels import rows_of

LETTERS = "-ABCD"
WITHOUT_C = "(START(A ; B) UNLESS C) OR PROJECT[A, B]((A OR B OR C) IN before ; (START(A ; B) UNLESS C))"
BESIDE_A_STAR = ("(?1).*(?t<=3)(?2)", "(?1)(?t<=3).*(?2)")


def random_log(random: Random, keys: int, n: int) -> tuple[list[Rows], list[dict[str, object]]]:
    """Return rows of one step each, and events of all keys, mixed: those of a key in its order."""
    cases = [[row for row in random_rows(random, n) if len(row.steps) < 2] for _ in range(keys)]
    events = [(random.random(), key, i, row) for key, rows in enumerate(cases) for i, row in enumerate(rows)]
    weights = {key: iter(sorted(w for w, k, _, _ in events if k == key)) for key in range(keys)}
    mixed = sorted((next(weights[key]), key, row) for _, key, _, row in events)
    return cases, [
        {"type": LETTERS[max(row.steps, default=0)], "key": key, "time": row.time, "x": row.time % 3}
        for _, key, row in mixed
    ]


@pytest.mark.parametrize("strict", [False, True])
def test_the_query_of_a_funnel_has_a_match_where_the_level_is_the_last(strict: bool) -> None:
    cases, events = random_log(Random(5 + strict), 60, 3)
    question = FunnelQuestion(
        tuple(map(parse_step, "ABC")), "key", parse_window("10 seconds"), order="strict" if strict else "stream"
    )
    text = query_text(question, ())
    assert chain_of(parse(text)).steps == question.steps
    stream = cerify.Stream([{**e, "type": "N" if e["type"] == "-" else e["type"]} for e in events])
    reached = {stream[match.events[0]].attributes["key"] for match in cerify.match(text, stream)}
    reading = ChainReading(window=10, increasing=strict)
    assert reached == {key for key, rows in enumerate(cases) if len(deepest_chain(rows, 3, reading)) == 3}


@pytest.mark.thorough
def test_the_query_with_nothing_between_looks_at_the_chain_alone() -> None:
    question = FunnelQuestion((parse_step("A"), parse_step("B")), between=parse_step("C"))
    text = query_text(question, "ABCD")
    random = Random(2)
    for _ in range(300):
        types = random.choices("ABCD", k=random.randint(1, 7))
        rows = rows_of(" ".join(f"{i}:{'!' if t == 'C' else t if t in 'AB' else '-'}" for i, t in enumerate(types)))
        found = cerify.match(text, [{"type": t} for t in types])
        assert bool(found) == (len(deepest_chain(rows, 2)) == 2), types


@pytest.mark.thorough
@pytest.mark.parametrize("by", [None, "key"])
@pytest.mark.parametrize("window", sampled([None, "5 [time]", "4 seconds"], ["4 seconds"]))
def test_the_query_with_nothing_between_has_the_window_of_the_chain(by: str | None, window: str | None) -> None:
    random = Random(3)
    seen = set()
    for _ in range(100):
        times = accumulate(random.choices([1, 2, 3], k=random.randint(2, 8)))
        log = [{"type": random.choice("AABBC"), "key": random.randint(0, 1), "time": time} for time in times]
        funnel = cerify.funnel(log, ["A", "B"], by=by, between="not C", within=window)
        stream = cerify.Stream(log)
        reached = {stream[m.events[0]].attributes["key"] if by else 0 for m in cerify.match(funnel.query, stream)}
        assert len(reached) == funnel.counts[-1].keys, (log, funnel.query)
        seen.add(len(reached))
    assert seen >= {0, 1}


@pytest.mark.parametrize(
    "query",
    [
        "(A ; B ; C) WITHIN 3 [time] PARTITION BY [key]",
        "(A ; B ; C) WITHIN 10 seconds PARTITION BY [key]",
        "A ; B PARTITION BY [key]",
        "(A ; B ; A) PARTITION BY [key]",
        "(A ; B FILTER A[x > 0 or not x = 1] AND B[x / 2 < 1]) WITHIN 9 seconds PARTITION BY [key]",
        "(A ; B ; C FILTER A.time < B.time AND B.time < C.time) WITHIN 10 seconds PARTITION BY [key]",
        "(A ; B ; C) WITHIN 10 seconds PER KEY [key]",
        "FUNNEL A, B WITHIN 10 seconds BY key START first",
        "FUNNEL A, B, A BY key BETWEEN not C",
        "FUNNEL A, B WITHIN 4 seconds BY key ORDER strict BETWEEN not C[x > 0]",
        "FUNNEL A, [x > 0] BY key START first BETWEEN not [x = 1]",
        "FUNNEL A, [x > 0] WITHIN 3 seconds BY key START first ORDER strict BETWEEN not B",
    ],
)
def test_window_functions_have_the_levels_of_the_funnel(query: str) -> None:
    _, events = random_log(Random(8), 80, 3)
    question = parse_keyed_question(query) if query.startswith("FUNNEL") else chain_of(parse(query))
    assert isinstance(question, FunnelQuestion)
    sql = funnel_sql(question, "sqlite", position="position")
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE events (position, type, key, time, x)")
    rows = [(i, e["type"], e["key"], e["time"], e["x"]) for i, e in enumerate(events)]
    connection.executemany("INSERT INTO events VALUES (?, ?, ?, ?, ?)", rows)
    got = dict(connection.execute(sql.query).fetchall())
    levels = answer_question(question, cerify.Stream(events)).to_arrow()
    expected = dict(zip(*(levels[name].to_pylist() for name in ("key", "level")), strict=True))
    assert {key: got.get(key, 0) for key in expected} == expected
    assert len(set(expected.values())) > 1


def test_a_query_with_nothing_between_is_read_back() -> None:
    question = FunnelQuestion(
        (parse_step("A"), parse_step("B[x > 1]")), "key", parse_window("9 seconds"), between=parse_step("C[x < 5]")
    )
    read = chain_of(parse(query_text(question, "ABCD")))
    assert (read.steps, read.by, read.between) == (question.steps, "key", question.between)
    assert "PARTITION BY key, barred" in funnel_sql(read, "duckdb").query
    assert chain_of(parse(f"({WITHOUT_C}) PER KEY [k]")).between == parse_step("C")
    with pytest.raises(Unsupported, match="of one type"):
        chain_of(parse(query_text(FunnelQuestion((parse_step("A"),), between=parse_step("[x > 1]")), "AB")))


def test_each_dialect_has_a_query_and_its_own_names() -> None:
    question = chain_of(parse("(view ; pay FILTER pay.select > 1) WITHIN 90 seconds PARTITION BY [user]"))
    found = {dialect: funnel_sql(question, dialect, "shop.log") for dialect in DIALECTS}
    assert "windowFunnel(90, 'strict_once')" in found["clickhouse"].query
    assert all(("`user`" if d in ("clickhouse", "spark") else '"user"') in sql.query for d, sql in found.items())
    assert all("shop.log" in sql.query for sql in found.values())
    assert any("equal time" in one for sql in found.values() for one in sql.differences)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("A+ ; B", "a sequence of event types"),
        ("A : B", "a sequence of event types"),
        ("(A ; B) WITHIN 5 EVENTS", "EVENTS"),
        ("A ; B FILTER A.x = B.x", "condition compares events"),
        ("(A ; B ; C) FILTER A.time < B.time", "each step is later"),
        ("(A ; B) WITHIN 5 [x] WITHIN 5 seconds", "several windows"),
        ("A ; B FILTER A.x like 'a.*'", "regular expressions"),
        ("(A ; B) UNLESS C", "a sequence of event types"),
        ("(A ; B) WITHIN 5 seconds PER KEY [k, l]", "a sequence of event types"),
        (f"({WITHOUT_C}) PARTITION BY [k]", "a sequence of event types"),  # where C may have any key
    ],
)
def test_what_has_no_sql_is_refused(query: str, message: str) -> None:
    with pytest.raises(Unsupported, match=message):
        funnel_sql(chain_of(parse(query)), "postgresql")


def call_of(mode: str, steps: str = "ABC") -> str:
    modes = "" if mode == "windowFunnel" else "".join(f", '{one}'" for one in mode.split(","))
    return f"windowFunnel(10{modes})(time, {', '.join(f'type = {s!r}' for s in steps)})"


@pytest.mark.parametrize("mode", DIFFERENCES)
def test_differences_of_modes_are_on_their_streams_and_nowhere_else_without_equal_times(mode: str) -> None:
    """A mode without a difference has its last level where CEL has a match, on streams with equal times too."""
    assert set(DIFFERENCES) == set(FUNNEL_MODES)
    for told in DIFFERENCES[mode]:
        shown = re.search(r"(?<=: )(\d+:\S+ ?)+(?= is)", told)
        level = re.search(r"is level (\d)", told)
        steps = "ABC" if "of A, B, C" in told else "AB"
        assert shown is not None, told
        assert level is not None, told
        assert FUNNEL_MODES[mode](rows_of(shown[0]), len(steps), 10) == int(level[1])
        increasing = ChainReading(10, increasing="increase" in mode)
        chain = len(deepest_chain(rows_of(shown[0]), len(steps), increasing))
        assert (chain == len(steps)) != (int(level[1]) == len(steps)), told
    query = call_to_cel(call_of(mode)).query
    random = Random(4)
    for _ in range(200):
        rows = [row for row in random_rows(random, 3) if len(row.steps) == 1]
        times = [row.time for row in rows]
        if len(set(times)) < len(times) and DIFFERENCES[mode]:
            continue
        found = cerify.match(query, [{"type": LETTERS[max(row.steps)], "time": row.time} for row in rows])
        exact = mode in ("windowFunnel", "strict_once", "strict_increase", "strict_increase,strict_once")
        reached = FUNNEL_MODES[mode](rows, 3, 10) == 3
        assert bool(found) == reached if exact else bool(found) >= reached


@pytest.mark.parametrize("pattern", sampled([one for one in PATTERNS if one not in BESIDE_A_STAR], PATTERNS[::4]))
def test_sequence_count_is_the_number_of_matches_of_rows(pattern: str) -> None:
    call = f"sequenceCount('{pattern}')(time, a = 1, b = 1, c = 1)"
    query = call_to_row_pattern(call).query
    parts, random = parse_sequence_pattern(pattern), Random(3)
    for _ in range(60):
        rows = random_rows(random, 3)
        table = [{"time": r.time, **{name: int(i in r.steps) for i, name in enumerate("abc", 1)}} for r in rows]
        if table:
            assert len(cerify.match(query, table, language="row-pattern")) == sequence_count(parts, rows), rows


@pytest.mark.parametrize("pattern", BESIDE_A_STAR)
def test_a_time_clause_beside_a_star_is_refused(pattern: str) -> None:
    with pytest.raises(Unsupported, match="other rows"):
        call_to_row_pattern(f"sequenceMatch('{pattern}')(time, a = 1, b = 1)")


def test_a_call_is_read_in_a_select() -> None:
    call = parse_call(
        "SELECT user_id, windowFunnel(60, 'strict_once')(toDateTime(ts), event = 'a,b', event = 'c''d') "
        "FROM t GROUP BY user_id"
    )
    assert (call.time, call.by, len(call.conditions)) == ("ts", "user_id", 2)
    assert call.parameters == ("60", "'strict_once'")


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        ("funnel(3)", ParseError, "no call"),
        ("windowFunnel(60)", ParseError, "the arguments after"),
        ("windowFunnel(60)(time)", ParseError, "one condition"),
        ("windowFunnel(60)(time, type = 'a'", ParseError, "not closed"),
        ("windowFunnel(60)(time, type = 'a", ParseError, "does not end"),
        ("windowFunnel(60)(time, , type = 'a')", ParseError, "missing"),
        ("windowFunnel(w)(time, type = 'a')", Unsupported, "whole number"),
        ("windowFunnel(60, 'strict')(time, type = 'a')", Unsupported, "no translation of the modes strict"),
        ("windowFunnel(60)(time, x > 3)", Unsupported, "event type"),
        ("windowFunnel(60)(time, type = 'a' AND type = 'b')", Unsupported, "never true"),
        ("windowFunnel(60)(time, type = 'a' AND f(x))", Unsupported, "no function"),
        ("windowFunnel(60)(time, type = 'a' AND)", ParseError, "in the condition"),
        ("windowFunnel(60)(time, type = 'a') + windowFunnel(60)(time, type = 'a')", Unsupported, "two calls"),
        ("windowFunnel(60)(time, type = 'a') FROM t GROUP BY a, b", Unsupported, "several keys"),
        ("sequenceMatch('(?1)(?2)')(time, type = 'a', type = 'b')", Unsupported, "row-pattern"),
        ("sequenceCount('(?1).*(?2)')(time, type = 'a', type = 'b')", Unsupported, "row-pattern"),
        ("sequenceMatch('(?1).*(?3)')(time, type = 'a', type = 'b')", ParseError, "condition 3"),
    ],
)
def test_calls_that_are_refused(text: str, kind: type[CerifyError], message: str) -> None:
    with pytest.raises(kind, match=message) as error:
        call_to_cel(text)
    assert error.value.text == text or error.value.span is None or error.value.text is not None


def test_a_double_equals_sign_inside_a_text_is_kept() -> None:
    call = parse_call("windowFunnel(9)(time, type == 'a==b', type = 'c')")
    assert [step.type for step in steps_of(call)] == ["a==b", "c"]


def test_a_not_stays_unknown_where_a_column_is_null() -> None:
    query = call_to_cel("windowFunnel(9)(time, type = 'a' AND NOT (x = 1 OR y IN (2, 3)))").query
    assert cerify.match(query, [{"type": "a", "time": 0, "x": 2, "y": 5}])
    assert not cerify.match(query, [{"type": "a", "time": 0, "x": 2}, {"type": "a", "time": 0, "x": 2, "y": 3}])
