"""Saved states of evaluators: when they can be written, where they go, and what is refused."""

import json
import pickle
from copy import deepcopy
from io import BytesIO
from math import inf
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.automata.evaluate.readable import ReadableCelEvaluator
from cerify.automata.evaluator import Consumption
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError
from proofs_tests.support import sealed

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
    with pytest.raises(BudgetExceeded, match="not part of a saved state"):
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
        with pytest.raises(InputError, match="no saved state of an evaluator, are one of an earlier version, or were"):
            evaluator.fresh().restore(damaged)
        with pytest.raises(InputError, match="damaged") as raised:
            evaluator.fresh().restore(sealed(evaluator, damaged))
        assert "allow_pickle" not in str(raised.value)
