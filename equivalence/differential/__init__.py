"""Two evaluators held against each other on many cases."""
