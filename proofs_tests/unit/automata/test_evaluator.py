"""The evaluator that is handed a stream in batches: batches do not matter, and neither does a stop in between."""

from __future__ import annotations

import gc
import json
import pickle
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace
from io import BytesIO
from itertools import count, islice, product
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerify
from cerify.api import compile
from cerify.api import count as count_api
from cerify.automata.evaluate import compiled, streaming, tables
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.parallel import ParallelEvaluator, shares_of
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluate.tables import CHUNK, SHORT, Enumeration, EventBatch, total
from cerify.automata.evaluator import Consumption
from cerify.equivalence.generate.cel import PROFILES
from cerify.languages import LanguageName
from cerify.plan import reach_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, QueryWarning, Unsupported
from cerify.semantics.events import Match, Stream
from cerify.semantics.files import read_stream
from proofs_tests.benchmarks.workloads import uniform
from proofs_tests.support import sampled, sealed, stream
from proofs_tests.unit.automata.exhaustive import scoped_case

# ---- evaluator ----
#

QUERY = "A ; B ; C PARTITION BY [k] WITHIN 300 EVENTS WITHIN 250 seconds"
MANY = 10_000  # matches that are asked for at once


def timed(events: int) -> pa.Table:
    """The uniform stream with a time, and a key of 20 values."""
    keys = pa.array(Random(events).choices("abcdefghijklmnopqrst", k=events))
    return uniform(events).table.append_column("time", pa.array(range(events), pa.int64())).append_column("k", keys)


def consuming(phi: Formula, S: Stream) -> list[Match]:
    """What consumption by ANY means, from the definition: after a match the stream begins anew."""
    interpreter, begin, found = Interpreter(S, Budget(valuations=50_000)), 0, []
    for n in range(len(S)):
        here = {Match(n, tuple(sorted({p for _, p in mu}))) for mu in interpreter.meaning(phi, begin, n)}
        found += sorted(here)
        begin = n + 1 if here else begin
    return found


@pytest.mark.parametrize("size", [1, 7, 300])
def test_batches_do_not_matter(size: int) -> None:
    table, phi = timed(600), parse(QUERY)
    evaluator = CompiledCelEvaluator(phi, output="valuations")
    parts = [evaluator.push(batch) for batch in table.to_batches(max_chunksize=size)]
    assert [m for part in parts for m in part] == streaming.matches(phi, Stream.from_table(table), "valuations")


@pytest.mark.parametrize("query", ["A+ ; B WITHIN 9 EVENTS", "(A ; B)+ ; C WITHIN 15 EVENTS", QUERY])
def test_nothing_is_lost_when_old_nodes_are_let_go(query: str) -> None:
    """With no room left after a batch the next one begins by closing the gaps."""
    table, phi = timed(1500), parse(query)
    evaluator, found = CompiledCelEvaluator(phi), []
    for batch in table.to_batches(max_chunksize=30):
        found += evaluator.push(batch)
        evaluator.store.tree = evaluator.store.tree[: evaluator.store.nodes].copy()
    assert found == streaming.matches(phi, Stream.from_table(table))
    assert evaluator.store.nodes < 2000


@pytest.mark.parametrize("cases", sampled([60, 150], [60]))
@pytest.mark.parametrize("consume", Consumption)
def test_random_formulas_in_random_batches_saved_in_between(consume: Consumption, cases: int) -> None:
    compared = 0
    for i in range(cases):
        rng = Random(f"evaluator/{i}")
        phi, S = scoped_case(rng, PROFILES["everything" if i % 2 else "core"])
        try:
            expected = consuming(phi, S) if consume is Consumption.ANY else streaming.matches(phi, S)
            evaluator = CompiledCelEvaluator(phi, consumption=consume)
            cut = rng.randint(0, len(S))
            found = evaluator.push_stream(S.part(0, cut))
            if i % 4 == 0:  # as the file costs more than the rest
                file = evaluator.save()
                evaluator = CompiledCelEvaluator(phi, consumption=consume)
                evaluator.restore(file)
            found += evaluator.push_stream(S.part(cut, len(S) - cut))
        except (BudgetExceeded, Unsupported, InputError):
            continue
        assert found == expected, (show(phi), S.events)
        compared += bool(expected)
    assert compared > 40 * cases / 150


@pytest.mark.parametrize("query", [QUERY, "A ; B ; C WITHIN 20 EVENTS", "A : B"])
@pytest.mark.parametrize("consume", Consumption)
def test_evaluators_of_one_automaton_read_streams_of_their_own(query: str, consume: Consumption) -> None:
    """They take turns, and each meets types of events that others have met before it, or not yet."""
    first = CompiledCelEvaluator(parse(query), output="valuations", consumption=consume)
    rng, tables = Random(query), [timed(events) for events in (300, 450, 600)]
    alone = [
        CompiledCelEvaluator(parse(query), output="valuations", consumption=consume).push(table) for table in tables
    ]
    assert all(len(matches) > 2 for matches in alone)
    first.push(timed(5))
    evaluators, found = [first.fresh() for _ in tables], [list[Match]() for _ in tables]
    for start in range(0, 600, 30):
        for i in rng.sample(range(3), 3):
            found[i] += evaluators[i].push(tables[i].slice(start, 30))
            if start == 120 and i == 0:
                file = evaluators[0].save()
                evaluators[0] = first.fresh()
                evaluators[0].restore(file)
    assert found == alone
    assert [E.automaton is first.automaton for E in evaluators] == [False, True, True]


