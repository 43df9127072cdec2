"""What an engine claims, by its answer to start or by its skips; and the tree of a query that is sent to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import deepcopy
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from cerify import protocol
from cerify.conformance.campaigns import ClaimedMaker, definition
from cerify.conformance.cases import (
    Claims,
    choices,
    claims_of_json,
    in_order,
    in_order_of_time,
    learnt,
    load,
    names_of,
    nodes,
    nodes_in,
    operators_of,
    probes,
    tree_of_text,
    unknown_names,
)
from cerify.conformance.harness import message_of
from cerify.conformance.model import Case, CaseResult, Outcome
from cerify.conformance.oracle import SecondOpinionIn
from cerify.languages import BUILT_IN, LANGUAGES
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Match, Stream, result_of
from proofs_tests.tools.tree_schema import schema_of_trees

SCHEMAS = Path(protocol.__file__).parent / "schemas"
PAGE = Path(__file__).parents[4] / "docs" / "reference" / "protocol.md"


def suite(language: str) -> list[Case]:
    return [case for case in load(None) if case.language == language]


def case(query: str, events: Sequence[dict[str, Any]] = (), language: str = "cel", output: Any = "matches") -> Case:
    return Case("c", "f", "", language, query, None, list(events), output, [])


@pytest.mark.parametrize("language", BUILT_IN)
def test_the_tree_of_every_query_of_the_suite_fits_its_schema(language: str) -> None:
    schema = json.loads((SCHEMAS / "tree.json").read_text(encoding="utf-8"))
    assert schema == schema_of_trees(), "write it with `python -m proofs_tests.tools.tree_schema`"
    validator = Draft202012Validator({"$defs": schema["$defs"], "$ref": f"#/$defs/{language}"})
    kinds = set()
    for query in sorted({one.query for one in suite(language)})[::10]:
        tree = tree_of_text(language, query)
        validator.validate(json.loads(json.dumps(tree)))
        kinds |= {node["node"] for node in nodes_in(tree)}
    assert kinds <= nodes(language).keys()
    assert len(kinds) >= 10
    both, right = ("And", "Empty") if language == "row-pattern" else ("Both", "Anything")
    with pytest.raises(Exception, match='"left" is a required property'):
        validator.validate({"node": both, "right": {"node": right}})


def test_the_names_of_operators_are_on_the_page_and_others_in_claims_are_named() -> None:
    page = PAGE.read_text(encoding="utf-8").partition("The names of operators and strategies")[2]
    for language in ("cel", "core-cel", "sase", "event-expression"):
        listed = page.partition(f"- `{language}`: ")[2].partition("\n- ")[0].partition("\n\n")[0]
        assert re.findall(r"`([^`]+)`", listed) == sorted(names_of(language))
    claims = {"cel": {"operators": ["seq", "pluss", "crepeat", "nxt"]}, "sase": {"strategies": ["kleen"]}}
    assert list(unknown_names(claims)) == [
        "claims.cel.operators: no operator has the name 'pluss'; did you mean 'plus'?",
        "claims.sase.strategies: no operator has the name 'kleen'; did you mean 'kleene'?",
    ]
    *named, rest = unknown_names({"core-cel": {"operators": [f"x{i:02}" + "y" * 20_000 for i in range(33)]}})
    assert (len(named), rest) == (20, "claims.core-cel.operators: 13 more names are unknown")
    assert max(map(len, named)) < 11_000
    (unlike,) = unknown_names({"core-cel": {"operators": ["kleene"]}})
    assert unlike.endswith("'kleene'; there are filter, last, max, nxt, or, plus, seq, strict")


def test_the_tree_of_a_time_is_a_node() -> None:
    tree = tree_of_text("cel", "A FILTER A.time > timestamp '2026-01-01T00:00:00Z'")
    (node,) = (one for one in nodes_in(tree) if one["node"] == "Timestamp")
    assert node["value"] == "2026-01-01T00:00:00Z"


def test_every_node_is_on_the_page() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for language in BUILT_IN:
        for name in nodes(language):
            assert f"`{name}`" in page, name
    (example,) = re.findall(r"`A FILTER A.x \+ 1 >= 2` is\n\n```json\n(.*?)```", page, re.DOTALL)
    assert json.loads(example) == tree_of_text("cel", "A FILTER A.x + 1 >= 2")


def test_a_part_with_few_values_has_one_of_them() -> None:
    assert choices("sase")["Block"]["strategy"][-2:] == ["skip_till_any_match", None]
    schema = schema_of_trees()
    tree = deepcopy(tree_of_text("cel", "A FILTER A.x = 1"))  # which is kept for other tests
    validator = Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/cel"})
    validator.validate(tree)
    (comparison,) = (node for node in nodes_in(tree) if node["node"] == "Comparison")
    comparison["comparator"] = "=="
    with pytest.raises(Exception, match="is not valid under any"):
        validator.validate(tree)


def test_the_tree_is_sent_with_the_query() -> None:
    message = message_of(case("A ; B"))
    left, right = {"node": "Event", "type": "A"}, {"node": "Event", "type": "B"}
    assert message["tree"] == {"node": "Seq", "left": left, "right": right}
    protocol.parse_message(protocol.line(message), "run")
    assert tree_of_text("cel", "A ;") is None
    assert tree_of_text("event-expression", "!A[not x = 1]") == {
        "node": "Not",
        "operand": {
            "node": "Primitive",
            "type": "A",
            "arguments": [],
            "mask": {
                "node": "Complement",
                "predicate": {
                    "node": "Comparison",
                    "comparator": "=",
                    "left": {"node": "Attribute", "name": "x", "variable": None},
                    "right": {"node": "Constant", "value": 1},
                },
            },
        },
    }


STARTED = {
    "protocol": 1,
    "engine": {"name": "e", "version": "1"},
    "languages": ["cel"],
    "claims": {"cel": {"operators": ["seq", "filter", "within"], "strategies": ["nxt"], "predicates": ["comparison"]}},
}


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("A ; B", ""),
        ("NXT(A ; B) WITHIN 3 EVENTS", ""),
        ("(A ; B) FILTER A.x > 1", ""),
        ("A+ ; B", "operators plus"),
        ("LAST(A ; B)", "strategies last"),
        ("A FILTER A[x in {1, 2}]", "predicates in"),
        ("(A ; B) FILTER A.x = B.x", "predicates correlated"),
    ],
)
def test_what_is_claimed_in_the_answer_to_start(query: str, why: str) -> None:
    info = protocol.info_of_json(protocol.parse_message(protocol.line(STARTED), "started"))
    found = claims_of_json(info.claims, "cel").why_not(case(query))
    assert found == (f"it does not claim the {why}" if why else "")
    assert claims_of_json(info.claims, "sase") == Claims()
    assert protocol.json_of_info(info)["claims"] == STARTED["claims"]


def test_outputs_and_the_order_of_time() -> None:
    claims = claims_of_json({"cel": {"output": ["matches"], "ordered_time": True}}, "cel")
    assert claims.why_not(case("A", output="valuations")) == "it does not claim the output valuations"
    backwards = [{"type": "A", "time": 2}, {"type": "A", "time": 1}]
    assert claims.why_not(case("A", backwards)) == "it claims only streams in the order of time"
    assert claims.why_not(case("A", backwards[::-1])) == ""
    assert in_order([Event("A", {"time": 1}), Event("B"), Event("A", {"time": 1})])


@pytest.mark.parametrize(
    ("language", "skipped"),
    [
        ("cel", {"unless", "last", "project"}),
        ("core-cel", {"plus", "max"}),
        ("sase", {"negation", "kleene"}),
        ("event-expression", {"pipe", "exists"}),
    ],
)
def test_a_claim_is_learnt_from_what_the_engine_skips(language: str, skipped: set[str]) -> None:
    asked = 0

    def run(one: Case) -> CaseResult:
        nonlocal asked
        asked += 1
        outcome: Outcome = "skipped" if operators_of(language, one.query) & skipped else "passed"
        return CaseResult(one, outcome, one.matches)

    claims = learnt(run, language, probes(suite(language), language))
    every = frozenset[str]().union(*(operators_of(language, one.query) for one in suite(language)))
    assert claims.operators is not None
    assert claims.operators.isdisjoint(skipped)
    assert every - claims.operators >= skipped
    assert asked < 120


def test_random_cases_are_those_that_are_claimed() -> None:
    language = LANGUAGES["cel"]
    generator = language.require_cases().generator()
    claims = Claims(operators=frozenset({"seq", "or"}), predicates=frozenset())
    maker = ClaimedMaker(language, generator.case, claims, generator.stream)
    profile = next(iter(generator.profiles.values()))
    queries = [maker(Random(seed), profile, 8, 5)[0] for seed in range(40)]
    assert all(operators_of("cel", query) <= {"seq", "or"} for query in queries)
    assert len(set(queries)) > 10


@pytest.mark.thorough
def test_no_random_case_is_unclaimed_however_little_is_claimed() -> None:
    language = LANGUAGES["cel"]
    generator = language.require_cases().generator()
    nothing = Claims(operators=frozenset(), predicates=frozenset(), ordered_time=True)
    maker = ClaimedMaker(language, generator.case, nothing, generator.stream)
    for seed in range(4):
        query, S = maker(Random(seed), generator.profiles["everything"], 40, 8)
        assert not nothing.objection("cel", query, S, "matches")
        other = maker.another_stream(Random(seed), generator.profiles["everything"], 8, query)
        assert not nothing.objection("cel", query, other, "matches")
    unclaimed = Claims(output=frozenset({"valuations"}))
    refused = ClaimedMaker(language, generator.case, unclaimed, generator.stream, tries=3)
    with pytest.raises(
        Unsupported, match=r"claims none of 3 random cases\. The reason for the last one: it does not claim the out"
    ):
        refused(Random(0), generator.profiles["core"], 8, 5)
    assert "<" not in repr(maker)  # an address, which would differ in a campaign that goes on


def test_events_are_put_in_the_order_of_time() -> None:
    timed = [Event("A", {"time": 3}), Event("B"), Event("C", {"time": 1}), Event("D", {"time": 2})]
    assert [event.type for event in in_order_of_time(Stream(timed))] == ["C", "B", "D", "A"]


def test_an_engine_that_claims_matches_of_sase_is_asked_for_these_alone() -> None:
    """It is sent the output matches, and need answer neither bindings nor results."""
    claims = Claims(output=frozenset({"matches"}))
    one = next(one for one in suite("sase") if one.matches)
    bare = claims.restrict_case(one)
    assert (bare.output, claims.why_not(one)) == ("matches", "")
    assert {(m.at, m.events) for m in one.matches} == {(m.at, m.events) for m in bare.matches}
    assert all(m.bindings is None and m.result is None for m in bare.matches)
    answer = protocol.answer_of_json({"id": "c", "matches": [{"at": 0, "events": [0], "result": {}}]}, "matches", 1)
    assert isinstance(answer, protocol.MatchesAnswer)
    assert answer.matches == [Match(0, (0,))]
    assert Claims().restrict_case(one) is one


@pytest.mark.thorough
def test_operators_that_only_come_together_are_learnt_together() -> None:
    """Of MATCH_RECOGNIZE no query has a single operator."""

    def run(one: Case) -> CaseResult:
        return CaseResult(one, "skipped" if "PERMUTE" in one.query else "passed", [])

    every = frozenset[str]().union(*(operators_of("row-pattern", one.query) for one in suite("row-pattern")))
    assert learnt(run, "row-pattern", suite("row-pattern")).operators == every - {"permute"}


@pytest.mark.parametrize(
    ("language", "query", "less", "expected"),
    [
        ("sase", "PATTERN SEQ(A a, B b) RETURN a.x", "matches", {Match(1, (0, 1))}),
        ("sase", "PATTERN SEQ(A a, B b) RETURN a.x", "positions", {Match(1, ())}),
        ("funnel", "FUNNEL A, B BY x", "groups", {Match(0, (), None, result_of({"key": 1, "level": 2}))}),
    ],
)
def test_a_campaign_compares_what_the_engine_claims(language: str, query: str, less: str, expected: set[Match]) -> None:
    """An engine that answers with groups has no positions, and its disagreement is judged again by groups."""
    S = Stream([Event("A", {"x": 1, "time": 0}), Event("B", {"x": 1, "time": 1})])
    phi = LANGUAGES[language].syntax.parse(query)
    assert set(definition(LANGUAGES[language], less=less)(phi, S, "matches")) == expected
    assert SecondOpinionIn(language, less)(phi, S, "matches") in (None, expected)
    assert definition(LANGUAGES[language])(phi, S, "matches") != expected
