"""Decide whether two queries are the same: generation, comparison, shrinking, decision."""
