"""Check a clause of MATCH_RECOGNIZE: its names, its navigation, its pattern, and the types of its expressions.

A clause is often checked without a table. A type is therefore None where it is not known, and only a known type can be
wrong. Unknown columns and wrong types are reported if there are no other problems. A clause without problems is
remembered, since one request checks the same clause in several steps.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import lru_cache, reduce
from itertools import permutations, product
from typing import Literal, NamedTuple, TypeAlias, assert_never, cast

from cerify.semantics import trees
from cerify.semantics.arguments import depth_limited, format_names
from cerify.semantics.errors import IllFormed, Span
from cerify.semantics.events import TIME, TYPE, Schema
from cerify.semantics.predicates import Problem, find_nearest_name, meant_name, show_name
from cerify.semantics.readings import STANDARD, RowReading
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.scalars import (
    FUNCTIONS,
    TIMED,
    columns_in,
    combined,
    resolve_column,
    with_expressions,
)
from cerify.semantics.row_pattern.syntax import MatchRecognize, Measure, RowDefinition, Subset, show_expression
from cerify.semantics.trees import subtrees
from cerify.semantics.values import KIND_OF, ValueKind, ValueType, parse_time, value_type_of

RowType: TypeAlias = ValueType | Literal["interval"]
"""The type of an expression's values: that of an attribute, or an interval."""

Types: TypeAlias = Callable[[rows.RowColumn], RowType | None]
"""A function that returns the type of a column; None if it is not known."""

CAST: Mapping[rows.SqlType, ValueType] = {
    "BIGINT": "int", "DOUBLE": "float", "VARCHAR": "string", "BOOLEAN": "bool", "TIMESTAMP": "timestamp",
}  # fmt: skip

NO_CAST: Mapping[ValueKind, tuple[rows.SqlType, ...]] = {
    "timestamp": ("BIGINT", "DOUBLE", "BOOLEAN"), "interval": ("BIGINT", "DOUBLE", "BOOLEAN", "TIMESTAMP"),
    "number": ("TIMESTAMP",), "bool": ("TIMESTAMP",),
}  # fmt: skip
"""The types to which no value of a kind can be cast."""


AN_INTERVAL = "write a length of time as an interval, such as INTERVAL '30' MINUTE"


def a_kind(kind: ValueKind) -> str:
    """Return the name of a kind with its article, as "a number" or "an interval"."""
    return f"{'an' if kind == 'interval' else 'a'} {kind}"


def types_of(known: Mapping[str, ValueType | None] | None) -> Types:
    """Return the function from columns to their types. known: the types by the table's names; None if not known."""
    return lambda column: None if known is None else known.get(resolve_column(column, known))


def kind_of_type(type_: RowType | None) -> ValueKind | None:
    """Return the kind of the values of a type."""
    return None if type_ is None else "interval" if type_ == "interval" else KIND_OF[type_]


def type_of(e: rows.Expression, types: Types) -> RowType | None:
    """Return the type of an expression's values in the default reading; None if it is unknown, as for NULL.

    An integer counts as a float if other values of the expression are floats.
    """
    match e:
        case rows.RowConstant(value):
            return None if value is None else "interval" if isinstance(value, timedelta) else value_type_of(value)
        case rows.RowColumn():
            return types(e)
        case rows.Classifier():
            return "string"
        case rows.Sum(left, operator, right):
            return "string" if operator == "||" else _calculated(operator, left, right, types)
        case rows.Product(left, operator, right):
            return _calculated(operator, left, right, types)
        case rows.Negative(operand) | rows.Absolute(operand):
            return _quantity(operand, types)
        case rows.RowMatchNumber() | rows.Count():
            return "int"
        case rows.Physical(_, argument) | rows.Logical(_, argument):
            return type_of(argument, types)
        case rows.Collection("ARRAY_AGG" | "LISTAGG" as function):
            return "string" if function == "LISTAGG" else None
        case rows.RowAggregate(function, argument):
            if function in ("MIN", "MAX"):
                return type_of(argument, types)
            found = _quantity(argument, types)
            return "int" if function == "COUNT" else "float" if function == "AVG" and found != "interval" else found
        case rows.Cast(_, type_):
            return CAST[type_]
        case rows.Coalesce(arguments):
            return _joined(arguments, types)
        case rows.RowCall(function, arguments):
            result = FUNCTIONS[function].result
            return _number(arguments[:1], types) if result == "number" else result
        case rows.Extract(part, operand):
            exact = part in ("SECOND", "EPOCH")
            return "float" if exact else "int"
        case rows.RowCase(_, result, otherwise):
            return _joined((result, otherwise), types)
        case (
            rows.RowComparison() | rows.IsNull() | rows.RowBetween() | rows.RowIn() | rows.RowLike()
            | rows.RowNot() | rows.RowAnd()
            | rows.RowOr()
        ):  # fmt: skip
            return "bool"
        case _:
            assert_never(e)


