"""The generator of clauses of MATCH_RECOGNIZE draws what the campaigns are to see."""

from __future__ import annotations

from random import Random

from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import constructs
from cerify.semantics.trees import subtrees


def test_conditions_are_connected_by_and_and_or() -> None:
    rng = Random(1)
    clauses = [case(rng, profile, 8, 3)[0] for profile in PROFILES.values() for _ in range(60)]
    drawn = {type(node) for q in clauses for one in q.define for node in subtrees(one.condition)}
    assert {rows.RowAnd, rows.RowOr, rows.RowNot} <= drawn


def test_a_chain_has_each_variable_once_and_looks_at_no_row_by_its_distance() -> None:
    for number in range(300):
        q, _ = case(Random(number), PROFILES["chain"], 8, 6)
        parts = [p for p in subtrees(q.pattern) if isinstance(p, rows.RowVariable)]
        assert len(parts) == len(q.primary)
        assert constructs(q).isdisjoint(
            {"alternation", "permute", "exclusion", "anchor", "empty", "physical", "classifier"}
        )
        assert (q.rows, q.order, q.subsets, q.window) == ("one", (), (), None)
