"""Mutants that ask another query: an operator, a condition or a predicate taken for another."""

from __future__ import annotations

from collections.abc import Callable

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Condition, Formula
from cerify.semantics.predicates import (
    Arithmetic,
    Both,
    Comparison,
    Either,
    InRange,
    Like,
    Not,
    OneOf,
    Predicate,
    Term,
    mentions,
)
from cerify.semantics.trees import children, rebuilt
from proofs_tests.tools.mutants.cel.model import CelMutant


def instead(local: Callable[[Formula], Formula | None]) -> Callable[[Formula], Formula]:
    """The formula with every node for which local gives something replaced by that, from the leaves up."""

    def replaced(phi: Formula) -> Formula:
        phi = rebuilt(phi, [replaced(child) for child in children(phi)])
        return local(phi) or phi

    return replaced


def binary(name: str, kind: type[Formula], other: Callable[[Formula, Formula], Formula]) -> CelMutant:
    """A mutant that takes one operator on two formulas for another."""
    return CelMutant(name, instead(lambda phi: other(*children(phi)) if isinstance(phi, kind) else None))


def unary(name: str, kind: type[Formula], other: Callable[[Formula], Formula]) -> CelMutant:
    """A mutant that takes one operator on one formula for another."""
    return CelMutant(name, instead(lambda phi: other(children(phi)[0]) if isinstance(phi, kind) else None))


def conditions(name: str, local: Callable[[Condition], Condition | None]) -> CelMutant:
    """A mutant that takes the conditions of filters, or parts of them, for others."""

    def condition(c: Condition) -> Condition:
        if isinstance(c, cel.Conjunction | cel.Disjunction):
            c = type(c)(condition(c.left), condition(c.right))
        return local(c) or c

    def formula(phi: Formula) -> Formula | None:
        return cel.Filter(phi.phi, condition(phi.condition)) if isinstance(phi, cel.Filter) else None

    return CelMutant(name, instead(formula))


def comparing(name: str, local: Callable[[Predicate], Predicate | None]) -> CelMutant:
    """A mutant that takes predicates, or parts of them, for others."""

    def predicate(P: Predicate) -> Predicate:
        match P:
            case Both(left, right) | Either(left, right):
                P = type(P)(predicate(left), predicate(right))
            case Not(inner):
                P = Not(predicate(inner))
        return local(P) or P

    def condition(c: Condition) -> Condition | None:
        match c:
            case cel.Every(A, P):
                return cel.Every(A, predicate(P))
            case cel.Correlated(P):
                return cel.Correlated(predicate(P))
        return None

    return conditions(name, condition)


def comparator(wrong: str, right: str) -> CelMutant:
    """A mutant that takes one comparator for another."""
    return comparing(
        f"filter: {right} taken for {wrong}",
        lambda P: Comparison(wrong, P.left, P.right) if isinstance(P, Comparison) and P.comparator == right else None,  # type: ignore[arg-type]
    )


def arithmetic(wrong: str, right: str) -> CelMutant:
    """A mutant that takes one operation on numbers for another."""

    def term(t: Term) -> Term:
        if not isinstance(t, Arithmetic):
            return t
        return Arithmetic(wrong if t.operator == right else t.operator, term(t.left), term(t.right))  # type: ignore[arg-type]

    return comparing(
        f"filter: {right} taken for {wrong}",
        lambda P: Comparison(P.comparator, term(P.left), term(P.right)) if isinstance(P, Comparison) else None,
    )


def reordered(left: Formula, right: Formula) -> Formula:
    """The two in either order."""
    return cel.Or(cel.Seq(left, right), cel.Seq(right, left))


