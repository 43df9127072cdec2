"""Long campaigns, run by hand."""
