"""CEQL: what a text stands for, what it refuses, and what CORE answers."""

from __future__ import annotations

import pytest

import cerify
from cerify.equivalence.verdict import Contained, Different, Equivalent, Undecided
from cerify.languages.ceql import LANGUAGE
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.ceql.syntax import parse, show
from cerify.semantics.errors import CerifyError, ParseError, Unsupported
from cerify.semantics.events import Event, Stream

MEANINGS = {
    "SELECT * FROM S WHERE A ; B": "A ; B",
    "select ALL * where A": "A",
    "SELECT NONE FROM S, T WHERE A": "PROJECT[](A)",
    "SELECT A, v FROM S WHERE (A ; B+) AS v": "PROJECT[A, v]((A ; B+) IN v)",
    "SELECT * FROM S WHERE A : B ; C OR D :+": "A : (B ; C) OR D:+",
    "SELECT * FROM S WHERE A : (B OR C) : D ; (E ; A)": "A : (B OR C) : (D ; (E ; A))",
    "SELECT * FROM S WHERE A WITHIN 2 EVENTS": "A WITHIN 3 EVENTS",
    "SELECT * FROM S WHERE A WITHIN 0 EVENTS": "A WITHIN 1 EVENTS",
    "SELECT * FROM S WHERE A WITHIN 3 [x]": "A WITHIN 2 [x]",
    "SELECT * FROM S WHERE A WITHIN 1.5 SECONDS": "A WITHIN 1.5 seconds",
    "SELECT * FROM S WHERE A WITHIN 1 MINUTE 30 SECONDS": "A WITHIN 90 seconds",
    "SELECT * FROM S WHERE A ; B PARTITION BY [k], [j]": "A ; B PER KEY [k, j]",
    "SELECT STRICT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 9 EVENTS": "STRICT(A ; B) PER KEY [k] WITHIN 10 EVENTS",
    "SELECT NEXT B FROM S WHERE A ; B PARTITION BY [k] WITHIN 9 EVENTS": (
        "PROJECT[B](NXT(A ; B PER KEY [k] WITHIN 10 EVENTS))"
    ),
    "SELECT * FROM S WHERE A FILTER A[x == 1 AND NOT (y <> 'b' OR x > .5)]": (
        "A FILTER A[x = 1 and not (y != 'b' or x > 0.5)]"
    ),
    "SELECT * FROM S WHERE A ; B FILTER (A[x >= 1e30] OR B[x < -2]) AND B[x * +2 - 1 <= 3]": (
        "A ; B FILTER (A.x >= 1e+30 OR B.x < -2) AND B[x * 2 - 1 <= 3]"
    ),
    "SELECT * FROM S WHERE A FILTER A[x IN {1, -2} AND y NOT IN {'a'} AND x IN RANGE (1, 2)]": (
        "A FILTER A[x in {1, -2} and not y in {'a'} and x in range(1, 2)]"
    ),
    "SELECT * FROM S WHERE A FILTER A[y LIKE '^a']": r"A FILTER A.y like '[\s\S]*(?:^a)[\s\S]*'",
    "SELECT `last` FROM S WHERE `a b` ; `last` -- end\n/* and\n more */": 'PROJECT[last]("a b" ; last)',
}


