"""A Spark session with the settings that this package needs."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from cerify.spark.java import java_home

NEEDED = {
    "spark.sql.session.timeZone": "UTC",  # or Arrow and Spark disagree about timestamps
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}


def session(master: str = "local[*]", **settings: str) -> SparkSession:
    """The running session, or a new one, with NEEDED and the given settings, names as in Spark's documentation.

    Any other session can be used if its time zone is UTC. Raises Unsupported where there is no Java.
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    if (home := java_home()) is not None:
        os.environ["JAVA_HOME"] = str(home)
    builder = SparkSession.builder.appName("cerify").master(master).config("spark.ui.showConsoleProgress", "false")
    for name, value in {**NEEDED, **settings}.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()
