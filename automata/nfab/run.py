"""The bindings of a query by the runs of its automaton: sase07, section 3.2 and appendix A.2."""

from __future__ import annotations

from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.moves import Runs
from cerify.automata.nfab.negation import present
from cerify.semantics.budget import Budget
from cerify.semantics.events import Bindings, Stream
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.aggregates import NO_OPERATIONS, Operations
from cerify.semantics.sase.reading import DECIDED, Reading


def bindings(
    q: sase.Query,
    S: Stream,
    reading: Reading = DECIDED,
    budget: Budget = Budget(),
    operations: Operations = NO_OPERATIONS,
) -> set[Bindings]:
    """The buffers of the accepting runs, less those with events of a negated component in its scope.

    Raises BudgetExceeded.
    """
    runs = Runs(compile_query(q, reading), S, reading, budget, operations)
    absences = [k for k in q.pattern if k.negated]
    return {M for M in runs.matches() if not any(present(q, k, M, runs) for k in absences)}
