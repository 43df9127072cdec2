"""Drawings of streams and matches, and the pages that show them."""
