"""A mutating fuzzer: an input that has a new outcome, or makes calls that none made before, is changed further."""

from __future__ import annotations

import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count, islice
from pathlib import Path
from random import Random
from traceback import walk_tb
from types import FrameType

from cerify.semantics.errors import CerifyError
from proofs_tests.fuzz.targets import CORPUS, TARGETS, Target

SLOW = 20.0  # seconds of the processor for one input
MEMORY = 3072  # MiB of the process, of which a file may claim one gigabyte
LIMITS = ("slow", "memory")
CALLS = 300  # of the target, to make an input that ended in an error smaller
Edge = tuple[str, int, int]
"""A function, by its file and first line, and the line of its caller."""
WORDS = [
    *rb"0 -1 9223372036854775808 1e400 NaN -Infinity null true [] {} \ud800 , : ( ) [ ] { }".split(),
    *[b"\n", b"\r", b"\0", b"\xff", b"\x1b[31m", b"\xef\xbb\xbf", b"\xff\xff\xff\x7f", b'"', b"'", b'""'],
    *[b"(" * 300, b"[" * 3_000, b"A ; " * 100],
]


class Endless(BaseException):
    """An input took too long; no target takes it for an error of its own."""


@dataclass
class Found:
    """What a run has found: the inputs tried, their outcomes, the calls made, and what ended in another error."""

    inputs: int = 0
    seconds: float = 0.0  # of the processor
    outcomes: Counter[str] = field(default_factory=Counter)
    edges: set[Edge] = field(default_factory=set)
    crashes: dict[str, bytes] = field(default_factory=dict)


def fuzz(name: str, seed: int = 0, inputs: int | None = None, seconds: float | None = None) -> Found:
    """Run a target on its good inputs, its corpus and changes of both, until either limit; seconds of the processor."""
    target, rng, found = TARGETS[name], Random(seed), Found()
    first = [*target.seeds(), *(path.read_bytes() for path in sorted(CORPUS.glob(f"{name}-*")))]
    start = time.process_time()
    pool = list(first)
    changes = (changed(rng.choice(pool), rng.choice(pool), rng) for _ in count())
    for data in islice(chain(first, changes), inputs):
        if seconds is not None and time.process_time() - start > seconds and found.inputs >= len(first):
            break
        before = len(found.edges)
        try:
            with limited(SLOW), calls_in(found.edges):
                outcome, crashed = outcome_of(target, data)
        except Endless:
            outcome, crashed = "slow", True
        if memory() > MEMORY:
            outcome, crashed = "memory", True
        found.inputs += 1
        if not found.outcomes[outcome] or len(found.edges) > before:
            pool.append(data)
        found.outcomes[outcome] += 1
        if crashed:
            found.crashes.setdefault(outcome, data)
        if outcome == "memory":
            break
    found.seconds = time.process_time() - start
    return found


def memory() -> int:
    """The most MiB that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """A context that ends with Endless after these seconds of the processor, where there are signals for that."""
    if not hasattr(signal, "SIGPROF"):
        yield
        return

    def stop(number: int, frame: FrameType | None) -> None:
        raise Endless

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextmanager
def calls_in(edges: set[Edge]) -> Iterator[None]:
    """A context in which all calls of functions in Python are added."""

    def call(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code  # not itself: code that is made anew for each input would be new each time
        edges.add((code.co_filename, code.co_firstlineno, frame.f_back.f_lineno if frame.f_back else 0))

    before = sys.gettrace()
    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def minimised(data: bytes, fails: Callable[[bytes], bool], calls: int = CALLS) -> bytes:
    """A shorter input that fails too: parts are left out, halves first, as long as there are calls."""
    size = len(data)
    while size := size // 2:
        at = 0
        while at < len(data) and calls:
            calls -= 1
            if fails(shorter := data[:at] + data[at + size :]):
                data = shorter
            else:
                at += size
    return data


def outcome_of(target: Target, data: bytes) -> tuple[str, bool]:
    """What an input leads to, by the line that raised an error, and whether that is an error that is not typed."""
    try:
        target.run(data)
    except Exception as error:
        typed = isinstance(error, CerifyError) and error.code != "internal"
        return f"{type(error).__name__} in {_raised_in(error)}", not typed
    return "read", False


def changed(data: bytes, other: bytes, rng: Random) -> bytes:
    """The input with up to four changes: bytes set, left out, doubled, replaced by a word or a part of another."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        i, j = sorted((rng.randrange(len(data) + 1), min(len(data), rng.randrange(len(data) + 1))))
        j = min(j, i + rng.choice((1, 2, 8, len(data))))
        at = rng.randrange(len(other) + 1)
        part = (
            bytes([rng.randrange(256)]),
            b"",
            data[i:j] * rng.choice((2, 3, 50)),
            rng.choice(WORDS),
            other[at : at + rng.choice((1, 8, 100))],
        )[rng.randrange(5)]
        data = data[:i] + part + data[j if part != b"" or i < j else i + 1 :]
    return data[:100_000]


def _raised_in(error: Exception) -> str:
    """The file and line where an error was raised: its message may have parts of the input in it."""
    frame, line = list(walk_tb(error.__traceback__))[-1]
    return f"{Path(frame.f_code.co_filename).name}, line {line}"
