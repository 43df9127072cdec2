"""The conformance suite: cases as data, a JSON object per line.

A line is checked when it is loaded: its matches are computed again by the reference evaluator, so a suite cannot
contradict the semantics. Then come queries as trees in JSON, for adapters without a parser, and the claims of an
engine: which operators it says that it supports, or which its skipped cases suggest.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import datetime, timedelta
from functools import cache, lru_cache, partial
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Protocol, TypeVar, Union, get_args, get_origin, get_type_hints

from cerify import protocol
from cerify.conformance.model import Case, CaseResult, evaluated_output, of_output, query_of
from cerify.conformance.prediction import INTERPRETATIONS
from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Options
from cerify.protocol import EngineInfo, bounded
from cerify.query_json import fields_of, node_kinds, optional_fields
from cerify.semantics.arguments import Budget, did_you_mean
from cerify.semantics.errors import CerifyError, InputError
from cerify.semantics.events import TIME, Event, Match, Stream
from cerify.semantics.json_events import event_of_json, lines_of, parse_json, schema_of_json, stream_of_json
from cerify.semantics.trees import node_word
from cerify.semantics.values import show_time

T = TypeVar("T")

SUITES = Path(__file__).parent / "suite"
NAMED_SUITES = SUITES / "named"  # suites that run only if they, or their language, are named
FEW = 5  # matches that a message lists
SECONDS = 10.0  # limit for computing the matches of a case by the definition
SUITE_SECONDS = 600  # limit for all cases of a file
FIELDS = {
    "id": str,
    "feature": str,
    "clause": str,
    "language": str,
    "query": str,
    "events": list,
    "output": str,
}


def load(name: str | None, seconds: float = SECONDS) -> list[Case]:
    """Return the cases of a built-in suite by name (all suites if None), or of a file by its path. Raises InputError.

    A file is checked: `seconds` limits the time for each line, and SUITE_SECONDS the time for the file. Built-in suites
    are not checked.
    """
    built_in = {path.stem: path for path in sorted(SUITES.glob("*.jsonl"))}
    named = {path.stem: path for path in sorted(NAMED_SUITES.glob("*.jsonl"))}
    if name is None or name in built_in or name in named:
        paths = built_in.values() if name is None else [(built_in | named)[name]]
        return [case for path in paths for case in _built_in(path)]
    if not Path(name).is_file():
        raise InputError(f"there is no suite {name!r}: give a file, or one of {', '.join(built_in | named)}")
    cases: dict[str, tuple[Case, str]] = {}
    until = time.monotonic() + SUITE_SECONDS
    for text, where in lines_of(Path(name)):
        if time.monotonic() > until:
            raise InputError(
                f"{where}: computing the expected matches up to this line took {SUITE_SECONDS} seconds; split the suite"
            )
        case = case_of_line(text, where, seconds)
        if case.id in cases:
            raise InputError(f"{where}: the field 'id': {case.id!r} is already the id of {cases[case.id][1]}")
        cases[case.id] = case, where
    if not cases:
        raise InputError(f"the suite {name!r} has no cases")
    return [case for case, _ in cases.values()]


@cache
def _built_in(path: Path) -> list[Case]:
    """Return the cases of a built-in suite; the file is read only once."""
    return [_case(json.loads(text)) for text, _ in lines_of(path)]


def case_of_line(text: str, where: str, seconds: float = SECONDS) -> Case:
    """Return the case in a line of a suite. Without the field "matches" the reference evaluator computes them.

    Raises InputError with the place and the field, also if the matches contradict the reference evaluator, or if
    computing them takes longer than the seconds.
    """
    obj = parse_json(text, where)
    if not isinstance(obj, dict):
        raise InputError(f"{where}: a case is a JSON object")
    for field, kind in FIELDS.items():
        if not isinstance(obj.get(field), kind):
            raise InputError(f"{where}: the field {field!r} is missing, or not of the type {kind.__name__}")
    message = {key: obj[key] for key in ("id", "language", "query", "schema", "events", "output") if key in obj}
    protocol.checked({"cmd": "run", **message}, "run", where)
    language = LANGUAGES[obj["language"]]
    schema = None if obj.get("schema") is None else _of_field("schema", where, partial(schema_of_json, obj["schema"]))
    S = stream_of_json(obj["events"], schema, where, language.row_type, language.syntax.keeps_nulls)
    phi = _of_field("query", where, partial(language.syntax.parse, obj["query"]))
    if schema is not None:
        _of_field("query", where, partial(language.syntax.require_typed, phi, schema))
    options = Options(evaluated_output(obj["output"]))

    def by_definition() -> list[Match]:
        with Budget(seconds=seconds).timed():
            return of_output(language.evaluators.matches(phi, S, DENOTATIONAL, options), language.name, obj["output"])

    meant = _of_field("query", where, by_definition)
    if obj.get("matches") is None:
        return _case(obj | {"matches": [match.json() for match in meant]})
    answer = protocol.checked({"id": obj["id"], "matches": obj["matches"]}, "answer", where)
    given = _of_field("matches", where, partial(protocol.answer_of_json, answer, obj["output"], len(obj["events"])))
    if isinstance(given, protocol.MatchesAnswer) and given.problem:
        raise InputError(f"{where}: the field 'matches': {given.problem}")
    case = _case(obj)
    if set(case.matches) != set(meant):
        expected = ", ".join(protocol.line(match.json()) for match in meant[:FEW]) or "none"
        raise InputError(
            f"{where}: the field 'matches' contradicts the reference evaluator, whose matches are {expected}; leave "
            "the field out, and cerify computes them"
        )
    return case


def _of_field(field: str, where: str, make: Callable[[], T]) -> T:
    """Return the value that `make` builds from a field. If that fails, raise InputError, which names the field."""
    try:
        return make()
    except CerifyError as error:
        raise InputError(f"{where}: the field {field!r}: {error.message}") from None


def _case(obj: protocol.Json) -> Case:
    matches = protocol.matches_of_json(obj["matches"], obj["output"])
    return Case(
        id=obj["id"],
        feature=obj["feature"],
        clause=obj["clause"],
        language=obj["language"],
        query=obj["query"],
        schema=obj.get("schema"),
        events=obj["events"],
        output=obj["output"],
        matches=sorted(matches),
    )


def line_of_case(case: Case) -> str:
    """Return the case as a line of a suite."""
    return protocol.line(
        {
            "id": case.id,
            "feature": case.feature,
            "clause": case.clause,
            "language": case.language,
            "query": case.query,
            "schema": case.schema,
            "events": list(case.events),
            "output": case.output,
            "matches": [match.json() for match in case.matches],
        }
    )


# ---------------------------------------------------------------------------------------------------------------------
# A query as a tree in JSON, which the protocol sends beside its text, so that no adapter needs a parser.
#
# A node is an object whose key "node" names its class in the syntax tree, with a key for each of its fields. The
# negation of a condition is "Complement", since event expressions have a "Not" of their own. Tuples and sets are
# lists, a timestamp is {"node": "Timestamp", "value": ISO 8601 text}, an interval of SQL {"node": "Interval", "value":
# microseconds}. The places of nodes in the text are left out.
# `nodes` lists the nodes of a language with their fields, `choices` the values of fields that have only a few.

Json = dict[str, Any]
VALUES = (datetime, timedelta)
"""The classes of values that are nodes in JSON."""


def parsed(language: str, query: str) -> Any:
    """Parse a query and return its syntax tree; None if the text is not a query of the language."""
    try:
        return query_of(language, query)
    except CerifyError:
        return None


@lru_cache(maxsize=1_000)
def tree_of_text(language: str, query: str) -> Json | None:
    """Return the JSON tree of a query; None for a text that is not a query of the language, or is nested too deeply."""
    try:
        tree: Json | None = tree_of(parsed(language, query))
    except RecursionError:
        return None
    return tree


def tree_of(value: Any) -> Any:
    """Return the JSON of a syntax tree, or of a part of one."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"node": node_word(type(value))} | {
            name: tree_of(getattr(value, name)) for name in (*fields_of(type(value)), *optional_fields(value))
        }
    match value:
        case datetime():
            return {"node": "Timestamp", "value": show_time(value)}
        case timedelta():
            return {"node": "Interval", "value": value // timedelta(microseconds=1)}
        case frozenset():
            return sorted(map(tree_of, value))
        case tuple():
            return list(map(tree_of, value))
    return value


def nodes(language: str) -> Mapping[str, tuple[str, ...]]:
    """Return, for each kind of node in the trees of a language, the names of its fields."""
    return {
        name: ("value",) if kind in VALUES else tuple(fields_of(kind)) for name, kind in node_kinds(language).items()
    }


def choices(language: str) -> Mapping[str, Mapping[str, Sequence[Any]]]:
    """Return, for each kind of node, the values of those fields that have a fixed set of values, such as a
    comparator.
    """
    found = {name: _choices(kind) for name, kind in node_kinds(language).items() if kind not in VALUES}
    return {name: fields for name, fields in found.items() if fields}


def _choices(kind: type) -> dict[str, list[Any]]:
    hints = get_type_hints(kind)
    return {name: values for name in fields_of(kind) if (values := _literals(hints[name]))}


def _literals(hint: Any) -> list[Any]:
    """Return the values of a Literal or of a union of Literals and None; [] for other types."""
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    parts = [[None] if part is type(None) else _literals(part) for part in get_args(hint)]
    return [value for part in parts for value in part] if all(parts) and get_origin(hint) in (Union, UnionType) else []


def nodes_in(tree: Any) -> Iterable[Json]:
    """Yield all nodes of a JSON tree, the root first."""
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from nodes_in(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from nodes_in(value)


# ---------------------------------------------------------------------------------------------------------------------
# The claims of an engine about a language, from its answer to *start* or from the cases that it skips.

PREDICATES = {
    "Comparison": "comparison",
    "OneOf": "in",
    "InRange": "range",
    "Like": "like",
    "Arithmetic": "arithmetic",
    "Complement": "not",
    "Both": "and",
    "Either": "or",
}
"""For each kind of node in a condition, its name in claims. A cross-event filter has the name "correlated"."""

WARNED = 20  # unknown names in a field for which there are warnings
PROBES = 3  # queries that an engine must skip before their operator counts as skipped; the shortest ones are run


@dataclass(frozen=True)
class Claims:
    """The operators, strategies, predicates and outputs of a language that an engine claims to support. None
    claims all.

    ordered_time: whether the engine accepts only streams whose times never decrease.
    """

    operators: frozenset[str] | None = None
    strategies: frozenset[str] | None = None
    predicates: frozenset[str] | None = None
    output: frozenset[str] | None = None
    ordered_time: bool = False

    @property
    def described(self) -> str:
        """Return the claims as text; equal claims give equal texts."""
        claimed = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(
            f"{name} {' '.join(sorted(of)) if isinstance(of, frozenset) else of}" for name, of in claimed.items() if of
        )

    def why_not(self, case: Case) -> str:
        """Return why a case is not sent to this engine; "" if it is sent."""
        nulls = LANGUAGES[case.language].syntax.keeps_nulls
        events = (event_of_json(event, None, case.id, {}, nulls) for event in case.events)
        return self.objection(case.language, case.query, events, case.output)

    def restrict_case(self, case: Case) -> Case:
        """Return the case, or for an engine that does not claim the results of matches, the case without them."""
        less = self.less_than_results(case.language)
        return (
            case if less is None else replace(case, output=less, matches=of_output(case.matches, case.language, less))
        )

    def less_than_results(self, language: str) -> Literal["matches", "positions", "groups"] | None:
        """Return the output that the engine claims instead of results; None if it claims results."""
        if self.output is None or len(self.output) != 1 or not LANGUAGES[language].results:
            return None
        (output,) = self.output
        return output if output in ("matches", "positions", "groups") else None  # type: ignore[return-value]

    def objection(self, language: str, query: Any, S: Iterable[Event], output: str) -> str:
        """Return what a query, stream and output need that the engine does not claim to support; "" if it claims
        everything.
        """
        if self.output is not None and not LANGUAGES[language].results and output not in self.output:
            return f"it does not claim the output {output}"
        if self.ordered_time and not in_order(S):
            return "it claims only streams in the order of time"
        if self.predicates is not None:
            tree = tree_of_text(language, query) if isinstance(query, str) else tree_of(query)
            left = frozenset() if tree is None else predicates_of(tree) - self.predicates
            if left:
                return f"it does not claim the predicates {', '.join(sorted(left))}"
        if self.operators is None and self.strategies is None:
            return ""
        used = operators_of(language, query)
        strategies = INTERPRETATIONS[language].strategies if used else used
        for what, names, claimed in (
            ("operators", used - strategies, self.operators),
            ("strategies", used & strategies, self.strategies if self.strategies is not None else self.operators),
        ):
            if claimed is not None and not names <= claimed:
                return f"it does not claim the {what} {', '.join(sorted(names - claimed))}"
        return ""


def claims_of_json(claims: Mapping[str, Json], language: str) -> Claims:
    """Return the claims about a language in an answer to *start*; without claims, everything is claimed."""
    claimed = claims.get(language, {})

    def names(field: Literal["operators", "strategies", "predicates", "output"]) -> frozenset[str] | None:
        return frozenset(claimed[field]) if field in claimed else None

    return Claims(
        names("operators"), names("strategies"), names("predicates"), names("output"), bool(claimed.get("ordered_time"))
    )


@lru_cache
def names_of(language: str) -> frozenset[str]:
    """Return the names that claims may use: the operators and strategies in the suite's queries of a language."""
    return frozenset().union(
        *(operators_of(language, query) for query in {c.query for c in load(None) if c.language == language})
    )


@lru_cache
def features_of(language: str) -> frozenset[str]:
    """Return the features of the suite's cases in a language."""
    return frozenset(case.feature for case in load(None) if case.language == language)


def unknown_names(claims: Mapping[str, Json]) -> Iterator[str]:
    """Yield a sentence about each name in claims that is not an operator, strategy or feature."""
    for language, claimed in claims.items():
        for field in ("operators", "strategies"):
            if not claimed.get(field) or language not in INTERPRETATIONS:
                continue
            others = set(claimed[field]) - features_of(language)
            unknown = sorted(others - names_of(language)) if others else []  # all queries are parsed for them
            for name in unknown[:WARNED]:
                names = names_of(language)
                meant = did_you_mean(name, names) or f"; there are {', '.join(sorted(names))}"
                yield f"claims.{language}.{field}: no operator has the name {bounded(name)!r}{meant}"
            if len(unknown) > WARNED:
                yield f"claims.{language}.{field}: {len(unknown) - WARNED:,} more names are unknown"


@lru_cache(maxsize=10_000)
def operators_of(language: str, query: Any) -> frozenset[str]:
    """Return the names of the operators of a query (text or tree), without event types and conditions."""
    if language not in INTERPRETATIONS:
        return frozenset()
    phi = LANGUAGES[language].syntax.parse(query) if isinstance(query, str) else query
    names = INTERPRETATIONS[language].operators(phi) - {"event", "condition"}
    return frozenset("within" if name.startswith("within-") else name for name in names)


def predicates_of(tree: Json) -> frozenset[str]:
    """Return the kinds of conditions in a tree; "correlated" if one of them compares events with each other."""
    found = {PREDICATES[node["node"]] for node in nodes_in(tree) if node["node"] in PREDICATES}
    for node in nodes_in(tree):
        if node["node"] in PREDICATES:
            mentioned = {one["variable"] for one in nodes_in(node) if one.get("variable") and "name" in one}
            if len(mentioned) > 1:
                found.add("correlated")
        if node["node"] == "Correlated":
            found.add("correlated")
    return frozenset(found)


def in_order(S: Iterable[Event]) -> bool:
    """Return whether the events of a stream are in the order of their times."""
    latest: int | float | datetime | None = None
    for event in S:
        match event.get(TIME):
            case datetime() | int() | float() as time:
                if latest is not None and type(latest) is type(time) and time < latest:  # type: ignore[operator]
                    return False
                latest = time
    return True


def in_order_of_time(S: Stream) -> Stream:
    """Return the stream with its timed events sorted by time; events without a time keep their places."""

    def order(event: Event) -> tuple[bool, Any]:
        return isinstance(event.get(TIME), datetime), event.get(TIME)

    timed = iter(sorted((event for event in S if event.get(TIME) is not None), key=order))
    return Stream([event if event.get(TIME) is None else next(timed) for event in S], S.schema)


def learnt(run: Callable[[Case], CaseResult], language: str, cases: Iterable[Case]) -> Claims:
    """Return what an engine supports, inferred from the cases that it skips.

    It is taken to support all operators except those of the shortest skipped queries. A case is run only if all
    operators of its query except one were answered before, so that a skip is due to that one. If there is no such case,
    a query with several new operators is run, because some languages have no query with a single operator.
    """
    mine = sorted((c for c in cases if c.language == language), key=lambda c: (len(c.query), len(c.events), c.id))
    known = [(case, operators_of(language, case.query)) for case in mine]
    answered: set[str] = set()
    left = frozenset[str]().union(*(names for _, names in known))
    tried: dict[str, int] = dict.fromkeys(left, 0)
    asked: set[str] = set()
    most = 1
    while most <= len(left):
        before = len(answered)
        for case, names in known:
            new = names - answered
            if case.query in asked or not 0 < len(new) <= most or any(tried[name] == PROBES for name in new):
                continue
            asked.add(case.query)
            for name in new:
                tried[name] += 1
            if run(case).outcome != "skipped":
                answered |= new
                if most > 1:
                    break
        most = 1 if len(answered) > before else most + 1
    return Claims(operators=frozenset(answered))


class StartedEngine(Protocol):
    """A started engine: its answer to *start*, and a method that runs a case."""

    info: EngineInfo

    def run(self, case: Case, /) -> CaseResult: ...


def claims_of_engine(engine: StartedEngine, language: str) -> Claims:
    """Return the claims in an engine's answer to *start*; if it has none, the operators that it does not skip."""
    if language in engine.info.claims:
        return claims_of_json(engine.info.claims, language)
    cases = list(probes(load(None), language))
    claims = learnt(engine.run, language, cases)
    every = frozenset[str]().union(*(operators_of(language, case.query) for case in cases))
    return Claims() if claims.operators == every else claims


def probes(cases: Iterable[Case], language: str) -> Iterator[Case]:
    """Yield, for each feature of the suite, one case for each of the shortest queries with that feature."""
    by_feature: dict[str, dict[str, Case]] = {}
    for case in cases:
        if case.language == language:
            by_feature.setdefault(case.feature, {}).setdefault(case.query, case)
    for of_queries in by_feature.values():
        yield from (of_queries[query] for query in sorted(of_queries, key=lambda q: (len(q), q))[:PROBES])
