"""An engine with one planted fault, named on its command line: a mutant of the meaning behind the protocol."""

import sys

from cerify.commands.engine import serve
from cerify.conformance.mutants import MUTANTS
from cerify.conformance.mutants.model import report
from cerify.evaluators import Output
from cerify.protocol import EngineInfo
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Match, Stream, bindings_of


def main() -> None:
    """Serve the mutant."""
    (mutant,) = (mutant for mutant in MUTANTS if mutant.name == sys.argv[1])

    def evaluate(phi: Formula, S: Stream, output: Output, budget: Budget) -> list[Match]:
        reported = report(phi, S, mutant)
        return sorted(
            {
                Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if output == "valuations" else None)
                for n, mu in reported
                if n < len(S)
            }
        )

    serve(EngineInfo(f"broken ({mutant.name})", "0", ["cel"]), evaluate)


main()
