"""From SASE+ to NFA^b: the compilation rules of sase07, section 3.2, in its order, for one query without composition.

What the text leaves to the reader is added: the type of each component stands on its begin and take edges, and so does
the window. Negated components have no states, as a simple query has none; each gets an automaton of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from cerify.automata.nfab import model as nfab
from cerify.automata.nfab.edges import Layout, Tested, absence_layout, match_layout
from cerify.semantics.predicates import Attribute, Comparison, Predicate, mapped_predicate
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.reading import DECIDED, Reading

FINAL = nfab.State("final")
PLACES: Mapping[str, sase.Index] = {"single": "only", "first": "first", "more": "current"}


def compile_query(q: sase.Query, reading: Reading = DECIDED) -> nfab.NFAb:
    """The automaton of what a query binds (section 3.2)."""
    return _Rules(q, match_layout(q), reading).automaton()


def compile_absence(q: sase.Query, k: sase.Component, reading: Reading = DECIDED) -> nfab.NFAb:
    """The automaton of what a negated component must not find; it begins with a match of the others in its buffer."""
    return _Absence(q, absence_layout(q, k), reading).automaton()


class _Rules:
    """The three steps of section 3.2 over the components of a layout."""

    def __init__(self, q: sase.Query, layout: Layout, reading: Reading) -> None:
        self.q, self.layout, self.reading = q, layout, reading
        self.states = (*(state for k in layout.components for state in states_of(k)), FINAL)

    def automaton(self) -> nfab.NFAb:
        theta: dict[nfab.Label, nfab.Formula] = {}
        for k in self.layout.components:
            for state in states_of(k):
                theta |= self.more(state, k) if state.kind == "more" else self.first(state, k)
        return nfab.NFAb(self.states, nfab.line(self.states), theta)

    def first(self, state: nfab.State, k: sase.Component) -> dict[nfab.Label, nfab.Formula]:
        """A state that selects the first event of a component: the start state may not ignore."""
        begin: dict[nfab.Label, nfab.Formula] = {nfab.Label(state, "begin"): self.select(state, k)}
        return begin if state == self.states[0] else begin | {nfab.Label(state, "ignore"): self.skip(state, k)}

    def more(self, state: nfab.State, k: sase.Component) -> dict[nfab.Label, nfab.Formula]:
        """A state that selects more events of a Kleene plus."""

        def theta(part: nfab.Part) -> nfab.Formula:
            return nfab.Theta(nfab.Label(state, part))

        go_on = nfab.Negation(theta("forced-stop"))
        return {
            nfab.Label(state, "take"): nfab.Conjunction((go_on, self.select(state, k))),
            nfab.Label(state, "ignore"): nfab.Conjunction((go_on, self.skip(state, k))),
            nfab.Label(state, "forced-stop"): self.forced_stop(state, k),
            nfab.Label(state, "auto-stop"): nfab.Conjunction(
                (nfab.Negation(theta("take")), nfab.Negation(theta("ignore")))
            ),
            nfab.Label(state, "proceed"): self.proceed(state, k),
        }

    # --- relevant event definition ---

    def select(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        """θ_select: all predicates of WHERE whose last identifier the state awaits, and the window."""
        tests = [test for test, _ in self.tests(state)]
        return nfab.Conjunction((nfab.Typed(state, k.type), *tests, *self.window(state)))

    def tests(self, state: nfab.State) -> Iterator[tuple[nfab.Formula, bool]]:
        """The predicates on the event that the state awaits, each with whether it defines the partition."""
        for attribute, in_partition in self.layout.equivalences:
            if (before := self.before(state)) is not None:
                here = sase.Reference(attribute, state.variable, PLACES[state.kind])
                canonical = Comparison("=", here, sase.Reference(attribute, *before))
                yield nfab.Test(canonical, state), in_partition
        edge: Tested = "take" if state.kind == "more" else "begin"
        for test in self.layout.on(state.variable, edge):
            p = _with_i_1(test.predicate) if state.kind == "first" else test.predicate
            yield nfab.Test(p, state), test.underlined

    def before(self, state: nfab.State) -> tuple[str, sase.Index] | None:
        """The event selected before, with which an equivalence test compares in its canonical form (section 2.2.1)."""
        if state.kind == "more":
            return state.variable, "previous"
        if state == self.states[0]:
            return None
        before = self.states[self.states.index(state) - 1]
        return before.variable, "only" if before.kind == "single" else "last"

    def window(self, state: nfab.State, over: bool = False) -> tuple[nfab.Formula, ...]:
        if self.q.within is None or state == self.states[0]:
            return ()
        return (nfab.Elapsed(state, self.states[0], self.q.within, self.reading.window == "closed", over),)

    # --- event selection strategy ---

    def skip(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        """θ_skip: Table 1."""
        match self.layout.strategies[k.variable]:
            case "strict_contiguity":
                return nfab.FALSE
            case "partition_contiguity":
                return nfab.Negation(
                    nfab.Conjunction(tuple(test for test, in_partition in self.tests(state) if in_partition))
                )
            case "skip_till_next_match":
                irrelevant = nfab.Negation(self.select(state, k))
                following = self.following(state)
                if state.kind == "more" and self.reading.kleene_skips == "neither" and following != FINAL:
                    return nfab.Conjunction((irrelevant, nfab.Negation(nfab.Theta(nfab.Label(following, "begin")))))
                return irrelevant
            case "skip_till_any_match":
                return nfab.TRUE
            case strategy:
                assert_never(strategy)

    def following(self, state: nfab.State) -> nfab.State:
        return self.states[self.states.index(state) + 1]

    # --- termination criteria ---

    def forced_stop(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        """θ_forced-stop: the window, and with `!` the condition on the last event or the next component's."""
        stops = [*self.window(state, over=True)]
        if k.variable in self.layout.cuts:
            end, following = self.end(k), self.following(state)
            if end:
                stops.append(nfab.Conjunction(end))
            elif following != FINAL:
                stops.append(nfab.Theta(nfab.Label(following, "begin")))
            elif self.reading.cut_in_last_place == "first":
                stops.append(nfab.TRUE)
        return nfab.Disjunction(tuple(stops))

    def proceed(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        """θ_proceed: the condition on the last event if there is one; else the next component's, or auto-stop."""
        if end := self.end(k):
            return nfab.Conjunction(end)
        if self.following(state) != FINAL:
            return nfab.Disjunction(
                (nfab.Theta(nfab.Label(self.following(state), "begin")), nfab.Theta(nfab.Label(state, "auto-stop")))
            )
        return nfab.TRUE if self.reading.last_kleene == "every" else nfab.Theta(nfab.Label(state, "auto-stop"))

    def end(self, k: sase.Component) -> tuple[nfab.Formula, ...]:
        """The predicates on a[a.LEN] and on whole aggregates of a: they look at the buffer alone."""
        return tuple(nfab.Test(test.predicate, None) for test in self.layout.on(k.variable, "proceed"))


class _Absence(_Rules):
    """The same for a negated component, all variables of the match being bound; that there is one is enough."""

    def before(self, state: nfab.State) -> tuple[str, sase.Index] | None:
        if state.kind == "more":
            return super().before(state)
        at = self.q.pattern.index(self.layout.components[0])
        earlier = [k for k in self.q.pattern[:at] if not k.negated]
        if earlier:
            return earlier[-1].variable, "last" if earlier[-1].kleene else "only"
        first = next(k for k in self.q.pattern if not k.negated)
        return first.variable, "first" if first.kleene else "only"

    def window(self, state: nfab.State, over: bool = False) -> tuple[nfab.Formula, ...]:
        return ()

    def skip(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        return nfab.TRUE if self.reading.negated_series == "any" else super().skip(state, k)

    def forced_stop(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        return nfab.FALSE

    def proceed(self, state: nfab.State, k: sase.Component) -> nfab.Formula:
        return nfab.Conjunction(self.end(k))


def states_of(k: sase.Component) -> tuple[nfab.State, ...]:
    """A singleton state, or the pair of a Kleene plus (section 3.1)."""
    if k.kleene:
        return nfab.State("first", k.variable), nfab.State("more", k.variable)
    return (nfab.State("single", k.variable),)


def _with_i_1(p: Predicate) -> Predicate:
    """An individual iterator predicate where i is 1: it speaks of b[1]."""

    def at_1(attribute: Attribute) -> Attribute:
        match attribute:
            case sase.Reference(name, variable, "current"):
                return sase.Reference(name, variable, "first")
            case _:
                return attribute

    return mapped_predicate(p, at_1)
