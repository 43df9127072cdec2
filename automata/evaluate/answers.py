"""The matches of a planned formula, each once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, islice
from operator import itemgetter

from cerify.automata.evaluate.decorrelation import is_mark
from cerify.automata.evaluate.evaluation_plan import EvaluationPlan
from cerify.automata.evaluate.membership import Membership, Passing, sup
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, timed_items, too_many_matches
from cerify.semantics.events import Match, Stream, Valuation, bindings_of


def found(plan: EvaluationPlan, S: Stream, output: Output, budget: Budget, passing: Passing) -> Iterator[Match]:
    """The matches of a planned formula in the order of positions, each once. Raises BudgetExceeded."""
    for n, group in groupby(Membership(S, budget, passing).found(plan, 0, len(S), output), itemgetter(0)):
        seen = set()
        for _, mu in group:
            match = Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if output == "valuations" else None)
            if match not in seen:
                seen.add(match)
                yield match


def at_most(limit: int, matches: Iterator[Match]) -> list[Match]:
    """All of the matches, sorted. Raises BudgetExceeded if there are more than the limit."""
    some = list(islice(timed_items(matches), limit + 1))
    if len(some) > limit:
        raise too_many_matches(limit)
    return sorted(some)


def without_marks(mu: Iterable[tuple[str, int]]) -> Valuation:
    """A valuation of the query's own variables, or of the one that stands for them."""
    return frozenset(pair for pair in mu if not is_mark(pair[0]))
