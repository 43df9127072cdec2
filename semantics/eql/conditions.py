"""Test an event against a filter of EQL, and compute the event's keys and time.

Each condition is compiled once to a function of an event (`filter_test`), because it is tested on many events. The
result is True, False, or None for "no truth value", as for a function of null. Elastic runs a test of a plain field as
an index query, which a document either meets or does not meet; `and` and `or` of tests are index queries too. So None
matters only directly below a `not`. In Endgame's engine it matters everywhere, as in SQL (see `EqlReading.absent`).

A field may have several values: an array of n scalars is n attributes. The first has the name of the field, the others
are `field[1]`, `field[2]`, and so on. A test of such a field is true if it is true of at least one value.
"""

from __future__ import annotations

import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias, assert_never

from cerify.semantics.eql import syntax as eql
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import TIME, Event
from cerify.semantics.patterns import matches
from cerify.semantics.readings import ELASTIC, EqlReading
from cerify.semantics.schemas import NO_CATEGORY
from cerify.semantics.values import Microseconds, Value, exact_microseconds, is_number, kind, show_time

# ---------------------------------------------------------------------------------------------------------------------
# The functions and the arithmetic of EQL, as documented.
#
# Each function takes the list of its arguments' values, and whether to ignore case. A function of null is null, unless
# the documentation says otherwise. A value of a wrong kind gives null too, although Elastic refuses such a query: in an
# index a field has one kind.

Function: TypeAlias = Callable[[list[Any], bool], Any]
LONGEST_TEXT = 1_000_000
BEYOND_CASED = 0x1F000
"""A code point above all letters that have a lower case."""


@lru_cache(maxsize=100_000)
def fold(text: str) -> str:
    """Return the text in lower case, character by character, so that its length stays the same."""
    if text.isascii():
        return text.lower()
    return "".join(low if len(low := c.lower()) == 1 else c for c in text)


def same_folded(c: str) -> tuple[str, ...]:
    """Return the characters that `fold` maps to the same character as c, sorted. There may be three:

    >>> same_folded("k")
    ('K', 'k', '\u212a')
    """
    return _folded_to().get(fold(c), (c,))


@lru_cache(maxsize=1)
def _folded_to() -> Mapping[str, tuple[str, ...]]:
    """Return a map from each folded character to all characters that fold to it, itself included."""
    found: dict[str, list[str]] = {}
    for c in map(chr, range(BEYOND_CASED)):
        if len(low := c.lower()) == 1 and low != c:
            found.setdefault(low, []).append(c)
    return {low: tuple(sorted((low, *others))) for low, others in found.items()}


def _fold(text: str, folded: bool) -> str:
    return fold(text) if folded else text


def _arithmetic(compute: Callable[[Any, Any], Any]) -> Function:
    def function(values: list[Any], _: bool) -> Any:
        a, b = values
        if not (is_number(a) and is_number(b)):
            return None
        try:
            result = compute(a, b)
        except (ZeroDivisionError, OverflowError, ValueError):
            return None
        return None if isinstance(result, float) and math.isnan(result) else result

    return function


def _divided(a: Any, b: Any) -> Any:
    """Return the quotient; for two integers, truncated."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    """Return the remainder, with the sign of the dividend."""
    if isinstance(a, int) and isinstance(b, int):
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return math.fmod(a, b)


ARITHMETIC: Mapping[str, Function] = {
    "+": _arithmetic(lambda a, b: a + b),
    "-": _arithmetic(lambda a, b: a - b),
    "*": _arithmetic(lambda a, b: a * b),
    "/": _arithmetic(_divided),
    "%": _arithmetic(_remainder),
}


def _texts(compute: Callable[[str, str], bool]) -> Function:
    def function(values: list[Any], folded: bool) -> bool | None:
        a, b = values
        return compute(_fold(a, folded), _fold(b, folded)) if isinstance(a, str) and isinstance(b, str) else None

    return function


def _between(values: list[Any], folded: bool) -> str | None:
    source, left, right, greedy = (*values, False)[:4]
    if not (isinstance(source, str) and isinstance(left, str) and isinstance(right, str)):
        return None
    text, left, right = _fold(source, folded), _fold(left, folded), _fold(right, folded)
    begin = text.find(left)
    if begin < 0:
        return ""
    # Places are found in the folded text and cut from the source; `fold` keeps the length, so they agree.
    begin += len(left)
    end = text.rfind(right, begin) if greedy is True else text.find(right, begin)
    return "" if end < 0 else source[begin:end]


@lru_cache(maxsize=4096)
def network_of(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    """Return the address block that a text writes; None if the text is not an address block."""
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None


@lru_cache(maxsize=65_536)
def address_of(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a text writes; None if the text is not an address."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _in_block(values: list[Any], _: bool) -> bool | None:
    source, *blocks = values
    if any(value is None for value in values):
        return None
    address = address_of(source) if isinstance(source, str) else None
    if address is None:
        return False
    networks = [network_of(block) for block in blocks if isinstance(block, str)]
    return any(n is not None and n.version == address.version and address in n for n in networks)


def text_of_value(value: Any) -> str:
    """Return the text of a value, as EQL's function `string` returns it."""
    if isinstance(value, bool):
        return str(value).lower()
    return show_time(value) if isinstance(value, datetime) else str(value)


