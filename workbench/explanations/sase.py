"""What a set of events is to a query of SASE+: the run that makes it a match, step by step, or where every run ends."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab import moves
from cerify.automata.nfab import run as by_runs
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.moves import Configuration, Run, Runs
from cerify.automata.nfab.negation import present, scope_of
from cerify.automata.nfab.results import matches_of
from cerify.explanations.evidence import braces, row
from cerify.explanations.formulas import FormulaEvidence
from cerify.explanations.sase_relaxation import relaxations
from cerify.explanations.step import Step
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import InputError
from cerify.semantics.events import Bindings, ComplexEvent, Match, Stream
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase import clauses
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import Operations
from cerify.semantics.sase.reading import DECIDED, Reading
from cerify.semantics.sase.show import show_component, show_condition
from cerify.semantics.sase.streams import blocks_of, queries_of
from cerify.semantics.sase.wellformed import problems, require_wellformed

MOST_WAYS = 1_000  # ways to bind the events that are looked at
MOST_NEAREST = 3
MOST_TRIED = 256  # relaxed queries, each with a way to bind the events
MOST_READ = 1_000_000  # events that runs of relaxed queries may read


@dataclass(frozen=True)
class Move:
    """One step of a run: the edge followed from a state at a position, in words, and what made its formula true."""

    move: nfab.Move
    state: str
    at: int
    formula: str
    text: str
    because: tuple[str, ...]

    @property
    def step(self) -> Step:
        """The step as explanations of every language have it."""
        fields = {"move": self.move, "state": self.state, "at": self.at, "formula": self.formula, "text": self.text}
        json = {**fields, "because": list(self.because)}
        return Step(self.text, facts=self.because, move=self.move, formula=self.formula, json=json)


@dataclass(frozen=True)
class Accepted:
    """The events are a match with the bindings: the requested number of runs; absent: what negation found nowhere."""

    match: Match
    bindings: Bindings
    runs: tuple[tuple[Move, ...], ...]
    more: bool
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A way to bind the events, and the step that a run for it could not make.

    complete: whether the run comes to F, so that what comes after the runs forbids the match.
    """

    bindings: Bindings
    steps: tuple[Move, ...]
    text: str
    because: tuple[str, ...] = ()
    complete: bool = False

    @property
    def reached(self) -> tuple[bool, int, int]:
        """How far the run comes: whether to F, the number of events that it selects, and of those that it reads."""
        made = [move.move for move in self.steps]
        return self.complete, made.count("begin") + made.count("take"), len(made) - made.count("proceed")


@dataclass(frozen=True)
class NoMatch:
    """The events are no match: the runs that come farthest, and the matches that have most in common with the events.

    in_the_way: a smallest set of restrictions of the query without which the events are a match; () if none was found.
    """

    events: ComplexEvent
    failures: tuple[Failure, ...]
    nearest: tuple[tuple[int, ...], ...]
    in_the_way: tuple[str, ...] = ()


