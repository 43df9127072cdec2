"""The passes, the random cases to hold them against, and what they have to keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.equivalence.generate.cel import CORRELATED, EVERYTHING
from cerify.equivalence.generate.core_cel import ANYTHING, STRATEGIES_TOO, UNARY_FILTERS
from cerify.equivalence.rewrite.normal_forms import (
    core_disjunctive,
    disjunctive,
    lp_normal,
    push_filters,
    push_in,
    safe,
)
from cerify.equivalence.rewrite.trees import variables_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import Predicates
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_lp_normal, is_safe
from cerify.semantics.core_cel.interpreter import matches_of
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Stream
from cerify.semantics.trees import children, rebuilt

# ---- shapes ----
# What the result of each pass has to look like, said without looking at the passes.

CHOOSING = (cel.Plus, cel.ContiguousPlus, cel.Next, cel.Last, cel.Max)
CORE_CHOOSING = (core.CorePlus, core.CoreNext, core.CoreLast, core.CoreMax)


def is_disjunctive(phi: cel.Formula) -> bool:
    """Whether every OR is under ORs only, up to the top or to an operator that it cannot pass; filters are atoms."""
    below = children(phi)
    if not isinstance(phi, (cel.Or, *CHOOSING)) and any(isinstance(psi, cel.Or) for psi in below):
        return False
    if isinstance(phi, cel.Filter) and isinstance(phi.condition, cel.Conjunction | cel.Disjunction):
        return False
    return all(map(is_disjunctive, below))


def is_core_disjunctive(phi: core.Formula) -> bool:
    """The same for core-CEL: cep17, appendix B.1."""
    below = children(phi)
    if not isinstance(phi, (core.CoreOr, *CORE_CHOOSING)) and any(isinstance(psi, core.CoreOr) for psi in below):
        return False
    if isinstance(phi, core.CoreFilter) and isinstance(phi.condition, core.CoreConjunction | core.CoreDisjunction):
        return False
    return all(map(is_core_disjunctive, below))


def has_in_on_types_only(phi: cel.Formula) -> bool:
    """Whether every IN is on an event type, or on another IN."""
    return all(isinstance(psi.phi, cel.EventAtom | cel.In) for psi in cel.subformulas(phi) if isinstance(psi, cel.In))


def stuck_filters(phi: cel.Formula) -> Iterator[cel.Filter]:
    """The filters of single variables that stand, under other filters, on neither an event type nor a strategy."""
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter) and isinstance(psi.condition, cel.Every):
            below: cel.Formula = psi
            while isinstance(below, cel.Filter):
                below = below.phi
            if not isinstance(below, cel.EventAtom | cel.Next | cel.Last | cel.Max):
                yield psi


# ---- passes ----
#

Outcome = Literal["agrees", "differs", "misshapen", "refused", "over budget"]
SMALL = Budget(valuations=50_000)
PREDICATES: Predicates = {"odd": lambda A: len(A) % 2 == 1, "as_many": lambda A, B: len(A) == len(B)}


@dataclass(frozen=True)
class Pass:
    """A pass, the shape of its results, the profiles of its cases, and what of a formula over a stream it keeps."""

    rewrite: Callable[[Any], Any]
    shape: Callable[[Any], bool]
    profiles: tuple[Any, ...]
    meaning: Callable[[Any, Stream], object]
    case: Callable[[Random, Any], tuple[Any, Stream]]
    size: Callable[[Any], int]


def cel_meaning(phi: cel.Formula, S: Stream) -> object:
    """All valuations over all intervals of the stream."""
    interpreter = Interpreter(S, SMALL, predicates=PREDICATES)
    return {(i, j): interpreter.meaning(phi, i, j) for j in range(len(S)) for i in range(j + 1)}


def core_meaning(phi: core.Formula, S: Stream) -> object:
    """All complex events over the stream."""
    return matches_of(phi, S, SMALL)


def cel_case(rng: Random, profile: generate.CelProfile) -> tuple[cel.Formula, Stream]:
    """A small formula, now and then with a window, a partition or registered predicates inside, and a small stream."""
    phi, S = generate.case(rng, profile, 12, 4)
    if rng.random() < 0.1:
        phi = registered(phi)
    while rng.random() < 0.2:
        phi = windowed(rng, phi, rng.randrange(sum(1 for _ in cel.subformulas(phi))))
    return phi, S


def registered(phi: cel.Formula) -> cel.Formula:
    """The formula with the first atom of each filter replaced by a registered predicate of its variables."""
    below = [registered(psi) for psi in children(phi)]
    if not isinstance(phi, cel.Filter):
        return rebuilt(phi, below)

    def condition(c: cel.Condition) -> cel.Condition:
        if isinstance(c, cel.Conjunction | cel.Disjunction):
            return type(c)(condition(c.left), c.right)
        variables = variables_of(c)
        return cel.Named("odd" if len(variables) == 1 else "as_many", variables)

    return cel.Filter(below[0], condition(phi.condition))


def windowed(rng: Random, phi: cel.Formula, at: int) -> cel.Formula:
    """The formula with a window or a partition around the sub-formula of that number."""
    if at == 0:
        windows = (cel.EventWindow(rng.randint(1, 3)), cel.AttributeWindow(rng.randint(0, 2), "x"))
        return cel.PartitionBy(phi, "y") if rng.random() < 0.4 else cel.Within(phi, rng.choice(windows))
    below = list(children(phi))
    at -= 1
    for n, psi in enumerate(below):
        nodes = sum(1 for _ in cel.subformulas(psi))
        if at < nodes:
            below[n] = windowed(rng, psi, at)
            break
        at -= nodes
    return rebuilt(phi, below)


def core_case(rng: Random, profile: generate_core_cel.CoreProfile) -> tuple[core.Formula, Stream]:
    return generate_core_cel.case(rng, profile, 12, 4)


def cel_pass(rewrite: Callable[[cel.Formula], cel.Formula], shape: Callable[[cel.Formula], bool]) -> Pass:
    return Pass(rewrite, shape, (EVERYTHING, CORRELATED, REBOUND), cel_meaning, cel_case, cel.size)


def core_pass(
    rewrite: Callable[..., Any], shape: Callable[..., bool], *profiles: generate_core_cel.CoreProfile
) -> Pass:
    return Pass(rewrite, shape, profiles, core_meaning, core_case, core.size)


def is_pushed(phi: cel.Formula) -> bool:
    return not list(stuck_filters(phi)) and push_filters(phi) == phi


REBOUND = replace(
    EVERYTHING,
    operators=(
        ("seq", 3), ("cseq", 1), ("or", 2), ("plus", 2), ("cplus", 1), ("in", 8), ("filter", 6), ("project", 4),
        ("start", 1), ("and", 4), ("all", 1), ("unless", 2), ("strict", 1), ("nxt", 1), ("last", 1), ("max", 1),
    ),
    types=("A", "B"),
    variables=("X", "A"),
)  # fmt: skip
"""Few names, bound again and again, hidden and compared."""

UNSAFE = replace(UNARY_FILTERS, safe=False, well_formed=False, correlated=0.2)
"""The operators of section 3 of cep17, variables used at will."""

REUSED = replace(STRATEGIES_TOO, safe=False)
"""All of core-CEL, well-formed, variables defined at will."""

PASSES = {
    "disjunctive": cel_pass(disjunctive, is_disjunctive),
    "push-in": cel_pass(push_in, has_in_on_types_only),
    "push-filters": cel_pass(push_filters, is_pushed),
    "core-CEL disjunctive": core_pass(core_disjunctive, is_core_disjunctive, UNSAFE, ANYTHING),
    "core-CEL safe": core_pass(safe, lambda phi: is_safe(phi) and is_core_disjunctive(phi), UNSAFE, ANYTHING),
    "core-CEL lp-normal": core_pass(lp_normal, is_lp_normal, replace(UNARY_FILTERS, safe=False), REUSED),
}


def tried(pass_: Pass, phi: Any, S: Stream) -> tuple[Outcome, Any]:
    """What became of a case, and the rewritten formula."""
    try:
        psi = pass_.rewrite(phi)
        before, after = pass_.meaning(phi, S), pass_.meaning(psi, S)
    except Unsupported:
        return "refused", None
    except BudgetExceeded:
        return "over budget", None
    if before != after:
        return "differs", psi
    return ("agrees" if pass_.shape(psi) else "misshapen"), psi


def chosen(pass_: Pass, seed: str) -> tuple[Any, Stream]:
    """The random case of that seed."""
    rng = Random(seed)
    return pass_.case(rng, rng.choice(pass_.profiles))
