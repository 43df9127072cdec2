"""Compile SASE+ to NFA^b by the rules of sase07, section 3.2, in their order, for one query without composition.

Two details that the text omits are added: the begin and take edges of a component test its type and the window. Negated
components, which the paper's simple queries do not have, have no states here; each gets an automaton of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, assert_never

from cerify.automata.nfab import model as nfab
from cerify.semantics.errors import Span
from cerify.semantics.predicates import Attribute, Comparison, Predicate, mapped_predicate, mentions
from cerify.semantics.readings import DECIDED, Reading
from cerify.semantics.sase import syntax as sase

# ---------------------------------------------------------------------------------------------------------------------
# Which edges of an NFA^b test which conjuncts of WHERE: sase07, section 3.2 and appendices A.1 and A.2.
#
# This is the automata's own reading of a query: it shares nothing with semantics/sase/denote.py, which judges it. An
# identifier stands on the edges on which A.2 instantiates it:
#     a, a[1]            when the first event of a is selected: begin
#     a[i]               with i = 1 on begin, with i > 1 on take
#     a[i-1], a[..i-1]   with i > 1 only: take
#     a[a.LEN], a[]      when a is complete: proceed
# A conjunct is tested on the edges of its rightmost component on which all its identifiers of that component stand and
# one of them is new: a[i] against a[1] is tested on take, for on begin both are the same event.

Tested = Literal["begin", "take", "proceed"]
"""The edges of a component whose formulas contain conjuncts of WHERE."""

Identifier = Literal["a", "a[1]", "a[i]", "a[i-1]", "a[..i-1]", "a[a.LEN]", "a[]"]
"""The forms of the identifiers of A.1; `a` stands for any variable."""

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
    """A conjunct of WHERE, with the edges of the automaton on which it is tested.

    mentioned: the references and aggregates in it. variable: the variable of the component whose edges test it. edges:
    the edges of this component on which it is tested.
    """

    predicate: Predicate
    mentioned: tuple[Attribute, ...]
    variable: str
    edges: frozenset[Tested]
    underlined: bool
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class EdgeLayout:
    """The plan of an automaton: its components in order, and the conditions to test on its edges (tests).

    strategies: the strategy of each variable. cuts: the variables that `!` follows. equivalences: pairs (attribute,
    whether it defines the partition).
    """

    components: tuple[sase.Component, ...]
    strategies: Mapping[str, sase.Strategy]
    cuts: frozenset[str]
    tests: tuple[EdgeTest, ...]
    equivalences: tuple[tuple[str, bool], ...]

    def on(self, variable: str, *edges: Tested) -> tuple[EdgeTest, ...]:
        """Return the tests of a component on at least one of these edges, in the order of the text."""
        return tuple(test for test in self.tests if test.variable == variable and not test.edges.isdisjoint(edges))


def match_layout(q: sase.SaseQuery) -> EdgeLayout:
    """Return the components of a query that are not negated, with the conditions to test on their edges."""
    absent = {k.variable for k in q.pattern if k.negated}
    place = {k.variable: n for n, k in enumerate(q.pattern)}
    tests = []
    for conjunct, p, mentioned in _predicates(q):
        variables = {a.variable or "" for a in mentioned}
        if variables.isdisjoint(absent):
            rightmost = max(variables, key=lambda v: place[v])
            tests.append(
                EdgeTest(p, mentioned, rightmost, edges_of(mentioned, rightmost), conjunct.underlined, conjunct.span)
            )
    return _layout(q, tuple(k for k in q.pattern if not k.negated), tests)


def absence_layout(q: sase.SaseQuery, k: sase.Component) -> EdgeLayout:
    """Return a negated component, with the conditions to test on the edges of its automaton; see `compile_absence`.

    These are all conjuncts of WHERE that mention the component. The automaton starts with a match of the other
    components, so all other variables already have their events.
    """
    tests = [
        EdgeTest(p, mentioned, k.variable, edges_of(mentioned, k.variable), conjunct.underlined, conjunct.span)
        for conjunct, p, mentioned in _predicates(q)
        if any(a.variable == k.variable for a in mentioned)
    ]
    return _layout(q, (k,), tests)


def edges_of(mentioned: Iterable[Attribute], variable: str) -> frozenset[Tested]:
    """Return the edges of a component on which a conjunct must be tested.

    mentioned: the references and aggregates of the conjunct. variable: the variable of the component.
    """
    identifiers = {identifier(a) for a in mentioned if a.variable == variable}
    if identifiers & WHOLE:
        return frozenset({"proceed"})
    edges: set[Tested] = set()
    if identifiers <= AT_START or identifiers == {"a[i]"}:
        edges.add("begin")
    if identifiers & MOVING:
        edges.add("take")
    return frozenset(edges)


def identifier(a: Attribute) -> Identifier:
    """Return the form of a reference or an aggregate of an array, such as "a[i]", "a[..i-1]" or "a[]"."""
    match a:
        case sase.SaseAggregate(running=running):
            return "a[..i-1]" if running else "a[]"
        case sase.Reference(place=place):
            return OF_PLACE[place]
        case _:
            raise TypeError(f"{a} is not a reference of SASE+")


def blocks_of(q: sase.SaseQuery | sase.SaseUnion) -> tuple[sase.SaseQuery, ...]:
    """Return the query blocks joined by UNION, or the query itself as the only one."""
    match q:
        case sase.SaseQuery():
            return (q,)
        case sase.SaseUnion(parts):
            return parts
        case _:
            assert_never(q)


def _layout(q: sase.SaseQuery, components: tuple[sase.Component, ...], tests: Iterable[EdgeTest]) -> EdgeLayout:
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
    return EdgeLayout(components, strategies, cuts, tuple(tests), equivalences)


def _predicates(q: sase.SaseQuery) -> Iterator[tuple[sase.Conjunct, Predicate, tuple[Attribute, ...]]]:
    """Yield the conjuncts of WHERE other than equivalence tests, each with its predicate and the attributes it
    mentions.
    """
    for block in q.where:
        for conjunct in block.conjuncts:
            if not isinstance(conjunct.condition, sase.Equivalence):
                yield conjunct, conjunct.condition, tuple(mentions(conjunct.condition))


FINAL = nfab.NfabState("final")
PLACES: Mapping[str, sase.Index] = {"single": "only", "first": "first", "more": "current"}


def compile_query(q: sase.SaseQuery, reading: Reading = DECIDED) -> nfab.NFAb:
    """Return the automaton of the positive components of a query (sase07, section 3.2)."""
    return _Rules(q, match_layout(q), reading).automaton()


def compile_absence(q: sase.SaseQuery, k: sase.Component, reading: Reading = DECIDED) -> nfab.NFAb:
    """Return the automaton of the events that a negated component forbids.

    Its buffer begins with a match of the positive components.
    """
    return _Absence(q, absence_layout(q, k), reading).automaton()


class _Rules:
    """The three steps of sase07, section 3.2, over the components of a layout."""

    def __init__(self, q: sase.SaseQuery, layout: EdgeLayout, reading: Reading) -> None:
        self.q, self.layout, self.reading = q, layout, reading
        self.states = (*(state for k in layout.components for state in states_of(k)), FINAL)

    def automaton(self) -> nfab.NFAb:
        theta: dict[nfab.NfabLabel, nfab.Formula] = {}
        for k in self.layout.components:
            for state in states_of(k):
                theta |= self.more(state, k) if state.kind == "more" else self.first(state, k)
        return nfab.NFAb(self.states, nfab.line(self.states), theta)

    def first(self, state: nfab.NfabState, k: sase.Component) -> dict[nfab.NfabLabel, nfab.Formula]:
        """Return the formulas of a state that selects a component's first event. The start state has no ignore edge."""
        begin: dict[nfab.NfabLabel, nfab.Formula] = {nfab.NfabLabel(state, "begin"): self.select(state, k)}
        return begin if state == self.states[0] else begin | {nfab.NfabLabel(state, "ignore"): self.skip(state, k)}

    def more(self, state: nfab.NfabState, k: sase.Component) -> dict[nfab.NfabLabel, nfab.Formula]:
        """Return the formulas of the state p[i], which selects further events of a Kleene plus."""

        def theta(part: nfab.Part) -> nfab.Formula:
            return nfab.Theta(nfab.NfabLabel(state, part))

        go_on = nfab.Negation(theta("forced-stop"))
        return {
            nfab.NfabLabel(state, "take"): nfab.NfabConjunction((go_on, self.select(state, k))),
            nfab.NfabLabel(state, "ignore"): nfab.NfabConjunction((go_on, self.skip(state, k))),
            nfab.NfabLabel(state, "forced-stop"): self.forced_stop(state, k),
            nfab.NfabLabel(state, "auto-stop"): nfab.NfabConjunction(
                (nfab.Negation(theta("take")), nfab.Negation(theta("ignore")))
            ),
            nfab.NfabLabel(state, "proceed"): self.proceed(state, k),
        }

    # --- relevant event definition ---

    def select(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        """Return θ_select: the type, the window, and the predicates of WHERE that this state can decide."""
        tests = [test for test, _ in self.tests(state)]
        return nfab.NfabConjunction((nfab.TypeTest(state, k.type), *tests, *self.window(state)))

    def tests(self, state: nfab.NfabState) -> Iterator[tuple[nfab.Formula, bool]]:
        """Yield the predicates on the event that the state awaits: pairs (test, whether it defines the partition)."""
        for attribute, in_partition in self.layout.equivalences:
            if (before := self.before(state)) is not None:
                here = sase.Reference(attribute, state.variable, PLACES[state.kind])
                canonical = Comparison("=", here, sase.Reference(attribute, *before))
                yield nfab.NfabTest(canonical, state), in_partition
        edge: Tested = "take" if state.kind == "more" else "begin"
        for test in self.layout.on(state.variable, edge):
            p = _with_i_1(test.predicate) if state.kind == "first" else test.predicate
            yield nfab.NfabTest(p, state), test.underlined

    def before(self, state: nfab.NfabState) -> tuple[str, sase.Index] | None:
        """Return a reference to the event selected just before. Equivalence tests compare with it (canonical form,
        section 2.2.1).
        """
        if state.kind == "more":
            return state.variable, "previous"
        if state == self.states[0]:
            return None
        before = self.states[self.states.index(state) - 1]
        return before.variable, "only" if before.kind == "single" else "last"

    def window(self, state: nfab.NfabState, over: bool = False) -> tuple[nfab.Formula, ...]:
        if self.q.within is None or state == self.states[0]:
            return ()
        return (nfab.Elapsed(state, self.states[0], self.q.within, self.reading.window == "closed", over),)

    # --- event selection strategy ---

    def skip(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        """Return θ_skip of sase07, Table 1."""
        match self.layout.strategies[k.variable]:
            case "strict_contiguity":
                return nfab.FALSE
            case "partition_contiguity":
                return nfab.Negation(
                    nfab.NfabConjunction(tuple(test for test, in_partition in self.tests(state) if in_partition))
                )
            case "skip_till_next_match":
                irrelevant = nfab.Negation(self.select(state, k))
                following = self.following(state)
                if state.kind == "more" and self.reading.kleene_skips == "neither" and following != FINAL:
                    return nfab.NfabConjunction(
                        (irrelevant, nfab.Negation(nfab.Theta(nfab.NfabLabel(following, "begin"))))
                    )
                return irrelevant
            case "skip_till_any_match":
                return nfab.TRUE
            case strategy:
                assert_never(strategy)

    def following(self, state: nfab.NfabState) -> nfab.NfabState:
        return self.states[self.states.index(state) + 1]

    # --- termination criteria ---

    def forced_stop(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        """Return θ_forced-stop: the window is over. With `!` it also holds if the component is complete or the next one
        can begin.
        """
        stops = [*self.window(state, over=True)]
        if k.variable in self.layout.cuts:
            end, following = self.end(k), self.following(state)
            if end:
                stops.append(nfab.NfabConjunction(end))
            elif following != FINAL:
                stops.append(nfab.Theta(nfab.NfabLabel(following, "begin")))
            elif self.reading.cut_in_last_place == "first":
                stops.append(nfab.TRUE)
        return nfab.NfabDisjunction(tuple(stops))

    def proceed(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        """Return θ_proceed: the condition on the last event.

        Without such a condition, θ_proceed holds if the next component can begin, or if the Kleene plus stops by itself
        (auto-stop).
        """
        if end := self.end(k):
            return nfab.NfabConjunction(end)
        if self.following(state) != FINAL:
            return nfab.NfabDisjunction(
                (
                    nfab.Theta(nfab.NfabLabel(self.following(state), "begin")),
                    nfab.Theta(nfab.NfabLabel(state, "auto-stop")),
                )
            )
        return nfab.TRUE if self.reading.last_kleene == "every" else nfab.Theta(nfab.NfabLabel(state, "auto-stop"))

    def end(self, k: sase.Component) -> tuple[nfab.Formula, ...]:
        """Return the predicates on a[a.LEN] and on aggregates over all of a, which read only the buffer."""
        return tuple(nfab.NfabTest(test.predicate, None) for test in self.layout.on(k.variable, "proceed"))


class _Absence(_Rules):
    """The rules for a negated component. All variables of the match are bound, and one accepting run forbids the
    match.
    """

    def before(self, state: nfab.NfabState) -> tuple[str, sase.Index] | None:
        if state.kind == "more":
            return super().before(state)
        at = self.q.pattern.index(self.layout.components[0])
        earlier = [k for k in self.q.pattern[:at] if not k.negated]
        if earlier:
            return earlier[-1].variable, "last" if earlier[-1].kleene else "only"
        first = next(k for k in self.q.pattern if not k.negated)
        return first.variable, "first" if first.kleene else "only"

    # No window here: `moves.in_scope` says which events can be in the component at all.
    def window(self, state: nfab.NfabState, over: bool = False) -> tuple[nfab.Formula, ...]:
        return ()

    def skip(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        return nfab.TRUE if self.reading.negated_series == "any" else super().skip(state, k)

    def forced_stop(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        return nfab.FALSE

    def proceed(self, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        return nfab.NfabConjunction(self.end(k))


def states_of(k: sase.Component) -> tuple[nfab.NfabState, ...]:
    """Return the singleton state of a component, or the pair of states of a Kleene plus (sase07, section 3.1)."""
    if k.kleene:
        return nfab.NfabState("first", k.variable), nfab.NfabState("more", k.variable)
    return (nfab.NfabState("single", k.variable),)


def _with_i_1(p: Predicate) -> Predicate:
    """Return an individual iterator predicate for i = 1, that is, with b[1] instead of b[i]."""

    def at_1(attribute: Attribute) -> Attribute:
        match attribute:
            case sase.Reference(name, variable, "current"):
                return sase.Reference(name, variable, "first")
            case _:
                return attribute

    return mapped_predicate(p, at_1)
