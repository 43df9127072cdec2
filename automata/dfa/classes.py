"""The classes of events with respect to some automata: events of one class have the same type in all alphabets.

A mask that several automata use is evaluated once for each event, or once for a whole column. Classes are numbered in
the order of their first use.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cerify.automata.dfa.model import DFA, Alphabet
from cerify.semantics.errors import InternalError
from cerify.semantics.event_expressions.syntax import START
from cerify.semantics.events import TYPE, Event, Stream
from cerify.semantics.packages import installed, np, pa
from cerify.semantics.predicates import Both, OfType, Predicate, holds

if TYPE_CHECKING:
    from numpy.typing import NDArray

SHORT = 256  # events; below this, going event by event is faster than going by columns
CHUNK = 65_536  # events whose masks are put together at a time, so that they stay in the cache
BITS = 32  # masks whose outcomes are put together before they are numbered anew


class Classes:
    """The classes of the events so far.

    types: for each class, the type of its events in the alphabet of each automaton.
    starts: the classes of start events. masks: the masks of all automata, each once.
    """

    def __init__(self, automata: Sequence[DFA]) -> None:
        self.alphabets = tuple(A.alphabet for A in automata)
        self.types: list[tuple[int, ...]] = []
        self.starts: set[int] = set()
        self.masks: tuple[Predicate, ...] = ()
        self._masks_of: dict[str | None, int] = {
            None: 0,
            START: 0,
        }  # by event type, as bits; None: others
        for P in dict.fromkeys(P for alphabet in self.alphabets for P in alphabet.predicates):
            T, condition = _parts(P)
            bits = self._masks_of.setdefault(T, 0)
            if condition is not None:
                self.masks = self.masks if condition in self.masks else (*self.masks, condition)
                self._masks_of[T] = bits | 1 << self.masks.index(condition)
        self._numbers: dict[tuple[tuple[int, ...], bool], int] = {}
        self._known: dict[tuple[str | None, int], int] = {}

    def of_event(self, event: Event) -> int:
        """The class of an event."""
        bits = self._masks_of.get(event.type, 0)
        passed = (1 << m for m, P in enumerate(self.masks) if bits >> m & 1 and holds(P, event))
        return self._class(event.type, sum(passed))

    def listed(self, S: Stream) -> list[int]:
        """The classes of all events of a stream."""
        by_events = len(S) < SHORT or not installed("pyarrow")
        return list(map(self.of_event, S)) if by_events else self.of_stream(S).tolist()

    def of_stream(self, S: Stream) -> NDArray[np.int32]:
        """The classes of all events of a stream, as an array."""
        if len(S) < SHORT:
            return np.fromiter(map(self.of_event, S), np.int32, len(S))
        column = S.table[TYPE]
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        encoded = column.combine_chunks()
        types, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
        if not self.masks:
            return _looked_up([self._class(T, 0) for T in types], codes)
        parts = range(0, len(S), CHUNK)
        return np.concatenate([self._of_part(S.table.slice(i, CHUNK), types, codes[i : i + CHUNK]) for i in parts])

    def _of_part(self, table: pa.Table, types: list[str], codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """The classes of the events of a table, their types given by number."""
        from cerify.semantics.columns import mask

        outcomes = [(T, 0) for T in types]
        for m in range(0, len(self.masks), BITS):
            some = self.masks[m : m + BITS]
            wide = codes.astype(np.int64) << len(some)
            for i in range(0, len(some), 8):
                wide |= _octet([mask(P, table) for P in some[i : i + 8]]).astype(np.int64) << i
            numbered = pa.array(wide).dictionary_encode()
            outcomes = [_with(outcomes, code, len(some), m) for code in numbered.dictionary.to_pylist()]
            codes = numbered.indices.to_numpy()
        return _looked_up([self._class(*outcome) for outcome in outcomes], codes)

    def _class(self, T: str, passed: int) -> int:
        """The class of the events of type T that pass these masks, as bits."""
        name = T if T in self._masks_of else None
        key = (name, passed & self._masks_of[name])
        if (number := self._known.get(key)) is None:
            known = {alphabet.predicates: alphabet for alphabet in self.alphabets}
            of = {predicates: self._type(alphabet, *key) for predicates, alphabet in known.items()}
            types = tuple(of[alphabet.predicates] for alphabet in self.alphabets)
            number = self._known[key] = self._numbers.setdefault((types, T == START), len(self._numbers))
            if number == len(self.types):
                self.types.append(types)
            if T == START:
                self.starts.add(number)
        return number

    def _type(self, alphabet: Alphabet, T: str | None, passed: int) -> int:
        parts = enumerate(map(_parts, alphabet.predicates))
        return alphabet.number(
            frozenset(
                i
                for i, (R, condition) in parts
                if R == T and (condition is None or passed >> self.masks.index(condition) & 1)
            )
        )


def _parts(P: Predicate) -> tuple[str, Predicate | None]:
    """The event type and the mask of a primitive event."""
    match P:
        case OfType(T):
            return T, None
        case Both(OfType(T), condition):
            return T, condition
        case _:
            raise InternalError(f"{P} is not that of a primitive event")


def _octet(columns: list[pa.BooleanArray]) -> NDArray[np.uint8]:
    """Up to eight columns as the bits of one."""
    found = np.zeros(len(columns[0]), np.uint8)
    for i, column in enumerate(columns):
        found |= column.to_numpy(zero_copy_only=False).view(np.uint8) << i
    return found


def _looked_up(classes: list[int], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    found: NDArray[np.int32] = np.array(classes, np.int32)[codes]
    return found


def _with(outcomes: list[tuple[str, int]], code: int, bits: int, m: int) -> tuple[str, int]:
    """The outcome that a code stands for; its last bits are the outcomes of the masks from m on."""
    T, passed = outcomes[code >> bits]
    return T, passed | (code & (1 << bits) - 1) << m
