"""The syntax of CEL: tods21, Figure 2, with the selection strategies of section 7 and the sugar of section 4.

The letters used for these trees, here and in every module of this package:
    phi  a formula          R  an event type        A, B  variables        L  a set of variables
Two trees are equal if they are the same formula; their places in a text do not count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial, reduce
from typing import ClassVar, Literal, NamedTuple, TypeAlias, assert_never

from cerify.semantics.arguments import depth_limited
from cerify.semantics.errors import BudgetExceeded, IllFormed, Span
from cerify.semantics.predicates import (
    RESERVED_VARIABLES,
    Attribute,
    Comparison,
    Constant,
    InRange,
    Like,
    OneOf,
    Predicate,
    about,
    mentions,
    show_name,
    show_predicate,
)
from cerify.semantics.trees import Operator, Tree, children, printed, rebuilt, subtrees, table

Unit = Literal["second", "minute", "hour", "day"]


class _Node(Tree):
    span: Span | None = field(default=None, kw_only=True)  # not positional: no part of a tree's value


class _WithOperand(_Node):
    operands: ClassVar = ("phi",)
    phi: Formula


class _WithOperands(_Node):
    operands: ClassVar = ("left", "right")
    left: Formula
    right: Formula


# Kinds of operators. Functions handle a kind instead of each of its operators, so that a new operator needs a case only
# where it differs. IN, PROJECT, PER KEY and UNLESS have no kind, and no class stands for all operators of one or of two
# operands: a function that has no case for a new operator without a kind ends in `assert_never`. Derived operators have
# no kind: functions use their expansion.


class Narrowing(_WithOperand):
    """An operator that keeps some valuations of its operand, unchanged."""


class Restriction(Narrowing):
    """An operator that keeps the valuations of its operand that pass a test. The test looks at one valuation at a time:
    at its events, and at their positions in the interval.
    """


class Preference(Narrowing):
    """A selection strategy: it keeps the valuations of its operand that no other valuation beats (tods21, section
    7.1).
    """


class Iteration(_WithOperand):
    """One or more rounds of its operand."""


class Sequencing(_WithOperands):
    """A sequence: the right operand after the left one."""


class Combination(_WithOperands):
    """AND, OR and ALL: each valuation is one of an operand, or the union of one of each.

    More valuations of the operands never give fewer valuations.
    """


# --- filter conditions ------------------------------------------------------------------------------------------------


class Every(_Node):
    """A[p]: every event of A satisfies p, the second-order extension of a tuple predicate (tods21, Definition 4.1)."""

    variable: str
    predicate: Predicate


class Correlated(_Node):
    """A predicate across events: each mention A.x ranges over the events of A independently (tods21, section 4,
    sugar).
    """

    predicate: Predicate


class Named(_Node):
    """name(A, B): a CEL predicate over sets of events that the user has registered."""

    name: str
    variables: tuple[str, ...]


class Conjunction(_Node):
    """Both conditions; phi FILTER (c AND d) is (phi FILTER c) FILTER d."""

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


class Disjunction(_Node):
    """Either condition; phi FILTER (c OR d) is (phi FILTER c) OR (phi FILTER d)."""

    operands: ClassVar = ("left", "right")
    left: Condition
    right: Condition


Atom: TypeAlias = Every | Correlated | Named
Condition: TypeAlias = Atom | Conjunction | Disjunction

# --- formulas ---------------------------------------------------------------------------------------------------------


class EventAtom(_Node):
    """R: one event of type R, bound to the variable R."""

    # The class cannot be called Event, which is the event of a stream; the word is part of the JSON of queries.
    WORD: ClassVar[str] = "Event"

    type: str


class In(_WithOperand):
    """phi IN A: A is bound to all events that phi matched."""

    variable: str


class Filter(Restriction):
    """phi FILTER condition: only valuations that satisfy the condition."""

    condition: Condition


class Seq(Sequencing):
    """phi ; psi: non-contiguous sequencing; any events may lie between phi and psi."""


class Plus(Iteration):
    """phi+: non-contiguous iteration; any events may lie between two rounds of phi."""


class ContiguousSeq(Sequencing):
    """phi : psi: contiguous sequencing; psi begins at the position after the end of phi."""


class ContiguousPlus(Iteration):
    """phi:+: contiguous iteration; each round of phi begins at the position after the end of the one before."""


class Project(_Node):
    """PROJECT[L](phi): only the bindings of variables in L are kept."""

    operands: ClassVar = ("phi",)
    variables: frozenset[str]
    phi: Formula


class Start(Restriction):
    """START(phi): the match begins at the first event of the interval."""


class Or(Combination):
    """phi OR psi: disjunction; the valuations of phi and those of psi."""


class And(Combination):
    """phi AND psi: conjunction; the valuations that both operands have."""


class All(Combination):
    """phi ALL psi: interleaved conjunction; a match of each operand, in any order and possibly overlapping."""


class Unless(_WithOperands):
    """phi UNLESS psi: guarded negation; the valuations of phi over an interval in which psi has no match."""


class Strict(Restriction):
    """STRICT(phi): only valuations whose events are adjacent, without a gap (tods21, section 7.1)."""


class Next(Preference):
    """NXT(phi): only valuations with the earliest events, compared from the first one on (tods21, section 7.1)."""


class Last(Preference):
    """LAST(phi): only valuations with the latest events, compared from the last one on (tods21, section 7.1)."""


class Max(Preference):
    """MAX(phi): only valuations whose events are not a proper subset of those of another one (tods21, section 7.1)."""


@dataclass(frozen=True)
class EventWindow:
    """A window of this many events."""

    count: int


@dataclass(frozen=True)
class TimeWindow:
    """A window of this length on the events' time."""

    amount: int | float
    unit: Unit


