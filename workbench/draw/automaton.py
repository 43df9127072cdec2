"""Automata as diagrams: complex event automata of CEL, deterministic ones of event expressions, NFA^b of SASE+."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from cerify.automata.algebra.minterms import minterms
from cerify.automata.cea.model import CEA, Marks
from cerify.automata.dfa.decide import coaccessible_states
from cerify.automata.dfa.model import DFA, Alphabet
from cerify.draw.diagram import Diagram, Edge, Kind, State, merged
from cerify.draw.svg import document, svg
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InternalError
from cerify.semantics.events import Schema
from cerify.semantics.predicate_text import show_predicate
from cerify.semantics.predicates import Anything, Both, Either, Not, OfType, Predicate
from cerify.semantics.sase import syntax as sase

TYPES = Budget(states=200)  # types of events, beyond which predicates are told as they are
MARKED = "The variables after the slash mark the event. A match is a run to a double circle; it has the marked events."
EMPTY = "There is no state, and no run: the query matches nothing, whatever the stream."
UNDRAWN = "What has no arrow leads to where the expression can never again take place, which is not drawn."
OCCURS = "The expression takes place at an event if the automaton is in a double circle after it."


def svg_of(query: str, language: str = "cel", schema: Schema | None = None, budget: Budget = Budget()) -> str:
    """The automaton of a query as the text of an SVG file.

    Raises ParseError, IllFormed, Unsupported where no automaton carries the query, and BudgetExceeded where the
    automaton is too large, to be made or to be read.
    """
    return document(svg(diagram_of(query, language, schema, budget)))


def diagram_of(query: str, language: str = "cel", schema: Schema | None = None, budget: Budget = Budget()) -> Diagram:
    """The automaton of a query as a diagram. Raises what svg_of raises."""
    match automaton_of(query, language, schema, budget):
        case CEA() as A:
            return diagram_of_cea(A, _title(query))
        case DFA() as A:
            return diagram_of_dfa(A, _title(query))
        case q:
            from cerify.draw.nfab import diagram_of_query

            return diagram_of_query(q, _title(query))


def automaton_of(
    query: str, language: str = "cel", schema: Schema | None = None, budget: Budget = Budget()
) -> CEA | DFA | sase.Tree:
    """What is drawn of a query; of SASE+ the query, with an automaton for each block. Raises what svg_of raises."""
    if language not in AUTOMATA:
        raise IllFormed(f"there is no drawing for the language {language!r}; there is for {', '.join(AUTOMATA)}")
    return AUTOMATA[language](query, schema, budget)


def diagram_of_cea(A: CEA, title: str) -> Diagram:
    """A complex event automaton: on an edge the predicates, and after a slash the variables that mark the event."""
    states = tuple(State(str(q), q in A.initial, q in A.final) for q in range(A.states))
    of: dict[tuple[int, int, Marks], dict[Predicate, None]] = {}
    for p, P, L, q in A.transitions:
        of.setdefault((p, q, L), {})[P] = None
    told = _Union(A)
    edges = []
    for (p, q, L), predicates in of.items():
        kind: Kind = "take" if L else "ignore"
        marks = f" / {', '.join(sorted(L))}" if L else ""
        edges.append(Edge(p, q, tuple(text + marks for text in told.texts(tuple(predicates))), kind))
    return merged(title, states, edges, (MARKED,) if states else (EMPTY,))


def diagram_of_dfa(A: DFA, title: str) -> Diagram:
    """The automaton of an event expression: on an edge the types of events; without the state of no hope."""
    kept = sorted(coaccessible_states(A) | A.accepting | {0})
    place = {q: i for i, q in enumerate(kept)}
    states = tuple(State(str(q), q == 0, q in A.accepting) for q in kept)
    edges = []
    for q in kept:
        every = tuple(a for (a, _) in A.following[q])
        for p in kept:
            types = frozenset(a for (a, _), target in A.following[q].items() if target == p)
            if types:
                edges.append(Edge(place[q], place[p], tuple(types_text(A.alphabet, types, every))))
    hidden = len(kept) < len(A.following)
    return merged(title, states, edges, (OCCURS, UNDRAWN) if hidden else (OCCURS,))


class _Union:
    """Says the union of some of the automaton's predicates in few words, where they leave nothing out, or little."""

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
                    said = " and ".join(predicate_text(Q, 1) for Q in rest)
                    return f"{heads[0].type}[{said}]" if said else heads[0].type
            text = " and ".join(predicate_text(Q, 1) for Q in conjuncts)
            return f"({text})" if level > 1 else text
        case Either(left, right):
            text = f"{predicate_text(left)} or {predicate_text(right)}"
            return f"({text})" if level > 0 else text
        case _:
            return show_predicate(P)


def types_text(alphabet: Alphabet, types: frozenset[int], every: Iterable[int]) -> Iterator[str]:
    """Types of events in words, each of which holds by itself; every has those that may come at all."""
    every = frozenset(every)
    starts = frozenset(alphabet.starts) & every
    if starts and ((starts <= types) == (_others(alphabet) <= types) and (starts <= types or not starts & types)):
        every, types = every - starts, types - starts  # a start event is like an event that nobody asks for
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
    said = [show_predicate(mask if i in chosen else Not(mask)) for i, mask in masks.items()]
    return f"{name}[{' and '.join(said)}]"


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
        case _:
            return False


def _cel(query: str, schema: Schema | None, budget: Budget) -> CEA:
    from cerify.automata.cea.compile import compile_cel
    from cerify.semantics.cel.parse import parse
    from cerify.semantics.cel.wellformed import require_typed

    phi = parse(query)
    if schema is not None:
        require_typed(phi, schema)
    return compile_cel(phi, budget)


def _core_cel(query: str, schema: Schema | None, budget: Budget) -> CEA:
    from cerify.automata.cea.compile import compile_cel
    from cerify.equivalence.rewrite.translate.to_cel import to_cel
    from cerify.semantics.core_cel.parse import parse
    from cerify.semantics.core_cel.wellformed import require_typed

    phi = parse(query)
    if schema is not None:
        require_typed(phi, schema)
    return compile_cel(to_cel(phi, budget), budget)


def _event_expression(query: str, schema: Schema | None, budget: Budget) -> DFA:
    from cerify.automata.dfa.compile import compile_expression
    from cerify.semantics.event_expressions.parse import parse
    from cerify.semantics.event_expressions.wellformed import require_typed

    E = parse(query)
    if schema is not None:
        require_typed(E, schema)
    return compile_expression(E, schema, budget)


def _sase(query: str, schema: Schema | None, _: Budget) -> sase.Tree:
    from cerify.semantics.sase.parse import parse
    from cerify.semantics.sase.wellformed import require_typed, require_wellformed

    q = parse(query)
    require_wellformed(q)
    if schema is not None:
        require_typed(q, schema)
    return q


def _title(query: str) -> str:
    return f"Automaton of {' '.join(query.split())}"


AUTOMATA: Mapping[str, Callable[[str, Schema | None, Budget], CEA | DFA | sase.Tree]] = {
    "cel": _cel,
    "core-cel": _core_cel,
    "event-expression": _event_expression,
    "sase": _sase,
}
"""What is drawn of a query, by language."""
