"""Hypotheses about SASE+: the definition of sase07, section 2.2, with a choice at each step where engines differ.

The readings of what the papers leave open are axes too, by the names that Reading gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cerify.automata.evaluator import Output
from cerify.conformance.hypotheses.axis import AT_MOST, AT_MOST_SAYS, Axis, Choices, axes
from cerify.conformance.hypotheses.conditions import CONDITIONS, Conditions
from cerify.conformance.hypotheses.interpretation import Interpretation
from cerify.conformance.hypotheses.reporting import EMIT, OVERLAP, TIES, WINDOW_DEFAULT, seconds_between
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Bindings, Event, Match, Stream
from cerify.semantics.predicates import Predicate
from cerify.semantics.sase import clauses, program
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.absence import Absences
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.conditions import Edge, placed, value_of
from cerify.semantics.sase.denote import Chosen, Definition
from cerify.semantics.sase.operators import CONSTRUCTS
from cerify.semantics.sase.reading import Reading
from cerify.semantics.sase.reading import choices as readings
from cerify.semantics.sase.streams import blocks_of, queries_of, source_of
from cerify.semantics.sase.watch import Counted
from cerify.semantics.sase.wellformed import require_wellformed

STRATEGIES: dict[str, sase.Strategy] = {
    "strict": "strict_contiguity",
    "partition": "partition_contiguity",
    "next": "skip_till_next_match",
    "any": "skip_till_any_match",
}
READINGS = readings()
READ_FOR = {
    "last_kleene": "kleene",
    "cut_in_last_place": "cut",
    "stream_end": "kleene",
    "window": "within",
    "kleene_skips": "kleene",
    "negation_in_front": "negation",
    "negated_series": "negation",
    "non_overlap": "non-overlap",
}
WINDOW = Axis(
    "window",
    ("open", "closed", "off-by-one", "integer"),
    ("within",),
    "a match that spans the width exactly is out; is in; the width plus one is in too; it is out, with spans and "
    "widths cut to whole seconds",
)

AXES = axes(
    *(
        WINDOW if name == "window" else Axis(name, answers, (READ_FOR[name],), f"the reading {name}")
        for name, answers in READINGS.items()
    ),
    *(
        Axis(
            f"strategy@{name}",
            ("as-defined", *(other for other in STRATEGIES if other != name), "other-types"),
            (name,),
            "the strategy is: as defined; "
            + "".join(f"taken for {other}; " for other in STRATEGIES if other != name)
            + "one that skips events of other types alone",
        )
        for name in STRATEGIES
    ),
    Axis(
        "loop",
        ("as-defined", "single", "at-least-two", "greedy", "until-next", *AT_MOST),
        ("kleene",),
        "a Kleene plus is as defined; has one event; two or more; is left only where it can take no event; is left at "
        "the first event that the next component can take; " + "; ".join(AT_MOST_SAYS.values()),
    ),
    Axis("cut", ("as-defined", "ignored"), ("cut",), "`!` is as defined; is ignored"),
    Axis(
        "negation",
        ("all", "next", "any-between", "ignored"),
        ("negation",),
        "a negated component is looked for in its whole scope; right after what comes before it; from the first to the "
        "last event of the match; nowhere",
    ),
    Axis("equivalence", ("as-defined", "ignored"), ("equivalence",), "an equivalence test is as defined; is ignored"),
    OVERLAP,
    EMIT,
    TIES,
    WINDOW_DEFAULT,
    *(Axis(one.name, one.values, ("condition",), one.says) for one in CONDITIONS),
)


def found(q: sase.Tree, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """The matches of a well-formed query, with bindings and results. Raises EngineError, BudgetExceeded."""
    given = {name: choices[name] for name in READINGS if name != "window"}
    reading = Reading(**given)  # type: ignore[arg-type]

    def find(q: sase.Query, S: Stream, reading: Reading, budget: Budget, operations: Operations) -> Iterable[Bindings]:
        watch = Counted(budget.valuations, "sequences of events")
        return set(_Definition(q, S, reading, operations, watch, choices).matches())

    if isinstance(q, sase.Query) and source_of(q) is None:
        return program.of_block(q, S, find, reading, budget, NO_OPERATIONS)
    return program.matches_of(q, S, find, reading, budget)


def operators(q: sase.Tree) -> frozenset[str]:
    """The names of the constructs that a query uses."""
    names = {one.name for one in CONSTRUCTS if one.used is not None and one.used(q)}
    blocks = [block for query in queries_of(q) for block in blocks_of(query)]
    if any(True for block in blocks for _ in clauses.conjuncts(block)):
        names.add("condition")
    return frozenset(names)


def spans(window: sase.Window, first: Event, last: Event, how: str) -> bool | None:
    """Whether one event is in the window of another; None where their times cannot be compared."""
    seconds, width = seconds_between(first, last), window.seconds
    if seconds is None or seconds != seconds:
        return None
    match how:
        case "open":
            return seconds < width
        case "closed":
            return seconds <= width
        case "off-by-one":
            return seconds <= width + 1
        case "integer":
            return seconds < int(width)
        case _:
            raise Unsupported(f"windows that are {how}")


def _agree(name: str, event: Event, other: Event, conditions: Conditions) -> bool:
    """An equivalence test of two events."""
    return conditions.ordered("=", conditions.read(event.get(name)), conditions.read(other.get(name))) is True


class _Definition(Definition):
    """The definition with choices."""

    def __init__(
        self, q: sase.Query, S: Stream, reading: Reading, operations: Operations, watch: Any, choices: Choices
    ) -> None:
        super().__init__(q, S, reading, operations, watch)
        self.choices, self.truth = choices, Conditions(choices)
        self.absences = _Absences(q, S, reading, operations, watch)
        self.absences.choices, self.absences.truth = choices, self.truth
        if choices["equivalence"] == "ignored":
            self.tests = self.marked_tests = []

    def matches(self) -> Iterator[Bindings]:
        arrays = {k.variable for k in self.pattern if k.kleene}
        for M in super().matches():
            if self.choices["loop"] != "at-least-two" or all(len(at) > 1 for a, at in M if a in arrays):
                yield M

    def goes_on(self, chosen: Chosen, p: int) -> bool:
        loop, k = self.choices["loop"], chosen[-1][0]
        most = 1 if loop == "single" else AT_MOST.get(loop)
        full = most is not None and sum(1 for other, _ in chosen if other == k) >= most
        return not full and super().goes_on(chosen, p)

    def spans(self, first: int, p: int) -> bool | None:
        if self.q.within is None:
            return None
        return spans(self.q.within, self.S[first], self.S[p], self.choices["window"])

    def agrees(self, chosen: Chosen, p: int, tests: Iterable[str]) -> bool:
        return not chosen or all(_agree(x, self.S[p], self.S[chosen[-1][1]], self.truth) for x in tests)

    def satisfied(self, c: Predicate, bound: dict[str, tuple[int, ...]]) -> bool:
        return self.truth.satisfied(c, value_of(bound, self.S, self.operations))

    def skips(self, chosen: Chosen, k: int, r: int) -> bool:
        strategy = clauses.strategy_of(self.q, self.pattern[k].variable)
        name = next(name for name, other in STRATEGIES.items() if other == strategy)
        chosen_strategy = self.choices[f"strategy@{name}"]
        match name if chosen_strategy == "as-defined" else chosen_strategy:
            case "strict":
                return False
            case "partition":
                return not self.in_partition(chosen, k, r)
            case "next":
                return not self.selects(chosen, k, r)
            case "any":
                return True
            case _:
                return self.S[r].type != self.pattern[k].type

    def may_stop(self, chosen: Chosen, t: int) -> bool:
        k = chosen[-1][0]
        may = super().may_stop(chosen, t)
        if self.choices["loop"] != "greedy" or self.ends(k) or t == len(self.S):
            return may
        return may and (self.must_stop(chosen, t) or not self.selects(chosen, k, t))

    def must_stop(self, chosen: Chosen, t: int) -> bool:
        k, at_end = chosen[-1][0], t == len(self.S)
        if not at_end and self.spans(chosen[0][1], t) is False:
            return True
        if clauses.is_cut(self.q, self.pattern[k].variable) and self.choices["cut"] == "as-defined":
            if self.ends(k):
                return self.is_ended(chosen)
            if k == len(self.pattern) - 1:
                return self.reading.cut_in_last_place == "first"
            return not at_end and self.next_selects(chosen, t)
        until_next = self.choices["loop"] == "until-next" and not self.ends(k)
        return until_next and not at_end and self.next_selects(chosen, t)


class _Absences(Absences):
    """What negated components forbid, with choices."""

    choices: Choices
    truth: Conditions

    def forbid(self, M: Bindings) -> bool:
        return self.choices["negation"] != "ignored" and super().forbid(M)

    def scope(self, k: sase.Component, M: Bindings) -> list[int] | None:
        scope, at = super().scope(k, M), self.q.pattern.index(k)
        if scope is None:
            return None
        match self.choices["negation"]:
            case "next":
                return scope[-1:] if at == 0 else scope[:1]
            case "any-between" if 0 < at < len(self.q.pattern) - 1:
                bound = {p for _, places in M for p in places}
                return [p for p in range(min(bound), max(bound) + 1) if p not in bound]
            case _:
                return scope

    def spans(self, window: sase.Window, p: int, r: int) -> bool | None:
        return spans(window, self.S[p], self.S[r], self.choices["window"])

    def agrees(self, k: sase.Component, M: Bindings, series: tuple[int, ...], tests: Iterable[str]) -> bool:
        if self.choices["equivalence"] == "ignored":
            return True
        *before, p = series
        earlier = [r for c in self.q.pattern[: self.q.pattern.index(k)] for r in dict(M).get(c.variable, ())]
        neighbour = before[-1] if before else earlier[-1] if earlier else M[0][1][0]
        return all(_agree(x, self.S[p], self.S[neighbour], self.truth) for x in tests)

    def satisfy(
        self,
        k: sase.Component,
        M: Bindings,
        series: tuple[int, ...],
        edges: tuple[Edge, ...],
        only: list[Predicate | sase.Equivalence] | None = None,
    ) -> bool:
        value = value_of(dict(M) | {k.variable: series}, self.S, self.operations)
        order = (*clauses.positive(self.q), k)
        return all(
            self.truth.satisfied(c, value)
            for c in clauses.clauses_of_absence(self.q, k.variable)
            if placed(c, order).edge in edges and (only is None or c in only)
        )


INTERPRETATION = Interpretation(AXES, found, operators, require_wellformed, strategies=frozenset(STRATEGIES))
