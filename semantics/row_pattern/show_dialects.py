"""Write a clause of MATCH_RECOGNIZE as text of a dialect in which it means the same, or say why that is impossible.

A dialect may accept a text and mean something else by it. So the text is parsed again in the dialect, and must give the
clause that was meant. What another meaning changes is written out where the dialect has words for it. What depends on
the values of columns is a note to the user, because the clause does not show it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeGuard, assert_never, cast

from cerify.semantics import trees
from cerify.semantics.errors import Span, Unsupported
from cerify.semantics.row_pattern import syntax as rows
from cerify.semantics.row_pattern.check import number_of_text, time_of_text, type_of
from cerify.semantics.row_pattern.dialects import (
    SqlDialect,
    add_months,
    escaped_text,
    mean_of,
    meant_reading,
    null_if_empty,
    plain_add_months,
    require_in_dialect,
    whole_cast,
    with_meant_nulls,
)
from cerify.semantics.row_pattern.parse import parse
from cerify.semantics.row_pattern.scalars import FUNCTIONS, with_expressions
from cerify.semantics.row_pattern.statement import (
    NO_TABLE,
    LiteralTable,
    PlainSelect,
    SelectItem,
    SortItem,
    Statement,
    TableSource,
    UnionTable,
    expressions_in,
    parse_statement,
)
from cerify.semantics.row_pattern.syntax import MatchRecognize, Order, show_expression, texts
from cerify.semantics.trees import subtrees
from cerify.semantics.values import Value, ValueType, value_type_of

_TOKEN = re.compile(
    r"(?<!INTERVAL )'(?:[^']|'')*'|(?P<name>\"(?:[^\"]|\"\")*\")|(?<= AS )(?P<type>BIGINT|DOUBLE|VARCHAR|BOOLEAN)(?=\))"
    r"|(?P<interval>\bINTERVAL '(?P<size>[-.0-9]+)' (?P<unit>[A-Z]+))|(?P<function>\b[A-Z_]+)(?=\()"
)
_WITHOUT_MODULO = ("oracle", "bigquery")
_WITHOUT_SEMANTICS = ("bigquery", "flink")
_WITHOUT_ROWS = ("bigquery",)


def show_in_dialect(q: MatchRecognize, source: SqlDialect, target: SqlDialect) -> tuple[str, tuple[str, ...]]:
    """Translate a clause from one dialect to another: return its text, and sentences about what differs.

    Raises Unsupported, with the reason, for parts that the other dialect does not have.

    >>> from cerify.semantics.row_pattern.dialects import DIALECTS
    >>> q = parse("MATCH_RECOGNIZE (ORDER BY x PATTERN (A) DEFINE A AS MOD(x, 2) = 0)", DIALECTS["trino"])
    >>> show_in_dialect(q, DIALECTS["trino"], DIALECTS["oracle"])[0][:54]
    'MATCH_RECOGNIZE (ORDER BY x ONE ROW PER MATCH AFTER MA'
    """
    q, text, differences = write_in_dialect(q, source, target)
    if replace(parse(text, target), span=None) != replace(q, span=None):
        raise Unsupported(
            f"{target.title} would read the clause differently: a name or a function in it means something else there"
        )
    return text, differences


def write_in_dialect(
    q: MatchRecognize, source: SqlDialect, target: SqlDialect
) -> tuple[MatchRecognize, str, tuple[str, ...]]:
    """Return the clause in the other dialect, its text (not yet parsed again as a check), and notes on what differs.

    Raises Unsupported in the same cases as `show_in_dialect`.
    """
    q = with_meant_nulls(q, source, target)
    if target.name in _WITHOUT_SEMANTICS and q.rows == "one":
        q = _with_expressions(q, _running)  # FINAL and RUNNING are the same in the last row
    if "define" in target.needs and not q.define and q.primary:
        q = replace(q, define=(rows.RowDefinition(q.primary[0], rows.RowConstant(True)),))
    if "every variable" in target.needs:
        missing = (name for name in q.primary if name not in q.conditions)
        q = replace(q, define=(*q.define, *(rows.RowDefinition(name, rows.RowConstant(True)) for name in missing)))
    require_in_dialect(q, target)
    _require_functions((*q.keys, *q.expressions), target)
    if target.streams:
        for e in q.expressions:
            _require_labels(e, target)
    differences = _differences(q, source, target)
    for note, wrap, unwrap in _choices(source, target):
        # Undone first: a clause read in a dialect of the same meaning has the changed form already, and would be
        # changed twice.
        meant = _with_expressions(_with_expressions(q, unwrap), wrap)
        differences += [] if meant == q else [note]
        q = meant
    written = q
    for change in _spellings(target):
        written = _with_expressions(written, change)
    parts = texts(written)
    if target.name in _WITHOUT_ROWS:
        parts["rows"] = ""
    keyword = "MATCH_RECOGNIZE" if q.window is None else "WINDOW"
    text = _TOKEN.sub(lambda found: _spelt(found, target), f"{keyword} ({' '.join(filter(None, parts.values()))})")
    if target.name == "bigquery":
        text = _without_escape(text, target)
    return q, text, tuple(differences)


def _differences(q: MatchRecognize, source: SqlDialect, target: SqlDialect) -> list[str]:
    """Return sentences about numbers beside times, texts, and divisions that mean something else in the target."""
    differences = []
    of_times = source.between_dates == "fraction of days" and target.name != source.name
    if source.days and (of_times or not target.days) and (number := _number_of_days(q)) is not None:
        shown = show_expression(number)
        there = f"in {target.title} only beside DATEs" if target.days else f"not in {target.title}"
        differences.append(f"if {shown} has times, its number means days in {source.title}, but {there}")
    for known, other, what, instead in (
        (source.text_times, target.text_times, "a time", "TIMESTAMP '…'"),
        (source.text_numbers != "none", target.text_numbers != "none", "a number", "the number"),
    ):
        if known and not other and (e := _text_operand(q, what)) is not None:
            beside = f"in {show_expression(e)}, {source.title} reads a text beside {what} as {what}"
            differences.append(f"{beside}, but {target.title} does not: write {instead}")
    if meant_reading(q.expressions, source) != meant_reading(q.expressions, target):
        exact = "exact" if target.integer_division == "exact" else "truncated"
        differences.append(f"a division of whole numbers is {exact} in {target.title}, but not in {source.title}")
    return differences


Change: TypeAlias = Callable[[rows.Expression], rows.Expression]


def _choices(source: SqlDialect, target: SqlDialect) -> Iterator[tuple[str, Change, Change]]:
    """Yield the kinds of expressions to which the target dialect gives another meaning.

    For each: a sentence about the difference, a function that changes an expression to that meaning, and its reverse.
    """
    if target.casts != "away from zero":
        does = "rounds halves to even" if target.casts == "to even" else "drops the fraction"
        note = f"a CAST to a whole number {does} in {target.title}: write ROUND(…) in it to round"
        yield note, lambda e: whole_cast(e, target) if _is_whole_cast(e) else e, lambda e: _plain_cast(e, target)
    if target.whole_means:
        note = f"AVG of whole numbers is whole in {target.title}, but not in {source.title}"
        yield note, lambda e: mean_of(e) if _is_mean(e) else e, _plain_mean
    if target.empty_is_null:
        note = f"an empty text, such as SUBSTR, TRIM and REPLACE may return, is NULL in {target.title}"
        yield note, lambda e: null_if_empty(e) if isinstance(e, rows.RowCall) else e, _plain_call
    if target.name == "oracle":
        note = f"ADD_MONTHS of the last day of a month is always the last day of a month in {target.title}"
        yield note, lambda e: _own_add_months(e, target), lambda e: plain_add_months(e, target)


def _is_whole_cast(e: rows.Expression) -> TypeGuard[rows.Cast]:
    return isinstance(e, rows.Cast) and e.type == "BIGINT"


def _own_add_months(e: rows.Expression, target: SqlDialect) -> rows.Expression:
    """Return a call of ADD_MONTHS with the dialect's meaning; return other expressions unchanged."""
    if not isinstance(e, rows.RowCall) or e.function != "ADD_MONTHS":
        return e
    return add_months(e.arguments, target, e.span or Span(0, 0))


