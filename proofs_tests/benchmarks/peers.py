"""Speed beside other engines: Q1 to Q8 over the same streams, by processor time; the numbers of matches are compared.

`python -m proofs_tests.benchmarks peers [--quick] [--write docs]` asks every engine that ships with an adapter
for CEL or SASE+ and is built or installed on this machine. Each gets the streams of LADDER until one takes SHORT
seconds, or the next has more than MOST matches. With a folder, what was measured is written there, engine after engine:
speed.json, and from it speed.md and speed.svg; the rows of engines that are not on this machine stay.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import cycle
from pathlib import Path
from statistics import median
from time import process_time, thread_time
from typing import Any, TypeAlias

from cerify import protocol
from cerify.automata.evaluate.compiled import CompiledCelEvaluator
from cerify.conformance.cases import tree_of_text
from cerify.conformance.engines import SHIPPED, cache_folder, command_of
from cerify.conformance.harness import EngineFailure, EngineProcess, Limits
from cerify.semantics.cel.parse import parse
from cerify.semantics.events import Stream
from cerify.semantics.json_events import json_of_event
from proofs_tests.benchmarks.figure import RUNS, Figure, machine
from proofs_tests.benchmarks.workloads import QUERIES, TYPES, uniform
from proofs_tests.tools.engine_board import table

LADDER = (50, 100, 200, 400, 1000, 10_000)
MOST = 100_000  # matches
SHORT = 0.3  # seconds of processor time for a stream; if one takes more, no longer one is tried
LIMITS = Limits(run_seconds=60)
WARM = 2  # runs of an engine on a stream before those that count
IN_SASE = {
    "Q1": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match(a, b, c) { }",
    "Q2": "PATTERN SEQ(A a, B b, C c, D d) WHERE skip_till_any_match(a, b, c, d) { }",
    "Q4": "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match(a[], b) { }",
    "Q5": "PATTERN SEQ(A+ a[], B+ b[], C c) WHERE skip_till_any_match(a[], b[], c) { }",
    "Q7": "PATTERN SEQ(A a, B b, C c) WHERE strict_contiguity(a, b, c) { }",
    "Q8": "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match(a, b, c) "
    "{ a.a > 20 AND a.b < 80 AND b.a > 20 AND b.b < 80 AND c.a > 20 AND c.b < 80 }",
}
"""The queries in SASE+, where it has them."""

Json: TypeAlias = dict[str, Any]
Cpu: TypeAlias = Mapping[str, float]
"""Processor time in seconds: of the thread that evaluates, and of the process."""


class Skips(Exception):
    """An engine does not carry a query, or fails on it; the message says why."""


class Peer:
    """An engine, started."""

    def __init__(self, name: str) -> None:
        self.process = EngineProcess(command_of(name), LIMITS)
        started = self.process.ask(protocol.line({"cmd": "start", "protocol": protocol.PROTOCOL}), LIMITS.start_seconds)
        self.info = protocol.info_of_json(json.loads(started))

    @property
    def language(self) -> str | None:
        """The language in which it is asked; None for an engine that has neither CEL nor SASE+."""
        return next((name for name in ("cel", "sase") if name in self.info.languages), None)

    def measure(self, name: str, S: Stream) -> tuple[int, Cpu]:
        """The number of matches of a query, and the time that the engine took. Raises Skips."""
        language = self.language
        assert language is not None
        query = QUERIES[name] if language == "cel" else IN_SASE.get(name)
        if query is None:
            raise Skips(f"cannot be said in {language}")
        message = {
            "cmd": "measure",
            "id": name,
            "language": language,
            "query": query,
            "tree": tree_of_text(language, query),
            "schema": {type_: dict.fromkeys("abcd", "int") for type_ in TYPES},
            "events": [json_of_event(event) for event in S],
            "output": "matches",
        }
        try:
            answer = json.loads(self.process.ask(protocol.line(message), LIMITS.run_seconds))
        except EngineFailure as failure:
            raise Skips(f"{failure.cause}: {failure.detail}") from None
        if "count" not in answer:
            raise Skips(answer.get("skipped") or f"{answer['error']['code']}: {answer['error']['message']}")
        thread = answer["cpu"]["thread"]
        return answer["count"], {"thread": thread, "process": max(thread, answer["cpu"]["process"])}


def ours(name: str, S: Stream) -> tuple[int, Cpu]:
    """The number of matches by the compiled evaluator, all of them listed, and the time that takes."""
    evaluator = CompiledCelEvaluator(parse(QUERIES[name]))
    thread, process = thread_time(), process_time()
    count = sum(found.at.size for roots in evaluator.advance(S) for found in evaluator.match_batches(roots))
    return count, {"thread": thread_time() - thread, "process": process_time() - process}


def longest(peer: Peer, name: str, streams: Sequence[Stream]) -> Stream:
    """The longest stream that the engine reads in a short time. Raises Skips if it does not read the first."""
    best = streams[0]
    for S in streams:
        if CompiledCelEvaluator(parse(QUERIES[name])).tally(S) > MOST:
            break
        try:
            _, cpu = peer.measure(name, S)
        except Skips:
            if S is streams[0]:
                raise
            break
        best = S
        if cpu["process"] > SHORT:
            break
    return best


def measured(peer: Peer, name: str, streams: Sequence[Stream]) -> Json:
    """A row: the engine and ourselves in turns over one stream; why not, if the engine does not answer."""
    date = datetime.now(UTC).date().isoformat()
    row: Json = {"engine": peer.info.name, "version": peer.info.version, "date": date, "query": name}
    try:
        S = longest(peer, name, streams)
        runs = [(peer.measure(name, S), ours(name, S)) for _ in range(WARM + RUNS)][WARM:]
    except Skips as why:
        return row | {"why": str(why).partition("\n")[0]}
    found = {"events": len(S), "matches": runs[0][1][0], "found": runs[0][0][0]}
    for who, cpus in (("theirs", [cpu for (_, cpu), _ in runs]), ("ours", [cpu for _, (_, cpu) in runs])):
        found |= {who: {clock: median(cpu[clock] for cpu in cpus) for clock in ("thread", "process")}}
    ratios = sorted(theirs["process"] / mine["process"] for (_, theirs), (_, mine) in runs)
    times = [mine["process"] for _, (_, mine) in runs]
    return row | found | {"ratio": median(ratios), "spread": [ratios[0], ratios[-1]], "times": times}


def peers(quick: bool, folder: Path | None = None) -> Iterator[Figure]:
    """Our events per second of processor time; the ratio says how many times as long the engine takes."""
    streams = [uniform(events) for events in LADDER[: 4 if quick else None]]
    for name in QUERIES:  # so that what is compiled is loaded
        ours(name, streams[0])
    for engine in SHIPPED:
        if not SHIPPED[engine].is_ready(cache_folder(os.environ)):
            continue
        try:
            peer, rows = Peer(engine), list[Json]()
        except EngineFailure:  # it did not start in time
            continue
        for name in QUERIES if peer.language is not None else ():
            row = measured(peer, name, streams)
            rows.append(row)
            if "why" in row and row["why"].startswith(("timeout", "crashed", "memory")):
                peer.process.close()
                peer = Peer(engine)
            if row.get("matches") == row.get("found", -1):
                against = f"{row['engine']} {row['version']}, {row['events']} events, {row['matches']} matches"
                rates = sorted(row["events"] / seconds for seconds in row["times"])
                spread = (rates[0], rates[-1])
                yield Figure(f"peers.{name}.{engine}", median(rates), "events/s", against, row["ratio"], RUNS, spread)
        peer.process.close()
        if folder is not None and rows:
            write(folder, rows)


def write(folder: Path, rows: Sequence[Json]) -> None:
    """Write the rows of one engine in the place of those that the folder has of it, and the page of all."""
    path = folder / "speed.json"
    known = json.loads(path.read_text())["rows"] if path.exists() else []
    kept = [row for row in known if row["engine"] != rows[0]["engine"]]
    run = {
        "machine": machine() | {"load": round(os.getloadavg()[2])},
        "rows": sorted([*kept, *rows], key=lambda row: (row["engine"], row["query"])),
    }
    path.write_text(json.dumps(run, indent=1) + "\n")
    (folder / "speed.md").write_text(page(run))
    plot(run["rows"], folder / "speed.svg")


HEAD = """# Speed beside other engines

