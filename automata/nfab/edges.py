"""Which edges of an NFA^b test which conjuncts of WHERE: sase07, section 3.2 and appendices A.1 and A.2.

This is the automata's own reading of a query: it shares nothing with semantics/sase/denote.py, which judges it. An
identifier stands on the edges on which A.2 instantiates it:
    a, a[1]            when the first event of a is selected: begin
    a[i]               with i = 1 on begin, with i > 1 on take
    a[i-1], a[..i-1]   with i > 1 only: take
    a[a.LEN], a[]      when a is complete: proceed
A conjunct is tested on the edges of its rightmost component on which all its identifiers of that component stand and
one of them is new: a[i] against a[1] is tested on take, for on begin both are the same event.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from cerify.semantics.errors import Span
from cerify.semantics.predicates import Attribute, Predicate, mentions
from cerify.semantics.sase import syntax as sase

Tested = Literal["begin", "take", "proceed"]
"""The edges of a component whose formulas contain conjuncts of WHERE."""

Identifier = Literal["a", "a[1]", "a[i]", "a[i-1]", "a[..i-1]", "a[a.LEN]", "a[]"]
"""The forms of the identifiers of A.1, a standing for any variable."""

AT_START: frozenset[Identifier] = frozenset({"a", "a[1]"})
MOVING: frozenset[Identifier] = frozenset({"a[i]", "a[i-1]", "a[..i-1]"})
WHOLE: frozenset[Identifier] = frozenset({"a[a.LEN]", "a[]"})
OF_PLACE: Mapping[sase.Index, Identifier] = {
    "only": "a",
    "first": "a[1]",
    "current": "a[i]",
    "previous": "a[i-1]",
    "last": "a[a.LEN]",
}


@dataclass(frozen=True, slots=True)
class EdgeTest:
    """A conjunct, the variable of the component whose edges test it, and these edges."""

    predicate: Predicate
    variable: str
    edges: frozenset[Tested]
    underlined: bool
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """What stands on the edges of an automaton whose states are those of some components.

    strategies and cuts are by variable; a pair of equivalences is an attribute and whether it defines the partition.
    """

    components: tuple[sase.Component, ...]
    strategies: Mapping[str, sase.Strategy]
    cuts: frozenset[str]
    tests: tuple[EdgeTest, ...]
    equivalences: tuple[tuple[str, bool], ...]

    def on(self, variable: str, *edges: Tested) -> tuple[EdgeTest, ...]:
        """The tests on any of these edges of a component, in the order of the text."""
        return tuple(test for test in self.tests if test.variable == variable and not test.edges.isdisjoint(edges))


def match_layout(q: sase.Query) -> Layout:
    """The layout of the automaton whose accepting runs bind the components that are not negated."""
    absent = {k.variable for k in q.pattern if k.negated}
    place = {k.variable: n for n, k in enumerate(q.pattern)}
    tests = []
    for conjunct, p in _predicates(q):
        variables = {a.variable or "" for a in mentions(p)}
        if variables.isdisjoint(absent):
            rightmost = max(variables, key=lambda v: place[v])
            tests.append(EdgeTest(p, rightmost, edges_of(p, rightmost), conjunct.underlined, conjunct.span))
    return _layout(q, tuple(k for k in q.pattern if not k.negated), tests)


def absence_layout(q: sase.Query, k: sase.Component) -> Layout:
    """The layout of the automaton of a negated component, which runs with a match of the others in its buffer.

    Its tests are all conjuncts that mention the component, as all other identifiers are instantiated before it begins.
    """
    tests = [
        EdgeTest(p, k.variable, edges_of(p, k.variable), conjunct.underlined, conjunct.span)
        for conjunct, p in _predicates(q)
        if any(a.variable == k.variable for a in mentions(p))
    ]
    return _layout(q, (k,), tests)


def edges_of(p: Predicate, variable: str) -> frozenset[Tested]:
    """The edges of a component on which a conjunct is tested, by its identifiers of that variable."""
    identifiers = {identifier(a) for a in mentions(p) if a.variable == variable}
    if identifiers & WHOLE:
        return frozenset({"proceed"})
    edges: set[Tested] = set()
    if identifiers <= AT_START or identifiers == {"a[i]"}:
        edges.add("begin")
    if identifiers & MOVING:
        edges.add("take")
    return frozenset(edges)


def identifier(a: Attribute) -> Identifier:
    """The form of the identifier of a reference or an aggregate."""
    match a:
        case sase.Aggregate(running=running):
            return "a[..i-1]" if running else "a[]"
        case sase.Reference(place=place):
            return OF_PLACE[place]
        case _:
            raise TypeError(f"{a} is no reference of SASE+")


def blocks_of(q: sase.Query | sase.Union) -> tuple[sase.Query, ...]:
    """The query blocks that UNION connects, or the query alone."""
    match q:
        case sase.Query():
            return (q,)
        case sase.Union(parts):
            return parts
        case _:
            assert_never(q)


def _layout(q: sase.Query, components: tuple[sase.Component, ...], tests: Iterable[EdgeTest]) -> Layout:
    declared = {argument.variable: block for block in q.where for argument in block.arguments}
    strategies = {
        k.variable: (declared[k.variable].strategy if k.variable in declared else None) or sase.DEFAULT
        for k in components
    }
    cuts = frozenset(argument.variable for block in q.where for argument in block.arguments if argument.cut)
    conjuncts = [conjunct for block in q.where for conjunct in block.conjuncts]
    by_underlining = any(conjunct.underlined for conjunct in conjuncts)
    equivalences = tuple(
        (conjunct.condition.attribute, conjunct.underlined or not by_underlining)
        for conjunct in conjuncts
        if isinstance(conjunct.condition, sase.Equivalence)
    )
    return Layout(components, strategies, cuts, tuple(tests), equivalences)


def _predicates(q: sase.Query) -> Iterator[tuple[sase.Conjunct, Predicate]]:
    """The conjuncts of WHERE that are no equivalence tests."""
    for block in q.where:
        for conjunct in block.conjuncts:
            if not isinstance(conjunct.condition, sase.Equivalence):
                yield conjunct, conjunct.condition
