"""From the automaton of an event expression to a regular expression: its states are eliminated one after another.

The words that are histories are those at whose last event the expression takes place; a start event is the first of a
history or not in it at all, so that of words with others it does not matter whether they are there.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from cerify.automata.algebra.finite import Algebra, Decision
from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.decide import coaccessible_states
from cerify.automata.dfa.model import DFA, Alphabet
from cerify.automata.minimize import classes
from cerify.equivalence.rewrite.expressions.regular import Concatenation, Letter, Nothing, Plus, Regular, Union
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Both, Either, Not, OfType

Edges = dict[tuple[int, int], Regular]
END = -1


def regular(E: expr.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> Regular:
    """A regular expression of the histories at whose last event E takes place.

    Raises Unsupported where E has attribute variables, and BudgetExceeded; budget.states are the nodes it may have.
    """
    return regular_of(compile_expression(E, schema, budget), budget)


def regular_of(A: DFA, budget: Budget = Budget()) -> Regular:
    """The same of the minimal automaton of an expression. Raises BudgetExceeded."""
    edges = _edges(A)
    while (q := _cheapest(edges)) is not None:
        _eliminate(q, edges, budget)
    if (ends := edges.get((0, END))) is None:
        return Nothing()
    return Union(ends, Concatenation(Plus(edges[0, 0]), ends)) if (0, 0) in edges else ends


def _edges(A: DFA) -> Edges:
    """The letters between the states, where a letter with which the expression takes place also leads to the end.

    States with the same edges are one, whether they accept or not.
    """
    steps = [
        {(a, A.step(p, a) in A.accepting): A.step(p, a) for a in A.alphabet.coming} for p in range(len(A.following))
    ]
    of = classes(steps, [True] * len(steps))
    coaccessible = coaccessible_states(A)
    letters: dict[tuple[int, int], set[int]] = {}
    for p in {number: p for p, number in reversed(list(enumerate(of)))}.values():
        for (a, _), q in A.following[p].items():
            for target in [of[q]] * (q in coaccessible) + [END] * (q in A.accepting):
                letters.setdefault((of[p], target), set()).add(a)
    text = _Letters(A.alphabet)
    return {edge: Letter(text.expression(types, edge[0] == 0)) for edge, types in letters.items()}


def _cheapest(edges: Edges) -> int | None:
    """The state that adds least to the size of the edges when it is left out; None if only the initial one is left."""
    entering: dict[int, list[int]] = {}
    leaving: dict[int, list[int]] = {}
    for (p, q), R in edges.items():
        if p != q:
            leaving.setdefault(p, []).append(R.size)
            entering.setdefault(q, []).append(R.size)

    def cost(q: int) -> tuple[int, int]:
        loop = edges[q, q].size if (q, q) in edges else 0
        pairs = product(entering.get(q, ()), leaving.get(q, ()))
        return sum(b + a + (loop and loop + min(b, a)) for b, a in pairs), q

    return min({q for edge in edges for q in edge} - {0, END}, key=cost, default=None)


def _eliminate(q: int, edges: Edges, budget: Budget) -> None:
    """Leave a state out: the ways through it become edges."""
    loop = edges.pop((q, q), None)
    entering = {p: edges.pop((p, q)) for p, target in list(edges) if target == q}
    leaving = {r: edges.pop((q, r)) for source, r in list(edges) if source == q}
    for (p, before), (r, after) in product(entering.items(), leaving.items()):
        through = _through(before, loop, after)
        edges[p, r] = Union(edges[p, r], through) if (p, r) in edges else through
        if edges[p, r].size > budget.states:
            raise BudgetExceeded(f"the regular expression has more than {budget.states} nodes")


def _through(before: Regular, loop: Regular | None, after: Regular) -> Regular:
    """before, the loop any number of times, and after; the smaller of the two is written twice."""
    if loop is None:
        return Concatenation(before, after)
    if before.size < after.size:
        return Concatenation(Union(before, Concatenation(before, Plus(loop))), after)
    return Concatenation(before, Union(after, Concatenation(Plus(loop), after)))


class _Letters:
    """Sets of types as event expressions."""

    def __init__(self, alphabet: Alphabet) -> None:
        self.alphabet = alphabet
        start, *others = alphabet.predicates
        self.algebra = Algebra((*others, start), solver=True)  # the start event is the last to be distinguished
        self.bits = {
            frozenset(self.algebra.generators[g] for g in atom.chosen): 1 << i
            for i, atom in enumerate(self.algebra.atoms)
        }

    def expression(self, types: set[int], first: bool) -> expr.Expression:
        """What takes place at an event of one of these types, and at no other; a start event only matters as first."""
        among = range(len(self.alphabet.types)) if first else self.alphabet.coming
        if types == set(self.alphabet.coming):
            return expr.AnyEvent()
        return self._written(self.algebra.decision(self._mask(among), self._mask(types)))

    def _mask(self, types: Iterable[int]) -> int:
        chosen = (frozenset(self.alphabet.predicates[i] for i in self.alphabet.types[a].chosen) for a in types)
        return sum(self.bits[predicates] for predicates in chosen)

    def _written(self, decision: Decision) -> expr.Expression:
        match decision:
            case bool():
                return expr.Not(expr.Null()) if decision else expr.Null()
            case OfType(T):
                return expr.Primitive(T)
            case Both(OfType(T), mask) if decision in self.alphabet.predicates:
                return expr.Primitive(T, (), mask)
            case Not(inner):
                return expr.Not(self._written(inner))
            case Both(left, right):
                return expr.And(self._written(left), self._written(right))
            case Either(left, right):
                return expr.Or(self._written(left), self._written(right))
            case _:
                raise InternalError(f"{decision} is no combination of primitive events")
