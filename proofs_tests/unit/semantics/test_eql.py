"""EQL: text and tree, the rules beyond the grammar, conditions and functions by the documentation, and the meaning."""

from __future__ import annotations

import re
from random import Random
from typing import Any

import pytest

import cerify
from cerify.equivalence.generate.eql import PROFILES, random_case
from cerify.languages import language_named
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import condition_test, filter_test, time_of, wildcards
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse, require_wellformed
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError
from cerify.semantics.events import Event, Schema
from cerify.semantics.readings import ELASTIC, ENDGAME, EqlReading
from proofs_tests.support import sampled


def truth(text: str, reading: EqlReading = ELASTIC, **attributes: Any) -> bool | None:
    condition = parse(f"any where {text}").body
    assert isinstance(condition, eql.EventFilter)
    event = Event("process", {name.replace("__", "."): value for name, value in attributes.items()})
    return condition_test(condition.condition, reading)(event)


def steps(text: str) -> str:
    """The text with [A] for [A where true]."""
    return re.sub(r"\[(\w)\]", r"[\1 where true]", text)


def found(text: str, log: str | list[Event], reading: EqlReading = ELASTIC) -> list[tuple[int, ...]]:
    query = parse(steps(text))
    require_wellformed(query)
    events = [Event(c) for c in log] if isinstance(log, str) else log
    return [match.events for match in matches_of(query, events, reading)]


# --- text -------------------------------------------------------------------------------------------------------------

TEXTS = [
    'process where process.name == "a\\"\\\\b\\n"',
    "any where true",
    '"my-category" where `my field`.x == -1.5 and ?user.id != null',
    "process where not (a == 1 or not b == 2) and (c == 3 and d == 4)",
    'process where a + 2 * (b - 1) % 3 > length(c) or cidrMatch(ip, "10.0.0.0/8", "::1")',
    'process where name like~ ("a*", "b?") or name regex "[ab]+" or x in (1, 2.5, null, true) or x not in~ ("a")',
    "sequence by a, ?b with maxspan=500ms [process where true] by c with runs=3 ![file where true] by d "
    "[any where false] by `e` until [network where true] by f | head 3 | tail 2",
    "sample by host [process where true] [file where true]",
    "process where a == 1e10 and b == 1.0e-7 and (x and y)",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_printed_and_read_back(text: str) -> None:
    query = parse(text)
    assert parse(eql.show(query)) == query
    assert eql.show(parse(eql.show(query))) == eql.show(query)


@pytest.mark.parametrize("cases", sampled((300, 20_000), (300,)))
@pytest.mark.slow
def test_random_queries_are_printed_and_read_back(cases: int) -> None:
    for seed in range(cases):
        query, _ = random_case(Random(seed), PROFILES["rules"], 6, 3)
        require_wellformed(query)
        assert parse(eql.show(query)) == query


def test_comments_raw_strings_and_escapes() -> None:
    query = parse('process where // a comment\n  name == """C:\\dir\\"x"""  /* another */ and b == "\\u{200f}\\\'"')
    assert isinstance(query.body, eql.EventFilter)
    assert "C:\\\\dir" in eql.show(query)
    assert truth('name == """C:\\x"""', name="C:\\x")
    assert truth('name == "\\u{41}"', name="A")


@pytest.mark.parametrize(
    ("text", "message", "place"),
    [
        ("process where a = 1", "'=' is not expected here", "="),
        ('process where a == "\\q"', "is not an escape of EQL", "\\q"),
        (
            "sequence with maxspan=5 [A where true] [B where true]",
            "maxspan must be a number with one of the units",
            "5",
        ),
        ("sequence [A where true] with runs=101", "runs must be a number from 1 to 100", "101"),
        ('process where wildcard(a, "b*")', "write `field : ", "wildcard"),
        ("process where length(a, b) > 1", "length takes 1 arguments, but 2 are given", "length(a, b)"),
        ("process where length~(a) > 1", "length has no form with ~", "length~"),
        ("process where true | unique 3", "there is no pipe 'unique'", "unique"),
        ("process where", "ends too early", ""),
    ],
)
def test_what_is_no_query_is_refused_with_its_place(text: str, message: str, place: str) -> None:
    with pytest.raises(ParseError, match=re.escape(message)) as raised:
        parse(text)
    assert raised.value.span is not None
    assert text[raised.value.span.start : raised.value.span.end].startswith(place)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sequence [A where true]", "only one step"),
        ("sequence [A where true] ![B where true]", "a missing event needs `with maxspan`"),
        ("sequence with maxspan=1s ![A where true] ![B where true]", "missing events; add a step without !"),
        ("sequence [A where true] by x [B where true]", "all steps need the same number of keys"),
        ("sequence by x [A where true] [B where true] until [C where true] by y", "the same number of keys"),
        ("sample by x [A where true] with runs=2", "cannot be a missing event or have `with runs`"),
        ("A where true | head 0", "head needs a number of at least 1"),
        ('A where x regex "("', "not a regular expression"),
        ('A where cidrMatch(x, "10.0.0.0/99")', "is not a block of addresses"),
        ("A where x < null", "null cannot be compared with <"),
        ('A where "text"', "is not a condition"),
        ("A where x + 1", "arithmetic is not a condition"),
        ("A where x : 3", "compares with strings"),
    ],
)
def test_what_breaks_a_rule_is_refused(text: str, message: str) -> None:
    with pytest.raises(IllFormed, match=re.escape(message)):
        language_named("eql").syntax.parse(text)


