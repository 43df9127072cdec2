"""Conformance tests for any engine: the suite, the harness that drives an engine, and the report."""
