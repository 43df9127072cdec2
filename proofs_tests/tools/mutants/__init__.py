"""Wrong semantics, on purpose: each departs from the meaning of a language in one way that an engine might.

The suite's cases are chosen so that every mutant gives a wrong answer on some of them, and an audit looks among them
for the cause of what an engine has reported. The names begin with the feature that they get wrong.
"""
