"""What skip till next match comes to, without may_stop and must_stop: the five sentences of docs/decisions/sase.md."""

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import Any

import pytest

import cerify
from cerify.semantics.arguments import Budget, choices, parse_reading
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, Unsupported
from cerify.semantics.events import Bindings, Event, Match, Schema, Stream
from cerify.semantics.predicates import Arithmetic, Attribute, Constant
from cerify.semantics.readings import Operation, Reading
from cerify.semantics.sase import clauses, denote
from cerify.semantics.sase.check import value_type
from cerify.semantics.sase.clauses import beyond_cayuga, beyond_sql_ts, operators, spans, strategies, stream_of
from cerify.semantics.sase.denote import (
    Chosen,
    Counted,
    SaseDefinition,
    bindings,
    extended,
    folded,
    operation_of,
    ranked,
    unwatched,
)
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import (
    Reference,
    SaseAggregate,
    SaseQuery,
    SaseUnion,
    SaseWindow,
    Unit,
    names_of,
    type_of,
)
from cerify.semantics.values import Value
from proofs_tests.support import sampled, vary_reading
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import Q4_AND_Q5, QUERIES, events, found, query, shown

# ---- denote ----
#


def closed_form(D: SaseDefinition) -> set[Bindings]:
    """The matches under skip_till_next_match, by sentences 1 to 5; only what is relevant is asked of the definition."""
    return {D.bindings(chosen) for p in range(len(D.S)) if D.selects((), 0, p) for chosen in _ends(D, ((0, p),))}


def _ends(D: SaseDefinition, chosen: Chosen) -> Iterator[Chosen]:
    k = chosen[-1][0]
    last_component = k == len(D.pattern) - 1
    if not D.pattern[k].kleene:
        if last_component:
            yield chosen
        elif (p := _first(D, chosen, k + 1)) is not None:  # sentence 1
            yield from _ends(D, (*chosen, (k + 1, p)))
        return
    ended, cut = D.is_ended(chosen), clauses.is_cut(D.q, D.pattern[k].variable)
    again = _first(D, chosen, k)  # sentence 2
    while_open = range(chosen[-1][1] + 1, len(D.S) if again is None or again >= _over(D, chosen) else again + 1)
    if D.ends(k):
        if ended and last_component:
            yield chosen
        elif ended:
            starts = [chosen[-1][1] + 1] if cut else while_open
            for b in {_first(D, chosen, k + 1, t) for t in starts} - {None}:  # sentence 5
                yield from _ends(D, (*chosen, (k + 1, b)))  # type: ignore[arg-type]
        if ended and cut:
            return
    elif last_component:
        if again is None or cut:
            yield chosen
            return
    else:
        relevant = [b for b in while_open if D.selects(chosen, k + 1, b)]
        for b in relevant[: 1 if cut else None]:  # sentences 3 and 4
            yield from _ends(D, (*chosen, (k + 1, b)))
        if relevant and cut:
            return
    if again is not None:
        yield from _ends(D, (*chosen, (k, again)))


def _first(D: SaseDefinition, chosen: Chosen, k: int, start: int = 0) -> int | None:
    """The first event, from a position on, that is relevant to component k."""
    return next((p for p in range(max(start, chosen[-1][1] + 1), len(D.S)) if D.selects(chosen, k, p)), None)


def _over(D: SaseDefinition, chosen: Chosen) -> int:
    """Where the window of what is selected is over."""
    return next((p for p in range(len(D.S)) if D.spans(chosen[0][1], p) is False), len(D.S))


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
@pytest.mark.slow
def test_the_five_sentences_on_all_queries_of_two_components(step: int) -> None:
    rng, several = Random(3), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("", "WITHIN 3 seconds"), step=step):
        if "skip_till_next_match" in text:
            q, S = query(text), small.by_chance(rng, 8)
            D = SaseDefinition(q, S)
            expected = set(D.matches())
            several += len({M[0][1][0] for M in expected}) < len(expected)
            assert shown(closed_form(D)) == shown(expected), text
    assert several > 50 / step


@pytest.mark.slow
def test_one_start_has_one_match_where_every_kleene_plus_is_cut() -> None:
    rng, found = Random(4), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("",)):
        if "skip_till_next_match" in text and text.count("!") == text.count("+"):
            matches = bindings(query(text), small.by_chance(rng, 8))
            found += len(matches)
            assert len({M[0][1][0] for M in matches}) == len(matches), text
    assert found > 100


@pytest.mark.slow
def test_exponentially_many_matches_end_in_the_budget() -> None:
    q = query("SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }")
    with pytest.raises(BudgetExceeded, match="shorter stream"):
        bindings(q, events("A " * 30), budget=Budget(valuations=1_000))
    with pytest.raises(BudgetExceeded, match="100 matches"):
        bindings(q, events("A " * 30), budget=Budget(matches=100))


