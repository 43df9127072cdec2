"""MATCH_RECOGNIZE by prioritized automata."""
