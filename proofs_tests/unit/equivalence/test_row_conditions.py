"""Conditions that are never true, clauses without a match: what is named is so on random tables; what `check` says."""

from __future__ import annotations

import re
from collections import Counter
from random import Random

import pytest

from cerify.api import check
from cerify.equivalence.decide.row_clauses import DefineConditions
from cerify.semantics.arguments import Budget
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.support import sampled

CONDITIONS = (
    "x = NULL", "x < A.x", "x > B.x", "x > PREV(x)", "x > PREV(x, 2)", "x < NEXT(x)", "x > 1 AND x < 0", "x > 0",
    "C.x IS NOT NULL", "x IN (1, NULL)", "x NOT IN (1, NULL)", "x BETWEEN NULL AND 2", "NOT x = C.x", "A.x + 1 > B.x",
    "x > 1 OR x > B.x", "COALESCE(A.x, C.x) = 1", "COUNT(B.*) = 0", "SUM(B.x) >= 0", "PREV(C.x) = 1", "x = 1 AND x = 2",
    "x <= x", "LAST(A.x, 1) > 0", "CASE WHEN B.x = 1 THEN x = 1 ELSE x = 2 END", "x NOT BETWEEN NULL AND 0",
)  # fmt: skip
PATTERNS = (
    "A B C",
    "A+ B* C?",
    "(A | B)+ C",
    "A B | C",
    "A? (B C)*",
    "^ A B",
    "A $ B",
    "A (B ^ | C)",
    "PERMUTE(A, B)",
)


@pytest.mark.parametrize("seeds", sampled([25, 200], [25]))
@pytest.mark.parametrize("window", ["", "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING", "SEEK"])
def test_what_is_named_never_happens(window: str, seeds: int) -> None:
    kinds = Counter[str]()
    for seed in range(seeds):
        rng = Random(f"{window} {seed}")
        pattern = rng.choice([p for p in PATTERNS if not window or not set("^$") & set(p)])
        used = [A for A in "ABC" if re.search(rf"\b{A}\b", pattern)]
        fitting = [one for one in CONDITIONS if set(re.findall(r"\b[ABC]\b", one)) <= set(used)]
        define = ", ".join(f"{A} AS {rng.choice(fitting)}" for A in used if rng.random() < 0.7)
        head = "MATCH_RECOGNIZE (" if not window else "WINDOW (ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING "
        seek = "SEEK " if window == "SEEK" else ""
        q = parse(f"{head}AFTER MATCH SKIP TO NEXT ROW {seek}PATTERN ({pattern}) {f'DEFINE {define}' * bool(define)})")
        conditions = DefineConditions(q)
        never, possible = {one.variable for one in conditions.never_true()}, conditions.match_is_possible()
        kinds["never"] += len(never)
        kinds["no match"] += not possible
        for _ in range(8):
            values = [rng.choice((None, 0, 1, 2)) for _ in range(rng.randint(1, 5))]
            S = Stream({"type": "row", **({} if v is None else {"x": v})} for v in values)
            found = list(find_matches(q, S, budget=Budget(valuations=20_000)))
            assert possible or not found, (define, pattern, values)
            assert never.isdisjoint(A for match in found for A, _ in match.bindings or ()), (define, pattern, values)
            kinds["matched"] += bool(found)
    assert min(kinds[one] for one in ("never", "no match", "matched")) > seeds // 16, kinds


def said(text: str) -> str:
    known = check(text, language="row-pattern")
    return "\n".join([known.summary, *(problem.message for problem in known.problems)])


@pytest.mark.parametrize(
    ("clause", "line"),
    [
        ("PATTERN (A B) DEFINE B AS x = NULL", "B is never true: x = NULL is always NULL; a test for NULL is IS NULL"),
        (
            "PATTERN (S D+) DEFINE S AS S.x > D.x",
            "S is never true: D.x is always NULL, as none of its rows comes",
        ),
        ("PATTERN (A D) DEFINE D AS x < D.x", "D is never true: x < D.x compares a row with itself"),
        ("PATTERN (A) DEFINE A AS x > 2 AND x < 1", "A is never true: x > 2 AND x < 1 contradicts itself"),
        ("PATTERN (A B $ C)", "no table has a match"),
        ("PATTERN (A ^ B)", "no table has a match"),
        ("PATTERN (A+? B+?)", "B+? iterates no more often than it has to"),
        ("PATTERN (A{100000} B)", "match refuses it: the automaton of the pattern has more than 100000 states"),
    ],
)
def test_check_says_it(clause: str, line: str) -> None:
    assert line in said(f"MATCH_RECOGNIZE ({clause})")


def test_frames_that_are_too_short() -> None:
    falls = "DEFINE D AS x < PREV(x), U AS x > PREV(x)"
    frame = "ROWS BETWEEN CURRENT ROW AND 2 FOLLOWING"
    assert "no table has a match: PREV and NEXT" in said(f"WINDOW ({frame} PATTERN (D+ U) {falls})")
    assert "no table has a match: PREV and NEXT" in said(f"WINDOW ({frame} PATTERN (A{{4}}))")
    for possible in ("PATTERN (A D+ U)", "SEEK PATTERN (D U)"):
        assert "no table has a match" not in said(f"WINDOW ({frame} {possible} {falls})")


@pytest.mark.parametrize(
    "clause",
    [
        "PATTERN ((S | D)+) DEFINE S AS S.x > D.x",
        "PATTERN (A) DEFINE A AS x <= A.x",
        "PATTERN (A+? B+? $)",
        "PATTERN (A B{2}?)",
        "PATTERN (A) DEFINE A AS x > FALSE",  # SQL orders booleans
        "PATTERN (A) DEFINE A AS x BETWEEN FALSE AND TRUE",
    ],
)
def test_what_may_happen_is_not_named(clause: str) -> None:
    text = said(f"MATCH_RECOGNIZE ({clause})")
    assert not any(word in text for word in ("never true", "no table", "iterates no more"))
