"""A bound on the search for causes: after so many seconds, or at an interrupt, it ends with what it has."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field

OVER = "the search for smaller cases and causes stopped"


class DiagnosisStopped(Exception):
    """The search for causes and smaller cases is over; its message says why."""


class AllowanceOver(DiagnosisStopped):
    """The search for one smaller case has taken what it may; the others go on."""


@dataclass
class Watch:
    """Looks at the clock of a search.

    seconds: how long the whole search may take. shrinking: the share of them for smaller cases; the rest is for causes.
    allowance: the seconds of the processor for the search of one case. stopped: why the search is over, "" as long as
    it goes on.

    Example: watch = Watch(300.0); watch.check()
    """

    seconds: float = math.inf
    shrinking: float = 0.7
    allowance: float = 4.0
    stopped: str = ""
    interrupted: bool = False
    _started: float = field(default_factory=time.monotonic)
    _until: float = math.inf

    def allow(self) -> None:
        """Begin the search of one case, which has the allowance anew."""
        self._until = time.process_time() + self.allowance

    def allow_all(self) -> None:
        """End the search of a case: what follows has no allowance."""
        self._until = math.inf

    def check(self, share: float = 1.0) -> None:
        """Raise DiagnosisStopped where the search is over, or has taken this share of its seconds.

        Raise AllowanceOver where the search of one case has taken what it may.
        """
        if self.stopped:
            raise DiagnosisStopped(self.stopped)
        if time.monotonic() - self._started > share * self.seconds:
            raise DiagnosisStopped(f"{OVER} after {self.seconds:g} s")

        if time.process_time() > self._until:
            raise AllowanceOver(f"the search for a smaller case stopped after {self.allowance:g} s of the processor")

    def stop(self, why: str, interrupted: bool = False) -> None:
        """End the search; what is looked for from now on is not found."""
        self.stopped = self.stopped or why
        self.interrupted |= interrupted
