"""The cuts of a stream without keys into chunks, with the numbers of events of each chunk.

The cuts are values of the first column that orders the events, so this column alone determines the chunk of an event.
They are chosen from a sample. The events of each chunk are then counted exactly, since positions count from the first
event of the whole stream.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.automata.evaluate.reach import LookbackBounds
from cerify.automata.evaluate.scope_columns import MICROSECONDS
from cerify.semantics.events import TIME
from cerify.spark.columns import TIMES, WHOLE, column
from cerify.spark.runs.rows import Columns

CHUNK, LAST = "cerify_chunk", "cerify_last_chunk"
SAMPLE = 1_000  # events for each chunk
LEAST = 2**63  # below zero: the least whole number of a column

OrderValue: TypeAlias = Any
"""A value of the first column of the order, one of time as microseconds; None comes before all others."""


@dataclass(frozen=True)
class Cuts:
    """Chunk c owns the events from starts[c-1] up to, not including, starts[c], and reads those from lows[c-1] on.

    first: the position of its first own event. before: the number of events it reads before that. owned: the number of
    events it owns.
    """

    starts: tuple[OrderValue, ...] = ()
    lows: tuple[OrderValue, ...] = ()
    first: tuple[int, ...] = (0,)
    before: tuple[int, ...] = (0,)
    owned: tuple[int, ...] = (0,)

    @property
    def chunks(self) -> int:
        """The number of chunks."""
        return len(self.first)


def cuts_of(df: DataFrame, columns: Columns, reach: LookbackBounds, parts: int) -> Cuts | None:
    """Cuts into at most `parts` chunks, which together read fewer foreign events than there are events.

    None if the reach has a width on an attribute other than the first one that orders the events.
    """
    widths = [width_in_places(df, columns, a, width) for a, width in reach.widths]
    if None in widths:
        return None
    place = place_of(df, columns)
    sample, scale = _sampled(df, place, parts)
    width = max((width for width in widths if width is not None), default=None)
    while parts > 1:
        starts = starts_of(sample, parts)
        lows = lows_of(sample, starts, reach.events, width, scale)
        begins = (0 if low is None else bisect_left(sample, low) for low in lows)
        foreign = sum(bisect_left(sample, start) - low for start, low in zip(starts, begins, strict=True))
        if foreign < len(sample):
            break
        parts //= 2
    else:
        return counted(df, place, (), ())
    margin = 1
    while True:
        found = counted(df, place, starts, lows_of(sample, starts, reach.events, width, scale, margin))
        if all(b >= min(reach.events - 1, f) for b, f in zip(found.before, found.first, strict=True)):
            return found
        margin *= 2


def even_cuts(df: DataFrame, columns: Columns, parts: int) -> Cuts:
    """Cuts into at most `parts` chunks of about the same size, which read their own events only; not counted."""
    starts = tuple(starts_of(_sampled(df, place_of(df, columns), parts)[0], parts))
    nothing = (0,) * (len(starts) + 1)
    return Cuts(starts, starts, nothing, nothing, nothing)


def counted(df: DataFrame, place: Column, starts: Sequence[OrderValue], lows: Sequence[OrderValue]) -> Cuts:
    """The cuts at these places, with the exact numbers of events."""
    here = df.select(*spread(place, starts, lows)).groupBy(CHUNK, LAST).count().collect()
    owned, before = [0] * (len(starts) + 1), [0] * (len(starts) + 1)
    for c, last, number in here:
        owned[c] += number
        for later in range(c + 1, last + 1):
            before[later] += number
    first = tuple(accumulate(owned[:-1], initial=0))
    return Cuts(tuple(starts), tuple(lows), first, tuple(before), tuple(owned))


def spread(place: Column, starts: Sequence[OrderValue], lows: Sequence[OrderValue]) -> tuple[Column, Column]:
    """The chunk that owns an event, and the last chunk that reads it; all chunks between read it too."""
    always = sum(low is None for low in lows)
    return (_at_most(place, list(starts)).alias(CHUNK), _at_most(place, list(lows[always:]), always).alias(LAST))


def place_of(df: DataFrame, columns: Columns) -> Column:
    """The place of an event by the first column of the order; microseconds for times."""
    name = columns.order[0]
    place: Column = column(name)
    return F.unix_micros(place.cast("timestamp")) if isinstance(df.schema[name].dataType, TIMES) else place


def in_chunks(df: DataFrame, columns: Columns, cuts: Cuts) -> DataFrame:
    """The rows, each in all chunks that read it; a partition for each chunk, sorted."""
    chunk, last = spread(place_of(df, columns), cuts.starts, cuts.lows)
    if cuts.lows == cuts.starts:
        some = df.withColumn(CHUNK, chunk)
    else:
        some = df.withColumn(CHUNK, F.explode(F.sequence(chunk, last)))
    order = map(column, columns.order)
    return some.repartitionById(cuts.chunks, CHUNK).sortWithinPartitions(CHUNK, *order)


def _at_most(place: Column, values: list[OrderValue], base: int = 0) -> Column:
    """base plus the number of ascending values that are at most the place, by bisection."""
    if not values:
        return F.lit(base)
    middle = len(values) // 2
    below, above = _at_most(place, values[:middle], base), _at_most(place, values[middle + 1 :], base + middle + 1)
    number: Column = F.when(place < F.lit(values[middle]), below).otherwise(above)
    return number


def _sampled(df: DataFrame, place: Column, parts: int) -> tuple[list[OrderValue], float]:
    """A sample of the places, ascending, and the number of events for each place of it."""
    name = "place"
    rows = df.count()
    places = df.select(place.alias(name))
    valid = F.col(name).isNotNull()
    if isinstance(places.schema[name].dataType, T.FloatType | T.DoubleType):
        valid = valid & ~F.isnan(name)
    share = SAMPLE * parts / max(rows, 1)
    some = places.where(valid) if share >= 1 else places.where(valid).sample(share, 0)
    found = sorted(row[0] for row in some.collect())
    return found, max(1, rows) / max(1, len(found))


def starts_of(sample: list[OrderValue], parts: int) -> list[OrderValue]:
    """At most `parts` - 1 places that cut the sample into equal parts, all after its first place."""
    cuts = sorted({sample[len(sample) * c // parts] for c in range(1, parts)}) if sample else []
    return [place for place in cuts if place > sample[0]]


def lows_of(
    sample: list[OrderValue], starts: Sequence[OrderValue], events: int, width: Any, scale: float, margin: int = 1
) -> list[OrderValue]:
    """For each start the place from which its chunk reads; the sample estimates where `events` - 1 events begin."""
    back = 0 if events == 1 else math.ceil(margin * 1.5 * (events - 1) / scale) + margin
    lows: list[OrderValue] = []
    for start in starts:
        at = bisect_left(sample, start) - back
        low = None if at < 0 else start if back == 0 else sample[at]
        if width is not None and low is not None:
            least = _less(start, width)
            low = None if least is None else min(low, least)
        lows.append(low)
    for c in range(len(lows) - 1, 0, -1):  # ascending
        if lows[c] is None or (lows[c - 1] is not None and lows[c] < lows[c - 1]):
            lows[c - 1] = lows[c]
    return lows


def _less(start: Any, width: int | float) -> Any:
    """The start minus the width, rounded down; None if it is below all whole numbers of a column."""
    if isinstance(start, int):
        low = start - math.ceil(min(width, 2 * LEAST))
        return low if low >= -LEAST else None
    return math.nextafter(start - width, -math.inf)


def width_in_places(df: DataFrame, columns: Columns, attribute: str, width: int | float) -> int | float | None:
    """The width of a window on the attribute in places; None unless it is the first column of the order."""
    name = columns.time if attribute == TIME else attribute
    kind = df.schema[columns.order[0]].dataType
    if name != columns.order[0]:
        return None
    if isinstance(kind, TIMES):
        return max(0, width) * MICROSECONDS
    return max(0, width) if isinstance(kind, (*WHOLE, T.FloatType, T.DoubleType)) else None
