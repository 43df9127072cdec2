"""The laws of CEL, and rewriting by them. A law is an equation of two schematic formulas.

A schematic formula is written like any other. In it the event types phi, psi and chi stand for any formulas, and the
named predicates P and Q for any predicates on one event. All other names and all numbers stand for themselves, but a
law with X and Y holds for any two different variables. A law holds if all its instances mean the same on both sides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal, assert_never

from cerify.equivalence.rewrite.trees import attribute_names, names, with_names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Condition, Formula, subformulas
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate, mapped_predicate, mentions
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value

Level = Literal["valuations", "events"]
"""What both sides of a law have in common at every position: the valuations, or only the complex events."""

LETTERS = ("phi", "psi", "chi")
PREDICATES: tuple[Predicate, Predicate] = (
    Comparison(">", Attribute("x"), Constant(0)),
    Comparison("<", Attribute("x"), Constant(1)),
)
"""The default predicates for P and Q: x > 0 and x < 1."""


@dataclass(frozen=True)
class Witness:
    """A counterexample to a law: formulas for its letters (phi, psi, chi), and a position of a stream at which the
    sides differ.

    operands: the formulas. types: the event types of the stream, separated by blanks. at: the position. x: each event's
    value of the attribute x.
    """

    operands: tuple[str, ...]
    types: str
    at: int
    x: tuple[Value | None, ...] = ()

    @property
    def formulas(self) -> tuple[Formula, ...]:
        """Return the operands as formulas."""
        return tuple(map(parse, self.operands))

    @property
    def stream(self) -> Stream:
        """Return the stream. Its events have only the attribute x."""
        types = self.types.split()
        values = self.x or (None,) * len(types)
        return Stream(Event(R, {} if v is None else {"x": v}) for R, v in zip(types, values, strict=True))


@dataclass(frozen=True)
class Law:
    """An equation left = right of schematic formulas. It holds if there is no witness, that is, no counterexample.

    level: what both sides have in common, the valuations or only the complex events. reason: why the law is true or
    false. binding: the letters (phi, psi, chi) that stand only for formulas whose matches all have an event. without:
    pairs of a letter and a variable that the formulas for the letter must not have.
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
        """Return whether all instances to which the law applies mean the same on both sides."""
        return self.witness is None

    @cached_property
    def letters(self) -> tuple[str, ...]:
        """Return the letters that stand for formulas, in the order phi, psi, chi."""
        nodes = (*subformulas(self.left), *subformulas(self.right))
        types = {node.type for node in nodes if isinstance(node, cel.EventAtom)}
        return tuple(letter for letter in LETTERS if letter in types)

    def applies(self, *operands: Formula) -> bool:
        """Return whether the side conditions of the law hold for these operands."""
        by_letter = dict(zip(self.letters, operands, strict=False))
        return all(always_binds(by_letter[letter]) for letter in self.binding) and not any(
            variable in names(by_letter[letter]) for letter, variable in self.without
        )

    def instance(self, *operands: Formula, predicates: Sequence[Predicate] = PREDICATES) -> tuple[Formula, Formula]:
        """Return both sides with operands in place of the letters phi, psi and chi, and predicates in place of P and Q.

        Operands for other letters are ignored.
        """
        if len(operands) < len(self.letters):
            raise ValueError(
                f"the law {self.name!r} needs formulas for {', '.join(self.letters)}, "
                f"but only {len(operands)} are given"
            )
        by_letter = dict(zip(self.letters, operands, strict=False))
        by_name = dict(zip(("P", "Q"), predicates, strict=True))
        return _substituted(self.left, by_letter, by_name), _substituted(self.right, by_letter, by_name)


def law_of_json(row: Mapping[str, Any]) -> Law:
    """Return the law in a line of a file of laws; a law with a witness is false. Raises KeyError, ParseError."""
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
    """Return whether every valuation of the formula has an event; False if PROJECT may take the last event away."""
    return not any(isinstance(node, cel.Project) for node in subformulas(phi))


def _substituted(phi: Formula, operands: dict[str, Formula], predicates: dict[str, Predicate]) -> Formula:
    if isinstance(phi, cel.EventAtom) and phi.type in operands:
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