def chains(D: SaseDefinition) -> set[Bindings]:
    """All sequences of events each of which is relevant after those before it, the end conditions holding."""
    found, pending = set(), [((0, p),) for p in range(len(D.S)) if D.selects((), 0, p)]
    while pending:
        chosen: Chosen = pending.pop()
        k, last = chosen[-1]
        ended = not D.pattern[k].kleene or D.is_ended(chosen)
        if ended and k == len(D.pattern) - 1:
            found.add(D.bindings(chosen))
        for j in [k] * D.pattern[k].kleene + [k + 1] * (ended and k + 1 < len(D.pattern)):
            pending.extend((*chosen, (j, p)) for p in range(last + 1, len(D.S)) if D.selects(chosen, j, p))
    return found


def is_interval(M: Bindings) -> bool:
    positions = [p for _, ps in M for p in ps]
    return positions[-1] - positions[0] == len(positions) - 1


@pytest.mark.parametrize("step", sampled([3, 1], [3]))
@pytest.mark.slow
def test_skip_till_any_match_has_all_chains_and_strict_contiguity_those_that_are_intervals(step: int) -> None:
    rng, found = Random(6), 0
    for text in small.texts(2, mixed=False, negated=False, windows=("", "WITHIN 3 seconds"), step=step):
        if "skip_till_any_match" in text and "!" not in text:
            S = small.by_chance(rng, 6)
            D = SaseDefinition(query(text), S)
            everything = chains(D)
            assert shown(set(D.matches())) == shown(everything), text
            strict = bindings(query(text.replace("skip_till_any_match", "strict_contiguity")), S)
            if D.pattern[-1].kleene and not D.ends(1):  # the longest ones only
                assert strict <= {M for M in everything if is_interval(M)}, text
            else:
                assert strict == {M for M in everything if is_interval(M)}, text
                found += len(strict)
    assert found > 100 / step


# ---- aggregates ----
# Aggregates: their values, and that they are associative operations with an identity.

DAY = datetime(2007, 6, 1, tzinfo=UTC)


def value(function: str, values: list[Value | None], parameter: int | None = None) -> Value | None:
    events = [Event("A", {} if v is None else {"x": v}) for v in values]
    return folded(SaseAggregate("x", "a", function, parameter), events)


@pytest.mark.parametrize(
    ("function", "values", "expected"),
    [
        ("count", [3, None, "s"], 2),  # those that have the attribute
        ("sum", [], 0),
        ("sum", [1, 2, None], 3),
        ("sum", [2**70, 1], 2**70 + 1),  # exact
        ("sum", [1, "s"], None),
        ("sum", [1, True], None),
        ("sum", [10**400, 0.5], None),
        ("sum", [1e16, 1.0, -1e16], 0.0),  # one after the other
        ("avg", [], None),
        ("avg", [1, 2, None], 1.5),
        ("avg", ["s"], None),
        ("min", [3, 1, 2], 1),
        ("max", [3, 1, None], 3),
        ("max", [], None),
        ("max", ["a", "b"], "b"),
        ("max", [DAY], DAY),
        ("min", [1, "a"], None),
        ("min", [False, True], None),
        ("min", [None], None),
    ],
)
def test_the_value_of_an_aggregate(function: str, values: list[Value | None], expected: Value | None) -> None:
    assert value(function, values) == expected


def test_the_k_th_highest_and_lowest_count_repetitions() -> None:
    assert value("highest", [5, 1, 5, 3], 2) == 5
    assert value("highest", [5, 1, 5, 3], 3) == 3
    assert value("lowest", [5, 1, 5, 3], 2) == 3
    assert value("lowest", [5, 1], 3) is None


def test_a_nan_is_the_result_of_what_it_is_among() -> None:
    for function, parameter in (("min", None), ("max", None), ("highest", 2), ("sum", None)):
        result = value(function, [1.0, math.nan, 2.0], parameter)
        assert isinstance(result, float)
        assert math.isnan(result)
    assert value("max", [math.nan, "a"]) is None


def test_count_of_no_attribute_counts_events() -> None:
    assert folded(SaseAggregate("", "a"), [Event("A"), Event("A", {"x": 1})]) == 2


BUILT_IN = [SaseAggregate("x", "a", name) for name in ("count", "sum", "avg", "min", "max")]
RANKED = [SaseAggregate("x", "a", name, k) for name in ("highest", "lowest") for k in (1, 2)]


@pytest.mark.parametrize("aggregate", [*BUILT_IN, *RANKED], ids=lambda a: f"{a.function} {a.parameter or ''}")
def test_it_is_associative_and_has_an_identity(aggregate: SaseAggregate) -> None:
    operation = operation_of(aggregate)
    lifted = [operation.identity, *map(operation.lift, (2, -1, 2, "s", "t", True, 0.5, math.inf))]
    for a, b, c in product(lifted, repeat=3):
        left = operation.combine(operation.combine(a, b), c)
        right = operation.combine(a, operation.combine(b, c))
        assert operation.result(left) == operation.result(right), (a, b, c)
        assert operation.result(operation.combine(a, operation.identity)) == operation.result(a)
        assert operation.result(operation.combine(operation.identity, a)) == operation.result(a)


