"""The generator of clauses of MATCH_RECOGNIZE draws what the campaigns are to see."""

from __future__ import annotations

from random import Random

from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.trees import subtrees


def test_conditions_are_connected_by_and_and_or() -> None:
    rng = Random(1)
    clauses = [case(rng, profile, 8, 3)[0] for profile in PROFILES.values() for _ in range(60)]
    drawn = {type(node) for q in clauses for one in q.define for node in subtrees(one.condition)}
    assert {rows.And, rows.Or, rows.Not} <= drawn
