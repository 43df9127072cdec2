"""A contiguous formula of CEL in MATCH_RECOGNIZE, and SASE+ with strict or partition contiguity.

Each event gets a variable, whose condition has its type and the filters on the CEL variables that bind it. AFTER MATCH
SKIP TO NEXT ROW lets matches overlap, as they do in CEL. MATCH_RECOGNIZE has one match for each row, so no match
may be the beginning of another.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from typing import TypeAlias, cast

from cerify.automata.row_pattern.predicates import expression_of
from cerify.equivalence.rewrite.translate.names import Names
from cerify.equivalence.rewrite.translate.one_length import two_lengths
from cerify.equivalence.rewrite.translate.row_to_cel import lengths_text
from cerify.equivalence.rewrite.translate.sase_to_cel import sase_to_cel
from cerify.semantics import predicates as pred
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize, Skip
from cerify.semantics.row_pattern.wellformed import problems
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import DECIDED, Reading


@dataclass(frozen=True)
class _Leaf:
    """An event: its type, the variables that bind it, and the conditions on it."""

    type: str
    names: frozenset[str]
    conditions: tuple[pred.Predicate, ...] = ()

    @property
    def predicate(self) -> pred.Predicate:
        """What is asked of the event."""
        return reduce(pred.Both, self.conditions, cast("pred.Predicate", pred.OfType(self.type)))


@dataclass(frozen=True)
class _Joined:
    """Two parts, one after the other, or one of the two."""

    left: _Part
    right: _Part
    kind: type[rows.Concatenation] | type[rows.Alternation]


@dataclass(frozen=True)
class _Repeated:
    """A part once or more often."""

    part: _Part


_Part: TypeAlias = _Leaf | _Joined | _Repeated


def cel_to_row(phi: cel.Formula, budget: Budget = Budget()) -> MatchRecognize:
    """A clause whose matches have the complex events of phi as their rows, on every stream.

    Raises Unsupported where there is no such clause or this translation finds none, and BudgetExceeded.
    """
    part = _part(phi, False)
    leaves = list(_leaves(part))
    names = Names(frozenset())
    predicates = dict.fromkeys(leaf.predicate for leaf in leaves)
    variables = {P: names.unused(next(one.type for one in leaves if one.predicate == P)) for P in predicates}
    pattern = _pattern(part, variables)
    if (found := two_lengths(pattern, {A: P for P, A in variables.items()}, budget)) is not None:
        text = lengths_text(found).replace("row", "event")
        raise Unsupported(f"{text}; CEL has both, MATCH_RECOGNIZE one for each row", phi.span)
    define = tuple(Definition(A, expression_of(P)) for P, A in variables.items())
    clause = MatchRecognize(pattern, define, skip=Skip("next row"))
    for problem in problems(clause):  # as constants of two kinds in one comparison, which CEL has never true
        raise Unsupported(f"the clause would not be well-formed: {problem.message}", phi.span)
    return clause


def _part(phi: cel.Formula, strict: bool) -> _Part:
    """The part of a formula; strict: under STRICT, where all events of a match are adjacent."""
    match phi:
        case cel.Event(R):
            return _Leaf(R, frozenset({R}))
        case cel.In(psi, A):
            return _mapped(_part(psi, strict), lambda leaf: replace(leaf, names=leaf.names | {A}))
        case cel.Filter(psi, condition):
            return _filtered(_part(psi, strict), condition)
        case cel.ContiguousSeq(left, right):
            return _Joined(_part(left, strict), _part(right, strict), rows.Concatenation)
        case cel.ContiguousPlus(psi):
            return _Repeated(_part(psi, strict))
        case cel.Seq(left, right) if strict:
            return _Joined(_part(left, strict), _part(right, strict), rows.Concatenation)
        case cel.Plus(psi) if strict:
            return _Repeated(_part(psi, strict))
        case cel.Or(left, right):
            return _Joined(_part(left, strict), _part(right, strict), rows.Alternation)
        case cel.Strict(psi):
            return _part(psi, True)
        case cel.Seq() | cel.Plus():
            raise Unsupported("rows of a match are adjacent: write `:` and `:+`, or STRICT around it", phi.span)
        case _:
            raise Unsupported("only events, FILTER, IN, OR, `:`, `:+` and STRICT are translated", phi.span)


def _filtered(part: _Part, condition: cel.Condition) -> _Part:
    match condition:
        case cel.Every(A, P):

            def limited(leaf: _Leaf) -> _Leaf:
                return replace(leaf, conditions=(*leaf.conditions, P)) if A in leaf.names else leaf

            return _mapped(part, limited)
        case cel.Conjunction(left, right):
            return _filtered(_filtered(part, left), right)
        case _:
            raise Unsupported("the filter is not one on the events of one variable, each by itself", condition.span)


def _mapped(part: _Part, change: Callable[[_Leaf], _Leaf]) -> _Part:
    match part:
        case _Leaf():
            return change(part)
        case _Joined(left, right, kind):
            return _Joined(_mapped(left, change), _mapped(right, change), kind)
        case _Repeated(inner):
            return _Repeated(_mapped(inner, change))


def _leaves(part: _Part) -> list[_Leaf]:
    match part:
        case _Leaf():
            return [part]
        case _Joined(left, right):
            return [*_leaves(left), *_leaves(right)]
        case _Repeated(inner):
            return _leaves(inner)


def _pattern(part: _Part, variables: dict[pred.Predicate, str]) -> rows.Pattern:
    match part:
        case _Leaf():
            return rows.Variable(variables[part.predicate])
        case _Joined(left, right, kind):
            return kind(_pattern(left, variables), _pattern(right, variables))
        case _Repeated(inner):
            return rows.Quantified(_pattern(inner, variables), 1, None)


# --- SASE+ ------------------------------------------------------------------------------------------------------------


def sase_to_row(q: sase.Tree, reading: Reading = DECIDED, budget: Budget = Budget()) -> MatchRecognize:
    """A clause with the rows of the matches of q, on every stream.

    Contiguity in partitions becomes PARTITION BY; a row without the attribute, which belongs to no partition of SASE+,
    is in a partition of such rows, and no variable takes it. Raises as cel_to_row does.
    """
    if not isinstance(q, sase.Query) or not _in_partitions(q):
        return cel_to_row(sase_to_cel(q, reading), budget)
    is_compared = len(q.pattern) > 1 or q.pattern[0].kleene  # one event agrees with itself on what it does not have
    conditions = [c.condition for block in q.where for c in block.conjuncts]
    attributes = tuple(one.attribute for one in conditions if isinstance(one, sase.Equivalence))
    blocks = tuple(
        replace(block, strategy="strict_contiguity", conjuncts=tuple(c for c in block.conjuncts if not _is_test(c)))
        for block in q.where
    )
    clause = cel_to_row(sase_to_cel(replace(q, where=blocks), reading), budget)
    if not is_compared:
        return clause
    there = [rows.IsNull(rows.Column(name), negated=True) for name in attributes]
    return replace(
        clause,
        partition=tuple(map(rows.Column, attributes)),
        define=tuple(replace(one, condition=reduce(rows.And, there, one.condition)) for one in clause.define),
    )


def _in_partitions(q: sase.Query) -> bool:
    """Whether all components have contiguity in the partitions of [attribute] tests."""
    tests = [c for block in q.where for c in block.conjuncts if _is_test(c)]
    return bool(tests) and all(block.strategy == "partition_contiguity" for block in q.where)


def _is_test(conjunct: sase.Conjunct) -> bool:
    return isinstance(conjunct.condition, sase.Equivalence)
