"""`match`, whatever the language and the evaluator."""

import pickle
import re
import warnings
from random import Random

import pytest

from cerify.api import check, compile, count, equivalent, explain, generate, match
from cerify.equivalence.generate.cel import EVERYTHING, case
from cerify.languages import LANGUAGES
from cerify.languages.language import EVALUATORS, EvaluatorName, Options
from cerify.plan import Want, plan
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, QueryWarning, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream

QUERIES = {
    "cel": "A",
    "core-cel": "A AS x",
    "event-expression": "A",
    "sase": "PATTERN SEQ(A a) WHERE skip_till_any_match(a) {a.x > 0} RETURN a.x",
}


@pytest.mark.parametrize(
    ("language", "evaluator"), [(name, evaluator) for name in QUERIES for evaluator in LANGUAGES[name].evaluators]
)
def test_every_evaluator_keeps_to_the_budget_of_matches(language: str, evaluator: str) -> None:
    events = [Event("A", {"x": 1})] * 3
    query, two, three = QUERIES[language], Budget(matches=2), Budget(matches=3)
    assert len(match(query, events, language=language, evaluator=evaluator, budget=three)) == 3
    with pytest.raises(BudgetExceeded, match="more than 2"):
        match(query, events, language=language, evaluator=evaluator, budget=two)


EVENTS = [Event("A", {"x": n % 3}) for n in range(7)]


@pytest.mark.parametrize(
    ("language", "evaluator"), [(name, evaluator) for name in QUERIES for evaluator in (None, *EVALUATORS)]
)
def test_count_is_the_number_of_matches(language: str, evaluator: EvaluatorName | None) -> None:
    expected = len(match(QUERIES[language], EVENTS, language=language))
    assert count(QUERIES[language], EVENTS, language=language, evaluator=evaluator) == expected > 0


@pytest.mark.parametrize("language", QUERIES)
@pytest.mark.parametrize("evaluator", [None, "denotational"])
def test_a_compiled_query_reads_its_stream_in_batches(language: str, evaluator: str | None) -> None:
    evaluator_of = compile(QUERIES[language], language=language, evaluator=evaluator)
    found = [m for start in range(0, 7, 2) for m in evaluator_of.push(EVENTS[start : start + 2])]
    found += pickle.loads(pickle.dumps(evaluator_of)).finish()
    assert sorted(found) == list(match(QUERIES[language], EVENTS, language=language))


def test_an_evaluator_of_whole_streams_is_refused_in_batches() -> None:
    with pytest.raises(Unsupported, match="carries a filter across events only if"):
        compile("(A ; B) FILTER A.x < B.x", evaluator="kernel")
    with pytest.raises(Unsupported, match="for which all events are needed"):
        compile("A UNLESS (B PARTITION BY [x])", evaluator="automaton")
    assert compile("A", consumption="any").push(EVENTS[:2]) == [Match(0, (0,)), Match(1, (1,))]


@pytest.mark.parametrize("language", QUERIES)
@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_all_evaluators_have_one_interface(language: str, evaluator: EvaluatorName) -> None:
    """What only the compiled evaluator of CEL had: a limit of the matches, an Arrow table, another evaluator."""
    whole = match(QUERIES[language], EVENTS, language=language)
    made = compile(QUERIES[language], language=language, evaluator=evaluator, budget=Budget(matches=20))
    assert made.push(EVENTS[:6], limit=1) in ([], whole[:1])  # the definition of SASE+ waits for the end
    found = [*made.push(EVENTS[6:], 1), *made.finish()]
    assert found in ([], whole[-1:], list(whole))
    assert made.position == len(EVENTS)
    other = made.fresh()
    assert (other.position, type(other)) == (0, type(made))
    table = other.push_arrow(EVENTS)
    assert table.column_names == ["at", "events"]
    rest = [(m.at, list(m.events)) for m in other.finish()]
    assert [(row["at"], row["events"]) for row in table.to_pylist()] + rest == [(m.at, list(m.events)) for m in whole]


