"""What a mutant of MATCH_RECOGNIZE is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial, reduce
from itertools import chain, islice, permutations
from typing import Any

from cerify.automata.evaluator import Output
from cerify.hypotheses.interpretation import choices_of
from cerify.hypotheses.row_pattern import (
    AXES,
    NEVER,
    NULL,
    TRUE,
    Departure,
    Looked,
    LookingMeaning,
    LookingOutput,
    as_it_is,
    departure,
    in_expressions,
    in_pattern,
    in_the_partition,
    in_window,
    semantics,
)
from cerify.semantics import trees
from cerify.semantics.arguments import Budget
from cerify.semantics.errors import BudgetExceeded, CerifyError
from cerify.semantics.events import Match, Stream
from cerify.semantics.readings import RowReading
from cerify.semantics.row_pattern import denote, interpreter
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import require_wellformed
from cerify.semantics.row_pattern.denote import Frame, Labelling, MatchAt, Row, RowMatch
from cerify.semantics.row_pattern.interpreter import OutputRow
from cerify.semantics.row_pattern.scalars import NumberedMatch
from cerify.semantics.row_pattern.syntax import (
    MatchRecognize,
    Order,
    RowDefinition,
    RowSkip,
    RowsPerMatch,
    RowWindow,
    features,
)
from proofs_tests.tools.mutants.mutant import Mutant

# ---- model ----
#

BUDGET = Budget(valuations=10_000)
ERROR = frozenset({Match(-1, ())})
"""The answer of an engine that stops with an error."""

known_features = lru_cache(maxsize=2_000)(features)


@dataclass(frozen=True)
class RowMutant(Mutant):
    """departure: what that engine does otherwise. bears: it is the same on queries with none of these, if there are."""

    departure: Departure
    bears: frozenset[str] = frozenset()

    def matches(self, query: MatchRecognize, S: Stream, output: Output = "valuations") -> frozenset[Match] | None:
        """The matches, with bindings and results; None where they take too long."""
        try:
            require_wellformed(query, self.departure.reading)
            return frozenset(self.departure.list_matches(query, S, BUDGET))
        except BudgetExceeded:
            return None
        except (CerifyError, KeyError):  # the pattern may have lost a variable that an expression names
            return ERROR

    def concerns(self, query: MatchRecognize, S: Stream) -> bool:
        return (not self.bears or not self.bears.isdisjoint(known_features(query))) and not self.reads_alike(query)

    @lru_cache(maxsize=5_000)  # noqa: B019  # mutants live as long as the process
    def reads_alike(self, query: MatchRecognize) -> bool:
        """Whether that engine does nothing otherwise than to read a clause, and reads this one as it is."""
        return replace(self.departure, clause=as_it_is) == Departure() and self.departure.clause(query) == query


def wrong(feature: str, bears: str, ways: Mapping[str, Departure]) -> tuple[RowMutant, ...]:
    """The mutants that get a feature wrong, each by the way in which it does; bears: names of operators."""
    names = frozenset(filter(None, bears.split(", ")))
    return tuple(RowMutant(f"{feature}: {way}", departure, names) for way, departure in ways.items())


MEANING = RowMutant("none", Departure())


# ---- clauses ----
# Mutants that get the other clauses wrong: PARTITION BY, ORDER BY, AFTER MATCH SKIP, and the rows per match.


def goes_to(
    row: Callable[[MatchRecognize, RowMatch, int], int], to: Sequence[str], also_empty: bool = False
) -> Departure:
    """After a match with one of these skips, the search goes on at another row than the definition's.

    It is one between the row after the first one of the match and the row after the last one.
    """

    def resumed(q: MatchRecognize, found: RowMatch, reading: RowReading) -> int:
        right = denote.resumed(q, found, reading)
        if q.skip.to not in to or not (found.labelling or also_empty):
            return right
        return max(found.start + 1, row(q, found, right))

    return Departure(resumed=resumed)


def skips(old: str, new: Callable[[RowSkip], RowSkip]) -> Departure:
    """One skip is another."""
    return Departure(clause=lambda q: replace(q, skip=new(q.skip)) if q.skip.to == old else q)


def first_member(q: MatchRecognize) -> MatchRecognize:
    """A skip to a union is one to its first member."""
    first = {one.name: one.members[0] for one in q.subsets}
    return replace(q, skip=replace(q.skip, variable=first.get(q.skip.variable or "", q.skip.variable)))


def orders(other: Callable[[tuple[Order, ...]], Sequence[Order]]) -> Departure:
    """Another ORDER BY."""
    return Departure(clause=lambda q: replace(q, order=tuple(other(q.order))))


def parted(
    other: Callable[[MatchRecognize, Sequence[Row], list[list[int]]], list[list[int]]],
) -> Departure:
    """Other partitions than the definition's."""
    return Departure(parts=lambda q, table, reading: other(q, table, interpreter.partitions(q, table, reading)))


def has_null(q: MatchRecognize, row: Row) -> bool:
    return any(one.name not in row for one in q.partition)