Made by `python -m proofs_tests.benchmarks peers --write docs`, with {cores} cores and, at the end, a load of
{load}; no cell is written by hand. The queries Q1 to Q8, and how many events per second cerify reads, stand in
[Speed](../guide/performance.md). The streams have eight event types, four of which no query mentions.

The engine and the compiled evaluator of cerify read the same stream in turns, {warm} times without counting and then
{runs} times; the median is shown. Times are milliseconds of the processor, from the first event to the last match.
All matches are listed as the engine hands them over; the query is compiled before. *Thread* is the time of the thread
that evaluates. *Process* includes collecting garbage, compiling at run time and logging; for adapters in Python, also
writing the query and the events in the engine's form. Java counts this time in steps of 10 ms, and at least the time of
the thread is shown. *Times ours* is the time of the process divided by ours, with the least and the greatest of the
{runs}. Each engine gets streams of {ladder} events, until one takes its process {short:g} s or more when it is
first read, or the next one has more than {most:,} matches; the last one is shown, so that rows of different engines are
not about the same stream. No time is shown where the engine finds a different number of matches. Engines with
neither CEL nor SASE+ are left out; `python -m proofs_tests.benchmarks funnels` times ClickHouse.

![Processor time of the engine divided by ours](speed.svg)

"""


def page(run: Json) -> str:
    """The page of what was measured, in Markdown."""
    settings = {"warm": WARM, "runs": RUNS, "ladder": ", ".join(f"{n:,}" for n in LADDER), "short": SHORT, "most": MOST}
    text = HEAD.format(cores=run["machine"]["cores"], load=run["machine"]["load"], **settings)
    names = ["query", "events", "matches", "thread", "process", "ours", "times ours"]
    for engine in dict.fromkeys(row["engine"] for row in run["rows"]):
        rows = [row for row in run["rows"] if row["engine"] == engine]
        text += f"## {engine} {rows[0]['version']}, {rows[0]['date']}\n\n{table(names, map(cells, together(rows)))}\n"
    return text.rstrip("\n") + "\n"


def together(rows: Sequence[Json]) -> list[Json]:
    """Return the rows, with one row for all queries that an engine cannot express for the same reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if "why" in row:
            reasons.setdefault(row["why"], []).append(row["query"])
    refused = [{"query": ", ".join(names), "why": why} for why, names in reasons.items()]
    return [*(row for row in rows if "why" not in row), *refused]


