"""Parse queries of CEQL; errors have their place in the text."""

from __future__ import annotations

import math
from typing import Any, TypeAlias, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.cel import syntax as cel
from cerify.semantics.ceql.syntax import ANYWHERE, NODES, OPERATORS, RESERVED, CeqlQuery
from cerify.semantics.errors import ParseError
from cerify.semantics.parsing import PredicateBuilder, attribute_name, node, number_of, parsed, parser_of, span_of
from cerify.semantics.predicates import Attribute, Comparator, Comparison, Not, OneOf, Predicate, Term, mapped_predicate
from cerify.semantics.trees import spelt

Clause: TypeAlias = tuple[str, Any]
"""A field of the query and its value."""

INFIX = spelt(OPERATORS, "infix")
POSTFIX = spelt(OPERATORS, "postfix")
COMPARATORS = {"==": "=", "<>": "!="}
SECONDS = {"hour": 3600, "minute": 60, "second": 1}


def parse(text: str) -> CeqlQuery:
    """Return the query that the text writes.

    Raises ParseError, or BudgetExceeded where it is nested too deeply.

      >>> parse("select * from S where A ; B within 1 minute 30 seconds").window
      TimeWindow(amount=90, unit='second')
    """
    return cast("CeqlQuery", parsed(text, parser_of("cerify.semantics.ceql"), _Builder()))


@v_args(meta=True, inline=True)
class _Builder(PredicateBuilder):
    """One method for each alternative of the grammar, in the grammar's order."""

    def query(self, meta: Meta, *parts: Any) -> CeqlQuery:
        fields: dict[str, Any] = {}
        for part in parts:
            match part:
                case Token():
                    if (word := part.upper()) == "ANY":
                        message = "ANY keeps one match at each event and does not say which; leave it out, or write MAX"
                        raise ParseError(message, span_of(part))
                    fields["strategy"] = None if word == "ALL" else word
                case (name, value):
                    fields[name] = value
                case formula:
                    fields["phi"] = formula
        return CeqlQuery(**fields)

    def everything(self, meta: Meta, star: Token) -> Clause:
        return "variables", None

    def nothing(self, meta: Meta) -> Clause:
        return "variables", ()

    def variables(self, meta: Meta, *names: Token) -> Clause:
        return "variables", tuple(dict.fromkeys(map(str, names)))

    def attributes_of(self, meta: Meta, variable: Token, *names: Token) -> Token:
        raise ParseError(f"SELECT takes variables, not attributes: write SELECT {variable}", span_of(meta))

    def streams(self, meta: Meta, *names: Token) -> Clause:
        return "streams", tuple(map(str, names))

    filtered = node(NODES["filter"])

    def infix(self, meta: Meta, left: cel.Formula, operator: Token, right: cel.Formula) -> cel.Formula:
        return cast("cel.Formula", INFIX[operator.upper()](left, right, span=span_of(meta)))

    bind = node(NODES["in"])

    def iterate(self, meta: Meta, phi: cel.Formula, operator: Token) -> cel.Formula:
        return cast("cel.Formula", POSTFIX[str(operator)](phi, span=span_of(meta)))

    event = node(NODES["event"])

    def event_of_stream(self, meta: Meta, stream: Token, type_: Token) -> cel.Formula:
        message = f"a query is evaluated over one stream, so types have no stream: write {type_} without {stream}"
        raise ParseError(message, span_of(meta))

    def any_other_event(self, meta: Meta, phi: cel.Formula) -> cel.Formula:
        raise ParseError(
            "CEL has no operator for an event of any other type: name the types, as in A OR B", span_of(meta)
        )

    disjunction = node(cel.Disjunction)
    conjunction = node(cel.Conjunction)
    every = node(cel.Every)

    def compared(self, meta: Meta, left: Term, *rest: Any) -> Predicate:
        comparator, right = rest if len(rest) == 2 else (">", rest[0])
        return Comparison(cast("Comparator", COMPARATORS.get(comparator, str(comparator))), left, right)

    def none_of(self, meta: Meta, term: Term, *values: Any) -> Predicate:
        return Not(OneOf(term, tuple(constant.value for constant in values)))

    def like(self, meta: Meta, term: Term, token: Token) -> Predicate:
        found = super().like(meta, term, token)
        return mapped_predicate(found, pattern=lambda text: text.join(ANYWHERE))

    def interval(self, meta: Meta, term: Term, *numbers: Token) -> Predicate:
        message = "write an interval as IN RANGE (1, 5), or with `<` or `>` if it has only one bound"
        raise ParseError(message, span_of(meta))

    def arithmetic(self, meta: Meta, left: Term, operator: Token, right: Term) -> Term:
        if operator == "%":
            raise ParseError(
                "CEL has no operator %: give the events an attribute with the remainder", span_of(operator)
            )
        return super().arithmetic(meta, left, operator, right)

    def positive(self, meta: Meta, plus: Token, term: Term) -> Term:
        return term

    def keys(self, meta: Meta, *names: str) -> Clause:
        return "keys", tuple(dict.fromkeys(names))

    def key(self, meta: Meta, name: Token, *others: Token) -> str:
        if others:
            message = f"[{name}, {others[0]}] is one key with several names, which CEL does not have; "
            message += f"for a key of several attributes write [{name}], [{others[0]}]"
            raise ParseError(message, span_of(meta))
        return attribute_name(name)

    def event_window(self, meta: Meta, number: Token) -> Clause:
        return "window", cel.EventWindow(_whole(number, 0) + 1)

    def time_window(self, meta: Meta, *parts: Token) -> Clause:
        units = [unit.lower().removesuffix("s") for unit in parts[1::2]]
        if sorted(units, key=list(SECONDS).index) != units or len(set(units)) < len(units):
            raise ParseError(
                "the units of a time go from long to short, each once: write 1 HOUR 2 MINUTES 3 SECONDS", span_of(meta)
            )
        amounts = list(map(number_of, parts[::2]))
        if len(units) == 1:
            return "window", cel.TimeWindow(amounts[0], cast("cel.Unit", units[0]))
        total = sum(amount * SECONDS[unit] for amount, unit in zip(amounts, units, strict=True))
        if math.isinf(total):
            raise ParseError("the window is too long: write a shorter time", span_of(meta))
        return "window", cel.TimeWindow(total, "second")

    def attribute_window(self, meta: Meta, number: Token, attribute: Token) -> Clause:
        return "window", cel.AttributeWindow(_whole(number, 1) - 1, attribute_name(attribute))

    def policy(self, meta: Meta, word: Token) -> Clause:
        return "policy", word.upper()

    def limit(self, meta: Meta, number: Token) -> Clause:
        message = "a query reports all matches: leave LIMIT out, and use cerify match --limit to stop earlier"
        raise ParseError(message, span_of(meta))

    def name(self, meta: Meta, token: Token) -> Token:
        if token.type == "BACKQUOTED":
            return token.update(type="NAME", value=token[1:-1].replace("``", "`"))
        if token.upper() in RESERVED:
            raise ParseError(f"{token} is a keyword of CEQL; as a name, write `{token}`", span_of(token))
        return token

    def attribute(self, meta: Meta, name: Token) -> Term:
        return Attribute(attribute_name(name))


def _whole(token: Token, least: int) -> int:
    number = number_of(token)
    if not isinstance(number, int) or number < least:
        raise ParseError(f"this window must be a whole number of at least {least}", span_of(token))
    return number
