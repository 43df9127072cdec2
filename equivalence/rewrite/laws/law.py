"""What a law of CEL is: two schematic formulas, and whether all their instances mean the same.

A schematic formula is written like any other. In it the event types phi, psi and chi stand for any formulas, and the
named predicates P and Q for any predicates on one event. All other names and all numbers stand for themselves; a
law with X and Y is one for any two different variables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, assert_never

from cerify.equivalence.rewrite.trees import names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Condition, Formula, subformulas
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

Level = Literal["valuations", "events"]
"""What is the same on both sides at every position: the valuations, or only the complex events."""

LETTERS = ("phi", "psi", "chi")
PREDICATES: tuple[Predicate, Predicate] = (
    Comparison(">", Attribute("x"), Constant(0)),
    Comparison("<", Attribute("x"), Constant(1)),
)
"""What P and Q stand for if nothing else is said: x > 0 and x < 1."""


@dataclass(frozen=True)
class Witness:
    """Where a law fails: what the letters stand for, and the position of a stream at which the two sides differ."""

    operands: tuple[str, ...]
    types: str
    at: int
    x: tuple[Value | None, ...] = ()

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """The operands as formulas."""
        return tuple(map(parse, self.operands))

    @property
    def stream(self) -> Stream:
        """The stream, of events with no attribute but x."""
        types = self.types.split()
        values = self.x or (None,) * len(types)
        return Stream(Event(R, {} if v is None else {"x": v}) for R, v in zip(types, values, strict=True))


@dataclass(frozen=True)
class Law:
    """left = right; it holds if there is no witness.

    binding: the letters that may stand only for formulas of which every match has an event.
    without: letters with a variable that the formulas they stand for may not have.
    """

    name: str
    left: Formula
    right: Formula
    level: Level
    reason: str
    binding: tuple[str, ...] = ()
    without: tuple[tuple[str, str], ...] = ()
    witness: Witness | None = None

    @property
    def holds(self) -> bool:
        """Whether all instances to which the law applies mean the same on both sides."""
        return self.witness is None

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """The letters that stand for formulas, in the order phi, psi, chi."""
        nodes = (*subformulas(self.left), *subformulas(self.right))
        types = {node.type for node in nodes if isinstance(node, cel.Event)}
        return tuple(letter for letter in LETTERS if letter in types)

    def applies(self, *operands: Formula) -> bool:
        """Whether the law speaks of the instance with these operands."""
        by_letter = dict(zip(self.letters, operands, strict=False))
        return all(always_binds(by_letter[letter]) for letter in self.binding) and not any(
            variable in names(by_letter[letter]) for letter, variable in self.without
        )

    def instance(self, *operands: Formula, predicates: Sequence[Predicate] = PREDICATES) -> tuple[Formula, Formula]:
        """Both sides, with the operands for its letters (those left over are not used) and the predicates for P, Q."""
        if len(operands) < len(self.letters):
            raise ValueError(f"the law {self.name!r} has {', '.join(self.letters)}, but {len(operands)} formulas came")
        by_letter = dict(zip(self.letters, operands, strict=False))
        by_name = dict(zip(("P", "Q"), predicates, strict=True))
        return _substituted(self.left, by_letter, by_name), _substituted(self.right, by_letter, by_name)


def law_of_json(row: Mapping[str, Any]) -> Law:
    """The law that a line of the files of laws has; one with a witness fails. Raises KeyError, ParseError."""
    found = row.get("witness")
    witness = found and Witness(tuple(found["operands"]), found["types"], found["at"], tuple(found.get("x", ())))
    return Law(
        row["name"],
        parse(row["left"]),
        parse(row["right"]),
        row.get("level", "valuations"),
        row["reason"],
        tuple(row.get("binding", ())),
        tuple((letter, variable) for letter, variable in row.get("without", ())),
        witness,
    )


def always_binds(phi: Formula) -> bool:
    """Whether every valuation of the formula has an event: only PROJECT can take away the last one."""
    return not any(isinstance(node, cel.Project) for node in subformulas(phi))


def _substituted(phi: Formula, operands: dict[str, Formula], predicates: dict[str, Predicate]) -> Formula:
    if isinstance(phi, cel.Event) and phi.type in operands:
        return operands[phi.type]
    below = [_substituted(child, operands, predicates) for child in children(phi)]
    if isinstance(phi, cel.Filter):
        return cel.Filter(below[0], _condition(phi.condition, predicates))
    return rebuilt(phi, below)


def _condition(condition: Condition, predicates: dict[str, Predicate]) -> Condition:
    match condition:
        case cel.Named(name, (A,)):
            return cel.Every(A, predicates[name])
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(condition)(_condition(left, predicates), _condition(right, predicates))
        case cel.Every() | cel.Correlated() | cel.Named():
            return condition
        case _:
            assert_never(condition)
