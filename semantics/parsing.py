"""What the parsers of the languages share: predicates and their terms, spans, the limit of depth, and messages.

A language's grammar is its own file followed by predicates.lark; its builder has a method for each of its own rules.
"""

from __future__ import annotations

import math
import sys
from dataclasses import fields, is_dataclass
from functools import cache
from pkgutil import get_data
from typing import Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput, VisitError
from lark.tree import Meta
from lark.visitors import Transformer_NonRecursive, v_args

from cerify.semantics import predicates as pred
from cerify.semantics.errors import BudgetExceeded, ParseError, Span, errors_in
from cerify.semantics.events import TYPE
from cerify.semantics.like import flaw
from cerify.semantics.predicates import mentions
from cerify.semantics.syntax_errors import Explanation, explained
from cerify.semantics.values import encodable, parse_time

PREDICATES = "cerify.semantics"  # the package whose grammar is that of predicates
MAX_DEPTH = 200  # nesting that every recursive function of the toolkit carries within Python's own limit

MAX_DIGITS = 308  # a whole number of more may be beyond a 64-bit float, and takes long to read

COMPARATORS = {"≤": "<=", "≥": ">=", "≠": "!="}


@cache
def parser_of(*packages: str) -> Lark:
    """The LALR parser for the grammars of some packages, which may be in a zip file, one after the other."""
    files = {PREDICATES: "predicates.lark"}
    grammar = "\n".join(str(get_data(one, files.get(one, "grammar.lark")) or b"", "utf-8") for one in packages)
    return Lark(grammar, parser="lalr", propagate_positions=True, maybe_placeholders=False)


def parsed(
    text: str, parser: Lark, builder: Transformer_NonRecursive[Token, Any], explanation: Explanation = explained
) -> Any:
    """The formula that the text writes. Raises ParseError, or BudgetExceeded where it is nested too deeply.

    explanation: what makes the error of a text that is no sentence of the grammar.
    """
    with errors_in(text):
        if not encodable(text):
            half = next(i for i, character in enumerate(text) if not encodable(character))
            hint = ""
            if "\udc80" <= text[half] <= "\udcff":  # as Python reads arguments of a command
                encoding = sys.getfilesystemencoding()
                hint = f": it is no {encoding}, the encoding of the locale"
                hint += "; set PYTHONUTF8=1 for UTF-8" * (encoding != "utf-8")
            raise ParseError(f"{text[half]!r} is no text in Unicode{hint}", Span(half, half + 1))
        too_deep = (
            f"the formula is nested more than {MAX_DEPTH} operators deep; write it with fewer inside each other "
            "(in a row of them each is inside of the next)"
        )
        try:
            phi = builder.transform(parser.parse(text))
        except VisitError as error:
            if isinstance(error.orig_exc, RecursionError):  # a predicate that is much too deep, looked at on the way
                raise BudgetExceeded(too_deep, Span(0, len(text))) from None
            raise error.orig_exc from None
        except UnexpectedInput as error:
            if not text.strip():
                raise ParseError("the query is empty", Span(len(text), len(text))) from None
            raise explanation(error, text, parser) from None
        if _depth(phi) > MAX_DEPTH:
            raise BudgetExceeded(too_deep, Span(0, len(text)))
        return phi


def node(class_: type[Any], spanned: bool = True) -> Any:
    """A rule that makes a node of the class: its fields are the operands and names of the rule, in their order."""

    def rule(self: PredicateBuilder, meta: Meta, *children: Any) -> Any:
        written = (child for child in children if not isinstance(child, Token) or child.type == "NAME")
        fields = (str(child) if isinstance(child, Token) else child for child in written)
        return class_(*fields, span=span_of(meta)) if spanned else class_(*fields)

    return rule


