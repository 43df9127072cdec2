"""The generators of each language: queries and streams that are well-formed, that vary, and that can be made again."""

from __future__ import annotations

import builtins
import importlib
import sys
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

from cerify.automata.cea.compile import compilable
from cerify.automata.evaluate import streaming
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate.cel import (
    CORE,
    EVERYTHING,
    FIGURE_3,
    PROFILES,
    TYPED,
    CelProfile,
    guided_case,
    matching_stream,
    tuple_predicates_only,
    with_copy,
)
from cerify.equivalence.generate.cel import case as case_cel
from cerify.equivalence.generate.cel import stream as stream_cel
from cerify.equivalence.generate.core_cel import ANYTHING, CORE_CEL_PROFILES, UNARY_FILTERS, case, formula, stream
from cerify.equivalence.generate.expressions import BASE, CORRELATED, STARTED, VALUED_PROFILES, expression, history
from cerify.equivalence.generate.expressions import PROFILES as EXPRESSIONS_PROFILES
from cerify.equivalence.generate.expressions import case as case_expressions
from cerify.equivalence.generate.hypothesis import cases, schemas, streams
from cerify.equivalence.generate.hypothesis import formulas as formulas_generate
from cerify.equivalence.generate.row_pattern import PROFILES as ROWS_PROFILES
from cerify.equivalence.generate.row_pattern import case as case_rows
from cerify.equivalence.generate.sase import EVERYTHING as SASE_EVERYTHING
from cerify.equivalence.generate.sase import PER_EVENT, query
from cerify.equivalence.generate.sase import PROFILES as SASE_PROFILES
from cerify.equivalence.generate.sase import case as case_sase
from cerify.equivalence.generate.sase import size as size_sase
from cerify.equivalence.rewrite.simplify import simplify
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.interpreter import Interpreter, complex_events
from cerify.semantics.cel.interpreter import matches_of as matches_of_cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size, subformulas
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_safe, is_unary, is_well_formed, problems
from cerify.semantics.core_cel.check import require_typed as require_typed_core
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse as parse_core
from cerify.semantics.core_cel.syntax import show as show_core
from cerify.semantics.core_cel.syntax import size as size_core
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.check import problems as problems_expressions
from cerify.semantics.event_expressions.denote import free_variables
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.parse import parse as parse_expressions
from cerify.semantics.event_expressions.syntax import show as show_expressions
from cerify.semantics.events import Schema, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import constructs
from cerify.semantics.sase import denote
from cerify.semantics.sase.clauses import operators, strategies
from cerify.semantics.sase.interpreter import matches_of as matches_of_sase
from cerify.semantics.sase.syntax import STRATEGIES
from cerify.semantics.trees import subtrees
from proofs_tests.support import sampled
from proofs_tests.unit.equivalence.random_profiles import random_profile

# ---- generate ----
# Generated queries and streams: of the size asked for, of the fragment asked for, and apt to match.

EVERY_OPERATOR = (
    cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Project, cel.Start,
    cel.Or, cel.And, cel.All, cel.Unless, cel.Strict, cel.Next, cel.Last, cel.Max,
)  # fmt: skip


def formulas(profile: CelProfile, number: int, nodes: int = 9) -> list[Formula]:
    rng = Random(3)
    return [generate.formula(rng, profile, nodes) for _ in range(number)]


@pytest.mark.parametrize("name", PROFILES)
def test_sizes_are_exact(name: str) -> None:
    rng = Random(1)
    for nodes in range(1, 13):
        assert {size(generate.formula(rng, PROFILES[name], nodes)) for _ in range(30)} == {nodes}


@pytest.mark.parametrize("number", sampled([100, 300], [100]))
@pytest.mark.parametrize("name", PROFILES)
def test_what_is_generated_can_be_written_and_is_well_typed(name: str, number: int) -> None:
    """A formula that its own text does not parse back to could never be put to an engine."""
    for phi in formulas(PROFILES[name], number):
        assert parse(show(phi)) == phi
        require_typed(phi, PROFILES[name].schema)


