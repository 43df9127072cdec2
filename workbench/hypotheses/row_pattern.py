"""Hypotheses about MATCH_RECOGNIZE: engines that change one step of the definition and keep the others.

A `Departure` replaces single steps of the reference evaluator, such as the order of labellings or the frame of a
function, and keeps the rest. So an axis costs a few lines, and the default values give the reference evaluator itself.
The questions for each axis are at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property, reduce
from itertools import chain, islice
from typing import Any, TypeAlias, get_args, get_type_hints

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import Axis, Choices, EngineError, Interpretation, Stage, Template, axes, events
from cerify.semantics import trees
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Match, Stream
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import denote, interpreter
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.denote import Frame, Labelling, MatchAt, Meaning, Row, RowMatch
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.scalars import NumberedMatch, columns_of, key_value, resolved
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowSkip, features

Rewritten: TypeAlias = Callable[[MatchRecognize], MatchRecognize]
Preferred: TypeAlias = Callable[[Iterator[Labelling]], "Labelling | None"]
Looks: TypeAlias = Callable[[Frame], Frame]
Looked: TypeAlias = Callable[[Frame, Sequence[Row], int], Frame]
"""A function that returns a changed frame, given the frame, the rows of all partitions, and the index in them of the
first row of the frame's partition."""
Searched: TypeAlias = Callable[[MatchRecognize, int, int, int, RowReading, MatchAt], "RowMatch | None"]
Parts: TypeAlias = Callable[[MatchRecognize, Sequence[Row], RowReading], list[list[int]]]


@dataclass(frozen=True)
class LookingMeaning(Meaning):
    """The meaning of a pattern for an engine whose conditions see other rows than the definition says.

    looks: a function that changes the rows that conditions see.
    """

    looks: Looks

    def frame(self, w: Labelling, current: int) -> Frame:
        return self.looks(super().frame(w, current))


@dataclass(frozen=True)
class LookingOutput(RowOutput):
    """The output of an engine whose measures see other rows than the definition says.

    looks: a function that changes the rows that measures see. parts: the partitions.
    """

    looks: Looks = lambda f: f
    parts: Sequence[list[int]] = ()

    @cached_property
    def partitions(self) -> list[list[int]]:
        return list(self.parts)

    def frame(self, match: NumberedMatch, labels: tuple[str, ...], current: int) -> Frame:
        return self.looks(super().frame(match, labels, current))


class PresentOutput(LookingOutput):
    """The output of an engine whose FIRST and LAST in measures skip rows where the value is NULL."""

    def measures(self, match: NumberedMatch, seen: Sequence[int]) -> Iterator[interpreter.OutputRow]:
        labels = interpreter.labels_of(match)
        for current in seen:
            frame = self.frame(match, labels, current)
            yield tuple(denote.value(over_values(one.expression, len(labels)), frame) for one in self.q.measures)


def over_values(e: Any, length: int) -> Any:
    """Return a measure changed so that FIRST, LAST and plain columns skip the rows of the match where they are NULL.

    length: the number of rows of the match.
    """
    match e:
        case rows.RowColumn() | rows.Logical(offset=0) if length:
            e = rows.Logical("LAST", e) if isinstance(e, rows.RowColumn) else e
            # The first value that is not NULL, going from row to row: SQL itself says what such an engine does.
            return rows.Coalesce(tuple(replace(e, offset=k) for k in range(length)))
        case rows.Physical() | rows.Logical() | rows.RowAggregate() | rows.Count():
            return e
    below = trees.children(e)
    return trees.rebuilt(e, [over_values(one, length) for one in below]) if below else e


def as_it_is(q: MatchRecognize) -> MatchRecognize:
    """Return the clause unchanged."""
    return q


def the_first(labellings: Iterator[Labelling]) -> Labelling | None:
    """Return the first labelling."""
    return next(labellings, None)


