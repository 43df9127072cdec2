"""Check whether a certificate proves its claim about two clauses of MATCH_RECOGNIZE, without code of the search.

The check trusts the parser, the list of conditions, and the solver, which decides each fact again. It follows the
patterns by ordered partial derivatives: the rests of a pattern after a row, in the order of preference. On each word
that contradicts no fact, the match is the first derivative with an empty rest. Two matches are the same if their rows
have the same labels. There are finitely many derivatives, so the check ends.
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
    """The end of an iteration: its quantifier, the number of iterations (capped), and whether it has rows."""

    quantifier: rows.Quantified
    number: int
    has_rows: bool


Rest: TypeAlias = tuple[rows.Pattern | RowIteration, ...]
"""What is left of a pattern; its last part comes next."""


class CheckedSide(NamedTuple):
    """The rests of the patterns after the rows so far, the preferred first, and the match if no rest is completed.

    Each has a number, or None for no match; equal numbers mean rows with equal labels.
    """

    left: tuple[tuple[Rest, Hashable], ...]
    match: Hashable = None


class CheckedState(NamedTuple):
    """A state between two rows: both sides (None before the row where matches start), and the last letters."""

    sides: tuple[CheckedSide, CheckedSide] | None = None
    letters: Word = ()


def row_flaw(certificate: Certificate, budget: Budget = Budget()) -> str | None:
    """Return the flaw in a certificate for clauses of MATCH_RECOGNIZE; None if it proves its claim.

    Raises Unsupported for a certificate of another language, BudgetExceeded.
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
            return f"fact {i} names a condition that the clauses do not have; they have {len(clauses.conditions)}"
        if not solver.holds(fact):
            return f"fact {i} is not proved: a partition may have such rows"
    return _Followed(certificate, facts, clauses, budget).difference()


@dataclass(frozen=True)
class _Followed:
    """The patterns of two clauses on all words that contradict no fact."""

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
                    f"the check reaches more than {self.budget.states} states of the two patterns; raise the budget"
                )
        return None

    def _after(self, now: CheckedState) -> Iterator[CheckedState]:
        """Yield the states after another row: before the matches start, or inside them."""
        begins = not now.letters
        if now.sides is None and not self._impossible(letters := self._recent(now, frozenset()), last=False):
            yield CheckedState(None, letters)
        starts = tuple(CheckedSide(((_wrap_pattern(q.pattern), 0),)) for q in (self.clauses.left, self.clauses.right))
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
        """Return a side after a row."""
        known, labelled = (
            self.clauses.of_variables[i],
            self.clauses.labels(self.certificate.level) == "valuations",
        )
        left: dict[Rest, Hashable] = {}
        for A, rest, number in options:
            if A not in known or true[known[A]]:
                left.setdefault(rest, (number, A if labelled else ""))
        return CheckedSide(tuple(left.items()), None if match is None else (match,))

    def _recent(self, now: CheckedState, letter: Letter) -> Word:
        """Return the last letters of a word that facts may need, and one more, to tell whether it has others."""
        asked = {pair for fact in self.facts for letter in fact.rows for pair in letter}
        longest = max((len(fact.rows) for fact in self.facts), default=0)
        return (*now.letters, letter & asked)[-longest - 1 :]

    def _impossible(self, letters: Word, last: bool) -> bool:
        """Return whether a fact excludes words that end with these letters; last: at the end of a partition."""
        return any(
            (last or not fact.last)
            and (len(letters) == len(fact.rows) if fact.first else len(letters) >= len(fact.rows))
            and all(map(frozenset.issubset, fact.rows, letters[len(letters) - len(fact.rows) :]))
            for fact in self.facts
        )


def _options(side: CheckedSide, begins: bool, longest: bool) -> tuple[list[tuple[str, Rest, Hashable]], Hashable]:
    """Return the ways to take another row, and the match if none of these is completed.

    If the longest match is wanted, ways that come after a completed one are included too.
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
    """Yield the variables that may take the next row, the preferred first, each with the rest of the pattern.

    None instead of a variable: all is matched. begins, ends: whether the partition begins here, or must end here.
    """
    if (rest, ends) in seen:  # what comes of it is preferred there
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
            yield from _ways((*later, RowIteration(part, 0, True)), begins, ends, seen)
        case RowIteration():
            for onward in _expand_iteration(part):
                yield from _ways((*later, *onward), begins, ends, seen)
        case _:
            assert_never(part)


def _expand_iteration(now: RowIteration) -> list[Rest]:
    """Return both choices, to iterate and to stop, the preferred first; no iteration follows an unneeded one without
    rows.
    """
    p, number, has_rows = now
    stop: list[Rest] = [()] if number >= p.low else []
    more: list[Rest] = []
    if number != p.high and (has_rows or number < p.low or p.high is not None):
        more = [(RowIteration(p, number + 1 if p.high is not None else min(number + 1, p.low), False), p.pattern)]
    return more + stop if p.greedy else stop + more


def _wrap_pattern(p: rows.Pattern) -> Rest:
    return (p,)


def _numbered(left: CheckedSide, right: CheckedSide) -> tuple[CheckedSide, CheckedSide]:
    """Return the sides with the labels of rows replaced by numbers from 0 on."""
    numbers: dict[Hashable, int] = {}

    def side(one: CheckedSide) -> CheckedSide:
        found = tuple((rest, numbers.setdefault(key, len(numbers))) for rest, key in one.left)
        return CheckedSide(found, None if one.match is None else numbers.setdefault(one.match, len(numbers)))

    return side(left), side(right)
