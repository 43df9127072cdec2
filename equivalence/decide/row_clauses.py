"""Whether two clauses of MATCH_RECOGNIZE find the same matches in every table, for conditions that look at columns.

At first a table may have any word of conditions. Where matches differ on a word that no table has, there is a fact that
it goes against, and the search goes on among the words that go against no fact. So what is found to be the same is the
same in every table, and a difference is one on a table, tried by the definition.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field, replace

from cerify.automata.row_pattern.compile import compile_pattern
from cerify.equivalence.bounded.row_tables import difference_on
from cerify.equivalence.claim import Claim, Level
from cerify.equivalence.decide.certificate import Certificate, Fact
from cerify.equivalence.decide.row_search import Search
from cerify.equivalence.decide.row_solver import Solver
from cerify.equivalence.decide.row_words import ClausePair
from cerify.equivalence.verdict import Contained, Different, Equivalent
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Schema, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import MatchRecognize, Skip
from cerify.semantics.row_pattern.show import show

MOST_FACTS = 300


def compare(
    left: MatchRecognize, right: MatchRecognize, claim: Claim, level: Level, schema: Schema | None, budget: Budget
) -> Equivalent | Contained | Different:
    """The verdict on two clauses. Raises Unsupported where it is not decided, BudgetExceeded.

    What is compared are the matches, not what MEASURES makes of them. If at each row the same match starts, the clauses
    have the same matches, wherever AFTER MATCH SKIP goes. Whether matches that start at different rows are contained is
    decided for TO NEXT ROW.
    """
    asked = Comparison(ClausePair.of(left, right, schema), claim, level, schema, budget)
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
    """A shortest table in which a clause has a match; None if no table has one.

    Raises Unsupported where it is not decided, BudgetExceeded.
    """
    anywhere = replace(q, skip=Skip("next row"))
    nowhere = replace(anywhere, pattern=rows.Concatenation(q.pattern, _NEVER))
    found = Comparison(ClausePair.of(anywhere, nowhere, schema), "contained", "events", schema, budget)
    difference = found.difference("contained")
    return None if difference is None else difference.stream


_NEVER = rows.Concatenation(rows.Anchor("end"), rows.Variable("A"))  # a row after the last one


@dataclass
class Comparison:
    """The search for tables on which two clauses differ, and the facts that it has needed."""

    clauses: ClausePair
    claim: Claim
    level: Level
    schema: Schema | None
    budget: Budget
    facts: list[Fact] = field(default_factory=list)

    def difference(self, starting: Claim) -> Different | None:
        """A difference of the clauses, where matches that start at one row are not the same, or are not contained.

        Raises Unsupported where they may differ at a row and no table is found on which the clauses do.
        """
        left, right = self.clauses.left, self.clauses.right
        search = Search(
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
                    with suppress(IllFormed):  # where AFTER MATCH SKIP leads nowhere
                        if (found := difference_on(S, left, right, self.claim, self.level)) is not None:
                            return replace(found, shortest=True)
                raise Unsupported(_undecided(len(word), skips=starting != self.claim))
            self.facts.append(fact)
            if len(self.facts) > MOST_FACTS:
                raise BudgetExceeded(f"the comparison needs more than {MOST_FACTS} facts about conditions")
        return None


def _undecided(number: int, skips: bool) -> str:
    """Why there is no verdict, where the matches may differ on a table of `number` rows."""
    table = f"no table of {number} row{'s' * (number != 1)} was found that shows it"
    if skips:
        return (
            "the right has each match of the left where it does not skip its first row; whether it may skip that is not"
            f" decided, and {table}; ask with AFTER MATCH SKIP TO NEXT ROW in both"
        )
    return f"they may differ where a match starts, and {table}"
