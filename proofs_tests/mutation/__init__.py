"""Mutants of the modules: small changes, each of which some test must find."""
