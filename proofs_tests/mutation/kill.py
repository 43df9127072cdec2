"""What tells a mutant from the semantics: a law that it breaks, and a case of the conformance suite that it fails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path
from types import ModuleType

from cerify.conformance.cases import load
from cerify.conformance.model import Case
from cerify.equivalence.rewrite.laws import LAWS, Law
from cerify.semantics.cel import denote
from cerify.semantics.cel.denote import Valuations, sup
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import Formula, subformulas
from cerify.semantics.events import Event, Match, Stream, bindings_of
from cerify.semantics.json_events import schema_of_json, stream_of_json
from proofs_tests.mutation.patches import KINDS, Patch, patched

SOURCE = Path(denote.__file__).read_text(encoding="utf-8")
Meaning = Callable[[Formula, int, int], Valuations]

OPERANDS = tuple(map(parse, ("A", "A+ IN X", "A IN X ; B", "PROJECT[X](A IN X ; B)", "A OR (A ; A)")))
STREAMS = tuple(
    Stream(Event(R, {"x": x, "y": y, "time": 40 * n}) for n, (R, x, y) in enumerate(zip(types, xs, ys, strict=True)))
    for types, xs, ys in (
        ("AAA", (1, 0, 1), (1, 1, 0)),
        ("ABAB", (1, 1, 0, 1), (0, 1, 1, 1)),
        ("ACAB", (1,) * 4, (1,) * 4),
    )
)


@dataclass(frozen=True)
class Killed:
    """What kills a mutant: the name of a law and the id of a case, each None if there is none."""

    patch: Patch
    law: str | None
    case: str | None


def killed(patch: Patch) -> Killed:
    """The first law and the smallest case that tell the mutant from the semantics. Raises DoesNotApply."""
    mutant = module_of(patched(SOURCE, patch))
    kinds = KINDS[patch.clause]
    law = next((law.name for law in laws() if concerns(law, kinds) and breaks(mutant, law)), None)
    found = next(
        (c.id for c, phi, S in cases() if uses(phi, kinds) and answers(mutant, phi, S, c) != set(c.matches)), None
    )
    return Killed(patch, law, found)


def module_of(source: str) -> ModuleType:
    """A fresh module with this source."""
    module = ModuleType("mutant_of_denote")
    exec(compile(source, "mutant of denote.py", "exec"), module.__dict__)
    return module


def meaning_of(module: ModuleType, S: Stream) -> Meaning:
    """The meaning by the module's clauses alone, without what its interpreter does to be quick."""
    known: dict[tuple[int, int, int], Valuations] = {}

    def meaning(phi: Formula, i: int, j: int) -> Valuations:
        key = (id(phi), i, j)
        if key not in known:
            known[key] = frozenset(module.clause(phi, S, i, j, meaning))
        return known[key]

    return meaning


def uses(phi: Formula, kinds: tuple[type, ...]) -> bool:
    """Whether one of the operators is in the formula."""
    return any(isinstance(psi, kinds) for psi in subformulas(phi))


# --- laws -------------------------------------------------------------------------------------------------------------


@cache
def laws() -> tuple[Law, ...]:
    """The laws that hold, those with the fewest letters first."""
    return tuple(sorted((law for law in LAWS if law.holds), key=lambda law: len(law.letters)))


def concerns(law: Law, kinds: tuple[type, ...]) -> bool:
    """Whether the law itself has one of the operators."""
    return uses(law.left, kinds) or uses(law.right, kinds)


def breaks(module: ModuleType, law: Law) -> bool:
    """Whether some instance of the law fails by the module's clauses."""
    operands = (ops for ops in product(OPERANDS[: 5 - len(law.letters)], repeat=len(law.letters)) if law.applies(*ops))
    sides = [law.instance(*ops) for ops in operands]
    for S in STREAMS:
        meaning = meaning_of(module, S)
        for left, right in sides:
            for n in range(len(S)):
                if _both(meaning, left, n, law) != _both(meaning, right, n, law):
                    return True
    return False


def _both(meaning: Meaning, phi: Formula, n: int, law: Law) -> object:
    mus = meaning(phi, 0, n)
    return mus if law.level == "valuations" else set(map(sup, mus))


# --- cases ------------------------------------------------------------------------------------------------------------


@cache
def cases() -> tuple[tuple[Case, Formula, Stream], ...]:
    """The cases of the suite with their formulas and streams, the smallest first."""
    found = [
        (c, parse(c.query), stream_of_json(c.events, schema_of_json(c.schema), c.id))
        for c in load(None)
        if c.language == "cel"
    ]
    return tuple(sorted(found, key=lambda triple: (len(triple[0].query) + 5 * len(triple[2]), triple[0].id)))


def answers(module: ModuleType, phi: Formula, S: Stream, case: Case) -> set[Match]:
    """What the module's clauses report."""
    meaning = meaning_of(module, S)
    return {
        Match(n, tuple(sorted(sup(mu))), bindings_of(mu) if case.output == "valuations" else None)
        for n in range(len(S))
        for mu in meaning(phi, 0, n)
    }
