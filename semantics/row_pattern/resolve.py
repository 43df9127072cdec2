"""Which column of a table each name in a clause stands for: without quotation marks, whatever its case."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from cerify.semantics import trees
from cerify.semantics.errors import IllFormed
from cerify.semantics.events import TYPE, Stream
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import ROW, MatchRecognize
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value


def columns_of(S: Stream) -> tuple[str, ...]:
    """The columns of a table in their order, without those that have no value in any row.

    The column "type" is one of them if a row has another type than ROW.
    """
    if S.is_columnar:
        names, typed = S.table.column_names, any(R.as_py() != ROW for R in S.table[TYPE].unique())
    else:
        declared = [] if S.schema is None else [*S.schema.attributes]
        names = [TYPE, *dict.fromkeys([*declared, *(name for event in S for name in event.attributes)])]
        typed = any(event.type != ROW for event in S)
    return tuple(name for name in names if name != TYPE or typed)


def column_values(S: Stream) -> dict[str, list[Value | None]]:
    """The values of each column, and of "type", from the first row to the last."""
    if S.is_columnar:
        from cerify.semantics.arrow_columns import values_in

        return {name: values_in(S.table[name]) for name in S.table.column_names}
    names = dict.fromkeys(name for event in S for name in event.attributes)
    return {TYPE: [event.type for event in S], **{name: [event.get(name) for event in S] for name in names}}


def resolved(q: MatchRecognize, names: Iterable[str]) -> MatchRecognize:
    """The clause with the columns' names as the table has them; one that it does not have stays, and is NULL.

    Raises IllFormed where two columns of the table differ in case alone and a name may be either.
    """
    known = [*names]
    return with_columns(q, lambda one: replace(one, name=named(one, known), quoted=True))


def with_columns(q: MatchRecognize, column: Callable[[rows.Column], rows.Column]) -> MatchRecognize:
    """The clause with other columns."""

    def expression(e: rows.Expression) -> rows.Expression:
        if isinstance(e, rows.Column):
            return column(e)
        return replace(trees.rebuilt(e, [expression(operand) for operand in rows.below(e)]), span=e.span)

    return replace(
        q,
        define=tuple(replace(one, condition=expression(one.condition)) for one in q.define),
        partition=tuple(map(column, q.partition)),
        order=tuple(replace(one, column=column(one.column)) for one in q.order),
        measures=tuple(replace(one, expression=expression(one.expression)) for one in q.measures),
    )


def named(one: rows.Column, names: Iterable[str]) -> str:
    """The name of the column that is meant. Raises IllFormed where there are two."""
    names = list(names)
    if one.quoted or one.name in names:
        return one.name
    found = [name for name in names if name.lower() == one.name.lower()]
    if len(found) > 1:
        raise IllFormed(f'{one.name} may be any of {", ".join(found)}; write it as "{found[0]}"', one.span)
    return found[0] if found else one.name


def columns_in(q: MatchRecognize) -> Iterator[rows.Column]:
    """All mentions of columns in a clause."""
    inside = (node for e in q.expressions for node in subtrees(e))
    listed = chain(q.partition, (one.column for one in q.order))
    return chain(listed, (node for node in inside if isinstance(node, rows.Column)))
