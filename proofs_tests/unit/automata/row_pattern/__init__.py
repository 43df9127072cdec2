"""Tests of the automata of MATCH_RECOGNIZE."""
