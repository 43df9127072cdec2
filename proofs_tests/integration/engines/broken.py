"""An engine with one planted fault, named on its command line with its language: a mutant of the meaning."""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

from cerify.commands.engine import serve
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.protocol import EngineInfo
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import Match, Stream
from proofs_tests.tools.mutants import cel, core_cel, event_expressions, sase
from proofs_tests.tools.mutants.mutant import Mutant

MUTANTS = {
    "cel": cel.MUTANTS,
    "core-cel": core_cel.MUTANTS,
    "event-expression": event_expressions.MUTANTS,
    "sase": sase.MUTANTS,
}


def evaluate(mutant: Mutant, language: str, phi: Any, S: Stream, options: Options) -> list[Match]:
    """The matches by a mutant that stand inside the stream; of SASE+ the right ones where it is no other engine."""
    found = mutant.matches(phi, S, options.output)
    if found is None and language == "sase":
        return list(LANGUAGES[language].evaluators.matches(phi, S, options=options))
    if found is None:
        raise Unsupported("it takes too long, or is not supported")
    return sorted(match for match in found if match.at < len(S))


def main(name: str, language: str = "cel") -> None:
    """Serve the mutant."""
    (mutant,) = (mutant for mutant in (*MUTANTS[language], *sase.READINGS) if mutant.name == name)
    wrong = partial(evaluate, mutant, language)
    serve(EngineInfo(f"broken ({mutant.name})", "0", [language]), {language: wrong})


main(*sys.argv[1:])