def test_a_limit_is_no_budget() -> None:
    for evaluator in EVALUATORS:
        made = compile("A+", evaluator=evaluator, budget=Budget(matches=4))
        assert made.push(EVENTS, limit=3) == sorted(made.fresh().push(EVENTS, limit=3))
        with pytest.raises(BudgetExceeded, match="more than 4"):
            made.fresh().push(EVENTS)
        made = compile("A", evaluator=evaluator)
        made.push(EVENTS[:3], limit=0)
        assert made.push(EVENTS[3:4]) == [Match(3, (3,))]


@pytest.mark.parametrize("evaluator", [None, *EVALUATORS])
@pytest.mark.parametrize("language", ["cel", "core-cel"])
def test_match_takes_consumption(language: str, evaluator: EvaluatorName | None) -> None:
    query = {"cel": "A ; A", "core-cel": "A AS x ; A AS y"}[language]
    found = match(query, EVENTS, language=language, evaluator=evaluator, consumption="any")
    assert [m.events for m in found] == [(0, 1), (2, 3), (4, 5)]
    assert count(query, EVENTS, language=language, evaluator=evaluator, consumption="any") == 3
    assert len(match(query, EVENTS, language=language, evaluator=evaluator, selection="next")) == 6


def test_options_that_there_are_not_are_refused() -> None:
    with pytest.raises(IllFormed, match="there is no consumption 'some'; use one of none, any"):
        match("A", EVENTS, consumption="some")
    with pytest.raises(IllFormed, match="match has no argument 'consumed'; did you mean 'consumption'"):
        match("A", EVENTS, consumed="any")  # type: ignore[call-arg]


def test_the_first_batch_is_held_against_the_query() -> None:
    """A typo in the name of a type gives no matches, and nothing said why."""
    made = pickle.loads(pickle.dumps(compile("A ; Bee")))
    assert made.push([]) == []
    with pytest.warns(QueryWarning, match="unknown event type Bee; the events have A") as found:
        made.push(EVENTS[:2])
    assert [w.filename for w in found] == [__file__]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made.push(EVENTS[2:])  # once is enough
        compile("A ; Bee", schema=Schema({"A": {"x": "int"}, "Bee": {}})).push(EVENTS)
    strict = compile("A FILTER A.y > 0", strict=True)
    for _ in range(2):
        with pytest.raises(IllFormed, match="A has no attribute 'y'; it has x"):
            strict.push(EVENTS)
    assert strict.position == 0


def test_generate_gives_the_same_case_for_the_same_seed() -> None:
    for language in QUERIES:
        query, S = generate(language, seed=5, nodes=6, events=4)
        assert (query, S) == generate(language, seed=5, nodes=6, events=4)
        assert any(generate(language, seed=seed)[0] != query for seed in range(3))
        assert len(S) <= 4
        assert match(query, S, budget=Budget(seconds=5)) is not None
    assert generate("sase", profile=list(LANGUAGES["sase"].generator().profiles)[-1])[1] is not None
    with pytest.raises(IllFormed, match="there is no profile 'big' of cel; use one of core, "):
        generate(profile="big")


NOT_CARRIED = "(T ; H) FILTER near(T, H)"
NEAR = Options(predicates={"near": lambda one, other: True})


def test_the_plan_takes_the_definition_where_no_automaton_carries_a_query_and_says_why() -> None:
    cel = LANGUAGES["cel"]
    made = plan(cel, cel.parse(NOT_CARRIED), None, Want(NEAR))
    assert (made.evaluator, list(made.why_not), made.rewrites) == ("denotational", ["automaton"], ())
    assert plan(cel, cel.parse("T ; H")).evaluator == "automaton"
    assert plan(cel, cel.parse("T ; H"), None, Want(evaluator="kernel")).evaluator == "kernel"


@pytest.mark.parametrize("query", ["(A : B) FILTER A.x < B.x", "A ; B FILTER A.x < B.x WITHIN 5 EVENTS"])
def test_what_no_automaton_reads_in_batches_is_counted_by_its_matches(query: str) -> None:
    """The definition was asked for the number, in batches, and took half a minute for two thousand events."""
    lang = LANGUAGES["cel"]
    tree = lang.parse(query)
    assert plan(lang, tree, None, Want(batches=True)).evaluator == "automaton"
    counting = plan(lang, tree, None, Want(counting=True))
    assert (counting.evaluator, counting.batches) == ("automaton", None)  # a whole stream need not be in order
    events = [{"type": "AB"[i % 2], "x": i % 7} for i in range(20)]
    assert count(query, events) == len(match(query, events, evaluator="denotational"))


