"""Funnels: how many keys do A, then B, then C, and where the others stop.

A funnel is a question about each key of a stream (each user, order, machine): the longest prefix of its steps that the
key's events have, in this order and within a window. It is so common, and databases answer it in so many ways,
that it has an entry of its own beside queries. What the answer means is defined in semantics/funnels.py, and is CEL
wherever CEL has a text for it: `Funnel.query` is that text. Here the columns of a stream become what the loops of
automata/funnels.py read, and levels become a table that an analyst reads.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cerify.automata.funnels import (
    FunnelRows,
    find_chains,
    find_mode_levels,
    first_step_back,
    group_rows,
    sorted_by_time,
)
from cerify.equivalence.rewrite.translate.funnel_cel import query_text
from cerify.semantics.arguments import did_you_mean, format_names
from cerify.semantics.cel.syntax import AttributeWindow, EventWindow, TimeWindow
from cerify.semantics.errors import IllFormed, InputError, QueryWarning, Unsupported
from cerify.semantics.events import TIME, TYPE, Events, Stream
from cerify.semantics.files import as_stream
from cerify.semantics.funnel_queries import make_funnel_question
from cerify.semantics.funnel_steps import FunnelQuestion, FunnelStep, parse_attribute
from cerify.semantics.packages import np, pa, pc
from cerify.semantics.predicates import mentions
from cerify.semantics.values import show_time

Starts = Literal["best", "first"]
Order = Literal["stream", "time", "strict"]
Row: TypeAlias = dict[str, Any]
MICROSECONDS, NANOSECONDS = 10**6, 10**9


@dataclass(frozen=True)
class StepCount:
    """The number of keys that reached a step.

    rate is their share of the keys that reached the first step, of_previous of those at the step before. median
    is the median time from the step before, in seconds (or in the unit of the attribute of the window); None for the
    first step, for a step that no key reached, and for events without times.
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
    """The numbers by which a window and an order are measured: `unit` of them are a second, or one of an attribute."""

    values: np.ndarray
    valid: np.ndarray | None
    unit: int
    name: str | None  # the attribute, None for positions


