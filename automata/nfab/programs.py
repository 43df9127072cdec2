"""Conditions between events as programs over numbers, which the compiled loops interpret.

Numbers have to be exact in binary64, so whole numbers less than 2^53; times are microseconds, strings are numbered.
Other conditions are refused; evaluate.BlockRunner evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, assert_never

from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.edges import match_layout
from cerify.automata.nfab.plan import StatePlan
from cerify.semantics import predicates as pred
from cerify.semantics.errors import Unsupported
from cerify.semantics.predicates import mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, microseconds

Code = list[tuple[int, int]]
Kind = Literal["int", "float", "string", "bool", "timestamp"]
"""The kind of a column; int and float can be compared with each other."""

Edge = Literal["event", "end"]
"""When a condition is tested: on the event awaited, or when the component is complete."""

STACK = 16
AGGREGATES = ("count", "sum", "avg", "min", "max")
COMPARE: Mapping[pred.Comparator, int] = {
    "<": op.LESS,
    "<=": op.LESS_EQUAL,
    ">": op.GREATER,
    ">=": op.GREATER_EQUAL,
    "=": op.EQUAL,
    "!=": op.UNEQUAL,
}
ARITHMETIC: Mapping[pred.Operator, int] = {"+": op.ADD, "-": op.SUBTRACT, "*": op.MULTIPLY, "/": op.DIVIDE}
STATES = 62  # bits of a number


def why_not(q: sase.Query) -> Unsupported | None:
    """Why the compiled evaluator does not take the query, whatever the stream; None if it does."""
    if any(k.negated for k in q.pattern):
        return Unsupported("the compiled evaluator does not support negated components; use the readable one")
    if sum(1 + k.kleene for k in q.pattern) > STATES:
        return Unsupported(f"the compiled evaluator has room for {STATES} states; use the readable one")
    mentioned = [a for test in match_layout(q).tests for a in mentions(test.predicate)]
    for name in (a.function for a in mentioned if isinstance(a, sase.Aggregate)):
        if name not in AGGREGATES:
            return Unsupported(f"the compiled evaluator does not carry the aggregate {name}; use the readable one")
    return None


@dataclass(frozen=True)
class Typed:
    """Code that puts a value on the stack, and what kind of value that is."""

    code: Code
    kind: Kind


@dataclass
class Programs:
    """The conditions of a query over columns of known kinds; a name without a column has no kind and no values.

    code, constants, columns and registers grow with each condition. updates: those of registers, by variable. refused:
    the first reason why there is no program for a condition; the code is of no use then.
    """

    kinds: Mapping[str, Kind]
    code: Code = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    registers: dict[tuple[int, str, str], int] = field(default_factory=dict)
    updates: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    refused: Unsupported | None = None

    def conditions(self, some: tuple[pred.Predicate, ...], state: StatePlan, edge: Edge) -> tuple[int, int]:
        """The first and the last index, exclusive, of the code of a conjunction of conditions."""
        start = len(self.code)
        for n, p in enumerate(some):
            code = self.condition(p, state, edge)
            self.code += code if n == 0 else [*code, (op.AND, 0)]
        if _depth(self.code[start:]) > STACK:
            self.refuse("a condition that is nested so deeply")
        return start, len(self.code)

    def condition(self, p: pred.Predicate, state: StatePlan, edge: Edge) -> Code:
        """The code of a condition; it leaves 1 or 0 on the stack."""
        match p:
            case pred.Anything():
                return [(op.TRUE, 0)]
            case pred.Comparison(comparator, left, right):
                return self.compared(comparator, self.term(left, state, edge), self.term(right, state, edge))
            case pred.OneOf(term, values):
                found = self.term(term, state, edge)
                code: Code = [(op.FALSE, 0)]
                for value in values:
                    code += [*self.compared("=", found, self.constant(value)), (op.OR, 0)]
                return code
            case pred.InRange(term, low, high):
                found = self.term(term, state, edge)
                above = self.compared("<=", self.constant(low), found)
                return [*above, *self.compared("<=", found, self.constant(high)), (op.AND, 0)]
            case pred.Not(inner):
                return [*self.condition(inner, state, edge), (op.NOT, 0)]
            case pred.Both(a, b):
                return [*self.condition(a, state, edge), *self.condition(b, state, edge), (op.AND, 0)]
            case pred.Either(a, b):
                return [*self.condition(a, state, edge), *self.condition(b, state, edge), (op.OR, 0)]
            case pred.Like() | pred.OfType():
                self.refuse("a pattern of a string beside conditions between events")
                return [(op.FALSE, 0)]
            case _:
                assert_never(p)

    def term(self, t: pred.Term, state: StatePlan, edge: Edge) -> Typed | None:
        """The code of a term, None where it never has a value."""
        match t:
            case sase.Aggregate():
                return self._aggregate(t, state, edge)
            case pred.Attribute():
                return self._reference(t, state, edge)
            case pred.Constant(value):
                return self.constant(value)
            case pred.Arithmetic(symbol, a, b):
                left, right = self.term(a, state, edge), self.term(b, state, edge)
                if left is None or right is None or {left.kind, right.kind} - {"int", "float"}:
                    return None
                code: Code = [*left.code, *right.code, (ARITHMETIC[symbol], 0)]
                if symbol != "/" and left.kind == right.kind == "int":
                    return Typed([*code, (op.CHECK, 0)], "int")
                return Typed(code, "float")
            case _:
                assert_never(t)

    def constant(self, value: Value) -> Typed:
        """The code of a value written in the query."""
        match value:
            case bool():
                number, of = float(value), "bool"
            case int():
                if abs(value) >= op.EXACT:
                    self.refuse(f"{value}, beyond 2^53,")
                number, of = float(max(-op.EXACT, min(value, op.EXACT))), "int"
            case float():
                number, of = value, "float"
            case str():
                number, of = float(self.strings.setdefault(value, len(self.strings))), "string"
            case datetime():
                number, of = float(microseconds(value)), "timestamp"
        self.constants.append(number)
        return Typed([(op.CONSTANT, len(self.constants) - 1)], of)  # type: ignore[arg-type]

    def column(self, name: str) -> int:
        """The number of a column, which is made where there is none."""
        return self.columns.setdefault(name, len(self.columns))

    def register(self, how: int, variable: str, name: str) -> int:
        """The number of a register, which is made where there is none."""
        key = (how, variable, name)
        if key not in self.registers:
            self.registers[key] = len(self.registers)
            column = self.column(name) if name else 0
            self.updates.setdefault(variable, []).append((how, self.registers[key], column))
        return self.registers[key]

    def test(self, name: str, variables: list[str]) -> int:
        """The register of an equivalence test: the value of the event selected last, whatever its variable."""
        register = self.registers.setdefault((op.LAST, "", name), len(self.registers))
        for variable in variables:
            self.updates.setdefault(variable, []).append((op.LAST, register, self.column(name)))
        return register

    def _reference(self, a: pred.Attribute, state: StatePlan, edge: Edge) -> Typed | None:
        assert isinstance(a, sase.Reference)
        of = self.kinds.get(a.name)
        if of is None:
            return None
        variable, own = a.variable or "", a.variable == state.variable and edge == "event"
        match a.place:
            case "current" | "last" if own:
                return Typed([(op.COLUMN, self.column(a.name))], of)
            case "only" | "first" if own and state.kind != "more":
                return Typed([(op.COLUMN, self.column(a.name))], of)
            case "previous" if own:
                return (
                    Typed([(op.REGISTER, self.register(op.LAST, variable, a.name))], of)
                    if state.kind == "more"
                    else None
                )
            case "previous":
                self.refuse("the last but one event of a finished Kleene plus")
                return None
            case "only" | "first":
                return Typed([(op.REGISTER, self.register(op.FIRST, variable, a.name))], of)
            case "current" | "last":
                return Typed([(op.REGISTER, self.register(op.LAST, variable, a.name))], of)
            case at:
                assert_never(at)

    def _aggregate(self, a: sase.Aggregate, state: StatePlan, edge: Edge) -> Typed | None:
        """The code of an aggregate; of a running one the registers hold the value before the event awaited."""
        variable, of = a.variable or "", self.kinds.get(a.name)
        if a.running and not (variable == state.variable and state.kind == "more" and edge == "event"):
            self.refuse("a running aggregate outside its Kleene plus")
        if a.function == "count":
            how = op.COUNT if a.name else op.NUMBER
            return Typed([(op.REGISTER, self.register(how, variable, a.name))], "int")
        if a.function in ("sum", "avg"):
            if of not in ("int", "float", None):
                self.refuse(f"{a.function} of values of the kind {of}")
            sum_ = (op.REGISTER, self.register(op.SUM, variable, a.name))
            if a.function == "sum":
                return Typed([sum_], of or "int")
            return Typed([sum_, (op.REGISTER, self.register(op.COUNT, variable, a.name)), (op.DIVIDE, 0)], "float")
        if of in ("string", "bool"):
            self.refuse(f"{a.function} of values of the kind {of}")
        how = op.SMALLEST if a.function == "min" else op.LARGEST
        return None if of is None else Typed([(op.REGISTER, self.register(how, variable, a.name))], of)

    def compared(self, comparator: pred.Comparator, left: Typed | None, right: Typed | None) -> Code:
        """The code of a comparison."""
        numbers = {"int", "float"}
        if left is None or right is None or (left.kind != right.kind and not {left.kind, right.kind} <= numbers):
            return [(op.FALSE, 0)]
        if comparator not in ("=", "!="):
            if left.kind == "bool":
                return [(op.FALSE, 0)]
            if left.kind == "string":
                self.refuse("the order of strings")
        return [*left.code, *right.code, (COMPARE[comparator], 0)]

    def refuse(self, what: str) -> None:
        """Record that there is no program."""
        why = f"the compiled evaluator does not carry {what}; use the readable one"
        self.refused = self.refused or Unsupported(why)


def _depth(code: Code) -> int:
    """The most values that the code has on the stack."""
    depth = most = 0
    for operation, _ in code:
        depth += 1 if operation < op.NOT else -1 if operation > op.CHECK else 0
        most = max(most, depth)
    return most
