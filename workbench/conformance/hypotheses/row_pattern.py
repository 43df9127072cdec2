"""Hypotheses about MATCH_RECOGNIZE: the definition, with a choice at each step where engines differ.

The readings of what the standard leaves open are axes too, by the names that RowReading gives them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import reduce
from itertools import islice
from typing import Any, get_args, get_type_hints

from cerify.automata.evaluator import Output
from cerify.conformance.hypotheses.axis import Axis, Choices, EngineError, axes
from cerify.conformance.hypotheses.interpretation import Interpretation
from cerify.conformance.hypotheses.row_departures import (
    Departure,
    LookingMeaning,
    as_it_is,
    in_expressions,
    in_pattern,
)
from cerify.semantics.budget import Budget
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import Match, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize, Skip
from cerify.semantics.row_pattern.denote import Labelling
from cerify.semantics.row_pattern.expressions import Frame, Row
from cerify.semantics.row_pattern.operators import features
from cerify.semantics.row_pattern.reading import RowReading
from cerify.semantics.row_pattern.wellformed import require_wellformed

READ_FOR = {
    "bounded_iterations": "quantified",
    "skip_to_nothing": "skip to",
    "skip_to_first": "skip to",
    "nulls": "order by",
    "empty_matches": "",
    "integer_division": "product",
    "empty_iterations": "quantified",
}
TRUE, NULL, NEVER = rows.Constant(True), rows.Constant(None), rows.Constant(False)


def on_two_values(e: Any) -> Any:
    """A test that is false, and not unknown, where an operand is NULL."""
    return rows.Coalesce((e, NEVER)) if isinstance(e, rows.Comparison | rows.Between | rows.In | rows.Like) else e


def equal_nulls(e: Any) -> Any:
    """A comparison for equality that is true of two NULLs."""
    if isinstance(e, rows.Comparison) and e.operator == "=":
        return rows.Case(rows.And(rows.IsNull(e.left), rows.IsNull(e.right)), TRUE, e)
    return e


def name_of_union(q: MatchRecognize) -> MatchRecognize:
    """CLASSIFIER of a union is the union's name."""
    unions = {one.name for one in q.subsets}

    def named(e: Any) -> Any:
        if isinstance(e, rows.Classifier) and e.variable in unions:
            return rows.Case(rows.IsNull(e), NULL, rows.Constant(e.variable))
        return e

    return in_expressions(named)(q)


def any_sequence(p: Any) -> Any:
    """PERMUTE takes as many parts as there are, each of them any number of times."""
    if not isinstance(p, rows.Permute):
        return p
    return rows.Quantified(reduce(rows.Alternation, p.parts), len(p.parts), len(p.parts))


