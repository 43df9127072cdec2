"""Fuzz a target, or all. What ends in an error that is not typed is made smaller and added to the corpus."""

from __future__ import annotations

import sys
import warnings
from argparse import ArgumentParser
from hashlib import sha256

from cerify.semantics.errors import InputWarning
from proofs_tests.fuzz.run import LIMITS, fuzz, memory, minimised, outcome_of
from proofs_tests.fuzz.targets import CORPUS, TARGETS
from proofs_tests.robustness import store


def main() -> int:
    """1 if an input ended in an error that is not typed, or took too long; it is then in the corpus."""
    parser = ArgumentParser(prog="python -m proofs_tests.fuzz", description=__doc__)
    parser.add_argument("target", choices=[*TARGETS, "all"])
    parser.add_argument("--minutes", type=float, default=1.0, help="of the processor, for all targets together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--store", action="store_true", help="add the figures to docs/findings/robustness.json")
    asked = parser.parse_args()
    warnings.simplefilter("ignore", InputWarning)  # of changed files
    names = list(TARGETS) if asked.target == "all" else [asked.target]
    crashed = False
    for name in names:
        found = fuzz(name, asked.seed, seconds=60 * asked.minutes / len(names))
        print(
            f"{name}: {found.inputs:,} inputs in {found.seconds:.0f} s, {len(found.outcomes)} outcomes, "
            f"{len(found.edges):,} calls, {len(found.crashes)} crashes; {memory()} MiB at most",
            flush=True,
        )
        if asked.store:
            figures = {"runs": 1, "inputs": found.inputs, "seconds": round(found.seconds, 1)}
            store("fuzz", name, figures | {"crashes": len(found.crashes), "memory": memory()})
        for outcome, data in found.crashes.items():
            if outcome not in LIMITS:
                target = TARGETS[name]
                data = minimised(data, lambda part, target=target, o=outcome: outcome_of(target, part)[0] == o)
            path = CORPUS / f"{name}-{sha256(data).hexdigest()[:12]}"
            path.write_bytes(data)
            print(f"  {outcome}: {path}")
            crashed = True
    return 1 if crashed else 0


sys.exit(main())
