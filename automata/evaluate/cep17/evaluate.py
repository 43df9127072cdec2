"""Evaluation under a selection strategy by the algorithms of cep17."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, assert_never

from cerify.automata.cea.model import CEA
from cerify.automata.evaluate.cep17.delta import Delta
from cerify.automata.evaluate.cep17.enumeration import complex_events, enum_all
from cerify.automata.evaluate.cep17.listed import Everything, Maximal, Strict
from cerify.automata.evaluate.cep17.ranked import Last, Next
from cerify.automata.evaluate.classify import classify
from cerify.semantics.budget import Budget
from cerify.semantics.events import Match, Stream

Strategy = Literal["all", "strict", "nxt", "last", "max"]
Evaluation = Everything | Maximal | Strict | Next | Last


def evaluation(A: CEA, strategy: Strategy, budget: Budget = Budget()) -> Evaluation:
    """An automaton on its way through a stream, under a strategy."""
    delta = Delta(A)
    match strategy:
        case "all":
            return Everything(delta, budget)
        case "strict":
            return Strict(delta, budget)
        case "nxt":
            return Next(delta)
        case "last":
            return Last(delta)
        case "max":
            return Maximal(delta, budget)
        case _:
            assert_never(strategy)


def evaluate(A: CEA, S: Stream, strategy: Strategy = "all", budget: Budget = Budget()) -> Iterator[Match]:
    """The complex events of an automaton under a strategy, lazily and in the order of positions.

    As in cep17 a run ends with a mark: a complex event is reported at its last position. Raises BudgetExceeded.
    """
    running = evaluation(A, strategy, budget)
    for n, type_ in enumerate(classify(running.A.A.predicates, S)):
        running.push(type_)
        for root in running.roots():
            for C in complex_events(enum_all(running.D, root)):
                yield Match(n, C)
