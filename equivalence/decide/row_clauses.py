"""Decide whether two clauses of MATCH_RECOGNIZE, with conditions on columns only, find the same matches in every table.

A word says for each row which conditions are true. At first the search assumes that a table may have any word. If
matches differ on a word that no table has, a fact that excludes the word is added, and the search continues. So if it
finds no difference, the matches are the same in every table. A difference is shown on a table, and checked there with
the reference evaluator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from typing import Any, Literal, NamedTuple, TypeAlias

from cerify.automata.algebra.finite import minterms
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern, predicate_of
from cerify.equivalence.decide.replay import difference_on
from cerify.equivalence.decide.row_solver import ClausePair, Solver, known_after, may_end, on_row
from cerify.equivalence.verdict import Certificate, Claim, Contained, Different, Equivalent, Fact, Letter, Level, Word
from cerify.semantics import trees
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Schema, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.syntax import MatchRecognize, RowDefinition, RowSkip, show
from cerify.semantics.trees import subtrees

# ---------------------------------------------------------------------------------------------------------------------
# The search for a table on which two row patterns have different matches at some row: ordered sets of threads.
#
# From the row where the matches start, both prioritized automata are determinized together. After each row there are
# the states that may take the next row, in the order of preference, and the match if none of them is completed. A table
# is represented by its word. Threads have numbers, so that matches can be compared: threads with equal numbers have
# given the rows so far the same labels.

MOST_CONDITIONS = 12  # the greatest number of conditions that threads evaluate in one row
Key: TypeAlias = Hashable


class OrderedThreads(NamedTuple):
    """The threads (runs) of a clause that may take the next row, the preferred first.

    open: for each thread its state, and the number of its labels; equal numbers mean equal labels. best: the match if
    no thread completes. ended: the match if the partition ends here. Either may be None, which means that there is no
    match.
    """

    open: tuple[tuple[int, Key], ...]
    best: Key | None
    ended: Key | None


class SearchState(NamedTuple):
    """A state of the search between two rows.

    threads: for each clause its threads; None before the matches start. known: pairs (fact, n) such that the rows so
    far end with the first n rows of the fact; see `known_after`. begins: whether the next row is the first of the
    partition. row_taken: whether the threads have taken a row.
    """

    threads: tuple[OrderedThreads, OrderedThreads] | None
    known: frozenset[tuple[int, int]] = frozenset()
    begins: bool = False
    row_taken: bool = False


@dataclass
class SeparationSearch:
    """A search for a sequence of rows on which two clauses differ. It follows the automata of both clauses.

    claim: with "contained", a row where only the right clause has a match is not a difference. limit: the greatest
    number of transitions.
    """

    automata: tuple[Automaton, Automaton]
    clauses: ClausePair
    level: Level
    claim: Claim
    limit: int
    transitions: int = 0

    @cached_property
    def before(self) -> bool:
        """Return whether rows before the row at which the matches start can make a difference."""
        return self.clauses.reach("PREV") > 0 or any(way.start for A in self.automata for way in A.first)

    def separation(self, facts: Sequence[Fact]) -> Word | None:
        """Return a shortest sequence of rows on which the clauses have different matches from one row on, or None.

        A row is given by the conditions that are true or false in it. facts: no table has rows that contradict them.

        Raises BudgetExceeded.
        """
        start = SearchState(None, begins=True)
        words: dict[SearchState, tuple[SearchState, Letter] | None] = {start: None}
        pending = deque([start])
        while pending:
            check_time()
            now = pending.popleft()
            for letter, later in self.after(now, facts):
                self.transitions += 1
                if self.transitions > self.limit:
                    raise BudgetExceeded(
                        f"comparing needs more than {self.limit} transitions of the two patterns; raise the budget"
                    )
                if later in words:
                    continue
                words[later] = (now, letter)
                if self.separates(later, facts):
                    return _word(later, words)
                pending.append(later)
        return None

    def separates(self, now: SearchState, facts: Sequence[Fact]) -> bool:
        """Return whether the partition may end in this state, and the clauses then have different matches."""
        if now.threads is None or not now.row_taken:
            return False
        left, right = now.threads
        missing = self.claim == "contained" and left.ended is None
        return left.ended != right.ended and not missing and may_end(facts, now.known)

    def after(self, now: SearchState, facts: Sequence[Fact]) -> Iterator[tuple[Letter, SearchState]]:
        """Yield each letter that the next row may have, with the state after it.

        A letter holds the truth of each condition that a thread evaluates.
        """
        if now.threads is None:
            begun = tuple(
                threads_of([(A.first, 0)], None, now.begins, longest)
                for A, longest in zip(self.automata, self.clauses.longest, strict=True)
            )
            yield from self._rows(SearchState(_numbered(*begun), now.known, now.begins), facts)
            known = known_after(facts, now.known, frozenset(), now.begins)
            if self.before and known is not None:
                yield frozenset(), SearchState(None, known)
        # If no thread is open, the matches are settled. More rows matter only if the partition cannot end here.
        elif any(side.open or side.best != side.ended for side in now.threads) or not may_end(facts, now.known):
            yield from self._rows(now, facts)

    def _rows(self, now: SearchState, facts: Sequence[Fact]) -> Iterator[tuple[Letter, SearchState]]:
        assert now.threads is not None
        asked = sorted(
            {
                known[A.variables[state]]
                for A, known, side in zip(self.automata, self.clauses.of_variables, now.threads, strict=True)
                for state, _ in side.open
                if A.variables[state] in known
            }
        )
        if len(asked) > MOST_CONDITIONS:
            raise BudgetExceeded(
                f"one row has more than {MOST_CONDITIONS} conditions; split the clause, or use fewer conditions"
            )
        for truths in product((True, False), repeat=len(asked)):
            letter = frozenset(zip(asked, truths, strict=True))
            known = known_after(facts, now.known, letter, now.begins)
            if known is not None:
                left, right = (self._take_row(i, side, dict(letter)) for i, side in enumerate(now.threads))
                yield letter, SearchState(_numbered(left, right), known, row_taken=True)

    def _take_row(self, i: int, side: OrderedThreads, true: Mapping[int, bool]) -> OrderedThreads:
        """Return the threads of an automaton after a row."""
        A, known = self.automata[i], self.clauses.of_variables[i]
        labels = A.variables if self.level == "valuations" else ("",) * len(A.variables)
        alive = [
            (A.follow[state], (number, labels[state]))
            for state, number in side.open
            if A.variables[state] not in known or true[known[A.variables[state]]]
        ]
        best = None if side.best is None else ("ended", side.best)
        return threads_of(alive, best, False, self.clauses.longest[i])


def threads_of(
    alive: Iterable[tuple[Sequence[Way], Key]], best: Key | None, begins: bool, longest: bool = False
) -> OrderedThreads:
    """Return the threads that may take the next row.

    alive: for each thread that took the last row, its transitions, and the number of its labels (equal numbers mean
    equal labels). best: the match if none of these threads completes. longest: whether threads continue after a
    preferred one is completed, because a longer match wins.
    """
    found: dict[int, Key] = {}
    ended: Key | None = None
    completed: Key | None = None
    for ways, number in alive:
        for way in ways:
            if way.start and not begins:
                continue
            if way.target != ACCEPT:
                if not way.end:
                    found.setdefault(way.target, number)
                continue
            ended = number if ended is None else ended
            if not way.end and completed is None:
                completed = number
                if not longest:
                    return OrderedThreads(tuple(found.items()), number, ended)
    best = best if completed is None else completed
    return OrderedThreads(tuple(found.items()), best, best if ended is None else ended)


def _numbered(left: OrderedThreads, right: OrderedThreads) -> tuple[OrderedThreads, OrderedThreads]:
    """Return the threads with their keys replaced by numbers from 0 on; equal keys get equal numbers."""
    numbers: dict[Key, int] = {}

    def number(key: Key | None) -> Key | None:
        return None if key is None else numbers.setdefault(key, len(numbers))

    return tuple(
        OrderedThreads(tuple((state, number(key)) for state, key in side.open), number(side.best), number(side.ended))
        for side in (left, right)
    )  # type: ignore[return-value]


def _word(now: SearchState, words: Mapping[SearchState, tuple[SearchState, Letter] | None]) -> Word:
    letters: list[Letter] = []
    while (step := words[now]) is not None:
        now, letter = step
        letters.append(letter)
    return tuple(reversed(letters))


MOST_FACTS = 300


def compare(
    left: MatchRecognize, right: MatchRecognize, claim: Claim, level: Level, schema: Schema | None, budget: Budget
) -> Equivalent | Contained | Different:
    """Return the verdict on two clauses. Raises BudgetExceeded, and Unsupported if the clauses cannot be decided.

    The matches are compared, not the results of MEASURES. If at each row both clauses start the same match, or no
    match, they have the same matches for every AFTER MATCH SKIP. If they differ at some row, containment is proved only
    for clauses that search for a match at every row.
    """
    asked = ClauseComparison(ClausePair.from_clauses(left, right, schema), claim, level, schema, budget)
    if claim == "contained" and (found := asked.difference("contained")) is not None:
        return found
    contained = claim == "contained" and asked.clauses.match_at_each_row
    if not contained and (found := asked.difference("equivalent")) is not None:
        return found
    proof = Certificate(
        claim, show(left), show(right), level, schema, bool(asked.facts), (), "row-pattern", tuple(asked.facts)
    )
    return Equivalent(proof) if claim == "equivalent" else Contained(proof)


def shortest_match(q: MatchRecognize, schema: Schema | None, budget: Budget) -> Stream | None:
    """Return a shortest table in which a clause has a match; None if no table has one.

    Raises BudgetExceeded, and Unsupported if this cannot be decided.
    """
    anywhere = replace(q, skip=RowSkip("next row"))
    # A match of the clause is a difference from a clause that never matches, so that the same search finds it.
    nowhere = replace(anywhere, pattern=rows.RowConcatenation(q.pattern, _NEVER))
    found = ClauseComparison(ClausePair.from_clauses(anywhere, nowhere, schema), "contained", "events", schema, budget)
    difference = found.difference("contained")
    return None if difference is None else difference.stream


_NEVER = rows.RowConcatenation(rows.Anchor("end"), rows.RowVariable("A"))  # a row after the last one


@dataclass
class ClauseComparison:
    """A search for tables on which two clauses differ, and the facts that it needed."""

    clauses: ClausePair
    claim: Claim
    level: Level
    schema: Schema | None
    budget: Budget
    facts: list[Fact] = field(default_factory=list)

    def difference(self, starting: Claim) -> Different | None:
        """Return a difference of the clauses, if the matches that start at some row refute the claim `starting`.

        Return None if there is no such row. Raises Unsupported if there may be one, but no table is found on which the
        clauses differ.
        """
        left, right = self.clauses.left, self.clauses.right
        search = SeparationSearch(
            (compile_pattern(left.pattern, self.budget), compile_pattern(right.pattern, self.budget)),
            self.clauses,
            self.clauses.labels(self.level),
            starting,
            self.budget.states,
        )
        solver = Solver(self.clauses, self.schema)
        while (word := search.separation(self.facts)) is not None:
            if (fact := solver.refuted(word)) is None:
                for S in solver.tables(word):
                    with suppress(IllFormed):  # AFTER MATCH SKIP has no row to skip to
                        if (found := difference_on(S, left, right, self.claim, self.level)) is not None:
                            return replace(found, shortest=True)
                raise Unsupported(_undecided(len(word), skips=starting != self.claim))
            self.facts.append(fact)
            if len(self.facts) > MOST_FACTS:
                raise BudgetExceeded(
                    f"the comparison needs more than {MOST_FACTS} facts about conditions; use fewer conditions"
                )
        return None


def _undecided(number: int, skips: bool) -> str:
    """Return why there is no verdict although the matches may differ on a table of `number` rows."""
    table = f"no table of {number} row{'s' * (number != 1)} was found that shows it"
    if skips:
        return (
            "the right clause has each match of the left, unless it skips the first row of the match. It may skip that "
            f"row, but {table}. Use AFTER MATCH SKIP TO NEXT ROW in both clauses"
        )
    return f"the matches that start at a row may differ, but {table}"


# ---------------------------------------------------------------------------------------------------------------------
# Find parts of a row pattern that never have a row in a match, and reluctant quantifiers that could be greedy.
#
# Both are comparisons of two clauses: do the labels of matches stay the same if the variables of the part get other
# names, or if the quantifier becomes greedy? What is found holds for every table.

LIMIT = Budget(states=2_000)
OTHER = "'"
"""A suffix that makes a name that no clause has, for a variable with the same condition."""


def parts_without_rows(q: MatchRecognize, schema: Schema | None = None) -> list[rows.Pattern]:
    """Return the alternatives and optional parts of a clause that never have a row in a match.

    The list is empty if conditions look at more than columns. Raises BudgetExceeded.
    """

    def walk(p: Any, alternative: bool) -> Iterator[rows.Pattern]:
        single = alternative and not isinstance(p, rows.Alternation) and not _may_be_empty(p)
        optional = isinstance(p, rows.Quantified) and p.low == 0 and p.high != 0
        takes = any(isinstance(one, rows.RowVariable) for one in subtrees(p))
        if takes and (single or optional) and _same(q, q.pattern, _replaced(q.pattern, p, _renamed(p)), schema):
            yield p
            return
        for one in trees.children(p):
            yield from walk(one, isinstance(p, rows.Alternation))

    return list(walk(q.pattern, False))


def idle_quantifiers(q: MatchRecognize, schema: Schema | None = None) -> list[rows.Quantified]:
    """Return the reluctant quantifiers of a clause that could be greedy without any change of its matches.

    The list is empty if conditions look at more than columns. Raises BudgetExceeded.
    """
    reluctant = [p for p in subtrees(q.pattern) if isinstance(p, rows.Quantified) and not p.greedy]
    return [p for p in reluctant if _same(q, _apart(q.pattern), _apart(made_greedy(q.pattern, p)), schema)]


def made_greedy(p: Any, quantifier: rows.Quantified) -> Any:
    """Return the pattern with this quantifier made greedy."""
    return _replaced(p, quantifier, replace(quantifier, greedy=True))


def _same(q: MatchRecognize, left: rows.Pattern, right: rows.Pattern, schema: Schema | None) -> bool:
    """Return whether both patterns match with the same labels at every row of every table; False if that is not
    decided.
    """

    def clause(p: rows.Pattern) -> MatchRecognize:
        define = ((A, conditions.get(A.removesuffix(OTHER))) for A in MatchRecognize(p).primary)
        return MatchRecognize(
            p,
            tuple(RowDefinition(A, e) for A, e in define if e is not None),
            skip=RowSkip("next row"),
            longest=q.longest,
        )

    try:
        known = ClausePair.from_clauses(q, q, schema).left
        conditions = {A: on_row(e, A) for A, e in known.conditions.items()}
        return isinstance(compare(clause(left), clause(right), "equivalent", "valuations", schema, LIMIT), Equivalent)
    except Unsupported:
        return False


def _replaced(p: Any, part: Any, other: Any) -> Any:
    """Return the pattern with one part replaced."""
    if p is part:
        return other
    below = trees.children(p)
    return trees.rebuilt(p, [_replaced(one, part, other) for one in below]) if below else p


def _renamed(p: Any) -> Any:
    """Return the pattern with other names for its variables."""
    if isinstance(p, rows.RowVariable):
        return rows.RowVariable(p.name.removesuffix(OTHER) + OTHER)
    below = trees.children(p)
    return trees.rebuilt(p, [_renamed(one) for one in below]) if below else p


def _apart(p: Any) -> Any:
    """Return the pattern with other names for the variables in exclusions, whose rows are left out of the output."""
    if isinstance(p, rows.Exclusion):
        return _renamed(p)
    below = trees.children(p)
    return trees.rebuilt(p, [_apart(one) for one in below]) if below else p


def _may_be_empty(p: rows.Pattern) -> bool:
    return any(way.target == ACCEPT for way in compile_pattern(p, LIMIT).first)


# ---------------------------------------------------------------------------------------------------------------------
# Conditions of DEFINE that are never true, and clauses that match no table.
#
# A condition that is found is never true on any table, but not every such condition is found. A part of a condition is
# always NULL if it looks at rows that do not exist: rows of a variable that all come later, or rows outside the frame
# of WINDOW.

MOST = 20_000  # the greatest number of pairs of a state of the automaton and a row of a frame
Why: TypeAlias = Literal["NULL", "no row", "one row", "contradiction"]


@dataclass(frozen=True)
class NeverTrue:
    """A variable whose condition is never true, the part of the condition that causes it, and why.

    The part is always NULL, looks at a row that never exists, compares a row with itself, or contradicts itself.
    """

    variable: str
    part: rows.Expression
    why: Why


@dataclass(frozen=True)
class DefineConditions:
    """The conditions of a clause and the automaton of its pattern. The methods raise BudgetExceeded."""

    q: MatchRecognize
    budget: Budget = Budget()

    @cached_property
    def automaton(self) -> Automaton:
        return compile_pattern(self.q.pattern, self.budget)

    @cached_property
    def before(self) -> Mapping[str, frozenset[str]]:
        """Return for each variable the variables whose rows may come before its rows in a match."""
        A = self.automaton
        found: dict[str, set[str]] = {name: set() for name in self.q.primary}
        for source, name in enumerate(A.variables):
            reached, pending = set[int](), [source]
            while pending:
                for way in A.follow[pending.pop()]:
                    if way.target != ACCEPT and not way.end and way.target not in reached:
                        reached.add(way.target)
                        pending.append(way.target)
            for state in reached:
                found[A.variables[state]].add(name)
        return {name: frozenset(others) for name, others in found.items()}

    def never_true(self) -> Iterator[NeverTrue]:
        """Yield each variable whose condition is false in every row."""
        for A, condition in self.q.conditions.items():
            view = _View(self, A, None)
            if (found := view.never(condition)) is not None:
                yield NeverTrue(A, *found)
            elif self._contradicts(A):
                yield NeverTrue(A, condition, "contradiction")

    def match_is_possible(self) -> bool:
        """Return whether the pattern can be completed in a frame, so that some table may have a match."""
        A, window = self.automaton, self.q.window
        last = 0 if window is None else self._last_depth()
        if len(A.variables) * (last + 1) > MOST:
            raise BudgetExceeded(
                f"the pattern and the frame have more than {MOST} pairs of a state and a row; use a smaller frame"
            )
        dead = {one.variable for one in self.never_true()}
        end = last if window is not None and window.following is not None else None
        start = range(last + 1) if window is not None and window.seek else (0,)
        pending: list[tuple[int | None, int]] = [(None, depth) for depth in start]
        seen = set(pending)
        while pending:
            state, depth = pending.pop()
            for way in A.first if state is None else A.follow[state]:
                if way.target == ACCEPT:
                    return True
                name = A.variables[way.target]
                if way.end or (end is not None and depth > end) or name in dead or self._is_dead(name, depth):
                    continue
                after = (way.target, depth + 1 if end is not None else min(depth + 1, last))
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
        return False

    def _last_depth(self) -> int:
        """Return the number of the last row of a frame that conditions can distinguish from later rows."""
        assert self.q.window is not None
        inside = (node for e in self.q.conditions.values() for node in trees.subtrees(e))
        offsets = (node.offset for node in inside if isinstance(node, rows.Physical))
        return max(offsets, default=0) if self.q.window.following is None else self.q.window.following

    def _is_dead(self, A: str, depth: int) -> bool:
        """Return whether the condition of a variable is never true in row `depth` of a frame, counted from 0."""
        if self.q.window is None or A not in self.q.conditions:
            return False
        return _View(self, A, depth).never(self.q.conditions[A]) is not None

    def _contradicts(self, A: str) -> bool:
        """Return whether the condition of A can never be true; False if it depends on more than one row's columns."""
        try:
            predicate = predicate_of(self.q.conditions[A], [U for U, its in self.q.unions.items() if A in its])
        except Unsupported:
            return False
        # Without the solver an impossible condition may count as possible: then nothing is reported.
        return not any(one.chosen for one in minterms([predicate], None, self.budget, solver=False))


