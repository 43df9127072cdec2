"""Automata as diagrams: complex event automata of CEL, deterministic ones of event expressions, NFA^b of SASE+.

Each kind of automaton has a function that makes a `Diagram`; layout and output are in `diagram.py`, and know no
automata. Parallel arrows are merged, and events without a name in the query are one label (`other`), because a drawing
with an arrow for each minterm cannot be read. The last part writes HOA, for other tools.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import assert_never

from cerify.automata.algebra.finite import minterms
from cerify.automata.cea.model import CEA, Marks
from cerify.automata.dfa.model import DFA, Alphabet, coaccessible_states
from cerify.automata.nfab.compile import compile_absence, compile_query
from cerify.automata.nfab.model import PARTS, NFAb, show_formula
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.automata.row_pattern.evaluate import find_matches
from cerify.draw.diagram import MOST_STATES, Diagram, DrawnEdge, DrawnSection, DrawnState, EdgeKind, merged
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, InputError, InternalError, Unsupported
from cerify.semantics.events import Stream
from cerify.semantics.predicates import (
    Anything,
    Both,
    Comparison,
    Either,
    InRange,
    Like,
    Not,
    OfType,
    OneOf,
    Predicate,
    show_predicate,
)
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern.denote import LabelAttempt, Labelling, RowLabel, Traced, visible_rows
from cerify.semantics.row_pattern.interpreter import RowOutput, RowStepBudget, condition_text
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_expression
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.clauses import blocks_of, queries_of
from cerify.semantics.sase.syntax import show_component

TYPES = Budget(states=200)  # with more types of events, predicates are not simplified
MARKED = "The variables after the slash mark the event. A match is a run to a double circle; it has the marked events."
EMPTY = "The automaton has no state: the query matches nothing on any stream."
UNDRAWN = "After an event without an arrow the expression can never again take place; that state is not drawn."
OCCURS = "The expression takes place at an event if the automaton is in a double circle after it."


def diagram_of_automaton(A: CEA | DFA, title: str) -> Diagram:
    """Return an automaton as a diagram. Raises BudgetExceeded if it is too large to read."""
    return diagram_of_cea(A, title) if isinstance(A, CEA) else diagram_of_dfa(A, title)


def diagram_of_cea(A: CEA, title: str) -> Diagram:
    """Return the diagram of a complex event automaton; an edge shows its predicates and, after a slash, its marks."""
    states = tuple(DrawnState(str(q), q in A.initial, q in A.final) for q in range(A.states))
    of: dict[tuple[int, int, Marks], dict[Predicate, None]] = {}
    for p, P, L, q in A.transitions:
        of.setdefault((p, q, L), {})[P] = None
    union = _Union(A)
    edges = []
    for (p, q, L), predicates in of.items():
        kind: EdgeKind = "take" if L else "ignore"
        marks = f" / {', '.join(sorted(L))}" if L else ""
        edges.append(DrawnEdge(p, q, tuple(text + marks for text in union.texts(tuple(predicates))), kind))
    return merged(title, states, edges, (MARKED,) if states else (EMPTY,))


def diagram_of_dfa(A: DFA, title: str) -> Diagram:
    """Return the diagram of an event expression's automaton; edges show event types, and the dead state is left out."""
    shown = sorted(coaccessible_states(A) | A.accepting | {0})
    place = {q: i for i, q in enumerate(shown)}
    states = tuple(DrawnState(str(q), q == 0, q in A.accepting) for q in shown)
    edges = []
    for q in shown:
        every = tuple(a for (a, _) in A.following[q])
        for p in shown:
            types = frozenset(a for (a, _), target in A.following[q].items() if target == p)
            if types:
                edges.append(DrawnEdge(place[q], place[p], tuple(types_text(A.alphabet, types, every))))
    hidden = len(shown) < len(A.following)
    return merged(title, states, edges, (OCCURS, UNDRAWN) if hidden else (OCCURS,))


