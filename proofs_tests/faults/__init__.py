"""Long work under faults: killed, without room or right to write, with a clock that jumps, two at a time."""
