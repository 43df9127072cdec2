"""What an event is to an event expression: its occurrences there, or why there is none; as JSON and as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from cerify.explanations.absence import Absence, absences
from cerify.explanations.evidence import row, value_text
from cerify.explanations.explainer import Json
from cerify.explanations.step import Step, json_of_tree, tree_of
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.bindings import Bindings
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.occurrences import Occurrence, Occurrences, occurrence_tuple, occurrences
from cerify.semantics.event_expressions.operators import OPERATORS
from cerify.semantics.event_expressions.show import show
from cerify.semantics.events import Stream

CLAUSES: Mapping[type, str] = {
    **{node: operator.clause.removeprefix("vldb92 section ") for node, operator in OPERATORS.items()},
    expr.Prior: "2.3, c",
}


@dataclass(frozen=True)
class TakesPlace:
    """The expression takes place at the event: the requested number of occurrences; more: whether there are others."""

    at: int
    occurrences: tuple[Occurrence, ...]
    more: bool


@dataclass(frozen=True)
class DoesNot:
    """The expression does not take place at the event, for these reasons."""

    at: int
    reasons: tuple[Absence, ...]


def explain_event(
    E: expr.Expression, S: Stream, e: int, count: int = 1, budget: Budget = Budget()
) -> TakesPlace | DoesNot:
    """Why E takes place at the event e of S, or why it does not. Raises InputError, Unsupported, BudgetExceeded."""
    if not 0 <= e < len(S):
        raise InputError(f"position {e} is not on the stream, which has {len(S)} events")
    S = S.part(0, e + 1)  # what takes place at an event depends on no later one
    found = list(islice(occurrences(E, S, e, budget), count + 1))
    if found:
        return TakesPlace(e, tuple(found[:count]), len(found) > count)
    return DoesNot(e, absences(Occurrences(E, S, budget), e))


def explain_events(E: expr.Expression, S: Stream, budget: Budget = Budget()) -> Iterator[TakesPlace]:
    """Every event at which E takes place, in order, each with an occurrence. Raises Unsupported, BudgetExceeded."""
    for e in sorted(takes_place(E, S, budget)):
        found = explain_event(E, S, e, 1, budget)
        assert isinstance(found, TakesPlace)
        yield found


def as_json(found: TakesPlace | DoesNot, E: expr.Expression, S: Stream) -> Json:
    """What an event is to the expression, as one JSON object; intervals are [f, e], both inclusive."""
    head: Json = {"query": show(E), "events": [found.at], "at": found.at}
    match found:
        case TakesPlace(_, listed, more):
            trees = [json_of_tree(steps_of(one, S)) | {"tuple": occurrence_tuple(one)} for one in listed]
            return {**head, "match": True, "derivations": trees, "more": more}
        case DoesNot(_, reasons):
            said = [
                {"formula": show(reason.expression), "interval": [reason.start, reason.at], "message": reason.why}
                for reason in reasons
            ]
            return {**head, "match": False, "reasons": said}


def citation(E: expr.Expression) -> str:
    """Where the paper defines the operator."""
    return f"vldb92 {CLAUSES[type(E)]}"


def facts(found: Occurrence, S: Stream) -> list[str]:
    """What an occurrence rests on that is no occurrence of an operand."""
    E = found.expression
    if isinstance(E, expr.Primitive):
        return [row(S[found.at])]
    if isinstance(E, expr.Not):
        return [f"{show(E.operand)} does not take place there"]
    if isinstance(E, expr.Prefix):
        return [f"{show(E.operand)} may take place at an event to come"]
    return []


def below(found: Occurrence) -> list[Occurrence]:
    """The occurrences of the operands that an occurrence rests on."""
    return [part for part in found.parts if part is not None]


def steps_of(root: Occurrence, S: Stream) -> Step:
    """An occurrence as a tree of steps."""

    def step(found: Occurrence, children: tuple[Step, ...]) -> Step:
        cited = citation(found.expression)
        fields: Json = {"formula": show(found.expression), "interval": [found.start, found.at], "citation": cited}
        if found.bound:
            fields["bindings"] = {name: _json_value(to) for name, (_, to) in sorted(found.bound)}
        where, known = f"from {found.start} at {found.at}", tuple(facts(found, S))
        return Step(show(found.expression), where, bound_text(found.bound), cited, known, children, json=fields)

    return tree_of(root, below, step)


def _json_value(value: Any) -> Any:
    return value if isinstance(value, bool | int | float | str) else value.isoformat()


def bound_text(b: Bindings) -> str:
    """What variables are, in words."""
    shown = ((name, sort, to) for name, (sort, to) in sorted(b))
    return ", ".join(f"{name} is {f'event {to}' if sort == 'position' else value_text(to)}" for name, sort, to in shown)
