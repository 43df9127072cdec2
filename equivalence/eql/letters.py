"""Find which filters of two rules one event can pass together: the letters over which the rules are compared.

A filter is a Boolean combination of tests. A solver chooses truth values for the tests. Whether an event can have these
is decided field by field; if not, the solver gets a clause that excludes them. The values that are tried are the
constants, their neighbours, and texts found by search (texts.py). Other tests (regular expressions, functions of
numbers) may need other values. Then `exact` becomes False, and it proves nothing if no event is found.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, product
from typing import Any, TypeAlias

from cerify.equivalence.eql.texts import (
    ANY,
    ONE,
    Language,
    SearchLimit,
    TooManyTexts,
    find_text,
    language_of,
    values_near,
)
from cerify.semantics.arguments import check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP, FieldValues, Truth, condition_test, is_plain, values_of
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.packages import z3
from cerify.semantics.readings import ELASTIC
from cerify.semantics.schemas import NO_CATEGORY, NULL
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
    """The letters of some filters.

    arrays: whether fields may have several values. fixed: the first value of some fields, such as those of the key, in
    every event. schema: the schema of all events; None if they may be any. With a schema, a field may have several
    values only if `field[1]` is one of its attributes. values: the meaning of field names; with `own_values_of` an
    event may lack `event.category`.
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
            self._solver.add(z3.Or([p != (i in letter.passes) for i, p in enumerate(self._passes)]))
        self._solver.pop()
        return found

    def agree(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Return whether every event passes both filters of each pair or neither."""
        return self._is_never(z3.Or([self._passes[i] != self._passes[j] for i, j in pairs if i != j]))

    def agree_by_form(self, pairs: Iterable[tuple[int, int]]) -> bool:
        """Return whether the filters of each pair agree whatever results the tests have, as `a and b` and `b and a`
        do.
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
        """Return the values of a field that are tried."""
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
        raise BudgetExceeded("the conditions of the rules are too large to be compared")

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
        """Return whether a field may have several values."""
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
        wanted = [[one] for one in inside] if several else [inside]
        others = [t for t, language in languages.items() if language is None]

        def accepts_(text: str) -> bool:
            event = Event(NO_CATEGORY, {names[0]: text})
            return all(self._truth(t, event) is truths[t] for t in others)

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