def test_a_field_that_no_event_has_is_named() -> None:
    schema = Schema({"process": {"name": "string"}, "file": {"path": "string"}})
    with pytest.raises(IllFormed, match=r"no event has the field 'nane'.*did you mean name"):
        language_named("eql").syntax.require_typed(parse('process where nane == "x"'), schema)
    language_named("eql").syntax.require_typed(parse('process where ?nane == "x"'), schema)
    with pytest.raises(IllFormed, match="unknown event type proces"):
        language_named("eql").syntax.require_typed(parse("proces where true"), schema)
    with pytest.raises(IllFormed, match="is a string and 3 a number"):
        language_named("eql").syntax.require_typed(parse("process where name == 3"), schema)
    assert not cerify.check("file where path : 'x'".replace("'", '"'), schema, language="eql").problems


# --- conditions -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ('x == "cmd.exe"', "cmd.exe", True),
        ('x == "cmd.exe"', "CMD.EXE", False),
        ('x : "cmd.exe"', "CMD.EXE", True),
        ('x : "c*.e?e"', "CMD.EXE", True),
        ('x like "c*.e?e"', "CMD.EXE", False),
        ('x like~ "c*.e?e"', "CMD.EXE", True),
        ('x == "c*"', "cmd", False),
        ('x in ("a", "b")', "B", False),
        ('x in~ ("a", "b")', "B", True),
        ('x not in ("a", "b")', "B", True),
        ('x regex "C[A-Z]+"', "CMD", True),
        ('x regex "C"', "CMD", False),
        ('x regex~ "c[a-z]+"', "CMD", True),
        ('x < "b"', "a", True),
        ("x == 3", 3.0, True),
        ("x == 3", "3", False),
        ("x == true", True, True),
        ("x", True, True),
        ("x == 1", True, False),
    ],
)
def test_a_test_of_one_value(text: str, value: Any, expected: bool) -> None:
    assert (truth(text, x=value) is True) == expected


