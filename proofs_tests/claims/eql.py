"""Claims about EQL: what its documentation says, and where it stands to CEL (docs/guide/eql.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import TypeAlias

from cerify.automata.eql.machine import SlotMachine
from cerify.automata.evaluate.compiled import evaluate_plan
from cerify.automata.evaluate.evaluation_plan import required_plan
from cerify.equivalence.eql.translate import eql_to_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.eql import denote
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.denote import matches_of
from cerify.semantics.eql.parse import parse
from cerify.semantics.events import Event, Match, Stream
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, plant

Evaluation: TypeAlias = Callable[[eql.EqlQuery], Callable[[Stream], Iterable[Match]]]
TYPES = "AB"
SPANS = (("", ""), ("", "A"), (" with maxspan=1s", ""), (" with maxspan=1s", "B"))
"""A window, and the type at `until`."""
TAKEN = (
    "the source of the engine, not its documentation, says that the first event at u ends a run and begins "
    "none; a window is closed"
)
KEYED = tuple(Event(type_, {"k": key}) for type_ in TYPES for key in (1, 2))


def _rules(effort: Effort, keys: str = "") -> Iterator[eql.EqlQuery]:
    """Rules of two steps, and of three, over the types A, B and C, with and without a window and `until`."""
    for number in (2, 3)[: 1 if effort == "quick" else None]:
        for steps, (span, until) in product(product("ABC"[: 4 - number], repeat=number), SPANS):
            ended = f" until [{until} where true]" if until else ""
            chain = " ".join(f"[{step} where true]" for step in steps)
            yield parse(f"sequence{keys}{span} {chain}{ended}")


def _agree_on_logs(rules: Iterable[eql.EqlQuery], rows: Sequence[Event], length: int, other: Evaluation) -> Finding:
    """Return whether another evaluation has the matches of the definition on all logs of that many events.

    So it has on all shorter ones, since no match depends on what comes after it.
    """
    cases = number = 0
    for query in rules:
        number += 1
        wanted = other(query)
        for events in product(rows, repeat=length):
            S = Stream([Event(e.type, {**e.attributes, "time": n}) for n, e in enumerate(events)])
            expected, got = matches_of(query, S), wanted(S)
            if {m.events for m in expected} != {m.events for m in got}:
                seen = {"rule": eql.show(query), "log": [f"{e.type}{e.get('k') or ''}" for e in S]}
                return Finding("refuted", "exhaustive", eql.show(query), seen)
            cases += 1
    steps = "two steps over A and B" + ", and of three over A" * (length > 3)
    bound = (
        f"{cases} cases: {number} rules, all of {steps}; each plain, with until A, within a second, and within a "
        f"second with until B; on all logs of {length} events of {len(rows)} kinds"
    )
    return Finding("holds", "exhaustive", bound)


def _as_formula(query: eql.EqlQuery) -> Callable[[Stream], Iterable[Match]]:
    plan = required_plan(eql_to_cel(query), Budget())
    return lambda S: evaluate_plan(plan, S)


def _by_slots(query: eql.EqlQuery) -> Callable[[Stream], Iterable[Match]]:
    return lambda S: SlotMachine(query).evaluate(S)


@claim(
    "eql.keyless",
    "A sequence without keys is p1 ; (((p2 UNLESS p2 ; p2) ; ...) UNLESS ((p1 ; ... ; pn) OR u ; pn)) WITHIN w "
    "in CEL, where p1 excludes the events at u",
    "theorem",
    f"a statement of docs/guide/eql.md, as the documentation has no formulas; {TAKEN}; times ascend, and no "
    "field has several values",
)
def _(effort: Effort) -> Finding:
    of_three = [parse(f"sequence {' '.join(f'[{step} where true]' for step in 'ABA')}")]
    rows, length = [*map(Event, "ABC")], 3 if effort == "quick" else 5
    longer = max(length, 4)  # below that no UNLESS of three steps has anything to forbid
    for found in (
        _agree_on_logs(of_three, rows, longer, _as_formula),
        _agree_on_logs(_rules(effort), rows, length, _as_formula),
    ):
        if found.status != "holds":
            return found
    return replace(found, bound=f"{found.bound}; and {3**longer} more, A B A on all logs of {longer}")


plant("eql.keyless", "of the runs that end at an event the first one is taken", denote, "_runs", broken.result(
    lambda runs: reversed(list(runs))
))  # fmt: skip


@claim(
    "eql.by",
    "If all steps have the same key, a sequence is the formula of eql.keyless under PER KEY",
    "theorem",
    f"a statement of docs/guide/eql.md, as the documentation has no formulas; {TAKEN}; every event has the key",
)
def _(effort: Effort) -> Finding:
    return _agree_on_logs(_rules(effort, " by k"), KEYED, 3 if effort == "quick" else 4, _as_formula)


plant("eql.by", "all events have one key", denote, "keys_of", broken.always(((),)))


@claim(
    "eql.slots",
    "The machine with one slot per step looks at the runs by skip till next match that end at an event. It "
    "reports the one that begins last, if it is within maxspan and has no event of until",
    "theorem",
    "the machine is from the documentation, 'How sequence queries handle matches'; the sentence about its runs "
    f"is ours; {TAKEN}; each event of the first step begins one run, which takes the next event at each step",
)
def _(effort: Effort) -> Finding:
    chains = (" ".join(f"[{step} where true]" for step in steps) for steps in product("AB", repeat=3))
    of_three = [parse(f"sequence {chain}") for chain in chains]
    length = 5 if effort == "quick" else 8
    waiting = _agree_on_logs(of_three, [*map(Event, "AB")], length, _by_slots)  # of two steps only one waits
    found = _agree_on_logs(_rules(effort, " by k"), KEYED, 3 if effort == "quick" else 5, _by_slots)
    if waiting.status != "holds" or found.status != "holds":
        return found if waiting.status == "holds" else waiting
    more = f"; and {len(of_three) * 2**length} more, {len(of_three)} rules of three steps over A and B, without keys, "
    more += f"on the {2**length} logs of {length}"
    return replace(found, bound=found.bound + more)


plant(
    "eql.slots",
    "maxspan is not looked at",
    SlotMachine,
    "_ends_well",
    lambda _: staticmethod(broken.always(True)(None)),
)
