"""The suite of event expressions: its queries, and random histories for them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from random import Random

from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import OPERATORS
from cerify.semantics.events import Event, Schema, Stream
from proofs_tests.tools.mutants.event_expressions import MEANING, MUTANTS
from proofs_tests.tools.suites import separating
from proofs_tests.tools.suites.source import Printed, Source

CLAUSES = {
    "ev-examples": "vldb92 sections 2.4 and 5",
    "ev-mask": "vldb92 section 2, masks",
    "ev-correlation": "vldb92 section 5",
    "ev-attributes": "vldb92 section 6",
    "ev-names": "vldb92 sections 6 and 7",
} | {
    f"ev-{operator.name.replace('_', '-')}": operator.clause
    for operator in OPERATORS.values()
    if operator.node not in (expr.Exists, expr.Equated, expr.ExpressionVariable, expr.ExpressionNamed)
}

CUT = "!prior(c, b) and b"
QUERIES: dict[str, tuple[str, ...]] = {
    "ev-examples": (
        "<5> a",
        "sequence(a, b)",
        "prior(a, b)",
        "relative(a, !before(c)) and b",
        "a and !prior(!a, a)",
        f"relative(relative(b, {CUT}), {CUT})",
        "(c or b) | sequence(b, b, b)",
        "relative(b, prior(b, b = x) and !prior(c, x))",
        "exists x (prior(b = x, c) and !relative(x, prior(a, c)) and relative(x, prior(d, c)))",
        "exists x (prior(b = x, c) and !relative(x, prior(a, c)) and relative(b, prior(d, c)))",
        "prior(b, c) and !relative(b, prior(a, c)) and relative(b, prior(d, c))",
        "exists x (relative(a, relative(b = x, c)) and !relative(x, prior(d, any)))",
    ),
    "ev-null": ("NULL", "!NULL", "a or NULL", "relative(NULL, a)", "b /+ NULL", "relative+(NULL or a)"),
    "ev-event": ("a", "start", "a or start", "prior(start, a)", "a and !start", "relative(a, a)", "relative(start, b)"),
    "ev-mask": (
        "a[n > 0]",
        "a[n = 1 and k = 2]",
        "a[n = 1 or k = 2]",
        "!a[n > 0]",
        "prior(a[n = 0], b[n < k])",
        "a[n = 0] or b[n = 0]",
        "<2> a[n in {0, 2}]",
        "a and !a[n + 1 > k]",
    ),
    "ev-and": (
        "a and first",
        "a and prior(b, any)",
        "relative(b, any) and prior(a, any)",
        "a and b",
        "<2> a and !before(b)",
        "(a or b) and (b or c)",
        "relative(a, any and b)",
    ),
    "ev-not": (
        "!a",
        "!!a",
        "!(a or b)",
        "!before(a)",
        "relative(a, !b)",
        "!relative(a, any)",
        "a | !first",
        "!a and !b",
    ),
    "ev-relative": (
        "relative(a, b)",
        "relative(a, a)",
        "relative(a, <2> b)",
        "relative(a, !before(b))",
        "relative(a, b, c)",
        "relative(a, b, a)",
        "relative(a, first)",
        "relative(relative(a, b), first)",
        "relative(a, !b, first)",
        "relative(a, a, !before(b))",
    ),
    "ev-relative-plus": (
        "relative+(a)",
        "relative+(relative(a, b))",
        "relative+(sequence(a, b))",
        "relative+(<2> a)",
        "relative+(<2> any)",
        "relative+(first and a)",
        "relative+(a and !before(b))",
        "relative(b, relative+(first and a))",
        "relative+(<3> a or <2> b)",
    ),
    "ev-or": ("a or b", "a or a", "a or first", "prior(a, b) or prior(b, a)", "!a or b", "<2> (a or b)", "a or b or c"),
    "ev-any": (
        "any",
        "!any",
        "<2> any",
        "prior(any, any)",
        "relative(any, any)",
        "any and first",
        "a | any",
        "any * a",
    ),
    "ev-prior": (
        "prior(a, b)",
        "prior(a, a)",
        "prior(a, <2> b)",
        "prior(b, first or a)",
        "prior(a, b, c)",
        "prior(a, b, a)",
        "prior(any, any, any)",
        "prior(a, !b)",
        "prior(sequence(a, b), a or b)",
        "prior(<2> a, <3> b)",
    ),
    "ev-sequence": (
        "sequence(a, b)",
        "sequence(a, a)",
        "sequence(a, b, a)",
        "sequence(a, !b)",
        "sequence(a, <2> b)",
        "(a or b) | sequence(a, b)",
        "sequence(before(a), b)",
        "relative(c, sequence(a, b))",
        "sequence(!a, !b)",
        "sequence(a, prior(b, c))",
        "sequence(c, prior(a, b), b)",
    ),
    "ev-first": (
        "first",
        "!first",
        "first and a",
        "relative(a, first)",
        "a | first",
        "relative(a, relative(b, first))",
        "first /+ a",
        "prior(first, any)",
        "sequence(first, b)",
    ),
    "ev-pipe": (
        "a | first",
        "(a or b) | sequence(a, b)",
        "(a or b) | a",
        "!a | !first",
        "a | (b | any)",
        "(a or b) | <2> any",
        "before(a) | b",
        "!start | sequence(a, a)",
        "(a or b) | relative(a, first)",
        "(a or b) | (first /+ a)",
    ),
    "ev-nth": (
        "<1> a",
        "<2> a",
        "<3> any",
        "<2> (a or b)",
        "relative(a, <2> b)",
        "<2> prior(a, b)",
        "<2> <2> a",
        "!<2> a",
    ),
    "ev-every": (
        "every <2> a",
        "every <1> a",
        "every <3> any",
        "every <2> (a or b)",
        "every <2> every <2> any",
        "relative(a, every <2> b)",
        "every <2> !first",
    ),
    "ev-after": (
        "b / a",
        "a / a",
        "first / a",
        "<2> b / a",
        "b / <2> a",
        "!b / a",
        "(b / a) / a",
        "b / (b / a)",
        "c / (a or b)",
    ),
    "ev-between": (
        "b /+ a",
        "!NULL /+ a",
        "first /+ a",
        "<2> b /+ a",
        "<2> any /+ a",
        "b /+ <2> a",
        "!before(b) /+ a",
        "(b /+ a) /+ c",
        "any /+ first",
        "(a or b) /+ a",
    ),
    "ev-first-after": (
        "firstAfter(a, b, c)",
        "firstAfter(a, b, b)",
        "firstAfter(a, any, b)",
        "firstAfter(a, <2> b, c)",
        "firstAfter(a, any, NULL)",
        "firstAfter(a or b, b, c)",
        "firstAfter(first, a, b)",
        "firstAfter(a, !b, <2> c)",
        "firstAfter(a, before(b), c)",
    ),
    "ev-before": (
        "before(a)",
        "before(first)",
        "before(<2> a)",
        "b and before(a)",
        "relative(a, before(b))",
        "!before(a)",
    ),
    "ev-happened": (
        "happened(a)",
        "happened(<2> a)",
        "!happened(a)",
        "!happened(b) /+ a",
        "happened(prior(a, b))",
        "b and happened(a)",
        "relative(a, happened(b))",
    ),
    "ev-prefix": (
        "prefix(a)",
        "prefix(first)",
        "prefix(<2> a)",
        "prefix(a and !before(b))",
        "prefix(sequence(a, b) and <2> any)",
        "prefix(<1> a or <2> b)",
        "relative(a, prefix(<2> b))",
        "a | prefix(<2> any)",
        "prefix(b[n > 1] and !before(a[n < 1]))",
        "prefix(relative(a, b) and <3> any)",
    ),
    "ev-series": (
        "a * b",
        "a * a",
        "!a * a",
        "(a or b) * c",
        "before(a) * b",
        "relative(c, a * b)",
        "(a * b) * any",
        "any * a",
    ),
    "ev-correlation": (
        "exists x (prior(a = x, b))",
        "exists x (prior(a = x, b) and !relative(x, prior(a, b)))",
        "exists x (relative(a = x, b) and prior(x, c, b))",
        "exists x (b and !x)",
        "exists x (relative(x, <2> b))",
        "exists x (exists y (prior(a = x, b = y) and y))",
        "!exists x (prior(a = x, b))",
        "exists x (sequence(a = x, b) or sequence(x, a))",
        "relative(c, prior(a = x, b)) or prior(a = x, x)",
        "exists x (a = x and !before(!x))",
        "exists x (prior(a = x, b) and prior(x, a, b))",
        "exists x ((a or b = x) and relative(x, first) or x)",
    ),
    "ev-attributes": (
        "prior(a(X), b(X))",
        "prior(a(X, Y), b(X, Y))",
        "a(1)",
        "a(X, 2)",
        "a(X, X)",
        "prior(a(1), b(X))",
        "b(X) and !before(a(X))",
        "relative(a(X), b(X), a(X))",
        "sequence(a(X), b(Y), a(X))",
        "prior(a(X), b(Y)) and prior(b(X), b(Y))",
        "<2> a(X) and !before(b(X))",
        "exists x (prior(a(X) = x, b(X)))",
    ),
    "ev-constraint": (
        "prior(a(X), b(Y)) and X != Y",
        "prior(a(X), b(Y)) and X < Y",
        "a(X) and X = 1",
        "prior(a(X), b(Y)) and X = Y",
        "prior(a(X), b(Y)) and X >= Y",
        "a(X, Y) and X > Y",
        "a(X) and !(X = 1)",
        "prior(a(X), b(X)) and X != 0",
        "relative(a(X), b(Y) and X = Y)",
    ),
    "ev-names": (
        "p := prior(a, b); <2> p",
        "p(X) := prior(a(X), b(X)); p(1)",
        "p(X) := prior(a(X), b(X)); p(1) or p(2)",
        "p(X) := prior(a(X), b(X)); p(X) and !before(p(X))",
        "p(X) := a(X); q(X) := prior(p(X), b(X)); q(0)",
        "p := a or b; relative(p, first and p)",
        "p(X) := prior(a(X, Y), b(X, Y)); !p(1)",
        "late(X) := b(X) and !before(a(X)); late(1) or late(2)",
        "p := <2> a; p | first",
        "p(X, Y) := prior(a(X), b(Y)); p(0, 1)",
    ),
}
SCHEMA = Schema({expr.START: {}} | {T: {"n": "int", "k": "int"} for T in "abcde"})
CANDIDATES = 40  # histories looked at for one expression
HISTORIES = 4  # taken for one expression
LENGTH = 8


def histories(feature: str, query: str) -> list[Stream]:
    """Random histories of different events, mostly of the types in the query, the shorter ones first."""
    rng = Random(query)
    E = parse(query)
    types = {F.type for F in expr.subexpressions(E) if isinstance(F, expr.Primitive)} & set("abcd")
    often = [*sorted(types or {"a", "b"}) * 3, "e"]
    pool = [Event(T, {"n": n, "k": k}) for T, n, k in product(often, range(3), range(3))]
    found: dict[tuple[object, ...], Stream] = {}
    while len(found) < CANDIDATES:
        events = [rng.choice(pool) for _ in range(rng.randint(2, LENGTH))]
        if rng.random() < 0.25:
            events[0] = Event(expr.START)
        found[tuple(map(repr, events))] = Stream(events, SCHEMA)
    return sorted(found.values(), key=len)


LONG = (
    ("ev-nth", "<9> a", "a" * 12),
    ("ev-every", "every <4> a", "a" * 13),
    ("ev-relative", f"relative({', '.join('abcdeabcd')})", "abcdeabcdd"),
    ("ev-relative-plus", "relative+(relative(a, b))", "ab" * 10),
    ("ev-relative-plus", "relative+(<2> a)", "a" * 19),
    ("ev-relative-plus", "relative+(<3> a)", "a" * 25),
    ("ev-prior", f"prior({', '.join('a' * 9)})", "a" * 11),
    ("ev-sequence", f"sequence({', '.join('abcdeabcd')})", "aabcdeabcda"),
    ("ev-or", " | ".join("abcdeabcde"), "edcba"),
)
"""Repetitions of many rounds and chains of many parts, by feature, each with the types of its history."""


def long() -> Iterator[Printed]:
    """The expressions over long histories."""
    for feature, query, types in LONG:
        yield feature, query, Stream([Event(R, {"n": n, "k": 0}) for n, R in enumerate(types)], SCHEMA)
    yield from separating.printed(separating.EVENT_EXPRESSIONS)


SOURCE = Source("event-expression", "event-expressions", CLAUSES, QUERIES, histories, HISTORIES, MEANING, MUTANTS, long)