def the_same(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """Return the frame unchanged."""
    return f


@dataclass(frozen=True)
class Departure:
    """The steps in which an engine differs from the definition of row patterns. Each default is the definition's step.

    clause: changes the clause that the engine reads, with columns named as in the table. preferred: chooses one of the
    labellings of a pattern as the match. looks, shows: change the rows that conditions and measures see. parts: makes
    the partitions. searched: returns the match that a search at a row finds. resumed: returns the row where the next
    search begins. before: the match number before the first. counts_on: whether numbers continue in the next partition.
    reported: returns whether a match is reported.
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

    def list_matches(self, q: MatchRecognize, S: Stream, budget: Budget) -> list[NumberedMatch]:
        """Return the matches with their results. Raises BudgetExceeded, and IllFormed if a skip has no row to go to."""
        q, table = self.clause(resolved(q, columns_of(S))), interpreter.table_of(S)
        parts = self.parts(q, table, self.reading)
        whole = [table[place] for places in parts for place in places]
        watch, start, last = interpreter.RowStepBudget(budget.valuations), 0, self.before
        answer: list[NumberedMatch] = []
        for places in parts:
            # `start` is bound as a default, since the loop changes it before a lazy measure may call this.
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
        self, q: MatchRecognize, P: Sequence[Row], watch: interpreter.RowStepBudget, looks: Looks, last: int
    ) -> Iterator[RowMatch]:
        """Yield the matches in a partition P, in order, as denote.matches does, with the departures of this engine."""

        def match_at(s: int, visible: range, number: int) -> Labelling | None:
            meaning = self.meaning(q, P, s, visible, number, self.reading, watch, looks)
            labellings = meaning.labellings(q.pattern, ())
            return denote.chosen_labelling(q, labellings) if q.longest else self.preferred(labellings)

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
    """Return a function that replaces parts of a clause's PATTERN.

    other: called for each node of the pattern, after the nodes inside it; returns the node to put in its place.
    """
    return lambda q: replace(q, pattern=_mapped(q.pattern, other))


def in_expressions(other: Callable[[Any], rows.Expression], define: bool = True, measures: bool = True) -> Rewritten:
    """Return a function that replaces expressions in the DEFINE and MEASURES of a clause.

    other: called for each node of the expressions, after the nodes inside it; returns the node to put in its place.
    define, measures: whether that part of the clause is changed.
    """

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


# ---------------------------------------------------------------------------------------------------------------------
# Hypotheses about MATCH_RECOGNIZE: the reference evaluator, with a choice at each step in which engines differ.
#
# The readings of points that the standard leaves open are axes too, by the names that RowReading gives them.

READ_FOR = {
    "bounded_iterations": "quantified",
    "skip_to_nothing": "skip to",
    "skip_to_first": "skip to",
    "nulls": "order by",
    "empty_matches": "",
    "integer_division": "product",
    "empty_iterations": "quantified",
}
TRUE, NULL, NEVER = rows.RowConstant(True), rows.RowConstant(None), rows.RowConstant(False)


def on_two_values(e: Any) -> Any:
    """Return a comparison, BETWEEN, IN or LIKE changed so that it is false, not unknown, if an operand is NULL.

    Any other expression is returned unchanged.
    """
    return (
        rows.Coalesce((e, NEVER))
        if isinstance(e, rows.RowComparison | rows.RowBetween | rows.RowIn | rows.RowLike)
        else e
    )


def equal_nulls(e: Any) -> Any:
    """Return a comparison with = changed so that it is true for two NULLs; any other expression unchanged."""
    if isinstance(e, rows.RowComparison) and e.operator == "=":
        return rows.RowCase(rows.RowAnd(rows.IsNull(e.left), rows.IsNull(e.right)), TRUE, e)
    return e


def name_of_union(q: MatchRecognize) -> MatchRecognize:
    """Return the clause changed so that CLASSIFIER(U), for a union U of variables, returns the name U and not the
    variable's.
    """
    unions = {one.name for one in q.subsets}

    def replace_classifier(e: Any) -> Any:
        if isinstance(e, rows.Classifier) and e.variable in unions:
            return rows.RowCase(rows.IsNull(e), NULL, rows.RowConstant(e.variable))
        return e

    return in_expressions(replace_classifier)(q)


def any_sequence(p: Any) -> Any:
    """Return, for PERMUTE of n parts, a pattern of n steps in which each step may be any of the parts.

    Any other pattern is returned unchanged.
    """
    if not isinstance(p, rows.Permute):
        return p
    return rows.Quantified(reduce(rows.Alternation, p.parts), len(p.parts), len(p.parts))


def in_the_match(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """Return the frame with empty rows in place of all rows outside the match, so that PREV and NEXT find NULL."""
    inside = range(f.start, f.start + len(f.labels))
    # Rows outside become rows of NULLs: positions stay, and what looks there finds no value.
    return replace(f, partition=[row if r in inside else {} for r, row in enumerate(f.partition)])


def in_the_table(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """Return the frame with the rows of all partitions, so that PREV and NEXT see beyond the match's own partition."""
    return replace(f, partition=table, visible=range(len(table)), start=start + f.start)


def in_the_partition(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """Return the frame in which PREV and NEXT see all rows of the partition, also for a clause with WINDOW."""
    return replace(f, visible=range(len(f.partition)))


class GreedyMeaning(LookingMeaning):
    """An engine without backtracking: it tries only one way for the first part of a concatenation."""

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        if isinstance(p, rows.RowConcatenation):
            for u in islice(self.labellings(p.left, w), 1):
                yield from self.labellings(p.right, u)
        else:
            yield from super().sequence(p, w)


class LongestMeaning(LookingMeaning):
    """An engine that prefers the alternative that takes most rows."""

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        found = super().sequence(p, w)
        return iter(sorted(found, key=len, reverse=True)) if isinstance(p, rows.Alternation) else found


class DroppingMeaning(LookingMeaning):
    """An engine that drops an iteration of no rows under `*`, and tries the next way to iterate."""

    def iterations(self, p: rows.Quantified, w: Labelling) -> Iterator[Labelling]:
        if p.low or p.high is not None:
            yield from super().iterations(p, w)
            return
        more = (u for v in self.labellings(p.pattern, w) if v != w for u in self.iterations(p, v))
        yield from chain(more, [w]) if p.greedy else chain([w], more)


def partitions_with_keys(q: MatchRecognize, P: Sequence[Row], reading: RowReading) -> list[list[int]]:
    """Return the partitions, as lists of row positions, without those that have a NULL in PARTITION BY's columns."""
    found = interpreter.partitions(q, P, reading)
    return [places for places in found if all(key_value(e, P[places[0]], reading) is not None for e in q.partition)]


def reversed_alternation(p: Any) -> Any:
    """Return `b | a` for the pattern `a | b`, so that the last alternative is preferred; others unchanged."""
    return rows.Alternation(p.right, p.left) if isinstance(p, rows.Alternation) else p


def reversed_permutation(p: Any) -> Any:
    """Return PERMUTE with its parts reversed, so that the last order is preferred; any other pattern unchanged."""
    return rows.Permute(p.parts[::-1]) if isinstance(p, rows.Permute) else p


def quantified(p: Any, **changes: Any) -> Any:
    """Return a quantified pattern, such as A+, with these fields changed; return any other pattern unchanged."""
    return replace(p, **changes) if isinstance(p, rows.Quantified) else p


def semantics(e: Any, name: rows.Semantics) -> Any:
    """Return an expression over the rows of a variable with RUNNING or FINAL in front; return any other expression
    unchanged.
    """
    return replace(e, semantics=name) if isinstance(e, rows.Logical | rows.Count | rows.RowAggregate) else e


def reversed_target(q: MatchRecognize) -> MatchRecognize:
    """Return the clause with AFTER MATCH SKIP TO FIRST in place of TO LAST, and the reverse."""
    other: Any = {"first": "last", "last": "first"}.get(q.skip.to, q.skip.to)
    return replace(q, skip=replace(q.skip, to=other))


def in_window(q: MatchRecognize, **changes: Any) -> MatchRecognize:
    """Return the clause with these fields of its window changed; a clause without a window as it is."""
    return q if q.window is None else replace(q, window=replace(q.window, **changes))


def unoffset(e: Any) -> Any:
    """Return FIRST or LAST without its offset, as FIRST(A.x) for FIRST(A.x, 1); any other expression unchanged."""
    return replace(e, offset=0) if isinstance(e, rows.Logical) else e


def counts_nulls(e: Any) -> Any:
    """Return COUNT of an expression changed so that it also counts rows with NULL; any other expression unchanged."""
    if isinstance(e, rows.RowAggregate) and e.function == "COUNT":
        return rows.Count(rows.variable_of(e.argument), e.semantics)
    return e


DEPARTURES: Mapping[str, tuple[tuple[str, ...], str, Mapping[str, Departure]]] = {
    "preference": ((), "the match is: the first labelling in the order of preference; the longest; the shortest; the "
        "first one that is found without backtracking", {
        "preferred": Departure(),
        "longest": Departure(preferred=lambda found: max(found, key=len, default=None)),
        "shortest": Departure(preferred=lambda found: min(found, key=len, default=None)),
        "no-backtracking": Departure(meaning=GreedyMeaning),
    }),
    "alternation": (("alternation",), "the preferred alternative: the first; the last; the longest", {
        "first": Departure(),
        "last": Departure(clause=in_pattern(reversed_alternation)),
        "longest": Departure(meaning=LongestMeaning),
    }),
    "permute": (("permute",), "PERMUTE: prefers its orders as listed; prefers them from the last one; allows any "
        "sequence of its parts with the length of the list", {
        "listed": Departure(),
        "reversed": Departure(clause=in_pattern(reversed_permutation)),
        "repeated": Departure(clause=in_pattern(any_sequence)),
    }),
    "reluctant": (("reluctant",), "a reluctant quantifier: prefers fewer iterations; is greedy", {
        "fewer": Departure(),
        "greedy": Departure(clause=in_pattern(lambda p: quantified(p, greedy=True))),
    }),
    "define": (("define",), "a condition of DEFINE: decides which rows are of a variable; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: replace(q, define=())),
    }),
    "star": (("quantified",), "an iteration of no rows under *: counts; is dropped, and the next way to iterate is "
        "tried", {
        "as-defined": Departure(),
        "rows-only": Departure(meaning=DroppingMeaning),
    }),
    "bounds": (("quantified",), "an upper bound of iterations: counts; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_pattern(
            lambda p: quantified(p, high=None) if isinstance(p, rows.Quantified) and (p.high or 0) > 1 else p
        )),
    }),
    "exclusion": (("exclusion",), "rows inside {- -}: are matched but not shown; are shown", {
        "hidden": Departure(),
        "shown": Departure(clause=in_pattern(lambda p: p.pattern if isinstance(p, rows.Exclusion) else p)),
    }),
    "anchors": (("anchor",), "^ and $: as defined; ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_pattern(lambda p: rows.Empty() if isinstance(p, rows.Anchor) else p)),
    }),
    "skip": ((), "the search goes on: as AFTER MATCH SKIP says; past the last row; at the next row", {
        "as-defined": Departure(),
        "past-last-row": Departure(clause=lambda q: replace(q, skip=RowSkip())),
        "next-row": Departure(clause=lambda q: replace(q, skip=RowSkip("next row"))),
    }),
    "skip-to": (("skip to",), "TO FIRST and TO LAST: as defined; exchanged", {
        "as-defined": Departure(),
        "exchanged": Departure(clause=reversed_target),
    }),
    "running": (("measures",), "RUNNING and FINAL: as defined; all is RUNNING; all is FINAL", {
        "as-defined": Departure(),
        "running": Departure(clause=in_expressions(lambda e: semantics(e, "RUNNING"), define=False)),
        "final": Departure(clause=in_expressions(lambda e: semantics(e, "FINAL"), define=False)),
    }),
    "navigation": (("measures",), "FIRST, LAST and columns in MEASURES read: a row of the variable; the first or last "
        "of its rows whose value is not NULL", {
        "rows": Departure(),
        "values": Departure(output=PresentOutput),
    }),
    "physical": (("physical",), "PREV and NEXT see the rows: of the partition; of the match; of all partitions", {
        "partition": Departure(),
        "match": Departure(looks=in_the_match, shows=in_the_match),
        "table": Departure(looks=in_the_table, shows=in_the_table),
    }),
    "frame": (("window",), "PREV and NEXT in WINDOW see the rows: of the frame; of the partition", {
        "frame": Departure(),
        "partition": Departure(looks=in_the_partition, shows=in_the_partition),
    }),
    "frame-end": (("frame end",), "a frame of WINDOW ends: as written; with the partition", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: in_window(q, following=None)),
    }),
    "seek": (("seek",), "SEEK: finds the first match of the frame; is taken for INITIAL", {
        "as-defined": Departure(),
        "initial": Departure(clause=lambda q: in_window(q, seek=False)),
    }),
    "offset": (("logical",), "the offset of FIRST and LAST: counts; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_expressions(unoffset)),
    }),
    "unknown": (("define",), "a test of NULL is: unknown; false; unknown, but NULL = NULL is true", {
        "unknown": Departure(),
        "false": Departure(clause=in_expressions(on_two_values)),
        "equal": Departure(clause=in_expressions(equal_nulls)),
    }),
    "union": (("subset", "classifier"), "CLASSIFIER of a union is: a variable of the pattern; the union's name", {
        "primary": Departure(),
        "name": Departure(clause=name_of_union),
    }),
    "match-number": (("match_number",), "MATCH_NUMBER: starts from 1 in each partition; starts from 0; "
        "goes on in the next partition", {
        "from-1": Departure(),
        "from-0": Departure(before=-1),
        "goes-on": Departure(counts_on=True),
    }),
    "empty": ((), "an empty match: is reported; is not", {
        "reported": Departure(),
        "dropped": Departure(reported=lambda found: bool(found.labelling)),
    }),
    "count": (("aggregate",), "COUNT of values: leaves NULL out; counts rows", {
        "values": Departure(),
        "rows": Departure(clause=in_expressions(counts_nulls)),
    }),
    "order": (("order by",), "the order of rows: that of ORDER BY; that of the table", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: replace(q, order=())),
    }),
    "partition": (("partition by",), "PARTITION BY: divides the table; is ignored; leaves out rows without a key", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: replace(q, partition=())),
        "null-dropped": Departure(parts=partitions_with_keys),
    }),
}  # fmt: skip
"""For each axis: the operators for which it matters, the meanings of its values, and the `Departure` of each value."""

