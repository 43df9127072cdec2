"""The conformance suite as it is shipped: right today, complete, and able to tell wrong semantics from right."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice, product
from pathlib import Path
from typing import Any

import pytest

from cerify.api import match
from cerify.conformance.cases import SUITES, case_of_line, in_order, load
from cerify.conformance.model import Case
from cerify.conformance.oracle import stream_of
from cerify.equivalence.complete_tests import vectors
from cerify.equivalence.rewrite.laws import LAWS, Law
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.core_cel.interpreter import by_clauses
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.errors import Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.occurrences import occurrences
from cerify.semantics.event_expressions.parse import parse as parse_expressions
from cerify.semantics.events import Event, Match, Stream, result_of
from cerify.semantics.json_events import json_of_event, schema_of_json, stream_of_json
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern.denote import Meaning
from cerify.semantics.row_pattern.interpreter import table_of
from cerify.semantics.row_pattern.parse import parse as parse_rows
from cerify.semantics.sase.parse import parse as parse_sase
from cerify.semantics.sase.syntax import show as show_sase
from proofs_tests.support import EXAMPLES, FIGURE_1, sampled
from proofs_tests.tools.make_suite import SOURCES, cases_of, numbered, text_of
from proofs_tests.tools.mined_suites import misread
from proofs_tests.tools.mutants.core_cel import MUTANTS as CORE_MUTANTS
from proofs_tests.tools.mutants.event_expressions import MUTANTS as EXPRESSIONS_MUTANTS
from proofs_tests.tools.mutants.mutant import Mutant
from proofs_tests.tools.mutants.row_pattern import MEANING
from proofs_tests.tools.mutants.row_pattern import MUTANTS as ROWS_MUTANTS
from proofs_tests.tools.mutants.sase import MUTANTS as SASE_MUTANTS
from proofs_tests.tools.mutants.sase import READING_FEATURE
from proofs_tests.tools.mutants.sase import READINGS as SASE_READINGS
from proofs_tests.tools.suite_strength import CONDITIONS, automaton_of, covered
from proofs_tests.tools.suites import row_guide
from proofs_tests.tools.suites.cel import EDITIONS, MUTANTS, TWINS, chosen, generated, kills, twins_of
from proofs_tests.tools.suites.cel_queries import CLAUSES, FILES, NOT_ASKED, READINGS, is_left_out
from proofs_tests.tools.suites.core_cel import CLAUSES as CORE_CLAUSES
from proofs_tests.tools.suites.core_cel import QUERIES, SOURCE
from proofs_tests.tools.suites.event_expressions import CLAUSES as EXPRESSIONS_CLAUSES
from proofs_tests.tools.suites.event_expressions import HISTORIES, LONG
from proofs_tests.tools.suites.event_expressions import QUERIES as EXPRESSIONS_QUERIES
from proofs_tests.tools.suites.event_expressions import SOURCE as EXPRESSIONS_SOURCE
from proofs_tests.tools.suites.row_pattern import CLAUSES as ROWS_CLAUSES
from proofs_tests.tools.suites.row_pattern import QUERIES as ROWS_QUERIES
from proofs_tests.tools.suites.row_pattern import SOURCE as ROWS_SOURCE
from proofs_tests.tools.suites.sase import CLAUSES as SASE_CLAUSES
from proofs_tests.tools.suites.sase import LONG as SASE_LONG
from proofs_tests.tools.suites.sase import QUERIES as SASE_QUERIES
from proofs_tests.tools.suites.sase import SOURCE as SASE_SOURCE
from proofs_tests.tools.suites.sase import STREAMS, printed
from proofs_tests.tools.suites.separating import EVENT_EXPRESSIONS
from proofs_tests.tools.suites.source import case_of
from proofs_tests.tools.suites.twins import twins
from proofs_tests.unit.semantics.core_cel_cases import EXAMPLES as CORE_EXAMPLES

# ---- every suite ----


@dataclass(frozen=True)
class ShippedSuite:
    """What the suite of a language promises: clauses, least numbers of cases, and the parts in which it is read."""

    files: tuple[str, ...]
    clauses: Mapping[str, str]
    least: int
    without_matches: int
    parts: int

    @cached_property
    def cases(self) -> list[Case]:
        return [case for name in self.files for case in load(name)]


SHIPPED = {
    "cel": ShippedSuite(tuple(FILES), CLAUSES, 1_500, 151, 4),
    "core-cel": ShippedSuite(("core-cel",), CORE_CLAUSES, 150, 10, 1),
    "event-expression": ShippedSuite(("event-expressions",), EXPRESSIONS_CLAUSES, 800, 80, 4),
    "row-pattern": ShippedSuite(("row-pattern",), ROWS_CLAUSES, 1_500, 1, 16),
    "sase": ShippedSuite(("sase",), SASE_CLAUSES, 800, 50, 12),
}
NOT_A_FEATURE = ("ex3", "sec", "fig", "errata", "decisions", "law", "long", "apart")
"""What ids of CEL say instead of a feature."""


@pytest.mark.parametrize(
    ("language", "start"),
    [
        pytest.param(language, start, marks=[pytest.mark.thorough] * (start > 0))
        for language, shipped in SHIPPED.items()
        for start in range(shipped.parts)
    ],
)
def test_every_query_is_well_typed_and_survives_printing(language: str, start: int) -> None:
    shipped, known = SHIPPED[language], LANGUAGES[language]
    for case in shipped.cases[start :: shipped.parts]:
        query = known.syntax.parse(case.query)
        assert known.syntax.parse(known.syntax.show(query)) == query, case.id
        known.syntax.require_typed(query, schema_of_json(case.schema))


@pytest.mark.parametrize("language", SHIPPED)
def test_ids_are_unique_and_say_the_feature(language: str) -> None:
    shipped = SHIPPED[language]
    assert len({case.id for case in shipped.cases}) == len(shipped.cases) >= shipped.least
    for case in shipped.cases:
        named, feature, *_ = case.id.split("/")
        assert named == case.language == language
        assert feature == case.feature or (language == "cel" and feature.startswith(NOT_A_FEATURE))
        clause = "tods21 " if language == "cel" else shipped.clauses[case.feature]
        assert case.clause == clause if language in ("core-cel", "event-expression") else case.clause.startswith(clause)
        assert case.output == "valuations" or language != "row-pattern"
    assert {case.feature for case in shipped.cases} == shipped.clauses.keys()


@pytest.mark.parametrize("language", SHIPPED)
def test_no_two_cases_ask_the_same(language: str) -> None:
    """A query of two features may be asked of the same events for both, but in CEL and core-CEL."""
    plain = language in ("cel", "core-cel")
    asked = Counter(
        (plain or case.feature, case.query, json.dumps(list(case.events)), language != "cel" or case.output)
        for case in SHIPPED[language].cases
    )
    assert asked.most_common(1)[0][1] == 1


@pytest.mark.parametrize("language", SHIPPED)
def test_there_are_cases_with_matches_and_cases_without(language: str) -> None:
    """An engine that reports nothing must fail under every feature; one that reports too much, on many cases."""
    shipped = SHIPPED[language]
    for feature in shipped.clauses:
        assert any(case.matches for case in shipped.cases if case.feature == feature), feature
    assert sum(not case.matches for case in shipped.cases) >= shipped.without_matches


def test_the_features_of_a_suite_are_those_with_queries() -> None:
    assert EXPRESSIONS_CLAUSES.keys() == EXPRESSIONS_QUERIES.keys()
    assert ROWS_CLAUSES.keys() == ROWS_QUERIES.keys()
    assert SASE_CLAUSES.keys() == {*SASE_QUERIES, "sase-printed"}


# ---- suite of cel ----

ROOT = Path(__file__).parents[4]


def suite() -> list[Case]:
    return SHIPPED["cel"].cases


def stream(case: Case) -> Stream:
    return stream_of_json(case.events, schema_of_json(case.schema), case.id)


@pytest.mark.parametrize("start", sampled(range(3), (0,)))
def test_every_case_expects_what_the_denotation_says_today(start: int) -> None:
    for case in suite()[start::3]:
        found = matches_of(parse(case.query), stream(case), case.output, Budget())
        assert found == case.matches, case.id


def test_the_suite_is_large_enough_for_every_feature() -> None:
    features = Counter(case.feature for case in suite())
    assert min(features.values()) >= 10
    assert min(count for feature, count in features.items() if feature not in ("examples", "event")) >= 40
    assert sum(case.output == "valuations" for case in suite()) >= 200


def test_the_guide_states_how_many_there_are() -> None:
    guide = " ".join((ROOT / "docs" / "guide" / "conformance.md").read_text(encoding="utf-8").split())
    valuations = sum(case.output == "valuations" for case in suite())
    empty = sum(not case.matches for case in suite())
    assert f"CEL has {len(suite()):,} cases: {valuations} ask for valuations and {empty} have no match" in guide
    assert f"{len(MUTANTS)} wrong semantics" in guide


def test_the_examples_of_section_3_expect_what_the_paper_prints() -> None:
    by_id = {case.id: case for case in suite()}
    for name, (query, events) in EXAMPLES.items():
        case = by_id[f"cel/ex3/{name.replace(chr(39), '-prime')}"]
        assert parse(case.query) == parse(query)
        expected = {(match.at, match.events) for match in case.matches}
        assert expected == {(n, C) for n, Cs in events.items() for C in Cs}


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


def test_the_suite_of_additions_finds_what_they_may_be_taken_for() -> None:
    killed: set[tuple[str, str]] = set()
    for case in load("cel-additions"):
        phi, S = parse(case.query), stream_of_json(case.events, None, case.id)
        assert matches_of(phi, S, "matches", Budget()) == sorted(match(phi, S)) == sorted(case.matches), case.id
        wrong = [(words, matches_of(other, S, "matches", Budget())) for words, other in misread(phi)]
        killed |= {(case.feature, words) for words, found in wrong if found != sorted(case.matches)}
    assert {feature for feature, _ in killed} == NOT_ASKED
    assert len(killed) >= 22, sorted(killed)


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
@pytest.mark.parametrize("name", [*FILES, *SOURCES])
def test_a_file_is_byte_for_byte_what_make_suite_writes(name: str) -> None:
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
    made = twins_of(own)
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


# ---- core cel suite ----
# The core-CEL part of the suite as it is shipped: right today, and able to tell wrong semantics from right.


def suite_core_cel() -> list[Case]:
    return load("core-cel")


def test_every_case_expects_what_the_denotation_says_today_core_cel() -> None:
    for case in suite_core_cel():
        assert match(parse_core(case.query), stream(case), evaluator="denotational") == case.matches


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_case_expects_what_the_clauses_alone_say(start: int) -> None:
    for case in suite_core_cel()[start::4]:
        # the clauses alone remember nothing of what they have computed
        if len(case.events) > 7 and case.feature != "core-examples":
            continue
        assert by_clauses(parse_core(case.query), stream(case), Budget(valuations=20_000)) == case.matches


def test_the_automaton_agrees_wherever_it_can() -> None:
    answered = 0
    for case in suite_core_cel():
        try:
            found = match(parse_core(case.query), stream(case), evaluator="automaton")
        except Unsupported:
            continue
        assert found == case.matches, case.id
        answered += 1
    assert answered > 80


def test_the_running_examples_expect_what_the_paper_prints() -> None:
    by_query = {parse_core(case.query): case for case in suite_core_cel() if case.feature == "core-examples"}
    for name, (query, events) in CORE_EXAMPLES.items():
        if name == "conditional":
            continue  # the suite asks it with >= in place of >
        case = by_query[parse_core(query)]
        assert stream(case).events == FIGURE_1.events
        assert set(case.matches) == {Match(n, C) for n, Cs in events.items() for C in Cs}


@cache
def caught() -> Counter[str]:
    """How many cases each mutant was seen to fail; none is asked any more once it has failed one."""
    counts: Counter[str] = Counter()
    for case in suite_core_cel():
        counts.update(SOURCE.kills(case.query, stream(case), [m for m in CORE_MUTANTS if not counts[m.name]]))
    return counts


@pytest.mark.parametrize("mutant", CORE_MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_a_case_core_cel(mutant: Mutant) -> None:
    assert caught()[mutant.name] > 0


def test_the_file_is_what_the_generator_writes() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. One feature stands for all."""
    feature = "core-event"
    found = ((feature, query, S) for query in QUERIES[feature] for S in SOURCE.chosen(feature, query))
    assert list(numbered(SOURCE, found)) == [shipped for shipped in suite_core_cel() if shipped.feature == "core-event"]


