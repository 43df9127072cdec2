"""The board of engines: a page with one row per feature and one column per engine, made from stored conformance runs.

    cerify conform --engine flink --json > run.jsonl
    python -m proofs_tests.tools.engine_board store run.jsonl --date 2026-11-22
    cerify identify --engine flink --json > profile.json
    python -m proofs_tests.tools.engine_board store-profile profile.json --date 2026-11-22
    cerify fuzz --engine flink --json > fuzz.jsonl
    python -m proofs_tests.tools.engine_board store-fuzz fuzz.jsonl --date 2026-11-22
    python -m proofs_tests.tools.engine_board page

`store` writes docs/findings/results/ENGINE-VERSION.json: per feature how many cases there were, passed and were
skipped, how many got no answer since the engine crashed, hung or took too much memory (which cases they are is not
written down), and the outcome of each other case; and the answers to the cases by which engines are compared. Of a run
with --policy it writes ENGINE-VERSION-held.json: such a run stands among all runs, and is in no other table.
`store-profile` writes docs/findings/profiles/ENGINE-LANGUAGE.json, and `store-fuzz` adds the counts of a run of random
cases to docs/findings/fuzz.json. `page` writes docs/findings/board.md from these and from
docs/findings/*/findings.json, where each finding lists the cases that it explains, and docs/guide/comparison.md.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerify.conformance.cases import NAMED_SUITES, load
from cerify.conformance.prediction import AXES
from cerify.languages import LANGUAGES
from proofs_tests.tools.engine_comparison import COMPARED, answer_text, comparison

FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings"
PAGE = FINDINGS / "board.md"
FUZZ = FINDINGS / "fuzz.json"
COMPARISON = FINDINGS.parent / "guide" / "comparison.md"


@dataclass(frozen=True)
class Finding:
    """A difference between an engine and the meaning: a defect, or a choice of the engine."""

    engine: str
    id: str
    kind: str
    cases: frozenset[str]

    @property
    def link(self) -> str:
        """Where the finding is described, seen from the board."""
        return f"[{self.id}]({self.engine}/README.md#{self.id})"


def stored(lines: Iterable[str], date: str) -> dict[str, Any]:
    """The run of `conform --json` in short: the engine, the date, and per feature the counts and what did not pass."""
    head, *results = [json.loads(line) for line in lines]
    features: dict[str, dict[str, Any]] = {}
    compared = (result for result in results if result["id"] in COMPARED and not is_without_answer(result))
    answers = {result["id"]: answer_text(result) for result in compared}
    for result in results:
        feature = features.setdefault(result["feature"], {"cases": 0, "passed": 0, "skipped": 0, "not_passed": {}})
        feature["cases"] += 1
        if result["outcome"] in ("passed", "skipped"):
            feature[result["outcome"]] += 1
        elif is_without_answer(result):
            feature["no_answer"] = feature.get("no_answer", 0) + 1
        else:
            feature["not_passed"][result["id"]] = result["outcome"]
    summary = head["summary"]
    held = {"held_to": summary["held_to"]} if summary.get("held_to") else {}
    return {"engine": summary["engine"], "date": date, **held, "features": features, "answers": answers}


def is_without_answer(result: dict[str, Any]) -> bool:
    """Return whether the engine crashed, hung, or said that a case was too much for it."""
    return result["outcome"] in ("crashed", "timeout", "memory") or str(result.get("detail", "")).startswith("budget")


def stored_fuzz(lines: Iterable[str], date: str) -> dict[str, Any]:
    """The summary of `fuzz --json` in short: the engine, the date, what was drawn, and the counts of outcomes."""
    summary = json.loads(next(iter(lines)))["summary"]
    return {"date": date, **{key: summary[key] for key in ("tested", "profile", "seed", "cases", "agreed", "outcomes")}}


def fuzz_runs() -> list[dict[str, Any]]:
    """The stored runs of random cases, the oldest first."""
    return list(json.loads(FUZZ.read_text())) if FUZZ.exists() else []


def findings(folder: Path = FINDINGS) -> list[Finding]:
    """The findings of all engines."""
    return [
        Finding(path.parent.name, one["id"], one["kind"], frozenset(one["cases"]))
        for path in sorted(folder.glob("*/findings.json"))
        for one in json.loads(path.read_text())
    ]


def cell(feature: dict[str, Any] | None, known: Sequence[Finding]) -> str:
    """The text of a cell: passed of claimed, and per finding how many cases it explains; the rest is unexplained."""
    if feature is None:
        return "not spoken"
    claimed = feature["cases"] - feature["skipped"]
    if claimed == 0:
        return "not claimed"
    parts = [f"{feature['passed']} of {claimed}"]
    explained: set[str] = set()
    for finding in known:
        if cases := finding.cases & set(feature["not_passed"]):
            parts.append(f"{len(cases)} by {finding.kind} {finding.link}")
            explained |= cases
    rest = Counter(outcome for case, outcome in feature["not_passed"].items() if case not in explained)
    parts.extend(f"{number} {outcome}, not explained" for outcome, number in sorted(rest.items()))
    if lost := feature.get("no_answer", 0):
        parts.append(f"{lost} without an answer")
    return "; ".join(parts)


def profile_rows(identified: Iterable[dict[str, Any]]) -> list[list[str]]:
    """For each profile the axes whose value is not the definition's, and those of which no value fits."""
    rows = []
    for profile in identified:
        axes = AXES[profile["language"]]
        defaults = {axis.base: axis.default for axis in axes.values()}
        defaults |= {name: axis.default for name, axis in axes.items()}
        departs, unfit = [], []
        for name, found in profile["axes"].items():
            if found["value"] is None:
                unfit.append(f"`{name}`")
            elif found["value"] != defaults[name]:
                departs.append(f"`{name}={found['value']}` {found['explained']} of {found['answers']}")
        head = [f"{profile['engine']['name']} {profile['engine']['version']}", profile["date"], profile["language"]]
        rows.append([*head, str(profile["questions"]), ", ".join(departs), ", ".join(unfit)])
    return rows