def each_null_alone(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    found = []
    for places in parts:
        found += [[place] for place in places] if has_null(q, table[places[0]]) else [places]
    return found


def nulls_with_the_first(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    """Rows with NULL belong to the first other partition."""
    nulls = [places for places in parts if has_null(q, table[places[0]])]
    others = [places for places in parts if not has_null(q, table[places[0]])]
    if not (nulls and others):
        return parts
    return [others[0] + [place for places in nulls for place in places], *others[1:]]


def as_text(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    """In the order of the first column's values as text."""
    if not q.order:
        return parts
    one = q.order[0]

    def key(place: int) -> str:
        return str(table[place].get(one.column.name, "~"))

    return [sorted(places, key=key, reverse=one.descending) for places in parts]


def ties_backwards(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    """Rows that tie are in the reverse order of the table."""

    def key(place: int) -> str:
        return repr([table[place].get(one.column.name) for one in q.order])

    found = []
    for places in parts:
        groups: dict[str, list[int]] = {}
        for place in places:
            groups.setdefault(key(place), []).append(place)
        found.append([place for group in groups.values() for place in reversed(group)])
    return found


def float_keys(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    """Keys that are one as floats are one key."""
    found: dict[str, list[int]] = {}
    for places in parts:
        values = [table[places[0]].get(one.name) for one in q.partition]
        key = repr([float(v) if isinstance(v, int) else v for v in values])
        found.setdefault(key, []).extend(places)
    return [sorted(places) if not q.order else places for places in found.values()]


def float_order(q: MatchRecognize, table: Sequence[Row], parts: list[list[int]]) -> list[list[int]]:
    """In the order of one column's values as floats, if all are numbers."""
    if len(q.order) != 1:
        return parts
    one = q.order[0]
    values = [row.get(one.column.name) for row in table]
    if not all(isinstance(v, int | float) for v in values):
        return parts
    return [
        sorted(sorted(places), key=lambda p: float(table[p][one.column.name]), reverse=one.descending)
        for places in parts
    ]


def output(changes: Mapping[RowsPerMatch, RowsPerMatch]) -> Departure:
    """Other rows per match."""
    return Departure(clause=lambda q: replace(q, rows=changes.get(q.rows, q.rows)))


def _nulls(nulls: Any) -> Departure:
    return orders(lambda order: [replace(one, nulls=nulls) for one in order])


ALL = ("past last row", "next row", "first", "last")
CLAUSES = (
    *wrong("skip", "", {
        "TO NEXT ROW is PAST LAST ROW": skips("next row", lambda skip: RowSkip()),
        "PAST LAST ROW is TO NEXT ROW": skips("past last row", lambda skip: RowSkip("next row")),
        "PAST LAST ROW is TO LAST ROW": goes_to(lambda q, m, right: m.end - 1, ("past last row",)),
        "PAST LAST ROW leaves a row out": goes_to(lambda q, m, right: right + 1, ("past last row",)),
        "TO FIRST is TO NEXT ROW": skips("first", lambda skip: RowSkip("next row")),
        "TO LAST is PAST LAST ROW": skips("last", lambda skip: RowSkip()),
        "TO LAST is the row after it": goes_to(lambda q, m, right: right + 1, ("last",)),
        "TO FIRST is the row after it": goes_to(lambda q, m, right: right + 1, ("first",)),
        "TO LAST is TO FIRST": goes_to(lambda q, m, right: denote.resumed(
            replace(q, skip=replace(q.skip, to="first")), m, RowReading(skip_to_first="next_row")
        ), ("last",)),
        "TO NEXT ROW leaves a row out": goes_to(lambda q, m, right: min(right + 1, m.end), ("next row",)),
        "after an empty match a row is left out": goes_to(
            lambda q, m, right: right if m.labelling else right + 1, ALL, also_empty=True
        ),
        "a match is taken for the last": goes_to(lambda q, m, right: 10**6, ALL),
        "to a union is to its first member": Departure(clause=first_member),
    }),
    *wrong("partition", "partition by", {
        "the first column alone": Departure(clause=lambda q: replace(q, partition=q.partition[:1])),
        "the last column alone": Departure(clause=lambda q: replace(q, partition=q.partition[-1:])),
        "rows with NULL are dropped": parted(
            lambda q, table, parts: [places for places in parts if not has_null(q, table[places[0]])]
        ),
        "each row with NULL is alone": parted(each_null_alone),
        "rows with NULL are in the first": parted(nulls_with_the_first),
        "the first alone": parted(lambda q, table, parts: parts[:1]),
        "the last alone": parted(lambda q, table, parts: parts[-1:]),
        "keys are doubles": parted(float_keys),
    }),
    *wrong("order", "order by", {
        "DESC is not read": orders(lambda order: [replace(one, descending=False) for one in order]),
        "reversed": orders(lambda order: [replace(one, descending=not one.descending) for one in order]),
        "the first column alone": orders(lambda order: order[:1]),
        "the last column alone": orders(lambda order: order[-1:]),
        "the last column counts first": orders(lambda order: order[::-1]),
        "NULLS is not read": _nulls(None),
        "NULLS FIRST": _nulls("FIRST"),
        "NULLS LAST": _nulls("LAST"),
        "as text": parted(as_text),
        "as doubles": parted(float_order),
        "ties are in the reverse order": parted(ties_backwards),
    }),
    *wrong("output", "all rows, all rows omit empty, all rows with unmatched", {
        "empty matches are never shown": output({"all": "all omit empty", "all with unmatched": "all omit empty"}),
        "empty matches are always shown": output({"all omit empty": "all"}),
        "one row per match": output({"all": "one", "all omit empty": "one", "all with unmatched": "one"}),
    }),
)  # fmt: skip


# ---- expressions ----
# Mutants that get conditions and measures wrong: navigation, aggregates, CLASSIFIER, MATCH_NUMBER, NULL, operators.

ZERO, ONE = rows.RowConstant(0), rows.RowConstant(1)
NODES = rows.Logical | rows.Count | rows.RowAggregate


def reads(
    kind: Any, other: Callable[[Any], rows.Expression], when: Callable[[Any], bool] = bool, measures: bool = True
) -> Departure:
    """Another expression in place of each one of a kind of which `when` is true."""
    return Departure(
        clause=in_expressions(lambda e: other(e) if isinstance(e, kind) and when(e) else e, measures=measures)
    )


def conditions(other: Callable[[rows.Expression], rows.Expression]) -> Departure:
    """Another condition in place of each one of DEFINE."""
    return Departure(
        clause=lambda q: replace(q, define=tuple(replace(one, condition=other(one.condition)) for one in q.define))
    )


def unqualified(e: Any) -> Any:
    """Columns and CLASSIFIER without their variable."""
    return in_expression(lambda n: replace(n, variable=None) if isinstance(n, rows.RowColumn | rows.Classifier) else n)(
        e
    )


def in_expression(other: Callable[[Any], rows.Expression]) -> Callable[[Any], rows.Expression]:
    """Another node in place of each one of an expression."""

    def changed(e: Any) -> Any:
        below = rows.below(e)
        return other(trees.rebuilt(e, [changed(one) for one in below]) if below else e)

    return changed


def _calls(name: str, *functions: str) -> Callable[[Any], bool]:
    return lambda e: e.function in (name, *functions)


def function(kind: Any, old: str, new: str) -> Departure:
    """One function is another."""
    return reads(kind, lambda e: replace(e, function=new), _calls(old))


def when_null(e: Any, instead: rows.Expression) -> rows.Expression:
    return rows.Coalesce((e, instead))


def unknown_if_any(e: Any) -> rows.Expression:
    """NULL where an operand is."""
    return rows.RowCase(rows.RowOr(rows.IsNull(e.left), rows.IsNull(e.right)), NULL, e)


def shows(looked: Looked) -> Departure:
    """Measures look at another frame."""
    return Departure(shows=looked)


def physical_of(e: rows.Logical) -> rows.Expression:
    """An offset of FIRST and LAST that counts rows of the partition."""
    return rows.Physical("NEXT" if e.function == "FIRST" else "PREV", replace(e, offset=0), e.offset)


def in_lower_case(e: rows.Classifier) -> rows.Expression:
    found: rows.Expression = e
    for name in "ABCDE":
        found = rows.RowCase(rows.RowComparison(e, "=", rows.RowConstant(name)), rows.RowConstant(name.lower()), found)
    return found


def pattern_of(change: Callable[[str], str]) -> Departure:
    """LIKE with another pattern."""

    def other(e: rows.RowLike) -> rows.Expression:
        given = e.pattern
        known = isinstance(given, rows.RowConstant) and isinstance(given.value, str)
        return replace(e, pattern=rows.RowConstant(change(str(given.value)))) if known else e  # type: ignore[union-attr]

    return reads(rows.RowLike, other)


def compares(old: str, new: str) -> Departure:
    """One comparison is another."""
    return reads(rows.RowComparison, lambda e: replace(e, operator=new), lambda e: e.operator == old)


def without_last(e: Any) -> Any:
    """An aggregate without the current row, as far as sums and counts of rows go."""
    if isinstance(e, rows.Count):
        return rows.Sum(e, "-", rows.RowCase(rows.RowComparison(e, ">", ZERO), ONE, ZERO))
    return rows.Sum(e, "-", rows.Coalesce((rows.Logical("LAST", e.argument, 0, e.semantics), ZERO)))


def looks_at_nulls(e: rows.RowAggregate) -> rows.Expression:
    """NULL where a value is."""
    counted = rows.RowAggregate("COUNT", e.argument, e.semantics)
    every = rows.Count(rows.variable_of(e.argument), e.semantics)
    return rows.RowCase(rows.RowComparison(counted, "<", every), NULL, e)


def mean_of_rows(e: rows.RowAggregate) -> rows.Expression:
    every = rows.Count(rows.variable_of(e.argument), e.semantics)
    return rows.Product(rows.Cast(rows.RowAggregate("SUM", e.argument, e.semantics), "DOUBLE"), "/", every)


def passes_over_null(e: rows.Logical) -> rows.Expression:
    """The first or last value that is not NULL, of the four rows that are looked at."""
    return rows.Coalesce((e, *(replace(e, offset=e.offset + n) for n in (1, 2, 3))))


NUMBERS = frozenset({"x", "y", "o", "p"})


def is_numeric(e: Any) -> bool:
    """Whether an expression consists of numbers of the suite's columns, and constants."""
    if isinstance(e, rows.RowColumn):
        return e.name in NUMBERS
    if isinstance(e, rows.RowConstant):
        return type(e.value) in (int, float)
    below = rows.below(e)
    other = isinstance(e, rows.Cast | rows.RowCall) or (isinstance(e, rows.RowAggregate) and e.function == "AVG")
    return bool(below) and not other and all(map(is_numeric, below))


def wrapped(e: rows.Expression, bits: int) -> rows.Expression:
    """The value of so many bits, as a difference overflows in machine arithmetic."""
    half, whole = rows.RowConstant(2 ** (bits - 1)), rows.RowConstant(2**bits)
    positive = rows.Sum(rows.Product(rows.Sum(e, "+", half), "%", whole), "+", whole)
    return rows.Sum(rows.Product(positive, "%", whole), "-", half)


def compares_numbers(other: Callable[[rows.RowComparison], rows.Expression]) -> Departure:
    """Another comparison of numbers."""
    return reads(rows.RowComparison, other, lambda e: is_numeric(e.left) and is_numeric(e.right))


def as_cast(e: rows.RowComparison, kind: rows.SqlType) -> rows.RowComparison:
    return replace(e, left=rows.Cast(e.left, kind), right=rows.Cast(e.right, kind))


def is_digits(e: Any) -> bool:
    return isinstance(e, rows.RowConstant) and isinstance(e.value, str) and e.value.isdigit()


def short_float(e: Any) -> rows.Expression:
    """A constant of 15 digits."""
    return replace(e, value=float(f"{e.value:.15g}"))


def first_member_expressions(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=one.members[:1]) for one in q.subsets))


def last_member(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=one.members[-1:]) for one in q.subsets))


def every_member(q: MatchRecognize) -> MatchRecognize:
    return replace(q, subsets=tuple(replace(one, members=q.primary) for one in q.subsets))


def other_members(q: MatchRecognize) -> MatchRecognize:
    return replace(
        q,
        subsets=tuple(
            replace(one, members=tuple(A for A in q.primary if A not in one.members) or one.members)
            for one in q.subsets
        ),
    )


AGGREGATES = rows.RowAggregate
EXPRESSIONS = (
    *wrong(
        "physical",
        "physical",
        {
            "the offset is 1": reads(rows.Physical, lambda e: replace(e, offset=1)),
            "PREV is NEXT": function(rows.Physical, "PREV", "NEXT"),
            "NEXT is PREV": function(rows.Physical, "NEXT", "PREV"),
            "one row too far": reads(rows.Physical, lambda e: replace(e, offset=e.offset + 1)),
            "outside there is 0": reads(
                rows.Physical,
                lambda e: when_null(e, ZERO),
                lambda e: not isinstance(rows.references(e)[0], rows.Classifier),
            ),
            "outside there is the nearest row": reads(rows.Physical, lambda e: when_null(e, e.argument)),
            "from the current row": reads(rows.Physical, lambda e: replace(e, argument=unqualified(e.argument))),
            "FIRST and LAST inside are the current row": reads(
                rows.Physical,
                lambda e: replace(e, argument=unqualified(e.argument.argument)),
                lambda e: isinstance(e.argument, rows.Logical),
            ),
            "they do not move from FIRST and LAST": reads(
                rows.Physical, lambda e: e.argument, lambda e: isinstance(e.argument, rows.Logical)
            ),
            "they do not move": reads(rows.Physical, lambda e: e.argument),
            "in the rows of the variable": reads(
                rows.Physical,
                lambda e: rows.Logical("LAST", e.argument, e.offset),
                lambda e: e.function == "PREV" and not isinstance(e.argument, rows.Logical),
            ),
            "they are NULL in conditions": reads(rows.Physical, lambda e: NULL, measures=False),
            "they pass over NULL": reads(
                rows.Physical, lambda e: when_null(e, replace(e, offset=e.offset + 1)), lambda e: e.offset > 0
            ),
        },
    ),
    *wrong(
        "logical",
        "logical",
        {
            "FIRST is LAST": function(rows.Logical, "FIRST", "LAST"),
            "LAST passes over NULL": reads(rows.Logical, passes_over_null, _calls("LAST")),
            "FIRST passes over NULL": reads(rows.Logical, passes_over_null, _calls("FIRST")),
            "LAST with an offset counts values that are not NULL": reads(
                rows.Logical, passes_over_null, lambda e: e.offset > 0
            ),
            "LAST is FIRST": function(rows.Logical, "LAST", "FIRST"),
            "of all rows": reads(rows.Logical, lambda e: replace(e, argument=unqualified(e.argument))),
            "the offset counts rows of the partition": reads(rows.Logical, physical_of, lambda e: e.offset),
            "one row too far": reads(rows.Logical, lambda e: replace(e, offset=e.offset + 1)),
            "the offset is from the other end": reads(
                rows.Logical,
                lambda e: replace(e, function="LAST" if e.function == "FIRST" else "FIRST"),
                lambda e: e.offset,
            ),
            "beyond the rows there is the nearest": reads(
                rows.Logical, lambda e: when_null(e, replace(e, offset=0)), lambda e: e.offset
            ),
        },
    ),
    *wrong(
        "running",
        "measures",
        {
            "measures of all rows are FINAL": Departure(
                clause=lambda q: (
                    in_expressions(partial(semantics, name="FINAL"), define=False)(q) if q.rows != "one" else q
                )
            ),
            "it sees one row less": shows(lambda f, table, start: replace(f, current=max(f.current - 1, 0))),
            "it sees the first row alone": shows(lambda f, table, start: replace(f, current=min(f.current, 1))),
            "it sees the whole match": shows(lambda f, table, start: replace(f, current=len(f.labels))),
            "aggregates are FINAL": reads(
                rows.Count | AGGREGATES, lambda e: replace(e, semantics="FINAL"), measures=True
            ),
            "FIRST and LAST are FINAL": reads(rows.Logical, lambda e: replace(e, semantics="FINAL")),
            "FINAL aggregates are RUNNING": reads(rows.Count | AGGREGATES, lambda e: replace(e, semantics="RUNNING")),
            "FINAL LAST is RUNNING": reads(rows.Logical, lambda e: replace(e, semantics="RUNNING")),
            "exchanged": reads(NODES, lambda e: replace(e, semantics="RUNNING" if e.semantics == "FINAL" else "FINAL")),
        },
    ),
    *wrong(
        "define",
        "define",
        {
            "A.x is of the current row": Departure(
                clause=in_expressions(
                    lambda e: replace(e, variable=None) if isinstance(e, rows.RowColumn) else e, measures=False
                )
            ),
            "aggregates do not see the current row": reads(
                rows.Count | AGGREGATES,
                without_last,
                lambda e: isinstance(e, rows.Count) or e.function == "SUM",
                measures=False,
            ),
            "aggregates see no row": reads(rows.Count | AGGREGATES, lambda e: ZERO, measures=False),
            "FIRST is of the current row": reads(rows.Logical, lambda e: unqualified(e.argument), measures=False),
            "NOT is not read": reads(rows.RowNot, lambda e: e.operand, measures=False),
            "AND is OR": reads(rows.RowAnd, lambda e: rows.RowOr(e.left, e.right)),
            "OR is AND": reads(rows.RowOr, lambda e: rows.RowAnd(e.left, e.right)),
            "of AND the first alone": reads(rows.RowAnd, lambda e: e.left),
            "of OR the first alone": reads(rows.RowOr, lambda e: e.left),
        },
    ),
    *wrong(
        "null",
        "define, measures",
        {
            "unknown is true": conditions(lambda e: when_null(e, TRUE)),
            "NOT unknown is true": reads(rows.RowNot, lambda e: when_null(e, TRUE)),
            "NULL AND FALSE is unknown": reads(rows.RowAnd, unknown_if_any),
            "NULL OR TRUE is unknown": reads(rows.RowOr, unknown_if_any),
            "IS NULL is never true": reads(rows.IsNull, lambda e: rows.RowConstant(e.negated)),
            "IS NOT NULL is IS NULL": reads(rows.IsNull, lambda e: replace(e, negated=False)),
            "NULL is 0": reads(rows.RowColumn, lambda e: when_null(e, ZERO), lambda e: e.name != "z", measures=False),
            "NULL <> 1 is true": reads(rows.RowComparison, lambda e: when_null(e, TRUE), lambda e: e.operator == "<>"),
            "NULL < 1 is true": reads(
                rows.RowComparison, lambda e: when_null(e, rows.IsNull(e.left)), lambda e: e.operator in ("<", "<=")
            ),
            "NULL > 1 is true": reads(
                rows.RowComparison, lambda e: when_null(e, rows.IsNull(e.left)), lambda e: e.operator in (">", ">=")
            ),
            "IN with NULL is false": reads(rows.RowIn, lambda e: when_null(e, rows.RowConstant(e.negated))),
            "NOT IN with NULL is false": reads(rows.RowIn, lambda e: when_null(e, NEVER), lambda e: e.negated),
            "BETWEEN NULL and a value is a comparison": reads(
                rows.RowBetween,
                lambda e: when_null(e, rows.RowComparison(e.operand, "<=", e.high)),
                lambda e: not e.negated,
            ),
            "CASE takes unknown for true": reads(
                rows.RowCase, lambda e: replace(e, condition=when_null(e.condition, TRUE))
            ),
            "COALESCE is the last": reads(rows.Coalesce, lambda e: e.arguments[-1]),
            "COALESCE is the first": reads(rows.Coalesce, lambda e: e.arguments[0]),
            "x + NULL is x": reads(rows.Sum, lambda e: when_null(e, e.left), lambda e: e.operator != "||"),
        },
    ),
    *wrong(
        "aggregate",
        "aggregate, count",
        {
            "MAX and MIN begin with the first, NULL or not": reads(
                AGGREGATES,
                lambda e: rows.RowCase(rows.IsNull(rows.Logical("FIRST", e.argument)), NULL, e),
                lambda e: e.function in ("MAX", "MIN") and isinstance(e.argument, rows.RowColumn),
            ),
            "SUM is a double": reads(
                AGGREGATES,
                lambda e: rows.Cast(rows.RowAggregate("SUM", rows.Cast(e.argument, "DOUBLE"), e.semantics), "BIGINT"),
                _calls("SUM"),
            ),
            "SUM has 32 bits": reads(AGGREGATES, lambda e: wrapped(e, 32), _calls("SUM")),
            "SUM of nothing is 0": reads(AGGREGATES, lambda e: when_null(e, ZERO), _calls("SUM")),
            "COUNT of nothing is NULL": reads(
                rows.Count | AGGREGATES,
                lambda e: rows.RowCase(rows.RowComparison(e, "=", ZERO), NULL, e),
                lambda e: isinstance(e, rows.Count) or e.function == "COUNT",
            ),
            "AVG is cut": reads(AGGREGATES, lambda e: rows.Cast(e, "BIGINT"), _calls("AVG")),
            "AVG counts NULL": reads(AGGREGATES, mean_of_rows, _calls("AVG")),
            "with NULL they are NULL": reads(AGGREGATES, looks_at_nulls, _calls("SUM", "AVG", "MIN", "MAX")),
            "MIN is MAX": function(AGGREGATES, "MIN", "MAX"),
            "MAX is MIN": function(AGGREGATES, "MAX", "MIN"),
            "MAX is the last": reads(
                AGGREGATES,
                lambda e: rows.Logical("LAST", e.argument, 0, e.semantics),
                lambda e: e.function == "MAX" and isinstance(e.argument, rows.RowColumn),
            ),
            "MIN is the first": reads(
                AGGREGATES,
                lambda e: rows.Logical("FIRST", e.argument, 0, e.semantics),
                lambda e: e.function == "MIN" and isinstance(e.argument, rows.RowColumn),
            ),
            "SUM is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("SUM")
            ),
            "AVG is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("AVG")
            ),
            "MIN and MAX are of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("MIN", "MAX")
            ),
            "COUNT(A.x) is of all rows": reads(
                AGGREGATES, lambda e: replace(e, argument=unqualified(e.argument)), _calls("COUNT")
            ),
            "COUNT(A.*) is COUNT(*)": reads(rows.Count, lambda e: replace(e, variable=None)),
            "SUM is of the last row": reads(
                AGGREGATES,
                lambda e: rows.Logical("LAST", e.argument, 0, e.semantics),
                lambda e: e.function == "SUM" and isinstance(e.argument, rows.RowColumn),
            ),
        },
    ),
    *wrong(
        "classifier",
        "classifier",
        {
            "of the current row": reads(rows.Classifier, lambda e: replace(e, variable=None)),
            "in lower case": reads(rows.Classifier, in_lower_case),
            "of the last row of the match": Departure(
                clause=lambda q: in_expressions(
                    lambda e: rows.Logical("LAST", e, 0, "FINAL") if e == rows.Classifier() else e, define=False
                )(q)
            ),
            "of the first row of the match": Departure(
                clause=lambda q: in_expressions(
                    lambda e: rows.Logical("FIRST", e) if e == rows.Classifier() else e, define=False
                )(q)
            ),
            "of no row it is ''": reads(rows.Classifier, lambda e: when_null(e, rows.RowConstant(""))),
            "in DEFINE it is NULL": reads(rows.Classifier, lambda e: NULL, measures=False),
            "PREV of it is it": reads(
                rows.Physical, lambda e: e.argument, lambda e: isinstance(rows.references(e)[0], rows.Classifier)
            ),
            "FIRST and LAST of it are it": reads(
                rows.Logical, lambda e: e.argument, lambda e: isinstance(rows.references(e)[0], rows.Classifier)
            ),
        },
    ),
    *wrong(
        "match-number",
        "match_number",
        {
            "it is 1": reads(rows.RowMatchNumber, lambda e: ONE),
            "in DEFINE it is that of the match before": reads(
                rows.RowMatchNumber, lambda e: rows.Sum(e, "-", ONE), measures=False
            ),
            "in MEASURES it is one more": Departure(
                clause=in_expressions(
                    lambda e: rows.Sum(e, "+", ONE) if isinstance(e, rows.RowMatchNumber) else e, define=False
                )
            ),
            "it is the row at which the match begins": Departure(
                looks=lambda f, table, start: replace(f, number=f.start + 1),
                shows=lambda f, table, start: replace(f, number=f.start + 1),
            ),
        },
    ),
    *wrong(
        "subset",
        "subset",
        {
            "the first member alone": Departure(clause=first_member_expressions),
            "the last member alone": Departure(clause=last_member),
            "all variables": Departure(clause=every_member),
            "the variables that are no members": Departure(clause=other_members),
        },
    ),
    *wrong(
        "expression",
        "",
        {
            "/ of negative numbers is rounded down": reads(
                rows.Product,
                lambda e: rows.RowCase(
                    rows.RowAnd(
                        rows.RowComparison(e, "<=", ZERO),
                        rows.RowComparison(rows.Product(e.left, "%", e.right), "<>", ZERO),
                    ),
                    rows.Sum(e, "-", ONE),
                    e,
                ),
                lambda e: e.operator == "/",
            ),
            "% has the sign of the divisor": reads(
                rows.Product,
                lambda e: rows.Product(rows.Sum(e, "+", e.right), "%", e.right),
                lambda e: e.operator == "%",
            ),
            "* is +": reads(rows.Product, lambda e: rows.Sum(e.left, "+", e.right), lambda e: e.operator == "*"),
            "- is +": reads(rows.Sum, lambda e: replace(e, operator="+"), lambda e: e.operator == "-"),
            "a sign is not read": reads(rows.Negative, lambda e: e.operand),
            "|| in the other order": reads(
                rows.Sum, lambda e: rows.Sum(e.right, "||", e.left), lambda e: e.operator == "||"
            ),
            "ABS is not read": reads(rows.Absolute, lambda e: e.operand),
            "CAST to BIGINT cuts": reads(
                rows.Cast,
                lambda e: rows.Cast(rows.Sum(e.operand, "-", rows.RowConstant(0.5)), "BIGINT"),
                lambda e: e.type == "BIGINT",
            ),
            "CAST is not read": reads(rows.Cast, lambda e: e.operand),
            "integers are doubles": compares_numbers(lambda e: as_cast(e, "DOUBLE")),
            "integers have 32 bits": reads(rows.RowColumn, lambda e: wrapped(e, 32), lambda e: e.name in ("x", "o")),
            "the sign of a difference of 64 bits": compares_numbers(
                lambda e: replace(e, left=wrapped(rows.Sum(e.left, "-", e.right), 64), right=ZERO)
            ),
            "1 is not 1.0": compares_numbers(
                lambda e: rows.RowAnd(e, as_cast(e, "VARCHAR")) if e.operator == "=" else e
            ),
            "numbers have 15 digits": reads(rows.RowConstant, short_float, lambda e: isinstance(e.value, float)),
            "texts of digits are numbers": reads(
                rows.RowComparison, lambda e: as_cast(e, "BIGINT"), lambda e: is_digits(e.left) or is_digits(e.right)
            ),
            "< is <=": compares("<", "<="),
            "<= is <": compares("<=", "<"),
            "> is >=": compares(">", ">="),
            ">= is >": compares(">=", ">"),
            "<> is =": compares("<>", "="),
            "BETWEEN leaves the high bound out": reads(
                rows.RowBetween, lambda e: rows.RowAnd(e, rows.RowComparison(e.operand, "<", e.high))
            ),
            "BETWEEN in any order": reads(
                rows.RowBetween, lambda e: rows.RowOr(e, replace(e, low=e.high, high=e.low)), lambda e: not e.negated
            ),
            "NOT BETWEEN is BETWEEN": reads(rows.RowBetween, lambda e: replace(e, negated=False)),
            "IN is = to the first": reads(rows.RowIn, lambda e: replace(e, items=e.items[:1])),
            "NOT IN is IN": reads(rows.RowIn, lambda e: replace(e, negated=False)),
            "NOT LIKE is LIKE": reads(rows.RowLike, lambda e: replace(e, negated=False)),
            "% is at least one character": pattern_of(lambda text: text.replace("%", "_%")),
            "_ is any text": pattern_of(lambda text: text.replace("_", "%")),
            "LIKE looks for a part": pattern_of(lambda text: f"%{text}%"),
            "ESCAPE is not read": reads(rows.RowLike, lambda e: replace(e, escape=())),
            "CASE is its first result": reads(rows.RowCase, lambda e: e.result),
            "CASE without ELSE": reads(rows.RowCase, lambda e: replace(e, otherwise=NULL)),
        },
    ),
)


