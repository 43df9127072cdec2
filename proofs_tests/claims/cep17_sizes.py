"""Claims of cep17 about the sizes of what Theorems 1 to 4 and their lemmas make, by counts of nodes and states.

The bounds themselves are lost in the copy at hand; "at most exponential" and "at most linear" are in its words. The
normal forms are those of the library, which follow the proofs; the automata are built as the proofs have them. Times
are not checked: what the library does besides, as finding variables at every node, is not part of the proofs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from math import comb, log2
from typing import Any

from cerify.automata.cea.model import CEA, MARKED, UNMARKED, Marks, Transition
from cerify.equivalence.rewrite.normal_forms import core_disjunctive, lp_normal, safe
from cerify.semantics.core_cel import syntax as core
from cerify.semantics.core_cel.check import is_lp_normal, is_safe, is_unary
from cerify.semantics.core_cel.parse import parse
from cerify.semantics.core_cel.syntax import show
from cerify.semantics.events import Event
from cerify.semantics.predicates import Anything, Both, OfType, Predicate
from proofs_tests.claims import broken, printed_cep17
from proofs_tests.claims.cep17 import MENDED, UNSAFE_DISJUNCT, _well_formed, by_position, formulas, streams
from proofs_tests.claims.cep17_automata import drawn
from proofs_tests.claims.ledger import Effort, Finding, Kind, claim, plant
from proofs_tests.claims.measure import doublings, exponent

LOST = 'the symbols of the bound are missing in our copy; its words are "at most {}"'
BY_LIBRARY = "; the library rewrites it, by the steps of the proof"
UNLIMITED = 10**7
Rewriting = Callable[[core.Formula], core.Formula]


# ---- formulas ----
# Families of formulas, of which the k-th is as long as k.


def choices(k: int) -> core.Formula:
    """k disjunctions in a row, each with a variable of its own."""
    return parse(" ; ".join(f"(A AS x{i} OR B AS x{i})" for i in range(1, k + 1)))


def repeated_choices(k: int) -> core.Formula:
    """The same below an iteration."""
    return core.CorePlus(choices(k))


def conditionals(k: int) -> core.Formula:
    """The conditional of section 5, k times: what comes next depends on a value of the first event."""
    then = (f"((T AS y{i} FILTER x.tmp >= {i}) OR (H AS y{i} FILTER x.tmp < {i}))" for i in range(k))
    return parse(" ; ".join(["T AS x", *then]))


def alternatives(k: int) -> core.Formula:
    """k events to choose from, and k others after them."""
    left, right = (" OR ".join(f"{R}{i} AS {R.lower()}{i}" for i in range(1, k + 1)) for R in "AB")
    return parse(f"({left}) ; ({right})")


IN_WORDS: dict[Callable[[int], core.Formula], str] = {
    choices: "a sequence of k choices A AS xi OR B AS xi",
    repeated_choices: "the same below a +",
    conditionals: "T AS x and then k times the choice of section 5.2's conditional",
    alternatives: "A sequence of two choices among k types",
}


def _grown(
    id_: str,
    title: str,
    kind: Kind,
    rewrite: Rewriting,
    applies: Callable[[core.Formula], bool],
    families: Iterable[Callable[[int], core.Formula]],
    steps: int = 8,
    mended: str = "",
) -> None:
    """A rewriting whose result has at most 2 to the n nodes, where the formula has n, or 2 where it has one."""

    said = LOST.format("exponential") + ", which we read as 2 to the number of nodes" + BY_LIBRARY + mended

    @claim(f"{id_}:size", title, kind, said)
    def check(effort: Effort) -> Finding:
        nodes, cases = 4 if effort == "quick" else 5, 0
        for phi in (*formulas(nodes), *([] if applies is _well_formed else [UNSAFE_DISJUNCT])):
            if applies(phi):
                cases += 1
                if core.size(rewrite(phi)) > 2 ** max(core.size(phi), 1):
                    return Finding("refuted", "exhaustive", show(phi))
        told = []
        for family in families:
            before = [core.size(family(k)) for k in range(1, steps + 1)]
            after = [core.size(rewrite(family(k))) for k in range(1, steps + 1)]
            rate = doublings(before, after)
            told.append(
                f"{IN_WORDS[family]}, {before[0]} to {before[-1]} nodes: {after[-1]} nodes, 2 to the {rate:.2f} n"
            )
            if any(log2(size) > n for size, n in zip(after, before, strict=True)):
                return Finding("refuted", "exhaustive", told[-1])
        all_ = "well-formed formulas, all" if applies is _well_formed else "formulas, that of lemB.12:proof and all"
        bound = f"at most 2 to the n nodes for n: {cases} {all_} to {nodes} nodes with three "
        bound += f"conditions; and {'; '.join(told)}"
        return Finding("holds", "exhaustive", bound)


_grown(
    "cep17.lem2",
    "The disjunctive normal form is at most exponential in the formula",
    "lemma",
    lambda phi: core_disjunctive(phi, UNLIMITED),
    lambda phi: True,
    (choices, repeated_choices),
    mended="; the statement is about time, which bounds the size; the time is not checked",
)
_grown(
    "cep17.thm1",
    "The safe formula is at most exponential in the formula",
    "theorem",
    lambda phi: safe(phi, UNLIMITED),
    lambda phi: True,
    (choices, repeated_choices),
    mended=MENDED,
)
_grown(
    "cep17.thm2",
    "The formula in LP-normal form is at most exponential in the formula",
    "theorem",
    lambda phi: lp_normal(phi, UNLIMITED),
    _well_formed,
    (conditionals,),
    steps=5,
)


@claim(
    "cep17.lemB.12:size",
    "The safe formula is at most linear in a formula in disjunctive normal form",
    "lemma",
    f"the statement is about time, which bounds the size; the time is not checked{BY_LIBRARY}{MENDED}",
)
def _(effort: Effort) -> Finding:
    nodes, cases = 4 if effort == "quick" else 5, 0
    for phi in (*formulas(nodes), UNSAFE_DISJUNCT, *map(choices, range(1, 9))):
        normal = core_disjunctive(phi, UNLIMITED)
        cases += 1
        if core.size(safe(normal, UNLIMITED)) > core.size(normal):
            return Finding("refuted", "exhaustive", show(normal))
    bound = f"{cases} formulas, the normal forms of all to {nodes} nodes with three conditions, of "
    bound += f"that of lemB.12:proof and of {IN_WORDS[choices]} to {core.size(normal)} nodes"
    return Finding("holds", "exhaustive", f"{bound}: never larger")


# ---- Theorem 3 ----
# The proof's automaton of a safe formula in LP-normal form: of each part one initial and one final state.

Edge = tuple[int, Predicate | None, Marks, int]
"""From, on, with which mark, to; on None nothing is read."""


class Thompson:
    """The automaton of appendix C.2, with transitions that read nothing."""

    def __init__(self, phi: core.Formula) -> None:
        self.states, self.edges = 0, list[Edge]()
        self.start, self.end = self.part(phi, ())

    def state(self) -> int:
        self.states += 1
        return self.states - 1

    def join(self, *pairs: tuple[int, int]) -> None:
        self.edges += [(p, None, UNMARKED, q) for p, q in pairs]

    def part(self, phi: core.Formula, filters: tuple[Predicate, ...]) -> tuple[int, int]:
        match phi:
            case core.CoreEventAtom(R):
                p, q = self.state(), self.state()
                asked: Predicate = OfType(R)
                for P in filters:
                    asked = Both(asked, P)
                self.edges += [(p, Anything(), UNMARKED, p), (p, asked, MARKED, q)]
                return p, q
            case core.CoreFilter(rho, core.Unary(_, P)):
                return self.part(rho, (*filters, P))
            case core.CoreOr(left, right):
                p, (p1, q1), (p2, q2), q = self.state(), self.part(left, ()), self.part(right, ()), self.state()
                self.join((p, p1), (p, p2), (q1, q), (q2, q))
                return p, q
            case core.CoreSeq(left, right):
                (p, q1), (p2, q) = self.part(left, ()), self.part(right, ())
                self.join((q1, p2))
                return p, q
            case core.CorePlus(rho):
                p, q = self.part(rho, ())
                self.join((q, p))
                return p, q
            case _:
                raise NotImplementedError(type(phi).__name__)

    @property
    def size(self) -> int:
        return self.states + len(self.edges)

    def reading(self) -> CEA:
        """Without the transitions that read nothing: those after some of them leave each state that leads there."""
        silent: dict[int, list[int]] = {}
        for p, P, _, q in self.edges:
            if P is None:
                silent.setdefault(p, []).append(q)

        def reached(p: int) -> Iterator[int]:
            pending, seen = [p], {p}
            while pending:
                yield (q := pending.pop())
                fresh = [r for r in silent.get(q, ()) if r not in seen]
                seen.update(fresh)
                pending += fresh

        leaving = {p: set(reached(p)) for p in range(self.states)}
        transitions = (
            Transition(p, P, m, q) for p in leaving for r, P, m, q in self.edges if P is not None and r in leaving[p]
        )
        final = frozenset(p for p in leaving if self.end in leaving[p])
        return CEA(self.states, tuple(dict.fromkeys(transitions)), frozenset({self.start}), final)


def _for_theorem_3(phi: core.Formula) -> bool:
    return is_unary(phi) and is_lp_normal(phi) and is_safe(phi)


@claim(
    "cep17.appC.2",
    "The automaton of a safe unary formula in LP-normal form, by cases",
    "construction",
    "the transitions are missing in our copy; those that read nothing follow the words",
)
def _(effort: Effort) -> Finding:
    nodes, length, cases = (4, 3, 0) if effort == "quick" else (5, 4, 0)
    for phi in filter(_for_theorem_3, formulas(nodes)):
        A = Thompson(phi).reading()
        for S in streams(length):
            cases += 1
            if [printed_cep17.complex_events(A, S, n) for n in range(len(S))] != by_position(phi, S):
                return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    bound = f"{cases:,} cases: all such formulas to {nodes} nodes with two conditions, all streams to "
    return Finding("holds", "exhaustive", f"{bound}{length} events over 3 tuples")


@claim(
    "cep17.thm3:size",
    "The automaton of the proof, with empty transitions, is at most linear in a safe formula in LP-normal "
    "form, and at most double exponential in others",
    "theorem",
    f"{LOST.format('linear and double exponential')} for a CEA, which has no empty transitions. Without them "
    "the states remain linear, but the proof gives no linear bound for the transitions. Another CEA may be "
    "smaller, so this is not a counterexample",
)
def _(effort: Effort) -> Finding:
    nodes, small, others = 4 if effort == "quick" else 5, 0, 0
    for phi in filter(is_unary, formulas(nodes)):
        n = core.size(phi)
        if _for_theorem_3(phi):
            small += 1
            if Thompson(phi).size > 6 * n:
                return Finding("refuted", "exhaustive", show(phi))
        elif _well_formed(phi):
            others += 1
            if Thompson(safe(lp_normal(phi, UNLIMITED), UNLIMITED)).size > 2**n:
                return Finding("refuted", "exhaustive", show(phi))
    sizes = (2, 4, 8, 16, 32)
    written, made, states, read = [], [], [], []
    for k in sizes:
        phi = alternatives(k)
        written.append(core.size(phi))
        made.append(Thompson(phi).size)
        A = Thompson(phi).reading()
        states.append(A.states)
        read.append(len(A.transitions))
    steps = range(1, 5 if effort == "quick" else 7)
    turned = [Thompson(safe(lp_normal(conditionals(k), UNLIMITED), UNLIMITED)).size for k in steps]
    rate = doublings([core.size(conditionals(k)) for k in steps], turned)
    linear = exponent(written, made)
    bound = (
        f"{small} safe unary formulas in LP-normal form, all to {nodes} nodes with two "
        f"conditions: at most 6 states and transitions a node; {others} other well-formed ones, rewritten by the "
        f"library: at most 2 to the n for n nodes. {IN_WORDS[alternatives]}, k from {sizes[0]} to {sizes[-1]}: "
        f"exponent {linear:.2f} of the size in that of the formula; with empty transitions removed as in the proof, "
        f"{exponent(written, states):.2f} of the states and {exponent(written, read):.2f} of the transitions. "
        f"{IN_WORDS[conditionals]}, k from {steps[0]} to {steps[-1]}: 2 to the {rate:.2f} n"
    )
    return Finding("holds" if linear < 1.1 and rate < 1 else "refuted", "exhaustive", bound)


# ---- Theorem 4 ----

STEPS: dict[str, tuple[printed_cep17.Steps, Callable[[CEA], Any]]] = {
    "strict": (printed_cep17.strict_steps, lambda A: [(q, 1) for q in sorted(A.initial)]),
    "nxt": (printed_cep17.next_steps, printed_cep17.ranked_start),
    "last": (printed_cep17.last_steps_corrected, printed_cep17.ranked_start),
    "max": (printed_cep17.max_steps, printed_cep17.max_start),
}
_RANKED = ". The proof counts |Q| sets in a row, each one of 2 to the |Q|: 2 to the |Q|²"
_COUNTS = {
    "strict": ": two copies of Q",
    "nxt": _RANKED,
    "last": _RANKED,
    "max": ". A state has two sets: 4 to the |Q|",
}


def ranked_states(n: int) -> int:
    """Return how many pairs there are of a sequence of disjoint sets, none empty, of n states, and a state in one."""
    ordered = [1]
    for k in range(1, n + 1):
        ordered.append(sum(comb(k, j) * ordered[k - j] for j in range(1, k + 1)))
    return sum(k * comb(n, k) * ordered[k] for k in range(n + 1))


OF_FORM: dict[str, Callable[[int], int]] = {
    "strict": lambda n: 2 * n,
    "nxt": ranked_states,
    "last": ranked_states,
    "max": lambda n: 4**n,
}
"""How many states of the form there are."""


def reachable(A: CEA, strategy: str) -> int:
    """Return how many states of the automaton for a strategy its runs reach, on events of two types."""
    steps, start = STEPS[strategy]
    pending = start(A)
    seen = set(pending)
    deltas = [printed_cep17.Delta(A, Event(R)) for R in "AB"]
    while pending:
        state = pending.pop()
        for delta in deltas:
            for _, after in steps(state, delta):
                if after not in seen:
                    seen.add(after)
                    pending.append(after)
    return len(seen)


def _size_of_strategy(strategy: str) -> None:
    words = "linear" if strategy == "strict" else "exponential"

    @claim(
        f"cep17.thm4:{strategy}-size",
        f"The CEA of {strategy.upper()} is at most {words} in the CEA",
        "theorem",
        f"{LOST.format(words)}{_COUNTS[strategy]}; counts states, not transitions"
        + ("; for the construction as corrected in appC.3:last" if strategy == "last" else ""),
    )
    def check(effort: Effort) -> Finding:
        cases, most = 0, dict.fromkeys(range(1, 5), 0)
        for A, _ in drawn(effort, 23):
            cases += 1
            most[A.states] = max(most[A.states], reachable(A, strategy))
        of_form = [OF_FORM[strategy](n) for n in range(1, 61)]
        fits = all(reached <= of_form[n - 1] for n, reached in most.items())
        fits &= strategy not in ("nxt", "last") or all(log2(many) <= n * n for n, many in enumerate(of_form, 1))
        found, formed = (", ".join(map(str, counts)) for counts in (most.values(), of_form[:4]))
        bound = f"{cases} random automata of 1 to 4 states (seed 23): at most {found} states are reached of {formed} "
        bound += "that have this form"
        bound += ", which for |Q| to 60 is at most 2 to the |Q|²" * (strategy in ("nxt", "last"))
        return Finding("holds" if fits else "refuted", "random", bound)


for _strategy in STEPS:
    _size_of_strategy(_strategy)


def _counting(steps: printed_cep17.Steps, start: Callable[[CEA], Any]) -> tuple[Any, Any]:
    """The same automaton, whose states say besides whether the number of events is even."""
    return (
        lambda state, delta: ((m, (after, not state[1])) for m, after in steps(state[0], delta)),
        lambda A: [(state, True) for state in start(A)],
    )


_THRICE = broken.result(lambda found: core.CoreOr(core.CoreOr(found, found), core.CoreOr(found, found)))
plant("cep17.lem2:size", "each disjunct four times", sys.modules[__name__], "core_disjunctive", _THRICE)
plant("cep17.thm1:size cep17.lemB.12:size", "the safe formula four times", sys.modules[__name__], "safe", _THRICE)
plant("cep17.thm2:size", "the normal form four times", sys.modules[__name__], "lp_normal", _THRICE)
plant(
    "cep17.appC.2",
    "no way back from the end of an iteration",
    Thompson,
    "join",
    lambda right: lambda self, *pairs: right(self, *((p, q) for p, q in pairs if q > p)),
)
plant(
    "cep17.thm3:size",
    "a transition from each state to each is added at the end of a part",
    Thompson,
    "size",
    lambda right: property(lambda self: self.states**2),
)
plant(
    [f"cep17.thm4:{strategy}-size" for strategy in STEPS],
    "states remember whether the number of events is even",
    sys.modules[__name__],
    "STEPS",
    lambda right: {strategy: _counting(*of) for strategy, of in right.items()},
)
