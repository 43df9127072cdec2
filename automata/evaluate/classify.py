"""The types of a stream's events with respect to an automaton's predicates, as bit masks (tods21, Definition 5.6)."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias, assert_never

from cerify.semantics import predicates as pred
from cerify.semantics.budget import timed_items
from cerify.semantics.events import TYPE, Event, Stream
from cerify.semantics.packages import installed, np, pa, pc
from cerify.semantics.predicates import atoms, chosen, combined

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT = 256  # events; below this, going event by event is faster than going by columns
DENSE = 1 << 16  # numbers; more than this are sorted rather than looked up in a table

TYPED = pred.Anything | pred.OfType
"""The atomic predicates that depend on the type of an event only."""

Mask: TypeAlias = "NDArray[np.bool_]"


def classify(predicates: Sequence[pred.Predicate], S: Stream) -> list[int]:
    """For each event of the stream the mask in which bit i is set if the event is in predicates[i]."""
    if len(S) < SHORT or not installed("pyarrow"):
        numbers, types = _of_events(predicates, S)
    else:
        classes, types = classified(predicates, S)
        numbers = classes.tolist()
    return [types[c] for c in numbers]


def classified(predicates: Sequence[pred.Predicate], S: Stream) -> tuple[NDArray[np.int32], list[int]]:
    """For each event its class, and for each class its type as a bit mask; no two classes have the same."""
    if len(S) < SHORT:
        found, masks = _of_events(predicates, S)
        return np.array(found, np.int32), masks
    columns = _Columns.of(S.table)
    if all(map(_of_types, predicates)):
        classes, types = _classes(predicates, replace(columns, codes=np.arange(len(columns.names))))
        return classes[columns.codes], types
    return _classes(predicates, columns)


def _of_events(predicates: Sequence[pred.Predicate], S: Stream) -> tuple[list[int], list[int]]:
    """As `classified`, event by event."""
    events = S.events
    if all(map(_of_types, predicates)):
        by_type = {R: _mask(predicates, event) for R, event in {event.type: event for event in events}.items()}
        masks = [by_type[event.type] for event in events]
    else:
        masks = [_mask(predicates, event) for event in timed_items(events, 1)]  # numbers may be of any length
    numbers: dict[int, int] = {}
    classes = [numbers.setdefault(mask, len(numbers)) for mask in masks]
    return classes, list(numbers)


def _mask(predicates: Sequence[pred.Predicate], event: Event) -> int:
    return sum(1 << i for i in chosen(predicates, event))


def _classes(predicates: Sequence[pred.Predicate], columns: _Columns) -> tuple[NDArray[np.int32], list[int]]:
    classes, types = np.zeros(len(columns.codes), np.int32), [0]
    for start in range(0, len(predicates), 8):
        byte = np.zeros(len(columns.codes), np.uint8)
        for i, P in enumerate(timed_items(predicates[start : start + 8], 1)):
            byte |= columns.mask(P).view(np.uint8) << np.uint8(i)
        pairs = byte if len(types) == 1 else (classes.astype(np.int64) << 8) + byte
        classes, distinct = _numbered(pairs, len(types) << 8)
        types = [types[pair >> 8] | (pair & 255) << start for pair in distinct.tolist()]
    return classes, types


def dictionary_of(column: pa.ChunkedArray) -> pa.DictionaryArray:
    """A column in one piece, as its different values and which of them each row has."""
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    combined = encoded.unify_dictionaries().combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _numbered(values: NDArray[Any], bound: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """The values as numbers from 0 on, and the value of each number; all are from 0 up to the bound."""
    if bound > DENSE:
        distinct, numbers = np.unique(values, return_inverse=True)
        return numbers.astype(np.int32), distinct
    used = np.zeros(bound, np.bool_)
    used[values] = True
    return (np.cumsum(used) - 1).astype(np.int32)[values], np.flatnonzero(used)


def _of_types(P: pred.Predicate) -> bool:
    """Whether a predicate depends on the type of an event only."""
    return isinstance(P, TYPED) or all(isinstance(atom, TYPED) for atom in atoms(P))


@dataclass(frozen=True)
class _Columns:
    """Predicates on the rows of a table; each test of an attribute is evaluated once.

    names: the number of each event type; codes: int [rows], the numbers of the rows' types; tests: the results so far.
    """

    table: pa.Table
    names: dict[str, int]
    codes: NDArray[Any]
    tests: dict[pred.Predicate, Mask] = field(default_factory=dict)

    @staticmethod
    def of(table: pa.Table) -> _Columns:
        """The rows of a table."""
        encoded = dictionary_of(table[TYPE])
        names = {str(name): code for code, name in enumerate(encoded.dictionary.to_pylist())}
        codes = encoded.indices.to_numpy(zero_copy_only=False)
        return _Columns(table, names, codes.astype(np.uint8 if len(names) <= 256 else np.int32))

    def mask(self, P: pred.Predicate) -> Mask:
        """Whether each row is in the predicate."""
        return combined(P, self._of_atom, operator.invert, operator.and_, operator.or_)

    def _of_atom(self, P: pred.Atomic) -> Mask:
        match P:
            case pred.Anything():
                return np.ones(len(self.codes), np.bool_)
            case pred.OfType(name):
                code = self.names.get(name)
                return self.codes == code if code is not None else np.zeros(len(self.codes), np.bool_)
            case pred.Comparison() | pred.OneOf() | pred.InRange() | pred.Like():
                if P not in self.tests:
                    from cerify.semantics.columns import mask

                    self.tests[P] = mask(P, self.table).to_numpy(zero_copy_only=False)
                return self.tests[P]
            case _:
                assert_never(P)


def pieces(batch: Stream | pa.RecordBatch | pa.Table, size: int) -> list[Stream]:
    """The events of a batch in streams of a size, of which the last one may be shorter."""
    S = batch if isinstance(batch, Stream) else Stream.from_table(batch)
    return [S.part(start, size) for start in range(0, len(S), size)]
