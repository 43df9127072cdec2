"""The suite of MATCH_RECOGNIZE as it is shipped: right today, and able to tell wrong semantics."""

import json
from collections import Counter

import pytest

from cerify.api import match
from cerify.conformance.cases import load
from cerify.conformance.oracle import stream_of
from cerify.languages import LANGUAGES
from cerify.semantics.json_events import schema_of_json
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.syntax import show
from proofs_tests.support import sampled
from proofs_tests.tools.make_suite import numbered
from proofs_tests.tools.mutants.row_pattern import MEANING, MUTANTS
from proofs_tests.tools.suites.row_pattern.queries import CLAUSES, QUERIES
from proofs_tests.tools.suites.row_pattern.suite import SOURCE

SUITE = load("row-pattern")


@pytest.mark.parametrize("start", sampled(range(30), (0,)))
def test_every_case_expects_what_the_evaluators_say_today(start: int) -> None:
    for one in SUITE[start::30]:
        for evaluator in ("denotational", "automaton"):
            found = match(one.query, stream_of(one), language="row-pattern", evaluator=evaluator)
            assert sorted(found) == one.matches, one.id


@pytest.mark.parametrize("start", sampled(range(16), (0,)))
def test_every_query_is_well_typed_and_survives_printing(start: int) -> None:
    for one in SUITE[start::16]:
        q = parse(one.query)
        assert parse(show(q)) == q, one.id
        LANGUAGES["row-pattern"].require_typed(q, schema_of_json(one.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    assert len({one.id for one in SUITE}) == len(SUITE) >= 1_500
    for one in SUITE:
        assert one.id.split("/")[:2] == ["row-pattern", one.feature]
        assert (one.language, one.output) == ("row-pattern", "valuations")
        assert one.clause.startswith(CLAUSES[one.feature])
    assert {one.feature for one in SUITE} == CLAUSES.keys() == QUERIES.keys()


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((one.feature, one.query, json.dumps(list(one.events))) for one in SUITE)
    assert asked.most_common(1)[0][1] == 1


def test_there_are_cases_with_matches_and_cases_without() -> None:
    for feature in CLAUSES:
        assert any(one.matches for one in SUITE if one.feature == feature), feature
    assert any(not m.events for one in SUITE for m in one.matches)
    assert any(len(m.events) > 16 for one in SUITE for m in one.matches)
    assert any(not one.matches for one in SUITE)


@pytest.mark.thorough
def test_every_wrong_semantics_fails_a_case() -> None:
    left = {mutant.name: mutant for mutant in MUTANTS}
    assert len(left) == len(MUTANTS) >= 120
    for one in sorted(SUITE, key=lambda one: (len(one.events), len(one.query))):
        for name in SOURCE.kills(one.query, stream_of(one), left.values()):
            del left[name]
    assert not left


@pytest.mark.parametrize("feature", ["row-skip", "row-permute"])
def test_wrong_semantics_of_a_feature_fail_its_cases(feature: str) -> None:
    own = {m.name: m for m in MUTANTS if f"row-{m.name.split(':')[0]}" == feature}
    for one in SUITE:
        if one.feature == feature:
            for name in SOURCE.kills(one.query, stream_of(one), own.values()):
                del own[name]
    assert not own


def test_the_meaning_of_the_mutants_is_the_definition() -> None:
    for one in SUITE[::20]:
        assert MEANING.matches(parse(one.query), stream_of(one)) == frozenset(one.matches), one.id


def test_the_file_is_what_the_generator_writes() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. Some cases stand for all."""
    feature = "row-variable"
    found = ((feature, query, S) for query in QUERIES[feature][:3] for S in SOURCE.chosen(feature, query))
    expected = list(numbered(SOURCE, found))
    assert expected == [one for one in SUITE if one.feature == feature][: len(expected)]
