"""Decide whether two EQL rules mean the same; if not, find a log on which they differ."""