def test_one_event_after_the_other_is_as_all_at_once() -> None:
    events = [Event("A", {"x": x}) for x in (3, 1, 2)]
    operation = ranked(2, "highest")
    state = operation.identity
    for n, event in enumerate(events):
        state = extended(operation, state, event, "x")
        assert operation.result(state) == folded(SaseAggregate("x", "a", "highest", 2), events[: n + 1])


TIMES = Operation(1, lambda v: v, lambda a, b: a * b, lambda state: state)


def test_aggregates_of_the_user() -> None:
    events = [Event("A", {"x": 2}), Event("A"), Event("A", {"x": 5})]
    assert folded(SaseAggregate("x", "a", "times"), events, {"times": TIMES}) == 10
    with pytest.raises(Unsupported, match="times is not registered; known are count, sum"):
        folded(SaseAggregate("x", "a", "times"), events)
    with pytest.raises(IllFormed, match="times failed with TypeError"):
        folded(SaseAggregate("x", "a", "times"), [Event("A", {"x": "s"}), Event("A", {"x": "t"})], {"times": TIMES})
    pair = Operation(0, lambda v: v, lambda a, b: a, lambda state: (state,))  # type: ignore[arg-type,return-value]
    with pytest.raises(IllFormed, match=r"pair gave \(0,\)"):
        folded(SaseAggregate("x", "a", "pair"), events, {"pair": pair})


@pytest.mark.parametrize("function", ["count", "sum", "avg", "min", "max", "highest(2,", "lowest(2,"])
def test_the_names_of_built_in_aggregates_may_be_written_in_capitals(function: str) -> None:
    call = function if "(" in function else f"{function}("
    query = "PATTERN SEQ(A+ a[]) RETURN {} a[].x) AS r"
    assert parse(query.format(call.upper())) == parse(query.format(call))


def test_an_unknown_aggregate_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(Unsupported) as caught:
        folded(SaseAggregate("x", "a", "other"), [], {"times": TIMES})
    known = "count, sum, avg, min, max, highest, lowest, times"
    assert caught.value.message == f"the aggregate other is not registered; known are {known}"


@pytest.mark.parametrize("function", ["highest", "lowest"])
def test_without_a_number_the_highest_are_refused(function: str) -> None:
    with pytest.raises(IllFormed, match=rf"{function} needs a rank: write {function}\(3"):
        operation_of(SaseAggregate("x", "a", function))


# ---- clauses ----
# Whether one event is within the window of another, with every answer written down.

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NAN = float("nan")


@pytest.mark.parametrize(
    ("before", "after", "is_open", "is_closed"),
    [
        (10, 12, True, True),
        (10, 13, False, True),
        (10, 14, False, False),
        (10.5, 13, True, True),
        (10, 13.5, False, False),
        (-2, 0.5, True, True),
        (13, 10, True, True),
        (NOON, NOON + timedelta(seconds=2.5), True, True),
        (NOON, NOON + timedelta(seconds=3), False, True),
        (NOON, NOON + timedelta(seconds=4), False, False),
        (NOON, 3, None, None),
        (3, NOON, None, None),
        (True, 1, None, None),
        (1, True, None, None),
        (True, True, None, None),
        (NAN, 1, None, None),
        (1, NAN, None, None),
        ("1", 1, None, None),
        (None, 1, None, None),
        (1, None, None, None),
    ],
)
def test_within(before: Value | None, after: Value | None, is_open: bool | None, is_closed: bool | None) -> None:
    one, other = (Event("A", {} if t is None else {"time": t}) for t in (before, after))
    assert spans(SaseWindow(3, "seconds"), one, other, closed=False) is is_open
    assert spans(SaseWindow(3, "seconds"), one, other, closed=True) is is_closed


@pytest.mark.parametrize(
    ("returned", "names", "type_"),
    [
        ("RETURN T(a.x AS r)", ("r",), "T"),
        ("RETURN T(a.x AS r) IN STREAM S", ("r",), "T"),
        ("RETURN (a.x AS r, b.x AS s) IN STREAM S", ("r", "s"), "S"),
        ("RETURN a.x, b.x", ("a.x", "b.x"), "result"),
        ("RETURN a.x, b.y", ("x", "y"), "result"),
        ("RETURN a.x AS x, b.x", ("x", "b.x"), "result"),
    ],
)
def test_names_in_a_result(returned: str, names: tuple[str, ...], type_: str) -> None:
    query = parse(f"PATTERN SEQ(A a, B b) {returned}")
    assert isinstance(query, SaseQuery)
    assert (names_of(query.returned), type_of(query.returned)) == (names, type_)


