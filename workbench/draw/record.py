"""The run of a query over a stream, by the readable evaluator of its language."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from cerify.automata.evaluator import Output
from cerify.draw.recording import Recording
from cerify.semantics.budget import Budget
from cerify.semantics.errors import IllFormed, Unsupported, errors_in
from cerify.semantics.events import Event, Stream


def record(
    query: str,
    events: Stream | Iterable[Event],
    language: str = "cel",
    output: Output = "matches",
    budget: Budget = Budget(),
) -> Recording:
    """The run of a query over a stream, event by event, taken from the evaluator in readable Python.

    With output="valuations", for CEL, nodes keep the variables that mark their events. Raises ParseError, IllFormed,
    Unsupported where it is not one automaton that carries the query, and BudgetExceeded for what nobody could look at.
    """
    if language not in RECORDERS:
        raise IllFormed(f"there is no run to show of the language {language!r}; there is for {', '.join(RECORDERS)}")
    if output == "valuations" and language != "cel":
        raise Unsupported("it is for CEL that a run can be asked to keep variables")
    with errors_in(query):
        S = events if isinstance(events, Stream) else Stream(events)
        return RECORDERS[language](query, S, output, budget)


def _cel(query: str, S: Stream, output: Output, budget: Budget) -> Recording:
    from cerify.draw.record_cel import record
    from cerify.semantics.cel.parse import parse
    from cerify.semantics.cel.wellformed import require_typed

    phi = parse(query)
    if S.schema is not None:
        require_typed(phi, S.schema)
    return record(phi, S, _line(query), output, budget)


def _core_cel(query: str, S: Stream, output: Output, budget: Budget) -> Recording:
    from cerify.draw.record_cel import record
    from cerify.equivalence.rewrite.translate.to_cel import to_cel
    from cerify.semantics.core_cel.parse import parse
    from cerify.semantics.core_cel.wellformed import require_typed

    phi = parse(query)
    if S.schema is not None:
        require_typed(phi, S.schema)
    return record(to_cel(phi, budget), S, _line(query), output, budget)


def _event_expression(query: str, S: Stream, output: Output, budget: Budget) -> Recording:
    from cerify.draw.record_expression import record
    from cerify.semantics.event_expressions.parse import parse
    from cerify.semantics.event_expressions.wellformed import require_typed

    E = parse(query)
    if S.schema is not None:
        require_typed(E, S.schema)
    return record(E, S, _line(query), budget)


def _sase(query: str, S: Stream, output: Output, budget: Budget) -> Recording:
    from cerify.draw.record_sase import record
    from cerify.semantics.sase.parse import parse
    from cerify.semantics.sase.wellformed import require_typed, require_wellformed

    q = parse(query)
    require_wellformed(q)
    if S.schema is not None:
        require_typed(q, S.schema)
    return record(q, S, _line(query), budget=budget)


def _line(query: str) -> str:
    return " ".join(query.split())


RECORDERS: Mapping[str, Callable[[str, Stream, Output, Budget], Recording]] = {
    "cel": _cel,
    "core-cel": _core_cel,
    "event-expression": _event_expression,
    "sase": _sase,
}
"""How the run of a query is recorded, by language."""
