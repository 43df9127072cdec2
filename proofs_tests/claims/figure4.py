"""The chart of cep17.fig4: `python -m proofs_tests.claims.figure4 docs/figures/stress.svg`; it needs matplotlib.

What the paper measures in seconds and bytes is counted here, so that the chart is the same on every machine.
"""

from __future__ import annotations

from pathlib import Path

import click

from cerify.automata.evaluate.streaming import count_matches
from cerify.semantics.cel.parse import parse
from proofs_tests.claims.cep17_measured import stress, stressed

LENGTHS = range(200, 2001, 200)
PREFIXES = {"Q1": ("A", "A ; B"), "Q2": ("A", "A ; B", "A ; B ; C")}
"""What an engine that keeps partial matches would have to keep."""


@click.command()
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path))
def main(path: Path) -> None:
    """Draw the stress experiment as SVG."""
    import matplotlib
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "cep17.fig4"
    figure, (processing, kept, outputs) = pyplot.subplots(1, 3, figsize=(11, 3.4), layout="constrained")
    for query, colour in (("Q1", "tab:blue"), ("Q2", "tab:orange")):
        runs = [stressed(query, length) for length in LENGTHS]
        partial = [sum(sum(count_matches(parse(text), stress(query, n))) for text in PREFIXES[query]) for n in LENGTHS]
        processing.plot(LENGTHS, [operations for operations, _, _ in runs], "o-", color=colour, label=query)
        kept.plot(LENGTHS, [len(running.D) for _, _, running in runs], "o-", color=colour, label=f"{query}, nodes")
        kept.plot(LENGTHS, partial, "--", color=colour, label=f"{query}, partial matches")
        outputs.plot(LENGTHS, [found for _, found, _ in runs], "o-", color=colour, label=query)
    processing.set(title="Processing: operations", ylim=(0, None))
    kept.set(title="Memory: nodes, against partial matches", yscale="log", ylim=(None, 3e9))
    outputs.set(title="Outputs of the last event", yscale="log")
    for axes in (processing, kept, outputs):
        axes.set_xlabel("events")
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, format="svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
