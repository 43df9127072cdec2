"""The operators of core-CEL, as a table: cep17, sections 3 and 4."""

from __future__ import annotations

from cerify.semantics.core_cel import syntax as core
from cerify.semantics.operators import Operator, table
from cerify.semantics.predicates import Attribute, Comparison, Constant

FILTERED, COMBINED, SEQUENCED, DEFINED, POSTFIX = range(5)  # levels, from loose to tight
SMALL = Comparison("<=", Attribute("x"), Constant(1))

OPERATORS = table(
    Operator(  # (T AS x)+ in parentheses: T AS x+ would parse, but reads as if the variable were called x+
        core.Event, "event", "an event type", "event type", "cep17 section 3, R AS x", "{type} AS {variable}",
        "infix", DEFINED, samples=(lambda: core.Event("A", "x"),),
    ),
    Operator(
        core.Or, "or", "OR", "disjunction", "cep17 section 3, OR", "{left} OR {right}",
        "infix", COMBINED, aliases=("∨",),
    ),
    Operator(
        core.Seq, "seq", ";", "sequencing", "cep17 section 3, sequencing", "{left} ; {right}",
        "infix", SEQUENCED,
    ),
    Operator(core.Plus, "plus", "+", "iteration", "cep17 section 3, iteration", "{phi}+", "postfix", POSTFIX),
    Operator(
        core.Strict, "strict", "STRICT", "STRICT", "cep17 section 4, STRICT", "STRICT({phi})",
        "call", POSTFIX,
    ),
    Operator(
        core.Max, "max", "MAX", "MAX", "cep17 section 4, MAX", "MAX({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        core.Last, "last", "LAST", "LAST", "cep17 section 4, LAST", "LAST({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        core.Next, "nxt", "NXT", "NXT", "cep17 section 4, NXT", "NXT({phi})", "call", POSTFIX, aliases=("NEXT",),
        monotone=False,
    ),
    Operator(
        core.Filter, "filter", "FILTER", "filtering", "cep17 section 3, FILTER", "{phi} FILTER {condition}",
        "postfix", FILTERED, samples=(lambda phi: core.Filter(phi, core.Unary("x", SMALL)),),
    ),
)  # fmt: skip
