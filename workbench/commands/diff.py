"""cerify diff: find the rules of a folder whose meaning changed, each with a log that shows it.

Rules are paired by their id, or else by their path, and each pair is compared by the decider of its language. A changed
text with the same meaning is not reported, which a comparison of texts cannot offer. Rules that cannot be read are
listed with file and line, and do not stop the others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from cerify.commands.options import LEVELS, OUTPUT_FOLDER, argument, option, takes
from cerify.commands.rules import DetectionRule, RuleFolder, names_of, read_rules
from cerify.equivalence.eql.decide import Asked, Same, compare_rules
from cerify.equivalence.verdict import Different, Level, Undecided
from cerify.explanations.explanation import braces
from cerify.semantics.arguments import ALLOW_MORE_TIME, Budget
from cerify.semantics.ecs import document_of_event
from cerify.semantics.eql.syntax import EqlQuery
from cerify.semantics.files import write_whole
from cerify.terminal import echo

STATES = 20_000
SECONDS = 5.0


@dataclass(frozen=True)
class DiffArguments:
    """The arguments and options of `cerify diff`."""

    old: str = argument(type=click.Path(exists=True))
    new: str = argument(type=click.Path(exists=True))
    level: Level = option(
        "--level", type=LEVELS, default="events", help="Compare the events of matches, or only where rules fire."
    )
    single: bool = option("--single", is_flag=True, help="Assume that no field has several values.")
    logs: Path | None = option(
        "--logs", type=OUTPUT_FOLDER, metavar="FOLDER", help="Write the log of each changed rule, as NDJSON."
    )
    seconds: float = option(
        "--time-limit",
        type=click.FloatRange(min=0, min_open=True),
        default=SECONDS,
        metavar="SECONDS",
        help="The time for each rule, by the clock.",
    )
    as_json: bool = option("--json", is_flag=True, help="Print one JSON object.")


@dataclass(frozen=True)
class ComparedRule:
    """A rule that is in both folders with different texts, and the verdict on whether its meaning changed."""

    old: DetectionRule
    new: DetectionRule
    verdict: Same | Different | Undecided


@click.command()
@takes(DiffArguments)
def diff_command(args: DiffArguments) -> int:
    """Say which rules in EQL or Sigma changed their meaning between the folders, or files, OLD and NEW.

    Rules are files .eql, files .toml with a key query, at the top or under [rule], and files .yml or .yaml in Sigma.
    They are paired by rule_id, else by path. A rule with a new text and the same meaning is not printed. For each rule
    that changed, a short log is printed on which the reference evaluator gives other matches for the new rule than for
    the old.

    Exit status: 0 if no rule changed its meaning, was added or was removed; 1 if one did, or if that is undecided; 2 if
    a rule could not be read. Its file and line are then printed, and all other rules are still compared.
    """
    old, new = read_rules(Path(args.old)), read_rules(Path(args.new))
    if Path(args.old).is_file() and Path(args.new).is_file() and len(old.rules) == len(new.rules) == 1:
        new = replace(new, rules=dict(zip(old.rules, new.rules.values(), strict=True)))  # even if their ids differ
    elif Path(args.old).is_file() and Path(args.new).is_file():  # one is not readable
        old, new = replace(old, rules={}), replace(new, rules={})
    asked = Asked("equivalent", args.level, not args.single)
    compared = [
        ComparedRule(rule, new.rules[id_], _compared(rule, new.rules[id_], asked, args.seconds))
        for id_, rule in old.rules.items()
        if id_ in new.rules
    ]
    changed = [one for one in compared if isinstance(one.verdict, Different)]
    if args.logs is not None:
        _write_logs(args.logs, changed)
    if args.as_json:
        echo(json.dumps(_json(old, new, compared), ensure_ascii=False))
    else:
        _print(old, new, compared)
    if old.unreadable or new.unreadable:
        return 2
    return int(old.rules.keys() != new.rules.keys() or any(not isinstance(one.verdict, Same) for one in compared))


def _compared(old: DetectionRule, new: DetectionRule, asked: Asked, seconds: float) -> Same | Different | Undecided:
    from cerify.equivalence.sigma import SameRules, compare_sigma
    from cerify.semantics.errors import BudgetExceeded
    from cerify.semantics.sigma.syntax import SigmaQuery

    if old.query == new.query:
        return Same("the rules are the same")
    if isinstance(old.query, SigmaQuery) != isinstance(new.query, SigmaQuery):
        return Undecided("one rule is in EQL, and the other in Sigma")

    budget = Budget(states=STATES, seconds=seconds)
    try:
        with budget.timed():
            if isinstance(old.query, SigmaQuery) and isinstance(new.query, SigmaQuery):
                found = compare_sigma(old.query, new.query, asked.claim, asked.level, budget)
                return Same(found.reason) if isinstance(found, SameRules) else found
            assert isinstance(old.query, EqlQuery)
            assert isinstance(new.query, EqlQuery)
            return compare_rules(old.query, new.query, asked, budget)
    except BudgetExceeded as error:
        return Undecided(error.message.replace(ALLOW_MORE_TIME, "--time-limit"))


def _print(old: RuleFolder, new: RuleFolder, compared: list[ComparedRule]) -> None:
    for one in compared:
        (heading,) = names_of([replace(one.new, name=_changed_name(one))])
        match one.verdict:
            case Different():
                echo(f"changed: {heading}", colour="red")
                for line in difference_lines(one.verdict):
                    echo(f"  {line}")
            case Undecided(reason):
                echo(f"undecided: {heading}: {reason}", colour="yellow")
            case Same():
                pass
    for word, rules in (("removed", _only(old, new)), ("added", _only(new, old))):
        for name in names_of(rules):
            echo(f"{word}: {name}")
    for bad in (*old.unreadable, *new.unreadable):
        echo(f"cerify: {bad.place}: {bad.message}", error=True)
    verdicts = {"changed": Different, "the same": Same, "undecided": Undecided}
    counted = [f"{sum(isinstance(c.verdict, kind) for c in compared)} {word}" for word, kind in verdicts.items()]
    for word, number in (("added", len(_only(new, old))), ("removed", len(_only(old, new)))):
        counted += [f"{number} {word}"] if number else []
    if bad_rules := len(old.unreadable) + len(new.unreadable):
        counted.append(f"{bad_rules} not read")
    other = f"; {new.other} in other languages were skipped" if new.other else ""
    echo(f"{', '.join(counted)}{other}")


def _changed_name(one: ComparedRule) -> str:
    """Return the name of a rule; for a file with several Sigma rules, the names of the rules that changed."""
    from cerify.semantics.sigma.syntax import SigmaQuery

    old, new = one.old.query, one.new.query
    if not (isinstance(old, SigmaQuery) and isinstance(new, SigmaQuery)):
        return one.new.name
    return ", ".join(rule.name for rule in new.rules if rule not in old.rules) or one.new.name


def difference_lines(verdict: Different) -> list[str]:
    """Format a log on which two rules differ, one document a line, and the matches that only one of the rules has."""
    documents = [
        f"{n}  {json.dumps(document_of_event(event), ensure_ascii=False)}" for n, event in enumerate(verdict.stream)
    ]
    found = [
        f"only the {side} rule has {braces(match.events)} at event {match.at}"
        for side, matches in (("old", verdict.left_only), ("new", verdict.right_only))
        for match in matches
    ]
    return [*documents, *found]


def _only(folder: RuleFolder, other: RuleFolder) -> list[DetectionRule]:
    # A rule that cannot be read on the other side is neither added nor removed.
    unread = {bad.path for bad in other.unreadable}
    return [rule for id_, rule in folder.rules.items() if id_ not in other.rules and rule.path not in unread]


def _json(old: RuleFolder, new: RuleFolder, compared: list[ComparedRule]) -> dict[str, Any]:
    return {
        "changed": [
            {
                "id": one.new.id,
                "name": one.new.name,
                "path": one.new.path,
                "log": [document_of_event(event) for event in one.verdict.stream],
                "at": one.verdict.at,
                "old_only": [list(m.events) for m in one.verdict.left_only],
                "new_only": [list(m.events) for m in one.verdict.right_only],
            }
            for one in compared
            if isinstance(one.verdict, Different)
        ],
        "undecided": [
            {"id": one.new.id, "path": one.new.path, "reason": one.verdict.reason}
            for one in compared
            if isinstance(one.verdict, Undecided)
        ],
        "same": sum(isinstance(one.verdict, Same) for one in compared),
        "added": [rule.path for rule in _only(new, old)],
        "removed": [rule.path for rule in _only(old, new)],
        "unreadable": [{"place": bad.place, "message": bad.message} for bad in (*old.unreadable, *new.unreadable)],
    }


def _write_logs(folder: Path, changed: list[ComparedRule]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for one in changed:
        assert isinstance(one.verdict, Different)
        name = one.new.path.replace("/", "_").rpartition(".")[0] or one.new.id
        lines = [json.dumps(document_of_event(event), ensure_ascii=False) for event in one.verdict.stream]
        write_whole(folder / f"{name}.ndjson", "\n".join(lines) + "\n")