class _Union:
    """Writes unions of the automaton's predicates as texts. The text is short if a union has all events, or nearly
    all.
    """

    def __init__(self, A: CEA) -> None:
        self.predicates = A.predicates
        try:
            self.types = [minterm.chosen for minterm in minterms(A.predicates, budget=TYPES, solver=False)]
        except BudgetExceeded:
            self.types = []

    def texts(self, predicates: tuple[Predicate, ...]) -> list[str]:
        """Return lines of predicates; an event is in the union if at least one of them is true for it."""
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
    """Return a predicate as an edge shows it: T[x > 1] for events of a type, any for all."""
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
            if len(set(heads)) == 1:  # an event has only one type
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
    """Yield texts for the edge that a set of event types takes, such as "any event" or "all but A, B", or each type.

    every: the types that are possible.
    """
    every = frozenset(every)
    starts = frozenset(alphabet.starts) & every
    if starts and (
        (starts <= types) == (_select_other_types(alphabet) <= types) and (starts <= types or not starts & types)
    ):
        every, types = every - starts, types - starts  # a start event is like an event of no expression
    left_out = every - types
    if not left_out:
        yield "any event"
    elif _select_other_types(alphabet) <= types and len(left_out) <= len(types):
        yield f"all but {', '.join(_label_types(alphabet, left_out))}"
    else:
        yield from _label_types(alphabet, types)


def _select_other_types(alphabet: Alphabet) -> frozenset[int]:
    return frozenset(a for a, minterm in enumerate(alphabet.types) if not minterm.chosen)


def _label_types(alphabet: Alphabet, types: frozenset[int]) -> Iterator[str]:
    """Yield texts for the letters of the alphabet with these numbers, grouped by event type.

    A letter is an event type together with conditions.
    """
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
            raise InternalError(f"the predicate {P} does not belong to a primitive event")


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


# ---------------------------------------------------------------------------------------------------------------------
# The automaton of a query of SASE+ as Figure 2 of sase07 prints that of Query 3: states, and a table of formulas.

NAMED = (
    "The formula of an edge has the name of its state and kind. A match is what is in the buffer when a run is in F."
)
ABSENT = "A match stands if no run of a negated component's automaton is in its scope."


def diagram_of_query(q: sase.Tree, title: str) -> Diagram:
    """Return all automata of a query: one for each block, and one for each negated component."""
    states: list[DrawnState] = []
    edges: list[DrawnEdge] = []
    sections: list[DrawnSection] = []
    automata = list(_automata(q))
    for name, A in automata:
        place = {state: len(states) + i for i, state in enumerate(A.states)}
        states += [DrawnState(state.name, state == A.initial, state == A.final) for state in A.states]
        edges += [
            DrawnEdge(place[e.source], place[e.target], (e.label.name.rpartition("_")[2],), e.move) for e in A.edges
        ]
        if len(automata) > 1:
            sections.append(DrawnSection(name))
        sections += table(A)
    notes = (NAMED, ABSENT) if any(name.startswith("~") for name, _ in automata) else (NAMED,)
    return Diagram(title, tuple(states), tuple(edges), notes, tuple(sections))


def table(A: NFAb) -> Iterator[DrawnSection]:
    """Yield the formulas on an automaton's edges in sections by purpose, as in Figure 2(b) of sase07."""
    for title, parts in PARTS:
        labels = [label for part in parts for label in A.theta if label.part == part]
        if labels:
            yield DrawnSection(title, tuple(f"{label.name} = {show_formula(A.theta[label])}" for label in labels))


def _automata(q: sase.Tree) -> Iterator[tuple[str, NFAb]]:
    for block in (block for query in queries_of(q) for block in blocks_of(query)):
        yield f"SEQ({', '.join(map(show_component, block.pattern))})", compile_query(block)
        for k in block.pattern:
            if k.negated:
                yield show_component(k), compile_absence(block, k)


# ---------------------------------------------------------------------------------------------------------------------
# The prioritized automaton of a row pattern as a diagram, with arrows numbered in the order of preference.

ORDERED = (
    "An arrow takes a row of the variable to which it leads, if the variable's condition is true. Of the arrows from a "
    "state that can lead to a match, the one with the smallest number is taken; a dotted arrow completes the match."
)


