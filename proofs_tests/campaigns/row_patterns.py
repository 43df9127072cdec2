"""MATCH_RECOGNIZE by its definition and by its evaluators: `python -m proofs_tests.campaigns.row_patterns`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, TypeAlias

import click

from cerify.automata.row_pattern import compiled, evaluate
from cerify.equivalence.generate import row_pattern as generate
from cerify.equivalence.generate.row_pattern import case
from cerify.equivalence.shrink.row_pattern import ROW_PATTERN
from cerify.equivalence.shrink.shrink import shrink
from cerify.languages.row_pattern import RegisterOutput
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Stream
from cerify.semantics.row_pattern import interpreter
from cerify.semantics.row_pattern.interpreter import RowOutput
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import MatchRecognize, show

PROFILES = {name: replace(profile, failing=True) for name, profile in generate.PROFILES.items()}
BUDGET = Budget(valuations=20_000)
Finder: TypeAlias = Callable[..., Iterable[NumberedMatch]]
Answer: TypeAlias = list[Any]
"""The matches with their measures and the rows that they leave out, and the code of the error that ends them."""


def on_columns(q: MatchRecognize, S: Stream, budget: Budget) -> Iterable[NumberedMatch]:
    """The answers of the compiled loops on an Arrow table."""
    return compiled.find_matches(q, Stream.from_table(S.table), budget=budget)


JUDGED: Mapping[str, Finder] = {
    "automaton": evaluate.find_matches,
    "kernel": compiled.find_matches,
    "kernel on columns": on_columns,
}


def answer(find: Finder, q: MatchRecognize, S: Stream) -> Answer:
    """The answer of an evaluator; the measures are those of the definition for its matches alone."""
    found: Answer = []
    try:
        made = (RowOutput if find is interpreter.find_matches else RegisterOutput)(q, S)
        found += ((match, match.excluded) for match in map(made.with_result, find(q, S, budget=BUDGET)))
    except CerifyError as error:
        found.append(error.code)
    return found


def differing(q: MatchRecognize, S: Stream, judged: Mapping[str, Finder] = JUDGED) -> str:
    """The first evaluator whose answer, which it gives within the budget, is not that of the definition; "" if none.

    Where the definition gives none within the budget, the others are compared with the first of them.
    """
    given = {name: answer(find, q, S) for name, find in {"definition": interpreter.find_matches, **judged}.items()}
    certain = {name: one for name, one in given.items() if not {"budget", "unsupported"} & {*map(str, one[-1:])}}
    right = next(iter(certain.values()), [])
    return next((name for name, one in certain.items() if one != right), "")


def compared(
    cases: Iterable[int],
    judged: Mapping[str, Finder] = JUDGED,
    profile: str = "columns",
    nodes: int = 10,
    rows: int = 8,
) -> tuple[Counter[str], str]:
    """How many cases there were of each kind, and the first difference, shrunk; "" if there is none."""
    kinds: Counter[str] = Counter()
    for number in cases:
        q, S = case(Random(number), PROFILES[profile], nodes, rows)
        right = answer(interpreter.find_matches, q, S)
        kinds[str(right[-1]) if right and isinstance(right[-1], str) else "matched" if right else "none"] += 1
        if wrong := differing(q, S, judged):
            q, S = shrink(ROW_PATTERN, q, S, lambda q, S: bool(differing(q, S, judged)), 500)
            wrong = differing(q, S, judged)
            events = [dict(event.attributes) for event in S]
            given = f"{answer(judged[wrong], q, S)} against {answer(interpreter.find_matches, q, S)} by the definition"
            return kinds, f"{number}: {wrong}: {show(q)} on {events}: {given}"
    return kinds, ""


@click.command()
@click.option("--cases", default=20_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--profile", default="everything", show_default=True, type=click.Choice([*PROFILES]))
@click.option("--nodes", default=10, show_default=True, help="Of a pattern, at most.")
@click.option("--rows", default=8, show_default=True, help="Of a table, at most.")
def main(cases: int, seed: int, profile: str, nodes: int, rows: int) -> None:
    """Compare random clauses on random tables."""
    kinds, difference = compared(range(seed, seed + cases), JUDGED, profile, nodes, rows)
    click.echo(f"{sum(kinds.values())} cases: {dict(kinds)}")
    if difference:
        raise click.ClickException(difference)


if __name__ == "__main__":
    main()