AXES = axes(
    *(
        Axis(
            one.name,
            get_args(get_type_hints(RowReading)[one.name]),
            (READ_FOR[one.name],) if READ_FOR[one.name] else (),
            f"the reading {one.name}",
        )
        for one in fields(RowReading)
    ),
    *(Axis(name, tuple(values), bears, says) for name, (bears, says, values) in DEPARTURES.items()),
)


def departure(choices: Choices) -> Departure:
    """Combine the departures of all choices into the departure of an engine that makes them."""
    given: dict[str, Any] = {one.name: choices[one.name] for one in fields(RowReading)}
    made = Departure(reading=RowReading(**given))
    for name, (_, _, values) in DEPARTURES.items():
        chosen, default = values[choices[name]], Departure()
        changes: dict[str, Any] = {
            one.name: getattr(chosen, one.name)
            for one in fields(Departure)
            if getattr(chosen, one.name) != getattr(default, one.name)
        }
        if "clause" in changes and made.clause is not as_it_is:
            changes["clause"] = _both(made.clause, chosen.clause)
        if "meaning" in changes and made.meaning is not LookingMeaning:
            # Each class changes one method and calls the next by `super`, so classes of both combine two departures.
            changes["meaning"] = type("BothMeanings", (chosen.meaning, made.meaning), {})
        made = replace(made, **changes)
    return made