def diagram_of_clause(q: MatchRecognize, title: str, budget: Budget) -> Diagram:
    """Return the automaton of the pattern, and the conditions. Raises BudgetExceeded."""
    A = compile_pattern(q.pattern, budget)
    names = list(_names(A))
    states = (DrawnState("in", initial=True), *map(DrawnState, names), DrawnState("out", final=True))
    edges = [
        edge for source, ways in enumerate((A.first, *A.follow)) for edge in _edges(source, ways, len(A.places) + 1)
    ]
    lines = {
        "DEFINE": tuple(f"{one.variable} AS {show_expression(one.condition)}" for one in q.define),
        "left out of the output": tuple(name for name, excluded in zip(names, A.excluded, strict=True) if excluded),
    }
    table = tuple(DrawnSection(heading, its) for heading, its in lines.items() if its)
    return Diagram(title, states, tuple(edges), (ORDERED,), table)


def _names(A: Automaton) -> Iterator[str]:
    """Yield the variable of each state, with a number if several states have it."""
    times, seen = Counter(A.variables), Counter[str]()
    for variable in A.variables:
        seen[variable] += 1
        yield f"{variable}{seen[variable]}" if times[variable] > 1 else variable


def _edges(source: int, ways: Sequence[Way], end: int) -> Iterator[DrawnEdge]:
    for number, way in enumerate(ways, 1):
        where = " at the first row" * way.start + " after the last row" * way.end
        text = f"{number}{where}"
        if way.target == ACCEPT:
            yield DrawnEdge(source, end, (text,), "proceed")
        else:
            yield DrawnEdge(source, way.target + 1, (text,), "take")


# ---------------------------------------------------------------------------------------------------------------------
# Automata in the Hanoi Omega-Automata format (HOA v1, https://adl.github.io/hoaf/), for the tools that read it.
#
# A letter is an event. Its atomic propositions are the predicates of the automaton and, for a complex event automaton,
# its variables; a variable is true if the event is marked with it. The format has infinite words and these
# automata have finite ones: a run is accepting if its last state is in the acceptance set 0, as a comment in the text
# explains.

FINITE = "Words are finite: a run accepts if it ends in a state of the set 0."


def hoa_of_automaton(A: CEA | DFA, name: str) -> str:
    """Return an automaton as the text of an HOA file."""
    return hoa_of_cea(A, name) if isinstance(A, CEA) else hoa_of_dfa(A, name)


def hoa_of_cea(A: CEA, name: str) -> str:
    """Return a complex event automaton as the text of an HOA file."""
    variables = sorted(frozenset[str]().union(*(t.marks for t in A.transitions)))
    tests = [P for P in A.predicates if not isinstance(P, Anything)]
    proposition = _numbered([*map(predicate_text, tests), *(f"mark {x}" for x in variables)])

    def label(P: Predicate, marks: Marks) -> str:
        event = [] if isinstance(P, Anything) else [str(proposition[predicate_text(P)])]
        return _all([*event, *(_literal(proposition[f"mark {x}"], x in marks) for x in variables)])

    edges = [[(label(t.predicate, t.marks), t.target) for t in A.leaving[q]] for q in range(A.states)]
    return _text(name, proposition, sorted(A.initial), edges, A.final, "")


def hoa_of_dfa(A: DFA, name: str) -> str:
    """Return the automaton of an event expression as the text of an HOA file."""
    proposition = _numbered(map(predicate_text, A.alphabet.predicates))

    def label(a: int) -> str:
        chosen = A.alphabet.types[a].chosen
        said = {proposition[predicate_text(P)]: i in chosen for i, P in enumerate(A.alphabet.predicates)}
        return _all([_literal(i, true) for i, true in said.items()])

    edges = [[(label(a), q) for (a, _), q in following.items()] for following in A.following]
    return _text(name, proposition, [0], edges, A.accepting, " deterministic")


def _numbered(texts: Iterable[str]) -> dict[str, int]:
    """Number the distinct texts; predicates with the same text count as one."""
    return {text: i for i, text in enumerate(dict.fromkeys(texts))}


def _literal(proposition: int, true: bool) -> str:
    return str(proposition) if true else f"!{proposition}"


def _all(parts: list[str]) -> str:
    return "&".join(parts) or "t"


