"""Can a formula be written in CEL*? tods21, Corollary 8.10: exactly if it has the *-property.

The *-property says that what stands between the events of a match does not matter. A formula has it exactly if its
automaton has the same complex events under the *-semantics (Proposition 8.8), which is decided. If so, the words of
events that are marked make a regular language without the empty word, and an expression for it is a formula of CEL*
(Theorem 8.9): + for repetition, ; for concatenation, OR for union.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.io_determinize import single_variable
from cerify.automata.cea.star import star
from cerify.automata.cea.to_cel import to_cel
from cerify.equivalence.decide.cel import algebras, equivalent, stream_of, undecidable_reason
from cerify.equivalence.decide.marked import MarkedNFA, marked_nfa
from cerify.equivalence.decide.search import Separation, separate
from cerify.equivalence.verdict import Answer, Equivalent, Undecided
from cerify.semantics.budget import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.show import show
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Schema, Stream
from cerify.semantics.predicates import Attribute, Comparison, Predicate

NEVER: Predicate = Comparison("<", Attribute(TIME), Attribute(TIME))


@dataclass(frozen=True, eq=False)
class InStar(Answer):
    """The formula is equivalent to this one of CEL*, at the level of complex events."""

    phi: cel.Formula
    proof: Equivalent


@dataclass(frozen=True, eq=False)
class NotInStar(Answer):
    """The formula has not the *-property: whether events are a match depends on others.

    The events are the same on both streams, and at the last position of the first they are a match, but not so on the
    second; it is None where the match is not reported with the last of its events.
    """

    matched: tuple[Stream, ComplexEvent]
    unmatched: tuple[Stream, ComplexEvent] | None


def star_form(
    phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()
) -> InStar | NotInStar | Undecided:
    """An equivalent formula of CEL*, or two streams that show that there is none."""
    try:
        for algebra in algebras(phi, schema=schema, budget=budget):
            A = single_variable(compile_cel(phi, budget, algebra))
            automata = marked_nfa(A, star(A), algebra)
            found = separate(automata, budget.states)
            if not isinstance(found, Separation):
                B = star(A)
                psi = to_cel(B, "events", schema, budget) if B.states else _never(phi)
                return _in_star(phi, psi, schema, budget)
            if (stream := stream_of(found, automata, schema)) is not None:
                return _sensitive(phi, found, automata, stream, budget)
        return Undecided(undecidable_reason(schema))
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def _in_star(phi: cel.Formula, psi: cel.Formula, schema: Schema | None, budget: Budget) -> InStar | Undecided:
    """The formula that was made, with the proof that it is the same."""
    proof = equivalent(phi, psi, "events", schema, budget)
    match proof:
        case Equivalent():
            return InStar(psi, proof)
        case Undecided():
            return proof
        case _:
            raise InternalError(f"{show(phi)} was rewritten to {show(psi)}, which differs")


def _sensitive(phi: cel.Formula, found: Separation, automata: MarkedNFA, stream: Stream, budget: Budget) -> NotInStar:
    """The stream that was found beside that of its marked events alone, both asked of the definition."""
    C = frozenset(p for p, letter in enumerate(found.word) if automata.marks[letter % len(automata.marks)])
    alone = Stream([stream[p] for p in sorted(C)], stream.schema)
    sides = [(stream, C), (alone, frozenset(range(len(C))))]
    has = [C in interpreter.complex_events(phi, S, len(S) - 1, budget) if len(S) else False for S, C in sides]
    match has:
        case [True, _] if len(stream) - 1 not in C:
            return NotInStar(sides[0], None)
        case [True, False]:
            return NotInStar(sides[0], sides[1])
        case [False, True]:
            return NotInStar(sides[1], sides[0])
        case _:
            raise InternalError(
                f"{show(phi)} was found to depend on the events between on {list(stream)}, and does not"
            )


def _never(phi: cel.Formula) -> cel.Formula:
    """A formula of CEL* without a match."""
    R = next(psi.type for psi in cel.subformulas(phi) if isinstance(psi, cel.Event))
    return cel.Filter(cel.Event(R), cel.Every(R, NEVER))
