"""Event expressions: Gehani, Jagadish, Shmueli, "Composite Event Specification in Active Databases", 1992 (vldb92)."""
