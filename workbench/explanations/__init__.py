"""Why a formula matches where it does, and why it does not elsewhere."""
