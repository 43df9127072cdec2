"""A difference that was found, replayed: what the definition says of both formulas on the stream."""

from __future__ import annotations

from cerify.equivalence.claim import Level
from cerify.equivalence.verdict import Different
from cerify.semantics.budget import Budget
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import InternalError
from cerify.semantics.events import Match, Stream, bindings_of


def replayed(
    phi: Formula, psi: Formula, stream: Stream, one_way: bool, level: Level, shortest: bool, budget: Budget
) -> Different:
    """The difference as the denotational interpreter has it. Raises BudgetExceeded, and InternalError if it is none."""
    n = len(stream) - 1
    left, right = (_matches(chi, stream, n, level, budget) for chi in (phi, psi))
    if not (left - right or (right - left and not one_way)):
        raise InternalError(f"{show(phi)} and {show(psi)} were found to differ on {list(stream)}, and do not")
    return Different(stream, n, tuple(sorted(left - right)), tuple(sorted(right - left)), shortest)


def _matches(phi: Formula, S: Stream, n: int, level: Level, budget: Budget) -> set[Match]:
    mus = interpreter.valuations(phi, S, n, budget)
    return {Match(n, tuple(sorted(denote.sup(mu))), bindings_of(mu) if level == "valuations" else None) for mu in mus}
