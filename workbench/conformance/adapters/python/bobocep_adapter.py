"""Puts bobocep under test: CEL's chains as patterns of blocks, relaxed (`;`) or strict (`:`), some of them loops.

    python bobocep_adapter.py
"""

from typing import Any

from cerify.adapter import Absence, Chain, Found, RunMessage, Skip, compare, on_chains, serve, version_of

CLAIMS = {
    "operators": ["seq", "cseq", "plus", "cplus", "repeat", "or", "in", "project", "filter", "within", "partition",
                  "strict", "unless"],
    "ordered_time": True,
}  # fmt: skip


def block_test(run: RunMessage, chain: Chain, step: int) -> Any:
    """Return the predicate of a step: its own conditions, and the cross-step conditions that its event completes."""
    events, key = run.values, chain.key

    def test(event: Any, history: Any) -> bool:
        if not isinstance(event.data, int) or not chain.steps[step].accepts(events[event.data]):
            return False  # complex events come back to the engine as events, and have no position
        taken = [[one.data for one in history.events.get(str(n), ())] for n in range(len(chain.steps))]
        taken[step].append(event.data)
        mine = events[event.data].get(key) if key is not None else None
        same = key is None or all(compare(events[p].get(key), "=", mine) for some in taken for p in some)
        return same and all(one.is_true(taken, events) for one in chain.across)

    return test


def pattern_of(run: RunMessage, chain: Chain) -> Any:
    """Return the pattern of a chain. Raises Skip for a chain that blocks cannot express."""
    from bobocep.cep.phenom.pattern.builder import BoboPatternBuilder

    builder, last = BoboPatternBuilder("pattern"), len(chain.steps) - 1
    if chain.steps[last].most is None:
        raise Skip("the last block cannot be a loop")
    for n, step in enumerate(chain.steps):
        test = block_test(run, chain, n)
        words = []
        for number in range(step.least if step.most is None else step.most):
            strict = step.adjacent if number == 0 else step.adjacent_rounds
            words.append("next" if strict else "followed_by")
            optional = number >= step.least
            if optional and (strict or n == last):
                raise Skip("a strict or last block cannot be optional")
            getattr(builder, words[-1])(test, group=str(n), **({"optional": True} if optional else {}))
        if step.most is None:
            words.append("next" if step.adjacent_rounds else "followed_by")
            getattr(builder, words[-1])(test, group=str(n), loop=True)
        run.translate("".join(f".{word}({step.type})" for word in words) + ("  # loop" * (step.most is None)))
    for absence in chain.absences:
        if (absence.after, absence.until) != (0, last) or last == 0:
            raise Skip("an event can be forbidden only from the first event of a match to its last")
        builder.haltcondition(forbidding(run, absence))
    if (window := chain.window) is not None:
        places = {"time": run.seconds, "events": lambda: range(len(run.events))}.get(window.kind)
        if places is None:
            raise Skip("a window must be of time or of events")
        at, width = list(places()), window.width - (window.kind == "events")
        builder.haltcondition(
            lambda event, history: isinstance(event.data, int) and at[event.data] - at[history.first().data] > width
        )
    return builder.generate()


def forbidding(run: RunMessage, absence: Absence) -> Any:
    """Return the predicate of a forbidden event."""
    return lambda event, history: isinstance(event.data, int) and absence.forbids(run.values[event.data])


def search(run: RunMessage, chain: Chain) -> list[Found]:
    """Return the matches that the engine reports, each at the event that completes it."""
    from bobocep.cep.action.handler import BoboActionHandlerBlocking
    from bobocep.cep.phenom.phenom import BoboPhenomenon
    from bobocep.setup.simple import BoboSetupSimple

    phenomenon = BoboPhenomenon("phenomenon", [pattern_of(run, chain)])
    engine = BoboSetupSimple([phenomenon], BoboActionHandlerBlocking()).generate()
    found: list[Found] = []

    class Listener:
        """Records the results that the producer makes of completed runs."""

        def on_producer_update(self, event: Any, local: bool) -> None:
            groups = event.history.events
            taken = [[one.data for one in groups.get(str(n), ())] for n in range(len(chain.steps))]
            found.append((position, taken))

    engine.producer.subscribe(Listener())
    for position in range(len(run.events)):
        engine.receiver.add_data(position)
        while any(task.size() for task in (engine.receiver, engine.decider, engine.producer, engine.forwarder)):
            engine.update()
    return found


if __name__ == "__main__":
    serve("bobocep", version_of("bobocep"), {"cel": on_chains(search)}, {"cel": CLAIMS})
