"""Where AFTER MATCH SKIP TO can fail: what the pattern alone says, and the definition on all short tables."""

from itertools import product

import pytest

from cerify.semantics.errors import IllFormed
from cerify.semantics.row_pattern.check import skip_failures
from cerify.semantics.row_pattern.parse import parse
from proofs_tests.unit.semantics.row_pattern.tables import found, table

NOTHING = "a match may have no row of B to skip to"
FIRST = "the row of B to skip to may be the first one of the match"
PATTERNS = {
    "A B": ((), ()),
    "A B?": ((NOTHING,), (NOTHING,)),
    "B A": ((FIRST,), (FIRST,)),
    "A* B": ((FIRST,), (FIRST,)),
    "A | B B": ((NOTHING, FIRST), (NOTHING,)),
    "B B": ((FIRST,), ()),
    "B{2,3} A": ((FIRST,), ()),
    "(A B){2,}": ((), ()),
    "PERMUTE(A, B)": ((FIRST,), (FIRST,)),
    "{- A -} (B | ()) $": ((NOTHING,), (NOTHING,)),
    "(A | B)+": ((NOTHING, FIRST), (NOTHING, FIRST)),
    "A+ B{3}": ((), ()),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize(("skip", "place"), [("TO FIRST B", 0), ("TO LAST B", 1)])
def test_what_can_fail_fails_on_some_table(pattern: str, skip: str, place: int) -> None:
    text = f"MATCH_RECOGNIZE (AFTER MATCH SKIP {skip} PATTERN ({pattern}) DEFINE A AS x = 1, B AS x = 2)"
    assert skip_failures(parse(text)) == list(PATTERNS[pattern][place])
    failed = False
    for length in range(5):
        for values in product((1, 2), repeat=length):
            try:
                found(text, table("x", *((value,) for value in values)))
            except IllFormed:
                failed = True
    assert failed == bool(PATTERNS[pattern][place])


def test_other_skips_do_not_fail() -> None:
    assert skip_failures(parse("MATCH_RECOGNIZE (AFTER MATCH SKIP TO NEXT ROW PATTERN (A B))")) == []
