"""The definitions, algorithms and constructions of tods21 as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, reduce
from itertools import count, product
from typing import Any, NamedTuple, TypeAlias

from cerify.automata.algebra.finite import types
from cerify.automata.cea.model import CEA, Transition, io_determinize
from cerify.automata.exploration import explore
from cerify.equivalence.decide.cel import NEVER
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import ComplexEvent, Stream, Valuation
from cerify.semantics.predicates import Anything, Both, OfType, Predicate, holds
from cerify.semantics.trees import children, rebuilt

# ---- tods21 algorithms ----
# tods21, section 9.2: Algorithms 1 and 2, line by line, with the steps counted.
#
# The linked lists are as the text has them: `first`, `last` and `next` of a node, `extend` and `append`, whose
# preconditions are checked. Each line that runs is a step, and so is each return from a call: a machine has to leave
# every frame that it has entered. The calls of Algorithm 1 are kept on a stack of frames, as Python's own is too
# small.

BOTTOM = 0
Pair: TypeAlias = tuple[int, int]
Delta: TypeAlias = Callable[[int, int, bool], int | None]
"""The state to which a state goes on the i-th event, with a mark or without; None if there is no such transition."""


@dataclass
class CCES:
    """(N, ⊥, event, first, last, next): nodes are numbers, ⊥ is 0, and a node without next is not in `next`."""

    event: dict[int, int] = field(default_factory=dict)
    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    next: dict[int, int] = field(default_factory=dict)

    def extend(self, i: int, n1: int, n2: int) -> int:
        """Return a fresh node for position i whose children are list(n1, n2); n1 has to reach n2."""
        if n2 not in self.nodes(n1, n2):
            raise AssertionError(f"extend: {n1} cannot reach {n2}")
        n = len(self.event) + 1
        self.event[n], self.first[n], self.last[n] = i, n1, n2
        return n

    def append(self, n1: int, n2: int) -> None:
        """Set next(n1) to n2; next(n1) has to be undefined."""
        if n1 in self.next:
            raise AssertionError(f"append: next({n1}) is defined")
        self.next[n1] = n2

    def nodes(self, n1: int, n2: int) -> list[int]:
        """Return list(n1, n2), or what n1 reaches if that is not n2."""
        found = [n1]
        while found[-1] != n2 and found[-1] in self.next:
            found.append(self.next[found[-1]])
            if len(found) > len(self.event) + 1:
                raise AssertionError("next has a cycle")
        return found


@dataclass
class Steps:
    """A count of steps."""

    count: int = 0


def enumerate_(
    D: CCES, n1: int, n2: int, steps: Steps | None = None, line_7_is_a_loop: bool = False
) -> Iterator[frozenset[int]]:
    """Algorithm 1 from ENUMERATE(D, n1, n2, ∅): yield each complex event where line 3 outputs it.

    Args:
        D: the compact complex event set.
        n1: the first node of a list.
        n2: its last node, which n1 can reach.
        steps: is counted up by each line that runs and by each return.
        line_7_is_a_loop: go on with next(n1) in the same call, where the text calls ENUMERATE again.
    """
    steps = steps if steps is not None else Steps()
    frames: list[tuple[int, int, frozenset[int], int]] = [(n1, n2, frozenset(), 2)]
    while frames:
        n1, n2, C, line = frames.pop()
        steps.count += 1
        if line == 2:
            frames.append((n1, n2, C, 6))
            if n1 == BOTTOM:
                yield C
            else:
                frames.append((D.first[n1], D.last[n1], C | {D.event[n1]}, 2))  # line 5
        elif line == 6 and n1 != n2:
            if not line_7_is_a_loop:
                frames.append((n1, n2, C, 8))  # after line 7 there is only the return
            frames.append((D.next[n1], n2, C, 2))


def update(D: CCES, T: dict[int, Pair], i: int, delta: Delta) -> dict[int, Pair]:
    """Lines 6 to 14 of Algorithm 2: return the table after the i-th event."""
    following: dict[int, Pair] = {}
    for p, (n1, n2) in T.items():
        if (q := delta(p, i, True)) is not None:
            n = D.extend(i, n1, n2)
            add(D, following, q, n, n)
        if (q := delta(p, i, False)) is not None:
            add(D, following, q, n1, n2)
    return following


def add(D: CCES, T: dict[int, Pair], q: int, n1: int, n2: int) -> None:
    """ADD(D, T, q, n1, n2), lines 16 to 23."""
    if q not in T:
        T[q] = n1, n2
    else:
        first, last = T[q]
        D.append(last, n1)
        T[q] = first, n2


def tables(initial: int, length: int, delta: Delta) -> Iterator[tuple[CCES, dict[int, Pair]]]:
    """Lines 2 to 14 of Algorithm 2: yield D and T after each of the events."""
    D, T = CCES(), {initial: (BOTTOM, BOTTOM)}
    for i in range(length):
        T = update(D, T, i, delta)
        yield D, T


def problems(D: CCES, T: dict[int, Pair]) -> Iterator[str]:
    """Yield which of the properties (1) to (5) fails, and which precondition that the proof of correctness names."""
    for n1, n2 in T.values():
        if n2 not in D.nodes(n1, n2):
            yield "a pair of T is no list"
        if n2 in D.next:
            yield "the last node of a pair of T has a next one"
    for n in D.event:
        children = D.nodes(D.first[n], D.last[n])
        if D.last[n] not in children:
            yield "(2)"
        if any(child != BOTTOM and D.event[child] >= D.event[n] for child in children):
            yield "(4)"  # and so (3): an edge leads to an earlier position
    reached_from = {n: D.nodes(n, -1) for n in (BOTTOM, *D.event)}  # (1): raises if there is a cycle
    for n in reached_from.keys() - D.next.values():
        reached = reached_from[n]
        for k in range(len(reached)):
            listed = list(enumerate_(D, reached[k], reached[-1]))
            if len(listed) != len(set(listed)):
                yield "(5)"


def delays(outputs: Iterable[frozenset[int]], steps: Steps) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each output with the steps since the one before it, or since the call."""
    before = steps.count
    for C in outputs:
        yield steps.count - before, C
        before = steps.count


