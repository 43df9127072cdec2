"""Evaluate event expressions with tables, in readable Python: one look-up for each event and expression.

The automata are minimal and complete, so an event needs no more than a step of each. What costs time is the type of an
event, which each automaton would compute by its own predicates. So `Classes` gives an event one number for all automata
together, and evaluates a mask that several of them use only once. The tables grow when a class is new, because most
classes that are possible never occur. The compiled twin is evaluators.CompiledRunner.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from cerify.automata.dfa.model import DFA, Alphabet, Names, coaccessible_states, require_first
from cerify.semantics.errors import InternalError
from cerify.semantics.event_expressions.syntax import START
from cerify.semantics.events import Event, Stream
from cerify.semantics.packages import installed, np, pa
from cerify.semantics.predicates import Both, OfType, Predicate, holds

if TYPE_CHECKING:
    from numpy.typing import NDArray


# ---------------------------------------------------------------------------------------------------------------------
# The classes of events with respect to some automata: events of one class have the same type in all alphabets.
#
# A mask that several automata use is evaluated once for each event, or once for a whole column. Classes are numbered
# in the order of their first use.

SHORT = 256  # events; below this, going event by event is faster than going by columns
CHUNK = 65_536  # events whose masks are put together at a time, so that they stay in the cache
BITS = 32  # masks whose outcomes are put together before they are numbered anew


class Classes:
    """The classes of the events read so far. Two events are in one class if no automaton distinguishes them.

    types: for each class, the type of its events in the alphabet of each automaton. starts: the classes of start
    events. masks: the distinct conditions on events in all automata.
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
        # Two steps: what an event passes, then what the automata make of it. Different outcomes of masks are often one
        # class, and fewer classes are smaller tables.
        self._numbers: dict[tuple[tuple[int, ...], bool], int] = {}
        self._known: dict[tuple[str | None, int], int] = {}

    def of_event(self, event: Event) -> int:
        """Return the number of the event's class. The automata do not distinguish events of one class."""
        bits = self._masks_of.get(event.type, 0)
        passed = (1 << m for m, P in enumerate(self.masks) if bits >> m & 1 and holds(P, event))
        return self._class(event.type, sum(passed))

    def classify_all(self, S: Stream) -> list[int]:
        """Return the classes of all events of a stream."""
        by_events = len(S) < SHORT or not installed("pyarrow")
        return list(map(self.of_event, S)) if by_events else self.of_stream(S).tolist()

    def of_stream(self, S: Stream) -> NDArray[np.int32]:
        """Return the classes of all events of a stream, as an array."""
        if len(S) < SHORT:
            return np.fromiter(map(self.of_event, S), np.int32, len(S))
        encoded = S.coded_types
        types, codes = encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)
        if not self.masks:
            return _looked_up([self._class(T, 0) for T in types], codes)
        parts = range(0, len(S), CHUNK)
        return np.concatenate([self._of_part(S.table.slice(i, CHUNK), types, codes[i : i + CHUNK]) for i in parts])

    def _of_part(self, table: pa.Table, types: list[str], codes: NDArray[np.int32]) -> NDArray[np.int32]:
        """Return the classes of the events of a table; `codes` has for each event the index of its type in `types`."""
        from cerify.semantics.columns import mask

        outcomes = [(T, 0) for T in types]
        for m in range(0, len(self.masks), BITS):
            some = self.masks[m : m + BITS]
            wide = codes.astype(np.int64) << len(some)
            for i in range(0, len(some), 8):
                wide |= _octet([mask(P, table) for P in some[i : i + 8]]).astype(np.int64) << i
            # Numbered anew after each BITS masks: few of the combinations occur, and a column of 64 bits has room for
            # no more masks beside them.
            numbered = pa.array(wide).dictionary_encode()
            outcomes = [_with(outcomes, code, len(some), m) for code in numbered.dictionary.to_pylist()]
            codes = numbered.indices.to_numpy()
        return _looked_up([self._class(*outcome) for outcome in outcomes], codes)

    def _class(self, T: str, passed: int) -> int:
        """Return the class of the events of type T that satisfy exactly these masks, given as bits."""
        name = T if T in self._masks_of else None
        # Masks of other event types say nothing about this event, and would only make more classes.
        key = (name, passed & self._masks_of[name])
        if (number := self._known.get(key)) is None:
            # Automata that were compiled together have equal alphabets, whose types are computed once.
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
    """Return the event type and the mask of a primitive event."""
    match P:
        case OfType(T):
            return T, None
        case Both(OfType(T), condition):
            return T, condition
        case _:
            raise InternalError(f"the predicate {P} does not belong to a primitive event")


