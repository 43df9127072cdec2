"""Exercises: sentences in plain English, for which students write formulas, and feedback on the formulas."""
