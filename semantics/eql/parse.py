"""Parse EQL; errors name their place in the text."""

from __future__ import annotations

import re
from typing import Any, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.eql import syntax as eql
from cerify.semantics.errors import ParseError, Span
from cerify.semantics.parsing import PredicateBuilder, number_of, parsed, parser_of, span_of
from cerify.semantics.schemas import NO_CATEGORY

FUNCTIONS: dict[str, tuple[int, int | None]] = {
    "add": (2, 2), "between": (3, 4), "cidrMatch": (2, None), "concat": (1, None), "divide": (2, 2),
    "endsWith": (2, 2), "indexOf": (2, 3), "length": (1, 1), "modulo": (2, 2), "multiply": (2, 2), "number": (1, 2),
    "startsWith": (2, 2), "string": (1, 1), "stringContains": (2, 2), "substring": (2, 3), "subtract": (2, 2),
}  # fmt: skip
"""The documented functions, each with its least and its largest number of arguments; None is no limit."""
_KNOWN = {name.lower(): name for name in FUNCTIONS}
_FOLDABLE = frozenset({"between", "endsWith", "indexOf", "startsWith", "stringContains"})
_ENDGAME = {
    "wildcard": "`field : (\"pattern\", ...)`", "match": "`field regex~ (\"pattern\", ...)`",
    "arraycontains": "`field == value`, which is true if an element equals the value", "arraysearch": "`field : value`",
    "arraycount": "`field : value`", "safe": "the condition alone: a test of a null is not true",
}  # fmt: skip
_ESCAPE = re.compile(r"\\(u\{([0-9A-Fa-f]{2,8})\}|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "r": "\r", "t": "\t", "\\": "\\", '"': '"', "'": "'", "b": "\b", "f": "\f"}


def parse(text: str) -> eql.EqlQuery:
    """Parse the text of a query.

    Raises ParseError, and BudgetExceeded if the query is nested too deeply. The query may still break a rule of
    `cerify.semantics.eql.check`.
    """
    return cast("eql.EqlQuery", parsed(text, parser_of("cerify.semantics.eql"), _EqlBuilder()))


@v_args(meta=True, inline=True)
class _EqlBuilder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def start(self, meta: Meta, body: Any, *pipes: eql.MatchPipe) -> eql.EqlQuery:
        return eql.EqlQuery(body, pipes, span=span_of(meta))

    def sequence(self, meta: Meta, header: tuple[Any, Any], *steps: eql.SequenceStep) -> eql.EventSequence:
        keys, maxspan = header
        last = steps[-1]
        until = last if isinstance(last, _Until) else None
        plain = tuple(steps[:-1] if until is not None else steps)
        return eql.EventSequence(keys, maxspan, plain, until.step if until else None, span=span_of(meta))

    def sample(self, meta: Meta, keys: tuple[eql.EventField, ...], *steps: eql.SequenceStep) -> eql.EventSample:
        return eql.EventSample(keys, steps, span=span_of(meta))

    def header(self, meta: Meta, *parts: Any) -> tuple[tuple[eql.EventField, ...], eql.MaximalSpan | None]:
        keys = [part for part in parts if isinstance(part, tuple)]
        spans = [part for part in parts if isinstance(part, eql.MaximalSpan)]
        if len(keys) > 1 or len(spans) > 1:
            raise ParseError("a sequence can have `by` and `with maxspan` only once each", span_of(meta))
        return keys[0] if keys else (), spans[0] if spans else None

    def keys(self, meta: Meta, *fields: eql.EventField) -> tuple[eql.EventField, ...]:
        return fields

    def span(self, meta: Meta, token: Token) -> eql.MaximalSpan:
        count, unit = re.fullmatch(r"([0-9]+)\s*([A-Za-z]*)", str(token)).groups()  # type: ignore[union-attr]
        if unit not in eql.UNITS:
            raise ParseError(
                f"maxspan must be a number with one of the units {', '.join(eql.UNITS)}, as in 30s", span_of(token)
            )
        if len(count) > 12:
            raise ParseError("maxspan has more than 12 digits; write a shorter time", span_of(token))
        return eql.MaximalSpan(int(count), unit, span=span_of(token))

    def step(self, meta: Meta, filter_: eql.EventFilter, *more: Any) -> eql.SequenceStep:
        return _step(meta, filter_, more, False)

    def missing(self, meta: Meta, filter_: eql.EventFilter, *more: Any) -> eql.SequenceStep:
        return _step(meta, filter_, more, True)

    def runs(self, meta: Meta, token: Token) -> int:
        count = int(token) if len(token) < 5 else 0
        if not 1 <= count <= eql.MOST_RUNS:
            raise ParseError(f"runs must be a number from 1 to {eql.MOST_RUNS}", span_of(token))
        return count

    def until(self, meta: Meta, filter_: eql.EventFilter, *keys: Any) -> _Until:
        return _Until(_step(meta, filter_, keys, False))

    def pipe(self, meta: Meta, name: Token, count: Token) -> eql.MatchPipe:
        if name not in ("head", "tail"):
            raise ParseError(f"there is no pipe {str(name)!r}; Elastic's EQL has head and tail", span_of(name))
        return eql.MatchPipe(cast("Any", str(name)), int(number_of(count)), span=span_of(meta))

    def filter(self, meta: Meta, category: str | None, condition: eql.Condition) -> eql.EventFilter:
        return eql.EventFilter(category, condition, span=span_of(meta))

    def category(self, meta: Meta, token: Token) -> str | None:
        if token.type == "NAME":
            return None if token == "any" else str(token)
        text = _text(token)
        if text in ("", NO_CATEGORY):
            raise ParseError("a category must be a name or a string that is not empty", span_of(token))
        return text

    def either(self, meta: Meta, *parts: eql.Condition) -> eql.Condition:
        return parts[0] if len(parts) == 1 else eql.AnyConditions(parts, span=span_of(meta))

    def both(self, meta: Meta, *parts: eql.Condition) -> eql.Condition:
        return parts[0] if len(parts) == 1 else eql.AllConditions(parts, span=span_of(meta))

    def negated(self, meta: Meta, _: Token, part: eql.Condition) -> eql.Condition:
        return eql.NegatedCondition(part, span=span_of(meta))

    def comparison(self, meta: Meta, left: Any, comparator: Token, right: Any) -> Any:
        return eql.FieldComparison(cast("Any", str(comparator)), left, right, span=span_of(meta))

    def lookup(self, meta: Meta, term: eql.Condition, operator: Token, values: tuple[Any, ...]) -> eql.Condition:
        return eql.ValueLookup(cast("Any", str(operator)), term, values, span=span_of(meta))

    def no_lookup(self, meta: Meta, term: Any, _: Token, operator: Token, values: tuple[Any, ...]) -> eql.Condition:
        return eql.NegatedCondition(self.lookup(meta, term, operator, values), span=span_of(meta))

    def pattern(self, meta: Meta, term: eql.Condition, operator: Token, values: Any) -> eql.Condition:
        listed = values if isinstance(values, tuple) else (values.value,)
        return eql.ValueLookup(cast("Any", str(operator)), term, listed, span=span_of(meta))

    def constants(self, meta: Meta, *values: eql.FieldConstant) -> tuple[Any, ...]:
        return tuple(constant.value for constant in values)

    def arithmetic(self, meta: Meta, left: Any, operator: Token, right: Any) -> Any:
        return eql.FieldArithmetic(str(operator), left, right, span=span_of(meta))

    def signed(self, meta: Meta, sign: Token, term: Any) -> Any:
        if isinstance(term, eql.FieldConstant) and type(term.value) in (int, float):
            return self.signed_number(meta, sign, term)
        if sign == "+":
            return term
        return eql.FieldArithmetic("-", eql.FieldConstant(0), term, span=span_of(meta))

    def call(self, meta: Meta, name: Token, *arguments: Any) -> eql.Condition:
        bare, folded = name.rstrip("~"), name.endswith("~")
        known = _KNOWN.get(bare.lower())
        at = span_of(name)
        if known is None:
            hint = _ENDGAME.get(bare.lower())
            meant = f"; write {hint}" if hint else f"; its functions are {', '.join(FUNCTIONS)}"
            raise ParseError(f"Elastic's EQL has no function {bare!r}{meant}", at)
        given = tuple(argument for argument in arguments if argument is not None)
        least, most = FUNCTIONS[known]
        if len(given) < least or (most is not None and len(given) > most):
            wanted = f"{least} or more" if most is None else f"{least}" if least == most else f"{least} to {most}"
            raise ParseError(f"{known} takes {wanted} arguments, but {len(given)} are given", span_of(meta))
        if folded and known not in _FOLDABLE:
            raise ParseError(f"{known} has no form with ~, because it does not compare case: leave ~ out", at)
        return eql.FunctionCall(known, folded, given, span=span_of(meta))

    def signed_number(self, meta: Meta, sign: Token, number: Any) -> eql.Condition:
        value: Any = number.value if isinstance(number, eql.FieldConstant) else number_of(number)
        return eql.FieldConstant(-value if sign == "-" else value, span=span_of(meta))

    def number(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(number_of(token), span=span_of(meta))

    def string(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(_text(token), span=span_of(meta))

    def boolean(self, meta: Meta, token: Token) -> Any:
        return eql.FieldConstant(token == "true", span=span_of(meta))

    def null(self, meta: Meta) -> eql.Condition:
        return eql.FieldConstant(None, span=span_of(meta))

    def field(self, meta: Meta, token: Token) -> eql.EventField:
        text = str(token)
        optional = text.startswith("?")
        parts = re.findall(r"`((?:``|[^`])+)`|([^.`]+)", text[optional:])
        name = ".".join(quoted.replace("``", "`") or plain for quoted, plain in parts)
        return eql.EventField(name, optional, span=span_of(meta))


class _Until:
    """The step of `until`. It has a class of its own to distinguish it from a step of the sequence."""

    def __init__(self, step: eql.SequenceStep) -> None:
        self.step = step


def _step(meta: Meta, filter_: eql.EventFilter, more: tuple[Any, ...], missing: bool) -> eql.SequenceStep:
    keys = [part for part in more if isinstance(part, tuple)]
    runs = [part for part in more if isinstance(part, int)]
    if len(keys) > 1 or len(runs) > 1:
        raise ParseError("a step can have `by` and `with runs` only once each", span_of(meta))
    return eql.SequenceStep(filter_, (keys or [()])[0], (runs or [1])[0], missing, span=span_of(meta))


def _text(token: Token) -> str:
    """Return the text of a string, or of a raw string. Raises ParseError for an unknown escape."""
    if token.startswith('"""'):
        return str(token)[3:-3]
    start = span_of(token).start + 1

    def character(found: re.Match[str]) -> str:
        if found[2] is not None:
            code = int(found[2], 16)
            if code < 0x110000 and code not in range(0xD800, 0xE000):
                return chr(code)
        elif found[1] in _SIMPLE:
            return _SIMPLE[found[1]]
        at = Span(start + found.start(), start + found.end())
        raise ParseError(f'{found[0]!r} is not an escape of EQL; write a backslash as \\\\, or use """..."""', at)

    return _ESCAPE.sub(character, str(token)[1:-1])
