"""Claims of sase07 about NFA^b: Figure 2, Table 1, the definitions of appendix A.2, Lemma A.1."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice, pairwise, product
from random import Random

from cerify.automata.nfab import compile as nfab_compile
from cerify.automata.nfab import model as nfab
from cerify.automata.nfab import moves
from cerify.automata.nfab.compile import compile_query
from cerify.automata.nfab.model import show_formula
from cerify.automata.nfab.moves import NfabConfiguration, Runs, selected, values_in
from cerify.semantics.events import Stream
from cerify.semantics.predicates import mentions, satisfied
from cerify.semantics.sase import syntax as sase
from cerify.semantics.sase.denote import bindings
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.sase_search import difference, example, passed
from proofs_tests.unit.semantics import sase_cases as small
from proofs_tests.unit.semantics.sase_cases import events, query, shown

QUERY_3 = """SEQ(STOCK+ a[], STOCK b) WHERE {strategy}(a[]!, b) {{
    [symbol] and a[1].volume > 1000 and a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume
}} WITHIN 1 hour"""

SELECT_A = "a[i].symbol = a[i-1].symbol ∧ a[i].price > avg(a[i-1].price)"
SELECT_B = "b.symbol = a[a.LEN].symbol ∧ b.volume < 80% * a[a.LEN].volume"
FIGURE_2 = {
    "a[1]_begin": "a[1].volume > 1000",
    "a[i]_take": f"¬θ_a[i]_forced-stop ∧ {SELECT_A}",
    "b_begin": SELECT_B,
    "a[i]_ignore": f"¬θ_a[i]_forced-stop ∧ ¬({SELECT_A})",
    "b_ignore": f"¬({SELECT_B})",
    "a[i]_forced-stop": "a[i].time - a[1].time ≥ W ∨ θ_b_begin",
    "a[i]_auto-stop": "¬θ_a[i]_take ∧ ¬θ_a[i]_ignore",
    "a[i]_proceed": "θ_b_begin ∨ θ_a[i]_auto-stop",
}
"""Figure 2(b) as printed; a parenthesis that is missing in θ_a[i]_ignore is put in."""

TABLE_1 = {
    "strict_contiguity": "False",
    "partition_contiguity": "¬(a[i].symbol = a[i-1].symbol)",
    "skip_till_next_match": f"¬({SELECT_A})",
    "skip_till_any_match": "True",
}

READING = (
    "the symbols are those of Figure 2, which does not show the types, nor the window on begin and take edges. "
    "Our copy lacks the formula of θ_a[1]_begin; we take it from section 2.2.2; we rebuilt Query 3"
)
RUNNING = "`avg(a[..i-1].price)` for `avg(a[i-1].price)`, as section 2.2.2 cites Query 3"
# prices: above the average of all before, but not above the one before
RISE = "A1 A5 A4 B"
BY_LAST, BY_AVERAGE = (
    f"SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) {{ a[i].x > {what} }}"
    for what in ("a[i-1].x", "avg(a[..i-1].x)")
)


def conditions(strategy: str) -> dict[str, str]:
    """The formulas of Query 3, without what the figure leaves out, in its symbols."""
    A = compile_query(query(QUERY_3.format(strategy=strategy)))
    return {
        label.name.removeprefix("θ_"): show_formula(_as_in_the_figure(f, label.part == "forced-stop"))
        .replace("3600", "W")
        .replace("0.8 *", "80% *")
        for label, f in A.theta.items()
    }


def _as_in_the_figure(f: nfab.Formula, window: bool) -> nfab.Formula:
    match f:
        case nfab.NfabConjunction(parts) | nfab.NfabDisjunction(parts):
            kept = [
                p for p in parts if not isinstance(p, nfab.TypeTest) and (window or not isinstance(p, nfab.Elapsed))
            ]
            return type(f)(tuple(_as_in_the_figure(part, window) for part in kept))
        case nfab.Negation(inner):
            return nfab.Negation(_as_in_the_figure(inner, window))
        case _:
            return f


def _corrected(text: str) -> str:
    return text.replace("avg(a[i-1].price)", "avg(a[..i-1].price)")


@claim("sase07.fig2", "Figure 2: the automaton of Query 3", "figure", READING)
def _(effort: Effort) -> Finding:
    ok = conditions("skip_till_next_match") == {name: _corrected(text) for name, text in FIGURE_2.items()}
    got = shown(bindings(query(BY_LAST), events(RISE)))
    bound = f"the {len(FIGURE_2)} formulas"
    return Finding("holds-corrected" if ok else "refuted", "example", bound, example(BY_AVERAGE, RISE, got), RUNNING)


GROUPS = (
    "the row Group Contiguity is that of strict contiguity, as the text beside the table says. The possible "
    "damage is in the formula of select, and so in the row of skip till next match; we rebuilt Query 3"
)


@claim(
    "sase07.tab1", "Table 1: the condition on the ignore edge of a[i] in Query 3, by each strategy", "figure", GROUPS
)
def _(effort: Effort) -> Finding:
    compiled = {strategy: conditions(strategy)["a[i]_ignore"] for strategy in TABLE_1}
    expected = {strategy: f"¬θ_a[i]_forced-stop ∧ {_corrected(skip)}" for strategy, skip in TABLE_1.items()}
    got = shown(bindings(query(BY_LAST), events(RISE)))
    return Finding(
        "holds-corrected" if compiled == expected else "refuted",
        "example",
        "the four rows",
        example(BY_AVERAGE, RISE, got),
        RUNNING,
    )


# --- appendix A.2 -----------------------------------------------------------------------------------------------------


NO_IGNORE_AT_F = (
    "F has no formula in A.2 and no ignore edge; read literally, each state except q_1 has one. We rebuilt "
    "Query 3, the query of the counterexample"
)


@claim(
    "sase07.def-nfab",
    "The states and edges of the automaton, and the identifiers on an edge",
    "definition",
    NO_IGNORE_AT_F,
)
def _(effort: Effort) -> Finding:
    every = 5 if effort == "quick" else 1
    queries = [*small.queries(1), *(map(query, islice(small.texts(2, False, False, ("",)), 0, None, every)))]
    queries += map(query, CUT_BY_AGGREGATES)
    beyond = query(QUERY_3.format(strategy="skip_till_next_match"))
    automata = [compile_query(q) for q in queries]
    wrong = sum(not _is_line(A) or not _only_near(A, next_too=True) for A in automata)
    wrong += _only_near(compile_query(beyond), next_too=False)
    A = compile_query(beyond)
    on_take = set(_identifiers(A, nfab.NfabLabel(A.states[1], "take")))
    found = {
        "query": QUERY_3.format(strategy="skip_till_next_match"),
        "expected": sorted(
            f"{'b' if a.variable == 'b' else 'a[a.LEN]'}.{a.name}"
            for a in on_take
            if a.variable == "b" or _of_the_end(a)
        ),
        "got": "on the take edge of `a[i]` no identifier behind a, nor `a[a.LEN]`",
        "why": "`¬θ_a[i]_forced-stop` is a factor of `θ_a[i]_take`, and ! puts `θ_b_begin` into it; that is what "
        "Figure 2 has on this edge",
    }
    return Finding(
        "holds-corrected" if not wrong else "refuted",
        "random" if every > 1 else "exhaustive",
        f"{len(automata):,} queries compiled: all of one component and a sample (one in {every}) of two, "
        f"with one strategy and at most one condition, and {len(CUT_BY_AGGREGATES)} hand-made ones with ! and an "
        "aggregate: their states and edges agree with A.2, and their identifiers with the correction",
        found,
        "in a pair a[1], a[i] the take, ignore and proceed edges may also have identifiers of the next component, and "
        "take and ignore edges may have `a.len` and `agg(a[].att)`",
    )


CUT_BY_AGGREGATES = (
    "SEQ(A+ a[], B b) WHERE skip_till_next_match(a[]!, b) { b.x > sum(a[].x) }",
    "SEQ(A+ a[], B+ b[]) WHERE skip_till_any_match(a[]!, b[]!) { b[1].x = count(a[]) and sum(b[].x) > 1 }",
)
"""Of which the take and the ignore edge of a[i] have an aggregate of all of a[]."""


def _of_the_end(a: sase.Reference | sase.SaseAggregate) -> bool:
    """Whether it speaks of a component as a whole: of its last event, or of all of them."""
    return not a.running if isinstance(a, sase.SaseAggregate) else a.place == "last"


def _only_near(A: nfab.NFAb, next_too: bool) -> bool:
    """Whether no edge speaks of a component behind its own, or as printed of its own end on a take or an ignore edge.

    next_too is the correction: edges of a[i] may speak of the next component, and of the end of their own.
    """
    order = list(dict.fromkeys(q.variable for q in A.states if q.kind != "final"))
    for edge in A.edges:
        own, more = order.index(edge.source.variable), edge.source.kind == "more"
        for a in _identifiers(A, edge.label):
            behind = order.index(a.variable) - own
            if behind > (1 if more and next_too else 0):
                return False
            if more and not next_too and not behind and edge.move != "proceed" and _of_the_end(a):
                return False
    return True


def _is_line(A: nfab.NFAb) -> bool:
    """Q is a line of singletons and pairs with F at its end; q1 has no edges to it, F none from it."""
    kinds = [q.kind for q in A.states]
    pairs = all((q == "first") == (following == "more") for q, following in pairwise(kinds))
    moves = {q: {(e.move, e.target) for e in A.edges if e.source == q} for q in A.states}
    for q, following in pairwise(A.states):
        own = {("ignore", q)} if q != A.initial else set()
        own |= {("take", q), ("proceed", following)} if q.kind == "more" else {("begin", following)}
        if moves[q] != own:
            return False
    return pairs and kinds[-1] == "final" and kinds.count("final") == 1 and not moves[A.final]


def _identifiers(A: nfab.NFAb, label: nfab.NfabLabel) -> Iterator[sase.Reference | sase.SaseAggregate]:
    """The references and aggregates in a formula and in those that it names."""
    pending: list[nfab.Formula] = [A.theta[label]]
    while pending:
        match pending.pop():
            case nfab.NfabConjunction(parts) | nfab.NfabDisjunction(parts):
                pending.extend(parts)
            case nfab.Negation(inner):
                pending.append(inner)
            case nfab.Theta(named):
                pending.append(A.theta[named])
            case nfab.NfabTest(p, _):
                yield from (a for a in mentions(p) if isinstance(a, sase.Reference | sase.SaseAggregate))


class _AsPrinted(Runs):
    """The proceed move with a.len = n, n being the index that the event looked at would have."""

    def formula(self, f: nfab.Formula, now: NfabConfiguration) -> bool:
        match f:
            case nfab.NfabTest(p, None):
                peeked = selected(now, now.buffer[-1][0])
                return now.at < len(self.S) and satisfied(p, values_in(peeked, self.S, self.operations))
            case _:
                return super().formula(f, now)


@claim(
    "sase07.def-run",
    "Runs: begin, ignore, take, proceed",
    "definition",
    "the counterexample counts positions from 0, with the proceed move as printed and the begin move as "
    "corrected. Position n + 1 has no event, so no condition holds there",
)
def _(effort: Effort) -> Finding:
    text = "SEQ(A+ a[]) WHERE a[a.LEN].x = 2"
    got = _AsPrinted(compile_query(query(text)), events("A1 A2")).matches()
    length = 3 if effort == "quick" else 5
    cases = ((q, S) for q in _with_end() for S in small.streams(length, ("A1/k", "A2/k", "B1/k")))
    differs, looked_at = difference(
        cases, bindings, lambda q, S: {r.now.buffer for r in Runs(compile_query(q), S).accepting()}
    )
    return Finding(
        "holds-corrected"
        if differs is None and shown(got) != shown(bindings(query(text), events("A1 A2")))
        else "refuted",
        "example",
        f"the buffers of all accepting runs, corrected, are the matches: {looked_at} cases, nine queries made by "
        f"hand, all streams of {length} events of three kinds",
        example(text, "A1 A2", shown(got)),
        "`a.len = n − 1` in the proceed move: in the state `a[n]` the events `a[1]` to `a[n−1]` are selected, and "
        "`a[n]` is only examined. Also: `θ_{t_{k−1}}_begin` in the begin move, `e_{j_{v_n}}` for `e_{v_n}`",
    )


def _with_end() -> Iterator[sase.SaseQuery]:
    for clause in ("", "WHERE a[a.LEN].x = 1", "WHERE count(a[]) = 2"):
        for pattern in ("SEQ(A+ a[])", "SEQ(A+ a[], B b)", "SEQ(A+ a[], A+ b[])"):
            yield query(f"{pattern} {clause}")


@claim(
    "sase07.lemA.1",
    "A simple query has an equivalent automaton",
    "lemma",
    "the automata are the library's; def-nfab and def-run check their states, edges and moves against the "
    "corrected appendix. The second sentence, on closures under composition and negation, is not checked",
)
def _(effort: Effort) -> Finding:
    windows = ("", "WITHIN 2 seconds")
    if effort == "quick":
        queries = [*small.queries(1, windows=windows), *small.queries(2, windows=windows, step=39)]
        cases: Iterable[tuple[sase.SaseQuery, Stream]] = product(queries, small.streams(3, ("A1/k", "A2/l", "B1/k")))
        bound = f"{len(queries)} queries with one strategy and at most one condition, all of one component, a "
        bound += (
            "sample (one in 39) of two, with and without a window of 2 seconds, all streams of 3 events of three kinds"
        )
    else:
        rng = Random(1)
        queries = [*small.queries(2, windows=windows)]
        cases = ((q, small.by_chance(rng, 7)) for q in queries for _ in range(5))
        bound = f"{len(queries):,} queries of two components with one strategy, on five streams of 7 "
        bound += "events each, drawn (seed 1)"
    differs, looked_at = difference(cases, bindings, moves.bindings)
    if differs is not None:
        return Finding("refuted", "exhaustive", bound, differs)
    return passed(
        True, f"{bound} ({looked_at:,}): the buffers of accepting runs are the matches by section 2.2", "random"
    )


def _unforced(forced_stop: Callable[..., nfab.Formula]) -> Callable[..., nfab.Formula]:
    """The forced stop without the next component."""

    def wrong(self: nfab_compile._Rules, state: nfab.NfabState, k: sase.Component) -> nfab.Formula:
        f = forced_stop(self, state, k)
        return nfab.NfabDisjunction(f.parts[:1]) if isinstance(f, nfab.NfabDisjunction) else f

    return wrong


plant("sase07.fig2", "! does not look at the next component", nfab_compile._Rules, "forced_stop", _unforced)
plant(
    "sase07.tab1",
    "everything may be skipped",
    nfab_compile._Rules,
    "skip",
    lambda right: lambda self, state, k: nfab.NfabConjunction(()),
)
plant(
    "sase07.def-nfab",
    "the first state may ignore events",
    sys.modules[__name__],
    "compile_query",
    broken.result(lambda A: replace(A, edges=(*A.edges, nfab.NfabEdge(A.initial, "ignore", A.initial)))),
)
plant(
    "sase07.def-run",
    "a run that took one event is lost",
    Runs,
    "accepting",
    broken.result(lambda runs: [r for r in runs if len(r.steps) > 2]),
)
plant(
    "sase07.lemA.1",
    "a match of one event is lost",
    moves,
    "bindings",
    broken.result(lambda found: {m for m in found if sum(len(ps) for _, ps in m) > 1}),
)
