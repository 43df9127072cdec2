"""Whether two rules in EQL mean the same, with a log that tells them apart if they do not."""
