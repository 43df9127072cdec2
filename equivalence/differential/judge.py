"""One case: what the reference says, and what becomes of each evaluator that is held against it."""

from __future__ import annotations

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

Outcome = Literal["matched", "empty", "unsupported", "budget", "disagreed"]
"""What became of a case: they agree on some match, they agree that there is none, one does not carry the formula, one
ran out of its budget, they disagree."""


class NoAnswer(Exception):
    """Raised by an evaluator that failed on a case; the message is the kind of failure, a colon, and the rest."""


class GiveUp(Exception):
    """Raised by an evaluator that will not answer any more; it ends the campaign, and says why."""


@dataclass(frozen=True)
class Verdict:
    """What became of a case for one evaluator, why it has no answer, and how long it took.

    expected, got: what the reference and the evaluator say; None where they do not say.
    """

    outcome: Outcome
    seconds: float
    detail: str = ""
    expected: Answer | None = None
    got: Answer | None = None


def judge(
    reference: Evaluator, evaluators: Mapping[str, Evaluator], phi: Query, stream: Stream, output: Output
) -> tuple[Verdict, dict[str, Verdict]]:
    """What becomes of one case for the reference, and, if that has an answer, for each of the evaluators.

    Raises GiveUp.
    """
    own = _verdict(reference, phi, stream, output)
    if (expected := own.got) is None:
        return own, {}
    verdicts = {}
    for name, evaluator in evaluators.items():
        verdict = _verdict(evaluator, phi, stream, output)
        wrong = verdict.got is not None and (verdict.got != expected or isinstance(expected, str))
        verdicts[name] = replace(verdict, outcome="disagreed" if wrong else verdict.outcome, expected=expected)
    return own, verdicts


def _verdict(evaluator: Evaluator, phi: Query, stream: Stream, output: Output) -> Verdict:
    """What an evaluator makes of a case, by itself."""
    begun = time.perf_counter()
    outcome: Outcome
    try:
        said = answer(evaluator, phi, stream, output)
    except (Unsupported, BudgetExceeded) as error:
        outcome = "unsupported" if isinstance(error, Unsupported) else "budget"
        return Verdict(outcome, time.perf_counter() - begun, error.message)
    outcome = "disagreed" if isinstance(said, str) else "matched" if said else "empty"
    return Verdict(outcome, time.perf_counter() - begun, got=said)


def answer(evaluator: Evaluator, phi: Query, stream: Stream, output: Output) -> Answer:
    """What an evaluator says. Raises Unsupported, BudgetExceeded, GiveUp; other failures are answers."""
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


def failure(said: Answer) -> str | None:
    """What kind of failure an answer is, if it is one."""
    return said.partition(":")[0] if isinstance(said, str) else None