@dataclass
class Funnel:
    """The answer to a funnel, which `cerify.funnel` gives.

    question: what was asked. keys: the number of keys. without_key: the events that have no key; without_time: those
    that have no time, where one is needed; both are left out.
    """

    question: FunnelQuestion
    keys: int
    without_key: int
    without_time: int
    events: Stream = field(repr=False)
    _source: str | Path | None = field(repr=False)
    _levels: np.ndarray = field(repr=False)
    _chains: np.ndarray | None = field(repr=False)
    _present: np.ndarray = field(repr=False)
    _key_values: Any = field(repr=False)
    _rows: FunnelRows = field(repr=False)
    _times: _Axis | None = field(repr=False)
    _axis: _Axis = field(repr=False)

    @cached_property
    def counts(self) -> tuple[StepCount, ...]:
        """The counts of the steps, over all keys."""
        return self._count(self._present)

    @property
    def measure(self) -> str | None:
        """The attribute in which the times of the steps are, None where the events have none."""
        return None if self._times is None else self._times.name

    @property
    def axis_name(self) -> str:
        """The attribute by which the window and the order are measured."""
        return self._axis.name or "position"

    @property
    def query(self) -> str:
        """The query of CEL whose matches are the chains of all steps.

        Raises Unsupported, with the reason, where CEL has no such query.
        """
        needs_types = self.question.between is not None or any(step.type is None for step in self.question.steps)
        return query_text(self.question, _types(self.events) if needs_types else ())

    def split_by(self, attribute: str) -> dict[Any, tuple[StepCount, ...]]:
        """Return the counts for each value of an attribute of the first step's event, the most frequent value first.

        None stands for events without the attribute. Raises InputError for an unknown attribute, and Unsupported for a
        mode of ClickHouse, which says no more than a level.
        """
        attribute, chains = parse_attribute(attribute), self._require_chains("a split")
        events = self.events
        if self._source is not None and attribute not in events.table.column_names:
            events = as_stream(self._source, attributes={attribute})
        column = _column(events, attribute, "the split")
        begun = self._present[self._levels[self._present] > 0]
        values = column.take(pa.array(chains[begun, 0])).combine_chunks().dictionary_encode()
        codes = values.indices.fill_null(len(values.dictionary)).to_numpy(zero_copy_only=False)
        names = [*values.dictionary.to_pylist(), None]
        order = np.argsort(-np.bincount(codes, minlength=len(names)), kind="stable")
        return {names[code]: self._count(begun[codes == code]) for code in order if (codes == code).any()}

    def by_key(self) -> list[tuple[Any, int, tuple[int, ...]]]:
        """Return of each key its value, its level, and the positions of its steps, none in a mode of ClickHouse."""
        values = self._key_values.take(pa.array(self._present)).to_pylist()
        levels, chains = self._levels[self._present].tolist(), self._chains
        return [
            (value, level, () if chains is None else tuple(sorted(chains[code, :level].tolist())))
            for value, level, code in zip(values, levels, self._present, strict=True)
        ]

    def to_arrow(self) -> pa.Table:
        """Return a table with a row for each key: the key, its level, and the position and time of each step.

        Keys ascend. In a mode of ClickHouse there are the key and the level alone.
        """
        order, keys = self._sorted_keys()
        columns: dict[str, Any] = {"level": pa.array(self._levels[order], pa.int64())}
        if self._chains is not None:
            for i, name in enumerate(_column_names(self.question.steps)):
                positions = self._chains[order, i].astype(np.int64)
                columns[f"{name} at"] = pa.array(positions, mask=positions < 0)
                if self._times is not None:
                    columns[f"{name} time"] = self._times_at(positions)
        by = self.question.by or "key"
        return pa.table({f"{by} (key)" if by in columns else by: keys, **columns})

    def to_pandas(self) -> Any:
        """Return the table of `to_arrow` as a data frame of pandas."""
        return self.to_arrow().to_pandas()

    def write(self, path: str | Path) -> None:
        """Write the table of `to_arrow` to a file, CSV or Parquet by its suffix. Raises IllFormed, InputError."""
        suffix = Path(path).suffix.lower()
        try:
            if suffix == ".parquet":
                import pyarrow.parquet

                pyarrow.parquet.write_table(self.to_arrow(), path)
            elif suffix == ".csv":
                import pyarrow.csv

                pyarrow.csv.write_csv(self.to_arrow(), path)
            else:
                raise IllFormed(f"{path}: the table of keys is written as .csv or .parquet")
        except OSError as error:
            raise InputError(f"cannot write {path}: {error.strerror or error}") from None

    def why(self, key: Any) -> list[str]:
        """Return sentences that say how far a key got, and why no further. Raises InputError for an unknown key.

        The key is a value, or its text.
        """
        chains = self._require_chains("a reason")
        code = self._code_of(key)
        chain = [int(p) for p in chains[code] if p >= 0]
        steps = [self._describe_step(step, p) for step, p in zip(self.question.steps, chain, strict=False)]
        if len(chain) == len(self.question.steps):
            return [*steps, "all steps are reached"]
        return [*steps, self._why_no_further(code, chain)]

    # --- the parts of answers -----------------------------------------------------------------------------------------

    def _count(self, keys: np.ndarray) -> tuple[StepCount, ...]:
        levels = self._levels[keys]
        reached = [int((levels > i).sum()) for i in range(len(self.question.steps))]
        counts = []
        for i, step in enumerate(self.question.steps):
            before = reached[i - 1] if i else reached[0]
            counts.append(
                StepCount(
                    step.text,
                    reached[i],
                    reached[i] / reached[0] if reached[0] else None,
                    reached[i] / before if before else None,
                    self._median(keys[levels > i], i) if i else None,
                )
            )
        return tuple(counts)

    def _median(self, keys: np.ndarray, i: int) -> float | None:
        if self._chains is None or self._times is None or len(keys) == 0:
            return None
        before, after = self._chains[keys, i - 1], self._chains[keys, i]
        values, valid = self._times.values, self._times.valid
        if valid is not None:
            known = valid[before] & valid[after]
            before, after = before[known], after[known]
        return float(np.median(values[after] - values[before])) / self._times.unit if len(before) else None

    def _require_chains(self, what: str) -> np.ndarray:
        if self._chains is None:
            raise Unsupported(f"{what} needs the steps of each key, and a mode of ClickHouse gives a level only")
        return self._chains

    def _sorted_keys(self) -> tuple[np.ndarray, Any]:
        values = self._key_values.take(pa.array(self._present))
        order = pc.sort_indices(values)
        return self._present[order.to_numpy()], values.take(order)

    def _code_of(self, key: Any) -> int:
        for code in self._present:
            value = self._key_values[int(code)].as_py()
            if value == key or str(value) == str(key) or (hasattr(value, "isoformat") and show_time(value) == key):
                return int(code)
        near = did_you_mean(str(key), map(str, self._key_values[:1000].to_pylist()))
        raise InputError(f"no event has the key {key!r}{near}")

    def _times_at(self, positions: np.ndarray) -> Any:
        name = self._times.name if self._times is not None else None
        return self.events.table[name].take(pa.array(positions, mask=positions < 0)).combine_chunks()

    def _describe_step(self, step: FunnelStep, position: int) -> str:
        return f"{step.text}: event {position}{self._at(position)}"

    def _at(self, position: int) -> str:
        if self._times is None:
            return ""
        from cerify.semantics.arrow_columns import values_in

        value = values_in(self.events.table[self._times.name].slice(position, 1))[0]
        if value is None:
            return ""
        return f", {_moment(value)}" if self._times.name == TIME else f", {self._times.name} = {value}"

    def _why_no_further(self, code: int, chain: Sequence[int]) -> str:
        question, k = self.question, len(chain)
        step = question.steps[k].text
        low, high = self._rows.starts[code], self._rows.starts[code + 1]
        rows, masks = self._rows.rows[low:high], self._rows.masks[low:high].astype(np.int64)
        times = self._rows.times[low:high]
        of_step = np.flatnonzero((masks >> k) & 1)
        if len(of_step) == 0:
            return f"no {step}: the key has no such event"
        barred = np.flatnonzero((masks >> len(question.steps)) & 1)
        if not chain:
            if question.start == "first" or len(barred):
                return f"no {step}: the first one, event {rows[of_step[0]]}, is {_between(question)} too"
            return f"no {step}"
        where = [int(np.flatnonzero(rows == p)[0]) for p in chain]
        later = of_step[of_step > where[-1]]
        last = question.steps[k - 1].text
        if len(later) == 0:
            return f"no {step} after that: the last one is event {rows[of_step[-1]]}{self._at(int(rows[of_step[-1]]))}"
        after = int(later[0])
        here = f"the next {step} is event {rows[after]}{self._at(int(rows[after]))}"
        stops = barred[(barred > where[0]) & (barred <= after)]
        if len(stops):
            return f"{here}, but {_between(question)} comes before it or with it, in event {rows[stops[0]]}"
        if question.order == "strict" and not times[after] > times[where[-1]]:
            return f"{here}, which is not later than {last}"
        if question.window is not None:
            distance = _distance(times[after] - times[where[0]], self._axis)
            return f"{here}, {distance} after {question.steps[0].text}: the window is {question.window.text}"
        return f"{here}, which belongs to no chain"


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
    """Return how far each key of a stream gets on the way through the steps.

    events are what `cerify.match` takes. A step is an event type (`view`), a type with a condition (`view[price > 3]`)
    or a condition on events of any type (`[price > 3]`), in the syntax of predicates.

    by: the attribute whose values are the keys; without it the stream is one key. within: the longest time from the
    first step to the last, itself allowed: `"7 days"`, `"100 EVENTS"`, `"10 [price]"`, or a timedelta.

    The level of a key is the length of the longest prefix of the steps that its events have: different events, in the
    order of the stream, within the window. The times of the steps are those of the chain of that length that begins
    first, each further step at its earliest event. With start="first" a chain begins at the key's first event of the
    first step only. order="time" reads the events of a key by time first, those of equal times in the order of the
    stream; order="strict" does so, and asks for increasing times. between: `"not refund"`; no such event stands from
    the first step to the last. mode: the level is that of ClickHouse's windowFunnel in a mode, such as `strict_order`.

    A step that no event has is a QueryWarning. Raises ParseError, IllFormed, InputError.

    >>> from cerify import funnel
    >>> rows = [{"type": "view", "user": 1}, {"type": "cart", "user": 1}, {"type": "view", "user": 2}]
    >>> [(count.step, count.keys) for count in funnel(rows, ["view", "cart"], by="user").counts]
    [('view', 2), ('cart', 1)]
    """
    question = make_funnel_question(steps, by, within, start, order, between, mode)
    S = _read_stream(events, question)
    _warn_of_steps(question, S)
    return answer_question(question, S, events if isinstance(events, str | Path) else None)


