"""Automata as diagrams: complex event automata of CEL, deterministic ones of event expressions, NFA^b of SASE+."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from cerify.automata.algebra.minterms import minterms
from cerify.automata.cea.model import CEA, Marks
from cerify.automata.dfa.decide import coaccessible_states
from cerify.automata.dfa.model import DFA, Alphabet
from cerify.draw.diagram import Diagram, Edge, EdgeKind, State, merged
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InternalError
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Anything, Both, Comparison, Either, InRange, Like, Not, OfType, OneOf, Predicate

TYPES = Budget(states=200)  # types of events, beyond which predicates are shown as they are
MARKED = "The variables after the slash mark the event. A match is a run to a double circle; it has the marked events."
EMPTY = "There is no state, and no run: the query matches nothing, whatever the stream."
UNDRAWN = "What has no arrow leads to where the expression can never again take place, which is not drawn."
OCCURS = "The expression takes place at an event if the automaton is in a double circle after it."


def diagram_of_automaton(A: CEA | DFA, title: str) -> Diagram:
    """An automaton as a diagram. Raises BudgetExceeded where it is too large to be read."""
    return diagram_of_cea(A, title) if isinstance(A, CEA) else diagram_of_dfa(A, title)


def diagram_of_cea(A: CEA, title: str) -> Diagram:
    """A complex event automaton: on an edge the predicates, and after a slash the variables that mark the event."""
    states = tuple(State(str(q), q in A.initial, q in A.final) for q in range(A.states))
    of: dict[tuple[int, int, Marks], dict[Predicate, None]] = {}
    for p, P, L, q in A.transitions:
        of.setdefault((p, q, L), {})[P] = None
    union = _Union(A)
    edges = []
    for (p, q, L), predicates in of.items():
        kind: EdgeKind = "take" if L else "ignore"
        marks = f" / {', '.join(sorted(L))}" if L else ""
        edges.append(Edge(p, q, tuple(text + marks for text in union.texts(tuple(predicates))), kind))
    return merged(title, states, edges, (MARKED,) if states else (EMPTY,))


def diagram_of_dfa(A: DFA, title: str) -> Diagram:
    """The automaton of an event expression: on an edge the types of events; without the state of no hope."""
    shown = sorted(coaccessible_states(A) | A.accepting | {0})
    place = {q: i for i, q in enumerate(shown)}
    states = tuple(State(str(q), q == 0, q in A.accepting) for q in shown)
    edges = []
    for q in shown:
        every = tuple(a for (a, _) in A.following[q])
        for p in shown:
            types = frozenset(a for (a, _), target in A.following[q].items() if target == p)
            if types:
                edges.append(Edge(place[q], place[p], tuple(types_text(A.alphabet, types, every))))
    hidden = len(shown) < len(A.following)
    return merged(title, states, edges, (OCCURS, UNDRAWN) if hidden else (OCCURS,))


class _Union:
    """Texts for unions of the automaton's predicates, short where they include all types of events, or nearly all."""

    def __init__(self, A: CEA) -> None:
        self.predicates = A.predicates
        try:
            self.types = [minterm.chosen for minterm in minterms(A.predicates, budget=TYPES, solver=False)]
        except BudgetExceeded:
            self.types = []

    def texts(self, predicates: tuple[Predicate, ...]) -> list[str]:
        """Lines, an event being in the union if one of them is true of it."""
        if Anything() in predicates:
            return [predicate_text(Anything())]
        chosen = {self.predicates.index(P) for P in predicates}
        left_out = [type_ for type_ in self.types if not type_ & chosen]
        if self.types and not left_out:
            return [predicate_text(Anything())]
        others = [P for i, P in enumerate(self.predicates) if any(i in type_ for type_ in left_out)]
        beyond = [P for P in others if not any(self.predicates.index(P) in type_ for type_ in self._in(chosen))]
        covered = {self.predicates.index(P) for P in beyond}
        if self.types and len(predicates) >= len(beyond) and all(type_ & covered for type_ in left_out):
            return [f"all but {', '.join(map(predicate_text, beyond))}"]
        return list(map(predicate_text, predicates))

    def _in(self, chosen: set[int]) -> list[frozenset[int]]:
        return [type_ for type_ in self.types if type_ & chosen]


