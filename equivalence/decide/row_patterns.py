"""What of a row pattern has no effect: parts of which no match has a row, reluctant quantifiers that might be greedy.

A table is taken as the truth value of each condition in each row, and any of these tables as possible. So what is found
to have no effect has none on any table; if conditions exclude each other, there may be more without an effect.

The match at a row is the first run of the automaton that is completed. A run is chosen on a table if no run that is
preferred to it is completed there; it is followed together with the ways that are open to those. The fewer conditions
are true, the fewer ways these have: in each row no more conditions are true than the chosen run needs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.automata.row_pattern.conditions import why_not
from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.trees import subtrees

START = -2
LIMIT = Budget(states=2_000)
"""How many states and branches an automaton may have, and how many situations are looked at."""
MATCHED = Way(ACCEPT)


class Chosen(NamedTuple):
    """A chosen run between two rows: its state (START, ACCEPT), and the ways that are open to preferred runs."""

    state: int
    preferred: frozenset[Way] = frozenset()


class Situation(NamedTuple):
    """The chosen runs of several patterns on a table, whether it has rows before, ends here, and they have differed."""

    runs: tuple[Chosen, ...]
    begins: bool
    ends: bool = False
    differ: bool = False

    @property
    def complete(self) -> bool:
        """Whether all runs are chosen if the table ends here."""
        return all(run.state == ACCEPT and all(way.target != ACCEPT for way in run.preferred) for run in self.runs)


@dataclass(frozen=True)
class ChosenRuns:
    """The chosen runs of several patterns on the same tables, with the conditions of a clause.

    Raises BudgetExceeded where there is too much to follow.
    """

    q: MatchRecognize
    patterns: tuple[rows.Pattern, ...]

    @cached_property
    def conditions(self) -> Mapping[str, Any]:
        """Those of the variables that have one; equal ones are true in the same rows."""
        named = {A for A, e in self.q.conditions.items() if any(isinstance(n, rows.Classifier) for n in subtrees(e))}
        return {A: (A, e) if A in named else e for A, e in self.q.conditions.items()}

    @cached_property
    def automata(self) -> tuple[Automaton, ...]:
        return tuple(compile_pattern(p, LIMIT) for p in self.patterns)

    @cached_property
    def situations(self) -> set[Situation]:
        """Those from which all chosen runs are completed on some table."""
        before: dict[Situation, set[Situation]] = defaultdict(set)
        pending = [Situation((Chosen(START),) * len(self.patterns), begins) for begins in (True, False)]
        seen, complete = set(pending), []
        while pending:
            now = pending.pop()
            if now.complete:
                complete.append(now)
            for later in self.after(now):
                before[later].add(now)
                if later not in seen:
                    seen.add(later)
                    pending.append(later)
            if len(seen) > LIMIT.states:
                raise BudgetExceeded(f"more than {LIMIT.states} situations of chosen runs")
        found = set(complete)
        while complete:
            new = before[complete.pop()] - found
            found |= new
            complete += new
        return found

    def after(self, now: Situation) -> Iterator[Situation]:
        """The situations after a run has been completed, or after another row."""
        for i, (A, run) in enumerate(zip(self.automata, now.runs, strict=True)):
            for way, preferred in _open(A, run, now.begins):
                if way.target == ACCEPT:
                    done = Chosen(ACCEPT, preferred)
                    yield now._replace(runs=(*now.runs[:i], done, *now.runs[i + 1 :]), ends=now.ends or way.end)
        if now.ends:
            return
        choices = [
            [(ACCEPT, run.preferred)]
            if run.state == ACCEPT
            else [(w.target, p) for w, p in _open(A, run, now.begins) if w.target != ACCEPT and not w.end]
            for A, run in zip(self.automata, now.runs, strict=True)
        ]
        for chosen in product(*choices):
            labels = {self._label(A, state) for A, (state, _) in zip(self.automata, chosen, strict=True)}
            true = {self.conditions.get(one[0]) for one in labels if one is not None}
            runs = [
                Chosen(state, self._taken(A, preferred, true))
                for A, (state, preferred) in zip(self.automata, chosen, strict=True)
            ]
            if not any(MATCHED in run.preferred for run in runs):
                yield Situation(tuple(runs), False, False, now.differ or len(labels) > 1)

    def _label(self, A: Automaton, state: int) -> tuple[str, bool] | None:
        """The variable of a state and whether its row is left out of the output; None after the match."""
        return None if state == ACCEPT else (A.variables[state], A.excluded[state])

    def _taken(self, A: Automaton, ways: Iterable[Way], true: set[Any]) -> frozenset[Way]:
        """The ways after a row in which these conditions are true."""
        states = {way.target for way in ways if way.target != ACCEPT and not way.end}
        taken = (A.follow[n] for n in states if self.conditions.get(A.variables[n]) in {*true, None})
        return frozenset(way for follow in taken for way in follow)


def _open(A: Automaton, run: Chosen, begins: bool) -> Iterator[tuple[Way, frozenset[Way]]]:
    """The ways of a run, each with those that are preferred to it; none that comes after one which is complete."""
    if run.state == ACCEPT:
        return
    preferred = set(run.preferred)
    for way in A.first if run.state == START else A.follow[run.state]:
        if begins or not way.start:
            yield way, frozenset(preferred)
            preferred.add(replace(way, start=False))
            if way.target == ACCEPT and not way.end:
                return


def parts_without_rows(q: MatchRecognize) -> list[rows.Pattern]:
    """The alternatives of a clause that take rows, and its optional parts, of which no match has a row.

    None are found where conditions look at more than columns. Raises BudgetExceeded.
    """
    if why_not(q) is not None:
        return []
    runs = ChosenRuns(q, (q.pattern,))
    states = {situation.runs[0].state for situation in runs.situations}
    taken = {id(place) for state, place in enumerate(runs.automata[0].places) if state in states}

    def walk(p: Any, alternative: bool) -> Iterator[rows.Pattern]:
        places = {id(one) for one in subtrees(p) if isinstance(one, rows.Variable)}
        single = alternative and not isinstance(p, rows.Alternation) and not _may_be_empty(p)
        optional = isinstance(p, rows.Quantified) and p.low == 0 and p.high != 0
        if places and places.isdisjoint(taken) and (single or optional):
            yield p
            return
        for one in trees.children(p):
            yield from walk(one, isinstance(p, rows.Alternation))

    return list(walk(q.pattern, False))


def _may_be_empty(p: rows.Pattern) -> bool:
    return any(way.target == ACCEPT for way in compile_pattern(p, LIMIT).first)


def idle_quantifiers(q: MatchRecognize) -> list[rows.Quantified]:
    """The reluctant quantifiers of a clause which, were they greedy, would leave all matches as they are.

    None are found where conditions look at more than columns. Raises BudgetExceeded.
    """
    if why_not(q) is not None:
        return []
    reluctant = [p for p in subtrees(q.pattern) if isinstance(p, rows.Quantified) and not p.greedy]
    return [
        p
        for p in reluctant
        if not any(situation.differ for situation in ChosenRuns(q, (q.pattern, made_greedy(q.pattern, p))).situations)
    ]


def made_greedy(p: Any, quantifier: rows.Quantified) -> Any:
    """The pattern in which this quantifier is greedy."""
    if p is quantifier:
        return replace(quantifier, greedy=True)
    below = trees.children(p)
    return trees.rebuilt(p, [made_greedy(one, quantifier) for one in below]) if below else p
