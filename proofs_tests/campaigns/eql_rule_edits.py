"""Does `cerify diff` name the rules of a folder whose meaning an edit changed, and no others, within a minute?

    python -m proofs_tests.campaigns.eql_rule_edits                 # 200 rules of its own
    python -m proofs_tests.campaigns.eql_rule_edits --rules FOLDER  # 200 rules of a folder, as of a public repository

The rules stand in two folders. In the new one 25 rules are changed in one place, in all ways that there are, 25 are
written anew with the same meaning, and the others stay. Whether an edit changes the meaning is known by how it is
made, not by a decision: the tests of a rule of its own are about different fields, and each can be true and false. In
rules of others an edit may change nothing (a test that another one implies), so a miss is to be looked at.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import click

from cerify.commands.rules import read_rules
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import is_plain
from cerify.semantics.eql.parse import parse

Edit = Callable[[eql.EqlQuery], "eql.EqlQuery | None"]
"""A rule that is edited in one place; None where there is no such place."""

# --- rules of our own -------------------------------------------------------------------------------------------------

TESTS = (
    'process.name : ("{a}.exe", "{b}.exe")', 'process.args : "*{a}*"', 'process.executable like "/tmp/{a}/*"',
    'user.name in ("{a}", "{b}", "{c}")', 'not process.parent.name : "{a}*"', 'file.extension in~ ("{a}", "{b}")',
    "process.args_count >= {n}", "destination.port in ({n}, 443)", 'not cidrMatch(source.ip, "10.{n}.0.0/16")',
    'startsWith~(file.path, "/opt/{a}")', 'event.action == "{a}"', "host.id != null", 'registry.data : ("{a}?", "{b}")',
    'not (user.domain == "{a}" or process.pe.original_file_name == "{b}")', 'endsWith(process.title, "{c}")',
    'dll.name regex "{a}[0-9]+"', "process.parent.args_count < {n}",
)  # fmt: skip
"""Tests of different fields."""
CATEGORIES = ("process", "file", "network", "registry", "library")
SPANS = ("30s", "1m", "90s", "5m", "2h", "1d")
KEYS = ("host.id", "process.entity_id", "user.id")


def own_rules(number: int, seed: int) -> Iterator[str]:
    """Yield the texts of rules: single events, and sequences of two to four steps in two of five."""
    for n in range(number):
        rng = Random(f"{seed} {n}")
        if n % 5 > 1:
            yield _filter(rng, rng.randint(2, 5))
            continue
        steps = [_filter(rng, rng.randint(1, 3)) for _ in range(rng.choice((2, 2, 2, 3, 4)))]
        runs = f" with runs={rng.randint(2, 4)}" if len(steps) == 2 and rng.random() < 0.2 else ""
        until = f" until [{_filter(rng, 1)}]" if rng.random() < 0.2 else ""
        keys = ", ".join(rng.sample(KEYS, rng.choice((1, 1, 2))))
        span = f" with maxspan={rng.choice(SPANS)}" if rng.random() < 0.9 else ""
        yield f"sequence by {keys}{span} {' '.join(f'[{step}]' for step in steps)}{runs}{until}"


def _filter(rng: Random, tests: int) -> str:
    a, b, c = rng.sample(("cmd", "curl", "python", "bash", "rundll", "explorer", "svc", "agent"), 3)
    chosen = (test.format(a=a, b=b, c=c, n=rng.randint(2, 200)) for test in rng.sample(TESTS, tests))
    return f"{rng.choice(CATEGORIES)} where {' and '.join(chosen)}"


# --- edits ------------------------------------------------------------------------------------------------------------


def _in_filters(edit: Callable[[eql.EventFilter], eql.EventFilter | None]) -> Edit:
    """An edit of the first filter of a step that has such a place."""

    def edited(query: eql.EqlQuery) -> eql.EqlQuery | None:
        body = query.body
        if isinstance(body, eql.EventFilter):
            return None if (other := edit(body)) is None else replace(query, body=other)
        for n, step in enumerate(body.steps):
            if (other := edit(step.filter)) is not None:
                steps = (*body.steps[:n], replace(step, filter=other), *body.steps[n + 1 :])
                return replace(query, body=replace(body, steps=steps))
        return None

    return edited


def _in_tests(edit: Callable[[eql.Condition], eql.Condition | None]) -> Edit:
    """An edit of the first test of a filter that has such a place, below `and` alone."""

    def edited(part: eql.EventFilter) -> eql.EventFilter | None:
        tests = _tests(part)
        for n, test in enumerate(tests):
            if (other := edit(test)) is not None:
                return replace(part, condition=_all((*tests[:n], other, *tests[n + 1 :])))
        return None

    return _in_filters(edited)


def _in_sequences(edit: Callable[[eql.EventSequence], eql.EventSequence | None]) -> Edit:
    def edited(query: eql.EqlQuery) -> eql.EqlQuery | None:
        other = edit(query.body) if isinstance(query.body, eql.EventSequence) else None
        return None if other is None else replace(query, body=other)

    return edited


def _tests(part: eql.EventFilter) -> tuple[eql.Condition, ...]:
    return part.condition.conditions if isinstance(part.condition, eql.AllConditions) else (part.condition,)


def _all(tests: tuple[eql.Condition, ...]) -> eql.Condition:
    return tests[0] if len(tests) == 1 else eql.AllConditions(tests)


def _another_value(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup(operator, term, (str() as first, *rest)) if operator not in ("regex", "regex~"):
            return eql.ValueLookup(operator, term, (f"{first}2", *rest))
        case eql.FieldComparison("==", eql.EventField() as field, eql.FieldConstant(str() as text)):
            return eql.FieldComparison("==", field, eql.FieldConstant(f"{text}2"))
    return None


def _value_less(test: eql.Condition) -> eql.Condition | None:
    if isinstance(test, eql.ValueLookup) and len(test.values) > 1:
        return replace(test, values=test.values[:-1])
    return None


def _other_case(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup(":" | "like~", term, values):
            return eql.ValueLookup("like", term, values)
        case eql.FunctionCall("startsWith" | "endsWith" as name, folded, arguments):
            return eql.FunctionCall(name, not folded, arguments)
    return None


def _moved_bound(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.FieldComparison(">=" | "<" as sign, left, eql.FieldConstant(int() as number)):
            return eql.FieldComparison(sign, left, eql.FieldConstant(number + 1))
    return None


def _open_bound(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.FieldComparison(">=" | "<" as sign, left, right):
            return eql.FieldComparison(">" if sign == ">=" else "<=", left, right)
    return None


def _another_block(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.NegatedCondition(eql.FunctionCall("cidrMatch", folded, (field, eql.FieldConstant(str() as block)))):
            wider = block.replace("/16", "/15")
            return eql.NegatedCondition(eql.FunctionCall("cidrMatch", folded, (field, eql.FieldConstant(wider))))
    return None


def _turned(test: eql.Condition) -> eql.Condition | None:
    return test.condition if isinstance(test, eql.NegatedCondition) else eql.NegatedCondition(test)


def _test_less(part: eql.EventFilter) -> eql.EventFilter | None:
    tests = _tests(part)
    return replace(part, condition=_all(tests[:-1])) if len(tests) > 1 else None


def _test_more(part: eql.EventFilter) -> eql.EventFilter:
    more = eql.FieldComparison("!=", eql.EventField("labels.reviewed"), eql.FieldConstant("no"))
    return replace(part, condition=_all((*_tests(part), more)))


def _any_of_them(part: eql.EventFilter) -> eql.EventFilter | None:
    tests = _tests(part)
    return replace(part, condition=eql.AnyConditions(tests)) if len(tests) > 1 else None


def _another_category(part: eql.EventFilter) -> eql.EventFilter | None:
    return None if part.category is None else replace(part, category="driver")


def _wider(body: eql.EventSequence) -> eql.EventSequence | None:
    return None if body.maxspan is None else replace(body, maxspan=replace(body.maxspan, count=body.maxspan.count + 1))


def _without_window(body: eql.EventSequence) -> eql.EventSequence | None:
    return None if body.maxspan is None else replace(body, maxspan=None)


def _key_less(body: eql.EventSequence) -> eql.EventSequence | None:
    return replace(body, keys=body.keys[:-1]) if body.keys else None


def _another_key(body: eql.EventSequence) -> eql.EventSequence | None:
    return replace(body, keys=(*body.keys[:-1], eql.EventField("agent.id"))) if body.keys else None


def _without_until(body: eql.EventSequence) -> eql.EventSequence | None:
    return None if body.until is None else replace(body, until=None)


def _step_less(body: eql.EventSequence) -> eql.EventSequence | None:
    return replace(body, steps=body.steps[:-1]) if len(body.steps) > 2 else None


def _steps_swapped(body: eql.EventSequence) -> eql.EventSequence | None:
    if len(body.steps) < 2:
        return None
    one, two, *rest = body.steps
    return replace(body, steps=(two, one, *rest)) if one != two else None


def _run_more(body: eql.EventSequence) -> eql.EventSequence:
    return replace(body, steps=(*body.steps[:-1], replace(body.steps[-1], runs=body.steps[-1].runs + 1)))


CHANGES: Mapping[str, Edit] = {
    "another value": _in_tests(_another_value),
    "a value less": _in_tests(_value_less),
    "other case": _in_tests(_other_case),
    "a bound moved": _in_tests(_moved_bound),
    "a bound opened or closed": _in_tests(_open_bound),
    "a wider block of addresses": _in_tests(_another_block),
    "a test turned round": _in_tests(_turned),
    "a test less": _in_filters(_test_less),
    "a test more": _in_filters(_test_more),
    "or for and": _in_filters(_any_of_them),
    "another category": _in_filters(_another_category),
    "a wider window": _in_sequences(_wider),
    "no window": _in_sequences(_without_window),
    "a key less": _in_sequences(_key_less),
    "another key": _in_sequences(_another_key),
    "no until": _in_sequences(_without_until),
    "a step less": _in_sequences(_step_less),
    "steps swapped": _in_sequences(_steps_swapped),
    "a run more": _in_sequences(_run_more),
}


def _reversed_tests(part: eql.EventFilter) -> eql.EventFilter | None:
    tests = _tests(part)
    return replace(part, condition=_all(tests[::-1])) if len(tests) > 1 else None


def _reversed_values(test: eql.Condition) -> eql.Condition | None:
    if isinstance(test, eql.ValueLookup) and len(test.values) > 1:
        return replace(test, values=test.values[::-1])
    return None


def _values_apart(test: eql.Condition) -> eql.Condition | None:
    if isinstance(test, eql.ValueLookup) and len(test.values) > 1:
        return eql.AnyConditions(tuple(eql.ValueLookup(test.operator, test.term, (value,)) for value in test.values))
    return None


def _equal_for_in(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup("in", term, values):
            ways = tuple(eql.FieldComparison("==", term, eql.FieldConstant(value)) for value in values)
            return ways[0] if len(ways) == 1 else eql.AnyConditions(ways)
    return None


def _loud_value(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup(":" | "like~" | "in~", _, (str() as first, *_)) if first.isascii():
            return replace(test, values=(*test.values, first.upper()))
    return None


def _covered_value(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup(":" | "like~" | "like", _, (str() as first, *_)) if "*" in first:
            return replace(test, values=(*test.values, first.replace("*", "anything")))
    return None


def _pushed_not(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.NegatedCondition(eql.AnyConditions(parts)) if all(map(is_plain, parts)):
            return eql.AllConditions(tuple(map(eql.NegatedCondition, parts)))
    return None


def _present(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.ValueLookup(_, eql.EventField() as field, _) | eql.FieldComparison(
            ">=" | "<", eql.EventField() as field, _
        ):
            return eql.AllConditions((eql.FieldComparison("!=", field, eql.FieldConstant(None)), test))
    return None


def _wildcard_for_start(test: eql.Condition) -> eql.Condition | None:
    match test:
        case eql.FunctionCall("startsWith", folded, (field, eql.FieldConstant(str() as text))):
            return eql.ValueLookup(":" if folded else "like", field, (f"{text}*",))
    return None


def _other_unit(body: eql.EventSequence) -> eql.EventSequence | None:
    if body.maxspan is None:
        return None
    seconds, rest = divmod(body.maxspan.microseconds, 1_000_000)
    units = ("ms", 1000 * seconds) if body.maxspan.unit == "s" else ("s", seconds)
    return None if rest else replace(body, maxspan=eql.MaximalSpan(units[1], units[0]))


def _keys_at_steps(body: eql.EventSequence) -> eql.EventSequence | None:
    if not body.keys:
        return None

    def keyed(step: eql.SequenceStep) -> eql.SequenceStep:
        return replace(step, keys=(*body.keys, *step.keys))

    until = None if body.until is None else keyed(body.until)
    return replace(body, keys=(), steps=tuple(map(keyed, body.steps)), until=until)


def _runs_written_out(body: eql.EventSequence) -> eql.EventSequence | None:
    if all(step.runs == 1 or step.missing for step in body.steps):
        return None
    return replace(body, steps=tuple(replace(step, runs=1) for step in body.steps for _ in range(step.runs)))


NEUTRAL: Mapping[str, Edit] = {
    "tests in the other order": _in_filters(_reversed_tests),
    "values in the other order": _in_tests(_reversed_values),
    "a list as alternatives": _in_tests(_values_apart),
    "== for in": _in_tests(_equal_for_in),
    "a value again in capitals": _in_tests(_loud_value),
    "a value that a wildcard has": _in_tests(_covered_value),
    "not pushed inwards": _in_tests(_pushed_not),
    "a test that the field is there": _in_tests(_present),
    "a wildcard for startsWith": _in_tests(_wildcard_for_start),
    "not not": _in_tests(lambda test: eql.NegatedCondition(eql.NegatedCondition(test))),
    "another unit": _in_sequences(_other_unit),
    "keys at the steps": _in_sequences(_keys_at_steps),
    "runs written out": _in_sequences(_runs_written_out),
}

# --- the campaign -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EditedFolders:
    """What was done to which rules, by the path of each."""

    changed: Mapping[str, str]
    neutral: Mapping[str, str]


def write_folders(texts: list[str], old: Path, new: Path, edits: int, seed: int) -> EditedFolders:
    """Write rules into two folders as TOML, in the new one edited; the neutrally edited ones in other files too."""
    rng, done = Random(seed), EditedFolders({}, {})
    kinds: dict[int, tuple[str, str, eql.EqlQuery]] = {}
    for word, table in (("changed", CHANGES), ("neutral", NEUTRAL)):
        for name, edit in list(table.items()) * edits:
            order = rng.sample(range(len(texts)), len(texts))
            able = ((n, edit(parse(texts[n]))) for n in order if n not in kinds)
            place, query = next(((n, q) for n, q in able if q is not None), (None, None))
            if place is not None and query is not None:
                kinds[place] = (word, name, query)
            if sum(kind == word for kind, _, _ in kinds.values()) == edits:
                break
    for folder in (old, new):
        folder.mkdir(parents=True)
    for n, text in enumerate(texts):
        path = f"rule_{n:03}.toml"
        (old / path).write_text(_toml(n, text), encoding="utf-8")
        if n in kinds:
            word, name, query = kinds[n]
            moved = f"moved_{path}" if word == "neutral" else path
            text = eql.show(query).replace(" and ", "\n  and ") + "\n// edited"
            {"changed": done.changed, "neutral": done.neutral}[word][moved] = name  # type: ignore[index]
            path = moved
        (new / path).write_text(_toml(n, text), encoding="utf-8")
    return done


def _toml(n: int, text: str) -> str:
    return f'[rule]\nname = "Rule {n}"\nlanguage = "eql"\nrule_id = "rule-{n:03}"\nquery = {json.dumps(text)}\n'


def run_diff(old: Path, new: Path) -> dict[str, list[dict[str, str]]]:
    """Return what `cerify diff --json` says."""
    asked = [sys.executable, "-m", "cerify.cli", "diff", str(old), str(new), "--json"]
    answer: dict[str, list[dict[str, str]]] = json.loads(subprocess.run(asked, capture_output=True, check=False).stdout)
    return answer


@click.command()
@click.option("--rules", type=click.Path(exists=True, path_type=Path), help="Take rules of this folder.")
@click.option("--number", default=200, show_default=True)
@click.option("--edits", default=25, show_default=True, help="So many changes, and so many neutral edits.")
@click.option("--seed", default=0, show_default=True)
def main(rules: Path | None, number: int, edits: int, seed: int) -> None:
    """Print which changes were missed and which neutral edits were named; status 1 if there is one."""
    if rules is None:
        texts = list(own_rules(number, seed))
    else:
        known = [rule.text for rule in read_rules(rules).rules.values() if isinstance(rule.query, eql.EqlQuery)]
        sequences = [text for text in known if isinstance(parse(text).body, eql.EventSequence)]
        chosen = Random(seed).sample(sequences, min(number * 2 // 5, len(sequences)))
        others = [text for text in known if text not in sequences]
        texts = [*chosen, *Random(seed).sample(others, min(number - len(chosen), len(others)))]
    with TemporaryDirectory() as folder:
        old, new = Path(folder, "old"), Path(folder, "new")
        done = write_folders(texts, old, new, edits, seed)
        begin = time.monotonic()
        answer = run_diff(old, new)
        seconds = time.monotonic() - begin
        named = {rule["path"] for rule in answer["changed"]}
        undecided = {rule["path"]: rule["reason"] for rule in answer["undecided"]}
        wrong = [f"missed: {what} ({path})" for path, what in done.changed.items() if path not in named]
        wrong += [f"named: {path} ({done.neutral.get(path)})" for path in sorted(named - done.changed.keys())]
        wrong += [f"undecided: {path} ({done.neutral.get(path)}): {why}" for path, why in undecided.items()]
        for line in wrong:
            print(line)
        for path in [line.partition("(")[2].partition(")")[0] for line in wrong if line.startswith("missed")]:
            print((old / path).read_text(), (new / path).read_text(), sep="")
    rightly, wrongly = len(named & done.changed.keys()), len(named - done.changed.keys())
    print(
        f"{len(texts)} rules: {rightly} of {len(done.changed)} changes of {len({*done.changed.values()})} kinds named, "
        f"and {wrongly} of {len(done.neutral)} neutral edits of {len({*done.neutral.values()})} kinds; "
        f"{len(undecided)} undecided; {seconds:.0f} s"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
