"""What an engine claims of a language, by its answer to *start* or by what it skips, and which cases that leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import lru_cache
from typing import Any, Literal, Protocol

from cerify.conformance.cases import load
from cerify.conformance.hypotheses import INTERPRETATIONS
from cerify.conformance.model import Case, Result, of_output
from cerify.conformance.query_tree import nodes_in, tree_of, tree_of_text
from cerify.languages import LANGUAGES
from cerify.protocol import EngineInfo, bounded
from cerify.semantics.arguments import did_you_mean
from cerify.semantics.events import TIME, Event, Stream
from cerify.semantics.json_events import event_of_json

Json = dict[str, Any]
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
"""The names that claims have for the nodes of conditions; beside them there is "correlated"."""

WARNED = 20  # unknown names of a field that a warning names
PROBES = 3  # the shortest queries with an operator that an engine is asked before the operator counts as skipped


@dataclass(frozen=True)
class Claims:
    """What an engine claims of one language; None: all there is. Names are those of the language's operators.

    ordered_time: whether the engine takes streams only in which no event is earlier than the one before it.
    """

    operators: frozenset[str] | None = None
    strategies: frozenset[str] | None = None
    predicates: frozenset[str] | None = None
    output: frozenset[str] | None = None
    ordered_time: bool = False

    @property
    def described(self) -> str:
        """The claims as text, the same for equal ones."""
        claimed = {field.name: getattr(self, field.name) for field in fields(self)}
        return ", ".join(
            f"{name} {' '.join(sorted(of)) if isinstance(of, frozenset) else of}" for name, of in claimed.items() if of
        )

    def why_not(self, case: Case) -> str:
        """Why the engine is not asked this case; "" if it is."""
        events = (event_of_json(event, None, case.id) for event in case.events)
        return self.objection(case.language, case.query, events, case.output)

    def asked(self, case: Case) -> Case:
        """The case as the engine is asked it: for its matches alone if results are more than it claims."""
        if not self.only_matches(case.language):
            return case
        return replace(case, output="matches", matches=of_output(case.matches, case.language, "matches"))

    def only_matches(self, language: str) -> bool:
        """Whether the engine claims no results of a language that has them."""
        return LANGUAGES[language].results and self.output == frozenset({"matches"})

    def objection(self, language: str, query: Any, S: Iterable[Event], output: str) -> str:
        """Why a query, as text or parsed, over a stream is not claimed; "" if it is."""
        if self.output is not None and not LANGUAGES[language].results and output not in self.output:
            return f"it does not claim the output {output}"
        if self.ordered_time and not in_order(S):
            return "it claims streams in the order of time only"
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
    """What the claims in an answer to *start* say about a language; without any, all is claimed."""
    claimed = claims.get(language, {})

    def names(field: Literal["operators", "strategies", "predicates", "output"]) -> frozenset[str] | None:
        return frozenset(claimed[field]) if field in claimed else None

    return Claims(
        names("operators"), names("strategies"), names("predicates"), names("output"), bool(claimed.get("ordered_time"))
    )


@lru_cache
def names_of(language: str) -> frozenset[str]:
    """The names of the operators and strategies in the suite's queries in a language, which claims may have."""
    return frozenset().union(
        *(operators_of(language, query) for query in {c.query for c in load(None) if c.language == language})
    )


@lru_cache
def features_of(language: str) -> frozenset[str]:
    """The features of the suite's cases in a language."""
    return frozenset(case.feature for case in load(None) if case.language == language)


def unknown_names(claims: Mapping[str, Json]) -> Iterator[str]:
    """A sentence for each name, or for many, of an operator or a strategy in claims that is none; features are some."""
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
                yield f"claims.{language}.{field}: nor have {len(unknown) - WARNED:,} more names"


@lru_cache(maxsize=10_000)
def operators_of(language: str, query: Any) -> frozenset[str]:
    """The names of the operators of a query, as text or parsed; event types, and what every query has, are left out."""
    if language not in INTERPRETATIONS:
        return frozenset()
    phi = LANGUAGES[language].parse(query) if isinstance(query, str) else query
    names = INTERPRETATIONS[language].operators(phi) - {"event", "condition"}
    return frozenset("within" if name.startswith("within-") else name for name in names)


def predicates_of(tree: Json) -> frozenset[str]:
    """The kinds of conditions in a tree; "correlated" if one of them compares events with each other."""
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
    """Whether no event of a stream is earlier than one before it."""
    latest: int | float | datetime | None = None
    for event in S:
        match event.get(TIME):
            case datetime() | int() | float() as time:
                if latest is not None and type(latest) is type(time) and time < latest:  # type: ignore[operator]
                    return False
                latest = time
    return True


def in_order_of_time(S: Stream) -> Stream:
    """The stream with its events that have a time sorted by it; those without one stay where they are."""

    def order(event: Event) -> tuple[bool, Any]:
        return isinstance(event.get(TIME), datetime), event.get(TIME)

    timed = iter(sorted((event for event in S if event.get(TIME) is not None), key=order))
    return Stream([event if event.get(TIME) is None else next(timed) for event in S], S.schema)


def learnt(run: Callable[[Case], Result], language: str, cases: Iterable[Case]) -> Claims:
    """The claims of an engine, from what it skips: not the operators that it skips in the shortest queries with them.

    A query is run only if all its other operators were answered, so that the skip is because of the one. Where no such
    query is left, one with two or more that are new is run: in some languages no query has a single operator.
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
    """An engine that runs cases, with its answer to *start*."""

    info: EngineInfo

    def run(self, case: Case, /) -> Result: ...


def claims_of_engine(engine: StartedEngine, language: str) -> Claims:
    """The claims in an engine's answer to *start*; without any, the operators that it does not skip."""
    if language in engine.info.claims:
        return claims_of_json(engine.info.claims, language)
    cases = list(probes(load(None), language))
    claims = learnt(engine.run, language, cases)
    every = frozenset[str]().union(*(operators_of(language, case.query) for case in cases))
    return Claims() if claims.operators == every else claims


def probes(cases: Iterable[Case], language: str) -> Iterator[Case]:
    """Of each feature of the suite the cases with the shortest queries, each query once."""
    by_feature: dict[str, dict[str, Case]] = {}
    for case in cases:
        if case.language == language:
            by_feature.setdefault(case.feature, {}).setdefault(case.query, case)
    for of_queries in by_feature.values():
        yield from (of_queries[query] for query in sorted(of_queries, key=lambda q: (len(q), q))[:PROBES])
