"""Run benchmarks, print a table, and write one JSON object for each figure."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random
from statistics import median

import click
import numpy as np
from numba import njit
from rich.console import Console
from rich.table import Table

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.io_determinize import Determinized, single_variable
from cerify.automata.evaluate.classify import classify
from cerify.automata.evaluate.compiled import complex_events, prepare, run
from cerify.automata.evaluate.streaming import Evaluation, count, matches
from cerify.equivalence.generate.cel import CORE, formula, stream
from cerify.semantics.budget import Budget
from cerify.semantics.cel.denote import Interpreter, Meaning, Valuations, clause
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Stream
from proofs_tests.benchmarks.deciding import equivalence
from proofs_tests.benchmarks.expressions import expressions
from proofs_tests.benchmarks.figure import Figure, cpu_seconds, rate
from proofs_tests.benchmarks.scoped import memory, partition, window
from proofs_tests.benchmarks.workloads import QUERIES, uniform


@njit
def limit(classes, table):  # type: ignore[no-untyped-def]
    """Read the column of classes and look each up, and nothing else."""
    state = 0
    for i in range(classes.size):
        state = table[state, classes[i]]
    return state


def update(quick: bool) -> Iterator[Figure]:
    """The compiled update phase, classes given, against the limit: one look-up per event in a compiled loop."""
    S = uniform(500_000 if quick else 2_000_000)
    for name, query in QUERIES.items():
        tables, classes = prepare(parse(query), S, "matches", Budget())
        rows = np.zeros((1, tables.step.shape[1]), np.int32)
        yield rate(
            f"update.{name}",
            len(S),
            "events/s",
            lambda tables=tables, classes=classes: run(tables, classes),  # type: ignore[misc]
            "a look-up per event, compiled",
            lambda classes=classes, rows=rows: limit(classes, rows),  # type: ignore[misc]
            target="≥ 3e7",
            met=lambda value, ratio: value >= 3e7,
        )


def read_all(automaton: Determinized, types: list[int]) -> None:
    """The update phase of the readable evaluator over a whole stream."""
    evaluation = Evaluation(automaton)
    for type_ in types:
        evaluation.push(type_)


def readable(quick: bool) -> Iterator[Figure]:
    """The update phase of the readable evaluator, classes given, against the compiled one."""
    S = uniform(50_000 if quick else 200_000)
    for name, query in QUERIES.items():
        automaton = Determinized(single_variable(compile_cel(parse(query))))
        types = classify(automaton.A.predicates, S)
        tables, classes = prepare(parse(query), S, "matches", Budget())

        ours = partial(read_all, automaton, types)
        fast = lambda tables=tables, classes=classes: run(tables, classes)  # noqa: E731
        yield rate(f"readable.{name}", len(S), "events/s", ours, "the compiled update", fast)


def listing(quick: bool) -> Iterator[Figure]:
    """Enumeration of matches of length 3 by the kernel, against copying as many node numbers."""
    S = uniform(300 if quick else 600)
    evaluated = run(*prepare(parse(QUERIES["Q1"]), S, "matches", Budget()))
    number = sum(len(lengths) for _, lengths, _ in complex_events(evaluated))
    nodes = np.zeros(3 * number, np.int32)

    def ours() -> None:
        for _ in complex_events(evaluated):
            pass

    yield rate("list.Q1", number, "matches/s", ours, "copying the output", nodes.copy)


def columns(quick: bool) -> Iterator[Figure]:
    """Counting from Arrow columns, classification included, against the update phase alone."""
    S = uniform(50_000 if quick else 200_000)
    for name in ("Q1", "Q8"):
        phi = parse(QUERIES[name])
        automaton = Determinized(single_variable(compile_cel(phi)))
        classes = classify(automaton.A.predicates, S)

        update_only = partial(read_all, automaton, classes)
        yield rate(
            f"count.{name}", len(S), "events/s", lambda phi=phi: sum(count(phi, S)), "update phase alone", update_only
        )


def enumerate_(quick: bool) -> Iterator[Figure]:
    """All matches of a stream, listed by the automaton, against the denotational interpreter."""
    S = uniform(40)
    for name in ("Q1", "Q4"):
        phi = parse(QUERIES[name])
        found = len(matches(phi, S))

        def denoted(phi=phi) -> None:  # type: ignore[no-untyped-def]
            interpreter = Interpreter(S)
            for n in range(len(S)):
                interpreter.meaning(phi, 0, n)

        yield rate(
            f"enumerate.{name}",
            found,
            "matches/s",
            lambda phi=phi: matches(phi, S),
            "denotational interpreter",
            denoted,
        )


def interpreter(quick: bool) -> Iterator[Figure]:
    """Cases of 15 nodes over 12 events by the denotational interpreter, against its clauses alone, remembered.

    All of them, of which a few with thousands of valuations take most of the time; and the middle fifth.
    """
    random = Random(7)
    formulas = [formula(random, CORE, 15) for _ in range(100 if quick else 500)]
    cases = [(phi, stream(random, CORE, 12, phi)) for phi in formulas]
    cases.sort(key=lambda case: cpu_seconds(lambda: interpreted([case])))
    middle = cases[2 * len(cases) // 5 : 3 * len(cases) // 5]
    for name, some in (("all", cases), ("middle", middle)):
        yield rate(
            f"interpreter.{name}",
            len(some),
            "cases/s",
            lambda some=some: interpreted(some),  # type: ignore[misc]
            "the clauses alone",
            lambda some=some: followed(some),  # type: ignore[misc]
            target="≥ 1,000",
            met=lambda value, ratio: value >= 1000,
        )


def interpreted(cases: list[tuple[Formula, Stream]]) -> None:
    """All valuations at all positions."""
    for phi, S in cases:
        interpreter = Interpreter(S)
        for n in range(len(S)):
            interpreter.meaning(phi, 0, n)


def followed(cases: list[tuple[Formula, Stream]]) -> None:
    """All valuations at all positions: every clause is followed for every interval that is asked about."""
    for phi, S in cases:
        meaning = plainly(S)
        for n in range(len(S)):
            meaning(phi, 0, n)


def plainly(S: Stream) -> Meaning:
    """The meaning over S by the clauses and nothing else."""
    known: dict[tuple[int, int, int], Valuations] = {}

    def meaning(phi: Formula, i: int, j: int) -> Valuations:
        if (id(phi), i, j) not in known:
            known[id(phi), i, j] = frozenset(clause(phi, S, i, j, meaning))
        return known[id(phi), i, j]

    return meaning


def import_(quick: bool) -> Iterator[Figure]:
    """Starting Python and importing cerify, against starting Python."""

    def start(code: str) -> None:
        subprocess.run([sys.executable, "-c", code], check=True)

    pairs = []
    for _ in range(6):
        t0 = time.perf_counter()
        start("import cerify")
        t1 = time.perf_counter()
        start("pass")
        pairs.append((t1 - t0, time.perf_counter() - t1))
    extra = sorted(a - b for a, b in pairs[1:])
    value = median(extra)
    ratio = median(a / b for a, b in pairs[1:])
    yield Figure("import", value, "s", "starting Python", ratio, 5, (extra[0], extra[-1]), "≤ 0.3 s", value <= 0.3)


BENCHMARKS = {
    "update": update,
    "readable": readable,
    "list": listing,
    "count": columns,
    "enumerate": enumerate_,
    "interpreter": interpreter,
    "equivalence": equivalence,
    "window": window,
    "partition": partition,
    "memory": memory,
    "expressions": expressions,
    "import": import_,
}


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Smaller streams.")
@click.option("--json", "to", type=click.Path(path_type=Path), help="Write one JSON object per figure to this file.")
def main(names: tuple[str, ...], quick: bool, to: Path | None) -> None:
    """Measure; without NAMES everything. A name is that of a group or of one of its figures, such as update.Q1."""
    unknown = [name for name in names if name.split(".")[0] not in BENCHMARKS]
    if unknown:
        raise click.UsageError(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    groups = {name.split(".")[0] for name in names} or set(BENCHMARKS)
    table = Table("figure", "value", "unit", "spread", "ratio", "against", "target")
    figures = []
    for group, benchmark in BENCHMARKS.items():
        for figure in benchmark(quick) if group in groups else ():
            if not names or figure.name.startswith(names):
                figures.append(figure)
                low, high = figure.spread
                target = "" if figure.target is None else f"{figure.target}: {'met' if figure.met else 'missed'}"
                table.add_row(
                    figure.name,
                    f"{figure.value:,.3g}" if figure.value < 1000 else f"{figure.value:,.0f}",
                    figure.unit,
                    f"{low:,.3g}-{high:,.3g}",
                    f"{figure.ratio:.3g}",
                    figure.baseline,
                    target,
                )
    Console().print(table)
    if to is not None:
        to.write_text("".join(json.dumps(f.as_json(), ensure_ascii=False) + "\n" for f in figures), encoding="utf-8")


if __name__ == "__main__":
    main()