def test_a_type_that_another_evaluator_has_met_changes_no_answer_and_no_saved_state() -> None:
    one = CompiledCelEvaluator(parse("A ; B ; C"))
    other = one.fresh()
    assert one.push_stream(stream("A B")) == []
    assert len(other.push_stream(stream("A B A B C"))) == 3
    assert one.tables.final.size < other.tables.final.size
    file = one.save()
    again = one.fresh()
    again.restore(file)
    assert again.push_stream(stream("C")) == one.push_stream(stream("C")) == [Match(2, (0, 1, 2))]


def test_any_starts_anew_after_a_match_and_none_does_not() -> None:
    S = stream("A A B B A B")
    assert CompiledCelEvaluator(parse("A ; B"), consumption="any").push_stream(S) == [
        Match(2, (0, 2)),
        Match(2, (1, 2)),
        Match(5, (4, 5)),
    ]
    assert len(CompiledCelEvaluator(parse("A ; B")).push_stream(S)) == 2 + 2 + 3
    assert CompiledCelEvaluator(parse("START(A ; B)"), consumption="any").push_stream(stream("A B A C B")) == [
        Match(1, (0, 1)),
        Match(4, (2, 4)),
    ]


@pytest.mark.parametrize("options", [{"output": "x"}, {"consumption": "all"}])
def test_what_is_asked_for_has_to_be_there(options: dict[str, Any]) -> None:
    with pytest.raises(IllFormed, match="there is no"):
        CompiledCelEvaluator(parse("A ; B"), **options)


def test_a_limit_holds_for_a_batch_and_loses_no_event() -> None:
    table, phi = timed(2000), parse("A ; B ; C WITHIN 60 EVENTS")
    evaluator, whole = CompiledCelEvaluator(phi), CompiledCelEvaluator(phi).push(table)
    first = evaluator.push(table.slice(0, 1000), limit=5)
    assert len(set(first)) == 5
    assert set(first) < set(whole)
    assert evaluator.push(table.slice(1000), limit=0) == []
    other = CompiledCelEvaluator(phi)
    assert set(other.push(table.slice(0, 1000), limit=3)) < set(first)
    assert other.push(table.slice(1000)) == [m for m in whole if m.at >= 1000]


def test_a_limit_counts_the_matches_of_all_chunks() -> None:
    limit = CHUNK + CHUNK // 2
    assert CompiledCelEvaluator(parse("A+ ; B")).push_arrow(stream("A " * 16 + "B"), limit).num_rows == limit


@pytest.mark.parametrize("limit", [-1, 1.5, True, "3"])
@pytest.mark.parametrize(
    "options", [{"evaluator": "automaton"}, {"evaluator": "kernel"}, {"evaluator": "kernel", "workers": 2}]
)
def test_a_limit_that_is_none_is_refused(options: dict[str, Any], limit: Any) -> None:
    evaluator = cerify.compile("A ; B", **options)
    for push in (evaluator.push, evaluator.push_arrow):
        with pytest.raises(IllFormed, match="limit: expected a whole number of at least 0, not "):
            push(stream("A B"), limit)
    assert evaluator.count(stream("A B")) == 1


def test_after_its_end_no_stream_goes_on() -> None:
    evaluator = CompiledCelEvaluator(parse("A ; B"))
    assert evaluator.push(stream("A")) + evaluator.finish() == []
    for use in (evaluator.finish, lambda: evaluator.push(stream("B"))):
        with pytest.raises(InputError, match="finished"):
            use()


@pytest.mark.parametrize(("query", "nodes"), [("A ; B", 3), ("A ; B WITHIN 9 EVENTS", 4)])
def test_what_an_evaluator_has_done_is_counted_since_it_was_restored(query: str, nodes: int) -> None:
    """A node for each event with a mark, and in a window one for each union."""
    first = CompiledCelEvaluator(parse(query))
    first.push(stream("A A B"))
    assert (first.counters.events, first.counters.nodes) == (3, nodes)
    again = first.fresh()
    again.restore(first.save())
    assert (again.counters.events, again.counters.nodes) == (0, 0)


def test_a_buffer_that_is_too_short_grows_at_the_last_of_many_sets() -> None:
    lengths = []

    def kernel(roots: Any, r: int, tree: Any, path: Any, *_: Any) -> tuple[int, int]:
        """Whatever is in the last of the sets needs a path of 3000."""
        lengths.append(len(path))
        assert len(lengths) < 5
        return (9, 0) if len(path) < 3000 else (10, 1)

    roots, tree = np.zeros((10, 4), np.int64), np.zeros(1, np.dtype([("event", "<i8")]))
    assert len(list(Enumeration(labelled=False).match_batches(kernel, roots, tree))) == 1
    assert lengths == [1024, 2048, 4096]


def test_without_numba_the_compiled_evaluator_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cerify.automata.evaluate.match_stores", None)
    for window in ("", " WITHIN 3 EVENTS"):
        with pytest.raises(Unsupported, match=r"needs numba: pip install 'cerify\[fast\]'"):
            CompiledCelEvaluator(parse("A ; B" + window))


def test_arrow_lists_hold_the_same_matches() -> None:
    table, phi = timed(1500), parse(QUERY)
    listed = CompiledCelEvaluator(phi).push_arrow(table)
    assert listed.schema == pa.schema({"at": pa.int64(), "events": pa.large_list(pa.int64())})
    rows = zip(listed["at"].to_pylist(), listed["events"].to_pylist(), strict=True)
    assert sorted(Match(at, tuple(events)) for at, events in rows) == CompiledCelEvaluator(phi).push(table)
    assert CompiledCelEvaluator(phi).count(table) == listed.num_rows > 100


