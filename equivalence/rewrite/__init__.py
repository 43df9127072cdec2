"""Queries made into other queries: laws, normal forms, translations, simplification."""
