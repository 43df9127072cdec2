"""The texts of formulas and predicates, written down: parentheses where they are needed and nowhere else."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from fractions import Fraction
from importlib.util import cache_from_source
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest

import cerify
from cerify.languages import LANGUAGES
from cerify.semantics import parsing
from cerify.semantics.arguments import Budget, check_time, depth_limited, time_left, timed_items
from cerify.semantics.cel import parse as cel_parse
from cerify.semantics.cel import syntax as cel_operators
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import syntax as core_show
from cerify.semantics.errors import BudgetExceeded, IllFormed, ParseError, QueryWarning, Span, errors_in, underline
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import syntax as expr_show
from cerify.semantics.predicates import (
    MENDS,
    Anything,
    Arithmetic,
    Attribute,
    Both,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    Rule,
    show_name,
    show_predicate,
    show_value,
)
from cerify.semantics.row_pattern import syntax as row_operators
from cerify.semantics.trees import _place, index_by_name, ranks, spelt, with_operands
from cerify.semantics.values import Value, quote_text
from proofs_tests.support import sampled

# ---- texts ----
#

TEXTS: dict[tuple[Callable[[str], Any], Callable[[Any], str]], tuple[str, ...]] = {
    (cel_parse.parse, cel_operators.show): (
        "A ; B ; C", "A ; (B ; C)", "(A OR B) ; C", "A OR B ; C", "(A ; B)+", "A+ ; B", "A : B:+", "(A : B):+",
        "NXT(A ; B)",         "(A ; B) IN X", "A ; B IN X", "A ; B WITHIN 3 EVENTS", "A ; (B WITHIN 3 EVENTS)",
        "A{2} ; B", "(A ; B){2,3}", "(A AND B) OR C",
        "A AND (B OR C)", "(A UNLESS B) ; C",
    ),
    (core_parse.parse, core_show.show): (
        "A AS x ; B AS y", "A AS x ; (B AS y ; C AS z)", "(A AS x OR B AS x) ; C AS y", "(A AS x ; B AS y)+",
        "MAX(A AS x)",
    ),
    (expr_parse.parse, expr_show.show): (
        "relative(a or b, c)", "prior(a and b, c or d, e)", "firstAfter(a or b, c and d, !e)", "!a and b", "!(a and b)",
        "exists x (a = x)", "(a or b) = x", "<2> (a | b)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("both", "text"), [(both, text) for both, texts in TEXTS.items() for text in texts])
def test_a_formula(both: tuple[Callable[[str], Any], Callable[[Any], str]], text: str) -> None:
    parse, show = both
    assert show(parse(text)) == text


X, Y = Attribute("x"), Attribute("y", "B")
LESS, MORE = Comparison("<", X, Constant(1)), Comparison(">", Y, Constant(2.5))
SUM, PRODUCT = Arithmetic("+", X, Constant(1)), Arithmetic("*", X, Constant(2))


@pytest.mark.parametrize(
    ("predicate", "text"),
    [
        (Anything(), "TRUE"),
        (OfType("A"), "type = A"),
        (LESS, "x < 1"),
        (OneOf(X, (1, "u")), "x in {1, 'u'}"),
        (InRange(X, 1, 3), "x in range(1, 3)"),
        (Like(X, "u%"), "x like 'u%'"),
        (Not(LESS), "not x < 1"),
        (Not(Both(LESS, MORE)), "not (x < 1 and B.y > 2.5)"),
        (Not(Either(LESS, MORE)), "not (x < 1 or B.y > 2.5)"),
        (Both(LESS, Both(LESS, MORE)), "x < 1 and (x < 1 and B.y > 2.5)"),
        (Both(Both(LESS, LESS), MORE), "x < 1 and x < 1 and B.y > 2.5"),
        (Both(Either(LESS, LESS), MORE), "(x < 1 or x < 1) and B.y > 2.5"),
        (Either(Both(LESS, LESS), MORE), "x < 1 and x < 1 or B.y > 2.5"),
        (Either(LESS, Either(LESS, MORE)), "x < 1 or (x < 1 or B.y > 2.5)"),
        (Either(Either(LESS, LESS), MORE), "x < 1 or x < 1 or B.y > 2.5"),
        (Comparison("=", Arithmetic("+", SUM, Constant(2)), X), "x + 1 + 2 = x"),
        (Comparison("=", Arithmetic("-", X, SUM), X), "x - (x + 1) = x"),
        (Comparison("=", Arithmetic("*", SUM, PRODUCT), X), "(x + 1) * (x * 2) = x"),
        (Comparison("=", Arithmetic("/", PRODUCT, X), X), "x * 2 / x = x"),
        (Comparison("=", Arithmetic("+", PRODUCT, PRODUCT), X), "x * 2 + x * 2 = x"),
    ],
)
@pytest.mark.slow
def test_a_predicate(predicate: Predicate, text: str) -> None:
    assert show_predicate(predicate) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (True, "true"),
        (False, "false"),
        (3, "3"),
        (-0.5, "-0.5"),
        ("it's", "'it''s'"),
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "timestamp '2026-01-02T03:04:05Z'"),
    ],
)
def test_a_value(value: Value, text: str) -> None:
    assert show_value(value) == text


def test_each_rule_says_what_to_do() -> None:
    assert set(MENDS) == set(get_args(Rule))


def test_the_tables_of_operators() -> None:
    operators = cel_operators.OPERATORS
    assert set(spelt(operators, "infix")) >= {";", ":", "OR", "AND", "ALL", "UNLESS"}
    assert not set(spelt(operators, "infix")) & {"NXT", "+", "MAX"}
    assert set(spelt(operators, "call")) >= {"NXT", "MAX", "LAST"}
    assert index_by_name(operators)["seq"].node is cel_operators.Seq
    assert cel_operators.Seq in with_operands(operators, 2)
    assert cel_operators.Plus in with_operands(operators, 1)
    assert not set(with_operands(operators, 1)) & {
        cel_operators.Filter,
        cel_operators.In,
        cel_operators.Seq,
        cel_operators.EventAtom,
    }
    places = ranks(operators)
    assert places[cel_operators.Filter] > places[cel_operators.Plus]
    assert sorted(places[node] for node in with_operands(operators, 2)) == list(range(len(with_operands(operators, 2))))


def test_an_operand_below_a_suffix_binds_tighter() -> None:
    found = [operator for operator in row_operators.PATTERNS.values() if operator.position == "suffix"]
    assert found
    assert [_place(operator, operator.node, 0) for operator in found] == [operator.level + 1 for operator in found]


# ---- quoted names ----
# Names of any text in double quotes, in every language that is printed and parsed.

NAMES = [
    *("check ticket", "4625", "id.orig_h", "@timestamp", "s3:GetObject", 'a"b', "A'b", "é x", "x", "π", "process.name"),
    *("start", "FILTER", "PROJECT", "START", "NXT", "MAX", "any", "first", "relative", "prior", "rel", "every", "NULL"),
    *("true", "false", "not", "AND", "or", "in", "like", "range", "timestamp", "EVENTS", "seconds", "LEN", "i"),
    *("WITHIN", "within", "having", "return", "UNION", "From", "null", "case", "END", "skip_till_next_match"),
    *sorted(cel_operators.RESERVED - {"π", "PROJECT", "START", "NXT", "MAX"}),
]
TEMPLATES: Mapping[str, Sequence[str]] = {
    "cel": [
        "{0} ; {1} FILTER {0}.{2} = 1",
        "({0} IN {1}) FILTER {1}[{2} > 1 and type_ = 'x'] AND {1}.{0} < 3",
        "PROJECT [{0}, {1}] (({0} ; {1}) WITHIN 5 [{2}])",
        "(({0} ; {1}) PARTITION BY [{2}]) FILTER {0}({1}, {0})",
        "(NXT({0}+) : {1}){{2,3}} UNLESS {2}",
    ],
    "core-cel": ["({0} AS {1} ; {1} AS {2}) FILTER {1}.{0} = {2}.{0}", "NXT({0} AS {1}) FILTER {1}.{2} > 1"],
    "sase": [
        "PATTERN SEQ({0} {1}, {1}+ {2}[]) WHERE skip_till_any_match({1}, {2}[]) {{ [{0}] and {1}.{2} > 3 and "
        "{2}[i].{0} = {2}[i-1].{0} }} WITHIN 5 minutes HAVING count({2}[]) > 1 "
        "RETURN {0}({1}.{2} AS {1}, avg({2}[].{0}) AS {0}) IN STREAM {0}"
    ],
    "event-expression": [
        "{0} or {1}[z > 3]",
        "relative({0}, {1}) and !{2}",
        "exists {2} ({0} = {2} and {1})",
        "{0}({1}) := {2}; {0}(3)",
    ],
    "row-pattern": [
        "MATCH_RECOGNIZE (PARTITION BY {0} ORDER BY {1} MEASURES {2}.{0} AS {1} PATTERN ({2} {1}+) "
        "DEFINE {2} AS {0} > 1, {1} AS {2}.{1} = 'x')"
    ],
}


def parsed_or_refused(language: str, text: str) -> Any:
    """The tree, or None for a name in two roles, and a plain name in quotes where a string may be meant."""
    try:
        return LANGUAGES[language].syntax.parse(text)
    except ParseError as error:
        if "a string? Write" in error.message or language == "event-expression":
            return None
        raise


@pytest.mark.parametrize("number", sampled([150, 1000], [150]))
@pytest.mark.parametrize("language", TEMPLATES)
@pytest.mark.slow
def test_what_is_printed_parses_to_the_same_tree(language: str, number: int) -> None:
    rng, lang, parsed = Random(0), LANGUAGES[language], 0
    for template in TEMPLATES[language]:
        for names in rng.sample(list(itertools.permutations(NAMES, 3)), number):
            text = template.format(*('"' + name.replace('"', '""') + '"' for name in names))
            tree = parsed_or_refused(language, text)
            if tree is None:
                continue
            parsed += 1
            assert lang.syntax.parse(lang.syntax.show(tree)) == tree, lang.syntax.show(tree)
    assert parsed > number * 3 // 5


@pytest.mark.parametrize(
    ("name", "text"), [("x", "x"), ("check ticket", '"check ticket"'), ("4625", '"4625"'), ('a"b', '"a""b"')]
)
def test_a_name_has_quotes_only_where_it_needs_them(name: str, text: str) -> None:
    assert show_name(name) == text
    assert cerify.show(cerify.parse(f"{text} ; B")) == f"{text} ; B"


ROWS = [
    {"type": "check ticket", "case": 1, "id.orig_h": "10.0.0.1", "@timestamp": 5},
    {"type": "4625", "case": 1, "id.orig_h": "10.0.0.1", "@timestamp": 6},
]


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("cel", '("check ticket" ; "4625") FILTER "check ticket"."id.orig_h" = "4625"."id.orig_h"'),
        ("cel", '("check ticket" IN A ; "4625" IN B) PARTITION BY ["id.orig_h"] WITHIN 2 ["@timestamp"]'),
        ("core-cel", '("check ticket" AS x ; "4625" AS y) FILTER x."@timestamp" < y."@timestamp"'),
        ("sase", 'PATTERN SEQ("check ticket" a, "4625" b) WHERE ["id.orig_h"] and a."@timestamp" < b."@timestamp"'),
        ("event-expression", 'relative("check ticket"["@timestamp" = 5], "4625")'),
        (
            "row-pattern",
            "MATCH_RECOGNIZE (ORDER BY \"@timestamp\" PATTERN (A B) DEFINE A AS type = 'check ticket', "
            'B AS B."id.orig_h" = A."id.orig_h")',
        ),
    ],
)
def test_names_with_blanks_dots_and_signs_are_found(language: str, text: str) -> None:
    assert [match.at for match in cerify.match(text, ROWS, language=language, strict=True)] == [1]


def test_a_hint_proposes_what_can_be_written() -> None:
    for text in ("check ; decide", "check_ticket ; decide"):
        with pytest.warns(QueryWarning, match='did you mean "check ticket"'):
            cerify.match(text, [{"type": "check ticket"}, {"type": "decide"}])
    with pytest.warns(QueryWarning, match='did you mean "id.orig_h"'):
        cerify.match('"4625"[id_orig_h = 1]'.replace("[", ' FILTER "4625"['), ROWS)


def test_a_string_in_double_quotes_is_no_other_query() -> None:
    """In other languages quotes of both kinds make a string."""
    with pytest.raises(ParseError, match="is \"kitchen\" a string\\? Write 'kitchen'"):
        cerify.parse('T FILTER T[room = "kitchen"]')
    with pytest.warns(QueryWarning, match="a string is written in single quotes: 'living room'"):
        cerify.match('T FILTER T[room = "living room"]', [{"type": "T", "room": "living room"}])


def test_an_ordinary_type_called_start() -> None:
    rows = [{"type": "start"}, {"type": "work"}]
    with pytest.warns(QueryWarning, match="--rename-type start=begin"):
        assert [m.at for m in cerify.match("any", rows, language="event-expression")] == [1]
    S = cerify.as_stream(rows, rename_types={"start": "begin"})
    assert [m.at for m in cerify.match("any", S, language="event-expression", strict=True)] == [0, 1]
    with pytest.raises(cerify.InputError, match="--rename-type start=begin"):
        cerify.match("any", rows[::-1], language="event-expression")


# ---- errors ----
# Messages of errors, and how the place in a query is shown.


@pytest.mark.parametrize("kind", [IllFormed, ParseError])
def test_the_text_of_an_error_is_its_message_alone(kind: type[Exception]) -> None:
    assert str(kind("no such type", Span(0, 1))) == "no such type"
    assert QueryWarning("no such type", Span(0, 1)).args == ("no such type",)


@pytest.mark.parametrize(
    ("text", "span", "expected"),
    [
        ("A ; B", Span(0, 1), "A ; B\n^"),
        ("A ; B", Span(4, 5), "A ; B\n    ^"),
        ("A ;\nB OR C\n; D", Span(4, 10), "B OR C\n^^^^^^"),
        ("A ;\n\tB", Span(5, 6), "\tB\n\t^"),
        ("A", Span(0, 0), "A\n^"),
        ("A", Span(1, 2), "A\n ^"),
        ("A", Span(-3, 1), "A\n^"),
        ("A OR\nB", Span(0, 6), "A OR\n^^^^"),
        ("A", Span(7, 9), "A\n ^"),
        ("A ;\n", Span(3, 4), "A ;\n   ^"),
        ("\nA", Span(0, 0), "\n^"),
        ("A" * 400, Span(0, 1), "A" * 400 + "\n^"),
        ("A" * 401, Span(0, 1), "A" * 60 + "…\n^"),
        ("A" * 401, Span(200, 401), "…" + "A" * 120 + "…\n" + " " * 61 + "^" * 61),
    ],
)
def test_the_line_is_shown_with_the_place_underlined(text: str, span: Span, expected: str) -> None:
    assert underline(text, span) == expected


def test_the_text_that_is_known_first_stays() -> None:
    with pytest.raises(ParseError) as caught, errors_in("outer"), errors_in("A ; B"):
        raise ParseError("no", Span(2, 3))
    assert caught.value.described() == "no\nA ; B\n  ^"


def test_a_long_value_is_cut_in_a_message() -> None:
    assert quote_text("a" * 60) == repr("a" * 60)
    assert quote_text("a" * 61) == repr("a" * 57 + "...")


# ---- budget ----
# The limits that hold where none are given, as the documentation states them, and the limit on nesting.


def test_the_defaults_are_those_of_the_documentation() -> None:
    assert Budget() == Budget(valuations=2_000_000, states=100_000, matches=1_000_000, seconds=None)


def test_a_tree_nested_too_deeply_is_an_error_at_its_place() -> None:
    span = Span(1, 2)
    with pytest.raises(BudgetExceeded, match="nested too deeply") as caught, depth_limited(span):
        raise RecursionError
    assert caught.value.span == span


def test_the_earliest_of_the_limits_around_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with Budget(seconds=5).timed():
        assert time_left() == 5
        with Budget(seconds=2).timed():
            assert time_left() == 2
            now = 103.0
            with pytest.raises(BudgetExceeded, match="more than 2 seconds"):
                check_time()
        with Budget(seconds=9).timed(), Budget().timed():
            check_time()
            now = 105.5
            with pytest.raises(BudgetExceeded, match="more than 5 seconds"):
                list(timed_items([1]))
    assert time_left() == math.inf
    assert list(timed_items(range(600))) == list(range(600))


def test_the_seconds_may_be_a_fraction() -> None:
    with Budget(seconds=Fraction(0)).timed(), pytest.raises(BudgetExceeded, match="more than 0 seconds"):  # type: ignore[arg-type]
        check_time()


@pytest.mark.thorough
def test_the_tables_of_a_parser_are_kept_beside_bytecode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second process reads them; damaged ones are built again."""
    packages, text = ("cerify.semantics.cel", parsing.PREDICATES), "A[x > 3] ; B WITHIN 3 seconds"
    monkeypatch.setattr("sys.pycache_prefix", str(tmp_path))
    Path(cache_from_source(parsing.__file__)).parent.mkdir(parents=True)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    made = parsing.parser_of.__wrapped__(*packages)
    (kept,) = tmp_path.rglob("*.lalr")
    with monkeypatch.context() as patch:
        patch.setattr(parsing.Lark, "__init__", lambda *_, **__: pytest.fail("the tables were built again"))
        loaded = parsing.parser_of.__wrapped__(*packages)
    assert loaded.parse(text) == made.parse(text)
    assert {t.name: t.pattern.to_regexp() for t in loaded.terminals} == {
        t.name: t.pattern.to_regexp() for t in made.terminals
    }
    assert loaded.parse('"a b"').children[0] == "a b"
    kept.write_bytes(kept.read_bytes()[:1000])
    assert parsing.parser_of.__wrapped__(*packages).parse(text) == made.parse(text)
