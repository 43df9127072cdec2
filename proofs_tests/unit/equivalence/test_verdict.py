"""Verdicts as values: equal where their parts are, and never a condition."""

from __future__ import annotations

import pytest

from cerify.api import contained, equivalent
from cerify.equivalence.decide.cel import star_form
from cerify.equivalence.verdict import Bounded, Contained, Equivalent
from cerify.semantics.cel.parse import parse
from cerify.semantics.errors import CerifyError, NoTruthValue
from cerify.semantics.events import Schema

VERDICTS = {
    "Equivalent": lambda: equivalent("A ; B", "A ; B"),
    "Contained": lambda: contained("A:+", "A+"),
    "Different": lambda: equivalent("A ; B", "B ; A"),
    "Bounded": lambda: equivalent("A+ FILTER A.x <= A.x", "A+ PARTITION BY [x]", bound=1),
    "Undecided": lambda: equivalent("A+ FILTER A.x <= A.x", "A+ PARTITION BY [x]", bound=0),
    "InStar": lambda: star_form(parse("A")),
    "NotInStar": lambda: star_form(parse("A UNLESS B")),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_is_no_condition(name: str) -> None:
    verdict = VERDICTS[name]()  # type: ignore[no-untyped-call]
    assert type(verdict).__name__ == name
    for use in (bool, lambda verdict: verdict == True, lambda verdict: False != verdict):  # noqa: E712, SIM300
        with pytest.raises(TypeError, match=rf"this one is {name}: write isinstance\(verdict, Equivalent\)") as error:
            use(verdict)
        assert isinstance(error.value, NoTruthValue)
        assert isinstance(error.value, CerifyError)


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_equals_one_of_the_same_parts(name: str) -> None:
    assert VERDICTS[name]() == VERDICTS[name]()  # type: ignore[no-untyped-call]
    assert VERDICTS[name]() != name  # type: ignore[no-untyped-call]


def test_verdicts_of_other_parts_differ() -> None:
    schema = Schema({"A": {}})
    assert Bounded(1, schema) == Bounded(1, Schema({"A": {}}))
    assert Bounded(1, schema) != Bounded(2, schema)
    assert equivalent("A ; B", "B ; A") != equivalent("A ; C", "C ; A")


def test_a_verdict_on_event_expressions_has_the_sizes_of_their_automata() -> None:
    verdict = equivalent("a", "a or a", languages=("event-expression", "event-expression"))
    assert isinstance(verdict, Equivalent)
    assert verdict.states == (2, 2)
    assert isinstance(contained("a and b", "a", languages=("event-expression", "event-expression")), Contained)