def _calculated(sign: str, left: rows.Expression, right: rows.Expression, types: Types) -> RowType | None:
    """Return the type of a sum or a product; None if the types of the operands allow several."""
    known = [type_of(operand, types) for operand in (left, right)]  # once, as operands may be nested deeply
    table = {("number", sign, "number"): "number", **{key: kind for key, kind in TIMED.items() if key[1] == sign}}
    pairs = product(*map(_possible_kinds, (left, right), known))
    found = {table[one, sign, other] for one, other in pairs if (one, sign, other) in table}
    if found == {"number"}:
        return "float" if "float" in known else "int"
    return cast("RowType", found.pop()) if len(found) == 1 else None


def _possible_kinds(e: rows.Expression, type_: RowType | None) -> tuple[ValueKind, ...]:
    """Return the kinds that an operand of arithmetic with that type may have; no column holds intervals."""
    if (known := kind_of_type(type_)) is not None:
        return (known,)
    column = e.argument if isinstance(e, rows.Physical | rows.Logical) else e
    return ("number", "timestamp") if isinstance(column, rows.RowColumn) else ("number", "timestamp", "interval")


def _quantity(operand: rows.Expression, types: Types) -> RowType:
    found = type_of(operand, types)
    return found if found in ("interval", "float") else "int"


def _joined(operands: Sequence[rows.Expression], types: Types) -> RowType | None:
    found = [one for one in (type_of(operand, types) for operand in operands) if one is not None]
    return "float" if found[:1] == ["int"] and "float" in found else next(iter(found), None)


def _number(operands: Sequence[rows.Expression], types: Types) -> ValueType:
    return "float" if any(type_of(operand, types) == "float" for operand in operands) else "int"


WHOLE = "is a whole number, because its operands are: CAST one AS DOUBLE, or give --reading integer_division=exact"
"""The part of a message about a division of whole numbers."""


def whole_divisions(e: rows.Expression, types: Types) -> Iterator[rows.Product]:
    """Yield the divisions of whole numbers in an expression; the default reading drops the fractions of the results."""
    for node in subtrees(e):
        if not isinstance(node, rows.Product) or node.operator != "/":
            continue
        if {type_of(operand, types) for operand in rows.below(node)} == {"int"}:
            yield node


TextNumbers: TypeAlias = Literal["none", "written", "all"]
"""Which texts beside a number are read as numbers: none, constants written in the clause, or all."""