def answer_question(question: FunnelQuestion, S: Stream, source: str | Path | None = None) -> Funnel:
    """Return the answer to a funnel on a stream; source is the file that it comes from.

    Raises IllFormed, InputError.
    """
    axis, times = _axis_of(question, S)
    codes, keys, key_values = _codes(S, question.by)
    masks = _masks(question, S)
    kept = np.ones(len(S), np.bool_) if codes is None else codes >= 0
    without_key = len(S) - int(kept.sum())
    present = np.arange(1) if codes is None else np.flatnonzero(np.bincount(codes[kept], minlength=keys))
    without_time = 0
    if axis.valid is not None:
        without_time = int((kept & ~axis.valid).sum())
        kept &= axis.valid
    if question.mode is None or "order" not in question.mode:  # which looks at rows of no step
        kept &= masks != 0
    rows = group_rows(np.zeros(len(S), np.int32) if codes is None else codes, keys, axis.values, masks, kept)
    if question.order != "stream" or question.mode is not None:
        rows = sorted_by_time(rows)
    elif axis.name is not None and (back := first_step_back(rows)) is not None:
        before, after = back
        mend = 'with order="time" (--order time) the events of a key are read by it'
        raise InputError(
            f"event {after} has a smaller {axis.name} than event {before} of the same key; "
            f"{mend if axis.name == TIME else 'a window needs values that do not go back'}"
        )
    n = len(question.steps)
    window = None if question.window is None else question.window.on_axis(axis.unit, axis.values.dtype.kind == "f")
    if question.mode is not None:
        reached = find_mode_levels(rows, n, window, question.mode)
    else:
        reached = find_chains(rows, n, window, first=question.start == "first", increasing=question.order == "strict")
    return Funnel(
        question, len(present), without_key, without_time, S, source,
        reached.levels, reached.chains, present, key_values, rows, times, axis,
    )  # fmt: skip