# ---- patterns ----
# Mutants that get patterns wrong: variables, concatenation, alternation, quantifiers, PERMUTE, exclusion, anchors.

Sequences = Callable[[LookingMeaning, Any, Labelling], Iterator[Labelling]]
RIGHT = LookingMeaning.sequence


def means(kind: type[Any], other: Sequences) -> Departure:
    """Another clause for the patterns of one kind."""

    class Other(LookingMeaning):
        def sequence(self, p: rows.Pattern, w: Labelling) -> Iterator[Labelling]:
            return other(self, p, w) if isinstance(p, kind) else RIGHT(self, p, w)

    return Departure(meaning=Other)


def alter(kind: type[Any], other: Callable[[Any], rows.Pattern], when: Callable[[Any], bool] = bool) -> Departure:
    """Another pattern in place of each one of a kind of which `when` is true."""
    return Departure(clause=in_pattern(lambda p: other(p) if isinstance(p, kind) and when(p) else p))


def bounds(low: int, high: int | None) -> Callable[[Any], bool]:
    """Whether a quantifier has these bounds."""
    return lambda p: (p.low, p.high) == (low, high)


def to(low: int, high: int | None) -> Callable[[Any], rows.Pattern]:
    """The quantifier with these bounds."""
    return lambda p: replace(p, low=low, high=high)


