"""The conditions of clauses of MATCH_RECOGNIZE that look at columns alone, and what cannot be true of them in a table.

Two conditions that are the same expression are one, whatever the variables. A word says of each row of a partition
which conditions are true and which are not; a fact is a factor that the word of no partition has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from cerify.automata.row_pattern.conditions import why_not
from cerify.automata.row_pattern.distances import at_fixed_distances
from cerify.equivalence.claim import Level
from cerify.equivalence.decide.certificate import Fact, Letter
from cerify.semantics import trees
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TYPE, Schema
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize, Order
from cerify.semantics.row_pattern.resolve import columns_in, resolved

FARTHEST = 50  # rows that PREV and NEXT may look back or on; each makes what the solver is told longer


@dataclass(frozen=True)
class ClausePair:
    """Two clauses that partition and order alike, and their conditions.

    Raises Unsupported for a condition that looks at the match so far, not at columns alone. The columns have the names
    that they have in the schema, or else where they are mentioned first.
    """

    left: MatchRecognize
    right: MatchRecognize

    @classmethod
    def of(cls, left: MatchRecognize, right: MatchRecognize, schema: Schema | None) -> ClausePair:
        left, right = at_fixed_distances(left), at_fixed_distances(right)
        known = {TYPE: TYPE} | ({} if schema is None else {name.lower(): name for name in schema.attributes})
        for one in (*columns_in(left), *columns_in(right)):
            if not one.quoted:
                known.setdefault(one.name.lower(), one.name)
        names = [*known.values(), *(one.name for q in (left, right) for one in columns_in(q) if one.quoted)]
        found = cls(*(resolved(q, dict.fromkeys(names)) for q in (left, right)))
        for q in (found.left, found.right):
            if (refused := why_not(q)) is not None:
                raise refused
        if any(found.reach(function) > FARTHEST for function in ("PREV", "NEXT")):
            raise Unsupported(f"PREV and NEXT look further than {FARTHEST} rows")
        if found.left.window is not None or found.right.window is not None:
            raise Unsupported("in WINDOW each row has the match of its frame")
        if _table_order(found.left) != _table_order(found.right):
            raise Unsupported("they do not partition and order the rows alike")
        if _place(found.left) != _place(found.right) and not found.match_at_each_row:
            raise Unsupported("they go on at different rows after a match")
        return found

    @cached_property
    def conditions(self) -> tuple[rows.Expression, ...]:
        """The conditions, each once; their numbers are their places."""
        return tuple(dict.fromkeys(e for q in (self.left, self.right) for e in _conditions(q).values()))

    @cached_property
    def of_variables(self) -> tuple[Mapping[str, int], Mapping[str, int]]:
        """For each of the two clauses the numbers of the conditions of those variables that have one."""
        number = {e: i for i, e in enumerate(self.conditions)}
        left, right = ({A: number[e] for A, e in _conditions(q).items()} for q in (self.left, self.right))
        return left, right

    @property
    def match_at_each_row(self) -> bool:
        """Whether in both a match starts at each row where one may: none is skipped."""
        return all(q.skip.to == "next row" or longest(q.pattern) <= 1 for q in (self.left, self.right))

    def labels(self, level: Level) -> Level:
        """What matches that start at one row are compared by: their labels if AFTER MATCH SKIP depends on them."""
        return level if self.left.skip.variable is None else "valuations"

    def reach(self, function: str) -> int:
        """How many rows PREV, or NEXT, looks back, or on, at most."""
        nodes = (node for e in self.conditions for node in trees.subtrees(e))
        return max((e.offset for e in nodes if isinstance(e, rows.Physical) and e.function == function), default=0)


def _place(q: MatchRecognize) -> tuple[str, frozenset[str]]:
    """Where AFTER MATCH SKIP goes: for TO a variable those whose rows it stands for."""
    return q.skip.to, frozenset() if q.skip.variable is None else q.unions[q.skip.variable]


def _table_order(q: MatchRecognize) -> tuple[frozenset[str], list[tuple[str, bool, str]]]:
    """The columns of PARTITION BY, and of ORDER BY with the direction and the place of NULL."""
    order = [(one.column.name, one.descending, nulls_of(one)) for one in q.order]
    return frozenset(one.name for one in q.partition), order


def nulls_of(one: Order) -> str:
    """FIRST or LAST: where NULL is in an order; above all values, if the text leaves it open."""
    return one.nulls or ("FIRST" if one.descending else "LAST")


def _conditions(q: MatchRecognize) -> dict[str, rows.Expression]:
    return {A: on_row(e, A) for A, e in q.conditions.items()}


def on_row(e: rows.Expression, variable: str) -> rows.Expression:
    """The condition of a variable without the names of variables: its own row is the current one."""
    match e:
        case rows.Column():
            return rows.Column(e.name, quoted=True)
        case rows.Classifier():
            return rows.Constant(variable)
        case rows.Logical(_, argument):
            return on_row(argument, variable)
    found: rows.Expression = trees.rebuilt(e, [on_row(one, variable) for one in rows.below(e)])
    return found


def known_after(
    facts: Sequence[Fact], known: frozenset[tuple[int, int]], letter: Letter, first: bool
) -> frozenset[tuple[int, int]] | None:
    """How many rows of which facts the last rows of a word have, after another row; None if it has a whole fact.

    One that is a fact at the end of a partition alone is no reason for None.
    """
    begun = known | {(i, 0) for i, fact in enumerate(facts) if first or not fact.first}
    longer = {(i, n + 1) for i, n in begun if n < len(facts[i].rows) and facts[i].rows[n] <= letter}
    if any(n == len(facts[i].rows) and not facts[i].last for i, n in longer):
        return None
    return frozenset(longer)


def may_end(facts: Sequence[Fact], known: frozenset[tuple[int, int]]) -> bool:
    """Whether a partition may end after rows of which this is known."""
    return all(n < len(facts[i].rows) for i, n in known)


def longest(p: rows.Pattern) -> int:
    """The most rows that a labelling has; 2 for more than one."""
    match p:
        case rows.Variable():
            return 1
        case rows.Empty() | rows.Anchor():
            return 0
        case rows.Concatenation(left, right):
            return min(2, longest(left) + longest(right))
        case rows.Alternation(left, right):
            return max(longest(left), longest(right))
        case rows.Permute(parts):
            return min(2, sum(map(longest, parts)))
        case rows.Quantified(inner, _, high):
            return min(2, longest(inner) * (2 if high is None else high))
        case rows.Exclusion(inner):
            return longest(inner)
        case _:
            assert_never(p)
