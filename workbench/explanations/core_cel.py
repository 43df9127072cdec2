"""Explanations of core-CEL: derivations of a match, and what is in the way of a set of positions that is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

from cerify.explanations.core_cel_derivation import Node, derivations, steps_of
from cerify.explanations.core_cel_rejection import miscounted, reasons
from cerify.explanations.explainer import Json, Listing, Request
from cerify.explanations.plain import MembershipAnswer, PlainExplainer
from cerify.explanations.step import Part, View, json_of_tree, numbered
from cerify.semantics.core_cel.interpreter import Interpreter
from cerify.semantics.core_cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream

PATTERN = "without its conditions and strategies it has no such events either: it asks for other types or another order"


@dataclass(frozen=True)
class CoreFound(MembershipAnswer):
    """With derivations of a match, more: whether there are others; or with the reasons why it is none."""

    derivations: tuple[Node, ...] = ()
    more: bool = False
    reasons: tuple[str, ...] = ()


class CoreExplainer(PlainExplainer):
    """Explanations by the definition; beyond the budget whether there is a match, and why no more is known."""

    legend = "“x -> 1” says that the variable x holds event 1."

    def __init__(self, phi: Formula, matches: Sequence[Match], S: Stream, query: str) -> None:
        super().__init__(matches, S, query)
        self.phi, self.oracle = phi, Interpreter(S)

    def one(self, request: Request) -> MembershipAnswer | None:
        found = super().one(request)
        return None if found is None else self._explained(found, request.count)

    def all(self, request: Request) -> Listing[MembershipAnswer]:
        listed = super().all(request)
        return replace(listed, found=[self._explained(one, request.count) for one in listed.found])

    def json(self, found: MembershipAnswer) -> Json:
        assert isinstance(found, CoreFound)
        if not found.match:
            return super().json(found) | {"reasons": list(found.reasons)}
        trees = [json_of_tree(steps_of(root)) for root in found.derivations]
        return super().json(found) | {"derivations": trees, "more": found.more}

    def view(self, found: MembershipAnswer) -> View:
        assert isinstance(found, CoreFound)
        view = super().view(found)
        whys = (Part("what is in the way", lines=found.reasons),) if found.reasons else ()
        derived = numbered("derivation", [Part(trees=(steps_of(root),)) for root in found.derivations])
        return replace(view, parts=(*derived, *whys, *view.parts), more="derivations" if found.more else "")

    def _explained(self, found: MembershipAnswer, count: int) -> CoreFound:
        known = CoreFound(found.events, found.at, found.match, found.nearest)
        try:
            if found.match:
                roots = tuple(islice(derivations(self.phi, found.events, self.oracle), count + 1))
                return replace(known, derivations=roots[:count], more=len(roots) > count)
            if not found.events:
                return replace(known, reasons=("a match of core-CEL has an event",))
            if found.at != max(found.events):
                return replace(known, reasons=(f"a match is reported at its last event, {max(found.events)}",))
            return replace(known, reasons=self._reasons(found.events))
        except BudgetExceeded as error:
            return replace(known, reasons=(error.message,))

    def _reasons(self, C: ComplexEvent) -> tuple[str, ...]:
        """What is in the way of C; a wrong number of events is so whatever the conditions and strategies are."""
        count = miscounted(self.phi, C)
        return (count,) if count is not None else reasons(self.phi, C, self.S) or (PATTERN,)
