"""What evaluators keep of a batch is given back with it, without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from itertools import count, islice

import pyarrow as pa
import pytest

import cerify
from cerify.automata.evaluate.tables import SHORT
from cerify.languages import LanguageName

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
    """Nothing is collected unless a test asks for it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize("evaluator", ["automaton", "kernel"])
@pytest.mark.parametrize(("language", "query"), QUERIES)
def test_a_batch_is_in_no_cycle_of_references(language: LanguageName, query: str, evaluator: str) -> None:
    """A cycle kept each batch, and what was computed of it, until Python looked for cycles: hundreds of megabytes."""
    compiled = cerify.compile(query, language=language, evaluator=evaluator)
    for events in islice(batches(), 4):
        compiled.count(events)
    gc.collect()
    for events in islice(batches(), 4, 6):
        compiled.count(events)
    assert gc.collect() == 0
