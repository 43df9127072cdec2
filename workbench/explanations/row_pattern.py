"""Explain MATCH_RECOGNIZE and WINDOW: why rows have their labels, which labels were preferred, why there is no match.

A labelling assigns a pattern variable to each row of a match. The search tries labellings in the order of preference
that the definition gives, and records each test of a condition. So every labelling that it tries before the first
complete one is preferred to that one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import TypeAlias

from cerify.draw.timeline import Row
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    find_nearest,
    listing,
    nearest,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, InputError, Unsupported
from cerify.semantics.events import ComplexEvent, Stream
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.denote import (
    LabelAttempt,
    Labelling,
    Meaning,
    RowLabel,
    Traced,
    chosen_labelling,
    value,
    visible_rows,
)
from cerify.semantics.row_pattern.interpreter import RowOutput, RowStepBudget, condition_text, find_matches, labels_text
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import MatchRecognize, show_pattern
from cerify.terminal import printable

# ---------------------------------------------------------------------------------------------------------------------
# Why rows are not a match of MATCH_RECOGNIZE or WINDOW: how many rows can be labelled, and why the search stops there.

Leaf: TypeAlias = rows.RowVariable | rows.Anchor


@dataclass
class Progress:
    """Says how far a search for a match got.

    longest: the longest partial match; of several, the first. stops: each part of the pattern at which the search could
    not continue a longest partial match, with that match.
    """

    longest: Labelling = ()
    stops: dict[Leaf, Labelling] = field(default_factory=dict)


@dataclass(frozen=True)
class LabelSearch(Meaning):
    """Searches for ways to label consecutive rows with the pattern's variables, and records how far it comes.

    most: the greatest number of rows to label.
    """

    most: float = float("inf")
    progress: Progress = field(default_factory=Progress)

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        return self._leaf(p, w) if isinstance(p, Leaf) else super().sequence(p, w)

    def _leaf(self, p: Leaf, w: Labelling) -> Iterator[Labelling]:
        # All at once: whether the leaf could continue must be known before the search goes deeper.
        found = list(super().sequence(p, w))
        longest = self.progress.longest
        # Shorter ones say less about what is missing: only the stops of the longest partial matches are kept.
        if not found and len(w) == len(longest):
            self.progress.stops.setdefault(p, w)
        for u in found:
            if len(u) > len(longest):
                self.progress.longest, self.progress.stops = u, {}
        yield from found

    def feasible(self, w: Labelling) -> bool:
        return len(w) <= self.most and super().feasible(w)


@dataclass(frozen=True)
class RowRejection:
    """A search for the reasons why rows are not a match of a clause, given its matches.

    budget: the budget of each search for labellings.
    """

    made: RowOutput
    matches: Sequence[NumberedMatch]
    budget: Budget = Budget()

    def reasons(self, C: ComplexEvent, at: int | None) -> tuple[str, ...]:
        """Return reasons why the rows C are not a match reported at `at`, or at any row if `at` is None.

        If C is empty, `at` must be given.
        """
        partitions = {place: id(self.made.place[place][0]) for place in (C if at is None else C | {at})}
        if len(set(partitions.values())) > 1:
            one, *others = sorted(partitions)
            other = next(place for place in others if partitions[place] != partitions[one])
            return (f"the rows are of several partitions: row {other} is not in the partition of row {one}",)
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
        """Return the reasons why a clause has no match, for the row from which a search comes farthest."""
        searches = ((place, self._search(place, place)[0]) for places in self.made.partitions for place in places)
        found = max(searches, key=lambda one: len(one[1].progress.longest), default=None)
        return () if found is None else self._none_begins(*found)

    def _partition(self, place: int) -> list[int]:
        return next(places for places in self.made.partitions if place in places)

    def _search(self, first: int, searched: int, most: float = float("inf")) -> tuple[LabelSearch, Labelling | None]:
        """Search for labellings from the row `first` on; return the search, and the labelling that it finds, or None.

        searched: the row for whose match the search is made. most: the required number of rows of the labelling;
        infinity allows any number.
        """
        partition, s = self.made.place[first]
        r = self.made.place[searched][1]
        before = (m.match_number for m in self.matches if self.made.place[m.at][0] is partition and self._row(m) < r)
        visible, number = visible_rows(self.made.q, r, len(partition)), max(before, default=0) + 1
        watch = RowStepBudget(self.budget.valuations)
        search = LabelSearch(self.made.q, partition, s, visible, number, STANDARD, watch, most)
        labellings = search.labellings(self.made.q.pattern, ())
        if most == float("inf"):
            return search, chosen_labelling(self.made.q, labellings)
        return search, next((w for w in labellings if most == len(w)), None)

    def _row(self, match: NumberedMatch) -> int:
        """Return the row whose search finds a match, as its index in its partition."""
        return self.made.place[self.made.row_of(match)][1]

    def _at(self, first: int, searched: int, length: int) -> tuple[str, ...]:
        """Return reasons why `length` rows from `first` on are not the match that a search at row `searched` finds."""
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
        if self.made.q.longest and len(preferred) > len(asked):
            return (f"{another} is longer than {_text(asked)}, and the clause asks for the longest match",)
        return (f"{another} comes before {_text(asked)} in the order of preference",)

    def _none_begins(self, first: int, search: LabelSearch) -> tuple[str, ...]:
        longest = search.progress.longest
        many = f"{len(longest)} row{'s' * (len(longest) != 1)} can be labelled there at most"
        labels = f", {_text(longest)}" if longest else ""
        return (f"no match begins at row {first}: {many}{labels}", *self._stops(first, search))

    def _cannot_be_labelled(self, first: int, search: LabelSearch) -> tuple[str, ...]:
        """Return reasons why the rows cannot be labelled, given the search for a labelling of this number of rows."""
        longest = search.progress.longest
        if len(longest) == search.most:
            wanted = " or ".join(dict.fromkeys(map(show_pattern, search.progress.stops)))
            last = self._partition(first)[search.s + len(longest) - 1]
            labelled = f"the rows can be labelled {_text(longest)}, but after row {last} " if longest else ""
            return (f"{labelled}the pattern needs {wanted}",)
        many = f"only {len(longest)} of the {search.most} rows can be labelled: {_text(longest)}"
        return (*((many,) if longest else ()), *self._stops(first, search))

    def _stops(self, first: int, search: LabelSearch) -> Iterator[str]:
        """Yield reasons why each label that was tried could not continue the longest labellings."""
        progress, places = search.progress, self._partition(first)
        for p, w in progress.stops.items():
            after = f"after {_text(w)} " if _labels(w) != _labels(progress.longest) else ""
            yield f"{after}{self._stop(p, w, search, places)}"
        if not progress.stops:
            place = places[search.s + len(progress.longest)]
            yield f"row {place} has no label: the pattern ends before it"

    def _stop(self, p: Leaf, w: Labelling, search: LabelSearch, places: Sequence[int]) -> str:
        r, whole = search.s + len(w), "partition" if self.made.q.window is None else "frame"
        if isinstance(p, rows.Anchor):
            side = "begin" if p.place == "start" else "end"
            where = f"before row {places[r]}" if r < len(places) else "after the last row"
            return f"{show_pattern(p)} is false {where}: the {whole} does not {side} there"
        if r >= search.visible.stop:
            return f"there is no row for {p.name}: the {whole} ends"
        frame = search.frame((*w, RowLabel(p.name)), len(w) + 1)
        outcome = "false" if value(self.made.q.conditions[p.name], frame) is False else "unknown"
        return f"row {places[r]} is not {p.name}: {condition_text(self.made, p.name, frame, f' is {outcome}')}"


def _rows(match: NumberedMatch) -> str:
    """Format the rows of a match; if there are more than two, the first and the last."""
    first, *between = match.events
    return f"{first} to {between[-1]}" if len(between) > 1 else ", ".join(map(str, match.events))


def _labels(w: Labelling) -> tuple[str, ...]:
    return tuple(label.variable for label in w)


def _text(w: Labelling) -> str:
    return labels_text(_labels(w))


@dataclass(frozen=True)
class LabelledRow:
    """A row of a match: its position, its label, and the reason for this label.

    preferred: for each label that was tried before, the reason why it failed.
    """

    place: int
    label: str
    why: str
    preferred: tuple[str, ...]


@dataclass(frozen=True)
class RowExplanation:
    """A match and its rows. further: a sentence about rows after the match that could be labelled, or ""."""

    match: NumberedMatch
    rows: tuple[LabelledRow, ...]
    further: str = ""


@dataclass(frozen=True)
class NotMatched:
    """The answer that rows are not a match, with the reasons, and the matches that differ from the rows least."""

    events: ComplexEvent
    reasons: tuple[str, ...]
    near: tuple[NumberedMatch, ...]


class RowExplainer(Explainer[RowExplanation | NotMatched]):
    """An explainer that searches for labellings as the reference evaluator does."""

    heading = "Why rows are labelled as they are"
    legend = "A dot is a row of a match. Diamonds are rows that are not a match, and rings are rows of a near match."

    def __init__(self, q: MatchRecognize, S: Stream, query: str) -> None:
        self.S, self.query, self.made = S, query, RowOutput(q, S)
        self.in_order = not q.order
        self.matches = sorted(find_matches(q, S))

    def explain_request(self, request: Request) -> RowExplanation | NotMatched | None:
        if request.valuation is not None:
            raise Unsupported("for MATCH_RECOGNIZE only the rows of a match can be explained, not bindings")
        if request.events is None:
            return None
        C, at = request.events, request.at
        for place in sorted(C) if at is None else [*sorted(C), at]:
            self.require_on_stream(place, "--match")
        if not C and at is None:
            raise InputError("an empty match needs --at, the row at which it is reported")
        fitting = (m for m in self.matches if set(m.events) == C and at in (None, m.at))
        found = next(fitting, None)
        return self._explained(found) if found is not None else self._rejected(C, at)

    def all(self, request: Request) -> Listing[RowExplanation | NotMatched]:
        found: Iterator[RowExplanation | NotMatched] = (
            self._explained(m) for m in self.matches if request.at in (None, m.at)
        )
        listed = listing(
            found, request, len(self.S), lambda one: one.match.at if isinstance(one, RowExplanation) else -1
        )
        return listed if self.matches else replace(listed, reasons=RowRejection(self.made, ()).farthest())

    def json(self, found: RowExplanation | NotMatched) -> Json:
        if isinstance(found, NotMatched):
            near = [{"events": list(m.events), "at": m.at} for m in found.near]
            events = sorted(found.events)
            return {"query": self.query, "events": events, "match": False, "reasons": [*found.reasons], "nearest": near}
        match = found.match
        shown = [{"row": r.place, "variable": r.label, "why": r.why, "preferred": [*r.preferred]} for r in found.rows]
        answer: Json = {"query": self.query, "events": list(match.events), "at": match.at, "match": True}
        return answer | {"match_number": match.match_number, "rows": shown, "further": found.further}

    def view(self, found: RowExplanation | NotMatched) -> ExplanationView:
        if isinstance(found, NotMatched):
            label, places = braces(found.events), tuple(sorted(found.events))
            sentence = f"{label} is not a match"
            drawn = [Row("extra", places, None, sentence)]
            drawn += [Row("missing", m.events, m.at, f"a match: {braces(m.events)}") for m in found.near]
            parts = (
                ExplanationPart(lines=tuple(map(printable, found.reasons))),
                *nearest("", (m.events for m in found.near), found.events, "none: no match has any of these rows"),
            )
            return ExplanationView(sentence, False, places, max(places, default=0), label, parts, Drawing(tuple(drawn)))
        match, label = found.match, braces(found.match.events)
        kind, where = "match" if match.events else "empty match", f"reported at {match.at}"
        where = where if self.made.q.window is None else f"in the window of row {match.at}"
        sentence = f"{label} is {kind} {match.match_number} of its partition, {where}"
        lines = []
        for row in found.rows:
            lines.append(f"row {row.place} is {printable(row.label)}: {printable(row.why)}")
            lines += [f"  {printable(text)}" for text in row.preferred]
        lines += [found.further] if found.further else []
        drawing = Drawing(
            (Row("common", sorted(match.events), match.at, sentence),), {r.place: r.label for r in found.rows}
        )
        parts = (ExplanationPart(lines=tuple(lines)),) if lines else ()
        return ExplanationView(sentence, True, tuple(sorted(match.events)), match.at, label, parts, drawing)

    # --- the search at one row ----------------------------------------------------------------------------------------

    def _traced(self, place: int, searched: int, number: int) -> tuple[Traced, Labelling | None]:
        """Search for match `number` at the row `place`; return the search, and the labelling that it chose, or None.

        searched: the row whose frame is searched, for WINDOW.
        """
        partition, s = self.made.place[place]
        visible = visible_rows(self.made.q, self.made.place[searched][1], len(partition))
        traced = Traced(self.made.q, partition, s, visible, number, STANDARD, RowStepBudget(Budget().valuations))
        return traced, chosen_labelling(self.made.q, traced.labellings(self.made.q.pattern, ()))

    def _explained(self, match: NumberedMatch) -> RowExplanation:
        first = match.events[0] if match.events else match.at
        traced, labelling = self._traced(first, self.made.row_of(match), match.match_number)
        assert labelling is not None, "the definition has found it"
        labels = tuple(label.variable for label in labelling)
        shown = tuple(
            LabelledRow(place, labels[k], self._why(traced, labelling[: k + 1]), self._preferred(traced, labels, k))
            for k, place in enumerate(match.events)
        )
        taken = (len(a.labels) for a in traced.attempts if a.outcome and a.labels[: len(labels)] == labels)
        more = max(taken, default=0) - len(labels)
        rest = f"{more} more row{'s' * (more > 1)}" if more > 0 else ""
        return RowExplanation(match, shown, f"{rest} could be labelled, but no match continues there" if rest else "")

    def _why(self, traced: Traced, w: Labelling) -> str:
        """Return the condition of the last label, with the values that it compares."""
        A = w[-1].variable
        if A not in self.made.q.conditions:
            return "it has no condition"
        return condition_text(self.made, A, traced.frame(w, len(w)))

    def _preferred(self, traced: Traced, labels: tuple[str, ...], k: int) -> tuple[str, ...]:
        """Return the labels that were tried for row k before its own, after the same labels, and why each failed."""
        found: dict[str, None] = {}
        for attempt in traced.attempts:
            if attempt.labels == labels[: k + 1]:
                break
            if len(attempt.labels) == k + 1 and attempt.labels[:k] == labels[:k]:
                found[self._refusal(traced, attempt)] = None
        return tuple(found)

    def _refusal(self, traced: Traced, attempt: LabelAttempt) -> str:
        A = attempt.labels[-1]
        if attempt.outcome and self.made.q.longest:
            return f"{A} is preferred and fits, but no match of that length continues from there"
        if attempt.outcome:
            length = len(attempt.labels)
            deeper = [a.labels for a in traced.attempts if a.outcome and a.labels[:length] == attempt.labels]
            further = max(map(len, deeper)) - length
            rows_ = f"{further} more row{'s' * (further != 1)}"
            return f"{A} is preferred and fits, but no match continues from there ({rows_} at most)"
        if not attempt.there:
            return f"{A} is preferred, but there is no row"
        return f"{A} is preferred, but its condition is {'unknown' if attempt.outcome is None else 'false'}"

    def _rejected(self, C: ComplexEvent, at: int | None) -> NotMatched:
        near = tuple(find_nearest(self.matches, C))
        return NotMatched(C, RowRejection(self.made, self.matches).reasons(C, at), near)
