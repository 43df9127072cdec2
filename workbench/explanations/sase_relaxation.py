"""Queries of SASE+ with some of their restrictions left out: conditions, negation, the window, cuts and strategies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import combinations
from typing import Literal, TypeAlias, assert_never

from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.show import show_component, show_condition, show_conjunct, show_window

LOOSEST: sase.Strategy = "skip_till_any_match"

Restriction: TypeAlias = (
    sase.Conjunct | sase.Component | sase.Window | sase.Selected | tuple[sase.Strategy, str] | Literal["HAVING"]
)
"""A conjunct of WHERE, HAVING, a negated component, WITHIN, a cut, or a strategy with its variable."""


def relaxations(queries: Iterable[sase.Query]) -> Iterator[tuple[sase.Query, tuple[str, ...], sase.Query]]:
    """Each of the queries, what is left out of it, and what is left of it; those that leave out least are first."""
    known = [(q, restrictions(q)) for q in queries]
    for n in range(1, max((len(found) for _, found in known), default=0) + 1):
        for q, found in known:
            for left_out in combinations(found, n):
                yield q, tuple(_text(q, one) for one in left_out), without(q, left_out)


def restrictions(q: sase.Query) -> list[Restriction]:
    """What can be left out of a query so that it has more matches: conditions first, strategies last."""
    absent, kept = clauses.negated(q), [k.variable for k in clauses.positive(q)]
    found: list[Restriction] = [c for c in clauses.conjuncts(q) if _mentioned(c).isdisjoint(absent)]
    if q.having is not None:
        found.append("HAVING")
    found += [k for k in q.pattern if k.negated]
    if q.within is not None:
        found.append(q.within)
    found += [sase.Selected(a, True) for a in kept if clauses.is_cut(q, a)]
    return [*found, *((s, a) for a in kept if (s := clauses.strategy_of(q, a)) != LOOSEST)]


def without(q: sase.Query, left_out: tuple[Restriction, ...]) -> sase.Query:
    """The query without these restrictions; a strategy that is left out becomes skip_till_any_match."""
    gone = {k.variable for k in left_out if isinstance(k, sase.Component)}
    dropped = {id(c) for c in left_out}
    pattern = tuple(k for k in q.pattern if k.variable not in gone)
    blocks = [
        sase.Block(
            LOOSEST if (strategy := clauses.strategy_of(q, k.variable), k.variable) in left_out else strategy,
            (
                sase.Selected(
                    k.variable, clauses.is_cut(q, k.variable) and sase.Selected(k.variable, True) not in left_out
                ),
            ),
            (),
        )
        for k in pattern
    ]
    conjuncts = tuple(c for c in clauses.conjuncts(q) if id(c) not in dropped and _mentioned(c).isdisjoint(gone))
    return replace(
        q,
        pattern=pattern,
        where=(*blocks, sase.Block(None, (), conjuncts)),
        within=None if q.within in left_out else q.within,
        having=None if "HAVING" in left_out else q.having,
    )


def _mentioned(c: sase.Conjunct) -> frozenset[str]:
    return frozenset() if isinstance(c.condition, sase.Equivalence) else clauses.variables(c.condition)


def _text(q: sase.Query, one: Restriction) -> str:
    match one:
        case sase.Conjunct():
            return show_conjunct(one)
        case sase.Component():
            return show_component(one)
        case sase.Window():
            return f"WITHIN {show_window(one)}"
        case sase.Selected(variable):
            return f"the ! of {variable}[]!"
        case "HAVING":
            assert q.having is not None
            return f"HAVING {show_condition(q.having)}"
        case (strategy, variable):
            array = "[]" if any(k.kleene for k in q.pattern if k.variable == variable) else ""
            return f"{strategy}({variable}{array}), with {LOOSEST} in its place"
        case _:
            assert_never(one)
