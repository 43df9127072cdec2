"""Names of any text in double quotes, in every language that is printed and parsed."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

import pytest

import cerify
from cerify.languages import LANGUAGES
from cerify.semantics.errors import ParseError, QueryWarning
from cerify.semantics.predicates import show_name

NAMES = [
    *("check ticket", "4625", "id.orig_h", "@timestamp", "s3:GetObject", 'a"b', "A'b", "é x", "x", "π", "process.name"),
    *("start", "FILTER", "PROJECT", "START", "NXT", "MAX", "any", "first", "relative", "prior", "rel", "every", "NULL"),
    *("true", "false", "not", "AND", "or", "in", "like", "range", "timestamp", "EVENTS", "seconds", "LEN", "i"),
    *("WITHIN", "within", "having", "return", "UNION", "From", "null", "case", "END", "skip_till_next_match"),
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
        return LANGUAGES[language].parse(text)
    except ParseError as error:
        if "a string? Write" in error.message or language == "event-expression":
            return None
        raise


@pytest.mark.parametrize("language", TEMPLATES)
def test_what_is_printed_parses_to_the_same_tree(language: str) -> None:
    rng, lang, parsed = Random(0), LANGUAGES[language], 0
    for template in TEMPLATES[language]:
        for names in rng.sample(list(itertools.permutations(NAMES, 3)), 1000):
            text = template.format(*('"' + name.replace('"', '""') + '"' for name in names))
            tree = parsed_or_refused(language, text)
            if tree is None:
                continue
            parsed += 1
            assert lang.parse(lang.show(tree)) == tree, lang.show(tree)
    assert parsed > 600


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
