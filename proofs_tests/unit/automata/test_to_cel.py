"""From automata back to CEL (tods21, Theorems 6.3 and 8.9): the formula is the automaton again, decided."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, UNMARKED, Transition, single_variable
from cerify.automata.cea.to_cel import CeaUnion, Expressions, Level, star, to_cel
from cerify.equivalence.decide.cel import difference
from cerify.equivalence.generate.cel import EVERYTHING, formula
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import is_unary
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Schema
from cerify.semantics.predicates import Anything, Attribute, Comparison, Constant, Not, OfType, Predicate
from proofs_tests.support import sampled

TINY = replace(EVERYTHING, types=("A", "B"), correlated=0.0, attributes=(("x", (0, 1)),))
SCHEMA = Schema({"A": {"x": "int"}, "B": {"x": "int"}})
LEVELS: tuple[Level, ...] = ("valuations", "events")
POSITIVE = Comparison(">", Attribute("x"), Constant(0))


def again(A: CEA, level: Level, schema: Schema | None) -> CEA:
    return compile_cel(to_cel(A, level, schema), Budget(states=1_000_000))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("A+", "A+"),
        ("A : B", "A : B"),
        ("(A ; B):+", "(A ; B):+"),
        ("A ; (B ; (A+))", "A ; (B ; A+)"),
        ("(A OR B)+ FILTER A.x > 0", "(B OR (A FILTER A.x > 0))+"),
        ("START((A IN X) ; B)", "START(A IN X ; B)"),
        ("A ALL B", "A ; B OR B ; A"),
        ("(A ; B) AND (A : B)", "A : B"),
        ("STRICT(A+)", "A:+"),
        ("A OR A+ ; A", "A+"),
        ("(A ; C) OR (B ; C)", "(A OR B) ; C"),
        ("PROJECT[A](A ; B)", "PROJECT[A](A ; B IN skipped)"),
        ("PROJECT[](A)", "PROJECT[](A IN skipped)"),
        ("PROJECT[X](A IN X ; B IN X)", "PROJECT[X](A IN X ; B IN X)"),
        ("PROJECT[B](A IN B)", "PROJECT[B](A IN B)"),
        ("A AND B", "A UNLESS A"),
    ],
)
def test_formulas_that_come_back_short(query: str, expected: str) -> None:
    """What skips freely between its events needs neither a schema nor a variable of its own."""
    A = compile_cel(parse(query))
    found = to_cel(A)
    assert difference(A, compile_cel(found)) is None
    assert cel.size(found) <= cel.size(parse(expected)), show(found)


@pytest.mark.parametrize("number", sampled([100, 250], [100]))
@pytest.mark.parametrize("level", LEVELS)
def test_all_automata_of_two_states(level: Level, number: int) -> None:
    """Any transitions between them, unlike those of formulas: marks of another type, none, on some values or on any."""
    labels: tuple[tuple[Predicate, frozenset[str]], ...] = (
        (Anything(), UNMARKED),
        (OfType("A"), frozenset({"A"})),
        (OfType("B"), frozenset({"A", "X"})),
        (Not(OfType("A")), UNMARKED),
        (POSITIVE, frozenset({"X"})),
    )
    edges = [Transition(p, P, L, q) for p, q in product(range(2), repeat=2) for P, L in labels]
    rng, tried = Random(6), 0
    for _ in range(number):
        states = rng.choice((2, 2, 3))
        chosen = rng.sample(edges, rng.randint(1, 6))
        if states == 3:
            chosen += [t._replace(target=2) for t in rng.sample(edges, 2)]
        A = CEA(states, tuple(dict.fromkeys(chosen)), frozenset({rng.randrange(2)}), frozenset({states - 1}))
        assert difference(A, again(A, level, SCHEMA), level, SCHEMA) is None, A
        tried += bool(A.transitions)
    assert tried == number


@pytest.mark.parametrize("schema", [None, SCHEMA])
@pytest.mark.parametrize("level", LEVELS)
def test_random_formulas_there_and_back(level: Level, schema: Schema | None) -> None:
    refused = 0
    for i in range(120):
        rng = Random(f"to cel/{i}")
        while not is_unary(phi := formula(rng, TINY, rng.randint(1, 7))) or "Arithmetic" in repr(phi):
            pass
        A = compile_cel(phi)
        try:
            B = again(A, level, schema)
        except Unsupported:
            refused += 1
            continue
        assert difference(A, B, level, schema) is None, show(phi)
    assert refused == 0 if schema else refused < 15


def test_the_formula_of_a_long_sequence_is_as_long() -> None:
    query = " ; ".join(f"(E{i} OR F{i})+" for i in range(15))
    assert cel.size(to_cel(compile_cel(parse(query)))) <= cel.size(parse(query)) + 5


@pytest.mark.parametrize("query", ["A+ ; B", "(A ; B)+ OR A", "((A ; B) OR B)+ ; A FILTER A.x > 0"])
def test_what_marks_all_it_reads_comes_back_in_the_star_fragment(query: str) -> None:
    """Theorem 8.9: an automaton under the *-semantics has a formula with ; + OR and filters."""
    A = star(single_variable(compile_cel(parse(query))))
    found = to_cel(A, "events")
    kinds = {type(psi) for psi in cel.subformulas(found)}
    assert kinds <= {cel.EventAtom, cel.Filter, cel.Seq, cel.Plus, cel.Or}
    assert difference(A, compile_cel(found), "events") is None


@pytest.mark.parametrize("query", ["A UNLESS B", "NXT(A ; B)", "(A ; B) WITHIN 3 EVENTS", "A ; (B UNLESS A)"])
def test_what_skips_only_some_events_needs_a_schema(query: str) -> None:
    A = compile_cel(parse(query))
    with pytest.raises(Unsupported, match=r"skips at some states .* give the schema"):
        to_cel(A)
    assert difference(A, again(A, "valuations", SCHEMA), "valuations", SCHEMA) is None


def test_what_marks_any_event_needs_a_schema() -> None:
    A = CEA(2, (Transition(0, Anything(), frozenset({"X"}), 1),), frozenset({0}), frozenset({1}))
    with pytest.raises(Unsupported, match="marks events of types that it does not name"):
        to_cel(A)
    assert show(to_cel(A, schema=SCHEMA)) == "PROJECT[X](START((A OR B) IN X))"


def test_a_run_that_ends_by_skipping_anything() -> None:
    """Such an automaton is of no formula without projection: what has matched goes on matching."""
    skip, take = Transition(0, Anything(), UNMARKED, 0), Transition(0, OfType("A"), frozenset({"A"}), 0)
    for transitions in ((skip, take), (skip,), (take,)):
        A = CEA(1, transitions, frozenset({0}), frozenset({0}))
        assert difference(A, again(A, "valuations", SCHEMA), "valuations", SCHEMA) is None


def test_the_variable_of_what_is_skipped_is_new() -> None:
    A = compile_cel(parse("PROJECT[skipped](A IN skipped ; B)"))
    found = to_cel(A)
    assert "skipped1" in show(found)
    assert difference(A, compile_cel(found)) is None


def test_a_formula_that_grows_too_large_stops_and_says_of_what() -> None:
    A = compile_cel(parse("(A+ ; B+ ; A) WITHIN 6 EVENTS"))
    size = f"{A.states} states and {len(A.transitions)} transitions has more than 40 nodes"
    with pytest.raises(BudgetExceeded, match=size):
        to_cel(A, schema=SCHEMA, budget=Budget(states=40))


def test_the_size_of_a_union_is_the_number_of_its_nodes() -> None:
    """Those of its parts, and one less than there are parts for the signs between them."""
    every = Expressions(5, "an expression")
    assert every.sizes[every.union(map(every.letter, range(3)))] == 5
    with pytest.raises(BudgetExceeded, match="more than 5 nodes"):
        every.union(map(every.letter, range(4)))


def test_expressions_are_made_shorter_only_where_the_gaps_agree() -> None:
    every = Expressions(100, "an expression")
    a, b = every.letter(0), every.letter(1)
    for gap in (False, True):
        rounds = every.repeated(gap, a)
        assert every.union((a, every.join(gap, rounds, a))) == rounds
        assert every.union((a, every.join(gap, a, rounds))) == rounds
        assert every.then_maybe(gap, every.join(not gap, b, a), a) == every.join(not gap, b, rounds)
        assert every.through(gap, b, a, every.join(not gap, a, b)) == every.join(gap, b, every.join(not gap, rounds, b))
        for other in (every.join(not gap, rounds, a), every.join(not gap, a, rounds)):
            assert every.nodes[every.union((a, other))] == CeaUnion(tuple(sorted((a, other))))
        assert every.union((a, rounds)) == rounds