def test_what_is_kept_is_bounded_by_the_window() -> None:
    """The arrays are as long after 400,000 events as after 100,000."""
    S, evaluator = uniform(100_000), CompiledCelEvaluator(parse("A ; B ; C WITHIN 1000 EVENTS"))
    kept = []
    for _ in range(4):
        for _ in evaluator.advance(S):
            pass
        kept.append(evaluator.store.tree.size)
    assert evaluator.position == 400_000
    assert kept[0] == kept[-1] <= 65_536
    assert len(evaluator.store.arrays["rows"]) == 1  # as there is one key


def test_too_many_matches_stop_the_evaluator_for_good() -> None:
    evaluator = CompiledCelEvaluator(parse("A+ ; B WITHIN 100 EVENTS"), budget=Budget(matches=1000))
    S = stream("A " * 60 + "B")
    with pytest.raises(BudgetExceeded):
        evaluator.push_stream(S)
    with pytest.raises(InputError, match="inside an earlier batch"):
        evaluator.push_stream(S)
    with pytest.raises(InputError, match="inside an earlier batch"):
        evaluator.save()


def test_a_bad_batch_changes_nothing() -> None:
    table, phi = timed(600), parse("A ; B WITHIN 20 seconds")
    evaluator, whole = CompiledCelEvaluator(phi), CompiledCelEvaluator(phi).push(table)
    first = evaluator.push(table.slice(300, 200))
    for bad in (table.slice(0, 10), table.drop_columns(["type"])):
        with pytest.raises(InputError):
            evaluator.push(bad)
    after = evaluator.push(table.slice(500))
    shifted = [Match(m.at + 300, tuple(e + 300 for e in m.events)) for m in first + after]
    assert shifted == [m for m in whole if m.events[0] >= 300]


def saved(path: Path, **changes: Any) -> Path:
    """A saved state, with some of its arrays replaced."""
    evaluator = CompiledCelEvaluator(parse(QUERY))
    evaluator.push(timed(900))
    path.write_bytes(evaluator.save())
    if changes:
        path.write_bytes(repacked(evaluator, changes))
    return path


def repacked(evaluator: CompiledCelEvaluator, changes: dict[str, Any]) -> bytes:
    """A saved state with the right checksum, some of its arrays replaced."""
    file = BytesIO()
    np.savez(file, **(dict(np.load(BytesIO(evaluator.dump()))) | changes))
    return sealed(evaluator, file.getvalue())


def test_a_state_is_of_one_query_and_one_way_to_run_it(tmp_path: Path) -> None:
    path = saved(tmp_path / "state.npz")
    CompiledCelEvaluator(parse(QUERY)).restore(path.read_bytes())
    others = (
        CompiledCelEvaluator(parse(QUERY.replace("300", "301"))),
        CompiledCelEvaluator(parse(QUERY.replace("[k]", "[b]"))),
        CompiledCelEvaluator(parse(QUERY.replace("C", "D"))),
        CompiledCelEvaluator(parse(QUERY), consumption="any"),
        CompiledCelEvaluator(parse(QUERY), output="valuations"),
    )
    for other in others:
        with pytest.raises(InputError, match="another query"):
            other.restore(path.read_bytes())
    used = CompiledCelEvaluator(parse(QUERY))
    used.push(timed(10))
    with pytest.raises(InputError, match="already read events"):
        used.restore(path.read_bytes())


def test_no_file_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "empty.npz").write_bytes(b"")
    (tmp_path / "text.npz").write_text("no state")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text.npz", "other.npz", "empty.npz"):
        with pytest.raises(InputError, match="not a valid saved state"):
            CompiledCelEvaluator(parse(QUERY)).restore((tmp_path / name).read_bytes())
    evaluator = CompiledCelEvaluator(parse(QUERY))
    evaluator.push(timed(900))
    good = dict(np.load(BytesIO(evaluator.dump())))
    nodes, rows = good["tree"].size, good["rows"]
    elsewhere, too_long = rows.copy(), rows.copy()
    elsewhere[rows[:, :, 0] >= 0, 0] = 10**6
    too_long[:, :, 1] = 99
    damages = {
        "rows": [np.where(rows > 0, nodes, rows), elsewhere, too_long, rows[:, :1], rows.astype(np.int64)],
        "slot": [np.zeros_like(good["slot"]), good["slot"] + 99],
        "first": [np.full_like(good["first"], -1)],
        "keys": [good["keys"] + 1],
        "counters": [good["counters"] + 1, good["counters"] + np.array([0, 99, 0, 0, 0])],
        "step": [good["step"] + 1],
        "header": [np.frombuffer(good["header"].tobytes().replace(b'"types"', b'"typos"'), np.uint8)],
        "tree": [
            *trees(good["tree"], {"left": nodes}, {"right": 10**6}, {"right": -77}, {"event": 10**9}),
            good["tree"]["event"],
            good["tree"][:-1],
        ],
    }
    for name, array in [(name, array) for name, arrays in damages.items() for array in arrays]:
        with pytest.raises(InputError, match="damaged"):
            CompiledCelEvaluator(parse(QUERY)).restore(repacked(evaluator, {name: array}))


def trees(tree: np.ndarray[Any, Any], *changes: dict[str, int]) -> list[np.ndarray[Any, Any]]:
    """Copies of the nodes with some fields the same everywhere."""
    found = []
    for change in changes:
        found.append(tree.copy())
        for name, value in change.items():
            found[-1][name] = value
    return found