@dataclass(frozen=True)
class AttributeWindow:
    """A window of this width on an attribute."""

    width: int | float
    attribute: str


Window: TypeAlias = EventWindow | TimeWindow | AttributeWindow


class Within(Restriction):
    """phi WITHIN window: only valuations whose events fit into the window; the filter Q of tods21, section 4."""

    window: Window


class PartitionBy(Restriction):
    """phi PARTITION BY [a]: all events of a match agree on the attribute."""

    attribute: str


class PerKey(_WithOperand):
    """phi PER KEY [a, b]: phi within each key, as if the stream had only the events of that key."""

    attributes: tuple[str, ...]


class Derived(_Node):
    """An operator that stands for another formula, its expansion.

    A function that does not handle the operator uses its expansion, so a new derived operator needs no case anywhere.
    """

    @cached_property
    def expansion(self) -> Formula:
        """Return the formula that this one stands for, the same object each time. Raises BudgetExceeded."""
        return self.expand()

    def expand(self) -> Formula:
        """Return the formula that this one stands for. Raises BudgetExceeded if it would be too large."""
        raise NotImplementedError

    def simpler(self) -> Iterator[Formula]:
        """Yield the same operator with simpler fields, for shrinking."""
        return iter(())

    def load(self) -> int:
        """Return how far the operator's fields are from the simplest ones; shrinking a query lowers this number."""
        return 0


AnyPreference: TypeAlias = Next | Last | Max
Strategy: TypeAlias = Strict | AnyPreference
Plain: TypeAlias = Seq | Plus | ContiguousSeq | ContiguousPlus | Start | Or | And | All | Unless | Strategy
"""The operators that have no other fields than their operands."""

Formula: TypeAlias = EventAtom | In | Filter | Project | Within | PartitionBy | PerKey | Plain | Derived


subformulas: Callable[[Formula], Iterator[Formula]] = subtrees
"""All formulas in a formula, itself first."""


def expanded(phi: Formula) -> Formula:
    """Return the formula with every derived operator replaced by its expansion; the same object if it has none.

    Raises BudgetExceeded if an expansion would be too large.
    """
    done: dict[int, Formula] = {}  # by identity: all keys are parts of phi or of an expansion, which keeps them alive

    def inside(psi: Formula) -> Formula:
        if id(psi) not in done:
            if isinstance(psi, Derived):
                done[id(psi)] = inside(psi.expansion)
            else:
                below = children(psi)
                others = [inside(child) for child in below]
                changed = any(other is not child for other, child in zip(others, below, strict=True))
                # Unchanged parts stay the same objects, so that tables by identity, such as the interpreter's, still
                # serve them.
                done[id(psi)] = replace(rebuilt(psi, others), span=psi.span) if changed else psi
        return done[id(psi)]

    return inside(phi) if any(isinstance(psi, Derived) for psi in subformulas(phi)) else phi


def atoms(condition: Condition) -> Iterator[Atom]:
    """Yield the atoms of a condition, left to right."""
    for part in subtrees(condition):
        match part:
            case Conjunction() | Disjunction():
                pass
            case Every() | Correlated() | Named():
                yield part
            case _:
                assert_never(part)


