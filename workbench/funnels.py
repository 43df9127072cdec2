"""Count how many keys do A, then B, then C, and show at which step each of the rest stops.

A funnel finds, for each key of a stream (each user, order, machine), the longest prefix of its steps that the key's
events have, in this order and within a window. Funnels have a function of their own beside queries, because they are
common and databases define them in many ways. The reference evaluator is semantics/funnels.py. If CEL can
express a funnel, `Funnel.query` is its query. This module converts the columns of a stream to the arrays that
automata/funnels.py reads, and the computed levels to tables for analysts.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cerify.automata.funnels import (
    FunnelRows,
    KeyedRows,
    find_chains,
    find_mode_levels,
    first_step_back,
    sorted_by_time,
)
from cerify.equivalence.rewrite.translate_funnels import query_text
from cerify.semantics.arguments import did_you_mean, format_names
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow
from cerify.semantics.errors import IllFormed, InputError, QueryWarning, Unsupported
from cerify.semantics.events import TIME, TYPE, Events, Stream, add_observed
from cerify.semantics.files import NotInParts, as_stream, bounds_in_parquet, read_in_parts
from cerify.semantics.funnel_queries import (
    FunnelQuestion,
    FunnelStep,
    make_funnel_question,
    parse_attribute,
    step_problems,
)
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.predicates import mentions
from cerify.semantics.schemas import Schema
from cerify.semantics.values import ValueType, show_time

Starts = Literal["best", "first"]
Order = Literal["stream", "time", "strict"]
Row: TypeAlias = dict[str, Any]
MICROSECONDS, NANOSECONDS = 10**6, 10**9


@dataclass(frozen=True)
class StepCount:
    """The count of the keys that reached a step, with rates and times.

    rate: these keys as a share of the keys of the first step. of_previous: these keys as a share of the keys of the
    step before. median: the median time from the step before, in seconds (or in the unit of the window's
    attribute); None for the first step, for a step that no key reached, and for events without times.
    """

    step: str
    keys: int
    rate: float | None
    of_previous: float | None
    median: float | None

    def json(self) -> Row:
        """Return the count as a part of a JSON object."""
        names = ("step", "keys", "rate", "of_previous", "median")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _Axis:
    """The values by which the window is measured, as numbers.

    unit: the number that stands for one second, or for one unit of the window's attribute. valid: which values are
    present; None if all are.
    """

    values: np.ndarray
    valid: np.ndarray | None
    unit: int
    name: str | None  # the attribute; None for positions

    def take(self, places: np.ndarray) -> _Axis:
        """Return the values at these indices."""
        return replace(self, values=self.values[places], valid=None if self.valid is None else self.valid[places])


def _joined(parts: Sequence[_Axis]) -> _Axis:
    """Return the values of consecutive parts of the stream, concatenated."""
    if len(parts) == 1:
        return parts[0]
    valid = None
    if any(part.valid is not None for part in parts):
        valid = np.concatenate([np.ones(len(p.values), np.bool_) if p.valid is None else p.valid for p in parts])
    return replace(parts[0], values=np.concatenate([part.values for part in parts]), valid=valid)


@dataclass(frozen=True)
class _Chains:
    """The chains of all keys, one after the other: the positions of their steps, and their times.

    starts: for each key, where its chain begins in these arrays; the length of a chain is the key's level.
    """

    starts: np.ndarray
    positions: np.ndarray
    times: _Axis | None

    def at_step(self, keys: np.ndarray, i: int) -> np.ndarray:
        """Return the positions of step i + 1 in the chains of these keys, which must have reached it."""
        positions: np.ndarray = self.positions[self.starts[keys] + i]
        return positions

    def of_key(self, key: int) -> list[int]:
        """Return the positions of the steps of a key."""
        own: list[int] = self.positions[self.starts[key] : self.starts[key + 1]].tolist()
        return own


@dataclass
class Funnel:
    """The result of `cerify.funnel`.

    without_key, without_time: how many events are left out because they lack the key or a required time.
    """

    question: FunnelQuestion
    without_key: int
    without_time: int
    _source: _Source = field(repr=False)
    _levels: np.ndarray = field(repr=False)
    _chains: _Chains | None = field(repr=False)
    _has_rows: np.ndarray = field(repr=False)
    _keys: _Keys = field(repr=False)
    _axis: _Axis = field(repr=False)
    measure: str | None
    """The attribute with the times of the steps; None if the events have no times."""

    @property
    def events(self) -> Stream:
        """Return the events; if they come from a file, only with the attributes that the funnel needs."""
        return self._source.events

    @cached_property
    def keys(self) -> int:
        """Return the number of keys."""
        return 1 if self.question.by is None else int(np.count_nonzero(self._has_rows))

    @cached_property
    def counts(self) -> tuple[StepCount, ...]:
        """Return the counts of the steps, over all keys."""
        return self._count(None)

    @cached_property
    def _present(self) -> np.ndarray:
        """Return the indices of the keys that have events."""
        return np.arange(1) if self.question.by is None else np.flatnonzero(self._has_rows)

    @cached_property
    def _key_values(self) -> Any:
        return self._keys.values()

    @property
    def axis_name(self) -> str:
        """Return the attribute by which the window and the order are measured."""
        return self._axis.name or "position"

    @property
    def query(self) -> str:
        """Return the CEL query whose matches are the complete chains of events, one event for each step.

        Raises Unsupported, with the reason, if CEL has no such query.
        """
        needs_types = self.question.between is not None or any(step.type is None for step in self.question.steps)
        return query_text(self.question, self._source.types if needs_types else ())

    def split_by(self, attribute: str) -> dict[Any, tuple[StepCount, ...]]:
        """Return the counts for each value of an attribute of the first step's event, the most frequent value first.

        The key None is for events without the attribute. Raises InputError for an unknown attribute, and Unsupported
        for a mode of ClickHouse, which gives only a level.
        """
        column = self._split_column(attribute)
        begun = self._present[self._levels[self._present] > 0]
        values = column.take(pa.array(self._require_chains("a split").at_step(begun, 0))).combine_chunks()
        values = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
        codes = values.indices.fill_null(len(values.dictionary)).to_numpy(zero_copy_only=False)
        names = [*values.dictionary.to_pylist(), None]
        # Stable, so that values of equal frequency keep the order of the stream.
        order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
        return {names[code]: self._count(begun[codes == code]) for code in order if (codes == code).any()}

    def by_key(self) -> list[tuple[Any, int, tuple[int, ...]]]:
        """Return for each key its value, its level, and the positions of its steps; in a mode of ClickHouse, () for
        these.
        """
        values = self._key_values.take(pa.array(self._present)).to_pylist()
        levels, chains = self._levels[self._present].tolist(), self._chains
        return [
            (value, level, () if chains is None else tuple(sorted(chains.of_key(code))))
            for value, level, code in zip(values, levels, self._present, strict=True)
        ]

    def to_arrow(self, split: str | None = None) -> pa.Table:
        """Return a table with a row for each key: the key, its level, and the position and time of each step.

        Rows are sorted by key. With `split`, there is also a column with this attribute of the first step's event, null
        if the event lacks it. In a mode of ClickHouse, the table has only the key and the level. Raises the errors of
        `split_by`.
        """
        order, keys = self._sorted_keys()
        columns: dict[str, Any] = {"level": pa.array(self._levels[order], pa.int64())}
        if split is not None:
            column, begun = self._split_column(split), self._levels[order] > 0
            places = np.full(len(order), -1)
            places[begun] = self._require_chains("a split").at_step(order[begun], 0)
            name = parse_attribute(split)
            # A table needs different names, but an attribute may be called like the level or the key.
            name = f"{name} (split)" if name in (*columns, self.question.by) else name
            columns[name] = column.take(pa.array(places, mask=places < 0)).combine_chunks()
        if self._chains is not None:
            for i, name in enumerate(_column_names(self.question.steps)):
                positions = np.full(len(order), -1)
                positions[self._levels[order] > i] = self._chains.at_step(order[self._levels[order] > i], i)
                columns[f"{name} at"] = pa.array(positions, mask=positions < 0)
                if self.measure is not None:
                    columns[f"{name} time"] = self._times_at(positions)
        by = self.question.by or "key"
        return pa.table({f"{by} (key)" if by in columns else by: keys, **columns})

    def to_pandas(self, split: str | None = None) -> Any:
        """Return the table of `to_arrow` as a data frame of pandas."""
        return self.to_arrow(split).to_pandas()

    def write(self, path: str | Path, split: str | None = None) -> None:
        """Write the table of `to_arrow` to a file, CSV or Parquet by its suffix. Raises IllFormed, InputError."""
        suffix = Path(path).suffix.lower()
        try:
            if suffix == ".parquet":
                import pyarrow.parquet

                pyarrow.parquet.write_table(self.to_arrow(split), path)
            elif suffix == ".csv":
                import pyarrow.csv

                pyarrow.csv.write_csv(self.to_arrow(split), path)
            else:
                raise IllFormed(f"{path}: the name of the file must end in .csv or .parquet")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None

    def why(self, key: Any) -> list[str]:
        """Return sentences that say how far a key got, and why no further.

        key: the key's value, or its text. Raises InputError for an unknown key.
        """
        chains = self._require_chains("a reason")
        code = self._code_of(key)
        chain = chains.of_key(code)
        steps = [self._describe_step(step, p) for step, p in zip(self.question.steps, chain, strict=False)]
        if len(chain) == len(self.question.steps):
            return [*steps, "all steps are reached"]
        return [*steps, self._why_no_further(code, chain)]

    def _split_column(self, attribute: str) -> Any:
        """Return the values of an attribute at all positions."""
        self._require_chains("a split")
        attribute, events, path = parse_attribute(attribute), self.events, self._source.path
        if path is not None and attribute not in events.table.column_names:
            # The first reading kept only what the steps need, so that large files fit in memory.
            events = as_stream(path, attributes={attribute})
        return _column(events, attribute, "the split")

    # --- how the results are computed ---------------------------------------------------------------------------------

    def _count(self, keys: np.ndarray | None) -> tuple[StepCount, ...]:
        """Return the counts of the steps over these keys; None: over all keys."""
        levels, n = self._levels if keys is None else self._levels[keys], len(self.question.steps)
        # Summed from the highest level down, since a key that reached step 3 has reached steps 1 and 2; level 0 is left
        # out.
        reached = np.bincount(levels, minlength=n + 1)[:0:-1].cumsum()[::-1].tolist()
        counts = []
        for i, step in enumerate(self.question.steps):
            before = reached[i - 1] if i else reached[0]
            counts.append(
                StepCount(
                    step.text,
                    reached[i],
                    reached[i] / reached[0] if reached[0] else None,
                    reached[i] / before if before else None,
                    self._median(np.flatnonzero(levels > i) if keys is None else keys[levels > i], i) if i else None,
                )
            )
        return tuple(counts)

    def _median(self, keys: np.ndarray, i: int) -> float | None:
        """Return the median time from step i to step i + 1, counted from 1, of keys that have reached step i + 1."""
        if self._chains is None or self._chains.times is None:
            return None
        times = self._chains.times
        places = self._chains.starts[keys] + i
        differences = times.values[places] - times.values[places - 1]
        if times.valid is not None:
            differences = differences[times.valid[places] & times.valid[places - 1]]
        return float(np.median(differences)) / times.unit if len(differences) else None

    def _require_chains(self, what: str) -> _Chains:
        if self._chains is None:
            raise Unsupported(
                f"{what} needs the steps of each key, but a mode of ClickHouse gives only a level; leave mode out"
            )
        return self._chains

    def _sorted_keys(self) -> tuple[np.ndarray, Any]:
        values = self._key_values.take(pa.array(self._present))
        order = pc.sort_indices(values)
        return self._present[order.to_numpy()], values.take(order)

    def _code_of(self, key: Any) -> int:
        # Compared as a text too, because a key that is typed on the command line is always a text.
        for code in self._present:
            value = self._key_values[int(code)].as_py()
            if value == key or str(value) == str(key) or (hasattr(value, "isoformat") and show_time(value) == key):
                return int(code)
        near = did_you_mean(str(key), map(str, self._key_values[:1000].to_pylist()))
        raise InputError(f"no event has the key {key!r}{near}")

    def _times_at(self, positions: np.ndarray) -> Any:
        return self.events.table[self.measure].take(pa.array(positions, mask=positions < 0)).combine_chunks()

    def _describe_step(self, step: FunnelStep, position: int) -> str:
        return f"{step.text}: event {position}{self._at(position)}"

    def _at(self, position: int) -> str:
        if self.measure is None:
            return ""
        from cerify.semantics.arrow_columns import values_in

        value = values_in(self.events.table[self.measure].slice(position, 1))[0]
        if value is None:
            return ""
        return f", {_moment(value)}" if self.measure == TIME else f", {self.measure} = {value}"

    def _why_no_further(self, code: int, chain: Sequence[int]) -> str:
        question, k = self.question, len(chain)
        step = question.steps[k].text
        # Read again for this key: rows that take part in no chain were not kept, but they may be the reason.
        found = _read_rows(question, self._source, self._keys, prune=False, key=code)
        grouped = max((group for _, group in found.rows.groups()), key=lambda group: len(group.rows))
        if _reads_by_time(question):
            grouped = sorted_by_time(grouped)
        rows, masks, times = grouped.rows, grouped.masks.astype(np.int64), grouped.times
        of_step = np.flatnonzero((masks >> k) & 1)
        if len(of_step) == 0:
            return f"no {step}: no event of the key takes this step"
        barred = np.flatnonzero((masks >> len(question.steps)) & 1)
        if not chain:
            if question.start == "first" or len(barred):
                return (
                    f"no {step}: the first {step}, event {rows[of_step[0]]}, is also a forbidden {_between(question)}"
                )
            return f"no {step}"
        where = [int(np.flatnonzero(rows == p)[0]) for p in chain]
        later = of_step[of_step > where[-1]]
        last = question.steps[k - 1].text
        if len(later) == 0:
            last_place = int(rows[of_step[-1]])
            return f"no {step} after that: the last {step} is event {last_place}{self._at(last_place)}"
        after = int(later[0])
        here = f"the next {step} is event {rows[after]}{self._at(int(rows[after]))}"
        stops = barred[(barred > where[0]) & (barred <= after)]
        if len(stops):
            return f"{here}, but the forbidden {_between(question)} is event {rows[stops[0]]}"
        if question.order == "strict" and not times[after] > times[where[-1]]:
            return f"{here}, which is not later than {last}"
        if question.window is not None:
            distance = _distance(times[after] - times[where[0]], self._axis)
            return f"{here}, {distance} after {question.steps[0].text}: the window is {question.window.text}"
        return f"{here}, which is in no chain"


def funnel(
    events: Events | str | Path,
    steps: Sequence[str],
    *,
    by: str | None = None,
    within: str | timedelta | None = None,
    start: Starts = "best",
    order: Order = "stream",
    between: str | None = None,
    mode: str | None = None,
) -> Funnel:
    """Return how many of the steps each key of a stream reaches, in their order.

    events: as in `cerify.match`. steps: a step is an event type (`view`), a type with a condition (`view[price > 3]`)
    or a condition on events of any type (`[price > 3]`), in the syntax of predicates.

    by: the attribute whose values are the keys; without it, the whole stream is one key. within: the longest time
    allowed from the first step to the last: `"7 days"`, `"100 EVENTS"`, `"10 [price]"`, or a timedelta.

    The level of a key is the length of the longest prefix of the steps that its events have: different events, in the
    order of the stream, within the window. These events are a chain. If several chains have that length, the times of
    the steps are those of the chain that begins first, with each further step at its earliest event. With
    start="first", a chain can only begin at the key's first event of the first step. order="time" reads the events of a
    key by time, and events with equal times in the order of the stream. order="strict" does the same, and requires that
    times increase from step to step. between: a condition such as `"not refund"`: no refund may occur from the first
    step to the last. mode: compute levels as ClickHouse's windowFunnel does in this mode, such as `strict_order`.

    A step that no event takes is a QueryWarning. Raises ParseError, IllFormed and InputError. It is an InputError if
    the events are read in the order of the stream and the times of a key's steps decrease.

    >>> from cerify import funnel
    >>> rows = [{"type": "view", "user": 1}, {"type": "cart", "user": 1}, {"type": "view", "user": 2}]
    >>> [(count.step, count.keys) for count in funnel(rows, ["view", "cart"], by="user").counts]
    [('view', 2), ('cart', 1)]
    """
    question = make_funnel_question(steps, by, within, start, order, between, mode)
    try:
        source = _Source(question, events)
        found = _answer(question, source, ordered=True)
    except NotInParts:
        source = _Source(question, as_stream(events))
        found = _answer(question, source, ordered=True)
    _warn_of_steps(question, source)
    return found


def answer_question(question: FunnelQuestion, S: Stream) -> Funnel:
    """Return the result of a funnel on a stream. Raises IllFormed, InputError."""
    return _answer(question, _Source(question, S))


class _Source:
    """The events of a funnel, read part by part from a Parquet file, or all at once.

    The event types (`types`) and the attributes of each type (`seen`) are known only after all `parts` were read.
    """

    def __init__(self, question: FunnelQuestion, events: Events | str | Path) -> None:
        steps = [*question.steps, *([question.between] if question.between else [])]
        self.path = events if isinstance(events, str | Path) else None
        self.mentioned = {a.name for step in steps if step.predicate is not None for a in mentions(step.predicate)}
        measured = {TIME}
        if question.window is not None and isinstance(question.window.window, AttributeWindow):
            measured.add(question.window.window.attribute)
        self.attributes = self.mentioned | measured | ({question.by} if question.by is not None else set())
        self._needed = self.mentioned | measured
        self._parts = self._open_parts(self._needed)
        if self._parts is None:
            self.events = as_stream(events) if self.path is None else self.events
        self._seen: dict[str, dict[str, ValueType]] = {}

    @cached_property
    def events(self) -> Stream:
        """Return the events as one stream; from a Parquet file, only the attributes that the funnel needs."""
        assert self.path is not None
        S = as_stream(self.path, attributes=self.attributes)
        return S if self.attributes - {TIME} <= {*S.table.column_names} else as_stream(self.path)

    @property
    def types(self) -> list[str]:
        """Return the event types, sorted."""
        return sorted(self._seen)

    @property
    def seen(self) -> Schema:
        """Return the attributes of each event type. An attribute that no step mentions is listed for every type."""
        return Schema(self._seen)

    def key_events(self, by: str) -> Stream:
        """Return the events with the key attribute; from a Parquet file that is read in parts, only this attribute."""
        return self.events if self._parts is None or self.path is None else as_stream(self.path, attributes={by})

    def bounds(self, by: str) -> tuple[int, int] | None:
        """Return the least and the largest key if the keys are integers, else None.

        Raises InputError if no event has the attribute.
        """
        if self._parts is not None and self.path is not None:
            if (opened := self._open_parts({by})) is None or not pa.types.is_integer(next(opened[1]).table[by].type):
                return None
            self._needed.add(by)
            # The metadata tell the bounds without reading the column; `_read_rows` checks them.
            if (said := bounds_in_parquet(self.path, by)) is not None:
                return said
        column = _column(self.key_events(by), by, "the key")
        return _bounds(column) if pa.types.is_integer(column.type) else None

    def __len__(self) -> int:
        return len(self.events) if self._parts is None else self._parts[0]

    def _open_parts(self, attributes: Set[str]) -> tuple[int, Iterator[Stream]] | None:
        try:
            return None if self.path is None else read_in_parts(self.path, attributes)
        except NotInParts:
            return None

    def parts(self) -> Iterator[tuple[int, Stream]]:
        """Yield the parts of the stream in order, each with the position of its first event. Raises NotInParts."""
        parts = None if self._parts is None else self._open_parts(self._needed)
        first = 0
        for S in [self.events] if parts is None else parts[1]:
            S.require_read(self.mentioned)
            add_observed(self._seen, S, self.mentioned)
            yield first, S
            first += len(S)


def _reads_by_time(question: FunnelQuestion) -> bool:
    return question.order != "stream" or question.mode is not None


def _answer(question: FunnelQuestion, source: _Source, ordered: bool = False) -> Funnel:
    """Return the result of a funnel. Raises IllFormed, InputError.

    ordered: whether decreasing times within a key are an error even if the window is not on times, because durations
    would be negative.
    """
    keys = _number_keys(source, question.by)
    found = _read_rows(question, source, keys, prune=question.mode is None)
    rows, axis, times = found.rows, found.axis, found.times
    if ordered and times is not None and times.name != axis.name:
        _require_ascending_times(question, source, keys, times)
    n = len(question.steps)
    window = None if question.window is None else question.window.on_axis(axis.unit, axis.values.dtype.kind == "f")
    levels = np.zeros(keys.count, np.int8)
    positions: list[np.ndarray] = [np.zeros(0, np.int64)]
    moments: list[_Axis] = []
    for first, grouped in rows.groups():
        if rows.ascending:
            pass
        elif _reads_by_time(question):
            grouped = sorted_by_time(grouped)
        else:
            _require_ascending(question, grouped, axis.name)
        if question.mode is not None:
            reached = find_mode_levels(grouped, n, window, question.mode)
        else:
            is_first, increasing = question.start == "first", question.order == "strict"
            reached = find_chains(grouped, n, window, first=is_first, increasing=increasing)
        levels[first : first + grouped.keys] = reached.levels
        if reached.chains is not None:
            positions.append(grouped.rows[reached.chains])
            moments.append(replace(axis, values=grouped.times[reached.chains], valid=None))
    chains = None
    if question.mode is None:
        places = np.concatenate(positions)
        # Half the memory where it suffices: there is a number for each key, of which there may be very many.
        starts = np.zeros(len(levels) + 1, np.int32 if len(places) < 2**31 else np.int64)
        np.cumsum(levels, out=starts[1:])
        own = None if times is None else _joined(moments) if times.name == axis.name else times.take(places)
        chains = _Chains(starts, places, own)
    return Funnel(
        question, rows.without_key, rows.without_time, source, levels, chains, rows.present, keys,
        replace(axis, values=axis.values[:0], valid=None), None if times is None else times.name,
    )  # fmt: skip


@dataclass(frozen=True)
class _FoundRows:
    """The rows of a funnel, the values by which its window is measured, and the times of its steps."""

    rows: KeyedRows
    axis: _Axis
    times: _Axis | None


def _read_rows(
    question: FunnelQuestion, source: _Source, keys: _Keys, prune: bool, key: int | None = None
) -> _FoundRows:
    """Read the rows of a funnel. With `prune`, and if times ascend, leave out rows that no chain can use.

    key: the number of the only key to read; None: all keys.
    """
    every = question.mode is not None and "order" in question.mode  # these modes also need rows that take no step
    rows = KeyedRows(keys.count, every, len(question.steps) if prune else None)
    axis: _Axis | None = None
    times: list[_Axis] = []
    without_key = 0
    for first, S in source.parts():
        axis, measured = _axis_of(question, S, first)
        (masks, bits), numbers, valid = _masks(question, S), keys.numbers(first, S), axis.valid
        if key is not None:
            own = numbers == keys.least + key
            valid = own if valid is None else valid & own
        rows.add(first, numbers, axis.values, masks, valid, least=keys.least, bits=bits)
        if prune and not rows.ascending:
            # Which rows can be left out is decided in ascending times only; so everything is read once more.
            return _read_rows(question, source, keys, prune=False)
        if measured is not None:  # if the window is on the same attribute, `rows` already has the values
            times.append(replace(measured, values=measured.values[:0]) if measured.name == axis.name else measured)
        without_key += S.table[question.by].null_count if keys.are_values else 0
    assert axis is not None
    if keys.are_values and rows.without_key != without_key:
        raise InputError(
            f"the metadata of the file say that keys are from {keys.least} to {keys.least + keys.count - 1}, but a key "
            "is outside this range: write the file again"
        )
    return _FoundRows(rows, axis, _joined(times) if times else None)


def _require_ascending_times(question: FunnelQuestion, source: _Source, keys: _Keys, times: _Axis) -> None:
    """Raise InputError if the times of a key's steps decrease. times: the times of all events of the stream."""
    known = times.values if times.valid is None else times.values[times.valid]
    if not (known[1:] < known[:-1]).any():
        return
    rows = KeyedRows(keys.count, every=False)
    for first, S in source.parts():
        part, (masks, bits) = times.take(np.arange(first, first + len(S))), _masks(question, S)
        rows.add(first, keys.numbers(first, S), part.values, masks, part.valid, least=keys.least, bits=bits)
    for _, grouped in rows.groups():
        _require_ascending(question, grouped, times.name)


