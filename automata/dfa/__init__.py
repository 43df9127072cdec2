"""Finite automata for event expressions (vldb92, section 3)."""
