"""Fuzzing of all that reads what others write: any bytes lead to a value or to a typed error."""