def _require_ascending(question: FunnelQuestion, rows: FunnelRows, name: str | None) -> None:
    """Raise InputError if the values of the attribute `name` decrease within a key."""
    if (back := first_step_back(rows)) is None:
        return
    before, after = back
    mend = 'to read the events of a key by time, give order="time" (--order time)'
    raise InputError(
        f"event {after} has a smaller {name} than event {before}{' of the same key' if question.by else ''}; "
        f"{mend if name == TIME else 'a window needs values that do not go back'}"
    )


def _warn_of_steps(question: FunnelQuestion, source: _Source) -> None:
    """Warn the caller of `funnel` of steps that do not fit the events."""
    for problem in step_problems(question, source.seen) if len(source) else ():
        warnings.warn(QueryWarning(problem.hinted), stacklevel=3)


def _column(S: Stream, name: str, what: str) -> Any:
    """Return a column of the stream's table. Raises InputError if there is none; `what` needs the column."""
    if name != TIME:  # events without a time are handled separately
        S.require_read([name])
    names = [column for column in S.known_attributes(S.table.column_names) if column != TYPE]
    if name not in names:
        hint = did_you_mean(name, names) or f"; there is {format_names(names)}"
        raise InputError(f"no event has the attribute {name!r} for {what}{hint}")
    return S.table[name]


