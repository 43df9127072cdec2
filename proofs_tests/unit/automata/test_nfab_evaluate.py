"""The evaluators of SASE+ agree with the runs and with the definition, whatever comes; what they keep is bounded."""

import copy
import pickle
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise, product
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import cerify
from cerify.api import match
from cerify.automata.nfab import compiled, evaluate, evaluators, moves
from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.compiled import CompiledBlockRunner, Memory
from cerify.automata.nfab.evaluate import BlockRunner, ascend
from cerify.automata.nfab.evaluators import SPARE, BlockEvaluator, CompiledSaseEvaluator, ReadableSaseEvaluator
from cerify.conformance.cases import load
from cerify.equivalence.generate.sase import PER_EVENT, PROFILES, case
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import Bindings, Event, Match, Stream
from cerify.semantics.json_events import schema_of_json, stream_of_json
from cerify.semantics.readings import DECIDED, Operation, Reading
from cerify.semantics.sase import denote, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import blocks_of, queries_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.values import Value
from proofs_tests.campaigns.sase import compiled_bindings
from proofs_tests.claims import sase_by_cel
from proofs_tests.support import sampled, sealed, vary_reading
from proofs_tests.unit.semantics.sase_cases import events, query

# ---- evaluate ----
#

OTHERS = [reading for (name, _), reading in vary_reading(DECIDED).items() if name != "non_overlap"]
ALIKE = replace(PER_EVENT, strategies=("skip_till_any_match", "strict_contiguity"), mixed=0.0, default=0.0, cut=0.1)


def cases(seed: int, number: int) -> Iterator[tuple[sase.SaseQuery, Stream, Reading]]:
    """Queries of all profiles, half of them under another reading; some streams are not in the order of time."""
    rng = Random(seed)
    for _ in range(number):
        q, S = case(rng, rng.choice(list(PROFILES.values())), 10, 10)
        if rng.random() < 0.1:
            S = Stream(rng.sample(S.events, len(S)), S.schema)
        yield q, S, rng.choice([*OTHERS, *[Reading()] * len(OTHERS)])


@pytest.mark.parametrize("number", sampled([200, 500], [200]))
def test_the_evaluator_agrees_with_the_runs(number: int) -> None:
    found = 0
    for q, S, reading in cases(1, number):
        expected = moves.bindings(q, S, reading)
        found += bool(expected)
        assert evaluate.bindings(q, S, reading) == expected
        assert evaluate.count(q, S, reading) == len(expected)
    assert found > 0.4 * number


@pytest.mark.parametrize("number", sampled([150, 300], [150]))
def test_the_evaluator_agrees_with_the_definition(number: int) -> None:
    for q, S, reading in cases(2, number):
        assert evaluate.bindings(q, S, reading) == denote.bindings(q, S, reading)


@pytest.mark.parametrize("number", sampled([150, 300], [150]))
def test_each_match_is_handed_out_once_and_some_are_some_of_all(number: int) -> None:
    for q, S, reading in cases(3, number):
        E = BlockRunner(q, reading, ordered=False)
        found = [M for event in S for M in E.push(event)] + E.finish()
        assert len(found) == len(set(found))
        some = evaluate.first(q, S, 3, reading)
        assert len(some) == min(3, len(found))
        assert set(some) <= set(found)


@pytest.mark.parametrize(("number", "least"), [(50, 1), pytest.param(350, 30, marks=pytest.mark.thorough)])
def test_the_compiled_loops_agree_with_the_evaluator(number: int, least: int) -> None:
    found = negated = 0
    for q, S, reading in cases(4, number):
        expected = evaluate.bindings(q, S, reading)
        found += bool(expected)
        negated += any(k.negated for k in q.pattern)
        assert compiled_bindings(q, S, reading) == expected
    assert found > 0.4 * number
    assert negated > least


