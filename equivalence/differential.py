"""Compare evaluators with a reference: on one case, or in campaigns of random cases.

A case is a query and a stream. A case on which the evaluators disagree is shrunk, and gets a cause by which
disagreements are grouped. A campaign can be kept in a file and resumed.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from multiprocessing import get_context, parent_process
from multiprocessing.connection import wait
from pathlib import Path
from random import Random
from threading import Thread
from types import TracebackType
from typing import Any, BinaryIO, Literal, Never, Protocol, TypeAlias, cast, get_args

from cerify.automata.evaluate.core import compiled_shared
from cerify.equivalence.generate import cel
from cerify.equivalence.generate.cel import CEL, CORE, CelProfile, guided_case
from cerify.equivalence.generate.shrink import CaseMaker, QueryOperations, StreamMaker, shrink, weight
from cerify.semantics.arguments import require_keywords
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, CerifyError, InputError, Unsupported
from cerify.semantics.events import Match, Stream, result_of
from cerify.semantics.files import lock
from cerify.semantics.json_events import json_of_event, json_of_schema, parse_json, schema_of_json, stream_of_json
from cerify.semantics.values import plain

Output = Literal["matches", "valuations"]
Query: TypeAlias = Any
"""A query in the language of the campaign: a CEL formula, unless the CampaignPlan has another language."""
Evaluator: TypeAlias = Callable[[Query, Stream, Output], Collection[Match]]
Answer: TypeAlias = frozenset[Match] | str
"""The matches at all positions; if the evaluator failed, the error as a sentence."""

SecondOpinion: TypeAlias = Callable[[Query, Stream, Output], frozenset[Match] | None]
"""A function that returns the matches by a definition independent of the reference; None if it cannot answer."""

Outcome = Literal["matched", "empty", "unsupported", "budget", "disagreed", "disputed"]
"""The outcome of a case: both find the same matches, both find none, one does not support the query, one exceeds its
budget, or the answers differ. A difference is disputed if the reference fails or the second opinion contradicts it."""


WROTE = "; it wrote: "  # stands in messages between an error and the line that an evaluator wrote


class NoAnswer(Exception):
    """Raised by an evaluator that failed on a case; the message is the kind of failure, a colon, and details."""


class GiveUp(Exception):
    """Raised by an evaluator that will not answer any more; it ends the campaign. The message says why."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case for one evaluator, the reason if there is no answer, and how long it took.

    expected, got: the answers of the reference and of the evaluator; None if there is none. second: the second opinion
    on a disputed case; None if the reference failed.
    """

    outcome: Outcome
    seconds: float
    detail: str = ""
    expected: Answer | None = None
    got: Answer | None = None
    second: frozenset[Match] | None = None


def judge(
    reference: Evaluator,
    evaluators: Mapping[str, Evaluator],
    phi: Query,
    stream: Stream,
    output: Output,
    second_opinion: SecondOpinion | None = None,
) -> tuple[Verdict, dict[str, Verdict]]:
    """Return the verdict on one case for the reference, and for each of the evaluators if the reference has an answer.

    The second opinion is computed only if some evaluator disagrees. The case is disputed if that opinion differs from
    the reference's answer, or if the reference fails. Raises GiveUp.
    """
    own = _verdict(reference, phi, stream, output)
    if (expected := own.got) is None:
        return own, {}
    verdicts = {}
    for name, evaluator in evaluators.items():
        verdict = _verdict(evaluator, phi, stream, output)
        # If the reference fails, an equal failure is no agreement: somebody has to look at the case.
        wrong = verdict.got is not None and (verdict.got != expected or isinstance(expected, str))
        verdicts[name] = replace(verdict, outcome="disagreed" if wrong else verdict.outcome, expected=expected)
    if any(verdict.outcome == "disagreed" for verdict in verdicts.values()):
        outcome, second = classify_disagreement(expected, second_opinion, phi, stream, output)
        for name, verdict in verdicts.items():
            if verdict.outcome == "disagreed":
                verdicts[name] = replace(verdict, outcome=outcome, second=second)
    return own, verdicts


def classify_disagreement(
    expected: Answer, second_opinion: SecondOpinion | None, phi: Query, stream: Stream, output: Output
) -> tuple[Literal["disagreed", "disputed"], frozenset[Match] | None]:
    """Return "disputed" if the reference failed or the second opinion contradicts it, else "disagreed".

    Also return the second opinion if it contradicts the expected answer, else None.
    """
    if second_opinion is None:
        return "disagreed", None
    if isinstance(expected, str):
        return "disputed", None
    second = second_opinion(phi, stream, output)
    return ("disagreed", None) if second in (None, expected) else ("disputed", second)


def _verdict(evaluator: Evaluator, phi: Query, stream: Stream, output: Output) -> Verdict:
    """Return the verdict on an evaluator before its answer is compared: `expected` is None."""
    begun = time.perf_counter()
    outcome: Outcome
    try:
        given = answer(evaluator, phi, stream, output)
    except (Unsupported, BudgetExceeded) as error:
        outcome = "unsupported" if isinstance(error, Unsupported) else "budget"
        return Verdict(outcome, time.perf_counter() - begun, error.message)
    outcome = "disagreed" if isinstance(given, str) else "matched" if given else "empty"
    return Verdict(outcome, time.perf_counter() - begun, got=given)


def answer(evaluator: Evaluator, phi: Query, stream: Stream, output: Output) -> Answer:
    """Return the answer of an evaluator: its matches, or a text for a failure such as a crash or a time-out.

    Raises Unsupported, BudgetExceeded, GiveUp.
    """
    try:
        return frozenset(evaluator(phi, stream, output))
    except (Unsupported, BudgetExceeded, GiveUp):
        raise
    except CerifyError as error:
        return f"{error.code} error: {error.message}"
    except NoAnswer as error:
        return str(error)
    except Exception as error:  # a campaign must report the crash of an evaluator, and go on
        return f"{type(error).__name__}: {error}"


def failure(given: Answer) -> str | None:
    """Return the kind of failure of an answer, such as "timeout"; None if the answer is a set of matches."""
    return given.partition(":")[0] if isinstance(given, str) else None


def failure_form(given: Answer) -> str | None:
    """Return the form of a failure, which shrinking must preserve; None if the answer is a set of matches.

    It is the kind of failure; for a breach of the protocol also the message, without numbers and quotations.
    """
    if (kind := failure(given)) != "protocol" or not isinstance(given, str):
        return kind
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\d.]+", "…", given.partition(WROTE)[0])


# ---------------------------------------------------------------------------------------------------------------------
# Compare two evaluators on random cases, and shrink the cases on which they disagree.

EACH = 5
"""How many disagreements of one cause are shrunk fully. A campaign stops after EACH times as many disagreements as it
may have causes."""

SLOW_TRIES = 20  # tries to shrink a time-out, because each may take the whole time limit
CHUNK = 250  # cases that a process gets at a time

COMPARED_AT_LEAST = 0.1  # the least share of the cases of a campaign that must be compared

Difference: TypeAlias = tuple[Output, Verdict]
CaseOutcome: TypeAlias = tuple[int, Outcome, Difference | None, str]
"""The index of a case, its outcome, the difference if the evaluators disagree, and the reason if there is no answer."""


@dataclass(frozen=True)
class Disagreement:
    """A query and a stream on which the evaluators disagree.

    found: the case as it was found. phi, stream: the shrunk case; left, right: the evaluators' answers to it. disputed:
    whether the reference is at fault, because it failed or the second opinion contradicts it. second: that opinion.
    """

    index: int
    output: Output
    found: tuple[Query, Stream]
    phi: Query
    stream: Stream
    left: Answer
    right: Answer
    disputed: bool = False
    second: frozenset[Match] | None = None


@dataclass(frozen=True)
class CampaignPlan:
    """A campaign: the evaluators that it compares, and how its cases are made.

    A case depends on the seed and on its index, but not on the number of cases. profile, nodes, events: what its query
    and stream are made of, and their greatest sizes. tries: how often the evaluators are called again to shrink one
    disagreement. language: that of the queries. maker: makes the cases. stream: makes another stream for a query.
    together: how many cases in a row share their query, which is then compiled once; the maker makes the first of them.
    second_opinion: checks the left evaluator wherever the right one disagrees with it.
    """

    left: Evaluator
    right: Evaluator
    profile: Any
    cases: int
    seed: int = 0
    nodes: int = 12
    events: int = 10
    outputs: tuple[Output, ...] = ("matches",)
    tries: int = 2000
    language: QueryOperations[Any] = CEL
    maker: CaseMaker[Any] = cel.case
    stream: StreamMaker[Any] = cel.stream
    together: int = 1
    second_opinion: SecondOpinion | None = None

    def case(self, index: int) -> tuple[Query, Stream]:
        """Return the query and the stream of the case with this index."""
        if self.together == 1:
            return self.make_case(index)
        first = index - index % self.together
        phi, S = _make_case(self, first)
        if index == first:
            return phi, S
        rng = Random(f"{self.seed}/{index}")
        length = max(rng.randint(1, self.events), rng.randint(1, self.events))  # longer ones are more frequent
        return phi, self.stream(rng, self.profile, length, phi)

    def make_case(self, index: int) -> tuple[Query, Stream]:
        """Make a random query and a stream for the case with this index."""
        # A generator of its own, so that each case can be made alone and in any process.
        return self.maker(Random(f"{self.seed}/{index}"), self.profile, self.nodes, self.events)


@dataclass
class Summary:
    """The results of a campaign. Cases that could not be compared are counted separately, not as agreement.

    reasons: how many cases have no answer for each reason, without cases of earlier runs. disputes: cases on which the
    reference is at fault; they are not in disagreements. resumed: how many cases earlier runs completed. ended: why the
    campaign stopped early, if an evaluator gave up or the user interrupted it. stopped: why it stopped before all cases
    were done, if a limit was reached.
    """

    planned: int
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)
    disputes: list[Disagreement] = field(default_factory=list)
    seconds: float = 0.0
    resumed: int = 0
    ended: str | None = None
    stopped: str | None = None
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def cases(self) -> int:
        """Return the number of completed cases: fewer than planned if the campaign stopped early."""
        return self.outcomes.total()

    @property
    def disagreement_count(self) -> int:
        """Return the number of disagreements and disputes."""
        return len(self.disagreements) + len(self.disputes)

    @property
    def agreed(self) -> int:
        """Return the number of cases that both evaluators answered with the same matches."""
        return self.outcomes["matched"] + self.outcomes["empty"]

    @property
    def too_few(self) -> bool:
        """Return whether so few cases could be compared that agreement means nothing."""
        return self.agreed + self.disagreement_count < COMPARED_AT_LEAST * self.cases

    @property
    def per_second(self) -> float:
        """Return the number of cases per second, shrinking included."""
        return (self.cases - self.resumed) / self.seconds if self.seconds else 0.0


Progress: TypeAlias = Callable[[Summary], None]
CauseOf: TypeAlias = Callable[[Disagreement], object | None]
"""A function that returns the cause of a disagreement; None if it is known already and does not count."""


def by_index(d: Disagreement) -> object:
    """Group no disagreements: return the index of the case as its cause, so that each counts separately."""
    return d.index


class Record(Protocol):
    """The finished cases of a campaign; see Checkpoint.

    known: for the index of each case, its outcome, and the disagreement if there is one.
    """

    known: dict[int, tuple[Outcome, Disagreement | None]]

    def add(self, index: int, outcome: Outcome, found: Disagreement | None) -> None:
        """Record the outcome of a case, and the disagreement that was found, if any."""


@compiled_shared()  # guided streams are made with the automaton that an evaluator needs too
def campaign(
    plan: CampaignPlan,
    processes: int = 1,
    stop_after: int = 10,
    progress: Progress = lambda summary: None,
    checkpoint: Record | None = None,
    cause_of: CauseOf = by_index,
    seconds: float | None = None,
) -> Summary:
    """Run a campaign and return its summary. The results do not depend on `processes`, nor on cases in a checkpoint.

    processes: how many work at once. With several, another process must be able to import the evaluators. stop_after:
    the number of causes after which the campaign ends; it also ends after EACH times as many disagreements. progress:
    called with the summary so far. checkpoint: finished cases, which are not run again; new ones are added. cause_of:
    returns the cause by which disagreements are grouped. A disagreement is not shrunk further if it returns None, or if
    EACH other disagreements have the same cause. seconds: no case begins after this time.

    A KeyboardInterrupt ends the campaign; the summary has the results so far. Raises BrokenProcessPool if a process
    dies.
    """
    begun = time.monotonic()
    summary = Summary(plan.cases)
    known = {} if checkpoint is None else dict(checkpoint.known)
    causes, most = Counter[object](), EACH * stop_after

    def frequent(d: Disagreement) -> bool:
        why = cause_of(d)
        return not d.disputed and (why is None or causes[why] >= EACH)

    try:
        with closing(_outcomes(plan, processes, (i for i in range(plan.cases) if i not in known))) as outcomes:
            for index in range(plan.cases):
                if index in known:
                    outcome, disagreement = known[index]
                    summary.resumed += 1
                else:
                    _, outcome, found, reason = next(outcomes)
                    summary.reasons.update([reason] if reason else [])
                    # Neighbouring cases may share a query; what was found by shrinking it once is tried first.
                    last = summary.disagreements[-1:]
                    disagreement = None if found is None else shrunk(plan, index, found, frequent, *last)
                    if checkpoint is not None:
                        checkpoint.add(index, outcome, disagreement)
                summary.outcomes[outcome] += 1
                if disagreement is not None:
                    (summary.disputes if disagreement.disputed else summary.disagreements).append(disagreement)
                summary.seconds = time.monotonic() - begun
                progress(summary)
                if disagreement is not None and (why := cause_of(disagreement)) is not None:
                    causes[why] += 1
                if len(causes) >= stop_after:
                    summary.stopped = f"stopped after {stop_after} causes, at case {index}"
                    break
                if disagreement is not None and summary.disagreement_count >= most:
                    summary.stopped = f"stopped after {most} disagreements, at case {index}"
                    break
                if seconds is not None and summary.seconds >= seconds:
                    summary.stopped = f"stopped after {seconds:g} seconds, at case {index}"
                    break
    except (GiveUp, Unsupported) as error:  # Unsupported: no case could be made, as the engine supports too little
        if isinstance(error, Unsupported) and not summary.cases:
            raise
        summary.ended = str(error)
    except KeyboardInterrupt:
        summary.ended = "interrupted"
    return summary


def run_one_case(plan: CampaignPlan, index: int) -> Summary:
    """Run only the case with this index; return its summary."""
    begun = time.monotonic()
    outcome, found, reason = compare(plan, *plan.case(index))
    summary = Summary(1, Counter({outcome: 1}), reasons=Counter([reason] if reason else []))
    if found is not None:
        disagreement = shrunk(plan, index, found)
        (summary.disputes if disagreement.disputed else summary.disagreements).append(disagreement)
    summary.seconds = time.monotonic() - begun
    return summary


@lru_cache(maxsize=4)
def _make_case(plan: CampaignPlan, index: int) -> tuple[Query, Stream]:
    """Return the case of that index. It is cached, because several cases may share its query."""
    return plan.make_case(index)


def compare(plan: CampaignPlan, phi: Query, stream: Stream) -> tuple[Outcome, Difference | None, str]:
    """Compare the two evaluators of a campaign on one case.

    Return the outcome; the output on which they disagree with its verdict, or None; and the reason if one of them has
    no answer, or "".
    """
    outcome: Outcome = "empty"
    for output in plan.outputs:
        left, rights = judge(plan.left, {"right": plan.right}, phi, stream, output, plan.second_opinion)
        verdict = rights.get("right", left)
        if verdict.got is None:
            return verdict.outcome, None, verdict.detail
        if verdict.outcome in ("disagreed", "disputed"):
            return verdict.outcome, None if verdict.expected is None else (output, verdict), ""
        outcome = verdict.outcome
    return outcome, None, ""


def shrunk(
    plan: CampaignPlan,
    index: int,
    difference: Difference,
    small_enough: Callable[[Disagreement], bool] = lambda d: False,
    last: Disagreement | None = None,
) -> Disagreement:
    """Shrink the disagreement on the case number `index`, keeping its outcome and its kinds of failures.

    small_enough: returns whether shrinking may end early. last: an earlier shrunk disagreement; if it has the same
    query, its shrunk form is tried first.
    """
    found = plan.case(index)
    output, best = difference
    assert best.expected is not None
    assert best.got is not None
    forms = failure_form(best.expected), failure_form(best.got)

    def differs(phi: Query, stream: Stream) -> bool:
        nonlocal best
        try:
            expected = answer(plan.left, phi, stream, output)
            if failure_form(expected) != forms[0]:
                return False  # an engine is not called with a query that the reference refuses
            got = answer(plan.right, phi, stream, output)
        except (GiveUp, Unsupported, BudgetExceeded):
            return False
        if failure_form(got) != forms[1] or got == expected:
            return False
        outcome, second = classify_disagreement(expected, plan.second_opinion, phi, stream, output)
        if outcome != best.outcome:
            return False
        best = replace(best, expected=expected, got=got, second=second)
        return True

    def disagreement(phi: Query, stream: Stream) -> Disagreement:
        assert best.expected is not None
        assert best.got is not None
        disputed = best.outcome == "disputed"
        return Disagreement(index, output, found, phi, stream, best.expected, best.got, disputed, best.second)

    tries = min(plan.tries, SLOW_TRIES) if forms[1] == "timeout" else plan.tries
    phi, S = found
    if last is not None and last.found[0] == phi and differs(last.phi, S):
        phi = last.phi
    small = shrink(plan.language, phi, S, differs, tries, lambda *pair: small_enough(disagreement(*pair)))
    return disagreement(*small)


def _outcomes(plan: CampaignPlan, processes: int, indices: Iterator[int]) -> Generator[CaseOutcome, None, None]:
    """Yield the outcomes of the cases in order; other processes are at most a few chunks ahead."""
    if processes == 1:
        yield from _chunk(plan, indices)
        return
    chunks = iter(lambda: list(islice(indices, CHUNK)), [])
    with ProcessPoolExecutor(processes, get_context("spawn"), end_with_parent) as pool:
        pending: deque[Future[list[CaseOutcome]]] = deque()
        try:
            while True:
                ahead = islice(chunks, 3 * processes - len(pending))
                pending.extend(pool.submit(_whole_chunk, plan, chunk) for chunk in ahead)
                if not pending:
                    return
                yield from pending.popleft().result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def end_with_parent() -> None:
    """End this process of a pool when its parent has ended, for example because it was killed."""
    parent = parent_process()
    assert parent is not None

    def watch() -> None:
        wait([parent.sentinel])
        os._exit(1)

    Thread(target=watch, daemon=True).start()


def _chunk(plan: CampaignPlan, indices: Iterable[int]) -> Iterator[CaseOutcome]:
    return ((i, *compare(plan, *plan.case(i))) for i in indices)


@compiled_shared()
def _whole_chunk(plan: CampaignPlan, indices: Sequence[int]) -> list[CaseOutcome]:
    return list(_chunk(plan, indices))


# ---------------------------------------------------------------------------------------------------------------------
# The cause of a disagreement: the operators of the shrunk query, and how the answers differ.
#
# Disagreements with the same cause probably come from one fault. This is only a guess: one fault may have several
# causes in this sense, and several faults may have the same cause.

DifferenceKind: TypeAlias = Literal["missing", "extra", "position", "bindings", "result"]
"""How an answer differs from the right one: a match is missing or extra, or has another position, bindings or result.
Reports of conformance tests and of campaigns use these words."""

LOOKS: dict[DifferenceKind, Callable[[Match], object]] = {
    "result": lambda m: (m.at, m.events, m.bindings),
    "bindings": lambda m: (m.at, m.events),
    "position": lambda m: (m.events, m.bindings),
}
"""What two matches have in common if they differ in the result, the bindings or the position only."""


def difference_kinds(expected: Iterable[Match], got: Iterable[Match]) -> list[DifferenceKind]:
    """Return the kinds of difference between two sets of matches, in the order of DifferenceKind.

    A missing match is paired with an extra one if they differ only in the result, the bindings, or the position. All
    other matches count as missing or extra.
    """
    missing, extra = set(expected) - set(got), set(got) - set(expected)
    found: set[DifferenceKind] = set()
    for kind, look in LOOKS.items():
        if common := set(map(look, missing)) & set(map(look, extra)):
            found.add(kind)
            missing = {m for m in missing if look(m) not in common}
            extra = {m for m in extra if look(m) not in common}
    if missing:
        found.add("missing")
    if extra:
        found.add("extra")
    return [kind for kind in get_args(DifferenceKind) if kind in found]


@dataclass(frozen=True, order=True)
class DisagreementCause:
    """The cause by which disagreements are grouped: the operators of the query, sorted, and how the answers differ
    (`shape`).
    """

    operators: tuple[str, ...]
    shape: str

    def __str__(self) -> str:
        return f"{' '.join(self.operators) or 'an event type'}: {self.shape}"


def cause(d: Disagreement, language: QueryOperations[Any] = CEL) -> DisagreementCause:
    """Return the cause of a disagreement about a query of that language."""
    return DisagreementCause(tuple(sorted(language.operators(d.phi))), shape(d.left, d.right))


def shape(left: Answer, right: Answer) -> str:
    """Return how two answers differ, such as "missing and position"; if one is a failure, its kind."""
    if isinstance(left, str) or isinstance(right, str):
        return failure(right) or f"{failure(left)} of the reference"
    return " and ".join(difference_kinds(left, right))


def by_cause(
    disagreements: Iterable[Disagreement], language: QueryOperations[Any] = CEL
) -> dict[DisagreementCause, list[Disagreement]]:
    """Return the disagreements of each cause, the smallest first; causes are in the order of first occurrence."""
    groups: dict[DisagreementCause, list[Disagreement]] = {}
    for d in disagreements:
        groups.setdefault(cause(d, language), []).append(d)
    return {
        why: sorted(group, key=lambda d: (weight(language, d.phi, d.stream), d.index)) for why, group in groups.items()
    }


# ---------------------------------------------------------------------------------------------------------------------
# Keep the cases of a campaign in a file while it runs, so that it can be resumed: JSON Lines, one line for each case.
#
# The first line identifies the campaign. A case that occurs twice counts once. If a killed process left the last line
# incomplete, that line is dropped.

FORMAT = "cerify-campaign"


class Checkpoint:
    """A file with the finished cases of a campaign. Opening it reads these cases; then new ones are added."""

    def __init__(self, path: Path, plan: CampaignPlan, name: str) -> None:
        """Open the file of this campaign, or create it. name: what is tested.

        Raises InputError if the file belongs to another campaign, or to none.
        """
        self.path = path
        self.plan = plan
        self.known: dict[int, tuple[Outcome, Disagreement | None]] = {}
        header = _header(plan, name)
        try:
            self._file: BinaryIO = path.open("a+b")  # a line may be cut off within a character
            lock(self._file, path)
            self._file.seek(0)
            content = self._file.read()
            whole = content[: content.rfind(b"\n") + 1]
            lines = whole.decode().split("\n")[:-1]  # not splitlines: JSON may have the other line ends inside a string
            for number, line in enumerate(lines, 1):
                self._read_line(line, number, header, plan)
            if not whole and not _line(header).startswith(
                content
            ):  # not a first line that a killed run left unfinished
                raise self._foreign()
            if whole != content:
                self._file.truncate(len(whole))
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot use {path} to resume: {error}") from None
        if not whole:
            self._write(header)

    def __enter__(self) -> Checkpoint:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        with suppress(OSError):  # `add` has raised the error already
            self._file.close()

    def add(self, index: int, outcome: Outcome, found: Disagreement | None) -> None:
        """Write the outcome of a case at once."""
        self._write({"case": index, "outcome": outcome} | ({} if found is None else _json(found, self.plan)))
        self.known[index] = outcome, found

    def _write(self, obj: dict[str, Any]) -> None:
        try:
            self._file.write(_line(obj))
            self._file.flush()
        except OSError as error:
            raise InputError(f"cannot write {self.path}: {error.strerror}; make room, then resume from it") from None

    def _read_line(self, line: str, number: int, header: dict[str, Any], plan: CampaignPlan) -> None:
        where = f"{self.path}, line {number}"
        obj = parse_json(line, where)
        if number == 1:
            self._check_header(obj, header)
            return
        try:
            if obj["outcome"] not in get_args(Outcome):
                raise ValueError(obj["outcome"])
            found = _disagreement(obj, plan, where) if obj["outcome"] in ("disagreed", "disputed") else None
            self.known[int(obj["case"])] = obj["outcome"], found
        except (KeyError, TypeError, ValueError, CerifyError) as error:
            raise InputError(
                f"{where} is not a case of a campaign ({error!r}); remove the line to run the case again"
            ) from None

    def _check_header(self, obj: Any, header: dict[str, Any]) -> None:
        if not isinstance(obj, dict) or obj.get("format") != FORMAT:
            raise self._foreign()
        for key, value in header.items():
            if obj.get(key) != value:
                raise InputError(
                    f"{self.path} belongs to another campaign: {key} is {obj.get(key)!r} there and {value!r} here; "
                    "use the same value, or give a new file"
                )

    def _foreign(self) -> InputError:
        return InputError(f"{self.path} is not a file of a campaign; give a file that --resume wrote, or a new name")


def _line(obj: dict[str, Any]) -> bytes:
    """Return the line of an object in the file."""
    return (json.dumps(obj, ensure_ascii=False) + "\n").encode()


def _header(plan: CampaignPlan, name: str) -> dict[str, Any]:
    """Return the options of a campaign on which its cases and answers depend.

    They do not include the number of cases, so that a file can be extended by more cases.
    """
    return {
        "format": FORMAT,
        "version": 1,
        "tested": name,
        "seed": plan.seed,
        "nodes": plan.nodes,
        "events": plan.events,
        "outputs": list(plan.outputs),
        "tries": plan.tries,
        "cases_from": f"{plan.maker.__module__}.{getattr(plan.maker, '__qualname__', repr(plan.maker))}"
        + (f", {plan.together} together" if plan.together > 1 else ""),
        "profile": hashlib.blake2b(repr(plan.profile).encode(), digest_size=8).hexdigest(),
    }


def _json(d: Disagreement, plan: CampaignPlan) -> dict[str, Any]:
    return {
        "output": d.output,
        "query": plan.language.show(d.phi),
        "schema": None if d.stream.schema is None else json_of_schema(d.stream.schema),
        "events": [json_of_event(event) for event in d.stream],
        "left": _json_answer(d.left),
        "right": _json_answer(d.right),
        "second": None if d.second is None else _json_answer(d.second),
        "found": {
            "query": plan.language.show(d.found[0]),
            "schema": None if d.found[1].schema is None else json_of_schema(d.found[1].schema),
            "events": [json_of_event(event) for event in d.found[1]],
        },
    }


def _disagreement(obj: dict[str, Any], plan: CampaignPlan, where: str) -> Disagreement:
    phi, stream = _case(obj, plan, where)
    left, right = _answer(obj["left"]), _answer(obj["right"])
    second = None if obj.get("second") is None else frozenset(map(_match, obj["second"]))
    index, output = int(obj["case"]), cast("Output", obj["output"])
    original = obj.get("found")  # files of earlier versions have none
    found = plan.case(index) if original is None else _case(original, plan, where)
    return Disagreement(index, output, found, phi, stream, left, right, obj["outcome"] == "disputed", second)


def _case(obj: dict[str, Any], plan: CampaignPlan, where: str) -> tuple[Any, Stream]:
    """Return the query and the stream. Raises TypeError, KeyError, InputError, ParseError."""
    if not isinstance(text := obj["query"], str):
        raise TypeError("a query is a text")
    schema = None if obj["schema"] is None else schema_of_json(obj["schema"])
    return plan.language.parse(text), stream_of_json(obj["events"], schema, where, keep_nulls=True)


def _json_answer(given: Answer) -> Any:
    return given if isinstance(given, str) else [_json_match(m) for m in sorted(given)]


def _json_match(m: Match) -> list[Any]:
    """Return a match as a list: position, events, bindings, and the result if the query makes one."""
    return [m.at, m.events, m.bindings] + ([] if m.result is None else [plain(m.result.attributes)])


def _answer(obj: Any) -> Answer:
    if isinstance(obj, str):
        return obj
    return frozenset(map(_match, obj))


def _match(obj: Any) -> Match:
    at, events, bindings, *results = obj
    return Match(at, tuple(events), _bindings(bindings), result=next(map(result_of, results), None))


def _bindings(obj: Any) -> tuple[tuple[str, tuple[int, ...]], ...] | None:
    return None if obj is None else tuple((A, tuple(positions)) for A, positions in obj)


# ---------------------------------------------------------------------------------------------------------------------
# Compare two functions from a query and a stream to matches. Users' programs call this.

Answers: TypeAlias = Callable[[str, Stream], Iterable[Match | tuple[int, Iterable[int]]]]
"""A function from the text of a query and a stream to all matches.

