"""The main uses of cerify.spark with several releases of PySpark, as a table.

    python -m proofs_tests.campaigns.spark_versions 3.5.9 4.0.5 4.1.4 4.2.1 4.3.0 --folder FOLDER

Each release is installed by pip into a folder of its own, which precedes the environment on Python's path.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import pytest

from cerify.semantics.errors import Unsupported

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WORKS = "works"
ROWS = [
    ("p", 1, "A", 5.0, "e1"),
    ("p", 2, "B", 7.0, "e2"),
    ("p", 3, "A", None, "e3"),
    ("q", 1, "A", 1.0, "e4"),
    ("q", 2, "B", 0.5, "e5"),
    (None, 1, "A", 1.0, "e6"),
]
COLUMNS = "k string, n long, type string, x double, id string"
CLAUSE = "MATCH_RECOGNIZE (PARTITION BY k ORDER BY n MEASURES LAST(B.n) AS n PATTERN (A B) DEFINE B AS x > PREV(x))"
Use = Callable[["SparkSession", "DataFrame"], Any]


def keys(spark: SparkSession, df: DataFrame) -> Any:
    """A stream for each key, with ids."""
    from cerify.spark import match

    found = match(df, "A ; B FILTER B[x > 1]", partition_by="k", order_by="n", id_col="id").collect()
    assert [(row["k"], row["events"]) for row in found] == [("p", ["e1", "e2"])]


def columns(spark: SparkSession, df: DataFrame) -> Any:
    """Columns as arguments, and an attribute of the caller's own."""
    from pyspark.sql import functions as F

    from cerify.spark import match

    given = {"partition_by": F.upper("k").alias("u"), "order_by": F.col("n"), "attributes": {"low": F.col("x") < 3}}
    found = match(df, "A FILTER A[low = true]", **given).collect()
    assert [(row["u"], row["events"]) for row in found] == [("Q", [0])]


def counts(spark: SparkSession, df: DataFrame) -> Any:
    """Numbers of matches, over keys that are clustered already."""
    from cerify.spark import match

    found = match(df.repartition("k"), "A+", partition_by="k", order_by="n", output="count", clustered=True).collect()
    assert sorted((row["k"], int(row["count"])) for row in found) == [("p", 3), ("q", 1)]


def sase(spark: SparkSession, df: DataFrame) -> Any:
    """SASE+, whose matches have bindings."""
    from cerify.spark import match

    query = "PATTERN SEQ(A a, B b) WHERE skip_till_any_match(a, b) { a.x < b.x } WITHIN 5 seconds RETURN a.x"
    (found,) = match(df, query, language="sase", partition_by="k", order_by="n").collect()
    assert found["bindings"] == {"a": [0], "b": [1]}


def aside(spark: SparkSession, df: DataFrame) -> Any:
    """Rows set aside, with their number observed."""
    from pyspark.sql import Observation

    from cerify.spark import malformed, match, matches

    seen = Observation()
    answer = match(df, "A ; B", partition_by="k", order_by="n", on_error="aside", observation=seen).cache()
    assert [row["reason"] for row in malformed(answer).collect()] == ["no key"]
    assert matches(answer).count() == 2 == seen.get["match"]


def chunks(spark: SparkSession, df: DataFrame) -> Any:
    """One stream, in chunks."""
    from cerify.spark import match

    stream = spark.range(300).selectExpr("id AS n", "if(id % 3 = 0, 'A', 'B') AS type")
    assert match(stream, "A ; B WITHIN 2 EVENTS", order_by="n").count() == 100
    assert match(stream, "A ; B", order_by="n", output="count").first()["digits"] == "10100"


def errors(spark: SparkSession, df: DataFrame) -> Any:
    """The error of a worker, as that of cerify."""
    from cerify.semantics.errors import InputError
    from cerify.spark import match, worker_errors

    with pytest.raises(InputError, match="same place in the order"), worker_errors():
        match(df.union(df), "A", partition_by="k", order_by="n").collect()


def description(spark: SparkSession, df: DataFrame) -> Any:
    """How a query will run."""
    from cerify.spark import describe

    assert "shuffled by key" in describe(df, "A ; B", partition_by="k", order_by="n")


def recognize(spark: SparkSession, df: DataFrame) -> Any:
    """MATCH_RECOGNIZE."""
    from cerify.spark import match_recognize

    assert [tuple(row) for row in match_recognize(df, CLAUSE).collect()] == [("p", 2)]


def sql(spark: SparkSession, df: DataFrame) -> Any:
    """The table functions of SQL."""
    from cerify.spark import register

    register(spark)
    df.where("k IS NOT NULL").createOrReplaceTempView("rows")
    asked = (
        "SELECT k, events FROM cel_match(TABLE(rows), 'A : B', partition_by => 'k', order_by => 'n', id_col => 'id')"
    )
    assert sorted(map(tuple, spark.sql(asked).collect())) == [("p", ["e1", "e2"]), ("q", ["e4", "e5"])]
    asked = f"SELECT k, n FROM match_recognize(TABLE(rows), '{CLAUSE}')"
    assert [tuple(row) for row in spark.sql(asked).collect()] == [("p", 2)]


