"""An engine that reads A ; B as "the next B", with its adapter."""

import json
import re
import sys


def matches(query, events):
    """All ways to begin, each going on to the next event that fits: skip till next match."""
    types = [part.strip() for part in query.split(";")]
    for start in range(len(events)):
        found, wanted = [], iter(types)
        want = next(wanted)
        for position in range(start, len(events)):
            if events[position]["type"] == want:
                found.append(position)
                want = next(wanted, None)
                if want is None:
                    break
            elif position == start:
                break
        if len(found) == len(types):
            yield {"at": found[-1], "events": found}


for line in sys.stdin:
    message = json.loads(line)
    if message["cmd"] == "start":
        answer = {"protocol": 1, "engine": {"name": "mine", "version": "1"}, "languages": ["cel"]}
    elif message["cmd"] == "stop":
        break
    elif re.fullmatch(r"\w+( ; \w+)*", message["query"]) and message["output"] == "matches":
        answer = {"id": message["id"], "matches": list(matches(message["query"], message["events"]))}
    else:
        answer = {"id": message["id"], "skipped": "only sequences of event types"}
    print(json.dumps(answer), flush=True)
