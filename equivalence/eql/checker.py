"""Check a certificate for two EQL rules, with independent code.

The search (decide.py) moves sequences from place to place, and looks for the values of an event field by field. The
check follows *runs* instead, as the definition does, and a solver with theories of strings and numbers decides which
tests one event can pass. Search and check share the syntax of EQL and its tests of one event, as the oracle and the
evaluators do.

The solver has no model of regular expressions, blocks of addresses, most functions, and tests of several fields. Such a
test may be true or false, but has the same value in both rules. So the solver also considers some events that cannot
exist. If the claim holds for all events that it considers, it holds for the real ones; if not, the certificate is
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import reduce
from math import inf, isfinite
from typing import Any, TypeAlias

from cerify.equivalence.verdict import Certificate
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, is_plain, same_folded
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.packages import z3
from cerify.semantics.trees import children, rebuilt

Run: TypeAlias = tuple[int, ...]
"""The events of a run, numbered as they came."""
MOST_ROUNDS = 4_000
PATIENCE = 500
"""Milliseconds that the solver has for a question about the values of one field."""
LAST_CHARACTER = 0x2FFFF  # the last character that the solver's texts can have
TEXT, NUMBER, TRUTH, OTHER = range(4)


def find_flaw(certificate: Certificate, left: eql.EqlQuery, right: eql.EqlQuery, budget: Budget) -> str | None:
    """Return the flaw in a certificate for two rules; None if it proves its claim. Raises BudgetExceeded."""
    filters = list(dict.fromkeys((*eql.filters_of(left), *eql.filters_of(right))))
    events = _PossibleEvents(filters, certificate.arrays)
    mine, theirs = ([filters.index(step.filter) for step in _listed_steps(query)] for query in (left, right))
    if _outline(left) == _outline(right) and events.agree(mine, theirs):
        return None
    if certificate.claim == "contained" and _is_wider(left, right) and events.agree(mine, theirs):
        return None
    if (reason := _why_not_followed(left, right)) is not None:
        return f"{reason}, so they are only compared step by step, and their steps differ"
    windowed = isinstance(left.body, eql.EventSequence) and left.body.maxspan is not None
    if windowed and certificate.order == "any":
        return "the rules have maxspan, but the certificate does not say that times never decrease"
    letters = [frozenset(letter) for letter in certificate.letters or ()]
    if any(not 0 <= number < len(filters) for letter in letters for number in letter):
        return f"the certificate names a filter that does not exist: the rules have {len(filters)} filters"
    if (missing := events.beyond(letters)) is not None:
        shown = ", ".join(eql.show_filter(filters[number]) for number in missing) or "none"
        return f"the certificate lacks an event that passes exactly these filters: {shown}"
    rules = _RunRule(left, mine), _RunRule(right, theirs)
    return _difference(rules, letters, windowed, certificate, budget)


# --- the shape of a rule ----------------------------------------------------------------------------------------------


def _listed_steps(query: eql.EqlQuery) -> list[eql.SequenceStep]:
    """Return the steps of a rule: a step with `runs=n` n times, and `until` last."""
    body = query.body
    if isinstance(body, eql.EventFilter):
        return [eql.SequenceStep(body)]
    found = [step for step in body.steps for _ in range(1 if step.missing else step.runs)]
    if isinstance(body, eql.EventSequence) and body.until is not None:
        found.append(body.until)
    return found


def _outline(query: eql.EqlQuery) -> tuple[Any, ...]:
    """Return all parts of a rule except its filters, independent of the order of the key's fields."""
    body, window, keys = query.body, None, tuple[eql.EventField, ...]()
    if not isinstance(body, eql.EventFilter):
        keys = body.keys
    if isinstance(body, eql.EventSequence):
        window = (body.until is not None, None if body.maxspan is None else body.maxspan.microseconds)
    steps = _listed_steps(query)
    columns = zip(*((*keys, *step.keys) for step in steps), strict=True)
    by_step = sorted(tuple((field.name, field.optional) for field in column) for column in columns)
    return type(body), window, by_step, [step.missing for step in steps], query.pipes


