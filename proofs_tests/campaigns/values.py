"""Random cases of every language with values that are easy to get wrong: `python -m proofs_tests.campaigns.values`.

Queries and streams come from the languages' generators; the constants of a query, and the values of each attribute, are
then replaced. Half of the streams have values of one type for an attribute: they are written to files and read back,
and given to what a worker of Spark runs; half of these have a schema. In the others an attribute has values of several
kinds. Every evaluator, over the whole stream and in two batches, has to have the matches of the definition; in half of
the cases it is saved and restored between the two. `spark_batch --values` gives cases of the first half to Spark, and
`verdicts` asks the deciders about such cases.
"""

from __future__ import annotations

import csv
import math
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

import click
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from cerify.languages import LANGUAGES
from cerify.languages.language import DENOTATIONAL, Language, Options
from cerify.plan import Want, plan
from cerify.protocol import line
from cerify.semantics.arguments import Budget
from cerify.semantics.arrow_columns import ARROW
from cerify.semantics.errors import BudgetExceeded, CerifyError, IllFormed, InputError, Unsupported
from cerify.semantics.events import TIME, TYPE, Event, Match, Schema, Stream
from cerify.semantics.files import read_stream
from cerify.semantics.json_events import json_of_event
from cerify.semantics.predicates import Constant, InRange, OneOf
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.values import Value, parse_time
from proofs_tests.robustness import store, stored
from proofs_tests.unit.workbench.spark.spark_cases import matches

BUDGET = Budget(valuations=50_000, states=2_000, matches=5_000, seconds=5)
OPTIONS = Options(budget=BUDGET)
NODES, EVENTS = 8, 8
EAST = timezone(timedelta(hours=2))
POOLS: Mapping[str, tuple[Value, ...]] = {
    "int": (0, 1, -1, 2, 2**53 - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
    "float": (0.0, -0.0, 1.0, 0.5, -1.5, float(2**53), float(2**63), 5e-324, math.nan, math.inf, -math.inf),
    "string": ("", "a", "A", "ab", "b", "é", "e\u0301", "ß", "日本", "\U0001f600", "\uffff", "a\nb", "'", '"a"', "1"),
    "bool": (False, True),
    "timestamp": (
        datetime(2021, 1, 1, tzinfo=UTC), datetime(2021, 1, 1, 2, tzinfo=EAST), datetime(2021, 1, 1),
        datetime(2021, 1, 1, 0, 0, 0, 1, tzinfo=UTC), datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 30, tzinfo=UTC),
    ),
}  # fmt: skip
BEYOND: tuple[Value, ...] = (2**63, -(2**63) - 1, 10**30, 10**400)
"""Whole numbers that no file and no column has, but an event made in Python; the last is beyond the floats."""


@dataclass(frozen=True)
class Wild:
    """A case whose values have been replaced, and the query with other constants of the case.

    typed: each attribute has values of one type. saved: an evaluator is saved between two batches, and restored.
    """

    query: Any
    other: Any
    S: Stream
    typed: bool
    saved: bool


Answers: TypeAlias = Callable[[Language[Any], Wild], Iterator[tuple[str, Callable[[], list[Match]]]]]
"""The names of what answers a case, each with what gives its matches."""


def wild_case(language: Language[Any], seed: str, alike: bool = False) -> Wild:
    """The case of that seed. Raises IllFormed where the new constants break a rule of the language.

    alike: in five sixths of the typed cases all attributes are of one type, so that the constants fit a schema.
    """
    rng = Random(seed)
    generator = language.require_cases().generator()
    profile = generator.profiles[rng.choice(list(generator.profiles))]
    query, S = generator.case(rng, profile, NODES, EVENTS)
    typed = rng.random() < 0.5
    names = dict.fromkeys(name for event in S for name in event.attributes if name != TIME)
    kind = rng.choice((None, *POOLS)) if typed and alike else None
    pools = {name: pool_of(rng, typed, kind) for name in names}
    constants = [as_read(value) for pool in pools.values() for value in pool if writable(value)] or [0, "a"]
    absent = rng.choice((0.0, 0.2))
    stamps = rng.choice((None, None, UTC, EAST))

    def value(name: str, old: Value) -> Value:
        if name == TIME and isinstance(old, int) and stamps is not None:
            return datetime(2021, 1, 1, tzinfo=UTC).astimezone(stamps) + timedelta(seconds=old)
        return old if name == TIME else rng.choice(pools[name])

    replaced = [
        Event(e.type, {n: value(n, v) for n, v in e.attributes.items() if n == TIME or rng.random() >= absent})
        for e in S
    ]
    new = with_constants(query, rng, constants)
    if language.syntax.parse(language.syntax.show(new)) != new:
        raise AssertionError(f"{language.syntax.show(new)} is read back as another query")
    S = Stream(replaced)
    if typed and rng.random() < 0.5:
        S = Stream(replaced, drawn_schema(rng, S))
        language.syntax.require_typed(new, S.schema)
    saved = rng.random() < 0.5
    return Wild(new, with_constants(new, rng, constants), S, typed, saved)


