"""Puts GoogleSQL under test: BigQuery's MATCH_RECOGNIZE in Google's own reference implementation, inside `zetasql`.

    python googlesql_adapter.py [--longest]

The package brings the implementation as WebAssembly. A clause is written from its tree in GoogleSQL; clauses that
GoogleSQL cannot express, or that the analyzer refuses, are skipped. In GoogleSQL, measures are aggregates over the rows
of a match, so an additional measure returns the rows with their labels. An empty match has no rows, so its place is
inferred from the order of the matches: if a pattern can match without rows, a match begins at each place where AFTER
MATCH SKIP lets one begin. With `--longest` every clause gets `OPTIONS (use_longest_match = TRUE)`.
"""

import json
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

from cerify.adapter import AdapterProblem, Json, RunMessage, Skip, serve, version_of

PLACE = "cerify_place"
LINK = "https://cloud.google.com/bigquery/docs/reference/standard-sql/query-syntax#match_recognize_clause"
KINDS = {"BIGINT": "INT64", "DOUBLE PRECISION": "DOUBLE", "VARCHAR(200)": "STRING", "BOOLEAN": "BOOL",
         "TIMESTAMP(6)": "STRING"}  # fmt: skip
CASTS = {"BIGINT": "INT64", "DOUBLE": "FLOAT64", "VARCHAR": "STRING", "BOOLEAN": "BOOL", "TIMESTAMP": "TIMESTAMP"}
LONGEST = "--longest" in sys.argv[1:]


# --- the clause in GoogleSQL ------------------------------------------------------------------------------------------


def pattern_of(tree: Json) -> str:
    """Return a pattern in GoogleSQL."""
    match tree["node"]:
        case "Variable":
            return name_of(tree["name"])
        case "Empty":
            return "()"
        case "Concatenation":
            return f"({pattern_of(tree['left'])} {pattern_of(tree['right'])})"
        case "Alternation":
            return f"({pattern_of(tree['left'])} | {pattern_of(tree['right'])})"
        case "Anchor":
            return "^" if tree["place"] == "start" else "$"
        case "Quantified":
            low, high = tree["low"], tree["high"]
            bounds = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get((low, high))
            if bounds is None:
                bounds = f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"
            reluctant = not tree["greedy"] and low != high  # a fixed number of rounds takes no `?`
            return f"({pattern_of(tree['pattern'])}){bounds}{'?' * reluctant}"
        case other:
            raise Skip(f"{other} is not translated in a pattern", LINK)


def accepts_no_rows(tree: Json) -> bool:
    """Return whether a pattern can match an empty sequence of rows. Raises Skip if that depends on the position, as
    with anchors.
    """
    match tree["node"]:
        case "Variable":
            return False
        case "Concatenation":
            return accepts_no_rows(tree["left"]) and accepts_no_rows(tree["right"])
        case "Alternation":
            return accepts_no_rows(tree["left"]) or accepts_no_rows(tree["right"])
        case "Quantified":
            return tree["low"] == 0 or accepts_no_rows(tree["pattern"])
        case "Anchor":
            raise Skip("if a pattern has anchors, the answer does not show where its empty matches are", LINK)
        case _:
            return True


