"""WINDOW by the loops of MATCH_RECOGNIZE: an automaton whose states count the rows from the first one of the frame.

PREV and NEXT see the rows of the frame alone, so a condition depends on where in the frame its row is. Letters: d the
place of a row in its frame, from 0; m the number of the pattern's states. SEEK is a reluctant number of rows before the
pattern.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from cerify.automata.row_pattern.compile import ACCEPT, Automaton, Way, compile_pattern
from cerify.semantics import trees
from cerify.semantics.budget import Budget
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize
from cerify.semantics.trees import subtrees

BEFORE = ""
"""The variable of the rows between the row that is searched from and the match that SEEK finds."""


@dataclass(frozen=True)
class Framed:
    """A clause and an automaton that find in a whole partition the matches in the frames of its rows.

    The state d * m + s is the state s of the pattern in the row d of a frame; without an end the last d stands for all
    rows from it on. pattern: its automaton, the last of whose m states is that of BEFORE if the clause has SEEK.
    """

    q: MatchRecognize
    pattern: Automaton
    automaton: Automaton


def searched_pattern(q: MatchRecognize) -> rows.Pattern:
    """The pattern of a search from a row: with SEEK there may be rows before the match, as few as possible."""
    if q.window is None or not q.window.seek:
        return q.pattern
    return rows.Concatenation(rows.Quantified(rows.Variable(BEFORE), 0, None, greedy=False), q.pattern)


def last_place(q: MatchRecognize) -> int:
    """The last place of a row in its frame that conditions distinguish, or that there is."""
    if q.window is None:
        return 0
    if q.window.following is not None:
        return q.window.following
    inside = (node for one in q.define for node in subtrees(one.condition))
    return max((e.offset for e in inside if isinstance(e, rows.Physical) and e.function == "PREV"), default=0)


def framed(q: MatchRecognize, budget: Budget = Budget()) -> Framed:
    """The automaton of a clause whose conditions look at columns alone. Raises BudgetExceeded."""
    pattern = compile_pattern(searched_pattern(q), budget)
    if q.window is None:
        return Framed(q, pattern, pattern)
    m, last, end = len(pattern.places), last_place(q), q.window.following
    variables: dict[tuple[str, rows.Expression | None], rows.Variable] = {}
    places = [
        variables.setdefault((A, e), rows.Variable(f"{A} {len(variables)}"))
        for d in range(last + 1)
        for A in pattern.variables
        for e in (in_frame(q.conditions[A], A, d, end) if A in q.conditions else None,)
    ]

    def moved(ways: tuple[Way, ...], d: int) -> tuple[Way, ...]:
        """The ways to the same states in the row d, of which there is none after the end."""
        d = min(d, last) if end is None else d
        return tuple(
            way if way.target == ACCEPT else replace(way, target=d * m + way.target)
            for way in ways
            if way.target == ACCEPT or d <= last
        )

    follow = tuple(moved(ways, d + 1) for d in range(last + 1) for ways in pattern.follow)
    automaton = Automaton(moved(pattern.first, 0), follow, tuple(places), pattern.excluded * (last + 1))
    define = tuple(Definition(one.name, e) for (_, e), one in variables.items() if e is not None)
    return Framed(replace(q, define=define), pattern, automaton)


def in_frame(e: rows.Expression, A: str, d: int, end: int | None) -> rows.Expression:
    """The condition of A in the row d of a frame, whose last row is `end`, over the columns of the whole partition."""
    if isinstance(e, rows.Classifier):
        return rows.Constant(A)
    if isinstance(e, rows.Physical):
        other = d + (e.offset if e.function == "NEXT" else -e.offset)
        return e if other >= 0 and (end is None or other <= end) else rows.Constant(None)
    below = rows.below(e)
    return trees.rebuilt(e, [in_frame(one, A, d, end) for one in below]) if below else e
