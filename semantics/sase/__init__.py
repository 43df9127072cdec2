"""SASE+: Kleene closure over event streams (sase07, icde08)."""
