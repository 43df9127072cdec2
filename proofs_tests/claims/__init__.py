"""The claims ledger: numbered results of the papers, run by machine. `python -m proofs_tests.claims`."""
