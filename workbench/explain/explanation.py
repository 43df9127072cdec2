"""The answers: what a set of positions is to a formula, for one set or for every match of a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeAlias

from cerify.explain.derivation import Node, derivations, nodes, ordered, supports
from cerify.explain.oracle import ANY, Oracle
from cerify.explain.rejection import Reason, Rejection, oracle_for, reject
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.show import show
from cerify.semantics.errors import InputError
from cerify.semantics.events import ComplexEvent, Stream, Valuation, bindings_of

Json: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Derived:
    """The set is a match at position at: its derivations, as many as were asked for; more tells if there are others."""

    events: ComplexEvent
    at: int
    derivations: tuple[Node, ...]
    more: bool


@dataclass(frozen=True)
class Rejected:
    """The set is no match at position at: why, and what comes near."""

    events: ComplexEvent
    at: int
    rejection: Rejection


Explanation: TypeAlias = Derived | Rejected


def explain(
    phi: cel.Formula, S: Stream, events: ComplexEvent, at: int, *, valuation: Valuation | None = None, count: int = 1
) -> Explanation:
    """Why the positions are a complex event of phi at a position of S, or why they are not.

    With a valuation, the derivations are those of it alone, and it has to be one that phi gives. Raises InputError,
    BudgetExceeded, Unsupported.
    """
    if not 0 <= at < len(S):
        raise InputError(f"position {at} is not on the stream, which has {_extent(S)}")
    if beyond := sorted(p for p in events if not 0 <= p < len(S)):
        raise InputError(f"position {beyond[0]} is not on the stream, which has {_extent(S)}")
    S = S.part(0, max(events | {at}) + 1)  # what a formula means at a position depends on no later event
    oracle = oracle_for(phi, events, S)
    mus = ordered(mu for mu in oracle.meaning(phi, 0, at) if sup(mu) == events)
    if valuation is not None and valuation not in mus:
        raise InputError(f"the formula does not give this valuation at {at}")
    if not mus:
        return Rejected(events, at, reject(phi, events, at, S))
    return _derived(phi, events, at, mus if valuation is None else [valuation], oracle, count)


def explain_stream(phi: cel.Formula, S: Stream, first: int = 0, last: int | None = None) -> Iterator[Derived]:
    """Every match at the positions from first to last (both inclusive), by position; each is found when asked for.

    Raises BudgetExceeded, Unsupported.
    """
    last = len(S) - 1 if last is None else last
    oracle = Oracle(S.part(0, last + 1))
    for n in range(first, last + 1):
        for C in supports(phi, 0, n, oracle):
            yield _derived(phi, C, n, ordered(mu for mu in oracle.meaning(phi, 0, n) if sup(mu) == C), oracle, 1)


def as_json(explanation: Explanation, phi: cel.Formula) -> Json:
    """An explanation as one JSON object; intervals are [i, j], both inclusive."""
    head: Json = {"query": show(phi), "events": sorted(explanation.events), "at": explanation.at}
    match explanation:
        case Derived(_, _, found, more):
            return {**head, "match": True, "derivations": [_node(node) for node in found], "more": more}
        case Rejected(events, _, rejection):
            return {
                **head,
                "match": False,
                "reasons": [_reason(reason) for reason in rejection.reasons],
                "relaxed": relaxed_text(rejection),
                "nearest": None
                if rejection.nearest is None
                else [
                    {"events": sorted(C), "missing": sorted(C - events), "extra": sorted(events - C)}
                    for C in rejection.nearest
                ],
                "gave_up": rejection.gave_up,
            }


def relaxed_text(rejection: Rejection) -> str | None:
    """The text of the relaxed formula of which the set is a match, if there is one that text can say."""
    if rejection.relaxed is None:
        return None
    parts = cel.subformulas(rejection.relaxed.formula)
    wild = any(
        (isinstance(part, cel.Event) and part.type == ANY) or (isinstance(part, cel.In) and part.variable == ANY)
        for part in parts
    )
    return None if wild else show(rejection.relaxed.formula)


def summary(explanation: Explanation) -> str:
    """What became of the set, in one sentence."""
    match explanation:
        case Derived(events, at, _, _):
            return f"{_set(events)} is a match at {at}"
        case Rejected(events, at, _):
            return f"{_set(events)} is not a match at {at}"


def changes(near: ComplexEvent, asked: ComplexEvent) -> str:
    """How to get from the set that was asked about to a match, in words."""
    more, less = sorted(near - asked), sorted(asked - near)
    words = [f"with {_list(more)}"] if more else []
    return " and ".join([*words, *([f"without {_list(less)}"] if less else [])])


def _derived(phi: cel.Formula, C: ComplexEvent, n: int, mus: list[Valuation], oracle: Oracle, count: int) -> Derived:
    found = list(islice((node for mu in mus for node in derivations(phi, mu, 0, n, oracle)), count + 1))
    return Derived(C, n, tuple(found[:count]), len(found) > count)


def _node(root: Node) -> Json:
    made: dict[int, Json] = {}
    for node in reversed(list(nodes(root))):
        made[id(node)] = {
            "formula": show(node.formula),
            "interval": [node.i, node.j],
            "valuation": _bindings(node.valuation),
            "clause": node.clause,
            "citation": node.citation,
            "detail": node.detail,
            "evidence": list(node.evidence),
            "children": [made[id(child)] for child in node.children],
        }
    return made[id(root)]


def _reason(reason: Reason) -> Json:
    span = reason.formula.span
    return {
        "clause": reason.clause,
        "message": reason.message,
        "formula": show(reason.formula),
        "span": None if span is None else [span.start, span.end],
        "interval": [reason.i, reason.j],
        "valuation": None if reason.valuation is None else _bindings(reason.valuation),
    }


def _bindings(mu: Valuation) -> Json:
    return {variable: list(places) for variable, places in bindings_of(mu)}


def _set(C: ComplexEvent) -> str:
    return "{" + _list(sorted(C)) + "}"


def _list(places: list[int]) -> str:
    return ", ".join(map(str, places))


def _extent(S: Stream) -> str:
    return f"{len(S)} events, 0 to {len(S) - 1}" if len(S) else "no events"
