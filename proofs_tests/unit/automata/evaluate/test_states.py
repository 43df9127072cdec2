"""Saved states of evaluators: when they can be written, where they go, and what is refused."""

import json
from io import BytesIO
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.state import restore, save
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import BudgetExceeded, InputError

BATCH = pa.table({"type": ["A", "B", "A", "B"], "time": [1, 2, 3, 4], "k": [1, 1, 2, 2]})


def written(evaluator: Evaluator) -> bytes:
    """The state of an evaluator, as save writes it."""
    file = BytesIO()
    save(evaluator, file)
    return file.getvalue()


@pytest.mark.parametrize("window", ["", " WITHIN 3 EVENTS", " PARTITION BY [k]", " WITHIN 9 seconds PARTITION BY [k]"])
@pytest.mark.parametrize("batches", [[], [BATCH[:0]]])
def test_a_state_before_the_first_event_is_one_too(window: str, batches: list[pa.Table]) -> None:
    evaluator = Evaluator(parse("A ; B" + window))
    for batch in batches:
        evaluator.push(batch)
    restored = evaluator.fresh()
    restore(restored, BytesIO(written(evaluator)))
    assert restored.push(BATCH) == evaluator.push(BATCH) != []


@pytest.mark.parametrize("name", ["state", "state.v1", "state.npz"])
def test_a_state_is_written_where_it_is_asked_to_be(name: str, tmp_path: Path) -> None:
    evaluator = Evaluator(parse("A ; B"))
    save(evaluator, tmp_path / name)
    save(evaluator, str(tmp_path / name))
    restore(evaluator.fresh(), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_restored_evaluator_says_why_it_cannot_count_on() -> None:
    evaluator = Evaluator(parse("A+"))
    assert evaluator.count(pa.table({"type": ["A"] * 70})) == 2**70 - 1
    restored = evaluator.fresh()
    restore(restored, BytesIO(written(evaluator)))
    assert evaluator.count(pa.table({"type": ["A"]})) == 2**70
    with pytest.raises(BudgetExceeded, match="not part of a saved state"):
        restored.count(pa.table({"type": ["A"]}))


def headed(state: bytes, **changes: Any) -> BytesIO:
    """A state with some of its header replaced, or taken out where that is None."""
    arrays = dict(np.load(BytesIO(state)))
    header = json.loads(arrays["header"].tobytes()) | changes
    text = json.dumps({name: value for name, value in header.items() if value is not None}).encode()
    file = BytesIO()
    np.savez(file, **(arrays | {"header": np.frombuffer(text, np.uint8)}))
    return BytesIO(file.getvalue())


@pytest.mark.parametrize(
    "changes",
    [{"query": None}, {"position": 10**30}, {"position": -1}, {"position": inf}, {"growth": [2, 10**30]}],
)
def test_no_header_is_trusted(changes: dict[str, Any]) -> None:
    evaluator = Evaluator(parse("A ; B"))
    evaluator.push(BATCH)
    state = written(evaluator)
    restore(evaluator.fresh(), headed(state))
    with pytest.raises(InputError, match=r"no saved state|damaged"):
        restore(evaluator.fresh(), headed(state, **changes))


def test_a_file_packed_in_an_unknown_way_is_no_state() -> None:
    evaluator = Evaluator(parse("A ; B"))
    state = bytearray(written(evaluator))
    state[state.index(b"PK\x01\x02") + 10] = 99  # how the first member is compressed
    with pytest.raises(InputError, match="no saved state"):
        restore(evaluator.fresh(), BytesIO(bytes(state)))
