"""Claims of tods21 about correlation and orders: Theorem 8.14, Lemmas D.1 and 7.1, Figure 6."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product

from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.denote import Predicates, sup
from cerify.semantics.cel.interpreter import Interpreter, complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import ComplexEvent, Event, Stream, Valuation
from cerify.semantics.trees import children
from proofs_tests.claims import broken
from proofs_tests.claims.errata import damaged_text
from proofs_tests.claims.ledger import LEDGER, Effort, Finding, Status, claim, plant
from proofs_tests.claims.search import Space
from proofs_tests.lemmas.everything import proved

GARBAGE = Event("U", {"x": 0})


def pumped(
    S: Stream, mu: Valuation, i: int, j: int, k: int, between: tuple[Event, ...]
) -> tuple[Stream, Valuation, int]:
    """Appendix D: [i, j] of (S, mu) k times, and where the last event of S is then; each P_i is the same."""
    middle = range(i, j + 1)
    P = between if not set(middle) <= sup(mu) else ()
    events = [*(S[p] for p in range(i)), *P]
    moved = {(A, p) for A, p in mu if p < i}
    for _ in range(k):
        offset = len(events) - i
        moved |= {(A, p + offset) for A, p in mu if i <= p <= j}
        events += [S[p] for p in middle] + list(P)
    rest = len(events) - (j + 1)
    moved |= {(A, p + rest) for A, p in mu if p > j}
    last = len(S) - 1 + rest if j + 1 < len(S) else len(events) - len(P) - 1
    return Stream(events + [S[p] for p in range(j + 1, len(S))]), frozenset(moved), last


def constant(phi: cel.Formula) -> int:
    """The N of the proof."""
    match phi:
        case cel.EventAtom():
            return 1
        case cel.Or(left, right):
            return max(constant(left), constant(right))
        case cel.Seq(left, right):
            return constant(left) + constant(right)
        case _:
            (psi,) = children(phi)
            return constant(psi)


def pumpable_at(phi: cel.Formula, S: Stream, mu: Valuation) -> bool:
    """Whether some i, j of mu can be pumped one to three times, with and without events between."""
    return any(
        all(
            moved in Interpreter(longer, predicates=PAIR).meaning(phi, 0, last)
            for k, between in product((1, 2, 3), ((), (GARBAGE,)))
            for longer, moved, last in [pumped(S, mu, i, j, k, between)]
        )
        for i, j in combinations(sorted(sup(mu)), 2)
    )


@claim("tods21.lemD.1", "Every formula of CEL* and STRICT is pumpable", "lemma")
def _(effort: Effort) -> Finding:
    operators = ("correlated", "strict", "seq", "plus", "or")
    space = Space(operators, 4, 3) if effort == "quick" else Space(("in", *operators), 4, 3)
    small = replace(space, nodes=space.nodes - 1)
    sized = [cel.Filter(cel.In(phi, "X"), cel.Named("pair", ("X",))) for phi in small.every()]
    cases = rejected = 0
    for phi in (*space.every(), *sized):
        N = constant(phi)
        for S in space.streams(space.events):
            if effort == "quick" and not _compares(phi) and any(event.get("x") for event in S):
                continue  # without a filter across events the values make no difference
            found = Interpreter(S, predicates=PAIR).meaning(phi, 0, len(S) - 1)
            rejected += _rejected(phi, S)
            for mu in found:
                if len(sup(mu)) > N:
                    cases += 1
                    if not pumpable_at(phi, S, mu):
                        return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    alike = "; the events have x = 0 where the formula has no filter" if effort == "quick" else ""
    if frozenset({0, 1, 3, 4}) in complex_events(parse("STRICT(A+)"), Stream(map(Event, "AAUAA")), 4):
        return Finding("refuted", "exhaustive", "STRICT is not looked at")
    if not rejected:
        return Finding("refuted", "exhaustive", "the filters reject nothing, so that the case FILTER is not looked at")
    return Finding(
        "holds",
        "exhaustive",
        f"{cases} valuations with more than N events, N as in the proof, pumped one to three times, each P_i empty "
        f"or one U; filters on top that compare two events reject {rejected} valuations of any size; "
        f"{space.formulas_in_words}, and those with one node less below a filter that requires a set of two tuples; "
        f"matches that end at the last event of all streams of {space.events} events over {len(space.alphabet)} "
        f"tuples{alike}; the definition has no event between two rounds: with one, STRICT(A+) on A A would not be "
        "pumpable",
    )


PAIR: Predicates = {"pair": lambda events: len(events) == 2}
"""True of two tuples: pumping repeats events, and leaves the set of tuples as it is."""


def _compares(phi: cel.Formula) -> bool:
    return any(isinstance(psi, cel.Filter) for psi in cel.subformulas(phi))


def _rejected(phi: cel.Formula, S: Stream) -> int:
    """How many valuations a filter on top rejects, of those of values."""
    if not isinstance(phi, cel.Filter) or not isinstance(phi.condition, cel.Correlated):
        return 0
    all_, kept = (Interpreter(S, predicates=PAIR).meaning(psi, 0, len(S) - 1) for psi in (phi.phi, phi))
    return len(all_) - len(kept)


plant("tods21.lemD.1", "a filter across events rejects nothing", denote, "satisfied", lambda right: lambda P, get: True)


@claim(
    "tods21.thm8.14",
    "((A ; E) FILTER A.a = E.a):+ has no equivalent in CEL* and STRICT",
    "theorem",
)
def _(effort: Effort) -> Finding:
    phi, largest = parse("((A ; E) FILTER A.a = E.a):+"), 4 if effort == "quick" else 7
    unit = ("A", "L", "E")
    for N in range(1, largest + 1):
        S = Stream(Event(R, {"a": n}) for n in range(1, N + 1) for R in unit)
        C: ComplexEvent = frozenset(p for p in range(3 * N) if p % 3 != 1)
        if C not in complex_events(phi, S, 3 * N - 1):
            return Finding("refuted", "exhaustive", f"the stream of the proof for N = {N}")
        mu: Valuation = frozenset(("•", p) for p in C)
        for i, j in combinations(sorted(C), 2):
            longer, moved, last = pumped(S, mu, i, j, 2, (Event("U", {"a": 0}),))
            if sup(moved) in complex_events(phi, longer, last):
                return Finding("refuted", "exhaustive", f"[{i}, {j}] can be pumped for N = {N}")
    bound = (
        f"the stream of the proof, for all N to {largest}: no two positions can be pumped twice. lemD.1 checks the rest"
    )
    return Finding("holds", "exhaustive", bound)


def _pair_property(phi: cel.Formula, a: Event, b: Event, between: Event) -> bool:
    """If a, b next to each other are a match, then so they are with an event between, or a is one on its own."""
    together = frozenset({0, 1}) in complex_events(phi, Stream([a, b]), 1)
    alone = frozenset({0}) in complex_events(phi, Stream([a]), 0)
    return not together or _apart(phi, a, b, between) or alone


def _apart(phi: cel.Formula, a: Event, b: Event, between: Event) -> bool:
    return frozenset({0, 2}) in complex_events(phi, Stream([a, between, b]), 2)


@claim(
    "tods21.fig6:strict-not-in-cplus",
    "STRICT(R ; T) has no equivalent in CEL* and :+",
    "figure",
    "filters are pointwise, or compare two variables. With other predicates a different property would be "
    "needed, which is not checked: neighbours forced by :+ come from two rounds of one operand, so with R T "
    "also T R would match",
)
def _(effort: Effort) -> Finding:
    operators = ("filter", "correlated", "cplus", "seq", "plus", "or")
    space = Space(operators if effort == "quick" else ("in", *operators), 4, 3)
    cases, broken = 0, parse("STRICT(A ; B)")
    if _pair_property(broken, Event("A", {"x": 0}), Event("B", {"x": 0}), GARBAGE):
        return Finding("refuted", "exhaustive", "STRICT(A ; B) has the property")
    for phi in space.every():
        cases += 1
        for a, b, between in product(space.alphabet, space.alphabet, (*space.alphabet, GARBAGE)):
            if not _pair_property(phi, a, b, between):
                return Finding("refuted", "exhaustive", show(phi))
    if _apart(cel.ContiguousPlus(cel.EventAtom("A")), *space.alphabet[:2], GARBAGE):
        return Finding("refuted", "exhaustive", "`:+` is not looked at")
    return Finding(
        "holds",
        "exhaustive",
        "if two neighbours are a match, then so are they with an event between them, or the first one alone. This "
        f"is true of {cases} formulas, on {len(space.alphabet)} tuples, with one of these or a U between; of A:+ on "
        f"A A only by the first alone. It is false of STRICT(A ; B) on A B; {space.formulas_in_words}",
    )


FIGURE_6 = (
    "lemB.1",
    "lemD.1",
    "prop8.12:containment",
    "prop8.12:strictness",
    "prop8.13",
    "prop8.15",
    "thm8.14",
    "fig6:strict-not-in-cplus",
)


@claim(
    "tods21.fig6",
    "The fragments with `:`, :+ and STRICT",
    "figure",
    "the relations as the caption and section 8.2 give them",
)
def _(effort: Effort) -> Finding:
    statuses = {id_: LEDGER[f"tods21.{id_}"].check(effort).status for id_ in FIGURE_6}
    failing = [id_ for id_, status in statuses.items() if status == "refuted"]
    mended = [id_ for id_ in FIGURE_6 if damaged_text(f"tods21.{id_}") is not None]
    corrected = [id_ for id_, status in statuses.items() if status == "holds-corrected" and id_ not in mended]
    if failing:
        return Finding("refuted", "exhaustive", f"it rests on {', '.join(failing)}, refuted")
    return Finding(
        "holds",
        "exhaustive",
        f"checked again: all {len(FIGURE_6)} entries on which it rests, with their bounds. {', '.join(corrected)} "
        f"hold only as corrected, {', '.join(mended)} only as mended. (a) is prop8.12 for pointwise filters, strict "
        "by lemB.1. (b) is thm8.14 with lemD.1 (:+ is not in CEL* and STRICT) and fig6:strict-not-in-cplus. (c) is "
        "prop8.13, strict by thm8.14, and an equivalence for unary predicates by prop8.15",
    )


def total_order(effort: Effort, name: str, deciding: Callable[[ComplexEvent], int]) -> Finding:
    """C1 <= C2 if they are equal, or the deciding one of the events in just one of them is in C2."""
    width = 5 if effort == "quick" else 6
    sets = [frozenset(C) for size in range(width + 1) for C in combinations(range(width), size)]

    def by_definition(C: ComplexEvent, D: ComplexEvent) -> bool:
        return C == D or deciding(C ^ D) in D

    def below(C: ComplexEvent, D: ComplexEvent) -> bool:
        return denote.next_at_most(C, D) if name == "next" else denote.last_at_most(C, D)

    if any(below(C, D) != by_definition(C, D) for C in sets for D in sets):
        return Finding("refuted", "exhaustive", "the order of the library is another one")
    order = {(C, D): below(C, D) for C in sets for D in sets}
    total = all(order[C, D] or order[D, C] for C, D in order)
    antisymmetric = all(C == D or not (order[C, D] and order[D, C]) for C, D in order)
    transitive = all(order[C, E] for C, D in order if order[C, D] for E in sets if order[D, E])
    steps = proved(f"orders.{name}-antisymmetric", f"orders.{name}-transitive")
    status: Status = "holds" if total and antisymmetric and transitive and steps else "refuted"
    return Finding(
        status,
        "proof",
        "docs/theory/strategies.md; z3 proves two of its three steps for sets of any size; all triples of the "
        f"{len(sets)} sets of positions below {width}",
    )


claim("tods21.lem7.1:next", "the order of NXT is total", "lemma")(lambda effort: total_order(effort, "next", min))
claim(
    "tods21.lem7.1:last",
    "the order of LAST is total",
    "lemma",
    "Lemma 7.1 is about NXT. Section 7.1 defines LAST in the same way, so its order must be total too",
)(lambda effort: total_order(effort, "last", max))


plant("tods21.thm8.14", "values are always equal", denote, "satisfied", broken.always(True))
plant(
    "tods21.fig6:strict-not-in-cplus",
    "; is `:`",
    interpreter,
    "clause",
    broken.for_root(cel.Seq, lambda phi, S, i, j, of, *_: denote.contiguous(phi.left, phi.right, i, j, of)),
)
plant("tods21.fig6", "values are always equal", denote, "satisfied", broken.always(True))
_BY_SIZE = broken.always(True)
plant("tods21.lem7.1:next", "every set is below every other", denote, "next_at_most", _BY_SIZE)
plant("tods21.lem7.1:last", "every set is below every other", denote, "last_at_most", _BY_SIZE)
