"""The figure of docs/guide/research.md: `python -m proofs_tests.figures`; it needs matplotlib."""

from pathlib import Path

from cerify.research import experiment, random_formulas, sizes

FIGURE = Path(__file__).parent.parent / "docs" / "figures" / "sizes.svg"

if __name__ == "__main__":
    cases = random_formulas(range(1, 12), each=10, profile="core", events=12)
    experiment(cases, [sizes], seed=1).plot("size", ["states", "deterministic", "minimal"], FIGURE)