@pytest.mark.parametrize("part", sampled(range(8), [3]))
def test_the_compiled_loops_take_every_case_of_the_suites(part: int) -> None:
    blocks = 0
    for one in [one for one in load(None) if one.language == "sase"][part::8]:
        S = stream_of_json(one.events, schema_of_json(one.schema) if one.schema is not None else None, one.id)
        for q in (q for tree in queries_of(LANGUAGES["sase"].syntax.parse(one.query)) for q in blocks_of(tree)):
            if q.source in (None, sase.INPUT_STREAM):
                blocks += 1
                assert compiled_bindings(q, S) == evaluate.bindings(q, S)
    assert blocks > 100


@pytest.mark.parametrize("number", sampled([200, 500], [200]))
def test_the_compiled_loops_take_times_in_any_order_and_events_without_one(number: int) -> None:
    rng, found = Random(15), 0
    for q, S, reading in cases(15, number):
        if q.within is not None:
            times = [rng.choice((rng.randint(0, 6), rng.randint(0, 6) + 0.5, None)) for _ in S]
            late = Stream(
                Event(e.type, {n: v for n, v in {**e.attributes, "time": time}.items() if v is not None})
                for e, time in zip(S, times, strict=True)
            )
            expected = evaluate.bindings(q, late, reading)
            found += bool(expected)
            assert compiled_bindings(q, late, reading) == expected
    assert found > 0.08 * number


@pytest.mark.parametrize(
    ("where", "text"),
    [
        ("skip_till_any_match(a[], b) { b.y > min(a[].y) }", "A1/m B1/k A1/j B1/k B1/n"),
        ("skip_till_any_match(a[], b) { a[i].y > a[i-1].y and b.y < 'l' }", "A1/b A1/m A1/c B1/k B1/z A1/a A1/aa B1/l"),
        ("skip_till_any_match(a[], b) { b.y like '[jk].*' or b.x > a[1].x }", "A1/b A3 B1/jj B2/l B4"),
        ("skip_till_any_match(a[], b) { a[1].y like 'b.*' or b.x = sum(a[].y) }", "A1/b A1/c A1 B0/l B2/l"),
        ("skip_till_any_match(a[], b) { highest(2, a[].x) < b.x and lowest(3, a[].x) < 2 }", "A1 A3 A1 B3 A0 B2 A0 B4"),
        (f"skip_till_any_match(a[], b) {{ b.x > {'0 + (' * 20}a[1].x{')' * 20} }}", "A1 B1 A2 B2 B3"),
    ],
)
def test_conditions_that_the_loops_took_last(where: str, text: str) -> None:
    q, S = query(f"SEQ(A+ a[], B b) WHERE {where}"), events(text)
    expected = denote.bindings(q, S)
    assert expected
    assert len(expected) < len(denote.bindings(query("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { }"), S))
    assert compiled_bindings(q, S) == expected
    for cut in range(len(S)):
        E = CompiledBlockRunner(q)
        found = [E.bound(part) for part in (S.part(0, cut), S.part(cut, len(S) - cut))] + [E.bound_at_end()]
        assert {M for part in found for M in part} == expected


@pytest.mark.parametrize("number", sampled([80, 200], [80]))
def test_batches_are_the_stream(number: int) -> None:
    rng = Random(5)
    for q, S, reading in cases(5, number):
        cut = rng.randint(0, len(S))
        if q.within is not None and not ascend(S):
            continue
        E, expected = CompiledBlockRunner(q, reading), compiled_bindings(q, S, reading)
        found = sum(E.count(part) for part in (S.part(0, cut), S.part(cut, len(S) - cut)))
        assert found + E.finish_count() == len(expected)


