"""The core-CEL part of the suite as it is shipped: right today, and able to tell wrong semantics from right."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

from cerify.api import match
from cerify.conformance.cases import load
from cerify.conformance.model import Case
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel.check import require_typed
from cerify.semantics.core_cel.interpreter import by_clauses
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.json_events import schema_of_json, stream_of_json
from proofs_tests.support import FIGURE_1, sampled
from proofs_tests.tools.make_suite import cases_of, numbered
from proofs_tests.tools.mutants.core_cel import MUTANTS
from proofs_tests.tools.mutants.mutant import Mutant
from proofs_tests.tools.suites.core_cel import CLAUSES, QUERIES, SOURCE
from proofs_tests.unit.semantics.core_cel.examples import EXAMPLES


def suite() -> list[Case]:
    return load("core-cel")


def stream(case: Case) -> Stream:
    return stream_of_json(case.events, schema_of_json(case.schema), case.id)


def test_every_case_expects_what_the_denotation_says_today() -> None:
    for case in suite():
        assert match(parse(case.query), stream(case), evaluator="denotational") == case.matches


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_case_expects_what_the_clauses_alone_say(start: int) -> None:
    for case in suite()[start::4]:
        # the clauses alone remember nothing of what they have computed
        if len(case.events) > 7 and case.feature != "core-examples":
            continue
        assert by_clauses(parse(case.query), stream(case), Budget(valuations=20_000)) == case.matches


def test_the_automaton_agrees_wherever_it_can() -> None:
    answered = 0
    for case in suite():
        try:
            found = match(parse(case.query), stream(case), evaluator="automaton")
        except Unsupported:
            continue
        assert found == case.matches, case.id
        answered += 1
    assert answered > 80


def test_every_query_is_well_typed_and_survives_printing() -> None:
    for case in suite():
        phi = parse(case.query)
        assert parse(show(phi)) == phi, case.id
        require_typed(phi, schema_of_json(case.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    assert len({case.id for case in suite()}) == len(suite()) >= 150
    for case in suite():
        assert case.id.split("/")[:2] == ["core-cel", case.feature]
        assert (case.language, case.clause) == ("core-cel", CLAUSES[case.feature])
    assert {case.feature for case in suite()} == CLAUSES.keys()


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((case.query, json.dumps(list(case.events))) for case in suite())
    assert asked.most_common(1)[0][1] == 1


def test_there_are_cases_with_matches_and_cases_without() -> None:
    for feature in CLAUSES:
        assert any(case.matches for case in suite() if case.feature == feature), feature
    assert sum(not case.matches for case in suite()) >= 10


def test_the_running_examples_expect_what_the_paper_prints() -> None:
    by_query = {parse(case.query): case for case in suite() if case.feature == "core-examples"}
    for query, printed in EXAMPLES.values():
        case = by_query[parse(query)]
        assert stream(case).events == FIGURE_1.events
        assert set(case.matches) == {Match(n, C) for n, Cs in printed.items() for C in Cs}


@cache
def caught() -> Counter[str]:
    """How many cases each mutant was seen to fail; none is asked any more once it has failed one."""
    counts: Counter[str] = Counter()
    for case in suite():
        counts.update(SOURCE.kills(case.query, stream(case), [m for m in MUTANTS if not counts[m.name]]))
    return counts


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_a_case(mutant: Mutant) -> None:
    assert caught()[mutant.name] > 0


def test_the_file_is_what_the_generator_writes() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. One feature stands for all."""
    feature = "core-event"
    found = ((feature, query, S) for query in QUERIES[feature] for S in SOURCE.chosen(feature, query))
    assert list(numbered(SOURCE, found)) == [shipped for shipped in suite() if shipped.feature == "core-event"]


def test_a_published_case_stays_and_a_new_query_has_the_next_numbers() -> None:
    changed = replace(SOURCE, queries={"core-event": [*QUERIES["core-event"][1:], "C AS x"]})
    gone = show(parse(QUERIES["core-event"][0]))
    published = [case for case in suite() if case.feature == "core-event"]
    stays = [case for case in published if case.query != gone]
    made = [case for case in cases_of(changed) if case.feature == "core-event"]
    assert [case for case in made if case.query != "C AS x"] == stays
    numbers = [int(case.id.rpartition("/")[2]) for case in made if case.query == "C AS x"]
    assert numbers == list(range(len(published) + 1, len(published) + 1 + len(numbers)))
    assert numbers
