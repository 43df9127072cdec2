"""The board of engines: a page with one row per feature and one column per engine, made from stored conformance runs.

    cerify conform --engine flink --json > run.jsonl
    python -m proofs_tests.tools.engine_board store run.jsonl --date 2026-11-22
    cerify identify --engine flink --json > profile.json
    python -m proofs_tests.tools.engine_board store-profile profile.json --date 2026-11-22
    cerify fuzz --engine flink --json > fuzz.jsonl
    python -m proofs_tests.tools.engine_board store-fuzz fuzz.jsonl --anew --date 2026-11-22
    python -m proofs_tests.tools.engine_board page

`store` writes docs/findings/results/ENGINE-VERSION.json: per feature how many cases there were, passed and were
skipped, how many got no answer since the engine crashed, hung or took too much memory (which cases they are is not
written down), and the outcome of each other case; and the answers to the cases by which engines are compared. Of a run
with --policy it writes ENGINE-VERSION-held.json: such a run stands among all runs, and is in no other table.
`store-profile` writes docs/findings/profiles/ENGINE-LANGUAGE.json, and `store-fuzz` adds the counts of a run of random
cases to docs/findings/fuzz.json, in the place of those of the same seed; with --anew in the place of the engine's runs
of earlier days with the same profile. `page` writes docs/findings/board.md from these and from
docs/findings/*/findings.json, where each finding lists the cases that it explains, the same as data in
docs/findings/board.json, and docs/guide/comparison.md.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cerify.conformance.cases import NAMED_SUITES, load
from cerify.conformance.prediction import AXES
from cerify.languages import LANGUAGES
from proofs_tests.tools.engine_comparison import COMPARED, answer_text, comparison, table

FINDINGS = Path(__file__).resolve().parents[2] / "docs" / "findings"
PAGE = FINDINGS / "board.md"
DATA = FINDINGS / "board.json"
FUZZ = FINDINGS / "fuzz.json"
COMPARISON = FINDINGS.parent / "guide" / "comparison.md"


@dataclass(frozen=True)
class Finding:
    """A difference between an engine and the meaning: a defect, or a choice of the engine.

    engine: the folder of its page; of: the engine by its whole name, where a page is about several.
    """

    engine: str
    id: str
    kind: str
    cases: frozenset[str]
    of: str = ""

    def explains(self, run: dict[str, Any]) -> bool:
        """Return whether the finding is one of the engine of a run."""
        return self.engine == folder_of(run) and self.of in ("", run["engine"]["name"])

    @property
    def page(self) -> str:
        """Return the page that describes the finding, seen from the board."""
        return f"{self.engine}/README.md"

    @property
    def link(self) -> str:
        """Return a link to its description, seen from the board."""
        return f"[{self.id}]({self.page}#{self.id})"


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
    detail = str(result.get("detail", "")).removeprefix("answered with an error: ")
    return result["outcome"] in ("crashed", "timeout", "memory") or detail.startswith("budget")


def stored_fuzz(lines: Iterable[str], date: str) -> dict[str, Any]:
    """The summary of `fuzz --json` in short: the engine, the date, what was drawn, and the counts of outcomes."""
    summary = json.loads(next(iter(lines)))["summary"]
    return {"date": date, **{key: summary[key] for key in ("tested", "profile", "seed", "cases", "agreed", "outcomes")}}


def fuzz_runs() -> list[dict[str, Any]]:
    """The stored runs of random cases, the oldest first."""
    return list(json.loads(FUZZ.read_text())) if FUZZ.exists() else []


def add_fuzz_run(runs: Iterable[dict[str, Any]], run: dict[str, Any], *, is_anew: bool = False) -> list[dict[str, Any]]:
    """Return the runs with this one in the place of that of the same engine, version, profile and seed.

    is_anew: also drop those with other seeds that are of an earlier day.
    """

    def is_replaced(one: dict[str, Any]) -> bool:
        same = ("tested", "profile") if is_anew and one["date"] < run["date"] else ("tested", "profile", "seed")
        return all(one[key] == run[key] for key in same)

    return [*(one for one in runs if not is_replaced(one)), run]


def findings(folder: Path = FINDINGS) -> list[Finding]:
    """The findings of all engines."""
    return [
        Finding(path.parent.name, one["id"], one["kind"], frozenset(one["cases"]), one.get("engine", ""))
        for path in sorted(folder.glob("*/findings.json"))
        for one in json.loads(path.read_text())
    ]


def counts(
    feature: dict[str, Any] | None, known: Sequence[Finding], before: dict[str, Any] | None = None
) -> dict[str, Any] | None:
    """Return the counts of an engine and a feature; None if the engine claims no case.

    claimed, passed and no_answer are numbers of cases; findings say how many of the others each explains, the most
    first, and unexplained how many none does. With the same feature of the version before, mended and broken.
    """
    if feature is None or (claimed := feature["cases"] - feature["skipped"]) == 0:
        return None
    failing = set(feature["not_passed"])
    explained = [
        {"id": finding.id, "kind": finding.kind, "page": finding.page, "cases": len(finding.cases & failing)}
        for finding in known
        if finding.cases & failing
    ]
    rest = failing.difference(*(finding.cases for finding in known))
    cell = {"claimed": claimed, "passed": feature["passed"], "no_answer": feature.get("no_answer", 0)}
    cell |= {"findings": sorted(explained, key=lambda one: -one["cases"]), "unexplained": len(rest)}
    if before is not None:
        failed = set(before["not_passed"])
        cell |= {"mended": len(failed - failing), "broken": len(failing - failed)}
    return cell


def board(runs: Sequence[dict[str, Any]], known: Sequence[Finding]) -> dict[str, Any]:
    """Return the board as data: the engines with their versions, and per language, feature and engine its `counts`.

    A feature without an engine, and in a language an engine without a feature, are left out.
    """
    engines, languages = {}, {}
    columns = newest(runs)
    for run in columns:
        name = run["engine"]["name"]
        versions = [one for one in sorted(runs, key=age) if one["engine"]["name"] == name and "held_to" not in one]
        listed = [
            {"version": one["engine"]["version"], "date": one["date"], **dict(zip(TOTALS, totals(one), strict=True))}
            for one in versions
        ]
        engines[name] = {"page": f"{folder_of(run)}/README.md", "versions": listed}
        before = versions[-2]["features"] if len(versions) > 1 else {}
        findings = [finding for finding in known if finding.explains(run)]
        for language, feature in features():
            cell = counts(run["features"].get(feature), findings, before.get(feature))
            languages.setdefault(language, {}).setdefault(feature, {})[name] = cell
    spoken = {
        language: {feature: by for feature, by in rows.items() if any(by.values())}
        for language, rows in languages.items()
    }
    return {
        "engines": engines,
        "languages": {
            language: {
                feature: {name: cell for name, cell in by.items() if any(one[name] for one in rows.values())}
                for feature, by in rows.items()
            }
            for language, rows in spoken.items()
            if rows
        },
    }


def features() -> list[tuple[str, str]]:
    """Return each feature of the suites with its language, in their order."""
    suites = (None, *(path.stem for path in sorted(NAMED_SUITES.glob("*.jsonl"))))
    return list(dict.fromkeys((case.language, case.feature) for name in suites for case in load(name)))


def cell_text(cell: dict[str, Any] | None) -> str:
    """Return the text of a cell: passed of claimed, the trend, and what explains the rest, each with its finding.

    Most findings are defects, so that only a choice is named as one.
    """
    if cell is None:
        return "–"
    kinds = {"defect": "", "choice": " choice"}
    rest = [f"[{one['cases']}{kinds[one['kind']]}]({one['page']}#{one['id']})" for one in cell["findings"]]
    rest += [f"{cell[name]} {text}" for name, text in (("unexplained",) * 2, ("no_answer", "no answer")) if cell[name]]
    trend = "".join(f" {sign}{cell[name]}" for name, sign in (("mended", "▲"), ("broken", "▼")) if cell.get(name))
    return f"{cell['passed']}/{cell['claimed']}{trend}" + ": " * bool(rest) + ", ".join(rest)


def profile_rows(identified: Iterable[dict[str, Any]]) -> list[list[str]]:
    """For each profile the axes whose value is not the definition's, and those without a value, with ? if some fit."""
    rows = []
    for profile in identified:
        axes = AXES[profile["language"]]
        defaults = {axis.base: axis.default for axis in axes.values()}
        defaults |= {name: axis.default for name, axis in axes.items()}
        departs, unfit = [], []
        for name, found in profile["axes"].items():
            if found["value"] is None:
                unfit.append(f"`{name}`" + "?" * ("alike" in found))
            elif found["value"] != defaults[name]:
                departs.append(f"`{name}={found['value']}` {found['explained']}/{found['answers']}")
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
    others = sorted({path.parent.name for path in FINDINGS.glob("*/README.md")} - {finding.engine for finding in known})
    found = [
        [
            f"[{engine}]({engine}/README.md)",
            *(", ".join(dict.fromkeys(f.link for f in known if (f.engine, f.kind) == (engine, k))) for k in KINDS),
        ]
        for engine in sorted({finding.engine for finding in known})
    ]
    together: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for run in sorted(fuzzed, key=lambda run: (run["tested"], run["date"], run["seed"])):
        together.setdefault((run["tested"], run["profile"]), []).append(run)
    drawn = [
        [tested, same[-1]["date"], profile, ", ".join(str(run["seed"]) for run in same)]
        + [str(sum(counts)) for counts in zip(*map(fuzz_counts, same), strict=True)]
        for (tested, profile), same in together.items()
    ]
    return (
        HEAD
        + "".join(feature_tables(board(runs, known)))
        + HEAT
        + FOUND.format(others=", ".join(f"[{name}]({name}/README.md)" for name in others))
        + table(["engine", "defects", "choices"], found)
        + PROFILED
        + table(["engine", "date", "language", "questions", "departs in", "has no value"], profile_rows(identified))
        + FUZZED
        + table(["engine", "last run", "profile", "seeds", "cases", "claimed", "agreed", "disagreed"], drawn)
        + HISTORY
        + table(["engine", "date", "held to", "passed/claimed/cases"], history(runs))
    )


