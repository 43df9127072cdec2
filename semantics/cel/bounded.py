"""Bounded iteration, a derived operator of CEL: docs/decisions/bounded-iteration.md."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, IllFormed

MOST_NODES = 10_000
"""The most nodes that the expansion of a bounded iteration may have."""


class Repeat(cel.Derived):
    """phi{n,m}: from n to m rounds of phi, phi{n,}: n rounds or more (most is None), phi{n}: n rounds.

    With k rounds it is phi ; ... ; phi. Raises IllFormed where n is less than 1, or m less than n.
    """

    least: int
    most: int | None

    def __post_init__(self) -> None:
        if self.least < 1 or (self.most is not None and self.most < self.least):
            raise IllFormed(
                f"{self.bounds} is no range of numbers of rounds: write {{n}}, {{n,}} or {{n,m}} with 1 <= n <= m; "
                "no rounds at all would be a match without events",
                self.span,
            )

    @property
    def bounds(self) -> str:
        """The numbers as they are written."""
        if self.most is None:
            return f"{self.least},"
        return f"{self.least}" if self.most == self.least else f"{self.least},{self.most}"

    def expand(self) -> cel.Formula:
        return self._rounds(cel.Seq, cel.Plus)

    def _rounds(self, seq: type[cel.Seq | cel.ContiguousSeq], plus: type[cel.Plus | cel.ContiguousPlus]) -> cel.Formula:
        """The rounds put together by halves, so that the formula is not nested deeply; equal parts are one object."""
        more = 0 if self.most is None else self.most - self.least
        if (self.least + (more + 1) * (1 + more.bit_length())) * (cel.size(cel.expanded(self.phi)) + 1) > MOST_NODES:
            raise BudgetExceeded(
                f"{{{self.bounds}}} stands for a formula of more than {MOST_NODES} nodes; ask for fewer rounds",
                self.span,
            )

        @cache
        def exactly(n: int) -> cel.Formula:
            return self.phi if n == 1 else seq(exactly(n // 2), exactly(n - n // 2), span=self.span)

        @cache
        def at_most(n: int) -> cel.Formula:
            if n == 1:
                return self.phi
            half = n // 2
            rest = seq(exactly(half), at_most(n - half), span=self.span)
            return cel.Or(at_most(half), rest, span=self.span)

        last = plus(self.phi, span=self.span) if self.most is None else at_most(more + 1)
        return last if self.least == 1 else seq(exactly(self.least - 1), last, span=self.span)

    def simpler(self) -> Iterator[cel.Formula]:
        if self.most is None:
            yield type(self)(self.phi, self.least, self.least)
        for n in {1, self.least // 2, self.least - 1} - {0, self.least}:
            yield type(self)(self.phi, n, self.most)
        for m in () if self.most is None else {self.least, self.most - 1} - {self.least - 1, self.most}:
            yield type(self)(self.phi, self.least, m)

    def load(self) -> int:
        return self.least + (self.least + 1 if self.most is None else self.most)


class ContiguousRepeat(Repeat):
    """phi:{n,m}: as phi{n,m}, with rounds next to each other: phi : ... : phi."""

    def expand(self) -> cel.Formula:
        return self._rounds(cel.ContiguousSeq, cel.ContiguousPlus)
