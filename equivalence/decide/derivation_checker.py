"""Check whether a derivation proves its claim about two CEL formulas. Each rule is followed once, from the root.

derivation.py explains the rules. For each rule this module knows which claims about which parts must be proved. A
decider's proof must be about exactly these parts; the checker of this decider checks it. No code is shared with the
search. The check trusts the parser and the predicate algebra, which lists the types of events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra
from cerify.equivalence.verdict import Certificate, Claim, Level, RuleProof
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import TIME, Schema
from cerify.semantics.predicates import Predicate
from cerify.semantics.trees import children, own_values, rebuilt

Part: TypeAlias = cel.Condition | cel.Window | str
"""A condition on a valuation: a filter's condition, a window, or the attribute of a partition."""

SECONDS_IN = (("second", 1), ("minute", 60), ("hour", 3600), ("day", 86400))
FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


class RuleFails(Exception):
    """Raised if a rule does not prove the claim for which it is used; the message says why."""


@dataclass(frozen=True)
class DerivationCheck:
    """The check of one certificate. flaw: a function that returns the flaw in the certificate of a decider."""

    certificate: Certificate
    budget: Budget
    flaw: Callable[[Certificate], str | None]

    def run(self) -> str | None:
        """Return the flaw in the certificate; None if it proves its claim. Raises BudgetExceeded."""
        assert self.certificate.derivation is not None
        phi, psi = (cel.expanded(parse(text)) for text in (self.certificate.left, self.certificate.right))
        try:
            level = self.certificate.level  # matches with the same events end at the same positions
            by: Level = "events" if level == "positions" else level
            self.follow(self.certificate.derivation, phi, psi, self.certificate.claim, by)
        except RuleFails as error:
            return str(error)
        return None

    def follow(self, by: RuleProof, phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level) -> None:
        """Raise RuleFails unless the derivation proves the claim about phi and psi."""
        check_time()
        match by.rule, by.parts:
            case "same", ():
                if not self.alike(phi, psi):
                    raise RuleFails("the rule `same` is used for two parts that differ")
            case "decided", ():
                self._check_decided(by.certificate, phi, psi, claim, level)
            case "both", (there, back):
                self.follow(there, phi, psi, "contained", level)
                self.follow(back, psi, phi, "contained", level)
            case "left or", (first, second) if claim == "contained" and isinstance(phi, cel.Or):
                self.follow(first, phi.left, psi, claim, level)
                self.follow(second, phi.right, psi, claim, level)
            case "right or", (part,) if claim == "contained" and isinstance(psi, cel.Or) and by.side in (0, 1):
                self.follow(part, phi, psi.right if by.side else psi.left, claim, level)
            case "choose", (part,) if claim == "contained":
                self.follow(part, _with_conditions_inside(phi), psi, claim, level)
            case "drop", (part,) if claim == "contained":
                self.follow(part, _dropped(phi), psi, claim, level)
            case "conditions", (part,):
                self._conditions(part, phi, psi, claim, level)
            case "shared", (part,):
                self._shared(part, phi, psi, claim, level)
            case "operands", parts:
                self._operands(parts, phi, psi, claim, level)
            case "rename", (part,) if level == "events" and by.formulas is not None:
                left, right = (cel.expanded(parse(text)) for text in by.formulas)
                if not (_differ_in_names(phi, left) and _differ_in_names(psi, right)):
                    raise RuleFails("the rule `rename` is used for formulas that differ in more than names")
                self.follow(part, left, right, claim, level)
            case _:
                raise RuleFails(f"the rule {by.rule!r} does not apply to these formulas")

    def _check_decided(
        self, leaf: Certificate | None, phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level
    ) -> None:
        if leaf is None or leaf.derivation is not None:
            raise RuleFails("the rule `decided` is used without a certificate of a decider")
        leaf.require_language(self.certificate.language)
        mine = self.certificate
        if (leaf.claim, leaf.level, leaf.schema) != (claim, level, mine.schema):
            raise RuleFails("a certificate of a part has another claim, level or schema")
        if leaf.order not in ("any", mine.order):
            raise RuleFails("the certificate of a part assumes a different order of times")
        if [cel.expanded(parse(text)) for text in (leaf.left, leaf.right)] != [phi, psi]:
            raise RuleFails("the certificate of a part is for other formulas")
        if (wrong := self.flaw(leaf)) is not None:
            raise RuleFails(wrong)

    def _conditions(self, by: RuleProof, phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level) -> None:
        mine, inner = _peeled(phi)
        theirs, other = _peeled(psi)
        if not mine and not theirs:
            raise RuleFails("the rule `conditions` is used, but there are no conditions")
        wanted = [(c, mine) for c in theirs]
        if claim == "equivalent":
            wanted += [(c, theirs) for c in mine]
        for c, known in wanted:
            if not self.implied(c, known):
                raise RuleFails("a condition of one side does not follow from the conditions of the other")
        self.follow(by, inner, other, claim, _level_below(mine + theirs, level))

    def _shared(self, by: RuleProof, phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level) -> None:
        mine, inner = _peeled(phi)
        theirs, other = _peeled(psi)
        taken = [c for c in mine if any(self.alike_conditions(c, d) for d in theirs)]
        if not taken:
            raise RuleFails("the rule `shared` is used, but the two sides have no condition in common")
        left = [c for c in mine if c not in taken]
        right = [d for d in theirs if not any(self.alike_conditions(d, c) for c in taken)]
        self.follow(by, _around(inner, left), _around(other, right), claim, _level_below(taken, level))

    def _operands(
        self, parts: Sequence[RuleProof], phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level
    ) -> None:
        if type(phi) is not type(psi) or not children(phi) or len(parts) != len(children(phi)):
            raise RuleFails("the rule `operands` is used for two different operators")
        pairs = [(mine, theirs, claim) for mine, theirs in zip(children(phi), children(psi), strict=True)]
        bindings_matter = [True for _ in pairs]
        match phi, psi:
            case cel.In(_, A), cel.In(_, B):
                if A != B and level == "valuations":
                    raise RuleFails("two IN operators bind different variables")
            # Which events PROJECT keeps depends on the variables, so the operands must agree in these.
            case cel.Project(L, _), cel.Project(M, _):
                if L != M:
                    raise RuleFails("two projections keep different variables")
                level = "valuations"
            case cel.PerKey(_, names), cel.PerKey(_, others):
                if {*names} != {*others}:
                    raise RuleFails("two PER KEY operators have different attributes")
            # AND joins valuations that are equal, and not only of the same events.
            case cel.And(), cel.And():
                level = "valuations"
            # What more matches on the right take away must be contained the other way round; of these matches only the
            # events count, because their variables are not seen outside.
            case cel.Unless(), cel.Unless():
                mine, theirs, _ = pairs[1]
                pairs[1], bindings_matter[1] = (theirs, mine, claim), False
            # A strategy with more to choose from may lose a match: containment of the operands proves nothing.
            case ((cel.Next() | cel.Last() | cel.Max()), _):
                pairs = [(mine, theirs, "equivalent") for mine, theirs, _ in pairs]
            case (
                cel.Seq()
                | cel.ContiguousSeq()
                | cel.Or()
                | cel.All()
                | cel.Plus()
                | cel.ContiguousPlus()
                | cel.Start()
                | cel.Strict(),
                _,
            ):
                pass
            case _:
                raise RuleFails(f"the rule `operands` does not apply to the operator {type(phi).__name__}")
        for by, (mine, theirs, wanted), matter in zip(parts, pairs, bindings_matter, strict=True):
            self.follow(by, mine, theirs, wanted, level if matter else "events")

    # --- the same formula, written differently ------------------------------------------------------------------------

    def alike(self, phi: cel.Formula, psi: cel.Formula) -> bool:
        """Return whether two formulas differ only as the rule `same` allows, such as in the order of OR's operands."""
        mine, phi = _peeled(phi)
        theirs, psi = _peeled(psi)
        mine, theirs = self._without_wider(mine), self._without_wider(theirs)
        if not self._same_sets(mine, theirs, self.alike_conditions) or type(phi) is not type(psi):
            return False
        if isinstance(phi, cel.PerKey) and isinstance(psi, cel.PerKey):
            if {*phi.attributes} != {*psi.attributes}:
                return False
        elif own_values(phi) != own_values(psi):
            return False
        if isinstance(phi, cel.Or | cel.And):
            return self._same_sets(_row(phi, type(phi)), _row(psi, type(phi)), self.alike)
        if isinstance(phi, cel.All):
            rest = _row(psi, cel.All)
            for one in _row(phi, cel.All):
                place = next((i for i, other in enumerate(rest) if self.alike(one, other)), None)
                if place is None:
                    return False
                del rest[place]
            return not rest
        if isinstance(phi, cel.Seq | cel.ContiguousSeq):
            first, second = _row(phi, type(phi)), _row(psi, type(phi))
        else:
            first, second = list(children(phi)), list(children(psi))
        return len(first) == len(second) and all(map(self.alike, first, second))

    @staticmethod
    def _same_sets(mine: Sequence[object], theirs: Sequence[object], alike: Callable[..., bool]) -> bool:
        return all(any(alike(a, b) for b in theirs) for a in mine) and all(
            any(alike(a, b) for a in mine) for b in theirs
        )

    def _without_wider(self, parts: Sequence[Part]) -> list[Part]:
        """Return the conditions without windows that follow from a narrower window on the same attribute."""
        kept = []
        for c in parts:
            if isinstance(c, cel.EventWindow):
                narrower = any(isinstance(d, cel.EventWindow) and d.count < c.count for d in parts)
            elif isinstance(c, cel.TimeWindow | cel.AttributeWindow):
                name, width = self._width(c)
                known = [self._width(d) for d in parts if isinstance(d, cel.TimeWindow | cel.AttributeWindow)]
                narrower = any(other == name and less < width for other, less in known)
            else:
                narrower = False
            if not narrower:
                kept.append(c)
        return kept

    def alike_conditions(self, c: Part, d: Part) -> bool:
        """Return whether two conditions differ only in the order or repetition of parts, or in units."""
        match c, d:
            case str(), str():
                return c == d
            case cel.EventWindow(), cel.EventWindow():
                return c.count == d.count
            case ((cel.TimeWindow() | cel.AttributeWindow()), (cel.TimeWindow() | cel.AttributeWindow())):
                return self._width(c) == self._width(d)
            case cel.Every(), cel.Every():
                return c.variable == d.variable and _alike_predicates(c.predicate, d.predicate)
            case cel.Correlated(), cel.Correlated():
                return _alike_predicates(c.predicate, d.predicate)
            case cel.Named(), cel.Named():
                return (c.name, c.variables) == (d.name, d.variables)
            case (cel.Disjunction(), cel.Disjunction()) | (cel.Conjunction(), cel.Conjunction()):
                return self._same_sets(_row(c, type(c)), _row(d, type(d)), self.alike_conditions)
        return False

    def _width(self, window: cel.TimeWindow | cel.AttributeWindow) -> tuple[str, Fraction | float]:
        """Return the attribute of a window, and the greatest distance that it allows."""
        if isinstance(window, cel.TimeWindow):
            name, width = TIME, window.amount * dict(SECONDS_IN)[window.unit]
        else:
            name, width = window.attribute, window.width
        schema = self.certificate.schema
        kind = None if schema is None else schema.attributes.get(name, "timestamp" if name == TIME else None)
        if width != width or abs(width) == float("inf"):
            return name, width
        if kind == "int":
            return name, min(Fraction(width // 1), Fraction(2**65))
        if kind == "timestamp":  # whole microseconds, whose seconds the definition compares as a float
            width = min(width, 4 * 10**11)  # which is more than between any two timestamps
            ticks = int(Fraction(width) * 10**6)
            return name, Fraction(ticks + 1 if (ticks + 1) / 10**6 <= width else ticks, 10**6)
        return name, width

    # --- conditions that follow from others ---------------------------------------------------------------------------

    def implied(self, c: Part, known: Sequence[Part]) -> bool:
        """Return whether a condition on a valuation follows from the known conditions."""
        check_time()
        if any(self.alike_conditions(c, d) for d in known):
            return True
        if (split := next((d for d in known if isinstance(d, cel.Disjunction)), None)) is not None:
            rest = [d for d in known if d is not split]
            return all(self.implied(c, rest + _row(side, cel.Conjunction)) for side in (split.left, split.right))
        match c:
            case cel.EventWindow():
                return any(d.count <= c.count for d in known if isinstance(d, cel.EventWindow))
            case cel.TimeWindow() | cel.AttributeWindow():
                name, width = self._width(c)
                of_values = [self._width(d) for d in known if isinstance(d, cel.TimeWindow | cel.AttributeWindow)]
                return any(other == name and narrow <= width for other, narrow in of_values)
            case cel.Every(A, P):
                given = [d.predicate for d in known if isinstance(d, cel.Every) and d.variable == A]
                return self._no_event(given, P, self.certificate.schema)
            case cel.Correlated(P):
                return _once_each(P) is not None and any(
                    _once_each(P) == _once_each(d.predicate)
                    and self._no_event([_joined_event(d.predicate)], _joined_event(P), None)
                    for d in known
                    if isinstance(d, cel.Correlated)
                )
            case cel.Disjunction(left, right):
                return any(all(self.implied(e, known) for e in _row(side, cel.Conjunction)) for side in (left, right))
            case cel.Conjunction(left, right):
                return self.implied(left, known) and self.implied(right, known)
        return False

    def _no_event(self, given: Sequence[Predicate], P: Predicate, schema: Schema | None) -> bool:
        """Return whether every event that satisfies all given predicates satisfies P."""
        # z3 is slow to start and to answer, and most conditions need no more than comparisons with constants.
        for solver in (False, True):
            algebra = Algebra([*given, P], self.budget, schema, solver)
            left = algebra.everything & ~algebra.mask(P)
            for Q in given:
                left &= algebra.mask(Q)
            if left == 0:
                return True
        return False


def _with_conditions_inside(phi: cel.Formula) -> cel.Formula:
    """Move the filters, windows and partitions around a strategy into it. Raises RuleFails if there is no strategy."""
    layers: list[cel.Filter | cel.Within | cel.PartitionBy] = []
    while isinstance(phi, cel.Filter | cel.Within | cel.PartitionBy):
        layers.append(phi)
        phi = phi.phi
    if not layers or not isinstance(phi, cel.Preference):
        raise RuleFails("the rule `choose` is used, but there are no conditions around a strategy")
    inner: cel.Formula = phi.phi
    for layer in reversed(layers):
        inner = rebuilt(layer, [inner])
    return rebuilt(phi, [inner])


def _dropped(phi: cel.Formula) -> cel.Formula:
    """Return the operand of an operator that only removes matches. Raises RuleFails for other operators."""
    match phi:
        case cel.Filter() | cel.Within() | cel.PartitionBy() | cel.Start() | cel.Strict():
            return phi.phi
        case cel.Next() | cel.Last() | cel.Max():
            return phi.phi
        case cel.Unless():
            return phi.left
    raise RuleFails("the rule `drop` is used for an operator that may add matches")


def _peeled(phi: cel.Formula) -> tuple[list[Part], cel.Formula]:
    """Return the filters, windows and partitions around a formula, and the formula inside them."""
    if isinstance(phi, cel.Filter):
        conditions, inner = _peeled(phi.phi)
        return _row(phi.condition, cel.Conjunction) + conditions, inner
    if isinstance(phi, cel.Within):
        conditions, inner = _peeled(phi.phi)
        return [phi.window, *conditions], inner
    if isinstance(phi, cel.PartitionBy):
        conditions, inner = _peeled(phi.phi)
        return [phi.attribute, *conditions], inner
    return [], phi


def _level_below(conditions: list[Part], level: Level) -> Level:
    """Return the level for comparing the operand of these conditions. For filters it is valuations, because they use
    variables.
    """
    on_supports = all(isinstance(c, str | cel.EventWindow | cel.TimeWindow | cel.AttributeWindow) for c in conditions)
    return level if on_supports else "valuations"


def _around(phi: cel.Formula, conditions: list[Part]) -> cel.Formula:
    """Return a formula with these conditions around it; the last condition is the innermost."""
    if not conditions:
        return phi
    inner, c = _around(phi, conditions[1:]), conditions[0]
    if isinstance(c, str):
        return cel.PartitionBy(inner, c)
    if isinstance(c, cel.EventWindow | cel.TimeWindow | cel.AttributeWindow):
        return cel.Within(inner, c)
    return cel.Filter(inner, c)


def _row(tree: object, kind: type) -> list:  # type: ignore[type-arg]
    """Return the operands of a chain of one operator, left to right."""
    if type(tree) is not kind:
        return [tree]
    return [*_row(tree.left, kind), *_row(tree.right, kind)]  # type: ignore[attr-defined]


def _alike_predicates(P: Predicate, Q: Predicate) -> bool:
    """Return whether two predicates are equal up to the sides of comparisons, and order and repetition under and/or."""
    if P == Q:
        return True
    match P, Q:
        case pred.Comparison(), pred.Comparison():
            straight = _alike_terms(P.left, Q.left) and _alike_terms(P.right, Q.right)
            crossed = _alike_terms(P.left, Q.right) and _alike_terms(P.right, Q.left)
            return (straight and P.comparator == Q.comparator) or (
                crossed and FLIPPED.get(P.comparator, P.comparator) == Q.comparator
            )
        case pred.Not(), pred.Not():
            return _alike_predicates(P.predicate, Q.predicate)
        case (pred.Both(), pred.Both()) | (pred.Either(), pred.Either()):
            mine, theirs = _row(P, type(P)), _row(Q, type(P))
            return all(any(_alike_predicates(a, b) for b in theirs) for a in mine) and all(
                any(_alike_predicates(a, b) for a in mine) for b in theirs
            )
    return False


def _alike_terms(t: pred.Term, u: pred.Term) -> bool:
    """Return whether two terms are equal up to the order of the operands of + and *."""
    if not (isinstance(t, pred.Arithmetic) and isinstance(u, pred.Arithmetic)) or t.operator != u.operator:
        return t == u
    straight = _alike_terms(t.left, u.left) and _alike_terms(t.right, u.right)
    return straight or (t.operator in "+*" and _alike_terms(t.left, u.right) and _alike_terms(t.right, u.left))


def _once_each(P: Predicate) -> tuple[str, ...] | None:
    """Return the variables that a predicate across events mentions, if each is mentioned once."""
    names = sorted(str(a.variable) for a in pred.mentions(P))
    return tuple(names) if len(set(names)) == len(names) else None


def _joined_event(P: Predicate) -> Predicate:
    """Return the predicate as a predicate on one event that has the attributes of each variable's event."""
    return pred.mapped_predicate(P, lambda a: pred.Attribute(f"{a.variable} {a.name}"))


# --- the same complex events, with other names of variables -----------------------------------------------------------
#
# Without AND and PROJECT only the variables of filters matter. Read each as the set of atoms whose events it holds,
# numbered from the left, and leave out IN. If the two formulas are then equal, their filters judge the same events.
# With AND or PROJECT, one formula must be the other with a different name for each variable that is not an event type.


def _differ_in_names(phi: cel.Formula, psi: cel.Formula) -> bool:
    """Return whether two formulas have the same complex events because they differ only in names of variables."""
    if any(isinstance(chi, cel.And | cel.Project) for side in (phi, psi) for chi in cel.subformulas(side)):
        return _is_bijection(phi, psi)
    return _by_atoms(phi, count())[0] == _by_atoms(psi, count())[0]


def _by_atoms(phi: cel.Formula, numbers: count[int]) -> tuple[cel.Formula, dict[str, frozenset[int]]]:
    """Return the formula without IN, with sets of atoms in place of variables, and the atoms that its variables
    hold.
    """
    check_time()
    if isinstance(phi, cel.EventAtom):
        return phi, {phi.type: frozenset({next(numbers)})}
    below = [_by_atoms(psi, numbers) for psi in children(phi)]
    # The variables on the right of UNLESS hold nothing outside.
    visible = below[:1] if isinstance(phi, cel.Unless) else below
    holds = {
        A: frozenset().union(*(held.get(A, ()) for _, held in visible))
        for A in {A for _, held in visible for A in held}
    }
    if isinstance(phi, cel.In):
        return below[0][0], {**holds, phi.variable: frozenset().union(*holds.values())}
    if isinstance(phi, cel.Filter):
        sets = {A: str(sorted(holds.get(A, ()))) for A in _mentioned(phi.condition)}
        return cel.Filter(below[0][0], _substituted(phi.condition, sets)), holds
    return rebuilt(phi, [inner for inner, _ in below]), holds


def _is_bijection(phi: cel.Formula, psi: cel.Formula) -> bool:
    """Return whether psi is phi with the variables of IN renamed to distinct names that phi uses for nothing else."""
    types = {chi.type for chi in cel.subformulas(phi) if isinstance(chi, cel.EventAtom)}
    mine, theirs = ([chi.variable for chi in cel.subformulas(side) if isinstance(chi, cel.In)] for side in (phi, psi))
    names = {A: B for A, B in zip(mine, theirs, strict=False) if A not in types}
    every = {*types, *mine}
    for chi in cel.subformulas(phi):
        if isinstance(chi, cel.Filter):
            every |= _mentioned(chi.condition)
        elif isinstance(chi, cel.Project):
            every |= chi.variables
    return len({names.get(A, A) for A in every}) == len(every) and _with(phi, names) == psi


def _with(phi: cel.Formula, names: dict[str, str]) -> cel.Formula:
    below = [_with(psi, names) for psi in children(phi)]
    match phi:
        case cel.In(_, A):
            return cel.In(below[0], names.get(A, A))
        case cel.Project(L, _):
            return cel.Project(frozenset(names.get(A, A) for A in L), below[0])
        case cel.Filter(_, condition):
            return cel.Filter(below[0], _substituted(condition, names))
    return rebuilt(phi, below)


def _mentioned(condition: cel.Condition) -> set[str]:
    """Return the variables of a condition."""
    found: set[str] = set()
    for atom in cel.atoms(condition):
        if isinstance(atom, cel.Every):
            found.add(atom.variable)
        elif isinstance(atom, cel.Named):
            found |= {*atom.variables}
        else:
            found |= {str(a.variable) for a in pred.mentions(atom.predicate)}
    return found


def _substituted(condition: cel.Condition, names: dict[str, str]) -> cel.Condition:
    """Return the condition with its variables renamed."""
    match condition:
        case cel.Every(A, P):
            return cel.Every(names.get(A, A), P)
        case cel.Named(name, variables):
            return cel.Named(name, tuple(names.get(A, A) for A in variables))
        case cel.Correlated(P):
            return cel.Correlated(
                pred.mapped_predicate(P, lambda a: pred.Attribute(a.name, names.get(str(a.variable), a.variable)))
            )
    return rebuilt(condition, [_substituted(part, names) for part in children(condition)])