# ---------------------------------------------------------------------------------------------------------------------
# The algebra of CEL: named equations between schematic formulas, those that hold and those that fail.
#
# They are data, one law in each line of holding.jsonl and failing.jsonl, which also has the smallest witness found for
# each law. The fields are those of `Law`, and the section of docs/laws.md that lists the law.


def _load_laws(name: str) -> dict[str, tuple[Law, ...]]:
    """Return the laws of a file by section."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8")
    sections = groupby(map(json.loads, text.splitlines()), itemgetter("section"))
    return {section: tuple(map(law_of_json, laws)) for section, laws in sections}


HOLDING, FAILING = _load_laws("holding.jsonl"), _load_laws("failing.jsonl")
LAWS: tuple[Law, ...] = tuple(law for table in (HOLDING, FAILING) for laws in table.values() for law in laws)

__all__ = ["FAILING", "HOLDING", "LAWS", "Law", "Level", "Witness"]


# ---------------------------------------------------------------------------------------------------------------------
# Laws as rewriting rules: if one side of a law matches a formula, the formula is replaced by the other side.
#
# The letters of a law stand for any formulas, P and Q for any predicates on one event. Its other names and attributes
# stand for any names and attributes, as long as different ones stay different: the meaning of a formula does not depend
# on what its types, variables and attributes are called. Numbers stand for themselves.


@dataclass(frozen=True)
class Rule:
    """A law read in one direction."""

    law: Law
    left: Formula
    right: Formula

    def applied(self, phi: Formula) -> Formula | None:
        """Return the other side of the law if this side matches the whole formula; None if the law does not apply."""
        bound = Binding()
        if not bound.matches(self.left, phi) or not self._allowed(bound):
            return None
        return bound.substitute(self.right)

    def _allowed(self, bound: Binding) -> bool:
        """Return whether the side conditions of the law hold for the formulas bound to its letters."""
        return all(always_binds(bound.formulas[letter]) for letter in self.law.binding) and not any(
            bound.names[A] in names(bound.formulas[letter]) for letter, A in self.law.without
        )


@cache
def rules() -> tuple[Rule, ...]:
    """Return rewriting rules made of the true laws: one for each direction that needs no new names.

    No rule introduces derived operators: A ; A does not become A{2}.
    """
    found = []
    for law in LAWS:
        if law.holds:
            for left, right in ((law.left, law.right), (law.right, law.left)):
                new = _has_derived(right) and not _has_derived(left)
                if _symbols(right) | {A for _, A in law.without} <= _symbols(left) and not new:
                    found.append(Rule(law, left, right))
    return tuple(found)


def _has_derived(side: Formula) -> bool:
    return any(isinstance(psi, cel.Derived) for psi in subformulas(side))


@dataclass
class Binding:
    """The values of the letters, names, attributes and predicates of a law, as far as they have been matched."""

    formulas: dict[str, Formula] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)

    def matches(self, pattern: Formula, phi: Formula) -> bool:
        """Return whether the formula is an instance of the pattern that agrees with the values bound so far.

        Letters and names of the pattern that have no value yet are bound.
        """
        if isinstance(pattern, cel.EventAtom) and pattern.type in LETTERS:
            return self.formulas.setdefault(pattern.type, phi) == phi
        if type(pattern) is not type(phi):
            return False
        return self._fields(pattern, phi) and all(
            self.matches(p, psi) for p, psi in zip(children(pattern), children(phi), strict=True)
        )

    def _fields(self, pattern: Formula, phi: Formula) -> bool:
        """Return whether two nodes of one class agree in the fields that are not operands."""
        match pattern, phi:
            case cel.EventAtom(R), cel.EventAtom(T):
                return self._bind_name(R, T)
            case cel.In(_, A), cel.In(_, B):
                return self._bind_name(A, B)
            case cel.Filter(_, c), cel.Filter(_, d):
                return self._condition(c, d)
            case cel.Project(L, _), cel.Project(M, _):
                return self._variables(L, M)
            case cel.PartitionBy(_, a), cel.PartitionBy(_, b):
                return self._attribute(a, b)
            case cel.PerKey(_, a), cel.PerKey(_, b):
                return len(a) == len(b) and all(map(self._attribute, a, b))
            case cel.Within(_, v), cel.Within(_, w):
                return self._window(v, w)
            case cel.Derived(), cel.Derived():
                # With the operands made equal only the own fields are compared, such as the bounds of a repetition,
                # whatever they are.
                return rebuilt(pattern, children(phi)) == phi
        return isinstance(pattern, cel.Plain)

    def substitute(self, pattern: Formula) -> Formula:
        """Return the pattern with the values of its letters and names."""
        if isinstance(pattern, cel.EventAtom):
            R = pattern.type
            return self.formulas[R] if R in LETTERS else cel.EventAtom(self.names[R])
        below = [self.substitute(child) for child in children(pattern)]
        return with_names(
            pattern, below, self.names.__getitem__, self.attributes.__getitem__, self._substitute_condition
        )

    def _bind_name(self, schematic: str, name: str) -> bool:
        if schematic not in self.names and name in self.names.values():
            return False
        return self.names.setdefault(schematic, name) == name

    def _attribute(self, schematic: str, name: str) -> bool:
        # Time is no attribute like others: windows of time read it without naming it, so it cannot be renamed.
        if name == TIME or (schematic not in self.attributes and name in self.attributes.values()):
            return False
        return self.attributes.setdefault(schematic, name) == name

    def _variables(self, L: frozenset[str], M: frozenset[str]) -> bool:
        """Match unbound variables in alphabetical order. Other orders are not tried, so a match may be missed."""
        return len(L) == len(M) and all(
            self._bind_name(A, B)
            for A, B in zip(sorted(L, key=self._bound), sorted(M, key=self._bound_to), strict=True)
        )

    def _bound(self, schematic: str) -> tuple[bool, str]:
        return schematic not in self.names, self.names.get(schematic, schematic)

    def _bound_to(self, name: str) -> tuple[bool, str]:
        return name not in self.names.values(), name

    def _window(self, v: cel.Window, w: cel.Window) -> bool:
        if isinstance(v, cel.AttributeWindow) and isinstance(w, cel.AttributeWindow):
            return v.width == w.width and self._attribute(v.attribute, w.attribute)
        return v == w

    def _condition(self, pattern: Condition, condition: Condition) -> bool:
        match pattern, condition:
            case cel.Named(P, (A,)), cel.Every(B, Q):
                return self._bind_name(A, B) and self.predicates.setdefault(P, Q) == Q
            case cel.Every(A, P), cel.Every(B, Q):
                return self._bind_name(A, B) and self._predicate(P, Q)
            case cel.Correlated(P), cel.Correlated(Q):
                return self._predicate(P, Q)
            case (cel.Conjunction(c, d), cel.Conjunction(e, f)) | (cel.Disjunction(c, d), cel.Disjunction(e, f)):
                return self._condition(c, e) and self._condition(d, f)
            case _:
                return False

    def _predicate(self, P: Predicate, Q: Predicate) -> bool:
        schematic, found = list(mentions(P)), list(mentions(Q))
        if len(schematic) != len(found):
            return False
        for a, b in zip(schematic, found, strict=True):
            if (a.variable is None) != (b.variable is None) or not self._attribute(a.name, b.name):
                return False
            if a.variable is not None and b.variable is not None and not self._bind_name(a.variable, b.variable):
                return False
        return mapped_predicate(P, self._mention, lambda value: value) == Q

    def _mention(self, a: Attribute) -> Attribute:
        return Attribute(self.attributes[a.name], a.variable and self.names[a.variable])

    def _substitute_condition(self, condition: Condition) -> Condition:
        match condition:
            case cel.Named(P, (A,)):
                return cel.Every(self.names[A], self.predicates[P])
            case cel.Every(A, P):
                return cel.Every(self.names[A], mapped_predicate(P, self._mention, lambda value: value))
            case cel.Correlated(P):
                return cel.Correlated(mapped_predicate(P, self._mention, lambda value: value))
            case cel.Conjunction(left, right) | cel.Disjunction(left, right):
                return type(condition)(self._substitute_condition(left), self._substitute_condition(right))
            case cel.Named():
                raise ValueError("the predicates of a law are on one event")
            case _:
                assert_never(condition)


def _symbols(side: Formula) -> frozenset[str]:
    """Return the letters, names, attributes and predicates of a side of a law."""
    return frozenset((*names(side), *attribute_names(side), *_named_predicates(side)))


def _named_predicates(side: Formula) -> Iterator[str]:
    for psi in subformulas(side):
        if isinstance(psi, cel.Filter):
            yield from (atom.name for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Named))
