"""`cerify fuzz` for spark-submit, which says itself what Spark it is: spark-submit fuzz_submit.py --out DIR …

The file is printed by: python -c "import cerify.fuzz_submit as m; print(m.__file__)"
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