def test_the_core_is_the_core_and_everything_is_everything() -> None:
    core = {type(psi) for phi in formulas(CORE, 300) for psi in subformulas(phi)}
    assert core == {
        cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Or,
    }  # fmt: skip
    assert {type(psi) for phi in formulas(EVERYTHING, 500) for psi in subformulas(phi)} == set(EVERY_OPERATOR)


def test_filters_of_the_core_are_unary_and_speak_of_bound_variables() -> None:
    speaking, bound = 0, 0
    for phi in formulas(CORE, 500):
        for psi in subformulas(phi):
            if isinstance(psi, cel.Filter):
                inside = {n.type for n in subformulas(psi) if isinstance(n, cel.EventAtom)}
                inside |= {n.variable for n in subformulas(psi) if isinstance(n, cel.In)}
                for atom in cel.atoms(psi.condition):
                    assert isinstance(atom, cel.Every)
                    speaking += 1
                    bound += atom.variable in inside
    assert 0.9 < bound / speaking < 1  # and not all: a filter on an unbound variable has a meaning to be tested


@pytest.mark.parametrize("name", PROFILES)
def test_a_good_share_of_cases_match(name: str) -> None:
    """Two evaluators that agree on nothing but empty answers have shown little."""
    rng, matched = Random(5), 0
    for _ in range(200):
        phi, S = generate.case(rng, PROFILES[name], 12, 10)
        interpreter = Interpreter(S)
        matched += any(interpreter.meaning(phi, 0, n) for n in range(len(S)))
    assert matched > 70


def test_the_seed_decides() -> None:
    one, two, other = (generate.case(Random(seed), EVERYTHING, 12, 10) for seed in (7, 7, 8))
    assert (one[0], one[1].events) == (two[0], two[1].events)
    assert (one[0], one[1].events) != (other[0], other[1].events)


def test_some_attributes_are_absent_where_the_profile_says_so() -> None:
    S = generate.stream(Random(2), PROFILES["typed"], 200)
    left_out = sum(1 for event in S for name, _ in PROFILES["typed"].attributes if name not in event.attributes)
    assert 0.05 < left_out / (200 * len(PROFILES["typed"].attributes)) < 0.15


# ---- generate core cel ----
# Random core-CEL formulas: the size, the operators and the good manners that were asked for.


@pytest.mark.parametrize("number", sampled([150, 400], [150]))
@pytest.mark.parametrize("name", CORE_CEL_PROFILES)
def test_formulas_are_as_their_profile_says(name: str, number: int) -> None:
    profile, rng = CORE_CEL_PROFILES[name], Random(1)
    unbound = unsafe = 0
    for _ in range(number):
        phi = formula(rng, profile, rng.randint(1, 12))
        found = [problem for problem in problems(phi, profile.schema) if problem.rule == "unbound"]
        unbound += bool(found)
        unsafe += not is_safe(phi)
        if not found:
            assert is_well_formed(phi)
        if name == "core":
            assert is_unary(phi)
        assert parse_core(show_core(phi)) == phi
        require_typed_core(phi, profile.schema)
    assert (unsafe == 0) == profile.safe
    assert (unbound == 0) == profile.well_formed


@pytest.mark.parametrize("nodes", [1, 2, 3, 7, 12, 30])
def test_formulas_have_the_size_asked_for(nodes: int) -> None:
    """Fewer nodes only where a filter was dropped, for want of a variable to speak of."""
    rng = Random(nodes)
    for _ in range(50):
        assert size_core(formula(rng, ANYTHING, nodes)) == nodes
    sizes = [size_core(formula(rng, UNARY_FILTERS, nodes)) for _ in range(50)]
    assert max(sizes) == nodes
    assert sum(n == nodes for n in sizes) > 20


def test_every_operator_is_used() -> None:
    rng = Random(2)
    used = {type(psi) for _ in range(200) for psi in core.subformulas(formula(rng, ANYTHING, 10))}
    assert used == set(core.OPERATORS)


