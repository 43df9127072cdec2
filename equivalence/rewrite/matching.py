"""Laws as rewriting rules: one side of a law matched against a formula, the other side written for what was matched.

The letters of a law stand for any formulas, P and Q for any predicates on one event. Its other names, and its
attributes, stand for any names and attributes as long as different ones stay different: nothing in the meaning of a
formula depends on what its types, variables and attributes are called. Numbers stand for themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import assert_never

from cerify.equivalence.rewrite.laws import LAWS, Law
from cerify.equivalence.rewrite.laws.law import LETTERS, always_binds
from cerify.equivalence.rewrite.trees import attribute_names, names, with_names
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula, subformulas
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Attribute, Predicate, mapped_predicate, mentions
from cerify.semantics.trees import children, rebuilt


@dataclass(frozen=True)
class Rule:
    """A law read in one direction."""

    law: Law
    left: Formula
    right: Formula

    def applied(self, phi: Formula) -> Formula | None:
        """The other side for what this side matches in the formula itself, None where the law does not apply."""
        bound = Binding()
        if not bound.matches(self.left, phi) or not self._allowed(bound):
            return None
        return bound.written(self.right)

    def _allowed(self, bound: Binding) -> bool:
        """The side conditions of the law, of the names that its own stand for."""
        return all(always_binds(bound.formulas[letter]) for letter in self.law.binding) and not any(
            bound.names[A] in names(bound.formulas[letter]) for letter, A in self.law.without
        )


@cache
def rules() -> tuple[Rule, ...]:
    """The laws that hold, in each direction in which what is written depends only on what was matched.

    No rule writes a derived operator where there was none: A ; A stays as it is, and is not written A{2}.
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
    """What the letters, names, attributes and predicates of a law stand for, as far as it was matched."""

    formulas: dict[str, Formula] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    predicates: dict[str, Predicate] = field(default_factory=dict)

    def matches(self, pattern: Formula, phi: Formula) -> bool:
        """Whether the formula is an instance of the pattern that agrees with what is bound; binds the rest."""
        if isinstance(pattern, cel.Event) and pattern.type in LETTERS:
            return self.formulas.setdefault(pattern.type, phi) == phi
        if type(pattern) is not type(phi):
            return False
        return self._fields(pattern, phi) and all(
            self.matches(p, psi) for p, psi in zip(children(pattern), children(phi), strict=True)
        )

    def _fields(self, pattern: Formula, phi: Formula) -> bool:
        """Whether two nodes of one class agree in what is no operand."""
        match pattern, phi:
            case cel.Event(R), cel.Event(T):
                return self._named(R, T)
            case cel.In(_, A), cel.In(_, B):
                return self._named(A, B)
            case cel.Filter(_, c), cel.Filter(_, d):
                return self._condition(c, d)
            case cel.Project(L, _), cel.Project(M, _):
                return self._variables(L, M)
            case cel.PartitionBy(_, a), cel.PartitionBy(_, b):
                return self._attribute(a, b)
            case cel.Within(_, v), cel.Within(_, w):
                return self._window(v, w)
            case cel.Derived(), cel.Derived():
                return rebuilt(pattern, children(phi)) == phi
        return isinstance(pattern, cel.Plain)

    def written(self, pattern: Formula) -> Formula:
        """The pattern with what its letters and names stand for."""
        if isinstance(pattern, cel.Event):
            R = pattern.type
            return self.formulas[R] if R in LETTERS else cel.Event(self.names[R])
        below = [self.written(child) for child in children(pattern)]
        return with_names(pattern, below, self.names.__getitem__, self.attributes.__getitem__, self._written)

    def _named(self, schematic: str, name: str) -> bool:
        if schematic not in self.names and name in self.names.values():
            return False
        return self.names.setdefault(schematic, name) == name

    def _attribute(self, schematic: str, name: str) -> bool:
        if name == TIME or (schematic not in self.attributes and name in self.attributes.values()):
            return False
        return self.attributes.setdefault(schematic, name) == name

    def _variables(self, L: frozenset[str], M: frozenset[str]) -> bool:
        """Variables that are not bound yet are taken in order: one way of several, which may miss a match."""
        return len(L) == len(M) and all(
            self._named(A, B) for A, B in zip(sorted(L, key=self._bound), sorted(M, key=self._bound_to), strict=True)
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
                return self._named(A, B) and self.predicates.setdefault(P, Q) == Q
            case cel.Every(A, P), cel.Every(B, Q):
                return self._named(A, B) and self._predicate(P, Q)
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
            if a.variable is not None and b.variable is not None and not self._named(a.variable, b.variable):
                return False
        return mapped_predicate(P, self._mention, lambda value: value) == Q

    def _mention(self, a: Attribute) -> Attribute:
        return Attribute(self.attributes[a.name], a.variable and self.names[a.variable])

    def _written(self, condition: Condition) -> Condition:
        match condition:
            case cel.Named(P, (A,)):
                return cel.Every(self.names[A], self.predicates[P])
            case cel.Every(A, P):
                return cel.Every(self.names[A], mapped_predicate(P, self._mention, lambda value: value))
            case cel.Correlated(P):
                return cel.Correlated(mapped_predicate(P, self._mention, lambda value: value))
            case cel.Conjunction(left, right) | cel.Disjunction(left, right):
                return type(condition)(self._written(left), self._written(right))
            case cel.Named():
                raise ValueError("the predicates of a law are on one event")
            case _:
                assert_never(condition)


def _symbols(side: Formula) -> frozenset[str]:
    """The letters, names, attributes and predicates of a side of a law."""
    return frozenset((*names(side), *attribute_names(side), *_named_predicates(side)))


def _named_predicates(side: Formula) -> Iterator[str]:
    for psi in subformulas(side):
        if isinstance(psi, cel.Filter):
            yield from (atom.name for atom in cel.atoms(psi.condition) if isinstance(atom, cel.Named))
