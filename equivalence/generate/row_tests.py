"""Make mutants of a MATCH_RECOGNIZE clause, as mistakes of an author would, and tables that kill them.

A mutant differs in one place: a quantifier, an alternative, a comparison, a number, AFTER MATCH SKIP, RUNNING or FINAL,
a key or its direction. A table kills a mutant if, by the definition, the mutant has another output there than the
clause. Tables come from a search with values near the constants of the clause. If the search finds none, they come from
the decision procedure. No two rows of a partition tie in ORDER BY, so that every engine must give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, TypeAlias

from cerify.equivalence.decide.replay import values
from cerify.equivalence.decide.row_clauses import compare
from cerify.equivalence.eql.mutants import wildcard_mutants
from cerify.equivalence.generate.row_pattern import EXPRESSION, PATTERN
from cerify.equivalence.verdict import Different, Equivalent
from cerify.semantics import trees
from cerify.semantics.arguments import Budget, check_time
from cerify.semantics.errors import BudgetExceeded, IllFormed, MissingPackage, Unsupported
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.readings import STANDARD
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.dialects import STANDARD_SQL, SqlDialect
from cerify.semantics.row_pattern.interpreter import OutputRow, RowOutput, find_matches, partitions, table_of
from cerify.semantics.row_pattern.scalars import LENGTHS, columns_in, key_value, resolve_column
from cerify.semantics.row_pattern.show_dialects import show_in_dialect, show_table
from cerify.semantics.row_pattern.syntax import ROW, MatchRecognize, RowSkip, show_expression, show_pattern
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, ValueType

TRIES, LONGEST, SEED = 800, 7, 2026
FEW = 100  # the time from one row to the next has fewer units than this
NULLS = 0.1  # the share of the values of a table that are NULL
BUDGET = Budget(valuations=20_000)
OTHERS: Mapping[str, tuple[str, ...]] = {
    "<": ("<=", ">"), "<=": ("<", ">="), ">": (">=", "<"), ">=": (">", "<="), "=": ("<>",), "<>": ("=",),
}  # fmt: skip
TIMES: tuple[Value, ...] = tuple(datetime(2026, 1, 1, hour, tzinfo=UTC) for hour in range(3))
Output: TypeAlias = tuple[tuple[str, ...], tuple[OutputRow, ...]]


@dataclass(frozen=True)
class TableTest:
    """A table with the clause's output (columns and rows), and descriptions of the mutants that it kills.

    A mutant is a clause with one change. A table kills it if its output there differs from that of the clause.
    """

    table: Stream
    columns: tuple[str, ...]
    rows: tuple[OutputRow, ...]
    kills: tuple[str, ...]


@dataclass(frozen=True)
class TableTests:
    """Tables that kill the mutants of a clause.

    same: mutants that mean the same as the clause, so that no table kills them. undecided: mutants for which no table
    was found.
    """

    tests: tuple[TableTest, ...]
    mutants: int
    same: tuple[str, ...]
    undecided: tuple[str, ...]


def mutants_of(q: MatchRecognize) -> Iterator[tuple[str, MatchRecognize]]:
    """Yield the well-formed mutants of a clause, each with a description of the part that differs."""
    seen = {q}
    for words, mutant in _changed(q):
        if mutant in seen:
            continue
        seen.add(mutant)
        with suppress(IllFormed):
            require_wellformed(mutant)
            yield words, mutant


def _changed(q: MatchRecognize) -> Iterator[tuple[str, MatchRecognize]]:
    for p in PATTERN.at_each_node(q.pattern, _other_patterns):
        mutant = replace(q, pattern=p)
        define = tuple(one for one in q.define if one.variable in mutant.primary)
        yield f"PATTERN ({show_pattern(p)})", replace(mutant, define=define)
    for k, one in enumerate(q.define):
        for e in EXPRESSION.at_each_node(one.condition, _other_expressions):
            changed = (*q.define[:k], replace(one, condition=e), *q.define[k + 1 :])
            yield f"DEFINE {one.variable} AS {show_expression(e)}", replace(q, define=changed)
        yield f"no condition of {one.variable}", replace(q, define=(*q.define[:k], *q.define[k + 1 :]))
    for k, measure in enumerate(q.measures):
        for e in EXPRESSION.at_each_node(measure.expression, _other_expressions):
            if q.rows == "one" and q.window is None and _all_running(e) == _all_running(measure.expression):
                continue  # in the last row FINAL and RUNNING are the same
            shown = (*q.measures[:k], replace(measure, expression=e), *q.measures[k + 1 :])
            yield f"MEASURES {show_expression(e)} AS {measure.name}", replace(q, measures=shown)
    for skip in (RowSkip(), RowSkip("next row"), replace(q.skip, to="first"), replace(q.skip, to="last")):
        if (skip.variable is None) != (skip.to in ("first", "last")):
            yield f"AFTER MATCH SKIP {skip.to} {skip.variable or ''}".rstrip(), replace(q, skip=skip)
    if q.window is None and q.rows != "one":
        for rows_ in ("all", "all omit empty", "all with unmatched"):
            yield rows.ROWS[rows_], replace(q, rows=rows_)
    for k, key in enumerate(q.partition):
        yield (
            f"without PARTITION BY {show_expression(key)}",
            replace(q, partition=(*q.partition[:k], *q.partition[k + 1 :])),
        )
    for k, order in enumerate(q.order):
        turned = replace(order, descending=not order.descending)
        words = f"ORDER BY {show_expression(order.column)} in the other direction"
        yield words, replace(q, order=(*q.order[:k], turned, *q.order[k + 1 :]))
    if q.longest:
        yield "without the longest match", replace(q, longest=False)


def _all_running(e: rows.Expression) -> rows.Expression:
    """Return the expression with RUNNING in place of FINAL."""
    changed: rows.Expression = (
        trees.rebuilt(e, [_all_running(operand) for operand in rows.below(e)]) if e.operands else e
    )
    if isinstance(changed, rows.Logical | rows.Count | rows.RowAggregate):
        changed = replace(changed, semantics="RUNNING")
    return changed


def _other_patterns(p: rows.Pattern) -> Iterator[rows.Pattern]:
    match p:
        case rows.Quantified(inner, low, high, greedy):
            if low != high:
                yield replace(p, greedy=not greedy)
            yield inner
            for bounds in ((low - 1, high), (low + 1, high), *(() if high is None else ((low, high + 1), (low, None)))):
                if bounds[0] >= 0 and (bounds[1] is None or bounds[0] <= bounds[1]):
                    yield replace(p, low=bounds[0], high=bounds[1])
        case rows.RowVariable():
            yield rows.Quantified(p, 0, 1)
            yield rows.Quantified(p, 1, None)
        case rows.RowConcatenation(left, right):
            yield from (left, right)
        case rows.Alternation(left, right):
            yield rows.Alternation(right, left)
            yield from (left, right)
        case rows.Anchor():
            yield rows.Empty()
        case rows.Exclusion(inner):
            yield inner


def _other_expressions(e: rows.Expression) -> Iterator[rows.Expression]:
    changes: dict[str, Any] = {}
    match e:
        case rows.RowComparison(left, operator, right):
            yield from (rows.RowComparison(left, other, right) for other in OTHERS[operator])  # type: ignore[arg-type]
        case rows.RowAnd(left, right):
            yield from (rows.RowOr(left, right), left, right)
        case rows.RowOr(left, right):
            yield from (rows.RowAnd(left, right), left, right)
        case rows.RowNot(operand):
            yield operand
        case rows.RowConstant(bool()):
            pass
        case rows.RowConstant(int() | float() as number):
            yield from (rows.RowConstant(number + 1), rows.RowConstant(number - 1))
        case rows.RowConstant(timedelta() as length):
            yield from (
                rows.RowConstant(length + timedelta(seconds=1)),
                rows.RowConstant(length - timedelta(seconds=1)),
            )
        case rows.Physical(function, _, offset):
            yield replace(e, function="NEXT" if function == "PREV" else "PREV")
            yield replace(e, offset=offset + 1)
        case rows.Logical(function, _, offset):
            yield replace(e, function="LAST" if function == "FIRST" else "FIRST")
            yield replace(e, offset=offset + 1)
        case rows.RowAggregate("MIN" | "MAX" as function):
            yield replace(e, function="MAX" if function == "MIN" else "MIN")
        case rows.RowAggregate("SUM" | "AVG" as function) if not isinstance(e, rows.Collection):
            yield replace(e, function="AVG" if function == "SUM" else "SUM")
        case rows.Count(str()):
            changes["variable"] = None
        case rows.IsNull(_, negated):
            changes["negated"] = not negated
        case rows.RowBetween() | rows.RowIn() | rows.RowLike():
            changes["negated"] = not e.negated
            match e:
                case rows.RowLike(_, rows.RowConstant(str() as text), ()):
                    for other in wildcard_mutants(text, "%", "_"):
                        yield replace(e, pattern=rows.RowConstant(other))
    if changes:
        yield replace(e, **changes)
    if isinstance(e, rows.Logical | rows.Count | rows.RowAggregate):
        yield replace(e, semantics="FINAL" if e.semantics == "RUNNING" else "RUNNING")


def make_table_tests(q: MatchRecognize, schema: Schema | None = None, budget: Budget = Budget()) -> TableTests:
    """Return short tables that kill the mutants of a clause.

    schema: the types of the columns; without it they are guessed from the clause. Raises IllFormed for a clause that is
    not well-formed.
    """
    require_wellformed(q)
    tests: list[tuple[Stream, Output]] = []
    kills: dict[int, list[str]] = {}
    same: list[str] = []
    undecided: list[str] = []
    mutants = list(mutants_of(q))
    for words, mutant in mutants:
        check_time()
        found = next((i for i, (S, right) in enumerate(tests) if _output(mutant, S) not in (None, right)), None)
        if found is None:
            verdict, S = _separating(q, mutant, schema, budget)
            if S is None or (right := _output(q, S)) is None:
                (same if verdict else undecided).append(words)
                continue
            found = len(tests)
            tests.append((S, right))
        kills.setdefault(found, []).append(words)
    made = (TableTest(S, *right, tuple(kills.get(i, ()))) for i, (S, right) in enumerate(tests))
    return TableTests(tuple(made), len(mutants), tuple(same), tuple(undecided))


def _output(q: MatchRecognize, S: Stream) -> Output | None:
    """Return the output table of a clause; None if AFTER MATCH SKIP has no row to skip to, or the budget ends."""
    try:
        made = RowOutput(q, S)
        return made.columns, tuple(made.rows(find_matches(q, S, budget=BUDGET)))
    except (IllFormed, BudgetExceeded):
        return None


def _separating(
    q: MatchRecognize, mutant: MatchRecognize, schema: Schema | None, budget: Budget
) -> tuple[bool, Stream | None]:
    """Return whether the mutant is proved to mean the same as the clause, and a table on which their outputs differ.

    The table is None if no such table is found.
    """

    def differs(S: Stream) -> bool:
        right = _output(q, S)
        return right is not None and _output(mutant, S) not in (None, right) and not _has_ties(q, S)

    verdict = None
    # The decider compares matches, and neither measures nor the choice of output rows.
    if (q.measures, q.rows) == (mutant.measures, mutant.rows):
        with suppress(Unsupported, BudgetExceeded, MissingPackage):
            verdict = compare(q, mutant, "equivalent", "valuations", schema, budget)
    if isinstance(verdict, Equivalent):
        return True, None
    rng, make = Random(SEED), TableMaker(q, mutant, schema)
    for n in range(TRIES):
        # The tables grow from try to try, so that short ones come first: a test is read by people.
        S = make.table(rng, 1 + n * LONGEST // TRIES)
        if differs(S):
            return False, _shortened(S, differs)
    return False, verdict.stream if isinstance(verdict, Different) and differs(verdict.stream) else None


def _shortened(S: Stream, differs: Callable[[Stream], bool]) -> Stream:
    """Return the table without unneeded rows and values."""
    events, k = [*S], 0
    while k < len(events):
        fewer = [*events[:k], *events[k + 1 :]]
        events, k = (fewer, k) if differs(Stream(fewer)) else (events, k + 1)
    return Stream(events)


def _has_ties(q: MatchRecognize, S: Stream) -> bool:
    """Return whether two rows of a partition have equal values in ORDER BY."""
    table = table_of(S)
    for places in partitions(q, table, STANDARD) if q.order else ():
        keys = [tuple(key_value(one.column, table[place], STANDARD) for one in q.order) for place in places]
        if len(set(keys)) < len(keys):
            return True
    return False


class TableMaker:
    """Makes random tables for two clauses: values next to their constants, NULL, and an order without ties."""

    def __init__(self, q: MatchRecognize, mutant: MatchRecognize, schema: Schema | None) -> None:
        self.q = q
        self.values = values((q, mutant), schema)
        for pool in self.values.values():  # at least five integers, so that a column can rise in several rows
            whole = [value for value in pool if type(value) is int]
            if 0 < len(whole) < 5 and max(whole) < 2**62:  # all are 64-bit numbers
                pool += range(max(whole) + 1, max(whole) + 6 - len(whole))
        if schema is not None:
            self.values |= {name: self.values.get(name, [None]) for name in schema.attributes}
        constants = [node.value for e in q.expressions for node in subtrees(e) if isinstance(node, rows.RowConstant)]
        lengths = [value for value in constants if isinstance(value, timedelta)]
        second = timedelta(seconds=1)
        numbers = {1, *(value for value in constants if type(value) is int and 0 < value < FEW)}
        lengths += [n * unit for unit in _units(q) for n in numbers]
        self.steps = [*(abs(one) + d for one in lengths for d in (-second, timedelta(0), second)), timedelta(hours=1)]
        for name in self._timed(schema):
            self.values[name] = [*TIMES, None]
        columns = [one for one in q.partition if isinstance(one, rows.RowColumn)]
        self.partition = [resolve_column(one, self.values) for one in columns]
        order = [one.column for one in q.order[:1] if isinstance(one.column, rows.RowColumn)]
        self.order = [resolve_column(one, self.values) for one in order]

    def _timed(self, schema: Schema | None) -> Iterator[str]:
        """Yield the columns of times: according to the schema, or else the columns in EXTRACT or beside an interval."""
        if schema is not None:
            yield from (name for name, type_ in schema.attributes.items() if type_ == "timestamp")
            return
        for e in (node for root in self.q.expressions for node in subtrees(root)):
            timed = isinstance(e, rows.Extract) or (
                isinstance(e, rows.RowComparison | rows.RowBetween | rows.Sum)
                and any(isinstance(one, rows.RowConstant) and isinstance(one.value, timedelta) for one in rows.below(e))
            )
            if timed:
                columns = (one for one in subtrees(e) if isinstance(one, rows.RowColumn))
                yield from (resolve_column(one, self.values) for one in columns)

    def table(self, rng: Random, length: int) -> Stream:
        """Return a table of that many rows, in the order of the first column of ORDER BY."""
        events = []
        clock, number = datetime(2026, 1, 1, tzinfo=UTC), 0
        pools = {name: [value for value in pool if value is not None] for name, pool in self.values.items()}
        for name in self.partition:
            # With many keys most rows would be alone in their partition.
            pools[name] = rng.sample(pools[name], min(len(pools[name]), rng.choice((1, 1, 2))))
        for _ in range(length):
            row = {name: rng.choice(pool) for name, pool in pools.items() if pool and rng.random() >= NULLS}
            clock, number = clock + rng.choice(self.steps), number + rng.randint(1, 2)
            for name in self.order:
                row[name] = clock if isinstance(self.values[name][0], datetime) else number
            events.append(Event(ROW, {name: value for name, value in row.items() if value is not None}))
        return Stream(events)


def _units(q: MatchRecognize) -> set[timedelta]:
    """Return the units of fixed length in which the clause counts the time between two rows."""
    calls = (e for root in q.expressions for e in subtrees(root) if isinstance(e, rows.RowCall))
    named = {e.arguments[0] for e in calls if e.function in ("DATEDIFF", "TIMESTAMPDIFF")}
    return {LENGTHS[unit] for e in named if (unit := str(getattr(e, "value", "")).upper()) in LENGTHS}


def show_test(q: MatchRecognize, S: Stream, target: SqlDialect, types: Mapping[str, ValueType] | None = None) -> str:
    """Return a SELECT, in a dialect of SQL, that applies a clause to a table whose rows are in the text.

    types: the types of columns with only NULLs. Raises Unsupported for features that the dialect lacks, and for a
    clause without ORDER BY, because a database table has no order.
    """
    if not q.order:
        raise Unsupported("the rows of a database table have no order: write ORDER BY", q.span)
    names: dict[str, rows.RowColumn] = {}
    for one in columns_in(q):
        names.setdefault(resolve_column(one, names), one)
    clause, _ = show_in_dialect(q, STANDARD_SQL, target)
    cells = [[row.get(name) for name in names] for row in table_of(S)]
    return f"{show_table('t', list(names.values()), cells, target, types)}\nSELECT * FROM t {clause};"
