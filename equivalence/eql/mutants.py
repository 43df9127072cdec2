"""Make mutants of an EQL rule, as mistakes of an author would, and logs that detect them.

A mutant differs in one place: a condition is left out, negated or changed, a value of a list is missing, case matters
where it did not, or a step, a key, the window or `until` changes. A log kills a mutant if, by the definition, the
mutant has other matches there than the rule. No log kills a mutant with the same meaning as the rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from types import MappingProxyType

from cerify.equivalence.eql.decide import (
    Asked,
    Same,
    compare_rules,
    expanded_filters,
    find_firing_log,
    fires_on_some_log,
    replace_event,
    shape_of,
)
from cerify.equivalence.verdict import Different
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import filter_test
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import require_wellformed
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Event, Match, Schema, Stream

OTHER_COMPARATORS: dict[str, tuple[eql.Comparator, ...]] = {
    "==": ("!=",), "!=": ("==",), "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="),
}  # fmt: skip
SEARCHED = "(?s:.*)"
"""What a regular expression has if it stands for a search or for wildcards; it gets no mutants of its own."""
OTHER_OPERATORS: dict[str, eql.MatchOperator] = {
    ":": "like",
    "like~": "like",
    "like": "like~",
    "in": "in~",
    "in~": "in",
    "regex": "regex~",
    "regex~": "regex",
}


@dataclass(frozen=True)
class RuleTest:
    """A log with the rule's matches, and descriptions of the mutants (changed rules) that have other matches on it."""

    log: Stream
    matches: tuple[Match, ...]
    kills: tuple[str, ...]


@dataclass(frozen=True)
class RuleTests:
    """Logs that kill all mutants except the undecided ones and those that mean the same as the rule."""

    tests: tuple[RuleTest, ...]
    mutants: int
    same: tuple[str, ...]
    undecided: tuple[str, ...]


def mutants_of(query: eql.EqlQuery) -> Iterator[tuple[str, eql.EqlQuery]]:
    """Yield the well-formed mutants of a query, each with a description of the change."""
    for words, body in _bodies(query.body):
        mutant = eql.EqlQuery(body, query.pipes)
        with suppress(IllFormed):
            require_wellformed(mutant)
            yield words, mutant


def _bodies(
    body: eql.EventFilter | eql.EventSequence | eql.EventSample,
) -> Iterator[tuple[str, eql.EventFilter | eql.EventSequence | eql.EventSample]]:
    if isinstance(body, eql.EventFilter):
        yield from _filters(body, "")
        return
    for i, step in enumerate(body.steps):
        name = f"step {i + 1}: "
        for words, filter_ in _filters(step.filter, name):
            yield words, replace(body, steps=(*body.steps[:i], replace(step, filter=filter_), *body.steps[i + 1 :]))
        if len(body.steps) > 2:
            yield f"{name}left out", replace(body, steps=(*body.steps[:i], *body.steps[i + 1 :]))
        if step.runs > 1:
            less = replace(step, runs=step.runs - 1)
            yield f"{name}one run less", replace(body, steps=(*body.steps[:i], less, *body.steps[i + 1 :]))
    for i, key in enumerate(body.keys):
        if isinstance(body, eql.EventSequence) or len(body.keys) > 1:
            yield f"key {key.name} left out", replace(body, keys=(*body.keys[:i], *body.keys[i + 1 :]))
    if isinstance(body, eql.EventSequence):
        yield from _windows(body)


def _windows(body: eql.EventSequence) -> Iterator[tuple[str, eql.EventSequence]]:
    for i in range(len(body.steps) - 1):
        swapped = list(body.steps)
        swapped[i], swapped[i + 1] = swapped[i + 1], swapped[i]
        yield f"steps {i + 1} and {i + 2} in the other order", replace(body, steps=tuple(swapped))
    if body.maxspan is not None:
        wider = replace(body.maxspan, count=body.maxspan.count + 1)
        yield f"maxspan={wider.count}{wider.unit}", replace(body, maxspan=wider)
        if body.maxspan.count > 0:
            narrower = replace(body.maxspan, count=body.maxspan.count - 1)
            yield f"maxspan={narrower.count}{narrower.unit}", replace(body, maxspan=narrower)
    if body.until is not None:
        yield "until left out", replace(body, until=None)
        for words, filter_ in _filters(body.until.filter, "until: "):
            yield words, replace(body, until=replace(body.until, filter=filter_))


def _filters(part: eql.EventFilter, name: str) -> Iterator[tuple[str, eql.EventFilter]]:
    if part.category is not None:
        yield f"{name}any category", replace(part, category=None)
    for words, condition in condition_mutants(part.condition):
        yield f"{name}{words}", replace(part, condition=condition)


