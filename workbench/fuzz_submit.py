"""Run `cerify fuzz` on the Spark of spark-submit: spark-submit fuzz_submit.py --out DIR …

To find the file: python -c "import cerify.fuzz_submit as m; print(m.__file__)"
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command on the Spark of spark-submit."""
    from pyspark import SparkConf

    from cerify.cli import main as cerify

    sys.argv[1:1] = ["fuzz", "--spark", SparkConf().get("spark.master", "local[*]") or "local[*]"]
    cerify()


if __name__ == "__main__":
    main()
