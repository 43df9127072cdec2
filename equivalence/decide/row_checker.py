"""Check whether a certificate proves its claim about two clauses of MATCH_RECOGNIZE, without code of the search.

The check trusts the parser, the list of conditions, and the solver, which proves each fact again. It follows the
patterns by ordered partial derivatives: what remains of a pattern after a row, in the order of preference. A word says
which conditions are true in each row; facts exclude words that no table has. On each other word, the match is given by
the first derivative that can be empty. Two matches are the same if their rows have the same labels. There are finitely
many derivatives, so the check ends.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple, TypeAlias, assert_never

from cerify.equivalence.decide.row_solver import ClausePair, Solver
from cerify.equivalence.verdict import Certificate, Fact, Letter, Word
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.parse import parse


class RowIteration(NamedTuple):
    """A mark where an iteration of a quantifier ends.

    number: how many iterations there were so far (capped). has_rows: whether this iteration took a row.
    """

    quantifier: rows.Quantified
    number: int
    has_rows: bool


Rest: TypeAlias = tuple[rows.Pattern | RowIteration, ...]
"""What remains of a pattern, in reverse order: the last part is matched next."""


class CheckedSide(NamedTuple):
    """The remainder of one clause's pattern after the rows so far.

    left: the remaining patterns, the preferred first, each with a number; equal numbers mean that the rows have equal
    labels. match: the number of the match if no remaining pattern is completed; None for no match.
    """

    left: tuple[tuple[Rest, Hashable], ...]
    match: Hashable = None


class CheckedState(NamedTuple):
    """A state between two rows: the clauses' sides (None before the matches start), and the last letters of a word."""

    sides: tuple[CheckedSide, CheckedSide] | None = None
    letters: Word = ()


def row_flaw(certificate: Certificate, budget: Budget = Budget()) -> str | None:
    """Return the flaw in a certificate for clauses of MATCH_RECOGNIZE; None if it proves its claim.

    Raises BudgetExceeded, and Unsupported for a certificate of another language.
    """
    certificate.require_language("row-pattern")
    with budget.timed():
        return _flaw(certificate, budget)


def _flaw(certificate: Certificate, budget: Budget) -> str | None:
    left, right = parse(certificate.left), parse(certificate.right)
    try:
        for q in (left, right):
            require_wellformed(q)
        clauses = ClausePair.from_clauses(left, right, certificate.schema)
    except (IllFormed, Unsupported) as error:
        return error.message
    facts = certificate.facts or ()
    solver = Solver(clauses, certificate.schema)
    for i, fact in enumerate(facts):
        if any(number >= len(clauses.conditions) for letter in fact.rows for number, _ in letter):
            many = len(clauses.conditions)
            return f"fact {i} of the certificate has a condition number that is too large: the clauses have {many}"
        if not solver.holds(fact):
            return f"fact {i} of the certificate is not proved: a partition may have the rows that it excludes"
    return _Followed(certificate, facts, clauses, budget).difference()


@dataclass(frozen=True)
class _Followed:
    """A search through the patterns of two clauses, on all words that the facts allow."""

    certificate: Certificate
    facts: tuple[Fact, ...]
    clauses: ClausePair
    budget: Budget

    def difference(self) -> str | None:
        """Return a message if the matches that start at one row may differ; None if they are the same."""
        contained = self.certificate.claim == "contained" and self.clauses.match_at_each_row
        pending = [CheckedState()]
        seen = set(pending)
        while pending:
            check_time()
            for now in self._after(pending.pop()):
                if now.sides is not None and not self._impossible(now.letters, last=True):
                    left, right = (_ended(side) for side in now.sides)
                    if left != right and not (contained and left is None):
                        return f"the matches may differ on a table of {len(now.letters)} or more rows"
                if now not in seen:
                    seen.add(now)
                    pending.append(now)
            if len(seen) > self.budget.states:
                raise BudgetExceeded(
                    f"the check needs more than {self.budget.states} states of the two patterns; raise the budget"
                )
        return None

    def _after(self, now: CheckedState) -> Iterator[CheckedState]:
        """Yield the possible states after one more row."""
        begins = not now.letters
        if now.sides is None and not self._impossible(letters := self._recent(now, frozenset()), last=False):
            yield CheckedState(None, letters)
        starts = tuple(CheckedSide((((q.pattern,), 0),)) for q in (self.clauses.left, self.clauses.right))
        sides = starts if now.sides is None else now.sides
        longest = self.clauses.longest
        options = [_options(side, begins, own) for side, own in zip(sides, longest, strict=True)]
        asked = sorted(
            {
                known[A]
                for known, (taken, _) in zip(self.clauses.of_variables, options, strict=True)
                for A, _, _ in taken
                if A in known
            }
        )
        for truths in product((True, False), repeat=len(asked)):
            true = dict(zip(asked, truths, strict=True))
            letters = self._recent(now, frozenset(true.items()))
            if not self._impossible(letters, last=False):
                after = [self._take_row(i, taken, match, true) for i, (taken, match) in enumerate(options)]
                yield CheckedState(_numbered(*after), letters)

    def _take_row(
        self, i: int, options: list[tuple[str, Rest, Hashable]], match: Hashable, true: dict[int, bool]
    ) -> CheckedSide:
        """Return side `i` after a row in which the conditions are true or false as `true` says."""
        known, labelled = (
            self.clauses.of_variables[i],
            self.clauses.labels(self.certificate.level) == "valuations",
        )
        left: dict[Rest, Hashable] = {}
        for A, rest, number in options:
            # A variable without a condition takes every row. Of equal remaining patterns the first one is preferred,
            # and the others can never be the match.
            if A not in known or true[known[A]]:
                left.setdefault(rest, (number, A if labelled else ""))
        return CheckedSide(tuple(left.items()), None if match is None else (match,))

    def _recent(self, now: CheckedState, letter: Letter) -> Word:
        """Return the last letters of a word: as many as facts need, and one more to show that the word is longer."""
        asked = {pair for fact in self.facts for letter in fact.rows for pair in letter}
        longest = max((len(fact.rows) for fact in self.facts), default=0)
        return (*now.letters, letter & asked)[-longest - 1 :]

    def _impossible(self, letters: Word, last: bool) -> bool:
        """Return whether a fact excludes words that end with these letters. last: whether the partition ends there."""
        return any(
            (last or not fact.last)
            and (len(letters) == len(fact.rows) if fact.first else len(letters) >= len(fact.rows))
            and all(map(frozenset.issubset, fact.rows, letters[len(letters) - len(fact.rows) :]))
            for fact in self.facts
        )


