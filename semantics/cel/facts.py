"""What filters ask of a stream: single events, each asked once, and the predicates that a user has registered."""

from __future__ import annotations

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates, in_relation
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import Predicate, holds


class Facts:
    """The truth of predicates over one stream; remembers what it has been asked of single events."""

    def __init__(self, S: Stream, predicates: Predicates = NO_PREDICATES) -> None:
        self.S = S
        self.predicates = predicates
        self._known: dict[tuple[int, int], bool] = {}
        self._kept: list[Predicate] = []  # predicates are known by identity, so they must stay alive

    def holds(self, predicate: Predicate, p: int) -> bool:
        """Whether the event at p is in the predicate."""
        known = self._known.get((id(predicate), p))
        if known is None:
            self._kept.append(predicate)
            known = self._known[id(predicate), p] = holds(predicate, self.S[p])
        return known

    def in_relation(self, atom: cel.Named, Cs: tuple[ComplexEvent, ...]) -> bool:
        """Whether the complex events, one for each variable of the atom, are in the registered predicate."""
        return in_relation(atom, tuple(tuple(self.S[p] for p in sorted(C)) for C in Cs), self.predicates)
