"""Complex event automata (tods21, section 5)."""
