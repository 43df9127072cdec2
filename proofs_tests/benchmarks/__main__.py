"""Run benchmarks, print a table, and write one JSON object for each figure."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from random import Random

import click
from rich.console import Console
from rich.table import Column, Table

from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import Determinized, single_variable
from cerify.automata.evaluate.ces import Evaluation
from cerify.automata.evaluate.streaming import matches
from cerify.automata.evaluate.tables import classify
from cerify.equivalence.generate.cel import CORE, formula, stream
from cerify.semantics.cel.denote import Meaning, Valuations, clause
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula
from cerify.semantics.events import Stream
from proofs_tests.benchmarks import evaluation, files, page
from proofs_tests.benchmarks.cores import cores
from proofs_tests.benchmarks.deciding import equivalence
from proofs_tests.benchmarks.differential import differential
from proofs_tests.benchmarks.eql import eql
from proofs_tests.benchmarks.expressions import expressions
from proofs_tests.benchmarks.figure import Figure, cpu_seconds, rate
from proofs_tests.benchmarks.flat import flat
from proofs_tests.benchmarks.funnels import funnels, funnels_spark
from proofs_tests.benchmarks.hops import hops
from proofs_tests.benchmarks.installed import installed
from proofs_tests.benchmarks.keys import keyed_spark, keys, users_spark
from proofs_tests.benchmarks.nfab import nfab
from proofs_tests.benchmarks.peers import peers
from proofs_tests.benchmarks.person import person
from proofs_tests.benchmarks.pip import pip
from proofs_tests.benchmarks.playground import playground
from proofs_tests.benchmarks.recognize import recognize
from proofs_tests.benchmarks.rows import row_patterns
from proofs_tests.benchmarks.spark import spark
from proofs_tests.benchmarks.workloads import QUERIES, uniform


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
        ours = partial(read_all, automaton, types)
        fast = evaluation.Reading(query, S)
        yield rate(f"readable.{name}", len(S), "events/s", ours, "the compiled update", fast.read)


def denoted(quick: bool) -> Iterator[Figure]:
    """All matches of a stream, listed by the automaton, against the denotational interpreter."""
    S = uniform(40)
    for name in ("Q1", "Q4"):
        phi = parse(QUERIES[name])
        found = len(matches(phi, S))

        def denotation(phi=phi) -> None:  # type: ignore[no-untyped-def]
            interpreter = Interpreter(S)
            for n in range(len(S)):
                interpreter.meaning(phi, 0, n)

        yield rate(
            f"denoted.{name}",
            found,
            "matches/s",
            lambda phi=phi: matches(phi, S),
            "denotational interpreter",
            denotation,
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


BENCHMARKS = {
    "update": evaluation.update,
    "columns": evaluation.columns,
    "window": evaluation.window,
    "partition": evaluation.partition,
    "keyed": evaluation.keyed,
    "strategy": evaluation.strategy,
    "enumerate": evaluation.listing,
    "count": evaluation.counting,
    "cores": cores,
    "parquet": files.parquet,
    "counted": files.counted,
    "matched": files.matched,
    "text": files.text,
    "memory": evaluation.memory,
    "cold": evaluation.cold,
    "import": evaluation.import_,
    "person": person,
    "installed": installed,
    "playground": playground,
    "flat": flat,
    "readable": readable,
    "denoted": denoted,
    "interpreter": interpreter,
    "differential": differential,
    "equivalence": equivalence,
    "expressions": expressions,
    "sase": nfab,
    "rows": row_patterns,
    "funnels": funnels,
    "funnels-spark": funnels_spark,
    "eql": eql,
    "hops": hops,
    "peers": peers,
    "pip": pip,
    "spark": spark,
    "recognize": recognize,
    "keys": keys,
    "keyed-spark": keyed_spark,
    "users-spark": users_spark,
}


DOCS = click.Path(exists=True, file_okay=False, path_type=Path)
FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Smaller streams.")
@click.option("--json", "to", type=click.Path(path_type=Path), help="Write one JSON object per figure to this file.")
@click.option("--write", "docs", type=DOCS, help="Write the pages and plots that these figures are on; FOLDER is docs.")
@click.option("--from", "file", type=FILE, help="With --write: figures of an earlier --json in place of measuring.")
def main(names: tuple[str, ...], quick: bool, to: Path | None, docs: Path | None, file: Path | None) -> None:
    """Measure; without NAMES everything. A name is that of a group or of one of its figures, such as update.Q1."""
    if file is not None:
        if docs is None:
            raise click.UsageError("--from goes with --write")
        page.write(docs, map(json.loads, file.read_text(encoding="utf-8").splitlines()))
        return
    unknown = [name for name in names if name.split(".")[0] not in BENCHMARKS]
    if unknown:
        raise click.UsageError(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    groups = {name.split(".")[0] for name in names} or set(BENCHMARKS)
    others = (Column(name, overflow="fold") for name in ("seen", "beside", "target", "result"))
    table = Table(Column("figure", no_wrap=True), *others)
    folders = {} if docs is None else {"flat": docs / "guide" / "plots", "peers": docs / "findings"}
    figures = []
    lines = nullcontext() if to is None else to.open("w", encoding="utf-8")
    with lines as written:
        for group, benchmark in BENCHMARKS.items():
            run = partial(benchmark, folder=folders[group]) if group in folders else benchmark
            for figure in run(quick) if group in groups else ():
                if not names or figure.name.startswith(names):
                    figures.append(one := figure.as_json())
                    if written is not None:  # as they come, since a run takes long
                        written.write(json.dumps(one, ensure_ascii=False) + "\n")
                        written.flush()
                    shown = page.seen(one), page.compared(one), one["target"], page.verdict(one).strip("*")
                    table.add_row(figure.name, *((text or "").replace("&nbsp;", " ") for text in shown))
    if not figures:
        raise click.UsageError(f"no figure {' or '.join(names)}; without --quick there may be more")
    Console().print(table)
    if docs is not None:
        page.write(docs, figures)


if __name__ == "__main__":
    main()
