"""Explanations of matches of SASE+ as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from cerify.explanations.sase import Accepted, NoMatch
from cerify.explanations.step import json_of_run
from cerify.semantics.events import Bindings
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show
from cerify.semantics.values import plain

Json: TypeAlias = dict[str, Any]


def as_json(found: Accepted | NoMatch, q: sase.Tree) -> Json:
    """What the events are to the query, as one JSON object."""
    match found:
        case Accepted(match, M, runs, more, absent):
            return {
                "query": show(q),
                "events": list(match.events),
                "at": match.at,
                "match": True,
                "bindings": _positions(M),
                "result": None if match.result is None else plain(match.result.attributes),
                "runs": [json_of_run(move.step for move in run) for run in runs],
                "more": more,
                "absent": list(absent),
            }
        case NoMatch(events, failures, nearest):
            reasons = [
                {
                    "bindings": _positions(f.bindings),
                    "steps": json_of_run(move.step for move in f.steps),
                    "message": f.text,
                    "because": list(f.because),
                }
                for f in failures
            ]
            near = [
                {"events": list(C), "missing": sorted(set(C) - events), "extra": sorted(events - set(C))}
                for C in nearest
            ]
            return {
                "query": show(q),
                "events": sorted(events),
                "at": max(events),
                "match": False,
                "reasons": reasons,
                "nearest": near,
            }


def _positions(M: Bindings) -> Mapping[str, list[int]]:
    return {a: list(at) for a, at in M}
