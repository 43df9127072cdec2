"""Regular expressions over events, none of which has the empty word.

Letters, here and in every module of this package:
    R  a regular expression     E  an event expression     A  an automaton     p, q  states     a  a type of events
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TypeAlias, assert_never

from cerify.automata.algebra.finite import Algebra, Decision
from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.model import DFA, Alphabet, Word, coaccessible_states, shortest
from cerify.automata.exploration import classes
from cerify.semantics.arguments import Budget, depth_limited
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.event_expressions import syntax as expressions
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Both, Either, Not, OfType


@dataclass(frozen=True)
class Nothing:
    """No word at all."""

    size = 1


@dataclass(frozen=True)
class RegularLetter:
    """The words of one event: those at which the event expression takes place when nothing has been before."""

    event: expressions.Expression
    size = 1


@dataclass(frozen=True)
class _Pair:
    left: Regular
    right: Regular

    @cached_property
    def size(self) -> int:
        return 1 + self.left.size + self.right.size


class RegularConcatenation(_Pair):
    """A word of the left, and then one of the right."""


class RegularUnion(_Pair):
    """The words of both."""


@dataclass(frozen=True)
class RegularPlus:
    """One word after another, one or more."""

    operand: Regular

    @cached_property
    def size(self) -> int:
        return 1 + self.operand.size


Regular: TypeAlias = Nothing | RegularLetter | RegularConcatenation | RegularUnion | RegularPlus
"""size is the number of nodes of the tree, in which trees may stand several times."""

UNION, CONCATENATION, PLUS = range(3)  # how tightly an operator binds


def show(R: Regular) -> str:
    """The text: words next to each other for concatenation, | for union, + after what is repeated, ∅ for nothing."""
    with depth_limited():
        return _show(R, UNION)


def _show(R: Regular, level: int) -> str:
    match R:
        case Nothing():
            return "∅"
        case RegularLetter(E):
            simple = isinstance(
                E, expressions.Primitive | expressions.AnyEvent | expressions.First | expressions.Null
            ) or (
                isinstance(E, expressions.ExpressionNot)
                and isinstance(E.operand, expressions.Primitive | expressions.Null)
            )
            return expressions.show(E) if simple else f"({expressions.show(E)})"
        case RegularUnion(left, right):
            return _parenthesized(f"{_show(left, UNION)} | {_show(right, UNION)}", level > UNION)
        case RegularConcatenation(left, right):
            text = f"{_show(left, CONCATENATION)} {_show(right, CONCATENATION)}"
            return _parenthesized(text, level > CONCATENATION)
        case RegularPlus(operand):
            return f"{_show(operand, PLUS)}+"
        case _:
            assert_never(R)


def _parenthesized(text: str, needed: bool) -> str:
    return f"({text})" if needed else text


def expression(R: Regular) -> expressions.Expression:
    """An event expression that takes place at an event just where the history up to it is a word of R.

    The operators of section 2.2 are those of regular expressions: relative is concatenation, relative+ repetition.
    """
    with depth_limited():
        return _expression(R)


def _expression(R: Regular) -> expressions.Expression:
    match R:
        case Nothing():
            return expressions.Null()
        case RegularLetter(E):
            return expressions.ExpressionAnd(expressions.First(), E)
        case RegularUnion(left, right):
            return expressions.ExpressionOr(_expression(left), _expression(right))
        case RegularConcatenation(left, right):
            return expressions.Relative((_expression(left), _expression(right)))
        case RegularPlus(operand):
            return expressions.RelativePlus(_expression(operand))
        case _:
            assert_never(R)


# ---------------------------------------------------------------------------------------------------------------------
# From the automaton of an event expression to a regular expression: its states are eliminated one after another.
#
# The words that are histories are those at whose last event the expression takes place; a start event is the first of
# a history or not in it at all, so that of words with others it does not matter whether they are there.

Edges = dict[tuple[int, int], Regular]
END = -1


def regular(E: expressions.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> Regular:
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
    return RegularUnion(ends, RegularConcatenation(RegularPlus(edges[0, 0]), ends)) if (0, 0) in edges else ends


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
    return {edge: RegularLetter(text.expression(types, edge[0] == 0)) for edge, types in letters.items()}


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
        edges[p, r] = RegularUnion(edges[p, r], through) if (p, r) in edges else through
        if edges[p, r].size > budget.states:
            raise BudgetExceeded(f"the regular expression has more than {budget.states} nodes")


def _through(before: Regular, loop: Regular | None, after: Regular) -> Regular:
    """before, the loop any number of times, and after; the smaller of the two is written twice."""
    if loop is None:
        return RegularConcatenation(before, after)
    if before.size < after.size:
        return RegularConcatenation(RegularUnion(before, RegularConcatenation(before, RegularPlus(loop))), after)
    return RegularConcatenation(before, RegularUnion(after, RegularConcatenation(RegularPlus(loop), after)))


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

    def expression(self, types: set[int], first: bool) -> expressions.Expression:
        """What takes place at an event of one of these types, and at no other; a start event only matters as first."""
        among = range(len(self.alphabet.types)) if first else self.alphabet.coming
        if types == set(self.alphabet.coming):
            return expressions.AnyEvent()
        return self._written(self.algebra.decision(self._mask(among), self._mask(types)))

    def _mask(self, types: Iterable[int]) -> int:
        chosen = (frozenset(self.alphabet.predicates[i] for i in self.alphabet.types[a].chosen) for a in types)
        return sum(self.bits[predicates] for predicates in chosen)

    def _written(self, decision: Decision) -> expressions.Expression:
        match decision:
            case bool():
                return expressions.ExpressionNot(expressions.Null()) if decision else expressions.Null()
            case OfType(T):
                return expressions.Primitive(T)
            case Both(OfType(T), mask) if decision in self.alphabet.predicates:
                return expressions.Primitive(T, (), mask)
            case Not(inner):
                return expressions.ExpressionNot(self._written(inner))
            case Both(left, right):
                return expressions.ExpressionAnd(self._written(left), self._written(right))
            case Either(left, right):
                return expressions.ExpressionOr(self._written(left), self._written(right))
            case _:
                raise InternalError(f"{decision} is no combination of primitive events")


# ---------------------------------------------------------------------------------------------------------------------
# Whether an expression counts modulo a number; if not, its language is star-free, as in past temporal logic.
#
# A language is star-free if no word permutes states of its minimal automaton in a cycle (Schützenberger 1965: the
# transition monoid has no group but trivial ones; McNaughton and Papert 1971; Kamp 1968 for temporal logic).

Move: TypeAlias = tuple[int, ...]
"""What a word does: the state after each state."""


@dataclass(frozen=True)
class Counter:
    """A word that leads each of some states to the next one, and the last to the first; there are two at least.

    Whether the expression takes place depends on how often the word has been, modulo their number.
    """

    word: Word
    states: tuple[int, ...]


def counter(A: DFA, budget: Budget = Budget()) -> Counter | None:
    """A counter of the automaton with a shortest word, None if its language is star-free.

    The automaton is minimal and of a whole expression. Raises BudgetExceeded where there are too many different moves,
    and Unsupported where z3 returned unknown for a type of events.
    """
    coming = A.alphabet.coming
    if any(minterm.witness is None for minterm in A.alphabet.types):
        raise Unsupported(
            "z3 returned unknown for the masks; to decide whether it counts, compare attributes with values"
        )
    after = {a: tuple(A.step(q, a) for q in range(len(A.following))) for a in coming}

    def edges(move: Move) -> Iterator[tuple[int, Move]]:
        return ((a, tuple(after[a][q] for q in move)) for a in coming)

    nothing = tuple(range(len(A.following)))
    word = shortest(nothing, edges, lambda move: _cycle(move) is not None, budget)
    if word is None:
        return None
    move = nothing
    for a in word:
        move = tuple(after[a][q] for q in move)
    return Counter(word, _cycle(move) or ())


def _cycle(move: Move) -> tuple[int, ...] | None:
    """States that the move permutes in a cycle, two at least."""
    done: set[int] = set()
    for q in range(len(move)):
        way: dict[int, None] = {}
        while q not in done and q not in way:
            way[q] = None
            q = move[q]
        if q in way and move[q] != q:
            states = list(way)
            return tuple(states[states.index(q) :])
        done.update(way)
    return None
