"""All matches over a whole stream by compiled loops: the same answers as streaming.py, at the speed of the hardware."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from cerify.automata.cea.blowup_diagnosis import lazily
from cerify.automata.cea.io_determinize import Determinized
from cerify.automata.evaluate import answers, streaming
from cerify.automata.evaluate.batches import EventBatch
from cerify.automata.evaluate.ces import CompactComplexEventSet
from cerify.automata.evaluate.classify import classified
from cerify.automata.evaluate.compiled_evaluator import CompiledCelEvaluator
from cerify.automata.evaluate.decorrelation import Decorrelated
from cerify.automata.evaluate.filter_checker import CorrelatedFilterChecker, in_list
from cerify.automata.evaluate.match_store import MatchStore
from cerify.automata.evaluate.partitions import partitioned
from cerify.automata.evaluate.scope import Unordered, strip_windows, within_width, without_widths
from cerify.automata.evaluate.stores import unwindowed_store
from cerify.automata.evaluate.tables import tabulate, transition_tables
from cerify.automata.evaluator import Output
from cerify.semantics.budget import Budget, depth_limited
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, Valuation


def matches(phi: Formula, S: Stream, output: Output = "matches", budget: Budget = Budget()) -> list[Match]:
    """All matches of a formula over a stream, sorted; a window on values that decrease is checked for each match.

    Raises Unsupported, BudgetExceeded.
    """
    with depth_limited(phi.span):
        phi = partitioned(phi)
    if answers.needs_checks(phi):
        return answers.at_most(budget.matches, answers.found(phi, S, output, budget, passing))
    try:
        return CompiledCelEvaluator(phi, output, budget=budget).read(S)
    except Unordered:
        scope = strip_windows(phi)
        found = matches(without_widths(scope), S, output, budget)
        return [
            m for m in found if all(within_width(width, [S[i].get(a) for i in m.events]) for a, width in scope.widths)
        ]


def passing(query: Decorrelated, S: Stream, output: Output, budget: Budget) -> Iterator[tuple[int, Valuation]]:
    """The valuations of a formula that satisfy its filters; each is abandoned at the first event with which one fails.

    The loops read the stream, and their nodes are enumerated in Python. Under windows and partitions that is no faster
    than the readable evaluator, which is used there.
    """
    if not strip_windows(query.phi).everything:
        return streaming.passing(query, S, output, budget)
    automaton = lazily(query.phi, budget, partial(answers.kept_marks, output=output))
    return _passing(unwindowed_store(), automaton, S, CorrelatedFilterChecker(query.checks, S, budget), budget)


def _passing(
    store: MatchStore, automaton: Determinized, S: Stream, checker: CorrelatedFilterChecker, budget: Budget
) -> Iterator[tuple[int, Valuation]]:
    classes, types = classified(automaton.A.predicates, S)
    tables = tabulate(automaton, types, budget)
    store.resize(tables.final.size, 1)
    for roots in store.advance(EventBatch.of_classes(classes), transition_tables(tables)):
        D, tree = CompactComplexEventSet(), store.tree[: store.nodes]
        D.event, D.marks = tree["event"].tolist(), [tables.labels[label] for label in tree["label"].tolist()]
        D.first, D.last, D.next = tree["first"].tolist(), tree["last"].tolist(), tree["next"].tolist()
        for position, first, last, _ in roots.tolist():
            for path in in_list(D, (first, last), checker):
                yield position, answers.without_marks(D.valuation(path))
