"""Queries for bounded iteration, non-contiguous and contiguous."""

from __future__ import annotations

from proofs_tests.tools.suites.cel.queries.group import Group, each

SHAPES = (
    "A{n}{{1}}", "A{n}{{2}}", "A{n}{{3}}", "A{n}{{1,2}}", "A{n}{{2,3}}", "A{n}{{1,3}}", "A{n}{{2,}}", "A{n}{{1,}}",
    "A{n}{{2}} ; B", "A ; B{n}{{1,2}}", "B{n}{{2}} : A", "(A OR B){n}{{2}}", "(A ; B){n}{{2}}", "(A : B){n}{{1,2}}",
    "A+{n}{{2}}", "(A{n}{{2}})+", "A{n}{{2}} OR B", "(A{n}{{1,2}}){n}{{2}}", "NXT(A{n}{{1,2}} ; B)",
    "MAX(A{n}{{1,2}})", "A{n}{{2,}} UNLESS B", "START(A{n}{{2}})",
)  # fmt: skip

ROUNDS: tuple[Group, ...] = tuple(
    group
    for feature, n in (("repeat", ""), ("crepeat", ":"))
    for group in (
        Group(feature, each(*SHAPES, n=n), types=("A", "B")),
        Group(feature, each("(A IN X){n}{{2}} ; A", "(A{n}{{1,2}}) IN X", n=n), types=("A", "B"), output="valuations"),
    )
)