def conjuncts(condition: Condition) -> Iterator[Condition]:
    """Yield the conditions that AND connects, left to right."""
    if isinstance(condition, Conjunction):
        yield from conjuncts(condition.left)
        yield from conjuncts(condition.right)
    else:
        yield condition


def split_guard(phi: Formula) -> tuple[Formula, Formula] | None:
    """Return the operands of UNLESS, first the formula that must match, then the one that must not; None without
    UNLESS.
    """
    return (phi.left, phi.right) if isinstance(phi, Unless) else None


def split_projection(phi: Formula) -> tuple[Formula, frozenset[str] | None]:
    """Return the operand of PROJECT and the variables that it keeps; for other formulas the formula itself and None."""
    return (phi.phi, phi.variables) if isinstance(phi, Project) else (phi, None)


def size(phi: Formula) -> int:
    """Return the number of nodes: one for each operator, event type, and atom of a filter."""
    return sum(len(list(atoms(n.condition))) if isinstance(n, Filter) else 1 for n in subformulas(phi))


# ---------------------------------------------------------------------------------------------------------------------
# Bounded iteration, a derived operator of CEL: docs/decisions/bounded-iteration.md.

MOST_NODES = 10_000
"""The most nodes that the expansion of a bounded iteration may have."""


class BoundsText(str):
    """A text of two numbers: the least and the greatest number of rounds, such as "2,3".

    The printer puts a plain str in quotes if it is no valid name. It prints this class without quotes.
    """

    __slots__ = ()


