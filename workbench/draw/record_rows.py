"""The run of MATCH_RECOGNIZE over a table: the threads of its automaton row by row, or the search in its order.

Where conditions look at columns alone, all threads read a row together (threads.py). Where they look at what the match
has so far, one labelling is tried after the other (backtracking.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from cerify.automata.row_pattern.backtracking import Backtracking
from cerify.automata.row_pattern.compile import ACCEPT, compile_pattern
from cerify.automata.row_pattern.conditions import why_not
from cerify.automata.row_pattern.evaluate import Run, Search, partitions
from cerify.automata.row_pattern.lookahead import Lookahead
from cerify.automata.row_pattern.registers import View
from cerify.automata.row_pattern.threads import Attempt, Fate, Layer, Threads
from cerify.draw.diagram import Diagram
from cerify.draw.recording import BEFORE, Labels, RecordedMatch, Recording, StateRow, Step, arrows, require_short
from cerify.draw.row_pattern import diagram_of_clause
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Stream
from cerify.semantics.predicate_text import show_value
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.denote import visible_rows
from cerify.semantics.row_pattern.expressions import Frame, value
from cerify.semantics.row_pattern.output import Output
from cerify.semantics.row_pattern.reading import STANDARD
from cerify.semantics.row_pattern.resolve import column_values
from cerify.semantics.row_pattern.search_text import condition_text, labels_text

MOST_STEPS = 400
MOST_ROWS = 40  # of the table at a step
THREADS = Labels(
    holds="Threads, the preferred ones first",
    holder="Labels of the rows so far",
    found="The match of this search",
    nothing="None at this step.",
    finals=False,
    fate="What becomes of the last label",
    unit="Step",
)
SEARCH = replace(
    THREADS, holds="The labelling that is tried", holder="Row and label", fate="Why, and what is tried next"
)
NOTES = {
    False: "A match is searched from one row after the other. All threads read a row together, in the order of "
    "preferment; of two in the same state the preferred one goes on alone.",
    True: "The conditions look at what the match has so far, so one labelling is tried after the other, in the order "
    "of preferment. What fails whatever these conditions say is not tried, nor is what has failed before.",
}
FATES: dict[Fate, str] = {
    "goes on": "taken: ",
    "complete": "taken, and the match is complete: ",
    "stuck": "taken, but nothing can follow: ",
    "false": "ends: ",
    "same state": "cut: a preferred thread is in the same state",
    "cut": "cut: a preferred thread is complete",
}


def record(q: MatchRecognize, S: Stream, query: str, budget: Budget = Budget()) -> Recording:
    """The run of a clause over a table. Raises BudgetExceeded, and IllFormed where AFTER MATCH SKIP leads nowhere."""
    require_short(S)
    made = Output(q, S)
    diagram = diagram_of_clause(q, f"Automaton of {query}", budget)
    log = _Log(made, diagram, [Step(BEFORE, frozenset(), (), frozenset(), text="Before the first row.")])
    automaton, columns = compile_pattern(made.q.pattern, budget), column_values(S)
    for places in partitions(made.q, columns, len(S)):
        mine = {name: [values[place] for place in places] for name, values in columns.items()}
        for match in _RecordedRun(made.q, automaton, places, mine, budget, log=log).matches():
            log.matched(RecordedMatch(match, ()))
    searches = why_not(made.q) is not None
    labels = SEARCH if searches else THREADS
    return Recording(query, S, diagram, (), (), tuple(log.steps), labels, (NOTES[searches],))


@dataclass
class _Log:
    """The steps of a run so far."""

    made: Output
    diagram: Diagram
    steps: list[Step]

    def add(self, place: int, rows: Sequence[StateRow], fired: frozenset[int], text: str) -> None:
        """A step at a row of the table. Raises BudgetExceeded for more than can be looked at."""
        if len(self.steps) > MOST_STEPS:
            raise BudgetExceeded(f"the run has more than {MOST_STEPS} steps by row {place}; take a part of the table")
        shown = tuple(rows[:MOST_ROWS])
        if len(rows) > MOST_ROWS:
            shown += (StateRow(f"{len(rows) - MOST_ROWS} more", frozenset()),)
        self.steps.append(Step(place, fired, shown, frozenset(), text=text))

    def matched(self, found: RecordedMatch) -> None:
        """The last step has found a match."""
        labels = self.made.place  # of each position its partition, and its row there
        match = found.match
        which = " ".join(map(str, sorted(match.events, key=lambda place: labels[place][1]))) or "no row"
        text = f"Match {match.more()['match_number']}: rows {which}." if match.events else "An empty match."
        self.steps[-1] = replace(self.steps[-1], found=(found,), text=f"{self.steps[-1].text} {text}")

    def say(self, text: str) -> None:
        """What is known after the last step."""
        self.steps[-1] = replace(self.steps[-1], text=f"{self.steps[-1].text} {text}")

    def row_text(self, place: int) -> str:
        """A row of the table with its values."""
        values = ", ".join(f"{name} {show_value(v)}" for name, v in self.made.S[place].attributes.items())
        return f"Row {place}{f' ({values})' if values else ''}"


@dataclass(frozen=True)
class _RecordedRun(Run):
    """A partition, or the frame of a row, whose search writes down its steps."""

    log: _Log = field(kw_only=True)

    @cached_property
    def search(self) -> Search:
        if why_not(self.q) is None:
            return _RecordedThreads(self.q, self.automaton, self.columns, len(self.places), self)
        return _RecordedBacktracking(Lookahead(self.q, self.automaton, self.columns, len(self.places)), self)

    def resumed(self, r: int, s: int, states: list[int], number: int) -> int:
        after = super().resumed(r, s, states, number)
        end = after >= len(self.places)
        self.log.say("No row is left." if end else f"The search goes on from row {self.places[after]}.")
        return after

    def why(self, s: int, states: Sequence[int], number: int, is_taken: bool) -> str:
        """The condition of the last of these states with its values; s: the row of the first one."""
        A = self.automaton.variables[states[-1]]
        if A not in self.q.conditions:
            return "it has no condition"
        labels = tuple(self.automaton.variables[state] for state in states)
        partition, start = self.log.made.place[self.places[s]]
        visible = visible_rows(self.q, self.log.made.place[self.places[0]][1], len(partition))
        frame = Frame(partition, visible, start, labels, len(labels), number, self.q.unions, STANDARD)
        outcome = "" if is_taken else " is false" if value(self.q.conditions[A], frame) is False else " is unknown"
        return condition_text(self.log.made, A, frame, outcome)

    def labels(self, states: Sequence[int]) -> str:
        """The labels of rows in these states."""
        return labels_text(self.automaton.variables[state] for state in states) if states else "none"

    def fired(self, states: Sequence[int], is_complete: bool) -> set[tuple[int, int, str]]:
        """The arrows of the diagram by which the last row came to its state, and by which the match is complete."""
        *_, source, target = (0, *(state + 1 for state in states)) if states else (0, 0)
        end = len(self.automaton.places) + 1
        taken = {(source, target, "take")} if states else set()
        return taken | ({(target, end, "proceed")} if is_complete else set())


@dataclass(frozen=True)
class _RecordedThreads(Threads):
    """The threads of a search, each layer of which is a step."""

    run: _RecordedRun

    def match_at(self, s: int, number: int) -> list[int] | None:
        begin, *layers = self.layers(s)
        found = layers[-1].preferred if layers else begin.preferred
        for layer in layers:
            self._step(s, layer, number)
        if not layers:
            says = "no thread can begin." if found is None else "the empty match is preferred to all others."
            self._add(s, s, (), frozenset(), says, number)
        if found is None:
            self.run.log.say("No match begins there.")
        return None if found is None else [*found]

    def _step(self, s: int, layer: Layer, number: int) -> None:
        run = self.run
        rows = [self._row(s, attempt, number) for attempt in layer.attempts]
        ways = {
            way
            for one in layer.attempts
            if one.fate in ("goes on", "complete", "stuck")
            for way in run.fired(one.states, one.fate == "complete")
        }
        many, of = len(layer.threads), len(layer.attempts)
        says = f"{of} thread{'s' * (of != 1)} tried, {many} {'goes' if many == 1 else 'go'} on."
        if layer.preferred is not None:
            says += f" Complete so far: {run.labels(layer.preferred)}."
        self._add(s, layer.r, rows, arrows(run.log.diagram, ways), says, number)

    def _add(self, s: int, r: int, rows: Sequence[StateRow], fired: frozenset[int], says: str, number: int) -> None:
        log, places = self.run.log, self.run.places
        where = f"Search for match {number} from row {places[s]}."
        log.add(places[r], rows, fired, f"{where} {log.row_text(places[r])}: {says}")

    def _row(self, s: int, one: Attempt, number: int) -> StateRow:
        is_taken = one.fate in ("goes on", "complete", "stuck")
        why = self.run.why(s, one.states, number, is_taken) if is_taken or one.fate == "false" else ""
        states = frozenset({one.states[-1] + 1}) if is_taken else frozenset[int]()
        gone = one.fate not in ("goes on", "complete")
        return StateRow(self.run.labels(one.states), states, fate=f"{FATES[one.fate]}{why}", gone=gone)


class _RecordedBacktracking(Backtracking):
    """The search for a match, each attempt of which is a step."""

    def __init__(self, ahead: Lookahead, run: _RecordedRun) -> None:
        super().__init__(ahead, run.budget)
        self.run = run
        self.start, self.number = 0, 0
        self.path: list[int] = []

    def match_at(self, s: int, number: int) -> list[int] | None:
        self.start, self.number, self.path = s, number, []
        before = len(self.run.log.steps)
        found = super().match_at(s, number)
        if len(self.run.log.steps) == before:
            says = "no label can be tried." if found is None else "the empty match is preferred to all others."
            self._add(s, None, "", says, frozenset())
        if found is None:
            self.run.log.say("No match begins there.")
        return found

    def taken(self, r: int, state: int, view: View) -> View | None:
        is_known = (r, state, self.registers.after(view, r, self.ahead.automaton.variables[state])) in self.failed
        after = super().taken(r, state, view)
        is_taken = after is not None
        why = self.run.why(self.start, [*self.path, state], self.number, is_taken)
        fate = f"{'taken' if is_taken else 'not taken'}: {'from there it has failed before' if is_known else why}"
        ways = self.run.fired([*self.path, state], False) if is_taken else set[tuple[int, int, str]]()
        if is_taken:
            self.path.append(state)
        says = f"tried as {self.run.labels([state])}, and {'taken' if is_taken else 'not taken'}."
        self._add(r, None if is_taken else state, fate, says, arrows(self.run.log.diagram, ways))
        return after

    def give_back(self, s: int, r: int, state: int, view: View) -> None:
        super().give_back(s, r, state, view)
        self.path.pop()
        says = f"given back as {self.run.labels([state])}."
        self._add(r, state, "given back: nothing that follows leads to a match", says, frozenset())

    def _add(self, r: int, tried: int | None, fate: str, says: str, fired: frozenset[int]) -> None:
        """A step at the row r: it is the last of the labelling, or `tried` in a state after the labelling."""
        run, places = self.run, self.run.places
        rows = [self._row(k, state) for k, state in enumerate(self.path)]
        if tried is not None:
            rows.append(StateRow(f"{places[r]} {run.labels([tried])}", frozenset(), fate=fate, gone=True))
        elif rows:
            last = rows[-1]
            rows[-1] = replace(last, states=frozenset({self.path[-1] + 1}), fate=f"{fate}. {last.fate}".strip())
        where = f"Search for match {self.number} from row {places[self.start]}."
        run.log.add(places[r], rows, fired, f"{where} {run.log.row_text(places[r])}: {says}")

    def _row(self, k: int, state: int) -> StateRow:
        """The row of that number of the labelling, and what is tried if it is given back."""
        A, r = self.run.automaton, self.start + k
        ways = [way.target for way in self.ahead.possible(A.follow[self.path[k - 1]] if k else A.first, r, r == 0)]
        after = ["the end of the match" if way == ACCEPT else A.variables[way] for way in ways[ways.index(state) + 1 :]]
        fate = f"Then: {', '.join(after)}." if after else ""
        return StateRow(f"{self.run.places[r]} {A.variables[state]}", frozenset(), fate=fate)
