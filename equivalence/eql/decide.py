"""Decide whether two EQL queries mean the same on every log, or whether one contains the other; if not, return a log.

Events of different keys do not affect each other. So rules with the same keys differ if and only if they differ on a
log of one key. On such logs the slot machines of both rules are followed side by side, over the letters of
their filters (letters.py). States differ only in which events the waiting sequences share, and in what order these
came. Of the times, all that matters is which waiting sequences are too old. If both rules have the same window, these
are always the sequences that began first. Every way in which they grow old, one by one, is possible: the order of the
times and of the times plus the window can be chosen freely (a semiorder; D. Scott and P. Suppes, 1958).

At first each field has a single value. If the rules mean the same on such logs, they are compared again with arrays.
Rules with other features (missing events, pipes, samples, different keys or windows) are decided if they agree step by
step. Otherwise a search tries to find a log; if it finds none, the answer is Undecided. Each log is replayed by the
definition.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import accumulate, chain, islice, product, zip_longest
from math import inf, prod
from random import Random
from typing import Protocol, TypeAlias

from cerify.equivalence.eql.letters import EventLetter, FilterAlphabet, PartialKey
from cerify.equivalence.generate.eql import EQL
from cerify.equivalence.verdict import Claim, Different, Level, Undecided
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import Truth, values_of
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import require_wellformed
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.values import Value, ValueType, microseconds, time_at, value_type_of

# ---------------------------------------------------------------------------------------------------------------------
# Two EQL sequences side by side: their shapes and keys, and the states of both slot machines for one key.
#
# A slot machine has a place for each step, at which one unfinished sequence can wait. A state does not keep the events
# themselves, only which waiting sequences share events, and in which order these came. So there are finitely many
# states.

Slots: TypeAlias = tuple[tuple[int, ...], ...]
"""For each place of a machine, the events of the sequence that waits there, numbered as they came; () for none."""
State: TypeAlias = tuple[Slots, Slots]


@dataclass(frozen=True)
class SlotRule:
    """An EQL sequence in the form that the search uses.

    steps, until: the numbers of the filters of its steps and of `until`. window: maxspan in microseconds. None: absent.
    """

    steps: tuple[int, ...]
    until: int | None
    window: int | None

    def after(self, slots: Slots, passes: frozenset[int], event: int) -> tuple[Slots, tuple[int, ...]]:
        """Return the waiting sequences after an event that passes these filters, and the sequence that it completes, or
        ().
        """
        places = list(slots)
        ended: tuple[int, ...] = ()
        # Later steps first, so that an event moves no sequence by two steps.
        for i in range(len(self.steps) - 1, -1, -1):
            if self.steps[i] not in passes:
                continue
            moved = () if i == 0 else places[i - 1]
            if i > 0 and not moved:
                continue
            if i > 0:
                places[i - 1] = ()
            if i == len(self.steps) - 1:
                ended = (*moved, event)
            else:
                places[i] = (*moved, event)
        return ((),) * len(slots) if self.until in passes else tuple(places), ended


def key_fields(query: eql.EqlQuery) -> Iterator[eql.EventField]:
    body = query.body
    if not isinstance(body, eql.EventFilter):
        until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
        for step in (*body.steps, *until):
            yield from eql.step_keys(body, step)


def key_shape(query: eql.EqlQuery) -> set[tuple[eql.EventField, ...]]:
    """Return the set of the steps' keys, each a tuple of fields; it has one element if all steps have the same key."""
    body = query.body
    if isinstance(body, eql.EventFilter):
        return {()}
    until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
    return {eql.step_keys(body, step) for step in (*body.steps, *until)}


def with_keys_in_order(query: eql.EqlQuery) -> eql.EqlQuery:
    """Return the query with the fields of its key in a fixed order, which does not change the matches."""
    body = query.body
    if isinstance(body, eql.EventFilter):
        return query
    until = (body.until,) if isinstance(body, eql.EventSequence) and body.until is not None else ()
    steps = (*body.steps, *until)
    places = sorted(
        zip(*(eql.step_keys(body, step) for step in steps), strict=True),
        key=lambda fields: [(field.name, field.optional) for field in fields],
    )
    if all(len(set(fields)) == 1 for fields in places):
        ordered = [replace(step, keys=()) for step in steps]
        keys = tuple(fields[0] for fields in places)
    else:
        ordered = [replace(step, keys=tuple(fields[i] for fields in places)) for i, step in enumerate(steps)]
        keys = ()
    if isinstance(body, eql.EventSample):
        return replace(query, body=replace(body, keys=keys, steps=tuple(ordered)))
    steps_, last = (tuple(ordered[:-1]), ordered[-1]) if until else (tuple(ordered), None)
    return replace(query, body=replace(body, keys=keys, steps=steps_, until=last))


def shape_of(query: eql.EqlQuery) -> object:
    """Return all of a query except the conditions of its steps, as a value that can be compared.

    Two queries with equal values have the same keys, `runs`, window and pipes, however these are written.
    """
    nothing = eql.EventFilter(None, eql.FieldConstant(True))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return query.pipes

    def bare(step: eql.SequenceStep) -> eql.SequenceStep:
        return replace(step, filter=nothing, keys=eql.step_keys(body, step), runs=1, span=None)

    steps = tuple(map(bare, body.steps if isinstance(body, eql.EventSample) else eql.step_expanded(body)))
    if isinstance(body, eql.EventSample):
        return ("sample", steps, query.pipes)
    window = None if body.maxspan is None else body.maxspan.microseconds
    return ("sequence", window, steps, None if body.until is None else bare(body.until), query.pipes)