def drawn_schema(rng: Random, S: Stream) -> Schema:
    """A schema that the stream fits, with some attributes and types that it does not have."""
    types = {R: {n: t for n, t in of.items() if n != TIME} for R, of in Schema.from_events(S).types.items()}
    everywhere, new = {n: t for of in types.values() for n, t in of.items()}, {"new": rng.choice(list(ARROW))}
    for R in ("Z", *types):
        if rng.random() < 0.3:
            types[R] = types.get(R, {}) | rng.choice((everywhere, new))
    return Schema(types)


def pool_of(rng: Random, typed: bool, kind: str | None) -> tuple[Value, ...]:
    """Some values for an attribute, few enough that they recur; of that kind if it is known."""
    kinds = [kind or rng.choice(list(POOLS))] if typed else rng.sample(list(POOLS), rng.randint(1, 4))
    all_ = [value for kind in kinds for value in POOLS[kind]] + ([] if typed else list(BEYOND))
    return tuple(rng.sample(all_, min(len(all_), rng.randint(2, 5))))


def writable(value: Value) -> bool:
    """Whether a query can name the value."""
    return not isinstance(value, int | float) or abs(value) <= sys.float_info.max


def as_read(value: Value) -> Value:
    """The value as a query's text gives it: a time has the offset 0."""
    return parse_time(value.isoformat()) if isinstance(value, datetime) else value


def with_constants(tree: Any, rng: Random, constants: Sequence[Value]) -> Any:
    """The tree with every constant of a condition replaced; no other number, such as that of a window."""
    match tree:
        case Constant():
            return Constant(rng.choice(constants))
        case OneOf():
            return replace(tree, values=tuple(rng.choice(constants) for _ in tree.values))
        case InRange():
            return replace(tree, low=rng.choice(constants), high=rng.choice(constants))
        case rows.RowConstant(bool() | datetime() | None):
            return tree
        case rows.RowConstant(value):  # SQL compares like with like
            of = ("string",) if isinstance(value, str) else ("int", "float")
            return replace(tree, value=rng.choice([v for kind in of for v in POOLS[kind] if written(v)]))
        case tuple():
            return tuple(with_constants(part, rng, constants) for part in tree)
    if not is_dataclass(tree) or isinstance(tree, type):
        return tree
    parts = {one.name: with_constants(getattr(tree, one.name), rng, constants) for one in fields(tree) if one.init}
    return replace(tree, **parts)


def written(value: Value) -> bool:
    """Whether SQL writes the value as one literal: a number with a sign is an expression."""
    return writable(value) and not (isinstance(value, int | float) and math.copysign(1, value) < 0)


def answers(language: Language[Any], case: Wild) -> Iterator[tuple[str, Callable[[], list[Match]]]]:
    """What has to have the matches of the definition: each evaluator, on all of it and in two batches, and readers."""
    for name in language.evaluators:
        if name != DENOTATIONAL:
            yield name, lambda name=name: sorted(language.evaluators.matches(case.query, case.S, name, OPTIONS))
        yield f"{name} in batches", lambda name=name: in_batches(language, case, name)
    if case.typed and len(case.S):
        for suffix, write in WRITERS.items():
            yield suffix, lambda suffix=suffix, write=write: from_file(language, case, suffix, write)
        yield "a worker of Spark", lambda: by_worker(language, case)


def in_batches(language: Language[Any], case: Wild, name: str) -> list[Match]:
    """The matches of an evaluator that reads the stream in two batches."""
    made = plan(language, case.query, None, Want(OPTIONS, name, batches=True)).batches
    if made is None:
        raise Unsupported("no batches")
    half = len(case.S) // 2
    first, rest = case.S.part(0, half), case.S.part(half, len(case.S) - half)
    found = made.push(first)
    if case.saved:
        state, made = made.save(), made.fresh()
        made.restore(state)
    return sorted([*found, *made.push(rest), *made.finish()])


def by_worker(language: Language[Any], case: Wild) -> list[Match]:
    """The matches of what a worker of Spark runs, which reads the stream in two batches."""
    from cerify.spark.runs import SparkQuery, start

    run = start(SparkQuery(language.syntax.show(case.query), language.name, schema=case.S.schema), BUDGET)
    half = len(case.S) // 2
    return matches([run.push(case.S.table[:half]), run.push(case.S.table[half:]), run.finish()])


