"""From text to a CEL formula, with errors that know their place in the text (syntax.md, "CEL")."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.compute as pc
from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedEOF, UnexpectedInput, UnexpectedToken, VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.events import parse_time
from cerify.semantics.predicates import (
    Arithmetic,
    Attribute,
    Both,
    Comparator,
    Comparison,
    Constant,
    Either,
    InRange,
    Like,
    Not,
    OneOf,
    Operator,
    Predicate,
    Term,
    about,
    mentions,
    whole,
)

MAX_DEPTH = 200  # nesting that every recursive function of the toolkit carries within Python's own limit

COMPARATORS = {"≤": "<=", "≥": ">=", "≠": "!="}
SEQUENCERS = {";": cel.Seq, ":": cel.ContiguousSeq}
COMBINERS = {"OR": cel.Or, "∨": cel.Or, "AND": cel.And, "∧": cel.And, "ALL": cel.All, "UNLESS": cel.Unless}
STRATEGIES: dict[str, type[cel.Strategy]] = {
    "STRICT": cel.Strict,
    "NXT": cel.Next,
    "NEXT": cel.Next,
    "LAST": cel.Last,
    "MAX": cel.Max,
}


def parse(text: str) -> cel.Formula:
    """The formula that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply."""
    with errors_in(text):
        try:
            phi = cast("cel.Formula", _Builder().transform(_parser().parse(text)))
        except VisitError as error:
            raise error.orig_exc from None
        except UnexpectedInput as error:
            raise _explained(error, text) from None
        if _depth(phi) > MAX_DEPTH:
            raise BudgetExceeded(f"the formula is nested more than {MAX_DEPTH} operators deep", Span(0, len(text)))
        return phi


@cache
def _parser() -> Lark:
    grammar = (Path(__file__).parent / "grammar.lark").read_text(encoding="utf-8")
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


@v_args(meta=True)
class _Builder(Transformer_NonRecursive[Token, Any]):
    """One method for each alternative of the grammar, in the grammar's order."""

    def filter(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, condition = children
        return cel.Filter(phi, condition, span=_span(meta))

    def within(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, window = children
        return cel.Within(phi, window, span=_span(meta))

    def partition_by(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, attribute = children
        return cel.PartitionBy(phi, str(attribute), span=_span(meta))

    def combination(self, meta: Meta, children: list[Any]) -> cel.Formula:
        operators = {COMBINERS[str(token)]: token for token in children[1::2]}
        if len(operators) > 1:
            first, second, *_ = operators.values()
            raise ParseError(
                f"{first} and {second} side by side: which one comes first? Put parentheses around one of them",
                _span(second),
            )
        return _left_fold(children, COMBINERS)

    def sequence(self, meta: Meta, children: list[Any]) -> cel.Formula:
        operators = {str(token): token for token in children[1::2]}
        if len(operators) > 1:
            _, second = operators.values()
            raise ParseError(
                "; and : are mixed: the two do not associate, so put parentheses around one of them", _span(second)
            )
        return _left_fold(children, SEQUENCERS)

    def bind(self, meta: Meta, children: list[Any]) -> cel.Formula:
        phi, variable = children
        return cel.In(phi, str(variable), span=_span(meta))

    def plus(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Plus(children[0], span=_span(meta))

    def contiguous_plus(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.ContiguousPlus(children[0], span=_span(meta))

    def event(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Event(str(children[0]), span=_span(meta))

    def project(self, meta: Meta, children: list[Any]) -> cel.Formula:
        *variables, phi = children
        return cel.Project(frozenset(map(str, variables)), phi, span=_span(meta))

    def start_(self, meta: Meta, children: list[Any]) -> cel.Formula:
        return cel.Start(children[0], span=_span(meta))

    def strategy(self, meta: Meta, children: list[Any]) -> cel.Formula:
        name, phi = children
        return STRATEGIES[str(name)](phi, span=_span(meta))

    def event_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        count = _number(children[0])
        if not isinstance(count, int) or count < 1:
            raise ParseError("a window of events is a whole number of at least 1", _span(children[0]))
        return cel.EventWindow(count)

    def time_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        amount, unit = children
        return cel.TimeWindow(_number(amount), cast("cel.Unit", str(unit).removesuffix("s")))

    def attribute_window(self, meta: Meta, children: list[Any]) -> cel.Window:
        width, attribute = children
        return cel.AttributeWindow(_number(width), str(attribute))

    def disjunction(self, meta: Meta, children: list[Any]) -> cel.Condition:
        left, _, right = children
        return cel.Disjunction(left, right, span=_span(meta))

    def conjunction(self, meta: Meta, children: list[Any]) -> cel.Condition:
        left, _, right = children
        return cel.Conjunction(left, right, span=_span(meta))

    def every(self, meta: Meta, children: list[Any]) -> cel.Condition:
        variable, predicate = children
        for attribute in mentions(predicate):
            if attribute.variable is not None:
                raise ParseError(
                    f"inside the brackets of {variable} an attribute stands alone: write {attribute.name}, "
                    f"not {attribute.variable}.{attribute.name}; events of two variables are compared outside brackets",
                    _span(meta),
                )
        return cel.Every(str(variable), predicate, span=_span(meta))

    def named(self, meta: Meta, children: list[Any]) -> cel.Condition:
        name, *variables = map(str, children)
        return cel.Named(name, tuple(variables), span=_span(meta))

    def compared(self, meta: Meta, children: list[Any]) -> cel.Condition:
        predicate: Predicate = children[0]
        mentioned = list(mentions(predicate))
        if not mentioned:
            raise ParseError("a filter compares an attribute of a variable, as in A.x > 40", _span(meta))
        for attribute in mentioned:
            if attribute.variable is None:
                raise ParseError(
                    f"whose attribute is {attribute.name!r}? Write VARIABLE.{attribute.name}, "
                    f"or VARIABLE[...] around a test of single events",
                    _span(meta),
                )
        match mentioned:
            case [Attribute(_, variable)]:
                return cel.Every(cast("str", variable), about(predicate, None), span=_span(meta))
            case _:
                return cel.Correlated(predicate, span=_span(meta))

    def either(self, meta: Meta, children: list[Any]) -> Predicate:
        return Either(*children)

    def both(self, meta: Meta, children: list[Any]) -> Predicate:
        return Both(*children)

    def negated(self, meta: Meta, children: list[Any]) -> Predicate:
        return Not(children[0])

    def comparison(self, meta: Meta, children: list[Any]) -> Predicate:
        left, comparator, right = children
        return Comparison(cast("Comparator", COMPARATORS.get(comparator, str(comparator))), left, right)

    def one_of(self, meta: Meta, children: list[Any]) -> Predicate:
        term, *values = children
        return OneOf(term, tuple(constant.value for constant in values))

    def in_range(self, meta: Meta, children: list[Any]) -> Predicate:
        term, low, high = children
        return InRange(term, low.value, high.value)

    def like(self, meta: Meta, children: list[Any]) -> Predicate:
        term, token = children
        pattern = _unquoted(token)
        try:
            pc.match_substring_regex(pa.scalar(""), whole(pattern))
        except pa.ArrowInvalid as error:
            reason = str(error).removeprefix("Invalid regular expression: ")
            raise ParseError(f"not a regular expression (RE2 syntax): {reason}", _span(token)) from None
        return Like(term, pattern)

    def arithmetic(self, meta: Meta, children: list[Any]) -> Term:
        left, operator, right = children
        return Arithmetic(cast("Operator", str(operator)), left, right)

    def negative(self, meta: Meta, children: list[Any]) -> Term:
        match children[1]:
            case Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
                return Constant(-value)
            case term:
                return Arithmetic("-", Constant(0), term)

    def attribute(self, meta: Meta, children: list[Any]) -> Term:
        return Attribute(str(children[0]))

    def mention(self, meta: Meta, children: list[Any]) -> Term:
        variable, name = map(str, children)
        return Attribute(name, variable)

    def negative_number(self, meta: Meta, children: list[Any]) -> Term:
        return Constant(-_number(children[1]))

    def number(self, meta: Meta, children: list[Any]) -> Term:
        return Constant(_number(children[0]))

    def string(self, meta: Meta, children: list[Any]) -> Term:
        return Constant(_unquoted(children[0]))

    def boolean(self, meta: Meta, children: list[Any]) -> Term:
        return Constant(children[0] == "true")

    def timestamp(self, meta: Meta, children: list[Any]) -> Term:
        text = str(children[0]).split("'")[1]
        try:
            return Constant(parse_time(text))
        except ValueError:
            raise ParseError(f"{text!r} is not an ISO 8601 time, such as 2013-01-31T14:05:00Z", _span(meta)) from None


def _left_fold(children: list[Any], constructors: dict[str, Any]) -> cel.Formula:
    phi: cel.Formula = children[0]
    for operator, right in zip(children[1::2], children[2::2], strict=True):
        start, end = cast("Span", phi.span).start, cast("Span", right.span).end
        phi = constructors[str(operator)](phi, right, span=Span(start, end))
    return phi


def _span(at: Meta | Token) -> Span:
    if isinstance(at, Meta) and at.empty:
        return Span(0, 0)
    return Span(cast("int", at.start_pos), cast("int", at.end_pos))


def _number(token: Token) -> int | float:
    if token.isdecimal():
        return int(token)
    value = float(token)
    if math.isinf(value):
        raise ParseError("the number is too large for a 64-bit float", _span(token))
    return value


def _unquoted(token: Token) -> str:
    return str(token)[1:-1].replace("''", "'")


def _depth(root: Any) -> int:
    deepest, pending = 0, [(root, 1)]
    while pending:
        node, depth = pending.pop()
        deepest = max(deepest, depth)
        below = (getattr(node, f.name) for f in fields(node) if f.name != "span")
        pending.extend((child, depth + 1) for child in below if is_dataclass(child))
    return deepest


# --- messages for texts that are no sentence --------------------------------------------------------------------------

READABLE = {
    "NAME": "a name",
    "NUMBER": "a number",
    "STRING": "a 'string'",
    "TIMESTAMP": "a timestamp",
    "COMPARATOR": "a comparison (< <= > >= = !=)",
    "CONTIGUOUS_PLUS": ":+",
    "SEMICOLON": ";",
    "COLON": ":",
    "UNIT": "a unit of time",
    "STRATEGY": "a strategy",
    "BOOLEAN": "true or false",
    "AND": "AND",
    "OR": "OR",
    "$END": "the end",
}


def _explained(error: UnexpectedInput, text: str) -> ParseError:
    match error:
        case UnexpectedToken(token=token) if token.type != "$END":
            span = Span(cast("int", token.start_pos), cast("int", token.end_pos))
            return ParseError(f"{str(token)!r} is not expected here{_expected(error.accepts or error.expected)}", span)
        case UnexpectedToken() | UnexpectedEOF():
            expected = _expected(getattr(error, "accepts", None) or error.expected)
            return ParseError(f"the formula ends too early{expected}", Span(len(text), len(text)))
        case UnexpectedCharacters():
            at = cast("int", error.pos_in_stream)
            what = "a string that does not end" if text[at] == "'" else f"the character {text[at]!r}"
            return ParseError(f"{what} is not expected here{_expected(error.allowed)}", Span(at, at + 1))
        case _:
            return ParseError("not a formula", Span(0, len(text)))


def _expected(terminals: Iterable[str] | None) -> str:
    terminal_names = {t.name: t.pattern.value for t in _parser().terminals if t.pattern.type == "str"}
    words = sorted({READABLE.get(t) or terminal_names.get(t) or t for t in terminals or ()})
    if not words:
        return ""
    return "; expected " + (words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1])
