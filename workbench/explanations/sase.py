"""Explain SASE+ matches: the run that makes events a match, step by step, or the step that no run can make.

A match is a run of the NFA^b of sase07, and is shown as its moves. If there is no run, the run that comes farthest is
shown with the step that fails. Then restrictions are left out one after the other, to find the smallest set that
prevents a match.
"""

from __future__ import annotations

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property
from itertools import combinations, groupby, islice
from typing import Any, Literal, TypeAlias, assert_never

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab import moves
from cerify.automata.nfab.compile import compile_absence, compile_query
from cerify.automata.nfab.evaluators import attributes_of, matches_of
from cerify.automata.nfab.moves import (
    NfabConfiguration,
    NfabRun,
    Runs,
    accepted,
    present,
    scope_of,
    selected,
    values_in,
)
from cerify.draw.timeline import Row
from cerify.explanations.explanation import (
    Drawing,
    Explainer,
    ExplanationPart,
    ExplanationStep,
    ExplanationView,
    Json,
    Listing,
    Request,
    braces,
    find_nearest,
    json_of_nearest,
    json_of_run,
    listing,
    nearest,
    numbered,
    row,
    value_text,
)
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, InputError
from cerify.semantics.events import TIME, Bindings, ComplexEvent, Match, Stream, bindings_of, result_of
from cerify.semantics.predicates import Predicate, mentions, satisfied
from cerify.semantics.readings import DECIDED, Operations, Reading
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.check import problems, require_wellformed
from cerify.semantics.sase.clauses import blocks_of, queries_of
from cerify.semantics.sase.syntax import (
    Tree,
    show,
    show_attribute,
    show_component,
    show_condition,
    show_conjunct,
    show_window,
)
from cerify.semantics.values import kind, plain
from cerify.terminal import printable

# ---------------------------------------------------------------------------------------------------------------------
# Why a formula on an edge of an NFA^b is true or false for the current event of a run, in words.

NONE_LEFT = "no event is left"


