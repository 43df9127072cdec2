"""Suites that run only when named, or with --language, because their languages need an extra."""