@pytest.mark.parametrize(
    "call",
    [
        "add(4, 0.5) == 4.5", 'between("C:\\\\Windows\\\\System32\\\\cmd.exe", "System32\\\\", ".exe") == "cmd"',
        'between("C:\\\\Windows\\\\System32\\\\cmd.exe", "system32\\\\", ".exe") == ""',
        'between~("C:\\\\Windows\\\\System32\\\\cmd.exe", "system32\\\\", ".exe") == "cmd"',
        'between("a\\\\b\\\\c\\\\d", "\\\\", "\\\\", true) == "b\\\\c"', 'between("", "x", "y") == ""',
        'cidrMatch("192.168.152.12", "10.0.0.0/8", "192.168.0.0/16")', 'not cidrMatch("192.168.152.12", "10.0.0.0/8")',
        'concat("a", " ", 42.5, true) == "a 42.5true"', "divide(4, 3) == 1",
        "divide(4, 0.5) == 8", "divide(4, -2) == -2",
        'endsWith("regsvr32.exe", ".exe")', 'not endsWith("regsvr32.exe", ".EXE")', 'endsWith~("regsvr32.exe", ".EXE")',
        'indexOf("subdomain.example.com", "d") == 3', 'indexOf("subdomain.example.com", "D") == null',
        'indexOf("subdomain.example.com", ".", 9) == 9', 'indexOf("subdomain.example.com", ".", 10) == 17',
        'indexOf("subdomain.example.com", ".", -6) == 9', 'indexOf("", "") == 0', 'indexOf("abc", ".", 30) == null',
        'length("start explorer.exe") == 18', "modulo(10, 6) == 4", "modulo(10, -6) == 4", "modulo(-10, -6) == -4",
        "modulo(10, 0.5) == 0", "multiply(0.25, 2) == 0.5", 'number("1337") == 1337', 'number("42.5") == 42.5',
        'number("deadbeef", 16) == 3735928559', 'number("0xdeadbeef") == 3735928559', 'number("  1337  ") == 1337',
        'number("0xdeadbeef", null) == 3735928559', 'startsWith("regsvr32.exe", "regsvr32")',
        'startsWith~("regsvr32.exe", "Regsvr32")', 'string(42.5) == "42.5"', 'string(true) == "true"',
        'stringContains("start regsvr32.exe", "start ")', 'not stringContains("", "")',
        'substring("start regsvr32.exe", 6) == "regsvr32.exe"', 'substring("start regsvr32.exe", -4, -1) == ".ex"',
        'substring("start regsvr32.exe", 6, 14) == "regsvr32"', "subtract(-2, 4) == -6", "length(null) == null",
        "4 / 3 == 1 and 4.0 / 4 == 1 and 7 % 4 == 3", "1 / 0 == null", 'concat("a", null) == null',
    ],
)  # fmt: skip
def test_the_functions_are_those_of_the_documentation(call: str) -> None:
    assert truth(call) is True


def test_an_absent_field_fails_a_test_and_passes_its_negation_but_not_that_of_a_function() -> None:
    for text in ('x == "a"', 'x : "a"', 'x in ("a")', 'startsWith(x, "a")', 'cidrMatch(x, "10.0.0.0/8")', "x > 3", "x"):
        assert truth(text) is False
        assert truth(f"not {text}") is True
    assert truth('x != "a"') is True
    for text in ('endsWith(x, "a")', "length(x) > 3"):
        assert truth(text) is not True
        assert truth(f"not {text}") is not True
    assert truth('not (endsWith(x, "a") and y == 1)') is True
    assert truth("x == null") is True
    assert truth("x != null") is False
    assert truth("null == null") is True
    assert truth("x == null", x="") is False


def test_an_absent_field_has_no_truth_value_for_endgame() -> None:
    for text in ('x == "a"', 'x != "a"', 'not x == "a"', 'not x : "a"'):
        assert truth(text, ENDGAME) is None
    assert truth('x == "A"', ENDGAME, x="a") is True
    assert truth('x == "A" or y == 1', ENDGAME, y=1) is True


def test_a_test_of_an_array_is_true_if_it_is_of_an_element() -> None:
    array = {"args": "-p", "args[1]": "443"}
    assert truth('args == "443" and args == "-p"', **array) is True
    assert truth('args != "443"', **array) is False
    assert truth('not args : "4*"', **array) is False
    assert truth('endsWith(args, "43")', **array) is True
    assert truth("args != null", **array) is True
    assert truth('event.category == "process"') is True
    test = filter_test(parse("network where true").body)  # type: ignore[arg-type]
    assert test(Event("process", {"event.category": "process", "event.category[1]": "network"}))
    assert not test(Event("process", {"event.category": "process"}))


@pytest.mark.parametrize("cases", sampled((3_000, 100_000), (3_000,)))
def test_wildcards_take_time_linear_in_the_text(cases: int) -> None:
    pattern = wildcards(("*a" * 30 + "*b",), False)
    assert pattern.match("a" * 20_000) is None
    assert pattern.match("xa" * 40 + "b")
    rng = Random(1)
    for _ in range(cases):
        text = "".join(rng.choices("ab", k=rng.randint(0, 8)))
        wild = "".join(rng.choices("ab?*", k=rng.randint(0, 6)))
        plain = re.compile("".join({"*": ".*", "?": "."}.get(c, c) for c in wild) + r"\Z", re.DOTALL)
        assert bool(wildcards((wild,), False).match(text)) == bool(plain.match(text)), (wild, text)


