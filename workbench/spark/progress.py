"""A line for each batch of a stream: what it read and found, and how long it took."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from pyspark.sql.streaming.listener import (
    QueryProgressEvent,
    QueryStartedEvent,
    QueryTerminatedEvent,
    StreamingQueryListener,
    StreamingQueryProgress,
)

from cerify.spark.errors import error_line
from cerify.spark.streams.state_schema import MATCH

LOGGER = logging.getLogger("cerify.spark")


class ProgressLines(StreamingQueryListener):
    """A listener that writes a line for each batch of the streams of match_stream, and one for a stream that fails.

    write is called with the line, by default a logger's `info`; observe is that of match_stream. Add it by
    `spark.streams.addListener(ProgressLines())`.
    """

    def __init__(self, write: Callable[[str], Any] = LOGGER.info, observe: str = "cerify") -> None:
        self._write, self._observe = write, observe

    def onQueryStarted(self, event: QueryStartedEvent) -> None:
        """See StreamingQueryListener."""

    def onQueryProgress(self, event: QueryProgressEvent) -> None:
        """See StreamingQueryListener."""
        if self._observe in event.progress.observedMetrics:
            self._write(line_of(event.progress, self._observe))

    def onQueryTerminated(self, event: QueryTerminatedEvent) -> None:
        """See StreamingQueryListener."""
        if event.exception is not None:
            self._write(f"stream {event.id} failed: {error_line(event.exception)}")


def line_of(progress: StreamingQueryProgress, observe: str = "cerify") -> str:
    """A line about a batch: rows read, rows of the answer by kind, keys with state, watermark, seconds."""
    found = {kind: number for kind, number in progress.observedMetrics[observe].asDict().items() if number}
    matches = found.pop(MATCH, 0)
    keys = sum(operator.numRowsTotal for operator in progress.stateOperators)
    parts = [
        f"{progress.numInputRows} rows read",
        f"{matches} matches",
        *(f"{number} {kind}" for kind, number in found.items()),
        f"{keys} states",
        f"watermark {progress.eventTime.get('watermark', 'none')}",
        f"{progress.batchDuration / 1000:.1f} s",
    ]
    return f"stream {progress.name or progress.id}, batch {progress.batchId}: {', '.join(parts)}"