def expression_of(tree: Json, variable: str | None) -> str:
    """Return an expression as text. variable: the variable in whose DEFINE condition it stands; None in a measure."""
    def inside(part: str) -> str:
        return expression_of(tree[part], variable)

    negated = "NOT " * bool(tree.get("negated"))
    match tree["node"]:
        case "Constant":
            return constant_of(tree["value"])
        case "Column":
            return column_of(tree, variable)
        case "Comparison" | "Sum":
            return f"({inside('left')} {tree['operator']} {inside('right')})"
        case "Product" if tree["operator"] == "*":
            return f"({inside('left')} * {inside('right')})"
        case "Product" if tree["operator"] == "%":
            return f"MOD({inside('left')}, {inside('right')})"
        case "And" | "Or" as node:
            return f"({inside('left')} {node.upper()} {inside('right')})"
        case "Not":
            return f"(NOT {inside('operand')})"
        case "Negative":
            return f"(- {inside('operand')})"
        case "Absolute":
            return f"ABS({inside('operand')})"
        case "IsNull":
            return f"({inside('operand')} IS {negated}NULL)"
        case "Between":
            return f"({inside('operand')} {negated}BETWEEN {inside('low')} AND {inside('high')})"
        case "In":
            items = ", ".join(expression_of(item, variable) for item in tree["items"])
            return f"({inside('operand')} {negated}IN ({items}))"
        case "Like" if not tree["escape"] and "\\" not in str(tree["pattern"].get("value")):
            return f"({inside('operand')} {negated}LIKE {inside('pattern')})"
        case "Case":
            otherwise = "NULL" if tree["otherwise"] is None else inside("otherwise")
            return f"(CASE WHEN {inside('condition')} THEN {inside('result')} ELSE {otherwise} END)"
        case "Cast":
            return f"CAST({inside('operand')} AS {CASTS[tree['type']]})"
        case "Coalesce":
            return f"COALESCE({', '.join(expression_of(one, variable) for one in tree['arguments'])})"
        case "Physical" if variable is not None and not sees_rows(tree["argument"]):
            return f"{tree['function']}({inside('argument')}, {tree['offset']})"
        case "MatchNumber" if variable is None:
            return "MATCH_NUMBER()"
        case "Classifier" if variable is None and tree["variable"] is None:
            return "LAST(CLASSIFIER())"
        case "Count" if variable is None:
            of = tree["variable"]
            return "COUNT(*)" if of is None else f"COUNT({name_of(of)}.{PLACE})"
        case "Aggregate" | "Logical" if variable is None and not sees_rows(tree["argument"]):
            if tree["node"] == "Logical" and tree["offset"]:
                raise Skip("FIRST and LAST have no offset", LINK)
            return f"{tree['function']}({argument_of(tree['argument'])})"
        case other:
            raise Skip(f"{other} is not translated in {'a measure' if variable is None else 'DEFINE'}", LINK)


def sees_rows(tree: Any) -> bool:
    """Return whether an expression reads other rows than the current one."""
    if isinstance(tree, list):
        return any(map(sees_rows, tree))
    if not isinstance(tree, dict):
        return False
    nodes = ("Physical", "Logical", "Aggregate", "Count", "Classifier", "MatchNumber")
    return tree.get("node") in nodes or any(map(sees_rows, tree.values()))


def argument_of(tree: Json) -> str:
    """Return the argument of an aggregate, evaluated in each row."""
    if tree["node"] == "Column":
        of = tree["variable"]
        return ("" if of is None else f"{name_of(of)}.") + name_of(tree["name"])
    if tree["node"] in ("Sum", "Product") and tree["operator"] in ("+", "-", "*"):
        return f"({argument_of(tree['left'])} {tree['operator']} {argument_of(tree['right'])})"
    if tree["node"] == "Constant":
        return constant_of(tree["value"])
    raise Skip("an aggregate may contain only columns, constants, +, - and *", LINK)


def column_of(tree: Json, variable: str | None) -> str:
    """Return the SQL text of a column.

    variable: the variable whose condition in DEFINE has the column. There the column is read in the current row. In a
    measure (None) it is read in the last row of its own variable.
    """
    if variable is None:
        return f"LAST({argument_of(tree)})"
    if tree["variable"] not in (None, variable):
        raise Skip("a condition in DEFINE can only read the current row", LINK)
    return name_of(tree["name"])


def name_of(name: str) -> str:
    """Return a name as an identifier."""
    if "`" in name or "\\" in name:
        raise Skip(f"{name!r} cannot be an identifier")
    return f"`{name}`"


def constant_of(value: Any) -> str:
    """Return a constant."""
    if isinstance(value, dict):
        return f"TIMESTAMP {json.dumps(value['value'])}"
    return "NULL" if value is None else json.dumps(value)


