"""Which streams a query block with a window is evaluated over by the evaluators of CEL."""

import pytest

from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Event, Stream
from cerify.semantics.sase.parse import parse
from cerify.semantics.sase.syntax import SaseQuery
from proofs_tests.claims.sase_by_cel import bindings, formula_for

TEXT = "PATTERN SEQ(A a, B b) {} RETURN a.x"


def block(rest: str) -> SaseQuery:
    q = parse(TEXT.format(rest))
    assert isinstance(q, SaseQuery)
    return q


def timed(*times: int | str) -> Stream:
    return Stream([Event(R, {"time": time}) for R, time in zip("AB", times, strict=True)])


def test_times_of_a_window_are_numbers_that_ascend() -> None:
    q = block("WITHIN 3 seconds")
    assert bindings(q, timed(1, 3)) == {(("a", (0,)), ("b", (1,)))}
    assert bindings(q, timed(1, 9)) == set()
    for S in (timed(4, 1), timed("1", "2")):
        with pytest.raises(Unsupported, match="ascend"):
            formula_for(q, S)


def test_without_a_window_times_are_not_looked_at() -> None:
    assert bindings(block(""), timed(4, 1)) == {(("a", (0,)), ("b", (1,)))}
