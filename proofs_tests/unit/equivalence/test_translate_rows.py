"""MATCH_RECOGNIZE, CEL and SASE+: translations held against both definitions, and the tables of the guide's page."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product
from pathlib import Path
from random import Random

import pytest

from cerify.equivalence.rewrite.translate_row_pattern import (
    cel_to_row,
    predicates_of,
    row_to_cel,
    sase_to_row,
    two_lengths,
)
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter as cel_interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse as parse_cel
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.readings import DECIDED, STANDARD
from cerify.semantics.row_pattern.denote import Meaning
from cerify.semantics.row_pattern.interpreter import RowStepBudget, find_matches, table_of
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import MatchRecognize, show
from proofs_tests.support import sampled

PAGE = Path(__file__).parents[3] / "docs" / "guide" / "row-relations.md"
CONDITIONS = ("x = 1", "x > 1", "x < 3 AND y = 1", "x IN (1, 3)", "x BETWEEN 2 AND 3", "x <> 2 OR y > x", "y = 1")
VALUES = (None, 1, 2, 3)
Answer = set[tuple[int, tuple[int, ...]]]


def in_rows(q: MatchRecognize, S: Stream, is_whole: bool = True) -> Answer:
    """Of each match where it is reported, and its rows; if not whole, those that are not left out."""
    left_out = () if is_whole else ("excluded",)
    return {
        (m.at, tuple(sorted(set(m.events) - {p for name in left_out for p in getattr(m, name)})))
        for m in find_matches(q, S)
    }


def in_cel(phi: cel.Formula, S: Stream) -> Answer:
    return {(m.at, m.events) for m in cel_interpreter.matches_of(phi, S, "matches", Budget())}


def in_sase(text: str, S: Stream) -> Answer:
    sase = LANGUAGES["sase"]
    return {(max(m.events), m.events) for m in sase.evaluators.matches(sase.syntax.parse(text), S)}


def random_pattern(rng: Random, depth: int) -> str:
    if depth == 0:
        return rng.choice("ABC")
    left, right = random_pattern(rng, depth - 1), random_pattern(rng, rng.randrange(depth))
    shapes = ["{0} {1}"] * 4 + ["({0} | {1})", "({0})+", "({0})?", "({0}){{1,2}}", "({0})*?"]
    return rng.choice([*shapes, "PERMUTE({0}, {1})", "{{- {0} -}} {1}"]).format(left, right)


def random_clause(rng: Random, typed: bool) -> MatchRecognize:
    pattern, define = random_pattern(rng, rng.randint(1, 3)), []
    for A in sorted({*re.findall(r"\b[ABC]\b", pattern)}):
        kind = [f"type = '{A}'"] if typed else []
        condition = [rng.choice(CONDITIONS)] if not typed or rng.random() < 0.5 else []
        define.append(f"{A} AS {' AND '.join([*kind, *(f'({one})' for one in condition)])}")
    return parse(f"MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN ({pattern}) DEFINE {', '.join(define)})")


def random_stream(rng: Random, typed: bool) -> Stream:
    events = []
    for _ in range(rng.randint(0, 6)):
        values = {"x": rng.choice(VALUES), "y": rng.choice(VALUES)}
        kind = rng.choice("ABC") if typed else "row"
        events.append(Event(kind, {name: value for name, value in values.items() if value is not None}))
    return Stream(events)


@pytest.mark.parametrize("cases", sampled([50, 300], [50]))
@pytest.mark.parametrize("typed", [True, False])
def test_clauses_as_formulas(typed: bool, cases: int) -> None:
    kinds = Counter[str]()
    for seed in range(cases):
        rng = Random(f"{typed} {seed}")
        q = random_clause(rng, typed)
        try:
            phi = row_to_cel(q)
        except Unsupported as error:
            kinds["empty" if "no row" in error.message else "two lengths"] += 1
            if "may begin at one row" in error.message:
                require_two_lengths(q)
            continue
        for _ in range(8):
            S = random_stream(rng, typed)
            found = in_rows(q, S)
            assert found == in_cel(phi, S), (show(q), show_cel(phi), list(S))
            kinds["matched" if found else "none"] += 1
    assert min(kinds[one] for one in ("matched", "none", "two lengths")) > cases / 15, kinds


def require_two_lengths(q: MatchRecognize) -> None:
    """By the definition matches of both lengths begin at the first of these rows: so no formula is equal to q."""
    found = two_lengths(q.pattern, predicates_of(q))
    assert found is not None
    events = [event for event in found.events if event is not None]
    assert len(events) == len(found.events)
    table = table_of(Stream(events))
    at_row = Meaning(q, table, 0, range(len(table)), 1, STANDARD, RowStepBudget(100_000))
    lengths = {len(w) for w in at_row.labellings(q.pattern, ())}
    assert {found.first, len(events)} <= lengths, (show(q), events)


def random_formula(rng: Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(["A", "B", "C", "(A IN v)", "(B IN v FILTER v.x > 1)"])
    left, right = random_formula(rng, depth - 1), random_formula(rng, rng.randrange(depth))
    shapes = ["({0} : {1})"] * 3 + ["({0} OR {1})", "({0}):+", "STRICT({0} ; {1})", "({0} FILTER v.y = 1)"]
    return rng.choice([*shapes, "(({0} : {1}) FILTER A.x = 2)"]).format(left, right)


@pytest.mark.parametrize("cases", sampled([100, 300], [100]))
def test_formulas_as_clauses(cases: int) -> None:
    kinds = Counter[str]()
    for seed in range(cases):
        rng = Random(seed)
        phi = parse_cel(random_formula(rng, rng.randint(0, 3)))
        try:
            q = cel_to_row(phi)
        except Unsupported as error:
            kinds["refused" if "may begin at one event" in error.message else "for another reason"] += 1
            continue
        assert parse(show(q)) == q
        for _ in range(6):
            S = random_stream(rng, True)
            found = in_rows(q, S)
            assert found == in_cel(phi, S), (show_cel(phi), show(q), list(S))
            kinds["matched" if found else "none"] += 1
    assert min(kinds[one] for one in ("matched", "none", "refused")) > cases / 15, kinds
    assert not kinds["for another reason"]


@pytest.mark.parametrize("streams", sampled([100, 300], [100]))
@pytest.mark.parametrize(
    "query",
    [
        "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { [x] } RETURN a.x",
        "PATTERN SEQ(A a) WHERE partition_contiguity(a) { [x] } RETURN a.x",
        pytest.param(
            "PATTERN SEQ(A a, B+ b[], A c) WHERE partition_contiguity(a, b[], c) { [x] and c.y = 1 } RETURN a.x",
            marks=pytest.mark.thorough,
        ),
        "PATTERN SEQ(A a, B+ b[], A c) WHERE strict_contiguity(a, b[], c) { c.x = 1 and b[i].x = 1 } RETURN a.x",
    ],
)
def test_queries_of_sase_as_clauses(query: str, streams: int) -> None:
    q = sase_to_row(LANGUAGES["sase"].syntax.parse(query))
    values = ({"x": 1, "y": 1}, {"x": 2}, {"y": 1})
    letters, rng = [Event(R, one) for R in "AB" for one in values], Random(query)
    short = [events for length in (1, 2, 3) for events in product(letters, repeat=length)]
    matched = 0
    for events in [*short, *(tuple(rng.choices(letters, k=6)) for _ in range(streams))]:
        S = Stream(events)
        found = in_rows(q, S)
        assert found == in_sase(query, S), (show(q), list(S))
        matched += bool(found)
    assert matched > streams / 30


REFUSED = [
    ("row-pattern", "PATTERN (A B) DEFINE A AS type = 'A', B AS type = 'B'", "SKIP TO NEXT ROW"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS x > A.x", "another row"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS NOT x > 1", "only comparisons"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS x + 1 > 1", "columns of the current row"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (^ A)", "no counterpart of"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A B) DEFINE B AS type = 'B'", "an event of CEL has a type"),
    ("row-pattern", "ORDER BY x AFTER MATCH SKIP TO NEXT ROW PATTERN (A)", "leave ORDER BY out"),
    ("row-pattern", "PARTITION BY x AFTER MATCH SKIP TO NEXT ROW PATTERN (A)", "PARTITION BY cannot be translated"),
    ("row-pattern", "AFTER MATCH SKIP TO NEXT ROW PATTERN (A?)", "may match no row"),
    (
        "row-pattern",
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS x > FALSE",
        "Booleans cannot be compared by order",
    ),
    (
        "row-pattern",
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS x BETWEEN FALSE AND TRUE",
        "Booleans cannot be compared by order",
    ),
    ("cel", "A FILTER A.x >= true", "order of Booleans"),
    ("cel", "A FILTER A[x in range(false, true)]", "order of Booleans"),
    ("cel", "A FILTER A[x in {1, 'a'}]", "not be well-formed: 1 is a number"),
    ("cel", "A ; B", "put STRICT around the formula"),
    ("cel", "NXT(A : B)", "only events"),
    ("cel", "(A : B) FILTER A.x = B.x", "only filters on single events"),
    ("cel", "A FILTER A.x like 'a.*'", "NOT, string patterns"),
    ("cel", "A FILTER A.x / 2 = 1", "division"),
]


@pytest.mark.parametrize(("language", "text", "why"), REFUSED)
def test_what_is_refused(language: str, text: str, why: str) -> None:
    tree = parse_cel(text) if language == "cel" else parse(f"MATCH_RECOGNIZE ({text})")
    (translate,) = (
        one for name, one in LANGUAGES[language].deciders.translations.items() if name in ("cel", "row-pattern")
    )
    with pytest.raises(Unsupported, match=why):
        translate(tree, DECIDED)


# --- the tables of the page -------------------------------------------------------------------------------------------


def lines(heading: str) -> list[list[str]]:
    """The cells of the tables with this first heading, without the quotation marks of code."""
    found, is_here = [], False
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith(f"| {heading} |"):
            is_here = True
        elif not line.startswith("|"):
            is_here = False
        elif is_here and not line.startswith("|---"):
            cells = re.split(r"(?<!\\)\|", line.strip("|"))
            found.append([cell.strip().strip("`").replace("\\|", "|") for cell in cells])
    return found


def clause_of(pattern: str, skip: str) -> MatchRecognize:
    used = [A for A in "ABC" if re.search(rf"\b{A}\b", pattern)]
    define = ", ".join(f"{A} AS type = '{A}'" for A in used)
    return parse(f"MATCH_RECOGNIZE (AFTER MATCH SKIP {skip} PATTERN ({pattern}) DEFINE {define})")


def first_difference(left: MatchRecognize, right: cel.Formula | str) -> str:
    """The first stream by length on which the matches differ, without the rows that the clause leaves out."""
    for length in range(1, 7):
        for types in product("ABC" if length < 6 else "AB", repeat=length):
            S = Stream(map(Event, types))
            if in_rows(left, S, False) != (in_sase(right, S) if isinstance(right, str) else in_cel(right, S)):
                return " ".join(types)
    return "none to length 6"


@pytest.mark.parametrize(("pattern", "skip", "formula", "stream"), lines("pattern"))
def test_the_smallest_stream_that_tells_a_clause_from_a_formula(
    pattern: str, skip: str, formula: str, stream: str
) -> None:
    assert first_difference(clause_of(pattern, skip), parse_cel(formula)) == stream


@pytest.mark.parametrize(("query", "pattern", "stream"), lines("query"))
def test_the_smallest_stream_that_tells_a_clause_from_a_query_of_sase(query: str, pattern: str, stream: str) -> None:
    strategy, components = query.split(" ", 1)
    arguments = re.findall(r"[a-z](?:\[\])?(?=[,)])", components)
    text = f"PATTERN {components} WHERE {strategy}({', '.join(arguments)}) {{ }} RETURN {arguments[-1]}.x"
    assert first_difference(clause_of(pattern, "TO NEXT ROW"), text) == stream


def test_there_are_such_tables() -> None:
    assert (len(lines("pattern")), len(lines("query"))) == (15, 5)
