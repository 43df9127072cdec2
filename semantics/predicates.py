"""Tuple predicates, that is conditions on one event: their syntax tree, and their truth value on an event.

A predicate is a decidable set of tuples (tods21, section 4, "CEA predicate"). Outside brackets the same tree is used
for correlation: there an attribute names the variable whose events it ranges over. columns.py evaluates a predicate on
whole columns, by the same rules; a property test compares the two.

The rules, which every evaluator has to keep:
- a comparison in which an attribute is absent, or of values of different kinds, is false; NaN is as in IEEE 754;
- integers and floats compare exactly; integer arithmetic is exact, arithmetic with a float follows binary64;
- `/` is true division; division by zero has no value, so that a comparison with it is false;
- Booleans compare by = and != only, strings are ordered by code point; `like` matches the whole string, in RE2's
syntax.
"""

from __future__ import annotations

import operator
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, TypeVar, assert_never

from cerify.semantics.arguments import format_names, nearest
from cerify.semantics.errors import Span
from cerify.semantics.events import TIME, Event, Schema
from cerify.semantics.patterns import matches
from cerify.semantics.values import KIND_OF, TimeUnit, Value, is_number, kind, show_time

Comparator = Literal["<", "<=", ">", ">=", "=", "!="]
Operator = Literal["+", "-", "*", "/"]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute of the events of a variable; inside brackets the variable is None."""

    name: str
    variable: str | None = None


class _Written:
    """A node that computes its hash once. Equal nodes have values of equal types, although True == 1 == 1.0."""

    __slots__ = ("_hash",)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and _key(self) == _key(other)

    def __hash__(self) -> int:
        return hash(_key(self))


@dataclass(frozen=True, slots=True, eq=False)
class Constant(_Written):
    """A value written in the query."""

    value: Value


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Arithmetic on two numbers."""

    operator: Operator
    left: Term
    right: Term


Term: TypeAlias = Attribute | Constant | Arithmetic


@dataclass(frozen=True, slots=True)
class Anything:
    """The predicate that every event satisfies; tuples(R) for the whole schema in tods21."""


@dataclass(frozen=True, slots=True)
class OfType(_Written):
    """The event has the type R; tuples(R) in tods21."""

    type: str


@dataclass(frozen=True, slots=True)
class Comparison(_Written):
    """Two terms compared."""

    comparator: Comparator
    left: Term
    right: Term


@dataclass(frozen=True, slots=True, eq=False)
class OneOf(_Written):
    """The term equals one of the values."""

    term: Term
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class InRange(_Written):
    """low <= term <= high."""

    term: Term
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class Like(_Written):
    """The term is a string that a regular expression matches as a whole."""

    term: Term
    pattern: str


@dataclass(frozen=True, slots=True)
class Not(_Written):
    """The complement of a predicate."""

    WORD: ClassVar[str] = "Complement"  # event expressions have a "Not" of their own

    predicate: Predicate


@dataclass(frozen=True, slots=True)
class Both(_Written):
    """The intersection of two predicates."""

    left: Predicate
    right: Predicate


@dataclass(frozen=True, slots=True)
class Either(_Written):
    """The union of two predicates."""

    left: Predicate
    right: Predicate


Atomic: TypeAlias = Anything | OfType | Comparison | OneOf | InRange | Like
"""The predicates that are not made of other predicates."""

Predicate: TypeAlias = Atomic | Not | Both | Either


def _hash_once(kind: Any) -> None:
    """Make the class compute the hash of each of its predicates only once."""
    computed = kind.__hash__

    def __hash__(self: Any) -> Any:
        try:
            return self._hash
        except AttributeError:
            object.__setattr__(self, "_hash", computed(self))
            return self._hash

    kind.__hash__ = __hash__


for _kind in (OfType, Comparison, OneOf, InRange, Like, Not, Both, Either):  # keys of tables again and again
    _hash_once(_kind)

