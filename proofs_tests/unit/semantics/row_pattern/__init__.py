"""Tests of MATCH_RECOGNIZE."""