def with_days(
    q: MatchRecognize,
    types: Types,
    text_times: bool = False,
    text_numbers: TextNumbers = "none",
    truncates: bool = False,
    text_casts: bool = False,
) -> MatchRecognize:
    """Return the clause with each number beside a time or an interval changed to a number of days, as in Oracle.

    types: the types of the columns; a number means days only if both types are known.
    text_times: whether a text constant beside a time is a time too, as in Snowflake.
    text_numbers: which texts beside a number are read as numbers.
    truncates: whether TRUNC and ROUND take numbers as well as times, as in Oracle.
    text_casts: whether a CAST of a text with a fraction to a whole number rounds it.

    >>> from cerify.semantics.row_pattern.parse import parse
    >>> q = parse("MATCH_RECOGNIZE (PATTERN (A) DEFINE A AS t <= PREV(t) + 1)")
    >>> show_expression(with_days(q, lambda column: "timestamp").define[0].condition)
    "t <= PREV(t) + 1 * INTERVAL '1' DAY"
    """

    return with_expressions(q, lambda e: with_meant_operands(e, types, text_times, text_numbers, truncates, text_casts))


def with_meant_operands(
    e: rows.Expression,
    types: Types,
    text_times: bool,
    text_numbers: TextNumbers = "none",
    truncates: bool = False,
    text_casts: bool = False,
) -> rows.Expression:
    """Return an expression with its numbers and texts converted like those of a clause; arguments as in `with_days`."""

    def kind(e: rows.Expression) -> ValueKind | None:
        return kind_of_type(type_of(e, types))

    def days(e: rows.Expression) -> rows.Expression:
        return rows.Product(e, "*", rows.RowConstant(timedelta(days=1)), span=e.span) if kind(e) == "number" else e

    def changed(e: rows.Expression) -> rows.Expression:
        if not e.operands:
            return e
        if text_casts and (text := _cast_text(e)) is not None and kind(text) == "string":
            return _rounded_text(changed(text))
        below = [changed(one) for one in rows.below(e)]
        kinds = {kind(one) for one in below}
        if isinstance(e, rows.Sum) and kinds & {"timestamp", "interval"}:
            below = [*map(days, below)]
        if isinstance(e, rows.RowComparison | rows.RowBetween | rows.RowIn) and "interval" in kinds:
            below = [*map(days, below)]
        if text_times and isinstance(e, rows.RowComparison | rows.RowBetween | rows.RowIn) and "timestamp" in kinds:
            below = [*map(time_of_text, below)]
        if text_numbers != "none" and _takes_numbers(e, kinds, text_numbers):
            below = [number_of_text(one, text_numbers) if kind(one) == "string" else one for one in below]
        if text_times and isinstance(e, rows.RowCall):
            wanted = FUNCTIONS[e.function].kinds
            below = [time_of_text(x) if k == "timestamp" else x for x, k in zip(below, wanted, strict=False)]
        made = replace(trees.rebuilt(e, below), span=e.span)
        return _rounded(made, kind) if truncates else made

    return changed(e)


def _cast_text(e: rows.Expression) -> rows.Expression | None:
    """Return the operand of a CAST to an integer; None for other expressions.

    The CASE into which `whole_cast` turns a CAST counts as a CAST.
    """
    match e:
        case rows.Cast(operand, "BIGINT"):
            return operand
        case rows.RowCase(_, rows.Cast(rows.Sum(rows.Cast(same, "DOUBLE")), "BIGINT"), rows.Cast(operand, "BIGINT")):
            return operand if same == operand else None
    return None


def _rounded_text(e: rows.Expression) -> rows.Expression:
    """Return the integer in a text; a fraction is rounded, halves away from zero."""
    whole, number = (rows.Cast(e, type_, span=e.span) for type_ in ("BIGINT", "DOUBLE"))
    return rows.Coalesce((whole, rows.Cast(number, "BIGINT", span=e.span)), span=e.span)


def whole_part(e: rows.Expression) -> rows.Expression:
    """Return a number without its fraction."""
    rest = rows.Product(e, "%", rows.RowConstant(1, span=e.span), span=e.span)
    return rows.Sum(e, "-", rest, span=e.span)