def test_no_file_of_lists_is_trusted() -> None:
    """A list that leads round in a circle would keep the loops busy for ever."""
    phi = parse("A+ ; B ; C")
    evaluator = CompiledCelEvaluator(phi, "valuations")
    evaluator.push(timed(60))
    saved, good = evaluator.fresh(), dict(np.load(BytesIO(evaluator.dump())))
    saved.restore(evaluator.save())
    nodes = good["tree"].shape[1]
    restored = saved.fresh()
    restored.restore(evaluator.save())
    assert restored.push(timed(30)) == evaluator.push(timed(30))
    rows = {"position": 0, "child": 1, "next": 2, "label": 3}
    damages: dict[str, list[Any]] = {
        "refs": [np.full_like(good["refs"], nodes), np.full_like(good["refs"], -1), good["refs"][:1]],
        "runs": [good["runs"] - 10**6],
        "eras": [np.array([[0, 5]]), np.array([[1, 0]]), np.array([[0, 0], [nodes + 1, 2**31]]), good["eras"][:0]],
        "tree": [good["tree"][:3], good["tree"].astype(np.int64), good["tree"][:, :0]],
    }
    for row, value in [
        ("position", 60), ("position", -1), ("child", nodes), ("child", 5), ("child", ~5), ("child", 0), ("next", 5),
        ("next", ~5), ("next", -1), ("label", -1), ("label", 9),
    ]:  # fmt: skip
        tree = good["tree"].copy()
        tree[rows[row], 5] = value
        damages["tree"].append(tree)
    for name, array in [(name, array) for name, arrays in damages.items() for array in arrays]:
        with pytest.raises(InputError, match="damaged"):
            saved.fresh().restore(repacked(saved, {name: array}))


def test_a_union_leads_to_a_list() -> None:
    """Lists that meet: a union without children is none, and its children are no union of nothing."""
    evaluator = CompiledCelEvaluator(parse("((A : B) OR (A ; C)) ; D"))
    evaluator.push(timed(60))
    good = dict(np.load(BytesIO(evaluator.dump())))["tree"]
    union = int(np.flatnonzero(good[2] < 0)[0])
    for child in (0, -2):
        tree = good.copy()
        tree[1, union] = child
        with pytest.raises(InputError, match="damaged"):
            evaluator.fresh().restore(repacked(evaluator, {"tree": tree}))


def test_positions_past_31_bits_are_found_again() -> None:
    """A node has the last 31 bits of a position; nodes from before and after each step of 2^31 are in one match."""
    E = CompiledCelEvaluator(parse("A ; B ; C"))
    E.push(stream("A B C"))
    transitions, classes = E.transitions, E.classes(stream("A B C A B C"))
    found = set()
    for bases in [(0, 2**31 - 3), (2**31 - 3, 2**31 + 3), (2**31 - 5, 3 * 2**31 - 2), (5 * 2**31 - 1, 2**40)]:
        for closed_up in (False, True):
            store = E.fresh().store
            store.resize(transitions.skip.shape[1], 1)
            for base in bases:
                batch = replace(EventBatch.of_classes(classes), base=base)
                for roots in store.advance(batch, transitions):
                    for matches in store.match_batches(roots, False):
                        found |= {tuple(row) for row in (matches.events.reshape(-1, 3) - bases[0]).tolist()}
                if closed_up:
                    store.compact(0)
            step = bases[1] - bases[0]
            a, b, c = ({at, at + 3, at + step, at + 3 + step} for at in range(3))
            assert found == {(x, y, z) for x in a for y in b for z in c if x < y < z}
            assert (np.diff(store.positions[1:]) >= 0).all()
            found.clear()


STUBBORN = [
    "(A ; B) UNLESS C",
    "NXT(A ; B)",
    "LAST(A ; B+)",
    "MAX(A+ ; B)",
    "STRICT(A ; B)",
    "A ; (B ALL C)",
    "PROJECT[A](A ; B)",
    "((A : B) OR (A ; C)) ; D",
]


@pytest.mark.parametrize("query", STUBBORN)
@pytest.mark.parametrize("window", ["", " WITHIN 30 EVENTS"])
def test_events_of_other_keys_act_on_all_runs(query: str, window: str) -> None:
    """Where runs move on what they skip, those of all keys move together, and meet."""
    rng = Random(1)
    keyed = pa.table({"type": rng.choices("AABBBCDD", k=150), "k": rng.choices("xxxy", k=150)})
    phi = parse(f"({query}) PARTITION BY [k]{window}")
    expected = streaming.matches(phi, Stream.from_table(keyed))
    evaluator = CompiledCelEvaluator(phi)
    parts = [evaluator.push(batch) for batch in keyed.to_batches(max_chunksize=37)]
    assert [m for part in parts for m in part] == expected
    assert expected