def statement_of(run: RunMessage) -> tuple[str, str, list[str]]:
    """Return the SQL statement of a query, a second statement, and the names of the measures.

    The second statement returns the order of the rows; it is "" if the pattern cannot match without rows.
    """
    tree = run.tree
    if tree is None or "sql" not in run.message:
        raise Skip("the query does not parse")
    if tree["window"] is not None or tree["subsets"]:
        raise Skip("GoogleSQL has neither WINDOW nor SUBSET", LINK)
    if tree["rows"] != "one" and not (tree["rows"] == "all" and not tree["measures"]):
        raise Skip("only ONE ROW PER MATCH is translated", LINK)
    if tree["skip"]["to"] not in ("past last row", "next row"):
        raise Skip("SKIP TO a variable is not in GoogleSQL", LINK)
    variables, conditions = run.message["sql"]["variables"], {one["variable"]: one["condition"] for one in tree["define"]}
    if unused := sorted(set(conditions) - set(variables)):
        raise Skip(f"{unused[0]} is in DEFINE but not in PATTERN", LINK)
    columns = [(one["name"], one["type"]) for one in run.message["sql"]["columns"]]
    if len({name.lower() for name, _ in columns}) < len(columns) or len({one.lower() for one in variables}) < len(variables):
        raise Skip("two names differ only in case")
    cells = [f"CAST(`{name}` AS TIMESTAMP) AS `{name}`" if kind == "TIMESTAMP(6)" else f"`{name}`" for name, kind in columns]
    names = [one["name"] for one in tree["measures"]]
    measures = [
        "MATCH_NUMBER() AS cerify_number",
        f"ARRAY_AGG(STRUCT(MATCH_ROW_NUMBER() AS r, {PLACE} AS p, CLASSIFIER() AS c)) AS cerify_rows",
        *(f"{expression_of(one['expression'], None)} AS cerify_m{n}" for n, one in enumerate(tree["measures"])),
    ]
    orders = [
        expression_of(one["column"], "")
        + " DESC" * bool(one["descending"]) + (f" NULLS {one['nulls']}" if one["nulls"] else "")
        for one in tree["order"]
    ]  # fmt: skip
    if any(one["node"] != "Column" for one in tree["partition"]):
        raise Skip("PARTITION BY may only list columns here: their values identify the partition of a match", LINK)
    keys = [name_of(one["name"]) for one in tree["partition"]]
    defined = [
        f"{name_of(name)} AS {expression_of(conditions[name], name) if name in conditions else 'TRUE'}" for name in variables
    ]
    if not variables:
        raise Skip("GoogleSQL needs DEFINE, and this pattern has no variables", LINK)
    clause = [
        *([f"PARTITION BY {', '.join(keys)}"] if keys else []), f"ORDER BY {', '.join([*orders, PLACE])}",
        f"MEASURES {', '.join(measures)}", f"AFTER MATCH SKIP {'TO ' * (tree['skip']['to'] == 'next row')}{tree['skip']['to'].upper()}",
        f"PATTERN ({pattern_of(tree['pattern'])})", f"DEFINE {', '.join(defined)}",
        *(["OPTIONS (use_longest_match = TRUE)"] if LONGEST or tree.get("longest") else []),
    ]  # fmt: skip
    table = f"(SELECT {', '.join(cells)} FROM cerify_rows)"
    has_empty = accepts_no_rows(tree["pattern"])
    order = f"SELECT TO_JSON_STRING(STRUCT(ARRAY_AGG({PLACE} ORDER BY {', '.join([*orders, PLACE])}) AS places)) FROM {table}"
    order += f" GROUP BY {', '.join(keys)}" if keys else ""
    return f"SELECT TO_JSON_STRING(TO_JSON(m)) FROM {table} MATCH_RECOGNIZE ({' '.join(clause)}) AS m", order if has_empty else "", names


# --- the engine -------------------------------------------------------------------------------------------------------


@cache
def service() -> Any:
    """Return the engine; the machine code made at its first start is kept in the user's cache folder."""
    from zetasql.core import wasm_client

    configured = wasm_client.Config

    def with_cache() -> Any:
        config = configured()
        config.cache = True
        return config

    wasm_client.Config = with_cache
    from zetasql.core import ZetaSqlLocalService

    return ZetaSqlLocalService.get_instance()  # the one that the package itself uses for catalogs