@pytest.mark.parametrize(
    ("unit", "seconds"), [("seconds", 2), ("minutes", 120), ("hours", 7_200), ("days", 172_800), ("weeks", 1_209_600)]
)
def test_units(unit: Unit, seconds: int) -> None:
    assert SaseWindow(2, unit).seconds == seconds


def test_the_stream_of_a_union_is_named_in_one_of_its_parts() -> None:
    one, other = "PATTERN SEQ(A a) RETURN T(a.x)", "PATTERN SEQ(B b) RETURN T(b.x)"
    queries = [parse(text) for text in (one, f"{one} IN STREAM s UNION {other}", f"{one} UNION {other} IN STREAM s")]
    assert [stream_of(q) for q in queries if isinstance(q, SaseQuery | SaseUnion)] == [None, "s", "s"]


# ---- program ----
# What a query answers once its bindings are found: HAVING, NON-OVERLAP, RETURN, UNION, and streams of results.


def asked(text: str, S: Stream | str, reading: Reading = Reading()) -> list[Match]:
    S = events(S) if isinstance(S, str) else S
    return matches_of(parse(text), S, denote.bindings, reading)


def results(text: str, S: Stream | str) -> list[dict[str, Any]]:
    return [dict(m.result.attributes) for m in asked(text, S) if m.result is not None]


ANY = "PATTERN SEQ(A+ a[]) WHERE skip_till_any_match(a[]) { }"


def test_a_match_has_bindings_by_name_and_where_it_ends() -> None:
    (match,) = asked("PATTERN SEQ(A b, B+ a[]) RETURN b.x", "A1 B2 B3")
    assert (match.at, match.events, match.bindings) == (2, (0, 1, 2), (("a", (1, 2)), ("b", (0,))))


def test_results_of_the_four_types() -> None:
    text = (
        "PATTERN SEQ(A a, B+ b[]) RETURN a.x, b[].x, a.(x, y), b[].(x, y), b[b.LEN].(x), count(b[]), a.x + b[1].x AS s"
    )
    assert results(text, "A1/k B2/l B3") == [
        {
            "a.x": 1,
            "b[].x": [2, 3],
            "a": {"x": 1, "y": "k"},
            "b[].(x, y)": [{"x": 2, "y": "l"}, {"x": 3, "y": None}],
            "b[b.LEN].(x)": {"x": 3},
            "count(b[])": 2,
            "s": 3,
        }
    ]


def test_results_are_compared_by_value() -> None:
    (one,) = asked("PATTERN SEQ(A a) RETURN a.x, 2.0 AS y", "A1")
    (other,) = asked("PATTERN SEQ(A a) RETURN 2 AS y, a.x", "A1")
    (third,) = asked("PATTERN SEQ(A a) RETURN 3 AS y, a.x", "A1")
    assert one == other != third
    S = Stream([Event("A", {"x": math.inf, "t": datetime(2007, 1, 1, tzinfo=UTC)})])
    (match,) = asked("PATTERN SEQ(A a) RETURN a.x, a.t", S)
    assert match.result is not None
    assert match.result.text == '{"t": "2007-01-01T00:00:00Z", "x": null}'


def test_having_keeps_some_matches() -> None:
    text = f"{ANY} HAVING not sum(a[].x) = 2 RETURN count(a[])"
    assert [m.events for m in asked(text, "A1 A1 A2")] == [(0,), (1,), (0, 1, 2), (0, 2), (1, 2)]


def test_of_matches_that_overlap_one_is_output() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { b.x = a.x } RETURN NON-OVERLAP a.x"
    S = "A1 A2 B2 B1 B1 A3 B3"
    assert [m.events for m in asked(text, S)] == [(1, 2), (5, 6)]
    assert [m.events for m in asked(text, S, Reading(non_overlap="earliest_start"))] == [(0, 3), (5, 6)]
    long = f"{ANY} RETURN NON-OVERLAP count(a[])"
    assert [m.events for m in asked(long, "A A")] == [(0,), (1,)]
    assert [m.events for m in asked(long, "A A", Reading(non_overlap="longest"))] == [(0, 1)]
    shared = f"{ANY[:-3]}{{ count(a[]) = 2 }} RETURN NON-OVERLAP count(a[])"
    assert [m.events for m in asked(shared, "A A A")] == [(0, 1)]  # to share an event is to overlap


def test_matches_of_two_partitions_may_overlap() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { [y] } RETURN NON-OVERLAP a.x"
    assert [m.events for m in asked(text, "A1/k A2/l B3/k B4/l")] == [(0, 2), (1, 3)]


def test_non_overlap_chooses_among_those_that_having_keeps() -> None:
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { } HAVING a.x = 1 RETURN NON-OVERLAP a.x"
    assert [m.events for m in asked(text, "A1 A2 B")] == [(0, 2)]