A match may be a pair: the position at which it is reported, and the positions of its events."""


@dataclass(frozen=True)
class FunctionEvaluator:
    """An evaluator that calls a function. Matches are compared by their complex events alone, not by their bindings."""

    function: Answers

    def __call__(self, phi: Formula, S: Stream, output: Output) -> Collection[Match]:
        return {_match_by(found) for found in self.function(show(phi), S)}


def no_progress(summary: Summary) -> None:
    """Report nothing."""


@dataclass(frozen=True)
class CampaignLimits:
    """The limits of a campaign: how many processes work at once, and the number of differences after which it stops.

    progress: called with the summary so far. resume: a file; cases in it are not run again, and new cases are added.
    """

    processes: int = 1
    stop_after: int = 10
    progress: Progress = no_progress
    resume: Path | None = None


def differ(
    left: Answers,
    right: Answers,
    profile: CelProfile = CORE,
    cases: int = 1000,
    *,
    seed: int = 0,
    nodes: int = 12,
    events: int = 10,
    processes: int = 1,
    stop_after: int = 10,
    progress: Progress = no_progress,
    resume: Path | None = None,
    **unknown: Never,
) -> Summary:
    """Run two functions on random queries and streams; return where their answers differ, each difference shrunk.

      >>> import cerify
      >>> def nothing(query, stream):
      ...     return []
      >>> cerify.differ(cerify.match, nothing, cases=50).disagreements != []
      True

    left, right: functions from the text of a CEL query and a stream to matches. A match may be a pair: the position at
        which it is reported, and the positions of its events.
    profile: what the queries and streams are made of.
    cases: the number of cases. The same seed gives the same cases, with at most `nodes` nodes and `events` events.
    processes: how many work at once. With more than one, another process must be able to import the functions.
    stop_after: the number of differences after which the run ends.
    progress: called with the summary so far.
    resume: a file; cases in it are not run again, and new cases are added.

    A case on which a function raises Unsupported is not compared. Any other exception counts as a wrong answer.
    """
    if unknown:
        require_keywords(differ, unknown)
    how = CampaignLimits(processes, stop_after, progress, resume)
    plan = CampaignPlan(
        FunctionEvaluator(left), FunctionEvaluator(right), profile, cases, seed, nodes, events, maker=guided_case
    )
    tested = f"{_name(right)} against {_name(left)}"
    with nullcontext(None) if how.resume is None else Checkpoint(how.resume, plan, tested) as checkpoint:
        return campaign(plan, how.processes, how.stop_after, how.progress, checkpoint)


def _match_by(found: Match | tuple[int, Iterable[int]]) -> Match:
    at, events = (found.at, found.events) if isinstance(found, Match) else found
    return Match(at, tuple(sorted(events)))


def _name(function: Answers) -> str:
    return getattr(function, "__qualname__", type(function).__qualname__)
