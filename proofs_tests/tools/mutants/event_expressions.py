"""Wrong semantics of event expressions: clauses that stand in the place of the right one where they are not None."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TypeAlias, TypeVar

from cerify.automata.evaluator import Output
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import (
    ANY,
    NOTHING_BOUND,
    NOWHERE,
    Bindings,
    Events,
    History,
    after,
    bound,
    definition,
    is_occurrence,
    position,
    segments,
    until,
)
from cerify.semantics.event_expressions.interpreter import ExpressionInterpreter
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.predicates import holds
from proofs_tests.tools.mutants.mutant import Mutant, drawn

_drawn = drawn("event-expression")

Clause = Callable[[expr.Expression, History, Bindings, ExpressionInterpreter], Events | None]
Of: TypeAlias = Callable[..., Events]
"""What an operand takes place at: of(F), or of(F, part) in another history."""

K = TypeVar("K", bound=expr.Expression)
BUDGET = Budget(valuations=100_000, states=2_000)


@dataclass(frozen=True)
class ExpressionMutant(Mutant):
    """Some expressions have another clause."""

    clause: Clause

    def matches(self, query: expr.Expression, S: Stream, output: Output = "matches") -> frozenset[Match] | None:
        """A match for each event at which the expression takes place; None where finding them takes too long."""
        try:
            events = _Wrong(query, S, self).events()
        except (BudgetExceeded, Unsupported):
            return None
        return frozenset(Match(e, (e,)) for e in events)


class _Wrong(ExpressionInterpreter):
    """The interpreter with another clause."""

    def __init__(self, E: expr.Expression, S: Stream, mutant: ExpressionMutant) -> None:
        super().__init__(E, S, BUDGET)
        self.mutant = mutant
        self._wrong: dict[tuple[int, History, Bindings], Events | None] = {}

    def meaning(self, E: expr.Expression, h: History, b: Bindings) -> Events:
        key = (id(E), h, b)
        if h and key not in self._wrong:
            self._alive[id(E)] = E
            self._wrong[key] = self.mutant.clause(E, h, b, self)
        wrong = self._wrong.get(key)
        return super().meaning(E, h, b) if wrong is None else wrong


# --- ways to write a clause -------------------------------------------------------------------------------------------


def _of(kind: type[K], events: Callable[[K, History, Of, ExpressionInterpreter], Iterable[int]]) -> Clause:
    """A clause for the expressions of one kind."""

    def wrong(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
        if not isinstance(E, kind):
            return None
        return frozenset(events(E, h, lambda F, part=h: known.meaning(F, part, b), known))

    return wrong


def _read(kind: type[K], other: Callable[[K], expr.Expression | None]) -> Clause:
    """The expressions of one kind are read as others; None is read as it stands."""

    def wrong(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
        instead = other(E) if isinstance(E, kind) else None
        return None if instead is None else ExpressionInterpreter.meaning(known, instead, h, b)

    return wrong


def _changed(kind: type[K], change: Callable[[K, Events, History, Of], Iterable[int]]) -> Clause:
    """The right events of the expressions of one kind, changed."""

    def wrong(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
        if not isinstance(E, kind):
            return None
        right = ExpressionInterpreter.meaning(known, E, h, b)
        return frozenset(change(E, right, h, lambda F, part=h: known.meaning(F, part, b)))

    return wrong


def _two(E: expr.Nary) -> tuple[expr.Expression, expr.Expression]:
    """An operator of more operands as one of two."""
    return E.parts[0] if len(E.parts) == 2 else type(E)(E.parts[:-1]), E.parts[-1]


def _masked(passes: Callable[[expr.Primitive, Event], bool]) -> Clause:
    """Another clause for events with masks."""
    return _of(expr.Primitive, lambda E, h, of, known: [
        e for e in h
        if (passes if E.mask is not None else partial(_is_occurrence, known))(E, known.event(e))
    ])  # fmt: skip


def _is_occurrence(known: ExpressionInterpreter, E: expr.Primitive, event: Event) -> bool:
    return is_occurrence(E, event, NOTHING_BOUND, known.order)


def _passes(E: expr.Primitive, event: Event) -> bool:
    return E.mask is not None and holds(E.mask, event)


# --- relative, prior and sequence -------------------------------------------------------------------------------------


def _sequence_of_what_is_left(E: expr.Sequence, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    F, G = _two(E)
    return NOWHERE.union(*(of(G, after(h, d)) & frozenset(after(h, d)[:1]) for d in of(F)))


def _sequence_with_a_gap(E: expr.Sequence, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    F, G = _two(E)
    place = {e: i for i, e in enumerate(h)}
    return (e for e in of(G) if any(0 < place[e] - place[d] <= 2 for d in of(F)))


def _plus_contiguous(E: expr.RelativePlus, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    """A round after the first one is a single event, just after the last one."""
    found = set(of(E.operand))
    for d, e in pairwise(h):
        if d in found and e in of(E.operand, after(h, d)):
            found.add(e)
    return found


def _plus_to_seven(E: expr.RelativePlus, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    """Rounds after the seventh are forgotten."""
    ends = set(of(E.operand))
    found = set(ends)
    for _ in range(6):
        ends = {e for d in ends for e in of(E.operand, after(h, d))}
        found |= ends
    return found


# --- pipes and counting -----------------------------------------------------------------------------------------------


def _pipe_after_first(E: expr.Pipe, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    ends = of(E.left)
    return of(E.right, tuple(e for e in h if ends and e >= min(ends)))


def _nth(pick: Callable[[list[int], int], Iterable[int]]) -> Clause:
    return _of(expr.Nth, lambda E, h, of, known: pick(sorted(of(E.operand)), E.n))


def _every(pick: Callable[[list[int], int], Iterable[int]]) -> Clause:
    return _of(expr.EveryNth, lambda E, h, of, known: pick(sorted(of(E.operand)), E.n))


def _counts_all(E: expr.Nth, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    return of(E.operand) & frozenset(h[E.n - 1 : E.n])


# --- histories that are cut -------------------------------------------------------------------------------------------


def _after_from(pick: Callable[[Iterable[int]], int], touching: bool = False) -> Clause:
    def events(E: expr.After, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
        if not (ends := of(E.right)):
            return NOWHERE
        d = pick(ends)
        return of(E.left, tuple(e for e in h if e > d or (touching and e == d)))

    return _of(expr.After, events)


def _between_as_printed(E: expr.ExpressionBetween, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    """1 <= i < m - 1: the history before the last delimiter is forgotten."""
    parts = list(segments(h, of(E.right)))
    return NOWHERE.union(*(of(E.left, part) for part in (*parts[:-2], *parts[-1:])))


def _between_with_delimiters(
    E: expr.ExpressionBetween, h: History, of: Of, known: ExpressionInterpreter
) -> Iterable[int]:
    cuts = sorted(of(E.right))
    parts = [tuple(e for e in h if d <= e < f) for d, f in pairwise([*cuts, h[-1] + 1])] if cuts else []
    return NOWHERE.union(*(of(E.left, part) for part in parts))


def _between_from_the_beginning(
    E: expr.ExpressionBetween, h: History, of: Of, known: ExpressionInterpreter
) -> Iterable[int]:
    cuts = of(E.right)
    head = tuple(e for e in h if not cuts or e < min(cuts))
    return of(E.left, head).union(*(of(E.left, part) for part in segments(h, cuts)))


def _between_closed_only(E: expr.ExpressionBetween, h: History, of: Of, known: ExpressionInterpreter) -> Iterable[int]:
    return NOWHERE.union(*(of(E.left, part) for part in list(segments(h, of(E.right)))[:-1]))


def _first_after(events: Callable[[expr.FirstAfter, History, Of], Iterable[int]]) -> Clause:
    """A clause for each of the histories since an opening."""
    return _of(
        expr.FirstAfter,
        lambda E, h, of, known: NOWHERE.union(*(frozenset(events(E, part, of)) for part in segments(h, of(E.opening)))),
    )


# --- variables --------------------------------------------------------------------------------------------------------


def _exists_to_come(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
    if not isinstance(E, expr.Exists):
        return None
    return NOWHERE.union(*(known.meaning(E.operand, h, bound(b, E.variable, position(p))) for p in h))


def _exists_first(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
    """x is the first event of the history."""
    if not isinstance(E, expr.Exists):
        return None
    return known.meaning(E.operand, h, bound(b, E.variable, position(h[0])))


def _exists_now(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
    """x is the event at hand."""
    if not isinstance(E, expr.Exists):
        return None
    at = ((e, known.meaning(E.operand, h, bound(b, E.variable, position(e)))) for e in h)
    return frozenset(e for e, events in at if e in events)


def _for_all(E: expr.Expression, h: History, b: Bindings, known: ExpressionInterpreter) -> Events | None:
    if not isinstance(E, expr.Exists):
        return None
    found = {p: known.meaning(E.operand, h, bound(b, E.variable, position(p))) for p in h}
    return frozenset(e for e in h if all(e in found[p] for p in h if p <= e))


def _parameters_ignored(E: expr.ExpressionNamed) -> expr.Expression | None:
    return expr.ExpressionNamed(E.name, tuple(f"_{k}" for k in range(len(E.arguments)))) if E.arguments else None


def _first_argument_only(E: expr.Primitive) -> expr.Expression | None:
    return expr.Primitive(E.type, E.arguments[:1], E.mask) if len(E.arguments) > 1 else None


def _no_constants(E: expr.Primitive) -> expr.Expression | None:
    """A value in an argument's place is taken for a variable."""
    if all(isinstance(argument, str) for argument in E.arguments):
        return None
    given = tuple(X if isinstance(X, str) else f"_{k}" for k, X in enumerate(E.arguments))
    return expr.Primitive(E.type, given, E.mask)