def _rounded(e: rows.Expression, kind: Callable[[rows.Expression], ValueKind | None]) -> rows.Expression:
    """Return TRUNC of a number, ROUND of a time, or a difference of two TRUNCs, with Oracle's meaning.

    Return other expressions unchanged.
    """
    match e:
        case rows.RowCall("DATE_TRUNC", (_, operand)) if kind(operand) == "number":
            return replace(whole_part(operand), span=e.span)
        case rows.RowCall("ROUND", (operand,)) if kind(operand) == "timestamp":
            noon = rows.Sum(operand, "+", rows.RowConstant(timedelta(hours=12), span=e.span), span=e.span)
            return rows.RowCall("DATE_TRUNC", (rows.RowConstant("DAY", span=e.span), noon), span=e.span)
        case rows.Product(rows.RowCall("TIMESTAMPDIFF", (_, start, end)), "/", _):
            if {kind(start), kind(end)} == {"number"}:
                return rows.Sum(end, "-", start, span=e.span)
    return e


def time_of_text(e: rows.Expression) -> rows.Expression:
    """Return the time in a constant text; return any other expression unchanged."""
    if isinstance(e, rows.RowConstant) and isinstance(e.value, str):
        with suppress(ValueError):
            return replace(e, value=parse_time(e.value))
    return e


def _takes_numbers(e: rows.Expression, kinds: Collection[ValueKind | None], text_numbers: TextNumbers) -> bool:
    """Return whether an expression whose operands have these kinds converts its texts to numbers."""
    if isinstance(e, rows.RowComparison | rows.RowBetween | rows.RowIn):
        return "number" in kinds
    if text_numbers == "written" or {"timestamp", "interval"} & {*kinds}:
        return False
    if isinstance(e, rows.RowAggregate):
        return e.function in ("SUM", "AVG")
    return isinstance(e, rows.Product) or (isinstance(e, rows.Sum) and e.operator != "||")


def number_of_text(e: rows.Expression, text_numbers: TextNumbers) -> rows.Expression:
    """Return the number in a text. A text without a number stays a text; compared with a number it is NULL."""
    if isinstance(e, rows.RowConstant):
        value = combined(rows.Cast(e, "BIGINT"), [e.value], STANDARD)
        value = combined(rows.Cast(e, "DOUBLE"), [e.value], STANDARD) if value is None else value
        return e if value is None else replace(e, value=value)
    if text_numbers == "written":
        return e
    return rows.Coalesce((rows.Cast(e, "BIGINT", span=e.span), rows.Cast(e, "DOUBLE", span=e.span)), span=e.span)