def _plain_cast(e: rows.Expression, target: SqlDialect) -> rows.Expression:
    """Reverse `whole_cast`: return CAST(x AS BIGINT) for the CASE that it builds in the dialect."""
    plain = e.otherwise if isinstance(e, rows.RowCase) else e
    return plain if _is_whole_cast(plain) and whole_cast(plain, target) == e else e


def _is_mean(e: rows.Expression) -> TypeGuard[rows.RowAggregate]:
    return isinstance(e, rows.RowAggregate) and e.function == "AVG"


def _plain_mean(e: rows.Expression) -> rows.Expression:
    """Return AVG(x) for SUM(x) / COUNT(x)."""
    if not isinstance(e, rows.Product) or not isinstance(e.left, rows.RowAggregate):
        return e
    mean = replace(e.left, function="AVG")
    return mean if mean_of(mean) == e else e


def _plain_call(e: rows.Expression) -> rows.Expression:
    """Return the plain function call, without the CASE that replaces its empty text by NULL."""
    plain = e.otherwise if isinstance(e, rows.RowCase) else e
    return plain if isinstance(plain, rows.RowCall) and null_if_empty(plain) == e else e


def _is_labels(e: rows.Expression) -> bool:
    """Return whether an expression is the list of all labels, as CLASSIFIER() is in Azure."""
    return isinstance(e, rows.Collection) and e == rows.Collection("ARRAY_AGG", rows.Classifier(), e.semantics)


