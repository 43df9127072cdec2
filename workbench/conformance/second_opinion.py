"""A second opinion on a query and a stream: the matches by the plain definition, which skips no clause."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget
from cerify.semantics.cel import denote as cel_denote
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.registered import require_registered
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.interpreter import by_clauses
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.events import Match, Stream, bindings_of

PlainDefinition: TypeAlias = Callable[[Any, Stream, Output, Budget], Iterator[Match]]
"""The matches of a query by the clauses alone. Raises BudgetExceeded, Unsupported."""

CLAUSES = Budget(valuations=50_000)
"""How many clauses are followed, which bounds the time: without a memory a query over a long stream has too many."""


def plain_cel(phi: cel.Formula, S: Stream, output: Output, budget: Budget) -> Iterator[Match]:
    """The matches of a CEL formula by tods21, Figure 3, clause by clause."""
    require_registered(phi, {})
    followed = 0

    def meaning(psi: cel.Formula, i: int, j: int) -> cel_denote.Valuations:
        nonlocal followed
        followed += 1
        if followed > budget.valuations:
            raise BudgetExceeded(f"more than {budget.valuations} clauses were followed")
        return frozenset(cel_denote.clause(psi, S, i, j, meaning))

    for n in range(len(S)):
        for mu in meaning(phi, 0, n):
            bindings = bindings_of(mu) if output == "valuations" else None
            yield Match(n, tuple(sorted(cel_denote.sup(mu))), bindings)


def plain_core_cel(phi: core.Formula, S: Stream, output: Output, budget: Budget) -> Iterator[Match]:
    """The matches of a core-CEL formula by cep17, section 3, clause by clause, under every valuation."""
    yield from by_clauses(phi, S, budget)


def plain_event_expression(E: expr.Expression, S: Stream, output: Output, budget: Budget) -> Iterator[Match]:
    """The matches of an event expression by vldb92, clause by clause; prefix searches through histories to come."""
    yield from (Match(e, (e,)) for e in sorted(takes_place(E, S, budget, plain=True)))


PLAIN: Mapping[str, PlainDefinition] = {
    "cel": plain_cel,
    "core-cel": plain_core_cel,
    "event-expression": plain_event_expression,
}
"""The plain definition of each language that has one apart from its interpreter."""


def second_opinion(
    language: str, query: Any, S: Stream, output: Output, budget: Budget = CLAUSES
) -> frozenset[Match] | None:
    """The matches of a parsed query by the plain definition; None if the language has none, or the budget ends."""
    if language not in PLAIN:
        return None
    try:
        return frozenset(PLAIN[language](query, S, output, budget))
    except (BudgetExceeded, Unsupported, RecursionError):
        return None


@dataclass(frozen=True)
class SecondOpinionIn:
    """`second_opinion` in one language, as campaigns take it."""

    language: str

    def __call__(self, query: Any, S: Stream, output: Output) -> frozenset[Match] | None:
        return second_opinion(self.language, query, S, output)