def _why_not_followed(left: eql.EqlQuery, right: eql.EqlQuery) -> str | None:
    """Return the beginning of a sentence that says why two rules cannot be compared run by run; None if they can."""
    if left.pipes or right.pipes:
        return "the rules have pipes"
    if isinstance(left.body, eql.EventFilter) and isinstance(right.body, eql.EventFilter):
        return None
    keys, windows = set[frozenset[tuple[str, bool]]](), set[int | None]()
    for body in (left.body, right.body):
        if not isinstance(body, eql.EventSequence):
            return "the rules are not both sequences"
        if any(step.missing for step in body.steps):
            return "the rules have missing events"
        for step in (*body.steps, *([] if body.until is None else [body.until])):
            keys.add(frozenset((field.name, field.optional) for field in (*body.keys, *step.keys)))
        windows.add(None if body.maxspan is None else body.maxspan.microseconds)
    if len(keys) > 1:
        return "the rules have keys that differ by step or rule"
    return "the rules have different windows" if len(windows) > 1 else None


def _is_wider(left: eql.EqlQuery, right: eql.EqlQuery) -> bool:
    """Return whether two sequences, without missing events, differ only in filters, or in a wider right window."""
    one, other = left.body, right.body
    if not (isinstance(one, eql.EventSequence) and isinstance(other, eql.EventSequence)) or left.pipes or right.pipes:
        return False
    if any(step.missing for step in (*one.steps, *other.steps)):
        return False
    widths = [inf if body.maxspan is None else body.maxspan.microseconds for body in (one, other)]
    same = replace(right, body=replace(other, maxspan=one.maxspan))
    return widths[0] <= widths[1] and _outline(left) == _outline(same)


# --- runs -------------------------------------------------------------------------------------------------------------


class _RunRule:
    """A sequence, or one event, as the numbers of its steps' filters, and the number of the filter of `until`."""

    def __init__(self, query: eql.EqlQuery, numbers: Sequence[int]) -> None:
        ends = isinstance(query.body, eql.EventSequence) and query.body.until is not None
        self.steps = numbers[:-1] if ends else numbers
        self.until = numbers[-1] if ends else None

    def advance(self, runs: Iterable[Run], passes: frozenset[int], event: int) -> tuple[tuple[Run, ...], Run]:
        """Return the runs after an event, in the order in which they began, and the run that it completes, or ().

        Each run takes the next event at its next step. If several runs have come equally far, only the one that began
        last is kept: they all take the same events from then on, and if they end together, the one that began last is
        the match.
        """
        furthest: dict[int, Run] = {}
        for run in (*runs, ()):
            taken = (*run, event) if self.steps[len(run)] in passes else run
            furthest[len(taken)] = taken
        ended = furthest.pop(len(self.steps), ())
        waiting = () if self.until in passes else sorted(run for run in furthest.values() if run)
        return tuple(waiting), ended


def _difference(
    rules: tuple[_RunRule, _RunRule], letters: list[frozenset[int]], windowed: bool, asked: Certificate, budget: Budget
) -> str | None:
    """Follow both rules over all logs of one key; return a sentence that refutes the claim, or None.

    If times never decrease, the runs that are too old at an event are those that began first, and they stay too old.
    Raises BudgetExceeded.
    """
    start: tuple[tuple[Run, ...], tuple[Run, ...]] = ((), ())
    seen, pending = {start}, [start]
    while pending:
        check_time()
        state = pending.pop()
        begins = sorted({run[0] for runs in state for run in runs})
        event = 1 + max((p for runs in state for run in runs for p in run), default=-1)
        for letter in letters:
            for old in range(len(begins) + 1 if windowed else 1):
                young = begins[old:]
                sides = [
                    rule.advance((run for run in runs if run[0] in young), letter, event)
                    for rule, runs in zip(rules, state, strict=True)
                ]
                (left, ended), (right, theirs) = sides
                if asked.level == "positions":
                    ended, theirs = ended[-1:], theirs[-1:]
                if ended != theirs and (ended or asked.claim == "equivalent"):
                    return "there is a log of the listed events on which only one of the rules has a match at the end"
                names = {p: n for n, p in enumerate(sorted({p for runs in (left, right) for run in runs for p in run}))}
                after = tuple(tuple(tuple(names[p] for p in run) for run in runs) for runs in (left, right))
                if after not in seen:
                    seen.add(after)  # type: ignore[arg-type]
                    pending.append(after)  # type: ignore[arg-type]
                    if len(seen) > budget.states:
                        raise BudgetExceeded(
                            f"the check needs more than {budget.states} states; allow more: Budget(states=...)"
                        )
    return None


