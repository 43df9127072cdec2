"""The interpreter against the definition by the letter: all valuations and all sets of positions are tried."""

from random import Random

import pytest

from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import Formula, show
from cerify.semantics.events import Match, Stream
from proofs_tests.support import sampled
from proofs_tests.unit.semantics.core_cel import naive
from proofs_tests.unit.semantics.core_cel.formulas import cases, of_size, stream_of

# Where a meaning that is made of partial valuations could slip: what a filter, a round or a rival sees of the variables
# around it, and a variable that one branch leaves open.
CHOSEN = [
    "MAX(A AS x ; B AS y)",
    "A AS x ; NXT((B AS y ; B AS z) FILTER y.a = x.a)",
    "A AS x ; LAST((B AS y ; B AS z) FILTER z.a = x.a)",
    "A AS x ; MAX(B AS y OR ((B AS y ; B AS z) FILTER z.a = x.a))",
    "A AS x ; NXT(B AS y OR ((B AS y ; B AS z) FILTER z.a = x.a))",
    "A AS x ; (B AS y OR ((B AS y ; B AS z) FILTER z.a = x.a))+",
    "A AS x ; ((B AS x OR B AS y) FILTER x.a = 1)+",
    "(A AS x ; (B AS y FILTER y.a = x.a)+)+",
    "(A AS x ; ((B AS y FILTER y.a = x.a AND z.a = 1)+))+ FILTER y.a = 0",
    "((A AS x ; (B AS y)+) FILTER x.a = y.a)+",
    "NXT(A AS x OR B AS y FILTER z.a = x.a)",
    "NXT((A AS x ; B AS y) OR A AS x FILTER z.a = x.a) ; B AS z",
    "(LAST(A AS x ; B AS y FILTER x.a = z.a))+ FILTER z.a = 1",
]


def agree(phi: Formula, S: Stream) -> bool:
    """Asserts that the two say the same; whether they say anything."""
    expected = sorted(Match(max(C), tuple(sorted(C))) for C in naive.complex_events(phi, S))
    assert matches_of(phi, S) == expected, f"{show(phi)} over {S.events}"
    return bool(expected)


@pytest.mark.parametrize("size", sampled([1, 2, 3, 4], [1, 2, 3]))
def test_all_formulas_of_up_to_four_nodes(size: int) -> None:
    random = Random(size)
    answers = sum(agree(phi, stream_of(random, 3)) for phi in of_size(size))
    assert answers > len(of_size(size)) // 10  # to compare empty sets only would show little


@pytest.mark.parametrize("streams", sampled([5, 30], [5]))
@pytest.mark.parametrize("query", CHOSEN)
def test_chosen_formulas(query: str, streams: int) -> None:
    random = Random(query)
    assert sum(agree(parse(query), stream_of(random, 4)) for _ in range(streams)) > 0


@pytest.mark.parametrize("number", sampled([60, 500], [60]))
def test_random_formulas(number: int) -> None:
    """Three variables, well-formed or not, safe or not, with nested strategies and iterations."""
    assert sum(agree(phi, S) for phi, S in cases(2, number)) > number // 5
