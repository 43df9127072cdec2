"""vldb92, appendix 2, letter for letter: marked automata for expressions with no free variable under a negation.

A variable that stands alone is read as any = x, since the text has no construction for it. A product of machines with
silent steps takes those of either side alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import EVERY_EVENT, definition, free_variables
from proofs_tests.claims.printed import vldb92_sec3 as section3
from proofs_tests.claims.printed.vldb92_sec3 import Machine

State: TypeAlias = Any
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
        return Marked(section3.machine(E, letters), {})  # 1
    match E:
        case expr.ExpressionVariable(x):
            return equated(of(EVERY_EVENT), x)
        case expr.Equated(F, w):
            return equated(of(F), w)
        case expr.Relative((left, right)):
            if free_variables(left) & free_variables(right):
                return Marked(section3.null(letters), {})
            return relative(of(left), of(right))
        case expr.ExpressionAnd(left, right):
            shared = free_variables(left), free_variables(right)
            return conjunction(of(left), of(right), *shared)
        case expr.Exists(w, F):
            return exists(of(F), w)
        case expr.ExpressionNot(F) | expr.RelativePlus(F) if not free_variables(
            F
        ):  # of no variables any more: determinize, go on
            inner = section3.determinized(of(F).machine)
            negated = isinstance(E, expr.ExpressionNot)
            return Marked(section3.negation(inner) if negated else section3.relative_plus(inner), {})
        case _:
            short_for = definition(E)
            assert short_for is not None, "a variable is free under a negation"
            return of(short_for)


def equated(M: Marked, w: str) -> Marked:
    """2: E = w."""
    old = section3.renamed(M.machine, lambda q: ("E", q))
    moves = old.moves | {(q, a): frozenset({"p"}) for q in ("q", "p") for a in old.letters}
    silent = dict(old.silent)
    for q in old.accepting:
        silent[q] = silent.get(q, frozenset()) | {"q"}
    marks = {("E", q): m for q, m in M.marks.items()} | {"q": frozenset({w})}
    return Marked(Machine(old.letters, old.start, frozenset({"q"}), moves, silent), marks)


def relative(M1: Marked, M2: Marked) -> Marked:
    """3, where no variable is in both."""
    marks = {(1, q): m for q, m in M1.marks.items()} | {(2, q): m for q, m in M2.marks.items()}
    return Marked(section3.relative(M1.machine, M2.machine), marks)


def conjunction(M1: Marked, M2: Marked, in_1: frozenset[str], in_2: frozenset[str]) -> Marked:
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
    one, two = (section3.renamed(M.machine, lambda q, copy=copy: (copy, q)) for copy in (1, 2))  # type: ignore[misc]
    silent = {**one.silent, **two.silent}
    for q, m in M.marks.items():
        if w in m:
            silent[1, q] = silent.get((1, q), frozenset()) | {(2, q)}
    marks = {(copy, q): m - {w} for q, m in M.marks.items() for copy in (1, 2)}
    return Marked(replace(one, accepting=two.accepting, moves={**one.moves, **two.moves}, silent=silent), marks)
