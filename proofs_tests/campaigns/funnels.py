"""Random rows of keys for funnels: `python -m proofs_tests.campaigns.funnels --seed 1 --keys 20000`.

The columns' evaluator is held against the definition for each reading. With `--python PATH`, an interpreter of an
environment that has chdb (`pip install chdb pyarrow`), the definitions of ClickHouse's readings are held against
ClickHouse, which answers for all keys in one query: windowFunnel in each mode, sequenceMatch, sequenceCount and
sequenceMatchEvents for a list of patterns and for random ones, and retention.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import click
import numpy as np

from cerify.automata.funnels import FunnelRows, KeyedRows, find_chains, find_mode_levels
from cerify.semantics.errors import ParseError
from cerify.semantics.funnels import (
    FUNNEL_MODES,
    ChainReading,
    FunnelRow,
    Rows,
    SequencePart,
    deepest_chain,
    longest_attempt,
    parse_sequence_pattern,
    retention,
    sequence_count,
    sequence_rows,
)

WINDOWS = (0, 3, 10)
PATTERNS = (
    "(?1)(?2)", "(?1).*(?2)", "(?1).(?2)", "(?1)(?t<=3)(?2)", "(?1)(?t<3)(?2)", "(?1)(?t>=3)(?2)", "(?1)(?t>2)(?2)",
    "(?1)(?t==2)(?2)", "(?1).*(?2).*(?3)", "(?1)(?2).*(?3)", "(?1).*(?t<=3)(?2)", "(?1)(?t<=3).*(?2)",
    "(?1)(?2)(?t>=2)(?3)", "(?1)(?t<=4)(?2)(?t<=2)(?3)", "(?1).*", "(?1)(?1)", ".(?2)", "(?1).*(?1)",
)  # fmt: skip
PARTS = ("(?1)", "(?2)", "(?3)", ".", ".*", "(?t<=2)", "(?t<2)", "(?t>=2)", "(?t>2)", "(?t==2)")

ASK = """
import json, sys, chdb, pyarrow as pa
case = json.load(open(sys.argv[1]))
n = case["steps"]
table = pa.table({"key": pa.array(case["key"], pa.uint32()), "t": pa.array(case["time"], pa.uint32()),
    **{f"c{i}": pa.array([m >> i & 1 for m in case["mask"]], pa.uint8()) for i in range(n)}})
conditions = ", ".join(f"c{i} = 1" for i in range(n))
connection = chdb.connect(":memory:")
answers = []
for call in case["calls"]:
    sql = f"SELECT key, {call}({'' if call == 'retention' else 't, '}{conditions}) FROM Python(table) GROUP BY key"
    text = str(connection.query(sql, "TSV"))
    answers.append({key: value for key, value in (line.split("\\t") for line in text.split("\\n") if line)})
json.dump(answers, sys.stdout)
"""


@dataclass(frozen=True)
class Difference:
    """A key for which two answers differ."""

    what: str
    rows: Rows
    expected: Any
    got: Any

    def __str__(self) -> str:
        rows = " ".join(f"{r.time}:{''.join(map(str, sorted(r.steps))) or '-'}{'!' * r.barred}" for r in self.rows)
        return f"{self.what}: on {rows or 'no rows'} {self.expected} was expected, and is {self.got}"


def random_rows(random: Random, n: int, *, barred: bool = False, unordered: bool = False) -> Rows:
    """Return up to nine rows in the order of their times, mostly of one step each; in half of them no time repeats.

    With unordered, their order is any, and two conditions of three are often both true.
    """
    most = random.choice((4, 8, 40))
    rows = []
    for _ in range(random.randint(0, 9)):
        steps = random.sample(range(1, n + 1), min(n, random.choices((0, 1, 2, 3), (2, 12, 2, 1))[0]))
        rows.append(FunnelRow(random.randint(0, most), frozenset(steps), barred and random.random() < 0.05))
    if not unordered:
        rows.sort(key=lambda row: row.time)
    if random.random() < 0.5:
        rows = list({row.time: row for row in reversed(rows)}.values())[::-1]
    return rows


def random_pattern(random: Random) -> str:
    """Return a pattern of sequenceMatch that has a meaning."""
    while True:
        text = "".join(random.choices(PARTS, k=random.randint(1, 5)))
        try:
            parse_sequence_pattern(text)
        except ParseError:
            continue
        return text


def keyed(
    cases: Sequence[Rows], n: int, shuffled: Random, steps: int | None = None
) -> Iterator[tuple[int, FunnelRows]]:
    """Yield the rows of cases as columns, each case a key, in groups with the number of their first key.

    The rows of different keys come mixed, in two parts. The position of a row is its place in its case. With steps,
    rows that no chain can have are left out.
    """
    weights = [sorted(shuffled.random() for _ in rows) for rows in cases]
    order = np.argsort(np.array([w for weight in weights for w in weight]))

    def column(values: list[int], kind: type) -> np.ndarray:
        return np.array(values, kind)[order]

    codes = column([i for i, rows in enumerate(cases) for _ in rows], np.int32)
    times = column([row.time for rows in cases for row in rows], np.int64)
    masks = column([sum(1 << (s - 1) for s in r.steps) | r.barred << n for rows in cases for r in rows], np.int64)
    places = column([place for rows in cases for place in range(len(rows))], np.int64)
    rows, half = KeyedRows(len(cases), every=steps is None, steps=steps), len(codes) // 2
    rows.add(0, codes[:half], times[:half], masks[:half])
    rows.add(half, codes[half:], times[half:], masks[half:])
    for first, grouped in rows.groups():
        yield first, replace(grouped, rows=places[grouped.rows])


def evaluator_differences(random: Random, keys: int, n: int) -> Iterator[Difference]:
    """Yield the keys on which the columns' evaluator differs from the definition."""
    cases = [random_rows(random, n, barred=True) for _ in range(keys)]
    for low, rows in (group for steps in (None, n) for group in keyed(cases, n, random, steps)):
        for window, first, increasing in product((None, *WINDOWS), (False, True), (False, True)):
            reached = find_chains(rows, n, window, first=first, increasing=increasing)
            assert reached.chains is not None
            ends = reached.levels.cumsum(dtype=np.int64)
            for i, case in enumerate(cases[low : low + rows.keys]):
                expected = deepest_chain(case, n, ChainReading(window, first, increasing))
                got = tuple(rows.rows[reached.chains[ends[i] - reached.levels[i] : ends[i]]].tolist())
                if got != expected:
                    yield Difference(f"chain {window=} {first=} {increasing=}", case, expected, got)
    cases = [[FunnelRow(r.time, r.steps) for r in case] for case in cases]
    for low, rows in keyed(cases, n, random):
        for window, (mode, level) in product(WINDOWS, FUNNEL_MODES.items()):
            levels = find_mode_levels(rows, n, window, mode).levels
            for i, case in enumerate(cases[low : low + rows.keys]):
                if (expected := level(case, n, window)) != levels[i]:
                    yield Difference(f"{mode} {window=}", case, expected, int(levels[i]))