@v_args(meta=True, inline=True)
class PredicateBuilder(Transformer_NonRecursive[Token, Any]):
    """The rules of predicates.lark, one method for each alternative, in its order."""

    either = node(pred.Either, spanned=False)
    both = node(pred.Both, spanned=False)
    negated = node(pred.Not, spanned=False)

    def comparison(self, meta: Meta, left: pred.Term, comparator: Token, right: pred.Term) -> pred.Predicate:
        return pred.Comparison(comparator_of(comparator), left, right)

    def one_of(self, meta: Meta, term: pred.Term, *values: pred.Constant) -> pred.Predicate:
        return pred.OneOf(term, tuple(constant.value for constant in values))

    def in_range(self, meta: Meta, term: pred.Term, low: pred.Constant, high: pred.Constant) -> pred.Predicate:
        return pred.InRange(term, low.value, high.value)

    def like(self, meta: Meta, term: pred.Term, token: Token) -> pred.Predicate:
        pattern = _unquoted(token)
        if (reason := flaw(pattern)) is not None:  # on its own: `)(` is one only where it is put in parentheses
            raise ParseError(f"not a regular expression (RE2 syntax): {reason}", span_of(token))
        return pred.Like(term, pattern)

    def arithmetic(self, meta: Meta, left: pred.Term, operator: Token, right: pred.Term) -> pred.Term:
        return pred.Arithmetic(cast("pred.Operator", str(operator)), left, right)

    def negative(self, meta: Meta, minus: Token, term: pred.Term) -> pred.Term:
        match term:
            case pred.Constant(value) if isinstance(value, int | float) and not isinstance(value, bool):
                return pred.Constant(-value)
        return pred.Arithmetic("-", pred.Constant(0), term)

    def attribute(self, meta: Meta, name: Token) -> pred.Term:
        return pred.Attribute(attribute_name(name))

    def mention(self, meta: Meta, variable: Token, name: Token) -> pred.Term:
        return pred.Attribute(attribute_name(name), str(variable))

    def negative_number(self, meta: Meta, minus: Token, number: Token) -> pred.Term:
        return pred.Constant(-number_of(number))

    def number(self, meta: Meta, number: Token) -> pred.Term:
        return pred.Constant(number_of(number))

    def string(self, meta: Meta, text: Token) -> pred.Term:
        return pred.Constant(_unquoted(text))

    def boolean(self, meta: Meta, truth: Token) -> pred.Term:
        return pred.Constant(truth == "true")

    def timestamp(self, meta: Meta, token: Token) -> pred.Term:
        text = str(token).split("'")[1]
        try:
            return pred.Constant(parse_time(text))
        except ValueError as error:
            raise ParseError(f"{text!r} {error}", span_of(meta)) from None


def comparator_of(token: Token) -> pred.Comparator:
    """The comparator that a token writes."""
    return cast("pred.Comparator", COMPARATORS.get(token, str(token)))


def require_alone(predicate: pred.Predicate, brackets: str, more: str, span: Span) -> None:
    """Raises ParseError where an attribute inside brackets, which `brackets` names, has a variable."""
    for attribute in mentions(predicate):
        if attribute.variable is not None:
            raise ParseError(
                f"inside the brackets{brackets} an attribute stands alone: write {attribute.name}, "
                f"not {attribute.variable}.{attribute.name}{more}",
                span,
            )


def require_variables(predicate: pred.Predicate, variable: str, events: str, example: str, span: Span) -> None:
    """Raises ParseError where an attribute outside brackets has no variable, or there is no attribute."""
    for attribute in mentions(predicate):
        if attribute.variable is None:
            is_value = isinstance(predicate, pred.Comparison) and predicate.right == attribute
            string = f"; a string is written '{attribute.name}'" if is_value else ""
            raise ParseError(
                f"whose attribute is {attribute.name!r}? Write {variable}.{attribute.name}, "
                f"or {variable}[...] around a test of {events}{string}",
                span,
            )
    if not any(mentions(predicate)):
        raise ParseError(f"a filter compares an attribute of a variable, as in {example}", span)


def span_of(at: Meta | Token) -> Span:
    """Where a rule or a token stands in the text."""
    if isinstance(at, Meta) and at.empty:
        return Span(0, 0)
    return Span(cast("int", at.start_pos), cast("int", at.end_pos))


def attribute_name(token: Token) -> str:
    """The name of an attribute that a token writes. Raises ParseError for the one that is reserved."""
    if token == TYPE:
        raise ParseError(
            f"{TYPE!r} is no attribute: events of a type are asked for by its name, as in A ; B, "
            "and an attribute that is called so needs another name",
            span_of(token),
        )
    return str(token)


def number_of(token: Token) -> int | float:
    """The number that a token writes. Raises ParseError where it is beyond a 64-bit float."""
    if token.isdecimal():
        if len(token) > MAX_DIGITS:
            raise ParseError(f"a whole number has at most {MAX_DIGITS} digits", span_of(token))
        return int(token)
    value = float(token)
    if math.isinf(value):
        raise ParseError("the number is too large for a 64-bit float", span_of(token))
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