NOT_NULL = expr.ExpressionNot(expr.Null())

MEANING = ExpressionMutant("none", lambda E, h, b, known: None)
MUTANTS = (
    ExpressionMutant("ev-null: everywhere", _of(expr.Null, lambda E, h, of, known: h)),
    ExpressionMutant("ev-null: at the first event", _of(expr.Null, lambda E, h, of, known: h[:1])),
    ExpressionMutant(
        "ev-event: any type", _read(expr.Primitive, lambda E: expr.AnyEvent() if E.mask is None else None)
    ),
    ExpressionMutant(
        "ev-event: the first of its type only", _changed(expr.Primitive, lambda E, right, h, of: sorted(right)[:1])
    ),
    ExpressionMutant(
        "ev-event: one too late",
        _changed(expr.Primitive, lambda E, right, h, of: [e for d, e in pairwise(h) if d in right]),
    ),
    ExpressionMutant("ev-mask: ignored", _masked(lambda E, event: event.type == E.type)),
    ExpressionMutant("ev-mask: denied", _masked(lambda E, event: event.type == E.type and not _passes(E, event))),
    ExpressionMutant("ev-mask: of any type", _masked(_passes)),
    ExpressionMutant("ev-and: or", _read(expr.ExpressionAnd, lambda E: expr.ExpressionOr(E.left, E.right))),
    ExpressionMutant("ev-and: the left only", _of(expr.ExpressionAnd, lambda E, h, of, known: of(E.left))),
    ExpressionMutant(
        "ev-and: the right has happened",
        _read(expr.ExpressionAnd, lambda E: expr.ExpressionAnd(E.left, expr.Happened(E.right))),
    ),
    ExpressionMutant("ev-or: and", _read(expr.ExpressionOr, lambda E: expr.ExpressionAnd(E.left, E.right))),
    ExpressionMutant("ev-or: the left only", _of(expr.ExpressionOr, lambda E, h, of, known: of(E.left))),
    ExpressionMutant(
        "ev-or: one of the two only", _of(expr.ExpressionOr, lambda E, h, of, known: of(E.left) ^ of(E.right))
    ),
    ExpressionMutant(
        "ev-or: as printed",
        _read(expr.ExpressionOr, lambda E: expr.ExpressionNot(expr.ExpressionAnd(E.left, expr.ExpressionNot(E.right)))),
    ),
    ExpressionMutant(
        "ev-not: never before", _read(expr.ExpressionNot, lambda E: expr.ExpressionNot(expr.Happened(E.operand)))
    ),
    _drawn("ev-not: not the start event", "not=without-start"),
    _drawn("ev-not: ignored", "not=ignored"),
    ExpressionMutant(
        "ev-not: not the first event", _of(expr.ExpressionNot, lambda E, h, of, known: frozenset(h[1:]) - of(E.operand))
    ),
    _drawn("ev-relative: prior", "relative=prior"),
    _drawn("ev-relative: after the first only", "relative=first"),
    _drawn("ev-relative: after the last only", "relative=last"),
    _drawn("ev-relative: with the event itself", "relative=with-itself"),
    _drawn("ev-relative: sequence", "relative=sequence"),
    ExpressionMutant(
        "ev-relative: two operands",
        _read(expr.Relative, lambda E: expr.Relative((E.parts[0], E.parts[-1])) if len(E.parts) > 2 else None),
    ),
    _drawn("ev-relative-plus: once", "relative_plus=single"),
    _drawn("ev-relative-plus: twice at least", "relative_plus=at-least-two"),
    _drawn("ev-relative-plus: once or twice", "relative_plus=at-most-2"),
    ExpressionMutant("ev-relative-plus: at most seven times", _of(expr.RelativePlus, _plus_to_seven)),
    ExpressionMutant("ev-relative-plus: without gaps", _of(expr.RelativePlus, _plus_contiguous)),
    _drawn("ev-any: the start event too", "any=with-start"),
    ExpressionMutant(
        "ev-any: events of the first one's type",
        _of(expr.AnyEvent, lambda E, h, of, known: [e for e in h if known.event(e).type == known.event(h[0]).type]),
    ),
    ExpressionMutant("ev-any: not the first", _of(expr.AnyEvent, lambda E, h, of, known: h[1:])),
    ExpressionMutant("ev-any: one only", _changed(expr.AnyEvent, lambda E, right, h, of: sorted(right)[:1])),
    _drawn("ev-prior: relative", "prior=relative"),
    _drawn("ev-prior: at the same event too", "prior=same-event"),
    _drawn("ev-prior: the first only", "prior=first"),
    ExpressionMutant(
        "ev-prior: in any order",
        _read(expr.Prior, lambda E: expr.ExpressionAnd(expr.Happened(_two(E)[0]), expr.Happened(_two(E)[1]))),
    ),
    _drawn("ev-prior: sequence", "prior=sequence"),
    _drawn("ev-sequence: prior", "sequence=prior"),
    _drawn("ev-sequence: next to each other in the stream", "sequence=stream"),
    ExpressionMutant("ev-sequence: in what is left", _of(expr.Sequence, _sequence_of_what_is_left)),
    ExpressionMutant("ev-sequence: one gap is fine", _of(expr.Sequence, _sequence_with_a_gap)),
    _drawn("ev-first: of the stream", "first=stream"),
    ExpressionMutant("ev-first: as printed", _read(expr.First, lambda E: definition(E, ANY))),
    ExpressionMutant("ev-first: every event", _of(expr.First, lambda E, h, of, known: h)),
    _drawn("ev-pipe: and", "pipe=and"),
    ExpressionMutant("ev-pipe: the other way round", _read(expr.Pipe, lambda E: expr.Pipe(E.right, E.left))),
    ExpressionMutant("ev-pipe: after the first", _of(expr.Pipe, _pipe_after_first)),
    ExpressionMutant("ev-pipe: the right only", _of(expr.Pipe, lambda E, h, of, known: of(E.right))),
    _drawn("ev-nth: from the n-th on", "nth=from-n-on"),
    _drawn("ev-nth: counted from 0", "nth=from-zero"),
    ExpressionMutant(
        "ev-nth: the n-th from the end", _nth(lambda found, n: found[len(found) - n : len(found) - n + 1])
    ),
    _drawn("ev-nth: every n-th", "nth=every-n-th"),
    ExpressionMutant("ev-nth: all events count", _of(expr.Nth, _counts_all)),
    _drawn("ev-every: the n-th only", "every=n-th"),
    ExpressionMutant("ev-every: from the n-th on", _every(lambda found, n: found[n - 1 :])),
    _drawn("ev-every: from the first on", "every=from-first"),
    ExpressionMutant("ev-every: counted from 0", _every(lambda found, n: found[n :: n + 1])),
    ExpressionMutant("ev-after: relative", _read(expr.After, lambda E: expr.Relative((E.right, E.left)))),
    ExpressionMutant("ev-after: with the event itself", _after_from(min, touching=True)),
    _drawn("ev-after: after the last", "after=last"),
    _drawn("ev-after: prior", "after=prior"),
    ExpressionMutant("ev-between: as printed", _of(expr.ExpressionBetween, _between_as_printed)),
    ExpressionMutant("ev-between: with the delimiters", _of(expr.ExpressionBetween, _between_with_delimiters)),
    ExpressionMutant("ev-between: from the beginning", _of(expr.ExpressionBetween, _between_from_the_beginning)),
    ExpressionMutant("ev-between: closed histories only", _of(expr.ExpressionBetween, _between_closed_only)),
    _drawn("ev-between: after the first", "between=first"),
    _drawn("ev-between: relative", "between=any"),
    _drawn("ev-first-after: nothing closes", "first_after=never-closed"),
    _drawn("ev-first-after: closed at the same event", "first_after=closed-at-once"),
    ExpressionMutant(
        "ev-first-after: the first only",
        _first_after(lambda E, part, of: sorted(until(of(E.event, part), of(E.closing, part)))[:1]),
    ),
    _drawn("ev-first-after: since any opening", "first_after=any-opening"),
    _drawn("ev-before: happened", "before=inclusive"),
    ExpressionMutant("ev-before: just before", _read(expr.Before, lambda E: expr.Sequence((E.operand, NOT_NULL)))),
    ExpressionMutant("ev-before: itself", _of(expr.Before, lambda E, h, of, known: of(E.operand))),
    _drawn("ev-happened: before", "happened=strict"),
    ExpressionMutant("ev-happened: only then", _of(expr.Happened, lambda E, h, of, known: of(E.operand))),
    ExpressionMutant(
        "ev-happened: until then",
        _of(expr.Happened, lambda E, h, of, known: [e for e in h if e <= min(of(E.operand), default=-1)]),
    ),
    ExpressionMutant("ev-prefix: always", _of(expr.Prefix, lambda E, h, of, known: h)),
    ExpressionMutant("ev-prefix: never", _of(expr.Prefix, lambda E, h, of, known: ())),
    ExpressionMutant("ev-prefix: this event too", _changed(expr.Prefix, lambda E, right, h, of: right | of(E.operand))),
    ExpressionMutant(
        "ev-prefix: as long as it has not been",
        _read(expr.Prefix, lambda E: expr.ExpressionNot(expr.Happened(E.operand))),
    ),
    ExpressionMutant(
        "ev-prefix: on this stream",
        _of(expr.Prefix, lambda E, h, of, known: [e for e in h if e < max(of(E.operand), default=-1)]),
    ),
    _drawn("ev-series: this event too", "series=through"),
    ExpressionMutant("ev-series: some before", _read(expr.ExpressionSeries, lambda E: expr.Prior((E.left, E.right)))),
    ExpressionMutant(
        "ev-series: just before", _read(expr.ExpressionSeries, lambda E: expr.Sequence((E.left, E.right)))
    ),
    ExpressionMutant(
        "ev-series: the first only", _changed(expr.ExpressionSeries, lambda E, right, h, of: sorted(right)[:1])
    ),
    ExpressionMutant("ev-correlation: events to come", _exists_to_come),
    ExpressionMutant("ev-correlation: the first event", _exists_first),
    ExpressionMutant("ev-correlation: the event at hand", _exists_now),
    ExpressionMutant("ev-correlation: for all", _for_all),
    ExpressionMutant("ev-correlation: a name is every event", _of(expr.ExpressionVariable, lambda E, h, of, known: h)),
    ExpressionMutant("ev-correlation: = is ignored", _of(expr.Equated, lambda E, h, of, known: of(E.operand))),
    ExpressionMutant(
        "ev-attributes: ignored",
        _read(expr.Primitive, lambda E: expr.Primitive(E.type, (), E.mask) if E.arguments else None),
    ),
    ExpressionMutant("ev-attributes: the first argument only", _read(expr.Primitive, _first_argument_only)),
    ExpressionMutant("ev-attributes: values are variables", _read(expr.Primitive, _no_constants)),
    ExpressionMutant("ev-constraint: true", _of(expr.Constraint, lambda E, h, of, known: h)),
    ExpressionMutant("ev-constraint: false", _of(expr.Constraint, lambda E, h, of, known: ())),
    ExpressionMutant("ev-constraint: denied", _changed(expr.Constraint, lambda E, right, h, of: frozenset(h) - right)),
    ExpressionMutant("ev-names: arguments ignored", _read(expr.ExpressionNamed, _parameters_ignored)),
    ExpressionMutant("ev-names: never", _of(expr.ExpressionNamed, lambda E, h, of, known: ())),
    ExpressionMutant("ev-names: every event", _of(expr.ExpressionNamed, lambda E, h, of, known: h)),
)
