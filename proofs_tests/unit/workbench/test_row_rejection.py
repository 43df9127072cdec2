"""That a match is called preferred to rows exactly where they can be labelled, against all labellings there are."""

from itertools import combinations

import pytest

from cerify.api import explain, generate
from cerify.explanations.row_pattern import RowRejection
from cerify.semantics.row_pattern.denote import Meaning
from cerify.semantics.row_pattern.interpreter import RowOutput, RowStepBudget, find_matches
from cerify.semantics.row_pattern.scalars import STANDARD
from cerify.semantics.row_pattern.syntax import MatchRecognize
from proofs_tests.support import sampled

BLOCK = 40  # random clauses of one test


@pytest.mark.parametrize("block", sampled(range(20), [0]))
def test_another_match_is_preferred_only_to_rows_that_can_be_labelled(block: int) -> None:
    seen = set()
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        q, S = generate("row-pattern", seed=seed)
        assert isinstance(q, MatchRecognize)
        made = RowOutput(q, S)
        rejection = RowRejection(made, sorted(find_matches(q, S)))
        matches = {m.events for m in rejection.matches}
        for places in made.partitions:
            for i, j in combinations(range(len(places) + 1), 2):
                C = tuple(places[i:j])
                if C in matches:
                    continue
                before = [m.match_number for m in rejection.matches if made.row_of(m) in places[:i]]
                P, number = made.place[C[0]][0], max(before, default=0) + 1
                meaning = Meaning(made.q, P, i, range(len(P)), number, STANDARD, RowStepBudget(1_000_000))
                possible = any(len(w) == len(C) for w in meaning.labellings(made.q.pattern, ()))
                first = rejection.reasons(frozenset(C), None)[0]
                assert ("comes before" in first or "no search begins" in first) == possible, (seed, C)
                seen.add(possible)
    assert seen == {False, True}


def test_rows_of_windows_have_reasons_too() -> None:
    for seed in range(BLOCK):
        q, S = generate("row-pattern", seed=seed, profile="windows", events=6)
        assert isinstance(q, MatchRecognize)
        made = RowOutput(q, S)
        rejection = RowRejection(made, sorted(find_matches(q, S)))
        for at in range(len(S)):
            for C in (frozenset({at}), frozenset({at, at + 1}) & made.place.keys()):
                if all(frozenset(m.events) != C or m.at != at for m in rejection.matches):
                    assert all(rejection.reasons(C, at))


def test_nearest_matches_have_a_row_in_common_if_any_has() -> None:
    table = [{"x": x} for x in (90, 80, 70, 80, 90, 50, 40, 60)]
    query = "MATCH_RECOGNIZE (PATTERN (A+) DEFINE A AS SUM(A.x) < 200)"
    found = explain(query, table, [0, 1, 2], language="row-pattern")
    assert [m.events for m in found.near] == [(0, 1), (2, 3)]
    alone = explain(query.replace("< 200", "> 200 OR x = 60"), table, [0], language="row-pattern")
    assert [m.events for m in alone.near] == [(7,)]