# --- what one event can pass ------------------------------------------------------------------------------------------


class _PossibleEvents:
    """Tells which filters one event can pass together; what the solver does not model counts as possible.

    arrays: whether a field may have several values; a test is true if one of them satisfies it.
    """

    def __init__(self, filters: Sequence[eql.EventFilter], arrays: bool) -> None:
        self._context = z3.Context()  # its own, so that other answers of the solver do not depend on this one
        self._arrays, self._solver = arrays, z3.Solver(ctx=self._context)
        self._true: dict[eql.Condition, Any] = {}
        self._false: dict[eql.Condition, Any] = {}
        self._there: dict[str, Any] = {}
        self._fields: dict[str, dict[eql.Condition, Callable[[Any], Any]]] = {}
        kinds = ((z3.Int, "kind"), (z3.String, "text"), (z3.Real, "number"), (z3.Bool, "truth"))
        self._value = [make(name, self._context) for make, name in kinds]
        self._passes = [self._bool(f"filter{n}") for n in range(len(filters))]
        for variable, part in zip(self._passes, filters, strict=True):
            categories = [] if part.category is None else [eql.FieldConstant(part.category)]
            of_category = [eql.FieldComparison("==", eql.EventField(CATEGORY), one) for one in categories]
            self._solver.add(
                variable == z3.And([self._is(c, True) for c in (*of_category, _without_marks(part.condition))])
            )

    def _bool(self, name: str) -> Any:
        return z3.Bool(name, self._context)

    def agree(self, left: Sequence[int], right: Sequence[int]) -> bool:
        """Return whether every event passes both filters of each pair or neither."""
        pairs = {(i, j) for i, j in zip(left, right, strict=True) if i != j}
        return not pairs or self._model(z3.Or([self._passes[i] != self._passes[j] for i, j in pairs])) is None

    def beyond(self, letters: Iterable[frozenset[int]]) -> frozenset[int] | None:
        """Return the filters that some event passes, if no letter consists of exactly these filters.

        Return None if there is no such event. An event that passes no filter needs no letter.
        """
        others = [z3.Or([p != (n in letter) for n, p in enumerate(self._passes)]) for letter in {*letters, frozenset()}]
        return self._model(z3.And(others))

    def _model(self, formula: Any) -> frozenset[int] | None:
        """Return the filters that some possible event satisfying a formula passes; None if there is no such event."""
        self._solver.push()
        self._solver.add(formula)
        learned: list[Any] = []
        found: frozenset[int] | None = frozenset()
        for _ in range(MOST_ROUNDS):
            check_time()
            if self._solver.check() == z3.unsat:
                found = None
                break
            model = self._solver.model()
            conflicts = list(self._conflicts(model))
            if not conflicts:
                found = frozenset(n for n, p in enumerate(self._passes) if z3.is_true(model.evaluate(p)))
                break
            learned += conflicts
            self._solver.add(conflicts)
        else:
            raise BudgetExceeded("the conditions of the rules are too large to be checked")
        self._solver.pop()
        # They say what values a field can have, whatever the question was, so the next question begins with them.
        self._solver.add(learned)
        return found

    # --- conditions as formulas: the event makes a condition true, or false -------------------------------------------

    def _is(self, condition: eql.Condition, wanted: bool) -> Any:
        match condition:
            case eql.AllConditions(parts) | eql.AnyConditions(parts):
                join = z3.And if isinstance(condition, eql.AllConditions) else z3.Or
                whole = join([self._is(part, True) for part in parts])
                return whole if wanted else z3.Not(whole)
            case eql.NegatedCondition(part):
                return self._is(part, not wanted)
            case eql.FieldConstant(value):
                return z3.BoolVal(value is wanted, self._context)
            case eql.FieldComparison("==" | "!=" as sign, one, other) if _NULL in (one, other):
                field = other if one == _NULL else one
                whole = (
                    z3.Not(self._present(field.name)) if isinstance(field, eql.EventField) else self._atom(condition)
                )
                return whole if (sign == "==" or not isinstance(field, eql.EventField)) is wanted else z3.Not(whole)
            case eql.FieldComparison("!=", one, other):
                return self._is(eql.FieldComparison("==", one, other), not wanted)
        atom = self._atom(condition)
        if wanted:
            return atom
        return z3.Not(atom) if is_plain(condition) else self._false[condition]

    def _present(self, name: str) -> Any:
        return self._there.setdefault(name, self._bool(f"there {name}"))

    def _atom(self, test: eql.Condition) -> Any:
        if test in self._true:
            return self._true[test]
        number = len(self._true)
        self._true[test], self._false[test] = self._bool(f"true{number}"), self._bool(f"false{number}")
        self._solver.add(z3.Not(z3.And(self._true[test], self._false[test])))
        names = {field.name for field in eql.fields_of(test)}
        meaning = _meaning(test, self._context)
        if len(names) == 1 and meaning is not None:
            (name,) = names
            self._fields.setdefault(name, {})[test] = meaning
            self._solver.add(z3.Implies(self._true[test], self._present(name)))
        return self._true[test]

    # --- values -------------------------------------------------------------------------------------------------------

    def _conflicts(self, model: Any) -> Iterable[Any]:
        """Yield clauses that exclude truth values of the model which no value of a field gives to its tests."""
        for tests in self._fields.values():
            truths = {test: z3.is_true(model.evaluate(self._true[test], model_completion=True)) for test in tests}
            chosen = [test for test in tests if truths[test]]
            for together in [[one] for one in chosen] if self._arrays else [chosen] * bool(chosen):
                core = self._core(tests, together, [test for test in tests if not truths[test]])
                if core:
                    yield z3.Not(z3.And([self._true[t] if truths[t] else z3.Not(self._true[t]) for t in core]))

    def _core(
        self, tests: Mapping[eql.Condition, Callable[[Any], Any]], true: list[eql.Condition], false: list[eql.Condition]
    ) -> list[eql.Condition]:
        """Return a few tests that no single value makes true and false like this; [] if one does, or it is unknown."""
        solver = z3.Solver(ctx=self._context)
        solver.set("timeout", PATIENCE)
        named = {self._bool(f"a{n}"): (test, test in true) for n, test in enumerate((*true, *false))}
        for name, (test, truth) in named.items():
            meaning = tests[test](self._value)
            solver.add(z3.Implies(name, meaning if truth else z3.Not(meaning)))
        if solver.check(list(named)) != z3.unsat:
            return []
        core = {str(name) for name in solver.unsat_core()}
        return [test for name, (test, _) in named.items() if str(name) in core]


