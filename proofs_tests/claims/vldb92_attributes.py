"""Claims of vldb92 about attributes: section 6 and appendix 3."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product

from cerify.automata.dfa.compile import inlined
from cerify.automata.dfa.parametric import ParametricMonitor, Symbolic, symbolic
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.interpreter import compatible, takes_place
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from cerify.semantics.predicates import Attribute, Comparison
from cerify.semantics.values import Value
from proofs_tests.claims import broken, printed_vldb92
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.printed_vldb92 import spawned
from proofs_tests.claims.vldb92_search import LETTERS, expressions

SEEN = "only values that an event has had count; the machine without a value says nothing about values"
LARGER = list(
    map(
        parse,
        (
            "prior(a(I), b(I)) and prior(a(J), b(J))",
            "prior(a(I), b(J)) and I != J",
            "pairs(I, J) := prior(a(I), b(J)); pairs(I, J)",  # only this one has two tuples at an event
        ),
    )
)
PLACES = dict.fromkeys(LETTERS, ("n",))
UNEQUAL = expr.Constraint(Comparison("!=", Attribute("I"), Attribute("J")))
BINARY: tuple[Callable[[expr.Expression, expr.Expression], expr.Expression], ...] = (
    expr.ExpressionAnd,
    lambda E, F: expr.Relative((E, F)),
    lambda E, F: expr.Prior((E, F)),
)


def _histories(length: int) -> list[Stream]:
    """All histories of `length` events a and b with the value 1 or 2; that the first has 1 is a matter of names."""
    events = [Event(T, {"n": n}) for n in (1, 2) for T in LETTERS]
    return [Stream(h) for h in product(events, repeat=length) if h[0].get("n") == 1]


def _expressions(nodes: int, variables: str, *leaves: expr.Expression) -> list[expr.Expression]:
    """All to a size with a choice of values: of a(X) and b(X) for these X, other leaves, and some operators."""
    argued = (expr.Primitive(T, (X,)) for X in variables for T in LETTERS)
    found = expressions(nodes, (expr.ExpressionNot, expr.RelativePlus), BINARY, (*argued, *leaves))
    return [E for E in found if inlined(E).variables]


def _cases(Es: list[expr.Expression], length: int) -> Iterator[tuple[expr.Expression, Symbolic, Stream]]:
    for E in Es:
        plan = symbolic(E, PLACES)
        yield from ((E, plan, S) for S in _histories(length))


def _bound(Es: list[expr.Expression], nodes: int, length: int) -> str:
    several = LARGER[0] in Es
    which = (
        f"over {'a(I), b(I), a(J), b(J) and I != J' if several else 'a(I) and b(I)'} with !, relative+, and, relative "
    )
    which += "and prior that have a variable in several places"
    if several:
        which += f" or in a constraint, and {', '.join(f'`{show(E)}`' for E in LARGER)}"
    where = f"on all histories of {length} events a and b with two values, up to exchange of the two"
    return f"{len(Es)} expressions, all to {nodes} nodes {which}, {where}"


@claim(
    "vldb92.attr",
    "Collection of all compatible tuples of attribute values",
    "algorithm",
    reading="by the library: a tuple has the variables that occur several times, or in the head of the definition. "
    "The text postpones how tuples are collected",
)
def _(effort: Effort) -> Finding:
    nodes, length = (3, 3) if effort == "quick" else (4, 4)
    Es = [*LARGER, *_expressions(nodes, "IJ", UNEQUAL)]
    for E, plan, S in _cases(Es, length):
        machines, got = ParametricMonitor(plan), set()
        for e, event in enumerate(S):
            if machines.push(event):
                got |= {(e, values) for values in machines.tuples()}
        if got != compatible(E, S).rows or {e for e, _ in got} != takes_place(E, S):
            return Finding("refuted", "exhaustive", f"{show(E)} over {S.events}")
    return Finding("holds", "exhaustive", _bound(Es, nodes, length))


def _agree(Es: list[expr.Expression], length: int, run: Callable[[Symbolic, Stream], frozenset[int]]) -> Finding | None:
    """Where they do not agree with the meaning."""
    for E, plan, S in _cases(Es, length):
        if run(plan, S) != takes_place(E, S):
            return Finding("refuted", "exhaustive", f"{show(E)} over {S.events}")
    return None


@claim("vldb92.attr-spawn", "Machines spawned for the values of one attribute", "construction", SEEN)
def _(effort: Effort) -> Finding:
    nodes, length = (4, 3) if effort == "quick" else (5, 4)
    Es = _expressions(nodes, "I")
    return _agree(Es, length, spawned) or Finding("holds", "exhaustive", _bound(Es, nodes, length))


def _spawned(plan: Symbolic, S: Stream) -> frozenset[int]:
    return frozenset(ParametricMonitor(plan).advance(S).tolist())


@claim(
    "vldb92.attr-spawn:several",
    "Machines spawned for the values of several attributes",
    "construction",
    f"by the library; {SEEN}; the text outlines the machines of two attributes, but not an event with new "
    "values for both. Here it spawns a machine for each choice among them; that machine processes the event "
    "but spawns no further one",
)
def _(effort: Effort) -> Finding:
    nodes, length = (3, 3) if effort == "quick" else (4, 4)
    Es = [*LARGER, *_expressions(nodes, "IJ", UNEQUAL)]
    return _agree(Es, length, _spawned) or Finding("holds", "exhaustive", _bound(Es, nodes, length))


def _tuples(text: str, *events: tuple[str, dict[str, Value]]) -> set[tuple[int, tuple[Value, ...]]]:
    """The rows of the relation of compatible tuples, the values in the order of the variables' names, without kinds."""
    rows = compatible(parse(text), Stream(Event(type_, values) for type_, values in events)).rows
    return {(e, tuple(value for _, value in values)) for e, values in rows}


