"""Make the named suites: random queries and streams that find wrong meanings, as short as can be.

    python -m proofs_tests.tools.mined_suites [funnel|sigma|cel-additions]...

A wrong meaning is a value of an axis of the language's hypotheses, or a query that differs in one place. For each, and
each feature on which it bears, a suite has cases with another answer.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from pathlib import Path
from random import Random
from typing import Any, cast

from cerify.automata.evaluator import Output
from cerify.equivalence import sigma as sigma_rules
from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import funnels as funnel_cases
from cerify.hypotheses.interpretation import Interpretation, choices_of
from cerify.languages import LANGUAGES
from cerify.languages.language import Options
from cerify.languages.sigma import matches_of
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.events import Event, Match, Stream
from cerify.semantics.funnel_queries import FunnelQuestion, KeyedQuestion, SequenceQuestion, answer_by_key, parse_window
from cerify.semantics.funnels import FUNNEL_MODES, parse_sequence_pattern
from cerify.semantics.json_events import json_of_event
from cerify.semantics.sigma.syntax import KINDS, TEMPORAL, CorrelationKind, SigmaCorrelation, SigmaQuery
from proofs_tests.tools.mutants.cel import instead

FOLDER = Path(__file__).resolve().parents[2] / "workbench/conformance/suite/named"


@dataclass(frozen=True)
class MinedSuite:
    """A suite whose cases are taken from random ones.

    clause: what precedes the wrong meaning in the clause of a case, with the feature in place of {}. seeds: how many
    random cases are tried. draw: the feature, query and stream of a seed. define: the matches by the definition.
    compare: what two answers have to have in common to be the same.
    mistakes: the queries that differ in one place, each with what was changed. most: the cases for a wrong meaning of a
    feature, where they are not two.
    """

    language: str
    clause: str
    seeds: int
    draw: Callable[[int], tuple[str, Any, Stream]]
    define: Callable[[Any, Stream], Iterable[Match]]
    compare: Callable[[Iterable[Match]], Hashable]
    mistakes: Callable[[Any], Iterable[tuple[str, Any]]]
    most: Mapping[str, int] = field(default_factory=dict)
    name: str | None = None  # if not the language
    output: Output = "valuations"
    axes: bool = True  # whether values of the hypotheses' axes are wrong meanings too

    @property
    def path(self) -> Path:
        """The file of the suite."""
        return FOLDER / f"{self.name or self.language}.jsonl"

    @property
    def interpretation(self) -> Interpretation:
        """The hypotheses of the language."""
        hypotheses = LANGUAGES[self.language].hypotheses
        assert hypotheses is not None
        return hypotheses()

    def wrong_meanings(self, query: Any) -> Iterator[tuple[str, Callable[[Stream], Iterable[Match]]]]:
        """Yield each wrong meaning of a query, with the function from a stream to its matches."""
        found = self.interpretation.found
        for axis in self.interpretation.axes.values() if self.axes else ():
            for value in axis.values[1:]:
                choices = choices_of({axis.name: value}, self.interpretation.axes)
                yield f"{axis.name}={value}", lambda S, c=choices: found(query, S, c, "valuations", Budget())
        for words, other in self.mistakes(query):
            yield words, lambda S, q=other: self.define(q, S)

    def differs(self, query: Any, wrong: Callable[[Stream], Iterable[Match]], S: Stream) -> bool:
        """Return whether a wrong meaning has another answer than the definition."""
        return self.compare(wrong(S)) != self.compare(self.define(query, S))

    def shorten(self, query: Any, wrong: Callable[[Stream], Iterable[Match]], S: Stream) -> Stream:
        """Return the stream without the events that are not needed to tell a wrong meaning apart."""
        log, i = list(S), 0
        while i < len(log):
            fewer = log[:i] + log[i + 1 :]
            if fewer and self.differs(query, wrong, Stream(fewer)):
                log, i = fewer, 0
            else:
                i += 1
        return Stream(log)

    def cases(self) -> Iterator[dict[str, Any]]:
        """Yield the cases of the suite."""
        seen: Counter[tuple[str, str]] = Counter()
        known: set[str] = set()
        for seed in range(self.seeds):
            feature, query, S = self.draw(seed)
            for words, wrong in self.wrong_meanings(query):
                if seen[feature, words] >= self.most.get(feature, 2) or not self.differs(query, wrong, S):
                    continue
                log = self.shorten(query, wrong, S)
                text, events = LANGUAGES[self.language].syntax.show(query), [json_of_event(event) for event in log]
                key = json.dumps([text, events])
                if key in known:
                    continue
                known.add(key)
                seen[feature, words] += 1
                yield {
                    "id": f"{self.language}/{feature}/{len(known)}",
                    "feature": feature,
                    "clause": f"{self.clause.format(feature)}; finds {words}",
                    "language": self.language,
                    "query": text,
                    "events": events,
                    "output": self.output,
                    "matches": [match.json() for match in sorted(self.define(query, log))],
                }
                break  # the next query is another

    def write(self) -> None:
        """Write the suite."""
        lines = [json.dumps(case, ensure_ascii=False, separators=(",", ":")) for case in self.cases()]
        self.path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        print(f"{self.language}: {len(lines)} cases, {self.path.stat().st_size:,} bytes")


# --- Funnels ---


def _funnel(seed: int) -> tuple[str, KeyedQuestion, Stream]:
    name = ("funnels", "chains", "modes", "modes", "sequences", "sequences")[seed % 6]
    query, S = funnel_cases.random_case(Random(seed), funnel_cases.PROFILES[name], 3, 8)
    return "sequence" if isinstance(query, SequenceQuestion) else query.mode or "funnel", query, S


def _without_events(found: Iterable[Match]) -> frozenset[Match]:
    return frozenset(replace(match, events=()) for match in found)


def _mistakes(query: KeyedQuestion) -> Iterator[tuple[str, KeyedQuestion]]:
    if query.by is not None:
        yield "without BY", replace(query, by=None)
    for i in range(len(query.steps) * (len(query.steps) > 1) * isinstance(query, FunnelQuestion)):
        yield "without a step", replace(query, steps=query.steps[:i] + query.steps[i + 1 :])
    for i, step in enumerate(query.steps):
        if step.predicate is not None:
            bare = replace(step, predicate=None)
            yield "without a condition", replace(query, steps=(*query.steps[:i], bare, *query.steps[i + 1 :]))
    if isinstance(query, SequenceQuestion):
        for one, other in (("<=", "<"), (">=", ">"), ("==", "<="), (".*", "."), ("<", "<="), (">", ">=")):
            changed = query.pattern.replace(one, other, 1)
            if changed != query.pattern and "==" not in changed.replace("(?t==", ""):
                try:
                    parse_sequence_pattern(changed)
                except Exception:  # a pattern that is none
                    continue
                yield f"{one} as {other}", replace(query, pattern=changed)
        return
    if query.mode is not None:
        yield from ((f"mode={mode}", replace(query, mode=mode)) for mode in FUNNEL_MODES if mode != query.mode)
    if query.window is not None and query.window.text.endswith("seconds"):
        width = int(query.window.text.split()[0])
        if width:
            yield "an open window", replace(query, window=parse_window(f"{width - 1} seconds"))
        yield "a wider window", replace(query, window=parse_window(f"{width + 1} seconds"))
    if query.between is not None:
        yield "without BETWEEN", replace(query, between=None)
    if query.start != "best":
        yield "START best", replace(query, start="best")
    if query.order == "strict":
        yield "ORDER time", replace(query, order="time")


def _kind(query: KeyedQuestion) -> str:
    if isinstance(query, SequenceQuestion):
        return "sequence"
    return query.mode or "funnel"


FUNNEL = MinedSuite(
    "funnel",
    "{}",
    12_000,
    _funnel,
    answer_by_key,
    _without_events,
    _mistakes,
)


# --- Sigma ---


MIXED = 6_000  # seeds of rules with all that there is; those of the others are of rules that every converter takes
PLAIN: tuple[CorrelationKind, ...] = ("event_count", "temporal", "temporal_ordered")


def _plain_rules(rng: Random, kind: CorrelationKind, single: bool) -> tuple[str, SigmaQuery, Stream]:
    """Return rules with one test each, and a correlation with a group that asks for two or more; single: of one."""
    profile = sigma_rules.SigmaProfile((kind,), False, False, False, ("gte", "gte", "eq"), False, kind in TEMPORAL)
    while True:
        query, S = sigma_rules.random_case(rng, profile, 3, 9)
        (outer,) = (rule for rule in query.rules if isinstance(rule, SigmaCorrelation))
        grouped = outer.group_by and all(bound > 1 for _, bound in outer.thresholds)
        if grouped and (len(outer.rules) == 1 or not single):
            return "plain", query, S


def _rules(seed: int) -> tuple[str, SigmaQuery, Stream]:
    if seed >= MIXED:
        return _plain_rules(Random(seed), PLAIN[seed % len(PLAIN)], seed % 6 == 0)
    kind, chained = KINDS[seed % len(KINDS)], seed % 10 == 9
    profile = sigma_rules.SigmaProfile((kind,), nested=chained, aliases=seed % 8 == 0, several=seed % 16 > 0)
    query, S = sigma_rules.random_case(Random(seed), profile, 3, 9)
    (outer,) = (rule for rule in query.rules if rule.name == "outer")
    assert isinstance(outer, SigmaCorrelation)
    return "chained" if any(isinstance(rule, SigmaCorrelation) for rule in outer.rules) else kind, query, S


SIGMA = MinedSuite(
    "sigma",
    "Sigma correlations 2.1, {}",
    MIXED + 900,
    _rules,
    lambda query, log: matches_of(query, log, Options("valuations")),
    lambda found: tuple(sorted(found)),
    lambda q: ((words.partition(": ")[2].partition(" ")[0], other) for words, other in sigma_rules.mutants_of(q)),
    {"value_sum": 1, "value_avg": 1, "value_percentile": 1, "chained": 1},
)


# --- What CEL has beyond the paper: PER KEY, and the loops that take what comes next ---


ADDED = ("perkey", "nplus", "until")


def _addition(seed: int) -> tuple[str, Formula, Stream]:
    rng, feature = Random(seed), ADDED[seed % len(ADDED)]
    own = [] if feature == "perkey" else [(feature, 8)]
    profile = replace(generate.CORE, operators=(*(one for one in generate.CORE.operators if one[0] != "filter"), *own))
    if feature == "perkey":
        more = [("unless", 3), ("strict", 1), ("start", 1), ("nxt", 1), ("last", 1), ("max", 1), ("filter", 2)]
        profile = replace(profile, operators=(*profile.operators, *more))
    while True:
        phi = generate.formula(rng, profile, rng.randint(3, 5))
        if feature == "perkey":
            if rng.random() < 0.3:
                phi = generate.inside(rng, phi, generate.add_event_window)
            phi = generate.inside(rng, phi, lambda rng, psi: cel.PerKey(psi, rng.choice((("k",), ("k",), ("k", "x")))))
            if rng.random() < 0.2:
                phi = generate.add_event_window(rng, phi)
        if any(isinstance(psi, ADDITIONS[feature]) for psi in subformulas(phi)):
            S = generate.clocked(rng, generate.stream(rng, profile, rng.randint(4, 8), phi))
            return feature, phi, Stream(Event(e.type, {n: v for n, v in e.attributes.items() if n in "kx"}) for e in S)


ADDITIONS: dict[str, type[Formula]] = {"perkey": cel.PerKey, "nplus": cel.NextPlus, "until": cel.Until}


def misread(query: Formula) -> Iterator[tuple[str, Formula]]:
    """The formulas that an engine may take for this one, with what it does wrong."""
    readings: list[tuple[str, type[Formula], Callable[[Any], Formula | None]]] = [
        ("PER KEY ignored", cel.PerKey, lambda p: p.phi),
        ("PER KEY as PARTITION BY", cel.PerKey, lambda p: reduce(cel.PartitionBy, p.attributes, p.phi)),
        ("the first name alone", cel.PerKey, lambda p: cel.PerKey(p.phi, p.attributes[:1])),
        ("the last name alone", cel.PerKey, lambda p: cel.PerKey(p.phi, p.attributes[-1:])),
        ("a window inside counts all events", cel.PerKey, _window_of_all),
        ("a window outside counts those of the key", cel.Within, _window_of_key),
        ("~+ as +", cel.NextPlus, lambda p: cel.Plus(p.phi)),
        ("~+ as :+", cel.NextPlus, lambda p: cel.ContiguousPlus(p.phi)),
        ("one round", cel.NextPlus, lambda p: p.phi),
        ("at least two rounds", cel.NextPlus, lambda p: cel.Seq(p.phi, cel.NextPlus(p.phi))),
        ("at most two rounds", cel.NextPlus, lambda p: cel.Or(p.phi, _two_next(p.phi))),
        ("as many rounds as there are", cel.NextPlus, lambda p: cel.Max(p)),
        ("the latest rounds", cel.NextPlus, lambda p: cel.Last(p)),
        ("the first round is the next one too", cel.NextPlus, lambda p: cel.Next(p)),
        ("the loop may go on", cel.Until, lambda p: cel.Seq(cel.NextPlus(p.left), p.right)),
        ("any rounds", cel.Until, lambda p: cel.Seq(cel.Plus(p.left), p.right)),
        ("rounds that are neighbours", cel.Until, lambda p: cel.Seq(cel.ContiguousPlus(p.left), p.right)),
        ("the end is no part of the match", cel.Until, lambda p: cel.NextPlus(p.left)),
        ("one round", cel.Until, lambda p: cel.Seq(p.left, p.right)),
        ("no round is needed", cel.Until, lambda p: cel.Or(p, p.right)),
        ("the end is a neighbour", cel.Until, lambda p: cel.ContiguousSeq(cel.NextPlus(p.left), p.right)),
        ("as many rounds as there are", cel.Until, lambda p: cel.Max(p)),
    ]
    for words, kind, local in readings:
        changed = instead(lambda p, k=kind, f=local: f(p) if isinstance(p, k) else None)(query)
        if changed != query:
            yield words, changed


def _two_next(phi: Formula) -> Formula:
    """Return two rounds, of which the second is the next one."""
    types = dict.fromkeys(psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom))
    end: Formula = reduce(cel.Or, [cast("Formula", cel.EventAtom(R)) for R in types])
    return cel.Seq(phi, cel.Unless(phi, cel.Seq(phi, end)))


def _window_of_all(phi: cel.PerKey) -> Formula | None:
    if isinstance(phi.phi, cel.Within) and isinstance(phi.phi.window, cel.EventWindow):
        return cel.Within(cel.PerKey(phi.phi.phi, phi.attributes), phi.phi.window)
    return None


def _window_of_key(phi: cel.Within) -> Formula | None:
    if isinstance(phi.phi, cel.PerKey) and isinstance(phi.window, cel.EventWindow):
        return cel.PerKey(cel.Within(phi.phi.phi, phi.window), phi.phi.attributes)
    return None


ADDED_TO_CEL = MinedSuite(
    "cel",
    "docs/decisions/per-key.md and loops.md, {}",
    8_000,
    _addition,
    lambda query, S: interpreter.matches_of(query, S, "matches", Budget()),
    frozenset,
    misread,
    {"perkey": 6, "nplus": 4, "until": 4},
    name="cel-additions",
    output="matches",
    axes=False,
)
SUITES = {suite.path.stem: suite for suite in (FUNNEL, SIGMA, ADDED_TO_CEL)}


if __name__ == "__main__":
    for name in sys.argv[1:] or SUITES:
        SUITES[name].write()