def condition_mutants(
    condition: eql.Condition,
    show: Callable[[eql.Condition], str] = eql.show_condition,
    operators: Mapping[str, str] = MappingProxyType({}),
) -> Iterator[tuple[str, eql.Condition]]:
    """Yield the conditions that differ from this one in one place, each with a description of the change.

    show: how descriptions format conditions. operators: names for comparison operators in descriptions; an operator
    without a name is shown by its symbol.
    """

    def short(part: eql.Condition) -> str:
        text = show(part)
        return text if len(text) <= 80 else f"{text[:77]}..."

    def inside(
        part: eql.Condition, around: Callable[[eql.Condition], eql.Condition]
    ) -> Iterator[tuple[str, eql.Condition]]:
        return ((words, around(other)) for words, other in condition_mutants(part, show, operators))

    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            kind: type[eql.AllConditions] | type[eql.AnyConditions] = type(condition)
            for i, part in enumerate(parts):
                rest = (*parts[:i], *parts[i + 1 :])
                yield f"without {short(part)}", kind(rest) if len(rest) > 1 else rest[0]
                yield from inside(part, lambda other, i=i: kind((*parts[:i], other, *parts[i + 1 :])))  # type: ignore[misc]
            other_kind = eql.AnyConditions if kind is eql.AllConditions else eql.AllConditions
            yield f"{'or' if kind is eql.AllConditions else 'and'} in {short(condition)}", other_kind(parts)
        case eql.NegatedCondition(part):
            yield f"without not in {short(condition)}", part
            yield from inside(part, eql.NegatedCondition)
        case eql.FieldComparison(comparator, left, right):
            for other in OTHER_COMPARATORS[comparator]:
                yield f"{other} in {short(condition)}", eql.FieldComparison(other, left, right)
            match comparator, right:
                case "==", eql.FieldConstant(str() as text):
                    yield f": in {short(condition)}", eql.ValueLookup(":", left, (text,))
                case "==", eql.FieldConstant(int() | float() as number) if not isinstance(number, bool):
                    yield f">= in {short(condition)}", eql.FieldComparison(">=", left, right)
                    yield f"<= in {short(condition)}", eql.FieldComparison("<=", left, right)
        case eql.ValueLookup(operator, term, values):
            if operator in OTHER_OPERATORS and (operator == ":" or has_case(condition)):
                other_operator = OTHER_OPERATORS[operator]
                yield (
                    f"{operators.get(other_operator, other_operator)} in {short(condition)}",
                    eql.ValueLookup(other_operator, term, values),
                )
            for i, value in enumerate(values if len(values) > 1 else ()):
                fewer = (*values[:i], *values[i + 1 :])
                yield f"without {eql.show_constant(value)}", eql.ValueLookup(operator, term, fewer)
            for i, value in enumerate(values if operator not in ("in", "in~") else ()):
                if not isinstance(value, str):
                    continue
                others = regex_mutants if operator in ("regex", "regex~") else wildcard_mutants
                for text in others(value) if SEARCHED not in value else ():
                    words = f"{eql.show_constant(text)} for {eql.show_constant(value)}"
                    yield words, eql.ValueLookup(operator, term, (*values[:i], text, *values[i + 1 :]))
        case eql.FunctionCall("cidrMatch", folded, (field, *blocks)) if len(blocks) > 1:
            for i, block in enumerate(blocks):
                fewer_blocks = (field, *blocks[:i], *blocks[i + 1 :])
                yield f"without {show(block)}", eql.FunctionCall("cidrMatch", folded, fewer_blocks)
        case eql.FunctionCall(name, folded, arguments) if name in ("startsWith", "endsWith", "stringContains"):
            yield f"other case in {short(condition)}", eql.FunctionCall(name, not folded, arguments)
            match arguments:
                case (*before, eql.FieldConstant(str(whole))) if len(whole) > 1:
                    ends = {"startsWith": [whole[:-1]], "endsWith": [whole[1:]]}
                    for part_ in ends.get(name, [whole[:-1], whole[1:]]):
                        words = f"{eql.show_constant(part_)} for {eql.show_constant(whole)}"
                        yield words, eql.FunctionCall(name, folded, (*before, eql.FieldConstant(part_)))
        case eql.FieldConstant() | eql.EventField() | eql.FieldArithmetic() | eql.FunctionCall():
            return


def has_case(test: eql.ValueLookup) -> bool:
    """Return whether a text of a test has letters that differ in upper and lower case."""
    texts = [value for value in test.values if isinstance(value, str)]
    if test.operator in ("regex", "regex~"):
        texts = [re.sub(r"\\.|\(\?\w*:", "", text) for text in texts]  # the letters of \d and (?s: are signs
    return any(text != text.swapcase() for text in texts)


def wildcard_mutants(text: str, several: str = "*", single: str = "?") -> Iterator[str]:
    """Yield the patterns that differ from a pattern in one place, as mistakes of an author would.

    several, single: the wildcards for any text and for one character. The first is added or removed; the second is
    replaced by the first, or removed; and the text beside a wildcard at an end is one character shorter.

    >>> list(wildcard_mutants("ab?c*"))
    ['*ab?c*', 'ab?c', 'ab*c*', 'abc*', 'ab?*']
    """
    yield text[1:] if text.startswith(several) else f"{several}{text}"
    yield text[:-1] if text.endswith(several) else f"{text}{several}"
    for i, c in enumerate(text):
        before, after = text[:i], text[i + 1 :]
        if c == single:
            yield f"{before}{several}{after}"
        if c == single or (c == several and before and after):
            yield before + after
    inner = text.strip(several)
    if len(inner) > 1:
        if text.endswith(several) and inner[-1] != single:
            yield f"{text.rstrip(several)[:-1]}{several}"
        if text.startswith(several) and inner[0] != single:
            yield f"{several}{text.lstrip(several)[1:]}"


