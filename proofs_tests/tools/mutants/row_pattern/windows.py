"""Mutants that get WINDOW wrong: the frame of a row, SEEK, and where the search goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from cerify.hypotheses.row_pattern import Departure, Looked, LookingOutput, in_the_partition, in_window
from cerify.semantics.row_pattern import denote
from cerify.semantics.row_pattern.denote import Frame, MatchAt, RowMatch
from cerify.semantics.row_pattern.interpreter import OutputRow
from cerify.semantics.row_pattern.scalars import NumberedMatch, RowReading
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowWindow
from proofs_tests.tools.mutants.row_pattern.model import wrong


def framed(other: Callable[[int], int | None], seek: bool | None = None) -> Departure:
    """Another end of frames that have one; with `seek` of those with SEEK, or without it, alone."""

    def changed(q: MatchRecognize) -> MatchRecognize:
        if q.window is None or q.window.following is None or seek not in (None, q.window.seek):
            return q
        return in_window(q, following=other(q.window.following))

    return Departure(clause=changed)


def sees(visible: Callable[[Frame], range]) -> Departure:
    """PREV and NEXT see other rows."""
    looked: Looked = lambda f, table, start: replace(f, visible=visible(f))  # noqa: E731
    return Departure(looks=looked, shows=looked)


def searches(
    starts: Callable[[int, range], Iterable[int]],
    row: Callable[[int, int], int] = lambda r, s: r,
    frame: Callable[[int, int], int] = lambda r, s: r,
    length: int = 0,
) -> Departure:
    """SEEK looks at these rows of a frame, and takes the first match of at least that length.

    row: the row that has the match found at s from r. frame: the row whose frame it is in.
    """

    def searched(
        q: MatchRecognize, r: int, end: int, last: int, reading: RowReading, match_at: MatchAt
    ) -> RowMatch | None:
        if q.window is None or not q.window.seek:
            return denote.searched(q, r, end, last, reading, match_at)
        for s in starts(r, denote.visible_rows(q, r, end)):
            labelling = match_at(s, denote.visible_rows(q, frame(r, s), end), last + 1)
            if labelling is not None and len(labelling) >= length:
                return RowMatch(s, labelling, last + 1, row(r, s))
        return None

    return Departure(searched=searched)


def goes_on(row: Callable[[MatchRecognize, RowMatch, int], int]) -> Departure:
    """After a match in WINDOW the search goes on at another row after the one that has the match."""

    def resumed(q: MatchRecognize, found: RowMatch, reading: RowReading) -> int:
        right = denote.resumed(q, found, reading)
        return right if q.window is None else max(found.row + 1, row(q, found, right))

    return Departure(resumed=resumed)


class FirstRowOutput(LookingOutput):
    """Measures are of the first row of the match."""

    def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
        if self.q.window is None or not match.events:
            return super().measured(match)
        first = replace(self.clause, rows="all")
        shown = LookingOutput(first, self.S, self.reading, self.looks, self.parts).measured(match)
        return iter([next(iter(shown))])


def past_the_frame(q: MatchRecognize, found: RowMatch, right: int) -> int:
    window = q.window or RowWindow()
    return right if window.following is None else found.row + window.following + 1


WINDOWS = (
    *wrong("window", "window", {
        "the frame has a row less": framed(lambda end: max(end - 1, 0)),
        "the frame has a row more": framed(lambda end: end + 1),
        "CURRENT ROW is UNBOUNDED": framed(lambda end: end or None),
        "0 FOLLOWING is 1 FOLLOWING": framed(lambda end: max(end, 1)),
        "PREV sees the partition": sees(lambda f: range(f.visible.stop)),
        "NEXT sees the partition": sees(lambda f: range(f.visible.start, len(f.partition))),
        "PREV and NEXT see the match": sees(lambda f: range(f.start, f.start + max(1, len(f.labels)))),
        "conditions see the partition": Departure(looks=in_the_partition),
        "measures see the partition": Departure(shows=in_the_partition),
        "measures are of the first row": Departure(output=FirstRowOutput),
        "INITIAL is SEEK": Departure(clause=lambda q: in_window(q, seek=True)),
        "after a match the frame is skipped": goes_on(past_the_frame),
        "after a match no row is skipped": goes_on(lambda q, found, right: found.row + 1),
        "the last row of a match is skipped to": goes_on(lambda q, found, right: right - 1),
    }),
    *wrong("seek", "seek", {
        "the row itself is left out": searches(lambda r, frame: frame[1:]),
        "the next row alone": searches(lambda r, frame: frame[:2]),
        "the last row of the frame is left out": searches(lambda r, frame: frame[:-1] or frame),
        "the last match": searches(lambda r, frame: frame[::-1]),
        "beyond the frame": framed(lambda end: None, seek=True),
        "in the frame of the match": searches(lambda r, frame: frame, frame=lambda r, s: s),
        "reported at the first row of the match": searches(lambda r, frame: frame, row=lambda r, s: s),
        "an empty match is passed over": searches(lambda r, frame: frame, length=1),
        "the search goes on from the row": goes_on(
            lambda q, found, right: right - (found.start - found.row) * (q.skip.to != "next row")
        ),
        "TO NEXT ROW is that of the match": goes_on(
            lambda q, found, right: found.start + 1 if q.skip.to == "next row" else right
        ),
    }),
)  # fmt: skip
