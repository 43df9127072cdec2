"""Explanations of why a query matches at a position of a stream, and why it does not match at others."""
