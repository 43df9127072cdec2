"""Runs: the evaluation of a query over one stream, and the rows of a data frame as streams."""
