"""The problems of a clause that show before any row is read: ISO/IEC 9075-2, features R010 and R020."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import assert_never

from cerify.semantics.arguments import listed
from cerify.semantics.budget import depth_limited
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.predicate_types import Problem, meant
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.clauses import Definition, MatchRecognize, Measure, Subset
from cerify.semantics.row_pattern.reading import STANDARD, RowReading
from cerify.semantics.row_pattern.resolve import columns_in, named
from cerify.semantics.row_pattern.show import show_expression
from cerify.semantics.row_pattern.typed import type_problems, types_of
from cerify.semantics.trees import subtrees
from cerify.semantics.values import ValueType

ADVICE = {
    "aggregate": "give an aggregate columns of one variable, without PREV, NEXT, FIRST, LAST or an aggregate in it",
    "define": "write the variable in PATTERN, or leave its condition out",
    "skip": "name a variable of the pattern, or skip PAST LAST ROW or TO NEXT ROW",
    "variable": "write it in PATTERN, or name a variable that is there",
    "column": "name a column of the table",
}


def problems(q: MatchRecognize, schema: Schema | None = None, reading: RowReading = STANDARD) -> list[Problem]:
    """All problems of the clause; unknown columns and type errors only if there is no other problem."""
    with depth_limited(q.span):
        return [*_names(q), *_variables(q), *_navigation(q), *_pattern(q, reading), *_window(q)] or [*_typed(q, schema)]


def require_wellformed(q: MatchRecognize, reading: RowReading = STANDARD) -> None:
    """Raises IllFormed for the first problem that shows without a schema."""
    _raise_first(problems(q, None, reading))


def require_typed(q: MatchRecognize, schema: Schema) -> None:
    """Raises IllFormed for the first problem, unknown columns and type errors included."""
    _raise_first(problems(q, schema))


def require_columns(q: MatchRecognize, known: Mapping[str, ValueType | None]) -> None:
    """As require_typed, over a table with these columns."""
    _raise_first(problems(q) or _typed_over(q, known))


def missing_columns(q: MatchRecognize, columns: Collection[str]) -> Iterator[Problem]:
    """The columns of the clause that a table with these columns, and "type", does not have."""
    known = {*columns, TYPE}
    for column in columns_in(q):
        if (name := named(column, known)) not in known:
            yield _no_column(column, name, [one for one in columns if one != TYPE])


def _raise_first(found: Iterable[Problem]) -> None:
    for problem in found:
        raise IllFormed(f"{problem.message}; {problem.mend}", problem.span)


def _names(q: MatchRecognize) -> Iterator[Problem]:
    """Names that are given twice."""
    output = [one.name for one in q.partition] + [one.name for one in q.measures]
    for what, names, span in (
        ("DEFINE defines", [one.variable for one in q.define], _span(q.define)),
        ("the output has the columns", [name.lower() for name in output], _span(q.measures)),
        ("SUBSET defines", [one.name for one in q.subsets], _span(q.subsets)),
    ):
        for name, times in Counter(names).items():
            if times > 1:
                yield Problem("twice", f"{what} {name} {times} times", span)


def _span(parts: Sequence[Definition | Measure | Subset]) -> Span | None:
    return parts[-1].span if parts else None


def _variables(q: MatchRecognize) -> Iterator[Problem]:
    """Variables that are not of the pattern, and unions that are none."""
    for subset in q.subsets:
        if subset.name in q.primary:
            yield Problem("subset", f"the union variable {subset.name} is a variable of the pattern too", subset.span)
        for member in subset.members:
            if member not in q.primary:
                why = "is a union itself" if any(member == one.name for one in q.subsets) else "is not in the pattern"
                yield Problem("subset", f"{member} in the union {subset.name} {why}", subset.span)
    for one in q.define:
        if one.variable not in q.primary:
            message = f"DEFINE has a condition for {one.variable}, which is not in the pattern"
            near = meant(one.variable, q.primary)
            yield Problem("unbound", message, one.span, near, advice=ADVICE["define"])
    if (to := q.skip.variable) is not None and to not in q.unions:
        near = {"NEXT": "NEXT ROW"}.get(to) or meant(to, q.unions)
        message = f"the variable {to} is not in the pattern"
        yield Problem("unbound", message, q.skip.span, near, advice=ADVICE["skip"])
    mentioned: list[tuple[str | None, Span | None]] = []
    for e in q.expressions:
        found = (node for node in subtrees(e) if isinstance(node, rows.Column | rows.Classifier | rows.Count))
        mentioned += [(node.variable, node.span) for node in found]
    for name, span in mentioned:
        if name is not None and name not in q.unions:
            message = f"the variable {name} is not in the pattern"
            yield Problem("unbound", message, span, meant(name, q.unions), advice=ADVICE["variable"])


def _navigation(q: MatchRecognize) -> Iterator[Problem]:
    """PREV, NEXT, FIRST, LAST and aggregates inside each other, or around two variables or none; FINAL in DEFINE."""
    for one in q.define:
        for node in subtrees(one.condition):
            if isinstance(node, rows.Logical | rows.Count | rows.Aggregate) and node.semantics == "FINAL":
                yield Problem(
                    "navigation", "FINAL looks at a whole match, and DEFINE at what is matched so far", node.span
                )
    for e in q.expressions:
        for node in subtrees(e):
            if isinstance(node, rows.Physical | rows.Logical | rows.Aggregate):
                yield from _inside(node)


def _inside(e: rows.Physical | rows.Logical | rows.Aggregate) -> Iterator[Problem]:
    argument, text = e.argument, show_expression(e)
    advice = ADVICE["aggregate"] if isinstance(e, rows.Aggregate) else None
    if isinstance(e, rows.Physical) and isinstance(argument, rows.Logical):
        return
    for node in subtrees(argument):
        if isinstance(node, rows.Physical | rows.Logical | rows.Aggregate | rows.Count):
            yield Problem(
                "navigation",
                f"{show_expression(node)} cannot be inside {text}",
                node.span or e.span,
                advice=advice,
            )
            return
    found = rows.references(argument)
    if len({one.variable for one in found}) > 1:
        yield Problem("navigation", f"{text} looks at rows of more than one variable", e.span, advice=advice)
    if not found and not isinstance(e, rows.Aggregate):
        yield Problem("navigation", f"{text} has no column and no CLASSIFIER to look up in a row", e.span)


def _pattern(q: MatchRecognize, reading: RowReading) -> Iterator[Problem]:
    for p in subtrees(q.pattern):
        if isinstance(p, rows.Exclusion) and q.rows == "all with unmatched":
            yield Problem("output", "{- -} cannot be used with ALL ROWS PER MATCH WITH UNMATCHED ROWS", p.span)
        if isinstance(p, rows.Quantified) and reading.empty_iterations == "refused" and may_be_empty(p.pattern):
            yield Problem("repeated", "a part of the pattern that may match no row is quantified", p.span)


def _window(q: MatchRecognize) -> Iterator[Problem]:
    """What the clause WINDOW does not have: anchors and MATCH_NUMBER."""
    if q.window is None:
        return
    for node in (node for root in (q.pattern, *q.expressions) for node in subtrees(root)):
        if isinstance(node, rows.Anchor | rows.MatchNumber):
            text = {"start": "^", "end": "$"}[node.place] if isinstance(node, rows.Anchor) else "MATCH_NUMBER()"
            yield Problem("row_window", f"{text} cannot be used in WINDOW", node.span)


def may_be_empty(p: rows.Pattern) -> bool:
    """Whether a pattern may match no row."""
    match p:
        case rows.Variable():
            return False
        case rows.Empty() | rows.Anchor():
            return True
        case rows.Concatenation(left, right):
            return may_be_empty(left) and may_be_empty(right)
        case rows.Alternation(left, right):
            return may_be_empty(left) or may_be_empty(right)
        case rows.Permute(parts):
            return all(map(may_be_empty, parts))
        case rows.Quantified(inner, low):
            return low == 0 or may_be_empty(inner)
        case rows.Exclusion(inner):
            return may_be_empty(inner)
        case _:
            assert_never(p)


def _typed(q: MatchRecognize, schema: Schema | None) -> Iterator[Problem]:
    return _typed_over(q, None if schema is None else column_types(schema))


def column_types(schema: Schema) -> dict[str, ValueType | None]:
    """The types of the columns of a table with that schema; None for one of several types."""
    known: dict[str, ValueType | None] = dict(schema.attributes) | dict.fromkeys(schema.mixed) | {TYPE: "string"}
    if schema.timed:
        known.setdefault(TIME, "timestamp")
    return known


def _typed_over(q: MatchRecognize, known: Mapping[str, ValueType | None] | None) -> Iterator[Problem]:
    """The columns that a table does not have, and type errors.

    known: the types of the table's columns, None where a column has none; None for a table that is not known.
    """
    if known is not None:
        yield from missing_columns(q, known)
    types = types_of(known)
    for one in q.define:
        yield from type_problems(one.condition, types, condition=True)
    for measure in q.measures:
        yield from type_problems(measure.expression, types)


def _no_column(column: rows.Column, name: str, there: Sequence[str]) -> Problem:
    near = meant(name, there)
    written = f"a string is written {name!r}, and " if column.quoted and near is None else ""
    if (function := name.upper()) in ("CLASSIFIER", "MATCH_NUMBER") and not column.quoted:
        near = f"{function}()"
    message = f"there is no column {name!r}; {written}the table has {listed(there)}"
    return Problem("attribute", message, column.span, near, advice=ADVICE["column"])
