"""Random CEL formulas of a given size, and streams on which they are likely to match.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. The last part
simplifies formulas, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import accumulate
from random import Random
from typing import Any, TypeAlias, get_args

from cerify.automata.cea.compile import COMPILED_CEL
from cerify.automata.cea.model import CEA, Transition
from cerify.equivalence.generate.shrink import (
    FormulaShape,
    Generator,
    QueryOperations,
    parts,
    simpler_numbers,
    value_weight,
)
from cerify.equivalence.rewrite.trees import attribute_names, mapped, predicates, same
from cerify.semantics import predicates as pred
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import OPERATORS, Condition, Formula, show, size, subformulas
from cerify.semantics.errors import BudgetExceeded
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import Anything, OfType, Predicate, about, atoms, holds, mentions
from cerify.semantics.trees import Operator, children, index_by_name, ranks, rebuilt
from cerify.semantics.values import Value, value_type_of

BY_NAME = index_by_name(OPERATORS)
BINARY = {name: operator for name, operator in BY_NAME.items() if len(operator.node.operands) == 2}
COMPARATORS: tuple[pred.Comparator, ...] = get_args(pred.Comparator)
EQUALITIES: tuple[pred.Comparator, ...] = ("=", "!=")

Scope: TypeAlias = tuple[str, ...]  # the variables that a formula binds, which filters around it may use


@dataclass(frozen=True)
class CelProfile:
    """The parameters of random queries and streams.

    operators: their weights; operators without a weight are never chosen. attributes: every event type has all of them;
    the values of an attribute in streams and the constants in filters come from one pool. correlated: the share of
    filter atoms that compare attributes with each other. absent: the share of attribute values that a stream leaves
    out.
    """

    operators: tuple[tuple[str, int], ...]
    types: tuple[str, ...] = ("A", "B", "C")
    variables: tuple[str, ...] = ("X", "Y")
    attributes: tuple[tuple[str, tuple[Value, ...]], ...] = (("x", (0, 1, 2, 3, 4)), ("y", (0, 1, 2)))
    correlated: float = 0.0
    absent: float = 0.0

    @cached_property
    def schema(self) -> Schema:
        """Return the schema of the streams."""
        return Schema({R: {name: value_type_of(pool[0]) for name, pool in self.attributes} for R in self.types})

    @cached_property
    def choices(self) -> tuple[tuple[list[str], list[int]], tuple[list[str], list[int]]]:
        """Return two lists of operators with their cumulative weights: first the unary operators, then all operators.

        A formula of two nodes can have only a unary operator.
        """
        narrow = [(name, weight) for name, weight in self.operators if name not in BINARY]
        return _cumulative(narrow), _cumulative(self.operators)

    @cached_property
    def beyond(self) -> CelProfile:
        """Return the profile with two more numbers, below and above all others, so that any comparison can be true."""
        return replace(self, attributes=tuple((name, (*pool, *_neighbours(pool))) for name, pool in self.attributes))


def _neighbours(pool: tuple[Value, ...]) -> Sequence[Value]:
    numbers = [value for value in pool if isinstance(value, int | float) and not isinstance(value, bool)]
    return [min(numbers) - 1, max(numbers) + 1] if numbers else []


def _cumulative(weighted: Sequence[tuple[str, int]]) -> tuple[list[str], list[int]]:
    return [name for name, _ in weighted], list(accumulate(weight for _, weight in weighted))


CORE = CelProfile((("seq", 6), ("cseq", 4), ("or", 4), ("plus", 3), ("cplus", 3), ("in", 3), ("filter", 5)))
"""The fragment that the reference evaluator and the automaton share: R IN FILTER ; + : :+ OR with unary filters."""

CORRELATED = replace(CORE, correlated=0.4)
"""The core, with filters across variables."""

TYPED = replace(
    CORE,
    operators=(("seq", 4), ("cseq", 2), ("or", 2), ("plus", 3), ("cplus", 2), ("in", 2), ("filter", 9)),
    attributes=(
        ("x", (0, 1, 2, 3)),
        ("f", (0.0, 0.5, 1.0, 2.5)),
        ("s", ("", "a", "ab", "b")),
        ("b", (False, True)),
        ("t", tuple(datetime(2021, 1, day, tzinfo=UTC) for day in (1, 2, 3))),
    ),
    absent=0.1,
)
"""The core operators, with attributes of every value type, some of them absent."""

FIGURE_3 = replace(
    CORE,
    operators=(*CORE.operators, ("project", 2), ("start", 2), ("and", 2), ("all", 2), ("unless", 2)),
    correlated=0.2,
)
"""All operators of tods21, Figure 3."""

EVERYTHING = replace(FIGURE_3, operators=(*FIGURE_3.operators, ("strict", 1), ("nxt", 1), ("last", 1), ("max", 1)))
"""All operators of tods21, Figure 3, and the selection strategies of section 7.1."""

PROFILES = {
    "core": CORE,
    "correlated": CORRELATED,
    "typed": TYPED,
    "figure3": FIGURE_3,
    "everything": EVERYTHING,
}


def case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula of up to `nodes` nodes and a stream of up to `events` events; larger ones are more frequent."""
    phi = formula(rng, profile, max(rng.randint(1, nodes), rng.randint(1, nodes)))
    return phi, stream(rng, profile, max(rng.randint(1, events), rng.randint(1, events)), phi)


