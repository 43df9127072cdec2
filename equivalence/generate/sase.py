"""Random queries of SASE+ and streams that fit them: all strategies, Kleene plus anywhere, negation, aggregates.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. A query is
well-formed and fits the profile's schema; a stream is led to a match where that is easy: its events are chosen, one
after the other, for the components of the pattern, with other events between them.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from cerify.equivalence.generate.sase_profiles import Profile
from cerify.equivalence.generate.sase_queries import Maker
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import clauses_of_matches, conjuncts, equivalences, positive
from cerify.semantics.sase.conditions import Edge, agree, placed, value_of

TRIES = 8  # random events to choose from for each event of a match


def case(rng: Random, profile: Profile, nodes: int, events: int) -> tuple[sase.Query, Stream]:
    """A query of at most `nodes` nodes and a stream of at most `events` events; larger ones are more frequent."""
    q = query(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return q, stream(rng, profile, max(rng.randint(1, events), rng.randint(1, events)), q)


def size(q: sase.Query) -> int:
    """The number of components and conjuncts, and one each for WITHIN and HAVING."""
    return len(q.pattern) + len(list(conjuncts(q))) + (q.within is not None) + (q.having is not None)


def query(rng: Random, profile: Profile, nodes: int) -> sase.Query:
    """A query with at most that many nodes, as `size` counts them."""
    return Maker(rng, profile, nodes).query()


def stream(rng: Random, profile: Profile, length: int, q: sase.Query | None = None) -> Stream:
    """A stream of that length, most of its events of the types that the query asks for."""
    asked = sorted({k.type for k in q.pattern}) if q is not None else []
    types = asked * 4 * len(profile.types) + [*profile.types] * len(asked) if asked else [*profile.types]
    clock = 0

    def event(type_: str | None = None) -> Event:
        nonlocal clock
        attributes = {name: rng.choice(pool) for name, pool in profile.attributes if rng.random() >= profile.absent}
        return Event(type_ or rng.choice(types), attributes)

    chosen = _led(rng, q, length, event) if q is not None and rng.random() < profile.led else []
    timed = []
    for e in [*chosen, *(event() for _ in range(length - len(chosen)))]:
        clock += rng.choice((0, 1, 1, 2))
        timed.append(Event(e.type, {**e.attributes, TIME: clock}))
    return Stream(timed, profile.schema)


# --- streams ----------------------------------------------------------------------------------------------------------


def _led(rng: Random, q: sase.Query, length: int, event: Callable[..., Event]) -> list[Event]:
    """Events among which some are chosen, as far as that succeeds, for the components of the pattern in turn."""
    events: list[Event] = []
    bound: dict[str, list[int]] = {}
    last: int | None = None
    strict = all(block.strategy == "strict_contiguity" for block in q.where) and bool(q.where)
    pattern = positive(q)
    clauses = [(p, placed(p, q.pattern)) for p, _ in clauses_of_matches(q)]
    for k in pattern:
        index = q.pattern.index(k)
        for n in range(rng.choice((1, 1, 2, 3)) if k.kleene else 1):
            while not strict and len(events) < length and rng.random() < 0.3:
                events.append(event())
            if len(events) >= length:
                return events
            edges: set[Edge] = {"first", "each"} if n == 0 else {"each", "later"}
            here = [p for p, place in clauses if place.component == index and place.edge in edges]
            for _ in range(TRIES):
                candidate = event(k.type)
                tried = [*events, candidate]
                now = value_of({**bound, k.variable: [*bound.get(k.variable, []), len(events)]}, tried)
                same = last is None or all(agree(name, candidate, events[last]) for name, _ in equivalences(q))
                if same and all(satisfied(p, now) for p in here):
                    break
            bound.setdefault(k.variable, []).append(len(events))
            last = len(events)
            events.append(candidate)
    return events