def _both(one: Any, other: Any) -> Any:
    return lambda q: other(one(q))


def find_matches(q: MatchRecognize, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """Return the matches of an engine with these choices, with bindings and results. Raises EngineError,
    BudgetExceeded.
    """
    made = departure(choices)
    try:
        require_wellformed(q, made.reading)
        return list(made.list_matches(q, S, budget))
    except IllFormed as error:
        raise EngineError(error.message) from None


# ---------------------------------------------------------------------------------------------------------------------
# The questions about MATCH_RECOGNIZE: clauses, and tables with the columns p, x and y.

X = events("row", x=(0, 1))
X3 = events("row", x=(1, 2, 3))
WITH_NULL = events("row", x=(None, 0, 1))
PARTS_WITH_NULL = events("row", p=(None, 0, 1), x=(0, 1))
PARTS = events("row", p=(0, 1), x=(0, 1))
ABC = "DEFINE A AS x = 1, B AS x = 2, C AS x = 3"


def _rows(pattern: str, rest: str = "", measures: str = "", skip: str = "", by: str = "") -> str:
    """Write a clause from its parts. rest: the text after the pattern. With measures, all rows are shown."""
    shown = f"MEASURES {measures} ALL ROWS PER MATCH" if measures else ""
    after = f"AFTER MATCH SKIP {skip}" if skip else ""
    return f"MATCH_RECOGNIZE ({' '.join(filter(None, (by, shown, after, f'PATTERN ({pattern})', rest)))})"


def _one_row(pattern: str, measures: str) -> str:
    """Write a clause from its parts, with one row per match, as some engines support nothing else."""
    return _rows(pattern, measures=measures).replace("ALL ROWS", "ONE ROW")


def _window(pattern: str, rest: str, end: str = "UNBOUNDED", skip: str = "") -> str:
    """Write a WINDOW clause from its parts."""
    after = f"AFTER MATCH SKIP {skip} " if skip else ""
    return f"WINDOW (ROWS BETWEEN CURRENT ROW AND {end} FOLLOWING {after}PATTERN ({pattern}) {rest})"


def _make_stage(axes: str, *queries: str, letters: tuple[dict[str, object], ...] = X, longest: int = 4) -> Stage:
    return Stage(tuple(axes.split()), tuple(Template(query, letters, longest) for query in queries))


STAGES = (
    _make_stage("skip", _rows("A B"), _rows("A B", skip="TO NEXT ROW")),
    _make_stage("define", _rows("A", "DEFINE A AS x = 1"), _rows("A B", "DEFINE B AS x = 1")),
    _make_stage(
        "preference empty empty_matches bounds bounded_iterations empty_iterations reluctant star",
        _rows("A? B", "DEFINE A AS x = 1"),
        _rows("A?", "DEFINE A AS x = 1", "MATCH_NUMBER() AS n"),
        _rows("A+ B", "DEFINE A AS x = 1"),
        _rows("A{1,2}", "DEFINE A AS x = 1"),
        _rows("A+ A"),  # a loop that gives nothing back leaves nothing for what follows it
        _rows("A* A", "DEFINE A AS x = 1"),
        _rows("C A+ B", "DEFINE A AS x = 1"),
        _rows("A+?"),
        _rows("A*? B", "DEFINE B AS x = 1"),
        _rows("(A?)*", "DEFINE A AS x = 1"),
        _rows("(() | A)*", "DEFINE A AS x = 1"),
        _rows("(A??)*", "DEFINE A AS x = 1"),
        _rows("(A?){0,2} $", "DEFINE A AS x = 1"),
        _rows("((A)??){0,2} B? $", "DEFINE A AS x = 1"),
        _rows("(() | A | B){0,2} C? $", "DEFINE C AS COUNT(B.*) = 1"),
    ),
    _make_stage(
        "alternation",
        _rows("(A | B) C?", "DEFINE C AS x = 1"),
        _rows("A | A B"),
        _rows("A B | A"),
        _rows("A B | C", "DEFINE A AS x = 1"),
        _rows("(A | A B) C", "DEFINE B AS x = 1, C AS x = 1"),
    ),
    _make_stage(
        "permute",
        _rows("PERMUTE(A, B)"),
        _rows("PERMUTE(A, B, C)", ABC),
        _rows("PERMUTE(A, B)", "DEFINE A AS x = 1"),
        letters=X3,
    ),
    _make_stage("anchors", _rows("^ A", skip="TO NEXT ROW"), _rows("A $")),
    _make_stage("exclusion", _rows("A {- B -}", "", "x AS m")),
    _make_stage(
        "skip-to skip_to_nothing skip_to_first",
        _rows("A B B", "DEFINE A AS x = 1", skip="TO LAST B"),
        _rows("A B B", "DEFINE A AS x = 1", skip="TO FIRST B"),
        _rows("A B?", "DEFINE B AS x = 1", skip="TO B"),
        _rows("A B", skip="TO FIRST A"),
        longest=5,
    ),
    _make_stage(
        "running offset",
        _rows("A B", "", "LAST(x) AS m, FINAL LAST(x) AS n"),
        _rows("A A", "", "LAST(x, 1) AS m, FIRST(x, 1) AS n"),
    ),
    _make_stage(
        "navigation", _one_row("A A", "LAST(x) AS m, FIRST(x) AS n"), _one_row("A B", "x AS m"), letters=WITH_NULL
    ),
    _make_stage("match-number", _rows("A", "", "MATCH_NUMBER() AS n", by="PARTITION BY p"), letters=PARTS),
    _make_stage("partition", _rows("A B", by="PARTITION BY p"), letters=PARTS_WITH_NULL),
    _make_stage("nulls order", _rows("A B", by="ORDER BY x"), _rows("A B", by="ORDER BY x DESC"), letters=WITH_NULL),
    _make_stage(
        "physical",
        _rows("A B", "DEFINE B AS x > PREV(x)"),
        _rows("A", "DEFINE A AS PREV(x) = 1"),
        _rows("A", "DEFINE A AS PREV(x) = 1", by="PARTITION BY p"),
        letters=PARTS,
    ),
    _make_stage(
        "frame frame-end seek",
        _window("A", "DEFINE A AS PREV(x) IS NULL"),
        _window("A", "DEFINE A AS NEXT(x) IS NULL", "1"),
        _window("A+", "DEFINE A AS x = 1", "1", "TO NEXT ROW"),
        _window("A", "DEFINE A AS x = 1", skip="TO NEXT ROW SEEK"),
        _window("A", "DEFINE A AS x = 1", "1", "PAST LAST ROW SEEK"),
    ),
    _make_stage(
        "unknown",
        *(_rows("A", f"DEFINE A AS {text}") for text in ("NOT x = 1", "x = NULL", "(x > 0) IS NULL", "x = y")),
        letters=events("row", x=(None, 0, 1), y=(None, 0)),
        longest=2,
    ),
    _make_stage("union", _rows("A B", "SUBSET U = (A, B)", "CLASSIFIER(U) AS c")),
    _make_stage("count", _rows("A A", "", "COUNT(x) AS n"), _one_row("A A", "COUNT(x) AS n"), letters=WITH_NULL),
    _make_stage(
        "integer_division",
        *(_rows("A", f"DEFINE A AS x / 2 {text}") for text in ("= 1", "= 1.5", "> 1", "< 1.5")),
        letters=X3,
        longest=2,
    ),
    Stage(
        (),
        (
            Template(_rows("(A | B)+ C", ABC), X3, 4),
            Template(_rows("A+? B* C?", ABC, skip="TO NEXT ROW"), X3, 4),
            Template(_rows("(A B?){1,2}", "DEFINE B AS x > PREV(x)", "CLASSIFIER() AS c"), X, 4),
        ),
    ),
)

SHAPES = (
    (_rows("A+ A", "DEFINE A AS x = 1"), events("row", x=(1, 1, 0))),
    (_rows("(A | A B) C", "DEFINE B AS x = 1, C AS x = 1"), events("row", x=(0, 1, 1))),
    (_rows("A (B | C)+ A", ABC, skip="TO NEXT ROW"), events("row", x=(1, 2, 3, 1, 2, 1))),
)

INTERPRETATION = Interpretation(
    AXES, find_matches, features, require_wellformed, "valuations", stages=STAGES, shapes=SHAPES
)