def _axis_of(question: FunnelQuestion, S: Stream, first: int) -> tuple[_Axis, _Axis | None]:
    """Return the values by which the window and the order are measured, and the times to report, None without times.

    first: the position of the first event of S.
    """
    window = None if question.window is None else question.window.window
    needed = question.order != "stream" or question.mode is not None
    times = _numbers(S, TIME, "the time") if _is_measured(S, TIME) else None
    match window:
        case AttributeWindow(_, attribute):
            if question.order != "stream" and attribute != TIME:
                raise IllFormed(f"a window on {attribute} needs the order of the stream: leave order out")
            axis = _numbers(S, attribute, "the window")
            return axis, times or axis
        case TimeWindow():
            return (times or _numbers(S, TIME, "the window")), times
        case EventWindow() if needed:
            raise IllFormed(
                "a window of EVENTS counts positions, so it cannot be combined with order or mode: give a time window, "
                "or leave order and mode out"
            )
        case EventWindow() | None:
            if needed:
                return (times or _numbers(S, TIME, "the order")), times
            return _Axis(np.arange(first, first + len(S)), None, 1, None), times


def _is_measured(S: Stream, name: str) -> bool:
    """Return whether the stream has this attribute, with numbers or timestamps."""
    if name not in S.table.column_names:
        return False
    kind = S.table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