def clickhouse_differences(python: str, random: Random, keys: int, n: int = 4) -> Iterator[Difference]:
    """Yield the keys on which ClickHouse differs from the definitions of its readings."""
    calls: dict[str, Callable[[Rows], Any]] = {}
    for mode, level in FUNNEL_MODES.items():
        named = "" if mode == "windowFunnel" else "".join(f", '{one}'" for one in mode.split(","))
        for w in WINDOWS:
            calls[f"windowFunnel({w}{named})"] = lambda rows, level=level, w=w: level(rows, n, w)
    yield from _differences(python, calls, [random_rows(random, n) for _ in range(keys)], n)
    calls = {"retention": lambda rows: [int(one) for one in retention(rows, 3)]}
    for pattern in (*PATTERNS, *(random_pattern(random) for _ in range(30))):
        parts = parse_sequence_pattern(pattern)
        calls[f"sequenceMatch('{pattern}')"] = lambda rows, parts=parts: int(sequence_rows(parts, rows) is not None)
        calls[f"sequenceCount('{pattern}')"] = lambda rows, parts=parts: sequence_count(parts, rows)
        calls[f"sequenceMatchEvents('{pattern}')"] = lambda rows, parts=parts: sequence_events(parts, rows)
    yield from _differences(python, calls, [random_rows(random, 3) for _ in range(keys)], 3)


def sequence_events(parts: Sequence[SequencePart], rows: Rows) -> list[int]:
    """Return what sequenceMatchEvents answers: the times of the conditions of the longest attempt."""
    kept = sorted((row for row in rows if row.steps), key=lambda row: row.time)
    return [kept[i].time for i in longest_attempt(parts, rows) or ()]


def _differences(
    python: str, calls: dict[str, Callable[[Rows], Any]], cases: Sequence[Rows], n: int
) -> Iterator[Difference]:
    """Yield the keys for which ClickHouse answers otherwise, twice: some answers change from one run to the next."""
    cases = [rows for rows in cases if rows]
    seen = list(_asked(python, calls, cases, n))
    again = {call: level for call, level in calls.items() if any(call == one.what for one in seen)}
    for difference in seen:
        click.echo(f"asked again: {difference}")
    if again:
        yield from (one for one in _asked(python, again, cases, n) if one in seen)


def _asked(python: str, calls: dict[str, Callable[[Rows], Any]], cases: Sequence[Rows], n: int) -> Iterator[Difference]:
    asked = {
        "steps": n,
        "key": [i for i, rows in enumerate(cases) for _ in rows],
        "time": [row.time for rows in cases for row in rows],
        "mask": [sum(1 << (s - 1) for s in row.steps) for rows in cases for row in rows],
        "calls": list(calls),
    }
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        file.write_text(json.dumps(asked), encoding="utf-8")
        ran = subprocess.run([python, "-c", ASK, str(file)], capture_output=True, text=True, check=False)
    if ran.returncode:
        raise click.ClickException(f"{python}: {ran.stderr[-2000:]}")
    for (call, level), answers in zip(calls.items(), json.loads(ran.stdout), strict=True):
        for i, rows in enumerate(cases):
            expected, got = level(rows), json.loads(answers[str(i)])
            if expected != got:
                yield Difference(re.sub(r"\s+", " ", call), rows, expected, got)


@click.command()
@click.option("--seed", default=0, show_default=True)
@click.option("--keys", default=5_000, show_default=True, help="Random keys for each number of steps.")
@click.option("--python", default=None, metavar="PATH", help="An interpreter with chdb: ask ClickHouse too.")
@click.option("--only-clickhouse", is_flag=True, help="Leave the evaluator of columns out.")
def command(seed: int, keys: int, python: str | None, only_clickhouse: bool) -> None:
    """Hold the evaluator of funnels against the definition, and the definition against ClickHouse."""
    random = Random(seed)
    differences = [d for n in (() if only_clickhouse else (1, 2, 4)) for d in evaluator_differences(random, keys, n)]
    if python is not None:
        differences += clickhouse_differences(python, random, keys)
    for difference in sorted(differences, key=lambda d: len(d.rows))[:20]:
        click.echo(str(difference))
    click.echo(f"{len(differences)} differences in {keys} keys")
    sys.exit(1 if differences else 0)


if __name__ == "__main__":
    command()