def _require_labels(e: rows.Expression, target: SqlDialect) -> None:
    """Raise Unsupported for CLASSIFIER of a single row, which the dialect does not have."""
    if isinstance(e, rows.Classifier):
        raise Unsupported(f"CLASSIFIER() is the list of all labels in {target.title}: write ARRAY_AGG of it", e.span)
    for operand in () if _is_labels(e) else rows.below(e):
        _require_labels(operand, target)


def _spellings(target: SqlDialect) -> Iterator[Change]:
    """Yield the functions that rewrite an expression from its meaning to the dialect's text."""
    yield from (unwrap for _, _, unwrap in _choices(target, target))
    if target.name in ("snowflake", "databricks"):  # their DATEADD adds months as the standard's ADD_MONTHS here
        yield lambda e: _rename(e, plain) if (plain := plain_add_months(e, target)) is not e else e
        yield _dateadd
    if target.name in _WITHOUT_MODULO:
        yield _modulo
    yield lambda e: _own_pattern(e, target)
    if target.empty_is_null:
        yield _plain_join
    yield lambda e: _own_list(e, target)
    if "NULLIF" in target.functions:
        yield _nullif
    if target.streams:
        yield lambda e: rows.Classifier() if _is_labels(e) else e


def _without_escape(text: str, target: SqlDialect) -> str:
    r"""Return a text without the ESCAPE clauses that name the backslash. Raises Unsupported for another character."""
    text = text.replace(r" ESCAPE '\\'", "")
    if re.search(r"' ESCAPE '", text):
        raise Unsupported(f"{target.title} has no ESCAPE after LIKE: write a backslash before % and _")
    return text


def _number_of_days(q: MatchRecognize) -> rows.Expression | None:
    """Return a sum or a comparison with a number that contains a key of ORDER BY; None if there is none."""
    keys = {e.name.lower() for one in q.order for e in subtrees(one.column) if isinstance(e, rows.RowColumn)}
    for e in (node for root in q.expressions for node in subtrees(root)):
        if isinstance(e, rows.Sum | rows.RowComparison):
            numbers = [one for one in rows.below(e) if _is_number(one)]
            times = [one for one in rows.below(e) if type_of(one, lambda _: None) not in ("int", "float")]
            inside = (one for time in times for one in subtrees(time))
            if numbers and any(isinstance(one, rows.RowColumn) and one.name.lower() in keys for one in inside):
                return e
    return None


def _text_operand(q: MatchRecognize, what: str) -> rows.Expression | None:
    """Return an expression with a constant text that may be meant as a time or as a number, as `what` says."""
    compared = (rows.RowComparison, rows.RowBetween, rows.RowIn)
    for e in (node for root in q.expressions for node in subtrees(root)):
        times = isinstance(e, rows.RowCall) and "timestamp" in FUNCTIONS[e.function].kinds and what == "a time"
        read = time_of_text if what == "a time" else lambda one: number_of_text(one, "written")
        if (isinstance(e, compared) or times) and any(read(one) is not one for one in rows.below(e)):
            return e
    return None


