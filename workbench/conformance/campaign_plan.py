"""The plan of a campaign: plain data that is sent to workers, and the numbered cases that it stands for.

Case i of a plan is the same in every process and in every call. With one part it is case i of the same campaign in one
process (`cerify fuzz` with that seed), where `together` is 1.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, Literal

from cerify.conformance.campaigns import Streams, built_in, definition, plan_of
from cerify.equivalence.differential.campaign import Plan
from cerify.equivalence.differential.judge import Evaluator, Output, Query
from cerify.languages import language_named
from cerify.semantics.budget import Budget
from cerify.semantics.errors import InputError
from cerify.semantics.events import Stream

TOGETHER = 8  # cases that share their query, where a campaign is to be large
TRIES = 400  # questions to an evaluator for each disagreement that is shrunk

Asked = Literal["matches", "valuations", "both", "alternate"]
"""The outputs compared on a case; alternate: one of the two, in turns."""


@dataclass(frozen=True)
class Part:
    """A language with one of its profiles, the outputs compared, and its share of the campaign, as a weight."""

    language: str
    profile: str
    output: Asked = "matches"
    share: int = 1


AUTOMATA = (
    Part("cel", "everything", "alternate", 36),
    Part("cel", "typed-everything", "alternate", 18),
    Part("cel", "windows", "alternate", 34),
    Part("core-cel", "core", share=4),
    Part("core-cel", "strategies", share=4),
    Part("core-cel", "everything", share=4),
)
MIXES: Mapping[str, tuple[Part, ...]] = {
    "automata": AUTOMATA,
    "all": (
        *AUTOMATA,
        *(Part("sase", profile, share=8) for profile in language_named("sase").generator().profiles),
        *(
            Part("event-expression", profile, share=6)
            for profile in language_named("event-expression").generator().profiles
        ),
    ),
}
"""Campaigns over several languages, each with every operator: CEL and core-CEL; these, SASE+ and event expressions."""


@dataclass(frozen=True)
class Job:
    """A campaign, all but how many cases it has.

    evaluators: the built-in ones that are held against the definition; each language has those of these names.
    engine: the command that starts an engine under test, empty for none. together: how many cases in a row share their
    query. valuations: the budget of the definition; states and matches: that of the evaluators; seconds: what each has
    for a case; memory: MiB that an engine may use, or the built-in evaluators of a worker; restarts: of an engine, by
    each worker.
    """

    parts: tuple[Part, ...]
    evaluators: tuple[str, ...]
    engine: tuple[str, ...] = ()
    seed: int = 0
    nodes: int = 12
    events: int = 10
    streams: Streams = "guided"
    together: int = 1
    valuations: int = 20_000
    states: int = 3_000
    matches: int = 20_000
    seconds: float = 10.0
    memory: int = 2048
    restarts: int = 50

    def text(self) -> str:
        """The job as JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True)

    @classmethod
    def of_text(cls, text: str) -> Job:
        """The job that text() wrote. Raises InputError."""
        try:
            obj: dict[str, Any] = json.loads(text)
            parts = tuple(Part(**part) for part in obj.pop("parts"))
            return cls(parts, tuple(obj.pop("evaluators")), tuple(obj.pop("engine")), **obj)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"this is not the plan of a campaign: {error!r}") from None

    def part(self, index: int) -> Part:
        """The part that a case belongs to; cases that share their query have the same."""
        if len(self.parts) == 1:
            return self.parts[0]
        rng = Random(f"{self.seed}/part/{index // self.together}")
        return rng.choices(self.parts, [part.share for part in self.parts])[0]

    def case(self, index: int) -> tuple[Part, Query, Stream, tuple[Output, ...]]:
        """The case of that number: its part, its query and stream, and which outputs are asked for."""
        part = self.part(index)
        phi, S = self.plans[part].case(index)
        return part, phi, S, asked_of(part, index)

    @cached_property
    def plans(self) -> Mapping[Part, Plan]:
        """Of each part the campaign of one process; its right evaluator is the definition itself, until replaced."""
        return {part: self._plan(part) for part in self.parts}

    def _plan(self, part: Part) -> Plan:
        return plan_of(
            language_named(part.language),
            part.profile,
            self.streams,
            self.definition(part),
            cases=0,
            seed=self.seed,
            nodes=self.nodes,
            events=self.events,
            together=self.together,
            tries=TRIES,
        )

    def definition(self, part: Part) -> Evaluator:
        """The evaluator that the others are compared with."""
        return definition(language_named(part.language), Budget(valuations=self.valuations))

    def built_in(self, part: Part) -> Mapping[str, Evaluator]:
        """The built-in evaluators under test."""
        own = built_in(language_named(part.language), Budget(states=self.states, matches=self.matches))
        return {name: own[name] for name in self.evaluators if name in own}


def asked_of(part: Part, index: int) -> tuple[Output, ...]:
    """The outputs that are asked of a case."""
    match part.output:
        case "both":
            return "matches", "valuations"
        case "alternate":
            return ("valuations",) if index % 2 else ("matches",)
        case output:
            return (output,)
