"""Have two complex event automata the same valuations, or complex events, at every position of every stream?"""

from __future__ import annotations

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea.io_determinize import single_variable
from cerify.automata.cea.model import CEA
from cerify.equivalence.claim import Level
from cerify.equivalence.decide.cel import stream_of, undecidable_reason
from cerify.equivalence.decide.marked import marked_nfa
from cerify.equivalence.decide.search import Separation, separate
from cerify.semantics.budget import Budget
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Schema, Stream


def difference(
    A: CEA,
    B: CEA,
    level: Level = "valuations",
    schema: Schema | None = None,
    one_way: bool = False,
    budget: Budget = Budget(),
) -> Stream | None:
    """A shortest stream at whose last position they differ, None if there is none.

    one_way: at which A has something that B has not. Raises Unsupported where the solver cannot tell, BudgetExceeded.
    """
    if level == "events":
        A, B = single_variable(A), single_variable(B)
    for solver in (False, True):
        algebra = Algebra((*A.predicates, *B.predicates), budget, schema, solver)
        automata = marked_nfa(A, B, algebra)
        found = separate(automata, budget.states, one_way)
        if not isinstance(found, Separation):
            return None
        if (stream := stream_of(found, automata, schema)) is not None:
            return stream
    raise Unsupported(undecidable_reason(schema))
