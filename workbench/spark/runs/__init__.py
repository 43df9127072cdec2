"""A query on its way through one stream: what evaluates it, and the rows of a data frame as that stream."""
