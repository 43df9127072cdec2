"""The constructions and appendices of vldb92 as they are printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import count
from itertools import product as product_of
from typing import Any, TypeAlias

from cerify.automata.dfa.compile import kinded
from cerify.automata.dfa.model import DFA, Names
from cerify.automata.dfa.parametric import MARK, Symbolic
from cerify.automata.exploration import explore
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import EVERY_EVENT, definition, free_variables
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import satisfied

# ---- vldb92 app1 ----
# Occurrence tuples by the clauses of vldb92, appendix 1, as they are printed, and with what they need to agree.
#
# A clause says which tuples satisfy an expression; what others ask of a tuple is only where the expression starts and
# ends in it. So the clauses are read as sets of pairs (f_i, e_i), where e_i may be the sequence of rounds of
# relative+.

Pair: TypeAlias = tuple[int, int]


@dataclass(frozen=True)
class Reading:
    """What is not as printed.

    starts_earlier: a primitive event is found in what has begun before it; printed e_i = f_i.
    effective: where an entry is the rounds of relative+, the event where the last one ends counts; printed, the rounds
    are compared with events, and are none.
    """

    starts_earlier: bool = False
    effective: bool = False


PRINTED = Reading()
MENDED = Reading(starts_earlier=True, effective=True)


def takes_place(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[int]:
    """The events at which there is a tuple for E whose origin is the first event of the history."""
    return frozenset(e for f, e in _pairs(E, S, reading) if f == 0)


def _pairs(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[Pair]:
    h = range(len(S))
    match E:
        case expr.Null():
            return frozenset()
        case expr.Primitive(T):  # 1
            starts = (lambda e: range(e + 1)) if reading.starts_earlier else (lambda e: range(e, e + 1))
            return frozenset((f, e) for e in h if S[e].type == T for f in starts(e))
        case expr.Relative((A, B)):  # 2: succ(e_i) = f_j
            left, right = _ends(A, S, reading), _pairs(B, S, reading)
            return frozenset((f, e) for f, d in left for g, e in right if g == d + 1)
        case expr.RelativePlus(A):  # 3: rounds, each from where the one before it ends
            rounds = _pairs(A, S, reading)
            found: frozenset[Pair] = frozenset()
            new = rounds
            while new:
                found |= new
                new = frozenset((f, e) for f, d in new for g, e in rounds if g == d + 1) - found
            return found
        case expr.ExpressionAnd(A, B):  # 4: f_i = f_j = f_k, e_i = e_j = e_k
            both_rounds = isinstance(A, expr.RelativePlus) and A == B  # then the entries may be equal as sequences
            of = _pairs if both_rounds else _ends
            return of(A, S, reading) & of(B, S, reading)
        case expr.ExpressionNot(A):  # 5
            inside = _pairs(A, S, reading)
            whole = [(f, e) for e in h for f in range(e + 1)]
            return frozenset(whole) - inside  # no tuple of A from f_k to e_k
        case _:
            raise ValueError("the appendix has the base operators only")


def _ends(E: expr.Expression, S: Stream, reading: Reading) -> frozenset[Pair]:
    """The pairs where e_i is asked to be an event."""
    if isinstance(E, expr.RelativePlus) and not reading.effective:
        return frozenset()
    return _pairs(E, S, reading)


# ---- vldb92 sec3 ----
# vldb92, section 3, letter for letter: the automata for the base operators, and for |, /+ and prefix.
#
# The letters are the primitive events; derived operators are translated. Where the text asks for a deterministic
# automaton it is the one of the subset construction, without the subsets that cannot be reached. The reading of
# prefix is
# an argument, since the text leaves open whether a sequence of events may be empty.

State: TypeAlias = Any


@dataclass(frozen=True)
class Machine:
    """A finite automaton with silent steps."""

    letters: tuple[str, ...]
    start: State
    accepting: frozenset[State]
    moves: dict[tuple[State, str], frozenset[State]]
    silent: dict[State, frozenset[State]] = field(default_factory=dict)

    @property
    def states(self) -> frozenset[State]:
        sources = {q for q, _ in self.moves} | set(self.silent) | {self.start} | self.accepting
        return frozenset(sources).union(*self.moves.values(), *self.silent.values())

    def closed(self, states: Iterable[State]) -> frozenset[State]:
        """The states, with those that silent steps lead to."""
        return frozenset(explore(states, lambda q: [(None, p) for p in self.silent.get(q, ())], 10_000, "the closure"))

    def after(self, states: Iterable[State], a: str) -> frozenset[State]:
        return self.closed(p for q in states for p in self.moves.get((q, a), ()))

    def events(self, h: Iterable[str]) -> frozenset[int]:
        """Corollary 1: the events immediately after which the machine is in an accepting state."""
        found, q = set(), self.closed({self.start})
        for e, a in enumerate(h):
            q = self.after(q, a)
            if not q.isdisjoint(self.accepting):
                found.add(e)
        return frozenset(found)


def determinized(M: Machine) -> Machine:
    """M^d, its states numbered; the start state is 0."""
    found = explore(
        [M.closed({M.start})], lambda q: [(a, M.after(q, a)) for a in M.letters], 10_000, "the deterministic machine"
    )
    number = {q: i for i, q in enumerate(found)}
    moves = {(number[q], a): frozenset({number[p]}) for q, edges in found.items() for a, p in edges}
    return Machine(M.letters, 0, frozenset(i for q, i in number.items() if q & M.accepting), moves)


def renamed(M: Machine, name: Callable[[State], State]) -> Machine:
    return Machine(
        M.letters,
        name(M.start),
        frozenset(map(name, M.accepting)),
        {(name(q), a): frozenset(map(name, targets)) for (q, a), targets in M.moves.items()},
        {name(q): frozenset(map(name, targets)) for q, targets in M.silent.items()},
    )


def machine(E: expr.Expression, letters: tuple[str, ...], empty_sequences: bool = False) -> Machine:
    """M_E."""

    def of(F: expr.Expression) -> Machine:
        return machine(F, letters, empty_sequences)

    match E:
        case expr.Null():
            return null(letters)
        case expr.Primitive(a):
            return primitive(a, letters)
        case expr.ExpressionAnd(left, right):
            return conjunction(determinized(of(left)), determinized(of(right)))
        case expr.ExpressionNot(F):
            return negation(determinized(of(F)))
        case expr.Relative((left, right)):
            return relative(of(left), of(right))
        case expr.RelativePlus(F):
            return relative_plus(of(F))
        case expr.Pipe(left, right):
            return pipe(determinized(of(left)), determinized(of(right)))
        case expr.ExpressionBetween(left, right):
            return slash_plus(determinized(of(left)), determinized(of(right)))
        case expr.Prefix(F):
            return prefix(determinized(of(F)), empty_sequences)
        case _:
            short_for = definition(E)
            assert short_for is not None, "section 3 is without variables and names"
            return of(short_for)


def null(letters: tuple[str, ...]) -> Machine:
    return Machine(letters, 0, frozenset(), {(q, a): frozenset({1}) for q in (0, 1) for a in letters})


def primitive(a: str, letters: tuple[str, ...]) -> Machine:
    moves = {(q, b): frozenset({"p" if b == a else "q"}) for q in ("start", "p", "q") for b in letters}
    return Machine(letters, "start", frozenset({"p"}), moves)


def product(M1: Machine, M2: Machine) -> Iterator[tuple[tuple[State, State], str, State, State]]:
    """The pairs of states, with what each of the two deterministic machines does on a letter."""
    for p in M1.states:
        for q in M2.states:
            for a in M1.letters:
                (r,), (s,) = M1.moves[p, a], M2.moves[q, a]
                yield (p, q), a, r, s


def conjunction(M1: Machine, M2: Machine) -> Machine:
    moves = {(pq, a): frozenset({(r, s)}) for pq, a, r, s in product(M1, M2)}
    accepting = frozenset((p, q) for p in M1.accepting for q in M2.accepting)
    return Machine(M1.letters, (M1.start, M2.start), accepting, moves)


def negation(M: Machine) -> Machine:
    return Machine(M.letters, M.start, M.states - M.accepting - {M.start}, M.moves)


def relative(M1: Machine, M2: Machine) -> Machine:
    M1, M2 = renamed(M1, lambda q: (1, q)), renamed(M2, lambda q: (2, q))
    silent = {**M1.silent, **M2.silent}
    for q in M1.accepting:
        silent[q] = silent.get(q, frozenset()) | {M2.start}
    return Machine(M1.letters, M1.start, M2.accepting, {**M1.moves, **M2.moves}, silent)


def relative_plus(M: Machine) -> Machine:
    silent = dict(M.silent)
    for q in M.accepting:
        silent[q] = silent.get(q, frozenset()) | {M.start}
    return Machine(M.letters, M.start, M.accepting, M.moves, silent)


def pipe(M1: Machine, M2: Machine) -> Machine:
    moves = {((p, q), a): frozenset({(f, s if f in M1.accepting else q)}) for (p, q), a, f, s in product(M1, M2)}
    accepting = frozenset((p, q) for p in M1.accepting for q in M2.accepting)
    return Machine(M1.letters, (M1.start, M2.start), accepting, moves)


def slash_plus(MF: Machine, ME: Machine, corrected: bool = False) -> Machine:
    """F /+ E. As printed it enters M in its start state; corrected, E is read on from where it is."""
    moves = {
        (("M", p, q), a): frozenset({("M", r, MF.start if r in ME.accepting else s)})
        for (p, q), a, r, s in product(ME, MF)
    }
    accepting = frozenset(("M", p, q) for p in ME.states for q in MF.accepting)
    ME_ = renamed(ME, lambda q: ("E", q))
    moves |= {(q, a): targets for (q, a), targets in ME_.moves.items() if q not in ME_.accepting}
    silent = {("E", q): frozenset({("M", q if corrected else ME.start, MF.start)}) for q in ME.accepting}
    return Machine(MF.letters, ME_.start, accepting, moves, silent)


def prefix(M: Machine, empty_sequences: bool) -> Machine:
    """The start state stays non-accepting, as the text says of all machines."""
    coaccessible = M.accepting
    for _ in count():
        more = coaccessible | {q for q in M.states if any(M.after({q}, a) & coaccessible for a in M.letters)}
        if more == coaccessible:
            break
        coaccessible = more
    if not empty_sequences:
        coaccessible = frozenset(q for q in M.states if any(M.after({q}, a) & coaccessible for a in M.letters))
    return Machine(M.letters, M.start, coaccessible - {M.start}, M.moves)


# ---- vldb92 app2 ----
# vldb92, appendix 2, letter for letter: marked automata for expressions with no free variable under a negation.
#
# A variable that stands alone is read as any = x, since the text has no construction for it. A product of machines
# with
# silent steps takes those of either side alone.

Marks: TypeAlias = dict[State, frozenset[str]]


@dataclass(frozen=True)
class Marked:
    """A machine, and the variables that its states are marked with."""

    machine: Machine
    marks: Marks

    def marks_of(self, q: State) -> frozenset[str]:
        return self.marks.get(q, frozenset())


def marked(E: expr.Expression, letters: tuple[str, ...]) -> Marked:
    """M_E."""

    def of(F: expr.Expression) -> Marked:
        return marked(F, letters)

    if not any(isinstance(F, expr.Exists | expr.Equated | expr.ExpressionVariable) for F in expr.subexpressions(E)):
        return Marked(machine(E, letters), {})  # 1
    match E:
        case expr.ExpressionVariable(x):
            return equated(of(EVERY_EVENT), x)
        case expr.Equated(F, w):
            return equated(of(F), w)
        case expr.Relative((left, right)):
            if free_variables(left) & free_variables(right):
                return Marked(null(letters), {})
            return relative_app2(of(left), of(right))
        case expr.ExpressionAnd(left, right):
            shared = free_variables(left), free_variables(right)
            return conjunction_app2(of(left), of(right), *shared)
        case expr.Exists(w, F):
            return exists(of(F), w)
        case expr.ExpressionNot(F) | expr.RelativePlus(F) if not free_variables(
            F
        ):  # of no variables any more: determinize, go on
            inner = determinized(of(F).machine)
            negated = isinstance(E, expr.ExpressionNot)
            return Marked(negation(inner) if negated else relative_plus(inner), {})
        case _:
            short_for = definition(E)
            assert short_for is not None, "a variable is free under a negation"
            return of(short_for)


def equated(M: Marked, w: str) -> Marked:
    """2: E = w."""
    old = renamed(M.machine, lambda q: ("E", q))
    moves = old.moves | {(q, a): frozenset({"p"}) for q in ("q", "p") for a in old.letters}
    silent = dict(old.silent)
    for q in old.accepting:
        silent[q] = silent.get(q, frozenset()) | {"q"}
    marks = {("E", q): m for q, m in M.marks.items()} | {"q": frozenset({w})}
    return Marked(Machine(old.letters, old.start, frozenset({"q"}), moves, silent), marks)


def relative_app2(M1: Marked, M2: Marked) -> Marked:
    """3, where no variable is in both."""
    marks = {(1, q): m for q, m in M1.marks.items()} | {(2, q): m for q, m in M2.marks.items()}
    return Marked(relative(M1.machine, M2.machine), marks)


def conjunction_app2(M1: Marked, M2: Marked, in_1: frozenset[str], in_2: frozenset[str]) -> Marked:
    """4: marked with a variable of one side where that side is, with a variable of both where both are."""
    A, B = M1.machine, M2.machine
    pairs = [(p, q) for p in A.states for q in B.states]
    moves = {
        ((p, q), a): frozenset((r, s) for r in A.moves.get((p, a), ()) for s in B.moves.get((q, a), ()))
        for p, q in pairs
        for a in A.letters
    }
    silent = {
        (p, q): frozenset((r, q) for r in A.silent.get(p, ())) | frozenset((p, s) for s in B.silent.get(q, ()))
        for p, q in pairs
    }
    accepting = frozenset((p, q) for p in A.accepting for q in B.accepting)
    marks: Marks = {}
    for p, q in pairs:
        one, other = M1.marks_of(p), M2.marks_of(q)
        marks[p, q] = (one & other) | (one - in_2) | (other - in_1)
    return Marked(Machine(A.letters, (A.start, B.start), accepting, moves, silent), marks)


def exists(M: Marked, w: str) -> Marked:
    """5: two copies, and a silent step from the first to the second where a state is marked."""
    one, two = (renamed(M.machine, lambda q, copy=copy: (copy, q)) for copy in (1, 2))  # type: ignore[misc]
    silent = {**one.silent, **two.silent}
    for q, m in M.marks.items():
        if w in m:
            silent[1, q] = silent.get((1, q), frozenset()) | {(2, q)}
    marks = {(copy, q): m - {w} for q, m in M.marks.items() for copy in (1, 2)}
    return Marked(replace(one, accepting=two.accepting, moves={**one.moves, **two.moves}, silent=silent), marks)


# ---- vldb92 app3 ----
# Spawned machines as vldb92, appendix 3, prints them: a table of machines, each stepped with each event.

NOBODY: Names = frozenset()


def spawned(plan: Symbolic, S: Stream) -> frozenset[int]:
    """The events at which a machine accepts whose variables all have values."""
    found: set[int] = set()
    machines = {(None,) * len(plan.variables): (0,) * len(plan.automata)}
    for e, event in enumerate(S):
        told = [(X, kinded(v)) for X, name in plan.sources.get(event.type, ()) if (v := event.get(name)) is not None]
        for key, states in list(machines.items()):  # the parents, which do not know of one another's children yet
            for X, v in told:
                if key[X] is None:
                    machines.setdefault((*key[:X], v, *key[X + 1 :]), states)
        for key, states in machines.items():
            known = {MARK + plan.variables[X]: v[1] for X, v in enumerate(key) if v is not None}
            machines[key] = tuple(
                _step(A, q, Event(event.type, {**event.attributes, **known}))
                for q, A in zip(states, plan.automata.values(), strict=True)
            )
            way = tuple(satisfied(P, lambda X, known=known: known.get(X.name)) for P in plan.constraints)
            k = list(plan.automata).index(way)
            if None not in key and machines[key][k] in plan.automata[way].accepting:
                found.add(e)
    return frozenset(found)


def _step(A: DFA, q: int, event: Event) -> int:
    return A.step(q, A.alphabet.type_of(event), NOBODY)


# ---- vldb92 sec2 ----
# vldb92, sections 2.2 and 2.3: the formal definitions of the operators, letter for letter.
#
# A history is a tuple of pairs (event-identifier, primitive event), as in the text, and an expression maps it to
# another.
# Only operators that the text defines on histories are here; the others are defined by expressions.

History: TypeAlias = tuple[tuple[int, str], ...]
Applied: TypeAlias = Callable[[expr.Expression, History], History]


def numbered(letters: Iterable[str]) -> History:
    return tuple(enumerate(letters))


def after(h: History, eid: int) -> History:
    """h without the event occurrences whose eids are less than or equal to this one."""
    return tuple((e, a) for e, a in h if e > eid)


def union(h: History, parts: Iterable[History]) -> History:
    found = {o for part in parts for o in part}
    return tuple(o for o in h if o in found)


def applied(E: expr.Expression, h: History) -> History:
    """E[h]."""
    if not h:
        return ()  # 1
    match E:
        case expr.Null():  # 2
            return ()
        case expr.Primitive(a):  # 3
            return tuple(o for o in h if o[1] == a)
        case expr.ExpressionAnd(left, right):  # 4
            return tuple(o for o in applied(left, h) if o in applied(right, h))
        case expr.ExpressionNot(F):  # 5
            return tuple(o for o in h if o not in applied(F, h))
        case expr.Relative((left, right)):  # 6
            return union(h, (applied(right, after(h, e)) for e, _ in applied(left, h)))
        case expr.RelativePlus(F):  # 7: relative^i is empty where i is greater than the number of events
            parts, power = [], F
            for _ in h:
                parts.append(applied(power, h))
                power = expr.Relative((power, F))
            return union(h, parts)
        case expr.Pipe(left, right):  # g
            return applied(right, applied(left, h))
        case _:
            raise NotImplementedError(f"{type(E).__name__} is defined by an expression")


def between(F: expr.Expression, E: expr.Expression, h: History, of: Applied, as_printed: bool) -> History:
    """k: F /+ E. As printed i < m - 1 for the parts between two events of E; otherwise i < m."""
    at = [e for e, _ in of(E, h)]
    m = len(at)
    parts = []
    for i in range(1, m + 1):
        rest = after(h, at[i - 1])
        if i < (m - 1 if as_printed else m):
            parts.append(of(F, tuple((e, a) for e, a in rest if e < at[i])))
        elif i == m:
            parts.append(of(F, rest))
    return union(h, parts)


def prefix_sec2(E: expr.Expression, h: History, of: Applied, letters: tuple[str, ...], further: int) -> History:
    """o: some history identical to h up to e has E at an event after e; looked for among `further` events more."""

    def is_viable(n: int) -> bool:
        so_far = tuple(a for _, a in h[: n + 1])
        return any(
            any(position > n for position, _ in of(E, numbered((*so_far, *rest))))
            for more in range(1, further + 1)
            for rest in product_of(letters, repeat=more)
        )

    return tuple(o for n, o in enumerate(h) if is_viable(n))