def test_union_has_the_results_of_all() -> None:
    text = "PATTERN SEQ(A a) RETURN a.x UNION PATTERN SEQ(A a) RETURN a.x AS z UNION PATTERN SEQ(B b) RETURN b.x"
    assert results(text, "A1 B2") == [{"x": 1}, {"z": 1}, {"x": 2}]


PAIRS = "PATTERN SEQ(A a, B b) WHERE strict_contiguity(a, b) { } RETURN pair(a.x, b.x AS z) IN STREAM pairs"


def test_a_query_reads_what_another_makes() -> None:
    text = f"{PAIRS}; FROM pairs PATTERN SEQ(pair p, pair q) WHERE p.z < q.z RETURN p.x, q.x AS y, p.time"
    (match,) = asked(text, "A1@0 B2@1 C@2 A3@3 B4@9")
    assert (match.at, match.events, match.bindings) == (1, (0, 1), (("p", (0,)), ("q", (1,))))
    assert match.result is not None
    assert match.result.attributes == {"x": 1, "y": 3, "time": 1}  # the time of its last event


def test_the_time_of_results_counts_for_windows() -> None:
    text = f"{PAIRS}; FROM pairs PATTERN SEQ(pair p, pair q) WITHIN 3 seconds RETURN p.x"
    assert len(asked(text, "A1@0 B2@1 A3@3 B4@3")) == 1
    assert asked(text, "A1@0 B2@1 A3@3 B4@4") == []


def test_streams_through_several_queries_in_any_order_and_of_a_union() -> None:
    last = "FROM t PATTERN SEQ(pair+ a[]) WHERE skip_till_next_match(a[]) { } RETURN a[].x"
    both = "FROM s PATTERN SEQ(A a) RETURN pair(a.x) IN STREAM t UNION FROM s PATTERN SEQ(B a) RETURN pair(a.x)"
    first = "PATTERN SEQ(A a) RETURN A(a.x) IN STREAM s UNION PATTERN SEQ(B a) RETURN B(a.x)"
    for text in (f"{first}; {both}; {last}", f"{both}; {first}; {last}"):
        assert {tuple(r["x"]) for r in results(text, "A1 B2 C A3")} == {(1, 2, 3), (2, 3), (3,)}


def test_a_derived_stream_has_a_schema_where_the_input_has_one() -> None:
    S = Stream(events("A1 B2"), Schema({"A": {"x": "int"}, "B": {"x": "int"}}))
    seen = []

    def find(q: Any, T: Stream, *rest: Any) -> Any:
        seen.append(T.schema)
        return denote.bindings(q, T, *rest)

    made = "PATTERN SEQ(A a, B+ b[]) RETURN T(a.x, avg(b[].x) AS m, count(b[]) AS n) IN STREAM s"
    text = f"{made}; FROM s PATTERN SEQ(T t) RETURN t.m"
    matches_of(parse(text), S, find)
    assert seen == [S.schema, Schema({"T": {"x": "int", "m": "float", "n": "int"}})]
    matches_of(parse(text), events("A1 B2"), find)
    assert seen[2:] == [None, None]


def test_a_named_type_or_that_of_the_stream() -> None:
    unnamed = "PATTERN SEQ(A a) RETURN (a.x, a.y) IN STREAM s; FROM s PATTERN SEQ(s a) RETURN a.x"
    assert results(unnamed, "A1 A2") == [{"x": 1}, {"x": 2}]


def test_an_ill_formed_query_is_not_evaluated() -> None:
    with pytest.raises(IllFormed, match="the pattern declares no b"):
        asked("PATTERN SEQ(A a) RETURN b.x", "A1")


# --- aggregates of the user: the word problem of the symmetric group is one (sase07, Lemma 4.2) -----------------------

COMPOSED = Operation(
    (0, 1, 2), lambda v: tuple(map(int, str(v))), lambda a, b: tuple(b[n] for n in a), lambda a: "".join(map(str, a))
)


def test_an_aggregate_of_the_user() -> None:
    S = Stream([Event("A", {"p": p}) for p in ("120", "120", "120", "021")])
    text = "PATTERN SEQ(A+ a[]) WHERE strict_contiguity(a[]) { composed(a[].p) = '012' } RETURN composed(a[].p) AS p"
    found = cerify.match(text, S, language="sase", aggregates={"composed": COMPOSED})
    assert [(m.events, m.result and m.result.attributes["p"]) for m in found] == [((0, 1, 2), "012")]
    for evaluator in ("automaton", "denotational"):
        with pytest.raises(Unsupported, match="composed is not registered"):
            cerify.match(text, Stream([]), language="sase", evaluator=evaluator)


# --- the printed queries, on streams that show what the text says of them ---------------------------------------------


def scan(object_id: int, location: str, origin: str, time: int) -> Event:
    return Event(
        "SCAN", {"object_id": object_id, "courier_id": 7, "location": location, "origin": origin, "time": time}
    )


