"""Differential testing as a job: its ranges, files, limits, and the report made of them."""
