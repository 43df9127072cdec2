"""EQL as a machine with one place for each step and key, as Elastic's documentation describes it."""
