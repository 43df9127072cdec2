"""Mutants that get wrong when a Kleene plus, or a match, is over: its last event, `!`, its stop, and the window."""

from __future__ import annotations

from dataclasses import replace

from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import Chosen, SaseDefinition
from proofs_tests.tools.mutants.sase.model import wrong
from proofs_tests.tools.mutants.sase.queries import placing, where, without
from proofs_tests.tools.mutants.sase.ways import by, read


def _has_stopped(d: SaseDefinition, chosen: Chosen, t: int) -> bool:
    return t == len(d.S) or not (d.passes(chosen, t) or d.selects(chosen, chosen[-1][0], t))


class _EndsWhenStopped(SaseDefinition):
    """The condition on the last event is asked for, and that the Kleene plus has stopped."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) and (not self.ends(chosen[-1][0]) or _has_stopped(self, chosen, t))


class _StoppedIsEnough(SaseDefinition):
    """A Kleene plus that has stopped needs no condition on its last event."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) or _has_stopped(self, chosen, t)


def _uncut(q: sase.SaseQuery) -> sase.SaseQuery:
    return where(lambda b: replace(b, arguments=tuple(replace(s, cut=False) for s in b.arguments)), q)


def _all_cut(q: sase.SaseQuery) -> sase.SaseQuery:
    arrays = {k.variable for k in q.pattern if k.kleene and not k.negated}
    return where(lambda b: replace(b, arguments=tuple(replace(s, cut=s.variable in arrays) for s in b.arguments)), q)


class _CutTakesToo(SaseDefinition):
    """`!` stops a Kleene plus after the event that belongs to the next component is taken."""

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        k, last = chosen[-1]
        taken = self.selects(chosen, k, p) and self.next_selects(chosen, p)
        return super().goes_on(chosen, p) or (taken and all(self.passes(chosen, r) for r in range(last + 1, p)))


class _CutsAtAnyEnd(SaseDefinition):
    """`!` does nothing where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        return super().must_stop(chosen, t) and not self.ends(chosen[-1][0])


class _CutsOnlyEnds(SaseDefinition):
    """`!` does nothing but where a condition on the last event is given."""

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or not clauses.is_cut(self.q, self.pattern[k].variable):
            return super().must_stop(chosen, t)
        return _is_over(self, chosen, t)


class _NoAutoStop(SaseDefinition):
    """A Kleene plus before another component is left for an event of that alone."""

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        if self.ends(k) or k == len(self.pattern) - 1:
            return super().may_stop(chosen, t)
        return t < len(self.S) and self.next_selects(chosen, t)


class _StopsAnywhere(SaseDefinition):
    def may_stop(self, chosen: Chosen, t: int) -> bool:
        return super().may_stop(chosen, t) if self.ends(chosen[-1][0]) else True


def _is_over(d: SaseDefinition, chosen: Chosen, t: int) -> bool:
    """Whether the event there comes after the window."""
    return t < len(d.S) and d.spans(chosen[0][1], t) is False


class _WindowDoesNotStop(SaseDefinition):
    def must_stop(self, chosen: Chosen, t: int) -> bool:
        return not _is_over(self, chosen, t) and super().must_stop(chosen, t)

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        kept_open = _is_over(self, chosen, t) and not self.ends(chosen[-1][0])
        return not kept_open and super().may_stop(chosen, t)


class _WindowOfNeighbours(SaseDefinition):
    def selects(self, chosen: Chosen, k: int, p: int) -> bool:
        inside = not chosen or self.q.within is None or self.spans(chosen[-1][1], p) is True
        return inside and super().selects(chosen, k, p)

    def in_window(self, first: int, p: int) -> bool:
        return True


class _WindowOfPositions(SaseDefinition):
    def spans(self, first: int, p: int) -> bool | None:
        return None if self.q.within is None else p - first < self.q.within.seconds


class _NoTimeIsInside(SaseDefinition):
    def in_window(self, first: int, p: int) -> bool:
        return self.q.within is None or self.spans(first, p) is not False


def _in_seconds(q: sase.SaseQuery) -> sase.SaseQuery:
    return q if q.within is None else replace(q, within=replace(q.within, unit="seconds"))


STOPPING = (
    *wrong(
        "end",
        {
            "of every event": placing("last", "current", on="end"),
            "ignored": without("end"),
            "and the Kleene plus has stopped": by(_EndsWhenStopped),
            "or the Kleene plus has stopped": by(_StoppedIsEnough),
        },
    ),
    *wrong(
        "cut",
        {
            "ignored": read(_uncut),
            "of every Kleene plus": read(_all_cut),
            "takes the next component's event too": by(_CutTakesToo),
            "not at a condition on the last event": by(_CutsAtAnyEnd),
            "at a condition on the last event only": by(_CutsOnlyEnds),
        },
    ),
    *wrong(
        "stop",
        {
            "for the next component only": by(_NoAutoStop),
            "anywhere": by(_StopsAnywhere),
            "the window does not stop": by(_WindowDoesNotStop),
        },
    ),
    *wrong(
        "within",
        {
            "ignored": read(lambda q: replace(q, within=None)),
            "between neighbours": by(_WindowOfNeighbours),
            "counts events": by(_WindowOfPositions),
            "always seconds": read(_in_seconds),
            "no time is inside": by(_NoTimeIsInside),
        },
    ),
)
