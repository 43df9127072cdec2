"""The definition behind the interface of evaluators: batch by batch as at once, saved and pickled, and consuming."""

import pickle

import pytest

from cerify.automata.evaluator import Consumption, Counters, Evaluator
from cerify.languages import language_named
from cerify.languages.language import Options
from cerify.plan import DefinitionEvaluator, Want, plan
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream

S = Stream([Event(type_, {"v": i}) for i, type_ in enumerate("ABABCAB")])
QUERIES = {
    "cel": "(A ; B) FILTER A.v > 0",
    "core-cel": "A AS x ; B AS y",
    "event-expression": "relative(A, B)",
}


def made(name: str = "cel", text: str = "", **options: object) -> DefinitionEvaluator[object]:
    language = language_named(name)
    given = {"waits": False, **options}
    return DefinitionEvaluator(language, language.parse(text or QUERIES[name]), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["cel", "core-cel", "event-expression"])
def test_batches_give_what_the_whole_stream_gives(name: str) -> None:
    whole = made(name).evaluate(S)
    assert whole == sorted(language_named(name).matches(made(name).query, S))
    assert len(whole) > 1
    for cut in range(len(S) + 1):
        E: Evaluator = made(name)
        first = E.push(S.part(0, cut))
        assert all(match.at < cut for match in first)
        again = pickle.loads(pickle.dumps(E))
        assert again.position == E.position == cut
        assert E.count(S.part(cut, len(S))) == len(whole) - len(first)
        assert sorted([*first, *again.push(S.part(cut, len(S)).table), *again.finish()]) == whole
        assert again.counters == Counters(len(S), 0, 0)


def test_an_argument_means_the_same_attribute_in_every_batch() -> None:
    language = language_named("event-expression")
    query = language.parse("p(I) := a(I); sequence(p(J), p(J))")
    events = Stream([Event("a", {"m": 1}), Event("a", {"n": 2, "m": 1}), Event("a", {"n": 2, "m": 3})])
    want = Want(evaluator="denotational", batches=True)
    assert isinstance(plan(language, query, None, want).why_not["denotational"], Unsupported)
    schema = Schema({"a": {"n": "int", "m": "int"}})
    whole = language.matches(query, Stream(events, schema), "denotational")
    E = plan(language, query, schema, want).batches
    assert E is not None
    saved = pickle.dumps(E)
    for some in (E, pickle.loads(saved)):
        assert [*some.push(events.part(0, 1)), *some.push(events.part(1, 2))] == whole == [Match(2, (2,))]
    other = Schema({"a": {"m": "int", "n": "int"}})
    with pytest.raises(InputError):
        E.fresh().restore(plan(language, query, other, want).batches.save())  # type: ignore[union-attr]


def test_a_query_that_waits_is_answered_at_the_end() -> None:
    E = made(waits=True)
    assert E.push(S) == []
    assert E.finish() == made().evaluate(S)
    with pytest.raises(InputError, match="finished"):
        E.push(S)
    with pytest.raises(InputError, match="finished"):
        pickle.loads(pickle.dumps(E)).finish()


def test_a_match_consumes_what_came_before_it() -> None:
    E = made(text="A ; B", options=Options(consumption=Consumption.ANY))
    assert E.push(S.part(0, 3)) == [Match(1, (0, 1))]
    assert E.push(S.part(3, 4)) == [Match(3, (2, 3)), Match(6, (5, 6))]
    with pytest.raises(IllFormed, match="cannot consume"):
        made(waits=True, options=Options(consumption=Consumption.ANY))


def test_a_budget_stops_a_batch_before_anything_changes() -> None:
    E = made(options=Options(budget=Budget(matches=1)))
    with pytest.raises(BudgetExceeded, match="more than 1 matches"):
        E.push(S)
    assert E.position == 0


def test_a_state_of_something_else_is_refused() -> None:
    saved = made().save()
    for other in (made(text="A ; C"), made("core-cel"), made(options=Options(output="valuations")), made(waits=True)):
        with pytest.raises(InputError, match="another query"):
            other.restore(saved)
    for damaged in (b"", b"x", saved[: len(saved) // 2]):
        with pytest.raises(InputError):
            made().restore(damaged)


def test_a_consumption_that_there_is_not_is_refused() -> None:
    assert Consumption.from_value("any") is Consumption.from_value(Consumption.ANY) is Consumption.ANY
    with pytest.raises(IllFormed, match="'some'; use one of none, any"):
        Consumption.from_value("some")