COMPARE: Mapping[Comparator, Callable[[Value, Value], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip
ARITHMETIC: Mapping[Operator, Callable[[int | float, int | float], int | float]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


def holds(predicate: Predicate, event: Event) -> bool:
    """Return whether the event satisfies the predicate."""
    return satisfied(predicate, lambda attribute: event.get(attribute.name), event.type)


def classify_event(predicates: Sequence[Predicate], event: Event) -> frozenset[int]:
    """Return the type of an event: the numbers of the predicates that it satisfies (tods21, Definition 5.6)."""
    return frozenset(i for i, P in enumerate(predicates) if holds(P, event))


def satisfied(predicate: Predicate, value_of: Callable[[Attribute], Value | None], type_: str = "") -> bool:
    """Return whether the predicate is true if its attributes have the values that `value_of` returns."""
    match predicate:
        case Anything():
            return True
        case OfType(name):
            return type_ == name
        case Comparison(comparator, left, right):
            return compare(comparator, evaluate(left, value_of), evaluate(right, value_of))
        case OneOf(term, values):
            value = evaluate(term, value_of)
            return any(compare("=", value, v) for v in values)
        case InRange(term, low, high):
            value = evaluate(term, value_of)
            return compare("<=", low, value) and compare("<=", value, high)
        case Like(term, pattern):
            return matches(pattern, evaluate(term, value_of))
        case Not(inner):
            return not satisfied(inner, value_of, type_)
        case Both(left_, right_):
            return satisfied(left_, value_of, type_) and satisfied(right_, value_of, type_)
        case Either(left_, right_):
            return satisfied(left_, value_of, type_) or satisfied(right_, value_of, type_)
        case _:
            assert_never(predicate)


def evaluate(term: Term, value_of: Callable[[Attribute], Value | None]) -> Value | None:
    """Return the value of a term; None if the term has no value."""
    match term:
        case Attribute():
            return value_of(term)
        case Constant(value):
            return value
        case Arithmetic(symbol, left, right):
            a, b = evaluate(left, value_of), evaluate(right, value_of)
            if not (is_number(a) and is_number(b)):
                return None
            try:
                return ARITHMETIC[symbol](a, b)  # type: ignore[arg-type]
            except (ZeroDivisionError, OverflowError):
                return None
        case _:
            assert_never(term)


def compare(comparator: Comparator, left: Value | None, right: Value | None) -> bool:
    """Return whether a comparison holds; false if a value is absent or the values are of different kinds."""
    if left is None or right is None or (type(left) is not type(right) and kind(left) != kind(right)):
        return False
    if isinstance(left, bool) and comparator not in ("=", "!="):
        return False
    return COMPARE[comparator](left, right)


def has_value(term: Term) -> Predicate:
    """Return a predicate that is true if the term has a value: `term = term or term != term`."""
    return Either(Comparison("=", term, term), Comparison("!=", term, term))


def nodes(root: Predicate | Term) -> Iterator[Predicate | Term]:
    """Yield all predicates and terms in a predicate or a term, each before its operands, left to right."""
    pending = [root]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Comparison(_, left, right) | Arithmetic(_, left, right):
                pending += [right, left]
            case Both() | Either():
                pending += [node.right, node.left]
            case OneOf(inner, _) | InRange(inner, _, _) | Like(inner, _) | Not(inner):
                pending.append(inner)
            case Anything() | OfType() | Attribute() | Constant():
                pass
            case _:
                assert_never(node)


def atoms(predicate: Predicate) -> Iterator[Atomic]:
    """Yield the atomic predicates in a predicate, left to right, with repetitions."""
    for node in nodes(predicate):
        if isinstance(node, Atomic):
            yield node


def mentions(root: Predicate | Term) -> Iterator[Attribute]:
    """Yield the attributes of a predicate or a term, left to right, with repetitions."""
    for node in nodes(root):
        if isinstance(node, Attribute):
            yield node


def combined(
    predicate: Predicate,
    of_atom: Callable[[Atomic], T],
    negation: Callable[[T], T],
    conjunction: Callable[[T, T], T],
    disjunction: Callable[[T, T], T],
) -> T:
    """Return the value of a predicate, computed from the values that `of_atom` returns for its atomic predicates."""

    # no cycle of references, which would keep what of_atom holds, such as a table of events
    def combine(P: Predicate) -> T:
        return combined(P, of_atom, negation, conjunction, disjunction)

    match predicate:
        case Not(inner):
            return negation(combine(inner))
        case Both(left, right):
            return conjunction(combine(left), combine(right))
        case Either(left, right):
            return disjunction(combine(left), combine(right))
        case Anything() | OfType() | Comparison() | OneOf() | InRange() | Like():
            return of_atom(predicate)
        case _:
            assert_never(predicate)


def outcomes(predicate: Predicate, of_atom: Callable[[Atomic], tuple[bool, bool]]) -> tuple[bool, bool]:
    """Return (can be true, can be false) for a predicate whose atomic predicates vary independently.

    of_atom: returns the same two facts for an atomic predicate.
    """
    return combined(
        predicate,
        of_atom,
        lambda a: (a[1], a[0]),
        lambda a, b: (a[0] and b[0], a[1] or b[1]),
        lambda a, b: (a[0] or b[0], a[1] and b[1]),
    )


def about(predicate: Predicate, variable: str | None) -> Predicate:
    """Return the predicate with this variable in all its attributes. None stands for a single event, as inside
    brackets.
    """
    return mapped_predicate(predicate, lambda attribute: Attribute(attribute.name, variable))


def mapped_predicate(
    P: Predicate,
    attribute: Callable[[Attribute], Attribute] = lambda a: a,
    value: Callable[[Value], Value] = lambda v: v,
    pattern: Callable[[str], str] = lambda p: p,
) -> Predicate:
    """Return the predicate with these functions applied to its attributes, constants and patterns."""

    def term(t: Term) -> Term:
        match t:
            case Attribute():
                return attribute(t)
            case Constant(v):
                return Constant(value(v))
            case Arithmetic(symbol, left, right):
                return Arithmetic(symbol, term(left), term(right))
            case _:
                assert_never(t)

    def predicate(Q: Predicate) -> Predicate:
        match Q:
            case Comparison(comparator, left, right):
                return Comparison(comparator, term(left), term(right))
            case OneOf(t, values):
                return OneOf(term(t), tuple(map(value, values)))
            case InRange(t, low, high):
                return InRange(term(t), value(low), value(high))
            case Like(t, text):
                return Like(term(t), pattern(text))
            case Not(inner):
                return Not(predicate(inner))
            case Both(left_, right_) | Either(left_, right_):
                return type(Q)(predicate(left_), predicate(right_))
            case Anything() | OfType():
                return Q
            case _:
                assert_never(Q)

    return predicate(P)


def _key(written: object) -> object:
    """Return what makes two nodes equal: their fields, with the types of the values in them."""
    found = [getattr(written, name) for name in type(written).__match_args__]  # type: ignore[attr-defined]
    return tuple((v, tuple(map(type, v)) if isinstance(v, tuple) else type(v)) for v in found)


# ---------------------------------------------------------------------------------------------------------------------
# The text of tuple predicates, terms and values; it parses back to what it was made from.

PLAIN_NAME = re.compile(r"[^\W\d]\w*")
RESERVED_TERMS = frozenset({"true", "false", "not"})
"""Words that cannot be an attribute without quotes."""

RESERVED_VARIABLES = frozenset({"true", "false"})
"""Words that cannot be a variable at the beginning of a term."""


class WrittenTerm(Attribute):
    """A term that is given by its text, and printed as this text."""

    __slots__ = ()


def is_plain_name(name: str, reserved: Set[str] = RESERVED_TERMS) -> bool:
    """Return whether a name can be written without quotes; reserved: the keywords of the language at this place."""
    return PLAIN_NAME.fullmatch(name) is not None and name not in reserved


def show_name(name: str, reserved: Set[str] = frozenset()) -> str:
    """Return the text of a name, in double quotes if needed; reserved: the keywords of the language at this place."""
    return name if is_plain_name(name, reserved) else '"' + name.replace('"', '""') + '"'


def show_predicate(predicate: Predicate) -> str:
    """Return the text of a predicate, which parses back to it; only Anything and OfType have no syntax."""
    return _show(predicate, 0)


def _show(predicate: Predicate, level: int) -> str:
    """Return the text, in parentheses if it binds less tightly than the level: 0 or, 1 and, 2 not."""
    match predicate:
        case Anything():
            return "TRUE"
        case OfType(name):
            return f"type = {name}"
        case Comparison(comparator, left, right):
            return f"{show_term(left)} {comparator} {show_term(right)}"
        case OneOf(term, values):
            return f"{show_term(term)} in {{{', '.join(map(show_value, values))}}}"
        case InRange(term, low, high):
            return f"{show_term(term)} in range({show_value(low)}, {show_value(high)})"
        case Like(term, pattern):
            return f"{show_term(term)} like {show_value(pattern)}"
        case Not(Either(Comparison("=", term))) if predicate.predicate == has_value(term):
            return f"{show_term(term)} is null"
        case Either(Comparison("=", term)) if predicate == has_value(term):
            return f"{show_term(term)} is not null"
        case Not(inner):
            return f"not {_show(inner, 2)}"
        case Both(left_, right_):
            return parenthesized(f"{_show(left_, 1)} and {_show(right_, 2)}", level > 1)
        case Either(left_, right_):
            return parenthesized(f"{_show(left_, 0)} or {_show(right_, 1)}", level > 0)
        case _:
            assert_never(predicate)


def show_term(term: Term, level: int = 0) -> str:
    """Return the text of a term, in parentheses if it binds less tightly than the level: 0 sum, 1 product, 2 factor."""
    match term:
        case WrittenTerm(name):
            return name
        case Attribute(name, variable):
            if variable is None:
                return show_name(name, RESERVED_TERMS)
            return f"{show_name(variable, RESERVED_VARIABLES)}.{show_name(name)}"
        case Constant(value):
            return show_value(value)
        case Arithmetic(("+" | "-") as symbol, left, right):
            return parenthesized(f"{show_term(left, 0)} {symbol} {show_term(right, 1)}", level > 0)
        case Arithmetic(symbol, left, right):
            return parenthesized(f"{show_term(left, 1)} {symbol} {show_term(right, 2)}", level > 1)
        case _:
            assert_never(term)


def show_value(value: Value) -> str:
    """Return the text of a constant."""
    match value:
        case bool():
            return "true" if value else "false"
        case int() | float():
            return repr(value)
        case str():
            return "'" + value.replace("'", "''") + "'"
        case datetime():
            return f"timestamp '{show_time(value)}'"


def parenthesized(text: str, needed: bool) -> str:
    """Return a text, in parentheses if they are needed."""
    return f"({text})" if needed else text


# ---------------------------------------------------------------------------------------------------------------------
# Type errors of one tuple predicate under a schema: comparisons and arithmetic that no event could make true.

Rule = Literal[
    "unbound", "unused", "unsafe", "never", "event_type", "attribute", "kind", "arithmetic", "order", "like",
    "twice", "reference", "good_formula", "strategy", "partition", "negation", "window", "result", "stream",
    "navigation", "subset", "output", "repeated", "row_window", "across_keys",
]  # fmt: skip
"""What is wrong.

unbound     no event can be bound to the variable where it is used; in core-CEL, perhaps none is bound
unused      a variable is bound and never used
unsafe      in core-CEL: a variable that holds one event is defined on both sides of a sequence
never       there is no match, or no event that passes a filter, on any stream
event_type  the schema has no such event type
attribute   an event type that the variable can hold lacks the attribute
kind        values of different kinds are compared
arithmetic  a term has to be a number, and is not
order       Booleans have no order
like        a term has to be a string, and is not
across_keys  in CEL: an operator under PARTITION BY looks at the events of all keys

In SASE+ alone:
twice         a name is given two times
reference     the events of a variable are named in a way that does not fit the variable or the clause
good_formula  a condition of WHERE is not a clause, or its last identifier is not in all its predicates (sase07, A.1)
strategy      some variable is in no strategy, or in several
partition     there is nothing to partition by
negation      all components are negated, or one at the end is negated and there is no window
window        a window without length
result        a query that another one reads returns a value that cannot be an attribute of an event
stream        a stream that no query makes, or that depends on itself

In MATCH_RECOGNIZE alone:
navigation  PREV, NEXT, FIRST, LAST or an aggregate is in a function that cannot contain it, or uses two variables
subset      a union variable is not a union of variables of the pattern
output      {- -} leaves rows out of the output, but WITH UNMATCHED ROWS returns all rows
repeated    a part of a pattern that matches no row is quantified, and the reading refuses this
row_window  WINDOW with an anchor or MATCH_NUMBER
"""


MENDS: Mapping[Rule, str] = {
    "unbound": "bind the variable, or name one that is bound",
    "unused": "leave the variable out, or use it in a filter or in PROJECT",
    "unsafe": "give the variable another name on one of the two sides",
    "never": "relax a condition, or leave this part out",
    "event_type": "name a type of the schema, or add this type to the schema",
    "attribute": "name an attribute that the type has, or add this one to the schema",
    "kind": "compare with a value of the same kind",
    "arithmetic": "use an attribute that is a number",
    "order": "use = or !=",
    "like": "use = or another comparison",
    "twice": "give one of them another name",
    "reference": "write a for one event; for an array a[1], a[i], a[i-1], a[a.LEN], or an aggregate of a[]",
    "good_formula": "split the condition, or move it to HAVING, which takes any formula",
    "strategy": "name each variable of the pattern in one strategy",
    "partition": "add an equivalence test, such as [id], or underline a predicate: _( a[i].x = a[i-1].x )_",
    "negation": "add a component without ~, or WITHIN",
    "window": "give the window a length",
    "result": "return single values, such as a[1].x or an aggregate",
    "stream": "name it with IN STREAM in another query, or leave FROM out to read the input",
    "navigation": "put FIRST or LAST inside PREV or NEXT, and use columns of one variable inside FIRST or LAST",
    "subset": "list variables of the pattern, and give the union a name of its own",
    "output": "leave {- -} out, or WITH UNMATCHED ROWS",
    "repeated": "quantify a part that matches at least one row",
    "row_window": "leave it out, or use MATCH_RECOGNIZE",
    "across_keys": "write PER KEY to look at the events of each key alone; keep it if all keys are meant",
}


@dataclass(frozen=True, slots=True)
class Problem:
    """A rule that a query breaks: a sentence about it, and its place in the query if known.

    meant: the name that was probably meant. partial: whether another event type that the variable can hold has the
    attribute. advice: what to do about it; None for the general advice on the rule.
    """

    rule: Rule
    message: str
    span: Span | None
    meant: str | None = None  # the name that was probably meant
    partial: bool = False  # an event type that the variable can hold has the attribute that others lack
    advice: str | None = None  # what to do about it, if MENDS does not say so for the rule

    @property
    def hinted(self) -> str:
        """Return the message, with the name that was probably meant, or with advice on an operand of another kind."""
        if self.meant is not None:
            return f"{self.message}; did you mean {format_names([self.meant])}?"
        return f"{self.message}; {self.advice}" if self.rule == "kind" and self.advice else self.message

    @property
    def mend(self) -> str:
        """Return what to do about the problem."""
        mend = self.advice or MENDS[self.rule]
        return mend if self.meant is None else f"did you mean {format_names([self.meant])}? Or {mend}"


def find_nearest_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to this one; None if no name is similar.

    A difference in case alone counts least. In names with dots, the parts after a common beginning must be similar too.
    """
    by_folded = {one.casefold(): one for one in known}
    near = nearest(name.casefold(), [one for one in by_folded if _differs_little(name.casefold(), one)])
    if near is None:  # "check" for "check ticket": a query without quotes has the first word
        near = next((one for one in by_folded if re.match(rf"{re.escape(name.casefold())}\W", one)), None)
    return None if near is None else by_folded[near]


def _differs_little(name: str, other: str) -> bool:
    parts, others = name.split("."), other.split(".")
    while parts and others and parts[0] == others[0]:
        parts, others = parts[1:], others[1:]
    return len(parts) == name.count(".") + 1 or nearest(".".join(parts), [".".join(others)]) is not None


def meant_name(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to this one, as a query writes it; None if none is similar."""
    found = find_nearest_name(name, known)
    return None if found is None else show_name(found)


def unknown_type(
    name: str, schema: Schema | None, span: Span | None, operators: Iterable[str] = (), OR: str | None = None
) -> Iterator[Problem]:
    """Yield a problem if the schema does not have the event type.

    operators: words that may be meant instead of a type. OR: the word between alternatives, in a language that has no
    word for an event of any type.
    """
    if schema is not None and name not in schema.types:
        whose = "the schema has" if schema.timed else "the events have"
        message = f"unknown event type {name}; {whose} {format_names(schema.types)}"
        found = find_nearest_name(name, (*schema.types, *operators))
        if OR is not None and name.casefold() in ("_", "any", "anything", "event"):
            shown = [*map(show_name, list(schema.types)[:8]), *["…"] * (len(schema.types) > 8)]
            message += f"; for an event of any type write ({f' {OR} '.join(shown)})"
            found = None
        yield Problem(
            "event_type", message, span, show_name(found) if found is not None and found in schema.types else found
        )


TIME_NAMES = ("time", "timestamp", "@timestamp", "ts", "datetime", "date", "when", "at", "eventtime", "created")
"""Names that fields with the time have, in lower case, the most likely first."""
UNIT_WORDS: Mapping[str, TimeUnit] = {
    **dict.fromkeys(("s", "sec", "seconds"), "s"),
    **dict.fromkeys(("ms", "millis", "milliseconds"), "ms"),
    "us": "us",
    "ns": "ns",
}
"""The units that names of such fields end with, as in "time ms" and "timestamp (ms)"."""
_UNIT = re.compile(rf"[\s_]*[(\[]?(?<![^\W_])({'|'.join(UNIT_WORDS)})[)\]]?$", re.IGNORECASE)
TIMELESS = "WITHIN measures time, but the events have no times, so nothing is within the window"


def unit_in(name: str) -> TimeUnit | None:
    """Return the unit of time with which the name of a field ends."""
    found = _UNIT.search(name)
    return found and UNIT_WORDS[found[1].casefold()]


def name_without_unit(name: str) -> str:
    """Return the name of a field in lower case, without spaces, underscores and a unit of time at its end."""
    return re.sub(r"[\s_]", "", _UNIT.sub("", name)).casefold()


def timeless(types: Iterable[Mapping[str, str | None]], span: Span | None) -> Iterator[Problem]:
    """Yield a problem if no event type has a time, for a query with a window on the time.

    types: the attributes of each event type, with their value types. The advice names an attribute that looks like a
    time.
    """
    known = {name: type_ for attributes in types for name, type_ in attributes.items()}
    if TIME in known:
        return
    likely = [name for name, type_ in known.items() if type_ == "timestamp"]
    likely += [name for name in known if name_without_unit(name) in TIME_NAMES]
    advice = f"add an attribute {TIME}: whole seconds, or ISO 8601 as in 2026-01-31T12:00:00"
    if likely:
        option, argument = f"--time {shlex.quote(likely[0])}", f"time_column={likely[0]!r}"
        if unit := unit_in(likely[0]):
            option, argument = f"{option} --time-unit {unit}", f"{argument}, time_unit={unit!r}"
        advice = f"read it from {likely[0]!r}: {option}, in Python {argument}"
    yield Problem("attribute", f"{TIMELESS}; {advice}", span)


def unmeasured(known: str | None, span: Span | None) -> Iterator[Problem]:
    """Yield a problem if times are texts or Booleans, for a query with a window on the time.

    known: the kind or the value type of times; None if it is not known.
    """
    if known in ("string", "bool"):
        hint = f"; as_stream(events, time_column='{TIME}') reads times of text" if known == "string" else ""
        message = f"WITHIN needs times that are numbers or timestamps, but {TIME} is a {known}{hint}"
        yield Problem("arithmetic", message, span)


def lacking(
    holder: str, attribute: str, held: frozenset[str], schema: Schema | None, span: Span | None
) -> Iterator[Problem]:
    """Yield a problem if an event type in `held` lacks the attribute.

    holder: what the message calls the part of the query that binds these events, such as a variable.
    """
    if schema is None:
        return
    known = sorted(held & schema.types.keys())
    if not (found := [R for R in known if not schema.has(R, attribute)]):
        return
    R, *more = found
    names = {name: None for S in found for name in schema.types[S]}
    which = "" if holder == R and not more else f", which {holder} may hold,"
    verb, it = ("have", "they have") if more else ("has", "it has")
    message = f"{', '.join(found)}{which} {verb} no attribute {attribute!r}; {it} {format_names(names)}"
    meant = meant_name(attribute, names)
    if meant is None and not PLAIN_NAME.fullmatch(attribute):  # it was written in double quotes
        string = attribute.replace("'", "''")
        message += f"; a string is written in single quotes: '{string}'"
    yield Problem("attribute", message, span, meant, len(found) < len(known))


def never_true(
    holder: str,
    predicate: Predicate,
    held: frozenset[str],
    schema: Schema | None,
    span: Span | None,
    always: frozenset[str] = frozenset(),
) -> Iterator[Problem]:
    """Yield a problem if a condition on the events of a variable is never true, because no type has all its attributes.

    held: the types that these events may have. always: if the variable holds any event, it holds one of each of these
    types; a condition that is never true for one of them is a problem. `lacking` reports an attribute that no type has.
    """
    if schema is None:
        return
    known = sorted(held & schema.types.keys())
    each = all(any(schema.has(R, a.name) for R in known) for a in mentions(predicate))
    never = [R for R in known if not outcomes(predicate, partial(_possible, R=R, schema=schema))[0]]
    for R in sorted(always.intersection(never))[:1] if each else ():
        have = format_names([a for a in schema.types[R] if a != TIME])
        every = f"and a condition on {holder} must be true for every event of {holder}"  # tods21, Definition 4.1
        message = f"{holder} always holds an event of {R}, but this is never true for {R}, {every}; {R} has {have}"
        yield Problem("attribute", message, span)
        return
    if never and each and never == known:
        have = "; ".join(f"{R} has {format_names([a for a in schema.types[R] if a != TIME])}" for R in known)
        yield Problem("attribute", f"this is never true for the types that {holder} may hold: {have}", span)


def _possible(atom: Atomic, R: str, schema: Schema) -> tuple[bool, bool]:
    """Return whether the predicate can be true, and whether it can be false, of an event of the type.

    A comparison is false of an event that lacks one of its attributes; any other may be true or false.
    """
    match atom:
        case Anything():
            return True, False
        case OfType(name):
            return name == R, name != R
        case Comparison() | OneOf() | InRange() | Like():
            return all(schema.has(R, a.name) for a in mentions(atom)), True
        case _:
            assert_never(atom)


def kind_problems(predicate: Predicate, schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """Yield a problem for each value of the wrong kind in a predicate; none without a schema.

    An attribute has one type throughout a schema, so it does not matter which events the predicate is about.
    """
    if schema is None:
        return
    for atom in atoms(predicate):
        match atom:
            case Comparison(comparator, left, right):
                yield from _compared(left, right, comparator, schema, span)
            case OneOf(term, values):
                yield from _compared_with(term, values, "=", schema, span)
            case InRange(term, low, high):
                yield from _compared_with(term, (low, high), "in range", schema, span)
            case Like(term, _):
                yield from _operands(term, schema, span)
                if (known := _kind_of_predicate(term, schema)) not in (None, "string"):
                    yield Problem("like", f"{show_term(term)} is a {known}; only a string can be like a pattern", span)
            case Anything() | OfType():
                pass
            case _:
                assert_never(atom)


def time_problems(schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """Yield a problem if times are texts or Booleans in the schema, for a query with a window on the time."""
    if schema is not None:
        yield from unmeasured(_kind_of_predicate(Attribute(TIME), schema), span)


def number_problems(term: Term, schema: Schema | None, span: Span | None) -> Iterator[Problem]:
    """Yield a problem if a term must be a number, but has another kind under the schema."""
    if schema is not None and (known := _kind_of_predicate(term, schema)) not in (None, "number"):
        yield Problem("arithmetic", f"{show_term(term)} is a {known}, but a number is needed", span)


def _compared_with(
    term: Term, values: tuple[Value, ...], comparator: str, schema: Schema, span: Span | None
) -> Iterator[Problem]:
    """Yield the problems of the first value that does not fit; further values would only repeat them."""
    for value in values:
        if found := list(_compared(term, Constant(value), comparator, schema, span)):
            yield from found
            return


def _compared(left: Term, right: Term, comparator: str, schema: Schema, span: Span | None) -> Iterator[Problem]:
    for term in (left, right):
        yield from _operands(term, schema, span)
    one, other = _kind_of_predicate(left, schema), _kind_of_predicate(right, schema)
    if one is not None and other is not None and one != other:
        message = f"{show_term(left)} is a {one} and {show_term(right)} a {other}, so they cannot be compared"
        names = (term.value for term in (left, right) if isinstance(term, Constant) and isinstance(term.value, str))
        if (name := next((name for name in names if " " in name and name in schema.attributes), None)) is not None:
            message += f"; write the name of an attribute in double quotes: {show_name(name)}"
        yield Problem("kind", message, span)
    elif "bool" in (one, other) and comparator not in ("=", "!="):
        term = left if one == "bool" else right
        yield Problem("order", f"{show_term(term)} is a bool, which supports = and != but not {comparator}", span)


def _operands(term: Term, schema: Schema, span: Span | None) -> Iterator[Problem]:
    """Yield the problems of the operands of a term's arithmetic."""
    if isinstance(term, Arithmetic):
        for operand in (term.left, term.right):
            yield from _operands(operand, schema, span)
            yield from number_problems(operand, schema, span)


def _kind_of_predicate(term: Term, schema: Schema) -> str | None:
    """Return the kind of the term's value; None if the schema does not say."""
    match term:
        case Attribute(name):
            known = name in schema.attributes and name not in schema.mixed
            return KIND_OF[schema.attributes[name]] if known else None
        case Constant(value):
            return kind(value)
        case Arithmetic():
            return "number"
        case _:
            assert_never(term)
