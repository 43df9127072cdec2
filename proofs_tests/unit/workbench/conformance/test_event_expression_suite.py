"""The suite of event expressions as it is shipped: right today, and able to tell wrong semantics from right."""

import json
from collections import Counter
from itertools import islice

import pytest

from cerify.api import match
from cerify.conformance.cases import load
from cerify.conformance.model import Case
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import require_typed
from cerify.semantics.event_expressions.occurrences import occurrences
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Stream
from cerify.semantics.json_events import schema_of_json, stream_of_json
from proofs_tests.support import sampled
from proofs_tests.tools.make_suite import numbered
from proofs_tests.tools.mutants.event_expressions import MUTANTS
from proofs_tests.tools.mutants.mutant import Mutant
from proofs_tests.tools.suites.event_expressions import CLAUSES, HISTORIES, LONG, QUERIES, SOURCE


def suite() -> list[Case]:
    return load("event-expressions")


def stream(case: Case) -> Stream:
    return stream_of_json(case.events, schema_of_json(case.schema), case.id)


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_case_expects_what_the_meaning_says_today(start: int) -> None:
    for one in suite()[start::4]:
        assert match(parse(one.query), stream(one), evaluator="denotational") == one.matches, one.id


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_the_automata_agree_wherever_they_can(evaluator: str, start: int) -> None:
    skipped = Counter[str]()
    for one in suite()[start::4]:
        try:
            found = match(parse(one.query), stream(one), evaluator=evaluator)
        except Unsupported:
            skipped[one.feature] += 1
            continue
        assert found == one.matches, one.id
    assert skipped == {"ev-names": 1}  # a name with attribute variables of its own, inside an expression


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_there_is_an_occurrence_tuple_just_where_there_is_a_match(start: int) -> None:
    """Also for arguments, constraints and names, of which the random expressions have none."""
    for one in suite()[start::4]:
        E, S = parse(one.query), stream(one)
        found = [e for e in range(len(S)) if next(occurrences(E, S, e), None) is not None]
        assert found == [match.at for match in one.matches], one.id


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_query_is_well_typed_and_survives_printing(start: int) -> None:
    for one in suite()[start::4]:
        E = parse(one.query)
        assert parse(show(E)) == E, one.id
        require_typed(E, schema_of_json(one.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    assert len({one.id for one in suite()}) == len(suite()) >= 800
    for one in suite():
        assert one.id.split("/")[:2] == ["event-expression", one.feature]
        assert (one.language, one.clause) == ("event-expression", CLAUSES[one.feature])
    assert {one.feature for one in suite()} == CLAUSES.keys() == QUERIES.keys()


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((one.feature, one.query, json.dumps(list(one.events))) for one in suite())
    assert asked.most_common(1)[0][1] == 1


def test_every_operator_is_asked() -> None:
    asked = {type(F) for one in suite() for F in expr.subexpressions(parse(one.query))}
    assert asked == {
        expr.Null,
        expr.Primitive,
        expr.ExpressionAnd,
        expr.ExpressionNot,
        expr.Relative,
        expr.RelativePlus,
        expr.ExpressionOr,
        expr.AnyEvent,
        expr.Prior,
        expr.Sequence,
        expr.First,
        expr.Pipe,
        expr.Nth,
        expr.EveryNth,
        expr.After,
        expr.ExpressionBetween,
        expr.FirstAfter,
        expr.Before,
        expr.Happened,
        expr.Prefix,
        expr.ExpressionSeries,
        expr.Exists,
        expr.Equated,
        expr.ExpressionVariable,
        expr.Constraint,
        expr.ExpressionNamed,
        expr.Let,
    }


def test_there_are_cases_with_matches_and_cases_without() -> None:
    for feature in CLAUSES:
        assert any(one.matches for one in suite() if one.feature == feature), feature
    assert sum(not one.matches for one in suite()) >= 80


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_two_cases(mutant: Mutant) -> None:
    feature = mutant.name.split(":")[0]
    cases = sorted(suite(), key=lambda one: (one.feature != feature, len(one.events), len(one.query)))
    failed = (one for one in cases if SOURCE.kills(one.query, stream(one), [mutant]))
    assert len([*islice(failed, 2)]) == 2


def test_mutants_have_names_of_their_own_and_there_are_several_for_each_feature() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 50
    features = Counter(mutant.name.split(":")[0] for mutant in MUTANTS)
    assert features.keys() == CLAUSES.keys() - {"ev-examples"}
    assert min(features.values()) >= 2


def test_the_file_is_what_the_generator_writes() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. One feature stands for all."""
    feature = "ev-null"
    found = ((feature, query, S) for query in QUERIES[feature] for S in SOURCE.chosen(feature, query))
    assert list(numbered(SOURCE, found)) == [shipped for shipped in suite() if shipped.feature == "ev-null"]
    assert len(suite()) == HISTORIES * sum(map(len, QUERIES.values())) + len(LONG)
