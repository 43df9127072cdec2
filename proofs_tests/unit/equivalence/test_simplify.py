"""Simplification: smaller, the same, and each step with what it stands on."""

from __future__ import annotations

import itertools
import time
from contextlib import suppress
from dataclasses import replace
from random import Random

import pytest

from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.rewrite import simplify
from cerify.equivalence.rewrite.laws import LAWS, rules
from cerify.equivalence.rewrite.simplify import is_nothing, places
from cerify.equivalence.verdict import Equivalent, Level
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import require_typed
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.support import sampled

SMALL = replace(generate.EVERYTHING, types=("A", "B"), attributes=(("x", (0, 1, 2)), ("y", (0, 1))))
LEVELS: tuple[Level, ...] = ("events", "valuations")


def short(query: str, level: Level = "events", schema: Schema | None = None) -> str:
    return show(simplify.simplify(parse(query), level, schema).phi)


def differs_at(phi: Formula, psi: Formula, S: Stream, level: Level) -> int | None:
    ask = interpreter.complex_events if level == "events" else interpreter.valuations
    said = ((n, ask(phi, S, n, Budget(20_000)), ask(psi, S, n, Budget(20_000))) for n in range(len(S)))
    return next((n for n, left, right in said if left != right), None)


@pytest.mark.parametrize(
    ("query", "smaller"),
    [
        ("A OR B OR A", "A OR B"),
        ("(A ; C) OR (B ; C) OR (B ; C)", "(A OR B) ; C"),
        ("A+ OR (A ; A+) OR A:+", "A+"),
        ("NXT(MAX(NXT(A ; B)))", "NXT(A ; B)"),
        ("STRICT(MAX(A))", "A"),
        ("START(A : B)", "START(A) : B"),
        ("A FILTER A.x > 1 AND A.x > 0", "A FILTER A.x > 1"),
        ("A FILTER A.x > 1 OR A[x > 2 and x < 9]", "A FILTER A.x > 1"),
        ("(A FILTER A.x > 1 AND A.x < 1) OR B", "B"),
        ("(A ; B) FILTER A.x > 1 AND A.x < 1", "A FILTER A[time < time]"),
        ("A AND B", "A FILTER A[time < time]"),
        ("A UNLESS (B FILTER B.x < 0 AND B.x > 0)", "A"),
        ("A FILTER A[x = 0 or not x = 0]", "A"),
        ("A IN X ; B", "A ; B"),
        ("STRICT(A ; B) WITHIN 2 EVENTS", "A : B"),
        ("(A WITHIN 3 EVENTS) ; B WITHIN 2 EVENTS", "A : B"),
        ("(A IN X ; B) FILTER X.x > 3", "A ; B FILTER A.x > 3"),
        ("A", "A"),
    ],
)
def test_a_unary_formula_becomes_smaller_with_a_proof(query: str, smaller: str) -> None:
    found = simplify.simplify(parse(query))
    assert equivalent(found.phi, parse(smaller)).__class__ is Equivalent
    assert size(found.phi) <= size(parse(smaller)), show(found.phi)
    assert found.finished
    assert found.proof is not None
    assert (found.proof.left, found.proof.right) == (show(parse(query)), show(found.phi))
    assert flaw(found.proof) is None
    assert not found.by_law_only
    assert all(step.proof is not None and flaw(step.proof) is None for step in found.steps)


def test_the_level_counts() -> None:
    assert short("A IN X ; B", "valuations") == "A IN X ; B"
    assert short("A IN X IN X ; B", "valuations") == "A IN X ; B"
    assert short("(A IN X OR A) FILTER Y.x > 0", "valuations") == "A IN X OR A"
    assert short("(A IN X OR A) FILTER Y.x > 0", "events") == "A"


def test_the_schema_counts() -> None:
    """Without x in B a filter on it never holds; and what is written fits the schema."""
    schema = Schema({"A": {"x": "int"}, "B": {"s": "string"}})
    query = "A OR (B FILTER B.s = 'a' AND B.s = 'b')"
    assert short(query, schema=schema) == "A"
    found = simplify.simplify(parse("A FILTER A.x > 0 AND A[x > 0 or x < 5]"), schema=schema)
    require_typed(found.phi, schema)
    assert show(found.phi) == "A FILTER A.x > 0"