def test_queries_4_and_5() -> None:
    """An object that went by two hops, connected, is no anomaly; those that jump are, and ten of them are too many."""
    normal = [scan(0, "New York", "", 0), scan(0, "Hartford", "New York", 1), scan(0, "Amherst", "Hartford", 2)]
    odd = [e for n in range(1, 11) for e in (scan(n, "New York", "", 2 * n), scan(n, "Amherst", "Reno", 2 * n + 1))]
    S = Stream([*normal, *odd])
    assert [r["object_id"] for r in results(QUERIES["sase07.q4"], S)] == list(range(1, 11))
    assert results(Q4_AND_Q5, S) == [{"courier_id": 7, "object_id": list(range(1, 11))}]
    assert results(Q4_AND_Q5, S.part(0, len(S) - 2)) == []


# --- fragments (section 4) --------------------------------------------------------------------------------------------


def test_what_queries_use() -> None:
    q = parse(QUERIES["sase07.q3"])
    assert strategies(q) == {"skip_till_next_match"}
    assert operators(q) == {"Kleene plus", "!", "equivalence test", "running aggregate", "a.LEN", "WITHIN"}
    assert operators(parse(Q4_AND_Q5)) >= {"negation", "composition", "aggregate", "correlated iterator"}


def test_sql_ts_and_cayuga() -> None:
    def beyond(text: str) -> tuple[int, int]:
        return len(beyond_sql_ts(parse(text))), len(beyond_cayuga(parse(text)))

    def selected(strategy: str) -> str:
        return f"PATTERN SEQ(A a) WHERE {strategy}(a) {{ [x] }} RETURN a.x"

    assert beyond(selected("strict_contiguity")) == (0, 1)
    assert beyond(selected("partition_contiguity")) == (0, 0)
    assert beyond(selected("skip_till_next_match")) == (1, 0)
    assert beyond(selected("skip_till_any_match")) == (1, 1)
    assert beyond("PATTERN SEQ(~B b, A a) WHERE partition_contiguity(a) { [x] } RETURN a.x") == (1, 1)
    assert beyond_cayuga(parse(QUERIES["icde08.q2"]))[1] == "Shipment+ b[] is selected by skip_till_any_match"


def test_matches_whose_partitions_are_of_different_kinds_do_not_overlap() -> None:
    """1 and true are equal for Python."""
    text = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { [y] } RETURN NON-OVERLAP a.x"
    S = Stream(
        [Event("A", {"x": 1, "y": 1}), Event("A", {"x": 2, "y": True}), Event("B", {"y": 1}), Event("B", {"y": True})]
    )
    assert [m.events for m in asked(text, S)] == [(0, 2), (1, 3)]


# ---- reading ----
# Each open point of docs/decisions/sase.md: what we decided, and a stream on which the readings differ.

NEXT, READ_ANY, STRICT, PARTITION = (
    f"{strategy}_{kind}"
    for strategy, kind in [
        ("skip_till_next", "match"),
        ("skip_till_any", "match"),
        ("strict", "contiguity"),
        ("partition", "contiguity"),
    ]
)

# query, stream, what we say, another reading, what it says
SELECTABLE: dict[str, tuple[str, str, list[str], Reading, list[str]]] = {
    "a Kleene plus in last place is maximal": (
        "SEQ(A+ a[])",
        "A A",
        ["0,1", "1"],
        Reading(last_kleene="every"),
        ["0", "0,1", "1"],
    ),
    "! in last place stops after one event": (
        f"SEQ(A+ a[]) WHERE {NEXT}(a[]!) {{ }}",
        "A A",
        ["0", "1"],
        Reading(cut_in_last_place="nothing"),
        ["0,1", "1"],
    ),
    "the end of the stream stops a Kleene plus": (
        "SEQ(A+ a[]) WITHIN 5 seconds",
        "A@0 A@4",
        ["0,1", "1"],
        Reading(stream_end="waits"),
        [],
    ),
    "the end of the stream ends the scope of a negation": (
        "SEQ(A a, ~B b) WITHIN 5 seconds",
        "A@0 A@2 C@6",
        ["0", "1"],
        Reading(stream_end="waits"),
        ["0"],
    ),
    "a window is open": (
        "SEQ(A a, B b) WITHIN 5 seconds",
        "A@0 B@5",
        [],
        Reading(window="closed"),
        ["0 1"],
    ),
    "a Kleene plus skips what it cannot select itself": (
        "SEQ(A+ a[], B b)",
        "A B B",
        ["0 1", "0 2"],
        Reading(kleene_skips="neither"),
        ["0 1"],
    ),
    "a negation in front looks back to the window's beginning": (
        "SEQ(~B b, A a) WITHIN 5 seconds",
        "B@0 A@7",
        ["1"],
        Reading(negation_in_front="stream"),
        [],
    ),
    "a negated series is selected by its strategy": (
        f"SEQ(A a, ~B+ b[], C c) WHERE {NEXT}(a, b[], c) {{ b[i].x > b[i-1].x and count(b[]) >= 3 }}",
        "A B1 B5 B2 B3 C",
        ["0 5"],
        Reading(negated_series="any"),
        [],
    ),
}


