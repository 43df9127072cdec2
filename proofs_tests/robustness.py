"""What long campaigns against hostile input and faults have seen: `python -m proofs_tests.robustness` writes the page.

A campaign that is called with --store adds its figures to docs/findings/robustness.json; the page is made from these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from proofs_tests.tools.engine_board import table

FINDINGS = Path(__file__).parent.parent / "docs" / "findings"
STORED = FINDINGS / "robustness.json"
PAGE = FINDINGS / "robustness.md"
ADDED = ("runs", "inputs", "seconds", "crashes")
"""Figures of the fuzzers that are added up over the runs of a target."""
FAULTS = ("killed", "disk full", "read-only", "clock jumps", "slow engine", "two at once")
OPENING = """\
# What was tried to break it

Made by `python -m proofs_tests.robustness` from what the commands below have stored when they were called with
`--store`; no cell is written by hand. [Untrusted input](../guide/threats.md) says what each command does.
Times are those of the processor. A figure is of the day that its line names.
"""

Row = Mapping[str, Any]


def stored(path: Path | None = None) -> dict[str, dict[str, Any]]:
    """The figures: of each campaign, by the name of its parts."""
    path = path or STORED
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def store(campaign: str, part: str, figures: Row, path: Path | None = None) -> None:
    """Put the figures of a part of a campaign in the place of those from before; those of fuzzers are added."""
    path = path or STORED
    found = stored(path)
    before = found.setdefault(campaign, {}).get(part, {})
    new = dict(figures) | {"date": datetime.now(UTC).date().isoformat()}
    if campaign == "fuzz":
        new |= {name: new[name] + before.get(name, 0) for name in ADDED}
        new["memory"] = max(new["memory"], before.get("memory", 0))
    if campaign == "faults":
        new = before | new
    found[campaign][part] = new
    path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def dated(command: str, header: Sequence[str], found: Mapping[str, Row], cells: Callable[[str, Row], list[str]]) -> str:
    """Return a campaign's command, its date where all rows have the same, and a table with a row for each part."""
    dates = {r["date"] for r in found.values()}
    if len(dates) == 1:
        return f"{command}, on {dates.pop()}\n\n{table(header, (cells(*one) for one in found.items()))}"
    rows = ([*cells(name, r), r["date"]] for name, r in found.items())
    return f"{command}\n\n{table([*header, 'date'], rows)}"


def outcomes_of(row: Row) -> str:
    """How many had which outcome."""
    return "; ".join(f"{n:,} {what}" for what, n in row["outcomes"].items())


def fuzz_section(found: Mapping[str, Row]) -> str:
    """What the fuzzers have tried."""

    def row(name: str, r: Row) -> list[str]:
        minutes, memory = f"{r['seconds'] / 60:.1f}", f"{r['memory']:,}"
        return [f"`{name}`", f"{r['inputs']:,}", minutes, memory, str(r["crashes"])]

    total = {name: sum(r[name] for r in found.values()) for name in ADDED}
    text = (
        "A crash is an error that is not typed, more than twenty seconds, or more than three gigabytes; each is\n"
        f"mended, and its input is in the corpus, which the tests read. In all: {total['inputs']:,} inputs, "
        f"{total['seconds'] / 60:.0f} minutes, {total['crashes']} crashes.\n"
    )
    header = ["target", "inputs", "minutes", "MiB at most", "crashes"]
    return f"{text}\n{dated('`python -m proofs_tests.fuzz TARGET --minutes N --store`', header, found, row)}"


def short_fault(outcome: str) -> str:
    """Return what came of a fault without the words that stand above the table."""
    outcome = re.sub(r"^killed 50 times, (\d+) complete runs?, all with the same result$", r"\1", outcome)
    return re.sub(r" calls with little room refused, all others the same$", "", outcome)


