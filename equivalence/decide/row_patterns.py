"""What of a row pattern has no effect: parts of which no match has a row, reluctant quantifiers that might be greedy.

Both are questions about two clauses: whether the labels of matches stay the same if the variables of the part have
other names, or if the quantifier is greedy. What is found has no effect on any table.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from cerify.automata.row_pattern.compile import ACCEPT, compile_pattern
from cerify.equivalence.decide.row_clauses import compare
from cerify.equivalence.decide.row_words import ClausePair, on_row
from cerify.equivalence.verdict import Equivalent
from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Schema
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize, Skip
from cerify.semantics.trees import subtrees

LIMIT = Budget(states=2_000)
OTHER = "'"
"""What is added to a variable for another name, which no clause has, of a variable with the same condition."""


def parts_without_rows(q: MatchRecognize, schema: Schema | None = None) -> list[rows.Pattern]:
    """The alternatives of a clause that take rows, and its optional parts, of which no match has a row.

    None are found where conditions look at more than columns. Raises BudgetExceeded.
    """

    def walk(p: Any, alternative: bool) -> Iterator[rows.Pattern]:
        single = alternative and not isinstance(p, rows.Alternation) and not _may_be_empty(p)
        optional = isinstance(p, rows.Quantified) and p.low == 0 and p.high != 0
        takes = any(isinstance(one, rows.Variable) for one in subtrees(p))
        if takes and (single or optional) and _same(q, q.pattern, _replaced(q.pattern, p, _renamed(p)), schema):
            yield p
            return
        for one in trees.children(p):
            yield from walk(one, isinstance(p, rows.Alternation))

    return list(walk(q.pattern, False))


def idle_quantifiers(q: MatchRecognize, schema: Schema | None = None) -> list[rows.Quantified]:
    """The reluctant quantifiers of a clause which, were they greedy, would leave all matches as they are.

    None are found where conditions look at more than columns. Raises BudgetExceeded.
    """
    reluctant = [p for p in subtrees(q.pattern) if isinstance(p, rows.Quantified) and not p.greedy]
    return [p for p in reluctant if _same(q, _apart(q.pattern), _apart(made_greedy(q.pattern, p)), schema)]


def made_greedy(p: Any, quantifier: rows.Quantified) -> Any:
    """The pattern in which this quantifier is greedy."""
    return _replaced(p, quantifier, replace(quantifier, greedy=True))


def _same(q: MatchRecognize, left: rows.Pattern, right: rows.Pattern, schema: Schema | None) -> bool:
    """Whether in all tables matches of both patterns at a row have the same labels; False where it is not decided."""

    def clause(p: rows.Pattern) -> MatchRecognize:
        define = ((A, conditions.get(A.removesuffix(OTHER))) for A in MatchRecognize(p).primary)
        return MatchRecognize(p, tuple(Definition(A, e) for A, e in define if e is not None), skip=Skip("next row"))

    try:
        known = ClausePair.of(q, q, schema).left
        conditions = {A: on_row(e, A) for A, e in known.conditions.items()}
        return isinstance(compare(clause(left), clause(right), "equivalent", "valuations", schema, LIMIT), Equivalent)
    except Unsupported:
        return False


def _replaced(p: Any, part: Any, other: Any) -> Any:
    """The pattern with another part in the place of this one."""
    if p is part:
        return other
    below = trees.children(p)
    return trees.rebuilt(p, [_replaced(one, part, other) for one in below]) if below else p


def _renamed(p: Any) -> Any:
    """The pattern with other names for its variables."""
    if isinstance(p, rows.Variable):
        return rows.Variable(p.name.removesuffix(OTHER) + OTHER)
    below = trees.children(p)
    return trees.rebuilt(p, [_renamed(one) for one in below]) if below else p


def _apart(p: Any) -> Any:
    """The pattern in which variables have other names in rows that are left out of the output."""
    if isinstance(p, rows.Exclusion):
        return _renamed(p)
    below = trees.children(p)
    return trees.rebuilt(p, [_apart(one) for one in below]) if below else p


def _may_be_empty(p: rows.Pattern) -> bool:
    return any(way.target == ACCEPT for way in compile_pattern(p, LIMIT).first)
