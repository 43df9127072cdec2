#!/usr/bin/env bash
# pyspark 4.3.0, Python 3. A column may have a dot in its name, and select, filter and toPandas take it in backticks; mapInArrow and
# mapInPandas refuse every data frame that has such a column, whatever the function reads. They look each column up by its name without
# backticks, which is the field of a struct. A program over columns that come from JSON or a SIEM works until one is named `user.id`.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install -q pyspark==4.3.0 pyarrow==26.0.1 pandas==3.1.1 protobuf
PYSPARK_PYTHON="$folder/venv/bin/python" "$folder/venv/bin/python" -W ignore - >"$folder/seen" 2>"$folder/errors" <<'PYTHON'
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
df = spark.sql("SELECT 1 AS n, 2 AS `user.id`")
print("select", df.select("`user.id`").collect()[0][0])
for name in ("mapInArrow", "mapInPandas"):
    try:
        getattr(df, name)(lambda batches: batches, df.schema).collect()
        print(name, "works")
    except Exception as error:
        print(name, error.getCondition())
renamed = df.toDF("n", "user")
print("renamed", renamed.mapInArrow(lambda batches: batches, renamed.schema).collect()[0][1])
PYTHON
cat "$folder/seen"
diff "$folder/seen" - <<'SEEN'
select 2
mapInArrow UNRESOLVED_COLUMN.WITH_SUGGESTION
mapInPandas UNRESOLVED_COLUMN.WITH_SUGGESTION
renamed 2
SEEN
