"""The programs of docs/guide/spark-connectors.md as printed, with Kafka, Delta and Iceberg.

    python -m proofs_tests.campaigns.spark_connectors [kafka] [delta] [iceberg] --folder FOLDER

Maven fetches the connectors and a broker into FOLDER, pip the release of PySpark. Each program runs twice: before the
second time Spark's note that the last batch is done is removed, as if the driver had been lost just before it wrote it.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click

import cerify
from proofs_tests.campaigns.spark_versions import installed_release

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "spark-connectors.md"
PYSPARK = "4.1.4"
ATTEMPTS = 5
ARTIFACTS = {
    "broker": "org.apache.kafka:kafka_2.13:4.1.0",
    "kafka": "org.apache.spark:spark-sql-kafka-0-10_2.13:4.1.1",
    "delta": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "iceberg": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0",
}
NOT_FETCHED = "".join(
    f"<exclusion><groupId>{group}</groupId><artifactId>*</artifactId></exclusion>"
    for group in ("org.apache.hadoop", "org.scala-lang.modules", "com.google.code.findbugs", "org.slf4j")
)
"""What Spark brings along."""
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>any</groupId><artifactId>any</artifactId><version>1</version><dependencies><dependency>
<groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version><exclusions>{}</exclusions>
</dependency></dependencies></project>"""
CENTRAL = """<settings><mirrors><mirror><id>only</id><mirrorOf>*</mirrorOf>
<url>https://repo.maven.apache.org/maven2</url></mirror></mirrors></settings>"""
SETTINGS: dict[str, dict[str, str]] = {
    "kafka": {},
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.lake": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.lake.type": "hadoop",
    },
}
QUERY = "(Open ; Alarm ; Close) WITHIN 1 minutes"
COLUMNS = "id string, device string, at timestamp, type string"
Found = list[tuple[str, tuple[str, ...]]]
"""The devices and ids of matches."""


def rows() -> list[dict[str, Any]]:
    """Events of some devices, and one without a device that comes late enough for all matches to be reported."""
    rng, start = Random(3), datetime(2024, 1, 1, tzinfo=UTC)
    found = [
        {"id": f"e{i}", "device": f"d{rng.randrange(5)}", "at": start + timedelta(seconds=5 * i), "type": type_}
        for i, type_ in enumerate(rng.choices(["Open", "Alarm", "Close"], k=200))
    ]
    return [*found, {"id": "last", "device": None, "at": start + timedelta(days=1), "type": "Open"}]


def expected() -> Found:
    """The matches of each device, found here."""
    found: Found = []
    for device in sorted({row["device"] for row in rows() if row["device"]}):
        events = [row for row in rows() if row["device"] == device]
        stream = [{"type": row["type"], "time": row["at"]} for row in events]
        found += [(device, tuple(events[p]["id"] for p in one.events)) for one in cerify.match(QUERY, stream)]
    return sorted(found)


def jars(name: str, folder: Path) -> list[Path]:
    """The files of an artifact and of what it needs, fetched if they are not there."""
    place = folder / name
    if not place.exists():
        with tempfile.TemporaryDirectory() as temporary:
            pom, settings = Path(temporary) / "pom.xml", Path(temporary) / "settings.xml"
            pom.write_text(POM.format(*ARTIFACTS[name].split(":"), "" if name == "broker" else NOT_FETCHED))
            settings.write_text(CENTRAL)
            given = [f"-DoutputDirectory={place}", "-DincludeScope=runtime"]
            command = ["mvn", "-q", "-B", "-s", str(settings), "-f", str(pom), "dependency:copy-dependencies", *given]
            subprocess.run(command, check=True)
    return sorted(place.glob("*.jar"))


@contextmanager
def kafka_broker(libraries: list[Path], folder: Path) -> Iterator[str]:
    """A broker on this machine; its address."""
    ports = []
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(free.getsockname()[1])
    data, controller = ports
    config = folder / "server.properties"
    config.write_text(
        f"process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{data},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{data}\ncontroller.listener.names=CONTROLLER\n"
        f"log.dirs={folder / 'logs'}\noffsets.topic.replication.factor=1\nnum.partitions=2\n"
        "transaction.state.log.replication.factor=1\ntransaction.state.log.min.isr=1\n"
    )
    java = ["java", "-Xmx512m", "-cp", os.pathsep.join(map(str, libraries))]
    output = (folder / "broker.log").open("w")
    id_ = "MkU3OEVBNTcwNTJENDM2Qg"  # of the cluster, any
    command = [*java, "kafka.tools.StorageTool", "format", "-t", id_, "-c", str(config)]
    subprocess.run(command, check=True, stdout=output, stderr=output)
    process = subprocess.Popen([*java, "kafka.Kafka", str(config)], stdout=output, stderr=output)
    try:
        for _ in range(120):
            with socket.socket() as attempt:
                if attempt.connect_ex(("127.0.0.1", data)) == 0:
                    break
            time.sleep(1)
        yield f"127.0.0.1:{data}"
    finally:
        process.kill()
        process.wait()


