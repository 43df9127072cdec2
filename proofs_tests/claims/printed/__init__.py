"""Constructions exactly as the papers print them, right or wrong; used by the claims and by nothing else."""
