"""Two functions held against each other: what they disagree on, why, and going on where a campaign ended."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from cerify.automata.evaluate import streaming
from cerify.conformance.campaigns import generated_languages
from cerify.equivalence.differential import (
    EACH,
    CampaignPlan,
    Checkpoint,
    Disagreement,
    DisagreementCause,
    FunctionEvaluator,
    NoAnswer,
    Output,
    Summary,
    by_cause,
    campaign,
    cause,
    differ,
    failure_form,
    shape,
)
from cerify.equivalence.generate.cel import CORE, FIGURE_3, guided_case
from cerify.languages.language import Language
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.errors import InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream, result_of
from proofs_tests.support import sampled

SMALL = Budget(valuations=100_000)
small = partial(differ, nodes=6, events=5)


def right(query: str, S: Stream) -> Iterable[Match]:
    return matches_of(parse(query), S, budget=SMALL)


def by_automaton(query: str, S: Stream) -> Iterable[Match]:
    return streaming.matches(parse(query), S)


def as_pairs(query: str, S: Stream) -> Iterable[tuple[int, Iterable[int]]]:
    """The same matches, written another way: positions in any order, some matches twice."""
    for match in [*right(query, S), *right(query, S)]:
        yield match.at, reversed(match.events)


def test_a_breach_of_the_protocol_is_not_shrunk_to_another_one() -> None:
    """Both are failures of the kind protocol, and a query with fewer operators leads to the second."""

    def rude(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
        if len(S) > 1 and not isinstance(phi, cel.EventAtom):
            raise NoAnswer(f"protocol: matches[{len(S)}].at: not a position; it wrote: {{'at': {len(S)}}}")
        raise NoAnswer("protocol: wrote a line that answers no request: hello")

    plan = CampaignPlan(FunctionEvaluator(right), rude, CORE, cases=20, seed=1, nodes=6, events=5)
    found = [d for d in campaign(plan, stop_after=99).disagreements if len(d.found[1]) > 1 and size(d.found[0]) > 1]
    assert found
    for d in found:
        assert failure_form(d.right) == "protocol: matches[…]…at: not a position"
        assert (size(d.phi), len(d.stream)) == (2, 2)


def two_faults(query: str, S: Stream) -> Iterable[Match]:
    """No match of :+ has more than one event, and an OR reports the matches at position 2 one too late."""
    kinds = {type(psi) for psi in subformulas(parse(query))}
    for match in right(query, S):
        if cel.ContiguousPlus in kinds and len(match.events) > 1:
            continue
        yield Match(3, match.events) if cel.Or in kinds and match.at == 2 else match


def returning(value: int) -> Match:
    """A match of SASE+ whose result has this value."""
    return Match(0, (0,), (("a", (0,)),), result_of({"x": value}))


def said(summary: Summary) -> list[tuple[int, str, str]]:
    return [(d.index, show(d.phi), repr(d.stream.events)) for d in summary.disagreements]


def test_two_that_agree_agree_however_they_write_a_match() -> None:
    summary = small(right, as_pairs, cases=100)
    assert summary.agreed == summary.cases == 100
    assert summary.outcomes["matched"] > 75
    assert small(right, by_automaton, FIGURE_3, cases=100).outcomes["disagreed"] == 0


def test_two_faults_are_two_causes() -> None:
    summary = small(right, two_faults, cases=150, stop_after=40, seed=1)
    causes = by_cause(summary.disagreements)
    assert set(causes) == {DisagreementCause((":+",), "missing"), DisagreementCause(("OR",), "position")}
    assert len(summary.disagreements) > 10
    lightest = causes[DisagreementCause((":+",), "missing")][0]
    assert (show(lightest.phi), len(lightest.stream)) == ("A:+", 2)
    assert str(DisagreementCause((":+",), "missing")) == ":+: missing"


def test_what_cannot_be_answered_is_no_agreement_and_a_crash_is_a_disagreement() -> None:
    def refuses(query: str, S: Stream) -> Iterable[Match]:
        raise Unsupported("no")

    def crashes(query: str, S: Stream) -> Iterable[Match]:
        raise KeyError("q7")

    assert small(right, refuses, cases=20).agreed == 0
    (d,) = small(right, crashes, cases=20, stop_after=1).disagreements
    assert cause(d) == DisagreementCause((), "KeyError")
    assert str(cause(d)) == "an event type: KeyError"


@pytest.mark.parametrize("cases", sampled([10, 30], [10]))
def test_cases_come_from_the_seed_alone(cases: int) -> None:
    assert said(small(right, two_faults, cases=cases, seed=3)) == said(small(right, two_faults, cases=cases, seed=3))
    assert said(small(right, two_faults, cases=cases, seed=3)) != said(small(right, two_faults, cases=cases, seed=4))


@pytest.mark.parametrize(
    ("left", "right_", "expected"),
    [
        ({Match(0, (0,))}, set(), "missing"),
        (set(), {Match(0, (0,))}, "extra"),
        ({Match(0, (0,))}, {Match(1, (1,))}, "missing and extra"),
        ({Match(0, (0,))}, {Match(1, (0,))}, "position"),
        ({Match(0, (0,), (("A", (0,)),))}, {Match(0, (0,), (("B", (0,)),))}, "bindings"),
        ({returning(1)}, {returning(2)}, "result"),
        ({Match(0, (0,)), Match(1, (1,))}, {Match(1, (0,))}, "missing and position"),
    ],
)
def test_shapes(left: set[Match], right_: set[Match], expected: str) -> None:
    assert shape(frozenset(left), frozenset(right_)) == expected


def test_failures_have_a_shape() -> None:
    assert shape(frozenset(), "timeout: 10 s") == "timeout"
    assert shape("budget error: x", frozenset()) == "budget error of the reference"


def test_a_campaign_stops_after_ten_causes_and_five_times_as_many_disagreements() -> None:
    def nothing(query: str, S: Stream) -> Iterable[Match]:
        return ()

    assert len(small(right, nothing, cases=60).disagreements) == 10
    plan = CampaignPlan(
        FunctionEvaluator(right), FunctionEvaluator(nothing), CORE, 20, nodes=3, events=3, maker=guided_case
    )
    of_one_cause = campaign(plan, stop_after=2, cause_of=lambda d: "the same")
    assert len(of_one_cause.disagreements) == 10
    assert of_one_cause.stopped == f"stopped after 10 disagreements, at case {of_one_cause.cases - 1}"


@pytest.mark.thorough
def test_a_frequent_cause_is_not_made_as_small_as_can_be_again() -> None:
    asked = 0

    def counted(query: str, S: Stream) -> Iterable[Match]:
        nonlocal asked
        asked += 1
        return two_faults(query, S)

    plan = CampaignPlan(
        FunctionEvaluator(right), FunctionEvaluator(counted), CORE, 150, seed=1, nodes=6, events=5, maker=guided_case
    )
    whole, asked_for_all = campaign(plan, stop_after=99), asked
    some = campaign(plan, stop_after=99, cause_of=cause)
    assert asked - asked_for_all < 0.8 * asked_for_all
    assert set(by_cause(some.disagreements)) == set(by_cause(whole.disagreements))
    assert [d.index for d in some.disagreements] == [d.index for d in whole.disagreements]
    for why, group in by_cause(some.disagreements).items():
        first = [repr(d) for d in sorted(group, key=lambda d: d.index)[:EACH]]
        assert first == [repr(d) for d in whole.disagreements if cause(d) == why][:EACH]


def test_a_query_that_disagrees_on_several_streams_in_a_row_is_made_smaller_once() -> None:
    asked = list[str]()

    def wrong(query: str, S: Stream) -> Iterable[Match]:
        asked.append(query)
        return ()

    plan = CampaignPlan(
        FunctionEvaluator(right), FunctionEvaluator(wrong), CORE, 40, nodes=6, events=5, maker=guided_case, together=10
    )
    found = campaign(plan, stop_after=99, cause_of=cause).disagreements
    in_a_row = len(asked)
    for d in found:
        campaign(replace(plan, cases=1, maker=lambda *_, d=d: d.found, together=1), stop_after=99, cause_of=cause)
    assert found
    assert in_a_row < (len(asked) - in_a_row) / 2


def test_cases_are_numbered_as_they_are_asked_for() -> None:
    """A list of the numbers of all cases was made first, which for very many took the memory of the machine."""
    plan = CampaignPlan(FunctionEvaluator(right), FunctionEvaluator(right), CORE, 1_000_000, 0)
    tracemalloc.start()
    summary = campaign(plan, seconds=0.0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (summary.cases, peak < 10_000_000) == (1, True)


def test_streams_have_ten_events_at_most() -> None:
    lengths = set[int]()

    def nothing(query: str, S: Stream) -> Iterable[Match]:
        lengths.add(len(S))
        return ()

    differ(nothing, nothing, cases=60)
    assert max(lengths) == 10


def test_cases_that_were_not_compared_have_reasons_and_too_few_say_nothing() -> None:
    def hardly_any(query: str, S: Stream) -> Iterable[Match]:
        if len(S) > 1:
            raise Unsupported("one event only")
        return ()

    found = differ(hardly_any, hardly_any, cases=60)
    assert found.reasons == {"one event only": found.outcomes["unsupported"]}
    assert found.too_few is (found.agreed < 6)
    assert Summary(99, Counter({"matched": 9, "unsupported": 90})).too_few
    assert not Summary(99, Counter({"matched": 10, "unsupported": 89})).too_few


def test_cases_per_second_are_of_those_that_were_run() -> None:
    assert Summary(9, Counter({"matched": 9}), seconds=2.0, resumed=4).per_second == 2.5
    assert Summary(9).per_second == 0


# --- going on ---------------------------------------------------------------------------------------------------------


def interrupted(cases: int, path: Path, **named: object) -> Summary:
    return small(right, two_faults, cases=cases, seed=2, stop_after=20, resume=path, **named)  # type: ignore[arg-type]


@pytest.mark.thorough
def test_a_campaign_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "campaign.jsonl"
    whole = small(right, two_faults, cases=50, seed=2, stop_after=20)
    first = interrupted(20, path)
    assert (first.resumed, first.cases) == (0, 20)
    second = interrupted(50, path)
    assert second.resumed == 20
    assert second.outcomes == whole.outcomes
    assert [repr(d) for d in second.disagreements] == [repr(d) for d in whole.disagreements]
    again = interrupted(50, path)
    assert again.resumed == again.cases == second.cases
    assert said(again) == said(whole)
    cases = [json.loads(line)["case"] for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert cases == list(range(second.cases))


def test_what_is_done_is_not_asked_again(tmp_path: Path) -> None:
    asked = 0

    def counted(query: str, S: Stream) -> Iterable[Match]:
        nonlocal asked
        asked += 1
        return right(query, S)

    path = tmp_path / "campaign.jsonl"
    small(right, counted, cases=25, resume=path)
    assert asked == 25
    small(right, counted, cases=40, resume=path)
    assert asked == 40


@pytest.mark.thorough
def test_several_processes_go_on_as_one(tmp_path: Path) -> None:
    path = tmp_path / "campaign.jsonl"
    interrupted(20, path)
    whole = small(right, two_faults, cases=50, seed=2, stop_after=20)
    assert said(interrupted(50, path, processes=2)) == said(whole)


@pytest.mark.parametrize("cut", [b'{"case": ', '{"case": 19, "query": "é'.encode()[:-1]])  # within a character
def test_a_line_that_was_cut_off_is_asked_again_and_one_that_is_there_twice_counts_once(
    cut: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "campaign.jsonl"
    whole = interrupted(40, path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:20], lines[5], cut]))
    again = interrupted(40, path)
    assert again.resumed == 19
    assert again.outcomes == whole.outcomes
    assert said(again) == said(whole)
    assert interrupted(40, path).resumed == whole.cases


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "campaign.jsonl"
    interrupted(5, path)
    with pytest.raises(InputError, match="seed is 2 there and 3 here; use the same value, or give a new file"):
        small(right, two_faults, cases=5, seed=3, resume=path)
    with pytest.raises(InputError, match="tested is 'two_faults against right' there"):
        small(right, by_automaton, cases=5, seed=2, resume=path)
    with pytest.raises(InputError, match="profile is"):
        interrupted(5, path, profile=FIGURE_3)
    path.write_text('{"case": 1}\n', encoding="utf-8")
    with pytest.raises(InputError, match="not a file of a campaign"):
        interrupted(5, path)
    path.write_text('{"precious": 1}', encoding="utf-8")
    with pytest.raises(InputError, match="not a file of a campaign"):
        interrupted(5, path)
    assert path.read_text(encoding="utf-8") == '{"precious": 1}'
    with pytest.raises(InputError, match="cannot use"):
        interrupted(5, tmp_path)


def test_a_file_whose_first_line_was_cut_off_begins_anew(tmp_path: Path) -> None:
    path = tmp_path / "campaign.jsonl"
    interrupted(5, path)
    header = path.read_text(encoding="utf-8").split("\n")[0]
    for length in (0, 1, len(header)):
        path.write_text(header[:length], encoding="utf-8")
        assert interrupted(5, path).resumed == 0
        assert interrupted(5, path).resumed == 5


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    path = tmp_path / "campaign.jsonl"
    interrupted(5, path)
    lines = path.read_text(encoding="utf-8").splitlines()
    for bad in ('{"case": 2, "outcome": "fine"}', '{"outcome": "empty"}', "[]", "{"):
        path.write_text("\n".join([*lines[:3], bad, ""]), encoding="utf-8")
        with pytest.raises(InputError, match="line 4"):
            interrupted(5, path)


def test_a_disagreement_comes_back_as_it_was(tmp_path: Path) -> None:
    """Bindings, a result, an answer that is a failure, values of all types, a stream without a schema."""
    plan = CampaignPlan(
        FunctionEvaluator(right), FunctionEvaluator(right), CORE, 10, outputs=("valuations",), maker=guided_case
    )
    schema = Schema({"A": {"x": "float"}})
    streams = [
        Stream([Event("A", {"x": 0.5})], schema),
        Stream([Event("A", {"s": "é'\"\n\u2028", "b": True})]),
    ]
    match = Match(0, (0,), (("A", (0,)), ("X", ())), result_of({"x": 1.5, "when": datetime(2013, 1, 31, tzinfo=UTC)}))
    answers = [(frozenset({match}), frozenset[Match]()), (frozenset[Match](), "crashed: exit status 7")]
    kept = [
        Disagreement(i, "valuations", plan.case(i), parse("A IN X FILTER X.x > 0.25"), S, left, right_)
        for i, (S, (left, right_)) in enumerate(zip(streams, answers, strict=True))
    ]
    with Checkpoint(tmp_path / "c", plan, "x") as checkpoint:
        for d in kept:
            checkpoint.add(d.index, "disagreed", d)
    with Checkpoint(tmp_path / "c", plan, "x") as checkpoint:
        read = [found for _, found in checkpoint.known.values()]
    for d, back in zip(kept, read, strict=True):
        assert back is not None
        assert (back.phi, back.left, back.right, back.output) == (d.phi, d.left, d.right, d.output)
        assert (back.stream.events, back.stream.schema) == (d.stream.events, d.stream.schema)


def test_a_plan_with_evaluators_of_three_arguments_can_be_kept_too(tmp_path: Path) -> None:
    def lost(phi: Formula, S: Stream, output: Output) -> Collection[Match]:
        return matches_of(phi, S, output, SMALL)[1:]

    plan = CampaignPlan(partial(matches_of, budget=SMALL), lost, CORE, 20, outputs=("matches", "valuations"))
    with Checkpoint(tmp_path / "c", plan, "lost") as checkpoint:
        first = campaign(plan, stop_after=2, checkpoint=checkpoint)
    with Checkpoint(tmp_path / "c", plan, "lost") as checkpoint:
        second = campaign(plan, stop_after=2, checkpoint=checkpoint)
    assert said(first) == said(second)
    assert second.resumed == second.cases


QUERIES = {
    "eql": "sequence by user with maxspan=5m [process where x > 1 and y == 2] [file where true]",
    "cel": "(A ; B)+ FILTER A.x > 1",
    "ceql": "SELECT * FROM S WHERE A ; B+ FILTER A[x > 1] WITHIN 5 EVENTS",
    "core-cel": "(A AS x ; B AS y) FILTER x[a > 1]",
    "event-expression": "relative(A, B | C)",
    "sase": "PATTERN SEQ(A a, B+ b[]) WHERE a.x = 1 WITHIN 5 seconds RETURN a.x",
    "row-pattern": "MATCH_RECOGNIZE (PATTERN (A (B | C)+) DEFINE A AS x > 1)",
    "funnel": "FUNNEL a, b[x > 1] WITHIN 5 seconds BY k",
    "sigma": "title: t\nlogsource: {category: c}\ndetection: {a: {x: 1}, b: {y: 2}, condition: a and b}",
}


@pytest.mark.parametrize("language", list(generated_languages()), ids=lambda language: language.name)
def test_what_a_campaign_sends_to_its_processes_is_pickled(language: Language[Any]) -> None:
    """A reduction was a method of an object with a table that cannot be pickled: fuzz with two processes failed."""
    operations = language.operations()
    assert operations is not None
    restored = pickle.loads(pickle.dumps(operations))
    assert replace(restored, reductions=()) == replace(operations, reductions=())
    query = operations.parse(QUERIES[language.name])
    candidates = [[operations.show(q) for q in reduction(query)] for reduction in operations.reductions]
    assert [[operations.show(q) for q in reduction(query)] for reduction in restored.reductions] == candidates
    assert any(candidates)
