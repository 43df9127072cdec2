"""The table of mutants: its objects, the mutants that are shown to be equivalent, and its page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from proofs_tests.mutation.mutants import Key, Mutant
from proofs_tests.mutation.run import Outcome
from proofs_tests.mutation.targets import NUMBERS, group_of

EQUIVALENT = Path(__file__).parent / "equivalent.json"
KILLERS = Path(__file__).parent / "killers.jsonl"
Row: TypeAlias = dict[str, Any]


def equivalents() -> dict[Key, str]:
    """Why a mutant is equivalent to the module, by its key."""
    entries = json.loads(EQUIVALENT.read_text(encoding="utf-8"))
    return {(e["module"], e["function"], e["change"], e.get("number", 0)): e["reason"] for e in entries}


def killers() -> dict[Key, str]:
    """The test that killed a mutant when the table was made last, by its key."""
    if not KILLERS.exists():
        return {}
    entries = map(json.loads, KILLERS.read_text(encoding="utf-8").splitlines())
    return {(module, function, change, number): by for module, function, change, number, by in entries}


def write_killers(rows: Iterable[Row]) -> None:
    """Write which test has killed which mutant; `killers` reads it."""
    killed = sorted((*key_of(row), row["by"]) for row in rows if row["status"] == "killed")
    KILLERS.write_text("".join(json.dumps(entry, ensure_ascii=False) + "\n" for entry in killed), encoding="utf-8")


def key_of(row: Row) -> Key:
    """The key of the mutant in a row."""
    return row["module"], row["function"], row["change"], row["number"]


def as_object(outcome: Outcome, reasons: Mapping[Key, str]) -> Row:
    """A mutant as an object of JSON: `by` is the test that killed it, or the reason why it is equivalent."""
    mutant, status, by = outcome.mutant, "killed", outcome.by
    if by is None:
        by = reasons.get(mutant.key)
        status = "survived" if by is None else "equivalent"
    return {**_named(mutant), "status": status, "by": by, "seconds": round(sum(outcome.seconds), 1)}


def _named(mutant: Mutant) -> Row:
    return {
        "module": mutant.module,
        "group": group_of(mutant.module),
        "function": mutant.function,
        "line": mutant.line,
        "kind": mutant.kind,
        "change": mutant.change,
        "number": mutant.number,
    }


# --- the page ---------------------------------------------------------------------------------------------------------

HEAD = """# Mutants

A mutant is one of our modules with one small change: a comparison swapped, a bound moved by one, a condition negated,
an operand or a statement left out, an entry deleted from a table. Each mutant is run first against the test that killed
it when this table was made last (`proofs_tests/mutation/killers.jsonl`, which is written with the page). One that
passes it, or that is new, is run against those tests of its module that pass through the changed function, as a run
under coverage.py measures it, in order, until one fails; then it is *killed*, by that test. A table without one of its
operators is first run against mypy, which is one of the tests. One that passes all has *survived*, and a test is
missing. One is *equivalent*, and is not run, if `equivalent.json` has the reason why the change makes no difference to
any answer. Tests that take four times as long as they do without the mutant, and ten seconds more, kill the mutant too;
a test that fails without the mutant counts for nothing.

The changes are made in the syntax tree, so that they do not depend on lines or layout. Of each module of a definition
{definition} mutants are taken, of each that a definition shares with what is judged by it {shared}, of each other
{other}; which ones is decided by a hash of the change. With `--operators` all tables that have an operator of a
language in them are taken, each without one of its entries, and with `--most N` N of these. All tests are of
those that `pytest` runs by default.

