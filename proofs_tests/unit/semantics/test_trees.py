"""Equality of trees, and the whole numbers that are values."""

from unittest.mock import ANY

import pytest

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import InputError
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.json_events import stream_of_json

A, B, C = (expr.Primitive(T) for T in "abc")


def test_trees_are_equal_if_they_are_the_same_formula() -> None:
    assert cel.Seq(cel.EventAtom("A"), cel.EventAtom("B")) == cel.Seq(cel.EventAtom("A"), cel.EventAtom("B"))
    assert cel.Seq(cel.EventAtom("A"), cel.EventAtom("B")) != cel.Or(cel.EventAtom("A"), cel.EventAtom("B"))
    assert cel.EventAtom("A") != "A"
    assert cel.EventAtom("A") == ANY  # which is asked, as a tree does not know


def test_operands_are_those_of_the_same_operator() -> None:
    trees = [
        expr.Relative((A, expr.Relative((B, C)))),
        expr.Relative((expr.Relative((A, B)), C)),
        expr.Relative((A, expr.Relative((B,)), C)),
        expr.Relative((expr.Relative((A,)), B, C)),
        expr.Relative((A, B, expr.Relative((C,)))),
    ]
    assert len(set(trees)) == len(trees)
    assert all((one == other) == (one is other) for one in trees for other in trees)


def test_whole_numbers_of_64_bits_are_values_and_others_are_not() -> None:
    S = stream_of_json([{"type": "A", "x": n} for n in (-(2**63), 2**63 - 1)], None, "events")
    assert [event.attributes["x"] for event in S] == [-(2**63), 2**63 - 1]
    for n in (-(2**63) - 1, 2**63):
        with pytest.raises(InputError, match="64"):
            stream_of_json([{"type": "A", "x": n}], None, "events")
