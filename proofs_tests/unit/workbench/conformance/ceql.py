"""The meaning of CEQL by its definition, for the queries that the adapter for CORE writes, which are in parentheses."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from typing import Any

Valuation = frozenset[tuple[int, str]]  # positions, each with a variable that marks it
TOKEN = re.compile(r"\s*('(?:[^']|'')*'|:\+|<=|>=|!=|[\w.]+|.)")
NANOSECONDS = {"HOURS": 3_600 * 10**9, "MINUTES": 60 * 10**9, "SECONDS": 10**9}


class Meaning:
    """The complex events of a query over the events of a stream declaration."""

    def __init__(self, declaration: str, query: str, events: Sequence[Mapping[str, Any]]) -> None:
        declared = re.findall(r"EVENT (\w+) \{ (.*?) \}", declaration)
        names = [(type_, [one.split(":")[0] for one in attributes.split(", ")]) for type_, attributes in declared]
        self.types = [names[event["type"]][0] for event in events]
        self.attributes = [dict(zip(names[event["type"]][1], event["attributes"], strict=True)) for event in events]
        self.times = [event["time"] for event in events]
        shape = r"SELECT (?:(STRICT|NEXT|LAST|MAX) )?(.*?) FROM S WHERE (.*?)(?: PARTITION BY (.*?))?(?: WITHIN (.*))?"
        found = re.fullmatch(shape, query)
        assert found is not None, query
        self.strategy, self.selected, where, self.keys, self.window = found.groups()
        self.tokens = TOKEN.findall(where)
        self.at = 0

    def complex_events(self) -> list[dict[str, Any]]:
        """Each complex event, with the position at which it is reported."""
        found = [mu for mu in self.formula() if self.in_partition(mu) and self.in_window(mu)]
        assert self.at == len(self.tokens), self.tokens[self.at :]
        kept = [mu for mu in found if not any(better(self.strategy, support(mu), support(other)) for other in found)]
        chosen = set(self.selected.split(", "))
        return [
            {"at": max(support(mu)), "marks": sorted(m for m in mu if self.selected == "*" or m[1] in chosen)}
            for mu in kept
            if self.strategy != "STRICT" or len(support(mu)) == max(support(mu)) - min(support(mu)) + 1
        ]

    def in_partition(self, mu: Valuation) -> bool:
        keys = re.findall(r"\w+", self.keys or "")
        values = [{self.attributes[p].get(key) for p in support(mu)} for key in keys]
        return all(len(of) == 1 and None not in of for of in values)

    def in_window(self, mu: Valuation) -> bool:
        if self.window is None:
            return True
        first, last = min(support(mu)), max(support(mu))
        if found := re.fullmatch(r"(\d+) EVENTS", self.window):
            return last - first <= int(found[1])
        if found := re.fullmatch(r"(\d+) \[(\w+)\]", self.window):
            values = [self.attributes[p][found[2]] for p in support(mu)]
            return bool(max(values) - min(values) < int(found[1]))
        amount, unit = self.window.split()
        return bool(self.times[last] - self.times[first] <= float(amount) * NANOSECONDS[unit])

    def next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1]

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def formula(self) -> set[Valuation]:
        found = self.primary()
        while self.peek() not in (")", ""):
            match self.next():
                case ";":
                    found = joined(found, self.primary(), lambda last, first: last < first)
                case ":":
                    found = joined(found, self.primary(), lambda last, first: last + 1 == first)
                case "OR":
                    found = found | self.primary()
                case "+":
                    found = iterated(found, lambda last, first: last < first)
                case ":+":
                    found = iterated(found, lambda last, first: last + 1 == first)
                case "AS":
                    variable = self.next()
                    found = {mu | {(p, variable) for p in support(mu)} for mu in found}
                case "FILTER":
                    found = self.filtered(found)
                case other:
                    raise AssertionError(other)
        return found

    def primary(self) -> set[Valuation]:
        token = self.next()
        if token != "(":
            return {frozenset({(p, token)}) for p, type_ in enumerate(self.types) if type_ == token}
        found = self.formula()
        assert self.next() == ")"
        return found

    def filtered(self, found: set[Valuation]) -> set[Valuation]:
        token = self.next()
        if token == "(":
            left, start = self.filtered(found), self.next()
            right = self.filtered(found)
            assert self.next() == ")"
            return left & right if start == "AND" else left | right
        assert self.next() == "["
        start = self.at
        while self.next() != "]":
            pass
        predicate = python(self.tokens[start : self.at - 1])
        return {mu for mu in found if all(self.true(predicate, p) for p, variable in mu if variable == token)}

    def true(self, predicate: str, position: int) -> bool:
        return bool(
            eval(
                predicate,
                {"like": lambda text, pattern: bool(re.match(pattern, text, re.DOTALL))},
                self.attributes[position],
            )
        )


def python(tokens: Sequence[str]) -> str:
    """A predicate of CEQL as an expression of Python."""
    text = " ".join(repr(t[1:-1].replace("''", "'")) if t[0] == "'" else t for t in tokens)
    text = re.sub(r"(\S+|\( .*? \)) IN RANGE \( (-?.*?) , (-?.*?) \)", r"(\2) <= \1 <= (\3)", text)
    text = re.sub(
        r"(\w+) LIKE (.*?) \)", lambda m: f"like({m[1]}, {m[2].replace(chr(92) * 2 + 'z', chr(92) * 2 + 'Z')}) )", text
    )
    return re.sub(r"(?<= )=(?= )", "==", text).replace(" AND ", " and ").replace(" OR ", " or ").replace("NOT ", "not ")


def support(mu: Valuation) -> set[int]:
    """The positions of a valuation."""
    return {position for position, _ in mu}


def joined(left: Iterable[Valuation], right: Iterable[Valuation], order: Callable[[int, int], bool]) -> set[Valuation]:
    """The unions of valuations of which the last and the first position are in an order."""
    return {a | b for a, b in product(left, right) if order(max(support(a)), min(support(b)))}


def iterated(found: set[Valuation], order: Callable[[int, int], bool]) -> set[Valuation]:
    """One or more rounds, each in an order with the one before."""
    every, rounds = set(found), set(found)
    while rounds:
        rounds = joined(rounds, found, order) - every
        every |= rounds
    return every


def better(strategy: str | None, C: set[int], other: set[int]) -> bool:
    """Whether another complex event that ends at the same position is chosen before C."""
    if other == C or max(C) != max(other):
        return False
    match strategy:
        case "NEXT":
            return min(C ^ other) in other
        case "LAST":
            return max(C ^ other) in other
        case "MAX":
            return other > C
    return False