def _numbers(S: Stream, name: str, what: str) -> _Axis:
    """Return a column as numbers that can be subtracted: integers, microseconds, or floats."""
    column = _column(S, name, what)
    unit = 1
    if pa.types.is_timestamp(column.type):
        unit = NANOSECONDS if column.type.unit == "ns" else MICROSECONDS
        kind = column.type if unit == NANOSECONDS else pa.timestamp("us", tz=column.type.tz)
        column = column.cast(kind).cast(pa.int64())
    if pa.types.is_null(column.type):
        column = column.cast(pa.int64())
    if not pa.types.is_integer(column.type) and not pa.types.is_floating(column.type):
        raise InputError(f"the attribute {name!r} is of type {column.type}; {what} needs numbers or timestamps")
    valid = None
    if column.null_count:
        valid = column.is_valid().to_numpy()
        column = column.fill_null(0)
    values = column.to_numpy()
    if values.dtype.kind == "f" and np.isnan(values).any():
        finite = ~np.isnan(values)
        valid = finite if valid is None else valid & finite
    return _Axis(values, valid, unit, name)


@dataclass(frozen=True)
class _Keys:
    """The keys of a funnel, as `count` consecutive whole numbers from `least` on.

    numbers: a function from the first position of a part of the stream, and the part, to the number of each event's
    key; an event without a key gets a number outside the range. values: a function that returns the value of each key.
    are_values: whether the numbers are the values themselves.
    """

    count: int
    numbers: Callable[[int, Stream], np.ndarray]
    values: Callable[[], Any]
    least: int = 0
    are_values: bool = False