def formula(rng: Random, profile: CelProfile, nodes: int) -> Formula:
    """Return a formula of `nodes` nodes, as `cel.size` counts; of fewer if the operators allow none of that size."""
    return _formula(rng, profile, nodes)[0]


def stream(rng: Random, profile: CelProfile, length: int, phi: Formula | None = None) -> Stream:
    """Return a random stream of this length, mostly of event types in the formula."""
    types = types_asked(profile, phi)
    return Stream([event(rng, profile, types) for _ in range(length)], profile.schema)


def types_asked(profile: CelProfile, phi: Formula | None) -> list[str]:
    """Return the types of the profile, with the types in the formula repeated, so that they are chosen more often."""
    asked = sorted({psi.type for psi in subformulas(phi) if isinstance(psi, cel.EventAtom)}) if phi is not None else []
    return asked * 4 * len(profile.types) + [*profile.types] * len(asked) if asked else [*profile.types]


def event(rng: Random, profile: CelProfile, types: Sequence[str]) -> Event:
    """Return a random event of one of the types."""
    attributes = {name: rng.choice(pool) for name, pool in profile.attributes if rng.random() >= profile.absent}
    return Event(rng.choice(types), attributes)


def _formula(rng: Random, profile: CelProfile, nodes: int) -> tuple[Formula, Scope]:
    narrow, wide = profile.choices
    names, weights = wide if nodes > 2 else narrow
    if nodes == 1 or not names:
        R = rng.choice(profile.types)
        return cel.EventAtom(R), (R,)
    operator = rng.choices(names, cum_weights=weights)[0]
    if operator in BINARY:
        left_nodes = rng.randint(1, nodes - 2)
        left, left_scope = _formula(rng, profile, left_nodes)
        right, right_scope = _formula(rng, profile, nodes - 1 - left_nodes)
        return instance(rng, BINARY[operator])(left, right), (*left_scope, *right_scope)
    atoms = 2 if operator == "filter" and nodes > 2 and rng.random() < 0.3 else 1
    phi, scope = _formula(rng, profile, nodes - atoms)
    match operator:
        case "filter":
            return cel.Filter(phi, _condition(rng, profile, scope, atoms)), scope
        case "in":
            A = rng.choice(profile.variables if rng.random() < 0.85 else profile.types)
            return cel.In(phi, A), (*scope, A)
        case "project":
            kept = tuple(A for A in dict.fromkeys(scope) if rng.random() < 0.6)
            return cel.Project(frozenset(kept), phi), kept
    return instance(rng, BY_NAME[operator])(phi), scope


def instance(rng: Random, operator: Operator) -> Callable[..., Any]:
    """Return a function that builds a node of the operator from operands, with random values of its other fields."""
    made = operator.instances()
    return made[0] if len(made) == 1 else rng.choice(made)


def _condition(rng: Random, profile: CelProfile, scope: Scope, atoms: int) -> Condition:
    first = _atom(rng, profile, scope)
    if atoms == 1:
        return first
    combine = cel.Conjunction if rng.random() < 0.5 else cel.Disjunction
    return combine(first, _atom(rng, profile, scope))


