"""The meaning of MATCH_RECOGNIZE and WINDOW: ISO/IEC 9075-2, features R010 and R020.

Letters, here and in every module of this package:
    q  a clause         P  a partition: its rows in order         s  the row at which a match starts, from 0
    p  a pattern        w  a labelling: the labels of the rows s, s + 1, …      r  the row at which a search begins

A pattern denotes, at a row, a sequence of labellings in the order of preference. A labelling is feasible if each row's
condition is true at the time the row is labelled; the match at a row is the first feasible labelling, or the first of
the longest ones if the clause asks for the longest match. In WINDOW each row has a frame, and a search at the row sees
only the rows of the frame. The search finds the match at this row; with SEEK, it tries the following rows too until one
has a match.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import chain, permutations
from typing import TypeAlias, assert_never, cast

from cerify.semantics.errors import IllFormed
from cerify.semantics.readings import RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import Nullable, aggregated, collected, combined
from cerify.semantics.row_pattern.syntax import MatchRecognize
from cerify.semantics.values import Value

# ---------------------------------------------------------------------------------------------------------------------
# The value of an expression in DEFINE or MEASURES: ISO/IEC 9075-2, feature R010.
#
# More letters:
#     e  an expression     f  a frame: what is known of a match     r  a row of the partition, from 0     A  a variable

Row: TypeAlias = Mapping[str, Value]
"""The values of a row's columns that are not NULL."""


@dataclass(frozen=True)
class Frame:
    """The rows and labels over which an expression is evaluated.

    partition: the partition's rows. visible: the rows to which PREV and NEXT can lead. start: the row at which the
    match starts. labels: the variables of the rows from start on, as far as they are labelled. current: how many labels
    RUNNING sees; the last of them is the current row's. number: the match's number. unions: the primary variables that
    each variable stands for.
    """

    partition: Sequence[Row]
    visible: range
    start: int
    labels: tuple[str, ...]
    current: int
    number: int
    unions: Mapping[str, frozenset[str]]
    reading: RowReading

    def rows_of(self, A: str | None, semantics: rows.Semantics = "RUNNING") -> list[int]:
        """Return the rows of a variable, or of the whole match if A is None, in order.

        With RUNNING, return only those up to the current row.
        """
        seen = self.labels if semantics == "FINAL" else self.labels[: self.current]
        return [self.start + k for k, label in enumerate(seen) if A is None or label in self.unions[A]]


def value(e: rows.Expression, f: Frame, r: int | None = None) -> Nullable:
    """Return the value of an expression. r: the row in which a navigation or an aggregate evaluates it, or None."""
    match e:
        case rows.RowColumn(name, A):  # A.x outside of a navigation is LAST(A.x)
            if r is None:
                r = _last(f, A)
            return None if r is None else f.partition[r].get(name)
        case rows.Classifier(A):
            if r is None:
                r = _last(f, A)
            return f.labels[r - f.start] if r is not None and 0 <= r - f.start < len(f.labels) else None
        case rows.RowMatchNumber():
            return f.number
        case rows.Physical(function, argument, offset):  # PREV and NEXT may leave the match, within the partition
            # PREV(A.x) without FIRST or LAST starts at the last row of A, as A.x alone does.
            inner = argument if isinstance(argument, rows.Logical) else rows.Logical("LAST", argument)
            r = row_of(inner, f)
            if r is None:
                return None
            r += offset if function == "NEXT" else -offset
            return value(inner.argument, f, r) if r in f.visible else None
        case rows.Logical(_, argument):
            r = row_of(e, f)
            return None if r is None else value(argument, f, r)
        case rows.Count(A, semantics):
            return len(f.rows_of(A, semantics))
        case rows.Collection(_, argument, semantics):
            its = f.rows_of(rows.variable_of(argument), semantics)
            return cast("Nullable", collected(e, [[value(one, f, r) for one in (argument, *e.order)] for r in its]))
        case rows.RowAggregate(function, argument, semantics):
            found = [value(argument, f, r) for r in f.rows_of(rows.variable_of(argument), semantics)]
            return aggregated(function, found)
        case (
            rows.RowConstant()
            | rows.Negative()
            | rows.Sum()
            | rows.Product()
            | rows.Absolute()
            | rows.Cast()
            | rows.Coalesce()
            | rows.RowCall()
            | rows.Extract()
            | rows.RowCase()
            | rows.RowComparison()
            | rows.IsNull()
            | rows.RowBetween()
            | rows.RowIn()
            | rows.RowLike()
            | rows.RowNot()
            | rows.RowAnd()
            | rows.RowOr()
        ):
            return combined(e, [value(operand, f, r) for operand in rows.below(e)], f.reading)
        case _:
            assert_never(e)  # fmt: skip


