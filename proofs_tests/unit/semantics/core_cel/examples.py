"""The running examples of cep17 in text, and what the paper says they output on the stream of Figure 1 of tods21."""

from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.events import Stream
from proofs_tests.support import stream

FIRE = "FILTER (x.tmp > 40 ∧ y.hum <= 25 ∧ x.id = 0 ∧ y.id = 0)"
RISE = "x.hum < 30 ∧ z.hum > 60"

EXAMPLES: dict[str, tuple[str, dict[int, set[tuple[int, ...]]]]] = {
    "phi1": (f"(T AS x ; H AS y) {FIRE}", {2: {(1, 2)}, 8: {(1, 8), (5, 8)}}),
    "phi2": (
        f"((T AS x ; H AS y) OR (H AS y ; T AS x)) {FIRE}",
        {2: {(1, 2)}, 5: {(2, 5)}, 8: {(1, 8), (5, 8)}},
    ),
    "phi3": (
        f"(H AS x ; (T AS y FILTER y.id = 1)+ ; H AS z) FILTER ({RISE} ∧ x.id = 1 ∧ z.id = 1)",
        {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}},
    ),
    "correlated": (
        f"(H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER ({RISE} ∧ x.id = z.id)",
        {7: {(3, 4, 6, 7), (3, 4, 7), (3, 6, 7)}},
    ),
    "not well-formed": ("H AS x FILTER y.tmp > 40", {n: {(n,)} for n in (0, 2, 3, 7, 8)}),
    "unsatisfiable": ("T AS x ; T AS x", {}),
    "conditional": (
        "T AS x ; ((T AS y FILTER x.tmp >= 40) OR (H AS y FILTER x.tmp < 40))",
        {4: {(1, 4)}, 5: {(1, 5), (4, 5)}, 6: {(1, 6), (4, 6), (5, 6)}, 7: {(6, 7)}, 8: {(6, 8)}},
    ),
}


def by_position(query: str, S: Stream | str) -> dict[int, set[tuple[int, ...]]]:
    """The complex events of a core-CEL query, by their last position."""
    found: dict[int, set[tuple[int, ...]]] = {}
    for match in matches_of(parse(query), stream(S) if isinstance(S, str) else S):
        found.setdefault(match.at, set()).add(match.events)
    return found


def events(query: str, S: Stream | str) -> set[tuple[int, ...]]:
    """The complex events of a core-CEL query."""
    return set[tuple[int, ...]]().union(*by_position(query, S).values())