def undefined_is_false(q: MatchRecognize) -> MatchRecognize:
    more = tuple(RowDefinition(A, rows.RowConstant(False)) for A in q.primary if A not in q.conditions)
    return replace(q, define=(*q.define, *more))


def possessive(self: LookingMeaning, p: Any, w: Labelling) -> Iterator[Labelling]:
    return islice(RIGHT(self, p, w), 1)


def committed(self: LookingMeaning, p: rows.Alternation, w: Labelling) -> Iterator[Labelling]:
    left = self.labellings(p.left, w)
    found = next(left, None)
    return chain([found], left) if found is not None else self.labellings(p.right, w)


def by_length(reverse: bool) -> Sequences:
    return lambda self, p, w: iter(sorted(RIGHT(self, p, w), key=len, reverse=reverse))


def of_last(p: rows.Quantified) -> rows.Pattern:
    """A quantifier of a group that is one of its last part."""
    inner = p.pattern
    return replace(inner, right=replace(p, pattern=inner.right)) if isinstance(inner, rows.RowConcatenation) else p


def same_alternative(p: rows.Quantified) -> rows.Pattern:
    """In all iterations the same alternative."""
    inner = p.pattern
    if not isinstance(inner, rows.Alternation):
        return p
    return rows.Alternation(replace(p, pattern=inner.left), replace(p, pattern=inner.right))


