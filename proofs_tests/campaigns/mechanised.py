"""The definition extracted from Coq against the definition in Python, on random cases of CEL.

A case is a formula with unary filters and every operator and strategy, a stream, and an output. Cases are numbered:
case i of a seed is the same in every run. `make -C proofs_tests/mechanised` builds the extracted program.

Run as: python -m proofs_tests.campaigns.mechanised [--cases N] [--first N] [--seed N] [--program PATH]
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random

import click

from cerify.equivalence.generate.cel import EVERYTHING, TYPED, case
from cerify.languages.language import Options
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import show
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.json_events import json_of_event
from proofs_tests.mechanised.engine import PROGRAM, Extracted

NODES, EVENTS = 8, 6
SECONDS = 10.0  # what the extracted program may take for one case
ORACLE = Budget(valuations=2_000)
UNARY = (replace(EVERYTHING, correlated=0.0), replace(TYPED, operators=EVERYTHING.operators))


def outcome(extracted: Extracted, seed: int, number: int) -> tuple[str, str | None]:
    """What became of the case with this number, and the disagreement."""
    rng = Random(f"mechanised/{seed}/{number}")
    phi, S = case(rng, rng.choice(UNARY), NODES, EVENTS)
    options = Options(output=rng.choice(("valuations", "matches")))
    try:
        expected = matches_of(phi, S, options.output, ORACLE)
        found = extracted.matches(phi, S, options)
    except (BudgetExceeded, Unsupported) as error:
        return type(error).__name__, None
    if found == expected:
        return "agree, some match" if expected else "agree, no match", None
    events = json.dumps([json_of_event(event) for event in S], default=str)
    return "DISAGREE", f"case {number} ({options.output}): {show(phi)}  over {events}"


@click.command()
@click.option("--cases", type=click.IntRange(1), default=100_000, show_default=True)
@click.option("--first", type=click.IntRange(0), default=0, show_default=True, help="The number of the first case.")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--program", type=click.Path(exists=True, path_type=Path), default=PROGRAM)
def main(cases: int, first: int, seed: int, program: Path) -> None:
    """Compare the extracted definition with that in Python; exits with 1 if they disagree."""
    extracted, outcomes, began = Extracted(program, SECONDS), Counter[str](), time.monotonic()
    for number in range(first, first + cases):
        name, disagreement = outcome(extracted, seed, number)
        outcomes[name] += 1
        if disagreement is not None:
            print(disagreement, flush=True)
        if (number - first + 1) % 10_000 == 0:
            print(f"{number - first + 1} cases, {time.monotonic() - began:.0f} seconds", flush=True)
    print(", ".join(f"{name}: {count}" for name, count in sorted(outcomes.items())))
    sys.exit(1 if outcomes["DISAGREE"] else 0)


if __name__ == "__main__":
    main()
