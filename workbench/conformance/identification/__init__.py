"""What an engine means by its queries, found by asking it: `cerify identify`."""