def rows_of(statement: str, run: RunMessage) -> list[Json]:
    """Return the rows of a statement over the table of a run, as objects. Raises Skip if the engine refuses it."""
    from wasmtime import Trap, WasmtimeError
    from zetasql.api import CatalogBuilder, PreparedQuery, TableBuilder, create_table_content
    from zetasql.core.exceptions import ServerError
    from zetasql.types import (
        AnalyzerOptions,
        LanguageFeature,
        LanguageOptions,
        TypeKind,
        ZetaSQLBuiltinFunctionOptions,
    )

    language = LanguageOptions.maximum_features()
    language.reserved_keywords = ["MATCH_RECOGNIZE"]
    language.enabled_language_features = [
        *language.enabled_language_features, LanguageFeature.FEATURE_MATCH_RECOGNIZE
    ]  # fmt: skip
    if not run.message["sql"]["columns"]:
        raise Skip("zetasql takes no table without columns", LINK)
    table, kinds = TableBuilder("cerify_rows"), []
    for column in run.message["sql"]["columns"]:
        kinds.append(KINDS[column["type"]])
        table.add_column(column["name"], getattr(TypeKind, f"TYPE_{kinds[-1]}"))
    functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
    catalog = CatalogBuilder("cerify").add_table(table.build()).with_builtin_functions(functions).build()
    cells = [
        [float(v) if kind == "DOUBLE" and v is not None else v for v, kind in zip(row, kinds, strict=True)]
        for row in run.message["sql"]["rows"]
    ]
    query = PreparedQuery.builder().set_service(service()).set_sql(statement).set_analyzer_options(AnalyzerOptions(language_options=language))
    query = query.set_catalog(catalog).set_table_content({"cerify_rows": create_table_content(cells)})
    try:
        with query.prepare() as prepared:
            content = prepared.execute().content.table_data  # None where there are no rows
            rows = content.row if content is not None and content.row else []
    except ServerError as error:
        if "INVALID_ARGUMENT" in str(error) or "UNIMPLEMENTED" in str(error):
            raise Skip(f"refused: {str(error).splitlines()[0][:200]}", LINK) from None
        raise AdapterProblem(str(error)[:500]) from None
    except (Trap, WasmtimeError) as error:
        print(error, file=sys.stderr)
        sys.stderr.flush()
        sys.exit(70)  # the engine is unusable now: the harness restarts it
    return [json.loads(row.cell[0].string_value) for row in rows]


def matches(run: RunMessage) -> Iterator[Json]:
    """Yield the matches in the form of the protocol."""
    statement, order, names = statement_of(run)
    run.translate(statement)
    answered = rows_of(statement, run)
    keys = [one["name"].lower() for one in (run.tree or {})["partition"]]
    partitions: dict[str, list[Json]] = {}
    for one in answered:
        lowered = {name.lower(): value for name, value in one.items()}
        partitions.setdefault(json.dumps([lowered[key] for key in keys]), []).append(one)
    if order:
        yield from with_empty(partitions, rows_of(order, run), (run.tree or {})["skip"]["to"], names)
        return
    for found in partitions.values():
        for one in found:
            yield match_of(one, None, names)


def with_empty(partitions: dict[str, list[Json]], orders: list[Json], skip: str, names: list[str]) -> Iterator[Json]:
    """Yield the matches of a pattern that can match without rows.

    Each match begins where AFTER MATCH SKIP leads from the match before it.
    """
    starts = {min(row["p"] for row in one["cerify_rows"] or ()): found for found in partitions.values() for one in found if one["cerify_rows"]}
    rest = [found for found in partitions.values() if not any(one["cerify_rows"] for one in found)]
    for places in (one["places"] for one in orders):
        found = next((starts[p] for p in places if p in starts), None)
        if found is None:  # a partition with only empty matches is recognised by their number
            found = next((one for one in rest if len(one) == len(places)), [])
            rest = [one for one in rest if one is not found]
        at = 0
        for one in sorted(found, key=lambda one: int(one["cerify_number"])):
            if at >= len(places):
                raise AdapterProblem("GoogleSQL reports more matches than there are rows at which one may begin")
            match = match_of(one, places[at], names)
            yield match
            past = places.index(match["at"]) + 1 if skip == "past last row" and match["events"] else at + 1
            at = past


def match_of(one: Json, empty_at: int | None, names: list[str]) -> Json:
    """Return a match in the form of the protocol, from the JSON object of its row."""
    taken = sorted(one["cerify_rows"] or [], key=lambda row: int(row["r"]))
    events = [int(row["p"]) for row in taken]
    bindings: dict[str, list[int]] = {}
    for row in taken:
        bindings.setdefault(row["c"], []).append(int(row["p"]))
    if not events and empty_at is None:
        raise AdapterProblem("GoogleSQL reports an empty match of a pattern that does not accept one")
    match: Json = {
        "at": events[-1] if events else empty_at,
        "events": events,
        "bindings": {name: sorted(places) for name, places in bindings.items()},
        "match_number": int(one["cerify_number"]),
    }
    if names:
        match["result"] = {name: one[f"cerify_m{n}"] for n, name in enumerate(names)}
    return match


if __name__ == "__main__":
    service()
    serve("googlesql-longest" if LONGEST else "googlesql", version_of("zetasql"), {"row-pattern": matches})
