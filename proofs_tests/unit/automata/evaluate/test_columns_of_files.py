"""Of a file of Parquet an evaluator reads the columns that its query names, and messages know the others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerify.api import compile
from cerify.semantics.errors import IllFormed, InputError, QueryWarning
from cerify.semantics.events import Stream
from cerify.semantics.files import read


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
    with pytest.raises(InputError, match="field 'large': 18446744073709551615 is not exact"):
        read(path).require_read()


def test_a_message_names_the_columns_that_were_not_read(tmp_path: Path) -> None:
    pq.write_table(pa.table({"type": ["A", "B"], "temp": [1, 2]}), tmp_path / "e.parquet")
    with pytest.warns(QueryWarning, match="A has no attribute 'tmp'; it has temp; did you mean temp"):
        compile("(A ; B) FILTER A[tmp > 0]", evaluator="kernel").push(tmp_path / "e.parquet")
    with pytest.raises(IllFormed, match="did you mean temp"):
        compile("(A ; B) FILTER A[tmp > 0]", evaluator="kernel", strict=True).push(tmp_path / "e.parquet")


def test_types_and_times_of_other_names(path: Path, tmp_path: Path) -> None:
    table = pq.read_table(path, columns=["hum", "type", "time"]).rename_columns(["hum", "kind", "at"])
    pq.write_table(table, tmp_path / "named.parquet")
    S = read(tmp_path / "named.parquet", type_column="kind", time_column="at", attributes=frozenset({"time"}))
    assert S.table.column_names == ["type", "time"]
    assert Stream([{"type": "A", "time": 0}, {"type": "B", "time": 1}, {"type": "A", "time": 2}]) == S