_NULL = eql.FieldConstant(None)


def _without_marks(condition: eql.Condition) -> eql.Condition:
    """Return the condition without `?` before fields, which does not change its truth."""
    if isinstance(condition, eql.EventField):
        return eql.EventField(condition.name)
    found: eql.Condition = rebuilt(condition, [_without_marks(child) for child in children(condition)])
    return found


def _meaning(test: eql.Condition, context: Any) -> Callable[[Any], Any] | None:
    """Return the solver's formula for "the test is true"; None for tests that the solver does not model."""
    match test:
        case eql.EventField():
            return lambda v: z3.And(v[0] == TRUTH, v[3])
        case eql.FieldComparison(sign, eql.EventField(), eql.FieldConstant(value)):
            return _compared(sign, value, context)
        case eql.ValueLookup("in" | "in~" as operator, eql.EventField(), values):
            folded = operator == "in~"
            constants = [value for value in values if value is not None]
            texts = [_text(value, folded, False, context) for value in constants if isinstance(value, str)]
            others = [_compared("==", value, context) for value in constants if not isinstance(value, str)]
            if any(part is None for part in (*texts, *others)):
                return None
            return lambda v: z3.Or(_among(v, texts), *(other(v) for other in others if other is not None))
        case eql.ValueLookup(":" | "like" | "like~" as operator, eql.EventField(), values):
            wild = [_text(str(value), operator != "like", True, context) for value in values]
            return None if any(part is None for part in wild) else lambda v: _among(v, wild)
        case eql.FunctionCall(name, folded, (eql.EventField(), eql.FieldConstant(str() as text))):
            before, after = name in ("endsWith", "stringContains"), name in ("startsWith", "stringContains")
            if not (text and (before or after)) or (inner := _text(text, folded, False, context)) is None:
                return None
            whole = z3.Concat(*[_anything(context)] * before, inner, *[_anything(context)] * after)
            return lambda v: _among(v, [whole])
    return None


