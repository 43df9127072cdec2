"""Puts OpenCEP under test: the engine protocol of cerify on standard input and output.

    python adapter.py --engine-home CHECKOUT
"""

import argparse
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from time import process_time, thread_time
from typing import Any

import chains
import sase_chains
from chains import EPOCH, Json, Match, NotExpressible, Search, Window, source

LINK = "https://github.com/ilya-kolchinsky/OpenCEP/blob/master/README.md"
MODULES = {"cel": chains, "sase": sase_chains}


def answer(run: Json, search: Search) -> dict[str, Any]:
    """Return the answer to a message *run*, with the Python source of the patterns given to OpenCEP."""
    sources: list[str] = []
    try:
        reply: dict[str, Any] = {"id": run["id"], "matches": matches(run, search, sources)}
    except NotExpressible as skip:
        return {"id": run["id"], "skipped": str(skip), "link": LINK}
    except Exception as error:
        traceback.print_exc()
        message = f"{type(error).__name__}: {error}"
        reply = {"id": run["id"], "error": {"code": "internal", "message": message}}
    return reply | ({"translation": "\n".join(sources)} if sources else {})


def measured(run: Json, search: Search) -> dict[str, Any]:
    """Return the answer to a message *measure*: the number of matches, and the processor time of
    the search in seconds.
    """
    spent = {"thread": 0.0, "process": 0.0}

    def timed(*arguments: Any) -> list[Match]:
        thread, process = thread_time(), process_time()
        found = search(*arguments)
        spent["thread"] += thread_time() - thread
        spent["process"] += process_time() - process
        return found

    reply = answer(run, timed)
    return reply if "matches" not in reply else {"id": run["id"], "count": len(reply["matches"]), "cpu": spent}


def matches(run: Json, search: Search, sources: list[str]) -> list[dict[str, Any]]:
    """Return the matches that the engine reports for a query; append the source of its patterns to `sources`.

    Raises NotExpressible for an unsupported query.
    """
    if run.get("tree") is None:
        raise NotExpressible("the query does not parse")
    if run["output"] != "matches" or run.get("selection", "all") != "all":
        raise NotExpressible("only the output of all matches is supported")
    if any("timestamp" in attributes.values() for attributes in (run.get("schema") or {}).values()):
        raise NotExpressible("attributes must be numbers, strings or truth values")
    patterns, window = MODULES[run["language"]].translated(run["tree"])
    seconds = seconds_of(run["events"], window)
    found = set()
    for pattern in patterns:
        sources.append(source(pattern, window))
        for at, positions in search(pattern, window, run["events"], seconds):
            labelled = zip(pattern.leaves, positions, strict=True)
            found.add((at, tuple(sorted({p for leaf, of in labelled if leaf.labels for p in of}))))
    return [{"at": at, "events": events} for at, events in sorted(found)]


def seconds_of(events: Sequence[Json], window: Window | None) -> list[float]:
    """Return the times of the events: seconds after the first event if there is a window on time, else positions."""
    if window is None or not window.of_time:
        return list(range(len(events)))
    times = [event.get("time") for event in events]
    if not all(isinstance(time, int) for time in times):
        times = [_instant(time) for time in times]
    if times != sorted(times):
        raise NotExpressible("events must be in the order of time")
    if times and times[-1] - times[0] > (datetime.max - EPOCH).total_seconds():
        raise NotExpressible("OpenCEP has no times after the year 9999")
    return [time - times[0] for time in times]


def _instant(time: Any) -> float:
    try:
        return datetime.fromisoformat(time).timestamp()
    except (TypeError, ValueError):
        raise NotExpressible("a window of time needs a time on every event") from None


def version_of(home: Path) -> str:
    """Return the commit of the checkout, since OpenCEP has no versions."""
    asked = subprocess.run(["git", "-C", str(home), "rev-parse", "--short=7", "HEAD"], capture_output=True, text=True)
    return asked.stdout.strip() or "unknown"


def main() -> None:
    """Serve the protocol until *stop*."""
    parser = argparse.ArgumentParser(description="OpenCEP as an engine under test.")
    parser.add_argument("--engine-home", type=Path, required=True, help="a checkout of ilya-kolchinsky/OpenCEP")
    home = parser.parse_args().engine_home
    if not (home / "CEP.py").is_file():
        sys.exit(f"--engine-home {home} is not a checkout of OpenCEP: it contains no CEP.py")
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the engine prints goes to standard error
    sys.path.insert(0, str(home.resolve()))
    from engine import search

    for line in sys.stdin:
        message = json.loads(line)
        if message["cmd"] == "stop":
            break
        if message["cmd"] == "start":
            engine = {"name": "opencep", "version": version_of(home)}
            claims = {name: language.CLAIMS for name, language in MODULES.items()}
            reply = {"protocol": 1, "engine": engine, "languages": list(MODULES), "claims": claims}
        else:
            reply = (measured if message["cmd"] == "measure" else answer)(message, search)
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