def test_the_variables_do_not_run_out() -> None:
    rng, profile = Random(3), replace(UNARY_FILTERS, operators=(("seq", 1),))
    assert all(is_safe(formula(rng, profile, 31)) for _ in range(20))


def test_the_same_seed_gives_the_same_case_and_many_match() -> None:
    assert [case(Random(5), ANYTHING, 8, 6)[0] for _ in range(3)] == [case(Random(5), ANYTHING, 8, 6)[0]] * 3
    cases = [case(Random(i), UNARY_FILTERS, 8, 6) for i in range(200)]
    assert all(1 <= len(S) <= 6 and S.schema == UNARY_FILTERS.schema for _, S in cases)
    assert sum(bool(matches_of(phi, S)) for phi, S in cases) > 80
    assert len(stream(Random(1), UNARY_FILTERS, 4)) == 4


# ---- generate expressions ----
# Generated event expressions and histories: of the size and the operators asked for, and apt to take place.

EVERY_EXPRESSION = set(expr.OPERATORS) - {expr.Constraint, expr.ExpressionNamed}


@pytest.mark.parametrize("name", EXPRESSIONS_PROFILES)
def test_sizes_are_exact_generate_expressions(name: str) -> None:
    rng = Random(1)
    for nodes in range(1, 13):
        assert {expr.size(expression(rng, EXPRESSIONS_PROFILES[name], nodes)) for _ in range(30)} == {nodes}


def test_every_operator_that_is_asked_for_occurs_and_no_other() -> None:
    rng = Random(2)

    def occurring(profile: str) -> set[type]:
        return {
            type(F) for _ in range(400) for F in expr.subexpressions(expression(rng, EXPRESSIONS_PROFILES[profile], 12))
        }

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
    assert occurring("correlated") == EVERY_EXPRESSION


def test_correlation_variables_are_bound_and_stay_out_of_iterations() -> None:
    rng = Random(3)
    for _ in range(300):
        found = problems_expressions(expression(rng, CORRELATED, 12))
        assert all(problem.message.startswith("no expression is equated") for problem in found)


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
    found = [case_expressions(rng, profile, 12, 8) for _ in range(cases)]
    several = 0
    for E, S in found:
        assert parse_expressions(show_expressions(E)) == E
        unmet = [problem.message for problem in problems_expressions(E, profile.schema)]
        assert all(
            "no expression is equated" in message or "not an argument of an event" in message for message in unmet
        ), (
            show_expressions(E),
            unmet,
        )
        several += len(compatible(E, S).variables) > 1
    nodes = [F for E, _ in found for F in expr.subexpressions(E)]
    assert {expr.Constraint, expr.Let, expr.ExpressionNamed} <= set(map(type, nodes))
    assert several > cases / 20
    assert sum(bool(compatible(E, S).variables and takes_place(E, S)) for E, S in found) > least


def test_the_same_seed_gives_the_same_cases() -> None:
    first, second = ([case_expressions(Random(seed), BASE, 9, 6)[0] for seed in range(20)] for _ in range(2))
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
    assert sum(bool(takes_place(*case_expressions(rng, CORRELATED, 8, 6))) for _ in range(200)) > 50


# ---- generate guided ----
# Streams led to a match: most have one, and they are of the length and of the schema that was asked for.


def guided_stream(rng: Random, profile: CelProfile, length: int, phi: Formula) -> Stream:
    """A stream of that length, with a match if one is found."""
    return matching_stream(rng, profile, length, phi) or stream_cel(rng, profile, length, phi)


def matches(phi: Formula, S: Stream) -> bool:
    interpreter = Interpreter(S, Budget(200_000))
    return any(interpreter.meaning(phi, 0, n) for n in range(len(S)))


