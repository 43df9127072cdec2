"""Programs of the project's own: what makes the files that are shipped. Nothing of this is in the wheel."""