def in_the_match(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """PREV and NEXT see the rows of the match alone."""
    inside = range(f.start, f.start + len(f.labels))
    return replace(f, partition=[row if r in inside else {} for r, row in enumerate(f.partition)])


def in_the_table(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """PREV and NEXT see the rows of all partitions."""
    return replace(f, partition=table, visible=range(len(table)), start=start + f.start)


def in_the_partition(f: Frame, table: Sequence[Row], start: int) -> Frame:
    """PREV and NEXT see the rows of the partition, in WINDOW too."""
    return replace(f, visible=range(len(f.partition)))


class GreedyMeaning(LookingMeaning):
    """No labelling is taken back: of the first part of a concatenation there is one way."""

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        if isinstance(p, rows.Concatenation):
            for u in islice(self.labellings(p.left, w), 1):
                yield from self.labellings(p.right, u)
        else:
            yield from super().sequence(p, w)


class LongestMeaning(LookingMeaning):
    """Of alternatives the one that takes most rows is preferred."""

    def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
        found = super().sequence(p, w)
        return iter(sorted(found, key=len, reverse=True)) if isinstance(p, rows.Alternation) else found


def reversed_alternation(p: Any) -> Any:
    """The last alternative is preferred."""
    return rows.Alternation(p.right, p.left) if isinstance(p, rows.Alternation) else p


def reversed_permutation(p: Any) -> Any:
    """The orders of PERMUTE are preferred from the last one."""
    return rows.Permute(p.parts[::-1]) if isinstance(p, rows.Permute) else p


def quantified(p: Any, **changes: Any) -> Any:
    """A quantifier with other fields."""
    return replace(p, **changes) if isinstance(p, rows.Quantified) else p


def semantics(e: Any, name: rows.Semantics) -> Any:
    """A function of the rows of a variable with RUNNING or FINAL."""
    return replace(e, semantics=name) if isinstance(e, rows.Logical | rows.Count | rows.Aggregate) else e


def reversed_target(q: MatchRecognize) -> MatchRecognize:
    """TO FIRST is TO LAST, and the reverse."""
    other: Any = {"first": "last", "last": "first"}.get(q.skip.to, q.skip.to)
    return replace(q, skip=replace(q.skip, to=other))


def in_window(q: MatchRecognize, **changes: Any) -> MatchRecognize:
    """The clause with other fields of its window, if it has one."""
    return q if q.window is None else replace(q, window=replace(q.window, **changes))


def unoffset(e: Any) -> Any:
    """FIRST and LAST without an offset."""
    return replace(e, offset=0) if isinstance(e, rows.Logical) else e


def counts_nulls(e: Any) -> Any:
    """COUNT of values counts rows."""
    if isinstance(e, rows.Aggregate) and e.function == "COUNT":
        return rows.Count(rows.variable_of(e.argument), e.semantics)
    return e


DEPARTURES: Mapping[str, tuple[tuple[str, ...], str, Mapping[str, Departure]]] = {
    "preference": ((), "the match is the first labelling in the order of preferment; the longest; the shortest; the "
        "first one that is found without taking anything back", {
        "preferred": Departure(),
        "longest": Departure(preferred=lambda found: max(found, key=len, default=None)),
        "shortest": Departure(preferred=lambda found: min(found, key=len, default=None)),
        "no-backtracking": Departure(meaning=GreedyMeaning),
    }),
    "alternation": (("alternation",), "the first alternative is preferred; the last; the longest", {
        "first": Departure(),
        "last": Departure(clause=in_pattern(reversed_alternation)),
        "longest": Departure(meaning=LongestMeaning),
    }),
    "permute": (("permute",), "the orders of PERMUTE are preferred as the list says; from the last one; the parts come "
        "in any number each", {
        "listed": Departure(),
        "reversed": Departure(clause=in_pattern(reversed_permutation)),
        "repeated": Departure(clause=in_pattern(any_sequence)),
    }),
    "reluctant": (("reluctant",), "a reluctant quantifier prefers fewer iterations; is as a greedy one", {
        "fewer": Departure(),
        "greedy": Departure(clause=in_pattern(lambda p: quantified(p, greedy=True))),
    }),
    "bounds": (("quantified",), "an upper bound of iterations counts; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_pattern(
            lambda p: quantified(p, high=None) if isinstance(p, rows.Quantified) and (p.high or 0) > 1 else p
        )),
    }),
    "exclusion": (("exclusion",), "rows inside {- -} are matched and not shown; are shown", {
        "hidden": Departure(),
        "shown": Departure(clause=in_pattern(lambda p: p.pattern if isinstance(p, rows.Exclusion) else p)),
    }),
    "anchors": (("anchor",), "^ and $ are as defined; are ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_pattern(lambda p: rows.Empty() if isinstance(p, rows.Anchor) else p)),
    }),
    "skip": ((), "the search goes on as AFTER MATCH SKIP says; past the last row; at the next row", {
        "as-defined": Departure(),
        "past-last-row": Departure(clause=lambda q: replace(q, skip=Skip())),
        "next-row": Departure(clause=lambda q: replace(q, skip=Skip("next row"))),
    }),
    "skip-to": (("skip to",), "TO FIRST and TO LAST are as defined; exchanged", {
        "as-defined": Departure(),
        "exchanged": Departure(clause=reversed_target),
    }),
    "running": (("measures",), "RUNNING and FINAL are as defined; all is RUNNING; all is FINAL", {
        "as-defined": Departure(),
        "running": Departure(clause=in_expressions(lambda e: semantics(e, "RUNNING"), define=False)),
        "final": Departure(clause=in_expressions(lambda e: semantics(e, "FINAL"), define=False)),
    }),
    "physical": (("physical",), "PREV and NEXT see the rows of the partition; of the match; of all partitions", {
        "partition": Departure(),
        "match": Departure(looks=in_the_match, shows=in_the_match),
        "table": Departure(looks=in_the_table, shows=in_the_table),
    }),
    "frame": (("window",), "PREV and NEXT in WINDOW see the rows of the frame; of the partition", {
        "frame": Departure(),
        "partition": Departure(looks=in_the_partition, shows=in_the_partition),
    }),
    "frame-end": (("frame end",), "a frame of WINDOW ends as it says; with the partition", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: in_window(q, following=None)),
    }),
    "seek": (("seek",), "SEEK finds the first match of the frame; is INITIAL", {
        "as-defined": Departure(),
        "initial": Departure(clause=lambda q: in_window(q, seek=False)),
    }),
    "offset": (("logical",), "the offset of FIRST and LAST counts; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=in_expressions(unoffset)),
    }),
    "unknown": (("define",), "a test of NULL is unknown; false; as unknown, but NULL = NULL is true", {
        "unknown": Departure(),
        "false": Departure(clause=in_expressions(on_two_values)),
        "equal": Departure(clause=in_expressions(equal_nulls)),
    }),
    "union": (("subset", "classifier"), "CLASSIFIER of a union is a variable of the pattern; the union's name", {
        "primary": Departure(),
        "name": Departure(clause=name_of_union),
    }),
    "match-number": (("match_number",), "MATCH_NUMBER is from 1 in each partition; from 0; goes on in the next", {
        "from-1": Departure(),
        "from-0": Departure(before=-1),
        "goes-on": Departure(counts_on=True),
    }),
    "empty": ((), "an empty match is reported; is not", {
        "reported": Departure(),
        "dropped": Departure(reported=lambda found: bool(found.labelling)),
    }),
    "count": (("aggregate",), "COUNT of values leaves NULL out; counts rows", {
        "values": Departure(),
        "rows": Departure(clause=in_expressions(counts_nulls)),
    }),
    "order": (("order by",), "rows are in the order of ORDER BY; of the table", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: replace(q, order=())),
    }),
    "partition": (("partition by",), "PARTITION BY parts the table; is ignored", {
        "as-defined": Departure(),
        "ignored": Departure(clause=lambda q: replace(q, partition=())),
    }),
}  # fmt: skip
"""By axis the operators on which it bears, what its values mean, and what an engine with each value does otherwise."""

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
    """What an engine with these choices does otherwise than the definition: all that each of them does."""
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
        made = replace(made, **changes)
    return made


def _both(one: Any, other: Any) -> Any:
    return lambda q: other(one(q))


def found(q: MatchRecognize, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """The matches with bindings and results. Raises EngineError, BudgetExceeded."""
    made = departure(choices)
    try:
        require_wellformed(q, made.reading)
        return list(made.answers(q, S, budget))
    except IllFormed as error:
        raise EngineError(error.message) from None


INTERPRETATION = Interpretation(AXES, found, features, require_wellformed, "valuations")
