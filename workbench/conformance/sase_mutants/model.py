"""What a mutant of SASE+ is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from cerify.semantics.budget import Budget
from cerify.semantics.errors import CerifyError
from cerify.semantics.events import Match, Stream
from cerify.semantics.sase import program
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings

BUDGET = Budget(valuations=20_000, matches=2_000)
Answers: TypeAlias = Callable[[sase.Tree, Stream], "list[Match] | None"]


@dataclass(frozen=True)
class Mutant:
    """One way to be wrong: the answers of that engine, None where it is not another one on that query."""

    name: str
    answers: Answers


def wrong(feature: str, ways: Mapping[str, Answers]) -> tuple[Mutant, ...]:
    """The mutants that get a feature wrong, each by the way in which it does."""
    return tuple(Mutant(f"{feature}: {way}", found) for way, found in ways.items())


def answers(q: sase.Tree, S: Stream, mutant: Mutant | None = None) -> list[Match] | None:
    """The matches by the meaning, or by a mutant of it; None where it does not get that far."""
    try:
        return program.matches_of(q, S, bindings, budget=BUDGET) if mutant is None else mutant.answers(q, S)
    except CerifyError:
        return None
