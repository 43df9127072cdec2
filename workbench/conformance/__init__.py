"""Any engine under test: the suite, the harness that drives an engine, and the report."""
