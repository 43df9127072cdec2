"""The interface of all evaluators that read a stream in batches, for every language.

An evaluator is made from a query and reads one stream: `push` each batch, then `finish`. `evaluate` does both for a
whole stream. Readable and compiled subclasses are in evaluate/ (CEL and core-CEL), dfa/ and nfab/; cerify.plan makes an
evaluator of the same kind from the reference evaluator of each language.
"""

from __future__ import annotations

import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast, get_args

from cerify.semantics.arguments import Budget, require_whole
from cerify.semantics.errors import IllFormed, InputError, QueryWarning
from cerify.semantics.events import Events, Match, Stream
from cerify.semantics.files import as_stream, kinds_of_times
from cerify.semantics.match_frames import Matches
from cerify.semantics.packages import pa
from cerify.semantics.values import ValueKind

# ---------------------------------------------------------------------------------------------------------------------
# Saved states: the bytes of an evaluator after a header, which names the evaluator and the query and has a checksum.
#
# A state is a line of JSON and, after it, the data. It is accepted only if it is, byte for byte, what `seal` writes.
# The checksum finds damage. It is not a signature: anyone can write a valid state.

MAGIC, VERSION = "cerify saved state", 5
EVALUATORS = {
    "readable": "'automaton'",
    "compiled": "'kernel'",
    "parallel": "'kernel' with workers",
    "definition": "'denotational'",
}
"""From the names that saved states use to the names that callers use."""


def seal(kind: str, query: str, data: bytes) -> bytes:
    """Wrap data as a saved state, with a header and a checksum.

    kind: the kind of evaluator. query: a text for the query and all options. `unseal` checks both.
    """
    header = {"magic": MAGIC, "version": VERSION, "evaluator": kind, "byteorder": sys.byteorder, "query": query}
    header["sha256"] = _checksum(header, data)
    return json.dumps(header).encode() + b"\n" + data


def unseal(saved: bytes, kind: str, query: str) -> bytes:
    """Return the data of a saved state. Raises InputError, with advice, if it is damaged or has another kind
    or query.
    """
    if not isinstance(saved, bytes | bytearray | memoryview):
        raise InputError(f"a saved state is the bytes that `save` returned, not a {type(saved).__name__}")
    line, _, data = bytes(saved).partition(b"\n")
    # One comparison finds whatever differs: version, machine, query or data. Only then is the reason looked for.
    if saved == seal(kind, query, data):
        return data
    try:
        header = json.loads(line)
        named = header["magic"] == MAGIC
    except (ValueError, KeyError, TypeError, RecursionError):
        named = False
    if not named:
        raise InputError(
            f"these {len(saved)} bytes are not a valid saved state: another version wrote them, or they "
            "are damaged; restore another state, or start again"
        )
    if header.get("sha256") != _checksum(header, data):
        raise InputError("the saved state is damaged: its checksum differs; restore an earlier state, or start again")
    raise InputError(_difference(header, kind))


def _difference(header: dict[str, Any], kind: str) -> str:
    """Return why an undamaged saved state is not the expected one, and what to do."""
    if header.get("version") != VERSION:
        return (
            f"the state has version {header.get('version')}, but this release of cerify reads version {VERSION}: "
            "restore it with the release that saved it, or start again"
        )
    if header.get("byteorder") != sys.byteorder:
        return (
            f"the state was saved on a {header.get('byteorder')}-endian machine, but this machine is "
            f"{sys.byteorder}-endian: restore the state on a machine like the first, or start again"
        )
    if header.get("evaluator") != kind:
        saved = header.get("evaluator")
        found, wanted = (EVALUATORS.get(str(name), repr(name)) for name in (saved, kind))
        return f"the state was saved by the evaluator {found}, but this is {wanted}: restore it with {found}"
    return (
        "the state was saved with another query, other options (such as the number of workers), or another version of "
        "the automaton: restore it with the same query and options and the same release of cerify, or start again"
    )


def _checksum(header: dict[str, Any], data: bytes) -> str:
    """Return the SHA-256 of the data and of the header without its checksum."""
    rest = json.dumps({name: value for name, value in header.items() if name != "sha256"})
    return sha256(rest.encode() + b"\n" + data).hexdigest()


Batch: TypeAlias = Events | str | Path
Output = Literal["matches", "valuations"]


def require_output(output: str) -> None:
    """Raise IllFormed for an unknown output."""
    if output not in get_args(Output):
        raise IllFormed(f"there is no output {output!r}; use one of {', '.join(get_args(Output))}")


