"""Formulas that no automaton carries, compared on all streams up to a length and for all attribute values, by a solver.

The lengths are tried one after the other, so that a difference is on a shortest stream. Attribute values are of the
types of a schema; where none is given it is read off the formulas.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TypeVar

from cerify.automata.algebra.symbolic import TooHard
from cerify.equivalence.bounded.inferred import inferred_schema
from cerify.equivalence.bounded.meaning import Guard, Guarded, SymbolicMeaning
from cerify.equivalence.bounded.stream import UnknownStream
from cerify.equivalence.claim import Level
from cerify.equivalence.decide.replay import replayed
from cerify.equivalence.verdict import Bounded, Different, Undecided
from cerify.semantics.budget import Budget, time_left
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import ComplexEvent, Schema, Valuation
from cerify.semantics.packages import z3

Found = TypeVar("Found", Valuation, ComplexEvent)


def compare(
    phi: Formula,
    psi: Formula,
    length: int,
    level: Level = "events",
    one_way: bool = False,
    schema: Schema | None = None,
    seconds: float = 60.0,
    budget: Budget = Budget(),
) -> Bounded | Different | Undecided:
    """Whether the two differ on a stream of at most length events; one_way: whether phi has something that psi lacks.

    seconds limits the time of all solver calls together.
    """
    deadline = time.monotonic() + min(seconds, time_left())
    reached = 0
    try:
        schema = schema or inferred_schema(phi, psi)
        S = UnknownStream(schema)
        symbolic = SymbolicMeaning(S, budget)
        solver = z3.Solver()
        for n in range(length):
            solver.add(S.schema_holds(n))
            solver.push()
            left, right = symbolic.meaning(phi, 0, n), symbolic.meaning(psi, 0, n)
            solver.add(_differs(left, right, level, one_way, symbolic))
            answer = _checked(solver, deadline)
            if answer == z3.sat:
                model = solver.model()
                solver.add([S.plain(p) for p in range(n + 1)])
                model = solver.model() if _checked(solver, deadline) == z3.sat else model
                return replayed(phi, psi, S.stream(model, n + 1), one_way, level, True, budget)
            if answer != z3.unsat:
                return Undecided(f"z3 returned unknown for streams of {n + 1} events; shorter ones do not differ")
            solver.pop()
            reached = n + 1
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(f"{error.message}; streams of up to {reached} events do not differ")
    except TooHard:
        return Undecided("the filters have patterns or quotients of integers, which are not translated for z3")
    return Bounded(length, schema)


def _checked(solver: z3.Solver, deadline: float) -> z3.CheckSatResult:
    solver.set("timeout", max(1, int(1000 * (deadline - time.monotonic()))))
    return solver.check()


def _differs(left: Guarded, right: Guarded, level: Level, one_way: bool, symbolic: SymbolicMeaning) -> Guard:
    """That some valuation, or complex event, is one of the left and not of the right, or the other way round."""
    if level == "valuations":
        return z3.Or(_lacking(left, right) + ([] if one_way else _lacking(right, left)))
    here, there = symbolic.supports(left), symbolic.supports(right)
    return z3.Or(_lacking(here, there) + ([] if one_way else _lacking(there, here)))


def _lacking(here: Mapping[Found, Guard], there: Mapping[Found, Guard]) -> list[Guard]:
    """For each of these that it is one here and not there."""
    false = z3.BoolVal(False)
    return [z3.And(guard, z3.Not(there.get(found, false))) for found, guard in here.items()]
