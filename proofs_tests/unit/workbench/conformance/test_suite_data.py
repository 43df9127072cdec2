"""The conformance suite as it is shipped: right today, complete, and able to tell wrong semantics from right."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cerify.conformance.cases import SUITES, case_of_line, in_order, load
from cerify.conformance.model import Case
from cerify.equivalence.rewrite.laws import LAWS, Law
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import OPERATORS, Formula, show, subformulas
from cerify.semantics.events import Stream
from cerify.semantics.json_events import schema_of_json, stream_of_json
from proofs_tests.support import EXAMPLES, sampled
from proofs_tests.tools.make_suite import SOURCES, text_of
from proofs_tests.tools.suites.cel.queries import CLAUSES, FILES, NOT_ASKED
from proofs_tests.tools.suites.cel.queries.examples import READINGS
from proofs_tests.tools.suites.cel.suite import EDITIONS, MUTANTS, TWINS, chosen, generated, kills, twins_of
from proofs_tests.tools.suites.source import case_of

ROOT = Path(__file__).parents[4]


@cache
def suite() -> tuple[Case, ...]:
    return tuple(case for name in FILES for case in load(name))


def stream(case: Case) -> Stream:
    return stream_of_json(case.events, schema_of_json(case.schema), case.id)


@pytest.mark.parametrize("start", sampled(range(3), (0,)))
def test_every_case_expects_what_the_denotation_says_today(start: int) -> None:
    for case in suite()[start::3]:
        found = matches_of(parse(case.query), stream(case), case.output, Budget())
        assert found == case.matches, case.id


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_query_is_well_typed_and_survives_printing(start: int) -> None:
    for case in suite()[start::4]:
        phi = parse(case.query)
        assert parse(show(phi)) == phi, case.id
        require_typed(phi, schema_of_json(case.schema))


def test_ids_are_unique_and_say_the_feature() -> None:
    ids = Counter(case.id for case in suite())
    assert ids.most_common(1)[0][1] == 1
    for case in suite():
        language, feature, *_ = case.id.split("/")
        assert language == case.language == "cel"
        named = ("ex3", "sec", "fig", "errata", "decisions", "law", "long")
        assert feature == case.feature or feature.startswith(named)


def test_no_two_cases_ask_the_same() -> None:
    asked = Counter((case.query, json.dumps(list(case.events)), case.output) for case in suite())
    assert asked.most_common(1)[0][1] == 1


def test_the_suite_is_large_enough_for_every_feature() -> None:
    features = Counter(case.feature for case in suite())
    assert len(suite()) >= 1500
    assert set(features) == set(CLAUSES)
    assert min(features.values()) >= 10
    assert min(count for feature, count in features.items() if feature not in ("examples", "event")) >= 40
    assert sum(case.output == "valuations" for case in suite()) >= 200
    assert all(case.clause.startswith("tods21 ") for case in suite())


def test_the_guide_states_how_many_there_are() -> None:
    guide = " ".join((ROOT / "docs" / "guide" / "conformance.md").read_text(encoding="utf-8").split())
    valuations = sum(case.output == "valuations" for case in suite())
    empty = sum(not case.matches for case in suite())
    assert f"there are {len(suite()):,}, of which {valuations} ask for valuations and {empty} have no match" in guide
    assert f"there are {len(MUTANTS)} wrong semantics" in guide


def test_there_are_cases_with_matches_and_cases_without() -> None:
    """An engine that reports nothing must fail under every feature; one that reports too much, on many cases."""
    for feature in CLAUSES:
        assert any(case.matches for case in suite() if case.feature == feature), feature
    assert sum(not case.matches for case in suite()) > 150


def test_the_examples_of_section_3_expect_what_the_paper_prints() -> None:
    by_id = {case.id: case for case in suite()}
    for name, (query, printed) in EXAMPLES.items():
        case = by_id[f"cel/ex3/{name.replace(chr(39), '-prime')}"]
        assert parse(case.query) == parse(query)
        expected = {(match.at, match.events) for match in case.matches}
        assert expected == {(n, C) for n, Cs in printed.items() for C in Cs}


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_a_case(mutant: Any) -> None:
    feature = mutant.name.split(":")[0]
    cases = sorted(parsed(), key=lambda one: (one[0].feature != feature, len(one[0].events), len(one[0].query)))
    assert any(kills(query, stream(case), case.output, [mutant]) for case, query in cases)


def test_mutants_have_names_of_their_own_that_begin_with_a_feature() -> None:
    assert Counter(mutant.name for mutant in MUTANTS).most_common(1)[0][1] == 1
    assert {mutant.name.split(":")[0] for mutant in MUTANTS} == set(CLAUSES) - {"examples"}


def test_what_the_errata_and_the_decisions_turn_on_is_asked() -> None:
    asked = {(query, tuple(event["type"] for event in case.events)) for case, query in parsed()}
    for _, _, _, query, S in READINGS:
        assert (parse(query), tuple(event.type for event in S)) in asked, query


def is_left_out(phi: Formula) -> bool:
    """Return whether a formula has an operator that the suite does not ask."""
    return any(OPERATORS[type(psi)].name in NOT_ASKED for psi in subformulas(phi) if type(psi) in OPERATORS)


FAILING = [law for law in LAWS if not law.holds and not any(map(is_left_out, (law.left, law.right)))]


@pytest.mark.parametrize("law", FAILING, ids=lambda law: law.name)
def test_both_sides_of_a_law_that_fails_are_asked_where_they_differ(law: Law) -> None:
    assert law.witness is not None
    events = [(event.type, dict(event.attributes)) for event in law.witness.stream]
    answers = []
    for phi in law.instance(*law.witness.formulas):
        (found,) = (
            case.matches
            for case, query in parsed()
            if query == phi
            and [(event.type, dict(event.attributes)) for event in stream(case)] == events
            and case.output == ("matches" if law.level == "events" else "valuations")
        )
        answers.append(found)
    assert answers[0] != answers[1]


@cache
def parsed() -> tuple[tuple[Case, Formula], ...]:
    return tuple((case, parse(case.query)) for case in suite())


def test_the_first_edition_is_what_it_was() -> None:
    """Ids are cited; a case keeps its query, its stream and its answer when others are added."""

    def is_old(name: str, number: str) -> bool:
        return name.startswith(("ex3", "sec", "fig")) or (name in CLAUSES and int(number) < EDITIONS[1].first)

    first = [
        f"{case.id} {case.query} {json.dumps(list(case.events))} {case.output} {case.matches}"
        for case in suite()
        if is_old(case.id.split("/")[1], case.id.split("/")[-1])
    ]
    assert len(first) == 718
    assert hashlib.sha256("\n".join(sorted(first)).encode()).hexdigest()[:16] == "f2b43443b7a28641"


@pytest.mark.parametrize(
    ("feature", "edition"),
    [("event", 0), *(pytest.param(*one, marks=pytest.mark.thorough) for one in (("or", 0), ("cplus", 0), ("seq", 1)))],
)
def test_the_files_are_what_the_generator_writes(feature: str, edition: int) -> None:
    """Whoever changes the generator, or edits a file by hand, has to write the files anew."""
    made_in = EDITIONS[edition]
    by_hand = [found for group in made_in.groups if group.feature == feature for found in chosen(group, made_in)]
    shipped = {case.id: case for case in suite() if case.feature == feature}
    asked = {(case.query, json.dumps(list(case.events)), case.output) for case in shipped.values()}
    for first, cases in ((made_in.first, by_hand), (made_in.first_generated, generated(feature, made_in))):
        for number, (phi, S, output) in enumerate(cases, first):
            made = case_of("cel", f"{feature}/{number:03}", feature, CLAUSES[feature], show(phi), S, output)
            if made.id in shipped:
                assert made == shipped.pop(made.id)
            else:
                assert (made.query, json.dumps(list(made.events)), output) in asked, "neither shipped nor asked before"
    numbers = range(made_in.first, made_in.first_generated + 100)
    left = [id_.rpartition("/") for id_ in shipped if id_.startswith(f"cel/{feature}/")]
    assert not [number for _, _, number in left if int(number) in numbers]


@pytest.mark.thorough
@pytest.mark.parametrize("name", SOURCES)
def test_a_file_is_byte_for_byte_what_make_suite_writes(name: str) -> None:
    """Those of CEL too, whose making takes minutes: python -m proofs_tests.tools.make_suite --check."""
    assert text_of(name) == (SUITES / f"{name}.jsonl").read_text(encoding="utf-8")


@pytest.mark.parametrize("step", sampled([1, 16], [16]))
@pytest.mark.parametrize("path", sorted(SUITES.glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_line_is_as_the_schemas_say(path: Path, step: int) -> None:
    """`load` takes the built-in suites as they are, because this has been checked."""
    for number, text in [*enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)][::step]:
        case_of_line(text, f"{path.name}, line {number}")


def test_every_window_is_asked_at_its_edge_and_with_times_in_order() -> None:
    """Of each window that two events can fill there are matches whose span is the width, and ones that just miss it."""
    own = [case for case in suite() if not is_twin(case)]
    made = list(twins_of(own))
    assert [(case.id, case.query, case.matches) for case in made] == [
        (case.id, case.query, case.matches) for case in sorted(filter(is_twin, suite()), key=made_at(made))
    ]
    at_time = [case for case in suite() if "seconds" in case.query or "minute" in case.query or "hour" in case.query]
    assert sum(in_order(stream(case)) for case in at_time) > len(at_time) / 2


def is_twin(case: Case) -> bool:
    feature, number = case.id.split("/")[1], case.id.rpartition("/")[2]
    return feature in CLAUSES and number.isdigit() and int(number) >= TWINS


def made_at(made: list[Case]) -> Callable[[Case], int]:
    at = {case.id: number for number, case in enumerate(made)}
    return lambda case: at.get(case.id, -1)
