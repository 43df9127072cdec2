"""Queries over streams that go on: what is held of a key, evaluated, and kept for later."""
