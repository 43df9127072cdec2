"""The stateful operator of match_stream, which Spark calls for each key.

Spark starts a Python process for each batch only to ask for the states. So this module imports the evaluators only when
rows are read.
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

from cerify.spark.transport import HELD, HELD_SCHEMA, KEPT, KEPT_SCHEMA

if TYPE_CHECKING:
    from cerify.semantics.cel.denote import Predicates
    from cerify.spark.keyed_streams import KeyOperator


class Processor(StatefulProcessor):
    """The stateful operator for the streams of all keys. A KeyOperator evaluates them."""

    def __init__(self, plan: str, predicates: Predicates) -> None:
        self._plan, self._predicates = plan, predicates
        self._keys: KeyOperator | None = None

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Declare the states. Spark calls this first."""
        self._handle = handle
        self._held = handle.getListState(HELD, HELD_SCHEMA)
        self._kept = handle.getValueState(KEPT, KEPT_SCHEMA)
        self._keys = None

    def handleInputRows(self, key: Any, rows: Iterable[Any], timerValues: TimerValues) -> Iterator[Row]:
        """Yield the rows of the answer for the rows of a key that one batch brings.

        rows: each has a blob that packs several rows of the key.
        """
        return self._operator().process_rows(key, rows, timerValues.getCurrentWatermarkInMs())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        """Yield the rows of the answer for a key whose timer has expired, because the watermark has passed it.

        In each batch, Spark calls this after `handleInputRows`.
        """
        return self._operator().wake(key, expiredTimerInfo.getExpiryTimeInMs(), timerValues.getCurrentWatermarkInMs())

    def _operator(self) -> KeyOperator:
        if self._keys is None:
            from cerify.spark.keyed_streams import KeyOperator, StreamPlan

            plan = StreamPlan.from_json(self._plan, self._predicates)
            self._keys = KeyOperator(plan, self._handle, self._held, self._kept)
        return self._keys
