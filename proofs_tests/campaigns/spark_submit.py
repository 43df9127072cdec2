"""spark-submit with executors that have no cerify, which comes along: `python -m proofs_tests.campaigns.spark_submit`.

Two ways: the package as --py-files, with what it needs installed on the workers; and a packed environment as
--archives, which has all of it. The master is local-cluster: executors are processes of their own on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click

import cerify

ROOT = Path(__file__).parents[2]
MASTER = "local-cluster[2,1,1024]"
QUERY = "A ; B WITHIN 3 EVENTS"
PANDAS = "pandas>=2.2,<3"  # without which PySpark has no functions over Arrow
KEYS, ROWS = 20, 4_000
JOB = f"""
import json
from pyspark.sql import SparkSession
from cerify.spark import match

def place(batches):
    import os, sys
    import pyarrow as pa
    import cerify
    for _ in batches:
        yield pa.record_batch({{"python": [sys.executable], "cerify": [cerify.__file__], "executor": [os.getppid()]}})

spark = SparkSession.builder.config("spark.sql.session.timeZone", "UTC").getOrCreate()
rows = spark.range(0, {ROWS}, 1, 8).selectExpr("id % {KEYS} AS k", "id AS n", "if(id % 7 < 3, 'A', 'B') AS type")
found = match(rows, {QUERY!r}, partition_by="k", order_by="n", output="count").collect()
places = rows.mapInArrow(place, "python string, cerify string, executor long").distinct().collect()
numbers = {{row["k"]: int(row["count"]) for row in found}}
print(json.dumps({{"found": numbers, "places": [row.asDict() for row in places]}}))
spark.stop()
"""


def right() -> dict[str, int]:
    """The numbers of matches by key, found here."""
    return {
        str(k): cerify.count(QUERY, [{"type": "A" if i % 7 < 3 else "B"} for i in range(k, ROWS, KEYS)])
        for k in range(KEYS)
    }


def wheel(folder: Path) -> Path:
    """The package as a wheel."""
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = folder.glob("cerify-*.whl")
    return found


def as_zip(folder: Path) -> list[str]:
    """The arguments that send the package as a zip file, which a wheel is."""
    return ["--py-files", str(wheel(folder).rename(folder / "cerify.zip"))]


def as_archive(folder: Path) -> list[str]:
    """The arguments that send an environment with the package and all that it needs but PySpark, for the driver too."""
    place = folder / "environment"
    venv.create(place, with_pip=True)
    python = [str(place / "bin" / "python"), "-I", "-m"]  # a checkout in this folder is no installed package
    subprocess.run([*python, "pip", "install", "-q", f"{wheel(folder)}[fast]", PANDAS, "venv-pack"], check=True)
    packed = str(folder / "environment.tar.gz")
    subprocess.run([*python, "venv_pack", "-q", "-p", str(place), "-o", packed], check=True)
    return ["--archives", f"{packed}#environment", "--conf", "spark.pyspark.python=./environment/bin/python"]


WAYS = {"py-files": as_zip, "archives": as_archive}


def submitted(folder: Path, arguments: list[str]) -> dict[str, Any]:
    """What the job prints. The driver is this Python, whose environment has PySpark."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    job = folder / "job.py"
    job.write_text(JOB, encoding="utf-8")
    settings = ["--conf", "spark.ui.enabled=false", "--conf", "spark.sql.shuffle.partitions=4"]
    # The workers have this Python too, but with --archives.
    python = dict.fromkeys(("PYSPARK_DRIVER_PYTHON", "PYSPARK_PYTHON"), sys.executable)
    done = subprocess.run(
        [str(home / "bin" / "spark-submit"), "--master", MASTER, *settings, *arguments, str(job)],
        env={**os.environ, "SPARK_HOME": str(home), **python},
        cwd=folder,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if "Error" in line or "Exception" in line]
        raise click.ClickException("\n".join(["spark-submit failed:", *said[:20]]))
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def difference(way: str, found: dict[str, Any]) -> str | None:
    """What is not as it should be."""
    if found["found"] != right():
        return f"{found['found']}, not {right()}"
    sign = ("cerify", "cerify.zip/") if way == "py-files" else ("python", "/environment/bin/python")
    return next((f"a worker has {place}" for place in found["places"] if sign[1] not in place[sign[0]]), None)


@click.command()
@click.argument("ways", nargs=-1, type=click.Choice([*WAYS]))
def main(ways: tuple[str, ...]) -> None:
    """A line for each way; status 1 if a result differs, or a worker has cerify from elsewhere."""
    failed = False
    for way in ways or WAYS:
        with tempfile.TemporaryDirectory() as name:
            found = submitted(Path(name), WAYS[way](Path(name)))
        wrong = difference(way, found)
        executors = len({place["executor"] for place in found["places"]})
        keys = len(found["found"])
        click.echo(f"{way}: {wrong or f'the numbers of {keys} keys are right, {executors} daemons of workers'}")
        failed |= wrong is not None
    sys.exit(failed)


if __name__ == "__main__":
    main()