def test_a_published_case_stays_and_a_new_query_has_the_next_numbers() -> None:
    changed = replace(SOURCE, queries={"core-event": [*QUERIES["core-event"][1:], "C AS x"]})
    gone = show_core(parse_core(QUERIES["core-event"][0]))
    published = [case for case in suite_core_cel() if case.feature == "core-event"]
    stays = [case for case in published if case.query != gone]
    made = [case for case in cases_of(changed) if case.feature == "core-event"]
    assert [case for case in made if case.query != "C AS x"] == stays
    numbers = [int(case.id.rpartition("/")[2]) for case in made if case.query == "C AS x"]
    assert numbers == list(range(len(published) + 1, len(published) + 1 + len(numbers)))
    assert numbers


# ---- event expression suite ----
# The suite of event expressions as it is shipped: right today, and able to tell wrong semantics from right.


def suite_expressions() -> list[Case]:
    return load("event-expressions")


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_every_case_expects_what_the_meaning_says_today(start: int) -> None:
    for one in suite_expressions()[start::4]:
        assert match(parse_expressions(one.query), stream(one), evaluator="denotational") == one.matches, one.id


@pytest.mark.thorough
@pytest.mark.parametrize("start", sampled(range(4), (0,)))
@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_the_automata_agree_wherever_they_can(evaluator: str, start: int) -> None:
    skipped = Counter[str]()
    for one in suite_expressions()[start::4]:
        try:
            found = match(parse_expressions(one.query), stream(one), evaluator=evaluator)
        except Unsupported:
            skipped[one.feature] += 1
            continue
        assert found == one.matches, one.id
    assert skipped == {"ev-names": 1}  # a name with attribute variables of its own, inside an expression