def _concat(values: list[Any], _: bool) -> str | None:
    if any(value is None for value in values):
        return None
    text = "".join(map(text_of_value, values))
    return text if len(text) <= LONGEST_TEXT else None


def _index_of(values: list[Any], folded: bool) -> int | None:
    source, part, start = (*values, 0)[:3]
    if not (isinstance(source, str) and isinstance(part, str) and isinstance(start, int)) or start > len(source):
        return None
    found = _fold(source, folded).find(_fold(part, folded), max(start, 0))
    return None if found < 0 else found


def _number(values: list[Any], _: bool) -> int | float | None:
    text, base = (*values, None)[:2]
    if is_number(text):
        return text  # type: ignore[no-any-return]
    if not isinstance(text, str) or not (base is None or (isinstance(base, int) and 2 <= base <= 36)):
        return None
    text = text.strip()
    # Python's `int` takes underscores between digits, which no other program does.
    if len(text) > 300 or "_" in text:
        return None
    bare = text.lstrip("+-").lower()
    try:
        if bare.startswith("0x") and base in (None, 16):
            return int(text, 16)
        if base is not None and base != 10:
            return int(text, base)
        if re.fullmatch(r"[+-]?[0-9]+", text):
            return int(text)
        value = float(text) if re.fullmatch(r"[+-]?[0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?", text) else math.nan
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _substring(values: list[Any], _: bool) -> str | None:
    source, start, end = (*values, None)[:3]
    if not isinstance(source, str) or type(start) is not int or (len(values) == 3 and type(end) is not int):
        return None
    return source[start:end]


BY_NAME: Mapping[str, Function] = {
    "add": ARITHMETIC["+"],
    "between": _between,
    "cidrMatch": _in_block,
    "concat": _concat,
    "divide": ARITHMETIC["/"],
    "endsWith": _texts(str.endswith),
    "indexOf": _index_of,
    "length": lambda values, _: len(values[0]) if isinstance(values[0], str) else None,
    "modulo": ARITHMETIC["%"],
    "multiply": ARITHMETIC["*"],
    "number": _number,
    "startsWith": _texts(str.startswith),
    "string": lambda values, _: None if values[0] is None else text_of_value(values[0]),
    "stringContains": _texts(lambda a, b: b != "" and b in a),
    "substring": _substring,
    "subtract": ARITHMETIC["-"],
}


# ---------------------------------------------------------------------------------------------------------------------
# Tests of a filter, keys and times.

CATEGORY = "event.category"
TIMESTAMP = "@timestamp"
Truth: TypeAlias = bool | None
Term: TypeAlias = Callable[[dict[str, Any]], Any]
FieldValues: TypeAlias = Callable[[Event, str], list[Value]]
"""Return the values of an event's field: `values_of` in EQL, `own_values_of` in Sigma."""
Key: TypeAlias = tuple[tuple[str, Value] | None, ...]
"""The values of an event's key, each with its kind, because True and 1 differ here. None is a null that may be a
key.
"""
MOST_COMBINATIONS = 10_000


def values_of(event: Event, name: str) -> list[Value]:
    """Return the values that a field of EQL has in an event, from the event's attributes (see `own_values_of`).

    For an event without such attributes, `event.category` is its type, unless that is NO_CATEGORY, and `@timestamp` is
    its time.
    """
    found = own_values_of(event, name)
    if found or name not in (CATEGORY, TIMESTAMP):
        return found
    substitute = event.type if name == CATEGORY else event.attributes.get(TIME)
    return [] if substitute in (None, NO_CATEGORY) else [substitute]


