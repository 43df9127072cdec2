"""Decide for all streams whether two CEL formulas are equivalent, one contains the other, or one can match at all.

This is for formulas that an automaton can evaluate: unary ones (Definition 4.1), and those with windows that count
events.

The formulas are compiled over one algebra of predicates, whose types stand for all attribute values, and their automata
are compared as automata that read words. Each result has evidence: a difference comes with a stream on which the
denotational interpreters confirm it, sameness with a certificate that checker.py accepts.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from cerify.automata.algebra.finite import Algebra, Mask, minterms
from cerify.automata.cea.compile import compile_cel, generators
from cerify.automata.cea.model import CEA, Marks, seen_at, single_variable
from cerify.automata.cea.to_cel import star, to_cel
from cerify.automata.exploration import Subset, listed_pairs, subset
from cerify.equivalence.decide.replay import has_complex_event, replayed
from cerify.equivalence.verdict import Answer, Certificate, Claim, Contained, Equivalent, Level, Undecided, Verdict
from cerify.semantics.arguments import Budget, check_time, not_collecting
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import types_held
from cerify.semantics.cel.syntax import Formula, show
from cerify.semantics.errors import BudgetExceeded, InternalError, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Event, Schema, Stream
from cerify.semantics.predicates import Attribute, Both, Comparison, OfType, Predicate, Problem
from cerify.semantics.trees import children
from cerify.semantics.values import Value

# ---------------------------------------------------------------------------------------------------------------------
# Write two complex event automata as one finite automaton that reads words.
#
# A letter is a type of events with a set of marks, so a word is a stream with the marks of a run. Two automata have the
# same valuations everywhere exactly if they accept the same words, disregarding the empty word.

Letter: TypeAlias = int
"""Type t with the m-th set of marks is the letter t * len(marks) + m."""


@dataclass(frozen=True)
class MarkedNFA:
    """The disjoint union of two automata: the states of the right one come after those of the left.

    types: classes of events that neither automaton distinguishes. events: an example event of each class; None if z3
    could not decide whether there is one. A letter is a class together with one of `marks`, the variables that hold the
    event. steps: for each state, the next states after each letter.
    """

    types: tuple[Mask, ...]
    events: tuple[Event | None, ...]
    marks: tuple[Marks, ...]
    steps: tuple[Mapping[Letter, Subset], ...]
    left: Subset
    right: Subset
    final: Subset

    def after(self, subset: Subset) -> dict[Letter, Subset]:
        """Return, for each letter that leads anywhere from these states, the states to which it leads."""
        reached: dict[Letter, Subset] = {}
        while subset:
            lowest = subset & -subset
            for letter, targets in self.steps[lowest.bit_length() - 1].items():
                reached[letter] = reached.get(letter, 0) | targets
            subset ^= lowest
        return reached

    def event(self, letter: Letter) -> Event | None:
        """Return an event of the letter's type; None if z3 could not decide."""
        return self.events[letter // len(self.marks)]


def marked_nfa(A: CEA, B: CEA, algebra: Algebra, also: Iterable[Predicate] = ()) -> MarkedNFA:
    """Return both automata side by side, over one alphabet.

    The letters are the types of events that the predicates of the automata, and those in `also`, distinguish, each with
    the variables that mark the event. Raises BudgetExceeded.
    """
    types, types_of = distinguished(algebra, (*A.predicates, *B.predicates, *also))
    marks = tuple(dict.fromkeys(t.marks for t in (*A.transitions, *B.transitions)))
    number = {L: m for m, L in enumerate(marks)}
    steps: list[dict[Letter, Subset]] = [{} for _ in range(A.states + B.states)]
    for automaton, offset in ((A, 0), (B, A.states)):
        for t in automaton.transitions:
            step = steps[t.source + offset]
            for type_ in types_of[t.predicate]:
                letter = type_ * len(marks) + number[t.marks]
                step[letter] = step.get(letter, 0) | 1 << (t.target + offset)
    return MarkedNFA(
        types,
        tuple(simplest_event(algebra, type_) for type_ in types),
        marks,
        tuple(steps),
        subset(A.initial),
        subset(B.initial) << A.states,
        subset(A.final) | subset(B.final) << A.states,
    )


def distinguished(
    algebra: Algebra, predicates: Iterable[Predicate]
) -> tuple[tuple[Mask, ...], dict[Predicate, list[int]]]:
    """Return the types of events that the predicates distinguish, and for each predicate the numbers of its types."""
    masks = algebra.masks(dict.fromkeys(predicates))
    grouped: dict[tuple[bool, ...], Mask] = {}
    for i in range(len(algebra.atoms)):
        behaviour = tuple(bool(mask >> i & 1) for mask in masks.values())
        grouped[behaviour] = grouped.get(behaviour, 0) | 1 << i
    types = tuple(grouped.values())
    return types, {P: [t for t, type_ in enumerate(types) if type_ & mask] for P, mask in masks.items()}


def simplest_event(algebra: Algebra, type_: Mask) -> Event | None:
    """Return the event of a type with the fewest and shortest values; None if no event is known."""
    known = [a.witness for i, a in enumerate(algebra.atoms) if type_ >> i & 1 and a.witness is not None]
    return min(known, key=lambda e: (len(e.attributes), sum(map(_length, e.attributes.values()))), default=None)


def _length(value: Value) -> int:
    return len(str(value))


# ---------------------------------------------------------------------------------------------------------------------
# Search for a shortest word that exactly one of two sets of states accepts: bisimulation up to congruence.
#
# Determinization is lazy: pairs of sets of states are followed in step, breadth first. A pair is skipped if the pairs
# processed so far imply that its sets are equal, because unions of equal sets are equal (Bonchi and Pous, "Checking NFA
# equivalence with bisimulations up to congruence", POPL 2013). Pairs that still wait are not used for this. So if a
# skipped pair differs, a processed pair that is no deeper differs as soon; the first difference found is a shortest.

PAIRS_TOGETHER = 8  # between two looks at the clock

Pair: TypeAlias = tuple[Subset, Subset]
Relation: TypeAlias = list[Pair]


@dataclass(frozen=True)
class Separation:
    """A shortest word that exactly one of the two automata accepts."""

    word: tuple[Letter, ...]


def separate(
    automata: MarkedNFA, limit: int, contained: bool = False, known_events: bool = False
) -> Separation | Relation:
    """Return a shortest word that only one of the two automata accepts, or a proof that there is none.

    The proof is a list of pairs of sets of states that accept the same words. contained: search only words that the
    left accepts and the right does not. known_events: search only words for whose types an event is known. Raises
    BudgetExceeded after more than `limit` pairs.
    """
    relation: Relation = []
    parents: dict[Pair, tuple[Pair | None, Letter]] = {}
    # The left is contained in the right exactly if the union of both equals the right.
    start = (automata.left | automata.right if contained else automata.left, automata.right)
    pending = deque(_successors(automata, start, None, parents, known_events))
    number = 0
    while pending:
        if number % PAIRS_TOGETHER == 0:
            check_time()
        number += 1
        pair = pending.popleft()
        left, right = pair
        if bool(left & automata.final) != bool(right & automata.final):
            return Separation(_word(pair, parents))
        if left == right or normal_form(left, relation) == normal_form(right, relation):
            continue
        relation.append(pair)
        if len(relation) > limit or len(parents) > 10 * limit:
            raise BudgetExceeded(f"comparing needs more than {limit} states; allow more: Budget(states=...)")
        pending.extend(_successors(automata, pair, pair, parents, known_events))
    return relation


def normal_form(states: Subset, relation: Sequence[Pair]) -> Subset:
    """Return the largest set of states that accepts the same words as `states`, given that each pair in the relation
    does.
    """
    pending, grown = list(relation), True
    while grown:
        grown = False
        rest = []
        for left, right in pending:
            if left & ~states == 0 or right & ~states == 0:
                grown = grown or bool((left | right) & ~states)
                states |= left | right
            else:
                rest.append((left, right))
        pending = rest
    return states


def _successors(
    automata: MarkedNFA,
    pair: Pair,
    parent: Pair | None,
    parents: dict[Pair, tuple[Pair | None, Letter]],
    known_events: bool,
) -> list[Pair]:
    """Return the pairs that one letter reaches from a pair and that were not reached before."""
    left, right = automata.after(pair[0]), automata.after(pair[1])
    found = []
    # Sorted, so that of several shortest words the same one is found each time.
    for letter in sorted(left.keys() | right.keys()):
        successor = (left.get(letter, 0), right.get(letter, 0))
        if successor not in parents and not (known_events and automata.event(letter) is None):
            parents[successor] = (parent, letter)
            found.append(successor)
    return found


def _word(pair: Pair, parents: dict[Pair, tuple[Pair | None, Letter]]) -> tuple[Letter, ...]:
    letters: list[Letter] = []
    at: Pair | None = pair
    while at is not None:
        at, letter = parents[at]
        letters.append(letter)
    return tuple(reversed(letters))


NOTHING = CEA(0, (), frozenset(), frozenset())


def equivalent(
    phi: Formula, psi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> Verdict:
    """Decide whether phi and psi have the same matches at every position of every stream; `level` says what a match is.

    The level is complex events, valuations, or only whether there is a match. With a schema only its streams count. The
    answer is Equivalent, Different or Undecided.
    """
    return _compared(phi, psi, "equivalent", level, schema, budget)


def contained(
    phi: Formula, psi: Formula, level: Level = "events", schema: Schema | None = None, budget: Budget = Budget()
) -> Verdict:
    """Return Contained if psi has all matches of phi at the level, else Different or Undecided."""
    return _compared(phi, psi, "contained", level, schema, budget)


def shortest_match(phi: Formula, schema: Schema | None = None, budget: Budget = Budget()) -> Stream | None:
    """Return a shortest stream at whose last position the formula has a match; None if no stream has one.

    If z3 cannot decide whether some types of events exist, return a shortest stream without them. Raises Unsupported if
    no automaton can evaluate the formula, or if all matches need such types, and BudgetExceeded.
    """
    for algebra in algebras(phi, schema=schema, budget=budget):
        automata = marked_nfa(single_variable(compile_cel(phi, budget, algebra)), NOTHING, algebra)
        found = separate(automata, budget.states)
        if not isinstance(found, Separation):
            return None
        if (stream := stream_of(found, automata, schema)) is not None:
            return stream
    found = separate(automata, budget.states, known_events=True)
    if isinstance(found, Separation):
        return stream_of(found, automata, schema)
    raise Unsupported(undecidable_reason(schema))


def algebras(*formulas: Formula, schema: Schema | None, budget: Budget) -> Iterator[Algebra]:
    """Yield two algebras of the formulas' predicates: one without z3, which is rarely needed, and one with it."""
    predicates = [P for phi in formulas for P in generators(phi)]
    for solver in (False, True):
        yield Algebra(predicates, budget, schema, solver)


@not_collecting()
def _compared(phi: Formula, psi: Formula, claim: Claim, level: Level, schema: Schema | None, budget: Budget) -> Verdict:
    one_way = claim == "contained"
    try:
        for algebra in algebras(phi, psi, schema=schema, budget=budget):
            left, right = compile_cel(phi, budget, algebra), compile_cel(psi, budget, algebra)
            left, right = seen_at(left, level), seen_at(right, level)
            automata = marked_nfa(left, right, algebra)
            found = separate(automata, budget.states, one_way)
            if not isinstance(found, Separation):
                relation = tuple(listed_pairs(found))
                certificate = Certificate(claim, show(phi), show(psi), level, schema, algebra.solver, relation)
                return Contained(certificate) if one_way else Equivalent(certificate)
            if (stream := stream_of(found, automata, schema)) is not None:
                return replayed(phi, psi, stream, one_way, level, True, budget)
        found = separate(automata, budget.states, one_way, known_events=True)
        if isinstance(found, Separation) and (stream := stream_of(found, automata, schema)) is not None:
            return replayed(phi, psi, stream, one_way, level, False, budget)
        return Undecided(undecidable_reason(schema))
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def stream_of(found: Separation, automata: MarkedNFA, schema: Schema | None) -> Stream | None:
    """Return the stream of a word; None if no event is known for one of its types."""
    events = [automata.event(letter) for letter in found.word]
    known = [event for event in events if event is not None]
    return Stream(known, schema) if len(known) == len(events) else None


def undecidable_reason(schema: Schema | None) -> str:
    """Return the message for conditions that z3 cannot decide."""
    kinds = "give a schema with the types of the attributes, or " if schema is None else ""
    return (
        f"z3 could not decide whether one event can satisfy several of the conditions; {kinds}avoid arithmetic, "
        "unusual patterns, and patterns for attributes that are also compared with other attributes"
    )


# ---------------------------------------------------------------------------------------------------------------------
# Decide whether two complex event automata have the same valuations, or complex events, everywhere on every stream.


def difference(
    A: CEA,
    B: CEA,
    level: Level = "valuations",
    schema: Schema | None = None,
    one_way: bool = False,
    budget: Budget = Budget(),
) -> Stream | None:
    """Return a shortest stream at whose last position the two automata differ; None if they never do.

    one_way: whether only matches of A that B lacks count. Raises Unsupported if the solver cannot decide,
    and BudgetExceeded.
    """
    A, B = seen_at(A, level), seen_at(B, level)
    for solver in (False, True):
        algebra = Algebra((*A.predicates, *B.predicates), budget, schema, solver)
        automata = marked_nfa(A, B, algebra)
        found = separate(automata, budget.states, one_way)
        if not isinstance(found, Separation):
            return None
        if (stream := stream_of(found, automata, schema)) is not None:
            return stream
    raise Unsupported(undecidable_reason(schema))


# ---------------------------------------------------------------------------------------------------------------------
# Find parts of a formula that can never match: filters that no event passes, sub-formulas that match on no stream.


def satisfiable(phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()) -> bool | None:
    """Return whether the formula has a match on some stream; None if that could not be decided."""
    try:
        return shortest_match(phi, schema, budget) is not None
    except (Unsupported, BudgetExceeded):
        return None


def find_vacuous_parts(phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()) -> Iterator[Problem]:
    """Yield a problem for each filter that no event can pass, and for the innermost part that can never match."""
    impossible = list(_impossible_filters(phi, schema, budget))
    yield from impossible
    if not impossible and satisfiable(phi, schema, budget) is False:
        while (inner := _without_match(children(phi), schema, budget)) is not None:
            phi = inner
        both = (
            ": AND needs one match that both sides have; ALL joins a match of each side"
            if isinstance(phi, cel.And)
            else ""
        )
        yield Problem("never", f"this has no match on any stream{both}", phi.span)


def _impossible_filters(phi: cel.Formula, schema: Schema | None, budget: Budget) -> Iterator[Problem]:
    for psi in cel.subformulas(phi):
        if isinstance(psi, cel.Filter):
            held = types_held(psi.phi)
            for atom in cel.atoms(psi.condition):
                if isinstance(atom, cel.Every) and (types := held.get(atom.variable)):
                    some = [Both(OfType(R), atom.predicate) for R in sorted(types)]
                    if not any(minterm.chosen for minterm in minterms(some, schema, budget)):
                        yield Problem("never", f"no event of {atom.variable} can pass this filter", atom.span)


def _without_match(formulas: tuple[cel.Formula, ...], schema: Schema | None, budget: Budget) -> cel.Formula | None:
    return next((phi for phi in formulas if satisfiable(phi, schema, budget) is False), None)


# ---------------------------------------------------------------------------------------------------------------------
# Decide whether a formula can be written in CEL*: exactly if it has the *-property (tods21, Corollary 8.10).
#
# The *-property says that other events between the events of a match do not matter. A formula has it exactly if its
# automaton has the same complex events under the *-semantics (Proposition 8.8), which can be decided. Then the words of
# marked events are a regular language without the empty word. An expression for this language is a formula of CEL*
# (Theorem 8.9): `+` for repetition, `;` for concatenation, OR for union.

NEVER: Predicate = Comparison("<", Attribute(TIME), Attribute(TIME))


@dataclass(frozen=True, eq=False)
class InStar(Answer):
    """The formula is equivalent to this formula of CEL*, at the level of complex events."""

    phi: cel.Formula
    proof: Equivalent


@dataclass(frozen=True, eq=False)
class NotInStar(Answer):
    """The formula does not have the *-property, because other events decide whether some events are a match.

    matched, unmatched: two streams, each with the positions of the same events. These events are a match at the end of
    the first stream, but not of the second. unmatched is None if the match is not reported at its last event.
    """

    matched: tuple[Stream, ComplexEvent]
    unmatched: tuple[Stream, ComplexEvent] | None


def star_form(
    phi: cel.Formula, schema: Schema | None = None, budget: Budget = Budget()
) -> InStar | NotInStar | Undecided:
    """Return an equivalent formula of CEL*, or two streams that prove that there is none."""
    try:
        for algebra in algebras(phi, schema=schema, budget=budget):
            A = single_variable(compile_cel(phi, budget, algebra))
            automata = marked_nfa(A, star(A), algebra)
            found = separate(automata, budget.states)
            if not isinstance(found, Separation):
                B = star(A)
                psi = to_cel(B, "events", schema, budget) if B.states else _never(phi)
                # Decided once more, although the construction guarantees it: the answer then has a certificate.
                return _in_star(phi, psi, schema, budget)
            if (stream := stream_of(found, automata, schema)) is not None:
                return _sensitive(phi, found, automata, stream, budget)
        return Undecided(undecidable_reason(schema))
    except (Unsupported, BudgetExceeded) as error:
        return Undecided(error.message)


def _in_star(phi: cel.Formula, psi: cel.Formula, schema: Schema | None, budget: Budget) -> InStar | Undecided:
    """Return the formula that was built, with the proof that it is equivalent."""
    proof = equivalent(phi, psi, "events", schema, budget)
    match proof:
        case Equivalent():
            return InStar(psi, proof)
        case Undecided():
            return proof
        case _:
            raise InternalError(f"{show(phi)} was rewritten to {show(psi)}, which differs")


def _sensitive(phi: cel.Formula, found: Separation, automata: MarkedNFA, stream: Stream, budget: Budget) -> NotInStar:
    """Return two streams as evidence: the stream of a separation, and only its marked events.

    The reference evaluator decides on which of the two the marked events are a match.
    """
    C = frozenset(p for p, letter in enumerate(found.word) if automata.marks[letter % len(automata.marks)])
    alone = Stream([stream[p] for p in sorted(C)], stream.schema)
    sides = [(stream, C), (alone, frozenset(range(len(C))))]
    has = [has_complex_event(phi, S, C, budget) for S, C in sides]
    match has:
        case [True, _] if len(stream) - 1 not in C:
            return NotInStar(sides[0], None)
        case [True, False]:
            return NotInStar(sides[0], sides[1])
        case [False, True]:
            return NotInStar(sides[1], sides[0])
        case _:
            raise InternalError(
                f"by the search, a match of {show(phi)} depends on the events between its own on {list(stream)}; "
                "by the reference evaluator it does not"
            )


def _never(phi: cel.Formula) -> cel.Formula:
    """Return a formula of CEL* without a match."""
    R = next(psi.type for psi in cel.subformulas(phi) if isinstance(psi, cel.EventAtom))
    return cel.Filter(cel.EventAtom(R), cel.Every(R, NEVER))
