"""Simplify Sigma rules, for shrinking and campaigns: leave out rules, keys and values of their documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from cerify.equivalence.generate.shrink import QueryOperations, dropped, varied
from cerify.equivalence.rewrite.trees import same
from cerify.equivalence.sigma import attributes_in
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import TIME
from cerify.semantics.sigma.parse import load_documents, parse, show_documents
from cerify.semantics.sigma.syntax import SigmaCorrelation, SigmaDetection, SigmaQuery, rules_of
from cerify.semantics.trees import subtrees

Document = Mapping[str, Any]


def inner_rules(query: SigmaQuery) -> Iterator[SigmaQuery]:
    """Yield each correlation that a rule with alerts refers to, as a query of its own."""
    documents = _documents(query)
    parts = (part for rule in query.rules if isinstance(rule, SigmaCorrelation) for part in rule.rules)
    for name in (part.name for part in parts if isinstance(part, SigmaCorrelation)):
        yield from _parsed(documents, [name])


def fewer_parts(query: SigmaQuery) -> Iterator[SigmaQuery]:
    """Yield the query without one key, value or item of a document, and without rules that are then not needed."""
    raising = [rule.name for rule in query.rules]
    for documents in varied(_documents(query), _fewer):
        yield from _parsed(documents, raising)


def _fewer(node: Any) -> Iterator[Any]:
    """Yield the mapping or list without one part somewhere, or with a condition replaced by one of its detections."""
    match node:
        case dict():
            for rest in dropped((*node.items(),)):
                yield dict(rest)
            if isinstance(node.get("condition"), str):
                yield from ({**node, "condition": name} for name in node if name != "condition")
            for items in varied((*node.items(),), lambda item: ((item[0], other) for other in _fewer(item[1]))):
                yield dict(items)
        case list() if len(node) > 1:
            yield from map(list, dropped((*node,)))


def _documents(query: SigmaQuery) -> tuple[Document, ...]:
    return tuple(load_documents(query.text))


def _parsed(documents: Sequence[Document], raising: Iterable[str]) -> Iterator[SigmaQuery]:
    """Yield the query of the rules that raise alerts and of the rules to which they refer, if this is valid."""
    pending, needed = list(raising), set[int]()
    while pending:
        name = pending.pop()
        for place, document in enumerate(documents):
            if place not in needed and name in (document.get("name"), document.get("id"), document.get("title")):
                needed.add(place)
                pending += document.get("correlation", {}).get("rules", ())
    with suppress(CerifyError):
        yield parse(show_documents(documents[place] for place in sorted(needed)))


def _size(query: SigmaQuery) -> int:
    """Return the number of rules, of nodes of their conditions, and of keys, thresholds and references."""
    return sum(
        1 + sum(1 for _ in subtrees(rule.condition))
        if isinstance(rule, SigmaDetection)
        else 1 + len(rule.rules) + len(rule.group_by) + len(rule.thresholds)
        for rule in rules_of(query)
    )


def _fields(query: SigmaQuery) -> Iterator[str]:
    yield TIME
    for rule in rules_of(query):
        yield from attributes_in(rule)


def _kinds(query: SigmaQuery) -> Iterator[str]:
    return ("detection" if isinstance(rule, SigmaDetection) else rule.kind for rule in rules_of(query))


def _text(query: SigmaQuery) -> str:
    return query.text


def _length(query: SigmaQuery) -> int:
    return len(query.text)


def _nothing(query: SigmaQuery) -> tuple[()]:
    return ()


def mapped(query: SigmaQuery, name: object = same, value: object = same) -> SigmaQuery:
    """Return the query unchanged: shrinking keeps the names and constants of rules."""
    return query


SIGMA: QueryOperations[SigmaQuery] = QueryOperations(
    parse=parse,
    show=_text,
    reductions=(inner_rules, fewer_parts),
    size=_size,
    complexity=_length,
    types=_nothing,
    attributes=_fields,
    predicates=_nothing,
    mapped=mapped,
    operators=_kinds,
)
