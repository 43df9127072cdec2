"""Warnings about a query of CEL whose PARTITION BY lets an operator see events of other keys, with an example.

To find an example, the query is evaluated over the beginning of the stream, as it is written and with PER KEY instead
of the partition. The example is the first match that only one of the two results has. An event of another key is to
blame if the match is lost when this event is added to the events of the match's own key. All steps are bounded, so that
a warning costs little.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from cerify.automata.evaluate.evaluation_plan import evaluation_plan
from cerify.automata.evaluate.streaming import evaluate_plan
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.check import AcrossKeys, advice
from cerify.semantics.cel.denote import same_key
from cerify.semantics.cel.syntax import OPERATORS, Formula
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Stream
from cerify.semantics.predicates import Problem, show_value

EVENTS = 2_000  # the most events of the beginning of a stream that are evaluated
BUDGET = Budget(seconds=1.0, states=2_000, matches=20_000)
TRIED = 100  # the most events of other keys that are tried
OWN = 200  # the most events of the match's own key that are evaluated with each of them


def warnings_across_keys(found: Iterable[AcrossKeys], S: Stream | None = None) -> Iterator[Problem]:
    """Yield a warning for each operator that sees events of other keys, with an example on the stream if there is one.

    The message says what to write instead, because a warning has no separate field for this advice.
    """
    example = None
    for one in found:
        problem = one.problem
        if S is not None and example is None:
            with suppress(BudgetExceeded, Unsupported), BUDGET.timed():
                example = _example(one, S.part(0, min(EVENTS, len(S))))
            if example is not None:
                problem = replace(problem, message=f"{problem.message}. {example}")
        yield replace(problem, message=f"{problem.message}; {advice(one.partition.attribute)}")


def _example(one: AcrossKeys, S: Stream) -> str | None:
    """Return a description of a match that only PARTITION BY or only PER KEY has, and of the event to blame.

    Return None if both have the same matches.
    """
    a = one.partition.attribute
    together, alone = _matches(one.partition, S), _matches(one.per_key, S)
    differing = min(together ^ alone, default=None)
    if differing is None:
        return None
    n, C = differing
    events = (
        f"events {' and '.join(map(str, C))}" if len(C) == 2 else f"{'events' if len(C) > 1 else 'event'} {_row(C)}"
    )
    if differing in together:
        return f"Here {events} are reported, although they are not a match among the events of their own key"
    key = show_value(value) if (value := S[n].get(a)) is not None else "?"
    blamed = _blamed(one, S, n, C)
    if blamed is None:
        return f"Here {events} ({a} {key}) are not a match, although they are one among the events of their own key"
    other = S[blamed].get(a)
    its = f"{S[blamed].type}, " + (f"{a} {show_value(other)}" if other is not None else f"without {a}")
    name = OPERATORS[type(one.operator)].symbol
    return f"Here event {blamed} ({its}) keeps {events} ({a} {key}) from being a match, by {name}"


def _blamed(one: AcrossKeys, S: Stream, n: int, C: tuple[int, ...]) -> int | None:
    """Return an event of another key that alone prevents the match; None if no tried event does."""
    own = [p for p in same_key((one.partition.attribute,), n, S) if p <= n]
    if len(own) > OWN:
        return None
    others = sorted(set(range(n)).difference(own), key=lambda p: (p < min(C, default=n), -p))
    for p in others[:TRIED]:
        positions = sorted((*own, p))
        matches = _matches(one.partition, Stream([S[q] for q in positions]))
        if (positions.index(n), tuple(positions.index(q) for q in C)) not in matches:
            return p
    return None


def _matches(phi: Formula, S: Stream) -> set[tuple[int, tuple[int, ...]]]:
    plan = evaluation_plan(phi, BUDGET)
    if isinstance(plan, Unsupported):
        raise plan
    found = set()
    for match in evaluate_plan(plan, S, budget=BUDGET):
        found.add((match.at, match.events))
        if len(found) > BUDGET.matches:
            raise BudgetExceeded("too many matches for an example")
    return found


def _row(C: tuple[int, ...]) -> str:
    return ", ".join(map(str, C))
