"""Random queries, schemas and streams that fit each other."""
