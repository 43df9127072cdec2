"""Find the operators under PARTITION BY that look at the events of all keys, which is often not intended.

PARTITION BY keeps the matches whose events agree; it does not divide the stream. So operators under it that look at
events outside the match see events of other keys: UNLESS, `:` and `:+`, STRICT, NXT, LAST and MAX. Under PER KEY they
see only the events of one key (docs/decisions/per-key.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import OPERATORS, ContiguousRepeat
from cerify.semantics.predicates import Problem
from cerify.semantics.trees import children, entry_of, entry_or_none, subtrees

EFFECTS: dict[type, str] = {
    cel.Unless: "an event of another key can prevent a match",
    cel.Strict: "an event of another key in between is a gap",
    cel.ContiguousSeq: "events are not neighbours if an event of another key is between them",
    cel.ContiguousPlus: "events are not neighbours if an event of another key is between them",
    cel.NextPlus: "the next round can have another key, and a later round of the same key is then not the next",
    cel.Until: "the next round or the end can have another key",
    ContiguousRepeat: "events are not neighbours if an event of another key is between them",
    cel.Preference: "a match of several keys can be preferred to a match of a single key",
}
"""The effect of events of other keys on an operator that looks beyond one match, as part of a message."""


@dataclass(frozen=True)
class AcrossKeys:
    """An operator under PARTITION BY that still sees the events of all keys, such as `:`.

    partition: a PARTITION BY around the operator; of several on one attribute, the outermost.
    """

    partition: cel.PartitionBy
    operator: cel.Formula

    @property
    def per_key(self) -> cel.PerKey:
        """Return the formula to write instead of the partition: the partition's operand with PER KEY."""
        return cel.PerKey(self.partition.phi, (self.partition.attribute,), span=self.partition.span)

    @property
    def problem(self) -> Problem:
        """Return the problem that warns the user of this operator before evaluation."""
        symbol, a = OPERATORS[type(self.operator)].symbol, self.partition.attribute
        message = (
            f"{symbol} under PARTITION BY [{a}] looks at the events of all keys: {entry_of(EFFECTS, self.operator)}"
        )
        return Problem("across_keys", message, self.operator.span, advice=advice(a))


def advice(attribute: str) -> str:
    """Return the part of a message that advises PER KEY instead of PARTITION BY."""
    return f"write PER KEY [{attribute}] to look at each key alone; keep PARTITION BY if all keys are meant"


def across_keys(phi: cel.Formula) -> Iterator[AcrossKeys]:
    """Yield the operators under a partition that see the events of all keys, one of each kind for each partition.

    Operators under a PER KEY on the partition's attribute do not count, whether it is inside or around the partition.
    """
    if not any(isinstance(psi, cel.PartitionBy) for psi in subtrees(phi)):
        return
    pending: list[tuple[cel.Formula, dict[str, cel.PartitionBy], frozenset[str]]] = [(phi, {}, frozenset())]
    seen: set[tuple[int, type]] = set()
    while pending:
        psi, partitions, keys = pending.pop()
        if isinstance(psi, cel.PartitionBy) and psi.attribute not in keys:
            partitions = {psi.attribute: psi, **partitions}
        elif isinstance(psi, cel.PerKey):
            keys |= frozenset(psi.attributes)
            partitions = {a: partition for a, partition in partitions.items() if a not in keys}
        elif entry_or_none(EFFECTS, psi) is not None:
            for partition in partitions.values():
                if (id(partition), type(psi)) not in seen:
                    seen.add((id(partition), type(psi)))
                    yield AcrossKeys(partition, psi)
        pending += [(child, partitions, keys) for child in reversed(children(psi))]