def _is_number(e: rows.Expression) -> bool:
    """Return whether an expression has numbers only, such as 30 / 1440."""
    if isinstance(e, rows.RowConstant):
        return type(e.value) in (int, float)
    return isinstance(e, rows.Sum | rows.Product) and all(map(_is_number, rows.below(e)))


def show_table(
    name: str,
    columns: Sequence[rows.RowColumn],
    table: Sequence[Sequence[Value | None]],
    target: SqlDialect,
    types: Mapping[str, ValueType] | None = None,
) -> str:
    """Return a WITH clause that holds a table of these rows, in a dialect. Its first row fixes the types of the
    columns.

    types: the types of columns that are NULL throughout; without one, such a column has whole numbers. Raises
    Unsupported for a dialect without WITH, and for a column of several types.

    >>> from cerify.semantics.row_pattern.dialects import DIALECTS
    >>> show_table("t", [rows.RowColumn("x")], [[1], [None]], DIALECTS["duckdb"])
    'WITH t (x) AS (VALUES (CAST(1 AS BIGINT)), (NULL))'
    """
    known = types or {}
    names_of_types = [
        _column_type(column, [row[i] for row in table], known.get(column.name, "int"), target)
        for i, column in enumerate(columns)
    ]
    cells = [[show_expression(rows.RowConstant(value)) for value in row] for row in table]
    if cells:
        cells[0] = [f"CAST({cell} AS {type_})" for cell, type_ in zip(cells[0], names_of_types, strict=True)]
    text, listed = _literal_text(cells, [_spelt_name(column, target) for column in columns], target)
    return f"WITH {name}{listed and ' ' + listed} AS ({text})"


def _literal_text(cells: Sequence[Sequence[str]], names: Sequence[str], target: SqlDialect) -> tuple[str, str]:
    """Return a query for a table of constants, and the names of its columns, "" if the query names them.

    Raises Unsupported for a dialect without tables in the text, and for a table without rows.
    """
    if target.streams:
        raise Unsupported(f"{target.title} has no table in the text of a query")
    if not cells:
        raise Unsupported("the table has no rows, and a query cannot contain an empty one")
    if target.name == "bigquery":
        rest = [f"({', '.join(row)})" for row in cells[1:]]
        named = ", ".join(f"{cell} AS {column}" for cell, column in zip(cells[0], names, strict=True))
        return f"SELECT * FROM UNNEST([{', '.join((f'STRUCT({named})', *rest))}])", ""
    if target.dual:
        selects = [", ".join(f"{cell} AS {c}" for cell, c in zip(row, names, strict=True)) for row in cells]
        return " UNION ALL ".join(f"SELECT {one} FROM DUAL" for one in selects), ""
    values = ", ".join(f"({', '.join(row)})" for row in cells)
    listed = f"({', '.join(names)})"
    if target.name in ("snowflake", "databricks"):
        return f"SELECT * FROM VALUES {values} AS v {listed}", ""
    return f"VALUES {values}", listed


def show_statement(q: Statement, source: SqlDialect, target: SqlDialect) -> tuple[str, tuple[str, ...]]:
    """Translate a statement from one dialect to another: return its text, and sentences about what differs.

    Raises Unsupported, with the reason, for parts that the other dialect does not have.
    """
    if q.clause.window is not None:
        raise Unsupported("a SELECT with WINDOW is not translated: give the clause alone", q.clause.span)
    clause, differences = show_in_dialect(q.clause, source, target)
    if q.lists:
        names = ", ".join(one.name for one in q.lists)
        differences = (
            *differences,
            f"{names}: each field of such a list of structures or numbers becomes a measure of its own",
        )
    text = _select_text(q, source, target, clause)
    again = parse_statement(text, target)
    if again.clause != parse(clause, target) or _what_it_asks(again) != _what_it_asks(q):
        raise Unsupported(f"{target.title} would read the statement differently", q.clause.span)
    if source.table_first != target.table_first and q.clause.all_columns and any(not one.expression for one in q.items):
        differences = (*differences, f"* has the columns of the table in another order in {target.title}")
    if source.names != target.names:
        differences = (*differences, f"names without quotation marks are {_CASES[target.names]} in the output")
    return text, differences


