"""Run cases on an engine under test, and replace its process when it dies, hangs or breaks the protocol.

An engine under test may hang, flood its pipes, detach processes, or answer twice. So it runs in a session of its own,
threads read and write its pipes, and one failure costs a restart instead of the run. Restarts are few and slow. Queries
that would probably cost another one are therefore not run, and the report says so (`Losses`).
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import queue
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import combinations, count
from typing import IO, Any, Literal, NoReturn, TypeAlias

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.conformance import sql
from cerify.conformance.cases import Claims, claims_of_json, tree_of_text
from cerify.conformance.model import Case, CaseResult, Outcome, query_of
from cerify.conformance.prediction import INTERPRETATIONS
from cerify.equivalence.differential import WROTE
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import Match
from cerify.semantics.json_events import parse_json
from cerify.semantics.packages import psutil

# ---------------------------------------------------------------------------------------------------------------------
# An engine's process: lines in and out, with limits on time, memory and output, and nothing left running after it.
#
# On Linux this process becomes the parent of processes that an engine detaches (prctl(2), PR_SET_CHILD_SUBREAPER),
# so that a daemon that forked twice is found and killed too.

LONGEST_LINE = 64 * 2**20  # bytes; an answer of ten million positions has fewer
SOON = 0.005  # seconds between checks whether killed processes have ended
WAITING_LINES = 4  # lines read ahead; a flood then waits in the pipe
KEPT_STDERR = 4096  # characters kept of the beginning, and of the end
SHOWN_STDERR = 500  # characters shown of each
POLL = 0.05  # seconds between two looks at the process and its memory
KILLED = 5.0  # seconds within which a killed process has ended, also on a busy machine
GRACE = 0.2  # seconds in which the last words of a process that has ended may still arrive
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of prctl(2)
MARK = "CERIFY_ENGINE"  # the variable of the environment that an engine's processes inherit
STARTED = count()

Cause = Literal["crashed", "timeout", "memory", "protocol"]


@dataclass(frozen=True)
class Limits:
    """The limits for an engine: seconds for its start and for each answer, bytes of resident memory, restarts."""

    start_seconds: float = 60.0
    run_seconds: float = 10.0
    memory: int = 2 * 2**30
    restarts: int = 10


class EngineFailure(Exception):
    """Raised if the engine gave no usable answer; its process must then be replaced by a new one."""

    def __init__(self, cause: Cause, detail: str) -> None:
        super().__init__(detail)
        self.cause = cause
        self.detail = detail


class Excerpt:
    """The beginning and the end of a text that arrives in pieces."""

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Remove the text."""
        self._begin, self._end = "", ""
        self._left_out = False

    def add(self, text: str) -> None:
        """Add a piece of text. Only the beginning and the end of the whole text are stored."""
        room = KEPT_STDERR - len(self._begin)
        end = self._end + text[room:]
        self._begin, self._end = self._begin + text[:room], end[-KEPT_STDERR:]
        self._left_out |= len(end) > KEPT_STDERR

    def text(self) -> str:
        """Return the text, or its first and last lines with "..." between them; overlong lines are cut."""
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
    """A started process that answers line by line. Close it, or use it as a context."""

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
                # A session of its own, so that one signal reaches the engine and its children, and Ctrl-C does not
                # reach them.
                start_new_session=True,
                env=os.environ | {MARK: self._mark},
            )
        except OSError as error:
            hint = ""
            if isinstance(error, FileNotFoundError) and " " in argv[0]:
                hint = "; pass the program and its arguments as separate words, without quotation marks around them all"
            raise InputError(f"the engine cannot be started: {argv[0]}: {error.strerror or error}{hint}") from None
        self._lines: queue.Queue[bytes | EngineFailure | None] = queue.Queue(WAITING_LINES)
        self._to_write: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._sent = threading.Event()  # set when everything is written
        self._stderr = Excerpt()
        self._closed = False
        self._family: set[psutil.Process] = set()  # descendants seen so far
        self._looked = 0.0
        self._drainer = threading.Thread(target=self._drain, daemon=True)
        self._drainer.start()
        # Writing has a thread too: an engine that does not read would block this process on a full pipe.
        for work in (self._read_output, self._write):
            threading.Thread(target=work, daemon=True).start()

    def ask(self, text: str, seconds: float, meanwhile: Callable[[], object] | None = None) -> bytes:
        """Send a line and return the next line of the answer. Raises EngineFailure. meanwhile: called after sending."""
        # A line that is there already cannot be the answer to this question.
        if (early := self.early()) is not None:
            raise EngineFailure("protocol", f"wrote a line that answers no request: {excerpt(early)}")
        self._stderr.clear()
        self._sent.clear()
        self._to_write.put(text.encode() + b"\n")
        deadline = time.monotonic() + seconds
        if meanwhile is not None:
            # The line must be out first, so that the engine works while the next case is prepared.
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
        """Return a line that the engine sends within these seconds without a request; None if it sends nothing.

        Raises EngineFailure.
        """
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
        """Send a line that has no answer."""
        self._to_write.put(text.encode() + b"\n")

    def wait(self, seconds: float) -> int | None:
        """Return the exit status; None if the process still runs after the seconds."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def stderr(self) -> str:
        """Return the beginning and the end of what the engine wrote to standard error since the last question or its
        start.

        Some runtimes print the message of an error at the top, others at the bottom.
        """
        return self._stderr.text()

    def last_words(self) -> str:
        """Return the recent standard error as the end of a message; "" if there is none."""
        words = self.stderr()
        return f"; on its standard error: {words}" if words else ""

    def close(self) -> None:
        """End the process and all its child processes."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(psutil.Error):
            # Before the kill: children of a process that has ended can no longer be found through it.
            self._family.update(psutil.Process(self._process.pid).children(recursive=True))
        if hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        # Also without `killpg`, and if the engine has left its process group.
        self._process.kill()
        self._process.wait()
        if left := self._ended(KILLED):
            pids = ", ".join(str(child.pid) for child in left)
            warnings.warn(f"the engine has left processes that cannot be ended: {pids}", stacklevel=2)
        self._to_write.put(None)
        with contextlib.suppress(
            queue.Empty
        ):  # make room for a reader thread that waits to queue a line, so that it ends
            while True:
                self._lines.get_nowait()

    def _ended(self, seconds: float) -> list[psutil.Process]:
        """Kill all processes that the engine has started; return those that still run after the seconds.

        The system hands the children of a process to this process only after their parent has ended. So the processes
        to wait for are listed again and again.
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
        """Return the processes that the engine detached and this process adopted, with their children.

        Other children of this process are left out: an adopted process was seen below the engine earlier, or has the
        engine's mark in its environment.
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
        # The pipe may close a moment before the process ends; its status belongs into the message.
        status = self.wait(1.0)
        self._drainer.join(GRACE)
        how = f"by signal {-status}" if status is not None and status < 0 else f"with status {status}"
        raise EngineFailure("crashed", f"the process ended {how} before it answered{self.last_words()}")

    def _look(self) -> None:
        """Find the processes that the engine has started and their memory, unless that was done just now."""
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

    def _read_output(self) -> None:
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
                return  # the process has ended, as the reader of its output will notice
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
    """Make this process the parent of processes that its descendants detach, if the system can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)


def excerpt(text: bytes) -> str:
    """Return the beginning of a line, for a message."""
    shown = text.decode(errors="replace").strip()
    return shown if len(shown) <= 200 else shown[:200] + "…"


# ---------------------------------------------------------------------------------------------------------------------
# Queries on which an engine hangs or crashes, so that a run does not spend all its restarts on them.

HANGS = 2  # time-outs of queries with the same operators, after which such queries are skipped
LONG = 32  # nodes of the tree of a query; where one of so many exceeds the time limit, longer ones are skipped
LOST = 3  # unanswered queries with an operator, or with two, after which such queries are skipped if none was answered

Part: TypeAlias = tuple[str, ...]
"""The name of one operator, or the names of two."""


@dataclass
class Losses:
    """The queries that an engine answered, and the operators of the queries on which it timed out or crashed.

    skips: whether to skip queries that the engine will probably not answer. A query is skipped if two queries with the
    same operators exceeded the time limit, or if it has an operator or a pair of operators for which no query was ever
    answered. `skips` is False while cases are shrunk or generated, because another case with the same operators may be
    answered. long: for each set of operators, the size of the smallest query of LONG nodes or more that exceeded the
    time limit; a larger one is never run. Such a time-out says nothing about short queries.
    """

    skips: bool = False
    hung: Counter[str] = field(default_factory=Counter)
    lost: dict[Part, list[str]] = field(default_factory=dict)
    losing: list[set[Part]] = field(default_factory=list)
    answered: Counter[Part] = field(default_factory=Counter)
    unread: set[tuple[str, str]] = field(default_factory=set)
    long: dict[str, int] = field(default_factory=dict)

    def answer(self, case: Case) -> None:
        """Record that the engine answered a case. Its query is parsed later, if the engine fails on some case."""
        self.unread.add((case.language, case.query))

    def lose(self, case: Case, cause: Cause, detail: str) -> None:
        """Record that the engine had to be stopped on a case, and why."""
        names, size = operators_of(case), size_of(case)
        if cause == "timeout" and size >= LONG:
            self.long[names] = min(size, self.long.get(names, size))
        else:
            self.hung[names] += cause == "timeout"
        self.losing.append({part for part in parts(case.language, case.query) if len(part) == 1})
        for part in parts(case.language, case.query):
            self.lost.setdefault(part, []).append(detail)

    def why_not(self, case: Case, scarce: bool = False) -> str | None:
        """Return the reason not to run a case on which the engine will probably crash or time out; None if it should be
        run.

        scarce: whether few restarts are left. Then a query is not run if it has any operator of a query on which the
        engine crashed or timed out.
        """
        if not self.lost:
            return None
        for name in self.suspects() if scarce else ():
            if (name,) in parts(case.language, case.query):
                return f"not run, because queries with {name} had no answer, and few restarts are left"
        names = operators_of(case)
        if size_of(case) >= self.long.get(names, math.inf):
            return f"not run, because a shorter query with {names or 'no operators'} exceeded the time limit"
        if not self.skips:
            return None
        if self.hung[names] >= HANGS:
            return f"not run, because {HANGS} queries with {names or 'no operators'} exceeded the time limit"
        self._count_answered()
        for part in parts(case.language, case.query):
            lost = self.lost.get(part, [])
            if len(lost) >= LOST and part not in self.answered:
                return f"not run, because {len(lost)} queries with {' and '.join(part)} had no answer: {lost[-1]}"
        return None

    def suspects(self) -> list[str]:
        """Return a few operators that explain all crashes and time-outs: each query that was lost has one of them.

        Operators whose queries were lost most often come first. An operator that occurs in all queries explains
        nothing.
        """
        self._count_answered()
        every = self.answered[()] + len(self.losing)
        of_all = {p for p in self.lost if sum(p in some for some in self.losing) + self.answered[p] == every}
        found, left = set[Part](), [some - of_all for some in self.losing]
        while left := [some for some in left if some and found.isdisjoint(some)]:
            number = Counter(part for some in left for part in some)
            # One more in the divisor, so that several losses weigh more than a single one; sorted, so that a tie has
            # one outcome.
            found.add(max(sorted(number), key=lambda part: number[part] / (number[part] + self.answered[part] + 1)))
        return sorted(name for (name,) in found)

    def _count_answered(self) -> None:
        while self.unread:
            self.answered.update([(), *parts(*self.unread.pop())])


@lru_cache(maxsize=10_000)
def parts(language: str, text: str) -> tuple[Part, ...]:
    """Return the operators of a query, each as a tuple of one, and all pairs of them.

    The name of a window includes the kind of its attribute, as in within-time.
    """
    query = query_of(language, text)
    names = set(LANGUAGES[language].syntax.constructs(query))
    if language in INTERPRETATIONS:
        names |= INTERPRETATIONS[language].operators(query)
    exact = sorted(name for name in names if not any(other.startswith(f"{name}-") for other in names))
    return (*((name,) for name in exact), *combinations(exact, 2))


def operators_of(case: Case) -> str:
    """Return the names of the operators of a case's query, as text."""
    return ", ".join(sorted(LANGUAGES[case.language].syntax.constructs(query_of(case.language, case.query))))