@pytest.mark.parametrize("text", MEANINGS)
def test_text_stands_for_a_formula_of_cel_and_is_written_as_the_same_query(text: str) -> None:
    query = parse(text)
    assert cerify.parse(show_cel(query.formula)) == query.formula == cerify.parse(MEANINGS[text])
    assert parse(show(query)) == query


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT ANY * FROM S WHERE A", "does not say which"),
        ("SELECT * FROM S WHERE any", "write `any`"),
        ("SELECT A[x] FROM S WHERE A", "write SELECT A"),
        ("SELECT * FROM S WHERE S>A", "write A"),
        ("SELECT * FROM S WHERE NOT(A)", "name the types"),
        ("SELECT * FROM S WHERE A FILTER A[x % 2 = 1]", "remainder"),
        ("SELECT * FROM S WHERE A FILTER A[x IN {1..5}]", "IN RANGE"),
        ("SELECT * FROM S WHERE A FILTER A[y LIKE '(']", "regular expression"),
        ("SELECT * FROM S WHERE A FILTER A[type = 1]", "not an attribute"),
        ("SELECT * FROM S WHERE A PARTITION BY [a, b]", "[a], [b]"),
        ("SELECT * FROM S WHERE A WITHIN 0 [x]", "at least 1"),
        ("SELECT * FROM S WHERE A WITHIN 1.5 EVENTS", "whole number"),
        ("SELECT * FROM S WHERE A WITHIN 3 SECONDS 1 HOUR", "1 HOUR 2 MINUTES"),
        ("SELECT * FROM S WHERE A LIMIT 3", "--limit"),
        ("SELECT * FROM S", "WHERE"),
    ],
)
def test_what_cel_has_no_words_for_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message.replace("[", r"\[").replace("]", r"\]")) as caught:
        parse(text)
    assert caught.value.span is not None


ABAB = [("A", 1), ("A", 2), ("B", 1), ("A", 1), ("B", 2), ("B", 1)]


@pytest.mark.parametrize(
    ("clauses", "expected"),
    [  # each as pycer 0.1.6 answers
        ("", [(0, 2), (1, 2), (0, 4), (1, 4), (3, 4), (0, 5), (1, 5), (3, 5)]),
        (" WITHIN 1 EVENTS", [(1, 2), (3, 4)]),
        (" WITHIN 2 EVENTS", [(0, 2), (1, 2), (3, 4), (3, 5)]),
        (" PARTITION BY [k]", [(0, 2), (1, 4), (0, 5), (3, 5)]),
        (" PARTITION BY [k] WITHIN 2 EVENTS", [(0, 2), (3, 5)]),
        (" OR A ; A CONSUME BY ANY", [(0, 1), (3, 4)]),
        (" CONSUME BY ANY", [(0, 2), (1, 2), (3, 4)]),
        (" PARTITION BY [k] WITHIN 4 EVENTS CONSUME BY ANY", [(0, 2), (3, 5)]),
        (" WITHIN 100 HOURS CONSUME BY PARTITION", [(0, 2), (1, 2), (3, 4)]),
    ],
)
def test_clauses_take_the_matches_that_core_reports(clauses: str, expected: list[tuple[int, ...]]) -> None:
    S = Stream([Event(name, {"k": k, "time": n}) for n, (name, k) in enumerate(ABAB)])
    text = f"SELECT * FROM S WHERE A ; B{clauses}"
    found = cerify.match(text, S, language="ceql")
    assert sorted(match.events for match in found) == sorted(expected)
    values = cerify.match(text, S, language="ceql", output="valuations")
    assert {tuple(sorted(i for _, held in m.bindings or () for i in held)) for m in values} == set(expected)


def test_consuming_per_key_is_refused() -> None:
    with pytest.raises(Unsupported, match="no evaluator supports CONSUME BY PARTITION"):
        cerify.match("SELECT * WHERE A PARTITION BY [k] CONSUME BY PARTITION", [Event("A", {"k": 1})], language="ceql")


def test_what_consumes_is_no_formula() -> None:
    with pytest.raises(CerifyError, match="CONSUME BY"):
        LANGUAGE.explanations.explainer(parse("SELECT * WHERE A CONSUME BY ANY"), Stream(), "")


def test_queries_are_compared_by_their_formulas() -> None:
    within, wider = (f"SELECT * FROM S WHERE A ; B PARTITION BY [k] WITHIN {n} EVENTS" for n in (1, 2))
    assert isinstance(cerify.contained(*map(parse, (within, wider))), Contained)
    assert isinstance(cerify.contained(*map(parse, (wider, within))), Different)
    assert isinstance(cerify.equivalent(parse(within), parse(f"{within} CONSUME BY ANY")), Undecided)
    formula = cerify.parse("A ; B PER KEY [k] WITHIN 2 EVENTS")
    assert isinstance(cerify.equivalent(parse(within), formula), Equivalent)
