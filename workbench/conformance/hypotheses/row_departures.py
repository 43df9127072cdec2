"""An engine for MATCH_RECOGNIZE that departs from the definition in one step, with which it shares the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import denote, interpreter
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.denote import Labelling, MatchAt, Meaning, RowMatch
from cerify.semantics.row_pattern.expressions import Frame, Row
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.reading import STANDARD, RowReading
from cerify.semantics.row_pattern.resolve import columns_of, resolved

Rewritten: TypeAlias = Callable[[MatchRecognize], MatchRecognize]
Preferred: TypeAlias = Callable[[Iterator[Labelling]], "Labelling | None"]
Looks: TypeAlias = Callable[[Frame], Frame]
Looked: TypeAlias = Callable[[Frame, Sequence[Row], int], Frame]
"""What is looked at in place of a frame: given the rows of all partitions, and where this one begins among them."""
Searched: TypeAlias = Callable[[MatchRecognize, int, int, int, RowReading, MatchAt], "RowMatch | None"]
Parts: TypeAlias = Callable[[MatchRecognize, Sequence[Row], RowReading], list[list[int]]]


@dataclass(frozen=True)
class LookingMeaning(Meaning):
    """The meaning, where conditions look at another frame."""

    looks: Looks

    def frame(self, w: Labelling, current: int) -> Frame:
        return self.looks(super().frame(w, current))


@dataclass(frozen=True)
class LookingOutput(Output):
    """The output of matches in these partitions, where measures look at another frame."""

    looks: Looks = lambda f: f
    parts: Sequence[list[int]] = ()

    @cached_property
    def partitions(self) -> list[list[int]]:
        return list(self.parts)

    def frame(self, match: NumberedMatch, labels: tuple[str, ...], current: int) -> Frame:
        return self.looks(super().frame(match, labels, current))


def as_it_is(q: MatchRecognize) -> MatchRecognize:
    """The clause itself."""
    return q


def the_first(labellings: Iterator[Labelling]) -> Labelling | None:
    """The first labelling."""
    return next(labellings, None)


def the_same(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """The frame itself."""
    return f


@dataclass(frozen=True)
class Departure:
    """What an engine does otherwise than the definition; the defaults are the definition's.

    clause: the clause that it reads, in which columns are named as in the table. preferred: which labelling is the
    match. looks, shows: what conditions and measures look at. parts: the partitions. searched: what a search at a row
    finds. before: the number before that of the first match. counts_on: whether numbers go on in the next partition.
    reported: which matches it reports.
    """

    clause: Rewritten = as_it_is
    reading: RowReading = STANDARD
    preferred: Preferred = the_first
    looks: Looked = the_same
    shows: Looked = the_same
    meaning: type[LookingMeaning] = LookingMeaning
    output: type[LookingOutput] = LookingOutput
    parts: Parts = interpreter.partitions
    searched: Searched = denote.searched
    resumed: Callable[[MatchRecognize, RowMatch, RowReading], int] = denote.resumed
    before: int = 0
    counts_on: bool = False
    reported: Callable[[RowMatch], bool] = lambda found: True

    def answers(self, q: MatchRecognize, S: Stream, budget: Budget) -> list[NumberedMatch]:
        """The matches with their results. Raises IllFormed where a skip leads nowhere, BudgetExceeded."""
        q, table = self.clause(resolved(q, columns_of(S))), interpreter.table_of(S)
        parts = self.parts(q, table, self.reading)
        whole = [table[place] for places in parts for place in places]
        watch, start, last = interpreter.Watch(budget.valuations), 0, self.before
        answer: list[NumberedMatch] = []
        for places in parts:
            shows: Looks = lambda f, start=start: self.shows(f, whole, start)  # type: ignore[misc]  # noqa: E731
            looks: Looks = lambda f, start=start: self.looks(f, whole, start)  # type: ignore[misc]  # noqa: E731
            made = self.output(q, S, self.reading, shows, parts)
            last = last if self.counts_on else self.before
            for found in self.matches(q, whole[start : start + len(places)], watch, looks, last):
                last = found.number
                if self.reported(found):
                    answer.append(made.with_result(interpreter.match_of(q, found, places)))
            start += len(places)
        return answer

    def matches(
        self, q: MatchRecognize, P: Sequence[Row], watch: interpreter.Watch, looks: Looks, last: int
    ) -> Iterator[RowMatch]:
        """The matches in a partition, in order, as denote.matches finds them."""

        def match_at(s: int, visible: range, number: int) -> Labelling | None:
            meaning = self.meaning(q, P, s, visible, number, self.reading, watch, looks)
            return self.preferred(meaning.labellings(q.pattern, ()))

        r = 0
        while r < len(P):
            found = self.searched(q, r, len(P), last, self.reading, match_at)
            if found is None:
                r += 1
                continue
            last = found.number
            yield found
            r = self.resumed(q, found, self.reading)


def in_pattern(other: Callable[[Any], rows.Pattern]) -> Rewritten:
    """The clause with another node in place of each one of its pattern, from the leaves up."""
    return lambda q: replace(q, pattern=_mapped(q.pattern, other))


def in_expressions(other: Callable[[Any], rows.Expression], define: bool = True, measures: bool = True) -> Rewritten:
    """The clause with another node in place of each one of its conditions and of its measures, from the leaves up."""

    def changed(q: MatchRecognize) -> MatchRecognize:
        conditions = (replace(one, condition=_mapped(one.condition, other)) for one in q.define)
        shown = (replace(one, expression=_mapped(one.expression, other)) for one in q.measures)
        return replace(
            q,
            define=tuple(conditions) if define else q.define,
            measures=tuple(shown) if measures else q.measures,
        )

    return changed


def _mapped(node: Any, other: Callable[[Any], Any]) -> Any:
    below = trees.children(node)
    return other(trees.rebuilt(node, [_mapped(one, other) for one in below]) if below else node)
