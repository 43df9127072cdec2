"""Each fault, done to some work: what came of it in a few words, or an AssertionError."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random

import psutil

from proofs_tests.faults.works import Work

MARK = "CERIFY_FAULTS"  # in the environment of all that is started, so that what is left is found
GONE = 20.0  # seconds within which what a killed command has started has ended
LONGEST = 600.0  # seconds for a call that is not killed
DROP, OVERRIDE = 24, 1  # PR_CAPBSET_DROP of prctl(2), CAP_DAC_OVERRIDE
PAGE = 4096  # bytes; a tmpfs counts in pages
UNSHARE = ("unshare", "--map-root-user", "--mount")
SMALL_DISK = """
kept=$1.kept folder=$1 size=$2
cp -a "$folder" "$kept" && mount -t tmpfs -o size="$size" tmpfs "$folder" && cp -a "$kept/." "$folder" || exit 99
shift 2
"$@"
status=$?
rm -r "$kept" && cp -a "$folder" "$kept" || exit 98
exit $status
"""  # a folder becomes a file system of some bytes while a command runs; what it holds then is in FOLDER.kept
JUMPS = """
import random, time
now, now_ns, jump = time.time, time.time_ns, lambda: random.choice((0, 3600, -3600, 10**8, -10**8))
time.time, time.time_ns = lambda: now() + jump(), lambda: now_ns() + 10**9 * jump()
"""


@dataclass(frozen=True)
class Call:
    """A process under way, and the files of its output."""

    process: subprocess.Popen[bytes]
    out: Path
    err: Path

    def ended(self, seconds: float = LONGEST) -> int | None:
        """The exit status; None if it runs for longer."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    @property
    def message(self) -> str:
        """What it wrote on standard error."""
        return self.err.read_text(encoding="utf-8", errors="replace")


@dataclass(frozen=True)
class Whole:
    """The result of a call, its seconds, and the pages of its folder."""

    found: object
    seconds: float
    pages: int


