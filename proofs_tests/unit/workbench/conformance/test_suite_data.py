"""The conformance suite as it is shipped: right today, complete, and able to tell wrong semantics from right."""

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from cerify.conformance.cases import load
from cerify.conformance.make_suite import case as made_case
from cerify.conformance.make_suite import chosen, generated, kills
from cerify.conformance.model import Case
from cerify.conformance.mutants import MUTANTS
from cerify.conformance.queries import CLAUSES, FILES, GROUPS
from cerify.evaluators import denotational
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.show import show
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.events import Stream
from cerify.semantics.json_events import schema_of_json, stream_of_json
from proofs_tests.support import EXAMPLES


@cache
def suite() -> tuple[Case, ...]:
    return tuple(case for name in FILES for case in load(name))


def stream(case: Case) -> Stream:
    return stream_of_json(case.events, schema_of_json(case.schema), case.id)


def test_every_case_expects_what_the_denotation_says_today() -> None:
    for case in suite():
        found = denotational(parse(case.query), stream(case), case.output, Budget())
        assert found == case.matches, case.id


def test_every_query_is_well_typed_and_survives_printing() -> None:
    for case in suite():
        phi = parse(case.query)
        assert parse(show(phi)) == phi, case.id
        require_typed(phi, schema_of_json(case.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    ids = Counter(case.id for case in suite())
    assert ids.most_common(1)[0][1] == 1
    for case in suite():
        language, feature, *_ = case.id.split("/")
        assert language == case.language == "cel"
        assert feature == case.feature or feature.startswith(("ex3", "sec", "fig"))


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((case.query, json.dumps(list(case.events)), case.output) for case in suite())
    assert asked.most_common(1)[0][1] == 1


def test_the_suite_is_large_enough_for_every_feature() -> None:
    features = Counter(case.feature for case in suite())
    assert len(suite()) >= 300
    assert set(features) == set(CLAUSES)
    assert min(features.values()) >= 10
    assert sum(case.output == "valuations" for case in suite()) >= 30
    assert all(case.clause.startswith("tods21 ") for case in suite())


def test_there_are_cases_with_matches_and_cases_without() -> None:
    """An engine that reports nothing must fail under every feature; one that reports too much, on many cases."""
    for feature in CLAUSES:
        assert any(case.matches for case in suite() if case.feature == feature), feature
    assert sum(not case.matches for case in suite()) > 50


def test_the_examples_of_section_3_expect_what_the_paper_prints() -> None:
    by_id = {case.id: case for case in suite()}
    for name, (query, printed) in EXAMPLES.items():
        case = by_id[f"cel/ex3/{name.replace(chr(39), '-prime')}"]
        assert parse(case.query) == parse(query)
        expected = {(match.at, match.events) for match in case.matches}
        assert expected == {(n, C) for n, Cs in printed.items() for C in Cs}


@cache
def caught() -> Counter[str]:
    counts: Counter[str] = Counter()
    for case in suite():
        counts.update(kills(parse(case.query), stream(case), case.output))
    return counts


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_a_case(mutant: Any) -> None:
    assert caught()[mutant.name] > 0


@pytest.mark.parametrize("feature", ["event", "or", "cplus"])
def test_the_files_are_what_the_generator_writes(feature: str) -> None:
    """Whoever changes the generator, or edits a file by hand, has to write the files anew."""
    by_hand = [case for group in GROUPS if group.feature == feature for case in chosen(group)]
    cases = [*by_hand, *generated(feature)]
    shipped = [case for case in suite() if case.feature == feature]
    made = [
        made_case(case.id, feature, CLAUSES[feature], show(phi), S, output)
        for case, (phi, S, output) in zip(shipped, cases, strict=True)
    ]
    assert made == shipped
