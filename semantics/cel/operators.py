"""The operators of CEL, as a table: tods21, Figure 2, and the additions of sections 4 and 7."""

from __future__ import annotations

from functools import partial

from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.bounded import ContiguousRepeat, Repeat
from cerify.semantics.operators import Operator, table
from cerify.semantics.predicates import Attribute, Comparison, Constant

FILTERED, COMBINED, SEQUENCED, POSTFIX = range(4)  # levels, from loose to tight
BOUNDS = ((2, 2), (1, 2), (2, 3), (1, None), (2, None))
SMALL = Comparison("<=", Attribute("x"), Constant(1))

OPERATORS = table(
    Operator(
        cel.Event, "event", "an event type", "event type", "tods21 Figure 3, tuple selection", "{type}",
        "leaf", POSTFIX, samples=(lambda: cel.Event("A"),),
    ),
    Operator(
        cel.Or, "or", "OR", "disjunction", "tods21 Figure 3, disjunction", "{left} OR {right}",
        "infix", COMBINED, aliases=("∨",),
    ),
    Operator(
        cel.Seq, "seq", ";", "sequencing", "tods21 Figure 3, non-contiguous sequencing", "{left} ; {right}",
        "infix", SEQUENCED,
    ),
    Operator(
        cel.ContiguousSeq, "cseq", ":", "contiguous sequencing", "tods21 Figure 3, contiguous sequencing",
        "{left} : {right}", "infix", SEQUENCED,
    ),
    Operator(
        cel.And, "and", "AND", "conjunction", "tods21 Figure 3, conjunction", "{left} AND {right}",
        "infix", COMBINED, aliases=("∧",),
    ),
    Operator(
        cel.All, "all", "ALL", "interleaved conjunction", "tods21 Figure 3, interleaved conjunction",
        "{left} ALL {right}", "infix", COMBINED,
    ),
    Operator(
        cel.Unless, "unless", "UNLESS", "guarded negation", "tods21 Figure 3, guarded negation",
        "{left} UNLESS {right}", "infix", COMBINED, monotone=False,
    ),
    Operator(
        cel.Plus, "plus", "+", "iteration", "tods21 Figure 3, non-contiguous iteration", "{phi}+",
        "postfix", POSTFIX,
    ),
    Operator(
        cel.ContiguousPlus, "cplus", ":+", "contiguous iteration", "tods21 Figure 3, contiguous iteration",
        "{phi}:+", "postfix", POSTFIX, aliases=("⊕",),
    ),
    Operator(
        cel.Start, "start", "START", "anchoring", "tods21 Figure 3, anchoring", "START({phi})",
        "call", POSTFIX,
    ),
    Operator(
        cel.Strict, "strict", "STRICT", "STRICT", "tods21 section 7.1, STRICT", "STRICT({phi})",
        "call", POSTFIX,
    ),
    Operator(
        cel.Max, "max", "MAX", "MAX", "tods21 section 7.1, MAX", "MAX({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        cel.Last, "last", "LAST", "LAST", "tods21 section 7.1, LAST", "LAST({phi})", "call", POSTFIX, monotone=False,
    ),
    Operator(
        cel.Next, "nxt", "NXT", "NXT", "tods21 section 7.1, NXT", "NXT({phi})", "call", POSTFIX, aliases=("NEXT",),
        monotone=False,
    ),
    Operator(
        cel.In, "in", "IN", "variable binding", "tods21 Figure 3, variable binding", "{phi} IN {variable}",
        "postfix", POSTFIX, samples=(lambda phi: cel.In(phi, "X"),), aliases=("AS",),
    ),
    Operator(
        cel.Filter, "filter", "FILTER", "filtering", "tods21 Figure 3, filtering", "{phi} FILTER {condition}",
        "postfix", FILTERED, samples=(lambda phi: cel.Filter(phi, cel.Every("A", SMALL)),),
    ),
    Operator(
        cel.Project, "project", "PROJECT", "projection", "tods21 Figure 3, variable projection",
        "PROJECT[{variables}]({phi})", "call", POSTFIX,
        samples=(lambda phi: cel.Project(frozenset({"A", "X"}), phi),), aliases=("π",),
    ),
    Operator(
        cel.PartitionBy, "partition", "PARTITION BY", "partition", "tods21 section 4, W.a = W.a",
        "{phi} PARTITION BY [{attribute}]", "postfix", FILTERED,
        samples=(lambda phi: cel.PartitionBy(phi, "x"),),
    ),
    Operator(
        cel.Within, "within", "WITHIN", "window", "tods21 section 4, the predicate Q of windows",
        "{phi} WITHIN {window}", "postfix", FILTERED,
        samples=(
            lambda phi: cel.Within(phi, cel.EventWindow(2)),
            lambda phi: cel.Within(phi, cel.AttributeWindow(1, "x")),
        ),
    ),
    Operator(
        Repeat, "repeat", "{n,m}", "bounded iteration", "tods21 Figure 3, sequencing and disjunction",
        "{phi}{{{bounds}}}", "postfix", POSTFIX, samples=tuple(partial(Repeat, least=n, most=m) for n, m in BOUNDS),
    ),
    Operator(
        ContiguousRepeat, "crepeat", ":{n,m}", "contiguous bounded iteration",
        "tods21 Figure 3, contiguous sequencing and disjunction", "{phi}:{{{bounds}}}", "postfix", POSTFIX,
        samples=tuple(partial(ContiguousRepeat, least=n, most=m) for n, m in BOUNDS),
    ),
)  # fmt: skip
