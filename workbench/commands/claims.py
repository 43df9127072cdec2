"""cerify claims: the ledger of claims, which lies beside the package in a checkout of the project."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import click

from cerify.semantics.errors import InputError

LEDGER = "proofs_tests.claims.__main__"
MISSING = (
    "the ledger of claims is in the project's source, not in the installed package: "
    "clone the project, and run cerify claims in its folder"
)
ANY_ARGUMENTS = {"allow_extra_args": True, "ignore_unknown_options": True}


def _refuse() -> None:
    raise InputError(MISSING)


def _ledger() -> click.Command:
    """The ledger's own command; where there is no checkout, one that says so."""
    source = Path(__file__).resolve().parent.parent.parent  # of an editable install
    root = next((root for root in (source, Path.cwd()) if (root / "proofs_tests" / "claims").is_dir()), None)
    if root is None:
        return click.Command("claims", context_settings=ANY_ARGUMENTS, callback=_refuse, help=f"Not here: {MISSING}.")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    command: click.Command = importlib.import_module(LEDGER).main
    return command


command = _ledger()
