"""What fails as printed, told: an erratum for each claim of the ledger that is not as the paper has it."""
