"""Exercises: a sentence in plain English, for which a student writes a formula, and what is said of the formula."""