@pytest.mark.parametrize("start", sampled(range(4), (0,)))
def test_there_is_an_occurrence_tuple_just_where_there_is_a_match(start: int) -> None:
    """Also for arguments, constraints and names, of which the random expressions have none."""
    for one in suite_expressions()[start::4]:
        E, S = parse_expressions(one.query), stream(one)
        found = [e for e in range(len(S)) if next(occurrences(E, S, e), None) is not None]
        assert found == [match.at for match in one.matches], one.id


def test_every_operator_is_asked() -> None:
    asked = {type(F) for one in suite_expressions() for F in expr.subexpressions(parse_expressions(one.query))}
    assert asked == {*expr.OPERATORS, expr.Let}


@pytest.mark.parametrize("mutant", EXPRESSIONS_MUTANTS, ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_two_cases(mutant: Mutant) -> None:
    feature = mutant.name.split(":")[0]
    cases = sorted(suite_expressions(), key=lambda one: (one.feature != feature, len(one.events), len(one.query)))
    failed = (one for one in cases if EXPRESSIONS_SOURCE.kills(one.query, stream(one), [mutant]))
    assert len([*islice(failed, 2)]) == 2


def test_mutants_have_names_of_their_own_and_there_are_several_for_each_feature() -> None:
    assert len({mutant.name for mutant in EXPRESSIONS_MUTANTS}) == len(EXPRESSIONS_MUTANTS) >= 50
    features = Counter(mutant.name.split(":")[0] for mutant in EXPRESSIONS_MUTANTS)
    assert features.keys() == EXPRESSIONS_CLAUSES.keys() - {"ev-examples"}
    assert min(features.values()) >= 2


def test_the_file_is_what_the_generator_writes_expressions() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. One feature stands for all."""
    feature = "ev-null"
    found = (
        (feature, query, S) for query in EXPRESSIONS_QUERIES[feature] for S in EXPRESSIONS_SOURCE.chosen(feature, query)
    )
    assert list(numbered(EXPRESSIONS_SOURCE, found)) == [
        shipped for shipped in suite_expressions() if shipped.feature == "ev-null"
    ]
    assert len(suite_expressions()) == HISTORIES * sum(map(len, EXPRESSIONS_QUERIES.values())) + len(LONG) + len(
        EVENT_EXPRESSIONS
    )


# ---- row pattern suite ----
# The suite of MATCH_RECOGNIZE as it is shipped: right today, and able to tell wrong semantics.

SUITE = load("row-pattern")


@pytest.mark.parametrize("start", sampled(range(30), (0,)))
def test_every_case_expects_what_the_evaluators_say_today(start: int) -> None:
    for one in SUITE[start::30]:
        for evaluator in ("denotational", "automaton"):
            found = match(one.query, stream_of(one), language="row-pattern", evaluator=evaluator)
            assert sorted(found) == one.matches, one.id


def test_row_matches_are_empty_and_long_too() -> None:
    assert any(not m.events for one in SUITE for m in one.matches)
    assert any(len(m.events) > 16 for one in SUITE for m in one.matches)


@pytest.mark.thorough
def test_every_wrong_semantics_fails_a_case_rows() -> None:
    left = {mutant.name: mutant for mutant in ROWS_MUTANTS}
    assert len(left) == len(ROWS_MUTANTS) >= 120
    for one in sorted(SUITE, key=lambda one: (len(one.events), len(one.query))):
        for name in ROWS_SOURCE.kills(one.query, stream_of(one), left.values()):
            del left[name]
    assert not left


@pytest.mark.parametrize("feature", ["row-skip", "row-permute"])
def test_wrong_semantics_of_a_feature_fail_its_cases(feature: str) -> None:
    own = {m.name: m for m in ROWS_MUTANTS if f"row-{m.name.split(':')[0]}" == feature}
    for one in SUITE:
        if one.feature == feature:
            for name in ROWS_SOURCE.kills(one.query, stream_of(one), own.values()):
                del own[name]
    assert not own


def test_the_meaning_of_the_mutants_is_the_definition() -> None:
    for one in SUITE[::20]:
        assert MEANING.matches(parse_rows(one.query), stream_of(one)) == frozenset(one.matches), one.id


def test_the_file_is_what_the_generator_writes_rows() -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. Some cases stand for all."""
    feature = "row-variable"
    found = ((feature, query, S) for query in ROWS_QUERIES[feature][:3] for S in ROWS_SOURCE.chosen(feature, query))
    expected = list(numbered(ROWS_SOURCE, found))
    assert expected == [one for one in SUITE if one.feature == feature][: len(expected)]


# ---- sase suite ----
# The suite of SASE+ as it is shipped: right today, able to tell wrong semantics and other readings.


def suite_sase() -> list[Case]:
    return load("sase")


@pytest.mark.parametrize("start", sampled(range(12), (0,)))
@pytest.mark.parametrize("evaluator", sampled(EVALUATORS, [one for one in EVALUATORS if one != "kernel"]))
def test_every_case_expects_what_the_evaluators_say_today_sase(evaluator: str, start: int) -> None:
    for one in suite_sase()[start::12]:
        found = match(parse_sase(one.query), stream_of(one), evaluator=evaluator, output="valuations")
        assert found == one.matches, one.id


def test_a_case_of_a_reading_says_what_the_other_reading_has() -> None:
    for one in suite_sase():
        if one.feature.startswith(f"sase-{READING_FEATURE}"):
            assert f"{one.feature.removeprefix(f'sase-{READING_FEATURE}')}=" in one.clause, one.id


@cache
def caught_sase() -> Counter[str]:
    """How many cases each mutant was seen to fail; none is asked any more once it has failed two."""
    counts: Counter[str] = Counter()
    for one in sorted(suite_sase(), key=lambda one: (len(one.events), len(one.query))):
        own = [m for m in (*SASE_MUTANTS, *SASE_READINGS) if one.feature == f"sase-{m.name.split(':')[0]}"]
        if alive := [m for m in own if counts[m.name] < 2]:
            counts.update(SASE_SOURCE.kills(one.query, stream_of(one), alive))
    return counts


@pytest.mark.parametrize("mutant", [*SASE_MUTANTS, *SASE_READINGS], ids=lambda mutant: mutant.name)
def test_every_wrong_semantics_fails_two_cases_of_its_feature(mutant: Mutant) -> None:
    assert caught_sase()[mutant.name] >= 2


def test_mutants_have_names_of_their_own_and_there_are_some_for_each_feature() -> None:
    names = [mutant.name for mutant in (*SASE_MUTANTS, *SASE_READINGS)]
    assert len(set(names)) == len(names) >= 60
    assert {f"sase-{name.split(':')[0]}" for name in names} == SASE_CLAUSES.keys() - {"sase-printed"}


@pytest.mark.parametrize("queries", sampled([1, 2], [1]))
def test_the_file_is_what_the_generator_writes_sase(queries: int) -> None:
    """Whoever changes the generator, or edits the file by hand, has to write it anew. Some cases stand for all."""
    feature = "sase-union"
    found = (
        (feature, query, S) for query in SASE_QUERIES[feature][:queries] for S in SASE_SOURCE.chosen(feature, query)
    )
    expected = list(numbered(SASE_SOURCE, found))
    assert expected == [one for one in suite_sase() if one.feature == feature][: len(expected)]
    by_paper = list(numbered(SASE_SOURCE, (one for one in printed() if one[0] == "sase-printed")))
    assert by_paper == [one for one in suite_sase() if one.feature == "sase-printed"][: len(by_paper)]


@pytest.mark.thorough
def test_the_twins_are_what_the_generator_writes() -> None:
    by_paper = [one for one in printed() if one[0] == "sase-printed"]
    made = {
        (feature, show_sase(q), json.dumps([json_of_event(event) for event in S]))
        for feature, q, S in twins(suite_sase())
    }
    assert made <= {(one.feature, one.query, json.dumps(list(one.events))) for one in suite_sase()}
    assert len(suite_sase()) == STREAMS * sum(map(len, SASE_QUERIES.values())) + len(by_paper) + len(SASE_LONG) + len(
        made
    )


def test_a_case_may_ask_for_matches_alone_of_a_query_without_return() -> None:
    query = "PATTERN SEQ(A a, B+ b[]) WITHIN 3 seconds"
    assert show_sase(parse_sase(query)) == query
    events = [{"type": "A", "time": 0}, {"type": "B", "time": 1}]
    asked = {"id": "x", "feature": "f", "clause": "c", "language": "sase", "query": query, "events": events}
    bare = case_of_line(json.dumps({**asked, "output": "matches", "matches": [{"at": 1, "events": [0, 1]}]}), "here")
    whole = case_of_line(json.dumps({**asked, "output": "valuations"}), "here")
    assert bare.matches == [Match(1, (0, 1))]
    assert whole.matches == [Match(1, (0, 1), (("a", (0,)), ("b", (1,))), result_of({}))]
    for evaluator in EVALUATORS:
        assert match(parse_sase(query), stream_of(whole), evaluator=evaluator, output="valuations") == whole.matches


# ---- suite strength ----
# What the page on the suite's strength counts: the automata are those of the queries, and words lead through them.

COUNTED_QUERIES = [
    ("cel", "A+ ; B"),
    ("core-cel", "A AS x ; (B AS y)+"),
    ("sase", "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match(a, b, c) { } RETURN 1 AS one"),
    ("event-expression", "relative(A, B) or <2> A"),
]


@pytest.mark.parametrize(("language", "query"), COUNTED_QUERIES)
def test_an_automaton_accepts_what_the_query_means(language: str, query: str) -> None:
    automaton = automaton_of(language, query)
    assert not CONDITIONS[language].search(query)
    for word in product(range(len(automaton.events)), repeat=3):
        S = Stream([automaton.events[kind] for kind in word])
        found = {(m.at, m.events) for m in match(query, S, language=language)}
        for end in range(len(word)):
            for marks in product(automaton.marks, repeat=end + 1):
                chosen = (end,) if len(automaton.marks) == 1 else tuple(p for p, marked in enumerate(marks) if marked)
                accepted = automaton.accepts(list(zip(word, marks, strict=False)))
                assert accepted == ((end, chosen) in found), (word, marks)


@pytest.mark.parametrize(("language", "query"), COUNTED_QUERIES)
def test_a_complete_test_goes_through_all_of_an_automaton(language: str, query: str) -> None:
    automaton = automaton_of(language, query)
    own = len(automaton.steps)
    streams = vectors(automaton)
    found = covered(automaton, streams)
    assert (found.states, found.transitions, found.reached) == (own, own * len(automaton.letters), own)
    assert covered(automaton, streams[:-1]).reached is None


@pytest.mark.parametrize("example", row_guide.EXAMPLES, ids=lambda example: example.section)
def test_examples_of_the_guide_to_row_patterns_have_the_results_that_it_prints(example: row_guide.GuideExample) -> None:
    case = ROWS_SOURCE.case(example.feature, 1, example.clause, example.stream)
    found = sorted(case.matches or (), key=lambda match: match.match_number or 0)
    results = [(match.events, match.result.attributes) for match in found if match.result is not None]
    assert [one for one in results if [] not in one[1].values()] == list(example.printed)
    assert f"ISO/IEC 19075-5:2021, {example.section}" in case.clause


@pytest.mark.parametrize(("pattern", "order"), [(pattern, order) for _, pattern, order in row_guide.ORDERS])
def test_matches_are_preferred_in_the_order_of_the_guide(pattern: str, order: str) -> None:
    q, rows = parse_rows(f"MATCH_RECOGNIZE (PATTERN ({pattern}))"), table_of(Stream([Event("row")] * 4))
    meaning = Meaning(q, rows, 0, range(4), 1, STANDARD, iter)
    labellings = meaning.labellings(q.pattern, ())
    assert ["".join(label.variable for label in labels) for labels in labellings] == order.split()
