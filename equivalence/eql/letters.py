"""Find which filters of two rules one event can pass together: the letters over which the rules are compared.

A filter is a Boolean combination of tests. A solver chooses truth values for the tests. Whether an event can have these
is decided field by field; if not, the solver gets a clause that excludes them. The values that are tried are the
constants, their neighbours, and texts found by search (`find_text`). Other tests (regular expressions, functions of
numbers) may need other values. Then `exact` becomes False, and it proves nothing if no event is found.
"""

from __future__ import annotations

import ipaddress
import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, combinations, islice, pairwise, product
from typing import Any, Final, TypeAlias, assert_never

from cerify.automata.algebra.values import decidable, samples_of_strings
from cerify.semantics.arguments import check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import (
    CATEGORY,
    TIMESTAMP,
    FieldValues,
    Truth,
    condition_test,
    fold,
    is_plain,
    network_of,
    same_folded,
    values_of,
)
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.packages import z3
from cerify.semantics.patterns import (
    LAST,
    Characters,
    Node,
    PatternError,
    RegexChoice,
    RegexConcatenation,
    RegexRepeat,
    RegexTest,
    differing_texts,
    matches,
    parse,
)
from cerify.semantics.readings import ELASTIC
from cerify.semantics.schemas import NO_CATEGORY, NULL
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, joined, value_type_of

Values: TypeAlias = tuple[Value, ...]
PartialKey: TypeAlias = Mapping[str, Value | None]
"""A value for each field of a key; None for a field that is absent."""
MOST_LETTERS = 256
MOST_ROUNDS = 400
MOST_CANDIDATES = 600
MOST_SEARCHED = 30_000
MOST_TRIED = 60
NAMED_BY_TYPE = frozenset({CATEGORY, TIMESTAMP, TIME})
"""Fields that every event has."""


@dataclass(frozen=True)
class EventLetter:
    """The numbers of the filters that one event passes, and the fields of such an event with their values."""

    passes: frozenset[int]
    fields: tuple[tuple[str, Values], ...]

    def attributes(self) -> dict[str, Value]:
        """Return the fields as attributes, without the category."""
        return dict(self._attributes)

    @cached_property
    def _attributes(self) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for name, values in self.fields:
            for n, value in enumerate(values):
                found[f"{name}[{n}]" if n else name] = value if not name.endswith(NULL) else True
        return found

    def event(self, more: Mapping[str, Value | None] = {}) -> Event:
        """Return the event, with further attributes; its type is its first category, or `NO_CATEGORY`."""
        attributes = {**self.attributes(), **{name: value for name, value in more.items() if value is not None}}
        category = attributes.get(CATEGORY, NO_CATEGORY if (CATEGORY, ()) in self.fields else "event")
        if f"{CATEGORY}[1]" not in attributes and category != "event":  # a document of this type would have none
            attributes.pop(CATEGORY, None)
        return Event(str(category), attributes)


