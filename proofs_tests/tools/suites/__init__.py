"""The suites as data, a module or folder for each language: queries, streams to choose from, and printed examples."""
