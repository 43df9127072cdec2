"""Generated event expressions and histories: of the size and the operators asked for, and apt to take place."""

from random import Random

import pytest

from cerify.equivalence.generate.expressions import (
    BASE,
    CORRELATED,
    PROFILES,
    STARTED,
    VALUED_PROFILES,
    case,
    expression,
    history,
)
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import problems
from cerify.semantics.event_expressions.denote import free_variables
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show

EVERYTHING = {
    expr.Null,
    expr.Primitive,
    expr.ExpressionAnd,
    expr.ExpressionNot,
    expr.Relative,
    expr.RelativePlus,
    expr.ExpressionOr,
    expr.AnyEvent,
    expr.Prior,
    expr.Sequence,
    expr.First,
    expr.Pipe,
    expr.Nth,
    expr.EveryNth,
    expr.After,
    expr.ExpressionBetween,
    expr.FirstAfter,
    expr.Before,
    expr.Happened,
    expr.Prefix,
    expr.ExpressionSeries,
    expr.Exists,
    expr.Equated,
    expr.ExpressionVariable,
}


@pytest.mark.parametrize("name", PROFILES)
def test_sizes_are_exact(name: str) -> None:
    rng = Random(1)
    for nodes in range(1, 13):
        assert {expr.size(expression(rng, PROFILES[name], nodes)) for _ in range(30)} == {nodes}


def test_every_operator_that_is_asked_for_occurs_and_no_other() -> None:
    rng = Random(2)

    def occurring(profile: str) -> set[type]:
        return {type(F) for _ in range(400) for F in expr.subexpressions(expression(rng, PROFILES[profile], 12))}

    assert occurring("base") == {
        expr.Null,
        expr.Primitive,
        expr.ExpressionAnd,
        expr.ExpressionNot,
        expr.Relative,
        expr.RelativePlus,
        expr.AnyEvent,
        expr.First,
    }
    assert occurring("correlated") == EVERYTHING


def test_correlation_variables_are_bound_and_stay_out_of_iterations() -> None:
    rng = Random(3)
    for _ in range(300):
        found = problems(expression(rng, CORRELATED, 12))
        assert all(problem.message.startswith("nothing is equated") for problem in found)


def test_correlation_variables_are_under_negations_too() -> None:
    rng = Random(6)
    found = [expression(rng, CORRELATED, 12) for _ in range(200)]
    below = [
        F
        for E in found
        for N in expr.subexpressions(E)
        if isinstance(N, expr.ExpressionNot)
        for F in expr.subexpressions(N)
    ]
    free = [F for F in below if isinstance(F, expr.ExpressionNot) and free_variables(F)]
    assert len(free) >= 5


@pytest.mark.parametrize(("cases", "least"), [(80, 5), pytest.param(200, 20, marks=pytest.mark.thorough)])
@pytest.mark.parametrize("name", VALUED_PROFILES)
def test_attribute_variables_constraints_and_names(name: str, cases: int, least: int) -> None:
    rng, profile = Random(7), VALUED_PROFILES[name]
    found = [case(rng, profile, 12, 8) for _ in range(cases)]
    several = 0
    for E, S in found:
        assert parse(show(E)) == E
        unmet = [problem.message for problem in problems(E, profile.schema)]
        assert all("nothing is equated" in message or "the argument of no event" in message for message in unmet), (
            show(E),
            unmet,
        )
        several += len(compatible(E, S).variables) > 1
    nodes = [F for E, _ in found for F in expr.subexpressions(E)]
    assert {expr.Constraint, expr.Let, expr.ExpressionNamed} <= set(map(type, nodes))
    assert several > cases / 20
    assert sum(bool(compatible(E, S).variables and takes_place(E, S)) for E, S in found) > least


def test_the_same_seed_gives_the_same_cases() -> None:
    first, second = ([case(Random(seed), BASE, 9, 6)[0] for seed in range(20)] for _ in range(2))
    assert first == second


def test_histories() -> None:
    rng = Random(4)
    made = [history(rng, STARTED, 3) for _ in range(40)]
    assert {len(S) for S in made} == {3}
    assert {S[0].type == expr.START for S in made} == {True, False}
    assert not any(S[1].type == expr.START for S in made)
    assert all(S.schema is not None and {event.type for event in S} <= {*S.schema.types} for S in made)


def test_many_expressions_take_place_somewhere() -> None:
    rng = Random(5)
    assert sum(bool(takes_place(*case(rng, CORRELATED, 8, 6))) for _ in range(200)) > 50
