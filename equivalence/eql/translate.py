"""Translate EQL to CEL, SASE+ and MATCH_RECOGNIZE, and CEL and SASE+ to EQL.

A translation has the same complex events as its source; if there is none, Unsupported names the reason.

A sequence p1 ... pn `until` u becomes this CEL formula:

    p1 ; (((p2 UNLESS (p2 ; p2)) ; ... ; (pn UNLESS (pn ; pn))) UNLESS ((p1 ; ... ; pn) OR (u ; pn))) WITHIN w

Here p1 stands for events that do not pass u. `p UNLESS (p ; p)` finds the next p. The last UNLESS excludes a run that
begins later, and a u before the last event. If all steps have the same key, the formula stands under PER KEY, because
UNLESS would otherwise see the events of all keys.

In MATCH_RECOGNIZE the sequence becomes an automaton with states (s, t): the run is at step s, and the furthest of the
runs that began later is at step t. The run is lost if a later run catches up with it. The other runs need not be
remembered: one that catches up with the furthest replaces it, and `until` ends all of them. The rows between the steps
are excluded from the match. Keys that differ by step are compared with the key of the first row.

SASE+ can express only sequences of two events, without a later first event or u between them. Three steps would need
the absence of a sequence, which SASE+ cannot express: on A B A B C, its SEQ(A a, B b, C c) has one match too many.

The translations assume that each field has one value, always of the same type, and that times are whole microseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fractions import Fraction
from functools import reduce
from math import ceil
from typing import Any, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.cel import syntax as cel
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP, same_folded
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, TYPE
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase

SECONDS = 1_000_000
SPECIAL = frozenset(r"\.+*?()|[]{}^$")
MOST_PARTS = 400  # of a row pattern
MOST_CLAUSES = 64
ALWAYS = pred.Anything()
NEVER = pred.Not(ALWAYS)
UNITS = {"second": "s", "minute": "m", "hour": "h"}


def eql_to_cel(query: eql.EqlQuery) -> cel.Formula:
    """Return the CEL formula with the matches of an EQL query, for ascending times and fields with single values.

    Raises Unsupported for keys that differ by step, samples, missing events, pipes, `any`, and conditions that CEL
    cannot express.
    """
    plain = _PlainRule.from_query(query, "CEL")
    # An event that passes `until` and the first step ends a run and begins none.
    steps = [
        _filter(part, f"e{i}" if len(plain.steps) > 1 else "a", plain.until if i == 1 else None)
        for i, part in enumerate(plain.steps, 1)
    ]
    if len(steps) == 1:
        return steps[0]
    if plain.keys_by_step is not None:
        raise Unsupported("the keys differ by step, and PER KEY needs one key for all events", plain.span)
    following: list[cel.Formula] = [cel.Unless(p, cel.Seq(p, p)) for p in steps[1:]]
    against: cel.Formula = reduce(cel.Seq, steps)
    if plain.until is not None:
        against = cel.Or(against, cel.Seq(_filter(plain.until, "u"), steps[-1]))
    phi: cel.Formula = cel.Seq(steps[0], cel.Unless(reduce(cel.Seq, following), against))
    if plain.window is not None:
        seconds, rest = divmod(plain.window, SECONDS)
        phi = cel.Within(phi, cel.TimeWindow(plain.window / SECONDS if rest else seconds, "second"))
    return cel.PerKey(phi, plain.keys) if plain.keys else phi


@dataclass(frozen=True)
class _PlainRule:
    """A rule that can be translated: its filters, step by step, and its keys.

    keys: the fields of the key, if they are the same at all steps. keys_by_step: if they are not, the fields at each
    step, with those of `until` last. window: in microseconds.
    """

    steps: tuple[eql.EventFilter, ...]
    until: eql.EventFilter | None
    window: int | None
    keys: tuple[str, ...]
    keys_by_step: tuple[tuple[str, ...], ...] | None
    span: Any

    @classmethod
    def from_query(cls, query: eql.EqlQuery, language: str) -> _PlainRule:
        """Return the parts of a query. Raises Unsupported for samples, missing events and pipes."""
        body = query.body
        if query.pipes:
            raise Unsupported(f"{language} reports all matches; leave the pipe out", query.pipes[0].span)
        if isinstance(body, eql.EventFilter):
            return cls((body,), None, None, (), None, body.span)
        if isinstance(body, eql.EventSample):
            raise Unsupported(f"a sample has one match for each key, but {language} reports all", body.span)
        asked = [*eql.step_expanded(body), *([] if body.until is None else [body.until])]
        keys: list[tuple[str, ...]] = []
        for step in asked:
            if step.missing:
                raise Unsupported(f"a missing event cannot be translated to {language}", step.span)
            fields = eql.step_keys(body, step)
            for field in fields:
                if field.optional:
                    raise Unsupported(
                        f"in {language}, an event without a key is in no match; leave the ? out", field.span
                    )
                if field.name in (CATEGORY, TIMESTAMP):
                    raise Unsupported(f"{field.name} is not an attribute name in {language}", field.span)
            keys.append(tuple(field.name for field in fields))
        if len(set(keys)) == 1:
            keys = [tuple(dict.fromkeys(keys[0]))]
        filters = [step.filter for step in asked]
        until = filters.pop() if body.until is not None else None
        window = None if body.maxspan is None else body.maxspan.microseconds
        same = len(set(keys)) == 1
        return cls(tuple(filters), until, window, keys[0] if same else (), None if same else tuple(keys), body.span)


def _filter(part: eql.EventFilter, variable: str, until: eql.EventFilter | None = None) -> cel.Formula:
    """Return a formula for the events that pass a filter and do not pass the filter of `until`."""
    if part.category is None:
        raise Unsupported("CEL cannot match events of any type; write a category", part.span)
    event = cel.EventAtom(part.category)
    test = _outside(part, until)
    # CEL has no predicate that is false of every event, but a formula without matches.
    if test == NEVER:
        return cel.Unless(event, event)
    return event if test == ALWAYS else cel.Filter(cel.In(event, variable), cel.Every(variable, test))


def _outside(part: eql.EventFilter, until: eql.EventFilter | None) -> pred.Predicate:
    """Return the predicate of those events of the category that pass the filter and do not pass that of `until`."""
    test = _predicate(part.condition)
    if until is None or until.category not in (part.category, None):
        return test
    return _joined((test, _not(_predicate(until.condition))), pred.Both, ALWAYS)


def _predicate(condition: eql.Condition) -> pred.Predicate:
    """Return the predicate that an event satisfies if the condition is true of it. Raises Unsupported."""
    match condition:
        case eql.AllConditions(parts):
            return _joined(map(_predicate, parts), pred.Both, ALWAYS)
        case eql.AnyConditions(parts):
            return _joined(map(_predicate, parts), pred.Either, NEVER)
        case eql.NegatedCondition(part):
            if _has_function(part):
                raise Unsupported("a function of NULL is neither true nor false, which CEL cannot express", part.span)
            return _not(_predicate(part))
        case eql.FieldConstant(value):
            return ALWAYS if value is True else NEVER
        case eql.EventField():
            return pred.Comparison("=", _attribute(condition), pred.Constant(True))
        case eql.FieldComparison(comparator, eql.EventField() as field, eql.FieldConstant(value)):
            return _comparison(comparator, field, value)
        case eql.ValueLookup(operator, eql.EventField() as field, values):
            return _lookup(operator, field, values)
        case eql.FunctionCall(name, folded, (eql.EventField() as field, eql.FieldConstant(str() as text))):
            if name in ("startsWith", "endsWith", "stringContains") and (text or name != "stringContains"):
                before, after = ("" if name == "startsWith" else ANY), ("" if name == "endsWith" else ANY)
                return pred.Like(_attribute(field), before + _pattern(text, folded, False) + after)
        case eql.FieldComparison() | eql.ValueLookup() | eql.FunctionCall() | eql.FieldArithmetic():
            pass
        case _:
            assert_never(condition)
    raise Unsupported(f"CEL has no condition for {eql.show_condition(condition)}", condition.span)


def _joined(parts: Iterable[pred.Predicate], join: Any, unit: pred.Predicate) -> pred.Predicate:
    """Join the parts by `join` (Both or Either), without those that are equal to `unit`, which change nothing."""
    kept = [part for part in parts if part != unit]
    return _not(unit) if _not(unit) in kept else reduce(join, kept) if kept else unit


def _not(part: pred.Predicate) -> pred.Predicate:
    return ALWAYS if part == NEVER else pred.Not(part)


def _has_function(condition: eql.Condition) -> bool:
    return isinstance(condition, eql.FunctionCall) and condition.name != "startsWith"


def _attribute(field: eql.EventField) -> pred.Attribute:
    if field.name in (CATEGORY, TIMESTAMP):
        raise Unsupported(f"{field.name} is not an attribute name in CEL", field.span)
    return pred.Attribute(field.name)


def _comparison(comparator: eql.Comparator, field: eql.EventField, value: object) -> pred.Predicate:
    attribute = _attribute(field)
    if value is None:
        # An absent value is equal to nothing, itself included, so this is true exactly where the event has the
        # attribute.
        present = pred.Comparison("=", attribute, attribute)
        return pred.Not(present) if comparator == "==" else present
    constant = pred.Constant(value)  # type: ignore[arg-type]
    match comparator:
        case "==":
            return pred.Comparison("=", attribute, constant)
        case "!=":
            # Not `!=` of CEL, which is false of an event without the attribute; the test of EQL is true of it.
            return pred.Not(pred.Comparison("=", attribute, constant))
        case "<" | "<=" | ">" | ">=":
            return pred.Comparison(comparator, attribute, constant)
        case _:
            assert_never(comparator)


# In regular expressions `.` is any character but a line break; a wildcard of EQL is any at all.
ANY = r"(.|\n)*"


def _lookup(operator: eql.MatchOperator, field: eql.EventField, values: tuple[object, ...]) -> pred.Predicate:
    attribute = _attribute(field)
    if operator == "in":
        return pred.OneOf(attribute, tuple(v for v in values if v is not None))  # type: ignore[misc]
    if operator == "regex~" or (operator == "in~" and not all(isinstance(v, str) for v in values)):
        raise Unsupported(f"{operator} cannot be translated to CEL", field.span)
    patterns = [
        str(v) if operator == "regex" else _pattern(str(v), operator != "like", operator != "in~") for v in values
    ]
    likes: list[pred.Predicate] = [pred.Like(attribute, pattern) for pattern in patterns]
    return reduce(pred.Either, likes)


def _pattern(text: str, folded: bool, wild: bool) -> str:
    """Return the regular expression of a text, in which * and ? may be wildcards."""
    return "".join(_letter(c, folded) if not wild or c not in "*?" else {"*": ANY, "?": r"(.|\n)"}[c] for c in text)


def _letter(c: str, folded: bool) -> str:
    cases = same_folded(c) if folded else (c,)
    if len(cases) > 1:
        return f"[{''.join(cases)}]"
    return f"\\{c}" if c in SPECIAL else c


# --- SASE+ ------------------------------------------------------------------------------------------------------------


def eql_to_sase(query: eql.EqlQuery) -> sase.SaseQuery:
    """Return the SASE+ query with the matches of an EQL query, for ascending times and fields with single values.

    Raises Unsupported as eql_to_cel does, and for sequences of more than two events.
    """
    plain = _PlainRule.from_query(query, "SASE+")
    if plain.keys_by_step is not None:
        raise Unsupported("the keys differ by step, but [attribute] is one attribute of all events", plain.span)
    if len(plain.steps) > 2:
        raise Unsupported(
            "in EQL a later sequence replaces an earlier one, but SASE+ cannot exclude a sequence in between: on "
            "A B A B C, SEQ(A a, B b, C c) has the match {0, 1, 4} besides {2, 3, 4}",
            plain.span,
        )
    parts = [("a", plain.steps[0], False)]
    if len(plain.steps) == 2:
        parts += [("n", plain.steps[0], True)]
        parts += [("u", plain.until, True)] if plain.until is not None else []
        parts += [("b", plain.steps[1], False)]
    components, conjuncts = [], [sase.Conjunct(sase.Equivalence(key)) for key in plain.keys]
    for variable, part, negated in parts:
        if part.category is None:
            raise Unsupported("SASE+ cannot match events of any type; write a category", part.span)
        components.append(sase.Component(part.category, variable, negated=negated))
        test = _outside(part, plain.until if variable == "a" else None)
        if test != ALWAYS:
            conjuncts += map(sase.Conjunct, _conjuncts(_referring(test, variable)))
    where = (sase.Block(None, (), tuple(conjuncts)),) if conjuncts else ()
    # A window of SASE+ is open, and times are whole microseconds: below w + 1 is at most w.
    within = None if plain.window is None else sase.SaseWindow((plain.window + 1) / SECONDS, "seconds")
    return sase.SaseQuery(tuple(components), sase.Return(()), where, within)


def _conjuncts(predicate: Any) -> list[Any]:
    """Return a predicate in the form that WHERE needs: clauses that are disjunctions of tests and negated tests."""
    clauses = [[predicate]]
    while (at := next((i for i, c in enumerate(clauses) if any(map(_is_joined, c))), None)) is not None:
        clause = clauses.pop(at)
        joined = next(filter(_is_joined, clause))
        rest = [one for one in clause if one is not joined]
        inner: Any = joined.predicate if isinstance(joined, pred.Not) else joined
        if isinstance(inner, pred.Not):  # a double negation
            clauses.append([inner.predicate, *rest])
            continue
        sides = [pred.Not(one) if inner is not joined else one for one in (inner.left, inner.right)]
        if isinstance(inner, pred.Both) is (inner is joined):
            clauses += ([side, *rest] for side in sides)
        else:
            clauses.append([*sides, *rest])
        # Inside the loop, because an OR of n ANDs has 2^n clauses.
        if len(clauses) > MOST_CLAUSES:
            raise Unsupported(
                f"the condition would need more than {MOST_CLAUSES} clauses in WHERE of SASE+; use fewer `or`"
            )
    return [reduce(pred.Either, clause) for clause in clauses]


def _is_joined(predicate: Any) -> bool:
    inner = predicate.predicate if isinstance(predicate, pred.Not) else predicate
    return isinstance(inner, pred.Both | pred.Either) or (isinstance(inner, pred.Not) and inner is not predicate)


def _referring(predicate: Any, variable: str) -> Any:
    """Return the predicate with its attributes as attributes of a variable."""
    match predicate:
        case pred.Attribute(name):
            return sase.Reference(name, variable)
        case pred.Both(left, right) | pred.Either(left, right):
            return type(predicate)(_referring(left, variable), _referring(right, variable))
        case pred.Comparison(comparator, left, right):
            return pred.Comparison(comparator, _referring(left, variable), _referring(right, variable))
        case pred.Not(part):
            return pred.Not(_referring(part, variable))
        case pred.OneOf(term, values):
            return pred.OneOf(_referring(term, variable), values)
        case pred.Like(term, pattern):
            return pred.Like(_referring(term, variable), pattern)
        case pred.Anything():
            raise Unsupported("SASE+ has no condition that is always true or false: leave it out")
    return predicate


def sase_to_eql(query: sase.Tree) -> eql.EqlQuery:
    """Return the EQL rule that has the matches of a SASE+ query for one event, or for the latest pair of two events.

    >>> from cerify.semantics.sase.parse import parse
    >>> eql.show(sase_to_eql(parse("PATTERN SEQ(A a, ~A n, B b) WHERE [k] WITHIN 5 seconds")))
    'sequence by k with maxspan=4999999micros [A where true] [B where true]'

    For two events, the pattern must exclude another first event in between, as `~A n` does here. A window of SASE+ is
    open, and maxspan is closed; times are whole microseconds. Raises Unsupported for other queries; the message may
    have a stream that shows why.
    """
    if not isinstance(query, sase.SaseQuery) or query.source is not None or query.having is not None:
        raise Unsupported("only one PATTERN with WHERE and WITHIN can be translated to EQL", query.span)
    if query.returned.items or query.returned.non_overlap:
        raise Unsupported("a rule of EQL has no RETURN; leave it out", query.returned.span)
    if any(block.strategy is not None for block in query.where):
        raise Unsupported("a rule of EQL has no strategy; exclude another first event instead, by ~A n", query.span)
    if any(component.kleene for component in query.pattern):
        raise Unsupported("a step of EQL takes exactly one event; it cannot be a Kleene plus", query.span)
    chosen = [component for component in query.pattern if not component.negated]
    absent = [component for component in query.pattern if component.negated]
    keys = [
        c.condition.attribute for b in query.where for c in b.conjuncts if isinstance(c.condition, sase.Equivalence)
    ]
    filters = {component.variable: _filter_of(component, query) for component in query.pattern}
    if len(chosen) == 1 and not absent and not keys:
        return eql.EqlQuery(filters[chosen[0].variable])
    if len(chosen) != 2 or query.pattern[0].negated or query.pattern[-1].negated:
        raise Unsupported(
            "a rule of EQL takes the sequence that begins last, but SASE+ cannot exclude a sequence: on A B A B C, "
            "SEQ(A a, B b, C c) has the match {0, 1, 4} besides {2, 3, 4}",
            query.span,
        )
    first, last = (filters[component.variable] for component in chosen)
    others = [filters[component.variable] for component in absent]
    if first not in others:
        raise Unsupported(
            f"a rule of EQL takes the sequence that begins last: on {first.category} {first.category} {last.category}, "
            f"SEQ also has the match {{0, 2}}. Write SEQ({first.category} a, ~{first.category} n, {last.category} b), "
            "and give n the conditions of a",
            query.span,
        )
    others.remove(first)
    if len(others) > 1:
        raise Unsupported("a rule of EQL can have only one `until`", query.span)
    until = others[0] if others else None
    if until is not None and until.category == first.category and _negation(until) not in _conditions(first):
        raise Unsupported(
            f"EQL tests `until` at the first event too, and a {first.category} may be an absent event: add conditions "
            f"to {first.category} that exclude the absent events",
            query.span,
        )
    fields = tuple(map(eql.EventField, keys))
    steps = (eql.SequenceStep(first), eql.SequenceStep(last))
    ended = None if until is None else eql.SequenceStep(until)
    return eql.EqlQuery(eql.EventSequence(fields, _maxspan_below(query.within), steps, ended))


def _filter_of(component: sase.Component, query: sase.SaseQuery) -> eql.EventFilter:
    """Return the filter of a component: its type, and the conjuncts about its variable, sorted by their texts."""
    conditions: list[eql.Condition] = []
    for conjunct in (one for block in query.where for one in block.conjuncts):
        if isinstance(conjunct.condition, sase.Equivalence):
            continue
        variables = clauses.variables(conjunct.condition)
        if len(variables) > 1:
            raise Unsupported(
                "a filter of EQL can test only one event; only [attribute] compares events", conjunct.span
            )
        if variables == {component.variable}:
            conditions.append(_condition_of(_without_variable(conjunct.condition)))
    # Sorted, because the absent component is recognized as equal to the first one, however its conditions are ordered.
    conditions.sort(key=eql.show_condition)
    if not conditions:
        return eql.EventFilter(component.type, eql.FieldConstant(True))
    whole = conditions[0] if len(conditions) == 1 else eql.AllConditions(tuple(conditions))
    return eql.EventFilter(component.type, whole)


def _without_variable(predicate: Any) -> Any:
    """Return the predicate without the variable of its attributes. Raises Unsupported if it uses several events."""
    match predicate:
        case sase.Reference(name, _, "only"):
            return pred.Attribute(name)
        case pred.Both(left, right) | pred.Either(left, right):
            return type(predicate)(_without_variable(left), _without_variable(right))
        case pred.Comparison(comparator, left, right):
            return pred.Comparison(comparator, _without_variable(left), _without_variable(right))
        case pred.Not(part):
            return pred.Not(_without_variable(part))
        case pred.OneOf(term, values):
            return pred.OneOf(_without_variable(term), values)
        case pred.InRange(term, low, high):
            return pred.InRange(_without_variable(term), low, high)
        case pred.Like(term, pattern):
            return pred.Like(_without_variable(term), pattern)
        case pred.Constant():
            return predicate
    raise Unsupported(f"{sase.show_of(predicate)} cannot be translated to EQL: compare attributes with constants")


def _conditions(part: eql.EventFilter) -> tuple[eql.Condition, ...]:
    return part.condition.conditions if isinstance(part.condition, eql.AllConditions) else (part.condition,)


def _negation(part: eql.EventFilter) -> eql.Condition:
    return eql.NegatedCondition(part.condition)


def _maxspan_below(window: sase.SaseWindow | None) -> eql.MaximalSpan | None:
    """Return the greatest maxspan in whole microseconds that is less than an open window."""
    if window is None:
        return None
    exact = Fraction(str(window.amount)) * sase.SECONDS[window.unit] * SECONDS
    micros = ceil(exact) - 1
    if micros < 0:
        raise Unsupported("an open window of width 0 never contains two events", window.span)
    unit = next(name for name, size in eql.UNITS.items() if micros % size == 0)
    return eql.MaximalSpan(micros // eql.UNITS[unit], unit)


# --- MATCH_RECOGNIZE --------------------------------------------------------------------------------------------------


def eql_to_rows(query: eql.EqlQuery) -> rows.MatchRecognize:
    """Return the MATCH_RECOGNIZE clause that translates an EQL query. Its excluded rows are not part of the match.

    The rows are the events in the order of the log, with the category in the column `type` and the timestamp in `time`;
    no column has values of several types. Raises Unsupported for what eql_to_cel does not support, except `any` and
    keys that differ by step, and also for wildcards that ignore case.
    """
    plain = _PlainRule.from_query(query, "MATCH_RECOGNIZE")
    return _RowAutomaton(plain).clause()


class _RowAutomaton:
    """The states (s, t): the run is at step s, and the furthest of the runs that began later is at step t.

    A variable of the pattern says both whether a row takes the run to its next step, and whether it takes the furthest
    later run to its next step.
    """

    def __init__(self, plain: _PlainRule) -> None:
        self.plain, self.n = plain, len(plain.steps)
        self._define: dict[str, rows.Expression] = {}
        self._parts = 0

    def clause(self) -> rows.MatchRecognize:
        there: list[rows.Expression] = [rows.IsNull(_column(name), negated=True) for name in self._keys(0)]
        first = self._variable("E1", [self._passes(0), *there])
        pattern = first if self.n == 1 else rows.RowConcatenation(first, self._from(1, 0))
        define = tuple(rows.RowDefinition(name, condition) for name, condition in self._define.items())
        partition = tuple(map(_column, self.plain.keys))
        # Past the last row would lose a run that begins inside another match; which runs are lost, the states say.
        skip = rows.RowSkip("next row")
        return rows.MatchRecognize(pattern, define, partition, rows="one" if self.n == 1 else "all", skip=skip)

    def _keys(self, step: int) -> tuple[str, ...]:
        return self.plain.keys if self.plain.keys_by_step is None else self.plain.keys_by_step[step]

    def _from(self, s: int, t: int) -> rows.Pattern:
        """Return the pattern of the rows that follow in state (s, t)."""
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise Unsupported("with this many steps the row pattern would be too long; use fewer", self.plain.span)
        stays = self._variable(f"S{s}{t}", [self._is_not(s), self._is_not(t)])
        ways = [self._step(s, t, further) for further in ((False,) if s + 1 == self.n else (False, True))]
        if t + 1 < s:
            moves = self._variable(f"M{s}{t}", [self._is_not(s), self._is(t)])
            ways.append(rows.RowConcatenation(rows.Exclusion(moves), self._from(s, t + 1)))
        return rows.RowConcatenation(rows.Quantified(rows.Exclusion(stays), 0, None), reduce(rows.Alternation, ways))

    def _step(self, s: int, t: int, further: bool) -> rows.Pattern:
        """Return the pattern from a row that takes the run to its next step.

        further: whether the row also takes the furthest later run to its next step.
        """
        conditions = [self._is(s), self._is(t) if further else self._is_not(t)]
        if s + 1 == self.n:
            conditions = [self._is(s)]
            if self.plain.window is not None:
                late = rows.Sum(rows.RowColumn(TIME, f"E{self.n}"), "-", rows.RowColumn(TIME, "E1"))
                limit = rows.RowConstant(timedelta(microseconds=self.plain.window))
                conditions.append(rows.RowComparison(late, "<=", limit))
            return self._variable(f"E{self.n}", conditions)
        own = self._variable(f"E{s + 1}{'F' if further else 'N'}{t}", conditions)
        return rows.RowConcatenation(own, self._from(s + 1, t + further))

    def _variable(self, name: str, conditions: list[rows.Expression]) -> rows.RowVariable:
        """Return a variable for rows with these conditions.

        Rows before the last row of the match must also not pass the filter of `until`.
        """
        if self.plain.until is not None and name != f"E{self.n}":
            conditions = [*conditions, self._negated(self.plain.until, len(self.plain.steps))]
        self._define[name] = reduce(rows.RowAnd, conditions)
        return rows.RowVariable(name)

    # --- conditions on a row; a negated condition is true, and not NULL, if the condition is not true -----------------

    def _passes(self, step: int) -> rows.Expression:
        part = self.plain.steps[step]
        return _sql_true(part)

    def _is(self, step: int) -> rows.Expression:
        return reduce(rows.RowAnd, [self._passes(step), *self._key_tests(step, "=")])

    def _is_not(self, step: int) -> rows.Expression:
        return self._negated(self.plain.steps[step], step)

    def _negated(self, part: eql.EventFilter, step: int) -> rows.Expression:
        """Return the condition that a row does not pass a filter, or has another key than the first row."""
        tests = self._key_tests(step, "<>")
        missing = [rows.IsNull(_column(name)) for name in self._keys(step)] if tests else []
        return reduce(rows.RowOr, [_sql_false(part), *missing, *tests])

    def _key_tests(self, step: int, comparator: Any) -> list[rows.Expression]:
        if self.plain.keys_by_step is None:
            return []
        pairs = zip(self._keys(step), self._keys(0), strict=True)
        return [rows.RowComparison(_column(mine), comparator, _column(first, "E1")) for mine, first in pairs]


def _column(name: str, variable: str | None = None) -> rows.RowColumn:
    return rows.RowColumn(name, variable, quoted=not name.isidentifier())


def _sql_true(part: eql.EventFilter) -> rows.Expression:
    """Return SQL that is true of rows that pass a filter, and false or unknown for others."""
    condition = _sql(part.condition, True)
    if part.category is None:
        return condition
    of_type = rows.RowComparison(rows.RowColumn(TYPE), "=", rows.RowConstant(part.category))
    return of_type if part.condition == eql.FieldConstant(True) else rows.RowAnd(of_type, condition)


def _sql_false(part: eql.EventFilter) -> rows.Expression:
    condition = _sql(part.condition, False)
    if part.category is None:
        return condition
    other = rows.RowComparison(rows.RowColumn(TYPE), "<>", rows.RowConstant(part.category))
    return other if part.condition == eql.FieldConstant(True) else rows.RowOr(other, condition)


def _sql(condition: eql.Condition, wanted: bool) -> rows.Expression:
    """Return SQL that is true of the rows for which a condition is true (`wanted`) or is not true (not `wanted`).

    Raises Unsupported.
    """
    match condition:
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            join = rows.RowAnd if isinstance(condition, eql.AllConditions) is wanted else rows.RowOr
            return reduce(join, (_sql(part, wanted) for part in parts))
        case eql.NegatedCondition(part):
            if _has_function(part):
                raise Unsupported("a function of NULL is neither true nor false in EQL", part.span)
            return _sql(part, not wanted)
        case eql.FieldConstant(value):
            sign: Any = "=" if (value is True) is wanted else "<>"
            return rows.RowComparison(rows.RowConstant(1), sign, rows.RowConstant(1))
        case eql.EventField():
            return _or_null(condition, rows.RowComparison(_field(condition), "=", rows.RowConstant(wanted)), wanted)
        case eql.FieldComparison("==" | "!=" as comparator, eql.EventField() as field, eql.FieldConstant(None)):
            return rows.IsNull(_field(field), negated=(comparator == "!=") is wanted)
        case eql.FieldComparison("!=", eql.EventField() as field, eql.FieldConstant(value)):
            # By its opposite, and not by `<>`, which is unknown for NULL: EQL counts an absent value as different.
            return _sql(eql.FieldComparison("==", field, eql.FieldConstant(value)), not wanted)
        case eql.FieldComparison(comparator, eql.EventField() as field, eql.FieldConstant(value)):
            if comparator != "==" and isinstance(value, bool):
                raise Unsupported("booleans have no order in EQL", condition.span)
            sign = {"==": ("=", "<>"), "<": ("<", ">="), "<=": ("<=", ">"), ">": (">", "<="), ">=": (">=", "<")}[
                comparator
            ][not wanted]
            return _or_null(field, rows.RowComparison(_field(field), sign, rows.RowConstant(value)), wanted)
        case eql.ValueLookup("in", eql.EventField() as field, values):
            items = tuple(rows.RowConstant(value) for value in values if value is not None)
            return _or_null(field, rows.RowIn(_field(field), items, negated=not wanted), wanted)
        case eql.ValueLookup(operator, eql.EventField() as field, values) if operator in (":", "like", "like~", "in~"):
            tests = [_like(operator, field, value, wanted) for value in values]
            return reduce(rows.RowOr if wanted else rows.RowAnd, tests)
        case eql.FunctionCall() | eql.FieldComparison() | eql.ValueLookup() | eql.FieldArithmetic():
            raise Unsupported(f"SQL has no condition for {eql.show_condition(condition)} here", condition.span)
        case _:
            assert_never(condition)


def _like(operator: str, field: eql.EventField, value: Any, wanted: bool) -> rows.Expression:
    if not isinstance(value, str) or "\\" in value or "%" in value or "_" in value:
        raise Unsupported("patterns with %, _ or a backslash cannot be translated to LIKE", field.span)
    if operator != "like" and any(len(same_folded(c)) > 1 for c in value):
        raise Unsupported("LIKE distinguishes upper and lower case, and there is no LOWER here; use `like`", field.span)
    pattern = rows.RowConstant(value if operator == "in~" else value.replace("*", "%").replace("?", "_"))
    return _or_null(field, rows.RowLike(_field(field), pattern, negated=not wanted), wanted)


def _field(field: eql.EventField) -> rows.RowColumn:
    if field.name in (CATEGORY, TIMESTAMP):
        raise Unsupported(f"{field.name} is not a column of the rows", field.span)
    return _column(field.name)


def _or_null(field: eql.EventField, test: rows.Expression, wanted: bool) -> rows.Expression:
    return test if wanted else rows.RowOr(rows.IsNull(_field(field)), test)


# --- from CEL ---------------------------------------------------------------------------------------------------------


def cel_to_eql(phi: cel.Formula) -> eql.EqlQuery:
    """Return the EQL rule with the complex events of a formula, on all logs whose fields have single values.

    Raises Unsupported if the rule with the steps of the formula has other complex events; the message has a shortest
    stream that shows this.
    """
    from cerify.equivalence.decide.derivation import compare_formulas
    from cerify.equivalence.verdict import Different, Equivalent

    # Guess and check: the candidate has the parts of the formula wherever they stood, and only the decision procedure
    # says whether it means the same. Recognizing the shapes of `eql_to_cel` would refuse every other way to write them.
    rule = _candidate(phi)
    verdict = compare_formulas(phi, eql_to_cel(rule), "equivalent")
    if isinstance(verdict, Equivalent):
        return rule
    if not isinstance(verdict, Different):
        raise Unsupported("cerify could not decide whether the rule with these steps means the same", phi.span)
    events = " ".join(_event_text(event.type, event.attributes) for event in verdict.stream)
    has = "; ".join(
        f"{name} has {', '.join('{' + ', '.join(map(str, m.events)) + '}' for m in some)}"
        for name, some in (("the formula", verdict.left_only), ("the rule", verdict.right_only))
        if some
    )
    raise Unsupported(f"the rule `{eql.show(rule)}` has another meaning: on {events}, only {has}", phi.span)


def _event_text(type_: str, attributes: Any) -> str:
    values = ", ".join(f"{name}={pred.show_value(value)}" for name, value in attributes.items())
    return f"{type_}({values})" if values else type_


def _candidate(phi: cel.Formula) -> eql.EqlQuery:
    """Return the rule with the steps, the window and the keys of a formula."""
    keys: tuple[str, ...] = ()
    maxspan, until = None, None
    while isinstance(phi, cel.PerKey | cel.Within):
        if isinstance(phi, cel.PerKey):
            keys = phi.attributes
        elif isinstance(phi.window, cel.TimeWindow) and phi.window.unit in UNITS and phi.window.amount % 1 == 0:
            maxspan = eql.MaximalSpan(int(phi.window.amount), UNITS[phi.window.unit])
        else:
            raise Unsupported("maxspan must be a whole number of seconds, minutes or hours", phi.span)
        phi = phi.phi
    steps: list[eql.EventFilter] = []
    for part, absent in _parts_of(phi):
        if absent:
            until = until or eql.SequenceStep(part)
        else:
            steps.append(part)
    if len(steps) == 1:
        return eql.EqlQuery(steps[0])
    fields = tuple(map(eql.EventField, keys))
    return eql.EqlQuery(eql.EventSequence(fields, maxspan, tuple(map(eql.SequenceStep, steps)), until))


def _parts_of(phi: cel.Formula) -> Iterator[tuple[eql.EventFilter, bool]]:
    """Yield the events of a chain in order, and the events that must be absent between them."""
    match phi:
        case cel.Seq(left, right):
            yield from _parts_of(left)
            yield from _parts_of(right)
        case cel.Unless(left, right):
            yield from _parts_of(left)
            for one in _alternatives(right):
                if not isinstance(one, cel.Seq):
                    yield from ((part, True) for part, _ in _parts_of(one))
        case cel.EventAtom(R):
            yield eql.EventFilter(R, eql.FieldConstant(True)), False
        case cel.In(inner, _):
            yield from _parts_of(inner)
        case cel.Filter(inner, condition):
            found = list(_parts_of(inner))
            if len(found) != 1:
                raise Unsupported("a filter of EQL can test only one event; write it at that event", phi.span)
            ((part, absent),) = found
            tests = [_condition_of(test) for test in _tests_of(condition, _names_of(inner))]
            conditions = [*([] if part.condition == eql.FieldConstant(True) else [part.condition]), *tests]
            whole = conditions[0] if len(conditions) == 1 else eql.AllConditions(tuple(conditions))
            yield eql.EventFilter(part.category, whole), absent
        case _:
            raise Unsupported(
                "only formulas of `;`, FILTER, IN, UNLESS, WITHIN and PER KEY can be translated to EQL", phi.span
            )


def _names_of(phi: cel.Formula) -> set[str]:
    return {node.variable if isinstance(node, cel.In) else node.type for node in cel.subformulas(phi)
            if isinstance(node, cel.In | cel.EventAtom)}  # fmt: skip


def _alternatives(phi: cel.Formula) -> Iterator[cel.Formula]:
    if isinstance(phi, cel.Or):
        yield from _alternatives(phi.left)
        yield from _alternatives(phi.right)
    else:
        yield phi


def _tests_of(condition: cel.Condition, names: set[str]) -> Iterator[pred.Predicate]:
    match condition:
        case cel.Every(variable, predicate) if variable in names:
            yield predicate
        case cel.Conjunction(left, right):
            yield from _tests_of(left, names)
            yield from _tests_of(right, names)
        case _:
            raise Unsupported("a filter of EQL can only compare one event with constants", condition.span)


def _condition_of(predicate: pred.Predicate) -> eql.Condition:
    """Return the EQL condition that is true of the same events. Raises Unsupported."""
    match predicate:
        case pred.Anything():
            return eql.FieldConstant(True)
        case pred.Both(left, right):
            return eql.AllConditions((_condition_of(left), _condition_of(right)))
        case pred.Either(left, right):
            return eql.AnyConditions((_condition_of(left), _condition_of(right)))
        case pred.Not(part):
            return eql.NegatedCondition(_condition_of(part))
        case pred.Comparison("=", pred.Attribute(name), pred.Attribute(other)) if name == other:
            return eql.FieldComparison("!=", eql.EventField(name), eql.FieldConstant(None))
        case pred.Comparison(comparator, pred.Attribute(name), pred.Constant(value)) if _is_constant(value):
            field, constant = eql.EventField(name), eql.FieldConstant(value)  # type: ignore[arg-type]
            if comparator == "!=":
                there = eql.FieldComparison("!=", field, eql.FieldConstant(None))
                return eql.AllConditions((there, eql.FieldComparison("!=", field, constant)))
            return eql.FieldComparison("==" if comparator == "=" else comparator, field, constant)
        case pred.OneOf(pred.Attribute(name), values) if all(map(_is_constant, values)):
            return eql.ValueLookup("in", eql.EventField(name), tuple(values))  # type: ignore[arg-type]
        case pred.InRange(pred.Attribute(name), low, high) if _is_constant(low) and _is_constant(high):
            tests: Sequence[tuple[Any, Any]] = ((">=", low), ("<=", high))
            return eql.AllConditions(
                tuple(eql.FieldComparison(sign, eql.EventField(name), eql.FieldConstant(v)) for sign, v in tests)
            )
        case pred.Like(pred.Attribute(name), pattern):
            return eql.ValueLookup("regex", eql.EventField(name), (pattern,))
    raise Unsupported(
        f"{pred.show_predicate(predicate)} cannot be translated to EQL: compare attributes with constants"
    )


def _is_constant(value: object) -> bool:
    return isinstance(value, str | int | float)
