"""Structures that OpenCEP does not match as they say: python structures.py CHECKOUT."""
# ruff: noqa: I001

from datetime import timedelta

from opencep import show

from base.Pattern import Pattern
from base.PatternStructure import (
    AndOperator,
    KleeneClosureOperator,
    NegationOperator,
    OrOperator,
    PrimitiveEventStructure,
    SeqOperator,
)
from condition.Condition import TrueCondition


def pattern(structure):
    return Pattern(structure, TrueCondition(), timedelta(hours=1))


A, B, C, D, A2 = (PrimitiveEventStructure(name[0], name) for name in ("A", "B", "C", "D", "A2"))
SEQ, AND, KC, NOT = SeqOperator, AndOperator, KleeneClosureOperator, NegationOperator

show("SEQ(A+, B)", "A B", "[0] 1", pattern(SEQ(KC(A), B)))
show("SEQ(A+, B)", "A X B", "[0] 2", pattern(SEQ(KC(A), B)))
show("SEQ(A+, A)", "A", "nothing", pattern(SEQ(KC(A), A2)))
show("SEQ(A+, B+)", "A B A B", "no closure that begins before the one in front of it ends", pattern(SEQ(KC(A), KC(B))))
show("SEQ(A, AND(B, C), D)", "A C B D", "0 2 1 3", pattern(SEQ(A, AND(B, C), D)))
show("SEQ(A+, NOT(B), C)", "A X B X A X C", "[0, 4] 6 and [4] 6", pattern(SEQ(KC(A), NOT(B), C)))
show("SEQ(A, NOT(B), C+)", "A X C", "0 [2]", pattern(SEQ(A, NOT(B), KC(C))))
show("OR(A, B)", "A B", "0, 1", pattern(OrOperator(A, B)))
early, late = {"type": "B", "time": 0}, {"type": "A", "time": 0}
show("SEQ(A, B)", [early, late], "a choice: equal times are in either order", pattern(SEQ(A, B)))