class FilterAlphabet:
    """Finds which of some filters one event can pass together. Each such set of filters is a letter.

    arrays: whether fields may have several values. fixed: the first value that some fields have in every event, such as
    the fields of the key. schema: the schema of all events; None if they may be any. With a schema, a field may have
    several values only if `field[1]` is one of its attributes. values: the function that looks up a field in an event;
    the function `own_values_of` allows events without a category.
    """

    def __init__(
        self,
        filters: list[eql.EventFilter],
        arrays: bool,
        fixed: Mapping[str, Value | None] = {},
        schema: Schema | None = None,
        values: FieldValues = values_of,
    ) -> None:
        self.arrays, self.fixed, self.schema, self.exact = arrays, fixed, schema, True
        self._values_in = values
        self._limit, self._tried = SearchLimit(MOST_SEARCHED), MOST_TRIED
        self._solver = z3.Solver()
        self._names: dict[eql.Condition, Any] = {}
        self._false: dict[eql.Condition, Any] = {}
        self._passes = [z3.Bool(f"f{i}") for i in range(len(filters))]
        for variable, filter_ in zip(self._passes, filters, strict=True):
            category: Any = z3.BoolVal(True)
            if filter_.category is not None:
                constant = eql.FieldConstant(filter_.category)
                category = self._true(eql.FieldComparison("==", eql.EventField(CATEGORY), constant))
            self._solver.add(variable == z3.And(category, self._true(filter_.condition)))
        # Kept before any search: the clauses that a search adds say what events can be, and `agree_by_form` must not
        # use them.
        self._definitions = list(self._solver.assertions())
        self._fields = _fields_together(self._names)
        self._candidates = {names: list(self._candidates_of(names)) for names in set(self._fields.values())}

    def letters(self) -> list[EventLetter]:
        """Return a letter for each non-empty set of filters that some event passes.

        Raises BudgetExceeded for more than MOST_LETTERS.
        """
        found: list[EventLetter] = []
        self._solver.push()
        self._solver.add(z3.Or(self._passes))
        while (letter := self._next()) is not None:
            found.append(letter)
            if len(found) > MOST_LETTERS:
                raise BudgetExceeded(
                    f"an event can pass more than {MOST_LETTERS} combinations of filters; use rules with fewer steps"
                )
            # One event for each set of filters is enough, because the rules see an event only through its filters.
            self._solver.add(z3.Or([p != (i in letter.passes) for i, p in enumerate(self._passes)]))
        self._solver.pop()
        return found

    def agree(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Return whether every event passes both filters of each pair or neither."""
        return self._is_never(z3.Or([self._passes[i] != self._passes[j] for i, j in pairs if i != j]))

    def agree_by_form(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Return whether the two filters of each pair have the same form, like `a and b` and `b and a`.

        They then agree on every event, whatever the results of their tests are.
        """
        solver = z3.Solver()
        solver.add(*self._definitions, z3.Or([self._passes[i] != self._passes[j] for i, j in pairs if i != j]))
        return bool(solver.check() == z3.unsat)

    def implies(self, i: int, j: int) -> bool:
        """Return whether every event that passes filter i passes filter j."""
        return self._is_never(z3.And(self._passes[i], z3.Not(self._passes[j])))

    def _is_never(self, condition: z3.BoolRef) -> bool:
        self._solver.push()
        self._solver.add(condition)
        found = self._next()
        self._solver.pop()
        return found is None

    def is_alone(self, name: str) -> bool:
        """Return whether no test involves the field together with other fields."""
        return all(names == (name,) for names in self._fields.values() if name in names)

    def values_of(self, name: str) -> list[Values]:
        """Return the values that the field has in the example events of the letters."""
        return [values[0] for values, _ in self._candidates.get((name,), ())]

    def classes_of(self, name: str) -> list[Value]:
        """Return values of a field that represent all values: one for each combination of results that its tests can
        have.

        `exact` becomes False if combinations may be missing.
        """
        tests = [test for test, names in self._fields.items() if names == (name,)]
        there = eql.FieldComparison("!=", eql.EventField(name), eql.FieldConstant(None))
        conditions: tuple[Any, ...] = (
            there,
            *(eql.AllConditions((there, one)) for t in tests for one in (t, eql.NegatedCondition(t))),
        )
        filters = [eql.EventFilter(None, one) for one in conditions]
        probe = FilterAlphabet(filters, False, schema=self.schema, values=self._values_in)
        found = [dict(letter.fields)[name][0] for letter in probe.letters()]
        self.exact &= probe.exact
        return found

    def truths(self, name: str, value: Value) -> list[Truth]:
        """Return the truth of each test of a field for this value."""
        return list(self._vector((name,), ((value,),)).values())

    def _next(self) -> EventLetter | None:
        for _ in range(MOST_ROUNDS):
            check_time()
            if self._solver.check() != z3.sat:
                return None
            model = self._solver.model()
            passes = frozenset(i for i, p in enumerate(self._passes) if z3.is_true(model.evaluate(p)))
            fields = self._values(model)
            if fields is not None:
                return EventLetter(passes, tuple(sorted(fields.items())))
        raise BudgetExceeded("the conditions of the rules are too large to be compared; use fewer tests")

    def _values(self, model: Any) -> dict[str, Values] | None:
        """Return values of all fields that give the tests the truth values of a model.

        If there are none, exclude these truth values by a clause for the solver, and return None.
        """
        found: dict[str, Values] = {}
        by_fields: dict[tuple[str, ...], dict[eql.Condition, Truth]] = {}
        for test, names in self._fields.items():
            truth: Truth = z3.is_true(model.evaluate(self._names[test], model_completion=True))
            if test in self._false and not truth:
                truth = False if z3.is_true(model.evaluate(self._false[test], model_completion=True)) else None
            by_fields.setdefault(names, {})[test] = truth
        for names, truths in by_fields.items():
            values = self._event_of(names, truths)
            if values is None:
                self._solver.add(z3.Not(z3.And([self._says(t, v) for t, v in self._core(names, truths).items()])))
                return None
            found |= values
        if self.schema is None:
            return found
        truths = by_fields.get((CATEGORY,), {})
        chosen = [found[CATEGORY]] if CATEGORY in found and not truths else self._categories(truths)
        present = {name for name, values in found.items() if values and name != CATEGORY} | {
            name for name, value in self.fixed.items() if value is not None
        }
        for categories in chosen:
            type_ = str(categories[0]) if categories else NO_CATEGORY
            if all(self.schema.has(type_, name) or name in NAMED_BY_TYPE for name in present):
                return {**found, CATEGORY: categories}
        # No type of the schema has all of these fields, whatever their values: only the tests that made them present
        # are blamed.
        known = {t: v for names, mine in by_fields.items() if present & {*names} for t, v in mine.items()} | truths
        self._solver.add(z3.Not(z3.And([self._says(t, v) for t, v in known.items()])))
        return None

    def _categories(self, truths: Mapping[eql.Condition, Truth]) -> Iterator[Values]:
        """Yield the categories of events of the schema for which tests have these truth values."""
        assert self.schema is not None
        known = [values[0] for values, vector in self._candidates.get((CATEGORY,), ()) if _has(vector, truths)]
        several = self._several((CATEGORY,), truths) if truths and self._may_be_several(CATEGORY) else None
        yield from known if truths else (() if R == NO_CATEGORY else (R,) for R in self.schema.types)
        yield from [] if several is None else [several]

    def _may_be_several(self, name: str) -> bool:
        """Return whether a field may have several values in one event."""
        allowed = self.schema is None or f"{name}[1]" in self.schema.attributes
        return self.arrays and allowed and self.fixed.get(name, "") is not None

    def _fits(self, name: str, value: Value) -> bool:
        """Return whether a field may have a value in an event of the schema."""
        if self.schema is None:
            return True
        if name == CATEGORY:
            return value in self.schema.types
        kind_ = self.schema.attributes.get(name)
        return kind_ is not None and joined(kind_, value_type_of(value)) == kind_

    def _says(self, test: eql.Condition, truth: Truth) -> Any:
        if test not in self._false:
            return self._names[test] if truth else z3.Not(self._names[test])
        if truth is None:
            return z3.And(z3.Not(self._names[test]), z3.Not(self._false[test]))
        return self._names[test] if truth else self._false[test]

    def _core(self, names: tuple[str, ...], truths: dict[eql.Condition, Truth]) -> dict[eql.Condition, Truth]:
        """Return a few of these truth values that no event was found to have together."""
        core = dict(truths)
        for test in sorted(truths, key=lambda t: truths[t] is True):
            # Each try is a search, so there are few. A clause that is longer than needed excludes less, but nothing
            # wrong.
            if len(core) > 1 and self._tried > 0:
                self._tried -= 1
                fewer = {t: v for t, v in core.items() if t != test}
                if self._event_of(names, fewer) is None:
                    core = fewer
        return core

    # --- conditions as formulas ---------------------------------------------------------------------------------------

    def _true(self, condition: eql.Condition) -> Any:
        """Return the formula that says that a condition is true."""
        match condition:
            case eql.AllConditions(parts):
                return z3.And([self._true(part) for part in parts])
            case eql.AnyConditions(parts):
                return z3.Or([self._true(part) for part in parts])
            case eql.NegatedCondition(part):
                return self._is_false(part)
            case eql.FieldConstant(value):
                return z3.BoolVal(value is True)
            case eql.FieldComparison("!=", left, right) if is_plain(condition) or _with_null(condition):
                return z3.Not(self._true(eql.FieldComparison("==", left, right)))
        return self._atom(condition)

    def _is_false(self, condition: eql.Condition) -> Any:
        """Return the formula that says that a condition is false (not: that it is not true)."""
        if isinstance(condition, eql.NegatedCondition):
            return self._true(condition.condition)
        if isinstance(condition, eql.FieldConstant):
            return z3.BoolVal(condition.value is False)
        # These are true or false of every event. Other tests can be neither (a function of null), and need a variable
        # of their own for "false".
        if isinstance(condition, eql.AllConditions | eql.AnyConditions) or is_plain(condition) or _with_null(condition):
            return z3.Not(self._true(condition))
        self._atom(condition)
        return self._false[condition]

    def _atom(self, test: eql.Condition) -> Any:
        match test:
            case eql.FieldComparison("==", eql.EventField(one), eql.EventField(other)) if (
                one > other and not self.arrays
            ):
                test = eql.FieldComparison("==", test.right, test.left)
        if test not in self._names:
            self._names[test] = z3.Bool(f"t{len(self._names)}")
            if not (is_plain(test) or _with_null(test)):
                self._false[test] = z3.Bool(f"n{len(self._names)}")
                self._solver.add(z3.Not(z3.And(self._names[test], self._false[test])))
        return self._names[test]

    # --- values of fields ---------------------------------------------------------------------------------------------

    def _event_of(self, names: tuple[str, ...], truths: Mapping[eql.Condition, Truth]) -> dict[str, Values] | None:
        """Return values of these fields that give the tests these truth values; None if none are found."""
        options = self._candidates[names]
        for values, vector in options:
            if _has(vector, truths) and self._begins_as_fixed(names, values):
                return dict(zip(names, values, strict=True))
        if len(names) == 1 and self._may_be_several(names[0]):
            chosen = self._several(names, truths)
            if chosen is not None:
                return {names[0]: chosen}
        return self._searched(names, truths) if names else None  # a test without fields has only one truth value

    def _begins_as_fixed(self, names: tuple[str, ...], values: tuple[Values, ...]) -> bool:
        """Return whether each fixed field has exactly its fixed value."""
        pairs = ((self.fixed[name], one) for name, one in zip(names, values, strict=True) if name in self.fixed)
        return all(one == _as_values(value) for value, one in pairs)

    def _several(self, names: tuple[str, ...], truths: Mapping[eql.Condition, Truth]) -> Values | None:
        """Return values of an array field that make exactly these tests true; None if there are none."""
        wanted = {test for test, truth in truths.items() if truth is True}
        harmless = [
            (values[0][0], {t for t in wanted if vector[t] is True})
            for values, vector in self._candidates[names]
            if len(values[0]) == 1 and all(vector[t] is not True for t in truths if t not in wanted)
        ]
        first = self.fixed.get(names[0])
        if first is not None:
            harmless.sort(key=lambda one: (type(one[0]), one[0]) != (type(first), first))
            if not harmless or harmless[0][0] != first:
                return None
        chosen: list[Value] = [] if first is None else [first]
        for value, covers in harmless:
            if covers & wanted:
                chosen.append(value)
                wanted -= covers
        found = tuple(dict.fromkeys(chosen))
        if wanted or not found:
            return None
        if self.schema is not None and f"{names[0]}[{len(found) - 1}]" not in {
            f"{names[0]}[0]",
            *self.schema.attributes,
        }:
            self.exact = False  # the schema has shorter arrays than these
            return None
        event = Event("event", {f"{names[0]}[{n}]" if n else names[0]: v for n, v in enumerate(found)})
        return found if all(self._truth(t, event) is truth for t, truth in truths.items()) else None

    def _searched(self, names: tuple[str, ...], truths: Mapping[eql.Condition, Truth]) -> dict[str, Values] | None:
        """Search for texts that give the tests these truth values, and return them as `_event_of` does.

        Texts that are found become candidates.
        """
        if len(names) > 1:
            self.exact = False
            return self._searched_together(names, truths)
        languages = {test: language_of(test) for test in truths}
        if not _is_decided(languages, truths) and not _needs_null(truths):
            self.exact = False
        several = self._may_be_several(names[0])
        if (names[0] in self.fixed and not several) or not self._fits(names[0], ""):
            return None
        inside = [lang for t, lang in languages.items() if lang is not None and truths[t] is True]
        outside = [lang for t, lang in languages.items() if lang is not None and truths[t] is not True]
        # In an array each true test may be passed by another value, so one text for each is sought; a test that is not
        # true must fail for all of them.
        wanted = [[one] for one in inside] if several else [inside]
        others = [t for t, language in languages.items() if language is None]

        def accepts_(text: str) -> bool:
            event = Event(NO_CATEGORY, {names[0]: text})
            return all(self._truth(t, event) is truths[t] for t in others)

        # In an array other values can pass the other tests; `_several` looks at the values together.
        accepts = accepts_ if others and not several else None
        found = False
        for together in wanted:
            try:
                text = find_text(together, outside, self._limit, accepts)
            except TooManyTexts:
                self.exact = False
                return None
            if text is None:
                return None
            # Only a new candidate is a reason to look again; otherwise this method and `_event_of` would call each
            # other forever.
            found |= self._add(names, ((text,),))
        return self._event_of(names, truths) if found else None

    def _searched_together(
        self, names: tuple[str, ...], truths: Mapping[eql.Condition, Truth]
    ) -> dict[str, Values] | None:
        """Return values of several fields, each a text or no value, that give the tests these truth values.

        Only some choices are tried, beginning with a text for each field. Return None if none of them fits.
        """
        options: list[tuple[Values, ...]] = []
        for n, name in enumerate(names):
            own = {t: v for t, v in truths.items() if {f.name for f in eql.fields_of(t)} == {name}}
            languages = [(language_of(t), v is True) for t, v in own.items()]
            # Another text for each field, so that fields without tests of their own differ, as comparisons of fields
            # may ask.
            text: str | None = f"{n}q"
            with suppress(TooManyTexts):
                inside, outside = ([one for one, v in languages if one is not None and v is k] for k in (True, False))
                text = find_text(inside, outside, self._limit) if inside or outside else text
            known: list[Values] = [(), *([(text,)] if text is not None and self._fits(name, text) else [])]
            if name in self.fixed:
                known = [_as_values(self.fixed[name])]
            events = ((one, Event(NO_CATEGORY, {name: one[0]} if one else {})) for one in known[::-1])
            fitting = tuple(one for one, e in events if all(self._truth(t, e) is v for t, v in own.items()))
            if not fitting:
                return None
            options.append(fitting)
        for values in islice(product(*options), MOST_TRIED):
            if _has(self._vector(names, values), truths):
                self._add(names, values)
                return dict(zip(names, values, strict=True))
        return None

    def _truth(self, test: eql.Condition, event: Event) -> Truth:
        return condition_test(test, ELASTIC, self._values_in)(event)

    def _add(self, names: tuple[str, ...], values: tuple[Values, ...]) -> bool:
        """Add values to the candidates; return whether they are new."""
        if any(known == values for known, _ in self._candidates[names]):
            return False
        self._candidates[names].append((values, self._vector(names, values)))
        return True

    def _vector(self, names: tuple[str, ...], values: tuple[Values, ...]) -> dict[eql.Condition, Truth]:
        attributes = {name: one[0] for name, one in zip(names, values, strict=True) if one}
        event = Event(NO_CATEGORY, attributes)
        return {test: self._truth(test, event) for test, mine in self._fields.items() if mine == names}

    def _candidates_of(self, names: tuple[str, ...]) -> Iterator[tuple[tuple[Values, ...], dict[eql.Condition, Truth]]]:
        tests = [test for test, mine in self._fields.items() if mine == names]
        if len(names) == 1:
            (name,) = names
            near_ = list(values_near(tests))
            if name == CATEGORY and self.schema is not None:
                near_ = list(self.schema.types)
            options: list[Values] = [(), *((v,) for v in near_ if self._fits(name, v))]
            if name == CATEGORY and self._values_in is values_of:
                texts_ = [one for one in options if one and isinstance(one[0], str) and one[0] not in ("", NO_CATEGORY)]
                options = [*[()] * (self.schema is None or NO_CATEGORY in self.schema.types), *texts_]
            if name in self.fixed:
                first = _as_values(self.fixed[name])
                options = [first, *(one for one in options if one != first)] if self._may_be_several(name) else [first]
            if len(options) > MOST_CANDIDATES and any(isinstance(test, eql.FunctionCall) for test in tests):
                self.exact = False
            for option in islice(options, MOST_CANDIDATES):
                yield (option,), self._vector(names, (option,))
            return
        fixed = [_as_values(self.fixed[name]) for name in names if name in self.fixed]
        texts = ((v,) for v in values_near(tests) if isinstance(v, str))
        others = ((v,) for v in values_near(tests) if not isinstance(v, str))
        near: list[Values] = list(dict.fromkeys([(), *fixed, *islice(texts, 8), *islice(others, 6)]))
        pending: list[tuple[Values, ...]] = [()]
        for name in names:
            mine = (
                [_as_values(self.fixed[name])]
                if name in self.fixed
                else [v for v in near if not v or self._fits(name, v[0])]
            )
            pending = [(*before, one) for before in pending for one in mine][:MOST_CANDIDATES]
        for values in pending:
            yield values, self._vector(names, values)


def _as_values(value: Value | None) -> Values:
    return () if value is None else (value,)


def _has(vector: Mapping[eql.Condition, Truth], truths: Mapping[eql.Condition, Truth]) -> bool:
    return all(vector[test] is truth for test, truth in truths.items())


def _with_null(test: eql.Condition) -> bool:
    return isinstance(test, eql.FieldComparison) and any(
        isinstance(side, eql.FieldConstant) and side.value is None for side in (test.left, test.right)
    )


def _fields_together(tests: Iterable[eql.Condition]) -> dict[eql.Condition, tuple[str, ...]]:
    """Map each test to its fields and to the fields that other tests combine with them."""
    groups: list[set[str]] = []
    named = {test: {node.name for node in eql.fields_of(test)} for test in tests}
    for names in named.values():
        joined = [group for group in groups if group & names]
        groups = [group for group in groups if not group & names] + [names.union(*joined)]
    return {
        test: tuple(sorted(next((group for group in groups if group & names), set()))) for test, names in named.items()
    }


def _is_decided(languages: Mapping[eql.Condition, Language | None], truths: Mapping[eql.Condition, Truth]) -> bool:
    """Return whether the candidates and a search for texts cover all truth values that these tests can have.

    Tests for blocks of addresses are covered together with single texts, but not with wildcards.
    """
    wild = any(
        piece in (ANY, ONE) for language in languages.values() for pattern in language or () for piece in pattern
    )
    return all(
        language is not None or (_is_of_points(test) and not (wild and isinstance(test, eql.FunctionCall)))
        for test, language in languages.items()
    )


def _needs_null(truths: Mapping[eql.Condition, Truth]) -> bool:
    """Return whether tests can have these truth values only if the field has no value."""
    return any(
        truth is (test.comparator == "==")
        for test, truth in truths.items()
        if isinstance(test, eql.FieldComparison) and _with_null(test)
    )


def _is_of_points(test: eql.Condition) -> bool:
    """Return whether a test depends only on the numbers, truth values or addresses that a field has, or on whether it
    has any.
    """
    if isinstance(test, eql.EventField):
        return True
    match test:
        case eql.FieldComparison(_, eql.EventField(), eql.FieldConstant(value)):
            return not isinstance(value, str)
        case eql.ValueLookup("in" | "in~", eql.EventField()):
            return True
        case eql.FunctionCall("cidrMatch", _, (eql.EventField(), *blocks)):
            return all(isinstance(block, eql.FieldConstant) for block in blocks)
    return False


# ---------------------------------------------------------------------------------------------------------------------
# Find values that the tests of a field distinguish, above all texts that match some patterns and not others.
#
# Patterns are constants, wildcards, prefixes, suffixes and substrings of EQL. A pattern is a row of pieces: sets of
# characters, any character, or any text. All patterns are followed at the same time, breadth first. So the first text
# that is found is a shortest one, and if no text is found, there is none.

ANY: Final = "*"  # any text, also none
ONE: Final = "?"  # any one character
Piece: TypeAlias = tuple[str, ...] | str
"""The characters that fit at a place, or ANY, or ONE."""
Pattern: TypeAlias = tuple[Piece, ...]
Language: TypeAlias = tuple[Pattern, ...]
"""The texts that match one of the patterns."""
LONGEST = 40  # if there are other tests, texts of each length up to this are tried
MOST_CHARACTERS, MOST_TIMES, MOST_ROWS = 64, 4, 64  # limits for a regular expression that is written as patterns
EVERY_CHARACTER = ((0, LAST),)
FRESH = "qzjxk0123456789"


class TooManyTexts(Exception):
    """Raised if the search was given up, so that it is unknown whether such a text exists."""


def exact(text: str, folded: bool) -> Pattern:
    """Return a pattern that only this text matches; if `folded`, its variants in upper and lower case match too."""
    return tuple(same_folded(c) if folded else (c,) for c in text)


def wild(text: str, folded: bool) -> Pattern:
    """Return the pattern of a text with wildcards; if `folded`, case does not matter."""
    return tuple(c if c in (ANY, ONE) else same_folded(c) if folded else (c,) for c in text)


def language_of(test: eql.Condition) -> Language | None:
    """Return the texts of a field for which a test of that field alone is true; None for other tests."""
    match test:
        case eql.FieldComparison("==", eql.EventField(), eql.FieldConstant(str() as text)):
            return (exact(text, False),)
        case eql.ValueLookup("in" | "in~" as operator, eql.EventField(), values):
            return tuple(exact(v, operator == "in~") for v in values if isinstance(v, str))
        case eql.ValueLookup(":" | "like" | "like~" as operator, eql.EventField(), values):
            return tuple(wild(v, operator != "like") for v in values if isinstance(v, str))
        case eql.ValueLookup("regex" | "regex~" as operator, eql.EventField(), values):
            written = (f"(?i:{v})" if operator == "regex~" else v for v in values if isinstance(v, str))
            with suppress(PatternError):
                return tuple(row for pattern in written for row in _rows_of_expression(pattern))
        case eql.FunctionCall(name, folded, (eql.EventField(), eql.FieldConstant(str() as text))):
            pattern = exact(text, folded)
            if name == "startsWith":
                return ((*pattern, ANY),)
            if name == "endsWith":
                return ((ANY, *pattern),)
            if name == "stringContains" and text:
                return ((ANY, *pattern, ANY),)
    return None


@dataclass(frozen=True)
class _FurtherTimes:
    """Any number of further repetitions of the last pieces of a row. It can be left out beside ANY."""

    pieces: int


_Row: TypeAlias = tuple["Piece | RegexTest | _FurtherTimes", ...]


@lru_cache(maxsize=512)
def _rows_of_expression(pattern: str) -> Language:
    """Return patterns equivalent to a regular expression. Raises PatternError if there are none."""
    return tuple(dict.fromkeys(one for row in _rows(parse(pattern)) if (one := _without_tests(row)) is not None))


def _rows(node: Node) -> list[_Row]:
    """Return the rows of pieces for the alternatives of a regular expression."""
    match node:
        case Characters(ranges):
            if ranges == EVERY_CHARACTER:
                return [(ONE,)]
            if sum(high - low + 1 for low, high in ranges) > MOST_CHARACTERS:
                raise PatternError("too many characters")
            return [(tuple(chr(code) for low, high in ranges for code in range(low, high + 1)),)]
        case RegexTest("begin" | "end"):
            return [(node,)]
        case RegexConcatenation(parts):
            return _joined(parts)
        case RegexChoice(parts):
            return [row for part in parts for row in _rows(part)]
        case RegexRepeat(Characters(ranges), least, None) if ranges == EVERY_CHARACTER:
            return [(*(ONE,) * least, ANY)]
        case RegexRepeat(part, least, None):
            # a part that must occur must be a single row; a part that may be missing is not looked at
            rows = _joined((part,) * least)
            return [(*row, _FurtherTimes(len(row))) for row in rows if least == 0 or len(rows) == 1] or _refuse()
        case RegexRepeat(part, least, int(most)) if most <= MOST_TIMES:
            return [row for times in range(least, most + 1) for row in _joined((part,) * times)]
    return _refuse()


def _refuse() -> list[_Row]:
    raise PatternError("the regular expression is not a choice of character sequences")


def _joined(parts: Iterable[Node]) -> list[_Row]:
    rows: list[_Row] = [()]
    for part in parts:
        rows = [(*before, *after) for before in rows for after in _rows(part)]
        if len(rows) > MOST_ROWS:
            raise PatternError("too many alternatives")
    return rows


def _without_tests(row: _Row) -> Pattern | None:
    """Return the pieces of a row without its tests; None if no text fits, because a character comes before `^`."""
    begins = max((i for i, piece in enumerate(row) if piece == RegexTest("begin")), default=-1)
    ends = min((i for i, piece in enumerate(row) if piece == RegexTest("end")), default=len(row))
    outside = (*row[: max(begins, 0)], *row[ends:])
    if begins > ends or any(isinstance(piece, tuple) or piece == ONE for piece in outside):
        return None
    found: list[Piece] = []
    inside = row[begins + 1 : ends]
    for i, piece in enumerate(inside):
        if isinstance(piece, _FurtherTimes):
            before = found[: len(found) - piece.pieces][-1:]
            if ANY not in (*before, *inside[i + 1 : i + 2]):
                raise PatternError("repeated")
        elif not isinstance(piece, RegexTest):
            found.append(piece)
    return tuple(found)


class SearchLimit:
    """The total number of states that the searches of a comparison may use."""

    def __init__(self, states: int) -> None:
        self.left = states

    def spend(self) -> None:
        """Count a state. Raises TooManyTexts beyond the limit."""
        self.left -= 1
        if self.left < 0:
            raise TooManyTexts


def find_text(
    inside: Sequence[Language],
    outside: Sequence[Language],
    limit: SearchLimit,
    accepts: Callable[[str], bool] | None = None,
) -> str | None:
    """Return a shortest text in all languages of `inside` and in none of `outside`; None if there is none.

    A text is not extended if one of the languages in `outside` contains every extension of it. accepts: a further
    condition on the text; with it, only some texts of each length are tried. Raises TooManyTexts.
    """
    machines = [_Machine(language) for language in (*inside, *outside)]
    letters = _letters((*inside, *outside))
    number = len(inside)
    start = tuple(machine.start for machine in machines), 0
    texts: dict[tuple[tuple[frozenset[int], ...], int], str] = {start: ""}
    pending = deque([start])
    while pending:
        check_time()
        states, length = state = pending.popleft()
        accepted = [m.accepts(q) for m, q in zip(machines, states, strict=True)]
        if all(accepted[:number]) and not any(accepted[number:]) and (accepts is None or accepts(texts[state])):
            return texts[state]
        for c in letters:
            after = tuple(m.step(q, c) for m, q in zip(machines, states, strict=True))
            then = after, min(length + 1, LONGEST) if accepts is not None else 0
            if all(after[:number]) and then not in texts:
                if any(m.takes_all(q) for m, q in zip(machines[number:], after[number:], strict=True)):
                    continue
                limit.spend()
                texts[then] = texts[state] + c
                pending.append(then)
    return None


def samples_of(language: Language) -> Iterable[str]:
    """Return a few texts of a language, with each wildcard replaced by nothing and by another character."""
    for pattern in language[:40]:
        for star, one in (("", "q"), ("q", "q"), ("", "z"), ("\\", "q")):
            for case in (0, -1):
                yield "".join(star if piece == ANY else one if piece == ONE else piece[case] for piece in pattern)


def _letters(languages: Iterable[Language]) -> list[str]:
    """Return a character that is in no pattern, followed by the characters in the patterns."""
    named = {
        c
        for language in languages
        for pattern in language
        for piece in pattern
        if isinstance(piece, tuple)
        for c in piece
    }
    # No pattern names this character, so it stands for all that none names: the machines cannot tell them apart.
    fresh = next((c for c in FRESH if c not in named), None) or next(
        chr(code) for code in range(0x4E00, 0x9FFF) if chr(code) not in named
    )
    return [fresh, *sorted(named)]


class _Machine:
    """An automaton for a language. A state is a set of places in its patterns, which stand one after the other."""

    def __init__(self, language: Language) -> None:
        self._pieces: list[Piece | None] = []
        first = []
        for pattern in language:
            first.append(len(self._pieces))
            self._pieces += [*pattern, None]
        self._steps: dict[tuple[frozenset[int], str], frozenset[int]] = {}
        ends = (p for p, piece in enumerate(self._pieces) if piece == ANY and self._pieces[p + 1] is None)
        self._endless = frozenset(ends)
        self.start = self._closed(first)

    def _closed(self, places: Iterable[int]) -> frozenset[int]:
        found = set[int]()
        for place in places:
            found.add(place)
            # ANY also stands for no text, so the place after it is reached at once.
            while self._pieces[place] == ANY:
                place += 1
                found.add(place)
        return frozenset(found)

    def step(self, places: frozenset[int], c: str) -> frozenset[int]:
        """Return the places after one more character."""
        known = self._steps.get((places, c))
        if known is None:
            after = []
            for place in places:
                piece = self._pieces[place]
                if piece == ANY:
                    after.append(place)
                elif piece is not None and (piece == ONE or c in piece):
                    after.append(place + 1)
            known = self._steps[places, c] = self._closed(after)
        return known

    def accepts(self, places: frozenset[int]) -> bool:
        """Return whether a text that ends here matches a pattern."""
        return any(self._pieces[place] is None for place in places)

    def takes_all(self, places: frozenset[int]) -> bool:
        """Return whether every continuation of the text matches a pattern."""
        return not self._endless.isdisjoint(places)


# ---------------------------------------------------------------------------------------------------------------------
# Find values that the tests of a field distinguish: constants, their neighbours, and texts that match patterns.

MOST_SPLIT = 60  # another text is inserted into a text after at most so many characters
MOST_PAIRS = 20  # pairs of regular expressions of a field, for which texts are sought that only one of them matches
Block: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network


def values_near(tests: Iterable[eql.Condition]) -> Iterator[Value]:
    """Yield distinct values on both sides of each point where the result of a test changes."""
    seen: dict[tuple[type, Value], None] = {}
    for value in _all_near(list(tests)):
        # The type belongs to it: in Python 1, 1.0 and True are equal, and tests of EQL tell them apart.
        if (type(value), value) not in seen:
            seen[type(value), value] = None
            yield value


def _all_near(tests: list[eql.Condition]) -> Iterator[Value]:
    constants: list[Any] = []
    for test in tests:
        for node in subtrees(test):
            if isinstance(node, eql.FieldConstant):
                constants.append(node.value)
            elif isinstance(node, eql.ValueLookup):
                constants += node.values
    texts = [c for c in constants if isinstance(c, str)]
    numbers = sorted({c for c in constants if isinstance(c, int | float) and not isinstance(c, bool)})
    written = {
        constant.value
        for test in tests
        for node in subtrees(test)
        if isinstance(node, eql.FunctionCall) and node.name == "cidrMatch"
        for constant in node.arguments[1:]
        if isinstance(constant, eql.FieldConstant) and isinstance(constant.value, str)
    }
    blocks = [network for text in sorted(written) if (network := network_of(text)) is not None]
    if blocks:
        yield from ("8.8.8.8", "2001:4860:4860::8888", *_addresses(blocks, set(texts)))
        yield from (address for block in blocks for address in _with_its_first_letters(block))
    yield from (c for c in constants if isinstance(c, str | int | float) and not _is_wild(c))
    for number in numbers:
        # The neighbours of a field of whole numbers and those of a field of floats; `_fits` drops those that the schema
        # excludes.
        yield from (number - 1, number + 1, number + 0.5, number - 0.5)
        if isinstance(number, float) and math.isfinite(number):
            yield from (math.floor(number), math.ceil(number))
    yield from ((a + b) / 2 for a, b in pairwise(numbers))
    yield from ("q", "other", "", 0, 1, True, False)
    patterns = {
        f"(?i:{pattern})" if test.operator == "regex~" else pattern
        for test in tests
        if isinstance(test, eql.ValueLookup) and test.operator in ("regex", "regex~")
        for pattern in test.values
        if isinstance(pattern, str)
    }
    for pattern in sorted(patterns):
        if decidable(pattern):
            yield from islice(samples_of_strings((), (pattern,)), 20)
        with suppress(PatternError):
            yield _sample(parse(pattern))
    for pair in islice(combinations(sorted(patterns), 2), MOST_PAIRS):
        with suppress(PatternError):
            yield from filter(None, differing_texts(*pair))
    for pattern in sorted(patterns):
        with suppress(PatternError):
            yield from _texts_of_both(pattern, [test for test in tests if language_of(test)])
    for test in tests:
        yield from islice(samples_of(language_of(test) or ()), 200)
    for text in texts:
        # Another case tells `:` from `==`, a text without the wildcards `like` from `in`, and a longer text a prefix
        # from the whole.
        yield from (text.upper(), text.lower(), text.replace("*", "q").replace("?", "q"), text + "q", "q" + text)
    for test in tests:
        for node in subtrees(test):
            if isinstance(node, eql.FunctionCall) and node.name == "length":
                yield from ("q" * n for number in numbers for n in (int(number), int(number) + 1) if 0 <= n < 10_000)


def sample_text(pattern: str, n: int) -> str:
    """Return a text that a regular expression should match. Different numbers n give different texts, if possible.

    Raises PatternError.

    >>> sample_text("[a-z]+[.]exe", 0), sample_text("[a-z]+[.]exe", 2)
    ('a.exe', 'ccc.exe')
    """
    return _sample(parse(pattern), n)


def _sample(node: Node, n: int = 0) -> str:
    """Return a text that a regular expression matches if its assertions are ignored. n: the number of the text."""
    match node:
        case Characters(ranges):
            low, high = ranges[0] if ranges else (0, 0)
            first = max(low, min(high, ord("a")))
            return chr(first + n % min(high - first + 1, 26))
        case RegexConcatenation(parts):
            return "".join(_sample(part, n) for part in parts)
        case RegexChoice(parts):
            return _sample(parts[0], n)
        case RegexRepeat(part, least, most):
            return _sample(part, n) * min(least + (n if most is None else min(n, most - least)), 1_000)
        case RegexTest():
            return ""
        case _:
            assert_never(node)


def _texts_of_both(pattern: str, others: Iterable[eql.Condition]) -> Iterator[str]:
    """Yield texts that a regular expression and another test accept: a text of one with a text of the other inside."""
    text = _sample(parse(pattern))
    for test in islice(others, MOST_PAIRS):
        accepts = condition_test(test)
        field = next(iter(eql.fields_of(test)))
        inner = dict.fromkeys(islice(samples_of(language_of(test) or ()), 2))
        near = (f"{text[:i]}{other}{text[i:]}" for other in inner for i in range(min(len(text), MOST_SPLIT) + 1))
        accepted = (one for one in near if accepts(Event("", {field.name: one})) is True)
        yield from islice((one for one in accepted if matches(pattern, one)), 2)


def _is_wild(value: object) -> bool:
    return isinstance(value, str) and ("*" in value or "?" in value)


def _addresses(blocks: list[Block], constants: set[str]) -> Iterator[str]:
    """Yield a text for each set of tests for address blocks and single texts that one text can pass.

    These are an address for each set of blocks, another spelling of each constant, and a text that is not an address.
    The constants themselves are left out.
    """
    folded = {fold(text) for text in constants}
    for kind, size in ((ipaddress.IPv4Address, 2**32), (ipaddress.IPv6Address, 2**128)):
        mine = [block for block in blocks if type(block.network_address) is kind]
        bounds = {0, size, *(int(b[0]) for b in mine), *(int(b[-1]) + 1 for b in mine)}
        for first, end in pairwise(sorted(bounds) if mine else ()):
            # One more than there are constants: at least one of the addresses is not among them.
            near = range(first, min(end, first + len(folded) + 1))
            spelled = chain.from_iterable(_spellings(kind(n), len(folded)) for n in near)
            yield from islice((text for text in spelled if fold(text) not in folded), 1)
    for text in sorted(constants):
        cases = map("".join, product(*map(same_folded, text)))
        yield from islice((other for other in cases if other not in constants), 1)
    yield "q" * (1 + max(map(len, constants)))


def _with_its_first_letters(block: Block) -> Iterator[str]:
    """Yield an address outside a block whose text begins like the block's, such as 100.1.1.1 for 10.0.0.0/8."""
    octets = str(block.network_address).split(".")[: block.prefixlen // 8]
    # Up to 25, because with a 0 at the end the number must be an octet. Such a text passes `10.*` or startsWith, but
    # lies outside the block: a rule that tests the text is told from one that tests the address.
    if block.version == 4 and octets and int(octets[-1]) in range(1, 26):
        yield ".".join([*octets[:-1], f"{octets[-1]}0", *["1"] * (4 - len(octets))])


def _spellings(address: ipaddress.IPv4Address | ipaddress.IPv6Address, others: int) -> Iterator[str]:
    """Yield different spellings of an address, the usual one first; for IPv6 more spellings than `others`."""
    yield str(address)
    if address.version == 6:
        yield address.exploded
        yield from (f"{address}%{n}" for n in range(others))
