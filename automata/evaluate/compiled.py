"""All matches over a whole stream by compiled loops: the same answers as streaming.py, at the speed of the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate import answers, streaming
from cerify.automata.evaluate.batches import EventBatch
from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, EvaluationPlan, required_plan
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, ListNodes, in_reference
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.scope import within_width
from cerify.automata.evaluate.scope_columns import ascends
from cerify.automata.evaluate.spending import Spending
from cerify.automata.evaluate.stores import unwindowed_store
from cerify.automata.evaluate.tables import tabulate, transition_tables
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, Valuation


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches of a formula over a stream, sorted. Raises Unsupported, BudgetExceeded."""
    return planned(required_plan(phi, budget), S, output, budget)


def planned(plan: EvaluationPlan, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """As `matches`, of a formula's plan; a window on values that decrease is checked for each match."""
    if not isinstance(plan, AutomatonPlan) or plan.checks:
        return answers.at_most(budget.matches, answers.found(plan, S, output, budget, passing))
    widths = tuple((a, width) for a, width in plan.scope.widths if ascends(S.table, a))
    scope, checked = replace(plan.scope, widths=widths), set(plan.scope.widths) - set(widths)
    found = CompiledCelEvaluator(scope.core, output, budget=budget, scope=scope).read(S)
    return [m for m in found if all(within_width(width, [S[i].get(a) for i in m.events]) for a, width in checked)]


def passing(
    query: AutomatonPlan, automaton: Determinized, S: Stream, budget: Budget, spending: Spending
) -> Iterator[tuple[int, Valuation]]:
    """The valuations of a formula that satisfy its filters; each is abandoned at the first event with which one fails.

    The loops read the stream, and their nodes are enumerated in Python. Under windows and partitions that is no faster
    than the readable evaluator, which is used there.
    """
    if not query.scope.everything:
        return streaming.passing(query, automaton, S, budget, spending)
    checker = CorrelatedFilterChecker(query.checks, S, spending)
    return _passing(unwindowed_store(labelled=True), automaton, S, checker, budget)


def _passing(
    store: MatchStore, automaton: Determinized, S: Stream, checker: CorrelatedFilterChecker, budget: Budget
) -> Iterator[tuple[int, Valuation]]:
    classes, types = classified(automaton.A.predicates, S)
    tables = tabulate(automaton, types, budget)
    store.resize(tables.final.size, 1)
    for roots in store.advance(EventBatch.of_classes(classes), transition_tables(tables)):
        marks = [tables.labels[label] for label in store.labels.tolist()]
        nodes = ListNodes(store.positions.tolist(), marks, *store.tree[1:3, : store.nodes].tolist())
        for position, ref, _ in roots.tolist():
            for mu in in_reference(nodes, ref, checker):
                yield position, answers.without_marks(mu)