def _read_stream(events: Events | str | Path, question: FunnelQuestion) -> Stream:
    """Return the stream of the events; of a file of Parquet only the attributes that the funnel needs."""
    if not isinstance(events, str | Path):
        return as_stream(events)
    steps = [*question.steps, *([question.between] if question.between else [])]
    wanted = {a.name for step in steps if step.predicate is not None for a in mentions(step.predicate)}
    wanted |= {TIME} if question.by is None else {TIME, question.by}
    if question.window is not None and isinstance(question.window.window, AttributeWindow):
        wanted.add(question.window.window.attribute)
    S = as_stream(events, attributes=wanted)
    return S if wanted - {TIME} <= {*S.table.column_names} else as_stream(events)


def _warn_of_steps(question: FunnelQuestion, S: Stream) -> None:
    if len(S) == 0:
        return
    predicates = [step.predicate for step in (*question.steps, question.between) if step is not None]
    S.require_read({attribute.name for p in predicates if p is not None for attribute in mentions(p)})
    types, columns = _types(S), {*S.known_attributes(S.table.column_names)}
    for step in (*question.steps, *([question.between] if question.between else [])):
        if step.type is not None and step.type not in types:
            hint = did_you_mean(step.type, types) or f"; there is {format_names(types)}"
            _warn(f"no event has the type {step.type!r} of the step {step.text!r}{hint}")
        for attribute in {a.name: a for a in mentions(step.predicate)} if step.predicate is not None else ():
            if attribute not in columns:
                hint = did_you_mean(attribute, columns - {TYPE})
                _warn(f"no event has the attribute {attribute!r} of the step {step.text!r}{hint}")


def _warn(message: str) -> None:
    warnings.warn(QueryWarning(message), stacklevel=4)  # in the program that calls `funnel`


def _types(S: Stream) -> list[str]:
    column = S.table[TYPE]
    if pa.types.is_dictionary(column.type):
        column = column.unify_dictionaries()
        return [] if column.num_chunks == 0 else sorted(column.chunk(0).dictionary.to_pylist())
    return sorted(column.unique().to_pylist())


def _column(S: Stream, name: str, what: str) -> Any:
    """Return a column of the stream's table. Raises InputError, which says what it is needed for."""
    if name != TIME:  # an event without a time stands apart
        S.require_read([name])
    names = [column for column in S.known_attributes(S.table.column_names) if column != TYPE]
    if name not in names:
        hint = did_you_mean(name, names) or f"; there is {format_names(names)}"
        raise InputError(f"no event has the attribute {name!r} for {what}{hint}")
    return S.table[name]