class Explainer:
    """The matches of the query asked, on the stream that it reads, with what is needed to explain them."""

    def __init__(self, q: sase.Tree, S: Stream, reading: Reading = DECIDED, budget: Budget = Budget()) -> None:
        self.q, self.reading, self.budget = q, reading, budget
        self.parts: tuple[sase.Query, ...] = blocks_of(queries_of(q)[-1])
        require_wellformed(q)
        read: dict[int, Stream] = {}

        def find(
            part: sase.Query, on: Stream, reading: Reading, budget: Budget, operations: Operations
        ) -> Iterable[Bindings]:
            read[id(part)] = on
            return by_runs.bindings(part, on, reading, budget, operations)

        self.matches = matches_of(q, S, find, reading, budget)
        self.S = read[id(self.parts[0])]

    def explain(self, events: ComplexEvent, bound: Bindings | None = None, count: int = 1) -> Accepted | NoMatch:
        """Why the events are a match, or are not; with bindings, why they are one like that. Raises InputError."""
        if not events:
            raise InputError("a match of SASE+ has at least one event")
        if beyond := sorted(p for p in events if not 0 <= p < len(self.S)):
            raise InputError(f"position {beyond[0]} is not on the stream that is read, which has {len(self.S)} events")
        for match in self.matches:
            if frozenset(match.events) == events and (bound is None or dict(match.bindings or ()) == dict(bound)):
                return self.accepted(match, count)
        ways = [
            (part, M) for part in self.parts for M in ways_of(part, events) if bound is None or dict(M) == dict(bound)
        ]
        failures = [failure for part, M in ways if (failure := self.failure(part, M)) is not None]
        if not ways:
            failures = [Failure((), (), _unbindable(part, len(events))) for part in self.parts]
        farthest = max((f.reached for f in failures), default=None)
        near = sorted(self.matches, key=lambda m: (len(events.symmetric_difference(m.events)), m))
        nearest = tuple(dict.fromkeys(m.events for m in near if frozenset(m.events) != events))
        shown = tuple(f for f in failures if f.reached == farthest)
        return NoMatch(events, shown, nearest[:MOST_NEAREST], self._in_the_way(ways))

    def all(self) -> Iterator[Accepted]:
        """Every match, each with a run."""
        return (self.accepted(match, 1) for match in self.matches)

    def accepted(self, match: Match, count: int) -> Accepted:
        """The runs of a match."""
        for part in self.parts:
            order = [k.variable for k in clauses.positive(part)]
            bound = dict(match.bindings or ())
            if set(order) == set(bound):
                M: Bindings = tuple((a, bound[a]) for a in order)
                runs = self._runs(part)
                found = list(islice(runs.of(M), count + 1))
                if found:
                    moves_made = tuple(tuple(self._moves(part, runs, run)) for run in found[:count])
                    return Accepted(match, M, moves_made, len(found) > count, tuple(self._absent(part, M, runs)))
        raise AssertionError("a match has a run")

    def _in_the_way(self, ways: Sequence[tuple[sase.Query, Bindings]]) -> tuple[str, ...]:
        """A smallest set of restrictions without which a way binds a match; () if none is found.

        Of NON-OVERLAP all matches would have to be known, so that there it is () too.
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

    def _has_types(self, part: sase.Query, M: Bindings) -> bool:
        return all(self.S[p].type == k.type for k, (_, at) in zip(clauses.positive(part), M, strict=True) for p in at)

    def failure(self, part: sase.Query, M: Bindings) -> Failure | None:
        """Where the runs that bind M end, or what forbids the match that they make; None if nothing does."""
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
                        M, moves_made, f"{show_component(k)}: the stream ends before its scope does", complete=True
                    )
                return Failure(
                    M, moves_made, f"{show_component(k)}: something of the kind is among {braces(scope)}", complete=True
                )
        if part.having is not None and not satisfied(part.having, values_in(M, self.S)):
            return Failure(M, moves_made, f"HAVING {show_condition(part.having)} does not hold", complete=True)
        if part.returned.non_overlap:
            return Failure(M, moves_made, "NON-OVERLAP: another match that overlaps it is output", complete=True)
        return None

    def _runs(self, part: sase.Query) -> Runs:
        return Runs(compile_query(part, self.reading), self.S, self.reading, self.budget)

    def _furthest(self, runs: Runs, M: Bindings) -> tuple[Run, Run | None]:
        """Of the runs that can still bind M: the one that comes farthest, and one that accepts if there is one.

        The farthest selects the most events; of those, it reads the most; of those, it has the most moves.
        """
        start = Run((), Configuration(runs.A.initial, min(p for _, at in M for p in at)))
        best, seen, pending = start, {start.now}, [start]
        while pending:
            check_time()
            run = pending.pop()
            if _progress(run) > _progress(best):
                best = run
            if run.now.state == runs.A.final and run.now.buffer == M:
                return run, run
            for step, now in runs.moves(run.now):
                if now not in seen and _is_part(now, M):
                    seen.add(now)
                    pending.append(Run((*run.steps, step), now))
        return best, None

    def _stuck(self, part: sase.Query, runs: Runs, now: Configuration, M: Bindings) -> tuple[str, tuple[str, ...]]:
        """The step that M needs where a run has come to, and why it cannot be made."""
        evidence, q, j = FormulaEvidence(runs), now.state, now.at
        wanted = {p: a for a, at in M for p in at}
        if wanted.get(j) == q.variable:
            move: nfab.Move = "take" if q.kind == "more" else "begin"
            if runs.holds(move, now):
                return f"event {j} is selected for {q.name}, but what comes after cannot be", ()
            return f"event {j} cannot be selected for {q.name}", evidence.why(nfab.Label(q, move), now)
        if j in wanted:  # for the next component: what is selected before is complete
            following = next(edge.target for edge in runs.A.edges if edge.source == q and edge.move == "proceed")
            if not runs.label(begin := nfab.Label(following, "begin"), now):
                return f"event {j} cannot be selected for {following.name}", evidence.why(begin, now)
        if q.kind == "more" and (j in wanted or j == len(self.S) or all(p < j for p in wanted)):
            why = evidence.why(nfab.Label(q, "proceed"), now)
            return f"{q.variable}[] cannot be left at {_place(j, self.S)}", why
        strategy = clauses.strategy_of(part, q.variable)
        why = evidence.why(nfab.Label(q, "ignore"), now) if nfab.Label(q, "ignore") in runs.A.theta else ()
        return f"event {j} cannot be skipped while {q.name} is awaited ({strategy})", why

    def _moves(self, part: sase.Query, runs: Runs, run: Run) -> Iterator[Move]:
        evidence, now = (
            FormulaEvidence(runs),
            Configuration(runs.A.initial, run.steps[0].at if run.steps else run.now.at),
        )
        for step in run.steps:
            label = nfab.Label(step.state, step.move)
            text = self._text(part, step, runs, now)
            yield Move(step.move, step.state.name, step.at, label.name, text, evidence.why(label, now))
            now = next(after for other, after in runs.moves(now) if other == step)

    def _text(self, part: sase.Query, step: moves.Step, runs: Runs, now: Configuration) -> str:
        a, p = step.state.name, step.at
        match step.move:
            case "begin" | "take":
                return f"select event {p} for {a}: {row(self.S[p])}"
            case "ignore":
                fits = runs.holds("take" if step.state.kind == "more" else "begin", now)
                why = f"which could be selected for {a}" if fits else f"awaiting {a}"
                return f"skip event {p}, {why} ({clauses.strategy_of(part, step.state.variable)})"
            case "proceed":
                return f"leave {step.state.variable}[] at {_place(p, self.S)}"

    def _absent(self, part: sase.Query, M: Bindings, runs: Runs) -> Iterator[str]:
        for k in part.pattern:
            if k.negated:
                scope = scope_of(part, k, M, runs)
                yield f"{show_component(k)}: nothing of the kind among {braces(scope or [])}"


def ways_of(q: sase.Query, events: ComplexEvent) -> Iterator[Bindings]:
    """The ways in which the components can have the events, each at least one, in their order."""
    pattern, places = clauses.positive(q), sorted(events)
    n, m = len(places), len(pattern)
    cuts = combinations(range(1, n), m - 1)
    for cut in islice(cuts, MOST_WAYS):
        parts = [tuple(places[i:j]) for i, j in zip((0, *cut), (*cut, n), strict=True)]
        if all(k.kleene or len(at) == 1 for k, at in zip(pattern, parts, strict=True)):
            yield tuple((k.variable, at) for k, at in zip(pattern, parts, strict=True))


def _unbindable(q: sase.Query, number: int) -> str:
    """Why the pattern cannot have that number of events."""
    pattern = clauses.positive(q)
    least = "at least " if any(k.kleene for k in pattern) else ""
    components = ", ".join(map(show_component, pattern))
    return f"a match of SEQ({components}) has {least}{len(pattern)} events, not {number}"


def bound_text(M: Bindings) -> str:
    """Bindings in words."""
    return ", ".join(f"{a} = {braces(at) if len(at) > 1 else at[0]}" for a, at in M)


def _place(p: int, S: Stream) -> str:
    return f"event {p}" if p < len(S) else "the end of the stream"


def _progress(run: Run) -> tuple[int, int, int]:
    return sum(len(at) for _, at in run.now.buffer), run.now.at, len(run.steps)


def _is_part(now: Configuration, M: Bindings) -> bool:
    """Whether a run there binds what M binds up to there, nothing else, and all of what it does not await any more."""
    bound, variables = dict(now.buffer), [a for a, _ in M]
    awaited = len(M) if now.state.kind == "final" else variables.index(now.state.variable)
    return all(bound.get(a, ()) == tuple(p for p in at if n < awaited or p < now.at) for n, (a, at) in enumerate(M))
