"""Run experiments on queries and evaluators: apply measures to the cases of a generator, and return a table.

The table has a row for each case. Its files record the seed, version, commit and machine.
"""

from __future__ import annotations

import csv
import json
import platform
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import cerify
from cerify.automata.cea.model import CEA, io_determinize, minimized
from cerify.automata.evaluator import Evaluator
from cerify.equivalence.generate import cel as generate
from cerify.languages import DEFAULT, LanguageName, language_of
from cerify.languages.language import EvaluatorName, Options
from cerify.plan import Want, plan
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed, Unsupported
from cerify.semantics.events import Stream

if TYPE_CHECKING:
    import pyarrow as pa

Cell: TypeAlias = str | int | float | None
Row: TypeAlias = dict[str, Cell]

RUNS = 5  # timed runs of an evaluator


@dataclass(frozen=True)
class ExperimentCase:
    """A query, its stream, and the parameters from which the generator made them."""

    parameters: Mapping[str, Cell]
    query: Any
    stream: Stream


Generator: TypeAlias = Callable[[Random], Iterable[ExperimentCase]]
"""A function that yields the cases of an experiment; all randomness comes from its argument."""

Measure: TypeAlias = Callable[[ExperimentCase, Budget], Mapping[str, Cell]]
"""A function that returns columns of a case, by name. It may raise Unsupported and BudgetExceeded."""

PLOT_METADATA: Mapping[str, Callable[[str], dict[str, str | None]]] = {
    ".svg": lambda text: {"Date": None, "Description": text},
    ".png": lambda text: {"Description": text},
    ".pdf": lambda text: {"Subject": text},
}
"""For each file name ending of a plot, a function from a text to the file's metadata."""


# --- generators -------------------------------------------------------------------------------------------------------


def random_formulas(sizes: Iterable[int], each: int, profile: str = "everything", events: int = 0) -> Generator:
    """Yield random formulas of CEL, `each` for each size in nodes, each with a random stream of `events` events.

    profile: one of cerify.equivalence.generate.cel.PROFILES. Raises IllFormed for another profile.
    """
    if profile not in generate.PROFILES:
        raise IllFormed(f"there is no profile {profile!r}; use one of {', '.join(generate.PROFILES)}")
    made_of = generate.PROFILES[profile]

    def generator(rng: Random) -> Iterator[ExperimentCase]:
        for size in sizes:
            for _ in range(each):
                phi = generate.formula(rng, made_of, size)
                yield ExperimentCase({"size": size}, phi, generate.stream(rng, made_of, events, phi))

    return generator


def use_queries(queries: Mapping[str, Any], stream: Stream, language: LanguageName | str = DEFAULT) -> Generator:
    """Return the queries, texts or syntax trees, by name, each on the same stream. Raises ParseError, IllFormed."""
    trees = {
        name: cerify.parse(query, language) if isinstance(query, str) else query for name, query in queries.items()
    }
    return lambda rng: [ExperimentCase({"name": name}, tree, stream) for name, tree in trees.items()]


# --- measures ---------------------------------------------------------------------------------------------------------


def sizes(case: ExperimentCase, budget: Budget) -> Row:
    """Return the number of states of the query's automaton, before and after determinization and minimization.

    states: the compiled automaton. deterministic: the automaton after I/O-determinization (tods21, Proposition 5.5).
    minimal: the smallest I/O-deterministic automaton (cep17, Proposition 1). An event expression has only `minimal`,
    the states of its smallest deterministic automaton; the others are None.
    """
    A = language_of(case.query).explanations.automaton(case.query, case.stream.schema, budget)
    if not isinstance(A, CEA):
        return {"states": None, "deterministic": None, "minimal": len(A.following)}
    return {
        "states": A.states,
        "deterministic": io_determinize(A, budget).states,
        "minimal": minimized(A, budget).states,
    }


