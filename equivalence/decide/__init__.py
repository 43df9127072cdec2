"""Decide for all streams: equivalence, containment, satisfiability, membership in a fragment; with certificates."""
