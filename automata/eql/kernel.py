"""The slot machine of EQL as a compiled loop over columns: one pass, and as many places as there are keys and steps."""

from __future__ import annotations

from typing import Any

from cerify.automata.eql.columns import MOST_STEPS, NO_KEY, TIMELESS, EqlColumns, why_not_compiled
from cerify.automata.evaluate.jit import bare
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import span_of
from cerify.semantics.eql.reading import ELASTIC, EqlReading
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream
from cerify.semantics.packages import np

MOST_CELLS = 200_000_000  # of the places, with 8 bytes each


def matches_by_columns(
    query: eql.EqlQuery, S: Stream, reading: EqlReading = ELASTIC, budget: Budget = Budget()
) -> list[Match]:
    """Return the matches of a query over a whole log by its columns. Raises Unsupported, BudgetExceeded."""
    found = match_positions(query, S, reading, budget)
    if len(found) > budget.matches:
        raise BudgetExceeded(f"more than {budget.matches} matches; allow more: Budget(matches=...)")
    listed = [Match(row[-1], tuple(row)) for row in found.tolist()]
    for pipe in query.pipes:
        listed = listed[: pipe.count] if pipe.name == "head" else listed[-pipe.count :]
    return listed


def match_positions(query: eql.EqlQuery, S: Stream, reading: EqlReading = ELASTIC, budget: Budget = Budget()) -> Any:
    """Return the positions of all matches, pipes aside, as an array with a row for each; in the order of the log.

    Raises Unsupported, BudgetExceeded.
    """
    columns = EqlColumns(S.table, reading)
    body = query.body
    if isinstance(body, eql.EventFilter):
        return np.flatnonzero(columns.filter_rows(body)).reshape(-1, 1)
    if (refused := why_not_compiled(query)) is not None:
        raise refused
    assert isinstance(body, eql.EventSequence)
    steps = eql.step_expanded(body)
    asked = [*steps, *([] if body.until is None else [body.until])]
    masks = {step.filter: columns.filter_rows(step.filter) for step in asked}
    check_time()
    some = np.logical_or.reduce(list(masks.values()))
    rows = np.flatnonzero(some)
    bits = np.zeros(len(rows), np.int64)
    for i, step in enumerate(steps):
        bits |= masks[step.filter][rows].astype(np.int64) << i
    if body.until is not None:
        bits |= masks[body.until.filter][rows].astype(np.int64) << MOST_STEPS
    groups = list(dict.fromkeys(eql.step_keys(body, step) for step in asked))
    numbers: dict[Any, int] = {}
    keys = np.empty((len(groups), len(rows)), np.int64)
    for n, fields in enumerate(groups):
        keys[n] = columns.keys(fields, rows, numbers)
    number = int(keys.max(initial=0)) + 1
    if number * len(steps) * len(steps) > MOST_CELLS:
        raise BudgetExceeded("there are too many keys for the places of the compiled loop; use the automaton")
    of_step = np.array([groups.index(eql.step_keys(body, step)) for step in asked], np.int64)
    window = span_of(body.maxspan, reading)
    found = np.empty((int(np.count_nonzero(bits >> (len(steps) - 1) & 1)), len(steps)), np.int64)
    places = np.full((number, len(steps), len(steps)), -1, np.int64)
    begun = np.empty((number, len(steps)), np.int64)
    times = columns.times()[rows] if window is not None else np.zeros(len(rows), np.int64)
    count = _run_kernel(
        rows, bits, keys, of_step, times, -1 if window is None else window, len(steps), places, begun, found
    )
    return found[:count]


@bare
def _run_kernel(
    rows: Any, bits: Any, keys: Any, of_step: Any, times: Any, window: Any, n: Any, places: Any, begun: Any, found: Any
) -> Any:
    """The number of matches, which are written to found. places: for key and step the positions, -1 for none."""
    count = 0
    for r in range(len(rows)):
        b = bits[r]
        if (b >> MOST_STEPS) & 1:
            key = keys[of_step[n], r]
            if key != NO_KEY:
                for i in range(n):
                    places[key, i, 0] = -1
        for i in range(n - 1, -1, -1):
            if not (b >> i) & 1:
                continue
            key = keys[of_step[i], r]
            if key == NO_KEY:
                continue
            if i == 0:
                places[key, 0, 0] = rows[r]
                begun[key, 0] = times[r]
                continue
            if places[key, i - 1, 0] < 0:
                continue
            if i < n - 1:
                for j in range(i):
                    places[key, i, j] = places[key, i - 1, j]
                places[key, i, i] = rows[r]
                begun[key, i] = begun[key, i - 1]
            else:
                first, last = begun[key, i - 1], times[r]
                inside = first != TIMELESS and last != TIMELESS and last - first <= window
                if window < 0 or inside:
                    for j in range(i):
                        found[count, j] = places[key, i - 1, j]
                    found[count, i] = rows[r]
                    count += 1
            places[key, i - 1, 0] = -1
    return count
