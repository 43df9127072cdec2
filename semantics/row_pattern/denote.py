"""The meaning of MATCH_RECOGNIZE and WINDOW: ISO/IEC 9075-2, features R010 and R020.

Letters, here and in every module of this package:
    q  a clause         P  a partition: its rows in order         s  the row at which a match starts, from 0
    p  a pattern        w  a labelling: the labels of the rows s, s + 1, …      r  the row at which a search begins

A pattern denotes, at a row, a sequence of labellings in the order of preferment. A labelling is feasible if each row's
condition is true at the time the row is labelled; the match at a row is the first feasible labelling. In WINDOW a row
has the match at this row, with SEEK at the first row from it on that has one, over the rows of its frame alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, permutations
from typing import TypeAlias, assert_never

from cerify.semantics.errors import IllFormed
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.expressions import Frame, Row, value
from cerify.semantics.row_pattern.reading import RowReading


@dataclass(frozen=True, slots=True)
class Label:
    """The variable of a row, and whether the row is left out of the output."""

    variable: str
    excluded: bool = False


Labelling: TypeAlias = tuple[Label, ...]
Watch: TypeAlias = Callable[[Iterator[Labelling]], Iterator[Labelling]]
"""Passes on labellings, or raises where there are too many."""


@dataclass(frozen=True)
class RowMatch:
    """A match: the row of the partition at which it starts, the labels of its rows, and its number from 1.

    row: the row whose search it ends, with SEEK before the start.
    """

    start: int
    labelling: Labelling
    number: int
    row: int

    @property
    def end(self) -> int:
        """The row after its last one."""
        return self.start + len(self.labelling)


@dataclass(frozen=True)
class Meaning:
    """The labellings of a clause's pattern at a row s of a partition P, in the match of that number.

    visible: the rows that can be labelled and looked at.
    """

    q: MatchRecognize
    P: Sequence[Row]
    s: int
    visible: range
    number: int
    reading: RowReading
    watch: Watch

    def labellings(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        """The feasible labellings that begin with w and go on as p says, in the order of preferment."""
        return self.watch(self.sequence(p, w))

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        match p:
            case rows.Variable(A):
                if self.feasible(longer := (*w, Label(A))):
                    yield longer
            case rows.Empty():
                yield w
            case rows.Anchor(place):
                if self.s + len(w) == (self.visible.start if place == "start" else self.visible.stop):
                    yield w
            case rows.Concatenation(left, right):  # lexicographic
                for u in self.labellings(left, w):
                    yield from self.labellings(right, u)
            case rows.Alternation(left, right):  # one sequence, then the other
                yield from self.labellings(left, w)
                yield from self.labellings(right, w)
            case rows.Permute(parts):  # an alternation of concatenations
                for order in permutations(parts):
                    yield from self.labellings(reduce(rows.Concatenation, order), w)
            case rows.Quantified():
                yield from self.iterations(p, w)
            case rows.Exclusion(inner):
                for u in self.labellings(inner, w):
                    yield w + tuple(replace(label, excluded=True) for label in u[len(w) :])
            case _:
                assert_never(p)

    def iterations(self, p: rows.Quantified, w: Labelling) -> Iterator[Labelling]:
        """At each number of iterations there are two ways on, to stop and to iterate; greedy or not is their order.

        After an iteration of no rows that was not needed there is no other, unless the number is bounded (see
        RowReading). The walk is that of a recursive function, with a stack of its own since a match may be long.
        """
        endless = p.high is None or self.reading.bounded_iterations == "stop"

        def ways(u: Labelling, n: int, last: Labelling | None) -> Iterator[tuple[Labelling, bool]]:
            stop = [(u, True)] if n >= p.low else []
            stuck = endless and u == last and n >= p.low
            more = self.labellings(p.pattern, u) if n != p.high and not stuck else iter(())
            onward = ((v, False) for v in more)
            return chain(onward, stop) if p.greedy else chain(stop, onward)

        path = [(w, ways(w, 0, None))]
        while path:
            u, pending = path[-1]
            v, stops = next(pending, (None, False))
            if v is None:
                path.pop()
            elif stops:
                yield v
            else:
                path.append((v, ways(v, len(path), u)))

    def feasible(self, w: Labelling) -> bool:
        """Whether the condition of the last label is true of its row; without a condition it is, if there is a row."""
        if self.s + len(w) > self.visible.stop:
            return False
        condition = self.q.conditions.get(w[-1].variable)
        return condition is None or value(condition, self.frame(w, len(w))) is True

    def frame(self, w: Labelling, current: int) -> Frame:
        """What expressions look at when the rows of w are labelled, and `current` of them seen."""
        labels = tuple(label.variable for label in w)
        return Frame(self.P, self.visible, self.s, labels, current, self.number, self.q.unions, self.reading)


MatchAt: TypeAlias = Callable[[int, range, int], Labelling | None]
"""The match that starts at a row, over the rows that are visible, and has a number."""


def matches(q: MatchRecognize, P: Sequence[Row], reading: RowReading, watch: Watch) -> Iterator[RowMatch]:
    """The matches in a partition, in order. Raises IllFormed where AFTER MATCH SKIP leads nowhere."""

    def match_at(s: int, visible: range, number: int) -> Labelling | None:
        return next(Meaning(q, P, s, visible, number, reading, watch).labellings(q.pattern, ()), None)

    r, last = 0, 0
    while r < len(P):
        found = searched(q, r, len(P), last, reading, match_at)
        if found is None:
            r += 1
            continue
        yield found
        r, last = resumed(q, found, reading), found.number


def searched(
    q: MatchRecognize, r: int, length: int, last: int, reading: RowReading, match_at: MatchAt
) -> RowMatch | None:
    """What a search at the row r of a partition of that length finds; last: the number of the match before."""
    visible = visible_rows(q, r, length)
    seek = q.window is not None and q.window.seek
    for s in range(r, visible.stop) if seek else (r,):
        if (labelling := match_at(s, visible, last + 1)) is not None:
            unnumbered = not labelling and reading.empty_matches == "unnumbered" and q.window is None
            return RowMatch(s, labelling, last if unnumbered else last + 1, r)
    return None


def visible_rows(q: MatchRecognize, r: int, length: int) -> range:
    """The rows that a search at the row r labels and looks at: of the partition, in WINDOW of the frame of the row."""
    if q.window is None:
        return range(length)
    return range(r, length if q.window.following is None else min(length, r + 1 + q.window.following))


def resumed(q: MatchRecognize, found: RowMatch, reading: RowReading) -> int:
    """The row at which the search goes on after a match. Raises IllFormed where AFTER MATCH SKIP leads nowhere."""
    if not found.labelling or q.skip.to == "next row":
        return found.row + 1
    if q.skip.to == "past last row" or q.skip.variable is None:
        return found.end
    wanted = q.unions[q.skip.variable]
    places = [found.start + k for k, label in enumerate(found.labelling) if label.variable in wanted]
    to = None if not places else places[0] if q.skip.to == "first" else places[-1]
    if to is None:
        if reading.skip_to_nothing == "next_row":
            return found.row + 1
        raise IllFormed(f"no row of match {found.number} is labelled {q.skip.variable}, to skip to", q.skip.span)
    if to == found.start:
        if reading.skip_to_first == "next_row":
            return found.row + 1
        raise IllFormed(
            f"the first row of match {found.number} is the one to skip to: it would match again", q.skip.span
        )
    return to
