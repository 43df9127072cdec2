"""The toy engine again: chains of steps with conditions, a key and a window of time."""

from cerify.adapter import Skip, compare, on_chains, serve


def search(run, chain):
    """For each step the engine keeps the matches so far that wait there."""
    if any(step.is_loop or step.adjacent for step in chain.steps) or chain.absences:
        raise Skip("no loops, no neighbours, no absence")
    events, key, window = run.values, chain.key, chain.window
    if window and window.kind == "attribute":
        raise Skip("a window must be of time or of events")
    times = run.seconds() if window and window.kind == "time" else range(len(events))
    waiting = [[()]] + [[] for _ in chain.steps]
    for position, event in enumerate(events):
        for number in reversed(range(len(chain.steps))):
            if chain.steps[number].accepts(event):
                begun = waiting[number]
                longer = [(*match, position) for match in begun if fits(match, position, events, times, key, window)]
                waiting[number + 1] = longer
                if number + 1 == len(chain.steps):
                    yield from ((position, [[p] for p in match]) for match in longer if holds(chain, match, events))


def fits(match, position, events, times, key, window):
    """Whether the event at a position has the key of a match so far, and is in its window."""
    first = match[0] if match else position
    same = key is None or compare(events[first].get(key), "=", events[position].get(key))
    width = None if window is None else window.width - (window.kind == "events")
    return same and (width is None or times[position] - times[first] <= width)


def holds(chain, match, events):
    """Whether the conditions across steps are true of a match."""
    return all(condition.is_true([[p] for p in match], events) for condition in chain.across)


CLAIMS = {"operators": ["seq", "or", "in", "filter", "within", "partition"], "ordered_time": True}

if __name__ == "__main__":
    serve("chains", "1", {"cel": on_chains(search)}, {"cel": CLAIMS})