def page(
    runs: Sequence[dict[str, Any]],
    known: Sequence[Finding],
    fuzzed: Sequence[dict[str, Any]] = (),
    identified: Sequence[dict[str, Any]] = (),
) -> str:
    """The page, in Markdown: the newest run of each engine by feature, the findings, the profiles, and every run."""
    found = [
        [engine, *(", ".join(f.link for f in known if (f.engine, f.kind) == (engine, kind)) for kind in KINDS)]
        for engine in sorted({finding.engine for finding in known})
    ]
    drawn = [
        [run["tested"], run["date"], f"{run['profile']}, {run['seed']}", *map(str, fuzz_counts(run))]
        for run in sorted(fuzzed, key=lambda run: (run["tested"], run["date"]))
    ]
    return (
        HEAD
        + "".join(feature_tables(newest(runs), known))
        + FOUND
        + table(["engine", "defects", "choices"], found)
        + PROFILED
        + table(
            ["engine", "date", "language", "questions", "departs in", "no value explains"], profile_rows(identified)
        )
        + FUZZED
        + table(["engine", "date", "profile, seed", "cases", "claimed", "agreed", "disagreed"], drawn)
        + HISTORY
        + table(["engine", "date", "held to", "passed", "cases", "mended", "broken"], history(runs))
    )


