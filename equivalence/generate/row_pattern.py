"""Random clauses of MATCH_RECOGNIZE and WINDOW, and tables: nested patterns, NULLs, ties, partitions, all skips.

Everything comes from the random.Random that is passed in, so that the same seed gives the same cases. Clauses are
well-formed. Tables have a column p to partition by, a column o to order by with ties and NULLs, columns x and y of
numbers, and a column z of strings. The last part simplifies clauses, for shrinking and campaigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import reduce
from random import Random
from typing import Any, TypeVar

from cerify.equivalence.generate.shrink import Generator, QueryOperations, TreeShape, dropped, varied
from cerify.semantics import trees
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, IllFormed
from cerify.semantics.events import Event, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.interpreter import find_matches
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import columns_in
from cerify.semantics.row_pattern.syntax import (
    QUANTIFIERS,
    ROW,
    MatchRecognize,
    Measure,
    Order,
    RowDefinition,
    RowSkip,
    RowsPerMatch,
    RowWindow,
    Subset,
    constructs,
    show,
)
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value

NESTING = 4
WORDS = ("", "a", "ab", "b")
BUDGET = Budget(valuations=5_000)


@dataclass(frozen=True)
class RowProfile:
    """The parameters of random clauses and tables.

    context: how often a condition looks at earlier rows of the match. null: how often a value is NULL. failing: whether
    AFTER MATCH SKIP may have no row to skip to, so that there is an error in place of matches. windows: whether clauses
    stand in WINDOW. chain: whether clauses are simple enough for engines that support little of R010. Then the pattern
    is a chain of different variables, some with a quantifier. Rows are in the order of the table. A match has one row
    of output, with values of its own rows only. extended: whether clauses may ask for the longest match and have
    expressions in PARTITION BY and ORDER BY.
    """

    context: float = 0.4
    null: float = 0.15
    variables: str = "ABC"
    failing: bool = False
    windows: bool = False
    chain: bool = False
    extended: bool = False


PROFILES = {
    "everything": RowProfile(),
    "columns": RowProfile(context=0),
    "windows": RowProfile(windows=True),
    "windows on columns": RowProfile(context=0, windows=True),
    "chain": RowProfile(chain=True),
    "extended": RowProfile(context=0.2, extended=True),
}
KEYS = (
    rows.Product(rows.RowColumn("x"), "%", rows.RowConstant(2)),
    rows.RowCall("UPPER", (rows.RowColumn("z"),)),
    rows.Coalesce((rows.RowColumn("p"), rows.RowConstant(0))),
    rows.RowComparison(rows.RowColumn("y"), ">", rows.RowConstant(0.5)),
    rows.Negative(rows.RowColumn("o")),
)
"""Expressions for PARTITION BY and ORDER BY."""


def case(rng: Random, profile: RowProfile, nodes: int, events: int) -> tuple[MatchRecognize, Stream]:
    """Return a clause with at most that many nodes in its pattern, and a table with at most that many rows."""
    q = clause(rng, profile, rng.randint(1, nodes))
    S = stream(rng, profile, max(rng.randint(0, events), rng.randint(0, events)), q)
    return (q if profile.failing or not _fails(q, S) else replace(q, skip=RowSkip("next row"))), S


def _fails(q: MatchRecognize, S: Stream) -> bool:
    """Return whether AFTER MATCH SKIP leads to a row that does not exist; True if this takes too long to find out."""
    try:
        return q.skip.variable is not None and not all(find_matches(q, S, budget=BUDGET))
    except (IllFormed, BudgetExceeded):
        return True


def stream(rng: Random, profile: RowProfile, length: int, q: MatchRecognize) -> Stream:
    """Return a table of that length."""

    def row() -> Event:
        pools: dict[str, Sequence[Value]] = {"p": (0, 1), "o": range(4), "x": range(4), "y": (0, 1, 0.5), "z": WORDS}
        there = {name: rng.choice(pool) for name, pool in pools.items() if rng.random() >= profile.null}
        return Event(ROW, {name: float(value) if name == "y" else value for name, value in there.items()})  # type: ignore[arg-type]

    return Stream(row() for _ in range(length))


def clause(rng: Random, profile: RowProfile, nodes: int) -> MatchRecognize:
    """Return a clause with at most that many nodes in its pattern."""
    pattern = _chain(rng, profile, nodes) if profile.chain else _pattern(rng, profile, nodes, NESTING)
    primary = MatchRecognize(pattern).primary
    subsets = (Subset("U", tuple(rng.sample(primary, rng.randint(1, len(primary))))),) if primary else ()
    subsets = subsets if rng.random() < 0.3 and not profile.chain else ()
    make = _Maker(rng, [*primary, *(one.name for one in subsets)], profile)
    define = [RowDefinition(A, make.condition(profile.context)) for A in primary if rng.random() < 0.8]
    measures = [Measure(make.measure(), f"m{n}") for n in range(rng.randint(0, 3))]
    rows_: RowsPerMatch = rng.choice(("one", "one", "all", "all omit empty", "all with unmatched"))
    if profile.windows or profile.chain:
        rows_ = "one"
    # The standard forbids the two together.
    if rows_ == "all with unmatched" and any(isinstance(p, rows.Exclusion) for p in subtrees(pattern)):
        rows_ = "all"
    order = [Order(rows.RowColumn("o"), rng.random() < 0.3, rng.choice((None, "FIRST", "LAST")))]
    q = MatchRecognize(
        pattern,
        tuple(define),
        (rows.RowColumn("p"),) if rng.random() < 0.3 else (),
        tuple(order) if rng.random() < 0.3 and not profile.chain else (),
        tuple(measures),
        rows_,
        make.skip(),
        subsets,
        RowWindow(rng.choice((None, None, 0, 1, 2, 3, 4)), rng.random() < 0.5) if profile.windows else None,
    )
    return _extended(rng, q) if profile.extended else q


def _extended(rng: Random, q: MatchRecognize) -> MatchRecognize:
    """Return the clause, perhaps with the longest match and with expressions in PARTITION BY and ORDER BY."""
    order = (Order(rng.choice(KEYS), rng.random() < 0.5, rng.choice((None, "FIRST", "LAST"))), *q.order)
    return replace(
        q,
        longest=rng.random() < 0.7,
        partition=(*q.partition, rng.choice(KEYS)) if rng.random() < 0.4 else q.partition,
        order=order if rng.random() < 0.4 else q.order,
    )


def _chain(rng: Random, profile: RowProfile, nodes: int) -> rows.Pattern:
    """Return a sequence of different variables, each once or with a quantifier other than {0}."""
    names = rng.sample(profile.variables, min(nodes, rng.randint(1, len(profile.variables))))
    parts: list[rows.Pattern] = [
        rows.Quantified(rows.RowVariable(A), *rng.choice(QUANTIFIERS[:-2]))
        if rng.random() < 0.6
        else rows.RowVariable(A)
        for A in names
    ]
    return reduce(rows.RowConcatenation, parts)


def _pattern(rng: Random, profile: RowProfile, nodes: int, nesting: int) -> rows.Pattern:
    if nodes <= 1 or nesting == 0:
        leaf = rng.random()
        # The share of anchors goes to the empty pattern in a window, where anchors are forbidden.
        if leaf < (0.14 if profile.windows else 0.08):
            return rows.Empty()
        return (
            rows.Anchor(rng.choice(("start", "end")))
            if leaf < 0.14
            else rows.RowVariable(rng.choice(profile.variables))
        )
    kind = rng.choices(("concatenation", "alternation", "quantified", "exclusion", "permute"), (40, 20, 32, 4, 4))[0]
    if kind == "quantified":
        low, high, greedy = rng.choice(QUANTIFIERS)
        return rows.Quantified(_pattern(rng, profile, nodes - 1, nesting - 1), low, high, greedy)
    if kind == "exclusion":
        return rows.Exclusion(_pattern(rng, profile, nodes - 1, nesting - 1))
    if kind == "permute":
        number = rng.randint(1, 3)
        return rows.Permute(tuple(_pattern(rng, profile, nodes // number, nesting - 1) for _ in range(number)))
    left = rng.randint(1, nodes - 1)
    made = rows.RowConcatenation if kind == "concatenation" else rows.Alternation
    # concatenations and alternations do not count as nesting
    return made(_pattern(rng, profile, left, nesting), _pattern(rng, profile, nodes - left, nesting))


class _Maker:
    """Makes conditions, measures and the skip of a clause with these variables; windows have no MATCH_NUMBER."""

    def __init__(self, rng: Random, variables: list[str], profile: RowProfile) -> None:
        self.rng, self.variables, self.windows, self.chain = rng, variables, profile.windows, profile.chain

    def skip(self) -> RowSkip:
        if self.variables and self.rng.random() < 0.3:
            return RowSkip(self.rng.choice(("first", "last")), self.rng.choice(self.variables))
        return RowSkip(self.rng.choice(("past last row", "next row")))

    def condition(self, context: float, depth: int = 2) -> rows.Expression:
        """Return a condition; `context` is the share of its comparisons that look at earlier rows of the match."""
        choice = self.rng.random() if depth else 1.0
        if choice < 0.2:
            made = self.rng.choice((rows.RowAnd, rows.RowOr))
            return made(self.condition(context, depth - 1), self.condition(context, depth - 1))
        if choice < 0.28:
            return rows.RowNot(self.condition(context, depth - 1))
        return self._test(self._looked_up() if self.rng.random() < context else self._number())

    def _test(self, number: rows.Expression) -> rows.Expression:
        rng = self.rng
        made: Sequence[Callable[[], rows.Expression]] = (
            lambda: rows.RowComparison(number, rng.choice(("<", "<=", ">", ">=", "=", "<>")), self._number()),
            lambda: rows.RowComparison(number, rng.choice(("<", ">=", "<>")), self._constant()),
            lambda: rows.RowComparison(number, rng.choice((">", "<=", "=")), self._constant()),
            lambda: rows.IsNull(number, rng.random() < 0.6),
            lambda: rows.RowBetween(number, self._constant(), self._constant(), rng.random() < 0.3),
            lambda: rows.RowIn(number, (self._constant(), self._constant()), rng.random() < 0.3),
            lambda: rows.RowLike(
                rows.RowColumn("z"), rows.RowConstant(rng.choice(("a%", "_", "%b"))), (), rng.random() < 0.3
            ),
            lambda: rows.RowComparison(
                rows.RowColumn("z"), rng.choice(("=", "<>", "<")), rows.RowConstant(rng.choice(WORDS))
            ),
            lambda: rows.RowCase(
                rows.IsNull(number),
                rows.RowConstant(rng.random() < 0.5),
                rows.RowComparison(number, "<", self._constant()),
            ),
        )
        return rng.choice(made)()

    def _constant(self) -> rows.Expression:
        return rows.RowConstant(None if self.rng.random() < 0.05 else self.rng.randrange(4))

    def _number(self) -> rows.Expression:
        """Return an expression for a number. It reads columns of rows at fixed distances from the current row."""
        rng, column = self.rng, rows.RowColumn(self.rng.choice("xxy"))
        made: Sequence[Callable[[], rows.Expression]] = (
            lambda: column,
            lambda: column,
            lambda: rows.Physical(rng.choice(("PREV", "NEXT")), column, rng.choice((1, 1, 1, 0, 2))),
            lambda: rows.Physical("PREV", column, 1),
            lambda: rows.Sum(column, rng.choice(("+", "-")), rows.Physical("PREV", column, 1)),
            lambda: rows.Product(column, rng.choice(("*", "/", "%")), self._constant()),
            lambda: rows.Coalesce((column, self._constant())),
            lambda: rows.Absolute(rows.Sum(column, "-", self._constant())),
            lambda: rows.Cast(column, rng.choice(("BIGINT", "DOUBLE"))),
        )
        return rng.choice((*made[:2], *made[5:]) if self.chain else made)()

    def _looked_up(self, semantics: Sequence[Any] = ("RUNNING",)) -> rows.Expression:
        """Return an expression for a number that looks at earlier rows of the match, by FIRST, LAST or an aggregate."""
        rng = self.rng
        A = rng.choice([None, *self.variables])
        column = rows.RowColumn(rng.choice("xy"), A)
        seen = rng.choice(semantics)
        logical = rows.Logical(rng.choice(("FIRST", "LAST")), column, rng.choice((0, 0, 0, 1, 2)), seen)
        made: Sequence[Callable[[], rows.Expression]] = (
            lambda: logical,
            lambda: column,
            lambda: rows.Physical(rng.choice(("PREV", "NEXT")), logical, rng.choice((0, 1, 1, 2))),
            lambda: rows.Physical(rng.choice(("PREV", "NEXT")), column, rng.choice((0, 1, 1, 2))),
            lambda: rows.Count(A, seen),
            lambda: rows.RowAggregate(rng.choice(("COUNT", "SUM", "AVG", "MIN", "MAX")), column, seen),
            lambda: rows.Count() if self.windows else rows.RowMatchNumber(),
            lambda: rows.RowCase(
                rows.RowComparison(self._classifier(A), "=", rows.RowConstant(rng.choice("ABC"))),
                column,
                self._constant(),
            ),
        )
        return rng.choice((*made[:2], made[5]) if self.chain else made)()

    def _classifier(self, A: str | None) -> rows.Expression:
        one = rows.Classifier(A)
        return self.rng.choice((one, rows.Physical("PREV", one, 1), rows.Logical("LAST", one, 1)))

    def measure(self) -> rows.Expression:
        """Return a random expression for a column of the output."""
        A = self.rng.choice([None, *self.variables])
        seen = ("RUNNING", "FINAL")
        if self.chain:
            return self._looked_up(("RUNNING",))
        return self.rng.choice((self._classifier(A), self._looked_up(seen), self._looked_up(seen), self._number()))


ROW_PATTERN_GENERATOR = Generator[MatchRecognize](PROFILES, case, stream)


# ---------------------------------------------------------------------------------------------------------------------
# Simplify clauses of MATCH_RECOGNIZE, for shrinking and campaigns.

T = TypeVar("T")
PATTERN: TreeShape[Any] = TreeShape(trees.children, trees.rebuilt)
EXPRESSION: TreeShape[Any] = PATTERN
LISTS = ("define", "measures", "partition", "order", "subsets")


def size(q: MatchRecognize) -> int:
    """Return the number of nodes in the pattern and the expressions, plus the number of parts of other clauses."""
    nodes = sum(1 for root in (q.pattern, *q.expressions) for _ in subtrees(root))
    return nodes + sum(len(getattr(q, name)) for name in LISTS) + sum(len(one.members) for one in q.subsets)


def complexity(q: MatchRecognize) -> int:
    """Return the complexity of a clause, by which shrinking compares clauses of equal size.

    It is a sum over the clause's window, output, skip, order and nodes; the simplest clause has the least.
    """
    nodes = [*subtrees(q.pattern), *(node for e in q.expressions for node in subtrees(e))]
    window = 0 if q.window is None else 1 + q.window.seek + (-1 if (end := q.window.following) is None else end) + 1
    output = ("one", "all", "all omit empty", "all with unmatched").index(q.rows)
    skip = ("past last row", "next row", "last", "first").index(q.skip.to)
    return (
        window
        + output
        + skip
        + q.longest
        + sum(one.descending + (one.nulls is not None) for one in q.order)
        + sum(map(_complexity, nodes))
    )


def _complexity(node: rows.Pattern | rows.Expression) -> int:
    match node:
        case rows.Quantified(_, low, high, greedy):
            return 2 * low + (2 * high if high is not None else 1) + (not greedy)
        case rows.RowVariable(name):
            # So that A counts as simpler than B, and shrinking ends with the first names.
            return ord(name[0])
        case rows.Logical(_, _, offset, semantics):
            return offset + (semantics == "FINAL")
        case rows.Physical(_, _, offset):
            return abs(offset - 1)
        case rows.RowAggregate() | rows.Count():
            return int(node.semantics == "FINAL")
        case rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike():
            return int(node.negated)
    return 0


def pruned(q: MatchRecognize) -> MatchRecognize:
    """Drop variables that the pattern lacks from DEFINE, SUBSET and AFTER MATCH SKIP."""
    unions = (replace(one, members=tuple(A for A in one.members if A in q.primary)) for one in q.subsets)
    q = replace(
        q,
        define=tuple(one for one in q.define if one.variable in q.primary),
        subsets=tuple(one for one in unions if one.members),
    )
    return replace(q, skip=RowSkip()) if q.skip.variable not in (None, *q.unions) else q


def fewer_clauses(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause without one part, or with simpler output, window, skip or order."""
    for name in LISTS:
        for fewer in dropped(getattr(q, name)):
            changed: Any = {name: fewer}
            yield pruned(replace(q, **changed))
    simpler: tuple[RowsPerMatch, ...] = ("one", "all")
    yield from (replace(q, rows=rows_) for rows_ in simpler)
    if q.window is not None:
        yield replace(q, window=None)
        yield from (replace(q, window=window) for window in (RowWindow(), replace(q.window, seek=False)))
        if q.window.following:
            yield replace(q, window=replace(q.window, following=q.window.following - 1))
    if q.longest:
        yield replace(q, longest=False)
    yield from (replace(q, skip=skip) for skip in (RowSkip(), RowSkip("next row")))
    for order in varied(q.order, lambda one: (Order(one.column),)):
        yield replace(q, order=order)


