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

if TYPE_CHECKING:
    from cerify.spark.streams.key_states import KeyStates

HELD, KEPT = "held", "kept"
HELD_SCHEMA = "rows binary"
KEPT_SCHEMA = (
    "plan binary, first bigint, last bigint, began bigint, position bigint, run binary, ids binary, timer bigint"
)
KIND, MATCH = "kind", "match"


class Processor(StatefulProcessor):
    """The streams of all keys; see key_states.py."""

    def __init__(self, plan: str) -> None:
        self._plan = plan
        self._states: KeyStates | None = None

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

    def _its(self) -> KeyStates:
        if self._states is None:
            from cerify.spark.streams.key_states import KeyStates

            self._states = KeyStates(self._plan, self._handle, self._held, self._kept)
        return self._states