def _what_it_asks(q: PlainSelect) -> tuple[Any, ...]:
    """Return the parts of a selection that must be equal in two dialects: all but its names and the place of NULL."""
    order = [(one.expression, one.descending) for one in q.order]
    return ([item.expression for item in q.items], q.where, order, q.limit, expressions_in(q.below))


_CASES = {"upper": "in upper case", "lower": "in lower case", "as written": "as they are written"}


def _select_text(q: PlainSelect, source: SqlDialect, target: SqlDialect, clause: str = "") -> str:
    items = ", ".join(_item_text(item, target) for item in q.items)
    table, alias = _table_text(q, source, target, bool(clause))
    parts = ["SELECT", items, *(() if not table else ("FROM", table)), clause, alias if clause else ""]
    if q.where is not None:
        parts += ["WHERE", _expression_text(q.where, target)]
    if q.order:
        parts += ["ORDER BY", ", ".join(_sort_text(one, source, target) for one in q.order)]
    if q.limit is not None:
        parts.append(f"FETCH FIRST {q.limit} ROWS ONLY" if target.name == "oracle" else f"LIMIT {q.limit}")
    return " ".join(filter(None, parts))


def _table_text(q: PlainSelect, source: SqlDialect, target: SqlDialect, of_clause: bool) -> tuple[str, str]:
    """Return the text after FROM, and the name of the clause's output."""
    called = "" if q.alias is None else f"AS {_name_text(q.alias, target)}"
    if target.name == "oracle":
        called = called.removeprefix("AS ")  # a table has an alias without AS there
    if q.below is None:
        return (q.table, called) if of_clause else (" ".join(filter(None, (q.table, called))), "")
    if q.below == NO_TABLE:
        return "DUAL" if target.dual else "", ""
    text, names = _source_text(q.below, source, target)
    own = "v" if of_clause or q.alias is None else _name_text(q.alias, target)
    as_ = "" if target.name == "oracle" else "AS "
    return f"({text}) {as_}{own}{names and ' ' + names}", called


def _source_text(source_: TableSource, source: SqlDialect, target: SqlDialect) -> tuple[str, str]:
    """Return the query of a table in FROM, and the names of its columns, "" if the query names them."""
    names = f"({', '.join(_name_text(one, target) for one in source_.names)})" if source_.names else ""
    match source_:
        case LiteralTable(columns, cells):
            texts_ = [[_expression_text(e, target) for e in row] for row in cells]
            return _literal_text(texts_, [_name_text(one, target) for one in columns], target)
        case UnionTable(parts):
            text = " UNION ALL ".join(_source_text(part, source, target)[0] for part in parts)
        case PlainSelect():
            text = _select_text(source_, source, target)
        case _:
            assert_never(source_)
    if names and target.name in ("bigquery", "oracle"):
        raise Unsupported(f"{target.title} cannot rename the columns of a query after AS")
    return text, names


def _item_text(item: SelectItem, target: SqlDialect) -> str:
    if item.expression is None:
        return "*"
    text = _expression_text(item.expression, target)
    if not item.name or item.name == show_expression(item.expression):
        return text
    return f"{text} AS {_name_text(item.name, target, item.quoted)}"


def _sort_text(one: SortItem, source: SqlDialect, target: SqlDialect) -> str:
    order = Order(one.expression, one.descending, cast("Any", one.nulls))
    nulls = with_meant_nulls(MatchRecognize(rows.Empty(), order=(order,)), source, target).order[0].nulls
    end = f" NULLS {nulls}" if nulls else ""
    return f"{_expression_text(one.expression, target)}{' DESC' * one.descending}{end}"


def _expression_text(e: rows.Expression, target: SqlDialect) -> str:
    _require_functions([e], target)
    written = e
    for change in _spellings(target):
        written = _changed(written, change)
    text = _TOKEN.sub(lambda found: _spelt(found, target), show_expression(written))
    return _without_escape(text, target) if target.name == "bigquery" else text


def _name_text(name: str, target: SqlDialect, quoted: bool = False) -> str:
    return _spelt_name(rows.RowColumn(name, None, quoted or not rows.REGULAR.fullmatch(name)), target)


