"""Claims of tods21, section 8.2 and appendices B to E: `:`, `:+` and STRICT against each other, where it is decided."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product

from cerify.automata.algebra.finite import Algebra
from cerify.automata.cea import compile as cea_compile
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA
from cerify.equivalence.decide.cel import equivalent
from cerify.equivalence.rewrite.laws import Law
from cerify.equivalence.verdict import Different, Equivalent
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star
from cerify.semantics.cel.denote import sup
from cerify.semantics.cel.interpreter import Interpreter
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.json_events import json_of_event
from proofs_tests.claims import broken
from proofs_tests.claims.decide import algebra, separated
from proofs_tests.claims.ledger import Effort, Finding, Kind, claim, plant
from proofs_tests.claims.printed_tods21 import Rewriting, also_named, bottom_up
from proofs_tests.claims.search import POSITIVE, Space

Rewrite = Callable[[Rewriting, cel.Formula], cel.Formula]
OPERANDS = tuple(map(parse, ("A", "B", "A ; B", "STRICT(A ; B)", "(A OR B)+")))


# --- Lemma B.1: strict-boundedness ------------------------------------------------------------------------------------


def at_least(A: CEA, marks: int) -> CEA:
    """The runs of A that mark at least `marks` events."""
    step = [
        t._replace(source=t.source * (marks + 1) + n, target=t.target * (marks + 1) + min(marks, n + bool(t.marks)))
        for t in A.transitions
        for n in range(marks + 1)
    ]
    scaled = [frozenset(q * (marks + 1) + n for q in states) for states, n in ((A.initial, 0), (A.final, marks))]
    return CEA(A.states * (marks + 1), tuple(step), scaled[0], scaled[1])


def without_one(A: CEA, over: Algebra, atom: int, at_first: bool) -> CEA:
    """What is left of the runs of A if one event of the type that they do not mark is taken out.

    It stands after a mark, and after it comes another event before the last mark; or, with at_first, it stands just
    before the first mark.
    """
    phases = 5  # before the mark that is needed, after it, the event taken out, one event later, and after a later mark
    skips = [t for t in A.transitions if not t.marks and over.mask(t.predicate) >> atom & 1]
    out = 0 if at_first else 1
    found = []
    for t in A.transitions:
        moves = [(3, 3), (4, 4)]
        if at_first:
            moves.append((2, 3) if t.marks else (0, 0))
        else:
            moves += [(0, bool(t.marks)), (1, 1), (2, 3)]
        if t.marks:
            moves.append((3, 4))
        for before, after in moves:
            found.append(t._replace(source=t.source * phases + before, target=t.target * phases + after))
            if after == out:
                found += [
                    t._replace(source=t.source * phases + before, target=u.target * phases + 2)
                    for u in skips
                    if u.source == t.target
                ]
    starts = [q * phases for q in A.initial]
    if at_first:
        starts += [u.target * phases + 2 for u in skips if u.source in A.initial]
    return CEA(A.states * phases, tuple(found), frozenset(starts), frozenset(q * phases + 4 for q in A.final))


def strict_bounded(phi: cel.Formula, N: int, as_printed: bool = False) -> bool:
    """Whether every event may be inserted into every valuation of N events, at some i with min(sup) < i < max(sup).

    as_printed: at i = min(sup), which the printed range allows too.
    """
    over = algebra(phi)
    A = compile_cel(phi, algebra=over)
    for atom in range(len(over.atoms)):
        B = without_one(A, over, atom, at_first=as_printed)
        if separated(at_least(A, N), B, over, contained=True) is not None:
            return False
    return True


PRINTED_RANGE = (
    "our copy inserts the event at i with min(sup) <= i < max(sup), so possibly before the first event of the "
    "match; read as min(sup) < i < max(sup), as in prop8.12:strictness"
)


@claim("tods21.lemB.1", "Every formula of CEL* and : is strict-bounded", "lemma", reading=PRINTED_RANGE)
def _(effort: Effort) -> Finding:
    space = Space(("in", "filter", "seq", "cseq", "plus", "or"), nodes=4 if effort == "quick" else 5, events=0)
    cases = 0
    if strict_bounded(parse("(A : B) : A"), 3):
        return Finding("refuted", "decided", "`:` is not looked at")
    for phi in space.every():
        cases += 1
        N = 3 + sum(isinstance(psi, cel.ContiguousSeq) for psi in cel.subformulas(phi))
        if not strict_bounded(phi, N) or not strict_bounded(phi, N, as_printed=True):
            return Finding("refuted", "decided", show(phi))
    return Finding(
        "holds",
        "decided",
        "N is 3, plus one for each `:`. Also at i = min(sup), which the printed range allows. Decided on all "
        f"streams, for {cases} formulas; {space.formulas_in_words}; (A : B) : A is not strict-bounded with N = 3",
    )


@claim(
    "tods21.prop8.12:strictness",
    "STRICT(R+) is not strict-bounded",
    "construction",
    "the property of appendix B; by lemB.1 all formulas of CEL* and `:` have it",
)
def _(effort: Effort) -> Finding:
    phi, largest = parse("STRICT(A+)"), 6 if effort == "quick" else 20
    separates = not any(strict_bounded(phi, N) for N in range(2, largest + 1))
    counterexample = {
        "query": "STRICT(A+)",
        "expected": "not strict-bounded",
        "got": "strict-bounded",
        "why": "on A A at [0, 1], a B inserted at 0 gives B A A, on which {1, 2} is a match",
    }
    assert strict_bounded(phi, 2, as_printed=True)
    return Finding(
        "holds-corrected" if separates else "refuted",
        "proof",
        "an event inserted into an interval that matches leaves no interval, for every N; decided for N to "
        f"{largest}, on all streams",
        counterexample,
        "min(sup) < i < max(sup) in the definition of an insertion",
    )


# --- the fragments contain each other ---------------------------------------------------------------------------------


def _containment(
    id_: str,
    title: str,
    rewrite: Rewrite,
    space: Space,
    into: set[str],
    gap: str | None,
    reading: str | None = None,
    and_also: tuple[str, ...] = (),
) -> None:
    """The rewriting of a proof, on all formulas and some larger ones; gap says what is added where it has no case."""

    @claim(id_, title, "construction", reading)
    def check(effort: Effort) -> Finding:
        nodes = space.nodes - (effort == "quick")
        cases, missing = 0, dict[str, str]()
        for phi in (*Space(space.operators, nodes, 0).every(), *map(parse, and_also)):
            cases += 1
            try:
                rewrite(Rewriting(complete=False), phi)
            except NotImplementedError as error:
                missing.setdefault(str(error), show(phi))
            psi = rewrite(Rewriting(complete=True), phi)
            if not beyond_star(psi) <= into or not isinstance(equivalent(phi, psi), Equivalent):
                return Finding("refuted", "decided", f"{show(phi)} became {show(psi)}")
        bound = f"{cases} formulas rewritten, with the same complex events on all streams; "
        bound += Space(space.operators, nodes, 0).formulas_in_words
        bound += f"; and {', '.join(and_also)}" if and_also else ""
        if not missing:
            return Finding("holds", "decided", bound)
        (got, query), *others = missing.items()
        counterexample = {"query": query, "expected": "a formula", "got": got}
        if others:
            counterexample["also"] = "; ".join(f"of {text}, {why}" for why, text in others)
        return Finding("holds-corrected", "decided", bound, counterexample, gap)


_containment(
    "tods21.prop8.12:containment",
    "The rewriting of appendix B turns any formula of CEL* and : into one of CEL* and STRICT",
    Rewriting.without_contiguous_sequence,
    Space(("in", "filter", "cseq", "seq", "plus", "or"), nodes=6, events=0),
    {"STRICT"},
    "one more case: if each side of `:` is an event type or a STRICT, STRICT(left ; right)",
    "filters are pointwise, and are moved out with second names, as corrected in prop8.12:filter",
    and_also=("((A : B) IN X) FILTER X.x < 2", "((A IN X) : B) FILTER X.x < 2"),
)
_containment(
    "tods21.prop8.13",
    "The rewriting of appendix C turns any formula of CEL* and STRICT into one of CEL*, : and :+",
    Rewriting.without_strict,
    Space(("in", "filter", "strict", "seq", "plus", "or"), nodes=5, events=0),
    {":", ":+"},
    "one more case: STRICT(STRICT(ρ)) is STRICT(ρ)",
    "in the case of ; we read `:` where the copy has ;, as in prop8.13:seq",
    and_also=("STRICT((A ; B) IN X) FILTER X.x < 2", "STRICT((A IN X) ; B) FILTER X.x < 2"),
)
_containment(
    "tods21.prop8.15",
    "The rewriting of appendix E turns any unary formula of CEL*, : and :+ into one of CEL* and STRICT",
    Rewriting.without_contiguity,
    Space(("filter", "cseq", "cplus", "seq", "plus", "or"), nodes=6, events=0),
    {"STRICT"},
    "as for prop8.12, for pointwise predicates (prop8.15:arity); and the cases of OR of all its operands at once, "
    "where some are an OR themselves",
    "part (5) of its case of OR is corrected as in prop8.15:or. Formulas have no IN; not checked: that the "
    "proof drops it first",
    and_also=("(A OR B OR A):+",),
)


# --- the displayed equivalences ---------------------------------------------------------------------------------------


def _law(
    id_: str,
    left: str,
    right: str,
    corrected: str | None = None,
    reading: str | None = None,
    kind: Kind = "proposition",
) -> None:
    """An equivalence of a proof, of all instances over a few operands."""
    laws = [
        Law(id_, parse(left), parse(printed), "events", "") for printed in (right, corrected) if printed is not None
    ]

    @claim(id_, f"{left} = {right}".replace("phi", "φ").replace("psi", "ψ").replace("chi", "χ"), kind, reading)
    def check(effort: Effort) -> Finding:
        operands = OPERANDS[: 3 if effort == "quick" and len(laws[0].letters) > 2 else 5]
        over = f"{len(operands) ** len(laws[0].letters)} instances over {', '.join(map(show, operands))}"
        bound = f"{over if laws[0].letters else 'as it stands'}, on all streams"
        failing = _first_failing(laws[0], operands)
        if failing is None:
            return Finding("holds", "decided", bound)
        passes = len(laws) > 1 and _first_failing(laws[1], operands) is None
        correction = (
            f"`= {corrected}`".replace("phi", "φ").replace("psi", "ψ").replace("chi", "χ") if corrected else None
        )
        return Finding("holds-corrected" if passes else "refuted", "decided", bound, failing, correction)

    plant(id_, "the right side also has B ; B ; B", Law, "instance", _with_more)


def _with_more(
    instance: Callable[..., tuple[cel.Formula, cel.Formula]],
) -> Callable[..., tuple[cel.Formula, cel.Formula]]:
    """The instances of a law whose right side also has three times B."""

    def wrong(self: Law, *chosen: cel.Formula) -> tuple[cel.Formula, cel.Formula]:
        left, right = instance(self, *chosen)
        return left, cel.Or(right, parse("B ; B ; B"))

    return wrong


def _first_failing(law: Law, operands: tuple[cel.Formula, ...]) -> dict[str, object] | None:
    """Of the instances that fail, one that does so on a shortest stream."""
    failing = []
    for chosen in product(operands, repeat=len(law.letters)):
        left, right = law.instance(*chosen)
        verdict = equivalent(left, right)
        if isinstance(verdict, Different):
            failing.append((len(verdict.stream), show(left), show(right), verdict))
        else:
            assert isinstance(verdict, Equivalent)
    if not failing:
        return None
    _, left_text, right_text, verdict = min(failing, key=lambda case: case[:3])
    return {
        "query": left_text,
        "compared with": right_text,
        "events": [json_of_event(event) for event in verdict.stream],
        "at": verdict.at,
        "expected only": [sorted(m.events) for m in verdict.left_only],
        "got only": [sorted(m.events) for m in verdict.right_only],
    }


_law("tods21.prop8.12:seq", "(phi ; psi) : chi", "phi ; (psi : chi)")
_law("tods21.prop8.12:or", "(phi OR psi) : chi", "(phi : chi) OR (psi : chi)")
_law("tods21.prop8.12:plus", "phi+ : chi", "(phi : chi) OR (phi+ ; (phi : chi))")
_law("tods21.prop8.12:atoms", "A : B", "STRICT(A ; B)", reading="the base case without IN")
_ASKED = "both sides have the same events, so the law is tested under a filter on X"
for _name, _operation in {
    "seq": "phi ; psi",
    "cseq": "phi : psi",
    "or": "phi OR psi",
    "plus": "phi+",
    "cplus": "phi:+",
    "filter": "phi FILTER A.x > 0",
}.items():
    _pushed = _operation.replace("phi", "(phi IN X)").replace("psi", "(psi IN X)")
    _law(
        f"tods21.prop8.12:in-{_name}",
        f"(({_operation}) IN X) FILTER X.x < 2",  # X.x > 0 would make the filter of in-filter idle
        f"({_pushed}) FILTER X.x < 2",
        reading=_ASKED,
    )
_law(
    "tods21.prop8.12:in-renamed",
    "((((phi IN X) ; B) FILTER X.x > 0) IN X) FILTER X.x < 2",
    "((((phi IN Y) ; B) IN X) FILTER Y.x > 0) FILTER X.x < 2",
    reading=f"{_ASKED}; only for a variable bound by IN: if an event type is renamed, the operand is not a formula",
)
_law(
    "tods21.prop8.12:example",
    "A ; (B+ : C)",
    "A ; (STRICT(B ; C) OR (B+ ; STRICT(B ; C)))",
    reading="the text has R, T and U for A, B and C",
)
_law(
    "tods21.prop8.13:seq",
    "STRICT(phi ; psi)",
    "STRICT(phi) ; STRICT(psi)",
    "STRICT(phi) : STRICT(psi)",
    "our copy has ; on the right, perhaps a damaged `:`; both are checked",
)
_law("tods21.prop8.13:or", "STRICT(phi OR psi)", "STRICT(phi) OR STRICT(psi)")
_law("tods21.prop8.13:plus", "STRICT(phi+)", "STRICT(phi):+")
_law("tods21.prop8.13:filter", "STRICT(phi FILTER A.x > 0)", "STRICT(phi) FILTER A.x > 0")
_law("tods21.prop8.13:in", "STRICT(phi IN X) FILTER X.x < 2", "(STRICT(phi) IN X) FILTER X.x < 2", reading=_ASKED)
_law("tods21.prop8.15:base", "A:+", "STRICT(A+)")
_law("tods21.prop8.15:strict", "(STRICT(phi)):+", "STRICT(phi+)")
_law("tods21.prop8.15:seq", "(phi ; psi):+", "phi ; (psi OR ((psi : phi)+ ; psi))")
_law("tods21.prop8.15:plus", "(phi+):+", "phi+")
_law("tods21.prop8.15:or-simple", "(A OR STRICT(phi)):+", "STRICT((A OR STRICT(phi))+)")
_FOUR = (
    "phi:+ OR (psi ; chi):+ OR (phi:+ : (psi ; chi):+):+ OR (phi:+ : ((psi ; chi):+ : phi:+):+) OR "
    "((psi ; chi):+ : phi:+):+ OR "
)
_law(
    "tods21.prop8.15:or",
    "(phi OR (psi ; chi)):+",
    _FOUR + "((psi ; chi):+ : (phi:+ : (psi ; chi)):+)",
    _FOUR + "((psi ; chi):+ : (phi:+ : (psi ; chi):+):+)",
    "in part (5) our copy has no iteration on the second psi ; chi, perhaps lost; both are checked",
)
_law(
    "tods21.prop8.15:or-plus",
    "phi OR psi+",
    "(phi OR psi) OR ((phi OR psi) ; (psi ; psi+))",
    "(phi OR psi) OR (psi ; psi+)",
    "the last step of the case OR. In our copy the right side is phi1 OR (phi1 ; phi2), with phi OR psi and "
    "psi ; psi+ for the two; the case that it cites has phi1 OR (rho1 ; rho2). Both are checked",
)
_law("tods21.prop8.15:unfold", "phi+", "phi OR (phi ; phi+)")
_law(
    "tods21.prop8.15:part2",
    "(phi:+ : (psi ; chi):+):+",
    "((phi:+ : psi) ; (chi OR ((chi : psi)+ ; chi))):+",
)


# --- a filter taken out of a sequence ---------------------------------------------------------------------------------

BOUND = tuple(map(parse, ("A IN X", "(A OR B) IN X", "A IN X ; B IN X", "(A IN X)+")))
Q = {"Q": lambda X: len({event.get("x") for event in X}) < 2}
"""A predicate of arity 1 that relates the events of its set to each other: all have one x."""


def _agree(phi: cel.Formula, variable: str) -> cel.Formula:
    """phi FILTER Q(variable)."""
    asked = parse(f"A FILTER Q({variable})")
    assert isinstance(asked, cel.Filter)
    return cel.Filter(phi, asked.condition)


def _taken_out(rho: cel.Formula, psi: cel.Formula, as_printed: bool) -> cel.Formula:
    """((rho FILTER X.x > 0) : psi) FILTER Q(X), with the inner filter above the `:`, on Y."""
    named = _renamed(rho) if as_printed else also_named(rho, "X", "Y")
    joined = _agree(cel.Filter(cel.ContiguousSeq(named, psi), cel.Every("Y", POSITIVE)), "X")
    return _agree(joined, "Y") if as_printed else joined


def _renamed(phi: cel.Formula) -> cel.Formula:
    """phi with Y in the place of X."""
    return bottom_up(phi, lambda psi: cel.In(psi.phi, "Y") if isinstance(psi, cel.In) else psi)


@claim(
    "tods21.prop8.12:filter",
    "((φ FILTER P(A)) : ψ) FILTER Q(A): P moves above the `:`, with A renamed in φ, and Q tests both names",
    "proposition",
    "for any predicates, as in the proposition. A is X, a variable bound by IN; P is X.x > 0; Q, of arity 1, "
    "requires one x for all of X",
)
def _(effort: Effort) -> Finding:
    space, cases, failing = Space((), 0, 3 if effort == "quick" else 4), 0, None
    for length in range(2, space.events + 1):
        for (rho, psi), S in product(product(BOUND, repeat=2), list(space.streams(length))):
            cases += 1
            phi = _agree(cel.ContiguousSeq(cel.Filter(rho, cel.Every("X", POSITIVE)), psi), "X")
            mended, printed = _taken_out(rho, psi, as_printed=False), _taken_out(rho, psi, as_printed=True)
            known = Interpreter(S, predicates=Q)
            expected, right, got = (
                frozenset(map(sup, known.meaning(chi, 0, length - 1))) for chi in (phi, mended, printed)
            )
            if right != expected:
                return Finding("refuted", "example", f"{show(mended)} over {S.events}")
            if got != expected and failing is None:
                events = [json_of_event(event) for event in S]
                shown = {"expected": [*map(sorted, sorted(expected, key=sorted))], "got": [*map(sorted, got)]}
                failing = {
                    "query": show(phi),
                    "compared with": show(printed),
                    "Q": "all sets of tuples with one x",
                    "events": events,
                    "at": length - 1,
                    **shown,
                }
    return Finding(
        "refuted" if failing is None else "holds-corrected",
        "example",
        f"{cases} cases: {len(BOUND) ** 2} pairs of operands made by hand, all streams of 2 to {space.events} "
        "events of three tuples, at their last position",
        failing,
        "keep A, and bind the events that ρ binds to A also to a second name. P is applied to the second name, and Q "
        "to A as before",
    )


plant("tods21.prop8.12:filter", "there is no second name", sys.modules[__name__], "also_named", broken.same())
plant("tods21.lemB.1", "`:` is ;", cea_compile, "_contiguous_sequence", lambda right: cea_compile._sequence)
plant("tods21.prop8.12:strictness", "STRICT keeps everything", cea_compile, "strict", broken.same())
