"""The semantics in Coq, and what is extracted from it."""