def _require_functions(expressions: Iterable[rows.Expression], target: SqlDialect) -> None:
    """Raise Unsupported for a function that the dialect does not have."""
    refused = target.refused or {}
    for e in (node for root in expressions for node in subtrees(root)):
        name = e.function if isinstance(e, rows.RowCall) else e.part if isinstance(e, rows.Extract) else ""
        if name in refused and name not in (target.spelled or {}):
            what = _DIFFERENCES[name] if name == refused[name] and name in _DIFFERENCES else refused[name]
            raise Unsupported(f"{target.title} does not have {what}", e.span)


_DIFFERENCES = {
    "DATEDIFF": "the number of boundaries of a unit between two times, as DATEDIFF counts them here",
    "TIMESTAMPDIFF": "the number of complete units between two times, as TIMESTAMPDIFF counts them here",
}
"""The meaning, for messages, of functions that other dialects may have under other names."""
SQL_TYPES: Mapping[ValueType, rows.SqlType] = {
    "int": "BIGINT", "float": "DOUBLE", "string": "VARCHAR", "bool": "BOOLEAN", "timestamp": "TIMESTAMP",
}  # fmt: skip


def _column_type(column: rows.RowColumn, values: Sequence[Value | None], empty: ValueType, target: SqlDialect) -> str:
    """Return the name of a column's type in a dialect; empty: the type of a column that is NULL throughout."""
    types = {value_type_of(value) for value in values if value is not None}
    if types == {"int", "float"}:
        types = {"float"}
    if len(types) > 1:
        raise Unsupported(f"the values of {column.name} are of several types")
    standard = SQL_TYPES[next(iter(types), empty)]
    return (target.types or {}).get(standard, standard)


def _spelt_name(column: rows.RowColumn, target: SqlDialect) -> str:
    """Return the name of a column, in quotation marks if the clause has them."""
    return _TOKEN.sub(lambda found: _spelt(found, target), show_expression(column))


def _spelt(found: re.Match[str], target: SqlDialect) -> str:
    if found[0].startswith("'"):
        return escaped_text(found[0], target)
    if found["name"] and target.backticks:
        inner = found["name"][1:-1].replace('""', '"')
        if "`" in inner:
            raise Unsupported(f"{target.title} has no name with a backtick: {inner}")
        return f"`{inner}`"
    if found["interval"]:
        if target.name == "snowflake":
            return f"INTERVAL '{found['size']} {found['unit']}'"
        if target.name == "bigquery":
            if "." in found["size"] or "-" in found["size"]:
                raise Unsupported(f"{target.title} writes an interval as a whole number of one unit")
            return f"INTERVAL {found['size']} {found['unit']}"
    if found["function"]:
        return (target.spelled or {}).get(found["function"], found["function"])
    if found["type"]:
        return (target.types or {}).get(found["type"], found["type"])
    return found[0]


def _with_expressions(q: MatchRecognize, change: Change) -> MatchRecognize:
    """Return the clause with `change` applied to its measures and conditions."""
    return replace(with_expressions(q, lambda e: _changed(e, change)), partition=q.partition, order=q.order)


def _changed(e: rows.Expression, change: Change) -> rows.Expression:
    return change(replace(trees.rebuilt(e, [_changed(operand, change) for operand in rows.below(e)]), span=e.span))


def _running(e: rows.Expression) -> rows.Expression:
    return replace(e, semantics="RUNNING") if isinstance(e, rows.Logical | rows.Count | rows.RowAggregate) else e


_OWN_PATTERN = re.compile(r"(?:\(\?(?P<flags>[ims]+)\))?(?:\\A\((?P<whole>.*)\)\\z|(?P<part>.*))", re.S)