class Trial:
    """A work, what an undisturbed call of it leads to, and how long that takes."""

    def __init__(self, work: Work, place: Path, seed: int) -> None:
        self.work, self.place, self.rng = work, place, Random(seed)
        self.mark = f"{os.getpid()}.{id(self)}"
        self.number = 0

    @cached_property
    def undisturbed(self) -> Whole:
        """What came of a call that nothing disturbs."""
        folder, began = self.folder(), time.monotonic()
        found = self.whole(folder)
        return Whole(found, time.monotonic() - began, pages(folder))

    def folder(self) -> Path:
        """A new folder."""
        self.number += 1
        folder = self.place / str(self.number)
        folder.mkdir()
        self.work.prepare(folder)
        return folder

    def start(
        self,
        folder: Path,
        env: dict[str, str] | None = None,
        limit: Callable[[], None] | None = None,
        out: Path | None = None,
        slow: bool = False,
        before: Sequence[str] = (),
    ) -> Call:
        """Begin a call. limit: what the process does before it becomes the command. before: a command that runs it."""
        self.number += 1
        out, err = out or self.place / f"{self.number}.out", self.place / f"{self.number}.err"
        argv = self.work.with_slow_engine if slow else self.work.argv
        assert argv is not None
        with out.open("w") as output, err.open("w") as errors:
            process = subprocess.Popen(
                [*before, *argv(folder)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                env=os.environ | {MARK: self.mark} | (env or {}),
                preexec_fn=limit,
                start_new_session=True,
            )
        return Call(process, out, err)

    def result(self, folder: Path, call: Call) -> object:
        """What a call that has ended has found. Raises AssertionError if it has failed."""
        status = call.ended()
        assert status in (0, 1), f"status {status}: {call.message[-500:]}"
        return self.work.found(folder, call.out.read_text(encoding="utf-8"))

    def whole(self, folder: Path) -> object:
        """What an undisturbed call in the folder finds."""
        return self.result(folder, self.start(folder))

    def require_same(self, found: object) -> None:
        """Raises AssertionError if it is not what an undisturbed call finds."""
        assert found == self.undisturbed.found, "the result differs from that of an undisturbed call"

    def require_refused(self, call: Call) -> None:
        """Raises AssertionError unless the call has ended with a message and status 2."""
        status, message = call.ended(), call.message
        assert status == 2, f"status {status}, not 2: {message[-300:]}"
        assert "Traceback" not in message, message[-500:]
        assert message.strip(), "no message"

    def require_none_left(self) -> None:
        """Raises AssertionError if a process that was started runs on; it is killed then."""
        deadline = time.monotonic() + GONE
        while (left := list(self.running())) and time.monotonic() < deadline:
            time.sleep(0.05)
        names = [" ".join(process.cmdline())[:80] for process in left if process.is_running()]
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        assert not left, f"still running: {names}"

    def running(self) -> Iterator[psutil.Process]:
        """All processes that were started and run."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get(MARK) == self.mark and process.status() != psutil.STATUS_ZOMBIE:
                    yield process


def killed(trial: Trial, kills: int) -> str:
    """A call is killed at a random moment, again and again; what is there then is always a part of the whole."""
    whole, folder, done = 0, trial.folder(), 0
    seconds = trial.undisturbed.seconds
    while done < kills:
        call = trial.start(folder)
        if call.ended(trial.rng.uniform(0, 1.1 * seconds)) is None:
            call.process.kill()
            call.ended()
            done += 1
            trial.require_none_left()
            trial.work.partial(folder)
        else:
            trial.require_same(trial.result(folder, call))
            whole += 1
            folder = trial.folder()
    trial.require_same(trial.whole(folder))
    return f"killed {done} times, {whole + 1} complete run{'s' * (whole > 0)}, all with the same result"


def pages(folder: Path) -> int:
    """How many pages of a tmpfs the files of a folder take."""
    return sum(-(-path.stat().st_size // PAGE) for path in folder.glob("**/*") if path.is_file())


def ended_with_room(trial: Trial, folder: Path, room: int) -> Call:
    """A call that has ended, whose folder was a file system of so many pages; what it wrote is in the folder."""
    call = trial.start(folder, before=(*UNSHARE, "sh", "-c", SMALL_DISK, "sh", str(folder), str(PAGE * room)))
    call.ended()
    shutil.rmtree(folder)
    folder.with_suffix(".kept").rename(folder)
    return call


def full(trial: Trial, times: int = 5) -> str:
    """The folder is a file system with too little room, and then standard output is full; the next call has room."""
    folder, refused = trial.folder(), 0
    few, whole = pages(folder), trial.undisturbed.pages
    limited = times if whole > few and subprocess.run([*UNSHARE, "true"], check=False).returncode == 0 else 0
    for _ in range(limited):
        there = pages(folder)
        call = ended_with_room(trial, folder, trial.rng.randint(there, max(there, whole)))
        if call.ended() in (0, 1):
            trial.require_same(trial.result(folder, call))
            folder = trial.folder()
        else:
            trial.require_refused(call)
            refused += 1
        trial.work.partial(folder)
    trial.require_refused(trial.start(folder, out=Path("/dev/full")))
    trial.require_same(trial.whole(folder))
    trial.require_none_left()
    return f"{refused + 1} of {limited + 1} calls with little room refused, all others the same"


def read_only(trial: Trial) -> str:
    """The folder may not be written to; then it may."""
    folder = trial.folder()
    folder.chmod(0o555)
    call = trial.start(folder, limit=lambda: ctypes.CDLL(None).prctl(DROP, OVERRIDE, 0, 0, 0))
    trial.require_refused(call)
    folder.chmod(0o755)
    trial.require_same(trial.whole(folder))
    return "refused, then the same"


def clock(trial: Trial) -> str:
    """Python's clock jumps hours and years to and fro."""
    site = trial.place / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(JUMPS)
    folder = trial.folder()
    trial.require_same(trial.result(folder, trial.start(folder, env={"PYTHONPATH": str(site)})))
    return "the same"


def slow(trial: Trial) -> str:
    """An engine answers some queries long after the limit."""
    folder = trial.folder()
    trial.result(folder, trial.start(folder, slow=True))
    trial.require_none_left()
    return "ended, with the time-outs"


def two(trial: Trial) -> str:
    """Two calls at once in one folder."""
    folder = trial.folder()
    calls = [trial.start(folder), trial.start(folder)]
    refused = [call for call in calls if call.ended() == 2]
    for call in refused:
        trial.require_refused(call)
        assert "another run" in call.message or "not empty" in call.message, call.message
    wanted = (0, 1) if trial.work.sole is None else (trial.work.sole,)
    assert len(refused) in wanted, f"{len(refused)} of two were refused"
    for call in calls:
        if call not in refused:
            trial.require_same(trial.result(folder, call))
    trial.require_none_left()
    return "one refused, the other the same" if refused else "both the same"


FAULTS: dict[str, Callable[[Trial], str]] = {
    "disk full": full,
    "read-only": read_only,
    "clock jumps": clock,
    "slow engine": slow,
    "two at once": two,
}


@contextmanager
def trial_of(work: Work, seed: int) -> Iterator[Trial]:
    """A trial in a folder of its own; nothing that it has started runs afterwards."""
    place = Path(tempfile.mkdtemp())
    trial = Trial(work, place, seed)
    try:
        yield trial
    finally:
        for process in trial.running():
            with suppress(psutil.Error):
                process.send_signal(signal.SIGKILL)
        shutil.rmtree(place, ignore_errors=True)


def outcome_of(trial: Trial, name: str, fault: Callable[[Trial], str]) -> tuple[str, bool]:
    """What came of a fault, and whether the work has survived it; "" where it does not concern the work."""
    if (name == "slow engine" and trial.work.with_slow_engine is None) or name in trial.work.untouched:
        return "", True
    if sys.platform != "linux":
        return "only on Linux", True
    try:
        return fault(trial), True
    except AssertionError as error:
        return f"**{error}**", False