def _options(side: CheckedSide, begins: bool, longest: bool) -> tuple[list[tuple[str, Rest, Hashable]], Hashable]:
    """Return the ways to take another row (variable, remaining pattern, number), and the match if none of them is
    completed.

    If the longest match is wanted, the ways include those that are less preferred than a completed pattern.
    """
    taken: list[tuple[str, Rest, Hashable]] = []
    completed: list[Hashable] = []
    for rest, number in side.left:
        for A, onward, ends in _ways(rest, begins, False, set()):
            if A is not None:
                taken.append((A, onward, number))
            elif not ends:
                completed.append(number)
                if not longest:
                    return taken, number
    return taken, completed[0] if completed else side.match


def _ended(side: CheckedSide) -> Hashable:
    """Return the match if the partition ends here."""
    completed = (number for rest, number in side.left for A, _, _ in _ways(rest, False, False, set()) if A is None)
    return next(completed, side.match)


def _ways(
    rest: Rest, begins: bool, ends: bool, seen: set[tuple[Rest, bool]]
) -> Iterator[tuple[str | None, Rest, bool]]:
    """Yield the variables that may take the next row, the preferred first, each with the remaining pattern and `ends`.

    None in place of a variable means that the pattern is completed. begins, ends: whether the partition begins here, or
    must end here.
    """
    if (rest, ends) in seen:  # the same ways were yielded before, and are preferred there
        return
    seen.add((rest, ends))
    if not rest:
        yield None, (), ends
        return
    *others, part = rest
    later = tuple(others)
    match part:
        case rows.RowVariable(A):
            if not ends:
                yield (
                    A,
                    tuple(one._replace(has_rows=True) if isinstance(one, RowIteration) else one for one in later),
                    False,
                )
        case rows.Empty():
            yield from _ways(later, begins, ends, seen)
        case rows.Anchor(place):
            if place == "end" or begins:
                yield from _ways(later, begins, ends or place == "end", seen)
        case rows.RowConcatenation(left, right):
            yield from _ways((*later, right, left), begins, ends, seen)
        case rows.Alternation(left, right):
            yield from _ways((*later, left), begins, ends, seen)
            yield from _ways((*later, right), begins, ends, seen)
        case rows.Permute(parts):
            for order in permutations(parts):
                yield from _ways((*later, *reversed(order)), begins, ends, seen)
        case rows.Exclusion(inner):
            yield from _ways((*later, inner), begins, ends, seen)
        case rows.Quantified():
            # As if rows had been taken before: only an iteration after an empty one may be forbidden.
            yield from _ways((*later, RowIteration(part, 0, True)), begins, ends, seen)
        case RowIteration():
            for onward in _expand_iteration(part):
                yield from _ways((*later, *onward), begins, ends, seen)
        case _:
            assert_never(part)


def _expand_iteration(now: RowIteration) -> list[Rest]:
    """Return the patterns that remain for another iteration and for a stop, if these are allowed, the preferred first.

    An unbounded quantifier stops after an iteration without rows, if it has its least number of iterations.
    """
    p, number, has_rows = now
    stop: list[Rest] = [()] if number >= p.low else []
    more: list[Rest] = []
    if number != p.high and (has_rows or number < p.low or p.high is not None):
        # Without a greatest number nothing depends on iterations beyond the least, and counting on would have no end.
        more = [(RowIteration(p, number + 1 if p.high is not None else min(number + 1, p.low), False), p.pattern)]
    return more + stop if p.greedy else stop + more


def _numbered(left: CheckedSide, right: CheckedSide) -> tuple[CheckedSide, CheckedSide]:
    """Return the sides with their keys replaced by numbers from 0 on; equal keys get equal numbers."""
    # The keys grow with every row. Numbered anew, states with the same future are equal, so that the search ends.
    numbers: dict[Hashable, int] = {}

    def side(one: CheckedSide) -> CheckedSide:
        found = tuple((rest, numbers.setdefault(key, len(numbers))) for rest, key in one.left)
        return CheckedSide(found, None if one.match is None else numbers.setdefault(one.match, len(numbers)))

    return side(left), side(right)