# ---- tods21 contiguity ----
# tods21, appendices B, C and E: formulas rewritten from one fragment of CEL into another, case by case.
#
# Where a case is missing in print, complete=False raises NotImplementedError and complete=True takes one that we add.
# A variable that the proof renames gets a second name instead: see the claim prop8.12:filter.


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
        sides = {type(psi) for psi in children(phi)} if isinstance(phi, cel.Or) else set()
        if not self.complete and cel.Or in sides and sides.isdisjoint({cel.Seq, cel.Plus}):
            raise NotImplementedError("the proof has no case for OR below OR")
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


# ---- tods21 fig3 ----
# tods21, Figure 3 and section 7.1, letter for letter: the sets as they are written, with nothing remembered.
#
# A valuation is its set of pairs (variable, position). Where a minimum or a maximum does not exist the condition on
# it is
# false (docs/decisions/empty-supports.md), and STRICT asks k in sup(mu), where the text has "not in".

Valuations = frozenset[Valuation]


def sup(mu: Valuation) -> ComplexEvent:
    return frozenset(p for _, p in mu)


def next_below(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    return C1 == C2 or min(C1 ^ C2) in C2


def last_below(C1: ComplexEvent, C2: ComplexEvent) -> bool:
    return C1 == C2 or max(C1 ^ C2) in C2


def meaning(phi: cel.Formula, S: Stream, i: int, j: int) -> Valuations:
    """The valuations of phi on S from i to j."""
    inside = [(k, m) for k in range(i, j + 1) for m in range(k, j + 1)]
    match phi:
        case cel.EventAtom(R):
            return frozenset({frozenset({(R, j)})} if S[j].type == R else ())
        case cel.In(psi, A):
            return frozenset(
                frozenset(pair for pair in mu if pair[0] != A) | {(A, p) for p in sup(mu)}
                for mu in meaning(psi, S, i, j)
            )
        case cel.Filter(psi, cel.Every(A, P)):
            return frozenset(
                mu for mu in meaning(psi, S, i, j) if all(holds(P, S[p]) for variable, p in mu if variable == A)
            )
        case cel.Seq(left, right):
            return frozenset(
                mu1 | mu2
                for k in range(i, j)
                for mu1, mu2 in product(meaning(left, S, i, k), meaning(right, S, k + 1, j))
            )
        case cel.Plus(psi):
            return meaning(psi, S, i, j) | (meaning(cel.Seq(psi, phi), S, i, j) if i < j else frozenset())
        case cel.ContiguousSeq(left, right):
            return frozenset(
                mu1 | mu2
                for k in range(i, j)
                for mu1, mu2 in product(meaning(left, S, i, k), meaning(right, S, k + 1, j))
                if max(sup(mu1), default=None) == k and min(sup(mu2), default=None) == k + 1
            )
        case cel.ContiguousPlus(psi):
            return meaning(psi, S, i, j) | (meaning(cel.ContiguousSeq(psi, phi), S, i, j) if i < j else frozenset())
        case cel.Project(L, psi):
            return frozenset(frozenset(pair for pair in mu if pair[0] in L) for mu in meaning(psi, S, i, j))
        case cel.Start(psi):
            return frozenset(mu for mu in meaning(psi, S, i, j) if min(sup(mu), default=None) == i)
        case cel.Or(left, right):
            return meaning(left, S, i, j) | meaning(right, S, i, j)
        case cel.And(left, right):
            return meaning(left, S, i, j) & meaning(right, S, i, j)
        case cel.All(left, right):
            return frozenset(
                mu1 | mu2
                for (i1, j1), (i2, j2) in product(inside, repeat=2)
                if i == min(i1, i2) and j == max(j1, j2)
                for mu1, mu2 in product(meaning(left, S, i1, j1), meaning(right, S, i2, j2))
            )
        case cel.Unless(left, right):
            return meaning(left, S, i, j) if not any(meaning(right, S, k, m) for k, m in inside) else frozenset()
        case cel.Strict(psi):
            return frozenset(
                mu for mu in meaning(psi, S, i, j)
                if all(k in sup(mu) for k1, k2 in product(sup(mu), repeat=2) for k in range(k1 + 1, k2))
            )  # fmt: skip
        case cel.Next(psi) | cel.Last(psi):
            below = next_below if isinstance(phi, cel.Next) else last_below
            of = meaning(psi, S, i, j)
            return frozenset(mu for mu in of if all(below(sup(other), sup(mu)) for other in of))
        case cel.Max(psi):
            of = meaning(psi, S, i, j)
            return frozenset(mu for mu in of if not any(sup(mu) < sup(other) for other in of))
        case _:
            raise NotImplementedError(f"Figure 3 has no {type(phi).__name__}")


# ---- tods21 regular ----
# tods21, proofs of Theorems 6.3 and 8.9: from an automaton to a formula, letter for letter.
#
# States are numbered from 0 instead of 1. Each proof defines phi_ij^k for the runs from i to j by way of states below
# k;
# the recursion that the text prints, and the corrected one, are arguments.

TYPES = ("A", "B")
FRESH = "fresh"

Step = Callable[[cel.Formula, cel.Formula, cel.Formula, cel.Formula], cel.Formula]
"""phi_ij^k from phi_ij, phi_ik, phi_kk and phi_kj, all of k - 1."""

FALSE: cel.Formula = cel.Filter(cel.EventAtom(TYPES[0]), cel.Every(TYPES[0], NEVER))


def either_pattern(formulas: Sequence[cel.Formula]) -> cel.Formula:
    return reduce(cel.Or, formulas) if formulas else FALSE


def one_initial_one_final(A: CEA) -> CEA:
    """The step taken without loss of generality: state 0 is initial, the last one final, and they are no other's."""
    start, end = 0, A.states + 1
    inner = [t._replace(source=t.source + 1, target=t.target + 1) for t in A.transitions]
    starting = [t._replace(source=start) for t in inner if t.source - 1 in A.initial]
    ending = [t._replace(target=end) for t in (*inner, *starting) if t.target - 1 in A.final]
    return replace(
        A,
        states=A.states + 2,
        transitions=tuple(dict.fromkeys((*inner, *starting, *ending))),
        initial=frozenset({start}),
        final=frozenset({end}),
    )


def from_first_to_last(A: CEA, base: Callable[[Iterable[Transition]], cel.Formula], step: Step) -> cel.Formula:
    """phi_1n by the recursion; phi is FALSE where both its parts are, which shortens it and nothing else."""

    @cache
    def phi(i: int, j: int, k: int) -> cel.Formula:
        if k == 0:
            return base([t for t in A.transitions if (t.source, t.target) == (i, j)])
        before, entering, leaving = phi(i, j, k - 1), phi(i, k - 1, k - 1), phi(k - 1, j, k - 1)
        if entering is FALSE or leaving is FALSE:
            return before
        through = step(before, entering, phi(k - 1, k - 1, k - 1), leaving)
        return through.right if before is FALSE and isinstance(through, cel.Or) else through

    return phi(0, A.states - 1, A.states)


# --- Theorem 6.3 ------------------------------------------------------------------------------------------------------


def contiguous_step(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    through: cel.Formula = cel.ContiguousSeq(ik, kj)
    if kk is not FALSE:
        through = cel.Or(through, cel.ContiguousSeq(cel.ContiguousSeq(ik, cel.ContiguousPlus(kk)), kj))
    return cel.Or(ij, through)


def of_transition(t: Transition, keep: frozenset[str]) -> cel.Formula:
    """psi_t, projected on L and the variables to keep: none, as printed, or the fresh one."""
    psi: cel.Formula = either_pattern([cel.EventAtom(R) for R in TYPES])
    for variable in sorted(t.marks | {FRESH}):
        psi = cel.In(psi, variable)
    return cel.Project(t.marks | keep, cel.Filter(psi, cel.Every(FRESH, t.predicate)))


def theorem_6_3(A: CEA) -> cel.Formula:
    """phi_A as printed."""
    return cel.Start(
        from_first_to_last(A, lambda ts: either_pattern([of_transition(t, frozenset()) for t in ts]), contiguous_step)
    )


def theorem_6_3_corrected(A: CEA) -> cel.Formula:
    """phi_A with every event marked by the fresh variable, which is projected away at the end."""
    keep = frozenset({FRESH})
    phi = cel.Start(
        from_first_to_last(A, lambda ts: either_pattern([of_transition(t, keep) for t in ts]), contiguous_step)
    )
    return cel.Project(frozenset[str]().union(*(t.marks for t in A.transitions)), phi)


# --- Theorem 8.9 ------------------------------------------------------------------------------------------------------


def star_step(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    """As printed: once by way of k, or twice."""
    through: cel.Formula = cel.Seq(ik, kj)
    return cel.Or(ij, through if kk is FALSE else cel.Or(through, cel.Seq(cel.Seq(ik, kk), kj)))


def star_step_iterated(ij: cel.Formula, ik: cel.Formula, kk: cel.Formula, kj: cel.Formula) -> cel.Formula:
    """With phi_kk+ in the place of phi_kk."""
    return star_step(ij, ik, kk if kk is FALSE else cel.Plus(kk), kj)


def of_marking(ts: Iterable[Transition]) -> cel.Formula:
    """The rho_P; the filter is put on a variable that stands for the one event, since the text leaves it out."""
    events = cel.In(either_pattern([cel.EventAtom(R) for R in TYPES]), FRESH)
    return either_pattern([cel.Filter(events, cel.Every(FRESH, t.predicate)) for t in ts if t.marks])


def theorem_8_9(A: CEA, step: Step) -> cel.Formula:
    """phi_A in CEL*."""
    return from_first_to_last(A, of_marking, step)


# ---- tods21 star runs ----
# tods21, Definition 8.7: the *-runs of an automaton, and their valuations with the index that is meant.
#
# By the letter the valuation of a run of k steps is μ(A) = {i_k | A ∈ L_i}, which has the last position only, and
# positions begin with 1: the entry tods21.def8.7 is about that. Here μ(A) = {i_j | A ∈ L_j}, and they begin with 0.

Run: TypeAlias = tuple[tuple[int, frozenset[str]], ...]
"""The steps of a *-run: the position of each, and the variables that it marks."""


def star_runs(A: CEA, S: Stream, n: int) -> list[Run]:
    """Return the accepting *-runs that end at n."""
    pending: list[tuple[int, Run]] = [(q, ()) for q in A.initial]
    found = []
    while pending:
        q, run = pending.pop()
        i = run[-1][0] if run else -1
        if i == n and q in A.final:
            found.append(run)
        for j in range(i + 1, n + 1):
            for t in A.leaving[q]:
                if t.marks and holds(t.predicate, S[j]):
                    pending.append((t.target, (*run, (j, t.marks))))
    return found


def star_valuations(A: CEA, S: Stream, n: int) -> frozenset[Valuation]:
    """Return the valuations of the accepting *-runs that end at n."""
    return frozenset(frozenset((variable, i) for i, marks in run for variable in marks) for run in star_runs(A, S, n))


# ---- tods21 thm6 2 ----
# tods21, proof of Theorem 6.2, letter for letter.
#
# An automaton is the paper's tuple (Q, Delta, I, F); a transition is (p, P, L, q). States are arbitrary values, so
# that
# "a fresh state" and "disjoint sets of states" are had by tagging.

State = Any
Delta62 = frozenset[tuple[State, Predicate, frozenset[str], State]]
TRUE = Anything()
EMPTY: frozenset[str] = frozenset()
_fresh = count()


class Automaton(NamedTuple):
    """(Q, Delta, I, F)."""

    Q: frozenset[State]
    Delta: Delta62
    I: frozenset[State]
    F: frozenset[State]


def construct(phi: cel.Formula, given: Callable[[cel.Formula], Automaton]) -> Automaton:
    """A_phi by the case for phi's operator, given the automata of its operands."""
    match phi:
        case cel.EventAtom(R):
            q1, q2 = next(_fresh), next(_fresh)
            return Automaton(
                frozenset({q1, q2}),
                frozenset({(q1, OfType(R), frozenset({R}), q2), (q1, TRUE, EMPTY, q1)}),
                frozenset({q1}),
                frozenset({q2}),
            )
        case cel.In(psi, A):
            Q, D, I, F = given(psi)
            unmarked = frozenset((p, P, L, q) for p, P, L, q in D if L == EMPTY)
            return Automaton(Q, unmarked | {(p, P, L | {A}, q) for p, P, L, q in D if L != EMPTY}, I, F)
        case cel.Filter(psi, cel.Every(A, P)):
            Q, D, I, F = given(psi)
            others = frozenset((p, P_, L, q) for p, P_, L, q in D if A not in L)
            return Automaton(Q, others | {(p, Both(P, P_), L, q) for p, P_, L, q in D if A in L}, I, F)
        case cel.Seq(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            bridge = frozenset((p, P, L, q) for q in I2 for p, P, L, q_ in D1 if q_ in F1)
            return Automaton(Q1 | Q2, D1 | D2 | bridge, I1, F2)
        case cel.Plus(psi):
            Q, D, I, F = given(psi)
            return Automaton(Q, D | {(p, P, L, q) for q in I for p, P, L, q_ in D if q_ in F}, I, F)
        case cel.ContiguousSeq(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            q = next(_fresh)
            ending = frozenset((q1, P, L, q) for q1, P, L, q_ in D1 if L != EMPTY and q_ in F1)
            starting = frozenset((q, P, L, q2) for q_, P, L, q2 in D2 if L != EMPTY and q_ in I2)
            return Automaton(Q1 | Q2 | {q}, D1 | D2 | ending | starting, I1, F2)
        case cel.ContiguousPlus(psi):
            Q, D, I, F = given(psi)
            q = next(_fresh)
            ending = frozenset((q1, P, L, q) for q1, P, L, q_ in D if L != EMPTY and q_ in F)
            starting = frozenset((q, P, L, q2) for q_, P, L, q2 in D if L != EMPTY and q_ in I)
            return Automaton(Q | {q}, D | ending | starting, I, F)
        case cel.Or(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            return Automaton(Q1 | Q2, D1 | D2, I1 | I2, F1 | F2)
        case cel.Project(L, psi):
            Q, D, I, F = given(psi)
            return Automaton(Q, frozenset((p, P, L & L_, q) for p, P, L_, q in D), I, F)
        case cel.Start(psi):
            Q, D, I, F = given(psi)
            q = next(_fresh)
            leaving = frozenset((q, P, L, p) for q_, P, L, p in D if L != EMPTY and q_ in I)
            return Automaton(Q | {q}, D | leaving, frozenset({q}), F)
        case cel.And(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            Q2, D2, I2, F2 = given(psi2)
            both = frozenset(
                ((q1, q2), Both(P1, P2), L, (p1, p2)) for q1, P1, L, p1 in D1 for q2, P2, L2, p2 in D2 if L == L2
            )
            return Automaton(times(Q1, Q2), both, times(I1, I2), times(F1, F2))
        case cel.All(psi1, psi2):
            Q1, D1, I1, F1 = without_incoming_and_outgoing(given(psi1))
            Q2, D2, I2, F2 = without_incoming_and_outgoing(given(psi2))
            lockstep = frozenset(
                ((q1, q2), Both(P1, P2), L1 | L2, (p1, p2)) for q1, P1, L1, p1 in D1 for q2, P2, L2, p2 in D2
            )
            second_alone = frozenset(((q1, q2), P2, L2, (q1, p2)) for q1 in I1 | F1 for q2, P2, L2, p2 in D2)
            first_alone = frozenset(((q1, q2), P1, L1, (p1, q2)) for q2 in I2 | F2 for q1, P1, L1, p1 in D1)
            return Automaton(times(Q1, Q2), lockstep | second_alone | first_alone, times(I1, I2), times(F1, F2))
        case cel.Unless(psi1, psi2):
            Q1, D1, I1, F1 = given(psi1)
            QE, DE, IE, FE = lifted(io_determinize_complete(numbered(given(cel.Project(EMPTY, psi2)))))
            both = frozenset(
                ((q1, q2), Both(P1, P2), L, (p1, p2)) for q1, P1, L, p1 in D1 for q2, P2, L2, p2 in DE if L2 == EMPTY
            )
            return Automaton(times(Q1, QE), both, times(I1, IE), times(F1, QE - FE))
        case _:
            raise NotImplementedError(f"the proof has no case for {type(phi).__name__}")


def times(Q1: frozenset[State], Q2: frozenset[State]) -> frozenset[State]:
    """Q1 x Q2."""
    return frozenset((q1, q2) for q1 in Q1 for q2 in Q2)


def without_incoming_and_outgoing(A: Automaton) -> Automaton:
    """The assumption of the case ALL, by the copies that the text describes: initial states first, then final ones."""
    Q, D, I, F = A
    copy = {q: next(_fresh) for q in I}
    D = frozenset((p, P, L, copy.get(q, q)) for p, P, L, q in D)
    D |= frozenset((copy[p], P, L, q) for p, P, L, q in D if p in copy)
    F |= frozenset(copy[q] for q in F if q in copy)
    Q |= frozenset(copy.values())
    end = {q: next(_fresh) for q in F}
    D |= frozenset((p, P, L, end[q]) for p, P, L, q in D if q in end)
    return Automaton(Q | frozenset(end.values()), D, I, frozenset(end.values()))


def io_determinize_complete(A: CEA) -> CEA:
    """Proposition 5.5 with its state for the empty set, which the complement in the case UNLESS needs."""
    B = io_determinize(A)
    sink, skip = B.states, EMPTY
    missing = tuple(
        Transition(q, P, skip, sink)
        for q in range(B.states)
        for _, P in types(A.predicates)
        if not any(t.source == q and t.predicate == P for t in B.transitions)
    )
    loop = (Transition(sink, TRUE, skip, sink),)
    return CEA(B.states + 1, B.transitions + missing + loop, B.initial, B.final)


def lifted(A: CEA) -> Automaton:
    """An automaton of the library as the paper's tuple, its states made fresh."""
    q = [next(_fresh) for _ in range(A.states)]
    Delta = frozenset((q[t.source], t.predicate, t.marks, q[t.target]) for t in A.transitions)
    return Automaton(frozenset(q), Delta, frozenset(q[p] for p in A.initial), frozenset(q[p] for p in A.final))


def numbered(A: Automaton) -> CEA:
    """The same automaton with its states numbered, for running it."""
    number = {q: i for i, q in enumerate(sorted(A.Q, key=repr))}
    transitions = tuple(Transition(number[p], P, L, number[q]) for p, P, L, q in sorted(A.Delta, key=repr))
    return CEA(len(number), transitions, frozenset(number[q] for q in A.I), frozenset(number[q] for q in A.F))


# ---- tods21 thm7 2 ----
# tods21, proof of Theorem 7.2, letter for letter.
#
# Delta(R, P, L) is the printed extension to sets of states, for P among the types of the predicates; in place of the
# type
# stands the set of predicates that an event of the type satisfies. Each function gives the steps from one state of
# the
# constructed automaton on one type, as pairs (L, next state).

Subset: TypeAlias = frozenset[int]
State72: TypeAlias = Any


class Delta72:
    """The transition relation of A as a function, on events of one type."""

    def __init__(self, A: CEA, satisfied: frozenset[Predicate]) -> None:
        self.A, self.satisfied = A, satisfied
        self.marking = frozenset(t.marks for t in A.transitions) - {EMPTY}

    def __call__(self, R: Subset, L: frozenset[str]) -> Subset:
        """Delta(R, P, L)."""
        return frozenset(
            t.target for p in R for t in self.A.leaving[p] if t.marks == L and t.predicate in self.satisfied
        )

    def marked(self, R: Subset) -> Subset:
        """The union of Delta(R, P, L) over the non-empty L."""
        return frozenset[int]().union(*(self(R, L) for L in self.marking))

    def all(self, R: Subset) -> Subset:
        """Delta(R, P)."""
        return self.marked(R) | self(R, EMPTY)


Steps72: TypeAlias = Callable[[State72, Delta72], Iterator[tuple[frozenset[str], State72]]]


def strict_steps(state: State72, delta: Delta72) -> Iterator[tuple[frozenset[str], State72]]:
    R, i = state
    for L in (*delta.marking, EMPTY):
        for i_ in (1, 2, 3):
            if (L != EMPTY and (i, i_) in {(1, 2), (2, 2)}) or (L == EMPTY and (i, i_) in {(1, 1), (2, 3), (3, 3)}):
                yield L, (delta(R, L), i_)


def nxt_steps(state: State72, delta: Delta72) -> Iterator[tuple[frozenset[str], State72]]:
    R, W = state
    for L in delta.marking:
        W_ = delta.all(W)
        yield L, (delta(R, L) - W_, W_)
    W_ = delta.all(W) | delta.marked(R)
    yield EMPTY, (delta(R, EMPTY) - W_, W_)


def last_steps(state: State72, delta: Delta72) -> Iterator[tuple[frozenset[str], State72]]:
    R, W, T = state
    for L in delta.marking:
        W_ = delta.marked(W)
        R_ = delta(R, L) - W_
        yield L, (R_, W_, (delta.all(T) | delta(R | W, EMPTY)) - (R_ | W_))
    W_ = delta.all(W) | delta.marked(R | T)
    R_ = delta(R, EMPTY) - W_
    yield EMPTY, (R_, W_, delta(T, EMPTY) - (R_ | W_))


def max_steps(state: State72, delta: Delta72) -> Iterator[tuple[frozenset[str], State72]]:
    R, W = state
    for L in delta.marking:
        W_ = delta.marked(W)
        yield L, (delta(R, L) - W_, W_)
    W_ = delta.all(W) | delta.marked(R)
    yield EMPTY, (delta(R, EMPTY) - W_, W_)


NONE: Subset = frozenset()
STEPS: dict[str, Steps72] = {"strict": strict_steps, "nxt": nxt_steps, "last": last_steps, "max": max_steps}


def deltas_72(A: CEA) -> list[tuple[Predicate, Delta72]]:
    """The transition relation of A for each of the types of its predicates."""
    return [(P, Delta72(A, frozenset(A.predicates[i] for i in chosen))) for chosen, P in types(A.predicates)]


def leaving_72(strategy: str, A: CEA, state: State72) -> int:
    """How many transitions of A_SEL leave the state, those to states included from which nothing is accepted."""
    return sum(len(list(STEPS[strategy](state, delta))) for _, delta in deltas_72(A))


def construct_72(strategy: str, A: CEA) -> CEA:
    """A_SEL, as far as it can be reached."""
    start = {"strict": (A.initial, 1), "last": (A.initial, NONE, NONE)}.get(strategy, (A.initial, NONE))
    types_ = deltas_72(A)

    def successors(state: State72) -> Iterator[tuple[tuple[Predicate, frozenset[str]], State72]]:
        for P, delta in types_:
            for L, target in STEPS[strategy](state, delta):
                if target[0]:  # R = {} can never be accepted again
                    yield (P, L), target

    found = explore([start], successors, 200_000, "the printed automaton")
    number = {state: i for i, state in enumerate(found)}

    def accepts(state: State72) -> bool:
        R, W = state[0], state[1] if strategy != "strict" else NONE
        return bool(R & A.final) and not W & A.final

    return CEA(
        len(found),
        tuple(Transition(number[s], P, L, number[t]) for s, edges in found.items() for (P, L), t in edges),
        frozenset({0}),
        frozenset(i for state, i in number.items() if accepts(state)),
    )