@pytest.mark.parametrize("profile", [CORE, FIGURE_3, EVERYTHING], ids=["core", "figure3", "everything"])
def test_most_streams_have_a_match_and_some_have_none(profile: CelProfile) -> None:
    """Random streams have one in 47 to 60 of 100 cases."""
    had = Counter(matches(*guided_case(Random(i), profile, 8, 6)) for i in range(250))
    by_chance = Counter(matches(*case_cel(Random(i), profile, 8, 6)) for i in range(250))
    assert had[True] > 0.78 * 250
    assert had[False] > 5
    assert had[True] > by_chance[True] + 30


@pytest.mark.parametrize("name", PROFILES)
def test_cases_keep_to_their_bounds_and_their_schema(name: str) -> None:
    profile = PROFILES[name]
    sizes, lengths = set(), set()
    for i in range(120):
        phi, S = guided_case(Random(i), profile, 7, 5)
        sizes.add(size(phi))
        lengths.add(len(S))
        assert parse(show(phi)) == phi
        require_typed(phi, profile.schema)
        assert S.schema == profile.schema
        assert S.table.num_rows == len(S)
    assert sizes == set(range(1, 8))
    assert lengths == set(range(1, 6))


def test_the_same_seed_gives_the_same_case() -> None:
    first, second = (guided_case(Random(5), EVERYTHING, 10, 8) for _ in range(2))
    assert first[0] == second[0]
    assert first[1].events == second[1].events


@pytest.mark.parametrize(
    "query",
    ["A : B : C", "START(A ; B) FILTER A.x = 4 AND B.y = 2", "A FILTER A.y < 0", "(A ; B ; C) UNLESS (B ; B)",
     "(A ; B) FILTER A.x > B.x", "(A+ IN X FILTER X.x = X.x) WITHIN 2 EVENTS", "STRICT(A ; A ; A)"],
)  # fmt: skip
def test_a_match_that_chance_would_miss_is_found(query: str) -> None:
    phi = parse(query)
    for i in range(30):
        S = matching_stream(Random(i), CORE, 6, phi)
        assert S is None or (matches(phi, S) and len(S) == 6)
    assert sum(matches(phi, guided_stream(Random(i), CORE, 6, phi)) for i in range(30)) >= 25


def test_a_formula_without_a_match_gets_a_random_stream() -> None:
    phi = parse("A UNLESS A")
    assert matching_stream(Random(0), CORE, 5, phi) is None
    assert len(guided_stream(Random(0), CORE, 5, phi)) == 5


def test_a_formula_too_large_for_an_automaton_gets_a_random_stream() -> None:
    phi = parse(" ALL ".join(["(A ; B ; C)"] * 9))
    assert len(guided_stream(Random(0), CORE, 4, phi)) == 4


@pytest.mark.parametrize(
    ("query", "rest"),
    [
        ("(A ; B) FILTER A.x = B.x AND A.x > 1", "A ; B FILTER X[TRUE] AND A.x > 1"),
        ("(A WITHIN 2 [x]) ; (B WITHIN 3 EVENTS) PARTITION BY [x]", "A ; (B WITHIN 3 EVENTS)"),
        ("A FILTER A.x > 1", "A FILTER A.x > 1"),
        ("(A WITHIN 2 seconds) ; B", "A ; B"),
    ],
)
def test_an_automaton_looks_at_what_is_left(query: str, rest: str) -> None:
    phi = tuple_predicates_only(parse(query))
    assert compilable(phi)
    assert show(phi) == rest


def test_a_copy_is_there_twice_and_the_size_stays() -> None:
    phi = parse("(A ; B) OR (C : C) OR A+")
    copied = {show(with_copy(Random(i), phi)) for i in range(20)}
    assert "A ; B OR A ; B OR A+" in copied
    assert all(size(parse(text)) == size(phi) for text in copied)
    assert with_copy(Random(0), parse("A ; B")) == parse("A ; B")
    shared = 0
    for i in range(200):
        psi = guided_case(Random(i), CORE, 12, 3, shared=1.0)[0]
        parts = Counter(chi for chi in subformulas(psi) if size(chi) > 1)
        shared += any(count > 1 for count in parts.values())
    assert shared > 60


