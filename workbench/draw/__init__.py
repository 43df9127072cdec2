"""Drawings of streams and matches, and the pages they stand on."""