def _octet(columns: list[pa.BooleanArray]) -> NDArray[np.uint8]:
    """Pack up to eight Boolean columns into one column of bytes."""
    found = np.zeros(len(columns[0]), np.uint8)
    for i, column in enumerate(columns):
        found |= column.to_numpy(zero_copy_only=False).view(np.uint8) << i
    return found


def _looked_up(classes: list[int], codes: NDArray[np.int32]) -> NDArray[np.int32]:
    found: NDArray[np.int32] = np.array(classes, np.int32)[codes]
    return found


def _with(outcomes: list[tuple[str, int]], code: int, bits: int, m: int) -> tuple[str, int]:
    """Return the new outcome for a code. Its high bits number an earlier outcome; its low bits are the truth values of
    the masks from m on.
    """
    T, passed = outcomes[code >> bits]
    return T, passed | (code & (1 << bits) - 1) << m


NO_VARIABLE: Names = frozenset()


class Positions(Protocol):
    """Ascending positions as 64-bit integers, in a Python array or a NumPy array."""

    def tolist(self) -> list[int]:
        """Return the positions as a list."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: slice, /) -> Positions: ...


class TableRunner:
    """Runs several automata over one history, which is read in single events or batches.

    Results name an expression by the index of its automaton. position: the position of the next event.
    """

    def __init__(self, automata: Sequence[DFA]) -> None:
        self.automata = tuple(automata)
        self.restart()
        self.classes = Classes(self.automata)
        self._steps: list[list[list[int]]] = []  # of each class, for each automaton, the state after each state

    def restart(self) -> None:
        """Begin a new history; the classes of events stay known."""
        self.states = [0] * len(self.automata)
        self.position = 0

    def state(self) -> list[int]:
        """Return the current state of each automaton, as `resume` takes them."""
        return list(self.states)

    def resume(self, states: list[int], position: int) -> None:
        """Continue in these states at a position. Raises ValueError if the automata have no such states."""
        if len(states) != len(self.automata) or not all(
            isinstance(q, int) and 0 <= q < len(A.following) for q, A in zip(states, self.automata, strict=True)
        ):
            raise ValueError(states)
        self.states, self.position = list(states), position

    def push(self, event: Event) -> list[int]:
        """Return the indices of the expressions that take place at the next event. Raises InputError for a late start
        event.
        """
        require_first(event, self.position)
        return self._advance(self.classes.of_event(event))

    def advance(self, S: Stream) -> list[Positions]:
        """Return for each expression the positions, among the next events, at which it takes place.

        Raises InputError for a late start event.
        """
        found: list[list[int]] = [[] for _ in self.automata]
        classes = self.classes.classify_all(S)
        self._require_starts(i for i, c in enumerate(classes) if c in self.classes.starts)
        for c in classes:
            for k in self._advance(c):
                found[k].append(self.position - 1)
        return [array("q", positions) for positions in found]

    def can_still(self) -> list[bool]:
        """Return for each expression whether there are further events after which it would take place."""
        return [q in states for q, states in zip(self.states, self._coaccessible, strict=True)]

    @cached_property
    def _coaccessible(self) -> list[frozenset[int]]:
        return list(map(coaccessible_states, self.automata))

    def _advance(self, c: int) -> list[int]:
        """Read an event of this class."""
        self._tabulate()
        self.states = [steps[q] for steps, q in zip(self._steps[c], self.states, strict=True)]
        self.position += 1
        return [k for k, A in enumerate(self.automata) if self.states[k] in A.accepting]

    def _tabulate(self) -> None:
        """Extend the tables by the new classes."""
        for types in self.classes.types[len(self._steps) :]:
            self._steps.append([column(A, a) for A, a in zip(self.automata, types, strict=True)])

    def _require_starts(self, places: Iterable[int]) -> None:
        """Raise InputError if one of these start events is not the first event of the stream.

        places: the indices of the start events among the next events.
        """
        # Two are enough: only one start event can be at the first position of the history.
        for i in islice(places, 2):
            require_first(Event(START), self.position + i)


def column(A: DFA, a: int) -> list[int]:
    """Return for each state the next state on an event of type a.

    For start events, only the entry of the initial state has a meaning: such an event can only be the first.
    """
    # The default is never used: a later start event has been refused by then.
    return [following.get((a, NO_VARIABLE), 0) for following in A.following]