def type_problems(e: rows.Expression, types: Types, condition: bool = False) -> Iterator[Problem]:
    """Yield a problem for each operator in an expression that does not accept the kind of an operand.

    condition: whether the expression itself has to be true or false.
    """

    def kind_of(operand: rows.Expression) -> ValueKind | None:
        return kind_of_type(type_of(operand, types))

    def find_problems(wanted: ValueKind, *operands: rows.Expression) -> Iterator[Problem]:
        for operand in operands:
            if (found := kind_of(operand)) not in (None, wanted):
                rule = {"number": "arithmetic", "string": "like"}.get(wanted, "kind")
                message = f"{show_expression(operand)} is {a_kind(found)}, but {a_kind(wanted)} is expected"
                yield Problem(rule, message, operand.span)  # type: ignore[arg-type]

    def alike(*operands: rows.Expression) -> Iterator[Problem]:
        known = [(operand, found) for operand in operands if (found := kind_of(operand)) is not None]
        for operand, found in known[1:]:
            if found != known[0][1]:
                first, kind_ = known[0]
                message = (
                    f"{show_expression(first)} is {a_kind(kind_)}, but {show_expression(operand)} is {a_kind(found)}"
                )
                spans = {kind_, found} == {"interval", "number"}
                advice = AN_INTERVAL if spans else None
                if {kind_, found} == {"timestamp", "string"}:
                    text = operand if found == "string" else first
                    written = isinstance(text, rows.RowConstant)
                    shown = show_expression(text)
                    advice = f"write {f'TIMESTAMP {shown}' if written else f'CAST({shown} AS TIMESTAMP)'}"
                yield Problem("kind", message, operand.span, advice=advice)

    if condition:
        yield from find_problems("bool", e)
    operands = rows.below(e) if e.operands else ()
    match e:
        case rows.RowConstant() | rows.RowColumn() | rows.Classifier() | rows.RowMatchNumber() | rows.Count():
            pass
        case rows.Physical() | rows.Logical() | rows.IsNull():
            pass
        case rows.Cast(operand, type_):
            if (known := kind_of(operand)) is not None and type_ in NO_CAST.get(known, ()):
                message = f"{show_expression(operand)} is {a_kind(known)}, so its CAST to {type_} is always NULL"
                yield Problem("kind", message, e.span, advice="use another column, such as the time in seconds")
        case rows.Collection("LISTAGG", argument):
            yield from find_problems("string", argument)
        case rows.RowAggregate(function, argument):
            if function in ("SUM", "AVG") and kind_of(argument) != "interval":
                yield from find_problems("number", argument)
        case rows.Negative(operand) | rows.Absolute(operand):
            if kind_of(operand) != "interval":
                yield from find_problems("number", operand)
        case rows.Sum(left, operator, right) | rows.Product(left, operator, right):
            if operator == "||":
                yield from find_problems("string", left, right)
            elif {"timestamp", "interval"}.isdisjoint(map(kind_of, (left, right))):
                yield from find_problems("number", left, right)
            elif type_of(e, types) is None and None not in map(kind_of, (left, right)):
                message = f"{operator} is not defined for {kind_of(left)} and {kind_of(right)}"
                yield Problem("arithmetic", message, e.span, advice=AN_INTERVAL)
        case rows.Coalesce(arguments):
            yield from alike(*arguments)
        case rows.RowCall(function, arguments):
            for wanted, argument in zip(FUNCTIONS[function].kinds, arguments, strict=False):
                yield from find_problems(wanted, argument)
        case rows.Extract(_, operand):
            if kind_of(operand) != "interval":
                yield from find_problems("timestamp", operand)
        case rows.RowCase(tested, result, otherwise):
            yield from find_problems("bool", tested)
            yield from alike(result, otherwise)
        case rows.RowComparison() | rows.RowBetween() | rows.RowIn():
            yield from alike(*operands)
        case rows.RowLike(operand, pattern):
            yield from find_problems("string", operand, pattern)
        case rows.RowNot() | rows.RowAnd() | rows.RowOr():
            yield from find_problems("bool", *operands)
        case _:
            assert_never(e)
    for operand in operands:
        yield from type_problems(operand, types)


# ---------------------------------------------------------------------------------------------------------------------
# The problems of a clause that can be found before any row is read: ISO/IEC 9075-2, features R010 and R020.

ADVICE = {
    "aggregate": "use columns of one variable in an aggregate, without PREV, NEXT, FIRST, LAST or another aggregate",
    "define": "write the variable in PATTERN, or leave its condition out",
    "skip": "name a variable of the pattern, or skip PAST LAST ROW or TO NEXT ROW",
    "variable": "write it in PATTERN, or name one of its variables; quote a column with a dot in its name",
    "column": "name a column of the table",
    "key": 'write columns without variables, or an expression of these; quote a name with a dot, as in "user.id"',
}


def problems(q: MatchRecognize, schema: Schema | None = None, reading: RowReading = STANDARD) -> list[Problem]:
    """Return all problems of the clause, with unknown columns and type errors only if there are no others."""
    with depth_limited(q.span):
        if _is_wellformed(q, reading):
            return [] if schema is None else [*_typed(q, schema)]
        return _all_problems(q, schema, reading)


@lru_cache(maxsize=64)
def _is_wellformed(q: MatchRecognize, reading: RowReading) -> bool:
    """Return whether the clause has no problem that can be found without a schema.

    The answer is cached, because several steps of one request need it. Problems are not cached, because an equal clause
    may have them at other places of its text.
    """
    return not _all_problems(q, None, reading)


