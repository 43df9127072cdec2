"""Mutants that get the other clauses wrong: PARTITION BY, ORDER BY, AFTER MATCH SKIP, and the rows per match."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from cerify.hypotheses.row_pattern import Departure
from cerify.semantics.row_pattern import denote, interpreter
from cerify.semantics.row_pattern.denote import Row, RowMatch
from cerify.semantics.row_pattern.scalars import RowReading
from cerify.semantics.row_pattern.syntax import MatchRecognize, Order, RowSkip, RowsPerMatch
from proofs_tests.tools.mutants.row_pattern.model import wrong


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
        "ties are in the reverse order": parted(ties_backwards),
    }),
    *wrong("output", "all rows, all rows omit empty, all rows with unmatched", {
        "empty matches are never shown": output({"all": "all omit empty", "all with unmatched": "all omit empty"}),
        "empty matches are always shown": output({"all omit empty": "all"}),
        "one row per match": output({"all": "one", "all omit empty": "one", "all with unmatched": "one"}),
    }),
)  # fmt: skip
