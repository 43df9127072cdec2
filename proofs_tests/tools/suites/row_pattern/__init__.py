"""The suite of MATCH_RECOGNIZE."""

from proofs_tests.tools.suites.row_pattern.suite import SOURCE

__all__ = ["SOURCE"]
