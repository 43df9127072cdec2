"""A library for writing adapters in Python. An adapter is a program through which cerify tests an engine.

An adapter answers queries with the matches that its engine reports, by the engine protocol. This module has three
things that all adapters need: the loop that reads messages and writes answers (`serve`), the conversion of a query to
chains of steps, which most engines can express (`chains_of`), and the evaluation of conditions on events (`holds`).

The module imports only the standard library. An engine often needs an environment of its own, with other versions of
the packages that cerify needs. There, it is enough that cerify is on the path. The module shares no code with the
definition of a language: queries come as JSON trees, and the evaluation of conditions is written a second time. So a
fault in one of the two implementations shows as a wrong answer.

Chains have exactly the matches of their query. A query that chains cannot express raises `Skip`, and a skipped case
does not count as a failure.

If the engine reports a match only after a later event, the adapter must end the engine's input, or send a last event of
a type that no query names and drop the matches with that event.
"""

from __future__ import annotations

import json
import operator
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from itertools import product
from time import process_time, thread_time
from typing import Any, BinaryIO, TypeAlias

Json: TypeAlias = dict[str, Any]

Taken: TypeAlias = Sequence[Sequence[int]]
"""For each step of a chain, the positions of the events that a match takes for it, ascending."""

Found: TypeAlias = tuple[int, Taken]
"""A match of a chain: the position at which it is reported, and the events that its steps take."""

MOST_CHAINS = 64  # the most chains of one query; a sequence of alternatives multiplies their numbers
CLAIM_PARTS = frozenset({"operators", "strategies", "predicates", "output", "ordered_time"})
SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
ARITHMETIC: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
}  # fmt: skip


class Skip(Exception):
    """Raised if the engine cannot express a query. The answer is then a skip with this reason.

    link: the address of the page of the engine's manual that says so. Example: raise Skip("the engine has no negation",
    "https://example.org/manual")
    """

    def __init__(self, why: str, link: str = "") -> None:
        super().__init__(why)
        self.link = link


class AdapterProblem(Exception):
    """Raised if the engine cannot answer. The answer is then an error with this message and a code of the protocol.

    Codes: parse, ill_formed, unsupported, budget, internal.
    """

    def __init__(self, message: str, code: str = "internal") -> None:
        super().__init__(message)
        self.code = code


# --- messages ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RunMessage:
    """A query and a stream, whose matches the engine has to report.

    message: the whole message. translations: the query in the engine's own language; reports show it. cpu: the
    processor seconds that `timed` has counted, under the keys "thread" and "process".
    """

    message: Json
    translations: list[str] = field(default_factory=list)
    cpu: dict[str, float] = field(default_factory=dict)

    @property
    def query(self) -> str:
        """Return the text of the query."""
        return str(self.message["query"])

    @property
    def language(self) -> str:
        """Return the name of the query's language, such as cel."""
        return str(self.message["language"])

    @property
    def tree(self) -> Json | None:
        """Return the query as a tree (see docs/reference/protocol.md); None for a text that does not parse."""
        tree: Json | None = self.message.get("tree")
        return tree

    @property
    def events(self) -> list[Json]:
        """Return the events in the order in which they were received, each with its `type`."""
        events: list[Json] = self.message["events"]
        return events

    @property
    def wants_bindings(self) -> bool:
        """Return whether the answer must have, for each match, the positions that each variable binds."""
        return bool(self.message.get("output", "matches") == "valuations")

    @property
    def values(self) -> list[Json]:
        """Return the events, with times converted from text to datetime.

        Times are `time` and the attributes that the schema declares as timestamps. Raises Skip for a text that is not a
        time.
        """
        schema = self.message.get("schema") or {}
        parsed = []
        for event in self.events:
            types = schema.get(event.get("type", "row"), {})
            times = {
                name: _instant(value)
                for name, value in event.items()
                if isinstance(value, str) and (name == "time" or types.get(name) == "timestamp")
            }
            parsed.append(event | times)
        return parsed

    def seconds(self, ordered: bool = True) -> list[int | float]:
        """Return the time of each event in seconds.

        Raises Skip if an event has no time or, with `ordered`, if an event is earlier than the event before it.
        """
        times = [event.get("time") for event in self.values]
        seconds = [time.timestamp() if isinstance(time, datetime) else time for time in times]
        if not all(isinstance(time, int | float) and not isinstance(time, bool) for time in seconds):
            raise Skip("an event has no time")
        found: list[int | float] = [time for time in seconds if time is not None]
        if ordered and found != sorted(found):
            raise Skip("the engine needs events sorted by time")
        return found

    @contextmanager
    def timed(self) -> Iterator[None]:
        """Count the processor time of a `with` block. The answer to the message *measure* reports it.

        The block should contain only the engine's work.
        """
        thread, process = thread_time(), process_time()
        try:
            yield
        finally:
            for clock, spent in (("thread", thread_time() - thread), ("process", process_time() - process)):
                self.cpu[clock] = self.cpu.get(clock, 0.0) + spent

    def translate(self, text: str) -> None:
        """Record the query in the engine's own language; reports show it beside the query of a defect."""
        self.translations.append(text)


