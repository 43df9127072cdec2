"""The pages of measurements, made from the figures stored beside them: docs/reference/measurements.md and one table.

In docs/guide/performance.md the table stands between `<!-- table: speed -->` and `<!-- end of table -->`. It has events
a second by query; findings/speed.md compares engines. The tables called `keys` and `recognize` have a row for each size
of a stream on Spark.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from proofs_tests.benchmarks.peers import digits
from proofs_tests.benchmarks.workloads import QUERIES
from proofs_tests.tools.engine_board import table

Json: TypeAlias = dict[str, Any]

TABLE = re.compile(r"(<!-- table: ([a-z ]+) -->\n)(.*?)(<!-- end of table -->)", re.DOTALL)
LARGE = ((1e9, "G"), (1e6, "M"))
PAGE, MEASUREMENTS, DOTS = "guide/performance.md", "reference/measurements.md", "guide/plots/ratios.svg"
FIGURES = "guide/performance.jsonl"
SHARES = {"keys": "rows of a key", "recognize": "rows in a partition"}
"""Groups whose figures are parts of what an identity on Spark reaches, by the sizes of the streams."""
SHARE = re.compile(r"\w+\.(?:(\w+)\.)?(group|plan|matches)\.(\d+)(?:\.(\d))?(\.cpu)?")
OUTPUTS = {"matches": "matches", "count": "their number", None: "a row per match", "all": "all rows"}
KINDS = {"group": "of groups", "plan": "of the same plan", "matches": "of matches"}
HEAD = """# Measurements

Written by `python -m proofs_tests.benchmarks --write docs`, from [the stored figures](../guide/performance.jsonl).