def expanded_filters(query: eql.EqlQuery) -> list[eql.EventFilter]:
    """Return the filters of a query in order, with `runs=n` as n steps, and the filter of `until` at the end."""
    if not isinstance(query.body, eql.EventSequence):
        return list(eql.filters_of(query))
    until = [] if query.body.until is None else [query.body.until]
    return [step.filter for step in (*eql.step_expanded(query.body), *until)]


def expanded_steps(query: eql.EqlQuery) -> list[eql.SequenceStep]:
    """Return a step for each event of a match: n steps for a step with `runs=n`, one for a query of a single event."""
    match query.body:
        case eql.EventFilter():
            return [eql.SequenceStep(query.body)]
        case eql.EventSequence():
            return [step for step in eql.step_expanded(query.body) if not step.missing]
        case eql.EventSample():
            return list(query.body.steps)


def first_events(state: State) -> list[int]:
    """Return the number of the first event of each waiting sequence, in the order of the events."""
    return sorted({slot[0] for slots in state for slot in slots if slot})


def step_rules(
    rules: tuple[SlotRule, SlotRule], state: State, passes: frozenset[int], old: int
) -> tuple[State, tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the state of both rules after an event that passes these filters, and the completed sequence of each rule.

    A completed sequence is () if there is none. old: how many of the earliest first events of waiting sequences have
    left the window; the sequences that began with them are dropped.
    """
    gone = set(first_events(state)[:old])
    kept = [tuple(() if slot and slot[0] in gone else slot for slot in slots) for slots in state]
    event = 1 + max((p for slots in kept for slot in slots for p in slot), default=-1)
    (one, left), (other, right) = (rule.after(slots, passes, event) for rule, slots in zip(rules, kept, strict=True))
    used = sorted({p for slots in (one, other) for slot in slots for p in slot})
    rank = {p: i for i, p in enumerate(used)}
    renamed: list[Slots] = [tuple(tuple(rank[p] for p in slot) for slot in slots) for slots in (one, other)]
    return (renamed[0], renamed[1]), (left, right)


def path_to(back: dict[State, tuple[State, int, int] | None], state: State) -> list[tuple[int, int]]:
    path = []
    while (step := back[state]) is not None:
        state, n, old = step
        path.append((n, old))
    return path[::-1]


# ---------------------------------------------------------------------------------------------------------------------
# Make logs on which EQL queries may differ: random logs, and logs that follow the steps with times near windows.

KEYS: Mapping[ValueType, tuple[Value, Value]] = {
    "string": ("k1", "k2"),
    "int": (1, 2),
    "float": (1.0, 2.0),
    "bool": (True, False),
    "timestamp": (datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)),
}
"""Two values of a key, by its type."""
ADDRESS = "192.0.2.1"
"""A value of a key field with the name `ip`, which an index stores as an address."""
BEGIN = microseconds(datetime(2026, 1, 1, tzinfo=UTC))
SECOND = 1_000_000
TRIED_LOGS = 400


def tried_logs(
    queries: Sequence[eql.EqlQuery],
    number: Mapping[eql.EventFilter, int],
    letters: Sequence[EventLetter],
    key: PartialKey,
) -> Iterator[list[Event]]:
    """Yield logs on which the queries may differ.

    letters: example events, with the filters that they pass. number: the number by which they name each filter. key:
    the values of the key fields.
    """
    if not letters:
        return
    # Always the same seed, so that the same question gets the same answer.
    rng = Random(0)
    gaps = _gaps_around(queries)
    paths = [path for query in queries if (path := _along(query, number, letters))]
    for path in paths:
        for i in range(len(path)):
            for gap in gaps:
                yield _timed(path, [0] * i + [gap], key)
    for n in range(TRIED_LOGS):
        if paths and n % 2:
            path = list(rng.choice(paths))
            path.insert(rng.randint(0, len(path)), rng.choice(letters))
        else:
            path = [rng.choice(letters) for _ in range(rng.randint(1, 6))]
        keys = [{f: v for f in sorted(key) if (v := rng.choice(_keys_like(key[f]))) is not None} for _ in path]
        times = [rng.choice(gaps) for _ in path]
        if n % 4 < 2:
            yield _timed(path, times, key)
        else:
            made = _timed(path, times, {})
            yield [Event(e.type, {**e.attributes, **k}) for e, k in zip(made, keys, strict=True)]


def keyed_logs(
    query: eql.EqlQuery,
    queries: Sequence[eql.EqlQuery],
    number: Mapping[eql.EventFilter, int],
    values: Sequence[Value],
    letters_with: Callable[[dict[str, Value]], list[EventLetter]],
    twin: Callable[[str, Value], Value],
) -> Iterator[list[Event]]:
    """Yield logs on which a sequence or sample fires, with these key values.

    number: the number of each filter. values: the value of each key field, in the order in which the query lists the
    fields. letters_with: returns example events (EventLetter) in which some fields are fixed. twin: returns another
    value for which every test of a field has the same result, if there is one. In the logs, the fields of other keys
    are absent, equal in all events, or different in some. Times are around the windows of the queries.
    """
    body = query.body
    if isinstance(body, eql.EventFilter):
        return
    until = number[body.until.filter] if isinstance(body, eql.EventSequence) and body.until is not None else None
    steps = body.steps if isinstance(body, eql.EventSample) else eql.step_expanded(body)
    path: list[tuple[EventLetter, dict[str, Value]]] = []
    for step in steps:
        if step.missing:
            continue
        fixed: dict[str, Value] = {}
        for field, value in zip(eql.step_keys(body, step), values, strict=True):
            if fixed.setdefault(field.name, value) != value:
                return
        # An event that `until` accepts too would end the sequence.
        passing = [one for one in letters_with(fixed) if number[step.filter] in one.passes and until not in one.passes]
        if not passing:
            return
        added = min(passing, key=lambda one: len(one.passes)), fixed
        # One object for the steps of a `runs`: below they are recognized by identity.
        path.append(path[-1] if path and path[-1] == added else added)
    others = {field.name for one in queries for field in key_fields(one)} - {f.name for f in key_fields(query)}

    def log_of(numbers: Sequence[int], rows: Sequence[int], gaps: Sequence[int]) -> list[Event]:
        """Return a log with an event for each of these rows of `path`.

        numbers: for each event a number that selects values for the fields of other keys; 0 leaves these fields out.
        gaps: the time before each event, in microseconds.
        """
        events = []
        for row, number_, time in zip(rows, numbers, accumulate(gaps), strict=True):
            letter, fixed = path[row]
            here: dict[str, Value | None] = {**fixed, TIME: time_at(BEGIN + time)}
            tested = {name: values[0] for name, values in letter.fields if values}
            for name in others - fixed.keys() if number_ else ():
                here[name] = tested.get(name, f"k{number_}")
                if name in tested and number_ % 2 == 0:
                    here[name] = twin(name, tested[name])
            events.append(letter.event(here))
        return events

    rows = list(range(len(path)))
    same = [1] * len(path)
    choices = [[0] * len(path), same, [n + 1 for n in rows]][: 3 if others else 1]
    for numbers in choices:
        yield log_of(numbers, rows, [0] * len(path))
    begins = [n for n in rows if n == 0 or path[n] is not path[n - 1]]  # a step with `runs` counts once
    for extra in begins if others else ():
        for n in (*begins, len(path)):
            more = [*rows[:n], extra, *rows[n:]]
            yield log_of([*same[:n], 2, *same[n:]], more, [0] * len(more))
    for gap in _gaps_around(queries):
        for place in {*begins, len(path) - 1} - {0} if gap else ():
            for numbers in choices:
                yield log_of(numbers, rows, [gap if n == place else 0 for n in rows])


def _gaps_around(queries: Sequence[eql.EqlQuery]) -> list[int]:
    windows = [
        query.body.maxspan.microseconds
        for query in queries
        if isinstance(query.body, eql.EventSequence) and query.body.maxspan is not None
    ]
    return sorted({0, SECOND, *windows, *(w + 1000 for w in windows), *(max(w - 1000, 0) for w in windows)})


def _keys_like(value: Value | None) -> tuple[Value | None, ...]:
    """Return values of this one's type to choose a random key from: one value twice, another value, and None."""
    one, other = KEYS["string" if value is None else value_type_of(value)]
    return (one, one, other, None)


def _along(
    query: eql.EqlQuery, number: Mapping[eql.EventFilter, int], letters: Sequence[EventLetter]
) -> list[EventLetter]:
    """Return a letter for each step of the query that is not missing; [] if some step has no letter."""
    match query.body:
        case eql.EventFilter():
            filters = [query.body]
        case eql.EventSequence():
            filters = [step.filter for step in eql.step_expanded(query.body) if not step.missing]
        case eql.EventSample():
            filters = [step.filter for step in query.body.steps]
    path = [next((one for one in letters if number[f] in one.passes), None) for f in filters]
    return [one for one in path if one is not None] if None not in path else []


def _timed(path: Sequence[EventLetter], gaps: Sequence[int], key: PartialKey) -> list[Event]:
    time, events = 0, []
    for letter, gap in zip(path, [*gaps, *[0] * len(path)], strict=False):
        time += gap
        events.append(letter.event({**key, TIME: time_at(BEGIN + time)}))
    return events


# ---------------------------------------------------------------------------------------------------------------------
# Find times for the events of a log, given which waiting sequences have expired at each event.

UNITS = (1_000_000, 1_000, 1)


class SlotFollower(Protocol):
    """A rule whose waiting sequences can be computed event by event, such as a SlotRule."""

    @property
    def steps(self) -> tuple[int, ...]:
        """Return the numbers of the filters of the rule's steps."""

    def after(
        self, slots: tuple[tuple[int, ...], ...], passes: frozenset[int], event: int
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]:
        """Return the waiting sequences after an event, and the sequence that it completes, or ()."""


@dataclass(frozen=True)
class Moment:
    """An event of a log: the numbers of the filters that it passes, and how many waiting sequences have expired.

    old: the number of different first events of the expired sequences; these are the earliest first events.
    """

    passes: frozenset[int]
    old: int


def times_of(moments: Sequence[Moment], window: int, rules: Sequence[SlotFollower]) -> list[int]:
    """Return ascending times in microseconds, such that the sequences that each moment calls expired exceed the window.

    All other waiting sequences are within the window. The constraints bound differences of times from above and below,
    and are solved by shortest paths (R. Bellman, 1958). Times are whole seconds if possible, else milliseconds, else
    microseconds. Raises BudgetExceeded if there are no such times.
    """
    young, old = _ages(moments, rules)
    for unit in UNITS:
        if window % unit == 0 and (times := _solve_times(len(moments), young, old, window // unit)) is not None:
            return [t * unit for t in times]
    raise BudgetExceeded("maxspan is too short to construct a log that shows a difference")


def _ages(
    moments: Sequence[Moment], rules: Sequence[SlotFollower]
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return two lists of pairs (first event of a sequence, later event): within the window, and outside it."""
    slots: list[tuple[tuple[int, ...], ...]] = [((),) * (len(rule.steps) - 1) for rule in rules]
    young: list[tuple[int, int]] = []
    old: list[tuple[int, int]] = []
    for event, moment in enumerate(moments):
        firsts = sorted({slot[0] for places in slots for slot in places if slot})
        gone = set(firsts[: moment.old])
        old += ((first, event) for first in gone)
        young += ((first, event) for first in firsts[moment.old :])
        for i, rule in enumerate(rules):
            kept = tuple(() if slot and slot[0] in gone else slot for slot in slots[i])
            slots[i], _ = rule.after(kept, moment.passes, event)
    return young, old


def _solve_times(
    number: int, young: list[tuple[int, int]], old: list[tuple[int, int]], window: int
) -> list[int] | None:
    """Return the least times that satisfy the bounds, in the unit of the window; None if there are none."""
    bounds = [(i, i + 1, 0) for i in range(number - 1)]  # (a, b, d): the time of b is at least d after that of a
    bounds += [(first, event, window + 1) for first, event in old]
    bounds += [(event, first, -window) for first, event in young]
    times = [0] * number
    for _ in range(number + 1):
        changed = False
        for a, b, least in bounds:
            if times[a] + least > times[b]:
                times[b], changed = times[a] + least, True
        if not changed:
            return times
    return None


# ---------------------------------------------------------------------------------------------------------------------
# The comparison of two queries.

LONG = 4  # for rules with more steps, logs that follow the steps are tried before all logs
MOST_KEY_CLASSES = 24
KEYS_TRIED = 4


@dataclass(frozen=True)
class Same:
    """The answer that a claim about two rules holds on every log, with the reason.

    sorted: whether this holds only for logs whose times never decrease.
    """

    reason: str
    sorted: bool = False


@dataclass(frozen=True)
class Asked:
    """A question to decide: a claim about two rules.

    level: at "events" matches are compared by their events, at "positions" by the event at which the rule fires.
    arrays: whether fields may have several values, as they may in an index. schema: the schema of all logs; None if
    they may have any events.
    """

    claim: Claim = "equivalent"
    level: Level = "events"
    arrays: bool = True
    schema: Schema | None = None

    def differ(self, left: tuple[int, ...], right: tuple[int, ...]) -> bool:
        """Return whether the two rules' matches at one event refute the claim. An empty match means no match."""
        if self.level == "positions":
            left, right = left[-1:], right[-1:]
        return left != right if self.claim == "equivalent" else bool(left) and left != right


def compare_rules(
    left: eql.EqlQuery, right: eql.EqlQuery, asked: Asked = Asked(), budget: Budget = Budget()
) -> Same | Different | Undecided:
    """Decide a claim about two queries: return Same if it holds, Different with a log that refutes it, or Undecided.

    Queries that are too large to be compared are Undecided.
    """
    if left == right:
        return Same("the rules are the same text")
    try:
        return _Comparison(left, right, asked, budget).verdict()
    except BudgetExceeded as error:
        check_time()
        return Undecided(error.message)


def find_counterexample(left: eql.EqlQuery, right: eql.EqlQuery, asked: Asked = Asked()) -> Stream | None:
    """Try logs on the reference evaluator; return one that refutes the claim, or None.

    The logs follow the steps of the queries, or are random. They do not depend on the decision procedure, which only
    supplies example events. Raises BudgetExceeded.
    """
    comparison = _Comparison(left, right, asked, Budget())
    for arrays in (False, True) if asked.arrays else (False,):
        for key in islice(comparison.keys(), KEYS_TRIED):
            letters = FilterAlphabet(comparison.filters, arrays, key, asked.schema).letters()
            for events in tried_logs((left, right), comparison.number, letters, key):
                check_time()
                if comparison.difference(events) is not None:
                    return Stream(events)
    return None


def find_firing_log(query: eql.EqlQuery, asked: Asked = Asked(), arrays_first: bool = False) -> Stream | None:
    """Return a log on which a query matches, with one event for each step; None if none is found.

    arrays_first: whether fields with several values are tried first, which is faster. Raises BudgetExceeded.
    """
    body = query.body
    fields: list[tuple[eql.EventField, ...]] = [()]
    filters = [body] if isinstance(body, eql.EventFilter) else []
    if not isinstance(body, eql.EventFilter):
        steps = body.steps if isinstance(body, eql.EventSample) else eql.step_expanded(body)
        fields = [eql.step_keys(body, step) for step in steps if not step.missing]
        filters = [step.filter for step in steps if not step.missing]
    known = {} if asked.schema is None else asked.schema.attributes
    for arrays in ((False, True) if not arrays_first else (True, False)) if asked.arrays else (False,):
        key: dict[int, Value] = {}  # by place
        letters: dict[object, list[EventLetter]] = {}
        events: list[Event] = []
        for part, names in zip(filters, fields, strict=True):
            fixed = {field.name: key[place] for place, field in enumerate(names) if place in key}
            same = part, tuple(fixed.items())
            if same not in letters:
                letters[same] = FilterAlphabet([part], arrays, fixed, asked.schema).letters()
            if not letters[same]:
                break
            own = letters[same][0].attributes()
            for place, field in enumerate(names):
                key.setdefault(place, own.get(field.name, KEYS[known.get(field.name, "string")][0]))
            at = {TIME: time_at(BEGIN), **{field.name: key[place] for place, field in enumerate(names)}}
            events.append(letters[same][0].event(at))
        if len(events) == len(filters) and matches_of(query, events):
            return Stream(events)
    return None


def replace_event(query: eql.EqlQuery, mutant: eql.EqlQuery, along: list[Event], asked: Asked) -> list[Event] | None:
    """Change a log on which the query fires, so that the query and its mutant have different matches on it.

    along: that log, with one event for each step. The event of the last step that the mutant changes is replaced: the
    new event passes only the filter of the query, or only that of the mutant. Return the new log, or None if this
    fails.
    """
    body, steps = query.body, expanded_steps(query)
    others = expanded_steps(mutant)
    changed = [n for n, (step, other) in enumerate(zip(steps, others, strict=False)) if step.filter != other.filter]
    if len(steps) != len(along) or len(others) != len(steps) or not changed:
        return None
    n = changed[-1]
    keys = () if isinstance(body, eql.EventFilter) else eql.step_keys(body, steps[n])
    fixed = {field.name: along[n].attributes.get(field.name) for field in keys}
    with suppress(BudgetExceeded):
        for letter in FilterAlphabet([steps[n].filter, others[n].filter], False, fixed, asked.schema).letters():
            event = letter.event({**fixed, TIME: along[n].attributes.get(TIME)})
            S = [*along[:n], event, *along[n + 1 :]]
            if len(letter.passes) == 1 and matches_of(query, S) != matches_of(mutant, S):
                return S
    return None


def fires_on_some_log(query: eql.EqlQuery, asked: Asked = Asked()) -> Same | Different | Undecided:
    """Decide whether a query matches on some log: Different has such a log, Same means that there is none.

    Return Undecided otherwise. Raises BudgetExceeded.
    """
    never = eql.EventFilter(None, eql.FieldConstant(False))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return compare_rules(query, eql.EqlQuery(never, query.pipes), asked)
    # A log on which the rule fires is a difference from a rule of the same shape that never fires.
    steps = tuple(step if step.missing else replace(step, filter=never) for step in body.steps)
    return compare_rules(query, eql.EqlQuery(replace(body, steps=steps), query.pipes), asked)


def simplify_rule(query: eql.EqlQuery, asked: Asked = Asked(), budget: Budget = Budget()) -> tuple[eql.EqlQuery, bool]:
    """Return a smaller rule with the same meaning, and whether all ways to reduce it were tried.

    A reduction removes a part of the rule: a condition, a value, a key, a step, or the window. It is kept if the
    smaller rule is proved to mean the same. The search ends when the seconds of the budget are over.

    >>> from cerify.semantics.eql.parse import parse
    >>> eql.show(simplify_rule(parse('A where x == "a" and x != null'))[0])
    'A where x == "a"'
    """
    smaller = True
    try:
        with budget.timed():
            while smaller:
                smaller = False
                for reduction in EQL.reductions:
                    for other in reduction(query):
                        check_time()
                        with suppress(IllFormed):
                            require_wellformed(other)
                            if isinstance(compare_rules(query, other, asked, budget), Same):
                                query, smaller = other, True
                                break
                    if smaller:
                        break
    except BudgetExceeded:
        return query, False
    return query, True


class _Comparison:
    def __init__(self, left: eql.EqlQuery, right: eql.EqlQuery, asked: Asked, budget: Budget) -> None:
        self.left, self.right, self.asked, self.budget = (
            with_keys_in_order(left),
            with_keys_in_order(right),
            asked,
            budget,
        )
        self.filters = list(dict.fromkeys((*eql.filters_of(left), *eql.filters_of(right))))
        self.number = {f: i for i, f in enumerate(self.filters)}
        self._followed_keys = self._sorted = False
        self.has_all_keys = True  # whether the key values that are compared represent all values

    def verdict(self) -> Same | Different | Undecided:
        """Decide the question; if the budget is too small for that, search for a log on which the rules differ.

        Raises BudgetExceeded if no log is found.
        """
        try:
            return self._decide()
        except BudgetExceeded:
            check_time()
            for events in () if self._followed_keys else self._along_keys():
                check_time()
                if self.difference(events) is not None:
                    return self._shortened(events)
            raise

    def _decide(self) -> Same | Different | Undecided:
        exact = True
        differs: Undecided | None = None
        for arrays in (False, True) if self.asked.arrays else (False,):
            free = FilterAlphabet(self.filters, arrays, schema=self.asked.schema)
            if (self._agree(free) or self._narrows_first(free) or self._widens(free)) and free.exact:
                continue
            for key in self.keys() if self._same_keys() else [{}]:
                alphabet = FilterAlphabet(self.filters, arrays, key, self.asked.schema) if key else free
                if self._agree(alphabet):
                    exact &= alphabet.exact
                    continue
                found = self._over_keys(arrays, key)
                if isinstance(found, Different):
                    return found
                differs = found if differs is None else differs
        if differs is not None:
            return differs
        if not (exact and self.has_all_keys):
            return Undecided("a condition cannot be decided exactly, and no log was found on which the rules differ")
        return Same("the rules agree on all logs of one key", self._sorted)

    def _over_keys(self, arrays: bool, key: PartialKey) -> Different | Undecided | None:
        """Compare the rules over the letters of one value of the key.

        If the keys differ by step, compare the rules over all values.
        """
        differs: Undecided | None = None
        if not self._same_keys() and (found_soon := self._apart_by_one_event()) is not None:
            return found_soon
        for one in [key] if self._same_keys() else self.keys():
            alphabet = FilterAlphabet(self.filters, arrays, one, self.asked.schema)
            found = self._over(alphabet.letters(), one)
            if isinstance(found, Different):
                return found
            if found is None and not alphabet.exact:
                found = Undecided(
                    "a condition cannot be decided exactly, and no log was found on which the rules differ"
                )
            differs = found if differs is None else differs
        return differs

    def _apart_by_one_event(self) -> Different | None:
        """Return a log on which one rule fires except for one event, which only one of the rules takes at its step."""
        for one, other in ((self.left, self.right), (self.right, self.left)):
            along = find_firing_log(one, replace(self.asked, arrays=False))
            events = None if along is None else replace_event(one, other, list(along), self.asked)
            if events is not None and self.difference(events) is not None:
                return self._shortened(events)
        return None

    # --- keys ---------------------------------------------------------------------------------------------------------

    def keys(self) -> Iterator[PartialKey]:
        """Yield values of all key fields, one dictionary for each choice that conditions distinguish.

        Fields at the same place of the keys have the same value.
        """
        tested = {f.name for filter_ in self.filters for f in eql.fields_of(filter_.condition)}
        groups: list[set[str]] = []
        optional: set[str] = set()
        for place in zip_longest(*(key_shape(self.left) | key_shape(self.right))):
            names = {field.name for field in place if field is not None}
            optional |= {field.name for field in place if field is not None and field.optional}
            groups = [g for g in groups if not g & names] + [names.union(*(g for g in groups if g & names))]
        options: list[list[Value | None]] = []
        for group in groups:
            values: list[Value | None] = [self._value_of_key(group)]
            if group & tested:
                values = [*self._values_of_key(group & tested), *[None] * bool(group & optional)]
            options.append(values)
        if prod(map(len, options)) > MOST_KEY_CLASSES:
            raise BudgetExceeded(
                "the conditions distinguish too many values of the key; compare it with fewer constants"
            )
        for chosen in product(*options):
            yield {name: value for group, value in zip(groups, chosen, strict=True) for name in sorted(group)}

    def _value_of_key(self, names: set[str]) -> Value:
        """Return a value that these fields may have."""
        known = {} if self.asked.schema is None else self.asked.schema.attributes
        kind: ValueType = next((known[name] for name in sorted(names) if name in known), "string")
        return ADDRESS if kind == "string" and any(name.split(".")[-1] == "ip" for name in names) else KEYS[kind][0]

    def _values_of_key(self, names: set[str]) -> list[Value]:
        """Return one value of the key for each set of tests that a value can pass.

        With one field every such set is covered. With several fields some are, enough to search for a difference.
        """
        probe = FilterAlphabet(self.filters, False, schema=self.asked.schema)
        for name in sorted(names):
            if not probe.is_alone(name):
                raise BudgetExceeded(f"rules with a condition on the key {name} and another field cannot be compared")
        check_time()
        if len(names) == 1:
            (name,) = names
            found = probe.classes_of(name)
            self.has_all_keys &= probe.exact
            return found
        seen: dict[tuple[Truth, ...], Value] = {}
        for value in dict.fromkeys(values[0] for name in sorted(names) for values in probe.values_of(name) if values):
            seen.setdefault(tuple(truth for name in sorted(names) for truth in probe.truths(name, value)), value)
        return list(seen.values())

    # --- over letters -------------------------------------------------------------------------------------------------

    def _over(self, letters: list[EventLetter], key: PartialKey) -> Different | Undecided | None:
        one, other = self.left.body, self.right.body
        if isinstance(one, eql.EventFilter) and isinstance(other, eql.EventFilter):
            if self.left.pipes or self.right.pipes:
                return self._searched(letters, key)
            return self._events(letters, one, other)
        plain = (
            isinstance(one, eql.EventSequence)
            and isinstance(other, eql.EventSequence)
            and not (self.left.pipes or self.right.pipes)
            and not any(step.missing for step in (*one.steps, *other.steps))
        )
        if not plain or not self._same_keys():
            return self._searched(letters, key)
        assert isinstance(one, eql.EventSequence)
        assert isinstance(other, eql.EventSequence)
        rules = self._rule(one), self._rule(other)
        if rules[0].window != rules[1].window:
            return self._searched(letters, key)
        return self._followed(letters, key, rules)

    def _agree(self, alphabet: FilterAlphabet) -> bool:
        """Return whether the queries have the same shape, and their steps' filters pass the same events."""
        if shape_of(self.left) != shape_of(self.right):
            return False
        pairs = zip(expanded_filters(self.left), expanded_filters(self.right), strict=True)
        return alphabet.agree([(self.number[f], self.number[g]) for f, g in pairs])

    def _narrows_first(self, alphabet: FilterAlphabet) -> bool:
        """Return whether the left sequence is the right one with a narrower first step, so that the right one has all
        its matches.

        The right one has a run wherever the left one has, and its run began at the same event or a later one, because
        runs of a key never overtake each other. A run that began later is within maxspan if the earlier one is.
        """
        sequences = (self.left.body, self.right.body)
        if (
            (self.asked.claim, self.asked.level) != ("contained", "positions")
            or shape_of(self.left) != shape_of(self.right)
            or self.left.pipes
            or not all(isinstance(body, eql.EventSequence) for body in sequences)
            or any(step.missing for body in sequences if isinstance(body, eql.EventSequence) for step in body.steps)
        ):
            return False
        self._sorted |= getattr(self.left.body, "maxspan", None) is not None
        one, other = ([self.number[f] for f in expanded_filters(q)] for q in (self.left, self.right))
        return alphabet.agree(zip(one[1:], other[1:], strict=True)) and alphabet.implies(one[0], other[0])

    def _widens(self, alphabet: FilterAlphabet) -> bool:
        """Return whether the right sequence differs only in a wider window, so that it has each match of the left one.

        Both end the same run at an event, so the wider window only adds matches. A missing event before the first or
        after the last step makes a wider window stricter; then only sequences of a single event are accepted.
        """
        one, other = self.left.body, self.right.body
        if self.asked.claim != "contained" or self.left.pipes or self.right.pipes:
            return False
        if not (isinstance(one, eql.EventSequence) and isinstance(other, eql.EventSequence)):
            return False
        widths = [inf if body.maxspan is None else body.maxspan.microseconds for body in (one, other)]
        if one.steps[0].missing or one.steps[-1].missing:
            if sum(not step.missing for step in eql.step_expanded(one)) > 1:
                return False
            widths.reverse()
        same = replace(self.right, body=replace(other, maxspan=one.maxspan))
        if widths[0] > widths[1] or shape_of(self.left) != shape_of(same):
            return False
        pairs = zip(expanded_filters(self.left), expanded_filters(self.right), strict=True)
        return alphabet.agree([(self.number[f], self.number[g]) for f, g in pairs])

    def _events(self, letters: list[EventLetter], one: eql.EventFilter, other: eql.EventFilter) -> Different | None:
        i, j = self.number[one], self.number[other]
        for letter in letters:
            if self.asked.differ((0,) * (i in letter.passes), (0,) * (j in letter.passes)):
                return self._replayed([letter.event({TIME: time_at(BEGIN)})], True)
        return None

    def _same_keys(self) -> bool:
        """Return whether both queries have the same key, equal at all steps."""
        one, other = key_shape(self.left), key_shape(self.right)
        return len(one) == 1 and one == other

    def _rule(self, sequence: eql.EventSequence) -> SlotRule:
        steps = tuple(self.number[step.filter] for step in eql.step_expanded(sequence))
        until = None if sequence.until is None else self.number[sequence.until.filter]
        return SlotRule(steps, until, None if sequence.maxspan is None else sequence.maxspan.microseconds)

    def _followed(
        self, letters: list[EventLetter], key: PartialKey, rules: tuple[SlotRule, SlotRule]
    ) -> Different | None:
        """Return a shortest log of one key on which the rules differ; None if there is none. Raises BudgetExceeded."""
        if (
            max(len(rule.steps) for rule in rules) > LONG
            and (quick := self._along_steps(letters, key, rules)) is not None
        ):
            return quick
        self._sorted |= rules[0].window is not None
        start: State = tuple(((),) * (len(rule.steps) - 1) for rule in rules)  # type: ignore[assignment]
        back: dict[State, tuple[State, int, int] | None] = {start: None}
        pending, hidden = deque([start]), False  # hidden: whether another key hid a difference
        while pending:
            check_time()
            state = pending.popleft()
            for n, letter in enumerate(letters):
                for old in range(len(first_events(state)) + 1 if rules[0].window is not None else 1):
                    after, ended = step_rules(rules, state, letter.passes, old)
                    if self.asked.differ(*ended):
                        found = self._told_apart(letters, key, rules[0].window, path_to(back, state), (n, old))
                        if found is not None:
                            return replace(found, shortest=not hidden)
                        hidden = True
                    if after not in back:
                        back[after] = (state, n, old)
                        if len(back) > self.budget.states:
                            raise BudgetExceeded(
                                f"comparing needs more than {self.budget.states} states; allow more: Budget(states=...)"
                            )
                        pending.append(after)
        if hidden:
            raise BudgetExceeded(
                "a log was found on which the rules differ for one key, but they agree for a second key of its events "
                "(from arrays); other logs were not searched"
            )
        return None

    def _along_steps(
        self, letters: list[EventLetter], key: PartialKey, rules: tuple[SlotRule, SlotRule]
    ) -> Different | None:
        """Return a log that follows the steps of one rule, where at one step only one of the rules takes the event."""
        for rule, other in (rules, rules[::-1]):
            path = [next((n for n, one in enumerate(letters) if i in one.passes), None) for i in rule.steps]
            for at, i in enumerate(rule.steps):
                twin = other.steps[at] if at < len(other.steps) else None
                for n, letter in enumerate(letters):
                    if i in letter.passes and twin not in letter.passes and None not in path:
                        chosen = [n if k == at else m for k, m in enumerate(path)]
                        events = [
                            letters[m or 0].event(
                                {**key, TIME: time_at(BEGIN + SECOND * (rule.window != 0) * k // 1000)}
                            )
                            for k, m in enumerate(chosen)
                        ]
                        if self.difference(events) is not None:
                            return self._shortened(events)
        return None

    def _told_apart(
        self, letters: list[EventLetter], key: PartialKey, window: int | None, path: list[tuple[int, int]],
        last: tuple[int, int],
    ) -> Different | None:  # fmt: skip
        """Return the difference of the rules on the log of a path.

        Return None if there is none, because the events have a second key (in an array) for which the rules agree.
        """
        moments = [Moment(letters[n].passes, old) for n, old in (*path, last)]
        times = (
            times_of(moments, window, self._rules_for_times())
            if window is not None
            else [SECOND * n for n in range(len(moments))]
        )
        events = [
            letters[n].event({**key, TIME: time_at(BEGIN + t)}) for (n, _), t in zip((*path, last), times, strict=True)
        ]
        for log in (events, [_with_all_keys(event, key, events) for event in events]):
            if self.difference(log) is not None:
                return self._replayed(log, True)
        if not any(f"{name}[1]" in event.attributes for event in events for name in key):
            raise AssertionError(
                "the search found a log on which the rules differ, but by the reference evaluator they do not"
            )
        return None

    def _rules_for_times(self) -> tuple[SlotRule, SlotRule]:
        assert isinstance(self.left.body, eql.EventSequence)
        assert isinstance(self.right.body, eql.EventSequence)
        return self._rule(self.left.body), self._rule(self.right.body)

    # --- search -------------------------------------------------------------------------------------------------------

    def _searched(self, letters: list[EventLetter], key: PartialKey) -> Different | Undecided | None:
        """Search logs that follow the steps, and random logs, for one that distinguishes the queries."""
        along = () if self._followed_keys else self._along_keys()
        self._followed_keys = True
        for events in chain(along, tried_logs((self.left, self.right), self.number, letters, key)):
            check_time()
            found = self.difference(events)
            if found is not None:
                return self._shortened(events)
        return Undecided("these rules cannot be compared on all logs, and no log was found on which they differ")

    def _along_keys(self) -> Iterator[list[Event]]:
        """Yield logs on which one of the rules fires, for each value of its key, and any values of the other keys."""
        alphabets: dict[frozenset[tuple[str, type, Value]], list[EventLetter]] = {}

        def letters_with(fixed: dict[str, Value]) -> list[EventLetter]:
            known = frozenset((name, type(value), value) for name, value in fixed.items())
            if known not in alphabets:
                alphabets[known] = FilterAlphabet(self.filters, False, fixed, self.asked.schema).letters()
            return alphabets[known]

        probe = FilterAlphabet(self.filters, False, schema=self.asked.schema)

        def twin(name: str, value: Value) -> Value:
            others = (v[0] for v in probe.values_of(name) if v and v[0] != value) if probe.is_alone(name) else iter(())
            truths = probe.truths(name, value)
            return next((other for other in others if probe.truths(name, other) == truths), value)

        def logs_of(query: eql.EqlQuery) -> Iterator[list[Event]]:
            for values in self._values_by_place(query):
                yield from keyed_logs(query, (self.left, self.right), self.number, values, letters_with, twin)

        in_turn = zip_longest(logs_of(self.left), logs_of(self.right))
        yield from (log for logs in in_turn for log in logs if log is not None)

    def _values_by_place(self, query: eql.EqlQuery) -> Iterator[tuple[Value, ...]]:
        """Yield values for the fields of a query's key, in order; values that conditions distinguish come first."""
        options: list[list[Value]] = []
        for place in zip_longest(*key_shape(query)):
            names = {field.name for field in place if field is not None}
            values = [self._value_of_key(names)]
            with suppress(BudgetExceeded):
                values += self._values_of_key(names)
            options.append(values)
        yield from islice(product(*options), MOST_KEY_CLASSES)

    def _shortened(self, events: list[Event]) -> Different:
        """Return the log without unneeded events."""
        size = None
        # Until nothing changes, because an event may become needless when a later one has gone.
        while size != len(events):
            size, i = len(events), 0
            while i < len(events):
                fewer = events[:i] + events[i + 1 :]
                if self.difference(fewer) is None:
                    i += 1
                else:
                    events = fewer
        return self._replayed(events, False)

    def difference(self, events: list[Event]) -> tuple[list[Match], list[Match], int] | None:
        """Return the matches that only one query has, by the reference evaluator, and the position of the first."""
        one, other = (matches_of(query, events, budget=self.budget) for query in (self.left, self.right))
        if self.asked.level == "positions":
            mine, theirs = {m.at for m in one}, {m.at for m in other}
            left, right = [m for m in one if m.at not in theirs], [m for m in other if m.at not in mine]
        else:
            left, right = [m for m in one if m not in other], [m for m in other if m not in one]
        against = [*left, *(right if self.asked.claim == "equivalent" else [])]
        return (left, right, min(m.at for m in against)) if against else None

    def _replayed(self, events: list[Event], shortest: bool) -> Different:
        found = self.difference(events)
        if found is None:
            raise AssertionError(
                "the search found a log on which the rules differ, but by the reference evaluator they do not"
            )
        left, right, at = found
        here = [tuple(m for m in matches if m.at == at) for matches in (left, right)]
        return Different(Stream(events), at, here[0], here[1], shortest)


def _with_all_keys(event: Event, key: PartialKey, log: list[Event]) -> Event:
    """Return the event with every key value of the log in its key fields, so that all events have the same keys."""
    attributes = dict(event.attributes)
    for name in key:
        every = dict.fromkeys(value for one in log for value in values_of(one, name))
        attributes |= {f"{name}[{n}]" if n else name: value for n, value in enumerate(every)}
    return Event(event.type, attributes)
