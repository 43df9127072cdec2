"""Which selection strategies select the same from a formula."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations

from cerify.equivalence.claim import Level
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.verdict import Verdict
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Schema

STRATEGIES: Mapping[str, type[cel.Strategy] | None] = {
    "none": None,
    "STRICT": cel.Strict,
    "NXT": cel.Next,
    "LAST": cel.Last,
    "MAX": cel.Max,
}
"""The strategies of tods21, section 7.1; and to select nothing, that is, to keep all matches."""


def coinciding(
    phi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> dict[tuple[str, str], Verdict]:
    """For each two strategies, whether they select the same from the formula on every stream.

    A difference comes with a shortest stream, sameness with a certificate.
    """
    selected = {name: phi if strategy is None else strategy(phi) for name, strategy in STRATEGIES.items()}
    return {
        (left, right): equivalent(selected[left], selected[right], level, schema, budget)
        for left, right in combinations(selected, 2)
    }