def data(runs: Sequence[dict[str, Any]], known: Sequence[Finding]) -> str:
    """Return the board as the text of board.json, with a line for each feature of an engine."""
    text = json.dumps(board(runs, known), indent=1, ensure_ascii=False)
    return re.sub(r"\n {4,}|\n {3,}(?=[\]}])", " ", text) + "\n"


def history(runs: Sequence[dict[str, Any]]) -> Iterator[list[str]]:
    """Every run, by engine, choices and age, with how many cases fail no longer, or only since the version before."""
    before: tuple[Any, frozenset[str]] = (None, frozenset())
    for run in sorted(runs, key=lambda run: (run["engine"]["name"], run.get("held_to", ""), age(run))):
        same = run["engine"]["name"], run.get("held_to", "")
        failing = frozenset(case for feature in run["features"].values() for case in feature["not_passed"])
        trend = f" ▲{len(before[1] - failing)} ▼{len(failing - before[1])}" if before[0] == same else ""
        name = f"{same[0]} {run['engine']['version']}"
        passed, claimed, cases = totals(run)
        yield [name, run["date"], same[1], f"{passed}/{claimed}/{cases}{trend}"]
        before = same, failing


def feature_tables(board: dict[str, Any]) -> Iterator[str]:
    """Write a table for each language: its features, and the engines that claim one of them."""
    for language, rows in board["languages"].items():
        names = list(next(iter(rows.values())))
        last = {name: board["engines"][name]["versions"][-1] for name in names}
        heads = [f"{name} {last[name]['version']}" for name in names]
        cells = [[feature, *map(cell_text, by.values())] for feature, by in rows.items()]
        yield f"\n## {LANGUAGES[language].title}\n\n{table(['feature', *heads], cells)}"


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
        if f.explains(run)
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