def faults_section(found: Mapping[str, Row]) -> str:
    """What came of each fault."""
    header = ["work", "killed", "no room", "may not write", "clock jumps", "slow engine", "two at once"]

    def row(name: str, r: Row) -> list[str]:
        return [name, *(short_fault(str(r.get(fault, ""))) for fault in FAULTS)]

    text = (
        "Each work was killed 50 times. *Killed* counts the killed runs that ended with a complete result; all had "
        "the same one.\n"
        "*No room* says how many calls with little room on the disk were refused: all others gave the same.\n"
    )
    return f"{text}\n" + dated("`python -m proofs_tests.faults WORK --kills 50 --store`", header, found, row)


def tampered_section(found: Mapping[str, Row]) -> str:
    """What came of texts that were changed."""

    def row(name: str, r: Row) -> list[str]:
        return [name, f"{r['edits']:,}", outcomes_of(r), str(r["seed"]), f"{r['seconds']:,.0f}"]

    header = ["what", "edits", "outcomes", "seed", "seconds"]
    return dated("`python -m proofs_tests.campaigns.tampered KIND --edits 100000 --store`", header, found, row)


def budgets_section(found: Mapping[str, Row]) -> str:
    """What came of queries that blow up."""

    def row(name: str, r: Row) -> list[str]:
        return [name, *(str(r[c]) for c in ("cases", "wrong", "budget", "slowest")), f"{r['memory']:,}"]

    header = ["language", "cases", "wrong", "seconds of the budget", "seconds at most", "MiB at most"]
    return dated("`python -m proofs_tests.campaigns.budgets LANGUAGE --store`", header, found, row)


def values_section(found: Mapping[str, Row], campaign: str = "values") -> str:
    """What came of values that are easy to get wrong."""

    def row(name: str, r: Row) -> list[str]:
        return [name, f"{r['cases']:,}", outcomes_of(r), str(r["seed"])]

    command = f"`python -m proofs_tests.campaigns.{campaign} LANGUAGE --cases N --store`"
    return dated(command, ["language", "cases", "answers", "seed"], found, row)


def soak_section(found: Mapping[str, Row]) -> str:
    """What one process has done, with its memory."""

    def row(name: str, r: Row) -> list[str]:
        memory = [f"{r[part]:,}" for part in ("early", "late", "most")]
        return [name, f"{r['done']:,}", f"{r['found']:,} {r['what']}", f"{r['seconds']:,}", *memory]

    header = ["what", "done", "found", "seconds", "MiB, second tenth", "MiB, last tenth", "MiB at most"]
    rows = dated("`python -m proofs_tests.soak --store --write docs/guide/plots`", header, found, row)
    plots = "".join(
        f"\n![Resident memory along the work: {name}](../guide/plots/soak-{name.replace(' ', '-')}.svg)\n"
        for name in found
    )
    return rows + plots


def artefacts_section(found: Mapping[str, Row]) -> str:
    """Which Pythons and seeds have made the same bytes."""

    def row(name: str, r: Row) -> list[str]:
        return [name, ", ".join(map(str, r["seeds"])), str(r["same"]), str(r["other"])]

    header = ["Python", "seeds of its hashing", "artefacts that are the same", "that differ"]
    return dated("`python -m proofs_tests.artefacts PYTHON ... --store`", header, found, row)


SECTIONS = {
    "fuzz": ("Changed inputs", fuzz_section),
    "tampered": ("Certificates, states, cases and links that were changed", tampered_section),
    "faults": ("Long work under faults", faults_section),
    "budgets": ("Queries that blow up", budgets_section),
    "values": ("Values that are easy to get wrong", values_section),
    "verdicts": ("Verdicts about such values", partial(values_section, campaign="verdicts")),
    "soak": ("One process for a long time", soak_section),
    "artefacts": ("The same bytes", artefacts_section),
}


def page(found: Mapping[str, Mapping[str, Row]]) -> str:
    """The page, in Markdown."""
    sections = [f"## {title}\n\n{make(found[name])}" for name, (title, make) in SECTIONS.items() if name in found]
    return "\n".join([OPENING, *sections])


if __name__ == "__main__":
    PAGE.write_text(page(stored()), encoding="utf-8")