def test_a_named_evaluator_is_used_or_refused_with_the_reason() -> None:
    cel, core = LANGUAGES["cel"], LANGUAGES["core-cel"]
    for evaluator in ("automaton", "kernel"):
        made = plan(cel, cel.parse(NOT_CARRIED), None, Want(NEAR, evaluator))
        assert made.evaluator is None
        with pytest.raises(Unsupported, match=re.escape(made.why_not[evaluator].message)):
            made.all_matches(Stream([]))
        with pytest.raises(Unsupported, match="registered predicate such as near"):
            match("(A ; B) FILTER near(A, B)", [Event("A", {})], evaluator=evaluator, predicates={"near": len})
    with pytest.raises(IllFormed, match="there is no evaluator 'fast' of core-CEL; use one of denotational, automaton"):
        plan(core, core.parse("A AS x"), None, Want(evaluator="fast"))


def test_the_plan_names_the_language_into_which_a_query_is_rewritten() -> None:
    core = LANGUAGES["core-cel"]
    correlated = core.parse("(A AS x ; B AS y) FILTER x.a = y.a")
    assert plan(core, correlated).rewrites == ("cel",)
    assert plan(core, correlated, None, Want(evaluator="denotational")).rewrites == ()
    assert plan(core, core.parse("A AS x")).rewrites == ()


def test_the_automaton_carries_every_formula() -> None:
    """No formula without registered predicates is refused, neither by the plan nor on a stream."""
    cel, options = LANGUAGES["cel"], Options(budget=Budget(seconds=2.0, states=5000))
    carried = 0
    for seed in range(300):
        phi, S = case(Random(seed), EVERYTHING, 9, 5)
        try:
            assert plan(cel, phi, None, Want(options, "automaton")).evaluator == "automaton"
            found = list(cel.matches(phi, S, "automaton", options))
        except BudgetExceeded:
            continue
        carried += len(found) > 0
    assert carried > 30


@pytest.mark.parametrize("around", ["({}) OR A", "A OR ({})", "MAX({})", "LAST({})", "START({})", "A UNLESS ({})"])
def test_the_plan_looks_below_operators(around: str) -> None:
    cel, S = LANGUAGES["cel"], Stream([Event("T", {"id": 1})])
    phi = cel.parse(around.format(NOT_CARRIED))
    refused = plan(cel, phi, None, Want(evaluator="automaton")).why_not["automaton"]
    with pytest.raises(Unsupported, match=re.escape(refused.message)):
        list(cel.matches(phi, S, "automaton"))


def test_explain_by_the_api() -> None:
    assert explain("A ; A", EVENTS, {0, 2}).derivations[0].clause == "sequencing"
    assert explain("A ; A", EVENTS, {0, 2}, valuation={"A": [0, 2]}).at == 2
    assert explain("A", EVENTS, at=3, language="event-expression").at == 3
    assert explain(QUERIES["sase"], EVENTS, [1], language="sase").match.events == (1,)
    with pytest.raises(InputError, match="name the positions"):
        explain("A", EVENTS)


def test_a_level_or_a_bound_that_there_is_not_is_refused() -> None:
    """A wrong level was taken, and went into a certificate; a negative bound was one without a difference."""
    with pytest.raises(IllFormed, match="there is no level 'event'; use one of events, valuations"):
        equivalent("A", "A", level="event")  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match="bound: expected a whole number from 0 on, not -1"):
        equivalent("A ; B FILTER A.x = B.x", "A ; B", bound=-1)


def test_a_schema_that_is_none_is_refused_with_what_to_write() -> None:
    with pytest.raises(IllFormed, match=r"not a dict; write Schema\(\{\.\.\.\}\)"):
        equivalent("A", "A", schema={"A": {}})  # type: ignore[arg-type]
    with pytest.raises(IllFormed, match=r"not a str; write Schema"):
        check("A", "farm.csv")  # type: ignore[arg-type]