QUANTIFIER = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^)]*?[:)]|\{\d+(?:,\d*)?\}|.", re.DOTALL)
"""The parts of a regular expression: an escape, a class, the beginning of a group, a repeat count, a character."""


def regex_mutants(pattern: str) -> Iterator[str]:
    """Yield the regular expressions that lack one anchor, or in which a part may occur once more or less often."""
    parts = QUANTIFIER.findall(pattern)
    for i, part in enumerate(parts):
        repeats = i > 0 and parts[i - 1] not in ("(", "|", "*", "+", "?") and not parts[i - 1].startswith("(?")
        others: tuple[str, ...] = ()
        if part in ("^", "$"):
            others = ("",)
        elif repeats and part in ("*", "+", "?"):
            others = {"*": ("+",), "+": ("*",), "?": ("",)}[part]
        elif repeats and (bounds := re.fullmatch(r"\{(\d+)(,?)(\d*)\}", part)):
            least, most = int(bounds[1]), bounds[3] and int(bounds[3])
            others = (f"{{{least + 1}{bounds[2]}{most}}}",) if most == "" or least < most else ()
            others += (f"{{{least - 1}{bounds[2]}{most}}}",) if least else ()
            others += (f"{{{least},{most + 1}}}",) if most != "" else ()
        yield from ("".join((*parts[:i], other, *parts[i + 1 :])) for other in others)


def make_rule_tests(query: eql.EqlQuery, budget: Budget = Budget(), schema: Schema | None = None) -> RuleTests:
    """Return logs that kill the mutants of a query; the query matches on the first log.

    A log with several values in a field is used only for a mutant that no other log kills. schema: the schema of the
    logs. Raises BudgetExceeded when the seconds are over.
    """
    asked = Asked(arrays=False, schema=schema)
    logs: list[tuple[list[Event], list[Match]]] = []
    positive: object = find_firing_log(query, asked) or fires_on_some_log(query, asked)
    along = list(_log_of(positive))
    if along:
        logs.append((along, matches_of(query, along)))
    same: list[str] = []
    undecided: list[str] = []
    kills: dict[int, list[str]] = {n: [] for n in range(len(logs))}
    mutants = list(mutants_of(query))
    for words, mutant in mutants:
        may_kill = _may_differ(query, mutant, [S for S, _ in logs])
        killer = next((n for n in may_kill if matches_of(mutant, logs[n][0]) != logs[n][1]), None)
        if killer is None:
            # Most mutants differ in one condition, so one event exchanged in the log of the first match is tried before
            # the costly decision.
            found: object = replace_event(query, mutant, along, asked)
            if found is None:
                found = _difference(query, mutant, budget, asked)
            if isinstance(found, Same):
                found = _difference(query, mutant, budget, replace(asked, arrays=True))
            if not (log := list(_log_of(found))):
                (same if isinstance(found, Same) else undecided).append(words)
                continue
            killer = len(logs)
            logs.append((log, matches_of(query, log)))
        kills.setdefault(killer, []).append(words)
    tests = tuple(
        RuleTest(Stream(log), tuple(matches), tuple(kills.get(n, ()))) for n, (log, matches) in enumerate(logs)
    )
    return RuleTests(tests, len(mutants), tuple(same), tuple(undecided))


def _log_of(found: object) -> Iterable[Event]:
    """Return the events of the log that a search or a decision found; () if it found none."""
    return found.stream if isinstance(found, Different) else found if isinstance(found, Stream | list) else ()


def _may_differ(query: eql.EqlQuery, mutant: eql.EqlQuery, logs: list[list[Event]]) -> list[int]:
    """Return the numbers of the logs on which the rules may differ.

    If the rules have the same shape, these are the logs with an event that only one of the rules takes at a step.
    """
    if shape_of(query) != shape_of(mutant):
        return list(range(len(logs)))
    pairs = zip(expanded_filters(query), expanded_filters(mutant), strict=True)
    tests = [(filter_test(f), filter_test(g)) for f, g in dict.fromkeys(pairs) if f != g]
    events = {id(event): event for S in logs for event in S}  # most are in several logs
    differ = {key for key, event in events.items() if any(f(event) != g(event) for f, g in tests)}
    return [n for n, S in enumerate(logs) if any(id(event) in differ for event in S)]


def _difference(query: eql.EqlQuery, mutant: eql.EqlQuery, budget: Budget, asked: Asked) -> object:
    try:
        return compare_rules(query, mutant, asked, budget)
    except BudgetExceeded:
        return None