def program(name: str) -> str:
    """The program of the section with this title."""
    text = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^## {name}$.*?^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    assert found is not None, f"{PAGE} has no program for {name}"
    return found[1]


def write_rows(spark: SparkSession, name: str, names: dict[str, Any]) -> None:
    """The events, where the program reads them."""
    from pyspark.sql import functions as F

    df = spark.createDataFrame(rows(), COLUMNS).select("id", "device", "at", "type")
    if name == "kafka":
        sink = df.select(F.to_json(F.struct("*")).alias("value")).write.format("kafka")
        sink.option("kafka.bootstrap.servers", names["broker"]).option("topic", "events").save()
    elif name == "delta":
        df.write.format("delta").save(f"{names['folder']}/events")
    else:
        df.writeTo("lake.plant.events").using("iceberg").create()


def read_matches(spark: SparkSession, name: str, names: dict[str, Any]) -> Found:
    """The matches that the program has written; of Kafka one for each key."""
    from cerify.spark import matches

    if name == "kafka":
        source = spark.read.format("kafka").option("kafka.bootstrap.servers", names["broker"])
        records = {
            row["key"]: json.loads(row["value"]) for row in source.option("subscribe", "alarms").load().collect()
        }
        return sorted((one["device"], tuple(one["events"])) for one in records.values())
    if name == "delta":
        df = matches(spark.read.format("delta").load(f"{names['folder']}/alarms"))
    else:
        spark.sql("REFRESH TABLE lake.plant.alarms")
        df = spark.table("lake.plant.alarms")
    return sorted((row["device"], tuple(row["events"])) for row in df.collect())


def tried(name: str, libraries: list[Path], names: dict[str, Any]) -> tuple[Found, Found]:
    """What is found after the program, and after it was run again without the note that its last batch is done."""
    from cerify.spark.session import session

    settings = {"spark.jars": ",".join(map(str, libraries)), "spark.ui.enabled": "false", **SETTINGS[name]}
    settings |= {"spark.sql.shuffle.partitions": "2", "spark.sql.catalog.lake.warehouse": f"{names['folder']}/lake"}
    spark = session("local[2,4]", **settings)
    spark.sparkContext.setLogLevel("OFF")
    write_rows(spark, name, names)
    found = []
    for run in range(2):
        if run:
            commits = Path(names["folder"]) / name / "commits"
            last = max((file for file in commits.iterdir() if file.name.isdigit()), key=lambda file: int(file.name))
            for file in (last, last.with_name(f".{last.name}.crc")):
                file.unlink(missing_ok=True)
        run_program(name, {"spark": spark, **names})
        found.append(read_matches(spark, name, names))
    spark.stop()
    return found[0], found[1]


def run_program(name: str, names: dict[str, Any]) -> None:
    """Run the program; again where Spark has failed, as on a machine too busy to start a worker in ten seconds."""
    from pyspark.errors import StreamingQueryException

    for attempt in range(ATTEMPTS):
        try:
            exec(compile(program(name), f"{PAGE.name}, {name}", "exec"), names)
            return
        except StreamingQueryException:
            if attempt + 1 == ATTEMPTS:
                raise


@click.command()
@click.argument("names", nargs=-1, type=click.Choice([*SETTINGS]))
@click.option("--folder", type=click.Path(path_type=Path), help="Where what is fetched stays.")
@click.option("--here", is_flag=True, hidden=True)
def main(names: tuple[str, ...], folder: Path | None, here: bool) -> None:
    """A line for each program; status 1 if it does not write each match once."""
    with tempfile.TemporaryDirectory() as temporary:
        place = (folder or Path(temporary)).resolve()
        if here:
            (name,) = names
            given = {"folder": str(place), "broker": os.environ.get("BROKER")}
            libraries = [Path(one) for one in os.environ["LIBRARIES"].split(os.pathsep)]
            click.echo(json.dumps(tried(name, libraries, given)))
            return
        failed = False
        for name in names or SETTINGS:
            with tempfile.TemporaryDirectory() as work:
                found = [[(k, tuple(events)) for k, events in one] for one in in_a_process(name, place, Path(work))]
            wrong = [one for one in found if one != expected()]
            failed |= bool(wrong)
            click.echo(f"{name}: {wrong[0]}, not {expected()}" if wrong else f"{name}: {len(found[0])} matches, twice")
    sys.exit(failed)


def in_a_process(name: str, place: Path, work: Path) -> Any:
    """As `tried`, with the release of PySpark that the connectors are for."""
    environment = installed_release(PYSPARK, place)
    environment["LIBRARIES"] = os.pathsep.join(map(str, jars(name, place)))
    command = [sys.executable, "-m", "proofs_tests.campaigns.spark_connectors", name, "--here", "--folder", str(work)]
    if name != "kafka":
        return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    with kafka_broker(jars("broker", place), work) as environment["BROKER"]:
        return json.loads(subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE).stdout)


if __name__ == "__main__":
    main()