def own_values_of(event: Event, name: str) -> list[Value]:
    """Return the values that an event's attributes have for a field: none if it is absent, several for an array.

    >>> own_values_of(Event("process", {"process.args": "a", "process.args[1]": "b"}), "process.args")
    ['a', 'b']
    """
    first = event.attributes.get(name)
    if first is None:
        return []
    found, n = [first], 1
    while (more := event.attributes.get(f"{name}[{n}]")) is not None:
        found.append(more)
        n += 1
    return found


def has_category(event: Event, category: str | None) -> bool:
    """Return whether an event has this category among its categories; None stands for any category."""
    return category is None or event.type == category or category in values_of(event, CATEGORY)


@lru_cache(maxsize=4096)
def filter_test(filter_: eql.EventFilter, reading: EqlReading = ELASTIC) -> Callable[[Event], bool]:
    """Return a function that tells whether an event passes the filter.

    >>> from cerify.semantics.eql.parse import parse
    >>> filter_test(parse('process where name : "CMD*"').body)(Event("process", {"name": "cmd.exe"}))
    True
    """
    truth, category = condition_test(filter_.condition, reading), filter_.category
    return lambda event: has_category(event, category) and truth(event) is True


@lru_cache(maxsize=65_536)
def condition_test(
    condition: eql.Condition, reading: EqlReading = ELASTIC, values: FieldValues = values_of
) -> Callable[[Event], Truth]:
    """Return a function from an event to the truth value of the condition.

    values: a function that returns the values of a field in an event.
    """
    match condition:
        case eql.AllConditions(parts):
            tests = [condition_test(part, reading, values) for part in parts]
            return _all_unknown(tests) if reading.absent == "unknown" else lambda e: all(t(e) is True for t in tests)
        case eql.AnyConditions(parts):
            tests = [condition_test(part, reading, values) for part in parts]
            return _any_unknown(tests) if reading.absent == "unknown" else lambda e: any(t(e) is True for t in tests)
        case eql.NegatedCondition(part):
            test = condition_test(part, reading, values)
            return lambda event: None if (truth := test(event)) is None else not truth
        case eql.SingleCondition():
            return _test(condition, reading, values)
        case _:
            assert_never(condition)


def _all_unknown(tests: list[Callable[[Event], Truth]]) -> Callable[[Event], Truth]:
    def every(event: Event) -> Truth:
        truths = [test(event) for test in tests]
        return False if False in truths else None if None in truths else True

    return every


def _any_unknown(tests: list[Callable[[Event], Truth]]) -> Callable[[Event], Truth]:
    def some(event: Event) -> Truth:
        truths = [test(event) for test in tests]
        return True if True in truths else None if None in truths else False

    return some


def is_plain(test: eql.Condition) -> bool:
    """Return whether Elastic runs a test as a query of the index, where a document without the field fails the test."""
    match test:
        case eql.EventField():
            return True
        case eql.FieldComparison(_, left, right):
            return isinstance(left, eql.EventField | eql.FieldConstant) and isinstance(
                right, eql.EventField | eql.FieldConstant
            )
        case eql.ValueLookup(_, term, _):
            return isinstance(term, eql.EventField | eql.FieldConstant)
        case eql.FunctionCall(name, _, arguments):
            constant = all(isinstance(argument, eql.FieldConstant) for argument in arguments[1:])
            return name in ("startsWith", "cidrMatch") and isinstance(arguments[0], eql.EventField) and constant
        case (
            eql.FieldConstant()
            | eql.FieldArithmetic()
            | eql.NegatedCondition()
            | eql.AllConditions()
            | eql.AnyConditions()
        ):
            return False
        case _:
            assert_never(test)


