"""Claims of vldb92 about occurrence tuples: appendix 1, clause by clause, against the meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import broken
from proofs_tests.claims import printed_vldb92 as printed
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.printed_vldb92 import MENDED, Reading, takes_place
from proofs_tests.claims.vldb92_search import all_such, difference, expressions, histories

ROOTS: dict[str, tuple[type[expr.Expression], Reading, str | None]] = {
    "event": (expr.Primitive, replace(MENDED, starts_earlier=False), "f_i <= e_i, instead of f_i = e_i"),
    "relative": (
        expr.Relative,
        replace(MENDED, effective=False),
        "the event at which the last round of relative+ ends",
    ),
    "relative+": (expr.RelativePlus, MENDED, None),
    "and": (
        expr.ExpressionAnd,
        replace(MENDED, effective=False),
        "the event at which the last round of relative+ ends",
    ),
    "not": (expr.ExpressionNot, MENDED, None),
}
PARTS = (
    "no tuple of A runs from f_k to e_k. One that ends earlier belongs to a part of the sub-history, and would "
    "forbid !A at every later event"
)
OPERANDS = (
    "its operands have the tuples of the corrected clauses; with the printed clause for an event, an operand "
    "may have none"
)
EFFECTIVE = (
    "the e_1 of a round (clause 3.4 uses succ(e_1), clause 3.5 its eid) is its effective one, as clause 3 says "
    "of e_k. So is the E entry of the last paragraph if E is relative+: read literally it is a sequence of "
    "tuples, and relative+ would take place nowhere. Clauses 2 and 4 have the same slip; clause 3 has the word"
)
SILENT = "if an operand is relative+, the printed clause says nothing about its tuples, and we take it as not satisfied"
READINGS = {
    "event": None,
    "not": f"{PARTS}; {OPERANDS}",
    "relative+": f"{EFFECTIVE}; {OPERANDS}",
    **dict.fromkeys(("relative", "and"), f"{SILENT}; {OPERANDS}"),
}


def _clause(name: str, root: type[expr.Expression], as_printed: Reading, correction: str | None) -> None:
    """The clause as printed; what else is wrong in print is mended, so that each clause answers for itself."""
    title = f"occurrence tuples of {name} exist where it takes place"

    @claim(f"vldb92.occ:{name}", title, "definition", READINGS[name])
    def check(effort: Effort) -> Finding:
        nodes, length = (4, 3) if effort == "quick" else (5, 4)
        Es = [E for E in expressions(nodes) if isinstance(E, root)]

        def by(reading: Reading, E: expr.Expression, h: tuple[str, ...]) -> frozenset[int]:
            return takes_place(E, Stream(map(Event, h)), reading)

        found, _ = difference(product(Es, histories(length)), lambda E, h: by(as_printed, E, h))
        still, cases = difference(product(Es, histories(length)), lambda E, h: by(MENDED, E, h))
        bound = f"{cases} cases: {all_such(name, nodes)}, all histories to {length} events"
        status: Status = "refuted" if still is not None else "holds" if found is None else "holds-corrected"
        return Finding(status, "exhaustive", bound, still or found, correction if found else None)


for _name, _entry in ROOTS.items():
    _clause(_name, *_entry)


WRONG_CLAUSES: dict[str, tuple[str, Callable[..., frozenset[printed.Pair]]]] = {
    "event": (
        "corrected, it is found only where it begins",
        lambda right, E, S, reading: right(E, S, replace(reading, starts_earlier=False)),
    ),
    "relative": (
        "B may begin at any event after A",
        lambda right, E, S, reading: frozenset(
            (f, e) for f, d in right(E.parts[0], S, reading) for g, e in right(E.parts[1], S, reading) if g > d
        ),
    ),
    "relative+": ("one round only", lambda right, E, *rest: right(E.operand, *rest)),
    "and": ("the right side is not asked", lambda right, E, *rest: right(E.left, *rest)),
    "not": ("a tuple of A that ends earlier counts too", lambda right, E, *rest: _without_earlier(right(E, *rest))),
}


def _without_earlier(pairs: frozenset[printed.Pair]) -> frozenset[printed.Pair]:
    return frozenset((f, e) for f, e in pairs if all((f, d) in pairs for d in range(f, e)))


def _instead(
    name: str, clause: Callable[..., frozenset[printed.Pair]]
) -> Callable[[Callable[..., frozenset[printed.Pair]]], Callable[..., frozenset[printed.Pair]]]:
    return lambda right: broken.for_root(ROOTS[name][0], lambda *given: clause(right, *given))(right)


for _name, (_what, _wrong) in WRONG_CLAUSES.items():
    plant(f"vldb92.occ:{_name}", _what, printed, "_pairs", _instead(_name, _wrong))