class FormulaEvidence:
    """Finds the facts of a stream that make the formula on an edge true or false at a step of a run."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    def why(self, label: nfab.NfabLabel, now: NfabConfiguration) -> tuple[str, ...]:
        """Return the facts that make the formula of an edge true or false at this step of a run, each fact once.

        label: the name of the edge's formula. now: the state of the run, with its current event and its buffer.
        """
        return tuple(dict.fromkeys(self._theta(label, now)))

    def _theta(self, label: nfab.NfabLabel, now: NfabConfiguration) -> Iterator[str]:
        if now.at == len(self.runs.S):
            if label.part in ("begin", "take", "ignore"):
                yield NONE_LEFT
                return
            if label.part == "auto-stop" and self.runs.reading.stream_end == "waits":
                yield f"{NONE_LEFT}, and it waits for more"
                return
        f = self.runs.A.theta[label]
        if label.part == "ignore" and isinstance(f, nfab.Truth):
            yield "every event may be skipped" if f.value else "no event may be skipped"
        else:
            yield from self._formula(f, now)

    def _formula(self, f: nfab.Formula, now: NfabConfiguration) -> Iterator[str]:
        holds = self.runs.formula(f, now)
        match f:
            case nfab.Truth(value):
                yield "always" if value else "never"
            case nfab.Negation(inner):
                yield from self._formula(inner, now)
            case nfab.NfabConjunction(parts):
                yield from self._parts(parts, now, holds, all_=holds)
            case nfab.NfabDisjunction(parts):
                yield from self._parts(parts, now, holds, all_=not holds)
            case nfab.Theta(label):
                yield from self._theta(label, now)
            case nfab.TypeTest(_, type_) if now.at < len(self.runs.S):
                found = self.runs.S[now.at].type
                yield f"event {now.at} is of type {found}" + ("" if holds else f", not {type_}")
            case nfab.NfabTest(p, state):
                yield self._test(p, state, now, holds)
            case nfab.Elapsed(_, first, window, _, over) if now.at < len(self.runs.S):
                yield self._elapsed(first, window.seconds, now, holds != over)
            case nfab.TypeTest() | nfab.Elapsed():
                yield NONE_LEFT
            case _:
                assert_never(f)

    def _parts(self, parts: tuple[nfab.Formula, ...], now: NfabConfiguration, holds: bool, all_: bool) -> Iterator[str]:
        """Yield the facts for the parts of a formula.

        all_: whether all parts are needed for the result; otherwise only the first part with the truth value `holds` is
        used.
        """
        deciding = parts if all_ else [part for part in parts if self.runs.formula(part, now) == holds][:1]
        for part in deciding:
            yield from self._formula(part, now)

    def _test(self, p: Predicate, state: nfab.NfabState | None, now: NfabConfiguration, holds: bool) -> str:
        text = f"{show_condition(p)} {'holds' if holds else 'does not hold'}"
        if state is not None and now.at == len(self.runs.S):
            return f"{text}: {NONE_LEFT}"
        buffer = now.buffer if state is None else selected(now, state.variable)
        value = values_in(buffer, self.runs.S, self.runs.operations)
        shown = dict.fromkeys(f"{show_attribute(a)} is {value_text(value(a))}" for a in mentions(p))
        return f"{text}: {', '.join(shown)}" if shown else text

    def _elapsed(self, first: nfab.NfabState, seconds: float, now: NfabConfiguration, inside: bool) -> str:
        start = dict(now.buffer)[first.variable][0]
        time = self.runs.S[now.at].get(TIME)
        if time is None or self.runs.S[start].get(TIME) is None:
            return f"event {now.at if time is None else start} has no time"
        where = "within" if inside else "not within"
        return f"event {now.at} is {where} {seconds} seconds of event {start}"


# ---------------------------------------------------------------------------------------------------------------------
# Queries of SASE+ with some of their restrictions left out: conditions, negation, the window, cuts and strategies.

LOOSEST: sase.Strategy = "skip_till_any_match"

Restriction: TypeAlias = (
    sase.Conjunct | sase.Component | sase.SaseWindow | sase.Selected | tuple[sase.Strategy, str] | Literal["HAVING"]
)
"""A part of a query that rejects matches: a conjunct of WHERE, HAVING, a negated component, WITHIN, a cut (`!`), or a
strategy with its variable."""


def relaxations(queries: Iterable[sase.SaseQuery]) -> Iterator[tuple[sase.SaseQuery, tuple[str, ...], sase.SaseQuery]]:
    """Yield each query without one or more of its restrictions, first those that lack the fewest.

    Each item has the query, the texts of the restrictions that are left out, and the query without them.
    """
    known = [(q, restrictions(q)) for q in queries]
    # By size over all blocks of a union, so that the first set that helps is a smallest one.
    for n in range(1, max((len(found) for _, found in known), default=0) + 1):
        for q, found in known:
            for left_out in combinations(found, n):
                yield q, tuple(_text(q, one) for one in left_out), without(q, left_out)


def restrictions(q: sase.SaseQuery) -> list[Restriction]:
    """Return the parts of a query that can be left out to get more matches: conditions first, strategies last."""
    absent, kept = clauses.negated(q), [k.variable for k in clauses.positive(q)]
    found: list[Restriction] = [c for c in clauses.conjuncts(q) if _mentioned(c).isdisjoint(absent)]
    if q.having is not None:
        found.append("HAVING")
    found += [k for k in q.pattern if k.negated]
    if q.within is not None:
        found.append(q.within)
    found += [sase.Selected(a, True) for a in kept if clauses.is_cut(q, a)]
    return [*found, *((s, a) for a in kept if (s := clauses.strategy_of(q, a)) != LOOSEST)]


def without(q: sase.SaseQuery, left_out: tuple[Restriction, ...]) -> sase.SaseQuery:
    """Return the query without these restrictions. A removed strategy becomes skip_till_any_match."""
    gone = {k.variable for k in left_out if isinstance(k, sase.Component)}
    dropped = {id(c) for c in left_out}
    pattern = tuple(k for k in q.pattern if k.variable not in gone)
    blocks = [
        sase.Block(
            LOOSEST if (strategy := clauses.strategy_of(q, k.variable), k.variable) in left_out else strategy,
            (
                sase.Selected(
                    k.variable, clauses.is_cut(q, k.variable) and sase.Selected(k.variable, True) not in left_out
                ),
            ),
            (),
        )
        for k in pattern
    ]
    conjuncts = tuple(c for c in clauses.conjuncts(q) if id(c) not in dropped and _mentioned(c).isdisjoint(gone))
    return replace(
        q,
        pattern=pattern,
        where=(*blocks, sase.Block(None, (), conjuncts)),
        within=None if q.within in left_out else q.within,
        having=None if "HAVING" in left_out else q.having,
    )


def _mentioned(c: sase.Conjunct) -> frozenset[str]:
    return frozenset() if isinstance(c.condition, sase.Equivalence) else clauses.variables(c.condition)


def _text(q: sase.SaseQuery, one: Restriction) -> str:
    match one:
        case sase.Conjunct():
            return show_conjunct(one)
        case sase.Component():
            return show_component(one)
        case sase.SaseWindow():
            return f"WITHIN {show_window(one)}"
        case sase.Selected(variable):
            return f"the ! of {variable}[]!"
        case "HAVING":
            assert q.having is not None
            return f"HAVING {show_condition(q.having)}"
        case (strategy, variable):
            array = "[]" if any(k.kleene for k in q.pattern if k.variable == variable) else ""
            return f"{strategy}({variable}{array}), with {LOOSEST} in its place"
        case _:
            assert_never(one)


MOST_WAYS = 1_000  # the most ways to bind the events that are tried
MOST_NEAREST = 3  # the most nearest matches that are listed
MOST_TRIED = 256  # the most relaxed queries, each with a way to bind the events, that are tried
MOST_READ = 1_000_000  # the most events that runs of relaxed queries may read
NEARBY = Budget(valuations=50_000, seconds=1.0)  # the budget to find matches near the events
FOLDED = 8  # if more events than this are skipped in one state, they are shown as one step
SHOWN = 12  # the most positions that are listed one by one


@dataclass(frozen=True)
class Move:
    """A step of a run from a state at a position: the move, and the formula of its edge.

    text: the step in words. because: the facts that make the formula true.
    """

    move: nfab.Move
    state: str
    at: int
    formula: str
    text: str
    because: tuple[str, ...]

    @property
    def step(self) -> ExplanationStep:
        """Return the step in the form that explanations of every language have."""
        fields = {"move": self.move, "state": self.state, "at": self.at, "formula": self.formula, "text": self.text}
        json = {**fields, "because": list(self.because)}
        return ExplanationStep(self.text, facts=self.because, move=self.move, formula=self.formula, json=json)


@dataclass(frozen=True)
class Accepted:
    """The answer that the events are a match, with up to the requested number of runs.

    more: whether there are more runs. absent: a sentence for each negated component, which does not occur.
    """

    match: Match
    bindings: Bindings
    runs: tuple[tuple[Move, ...], ...]
    more: bool
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """The reason why events, bound to variables in one way, are no match: the step that no run can make.

    steps: those of the run that comes farthest. text, because: the impossible step, and the facts that prevent it.
    complete: whether a run reaches the final state F; then a condition that is checked after the run rejects the match.
    """

    bindings: Bindings
    steps: tuple[Move, ...]
    text: str
    because: tuple[str, ...] = ()
    complete: bool = False

    @property
    def reached(self) -> tuple[bool, int, int]:
        """Return a sort key: whether the run is complete, and how many events it selects and reads."""
        made = [move.move for move in self.steps]
        return self.complete, made.count("begin") + made.count("take"), len(made) - made.count("proceed")


@dataclass(frozen=True)
class NoMatch:
    """The answer that the events are not a match, with the runs that come farthest (failures) and the nearest matches.

    in_the_way: a smallest set of restrictions of the query without which the events are a match; () if none was found.
    """

    events: ComplexEvent
    failures: tuple[Failure, ...]
    nearest: tuple[tuple[int, ...], ...]
    in_the_way: tuple[str, ...] = ()


class SaseRuns:
    """The matches of a query on the stream that it reads, with the runs that explain them."""

    def __init__(self, q: sase.Tree, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> None:
        self.q, self.reading, self.budget = q, reading, budget
        self.parts: tuple[sase.SaseQuery, ...] = blocks_of(queries_of(q)[-1])
        require_wellformed(q)
        read: dict[int, Stream] = {}

        def find(
            part: sase.SaseQuery, on: Stream, reading: Reading, budget: Budget, operations: Operations
        ) -> Iterable[Bindings]:
            # The streams that queries of a program make exist only during evaluation; they are kept here for
            # explanations.
            read[id(part)] = on
            return moves.bindings(part, on, reading, budget, operations)

        self._whole = S
        # If a single query reads the stream itself, the answer about some events depends only on the events near them.
        alone = not isinstance(q, sase.Program) and len(self.parts) == 1
        self._local = alone and self.parts[0].source is None and not self.parts[0].returned.non_overlap
        if self._local:
            self.S = S
        else:
            self.matches = matches_of(q, S, find, reading, budget)
            self.S = read[id(self.parts[0])]

    @cached_property
    def matches(self) -> list[Match]:
        """Return all matches of the query on its stream."""
        return matches_of(self.q, self._whole, moves.bindings, self.reading, self.budget)

    def explain(self, events: ComplexEvent, bound: Bindings | None = None, count: int = 1) -> Accepted | NoMatch:
        """Explain why the events are a match or not, or with `bound`, why they are a match with these bindings or not.

        Raises InputError.
        """
        if not events:
            raise InputError("--match needs at least one position: a match of SASE+ is never empty")
        if beyond := sorted(p for p in events if not 0 <= p < len(self.S)):
            raise InputError(f"position {beyond[0]} is not on the stream that is read, which has {len(self.S)} events")
        matches = self._nearby(events) if self._local else self.matches
        for match in matches:
            if frozenset(match.events) == events and (bound is None or dict(match.bindings or ()) == dict(bound)):
                return self.accepted(match, count)
        ways = [
            (part, M) for part in self.parts for M in ways_of(part, events) if bound is None or dict(M) == dict(bound)
        ]
        failures = []
        for part, M in ways:
            if (failure := self.failure(part, M)) is not None:
                failures.append(failure)
            elif self._local:  # a match that was not found among the nearby ones, which have a budget
                result = result_of(attributes_of(part, M, self.S))
                return self.accepted(Match(max(events), tuple(sorted(events)), tuple(sorted(M)), result), count)
        if not ways:
            failures = [Failure((), (), _unbindable(part, len(events))) for part in self.parts]
        farthest = max((f.reached for f in failures), default=None)
        near = find_nearest(matches, events, len(matches))
        nearest = tuple(dict.fromkeys(m.events for m in near if frozenset(m.events) != events))
        shown = tuple(f for f in failures if f.reached == farthest)
        return NoMatch(events, shown, nearest[:MOST_NEAREST], self._in_the_way(ways))

    def _nearby(self, events: ComplexEvent) -> list[Match]:
        """Return the matches near these events; [] if finding them takes too long.

        A run depends only on the events of its window. So if the query has a window, only a part of the stream is read:
        from one window before the events to two windows after them. Matches that begin near its end are left out.
        """
        begin, end, behind = 0, len(self.S), len(self.S)
        if (window := self.parts[0].within) is not None:
            times = [time for event in self.S if (time := event.get(TIME)) is not None]
            if len(times) == len(self.S) and len(set(map(kind, times))) == 1 and times == sorted(times):
                width: Any = timedelta(seconds=window.seconds) if isinstance(times[0], datetime) else window.seconds
                begin = max(0, bisect_left(times, times[min(events)] - width) - 1)
                behind = bisect_right(times, times[max(events)] + width)
                end = min(len(times), bisect_right(times, times[max(events)] + 2 * width) + 1)
        try:
            found = matches_of(self.q, self.S.part(begin, end - begin), moves.bindings, self.reading, NEARBY)
        except BudgetExceeded:
            return []
        moved = (
            replace(
                match,
                at=match.at + begin,
                events=tuple(p + begin for p in match.events),
                bindings=tuple((a, tuple(p + begin for p in at)) for a, at in match.bindings or ()),
            )
            for match in found
        )
        return [match for match in moved if match.events[0] < behind]

    def all(self) -> Iterator[Accepted]:
        """Yield every match, each with one run."""
        return (self.accepted(match, 1) for match in self.matches)

    def accepted(self, match: Match, count: int) -> Accepted:
        """Return the answer for a match, with up to `count` of its runs."""
        for part in self.parts:
            order = [k.variable for k in clauses.positive(part)]
            bound = dict(match.bindings or ())
            if set(order) == set(bound):
                M: Bindings = tuple((a, bound[a]) for a in order)
                runs = self._runs(part)
                found = list(islice(runs.find_runs(M), count + 1))
                if found:
                    moves_made = tuple(tuple(self._moves(part, runs, run)) for run in found[:count])
                    return Accepted(match, M, moves_made, len(found) > count, tuple(self._absent(part, M, runs)))
        raise AssertionError("a match has a run")

    def _in_the_way(self, ways: Sequence[tuple[sase.SaseQuery, Bindings]]) -> tuple[str, ...]:
        """Return a smallest set of restrictions that prevent a match: without them, one of the ways to bind the events
        is one.

        Return () if none is found. Queries with NON-OVERLAP are not tried, because they would need all matches.
        """
        typed = [(part, M) for part, M in ways if self._has_types(part, M)]
        parts = [q for q in self.parts if not q.returned.non_overlap and any(part is q for part, _ in typed)]
        relaxed = (
            (q, names, less) for q, names, less in relaxations(parts) if not problems(replace(less, source=None))
        )
        tried = ((names, less, M) for q, names, less in relaxed for part, M in typed if part is q)
        for names, less, M in islice(tried, min(MOST_TRIED, MOST_READ // len(self.S) + 1)):
            if self.failure(less, M) is None:
                return names
        return ()

    def _has_types(self, part: sase.SaseQuery, M: Bindings) -> bool:
        return all(self.S[p].type == k.type for k, (_, at) in zip(clauses.positive(part), M, strict=True) for p in at)

    def failure(self, part: sase.SaseQuery, M: Bindings) -> Failure | None:
        """Return why the bindings M are not a match of a query block; None if they are one.

        The reason is the step that no run with these bindings can make, or the condition that rejects the complete run.
        """
        runs = self._runs(part)
        furthest, accepting = self._furthest(runs, M)
        if accepting is None:
            moves_made = tuple(self._moves(part, runs, furthest))
            return Failure(M, moves_made, *self._stuck(part, runs, furthest.now, M))
        moves_made = tuple(self._moves(part, runs, accepting))
        for k in part.pattern:
            if k.negated and present(part, k, M, runs):
                scope = scope_of(part, k, M, runs)
                if scope is None:
                    return Failure(
                        M,
                        moves_made,
                        f"{show_component(k)}: its scope continues after the end of the stream",
                        complete=True,
                    )
                return Failure(
                    M, moves_made, f"{show_component(k)}: {self._forbidding(part, k, M, scope)}", complete=True
                )
        if part.having is not None and not satisfied(part.having, values_in(M, self.S)):
            return Failure(M, moves_made, f"HAVING {show_condition(part.having)} does not hold", complete=True)
        if part.returned.non_overlap:
            return Failure(M, moves_made, "NON-OVERLAP: another match that overlaps it is output", complete=True)
        return None

    def _forbidding(self, part: sase.SaseQuery, k: sase.Component, M: Bindings, scope: list[int]) -> str:
        """Return a text with the first event of the scope that the negated component forbids.

        If no single event is forbidden, the text names the scope.
        """
        runs = self._runs(part)
        own = Runs(compile_absence(part, k, runs.reading), runs.S, runs.reading, runs.budget, runs.operations)
        for p in scope:
            check_time()
            if self.S[p].type == k.type and accepted(own, M, [p], [p]):
                return f"event {p} is forbidden, {row(self.S[p])}"
        return f"forbidden events are among {_among(scope)}"

    def _runs(self, part: sase.SaseQuery) -> Runs:
        return Runs(compile_query(part, self.reading), self.S, self.reading, self.budget)

    def _furthest(self, runs: Runs, M: Bindings) -> tuple[NfabRun, NfabRun | None]:
        """Return the run that gets farthest in binding M, and an accepting run, or None.

        The farthest run selects the most events. Among such runs, it reads the most events, and then has the most
        moves.
        """
        start = NfabConfiguration(runs.A.initial, min(p for _, at in M for p in at))
        # Each configuration once: runs that reach the same one go on alike, and the step before it is enough to tell
        # one run.
        before: dict[NfabConfiguration, tuple[NfabConfiguration, moves.NfabStep] | None] = {start: None}
        best, farthest, pending = start, (0, 0, 0), [(start, 0)]
        while pending:
            check_time()
            now, made = pending.pop()
            if (progress := (sum(len(at) for _, at in now.buffer), now.at, made)) > farthest:
                best, farthest = now, progress
            if now.state == runs.A.final and now.buffer == M:
                run = _run_to(now, before)
                return run, run
            for step, after in runs.moves(now):
                if after not in before and _is_part(after, M):
                    before[after] = now, step
                    pending.append((after, made + 1))
        return _run_to(best, before), None

    def _stuck(
        self, part: sase.SaseQuery, runs: Runs, now: NfabConfiguration, M: Bindings
    ) -> tuple[str, tuple[str, ...]]:
        """Return the step that a run in `now` would have to make to bind M, and the facts that make it impossible."""
        evidence, q, j = FormulaEvidence(runs), now.state, now.at
        wanted = {p: a for a, at in M for p in at}
        if wanted.get(j) == q.variable:
            move: nfab.Move = "take" if q.kind == "more" else "begin"
            if runs.holds(move, now):
                return f"event {j} is selected for {q.name}, but the events after it cannot be selected", ()
            return f"event {j} cannot be selected for {q.name}", evidence.why(nfab.NfabLabel(q, move), now)
        if j in wanted:  # for the next component, because the components before it are complete
            following = next(edge.target for edge in runs.A.edges if edge.source == q and edge.move == "proceed")
            if not runs.label(begin := nfab.NfabLabel(following, "begin"), now):
                return f"event {j} cannot be selected for {following.name}", evidence.why(begin, now)
        if q.kind == "more" and (j in wanted or j == len(self.S) or all(p < j for p in wanted)):
            why = evidence.why(nfab.NfabLabel(q, "proceed"), now)
            return f"{q.variable}[] cannot be left at {_place(j, self.S)}", why
        strategy = clauses.strategy_of(part, q.variable)
        why = evidence.why(nfab.NfabLabel(q, "ignore"), now) if nfab.NfabLabel(q, "ignore") in runs.A.theta else ()
        return f"event {j} cannot be skipped while {q.name} is awaited ({strategy})", why

    def _moves(self, part: sase.SaseQuery, runs: Runs, run: NfabRun) -> Iterator[Move]:
        evidence, now = (
            FormulaEvidence(runs),
            NfabConfiguration(runs.A.initial, run.steps[0].at if run.steps else run.now.at),
        )
        for (move, state), same in groupby(run.steps, lambda step: (step.move, step.state)):
            steps, label = list(same), nfab.NfabLabel(state, move)
            if move == "ignore" and len(steps) > FOLDED:
                first, last = steps[0].at, steps[-1].at
                text = f"skip {len(steps)} events, {first} to {last}, awaiting {state.name}"
                text = f"{text} ({self._strategy(part, state)})"
                yield Move(move, state.name, first, label.name, text, ())
                now = replace(now, at=last + 1)
                continue
            for step in steps:
                text = self._text(part, step, runs, now)
                yield Move(move, state.name, step.at, label.name, text, evidence.why(label, now))
                now = next(after for other, after in runs.moves(now) if other == step)

    def _text(self, part: sase.SaseQuery, step: moves.NfabStep, runs: Runs, now: NfabConfiguration) -> str:
        a, p = step.state.name, step.at
        match step.move:
            case "begin" | "take":
                return f"select event {p} for {a}: {row(self.S[p])}"
            case "ignore":
                fits = runs.holds("take" if step.state.kind == "more" else "begin", now)
                why = f"which could be selected for {a}" if fits else f"awaiting {a}"
                return f"skip event {p}, {why} ({self._strategy(part, step.state)})"
            case "proceed":
                return f"leave {step.state.variable}[] at {_place(p, self.S)}"

    def _strategy(self, part: sase.SaseQuery, state: nfab.NfabState) -> str:
        return clauses.strategy_of(part, state.variable)

    def _absent(self, part: sase.SaseQuery, M: Bindings, runs: Runs) -> Iterator[str]:
        for k in part.pattern:
            if k.negated:
                scope = scope_of(part, k, M, runs)
                yield f"{show_component(k)}: no such event among {_among(scope or [])}"


def ways_of(q: sase.SaseQuery, events: ComplexEvent) -> Iterator[Bindings]:
    """Yield the ways to divide the events among the components, in order, with at least one event for each."""
    pattern, places = clauses.positive(q), sorted(events)
    n, m = len(places), len(pattern)
    cuts = combinations(range(1, n), m - 1)
    for cut in islice(cuts, MOST_WAYS):
        parts = [tuple(places[i:j]) for i, j in zip((0, *cut), (*cut, n), strict=True)]
        if all(k.kleene or len(at) == 1 for k, at in zip(pattern, parts, strict=True)):
            yield tuple((k.variable, at) for k, at in zip(pattern, parts, strict=True))


def _unbindable(q: sase.SaseQuery, number: int) -> str:
    """Return a sentence that says why a match of the pattern cannot have this number of events."""
    pattern = clauses.positive(q)
    least = "at least " if any(k.kleene for k in pattern) else ""
    components = ", ".join(map(show_component, pattern))
    return f"a match of SEQ({components}) has {least}{len(pattern)} events, not {number}"


def bound_text(M: Bindings) -> str:
    """Format bindings: each variable with its events."""
    return ", ".join(f"{a} = {braces(at) if len(at) > 1 else at[0]}" for a, at in M)


def _place(p: int, S: Stream) -> str:
    return f"event {p}" if p < len(S) else "the end of the stream"


def _among(scope: list[int]) -> str:
    """Format the positions of a scope: one by one if they are few, else the first and the last."""
    return braces(scope) if len(scope) <= SHOWN else f"the {len(scope):,} events from {scope[0]} to {scope[-1]}"


def _run_to(
    now: NfabConfiguration, before: Mapping[NfabConfiguration, tuple[NfabConfiguration, moves.NfabStep] | None]
) -> NfabRun:
    """Return the run that reaches a configuration.

    before: for each configuration, the configuration before it and the step between them; None for the first.
    """
    steps, at = [], before[now]
    while at is not None:
        steps.append(at[1])
        at = before[at[0]]
    return NfabRun(tuple(reversed(steps)), now)


def _is_part(now: NfabConfiguration, M: Bindings) -> bool:
    """Return whether a run, so far, binds exactly those events of M that come before its position."""
    bound, variables = dict(now.buffer), [a for a, _ in M]
    awaited = len(M) if now.state.kind == "final" else variables.index(now.state.variable)
    return all(bound.get(a, ()) == tuple(p for p in at if n < awaited or p < now.at) for n, (a, at) in enumerate(M))


# ---------------------------------------------------------------------------------------------------------------------
# The explainer of SASE+, for commands and notebooks.

Found: TypeAlias = Accepted | NoMatch


class SaseExplainer(Explainer[Found]):
    """An explainer that shows the runs that bind the events of a match, or the step that no run can make.

    S: the stream that the query reads.
    """

    heading = "The runs that make a match"
    legend = (
        "A run begins with an event, takes more events for a Kleene plus, ignores events that its strategy lets it "
        "skip, and proceeds to the next component without an event. A dot is an event that is bound. A flag stands "
        "where the match is reported. Diamonds are events that are not a match."
    )

    def __init__(self, q: Tree, S: Stream, query: str) -> None:
        self.runs, self.query = SaseRuns(q, S), query
        self.S = self.runs.S

    def explain_request(self, request: Request) -> Found | None:
        if not request.single:
            return None
        bound = None if request.valuation is None else bindings_of(request.valuation)
        events = request.events or frozenset(p for _, places in bound or () for p in places)
        if request.at is not None and events and request.at != max(events):
            raise InputError(f"a match of SASE+ is reported at its last event, {max(events)}, not at {request.at}")
        return self.runs.explain(events, bound, request.count)

    def all(self, request: Request) -> Listing[Found]:
        found = (one for one in self.runs.all() if request.at in (None, one.match.at))
        return listing(found, request, len(self.S), _at)

    def json(self, found: Found) -> Json:
        return as_json(found, self.runs.q)

    def view(self, found: Found) -> ExplanationView:
        match found:
            case Accepted(match, M, runs, more, absent):
                sentence = f"{braces(match.events)} is a match at {match.at}: {bound_text(M)}"
                marks = {p: a if len(at) == 1 else f"{a}[{i}]" for a, at in M for i, p in enumerate(at, 1)}
                drawing = Drawing((Row("common", match.events, match.at, bound_text(M)),), marks)
                parts = numbered("run", [ExplanationPart(run=tuple(move.step for move in run)) for run in runs])
                result = (
                    ()
                    if match.result is None
                    else (f"RETURN {printable(json.dumps(plain(match.result.attributes), ensure_ascii=False))}",)
                )
                parts += (ExplanationPart(lines=(*absent, *result)),) if absent or result else ()
                label = braces(match.events)
                return ExplanationView(
                    sentence, True, match.events, match.at, label, parts, drawing, more="runs" if more else ""
                )
            case NoMatch(events, failures, near, in_the_way):
                label, places = braces(events), tuple(sorted(events))
                rows = [Row("extra", places, None, f"no match: {label}")]
                rows += [Row("common", C, max(C), f"nearest match · {braces(C)}") for C in near]
                without = (ExplanationPart("it would be a match without", lines=in_the_way),) if in_the_way else ()
                parts = (*map(_failure, failures), *without, *nearest("", near, events))
                return ExplanationView(
                    f"{label} is not a match", False, places, max(places), label, parts, Drawing(tuple(rows))
                )


def _at(found: Found) -> int:
    return found.match.at if isinstance(found, Accepted) else max(found.events)


def _failure(found: Failure) -> ExplanationPart:
    stuck = ExplanationStep(found.text, facts=found.because, move="stuck")
    heading = f"with {bound_text(found.bindings)}" if found.bindings else ""
    return ExplanationPart(heading, run=(*(move.step for move in found.steps), stuck))


def as_json(found: Found, q: Tree) -> Json:
    """Return the explanation of the events as one JSON object."""
    answer: Json = {"query": show(q), "events": None, "at": _at(found), "match": isinstance(found, Accepted)}
    match found:
        case Accepted(match, M, runs, more, absent):
            return answer | {
                "events": list(match.events),
                "bindings": _positions(M),
                "result": None if match.result is None else plain(match.result.attributes),
                "runs": [json_of_run(move.step for move in run) for run in runs],
                "more": more,
                "absent": list(absent),
            }
        case NoMatch(events, failures, nearest, in_the_way):
            reasons = [
                {
                    "bindings": _positions(f.bindings),
                    "steps": json_of_run(move.step for move in f.steps),
                    "message": f.text,
                    "because": list(f.because),
                }
                for f in failures
            ]
            return answer | {
                "events": sorted(events),
                "reasons": reasons,
                "in_the_way": list(in_the_way),
                "nearest": json_of_nearest(nearest, events),
            }


def _positions(M: Bindings) -> Mapping[str, list[int]]:
    return {a: list(at) for a, at in M}
