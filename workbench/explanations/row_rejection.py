"""Why rows are no match of MATCH_RECOGNIZE or WINDOW: how far they can be labelled, and what stops the search there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import TypeAlias

from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import ComplexEvent
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.denote import Label, Labelling, Meaning, visible_rows
from cerify.semantics.row_pattern.expressions import value
from cerify.semantics.row_pattern.interpreter import Watch
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.search_text import condition_text, labels_text
from cerify.semantics.row_pattern.show import show_pattern

Leaf: TypeAlias = rows.Variable | rows.Anchor


@dataclass
class Progress:
    """The first of the longest labellings of a search, and what could not follow one of that length, after which."""

    longest: Labelling = ()
    stops: dict[Leaf, Labelling] = field(default_factory=dict)


@dataclass(frozen=True)
class Search(Meaning):
    """The labellings at a row, of no more rows than `most`, and how far they come."""

    most: float = float("inf")
    progress: Progress = field(default_factory=Progress)

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        return self._leaf(p, w) if isinstance(p, Leaf) else super().sequence(p, w)

    def _leaf(self, p: Leaf, w: Labelling) -> Iterator[Labelling]:
        found = list(super().sequence(p, w))
        longest = self.progress.longest
        if not found and len(w) == len(longest):
            self.progress.stops.setdefault(p, w)
        for u in found:
            if len(u) > len(longest):
                self.progress.longest, self.progress.stops = u, {}
        yield from found

    def feasible(self, w: Labelling) -> bool:
        return len(w) <= self.most and super().feasible(w)


@dataclass(frozen=True)
class Rejection:
    """Reasons why rows are no match of a clause that has these matches over a table; budget: that of each search."""

    made: Output
    matches: Sequence[NumberedMatch]
    budget: Budget = Budget()

    def reasons(self, C: ComplexEvent, at: int | None) -> tuple[str, ...]:
        """Why the rows C, reported at `at` or anywhere, are no match. One of both is there."""
        partitions = {place: id(self.made.place[place][0]) for place in (C if at is None else C | {at})}
        if len(set(partitions.values())) > 1:
            one, *others = sorted(partitions)
            other = next(place for place in others if partitions[place] != partitions[one])
            return (f"the rows are of several partitions: row {other} is not in that of row {one}",)
        ordered = sorted(C, key=lambda place: self.made.place[place][1])
        places = self._partition(next(iter(partitions)))
        for one, other in pairwise(ordered):
            between = places[self.made.place[one][1] + 1]
            if between != other:
                return (f"a match is of consecutive rows, and row {between} is between row {one} and row {other}",)
        if at is not None and self.made.q.window is None and ordered and at != ordered[-1]:
            return (f"a match is reported at its last row, here row {ordered[-1]}, and not at row {at}",)
        first = ordered[0] if at is None or ordered else at
        return self._at(first, first if at is None or self.made.q.window is None else at, len(C))

    def farthest(self) -> tuple[str, ...]:
        """Of a clause without any match, why there is none at the row at which a search comes farthest."""
        searches = ((place, self._search(place, place)[0]) for places in self.made.partitions for place in places)
        found = max(searches, key=lambda one: len(one[1].progress.longest), default=None)
        return () if found is None else self._none_begins(*found)

    def _partition(self, place: int) -> list[int]:
        return next(places for places in self.made.partitions if place in places)

    def _search(self, first: int, searched: int, most: float = float("inf")) -> tuple[Search, Labelling | None]:
        """The first labelling at a row, of `most` rows if that is finite; searched: the row whose search is there."""
        partition, s = self.made.place[first]
        r = self.made.place[searched][1]
        before = (m.match_number for m in self.matches if self.made.place[m.at][0] is partition and self._row(m) < r)
        visible, number = visible_rows(self.made.q, r, len(partition)), max(before, default=0) + 1
        watch = Watch(self.budget.valuations)
        search = Search(self.made.q, partition, s, visible, number, STANDARD, watch, most)
        labellings = search.labellings(self.made.q.pattern, ())
        return search, next((w for w in labellings if most in (float("inf"), len(w))), None)

    def _row(self, match: NumberedMatch) -> int:
        """The number, in its partition, of the row whose search finds a match."""
        return self.made.place[self.made.row_of(match)][1]

    def _at(self, first: int, searched: int, length: int) -> tuple[str, ...]:
        """Why `length` rows from `first` on are no match of the search at a row."""
        partition, r = self.made.place[searched]
        if self.made.place[first][1] not in visible_rows(self.made.q, r, len(partition)):
            return (f"row {first} is not in the frame of row {searched}",)
        if first != searched and not (self.made.q.window and self.made.q.window.seek):
            return (f"a match in the window of row {searched} begins there; with SEEK it may begin later",)
        search, preferred = self._search(first, searched)
        if preferred is None:
            return self._none_begins(first, search)
        try:
            search, asked = self._search(first, searched, length)
        except BudgetExceeded as error:
            another = f"the match that begins at row {first} is another: {_text(preferred)}"
            return (f"{another}; whether these rows can be labelled is not known: {error.message}",)
        if asked is None:
            return self._cannot_be_labelled(first, search)
        found = next((m for m in self.matches if self.made.row_of(m) == searched), None)
        if found is None:
            holds = (m for m in self.matches if searched in m.events and self.made.row_of(m) != searched)
            held = "".join(f"it is in match {m.match_number}, rows {_rows(m)}, and " for m in islice(holds, 1))
            skipped = f"no search begins at row {searched}: {held}AFTER MATCH SKIP goes on after it"
            return (f"{skipped} (there would be {_text(preferred)})",)
        begins = next(iter(found.events), searched)
        if begins != first:
            return (f"the match in the window of row {searched} begins at row {begins}",)
        another = f"the match that begins at row {first} is another: {_text(preferred)}"
        return (f"{another} comes before {_text(asked)} in the order of preferment",)

    def _none_begins(self, first: int, search: Search) -> tuple[str, ...]:
        longest = search.progress.longest
        many = f"{len(longest)} row{'s' * (len(longest) != 1)} can be labelled there at most"
        labels = f", {_text(longest)}" if longest else ""
        return (f"no match begins at row {first}: {many}{labels}", *self._stops(first, search))

    def _cannot_be_labelled(self, first: int, search: Search) -> tuple[str, ...]:
        """Why there is no labelling of as many rows as the search takes at most."""
        longest = search.progress.longest
        if len(longest) == search.most:
            wanted = " or ".join(dict.fromkeys(map(show_pattern, search.progress.stops)))
            last = self._partition(first)[search.s + len(longest) - 1]
            labelled = f"the rows can be labelled {_text(longest)}, but after row {last} " if longest else ""
            return (f"{labelled}the pattern needs {wanted}",)
        many = f"{len(longest)} of the {search.most} rows can be labelled, {_text(longest)}, and no more"
        return (*((many,) if longest else ()), *self._stops(first, search))

    def _stops(self, first: int, search: Search) -> Iterator[str]:
        """What could not follow the longest labellings."""
        progress, places = search.progress, self._partition(first)
        for p, w in progress.stops.items():
            after = f"after {_text(w)} " if _labels(w) != _labels(progress.longest) else ""
            yield f"{after}{self._stop(p, w, search, places)}"
        if not progress.stops:
            place = places[search.s + len(progress.longest)]
            yield f"row {place} has no label: the pattern goes no further"

    def _stop(self, p: Leaf, w: Labelling, search: Search, places: Sequence[int]) -> str:
        r, whole = search.s + len(w), "partition" if self.made.q.window is None else "frame"
        if isinstance(p, rows.Anchor):
            side = "begin" if p.place == "start" else "end"
            where = f"before row {places[r]}" if r < len(places) else "after the last row"
            return f"{show_pattern(p)} is false {where}: the {whole} does not {side} there"
        if r >= search.visible.stop:
            return f"there is no row for {p.name}: the {whole} ends"
        frame = search.frame((*w, Label(p.name)), len(w) + 1)
        outcome = "false" if value(self.made.q.conditions[p.name], frame) is False else "unknown"
        return f"row {places[r]} is not {p.name}: {condition_text(self.made, p.name, frame, f' is {outcome}')}"


def _rows(match: NumberedMatch) -> str:
    """The rows of a match, of more than two the first and the last."""
    first, *between = match.events
    return f"{first} to {between[-1]}" if len(between) > 1 else ", ".join(map(str, match.events))


def _labels(w: Labelling) -> tuple[str, ...]:
    return tuple(label.variable for label in w)


def _text(w: Labelling) -> str:
    return labels_text(_labels(w))
