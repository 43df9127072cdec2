"""Prove that two CEL formulas are equivalent, or that one contains the other, from proofs of their parts.

The last part, `compare_formulas`, chooses among all procedures for CEL.

This is for formulas that compare events in ways that no automaton evaluates. Both sides may have the same filter,
window or partition, written differently or around equivalent parts; or one side has a wider window, or a weaker or
missing condition. The rules are few, and each is sound by itself, so that a checker follows them without a search
(derivation_checker.py). They are not complete. A derivation is a tree of rules; the two formulas at the root determine
the formulas of each rule.

    same        both are one formula, up to the order of operands of OR, AND and ALL; repetition under OR and AND; the
                brackets of `;` and `:`; the order of filters, windows and partitions around one formula; units of time;
                windows beside narrower ones; how comparisons are written; the order of operands of `+` and `*`
    decided     a decider has found a proof, with a certificate of its own
    operands    both have the same operator, and the claim holds for each pair of operands
    conditions  both are filters, windows and partitions around formulas, and the claim holds for these formulas; each
                condition of the right follows from the conditions of the left
    shared      the claim holds without the conditions that both sides have
    choose      the left has conditions around NXT, LAST or MAX, the right has them inside: if the best match of all
                meets the conditions, it is also the best of those that meet them
    drop        the left is an operator that only removes matches, and its operand is contained in the right
    left or     the left is an OR, both sides of which are contained in the right
    right or    the right is an OR, one side of which contains the left
    both        each is contained in the other
    rename      for complex events: the claim holds after variables of both are renamed
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import count, pairwise
from operator import or_
from typing import Any, assert_never

from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide.cel import contained, equivalent
from cerify.equivalence.decide.keys_and_windows import compare_reduced, window_of
from cerify.equivalence.verdict import (
    Bounded,
    Certificate,
    Claim,
    Contained,
    Different,
    Equivalent,
    Level,
    Order,
    RuleProof,
    Undecided,
    Verdict,
)
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time, depth_limited
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, Formula, show
from cerify.semantics.errors import BudgetExceeded, InternalError, MissingPackage, Unsupported
from cerify.semantics.events import TIME, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparator, Predicate, Term, mentions
from cerify.semantics.trees import children, own_values, rebuilt

MIRRORED: dict[Comparator, Comparator] = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "=": "=", "!=": "!="}
COMMUTATIVE = ("+", "*")  # floats too; regrouping would change how they are rounded
TRIES = 2000  # pairs of parts that are looked at
STACK = (cel.Filter, cel.Within, cel.PartitionBy)  # each judges a valuation by itself, so their order does not matter
BLIND = (
    cel.Sequencing, cel.Iteration, cel.Preference, cel.Start, cel.Strict, cel.Or, cel.All, cel.Unless, cel.In,
    cel.PerKey,
)  # fmt: skip
"""The operators whose complex events depend only on the complex events of their operands."""


# --- normal forms -----------------------------------------------------------------------------------------------------


def key_of(phi: Formula, schema: Schema | None = None) -> object:
    """Return a value that is equal for two expanded formulas that differ only in ways that the rule `same` allows."""
    conditions, core = stack_of(phi)
    if conditions:
        kept = [key_of_condition(c, schema) for c in conditions if not is_wider(c, conditions, schema)]
        return ("stack", frozenset(kept), key_of(core, schema))
    match phi:
        case cel.Or() | cel.And():
            return (type(phi).__name__, frozenset(key_of(psi, schema) for psi in _chain(phi, type(phi))))
        case cel.All():
            # With numbers, unlike OR: ALL of a formula with itself may have two matches of it.
            return ("All", _bag([key_of(psi, schema) for psi in _chain(phi, cel.All)]))
        case cel.Sequencing():
            return (type(phi).__name__, tuple(key_of(psi, schema) for psi in _chain(phi, type(phi))))
        case cel.PerKey(psi, names):
            return ("per key", frozenset(names), key_of(psi, schema))
        case cel.Filter() | cel.Within() | cel.PartitionBy() | cel.Derived():
            raise InternalError("the conditions around the formula were not removed, or the formula is not expanded")
    return (type(phi).__name__, own_values(phi), tuple(key_of(psi, schema) for psi in children(phi)))


def _chain(phi: Formula, kind: type) -> Iterator[Formula]:
    for psi in children(phi):
        if type(psi) is kind:
            yield from _chain(psi, kind)
        else:
            yield psi


def _bag(keys: Sequence[object]) -> frozenset[tuple[object, int]]:
    return frozenset((key, sum(1 for other in keys if other == key)) for key in keys)


def stack_of(phi: Formula) -> tuple[list[cel.Condition | cel.Window | str], Formula]:
    """Return the filters (conjuncts), windows and partitions (attributes) around a formula, and the formula inside."""
    found: list[cel.Condition | cel.Window | str] = []
    while isinstance(phi, STACK):
        match phi:
            case cel.Filter(_, condition):
                found += cel.conjuncts(condition)
            case cel.Within(_, window):
                found.append(window)
            case cel.PartitionBy(_, a):
                found.append(a)
        phi = phi.phi
    return found, phi


def with_conditions(phi: Formula, conditions: Sequence[cel.Condition | cel.Window | str]) -> Formula:
    """Put these filters, windows and partitions around a formula, the first one outermost; return the result."""
    for c in reversed(conditions):
        if isinstance(c, str):
            phi = cel.PartitionBy(phi, c)
        elif isinstance(c, cel.EventWindow | cel.TimeWindow | cel.AttributeWindow):
            phi = cel.Within(phi, c)
        else:
            phi = cel.Filter(phi, c)
    return phi


def _look_at_variables(conditions: Sequence[cel.Condition | cel.Window | str]) -> bool:
    return any(isinstance(c, cel.Every | cel.Correlated | cel.Named | cel.Disjunction) for c in conditions)


def is_wider(
    c: cel.Condition | cel.Window | str, known: Sequence[cel.Condition | cel.Window | str], schema: Schema | None
) -> bool:
    """Return whether c is a window, and `known` has a window of the same kind that is as narrow or narrower."""
    if isinstance(c, cel.EventWindow):
        return any(isinstance(d, cel.EventWindow) and d.count < c.count for d in known)
    if not isinstance(c, cel.TimeWindow | cel.AttributeWindow):
        return False
    name, width = window_of(c, schema) or ("", 0)
    others = [window_of(d, schema) for d in known if isinstance(d, cel.TimeWindow | cel.AttributeWindow)]
    return any(other is not None and other[0] == name and other[1] < width for other in others)


def key_of_condition(c: cel.Condition | cel.Window | str, schema: Schema | None) -> object:
    """Return a value that is equal for conditions that mean the same but are written differently."""
    match c:
        case str():
            return ("partition", c)
        case cel.EventWindow(count):
            return ("events", count)
        case cel.TimeWindow() | cel.AttributeWindow():
            return ("window", *(window_of(c, schema) or ()))
        case cel.Every(A, P):
            return ("every", A, key_of_predicate(P))
        case cel.Correlated(P):
            return ("correlated", key_of_predicate(P))
        case cel.Named(name, variables):
            return ("named", name, variables)
        case cel.Conjunction() | cel.Disjunction():
            parts = _parts(c, type(c))
            return (type(c).__name__, frozenset(key_of_condition(part, schema) for part in parts))
        case _:
            assert_never(c)


def _parts(c: cel.Condition, kind: type) -> Iterator[cel.Condition]:
    if isinstance(c, cel.Conjunction | cel.Disjunction) and type(c) is kind:
        yield from _parts(c.left, kind)
        yield from _parts(c.right, kind)
    else:
        yield c


def key_of_predicate(P: Predicate) -> object:
    """Return the same key for predicates that differ only in the order or repetition of operands."""
    match P:
        case pred.Comparison(comparator, left, right):
            first, second = key_of_term(left), key_of_term(right)
            if first <= second:
                return ("compare", comparator, first, second)
            return ("compare", MIRRORED[comparator], second, first)
        case pred.Both() | pred.Either():
            return (type(P).__name__, frozenset(map(key_of_predicate, _operands(P, type(P)))))
        case pred.Not(inner):
            return ("not", key_of_predicate(inner))
        case pred.Anything() | pred.OfType() | pred.OneOf() | pred.InRange() | pred.Like():
            return P
        case _:
            assert_never(P)


def key_of_term(t: Term) -> str:
    """Return a text that is equal for terms that differ only in the order of the operands of + and *."""
    if not isinstance(t, pred.Arithmetic):
        return repr(t)
    operands = [key_of_term(t.left), key_of_term(t.right)]
    return f"({t.operator.join(sorted(operands) if t.operator in COMMUTATIVE else operands)})"


def _operands(P: Predicate, kind: type) -> Iterator[Predicate]:
    if isinstance(P, pred.Both | pred.Either) and type(P) is kind:
        yield from _operands(P.left, kind)
        yield from _operands(P.right, kind)
    else:
        yield P


# --- conditions -------------------------------------------------------------------------------------------------------


def follows(
    c: cel.Condition | cel.Window | str,
    known: Sequence[cel.Condition | cel.Window | str],
    schema: Schema | None,
    budget: Budget,
) -> bool:
    """Return whether a condition on a valuation follows from known conditions, by simple rules only.

    False means that no rule proves it.
    """
    if any(key_of_condition(c, schema) == key_of_condition(d, schema) for d in known):
        return True
    for i, d in enumerate(known):
        if isinstance(d, cel.Disjunction):
            rest = [*known[:i], *known[i + 1 :]]
            return all(follows(c, [*rest, *cel.conjuncts(e)], schema, budget) for e in (d.left, d.right))
    match c:
        case cel.EventWindow(count):
            return any(isinstance(d, cel.EventWindow) and d.count <= count for d in known)
        case cel.TimeWindow() | cel.AttributeWindow():
            name, width = window_of(c, schema) or ("", 0)
            given = [
                m for d in known if isinstance(d, cel.TimeWindow | cel.AttributeWindow) and (m := window_of(d, schema))
            ]
            return any(other == name and narrower <= width for other, narrower in given)
        case cel.Every(A, P):
            given_here = [d.predicate for d in known if isinstance(d, cel.Every) and d.variable == A]
            return entails(given_here, P, schema, budget)
        case cel.Correlated(P):
            return any(
                isinstance(d, cel.Correlated)
                and _same_mentions(d.predicate, P)
                # Without the schema, which does not have the attributes of the joined event.
                and entails([_as_one_event(d.predicate)], _as_one_event(P), None, budget)
                for d in known
            )
        case cel.Disjunction(left, right):
            return any(all(follows(e, known, schema, budget) for e in cel.conjuncts(d)) for d in (left, right))
        case cel.Conjunction(left, right):
            return follows(left, known, schema, budget) and follows(right, known, schema, budget)
        case str() | cel.Named():
            return False
        case _:
            assert_never(c)


def entails(known: Sequence[Predicate], P: Predicate, schema: Schema | None, budget: Budget) -> bool:
    """Return whether every event that satisfies all of these predicates satisfies P too."""
    count = len(known)
    for solver in (False, True):
        types = minterms([*known, P], schema, budget, solver)
        if not any(set(range(count)) <= m.chosen and count not in m.chosen for m in types):
            return True
    return False


def _same_mentions(P: Predicate, Q: Predicate) -> bool:
    """Return whether two predicates across events mention the same variables, each exactly once."""
    first, second = (sorted(str(a.variable) for a in mentions(R)) for R in (P, Q))
    return first == second and len(set(first)) == len(first)


def _as_one_event(P: Predicate) -> Predicate:
    """Return a predicate across events as a predicate on one event that has the attributes of all these events."""
    return pred.mapped_predicate(P, lambda a: Attribute(f"{a.variable}.{a.name}"))


def is_written_so(phi: Formula, psi: Formula, claim: Claim, schema: Schema | None) -> RuleProof | None:
    """Prove the claim by the rule `same` alone, which compares how expanded formulas are written; None if it fails."""
    if key_of(phi, schema) == key_of(psi, schema):
        return RuleProof("same")
    chosen = _chosen_first(phi) if claim == "contained" else None
    if chosen is not None and key_of(chosen, schema) == key_of(psi, schema):
        return RuleProof("choose", (RuleProof("same"),))
    return None


# --- names of variables -----------------------------------------------------------------------------------------------
#
# Complex events do not show which variable holds an event. Without AND and PROJECT, a variable holds at a filter the
# events of certain atoms inside: those under IN with the variable's name, and those of the event type with this name.
# So the variable can be renamed to an event type, if it holds all events of the type, or else to the numbers of its
# atoms. AND and PROJECT look at names; with them, variables of IN are numbered, so that different ones stay different.


def with_canonical_names(*formulas: Formula) -> tuple[Formula, ...]:
    """Rename the variables of expanded formulas by what they hold; return formulas with the same complex events.

    Formulas that differ only in the names of variables become equal.
    """
    prefix = _unused_prefix({A for phi in formulas for A in _fixed_names(phi)})
    namings = {i: NamesByAtoms(phi, prefix) for i, phi in enumerate(formulas) if not _looks_at_names(phi)}
    sets = {atoms: name for naming in namings.values() for atoms, name in naming.names.items()}
    named = []
    for i, phi in enumerate(formulas):
        if i in namings:
            named.append(namings[i].rebuilt(sets))
        else:
            types = {psi.type for psi in cel.subformulas(phi) if isinstance(psi, cel.EventAtom)}
            written = dict.fromkeys(psi.variable for psi in cel.subformulas(phi) if isinstance(psi, cel.In))
            numbered = enumerate((A for A in written if A not in types), 1)
            named.append(_with_names(phi, {A: f"{prefix}{n}" for n, A in numbered}))
    return tuple(named)


def _looks_at_names(phi: Formula) -> bool:
    return any(isinstance(psi, cel.And | cel.Project) for psi in cel.subformulas(phi))


def _fixed_names(phi: Formula) -> set[str]:
    """Return the event types of a formula, and its variables that no IN binds."""
    types = {psi.type for psi in cel.subformulas(phi) if isinstance(psi, cel.EventAtom)}
    mentioned = {A for psi in cel.subformulas(phi) for A in _variables_of(psi)}
    return types | mentioned - {psi.variable for psi in cel.subformulas(phi) if isinstance(psi, cel.In)}


def _variables_of(phi: Formula) -> Iterator[str]:
    """Yield the variables that the outermost operator of a formula mentions."""
    match phi:
        case cel.In(_, A):
            yield A
        case cel.Project(L, _):
            yield from L
        case cel.Filter(_, condition):
            for atom in cel.atoms(condition):
                match atom:
                    case cel.Every(A, _):
                        yield A
                    case cel.Correlated(P):
                        yield from (a.variable for a in mentions(P) if a.variable is not None)
                    case cel.Named(_, variables):
                        yield from variables
                    case _:
                        assert_never(atom)


def _unused_prefix(taken: set[str]) -> str:
    """Return a prefix from which no taken name can be made by adding a number."""
    prefixes = (f"v{'_' * n}" for n in count())
    return next(v for v in prefixes if not any(re.fullmatch(f"{v}[0-9][0-9_]*", name) for name in taken))


def _with_names(phi: Formula, names: Mapping[str, str]) -> Formula:
    """Return the formula with new names for its variables, in IN, PROJECT and filters alike."""
    below = [_with_names(psi, names) for psi in children(phi)]
    match phi:
        case cel.In(_, A):
            return cel.In(below[0], names.get(A, A))
        case cel.Project(L, _):
            return cel.Project(frozenset(names.get(A, A) for A in L), below[0])
        case cel.Filter(_, condition):
            return cel.Filter(below[0], _condition_with_names(condition, names))
    return rebuilt(phi, below)


def _condition_with_names(c: cel.Condition, names: Mapping[str, str]) -> cel.Condition:
    match c:
        case cel.Every(A, P):
            return cel.Every(names.get(A, A), P)
        case cel.Correlated(P):
            return cel.Correlated(
                pred.mapped_predicate(P, lambda a: Attribute(a.name, names.get(a.variable or "", a.variable)))
            )
        case cel.Named(name, variables):
            return cel.Named(name, tuple(names.get(A, A) for A in variables))
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(c)(_condition_with_names(left, names), _condition_with_names(right, names))
        case _:
            assert_never(c)


class NamesByAtoms:
    """Chooses names for the variables of one formula without AND and PROJECT.

    A variable is named by the atoms whose events it holds. An atom is an occurrence of an event type in the formula; a
    set of atoms is an integer with a bit for each.
    """

    def __init__(self, phi: Formula, prefix: str) -> None:
        self.phi = phi
        self.prefix = prefix
        self.names: dict[int, str] = {}  # of the sets of atoms that filters use, except those of event types
        self.conditions: list[cel.Condition] = []  # renamed, those of inner filters first
        self.number = count()
        self._find_atoms(phi)

    def rebuilt(self, sets: Mapping[int, str]) -> Formula:
        """Return the formula with new variables. sets: for each set of atoms, the name of the variable that holds their
        events.
        """
        self.number = count()
        return self._rebuilt(self.phi, iter(self.conditions), sets)

    def _find_atoms(self, phi: Formula) -> tuple[dict[str, int], dict[str, int]]:
        """Return the atoms of each variable, and those of each event type. Store the conditions of filters, with
        variables renamed by their atoms.
        """
        below = [self._find_atoms(psi) for psi in children(phi)]
        if isinstance(phi, cel.EventAtom):
            atom = {phi.type: 1 << next(self.number)}
            return atom, atom
        if len(below) == 1 or isinstance(phi, cel.Unless):  # UNLESS hides the variables of its right side
            held, types = below[0]
        else:
            held, types = ({A: x.get(A, 0) | y.get(A, 0) for A in {**x, **y}} for x, y in zip(*below, strict=True))
        if isinstance(phi, cel.In):
            held = {**held, phi.variable: reduce(or_, held.values())}
        if isinstance(phi, cel.Filter):
            of_types = {atoms: R for R, atoms in types.items()}
            names = {
                A: of_types.get(atoms) or self._name(atoms) for A, atoms in held.items() if A in _variables_of(phi)
            }
            self.conditions.append(_condition_with_names(phi.condition, names))
        return held, types

    def _name(self, atoms: int) -> str:
        if atoms not in self.names:
            numbers = (n for n in range(atoms.bit_length()) if atoms >> n & 1)
            self.names[atoms] = self.prefix + "_".join(str(n + 1) for n in numbers)
        return self.names[atoms]

    def _rebuilt(self, phi: Formula, conditions: Iterator[cel.Condition], sets: Mapping[int, str]) -> Formula:
        below = [self._rebuilt(psi, conditions, sets) for psi in children(phi)]
        match phi:
            case cel.EventAtom():
                here = 1 << next(self.number)
                names = sorted(name for atoms, name in sets.items() if atoms & here)
                atom: Formula = phi
                for name in names:
                    atom = cel.In(atom, name)
                return atom
            case cel.In():
                return below[0]
            case cel.Filter():
                return cel.Filter(below[0], next(conditions))
        return rebuilt(phi, below)


def _renamed(by: RuleProof | None, phi: Formula, psi: Formula) -> RuleProof | None:
    """Return the proof by the rule `rename`, made from the formulas with their new names and the proof about these."""
    return None if by is None else RuleProof("rename", (by,), formulas=(show(phi), show(psi)))


# --- the search -------------------------------------------------------------------------------------------------------


@dataclass
class Derivations:
    """A search for derivations, with its remaining budget."""

    schema: Schema | None
    order: Order
    budget: Budget
    tries: int = TRIES

    def derive(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        """Return a derivation of the claim about two expanded formulas; None if the search finds no derivation."""
        check_time()
        self.tries -= 1
        if self.tries < 0:
            return None
        if (written := is_written_so(phi, psi, claim, self.schema)) is not None:
            return written
        found = self._decide(phi, psi, claim, level) or self._by_parts(phi, psi, claim, level)
        return found or (self._rename(phi, psi, claim) if level == "events" else None)

    def _rename(self, phi: Formula, psi: Formula, claim: Claim) -> RuleProof | None:
        """Prove a claim about complex events of formulas with filters by giving their variables other names."""
        if not all(isinstance(chi, STACK) and _look_at_variables(stack_of(chi)[0]) for chi in (phi, psi)):
            return None  # names matter only in filters; the search renames those of parts when it reaches the parts
        left, right = with_canonical_names(phi, psi)
        if (left, right) == (phi, psi):
            return None
        by = is_written_so(left, right, claim, self.schema) or self._by_parts(left, right, claim, "events")
        return _renamed(by, left, right)

    def _decide(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        try:
            if compilable(phi) and compilable(psi):
                decide = equivalent if claim == "equivalent" else contained
                verdict = decide(phi, psi, level, self.schema, self.budget)
            else:
                verdict = compare_reduced(phi, psi, claim, level, self.schema, self.order, self.budget)
        except (Unsupported, BudgetExceeded):
            return None
        if isinstance(verdict, Equivalent | Contained):
            return RuleProof("decided", certificate=verdict.certificate)
        return None

    def _by_parts(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        if compilable(phi) and compilable(psi):
            return None  # the decider has refuted the claim, or cannot decide its parts either
        found = (
            self._conditions(phi, psi, claim, level)
            or self._shared(phi, psi, claim, level)
            or self._operands(phi, psi, claim, level)
        )
        if found is not None or claim == "equivalent":
            return found or self._both(phi, psi, level)
        if isinstance(phi, cel.Or):
            left = self.derive(phi.left, psi, claim, level)
            right = left and self.derive(phi.right, psi, claim, level)
            return RuleProof("left or", (left, right)) if left and right else None
        if isinstance(psi, cel.Or):
            for side, chi in enumerate((psi.left, psi.right)):
                if (part := self.derive(phi, chi, claim, level)) is not None:
                    return RuleProof("right or", (part,), side)
        if isinstance(phi, cel.Restriction | cel.Preference | cel.Unless):
            part = self.derive(children(phi)[0], psi, claim, level)
            return None if part is None else RuleProof("drop", (part,))
        return None

    def _both(self, phi: Formula, psi: Formula, level: Level) -> RuleProof | None:
        there = self.derive(phi, psi, "contained", level)
        back = there and self.derive(psi, phi, "contained", level)
        return RuleProof("both", (there, back)) if there and back else None

    def _conditions(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        """Prove a claim by the rule for filters, windows and partitions."""
        (mine, phi_core), (theirs, psi_core) = stack_of(phi), stack_of(psi)
        if not theirs and not (mine and claim == "equivalent"):
            return None
        ask = [(c, mine) for c in theirs] + ([(c, theirs) for c in mine] if claim == "equivalent" else [])
        try:
            if not all(follows(c, given, self.schema, self.budget) for c, given in ask):
                return None
        except (Unsupported, BudgetExceeded):
            return None
        part = self.derive(phi_core, psi_core, claim, "valuations" if _look_at_variables([*mine, *theirs]) else level)
        return None if part is None else RuleProof("conditions", (part,))

    def _shared(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        """Prove a claim by the rule `shared`: prove it without the conditions that both sides have."""
        (mine, phi_core), (theirs, psi_core) = stack_of(phi), stack_of(psi)
        keys = [[key_of_condition(c, self.schema) for c in conditions] for conditions in (mine, theirs)]
        shared = {*keys[0]} & {*keys[1]}
        if not shared or shared == {*keys[0], *keys[1]}:
            return None
        left, right = (
            with_conditions(core, [c for c, key in zip(conditions, known, strict=True) if key not in shared])
            for core, conditions, known in zip((phi_core, psi_core), (mine, theirs), keys, strict=True)
        )
        taken = [c for c, key in zip(mine, keys[0], strict=True) if key in shared]
        part = self.derive(left, right, claim, "valuations" if _look_at_variables(taken) else level)
        return None if part is None else RuleProof("shared", (part,))

    def _operands(self, phi: Formula, psi: Formula, claim: Claim, level: Level) -> RuleProof | None:
        """Prove a claim by the rules for formulas with the same operator on both sides, from claims about the
        operands.
        """
        if type(phi) is not type(psi) or isinstance(phi, cel.EventAtom | cel.Filter | cel.Within | cel.PartitionBy):
            return None
        if isinstance(phi, cel.PerKey) and isinstance(psi, cel.PerKey):
            if {*phi.attributes} != {*psi.attributes}:
                return None
        elif own_values(phi) != own_values(psi) and not (isinstance(phi, cel.In) and level == "events"):
            return None
        inner: Level = level if isinstance(phi, BLIND) else "valuations"
        parts: list[RuleProof] = []
        levels = [inner for _ in children(phi)]
        pairs: list[tuple[Formula, Formula]] = list(zip(children(phi), children(psi), strict=True))
        if isinstance(phi, cel.Unless):  # with more rivals on the right there are fewer matches, whatever they bind
            pairs[1], levels[1] = pairs[1][::-1], "events"
        # If its operand has more matches, a strategy may prefer another match, so it does not preserve containment.
        preserves = OPERATORS[type(phi)].monotone or isinstance(phi, cel.Unless)
        wanted: Claim = claim if preserves else "equivalent"
        for (mine, theirs), at in zip(pairs, levels, strict=True):
            if (part := self.derive(mine, theirs, wanted, at)) is None:
                return None
            parts.append(part)
        return RuleProof("operands", tuple(parts))


def _chosen_first(phi: Formula) -> Formula | None:
    """Return the formula with its strategy outside its conditions. If no condition encloses a strategy, return None."""
    layers: list[cel.Filter | cel.Within | cel.PartitionBy] = []
    while isinstance(phi, cel.Filter | cel.Within | cel.PartitionBy):
        layers.append(phi)
        phi = phi.phi
    if not layers or not isinstance(phi, cel.Preference):
        return None
    inner: Formula = phi.phi
    for layer in reversed(layers):
        inner = rebuilt(layer, [inner])
    return rebuilt(phi, [inner])


def prove(
    phi: Formula,
    psi: Formula,
    claim: Claim,
    level: Level,
    schema: Schema | None,
    order: Order,
    budget: Budget,
    only_same: bool = False,
) -> Equivalent | Contained | None:
    """Return a proof by rules; None if the search finds no proof. only_same: use only the rule `same`."""
    with depth_limited(phi.span):
        left, right = cel.expanded(phi), cel.expanded(psi)
        if only_same:
            derivation = is_written_so(left, right, claim, schema)
            if derivation is None and level != "valuations":
                mine, theirs = with_canonical_names(left, right)
                derivation = _renamed(is_written_so(mine, theirs, claim, schema), mine, theirs)
        else:
            by: Level = "events" if level == "positions" else level  # the rules do not hold for positions alone
            derivation = Derivations(schema, order, budget).derive(left, right, claim, by)
        if derivation is None:
            return None
        orders = {leaf.order for leaf in derivation.certificates()}
        needed: Order = order if orders - {"any"} else "any"
        certificate = Certificate(
            claim, show(phi), show(psi), level, schema, False, (), order=needed, derivation=derivation
        )
        return Contained(certificate) if claim == "contained" else Equivalent(certificate)


# ---------------------------------------------------------------------------------------------------------------------
# Decide whether two CEL formulas are equivalent, or one contains the other, by the first decider that can.
#
# The deciders, in this order:
#
# - cel.py: formulas that look at one event at a time
# - derivation.py: proofs by a few rules, for formulas that differ only in how they are written
# - keys_and_windows.py: formulas with keys and windows
# - derivation.py again, on all parts of the formulas
# - bounded.py: all streams up to a length
#
# If none decides, the verdict is Bounded or Undecided, with the reason of the decider that came closest.


def compare_formulas(
    phi: Formula,
    psi: Formula,
    claim: Claim,
    level: Level = "events",
    schema: Schema | None = None,
    order: Order = "non-decreasing",
    bound: int = 4,
    budget: Budget = Budget(),
) -> Verdict:
    """Decide whether psi has all matches of phi and, for the claim "equivalent", no others.

    The claim is about every position of every stream (of the schema, if there is one) with times in this order. If the
    claim cannot be decided, all streams of up to `bound` events are searched for a difference.
    """
    verdict = _compare(phi, psi, claim, level, schema, order, bound, budget)
    # cel.py knows no order of times. What it proves holds for all streams, so for those in this order as well; but the
    # stream on which it finds a difference may have other times.
    if isinstance(verdict, Different) and not has_order(verdict.stream, order):
        return Undecided(
            f"the queries differ on a stream whose times are not in the order {order}; other streams are undecided"
        )
    return verdict


def has_order(S: Stream, order: Order) -> bool:
    """Return whether the times of a stream are in an order; events without a time do not matter."""
    if order == "any":
        return True
    times: list[Any] = [time for event in S if (time := event.get(TIME)) is not None]
    after = operator.lt if order == "strict" else operator.le
    try:
        return all(after(one, other) for one, other in pairwise(times))
    except TypeError:  # times of two kinds have no order
        return False


def _compare(
    phi: Formula,
    psi: Formula,
    claim: Claim,
    level: Level,
    schema: Schema | None,
    order: Order,
    bound: int,
    budget: Budget,
) -> Verdict:
    by_automata = compilable(phi) and compilable(psi)
    if by_automata:
        verdict: Verdict = (equivalent if claim == "equivalent" else contained)(phi, psi, level, schema, budget)
        if not isinstance(verdict, Undecided):
            return verdict
    # most pairs are decided by now, in less time than these imports take
    from cerify.equivalence.decide.keys_and_windows import compare_reduced

    if (proved := prove(phi, psi, claim, level, schema, order, budget, only_same=True)) is not None:
        return proved
    if by_automata:
        return verdict
    try:
        verdict = compare_reduced(phi, psi, claim, level, schema, order, budget)
        if not isinstance(verdict, Undecided):
            return verdict
        reason = verdict.reason
    except (Unsupported, BudgetExceeded) as error:
        reason = error.message
    try:
        if (proved := prove(phi, psi, claim, level, schema, order, budget)) is not None:
            return proved
    except BudgetExceeded as error:
        reason = reason if error.message in reason else f"{reason}; {error.message}"
    if bound == 0:
        return Undecided(f"{reason}; with a bound of 0 no stream is searched")
    try:
        from cerify.equivalence.bounded import compare  # it needs z3

        searched = compare(phi, psi, bound, level, claim == "contained", schema, budget=budget, order=order)
    except MissingPackage as error:
        return Undecided(f"{reason}; streams were not searched: {error.message}")
    match searched:
        case Bounded():
            return replace(searched, reason=reason)
        case Undecided(why):
            return Undecided(f"{reason}; {why}")
    return searched