@pytest.mark.parametrize("name", SELECTABLE)
def test_what_we_decided_and_another_reading(name: str) -> None:
    text, S, ours, other, theirs = SELECTABLE[name]
    assert found(text, S) == ours
    assert found(text, S, other) == theirs
    assert ours != theirs


# query, stream, what we say; the reading that would say something else is in docs/decisions/sase.md
DECIDED: dict[str, tuple[str, str, list[str]]] = {
    "events of one time follow each other as they stand": ("SEQ(A a, B b)", "A@1 B@1 A@1", ["0 1"]),
    "whoever wants another time says so": ("SEQ(A a, B b) WHERE b.time > a.time", "A@1 B@1 B@2", ["0 2"]),
    "a[i] alone speaks of a[1] too": ("SEQ(A+ a[]) WHERE a[i].x = 1", "A2 A1", ["1"]),
    "a[i] with a[i-1] begins at the second event": ("SEQ(A+ a[]) WHERE a[i].x > a[i-1].x", "A2 A1", ["0", "1"]),
    "a[i] with a[1] begins at the second event": ("SEQ(A+ a[]) WHERE a[i].x > a[1].x", "A1 A2 A2", ["0,1,2", "1", "2"]),
    "beside an end condition auto-stop does not end": (
        f"SEQ(A+ a[]) WHERE {STRICT}(a[]) {{ a[a.LEN].x = 2 }}",
        "A1 B",
        [],
    ),
    "with an end condition nothing has to stop": (
        f"SEQ(A+ a[]) WHERE {STRICT}(a[]) {{ a[a.LEN].x = 2 }}",
        "A2 A2",
        ["0", "0,1", "1"],
    ),
    "! stops at the end condition": (
        f"SEQ(A+ a[]) WHERE {NEXT}(a[]!) {{ a[a.LEN].x = 2 }}",
        "A1 A2 A2",
        ["0,1", "1", "2"],
    ),
    "! stops at the next component": (f"SEQ(A+ a[], B b) WHERE {NEXT}(a[]!, b) {{ }}", "A B B", ["0 1"]),
    "! gives the next component what both could select": (
        f"SEQ(A+ a[], A b) WHERE {NEXT}(a[]!, b) {{ }}",
        "A A A",
        ["0 1", "1 2"],
    ),
    "without ! both happen": ("SEQ(A+ a[], A b)", "A A A", ["0 1", "0,1 2", "1 2"]),
    "after the Kleene plus the next component's strategy skips": (
        f"SEQ(A+ a[], B b) WHERE {STRICT}(a[]) {{ }} {NEXT}(b) {{ }}",
        "A C B",
        ["0 2"],
    ),
    "and not that of the Kleene plus": (
        f"SEQ(A+ a[], B b) WHERE {NEXT}(a[]) {{ }} {STRICT}(b) {{ }}",
        "A C B",
        ["0 2"],
    ),
    "a single event is followed by the next component's strategy": (
        f"SEQ(A a, B b) WHERE {NEXT}(a) {{ }} {STRICT}(b) {{ }}",
        "A C B A B",
        ["3 4"],
    ),
    "strict contiguity holds between components": (
        f"SEQ(A+ a[], B b) WHERE {STRICT}(a[], b) {{ }}",
        "A C B A A B",
        ["3,4 5", "4 5"],
    ),
    "every type belongs to a partition": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ [y] }}",
        "A/k C/k B/k A/k C/l B/k",
        ["3 5"],
    ),
    "what is underlined is the partition": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ [y] and _( b.x = a.x )_ }}",
        "A1/k C2/k B1/k",
        ["0 2"],
    ),
    "where nothing is underlined for a component it is strict": (
        f"SEQ(A a, B b) WHERE {PARTITION}(a, b) {{ _( a.x = 1 )_ }}",
        "A1 C B A1 B",
        ["3 4"],
    ),
    "[y] compares neighbours, so that one event needs no y": (
        "SEQ(A+ a[]) WHERE [y]",
        "A A A/k A/k",
        ["0", "1", "2,3", "3"],
    ),
    "an event without a time is in no window but the one it begins": (
        "SEQ(A+ a[]) WITHIN 5 seconds",
        "A@0 A A@1",
        ["0,2", "1", "2"],
    ),
    "a negation lies strictly between its neighbours": ("SEQ(A a, ~A b, A c)", "A A A", ["0 1", "1 2"]),
    "a clause on a later event says of what is not there": (
        "SEQ(A a, ~B b, C c) WHERE c.x = b.x",
        "A B1 C2 A B1 C1",
        ["0 2"],
    ),
    "a negation after the last is over with the window": ("SEQ(A a, ~B b) WITHIN 5 seconds", "A@0 B@4 A@5 B@10", ["2"]),
    "an event without a time is in no scope that a window ends": (
        "SEQ(A a, ~B+ b[]) WHERE count(b[]) = 2 WITHIN 5 seconds",
        "A@0 B@1 B C@3",
        ["0"],
    ),
    "skip till any match tells every series at the end": (
        f"SEQ(A+ a[]) WHERE {READ_ANY}(a[]) {{ }}",
        "A A A",
        ["0", "0,1", "0,1,2", "0,2", "1", "1,2", "2"],
    ),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_we_decided(name: str) -> None:
    text, S, expected = DECIDED[name]
    assert found(text, S) == expected


