"""The suite of CEL."""

from proofs_tests.tools.suites.cel.queries import FILES
from proofs_tests.tools.suites.cel.suite import cases_of_file

__all__ = ["FILES", "cases_of_file"]
