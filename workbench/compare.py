"""Two queries compared: decided where automata can, else on all streams up to a length."""

from __future__ import annotations

from typing import Literal

from cerify.automata.cea.compile import compilable
from cerify.equivalence.claim import Claim, Level
from cerify.equivalence.decide.cel import contained as decide_contained
from cerify.equivalence.decide.cel import equivalent as decide_equivalent
from cerify.equivalence.decide.expressions import ExpressionVerdict
from cerify.equivalence.decide.expressions import contained as contained_expressions
from cerify.equivalence.decide.expressions import equivalent as equivalent_expressions
from cerify.equivalence.rewrite.translate.to_cel import to_cel
from cerify.equivalence.verdict import Undecided, Verdict
from cerify.semantics.budget import Budget
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.cel.wellformed import require_typed
from cerify.semantics.core_cel import parse as core_parse
from cerify.semantics.core_cel import wellformed as core_wellformed
from cerify.semantics.errors import IllFormed, Unsupported, errors_in
from cerify.semantics.event_expressions import parse as expr_parse
from cerify.semantics.event_expressions import wellformed as expr_wellformed
from cerify.semantics.event_expressions.syntax import Expression
from cerify.semantics.events import Schema

BOUND = 4
Language = Literal["cel", "core-cel"]


def equivalent(
    left: str | Formula,
    right: str | Formula,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[Language, Language] = ("cel", "cel"),
    budget: Budget = Budget(),
) -> Verdict:
    """Whether two queries have the same complex events, or valuations, at every position of every stream.

    languages are those of the left and the right; one in core-CEL is translated to CEL, and has only complex events.
    For unary queries, with windows of so many events, the answer is Equivalent, with a certificate, or Different, with
    a shortest stream. Queries that compare events with each other are compared on all streams of up to bound events:
    Bounded says that these do not differ. Undecided says why there is no answer. Raises ParseError, IllFormed.
    """
    return _compared(left, right, "equivalent", level, schema, bound, languages, budget)


def contained(
    left: str | Formula,
    right: str | Formula,
    *,
    level: Level = "events",
    schema: Schema | None = None,
    bound: int = BOUND,
    languages: tuple[Language, Language] = ("cel", "cel"),
    budget: Budget = Budget(),
) -> Verdict:
    """Whether the right query has all that the left one has; as equivalent, with Contained for Equivalent."""
    return _compared(left, right, "contained", level, schema, bound, languages, budget)


def expressions(
    left: str | Expression,
    right: str | Expression,
    claim: Claim = "equivalent",
    *,
    schema: Schema | None = None,
    budget: Budget = Budget(),
) -> ExpressionVerdict:
    """Whether two event expressions take place at the same events of every history, or the right where the left does.

    The answer is Equivalent or Contained, Different with a shortest history, or Undecided, as for some expressions with
    attribute variables.
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
    languages: tuple[Language, Language],
    budget: Budget,
) -> Verdict:
    if level == "valuations" and "core-cel" in languages:
        raise IllFormed("the answer of a core-CEL query is its complex events; compare at the level of events")
    try:
        phi, psi = (_formula(query, spoken, schema) for query, spoken in zip((left, right), languages, strict=True))
    except Unsupported as error:
        return Undecided(error.described())
    if compilable(phi) and compilable(psi):
        return (decide_equivalent if claim == "equivalent" else decide_contained)(phi, psi, level, schema, budget)
    if bound == 0:
        return Undecided("a query compares events with each other, and with a bound of 0 no stream is looked at")
    from cerify.equivalence.bounded.compare import compare

    return compare(phi, psi, bound, level, claim == "contained", schema, budget=budget)


def _formula(query: str | Formula, language: Language, schema: Schema | None) -> Formula:
    with errors_in(query if isinstance(query, str) else ""):
        if language == "core-cel" and isinstance(query, str):
            chi = core_parse.parse(query)
            if schema is not None:
                core_wellformed.require_typed(chi, schema)
            return to_cel(chi)
        phi = parse(query) if isinstance(query, str) else query
        if schema is not None:
            require_typed(phi, schema)
        return phi


def _expression(query: str | Expression, schema: Schema | None) -> Expression:
    with errors_in(query if isinstance(query, str) else ""):
        E = expr_parse.parse(query) if isinstance(query, str) else query
        if schema is not None:
            expr_wellformed.require_typed(E, schema)
        return E