def _number_keys(source: _Source, by: str | None) -> _Keys:
    """Return the keys of the events, numbered. If keys are integers in a small range, their numbers are their values.

    Raises InputError if no event has the attribute.
    """
    if by is None:
        return _Keys(1, lambda _, S: np.zeros(len(S), np.int32), lambda: pa.array([None], pa.string()))
    if (bounds := source.bounds(by)) is not None and bounds[1] - bounds[0] < min(4 * len(source) + 1000, 2**31 - 1):
        low, high = bounds

        def values() -> Any:
            return pa.array(np.arange(high - low + 1) + low)

        return _Keys(high - low + 1, lambda _, S: _whole_numbers(S.table[by], low, high), values, low, True)
    column = _column(source.key_events(by), by, "the key")
    if pa.types.is_floating(column.type):
        column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), pc.add(column, 0.0))  # -0.0 is 0.0
    if pa.types.is_null(column.type):
        column = column.cast(pa.string())
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        encoded = column.combine_chunks()
    else:
        encoded = column.combine_chunks().dictionary_encode()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0) if encoded.num_chunks else pa.array([], pa.string()).dictionary_encode()
    codes = encoded.indices.cast(pa.int32()).fill_null(-1).to_numpy(zero_copy_only=False)
    count = max(1, len(encoded.dictionary))
    return _Keys(count, lambda first, S: codes[first : first + len(S)], lambda: encoded.dictionary)


