"""The state of an evaluator in a file: a header in JSON and flat arrays, in numpy's npz format without pickles.

The kernels trust their arrays, so nothing in a file is believed: it is of this query and this version of the automaton,
and its indices lie inside the arrays, or it is refused.
"""

from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.evaluator import NODE, STATES, Evaluator
from cerify.semantics.errors import InputError

FORMAT, VERSION = "cerify evaluator", 1
COUNTERS = ("position", "unmarked", "restart", "nodes")


def save(evaluator: Evaluator, file: str | Path | IO[bytes]) -> None:
    """Write what the evaluator knows after the batches it has read. Raises InputError if it stopped inside one."""
    evaluator.require_whole()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "query": _fingerprint(evaluator),
        "types": [str(type_) for type_ in evaluator.types],
        "growth": evaluator.growth,
        "keys": [list(map(list, key)) for key in evaluator.keys.numbers],
        "clocks": [clock.kind for clock in evaluator.clocks],
    } | {name: getattr(evaluator, name) for name in COUNTERS}
    arrays = {"tree": evaluator.tree[: evaluator.nodes]} | evaluator.series
    for i, clock in enumerate(evaluator.clocks):
        arrays |= {f"positions{i}": clock.positions, f"values{i}": clock.values}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    np.savez(file, header=text, step=evaluator.tables.step, **arrays)


def restore(evaluator: Evaluator, file: str | Path | IO[bytes]) -> None:
    """Let an evaluator that has read nothing go on from a state. Raises InputError for a state of anything else."""
    if evaluator.position or evaluator.types:
        raise InputError("a state is restored into an evaluator that has read nothing yet; make a new one")
    try:
        with np.load(file, allow_pickle=False) as loaded:
            arrays = dict(loaded)
        header = json.loads(arrays.pop("header").tobytes())
        known = header["format"], header["version"]
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(f"this is no saved state of an evaluator: {error}") from None
    if known != (FORMAT, VERSION):
        raise InputError(f"a state of format {known}; this version reads {(FORMAT, VERSION)}, so start again")
    if header["query"] != _fingerprint(evaluator):
        raise InputError(
            "the state is of another query, other options, or another version of the automaton; restore it with those "
            "it was saved with, or start again"
        )
    try:
        _take(evaluator, header, arrays)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError) as error:
        raise InputError(f"the saved state is damaged: {error!r}") from None


def _take(evaluator: Evaluator, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    fresh = Evaluator(evaluator.phi, output=evaluator.output, consume=evaluator.consume, budget=evaluator.budget)
    fresh.grow(list(map(int, header["types"])), header["growth"])
    _require(np.array_equal(fresh.tables.step, arrays["step"]), "the tables of the automaton differ")
    position, unmarked, restart, nodes = (int(header[name]) for name in COUNTERS)
    states = fresh.tables.final.size
    _require(0 <= restart <= position + 1 and -1 <= unmarked < states, "a counter is out of range")
    for name, kind in ({"tree": NODE} | STATES).items():
        _require(arrays[name].dtype == kind, f"{name} is of another type")
    a = arrays["tree"]
    _require(nodes >= 1 and a.shape == (nodes,), "the nodes differ in number")
    below, inner = np.arange(1, nodes), slice(1, None)
    children = a["left"][inner], np.where(a["label"][inner] == 0, a["right"][inner], 0)
    _require(all(((c >= 0) & (c < below)).all() for c in children), "a node is not above its children")
    _require(((a["label"] >= 0) & (a["label"] < len(fresh.tables.labels))).all(), "a label is out of range")
    _require((a["event"] < position).all() and (a["floor"] <= position).all(), "a node lies in the future")
    s = {name: arrays[name] for name in STATES}
    keys = s["actives"].size
    shapes = (keys, states, states + 2), (keys, states), (keys, states), (keys,), (keys,)
    _require(
        all(s[name].shape == shape for name, shape in zip(STATES, shapes, strict=True)), "a table has no such shape"
    )
    for name, end in (("series", nodes), ("sizes", states + 3), ("active", states), ("actives", states + 1)):
        _require(((s[name] >= 0) & (s[name] < end)).all(), f"{name} is out of range")
    _require((s["seen"] < position).all(), "a key was seen in the future")
    fresh.keys.numbers = {tuple((str(k), v) for k, v in key): i for i, key in enumerate(header["keys"])}
    _require(len(fresh.keys.numbers) == len(header["keys"]) <= max(keys, 1), "the keys differ in number")
    for i, (clock, kind) in enumerate(zip(fresh.clocks, header["clocks"], strict=True)):
        positions, values = arrays[f"positions{i}"].astype(np.int64), arrays[f"values{i}"]
        _require(
            positions.shape == values.shape and values.ndim == 1 and values.dtype.kind in "if", "a clock is broken"
        )
        fresh.clocks[i] = replace(clock, positions=positions, values=values, kind=str(kind))
    evaluator.__dict__.update(fresh.__dict__)
    evaluator.position, evaluator.unmarked, evaluator.restart, evaluator.nodes = position, unmarked, restart, nodes
    evaluator.tree, evaluator.series = a, s


def _require(condition: bool | np.bool_, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _fingerprint(evaluator: Evaluator) -> str:
    A, scope = evaluator.automaton.A, evaluator.scope
    steps = [(t.source, repr(t.predicate), sorted(t.marks), t.target) for t in A.transitions]
    said = (steps, sorted(A.initial), sorted(A.final), scope.events, scope.widths, scope.attributes)
    return sha256(repr((said, evaluator.output, evaluator.consume)).encode()).hexdigest()
