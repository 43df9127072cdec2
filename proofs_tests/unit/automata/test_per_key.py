"""PER KEY: within each key, as if the stream had only its events. In the definition and in all evaluators."""

from __future__ import annotations

from itertools import combinations
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.evaluate import compiled, streaming, tables
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import batch_scope
from cerify.automata.evaluate.parallel import ParallelEvaluator
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluator import Evaluator
from cerify.semantics.cel.check import across_keys
from cerify.semantics.cel.denote import meaning, sup
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import EventAtom as EventType
from cerify.semantics.cel.syntax import PartitionBy, PerKey, show
from cerify.semantics.errors import InputError, ParseError, Unsupported
from cerify.semantics.events import Event, Stream
from proofs_tests.campaigns import per_key
from proofs_tests.support import sampled


def stream(types: str, keys: str) -> Stream:
    """Events with a key k; - stands for none."""
    return Stream(Event(R, {} if k == "-" else {"k": k}) for R, k in zip(types.split(), keys, strict=True))


# Each has a stream on which PARTITION BY means something else, but for the last ones.
MEANT = [
    ("(A ; (B UNLESS C)) PER KEY [k]", "A C B", "xyx", {(0, 2)}),
    ("(A ; (B UNLESS C)) PER KEY [k]", "A C B", "xxx", set()),
    ("A : B PER KEY [k]", "A A B B", "xyxx", {(0, 2)}),
    ("A:+ PER KEY [k]", "A C A", "xyx", {(0,), (0, 2), (2,)}),
    ("A:{2} PER KEY [k]", "A C A", "xyx", {(0, 2)}),
    ("STRICT(A ; B) PER KEY [k]", "A A B", "xyx", {(0, 2)}),
    ("STRICT(A ; B) PER KEY [k]", "A A B", "xxx", {(1, 2)}),
    ("START(A ; B) PER KEY [k]", "C A B A B", "yxxyy", {(1, 2)}),
    ("NXT(A ; B) PER KEY [k]", "A A B", "xyy", {(1, 2)}),
    ("A ; B WITHIN 2 EVENTS PER KEY [k]", "A C B", "xyx", {(0, 2)}),
    ("A ; B PER KEY [k] WITHIN 2 EVENTS", "A C B", "xyx", set()),
    ("START(A PER KEY [k])", "B A", "xy", set()),  # START is outside, and looks at the whole stream
    ("(A ; B) PER KEY [k]", "A A B", "x-x", {(0, 2)}),
    ("A PER KEY [k]", "A A", "-x", {(1,)}),  # an event without a key is seen by none
    ("(A UNLESS C) PER KEY [k]", "C A", "-x", {(1,)}),
    ("(A PER KEY [k]) ; B", "A B", "xy", {(0, 1)}),  # the key is that of the part
    ("((A ; (B UNLESS C)) PER KEY [k]) ; C", "A C B C", "xyxy", {(0, 2, 3)}),
]


@pytest.mark.parametrize(("query", "types", "keys", "expected"), MEANT)
def test_a_key_sees_its_events_alone(query: str, types: str, keys: str, expected: set[tuple[int, ...]]) -> None:
    phi, S = parse(query), stream(types, keys)
    assert {tuple(sorted(sup(mu))) for n in range(len(S)) for mu in meaning(phi, S, 0, n)} == expected
    assert {m.events for m in matches_of(phi, S)} == expected
    assert {m.events for m in streaming.matches(phi, S)} == expected
    assert {m.events for m in compiled.matches(phi, S)} == expected
    if not isinstance(batch_scope(phi), Unsupported):
        for E in (ReadableCelEvaluator(phi), CompiledCelEvaluator(phi)):
            assert {m.events for m in E.evaluate(S)} == expected


def test_several_attributes_make_a_key() -> None:
    events = [("A", 1, 1), ("A", 1, 2), ("B", 1, 2), ("B", 1.0, 1)]
    S = Stream(Event(R, {"a": a, "b": b}) for R, a, b in events)
    for query in ("A ; B PER KEY [a, b]", "A ; B PER KEY [b] PER KEY [a]", "A ; B PARTITION BY [a, b]"):
        assert [m.events for m in matches_of(parse(query), S)] == [(1, 2), (0, 3)], query  # 1 and 1.0 are one key
        assert [m.events for m in compiled.matches(parse(query), S)] == [(1, 2), (0, 3)], query


