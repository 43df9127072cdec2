"""Hypotheses about SASE+: the definition of sase07, section 2.2, with a choice at each step where engines differ.

The questions that the papers leave open are axes too, by the names that Reading gives them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import (
    AT_MOST,
    AT_MOST_SAYS,
    CONDITIONS,
    EMIT,
    EVENT_ORDER,
    OVERLAP,
    TIES,
    WINDOW_DEFAULT,
    Axis,
    Choices,
    ConditionVariant,
    Interpretation,
    Stage,
    Template,
    axes,
    conditions,
    events,
    seconds_between,
    types,
)
from cerify.semantics.arguments import Budget, choices
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Bindings, Event, Match, Stream
from cerify.semantics.predicates import Predicate
from cerify.semantics.readings import NO_OPERATIONS, Operations, Reading
from cerify.semantics.sase import clauses, interpreter
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import require_wellformed
from cerify.semantics.sase.clauses import CONSTRUCTS, blocks_of, queries_of, source_of
from cerify.semantics.sase.denote import Chosen, Counted, Edge, SaseAbsences, SaseDefinition, placed, value_of

STRATEGIES: dict[str, sase.Strategy] = {
    "strict": "strict_contiguity",
    "partition": "partition_contiguity",
    "next": "skip_till_next_match",
    "any": "skip_till_any_match",
}
READINGS = choices(Reading)
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
    ("open", "closed", "off-by-one", "integer", "unlimited"),
    ("within",),
    "a match that spans the width exactly: is out; is in; is in, and so is one that spans the width plus one; is out, "
    "with spans and widths cut to whole seconds; is in, and so is any longer one: the window is ignored",
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
            + "taken for one that skips only events of other types",
        )
        for name in STRATEGIES
    ),
    Axis(
        "loop",
        ("as-defined", "single", "at-least-two", "greedy", "until-next", *AT_MOST),
        ("kleene",),
        "a Kleene plus: is as defined; has one event; has two or more; ends only where it can take no event; ends at "
        "the first event that the next component can take; " + "; ".join(AT_MOST_SAYS.values()),
    ),
    Axis("cut", ("as-defined", "ignored"), ("cut",), "`!`: as defined; ignored"),
    Axis(
        "negation",
        ("all", "next", "any-between", "ignored"),
        ("negation",),
        "a negated component is looked for: in its whole scope; right after the component before it; from the first to "
        "the last event of the match; nowhere",
    ),
    Axis("equivalence", ("as-defined", "ignored"), ("equivalence",), "an equivalence test: as defined; ignored"),
    OVERLAP,
    EMIT,
    EVENT_ORDER,
    TIES,
    WINDOW_DEFAULT,
    Axis("filter", ("as-defined", "ignored"), ("condition",), "a condition: as defined; ignored"),
    *(Axis(one.name, one.values, ("condition",), one.says) for one in CONDITIONS),
)


def find_matches(q: sase.Tree, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """Return the matches of a well-formed query for an engine with these choices, with bindings and results.

    Raises EngineError, BudgetExceeded.
    """
    given = {name: choices[name] for name in READINGS if name != "window"}
    reading = Reading(**given)  # type: ignore[arg-type]

    def find(
        q: sase.SaseQuery, S: Stream, reading: Reading, budget: Budget, operations: Operations
    ) -> Iterable[Bindings]:
        watch = Counted(budget.valuations, "sequences of events")
        return set(_Definition(q, S, reading, operations, watch, choices).matches())

    if isinstance(q, sase.SaseQuery) and source_of(q) is None:
        return interpreter.of_block(q, S, find, reading, budget, NO_OPERATIONS)
    return interpreter.matches_of(q, S, find, reading, budget)


def operators(q: sase.Tree) -> frozenset[str]:
    """Return the names of the constructs that a query uses."""
    names = {one.name for one in CONSTRUCTS if one.used is not None and one.used(q)}
    blocks = [block for query in queries_of(q) for block in blocks_of(query)]
    if any(True for block in blocks for _ in clauses.conjuncts(block)):
        names.add("condition")
    return frozenset(names)


def spans(window: sase.SaseWindow, first: Event, last: Event, how: str) -> bool | None:
    """Return whether `last` is in the window that begins with `first`; None if their times cannot be compared.

    how: the choice about the window's end.
    """
    if how == "unlimited":
        return True
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
            raise Unsupported(f"the matches of windows that are {how} cannot be predicted")


def _agree(name: str, event: Event, other: Event, conditions: ConditionVariant) -> bool:
    """Return whether two events pass an equivalence test: whether they have the same value of the attribute."""
    return (
        conditions.ordered("=", conditions.read_value(event.get(name)), conditions.read_value(other.get(name))) is True
    )


class _Definition(SaseDefinition):
    """The definition of a query's matches, in which choices replace some clauses."""

    def __init__(
        self, q: sase.SaseQuery, S: Stream, reading: Reading, operations: Operations, watch: Any, choices: Choices
    ) -> None:
        super().__init__(q, S, reading, operations, watch)
        self.choices, self.truth = choices, ConditionVariant(choices)
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
        return self.choices["filter"] == "ignored" or self.truth.satisfied(c, value_of(bound, self.S, self.operations))

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


