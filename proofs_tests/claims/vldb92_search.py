"""Looking for a difference between event expressions, or between an expression and a machine: small cases first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import product
from typing import Any

from cerify.automata.dfa.compile import compile_expression
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.claims.ledger import Evidence, Finding
from proofs_tests.claims.printed_vldb92 import Machine

LETTERS = ("a", "b")
Where = Callable[[tuple[str, ...]], frozenset[int]]
Case = tuple[expr.Expression, tuple[str, ...]]

BASE: tuple[expr.Expression, ...] = (expr.Null(), *map(expr.Primitive, LETTERS))
FIRST = parse("!relative(!NULL, !NULL)")
"""first, in base operators. Whether an expression of few nodes over the others takes place depends on no other event,
and of such operands relative+(E) is E, prior is relative, E | F is E and F, and prefix(E) is always or never."""

LEAVES = (*BASE, FIRST)
IN_WORDS = "a, b, NULL and first"


def over(nodes: int, leaves: str = IN_WORDS) -> str:
    """Say of which leaves and base operators the expressions to a size are made."""
    operators = {1: "", 2: " with ! and relative+"}.get(nodes, " with !, and, relative and relative+")
    return f"over {leaves}{operators}"


def all_such(name: str, nodes: int) -> str:
    """Say what the expressions to a size are that have this operator on top."""
    match name:
        case "null":
            return "NULL"
        case "event":
            return "a and b"
        case "not":
            return f"first, and all such expressions to {nodes} nodes {over(nodes - 1)}"
        case "relative+":
            return f"all such expressions to {nodes} nodes {over(nodes - 1)}"
        case _:
            return f"all such expressions to {nodes} nodes {over(nodes - 2)}"


AFTER_A = parse("relative(a and !relative(!NULL, !NULL), relative(b, b))")
"""Whether it can take place at all depends on the first letter, and it takes two more events."""
UNARY: tuple[Callable[[expr.Expression], expr.Expression], ...] = (expr.ExpressionNot, expr.RelativePlus)
BINARY: tuple[Callable[[expr.Expression, expr.Expression], expr.Expression], ...] = (
    expr.ExpressionAnd,
    lambda E, F: expr.Relative((E, F)),
)


def expressions(
    nodes: int,
    unary: Iterable[Callable[..., expr.Expression]] = UNARY,
    binary: Iterable[Callable[..., Any]] = BINARY,
    leaves: Iterable[expr.Expression] = LEAVES,
) -> list[expr.Expression]:
    """All expressions to a size over some leaves and operators, smallest first."""
    unary, binary = tuple(unary), tuple(binary)
    by_size: dict[int, list[expr.Expression]] = {1: list(leaves)}
    for size in range(2, nodes + 1):
        by_size[size] = [make(E) for make in unary for E in by_size[size - 1]]
        for left in range(1, size - 1):
            by_size[size] += [make(E, F) for make in binary for E in by_size[left] for F in by_size[size - 1 - left]]
    return [E for size in sorted(by_size) for E in by_size[size]]


def histories(length: int, started: bool = False) -> Iterator[tuple[str, ...]]:
    """All histories of up to `length` letters, smallest first; with started also behind a start event."""
    for n in range(1, length + 1):
        yield from product(LETTERS, repeat=n)
        if started:
            yield from (("start", *h) for h in product(LETTERS, repeat=n - 1))


def meaning(E: expr.Expression, h: tuple[str, ...]) -> frozenset[int]:
    return takes_place(E, Stream(map(Event, h)))


def difference(
    cases: Iterable[Case], got: Callable[[expr.Expression, tuple[str, ...]], Iterable[int]]
) -> tuple[dict[str, Any] | None, int]:
    """The first case in which something else is got than the meaning; and how many were looked at."""
    looked_at = 0
    for E, h in cases:
        looked_at += 1
        expected, found = meaning(E, h), frozenset(got(E, h))
        if expected != found:
            return {
                "query": show(E),
                "events": [{"type": a} for a in h],
                "expected": sorted(expected),
                "got": sorted(found),
            }, looked_at
    return None, looked_at


def separated(E: expr.Expression, M: Machine) -> tuple[str, ...] | None:
    """A shortest history at whose end just one of the two takes place; None if there is none."""
    A = compile_expression(E)
    types = {a: A.alphabet.type_of(Event(a)) for a in M.letters}
    start = (M.closed({M.start}), 0, ())
    seen = {start[:2]}
    pending: list[tuple[frozenset[Any], int, tuple[str, ...]]] = [start]
    while pending:
        following = []
        for states, q, h in pending:
            for a in M.letters:
                pair = (M.after(states, a), A.step(q, types[a]))
                if (not pair[0].isdisjoint(M.accepting)) != (pair[1] in A.accepting):
                    return (*h, a)
                if pair not in seen:
                    seen.add(pair)
                    following.append((*pair, (*h, a)))
        pending = following
    return None


def same(*texts: expr.Expression) -> bool:
    """Whether the expressions take place at the same events of all histories: their minimal automata are equal."""
    automata = [compile_expression(E) for E in texts]
    return all(A.following == automata[0].following and A.accepting == automata[0].accepting for A in automata)


def passed(ok: bool, bound: str, evidence: Evidence) -> Finding:
    return Finding("holds" if ok else "refuted", evidence, bound)