def _all_problems(q: MatchRecognize, schema: Schema | None, reading: RowReading) -> list[Problem]:
    """Return the problems of a clause; nothing is cached."""
    return [*_names(q), *_variables(q), *_keys(q), *_navigation(q), *_pattern(q, reading), *_window(q)] or [
        *_typed(q, schema)
    ]


def require_wellformed(q: MatchRecognize, reading: RowReading = STANDARD) -> None:
    """Raise IllFormed for the first problem that can be found without a schema."""
    _raise_first(problems(q, None, reading))


def require_typed(q: MatchRecognize, schema: Schema) -> None:
    """Raise IllFormed for the first problem, unknown columns and type errors included."""
    _raise_first(problems(q, schema))


def require_columns(q: MatchRecognize, known: Mapping[str, ValueType | None]) -> None:
    """Raise IllFormed like `require_typed`, for a table with these columns."""
    _raise_first(problems(q) or _typed_over(q, known))


def missing_columns(q: MatchRecognize, columns: Collection[str]) -> Iterator[Problem]:
    """Yield a problem for each column of the clause that is neither one of these columns nor "type"."""
    known = {*columns, TYPE}
    for column in columns_in(q):
        if (name := resolve_column(column, known)) not in known:
            yield _no_column(column, name, [one for one in columns if one != TYPE])


def _raise_first(found: Iterable[Problem]) -> None:
    for problem in found:
        raise IllFormed(f"{problem.message}; {problem.mend}", problem.span)


def _names(q: MatchRecognize) -> Iterator[Problem]:
    """Yield a problem for each name that is given twice."""
    order = [one.column for one in q.order if isinstance(one.column, rows.RowColumn)] if q.all_columns else []
    keys = dict.fromkeys(rows.key_name(e).lower() for e in (*q.partition, *order))
    output = [*keys, *(one.name for one in q.measures)]
    for what, names, span in (
        ("DEFINE defines", [one.variable for one in q.define], _span(q.define)),
        ("the output has the columns", [name.lower() for name in output], _span(q.measures)),
        ("SUBSET defines", [one.name for one in q.subsets], _span(q.subsets)),
    ):
        for name, times in Counter(names).items():
            if times > 1:
                yield Problem("twice", f"{what} {name} {times} times", span)


def _span(parts: Sequence[RowDefinition | Measure | Subset]) -> Span | None:
    return parts[-1].span if parts else None


def _variables(q: MatchRecognize) -> Iterator[Problem]:
    """Yield a problem for each variable that is not in the pattern, and for each invalid union variable."""
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
            near = find_nearest_name(one.variable, q.primary)
            yield Problem("unbound", message, one.span, near, advice=ADVICE["define"])
    if (to := q.skip.variable) is not None and to not in q.unions:
        near = {"NEXT": "NEXT ROW"}.get(to) or find_nearest_name(to, q.unions)
        message = f"the variable {to} is not in the pattern"
        yield Problem("unbound", message, q.skip.span, near, advice=ADVICE["skip"])
    mentioned: list[tuple[str | None, Span | None]] = []
    for e in q.expressions:
        found = (node for node in subtrees(e) if isinstance(node, rows.RowColumn | rows.Classifier | rows.Count))
        mentioned += [(node.variable, node.span) for node in found]
    for name, span in mentioned:
        if name is not None and name not in q.unions:
            message = f"the variable {name} is not in the pattern"
            yield Problem("unbound", message, span, find_nearest_name(name, q.unions), advice=ADVICE["variable"])


