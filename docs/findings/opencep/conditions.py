"""Conditions that OpenCEP checks otherwise than they say: python conditions.py CHECKOUT."""
# ruff: noqa: I001

from datetime import timedelta

from opencep import show

from base.Pattern import Pattern
from base.PatternStructure import KleeneClosureOperator, PrimitiveEventStructure, SeqOperator
from condition.BaseRelationCondition import GreaterThanCondition
from condition.CompositeCondition import OrCondition
from condition.Condition import TrueCondition, Variable
from misc.ConsumptionPolicy import ConsumptionPolicy

A, B, C, D = (PrimitiveEventStructure(name, name.lower()) for name in "ABCD")
HOUR = timedelta(hours=1)


def positive(name, attribute):
    return GreaterThanCondition(Variable(name, lambda event: event[attribute]), 0)


either = OrCondition(positive("a", "x"), positive("b", "x"))
show("SEQ(A a, B b) where a.x > 0 or b.x > 0", [{"type": "A", "x": 1}, {"type": "B", "x": 0}], "0 1",
     Pattern(SeqOperator(A, B), either, HOUR))  # fmt: skip

of_x = Pattern(SeqOperator(A, B), GreaterThanCondition(Variable("a", lambda event: event["x"]), 0), HOUR, pattern_id=1)
of_y = Pattern(SeqOperator(A, C), GreaterThanCondition(Variable("a", lambda event: event["y"]), 0), HOUR, pattern_id=2)
show("1: SEQ(A a, B b) where a.x > 0; 2: SEQ(A a, C c) where a.y > 0, in one CEP",
     [{"type": "A", "x": 1, "y": 0}, {"type": "A", "x": 0, "y": 1}, {"type": "B"}, {"type": "C"}],
     "1: 0 2; 2: 1 3", of_x, of_y)  # fmt: skip

for names, steps, stream, expected in (
    (["b", "c"], (A, B, C), "A X B C", "0 2 3"),
    (["b", "c"], (A, B, C), "A B X C", "nothing"),
    (["a", "b"], (A, B, KleeneClosureOperator(C), D), "A B C D", "0 1 [2] 3"),  # raises AttributeError
):
    pattern = Pattern(SeqOperator(*steps), TrueCondition(), HOUR, ConsumptionPolicy(contiguous=names))
    show(f"SEQ{steps}, contiguous: {names}", stream, expected, pattern)