def test_random_schemas_have_formulas_and_streams() -> None:
    kinds: set[str] = set()
    for i in range(60):
        rng = Random(i)
        profile = random_profile(rng)
        kinds |= set(profile.schema.attributes.values())
        assert 1 <= len(profile.schema.types) <= 5
        phi = generate.formula(rng, profile, 8)
        require_typed(phi, profile.schema)
        S = guided_stream(rng, profile, 5, phi)
        assert S.table.num_rows == 5
        assert parse(show(phi)) == phi
    assert kinds == {"int", "float", "string", "bool", "timestamp"}


# ---- generate row pattern ----
# The generator of clauses of MATCH_RECOGNIZE draws what the campaigns are to see.


def test_conditions_are_connected_by_and_and_or() -> None:
    rng = Random(1)
    clauses = [case_rows(rng, profile, 8, 3)[0] for profile in ROWS_PROFILES.values() for _ in range(60)]
    drawn = {type(node) for q in clauses for one in q.define for node in subtrees(one.condition)}
    assert {rows.RowAnd, rows.RowOr, rows.RowNot} <= drawn


def test_a_chain_has_each_variable_once_and_looks_at_no_row_by_its_distance() -> None:
    for number in range(300):
        q, _ = case_rows(Random(number), ROWS_PROFILES["chain"], 8, 6)
        parts = [p for p in subtrees(q.pattern) if isinstance(p, rows.RowVariable)]
        assert len(parts) == len(q.primary)
        assert constructs(q).isdisjoint(
            {"alternation", "permute", "exclusion", "anchor", "empty", "physical", "classifier"}
        )
        assert (q.rows, q.order, q.subsets, q.window) == ("one", (), (), None)


# ---- generate sase ----
# Random queries of SASE+ and their streams: the same from the same seed, as the profile says, mostly with matches.


@pytest.mark.parametrize("name", SASE_PROFILES)
def test_the_same_seed_gives_the_same_cases_within_the_limits(name: str) -> None:
    for n in range(100):
        q, S = case_sase(Random(n), SASE_PROFILES[name], 7, 9)
        assert (q, S.events) == (lambda c: (c[0], c[1].events))(case_sase(Random(n), SASE_PROFILES[name], 7, 9))
        assert size_sase(q) <= 8  # one more where a partition has to be said
        assert 1 <= len(S) <= 9
        assert S.schema == SASE_PROFILES[name].schema
        assert isinstance(S.schema, Schema)


def test_together_they_use_everything() -> None:
    queries = [query(Random(n), SASE_EVERYTHING, 9) for n in range(400)]
    assert frozenset().union(*map(strategies, queries)) == set(STRATEGIES)
    used = frozenset().union(*map(operators, queries))
    assert used >= {
        "Kleene plus",
        "negation",
        "!",
        "equivalence test",
        "underlining",
        "WITHIN",
        "HAVING",
        "NON-OVERLAP",
    }
    assert used >= {"running aggregate", "aggregate", "correlated iterator", "a.LEN"}
    assert any(len({b.strategy for b in q.where}) > 1 for q in queries)
    assert any(k.kleene for q in queries for k in q.pattern[:-1])
    assert any(k.negated and k.kleene for q in queries for k in q.pattern)
    assert {q.pattern[0].negated for q in queries} == {q.pattern[-1].negated for q in queries} == {True, False}


def test_conditions_on_single_events_alone() -> None:
    used = frozenset().union(*(operators(query(Random(n), PER_EVENT, 9)) for n in range(200)))
    assert "aggregate" not in used
    assert "negation" not in used


def test_most_streams_have_a_match() -> None:
    matched = sum(
        bool(matches_of_sase(*case_sase(Random(n), SASE_PROFILES["plain"], 6, 8), denote.bindings)) for n in range(200)
    )
    assert matched > 100


# ---- strategies hypothesis ----
# The Hypothesis strategies: what they give is what was asked for, and what fails is brought down to little.

FEW = settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))

SOME = settings(max_examples=300, derandomize=True, database=None, deadline=None)
FIRST = settings(SOME, phases=[Phase.generate])
"""The first one that is found will do, however large it is."""