def test_not_a_number_is_no_key() -> None:
    S = Stream([Event("A", {"a": float("nan")}), Event("A", {"a": 1.0}), Event("A", {"a": True})])
    for E in (ReadableCelEvaluator(parse("A+ PER KEY [a]")), CompiledCelEvaluator(parse("A+ PER KEY [a]"))):
        assert [m.events for m in E.evaluate(Stream(S.events[:2]))] == [(1,)]
    assert [m.events for m in matches_of(parse("A+ PER KEY [a]"), S)] == [(1,), (2,)]  # True is not 1
    assert [m.events for m in streaming.matches(parse("A+ PER KEY [a]"), S)] == [(1,), (2,)]


def test_its_text() -> None:
    assert parse("A PER KEY [a, b]") == PerKey(EventType("A"), ("a", "b"))
    assert parse("A PARTITION BY [a, b]") == PartitionBy(PartitionBy(EventType("A"), "a"), "b")
    for text in ("PER ; KEY IN PER FILTER KEY.PER = 1 PER KEY [PER, KEY]", "A OR B PER KEY [k] WITHIN 2 EVENTS"):
        assert show(parse(text)) == text
    with pytest.raises(ParseError, match="a is written twice: name each attribute once"):
        parse("A PER KEY [a, b, a]")
    with pytest.raises(ParseError, match="expected KEY"):
        parse("A PER [a]")


@pytest.mark.parametrize("seed", sampled(range(30), range(3)))
def test_all_ways_to_evaluate_agree(seed: int) -> None:
    rng = Random(f"per key {seed}")
    assert [found for _ in range(100) if (found := per_key.difference(rng, 7, 8))] == []


def test_a_wrong_reading_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The campaign sees evaluators that take PER KEY for PARTITION BY, which most cases do not distinguish."""
    wrong = [streaming.matches]

    def as_partition(phi: object, *rest: object) -> object:
        assert isinstance(phi, PerKey)
        return wrong[0](PartitionBy(phi.phi, phi.attributes[0]), *rest)  # type: ignore[arg-type]

    phi, S = parse("A : B PER KEY [k]"), stream("A C B", "xyx")
    assert len({str(answer) for _, answer in per_key.answers(phi, S, "matches", Random(1))}) == 1
    monkeypatch.setattr(streaming, "matches", as_partition)
    assert len({str(answer) for _, answer in per_key.answers(phi, S, "matches", Random(1))}) == 2


QUERIES = [
    "(A ; (B UNLESS C)) PER KEY [k] WITHIN 40 EVENTS",
    "((A : B+) ; C) WITHIN 6 EVENTS PER KEY [k]",
    "(A ; B ; C) WITHIN 30 [t] PER KEY [k]",
    "A:{3} PER KEY [k]",
    "START(A ; B) PER KEY [k]",
    "PROJECT[A](A ; C) WITHIN 3 EVENTS PER KEY [k]",
    "NXT(A ; A ; B) PER KEY [k] WITHIN 50 [t]",
    "LAST((A{2} ; B) WITHIN 200 [t]) PER KEY [k]",
    "LAST(A{3 DISTINCT [t]} WITHIN 200 [t]) PER KEY [k]",
]


def long_stream(events: int, keys: int, seed: int = 1) -> Stream:
    rng = np.random.default_rng(seed)
    columns = {
        "type": pa.array(rng.choice(list("ABCD"), events, p=[0.2, 0.2, 0.1, 0.5])),
        "k": pa.array(rng.integers(0, keys, events), mask=rng.random(events) < 0.05),
        "t": pa.array(np.cumsum(rng.integers(0, 2, events))),
    }
    return Stream.from_table(pa.table(columns))


def pushed(E: Evaluator, S: Stream, size: int) -> list[tuple[int, tuple[int, ...]]]:
    return [(m.at, m.events) for start in range(0, len(S), size) for m in E.push(S.part(start, size))]


@pytest.mark.parametrize("query", sampled(QUERIES, QUERIES[::3]))
def test_nodes_are_removed_and_moved(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for few nodes the loops compact often; keys come and go."""
    phi, S = parse(query), long_stream(3_000, 40)
    expected = pushed(ReadableCelEvaluator(phi), S, 500)
    assert expected
    monkeypatch.setattr(tables, "NODES_AT_FIRST", 64)
    for size in (7, 500, 3_000):
        E = CompiledCelEvaluator(phi)
        assert sorted(pushed(E, S, size)) == sorted(expected)
        counting = CompiledCelEvaluator(phi)
        assert sum(counting.count(S.part(n, size)) for n in range(0, len(S), size)) == len(expected)


