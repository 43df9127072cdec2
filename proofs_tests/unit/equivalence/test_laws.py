"""The laws of CEL: those that hold, on small instances and on random ones; those that fail, replayed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random

import pytest

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.rewrite.laws import LAWS, PREDICATES, Law, Level
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.denote import Valuations, sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, show, size
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison, Constant, Predicate
from proofs_tests.laws import page
from proofs_tests.support import sampled

HOLDING = [law for law in LAWS if law.holds]
FAILING = [law for law in LAWS if not law.holds]

# Formulas that bind one event or several, under one name or two, or none at all, and all or some of those they need.
OPERANDS = tuple(
    map(
        parse,
        ("A", "A IN X", "A+ IN X", "B ; A IN X", "A OR (A ; B)", "PROJECT[X](A IN X ; B)", "NXT(A+)", "A UNLESS B"),
    )
)
STREAMS = tuple(
    Stream(events)
    for events in (
        *product((Event("A", {"x": 1}), Event("B", {"x": 0})), repeat=3),
        (Event("A", {"x": 0}), Event("A", {"x": 1}), Event("A"), Event("B", {"x": 1})),
        (Event("A", {"x": 1}), Event("C", {"x": 1}), Event("B", {"x": 2}), Event("A", {"x": 1})),
    )
)
MIXED = replace(
    generate.EVERYTHING,
    types=("A", "B"),
    attributes=(("x", (0, 1, 2)), ("y", (0, 1))),
    absent=0.15,
)
PAIRS: tuple[tuple[Predicate, Predicate], ...] = (
    PREDICATES,
    (Comparison("=", Attribute("x"), Constant(1)), Comparison("!=", Attribute("y"), Constant(0))),
    (Comparison("<=", Attribute("x"), Attribute("y")), Comparison(">", Attribute("x"), Constant(0))),
)


def sides(
    law: Law, operands: Iterable[Formula], S: Stream, predicates: tuple[Predicate, Predicate] = PREDICATES
) -> list[tuple[Valuations, Valuations]]:
    """What both sides have at each position."""
    interpreter = Interpreter(S, Budget(20_000))
    left, right = law.instance(*operands, predicates=predicates)
    return [(interpreter.meaning(left, 0, n), interpreter.meaning(right, 0, n)) for n in range(len(S))]


def same(left: Valuations, right: Valuations, level: Level) -> bool:
    return left == right if level == "valuations" else set(map(sup, left)) == set(map(sup, right))


def counterexample(law: Law, cases: Iterable[tuple[tuple[Formula, ...], Stream, tuple[Predicate, Predicate]]]) -> str:
    looked_at = 0
    for operands, S, predicates in cases:
        if not law.applies(*operands):
            continue
        looked_at += 1
        try:
            for n, (left, right) in enumerate(sides(law, operands, S, predicates)):
                if not same(left, right, law.level):
                    return f"{list(map(show, operands))} on {S.events} at {n}"
        except BudgetExceeded:
            continue
    assert looked_at, "no instance to which the law applies"
    return ""


@pytest.mark.parametrize("law", sampled(HOLDING, HOLDING[::6]), ids=lambda law: law.name)
def test_a_law_that_holds_has_no_small_counterexample(law: Law) -> None:
    k = len(law.letters)
    operands = product(OPERANDS[: {0: 1, 1: 8, 2: 5, 3: 3}[k]], repeat=k)
    streams = STREAMS if k < 3 else STREAMS[-6:]
    assert not counterexample(law, ((ops, S, PREDICATES) for ops in operands for S in streams))


@pytest.mark.parametrize(
    "law",
    sampled(HOLDING, [law for law in HOLDING if law.name != ":{2,3} begins with a round"]),
    ids=lambda law: law.name,
)
def test_a_law_that_holds_has_no_random_counterexample(law: Law) -> None:
    rng = Random(law.name)

    def cases() -> Iterable[tuple[tuple[Formula, ...], Stream, tuple[Predicate, Predicate]]]:
        for _ in range(16):
            operands = tuple(generate.formula(rng, MIXED, rng.randint(1, 4)) for _ in law.letters)
            yield (
                operands,
                generate.stream(rng, MIXED, rng.randint(2, 5), next(iter(operands), None)),
                rng.choice(PAIRS),
            )
        yield (OPERANDS[1],) * len(law.letters), STREAMS[-1], PREDICATES  # one to which it surely applies

    assert not counterexample(law, cases())


@pytest.mark.parametrize("law", FAILING, ids=lambda law: law.name)
def test_a_law_that_fails_fails_on_its_witness(law: Law) -> None:
    assert law.witness is not None
    assert len(law.witness.operands) == len(law.letters)
    left, right = sides(law, law.witness.formulas, law.witness.stream)[law.witness.at]
    assert not same(left, right, law.level)
    assert law.witness.at == len(law.witness.stream) - 1, "a shorter stream would do"


@pytest.mark.parametrize("law", [law for law in FAILING if law.level == "valuations"], ids=lambda law: law.name)
def test_a_law_that_fails_for_valuations_only_is_said_to(law: Law) -> None:
    """Where the witness has other complex events too, the law fails at that level, and should say so."""
    assert law.witness is not None
    left, right = sides(law, law.witness.formulas, law.witness.stream)[law.witness.at]
    by_events = same(left, right, "events")
    assert by_events or any(op in show(law.left) + show(law.right) for op in ("AND", "ALL")), law.name


@pytest.mark.parametrize("law", [law for law in HOLDING if law.level == "events"], ids=lambda law: law.name)
def test_a_law_of_complex_events_is_none_of_valuations(law: Law) -> None:
    operands = product((*OPERANDS, parse("A+")), repeat=len(law.letters))
    assert any(not same(*both, "valuations") for ops in operands for S in STREAMS for both in sides(law, ops, S))


@pytest.mark.parametrize("law", FAILING, ids=lambda law: law.name)
def test_a_witness_uses_no_more_events_than_needed(law: Law) -> None:
    """Neither a shorter stream nor a smaller first operand would do."""
    w = law.witness
    assert w is not None
    events = [e for k, e in enumerate(w.stream) if e not in w.stream.events[:k]]
    for shorter in (Stream(S) for n in range(1, len(w.stream)) for S in product(events, repeat=n)):
        assert same(*sides(law, w.formulas, shorter)[-1], law.level)
    if w.formulas and size(w.formulas[0]) > 1:
        for R in ("A", "B"):
            assert same(*sides(law, (parse(R), *w.formulas[1:]), w.stream)[w.at], law.level)


def test_there_are_enough_laws_and_each_is_said_once() -> None:
    assert len(HOLDING) >= 60
    assert len(FAILING) >= 25
    assert Counter(law.name for law in LAWS).most_common(1)[0][1] == 1
    assert Counter((law.left, law.right, law.level, law.binding) for law in LAWS).most_common(1)[0][1] == 1
    for law in LAWS:
        assert law.left != law.right
        assert law.reason.endswith(".")


def test_an_instance_puts_formulas_and_predicates_for_the_letters() -> None:
    law = next(law for law in LAWS if law.name == "FILTER over ;")
    left, right = law.instance(parse("A IN X"), parse("B+"))
    assert show(left) == "A IN X ; B+ FILTER X.x > 0"
    assert show(right) == "(A IN X FILTER X.x > 0) ; (B+ FILTER X.x > 0)"
    with pytest.raises(ValueError, match="needs formulas for phi, psi, but only 1 are given"):
        law.instance(parse("A"))


def test_side_conditions_are_kept() -> None:
    strict = next(law for law in LAWS if law.name == "STRICT of ; is :")
    assert strict.applies(parse("A"), parse("B+"))
    assert not strict.applies(parse("A"), parse("PROJECT[A](B)"))
    unbound = next(law for law in LAWS if law.name == "FILTER of a variable that is not bound")
    assert unbound.applies(parse("A IN X"))
    assert not unbound.applies(parse("A IN Z"))


def test_the_page_is_what_the_laws_say() -> None:
    """Written anew by: python -m proofs_tests.laws --write docs/laws.md"""
    written = Path(__file__).parents[3] / "docs" / "laws.md"
    assert written.read_text(encoding="utf-8") == page()
