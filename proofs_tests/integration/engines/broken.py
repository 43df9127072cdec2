"""An engine with one planted fault, named on its command line with its language: a mutant of the meaning."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from cerify.commands.engine import serve
from cerify.conformance import core_cel_mutants, expression_mutants, sase_mutants
from cerify.conformance.mutants import MUTANTS
from cerify.conformance.mutants.model import report
from cerify.evaluators import Output
from cerify.protocol import EngineInfo
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream, bindings_of


def cel(mutant: Any, phi: Formula, S: Stream, output: Output, budget: Budget) -> list[Match]:
    """The matches of a formula of CEL by a mutant."""
    reported = report(phi, S, mutant)
    return sorted(
        {
            Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if output == "valuations" else None)
            for n, mu in reported
            if n < len(S)
        }
    )


def core_cel(mutant: Any, phi: Any, S: Stream, output: Output, budget: Budget) -> list[Match]:
    """The matches of a formula of core-CEL by a mutant."""
    if (found := core_cel_mutants.report(phi, S, mutant)) is None:
        raise BudgetExceeded("it takes too long")
    return sorted(match for match in found if match.at < len(S))


def event_expression(mutant: Any, E: Any, S: Stream, output: Output, budget: Budget) -> list[Match]:
    """The events at which an event expression takes place by a mutant."""
    if (found := expression_mutants.takes_place(E, S, mutant)) is None:
        raise Unsupported("it takes too long, or is not supported")
    return [Match(e, (e,)) for e in sorted(found)]


def sase(mutant: Any, q: Any, S: Stream, output: Output, budget: Budget) -> list[Match]:
    """The matches of a query of SASE+ by a mutant."""
    found = mutant.answers(q, S)
    return sase_mutants.answers(q, S) or [] if found is None else sorted(found)


BROKEN: dict[str, tuple[tuple[Any, ...], Callable[..., list[Match]]]] = {
    "cel": (MUTANTS, cel),
    "core-cel": (core_cel_mutants.MUTANTS, core_cel),
    "event-expression": (expression_mutants.MUTANTS, event_expression),
    "sase": ((*sase_mutants.MUTANTS, *sase_mutants.READINGS), sase),
}


def main(name: str, language: str = "cel") -> None:
    """Serve the mutant."""
    mutants, evaluate = BROKEN[language]
    (mutant,) = (mutant for mutant in mutants if mutant.name == name)
    wrong = partial(evaluate, mutant)
    serve(EngineInfo(f"broken ({mutant.name})", "0", [language]), wrong, {language: wrong})


main(*sys.argv[1:])
