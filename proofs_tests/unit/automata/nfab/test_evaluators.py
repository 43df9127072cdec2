"""Query blocks behind the interface of all evaluators: batches are the stream, and a saved state continues it."""

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pyarrow as pa
import pytest

import cerify
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.compiled import Memory
from cerify.automata.nfab.evaluators import SPARE, BlockEvaluator, CompiledSaseEvaluator, ReadableSaseEvaluator
from cerify.equivalence.generate.sase import PROFILES, case
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.sase import denote, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Reading, list_other_readings
from cerify.semantics.values import Value
from proofs_tests.support import sampled, sealed
from proofs_tests.unit.automata.nfab.test_evaluate import WINDOWED, rows
from proofs_tests.unit.semantics.sase.streams import events, query

CLASSES: tuple[type[BlockEvaluator], ...] = (ReadableSaseEvaluator, CompiledSaseEvaluator)


def cases(seed: int, number: int) -> Iterator[tuple[sase.SaseQuery, Stream, Reading, Random]]:
    """Queries of all profiles without NON-OVERLAP, half of them under another reading."""
    rng, readings = (
        Random(seed),
        [reading for (name, _), reading in list_other_readings().items() if name != "non_overlap"],
    )
    for _ in range(number):
        q, S = case(rng, rng.choice(list(PROFILES.values())), 9, 10)
        q = replace(q, returned=replace(q.returned, non_overlap=False))
        yield q, S, rng.choice((Reading(), rng.choice(readings))), rng


def in_batches(E: BlockEvaluator, S: Stream, cut: int, again: bool) -> list[Match]:
    """The matches of two batches and of the end; with `again` another evaluator continues from the saved state."""
    found = E.push(S.part(0, cut))
    if again:
        saved, first = E.save(), E
        E = first.remade()[0](*first.remade()[1])  # type: ignore[assignment]
        E.restore(saved)
        assert E.position == first.position
    return sorted(found + E.push(S.part(cut, len(S) - cut)) + E.finish())


@pytest.mark.parametrize("number", sampled([50, 125], [50]))
@pytest.mark.parametrize("class_", CLASSES)
def test_batches_and_saved_states_give_the_matches_of_the_definition(class_: type[BlockEvaluator], number: int) -> None:
    found = 0
    for q, S, reading, rng in cases(11, number):
        cut, again = rng.randint(0, len(S)), rng.random() < 0.7
        got = in_batches(class_(q, reading), S, cut, again)
        expected = interpreter.matches_of(q, S, denote.bindings, reading)
        assert got == expected, (q, list(S), reading, cut, again)
        found += bool(got)
    assert found > 0.4 * number


@pytest.mark.parametrize("class_", CLASSES)
def test_counting_is_the_number_of_matches(class_: type[BlockEvaluator]) -> None:
    for q, S, reading, rng in cases(12, 75):
        listing, counting, cut = class_(q, reading), class_(q, reading), rng.randint(0, len(S))
        for part in (S.part(0, cut), S.part(cut, len(S) - cut)):
            assert counting.count(part) == len(listing.push(part))
        assert counting.finish() == listing.finish()


@pytest.mark.parametrize("length", sampled([5000, 20_000], [5000]))
@pytest.mark.parametrize("class_", CLASSES)
def test_what_is_stored_and_saved_is_bounded_by_the_window(class_: type[BlockEvaluator], length: int) -> None:
    E, S = class_(query(WINDOWED)), rows(length)
    for start in range(0, len(S), 1_000):
        E.count(S.part(start, 1_000))
        assert len(E._events) - E._events.start < 2 * SPARE
    assert len(E.save()) < 20_000
    assert E.counters.events == length
    assert E.counters.states == 4
    assert E.counters.nodes > 1_000


@pytest.mark.parametrize("class_", CLASSES)
def test_an_evaluator_is_pickled_by_its_state(class_: type[BlockEvaluator]) -> None:
    E, S = (
        class_(query("SEQ(A a, B+ b[], C c) WHERE [y] WITHIN 9 seconds")),
        events("A1/k@1 B1/k@2 B2/k@3 C1/k@4 C1/k@5"),
    )
    E.push(S.part(0, 3))
    other = pickle.loads(pickle.dumps(E))
    rest = S.part(3, 2)
    assert other.push(rest) == E.push(rest) != []
    other.finish()
    with pytest.raises(InputError, match="finished"):
        pickle.loads(pickle.dumps(other)).push(rest)


def test_a_column_without_values_in_the_saved_events_keeps_its_kind() -> None:
    q = query("SEQ(A a, B b) WHERE b.x > a.x")
    E = CompiledSaseEvaluator(q)
    E.push(Stream([Event("A", {"x": 1}), Event("B", {"x": 2}), Event("C")]))
    F = CompiledSaseEvaluator(q)
    F.restore(E.save())
    assert F.push(Stream([Event("A", {"x": 1}), Event("B", {"x": 2})])) != []
    with pytest.raises(Unsupported, match="first batch"):
        F.push(Stream([Event("A", {"x": "text"})]))


