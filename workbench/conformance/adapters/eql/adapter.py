"""Puts the EQL engine for Python under test: the engine protocol of cerify on standard input and output.

    python adapter.py

It runs in an environment of its own, into which `pip install eql` has put the engine. The engine is under the AGPL:
cerify neither contains nor imports it, and speaks with this program by lines of JSON alone.
"""

import contextlib
import json
import sys
from datetime import datetime
from importlib.metadata import version

import eql
from eql import parser

TICKS = 10_000_000  # of a second, as the engine counts time
LINK = "https://eql.readthedocs.io/en/latest/query-guide/index.html"


class NotComparable(Exception):
    """The engine is not asked this."""


def data_of(event):
    """The attributes of an event as the engine has them: nested by dots, arrays as lists."""
    data = {}
    for name, value in event.items():
        if name in ("type", "time"):
            continue
        base, bracket, _ = name.partition("[")
        *path, last = (base if bracket else name).split(".")
        inside = data
        for part in path:
            inside = inside.setdefault(part, {})
            if not isinstance(inside, dict):
                raise NotComparable(f"{name} is in a field that has a value of its own")
        if last in inside and bracket:
            inside[last] = [*(inside[last] if isinstance(inside[last], list) else [inside[last]]), value]
        else:
            inside[last] = value
    return data


def ticks_of(time):
    """A time in the units of the engine."""
    if time is None:
        return 0
    if isinstance(time, str):
        return int(datetime.fromisoformat(time).timestamp() * TICKS)
    return int(time * TICKS)


def matches(run):
    """The matches that the engine reports."""
    if run["output"] != "matches":
        raise NotComparable("a match is its events")
    events = []
    for position, event in enumerate(run["events"]):
        data = data_of(event)
        data["cerify_position"] = position
        events.append(eql.Event(event["type"], ticks_of(event.get("time")), data))
    found = []
    engine = eql.PythonEngine()
    with contextlib.ExitStack() as stack:
        for syntax in (parser.elasticsearch_syntax, parser.allow_runs, parser.allow_negation, parser.allow_sample):
            stack.enter_context(syntax)
        engine.add_query(parser.parse_query(run["query"]))
    engine.add_output_hook(lambda result: found.append([e.data["cerify_position"] for e in result.events]))
    engine.stream_events(events)
    return sorted({(max(p), tuple(sorted(p))) for p in found if p})


def answer(run):
    """The answer to a message *run*."""
    if run["language"] != "eql":
        return {"id": run["id"], "skipped": "the engine has EQL alone", "link": LINK}
    try:
        listed = [{"at": at, "events": list(positions)} for at, positions in matches(run)]
    except NotComparable as skip:
        return {"id": run["id"], "skipped": str(skip), "link": LINK}
    except eql.EqlError as error:
        return {"id": run["id"], "error": {"code": "unsupported", "message": f"{type(error).__name__}: {error}"[:500]}}
    except Exception as error:
        return {"id": run["id"], "error": {"code": "internal", "message": f"{type(error).__name__}: {error}"[:500]}}
    return {"id": run["id"], "matches": listed}


def main():
    """Answer the messages of the harness, one on each line."""
    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "start":
            engine = {"name": "eql (Python)", "version": version("eql")}
            reply = {"protocol": 1, "engine": engine, "languages": ["eql"], "features": []}
        elif message["cmd"] == "run":
            reply = answer(message)
        else:
            return
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    main()
