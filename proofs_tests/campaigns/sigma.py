"""Sigma held against two others: a reference by brute force over the YAML itself, and the form in CEL.

    python -m proofs_tests.campaigns.sigma --cases 20000

A case is random rules and a random log; the same rules are evaluated on four logs. The reference here takes the
documents as they are, knows the few modifiers of the random rules alone, and looks for chains among all subsets of a
window. It shares with the definition neither pySigma nor the trees nor the conditions.
"""

from __future__ import annotations

import itertools
import math
import re
import statistics
from collections.abc import Sequence
from contextlib import suppress
from random import Random
from typing import Any

import click

from cerify import api
from cerify.equivalence.sigma import PROFILES, random_documents, random_log, sigma_to_cel
from cerify.languages.language import Options
from cerify.semantics.errors import Unsupported
from cerify.semantics.events import TIME, Event
from cerify.semantics.json_events import json_of_event
from cerify.semantics.sigma.denote import alerts_of
from cerify.semantics.sigma.parse import parse, show_documents

LOGS = 4  # for the same rules

Alert = tuple[int, frozenset[int], dict[str, Any]]
"""The position, the events, and the values of the group."""


class BruteForce:
    """The alerts of documents on a log, each question asked of everything."""

    def __init__(self, documents: Sequence[dict[str, Any]], log: Sequence[Event]) -> None:
        self.documents = {document["name"]: document for document in documents}
        self.log = [json_of_event(e) | {TIME: e.attributes[TIME]} for e in log]  # with null where a field is null
        self.t = [e[TIME] for e in self.log]

    def alerts(self, name: str = "outer") -> list[Alert]:
        """Return the alerts of a rule."""
        rule = self.documents[name]
        if "detection" in rule:
            return [(p, frozenset({p}), {}) for p, e in enumerate(self.log) if self._satisfies(rule["detection"], e)]
        body, found = rule["correlation"], []
        names = body["rules"]
        occurrences = [(i, a) for i, other in enumerate(names) for a in self.alerts(other)]
        keyed = [(i, a, self._key(body, names[i], a)) for i, a in occurrences]
        field = body.get("condition", {}).get("field")
        keyed = [(i, a, k) for i, a, k in keyed if None not in k and (field is None or self._counts(body, field, a))]
        for p in range(len(self.log)):
            for key in {tuple(k) for _, a, k in keyed if a[0] == p}:
                window = [(i, a) for i, a, k in keyed if tuple(k) == key and self._within(body, a[0], p)]
                for events in self._raised(body, window, p, field):
                    found.append((p, events, dict(zip(body.get("group-by", []), key, strict=True))))
        return found

    def _within(self, body: dict[str, Any], q: int, p: int) -> bool:
        return q <= p and (self.t[p] - self.t[q]).total_seconds() <= int(body["timespan"][:-1])

    def _value(self, a: Alert, field: str) -> Any:
        return a[2].get(field, self.log[a[0]].get(field))

    def _key(self, body: dict[str, Any], rule: str, a: Alert) -> list[Any]:
        aliases = body.get("aliases", {})
        return [self._value(a, aliases.get(name, {}).get(rule, name)) for name in body.get("group-by", [])]

    def _counts(self, body: dict[str, Any], field: str, a: Alert) -> bool:
        value = self._value(a, field)
        return value is not None and (body["type"] == "value_count" or type(value) in (int, float))

    def _raised(
        self, body: dict[str, Any], window: list[tuple[int, Alert]], p: int, field: str | None
    ) -> list[frozenset[int]]:
        condition, kind = dict(body.get("condition", {})), body["type"]
        percentile = condition.pop("percentile", None)
        condition.pop("field", None)
        condition = condition or {"gte": len(body["rules"])}
        everything = frozenset().union(*(a[1] for _, a in window))
        # a detection's event counts once, an alert of a correlation for itself
        single = {
            (a[0] if "detection" in self.documents[body["rules"][i]] else (a[0], a[1], repr(a[2]))): a
            for i, a in window
        }
        numbers = sorted(self._value(a, field) for a in single.values()) if field and kind != "value_count" else []
        number: float
        match kind:
            case "event_count":
                number = len(single)
            case "value_count":
                number = len({self._value(a, str(field)) for a in single.values()})
            case "temporal":
                number = len({i for i, _ in window})
            case "temporal_ordered":
                return self._chains(window, p, condition)
            case "value_sum":
                number = sum(numbers)
            case "value_avg":
                number = statistics.fmean(numbers)
            case _:
                low = numbers[math.floor(percentile / 100 * (len(numbers) - 1))]
                high = numbers[math.ceil(percentile / 100 * (len(numbers) - 1))]
                number = low + (percentile / 100 * (len(numbers) - 1)) % 1 * (high - low)
        return [everything] if _holds(number, condition) else []

    def _chains(self, window: list[tuple[int, Alert]], p: int, condition: dict[str, Any]) -> list[frozenset[int]]:
        best: tuple[int, list[int], list[int]] = (0, [], [])
        events: frozenset[int] = frozenset()
        for length in range(1, len({i for i, _ in window}) + 1):
            for chain in itertools.combinations(sorted(window, key=lambda pair: pair[1][0]), length):
                rules, places = [i for i, _ in chain], [a[0] for _, a in chain]
                rising = all(x < y for x, y in itertools.pairwise(rules)) and all(
                    x < y for x, y in itertools.pairwise(places)
                )
                place = length, places[::-1], [-i for i in rules[::-1]]
                if rising and places[-1] == p and place > best:
                    best, events = place, frozenset().union(*(a[1] for _, a in chain))
        return [events] if _holds(best[0], condition) else []

    def _satisfies(self, detection: dict[str, Any], event: dict[str, Any]) -> bool:
        first = _selects(detection["selection"], event)
        other = _selects(detection["other"], event) if "other" in detection else False
        words = detection["condition"]
        if words == "selection":
            return first
        return first or other if words == "1 of them" else first and (other != ("not" in words))


