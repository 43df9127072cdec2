"""Maps the folders at the root to one importable package, so that nothing generic lands in site-packages."""

from setuptools import find_packages, setup

ROOTS = {"cerify": "workbench"} | {f"cerify.{name}": name for name in ("semantics", "automata", "equivalence")}
packages = list(ROOTS) + [f"{root}.{sub}" for root, folder in ROOTS.items() for sub in find_packages(folder)]

setup(package_dir=ROOTS, packages=packages)
