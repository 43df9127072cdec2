"""MATCH_RECOGNIZE by automata, for conditions that look at columns in rows at fixed distances."""
