"""The built-in evaluators by name, and `match`, which runs one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import Interpreter, sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import IllFormed, errors_in
from cerify.semantics.events import Event, Match, Stream, bindings_of

Output = Literal["matches", "valuations"]
Evaluator = Callable[[Formula, Stream, Output, Budget], list[Match]]


def denotational(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches at all positions, sorted, straight from the definition. Raises Unsupported, BudgetExceeded."""
    interpreter = Interpreter(S, budget)
    found: set[Match] = set()
    for n in range(len(S)):
        for mu in interpreter.meaning(phi, 0, n):
            bindings = bindings_of(mu) if output == "valuations" else None
            found.add(Match(n, tuple(sorted(sup(mu))), bindings))
    return sorted(found)


def automaton(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches at all positions, sorted, by a complex event automaton. Raises Unsupported, BudgetExceeded."""
    from cerify.automata.evaluate.streaming import matches

    return matches(phi, S, output, budget)


def kernel(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As automaton, in compiled loops. Raises Unsupported, also where numba is not installed, and BudgetExceeded."""
    from cerify.automata.evaluate.compiled import matches

    return matches(phi, S, output, budget)


EVALUATORS: Mapping[str, Evaluator] = {"denotational": denotational, "automaton": automaton, "kernel": kernel}


def match(
    query: str | Formula,
    events: Stream | Iterable[Event],
    *,
    evaluator: str = "automaton",
    output: Output = "matches",
    budget: Budget = Budget(),
) -> list[Match]:
    """All matches of a CEL query over a stream, sorted by position.

    With output="valuations" a match also says what each variable holds, and two matches may differ in that alone. If
    the stream has a schema the query is checked against it first. Raises ParseError, IllFormed, Unsupported,
    BudgetExceeded.
    """
    from cerify.semantics.cel.wellformed import require_typed

    if evaluator not in EVALUATORS:
        raise IllFormed(f"there is no evaluator {evaluator!r}; use one of {', '.join(EVALUATORS)}")
    S = events if isinstance(events, Stream) else Stream(events)
    text = query if isinstance(query, str) else ""
    with errors_in(text):
        phi = parse(query) if isinstance(query, str) else query
        if S.schema is not None:
            require_typed(phi, S.schema)
        return EVALUATORS[evaluator](phi, S, output, budget)
