"""Conditions of EPL and SiddhiQL over the events that names stand for; a value is None where there is none (NULL)."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

Event: TypeAlias = Mapping[str, Any]
Scope: TypeAlias = Mapping[str, Sequence[Event]]
"""The events of each name; "" is the event that the condition is on."""
Value: TypeAlias = Callable[[Scope], Any]

TOKEN = re.compile(r"""\s*('(?:[^'])*'|"[^"]*"|\d[\d.]*(?:E-?\d+)?[Ld]?|=>|==|!=|<=|>=|[A-Za-z_][\w$]*|.)""")
COMPARE = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "regexp": lambda text, pattern: re.fullmatch(pattern, text) is not None,
}
ARITHMETIC = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv}


def condition(text: str, null: bool | None = None) -> Value:
    """The value of a condition by the scope; null is that of a comparison with NULL."""
    reader = Reader(TOKEN.findall(text), null)
    value = reader.disjunction()
    assert reader.peek() == "", text
    return value


class Reader:
    """Reads a condition from its tokens."""

    def __init__(self, tokens: Sequence[str], null: bool | None) -> None:
        self.tokens, self.at, self.null = tokens, 0, null

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def next(self, expected: str = "") -> str:
        token = self.peek()
        assert expected in ("", token), (expected, self.tokens[self.at :])
        self.at += 1
        return token

    def disjunction(self) -> Value:
        parts = [self.conjunction()]
        while self.peek() == "or":
            self.next()
            parts.append(self.conjunction())
        return parts[0] if len(parts) == 1 else lambda scope: any_of([part(scope) for part in parts])

    def conjunction(self) -> Value:
        parts = [self.negation()]
        while self.peek() == "and":
            self.next()
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else lambda scope: negated(any_of([negated(part(scope)) for part in parts]))

    def negation(self) -> Value:
        if self.peek() != "not":
            return self.comparison()
        self.next()
        inner = self.negation()
        return lambda scope: negated(inner(scope))

    def comparison(self) -> Value:
        left = self.sum()
        if self.peek() == "is":
            self.next()
            self.next("null")
            return lambda scope: left(scope) is None
        if self.peek() not in COMPARE:
            return left
        compare = COMPARE[self.next()]
        right = self.sum()

        def compared(scope: Scope) -> Any:
            found = combined(compare, left(scope), right(scope))
            return self.null if found is None else found

        return compared

    def sum(self) -> Value:
        found = self.product()
        while self.peek() in ("+", "-"):
            found = calculated(self.next(), found, self.product())
        return found

    def product(self) -> Value:
        found = self.atom()
        while self.peek() in ("*", "/"):
            found = calculated(self.next(), found, self.atom())
        return found

    def atom(self) -> Value:
        token = self.next()
        if token == "(":
            inner = self.disjunction()
            self.next(")")
            return inner
        if token == "-":
            inner = self.atom()
            return lambda scope: -inner(scope)
        if token == "coalesce":
            self.next("(")
            first = self.disjunction()
            self.next(",")
            second = self.disjunction()
            self.next(")")
            return lambda scope: second(scope) if (found := first(scope)) is None else found
        if token in ("true", "false"):
            return lambda scope: token == "true"
        if token[0] in "'\"":
            text = re.sub(r"\\u(....)", lambda m: chr(int(m[1], 16)), token[1:-1])
            return lambda scope: text
        if token[0].isdigit():
            number = int(token.rstrip("L")) if re.fullmatch(r"\d+L?", token) else float(token.rstrip("d"))
            return lambda scope: number
        return self.path(token)

    def path(self, name: str) -> Value:
        """name, name.property, name[0].property, name[last].property, name.allOf(e => …), name.selectFrom(e => …)."""
        index = -1
        if self.peek() == "[":
            self.next()
            index = -1 if (token := self.next()) == "last" else int(token)
            self.next("]")
        if self.peek() != ".":
            return lambda scope: one(scope[name], -1) if name in scope else own(scope, name)
        self.next()
        member = self.next()
        if self.peek() != "(":
            return lambda scope: None if (event := one(scope.get(name, ()), index)) is None else event.get(member)
        self.next()
        variable = self.next()
        self.next("=>")
        inner = self.disjunction()
        self.next(")")

        def each(scope: Scope) -> list[Any]:
            return [inner({**scope, variable: [event]}) for event in scope.get(name, ())]

        if member == "selectFrom":
            return each
        assert member == "allOf", member
        return lambda scope: negated(any_of([negated(value) for value in each(scope)])) if name in scope else None


def own(scope: Scope, name: str) -> Any:
    """An attribute of the event that the condition is on."""
    return None if (event := one(scope.get("", ()), -1)) is None else event.get(name)


def one(events: Sequence[Event], index: int) -> Event | None:
    """The event of an index; None if there is none."""
    return events[index] if -len(events) <= index < len(events) else None


def any_of(values: Sequence[Any]) -> Any:
    """The disjunction of truth values: true, unknown or false."""
    return True if True in values else None if None in values else False


def negated(value: Any) -> Any:
    """The negation of a truth value."""
    return None if value is None else not value


def combined(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """The function of two values; None if one of them is."""
    return None if left is None or right is None else function(left, right)


def calculated(symbol: str, left: Value, right: Value) -> Value:
    """A sum, difference, product or quotient; None if divided by zero."""

    def value(scope: Scope) -> Any:
        a, b = left(scope), right(scope)
        return None if symbol == "/" and b == 0 else combined(ARITHMETIC[symbol], a, b)

    return value
