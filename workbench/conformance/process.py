"""An engine's process: lines in and out, with limits on time, memory and output, and nothing left running after it.

On Linux this process becomes the parent of what an engine detaches from itself (prctl(2), PR_SET_CHILD_SUBREAPER), so
that a daemon that forked twice is found and killed too.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import IO, Literal, NoReturn

from cerify.semantics.errors import InputError
from cerify.semantics.packages import psutil

LONGEST_LINE = 64 * 2**20  # bytes; an answer of ten million positions has fewer
SOON = 0.005  # seconds until one looks again whether killed processes have ended
WAITING_LINES = 4  # lines read ahead; a flood then waits in the pipe
KEPT_STDERR = 4096  # characters, of the beginning and of the end
SHOWN_STDERR = 500  # the same, as they are shown
POLL = 0.05  # seconds between two looks at the process and its memory
KILLED = 5.0  # seconds within which a killed process has ended, also on a busy machine
GRACE = 0.2  # seconds in which the last words of a process that has ended may still arrive
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
MARK = "CERIFY_ENGINE"  # the variable of the environment that an engine's processes inherit
STARTED = count()

Cause = Literal["crashed", "timeout", "memory", "protocol"]


@dataclass(frozen=True)
class Limits:
    """What an engine may use: seconds for its start and for each answer, bytes of resident memory, restarts."""

    start_seconds: float = 60.0
    run_seconds: float = 10.0
    memory: int = 2 * 2**30
    restarts: int = 10


class EngineFailure(Exception):
    """The engine did not answer; after this its process has to be replaced."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


class Excerpt:
    """The beginning and the end of a text that arrives in pieces."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Forget what was added."""
        self._begin, self._end = "", ""
        self._left_out = False

    def add(self, text: str) -> None:
        """Add a piece."""
        room = KEPT_STDERR - len(self._begin)
        end = self._end + text[room:]
        self._begin, self._end = self._begin + text[:room], end[-KEPT_STDERR:]
        self._left_out |= len(end) > KEPT_STDERR

    def text(self) -> str:
        """The text, or its first and its last lines with "..." between them; a line too long for that is cut."""
        between = "\n...\n" if self._left_out else ""
        whole = (self._begin + between + self._end).strip()
        if len(whole) <= 2 * SHOWN_STDERR:
            return whole
        begin, end = whole[:SHOWN_STDERR], whole[-SHOWN_STDERR:]
        first = begin.rpartition("\n")[0] if whole[SHOWN_STDERR] != "\n" else begin
        last = end.partition("\n")[2] if whole[-SHOWN_STDERR - 1] != "\n" else end
        return f"{first or begin}\n...\n{last or end}"


