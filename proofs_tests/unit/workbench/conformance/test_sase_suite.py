"""The suite of SASE+ as it is shipped: right today, able to tell wrong semantics and other readings."""

import json
from collections import Counter
from functools import cache

import pytest

from cerify.api import match
from cerify.conformance.cases import case_of_line, load
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS
from cerify.semantics.events import Match, result_of
from cerify.semantics.json_events import json_of_event, schema_of_json
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import show
from proofs_tests.support import sampled
from proofs_tests.tools.make_suite import numbered
from proofs_tests.tools.mutants.mutant import Mutant
from proofs_tests.tools.mutants.sase import MUTANTS, READING_FEATURE, READINGS
from proofs_tests.tools.suites.sase.queries import CLAUSES, QUERIES
from proofs_tests.tools.suites.sase.suite import LONG, SOURCE, STREAMS, printed
from proofs_tests.tools.suites.twins import twins


def suite() -> list[Case]:
    return load("sase")


@pytest.mark.parametrize("start", sampled(range(12), (0,)))
@pytest.mark.parametrize("evaluator", sampled(EVALUATORS, [one for one in EVALUATORS if one != "kernel"]))
def test_every_case_expects_what_the_evaluators_say_today(evaluator: str, start: int) -> None:
    for one in suite()[start::12]:
        found = match(parse(one.query), stream_of(one), evaluator=evaluator, output="valuations")
        assert found == one.matches, one.id


@pytest.mark.parametrize("start", sampled(range(12), (0,)))
def test_every_query_is_well_typed_and_survives_printing(start: int) -> None:
    for one in suite()[start::12]:
        q = parse(one.query)
        assert parse(show(q)) == q, one.id
        LANGUAGES["sase"].require_typed(q, schema_of_json(one.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    assert len({one.id for one in suite()}) == len(suite()) >= 800
    for one in suite():
        assert one.id.split("/")[:2] == ["sase", one.feature]
        assert one.language == "sase"
        assert one.clause.startswith(CLAUSES[one.feature])
    assert {one.feature for one in suite()} == CLAUSES.keys() == {*QUERIES, "sase-printed"}


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((one.feature, one.query, json.dumps(list(one.events))) for one in suite())
    assert asked.most_common(1)[0][1] == 1


def test_there_are_cases_with_matches_and_cases_without() -> None:
    for feature in CLAUSES:
        assert any(one.matches for one in suite() if one.feature == feature), feature
    assert sum(not one.matches for one in suite()) >= 50


def test_a_case_of_a_reading_says_what_the_other_reading_has() -> None:
    for one in suite():
        if one.feature.startswith(f"sase-{READING_FEATURE}"):
            assert f"{one.feature.removeprefix(f'sase-{READING_FEATURE}')}=" in one.clause, one.id


@cache
def caught() -> Counter[str]:
    """How many cases each mutant was seen to fail; none is asked any more once it has failed two."""
    counts: Counter[str] = Counter()
    for one in sorted(suite(), key=lambda one: (len(one.events), len(one.query))):
        own = [m for m in (*MUTANTS, *READINGS) if one.feature == f"sase-{m.name.split(':')[0]}"]
        if alive := [m for m in own if counts[m.name] < 2]:
            counts.update(SOURCE.kills(one.query, stream_of(one), alive))
    return counts


@pytest.mark.parametrize("mutant", [*MUTANTS, *READINGS], ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_two_cases_of_its_feature(mutant: Mutant) -> None:
    assert caught()[mutant.name] >= 2


def test_mutants_have_names_of_their_own_and_there_are_some_for_each_feature() -> None:
    names = [mutant.name for mutant in (*MUTANTS, *READINGS)]
    assert len(set(names)) == len(names) >= 60
    assert {f"sase-{name.split(':')[0]}" for name in names} == CLAUSES.keys() - {"sase-printed"}


@pytest.mark.parametrize("queries", sampled([1, 2], [1]))
def test_the_file_is_what_the_generator_writes(queries: int) -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. Some cases stand for all."""
    feature = "sase-union"
    found = ((feature, query, S) for query in QUERIES[feature][:queries] for S in SOURCE.chosen(feature, query))
    expected = list(numbered(SOURCE, found))
    assert expected == [one for one in suite() if one.feature == feature][: len(expected)]
    by_paper = list(numbered(SOURCE, (one for one in printed() if one[0] == "sase-printed")))
    assert by_paper == [one for one in suite() if one.feature == "sase-printed"][: len(by_paper)]


@pytest.mark.thorough
def test_the_twins_are_what_the_generator_writes() -> None:
    by_paper = [one for one in printed() if one[0] == "sase-printed"]
    made = {(feature, show(q), json.dumps([json_of_event(event) for event in S])) for feature, q, S in twins(suite())}
    assert made <= {(one.feature, one.query, json.dumps(list(one.events))) for one in suite()}
    assert len(suite()) == STREAMS * sum(map(len, QUERIES.values())) + len(by_paper) + len(LONG) + len(made)


def test_a_case_may_ask_for_matches_alone_of_a_query_without_return() -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WITHIN 3 seconds"
    assert show(parse(query)) == query
    events = [{"type": "A", "time": 0}, {"type": "B", "time": 1}]
    asked = {"id": "x", "feature": "f", "clause": "c", "language": "sase", "query": query, "events": events}
    bare = case_of_line(json.dumps({**asked, "output": "matches", "matches": [{"at": 1, "events": [0, 1]}]}), "here")
    whole = case_of_line(json.dumps({**asked, "output": "valuations"}), "here")
    assert bare.matches == [Match(1, (0, 1))]
    assert whole.matches == [Match(1, (0, 1), (("a", (0,)), ("b", (1,))), result_of({}))]
    for evaluator in EVALUATORS:
        assert match(parse(query), stream_of(whole), evaluator=evaluator, output="valuations") == whole.matches