Answering: TypeAlias = Callable[[RunMessage], Iterable[Json] | Mapping[str, Any]]
"""A function that answers a query over a stream with matches in the form of the protocol, or with another answer of the
protocol as a mapping, such as {"tables": [...]}. It may raise Skip and AdapterProblem."""


def serve(
    name: str,
    engine_version: str,
    languages: Mapping[str, Answering],
    claims: Mapping[str, Json] | None = None,
    features: Sequence[str] = (),
) -> None:
    """Answer the messages on standard input until the message *stop*, or until the input ends.

    languages: for each language that the engine supports, a function that answers its queries. It takes a RunMessage
    (`run.tree`, `run.events`, `run.wants_bindings`) and returns matches such as {"at": 1, "events": [0, 1]}, or raises
    Skip. claims: for each language, the engine's claims (docs/reference/protocol.md). Without a claim `output`, the
    engine must also answer requests for valuations; claim {"output": ["matches"]} if it has no bindings. Raises
    ValueError for a claim with an unknown field.

    Standard output is reserved for the protocol: all that the engine prints goes to standard error. An exception
    becomes an answer, and its traceback goes to standard error.

    Example: serve("mine", version_of("mine"), {"cel": on_chains(search)})
    """
    for language, claimed in (claims or {}).items():
        # A misspelt part would claim nothing, and cases that the engine cannot run would count as failures.
        if unknown := sorted(set(claimed) - CLAIM_PARTS):
            known = ", ".join(sorted(CLAIM_PARTS))
            raise ValueError(f"claims of {language}: unknown field {unknown[0]!r}; a claim has the fields {known}")
    started: Json = {
        "protocol": 1,
        "engine": {"name": name, "version": engine_version},
        "languages": list(languages),
        "features": list(features),
        **({"claims": {language: dict(claimed) for language, claimed in claims.items()}} if claims else {}),
    }
    answers = _reserved_output()
    for line in sys.stdin.buffer:
        if not line.strip():
            continue
        answer = answer_line(line, started, languages)
        if answer is None:
            return
        # ASCII: half of a surrogate pair in an engine's message is escaped; it could not be encoded.
        text = json.dumps(answer, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
        answers.write(text.encode() + b"\n")
        answers.flush()


def answer_line(line: bytes | str, started: Json, languages: Mapping[str, Answering]) -> Json | None:
    """Return the answer to one line of input; None for the message *stop*.

    The answer to a line that is not a message is an error without an id.
    """
    try:
        message = json.loads(line)
        command = message["cmd"]
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return {"id": None, "error": {"code": "parse", "message": f"not a message of the protocol: {error!r}"}}
    if command == "start":
        return started
    if command == "stop":
        return None
    if command not in ("run", "measure"):
        return {"id": message.get("id"), "error": {"code": "unsupported", "message": f"no command {command!r}"}}
    run = RunMessage(message)
    answer = answer_run(run, languages)
    if command == "run" or "matches" not in answer:
        return answer
    if not run.cpu:
        untimed = "the adapter measures no time: run the engine in run.timed()"
        return {"id": answer["id"], "error": {"code": "unsupported", "message": untimed}}
    return {"id": answer["id"], "count": len(answer["matches"]), "cpu": run.cpu}


def answer_run(run: RunMessage, languages: Mapping[str, Answering]) -> Json:
    """Return the answer to a query: its matches, a skip or an error, and the translation if the adapter gave one."""
    try:
        if run.language not in languages:
            raise Skip(f"the engine does not support the language {run.language}")
        if run.message.get("consumption", "none") != "none" or run.message.get("selection", "all") != "all":
            raise Skip("the engine supports neither consumption nor a selection strategy")
        answered = languages[run.language](run)
        answer: Json = dict(answered) if isinstance(answered, Mapping) else {"matches": list(answered)}
        json.dumps(answer, allow_nan=False)  # so that a value that JSON does not have fails here, not in `serve`
    except Skip as skip:
        why = str(skip) or "the engine does not support the query"
        answer = {"skipped": why, **({"link": skip.link} if skip.link else {})}
    except AdapterProblem as problem:
        answer = {"error": {"code": problem.code, "message": str(problem)}}
    except (MemoryError, RecursionError) as error:
        answer = {"error": {"code": "budget", "message": f"{type(error).__name__} in the engine or its adapter"}}
    except Exception as error:
        traceback.print_exc()
        answer = {"error": {"code": "internal", "message": f"{type(error).__name__}: {error}"}}
    if run.translations and "skipped" not in answer:
        answer["translation"] = "\n".join(run.translations)
    return {"id": run.message.get("id"), **answer}


def version_of(distribution: str) -> str:
    """Return the version of an installed package; "unknown" if it is not installed."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return "unknown"


def _reserved_output() -> BinaryIO:
    """Return standard output for the answers, and redirect everything else that is printed to standard error."""
    sys.stdout.flush()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # an engine's library may write to the descriptor, not to sys.stdout
    return answers


def _instant(text: str) -> datetime:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise Skip(f"{text!r} is not a time") from None
    return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)


# --- chains -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ChainStep:
    """A step that takes one event of a type or, as a loop, `least` to `most` events; no upper limit if `most` is None.

    labels: the variables that bind the events; the events of a step without labels are not reported. conditions:
    predicates that each event of the step must satisfy, as trees. adjacent: whether the first event of the step must
    directly follow the last event of the step before. adjacent_rounds: whether the events of the loop must directly
    follow each other.
    """

    type: str
    labels: frozenset[str]
    conditions: tuple[Json, ...] = ()
    least: int = 1
    most: int | None = 1
    adjacent: bool = False
    adjacent_rounds: bool = False

    @property
    def is_loop(self) -> bool:
        """Return whether the step may take several events."""
        return self.most != 1

    def comparisons(self) -> list[tuple[str, str, Any]]:
        """Return the conditions as (attribute, comparator, constant). Raises Skip for other conditions."""
        return plain_comparisons(self.conditions)

    def accepts(self, event: Json) -> bool:
        """Return whether an event has the type of the step and satisfies its conditions."""
        return event.get("type", "row") == self.type and all(holds(one, event) for one in self.conditions)


@dataclass(frozen=True)
class CrossCondition:
    """A condition on the events of several steps, as a tree.

    steps: for each variable of the condition, the indices of the steps whose events it binds. They are several if steps
    have the same event type, and none if the variable is bound only in another alternative of OR. If you read the tree
    yourself: an attribute inside an `Every` node has the variable of this node, and its own `variable` is null.
    """

    condition: Json
    steps: Mapping[str, tuple[int, ...]]

    def is_true(self, taken: Taken, events: Sequence[Json]) -> bool:
        """Return whether the condition is true of the events that each step takes.

        taken: their positions. Steps without events are ignored.
        """
        of = {variable: [events[p] for n in steps for p in taken[n]] for variable, steps in self.steps.items()}
        return _satisfied(self.condition, of)

    def comparison(self) -> tuple[int, str, str, int, str] | None:
        """Return the condition as (step, attribute, comparator, step, attribute), with the earlier step first.

        Return None if it is not a comparison of two attributes.
        """
        if self.condition["node"] != "Correlated":
            return None
        tree = self.condition["predicate"]
        if tree["node"] != "Comparison" or {tree["left"]["node"], tree["right"]["node"]} != {"Attribute"}:
            return None
        left, right = self.steps[tree["left"]["variable"]], self.steps[tree["right"]["variable"]]
        if len(left) != 1 or len(right) != 1:
            return None
        if left[0] <= right[0]:
            return left[0], tree["left"]["name"], tree["comparator"], right[0], tree["right"]["name"]
        return right[0], tree["right"]["name"], FLIPPED[tree["comparator"]], left[0], tree["left"]["name"]


@dataclass(frozen=True)
class ChainSpan:
    """A restriction on the steps from `first` to `last`: their events lie in one window, or have the same key.

    kind: "events" (last position - first position < width), "time" (width in seconds), "attribute" (width in the
    attribute's values) or "key". With "key", every event has the attribute, all with the same value.
    """

    kind: str
    first: int
    last: int
    width: int | float = 0
    attribute: str = ""


@dataclass(frozen=True)
class Absence:
    """A condition that no forbidden event occurs between two steps. Forbidden are events of a type that satisfy
    `conditions`.

    after, until: the indices of these steps. The range begins after the last event of step `after`, or at the beginning
    of the stream if `after` is -1. It includes the last event of step `until`.
    """

    after: int
    until: int
    type: str
    conditions: tuple[Json, ...] = ()

    def forbids(self, event: Json) -> bool:
        """Return whether an event is forbidden: it has the type and satisfies the conditions."""
        return event.get("type", "row") == self.type and all(holds(one, event) for one in self.conditions)


@dataclass(frozen=True)
class Chain:
    """A query, or one alternative of a query, as a sequence of steps with restrictions.

    across: conditions on events of several steps. spans: windows and keys. absences: events that must not occur.
    """

    steps: tuple[ChainStep, ...]
    across: tuple[CrossCondition, ...] = ()
    spans: tuple[ChainSpan, ...] = ()
    absences: tuple[Absence, ...] = ()

    @property
    def window(self) -> ChainSpan | None:
        """Return the window around the whole chain, or None. Raises Skip for several windows, or for a window around a
        part of the chain.
        """
        return self._whole([span for span in self.spans if span.kind != "key"], "window")

    @property
    def key(self) -> str | None:
        """Return the attribute on which all events must agree, or None. Raises Skip for several keys, or for a key of a
        part of the chain.
        """
        found = self._whole([span for span in self.spans if span.kind == "key"], "key")
        return None if found is None else found.attribute

    def match(self, at: int, taken: Taken, bindings: bool = False) -> Json:
        """Return a match in the protocol's form, given its position and the positions of the events of each step.

        bindings: whether the match also has the positions that each variable binds.
        """
        pairs = list(zip(self.steps, taken, strict=True))
        match: Json = {"at": at, "events": sorted({p for step, of in pairs if step.labels for p in of})}
        if bindings:
            variables = sorted({label for step in self.steps for label in step.labels})
            bound = {v: sorted({p for step, of in pairs if v in step.labels for p in of}) for v in variables}
            match["bindings"] = {v: positions for v, positions in bound.items() if positions}
        return match

    def _whole(self, spans: Sequence[ChainSpan], what: str) -> ChainSpan | None:
        if len(spans) > 1 or any((span.first, span.last) != (0, len(self.steps) - 1) for span in spans):
            raise Skip(f"the engine supports only one {what}, around the whole pattern")
        return spans[0] if spans else None


Search: TypeAlias = Callable[[RunMessage, Chain], Iterable[Found]]
"""A function that finds the matches of one chain over the events of a run."""


def on_chains(search: Search) -> Answering:
    """Return a function that answers a query by searching each of its chains.

    The same match may come from several chains, or from one chain in several ways, as {0, 1, 2} does for `A+ ; A+`. It
    is reported once. But if the search returns the same events for the same steps of one chain twice, the match is
    reported twice, because that is the engine's own, wrong answer.

    Each alternative of OR becomes a chain of its own. This can hide how an engine evaluates OR. For `A ; (B OR C)` on
    the stream A C B, an engine that takes the first event that fits finds only {0, 1}; with two chains, it also finds
    {0, 2}. To test the engine's own OR, translate `run.tree`.
    """

    def matches(run: RunMessage) -> list[Json]:
        reported: list[Json] = []
        known: set[str] = set()
        for chain in chains_of(run.tree):
            ways: set[tuple[int, tuple[tuple[int, ...], ...]]] = set()
            with run.timed():
                found = list(search(run, chain))
            for at, taken in found:
                match = chain.match(at, taken, run.wants_bindings)
                way, text = (at, tuple(map(tuple, taken))), json.dumps(match, sort_keys=True)
                if way in ways or text not in known:
                    reported.append(match)
                ways.add(way)
                known.add(text)
        return reported

    return matches


def chains_of(tree: Json | None) -> list[Chain]:
    """Return the chains that together have the matches of a CEL query, given as a tree.

    OR is distributed, so that each alternative is a chain. Raises Skip for parts that a chain cannot express: loops
    over more than one event, ALL, AND, START, the strategies NXT, LAST and MAX, `like`, and registered predicates.
    """
    if tree is None:
        raise Skip("the query does not parse")
    chains = _chains(tree)
    if len(chains) > MOST_CHAINS:
        raise Skip(f"the query has more than {MOST_CHAINS} alternatives")
    if not all(any(step.labels for step in chain.steps) for chain in chains):
        raise Skip("a match must report at least one event")
    return chains


def chain_of(tree: Json | None) -> Chain:
    """Return the only chain of a query. Raises Skip if the query has several chains, or if `chains_of` raises it."""
    chains = chains_of(tree)
    if len(chains) != 1:
        raise Skip("the engine does not support OR")
    return chains[0]


def _chains(tree: Json) -> list[Chain]:
    match tree["node"]:
        case "Event":
            return [Chain((ChainStep(tree["type"], frozenset([tree["type"]])),))]
        case "Or":
            return _chains(tree["left"]) + _chains(tree["right"])
        case "Seq" | "ContiguousSeq" as node:
            pairs = list(product(_chains(tree["left"]), _chains(tree["right"])))
            if len(pairs) > MOST_CHAINS:
                raise Skip(f"the query has more than {MOST_CHAINS} alternatives")
            return [_join(left, right, adjacent=node == "ContiguousSeq") for left, right in pairs]
        case "Plus" | "ContiguousPlus":
            return [_loop(tree, 1, None)]
        case "Repeat" | "ContiguousRepeat":
            return [_loop(tree, tree["least"], tree["most"])]
        case "In":
            return [_relabel(one, lambda own: own | {tree["variable"]} if own else own) for one in _chains(tree["phi"])]
        case "Project":
            return [_relabel(one, lambda own: own & set(tree["variables"])) for one in _chains(tree["phi"])]
        case "Filter":
            filtered = (_filter(one, tree["condition"]) for one in _chains(tree["phi"]))
            return [one for one in filtered if one is not None]
        case "Strict":
            return [_make_adjacent(one) for one in _chains(tree["phi"])]
        case "Within":
            return [_span(one, **_window(tree["window"])) for one in _chains(tree["phi"])]
        case "PartitionBy":
            return [_span(one, kind="key", attribute=tree["attribute"]) for one in _chains(tree["phi"])]
        case "Unless":
            return [_without(one, tree["right"]) for one in _chains(tree["left"])]
        case other:
            raise Skip(f"the engine gets a query as a sequence of steps, which cannot express {other}")


def _join(left: Chain, right: Chain, adjacent: bool) -> Chain:
    shift, first = len(left.steps), right.steps[0]
    # Adjacency in CEL is about the events of the match; an event that PROJECT drops is none of them.
    if adjacent and not (left.steps[-1].labels and first.labels):
        raise Skip("`:` and `:+` are supported only between events that are reported")
    return Chain(
        (*left.steps, replace(first, adjacent=adjacent), *right.steps[1:]),
        left.across + tuple(replace(c, steps=_shifted(c.steps, shift)) for c in right.across),
        left.spans + tuple(replace(s, first=s.first + shift, last=s.last + shift) for s in right.spans),
        left.absences + tuple(replace(a, after=a.after + shift, until=a.until + shift) for a in right.absences),
    )


def _shifted(steps: Mapping[str, tuple[int, ...]], by: int) -> Mapping[str, tuple[int, ...]]:
    return {variable: tuple(n + by for n in of) for variable, of in steps.items()}


def _loop(tree: Json, least: int, most: int | None) -> Chain:
    below = _chains(tree["phi"])
    if len(below) != 1 or len(below[0].steps) != 1 or below[0].steps[0].is_loop:
        raise Skip("a loop repeats single events of one type")
    (inner,) = below
    if least < 1 or inner.across or inner.spans or inner.absences:
        raise Skip("a loop must take at least one event, and each condition in it must be on one event")
    adjacent = tree["node"].startswith("Contiguous")
    if adjacent and not inner.steps[0].labels:
        raise Skip("`:` and `:+` are supported only between events that are reported")
    return Chain((replace(inner.steps[0], least=least, most=most, adjacent_rounds=adjacent),))


def _relabel(chain: Chain, change: Callable[[frozenset[str]], frozenset[str]]) -> Chain:
    return replace(chain, steps=tuple(replace(step, labels=change(step.labels)) for step in chain.steps))


def _make_adjacent(chain: Chain) -> Chain:
    if not all(step.labels for step in chain.steps):
        raise Skip("`:` and `:+` are supported only between events that are reported")
    steps = [replace(step, adjacent=n > 0, adjacent_rounds=True) for n, step in enumerate(chain.steps)]
    return replace(chain, steps=tuple(steps))


def _window(window: Json) -> Json:
    match window["node"]:
        case "EventWindow":
            return {"kind": "events", "width": window["count"]}
        case "TimeWindow":
            return {"kind": "time", "width": window["amount"] * SECONDS[window["unit"]], "attribute": "time"}
        case "AttributeWindow":
            return {"kind": "attribute", "width": window["width"], "attribute": window["attribute"]}
        case other:
            raise Skip(f"the engine does not support the window {other}")


def _span(chain: Chain, **what: Any) -> Chain:
    if not all(step.labels for step in chain.steps):
        raise Skip("a window or a key must be around events that are all reported")
    return replace(chain, spans=(*chain.spans, ChainSpan(first=0, last=len(chain.steps) - 1, **what)))


def _without(chain: Chain, guard: Json) -> Chain:
    found = []
    for one in _chains(guard):
        if len(one.steps) != 1 or one.across or one.spans or one.absences or one.steps[0].least != 1:
            raise Skip("the right side of UNLESS must be a single event")
        step = one.steps[0]
        # From the beginning of the interval, since UNLESS forbids the event anywhere in it; `_join` moves the
        # beginning.
        found.append(Absence(-1, len(chain.steps) - 1, step.type, step.conditions))
    return replace(chain, absences=(*chain.absences, *found))


def _filter(chain: Chain, condition: Json) -> Chain | None:
    """Return the chain with a further condition; None if no match can satisfy the condition."""
    match condition["node"]:
        case "Conjunction":
            left = _filter(chain, condition["left"])
            return None if left is None else _filter(left, condition["right"])
        case "Every":
            tests = tuple(conjuncts(condition["predicate"]))
            variable = condition["variable"]
            steps = [replace(s, conditions=s.conditions + tests) if variable in s.labels else s for s in chain.steps]
            return replace(chain, steps=tuple(steps))
        case "Correlated" | "Disjunction":
            _require_known(condition)
            variables = dict.fromkeys(node["variable"] for node in nodes_of(condition) if node.get("variable"))
            steps_of = {v: tuple(n for n, step in enumerate(chain.steps) if v in step.labels) for v in variables}
            # No step of this alternative binds the variables, so the condition is already decided.
            if not any(steps_of.values()):
                return chain if _satisfied(condition, dict.fromkeys(variables, ())) else None
            return replace(chain, across=(*chain.across, CrossCondition(condition, steps_of)))
        case other:
            raise Skip(f"the engine does not support the condition {other}")


# --- conditions -------------------------------------------------------------------------------------------------------


def nodes_of(tree: Any) -> Iterator[Json]:
    """Yield the nodes of a tree from left to right, each before the nodes below it."""
    if isinstance(tree, dict):
        if "node" in tree:
            yield tree
        for value in tree.values():
            yield from nodes_of(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes_of(value)


def conjuncts(predicate: Json) -> Iterator[Json]:
    """Yield the parts of a predicate that `and` connects. Raises Skip for a part that `holds` cannot evaluate."""
    if predicate["node"] == "Both":
        yield from conjuncts(predicate["left"])
        yield from conjuncts(predicate["right"])
    else:
        _require_known(predicate)
        yield predicate


def plain_comparison(predicate: Json) -> tuple[str, str, Any] | None:
    """Return a comparison of an attribute with a constant as (attribute, comparator, constant).

    If the constant comes first, the comparator is reversed. Return None for other predicates.
    """
    if predicate["node"] != "Comparison":
        return None
    left, right, comparator = predicate["left"], predicate["right"], predicate["comparator"]
    if (left["node"], right["node"]) == ("Constant", "Attribute"):
        left, right, comparator = right, left, FLIPPED[comparator]
    if (left["node"], right["node"]) != ("Attribute", "Constant"):
        return None
    return left["name"], comparator, _constant(right["value"])


def plain_comparisons(conditions: Iterable[Json]) -> list[tuple[str, str, Any]]:
    """Return conditions as tuples (attribute, comparator, constant). A range gives two tuples.

    Raises Skip for other conditions.
    """
    found: list[tuple[str, str, Any]] = []
    for condition in conditions:
        if (plain := plain_comparison(condition)) is not None:
            found.append(plain)
        elif condition["node"] == "InRange" and condition["term"]["node"] == "Attribute":
            name = condition["term"]["name"]
            found += [(name, ">=", _constant(condition["low"])), (name, "<=", _constant(condition["high"]))]
        elif condition["node"] != "Anything":
            raise Skip("a condition must compare an attribute with a constant")
    return found


def holds(predicate: Json, event: Json) -> bool:
    """Return whether a predicate, given as a tree, is true of an event.

    A comparison is false if a value is absent, or if the values are of different kinds. Times must be of class
    datetime, as in `RunMessage.values`.

    Example: holds({"node": "Comparison", "comparator": ">", …}, {"type": "A", "x": 3})
    """
    return _truth(predicate, lambda attribute: event.get(attribute["name"]), event.get("type", "row"))


def compare(left: Any, comparator: str, right: Any) -> bool:
    """Compare two values. Return False if a value is absent or if they are of different kinds."""
    if left is None or right is None or _kind(left) != _kind(right):
        return False
    if isinstance(left, bool) and comparator not in ("=", "!="):
        return False
    return COMPARE[comparator](left, right)


def _truth(predicate: Json, value_of: Callable[[Json], Any], event_type: str = "") -> bool:
    match predicate["node"]:
        case "Anything":
            return True
        case "OfType":
            return bool(predicate["type"] == event_type)
        case "Comparison":
            left = _term(predicate["left"], value_of)
            return compare(left, predicate["comparator"], _term(predicate["right"], value_of))
        case "OneOf":
            value = _term(predicate["term"], value_of)
            return any(compare(value, "=", _constant(one)) for one in predicate["values"])
        case "InRange":
            value = _term(predicate["term"], value_of)
            return compare(_constant(predicate["low"]), "<=", value) and compare(
                value, "<=", _constant(predicate["high"])
            )
        case "Complement":
            return not _truth(predicate["predicate"], value_of, event_type)
        case "Both":
            both = (predicate["left"], predicate["right"])
            return all(_truth(side, value_of, event_type) for side in both)
        case "Either":
            either = (predicate["left"], predicate["right"])
            return any(_truth(side, value_of, event_type) for side in either)
        case other:
            raise Skip(f"the engine does not support the condition {other}")


def _term(term: Json, value_of: Callable[[Json], Any]) -> Any:
    match term["node"]:
        case "Attribute":
            return value_of(term)
        case "Constant":
            return _constant(term["value"])
        case _:
            left, right = _term(term["left"], value_of), _term(term["right"], value_of)
            if _kind(left) != "number" or _kind(right) != "number":
                return None
            try:
                return ARITHMETIC[term["operator"]](left, right)
            except (ZeroDivisionError, OverflowError):
                return None


def _constant(value: Any) -> Any:
    return _instant(value["value"]) if isinstance(value, dict) else value


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "bool"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _satisfied(condition: Json, events_of: Mapping[str, Sequence[Json]]) -> bool:
    """Return whether a condition is true for every choice of events, given the events of each variable."""
    match condition["node"]:
        case "Conjunction":
            return _satisfied(condition["left"], events_of) and _satisfied(condition["right"], events_of)
        case "Disjunction":
            return _satisfied(condition["left"], events_of) or _satisfied(condition["right"], events_of)
        case "Every":
            return all(holds(condition["predicate"], event) for event in events_of[condition["variable"]])
        case _:
            mentioned = [node for node in nodes_of(condition["predicate"]) if node["node"] == "Attribute"]
            for chosen in product(*(events_of[node["variable"]] for node in mentioned)):
                # each mention of a variable ranges over its events independently; identity distinguishes the mentions
                event_of = {id(node): event for node, event in zip(mentioned, chosen, strict=True)}
                if not _truth(
                    condition["predicate"],
                    lambda node, of=event_of: of[id(node)].get(node["name"]),  # type: ignore[misc]
                ):
                    return False
            return True


def _require_known(tree: Json) -> None:
    for node in nodes_of(tree):
        if node["node"] in ("Like", "Named"):
            raise Skip(f"the engine does not support the condition {node['node']}")
