"""Hypotheses about core-CEL: an interpreter of section 3 of cep17 in which the meaning of each operator is a choice.

As in cerify.semantics.core_cel.interpreter, a formula has pairs (C, nu): C is a complex event of the formula under
every valuation that extends nu. Here the pairs of a formula for all first positions are computed at once, because a
choice may compare them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import count
from typing import TypeAlias, assert_never

from cerify.automata.evaluator import Output
from cerify.hypotheses.cel import (
    FILTER,
    FILTER_CONDITIONS,
    FILTER_CONNECTIVES,
    KEEPS,
    OR,
    SELECTION_AXES,
    SEQUENCES,
    STRATEGIES,
    loop_axis,
    sequence_axis,
)
from cerify.hypotheses.interpretation import (
    AT_MOST,
    EMIT,
    EVENT_ORDER,
    OVERLAP,
    TIES,
    WINDOW_DEFAULT,
    Choices,
    ConditionVariant,
    Interpretation,
    Stage,
    Template,
    axes,
    conditions,
    events,
    selections,
    types,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import defined_outside_iteration, free, mentioned
from cerify.semantics.core_cel.denote import Valuation
from cerify.semantics.core_cel.interpreter import extensions, is_function, without
from cerify.semantics.core_cel.syntax import OPERATORS
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent, Match, Stream

Pair: TypeAlias = tuple[ComplexEvent, Valuation]
Pairs: TypeAlias = frozenset[Pair]

AXES = axes(
    sequence_axis("seq", SEQUENCES),
    loop_axis("loop", ("all", "omit-nothing", "contiguous", "at-least-two", "single", *AT_MOST), "plus"),
    OVERLAP,
    EMIT,
    EVENT_ORDER,
    TIES,
    WINDOW_DEFAULT,
    FILTER,
    FILTER_CONNECTIVES,
    *FILTER_CONDITIONS,
    OR,
    *SELECTION_AXES,
)


def find_matches(phi: core.Formula, S: Stream, choices: Choices, output: Output, budget: Budget) -> Iterable[Match]:
    """Return the complex events, each at its last position. Raises EngineError and BudgetExceeded."""
    return {Match(max(C), tuple(sorted(C))) for C, _ in CoreVariant(S, choices, budget).meaning(phi)}


def operators(phi: core.Formula) -> frozenset[str]:
    """Return the names of the operators in a formula."""
    return frozenset(OPERATORS[type(psi)].name for psi in core.subformulas(phi))


class CoreVariant:
    """An interpreter that finds the matches of formulas over one stream for an engine with these choices.

    A match is a pair of a complex event and a valuation. The pairs of each formula are computed once.
    """

    def __init__(self, S: Stream, choices: Choices, budget: Budget) -> None:
        self.S, self.choices, self.budget = S, choices, budget
        self.conditions = ConditionVariant(choices)
        self._made = 0
        self._computed: dict[int, Pairs] = {}

    def meaning(self, phi: core.Formula) -> Pairs:
        """Return the pairs (complex event, valuation) of phi. Raises BudgetExceeded."""
        if (pairs := self._computed.get(id(phi))) is None:
            pairs = self._computed[id(phi)] = frozenset(self.limit_items(self.clause(phi)))
        return pairs

    def limit_items(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """Yield these pairs (complex event, valuation), and count them.

        Raises BudgetExceeded if all formulas together have more pairs than the budget allows.
        """
        for pair in pairs:
            self._made += 1
            if self._made > self.budget.valuations:
                raise BudgetExceeded(
                    f"the query needs more than {self.budget.valuations} valuations; shorten the stream"
                )
            yield pair

    def clause(self, phi: core.Formula) -> Iterable[Pair]:
        """Return the pairs (C, nu) of phi, given the pairs of its operands."""
        match phi:
            case core.CoreEventAtom(R, x):
                return ((frozenset({p}), frozenset({(x, p)})) for p, event in enumerate(self.S) if event.type == R)
            case core.CoreFilter(psi, condition):
                if self.choices["filter"] == "ignored":
                    return self.meaning(psi)
                return (
                    (C, mu)
                    for C, nu in self.meaning(psi)
                    for mu in extensions(nu, mentioned(condition), self.S)
                    if self.satisfies(mu, condition)
                )
            case core.CoreOr(left, right):
                pairs = self.meaning(left)
                return pairs if pairs and self.choices["or"] == "left-first" else pairs | self.meaning(right)
            case core.CoreSeq(left, right):
                return self.sequenced(left, right)
            case core.CorePlus(psi):
                return self.iterate(psi)
            case core.CoreSelection(psi):
                return self.selected(phi, psi)
            case _:
                assert_never(phi)

    def sequenced(self, left: core.Formula, right: core.Formula) -> Iterator[Pair]:
        """Yield the pairs (complex event, valuation) of left ; right.

        The choices about sequences and loops say what may lie between the two parts.
        """
        lefts, rights = self.meaning(left), self.meaning(right)
        another = self.another_round(left) if self.choices["loop"] == "omit-nothing" else None
        for C1, nu1 in lefts:
            for C2, nu2 in rights:
                if max(C1) >= min(C2) or not is_function(nu1 | nu2) or not self.follows(C1, C2, nu1 | nu2, left, right):
                    continue
                if another is None or not self.occurs(
                    another, C1, C2, without(nu1 | nu2, defined_outside_iteration(another))
                ):
                    yield C1 | C2, nu1 | nu2

    def follows(
        self, C1: ComplexEvent, C2: ComplexEvent, nu: Valuation, left: core.Formula, right: core.Formula
    ) -> bool:
        """Return whether C1 and C2 together are a complex event of left ; right, by the choice about sequences.

        C1: a complex event of `left`. C2: one of `right`, which begins after C1 ends. nu: the valuation of both. Some
        choices forbid other complex events of `left` or `right` between the two. Of these only those count that agree
        with nu, except in the variables that their own formula defines outside iterations.
        """
        choice = self.choices["seq"]
        if choice == "strict":
            return min(C2) == max(C1) + 1
        if choice in ("next-from-left", "nearest"):
            outside = without(nu, defined_outside_iteration(right))
            if any(
                max(C1) < min(C) < min(C2) and max(C) <= max(C2) and is_function(outside | mu)
                for C, mu in self.meaning(right)
            ):
                return False
        if choice in ("next-from-right", "nearest"):
            outside = without(nu, defined_outside_iteration(left))
            return not any(max(C1) < max(C) < min(C2) and is_function(outside | mu) for C, mu in self.meaning(left))
        return True

    def iterate(self, psi: core.Formula) -> Iterator[Pair]:
        """Yield the pairs (complex event, valuation) of psi+. Each round may bind psi's variables to other events."""
        U = defined_outside_iteration(psi)
        rounds = {(C, without(nu, U)) for C, nu in self.meaning(psi)}
        loop = self.choices["loop"]
        if loop != "at-least-two":
            yield from rounds
        made, reached = rounds, set(rounds)
        most = 1 if loop == "single" else AT_MOST.get(loop)
        for _ in count() if most is None else range(most - 1):
            if not made:
                break
            made = {
                (C1 | C2, nu1 | nu2)
                for C1, nu1 in rounds
                for C2, nu2 in made
                if max(C1) < min(C2)
                and is_function(nu1 | nu2)
                and (loop != "contiguous" or min(C2) == max(C1) + 1)
                and (loop != "omit-nothing" or not self.occurs(psi, C1, C2, nu1 | nu2))
            } - (reached if loop != "at-least-two" else set())
            reached |= made
            yield from self.limit_items(made)

    def occurs(self, psi: core.Formula, C1: ComplexEvent, C2: ComplexEvent, nu: Valuation) -> bool:
        """Return whether psi has a complex event between C1 and C2, under a valuation that agrees with nu."""
        outside = without(nu, defined_outside_iteration(psi))
        return any(max(C1) < min(C) and max(C) < min(C2) and is_function(outside | mu) for C, mu in self.meaning(psi))

    def another_round(self, phi: core.Formula) -> core.Formula | None:
        """Return the operand of the iteration at the end of phi; None if there is none."""
        match phi:
            case core.CorePlus(psi):
                return psi
            case core.CoreSeq(_, right):
                return self.another_round(right)
            case core.CoreFilter(psi, _):
                return self.another_round(psi)
            case core.CoreOr() | core.CoreEventAtom() | core.CoreSelection():
                return None
            case _:
                assert_never(phi)

    def selected(self, phi: core.Strategy, psi: core.Formula) -> Iterator[Pair]:
        """Yield the pairs (complex event, valuation) of psi that a strategy keeps.

        Pairs compete if they end at the same position and agree on the variables that psi does not define itself.
        """
        name = OPERATORS[type(phi)].name
        chosen = self.choices[f"selection@{name}"]
        strategy = name if chosen == "as-defined" else chosen
        U = defined_outside_iteration(psi)
        rivals: defaultdict[tuple[int, Valuation], set[ComplexEvent]] = defaultdict(set)
        pairs = [(C, mu) for C, nu in self.meaning(psi) for mu in extensions(nu, free(psi) - U, self.S)]
        for C, mu in pairs:
            rivals[max(C), without(mu, U)].add(C)
        for C, mu in pairs:
            if KEEPS[strategy](C, rivals[max(C), without(mu, U)]):
                yield C, mu

    def satisfies(self, nu: Valuation, condition: core.Condition) -> bool:
        """Return whether the events that nu binds satisfy the condition of a filter."""
        places = dict(nu)
        match condition:
            case core.Unary(x, P):
                event = self.S[places[x]]
                return self.conditions.satisfied(P, lambda a: event.get(a.name), event.type)
            case core.CoreCorrelated(P):
                return self.conditions.satisfied(P, lambda a: self.S[places[a.variable or ""]].get(a.name))
            case core.CoreConjunction(left, right):
                parts = (self.satisfies(nu, left), self.satisfies(nu, right))
                return any(parts) if self.choices["filter-connectives"] == "and-as-or" else all(parts)
            case core.CoreDisjunction(left, right):
                parts = (self.satisfies(nu, left), self.satisfies(nu, right))
                return all(parts) if self.choices["filter-connectives"] == "or-as-and" else any(parts)
            case _:
                assert_never(condition)


