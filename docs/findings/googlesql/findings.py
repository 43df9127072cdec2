"""Prints what zetasql 0.1.5 answers to the clauses of README.md, without cerify; its first start takes a minute."""

from zetasql.api import CatalogBuilder, PreparedQuery, TableBuilder, create_table_content
from zetasql.types import (
    AnalyzerOptions,
    LanguageFeature,
    LanguageOptions,
    TypeKind,
    ZetaSQLBuiltinFunctionOptions,
)

language = LanguageOptions.maximum_features()
language.reserved_keywords = ["MATCH_RECOGNIZE"]
language.enabled_language_features = [*language.enabled_language_features, LanguageFeature.FEATURE_MATCH_RECOGNIZE]
table = TableBuilder("t").add_column("n", TypeKind.TYPE_INT64).add_column("x", TypeKind.TYPE_INT64).build()
functions = ZetaSQLBuiltinFunctionOptions(language_options=language)
catalog = CatalogBuilder("c").add_table(table).with_builtin_functions(functions).build()


def show(order, pattern, condition, *values):
    clause = (
        f"ORDER BY {order} MEASURES ARRAY_AGG(n) AS taken, LAST(x) AS last_x AFTER MATCH SKIP PAST LAST ROW "
        f"PATTERN ({pattern}) DEFINE A AS {condition}"
    )
    query = PreparedQuery.builder().set_sql(f"SELECT TO_JSON_STRING(m) FROM t MATCH_RECOGNIZE ({clause}) AS m")
    query = query.set_analyzer_options(AnalyzerOptions(language_options=language)).set_catalog(catalog)
    content = create_table_content([[n, x] for n, x in enumerate(values)])
    with query.set_table_content({"t": content}).prepare() as prepared:
        found = prepared.execute().content.table_data
        print(order, pattern, condition, values, [row.cell[0].string_value for row in found.row])


show("x", "A+", "TRUE", None, 1)
show("n", "(A??)*", "x > 0", 3)
show("n", "(A??)+", "x > 0", 3)
show("n", "A+", "TRUE", 0, None)
