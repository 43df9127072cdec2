"""Explain why an EQL rule fired or not: how far sequences came step by step, and why events are not a match.

The reference evaluator gives the matches and no reasons. Therefore a second account follows every sequence from step to
step, and records what stopped it. On a long log it also gives the matches of a rule without pipes, because the
definition would take too long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby

from cerify.automata.eql.machine import SlotMachine
from cerify.draw.timeline import Row
from cerify.explanations.explanation import (
    NONE_NEAR,
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    find_nearest,
    listing,
    nearest,
)
from cerify.explanations.near_misses import Cause, NearMiss, NearMissReport
from cerify.semantics.arguments import timed_items
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import (
    Key,
    condition_test,
    filter_test,
    has_category,
    keys_of,
    own_values_of,
    span_of,
    time_of,
    values_of,
)
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.errors import InputError, Unsupported, shortened
from cerify.semantics.events import ComplexEvent, Event, Match, Stream
from cerify.semantics.schemas import NULL, field_name
from cerify.semantics.values import Value, show_seconds

SHORT = 2_000  # the most events of a log for which matches are found by the definition itself
LONGEST = 300  # the most characters of a condition in a message


@dataclass(frozen=True)
class EqlAnswer:
    """The answer whether events are a match reported at a position, why or why not, and the nearest matches."""

    events: ComplexEvent
    at: int
    match: bool
    reasons: tuple[str, ...]
    nearest: tuple[Match, ...] = ()


class EqlExplainer(Explainer[EqlAnswer]):
    """An explainer that uses the matches of the reference evaluator, and the reason why each sequence stopped."""

    hint = "--match POSITIONS explains why events are not a match, as in --match 0,1."

    def __init__(self, query: eql.EqlQuery, S: Stream, text: str) -> None:
        self.rule, self.S, self.query = query, S, text

    @cached_property
    def funnel(self) -> EventCounts | None:
        """Return how many events and sequences reached each step of a sequence rule; None for another query."""
        body = self.rule.body
        return follow(body, self.S) if isinstance(body, eql.EventSequence) else None

    @cached_property
    def matches(self) -> Sequence[Match]:
        """Return the matches of the rule.

        The reference evaluator finds them on a log of at most SHORT events. It is too slow for a longer log: there the
        matches come from `funnel`, or for a rule with pipes from the faster evaluator.
        """
        if len(self.S) <= SHORT:
            return matches_of(self.rule, self.S)
        if self.funnel is not None and not self.rule.pipes:
            return sorted(set(self.funnel.found))
        return list(SlotMachine(self.rule).evaluate(self.S))

    def explain_request(self, request: Request) -> EqlAnswer | None:
        if request.valuation is not None:
            raise Unsupported("a match of EQL has no variables that bind its events; give its positions")
        if request.events is None:
            return None
        if not request.events:
            raise InputError("--match needs at least one position: a match of EQL is never empty")
        C = request.events
        at = max(C) if request.at is None else request.at
        for place in (*sorted(C), at):
            self.require_on_stream(place, "--match")
        if any(m.at == at and set(m.events) == C for m in self.matches):
            return EqlAnswer(C, at, True, tuple(self._reasons_for(tuple(sorted(C)))))
        near = find_nearest(self.matches, C)
        return EqlAnswer(C, at, False, tuple(self._reasons_against(tuple(sorted(C)), at)), tuple(near))

    def all(self, request: Request) -> Listing[EqlAnswer]:
        answers = (
            EqlAnswer(frozenset(m.events), m.at, True, tuple(self._reasons_for(m.events)))
            for m in self.matches
            if request.at in (None, m.at)
        )
        found = listing(answers, request, len(self.S), lambda one: one.at)
        lines = self._counts()
        return Listing(found.found, found.more, found.first, found.last, tuple(lines))

    def json(self, found: EqlAnswer) -> Json:
        answer: Json = {"query": self.query, "events": sorted(found.events), "at": found.at, "match": found.match}
        answer["because"] = list(found.reasons)
        near = [{"events": list(m.events), "at": m.at} for m in found.nearest]
        return answer if found.match else answer | {"nearest": near}

    def view(self, found: EqlAnswer) -> ExplanationView:
        label = braces(found.events)
        sentence = f"{label} is {'a' if found.match else 'not a'} match at {found.at}"
        rows = [Row("common" if found.match else "extra", sorted(found.events), found.at, sentence)]
        rows += [Row("common", m.events, m.at, f"nearest match · {braces(m.events)} at {m.at}") for m in found.nearest]
        heading = "each event is at its step" if found.match else "what is in the way"
        parts: tuple[ExplanationPart, ...] = (ExplanationPart(heading, lines=found.reasons),) if found.reasons else ()
        parts += nearest("", (m.events for m in found.nearest), found.events, "" if found.match else NONE_NEAR)
        places = tuple(sorted(found.events))
        return ExplanationView(sentence, found.match, places, found.at, label, parts, Drawing(tuple(rows)), True)

    # --- reasons ------------------------------------------------------------------------------------------------------

    def _counts(self) -> Iterator[str]:
        if self.funnel is not None:
            yield from self.funnel.lines()
            return
        for number, part in enumerate(eql.filters_of(self.rule), 1):
            passing = sum(1 for event in self.S if not list(failures(part, event)))
            yield f"step {number}: {passing} of {len(self.S)} events pass: {eql.show_filter(part)}"

    def _steps(self) -> list[eql.SequenceStep]:
        body = self.rule.body
        match body:
            case eql.EventSequence():
                return [step for step in eql.step_expanded(body) if not step.missing]
            case eql.EventSample():
                return list(body.steps)
            case eql.EventFilter():
                return [eql.SequenceStep(body)]

    def _reasons_for(self, positions: tuple[int, ...]) -> Iterator[str]:
        body = self.rule.body
        if not isinstance(body, eql.EventSample):
            passed = enumerate(zip(positions, self._steps(), strict=False), 1)
            for step, same in groupby(passed, key=lambda one: one[1][1].filter):
                numbers, places = zip(*((number, p) for number, (p, _) in same), strict=True)
                one = len(numbers) == 1
                events = f"event {places[0]} passes" if one else f"events {', '.join(map(str, places))} pass"
                which = f"step {numbers[0]}" if one else f"steps {numbers[0]} to {numbers[-1]}"
                yield f"{events} {which}: {cut(eql.show_filter(step))}"
        if isinstance(body, eql.EventSequence) and (fields := eql.step_keys(body, body.steps[0])):
            yield f"its key is {_key_text(self.S[positions[0]], fields)}"
        window = span_of(body.maxspan) if isinstance(body, eql.EventSequence) else None
        if window is not None:
            begin, end = (time_of(self.S[p]) or 0 for p in (positions[0], positions[-1]))
            yield f"it takes {show_seconds(end - begin)} s, at most {show_seconds(window)} s are allowed"

    def _reasons_against(self, positions: tuple[int, ...], at: int) -> Iterator[str]:
        steps, body = self._steps(), self.rule.body
        if at != positions[-1]:
            yield f"a match is reported at its last event, which is {positions[-1]} and not {at}"
        if len(positions) != len(steps):
            events = f"{len(steps)} event{'s' * (len(steps) != 1)}"
            yield f"a match has {events}, one for each step, not {len(positions)}"
            return
        wrong = False
        for number, (p, step) in enumerate(zip(positions, steps, strict=True), 1):
            for reason in failures(step.filter, self.S[p]):
                wrong = True
                yield f"event {p} does not pass step {number}: {reason}"
        if isinstance(body, eql.EventFilter):
            return
        keys = [set(keys_of(self.S[p], eql.step_keys(body, step))) for p, step in zip(positions, steps, strict=True)]
        common = keys[0]
        for p, own, step in zip(positions, keys, steps, strict=True):
            # If nothing is left, the keys so far stay: each later event is then compared with them, rather than with
            # the odd one.
            common = common & own or common
            if not own:
                wrong = True
                yield f"event {p} has no key: {_key_text(self.S[p], eql.step_keys(body, step))}"
            elif common and not common & own:
                wrong = True
                mine = _key_text(self.S[p], eql.step_keys(body, step))
                first = _key_text(self.S[positions[0]], eql.step_keys(body, steps[0]))
                yield f"the key differs: {first} at event {positions[0]}, {mine} at event {p}"
        if isinstance(body, eql.EventSequence) and not wrong:
            yield from self._stopped(positions)
        if self.rule.pipes and not wrong:
            yield f"or a pipe leaves it out: {' '.join(f'| {pipe.name} {pipe.count}' for pipe in self.rule.pipes)}"

    def _stopped(self, positions: tuple[int, ...]) -> Iterator[str]:
        """Yield the reason why a sequence that began with these events stopped, or continued with other events."""
        assert self.funnel is not None
        for one in self.funnel.stopped:
            n = len(one.positions)
            if one.positions == positions[:n] and (n < len(positions) or one.kind in ("expired", "gap")):
                where = "" if n == len(positions) or one.at == positions[n - 1] else f" after event {positions[n - 1]}"
                verb = {"until": "ended", "gap": "stopped", "waiting": "still waiting", "expired": "too late"}
                yield f"the sequence from event {positions[0]} is {verb.get(one.kind, one.kind)}{where} {one.words}"
                return
        yield "a sequence takes the next event at each step; of sequences that end together, the last to begin is kept"


# --- near misses ------------------------------------------------------------------------------------------------------

LOOKED_AT = 2_000  # the most events after a sequence that are searched for one that nearly took its next step
CAUSES: Mapping[str, Cause] = {
    "overwritten": "overwritten",
    "until": "forbidden",
    "expired": "late",
    "gap": "forbidden",
    "waiting": "open",
}


def missed_sequences(query: eql.EventSequence, S: Stream, limit: int) -> NearMissReport:
    """Report how far the sequences of a rule came, with the `limit` deepest incomplete sequences and their causes.

    A message also names an event soon after the sequence that nearly took its next step: an event that passes the
    filter but has another key, or has the key but fails the filter.
    """
    funnel = follow(query, S)
    steps = [step for step in eql.step_expanded(query) if not step.missing]
    texts = tuple(f"[{step.text}]" for step in funnel.steps)
    deepest = len(steps) - 1  # a sequence that failed at its last step did not take this step
    causes: list[dict[Cause, int]] = [{} for _ in texts]
    reached = [funnel.matches] * len(texts)
    misses: list[NearMiss] = []
    for one in sorted(funnel.stopped, key=lambda one: (-min(len(one.positions), deepest), one.positions)):
        depth, cause = min(len(one.positions), deepest), CAUSES[one.kind]
        causes[depth][cause] = causes[depth].get(cause, 0) + 1
        for k in range(depth):
            reached[k] += 1
        if len(misses) < limit:
            message = f"{STOPPED[one.kind]}, {one.words}" if one.kind != "overwritten" else f"overwritten {one.words}"
            if one.kind in ("waiting", "overwritten"):
                message += _close_call(query, steps, one, S)
            misses.append(NearMiss(one.positions[0], one.positions[:depth], texts[depth], cause, one.at, message))
    return NearMissReport(
        texts,
        tuple(reached),
        tuple(causes),
        (None,) * len(texts),
        tuple(misses),
        left_out=len(funnel.stopped) - len(misses),
        unread=0,
        candidates=tuple(step.passing for step in funnel.steps),
        excluded=tuple({"without a key": step.keyless} if step.keyless else {} for step in funnel.steps),
    )


def _close_call(query: eql.EventSequence, steps: list[eql.SequenceStep], one: StoppedSequence, S: Stream) -> str:
    """Return the end of a message: the first event that nearly took the next step of a sequence.

    Return "" if there is no such event.
    """
    step, start, begin = steps[len(one.positions)], one.positions[-1] + 1, time_of(S[one.positions[0]])
    fields, window = eql.step_keys(query, step), span_of(query.maxspan)
    first = steps[0]
    keys = set(keys_of(S[one.positions[0]], eql.step_keys(query, first)))
    failed = ""
    for p in range(start, min(len(S), start + LOOKED_AT, len(S) if one.at is None else one.at)):
        event = S[p]
        time = time_of(event)
        if not has_category(event, step.filter.category) or (
            window is not None and (time is None or begin is None or time > begin + window)
        ):
            continue
        reasons = list(failures(step.filter, event))
        shared = keys & set(keys_of(event, fields))
        if not reasons and not shared:
            mine = _key_text(S[one.positions[0]], eql.step_keys(query, first))
            return f"; event {p} has another key: {_key_text(event, fields)}, not {mine}"
        if reasons and shared and not failed:
            failed = f"; event {p} fails it: {reasons[0]}"
    return failed


def failures(part: eql.EventFilter, event: Event) -> Iterator[str]:
    """Yield the reasons why an event does not pass a filter: each failed test, with the values of its fields."""
    if not has_category(event, part.category):
        yield f"its category is {event.type}, not {part.category}"
        return
    yield from _failed(part.condition, event)


def _failed(condition: eql.Condition, event: Event) -> Iterator[str]:
    if condition_test(condition)(event) is True:
        return
    match condition:
        case eql.AllConditions(parts):
            for part in parts:
                yield from _failed(part, event)
        case eql.AnyConditions(parts):
            reasons = [next(_failed(part, event), "") for part in parts]
            yield cut(f"none of these holds: {'; '.join(reasons)}")
        case eql.NegatedCondition(part):
            text = eql.show_condition(eql.NegatedCondition(_true_part(part, event)))
            yield f"{cut(text)}, and {values_text(part, event)}"
        case eql.SingleCondition():
            yield f"{cut(eql.show_condition(condition))}, and {values_text(condition, event)}"


def _true_part(condition: eql.Condition, event: Event) -> eql.Condition:
    """Return the part of a true condition that makes it true: one of its alternatives, values, or address blocks."""
    options: list[eql.Condition] = []
    match condition:
        case eql.AnyConditions(parts):
            options = list(parts)
        case eql.ValueLookup(operator, term, values):
            options = [eql.ValueLookup(operator, term, (value,)) for value in values]
        case eql.FunctionCall(name, folded, (field, *blocks)) if name in ("cidrMatch", "startsWith", "endsWith"):
            options = [eql.FunctionCall(name, folded, (field, block)) for block in blocks]
    found = next((option for option in options if condition_test(option)(event) is True), None)
    return condition if found is None or found == condition else _true_part(found, event)


def values_text(condition: eql.Condition, event: Event, keeps_nulls: bool = False) -> str:
    """Return the values of a condition's fields as text.

    keeps_nulls: whether events keep nulls and the document's own fields (see `NULL` and `FIELD`).
    """
    values_in = own_values_of if keeps_nulls else values_of

    def absent(name: str) -> str:
        return "absent or null" if not keeps_nulls else "null" if f"{name}{NULL}" in event.attributes else "absent"

    names = dict.fromkeys(field.name.removesuffix(NULL) for field in eql.fields_of(condition))
    said = ((field_name(name), _value_text(values_in(event, name), absent(name))) for name in names)
    return ", ".join(f"{name} is {text}" for name, text in said) or "it names no field"


def _value_text(values: Iterable[Value], absent: str = "absent") -> str:
    shown = [str(v) if not isinstance(v, str | bool) else eql.show_constant(v) for v in values]
    return absent if not shown else shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"


def _key_text(event: Event, fields: tuple[eql.EventField, ...]) -> str:
    return ", ".join(f"{field.name} {_value_text(values_of(event, field.name))}" for field in fields)


def cut(text: str) -> str:
    return shortened(text, LONGEST)


# ---------------------------------------------------------------------------------------------------------------------
# Follow every sequence of an EQL rule: how far each came, and what stopped it.
#
# For each key, every step has one place, in which a sequence waits for the next step. A sequence stops for one of these
# reasons: a later sequence overwrites it, `until` ends it, it reaches its last step too late, a forbidden event (`!`)
# occurs, or it still waits at the end of the log.

SHOWN = 3
STOPPED = {
    "overwritten": "overwritten by a later sequence",
    "until": "ended by until",
    "expired": "too late for maxspan at the last step",
    "gap": "stopped by an event that must be missing",
    "waiting": "still waiting when the log ended",
}


@dataclass(frozen=True)
class StoppedSequence:
    """A sequence that did not become a match.

    kind: the reason why it stopped, a key of STOPPED. at: the position of the event that stopped it, if there is one.
    words: details for a message.
    """

    positions: tuple[int, ...]
    kind: str
    at: int | None
    words: str


@dataclass
class StepEvents:
    """The counts of a step.

    passing: events that pass its filter. keyless: passing events without a key. unawaited: passing events with a key
    for which no sequence waits for this step. reached: sequences that reached the step. examples: positions of some
    unawaited events. keys: the keys of passing events.
    """

    text: str
    passing: int = 0
    keyless: int = 0
    unawaited: int = 0
    reached: int = 0
    examples: list[int] = field(default_factory=list)
    keys: set[Key] = field(default_factory=set)


@dataclass
class EventCounts:
    """The counts for a sequence rule: events that pass each step, sequences that stopped, and matches before pipes."""

    events: int
    steps: list[StepEvents]
    stopped: list[StoppedSequence]
    found: list[Match] = field(default_factory=list)

    @property
    def matches(self) -> int:
        """Return the number of different matches. An event with an array has several keys, so two keys may give the
        same match.
        """
        return len(set(self.found))

    def _step_lines(self) -> Iterator[str]:
        """Yield a line about each step. The filter of a step with `runs=n` is written once."""
        first: dict[str, int] = {}
        for number, step in enumerate(self.steps, 1):
            about = []
            if step.keyless:
                about.append(f"{step.keyless} without a key")
            if number > 1 and step.unawaited:
                examples = ", ".join(map(str, step.examples))
                about.append(f"for {step.unawaited}, no sequence with their key waits, as for event {examples}")
            more = f" ({'; '.join(about)})" if about else ""
            keys = f" of {len(step.keys)} keys" if len(step.keys) > 1 else ""
            text = step.text if first.setdefault(step.text, number) == number else f"as step {first[step.text]}"
            passes = "event passes" if step.passing == 1 else "events pass"
            reach = "sequence reaches" if step.reached == 1 else "sequences reach"
            yield f"{step.passing} {passes}{keys}, {step.reached} {reach} the step{more}: {text}"

    def lines(self) -> Iterator[str]:
        """Yield the counts as text: a line for each step and each reason why sequences stopped."""
        yield f"of {self.events} events"
        for said, same in groupby(enumerate(self._step_lines(), 1), key=lambda pair: pair[1]):
            numbers = [number for number, _ in same]
            yield f"step{f's {numbers[0]} to {numbers[-1]}' if len(numbers) > 1 else f' {numbers[0]}'}: {said}"
        counts = Counter(one.kind for one in self.stopped)
        for kind, words in STOPPED.items():
            if counts[kind]:
                examples = list(dict.fromkeys(one for one in self.stopped if one.kind == kind))[:SHOWN]
                shown = "; ".join(f"{braces(one.positions)} {one.words}" for one in examples)
                yield f"{counts[kind]} {words}: {shown}"
        yield f"{self.matches} match{'' if self.matches == 1 else 'es'}"


def follow(query: eql.EventSequence, S: Sequence[Event]) -> EventCounts:
    """Return how far the sequences of a rule came on a log, and what stopped them, by Elastic's semantics.

    Raises BudgetExceeded.
    """
    return _Follower(query, S).run()


class _Follower:
    def __init__(self, query: eql.EventSequence, S: Sequence[Event]) -> None:
        steps = eql.step_expanded(query)
        self.query, self.S, self.window = query, S, span_of(query.maxspan)
        self.steps = [self._step(step) for step in steps if not step.missing]
        self.gaps = [
            (sum(not one.missing for one in steps[:i]), self._step(step))
            for i, step in enumerate(steps)
            if step.missing
        ]
        self.until = None if query.until is None else self._step(query.until)
        counts = [StepEvents(eql.show_filter(step.filter)) for step in steps if not step.missing]
        self.funnel = EventCounts(len(S), counts, [])
        self.places: dict[Key, list[tuple[int, ...]]] = {}
        self.missed: dict[tuple[int, Key], list[int]] = {}
        self.complete: list[tuple[Key, tuple[int, ...]]] = []

    def _step(self, step: eql.SequenceStep) -> tuple[Callable[[Event], bool], tuple[eql.EventField, ...]]:
        return filter_test(step.filter), eql.step_keys(self.query, step)

    def run(self) -> EventCounts:
        """Follow the sequences through the whole log."""
        for position, event in enumerate(timed_items(self.S)):
            self.after(position, event)
        self.end()
        return self.funnel

    def after(self, position: int, event: Event) -> None:
        """Follow the sequences through one event."""
        for i in range(len(self.steps) - 1, -1, -1):
            test, fields = self.steps[i]
            if test(event):
                self._at_step(i, position, keys_of(event, fields))
        if self.until is not None and self.until[0](event):
            for K in keys_of(event, self.until[1]):
                for waiting in filter(None, self.places.get(K, [])):
                    self._stop(waiting, "until", position, f"by event {position}")
                if K in self.places:
                    self.places[K] = [()] * len(self.steps)
        for j, (_, (test, fields)) in enumerate(self.gaps):
            for K in keys_of(event, fields) if test(event) else ():
                self.missed.setdefault((j, K), []).append(position)

    def _at_step(self, i: int, position: int, keys: tuple[Key, ...]) -> None:
        count = self.funnel.steps[i]
        count.passing += 1
        count.keyless += not keys
        count.keys.update(keys)
        moved = [self._move(i, position, K) for K in keys]
        if keys and not any(moved):
            count.unawaited += 1
            if len(count.examples) < SHOWN:
                count.examples.append(position)

    def _move(self, i: int, position: int, K: Key) -> bool:
        """Move the sequence of this key that waits for step i to this step, or begin a sequence if i is 0.

        Return False if no sequence waits for the step.
        """
        places = self.places.get(K) or [()] * len(self.steps)
        if i > 0 and not places[i - 1]:
            return False
        self.places[K] = places
        moved = (*(places[i - 1] if i else ()), position)
        if i:
            places[i - 1] = ()
        self.funnel.steps[i].reached += 1
        if i == len(self.steps) - 1:
            self.complete.append((K, moved))
            return True
        if places[i]:
            self._stop(places[i], "overwritten", position, f"by event {position}")
        places[i] = moved
        return True

    def end(self) -> None:
        """Check the windows and the gaps of complete sequences, and stop the sequences that still wait."""
        for K, positions in self.complete:
            late = self._late(positions)
            came = self._came(K, positions)
            if late is not None:
                self._stop(positions, "expired", positions[-1], late)
            elif came is not None:
                self._stop(positions, "gap", came, f"by event {came}")
            else:
                self.funnel.found.append(Match(positions[-1], positions))
        for places in self.places.values():
            for i, waiting in enumerate(places):
                if waiting:
                    self._stop(waiting, "waiting", None, f"for step {i + 2}")

    def _late(self, positions: tuple[int, ...]) -> str | None:
        """Return a text that says by how much the last event is too late; None if it is not too late."""
        if self.window is None:
            return None
        begin, end = (time_of(self.S[p]) for p in (positions[0], positions[-1]))
        if begin is None or end is None:
            return f"event {positions[0] if begin is None else positions[-1]} has no time"
        over = end - begin - self.window
        return f"by {show_seconds(over)} s" if over > 0 else None

    def _came(self, K: Key, run: tuple[int, ...]) -> int | None:
        """Return the position of the first event that must be missing but occurs; None if there is no such event."""
        begin, end = time_of(self.S[run[0]]), time_of(self.S[run[-1]])
        for j, (before, _) in enumerate(self.gaps):
            for p in self.missed.get((j, K), ()):
                time = time_of(self.S[p])
                if 0 < before < len(run):
                    inside = run[before - 1] < p < run[before]
                elif begin is None or end is None or time is None or self.window is None:
                    inside = False
                elif before == 0:
                    inside = p < run[0] and time >= end - self.window
                else:
                    inside = p > run[-1] and time <= begin + self.window
                if inside:
                    return p
        return None

    def _stop(self, positions: tuple[int, ...], kind: str, at: int | None, words: str) -> None:
        self.funnel.stopped.append(StoppedSequence(positions, kind, at, words))
