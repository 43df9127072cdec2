"""tods21, appendices B, C and E: formulas rewritten from one fragment of CEL into another, case by case.

Where a case is missing in print, complete=False raises NotImplementedError and complete=True takes one that we add.
A variable that the proof renames gets a second name instead, so that an event type stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import reduce
from itertools import count

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.trees import children, rebuilt


def seq(*parts: Formula) -> Formula:
    return reduce(cel.Seq, parts)


def either(*parts: Formula) -> Formula:
    return reduce(cel.Or, parts)


def bottom_up(phi: Formula, rule: Callable[[Formula], Formula]) -> Formula:
    return rule(rebuilt(phi, [bottom_up(psi, rule) for psi in children(phi)]))


def also_named(phi: Formula, A: str, new: str) -> Formula:
    """phi with the variable new beside each A that is bound."""

    def rule(psi: Formula) -> Formula:
        match psi:
            case cel.EventAtom(R) if R == A:
                return cel.In(psi, new)
            case cel.In(_, B) if B == A:
                return cel.In(psi, new)
            case _:
                return psi

    return bottom_up(phi, rule)


@dataclass
class Rewriting:
    """One rewriting, with its fresh variables."""

    complete: bool
    fresh: count[int] = field(default_factory=count)

    def in_at_atoms(self, phi: Formula) -> Formula:
        """Appendix B, first part: every IN on an event type, or on another such IN."""
        return bottom_up(phi, lambda psi: self._pushed(psi.phi, psi.variable) if isinstance(psi, cel.In) else psi)

    def _pushed(self, phi: Formula, A: str) -> Formula:
        match phi:
            case cel.Filter(rho, cel.Every(B, P)) if B == A:
                new = f"{A}_{next(self.fresh)}"
                return cel.Filter(self._pushed(also_named(rho, A, new), A), cel.Every(new, P))
            case cel.EventAtom() | cel.In():
                return cel.In(phi, A)
            case _:
                return rebuilt(phi, [self._pushed(psi, A) for psi in children(phi)])

    # --- appendix B ---

    def without_contiguous_sequence(self, phi: Formula) -> Formula:
        """A formula of CEL* and STRICT for one of CEL* and `:`, and for one with STRICT if complete."""

        def rule(psi: Formula) -> Formula:
            return self.joined(psi.left, psi.right) if isinstance(psi, cel.ContiguousSeq) else psi

        return bottom_up(self.in_at_atoms(phi), rule)

    def joined(self, left: Formula, right: Formula) -> Formula:
        """left : right without the `:`."""
        match left:
            case cel.Seq(rho1, rho2):
                return cel.Seq(rho1, self.joined(rho2, right))
            case cel.Filter(rho, cel.Every(A, P)):
                new = f"{A}_{next(self.fresh)}"
                return cel.Filter(self.joined(also_named(rho, A, new), right), cel.Every(new, P))
            case cel.Or(rho1, rho2):
                return cel.Or(self.joined(rho1, right), self.joined(rho2, right))
            case cel.Plus(rho):
                sigma = self.joined(rho, right)
                return cel.Or(sigma, cel.Seq(left, sigma))
        match right:
            case cel.Seq(rho1, rho2):
                return cel.Seq(self.joined(left, rho1), rho2)
            case cel.Filter(rho, cel.Every(A, P)):
                new = f"{A}_{next(self.fresh)}"
                return cel.Filter(self.joined(left, also_named(rho, A, new)), cel.Every(new, P))
            case cel.Or(rho1, rho2):
                return cel.Or(self.joined(left, rho1), self.joined(left, rho2))
            case cel.Plus(rho):
                sigma = self.joined(left, rho)
                return cel.Or(sigma, cel.Seq(sigma, right))
        if not self.complete and isinstance(left, cel.Strict) | isinstance(right, cel.Strict):
            raise NotImplementedError("the proof has no case for STRICT beside `:`")
        return cel.Strict(cel.Seq(left, right))

    # --- appendix C ---

    def without_strict(self, phi: Formula) -> Formula:
        """A formula of CEL*, `:` and `:+` for one of CEL* and STRICT, with `:` where the text at hand has `;`."""

        def rule(psi: Formula) -> Formula:
            return contiguous(psi.phi) if isinstance(psi, cel.Strict) else psi

        if not self.complete:
            for psi in cel.subformulas(phi):
                if isinstance(psi, cel.Strict) and any(isinstance(rho, cel.Strict) for rho in cel.subformulas(psi.phi)):
                    raise NotImplementedError("the proof has no case for STRICT below STRICT")
        return bottom_up(phi, rule)

    # --- appendix E ---

    def filters_at_atoms(self, phi: Formula) -> Formula:
        """Appendix E, first part: a pointwise filter on the event types that bind its variable."""

        def rule(psi: Formula) -> Formula:
            return _filtered(psi.phi, psi.condition) if isinstance(psi, cel.Filter) else psi

        return bottom_up(phi, rule)

    def without_contiguity(self, phi: Formula) -> Formula:
        """A formula of CEL* and STRICT for one of CEL*, `:`, `:+` and STRICT, without IN, with pointwise filters."""

        def rule(psi: Formula) -> Formula:
            match psi:
                case cel.ContiguousSeq(left, right):
                    return self.joined(left, right)
                case cel.ContiguousPlus(rho):
                    return self.without_contiguous_sequence(self.iterated(rho))
                case _:
                    return psi

        return bottom_up(self.filters_at_atoms(phi), rule)

    def iterated(self, phi: Formula) -> Formula:
        """phi:+ without the `:+`, for a phi of CEL* and STRICT."""
        disjuncts = _disjuncts(phi)
        if all(_is_atom(psi) for psi in disjuncts):
            return cel.Strict(cel.Plus(phi))
        chosen = next(i for i, psi in enumerate(disjuncts) if not _is_atom(psi))
        rest, last = disjuncts[:chosen] + disjuncts[chosen + 1 :], disjuncts[chosen]
        if not rest:
            return _iterated_sequence(last.left, last.right) if isinstance(last, cel.Seq) else last
        match last:
            case cel.Plus(rho):  # rho+ is rho OR rho ; rho+
                return self.iterated(either(*rest, rho, cel.Seq(rho, last)))
            case cel.Seq(rho1, rho2):
                return self._iterated_or(either(*rest), rho1, rho2)
        raise NotImplementedError(f"no case for {type(last).__name__}")

    def _iterated_or(self, phi: Formula, rho1: Formula, rho2: Formula) -> Formula:
        """The five parts, each with its `:+` removed; part (5) with (rho1 ; rho2):+ in its second place."""
        X = self.without_contiguous_sequence(self.iterated(phi))
        Y = self.without_contiguous_sequence(_iterated_sequence(rho1, rho2))
        end = self.without_contiguous_sequence(either(rho2, cel.Seq(cel.Plus(cel.ContiguousSeq(rho2, rho1)), rho2)))
        beginning_with_phi = _iterated_sequence(self.joined(X, rho1), end)
        ending_with_phi = _iterated_sequence(rho1, self.joined(end, X))
        return either(
            X,
            Y,
            beginning_with_phi,
            cel.ContiguousSeq(X, ending_with_phi),
            ending_with_phi,
            cel.ContiguousSeq(Y, beginning_with_phi if self.complete else self._last_part(X, rho1, rho2)),
        )

    def _last_part(self, X: Formula, rho1: Formula, rho2: Formula) -> Formula:
        """(phi:+ : (rho1 ; rho2)):+, as in part (5) of the text at hand."""
        return _iterated_sequence(self.joined(X, rho1), rho2)


def contiguous(phi: Formula) -> Formula:
    """STRICT(phi) without the STRICT; one below another does nothing."""
    match phi:
        case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
            return cel.ContiguousSeq(contiguous(left), contiguous(right))
        case cel.Plus(rho) | cel.ContiguousPlus(rho):
            return cel.ContiguousPlus(contiguous(rho))
        case _:
            return rebuilt(phi, [contiguous(psi) for psi in children(phi)])


def _is_atom(phi: Formula) -> bool:
    """R, R FILTER P(R), or a STRICT."""
    match phi:
        case cel.EventAtom() | cel.Strict():
            return True
        case cel.Filter(rho, _):
            return _is_atom(rho)
        case _:
            return False


def _filtered(phi: Formula, condition: cel.Condition) -> Formula:
    """phi FILTER P(R) with the filter on each R, for a pointwise P."""
    assert isinstance(condition, cel.Every)

    def rule(psi: Formula) -> Formula:
        return cel.Filter(psi, condition) if isinstance(psi, cel.EventAtom) and psi.type == condition.variable else psi

    return bottom_up(phi, rule)


def _iterated_sequence(left: Formula, right: Formula) -> Formula:
    return cel.Seq(left, cel.Or(right, cel.Seq(cel.Plus(cel.ContiguousSeq(right, left)), right)))


def _disjuncts(phi: Formula) -> list[Formula]:
    return [*_disjuncts(phi.left), *_disjuncts(phi.right)] if isinstance(phi, cel.Or) else [phi]