def size_of(case: Case) -> int:
    """Return the number of nodes in the tree of a case's query."""
    return LANGUAGES[case.language].syntax.size(query_of(case.language, case.query))


STOP_SECONDS = 2.0
LONGEST_START = 2**16  # bytes of the answer to start, whose names and claims are kept in memory
WRONG_MATCHES = 30_000  # characters of JSON; more unexpected matches of an answer are left out


@dataclass(frozen=True)
class ProtocolBreach:
    """A line that answers a case but breaks the protocol."""

    detail: str


class Engine:
    """The process of an engine, which runs cases; a context manager, so that no process is left behind.

    The first start has to succeed (InputError otherwise). Each later start is a restart. After limits.restarts
    restarts, including `restarts` earlier ones, no more cases are run. twice: for each case id, a message about a
    second answer to the case, which is noticed only at the next case or at the end. losses: the queries on which
    engines of the same command timed out or crashed; these engines share the record.
    """

    def __init__(
        self, argv: Sequence[str], limits: Limits = Limits(), restarts: int = 0, losses: Losses | None = None
    ) -> None:
        self.argv = argv
        self.limits = limits
        self.restarts = restarts
        self.twice: dict[str, str] = {}
        self._answered: set[str] = set()  # ids of the cases that this process has answered
        self.losses = Losses() if losses is None else losses
        self._translation = ""  # of the last answer
        self._then: Case | None = None
        self._prepared: tuple[Case, str] | None = None
        self._reading = Budget(seconds=limits.run_seconds)
        self._process: EngineProcess | None = None
        try:
            self.info = self._start()
        except BaseException as error:  # also an interrupt: no context is entered yet that would close
            self.close()
            if not isinstance(error, EngineFailure):
                raise
            detail = error.detail.replace("\n", "\n  ")  # indented, so that it cannot forge a line of the message
            raise InputError(f"the engine did not start: {' '.join(argv)}: {detail}") from None

    def why_not(self, case: Case, kept: int) -> str | None:
        """Return the reason not to run a case on which the engine will probably crash or time out; None if it should be
        run.

        kept: restarts to save for other cases. If fewer are left, a query is not run if it has any operator of a query
        on which the engine crashed or timed out.
        """
        return self.losses.why_not(case, scarce=self.limits.restarts - self.restarts < kept)

    def run(self, case: Case, then: Case | None = None) -> CaseResult:
        """Return the result of a case, with only a few of the wrong matches; see `answer`."""
        return _limit_wrong_matches(self.answer(case, then))

    def answer(self, case: Case, then: Case | None = None) -> CaseResult:
        """Return the result of a case, with the output that the engine claims.

        then: the next case, if known. Its message is prepared while the engine works on this one.
        """
        self._then = then
        claims = claims_of_json(self.info.claims, case.language)
        case = claims.restrict_case(case)
        self._translation = ""
        started = time.perf_counter()
        outcome, detail, matches = self._outcome(case, claims)
        seconds = time.perf_counter() - started
        if outcome == "passed":
            return CaseResult(case, outcome, matches, detail, seconds)
        stderr = self._process.stderr() if self._process is not None else ""
        return CaseResult(case, outcome, matches, detail, seconds, stderr=stderr, translation=self._translation)

    def _outcome(self, case: Case, claims: Claims) -> tuple[Outcome, str, Sequence[Match] | None]:
        """Return the outcome of a case, the reason, and the matches if there are some."""
        if case.language not in self.info.languages:
            return "skipped", f"the engine does not support the language {case.language}", None
        if unclaimed := claims.why_not(case):
            return "skipped", unclaimed, None
        if self.losses.skips and (why_not := self.why_not(case, self.limits.restarts // 2)) is not None:
            return "not_run", why_not, None
        try:
            self._require_silence()
            answer = None
            # None if the line answered an earlier case again. The process has then been ended, and a new one gets the
            # question.
            while answer is None:
                if self._process is None:
                    if self.restarts >= self.limits.restarts:
                        why = f"the engine was restarted {self.restarts} times, which is the limit"
                        return "not_run", why, None
                    self.restarts += 1
                    self._start()
                answer = self._ask(case)
        except EngineFailure as error:
            self.losses.lose(case, error.cause, error.detail)
            self.close()
            return error.cause, error.detail, None
        self.losses.answer(case)
        match answer:
            case protocol.Skipped(why, link):
                return "skipped", f"{why} ({link})" if link else why, None
            case protocol.Failed("unsupported", message):
                return "skipped", f"unsupported: {message}", None
            case protocol.Failed(code, message):
                return "error", f"{code}: {message}", None
            case protocol.MatchesAnswer(matches, problem):
                # Sets, because the order of matches is free; an answer with repetitions has a `problem`.
                right = set(matches) == set(case.matches) and not problem
                return "passed" if right else "failed", problem, matches
            case ProtocolBreach(detail):
                return "protocol", detail, None

    def close(self) -> None:
        """Kill the engine's process."""
        if self._process is not None:
            self._process.close()
            self._process = None

    def stop(self) -> None:
        """Send the engine a stop message, and kill it if it does not exit."""
        if self._process is not None:
            self._process.tell(protocol.line({"cmd": "stop"}))
            self._process.wait(STOP_SECONDS)
            with contextlib.suppress(EngineFailure):
                self._require_silence(GRACE)
        self.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _require_silence(self, seconds: float = 0.0) -> None:
        """Read a second answer to an earlier case, if the engine sent one. Raises EngineFailure for any other line."""
        if self._process is None or (text := self._process.early(seconds)) is None:
            return
        with contextlib.suppress(InputError):
            if self._is_second(protocol.parse_message(text, "answer"), text):
                return
        raise EngineFailure("protocol", f"wrote a line that answers no request: {excerpt(text)}")

    def _is_second(self, answer: dict[str, Any], text: bytes) -> bool:
        """Return whether a line answers an earlier case again. If it does, end the process, because it may send more
        lines.
        """
        if answer["id"] not in self._answered:
            return False
        self.twice[answer["id"]] = f"answered twice; the second time it wrote: {excerpt(text)}"
        self.close()
        return True

    def _start(self) -> protocol.EngineInfo:
        self._process = EngineProcess(self.argv, self.limits)
        self._answered.clear()
        message = protocol.line({"cmd": "start", "protocol": protocol.PROTOCOL})
        text = self._process.ask(message, self.limits.start_seconds)
        if len(text) > LONGEST_START:
            raise EngineFailure("protocol", f"its answer to start has {len(text):,} bytes, more than {LONGEST_START:,}")
        try:
            return protocol.info_of_json(protocol.parse_message(text, "started", "the answer to start"))
        except InputError as error:
            raise EngineFailure("protocol", _wrong(error, text)) from None

    def _ask(self, case: Case) -> protocol.Answer | ProtocolBreach | None:
        """Return the answer; None if a second answer to an earlier case came in its place. Raises EngineFailure.

        A line that answers the case but is invalid gives a ProtocolBreach, and the process goes on.
        """
        assert self._process is not None
        text = self._process.ask(self._message(case), self.limits.run_seconds, self._prepare)
        try:
            with self._reading.timed():
                return self._parse_answer(case, text)
        except BudgetExceeded:
            why = f"its answer of {len(text):,} bytes takes more than {self.limits.run_seconds:g} s to read"
            raise EngineFailure("timeout", why) from None
        except MemoryError:
            why = f"its answer of {len(text):,} bytes takes more memory to read than there is"
            raise EngineFailure("memory", why) from None

    def _message(self, case: Case) -> str:
        """Return the line that sends a case to the engine; it may have been prepared before."""
        prepared, self._prepared = self._prepared, None
        # The expected matches are not sent, so a case whose expectation has changed can use the line.
        if prepared is not None and replace(prepared[0], matches=case.matches) == case:
            return prepared[1]
        return protocol.line(message_of(case))

    def _prepare(self) -> None:
        """Prepare the line that sends the next case."""
        if (case := self._then) is not None and case.language in self.info.languages:
            case = claims_of_json(self.info.claims, case.language).restrict_case(case)
            self._prepared = case, protocol.line(message_of(case))

    def _parse_answer(self, case: Case, text: bytes) -> protocol.Answer | ProtocolBreach | None:
        """Return the answer in a line; None if it answers an earlier case again.

        Raises EngineFailure, BudgetExceeded.
        """
        try:
            obj = parse_json(text, "the answer")
            if not isinstance(obj, dict) or obj.get("id") != case.id:
                if self._is_second(protocol.checked(obj, "answer", "the answer"), text):
                    return None
                raise InputError(f"the answer has the id {obj['id']!r}, but the question has {case.id!r}")
        except InputError as error:
            raise EngineFailure("protocol", _wrong(error, text)) from None
        self._answered.add(case.id)
        try:
            answer = protocol.checked(obj, "answer", "the answer")
            self._translation = protocol.bounded(answer.get("translation", ""))
            if "tables" in answer:
                answer = sql.answer(case, answer["tables"])
            return protocol.answer_of_json(answer, case.output, len(case.events))
        except InputError as error:
            return ProtocolBreach(_wrong(error, text))


def _wrong(error: InputError, text: bytes) -> str:
    """Return a message with the error in a line and the beginning of that line."""
    return f"{protocol.bounded(error.message)}{WROTE}{excerpt(text)}"


def _limit_wrong_matches(result: CaseResult) -> CaseResult:
    """Return the result with all expected matches, and at most WRONG_MATCHES of its wrong matches."""
    matches, expected, room = result.matches or (), set(result.case.matches), WRONG_MATCHES
    kept = []
    for match in matches:
        if match not in expected and room >= 0:
            room -= len(protocol.line(match.json()))
        if match in expected or room >= 0:
            kept.append(match)
    if len(kept) == len(matches):
        return result
    left_out = f"{len(matches) - len(kept):,} of its wrong matches are left out here"
    return replace(result, matches=kept, detail="; ".join(part for part in (result.detail, left_out) if part))


def message_of(case: Case) -> dict[str, Any]:
    """Return the run message of a case."""
    tree, in_sql = tree_of_text(case.language, case.query), sql.message(case)
    return {
        "cmd": "run",
        "id": case.id,
        "language": case.language,
        "query": case.query,
        **({} if tree is None else {"tree": tree}),
        **({} if in_sql is None else {"sql": in_sql}),
        **({} if case.schema is None else {"schema": case.schema}),
        "events": list(case.events),
        "output": case.output,
        **({} if case.consumption is Consumption.NONE else {"consumption": case.consumption.value}),
    }