def _atom(rng: Random, profile: CelProfile, scope: Scope) -> Condition:
    if rng.random() < profile.correlated:
        name, pool = rng.choice(profile.attributes)
        left, right = (pred.Attribute(name, _variable(rng, profile, scope)) for _ in range(2))
        return cel.Correlated(pred.Comparison(rng.choice(_comparators(pool)), left, right))
    return cel.Every(_variable(rng, profile, scope), _predicate(rng, profile))


def _variable(rng: Random, profile: CelProfile, scope: Scope) -> str:
    """Return a variable that the formula binds; sometimes an unbound variable, because filters on these are allowed."""
    return rng.choice(scope) if scope and rng.random() < 0.95 else rng.choice(profile.variables)


def _predicate(rng: Random, profile: CelProfile) -> pred.Predicate:
    name, pool = rng.choice(profile.attributes)
    attribute = pred.Attribute(name)
    chance = rng.random()
    if chance < 0.7:
        return pred.Comparison(rng.choice(_comparators(pool)), attribute, pred.Constant(rng.choice(pool)))
    if chance < 0.76:
        return pred.OneOf(attribute, tuple(rng.sample(pool, rng.randint(1, min(2, len(pool))))))
    if chance < 0.84:
        return pred.Not(_predicate(rng, profile))
    if chance < 0.92:
        return (pred.Both if rng.random() < 0.5 else pred.Either)(_predicate(rng, profile), _predicate(rng, profile))
    return _special(rng, profile, attribute, pool)


def _special(rng: Random, profile: CelProfile, attribute: pred.Attribute, pool: tuple[Value, ...]) -> pred.Predicate:
    """Return a test specific to the pool's type."""
    match pool[0]:
        case bool():
            return pred.Comparison(rng.choice(EQUALITIES), attribute, pred.Constant(rng.choice(pool)))
        case str():
            return pred.Like(attribute, rng.choice(("a.*", ".*b", "[ab]+", "a?b?", "")))
        case int() | float() if rng.random() < 0.5:
            numbers = [name for name, other in profile.attributes if value_type_of(other[0]) in ("int", "float")]
            sum_ = pred.Arithmetic(rng.choice(("+", "-", "*", "/")), attribute, pred.Attribute(rng.choice(numbers)))
            return pred.Comparison(rng.choice(COMPARATORS), sum_, pred.Constant(rng.choice(pool)))
    low, high = sorted(rng.choices(pool, k=2))
    return pred.InRange(attribute, low, high)


def _comparators(pool: tuple[Value, ...]) -> tuple[pred.Comparator, ...]:
    return EQUALITIES if isinstance(pool[0], bool) else COMPARATORS


# ---------------------------------------------------------------------------------------------------------------------
# Random formulas under windows and partitions, with streams on which windows and partitions make a difference.