@dataclass(frozen=True)
class _View:
    """The rows that the condition of a variable sees.

    depth: the number of the variable's row in the frame; None if it is unknown.
    """

    conditions: DefineConditions
    variable: str
    depth: int | None

    def never(self, e: rows.Expression) -> tuple[rows.Expression, Why] | None:
        """Return the part that makes a condition never true, and why; None if it may be true."""
        match e:
            case rows.RowAnd(left, right):
                return self.never(left) or self.never(right)
            case rows.RowOr(left, right):
                return self.never(left) and self.never(right)
            case rows.RowComparison(left, "<" | ">", right) if self._plain(left) == self._plain(right):
                return e, "one row"
            case rows.RowBetween(_, low, high, False) if self.null(low) or self.null(high):
                return e, "NULL"
            case rows.RowIn(_, items, negated) if (any if negated else all)(map(self.null, items)):
                return e, "NULL"
            case rows.IsNull(operand, True) if self.null(operand):
                return e, "NULL"
        if not self.null(e):
            return None
        nothing = next((one for one in rows.lookups(e) if self._looks_at_nothing(one)), None)
        return (e, "NULL") if nothing is None else (nothing, "no row")

    def null(self, e: rows.Expression) -> bool:
        """Return whether an expression is always NULL."""
        if isinstance(e, rows.Lookup):
            return self._looks_at_nothing(e)
        match e:
            case rows.RowConstant(value):
                return value is None
            case rows.Coalesce(arguments):
                return all(map(self.null, arguments))
            case rows.RowAnd(left, right) | rows.RowOr(left, right):
                return self.null(left) and self.null(right)
            case rows.IsNull() | rows.RowCase():
                return False
            case rows.RowBetween() | rows.RowIn():
                return self.null(e.operand)
        return any(map(self.null, rows.below(e)))

    def _looks_at_nothing(self, e: rows.Lookup) -> bool:
        if isinstance(e, rows.Count | rows.RowMatchNumber) or (
            isinstance(e, rows.RowAggregate) and e.function == "COUNT"
        ):
            return False
        V = rows.variable_of(e)
        its = None if V is None else self.conditions.q.unions[V]
        if its is not None and self.variable not in its and its.isdisjoint(self.conditions.before[self.variable]):
            return True
        inner = e.argument if isinstance(e, rows.Physical) else None
        is_here = its is None or self.variable in its
        if not isinstance(e, rows.Physical) or not is_here or self.depth is None:
            return False
        if isinstance(inner, rows.Logical) and (inner.function, inner.offset) != ("LAST", 0):
            return False
        other = self.depth + (e.offset if e.function == "NEXT" else -e.offset)
        window = self.conditions.q.window
        return other < 0 or (window is not None and window.following is not None and other > window.following)

    def _plain(self, e: rows.Expression) -> rows.Expression:
        """Return the expression with columns of the current row without their variable."""
        if isinstance(e, rows.RowColumn):
            own = e.variable is not None and self.variable in self.conditions.q.unions[e.variable]
            return replace(e, variable=None) if own else e
        below = rows.below(e)
        return trees.rebuilt(e, [self._plain(one) for one in below]) if below else e


def fewest(p: rows.Pattern) -> Iterator[rows.Quantified]:
    """Yield the reluctant quantifiers at the end of a pattern, which always take their least number of iterations.

    Only quantifiers with a choice, and with at least one iteration, are included.
    """
    match p:
        case rows.RowConcatenation(_, right):
            yield from fewest(right)
        case rows.Alternation(left, right):
            yield from fewest(left)
            yield from fewest(right)
        case rows.Exclusion(inner):
            yield from fewest(inner)
        case rows.Quantified(_, low, high, False) if low > 0 and low != high:
            yield p