def _test(test: eql.Condition, reading: EqlReading, values: FieldValues) -> Callable[[Event], Truth]:
    """Return the function from an event to the truth of one test."""
    match test:
        case eql.FieldComparison(comparator, left, right) if _null(left) or _null(right):
            return _null_test(comparator, right if _null(left) else left, reading, values)
        case eql.FieldComparison("!=", left, right):
            equal = _test(eql.FieldComparison("==", left, right), reading, values)
            # As a negation: for an array == is true if one value is equal, so != is true if none is.
            return lambda event: None if (truth := equal(event)) is None else not truth
    names = list(dict.fromkeys(field.name for field in eql.fields_of(test)))
    term = _term(test, reading)
    absent: Truth = False if reading.absent == "false" and is_plain(test) else None

    def alone(event: Event) -> Truth:
        found = values(event, name)
        if len(found) == 1:
            truth = term({name: found[0]})
            return truth if isinstance(truth, bool) else absent
        return _some(term, [found], names, absent)

    if len(names) == 1:
        (name,) = names
        return alone
    return lambda event: _some(term, [values(event, name) for name in names], names, absent)


def _some(term: Term, found: list[list[Value]], names: list[str], absent: Truth) -> Truth:
    options: list[list[Any]] = [one or [None] for one in found]
    if math.prod(map(len, options)) > MOST_COMBINATIONS:
        options = [one[:16] for one in options]
    seen: Truth = None
    for values in product(*options):
        truth = term(dict(zip(names, values, strict=True)))
        if truth is True:
            return True
        if truth is False:
            seen = False
    return absent if seen is None else seen


def _null(node: eql.Condition) -> bool:
    return isinstance(node, eql.FieldConstant) and node.value is None


def _null_test(
    comparator: str, term: eql.Condition, reading: EqlReading, values: FieldValues
) -> Callable[[Event], Truth]:
    if comparator not in ("==", "!="):
        return lambda event: None
    wanted, value = comparator == "==", _term(term, reading)
    names = list(dict.fromkeys(field.name for field in eql.fields_of(term)))

    def test(event: Event) -> Truth:
        found: list[list[Any]] = [values(event, name) or [None] for name in names]
        return all(value(dict(zip(names, chosen, strict=True))) is None for chosen in product(*found)) == wanted

    return test


# --- terms ------------------------------------------------------------------------------------------------------------


def _term(node: eql.Condition, reading: EqlReading) -> Term:
    """Return a function that computes a term, given one value for each field; None stands for null."""
    folded = reading.case == "folded"
    match node:
        case eql.EventField(name):
            return lambda values: values[name]
        case eql.FieldConstant(value):
            return lambda values: value
        case eql.FunctionCall(name, tilde, arguments):
            call, terms = BY_NAME[name], [_term(argument, reading) for argument in arguments]
            fold = tilde or folded
            return lambda values: call([term(values) for term in terms], fold)
        case eql.FieldArithmetic(operator, left, right):
            call, a, b = ARITHMETIC[operator], _term(left, reading), _term(right, reading)
            return lambda values: call([a(values), b(values)], False)
        case eql.FieldComparison(comparator, left, right):
            a, b = _term(left, reading), _term(right, reading)
            return lambda values: compare(comparator, a(values), b(values), folded)
        case eql.ValueLookup(operator, term, constants):
            a, found = _term(term, reading), lookup(operator, constants, folded)
            return lambda values: None if (value := a(values)) is None else found(value)
        case eql.NegatedCondition(part):
            inner = _term(part, reading)
            return lambda values: not truth if isinstance(truth := inner(values), bool) else None
        case eql.AllConditions(parts) | eql.AnyConditions(parts):
            inners, joins = [_term(part, reading) for part in parts], isinstance(node, eql.AllConditions)
            return lambda values: _joined([inner(values) for inner in inners], joins)
        case _:
            assert_never(node)


def _joined(truths: list[Any], joins: bool) -> Truth:
    if (not joins) in truths:
        return not joins
    return joins if all(isinstance(truth, bool) for truth in truths) else None


def compare(comparator: str, a: Any, b: Any, folded: bool) -> Truth:
    """Compare two values; if `folded`, ignore case.

    Return None if a value is null, the kinds differ, or the order of two Booleans is compared.
    """
    if a is None or b is None or kind(a) != kind(b):
        return None
    if folded and isinstance(a, str):
        a, b = fold(a), fold(b)
    match comparator:
        case "==":
            return bool(a == b)
        case "!=":
            return bool(a != b)
    if isinstance(a, bool):
        return None
    match comparator:
        case "<":
            return bool(a < b)
        case "<=":
            return bool(a <= b)
        case ">":
            return bool(a > b)
        case _:
            return bool(a >= b)


