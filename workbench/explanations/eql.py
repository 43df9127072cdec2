"""Explain why an EQL rule fired or not: how far sequences came step by step, and why events are not a match."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from cerify.automata.eql.machine import SlotMachine
from cerify.draw.timeline import Row
from cerify.explanations.eql_funnel import STOPPED, EventCounts, StoppedSequence, follow
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    listing,
    nearest,
)
from cerify.explanations.near_misses import Cause, NearMiss, NearMissReport
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import (
    condition_test,
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

NEAREST = 3  # the most nearest matches that are listed
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
        """Return the funnel of a sequence rule; None for another query."""
        body = self.rule.body
        return follow(body, self.S) if isinstance(body, eql.EventSequence) else None

    @cached_property
    def matches(self) -> Sequence[Match]:
        """Return the matches: on a short log by the reference evaluator, on a long log by the funnel or the slot
        machine.
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
        near = sorted(self.matches, key=lambda m: (len(C.symmetric_difference(m.events)), m))[:NEAREST]
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
        parts += nearest("", (m.events for m in found.nearest), found.events)
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
