"""Values that are easy to get wrong have the same matches in every evaluator and from every format; a few cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cerify import Different, Event, Schema, equivalent, match
from cerify.automata.algebra.finite import Minterm
from cerify.equivalence.rewrite.simplify import Simplified
from cerify.equivalence.verdict import Bounded
from cerify.languages import LANGUAGES
from cerify.languages.language import Checked
from cerify.plan import DefinitionEvaluator
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Stream
from cerify.spark.runs import SparkQuery
from proofs_tests import robustness
from proofs_tests.campaigns import values, verdicts
from proofs_tests.support import sampled

PARSED = LANGUAGES["cel"].parse("Nothing")
ROWS = "MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A) DEFINE A AS type = 'Nothing')"
SEEDS = sampled(range(40), range(2))
MANY = 6  # cases of a seed


def seen(language: str, seed: int, answers: values.Answers = values.answers) -> Iterator[str]:
    for i in range(MANY):
        try:
            case_of = verdicts.alike_case if answers is verdicts.answers else values.wild_case
            case = case_of(LANGUAGES[language], f"{seed}/{i}")
            found = values.outcomes(LANGUAGES[language], case, answers)
            yield from (f"{i} {name}: {outcome}" for name, outcome in found)
        except (IllFormed, BudgetExceeded, Unsupported) as error:
            yield error.code


@pytest.mark.parametrize("answers", [values.answers, verdicts.answers], ids=["evaluators", "deciders"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_all_agree_with_the_definition(language: str, seed: int, answers: values.Answers) -> None:
    assert [outcome for outcome in seen(language, seed, answers) if "WRONG" in outcome] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_some_of_the_cases_match(language: str) -> None:
    assert any(outcome.endswith(": matched") for seed in range(4) for outcome in seen(language, seed))


def test_a_writer_that_loses_all_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(S: Stream, path: Path) -> None:
        values.write_arrow(S.part(0, 0), path)

    monkeypatch.setattr(values, "WRITERS", {"arrow": nothing})
    assert any("arrow: WRONG" in outcome for outcome in seen("cel", 1))


def test_a_state_without_its_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(self: DefinitionEvaluator[object], data: bytes) -> None:
        self.position = 4

    monkeypatch.setattr(DefinitionEvaluator, "load", nothing)
    assert any("denotational in batches: WRONG" in outcome for seed in range(3) for outcome in seen("cel", seed))


def test_a_worker_that_loses_all_events_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    from cerify.spark import runs

    start = runs.start
    monkeypatch.setattr(runs, "start", lambda query, budget: start(SparkQuery("Nothing"), budget))
    assert any("a worker of Spark: WRONG" in outcome for outcome in seen("cel", 1))


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("equivalent", lambda left, right, **_: equivalent("A", "A")),
        ("equivalent", lambda left, right, schema, **_: Bounded(8, schema or Schema({}))),
        ("minterms", lambda tests, *_: [Minterm(frozenset(range(len(tests))), None)]),
    ],
)
def test_a_false_proof_is_found(name: str, fault: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdicts, name, fault)
    answer = {"equivalent": "an equivalent query", "minterms": "the algebra"}[name]
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any(f"{answer}: WRONG" in outcome for outcome in outcomes)


def test_a_check_that_denies_all_matches_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = Checked({}, "", [], satisfiable=False)
    monkeypatch.setattr(type(LANGUAGES["cel"]), "check", lambda self, query, schema: nothing)
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any("the check: WRONG" in outcome for outcome in outcomes)


@pytest.mark.parametrize(
    ("rewriting", "answer"),
    [
        ("translations", "the query in row-pattern"),
        ("translations", "an equivalent query in core-cel"),
        ("normal_forms", "push-in"),
        ("simplify", "the smaller query"),
    ],
)
def test_a_rewriting_to_a_query_without_matches_is_found(
    rewriting: str, answer: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(query: object, _: object) -> object:
        to = answer.rpartition(" ")[2] if rewriting == "translations" else "cel"
        return LANGUAGES[to].parse({"row-pattern": ROWS}.get(to, "Nothing"))

    if rewriting == "simplify":
        smaller = Simplified(PARSED, PARSED, "events", (), None, True)
        monkeypatch.setattr(verdicts, "simplify", lambda *_, **__: smaller)
    else:
        named = {answer.rpartition(" ")[2]: nothing}
        monkeypatch.setattr(type(LANGUAGES["cel"]), rewriting, property(lambda self: named))
    if answer.startswith("an equivalent"):
        proof = equivalent("A", "A")
        monkeypatch.setattr(verdicts, "equivalent", lambda *_, **__: proof)
    outcomes = (outcome for seed in range(8) for outcome in seen("cel", seed, verdicts.answers))
    assert any(f"{answer}: WRONG" in outcome for outcome in outcomes)


def test_figures_of_cases_that_follow_stored_ones_are_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(robustness, "STORED", tmp_path / "r.json")
    for first, seed, cases in ((0, 1, 5), (5, 1, 10), (5, 1, 5), (5, 2, 5)):
        values.store_figures("values", "cel", first, 5, Counter(matched=5), seed)
        found = robustness.stored(robustness.STORED)["values"]["cel"]
        assert (found["cases"], found["seed"]) == (cases, seed)
        assert found["outcomes"] == {"matched": cases}


@pytest.mark.parametrize("name", LANGUAGES["event-expression"].evaluators)
def test_arguments_without_a_schema_are_in_the_order_of_the_columns(name: str) -> None:
    """Found by the campaign: a stream meant another thing after it was written to a file and read again."""
    S = Stream([Event("b", {"m": True}), Event("a", {"n": 1, "m": False}), Event("a", {"m": False, "n": 1})])
    for stream in (S, Stream.from_table(S.table), Stream(list(Stream.from_table(S.table)))):
        found = [
            [m.at for m in match(query, stream, language="event-expression", evaluator=name)]
            for query in ("a(J, 1)", "a(false, 1)", "a(1)", "b(true)")
        ]
        assert found == [[1, 2], [1, 2], [], [0]]


ENDS = ("n <= timestamp '0001-01-01T00:00:00Z'", "n > timestamp '9999-12-31T23:59:59.999999Z'")


@pytest.mark.parametrize("mask", ["n > 9007199254740992.0", "n < timestamp '0001-01-02T00:00:00Z'", *ENDS])
def test_the_future_of_an_expression_has_values_beyond_its_constants(mask: str) -> None:
    """Found by the campaign: of the first the definition said that no event can come, of the second the automaton."""
    S = Stream([Event("c", {"n": 1})])
    of_each = [
        match(f"prefix(a[{mask}])", S, language="event-expression", evaluator=name)
        for name in ("denotational", "automaton")
    ]
    assert of_each[0] == of_each[1]


@pytest.mark.parametrize("test", ["< timestamp '0001-01-02T00:00:00Z'", "> timestamp '9999-12-31T00:00:00Z'"])
def test_the_first_and_the_last_day_are_among_the_values_of_times(test: str) -> None:
    assert isinstance(equivalent(f"A FILTER A.t {test}", "A UNLESS A"), Different)