def with_rows(self: LookingMeaning, p: rows.Quantified, w: Labelling) -> Iterator[Labelling]:
    """At least one iteration takes a row, if one is needed."""
    return (u for u in RIGHT(self, p, w) if len(u) > len(w) or p.low == 0)


def one_kind(greedy: bool, *which: tuple[int, int | None]) -> Departure:
    """Quantifiers of these bounds are greedy, or reluctant, whatever is written."""
    return alter(rows.Quantified, lambda p: replace(p, greedy=greedy), lambda p: (p.low, p.high) in which)


def inherited(p: rows.Quantified) -> rows.Pattern:
    """What is inside a reluctant quantifier is reluctant."""
    if p.greedy:
        return p
    made = in_pattern(lambda n: replace(n, greedy=False) if isinstance(n, rows.Quantified) else n)
    return replace(p, pattern=made(MatchRecognize(p.pattern)).pattern)


def orders_parts(some: Callable[[list[Sequence[rows.Pattern]]], Sequence[Sequence[rows.Pattern]]]) -> Departure:
    """PERMUTE with these orders of its parts, in this order of preference."""

    def other(p: rows.Permute) -> rows.Pattern:
        listed = some(list(permutations(p.parts)))
        return reduce(rows.Alternation, [reduce(rows.RowConcatenation, order) for order in listed])

    return alter(rows.Permute, other)