def _keys(q: MatchRecognize) -> Iterator[Problem]:
    """Yield a problem for each part of PARTITION BY or ORDER BY whose value is known only after a match."""
    for node in (node for e in q.keys for node in subtrees(e)):
        if isinstance(node, rows.Lookup) and not (isinstance(node, rows.RowColumn) and node.variable is None):
            message = f"{show_expression(node)} has no value before a match, but a key must have one"
            yield Problem("navigation", message, node.span, advice=ADVICE["key"])


def _navigation(q: MatchRecognize) -> Iterator[Problem]:
    """Yield a problem for each misplaced PREV, NEXT, FIRST, LAST or aggregate, and for FINAL in DEFINE.

    Such a call is misplaced if it is inside another, or looks at no variable or at several.
    """
    for one in q.define:
        for node in subtrees(one.condition):
            if isinstance(node, rows.Logical | rows.Count | rows.RowAggregate) and node.semantics == "FINAL":
                yield Problem(
                    "navigation", "FINAL needs the whole match, but DEFINE sees only the rows so far", node.span
                )
    for e in q.expressions:
        for node in subtrees(e):
            if isinstance(node, rows.Physical | rows.Logical | rows.RowAggregate):
                yield from _inside(node)


def _inside(e: rows.Physical | rows.Logical | rows.RowAggregate) -> Iterator[Problem]:
    argument, text = e.argument, show_expression(e)
    advice = ADVICE["aggregate"] if isinstance(e, rows.RowAggregate) else None
    if isinstance(e, rows.Physical) and isinstance(argument, rows.Logical):
        return
    for node in subtrees(argument):
        if isinstance(node, rows.Physical | rows.Logical | rows.RowAggregate | rows.Count):
            yield Problem(
                "navigation",
                f"{show_expression(node)} cannot be used inside {text}",
                node.span or e.span,
                advice=advice,
            )
            return
    found = rows.references(argument)
    if len({one.variable for one in found}) > 1:
        yield Problem("navigation", f"{text} looks at rows of more than one variable", e.span, advice=advice)
    if not found and not isinstance(e, rows.RowAggregate):
        yield Problem("navigation", f"{text} has no column and no CLASSIFIER to look up in a row", e.span)


def _pattern(q: MatchRecognize, reading: RowReading) -> Iterator[Problem]:
    for p in subtrees(q.pattern):
        if isinstance(p, rows.Exclusion) and q.rows == "all with unmatched":
            yield Problem("output", "{- -} cannot be used with ALL ROWS PER MATCH WITH UNMATCHED ROWS", p.span)
        if isinstance(p, rows.Quantified) and reading.empty_iterations == "refused" and may_be_empty(p.pattern):
            yield Problem("repeated", "a part of the pattern that may match no row is quantified", p.span)


def _window(q: MatchRecognize) -> Iterator[Problem]:
    """Yield a problem for each part that the clause WINDOW cannot have: anchors and MATCH_NUMBER."""
    if q.window is None:
        return
    for node in (node for root in (q.pattern, *q.expressions) for node in subtrees(root)):
        if isinstance(node, rows.Anchor | rows.RowMatchNumber):
            text = {"start": "^", "end": "$"}[node.place] if isinstance(node, rows.Anchor) else "MATCH_NUMBER()"
            yield Problem("row_window", f"{text} cannot be used in WINDOW", node.span)


def may_be_empty(p: rows.Pattern) -> bool:
    """Return whether a pattern may match no row."""
    match p:
        case rows.RowVariable():
            return False
        case rows.Empty() | rows.Anchor():
            return True
        case rows.RowConcatenation(left, right):
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
    """Return the types of a table's columns under a schema; None for a column of several types."""
    known: dict[str, ValueType | None] = dict(schema.attributes) | dict.fromkeys(schema.mixed) | {TYPE: "string"}
    if schema.timed:
        known.setdefault(TIME, "timestamp")
    return known