def history(runs: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Every run, by engine, choices and age, with how many cases fail no longer, and since the version before."""
    before: tuple[Any, frozenset[str]] = (None, frozenset())
    for run in sorted(runs, key=lambda run: (run["engine"]["name"], run.get("held_to", ""), age(run))):
        same = run["engine"]["name"], run.get("held_to", "")
        failing = frozenset(case for feature in run["features"].values() for case in feature["not_passed"])
        trend = [str(len(before[1] - failing)), str(len(failing - before[1]))] if before[0] == same else ["", ""]
        name = f"{same[0]} {run['engine']['version']}"
        passed, claimed, cases = totals(run)
        yield [name, run["date"], same[1], f"{passed} of {claimed}", str(cases), *trend]
        before = same, failing


def feature_tables(runs: Sequence[dict[str, Any]], known: Sequence[Finding]) -> Iterator[str]:
    """A table for each language: its features, and the engines that claim one of them."""
    languages: dict[str, list[str]] = {}
    suites = (None, *(path.stem for path in sorted(NAMED_SUITES.glob("*.jsonl"))))
    for feature, language in {case.feature: case.language for name in suites for case in load(name)}.items():
        languages.setdefault(language, []).append(feature)
    for language, features in languages.items():
        cells = {
            run["engine"]["name"]: [
                cell(run["features"].get(name), [f for f in known if f.engine == folder_of(run)]) for name in features
            ]
            for run in runs
        }
        shown = [run for run in runs if set(cells[run["engine"]["name"]]) - UNCLAIMED]
        heads = [f"{run['engine']['name']} {run['engine']['version']}, {run['date']}" for run in shown]
        rows = zip(features, *(cells[run["engine"]["name"]] for run in shown), strict=True)
        if shown:
            text = table(["feature", *heads], (row for row in rows if set(row[1:]) - UNCLAIMED))
            yield f"\n## {LANGUAGES[language].title}\n\n{text}"


def newest(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The newest run of each engine that was held to the definition, by the engine's name."""
    found = {run["engine"]["name"]: run for run in sorted(runs, key=age) if "held_to" not in run}
    return [found[name] for name in sorted(found)]


def age(run: dict[str, Any]) -> tuple[str, list[tuple[int, str]]]:
    """What runs are sorted by: the day, and on the same day the version, whose numbers count as numbers."""
    parts = re.findall(r"\d+|\D+", run["engine"]["version"])
    return run["date"], [(int(part), "") if part.isdigit() else (-1, part) for part in parts]


def compared(runs: Sequence[dict[str, Any]], known: Sequence[Finding]) -> str:
    """The page that compares the engines by their answers; one that was not asked any of these cases is left out."""
    columns = [run for run in newest(runs) if run.get("answers") != {}]
    links = {
        (run["engine"]["name"], case): f"[{f.id}](../findings/{f.engine}/README.md#{f.id})"
        for run in columns
        for f in known
        if f.engine == folder_of(run)
        for case in f.cases
    }
    return comparison(columns, links, {case.id: case for case in load(None)})


def folder_of(run: dict[str, Any]) -> str:
    """The folder of an engine's findings: the first word of its name."""
    return str(run["engine"]["name"]).split("-")[0]


def totals(run: dict[str, Any]) -> tuple[int, int, int]:
    """How many cases passed, were claimed, and were there."""
    features = run["features"].values()
    cases, skipped = sum(f["cases"] for f in features), sum(f["skipped"] for f in features)
    return sum(f["passed"] for f in features), cases - skipped, cases


def fuzz_counts(run: dict[str, Any]) -> tuple[int, int, int, int]:
    """How many random cases there were, were claimed, agreed, and disagreed."""
    outcomes = run["outcomes"]
    return run["cases"], run["cases"] - outcomes["unsupported"], run["agreed"], outcomes["disagreed"]


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


UNCLAIMED = {"not spoken", "not claimed"}
HEAD = """# The board of engines

Made by `python -m proofs_tests.tools.engine_board page` from stored runs of `cerify conform`; no cell is written by
hand. A cell has how many of the claimed cases passed; then, for the others, the finding that explains them: a defect,
or a choice of the engine. What an engine does not claim is skipped by its adapter, whose page says why. Features that
no engine claims are left out, and of a language the engines that claim none of its features.

Findings: [bobocep](bobocep/README.md), [Calcite](calcite/README.md), [ClickHouse](clickhouse/README.md),
[CORE](core/README.md), [epigrep](epigrep/README.md), [EQL for Python](eql/README.md), [Esper](esper/README.md),
[Flink CEP](flink/README.md), [GoogleSQL](googlesql/README.md), [OpenCEP](opencep/README.md),
[pandas-match-recognize](pandas/README.md), [pycer](pycer/README.md), [rustevex](rustevex/README.md),
[SASE](sase/README.md), [Siddhi](siddhi/README.md), [stix2-matcher](stix2/README.md), [Trino](trino/README.md),
[Varpulis](varpulis/README.md).
"""
KINDS = ("defect", "choice")
FOUND = """
## Findings

Each has a section with the smallest query and stream, what is expected, what the engine reports, and for a defect the
likely place in its source; a program that uses the engine alone shows it.

"""
PROFILED = """
## Profiles

What `cerify identify` found: the [axes](../guide/identify.md#axes) in which the answers of an engine depart from the
definition, with how many of the answers that bear on the axis the value explains, and those of which no value explains
seven in ten. All other axes that the engine could be asked about are the definition's.

"""
FUZZED = """
## Random cases

Runs of `cerify fuzz`; the page of each engine says what its disagreements are.

"""
HISTORY = """
## All runs

A run that is held to choices of its engine (`cerify conform --policy`, files in `docs/findings/policies`) takes
them as right: what it still fails are defects. *Mended* is how many cases failed in the version before, held to the
same, and fail no longer, *broken* how many fail since.

"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command that the arguments name."""
    parser = argparse.ArgumentParser(prog="python -m proofs_tests.tools.engine_board")
    commands = parser.add_subparsers(dest="command", required=True)
    store = commands.add_parser("store", help="store a run of cerify conform --json")
    store_fuzz = commands.add_parser("store-fuzz", help="add the counts of a run of cerify fuzz --json")
    store_profile = commands.add_parser("store-profile", help="store a profile of cerify identify --json")
    for command in (store, store_fuzz, store_profile):
        command.add_argument("run", type=Path)
        command.add_argument("--date", required=True, help="the day of the run, such as 2026-11-22")
    commands.add_parser("page", help="write the page")
    options = parser.parse_args(arguments)
    if options.command != "page" and not re.fullmatch(r"\d{4}-\d\d-\d\d", options.date):
        parser.error("--date is a day, such as 2026-11-22")
    if options.command == "store-fuzz":
        runs = [*fuzz_runs(), stored_fuzz(options.run.read_text().splitlines(), options.date)]
        FUZZ.write_text(json.dumps(runs, indent=1) + "\n")
    elif options.command == "store-profile":
        profile = {"date": options.date} | json.loads(options.run.read_text())
        path = FINDINGS / "profiles" / f"{profile['engine']['name']}-{profile['language']}.json"
        path.write_text(json.dumps(profile, indent=1) + "\n")
    elif options.command == "store":
        run = stored(options.run.read_text().splitlines(), options.date)
        held = "-held" if "held_to" in run else ""
        path = FINDINGS / "results" / f"{run['engine']['name']}-{run['engine']['version']}{held}.json"
        path.write_text(json.dumps(run, indent=1) + "\n")
    else:
        PAGE.write_text(page(results(), findings(), fuzz_runs(), profiles()))
        COMPARISON.write_text(compared(results(), findings()))


def results(folder: Path = FINDINGS) -> list[dict[str, Any]]:
    """The stored runs."""
    return [json.loads(path.read_text()) for path in sorted((folder / "results").glob("*.json"))]


def profiles(folder: Path = FINDINGS) -> list[dict[str, Any]]:
    """The stored profiles."""
    return [json.loads(path.read_text()) for path in sorted((folder / "profiles").glob("*.json"))]


if __name__ == "__main__":
    main()
