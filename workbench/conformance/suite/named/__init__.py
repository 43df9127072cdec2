"""Suites that run where they are named, or with --language: their languages need an extra."""
