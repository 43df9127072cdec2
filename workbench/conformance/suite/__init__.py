"""The conformance suite: cases as data, a JSON object per line, made by `python -m proofs_tests.tools.make_suite`."""
