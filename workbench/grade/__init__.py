"""Exercises: a sentence in plain English, the formula that a student writes for it, and feedback on the formula."""