def lookup(operator: eql.MatchOperator, constants: Iterable[Any], folded: bool) -> Callable[[Any], Truth]:
    """Return a function that tells whether a value matches: whether `value operator (constants)` is true."""
    texts = [constant for constant in constants if isinstance(constant, str)]
    match operator:
        case "in" | "in~":
            same = operator == "in~" or folded
            known = {(kind(c), fold(c) if same and isinstance(c, str) else c) for c in constants if c is not None}
            return lambda value: (kind(value), fold(value) if same and isinstance(value, str) else value) in known
        case ":" | "like~" | "like":
            exact = operator == "like" and not folded
            # One expression for all alternatives, so that a list of hundreds of patterns costs one match.
            pattern = wildcards(tuple(texts), not exact)
            if exact:
                return lambda value: pattern.match(value) is not None if isinstance(value, str) else None
            return lambda value: pattern.match(fold(value)) is not None if isinstance(value, str) else None
        case "regex" | "regex~":
            written = [f"(?i:{text})" if operator == "regex~" else text for text in texts]
            return lambda value: any(matches(p, value) for p in written) if isinstance(value, str) else None
        case _:
            assert_never(operator)


@lru_cache(maxsize=4096)
def wildcards(patterns: tuple[str, ...], folded: bool) -> re.Pattern[str]:
    """Return a regular expression for texts that match one of the patterns: `*` is any text and `?` any character.

    Each * stops at the first place where the next piece of the pattern fits, without backtracking: if the match fails
    from there, it also fails from later places. So for each piece matching is linear in the text.
    """
    return re.compile("|".join(f"(?:{_wildcard(fold(p) if folded else p)})" for p in patterns) or r"(?!)", re.DOTALL)


def _wildcard(pattern: str) -> str:
    first, *rest = ("".join("." if c == "?" else re.escape(c) for c in piece) for piece in pattern.split("*"))
    if not rest:
        return first + r"\Z"
    *middle, last = rest
    return first + "".join(f"(?>.*?{piece})" for piece in middle if piece) + (f".*{last}" if last else ".*") + r"\Z"


# --- keys and times ---------------------------------------------------------------------------------------------------


def key_part(value: Value, reading: EqlReading = ELASTIC) -> tuple[str, Value]:
    """Return (kind, value), a pair by which keys are compared, because True equals 1 in Python."""
    folds = reading.case == "folded" and isinstance(value, str)
    return kind(value), fold(value) if folds and isinstance(value, str) else value


def keys_of(event: Event, fields: tuple[eql.EventField, ...], reading: EqlReading = ELASTIC) -> tuple[Key, ...]:
    """Return the distinct keys of an event, one for each choice of values of its fields, which may be arrays.

    An event has no key if one of the fields has no value, unless the key may be null. Raises BudgetExceeded for too
    many keys.

    >>> [[value for _, value in K] for K in keys_of(Event("A", {"x": 1, "x[1]": 2}), (eql.EventField("x"),))]
    [[1], [2]]
    """
    options: list[tuple[tuple[str, Value] | None, ...]] = []
    for field in fields:
        values = values_of(event, field.name)
        if values:
            options.append(tuple(dict.fromkeys(key_part(value, reading) for value in values)))
        elif field.optional or reading.null_keys == "joined":
            options.append((None,))
        else:
            return ()
    if math.prod(map(len, options)) > MOST_COMBINATIONS:
        raise BudgetExceeded(f"an event has more than {MOST_COMBINATIONS:,} keys: its arrays are too long for `by`")
    return tuple(product(*options))


def time_of(event: Event) -> Microseconds | None:
    """Return the exact time of an event in microseconds, or None without a time. A number is in seconds."""
    value = event.attributes.get(TIME)
    if value is None:
        value = event.attributes.get(TIMESTAMP)
    match value:
        case bool():
            return None
        case datetime():
            return exact_microseconds(value)
        case int():
            return value * 1_000_000
        case float() if math.isfinite(value):
            return round(value * 1_000_000)
    return None


def span_of(maxspan: eql.MaximalSpan | None, reading: EqlReading = ELASTIC) -> int | None:
    """Return the width of a maxspan in microseconds; None without a maxspan."""
    if maxspan is None:
        return None
    return maxspan.microseconds // 1_000_000 * 1_000_000 if reading.maxspan == "seconds" else maxspan.microseconds