def shows_part(excluded: Callable[[NumberedMatch], Sequence[int]]) -> Departure:
    """Other rows are left out."""

    class Other(LookingOutput):
        def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
            left = tuple(excluded(match)) if match.excluded else ()
            return super().measured(replace(match, excluded=left))

    return Departure(output=Other)


def at_most(number: int) -> Departure:
    """Longer labellings are not looked at."""
    return Departure(preferred=lambda found: next((w for w in found if len(w) <= number), None))


def _rotations(orders: list[Any]) -> list[Any]:
    parts = orders[0]
    return [parts[n:] + parts[:n] for n in range(len(parts))]


PATTERNS = (
    *wrong("variable", "", {
        "one without a condition takes no row": Departure(clause=undefined_is_false),
        "conditions are ignored": Departure(clause=lambda q: replace(q, define=())),
        "the last condition is ignored": Departure(clause=lambda q: replace(q, define=q.define[:-1])),
        "the first condition is ignored": Departure(clause=lambda q: replace(q, define=q.define[1:])),
    }),
    *wrong("concatenation", "concatenation", {
        "in any order": alter(rows.RowConcatenation, lambda p: rows.Permute((p.left, p.right))),
        "the second part is optional": alter(
            rows.RowConcatenation, lambda p: rows.RowConcatenation(p.left, rows.Quantified(p.right, 0, 1))
        ),
        "the first part is optional": alter(
            rows.RowConcatenation, lambda p: rows.RowConcatenation(rows.Quantified(p.left, 0, 1), p.right)
        ),
        "the longest first part is preferred": means(rows.RowConcatenation, lambda self, p, w: (
            v for u in sorted(self.labellings(p.left, w), key=len, reverse=True) for v in self.labellings(p.right, u)
        )),
        "the longest of both is preferred": means(rows.RowConcatenation, by_length(True)),
        "the shortest of both is preferred": means(rows.RowConcatenation, by_length(False)),
    }),
    *wrong("alternation", "alternation", {
        "the first alone": alter(rows.Alternation, lambda p: p.left),
        "the last alone": alter(rows.Alternation, lambda p: p.right),
        "both, one after the other": alter(rows.Alternation, lambda p: rows.RowConcatenation(p.left, p.right)),
        "committed to one that can be taken": means(rows.Alternation, committed),
        "the shortest is preferred": means(rows.Alternation, by_length(False)),
    }),
    *wrong("quantified", "quantified", {
        "* is +": alter(rows.Quantified, to(1, None), bounds(0, None)),
        "* is ?": alter(rows.Quantified, to(0, 1), bounds(0, None)),
        "+ is *": alter(rows.Quantified, to(0, None), bounds(1, None)),
        "+ is one": alter(rows.Quantified, to(1, 1), bounds(1, None)),
        "? is one": alter(rows.Quantified, to(1, 1), bounds(0, 1)),
        "? is none": alter(rows.Quantified, to(0, 0), bounds(0, 1)),
        "? is *": alter(rows.Quantified, to(0, None), bounds(0, 1)),
        "{n} is {n,}": alter(rows.Quantified, lambda p: replace(p, high=None), lambda p: p.low == p.high > 0),
        "{n} is {0,n}": alter(rows.Quantified, lambda p: replace(p, low=0), lambda p: p.low == p.high),
        "{n,} is {n}": alter(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: p.low > 1 and p.high is None),
        "{n,} is +": alter(rows.Quantified, to(1, None), lambda p: p.low > 1 and p.high is None),
        "{n,m} is {n}": alter(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: 0 < p.low < (p.high or 0)),
        "{n,m} is {m}": alter(rows.Quantified, lambda p: replace(p, low=p.high), lambda p: 0 < p.low < (p.high or 0)),
        "{n,m} is {,m}": alter(rows.Quantified, lambda p: replace(p, low=0), lambda p: 0 < p.low < (p.high or 0)),
        "{,m} is {1,m}": alter(
            rows.Quantified, lambda p: replace(p, low=1), lambda p: p.low == 0 and (p.high or 0) > 1
        ),
        "one iteration more": alter(rows.Quantified, lambda p: replace(p, high=p.high + 1), lambda p: p.high),
        "one iteration fewer": alter(
            rows.Quantified, lambda p: replace(p, high=p.high - 1), lambda p: (p.high or 0) > p.low
        ),
        "the least number is one more": alter(
            rows.Quantified, lambda p: replace(p, low=p.low + 1), lambda p: p.low and p.low != p.high
        ),
        "nothing is given back": means(rows.Quantified, possessive),
        "the longest is preferred": means(rows.Quantified, by_length(True)),
        "of a group, of its last part": alter(rows.Quantified, of_last),
        "the same alternative in all iterations": alter(rows.Quantified, same_alternative),
        "at most three iterations": alter(
            rows.Quantified, lambda p: replace(p, high=3), lambda p: p.high is None and p.low < 4
        ),
        "one in another is taken for it": alter(
            rows.Quantified,
            lambda p: p.pattern if isinstance(p.pattern, rows.Quantified) else p,
        ),
    }),
    *wrong("reluctant", "quantified", {
        "all are reluctant": alter(rows.Quantified, lambda p: replace(p, greedy=False)),
        "all are the other": alter(rows.Quantified, lambda p: replace(p, greedy=not p.greedy)),
        "*? is *": one_kind(True, (0, None)),
        "+? is +": one_kind(True, (1, None)),
        "?? is ?": one_kind(True, (0, 1)),
        "* is *?": one_kind(False, (0, None)),
        "+ is +?": one_kind(False, (1, None)),
        "? is ??": one_kind(False, (0, 1)),
        "bounded ones are greedy": alter(
            rows.Quantified, lambda p: replace(p, greedy=True), lambda p: p.high not in (None, 1)
        ),
        "it takes the least number": alter(rows.Quantified, lambda p: replace(p, high=p.low), lambda p: not p.greedy),
        "what is inside is reluctant": alter(rows.Quantified, inherited),
        "it is reluctant in its first iteration alone": alter(
            rows.Quantified,
            lambda p: rows.Quantified(rows.RowConcatenation(p.pattern, replace(p, greedy=True)), 0, 1, False),
            lambda p: not p.greedy and (p.low, p.high) == (0, None),
        ),
    }),
    *wrong("empty", "", {
        "() takes nothing and fails": means(rows.Empty, lambda self, p, w: iter(())),
        "an iteration takes a row": means(rows.Quantified, with_rows),
        "an optional part that is empty is left out": means(
            rows.Quantified, lambda self, p, w: (u for u in RIGHT(self, p, w) if len(u) > len(w))
        ),
        "an empty match is no match": Departure(preferred=lambda found: next(filter(None, found), None)),
        "a non-empty match is preferred": Departure(
            preferred=lambda found: next(filter(None, listed := list(found)), listed[0] if listed else None)
        ),
    }),
    *wrong("anchor", "anchor", {
        "^ is ignored": alter(rows.Anchor, lambda p: rows.Empty(), lambda p: p.place == "start"),
        "$ is ignored": alter(rows.Anchor, lambda p: rows.Empty(), lambda p: p.place == "end"),
        "exchanged": alter(rows.Anchor, lambda p: rows.Anchor("end" if p.place == "start" else "start")),
        "$ is at the last row": means(rows.Anchor, lambda self, p, w: (
            iter((w,)) if p.place == "end" and self.s + len(w) == len(self.P) - 1 else RIGHT(self, p, w)
        )),
        "never": means(rows.Anchor, lambda self, p, w: iter(())),
        "^ is where the match begins": means(rows.Anchor, lambda self, p, w: (
            iter((w,)) if p.place == "start" and not w else RIGHT(self, p, w)
        )),
    }),
    *wrong("permute", "permute", {
        "as it is written alone": orders_parts(lambda listed: listed[:1]),
        "as it is written or the reverse": orders_parts(lambda listed: [listed[0], listed[0][::-1]]),
        "rotations": orders_parts(_rotations),
        "the first part is first": orders_parts(lambda listed: [one for one in listed if one[0] == listed[0][0]]),
        "the last part is last": orders_parts(lambda listed: [one for one in listed if one[-1] == listed[0][-1]]),
        "the last part varies last": orders_parts(
            lambda listed: sorted(listed, key=lambda one: [listed[0].index(p) for p in one[::-1]])
        ),
        "each part may be left out": alter(
            rows.Permute, lambda p: rows.Permute(tuple(rows.Quantified(part, 0, 1) for part in p.parts))
        ),
        "the longest order is preferred": means(rows.Permute, by_length(True)),
        "one part is enough": alter(rows.Permute, lambda p: reduce(rows.Alternation, p.parts)),
    }),
    *wrong("exclusion", "exclusion", {
        "it matches nothing": alter(rows.Exclusion, lambda p: rows.Empty()),
        "the rows outside are left out": shows_part(lambda m: [p for p in m.events if p not in m.excluded]),
        "all rows after it too": shows_part(lambda m: m.events[m.events.index(m.excluded[0]) :]),
        "its first row alone": shows_part(lambda m: m.excluded[:1]),
        "its last row alone": shows_part(lambda m: m.excluded[-1:]),
        "the first row of the match": shows_part(lambda m: m.events[:1]),
        "it is optional": alter(rows.Exclusion, lambda p: rows.Quantified(p, 0, 1)),
    }),
    *wrong("long", "", {
        "no match has more than 4 rows": at_most(4),
        "no match has more than 8 rows": at_most(8),
        "no match has more than 16 rows": at_most(16),
        "no match has more than 64 rows": at_most(64),
        "bounds are at most 64": alter(
            rows.Quantified,
            lambda p: replace(p, low=min(p.low, 64), high=p.high and min(p.high, 64)),
            lambda p: max(p.low, p.high or 0) > 64,
        ),
        "conditions after the 16th are not read": Departure(clause=lambda q: replace(q, define=q.define[:16])),
        "conditions after the 64th are not read": Departure(clause=lambda q: replace(q, define=q.define[:64])),
    }),
)  # fmt: skip


