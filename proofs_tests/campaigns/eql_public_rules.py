"""Public rules in EQL, each compared with itself in other words and with a changed one: how many are decided, and when.

    python -m proofs_tests.campaigns.eql_public_rules FOLDER --every 5

FOLDER has rules as `cerify diff` reads them, as a checkout of a public rules repository; none is part of this project.
A rule is compared with itself, with `not not` around each condition, with a test more in its first step, with its last
step left out, and with twice the window. The first two mean the same, the others differ unless the rule never fires.
"""

from __future__ import annotations

import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import median

import click

from cerify.commands.rules import read_rules
from cerify.equivalence.eql.decide import Asked, Same, compare_rules
from cerify.equivalence.verdict import Different
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import syntax as eql

SAME = ("itself", "in other words")
EXTRA = eql.FieldComparison("!=", eql.EventField("labels.reviewed"), eql.FieldConstant("no"))


def _reworded(part: eql.EventFilter) -> eql.EventFilter:
    return replace(part, condition=eql.NegatedCondition(eql.NegatedCondition(part.condition)))


def _narrowed(part: eql.EventFilter) -> eql.EventFilter:
    return replace(part, condition=eql.AllConditions((part.condition, EXTRA)))


def variants(query: eql.EqlQuery) -> Iterator[tuple[str, eql.EqlQuery]]:
    """The rule in other words, and changed ones, by what was done."""
    yield "itself", query
    body = query.body
    if isinstance(body, eql.EventFilter):
        yield "in other words", replace(query, body=_reworded(body))
        yield "narrowed", replace(query, body=_narrowed(body))
    elif isinstance(body, eql.EventSequence):
        reworded = tuple(replace(step, filter=_reworded(step.filter)) for step in body.steps)
        yield "in other words", replace(query, body=replace(body, steps=reworded))
        first = replace(body.steps[0], filter=_narrowed(body.steps[0].filter))
        yield "narrowed", replace(query, body=replace(body, steps=(first, *body.steps[1:])))
        if len(body.steps) > 2:
            yield "without the last step", replace(query, body=replace(body, steps=body.steps[:-1]))
        if body.maxspan is not None:
            wider = replace(body.maxspan, count=2 * body.maxspan.count)
            yield "twice the window", replace(query, body=replace(body, maxspan=wider))


@click.command()
@click.argument("folder", type=click.Path(exists=True))
@click.option("--every", default=1, show_default=True, help="Of so many rules one is looked at.")
def main(folder: str, every: int) -> None:
    """Print counts and times; status 1 for a verdict that is wrong."""
    counts, seconds, wrong = Counter[tuple[str, str]](), defaultdict[str, list[float]](list), 0
    rules = [rule for rule in read_rules(Path(folder)).rules.values() if isinstance(rule.query, eql.EqlQuery)]
    for rule in rules[::every]:
        query = rule.query
        for what, other in variants(query):
            begin = time.process_time()
            verdict = compare_rules(query, other, Asked(), Budget(states=20_000))
            seconds[what].append(time.process_time() - begin)
            counts[what, type(verdict).__name__] += 1
            if isinstance(verdict, Different if what in SAME else Same):
                wrong += 1
                print(f"WRONG: {rule.path}, {what}: {verdict}")
    for (what, verdict_name), number in sorted(counts.items()):
        print(f"{what}: {number} {verdict_name}")
    for what, taken in seconds.items():
        print(f"{what}: median {1000 * median(taken):.0f} ms, at most {max(taken):.1f} s of the processor")
    decided = sum(number for (_, verdict_name), number in counts.items() if verdict_name != "Undecided")
    print(f"{100 * decided / counts.total():.1f}% of {counts.total()} comparisons are decided")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
