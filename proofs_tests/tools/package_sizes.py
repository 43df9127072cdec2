"""Prints version, size and licence of the packages that cerify and its extras name, where they are installed.

`python -m proofs_tests.tools.package_sizes` prints what the columns of docs/reference/dependencies.md say.
"""

from __future__ import annotations

import re
import tomllib
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).parents[2]
EXTRAS_OF_DEVELOPERS = {"all", "dev", "docs", "pages", "test"}


def named_packages() -> dict[str, str]:
    """Return each package that pyproject.toml names for users, with the first extra that names it ("–" for none)."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    lists = {"–": project["dependencies"]} | {e: extras[e] for e in extras if e not in EXTRAS_OF_DEVELOPERS}
    names: dict[str, str] = {}
    for extra, requirements in lists.items():
        for name in (re.split(r"[\[<>=]", requirement)[0] for requirement in requirements):
            if name != "cerify":
                names.setdefault(name, extra)
    return names


def measure(name: str) -> tuple[str, float, str]:
    """Return the installed version, its size in megabytes, and its licence as the package states it."""
    package = metadata.distribution(name)
    size = sum(path.stat().st_size for f in package.files or () if (path := Path(str(f.locate()))).exists())
    stated = package.metadata["License-Expression"] or package.metadata["License"] or ""
    return package.version, size / 1e6, stated.partition("\n")[0]


if __name__ == "__main__":
    for name, extra in named_packages().items():
        try:
            version, size, licence = measure(name)
            print(f"| {name} | {extra} | {version} | {size:.1f} | {licence} |")
        except metadata.PackageNotFoundError:
            print(f"| {name} | {extra} | not installed |")
