"""MATCH_RECOGNIZE by its definition and by its automaton: `python -m proofs_tests.campaigns.row_patterns`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

import click

from cerify.automata.row_pattern import evaluate
from cerify.equivalence.generate.row_pattern import PROFILES, case
from cerify.equivalence.shrink.row_pattern import ROW_PATTERN
from cerify.equivalence.shrink.shrink import shrink
from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.clauses import MatchRecognize
from cerify.semantics.row_pattern.matches import NumberedMatch
from cerify.semantics.row_pattern.show import show

PROFILE = replace(PROFILES["columns"], failing=True)
BUDGET = Budget(valuations=20_000)
Finder: TypeAlias = Callable[..., Iterable[NumberedMatch]]
Answer: TypeAlias = list[Any]
"""The matches with the rows that they leave out, and the code of the error that ends them."""


def answer(find: Finder, q: MatchRecognize, S: Stream) -> Answer:
    """The answer of an evaluator."""
    found: Answer = []
    try:
        found += ((match, match.excluded) for match in find(q, S, budget=BUDGET))
    except CerifyError as error:
        found.append(error.code)
    return found


def differ(q: MatchRecognize, S: Stream, automaton: Finder = evaluate.answers) -> bool:
    """Whether the definition and the automaton, which takes the clause, give two answers within the budget."""
    right, given = answer(interpreter.answers, q, S), answer(automaton, q, S)
    return right != given and not {"budget", "unsupported"} & {*right[-1:], *given[-1:]}


def compared(cases: Iterable[int], automaton: Finder = evaluate.answers) -> tuple[Counter[str], str]:
    """How many cases there were of each kind, and the first difference, shrunk; "" if there is none."""
    kinds: Counter[str] = Counter()
    for number in cases:
        q, S = case(Random(number), PROFILE, 10, 8)
        right = answer(interpreter.answers, q, S)
        kinds[str(right[-1]) if right and isinstance(right[-1], str) else "matched" if right else "none"] += 1
        if differ(q, S, automaton):
            q, S = shrink(ROW_PATTERN, q, S, lambda q, S: differ(q, S, automaton), 500)
            events = [dict(event.attributes) for event in S]
            return kinds, f"{number}: {show(q)} on {events}: {answer(automaton, q, S)}"
    return kinds, ""


@click.command()
@click.option("--cases", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(cases: int, seed: int) -> None:
    """Compare random clauses on random tables."""
    kinds, difference = compared(range(seed, seed + cases))
    click.echo(f"{sum(kinds.values())} cases: {dict(kinds)}")
    if difference:
        raise click.ClickException(difference)


if __name__ == "__main__":
    main()