# ---- windows ----
# Mutants that get WINDOW wrong: the frame of a row, SEEK, and where the search goes on.


def framed(other: Callable[[int], int | None], seek: bool | None = None) -> Departure:
    """Another end of frames that have one; with `seek` of those with SEEK, or without it, alone."""

    def changed(q: MatchRecognize) -> MatchRecognize:
        if q.window is None or q.window.following is None or seek not in (None, q.window.seek):
            return q
        return in_window(q, following=other(q.window.following))

    return Departure(clause=changed)


def sees(visible: Callable[[Frame], range]) -> Departure:
    """PREV and NEXT see other rows."""
    looked: Looked = lambda f, table, start: replace(f, visible=visible(f))  # noqa: E731
    return Departure(looks=looked, shows=looked)


def searches(
    starts: Callable[[int, range], Iterable[int]],
    row: Callable[[int, int], int] = lambda r, s: r,
    frame: Callable[[int, int], int] = lambda r, s: r,
    length: int = 0,
) -> Departure:
    """SEEK looks at these rows of a frame, and takes the first match of at least that length.

    row: the row that has the match found at s from r. frame: the row whose frame it is in.
    """

    def searched(
        q: MatchRecognize, r: int, end: int, last: int, reading: RowReading, match_at: MatchAt
    ) -> RowMatch | None:
        if q.window is None or not q.window.seek:
            return denote.searched(q, r, end, last, reading, match_at)
        for s in starts(r, denote.visible_rows(q, r, end)):
            labelling = match_at(s, denote.visible_rows(q, frame(r, s), end), last + 1)
            if labelling is not None and len(labelling) >= length:
                return RowMatch(s, labelling, last + 1, row(r, s))
        return None

    return Departure(searched=searched)


