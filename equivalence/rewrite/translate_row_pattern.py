"""Translate MATCH_RECOGNIZE into CEL, and contiguous CEL and SASE+ into MATCH_RECOGNIZE.

MATCH_RECOGNIZE reports one match for each row, CEL reports all matches. So a pattern is translated only if at most one
match can begin at each row, which `two_lengths` decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import permutations, repeat
from typing import Literal, TypeAlias, assert_never, cast

from cerify.automata.algebra.finite import minterms
from cerify.automata.row_pattern.compile import ACCEPT, Automaton, compile_pattern, expression_of, predicate_of
from cerify.equivalence.rewrite.translate_core_cel import Names
from cerify.equivalence.rewrite.translate_sase import sase_to_cel
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import Event
from cerify.semantics.predicates import Predicate, atoms, show_value
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import problems
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, RowDefinition, RowSkip
from cerify.semantics.sase import syntax as sase

_Shorter: TypeAlias = int | Literal["start", "ended"]


@dataclass(frozen=True)
class TwoLengths:
    """Rows on which two matches begin at the first row: one has the first `first` rows, the other has all rows.

    None stands for a row that the solver did not find.
    """

    events: tuple[Event | None, ...]
    first: int


def two_lengths(p: rows.Pattern, predicates: Mapping[str, Predicate], budget: Budget = Budget()) -> TwoLengths | None:
    """Return the fewest rows on which matches of two lengths begin at the first row; None if no rows do this.

    predicates: the predicate of each variable. Raises BudgetExceeded, and Unsupported for a pattern with ^ or $.
    """
    A = compile_pattern(p, budget)
    if any(way.start or way.end for ways in (A.first, *A.follow) for way in ways):
        raise Unsupported("CEL and SASE+ have no counterpart of `^` and `$`", p.span)
    names = [*predicates]
    letters = [
        (frozenset(names[i] for i in one.chosen), one.witness)
        for one in minterms([predicates[name] for name in names], None, budget)
    ]
    # the states of the shorter and of the longer match after the same rows
    pending: list[tuple[_Shorter, int | None, tuple[Event | None, ...], int]] = [("start", None, (), 0)]
    seen: set[tuple[_Shorter, int | None]] = set()
    for shorter, longer, events, first in pending:
        for chosen, event in letters:
            read = (*events, event)
            for b in _after(A, longer, chosen):
                if shorter == "ended" and _is_complete(A, b):
                    return TwoLengths(read, first)
                # The list grows while it is read, so the pairs come in the order of their numbers of rows, and the
                # first answer is a shortest one.
                for a in _shorter_after(A, shorter, chosen):
                    if (a, b) not in seen:
                        seen.add((a, b))
                        pending.append((a, b, read, first if shorter == "ended" else len(read)))
    return None


def _shorter_after(A: Automaton, state: _Shorter, chosen: frozenset[str]) -> list[_Shorter]:
    if state == "ended":
        return ["ended"]
    after: list[_Shorter] = [*_after(A, None if state == "start" else state, chosen)]
    ended = any(one != "start" and one != "ended" and _is_complete(A, one) for one in after)
    return [*after, "ended"] if ended else after


def _after(A: Automaton, state: int | None, chosen: frozenset[str]) -> list[int]:
    """Return the states after a row for which these variables are true; before the first row the state is None."""
    ways = A.first if state is None else A.follow[state]
    return [way.target for way in ways if way.target != ACCEPT and A.variables[way.target] in chosen]


def _is_complete(A: Automaton, state: int) -> bool:
    return any(way.target == ACCEPT for way in A.follow[state])


# ---------------------------------------------------------------------------------------------------------------------
# MATCH_RECOGNIZE in CEL: a contiguous formula whose complex events are the rows of the matches.
#
# A variable becomes an event with a filter; concatenation becomes `:`, alternation OR, repetition `:+`. CEL has all
# matches, MATCH_RECOGNIZE one for each row at which some begin. So the clause has to say AFTER MATCH SKIP TO NEXT ROW,
# and no match may be the beginning of another. MEASURES and the choice of output rows are left out.


def row_to_cel(q: MatchRecognize, budget: Budget = Budget()) -> cel.Formula:
    """Return a CEL formula whose complex events are the rows of the matches of q, on every stream.

    Raises Unsupported if CEL has no such formula or this translation finds none, and BudgetExceeded.
    """
    _require_plain(q)
    predicates = predicates_of(q)
    if (found := two_lengths(q.pattern, predicates, budget)) is not None:
        raise Unsupported(
            f"{lengths_text(found)}; MATCH_RECOGNIZE reports only one of these matches, CEL all", q.pattern.span
        )
    translation = _Translation(q, predicates, budget)
    phi, is_empty = translation.formula(q.pattern)
    if phi is None or is_empty:
        raise Unsupported(
            "the pattern may match no rows, but a complex event of CEL has at least one event", q.pattern.span
        )
    return phi


def lengths_text(found: TwoLengths) -> str:
    """Return a sentence that says that matches of two lengths may begin at one row, and shows the rows."""
    shown = " ".join("?" if event is None else _event_text(event) for event in found.events)
    return f"matches of {found.first} and of {len(found.events)} rows may begin at one row, as on {shown}"


def _event_text(event: Event) -> str:
    values = ", ".join(f"{name}={show_value(value)}" for name, value in event.attributes.items())
    return f"{event.type}({values})" if values else event.type


def _require_plain(q: MatchRecognize) -> None:
    if q.window is not None:
        raise Unsupported(
            "CEL and SASE+ have no counterpart of WINDOW, which has one match or none for each row", q.span
        )
    if q.longest:
        raise Unsupported("CEL and SASE+ have no longest match: leave OPTIONS out", q.span)
    if q.skip.to != "next row":
        raise Unsupported("matches of CEL overlap: write AFTER MATCH SKIP TO NEXT ROW", q.skip.span)
    if q.partition:
        raise Unsupported(
            "PARTITION BY cannot be translated: leave it out, and in CEL write (...) PER KEY [k] by hand; rows whose k "
            "is NULL form a partition in MATCH_RECOGNIZE, but have no key in CEL",
            q.partition[0].span,
        )
    if q.order:
        raise Unsupported("CEL reads the stream in its order: leave ORDER BY out", q.order[0].column.span)


def predicates_of(q: MatchRecognize) -> dict[str, pred.Predicate]:
    """Return each variable's predicate on a row. If no predicate names a type, all rows have the type ROW.

    Raises Unsupported for a condition that looks at more than its row.
    """
    found: dict[str, pred.Predicate] = dict.fromkeys(q.primary, pred.Anything())
    for A, condition in q.conditions.items():
        found[A] = predicate_of(condition, [U for U, members in q.unions.items() if A in members])
    if any(isinstance(atom, pred.OfType) for p in found.values() for atom in atoms(p)):
        return found
    return {A: pred.Both(pred.OfType(ROW), p) for A, p in found.items()}


class _Translation:
    """Builds the CEL formula for one clause."""

    def __init__(self, q: MatchRecognize, predicates: dict[str, pred.Predicate], budget: Budget) -> None:
        self.predicates, self.left = predicates, budget.states
        names = Names(frozenset(a.type for p in predicates.values() for a in atoms(p) if isinstance(a, pred.OfType)))
        self.events = {A: self._event(q, A, names) for A in q.primary}

    def _event(self, q: MatchRecognize, A: str, names: Names) -> cel.Formula:
        """Return the event for variable A: its type, with A's conditions as filters.

        IN binds the event to A, unless the type itself is called A.
        """
        conjuncts = list(_conjuncts(self.predicates[A]))
        types = [one.type for one in conjuncts if isinstance(one, pred.OfType)]
        rest = [one for one in conjuncts if not isinstance(one, pred.OfType | pred.Anything)]
        inside = any(isinstance(atom, pred.OfType) for one in rest for atom in atoms(one))
        if len(set(types)) != 1 or inside:
            span = next((one.span for one in q.define if one.variable == A), q.pattern.span)
            raise Unsupported(f"an event of CEL has a type: write the condition of {A} as type = '...' AND ...", span)
        R = types[0]
        phi: cel.Formula = cel.EventAtom(R)
        name = R if A == R else names.unused(A)
        phi = phi if name == R else cel.In(phi, name)
        return reduce(lambda psi, one: cel.Filter(psi, cel.Every(name, one)), rest, phi)

    def formula(self, p: rows.Pattern) -> tuple[cel.Formula | None, bool]:
        """Return the formula for the non-empty matches of p, and whether p may match no rows.

        The formula is None if p has no non-empty match.
        """
        self.left -= 1
        if self.left < 0:
            raise BudgetExceeded("the formula would be too large; lower the bounds of the quantifiers", p.span)
        match p:
            case rows.RowVariable(A):
                return self.events[A], False
            case rows.Empty():
                return None, True
            case rows.RowConcatenation(left, right):
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
                raise Unsupported("CEL has no counterpart of `^` and `$`", p.span)
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
        # Iterations that may match no rows can all be the empty ones, so one is enough however many are asked for.
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


# ---------------------------------------------------------------------------------------------------------------------
# A contiguous formula of CEL in MATCH_RECOGNIZE, and SASE+ with strict or partition contiguity.
#
# Each event gets a variable, whose condition has its type and the filters on the CEL variables that bind it. AFTER
# MATCH SKIP TO NEXT ROW lets matches overlap, as they do in CEL. MATCH_RECOGNIZE has one match for each row, so no
# match may be the beginning of another.


@dataclass(frozen=True)
class _Leaf:
    """An event: its type, the variables that bind it, and the conditions on it."""

    type: str
    names: frozenset[str]
    conditions: tuple[pred.Predicate, ...] = ()

    @property
    def predicate(self) -> pred.Predicate:
        """Return the predicate of the event: its type and all conditions."""
        return reduce(pred.Both, self.conditions, cast("pred.Predicate", pred.OfType(self.type)))


@dataclass(frozen=True)
class _Joined:
    """A sequence of two parts, or a choice between them."""

    left: _Part
    right: _Part
    kind: type[rows.RowConcatenation] | type[rows.Alternation]


@dataclass(frozen=True)
class _Repeated:
    """An iteration of at least one round."""

    part: _Part


_Part: TypeAlias = _Leaf | _Joined | _Repeated


def cel_to_row(phi: cel.Formula, budget: Budget = Budget()) -> MatchRecognize:
    """Return a clause whose matches have as rows the complex events of phi, on every stream.

    Raises Unsupported if there is no such clause or this translation finds none, and BudgetExceeded.
    """
    part = _part(phi, False)
    leaves = list(_leaves(part))
    names = Names(frozenset())
    predicates = dict.fromkeys(leaf.predicate for leaf in leaves)
    variables = {P: names.unused(next(one.type for one in leaves if one.predicate == P)) for P in predicates}
    pattern = _pattern(part, variables)
    if (found := two_lengths(pattern, {A: P for P, A in variables.items()}, budget)) is not None:
        text = lengths_text(found).replace("row", "event")
        raise Unsupported(f"{text}; CEL reports both, MATCH_RECOGNIZE only one of them", phi.span)
    define = tuple(RowDefinition(A, expression_of(P)) for P, A in variables.items())
    clause = MatchRecognize(pattern, define, skip=RowSkip("next row"))
    for problem in problems(clause):  # such as a comparison of constants of two kinds, which is never true in CEL
        raise Unsupported(f"the clause would not be well-formed: {problem.message}", phi.span)
    return clause


def _part(phi: cel.Formula, strict: bool) -> _Part:
    """Return the formula as a _Part. strict: whether it is under STRICT, so that all events of a match are adjacent."""
    match phi:
        case cel.EventAtom(R):
            return _Leaf(R, frozenset({R}))
        case cel.In(psi, A):
            return _mapped(_part(psi, strict), lambda leaf: replace(leaf, names=leaf.names | {A}))
        case cel.Filter(psi, condition):
            return _filtered(_part(psi, strict), condition)
        case cel.ContiguousSeq(left, right):
            return _Joined(_part(left, strict), _part(right, strict), rows.RowConcatenation)
        case cel.ContiguousPlus(psi):
            return _Repeated(_part(psi, strict))
        case cel.Seq(left, right) if strict:
            return _Joined(_part(left, strict), _part(right, strict), rows.RowConcatenation)
        case cel.Plus(psi) if strict:
            return _Repeated(_part(psi, strict))
        case cel.Or(left, right):
            return _Joined(_part(left, strict), _part(right, strict), rows.Alternation)
        case cel.Strict(psi):
            return _part(psi, True)
        case cel.Seq() | cel.Plus():
            raise Unsupported(
                "rows of a match are adjacent: write `:` and `:+`, or put STRICT around the formula. A pattern such as "
                "`A {- X*? -} B` allows gaps, but has other matches than `;`: see docs/guide/row-relations.md",
                phi.span,
            )
        case _:
            raise Unsupported("only events, FILTER, IN, OR, `:`, `:+` and STRICT are translated", phi.span)


def _filtered(part: _Part, condition: cel.Condition) -> _Part:
    match condition:
        case cel.Every(A, P):

            def limited(leaf: _Leaf) -> _Leaf:
                return replace(leaf, conditions=(*leaf.conditions, P)) if A in leaf.names else leaf

            return _mapped(part, limited)
        case cel.Conjunction(left, right):
            return _filtered(_filtered(part, left), right)
        case _:
            raise Unsupported("only filters on single events, without OR, are translated", condition.span)


def _mapped(part: _Part, change: Callable[[_Leaf], _Leaf]) -> _Part:
    match part:
        case _Leaf():
            return change(part)
        case _Joined(left, right, kind):
            return _Joined(_mapped(left, change), _mapped(right, change), kind)
        case _Repeated(inner):
            return _Repeated(_mapped(inner, change))


def _leaves(part: _Part) -> list[_Leaf]:
    match part:
        case _Leaf():
            return [part]
        case _Joined(left, right):
            return [*_leaves(left), *_leaves(right)]
        case _Repeated(inner):
            return _leaves(inner)


def _pattern(part: _Part, variables: dict[pred.Predicate, str]) -> rows.Pattern:
    match part:
        case _Leaf():
            return rows.RowVariable(variables[part.predicate])
        case _Joined(left, right, kind):
            return kind(_pattern(left, variables), _pattern(right, variables))
        case _Repeated(inner):
            return rows.Quantified(_pattern(inner, variables), 1, None)


# --- SASE+ ------------------------------------------------------------------------------------------------------------


def sase_to_row(q: sase.Tree, reading: Reading = DECIDED, budget: Budget = Budget()) -> MatchRecognize:
    """Return a clause whose matches have the same rows as the matches of q, on every stream.

    Partition contiguity becomes PARTITION BY. In SASE+, rows without the attribute belong to no partition; in the
    clause they form one, so no variable matches them. Raises the errors of cel_to_row.
    """
    if not isinstance(q, sase.SaseQuery) or not _in_partitions(q):
        return cel_to_row(sase_to_cel(q, reading), budget)
    is_compared = len(q.pattern) > 1 or q.pattern[0].kleene  # a single event may lack the attribute
    conditions = [c.condition for block in q.where for c in block.conjuncts]
    attributes = tuple(one.attribute for one in conditions if isinstance(one, sase.Equivalence))
    blocks = tuple(
        replace(block, strategy="strict_contiguity", conjuncts=tuple(c for c in block.conjuncts if not _is_test(c)))
        for block in q.where
    )
    clause = cel_to_row(sase_to_cel(replace(q, where=blocks), reading), budget)
    if not is_compared:
        return clause
    there = [rows.IsNull(rows.RowColumn(name), negated=True) for name in attributes]
    return replace(
        clause,
        partition=tuple(map(rows.RowColumn, attributes)),
        define=tuple(replace(one, condition=reduce(rows.RowAnd, there, one.condition)) for one in clause.define),
    )


def _in_partitions(q: sase.SaseQuery) -> bool:
    """Return whether q has [attribute] tests, and partition contiguity for all components."""
    tests = [c for block in q.where for c in block.conjuncts if _is_test(c)]
    return bool(tests) and all(block.strategy == "partition_contiguity" for block in q.where)


def _is_test(conjunct: sase.Conjunct) -> bool:
    return isinstance(conjunct.condition, sase.Equivalence)
