"""What an earlier release of PySpark lacks is refused by its number; the programs for connectors are Python."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from cerify.semantics.errors import Unsupported

pyspark = pytest.importorskip("pyspark")


@pytest.mark.parametrize(
    ("version", "streams", "sql"), [("3.5.9", False, False), ("4.0.5", False, True), ("4.10.0", True, True)]
)
def test_what_needs_a_later_release_is_refused(
    monkeypatch: pytest.MonkeyPatch, version: str, streams: bool, sql: bool
) -> None:
    """Releases are compared as numbers: 4.10 is later than 4.1."""
    import cerify.spark
    from cerify.spark.session import CHUNKS, release, require_release

    monkeypatch.setattr(pyspark, "__version__", version)
    assert release() == tuple(map(int, version.split(".")[:2]))
    if streams:
        require_release(CHUNKS, "this")
    else:
        with pytest.raises(Unsupported, match=f"match_stream needs PySpark 4.1 or newer, and this is {version}"):
            cerify.spark.match_stream(_unread(), "A", event_time="at", partition_by="k")
    if sql:
        assert callable(cerify.spark.register)
    else:
        with pytest.raises(Unsupported, match=r"table function of SQL needs PySpark 4\.0"):
            _ = cerify.spark.register


def _unread() -> Any:
    """A data frame of which nothing may be asked before the release is."""
    return object()


@pytest.mark.parametrize("name", ["kafka", "delta", "iceberg"])
def test_the_programs_for_connectors_are_python(name: str) -> None:
    from proofs_tests.campaigns.spark_connectors import program

    assert any("match_stream" in ast.dump(node) for node in ast.walk(ast.parse(program(name))))