def evaluation(evaluator: EvaluatorName | str) -> Measure:
    """Return a measure of one evaluator on the stream, in columns that begin with its name.

    matches: their number. nodes and visited: nodes made and states visited (see Evaluator.counters). update: seconds
    of processor time per event to read the stream without listing a match. delay: seconds of processor time per match
    to list all matches, which is the additional time of a run that lists them. The first run, in which code is compiled
    and tables are built, is not timed; each time is the median of five runs.
    """

    def measure(case: ExperimentCase, budget: Budget) -> Row:
        want = Want(Options("matches", budget), evaluator, batches=True)
        made = plan(language_of(case.query), case.query, case.stream.schema, want)
        first = made.batches
        if first is None:
            raise next(iter(made.why_not.values()))

        def count_matches(machine: Evaluator, listing: bool) -> int:
            return len(machine.push(case.stream, None if listing else 0)) + len(machine.finish() if listing else ())

        def run_seconds(listing: bool) -> float:
            machine = first.fresh()
            start = time.process_time()
            count_matches(machine, listing)
            return time.process_time() - start

        matches, counters = count_matches(first, True), first.counters
        # The time to list matches cannot be measured alone, as they are made while the stream is read.
        reading, whole = (median(run_seconds(listing) for _ in range(RUNS)) for listing in (False, True))
        return {
            f"{evaluator}.matches": matches,
            f"{evaluator}.nodes": counters.nodes,
            f"{evaluator}.visited": counters.states,
            f"{evaluator}.update": reading / len(case.stream) if len(case.stream) else None,
            # The two medians are of different runs, so their difference may be a little below 0.
            f"{evaluator}.delay": max(0.0, whole - reading) / matches if matches else None,
        }

    return measure