@pytest.mark.parametrize(("first", "second"), [(1, "a"), (2**53 + 1, 0.5), (True, 1)])
def test_a_state_with_values_that_no_column_has_is_refused(first: Value, second: Value) -> None:
    E = ReadableSaseEvaluator(query("SEQ(A a, B b)"))
    E.push(Stream([Event("A", {"x": first})]))
    E.push(Stream([Event("A", {"x": second})]))
    with pytest.raises(InputError, match="attribute 'x'"):
        E.save()
    assert len(E.push(Stream([Event("B")]))) == 2


def test_whole_numbers_and_others_are_saved_as_numbers() -> None:
    q = query("SEQ(A a, B b) WHERE a.x = b.x")
    E, F = ReadableSaseEvaluator(q), ReadableSaseEvaluator(q)
    E.push(Stream([Event("A", {"x": 1})]))
    E.push(Stream([Event("A", {"x": 1.5})]))
    F.restore(E.save())
    B = Stream([Event("B", {"x": 1.0}), Event("B", {"x": 1.5})])
    assert F.push(B) == E.push(B) != []


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(B+ a[]) WHERE skip_till_next_match(a[]) { a[a.LEN].x >= 1 }",
        "SEQ(A a, B b) WHERE b.x > a.y",
        "SEQ(A a, B+ b[]) WHERE skip_till_next_match(a, b[]) { max(b[].x) >= 1 }",
        "SEQ(A a, B b) WHERE [x]",
    ],
)
def test_a_column_that_has_its_first_values_in_a_later_batch_is_refused(text: str) -> None:
    E = CompiledSaseEvaluator(query(text))
    E.push(Stream([Event("A", {"y": 1})]))
    with pytest.raises(
        Unsupported, match=r"^the column x has values of the type int, and had no value in the first batch; .*"
    ):
        E.push(Stream([Event("B", {"x": 2})]))


def test_a_state_of_anything_else_is_an_input_error() -> None:
    q, other = query("SEQ(A a, B b)"), query("SEQ(A a, C b)")
    E = ReadableSaseEvaluator(q)
    E.push(events("A1 B1"))
    for wrong in (
        ReadableSaseEvaluator(other),
        ReadableSaseEvaluator(q, Reading(window="closed")),
        CompiledSaseEvaluator(q),
    ):
        with pytest.raises(InputError, match="another query"):
            wrong.restore(E.save())
    with pytest.raises(InputError, match="no saved state"):
        ReadableSaseEvaluator(q).restore(b"x")
    bare = pa.BufferOutputStream()
    with pa.ipc.new_stream(bare, pa.schema([("type", pa.string())])):
        pass
    with pytest.raises(InputError, match="damaged"):
        ReadableSaseEvaluator(q).restore(sealed(E, bytes(bare.getvalue())))
    with pytest.raises(InputError, match="read nothing"):
        E.restore(E.save())


def test_room_for_nodes_is_never_less_than_before() -> None:
    """More than half of it is needed at the next event, of a partition with 250 runs, and it is less than all."""
    memory = Memory(1)
    memory.head[0, 1], memory.numbers[op.NEEDED] = 250, op.ROOM_FOR_NODES
    before = len(memory.nodes)
    memory.make_room(0)
    assert before < 4 * (3 * 250 + 4) == len(memory.nodes)


def test_at_the_end_there_is_no_state() -> None:
    """Found by a trial: what was restored was not at its end, and found the last matches again."""
    E = cerify.compile("PATTERN SEQ(A a, ~B b) WITHIN 5 seconds", language="sase")
    E.push([Event("A", {"time": 1})])
    assert len(E.finish()) == 1
    with pytest.raises(InputError, match="the stream of this evaluator is finished"):
        E.save()
    assert copy.copy(E).finished


def test_after_an_error_inside_a_batch_there_is_no_state() -> None:
    E = ReadableSaseEvaluator(
        query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { a[i].x > sum(a[..i-1].x) }"), Reading(), Budget(states=5)
    )
    with pytest.raises(BudgetExceeded):
        E.push(Stream(Event("A", {"x": 2**n}) for n in range(20)))
    for use in (E.save, lambda: E.push(events("A1"))):
        with pytest.raises(InputError, match="inside an earlier batch"):
            use()


@pytest.mark.parametrize("text", ["RETURN NON-OVERLAP a.x", "RETURN a.x UNION PATTERN SEQ(B a) RETURN a.x"])
def test_what_needs_the_whole_stream_is_unsupported(text: str) -> None:
    q = parse(f"PATTERN SEQ(A a) {text}")
    for class_ in CLASSES:
        with pytest.raises(Unsupported, match="collect the stream"):
            class_(q)


def test_compile_makes_them_and_falls_back_on_the_definition() -> None:
    block = "PATTERN SEQ(A a, B b) RETURN a.x"
    assert isinstance(cerify.compile(block, language="sase"), ReadableSaseEvaluator)
    assert isinstance(cerify.compile(block, language="sase", evaluator="kernel"), CompiledSaseEvaluator)
    whole = cerify.compile("PATTERN SEQ(A a, B b) RETURN NON-OVERLAP a.x", language="sase")
    assert not isinstance(whole, BlockEvaluator)
    assert whole.push(events("A1 B1")) + whole.finish() != []
    with pytest.raises(Unsupported, match="consume nothing"):
        cerify.compile(block, language="sase", evaluator="automaton", consumption="any")
