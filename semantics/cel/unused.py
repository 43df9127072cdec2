"""Variables that are bound where nothing asks for them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import assert_never

from cerify.semantics.cel import syntax as cel
from cerify.semantics.predicate_types import Problem
from cerify.semantics.predicates import mentions
from cerify.semantics.trees import children


@dataclass(frozen=True, slots=True)
class _Asked:
    """The variables that what surrounds a formula asks for: all, or only these; and of them not the hidden."""

    only: frozenset[str] | None = None
    hidden: frozenset[str] = frozenset()

    def __contains__(self, A: str) -> bool:
        return A not in self.hidden and (self.only is None or A in self.only)


def unused(phi: cel.Formula) -> Iterator[Problem]:
    """The IN whose variable no filter names and no output has: hidden by PROJECT, bound anew, or under UNLESS.

    What an event type binds by itself is no problem. The two sides of AND have to bind the same: there all are used.
    """
    pending = [(phi, _Asked())]
    while pending:
        psi, asked = pending.pop()
        match psi:
            case cel.In(inner, A):
                if A not in asked:
                    message = f"{A} is bound here and nothing uses it: no filter around it names it, no output has it"
                    yield Problem("unused", message, psi.span)
                pending.append((inner, _Asked(asked.only, asked.hidden | {A})))
            case cel.Filter(inner, condition):
                named = frozenset(A for atom in cel.atoms(condition) for A in _variables(atom))
                only = None if asked.only is None else asked.only | named
                pending.append((inner, _Asked(only, asked.hidden - named)))
            case cel.Project(L, inner):
                pending.append((inner, _Asked(frozenset(A for A in L if A in asked))))
            case cel.Unless(left, right):
                pending += [(right, _Asked(frozenset())), (left, asked)]
            case cel.And(left, right):
                pending += [(right, _Asked()), (left, _Asked())]
            case cel.Derived():
                pending.append((psi.expansion, asked))
            case (
                cel.Event() | cel.Seq() | cel.ContiguousSeq() | cel.Or() | cel.All() | cel.Plus() | cel.ContiguousPlus()
                | cel.Start() | cel.Strict() | cel.Next() | cel.Last() | cel.Max() | cel.Within() | cel.PartitionBy()
            ):  # fmt: skip
                pending += [(child, asked) for child in reversed(children(psi))]
            case _:
                assert_never(psi)


def _variables(atom: cel.Atom) -> tuple[str, ...]:
    match atom:
        case cel.Every(A, _):
            return (A,)
        case cel.Correlated(predicate):
            return tuple(a.variable or "" for a in mentions(predicate))
        case cel.Named(_, variables):
            return variables
        case _:
            assert_never(atom)
