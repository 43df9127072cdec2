"""Mutants that get negation wrong: what must not be there, and where."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from cerify.semantics.events import Bindings
from cerify.semantics.predicates import Attribute, mapped_predicate
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import SaseAbsences
from proofs_tests.tools.mutants.sase.model import wrong
from proofs_tests.tools.mutants.sase.queries import edge_of, with_conjuncts
from proofs_tests.tools.mutants.sase.ways import absent, read


class _Never(SaseAbsences):
    def forbid(self, M: Bindings) -> bool:
        return False


class _OfTypeAlone(SaseAbsences):
    def satisfy(self, *_: Any) -> bool:
        return True


class _NoTests(SaseAbsences):
    def agrees(self, *_: Any) -> bool:
        return True


class _Touching(SaseAbsences):
    """The scope has the neighbours' events."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        near = {p for _, places in M for p in places}
        return None if scope is None else sorted({*scope, *(p for p in near if {p - 1, p + 1} & set(scope))})


class _NextAlone(SaseAbsences):
    """Only what comes right after, or right before, counts."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        at = self.q.pattern.index(k)
        return scope if scope is None else scope[-1:] if at == 0 else scope[:1]


class _FirstOfTypeAlone(SaseAbsences):
    """Only the first event of the type in the scope is looked at."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope = super().scope(k, M)
        return scope if scope is None else [p for p in scope if self.S[p].type == k.type][:1]


class _InTheWholeMatch(SaseAbsences):
    """A negated component between others is looked for from the first event of the match to its last."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        bound = {p for _, places in M for p in places}
        if k == self.q.pattern[0] or _is_last(self, k):
            return super().scope(k, M)
        return [p for p in range(min(bound), max(bound) + 1) if p not in bound]


class _NoEnd(SaseAbsences):
    """Conditions on the whole of a negated Kleene plus are not asked for."""

    def satisfy(self, k: sase.Component, M: Bindings, series: tuple[int, ...], edges: Any, only: Any = None) -> bool:
        return edges == ("end",) or super().satisfy(k, M, series, edges, only)


class _NothingInFront(SaseAbsences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return self.q.pattern.index(k) > 0 and super().is_there(k, M)


class _NothingAtTheEnd(SaseAbsences):
    def is_there(self, k: sase.Component, M: Bindings) -> bool:
        return not _is_last(self, k) and super().is_there(k, M)


class _ToTheEndOfTheStream(SaseAbsences):
    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        return list(range(M[-1][1][-1] + 1, len(self.S))) if _is_last(self, k) else super().scope(k, M)


class _WindowOfTheLast(SaseAbsences):
    """At the end, the window is counted from the last event of the match."""

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        if not _is_last(self, k) or self.q.within is None:
            return super().scope(k, M)
        last = M[-1][1][-1]
        return [p for p in range(last + 1, len(self.S)) if self.spans(self.q.within, last, p)]


def _is_last(absences: SaseAbsences, k: sase.Component) -> bool:
    return absences.q.pattern.index(k) == len(absences.q.pattern) - 1


def _one_event(q: sase.SaseQuery) -> sase.SaseQuery:
    """A negated Kleene plus is read as one event; conditions that need the array are left out."""
    single = {k.variable for k in q.pattern if k.kleene and k.negated}
    pattern = tuple(replace(k, kleene=k.kleene and k.variable not in single) for k in q.pattern)

    def only(a: Attribute) -> Attribute:
        return replace(a, place="only") if isinstance(a, sase.Reference) and a.variable in single else a

    def kept(c: sase.Conjunct) -> sase.Conjunct | None:
        if isinstance(c.condition, sase.Equivalence) or not clauses.variables(c.condition) & single:
            return c
        if edge_of(c, q) not in ("first", "each"):
            return None
        return replace(c, condition=mapped_predicate(c.condition, only))

    return replace(with_conjuncts(kept, q), pattern=pattern)


NEGATION = (
    *wrong(
        "negation",
        {
            "ignored": absent(_Never),
            "conditions ignored": absent(_OfTypeAlone),
            "equivalence tests ignored": absent(_NoTests),
            "with the neighbours' events": absent(_Touching),
            "right after only": absent(_NextAlone),
            "the first of the type only": absent(_FirstOfTypeAlone),
            "in the whole match": absent(_InTheWholeMatch),
        },
    ),
    *wrong("negated-kleene", {"one event": read(_one_event), "conditions on the whole ignored": absent(_NoEnd)}),
    *wrong("negation-front", {"ignored": absent(_NothingInFront), "right before only": absent(_NextAlone)}),
    *wrong(
        "negation-end",
        {
            "ignored": absent(_NothingAtTheEnd),
            "to the end of the stream": absent(_ToTheEndOfTheStream),
            "the window from the last event": absent(_WindowOfTheLast),
        },
    ),
)