@pytest.mark.parametrize("number", sampled([100, 2000], [100]))
def test_streams_that_are_read_together_have_the_matches_of_each_alone(number: int) -> None:
    rng, found, negated = Random(7), 0, 0
    for q, S, reading in cases(7, number):
        if not len(S):
            continue
        cuts = sorted({0, len(S), *(rng.randrange(len(S)) for _ in range(4))})
        parts = [S.part(a, b - a) for a, b in pairwise(cuts)][::-1]  # so that times go back from one to the next
        own = np.cumsum([0, *map(len, parts[:-1])])
        table = pa.concat_tables([part.table for part in parts], promote_options="default")
        together = CompiledBlockRunner(q, reading).match_streams(table, own)
        if isinstance(together, Unsupported):
            assert reading.stream_end == "waits" or not ascend(S) or "whole numbers" in together.message
            continue
        offsets = together.offsets.tolist()
        lists = [(together.labels[a:b].tolist(), together.events[a:b].tolist()) for a, b in pairwise(offsets)]
        variables = CompiledBlockRunner(q, reading).variables
        expected = [
            ([variables.index(v) for v, ps in M for _ in ps], [first + p for _, ps in M for p in ps])
            for first, part in zip(own.tolist(), parts, strict=True)
            for M in compiled_bindings(q, part, reading)
        ]
        assert sorted(lists) == sorted(expected)
        found += len(expected) > 1
        negated += any(k.negated for k in q.pattern)
    assert found > 0.1 * number
    assert negated > 0


@pytest.mark.parametrize("number", sampled([100, 250], [100]))
def test_cel_agrees_where_a_query_is_translated(number: int) -> None:
    rng, matched, counted = Random(6), 0, 0
    for _ in range(number):
        q, S = case(rng, ALIKE, 8, 9)
        reading = rng.choice([Reading(), Reading(last_kleene="every"), Reading(window="closed")])
        try:
            found = sase_by_cel.bindings(q, S, reading)
        except Unsupported:
            continue
        matched += bool(found)
        assert found == evaluate.bindings(q, S, reading)
        try:
            assert sase_by_cel.count(q, S, reading) == len(found)
        except Unsupported:  # a filter across events
            continue
        counted += bool(found)
    assert matched > 0.32 * number
    assert counted > 0.24 * number


def test_runs_become_one_only_if_what_they_will_read_is_the_same() -> None:
    """a[i-1].x is the last x now: it is no part of any condition yet, and will be."""
    q = query("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { a[i].y > a[i-1].x }")
    S = Stream([*(Event("A", {"x": x, "y": y}) for x, y in ((1, 5), (9, 5), (0, 7))), Event("B")])
    expected = moves.bindings(q, S)
    assert evaluate.bindings(q, S) == compiled_bindings(q, S) == expected
    assert {M[0][1] for M in expected} == {(0,), (1,), (2,), (0, 1), (0, 2)}


@pytest.mark.parametrize("absent", [None, float("nan")])
def test_an_event_without_the_value_of_a_partition_is_on_its_own(absent: float | None) -> None:
    q = query("SEQ(A a, B+ b[]) WHERE skip_till_next_match(a, b[]) { [y] }")
    values = [1.0, absent, absent, absent, 1.0]
    S = Stream(Event(t, {} if y is None else {"y": y}) for t, y in zip("ABABB", values, strict=True))
    expected = {(("a", (0,)), ("b", (4,)))}
    assert evaluate.bindings(q, S) == compiled_bindings(q, S) == moves.bindings(q, S) == expected


def test_a_variable_may_be_called_as_a_type() -> None:
    q, S = query("SEQ(A B, B B_) WHERE skip_till_any_match(B, B_) { }"), events("A1 B1 B1")
    assert sase_by_cel.bindings(q, S) == moves.bindings(q, S) == {(("B", (0,)), ("B_", (p,))) for p in (1, 2)}


MANY = "SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { a.x > 0 }"
LONG = events("A1@0 " + " ".join(f"B1@{t}" for t in range(1, 101)) + " C1@101")


def test_exponentially_many_matches_are_counted_and_limited() -> None:
    q = query(MANY)
    assert evaluate.count(q, LONG) == sase_by_cel.count(q, LONG) == 2**100 - 1
    assert len(evaluate.first(q, LONG, 5)) == len(sase_by_cel.first(q, LONG, 5)) == 5
    for find in (evaluate.bindings, sase_by_cel.bindings, compiled.bindings):
        with pytest.raises(BudgetExceeded):
            find(q, LONG, budget=Budget(matches=1000, states=1000))


