"""Says which rules of a folder changed their meaning since a commit, and which converters change that of these rules.

RULES       the folder of rules in Sigma or EQL; "rules" if not set
BASE        the commit to compare with; "HEAD^" if not set
CONVERTERS  engines of cerify conform, such as "sigma-sqlite sigma-eql"; none if not set
POLICY      a profile with readings in which a converter may differ, or nothing
EVERY       "true" to look at all rules with the converters, not only at those that changed or are new
REPORT      the folder to write to: summary.md, a log of each changed rule, a page and a run of each converter

Exit status: 1 if a converter changes the meaning of a rule, or answers with an error; 2 if a rule could not be read.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections import Counter
from io import BytesIO
from pathlib import Path
from typing import Any

OUTCOMES = {"passed": "as meant", "failed": "another meaning", "skipped": "refused"}


def run(*command: str) -> tuple[int, str]:
    """Return the status of a command, and what it prints."""
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return done.returncode, done.stdout


def rules_at(commit: str, rules: str, folder: Path) -> Path:
    """Return a folder with the rules of a commit; an empty one if there were none."""
    archive = subprocess.run(["git", "archive", commit, rules], stdout=subprocess.PIPE, check=False)
    if archive.returncode == 0:
        with tarfile.open(fileobj=BytesIO(archive.stdout)) as packed:
            packed.extractall(folder, filter="data")
    found = folder / rules
    found.mkdir(parents=True, exist_ok=True)
    return found


def judged(converter: str, rules: Path, report: Path, policy: str) -> tuple[dict[str, Counter[str]], dict[str, str]]:
    """Return how many test logs of each rule a converter gives which outcome, and the readings that are the cause.

    There are none where it does not start.
    """
    options = ["--language", "sigma", "--suite", str(rules), "--html", str(report / f"{converter}.html")]
    options += ["--policy", policy] if policy else []
    _, lines = run("cerify", "conform", "--engine", converter, *options, "--json")
    (report / f"{converter}.jsonl").write_text(lines, encoding="utf-8")
    found: dict[str, Counter[str]] = {}
    causes: dict[str, dict[str, None]] = {}
    for line in map(json.loads, lines.splitlines()):
        if "id" in line:
            found.setdefault(line["id"].rpartition(":")[0], Counter())[line["outcome"]] += 1
        for defect in line.get("summary", {}).get("defects", ()):
            named = {f"{one['axis']}={one['value']}": None for one in defect["causes"]}
            for case in defect["cases"]:
                causes.setdefault(case.rpartition(":")[0], {}).update(named)
    return found, {path: ", ".join(named) for path, named in causes.items()}


def cell(outcomes: Counter[str], causes: str) -> str:
    """Return what a converter makes of a rule, in words."""
    if not outcomes:
        return "not run"
    logs = sum(outcomes.values())
    worst = next((o for o in outcomes if o not in OUTCOMES), None) or next(
        o for o in ("failed", "passed", "skipped") if outcomes[o]
    )
    said = f"{OUTCOMES.get(worst, f'no answer: {worst}')} ({outcomes[worst]} of {logs} logs)"
    return f"{said}: {causes}" if causes else said


def main() -> int:
    """Compare, write the report, and return the exit status."""
    given = os.environ.get
    rules, report = Path(given("RULES") or "rules"), Path(given("REPORT") or "cerify-report")
    converters = (given("CONVERTERS") or "").split()
    report.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        before = rules_at(given("BASE") or "HEAD^", str(rules), Path(temporary) / "before")
        if not any(before.rglob("*.*")):
            status, known = 0, {"added": [str(f.relative_to(rules)) for f in sorted(rules.rglob("*.y*ml"))]}
        else:
            status, text = run("cerify", "diff", str(before), str(rules), "--json", "--logs", str(report))
            if not text:
                return 2
            known = json.loads(text)
        changed: dict[str, Any] = {one["path"]: one for one in known.get("changed", [])}
        meaning = dict.fromkeys(known.get("added", []), "new") | dict.fromkeys(changed, "changed")
        meaning |= {one["path"]: f"undecided: {one['reason']}" for one in known.get("undecided", [])}
        if given("EVERY") == "true":
            meaning = {str(f.relative_to(rules)): "as before" for f in sorted(rules.rglob("*.y*ml"))} | meaning
        for path in meaning:
            (Path(temporary) / "rules" / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(rules / path, Path(temporary) / "rules" / path)
        some = bool(meaning) and any(path.endswith((".yml", ".yaml")) for path in meaning)
        answers = {c: judged(c, Path(temporary) / "rules", report, given("POLICY") or "") for c in converters if some}
    rows = [["rule", "meaning", *answers], ["---"] * (2 + len(answers))]
    for path, how in meaning.items():
        cells = (cell(found.get(path, Counter()), causes.get(path, "")) for found, causes in answers.values())
        rows.append([path, how, *cells])
    lines = ["| " + " | ".join(row) + " |" for row in rows] if meaning else ["No rule changed its meaning."]
    lines += [f"\nremoved: {path}" for path in known.get("removed", [])]
    lines += [f"\ncould not be read: {one['place']}: {one['message']}" for one in known.get("unreadable", [])]
    if any(named for _, named in answers.values()):
        lines.append("\nThe page of a converter, such as sigma-sqlite.html in the report, says what each cause means.")
    for path, one in changed.items():
        lines += [f"\n{path} is another rule on this log:\n", "```json", *map(json.dumps, one["log"]), "```"]
        lines += [f"\nevents of alerts: before {one['old_only']}, now {one['new_only']}"]
    (report / "summary.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))
    wrong = any(
        o not in ("passed", "skipped") for a, _ in answers.values() for outcomes in a.values() for o in outcomes
    )
    absent = any(not a for a, _ in answers.values())
    return 2 if status == 2 or absent else int(wrong)


if __name__ == "__main__":
    sys.exit(main())