# --- meaning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("query", "log", "expected"),
    [
        ("sequence [A] [B]", "AAB", [(1, 2)]),
        ("sequence [A] [B]", "ABB", [(0, 1)]),
        ("sequence [A] [A]", "AAA", [(0, 1), (1, 2)]),
        ("sequence [A] [B] [C]", "ABBC", [(0, 1, 3)]),
        ("sequence [A] [B] [C]", "ABABC", [(2, 3, 4)]),
        ("sequence [A] [B] [C]", "ABACBC", [(0, 1, 3), (2, 4, 5)]),
        ("sequence [A] [B] until [C]", "ACB", []),
        ("sequence [A] [B] until [C]", "ABC", [(0, 1)]),
        ("sequence [A] [B] until [B]", "AB", [(0, 1)]),
        ("sequence [A] [B] until [A]", "AAB", []),
        ("sequence [A] with runs=3", "AAAA", [(0, 1, 2), (1, 2, 3)]),
        ("sequence [A] [B] | head 1", "ABAB", [(0, 1)]),
        ("sequence [A] [B] | tail 1", "ABAB", [(2, 3)]),
        ("A where true | tail 2 | head 1", "AAA", [(1,)]),
    ],
)
def test_the_smallest_logs(query: str, log: str, expected: list[tuple[int, ...]]) -> None:
    assert found(query, log) == expected


def timed(*events: tuple[str, float]) -> list[Event]:
    return [Event(type_, {"time": time}) for type_, time in events]


def test_the_span_is_closed_and_is_looked_at_when_a_sequence_ends() -> None:
    text = "sequence with maxspan=5s [A] [B]"
    assert found(text, timed(("A", 1), ("B", 6))) == [(0, 1)]
    assert found(text, timed(("A", 1), ("B", 6.001))) == []
    assert found(text, timed(("A", 5), ("B", 1))) == [(0, 1)]
    assert found(text, [Event("A"), Event("B")]) == []
    half = "sequence with maxspan=500ms [A] [B]"
    assert found(half, timed(("A", 1), ("B", 1.4))) == [(0, 1)]
    assert found(half, timed(("A", 1), ("B", 1.4)), ENDGAME) == []
    assert time_of(Event("A", {"time": True})) is None


def test_missing_events() -> None:
    between = "sequence with maxspan=5s [A] ![C] [B]"
    assert found(between, timed(("A", 1), ("B", 2))) == [(0, 1)]
    assert found(between, timed(("A", 1), ("C", 1), ("B", 2))) == []
    assert found(between, timed(("C", 1), ("A", 1), ("B", 2), ("C", 2))) == [(1, 2)]
    front = "sequence with maxspan=5s ![C] [A] [B]"
    assert found(front, timed(("C", 1), ("A", 2), ("B", 6))) == []
    assert found(front, timed(("C", 1), ("A", 2), ("B", 6.5))) == [(1, 2)]
    behind = "sequence with maxspan=5s [A] ![C]"
    assert found(behind, timed(("A", 1), ("C", 6))) == []
    assert found(behind, timed(("A", 1), ("C", 6.5))) == [(0,)]
    assert found(behind, timed(("A", 1), ("A", 3), ("C", 7))) == [(0,)]


def keyed(*events: tuple[str, dict[str, Any]]) -> list[Event]:
    return [Event(type_, attributes) for type_, attributes in events]


def test_keys_are_apart_and_may_differ_by_step() -> None:
    log = keyed(("A", {"x": 1}), ("A", {"x": 2}), ("B", {"x": 1, "y": 2}))
    assert found("sequence by x [A] [B]", log) == [(0, 2)]
    assert found("sequence [A] by x [B] by y", log) == [(1, 2)]
    assert found("sequence by x [A] [B]", keyed(("A", {"x": 1}), ("B", {"x": True}))) == []
    assert found("sequence by x [A] [B]", keyed(("A", {"x": "a"}), ("B", {"x": "A"}))) == []
    assert found("sequence by x [A] [B]", keyed(("A", {"x": "a"}), ("B", {"x": "A"})), ENDGAME) == [(0, 1)]
    until = keyed(("A", {"x": 1}), ("C", {"x": 2}), ("B", {"x": 1}))
    assert found("sequence by x [A] [B] until [C]", until) == [(0, 2)]