def _holds(number: float, condition: dict[str, float]) -> bool:
    return all(
        {
            "gt": number > b,
            "gte": number >= b,
            "lt": number < b,
            "lte": number <= b,
            "eq": number == b,
            "neq": number != b,
        }[o]
        for o, b in condition.items()
    )


def _selects(selection: dict[str, Any], event: dict[str, Any]) -> bool:
    return all(_matches(key.split("|"), wanted, event) for key, wanted in selection.items())


def _matches(key: list[str], wanted: Any, event: dict[str, Any]) -> bool:
    field, *modifiers = key
    value = event.get(field)
    if modifiers == ["exists"]:
        return (field in event) == wanted
    if isinstance(wanted, list):
        return any(_matches(key, one, event) for one in wanted)
    if wanted is None or value is None:
        return wanted is None and value is None
    match modifiers:
        case ["gte"]:
            return bool(value >= wanted)
        case ["startswith"]:
            return str(value).lower().startswith(wanted.lower())
        case ["contains", "cased"]:
            return wanted in value
        case ["re"]:
            return re.search(wanted, value) is not None
    return bool(value == wanted if isinstance(wanted, int) else str(value).lower() == wanted.lower())


def differences(seed: int) -> tuple[str, int, int]:
    """Return what is wrong with random rules on LOGS logs, "" if nothing is; how many have alerts, how many ran in CEL.

    Every other time the rules have a form in CEL mostly; of these every other one by the definition of CEL.
    """
    rng = Random(seed)
    profile = PROFILES["cel" if seed % 2 else "rules"]
    documents = random_documents(rng, profile, 3)
    query = parse(show_documents(documents))
    plan, with_alerts, in_cel = None, 0, 0
    with suppress(Unsupported):
        phi = sigma_to_cel(query)
        plan = api.plan_query(phi, "cel", None, Options(), "denotational" if seed % 4 == 1 else None)
    for _ in range(LOGS):
        S = random_log(rng, profile, rng.randint(1, 9), query)
        answers = {
            "the definition": sorted((a.at, a.events, repr(dict(a.group))) for a in alerts_of(query, S)),
            "brute force": sorted(
                (p, tuple(sorted(events)), repr(group)) for p, events, group in BruteForce(documents, S).alerts()
            ),
        }
        with_alerts += bool(answers["the definition"])
        if plan is not None:
            in_cel += 1
            found = {(m.at, m.events) for m in plan.all_matches(S)}
            groups = {(at, events): group for at, events, group in answers["the definition"]}
            answers["CEL"] = sorted((*one, groups.get(one, "")) for one in found)
        if any(sorted(set(answer)) != sorted(set(answers["the definition"])) for answer in answers.values()):
            return f"rules {seed}: {answers}\n{query.text}\n{list(S)}", with_alerts, in_cel
    return "", with_alerts, in_cel


@click.command()
@click.option("--cases", default=1_000, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(cases: int, seed: int) -> None:
    """Compare random rules on random logs; exit with status 1 at the first difference."""
    alerts = in_cel = 0
    for n in range(seed, seed + cases // LOGS):
        wrong, raised, translated = differences(n)
        if wrong:
            click.echo(wrong)
            raise SystemExit(1)
        alerts, in_cel = alerts + raised, in_cel + translated
    click.echo(f"{cases} cases agree, {alerts} of them with alerts, {in_cel} by their form in CEL too")


if __name__ == "__main__":
    main()