def _text(
    name: str,
    propositions: Mapping[str, int],
    initial: Iterable[int],
    edges: list[list[tuple[str, int]]],
    final: frozenset[int],
    properties: str,
) -> str:
    lines = [
        "HOA: v1",
        f"name: {_quoted(name)}",
        f"States: {len(edges)}",
        *(f"Start: {q}" for q in initial),
        " ".join((f"AP: {len(propositions)}", *map(_quoted, propositions))),
        # The format has no acceptance for finite words; a comment in the file says how it is meant.
        "acc-name: Buchi",
        "Acceptance: 1 Inf(0)",
        f"properties: trans-labels explicit-labels state-acc{properties}",
        'tool: "cerify"',
        f"/* {FINITE} */",
        "--BODY--",
    ]
    for q, leaving in enumerate(edges):
        lines.append(f"State: {q} {{0}}" if q in final else f"State: {q}")
        lines += [f"[{label}] {target}" for label, target in leaving]
    return "\n".join((*lines, "--END--", ""))


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


# ---------------------------------------------------------------------------------------------------------------------
# The ways to assign variables to the rows from a row on (labellings), as a tree, the preferred ones first.
#
# A node is a row with a label that the definition tries after the labels on the path to the node; children are in the
# order of these attempts. A row whose condition is not true is a leaf. A complete assignment ends in its number; the
# first one is the match.

MOST_NODES = MOST_STATES - 3  # the root, the end of the match, and one more node come on top
MOST_ROWS = 30
BUDGET = Budget(valuations=20_000)
LEGEND = "In the order of preference, from the left or the top. Numbers end ways to label the rows; 1 is the match."


@dataclass
class _Node:
    """A node of the tree: a row with the variable that labels it, or the end of an assignment of variables to rows.
    lines: the text beside the arrow to it.
    """

    name: str
    lines: tuple[str, ...]
    kind: EdgeKind
    children: list[_Node] = field(default_factory=list)
    is_whole: bool = True  # whether the tree has all attempts after this node

    def child(self, name: str) -> _Node | None:
        """Return the last child if it has this name and is not an end, else None."""
        last = self.children[-1] if self.children else None
        return last if last is not None and last.name == name and last.kind != "end" else None


@dataclass
class _Tree:
    """The tree so far.

    room: how many more nodes fit, besides those of the match. hidden: how many attempts are left out. complete: how
    many assignments of variables to rows are complete. shown: how many of these are in the tree.
    """

    traced: Traced
    places: Sequence[int]
    made: RowOutput
    room: int
    root: _Node = field(default_factory=lambda: _Node("in", (), "label"))
    hidden: int = 0
    complete: int = 0
    shown: int = 0

    def attempted(self, one: LabelAttempt) -> None:
        """Add the row of an attempt to label it, if there is room."""
        parent = self._reached(one.labels[:-1])
        if parent is None or (parent.child(one.labels[-1]) is None and self.room <= 0):
            self.hidden += 1
            if parent is not None:
                parent.is_whole = False
        elif parent.child(one.labels[-1]) is None:
            self.room -= 1
            parent.children.append(self._node(one.labels, one))

    def completed(self, w: Labelling) -> None:
        """Add the end of a complete assignment of variables to rows, if there is room; the first one is always
        added.
        """
        self.complete += 1
        labels = tuple(label.variable for label in w)
        node = self.root
        for k in range(len(labels)) if self.complete == 1 else ():
            after = node.child(labels[k])
            if after is None:
                after = self._node(labels[: k + 1], None)
                node.children.append(after)
            after.kind = "match"
            node = after
        reached = self._reached(labels)
        if reached is not None and (self.room > 0 or self.complete == 1):
            self.shown += 1
            self.room -= 1
            reached.children.append(_Node(str(self.complete), (), "end"))
        elif reached is not None:
            reached.is_whole = False

    def _reached(self, labels: Sequence[str]) -> _Node | None:
        """Return the node for the last of these labels, on the newest branch; None if it was left out."""
        node: _Node | None = self.root
        for label in labels:
            node = None if node is None else node.child(label)
        return node

    def _node(self, labels: tuple[str, ...], one: LabelAttempt | None) -> _Node:
        """Make the node for the last of these labels. one: the attempt that led to it; None for a node of the match."""
        A, r = labels[-1], self.traced.s + len(labels) - 1
        if one is not None and not one.there:
            return _Node(A, ("there is no row",), "fail")
        where = f"row {self.places[r]}"
        if one is None or one.outcome or A not in self.traced.q.conditions:
            return _Node(A, (where,), "label")
        frame = self.traced.frame(tuple(map(RowLabel, labels)), len(labels))
        outcome = " is unknown" if one.outcome is None else " is false"
        return _Node(A, (f"{where}: {condition_text(self.made, A, frame, outcome)}",), "fail")


