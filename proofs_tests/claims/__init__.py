"""The claims ledger: numbered results of the papers, run by machine: `cerify claims`."""