def stream(spark: SparkSession, df: DataFrame) -> Any:
    """A stream in two runs, and what its checkpoint holds."""
    from cerify.spark import match_stream, matches
    from cerify.spark.streaming import match_rest, supervised

    with tempfile.TemporaryDirectory() as name:
        given = {"event_time": "at", "partition_by": "k", "id_col": "id"}
        Path(f"{name}/in").mkdir()
        rows = spark.readStream.schema("k string, at timestamp, type string, id string").json(f"{name}/in")
        for i, some in enumerate((("A", "00"), ("B", "01"), ("B", "59"))):
            line = {"k": "p", "at": f"2024-01-01T10:00:{some[1]}Z", "type": some[0], "id": f"e{i}"}
            Path(f"{name}/in/{i}.json").write_text(json.dumps(line))
            writer = match_stream(rows, "A ; B", watermark="10 seconds", **given).writeStream
            writer = writer.option("checkpointLocation", f"{name}/checkpoint").trigger(availableNow=True)
            supervised(partial(writer.start, f"{name}/out"), pause=0)
        found = matches(spark.read.parquet(f"{name}/out")).collect()
        assert [row["events"] for row in found] == [["e0", "e1"]]
        left = matches(match_rest(rows, "A ; B", checkpoint=f"{name}/checkpoint", **given)).collect()
        assert [row["events"] for row in left] == [["e0", "e2"]]


USES: dict[str, Use] = {
    "match: keys": keys,
    "match: Columns": columns,
    "match: counts": counts,
    "match: SASE+": sase,
    'match: on_error="aside"': aside,
    "match: chunks": chunks,
    "worker_errors": errors,
    "describe": description,
    "match_recognize": recognize,
    "register: table functions of SQL": sql,
    "match_stream": stream,
}


def tried() -> dict[str, str]:
    """Each use with WORKS, or with the error that there is, for the PySpark that is imported."""
    import pyspark

    from cerify.spark.session import session

    spark = session("local[2]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"})
    spark.sparkContext.setLogLevel("OFF")
    found = {"PySpark": pyspark.__version__}
    for name, use in USES.items():
        try:
            use(spark, spark.createDataFrame(ROWS, COLUMNS))
            found[name] = WORKS
        except Unsupported as error:
            found[name] = error.message
        except Exception as error:
            found[name] = f"FAILS: {type(error).__name__}: {str(error)[:300]}"
    spark.stop()
    return found


def installed_release(version: str, folder: Path) -> dict[str, str]:
    """The environment of a process with this release of PySpark, which is installed into the folder if it is not."""
    place = folder / version
    if not (place / "pyspark").exists():
        command = [sys.executable, "-m", "pip", "install", "-q", "--target", str(place), f"pyspark=={version}"]
        subprocess.run(command, check=True)
    path = os.pathsep.join([str(place), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "PYSPARK_PYTHON": sys.executable}


def with_release(version: str, folder: Path) -> dict[str, str]:
    """As `tried`, with this release of PySpark."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "proofs_tests.campaigns.spark_versions", "--here"],
        env=installed_release(version, folder),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    assert found["PySpark"] == version, f"PySpark {found['PySpark']} was imported, not {version}"
    return found


@click.command()
@click.argument("versions", nargs=-1)
@click.option("--folder", type=click.Path(path_type=Path), help="Where releases of PySpark are installed, and stay.")
@click.option("--here", is_flag=True, help="Try the PySpark of this environment, and print JSON.")
def main(versions: tuple[str, ...], folder: Path | None, here: bool) -> None:
    """A table of uses by release; status 1 if a use fails otherwise than by a clear refusal."""
    if here:
        warnings.simplefilter("ignore")
        click.echo(json.dumps(tried()))
        return
    with tempfile.TemporaryDirectory() as temporary:
        found = [with_release(version, folder or Path(temporary)) for version in versions]
    reasons: dict[str, int] = {}
    click.echo(f"| use | {' | '.join(one['PySpark'] for one in found)} |\n|---{'|---' * len(found)}|")
    for name in USES:
        cells = []
        for one in found:
            cells.append(WORKS if one[name] == WORKS else f"no ({reasons.setdefault(one[name], len(reasons) + 1)})")
        click.echo(f"| {name} | {' | '.join(cells)} |")
    for reason, number in reasons.items():
        click.echo(f"({number}) {reason}")
    sys.exit(any(reason.startswith("FAILS") for reason in reasons))


if __name__ == "__main__":
    main()
