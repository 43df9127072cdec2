"""Two clauses of MATCH_RECOGNIZE, tried on short tables."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import cerify
from cerify.equivalence.decide import replay
from cerify.equivalence.decide.replay import tables, values
from cerify.equivalence.generate.row_pattern import RowProfile, clause
from cerify.equivalence.verdict import Different, Equivalent, Undecided
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Schema
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.support import sampled

LANGUAGES = ("row-pattern", "row-pattern")
LABELS, TURNED = "PATTERN (A B) DEFINE B AS B.x > SUM(A.x)", "PATTERN (A B) DEFINE B AS SUM(A.x) < B.x"
FALLS, RISES = "PATTERN (A B) DEFINE B AS price < PREV(price)", "PATTERN (A B) DEFINE B AS price > PREV(price)"


def asked(left: str, right: str, **named: Any) -> Different | Undecided:
    verdict = cerify.equivalent(f"MATCH_RECOGNIZE ({left})", f"MATCH_RECOGNIZE ({right})", languages=LANGUAGES, **named)
    assert isinstance(verdict, Different | Undecided)
    return verdict


@pytest.mark.parametrize(
    ("left", "right", "named"),
    [
        (FALLS, RISES, {}),
        ("PATTERN (A B+)", "PATTERN (A B*)", {}),
        ("AFTER MATCH SKIP TO NEXT ROW PATTERN (A B)", "PATTERN (A B)", {}),
        ("PARTITION BY k PATTERN (A B)", "PATTERN (A B)", {}),
        ("PATTERN (A) DEFINE A AS s = 'up'", "PATTERN (A) DEFINE A AS s <> 'up'", {}),
        ("PATTERN (A) DEFINE A AS x > 10.5", "PATTERN (A) DEFINE A AS x > 11", {}),
        ("PATTERN (A) DEFINE A AS x IS NULL", "PATTERN (A) DEFINE A AS NOT x = x", {}),
        ("PATTERN (A | B)", "PATTERN (B | A)", {"level": "valuations"}),
    ],
)
def test_a_table_on_which_they_differ_is_found(left: str, right: str, named: Any) -> None:
    found = asked(left, right, **named)
    assert isinstance(found, Different)
    assert found.left_only or found.right_only
    for clause_, only in ((left, found.left_only), (right, found.right_only)):
        mine = cerify.match(f"MATCH_RECOGNIZE ({clause_})", found.stream, language="row-pattern")
        assert {m.events for m in only} <= {m.events for m in mine}


def test_where_none_is_found_it_is_undecided() -> None:
    found = asked(LABELS, TURNED)
    assert found == Undecided(
        "no difference on tables of up to 4 rows over a few values; "
        "the condition of B looks at what the match has so far, not at columns alone"
    )
    assert "up to 1 row over" in asked(LABELS, TURNED, bound=1).reason  # type: ignore[union-attr]
    assert "up to 2 rows" in asked(LABELS, TURNED, bound=2).reason  # type: ignore[union-attr]
    assert isinstance(asked(FALLS, RISES, budget=Budget(seconds=0)), Undecided)


def test_an_error_of_one_alone_is_named() -> None:
    left, right = (f"AFTER MATCH SKIP TO B PATTERN (A B{q}) DEFINE A AS x = 1, B AS x = 2" for q in ("?", "??"))
    said = "; on the table (x = 1), (x = 2) the right ends in an error, which is no difference: no row of match 1 is"
    assert said in asked(left, right).reason  # type: ignore[union-attr]
    assert "error" not in asked(left, left + " AND SUM(x) > 0").reason  # type: ignore[union-attr]


def test_too_many_columns_for_any_table_are_said_to_be_untried() -> None:
    many = " AND ".join(f"c{i} > SUM(A.c{i})" for i in range(12))
    found = asked(f"PATTERN (A B) DEFINE B AS {many}", f"PATTERN (A B) DEFINE B AS {many} AND TRUE")
    assert found.reason.startswith("nothing was tried; ")  # type: ignore[union-attr]


def test_what_takes_long_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "SECONDS", 0.0)
    assert asked(LABELS, TURNED).reason.startswith("nothing was tried; ")  # type: ignore[union-attr]


def test_contained_asks_for_what_the_left_has() -> None:
    narrow, wide = (f"MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS {c} AND SUM(x) > 0)" for c in ("x = 1", "x > 0"))
    assert isinstance(cerify.contained(narrow, wide, languages=LANGUAGES), Undecided)
    assert isinstance(cerify.contained(wide, narrow, languages=LANGUAGES), Different)


def test_the_values_are_those_compared_with_and_some_next_to_them() -> None:
    q = parse("MATCH_RECOGNIZE (PARTITION BY k PATTERN (A) DEFINE A AS X > 3 AND x < 9 AND s IN ('a', 'b') AND y < 1)")
    known = values([q], Schema({"row": {"Y": "float"}}))
    assert known["X"] == [10, 2, 3, 4, 8, 9, None]
    assert known["s"] == ["a", "a_", "b", "b_", None]
    assert known["k"] == [0, 1, 2, None]
    assert known["Y"] == [0, 1, 2, None]  # as the table has it
    assert len(list(tables({"x": [0, None]}, 3))) == 2 + 4 + 8
    assert not list(tables({f"x{i}": [0, 1, None] for i in range(40)}, 3))  # 3^40 rows


@pytest.mark.parametrize("seed", sampled(range(60), range(0, 60, 15)))
def test_a_clause_is_not_told_apart_from_itself(seed: int) -> None:
    text = show(clause(Random(seed), RowProfile(), 4))
    found = cerify.equivalent(text, text, languages=LANGUAGES, bound=2)
    assert isinstance(found, Undecided | Equivalent)


def test_tables_of_a_schema_have_rows_of_its_types() -> None:
    """Found by a trial: all rows were of the type `row`, with the columns of any type."""
    schema = Schema({"A": {"x": "int"}, "B": {"y": "int"}, "C": {"y": "int"}})
    q = parse("MATCH_RECOGNIZE (PATTERN (P Q) DEFINE P AS type = 'B' AND P.y = 1, Q AS Q.x > SUM(P.y))")
    rows = {(event.type, *event.attributes) for S in tables(values([q], schema), 1, schema) for event in S}
    assert rows == {("A", "x"), ("A",), ("B", "y"), ("B",), ("C", "y"), ("C",)}
    verdict = asked(LABELS, TURNED.replace("<", "<="), schema=Schema({"A": {"x": "int"}, "B": {"x": "int"}}))
    assert isinstance(verdict, Different)
    assert {event.type for event in verdict.stream} <= {"A", "B"}