# ---------------------------------------------------------------------------------------------------------------------
# The questions about core-CEL.

AB, ABC, MANY = types("A B"), types("A B C"), types("A")  # the last for long streams

STAGES = (
    Stage(
        ("emit", "overlap", "seq", "or"),
        (
            Template("A AS a", AB, 3),
            Template("A AS a ; B AS b", ABC, 5),
            Template("A AS a ; A AS b", AB, 4),
            Template("(A AS a ; B AS b) OR C AS c", ABC, 4),
            Template("A AS a ; B AS b ; C AS c", ABC, 4),
            Template("(A AS a ; C AS c) OR (B AS d ; B AS e ; C AS f)", ABC, 4),
            Template("A AS a OR (A AS b ; A AS c)", AB, 3),
            Template("(A AS b ; A AS c) OR A AS a", AB, 3),
        ),
    ),
    Stage(("event-order", "ties"), (Template("A AS a ; B AS b", events("A B", after=(-1, 0, 1)), 3),)),
    Stage(("window-default",), (Template("A AS a ; B AS b", events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(
        ("loop",),
        (
            Template("(A AS a)+", AB, 4),
            Template("(A AS a)+ ; B AS b", AB, 5),
            Template("(A AS a)+ ; A AS b", AB, 4),  # a loop that gives nothing back leaves nothing for what follows it
            Template("C AS c ; (A AS a)+ ; B AS b", ABC, 5),
            Template("(A AS a)+", MANY, 8),
        ),
    ),
    *conditions("A AS a FILTER a[{}]", also=("filter",)),
    Stage(
        ("filter-connectives",),
        (
            Template("A AS a FILTER a.x = 1 AND a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("A AS a FILTER a.x = 1 OR a.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
        ),
    ),
    *selections(
        ("A AS a ; B AS b", ABC, 5),
        ("A AS a OR (A AS b ; B AS c)", AB, 4),
        ("A AS a ; B AS b ; C AS c", ABC, 5),
        ("B AS a OR (A AS b ; B AS c) OR (A AS d ; A AS e ; B AS f)", AB, 5),
    ),
    Stage(
        (),
        (
            Template("A AS a ; (B AS b)+ ; C AS c", ABC, 5),
            Template("(A AS a ; B AS b) FILTER a.x = b.x", events("A B", x=(0, 1)), 4),
            Template("NXT((A AS a)+ ; B AS b)", AB, 5),
            Template("(A AS a ; B AS b) OR (A AS c ; C AS d)", ABC, 4),
            Template("((A AS a FILTER a.x = 1)+ ; B AS b)", events("A B", x=(0, 1)), 4),
        ),
    ),
)

SHAPES = (
    ("A AS a OR (B AS b ; A AS c)", types("B A")),
    ("A AS a ; (B AS b)+ ; C AS c", types("A B B C")),
    ("(A AS a)+ ; A AS b", types("A A A")),
    ("A AS a ; B AS b ; (A AS c)+", types("A B A B A A")),
)

INTERPRETATION = Interpretation(
    AXES, find_matches, operators, strategies=frozenset(STRATEGIES), stages=STAGES, shapes=SHAPES
)