@pytest.mark.parametrize("name", sampled(PROFILES, ["typed", "everything"]))
def test_formulas_have_the_size_and_the_operators_and_are_well_typed(name: str) -> None:
    profile = PROFILES[name]

    @FEW
    @given(formulas_generate(profile, 9))
    def holds(phi: Formula) -> None:
        assert size(phi) <= 9
        assert parse(show(phi)) == phi
        require_typed(phi, profile.schema)

    holds()


def test_every_operator_is_reached_and_no_other() -> None:
    for operator in (cel.Max, cel.Unless, cel.Filter):
        find(
            formulas_generate(EVERYTHING),
            lambda phi, kind=operator: any(isinstance(p, kind) for p in subformulas(phi)),
            settings=FIRST,
        )  # type: ignore[misc]
    core = (cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.ContiguousSeq, cel.ContiguousPlus, cel.Or)

    @FEW
    @given(formulas_generate(CORE))
    def holds(phi: Formula) -> None:
        assert all(isinstance(psi, core) for psi in subformulas(phi))

    holds()


def test_a_formula_that_fails_is_brought_down_to_its_core() -> None:
    phi = find(
        formulas_generate(EVERYTHING, 14),
        lambda phi: any(isinstance(p, cel.Unless) for p in subformulas(phi)) and size(phi) >= 3,
        settings=SOME,
    )
    assert show(phi) == "A UNLESS A"


@pytest.mark.thorough
def test_a_case_that_fails_is_brought_down_to_its_core() -> None:
    """A wrong rule: that every match has at most two events."""
    phi, S = find(
        cases(CORE),
        lambda case: any(len(m.events) > 2 for m in matches_of_cel(*case)),
        settings=SOME,
    )
    assert size(phi) <= 2
    assert len(S) == 3


@pytest.mark.thorough
@FEW
@given(schemas().flatmap(lambda schema: st.tuples(st.just(schema), streams(schema))))
def test_streams_of_a_schema_are_streams_of_it(found: tuple[Schema, Stream]) -> None:
    schema, S = found
    assert S.schema == schema
    assert len(S) <= 10
    assert S.table.num_rows == len(S)  # each value fits the column that the schema gives it
    for event in S:
        assert set(event.attributes) <= set(schema.types[event.type])


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("A ; B FILTER A.x > 41 AND B.x <= 0.5", marks=pytest.mark.thorough),
        "A FILTER A.s = 'abc'",
        "A+ FILTER A[b = true]",
        "A WITHIN 3 [v]",
    ],
)
def test_streams_of_a_formula_can_match_it(query: str) -> None:
    phi = parse(query)
    S = find(streams(phi), lambda S: any(matches_of_cel(phi, S)), settings=SOME)
    assert len(S) <= 2


@pytest.mark.thorough
@FEW
@given(cases(EVERYTHING, nodes=8, events=6))
def test_simplifying_changes_no_complex_event(case: tuple[Formula, Stream]) -> None:
    phi, S = case
    psi = simplify(phi, budget=Budget(states=300), tries=40).phi
    assert size(psi) <= size(phi)
    for n in range(len(S)):
        assert complex_events(phi, S, n) == complex_events(psi, S, n)


@FEW
@given(cases(TYPED, nodes=8, events=6))
def test_the_automaton_agrees_with_the_denotation(case: tuple[Formula, Stream]) -> None:
    assert streaming.matches(*case) == matches_of_cel(*case)


def test_without_hypothesis_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *arguments: Any, **named: Any) -> Any:
        if name.partition(".")[0] == "hypothesis":
            raise ModuleNotFoundError("No module named 'hypothesis'")
        return real(name, *arguments, **named)

    monkeypatch.delitem(sys.modules, "cerify.equivalence.generate.hypothesis")
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ImportError, match=r"pip install 'cerify\[hypothesis\]'"):
        importlib.import_module("cerify.equivalence.generate.hypothesis")
