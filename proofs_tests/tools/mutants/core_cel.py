"""Wrong semantics of core-CEL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import defined_outside_iteration, mentioned
from cerify.semantics.core_cel.denote import satisfies
from cerify.semantics.core_cel.interpreter import CoreInterpreter, Pair, Pairs, clause, extensions, is_function, without
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream
from cerify.semantics.predicates import Attribute, mapped_predicate
from cerify.semantics.trees import children
from proofs_tests.tools.mutants.mutant import Mutant, drawn

_drawn = drawn("core-cel")

Rewriting = Callable[[core.Formula], core.Formula]
Clause = Callable[[core.Formula, Stream, int, CoreInterpreter], Iterable[Pair] | None]
BUDGET = Budget(valuations=100_000)


@dataclass(frozen=True)
class CoreCelMutant(Mutant):
    """Each sub-formula is read as another, has another clause, or the answer is changed."""

    read: Rewriting = lambda phi: phi
    clause: Clause = lambda phi, S, i, known: None
    answer: Callable[[Match], Match | None] = lambda match: match

    def matches(self, query: core.Formula, S: Stream, output: Output = "matches") -> frozenset[Match] | None:
        """The matches; None where they take too long."""
        try:
            pairs = list(_Wrong(S, self).pairs(rewritten(query, self.read)))
        except BudgetExceeded:
            return None
        found = (self.answer(Match(max(C), tuple(sorted(C)))) for C, _ in pairs)
        return frozenset(match for match in found if match is not None)


class _Wrong(CoreInterpreter):
    """The interpreter with another clause."""

    def __init__(self, S: Stream, mutant: CoreCelMutant) -> None:
        super().__init__(S, BUDGET)
        self.mutant = mutant
        self._wrong: dict[tuple[int, int], Pairs] = {}

    def meaning(self, phi: core.Formula, i: int) -> Pairs:
        key = (id(phi), i)
        if key not in self._wrong:
            self._alive[id(phi)] = phi
            pairs = self.mutant.clause(phi, self.S, i, self)
            self._wrong[key] = frozenset(self.limit_items(clause(phi, self.S, i, self) if pairs is None else pairs))
        return self._wrong[key]


def rewritten(phi: core.Formula, read: Rewriting) -> core.Formula:
    """The formula with every sub-formula read otherwise, innermost first."""
    match phi:
        case core.CoreEventAtom():
            return read(phi)
        case core.CoreOr(left, right) | core.CoreSeq(left, right):
            return read(type(phi)(rewritten(left, read), rewritten(right, read)))
        case core.CoreFilter(psi, condition):
            return read(core.CoreFilter(rewritten(psi, read), condition))
    return read(type(phi)(rewritten(phi.phi, read)))


# --- formulas read otherwise ------------------------------------------------------------------------------------------


def _instead(kind: type[core.Formula], other: Callable[..., core.Formula]) -> Rewriting:
    """Each formula of a kind is read as another one made of the same operands."""
    return lambda phi: other(*children(phi)) if isinstance(phi, kind) else phi


def _operand(psi: core.Formula) -> core.Formula:
    return psi


def _conditions(change: Callable[[core.Condition], core.Condition]) -> Rewriting:
    return lambda phi: replace(phi, condition=change(phi.condition)) if isinstance(phi, core.CoreFilter) else phi


def _or_for_and(condition: core.Condition) -> core.Condition:
    if isinstance(condition, core.CoreConjunction):
        return core.CoreDisjunction(_or_for_and(condition.left), _or_for_and(condition.right))
    return condition


def _and_for_or(condition: core.Condition) -> core.Condition:
    if isinstance(condition, core.CoreDisjunction):
        return core.CoreConjunction(_and_for_or(condition.left), _and_for_or(condition.right))
    return condition


def _swapped(condition: core.Condition) -> core.Condition:
    """Variables of a comparison across events are taken in the order of their names, the last first."""
    match condition:
        case core.CoreCorrelated(predicate):
            names = sorted(mentioned(condition))
            other = dict(zip(names, reversed(names), strict=True))
            return core.CoreCorrelated(
                mapped_predicate(predicate, lambda a: Attribute(a.name, other[a.variable or ""]))
            )
        case core.CoreConjunction(left, right) | core.CoreDisjunction(left, right):
            return type(condition)(_swapped(left), _swapped(right))
    return condition


# --- other clauses ----------------------------------------------------------------------------------------------------


def _any_type(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    return {(frozenset({i}), frozenset({(phi.variable, i)}))} if isinstance(phi, core.CoreEventAtom) else None


def _two_events(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    """A variable of both sides of a sequence may hold an event of each; the later one stays."""
    if not isinstance(phi, core.CoreSeq):
        return None
    return (
        (C1 | C2, nu2 | without(nu1, frozenset(x for x, _ in nu2)))
        for C1, nu1 in known.meaning(phi.left, i)
        for k in range(max(C1) + 1, len(S))
        for C2, nu2 in known.meaning(phi.right, k)
    )


def _touching(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    """The last event of the left side may be the first of the right one."""
    if not isinstance(phi, core.CoreSeq):
        return None
    return (
        (C1 | C2, nu1 | nu2)
        for C1, nu1 in known.meaning(phi.left, i)
        for k in range(max(C1), len(S))
        for C2, nu2 in known.meaning(phi.right, k)
        if is_function(nu1 | nu2)
    )


def _first_only(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    """A sequence goes on with the first match of its right side."""
    if not isinstance(phi, core.CoreSeq):
        return None
    found: list[Pair] = []
    for C1, nu1 in known.meaning(phi.left, i):
        for k in range(max(C1) + 1, len(S)):
            here = [(C1 | C2, nu1 | nu2) for C2, nu2 in known.meaning(phi.right, k) if is_function(nu1 | nu2)]
            found += here
            if here:
                break
    return found


def _up_to_seven(psi: core.Formula) -> core.Formula:
    rounds = psi
    for _ in range(6):
        rounds = core.CoreOr(psi, core.CoreSeq(psi, rounds))
    return rounds


def _rounds(keep: bool, consistent: bool) -> Clause:
    """An iteration that lets its variables be seen outside, or that has one valuation for all rounds."""

    def wrong(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
        if not isinstance(phi, core.CorePlus):
            return None
        U = defined_outside_iteration(phi.phi)
        found = list(known.meaning(phi.phi, i))
        for C1, nu1 in known.meaning(phi.phi, i):
            for k in range(max(C1) + 1, len(S)):
                for C2, nu2 in known.meaning(phi, k):
                    nu = nu1 if consistent else without(nu1, U)
                    if is_function(nu | nu2):
                        found.append((C1 | C2, nu | nu2))
        return found if keep or consistent else [(C, without(nu, U)) for C, nu in found]

    return wrong


def _unbound(passes: bool) -> Clause:
    """A filter on a variable that holds no event of the match passes all, or nothing."""

    def wrong(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
        if not isinstance(phi, core.CoreFilter):
            return None
        asked = mentioned(phi.condition)
        return (
            (C, nu)
            for C, nu in known.meaning(phi.phi, i)
            if (satisfies(nu, phi.condition, S) if asked <= {x for x, _ in nu} else passes)
        )

    return wrong


def _earlier_only(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    """A filter sees no event after the match so far."""
    if not isinstance(phi, core.CoreFilter):
        return None
    return (
        (C, mu)
        for C, nu in known.meaning(phi.phi, i)
        for mu in extensions(nu, mentioned(phi.condition), S)
        if all(n <= max(C) for _, n in mu) and satisfies(mu, phi.condition, S)
    )


def _chosen(kind: type[core.Formula], rivals: Callable[[Pair, Pair], bool], better: Callable[..., bool]) -> Clause:
    """A strategy with other rivals, or another order."""

    def wrong(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
        if not isinstance(phi, kind):
            return None
        (psi,) = children(phi)
        every = [pair for k in range(len(S)) for pair in known.meaning(psi, k)]
        return [
            pair
            for pair in known.meaning(psi, i)
            if not any(rivals(pair, other) and better(other[0], pair[0]) for other in every)
        ]

    return wrong


def _same_last(one: Pair, other: Pair) -> bool:
    return max(one[0]) == max(other[0])


def _same_last_and_first(one: Pair, other: Pair) -> bool:
    return _same_last(one, other) and min(one[0]) == min(other[0])


def _not_before(one: Pair, other: Pair) -> bool:
    """As if the interval began with the match."""
    return _same_last(one, other) and min(one[0]) <= min(other[0])


def _everywhere(one: Pair, other: Pair) -> bool:
    return True


def _next(C: frozenset[int], D: frozenset[int]) -> bool:
    return C != D and min(C ^ D) in C


def _last(C: frozenset[int], D: frozenset[int]) -> bool:
    return C != D and max(C ^ D) in C


def _includes(C: frozenset[int], D: frozenset[int]) -> bool:
    return C > D


def _larger(C: frozenset[int], D: frozenset[int]) -> bool:
    return len(C) > len(D)


def _earlier(C: frozenset[int], D: frozenset[int]) -> bool:
    return min(C) < min(D)


def _later(C: frozenset[int], D: frozenset[int]) -> bool:
    return min(C) > min(D)


def _small_gaps(phi: core.Formula, S: Stream, i: int, known: CoreInterpreter) -> Iterable[Pair] | None:
    if not isinstance(phi, core.CoreStrict):
        return None
    return ((C, nu) for C, nu in known.meaning(phi.phi, i) if max(C) - min(C) <= len(C))


def _late(match: Match) -> Match | None:
    return Match(match.at + 1, match.events)


MEANING = CoreCelMutant("none")
MUTANTS = (
    CoreCelMutant("event: any type", clause=_any_type),
    _drawn("event: reported at the first", "emit=at-first-event"),
    CoreCelMutant("event: reported late", answer=_late),
    _drawn("filter: ignored", "filter=ignored"),
    _drawn("filter: OR for AND", "filter-connectives=and-as-or"),
    CoreCelMutant("filter: AND for OR", read=_conditions(_and_for_or)),
    CoreCelMutant("filter: the events swapped", read=_conditions(_swapped)),
    CoreCelMutant("binding: unbound passes", clause=_unbound(passes=True)),
    CoreCelMutant("binding: unbound fails", clause=_unbound(passes=False)),
    CoreCelMutant("binding: nothing later is seen", clause=_earlier_only),
    CoreCelMutant("binding: a variable holds two events", clause=_two_events),
    CoreCelMutant("or: the left only", read=_instead(core.CoreOr, lambda left, right: left)),
    CoreCelMutant("or: the right only", read=_instead(core.CoreOr, lambda left, right: right)),
    CoreCelMutant(
        "seq: without gaps", read=_instead(core.CoreSeq, lambda left, right: core.CoreStrict(core.CoreSeq(left, right)))
    ),
    CoreCelMutant(
        "seq: in any order",
        read=_instead(core.CoreSeq, lambda a, b: core.CoreOr(core.CoreSeq(a, b), core.CoreSeq(b, a))),
    ),
    CoreCelMutant("seq: the sides may touch", clause=_touching),
    CoreCelMutant("seq: skip till next", clause=_first_only),
    CoreCelMutant("plus: one round", read=_instead(core.CorePlus, _operand)),
    CoreCelMutant(
        "plus: two rounds at least", read=_instead(core.CorePlus, lambda psi: core.CoreSeq(psi, core.CorePlus(psi)))
    ),
    CoreCelMutant("plus: seven rounds at most", read=_instead(core.CorePlus, _up_to_seven)),
    CoreCelMutant("plus: without gaps", read=_instead(core.CorePlus, lambda psi: core.CoreStrict(core.CorePlus(psi)))),
    CoreCelMutant("plus: one event for all rounds", clause=_rounds(keep=True, consistent=True)),
    CoreCelMutant("plus: its variables are seen outside", clause=_rounds(keep=True, consistent=False)),
    _drawn("strict: ignored", "selection@strict=ignored"),
    CoreCelMutant("strict: one gap is fine", clause=_small_gaps),
    _drawn("nxt: ignored", "selection@nxt=ignored"),
    _drawn("nxt: LAST", "selection@nxt=last"),
    CoreCelMutant("nxt: the first event decides", clause=_chosen(core.CoreNext, _same_last, _earlier)),
    CoreCelMutant("nxt: over an interval", clause=_chosen(core.CoreNext, _not_before, _next)),
    CoreCelMutant("nxt: over all last positions", clause=_chosen(core.CoreNext, _everywhere, _next)),
    _drawn("last: ignored", "selection@last=ignored"),
    _drawn("last: NXT", "selection@last=nxt"),
    CoreCelMutant("last: the first event decides", clause=_chosen(core.CoreLast, _same_last, _later)),
    CoreCelMutant("last: over an interval", clause=_chosen(core.CoreLast, _not_before, _last)),
    CoreCelMutant("last: over all last positions", clause=_chosen(core.CoreLast, _everywhere, _last)),
    _drawn("max: ignored", "selection@max=ignored"),
    CoreCelMutant("max: the largest", clause=_chosen(core.CoreMax, _same_last, _larger)),
    CoreCelMutant("max: with the same first event", clause=_chosen(core.CoreMax, _same_last_and_first, _includes)),
    CoreCelMutant("max: over an interval", clause=_chosen(core.CoreMax, _not_before, _includes)),
    CoreCelMutant("max: over all last positions", clause=_chosen(core.CoreMax, _everywhere, _includes)),
)
