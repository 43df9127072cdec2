"""What has to be shown of two formulas under PER KEY on the same attributes: it is said of their operands.

The theorem is that of single_key.py. It is here for the search and for the check of a certificate alike.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerify.semantics.cel import syntax as cel
from cerify.semantics.events import Schema


@dataclass(frozen=True)
class OperandsPerKey:
    """The operands of two formulas under PER KEY, the attributes of the key, and the schema of what a key sees."""

    left: cel.Formula
    right: cel.Formula
    keys: frozenset[str]
    schema: Schema | None


def operands_per_key(phi: cel.Formula, psi: cel.Formula, schema: Schema | None) -> OperandsPerKey | None:
    """The operands of the two; None if one is not under PER KEY, or on other attributes.

    Also None if no event type of the schema has all these attributes.
    """
    (left, keys), (right, others) = _taken_off(phi), _taken_off(psi)
    if not keys or keys != others:
        return None
    if schema is not None:
        seen = {R: types for R, types in schema.types.items() if keys <= types.keys()}
        if not seen:
            return None
        schema = Schema(seen)
    return OperandsPerKey(left, right, keys, schema)


def _taken_off(phi: cel.Formula) -> tuple[cel.Formula, frozenset[str]]:
    """The formula without the PER KEY around it, and their attributes: one in another is one on both's attributes."""
    keys = frozenset[str]()
    while isinstance(phi, cel.PerKey):
        keys |= frozenset(phi.attributes)
        phi = phi.phi
    return phi, keys
