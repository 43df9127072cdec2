"""A stream without keys in many tasks: in overlapping chunks, or composed of what each chunk does."""
