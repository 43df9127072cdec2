"""A toy engine, and the adapter that puts it under test: sequences of event types, such as A ; B."""

import json
import re
import sys


def matches(query, events):
    """All ways to take an A, and later a B. For each step the engine keeps the matches so far that wait there."""
    types = query.split(" ; ")
    waiting = [[()]] + [[] for _ in types]
    for position, event in enumerate(events):
        for step in reversed(range(len(types))):
            if event["type"] == types[step]:
                longer = [(*match, position) for match in waiting[step]]
                waiting[step + 1] = longer
                if step + 1 == len(types):
                    yield from ({"at": position, "events": match} for match in longer)


for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        answer = {"protocol": 1, "engine": {"name": "toy", "version": "1"}, "languages": ["cel"]}
    elif message["cmd"] == "stop":
        break
    elif message["output"] == "matches" and re.fullmatch(r"\w+( ; \w+)*", message["query"]):
        answer = {"id": message["id"], "matches": list(matches(message["query"], message["events"]))}
    else:
        answer = {"id": message["id"], "skipped": "only sequences of event types"}
    print(json.dumps(answer), flush=True)
