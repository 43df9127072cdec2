"""What no automaton carries, compared by a solver on all streams up to a length."""