def goes_on(row: Callable[[MatchRecognize, RowMatch, int], int]) -> Departure:
    """After a match in WINDOW the search goes on at another row after the one that has the match."""

    def resumed(q: MatchRecognize, found: RowMatch, reading: RowReading) -> int:
        right = denote.resumed(q, found, reading)
        return right if q.window is None else max(found.row + 1, row(q, found, right))

    return Departure(resumed=resumed)


class FirstRowOutput(LookingOutput):
    """Measures are of the first row of the match."""

    def measured(self, match: NumberedMatch) -> Iterator[tuple[int, OutputRow]]:
        if self.q.window is None or not match.events:
            return super().measured(match)
        first = replace(self.clause, rows="all")
        shown = LookingOutput(first, self.S, self.reading, self.looks, self.parts).measured(match)
        return iter([next(iter(shown))])


def past_the_frame(q: MatchRecognize, found: RowMatch, right: int) -> int:
    window = q.window or RowWindow()
    return right if window.following is None else found.row + window.following + 1


WINDOWS = (
    *wrong("window", "window", {
        "the frame has a row less": framed(lambda end: max(end - 1, 0)),
        "the frame has a row more": framed(lambda end: end + 1),
        "CURRENT ROW is UNBOUNDED": framed(lambda end: end or None),
        "0 FOLLOWING is 1 FOLLOWING": framed(lambda end: max(end, 1)),
        "PREV sees the partition": sees(lambda f: range(f.visible.stop)),
        "NEXT sees the partition": sees(lambda f: range(f.visible.start, len(f.partition))),
        "PREV and NEXT see the match": sees(lambda f: range(f.start, f.start + max(1, len(f.labels)))),
        "conditions see the partition": Departure(looks=in_the_partition),
        "measures see the partition": Departure(shows=in_the_partition),
        "measures are of the first row": Departure(output=FirstRowOutput),
        "INITIAL is SEEK": Departure(clause=lambda q: in_window(q, seek=True)),
        "after a match the frame is skipped": goes_on(past_the_frame),
        "after a match no row is skipped": goes_on(lambda q, found, right: found.row + 1),
        "the last row of a match is skipped to": goes_on(lambda q, found, right: right - 1),
    }),
    *wrong("seek", "seek", {
        "the row itself is left out": searches(lambda r, frame: frame[1:]),
        "the next row alone": searches(lambda r, frame: frame[:2]),
        "the last row of the frame is left out": searches(lambda r, frame: frame[:-1] or frame),
        "the last match": searches(lambda r, frame: frame[::-1]),
        "beyond the frame": framed(lambda end: None, seek=True),
        "in the frame of the match": searches(lambda r, frame: frame, frame=lambda r, s: s),
        "reported at the first row of the match": searches(lambda r, frame: frame, row=lambda r, s: s),
        "an empty match is passed over": searches(lambda r, frame: frame, length=1),
        "the search goes on from the row": goes_on(
            lambda q, found, right: right - (found.start - found.row) * (q.skip.to != "next row")
        ),
        "TO NEXT ROW is that of the match": goes_on(
            lambda q, found, right: found.start + 1 if q.skip.to == "next row" else right
        ),
    }),
)  # fmt: skip


# ----   init   ----
# Wrong semantics of MATCH_RECOGNIZE: the axes on which engines differ, and mistakes in each operator.

UNSEEN = frozenset({"skip_to_nothing", "skip_to_first"})
"""The axes that bear on errors, of which no case of a suite has one as its answer."""

AXIS_MUTANTS = tuple(
    RowMutant(f"axis: {name}={value}", departure(choices_of({name: value}, AXES)), frozenset(axis.operators))
    for name, axis in AXES.items()
    if name not in UNSEEN
    for value in axis.values[1:]
)
MUTANTS = (*PATTERNS, *EXPRESSIONS, *CLAUSES, *WINDOWS, *AXIS_MUTANTS)

__all__ = ["MEANING", "MUTANTS", "RowMutant"]
