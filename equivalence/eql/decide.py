"""Decide whether two EQL queries mean the same on every log, or whether one contains the other; if not, return a log.

Events of different keys do not affect each other. So rules with the same keys differ if and only if they differ on a
log of one key. On such logs the slot machines of both rules (slots.py) are followed side by side, over the letters of
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
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, product, zip_longest
from math import inf, prod

from cerify.equivalence.eql.letters import EventLetter, FilterAlphabet, PartialKey
from cerify.equivalence.eql.slots import (
    SlotRule,
    State,
    expanded_filters,
    expanded_steps,
    first_events,
    key_shape,
    path_to,
    shape_of,
    step_rules,
    with_keys_in_order,
)
from cerify.equivalence.eql.times import Moment, times_of
from cerify.equivalence.eql.tries import ADDRESS, BEGIN, KEYS, SECOND, keyed_logs, tried_logs
from cerify.equivalence.shrink.eql import EQL
from cerify.equivalence.verdict import Claim, Different, Level, Undecided
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.check import require_wellformed
from cerify.semantics.eql.conditions import Truth, values_of
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import TIME, Event, Match, Schema, Stream
from cerify.semantics.values import Value, ValueType, time_at

LONG = 4  # for rules with more steps, logs that follow the steps are tried before all logs
MOST_KEY_CLASSES = 24
KEYS_TRIED = 4


@dataclass(frozen=True)
class Same:
    """The rules mean the same on every log, or the left one is contained in the right one; with the reason.

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
        """Return whether the matches at one event, () for none, refute the claim."""
        if self.level == "positions":
            left, right = left[-1:], right[-1:]
        return left != right if self.claim == "equivalent" else bool(left) and left != right


def compare_rules(
    left: eql.EqlQuery, right: eql.EqlQuery, asked: Asked = Asked(), budget: Budget = Budget()
) -> Same | Different | Undecided:
    """Decide the claim `asked` about two queries: return Same, a log on which they differ, or Undecided.

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
    """Return a log on which the reference evaluator refutes the claim; None if none is found.

    The logs that are tried follow the steps, or are random. Only their events come from the code of the decision.
    Raises BudgetExceeded.
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
    """Return a log on which a query matches, built step by step, each step on its own; None if that fails.

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
    """Replace an event of a log on which the query fires, so that only the query or the mutant takes it at its step.

    along: that log. Return the new log, or None if the matches on it would not differ.
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
    """Return a log on which a query matches, as Different; Same if there is none; or Undecided.

    Raises BudgetExceeded.
    """
    never = eql.EventFilter(None, eql.FieldConstant(False))
    body = query.body
    if isinstance(body, eql.EventFilter):
        return compare_rules(query, eql.EqlQuery(never, query.pipes), asked)
    steps = tuple(step if step.missing else replace(step, filter=never) for step in body.steps)
    return compare_rules(query, eql.EqlQuery(replace(body, steps=steps), query.pipes), asked)


def simplify_rule(query: eql.EqlQuery, asked: Asked = Asked(), budget: Budget = Budget()) -> tuple[eql.EqlQuery, bool]:
    """Return a smaller rule with the same meaning, and whether all reductions of it were tried.

    A reduction removes a part of the rule: a condition, a value, a key, a step, or the window. It is made if the two
    rules are decided to mean the same. The search ends when the seconds of the budget are over.

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
                raise BudgetExceeded(f"a condition tests the key {name} together with another field")
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
                "the rules differ within one key, but if keys are arrays, another key has a match of the same events"
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
        """Return the difference on the log of a path; None if the rules agree because events have a second key."""
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
                "the found log separates the rules by the machines, but not by the reference evaluator"
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
        """Yield values for the places of a query's key. Values that conditions distinguish come first."""
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
                "the found log separates the rules by the machines, but not by the reference evaluator"
            )
        left, right, at = found
        here = [tuple(m for m in matches if m.at == at) for matches in (left, right)]
        return Different(Stream(events), at, here[0], here[1], shortest)


def _with_all_keys(event: Event, key: PartialKey, log: list[Event]) -> Event:
    """Return the event with all values of the key fields in a log, so that no event has fewer keys than the others."""
    attributes = dict(event.attributes)
    for name in key:
        every = dict.fromkeys(value for one in log for value in values_of(one, name))
        attributes |= {f"{name}[{n}]" if n else name: value for n, value in enumerate(every)}
    return Event(event.type, attributes)