class Consumption(Enum):
    """The events that later matches may not use after a match (docs/decisions/windows.md).

    NONE: later matches may use all events. ANY: after a position with a match, evaluation goes on as if the stream
    began after that position.
    """

    NONE = "none"
    ANY = "any"

    @classmethod
    def from_value(cls, policy: Consumption | str) -> Consumption:
        """Return the policy with a name such as "any", or the given policy. Raises IllFormed for other names."""
        try:
            return cls(policy)
        except ValueError:
            names = ", ".join(one.value for one in cls)
            raise IllFormed(f"there is no consumption {policy!r}; use one of {names}") from None


@dataclass(frozen=True)
class Counters:
    """The amount of work that an evaluator has done since it was made or restored.

    events: the number of events pushed. nodes: the number of nodes made to enumerate matches, including deleted nodes.
    states: the number of states of the automaton; if it is built while events are read, of the states built so far.
    """

    events: int
    nodes: int
    states: int


class Evaluator(ABC):
    """An evaluator of one query over one stream that comes in batches.

    budget.seconds limits the time of one call of `push`, `count` or `finish`. A subclass defines `push_stream`, `dump`,
    `load`, `identity`, `counters` and `remade`, and if needed `flush` and `tally`. Copies and pickles are made from the
    result of `remade` and the saved state.

    position: the position of the next event; the first event of the stream has position 0. STATE: the name of the
    evaluator in saved states. counts: whether it may count matches without building them. check: a function called
    once, with the first batch that has events, before they are read. default_type: the type of events without a type.
    attributes: the names that the evaluator reads, None for all; other columns of a file are not read. needed: the
    names that must be readable, None for all. texts: the names whose values the schema declares as texts, even if they
    look like times.
    """

    STATE: ClassVar[str]
    counts: ClassVar[bool] = True
    budget: Budget = Budget()
    position: int = 0
    finished: bool = False
    check: Callable[[Stream], None] | None = None
    default_type: str | None = None
    attributes: frozenset[str] | None = None
    needed: frozenset[str] | None = None
    texts: frozenset[str] = frozenset()
    _kinds: Mapping[str, ValueKind] | None = None  # of attributes with texts or times, as the batches so far have them
    _first: int = 0  # the position at which a saved state was restored
    _whole: bool = True  # false once an error has stopped the evaluator inside a batch

    def push(self, batch: Batch, limit: int | None = None) -> Matches:
        """Read the next events; return, sorted, the new matches that no later event can change.

        With a limit, return at most that many matches, the first to be found; the others are lost. Raises InputError
        after `finish` and for events that do not fit the query, IllFormed for a bad limit, and BudgetExceeded.
        """
        with self.budget.timed():
            return Matches(self.push_stream(self._opened(batch, limit), limit))

    def push_arrow(self, batch: Batch, limit: int | None = None) -> pa.Table:
        """Read the next events like `push`, but return a table with the columns at and events."""
        return self.push(batch, limit).to_arrow().select(["at", "events"])

    def finish(self) -> Matches:
        """End the stream; return, sorted, the matches that only the end makes certain.

        Raises InputError if the stream has already ended.
        """
        self._require_open()
        with self.budget.timed():
            found = Matches(self.flush())
        self.finished = True
        return found

    def count(self, batch: Batch) -> int:
        """Read the next events like `push`, but return the exact number of the matches.

        Evaluators that can count without building the matches do so.
        """
        with self.budget.timed():
            return self.tally(self._opened(batch))

    def count_all(self, S: Stream) -> int:
        """Return the number of matches of a whole stream. The evaluator must not have read other events."""
        return self.count(S) + len(self.finish())

    def evaluate(self, batch: Batch) -> Matches:
        """Read a complete stream with `push` and `finish`; return all matches, sorted."""
        found, rest = self.push(batch), self.finish()
        return Matches(sorted(found + rest)) if rest else found

    def evaluate_stream(self, S: Stream) -> Sequence[Match]:
        """Same as `evaluate`, but for a Stream already known to have all attributes that the query needs."""
        with self.budget.timed():
            found, rest = self.push_stream(S), self.flush()
            return sorted([*found, *rest]) if rest else found

    def fresh(self) -> Self:
        """Return an evaluator of the same query that has read nothing."""
        make, arguments = self.remade()
        evaluator = cast("Self", make(*arguments))
        evaluator.check, evaluator.needed, evaluator.texts = self.check, self.needed, self.texts
        return evaluator

    @abstractmethod
    def push_stream(self, S: Stream, limit: int | None = None) -> Sequence[Match]:
        """Read the next events like `push`, given a Stream."""

    def flush(self) -> list[Match]:
        """Return the matches that `finish` adds.

        By default there are none, because all matches are certain when they are reported.
        """
        return []

    def tally(self, S: Stream) -> int:
        """Same as `count`, but for a Stream. By default the matches are built and counted."""
        return len(self.push_stream(S))

    def save(self) -> bytes:
        """Return the state between two batches as bytes that contain no code.

        Raises InputError inside a batch or after `finish`.
        """
        self._require_open()
        with self.budget.timed():
            return self._saved()

    def _saved(self) -> bytes:
        self._require_whole()
        return seal(self.STATE, self.identity, self.dump())

    def restore(self, saved: bytes) -> None:
        """Continue from a saved state, in an evaluator that has read nothing yet.

        Raises InputError, and changes nothing, if the evaluator has read events, or if the state is damaged or belongs
        to another query or other options.
        """
        if self.position:
            raise InputError("this evaluator has already read events; restore the state into a new one")
        data = unseal(saved, self.STATE, self.identity)
        try:
            self.load(data)
        except Exception as error:  # whatever numpy, zipfile and Arrow make of bytes that they have not written
            raise InputError("the saved state is damaged; restore an earlier one, or start again") from error
        self._first = self.position

    @property
    @abstractmethod
    def identity(self) -> str:
        """Return the query and the options as a text; evaluators with equal texts can exchange saved states."""

    @abstractmethod
    def dump(self) -> bytes:
        """Return the data of a saved state."""

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Continue from the data of a saved state. Bad data raise an exception, of any type, and change nothing."""

    @property
    @abstractmethod
    def counters(self) -> Counters:
        """Return the counts of the work done so far."""

    @abstractmethod
    def remade(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        """Return a callable and its arguments that create an evaluator of the same query that has read nothing."""

    def __reduce__(self) -> tuple[Callable[..., Evaluator], tuple[Any, ...]]:
        return _restored, (
            *self.remade(),
            self._saved(),
            self.finished,
            {"check": self.check, "needed": self.needed, "texts": self.texts, "_kinds": self._kinds},
        )

    def _require_whole(self) -> None:
        """Raise InputError if an error has stopped the evaluator inside a batch."""
        if not self._whole:
            raise InputError(
                "this evaluator stopped inside an earlier batch; restore a saved state into a new evaluator, which "
                "fresh() returns, or start again"
            )

    def _opened(self, batch: Batch, limit: int | None = None) -> Stream:
        if limit is not None:
            require_whole("limit", limit)
        self._require_open()
        # What was text in an earlier batch is read as text again, even if all its values now look like times.
        texts = self.texts | {name for name, kind in (self._kinds or {}).items() if kind == "string"}
        S = as_stream(batch, default_type=self.default_type, attributes=self.attributes, texts=texts)
        if self.check is not None and len(S):
            if self.attributes is not None and isinstance(batch, str | Path) and not self._fits(S):
                S = as_stream(batch, default_type=self.default_type)  # a message says what else the events have
            self.check(S)
            self.check = None
        names = self.needed if self.attributes is None else self.attributes
        if S.unread:
            S.require_read(names)
        if not isinstance(batch, Stream):
            self._require_alike(S, names)
        return S

    def _require_alike(self, S: Stream, names: frozenset[str] | None) -> None:
        """Raise InputError if an attribute is text in one batch and a time in another: these are read differently."""
        found = dict(self._kinds or {})
        for name, new in kinds_of_times(S, names):
            if found.setdefault(name, new) != new:
                raise InputError(
                    f"attribute {name!r}: earlier batches have {found[name]}s, this batch has {new}s; pass a schema "
                    "to compile"
                )
        self._kinds = found

    def _fits(self, S: Stream) -> bool:
        """Return whether the check of the first batch passes."""
        assert self.check is not None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", QueryWarning)
                self.check(S)
        except (QueryWarning, IllFormed):
            return False
        return True

    def _require_open(self) -> None:
        if self.finished:
            raise InputError("this evaluator has finished its stream; make a new one for another stream")


def _restored(
    make: Callable[..., Evaluator],
    arguments: tuple[Any, ...],
    saved: bytes,
    finished: bool,
    more: Mapping[str, Any],
) -> Evaluator:
    evaluator = make(*arguments)
    evaluator.restore(saved)
    evaluator.finished = finished
    for name, value in more.items():
        setattr(evaluator, name, value)
    return evaluator
