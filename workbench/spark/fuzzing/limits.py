"""The limits of one case in a worker: seconds and memory, and a record of workers that died in spite of them.

Before an evaluator is called, its name and the number of the case are written to a file. A worker that finds the file
of one that died in this range knows the place; an evaluator that killed a worker twice is not called on that case
again.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import psutil

from cerify.equivalence.differential.judge import Evaluator, NoAnswer, Output, Query
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Match, Stream

DEATHS = 2  # in one evaluator on one case, after which it is not asked
AGAIN = 0.5  # seconds after which the signal comes again, should it be lost in a place that cannot raise
REARMED = 1.0  # seconds between two settings of the watchdog, which takes a thread each
UNBROKEN = ("importlib", f"{os.sep}numba{os.sep}")  # modules and kernels half made would be wrong ever after
CRASHED = "crashed"  # the kind of failure


class _OutOfTime(BaseException):
    """Raised wherever the program is; not an Exception, so that nothing on the way takes it for one."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Inside, what takes longer is a BudgetExceeded; what is being imported or compiled comes to its end before.

    In a thread that gets no signals there is no limit.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return

    def end(_: int, frame: FrameType | None) -> None:
        while frame is not None:
            if any(part in frame.f_code.co_filename for part in UNBROKEN):
                return  # the signal comes again
            frame = frame.f_back
        raise _OutOfTime

    before = signal.signal(signal.SIGALRM, end)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
        yield
    except _OutOfTime:
        raise BudgetExceeded(f"no answer within {seconds:g} s") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def limited_memory(mebibytes: int | None) -> Iterator[None]:
    """Inside, this process has so much more memory than it has, where the system can limit it; None for no limit."""
    try:
        import resource
    except ImportError:
        mebibytes = None
    if mebibytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = psutil.Process().memory_info().vms + mebibytes * 2**20
    resource.setrlimit(resource.RLIMIT_AS, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


class Notes:
    """What a worker notes of a range while it is at it. Use it as a context; a range that is done has no notes.

    run: a name for this call of the campaign, since a worker that was ended with an earlier one has not died.
    watched: seconds after which a case that not even the clock gets out of its evaluator ends the worker.
    """

    def __init__(self, path: Path, run: str, watched: float) -> None:
        self._path, self._died, self._trace = path, path.with_suffix(".died"), path.with_suffix(".trace")
        self._run, self._watched, self._armed = run, watched, 0.0
        self.deaths: Counter[tuple[int, str]] = Counter()
        self.hung: set[tuple[int, str]] = set()
        self._known()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self._stacks = self._trace.open("w")

    def begin(self, index: int, evaluator: str) -> None:
        """Note what is asked now."""
        os.pwrite(self._file, json.dumps([self._run, index, evaluator]).ljust(200).encode(), 0)
        if time.monotonic() - self._armed > REARMED:
            self._armed = time.monotonic()
            faulthandler.dump_traceback_later(self._watched, exit=True, file=self._stacks)

    def end(self) -> None:
        """Drop the notes: the range is done."""
        for path in (self._path, self._died, self._trace):
            path.unlink(missing_ok=True)

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._file)
        self._stacks.close()

    def _known(self) -> None:
        """Read where workers have died in this range, and add what the last one left."""
        died = self._lines(self._died)
        for run, index, evaluator in self._lines(self._path):
            hung = self._trace.exists() and self._trace.stat().st_size > 0
            died.append([run, index, evaluator, hung])
        for run, index, evaluator, hung in died:
            if run == self._run:
                self.deaths[index, evaluator] += 1
                if hung:
                    self.hung.add((index, evaluator))
        if died:
            self._died.write_text("".join(json.dumps(line) + "\n" for line in died), encoding="utf-8")

    @staticmethod
    def _lines(path: Path) -> list[list[Any]]:
        """What is noted; a note that was cut off while it was written is none."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found


@dataclass
class Limited:
    """An evaluator with limits, asked for the cases of one range. seconds: None where it has a limit of its own."""

    name: str
    evaluator: Evaluator
    notes: Notes
    seconds: float | None
    index: int = 0

    def __call__(self, phi: Query, S: Stream, output: Output) -> Collection[Match]:
        at = self.index, self.name
        if self.notes.deaths[at] >= DEATHS:
            if at in self.notes.hung:
                raise BudgetExceeded("it did not come back, so that its process was ended, twice")
            raise NoAnswer(f"{CRASHED}: the process of the evaluator died, twice")
        self.notes.begin(*at)
        if self.seconds is None:
            return self.evaluator(phi, S, output)
        with time_limit(self.seconds):
            try:
                return self.evaluator(phi, S, output)
            except MemoryError:
                raise BudgetExceeded("it needs more memory than it may use") from None
