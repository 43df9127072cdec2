"""Sigma rules and their correlations: trees, what pySigma parses, the meaning of alerts."""
