"""Claims of tods21, sections 4, 5 and 7.1: what formulas and automata mean."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise, product

from cerify.automata.algebra.finite import types
from cerify.automata.cea import compile as cea_compile
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, UNMARKED, Transition, io_determinize
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.rewrite.laws import HOLDING, Law
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.cel import denote, interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star, is_unary
from cerify.semantics.cel.denote import Predicates
from cerify.semantics.cel.interpreter import Interpreter, complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Event, Stream, Valuation
from cerify.semantics.predicates import Anything, OfType, holds
from proofs_tests.claims import broken, cea_runs, printed_tods21
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.decide import algebra, separated
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.search import BINARY, UNARY, Space
from proofs_tests.claims.tods21_constructions import CASES, SIGNS, STRATEGIES, is_io_deterministic
from proofs_tests.support import EXAMPLES, stream

BELOW = Space(("in", "seq", "plus", "or", "project"), nodes=4, events=3)
LAWS_THAT_HOLD = [law for laws in HOLDING.values() for law in laws]
EMPTY_SUPPORTS = "a condition on a missing minimum or maximum is false (decisions/empty-supports)"
MENDED = {
    "strict": "set of the valuations whose support is an interval",
    "plus": "sets as mended, φ ; φ+",
    **dict.fromkeys(("seq", "cplus"), "sets as printed on the right, the left mended"),
}
READINGS = {
    **dict.fromkeys(("cseq", "cplus", "start"), EMPTY_SUPPORTS),
    "strict": (
        "an interval, by the words of section 7.1; for the formula beside them see sec7.1:strict. The empty "
        "set is an interval (decisions/empty-supports)"
    ),
}


def _operator(name: str) -> None:
    title = f"the meaning of {SIGNS.get(name, name.upper())}{', of section 7.1' if name in STRATEGIES else ''}"

    @claim(f"tods21.fig3:{name}", title, "definition", READINGS.get(name))
    def check(effort: Effort) -> Finding:
        nodes = 5 if name in BINARY and effort == "full" else 4
        space, cases = Space(BELOW.operators, nodes, BELOW.events), 0
        for phi in [cel.EventAtom("A"), cel.EventAtom("B")] if name == "event" else space.topped(name):
            for length in range(1, space.events + 1):
                for S in space.streams(length):
                    known = Interpreter(S)
                    cases += 1
                    for j in range(length):
                        for i in range(j + 1):
                            if known.meaning(phi, i, j) != printed_tods21.meaning(phi, S, i, j):
                                return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
        against = MENDED.get(name, "sets as printed")
        of = "A and B, all streams to 3 events over 3 tuples" if name == "event" else space.describe(name)
        return Finding("holds", "exhaustive", f"{cases} cases against the {against}, all intervals; {of}")


for _name in ("event", *CASES, *STRATEGIES):
    _operator(_name)


@claim("tods21.fig3:filter-sets", "FILTER P(A, B): P is a relation over sets of tuples", "definition")
def _(effort: Effort) -> Finding:
    """Every P of arity 1 over the tuples of the alphabet, and of arity 2 those that compare the two sets."""
    alphabet = BELOW.alphabet[:2] if effort == "quick" else BELOW.alphabet
    sets = [frozenset(chosen) for n in range(len(alphabet) + 1) for chosen in combinations(range(len(alphabet)), n)]
    relations: list[tuple[str, Callable[..., bool]]] = [
        ("A", lambda X, P=P: X in P) for n in range(len(sets) + 1) for P in map(frozenset, combinations(sets, n))
    ]
    relations += [("A, X", operator.eq), ("A, X", operator.le), ("A, X", frozenset.isdisjoint)]
    cases, numbers = 0, {_tuple(event): n for n, event in enumerate(alphabet)}

    def numbered(events: Sequence[Event]) -> frozenset[int]:
        return frozenset(numbers[_tuple(event)] for event in events)

    for variables, P in relations:
        phi = parse(f"((A+ OR B) OR (A IN X ; A)) FILTER P({variables})")
        assert isinstance(phi, cel.Filter)
        for length in range(1, 4):
            for S in map(Stream, product(alphabet, repeat=length)):
                cases += 1
                registered = {"P": lambda *of, P=P: P(*map(numbered, of))}
                got = Interpreter(S, predicates=registered).meaning(phi, 0, length - 1)
                expected = frozenset(
                    mu
                    for mu in Interpreter(S).meaning(phi.phi, 0, length - 1)
                    if P(*(numbered([S[p] for A, p in mu if name == A]) for name in variables.split(", ")))
                )
                if got != expected or _repeats(registered, phi, S):
                    return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    bound = (
        f"{cases} cases: all {2 ** len(sets)} predicates of arity 1 over sets of {len(alphabet)} tuples, and three "
        "of arity 2 made by hand, above (A+ OR B) OR (A IN X ; A), on all streams to 3 events; no predicate gets a "
        "tuple twice"
    )
    return Finding("holds", "exhaustive", bound)


def _tuple(event: Event) -> tuple[object, ...]:
    return event.type, *sorted(event.attributes.items())


def _repeats(registered: Predicates, phi: cel.Formula, S: Stream) -> bool:
    """Whether some predicate of phi is handed a tuple more than once."""
    seen: list[Sequence[Event]] = []

    def watched(*of: Sequence[Event]) -> bool:
        seen.extend(of)
        return registered["P"](*of)

    Interpreter(S, predicates={"P": watched}).meaning(phi, 0, len(S) - 1)
    return any(len(set(map(_tuple, events))) < len(events) for events in seen)


plant(
    "tods21.fig3:filter-sets",
    "a registered predicate is always true",
    denote,
    "in_relation",
    lambda right: lambda atom, sets, predicates: True,
)


@claim(
    "tods21.fig3:laws",
    "; and : are associative, and other laws",
    "remark",
    "section 1 criticises sequencing that is not associative; the other laws are our own",
)
def _(effort: Effort) -> Finding:
    operands, laws, instances = (parse("A"), parse("A ; B"), parse("B+")), 0, 0
    for law in LAWS_THAT_HOLD:
        fitting = [chosen for chosen in product(operands, repeat=len(law.letters)) if law.applies(*chosen)]
        verdicts = {type(equivalent(*law.instance(*chosen), law.level)).__name__ for chosen in fitting}
        if not verdicts or "Different" in verdicts:
            return Finding("refuted", "decided", law.name)
        if verdicts == {"Equivalent"}:
            laws, instances = laws + 1, instances + len(fitting)
    return Finding(
        "holds",
        "decided",
        f"{instances} instances of {laws} laws, all over {', '.join(map(show, operands))}, on all streams; "
        f"{len(LAWS_THAT_HOLD) - laws} more compare events or times and are not decided (docs/laws.md)",
    )


@claim(
    "tods21.sugar4",
    "AND and OR of filters abbreviate FILTER and OR of formulas, and comparisons abbreviate atoms P(A)",
    "definition",
)
def _(effort: Effort) -> Finding:
    ok = all(
        isinstance(equivalent(parse(f"({phi}) FILTER {left}"), parse(right.format(phi)), "valuations"), Equivalent)
        for phi in ("A", "A ; B", "(A OR B)+", "A+ ; B")
        for left, right in (
            ("A.x > 1 AND B.x = 2", "(({}) FILTER A.x > 1) FILTER B.x = 2"),
            ("A.x > 1 OR B.x = 2", "(({0}) FILTER A.x > 1) OR (({0}) FILTER B.x = 2)"),
        )
    )
    S = stream("A A", x=[1, 2])
    quantified = complex_events(parse("A+ FILTER A.x = 2"), S, 1) == {frozenset({1})}
    return Finding(
        "holds" if ok and quantified else "refuted",
        "decided",
        "AND and OR of conditions on A; A ; B; (A OR B)+; A+ ; B, on all streams; comparisons by one example, A+ "
        "FILTER A.x = 2 on A A",
    )


@claim(
    "tods21.def4.1",
    "Unary formulas: all formulas of section 3 except phi5, but not the formula of section 4 with a window",
    "definition",
)
def _(effort: Effort) -> Finding:
    unary = {name: is_unary(parse(query)) for name, (query, _) in EXAMPLES.items()}
    ok = unary == {name: name != "phi5" for name in EXAMPLES}
    with_window = f"(({EXAMPLES['phi1'][0]}) IN W) FILTER Q(W)"
    with_others = ("(A ; B) WITHIN 100 EVENTS", "A FILTER P(A)", "(A ; B) FILTER A.x = 1 AND A.x = B.x", with_window)
    ok = ok and not any(is_unary(parse(text)) for text in with_others)
    return Finding(
        "holds" if ok else "refuted",
        "example",
        "the eight formulas of section 3 and the one of section 4. Also not unary: a window of events, a "
        "registered predicate (it need not be pointwise), and a comparison of A and B",
    )


@claim("tods21.def8.1", "CEL*: the operators of its grammar, and no other", "definition")
def _(effort: Effort) -> Finding:
    space = Space((*UNARY, *BINARY), nodes=3, events=0)
    grammar = (cel.EventAtom, cel.In, cel.Filter, cel.Seq, cel.Plus, cel.Or)
    cases = 0
    for phi in space.every():
        cases += 1
        if bool(beyond_star(phi)) == all(isinstance(psi, grammar) for psi in cel.subformulas(phi)):
            return Finding("refuted", "exhaustive", show(phi))
    return Finding("holds", "exhaustive", f"{cases} formulas: {space.formulas_in_words}")


@claim("tods21.window4", "A window of 100 events is a filter Q on a variable", "definition")
def _(effort: Effort) -> Finding:
    space, window, cases = Space(("seq", "plus", "or"), nodes=3, events=5), 3, 0

    def Q(S: Stream, C: frozenset[int], as_printed: bool) -> bool:
        first, last = min(S[p].attributes["ts"] for p in C), max(S[p].attributes["ts"] for p in C)
        return (first - last if as_printed else last - first) < window  # type: ignore[operator]

    differ = None
    words = [kinds for length in range(2, space.events + 1) for kinds in product("AB", repeat=length)]
    for phi, kinds in product(space.every(), words):
        cases += 1
        S, n = Stream(Event(R, {"ts": n}) for n, R in enumerate(kinds)), len(kinds) - 1
        expected = complex_events(parse(f"({show(phi)}) WITHIN {window} EVENTS"), S, n)
        every = complex_events(phi, S, n)
        if frozenset(C for C in every if Q(S, C, as_printed=False)) != expected:
            return Finding("refuted", "exhaustive", f"{show(phi)} on {kinds}")
        got = frozenset(C for C in every if Q(S, C, as_printed=True))
        by_words = frozenset(C for C in every if max(C) - min(C) <= window)  # of times that are positions: at most
        if differ is None and got not in (expected, by_words):
            differ = {
                "query": f"({show(phi)}) WITHIN {window} EVENTS",
                "events": [{"type": R, "ts": ts} for ts, R in enumerate(kinds)],
                "at": n,
                "expected": sorted(map(sorted, expected)),
                "got": sorted(map(sorted, got)),
            }
    bound = (
        f"a window of {window} instead of 100, against the library's WITHIN {window} EVENTS: {cases} cases, "
        f"{space.formulas_in_words}, all streams of A and B of 2 to "
    )
    bound += f"{space.events} events, at their last position"
    return Finding("holds-corrected", "exhaustive", bound, differ, "|first − last| < 100, that is last − first < 100")


@claim("tods21.def5.1", "The runs of a CEA: ends of runs, marks, accepting ones", "definition")
def _(effort: Effort) -> Finding:
    cases = 0
    for A in automata("quick", seed=8):
        for S in BELOW.streams(3):
            cases += 1
            found = set()
            for ts in product(A.transitions, repeat=len(S)):
                linked = all(t.target == u.source for t, u in pairwise(ts))
                fits = all(holds(t.predicate, event) for t, event in zip(ts, S, strict=True))
                if linked and fits and ts[0].source in A.initial and ts[-1].target in A.final:
                    found.add(frozenset((variable, i) for i, t in enumerate(ts) for variable in t.marks))
            if found != cea_runs.valuations(A, S, len(S) - 1):
                return Finding("refuted", "exhaustive", f"{A} over {S.events}")
    bound = f"{cases} cases: all sequences of three transitions of {in_words('quick', seed=8)}; all streams of 3 "
    bound += "events over 3 tuples"
    return Finding("holds", "exhaustive", bound)


@claim(
    "tods21.ex5.3",
    "The automaton of Figure 4: from an H to an H, with some of the T between",
    "example",
    "our copy lacks the drawing; we follow the words of Example 5.3",
)
def _(effort: Effort) -> Finding:
    skip = [Transition(q, Anything(), UNMARKED, q) for q in (0, 1)]
    A = CEA(
        3,
        (
            *skip,
            Transition(0, OfType("H"), frozenset({"H1"}), 1),
            Transition(1, OfType("T"), frozenset({"T"}), 1),
            Transition(1, OfType("H"), frozenset({"H2"}), 2),
        ),
        frozenset({0}),
        frozenset({2}),
    )
    phi = parse("PROJECT[H1, H2](H IN H1 ; H IN H2) OR PROJECT[H1, T, H2](H IN H1 ; T+ ; H IN H2)")
    over = algebra(phi, of=A.predicates)
    ok = separated(A, compile_cel(phi, algebra=over), over) is None
    deterministic = is_io_deterministic(A)
    return Finding(
        "holds" if ok and deterministic else "refuted",
        "decided",
        f"valuations of {show(phi)}, on all streams; it is I/O-deterministic, as section 5 has it",
    )


@claim("tods21.def5.4", "With an I/O-deterministic CEA a valuation has at most one run", "definition")
def _(effort: Effort) -> Finding:
    cases = 0
    for A in automata("quick", seed=9):
        B = io_determinize(A)
        if not is_io_deterministic(B):
            return Finding("refuted", "exhaustive", str(A))
        for S in BELOW.streams(3):
            cases += 1
            runs = [(q, frozenset[tuple[str, int]]()) for q in B.initial]
            for i, event in enumerate(S):
                runs = [
                    (t.target, mu | {(variable, i) for variable in t.marks})
                    for q, mu in runs
                    for t in B.leaving[q]
                    if holds(t.predicate, event)
                ]
            if len({mu for _, mu in runs}) != len(runs):
                return Finding("refuted", "exhaustive", f"{A} over {S.events}")
    return Finding(
        "holds",
        "exhaustive",
        f"{cases} cases: the I/O-determinized of {in_words('quick', seed=9)}; all streams of 3 events over 3 tuples",
    )


@claim(
    "tods21.def5.6", "The types of finitely many predicates exclude each other: a tuple is in one at most", "definition"
)
def _(effort: Effort) -> Finding:
    cases, sets, space = 0, set(), Space(("filter", "or", "seq"), 4, 2)
    for phi in space.every():
        A = compile_cel(phi)
        sets.add(frozenset(A.predicates))
        split = types(A.predicates)
        for event in (*BELOW.alphabet, Event("C", {})):
            cases += 1
            one = [chosen for chosen, P in split if holds(P, event)]
            if one != [frozenset(i for i, P in enumerate(A.predicates) if holds(P, event))]:
                return Finding("refuted", "exhaustive", f"{show(phi)} and {event}")
    bound = (
        f"{cases} cases, of {len(sets)} sets of predicates: those of the automata of {space.formulas_in_words}, on an "
        "A of each x, a B and a C"
    )
    return Finding("holds", "exhaustive", bound)


@claim("tods21.def5.2", "The complex events of a CEA are the supports of its valuations", "definition")
def _(effort: Effort) -> Finding:
    from cerify.automata.evaluate.ces import evaluate_automaton

    space, cases = Space(("in", "filter", "seq", "plus", "or"), 3, 3), 0
    for phi in space.every():
        A = compile_cel(phi)
        for S in BELOW.streams(3):
            cases += 1
            expected = {(n, tuple(sorted({p for _, p in mu}))) for n in range(3) for mu in cea_runs.valuations(A, S, n)}
            if expected != {(m.at, m.events) for m in evaluate_automaton(A, S)}:
                return Finding("refuted", "exhaustive", f"{show(phi)} over {S.events}")
    return Finding(
        "holds", "exhaustive", f"{cases} cases: {space.formulas_in_words}, all streams of 3 events over 3 tuples"
    )


@claim("tods21.sec7.1:strict", "STRICT keeps a valuation whose support is an interval", "definition")
def _(effort: Effort) -> Finding:
    S, phi = stream("A A B"), parse("A ; B")
    as_printed = {
        C
        for C in complex_events(phi, S, 2)
        if all(k not in C for k1, k2 in product(C, repeat=2) for k in range(k1 + 1, k2))
    }
    expected = complex_events(cel.Strict(phi), S, 2)
    if expected != {frozenset({1, 2})}:
        return Finding("refuted", "example", "the corrected clause has something else than the neighbours")
    counterexample = {
        "query": "STRICT(A ; B)",
        "events": [{"type": event.type} for event in S],
        "at": 2,
        "expected": sorted(map(sorted, expected)),
        "got": sorted(map(sorted, as_printed)),
    }
    status: Status = "holds-corrected" if as_printed != expected else "holds"
    bound = "the formula on one stream; fig3:strict checks the words"
    return Finding(status, "example", bound, counterexample, "k ∈ sup(μ) for every k between, in place of k ∉ sup(μ)")


# --- errors that the checks have to find ------------------------------------------------------------------------------


def _contiguous(
    phi: cel.ContiguousSeq, S: Stream, i: int, j: int, of: denote.Meaning, *_: object
) -> Iterator[Valuation]:
    return denote.contiguous(phi.left, phi.right, i, j, of)


def _sequenced(phi: cel.Seq, S: Stream, i: int, j: int, of: denote.Meaning, *_: object) -> Iterator[Valuation]:
    return denote.sequenced(phi.left, phi.right, i, j, of)


_OTHERWISE = {
    "in": (cel.In, "IN binds nothing", broken.operand),
    "filter": (cel.Filter, "FILTER keeps everything", broken.operand),
    "seq": (cel.Seq, "; is `:`", _contiguous),
    "plus": (cel.Plus, "+ is one round", broken.operand),
    "cseq": (cel.ContiguousSeq, "`:` is ;", _sequenced),
    "cplus": (cel.ContiguousPlus, "`:+` is one round", broken.operand),
    "or": (cel.Or, "OR is its left side", broken.operand),
    "project": (cel.Project, "what is left out is kept", broken.operand),
    "start": (cel.Start, "START keeps everything", broken.operand),
    "and": (cel.And, "AND is its left side", broken.operand),
    "all": (cel.All, "ALL is ;", _sequenced),
    "unless": (cel.Unless, "UNLESS keeps everything", broken.operand),
    "strict": (cel.Strict, "STRICT keeps everything", broken.operand),
    "nxt": (cel.Next, "NXT keeps everything", broken.operand),
    "last": (cel.Last, "LAST keeps everything", broken.operand),
    "max": (cel.Max, "MAX keeps everything", broken.operand),
}
for _name, (_kind, _what, _instead) in _OTHERWISE.items():
    plant(f"tods21.fig3:{_name}", _what, interpreter, "clause", broken.for_root(_kind, _instead))
plant(
    "tods21.sec7.1:strict",
    *("STRICT keeps everything", interpreter, "clause"),
    broken.for_root(cel.Strict, broken.operand),
)
plant(
    "tods21.fig3:laws",
    "phi:+ is STRICT(phi+), which is true of A",
    sys.modules[__name__],
    "LAWS_THAT_HOLD",
    lambda right: (Law("none", parse("phi:+"), parse("STRICT(phi+)"), "events", ""), *right),
)


def _left_of_or(filter_: Callable[..., CEA]) -> Callable[..., CEA]:
    return lambda A, c: filter_(A, c.left) if isinstance(c, cel.Disjunction) else filter_(A, c)


plant("tods21.sugar4", "OR of conditions is its left side", cea_compile, "_filter", _left_of_or)
plant(
    "tods21.window4",
    "a window is one event longer",
    denote,
    "spans_at_most",
    broken.argument(lambda window: cel.EventWindow(window.count + 1)),
)
_LOST = broken.result(lambda mus: frozenset(mu for mu in mus if mu))
plant("tods21.def5.1", "a run that marks nothing is lost", cea_runs, "valuations", _LOST)
plant(
    "tods21.def5.2",
    "a run that marks one event is lost",
    cea_runs,
    "valuations",
    broken.result(lambda mus: frozenset(mu for mu in mus if len(mu) > 1)),
)
plant("tods21.def5.4", "nothing is made deterministic", sys.modules[__name__], "io_determinize", broken.same())
plant("tods21.def5.6", "a type is left out", sys.modules[__name__], "types", broken.result(lambda split: split[:-1]))
plant("tods21.ex5.3", "+ is one round", cea_compile, "_iterate", broken.same())


def _of_any_type(meaning: Callable[..., frozenset[Valuation]]) -> Callable[..., frozenset[Valuation]]:
    def wrong(self: Interpreter, phi: cel.Formula, i: int, j: int) -> frozenset[Valuation]:
        return frozenset({denote.bind(phi.type, {j})}) if isinstance(phi, cel.EventAtom) else meaning(self, phi, i, j)

    return wrong


plant("tods21.fig3:event", "an event of any type", Interpreter, "meaning", _of_any_type)
plant("tods21.def4.1", "every formula is unary", sys.modules[__name__], "is_unary", broken.always(True))
plant(
    "tods21.def8.1",
    "`:` is of CEL*",
    sys.modules[__name__],
    "beyond_star",
    broken.result(lambda operators: operators - {":"}),
)
