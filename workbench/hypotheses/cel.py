"""Hypotheses about CEL: an interpreter of Figure 3 of tods21 in which the meaning of each operator is a choice.

Names are those of cerify.semantics.cel.denote: phi and psi are formulas, i and j the ends of an interval, mu a
valuation, C a set of positions. Read the two modules together: with the default of every axis, each case is the
clause of that module. A parameter `follow` is the formula that comes next in the sequence, if there is one: some
engines decide by it when an iteration ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import chain, count, islice, product
from typing import Any, TypeAlias, assert_never

from cerify.automata.evaluator import Output
from cerify.equivalence.rewrite.normal_forms import bindable, rename_variable
from cerify.hypotheses.interpretation import (
    AT_MOST,
    AT_MOST_SAYS,
    BACKTRACKING,
    BETWEEN_STEPS,
    CONDITIONS,
    EMIT,
    EVENT_ORDER,
    INTEGERS,
    OVERLAP,
    OVERLAP_PER_KEY,
    TIES,
    WINDOW_DEFAULT,
    Axis,
    Choices,
    ConditionVariant,
    Interpretation,
    Stage,
    Template,
    as_double,
    axes,
    conditions,
    events,
    selections,
    sentence,
    types,
)
from cerify.semantics.arguments import Budget
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import (
    NONE,
    SECONDS,
    Valuations,
    at,
    bind,
    contiguous,
    first,
    interleavings,
    last,
    last_at_most,
    next_at_most,
    sup,
)
from cerify.semantics.cel.syntax import OPERATORS
from cerify.semantics.errors import BudgetExceeded, Unsupported
from cerify.semantics.events import TIME, ComplexEvent, Match, Stream, Valuation, bindings_of
from cerify.semantics.predicates import Predicate, compare, mentions
from cerify.semantics.trees import children, rebuilt
from cerify.semantics.values import Value, kind

SEQUENCES = ("any", "next-from-left", "next-from-right", "strict", "nearest")
LOOPS = (
    *("all", "omit-nothing", "contiguous", "greedy", "at-least-two", "single", "until-next"),
    *("taken-until-next", "never-left", "no-gaps", "reported-early", *AT_MOST),
)
WINDOWS = ("closed", "open", "off-by-one", "integer", "tumbling", "unlimited")
AMOUNTS = ("amount-cut", "seconds")
MEASURES = {cel.EventWindow: "events", cel.TimeWindow: "time", cel.AttributeWindow: "attribute"}
SELECTIONS = ("as-defined", "ignored", "strict", "nxt", "last", "max")

SEQUENCE_MEANS = {
    "any": "any",
    "next-from-left": "the first that can follow",
    "next-from-right": "any with no other first part in between",
    "strict": "the next event",
    "nearest": "the first that can follow, with no other first part in between",
}
LOOP_MEANS = {
    "all": "any",
    "omit-nothing": "all that fit, from the first one taken up to the next part",
    "contiguous": "adjacent ones",
    "greedy": "the longest only",
    "at-least-two": "two or more",
    "single": "one",
    "until-next": "any, up to the first event that can begin the next part",
    "taken-until-next": "all that fit, up to the first event that can begin the next part",
    "never-left": "any, but no further part can follow",
    "no-gaps": "all that fit, from the first to the last one taken",
    "reported-early": "any, and a match ends with them, without the next part",
    **AT_MOST_SAYS,
}
WINDOW_MEANS = {
    "closed": "is in",
    "open": "is out",
    "off-by-one": "is in, and so is one that spans the width plus one",
    "integer": "is in, with spans and widths cut to whole numbers",
    "tumbling": "is in if it is in one of the windows, which follow one another without overlap",
    "unlimited": "is in, and so is any longer one: the window is ignored",
    "amount-cut": "is in, with the amount of the width cut to a whole number of its unit",
    "seconds": "is in, with the amount of the width taken as seconds, whatever its unit",
}


def sequence_axis(name: str, values: tuple[str, ...]) -> Axis:
    """Return the axis with this name, whose values are the meanings that engines give to a sequence."""
    return Axis(
        name, values, (name.rpartition("@")[2],), sentence("the second part after the first", values, SEQUENCE_MEANS)
    )


def loop_axis(name: str, values: tuple[str, ...], operator: str) -> Axis:
    """Return the axis with this name, whose values are the meanings that engines give to this operator of iteration."""
    return Axis(name, values, (operator,), sentence("rounds of an iteration", values, LOOP_MEANS))


def _window(measure: str, values: tuple[str, ...] = WINDOWS) -> Axis:
    says = sentence("a match that spans the width exactly", values, WINDOW_MEANS)
    return Axis(f"window@{measure}", values, (f"within-{measure}",), says)


def _selection(name: str) -> Axis:
    values = tuple(v for v in SELECTIONS if v != name)
    means = {"as-defined": "as defined", "ignored": "ignored"}
    says = sentence("the strategy is", values, {v: f"taken for {v.upper()}" for v in values} | means)
    return Axis(f"selection@{name}", values, (name,), says)


FILTER = Axis("filter", ("as-defined", "ignored"), ("filter",), "FILTER: as defined; ignored")
GUARD = Axis(
    "guard",
    ("after", "step", "run", "step-only"),
    ("filter",),
    "a filter applies: to complete matches; already when events are taken, if it is on one variable; already when "
    "events are taken, also if it compares them; already when events are taken, if it is on one variable without OR, "
    "and otherwise to complete matches, also if it stands at a part of the query",
)
FILTER_CONNECTIVES = Axis(
    "filter-connectives",
    ("as-defined", "and-as-or", "or-as-and"),
    ("filter",),
    "AND and OR between conditions: as defined; AND is taken for OR; OR is taken for AND",
)
KEYED = ("partition", "perkey")  # they compare keys, and an engine compares these as it compares other integers
FILTER_CONDITIONS = tuple(
    Axis(one.name, one.values, ("filter", *(KEYED if one is INTEGERS else ())), one.says) for one in CONDITIONS
)
OR = Axis(
    "or",
    ("both", "left-first"),
    ("or",),
    "OR has the matches: of both sides; of the right side only where the left has none",
)
ALTERNATIVES = Axis(
    "alternatives",
    ("together", "apart"),
    ("or",),
    "OR stands for: a choice inside its query; a separate query for each side",
)
BRACKETS = Axis(
    "brackets",
    ("kept", "dropped"),
    ("cseq",),
    "brackets in a sequence with `:`: group its steps; are ignored, so that steps are taken one by one, and `:` only "
    "requires that two events taken are neighbours",
)
WHOLE_WINDOW = "substream-whole-window"
STRATEGIES = ("strict", "nxt", "last", "max")
MOST_ALTERNATIVES = 200  # queries that stand for one with OR
SELECTION_AXES = tuple(map(_selection, STRATEGIES))

OVERLAP_AND_BACKTRACKING = replace(
    OVERLAP,
    values=(*OVERLAP.values, *BACKTRACKING),
    says=f"{OVERLAP.says}; no, they are found one after the other, as by a backtracking regular expression with .* in "
    "the gaps; no, the same with .*? in the gaps",
)

STEPS, STEPS_OF_NEIGHBOURS = (
    Axis(
        name,
        ("apart", "shared"),
        (operator,),
        f"two steps of a sequence with `{sign}`: take different events; may take the same event, if it fits both",
    )
    for name, operator, sign in (("steps", "seq", ";"), ("steps@cseq", "cseq", ":"))
)
TIES_OF_STEPS = replace(
    TIES,
    values=(*TIES.values, BETWEEN_STEPS),
    says=f"{TIES.says}; a step never follows an event with the same time, and takes a later one",
)

AXES = axes(
    sequence_axis("seq", SEQUENCES),
    sequence_axis("seq@cseq", ("strict", "any", "next-from-left", "next-from-right")),
    STEPS,
    STEPS_OF_NEIGHBOURS,
    loop_axis("loop", LOOPS, "plus"),
    loop_axis("loop@cplus", ("contiguous", "all", "greedy", "at-least-two", "single", *AT_MOST), "cplus"),
    OVERLAP_AND_BACKTRACKING,
    EMIT,
    EVENT_ORDER,
    TIES_OF_STEPS,
    WINDOW_DEFAULT,
    _window("events", tuple(w for w in WINDOWS if w != "integer")),
    _window("time", (*WINDOWS, *AMOUNTS)),
    _window("attribute"),
    Axis(
        "spans",
        ("exact", "64-bit"),
        ("within-time", "within-attribute"),
        "the span of a match: is exact; is computed in 64 bits, and overflows for distant values",
    ),
    Axis(
        "partition",
        ("filter", "substream", "ignored", WHOLE_WINDOW),
        ("partition",),
        "PARTITION BY: keeps matches with one key; is evaluated over the events of each key alone; is ignored; is "
        "evaluated over the events of each key alone, but WITHIN n EVENTS inside it counts the events of all keys",
    ),
    Axis(
        "partition@unless",
        ("all", "substream"),
        ("partition",),
        "under PARTITION BY, UNLESS looks for its right side: among all events; among the events of the same key",
    ),
    Axis(
        "partition@absent",
        ("dropped", "one-key"),
        ("partition",),
        "events without the attribute of PARTITION BY: are left out; have one key",
    ),
    Axis(
        "perkey",
        ("substream", "ignored", "filter"),
        ("perkey",),
        "PER KEY: is evaluated over the events of each key alone; is ignored; keeps matches with one key",
    ),
    OVERLAP_PER_KEY,
    FILTER,
    GUARD,
    Axis(
        "filter-loop",
        ("every", "some", "first", "last"),
        ("filter",),
        "a filter on a variable of several events: is true of every one; of some; of the first; of the last",
    ),
    Axis("unbound", ("true", "false"), ("filter",), "a filter on a variable that has no event: is true; is false"),
    FILTER_CONNECTIVES,
    *FILTER_CONDITIONS,
    OR,
    ALTERNATIVES,
    BRACKETS,
    Axis(
        "and",
        ("valuations", "events"),
        ("and",),
        "AND: requires the same valuation on both sides; requires only the same events",
    ),
    Axis(
        "all",
        ("as-defined", "disjoint", "one-after-the-other"),
        ("all",),
        "ALL: the sides interleave and may share events; share none; come one after the other",
    ),
    Axis(
        "negation",
        ("all", "next", "any-between", "inside", "untaken", "whole", "ignored"),
        ("unless",),
        "where UNLESS looks for its right side: from the beginning of the stream to the end of the match; at the event "
        "after the first event of the match; from its first to its last event; after its first and before its last "
        "event; from the beginning of the stream to the end of the match, among the events that the match does not "
        "take; only where it ends with the match; nowhere",
    ),
    Axis("start", ("interval", "stream", "ignored"), ("start",), "START: of the interval; of the stream; ignored"),
    Axis("in", ("all", "last"), ("in",), "IN binds all events; the last one only"),
    Axis("project", ("as-defined", "ignored"), ("project",), "PROJECT: as defined; ignored"),
    *SELECTION_AXES,
)
CLOSING = frozenset({"omit-nothing", "greedy", "taken-until-next"})
"""Values of the axis `loop` with which no further round may fit between the last round and the formula that follows."""


def find_matches(phi: cel.Formula, S: Stream, choices: Choices, output: Output, budget: Budget) -> list[Match]:
    """Return the matches at all positions, for an engine with these choices.

    Raises EngineError, Unsupported and BudgetExceeded.
    """
    interpreter = CelVariant(S, choices, budget)
    with_bindings = output == "valuations"
    phi = phi if choices["guard"] == "after" else guarded(phi, choices["guard"])
    queries = separate_queries(phi, choices)
    if choices["guard"] == "step-only":
        queries = list(map(only_steps_guarded, queries))
    found = []
    for n in range(len(S)):
        mus: set[Valuation] = set()
        for query in queries:
            # With left-first, a later alternative counts only if no earlier one has a match at this event.
            if not (mus and choices["or"] == "left-first"):
                mus |= interpreter.ending(query, n)
        told = {(tuple(sorted(sup(mu))), bindings_of(unmarked(mu)) if with_bindings else None) for mu in mus}
        found += [Match(n, events, bindings) for events, bindings in told]
    return found


def separate_queries(phi: cel.Formula, choices: Choices) -> list[cel.Formula]:
    """Return the formulas that an engine evaluates instead of phi: phi, or one for each of its alternatives.

    Raises BudgetExceeded.
    """
    queries = [phi]
    if choices[ALTERNATIVES.name] == "apart":
        queries = list(islice(alternatives(phi), MOST_ALTERNATIVES))
        if len(queries) == MOST_ALTERNATIVES:
            raise BudgetExceeded(f"the ORs of the query stand for {MOST_ALTERNATIVES} queries or more; use fewer ORs")
    if choices[BRACKETS.name] == "dropped":
        # An engine that takes the last event before each one begins with the last step.
        return [without_brackets(query, from_right=choices["seq"] == "next-from-right") for query in queries]
    return queries


Join: TypeAlias = type[cel.Seq] | type[cel.ContiguousSeq]


def without_brackets(phi: cel.Formula, from_right: bool) -> cel.Formula:
    """Return a formula in which each sequence of sequences is one chain of steps, joined from the left or the right."""
    if not isinstance(phi, cel.Seq | cel.ContiguousSeq):
        below = [without_brackets(psi, from_right) for psi in children(phi)]
        return rebuilt(phi, below) if below else phi
    steps = [(join, without_brackets(step, from_right)) for join, step in _steps_of(phi, cel.Seq)]
    if from_right:
        join, whole = steps.pop()
        for before, step in reversed(steps):
            join, whole = before, join(step, whole)
        return whole
    whole = steps[0][1]
    for join, step in steps[1:]:
        whole = join(whole, step)
    return whole


def _steps_of(phi: cel.Formula, join: Join) -> Iterator[tuple[Join, cel.Formula]]:
    """Yield the steps of a sequence of sequences, each with the operator before it (for the first one, `join`).

    If an IN, or a filter on the events of one variable, applies to a whole sequence, it is moved to each of its steps.
    """
    if not _is_sequence(phi):
        yield join, phi
        return
    match phi:
        case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
            yield from _steps_of(left, join)
            yield from _steps_of(right, type(phi))
        case cel.In(psi, A):
            yield from ((before, cel.In(step, A)) for before, step in _steps_of(psi, join))
        case cel.Filter(psi, cel.Every(A, _) as condition):
            for before, step in _steps_of(psi, join):
                yield before, cel.Filter(step, condition) if A in bindable(step) else step


def _is_sequence(phi: cel.Formula) -> bool:
    while isinstance(phi, cel.In) or (isinstance(phi, cel.Filter) and isinstance(phi.condition, cel.Every)):
        phi = phi.phi
    return isinstance(phi, cel.Seq | cel.ContiguousSeq)


def parts(phi: cel.Formula, choices: Choices) -> list[cel.Formula]:
    """Return the formulas whose matches an engine reports independently of each other.

    Most engines evaluate each alternative of OR by itself. With the choice left-first, alternatives depend on each
    other, and the whole formula is one part.
    """
    return [phi] if choices["or"] == "left-first" else separate_queries(phi, choices)


def unhidden(phi: cel.Formula, choices: Choices) -> tuple[cel.Formula, frozenset[str] | None]:
    """Return the formula without PROJECT, and the variables whose events are shown.

    Return the formula itself and None if this would change its meaning. This is so if a hidden variable is also shown
    elsewhere or used by a filter, or if PROJECT is inside an operator other than a sequence, OR and filter.
    """
    if choices["project"] == "as-defined" and any(isinstance(psi, cel.Project) for psi in cel.subformulas(phi)):
        whole, hidden, shown = lifted(phi)
        if whole is not None and hidden.isdisjoint(shown):
            return whole, frozenset(shown)
    return phi, None


def lifted(phi: cel.Formula) -> tuple[cel.Formula | None, set[str], set[str]]:
    """Return phi without PROJECT (None if this changes its meaning), the variables that PROJECT hides, and the
    others.
    """
    match phi:
        case cel.Project(L, psi):
            whole, hidden, shown = lifted(psi)
            return whole, hidden | (shown - L), shown & L
        case cel.Seq(left, right) | cel.Or(left, right):
            (one, hidden, shown), (other, hidden_too, shown_too) = lifted(left), lifted(right)
            whole = rebuilt(phi, [one, other]) if one is not None and other is not None else None
            return whole, hidden | hidden_too, shown | shown_too
        case cel.Filter(psi, condition):
            whole, hidden, shown = lifted(psi)
            whole = cel.Filter(whole, condition) if whole and hidden.isdisjoint(variables_of(condition)) else None
            return whole, hidden, shown
    plain = not any(isinstance(psi, cel.Project) for psi in cel.subformulas(phi))
    return phi if plain else None, set(), bound_in(phi)


def alternatives(phi: cel.Formula) -> Iterator[cel.Formula]:
    """Yield the formulas without OR that together mean phi: one for each choice of sides, except inside loops.

    Nested sequences become one flat chain of steps, because engines that read OR as separate queries also read them so.
    """
    match phi:
        case cel.Seq(left, right):
            yield from (chained(*sides) for sides in product(alternatives(left), alternatives(right)))
        case cel.Or(left, right):
            yield from chain(alternatives(left), alternatives(right))
        case cel.Unless(left, right):
            yield from (cel.Unless(one, right) for one in alternatives(left))
        case cel.EventAtom() | cel.Iteration() | cel.Start() | cel.Preference() | cel.PerKey() | cel.Derived():
            yield phi
        case cel.ContiguousSeq() | cel.And() | cel.All() | cel.In() | cel.Project() | cel.Restriction():
            yield from (rebuilt(phi, below) for below in product(*map(alternatives, children(phi))))
        case _:
            assert_never(phi)


def chained(left: cel.Formula, right: cel.Formula) -> cel.Formula:
    """Return left ; right, as the flat sequence of all steps of both formulas."""
    return cel.Seq(chained(left, right.left), right.right) if isinstance(right, cel.Seq) else cel.Seq(left, right)


def operators(phi: cel.Formula) -> frozenset[str]:
    """Return the names of the operators in a formula; the name of a window includes what it measures, as in
    within-time.
    """
    names = set()
    for psi in cel.subformulas(cel.expanded(phi)):
        name = OPERATORS[type(psi)].name
        names.add(f"{name}-{MEASURES[type(psi.window)]}" if isinstance(psi, cel.Within) else name)
    return frozenset(names)


def repeats(phi: cel.Formula) -> bool:
    """Return whether a formula names an event type twice."""
    named = [psi.type for psi in cel.subformulas(cel.expanded(phi)) if isinstance(psi, cel.EventAtom)]
    return len({*named}) < len(named)


class CelVariant:
    """An interpreter that finds the valuations of formulas over one stream for an engine with these choices.

    Each set of valuations is computed once.
    """

    def __init__(self, S: Stream, choices: Choices, budget: Budget) -> None:
        self.S, self.choices, self.budget = S, choices, budget
        self.conditions = ConditionVariant(choices)
        self._made = 0
        self._computed: dict[tuple[int, int, int, int], Valuations] = {}
        self._rounds: dict[int, cel.Formula | None] = {}
        self._substreams: dict[tuple[bool, tuple[int, ...]], CelVariant] = {}
        self._guard_key: str | None = None  # the attribute of a partition whose UNLESS sees only the events of its key
        self._places: tuple[int, ...] = ()  # for a substream, the positions by which its windows count, if not its own
        self._alive: list[cel.Formula] = []  # keys are identities of formulas, which must not be reused

    def meaning(self, phi: cel.Formula, i: int, j: int, follow: cel.Formula | None = None) -> Valuations:
        """Return the valuations of phi from i to j. Raises BudgetExceeded.

        follow: the formula that comes after phi in the query, on which some engines' choices depend; None for nothing.
        """
        key = (id(phi), i, j, id(follow))
        if (mus := self._computed.get(key)) is None:
            self._alive.append(phi)
            mus = self._computed[key] = frozenset(self.clause(phi, i, j, follow))
            self._made += 1 + len(mus)
            if self._made > self.budget.valuations:
                raise BudgetExceeded(
                    f"the query needs more than {self.budget.valuations} valuations; shorten the stream"
                )
        return mus

    def clause(self, phi: cel.Formula, i: int, j: int, follow: cel.Formula | None) -> Iterable[Valuation]:
        """Return the valuations of phi from i to j, by the clause of its operator and the choices."""
        choices = self.choices
        match phi:
            case cel.EventAtom(R):
                return {bind(R, {j})} if self.S[j].type == R else NONE
            case cel.In(psi, A):
                return (mu - at(mu, A) | bind(A, self.bound(mu)) for mu in self.meaning(psi, i, j, follow))
            case cel.Filter(psi, condition):
                if choices["guard"] == "run" and isinstance(psi, cel.Seq) and choices["filter"] != "ignored":
                    return self.sequenced(psi, i, j, follow, condition)
                mus = self.meaning(psi, i, j, follow)
                if choices["filter"] == "ignored":
                    return mus
                return (mu for mu in mus if self.satisfies(mu, condition))
            case cel.Seq() | cel.ContiguousSeq():
                return self.sequenced(phi, i, j, follow)
            case cel.Plus(psi):
                return self.iterate(phi, psi, i, j, choices["loop"], follow)
            case cel.ContiguousPlus(psi):
                return self.iterate(phi, psi, i, j, choices["loop@cplus"], follow)
            case cel.Project(L, psi):
                mus = self.meaning(psi, i, j, follow)
                if choices["project"] == "ignored":
                    return mus
                return (frozenset((A, p) for A, p in mu if A in L) for mu in mus)
            case cel.Start(psi):
                begin = {"interval": i, "stream": 0}.get(choices["start"])
                mus = self.meaning(psi, i, j, follow)
                return mus if begin is None else (mu for mu in mus if mu and first(mu) == begin)
            case cel.Or(left, right):
                mus = self.meaning(left, i, j, follow)
                return mus if mus and choices["or"] == "left-first" else mus | self.meaning(right, i, j, follow)
            case cel.And(left, right):
                return self.conjoined(self.meaning(left, i, j), self.meaning(right, i, j))
            case cel.All(left, right):
                return self.interleaved(left, right, i, j)
            case cel.Unless(left, right):
                return (mu for mu in self.meaning(left, i, j) if not self.spoilt(mu, right, i, j))
            case cel.Strict(psi) | cel.Preference(psi):
                name = OPERATORS[type(phi)].name
                chosen = choices[f"selection@{name}"]
                return selected(name if chosen == "as-defined" else chosen, self.meaning(psi, i, j))
            case cel.Within(psi, window):
                return (mu for mu in self.meaning(psi, i, j, follow) if self.fits(window, sup(mu)))
            case cel.PartitionBy(psi, a):
                return self.partitioned(psi, a, i, j, follow)
            case cel.PerKey(psi, names) if choices["perkey"] != "substream":
                keys = () if choices["perkey"] == "ignored" else names
                return (mu for mu in self.meaning(psi, i, j, follow) if all(self.agree(mu, a) for a in keys))
            case cel.PerKey(psi, names):
                return self.per_key(psi, names, i, j, follow)
            case cel.Derived():
                return self.meaning(phi.expansion, i, j, follow)
            case _:
                assert_never(phi)

    # --- backtracking -------------------------------------------------------------------------------------------------

    def ending(self, phi: cel.Formula, j: int) -> Valuations:
        """Return the valuations of a whole query that end at position j.

        An engine that backtracks finds one match after the other, from the beginning of the stream; for it, return only
        the valuation that it finds at j, if any.
        """
        if self.choices["overlap"] not in BACKTRACKING:
            return self.meaning(phi, 0, j)
        found, i = set(), 0
        # From the beginning for each j: what a search takes depends on where the match before it ended.
        while i <= j:
            mu, end = next(self.backtrack(phi, i), (None, i))
            if mu is not None and end == j:
                found.add(mu)
            i = end + 1
        return frozenset(found)

    def backtrack(self, phi: cel.Formula, i: int) -> Iterator[tuple[Valuation, int]]:
        """Yield the valuations of phi that begin with event i, and their ends, in the order of a backtracking search.

        For OR the left side is tried first, and an iteration tries another round before it ends.
        """
        self._made += 1
        if self._made > self.budget.valuations:
            raise BudgetExceeded(
                f"the query needs more than {self.budget.valuations} steps of backtracking; shorten the stream"
            )
        if (rounds := cel.rounds_of(phi)) is not None:
            yield from self.try_rounds(rounds.phi, i, rounds.adjacent, rounds.least, rounds.most)
            return
        match phi:
            case cel.EventAtom(R):
                if self.S[i].type == R:
                    yield bind(R, {i}), i
            case cel.Or(left, right):
                yield from self.backtrack(left, i)
                yield from self.backtrack(right, i)
            case cel.Seq(left, right) | cel.ContiguousSeq(left, right):
                for mu1, k in self.backtrack(left, i):
                    for start in self.after(k, isinstance(phi, cel.ContiguousSeq), self.choices["seq"]):
                        yield from ((mu1 | mu2, end) for mu2, end in self.backtrack(right, start))
            case cel.In(psi, A):
                yield from ((mu - at(mu, A) | bind(A, self.bound(mu)), end) for mu, end in self.backtrack(psi, i))
            case cel.Filter(psi, condition):
                yield from ((mu, end) for mu, end in self.backtrack(psi, i) if self.satisfies(mu, condition))
            case cel.Within(psi, window):
                yield from ((mu, end) for mu, end in self.backtrack(psi, i) if self.fits(window, sup(mu)))
            case cel.PartitionBy(psi, a) if self.choices[OVERLAP_PER_KEY.name] == "stream":
                for mu, end in self.backtrack(psi, i):
                    if self.agree(mu, a):
                        yield mu, end
            case cel.Strict(psi) if self.choices["selection@strict"] == "as-defined":
                yield from ((mu, end) for mu, end in self.backtrack(psi, i) if KEEPS["strict"](sup(mu), set()))
            case cel.Derived():
                yield from self.backtrack(phi.expansion, i)
            case _:
                raise Unsupported(f"backtracking does not support {OPERATORS[type(phi)].name}")

    def try_rounds(
        self, psi: cel.Formula, i: int, adjacent: bool, least: int, most: int | None
    ) -> Iterator[tuple[Valuation, int]]:
        """Yield the valuations of an iteration of psi that begins with event i, and their ends, most rounds first."""
        for mu1, k in self.backtrack(psi, i):
            for start in self.after(k, adjacent, self.choices["loop"]) if most != 1 else ():
                rest = self.try_rounds(psi, start, adjacent, least - 1, most and most - 1)
                yield from ((mu1 | mu2, end) for mu2, end in rest)
            if least <= 1:
                yield mu1, k

    def after(self, k: int, adjacent: bool, gaps: str) -> Iterable[int]:
        """Return the positions at which the next part may begin after event k, in the order of the search.

        adjacent: whether it must begin directly after k. gaps: the choice about events in between.
        """
        if adjacent or gaps in ("strict", "contiguous"):
            return range(k + 1, min(k + 2, len(self.S)))
        if (
            gaps not in ("any", "all")
            or "shared" in (self.choices["steps"], self.choices["steps@cseq"])
            or self.choices["ties"] == BETWEEN_STEPS
        ):
            raise Unsupported(f"backtracking does not support gaps={gaps}")
        later = range(k + 1, len(self.S))
        return later if self.choices["overlap"] == "leftmost-first-lazy" else reversed(later)

    # --- sequences and iterations -------------------------------------------------------------------------------------

    def sequenced(
        self,
        phi: cel.Seq | cel.ContiguousSeq,
        i: int,
        j: int,
        follow: cel.Formula | None,
        guard: cel.Condition | None = None,
    ) -> Iterator[Valuation]:
        """Yield the valuations of left ; right or left : right. The choice for this operator says what may lie between.

        guard: a condition that decides which events `right` takes, given the events of `left`.
        """
        left, early = phi.left, self.choices["loop"] == "reported-early"
        if isinstance(left, cel.Or) and (early or self.choices["loop"] in CLOSING):
            sides = left.left, left.right
            # Apart only if a side ends with an iteration: an end of one side may hide an end of the other.
            if any(isinstance(side, cel.Or) or self.another_round(side) is not None for side in sides):
                for side in sides:
                    yield from self.sequenced(replace(phi, left=side), i, j, follow, guard)
                return
        if early and self.another_round(left) is not None:
            yield from self.meaning(left, i, j)
            return
        another = self.another_round(left) if self.choices["loop"] in CLOSING else None
        for k, mu1, mu2 in self.pairs(phi, i, j, follow, guard):
            if another is None or not self.occurs(another, k + 1, first(mu2) if mu2 else k + 1):
                yield mu1 | mu2

    def pairs(
        self,
        phi: cel.Seq | cel.ContiguousSeq,
        i: int,
        j: int,
        follow: cel.Formula | None,
        guard: cel.Condition | None = None,
    ) -> Iterator[tuple[int, Valuation, Valuation]]:
        """Yield (k, mu1, mu2): a valuation mu1 of the left part that ends at k, and a valuation mu2 of the right part
        that may follow it and ends at j.

        guard: a condition that the union of mu1 and mu2 must satisfy.
        """
        left, right = phi.left, phi.right
        contiguity = self.choices["seq" if isinstance(phi, cel.Seq) else "seq@cseq"]
        if isinstance(right, cel.EventAtom) and self.S[j].type != right.type:
            return  # the same for every k, and so for most intervals
        for k in range(i, j + 1):
            since = self.soonest(phi, k)
            rights = self.meaning(right, since, j, follow) if since <= j else NONE
            for mu1 in self.meaning(left, i, k, right) if rights else ():
                for mu2 in rights:
                    if guard is not None and not self.satisfies(mu1 | mu2, guard):
                        continue
                    start = first(mu2) if mu2 else since
                    match contiguity:
                        case "any":
                            allowed = True
                        case "strict":
                            # With shared steps the right part may begin at k itself, so "the next event" is k or k + 1.
                            near = bool(mu1) and last(mu1) == k and bool(mu2) and start <= max(since, k + 1)
                            allowed = near and not self.begins(right, since, start, j, mu1, guard)
                        case "next-from-left" | "next-from-right" | "nearest":
                            # Another end of the left part after k, from which the right part could begin no later than
                            # it does.
                            ends = (b for b in range(k + 1, start + 1) if self.soonest(phi, b) <= start)
                            allowed = (
                                contiguity == "next-from-right" or not self.begins(right, since, start, j, mu1, guard)
                            ) and (
                                contiguity == "next-from-left" or not any(self.meaning(left, i, b, right) for b in ends)
                            )
                        case _:
                            raise Unsupported(f"the matches of a sequence with {contiguity} cannot be predicted")
                    if allowed:
                        yield k, mu1, mu2

    def soonest(self, phi: cel.Seq | cel.ContiguousSeq, k: int) -> int:
        """Return the first position at which the right part of a sequence may begin if the left part ends at k."""
        if self.choices["steps" if isinstance(phi, cel.Seq) else "steps@cseq"] == "shared":
            return k
        if isinstance(phi, cel.Seq) and self.choices["ties"] == BETWEEN_STEPS:
            time = self.S[k].get(TIME)
            later = (p for p in range(k + 1, len(self.S)) if time is None or self.S[p].get(TIME) != time)
            return next(later, len(self.S))
        return k + 1

    def iterate(
        self, phi: cel.Formula, psi: cel.Formula, i: int, j: int, loop: str, follow: cel.Formula | None
    ) -> Iterable[Valuation]:
        """Return the valuations of phi, which is psi+ or psi:+. The choice `loop` says how rounds follow each other."""
        once = self.meaning(psi, i, j)
        match loop:
            case "single":
                return once
            case "never-left" if follow is not None:
                return NONE
            case "never-left":
                return self.any_rounds(psi, i, j, type(phi) is cel.ContiguousPlus)
            case "contiguous":
                return chain(once, contiguous(psi, phi, i, j, self.meaning))
            case "all" | "omit-nothing" | "until-next" | "taken-until-next" | "no-gaps" | "reported-early":
                return chain(once, self.rounds(psi, phi, i, j, loop, follow))
            case "greedy":
                return selected("max", self.any_rounds(psi, i, j, type(phi) is cel.ContiguousPlus))
            case _ if loop in AT_MOST:
                return self.any_rounds(psi, i, j, type(phi) is cel.ContiguousPlus, AT_MOST[loop])
            case "at-least-two":
                adjacent = type(phi) is cel.ContiguousPlus
                return frozenset(
                    mu1 | mu2
                    for k in range(i, j)
                    for mu1 in self.meaning(psi, i, k)
                    for mu2 in self.any_rounds(psi, k + 1, j, adjacent)
                    if not adjacent or (mu1 and mu2 and last(mu1) == k and first(mu2) == k + 1)
                )
            case _:
                raise Unsupported(f"the matches of an iteration with {loop} cannot be predicted")

    def rounds(
        self, psi: cel.Formula, phi: cel.Formula, i: int, j: int, loop: str, follow: cel.Formula | None
    ) -> Iterator[Valuation]:
        """Yield the valuations of an iteration with at least two rounds, by the choice `loop`.

        phi: the iteration. psi: the formula that it repeats. A valuation joins one of psi, from i to some k, with one
        of phi from k + 1 to j. follow: the formula that comes after phi in the query.
        """
        for k in range(i, j):
            for mu1 in self.meaning(psi, i, k):
                for mu2 in self.meaning(phi, k + 1, j, follow):
                    start = first(mu2) if mu2 else k + 1
                    if loop in ("omit-nothing", "taken-until-next", "no-gaps") and self.occurs(psi, k + 1, start):
                        continue
                    if (
                        loop in ("until-next", "taken-until-next")
                        and follow is not None
                        and self.begins(follow, k + 1, start, len(self.S) - 1)
                    ):
                        continue
                    yield mu1 | mu2

    def any_rounds(self, psi: cel.Formula, i: int, j: int, adjacent: bool, most: int | None = None) -> Valuations:
        """Return the valuations of psi+ (psi:+ if adjacent) on the interval from i to j, with at most `most` rounds."""
        mus = set(self.meaning(psi, i, j))
        for k in range(i, j) if most != 1 else ():
            for mu1 in self.meaning(psi, i, k):
                for mu2 in self.any_rounds(psi, k + 1, j, adjacent, most and most - 1):
                    if not adjacent or (mu1 and mu2 and last(mu1) == k and first(mu2) == k + 1):
                        mus.add(mu1 | mu2)
        return frozenset(mus)

    def occurs(self, phi: cel.Formula, since: int, before: int) -> bool:
        """Return whether phi has a valuation on an interval that begins at `since` and ends before `before`."""
        return any(self.meaning(phi, since, b) for b in range(since, before))

    def begins(
        self,
        phi: cel.Formula,
        since: int,
        before: int,
        until: int,
        taken: Valuation = frozenset(),
        guard: cel.Condition | None = None,
    ) -> bool:
        """Return whether phi has a valuation that begins at or after `since` but before `before`, and ends at or before
        `until`.

        guard: a condition that the valuation must satisfy, together with the events `taken` before.
        """
        return any(
            since <= first(mu) < before and (guard is None or self.satisfies(taken | mu, guard))
            for b in range(since, until + 1)
            for mu in self.meaning(phi, since, b)
            if mu and before > since
        )

    def another_round(self, phi: cel.Formula) -> cel.Formula | None:
        """Return the formula for one more round of the iteration at the end of phi; None if phi ends otherwise."""
        if id(phi) not in self._rounds:
            self._alive.append(phi)
            self._rounds[id(phi)] = self._another_round(phi)
        return self._rounds[id(phi)]

    def _another_round(self, phi: cel.Formula) -> cel.Formula | None:
        match phi:
            case cel.Plus(psi):
                return psi
            case cel.In(psi, A):
                return None if (more := self.another_round(psi)) is None else cel.In(more, A)
            case cel.Filter(psi, condition):
                return None if (more := self.another_round(psi)) is None else cel.Filter(more, condition)
            case cel.Seq(_, right) | cel.ContiguousSeq(_, right):
                return self.another_round(right)
            case cel.EventAtom() | cel.ContiguousPlus() | cel.Strict() | cel.Preference():
                # A strategy compares whole matches, so a following formula cannot ask for one more round inside.
                return None
            case cel.Project() | cel.Restriction():
                return self.another_round(phi.phi)
            case cel.PerKey():  # the following formula is then evaluated on another stream
                if self.another_round(phi.phi) is not None:
                    raise Unsupported(
                        "the matches of an iteration at the end of PER KEY, before another step, cannot be predicted",
                        phi.span,
                    )
                return None
            case cel.Derived():
                return self.another_round(phi.expansion)
            case cel.Or(left, right) | cel.And(left, right) | cel.All(left, right) | cel.Unless(left, right):
                if self.another_round(left) is None and self.another_round(right) is None:
                    return None
                raise Unsupported(
                    "the matches of an iteration at the end of OR, AND, ALL or UNLESS, before another step, cannot be "
                    "predicted",
                    phi.span,
                )
            case _:
                assert_never(phi)

    # --- the other operators ------------------------------------------------------------------------------------------

    def bound(self, mu: Valuation) -> Iterable[int]:
        """Return the positions of mu to which IN binds its variable: all of them, or only the last if the engine does
        so.
        """
        C = sup(mu)
        return {max(C)} if C and self.choices["in"] == "last" else C

    def conjoined(self, left: Valuations, right: Valuations) -> Iterable[Valuation]:
        """Return the valuations of left AND right.

        By the engine's choice both sides must have the same valuation, or only the same events. In that case the
        valuations of the left side are returned.
        """
        if self.choices["and"] == "valuations":
            return left & right
        Cs = set(map(sup, right))
        return (mu for mu in left if sup(mu) in Cs)

    def interleaved(self, left: cel.Formula, right: cel.Formula, i: int, j: int) -> Iterator[Valuation]:
        """Yield the valuations of left ALL right.

        By the engine's choice the two sides may share events, or must share none, or one must end before the other
        begins.
        """
        for i1, j1, i2, j2 in interleavings(i, j):
            for mu1 in self.meaning(left, i1, j1):
                for mu2 in self.meaning(right, i2, j2):
                    match self.choices["all"]:
                        case "as-defined":
                            allowed = True
                        case "disjoint":
                            allowed = sup(mu1).isdisjoint(sup(mu2))
                        case _:
                            allowed = bool(mu1 and mu2) and (last(mu1) < first(mu2) or last(mu2) < first(mu1))
                    if allowed:
                        yield mu1 | mu2

    def spoilt(self, mu: Valuation, guard: cel.Formula, i: int, j: int) -> bool:
        """Return whether UNLESS excludes a valuation mu of its left side, because `guard`, its right side, matches."""
        taken: ComplexEvent = frozenset()
        match self.choices["negation"]:
            case "all" | "untaken" as where:
                taken = sup(mu) if where == "untaken" else taken
                intervals = [(a, b) for b in range(i, j + 1) for a in range(i, b + 1)]
            case "next":
                intervals = [(first(mu) + 1, first(mu) + 1)] if mu and first(mu) < j else []
            case "any-between" | "inside" as where:
                margin = 1 if where == "inside" else 0
                inside = range(first(mu) + margin, last(mu) + 1 - margin) if mu else range(0)
                intervals = [(a, b) for b in inside for a in inside if a <= b]
            case "whole":
                intervals = [(i, j)]
            case _:
                intervals = []
        others = (other for a, b in intervals for other in self.meaning(guard, a, b) if taken.isdisjoint(sup(other)))
        if self._guard_key is not None and mu:
            key, value = self._guard_key, self.S[first(mu)].get(self._guard_key)
            return any(all(self.same_key(self.S[p].get(key), value) for p in sup(other)) for other in others)
        return any(True for _ in others)

    def satisfies(self, mu: Valuation, condition: cel.Condition) -> bool:
        """Return whether the events that mu binds satisfy the condition of a filter."""
        match condition:
            case cel.Every(A, P):
                return self.holds_of([(self.S[p],) for _, p in sorted(at(mu, A))], P)
            case cel.Correlated(P):
                ranges = [[self.S[p] for _, p in sorted(at(mu, m.variable))] for m in mentions(P)]
                return self.holds_of(list(product(*ranges)), P)
            case cel.Conjunction(left, right):
                parts = (self.satisfies(mu, left), self.satisfies(mu, right))
                return any(parts) if self.choices["filter-connectives"] == "and-as-or" else all(parts)
            case cel.Disjunction(left, right):
                parts = (self.satisfies(mu, left), self.satisfies(mu, right))
                return all(parts) if self.choices["filter-connectives"] == "or-as-and" else any(parts)
            case cel.Named():
                raise Unsupported("the result of a registered predicate cannot be predicted", condition.span)
            case _:
                assert_never(condition)

    def holds_of(self, tuples: list[tuple[Any, ...]], P: Predicate) -> bool:
        """Return whether a predicate is true of a list of tuples of events.

        By the engine's choice it must be true of all tuples, of some, of the first or of the last one.
        """
        if not tuples:
            return self.choices["unbound"] == "true"
        match self.choices["filter-loop"]:
            case "first":
                tuples = tuples[:1]
            case "last":
                tuples = tuples[-1:]
        truths = [self.holds(P, events) for events in tuples]
        return any(truths) if self.choices["filter-loop"] == "some" else all(truths)

    def holds(self, P: Predicate, events: tuple[Any, ...]) -> bool:
        """Return whether a predicate is true of one event, or of a tuple with one event for each of the predicate's
        attributes.
        """
        if len(events) == 1:
            return self.conditions.satisfied(P, lambda a: events[0].get(a.name), events[0].type)
        # As in the definition: attributes are asked for in the order of their mentions.
        remaining = iter(events)
        return self.conditions.satisfied(P, lambda a: next(remaining).get(a.name))

    def fits(self, window: cel.Window, C: ComplexEvent) -> bool:
        """Return whether the events are in the window, in the meaning that the engine gives to windows of its kind."""
        if self.choices[f"window@{MEASURES[type(window)]}"] == "unlimited":
            return True
        match window:
            case cel.EventWindow(width):
                how = self.choices["window@events"]
                C = frozenset(self._places[p] for p in C) if self._places else C
                if how == "tumbling":
                    return bool(C) and min(C) // width == max(C) // width
                return bool(C) and within(max(C) - min(C) + 1, width, how)
            case cel.TimeWindow(amount, unit):
                match self.choices["window@time"]:
                    case "amount-cut":
                        return self.spans(C, "time", int(amount) * SECONDS[unit], "closed")
                    case "seconds":
                        return self.spans(C, "time", amount, "closed")
                    case how:
                        return self.spans(C, "time", amount * SECONDS[unit], how)
            case cel.AttributeWindow(width, a):
                return self.spans(C, a, width, self.choices["window@attribute"])
            case _:
                assert_never(window)

    def spans(self, C: ComplexEvent, a: str, width: float, how: str) -> bool:
        """Return whether the values of attribute a, all numbers or all times, are within the width.

        how: whether an exact width is included, as in `within`.
        """
        values = [value for p in C if (value := self.S[p].get(a)) is not None]
        if not values or len(values) < len(C) or len(set(map(kind, values))) > 1 or any(v != v for v in values):
            return False
        match min(values), max(values):
            case (datetime() as low, datetime() as high):
                begin, end = low.timestamp(), high.timestamp()
                difference = (high - low).total_seconds()
            case (int() | float() as low, int() | float() as high) if not isinstance(low, bool):
                begin, end, difference = low, high, high - low
            case _:
                return False
        if self.choices["spans"] == "64-bit" and isinstance(difference, int):
            # Two's complement, into which subtraction in 64 bits wraps.
            difference = (difference + 2**63) % 2**64 - 2**63
        if how == "tumbling":
            return width > 0 and begin // width == end // width
        return within(difference, width, how)

    def partitioned(self, psi: cel.Formula, a: str, i: int, j: int, follow: cel.Formula | None) -> Iterable[Valuation]:
        """Return the valuations of psi PARTITION BY [a].

        By the engine's choice about partitions, the clause is ignored, or it filters the valuations of psi, or psi sees
        only the events with the key of event j.
        """
        if self.choices["partition"] == "ignored":
            return self.meaning(psi, i, j, follow)
        if self.choices["partition"] == "filter":
            before = self._guard_key
            self._guard_key = a if self.choices["partition@unless"] == "substream" else before
            try:
                mus = self.meaning(psi, i, j, follow)
            finally:
                self._guard_key = before
            return (mu for mu in mus if self.agree(mu, a))
        return self.per_key(psi, (a,), i, j, follow, self.choices["partition"] == WHOLE_WINDOW)

    def agree(self, mu: Valuation, a: str) -> bool:
        """Return whether all events of a valuation have the same key."""
        return all(self.same_key(self.S[p].get(a), self.S[q].get(a)) for p in sup(mu) for q in sup(mu))

    def same_key(self, one: Value | None, other: Value | None) -> bool:
        """Return whether two events are in one partition, given their values of the attribute."""
        if one is None or other is None:
            return one is other and self.choices["partition@absent"] == "one-key"
        if self.choices["integers"] == "doubles":
            one, other = as_double(one), as_double(other)
        return compare("=", one, other)

    def per_key(
        self,
        psi: cel.Formula,
        names: tuple[str, ...],
        i: int,
        j: int,
        follow: cel.Formula | None,
        counts_all: bool = False,
    ) -> Iterable[Valuation]:
        """Return the valuations of psi over the events that have the same key as event j, as if there were no other
        events.

        names: the attributes of the key. counts_all: whether windows of events in psi also count events of other keys.
        """
        S = self.S
        places = tuple(p for p in range(len(S)) if all(self.same_key(S[p].get(a), S[j].get(a)) for a in names))
        if not places:
            return NONE
        own = counts_all, places
        if own not in self._substreams:
            variant = CelVariant(Stream([S[p] for p in places], S.schema), self.choices, self.budget)
            if counts_all:
                variant._places = tuple(self._places[p] for p in places) if self._places else places
            self._substreams[own] = variant
        begin = next(n for n, p in enumerate(places) if p >= i)
        mus = self._substreams[own].meaning(psi, begin, places.index(j), follow)
        return (frozenset((A, places[p]) for A, p in mu) for mu in mus)


def guarded(phi: cel.Formula, how: str) -> cel.Formula:
    """Move the conditions of filters to the places where they decide which events are taken.

    how: with "step", a condition on one variable moves to the events that the variable binds. With "run", a condition
    that compares events or has OR also moves, to the smallest sequence that binds all its variables.
    """
    below = [guarded(psi, how) for psi in children(phi)]
    phi = rebuilt(phi, below) if below else phi
    if not isinstance(phi, cel.Filter):
        return phi
    psi, kept = phi.phi, list[cel.Condition]()
    for condition in cel.conjuncts(phi.condition):
        if isinstance(condition, cel.Every):
            psi = at_events(psi, condition.variable, condition)
        elif isinstance(condition, cel.Correlated | cel.Disjunction) and how == "run":
            psi = at_sequence(psi, condition)
            continue
        kept.append(condition)
    for condition in kept:
        psi = cel.Filter(psi, condition)
    return psi


def at_events(phi: cel.Formula, variable: str, condition: cel.Every, everywhere: bool = False) -> cel.Formula:
    """Return the formula with the condition at each event that the variable binds.

    everywhere: whether to put the condition at every event, because all belong to the variable.
    """
    match phi:
        case cel.EventAtom(R):
            return cel.Filter(phi, cel.Every(R, condition.predicate)) if everywhere or variable == R else phi
        case cel.In(psi, A):
            return cel.In(at_events(psi, variable, condition, everywhere or variable == A), A)
        case cel.Project(L, psi):
            return phi if variable not in L else cel.Project(L, at_events(psi, variable, condition, everywhere))
        case cel.Unless(left, right):
            return cel.Unless(at_events(left, variable, condition, everywhere), right)
        case cel.Strict() | cel.Preference():
            return phi
        case cel.Derived():
            return at_events(phi.expansion, variable, condition, everywhere)
        case cel.Restriction() | cel.Iteration() | cel.PerKey():
            return rebuilt(phi, [at_events(phi.phi, variable, condition, everywhere)])
        case cel.Sequencing() | cel.Combination():
            return rebuilt(phi, [at_events(psi, variable, condition, everywhere) for psi in children(phi)])
        case _:
            assert_never(phi)


def variables_of(condition: cel.Condition) -> set[str]:
    """Return the variables that a condition mentions."""
    found = set[str]()
    for atom in cel.atoms(condition):
        match atom:
            case cel.Every(variable, _):
                found.add(variable)
            case cel.Correlated(predicate):
                found.update(mention.variable for mention in mentions(predicate) if mention.variable is not None)
            case cel.Named(_, variables):
                found.update(variables)
    return found


def at_sequence(phi: cel.Formula, condition: cel.Condition) -> cel.Formula:
    """Return the formula with an additional filter: the condition, applied to each smallest sequence that binds its
    variables.
    """
    needed = variables_of(condition)
    match phi:
        case cel.In(psi, A) if A not in needed:
            return cel.In(at_sequence(psi, condition), A)
        case cel.Seq(left, right):
            if needed <= bound_in(left):
                phi = cel.Seq(at_sequence(left, condition), right)  # what holds of all events holds of the first ones
                if needed.isdisjoint(bound_in(right)):
                    return phi
            elif needed <= bound_in(right) and needed.isdisjoint(bound_in(left)):
                return cel.Seq(left, at_sequence(right, condition))
        case cel.Filter(psi, other):
            inner = at_sequence(psi, condition)
            if isinstance(psi, cel.Seq) and inner == cel.Filter(psi, condition):
                return cel.Filter(psi, cel.Conjunction(other, condition))
            return cel.Filter(inner, other)
        case cel.Within(psi, window):
            return cel.Within(at_sequence(psi, condition), window)
        case cel.PartitionBy(psi, a):
            return cel.PartitionBy(at_sequence(psi, condition), a)
    return cel.Filter(phi, condition)


MARK = "\N{SECTION SIGN}"  # begins the names of variables that no query can have


def postpone_conditions(phi: cel.Formula, numbers: Iterator[int]) -> tuple[cel.Formula, list[cel.Condition]]:
    """Return the formula without the conditions that compare events or have OR, and these conditions.

    An engine of chains checks them when all steps have their events, also those that stand at a part of the query.
    numbers: numbers for new variables, which mark the events that each condition is about.
    """
    late: list[cel.Condition] = []
    if not isinstance(phi, cel.Filter | cel.Seq | cel.ContiguousSeq | cel.In | cel.Within | cel.PartitionBy):
        return phi, late  # no part of a chain
    below = []
    for psi in children(phi):
        inner, some = postpone_conditions(psi, numbers)
        below.append(inner)
        late += some
    if not isinstance(phi, cel.Filter):
        return rebuilt(phi, below), late
    (inner,) = below
    for condition in cel.conjuncts(phi.condition):
        if isinstance(condition, cel.Every):
            inner = cel.Filter(inner, condition)
            continue
        for variable in sorted(variables_of(condition)):
            mark = f"{MARK}{next(numbers)}"
            inner, condition = mark_events(inner, variable, mark), rename_variable(condition, variable, mark)
        late.append(condition)
    return inner, late


def mark_events(phi: cel.Formula, variable: str, mark: str) -> cel.Formula:
    """Return the formula in which the events of a variable have the variable `mark`, too."""
    match phi:
        case cel.EventAtom(R) if variable == R:
            return cel.In(phi, mark)
        case cel.In(psi, A) if variable == A:
            return cel.In(cel.In(psi, mark), A)
        case cel.Project(L, psi) if variable in L:
            return cel.Project(L | {mark}, mark_events(psi, variable, mark))
    below = [mark_events(psi, variable, mark) for psi in children(phi)]
    return rebuilt(phi, below) if below else phi


def unmarked(mu: Valuation) -> Valuation:
    """Return the valuation without the marks of `postpone_conditions`."""
    return frozenset((A, p) for A, p in mu if not A.startswith(MARK))


def only_steps_guarded(phi: cel.Formula) -> cel.Formula:
    """Return the formula with the conditions that compare events or have OR around it."""
    whole, late = postpone_conditions(phi, count())
    for condition in late:
        whole = cel.Filter(whole, condition)
    return whole


def bound_in(phi: cel.Formula) -> set[str]:
    """Return the variables that a formula binds: its event types and the variables after IN."""
    atoms = (psi for psi in cel.subformulas(cel.expanded(phi)) if isinstance(psi, cel.EventAtom | cel.In))
    return {psi.type if isinstance(psi, cel.EventAtom) else psi.variable for psi in atoms}


def within(span: float, width: float, how: str) -> bool:
    """Return whether a span is within a width. how: the choice, such as "closed", which includes the width itself."""
    match how:
        case "closed":
            return span <= width
        case "open":
            return span < width
        case "off-by-one":
            return span <= width + 1
        case "integer":
            return span < int(width) + 1
        case _:
            raise Unsupported(f"the matches of windows that are {how} cannot be predicted")


def selected(strategy: str, mus: Iterable[Valuation]) -> Iterable[Valuation]:
    """Return the valuations that a selection strategy keeps (tods21, section 7.1)."""
    mus = list(mus)
    Cs = set(map(sup, mus))
    return [mu for mu in mus if KEEPS[strategy](sup(mu), Cs)]


KEEPS: dict[str, Callable[[ComplexEvent, set[ComplexEvent]], bool]] = {
    "ignored": lambda C, rivals: True,
    "strict": lambda C, rivals: not C or max(C) - min(C) < len(C),
    "nxt": lambda C, rivals: all(next_at_most(other, C) for other in rivals),
    "last": lambda C, rivals: all(last_at_most(other, C) for other in rivals),
    "max": lambda C, rivals: not any(other > C for other in rivals),
}
"""For each strategy ("ignored" keeps all): a function of a complex event and the set of all that compete with it, which
returns whether the strategy keeps the event."""


def keys(phi: cel.Formula) -> tuple[str, ...]:
    """Return the attributes of PARTITION BY in a formula."""
    return tuple(dict.fromkeys(psi.attribute for psi in cel.subformulas(phi) if isinstance(psi, cel.PartitionBy)))


# ---------------------------------------------------------------------------------------------------------------------
# The questions about CEL.


def keyed(text: str, attribute: str = "k") -> tuple[dict[str, Any], ...]:
    """Return the events of a text such as "A1 B2": each has a type, and a number as an attribute."""
    return tuple({"type": word[0], attribute: int(word[1:])} for word in text.split())


AB, ABC = types("A B"), types("A B C")
MANY = types("A")  # for long streams

STAGES = (
    Stage(
        ("steps",),  # an event that takes two steps alone changes the answers to the questions that follow
        (
            Template("A ; A", types("A"), 1),
            Template("A ; A ; A", types("A"), 1),
            Template("A ; A", types("B"), 2, before=types("A")),
            Template("B ; A ; A", types("A"), 1, before=types("B")),
        ),
    ),
    Stage(
        ("emit", "overlap", "seq", "alternatives"),
        (
            Template("A", AB, 3),
            Template("A ; B", ABC, 5),
            Template("A ; A", AB, 4),
            Template("(A ; B) OR C", ABC, 4),
            Template("A ; B ; C", ABC, 4),
            Template("A ; A ; A", MANY, 6),
        ),
    ),
    Stage(
        ("event-order", "ties"),
        (
            Template("A ; B", events("A B", after=(-1, 0, 1)), 3),
            Template("A : B", events("A B", after=(-1, 0, 1)), 3),  # for an engine without `;`
        ),
    ),
    Stage(("window-default",), (Template("A ; B", events("A B", after=(1, 100, 5_000, 100_000)), 3),)),
    Stage(
        ("steps@cseq",),
        (
            Template("A : A", types("A"), 1),
            Template("A : A : A", types("A"), 1),
            Template("A : A", types("B"), 2, before=types("A")),
        ),
    ),
    Stage(
        ("seq@cseq",),
        (
            Template("A : B", ABC, 5),
            Template("A : A", AB, 5),
            # The next B may not be the one that C follows: this shows the sequence beside a choice among its matches.
            Template("(A ; B) : C", ABC, 4),
        ),
    ),
    Stage(
        ("brackets",),
        (
            Template("A ; (B : A)", AB, 5),
            Template("(A : B) ; C", ABC, 4),
            Template("(A : B) ; A", AB, 5),
        ),
    ),
    Stage(
        ("loop",),
        (
            Template("A+", AB, 4),
            Template("A+ ; B", AB, 5),
            Template("A+ ; A", AB, 4),
            Template("C ; A+", types("A B C"), 5),
            Template("C ; A+ ; B", types("A B C"), 5),
            Template("A+", MANY, 8),
            Template("A+ ; B", types("B"), 1, before=MANY * 8),  # a limit of rounds is not one of events
        ),
    ),
    Stage(
        ("loop@cplus",),
        (
            Template("A:+", AB, 5),
            Template("A:+ ; B", ABC, 5),  # the first match from each A shows gaps only if they have neither A nor B
            Template("B ; A:+", AB, 5),
            Template("A:+ : B", AB, 4),
            Template("A:+ : A", AB, 4),  # a possessive loop leaves nothing for what follows it
            Template("A:+", MANY, 8),
            Template("A:+ ; B", types("B"), 1, before=MANY * 8),
        ),
    ),
    Stage(
        ("window@events",),
        (
            Template("(A ; B) WITHIN 2 EVENTS", ABC, 5),
            Template("(A : B) WITHIN 2 EVENTS", ABC, 4),
            Template("(A ; B ; C) WITHIN 3 EVENTS", types("B C"), 4, before=types("A")),
            Template("(A ; B ; C) WITHIN 3 EVENTS", types("C"), 1, before=types("A B A A")),
        ),
    ),
    Stage(
        ("window@time",),
        (
            Template("(A ; B) WITHIN 2 seconds", events("A B", after=(1, 2, 3)), 3),
            Template("(A ; B) WITHIN 2 seconds", events("A B", after=(0.5, 1.0, 1.5)), 3),
            Template("(A ; B) WITHIN 2 seconds", events("B", after=(2.5,)), 1, before=events("A", after=(0.0,))),
            Template("(A : B) WITHIN 2 seconds", events("A B", after=(0, 1, 2, 3)), 2),
            Template("(A ; B) WITHIN 1.5 minutes", events("A B", after=(1, 60, 90)), 2),
            Template("(A ; B ; C) WITHIN 2 seconds", events("B C", after=(1, 2)), 3, before=events("A", after=(0,))),
            Template("(A ; B ; C) WITHIN 2 seconds", events("C", after=(9,)), 1, before=events("A B", after=(1,))),
        ),
    ),
    Stage(
        ("window@attribute",),
        (
            Template("(A ; B) WITHIN 2 [x]", events("A B", x=(0, 1, 2, 3, 2.5, 3.5)), 2),
            Template("(A ; B) WITHIN 2 [x]", events("A B", x=(0, 2, 5, 9)), 2),
            Template("(A ; B) WITHIN 2 [x]", events("B", x=(2.5,)), 2, before=events("A", x=(0,))),
            Template("(A ; B ; C) WITHIN 2 [x]", events("B C", x=(1, 2, 3, 5)), 2, before=events("A", x=(0,))),
            Template("(A ; B ; C) WITHIN 2 [x]", events("C", x=(9,)), 1, before=events("A B", x=(1,))),
        ),
    ),
    Stage(
        ("spans",),
        (
            Template("(A ; B) WITHIN 2 [x]", events("A B", x=(-(2**63), 0, 2**63 - 1)), 2),
            Template("(A ; B) WITHIN 2 seconds", events("A B", time=(-(2**63), 0, 2**63 - 1)), 2),
        ),
    ),
    *conditions("A FILTER A[{}]", also=("filter",)),
    Stage(
        ("guard",),
        (
            Template("(A ; B) FILTER B.x = 1", events("A B", x=(0, 1)), 4),
            Template("(A ; B) FILTER A.x = 1", events("A B", x=(0, 1)), 3),  # for an engine that takes the last event
            Template("(A ; B) FILTER A.x = 1 OR A.y = 1", events("A", x=(1, 0), y=(0,)) + types("B"), 3),
            Template("(A ; B) FILTER B.x = 1 OR B.y = 1", events("B", x=(1, 0), y=(0,)) + types("A"), 3),
            # A condition at a step, which engines of chains may apply later.
            Template("A ; (B FILTER B.x = 1)", events("B", x=(0, 1)) + types("A"), 3),
            Template("A ; (B FILTER B.x = 1 OR B.y = 1)", events("B", x=(1, 0), y=(0,)) + types("A"), 3),
            Template("(A FILTER A.x = 1 OR A.y = 1) ; B", events("A", x=(1, 0), y=(0,)) + types("B"), 3),
            Template("(A+ ; B) FILTER A.x < B.x", events("A B", x=(0, 1)), 3),  # an engine may forget it after a loop
            Template("(A+ ; B) FILTER B.x = 1", events("A B", x=(0, 1)), 3),
            Template("(A ; B) FILTER A.x < B.x", events("A B", x=(0, 1)), 4),
            Template("(A ; B ; C) FILTER B.x < C.x", events("B C", x=(0, 1)), 3, before=events("A", x=(0,))),
            Template("(A ; B ; C) FILTER B.x = 1", events("B", x=(0, 1)) + types("C"), 3, before=types("A")),
        ),
    ),
    Stage(
        ("partition",),
        (
            Template("(A ; A) PARTITION BY [k]", events("A", k=(1, 2)), 4),
            Template("(A : A) PARTITION BY [k]", events("A", k=(1, 2)), 5),
            Template("((A ; B) WITHIN 2 EVENTS) PARTITION BY [k]", events("A B", k=(1, 2)), 3),
            Template("((A ; A) WITHIN 3 EVENTS) PARTITION BY [k]", events("A", k=(1, 2)), 5),
            # keys may be compared as texts
            Template("(A ; B) PARTITION BY [k]", events("A", k=(1,)) + events("B", k=(1.0, 1.5)), 2),
        ),
    ),
    Stage(
        ("filter-loop",),
        (
            Template("A+ FILTER A.x = 1", events("A", x=(0, 1)), 4),
            Template("(A ; A) FILTER A.x = 1", events("A", x=(0, 1)), 4),
            Template("A:+ FILTER A.x = 1", events("A", x=(0, 1)), 4),
        ),
    ),
    Stage(("or",), (Template("A OR (A ; A)", AB, 3), Template("(A ; A) OR A", AB, 3))),
    Stage(
        ("alternatives",),
        (
            Template("(A OR B) ; C", ABC, 5),
            Template("A ; (B OR C)", ABC, 5),
            Template("A ; (B OR C) ; A", ABC, 4),  # in one span, each side has a match
            Template("A OR (B ; A)", AB, 3),  # sides of different lengths that end together
        ),
    ),
    Stage(("unbound",), (Template("(A OR B) FILTER A.x = 1", events("A B", x=(0, 1)), 2),)),
    Stage(
        ("filter-connectives",),
        (
            Template("A FILTER A.x = 1 AND A.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("A FILTER A.x = 1 OR A.y = 1", events("A", x=(0, 1), y=(0, 1)), 1),
            Template("(A ; B) FILTER (A.y = 1 OR B.y = 1)", events("A B", y=(0, 1)), 2),
        ),
    ),
    Stage(("and",), (Template("A AND (A IN X)", AB, 2),)),
    Stage(
        ("all",),
        (
            Template("A ALL B", ABC, 4),
            Template("A ALL A", AB, 3),
            Template("(A ; B) ALL A", AB, 5),
            Template("(A ; C) ALL B", ABC, 4),
        ),
    ),
    Stage(
        ("negation",),
        (
            Template("(A ; C) UNLESS B", ABC, 5),
            Template("(A ; C) UNLESS (B ; C)", ABC, 4),
            Template("A UNLESS A", AB, 3),  # the forbidden event is one that the match takes
            Template("(A ; B) UNLESS A", AB, 4),
            Template("(A ; B) UNLESS B", AB, 4),
            Template("(A ; B ; C) UNLESS B", ABC, 4),
            Template("A ; (B UNLESS C)", ABC, 4),  # absence between two steps, all that engines of chains support
            Template("A ; (B UNLESS B)", AB, 4),
        ),
    ),
    Stage(
        ("partition@unless",),
        (
            Template("((A ; C) UNLESS B) PARTITION BY [k]", events("A B C", k=(1, 2)), 3),
            Template("(A ; (C UNLESS B)) PARTITION BY [k]", events("A B C", k=(1, 2)), 3),
        ),
    ),
    Stage(
        ("partition@absent",),
        (
            Template("A PARTITION BY [k]", events("A", k=(None, 1)), 2),
            Template("(A ; B) PARTITION BY [k]", events("A B", k=(None, 1)), 3),
            Template("(A ; A) PARTITION BY [k]", events("A", k=(None, 0)), 2),
        ),
    ),
    Stage(("perkey",), (Template("(A : A) PER KEY [k]", events("A", k=(1, 2)), 3),)),
    Stage(("overlap@partition",), (Template("(A ; A) PARTITION BY [k]", events("A", k=(1, 2)), 5),)),
    Stage(("start",), (Template("B ; START(A)", AB, 5), Template("START(A)", AB, 3), Template("A OR START(B)", AB, 3))),
    Stage(("in",), (Template("(A ; A) IN X FILTER X.x = 1", events("A", x=(0, 1)), 4),)),
    Stage(("project",), (Template("PROJECT[A](A ; B)", AB, 4),)),
    *selections(
        ("A ; B", ABC, 5),
        ("A OR (A ; B)", AB, 4),
        ("A ; B ; C", ABC, 5),
        ("A OR (A ; A) OR (A ; A ; A)", AB, 5),
        ("B OR (A ; B) OR (A ; A ; B)", AB, 5),
    ),
    Stage(
        (),
        (
            Template("A ; B+ ; C", ABC, 5),
            Template("(A+ ; B) FILTER A.x = 1", events("A B", x=(0, 1)), 4),
            Template("(A ; B+) WITHIN 3 EVENTS", ABC, 5),
            Template("NXT(A+ ; B)", AB, 5),
            Template("(A : B) OR (A ; C)", ABC, 4),
            Template("(A ; B+ ; C) UNLESS (C ; B)", ABC, 5),
            Template("(A ; A+) PARTITION BY [k]", events("A", k=(1, 2)), 5),
            Template("MAX(A ; (B OR C)+)", ABC, 4),
            Template("(A ALL B) ; C", ABC, 4),
            Template("((A ; B) IN X) ; C FILTER X.x = 1", events("A B C", x=(0, 1)), 3),
        ),
    ),
)

SHAPES = (
    ("A OR (B : A)", types("B A")),
    ("(A : B) OR A", types("A B")),
    ("A ; B+ ; C", types("A B B C")),
    ("A ; B:+ ; C", types("A B B C")),
    ("A : B : A:+", types("A B A B A A")),
    ("A:+ : B : A", types("A A B A B A")),
    ("A : A : B", types("A A A B A A A B")),
    ("A : B : B", types("A B B B A B B B")),
    ("A:+ ; A", types("A A A")),
    ("A ; A:+", types("A A A")),
    ("A:+ : A", types("A A A")),
    ("A : A:+", types("A A A")),
    (
        "A ; B",
        tuple({"type": "AB"[n % 2], "time": 6 - n} for n in range(6)),
    ),  # events that are more and more late: a buffer may end
    # Operators whose faults show only in combination.
    ("A OR A:+", types("A A A")),
    ("A OR A+", types("A A A")),
    ("(A : A) OR A:+", types("A A A")),
    ("(A OR A:+) ; B", types("A A B B")),
    ("A ; (B OR B:+)", types("A B B")),
    ("A ; (B : A)", types("A A B B A")),
    ("(A : B) ; A", types("A B B A A")),
    ("(A : B) ; C", types("A B B C")),
    ("(A ; B) OR (A : B)", types("A C B A B")),
    ("A ; (A OR (A ; A))", types("A A A")),
    ("(A OR (A ; A)) ; A", types("A A A")),
    ("A ; (B OR (B ; C))", types("A B C")),
    ("(A OR (A ; B)) ; C", types("A A B C")),
    ("(B OR (A ; B)) ; C", types("A B C")),
    ("A : (B OR (B : C))", types("A B C")),
    ("(B OR (A : B)) : C", types("A B C")),
    ("A : (B ; C)", types("A B B C C")),
    ("(A ; B) : C", types("A A B B C")),
    ("A ; (B ; C)", types("A A B B C")),
    ("A+ ; B+", types("A A B B")),
    ("A:+ ; A:+", types("A A B A")),
    ("(A OR (A ; B)) UNLESS C", types("A A B C A")),
    ("A ; ((B OR A) UNLESS C)", types("A B A C A")),
    ("(A OR A:+) FILTER A.x = 1", events("A", x=(1,)) * 3),
    ("(A OR (A ; A)) FILTER A.x = 1", events("A", x=(1,)) * 3),
    ("(A OR A:+) PARTITION BY [k]", events("A", k=(1,)) * 3),
    ("(A OR (A ; A)) PARTITION BY [k]", events("A", k=(1, 2, 1))),
    # A key, a window or a filter may say which events an operator sees, or only which matches are kept.
    ("((A ; C) UNLESS B) PARTITION BY [k]", keyed("A1 C1 A2 C2 B2 A1 C1")),
    ("(A ; (C UNLESS B)) PARTITION BY [k]", keyed("A1 B2 C1 A2 B2 C2 C1")),
    ("((A ; C) UNLESS B) WITHIN 3 EVENTS", types("A C B A C A C")),
    ("((A ; C) UNLESS B) FILTER A.x = 1", keyed("A1 C1 A2 B2 A1 C1", "x")),
    ("(A ; B ; C) PARTITION BY [k]", keyed("A1 B2 B1 A2 C1 B2 C2 C1")),
    ("(A ; B) FILTER A.x = 1", keyed("A0 B1 A1 B0 B1", "x")),
    ("(A ; B) FILTER B.x = 1", keyed("A1 B0 A0 B1 B1", "x")),
    ("(A ; B) FILTER A.x < B.x", keyed("A1 B0 A0 B2 B1", "x")),
    ("(A ; C) UNLESS (B FILTER B.x = 1)", keyed("B0 A0 C0 B0 C0 B1 A0 C0", "x")),
    ("((A ; B) PARTITION BY [k]) WITHIN 3 EVENTS", keyed("A1 A2 B1 B2 B1 A1 B2 B1")),
    ("((A ; B) WITHIN 3 EVENTS) PARTITION BY [k]", keyed("A1 A2 B1 B2 B1 A1 B2 B1")),
)

INTERPRETATION = Interpretation(
    AXES,
    find_matches,
    operators,
    strategies=frozenset(STRATEGIES),
    keys=keys,
    parts=parts,
    unhidden=unhidden,
    stages=STAGES,
    shapes=SHAPES,
    twice={
        "seq": (("A ; A", "A A C"), ("A ; B", "A B C")),
        "cseq": (("A : A", "A A C"), ("A : B", "A B C")),
        "or": (("A OR A", "A C"), ("A OR B", "A C")),
    },
    repeats=repeats,
    around=(
        "{}",
        "({}) WITHIN 3 EVENTS",
        "{}",
        "({}) PARTITION BY [y]",
        "({}) WITHIN 2 [x]",
        "(({}) WITHIN 3 EVENTS) PARTITION BY [y]",
    ),
)