def _runs(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


class EngineProcess:
    """A started process, spoken to line by line. Close it, or use it as a context."""

    def __init__(self, argv: Sequence[str], limits: Limits) -> None:
        self.limits = limits
        self._mark = f"{os.getpid()}.{next(STARTED)}"
        _adopt_orphans()
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                env=os.environ | {MARK: self._mark},
            )
        except OSError as error:
            hint = ""
            if isinstance(error, FileNotFoundError) and " " in argv[0]:
                hint = "; give the program and its arguments apart, without quotation marks around them all"
            raise InputError(f"the engine cannot be started: {argv[0]}: {error.strerror or error}{hint}") from None
        self._lines: queue.Queue[bytes | EngineFailure | None] = queue.Queue(WAITING_LINES)
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sent = threading.Event()  # set when all that was to be written is written
        self._stderr = Excerpt()
        self._closed = False
        self._family: set[psutil.Process] = set()  # all that the process has started, as far as it was seen
        self._looked = 0.0
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        self._drainer.start()
        for work in (self._read, self._write):
            threading.Thread(target=work, daemon=True).start()

    def ask(self, text: str, seconds: float, meanwhile: Callable[[], object] | None = None) -> bytes:
        """The next line after this one was sent. Raises EngineFailure. meanwhile: is called when it has been sent."""
        if (early := self.early()) is not None:
            raise EngineFailure("protocol", f"wrote a line that nobody asked for: {excerpt(early)}")
        self._stderr.clear()
        self._sent.clear()
        self._to_write.put(text.encode() + b"\n")
        deadline = time.monotonic() + seconds
        if meanwhile is not None:
            self._sent.wait(min(POLL, seconds))
            meanwhile()
        while True:
            line = self._next_line(min(POLL, deadline - time.monotonic()))
            if isinstance(line, bytes):
                self._look()
                return line
            if line != "nothing":
                self._fail(line)
            self._look()
            if self._process.poll() is not None:  # a child may hold the pipe open, so that its end is not seen
                line = self._next_line(GRACE)
                if isinstance(line, bytes):
                    return line
                self._fail(None if line == "nothing" else line)
            if time.monotonic() >= deadline:
                raise EngineFailure("timeout", f"no answer within {seconds:g} s{self.last_words()}")

    def early(self, seconds: float = 0.0) -> bytes | None:
        """A line that is there, or comes within the seconds, though nothing was asked. Raises EngineFailure."""
        line = self._next_line(seconds)
        if line is None or isinstance(line, EngineFailure):
            self._fail(line)
        return None if line == "nothing" else line

    def _next_line(self, seconds: float) -> bytes | EngineFailure | Literal["nothing"] | None:
        try:
            return self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return "nothing"

    def tell(self, text: str) -> None:
        """Send a line that is not answered."""
        self._to_write.put(text.encode() + b"\n")

    def wait(self, seconds: float) -> int | None:
        """The exit status, None if the process goes on for longer than the seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stderr(self) -> str:
        """The beginning and the end of what the process wrote on standard error since the last question, or its start.

        Some runtimes print the message of an error at the top, others at the bottom.
        """
        return self._stderr.text()

    def last_words(self) -> str:
        """The same, as part of a message."""
        words = self.stderr()
        return f"; on its standard error: {words}" if words else ""

    def close(self) -> None:
        """End the process and all that it has started."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(psutil.Error):
            self._family.update(psutil.Process(self._process.pid).children(recursive=True))
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        if left := self._ended(KILLED):
            pids = ", ".join(str(child.pid) for child in left)
            warnings.warn(f"the engine has left processes that cannot be ended: {pids}", stacklevel=2)
        self._to_write.put(None)
        with contextlib.suppress(queue.Empty):  # a reader that waits to hand on a line finds room, and then the end
            while True:
                self._lines.get_nowait()

    def _ended(self, seconds: float) -> list[psutil.Process]:
        """Kills all that the engine has started; what still runs after the seconds.

        A killed process is adopted only when its parent has ended too, so what there is to wait for changes on the way.
        """
        deadline = time.monotonic() + seconds
        while True:
            detached = self._adopted()
            self._family |= detached
            for child in self._family:
                with contextlib.suppress(psutil.Error):
                    child.kill()
            psutil.wait_procs(detached, max(0.0, deadline - time.monotonic()))
            left = [child for child in self._family if _runs(child)]
            if not left or time.monotonic() >= deadline:
                return left
            time.sleep(SOON)

    def _adopted(self) -> set[psutil.Process]:
        """What the engine has detached from itself and this process has adopted, with its children.

        It is distinguished from other children of this process by having been seen below the engine, or by the engine's
        mark in its environment.
        """
        found: set[psutil.Process] = set()
        for child in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if child in self._family or child.environ().get(MARK) == self._mark:
                    found |= {child, *child.children(recursive=True)}
        return found

    def __enter__(self) -> EngineProcess:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fail(self, end: EngineFailure | None) -> NoReturn:
        if end is not None:
            raise end
        status = self.wait(1.0)
        self._drainer.join(GRACE)
        how = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
        raise EngineFailure("crashed", f"the process ended {how} before it answered{self.last_words()}")

    def _look(self) -> None:
        """See what the process has started and what memory it all uses, unless that was just seen."""
        if time.monotonic() - self._looked < POLL:
            return
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(self._process.pid)
            children = process.children(recursive=True)
            self._family.update(children)
            used = sum(p.memory_info().rss for p in (process, *children))
            if used > self.limits.memory:
                cap = self.limits.memory / 2**20
                raise EngineFailure("memory", f"used {used / 2**20:.0f} MiB of memory; the cap is {cap:.0f} MiB")
        self._looked = time.monotonic()

    def _read(self) -> None:
        out = self._pipe(self._process.stdout)
        while True:
            line = out.readline(LONGEST_LINE)
            if not line:
                break
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                self._lines.put(EngineFailure("protocol", f"wrote a line of more than {LONGEST_LINE} bytes"))
                break
            if line.strip():
                self._lines.put(line)
        self._lines.put(None)

    def _write(self) -> None:
        into = self._pipe(self._process.stdin)
        while (text := self._to_write.get()) is not None:
            try:
                into.write(text)
                into.flush()
                self._sent.set()
            except (OSError, ValueError):
                return  # the process is gone, which its output will tell
        with contextlib.suppress(OSError):
            into.close()

    def _drain(self) -> None:
        for chunk in iter(lambda: self._pipe(self._process.stderr).read1(4096), b""):  # type: ignore[attr-defined]
            self._stderr.add(chunk.decode(errors="replace"))

    @staticmethod
    def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
        assert stream is not None
        return stream


def _adopt_orphans() -> None:
    """Make this process the parent of what its descendants detach from themselves, where the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def excerpt(text: bytes) -> str:
    """The beginning of a line, for a message."""
    shown = text.decode(errors="replace").strip()
    return shown if len(shown) <= 200 else shown[:200] + "…"