@pytest.mark.parametrize(
    ("query", "level", "smaller", "by_law"),
    [
        ("(A ; B FILTER A.x < B.x) OR (A ; B FILTER A.x < B.x)", "valuations", "A ; B FILTER A.x < B.x", 1),
        ("(A IN X ; B IN Y) FILTER A.x < B.x", "events", "A ; B FILTER A.x < B.x", 2),
        ("(A IN X ; B IN Y) FILTER X.x < B.x", "events", "A IN X ; B FILTER X.x < B.x", 1),
        ("(A IN X ; B IN Y) FILTER A.x < B.x", "valuations", "A IN X ; B IN Y FILTER A.x < B.x", 0),
        ("(A ; B FILTER A.x < B.x) ; (C FILTER C.x > 1 AND C.x < 1)", "valuations", "A FILTER A[time < time]", 1),
        ("(A+ FILTER A.x < A.x AND A.x < A.x) UNLESS (B AND C)", "valuations", "A+ FILTER A.x < A.x", 2),
        ("((A+ ; A OR A) WITHIN 2 [x]) ; B", "valuations", "(A+ WITHIN 2 [x]) ; B", 0),
    ],
)
def test_around_what_compares_events_the_steps_are_by_law_and_told(
    query: str, level: Level, smaller: str, by_law: int
) -> None:
    found = simplify.simplify(parse(query), level)
    assert show(found.phi) == smaller
    assert found.proof is None
    assert len(found.by_law_only) == by_law
    assert all(flaw(step.proof) is None for step in found.steps if step.proof is not None)


@pytest.mark.parametrize(
    ("query", "level", "smaller"),
    [
        ("(A ; B) WITHIN 10 minutes WITHIN 1 hour", "events", "A ; B WITHIN 10 minutes"),
        ("(A ; B) PARTITION BY [k] FILTER A.k = B.k", "events", "A ; B PARTITION BY [k]"),
        ("(A ; B FILTER A.x = B.x) OR (A ; B FILTER A.x = B.x)", "valuations", "A ; B FILTER A.x = B.x"),
        ("(A IN X ; B IN Y) FILTER A.x = B.x", "events", "A ; B FILTER A.x = B.x"),
        ("(A+ WITHIN 2 [x]) OR (A+ WITHIN 2 [x]) OR MAX(A)", "valuations", "(A+ WITHIN 2 [x]) OR A"),
        ("(A+ ; A OR A) WITHIN 2 [x]", "valuations", "A+ WITHIN 2 [x]"),
    ],
)
def test_around_whole_matches_windows_and_partitions_are_decided(query: str, level: Level, smaller: str) -> None:
    found = simplify.simplify(parse(query), level)
    assert show(found.phi) == smaller
    assert found.proof is not None
    assert found.by_law_only == ()
    assert all(flaw(proof) is None for proof in (found.proof, *(step.proof for step in found.steps)) if proof)


@pytest.mark.thorough
def test_equal_parts_become_smaller_at_each_place() -> None:
    part, smaller = (f"({psi} ; B FILTER A.x < B.x)" for psi in ("(A UNLESS (B ; A))", "(A UNLESS B)"))
    assert short(f"{part} ; {part}") == f"{smaller} ; {smaller}"


def test_what_and_filter_and_project_look_at_is_kept() -> None:
    """At the level of events too: AND compares valuations, and a filter around looks at X."""
    for query in (
        "(A IN X AND A IN X) WITHIN 2 [x]",
        "((A IN X ; B) FILTER X.x = B.x) WITHIN 2 [x]",
        "PROJECT[X](A IN X ; B) WITHIN 2 [x]",
    ):
        phi = parse(query)
        psi = simplify.simplify(phi).phi
        S = Stream([Event("A", {"x": 1}), Event("B", {"x": 1})])
        assert differs_at(phi, psi, S, "events") is None, show(psi)
    assert short("((A IN X AND A) OR (B ; C)) WITHIN 2 [x]") == "B ; C WITHIN 2 [x]"  # the two never bind the same