SMITH, JONES = ({"name": name} for name in ("smith", "jones"))


BY_NAME = "attributes are by name, not by place, so we write only the name of hire"


@claim("vldb92.sec6.1:fire-after-hire", "Each hire before a fire gives a compatible tuple (x, w)", "example", BY_NAME)
def _(effort: Effort) -> Finding:
    text = "fire_after_hire(X, W) := prior(hire(X), fire(W)); fire_after_hire(X, W)"
    got = _tuples(text, ("hire", SMITH), ("hire", JONES), ("fire", SMITH))
    ok = got == {(2, ("smith", "smith")), (2, ("smith", "jones"))}  # w, and then x
    return Finding("holds" if ok else "refuted", "example", "two hires and a fire")


@claim("vldb92.sec6:re-hire", "immediate_re_hire(X): the hire of someone fired just before", "example", BY_NAME)
def _(effort: Effort) -> Finding:
    text = "re_hire(X) := sequence(fire(X), hire(X)); re_hire(X)"
    got = _tuples(text, ("fire", SMITH), ("hire", SMITH), ("fire", SMITH), ("hire", JONES))
    return Finding(
        "holds" if got == {(1, ("smith",))} else "refuted", "example", "two fires, one with its hire after it"
    )


@claim("vldb92.sec6.2:constraint", "Attribute values constrained by X ≠ Y, or not at all", "example")
def _(effort: Effort) -> Finding:
    history = (("hire", SMITH), ("fire", SMITH), ("fire", JONES))
    free = _tuples("e(X, Y) := prior(hire(X), fire(Y)); e(X, Y)", *history)
    unequal = _tuples("e(X, Y) := prior(hire(X), fire(Y)) and X != Y; e(X, Y)", *history)
    ok = free == {(1, ("smith", "smith")), (2, ("smith", "jones"))} and unequal == {(2, ("smith", "jones"))}
    return Finding("holds" if ok else "refuted", "example", "a hire and two fires, with and without X ≠ Y")


plant(
    "vldb92.sec6.1:fire-after-hire vldb92.sec6:re-hire vldb92.sec6.2:constraint",
    "a tuple is lost",
    sys.modules[__name__],
    "compatible",
    broken.result(lambda found: found._replace(rows=frozenset(sorted(found.rows)[1:]))),
)

plant(
    "vldb92.attr",
    "one tuple at each event",
    ParametricMonitor,
    "tuples",
    broken.result(lambda found: found[:1]),
)
plant(
    "vldb92.attr-spawn",
    "machines are spawned for the value 1 alone",
    printed_vldb92,
    "kinded",
    lambda right: lambda value: right(1),
)
plant(
    "vldb92.attr-spawn:several",
    "J is read as I",
    sys.modules[__name__],
    "symbolic",
    broken.argument(lambda E: parse(show(E).replace("J", "I"))),
)
