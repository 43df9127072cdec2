"""The truth of the predicates of filters over one stream: tuple predicates, and predicates that a user registers."""

from __future__ import annotations

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.registered import NO_PREDICATES, Predicates, in_relation
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.predicates import Predicate, holds


class Facts:
    """The truth of predicates over the stream S, with the user's predicates by name."""

    def __init__(self, S: Stream, predicates: Predicates = NO_PREDICATES) -> None:
        self.S = S
        self.predicates = predicates

    def holds(self, predicate: Predicate, p: int) -> bool:
        """Whether the event at p is in the predicate."""
        return holds(predicate, self.S[p])

    def in_relation(self, atom: cel.Named, Cs: tuple[ComplexEvent, ...]) -> bool:
        """Whether the complex events, one for each variable of the atom, are in the registered predicate.

        Raises IllFormed and Unsupported.
        """
        return in_relation(atom, tuple(tuple(self.S[p] for p in sorted(C)) for C in Cs), self.predicates)


class RememberedFacts(Facts):
    """The same; the truth of a tuple predicate on an event is computed once."""

    def __init__(self, S: Stream, predicates: Predicates = NO_PREDICATES) -> None:
        super().__init__(S, predicates)
        self._computed: dict[tuple[int, int], bool] = {}
        self._alive: list[Predicate] = []  # the keys are identities of predicates, which must not be reused

    def holds(self, predicate: Predicate, p: int) -> bool:
        """Whether the event at p is in the predicate."""
        found = self._computed.get((id(predicate), p))
        if found is None:
            self._alive.append(predicate)
            found = self._computed[id(predicate), p] = super().holds(predicate, p)
        return found
