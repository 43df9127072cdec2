"""Which formulas of CEL an automaton carries: those that compare no events with each other but by position."""

import pytest

from cerify.automata.cea.compile import compilable
from cerify.semantics.cel.parse import parse


@pytest.mark.parametrize(
    ("text", "carried"),
    [
        ("A ; B", True),
        ("(A ; B) WITHIN 3 EVENTS", True),
        ("(A ; B) WITHIN 3 seconds", False),
        ("(A ; B) WITHIN 3 [x]", False),
        ("(A ; B) PARTITION BY [x]", False),
        ("(A ; B) FILTER A[x > 1]", True),
        ("(A ; B) FILTER A.x > 1", True),
        ("(A ; B) FILTER A.x > B.x", False),
        ("A ; ((B ; A) PARTITION BY [x])+", False),
    ],
)
def test_what_an_automaton_carries(text: str, carried: bool) -> None:
    assert compilable(parse(text)) is carried