PAIR = "SEQ(A a, B b) WHERE b.x = a.x"
SERIES = "SEQ(A a, C+ c[], B b) WHERE b.x = a.x"


@pytest.mark.parametrize(
    ("text", "S", "reading", "expected"),
    [
        (PAIR, "A1 A2 B2 B1", Reading(), [(1, 2)]),
        (PAIR, "A1 A2 B2 B1", Reading(non_overlap="earliest_start"), [(0, 3)]),
        (SERIES, "A1 A2 C B2 C B1", Reading(), [(1, 2, 3)]),
        (SERIES, "A1 A2 C B2 C B1", Reading(non_overlap="longest"), [(0, 2, 4, 5)]),
        (PAIR, "A1 B1 A1 B1", Reading(), [(0, 1), (2, 3)]),
    ],
)
def test_which_of_the_matches_that_overlap(
    text: str, S: str, reading: Reading, expected: list[tuple[int, ...]]
) -> None:
    q = parse(f"PATTERN {text} RETURN NON-OVERLAP a.x")
    assert [m.events for m in matches_of(q, events(S), denote.bindings, reading)] == expected


def test_each_other_reading_differs_in_one_answer() -> None:
    listed = vary_reading(Reading())
    assert ("window", "closed") in listed
    for (name, answer), reading in listed.items():
        assert getattr(reading, name) == answer != getattr(Reading(), name)
        assert replace(reading, **{name: getattr(Reading(), name)}) == Reading()
    assert len(listed) == sum(len(answers) - 1 for answers in choices(Reading).values())


def test_a_reading_is_read_from_texts() -> None:
    assert parse_reading(Reading, []) == Reading()
    assert parse_reading(Reading, ["window=closed", "last_kleene=every"]) == Reading(
        window="closed", last_kleene="every"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("windows=closed", "a reading has no question 'windows'"),
        ("window=shut", "reading window: expected open or closed, not 'shut'"),
        ("window", "reading window: expected open or closed, not ''"),
    ],
)
def test_what_is_no_reading_is_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_reading(Reading, [text])


# ---- typed ----
# The value types of terms of SASE+.

Q = parse("PATTERN SEQ(A a) RETURN a.x")


def test_the_type_of_an_attribute_of_no_event_is_not_known() -> None:
    assert isinstance(Q, SaseQuery)
    assert value_type(Attribute("x"), Q, {"A": {"x": "int"}}) is None
    assert value_type(Arithmetic("+", Constant(1), Constant(2)), Q, None) == "int"
    assert value_type(Arithmetic("+", Attribute("x"), Constant(2)), Q, None) == "float"


@pytest.mark.parametrize(
    ("function", "known"),
    [("count", "int"), ("avg", "float"), *((f, "string") for f in ("sum", "min", "max", "highest", "lowest"))],
)
def test_an_aggregate_has_the_type_of_what_it_is_taken_of(function: str, known: str) -> None:
    """But for the number of events, and the mean."""
    assert isinstance(Q, SaseQuery)
    assert value_type(SaseAggregate("x", "a", function), Q, {"A": {"x": "string"}}) == known
    assert value_type(Reference("x", "a"), Q, {"A": {"x": "string"}}) == "string"


# ---- watch ----
# The budget of a search counts its steps, in one search or several.


def test_as_many_steps_as_allowed_are_passed_on() -> None:
    watch = Counted(5, "bindings")
    assert list(watch("abc")) == ["a", "b", "c"]
    assert list(watch("de")) == ["d", "e"]
    with pytest.raises(BudgetExceeded, match="more than 5 bindings"):
        list(watch("f"))


def test_the_step_beyond_is_not_passed_on() -> None:
    steps, passed = iter("abc"), []
    with pytest.raises(BudgetExceeded):
        passed.extend(Counted(2, "bindings")(steps))
    assert list(steps) == []
    watch = iter(Counted(1, "bindings")("ab"))
    assert next(watch) == "a"
    with pytest.raises(BudgetExceeded):
        next(watch)


def test_no_step_is_passed_on_when_the_time_is_over() -> None:
    with Budget(seconds=0).timed(), pytest.raises(BudgetExceeded, match="0 seconds"):
        list(Counted(5, "bindings")("a"))


def test_without_a_budget_all_are() -> None:
    assert list(unwatched("abc")) == ["a", "b", "c"]
