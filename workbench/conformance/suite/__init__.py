"""The conformance suite: cases as data, a JSON object per line, made by make_suite."""
