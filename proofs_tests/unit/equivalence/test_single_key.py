"""Formulas under PER KEY are decided, also where a filter mentions the key and against formulas without PER KEY."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

import cerify
from cerify.equivalence.decide.checker import flaw
from cerify.equivalence.decide.general import compare_formulas
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.verdict import Contained, Different, Equivalent
from cerify.languages import LANGUAGES
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Schema, Stream

SAME = [
    ("(A OR B) ; C PER KEY [k]", "(A ; C) OR (B ; C) PER KEY [k]"),
    ("A ; B PER KEY [k, l]", "A ; B PER KEY [l] PER KEY [k]"),
    ("A FILTER A.k > 0 PER KEY [k]", "A FILTER A.k > 0 AND A.k > -1 PER KEY [k]"),
]


@pytest.mark.parametrize(("left", "right"), SAME)
def test_what_is_the_same_on_all_streams_is_so_per_key(left: str, right: str) -> None:
    verdict = cerify.equivalent(left, right)
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert (verdict.certificate.left, verdict.certificate.right) == (show(parse(left)), show(parse(right)))
    tampered = replace(verdict.certificate, right="A : B PER KEY [k]" if "[k]" in left else "A : B PER KEY [k, l]")
    assert flaw(tampered) is not None
    other = replace(verdict.certificate, right=verdict.certificate.right.replace("PER KEY [k]", "PER KEY [j]"))
    assert other == verdict.certificate or flaw(other) is not None


def test_a_difference_is_on_one_key() -> None:
    for left, right in (("A : B PER KEY [k]", "A ; B PER KEY [k]"), ("A UNLESS B PER KEY [k]", "A PER KEY [k]")):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Different)
        assert len({event.get("k") for event in verdict.stream}) == 1
    assert isinstance(cerify.contained("A : B PER KEY [k]", "A ; B PER KEY [k]"), Contained)
    schema = Schema({"A": {"k": "string"}, "B": {"k": "string"}, "C": {}})
    found = LANGUAGES["cel"].difference(parse("A ; B PER KEY [k]"), parse("A : B PER KEY [k]"), schema=schema)
    assert isinstance(found, Different)
    assert len({event.get("k") for event in found.stream}) == 1
    assert {event.type for event in found.stream} == {"A", "B"}  # an event of type C has no key


def test_a_filter_may_mention_the_key() -> None:
    """On one key the filters cannot both hold, though on a stream they can."""
    verdict = cerify.equivalent("A ; B FILTER A.k = 1 AND B.k = 2 PER KEY [k]", "A UNLESS A PER KEY [k]")
    assert isinstance(verdict, Equivalent)
    assert flaw(verdict.certificate) is None
    assert isinstance(cerify.equivalent("A FILTER A.k = 1 PER KEY [k]", "A FILTER A.k = 2 PER KEY [k]"), Different)


def test_the_readings_of_a_key_are_compared() -> None:
    for left, right, types in (
        ("A : B PER KEY [k]", "A : B PARTITION BY [k]", 3),
        ("(A ; (B UNLESS C)) PER KEY [k]", "(A ; (B UNLESS C)) PARTITION BY [k]", 3),
        ("START(A) PER KEY [k]", "START(A PER KEY [k])", 2),
    ):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Different)
        assert len(verdict.stream) == types  # a smallest one
    for left, right in (
        ("A ; B PER KEY [k]", "A ; B PARTITION BY [k]"),
        ("NXT(A ; B) PER KEY [k]", "NXT(A ; B PER KEY [k])"),
        ("(A ; B) PER KEY [k] WITHIN 5 seconds", "(A ; B) WITHIN 5 seconds PER KEY [k]"),
    ):
        verdict = cerify.equivalent(left, right)
        assert isinstance(verdict, Equivalent)
        assert flaw(verdict.certificate) is None


def test_verdicts_hold_on_random_streams() -> None:
    rng, decided = Random(5), 0
    profile = replace(generate.FIGURE_3, types=("A", "B"), correlated=0.0)
    for _ in range(60):
        left, right = (cel.PerKey(generate.formula(rng, profile, rng.randint(1, 4)), ("k",)) for _ in "lr")
        verdict = compare_formulas(left, right, "equivalent", bound=0, budget=Budget(states=2_000))
        if isinstance(verdict, Equivalent):
            decided += 1
            for _ in range(20):
                S = Stream(Event(rng.choice("AB"), {"k": rng.randint(0, 1), "x": rng.randint(0, 2)}) for _ in range(5))
                assert matches_of(left, S) == matches_of(right, S), f"{show(left)}, {show(right)}"
        elif isinstance(verdict, Different):
            decided += 1
    assert decided > 40