@pytest.mark.parametrize("evaluator", ["denotational", "automaton", "kernel"])
@pytest.mark.parametrize(
    ("query", "log", "expected"),
    [
        ("sequence by x [A] [B]", "A:ab B:b", [(0, 1)]),
        ("sequence by x [A] [B]", "A:ab B:ab", [(0, 1)]),  # of two keys, and once
        ("sequence by x [A] [B]", "A:ab A:b B:ab", [(0, 2), (1, 2)]),
        ("sequence by x [A] [B] until [C]", "A:ab C:a B:ab", [(0, 2)]),
        ("sequence by x [A] [B] until [C]", "A:ab C:ab B:ab", []),
        ("sequence [A] by x [B] by y", "A:ab B:c:b", [(0, 1)]),
        ("sequence by x, y [A] [B]", "A:ab:cd B:b:c", [(0, 1)]),
        ("sequence by x, ?y [A] [B]", "A:ab B:b:c B:b", [(0, 2)]),
    ],
)
def test_each_value_of_an_array_is_a_key(evaluator: str, query: str, log: str, expected: list[tuple[int, ...]]) -> None:
    events = []
    for word in log.split():
        type_, *fields = word.split(":")
        named = zip("xy", fields, strict=False)
        arrays = {f"{name}[{n}]" if n else name: c for name, values in named for n, c in enumerate(values)}
        events.append(Event(type_, arrays))
    rule = re.sub(r"\[(\w)\]", r"[\1 where true]", query)
    assert [m.events for m in cerify.match(rule, events, language="eql", evaluator=evaluator)] == expected
    if evaluator == "denotational":
        long = Event("A", {f"{name}[{n}]" if n else name: n for name in "xy" for n in range(101)})
        with pytest.raises(BudgetExceeded, match="more than 10,000 keys"):
            found("sequence by x, y [A] [A]", [long])


def test_events_without_a_key_join_none_unless_it_is_optional() -> None:
    assert found("sequence by x [A] [B]", "AB") == []
    assert found("sequence by ?x [A] [B]", "AB") == [(0, 1)]
    assert found("sequence by x [A] [B]", "AB", EqlReading(null_keys="joined")) == [(0, 1)]


@pytest.mark.parametrize("evaluator", ["denotational", "automaton", "kernel"])
def test_until_at_a_step_is_a_reading(evaluator: str) -> None:
    for query, log, last, between in (
        ("sequence [A] [B] until [B]", "AB", [], [(0, 1)]),
        ("sequence [A] [B] until [A]", "AB", [(0, 1)], []),
        ("sequence [A] [B] [C] until [B]", "ABC", [], []),
        ("sequence [A] [B] until [C]", "ACAB", [(2, 3)], [(2, 3)]),
    ):
        for reading, expected in ((EqlReading(until="last"), last), (ELASTIC, between)):
            events = [{"type": c} for c in log]
            matches = cerify.match(steps(query), events, language="eql", evaluator=evaluator, eql_reading=reading)
            assert [m.events for m in matches] == expected


def test_a_sample_takes_different_events_in_any_order() -> None:
    log = keyed(("B", {"x": 1}), ("A", {"x": 2}), ("A", {"x": 1}), ("A", {"x": 1}), ("B", {"x": 2}))
    assert found("sample by x [A] [B]", log) == [(0, 2), (1, 4)]
    assert found("sample by x [A] [A]", keyed(("A", {"x": 1}))) == []
    assert found("sample by x [A] [any where true]", keyed(("A", {"x": 1}), ("B", {"x": 1}))) == [(0, 1)]


def test_the_definition_stops_at_its_budget() -> None:
    with pytest.raises(BudgetExceeded):
        matches_of(parse(steps("sequence [A] [B]")), [Event("A"), Event("B")] * 500, ELASTIC, Budget(valuations=100))


def test_match_takes_a_reading_of_the_language() -> None:
    log = [{"type": "process", "name": "CMD"}]
    assert not cerify.match('process where name == "cmd"', log, language="eql")
    assert cerify.match('process where name == "cmd"', log, language="eql", eql_reading=ENDGAME)
