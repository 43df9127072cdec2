"""Are two things the same? Generation, comparison, shrinking, decision."""
