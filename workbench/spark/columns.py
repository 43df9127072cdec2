"""Find the columns of a data frame that a query needs; only these are read and shuffled.

An attribute of a query may be a column, a field of a struct, or a path; `fields` names them all, and errors suggest
near names. The columns of type, time, order and key may be given as expressions, which become columns first. The last
part warns on the driver about comparisons that no row can satisfy.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from dataclasses import fields as fields_of
from functools import partial
from typing import Any, Required, TypeAlias, TypedDict

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cerify.plan import misfits
from cerify.semantics.arguments import did_you_mean, require_kind
from cerify.semantics.arrow_columns import ARROW, DIGITS, type_of_decimals
from cerify.semantics.cel import syntax as cel
from cerify.semantics.eql import syntax as eql
from cerify.semantics.eql.conditions import CATEGORY, TIMESTAMP
from cerify.semantics.errors import IllFormed, InputError, QueryWarning, errors_in
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.events import TIME, TYPE, ObservedSchema
from cerify.semantics.object_rows import COUNT, asked_element
from cerify.semantics.predicates import Attribute, Problem
from cerify.semantics.sase import syntax as sase
from cerify.semantics.time_columns import LAST_SECOND, PER_SECOND, TimeReading
from cerify.semantics.values import TimeUnit, ValueType
from cerify.spark.rows import Columns, unused
from cerify.spark.runs import SparkQuery
from cerify.spark.transport import ROW

NAMED_BY_TYPE = frozenset({CATEGORY, TIMESTAMP, TIME})  # fields of EQL that every event has
WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)
TIMES = (T.TimestampType, T.TimestampNTZType, T.DateType)
ATTRIBUTES = (*WHOLE, *TIMES, T.FloatType, T.DoubleType, T.DecimalType, T.StringType, T.BooleanType, T.NullType)
ATOMIC = (*ATTRIBUTES, T.BinaryType)  # the types by which rows can be grouped and ordered
TYPES: Mapping[ValueType, tuple[type[T.DataType], ...]] = {
    "int": WHOLE,
    "float": (T.FloatType, T.DoubleType),
    "string": (T.StringType,),
    "bool": (T.BooleanType,),
    "timestamp": TIMES,
}
"""The types of columns that have values of a type."""

NUMBERS = (*WHOLE, T.FloatType, T.DoubleType, T.DecimalType, T.NullType)
FITTING: Mapping[ValueType, tuple[type[T.DataType], ...]] = {
    **{name: (*kinds, T.NullType) for name, kinds in TYPES.items()},
    "int": NUMBERS,  # whole numbers only, checked when read
    "float": NUMBERS,
}
BEYOND = "the precision of Spark's times: divide it by 1000 and give time_unit='us'"
Task: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
TIMED = cel.TimeWindow | sase.SaseWindow | sase.Program | eql.MaximalSpan


class EventColumns(TypedDict, total=False):
    """Keyword arguments that name the columns of a data frame.

    order_by: the columns that order the events, the first one first. partition_by: the columns of the key; each key is
    a stream of its own. type_col: the type of an event, "type" by default.
    """

    order_by: Required[str | Sequence[str]]
    partition_by: str | Sequence[str] | None
    type_col: str | None


def columns_of(
    rows: T.StructType,
    query: SparkQuery,
    *,
    order_by: str | Sequence[str],
    type_col: str | None = None,
    partition_by: str | Sequence[str] | None = None,
    id_col: str | None = None,
    listed: Sequence[str] | None = None,
) -> Columns:
    """Check the columns that have the key, the order, the type and so on; return their names by purpose.

    listed: the columns that messages list, by default all. Raises InputError for a missing column, or one of a wrong
    type.
    """
    listed = rows.names if listed is None else listed
    order, keys = _names(order_by), _names(partition_by)
    if not order:
        raise InputError("order_by is empty; name at least one column that orders the events")
    type_ = TYPE if type_col is None else type_col
    purposes = {"order_by": order, "partition_by": keys, "type_col": [type_], "id_col": _names(id_col)}
    for purpose, names in purposes.items():
        for name in names:
            _require(rows, name, purpose, listed)
    for name in (*order, *keys):
        require_sortable(rows, name)
    _require_kind(rows, type_, (T.StringType,), "the event type must be a string")
    attributes, timed = _attributes(rows, query, listed)
    time = _time(rows, order) if timed or TIME in attributes else None
    if timed and time is None:
        raise InputError(
            f"a time window needs a column {TIME!r}, or a timestamp or whole number as the first column of order_by"
        )
    kept = tuple(name for name in attributes if name not in (type_, TYPE, TIME))
    return Columns(tuple(order), tuple(keys), type_, id_col, time, kept)


def _attributes(rows: T.StructType, query: SparkQuery, listed: Sequence[str]) -> tuple[list[str], bool]:
    """Return the columns for the attributes of the query, in the order of the rows, and whether it uses the time of
    events.

    Raises InputError for a column that is missing, or has a wrong type.
    """
    named, timed = mentioned(query.parsed)
    declared = {} if query.schema is None else query.schema.attributes
    if query.predicates:  # they may read any attribute
        named = named | set(rows.names)
    if placed := any(
        isinstance(E, expr.Primitive | expr.ExpressionNamed) and E.arguments for E in _nodes(query.parsed)
    ):
        if query.schema is None:
            raise InputError("arguments, as in order(I, 40), name attributes by position; give the schema of the data")
        named = set(declared)
    if missing := sorted(_certain(query) - {*rows.names, TIME, TYPE}):
        raise InputError(
            f"the query needs {missing[0]!r}; the columns are {', '.join(listed)}{_near(rows, missing[0])}"
        )
    found = [name for name in rows.names if name in named and (not declared or name in declared)]
    fields_ = query.language == "eql"
    for name in found:
        kind = rows[name].dataType
        if fields_ and name not in declared and isinstance(kind, T.ArrayType):
            kind = kind.elementType  # a field may have several values
        fitting = FITTING[declared[name]] if name in declared else ATTRIBUTES
        wanted = f"the schema has {declared[name]}" if name in declared else f"an attribute is {', '.join(ARROW)}"
        fits = isinstance(kind, fitting) and is_attribute(kind)
        if not fits and (fields_ or name in declared or name in _certain(query)):
            found_ = rows[name].dataType.simpleString()
            returned = f", or leave it out and give keep={[name]!r} for its values" if query.plugin.results else ""
            raise InputError(f"column {name!r} is {found_}; {wanted}{_digits(kind)}, so convert it{returned}")
    return [name for name in found if fields_ or is_attribute(rows[name].dataType)], timed or placed


def require_frame(df: object) -> None:
    """Raise InputError unless this is a Spark data frame."""
    if not hasattr(df, "isStreaming"):
        kind = type(df)
        whose = "" if kind.__module__ == "builtins" else f" of {kind.__module__.partition('.')[0]}"
        raise InputError(
            f"expected a data frame of Spark, not {kind.__name__}{whose}; for events in Python use cerify.match"
        )


def is_attribute(kind: T.DataType) -> bool:
    """Return whether a column of this type can be an attribute."""
    return isinstance(kind, T.NullType) or value_type(kind) is not None


def value_type(kind: T.DataType) -> ValueType | None:
    """Return the value type of an attribute with this column type; None if there is none."""
    if isinstance(kind, T.DecimalType):
        return type_of_decimals(kind.precision, kind.scale)
    return next((name for name, kinds in TYPES.items() if isinstance(kind, kinds)), None)


def _near(rows: T.StructType, name: str) -> str:
    """Return the end of a message about an attribute that has no column."""
    if made := _of_list(rows, name):
        return f"; for elements of a list give attributes={{{name!r}: {made}}}"
    if same := fields_named(rows, name):
        return f'; for the field of a struct give attributes={{"{name}": "{same[0]}"}}'
    if whole := [one for one in rows.names if name in re.split(r"\W", one)]:
        return f'; if you mean {whole[0]!r}, quote it in the query: "{whole[0]}"'
    return did_you_mean(name, [*rows.names, *fields(rows)])


def _of_list(rows: T.StructType, name: str) -> str:
    """Return Python code of a Column for an attribute such as "tags.any.new" or "tags.count"; "" if no list has this
    name.
    """
    lists = [one.name for one in rows if isinstance(one.dataType, T.ArrayType)]
    if (asked := asked_element(name, lists)) is not None:
        known, keys, text = asked
        part = "".join(f"[{key!r}]" for key in keys.split(".") if keys)
        return f"F.exists({known!r}, lambda x: x{part} == {text!r})"
    known = name.removesuffix(f".{COUNT}")
    return f"F.array_size({known!r})" if known != name and known in lists else ""


def near_column(rows: T.StructType, name: str) -> str:
    """Return the end of a message about a missing column: the column or field that the user may have meant."""
    found = fields(rows)
    if name in found:
        return "; it is a field of a struct, so select it as a column first"
    if same := fields_named(rows, name):
        return f"; did you mean {same[0]!r}?"
    return did_you_mean(name, [*rows.names, *found])


def _digits(kind: T.DataType) -> str:
    if not isinstance(kind, T.DecimalType):
        return ""
    return f", of at most {DIGITS['int']} digits, or {DIGITS['float']} with a fraction"


def fields_named(schema: T.StructType, name: str) -> list[str]:
    """Return the paths, such as payload.user, to all fields of structs that have this name."""
    return [path for path, (field, _) in fields(schema).items() if field.name == name]


def fields(schema: T.StructType, lists: bool = False) -> dict[str, tuple[T.StructField, str]]:
    """Return the fields of structs by path, such as payload.user, each with its expression in Spark SQL.

    lists: whether to include the fields of structs in arrays.
    """
    found = dict[str, tuple[T.StructField, str]]()
    pending = [(one.name, quoted(one.name), one.dataType) for one in schema]
    while pending:
        path, sql, kind = pending.pop(0)
        kind = kind.elementType if lists and isinstance(kind, T.ArrayType) else kind
        for one in kind if isinstance(kind, T.StructType) else ():
            inner = f"{path}.{one.name}", f"{sql}.{quoted(one.name)}"
            found.setdefault(inner[0], (one, inner[1]))
            pending.append((*inner, one.dataType))
    return found


def selected(df: DataFrame, columns: Columns) -> DataFrame:
    """Return the needed columns of the data frame, without the rows that have no key."""
    some = df.select(*map(column, columns.all_columns))
    for name in columns.keys:
        some = some.where(~keyless(df, name))
    return some


def keyless(df: DataFrame, name: str) -> Any:
    """Return a condition, as a Column, that is true of rows without a value (null or NaN) in this column of the key."""
    nothing = column(name).isNull()
    return (
        nothing | F.isnan(column(name)) if isinstance(df.schema[name].dataType, T.FloatType | T.DoubleType) else nothing
    )


def column(name: str) -> Any:
    """Return the Column of this name, whatever characters the name has."""
    return F.col(quoted(name))


def utc_micros(rows: T.StructType, name: str) -> Any:
    """Return a column of times as microseconds since 1970 in UTC; the time zone of the session has no effect."""
    if isinstance(rows[name].dataType, T.TimestampType):
        return F.unix_micros(column(name))
    # Without zones: a cast of a date or NTZ time to a timestamp would use the zone of the session.
    since = column(name).cast("timestamp_ntz") - F.lit("1970-01-01").cast("timestamp_ntz")
    return (since.cast("interval second").cast("decimal(20, 6)") * 1_000_000).cast("bigint")


def quoted(name: str) -> str:
    """Return the name of a column in the syntax of Spark SQL."""
    return "`" + name.replace("`", "``") + "`"


def _certain(query: SparkQuery) -> set[str]:
    """Return the attributes that the data must have; for a program of SASE+ none."""
    if query.plugin.positional or isinstance(query.parsed, sase.Program):
        return set()
    nodes = list(_nodes(query.parsed))
    certain = {node.name for node in nodes if isinstance(node, Attribute) and node.name}
    asked = {node.name for node in nodes if isinstance(node, eql.EventField) and not node.optional}
    certain |= asked - NAMED_BY_TYPE
    certain |= {name for node in nodes if isinstance(node, cel.PerKey) for name in node.attributes}
    return certain | {node.attribute for node in nodes if isinstance(node, cel.PartitionBy | cel.AttributeWindow)}


def mentioned(query: Any) -> tuple[set[str], bool]:
    """Return (names, timed): all names in a query that may be attributes, and whether it uses the time of events."""
    named, timed = set[str](), False
    for node in _nodes(query):
        timed = timed or isinstance(node, TIMED)
        if isinstance(node, Attribute):
            named.add(node.name)
        # Rather too many names: a column that is read in vain costs little, but a missing one would be read as absent
        # values.
        for field in ("attribute", "attributes", "name", "names"):
            value = getattr(node, field, ())
            named.update([value] if isinstance(value, str) else value if isinstance(value, tuple) else ())
    return named, timed


def seconds_after(query: Any) -> float | None:
    """Return the longest window of a SASE+ query in seconds; None if it has none, or for another language.

    Events up to that long after a match may decide whether it is a match.
    """
    return max((node.seconds for node in _nodes(query) if isinstance(node, sase.SaseWindow)), default=None)


def event_types(query: Any) -> set[str]:
    """Return all names in a query that are names of event types."""
    named = {node.category for node in _nodes(query) if isinstance(node, eql.EventFilter) and node.category is not None}
    return named | {name for node in _nodes(query) if isinstance(name := getattr(node, "type", None), str)}


def with_paths(schema: T.StructType) -> T.StructType:
    """Return the schema with fields of structs as columns, named by their paths."""
    inner = [T.StructField(path, of.dataType) for path, (of, _) in fields(schema).items() if path not in schema.names]
    return T.StructType([*schema, *inner])


def fields_used(rows: T.StructType, query: SparkQuery) -> dict[str, tuple[T.StructField, str]]:
    """Return the fields of structs that a query uses as attributes, in the form of `fields`.

    Fields of structs in an array are included only for EQL, which reads them as arrays.
    """
    named = mentioned(query.parsed)[0] | (set() if query.schema is None else set(query.schema.attributes))
    inner = fields(rows, query.language == "eql").items()
    return {path: of for path, of in inner if path in named and path not in rows.names}


def with_fields(df: DataFrame, query: SparkQuery) -> DataFrame:
    """Return the data frame with a column for each field of a struct that a query uses as an attribute."""
    added = {path: F.col(sql) for path, (_, sql) in fields_used(df.schema, query).items()}
    return df.withColumns(added) if added else df


def map_in_arrow(df: DataFrame, task: Task, answer: T.StructType | str) -> DataFrame:
    """Same as df.mapInArrow(task, answer), but columns may have names with dots.

    In PySpark 4.3, mapInArrow itself reads such names as fields of structs.
    """
    names = df.columns
    if not any("." in name for name in names):
        return df.mapInArrow(task, answer)
    return df.toDF(*(f"c{i}" for i in range(len(names)))).mapInArrow(
        partial(_run_with_names, task=task, names=names), answer
    )


def _run_with_names(batches: Iterator[pa.RecordBatch], task: Task, names: list[str]) -> Iterator[pa.RecordBatch]:
    return task(batch.rename_columns(names) for batch in batches)


def _nodes(tree: Any) -> Iterator[Any]:
    """Yield the nodes of a tree of any of the languages."""
    pending = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, tuple | list | frozenset):
            pending.extend(node)
        elif is_dataclass(node):
            yield node
            # All fields, because `children` of a language leaves out conditions and windows.
            pending.extend(getattr(node, field.name) for field in fields_of(node))


def _time(rows: T.StructType, order: Sequence[str]) -> str | None:
    if TIME in rows.names:
        return TIME
    return order[0] if isinstance(rows[order[0]].dataType, (*TIMES, *WHOLE)) else None


def _names(given: str | Iterable[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else list(given)


def _require(rows: T.StructType, name: str, purpose: str, listed: Sequence[str]) -> None:
    times = rows.names.count(name)
    if times != 1:
        reason = "there is no column" if not times else f"there are {times} columns"
        near = "" if times else near_column(rows, name)
        raise InputError(f"{purpose}: {reason} {name!r}; the columns are {', '.join(listed)}{near}")


def require_sortable(schema: T.StructType, name: str) -> None:
    """Raise InputError for a column by which Spark cannot group and order rows."""
    _require_kind(schema, name, ATOMIC, "rows are grouped and ordered by atomic values")
    kind = schema[name].dataType
    # A collation, by which texts that differ can be equal; Arrow and the evaluators compare code points.
    if isinstance(kind, T.StringType) and kind != T.StringType():
        raise InputError(
            f"column {name!r} is {kind.simpleString()}; texts are compared letter by letter, so convert it"
        )


def _require_kind(schema: T.StructType, name: str, kinds: tuple[type[T.DataType], ...], why: str) -> None:
    kind = schema[name].dataType
    if not isinstance(kind, kinds):
        raise InputError(f"column {name!r} is {kind.simpleString()}; {why}, so convert it")


# ---------------------------------------------------------------------------------------------------------------------
# Columns that a caller names by expressions or as fields of structs, as columns of the data frame.

ColumnName = str | Column
EVENT = "cerify_event"
SORT_ORDER = re.compile(r"(ASC|DESC) NULLS (FIRST|LAST)( AS .*)?'>$")  # the end of such a Column as text


class EventNames(TypedDict, total=False):
    """Keyword arguments of match and match_stream that name columns of events. `match` documents them."""

    type_col: ColumnName | None
    id_col: ColumnName | None
    keep: ColumnName | Sequence[ColumnName] | None
    attributes: Mapping[str, ColumnName]


class ColumnNames(EventNames, total=False):
    """Keyword arguments of match that name columns. `match` documents them."""

    order_by: Required[ColumnName | Sequence[ColumnName]]
    partition_by: ColumnName | Sequence[ColumnName] | None
    time_unit: TimeUnit | None


def with_named(df: DataFrame, names: Mapping[str, Any]) -> tuple[DataFrame, dict[str, Any]]:
    """Return (df, arguments): the data frame with a column for each argument of ColumnNames, and the arguments for
    columns_of.

    A Column has the name that Spark gives it (see Column.alias), and replaces a column of this name. Raises InputError
    in the same cases as `resolved`.
    """

    def name_of(one: Column) -> str:
        return df.select(one).columns[0]

    def value_of(one: ColumnName) -> Column:
        return one if isinstance(one, Column) else F.col(sql_path(df.schema, one))

    given, added = resolved(df.schema, names, name_of)
    columns = {name: value_of(one) for name, one in added.items()}
    if kept := kept_columns(df.schema, names, name_of):
        given["id_col"] = unused(EVENT, [*df.columns, *columns])
        columns[given["id_col"]] = F.struct(*(value_of(one).alias(name) for name, one in kept.items()))
    df = df.withColumns(columns) if columns else df
    unit = names.get("time_unit")
    return (df if unit is None else _with_times(df, given["order_by"], unit)), given


def _with_times(df: DataFrame, order: Sequence[str], unit: TimeUnit) -> DataFrame:
    """Return the data frame with numbers since 1970, in this unit, converted to timestamps in the column `time`.

    The numbers are in the column `time`, or else in the first column of the order. Raises IllFormed, InputError.
    """
    TimeReading(unit)  # raises
    name = TIME if TIME in df.columns else next(iter(order), TIME)
    if name not in df.columns:
        return df  # columns_of raises the error
    kind = df.schema[name].dataType
    if isinstance(kind, T.FloatType | T.DoubleType):
        return df.withColumn(TIME, _time_of_fraction(name, PER_SECOND[unit]))
    if not isinstance(kind, WHOLE):
        raise InputError(f"column {name!r} is {kind.simpleString()}; time_unit is for numbers since 1970")
    number = column(name).cast("bigint")
    match unit:
        case "s":
            time = F.timestamp_seconds(number)
        case "ms":
            time = F.timestamp_millis(number)
        case "us":
            time = F.timestamp_micros(number)
        case "ns":
            problem = F.concat(
                F.lit(f"column {name}: "), number.cast("string"), F.lit(f" is finer than microseconds, {BEYOND}")
            )
            micros = F.timestamp_micros(F.call_function("div", number, F.lit(1000)))
            time = F.when(number % 1000 != 0, F.raise_error(problem)).otherwise(micros)
    return df.withColumn(TIME, time)


def _time_of_fraction(name: str, per: int) -> Column:
    """Return a column of floats, in units of 1/`per` seconds, as timestamps with microseconds; files are read in the
    same way.
    """
    number = column(name).cast("double")
    ticks = number * (10**6 / per) if per <= 10**6 else number / (per / 10**6)
    problem = F.concat(F.lit(f"column {name}: "), number.cast("string"), F.lit(" is outside the years 1 to 9999"))
    time = F.timestamp_micros(F.rint(ticks).cast("bigint"))
    in_years = F.abs(number) / per <= LAST_SECOND  # NaN is not
    return F.when(number.isNull(), None).when(in_years, time).otherwise(F.raise_error(problem))


def resolved(
    rows: T.StructType, names: Mapping[str, Any], name_of: Callable[[Column], str]
) -> tuple[dict[str, Any], dict[str, ColumnName]]:
    """Return (arguments, added): the arguments for columns_of, and the columns to add to the data frame.

    added: by name, a Column, or the path to a field of a struct. name_of: a function that returns the name that Spark
    gives to a Column. Raises InputError for a missing field, for two columns of one name, and for a sort order instead
    of a Column.
    """
    added: dict[str, ColumnName] = {}

    def add(purpose: str, name: str, one: ColumnName) -> str:
        # As texts, because == of two Columns makes a Column and compares nothing.
        if str(added.setdefault(name, one)) != str(one):
            raise InputError(
                f"{purpose}: two columns would have the name {name!r}; give one of them another name by alias"
            )
        return name

    def require_name(purpose: str, one: ColumnName) -> str:
        require_kind(purpose, one, ColumnName, "a name of a column")
        if isinstance(one, Column):
            return add(purpose, name_of(_value(purpose, one)), one)
        if one in rows.names or "." not in one:
            return one
        found = field_at(rows, one, purpose)
        if purpose in ("order_by", "partition_by"):
            require_sortable(T.StructType([T.StructField(one, found.dataType)]), one)
        name = found.name
        if name in rows.names:
            raise InputError(f"{one}: there is a column {name!r} too; write F.col({one!r}).alias(…)")
        return add(purpose, name, one)

    given: dict[str, Any] = {
        purpose: [require_name(purpose, one) for one in list_columns(purpose, names.get(purpose))]
        for purpose in ("order_by", "partition_by")
    }
    for purpose in ("type_col", "id_col"):
        if (one := names.get(purpose)) is not None:
            given[purpose] = require_name(purpose, one)
    for name, one in names.get("attributes", {}).items():
        require_kind(f"attributes, {name}", one, ColumnName, "a name of a column")
        if isinstance(one, Column):
            _value("attributes", one)
        else:
            field_at(rows, one, "attributes")
        add("attributes", name, one)
    return {**given, "listed": rows.names}, added


def kept_columns(
    rows: T.StructType, names: Mapping[str, Any], name_of: Callable[[Column], str]
) -> dict[str, ColumnName]:
    """Return the columns that identify an event in the answer, by name: id_col, if given, and those of `keep`.

    The result is empty without `keep`. Raises InputError for a missing column, and for two columns of the same name;
    IllFormed if the answer has no events.
    """
    asked = list_columns("keep", names.get("keep"))
    if not asked:
        return {}
    if names.get("output") == "count":
        raise IllFormed("keep: answers with output='count' have no events; leave keep out, or choose another output")
    found: dict[str, ColumnName] = {}
    for one in asked if names.get("id_col") is None else (names["id_col"], *asked):
        require_kind("keep", one, ColumnName, "a name of a column")
        name = name_of(_value("keep", one)) if isinstance(one, Column) else field_at(rows, one, "keep").name
        if str(found.setdefault(name, one)) != str(one):
            raise InputError(f"keep: two columns would have the name {name!r}; give one of them another name by alias")
    return found


def with_kept_in_row(answer: DataFrame, event: str | None, keep: object) -> DataFrame:
    """Return the answer; in its column ROW, the struct `event` is replaced by its fields.

    Without `keep`, the answer is unchanged.
    """
    if not keep or event is None:
        return answer
    kind = answer.schema[ROW].dataType
    assert isinstance(kind, T.StructType)
    inner = kind[event].dataType
    assert isinstance(inner, T.StructType)
    row = F.col(ROW)
    parts = {name: row[name] for name in kind.names if name != event}
    parts = {name: row[event][name] for name in inner.names if name not in parts} | parts
    return answer.withColumn(ROW, F.when(row.isNotNull(), F.struct(*(of.alias(name) for name, of in parts.items()))))


def list_columns(purpose: str, given: ColumnName | Sequence[ColumnName] | None) -> Sequence[ColumnName]:
    """Return the argument as a list: it is one column or several. Raises IllFormed for anything else.

    purpose: the name of the argument.
    """
    if given is None:
        return ()
    require_kind(purpose, given, ColumnName | list | tuple, "a column, or a list of them")
    return [given] if isinstance(given, ColumnName) else given


def field_at(rows: T.StructType, path: str, purpose: str) -> T.StructField:
    """Return the column of this name, or the field of a struct at this path. Raises InputError."""
    if path in rows.names:
        return rows[path]
    if path not in (inner := fields(rows)):
        near = near_column(rows, path)
        raise InputError(f"{purpose}: there is no column {path!r}; the columns are {', '.join(rows.names)}{near}")
    return inner[path][0]


def sql_path(rows: T.StructType, path: str) -> str:
    """Return the column of this name, or the field of a struct at this path, in the syntax of Spark SQL."""
    return quoted(path) if path in rows.names else fields(rows)[path][1]


def _value(purpose: str, one: Column) -> Column:
    """Return the Column. Raises InputError for a sort order, which Spark would refuse only when rows are read."""
    if SORT_ORDER.search(str(one)):
        raise InputError(
            f"{purpose}: {one} is a sort order, but rows are always read in ascending order; give a "
            "Column of values, such as -F.col(…) for descending numbers"
        )
    return one


# ---------------------------------------------------------------------------------------------------------------------
# Whether a query fits a data frame, found on the driver: comparisons that are never true, and misspelt event types.


@dataclass(frozen=True)
class KnownTypes:
    """What is known of the event types in the data.

    types: all possible types, one or several, or None; a query with any other type is ill-formed. sample: the number of
    rows from which to read types; a query with any other type gives a warning. strict: whether warnings are errors.
    """

    types: str | Collection[str] | None = None
    sample: int = 0
    strict: bool = False


def warn_of_misfits(df: DataFrame, query: SparkQuery, columns: Columns, known: KnownTypes, stacklevel: int) -> None:
    """Issue QueryWarnings if a query does not fit the data frame. Raises what `tolerated` raises.

    stacklevel: which caller the warnings name, counted from the caller of this function.
    """
    for problem in tolerated(df, query, columns, known):
        warning = QueryWarning(problem.hinted, problem.span)
        warning.text = query.text
        warnings.warn(warning, stacklevel=stacklevel + 1)


def tolerated(df: DataFrame, query: SparkQuery, columns: Columns, known: KnownTypes) -> list[Problem]:
    """Return the problems of a query over a data frame that give only a warning.

    Raises IllFormed for a type that is not in known.types, and, with known.strict, for every problem.
    """
    with errors_in(query.text):
        found = list(problems(df.schema, query, columns, types_of(df, columns, known)))
        for problem in found:
            if known.strict or (problem.rule == "event_type" and known.types is not None):
                raise IllFormed(problem.hinted, problem.span)
    return [*found, *query.plugin.syntax.surprises(query.parsed, None)]


def types_of(df: DataFrame, columns: Columns, known: KnownTypes) -> Collection[str] | None:
    """Return the possible event types: those that the user gave, or those in a sample of the rows.

    Return None if the user gave neither types nor the size of a sample.
    """
    if known.types is None and known.sample:
        rows = df.select(column(columns.type)).limit(known.sample).distinct().collect()
        return sorted(row[0] for row in rows if row[0])
    return [known.types] if isinstance(known.types, str) else known.types


def problems(
    rows: T.StructType, query: SparkQuery, columns: Columns, types: Collection[str] | None = None
) -> Iterator[Problem]:
    """Yield the problems of a query over rows with this schema. types: the event types of the data, None if unknown."""
    attributes: dict[str, ValueType] = {}
    for one in rows:
        kind = one.dataType
        kind = kind.elementType if query.language == "eql" and isinstance(kind, T.ArrayType) else kind
        if one.name not in (TYPE, columns.type) and (found := value_type(kind)) is not None:
            attributes[one.name] = found
    if columns.time is not None and TIME not in attributes:
        attributes[TIME] = "timestamp" if value_type(rows[columns.time].dataType) == "timestamp" else "int"
    seen = event_types(query.parsed) or {"event"} if types is None else types
    return misfits(query.plugin, query.parsed, query.schema or ObservedSchema(dict.fromkeys(seen, attributes)))
