"""EQL as a state machine with one slot for each step and key, as Elastic's documentation describes it."""