# --- experiments ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Experiment:
    """The rows of an experiment, and their provenance.

    A row has the parameters of the case, its query as text, the columns of the measures, and `problem`: why a measure
    has no value, or None. Every row has all columns; a column without a value is None.
    """

    rows: Sequence[Row]
    provenance: Mapping[str, Cell]

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns, in the order of their first use."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))

    def to_arrow(self) -> pa.Table:
        """Return the rows as a table, whose metadata has the provenance as JSON under the key "cerify"."""
        import pyarrow as pa

        table = pa.table({name: [row.get(name) for row in self.rows] for name in self.columns})
        return table.replace_schema_metadata({"cerify": json.dumps(dict(self.provenance))})

    def to_pandas(self) -> Any:
        """Return the rows as a pandas data frame; its `attrs` has the provenance of the experiment."""
        frame = self.to_arrow().to_pandas()
        frame.attrs.update(self.provenance)
        return frame

    def write(self, path: str | Path) -> None:
        """Write the table to a .parquet file, or to a .csv file with the provenance in lines that begin with #.

        Raises IllFormed for another ending, and OSError.
        """
        path = Path(path)
        if path.suffix == ".parquet":
            import pyarrow.parquet as pq

            pq.write_table(self.to_arrow(), path)
        elif path.suffix == ".csv":
            with path.open("w", encoding="utf-8", newline="") as file:
                file.writelines(f"# {key}: {value}\n" for key, value in self.provenance.items())
                writer = csv.DictWriter(file, self.columns)
                writer.writeheader()
                writer.writerows(self.rows)
        else:
            raise IllFormed(f"{path}: the file of an experiment must end in .csv or .parquet")

    def plot(
        self,
        x: str,
        ys: str | Sequence[str],
        path: str | Path,
        *,
        by: str | None = None,
        labels: Mapping[str, str] | None = None,
        log: bool | Literal["x", "y", "both"] = False,
    ) -> None:
        """Plot columns against the column x, to a file in the format of its ending (.svg, .pdf, .png).

          found.plot("size", "update", "update.pdf", by="profile", labels={"update": "update (s/event)"}, log="both")

        Each row is a point; a line goes through the medians. The metadata of the file has the provenance.

        ys: one column or several, a line each.
        by: a column; each of its values gets lines of its own.
        labels: texts for the axes and the legend in place of the names of columns, with their units.
        log: True or "y" for a logarithmic vertical axis, "x" for a horizontal one, "both" for both.

        Raises IllFormed for an unknown column, and Unsupported where matplotlib is not installed.
        """
        ys = [ys] if isinstance(ys, str) else ys
        named = labels or {}
        if unknown := {x, *ys, *named, *([] if by is None else [by])} - set(self.columns):
            raise IllFormed(
                f"there is no column {', '.join(sorted(unknown))}; the columns are {', '.join(self.columns)}"
            )
        try:
            import matplotlib
        except ImportError:
            raise Unsupported("plots need matplotlib: pip install 'cerify[research]'") from None
        matplotlib.use("agg")
        # The ids in an SVG are random otherwise, and equal plots would be different files.
        matplotlib.rcParams["svg.hashsalt"] = "cerify"
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(figsize=(6, 4), layout="constrained")
        groups = [None] if by is None else list(dict.fromkeys(row.get(by) for row in self.rows))
        for y, group in product(ys, groups):
            points: dict[Any, list[Any]] = defaultdict(list)
            for row in self.rows:
                if row.get(x) is not None and row.get(y) is not None and (by is None or row.get(by) == group):
                    points[row[x]].append(row[y])
            at = sorted(points)
            of_group = [] if by is None else [f"{named.get(by, by)} {group}"]
            label = ", ".join([*([named.get(y, y)] if len(ys) > 1 or not of_group else []), *of_group])
            (line,) = axes.plot(at, [median(points[one]) for one in at], label=label)
            spread = [one for one in at for _ in points[one]]
            values = [value for one in at for value in points[one]]
            axes.scatter(spread, values, s=6, alpha=0.3, color=line.get_color())
        axes.set_xlabel(named.get(x, x))
        axes.set_ylabel(", ".join(named.get(y, y) for y in ys))
        axes.set_xscale("log" if log in ("x", "both") else "linear")
        axes.set_yscale("log" if log in (True, "y", "both") else "linear")
        if log not in ("x", "both") and all(isinstance(row.get(x), int | None) for row in self.rows):
            axes.xaxis.get_major_locator().set_params(integer=True)
        if len(axes.lines) > 4:  # beside the curves, since so many names would cover them
            axes.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
        else:
            axes.legend()
        about = ", ".join(f"{name} {value}" for name, value in self.provenance.items())
        metadata = PLOT_METADATA.get(Path(path).suffix)
        figure.savefig(path, metadata=None if metadata is None else metadata(about))
        pyplot.close(figure)


def experiment(
    generator: Generator, measures: Sequence[Measure], seed: int = 0, *, budget: Budget = Budget()
) -> Experiment:
    """Run the measures on all cases, and return the table. The same seed makes the same cases.

    If a measure raises Unsupported or BudgetExceeded, its columns are empty, and the row's problem says why.
    """
    rows: list[Row] = []
    for case in generator(Random(seed)):
        row: Row = {**case.parameters, "query": cerify.show(case.query)}
        problems = []
        for measure in measures:
            try:
                row |= measure(case, budget)
            except (Unsupported, BudgetExceeded) as error:
                problems.append(error.message)
        rows.append({**row, "problem": "; ".join(problems) or None})
    names = dict.fromkeys(name for row in rows for name in row)
    return Experiment([{name: row.get(name) for name in names} for row in rows], _provenance(seed))


def _provenance(seed: int) -> dict[str, Cell]:
    return {
        "seed": seed,
        "cerify": cerify.__version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "machine": f"{platform.system()} {platform.machine()}",
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _commit() -> str | None:
    """Return the commit of the checkout that cerify is run from; None for an installed package."""
    folder = Path(__file__).resolve().parent.parent
    if not (folder / ".git").exists():
        return None
    try:
        ran = subprocess.run(["git", "-C", folder, "rev-parse", "HEAD"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return ran.stdout.strip()
