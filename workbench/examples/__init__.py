"""Example queries over real events, each with the question that it answers."""