def smaller_patterns(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause with a smaller pattern.

    The order: a part in place of the whole pattern, simpler quantifiers, PERMUTE with fewer parts, other variables.
    """
    for p in (*PATTERN.parts_instead(q.pattern), *PATTERN.at_each_node(q.pattern, lambda p: _simpler(p, q.primary))):
        yield pruned(replace(q, pattern=p))


def _simpler(p: rows.Pattern, variables: tuple[str, ...]) -> Iterator[rows.Pattern]:
    match p:
        case rows.Quantified(inner, low, high, _):
            for bounds in ((0, None), (1, None), (0, 1), (low, low), (max(low - 1, 0), high)):
                yield rows.Quantified(inner, *bounds)
            if high:
                yield rows.Quantified(inner, min(low, high - 1), high - 1, p.greedy)
        case rows.Permute(parts):
            yield from (rows.Permute(fewer) for fewer in dropped(parts) if fewer)
        case rows.RowVariable():
            yield from map(rows.RowVariable, variables)


def smaller_expressions(q: MatchRecognize) -> Iterator[MatchRecognize]:
    """Yield the clause with a smaller condition or measure: first with a part of an expression in place of the
    whole, then with simpler navigation.
    """

    def find_smaller(e: rows.Expression) -> Iterator[rows.Expression]:
        yield from EXPRESSION.parts_instead(e)
        yield from EXPRESSION.at_each_node(e, _plainer)

    for define in varied(q.define, lambda one: (replace(one, condition=e) for e in find_smaller(one.condition))):
        yield replace(q, define=define)
    for measures in varied(q.measures, lambda one: (replace(one, expression=e) for e in find_smaller(one.expression))):
        yield replace(q, measures=measures)


def _plainer(e: rows.Expression) -> Iterator[rows.Expression]:
    match e:
        case rows.Logical(function, argument, offset, _):
            yield rows.Logical(function, argument, max(offset - 1, 0))
            yield rows.Logical("LAST", argument, offset)
        case rows.Physical(function, argument, offset):
            yield rows.Physical(function, argument, 1)
        case rows.Collection():
            yield rows.Count()
        case rows.RowAggregate(function, argument):
            yield rows.RowAggregate(function, argument)
            yield rows.Count()
        case rows.RowColumn(name, A, quoted) if A is not None:
            yield rows.RowColumn(name, None, quoted)
        case rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike():
            yield replace(e, negated=False)
            if isinstance(e, rows.RowIn) and len(e.items) > 1:
                yield from (replace(e, items=fewer) for fewer in dropped(e.items))


def attributes(q: MatchRecognize) -> Iterator[str]:
    """Yield the columns in a clause."""
    return (one.name for one in columns_in(q))


def mapped(
    q: MatchRecognize, name: Callable[[str], str] | None = None, value: Callable[[Value], Value] | None = None
) -> MatchRecognize:
    """Return the clause with `value` applied to its constants.

    name: not used, because a clause names no event types, and variables keep their names.
    """

    def other(e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.RowConstant):
            shown = e.value
            if value is None or shown is None or isinstance(shown, timedelta):
                return e
            return rows.RowConstant(value(shown))
        return trees.rebuilt(e, [other(operand) for operand in rows.below(e)])

    return replace(
        q,
        define=tuple(replace(one, condition=other(one.condition)) for one in q.define),
        measures=tuple(replace(one, expression=other(one.expression)) for one in q.measures),
    )


def nothing(q: MatchRecognize) -> Iterator[Any]:
    """Yield nothing, because a clause has neither event types nor predicates on events."""
    return iter(())


ROW_PATTERN = QueryOperations[MatchRecognize](
    parse=parse,
    show=show,
    reductions=(fewer_clauses, smaller_patterns, smaller_expressions),
    size=size,
    complexity=complexity,
    types=nothing,
    attributes=attributes,
    predicates=nothing,
    mapped=mapped,
    operators=constructs,
    require_wellformed=require_wellformed,
)