QUERIES: tuple[CelMutant, ...] = (
    binary("seq: contiguous", cel.Seq, cel.ContiguousSeq),
    binary("seq: in any order", cel.Seq, reordered),
    binary("seq: the other way round", cel.Seq, lambda left, right: cel.Seq(right, left)),
    binary("seq: taken for OR", cel.Seq, cel.Or),
    binary("seq: taken for ALL", cel.Seq, cel.All),
    binary("cseq: taken for ;", cel.ContiguousSeq, cel.Seq),
    binary("cseq: taken for STRICT", cel.ContiguousSeq, lambda left, right: cel.Strict(cel.Seq(left, right))),
    binary("cseq: the other way round", cel.ContiguousSeq, lambda left, right: cel.ContiguousSeq(right, left)),
    binary("or: left only", cel.Or, lambda left, right: left),
    binary("or: right only", cel.Or, lambda left, right: right),
    binary("or: taken for ALL", cel.Or, cel.All),
    binary("or: taken for AND", cel.Or, cel.And),
    binary("and: taken for OR", cel.And, cel.Or),
    binary("and: taken for ALL", cel.And, cel.All),
    binary("and: left only", cel.And, lambda left, right: left),
    binary("and: right only", cel.And, lambda left, right: right),
    binary("all: one after the other", cel.All, reordered),
    binary("all: taken for ;", cel.All, cel.Seq),
    binary("all: taken for AND", cel.All, cel.And),
    binary("all: taken for OR", cel.All, cel.Or),
    binary("unless: the guard ignored", cel.Unless, lambda left, right: left),
    binary("unless: the other way round", cel.Unless, lambda left, right: cel.Unless(right, left)),
    unary("plus: once", cel.Plus, lambda phi: phi),
    unary("plus: at most twice", cel.Plus, lambda phi: cel.Or(phi, cel.Seq(phi, phi))),
    unary("plus: at least twice", cel.Plus, lambda phi: cel.Seq(phi, cel.Plus(phi))),
    unary("plus: contiguous", cel.Plus, cel.ContiguousPlus),
    unary("plus: greedy", cel.Plus, lambda phi: cel.Max(cel.Plus(phi))),
    unary("plus: the latest", cel.Plus, lambda phi: cel.Last(cel.Plus(phi))),
    unary("cplus: once", cel.ContiguousPlus, lambda phi: phi),
    unary("cplus: at most twice", cel.ContiguousPlus, lambda phi: cel.Or(phi, cel.ContiguousSeq(phi, phi))),
    unary("cplus: at least twice", cel.ContiguousPlus, lambda phi: cel.ContiguousSeq(phi, cel.ContiguousPlus(phi))),
    unary("cplus: taken for +", cel.ContiguousPlus, cel.Plus),
    unary("cplus: taken for STRICT", cel.ContiguousPlus, lambda phi: cel.Strict(cel.Plus(phi))),
    unary("cplus: greedy", cel.ContiguousPlus, lambda phi: cel.Max(cel.ContiguousPlus(phi))),
    unary("in: ignored", cel.In, lambda phi: phi),
    CelMutant(
        "in: other variables forgotten",
        instead(lambda phi: cel.Project(frozenset({phi.variable}), phi) if isinstance(phi, cel.In) else None),
    ),
    unary("filter: ignored", cel.Filter, lambda phi: phi),
    unary("project: ignored", cel.Project, lambda phi: phi),
    unary("project: to nothing", cel.Project, lambda phi: cel.Project(frozenset(), phi)),
    unary("start: ignored", cel.Start, lambda phi: phi),
    unary("strict: ignored", cel.Strict, lambda phi: phi),
    unary("strict: the longest", cel.Strict, lambda phi: cel.Max(cel.Strict(phi))),
    unary("nxt: ignored", cel.Next, lambda phi: phi),
    unary("nxt: taken for LAST", cel.Next, cel.Last),
    unary("nxt: taken for MAX", cel.Next, cel.Max),
    unary("nxt: taken for STRICT", cel.Next, cel.Strict),
    unary("last: ignored", cel.Last, lambda phi: phi),
    unary("last: taken for NXT", cel.Last, cel.Next),
    unary("last: taken for MAX", cel.Last, cel.Max),
    unary("max: ignored", cel.Max, lambda phi: phi),
    unary("max: taken for NXT", cel.Max, cel.Next),
    unary("max: taken for LAST", cel.Max, cel.Last),
    comparator("<=", "<"),
    comparator("<", "<="),
    comparator(">=", ">"),
    comparator(">", ">="),
    comparator("<", ">"),
    comparator(">", "<"),
    comparator(">=", "="),
    comparator("<=", "="),
    comparator(">", "!="),
    comparator("<", "!="),
    arithmetic("-", "+"),
    arithmetic("+", "-"),
    arithmetic("+", "*"),
    arithmetic("*", "/"),
    comparing(
        "filter: in with the first value only",
        lambda P: OneOf(P.term, P.values[:1]) if isinstance(P, OneOf) else None,
    ),
    comparing(
        "filter: in with the last value only",
        lambda P: OneOf(P.term, P.values[-1:]) if isinstance(P, OneOf) else None,
    ),
    comparing(
        "filter: range open below",
        lambda P: Both(P, Not(OneOf(P.term, (P.low,)))) if isinstance(P, InRange) else None,
    ),
    comparing(
        "filter: range open above",
        lambda P: Both(P, Not(OneOf(P.term, (P.high,)))) if isinstance(P, InRange) else None,
    ),
    comparing(
        "filter: like at the beginning",
        lambda P: Like(P.term, f"(?:{P.pattern}).*") if isinstance(P, Like) else None,
    ),
    comparing("filter: like at the end", lambda P: Like(P.term, f".*(?:{P.pattern})") if isinstance(P, Like) else None),
    comparing("filter: like in any case", lambda P: Like(P.term, f"(?i){P.pattern}") if isinstance(P, Like) else None),
    comparing("filter: not ignored", lambda P: P.predicate if isinstance(P, Not) else None),
    comparing("filter: and taken for or", lambda P: Either(P.left, P.right) if isinstance(P, Both) else None),
    comparing("filter: or taken for and", lambda P: Both(P.left, P.right) if isinstance(P, Either) else None),
    comparing(
        "filter: != true of an absent attribute",
        lambda P: Not(Comparison("=", P.left, P.right)) if isinstance(P, Comparison) and P.comparator == "!=" else None,
    ),
    comparing(
        "filter: not false of an absent attribute",
        lambda P: Both(P, Comparison("=", next(mentions(P)), next(mentions(P)))) if isinstance(P, Not) else None,
    ),
    conditions(
        "filter: AND taken for OR",
        lambda c: cel.Disjunction(c.left, c.right) if isinstance(c, cel.Conjunction) else None,
    ),
    conditions(
        "filter: OR taken for AND",
        lambda c: cel.Conjunction(c.left, c.right) if isinstance(c, cel.Disjunction) else None,
    ),
    conditions("filter: the left of OR only", lambda c: c.left if isinstance(c, cel.Disjunction) else None),
    conditions("filter: the left of AND only", lambda c: c.left if isinstance(c, cel.Conjunction) else None),
    conditions(
        "filter: OR for each event on its own",
        lambda c: (
            cel.Every(c.left.variable, Either(c.left.predicate, c.right.predicate))
            if isinstance(c, cel.Disjunction)
            and isinstance(c.left, cel.Every)
            and isinstance(c.right, cel.Every)
            and c.left.variable == c.right.variable
            else None
        ),
    ),
)
