"""Formulas under PER KEY on the same attributes are decided by their operands: a difference is one on a single key.

(phi PER KEY [a]) and (psi PER KEY [a]) have the same matches on all streams if phi and psi do: what a key sees is a
stream. The converse holds where no filter of phi or psi mentions a: a stream on which phi and psi differ, all of whose
events are given one and the same value of a, is the stream of that key. With a schema, a key sees events only of the
types that have all of its attributes.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from cerify.automata.cea.compile import compilable
from cerify.equivalence.decide.cel import contained, equivalent
from cerify.equivalence.decide.operands import OperandsPerKey, operands_per_key
from cerify.equivalence.decide.replay import replayed
from cerify.equivalence.verdict import Claim, Contained, Different, Equivalent, Level, Verdict
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Schema, Stream
from cerify.semantics.predicates import mentions
from cerify.semantics.values import Value, ValueType

VALUES: dict[ValueType, Value] = {
    "int": 0,
    "float": 0.0,
    "string": "a",
    "bool": True,
    "timestamp": datetime(2021, 1, 1, tzinfo=UTC),
}
"""By type the value of the key on which a difference is shown."""


def compare_per_key(
    phi: cel.Formula, psi: cel.Formula, claim: Claim, level: Level, schema: Schema | None, budget: Budget
) -> Verdict | None:
    """Whether two formulas under PER KEY on the same attributes are equivalent, or one contained in the other.

    None where that does not follow from their operands.
    """
    found = operands_per_key(phi, psi, schema)
    if found is None or not (compilable(found.left) and compilable(found.right)):
        return None
    decide = equivalent if claim == "equivalent" else contained
    verdict = decide(found.left, found.right, level, found.schema, budget)
    match verdict:
        case Equivalent(certificate):
            return Equivalent(replace(certificate, left=show(phi), right=show(psi), schema=schema))
        case Contained(certificate):
            return Contained(replace(certificate, left=show(phi), right=show(psi), schema=schema))
        case Different():
            if found.keys & {*_mentioned(found.left), *_mentioned(found.right)}:
                return None
            stream = _with_key(verdict.stream, found)
            return replayed(phi, psi, stream, claim == "contained", level, verdict.shortest, budget)
    return verdict


def _mentioned(phi: cel.Formula) -> set[str]:
    """The attributes that the filters of a formula mention."""
    conditions = (psi.condition for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    atoms = (atom for condition in conditions for atom in cel.atoms(condition) if not isinstance(atom, cel.Named))
    return {a.name for atom in atoms for a in mentions(atom.predicate)}


def _with_key(S: Stream, found: OperandsPerKey) -> Stream:
    """The stream as that of one key."""
    types = {} if found.schema is None else found.schema.attributes
    key = {a: VALUES[types.get(a, "int")] for a in sorted(found.keys)}
    return Stream([Event(event.type, {**event.attributes, **key}) for event in S], S.schema)
