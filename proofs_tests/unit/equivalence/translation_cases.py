"""A translation tried on random cases: there, back again, and both held against the denotational interpreters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Literal

from cerify.equivalence.generate import cel as generate
from cerify.equivalence.generate import core_cel as generate_core_cel
from cerify.equivalence.rewrite.translate_core_cel import to_cel, to_core_cel
from cerify.semantics.arguments import Budget
from cerify.semantics.cel.interpreter import matches_of
from cerify.semantics.cel.syntax import show as show_cel
from cerify.semantics.core_cel.interpreter import matches_of as core_matches_of
from cerify.semantics.core_cel.syntax import show as show_core_cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Match, Stream

BUDGET = Budget(valuations=200_000, states=5_000)
NODES, EVENTS = 10, 6

Outcome = Literal["agree on some match", "agree that there is none", "differ", "refused", "over budget"]


@dataclass(frozen=True)
class Side:
    """A language: its meaning, its text, and the translation from it."""

    matches: Callable[..., list[Match]]
    show: Callable[[Any], str]
    translate: Callable[..., Any]


CEL = Side(matches_of, show_cel, to_core_cel)
CORE_CEL = Side(lambda phi, S, _, budget: core_matches_of(phi, S, budget), show_core_cel, to_cel)

Case = tuple[Any, Stream]
SOURCES: dict[str, tuple[Side, Side, Callable[[Random], Case]]] = {}
"""Where cases come from: the language, the other one, and a random case."""

# Iterations whose filters speak of what is around them, with few values, so that they hold now and then.
AROUND = replace(
    generate_core_cel.CORRELATED,
    types=("A", "B"),
    attributes=(("x", (0, 1)), ("y", (0, 1))),
    operators=(("seq", 5), ("or", 5), ("plus", 5), ("filter", 8)),
    correlated=0.5,
    safe=False,
)
STAR = replace(generate.CORE, operators=(("seq", 6), ("or", 4), ("plus", 4), ("in", 3), ("filter", 6)))
SELECTING = replace(
    STAR,
    correlated=0.2,
    operators=(*STAR.operators, ("strict", 1), ("nxt", 1), ("last", 1), ("max", 1), ("project", 1)),
)


def _core(profile: generate_core_cel.CoreProfile) -> Callable[[Random], Case]:
    return lambda rng: generate_core_cel.case(rng, profile, NODES, EVENTS)


def _cel(profile: generate.CelProfile) -> Callable[[Random], Case]:
    return lambda rng: generate.case(rng, profile, NODES, EVENTS)


for name, core_profile in {**generate_core_cel.CORE_CEL_PROFILES, "around": AROUND}.items():
    SOURCES[f"core-cel {name}"] = (CORE_CEL, CEL, _core(core_profile))
for name, profile in {
    "star": STAR,
    "star correlated": replace(STAR, correlated=0.4),
    "selecting": SELECTING,
    **generate.PROFILES,
}.items():
    SOURCES[f"cel {name}"] = (CEL, CORE_CEL, _cel(profile))


@dataclass(frozen=True)
class Tried:
    """What became of a case, there and, where it came through, back again; and the formulas in text."""

    there: Outcome
    back: Outcome | None
    texts: tuple[str, ...]
    stream: Stream


def tried(source: str, seed: object) -> Tried:
    """A random case of a source, translated there and back."""
    side, other, case = SOURCES[source]
    phi, S = case(Random(f"{source}/{seed}"))
    try:
        expected = side.matches(phi, S, "matches", BUDGET)
    except BudgetExceeded:
        return Tried("over budget", None, (side.show(phi),), S)
    there, psi = compared(side, other, phi, S, expected)
    texts = (side.show(phi), *([other.show(psi)] if psi is not None else []))
    if psi is None:
        return Tried(there, None, texts, S)
    back, rho = compared(other, side, psi, S, expected)
    return Tried(there, back, (*texts, *([side.show(rho)] if rho is not None else [])), S)


def compared(side: Side, other: Side, phi: Any, S: Stream, expected: list[Match]) -> tuple[Outcome, Any]:
    """Whether phi, translated to the other language, has the matches expected; and the translation, if there is one."""
    try:
        psi = side.translate(phi, BUDGET)
    except Unsupported:
        return "refused", None
    except BudgetExceeded:
        return "over budget", None
    try:
        found = other.matches(psi, S, "matches", BUDGET)
    except BudgetExceeded:
        return "over budget", None
    if found != expected:
        return "differ", psi
    return ("agree on some match" if found else "agree that there is none"), psi


def all_tried(source: str, seed: int, cases: int) -> Iterator[Tried]:
    """Many cases of a source."""
    return (tried(source, f"{seed}/{i}") for i in range(cases))