def _own_pattern(e: rows.Expression, target: SqlDialect) -> rows.Expression:
    """Return a match with a regular expression in the form of Oracle or Snowflake. Other expressions stay as they
    are.

    Flags of the pattern become an argument. In Snowflake the pattern has to match the whole text.

    Raises Unsupported for Snowflake if the pattern may match a part of the text.
    """
    if not isinstance(e, rows.RowCall) or e.function != "REGEXP_LIKE" or target.name not in ("oracle", "snowflake"):
        return e
    text, pattern = e.arguments
    found = _OWN_PATTERN.fullmatch(str(getattr(pattern, "value", "")))
    if not isinstance(pattern, rows.RowConstant) or found is None:
        return e
    value = f"\\A({found['whole']})\\z" if found["part"] is None else found["part"]
    if target.name == "snowflake":
        if found["part"] is not None:
            raise Unsupported(
                f"REGEXP_LIKE of {target.title} must match the whole text: write \\A((.|\\n)*({value})(.|\\n)*)\\z",
                e.span,
            )
        value = found["whole"]
    options = (found["flags"] or "").replace("s", "n" if target.name == "oracle" else "s")
    return replace(e, arguments=(text, rows.RowConstant(value), *([rows.RowConstant(options)] if options else [])))


def _plain_join(e: rows.Expression) -> rows.Expression:
    """Return Oracle's `a || b`, in which NULL is the empty text. Raises Unsupported for a join with another meaning."""
    empty = rows.RowConstant("")
    match e:
        case rows.RowCase(rows.RowAnd(rows.IsNull(), rows.IsNull()), rows.RowConstant(None), rows.Sum(_, "||", _)):
            return e.otherwise
        case rows.Sum(left, "||", right):
            plain = []
            for one in (left, right):
                if isinstance(one, rows.Coalesce) and len(one.arguments) == 2 and one.arguments[1] == empty:
                    plain.append(one.arguments[0])
                elif isinstance(one, rows.RowConstant) or (isinstance(one, rows.Sum) and one.operator == "||"):
                    plain.append(one)
                else:
                    raise Unsupported(
                        f"in Oracle || passes over NULL, but here {show_expression(one)} || … gives NULL", e.span
                    )
            return replace(e, left=plain[0], right=plain[1])
    return e


def _own_list(e: rows.Expression, target: SqlDialect) -> rows.Expression:
    """Return an aggregate of a list with WITHIN GROUP, in dialects that order lists so.

    Other aggregates stay as they are. The result is a column whose name is the text of the aggregate.

    Raises Unsupported for ARRAY_AGG of Oracle, and for an order that Flink's lists do not have.
    """
    if not isinstance(e, rows.Collection) or e.function not in ("ARRAY_AGG", "LISTAGG"):
        return e
    if e.function == "ARRAY_AGG" and target.name == "oracle":
        raise Unsupported(f"{target.title} does not have ARRAY_AGG: write LISTAGG, which makes a text", e.span)
    if e.order and target.name == "flink":
        raise Unsupported(f"{target.title} does not have ORDER BY in {e.function}", e.span)
    if (
        not e.order
        or target.name not in ("snowflake", "oracle", "trino")
        or (e.function, target.name) == ("ARRAY_AGG", "trino")
    ):
        return e
    plain = show_expression(replace(e, order=(), descending=False))
    order = f"{show_expression(e.order[0])}{' DESC' * e.descending}"
    return rows.RowColumn(f"{plain} WITHIN GROUP (ORDER BY {order})")


def _nullif(e: rows.Expression) -> rows.Expression:
    """Return a CASE as a call of NULLIF."""
    match e:
        case rows.RowCase(rows.RowComparison(a, "=", b), rows.RowConstant(None), otherwise) if otherwise == a:
            return rows.RowColumn(f"NULLIF({show_expression(a)}, {show_expression(b)})")
    return e


def _rename(e: rows.Expression, written: rows.Expression) -> rows.Expression:
    """Return a column whose name is the text of `written`, so that it is printed as it is."""
    return rows.RowColumn(show_expression(written), span=e.span)


def _dateadd(e: rows.Expression) -> rows.Expression:
    """Return an addition of months as a call of DATEADD."""
    if isinstance(e, rows.RowCall) and e.function == "ADD_MONTHS":
        time, months = map(show_expression, e.arguments)
        return rows.RowColumn(f"DATEADD(MONTH, {months}, {time})")
    return e


def _modulo(e: rows.Expression) -> rows.Expression:
    """Return % as a call of MOD."""
    if isinstance(e, rows.Product) and e.operator == "%":
        return rows.RowColumn(f"MOD({show_expression(e.left)}, {show_expression(e.right)})")
    return e