class Repeat(Derived, _WithOperand):
    """phi{n,m}: n to m rounds of phi; phi{n,}: at least n rounds (most is None); phi{n}: n rounds.

    k rounds are `phi ; ... ; phi`. Raises IllFormed if n is less than 1, or m less than n.
    """

    least: int
    most: int | None

    def __post_init__(self) -> None:
        if self.least < 1 or (self.most is not None and self.most < self.least):
            raise IllFormed(
                f"{self.bounds} is not a number of rounds: write {{n}}, {{n,}} or {{n,m}} with 1 <= n <= m; "
                "no rounds at all would be a match without events",
                self.span,
            )

    @property
    def bounds(self) -> BoundsText:
        """Return the least and greatest number of rounds as a query has them: "2,3", "2," or "2"."""
        if self.most is None:
            return BoundsText(f"{self.least},")
        return BoundsText(f"{self.least}" if self.most == self.least else f"{self.least},{self.most}")

    def expand(self) -> Formula:
        return self._rounds(Seq, Plus)

    def _rounds(self, seq: type[Seq | ContiguousSeq], plus: type[Plus | ContiguousPlus]) -> Formula:
        """Build the rounds by halves, so that the formula is not nested deeply; equal parts are one object."""
        # Checked before anything is built. `at_most(n)` splits n in halves and has a sequence of rounds at each level,
        # so its size is about n log n rounds; `exactly` has one node for each round.
        more = 0 if self.most is None else self.most - self.least
        if (self.least + (more + 1) * (1 + more.bit_length())) * (size(expanded(self.phi)) + 1) > MOST_NODES:
            raise BudgetExceeded(
                f"{{{self.bounds}}} stands for a formula of more than {MOST_NODES} nodes; write fewer rounds",
                self.span,
            )

        @cache
        def exactly(n: int) -> Formula:
            return self.phi if n == 1 else seq(exactly(n // 2), exactly(n - n // 2), span=self.span)

        @cache
        def at_most(n: int) -> Formula:
            if n == 1:
                return self.phi
            half = n // 2
            rest = seq(exactly(half), at_most(n - half), span=self.span)
            return Or(at_most(half), rest, span=self.span)

        last = plus(self.phi, span=self.span) if self.most is None else at_most(more + 1)
        return last if self.least == 1 else seq(exactly(self.least - 1), last, span=self.span)

    def simpler(self) -> Iterator[Formula]:
        if self.most is None:
            yield type(self)(self.phi, self.least, self.least)
        # Far jumps besides a single step: by steps alone a shrinker would need as many runs as there are rounds.
        for n in {1, self.least // 2, self.least - 1} - {0, self.least}:
            yield type(self)(self.phi, n, self.most)
        for m in () if self.most is None else {self.least, self.most - 1} - {self.least - 1, self.most}:
            yield type(self)(self.phi, self.least, m)

    def load(self) -> int:
        return self.least + (self.least + 1 if self.most is None else self.most)


class ContiguousRepeat(Repeat):
    """phi:{n,m}: like phi{n,m}, but with rounds directly after each other: `phi : ... : phi`."""

    def expand(self) -> Formula:
        return self._rounds(ContiguousSeq, ContiguousPlus)


class Rounds(NamedTuple):
    """An iteration: its operand, the least and the greatest number of rounds (None: no limit), and whether the rounds
    are adjacent.
    """

    phi: Formula
    least: int
    most: int | None
    adjacent: bool


def rounds_of(phi: Formula) -> Rounds | None:
    """Return an iteration (phi+, phi{n,m}, or a contiguous form) as its operand and its numbers of rounds.

    Return None for other formulas.
    """
    if isinstance(phi, Plus | ContiguousPlus):
        return Rounds(phi.phi, 1, None, isinstance(phi, ContiguousPlus))
    if isinstance(phi, Repeat):
        return Rounds(phi.phi, phi.least, phi.most, isinstance(phi, ContiguousRepeat))
    return None


def distinct(phi: Formula, rounds: int, attribute: str, span: Span | None = None) -> Formula:
    """Return phi{n DISTINCT [a]}: n rounds of phi, no two with the same value of the attribute.

    Each round binds its own variable, `!=` compares every pair of them, and PROJECT removes the variables again. See
    docs/decisions/bounded-iteration.md. Raises BudgetExceeded if the formula would be too large.

    >>> from cerify.semantics.cel.parse import parse
    >>> show(parse("A{2 DISTINCT [user]}"))
    'PROJECT[A](A IN A_1 ; A IN A_2 FILTER A_1.user != A_2.user)'
    """
    if rounds * (size(phi) + 1) + rounds * (rounds - 1) // 2 > MOST_NODES:
        raise BudgetExceeded(
            f"{{{rounds} DISTINCT …}} stands for a formula of more than {MOST_NODES} nodes; write fewer rounds, or "
            "count the values with a value_count rule of Sigma",
            span,
        )
    # The rounds need variables of their own. PROJECT removes them, so users see only the names that they wrote.
    types = [psi.type for psi in subformulas(phi) if isinstance(psi, EventAtom)]
    known = {*types, *(psi.variable for psi in subformulas(phi) if isinstance(psi, In))}
    stem = f"{types[0]}_"
    while any(name.startswith(stem) for name in known):
        stem += "_"
    names = [f"{stem}{k + 1}" for k in range(rounds)]
    each: list[Formula] = [In(phi, name, span=span) for name in names]
    whole = reduce(partial(Seq, span=span), each)
    for k in range(1, rounds):
        pairs = (Comparison("!=", Attribute(attribute, name), Attribute(attribute, names[k])) for name in names[:k])
        tests: list[Condition] = [Correlated(pair, span=span) for pair in pairs]
        whole = Filter(whole, reduce(Conjunction, tests), span=span)
    return Project(frozenset(known), whole, span=span)


# ---------------------------------------------------------------------------------------------------------------------
# Loops over the next possible rounds, derived operators of CEL: docs/decisions/loops.md.


class NextPlus(Derived, _WithOperand):
    """phi~+: iteration that skips no round: between the ends of two consecutive rounds, no other match of phi ends."""

    def expand(self) -> Formula:
        # The guard has one more event after phi: a match of phi that ends with the round itself must not forbid it.
        following = Unless(self.phi, _over_before(self.phi, self.phi), span=self.span)
        return Or(self.phi, Seq(self.phi, Plus(following), span=self.span), span=self.span)


class Until(Derived, _WithOperands):
    """phi UNTIL psi: matches of phi one after the other, none of them skipped, then the first match of psi after
    them.
    """

    def expand(self) -> Formula:
        phi, psi = self.left, self.right
        following = Unless(phi, Or(psi, _over_before(phi, phi)), span=self.span)
        rounds = Or(phi, Seq(phi, Plus(following), span=self.span), span=self.span)
        return Seq(rounds, Unless(psi, _over_before(Or(phi, psi), psi), span=self.span), span=self.span)


def _over_before(phi: Formula, last: Formula) -> Formula:
    """Return phi followed by one event of a type in `last`: it matches if phi ends before the last event of `last`."""
    types = dict.fromkeys(psi.type for psi in subformulas(last) if isinstance(psi, EventAtom))
    events: list[Formula] = [EventAtom(R) for R in types]
    return Seq(phi, reduce(Or, events))


# ---------------------------------------------------------------------------------------------------------------------
# The operators of CEL, as a table: tods21, Figure 2, and the additions of sections 4 and 7.

FILTERED, COMBINED, SEQUENCED, POSTFIX = range(4)  # levels, from loose to tight
BOUNDS = ((2, 2), (1, 2), (2, 3), (1, None), (2, None))
SMALL = Comparison("<=", Attribute("x"), Constant(1))

OPERATORS = table(
    Operator(
        EventAtom, "event", "an event type", "event type", "tods21 Figure 3, tuple selection", "{type}",
        "leaf", POSTFIX, samples=(lambda: EventAtom("A"),),
    ),
    Operator(
        Or, "or", "OR", "disjunction", "tods21 Figure 3, disjunction", "{left} OR {right}",
        "infix", COMBINED, aliases=("∨",),
    ),
    Operator(
        Seq, "seq", ";", "sequencing", "tods21 Figure 3, non-contiguous sequencing", "{left} ; {right}",
        "infix", SEQUENCED,
    ),
    Operator(
        ContiguousSeq, "cseq", ":", "contiguous sequencing", "tods21 Figure 3, contiguous sequencing",
        "{left} : {right}", "infix", SEQUENCED,
    ),
    Operator(
        And, "and", "AND", "conjunction", "tods21 Figure 3, conjunction", "{left} AND {right}",
        "infix", COMBINED, aliases=("∧",),
    ),
    Operator(
        All, "all", "ALL", "interleaved conjunction", "tods21 Figure 3, interleaved conjunction",
        "{left} ALL {right}", "infix", COMBINED,
    ),
    Operator(
        Unless, "unless", "UNLESS", "guarded negation", "tods21 Figure 3, guarded negation",
        "{left} UNLESS {right}", "infix", COMBINED, monotone=False,
    ),
    Operator(
        Plus, "plus", "+", "iteration", "tods21 Figure 3, non-contiguous iteration", "{phi}+",
        "postfix", POSTFIX,
    ),
    Operator(
        ContiguousPlus, "cplus", ":+", "contiguous iteration", "tods21 Figure 3, contiguous iteration",
        "{phi}:+", "postfix", POSTFIX, aliases=("⊕",),
    ),
    Operator(
        Start, "start", "START", "anchoring", "tods21 Figure 3, anchoring", "START({phi})",
        "call", POSTFIX,
    ),
    Operator(
        Strict, "strict", "STRICT", "STRICT", "tods21 section 7.1, STRICT", "STRICT({phi})",
        "call", POSTFIX,
    ),
    Operator(
        Max, "max", "MAX", "MAX", "tods21 section 7.1, MAX", "MAX({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        Last, "last", "LAST", "LAST", "tods21 section 7.1, LAST", "LAST({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        Next, "nxt", "NXT", "NXT", "tods21 section 7.1, NXT", "NXT({phi})", "call", POSTFIX, aliases=("NEXT",),
        monotone=False,
    ),
    Operator(
        In, "in", "IN", "variable binding", "tods21 Figure 3, variable binding", "{phi} IN {variable}",
        "postfix", POSTFIX, samples=(lambda phi: In(phi, "X"),), aliases=("AS",),
    ),
    Operator(
        Filter, "filter", "FILTER", "filtering", "tods21 Figure 3, filtering", "{phi} FILTER {condition}",
        "postfix", FILTERED, samples=(lambda phi: Filter(phi, Every("A", SMALL)),),
    ),
    Operator(
        Project, "project", "PROJECT", "projection", "tods21 Figure 3, variable projection",
        "PROJECT[{variables}]({phi})", "call", POSTFIX,
        samples=(lambda phi: Project(frozenset({"A", "X"}), phi),), aliases=("π",),
    ),
    Operator(
        PartitionBy, "partition", "PARTITION BY", "partition", "tods21 section 4, W.a = W.a",
        "{phi} PARTITION BY [{attribute}]", "postfix", FILTERED,
        samples=(lambda phi: PartitionBy(phi, "x"),),
    ),
    Operator(
        PerKey, "perkey", "PER KEY", "evaluation per key", "docs/decisions/per-key.md, substream of a key",
        "{phi} PER KEY [{attributes}]", "postfix", FILTERED,
        samples=(lambda phi: PerKey(phi, ("x",)), lambda phi: PerKey(phi, ("k", "x"))),
    ),
    Operator(
        Within, "within", "WITHIN", "window", "tods21 section 4, the predicate Q of windows",
        "{phi} WITHIN {window}", "postfix", FILTERED,
        samples=(
            lambda phi: Within(phi, EventWindow(2)),
            lambda phi: Within(phi, AttributeWindow(1, "x")),
        ),
    ),
    Operator(
        Repeat, "repeat", "{n,m}", "bounded iteration", "tods21 Figure 3, sequencing and disjunction",
        "{phi}{{{bounds}}}", "postfix", POSTFIX, samples=tuple(partial(Repeat, least=n, most=m) for n, m in BOUNDS),
    ),
    Operator(
        ContiguousRepeat, "crepeat", ":{n,m}", "contiguous bounded iteration",
        "tods21 Figure 3, contiguous sequencing and disjunction", "{phi}:{{{bounds}}}", "postfix", POSTFIX,
        samples=tuple(partial(ContiguousRepeat, least=n, most=m) for n, m in BOUNDS),
    ),
    Operator(
        NextPlus, "nplus", "~+", "iteration of the next rounds", "docs/decisions/loops.md, next rounds", "{phi}~+",
        "postfix", POSTFIX, monotone=False,
    ),
    Operator(
        Until, "until", "UNTIL", "iteration until", "docs/decisions/loops.md, iteration until",
        "{left} UNTIL {right}", "infix", POSTFIX, monotone=False,
    ),
)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# From a CEL formula to its text, which parses back to an equal formula.

RESERVED = frozenset(
    word for row in OPERATORS.values() if row.position == "call" for word in (row.symbol, *row.aliases)
)
"""Words that cannot be an event type without quotes: those that begin the text of an operator."""


def show(phi: Formula) -> str:
    """Return the text of a formula, with no more parentheses than needed. Raises BudgetExceeded if nested too deep."""
    with depth_limited(phi.span):
        return printed(phi, OPERATORS, _show_field)


def _show_field(value: str | frozenset[str] | tuple[str, ...] | Window | Condition) -> str:
    match value:
        case BoundsText():
            return value
        case str():
            return show_name(value, RESERVED)
        case frozenset():
            return ", ".join(map(show_name, sorted(value)))
        case tuple():
            return ", ".join(map(show_name, value))
        case EventWindow() | TimeWindow() | AttributeWindow():
            return show_window(value)
        case Every() | Correlated() | Named() | Conjunction() | Disjunction():
            return show_condition(value)
        case _:
            assert_never(value)


def show_window(window: Window) -> str:
    """Return the text of a window."""
    match window:
        case EventWindow(count):
            return f"{count} EVENTS"
        case TimeWindow(amount, unit):
            return f"{amount} {unit}" if amount == 1 else f"{amount} {unit}s"
        case AttributeWindow(width, attribute):
            return f"{width} [{show_name(attribute)}]"
        case _:
            assert_never(window)


def show_condition(condition: Condition) -> str:
    """Return the text of a filter's condition."""
    match condition:
        case Every(variable, predicate):
            # Outside brackets each mention ranges on its own, so A[x = x] must keep its brackets: A.x = A.x means more.
            if isinstance(predicate, Comparison | OneOf | InRange | Like) and len(list(mentions(predicate))) == 1:
                return show_predicate(about(predicate, variable))
            return f"{show_name(variable, RESERVED_VARIABLES)}[{show_predicate(predicate)}]"
        case Correlated(predicate):
            return show_predicate(predicate)
        case Named(name, variables):
            return f"{show_name(name, RESERVED_VARIABLES)}({', '.join(map(show_name, variables))})"
        case Conjunction(left, right):
            return f"{_operand(left, False)} AND {_operand(right, True)}"
        case Disjunction(left, right):
            tail = show_condition(right)
            return f"{show_condition(left)} OR {f'({tail})' if isinstance(right, Disjunction) else tail}"
        case _:
            assert_never(condition)


def _operand(condition: Condition, right: bool) -> str:
    """Return the text of an operand of AND: an OR goes in parentheses, and so does an AND on the right."""
    text = show_condition(condition)
    looser = isinstance(condition, Disjunction) or (right and isinstance(condition, Conjunction))
    return f"({text})" if looser else text
