"""Are two event expressions equivalent, is one contained in the other, can one take place at all? For all histories.

Their minimal automata are compared over the types of events that the two together can tell apart. A difference is shown
as a shortest history, of which the meaning has been asked; that there is none by the pairs of states that go together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.dfa.compile import compile_expression, compile_together
from cerify.automata.dfa.decide import accepted_word, separating_word, stream_of, types_under, uncontained_word
from cerify.automata.dfa.model import DFA
from cerify.automata.explore import explore
from cerify.equivalence.decide.certificate import Certificate, Claim
from cerify.equivalence.verdict import Different, Undecided
from cerify.semantics.budget import Budget
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.events import Match, Schema, Stream
from cerify.semantics.gehani import syntax as ev
from cerify.semantics.gehani.denote import takes_place
from cerify.semantics.gehani.show import show


@dataclass(frozen=True)
class Proved:
    """The claim holds for all histories; states are those of the minimal automata of the two, over one alphabet."""

    certificate: Certificate
    states: tuple[int, int]


ExpressionVerdict: TypeAlias = Proved | Different | Undecided


def equivalent(
    E: ev.Expression, F: ev.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Whether the two take place at the same events of every history, or of every history of the schema."""
    return _compared(E, F, "equivalent", schema, budget)


def contained(
    E: ev.Expression, F: ev.Expression, schema: Schema | None = None, budget: Budget = Budget()
) -> ExpressionVerdict:
    """Whether F takes place wherever E does."""
    return _compared(E, F, "contained", schema, budget)


def shortest_history(E: ev.Expression, schema: Schema | None = None, budget: Budget = Budget()) -> Stream | None:
    """A shortest history at whose last event E takes place, None if there is none at all.

    Raises Unsupported where E has attribute variables, or masks that are too hard, and BudgetExceeded.
    """
    A = compile_expression(E, schema, budget)
    events = types_under(A.alphabet, schema, budget)
    word = accepted_word(A, events, budget)
    return None if word is None else stream_of(word, events, schema)


def _compared(
    E: ev.Expression, F: ev.Expression, claim: Claim, schema: Schema | None, budget: Budget
) -> ExpressionVerdict:
    try:
        A, B = compile_together([E, F], schema, budget)
        return _searched(E, F, A, B, claim, schema, budget)
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def _searched(
    E: ev.Expression, F: ev.Expression, A: DFA, B: DFA, claim: Claim, schema: Schema | None, budget: Budget
) -> ExpressionVerdict:
    separate = separating_word if claim == "equivalent" else uncontained_word
    events = types_under(A.alphabet, schema, budget)
    word = separate(A, B, events, budget)
    if word is None:
        relation = tuple(((p,), (q,)) for p, q in _together(A, B, set(events), budget))
        certificate = Certificate(claim, show(E), show(F), "events", schema, False, relation, "event-expression")
        return Proved(certificate, (len(A.following), len(B.following)))
    known = {a for a, event in events.items() if event is not None}
    shortest = known.issuperset(word)
    if not shortest:  # an event of it may not exist; there may be a longer history of events that do
        word = separate(A, B, known, budget)
    if word is None:
        return Undecided(
            "it hangs on an event of which the solver cannot tell whether there is one; write plainer masks"
        )
    return _replayed(E, F, stream_of(word, events, schema), claim, shortest, budget)


def _together(A: DFA, B: DFA, types: set[int], budget: Budget) -> list[tuple[int, int]]:
    """The pairs of states that the two are in after the same history. Raises BudgetExceeded."""

    def successors(pair: tuple[int, int]) -> list[tuple[int, tuple[int, int]]]:
        coming = A.alphabet.coming if pair != (0, 0) else range(len(A.alphabet.types))
        return [(a, (A.step(pair[0], a), B.step(pair[1], a))) for a in sorted(types.intersection(coming))]

    return list(explore([(0, 0)], successors, budget.states, "the pairs of states of the two automata"))


def _replayed(E: ev.Expression, F: ev.Expression, S: Stream, claim: Claim, shortest: bool, budget: Budget) -> Different:
    """The difference at the last event, as the meaning has it. Raises InternalError if it is none."""
    e = len(S) - 1
    left, right = ((Match(e, (e,)),) if e in takes_place(G, S, budget) else () for G in (E, F))
    if left == right or (claim == "contained" and not left):
        raise InternalError(f"{show(E)} and {show(F)} were found to differ on {list(S)}, and do not")
    return Different(S, e, left, right, shortest)
