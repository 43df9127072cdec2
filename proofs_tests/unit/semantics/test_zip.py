"""The package in a zip file, as Spark takes it by --py-files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import cerify.api

CODE = """
import cerify.api as api
from cerify.languages import LANGUAGES
from cerify.semantics.events import Event, Stream
print(api.__file__)
S = Stream([Event("A", {"x": 1}), Event("B", {"x": 2})])
for language, query in {
    "cel": "A ; B FILTER A.x = 1", "core-cel": "A AS x ; B AS y", "event-expression": "relative(A, B)",
    "sase": "PATTERN SEQ(A a, B b) RETURN a.x",
}.items():
    print(language, len(api.match(query, S, language=language, evaluator="denotational")))
LANGUAGES["row-pattern"].parse("MATCH_RECOGNIZE (ORDER BY x MEASURES LAST(A.x) AS y PATTERN (A) DEFINE A AS x > 1)")
"""


def test_every_language_is_parsed_and_evaluated_from_a_zip_file(tmp_path: Path) -> None:
    package, archive = Path(cerify.api.__file__).parent, tmp_path / "cerify.zip"
    with ZipFile(archive, "w") as file:
        for pattern in ("*.py", "*.lark", "*.jsonl"):
            for path in package.rglob(pattern):
                if "conformance/suite" not in path.as_posix():
                    file.write(path, Path("cerify") / path.relative_to(package))
    made = subprocess.run(
        [sys.executable, "-c", CODE],
        env={**os.environ, "PYTHONPATH": str(archive)},
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    assert made == [f"{archive}/cerify/api.py", "cel 1", "core-cel 1", "event-expression 1", "sase 1"]