def _whole_numbers(column: Any, low: int, high: int) -> np.ndarray:
    """Return a column of integers from `low` to `high` as an array, with a number outside this range for null."""
    column = column.cast(pa.int64())
    if column.null_count:
        column = column.fill_null(low - 1 if low > 0 else high + 1)  # cannot overflow, because the bounds are close
    numbers: np.ndarray = column.to_numpy()
    return numbers


def _bounds(column: Any) -> tuple[int, int] | None:
    """Return the least and the largest value of a column of integers; None if the column has no value."""
    low, high = (bound.as_py() for bound in pc.min_max(column).values())
    return None if low is None else (low, high)


def _masks(question: FunnelQuestion, S: Stream) -> tuple[np.ndarray, np.ndarray | None]:
    """Return a bit mask for each event: bit i for the i-th step, and the last bit for events that `between` forbids.

    The result is either (masks, None), or (indices, table) where the mask of event n is table[indices[n]].
    """
    from cerify.semantics.columns import mask  # imported here because the command's help works without Arrow

    steps = [*question.steps, *([question.between] if question.between else [])]
    dtype = np.int16 if len(steps) < 15 else np.int64
    by_type: dict[str, int] = {}
    for i, step in enumerate(steps):
        if step.type is not None and step.predicate is None:
            by_type[step.type] = by_type.get(step.type, 0) | 1 << i
    column = S.table[TYPE]
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        bits = np.array([by_type.get(name, 0) for name in encoded.dictionary.to_pylist()] or [0], dtype)
        parts.append((encoded.indices.to_numpy(zero_copy_only=False), bits))
    conditions = [(i, step, step.predicate) for i, step in enumerate(steps) if step.predicate is not None]
    if len(parts) == 1 and not conditions:
        return parts[0]
    masks = np.concatenate([np.zeros(0, dtype), *(bits[codes] for codes, bits in parts)])
    for i, step, predicate in conditions:
        holds = mask(predicate, S.table)
        if step.type is not None:
            holds = pc.and_(holds, pc.equal(column.cast(pa.string()), step.type).combine_chunks())
        masks |= holds.to_numpy(zero_copy_only=False).astype(dtype) << i
    return masks, None


def _column_names(steps: Sequence[FunnelStep]) -> list[str]:
    """Return distinct names for the columns of the steps: their texts, numbered if two are equal."""
    texts = [step.text for step in steps]
    return [f"{text} ({i + 1})" if texts.count(text) > 1 else text for i, text in enumerate(texts)]


def _between(question: FunnelQuestion) -> str:
    return question.between.text if question.between is not None else "event"


def _moment(value: Any) -> str:
    return show_time(value) if hasattr(value, "isoformat") else f"time {value}"


def _distance(value: Any, axis: _Axis) -> str:
    if axis.name == TIME:
        return show_duration(float(value) / axis.unit)
    return f"{value} events" if axis.name is None else f"{value} of {axis.name}"


def show_duration(seconds: float) -> str:
    """Return a duration in its two largest units, as "2 d 3 h".

    >>> show_duration(93600), show_duration(0.25)
    ('1 d 2 h', '0.25 s')
    """
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if seconds < 60:
        return f"{sign}{seconds:.3g} s"
    parts: list[str] = []
    rest = round(seconds)
    for name, length in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        whole, rest = divmod(rest, length)
        if whole and len(parts) < 2:
            parts.append(f"{whole} {name}")
    return sign + " ".join(parts)
