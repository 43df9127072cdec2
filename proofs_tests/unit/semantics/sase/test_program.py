"""What a query answers once its bindings are found: HAVING, NON-OVERLAP, RETURN, UNION, and streams of results."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

import cerify
from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import Event, Match, Schema, Stream
from cerify.semantics.sase import denote
from cerify.semantics.sase.clauses import beyond_cayuga, beyond_sql_ts, operators, strategies
from cerify.semantics.sase.interpreter import matches_of
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Operation, Reading
from proofs_tests.unit.semantics.sase.printed import Q4_AND_Q5, QUERIES
from proofs_tests.unit.semantics.sase.streams import events


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