def preference_tree(q: MatchRecognize, S: Stream, place: int, title: str) -> Diagram:
    """Draw a tree of the ways to assign variables to rows that are tried from the row at this position on.

    Raises InputError if the table has no such row, Unsupported for the longest match, and BudgetExceeded if the match
    is too long to draw.
    """
    if not 0 <= place < len(S):
        raise InputError(f"there is no row {place}: the table has {len(S)} rows, numbered from 0")
    if q.longest:
        raise Unsupported("the tree shows the order of preference; leave OPTIONS out to draw it", q.span)
    made = RowOutput(q, S)
    partition, s = made.place[place]
    visible, number = visible_rows(made.q, s, len(partition)), _number(made, place)
    traced = Traced(made.q, partition, s, visible, number, STANDARD, RowStepBudget(BUDGET.valuations))
    match: Labelling = ()
    with suppress(BudgetExceeded):  # then the tree has the attempts until then
        # With a budget of its own: finding the match must not use up the steps that the tree needs.
        match = next(replace(traced, watch=RowStepBudget(BUDGET.valuations)).labellings(made.q.pattern, ()), ())
    traced.attempts.clear()
    if len(match) > MOST_ROWS:
        raise BudgetExceeded(
            f"the match at row {place} has {len(match)} rows, and a tree of more than {MOST_ROWS} cannot be read; "
            "take a part of the table"
        )
    # Room for the match is set aside first, because the tree always shows it.
    tree = _Tree(traced, next(its for its in made.partitions if place in its), made, MOST_NODES - len(match))
    is_all = True
    try:
        for w in traced.labellings(made.q.pattern, ()):
            _attempts_added(tree)
            tree.completed(w)
    except BudgetExceeded:
        is_all = False
    _attempts_added(tree)
    return _diagram(tree, title, is_all)


def _number(made: RowOutput, place: int) -> int:
    """Return the number of a match that begins at this row: one more than the number of matches that begin before."""
    partition, s = made.place[place]
    number = 1
    with suppress(IllFormed, BudgetExceeded):  # the matches before are counted
        for match in find_matches(made.clause, made.S, BUDGET):
            its, r = made.place[made.row_of(match)]
            number += its is partition and r < s
    return number


def _attempts_added(tree: _Tree) -> None:
    for one in tree.traced.attempts:
        tree.attempted(one)
    tree.traced.attempts.clear()


def _diagram(tree: _Tree, title: str, is_all: bool) -> Diagram:
    states, edges = [DrawnState(tree.root.name, initial=True)], list[DrawnEdge]()
    pending = [(tree.root, 0)]
    while pending:
        node, number = pending.pop(0)
        for child in node.children:
            edges.append(DrawnEdge(number, len(states), tuple(_lines(child)), child.kind))
            pending.append((child, len(states)))
            states.append(DrawnState(child.name, final=child.kind == "end" and child.name == "1"))
    return Diagram(title, tuple(states), tuple(edges), tuple(_notes(tree, is_all)), is_tree=True)


def _lines(node: _Node) -> Iterator[str]:
    yield from node.lines
    if node.kind == "label" and not node.children:
        yield "nothing can follow" if node.is_whole else "…"


def _notes(tree: _Tree, is_all: bool) -> Iterator[str]:
    yield LEGEND
    if not tree.complete:
        yield "The rows cannot be labelled: no match begins there."
    least = "" if is_all else "at least "
    missing = {"attempt": tree.hidden, "complete way": tree.complete - tree.shown}
    if texts := [f"{least}{n:,} more {what}{'s' * (n != 1)}" for what, n in missing.items() if n]:
        yield f"Not drawn: {' and '.join(texts)}."