def cells(row: Json) -> list[str]:
    """The cells of a row of the page."""
    if "why" in row:
        return [row["query"], "", row["why"].replace("|", "\\|")]
    shown = [row["query"], f"{row['events']:,}", f"{row['matches']:,}"]
    if row["found"] != row["matches"]:
        return [*shown[:2], f"{row['found']:,}, not {row['matches']:,}"]
    theirs, mine, (low, high) = row["theirs"], row["ours"], row["spread"]
    times = [digits(1000 * seconds) for seconds in (theirs["thread"], theirs["process"], mine["process"])]
    return [
        *shown,
        *times,
        f"{digits(row['ratio'])} ({digits(low)}–{digits(high)})",
    ]


def digits(number: float) -> str:
    """A number with three digits that count, without an exponent: 0.972, 1,050, 38,000."""
    return f"{float(f'{number:.3g}'):,.12g}"


def plot(rows: Sequence[Json], path: Path) -> None:
    """The ratios of each engine by query, as SVG."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cerify"
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.4))
    comparable = [row for row in rows if row.get("matches") == row.get("found", -1)]
    axes.plot(list(QUERIES), [1.0] * len(QUERIES), color="grey", label="cerify")
    for engine, marker in zip(dict.fromkeys(row["engine"] for row in comparable), cycle("os^vD*PXhp<>"), strict=False):
        mine = [row for row in comparable if row["engine"] == engine]
        axes.plot([row["query"] for row in mine], [row["ratio"] for row in mine], marker, label=engine)
    axes.set_yscale("log")
    axes.set_ylabel("processor time, times ours")
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
