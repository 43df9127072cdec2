"""The run of the readable evaluator of event expressions: the one state of a deterministic automaton (vldb92, 4)."""

from __future__ import annotations

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.evaluate import TableRunner
from cerify.draw.automaton import diagram_of_dfa
from cerify.draw.recording import BEFORE, Labels, RecordedMatch, Recording, StateRow, Step, arrows, require_short
from cerify.semantics.budget import Budget
from cerify.semantics.event_expressions.syntax import Expression
from cerify.semantics.events import Match, Stream

LABELS = Labels(holds="State", holder="State", found="It takes place at", nothing="Not at this event.")


def record(E: Expression, S: Stream, query: str, budget: Budget = Budget()) -> Recording:
    """The run of an expression over a stream. Raises Unsupported, BudgetExceeded, and InputError for a late start."""
    require_short(S)
    A = compile_expression(E, S.schema, budget)
    diagram = diagram_of_dfa(A, f"Automaton of {query}")
    place = {state.name: k for k, state in enumerate(diagram.states)}
    evaluator = TableRunner([A])

    def state_rows() -> tuple[StateRow, ...]:
        q = evaluator.states[0]
        states = frozenset(place[name] for name in [str(q)] if name in place)
        holder = str(q) if states else f"{q}, after which it never again takes place"
        return (StateRow(holder, states, (), q in A.accepting),)

    steps = [Step(BEFORE, frozenset(), state_rows(), frozenset())]
    for n, event in enumerate(S):
        before = steps[-1].active
        found = tuple(RecordedMatch(Match(n, (n,)), ()) for _ in evaluator.push(event))
        row = state_rows()
        fired = arrows(diagram, ((p, q, "read") for p in before for q in row[0].states))
        steps.append(Step(n, fired, row, frozenset(), found))
    return Recording(query, S, diagram, (), (), tuple(steps), LABELS)