@pytest.mark.parametrize("formulas", sampled([6, 30], [6]))
def test_random_formulas_keep_their_meaning(formulas: int) -> None:
    """Those with windows, partitions and filters across variables too; and on the whole they become smaller."""
    before = after = by_law = 0
    for i in range(formulas):
        rng = Random(f"simplify/{i}")
        phi = generate.formula(rng, SMALL, rng.randint(2, 9))
        if rng.random() < 0.3:
            phi = cel.Within(phi, rng.choice((cel.EventWindow(2), cel.AttributeWindow(1, "x"))))
        level = LEVELS[i % 2]
        found = simplify.simplify(phi, level, budget=Budget(states=300), tries=40)
        before, after, by_law = before + size(phi), after + size(found.phi), by_law + len(found.by_law_only)
        assert compilable(phi) or found.proof is None
        for _ in range(12):
            S = generate.stream(rng, SMALL, rng.randint(1, 5), phi)
            with suppress(BudgetExceeded):
                assert differs_at(phi, found.phi, S, level) is None, f"{show(phi)} -> {show(found.phi)} on {list(S)}"
    assert after < 0.9 * before
    assert by_law >= formulas // 30


def test_the_same_call_gives_the_same_result() -> None:
    phi = parse("(A ; (B OR C)) OR (A ; C) OR NXT(A ; B) OR (A IN X ; C)")
    assert simplify.simplify(phi) == simplify.simplify(phi)


def test_a_budget_ends_the_search_and_what_there_is_is_sound() -> None:
    phi = parse("((A OR A) ; (B OR B)) OR ((A OR A) ; (B OR B))")
    for tries in range(4):
        found = simplify.simplify(phi, tries=tries)
        assert len(found.steps) <= tries
        assert not found.finished
        assert isinstance(equivalent(phi, found.phi), Equivalent)
    assert not simplify.simplify(phi, budget=Budget(seconds=0.0)).steps
    assert simplify.simplify(phi, tries=200).finished


