"""Smaller queries and streams that still show a difference."""
