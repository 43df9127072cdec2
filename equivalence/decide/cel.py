"""Are two CEL formulas equivalent, is one contained in the other, can one match at all? For all streams.

For formulas that an automaton carries: unary ones (Definition 4.1), and those with windows that count events.

The formulas are compiled over one algebra of predicates, whose types stand for all attribute values, and their automata
are compared as automata that read words (marked.py, search.py). What is found is shown: a difference as a stream that
the denotational interpreters have been asked about, sameness as a certificate that checker.py accepts.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.io_determinize import single_variable
from cerify.automata.cea.model import CEA
from cerify.automata.subsets import members
from cerify.equivalence.claim import Claim, Level
from cerify.equivalence.decide.certificate import Certificate
from cerify.equivalence.decide.marked import MarkedNFA, marked_nfa
from cerify.equivalence.decide.replay import replayed
from cerify.equivalence.decide.search import Separation, separate
from cerify.equivalence.verdict import Contained, Equivalent, Undecided, Verdict
from cerify.semantics.budget import Budget
from cerify.semantics.cel.show import show
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Schema, Stream

NOTHING = CEA(0, (), frozenset(), frozenset())


def equivalent(
    phi: Formula, psi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> Verdict:
    """Whether the two have the same complex events, or valuations, at every position of every stream.

    With a schema: of every stream of that schema. The answer is Equivalent, Different or Undecided.
    """
    return _compared(phi, psi, "equivalent", level, schema, budget)


def contained(
    phi: Formula, psi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> Verdict:
    """Whether psi has all complex events, or valuations, that phi has: Contained, Different or Undecided."""
    return _compared(phi, psi, "contained", level, schema, budget)


def shortest_match(phi: Formula, schema: Schema | None = None, budget: Budget = Budget()) -> Stream | None:
    """A shortest stream at whose last position the formula has a match, None if no stream has one.

    Where z3 returns *unknown* for some event types, the stream is a shortest one without events of these. Raises
    Unsupported where no automaton carries the formula or z3 returns *unknown* for all that is left, BudgetExceeded.
    """
    for algebra in algebras(phi, schema=schema, budget=budget):
        automata = marked_nfa(single_variable(compile_cel(phi, budget, algebra)), NOTHING, algebra)
        found = separate(automata, budget.states)
        if not isinstance(found, Separation):
            return None
        if (stream := stream_of(found, automata, schema)) is not None:
            return stream
    found = separate(automata, budget.states, known_events=True)
    if isinstance(found, Separation):
        return stream_of(found, automata, schema)
    raise Unsupported(undecidable_reason(schema))


def algebras(*formulas: Formula, schema: Schema | None, budget: Budget) -> Iterator[Algebra]:
    """The algebra of the predicates of formulas: first without the solver, which is slow and mostly not needed."""
    predicates = [P for phi in formulas for P in generators(phi)]
    for solver in (False, True):
        yield Algebra(predicates, budget, schema, solver)


def _compared(phi: Formula, psi: Formula, claim: Claim, level: Level, schema: Schema | None, budget: Budget) -> Verdict:
    one_way = claim == "contained"
    try:
        for algebra in algebras(phi, psi, schema=schema, budget=budget):
            left, right = compile_cel(phi, budget, algebra), compile_cel(psi, budget, algebra)
            if level == "events":
                left, right = single_variable(left), single_variable(right)
            automata = marked_nfa(left, right, algebra)
            found = separate(automata, budget.states, one_way)
            if not isinstance(found, Separation):
                relation = tuple((tuple(members(x)), tuple(members(y))) for x, y in found)
                certificate = Certificate(claim, show(phi), show(psi), level, schema, algebra.solver, relation)
                return Contained(certificate) if one_way else Equivalent(certificate)
            if (stream := stream_of(found, automata, schema)) is not None:
                return replayed(phi, psi, stream, one_way, level, True, budget)
        found = separate(automata, budget.states, one_way, known_events=True)
        if isinstance(found, Separation) and (stream := stream_of(found, automata, schema)) is not None:
            return replayed(phi, psi, stream, one_way, level, False, budget)
        return Undecided(undecidable_reason(schema))
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def stream_of(found: Separation, automata: MarkedNFA, schema: Schema | None) -> Stream | None:
    """The stream of a word, None if it has a type of which no event is known."""
    events = [automata.event(letter) for letter in found.word]
    known = [event for event in events if event is not None]
    return Stream(known, schema) if len(known) == len(events) else None


def undecidable_reason(schema: Schema | None) -> str:
    """Why there is no answer where z3 returns unknown for an event type, and what to do."""
    kinds = "give a schema, so that the kinds of its attributes are known, or " if schema is None else ""
    return (
        f"z3 returned unknown for an event type that matters; {kinds}write the filters without "
        "arithmetic, unusual patterns, or patterns of attributes that are compared with others"
    )
