"""The key lemmas of the proofs in docs/theory, each valid for sets and intervals of any size by z3."""