```sh
python -m proofs_tests.mutation --json mutants.jsonl     # the sample; two processes
python -m proofs_tests.mutation --operators --json operators.jsonl
python -m proofs_tests.mutation --of mutants.jsonl --of operators.jsonl --page docs/theory/mutation.md   # this page
python -m proofs_tests.mutation semantics/cel --jobs 1                                # modules by prefix
python -m proofs_tests.mutation --shared                                              # what two halves share
python -m proofs_tests.mutation --again mutants.jsonl --measured build/measured       # what was not killed before
python -m proofs_tests.mutation automata/minimize.py --test unit/automata/test_dfa.py # whether a test kills them
```

The file has one object per mutant: `module`, `group`, `function`, `line`, `kind`, `change`, `number` (among the same
changes of the function), `status`, `by` (the test that killed it, or the reason), `seconds` of processor time. The
figures below are written by the command.
"""
GROUPS = {
    "definition": "Modules of the definitions",
    "shared": "Modules that a definition shares with automata or deciders",
    "other": "Other modules",
}
STATUSES = ("killed", "equivalent", "survived")


def page(rows: Sequence[Row], left: Collection[Mutant] = ()) -> str:
    """The page docs/theory/mutation.md; left are mutants of the sample that are not in these rows."""
    lines = [HEAD.format(**NUMBERS)]
    made = {group: title for group, title in GROUPS.items() if any(row["group"] == group for row in rows)}
    lines += _counted("", {title: [r for r in rows if r["group"] == group] for group, title in made.items()})
    lines += [
        f"\nNot in this run: {title[0].lower()}{title[1:]}." for group, title in GROUPS.items() if group not in made
    ]
    if left:
        names = ", ".join(f"`{module}`" for module in sorted({mutant.module for mutant in left}))
        lines.append(f"\nNot run yet: {len(left)} mutants of modules that are new or have changed, {names}.")
    deleted = sum(row["kind"] == "operator deleted" for row in rows)
    lines += ["", f"Of these, {deleted} are tables without one of their operators.", ""]
    for group, title in made.items():
        own = [row for row in rows if row["group"] == group]
        lines += [f"## {title}", ""]
        lines += _counted("module", {f"`{m}`": [r for r in own if r["module"] == m] for m in _modules(own)})
        lines.append("")
    lines += ["## Faults in what is shared", "", "Each is found by a test whose expected answer is written down.", ""]
    lines += _listed([r for r in rows if r["group"] == "shared" and r["status"] == "killed"], "found by")
    for status, title, column in (
        ("survived", "Survivors", ""),
        ("equivalent", "Equivalent mutants", "why no answer changes"),
    ):
        own = [row for row in rows if row["status"] == status]
        lines += ["", f"## {title}", "", *(_listed(own, column) if own else ["None."])]
    return "\n".join(lines) + "\n"


def _modules(rows: Iterable[Row]) -> list[str]:
    return sorted({row["module"] for row in rows})


def _counted(head: str, groups: Mapping[str, Sequence[Row]]) -> list[str]:
    """A table of how many mutants of each group have which status."""
    lines = [f"| {head or 'what'} | mutants | {' | '.join(STATUSES)} |", f"|---|{'---:|' * (len(STATUSES) + 1)}"]
    for title, rows in groups.items():
        counts = Counter(row["status"] for row in rows)
        lines.append(f"| {title} | {len(rows)} | {' | '.join(str(counts[status]) for status in STATUSES)} |")
    return lines


def _listed(rows: Sequence[Row], column: str) -> list[str]:
    """A table of mutants, with what `by` says if the column has a name."""
    lines = [f"| module | function | change |{f' {column} |' * bool(column)}", f"|---|---|---|{'---|' * bool(column)}"]
    for row in rows:
        cells = [f"`{row['module']}`", f"`{row['function']}`" if row["function"] else "", _code(row["change"])]
        if column:
            cells.append(_code(row["by"]) if row["status"] == "killed" else row["by"])
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _code(text: str) -> str:
    """Text as code in a cell of a table."""
    short = text.removeprefix("proofs_tests/").replace("|", "\\|")
    return f"`` {short} ``" if "`" in short else f"`{short}`"
