"""The verdict on one case: the answer of a reference, compared with those of the evaluators under test."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from cerify.semantics.errors import BudgetExceeded, CerifyError, Unsupported
from cerify.semantics.events import Match, Stream

Output = Literal["matches", "valuations"]
Query: TypeAlias = Any
"""A query of the language that the campaign is about: a formula of CEL, unless its Plan says otherwise."""
Evaluator: TypeAlias = Callable[[Query, Stream, Output], Collection[Match]]
Answer: TypeAlias = frozenset[Match] | str
"""The matches at all positions, or, from an evaluator that fails, the error as a sentence."""

SecondOpinion: TypeAlias = Callable[[Query, Stream, Output], frozenset[Match] | None]
"""The matches by a definition that is independent of the reference, None where that does not answer."""

Outcome = Literal["matched", "empty", "unsupported", "budget", "disagreed", "disputed"]
"""The outcome of a case: both give the same matches, both give none, one does not carry the query, one exceeds its
budget, they give different answers, or they do where the reference fails or its second opinion contradicts it."""


WROTE = "; it wrote: "  # between what is wrong with a line and the line


class NoAnswer(Exception):
    """Raised by an evaluator that failed on a case; the message is the kind of failure, a colon, and the rest."""


class GiveUp(Exception):
    """Raised by an evaluator that will not answer any more; it ends the campaign, and says why."""


@dataclass(frozen=True)
class Verdict:
    """The outcome of a case for one evaluator, the reason if there is no answer, and how long it took.

    expected, got: the answers of the reference and of the evaluator; None where there is none. second: the second
    opinion on a disputed case, None where the reference fails.
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
    """The verdict on one case for the reference, and, if that has an answer, for each of the evaluators.

    With a second opinion, which is computed only if some evaluator disagrees, a case is disputed instead if that
    opinion is not the reference's answer, or if the reference fails. Raises GiveUp.
    """
    own = _verdict(reference, phi, stream, output)
    if (expected := own.got) is None:
        return own, {}
    verdicts = {}
    for name, evaluator in evaluators.items():
        verdict = _verdict(evaluator, phi, stream, output)
        wrong = verdict.got is not None and (verdict.got != expected or isinstance(expected, str))
        verdicts[name] = replace(verdict, outcome="disagreed" if wrong else verdict.outcome, expected=expected)
    if any(verdict.outcome == "disagreed" for verdict in verdicts.values()):
        outcome, second = checked(expected, second_opinion, phi, stream, output)
        for name, verdict in verdicts.items():
            if verdict.outcome == "disagreed":
                verdicts[name] = replace(verdict, outcome=outcome, second=second)
    return own, verdicts


def checked(
    expected: Answer, second_opinion: SecondOpinion | None, phi: Query, stream: Stream, output: Output
) -> tuple[Literal["disagreed", "disputed"], frozenset[Match] | None]:
    """The outcome where an evaluator disagrees with the expected answer, and the second opinion that contradicts it."""
    if second_opinion is None:
        return "disagreed", None
    if isinstance(expected, str):
        return "disputed", None
    second = second_opinion(phi, stream, output)
    return ("disagreed", None) if second in (None, expected) else ("disputed", second)


def _verdict(evaluator: Evaluator, phi: Query, stream: Stream, output: Output) -> Verdict:
    """The verdict on an evaluator's answer by itself; expected is None."""
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
    """The answer of an evaluator. Raises Unsupported, BudgetExceeded, GiveUp; other failures are answers."""
    try:
        return frozenset(evaluator(phi, stream, output))
    except (Unsupported, BudgetExceeded, GiveUp):
        raise
    except CerifyError as error:
        return f"{error.code} error: {error.message}"
    except NoAnswer as error:
        return str(error)
    except Exception as error:  # a campaign is there to find the fault of an evaluator, not to end with it
        return f"{type(error).__name__}: {error}"


def failure(given: Answer) -> str | None:
    """The kind of failure that an answer is, such as "timeout"; None if it is a set of matches."""
    return given.partition(":")[0] if isinstance(given, str) else None


def failure_form(given: Answer) -> str | None:
    """The kind of failure, and of a breach of the protocol what breaks it: its message without numbers and quotations.

    Smaller cases have to keep it.
    """
    if (kind := failure(given)) != "protocol" or not isinstance(given, str):
        return kind
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\d.]+", "…", given.partition(WROTE)[0])
