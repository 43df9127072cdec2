"""The syntax of CEQL, and the formula of CEL that a query stands for (docs/decisions/ceql.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicates import Predicate, WrittenTerm, mapped_predicate, show_predicate
from cerify.semantics.trees import Operators, index_by_name, printed

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

          >>> from cerify.semantics.ceql.parse import parse
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
