"""Decide whether two CEL formulas are equivalent, or one contains the other, by the first decider that can.

The deciders, in this order:

- cel.py: formulas that look at one event at a time
- derivation.py: proofs by a few rules, for formulas that differ only in how they are written
- keys_and_windows.py: formulas with keys and windows
- derivation.py again, on all parts of the formulas
- bounded.py: all streams up to a length

If none decides, the verdict is Bounded or Undecided, with the reason of the decider that came closest.
"""

from __future__ import annotations

import operator
from dataclasses import replace
from itertools import pairwise
from typing import Any

from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide.cel import contained, equivalent
from cerify.equivalence.verdict import Bounded, Claim, Different, Level, Order, Undecided, Verdict
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, MissingPackage, Unsupported
from cerify.semantics.events import TIME, Schema, Stream


def compare_formulas(
    phi: Formula,
    psi: Formula,
    claim: Claim,
    level: Level = "events",
    schema: Schema | None = None,
    order: Order = "non-decreasing",
    bound: int = 4,
    budget: Budget = Budget(),
) -> Verdict:
    """Return whether psi has all matches of phi and, for the claim "equivalent", no others.

    The claim is about every position of every stream (of the schema, if there is one) with times in this order. If the
    claim cannot be decided, all streams of up to `bound` events are searched for a difference.
    """
    verdict = _compare(phi, psi, claim, level, schema, order, bound, budget)
    # cel.py knows no order of times. What it proves holds for all streams, so for those in this order as well; but the
    # stream on which it finds a difference may have other times.
    if isinstance(verdict, Different) and not has_order(verdict.stream, order):
        return Undecided(
            f"the queries differ on a stream whose times are not in the order {order}; other streams are undecided"
        )
    return verdict


def has_order(S: Stream, order: Order) -> bool:
    """Return whether the times of a stream are in an order; events without a time do not matter."""
    if order == "any":
        return True
    times: list[Any] = [time for event in S if (time := event.get(TIME)) is not None]
    after = operator.lt if order == "strict" else operator.le
    try:
        return all(after(one, other) for one, other in pairwise(times))
    except TypeError:  # times of two kinds have no order
        return False


def _compare(
    phi: Formula,
    psi: Formula,
    claim: Claim,
    level: Level,
    schema: Schema | None,
    order: Order,
    bound: int,
    budget: Budget,
) -> Verdict:
    by_automata = compilable(phi) and compilable(psi)
    if by_automata:
        verdict: Verdict = (equivalent if claim == "equivalent" else contained)(phi, psi, level, schema, budget)
        if not isinstance(verdict, Undecided):
            return verdict
    # most pairs are decided by now, in less time than these imports take
    from cerify.equivalence.decide.derivation import prove
    from cerify.equivalence.decide.keys_and_windows import compare_reduced

    if (proved := prove(phi, psi, claim, level, schema, order, budget, only_same=True)) is not None:
        return proved
    if by_automata:
        return verdict
    try:
        verdict = compare_reduced(phi, psi, claim, level, schema, order, budget)
        if not isinstance(verdict, Undecided):
            return verdict
        reason = verdict.reason
    except (Unsupported, BudgetExceeded) as error:
        reason = error.message
    try:
        if (proved := prove(phi, psi, claim, level, schema, order, budget)) is not None:
            return proved
    except BudgetExceeded as error:
        reason = reason if error.message in reason else f"{reason}; {error.message}"
    if bound == 0:
        return Undecided(f"{reason}; with a bound of 0 no stream is searched")
    try:
        from cerify.equivalence.bounded import compare  # it needs z3

        searched = compare(phi, psi, bound, level, claim == "contained", schema, budget=budget, order=order)
    except MissingPackage as error:
        return Undecided(f"{reason}; streams were not searched: {error.message}")
    match searched:
        case Bounded():
            return replace(searched, reason=reason)
        case Undecided(why):
            return Undecided(f"{reason}; {why}")
    return searched