def test_exponentially_many_runs_are_a_budget_error() -> None:
    q = query("SEQ(A+ a[], C c) WHERE skip_till_any_match(a[], c) { a[i].x > avg(a[..i-1].x) }")
    S = Stream(Event("A", {"x": 2.0 ** (t % 50) + t}) for t in range(100))
    for find in (evaluate.bindings, compiled_bindings):
        with pytest.raises(BudgetExceeded):
            find(q, S, budget=Budget(states=2000))


def rows(number: int) -> Stream:
    """Events a second from each other, of partitions that come and go."""
    rng = Random(7)
    return Stream(
        Event(rng.choice("ABC"), {"x": rng.randint(0, 9), "y": t // 10 + rng.randint(0, 3), "time": t})
        for t in range(number)
    )


WINDOWED = (
    "SEQ(A a, B+ b[], C c) WHERE skip_till_next_match(a, b[], c) { [y] and b[i].x >= avg(b[..i-1].x) } "
    "WITHIN 60 seconds"
)


@pytest.mark.parametrize("text", [WINDOWED, WINDOWED.replace("A a, B+", "A a, ~C d, B+")])
def test_what_is_kept_is_bounded_by_the_window(text: str) -> None:
    E = BlockRunner(query(text))
    kept = []
    for event in rows(3000):
        E.push(event)
        past = 0 if E.absences is None else len(E.absences.past.stored)
        kept.append((E.alive, len(E.starts), len(E.partitions), past))
    assert all(most < 200 for most in map(max, zip(*kept, strict=True)))
    assert E.alive == sum(len(table) for tables in E.partitions.values() for table in tables)


def test_what_the_compiled_loops_keep_is_bounded_by_the_window() -> None:
    E, S = CompiledBlockRunner(query(WINDOWED)), rows(60_000)
    for start in range(0, len(S), 5000):
        E.count(S.part(start, 5000))
    memory = E._memory
    assert max(map(len, (memory.runs, memory.nodes, memory.queue_times))) < 5000


@pytest.mark.parametrize("negated", ["", ", ~B n"])
def test_partitions_of_which_nothing_is_left_are_forgotten(negated: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from cerify.automata.nfab import programs

    monkeypatch.setattr(programs, "MOST_UNUSED", 50)
    S, q = rows(20_000), query(WINDOWED.replace(") WHERE", f"{negated}) WHERE", 1))
    E, whole = CompiledBlockRunner(q), CompiledBlockRunner(q)
    parts = [E.advance(S.part(start, 500)) for start in range(0, len(S), 500)]
    assert sum(part.num_rows for part in parts) == whole.count(S) > 0
    assert len(E._memory.head) < 500 < 1500 < len(whole._memory.head)


def test_times_that_go_back_are_an_error_of_a_batch_and_none_of_a_stream() -> None:
    q, S = query("SEQ(A a, B b) WITHIN 5 seconds"), events("A1@9 B1@3 B1@20")
    with pytest.raises(InputError, match="event 1"):
        BlockRunner(q).advance(S)
    with pytest.raises(Unsupported, match="sort the stream"):
        CompiledBlockRunner(q).advance(S)
    expected = {(("a", (0,)), ("b", (1,)))}
    assert compiled_bindings(q, S) == evaluate.bindings(q, S) == moves.bindings(q, S) == expected


def test_numbers_that_binary64_does_not_carry_are_refused_by_the_loops() -> None:
    q = query("SEQ(A a, B b) WHERE b.x > a.x")
    S = Stream([Event("A", {"x": 2**53}), Event("B", {"x": 2**53 + 1})])
    with pytest.raises(Unsupported):
        compiled_bindings(q, S)
    assert len(compiled.bindings(q, S)) == 1
    summed = query("SEQ(A+ a[], B b) WHERE strict_contiguity(a[], b) { b.x = sum(a[].x) }")
    big = Stream([Event("A", {"x": 2**52}), Event("A", {"x": 2**52}), Event("B", {"x": 0})])
    with pytest.raises(Unsupported):
        compiled_bindings(summed, big)
    multiplied = query("SEQ(A a, B b) WHERE b.x = a.x * a.x")
    with pytest.raises(Unsupported):
        compiled_bindings(multiplied, Stream([Event("A", {"x": 2**27 + 1}), Event("B", {"x": 0})]))


def test_aggregates_of_a_user_are_followed_event_by_event() -> None:
    q = query("SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { longest(a[].x) = b.x }")
    longest = {"longest": Operation([], lambda v: [v], lambda u, v: u + v, lambda u: max(u, default=None))}
    S = events("A1 A2 A1 B2 B1")
    expected = moves.bindings(q, S, operations=longest)
    assert evaluate.bindings(q, S, operations=longest) == compiled.bindings(q, S, operations=longest) == expected
    assert len(expected) == 7


def test_arrow_batches_are_read() -> None:
    S = rows(300)
    q = query(WINDOWED)
    batches = S.table.to_batches(max_chunksize=70)
    E, C = BlockRunner(q), CompiledBlockRunner(q)
    found: set[Bindings] = {M for batch in batches for M in E.advance(batch)} | set(E.finish())
    tables = pa.concat_tables([C.advance(batch) for batch in batches] + [C.finish()])
    assert found == evaluate.bindings(q, S) == moves.bindings(q, S)
    assert {tuple((v, tuple(row[v])) for v in "abc") for row in tables.to_pylist()} == found


@pytest.mark.parametrize(("text", "matched"), [("A@1 C@9", True), ("A@1 C@2", False), ("A@1 B@2 C@9", False)])
def test_a_negated_component_at_the_end_waits_for_an_event_behind_the_window(text: str, matched: bool) -> None:
    q = query("SEQ(A a, ~B b) WITHIN 3 seconds")
    found = evaluate.bindings(q, events(text), Reading(stream_end="waits"))
    assert found == ({(("a", (0,)),)} if matched else set())


@pytest.mark.parametrize("where", ["WHERE other(a[].x) > 1", "HAVING other(a[].x) > 1", "RETURN other(a[].x) AS o"])
def test_an_aggregate_that_is_not_registered_is_refused_before_any_event_is_read(where: str) -> None:
    q = parse(f"PATTERN SEQ(A+ a[]) {where}" + (" RETURN 1 AS one" if "RETURN" not in where else ""))
    with pytest.raises(Unsupported, match="other is not registered"):
        evaluators.matches_of(q, Stream([]), lambda *_: [])


@pytest.mark.parametrize("number", sampled([40, 100], [40]))
def test_having_and_composition_stand_on_any_finder(number: int) -> None:
    for q, S, _ in cases(8, number):
        expected = interpreter.matches_of(q, S, denote.bindings)
        for find in (moves.bindings, evaluate.bindings, compiled.bindings):
            assert evaluators.matches_of(q, S, find) == expected


def test_the_loop_is_compiled_for_one_kind_of_times() -> None:
    """A column of Arrow is a read-only array, and no times are none: the loop was compiled for each."""
    kernels = pytest.importorskip("cerify.automata.nfab.kernels")
    table = pa.table({"type": ["A", "B"], "time": [0.0, 1.0]})
    for text in ("PATTERN SEQ(A a, B b)", "PATTERN SEQ(A a, B b) WITHIN 5 seconds"):
        assert [(m.at, m.events) for m in match(text, table, language="sase", evaluator="kernel")] == [(1, (0, 1))]
    assert len(kernels.advance.signatures) <= 1


# ---- evaluators ----
# Query blocks behind the interface of all evaluators: batches are the stream, and a saved state continues it.

CLASSES: tuple[type[BlockEvaluator], ...] = (ReadableSaseEvaluator, CompiledSaseEvaluator)


def cases_evaluators(seed: int, number: int) -> Iterator[tuple[sase.SaseQuery, Stream, Reading, Random]]:
    """Queries of all profiles without NON-OVERLAP, half of them under another reading."""
    rng, readings = (
        Random(seed),
        [reading for (name, _), reading in vary_reading(DECIDED).items() if name != "non_overlap"],
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
    for q, S, reading, rng in cases_evaluators(11, number):
        cut, again = rng.randint(0, len(S)), rng.random() < 0.7
        got = in_batches(class_(q, reading), S, cut, again)
        expected = interpreter.matches_of(q, S, denote.bindings, reading)
        assert got == expected, (q, list(S), reading, cut, again)
        found += bool(got)
    assert found > 0.4 * number


@pytest.mark.parametrize("class_", CLASSES)
def test_counting_is_the_number_of_matches(class_: type[BlockEvaluator]) -> None:
    for q, S, reading, rng in cases_evaluators(12, 75):
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
        Unsupported, match=r"^the column x has values of the type int, but had no value in the first batch; .*"
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
    with pytest.raises(InputError, match="not a valid saved state"):
        ReadableSaseEvaluator(q).restore(b"x")
    bare = pa.BufferOutputStream()
    with pa.ipc.new_stream(bare, pa.schema([("type", pa.string())])):
        pass
    with pytest.raises(InputError, match="damaged"):
        ReadableSaseEvaluator(q).restore(sealed(E, bytes(bare.getvalue())))
    with pytest.raises(InputError, match="already read events"):
        E.restore(E.save())


def test_room_for_nodes_is_never_less_than_before() -> None:
    """More than half of it is needed at the next event, of a partition with 1,000 runs, and it is less than all."""
    memory = Memory(1)
    memory.head[0, 1], memory.numbers[op.NEEDED] = 1000, op.ROOM_FOR_NODES
    before = len(memory.nodes)
    memory.make_room(0)
    assert before < 4 * (3 * 1000 + 4) == len(memory.nodes)


def test_at_the_end_there_is_no_state() -> None:
    """Found by a trial: what was restored was not at its end, and found the last matches again."""
    E = cerify.compile("PATTERN SEQ(A a, ~B b) WITHIN 5 seconds", language="sase")
    E.push([Event("A", {"time": 1})])
    assert len(E.finish()) == 1
    with pytest.raises(InputError, match="this evaluator has finished its stream"):
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
    with pytest.raises(Unsupported, match="has no consumption"):
        cerify.compile(block, language="sase", evaluator="automaton", consumption="any")


# ---- move kernels ----
# Of several equivalence tests those that define the partition decide what partition contiguity may skip.


@pytest.mark.parametrize("tests", ["[x] and [y]", "_([y])_ and [x]", "[x] and _([y])_", "_([x])_ and _([y])_"])
def test_what_is_skipped_between_two_events_of_a_partition(tests: str) -> None:
    q = query(f"SEQ(A a, B b) WHERE partition_contiguity(a, b) {{ {tests} }}")
    for between in product("ABC", "12", "kl"):
        R, x, y = between
        S = events(f"A1/k {R}{x}/{y} B2/k B1/k")
        assert CompiledSaseEvaluator(q).push(S) == interpreter.matches_of(q, S, denote.bindings)


@pytest.mark.parametrize("number", sampled([150, 2_000], [150]))
def test_tables_and_numbers_of_matches_are_those_of_the_matches(number: int) -> None:
    """They make no objects: of each batch, and of a whole stream with its end."""
    rng, found = Random(12), 0
    for q, S, reading in cases(13, number):
        try:
            listing, tabulating, counting = (CompiledSaseEvaluator(q, reading) for _ in range(3))
            cut = rng.randint(0, len(S))
            for part in (S.part(0, cut), S.part(cut, len(S) - cut)):
                matches = listing.push(part)
                assert tabulating.push_arrow(part).equals(matches.to_arrow().select(["at", "events"]))
                assert counting.count(part) == len(matches)
                found += len(matches)
            expected = evaluators.matches_of(q, S, evaluate.bindings, reading)
        except (Unsupported, InputError):
            continue
        assert CompiledSaseEvaluator(q, reading).count_all(S) == len(expected)
    assert found > number / 4