def test_a_question_that_has_begun_is_broken_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock was looked at between two questions only, of which one may take minutes; what there is is returned."""
    far = " : ".join(["(A OR B)"] * 12)
    phi = parse(f"((A OR A) ; B) OR LAST(A : {far})")
    monkeypatch.setattr(time, "monotonic", itertools.count(0, 0.01).__next__)
    found = simplify.simplify(phi, budget=Budget(seconds=1))
    assert not found.finished
    assert isinstance(found.phi, Formula)
    assert time.monotonic() < 3


def test_a_formula_nested_too_deeply_is_a_typed_error() -> None:
    phi: Formula = cel.EventAtom("A")
    for _ in range(5000):
        phi = cel.Plus(phi)
    with pytest.raises(BudgetExceeded, match="nested too deeply"):
        simplify.simplify(phi)


# --- laws as rules ----------------------------------------------------------------------------------------------------


def applied(name: str, query: str) -> list[str]:
    """What the law makes of the formula, in both directions, if that is not larger."""
    found = [rule.applied(parse(query)) for rule in rules() if rule.law.name == name]
    return [show(phi) for phi in found if phi is not None and size(phi) <= size(parse(query))]


@pytest.mark.parametrize(
    ("law", "query", "other"),
    [
        ("; over OR on the left", "(T ; H+) OR (U IN Z ; H+)", ["(T OR U IN Z) ; H+"]),
        ("; over OR on the left", "(T ; H+) OR (U IN Z ; H)", []),
        ("FILTER is idempotent", "(T FILTER T.q > 7) FILTER T.q > 7", ["T FILTER T.q > 7"]),
        ("FILTER is idempotent", "(T FILTER T.q > 7) FILTER T.q > 8", []),
        ("IN commutes with IN", "(T IN U) IN V", ["T IN V IN U"] * 2),
        ("IN commutes with IN", "(T IN U) IN U", []),  # X and Y are different
        ("FILTER of a variable that is not bound", "T FILTER Q.x > 1", ["T"]),
        ("FILTER of a variable that is not bound", "T FILTER T.x > 1", []),
        ("STRICT of + is :+", "STRICT(T+)", ["STRICT(T):+"]),
        ("STRICT of + is :+", "STRICT(PROJECT[Q](T)+)", []),
        ("PARTITION BY over OR", "(T PARTITION BY [a]) OR (H PARTITION BY [a])", ["T OR H PARTITION BY [a]"]),
        ("= is symmetric", "(T ; H) FILTER T.v = H.v", ["T ; H FILTER H.v = T.v"] * 2),
        ("WITHIN in other units", "T WITHIN 60 seconds", ["T WITHIN 1 minute"]),
        ("PROJECT of PROJECT", "PROJECT[U, V](PROJECT[V, W](T))", ["PROJECT[V](T)"]),
    ],
)  # fmt: skip
def test_a_law_is_applied_where_it_matches(law: str, query: str, other: list[str]) -> None:
    assert applied(law, query) == other


def test_letters_of_laws_are_no_names_of_a_formula() -> None:
    """A formula may have event types called phi and P."""
    assert applied("+ is idempotent", "(phi ; P)++") == ["(phi ; P)+"]


@pytest.mark.parametrize(
    ("law", "query", "other"),
    [
        ("AND in a filter", "(A ; B) FILTER A.x > 1 AND B.y > 1", "A ; B FILTER A.x > 1 FILTER B.y > 1"),
        ("OR in a filter", "(A ; B) FILTER A.x > 1 OR B.y > 1", "(A ; B FILTER A.x > 1) OR (A ; B FILTER B.y > 1)"),
    ],
)
def test_connectives_of_a_filter_are_matched(law: str, query: str, other: str) -> None:
    found = (rule.applied(parse(query)) for rule in rules() if rule.law.name == law)
    assert other in [show(phi) for phi in found if phi is not None]


def test_only_laws_that_hold_are_rules() -> None:
    assert {rule.law.name for rule in rules()} <= {law.name for law in LAWS if law.holds}
    assert len({rule.law.name for rule in rules()}) > 150


def test_places_put_back_and_tell_what_is_looked_at() -> None:
    phi = parse("NXT(PROJECT[X](A IN X) ; B) FILTER B.x > 1")
    found = list(places(phi))
    assert all(place.put(place.psi) == phi for place in found)
    inner = next(place for place in found if isinstance(place.psi, cel.In))
    assert inner.looked == {"X", "B"}
    assert not inner.blind
    assert next(p for p in places(parse("A AND B")) if p.psi == parse("B")).looked is None


def test_nothing_is_recognized() -> None:
    assert is_nothing(simplify.nothing(parse("B ; A")))
    assert not is_nothing(parse("B FILTER B.x > 1"))


def test_a_search_without_tries_weighs_nothing_but_the_formula(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed = []
    monkeypatch.setattr(simplify, "weight", lambda language, phi, S: weighed.append(phi) or (size(phi),))
    phi = parse(" ; ".join("AB" * 10))
    assert not simplify.simplify(phi, tries=0).finished
    assert weighed == [phi]


def test_a_pair_of_a_chain_is_rewritten_once_not_in_each_part_of_the_chain() -> None:
    offered = [len(list(simplify.find_rewritings(parse(" ; ".join("AB" * n)), "events"))) for n in (8, 16)]
    assert offered[1] < 3 * offered[0]


@pytest.mark.parametrize(
    ("query", "law", "other"),
    [
        ("A OR B OR A", "OR is idempotent", "A OR B"),
        ("A AND B AND A", "AND is idempotent", "A AND B"),
        ("A ALL B ALL C", "ALL is commutative", "C ALL A ALL B"),
        ("B ; A ; A+", "+ after +", "B ; (A+ ; A+)"),
        ("B : A : START(A)", "START after :", "B : (A : A)"),
    ],
)
def test_a_law_is_applied_to_two_operands_of_a_chain(query: str, law: str, other: str) -> None:
    """To any two where the order does not matter."""
    assert (law, other) in [(name, show(phi)) for name, phi in simplify.in_chains(parse(query), True)]


def test_operands_whose_order_matters_are_not_brought_together() -> None:
    assert ("+ after +", "A+ ; A+ ; B") not in [
        (name, show(phi)) for name, phi in simplify.in_chains(parse("A ; B ; A+"), True)
    ]
