"""Conditions between events as programs over numbers, which the compiled loops interpret.

Numbers have to be exact in binary64, so whole numbers less than 2^53; times are microseconds; strings are numbered, in
their order where a condition asks for it. Other conditions are refused; evaluate.BlockRunner evaluates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Literal, assert_never

from cerify.automata.nfab import opcodes as op
from cerify.automata.nfab.plan import StatePlan
from cerify.semantics import predicates as pred
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME
from cerify.semantics.predicates import mentions
from cerify.semantics.sase import syntax as sase
from cerify.semantics.values import Value, ValueType, microseconds

Code = list[tuple[int, int]]
Edge = Literal["event", "end"]
"""When a condition is tested: on the event awaited, or when the component is complete."""

RANKED: Mapping[str, int] = {"min": op.SMALLEST, "lowest": op.SMALLEST, "max": op.LARGEST, "highest": op.LARGEST}
MOST_RANKED = 64  # registers of one aggregate
AGGREGATES = ("count", "sum", "avg", *RANKED)
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
    if sum(1 + k.kleene for k in q.pattern) > STATES:
        return Unsupported(f"the compiled evaluator has room for {STATES} states; use the readable one")
    conditions = [conjunct.condition for block in q.where for conjunct in block.conjuncts]
    mentioned = [a for p in conditions if not isinstance(p, sase.Equivalence) for a in mentions(p)]
    for a in (a for a in mentioned if isinstance(a, sase.Aggregate)):
        if a.function not in AGGREGATES:
            return Unsupported(f"the compiled evaluator does not carry {a.function}, your own; use the readable one")
        if a.parameter and a.parameter > MOST_RANKED:
            return Unsupported(f"the compiled evaluator has {a.function} up to {MOST_RANKED}; use the readable one")
    return None


@dataclass(frozen=True)
class Typed:
    """Code that puts a value on the stack, and what kind of value that is."""

    code: Code
    kind: ValueType


@dataclass
class Programs:
    """The conditions of a query over columns of known kinds; a name without a column has no kind and no values.

    code, constants, columns and registers grow with each condition. registers: the number of the first one for how,
    variable, column and k. updates: those of registers, by variable. strings: their numbers, in their order if
    in_order. patterns: the columns that say where a string matches. depth: the most values on the stack. refused: the
    first reason why there is no program for a condition; the code is of no use then.
    """

    kinds: Mapping[str, ValueType]
    code: Code = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    columns: dict[str, int] = field(default_factory=dict)
    registers: dict[tuple[int, str, str, int], int] = field(default_factory=dict)
    size: int = 0
    updates: dict[str, list[tuple[int, int, int, int]]] = field(default_factory=dict)
    strings: dict[str, int] = field(default_factory=dict)
    string_constants: list[int] = field(default_factory=list)
    in_order: bool = False
    patterns: dict[str, pred.Like] = field(default_factory=dict)
    depth: int = 0
    refused: Unsupported | None = None

    def conditions(self, some: tuple[pred.Predicate, ...], state: StatePlan, edge: Edge) -> tuple[int, int]:
        """The first and the last index, exclusive, of the code of a conjunction of conditions."""
        return self.conjunction([self.condition(p, state, edge) for p in some])

    def conjunction(self, codes: list[Code]) -> tuple[int, int]:
        """The first and the last index, exclusive, of the code of a conjunction."""
        start = len(self.code)
        for n, code in enumerate(codes):
            self.code += code if n == 0 else [*code, (op.AND, 0)]
        self.depth = max(self.depth, _depth(self.code[start:]))
        return start, len(self.code)

    def elapsed(self, first: str, seconds: float, comparator: pred.Comparator) -> Code:
        """How the time since the first event, of that variable, compares with some seconds; false without times."""
        of = self.kinds.get(TIME)
        if of not in ("int", "float", "timestamp"):
            self.column(TIME)  # likewise
            return [(op.FALSE, 0)]
        since = [(op.COLUMN, self.column(TIME)), (op.REGISTER, self.register(op.FIRST, first, TIME)), (op.SUBTRACT, 0)]
        if of == "timestamp":
            since += [*self.constant(1e6).code, (op.DIVIDE, 0)]
        return self.compared(comparator, Typed(since, "float"), self.constant(float(seconds)))

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
            case pred.Like(sase.Reference() as term, pattern):
                name = f"{term.name} like {pattern!r}"
                self.patterns[name] = pred.Like(pred.Attribute(term.name), pattern)
                self.kinds = {**self.kinds, name: "bool"}
                found = self.term(replace(term, name=name), state, edge)
                return self.compared("=", found, self.constant(True))
            case pred.Like() | pred.OfType():
                self.refuse("a pattern of a string that is made of others")
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
                self.string_constants.append(len(self.constants))
            case datetime():
                number, of = float(microseconds(value)), "timestamp"
        self.constants.append(number)
        return Typed([(op.CONSTANT, len(self.constants) - 1)], of)  # type: ignore[arg-type]

    def column(self, name: str) -> int:
        """The number of a column, which is made where there is none."""
        return self.columns.setdefault(name, len(self.columns))

    def register(self, how: int, variable: str, name: str, k: int = 1) -> int:
        """The number of a register, of the first of k, which is made where there is none."""
        key = (how, variable, name, k)
        if key not in self.registers:
            self.registers[key] = self.size
            self.size += k
            column = self.column(name) if name else 0
            detail = k if how in RANKED.values() else self.kinds.get(name) == "int"
            self.updates.setdefault(variable, []).append((how, self.registers[key], column, detail))
        return self.registers[key]

    def test(self, name: str, variables: list[str]) -> int:
        """The register of an equivalence test: the value of the event selected last, whatever its variable."""
        register = self.registers[op.LAST, "", name, 1] = self.size
        self.size += 1
        for variable in variables:
            self.updates.setdefault(variable, []).append((op.LAST, register, self.column(name), 0))
        return register

    @property
    def string_registers(self) -> list[int]:
        """The registers of strings."""
        return [
            register + i
            for (how, _, name, k), register in self.registers.items()
            if self.kinds.get(name) == "string" and how in (op.FIRST, op.LAST, *RANKED.values())
            for i in range(k)
        ]

    def _reference(self, a: pred.Attribute, state: StatePlan, edge: Edge) -> Typed | None:
        assert isinstance(a, sase.Reference)
        of = self.kinds.get(a.name)
        if of is None:
            self.column(a.name)  # so that a later batch that has values of it is refused
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
            number = of in ("int", "float", None)
            sum_ = (op.REGISTER, self.register(op.SUM if number else op.VOID, variable, a.name))
            if a.function == "sum":
                return Typed([sum_], of if of == "float" else "int")
            return Typed([sum_, (op.REGISTER, self.register(op.COUNT, variable, a.name)), (op.DIVIDE, 0)], "float")
        if of is None or of == "bool":
            self.column(a.name)  # likewise
            return None
        self.in_order |= of == "string"
        k = a.parameter or 1
        return Typed([(op.REGISTER, self.register(RANKED[a.function], variable, a.name, k) + k - 1)], of)

    def compared(self, comparator: pred.Comparator, left: Typed | None, right: Typed | None) -> Code:
        """The code of a comparison."""
        numbers = {"int", "float"}
        if left is None or right is None or (left.kind != right.kind and not {left.kind, right.kind} <= numbers):
            return [(op.FALSE, 0)]
        if comparator not in ("=", "!="):
            if left.kind == "bool":
                return [(op.FALSE, 0)]
            self.in_order |= left.kind == "string"
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