@pytest.mark.parametrize(
    "query", ["A ; B WITHIN 500 EVENTS PARTITION BY [k]", "STRICT(A ; B) PARTITION BY [k]", "A : B PARTITION BY [k]"]
)
def test_keys_that_are_done_make_room_for_others(query: str) -> None:
    """60,000 keys one after another, four events each; what is kept is that of one batch and one window."""
    n = 240_000
    types, keys = pa.array(["A", "N", "B", "N"] * (n // 4)), np.arange(n) // 4
    evaluator, sizes, found = CompiledCelEvaluator(parse(query)), [], 0
    for start in range(0, n, 4000):
        found += evaluator.count(pa.table({"type": types.slice(start, 4000), "k": keys[start : start + 4000]}))
        sizes.append((len(evaluator.keys.numbers[("number",)]), *(a.nbytes for a in evaluator.store.arrays.values())))
    assert found == (n // 4 if query.startswith("A ;") else 0)
    assert evaluator.keys.size <= 4096
    assert max(size[0] for size in sizes) <= 4096
    assert max(sum(size) for size in sizes[30:]) <= 1.2 * max(sum(size) for size in sizes[:30])


def test_numbers_of_keys_are_used_again_inside_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a key had the number of may belong to another one when the key comes back."""
    monkeypatch.setattr(compiled, "PIECE", 40)
    monkeypatch.setattr(compiled, "KEYS", 8)
    rng = Random(5)
    keys = pa.array([rng.randrange(30) + 30 * (i // 200 % 2) for i in range(2000)])
    table, phi = uniform(2000).table.append_column("k", keys), parse("A ; B PARTITION BY [k] WITHIN 60 EVENTS")
    evaluator = CompiledCelEvaluator(phi)
    assert evaluator.push(table) == streaming.matches(phi, Stream.from_table(table))
    assert evaluator.keys.size < 400


def test_without_a_window_what_leads_nowhere_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "NODES_AT_FIRST", 8192)
    table, evaluator = uniform(100_000).table, CompiledCelEvaluator(parse("A : B : C"))
    found = evaluator.push(table)
    assert evaluator.store.tree.shape[-1] <= 8192
    assert found == streaming.matches(parse("A : B : C"), Stream.from_table(table))


@pytest.mark.parametrize("query", ["A ; B ; C", "(A+ ; B)+ ; C", "(A OR B) : (B OR C)", "A ; (B : C)"])
def test_nothing_is_lost_when_lists_are_closed_up(query: str) -> None:
    table, phi = uniform(160).table, parse(query)
    phi = parse(f"({query}) FILTER A[a < 60]") if "+" in query else phi
    evaluator, found = CompiledCelEvaluator(phi), 0
    expected = list(streaming.count_matches(phi, Stream.from_table(table)))
    for batch in table.to_batches(max_chunksize=20):
        found += evaluator.push_arrow(batch, MANY).num_rows
        evaluator.store.compact(0)
    assert found == sum(min(MANY, sum(expected[i : i + 20])) for i in range(0, len(expected), 20))
    evaluator, ats = CompiledCelEvaluator(phi), []
    for batch in table.to_batches(max_chunksize=20):
        ats += list(evaluator.numbers(Stream.from_table(pa.Table.from_batches([batch]))))
        evaluator.store.compact(0)
    assert dict(ats) == {n: number for n, number in enumerate(expected) if number}


def test_counting_goes_on_past_every_machine_word() -> None:
    """Runs of 100 each, counted batch by batch; what only lists have seen cannot be counted on from there."""
    phi, S = parse("A+ ; B"), stream("A " * 99 + "B")
    evaluator = CompiledCelEvaluator(phi)
    total = sum(evaluator.count(S) for _ in range(3))
    assert total == sum(2 ** (99 * i) - 1 for i in (1, 2, 3))
    assert len(evaluator.push_stream(stream("B"), limit=2)) == 2
    with pytest.raises(BudgetExceeded, match="from the first batch"):
        evaluator.count(S)


def test_runs_that_a_batch_ends_are_not_counted_with_the_next() -> None:
    """The count of the second batch passes a machine word, so that it is made again from where the first ended."""
    evaluator = CompiledCelEvaluator(parse("(A : B) OR (C+ ; D)"))
    assert evaluator.count(stream("A N")) == 0
    assert evaluator.count(stream("B " + "C " * 70 + "D")) == 2**70 - 1


def test_counting_in_a_window_goes_on_past_every_machine_word() -> None:
    """Twice as many as there are nonempty sets of A's; the first count outgrows the loop's stack as well."""
    evaluator = CompiledCelEvaluator(parse("A+ ; B WITHIN 2500 EVENTS"))
    assert evaluator.count(stream("A " * 2000 + "B B")) == 2 * (2**2000 - 1)


def test_numbers_add_up_past_a_machine_word() -> None:
    assert total(np.array([2**62 + 1, 2**62, 2**62 - 1, 2**31])) == 3 * 2**62 + 2**31
    assert total(np.array([2**70, 1], object)) == 2**70 + 1
    assert total(np.zeros(0, np.int64)) == 0


def test_a_state_that_ends_what_is_known_may_lead_on_with_what_is_not() -> None:
    """After A ; B nothing follows among the classes seen so far; C comes with the next batch only."""
    evaluator = CompiledCelEvaluator(parse("(A ; B) OR (A ; (B : C))"))
    assert evaluator.push_stream(stream("A B")) == [Match(1, (0, 1))]
    assert evaluator.push_stream(stream("C")) == [Match(2, (0, 1, 2))]


def test_room_for_more_nodes_has_nothing_of_what_stood_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A union has no floor of its own: whatever stands there is saved, and has to be right when it is restored."""
    from cerify.automata.evaluate.tables import enlarged

    monkeypatch.setattr(np, "empty", lambda size, kind: np.frombuffer(b"\xff" * size * kind.itemsize, kind).copy())
    tree = np.zeros(2, np.dtype([("event", "<i8"), ("floor", "<i8")]))
    assert not enlarged(tree, 2, 9).view(np.uint8).any()


# ---- states ----
# Saved states of evaluators: when they can be written, where they go, and what is refused.

BATCH = pa.table({"type": ["A", "B", "A", "B"], "time": [1, 2, 3, 4], "k": [1, 1, 2, 2]})


def restored(evaluator: CompiledCelEvaluator) -> CompiledCelEvaluator:
    """Another evaluator of the same automaton, from the saved state."""
    again = evaluator.fresh()
    again.restore(evaluator.save())
    return again


@pytest.mark.parametrize("window", ["", " WITHIN 3 EVENTS", " PARTITION BY [k]", " WITHIN 9 seconds PARTITION BY [k]"])
@pytest.mark.parametrize("batches", [[], [BATCH[:0]]])
def test_a_state_before_the_first_event_is_one_too(window: str, batches: list[pa.Table]) -> None:
    evaluator = CompiledCelEvaluator(parse("A ; B" + window))
    for batch in batches:
        evaluator.push(batch)
    assert restored(evaluator).push(BATCH) == evaluator.push(BATCH) != []


@pytest.mark.parametrize("window", ["", " WITHIN 9 seconds PARTITION BY [k]"])
@pytest.mark.parametrize("consumption", Consumption)
def test_a_pickled_evaluator_continues_where_it_was(window: str, consumption: Consumption) -> None:
    evaluator = CompiledCelEvaluator(parse("A ; B" + window), "valuations", consumption)
    evaluator.push(BATCH)
    for again in (pickle.loads(pickle.dumps(evaluator)), deepcopy(evaluator)):
        assert again.position == 4
        assert again.counters.events == 0
        assert again.push(BATCH[:0]) == []
        later = BATCH.set_column(1, "time", pa.array([5, 6, 7, 8]))
        assert again.push(later) == restored(evaluator).push(later) != []


def test_a_restored_evaluator_says_why_it_cannot_count_on() -> None:
    evaluator = CompiledCelEvaluator(parse("A+"))
    assert evaluator.count(pa.table({"type": ["A"] * 70})) == 2**70 - 1
    again = restored(evaluator)
    assert evaluator.count(pa.table({"type": ["A"]})) == 2**70
    with pytest.raises(BudgetExceeded, match="count from the first batch"):
        again.count(pa.table({"type": ["A"]}))


def headed(evaluator: CompiledCelEvaluator, **changes: Any) -> bytes:
    """A state whose arrays have some of their header replaced, or taken out where that is None."""
    arrays = dict(np.load(BytesIO(evaluator.dump())))
    header = json.loads(arrays["header"].tobytes()) | changes
    text = json.dumps({name: value for name, value in header.items() if value is not None}).encode()
    file = BytesIO()
    np.savez(file, **(arrays | {"header": np.frombuffer(text, np.uint8)}))
    return sealed(evaluator, file.getvalue())


@pytest.mark.parametrize(
    "changes",
    [{"types": None}, {"position": 10**30}, {"position": -1}, {"position": inf}, {"growth": [2, 10**30]}],
)
def test_no_header_is_trusted(changes: dict[str, Any]) -> None:
    evaluator = CompiledCelEvaluator(parse("A ; B"))
    evaluator.push(BATCH)
    evaluator.fresh().restore(headed(evaluator))
    with pytest.raises(InputError, match="damaged"):
        evaluator.fresh().restore(headed(evaluator, **changes))


@pytest.mark.parametrize("field", ["table", "unmarked", "nodes"])
def test_no_position_and_no_state_is_a_number_with_a_point(field: str) -> None:
    """The next batch ended in a TypeError."""
    evaluator = ReadableCelEvaluator(parse("A+ ; B"))
    evaluator.push(BATCH)
    state = json.loads(evaluator.dump())
    evaluator.fresh().restore(sealed(evaluator, json.dumps(state).encode()))
    numbers = {"table": state["table"][0][0], "unmarked": state["unmarked"], "nodes": state["nodes"][0]}[field]
    numbers[0] = float(numbers[0])
    with pytest.raises(InputError, match="damaged"):
        evaluator.fresh().restore(sealed(evaluator, json.dumps(state).encode()))


def test_a_file_packed_in_an_unknown_way_is_no_state() -> None:
    evaluator = CompiledCelEvaluator(parse("A ; B"))
    data = bytearray(evaluator.dump())
    data[data.index(b"PK\x01\x02") + 10] = 99  # how the first member is compressed
    with pytest.raises(InputError, match="damaged"):
        evaluator.fresh().restore(sealed(evaluator, bytes(data)))


def test_a_damaged_state_is_refused_without_words_of_numpy() -> None:
    """numpy advises to load unknown bytes with allow_pickle=True, which runs what they say."""
    evaluator = CompiledCelEvaluator(parse("A ; B"))
    for damaged in (b"", b"\x80\x04", evaluator.save()[:40]):
        with pytest.raises(InputError, match="not a valid saved state: another version wrote them, or"):
            evaluator.fresh().restore(damaged)
        with pytest.raises(InputError, match="damaged") as raised:
            evaluator.fresh().restore(sealed(evaluator, damaged))
        assert "allow_pickle" not in str(raised.value)


# ---- threads ----
# Evaluators of one automaton in several threads: what one of them meets must not get in the way of the others.


def test_threads_may_share_an_automaton() -> None:
    """Row by row, so that each thread meets new types of events while the others read theirs."""
    query = parse(" ; ".join(f"(A IN X{i} FILTER X{i}.t > {i})" for i in range(4)))
    rng = Random(0)
    tables = [pa.table({"type": ["A"] * 60, "t": rng.choices(range(j + 2), k=60)}) for j in range(8)]
    expected = [CompiledCelEvaluator(query).count(table) for table in tables]

    def counted(evaluator: CompiledCelEvaluator, table: pa.Table) -> int:
        return sum(evaluator.count(batch) for batch in table.to_batches(max_chunksize=1))

    for _ in range(10):
        first = CompiledCelEvaluator(query)
        with ThreadPoolExecutor(len(tables)) as pool:
            assert list(pool.map(counted, [first.fresh() for _ in tables], tables)) == expected


# ---- garbage ----
# What evaluators keep of a batch is given back with it, without the garbage collector.

QUERIES: list[tuple[LanguageName, str]] = [
    ("cel", "((A FILTER A[x > 45 and not y < 3]) ; B) WITHIN 4 EVENTS"),
    ("cel", "(A ; B) WITHIN 3 seconds"),
    ("cel", "((A IN X ; B IN Y) FILTER X.x = Y.x) WITHIN 4 EVENTS"),
    ("event-expression", "relative(A[x > 40], B)"),
    ("sase", "PATTERN SEQ(A a, B b) WHERE skip_till_next_match(a, b) { a.x > 40 } WITHIN 4 seconds RETURN a.x"),
]


def batches() -> Iterator[pa.Table]:
    """Parts of a stream, each long enough to be read by its columns."""
    for start in count(0, 2 * SHORT):
        times = range(start, start + 2 * SHORT)
        yield pa.table({"type": ["A", "B"] * SHORT, "x": times, "y": [time % 7 for time in times], "time": times})


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Nothing is collected unless a test asks for it, and then only what the test has made."""
    gc.collect()
    gc.freeze()
    gc.disable()
    yield
    gc.enable()
    gc.unfreeze()


@pytest.mark.usefixtures("uncollected")
def test_a_batch_is_in_no_cycle_of_references() -> None:
    """A cycle kept each batch, and what was computed of it, until Python looked for cycles: hundreds of megabytes."""
    cyclic = []
    for (language, query), evaluator in product(QUERIES, ("automaton", "kernel")):
        compiled = cerify.compile(query, language=language, evaluator=evaluator)
        for events in islice(batches(), 4):
            compiled.count(events)
        gc.collect()
        for events in islice(batches(), 4, 6):
            compiled.count(events)
        if gc.collect() > 0:
            cyclic.append((language, query, evaluator))
        gc.freeze()  # what this query has made is not looked at again, which takes long where much was made before
    assert cyclic == []


# ---- columns of files ----
# Of a file of Parquet an evaluator reads the columns that its query names, and messages know the others.


@pytest.fixture
def path(tmp_path: Path) -> Path:
    table = pa.table(
        {
            "hum": [1, 2, 3],
            "type": ["A", "B", "A"],
            "x": [1, None, 3],
            "k": [1, 1, 2],
            "time": [0, 1, 2],
            "large": pa.array([1, 2, 2**64 - 1], pa.uint64()),  # no value of ours
        }
    )
    pq.write_table(table, tmp_path / "stream.parquet")
    return tmp_path / "stream.parquet"


@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
def test_the_columns_of_the_query_alone_are_read(path: Path, evaluator: str) -> None:
    """One of the others has a value that no attribute can have."""
    seen: list[Stream] = []
    E = compile("(A ; B) FILTER A[x > 0] PARTITION BY [k] WITHIN 5 seconds", evaluator=evaluator)
    E.check = seen.append
    assert [m.events for m in E.push(path)] == [(0, 1)]
    assert seen[0].table.column_names == ["type", "x", "k", "time"]
    assert pa.types.is_dictionary(seen[0].table["type"].type)
    with pytest.raises(InputError, match="field 'large': 18446744073709551615 cannot be stored exactly"):
        read_stream(path).require_read()


def test_a_message_names_the_columns_that_were_not_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"type": ["A", "B"], "temp": [1, 2]}), tmp_path / "e.parquet")
    with pytest.warns(QueryWarning, match="A has no attribute 'tmp'; it has temp; did you mean temp"):
        compile("(A ; B) FILTER A[tmp > 0]", evaluator="kernel").push(tmp_path / "e.parquet")
    with pytest.raises(IllFormed, match="did you mean temp"):
        compile("(A ; B) FILTER A[tmp > 0]", evaluator="kernel", strict=True).push(tmp_path / "e.parquet")


def test_types_and_times_of_other_names(path: Path, tmp_path: Path) -> None:
    table = pq.read_table(path, columns=["hum", "type", "time"]).rename_columns(["hum", "kind", "at"])
    pq.write_table(table, tmp_path / "named.parquet")
    S = read_stream(tmp_path / "named.parquet", type_column="kind", time_column="at", attributes=frozenset({"time"}))
    assert S.table.column_names == ["type", "time"]
    assert Stream([{"type": "A", "time": 0}, {"type": "B", "time": 1}, {"type": "A", "time": 2}]) == S


# ---- parallel ----
# Several threads find what one finds, however the stream is divided.


def events(rows: int, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "type": pa.array(rng.choice(list("ABCX"), rows)),
            "k": pa.array(rng.integers(0, 5, rows), mask=rng.random(rows) < 0.1),
            "s": pa.array(rng.choice(["", "x", "yy", "z"], rows)),
            "x": pa.array(rng.integers(0, 9, rows)),
            "time": pa.array(np.cumsum(rng.integers(0, 3, rows))),
        }
    )


def divided(query: str, workers: int = 3, least: int = 4) -> ParallelEvaluator:
    return ParallelEvaluator(CompiledCelEvaluator(parse(query)), workers, reach_of(parse(query)), least)


PARALLEL_QUERIES = [
    "A ; B ; C WITHIN 7 EVENTS",
    "(A ; B+ ; C FILTER B[x > 4]) WITHIN 5 seconds",
    "A : B : C",
    "NXT(A ; B WITHIN 4 EVENTS)",
    "(A ; B ; C) PARTITION BY [k]",
    "(A ; B ; C) PARTITION BY [s]",
    "(A ; B) PARTITION BY [k] PARTITION BY [s]",
    "NXT(A ; B) PARTITION BY [k]",
    "(A : B OR C ; X) PARTITION BY [k]",
    "(A ; B) PARTITION BY [k] WITHIN 9 EVENTS",
    "PROJECT[A](A ; B) PARTITION BY [k]",
    "NXT(A ; B) WITHIN 6 EVENTS",
    "(A ; B) UNLESS (X : X : X : C)",
]


@pytest.mark.parametrize("query", PARALLEL_QUERIES)
def test_threads_find_what_one_finds(query: str) -> None:
    """Over batches, so that what a thread leaves behind is what the next batch needs."""
    table = events(200)
    seen = 0
    one, many, listed, counted = CompiledCelEvaluator(parse(query)), divided(query), divided(query), divided(query)
    for start, length in ((0, 50), (50, 1), (51, 0), (51, 69)):
        batch = table.slice(start, length)
        expected = one.push(batch)
        seen += len(expected)
        assert many.push(batch) == listed.push(batch) == expected
        assert counted.count(batch) == len(expected)
        many = pickle.loads(pickle.dumps(many))
    assert many.position == one.position == counted.counters.events == 120
    assert listed.counters.nodes > 0.8 * one.counters.nodes > 0
    more = table.slice(120)
    found = many.push_arrow(more).sort_by("at")
    assert found["at"].to_pylist() == [m.at for m in one.push(more)]
    assert seen  # the query has matches


@pytest.mark.parametrize("cases", sampled([60, 150], [60]))
@pytest.mark.parametrize("seed", sampled(range(20), range(1)))
def test_random_formulas_under_windows_and_partitions(seed: int, cases: int) -> None:
    rng, compared = Random(f"parallel/{seed}"), 0
    for _ in range(cases):
        phi, S = scoped_case(rng, PROFILES[rng.choice(("everything", "core"))])
        if isinstance(batch_scope(phi), Unsupported):
            continue
        try:
            expected = CompiledCelEvaluator(phi).push(S)
        except InputError:  # a window on values that decrease
            continue
        found = ParallelEvaluator(CompiledCelEvaluator(phi), rng.choice((2, 3)), reach_of(phi), 1).push(S)
        assert found == expected, (show(phi), S.events)
        compared += bool(expected)
    assert compared > 20 * cases / 150


def test_equal_keys_are_of_one_share_whatever_their_type() -> None:
    whole = pa.table({"k": pa.array([1, 2, 0, 3, 2**60, None] * 9)})
    floats = pa.table({"k": pa.array([1.0, 2.0, -0.0, 3.0, 2.0**60, None] * 9)})
    assert (shares_of(whole, "k", 3)[:5] == shares_of(floats, "k", 3)[:5]).all()
    texts = pa.table({"k": pa.array([f"key {i}" for i in range(99)])})
    coded = pa.table({"k": texts["k"].dictionary_encode()})
    assert (shares_of(texts, "k", 4) == shares_of(coded, "k", 4)).all()
    many = shares_of(pa.table({"k": np.arange(100_000)}), "k", 2)
    assert abs(int(many.sum()) - 50_000) < 2_000


def test_an_error_in_one_thread_stops_the_evaluator() -> None:
    """The events after the middle are less than before."""
    table = pa.table({"type": ["A", "B"] * 20, "time": [*range(30), *range(10)]})
    many = divided("A ; B WITHIN 3 seconds", workers=2)
    with pytest.raises(InputError, match="position 30: 'time' is less than before"):
        many.push(table)
    with pytest.raises(InputError, match="stopped inside an earlier batch"):
        many.push(table)


def test_limits_are_those_of_all_threads_together() -> None:
    table = pa.table({"type": ["A", "B"] * 20})
    query = "A : B"
    assert [m.at for m in divided(query).push(table, limit=12)] == list(range(1, 24, 2))
    assert divided(query).push_arrow(table, limit=12)["at"].to_pylist() == list(range(1, 24, 2))
    few = ParallelEvaluator(CompiledCelEvaluator(parse(query), budget=Budget(matches=15)), 2, reach_of(parse(query)), 1)
    with pytest.raises(BudgetExceeded, match="more than 15 matches"):
        few.push(table)


def test_workers_of_the_public_functions() -> None:
    table = events(200)
    query = "A ; B ; C WITHIN 7 EVENTS"
    expected = count_api(query, table)
    assert count_api(query, table, evaluator="kernel", workers=2) == expected
    assert compile(query, evaluator="kernel", workers=2).count(table) == expected
    with pytest.raises(Unsupported, match="use evaluator='kernel'"):
        compile(query, workers=2)
    with pytest.raises(IllFormed, match="workers: expected a whole number of at least 1"):
        count_api(query, table, workers=0)


def test_a_damaged_state_is_refused() -> None:
    many = divided("(A ; B) PARTITION BY [k]")
    with pytest.raises(CerifyError):
        many.restore(b"")


def test_a_chunk_reads_the_whole_window_before_it() -> None:
    """The second chunk begins with a B whose window begins with an A."""
    table = pa.table({"type": ["B", "A"] * 20, "time": range(40)})
    for window in ("3 seconds", "4 EVENTS"):
        expected = CompiledCelEvaluator(parse(f"A ; B WITHIN {window}")).push(table)
        assert divided(f"A ; B WITHIN {window}", workers=2).push(table) == expected
        assert any(m.at == 20 and m.events == (17, 20) for m in expected)
