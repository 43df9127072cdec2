"""Runs of an NFA^b by their definition: sase07, appendix A.2. All of them, move by move; nothing is shared or pruned.

A run is its sequence of moves. Position j is the event that is looked at, len(S) if there is none left: then a proceed
edge can still be followed, with all conditions on an event that is not there false (docs/decisions/sase.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import assert_never

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.instances import in_window, values_in
from cerify.semantics.budget import Budget, check_time
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.predicates import satisfied
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading


@dataclass(frozen=True, slots=True)
class Step:
    """A move, the state that it leaves, and the position that it looks at."""

    move: nfab.Move
    state: nfab.State
    at: int


@dataclass(frozen=True, slots=True)
class Configuration:
    """The end of a run: its state, the position looked at, and the buffer."""

    state: nfab.State
    at: int
    buffer: Bindings = ()


@dataclass(frozen=True, slots=True)
class Run:
    """A run: its moves, and the configuration after them."""

    steps: tuple[Step, ...]
    now: Configuration

    @property
    def pairs(self) -> tuple[tuple[int, str], ...]:
        """The run as A.2 writes it, positions from 0: each identifier and the event it was instantiated as.

        The last pair is the state reached and the position looked at.
        """
        taken = [(step.at, step.state) for step in self.steps if step.move in ("begin", "take")]
        names = []
        for number, (at, state) in enumerate([*taken, (self.now.at, self.now.state)]):
            i = 1 + sum(earlier.variable == state.variable for _, earlier in taken[:number])
            names.append((at, f"{state.variable}[{i}]" if state.kind in ("first", "more") else state.name))
        return tuple(names)


class Runs:
    """The runs of one automaton over one stream."""

    def __init__(
        self,
        A: nfab.NFAb,
        S: Stream,
        reading: Reading = DECIDED,
        budget: Budget = Budget(),
        operations: Operations = NO_OPERATIONS,
    ) -> None:
        self.A = A
        self.S = S
        self.reading = reading
        self.budget = budget
        self.operations = operations
        self._following = dict(zip(A.states, A.states[1:], strict=False))
        self._ignoring = {edge.source for edge in A.edges if edge.move == "ignore"}

    def all(self, start: int | None = None) -> Iterator[Run]:
        """All runs that begin at the position, or anywhere: each before the runs that extend it."""
        starts = range(len(self.S)) if start is None else (start,)
        pending = [Run((), Configuration(self.A.initial, j)) for j in reversed(starts)]  # (base case)
        made = 0
        while pending:
            run = pending.pop()
            made += 1
            self._check(made)
            yield run
            further = [Run((*run.steps, step), now) for step, now in self.moves(run.now)]
            pending += reversed(further)

    def accepting(self, start: int | None = None) -> Iterator[Run]:
        """The runs that end in F."""
        return (run for run in self.all(start) if run.now.state == self.A.final)

    def of(self, M: Bindings) -> Iterator[Run]:
        """The accepting runs whose buffer is M; runs with events that M does not have are not followed."""
        pending = [Run((), Configuration(self.A.initial, min(p for _, ps in M for p in ps)))]
        while pending:
            check_time()
            run = pending.pop()
            if run.now.state == self.A.final and run.now.buffer == M:
                yield run
            further = [Run((*run.steps, step), now) for step, now in self.moves(run.now)]
            pending += [run for run in reversed(further) if _within(run.now, M)]

    def matches(self) -> set[Bindings]:
        """The buffers of the accepting runs."""
        found: set[Bindings] = set()
        for now in self.reached(Configuration(self.A.initial, j) for j in range(len(self.S))):
            if now.state == self.A.final:
                found.add(now.buffer)
                if len(found) > self.budget.matches:
                    raise BudgetExceeded(
                        f"more than {self.budget.matches} matches; set a window or a stricter strategy"
                    )
        return found

    def reached(
        self, initial: Iterable[Configuration], looking: Callable[[Configuration], bool] = lambda now: True
    ) -> Iterator[Configuration]:
        """All configurations that runs from these come to through configurations that pass `looking`, each once."""
        seen: set[Configuration] = set()
        pending = list(initial)
        while pending:
            now = pending.pop()
            if now in seen or not looking(now):
                continue
            seen.add(now)
            self._check(len(seen))
            yield now
            pending.extend(following for _, following in self.moves(now))

    def accepts(self) -> bool:
        """Whether the stream, as a word, is in L(A): some accepting run reads it from its first event to its last."""
        end = len(self.S)
        return end > 0 and any(run.now.at == end for run in self.accepting(0))

    def moves(self, now: Configuration) -> Iterator[tuple[Step, Configuration]]:
        """The inductive cases of A.2."""
        q, j = now.state, now.at
        step = partial(Step, state=q, at=j)
        match q.kind:
            case "single" | "first":
                if self.holds("begin", now):
                    yield step("begin"), Configuration(self._following[q], j + 1, self.selected(now))
                if q in self._ignoring and self.holds("ignore", now):
                    yield step("ignore"), Configuration(q, j + 1, now.buffer)
            case "more":
                if self.holds("take", now):
                    yield step("take"), Configuration(q, j + 1, self.selected(now))
                if self.holds("ignore", now):
                    yield step("ignore"), Configuration(q, j + 1, now.buffer)
                if self.holds("proceed", now):
                    yield step("proceed"), Configuration(self._following[q], j, now.buffer)
            case "final":
                return
            case _:
                assert_never(q.kind)

    def holds(self, part: nfab.Part, now: Configuration) -> bool:
        """Whether θ_{q, part} holds in the state reached."""
        return self.label(nfab.Label(now.state, part), now)

    def label(self, label: nfab.Label, now: Configuration) -> bool:
        """Whether the formula of that name holds. Behind the last event, begin, take and ignore do not."""
        if now.at == len(self.S):
            match label.part:
                case "begin" | "take" | "ignore":
                    return False
                case "auto-stop" if self.reading.stream_end == "waits":
                    return self.label(nfab.Label(label.state, "forced-stop"), now)
        return self.formula(self.A.theta[label], now)

    def formula(self, f: nfab.Formula, now: Configuration) -> bool:
        """Whether a formula holds of the event looked at and the buffer."""
        match f:
            case nfab.Truth(value):
                return value
            case nfab.Negation(inner):
                return not self.formula(inner, now)
            case nfab.Conjunction(parts):
                return all(self.formula(part, now) for part in parts)
            case nfab.Disjunction(parts):
                return any(self.formula(part, now) for part in parts)
            case nfab.Theta(label):
                return self.label(label, now)
            case nfab.Test(p, None):
                return satisfied(p, values_in(now.buffer, self.S, self.operations))
        if now.at == len(self.S):
            return False
        match f:
            case nfab.Typed(_, type_):
                return self.S[now.at].type == type_
            case nfab.Test(p, state) if state is not None:
                return satisfied(p, values_in(selected(now, state.variable), self.S, self.operations))
            case nfab.Elapsed(_, first, window, closed, over):
                within = in_window(window, closed, self.S[dict(now.buffer)[first.variable][0]], self.S[now.at])
                return within is not None and within != over
            case _:
                raise TypeError(f"{f} is no formula")

    def selected(self, now: Configuration) -> Bindings:
        """The buffer with the event looked at."""
        return selected(now, now.state.variable)

    def _check(self, made: int) -> None:
        check_time()
        if made > self.budget.valuations:
            raise BudgetExceeded(
                f"more than {self.budget.valuations} runs; all are followed one by one, so give a shorter stream, "
                "a window, or a stricter strategy"
            )


def selected(now: Configuration, variable: str) -> Bindings:
    """The buffer with the event looked at as the variable's next."""
    match now.buffer:
        case (*before, (last, positions)) if last == variable:
            return (*before, (variable, (*positions, now.at)))
        case _:
            return (*now.buffer, (variable, (now.at,)))


def _within(now: Configuration, M: Bindings) -> bool:
    """Whether the buffer can still become M."""
    wanted = dict(M)
    return all(wanted[variable][: len(positions)] == positions for variable, positions in now.buffer)