def row_of(e: rows.Logical, f: Frame) -> int | None:
    """Return the row at which FIRST or LAST looks; None if there is none."""
    found = f.rows_of(rows.variable_of(e.argument), e.semantics)
    if e.offset >= len(found):
        return None
    return found[e.offset] if e.function == "FIRST" else found[-1 - e.offset]


def _last(f: Frame, A: str | None) -> int | None:
    found = f.rows_of(A)
    return found[-1] if found else None


@dataclass(frozen=True, slots=True)
class RowLabel:
    """The variable of a row, and whether the row is left out of the output."""

    variable: str
    excluded: bool = False


Labelling: TypeAlias = tuple[RowLabel, ...]
Watch: TypeAlias = Callable[[Iterator[Labelling]], Iterator[Labelling]]
"""A function that yields the given labellings, and raises BudgetExceeded if there are too many."""


@dataclass(frozen=True)
class RowMatch:
    """A match: the row of the partition at which it starts, the labels of its rows, and its number from 1.

    row: the row at which the search for it began; with SEEK it may be before the start.
    """

    start: int
    labelling: Labelling
    number: int
    row: int

    @property
    def end(self) -> int:
        """Return the row after the last row of the match."""
        return self.start + len(self.labelling)


@dataclass(frozen=True)
class Meaning:
    """The labellings of a clause's pattern at a row s of a partition P, for the match with this number.

    visible: the rows that can be labelled, and to which PREV and NEXT can lead.
    """

    q: MatchRecognize
    P: Sequence[Row]
    s: int
    visible: range
    number: int
    reading: RowReading
    watch: Watch

    def labellings(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        """Iterate over the feasible labellings that extend w by a labelling of p, the preferred ones first."""
        return self.watch(self.sequence(p, w))

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        match p:
            case rows.RowVariable(A):
                if self.feasible(longer := (*w, RowLabel(A))):
                    yield longer
            case rows.Empty():
                yield w
            case rows.Anchor(place):
                if self.s + len(w) == (self.visible.start if place == "start" else self.visible.stop):
                    yield w
            case rows.RowConcatenation(left, right):  # lexicographic
                # Nested generators keep the order of preference, and are lazy: often only the first labelling is
                # needed.
                for u in self.labellings(left, w):
                    yield from self.labellings(right, u)
            case rows.Alternation(left, right):  # one sequence, then the other
                yield from self.labellings(left, w)
                yield from self.labellings(right, w)
            case rows.Permute(parts):  # an alternation of concatenations
                for order in permutations(parts):
                    yield from self.labellings(reduce(rows.RowConcatenation, order), w)
            case rows.Quantified():
                yield from self.iterations(p, w)
            case rows.Exclusion(inner):
                for u in self.labellings(inner, w):
                    yield w + tuple(replace(label, excluded=True) for label in u[len(w) :])
            case _:
                assert_never(p)

    def iterations(self, p: rows.Quantified, w: Labelling) -> Iterator[Labelling]:
        """Yield the labellings that extend w by iterations of p, the preferred ones first.

        Once the least number of iterations is reached, an iteration without rows is the last one. If p has an upper
        bound, this depends on `RowReading.bounded_iterations`. The stack is explicit, because a match may be too long
        for Python's.
        """
        endless = p.high is None or self.reading.bounded_iterations == "stop"

        def ways(u: Labelling, n: int, last: Labelling | None) -> Iterator[tuple[Labelling, bool]]:
            stop = [(u, True)] if n >= p.low else []
            # Without this, (A*)* would go on with iterations that label no row and would never end.
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
                # len(path) is the number of iterations so far, since each has one entry on the path.
                path.append((v, ways(v, len(path), u)))

    def feasible(self, w: Labelling) -> bool:
        """Return whether the last label of w fits: its row exists, and satisfies the variable's condition."""
        if self.s + len(w) > self.visible.stop:
            return False
        condition = self.q.conditions.get(w[-1].variable)
        # `is True`: a condition with NULL is unknown, which does not label the row.
        return condition is None or value(condition, self.frame(w, len(w))) is True

    def frame(self, w: Labelling, current: int) -> Frame:
        """Return the frame with the labels of w, in which RUNNING sees the first `current` labels."""
        labels = tuple(label.variable for label in w)
        return Frame(self.P, self.visible, self.s, labels, current, self.number, self.q.unions, self.reading)


def chosen_labelling(q: MatchRecognize, feasible: Iterator[Labelling]) -> Labelling | None:
    """Return the first of the labellings at a row, or the first of the longest ones; None if there is none."""
    # `max` returns the first of several equal ones, so preference decides among the longest.
    return max(feasible, key=len, default=None) if q.longest else next(feasible, None)


MatchAt: TypeAlias = Callable[[int, range, int], Labelling | None]
"""Returns the labelling that starts at a row, given the visible rows and the number of the match."""


def matches(q: MatchRecognize, P: Sequence[Row], reading: RowReading, watch: Watch) -> Iterator[RowMatch]:
    """Yield the matches in a partition, in order. Raises IllFormed if AFTER MATCH SKIP has no row to skip to."""

    def match_at(s: int, visible: range, number: int) -> Labelling | None:
        feasible = Meaning(q, P, s, visible, number, reading, watch).labellings(q.pattern, ())
        return chosen_labelling(q, feasible)

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
    """Return the match that a search at row r of a partition finds; None if there is none.

    length: the number of the partition's rows. last: the number of the previous match.
    """
    visible = visible_rows(q, r, length)
    seek = q.window is not None and q.window.seek
    for s in range(r, visible.stop) if seek else (r,):
        if (labelling := match_at(s, visible, last + 1)) is not None:
            unnumbered = not labelling and reading.empty_matches == "unnumbered" and q.window is None
            return RowMatch(s, labelling, last if unnumbered else last + 1, r)
    return None


def visible_rows(q: MatchRecognize, r: int, length: int) -> range:
    """Return the rows that a search at row r can label or look at: all of the partition, or in WINDOW the row's
    frame.
    """
    if q.window is None:
        return range(length)
    return range(r, length if q.window.following is None else min(length, r + 1 + q.window.following))


def resumed(q: MatchRecognize, found: RowMatch, reading: RowReading) -> int:
    """Return the row at which the search continues after a match.

    Raises IllFormed if AFTER MATCH SKIP has no row to skip to.
    """
    # After an empty match every SKIP goes one row on: it has no last row to skip past.
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
        raise IllFormed(
            f"AFTER MATCH SKIP leads to {q.skip.variable}, but match {found.number} has no row of it",
            q.skip.span,
        )
    if to == found.start:
        if reading.skip_to_first == "next_row":
            return found.row + 1
        raise IllFormed(
            f"AFTER MATCH SKIP leads back to the first row of match {found.number}, which would match again and again",
            q.skip.span,
        )
    return to


# ---------------------------------------------------------------------------------------------------------------------
# The search for a match by the definition, with every attempt to label a row.


@dataclass(frozen=True)
class LabelAttempt:
    """An attempt to label a row.

    labels: the labels up to and including this row's. outcome: whether the row's condition is true; None for unknown.
    there: whether there is such a row.
    """

    labels: tuple[str, ...]
    outcome: bool | None
    there: bool  # whether there is a row


@dataclass(frozen=True)
class Traced(Meaning):
    """Same as Meaning, but records all attempts to label a row in `attempts`."""

    attempts: list[LabelAttempt] = field(default_factory=list)

    def feasible(self, w: Labelling) -> bool:
        found = super().feasible(w)
        there = self.s + len(w) <= self.visible.stop
        condition = self.q.conditions.get(w[-1].variable)
        known = found if found or not there or condition is None else value(condition, self.frame(w, len(w)))
        outcome = known if isinstance(known, bool) else None
        self.attempts.append(LabelAttempt(tuple(label.variable for label in w), outcome, there))
        return found