def _typed_over(q: MatchRecognize, known: Mapping[str, ValueType | None] | None) -> Iterator[Problem]:
    """Yield a problem for each column that a table does not have, and for each type error.

    known: the types of the table's columns, None for a type that is not known; or None if the table is not known.
    """
    if known is not None:
        yield from missing_columns(q, known)
    types = types_of(known)
    for e in q.keys:
        yield from type_problems(e, types)
    for one in q.define:
        yield from type_problems(one.condition, types, condition=True)
    for measure in q.measures:
        yield from type_problems(measure.expression, types)


def _no_column(column: rows.RowColumn, name: str, there: Sequence[str]) -> Problem:
    dotted = f"{column.variable}.{name}".lower()
    near = next((show_name(one) for one in there if one.lower() == dotted), None) or meant_name(name, there)
    written = f"a string is written {name!r}, and " if column.quoted and near is None else ""
    if (function := name.upper()) in ("CLASSIFIER", "MATCH_NUMBER") and not column.quoted:
        near = f"{function}()"
    message = f"there is no column {name!r}; {written}the table has {format_names(there)}"
    return Problem("attribute", message, column.span, near, advice=ADVICE["column"])


# ---------------------------------------------------------------------------------------------------------------------
# Whether AFTER MATCH SKIP TO can fail, judged by the pattern without its conditions.


class LabellingShape(NamedTuple):
    """Facts about a labelling, and some variables: whether it has rows, whether one of the variables labels its first
    row, and whether one of them labels a later row.
    """

    rows: bool = False
    first: bool = False
    later: bool = False


Shapes = frozenset[LabellingShape]
EMPTY: Shapes = frozenset({LabellingShape()})


def skip_failures(q: MatchRecognize) -> list[str]:
    """Return the ways in which the skip of a clause can fail, each as a sentence; none if it cannot."""
    A = q.skip.variable
    if A is None or A not in q.unions:
        return []
    found = shapes(q.pattern, q.unions[A])
    failures = []
    if any(one.rows and not (one.first or one.later) for one in found):
        failures.append(f"a match may have no row of {A} to skip to")
    if any(one.first and (q.skip.to == "first" or not one.later) for one in found):
        failures.append(f"the row of {A} to skip to may be the first one of the match")
    return failures


def shapes(p: rows.Pattern, wanted: frozenset[str]) -> Shapes:
    """Return what may be true of the labellings of a pattern, each combination of facts as a LabellingShape.

    wanted: the variables that the facts are about.
    """
    match p:
        case rows.RowVariable(A):
            return frozenset({LabellingShape(True, A in wanted)})
        case rows.Empty() | rows.Anchor():
            return EMPTY
        case rows.RowConcatenation(left, right):
            return _join_shapes((shapes(left, wanted), shapes(right, wanted)))
        case rows.Alternation(left, right):
            return shapes(left, wanted) | shapes(right, wanted)
        case rows.Permute(parts):
            return frozenset().union(*map(_join_shapes, permutations([shapes(part, wanted) for part in parts])))
        case rows.Exclusion(inner):
            return shapes(inner, wanted)
        case rows.Quantified(inner, low, high):
            return _iterate_shapes(shapes(inner, wanted), low, high)
        case _:
            assert_never(p)


def _join_shapes(parts: Iterable[Shapes]) -> Shapes:
    return reduce(lambda one, other: frozenset(_after(u, v) for u, v in product(one, other)), parts, EMPTY)


def _after(u: LabellingShape, v: LabellingShape) -> LabellingShape:
    return LabellingShape(True, u.first, u.later or v.first or v.later) if u.rows else v


def _iterate_shapes(once: Shapes, low: int, high: int | None) -> Shapes:
    """Return the shapes after any number of iterations between two bounds. They repeat after a few iterations."""
    power, found, n = EMPTY, set[Shapes](), 0
    # The power determines the next one, and there are finitely many: after a repeated power, all further ones are
    # known.
    while (high is None or n <= high) and power not in found:
        if n >= low:
            found.add(power)
        power, n = _join_shapes((power, once)), n + 1
    return frozenset[LabellingShape]().union(*found)
