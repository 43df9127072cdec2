"""The types of a stream's events with respect to an automaton's predicates, as bit masks (tods21, Definition 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cerify.semantics.events import TYPE, Stream
from cerify.semantics.predicates import (
    Anything,
    Both,
    Comparison,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    holds,
)

SHORT = 256  # events; below this, going event by event is faster than going by columns
DENSE = 1 << 16  # numbers; beyond so many they are sorted rather than looked up in a table

Mask: TypeAlias = NDArray[np.bool_]


def classify(predicates: Sequence[Predicate], S: Stream) -> list[int]:
    """For each event of the stream the mask in which bit i is set if the event is in predicates[i]."""
    classes, types = classified(predicates, S)
    return [types[c] for c in classes.tolist()]


def classified(predicates: Sequence[Predicate], S: Stream) -> tuple[NDArray[np.int32], list[int]]:
    """For each event its class, and for each class its type as a bit mask; no two classes have the same."""
    if len(S) < SHORT:
        numbers: dict[int, int] = {}
        masks = (sum(1 << i for i, P in enumerate(predicates) if holds(P, event)) for event in S)
        classes = np.fromiter((numbers.setdefault(mask, len(numbers)) for mask in masks), np.int32, len(S))
        return classes, list(numbers)
    columns = _Columns(S.table)
    classes, types = np.zeros(len(S), np.int32), [0]
    for start in range(0, len(predicates), 8):
        byte = np.zeros(len(S), np.uint8)
        for i, P in enumerate(predicates[start : start + 8]):
            byte |= columns.mask(P).view(np.uint8) << np.uint8(i)
        pairs = byte if len(types) == 1 else (classes.astype(np.int64) << 8) + byte
        classes, distinct = _numbered(pairs, len(types) << 8)
        types = [types[pair >> 8] | (pair & 255) << start for pair in distinct.tolist()]
    return classes, types


def _numbered(values: NDArray[Any], bound: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """The values as numbers from 0 on, and the value of each number; all are from 0 up to the bound."""
    if bound > DENSE:
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers.astype(np.int32), distinct
    used = np.zeros(bound, np.bool_)
    used[values] = True
    return (np.cumsum(used) - 1).astype(np.int32)[values], np.flatnonzero(used)


class _Columns:
    """Predicates on the rows of a table; each test of an attribute is made once, and types are told by number."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self._tests: dict[str, Mask] = {}  # by their text: 1 and True are equal, and no two tests of them are
        column = table[TYPE]
        if not pa.types.is_dictionary(column.type):
            column = pc.dictionary_encode(column)
        encoded = column.unify_dictionaries().combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        if isinstance(encoded, pa.ChunkedArray):
            encoded = pa.concat_arrays(encoded.chunks)
        self._names = {str(name): code for code, name in enumerate(encoded.dictionary.to_pylist())}
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        self._codes = codes.astype(np.uint8 if len(self._names) <= 256 else np.int32)

    def mask(self, P: Predicate) -> Mask:
        """Whether each row is in the predicate."""
        match P:
            case Anything():
                return np.ones(len(self._codes), np.bool_)
            case OfType(name):
                code = self._names.get(name)
                return self._codes == code if code is not None else np.zeros(len(self._codes), np.bool_)
            case Not(inner):
                return ~self.mask(inner)
            case Both(left, right):
                return self.mask(left) & self.mask(right)
            case Either(left, right):
                return self.mask(left) | self.mask(right)
            case Comparison() | OneOf() | InRange() | Like():
                if repr(P) not in self._tests:
                    from cerify.semantics.columns import mask

                    self._tests[repr(P)] = mask(P, self._table).to_numpy(zero_copy_only=False)
                return self._tests[repr(P)]
            case _:
                assert_never(P)
