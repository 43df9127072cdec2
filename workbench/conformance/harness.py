"""An engine under test: it runs cases, and its process is replaced when it dies, hangs or breaks the protocol."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cerify import protocol
from cerify.automata.evaluator import Consumption
from cerify.conformance import sql
from cerify.conformance.claims import Claims, claims_of_json
from cerify.conformance.losses import Losses
from cerify.conformance.model import Case, Outcome, Result
from cerify.conformance.process import GRACE, EngineFailure, EngineProcess, Limits, excerpt
from cerify.conformance.query_tree import tree_of_text
from cerify.equivalence.differential.judge import WROTE
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import Match
from cerify.semantics.json_events import parse_json

STOP_SECONDS = 2.0
LONGEST_START = 2**16  # bytes of the answer to start, all of whose names and claims are kept
WRONG_MATCHES = 30_000  # characters of JSON of the matches that are kept of an answer beside the expected ones


@dataclass(frozen=True)
class Wrong:
    """A line that answers a case, and breaks the protocol otherwise."""

    detail: str


class Engine:
    """The process of an engine, which runs cases; a context manager, so that no process is left behind.

    The first start has to succeed (InputError otherwise). Later ones count as restarts, of which limits.restarts are
    allowed, those before this one included; after that a case is not run. twice has what is wrong with each case that
    was answered a second time, by its id: that is seen only when the next case is asked, or at the end. losses: which
    queries engines of the same command did not come back from, which is shared with others of them.
    """

    def __init__(
        self, argv: Sequence[str], limits: Limits = Limits(), restarts: int = 0, losses: Losses | None = None
    ) -> None:
        self.argv = argv
        self.limits = limits
        self.restarts = restarts
        self.twice: dict[str, str] = {}
        self._answered: set[str] = set()  # of this process
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
            detail = error.detail.replace("\n", "\n  ")  # what it wrote begins no line of the message
            raise InputError(f"the engine did not start: {' '.join(argv)}: {detail}") from None

    def run(self, case: Case, then: Case | None = None) -> Result:
        """The result of a case as a report keeps it: as that of `answer`, but with few of the wrong matches."""
        return _kept(self.answer(case, then))

    def answer(self, case: Case, then: Case | None = None) -> Result:
        """The result of a case, which has the output that the engine claims.

        then: the case that is asked next, if that is known; its message is made while the engine answers this one.
        """
        self._then = then
        claims = claims_of_json(self.info.claims, case.language)
        case = claims.asked(case)
        self._translation = ""
        started = time.perf_counter()
        outcome, detail, matches = self._outcome(case, claims)
        seconds = time.perf_counter() - started
        if outcome == "passed":
            return Result(case, outcome, matches, detail, seconds)
        stderr = self._process.stderr() if self._process is not None else ""
        return Result(case, outcome, matches, detail, seconds, stderr=stderr, translation=self._translation)

    def _outcome(self, case: Case, claims: Claims) -> tuple[Outcome, str, Sequence[Match] | None]:
        """What became of a case: the outcome, why, and the matches if there are some."""
        if case.language not in self.info.languages:
            return "skipped", f"the engine does not speak {case.language}", None
        if unclaimed := claims.why_not(case):
            return "skipped", unclaimed, None
        if (why_not := self.losses.why_not(case)) is not None:
            return "not_run", why_not, None
        try:
            self._require_silence()
            answer = None
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
            case protocol.Matches(matches, problem):
                right = set(matches) == set(case.matches) and not problem
                return "passed" if right else "failed", problem, matches
            case Wrong(detail):
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
        """Record a second answer, if there is one. Raises EngineFailure for any other line."""
        if self._process is None or (text := self._process.early(seconds)) is None:
            return
        with contextlib.suppress(InputError):
            if self._is_second(protocol.read(text, "answer"), text):
                return
        raise EngineFailure("protocol", f"wrote a line that nobody asked for: {excerpt(text)}")

    def _is_second(self, answer: dict[str, Any], text: bytes) -> bool:
        """Whether the process has answered the case before; it is ended then, for it may hold more lines."""
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
            return protocol.info_of_json(protocol.read(text, "started", "the answer to start"))
        except InputError as error:
            raise EngineFailure("protocol", _wrong(error, text)) from None

    def _ask(self, case: Case) -> protocol.Answer | Wrong | None:
        """The answer; None if a second answer to an earlier case came in its place. Raises EngineFailure.

        A line that answers the case, but is wrong in itself, is the fault of this answer: the process goes on.
        """
        assert self._process is not None
        text = self._process.ask(self._message(case), self.limits.run_seconds, self._prepare)
        try:
            with self._reading.timed():
                return self._read(case, text)
        except BudgetExceeded:
            why = f"its answer of {len(text):,} bytes takes more than {self.limits.run_seconds:g} s to read"
            raise EngineFailure("timeout", why) from None
        except MemoryError:
            why = f"its answer of {len(text):,} bytes takes more memory to read than there is"
            raise EngineFailure("memory", why) from None

    def _message(self, case: Case) -> str:
        """The line that asks a case, which may have been prepared."""
        prepared, self._prepared = self._prepared, None
        if prepared is not None and replace(prepared[0], matches=case.matches) == case:
            return prepared[1]
        return protocol.line(message_of(case))

    def _prepare(self) -> None:
        """Make the line that asks the next case."""
        if (case := self._then) is not None and case.language in self.info.languages:
            case = claims_of_json(self.info.claims, case.language).asked(case)
            self._prepared = case, protocol.line(message_of(case))

    def _read(self, case: Case, text: bytes) -> protocol.Answer | Wrong | None:
        """As _ask, of the line that came. Raises BudgetExceeded."""
        try:
            obj = parse_json(text, "the answer")
            if not isinstance(obj, dict) or obj.get("id") != case.id:
                if self._is_second(protocol.checked(obj, "answer", "the answer"), text):
                    return None
                raise InputError(f"the answer has the id {obj['id']!r}, where {case.id!r} was asked")
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
            return Wrong(_wrong(error, text))


def _wrong(error: InputError, text: bytes) -> str:
    """What is wrong with a line, and its beginning."""
    return f"{protocol.bounded(error.message)}{WROTE}{excerpt(text)}"


def _kept(result: Result) -> Result:
    """The result with all matches that are expected, and of the others those that fit in WRONG_MATCHES."""
    matches, expected, room = result.matches or (), set(result.case.matches), WRONG_MATCHES
    kept = []
    for match in matches:
        if match not in expected and room >= 0:
            room -= len(protocol.line(protocol.json_of_match(match)))
        if match in expected or room >= 0:
            kept.append(match)
    if len(kept) == len(matches):
        return result
    left_out = f"{len(matches) - len(kept):,} of its wrong matches are left out here"
    return replace(result, matches=kept, detail="; ".join(part for part in (result.detail, left_out) if part))


def message_of(case: Case) -> dict[str, Any]:
    """The run message of a case."""
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
