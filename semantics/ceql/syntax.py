"""The syntax of CEQL and its parser, and the formula of CEL that a query stands for (docs/decisions/ceql.md).

A query has a formula of CEL after WHERE, and clauses around it. `CeqlQuery.formula` gives the one formula of CEL with
the same matches; everything that evaluates, explains or compares CEQL uses that formula. The printer and the parser
take the spelling of the operators from the table OPERATORS, so that they cannot differ.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, assert_never, cast

from lark import Token
from lark.tree import Meta
from lark.visitors import v_args

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import ParseError
from cerify.semantics.parsing import PredicateBuilder, attribute_name, node, number_of, parsed, parser_of, span_of
from cerify.semantics.predicates import (
    Attribute,
    Comparator,
    Comparison,
    Not,
    OneOf,
    Predicate,
    Term,
    WrittenTerm,
    mapped_predicate,
    show_predicate,
)
from cerify.semantics.trees import Operators, index_by_name, printed, spelt

Strategy: TypeAlias = Literal["STRICT", "NEXT", "LAST", "MAX"]
Policy: TypeAlias = Literal["NONE", "ANY", "PARTITION"]

NODES = {name: operator.node for name, operator in index_by_name(cel.OPERATORS).items()}
STRATEGIES = {"STRICT": "strict", "NEXT": "nxt", "LAST": "last", "MAX": "max"}
"""The names of the operators that SELECT may ask for."""

LEVELS = {"filter": 0, "or": 1, "cseq": 2, "seq": 3, "plus": 4, "cplus": 4, "in": 4, "event": 4}
OPERATORS: Operators = {
    operator.node: replace(operator, level=LEVELS[operator.name], text=operator.text.replace(" IN ", " AS "))
    for operator in cel.OPERATORS.values()
    if operator.name in LEVELS
}
"""The operators of CEL that CEQL also has, with their spelling in CEQL."""

RESERVED = frozenset(
    re.findall(
        r"\w+",
        "ALL AND ANY AS BY CONSUME DISTINCT EVENT EVENTS FILTER FROM HOUR HOURS IN LAST LIKE LIMIT MAX MINUTE MINUTES "
        "NEXT NONE NOT OR PARTITION RANGE SECOND SECONDS SELECT STREAM STRICT UNLESS WHERE WITHIN",
    )
)
"""Words that are names only in backquotes."""

ANYWHERE = r"[\s\S]*(?:", r")[\s\S]*"
"""The texts to put around a pattern of LIKE, because CEQL looks for the pattern anywhere in a string."""

_PLAIN = re.compile(r"[a-zA-Z_][a-zA-Z_0-9]*")


@dataclass(frozen=True)
class CeqlQuery:
    """A query of CEQL.

    phi: the formula after WHERE.
    variables: the variables after SELECT; None for `*`.
    strategy: the selection strategy; None for ALL.
    streams: the names after FROM, which have no effect, as a query is evaluated over one stream.
    keys: the attributes of PARTITION BY.
    window: the window as CEL counts it: `n + 1` events for `n EVENTS`, and a difference of `n - 1` for `n [a]`.
    """

    phi: cel.Formula
    variables: tuple[str, ...] | None = None
    strategy: Strategy | None = None
    streams: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    window: cel.Window | None = None
    policy: Policy = "NONE"

    @property
    def formula(self) -> cel.Formula:
        """Return the formula of CEL with the same matches, without the consumption of events.

        The operators from the inside to the outside are STRICT, PER KEY, WITHIN, any other strategy, PROJECT.

          >>> from cerify.semantics.ceql.syntax import parse
          >>> cel.show(parse("SELECT MAX A FROM S WHERE A ; B+ PARTITION BY [k] WITHIN 9 EVENTS").formula)
          'PROJECT[A](MAX(A ; B+ PER KEY [k] WITHIN 10 EVENTS))'
        """
        phi, span = self.phi, self.phi.span
        if self.strategy == "STRICT":  # which looks at the events of one match, and in the stream of its key
            phi = NODES["strict"](phi, span=span)
        if self.keys:
            phi = NODES["perkey"](phi, self.keys, span=span)
        if self.window is not None:
            phi = NODES["within"](phi, self.window, span=span)
        if self.strategy is not None and self.strategy != "STRICT":
            phi = NODES[STRATEGIES[self.strategy]](phi, span=span)
        if self.variables is not None:
            phi = NODES["project"](frozenset(self.variables), phi, span=span)
        return phi


def show(query: CeqlQuery) -> str:
    """Return the text of a query, which parses back to it.

    Raises BudgetExceeded if it is nested too deeply.
    """
    parts = ["SELECT", *([query.strategy] if query.strategy else ())]
    chosen = "*" if query.variables is None else ", ".join(map(show_name, query.variables)) or "NONE"
    parts.append(chosen)
    if query.streams:
        parts += ["FROM", ", ".join(map(show_name, query.streams))]
    parts += ["WHERE", printed(query.phi, OPERATORS, _show_field)]
    if query.keys:
        parts += ["PARTITION BY", ", ".join(f"[{show_name(key)}]" for key in query.keys)]
    if query.window is not None:
        parts += ["WITHIN", _show_window(query.window)]
    if query.policy != "NONE":
        parts += ["CONSUME BY", query.policy]
    return " ".join(parts)


def show_name(name: str) -> str:
    """Return the text of a name, in backquotes where it needs them."""
    plain = _PLAIN.fullmatch(name) is not None and name.upper() not in RESERVED
    return name if plain else "`" + name.replace("`", "``") + "`"


def _show_field(value: str | cel.Condition) -> str:
    return show_name(value) if isinstance(value, str) else _show_filter(value, 0)


def _show_filter(condition: cel.Condition, level: int) -> str:
    """Return the text, in parentheses if it binds less tightly than the level: 0 OR, 1 AND, 2 one filter."""
    match condition:
        case cel.Every(variable, predicate):
            return f"{show_name(variable)}[{_show_predicate(predicate)}]"
        case cel.Conjunction(left, right):
            text, own = f"{_show_filter(left, 1)} AND {_show_filter(right, 2)}", 1
        case cel.Disjunction(left, right):
            text, own = f"{_show_filter(left, 0)} OR {_show_filter(right, 1)}", 0
        case cel.Correlated() | cel.Named():
            raise AssertionError("CEQL filters single events")
        case _:
            assert_never(condition)
    return f"({text})" if own < level else text


def _show_predicate(predicate: Predicate) -> str:
    before, after = map(len, ANYWHERE)
    return show_predicate(
        mapped_predicate(
            predicate,
            attribute=lambda a: WrittenTerm(show_name(a.name)),
            pattern=lambda text: text[before:-after],
        )
    )


def _show_window(window: cel.Window) -> str:
    match window:
        case cel.EventWindow(count):
            return f"{count - 1} EVENTS"
        case cel.TimeWindow(amount, unit):
            return f"{amount} {unit.upper()}{'' if amount == 1 else 'S'}"
        case cel.AttributeWindow(width, attribute):
            return f"{width + 1} [{show_name(attribute)}]"
        case _:
            assert_never(window)


# ---------------------------------------------------------------------------------------------------------------------
# Parse queries of CEQL; errors have their place in the text.

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
