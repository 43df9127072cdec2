"""The algebra of CEL: named equations between schematic formulas, those that hold and those that fail."""

from cerify.equivalence.rewrite.laws.combinations import LATTICE, UNLESS
from cerify.equivalence.rewrite.laws.failing_conditions import CONDITIONS
from cerify.equivalence.rewrite.laws.failing_operators import OPERATORS
from cerify.equivalence.rewrite.laws.law import Law, Level, Witness
from cerify.equivalence.rewrite.laws.selection import STRATEGIES, WINDOWS
from cerify.equivalence.rewrite.laws.sequences import ANCHORS, BOUNDED, ITERATION, SEQUENCES
from cerify.equivalence.rewrite.laws.variables import BINDING, FILTERS, PROJECTION

HOLDING: dict[str, tuple[Law, ...]] = {
    "Sequencing": SEQUENCES,
    "Iteration": ITERATION,
    "Bounded iteration": BOUNDED,
    "OR, AND and ALL": LATTICE,
    "UNLESS": UNLESS,
    "IN": BINDING,
    "PROJECT": PROJECTION,
    "FILTER": FILTERS,
    "START": ANCHORS,
    "Selection strategies": STRATEGIES,
    "Windows and partitions": WINDOWS,
}

FAILING: dict[str, tuple[Law, ...]] = {
    "Operators": OPERATORS,
    "Filters, strategies, windows and partitions": CONDITIONS,
}

LAWS: tuple[Law, ...] = tuple(law for table in (HOLDING, FAILING) for laws in table.values() for law in laws)

__all__ = ["FAILING", "HOLDING", "LAWS", "Law", "Level", "Witness"]
