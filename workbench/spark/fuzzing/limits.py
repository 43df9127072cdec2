"""The limits of one case in a worker: seconds and memory, and a record of workers that died in spite of them.

Before an evaluator is called, its name and the number of the case are written to a file. A worker reads the file of a
worker that died in its range; an evaluator that killed a worker twice is not called on that case again.
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

DEATHS = 2  # of workers in one evaluator on one case, after which it is not called
AGAIN = 0.5  # seconds after which the signal is sent again, in case it was lost where nothing can be raised
REARMED = 1.0  # seconds between two settings of the watchdog, which takes a thread each
UNBROKEN = ("importlib", f"{os.sep}numba{os.sep}")  # an exception there would leave a half-made module or kernel
CRASHED = "crashed"  # the kind of failure


class _OutOfTime(BaseException):
    """Raised by the signal handler; a BaseException, so that no `except Exception` catches it."""


@contextlib.contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """A context that raises BudgetExceeded after these seconds, but not inside an import or a compilation.

    Without effect in threads that receive no signals.
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
    """The notes of a worker on the range that it judges, a context manager; a range that is done has no notes.

    run: a name for this call of the campaign; the deaths of workers of other calls do not count. watched: seconds after
    which the worker exits, if a case runs in spite of its time limit.
    """

    def __init__(self, path: Path, run: str, watched: float) -> None:
        self._path, self._died, self._trace = path, path.with_suffix(".died"), path.with_suffix(".trace")
        self._run, self._watched, self._armed = run, watched, 0.0
        self.deaths: Counter[tuple[int, str]] = Counter()
        self.hung: set[tuple[int, str]] = set()
        self._read_deaths()
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        self._stacks = self._trace.open("w")

    def begin(self, index: int, evaluator: str) -> None:
        """Note the case and the evaluator that is called next."""
        os.pwrite(self._file, json.dumps([self._run, index, evaluator]).ljust(200).encode(), 0)
        if time.monotonic() - self._armed > REARMED:
            self._armed = time.monotonic()
            faulthandler.dump_traceback_later(self._watched, exit=True, file=self._stacks)

    def end(self) -> None:
        """Remove the notes: the range is done."""
        for path in (self._path, self._died, self._trace):
            path.unlink(missing_ok=True)

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        faulthandler.cancel_dump_traceback_later()
        os.close(self._file)
        self._stacks.close()

    def _read_deaths(self) -> None:
        """Read the deaths in this range, and add that of the worker which left notes."""
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
        """The notes in a file; incomplete ones are left out."""
        found = []
        with contextlib.suppress(FileNotFoundError):
            for line in path.read_text(encoding="utf-8").splitlines():
                with contextlib.suppress(ValueError):
                    found.append(json.loads(line))
        return found


@dataclass
class Limited:
    """An evaluator with limits, for the cases of one range. seconds: None if it has a limit of its own."""

    name: str
    evaluator: Evaluator
    notes: Notes
    seconds: float | None
    index: int = 0

    def __call__(self, phi: Query, S: Stream, output: Output) -> Collection[Match]:
        at = self.index, self.name
        if self.notes.deaths[at] >= DEATHS:
            if at in self.notes.hung:
                raise BudgetExceeded("it did not return within its limit, and its process was killed, twice")
            raise NoAnswer(f"{CRASHED}: the process of the evaluator died, twice")
        self.notes.begin(*at)
        if self.seconds is None:
            return self.evaluator(phi, S, output)
        with time_limit(self.seconds):
            try:
                return self.evaluator(phi, S, output)
            except MemoryError:
                raise BudgetExceeded("it needs more memory than it may use") from None
