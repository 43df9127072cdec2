"""Saved states of evaluators: when they can be written, where they go, and what is refused."""

from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pytest

from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.state import restore, save
from cerify.semantics.cel.parse import parse

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
