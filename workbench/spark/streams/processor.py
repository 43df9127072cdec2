"""What Spark's stateful operator calls for each key of a stream of events.

Spark starts a Python of its own for each batch, only to ask which states there are. So this module imports little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

from cerify.spark.streams.state_schema import HELD, HELD_SCHEMA, KEPT, KEPT_SCHEMA

if TYPE_CHECKING:
    from cerify.spark.streams.key_operator import KeyOperator


class Processor(StatefulProcessor):
    """The streams of all keys; see key_operator.py."""

    def __init__(self, plan: str) -> None:
        self._plan = plan
        self._states: KeyOperator | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Called before anything else."""
        self._handle = handle
        self._held = handle.getListState(HELD, HELD_SCHEMA)
        self._kept = handle.getValueState(KEPT, KEPT_SCHEMA)
        self._states = None

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: TimerValues) -> Iterator[Row]:
        """Called with the packs of a key that has some in a batch."""
        return self._its().read(key, rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Called for a key when the watermark has passed its timer, after the rows of the batch."""
        return self._its().wake(key, expiredTimerInfo.getExpiryTimeInMs(), timerValues.getCurrentWatermarkInMs())

    def _its(self) -> KeyOperator:
        if self._states is None:
            from cerify.spark.streams.key_operator import KeyOperator

            self._states = KeyOperator(self._plan, self._handle, self._held, self._kept)
        return self._states