def _compared(sign: str, value: Any, context: Any) -> Callable[[Any], Any] | None:
    if isinstance(value, bool):
        return lambda v: z3.And(v[0] == TRUTH, v[3] == value) if sign == "==" else z3.BoolVal(False, context)
    if isinstance(value, str):
        if _text(value, False, False, context) is None:
            return None
        place, constant, kind = 1, z3.StringVal(_escaped(value), context), TEXT
    elif isinstance(value, int | float) and isfinite(value):
        exact = Fraction(value)
        place, constant, kind = 2, z3.RealVal(f"{exact.numerator}/{exact.denominator}", context), NUMBER
    else:
        return None
    signs: Mapping[str, Callable[[Any, Any], Any]] = {
        "==": lambda a, b: a == b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b, ">": lambda a, b: b < a,
        ">=": lambda a, b: b <= a,
    }  # fmt: skip
    return lambda v: z3.And(v[0] == kind, signs[sign](v[place], constant))


def _among(v: Any, texts: Sequence[Any]) -> Any:
    # `v[0] != TEXT` is never true here; without texts the Or would be empty, and belong to another context of z3.
    return z3.And(v[0] == TEXT, z3.Or([v[0] != TEXT, *(z3.InRe(v[1], text) for text in texts)]))


def _anything(context: Any) -> Any:
    return z3.Star(_any_one(context))


def _any_one(context: Any) -> Any:
    return z3.AllChar(z3.ReSort(z3.StringSort(context)), context)


def _text(text: str, folded: bool, wild: bool, context: Any) -> Any | None:
    """Return the regular expression of a text, with or without wildcards; None for characters beyond the solver's."""
    pieces: list[Any] = []
    for c in text:
        if wild and c in "*?":
            pieces.append(_anything(context) if c == "*" else _any_one(context))
            continue
        cases = same_folded(c) if folded else (c,)
        if any(ord(one) > LAST_CHARACTER for one in cases):
            return None
        pieces.append(reduce(z3.Union, [z3.Re(z3.StringVal(_escaped(one), context)) for one in cases]))
    if not pieces:
        return z3.Re(z3.StringVal("", context))
    return pieces[0] if len(pieces) == 1 else z3.Concat(*pieces)


def _escaped(text: str) -> str:
    """Return the text in the solver's syntax, with characters other than ASCII letters as numbers."""
    return "".join(c if c.isascii() and c.isalnum() else f"\\u{{{ord(c):x}}}" for c in text)
