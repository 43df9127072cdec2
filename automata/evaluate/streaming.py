"""Evaluation of complex event automata: tods21, Algorithm 2, in readable Python.

Each event costs time in the number of active states, however many partial matches there are; what it completes is then
enumerated with output-linear delay. The automaton is I/O-determinized as the stream asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.cea.model import CEA
from cerify.automata.evaluate import answers, scoped
from cerify.automata.evaluate.ces import BOTTOM, CompactComplexEventSet, NodeList
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.evaluation_plan import AutomatonPlan, EvaluationPlan, required_plan
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_list
from cerify.automata.evaluate.spending import Spending
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, timed_items
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, Valuation, bindings_of


class Evaluation:
    """An automaton on its way through a stream."""

    def __init__(self, automaton: Determinized) -> None:
        self.automaton = automaton
        self.position = -1
        self.D = CompactComplexEventSet()
        self.T: dict[int, NodeList] = {0: (BOTTOM, BOTTOM)}

    def push(self, type_: int) -> None:
        """Read the next event, given its type as a bit mask (the update phase: lines 5 to 14)."""
        self.position += 1
        D, step, T = self.D, self.automaton.step, self.T
        T_: dict[int, NodeList] = {}
        for p, nodes in T.items():
            for marks, q in step(p, type_):
                if marks:
                    n = D.extend(self.position, marks, nodes)
                    start, end = n, n
                else:
                    start, end = nodes
                if q in T_:  # procedure ADD
                    first, last = T_[q]
                    D.append(last, start)
                    T_[q] = (first, end)
                else:
                    T_[q] = (start, end)
        self.T = T_

    def ends(self) -> Iterator[NodeList]:
        """The lists of complex events at the last position read."""
        return (nodes for q, nodes in self.T.items() if self.automaton.final[q])

    def completed(self) -> Iterator[list[int]]:
        """The complex events at the last position read, each as a path of nodes (procedure OUTPUT)."""
        for nodes in self.ends():
            yield from self.D.enumerate(nodes)


def evaluate(A: CEA, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """The matches of an automaton over a stream, lazily and in the order of positions. Raises BudgetExceeded."""
    return _read(Determinized(A if output == "valuations" else single_variable(A), budget), S, output)


def _read(automaton: Determinized, S: Stream, output: Output) -> Iterator[Match]:
    evaluation = Evaluation(automaton)
    D = evaluation.D
    for n, type_ in enumerate(timed_items(classify(evaluation.automaton.A.predicates, S))):
        evaluation.push(type_)
        for path in evaluation.completed():
            bindings = bindings_of(D.valuation(path)) if output == "valuations" else None
            yield Match(n, D.complex_event(path), bindings)


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches of a formula over a stream, sorted. Raises Unsupported, BudgetExceeded."""
    return answers.at_most(budget.matches, found(phi, S, output, budget))


def found(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """The matches of a formula, lazily and in the order of positions. Raises Unsupported, BudgetExceeded."""
    return planned(required_plan(phi, budget), S, output, budget)


def planned(plan: EvaluationPlan, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> Iterator[Match]:
    """As `found`, of a formula's plan."""
    if not isinstance(plan, AutomatonPlan) or plan.checks:
        return answers.found(plan, S, output, budget, passing)
    scope = plan.scope
    if scope.everything:
        return _read(lazily(scope.core, budget, None if output == "valuations" else single_variable), S, output)
    return scoped.evaluate(scope, S, output, budget)


def passing(
    query: AutomatonPlan, automaton: Determinized, S: Stream, budget: Budget, spending: Spending
) -> Iterator[tuple[int, Valuation]]:
    """The valuations of a formula that satisfy its filters; each is abandoned where the first one fails."""
    scope, checker = query.scope, CorrelatedFilterChecker(query.checks, S, spending)
    pass_ = _passing(automaton, S, checker) if scope.everything else scoped.passing(automaton, scope, S, checker)
    return ((n, answers.without_marks(mu)) for n, mu in pass_)


def _passing(automaton: Determinized, S: Stream, checker: CorrelatedFilterChecker) -> Iterator[tuple[int, Valuation]]:
    evaluation = Evaluation(automaton)
    for n, type_ in enumerate(timed_items(classify(evaluation.automaton.A.predicates, S))):
        evaluation.push(type_)
        for nodes in evaluation.ends():
            for path in in_list(evaluation.D, nodes, checker):
                yield n, evaluation.D.valuation(path)


def count(phi: Formula, S: Stream, budget: Budget = Budget()) -> Iterator[int]:
    """The number of matches at each position, without enumerating them. Raises Unsupported, BudgetExceeded.

    The numbers are exact. One run for each complex event is what I/O-determinism gives, so it is runs that are counted;
    under windows and partitions see scoped.count. Where filters compare events the matches are enumerated all the same.
    """
    plan = required_plan(phi, budget)
    if not isinstance(plan, AutomatonPlan) or plan.checks:
        numbers = Counter(match.at for match in planned(plan, S, budget=budget))
        yield from (numbers[n] for n in range(len(S)))
        return
    if not plan.scope.everything:
        yield from scoped.count(plan.scope, S, budget)
        return
    automaton = lazily(plan.scope.core, budget, single_variable)
    runs = {0: 1}
    for type_ in timed_items(classify(automaton.A.predicates, S)):
        runs_: dict[int, int] = {}
        for p, number in runs.items():
            for _, q in automaton.step(p, type_):
                runs_[q] = runs_.get(q, 0) + number
        runs = runs_
        yield sum(number for q, number in runs.items() if automaton.final[q])
