"""Mutants of the denotational semantics: what in the clauses of Figure 3 is pinned by which law and which case."""
