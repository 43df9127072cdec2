"""Lines about batches of streams and about failures."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyspark")

FAILED = """[PYTHON_EXCEPTION] An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/x/answers.py", line 48, in answers
    raise ValueError("no")
{}
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.handlePythonException(PythonRunner.scala:1097)
\tat java.base/java.lang.Thread.run(Thread.java:840)
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (FAILED.format("ValueError: no"), "ValueError: no"),
        (FAILED.format("pyarrow.lib.ArrowInvalid: no\nKeyError: 'k'"), "KeyError: 'k'"),
        ("Job aborted\n\tat java.base/java.lang.Thread.run(Thread.java:840)", "Job aborted"),
        (
            "An error occurred while calling o1.x.\n: java.io.IOException: mkdir of file:/out failed\n\n\tat x.Y(Y)",
            "java.io.IOException: mkdir of file:/out failed",
        ),
        ("", "Exception('')"),
    ],
)
def test_a_failure_is_one_line(text: str, line: str) -> None:
    from cerify.spark.transport import error_line

    assert error_line(text) == line


def test_an_error_of_cerify_is_its_kind_and_message() -> None:
    from cerify.semantics.errors import InputError
    from cerify.spark.transport import WorkerError, error_line, serialize_error

    with pytest.raises(WorkerError) as raised, serialize_error():
        raise InputError("k='a', ts=3: no")
    assert (
        error_line(FAILED.format(f"cerify.spark.transport.WorkerError: {raised.value}"))
        == "InputError: k='a', ts=3: no"
    )


def test_an_error_with_line_breaks_is_one_line() -> None:
    from cerify.semantics.errors import IllFormed
    from cerify.spark.transport import error_line

    assert error_line(IllFormed("near failed with ValueError: a\n  bug\r\nin lines")) == (
        "IllFormed: near failed with ValueError: a bug in lines"
    )


def test_a_batch_is_one_line() -> None:
    from pyspark.sql import Row
    from pyspark.sql.streaming.listener import StreamingQueryProgress

    from cerify.spark.streaming import line_of

    progress: dict[str, Any] = {
        "id": "0" * 32, "runId": "0" * 32, "name": "late", "timestamp": "", "batchId": 7, "batchDuration": 1250,
        "durationMs": {}, "eventTime": {"watermark": "2024-01-01T10:00:20.000Z"}, "stateOperators": [], "sources": [],
        "sink": {"description": "", "numOutputRows": -1}, "numInputRows": 12, "inputRowsPerSecond": 0.0,
        "processedRowsPerSecond": 0.0, "observedMetrics": {},
    }  # fmt: skip
    found = StreamingQueryProgress.fromJson(progress)
    found.observedMetrics["cerify"] = Row("match", "late", "no key")(3, 2, 0)
    assert line_of(found) == (
        "stream late, batch 7: 12 rows read, 3 matches, 2 late, 0 states, watermark 2024-01-01T10:00:20.000Z, 1.2 s"
    )
