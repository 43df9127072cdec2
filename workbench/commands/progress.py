"""The progress of long commands on standard error: a bar on a terminal, elsewhere a line now and then."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from cerify.console import screen
from cerify.semantics.packages import naming_extras
from cerify.terminal import echo, ending_signals, printable

if TYPE_CHECKING:
    from rich.progress import Progress

EVERY = 20.0  # seconds between two lines where there is no terminal

Report = Callable[[str, int, int], None]
"""Called with the name of a step, how much of it is done, and how much there is."""


def progress_bar(transient: bool = True) -> Progress:
    """A bar on standard error with a description, how much is done of how much, and the time taken.

    It is gone in the end where it is transient. Raises MissingPackage.
    """
    with naming_extras():
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = screen(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=transient, disable=not console.is_terminal)


@contextmanager
def progress(every: float = EVERY) -> Iterator[Report]:
    """What shows how far the work is: with a bar on a terminal, which is gone in the end, and else with lines."""
    with progress_bar() as bar:
        task = bar.add_task("starting", total=None)
        last = time.monotonic()

        def report(what: str, done: int, total: int) -> None:
            nonlocal last
            bar.update(task, description=what, completed=done, total=total)
            if bar.disable and time.monotonic() - last >= every:
                last = time.monotonic()
                echo(f"cerify: {printable(what)}: {done:,} of {total:,}", error=True)

        yield report


@contextmanager
def interruptible() -> Iterator[None]:
    """While it is open, SIGTERM and SIGHUP are a KeyboardInterrupt: what was found until then is reported."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    before = {number: signal.signal(number, interrupt) for number in ending_signals()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
