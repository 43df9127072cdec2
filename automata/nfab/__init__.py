"""Automata with a match buffer, and the runs of SASE+ queries on them."""
