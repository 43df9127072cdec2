"""Why a formula on an edge of an NFA^b holds, or does not, of the event that a run looks at: in words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.instances import values_in
from cerify.automata.nfab.moves import Configuration, Runs, selected
from cerify.explanations.evidence import value_text
from cerify.semantics.events import TIME
from cerify.semantics.predicates import Predicate, mentions
from cerify.semantics.sase.show import show_attribute, show_condition

NONE_LEFT = "no event is left"


class FormulaEvidence:
    """What makes the formulas of transitions true or false at a configuration of the runs over one stream."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs

    def why(self, label: nfab.Label, now: Configuration) -> tuple[str, ...]:
        """What makes the formula of that name true, or false; each fact once."""
        return tuple(dict.fromkeys(self._theta(label, now)))

    def _theta(self, label: nfab.Label, now: Configuration) -> Iterator[str]:
        if now.at == len(self.runs.S):
            if label.part in ("begin", "take", "ignore"):
                yield NONE_LEFT
                return
            if label.part == "auto-stop" and self.runs.reading.stream_end == "waits":
                yield f"{NONE_LEFT}, and it waits for more"
                return
        f = self.runs.A.theta[label]
        if label.part == "ignore" and isinstance(f, nfab.Truth):
            yield "every event may be skipped" if f.value else "no event may be skipped"
        else:
            yield from self._formula(f, now)

    def _formula(self, f: nfab.Formula, now: Configuration) -> Iterator[str]:
        holds = self.runs.formula(f, now)
        match f:
            case nfab.Truth(value):
                yield "always" if value else "never"
            case nfab.Negation(inner):
                yield from self._formula(inner, now)
            case nfab.Conjunction(parts):
                yield from self._parts(parts, now, holds, all_=holds)
            case nfab.Disjunction(parts):
                yield from self._parts(parts, now, holds, all_=not holds)
            case nfab.Theta(label):
                yield from self._theta(label, now)
            case nfab.Typed(_, type_) if now.at < len(self.runs.S):
                found = self.runs.S[now.at].type
                yield f"event {now.at} is of type {found}" + ("" if holds else f", not {type_}")
            case nfab.Test(p, state):
                yield self._test(p, state, now, holds)
            case nfab.Elapsed(_, first, window, _, over) if now.at < len(self.runs.S):
                yield self._elapsed(first, window.seconds, now, holds != over)
            case nfab.Typed() | nfab.Elapsed():
                yield NONE_LEFT
            case _:
                assert_never(f)

    def _parts(self, parts: tuple[nfab.Formula, ...], now: Configuration, holds: bool, all_: bool) -> Iterator[str]:
        """All parts, where all are needed; else the first that decides."""
        deciding = parts if all_ else [part for part in parts if self.runs.formula(part, now) == holds][:1]
        for part in deciding:
            yield from self._formula(part, now)

    def _test(self, p: Predicate, state: nfab.State | None, now: Configuration, holds: bool) -> str:
        text = f"{show_condition(p)} {'holds' if holds else 'does not hold'}"
        if state is not None and now.at == len(self.runs.S):
            return f"{text}: {NONE_LEFT}"
        buffer = now.buffer if state is None else selected(now, state.variable)
        value = values_in(buffer, self.runs.S, self.runs.operations)
        shown = dict.fromkeys(f"{show_attribute(a)} is {value_text(value(a))}" for a in mentions(p))
        return f"{text}: {', '.join(shown)}" if shown else text

    def _elapsed(self, first: nfab.State, seconds: float, now: Configuration, inside: bool) -> str:
        start = dict(now.buffer)[first.variable][0]
        time = self.runs.S[now.at].get(TIME)
        if time is None or self.runs.S[start].get(TIME) is None:
            return f"event {now.at if time is None else start} has no time"
        where = "within" if inside else "not within"
        return f"event {now.at} is {where} {seconds} seconds of event {start}"