[Speed](../guide/performance.md) says what the figures mean and draws them. `python -m proofs_tests.benchmarks NAME`
measures one again, for example `update.Q1`. A figure is the median of five runs by processor time, in turns with the
baseline in the column *beside*: "1.8 × limit" is 1.8 times the time of the baseline *limit*, and "1.1 × rate of limit"
1.1 times its rate. Machines differ, so compare the ratios. A missed target is in bold type.
"""
SECTIONS = (
    (
        "One core",
        "update columns",
        "`update` is only the inner loop of the compiled evaluator, over events that are already classified. *limit* "
        "is one look-up for each event; `.c` the same loop in C; `.bytes` a loop that moves as many bytes; `.in_turn` "
        "the same types in turn, so "
        "that no branch "
        "is mispredicted. `columns` begins with Arrow columns; `.1000` is under `WITHIN 1000 EVENTS`.",
    ),
    (
        "Windows, keys and strategies",
        "window partition strategy",
        "The number is the width of the window, or the number of keys. `.columns` begins with Arrow columns.",
    ),
    (
        "Beside rustevex",
        "pip",
        "By 100 keys in 30 seconds, from Arrow to Arrow: two steps, three steps, two without a third type.",
    ),
    ("Listing and counting", "enumerate count", "Matches of three events, as Arrow lists or only counted."),
    (
        "Memory",
        "memory",
        "Bytes of nodes for each marked event; for `.10000` all bytes under `WITHIN 10000 EVENTS`; for `.parquet` the "
        "peak of a process that reads 10⁸ events under `WITHIN 1000 EVENTS`.",
    ),
    (
        "SASE+ and event expressions",
        "sase expressions",
        "`sase` counts matches from Arrow columns, with an event a second and 1,000 symbols; `q1` to `q3` are queries "
        "of sase07; in `eighth` a run begins at one event in eight. `.readable` is the evaluator in Python.",
    ),
    (
        "MATCH_RECOGNIZE",
        "rows",
        '`.output` is the whole call `cerify.match(..., output="rows")`, with one or all rows per match; `.readable` '
        "and `.memory` are the evaluator in Python.",
    ),
    (
        "Two cores",
        "cores",
        "Two threads read one stream, by elapsed time. `cores.processes` is the most that two cores of the "
        "machine give.",
    ),
    (
        "Files",
        "parquet text counted matched",
        "From the path of a file to its matches (`.list`: all; `.count`: only counted). `counted` and `matched` are "
        "`cerify.count` and `cerify.match`; `.json` prints lines, `.written` writes a file.",
    ),
    (
        "Whole commands",
        "person differential equivalence cold import",
        "By elapsed time: `conform` runs all built-in suites, `.recorded` with stored answers; "
        "`differential` compares random cases with the reference evaluator; `equivalence` decides pairs by their "
        "number of nodes; "
        "`cold` is a new process until its first match.",
    ),
    (
        "Spark: streams with keys",
        "keys",
        "Rows per CPU second, and the ratio to plans that do no work: `groupBy.applyInArrow`, and the "
        "plan that `match` "
        "uses. In parentheses: by elapsed time.",
    ),
    ("Spark: MATCH_RECOGNIZE", "recognize", "The same for `match_recognize`, by rows in a partition."),
    (
        "Spark: queries by user",
        "users-spark",
        "5 million events, 25 for each user, on one core. `absence` is A without B in SASE+, `sase` is A and then B. "
        "`sql` is "
        "the table function, `run-sql` the same text by `run_sql`. `sql-identity` compares `sql` with a table "
        "function that hands on no row.",
    ),
)


def write(docs: Path, measured: Iterable[Json]) -> None:
    """Store figures, each in the place of an earlier one of its name, and write the pages and their plot anew."""
    stored = {one["name"]: one for one in read(docs)} | {one["name"]: one for one in measured}
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in stored.values())
    (docs / FIGURES).write_text("".join(lines), encoding="utf-8")
    path = docs / PAGE
    path.write_text(rendered(path.read_text(encoding="utf-8"), read(docs)), encoding="utf-8")
    (docs / MEASUREMENTS).write_text(measurements(read(docs)), encoding="utf-8")
    plot(read(docs), docs / DOTS)


def measurements(figures: Sequence[Json]) -> str:
    """Return the page of all stored figures, which says once where they are from if all are of one run.

    Raises `ValueError` for a figure whose group is in no section.
    """
    grouped = {group for _, groups, _ in SECTIONS for group in groups.split()}
    if lost := {one["name"].partition(".")[0] for one in figures} - grouped:
        raise ValueError(f"no section of SECTIONS has the figures of {', '.join(sorted(lost))}")
    where = circumstances(figures)
    once = where.count("\n") == 1
    tables = [(title, about, _of_groups(figures, groups.split(), not once)) for title, groups, about in SECTIONS]
    parts = (f"## {title}\n\n{about}\n\n{text}" for title, about, text in tables)
    return "\n".join([HEAD, *[where] * once, *parts])


def plot(figures: Sequence[Json], path: Path) -> None:
    """Draw the ratio of each rate to its baseline: a row for each group and baseline, a dot for each figure."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "cerify"
    from matplotlib import pyplot

    rates = [one for one in figures if "s/s" in one["unit"] and one["baseline"] not in ("itself", "the whole")]
    rows: dict[str, list[Json]] = {}
    for one in rates:
        rows.setdefault(f"{one['name'].partition('.')[0]}: {one['baseline']}", []).append(one)
    figure, axes = pyplot.subplots(figsize=(8, 7))
    for row, some in enumerate(rows.values()):
        missed = [one["ratio"] for one in some if one["met"] is False]
        others = [one["ratio"] for one in some if one["met"] is not False]
        axes.plot(others, [row] * len(others), "o", color="#1f77b4", alpha=0.6, markersize=5)
        axes.plot(missed, [row] * len(missed), "x", color="#c0392b", markersize=6)
    axes.plot([], [], "o", color="#1f77b4", label="a figure")
    axes.plot([], [], "x", color="#c0392b", label="a missed target")
    axes.axvline(1, color="grey", linewidth=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.invert_yaxis()
    axes.set_xlabel("rate ÷ rate of the baseline (right of 1: faster)")
    axes.legend(fontsize="small", loc="lower left")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def read(docs: Path) -> list[Json]:
    """The stored figures."""
    path = docs / FIGURES
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def rendered(page: str, figures: Sequence[Json]) -> str:
    """The page with all its tables made from these figures."""

    def made(found: re.Match[str]) -> str:
        groups = found[2].split()
        text = _speed(figures) if groups == ["speed"] else _of_groups(figures, groups)
        return f"{found[1]}\n{text}\n{found[4]}"

    return TABLE.sub(made, page)


def _of_groups(figures: Sequence[Json], groups: Sequence[str], where: bool = True) -> str:
    some = [one for group in groups for one in figures if one["name"].partition(".")[0] == group]
    if not some:
        return "Not measured yet.\n"
    measured = "\n" + circumstances(some) if where else ""
    if groups[0] in SHARES:
        return _shares(some, SHARES[groups[0]]) + measured
    rows = [[f"`{one['name']}`", median(one), compared(one), _target(one)] for one in some]
    return table(["figure", "seen", "beside", "target"], rows) + measured


def _target(one: Mapping[str, Any]) -> str:
    text = re.sub(r"(?<=[≥≤×\d]) (?=[×\d])", "&nbsp;", one["target"] or "")
    return f"**{text}**" if one["met"] is False else text


def _shares(some: Iterable[Json], size: str) -> str:
    """By size of a stream and cores: rows in a CPU second, and the parts of each baseline, by the CPU (by the wall)."""
    cells: dict[tuple[str, str], dict[tuple[str | None, str], dict[str, Json]]] = {}
    for one in some:
        found = SHARE.fullmatch(one["name"])
        assert found is not None, one["name"]
        output, kind, rows, cores, clock = found.groups()
        cells.setdefault((rows, cores or "2"), {}).setdefault((output, kind), {})[clock or ""] = one
    columns = list(next(iter(cells.values())))
    header, lines = [size, "cores"], []
    for output, kind in columns:
        header += [f"{OUTPUTS[output]}: rows/CPU s"] * (kind == "group") + [KINDS[kind]]
    for (rows, cores), row in cells.items():
        lines.append([f"{int(rows):,}", cores])
        for column in columns:
            by_cpu, by_wall = row[column][".cpu"], row[column][""]
            lines[-1] += [amount(by_cpu["value"]).replace(" ", "&nbsp;")] * (column[1] == "group")
            lines[-1].append(f"{_share(by_cpu)} ({_share(by_wall)})")
    return table(header, lines)


def _share(one: Mapping[str, Any]) -> str:
    text = f"{one['ratio']:.0%}".replace("%", "&nbsp;%")
    return f"**{text}**" if one["met"] is False else text


def median(one: Mapping[str, Any]) -> str:
    """Return the value with its unit, which no line breaks."""
    return f"{amount(one['value'])} {one['unit']}".replace(" ", "&nbsp;")


def seen(one: Mapping[str, Any]) -> str:
    """The value with its unit, and the range of the runs."""
    low, high = one["spread"]
    return median(one) + (f" ({amount(low)} to {amount(high)})" if low != high else "")


def amount(value: float) -> str:
    """A number with three digits that count, large ones in millions or thousands of millions."""
    for least, name in LARGE:
        if value >= least:
            return f"{digits(value / least)} {name}"
    return digits(value)


def compared(one: Mapping[str, Any]) -> str:
    """Return the ratio to the baseline in words; nothing where there is no other thing beside it."""
    ratio, unit, baseline = one["ratio"], one["unit"], one["baseline"]
    if baseline == "itself":
        return ""
    if unit.endswith("/s"):
        of = f"{digits(ratio)} × rate of {baseline}" if ratio >= 1 else f"{digits(1 / ratio)} × {baseline}"
    else:
        of = f"{digits(ratio)} × {baseline}"
    return of.replace(" ×", "&nbsp;×")


def verdict(one: Mapping[str, Any]) -> str:
    """Whether the target is met; nothing where there is none."""
    return "" if one["met"] is None else "met" if one["met"] else "**missed**"


def circumstances(some: Sequence[Mapping[str, Any]]) -> str:
    """When, on what and with which version figures were measured, a line for each run."""
    runs: dict[str, list[float]] = {}
    for one in some:
        machine = one["machine"]
        where = f"{machine['cpu']}, {machine['cores']} cores, Python {machine['python']}, cerify {one['version']}"
        runs.setdefault(f"Measured on {one['date']}: {where}", []).extend(
            [one["load"]] if one["load"] is not None else []
        )
    lines = (
        f"{run}" + (f", load {digits(min(loads))} to {digits(max(loads))}" if loads else "")
        for run, loads in runs.items()
    )
    return "".join(f"{line}.\n" for line in lines)


def _speed(figures: Sequence[Json]) -> str:
    """Return a table of events a second by query."""
    ours = {one["name"]: one for one in figures}
    used = {f"{name}: `{query}`": ours[key] for name, query in QUERIES.items() if (key := f"columns.{name}") in ours}
    rows = [[query, amount(one["value"]).replace(" ", "&nbsp;")] for query, one in used.items()]
    return table(["query", "events per second"], rows) + "\n" + circumstances(list(used.values()))
