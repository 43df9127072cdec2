"""Mutants that get patterns wrong: variables, concatenation, alternation, quantifiers, PERMUTE, exclusion, anchors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, islice, permutations
from typing import Any

from cerify.hypotheses.row_pattern import Departure, LookingMeaning, LookingOutput, in_pattern
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.denote import Labelling
from cerify.semantics.row_pattern.interpreter import OutputRow
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowDefinition
from proofs_tests.tools.mutants.row_pattern.model import wrong

Sequences = Callable[[LookingMeaning, Any, Labelling], Iterator[Labelling]]
RIGHT = LookingMeaning.sequence


def means(kind: type[Any], other: Sequences) -> Departure:
    """Another clause for the patterns of one kind."""

    class Other(LookingMeaning):
        def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
            return other(self, p, w) if isinstance(p, kind) else RIGHT(self, p, w)

    return Departure(meaning=Other)


def reads(kind: type[Any], other: Callable[[Any], rows.Pattern], when: Callable[[Any], bool] = bool) -> Departure:
    """Another pattern in place of each one of a kind of which `when` is true."""
    return Departure(clause=in_pattern(lambda p: other(p) if isinstance(p, kind) and when(p) else p))


def bounds(low: int, high: int | None) -> Callable[[Any], bool]:
    """Whether a quantifier has these bounds."""
    return lambda p: (p.low, p.high) == (low, high)


def to(low: int, high: int | None) -> Callable[[Any], rows.Pattern]:
    """The quantifier with these bounds."""
    return lambda p: replace(p, low=low, high=high)


def undefined_is_false(q: MatchRecognize) -> MatchRecognize:
    more = tuple(RowDefinition(A, rows.RowConstant(False)) for A in q.primary if A not in q.conditions)
    return replace(q, define=(*q.define, *more))


def possessive(self: LookingMeaning, p: Any, w: Labelling) -> Iterator[Labelling]:
    return islice(RIGHT(self, p, w), 1)


def committed(self: LookingMeaning, p: rows.Alternation, w: Labelling) -> Iterator[Labelling]:
    left = self.labellings(p.left, w)
    found = next(left, None)
    return chain([found], left) if found is not None else self.labellings(p.right, w)


def by_length(reverse: bool) -> Sequences:
    return lambda self, p, w: iter(sorted(RIGHT(self, p, w), key=len, reverse=reverse))


def of_last(p: rows.Quantified) -> rows.Pattern:
    """A quantifier of a group that is one of its last part."""
    inner = p.pattern
    return replace(inner, right=replace(p, pattern=inner.right)) if isinstance(inner, rows.RowConcatenation) else p


def same_alternative(p: rows.Quantified) -> rows.Pattern:
    """In all iterations the same alternative."""
    inner = p.pattern
    if not isinstance(inner, rows.Alternation):
        return p
    return rows.Alternation(replace(p, pattern=inner.left), replace(p, pattern=inner.right))


def with_rows(self: LookingMeaning, p: rows.Quantified, w: Labelling) -> Iterator[Labelling]:
    """At least one iteration takes a row, if one is needed."""
    return (u for u in RIGHT(self, p, w) if len(u) > len(w) or p.low == 0)


def one_kind(greedy: bool, *which: tuple[int, int | None]) -> Departure:
    """Quantifiers of these bounds are greedy, or reluctant, whatever is written."""
    return reads(rows.Quantified, lambda p: replace(p, greedy=greedy), lambda p: (p.low, p.high) in which)


def inherited(p: rows.Quantified) -> rows.Pattern:
    """What is inside a reluctant quantifier is reluctant."""
    if p.greedy:
        return p
    made = in_pattern(lambda n: replace(n, greedy=False) if isinstance(n, rows.Quantified) else n)
    return replace(p, pattern=made(MatchRecognize(p.pattern)).pattern)


def orders(some: Callable[[list[Sequence[rows.Pattern]]], Sequence[Sequence[rows.Pattern]]]) -> Departure:
    """PERMUTE with these orders of its parts, in this order of preferment."""

    def other(p: rows.Permute) -> rows.Pattern:
        listed = some(list(permutations(p.parts)))
        return reduce(rows.Alternation, [reduce(rows.RowConcatenation, order) for order in listed])

    return reads(rows.Permute, other)


def shows(excluded: Callable[[NumberedMatch], Sequence[int]]) -> Departure:
    """Other rows are left out."""

    class Other(LookingOutput):
        def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
            left = tuple(excluded(match)) if match.excluded else ()
            return super().measured(replace(match, excluded=left))

    return Departure(output=Other)


def at_most(number: int) -> Departure:
    """Longer labellings are not looked at."""
    return Departure(preferred=lambda found: next((w for w in found if len(w) <= number), None))


def _rotations(orders: list[Any]) -> list[Any]:
    parts = orders[0]
    return [parts[n:] + parts[:n] for n in range(len(parts))]


PATTERNS = (
    *wrong("variable", "", {
        "one without a condition takes no row": Departure(clause=undefined_is_false),
        "conditions are ignored": Departure(clause=lambda q: replace(q, define=())),
        "the last condition is ignored": Departure(clause=lambda q: replace(q, define=q.define[:-1])),
        "the first condition is ignored": Departure(clause=lambda q: replace(q, define=q.define[1:])),
    }),
    *wrong("concatenation", "concatenation", {
        "in any order": reads(rows.RowConcatenation, lambda p: rows.Permute((p.left, p.right))),
        "the second part is optional": reads(
            rows.RowConcatenation, lambda p: rows.RowConcatenation(p.left, rows.Quantified(p.right, 0, 1))
        ),
        "the first part is optional": reads(
            rows.RowConcatenation, lambda p: rows.RowConcatenation(rows.Quantified(p.left, 0, 1), p.right)
        ),
        "the longest first part is preferred": means(rows.RowConcatenation, lambda self, p, w: (
            v for u in sorted(self.labellings(p.left, w), key=len, reverse=True) for v in self.labellings(p.right, u)
        )),
        "the longest of both is preferred": means(rows.RowConcatenation, by_length(True)),
        "the shortest of both is preferred": means(rows.RowConcatenation, by_length(False)),
    }),
    *wrong("alternation", "alternation", {
        "the first alone": reads(rows.Alternation, lambda p: p.left),
        "the last alone": reads(rows.Alternation, lambda p: p.right),
        "both, one after the other": reads(rows.Alternation, lambda p: rows.RowConcatenation(p.left, p.right)),
        "committed to one that can be taken": means(rows.Alternation, committed),
        "the shortest is preferred": means(rows.Alternation, by_length(False)),
    }),
    *wrong("quantified", "quantified", {
        "* is +": reads(rows.Quantified, to(1, None), bounds(0, None)),
        "* is ?": reads(rows.Quantified, to(0, 1), bounds(0, None)),
        "+ is *": reads(rows.Quantified, to(0, None), bounds(1, None)),
        "+ is one": reads(rows.Quantified, to(1, 1), bounds(1, None)),
        "? is one": reads(rows.Quantified, to(1, 1), bounds(0, 1)),
        "? is none": reads(rows.Quantified, to(0, 0), bounds(0, 1)),
        "? is *": reads(rows.Quantified, to(0, None), bounds(0, 1)),
        "{n} is {n,}": reads(rows.Quantified, lambda p: replace(p, high=None), lambda p: p.low == p.high > 0),
        "{n} is {0,n}": reads(rows.Quantified, lambda p: replace(p, low=0), lambda p: p.low == p.high),
        "{n,} is {n}": reads(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: p.low > 1 and p.high is None),
        "{n,} is +": reads(rows.Quantified, to(1, None), lambda p: p.low > 1 and p.high is None),
        "{n,m} is {n}": reads(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: 0 < p.low < (p.high or 0)),
        "{n,m} is {m}": reads(rows.Quantified, lambda p: replace(p, low=p.high), lambda p: 0 < p.low < (p.high or 0)),
        "{n,m} is {,m}": reads(rows.Quantified, lambda p: replace(p, low=0), lambda p: 0 < p.low < (p.high or 0)),
        "{,m} is {1,m}": reads(
            rows.Quantified, lambda p: replace(p, low=1), lambda p: p.low == 0 and (p.high or 0) > 1
        ),
        "one iteration more": reads(rows.Quantified, lambda p: replace(p, high=p.high + 1), lambda p: p.high),
        "one iteration fewer": reads(
            rows.Quantified, lambda p: replace(p, high=p.high - 1), lambda p: (p.high or 0) > p.low
        ),
        "the least number is one more": reads(
            rows.Quantified, lambda p: replace(p, low=p.low + 1), lambda p: p.low and p.low != p.high
        ),
        "nothing is given back": means(rows.Quantified, possessive),
        "the longest is preferred": means(rows.Quantified, by_length(True)),
        "of a group, of its last part": reads(rows.Quantified, of_last),
        "the same alternative in all iterations": reads(rows.Quantified, same_alternative),
        "at most three iterations": reads(
            rows.Quantified, lambda p: replace(p, high=3), lambda p: p.high is None and p.low < 4
        ),
        "one in another is taken for it": reads(
            rows.Quantified,
            lambda p: p.pattern if isinstance(p.pattern, rows.Quantified) else p,
        ),
    }),
    *wrong("reluctant", "quantified", {
        "all are reluctant": reads(rows.Quantified, lambda p: replace(p, greedy=False)),
        "all are the other": reads(rows.Quantified, lambda p: replace(p, greedy=not p.greedy)),
        "*? is *": one_kind(True, (0, None)),
        "+? is +": one_kind(True, (1, None)),
        "?? is ?": one_kind(True, (0, 1)),
        "* is *?": one_kind(False, (0, None)),
        "+ is +?": one_kind(False, (1, None)),
        "? is ??": one_kind(False, (0, 1)),
        "bounded ones are greedy": reads(
            rows.Quantified, lambda p: replace(p, greedy=True), lambda p: p.high not in (None, 1)
        ),
        "it takes the least number": reads(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: not p.greedy),
        "what is inside is reluctant": reads(rows.Quantified, inherited),
        "it is reluctant in its first iteration alone": reads(
            rows.Quantified,
            lambda p: rows.Quantified(rows.RowConcatenation(p.pattern, replace(p, greedy=True)), 0, 1, False),
            lambda p: not p.greedy and (p.low, p.high) == (0, None),
        ),
    }),
    *wrong("empty", "", {
        "() takes nothing and fails": means(rows.Empty, lambda self, p, w: iter(())),
        "an iteration takes a row": means(rows.Quantified, with_rows),
        "an optional part that is empty is left out": means(
            rows.Quantified, lambda self, p, w: (u for u in RIGHT(self, p, w) if len(u) > len(w))
        ),
        "an empty match is no match": Departure(preferred=lambda found: next(filter(None, found), None)),
        "a non-empty match is preferred": Departure(
            preferred=lambda found: next(filter(None, listed := list(found)), listed[0] if listed else None)
        ),
    }),
    *wrong("anchor", "anchor", {
        "^ is ignored": reads(rows.Anchor, lambda p: rows.Empty(), lambda p: p.place == "start"),
        "$ is ignored": reads(rows.Anchor, lambda p: rows.Empty(), lambda p: p.place == "end"),
        "exchanged": reads(rows.Anchor, lambda p: rows.Anchor("end" if p.place == "start" else "start")),
        "$ is at the last row": means(rows.Anchor, lambda self, p, w: (
            iter((w,)) if p.place == "end" and self.s + len(w) == len(self.P) - 1 else RIGHT(self, p, w)
        )),
        "never": means(rows.Anchor, lambda self, p, w: iter(())),
        "^ is where the match begins": means(rows.Anchor, lambda self, p, w: (
            iter((w,)) if p.place == "start" and not w else RIGHT(self, p, w)
        )),
    }),
    *wrong("permute", "permute", {
        "as it is written alone": orders(lambda listed: listed[:1]),
        "as it is written or the reverse": orders(lambda listed: [listed[0], listed[0][::-1]]),
        "rotations": orders(_rotations),
        "the first part is first": orders(lambda listed: [one for one in listed if one[0] == listed[0][0]]),
        "the last part is last": orders(lambda listed: [one for one in listed if one[-1] == listed[0][-1]]),
        "the last part varies last": orders(
            lambda listed: sorted(listed, key=lambda one: [listed[0].index(p) for p in one[::-1]])
        ),
        "each part may be left out": reads(
            rows.Permute, lambda p: rows.Permute(tuple(rows.Quantified(part, 0, 1) for part in p.parts))
        ),
        "the longest order is preferred": means(rows.Permute, by_length(True)),
        "one part is enough": reads(rows.Permute, lambda p: reduce(rows.Alternation, p.parts)),
    }),
    *wrong("exclusion", "exclusion", {
        "it matches nothing": reads(rows.Exclusion, lambda p: rows.Empty()),
        "the rows outside are left out": shows(lambda m: [p for p in m.events if p not in m.excluded]),
        "all rows after it too": shows(lambda m: m.events[m.events.index(m.excluded[0]) :]),
        "its first row alone": shows(lambda m: m.excluded[:1]),
        "its last row alone": shows(lambda m: m.excluded[-1:]),
        "the first row of the match": shows(lambda m: m.events[:1]),
        "it is optional": reads(rows.Exclusion, lambda p: rows.Quantified(p, 0, 1)),
    }),
    *wrong("long", "", {
        "no match has more than 4 rows": at_most(4),
        "no match has more than 8 rows": at_most(8),
        "no match has more than 16 rows": at_most(16),
    }),
)  # fmt: skip