def predicate_text(P: Predicate, level: int = 0) -> str:
    """A predicate as an edge shows it: T[x > 1] for events of a type, any for all."""
    match P:
        case Anything():
            return "any"
        case OfType(T):
            return T
        case Not(inner):
            return f"not {predicate_text(inner, 2)}"
        case Both(left, right):
            conjuncts = [*_conjuncts(left), *_conjuncts(right)]
            heads = [Q for Q in conjuncts if isinstance(Q, OfType)]
            if len(set(heads)) == 1:  # an event of one type is of no other
                conjuncts = [Q for Q in conjuncts if not (isinstance(Q, Not) and isinstance(Q.predicate, OfType))]
                rest = [Q for Q in conjuncts if Q not in heads]
                if not any(map(_asks_type, rest)):
                    texts = " and ".join(predicate_text(Q, 1) for Q in rest)
                    return f"{heads[0].type}[{texts}]" if texts else heads[0].type
            text = " and ".join(predicate_text(Q, 1) for Q in conjuncts)
            return f"({text})" if level > 1 else text
        case Either(left, right):
            text = f"{predicate_text(left)} or {predicate_text(right)}"
            return f"({text})" if level > 0 else text
        case Anything() | Comparison() | OneOf() | InRange() | Like():
            return show_predicate(P)
        case _:
            assert_never(P)


def types_text(alphabet: Alphabet, types: frozenset[int], every: Iterable[int]) -> Iterator[str]:
    """Types of events as texts, any of which is enough; every has those that are possible at all."""
    every = frozenset(every)
    starts = frozenset(alphabet.starts) & every
    if starts and ((starts <= types) == (_others(alphabet) <= types) and (starts <= types or not starts & types)):
        every, types = every - starts, types - starts  # a start event is like an event of no expression
    left_out = every - types
    if not left_out:
        yield "any event"
    elif _others(alphabet) <= types and len(left_out) <= len(types):
        yield f"all but {', '.join(_listed(alphabet, left_out))}"
    else:
        yield from _listed(alphabet, types)


def _others(alphabet: Alphabet) -> frozenset[int]:
    return frozenset(a for a, minterm in enumerate(alphabet.types) if not minterm.chosen)


def _listed(alphabet: Alphabet, types: frozenset[int]) -> Iterator[str]:
    """The types, those of one event type together."""
    of: dict[str | None, list[int]] = {}
    for a, minterm in enumerate(alphabet.types):
        name = next((_type_and_mask(alphabet.predicates[i])[0] for i in sorted(minterm.chosen)), None)
        of.setdefault(name, []).append(a)
    for name, all_of_it in of.items():
        some = [a for a in all_of_it if a in types]
        if name is None:
            yield from ["other" for _ in some]
        elif len(some) == len(all_of_it) and OfType(name) in alphabet.predicates:
            yield name
        else:
            yield from (_masked(alphabet, name, a) for a in some)


def _masked(alphabet: Alphabet, name: str, a: int) -> str:
    parts = map(_type_and_mask, alphabet.predicates)
    masks = {i: mask for i, (T, mask) in enumerate(parts) if name == T and mask is not None}
    chosen = alphabet.types[a].chosen
    texts = [show_predicate(mask if i in chosen else Not(mask)) for i, mask in masks.items()]
    return f"{name}[{' and '.join(texts)}]"


def _type_and_mask(P: Predicate) -> tuple[str, Predicate | None]:
    match P:
        case OfType(T):
            return T, None
        case Both(OfType(T), mask):
            return T, mask
        case _:
            raise InternalError(f"{P} is not that of a primitive event")


def _conjuncts(P: Predicate) -> list[Predicate]:
    return [*_conjuncts(P.left), *_conjuncts(P.right)] if isinstance(P, Both) else [P]


def _asks_type(P: Predicate) -> bool:
    match P:
        case OfType():
            return True
        case Not(inner):
            return _asks_type(inner)
        case Both(left, right) | Either(left, right):
            return _asks_type(left) or _asks_type(right)
        case Anything() | Comparison() | OneOf() | InRange() | Like():
            return False
        case _:
            assert_never(P)