class _Absences(SaseAbsences):
    """The negated components of a query, which forbid matches, changed by the choices."""

    choices: Choices
    truth: ConditionVariant

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

    def spans(self, window: sase.SaseWindow, p: int, r: int) -> bool | None:
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
        return self.choices["filter"] == "ignored" or all(
            self.truth.satisfied(c, value)
            for c in clauses.clauses_of_absence(self.q, k.variable)
            if placed(c, order).edge in edges and (only is None or c in only)
        )


# ---------------------------------------------------------------------------------------------------------------------
# The questions about SASE+.

AB, ABC = types("A B"), types("A B C")
TIMED = events("A B", after=(1, 2, 3))
NEXT, ANY = "skip_till_next_match", "skip_till_any_match"
STRICT, PARTITION = "strict_contiguity", "partition_contiguity"


def _sase(pattern: str, strategy: str = ANY, where: str = "", rest: str = "", returned: str = "a.x") -> str:
    variables = ", ".join(part.split()[-1] for part in pattern.split(", ") if not part.startswith("~"))
    clause = f" WHERE {strategy}({variables}) {{ {where} }}"
    return f"PATTERN SEQ({pattern}){clause}{f' {rest}' if rest else ''} RETURN {returned}"


STAGES = (
    Stage(
        ("emit", "overlap", "strategy@any"),
        (
            Template("PATTERN SEQ(A a) RETURN a.x", AB, 3),
            Template(_sase("A a, B b"), ABC, 5),
            Template(_sase("A a, B b, C c"), ABC, 4),
            Template(_sase("A a, B b", where="b.x = 1"), events("A B C", x=(0, 1)), 3),
            Template(_sase("A a, B b", where="[x]"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b", where="b.x = a.x"), events("B", x=(1, 2)), 2, events("A", x=(1, 2))),
        ),
    ),
    Stage(("event-order", "ties"), (Template(_sase("A a, B b"), events("A B", after=(-1, 0, 1)), 3),)),
    Stage(("window-default",), (Template(_sase("A a, B b"), events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(("equivalence",), (Template("PATTERN SEQ(A a, B b) WHERE [x] RETURN a.x", events("A B", x=(0, 1)), 3),)),
    *(
        Stage(
            (f"strategy@{name}",),
            (
                Template(_sase("A a, B b", strategy), ABC, 5),
                Template(_sase("A a, B b", strategy, "b.x = 1"), events("A B C", x=(0, 1)), 3),
                Template(_sase("A a, B b", strategy, "[x]"), events("A B C", x=(0, 1)), 3),
            ),
        )
        for name, strategy in (("next", NEXT), ("strict", STRICT))
    ),
    Stage(
        ("strategy@partition",),
        (
            Template(_sase("A a, B b", PARTITION, "[x]"), events("A B C", x=(0, 1)), 3),
            Template(_sase("A a, B b", PARTITION, "[x]"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b", PARTITION, "[x] and b.y = 1"), events("A B", x=(0, 1), y=(0, 1)), 3),
        ),
    ),
    Stage(
        ("window",),
        (
            Template(_sase("A a, B b", rest="WITHIN 2 seconds"), TIMED, 3),
            Template(_sase("A a, B b", rest="WITHIN 2.5 seconds"), events("A B", after=(1.0, 2.0, 2.5)), 3),
        ),
    ),
    Stage(
        ("loop", "last_kleene", "stream_end", "kleene_skips"),
        (
            Template(_sase("A+ a[]", returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[], B b", returned="b.x"), AB, 5),
            Template(_sase("A+ a[]", NEXT, returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[], B b", NEXT, returned="b.x"), ABC, 5),
            Template(_sase("A+ a[], A b", NEXT, "b.x = 1", returned="b.x"), events("A B", x=(0, 1)), 4),
            Template(_sase("A+ a[], A b", returned="b.x"), AB, 5),
            Template(_sase("A+ a[], A b", NEXT, returned="b.x"), AB, 4),
            Template(_sase("A+ a[], A b", STRICT, returned="b.x"), AB, 4),
            Template(_sase("C c, A+ a[], B b", returned="b.x"), ABC, 5),
            Template(_sase("A+ a[]", STRICT, returned="a[1].x"), AB, 4),
            Template(_sase("A+ a[]", STRICT, returned="a[1].x"), types("A"), 8),
            Template(_sase("A+ a[]", ANY, rest="WITHIN 3 seconds", returned="a[1].x"), events("A B", after=(1, 2)), 4),
        ),
    ),
    Stage(
        ("cut", "cut_in_last_place"),
        (
            Template(_sase("A+ a[]", NEXT, returned="a[1].x").replace("(a[])", "(a[]!)"), AB, 4),
            Template(_sase("A+ a[], B b", returned="b.x").replace("(a[],", "(a[]!,"), AB, 5),
            Template(_sase("A+ a[], B b", NEXT, returned="b.x").replace("(a[],", "(a[]!,"), AB, 5),
            Template(
                _sase("A+ a[], A b", NEXT, "b.x = 1", returned="b.x").replace("(a[],", "(a[]!,"),
                events("A B", x=(0, 1)),
                4,
            ),
        ),
    ),
    Stage(
        ("negation", "negation_in_front", "negated_series"),
        (
            Template(_sase("A a, ~B b, C c"), ABC, 5),
            Template(_sase("A a, ~B b, C c, C d"), ABC, 5),
            Template(
                _sase("A a, ~B+ b[], C c", NEXT, "b[i].x > b[i-1].x and count(b[]) >= 3"),
                events("B", x=(2, 3)) + events("C", x=(0,)),
                3,
                events("A", x=(0,)) + events("B", x=(1, 5)),
            ),
            Template(_sase("~B b, C c", rest="WITHIN 2 seconds", returned="c.x"), events("B C", after=(1, 2)), 4),
            Template(
                f"PATTERN SEQ(A a, ~B+ b[], C c) WHERE {NEXT}(a, c) {{ b[b.LEN].x = 1 }} "
                f"{NEXT}(b[]) {{ b[i].x > b[i-1].x }} RETURN a.x",
                events("A C", x=(0,)) + events("B", x=(0, 1)),
                4,
            ),
            Template(
                "PATTERN SEQ(A a, ~B+ b[], C c) WHERE avg(b[].x) = 1 RETURN a.x",
                events("A C", x=(0,)) + events("B", x=(0, 1, 2)),
                4,
            ),
        ),
    ),
    Stage(
        ("non_overlap",),
        (
            Template(_sase("A a, B b").replace("RETURN", "RETURN NON-OVERLAP"), AB, 5),
            Template(
                _sase("A a, B b", where="b.x = a.x").replace("RETURN", "RETURN NON-OVERLAP"),
                events("A B", x=(1, 2)),
                4,
                events("A", x=(1, 2)),
            ),
            Template(_sase("A+ a[], B b", returned="b.x").replace("RETURN", "RETURN NON-OVERLAP"), AB, 5),
            Template(_sase("A a, B b", rest="WITHIN 3 seconds").replace("RETURN", "RETURN NON-OVERLAP"), TIMED, 3),
        ),
    ),
    *conditions("PATTERN SEQ(A a) WHERE {} RETURN a.x", "a.", also=("filter",)),
    Stage(
        (),
        (
            Template(_sase("A a, B+ b[], C c"), ABC, 5),
            Template(_sase("A a, B+ b[], C c", NEXT), ABC, 5),
            Template(_sase("A+ a[], B b", where="a[i].x = 1", returned="b.x"), events("A B", x=(0, 1)), 4),
            Template(_sase("A a, B b, C c", rest="WITHIN 3 seconds"), events("A B C", after=(1, 2)), 3),
            Template(_sase("A a, ~B b, C c", NEXT), ABC, 5),
        ),
    ),
)

SHAPES = (
    (_sase("A a, B+ b[], C c"), types("A B B C")),
    (_sase("A+ a[], A b", returned="b.x"), types("A A A")),
    (_sase("A+ a[], A b", NEXT, returned="b.x"), types("A A A")),
    (_sase("A a, A b, B c", STRICT), types("A A A B A A A B")),
)

INTERPRETATION = Interpretation(
    AXES, find_matches, operators, require_wellformed, strategies=frozenset(STRATEGIES), stages=STAGES, shapes=SHAPES
)
