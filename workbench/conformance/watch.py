"""Limit the search for causes. At a time limit or an interrupt it ends with the results so far."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

OVER = "the search for smaller cases and causes stopped"


class DiagnosisStopped(Exception):
    """Raised when the whole search for causes and smaller cases must end; the message says why."""


class AllowanceOver(DiagnosisStopped):
    """Raised when the search for one smaller case has used its share of time; other searches go on."""


@dataclass
class Watch:
    """The clock of a search.

    seconds: the time for the whole search. shrinking: the share of it for smaller cases; the rest is for causes.
    allowance: the processor seconds for the search of one case. stopped: why the search is over, "" while it goes on.
    clock: returns the time in seconds.

    Example: watch = Watch(300.0); watch.check()
    """

    seconds: float = math.inf
    shrinking: float = 0.7
    allowance: float = 4.0
    stopped: str = ""
    interrupted: bool = False
    clock: Callable[[], float] = time.monotonic
    _started: float = 0.0
    _until: float = math.inf

    def __post_init__(self) -> None:
        self._started = self.clock()

    def allow(self) -> None:
        """Begin the search of one case with a full allowance."""
        # Processor time, because the wait for the engine's answers must not count against the search of one case.
        self._until = time.process_time() + self.allowance

    def allow_all(self) -> None:
        """End the search of a case; no allowance applies afterwards."""
        self._until = math.inf

    def seconds_left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the time is over; 0 or less afterwards."""
        return share * self.seconds - (self.clock() - self._started)

    def part(self, share: float) -> Watch:
        """Return a watch for this share of the seconds that are left."""
        return Watch(share * self.seconds_left(), stopped=self.stopped, clock=self.clock)

    def check(self, share: float = 1.0) -> None:
        """Raise DiagnosisStopped if the search is over, or has used this share of its seconds.

        Raise AllowanceOver if the search of one case has used its allowance.
        """
        if self.stopped:
            raise DiagnosisStopped(self.stopped)
        if self.seconds_left(share) < 0:
            raise DiagnosisStopped(f"{OVER} after {round(self.seconds, 1):g} s")
        if self._until < math.inf and time.process_time() > self._until:
            raise AllowanceOver(f"the search for a smaller case stopped after {self.allowance:g} s of processor time")

    def stop(self, why: str, interrupted: bool = False) -> None:
        """End the search; nothing more is searched from now on."""
        self.stopped = self.stopped or why
        self.interrupted |= interrupted
