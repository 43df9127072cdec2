"""Two queries compared: decided where automata can, else on all streams up to a length."""

from __future__ import annotations

from typing import Literal

from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide import contained as decide_contained
from cerify.equivalence.decide import equivalent as decide_equivalent
from cerify.equivalence.decide_expressions import ExpressionVerdict
from cerify.equivalence.decide_expressions import contained as contained_expressions
from cerify.equivalence.decide_expressions import equivalent as equivalent_expressions
from cerify.equivalence.verdict import Level, Undecided, Verdict
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.errors import errors_in
from cerify.semantics.events import Schema
from cerify.semantics.gehani import parse as ev_parse
from cerify.semantics.gehani import wellformed as ev_wellformed
from cerify.semantics.gehani.syntax import Expression

BOUND = 4
Claim = Literal["equivalent", "contained"]


def equivalent(
    left: str | Formula,
    right: str | Formula,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    budget: Budget = Budget(),
) -> Verdict:
    """Whether two CEL queries have the same complex events, or valuations, at every position of every stream.

    For unary queries, with windows of so many events, the answer is Equivalent, with a certificate, or Different, with
    a shortest stream. Queries that compare events with each other are compared on all streams of up to bound events:
    Bounded says that these do not differ. Undecided says why there is no answer. Raises ParseError, IllFormed.
    """
    return _compared(left, right, "equivalent", level, schema, bound, budget)


def contained(
    left: str | Formula,
    right: str | Formula,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    budget: Budget = Budget(),
) -> Verdict:
    """Whether the right query has all that the left one has; as equivalent, with Contained for Equivalent."""
    return _compared(left, right, "contained", level, schema, bound, budget)


def expressions(
    left: str | Expression,
    right: str | Expression,
    claim: Claim = "equivalent",
    *,
    schema: Schema | None = None,
    budget: Budget = Budget(),
) -> ExpressionVerdict:
    """Whether two event expressions take place at the same events of every history, or the right where the left does.

    The answer is Proved, Different with a shortest history, or Undecided, as for expressions with attribute variables.
    Raises ParseError, IllFormed.
    """
    E, F = _expression(left, schema), _expression(right, schema)
    return (equivalent_expressions if claim == "equivalent" else contained_expressions)(E, F, schema, budget)


def _compared(
    left: str | Formula,
    right: str | Formula,
    claim: Claim,
    level: Level,
    schema: Schema | None,
    bound: int,
    budget: Budget,
) -> Verdict:
    phi, psi = _formula(left, schema), _formula(right, schema)
    if compilable(phi) and compilable(psi):
        return (decide_equivalent if claim == "equivalent" else decide_contained)(phi, psi, level, schema, budget)
    if bound == 0:
        return Undecided("one of the queries compares events with each other, and no length was given to look at")
    from cerify.equivalence.bounded import compare

    return compare(phi, psi, bound, level, claim == "contained", schema, budget=budget)


def _formula(query: str | Formula, schema: Schema | None) -> Formula:
    with errors_in(query if isinstance(query, str) else ""):
        phi = parse(query) if isinstance(query, str) else query
        if schema is not None:
            require_typed(phi, schema)
        return phi


def _expression(query: str | Expression, schema: Schema | None) -> Expression:
    with errors_in(query if isinstance(query, str) else ""):
        E = ev_parse.parse(query) if isinstance(query, str) else query
        if schema is not None:
            ev_wellformed.require_typed(E, schema)
        return E
