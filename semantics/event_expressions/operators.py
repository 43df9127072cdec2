"""The operators of event expressions, as a table: vldb92, sections 2.2, 2.3, 5 and 6. Let is no operator."""

from __future__ import annotations

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.operators import Operator, table
from cerify.semantics.predicates import Attribute, Comparison, Constant

OR, AND, PIPE, SLASH, SERIES, EQUATED, COUNTED, PRIMARY = range(8)  # levels, from loose to tight
SMALL = Comparison("<=", Attribute("n"), Constant(1))

OPERATORS = table(
    Operator(
        expr.Null, "null", "NULL", "null", "vldb92 section 2.2, 2", "NULL",
        "leaf", PRIMARY, samples=(expr.Null,),
    ),
    Operator(
        expr.Primitive, "event", "an event type", "primitive event", "vldb92 section 2.2, 3", "{}",
        "leaf", PRIMARY,
        samples=(
            lambda: expr.Primitive("a"),
            lambda: expr.Primitive("a", ("I", Constant(1))),
            lambda: expr.Primitive("a", (), SMALL),
            lambda: expr.Primitive("a", ("I",), SMALL),
        ),
    ),
    Operator(
        expr.And, "and", "and", "conjunction", "vldb92 section 2.2, 4", "{left} and {right}",
        "infix", AND, aliases=("^", "AND", "∧"),
    ),
    Operator(
        expr.Not, "not", "!", "negation", "vldb92 section 2.2, 5", "!{operand}",
        "prefix", COUNTED, monotone=False, aliases=("not ", "¬"),
    ),
    Operator(
        expr.Relative, "relative", "relative", "relative", "vldb92 section 2.2, 6", "relative({parts})",
        "call", PRIMARY, samples=(lambda *parts: expr.Relative(parts),),
    ),
    Operator(
        expr.RelativePlus, "relative_plus", "relative+", "relative+", "vldb92 section 2.2, 7", "relative+({operand})",
        "call", PRIMARY, aliases=("rel+",),
    ),
    Operator(
        expr.Or, "or", "or", "disjunction", "vldb92 section 2.3, a", "{left} or {right}",
        "infix", OR, aliases=("OR", "∨"),
    ),
    Operator(
        expr.AnyEvent, "any", "any", "any event", "vldb92 section 2.3, b", "any",
        "leaf", PRIMARY, samples=(expr.AnyEvent,),
    ),
    Operator(
        expr.Prior, "prior", "prior", "prior", "vldb92 section 2.3, c and d", "prior({parts})",
        "call", PRIMARY, samples=(lambda *parts: expr.Prior(parts),),
    ),
    Operator(
        expr.Sequence, "sequence", "sequence", "sequence", "vldb92 section 2.3, e", "sequence({parts})",
        "call", PRIMARY, samples=(lambda *parts: expr.Sequence(parts),),
    ),
    Operator(
        expr.First, "first", "first", "first event", "vldb92 section 2.3, f", "first",
        "leaf", PRIMARY, samples=(expr.First,),
    ),
    Operator(
        expr.Pipe, "pipe", "|", "pipe", "vldb92 section 2.3, g", "{left} | {right}", "infix", PIPE,
        monotone=False,
    ),
    Operator(
        expr.Nth, "nth", "<n>", "the n-th event", "vldb92 section 2.3, h", "<{n}> {operand}",
        "prefix", COUNTED, samples=tuple(lambda operand, n=n: expr.Nth(n, operand) for n in (1, 2, 3)),
        monotone=False,
    ),
    Operator(
        expr.EveryNth, "every", "every <n>", "every n-th event", "vldb92 section 2.3, i", "every <{n}> {operand}",
        "prefix", COUNTED, samples=tuple(lambda operand, n=n: expr.EveryNth(n, operand) for n in (1, 2, 3)),
        monotone=False,
    ),
    Operator(
        expr.After, "after", "/", "after the first", "vldb92 section 2.3, j", "{left} / {right}",
        "infix", SLASH, chains=True, monotone=False,
    ),
    Operator(
        expr.Between, "between", "/+", "between two", "vldb92 section 2.3, k", "{left} /+ {right}",
        "infix", SLASH, chains=True, monotone=False,
    ),
    Operator(
        expr.FirstAfter, "first_after", "firstAfter", "firstAfter", "vldb92 section 2.3, l",
        "firstAfter({opening}, {event}, {closing})", "call", PRIMARY, monotone=False,
    ),
    Operator(expr.Before, "before", "before", "before", "vldb92 section 2.3, m", "before({operand})", "call", PRIMARY),
    Operator(
        expr.Happened, "happened", "happened", "happened", "vldb92 section 2.3, n", "happened({operand})",
        "call", PRIMARY,
    ),
    Operator(expr.Prefix, "prefix", "prefix", "prefix", "vldb92 section 2.3, o", "prefix({operand})", "call", PRIMARY),
    Operator(expr.Series, "series", "*", "series", "vldb92 section 2.3, p", "{left} * {right}", "infix", SERIES),
    Operator(
        expr.Exists, "exists", "exists", "exists", "vldb92 section 5, 6", "exists {variable} ({operand})",
        "call", PRIMARY, samples=(lambda operand: expr.Exists("x", operand),), aliases=("∃",),
    ),
    Operator(
        expr.Equated, "equated", "=", "at a correlation variable", "vldb92 section 5, 7", "{operand} = {variable}",
        "postfix", EQUATED, samples=(lambda operand: expr.Equated(operand, "x"),),
    ),
    Operator(
        expr.Variable, "variable", "a variable", "correlation variable", "vldb92 section 5", "{name}",
        "leaf", PRIMARY, samples=(lambda: expr.Variable("x"),),
    ),
    Operator(
        expr.Constraint, "constraint", "a comparison", "constraint", "vldb92 section 6.2", "{comparison}",
        "postfix", EQUATED, samples=(lambda: expr.Constraint(Comparison("!=", Attribute("I"), Constant(1))),),
    ),
    Operator(
        expr.Named, "named", "a name", "named expression", "vldb92 section 6", "{}",
        "leaf", PRIMARY, samples=(lambda: expr.Named("p"), lambda: expr.Named("p", ("I", Constant(1)))),
    ),
)  # fmt: skip
