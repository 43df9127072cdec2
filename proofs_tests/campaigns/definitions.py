"""Definitions against what computes the same: `python -m proofs_tests.campaigns.definitions --language cel`.

On random queries with every operator of the language's table and short random streams, the answer of the clauses alone
(`denote.meaning`) is compared with that of the interpreter, with and without its shortcuts, and with the automata. Of
CEL, intervals of the stream are compared too, in random order: what the interpreter has computed may change what it
skips. Another language is added by a function from a random source to a case.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from multiprocessing import get_context
from random import Random
from typing import Any

import click

from cerify.commands.options import progress_bar
from cerify.equivalence.generate import cel as generate_cel
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.languages import cel as cel_plugin
from cerify.languages import core_cel as core_plugin
from cerify.languages.language import Language, Options
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import denote as cel_denote
from cerify.semantics.cel import interpreter as cel_interpreter
from cerify.semantics.cel import syntax as cel_operators
from cerify.semantics.core_cel import denote as core_denote
from cerify.semantics.core_cel import interpreter as core_interpreter
from cerify.semantics.core_cel import syntax as core_show
from cerify.semantics.core_cel.check import defined_outside_iteration, variables
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream, bindings_of

SHARE = 500  # cases that a process takes at once
BUDGET = Budget(valuations=3_000, states=3_000, matches=10_000)

CEL_PROFILE = replace(
    generate_cel.EVERYTHING,
    operators=tuple((o.name, 2) for o in cel_operators.OPERATORS.values() if o.node.operands),
    types=("A", "B"),
    attributes=(("x", (0, 1, 2)),),
    absent=0.15,
)
ALONE = 2_000  # valuations and choices of core-CEL that are tried without memory
CORE_PROFILE = replace(generate_core_cel.ANYTHING, types=("A", "B"), variables=("x", "y"), absent=0.15)

Answers = Mapping[str, object]
"""What each way of computing it gives for one case; a way that cannot take the query is left out."""


@dataclass(frozen=True)
class Definition:
    """A language in the campaign.

    case: a query of at most that many nodes, and a stream of at most that many events. show: the text of a query.
    answers: for a case, the answer of the definition, then those to be compared with it. Raises BudgetExceeded.
    """

    case: Callable[[Random, int, int], tuple[Any, Stream]]
    show: Callable[[Any], str]
    answers: Callable[[Any, Stream, Random], Answers]


def cel_case(rng: Random, nodes: int, events: int) -> tuple[cel_operators.Formula, Stream]:
    """A random formula with any operator of the table, and a stream."""
    return generate_cel.case(rng, CEL_PROFILE, nodes, events)


def core_case(rng: Random, nodes: int, events: int) -> tuple[core_show.Formula, Stream]:
    """A random formula with any operator of the table, safe and well-formed or not, and a stream."""
    profile = CORE_PROFILE if rng.random() < 0.5 else replace(CORE_PROFILE, safe=True, well_formed=True)
    return generate_core_cel.case(rng, profile, nodes, events)


def cel_answers(phi: cel_operators.Formula, S: Stream, rng: Random) -> Answers:
    """The valuations of phi at every position, and on every interval in random order."""
    remembered = cel_interpreter.Interpreter(S, BUDGET, pruned=False)
    found: dict[str, object] = {}
    whole = {n: remembered.meaning(phi, 0, n) for n in range(len(S))}  # first, since it keeps to a budget
    clauses = {n: cel_denote.meaning(phi, S, 0, n) for n in range(len(S))}
    pruned = cel_interpreter.Interpreter(S, BUDGET)
    found["clauses"] = clauses
    found["interpreter, not pruned"] = whole
    found["interpreter"] = {n: pruned.meaning(phi, 0, n) for n in range(len(S))}
    intervals = [(i, j) for j in range(len(S)) for i in range(j + 1)]
    rng.shuffle(intervals)
    shuffled = cel_interpreter.Interpreter(S, BUDGET)
    wrong = [(i, j) for i, j in intervals if shuffled.meaning(phi, i, j) != remembered.meaning(phi, i, j)]
    found["interpreter, on intervals"] = f"differs on {wrong}" if wrong else clauses
    right = {Match(n, tuple(sorted(cel_denote.sup(mu))), bindings_of(mu)) for n, mus in clauses.items() for mu in mus}
    for name, matches in evaluated(cel_plugin.LANGUAGE, phi, S, Options("valuations", BUDGET)):
        found[name] = clauses if matches == right else matches
    return found


def core_answers(phi: core_show.Formula, S: Stream, rng: Random) -> Answers:
    """The complex events of phi."""
    clauses = set(core_interpreter.by_clauses(phi, S, BUDGET))
    choices = len(variables(phi))
    for psi in core_show.subformulas(phi):
        if isinstance(psi, core_show.CorePlus | core_show.Strategy):  # an iteration chooses in each round
            rounds = len(S) if isinstance(psi, core_show.CorePlus) else 1
            choices += rounds * len(defined_outside_iteration(psi.phi))
    if len(S) ** choices <= ALONE:
        alone = {Match(max(C), tuple(sorted(C))) for C in core_denote.meaning(phi, S)}
    else:
        alone = clauses  # would take too long
    return {
        "clauses": clauses,
        "clauses, nothing remembered": alone,
        "interpreter": set(core_interpreter.matches_of(phi, S, BUDGET)),
        **dict(evaluated(core_plugin.LANGUAGE, phi, S, Options("matches", BUDGET))),
    }


def evaluated(language: Language[Any], query: Any, S: Stream, options: Options) -> Iterator[tuple[str, set[Match]]]:
    """What the readable and the compiled automaton find, of those that carry the query."""
    for name in ("automaton", "kernel"):
        try:
            yield name, set(language.evaluators[name].matches(query, S, options))
        except (Unsupported, BudgetExceeded):
            continue


DEFINITIONS: Mapping[str, Definition] = {
    "cel": Definition(cel_case, cel_operators.show, cel_answers),
    "core-cel": Definition(core_case, core_show.show, core_answers),
}

Share = tuple[str, int, str, int, int]
Found = tuple[Counter[str], list[str]]


@click.command()
@click.option("--language", type=click.Choice(list(DEFINITIONS)), required=True)
@click.option("--cases", type=click.IntRange(1), default=10_000, show_default=True, help="Cases in all.")
@click.option("--seed", default=1, show_default=True)
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("--nodes", default=5, show_default=True, help="Size of a query, at most.")
@click.option("--events", default=5, show_default=True, help="Length of a stream, at most.")
def main(language: str, cases: int, seed: int, processes: int, nodes: int, events: int) -> None:
    """How many cases, how many with a match, how many agree with the clauses; status 1 if one differs."""
    shares: list[Share] = [
        (language, min(SHARE, cases - first), f"{seed}/{first}", nodes, events) for first in range(0, cases, SHARE)
    ]
    counts, differ = Counter[str](), list[str]()
    with progress_bar() as bar, get_context("spawn").Pool(processes) as pool:
        task = bar.add_task("cases", total=cases)
        for found, lines in pool.imap_unordered(share, shares):
            counts += found
            differ += lines
            bar.update(task, advance=found["cases"])
    for line in sorted(differ):
        click.echo(f"  differ: {line}")
    click.echo(f"{counts['cases']:,} cases, {counts['matched']:,} with a match, {counts['too large']:,} too large")
    for name in sorted(name.removesuffix(" agrees") for name in counts if name.endswith(" agrees")):
        click.echo(f"{name}: {counts[f'{name} agrees']:,} agree")
    click.echo(f"{len(differ)} differ")
    sys.exit(1 if differ else 0)


def share(given: Share) -> Found:
    """The counts, and a line for each case that differs."""
    language, cases, seed, nodes, events = given
    rng, counts, differ = Random(seed), Counter[str](), list[str]()
    for _ in range(cases):
        counts["cases"] += 1
        differ += differing(DEFINITIONS[language], rng, nodes, events, counts)
    return counts, differ


def differing(definition: Definition, rng: Random, nodes: int, events: int, counts: Counter[str]) -> Iterator[str]:
    """A line for each way of computing one random case that departs from the clauses."""
    query, S = definition.case(rng, nodes, events)
    try:
        answers = dict(definition.answers(query, S, rng))
    except (BudgetExceeded, RecursionError):
        counts["too large"] += 1
        return
    right = answers.pop("clauses")
    counts["matched"] += any(right.values()) if isinstance(right, dict) else bool(right)
    for name, answer in answers.items():
        if answer == right:
            counts[f"{name} agrees"] += 1
        else:
            yield f"{definition.show(query)} over {list(S)}: {name} has {answer}, the clauses {right}"


if __name__ == "__main__":
    main()