def _axis_of(question: FunnelQuestion, S: Stream) -> tuple[_Axis, _Axis | None]:
    """Return what the window and the order are measured by, and the times that are reported, if there are any."""
    window = None if question.window is None else question.window.window
    needed = question.order != "stream" or question.mode is not None
    times = _numbers(S, TIME, "the time") if _is_measured(S, TIME) else None
    match window:
        case AttributeWindow(_, attribute):
            if question.order != "stream" and attribute != TIME:
                raise IllFormed(f"a window on {attribute} goes with the order of the stream: leave order out")
            axis = _numbers(S, attribute, "the window")
            return axis, times or axis
        case TimeWindow():
            return (times or _numbers(S, TIME, "the window")), times
        case EventWindow() if needed:
            raise IllFormed("a window of EVENTS goes by positions: give one of time, or leave order and mode out")
        case EventWindow() | None:
            if needed:
                return (times or _numbers(S, TIME, "the order")), times
            return _Axis(np.arange(len(S)), None, 1, None), times


def _is_measured(S: Stream, name: str) -> bool:
    """Tell whether the stream has an attribute of numbers or timestamps."""
    if name not in S.table.column_names:
        return False
    kind = S.table[name].type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_timestamp(kind))


def _numbers(S: Stream, name: str, what: str) -> _Axis:
    """Return a column as numbers that can be subtracted: whole ones, microseconds, or floats."""
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


def _codes(S: Stream, by: str | None) -> tuple[np.ndarray | None, int, Any]:
    """Return the number of each event's key, -1 for none, how many numbers there are, and the value of each."""
    if by is None:
        return None, 1, pa.array([None], pa.string())
    column = _column(S, by, "the key")
    if pa.types.is_integer(column.type) and column.null_count < len(column):
        low, high = (value.as_py() for value in pc.min_max(column).values())
        if high - low < 4 * len(column) + 1000:
            codes = pc.subtract(column.fill_null(low), low).to_numpy().astype(np.int32, copy=False)
            if column.null_count:
                codes = np.where(column.is_valid().to_numpy(), codes, -1).astype(np.int32)
            return codes, high - low + 1, pa.array(np.arange(low, high + 1))
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
    return codes, max(1, len(encoded.dictionary)), encoded.dictionary


def _masks(question: FunnelQuestion, S: Stream) -> np.ndarray:
    """Return the mask of each event: a bit for each step, and one after them for what may not stand between."""
    from cerify.semantics.columns import mask  # needs Arrow, and the help of the command does not

    steps = [*question.steps, *([question.between] if question.between else [])]
    dtype = np.int16 if len(steps) < 15 else np.int64
    by_type: dict[str, int] = {}
    for i, step in enumerate(steps):
        if step.type is not None and step.predicate is None:
            by_type[step.type] = by_type.get(step.type, 0) | 1 << i
    masks = np.zeros(len(S), dtype)
    column = S.table[TYPE]
    place = 0
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        bits = np.array([by_type.get(name, 0) for name in encoded.dictionary.to_pylist()] or [0], dtype)
        masks[place : place + len(chunk)] = bits[encoded.indices.to_numpy(zero_copy_only=False)]
        place += len(chunk)
    for i, step in enumerate(steps):
        if step.predicate is not None:
            holds = mask(step.predicate, S.table)
            if step.type is not None:
                holds = pc.and_(holds, pc.equal(column.cast(pa.string()), step.type).combine_chunks())
            masks = masks | (holds.to_numpy(zero_copy_only=False).astype(dtype) << i)
    return masks


def _column_names(steps: Sequence[FunnelStep]) -> list[str]:
    """Return different names for the columns of the steps: their texts, numbered where two are alike."""
    texts = [step.text for step in steps]
    return [f"{text} ({i + 1})" if texts.count(text) > 1 else text for i, text in enumerate(texts)]


def _between(question: FunnelQuestion) -> str:
    return question.between.text if question.between is not None else "what may not stand between"


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


def counts_json(counts: Sequence[StepCount]) -> list[Row]:
    """Return counts as a part of a JSON object."""
    return [count.json() for count in counts]