DAY = datetime(2021, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Scoped(CelProfile):
    """A profile whose formulas stand in windows and partitions, and whose streams have keys, times, and an ascending
    attribute u.
    """


WINDOWS = Scoped(EVERYTHING.operators, correlated=EVERYTHING.correlated)
"""All operators and strategies, in windows and partitions."""


def scoped_case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula of up to `nodes` nodes in a window, a partition or both, and a stream of up to `events` events.

    Some formulas also have a window of events inside.
    """
    phi, S = case(rng, profile, nodes, events)
    if rng.random() < 0.2:
        phi = inside(rng, phi, add_event_window)
    for _ in range(rng.choice((1, 1, 2))):
        phi = around(rng, phi)
    return phi, clocked(rng, S)


def around(rng: Random, phi: Formula) -> Formula:
    """Return the formula in a random window or partition."""
    chance = rng.random()
    if chance < 0.35:
        return cel.PartitionBy(phi, rng.choice(("k", "k", "x")))
    if chance < 0.6:
        return cel.Within(phi, cel.EventWindow(rng.randint(1, 6)))
    if chance < 0.8:
        return cel.Within(phi, cel.TimeWindow(rng.choice((0, 1, 2, 2.5, 4)), "second"))
    return cel.Within(phi, cel.AttributeWindow(rng.choice((0, 1, 1.5, 3)), rng.choice(("u", "u", "x"))))


def add_event_window(rng: Random, phi: Formula) -> Formula:
    """Return the formula in a random window of events, which an automaton counts."""
    return cel.Within(phi, cel.EventWindow(rng.randint(1, 6)))


def inside(rng: Random, phi: Formula, scope: Callable[[Random, Formula], Formula]) -> Formula:
    """Return the formula with a window or partition, made by `scope`, around one of its sub-formulas."""
    below = children(phi)
    if not below or rng.random() < 0.3:
        return scope(rng, phi)
    chosen = rng.randrange(len(below))
    return rebuilt(phi, [inside(rng, psi, scope) if i == chosen else psi for i, psi in enumerate(below)])


def clocked(rng: Random, S: Stream) -> Stream:
    """Return the stream with a key k, a time that mostly ascends, and an attribute u that ascends; each is sometimes
    absent.
    """
    steps = list(accumulate(rng.choice((0, 0, 1, 1, 2)) for _ in S))
    if rng.random() < 0.15:
        rng.shuffle(steps)
    stamps, missing = rng.random() < 0.5, rng.choice((0.0, 0.0, 0.15))
    found = []
    for event, step in zip(S, steps, strict=True):
        values: dict[str, Value] = {
            "k": rng.choice(("a", "b")),
            "time": DAY + timedelta(seconds=step) if stamps else step,
            "u": step * 0.7,
        }
        kept = {name: value for name, value in values.items() if rng.random() >= missing}
        found.append(Event(event.type, {**event.attributes, **kept}))
    return Stream(found)


# ---------------------------------------------------------------------------------------------------------------------
# Streams on which a formula matches: random walks through its automaton, with random events around them.
#
# A random stream of the types in a formula often has no match, above all for filters on small sets of values, for AND,
# and for guards. So a random path from an initial to a final state of the automaton is taken, event by event. The
# automaton cannot compare events with each other. Such conditions are left to chance: several streams are tried.

Drawing: TypeAlias = Callable[[Predicate], Iterator[Event]]
"""A function that makes random events, some of which are likely to satisfy a predicate."""

SMALL = Budget(valuations=20_000, states=500)
POOL = 24  # how many random events are tried to find one that takes a transition
FORMULAS = 3  # how many formulas are tried to find one with a match
WALKS = 6  # how many streams are tried, if conditions that compare events are left to chance


def guided_case(
    rng: Random, profile: CelProfile, nodes: int, events: int, guided: float = 0.75, shared: float = 0.2
) -> tuple[Formula, Stream]:
    """Return a formula of at most `nodes` nodes, and a stream of at most `events` events.

    guided: the share of streams that are built to match; the others are random. If no matching stream is found, up to
    two other formulas of that size are tried. shared: the share of formulas in which a sub-formula occurs twice.
    """
    size_ = max(rng.randint(1, nodes), rng.randint(1, nodes))
    length = max(rng.randint(1, events), rng.randint(1, events))
    tries = FORMULAS if rng.random() < guided else 0
    copied = rng.random() < shared
    phi = _guided_formula(rng, profile, size_, copied)
    for _ in range(tries):
        if (S := matching_stream(rng, profile, length, phi)) is not None:
            return phi, S
        phi = _guided_formula(rng, profile, size_, copied)
    return phi, stream(rng, profile, length, phi)


def _guided_formula(rng: Random, profile: CelProfile, nodes: int, copied: bool) -> Formula:
    phi = formula(rng, profile, nodes)
    return with_copy(rng, phi) if copied else phi


def matching_stream(rng: Random, profile: CelProfile, length: int, phi: Formula) -> Stream | None:
    """Return a random stream of this length on which the formula matches; None if none is found."""
    psi = tuple_predicates_only(phi)
    try:
        A = COMPILED_CEL(psi, SMALL)
        final_after, drawn = _final_after(A, length), _drawing(rng, profile, phi)
        for _ in range(WALKS):
            if walked := _walk(rng, A, final_after, drawn):
                rest = stream(rng, profile, length - len(walked), phi)
                S = Stream([*walked, *rest], profile.schema)
                # The automaton knows no conditions between events, so the interpreter has to confirm the match.
                if psi == phi or _matches_at(phi, S, len(walked) - 1):
                    return S
    except BudgetExceeded:  # too large an automaton, or too many valuations: left to chance
        pass
    return None


def _matches_at(phi: Formula, S: Stream, n: int) -> bool:
    return bool(Interpreter(S, SMALL).meaning(phi, 0, n))


def with_copy(rng: Random, phi: Formula) -> Formula:
    """Replace one sub-formula by a copy of another one of the same size.

    Return the formula unchanged if no two sub-formulas with more than one node have the same size.
    """
    found = [place for place in _places(phi) if size(place[0]) > 1]
    pairs = [(put, psi) for there, put in found for psi, _ in found if size(there) == size(psi) and there != psi]
    if not pairs:
        return phi
    put, psi = rng.choice(pairs)
    return put(psi)


def _places(phi: Formula) -> Iterator[tuple[Formula, Callable[[Formula], Formula]]]:
    """Yield each sub-formula with the function that puts another in its place, outermost first."""
    yield phi, same
    for i, part in enumerate(children(phi)):
        for psi, put in _places(part):
            yield psi, partial(_put_in_part, phi, i, put)


def _put_in_part(phi: Formula, i: int, put: Callable[[Formula], Formula], other: Formula) -> Formula:
    below = children(phi)
    return rebuilt(phi, (*below[:i], put(other), *below[i + 1 :]))


# --- walks ------------------------------------------------------------------------------------------------------------


def _walk(rng: Random, A: CEA, final_after: Sequence[frozenset[int]], drawn: Drawing) -> Sequence[Event] | None:
    """Return the events of a random accepting run.

    Return None if there is no run, or if no event of `drawn` fits a step of the run.
    """
    ends = [n for n in range(1, len(final_after)) if A.initial & final_after[n]]
    if not ends:
        return None
    left = rng.choice(ends)
    q = rng.choice(sorted(A.initial & final_after[left]))
    walked: list[Event] = []
    while left:
        left -= 1
        step = _step(rng, [t for t in A.leaving[q] if t.target in final_after[left]], drawn)
        if step is None:
            return None
        walked.append(step[0])
        q = step[1]
    return walked


def _step(rng: Random, ways: list[Transition], drawn: Drawing) -> tuple[Event, int] | None:
    """Return a random event for a random transition, and the target; None if no event of `drawn` fits a transition."""
    rng.shuffle(ways)
    return next(((e, t.target) for t in ways for e in drawn(t.predicate) if holds(t.predicate, e)), None)


def _drawing(rng: Random, profile: CelProfile, phi: Formula) -> Drawing:
    """Return a function that makes up to POOL random events for a predicate, half of them with values beyond the
    profile.
    """
    asked = types_asked(profile, phi)
    chosen: dict[Predicate, Sequence[str]] = {}

    def drawn(P: Predicate) -> Iterator[Event]:
        types = chosen.get(P)
        if types is None:
            named = [atom.type for atom in atoms(P) if isinstance(atom, OfType)]
            types = chosen[P] = [*named * (7 * len(asked)), *asked * len(named)] if named else asked
        for n in range(POOL if types else 0):
            yield event(rng, profile.beyond if n % 2 else profile, types)
        # Reached only if no event was accepted: later steps with this predicate do not try again.
        chosen[P] = ()

    return drawn


def _final_after(A: CEA, length: int) -> list[frozenset[int]]:
    """Return for each n the states from which n transitions can lead to a final state."""
    found = [A.final]
    for _ in range(length):
        last = found[-1]
        found.append(frozenset([t.source for t in A.transitions if t.target in last]))
    return found


# --- the conditions that an automaton can test ------------------------------------------------------------------------


def tuple_predicates_only(phi: Formula) -> Formula:
    """Return the formula without windows, partitions and conditions that compare events."""
    below = [tuple_predicates_only(child) for child in children(phi)]
    match phi:
        case cel.Within(_, cel.TimeWindow() | cel.AttributeWindow()) | cel.PartitionBy() | cel.PerKey():
            return below[0]
        case cel.Filter(_, condition):
            return (
                phi
                if _unary(condition) and below[0] == phi.phi
                else cel.Filter(below[0], _replace_correlated(condition))
            )
    return rebuilt(phi, below) if list(children(phi)) != below else phi


def _unary(condition: Condition) -> bool:
    return all(isinstance(atom, cel.Every) for atom in cel.atoms(condition))


def _replace_correlated(condition: Condition) -> Condition:
    match condition:
        case cel.Every():
            return condition
        case cel.Conjunction(left, right) | cel.Disjunction(left, right):
            return type(condition)(_replace_correlated(left), _replace_correlated(right))
        case cel.Correlated() | cel.Named():
            return cel.Every("X", Anything())


def cel_case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula and a random stream; in windows and partitions if the profile is Scoped."""
    make = scoped_case if isinstance(profile, Scoped) else case
    return make(rng, profile, nodes, events)


def cel_stream(rng: Random, profile: CelProfile, length: int, phi: Formula) -> Stream:
    """Return a random stream, with keys and clocks if the profile is Scoped."""
    S = stream(rng, profile, length, phi)
    return clocked(rng, S) if isinstance(profile, Scoped) else S


def guided_cel_case(rng: Random, profile: CelProfile, nodes: int, events: int) -> tuple[Formula, Stream]:
    """Return a formula and a stream like `cel_case`, but most streams have a match.

    If the profile is Scoped, the streams are random.
    """
    if isinstance(profile, Scoped):
        return scoped_case(rng, profile, nodes, events)
    return guided_case(rng, profile, nodes, events)


CEL_GENERATOR = Generator[Formula](
    {**PROFILES, "typed-everything": replace(TYPED, operators=EVERYTHING.operators), "windows": WINDOWS},
    cel_case,
    cel_stream,
    guided_cel_case,
)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify CEL formulas, for shrinking and campaigns.

RANKS = ranks(OPERATORS)


def simpler_operators(phi: Formula) -> Iterator[Formula]:
    """Yield formulas with a simpler operator, a projection to fewer variables, or a narrower window."""
    yield from SHAPE.simpler_operators(phi)

    def local(psi: Formula) -> Iterator[Formula]:
        match psi:
            case cel.Project(L, inner):
                yield from (cel.Project(L - {A}, inner) for A in sorted(L))
            case cel.Derived():
                yield from psi.simpler()
            case cel.Within(inner, window):
                yield from (cel.Within(inner, narrower) for narrower in narrower_windows(window))

    yield from SHAPE.at_each_node(phi, local)


def narrower_windows(window: cel.Window) -> Iterator[cel.Window]:
    """Yield windows of the same kind that are narrower."""
    match window:
        case cel.EventWindow(count):
            yield from (cel.EventWindow(n) for n in (1, count // 2, count - 1) if n > 0)
        case cel.TimeWindow(amount, unit):
            yield from (cel.TimeWindow(n, unit) for n in simpler_numbers(amount) if n >= 0)
        case cel.AttributeWindow(width, name):
            yield from (cel.AttributeWindow(n, name) for n in simpler_numbers(width) if n >= 0)


def _simpler_atoms(atom: Condition) -> Iterator[Condition]:
    match atom:
        case cel.Every(A, P):
            yield from (cel.Every(A, Q) for Q in parts(P))
        case cel.Correlated(P):
            yield from (other for Q in parts(P) if (other := across(Q)) is not None)
            for A in sorted({a.variable for a in mentions(P) if a.variable is not None}):
                yield cel.Every(A, about(P, None))


def across(predicate: Predicate) -> Condition | None:
    """Return the condition for a predicate on variables; None if the predicate mentions no variable."""
    match [a.variable for a in mentions(predicate)]:
        case []:
            return None
        case [str(A)]:
            return cel.Every(A, about(predicate, None))
    return cel.Correlated(predicate)


def _shape() -> FormulaShape[Formula]:
    return SHAPE


SHAPE = FormulaShape[Formula](
    children,
    rebuilt,
    OPERATORS,
    cel.EventAtom,
    cel.Plus,
    cel.Filter,
    cel.Conjunction,
    _simpler_atoms,
    _shape,
)


def complexity(phi: Formula) -> int:
    """Return the sum of the operators' ranks and of the sizes of their fields.

    The rank of an operator is its place among operators with as many operands.
    """
    return sum(map(_complexity, subformulas(phi)))


def _complexity(phi: Formula) -> int:
    rank = RANKS[type(phi)]
    match phi:
        case cel.Project(L, _):
            return rank + len(L)
        case cel.Filter(_, condition):
            return rank + sum(isinstance(c, cel.Correlated | cel.Named) for c in cel.atoms(condition))
        case cel.Within(_, cel.EventWindow(amount) | cel.TimeWindow(amount, _) | cel.AttributeWindow(amount, _)):
            return rank + value_weight(amount)
        case cel.Derived():
            return rank + phi.load()
    return rank


CEL = QueryOperations[Formula](
    parse,
    show,
    (SHAPE.smaller, simpler_operators, SHAPE.simpler_predicates),
    size,
    complexity,
    SHAPE.types,
    attribute_names,
    predicates,
    mapped,
    SHAPE.symbols,
    expanded=mapped,  # spans refer to the text of the original formula
)