TOTALS = ("passed", "claimed", "cases")
HEAD = """# The board of engines

Written by `python -m proofs_tests.tools.engine_board page` from stored runs of `cerify conform`.

These tables show which engine has which construct right. A cell has two numbers of cases: passed/claimed. A link says
how many of the failed cases a finding explains; the finding is a *defect* of the engine, or a *choice* if the link says
so. ▲2 means that two cases that failed in the previous version now pass; ▼2 means that two cases now fail that did
not fail before, or that the suite did not have then. A dash (–) means that the engine does not claim the feature; the
page of its adapter says why. In the book, tick the features that you need ([explained here](../reference/suite.md)),
and a line names the engines that have all of them right. [board.json](board.json) has the same data.
"""
HEAT = '\n<script src="../_static/board.js" defer></script>\n'  # colours, and filters above the tables
KINDS = ("defect", "choice")
FOUND = """
## Findings

Each finding has a section with the smallest query and stream, the expected answer and the engine's answer. For a
defect it also has the likely place in the engine's source.
Pages without such findings: {others}.

"""
PROFILED = """
## Profiles

This table shows what `cerify identify` found: the [axes](../guide/identify.md#axes) on which an engine departs from the
definition. Each has the value found, and how many of the answers that depend on the axis this value explains. The last
column lists the axes without a value: some answer contradicts each of their values, or, with a question mark, other
answers leave open which value it is.

"""
FUZZED = """
## Random cases

The runs of `cerify fuzz` are added up for each profile. The page of each engine explains its disagreements.

"""
HISTORY = """
## All runs

A run with `cerify conform --policy` (files in `docs/findings/policies`) takes some choices of the engine as right: the
cases that it still fails are defects. ▲14 means that 14 cases that failed in the previous version, with the same
choices, now pass.

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
    store_fuzz.add_argument("--anew", action="store_true", help="drop the engine's older runs with the same profile")
    commands.add_parser("page", help="write the page")
    options = parser.parse_args(arguments)
    if options.command != "page" and not re.fullmatch(r"\d{4}-\d\d-\d\d", options.date):
        parser.error("--date is a day, such as 2026-11-22")
    if options.command == "store-fuzz":
        run = stored_fuzz(options.run.read_text().splitlines(), options.date)
        runs = add_fuzz_run(fuzz_runs(), run, is_anew=options.anew)
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
        DATA.write_text(data(results(), findings()))
        COMPARISON.write_text(compared(results(), findings()))


def results(folder: Path = FINDINGS) -> list[dict[str, Any]]:
    """The stored runs."""
    return [json.loads(path.read_text()) for path in sorted((folder / "results").glob("*.json"))]


def profiles(folder: Path = FINDINGS) -> list[dict[str, Any]]:
    """The stored profiles."""
    return [json.loads(path.read_text()) for path in sorted((folder / "profiles").glob("*.json"))]


if __name__ == "__main__":
    main()
