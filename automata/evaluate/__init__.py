"""Evaluation of automata over streams (tods21, section 9)."""
