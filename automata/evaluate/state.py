"""The state of an evaluator in a file: a header in JSON and flat arrays, in numpy's npz format without pickles.

The kernels trust their arrays, so nothing in a file is believed: it is of this query and this version of the automaton,
and its indices lie inside the arrays, or it is refused.
"""

from __future__ import annotations

import json
from contextlib import nullcontext
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from cerify.automata.evaluate.batches import require
from cerify.automata.evaluate.evaluator import Evaluator
from cerify.automata.evaluate.tables import TransitionCache
from cerify.semantics.errors import InputError

FORMAT, VERSION = "cerify evaluator", 3
LAST = 2**62  # position; the kernels count on from it in 64 bits


def save(evaluator: Evaluator, file: str | Path | IO[bytes]) -> None:
    """Write what the evaluator knows after the batches it has read. Raises InputError if it stopped inside one."""
    evaluator.require_whole()
    evaluator.grow([], [])  # as others of the automaton may have met more types
    header = {
        "format": FORMAT,
        "version": VERSION,
        "query": _fingerprint(evaluator),
        "position": evaluator.position,
        "types": [str(type_) for type_ in evaluator.types],
        "growth": evaluator.snapshot.growth,
        "keys": [[kinds, list(numbers), list(numbers.values())] for kinds, numbers in evaluator.keys.numbers.items()],
        "clocks": [range_window.kind for range_window in evaluator.range_windows],
    }
    arrays: dict[str, Any] = dict(evaluator.kept.arrays)
    for i, range_window in enumerate(evaluator.range_windows):
        arrays |= {f"positions{i}": range_window.positions, f"values{i}": range_window.values}
    text = np.frombuffer(json.dumps(header).encode(), np.uint8)
    # opened here, as numpy would add a suffix to a name
    with open(file, "wb") if isinstance(file, str | Path) else nullcontext(file) as opened:
        np.savez(opened, header=text, step=evaluator.tables.step, **arrays)


def restore(evaluator: Evaluator, file: str | Path | IO[bytes]) -> None:
    """Let an evaluator that has read nothing go on from a state. Raises InputError for a state of anything else."""
    if evaluator.position:
        raise InputError("a state is restored into an evaluator that has read nothing yet; make a new one")
    try:
        with np.load(file, allow_pickle=False) as loaded:
            arrays = dict(loaded)
        header = json.loads(arrays.pop("header").tobytes())
        known, query = (header["format"], header["version"]), header["query"]
    except Exception as error:  # whatever numpy and zipfile make of bytes that they have not written
        raise InputError(f"this is no saved state of an evaluator: {error}") from None
    if known != (FORMAT, VERSION):
        raise InputError(f"a state of format {known}; this version reads {(FORMAT, VERSION)}, so start again")
    if query != _fingerprint(evaluator):
        raise InputError(
            "the state is of another query, other options, or another version of the automaton; restore it with those "
            "it was saved with, or start again"
        )
    try:
        _take(evaluator, header, arrays)
    except (KeyError, ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise InputError(f"the saved state is damaged: {error!r}") from None


def _take(evaluator: Evaluator, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    fresh = evaluator.fresh()
    fresh.cache = TransitionCache(evaluator.automaton.anew())  # so that its states are numbered as in the saved state
    types, growth = list(map(int, header["types"])), list(map(int, header["growth"]))
    require(growth == sorted(set(growth)) and max(growth, default=0) == len(set(types)), "the types are not in steps")
    fresh.grow(types, growth)
    require(np.array_equal(fresh.tables.step, arrays["step"]), "the tables of the automaton differ")
    fresh.position = int(header["position"])
    require(0 <= fresh.position <= LAST, "the position is out of range")
    fresh.kept.take(arrays, fresh.position)
    labels = fresh.kept.labels
    require(((labels >= 0) & (labels < len(fresh.tables.labels))).all(), "a label is out of range")
    if fresh.scope.attributes:
        fresh.keys.size = len(arrays["rows"])
        for kinds, keys, numbers in header["keys"]:
            keys = [tuple(key) if isinstance(key, list) else key for key in keys]
            fresh.keys.numbers[tuple(kinds)] = dict(zip(keys, map(int, numbers), strict=True))
        taken = [k for numbers in fresh.keys.numbers.values() for k in numbers.values()]
        require(len(taken) == len(set(taken)), "two keys have the same number")
        fresh.keys.free = sorted(set(range(fresh.keys.size)).difference(taken), reverse=True)
        require(len(taken) + len(fresh.keys.free) == fresh.keys.size, "the number of a key is out of range")
    for i, (range_window, kind) in enumerate(zip(fresh.range_windows, header["clocks"], strict=True)):
        positions, values = arrays[f"positions{i}"].astype(np.int64), arrays[f"values{i}"]
        require(
            positions.shape == values.shape and values.ndim == 1 and values.dtype.kind in "if",
            "a window on values is broken",
        )
        fresh.range_windows[i] = replace(range_window, positions=positions, values=values, kind=str(kind))
    evaluator.__dict__.update(fresh.__dict__)


def _fingerprint(evaluator: Evaluator) -> str:
    A, scope = evaluator.automaton.A, evaluator.scope
    steps = [(t.source, repr(t.predicate), sorted(t.marks), t.target) for t in A.transitions]
    said = (steps, sorted(A.initial), sorted(A.final), scope.events, scope.widths, scope.attributes)
    return sha256(repr((said, evaluator.output, evaluator.consume)).encode()).hexdigest()
