"""A stream of unknown events of a schema, as variables of z3, and the stream of a model of these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cerify.automata.algebra.symbolic import BOUNDS, Symbol, formula, value_of, variable
from cerify.semantics.events import TIME, Event, Schema, Stream
from cerify.semantics.packages import z3
from cerify.semantics.predicates import Attribute, Predicate
from cerify.semantics.values import ValueType

SMALL = 10  # a whole number from 0 to this is preferred in a stream that is shown
SIMPLE = (*range(SMALL + 1), *range(20, 101, 10))  # of a float one of these numbers is preferred


class UnknownStream:
    """Variables for the type of each event, for the presence of each attribute and for its value."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self._numbers = {R: k for k, R in enumerate(schema.types)}
        self._attributes: dict[str, ValueType] = {TIME: "timestamp", **schema.attributes}

    def type_is(self, p: int, R: str) -> Any:
        """That the event at p is of type R."""
        return z3.Int(f"type {p}") == self._numbers[R] if R in self._numbers else z3.BoolVal(False)

    def value(self, p: int, name: str) -> Symbol | None:
        """The attribute of the event at p, None if no event has it."""
        return self._value(p, name) if name in self._attributes else None

    def _value(self, p: int, name: str) -> Symbol:
        value_type = self._attributes[name]
        return Symbol(value_type, variable(f"{name} {p}", value_type), z3.Bool(f"{name} of {p}"))

    def holds(self, P: Predicate, p: int) -> Any:
        """That the event at p is in P. Raises TooHard."""
        return self.related(P, lambda _: p, p)

    def related(self, P: Predicate, position: Callable[[Attribute], int], p: int = -1) -> Any:
        """That P holds where each attribute, left to right, is that of the event at its position. Raises TooHard."""
        return formula(P, lambda a: self.value(position(a), a.name), lambda R: self.type_is(p, R))

    def schema_holds(self, p: int) -> Any:
        """That the event at p has a type of the schema, and attributes of its type only, in their range."""
        facts = [z3.Or([self.type_is(p, R) for R in self._numbers])]
        for name, value_type in self._attributes.items():
            symbol = self._value(p, name)
            if name != TIME or TIME in self.schema.attributes:
                having = [self.type_is(p, R) for R, attributes in self.schema.types.items() if name in attributes]
                facts.append(z3.Implies(symbol.defined, z3.Or(having)))
            if (bounds := BOUNDS.get(value_type)) is not None:
                facts += [symbol.expression >= bounds[0], symbol.expression <= bounds[1]]
        return z3.And(facts)

    def plain(self, p: int) -> Any:
        """That the event at p is easy to read: all attributes, small numbers, a later time than the one before."""
        facts = []
        if p > 0:
            before, now = self._value(p - 1, TIME), self._value(p, TIME)
            facts.append(z3.Implies(z3.And(before.defined, now.defined), before.expression <= now.expression))
        for name, value_type in self.schema.attributes.items():
            symbol = self._value(p, name)
            having = [self.type_is(p, R) for R, attributes in self.schema.types.items() if name in attributes]
            facts.append(z3.Implies(z3.Or(having), symbol.defined))
            if value_type == "int":
                facts += [symbol.expression >= 0, symbol.expression <= SMALL]
            if value_type == "float":
                x = symbol.expression
                facts += [z3.Or([x == z3.FPVal(n, x.sort()) for n in SIMPLE]), z3.Not(z3.fpIsNegative(x))]
        return z3.And(facts)

    def stream(self, model: z3.ModelRef, length: int) -> Stream:
        """The stream of a model, of length events."""
        return Stream([self._event(model, p) for p in range(length)], self.schema)

    def _event(self, model: z3.ModelRef, p: int) -> Event:
        R = next(R for R in self._numbers if z3.is_true(model.evaluate(self.type_is(p, R), model_completion=True)))
        values = {}
        for name in self._attributes:
            symbol = self._value(p, name)
            if z3.is_true(model.evaluate(symbol.defined, model_completion=True)):
                values[name] = value_of(model.evaluate(symbol.expression, model_completion=True), symbol.kind)
        return Event(R, values)