def from_file(language: Language[Any], case: Wild, suffix: str, write: Callable[[Stream, Path], None]) -> list[Match]:
    """The matches by the definition over the stream that is written to a file and read again."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"events.{suffix}")
        write(case.S, path)
        schema = case.S.schema or (
            Schema.from_events(case.S) if suffix == "csv" else None
        )  # CSV has values without types
        return sorted(language.evaluators.matches(case.query, read_stream(path, schema=schema), DENOTATIONAL, OPTIONS))


def write_lines(S: Stream, path: Path) -> None:
    """JSON Lines; times are text, which only `time` is read as. Raises InputError for what JSON cannot write."""
    if any(isinstance(v, datetime) for event in S for name, v in event.attributes.items() if name != TIME):
        raise InputError("JSON has no times")
    path.write_text("".join(line(json_of_event(event)) + "\n" for event in S), encoding="utf-8")


def write_csv(S: Stream, path: Path) -> None:
    """CSV. Raises InputError for an empty string, which CSV reads as no value."""
    if any(value == "" for event in S for value in event.attributes.values()):
        raise InputError("CSV has no empty strings")
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, S.table.column_names)
        writer.writeheader()
        writer.writerows({TYPE: event.type} | {n: cell(v) for n, v in event.attributes.items()} for event in S)


def cell(value: Value) -> str:
    """The value as CSV has it."""
    return value.isoformat() if isinstance(value, datetime) else str(value)


def write_parquet(S: Stream, path: Path) -> None:
    """Parquet."""
    pa.parquet.write_table(S.table, path)


def write_arrow(S: Stream, path: Path) -> None:
    """Arrow IPC."""
    with pa.ipc.new_file(path, S.table.schema) as writer:
        writer.write_table(S.table)


WRITERS = {"csv": write_csv, "jsonl": write_lines, "parquet": write_parquet, "arrow": write_arrow}


def outcomes(language: Language[Any], case: Wild, answers: Answers = answers) -> Iterator[tuple[str, str]]:
    """For each of the answers its name, and whether it agrees with the definition; else how it does not."""
    expected = sorted(language.evaluators.matches(case.query, case.S, DENOTATIONAL, OPTIONS))
    for name, answer in answers(language, case):
        try:
            found = answer()
        except (Unsupported, BudgetExceeded) as error:
            yield name, error.code
        except (InputError, IllFormed) as error:  # as columns have values of one type, of 64 bits, and JSON no infinity
            yield name, "refused" if refusable(case, error) else f"WRONG: {error.message}"
        except Exception as error:
            yield name, f"WRONG: {type(error).__name__}: {error}"
        else:
            agrees = found == expected
            yield name, ("matched" if expected else "empty") if agrees else f"WRONG: {found} for {expected}"


def refusable(case: Wild, error: CerifyError) -> bool:
    """Whether the values of the case give a reason for the error."""
    return not case.typed or any(text in error.message for text in ("JSON", "CSV", "one type", "ascending"))


def store_figures(campaign: str, name: str, first: int, cases: int, counted: Counter[str], seed: int) -> None:
    """Store the figures, added to those of the cases from 0 to the first one where these have been stored."""
    before = stored().get(campaign, {}).get(name, {})
    if first and (before.get("seed"), before.get("cases")) == (seed, first):
        cases, counted = first + cases, counted + Counter(before["outcomes"])
    store(campaign, name, {"cases": cases, "outcomes": dict(sorted(counted.items())), "seed": seed})


def command(campaign: str, case_of: Callable[[Language[Any], str], Wild], answers: Answers) -> click.Command:
    """The command of a campaign, which asks for the answers about each case and compares them with the definition."""

    @click.command()
    @click.argument("languages", nargs=-1, type=click.Choice(list(LANGUAGES)))
    @click.option("--cases", default=20_000, show_default=True, help="Of each language.")
    @click.option("--seed", default=1, show_default=True)
    @click.option("--first", default=0, show_default=True, help="The number of the first case.")
    @click.option("--store", "stores", is_flag=True, help="Put the figures into docs/findings/robustness.json.")
    def main(languages: tuple[str, ...], cases: int, seed: int, first: int, stores: bool) -> None:
        """One line for each language, and one for each case that differs; status 1 if there is any."""
        wrong = 0
        for name in languages or LANGUAGES:
            language, counted = LANGUAGES[name], Counter[str]()
            for i in range(first, first + cases):
                try:
                    case = case_of(language, f"{seed}/{name}/{i}")
                    found = list(outcomes(language, case, answers))
                except (IllFormed, BudgetExceeded, Unsupported) as error:
                    counted[error.code] += 1
                    continue
                except Exception as error:
                    found, case = [("definition", f"WRONG: {type(error).__name__}: {error}")], None
                for answer, outcome in found:
                    counted["wrong" if outcome.startswith("WRONG") else outcome] += 1
                    if outcome.startswith("WRONG"):
                        text = "" if case is None else f"{language.syntax.show(case.query)} over {list(case.S)}"
                        click.echo(f"{name} {i} {answer}: {outcome}: {text}")
            wrong += counted["wrong"]
            if stores:
                store_figures(campaign, name, first, cases, counted, seed)
            click.echo(f"{name}: {cases:,} cases, {', '.join(f'{n:,} {what}' for what, n in sorted(counted.items()))}")
        sys.exit(1 if wrong else 0)

    return main


if __name__ == "__main__":
    command("values", wild_case, answers)()
