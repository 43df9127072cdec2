"""Every pass to a normal form against the meaning, on many cases: `python -m proofs_tests.campaigns.normal_forms`."""

from __future__ import annotations

from collections import Counter

import click

from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.core_cel.syntax import show as show_core
from proofs_tests.unit.equivalence.normal_form_cases import PASSES, Pass, chosen, tried


@click.command()
@click.argument("names", nargs=-1)
@click.option("--cases", type=click.IntRange(1), default=50_000, show_default=True, help="Formulas for each pass.")
@click.option("--seed", default=1, show_default=True)
def main(names: tuple[str, ...], cases: int, seed: int) -> None:
    """One line for each pass, or for those named; formulas that a pass refuses are counted beside the cases."""
    for name in names or PASSES:
        click.echo(line(name, PASSES[name], cases, seed))


def line(name: str, pass_: Pass, cases: int, seed: int) -> str:
    """Tries a pass; writes out the first three failures above the line."""
    outcomes: Counter[str] = Counter()
    growth, changed, matched, n = 0.0, 0, 0, 0
    while outcomes.total() - outcomes["refused"] < cases:
        n += 1
        phi, S = chosen(pass_, f"{seed}:{name}:{n}")
        outcome, psi = tried(pass_, phi, S)
        outcomes[outcome] += 1
        if psi is None:
            continue
        growth += pass_.size(psi) / pass_.size(phi)
        changed += psi != phi
        found = pass_.meaning(phi, S)
        matched += any(found.values()) if isinstance(found, dict) else bool(found)
        if outcome in ("differs", "misshapen") and outcomes[outcome] <= 3:
            show = show_core if name.startswith("core") else show_cel
            click.echo(f"  {outcome}: {show(phi)}  ->  {show(psi)}  over {list(S.events)}")
    done = outcomes.total() - outcomes["refused"] - outcomes["over budget"]
    said = ", ".join(f"{outcomes[key]} {key}" for key in ("agrees", "differs", "misshapen", "over budget", "refused"))
    return (
        f"{name}: {cases} cases: {said}; {changed} rewritten, {matched} with a match, "
        f"size x {growth / max(done, 1):.2f} on average"
    )


if __name__ == "__main__":
    main()
