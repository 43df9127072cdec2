"""Releases of PySpark, connectors and spark-submit, each by its campaign; they fetch a gigabyte."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner

from proofs_tests.campaigns import spark_connectors, spark_submit, spark_versions

FOLDER = os.environ.get("CERIFY_SPARK_RELEASES")
pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(FOLDER is None, reason="set CERIFY_SPARK_RELEASES to a folder for what PyPI and Maven have"),
]


@pytest.mark.parametrize("version", ["3.5.9", "4.0.5", "4.1.4", "4.2.1"])
def test_a_release_of_pyspark(version: str) -> None:
    found = spark_versions.with_release(version, Path(FOLDER or ""))
    assert [reason for reason in found.values() if reason.startswith("FAILS")] == []
    assert found["match: keys"] == spark_versions.WORKS


@pytest.mark.skipif(shutil.which("mvn") is None, reason="Maven fetches the connectors")
@pytest.mark.parametrize("name", [*spark_connectors.SETTINGS])
def test_a_connector(name: str) -> None:
    result = CliRunner().invoke(spark_connectors.main, [name, "--folder", FOLDER or ""])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("way", [*spark_submit.WAYS])
def test_spark_submit(way: str) -> None:
    result = CliRunner().invoke(spark_submit.main, [way])
    assert result.exit_code == 0, result.output
