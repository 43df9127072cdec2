"""The suite of SASE+."""

from proofs_tests.tools.suites.sase.suite import SOURCE

__all__ = ["SOURCE"]
