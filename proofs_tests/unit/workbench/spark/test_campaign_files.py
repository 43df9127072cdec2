"""The plan of a campaign on Spark, where the file is of something else."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cerify.semantics.errors import InputError
from cerify.spark.campaign import Folder


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"x": [1]}),
        pa.table({"plan": ["{}"], "range": ["a"]}),
        pa.table({"plan": ["{}"], "range": [1]}),
        pa.table({"plan": ["1"], "range": [1]}),
        pa.table({"plan": ["{"], "range": [1]}),
        pa.table({"plan": pa.array([], pa.string())}),
    ],
)
def test_a_plan_of_something_else_is_refused(table: pa.Table, tmp_path: Path) -> None:
    pq.write_table(table, tmp_path / "plan.parquet")
    with pytest.raises(InputError, match=f"^{tmp_path} is no folder of a campaign: "):
        Folder(tmp_path).plan()


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"^{tmp_path} is no folder of a campaign: "):
        Folder(tmp_path).plan()
