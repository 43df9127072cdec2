"""Speed as ratios, measured in one run: `python -m proofs_tests.benchmarks [NAME...] [--quick] [--json FILE]`."""
