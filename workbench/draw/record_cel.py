"""The run of the readable evaluators of CEL: tods21, Algorithms 1 and 2, and what it becomes under windows and keys.

It is automata/evaluate/streaming.py, and scoped.py where a window or a partition stands around the formula, that read
the events; after each event it is written down what they hold.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate import answers
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker
from cerify.automata.evaluator import Output
from cerify.draw.automaton import diagram_of_cea
from cerify.draw.diagram import Diagram
from cerify.draw.record_lists import Lists
from cerify.draw.record_run import Run
from cerify.draw.record_series import Series
from cerify.draw.recording import (
    BEFORE,
    MOST_FOUND,
    Found,
    Labels,
    Recording,
    StateRow,
    Step,
    arrows,
    require_short,
)
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, bindings_of

SETS = (
    "The evaluator follows sets of states, so that each complex event is found once: a row of the table is a set, and "
    "a state is active if it is in one of them."
)
LISTS = "A state has a list of nodes; each path from one of them down to ⊥ is a partial match."
SERIES = "A state has, for each key, a series of nodes; each path from one of them down to ⊥ is a partial match."
ANY_VARIABLE = "• marks an event as one of the match, whatever variables bind it; with --valuations they are shown."
CHECKED = (
    "What the automaton finds is checked against the filters that compare events; only what passes is listed. A name "
    "that begins with ◦ marks an event that such a filter looks at."
)

LABELS = Labels(
    holds="Nodes of the states",
    holder="States",
    found="Complex events at this event",
    nothing="None.",
)

MOST_PATHS = 20 * MOST_FOUND  # under checks several paths can stand for one match


def record(phi: Formula, S: Stream, query: str, output: Output = "matches", budget: Budget = Budget()) -> Recording:
    """The run of a formula over a stream. Raises Unsupported where it takes more than one automaton, BudgetExceeded."""
    require_short(S)
    plan = answers.required_plan(phi, budget)
    if isinstance(plan, answers.Applied):
        raise plan.refused
    scope, checks = plan.scope, plan.checks
    automaton = lazily(scope.core, budget, partial(answers.kept_marks, output=output))
    checker = CorrelatedFilterChecker(checks, S, budget) if checks else None
    run: Run = Lists(automaton, checker) if scope.everything else Series(automaton, scope, S, checker)
    diagram = diagram_of_cea(automaton.A, f"Automaton of {query}")
    steps = [_step(run, automaton, frozenset())]
    for n, type_ in enumerate(classify(automaton.A.predicates, S)):
        before = steps[-1].active
        run.push(n, type_)
        found, more = _found(run, n, output)
        fired = _fired(automaton, diagram, before, type_)
        steps.append(_step(run, automaton, fired, n, found, more))
    notes = [SETS, LISTS if scope.everything else SERIES]
    if output == "matches":
        notes.append(ANY_VARIABLE)
    if checks:
        notes.append(CHECKED)
    labels = LABELS if output == "matches" else replace(LABELS, labelled=", and the variables that bind it")
    graph = run.graph
    return Recording(query, S, diagram, tuple(graph.nodes), tuple(graph.links), tuple(steps), labels, tuple(notes))


def _step(
    run: Run,
    automaton: Determinized,
    fired: frozenset[int],
    n: int = BEFORE,
    found: tuple[Found, ...] = (),
    more: bool = False,
) -> Step:
    rows = []
    for q, key, nodes in run.state_rows():
        states = automaton.subsets[q]
        name = f"{{{', '.join(map(str, sorted(states)))}}}"
        rows.append(StateRow(f"{name} · {key}" if key else name, states, nodes, automaton.final[q]))
    return Step(n, fired, tuple(rows), run.live(), found, more)


def _found(run: Run, n: int, output: Output) -> tuple[tuple[Found, ...], bool]:
    """The first matches at a position, each once, and whether there are more."""
    found: dict[Match, Found] = {}
    for number, (path, mu) in enumerate(run.paths()):
        if len(found) == MOST_FOUND or number == MOST_PATHS:
            return tuple(found.values()), True
        events = tuple(sorted({p for _, p in mu}))
        match = Match(n, events, bindings_of(answers.without_marks(mu)) if output == "valuations" else None)
        found.setdefault(match, Found(match, path))
    return tuple(found.values()), False


def _fired(automaton: Determinized, diagram: Diagram, before: frozenset[int], type_: int) -> frozenset[int]:
    followed = (
        (p, q, "take" if marks else "ignore") for p in before for bit, marks, q in automaton.A.steps[p] if type_ & bit
    )
    return arrows(diagram, followed)
