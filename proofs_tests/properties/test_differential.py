"""The automaton against the denotation on random cases, and the campaign against faults that are known to be there."""

from collections.abc import Collection
from functools import partial
from random import Random
from typing import Any

import pytest

from cerify.automata.evaluate import streaming
from cerify.conformance.campaigns import definition, generated_languages, plan_of
from cerify.conformance.defects import shrink_case
from cerify.equivalence.differential import CampaignPlan, Output, Summary, campaign
from cerify.equivalence.generate.cel import CORE, CORRELATED, EVERYTHING, FIGURE_3, TYPED
from cerify.equivalence.generate.shrink import replacing
from cerify.languages import language_named
from cerify.languages.language import Language
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import Formula, show, size
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.trees import children, rebuilt
from proofs_tests.support import sampled

# ---- differential ----
#

BOTH: tuple[Output, ...] = ("matches", "valuations")
SMALL = Budget(valuations=100_000)

oracle = partial(matches_of, budget=SMALL)
automaton = partial(streaming.matches, budget=Budget())


def overlapping_lost(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
    """The fault: of the matches reported at one position, only the first."""
    found: dict[int, Match] = {}
    for match in matches_of(phi, S, output, SMALL):
        found.setdefault(match.at, match)
    return found.values()


def two_rounds(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
    """The fault: contiguous iteration ends after the second round."""

    def wrong(psi: Formula) -> Formula:
        psi = rebuilt(psi, [wrong(child) for child in children(psi)])
        if isinstance(psi, cel.ContiguousPlus):
            return cel.Or(psi.phi, cel.ContiguousSeq(psi.phi, psi.phi))
        return psi

    return matches_of(wrong(phi), S, output, SMALL)


def crashes(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
    """The fault: an error that is no typed error, on streams of more than four events."""
    if len(S) > 4:
        raise KeyError("q7")
    return matches_of(phi, S, output, SMALL)


def uncorrelated(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
    """An evaluator that does not carry filters across events."""
    filters = (psi for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    if any(isinstance(atom, cel.Correlated) for psi in filters for atom in cel.atoms(psi.condition)):
        raise Unsupported("it carries no filters across events")
    return streaming.matches(phi, S, output)


def said(summary: Summary) -> list[tuple[int, str, str]]:
    return [(d.index, show(d.phi), repr(d.stream.events)) for d in summary.disagreements]


@pytest.mark.parametrize(
    ("profile", "cases"),
    [
        (CORE, 80),
        (TYPED, 80),
        (EVERYTHING, 50),
        (CORRELATED, 30),
        *(
            pytest.param(profile, cases, marks=pytest.mark.thorough)
            for profile, cases in ((CORE, 2800), (TYPED, 800), (EVERYTHING, 500), (CORRELATED, 300))
        ),
    ],
)
def test_the_automaton_agrees_with_the_denotation(profile: object, cases: int) -> None:
    """The two share syntax, events and predicates, and nothing else."""
    summary = campaign(CampaignPlan(oracle, automaton, profile, cases, seed=11, outputs=BOTH))  # type: ignore[arg-type]
    assert said(summary) == []
    assert summary.cases == cases
    if profile in (CORE, TYPED):
        assert summary.outcomes["unsupported"] == 0
        assert summary.outcomes["matched"] > 0.4 * cases


@pytest.mark.parametrize(
    ("fault", "query_nodes", "events"), [(overlapping_lost, 2, 2), (two_rounds, 2, 3), (crashes, 1, 5)]
)
def test_a_planted_fault_is_found_and_brought_down_to_its_core(fault: object, query_nodes: int, events: int) -> None:
    summary = campaign(CampaignPlan(oracle, fault, FIGURE_3, 400, seed=2), stop_after=3)  # type: ignore[arg-type]
    assert len(summary.disagreements) == 3
    for d in summary.disagreements:
        assert size(d.phi) <= query_nodes, show(d.phi)
        assert len(d.stream) <= events
        assert d.left != d.right


def test_a_crash_is_a_wrong_answer_and_shrinks_to_a_crash() -> None:
    summary = campaign(CampaignPlan(oracle, crashes, CORE, 200, seed=4), stop_after=1)
    (d,) = summary.disagreements
    assert d.right == "KeyError: 'q7'"
    assert isinstance(d.left, frozenset)


def test_the_campaign_stops_at_the_number_of_disagreements_asked_for_and_says_how_far_it_came() -> None:
    summary = campaign(CampaignPlan(oracle, two_rounds, CORE, 4000, seed=2), stop_after=1)
    assert len(summary.disagreements) == 1
    assert summary.cases == summary.disagreements[0].index + 1
    assert summary.agreed == summary.cases - 1


def test_cases_that_cannot_be_compared_are_no_agreement() -> None:
    starved = partial(matches_of, budget=Budget(valuations=10))
    summary = campaign(CampaignPlan(oracle, starved, CORE, 200, seed=1))
    assert summary.outcomes["budget"] > 20
    assert summary.agreed + summary.outcomes["budget"] == summary.cases == 200
    summary = campaign(CampaignPlan(oracle, uncorrelated, CORRELATED, 80, seed=1))
    assert summary.outcomes["unsupported"] > 20
    assert summary.agreed + summary.outcomes["unsupported"] + summary.outcomes["budget"] == summary.cases == 80


def test_a_query_that_is_an_error_on_its_events_is_not_compared() -> None:
    """An engine that reports an error too was a dispute: a match that skips to its own first row."""
    rows = language_named("row-pattern")
    query = rows.syntax.parse("MATCH_RECOGNIZE (AFTER MATCH SKIP TO FIRST C PATTERN (C))")
    with pytest.raises(Unsupported, match="would match again"):
        definition(rows)(query, Stream([Event("row", {"x": 1})]), "matches")


def test_a_case_does_not_depend_on_what_was_asked_before() -> None:
    plan, longer = CampaignPlan(oracle, automaton, CORE, 10, seed=9), CampaignPlan(automaton, oracle, CORE, 900, seed=9)
    assert [repr(plan.case(i)[0]) for i in (3, 7)] == [repr(longer.case(i)[0]) for i in (3, 7)]


@pytest.mark.thorough
def test_two_processes_find_what_one_finds() -> None:
    plan = CampaignPlan(oracle, two_rounds, CORE, 1500, seed=6)
    one, two = campaign(plan, 1, stop_after=4), campaign(plan, 2, stop_after=4)
    assert said(one) == said(two)
    assert said(one)
    assert one.outcomes == two.outcomes


# ---- shrinking ----
# Every query that shrinking asks an engine about, in each language, has a text that parses to it.

CASES = 6
TRIES = 60


SHRUNK = [language for language in generated_languages() if language.name not in ("sigma", "funnel")]
"""The languages whose queries are rewritten fast enough; for Sigma and funnels see unit/equivalence/test_shrink.py."""


@pytest.mark.parametrize("cases", sampled([1, CASES], [1]))
@pytest.mark.parametrize(
    ("language", "profile"),
    [(language, profile) for language in SHRUNK for profile in language.require_cases().generator().profiles],
    ids=lambda part: part if isinstance(part, str) else part.name,
)
def test_candidates_are_printed_and_parsed_back(language: Language[Any], profile: str, cases: int) -> None:
    plan = plan_of(language, profile, "random", definition(language), cases=cases, seed=3, nodes=9, events=4)
    asked: list[str] = []

    def fails(query: str, S: Stream) -> bool:
        asked.append(query)
        return Random(query + repr(S.events)).random() < 0.4

    for index in range(cases):
        phi, S = plan.case(index)
        shrink_case(language, language.syntax.show(phi), S, fails, TRIES)
    assert len(asked) > cases
    for query in asked:  # an error that fails raises would only be a candidate that is dropped
        assert language.syntax.parse(language.syntax.show(language.syntax.parse(query))) == language.syntax.parse(query)


@pytest.mark.parametrize("language", SHRUNK, ids=lambda language: language.name)
def test_names_and_constants_are_replaced_one_by_one(language: Language[Any]) -> None:
    """mapped changes nothing by itself, and the n-th call of a function is about the n-th name or constant."""
    operations = language.operations()
    for profile in language.require_cases().generator().profiles:
        plan = plan_of(language, profile, "random", definition(language), cases=CASES, seed=5, nodes=9, events=4)
        for index in range(CASES):
            query, _ = plan.case(index)
            assert operations.mapped(query) == query
            names, constants = operations.names(query), operations.constants(query)
            for n in range(len(names)):
                other = operations.mapped(query, name=replacing(n, "Other"))
                assert sorted(operations.names(other)) == sorted([*names[:n], "Other", *names[n + 1 :]])
            assert operations.constants(operations.mapped(query, value=lambda value: value)) == constants
            for reduction in operations.reductions:
                assert all(isinstance(other, language.syntax.trees) for other in reduction(query))