def test_keys_that_are_over_are_forgotten() -> None:
    """Under a window the keys that are kept are bounded, however many there have been."""
    n = 20_000
    table = pa.table({"type": ["A", "B"] * (n // 2), "k": [i // 2 for i in range(n)]})
    S, phi = Stream.from_table(table), parse("A ; B PER KEY [k] WITHIN 10 EVENTS")
    E = CompiledCelEvaluator(phi)
    assert sum(E.count(S.part(start, 100)) for start in range(0, n, 100)) == n // 2
    assert E.keys.size <= 1_024
    readable = ReadableCelEvaluator(phi)
    assert sum(readable.count(S.part(start, 100)) for start in range(0, n, 100)) == n // 2
    assert len(readable.evaluation.parts) < 5_000


def test_what_nxt_took_stays_taken() -> None:
    """A key whose first event is in no window any more has no match, however many keys come and go after it."""
    rows = [("A", k) for k in range(300)] + [("A", 1000 + k) for k in range(600)] + [(R, 7) for R in "ABAB"]
    S = Stream(Event(R, {"k": k}) for R, k in [*rows, ("A", 2000), ("B", 2000)])
    phi = parse("NXT(A ; B) PER KEY [k] WITHIN 50 EVENTS")
    E = CompiledCelEvaluator(phi)
    assert pushed(E, S, 100) == pushed(ReadableCelEvaluator(phi), S, 100) == [(905, (904, 905))]


def test_a_stream_begins_anew_for_all_keys() -> None:
    S, begins = long_stream(600, 5), np.array([0, 200, 450])
    for query in QUERIES:
        phi = parse(query)
        numbers = sum(int(n.sum()) for _, n in CompiledCelEvaluator(phi).tallies(S, None, begins))
        parts = [S.part(a, b - a) for a, b in ((0, 200), (200, 450), (450, 600))]
        assert numbers == sum(CompiledCelEvaluator(phi).count(part) for part in parts), query


@pytest.mark.parametrize("query", QUERIES)
def test_threads_share_the_keys(query: str) -> None:
    phi, S = parse(query), long_stream(2_000, 17)
    E = ParallelEvaluator(CompiledCelEvaluator(phi), 3, None)
    assert len(E.parts) == 3
    found = [m for start in range(0, 2_000, 700) for m in E.push(S.part(start, min(700, 2_000 - start)))]
    assert sorted(found) == sorted(CompiledCelEvaluator(phi).evaluate(S))


@pytest.mark.parametrize("query", QUERIES)
def test_a_match_consumes_for_all_keys(query: str) -> None:
    phi, S = parse(query), long_stream(400, 4)
    one, other = (make(phi, consumption="any") for make in (ReadableCelEvaluator, CompiledCelEvaluator))
    assert sorted(pushed(one, S, 130)) == sorted(pushed(other, S, 90))


@pytest.mark.parametrize("make", [ReadableCelEvaluator, CompiledCelEvaluator])
@pytest.mark.parametrize("query", QUERIES)
def test_a_saved_state_goes_on(make: type[ReadableCelEvaluator], query: str) -> None:
    phi, S = parse(query), long_stream(400, 6)
    E = make(phi)
    E.push(S.part(0, 250))
    other = make(phi)
    other.restore(E.save())
    assert other.push(S.part(250, 150)) == E.push(S.part(250, 150))
    with pytest.raises(InputError):
        make(parse(query.replace("[k]", "[j]"))).restore(E.save())


def test_damaged_rows_of_keys_are_found() -> None:
    E = CompiledCelEvaluator(parse(QUERIES[0]))
    E.push(long_stream(100, 3))
    arrays = {name: array.copy() for name, array in E.store.arrays.items()}
    for name, index, value in (("home", (0, 1), 99), ("home", (0, 2), 1 << 40), ("rows", (0, 0, 1), -1)):
        damaged = {**arrays, name: arrays[name].copy()}
        damaged[name][index] = value
        fresh = CompiledCelEvaluator(parse(QUERIES[0]))
        fresh.grow([], [])
        fresh.store.resize(*arrays["rows"].shape[1::-1])
        with pytest.raises(ValueError, match=r"damaged|range|shape"):
            fresh.store.load(damaged, 100)


@pytest.mark.parametrize("query", [QUERIES[0], "(A ; B) WITHIN 50 EVENTS PARTITION BY [k]"])
@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("left", 1 << 30, "comes before its children"), ("event", 1 << 40, "saved"), ("floor", 1 << 40, "saved")],
)
def test_damaged_nodes_are_found(query: str, field: str, value: int, message: str) -> None:
    E = CompiledCelEvaluator(parse(query))
    E.push(long_stream(100, 3))
    arrays = {name: array.copy() for name, array in E.store.arrays.items()}
    arrays["tree"][field][-1] = value
    fresh = CompiledCelEvaluator(parse(query))
    fresh.grow([], [])
    fresh.store.resize(*arrays["rows"].shape[1::-1])
    with pytest.raises(ValueError, match=message):
        fresh.store.load(arrays, 100)


DISTINCT = "LAST(A{3 DISTINCT [u]}) PER KEY [k]"


def test_values_that_no_event_is_kept_of_are_forgotten() -> None:
    """Their numbers are used again, in states that are saved too, and keys that are over take theirs along."""
    rng = Random(1)
    S = Stream(Event("A", {"k": n // 50, "u": str(rng.choice((n, n // 5)))}) for n in range(6_000))
    phi = parse(f"{DISTINCT} WITHIN 100 EVENTS")
    expected = [(m.at, m.events) for m in streaming.matches(phi, S)]
    E, found = CompiledCelEvaluator(phi), list[tuple[int, tuple[int, ...]]]()
    for start in range(0, len(S), 300):
        found += pushed(E, S.part(start, 300), 150)
        saved, E = E.save(), CompiledCelEvaluator(phi)
        E.restore(saved)
    assert found == expected
    assert E.values.size < 2_000
    readable = ReadableCelEvaluator(phi)
    assert pushed(readable, S, 500) == expected
    assert len(readable.evaluation.parts) < 3_000


@pytest.mark.parametrize("make", [ReadableCelEvaluator, CompiledCelEvaluator])
def test_not_a_number_differs_from_all_values(make: type[ReadableCelEvaluator]) -> None:
    """As `!=` has it, which is false without a value."""
    values = [1.0, float("nan"), None, float("nan"), 0.0, -0.0, 1.0]
    S = Stream(Event("A", {"k": 1} | ({} if u is None else {"u": u})) for u in values)
    expected = [(3, (0, 1, 3)), (4, (1, 3, 4)), (5, (1, 3, 5)), (6, (3, 5, 6))]
    assert [(m.at, m.events) for m in matches_of(parse(DISTINCT), S)] == expected
    E = make(parse(DISTINCT))
    first = pushed(E, S.part(0, 4), 2)
    other = make(parse(DISTINCT))
    other.restore(E.save())
    assert first + pushed(other, S.part(4, 3), 2) == expected


@pytest.mark.parametrize("make", [ReadableCelEvaluator, CompiledCelEvaluator])
def test_values_of_two_kinds_are_refused_in_batches(make: type[ReadableCelEvaluator]) -> None:
    E = make(parse(DISTINCT))
    E.push([Event("A", {"k": 1, "u": 1}), Event("A", {"k": 1, "u": 2.5}), Event("B")])
    saved, E = E.save(), make(parse(DISTINCT))
    E.restore(saved)
    with pytest.raises(InputError, match=r"the values of 'u' are numbers and strings; .*DISTINCT"):
        E.push([Event("A", {"k": 1, "u": "x"})])
    assert [m.events for m in E.push([Event("A", {"k": 1, "u": 3})])] == [(0, 1, 3)]


@pytest.mark.parametrize("query", ["A ; A PER KEY [u]", "A ; A PARTITION BY [k, u]", "LAST(A{2 DISTINCT [u]})"])
def test_keys_and_values_with_nanoseconds_are_saved(query: str) -> None:
    times = pa.array([1, 2, 1_000_000, 2], pa.timestamp("ns"))
    S = pa.table({"type": ["A"] * 4, "k": [1] * 4, "u": times})
    E = CompiledCelEvaluator(parse(query))
    first = E.push(S.slice(0, 2))
    other = CompiledCelEvaluator(parse(query))
    other.restore(E.save())
    rest = other.push(S.slice(2, 2))
    assert rest == E.push(S.slice(2, 2))
    assert sorted(first + rest) == CompiledCelEvaluator(parse(query)).evaluate(S)
    assert rest


def test_damaged_rows_of_values_are_found() -> None:
    E = CompiledCelEvaluator(parse(DISTINCT))
    E.push(Stream(Event("A", {"k": n % 2, "u": n}) for n in range(9)))
    arrays = {name: array.copy() for name, array in E.store.arrays.items()}
    damages = (
        ("home", (0, 1), 4),
        ("home", (1, 2), 99),
        ("rows", (0, 1), 1 << 40),
        ("names", (0, 0), -3),
        ("kinds", (1, 0), 7),
    )
    for name, index, value in damages:
        damaged = {**arrays, name: arrays[name].copy()}
        damaged[name][index] = value
        fresh = CompiledCelEvaluator(parse(DISTINCT))
        fresh.grow([1], [1])
        with pytest.raises(ValueError, match=r"after the saved|range|places"):
            fresh.store.load(damaged, 9)


def test_what_batches_do_not_carry() -> None:
    scope = batch_scope(parse("A ; (B PER KEY [k])"))
    assert isinstance(scope, Unsupported)
    assert "PER KEY only around the whole formula" in scope.message
    assert isinstance(batch_scope(parse("START(A PER KEY [k])")), Unsupported)
    phi = parse("A ; B PARTITION BY [x] PER KEY [k]")
    ReadableCelEvaluator(phi)
    with pytest.raises(Unsupported, match="PER KEY"):
        CompiledCelEvaluator(phi)
    CompiledCelEvaluator(parse("A ; B PARTITION BY [k] PER KEY [k]"))  # the events of a key agree on it anyhow


# ---- recipes ----
# Each recipe of the cookbook changes a query and, apart from it, a plain condition on positions: any of them together
# have to mean what their conditions mean together.

RECIPES = ("absence", "neighbours", "count", "last", "key", "window", "window of events")


def written(recipes: frozenset[str]) -> str:
    """The query that these recipes make."""
    first, last = "A{2}" if "count" in recipes else "A", "(B UNLESS C)" if "absence" in recipes else "B"
    query = f"({first.replace('{', ':{')} : {last})" if "neighbours" in recipes else f"({first} ; {last})"
    query = f"LAST({query})" if "last" in recipes else query
    query += " PER KEY [k]" if "key" in recipes else ""
    query += " WITHIN 3 [t]" if "window" in recipes else ""
    return query + (" WITHIN 4 EVENTS" if "window of events" in recipes else "")


def by_conditions(recipes: frozenset[str], events: list[tuple[str, str | None, int]]) -> set[tuple[int, ...]]:
    """The matches by the conditions of the recipes: an event is a type, a key and a time."""
    types = "AAB" if "count" in recipes else "AB"
    found = set()
    for C in combinations(range(len(events)), len(types)):
        key = events[C[-1]][1]
        seen = [p for p, (_, k, _) in enumerate(events) if "key" not in recipes or (k is not None and k == key)]
        if any(p not in seen for p in C) or [events[p][0] for p in C] != list(types):
            continue
        if "neighbours" in recipes and [seen.index(p) for p in C] != [*range(seen.index(C[0]), seen.index(C[-1]) + 1)]:
            continue
        if "absence" in recipes and any(events[p][0] == "C" for p in seen if C[-2] < p <= C[-1]):
            continue
        found.add(C)
    if "last" in recipes:
        found = {C for C in found if C[::-1] == max(D[::-1] for D in found if D[-1] == C[-1])}
    if "window" in recipes:
        found = {C for C in found if events[C[-1]][2] - events[C[0]][2] <= 3}
    return {C for C in found if C[-1] - C[0] < 4} if "window of events" in recipes else found


@pytest.mark.thorough
@pytest.mark.parametrize("seed", sampled(range(10), range(1)))
def test_recipes_compose(seed: int) -> None:
    rng, matched = Random(f"recipes {seed}"), 0
    for number in range(1 << len(RECIPES)):
        recipes = frozenset(recipe for i, recipe in enumerate(RECIPES) if number >> i & 1)
        for _ in range(4):
            times = sorted(rng.randint(0, 8) for _ in range(8))
            events = [(rng.choice("AABBC"), rng.choice(("x", "x", "y", None)), t) for t in times]
            S = Stream(Event(R, {"t": t} | ({} if k is None else {"k": k})) for R, k, t in events)
            expected = by_conditions(recipes, events)
            matched += len(expected)
            for evaluate in (matches_of, streaming.matches, compiled.matches):
                assert {m.events for m in evaluate(parse(written(recipes)), S)} == expected, (written(recipes), events)
    assert matched > 400


@pytest.mark.parametrize("recipes", [{"absence"}, {"neighbours"}, {"last"}, {"absence", "count"}])
def test_a_partition_that_changes_a_recipe_is_warned_of(recipes: set[str]) -> None:
    """With PARTITION BY in the place of PER KEY these mean something else."""
    query = written(frozenset({*recipes, "key"})).replace("PER KEY", "PARTITION BY")
    assert list(across_keys(parse(query)))
    assert not list(across_keys(parse(written(frozenset({*recipes, "key"})))))
    assert not list(across_keys(parse("A ; B PARTITION BY [k]")))
