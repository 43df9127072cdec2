"""Random queries, schemas and streams that fit each other; and how cases are shrunk."""
