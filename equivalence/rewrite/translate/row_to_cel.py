"""MATCH_RECOGNIZE in CEL: a contiguous formula whose complex events are the rows of the matches.

A variable is an event with a filter, a concatenation `:`, an alternation OR, a repetition `:+`. CEL has all matches,
MATCH_RECOGNIZE one for each row at which some begin. So the clause has to say AFTER MATCH SKIP TO NEXT ROW, and no
match may be the beginning of another. MEASURES and the choice of output rows are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import reduce
from itertools import permutations, repeat
from typing import assert_never

from cerify.automata.row_pattern.predicates import predicate_of
from cerify.equivalence.rewrite.translate.names import Names
from cerify.equivalence.rewrite.translate.one_length import TwoLengths, two_lengths
from cerify.semantics import predicates as pred
from cerify.semantics.budget import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.predicate_text import show_value
from cerify.semantics.predicates import atoms
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW, MatchRecognize


def row_to_cel(q: MatchRecognize, budget: Budget = Budget()) -> cel.Formula:
    """A CEL formula with the rows of the matches of q as its complex events, on every stream.

    Raises Unsupported where CEL has no such formula or this translation finds none, and BudgetExceeded.
    """
    _require_plain(q)
    predicates = predicates_of(q)
    if (found := two_lengths(q.pattern, predicates, budget)) is not None:
        raise Unsupported(f"{lengths_text(found)}; MATCH_RECOGNIZE has one of them, CEL all", q.pattern.span)
    translation = _Translation(q, predicates, budget)
    phi, is_empty = translation.formula(q.pattern)
    if phi is None or is_empty:
        raise Unsupported("the pattern may match no row, and a complex event of CEL has an event", q.pattern.span)
    return phi


def lengths_text(found: TwoLengths) -> str:
    """That matches of two lengths may begin at one row, with the rows."""
    shown = " ".join("?" if event is None else _event_text(event) for event in found.events)
    return f"matches of {found.first} and of {len(found.events)} rows may begin at one row, as on {shown}"


def _event_text(event: Event) -> str:
    values = ", ".join(f"{name}={show_value(value)}" for name, value in event.attributes.items())
    return f"{event.type}({values})" if values else event.type


def _require_plain(q: MatchRecognize) -> None:
    if q.window is not None:
        raise Unsupported("a clause of WINDOW has a match, or none, for each row of the table", q.span)
    if q.skip.to != "next row":
        raise Unsupported("matches of CEL overlap: write AFTER MATCH SKIP TO NEXT ROW", q.skip.span)
    if q.partition:
        raise Unsupported(
            "rows that are adjacent in a partition need not be so in the stream, to which CEL's `:` looks",
            q.partition[0].span,
        )
    if q.order:
        raise Unsupported("CEL reads the stream in its order: leave ORDER BY out", q.order[0].column.span)


def predicates_of(q: MatchRecognize) -> dict[str, pred.Predicate]:
    """The predicate of each variable on the row; where none names a type, the table has none, and its rows are ROW.

    Raises Unsupported for a condition that looks at more than its row.
    """
    found: dict[str, pred.Predicate] = dict.fromkeys(q.primary, pred.Anything())
    for A, condition in q.conditions.items():
        found[A] = predicate_of(condition, [U for U, members in q.unions.items() if A in members])
    if any(isinstance(atom, pred.OfType) for p in found.values() for atom in atoms(p)):
        return found
    return {A: pred.Both(pred.OfType(ROW), p) for A, p in found.items()}


class _Translation:
    """Builds the formula of one clause."""

    def __init__(self, q: MatchRecognize, predicates: dict[str, pred.Predicate], budget: Budget) -> None:
        self.predicates, self.left = predicates, budget.states
        names = Names(frozenset(a.type for p in predicates.values() for a in atoms(p) if isinstance(a, pred.OfType)))
        self.events = {A: self._event(q, A, names) for A in q.primary}

    def _event(self, q: MatchRecognize, A: str, names: Names) -> cel.Formula:
        """The event of a variable: of its type, with its conditions; the variable is the type if they have one name."""
        conjuncts = list(_conjuncts(self.predicates[A]))
        types = [one.type for one in conjuncts if isinstance(one, pred.OfType)]
        rest = [one for one in conjuncts if not isinstance(one, pred.OfType | pred.Anything)]
        inside = any(isinstance(atom, pred.OfType) for one in rest for atom in atoms(one))
        if len(set(types)) != 1 or inside:
            span = next((one.span for one in q.define if one.variable == A), q.pattern.span)
            raise Unsupported(f"an event of CEL has a type: let the condition of {A} be type = '...' AND ...", span)
        R = types[0]
        phi: cel.Formula = cel.Event(R)
        name = R if A == R else names.unused(A)
        phi = phi if name == R else cel.In(phi, name)
        return reduce(lambda psi, one: cel.Filter(psi, cel.Every(name, one)), rest, phi)

    def formula(self, p: rows.Pattern) -> tuple[cel.Formula | None, bool]:
        """The matches with rows, None if there are none, and whether p may match no row."""
        self.left -= 1
        if self.left < 0:
            raise BudgetExceeded("the formula would be too large; lower the bounds of the quantifiers", p.span)
        match p:
            case rows.Variable(A):
                return self.events[A], False
            case rows.Empty():
                return None, True
            case rows.Concatenation(left, right):
                return self._sequence([left, right])
            case rows.Alternation(left, right):
                (phi, empty), (psi, other) = self.formula(left), self.formula(right)
                return _either([phi, psi]), empty or other
            case rows.Permute(parts):
                found = [self._sequence(order) for order in permutations(parts)]
                return _either(phi for phi, _ in found), any(empty for _, empty in found)
            case rows.Quantified(inner, low, high):
                return self._repeated(inner, low, high)
            case rows.Exclusion(inner):
                return self.formula(inner)
            case rows.Anchor():
                raise Unsupported("CEL does not see where the stream begins and ends", p.span)
            case _:
                assert_never(p)

    def _sequence(self, parts: Iterable[rows.Pattern]) -> tuple[cel.Formula | None, bool]:
        phi: cel.Formula | None = None
        is_empty = True
        for part in parts:
            psi, other = self.formula(part)
            both = cel.ContiguousSeq(phi, psi) if phi is not None and psi is not None else None
            phi = _either([both, phi if other else None, psi if is_empty else None])
            is_empty = is_empty and other
        return phi, is_empty

    def _repeated(self, inner: rows.Pattern, low: int, high: int | None) -> tuple[cel.Formula | None, bool]:
        phi, empty = self.formula(inner)
        if phi is None or high == 0:
            return None, low == 0 or empty
        least = 1 if empty else max(low, 1)
        self.left -= least if high is None else high
        if self.left < 0:
            raise BudgetExceeded("the formula would be too large; lower the bounds of the quantifiers", inner.span)
        last: cel.Formula = cel.ContiguousPlus(phi) if high is None else phi
        for _ in repeat(None, 0 if high is None else high - least):
            last = cel.Or(phi, cel.ContiguousSeq(phi, last))
        return reduce(lambda psi, _: cel.ContiguousSeq(phi, psi), range(least - 1), last), low == 0 or empty


def _conjuncts(predicate: pred.Predicate) -> Iterator[pred.Predicate]:
    if isinstance(predicate, pred.Both):
        yield from _conjuncts(predicate.left)
        yield from _conjuncts(predicate.right)
    else:
        yield predicate


def _either(formulas: Iterable[cel.Formula | None]) -> cel.Formula | None:
    there = [phi for phi in formulas if phi is not None]
    return reduce(cel.Or, there) if there else None
