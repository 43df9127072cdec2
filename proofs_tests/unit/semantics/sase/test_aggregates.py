"""Aggregates: their values, and that they are associative operations with an identity."""

import math
from datetime import UTC, datetime
from itertools import product

import pytest

from cerify.semantics.errors import IllFormed, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.sase.denote import extended, folded, operation_of, ranked
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import Operation, SaseAggregate
from cerify.semantics.values import Value

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
    with pytest.raises(IllFormed, match=rf"{function} needs to know how many: write {function}\(3"):
        operation_of(SaseAggregate("x", "a", function))
