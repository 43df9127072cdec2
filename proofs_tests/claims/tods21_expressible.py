"""Claims of tods21, section 8.1, about what CEL* can and cannot express."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product

from cerify.automata.cea import compile as cea_compile
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, Transition, single_variable, trim
from cerify.automata.cea.to_cel import star
from cerify.equivalence.decide.cel import InStar, NotInStar, equivalent, star_form
from cerify.equivalence.verdict import Equivalent
from cerify.semantics.cel import interpreter
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.check import beyond_star, is_unary
from cerify.semantics.cel.interpreter import complex_events
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Stream
from cerify.semantics.predicates import OfType
from proofs_tests.claims import broken
from proofs_tests.claims.automata import automata, in_words
from proofs_tests.claims.decide import SCHEMA, algebra, separated, shown
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.printed_tods21 import Step, star_step, star_step_iterated, theorem_8_9
from proofs_tests.claims.tods21_star import STAR, WHOLE, decided, smaller
from proofs_tests.support import stream

WITNESSES = {
    "cseq": "A : B",
    "cplus": "A:+",
    "project": "PROJECT[A](A ; B)",
    "start": "START(A)",
    "unless": "A UNLESS B",
    "nxt": "NXT(A ; B)",
    "strict": "STRICT(A ; B)",
    "last": "LAST(A ; B)",
    "max": "MAX(A+)",
}


def _inexpressible(name: str, query: str) -> None:
    @claim(f"tods21.cor8.6:{name}", f"{query} is not expressible in CEL*", "corollary")
    def check(effort: Effort) -> Finding:
        answer = star_form(parse(query))
        if not isinstance(answer, NotInStar) or not _sensitive(parse(query), answer):
            return Finding("refuted", "decided", query)
        sides = [answer.matched] + ([answer.unmatched] if answer.unmatched is not None else [])
        shown = " but not ".join(f"{_set(C)} on {' '.join(e.type for e in S)}" for S, C in sides)
        late = "" if answer.unmatched is not None else ", which is not the last position"
        return Finding(
            "holds",
            "proof",
            "CEL* has the *-property: docs/theory/star.md, and prop8.5 with its bounds; the formula lacks it, as "
            f"decided: a match is {shown}{late}",
        )


def _set(C: Iterable[int]) -> str:
    return f"{{{', '.join(map(str, sorted(C)))}}}"


for _name, _query in WITNESSES.items():
    _inexpressible(_name, _query)


@claim("tods21.cor8.6:unless-printed", "The witness for UNLESS in the text", "example")
def _(effort: Effort) -> Finding:
    one, other = stream("A A"), stream("B A")
    on = [{tuple(C) for C in complex_events(parse("A UNLESS B"), S, 1)} for S in (one, other)]
    return Finding("holds" if on == [{(1,)}, set()] else "refuted", "example", "the two streams of the text")


@claim(
    "tods21.thm8.9:to-cea",
    "Every unary formula of CEL* has a CEA with the same complex events under the *-semantics",
    "theorem",
    "by the library's automaton, with the *-semantics of def8.7; thm6.2 checks the printed automaton",
)
def _(effort: Effort) -> Finding:
    def fails(phi: cel.Formula) -> bool:
        A = single_variable(compile_cel(phi, algebra=algebra(phi)))
        return separated(A, star(A), algebra(phi)) is not None

    if not fails(parse("A : B")):
        return Finding(
            "refuted", "decided", "A : B, which is not of CEL*, has its complex events under the *-semantics"
        )
    found = decided("its automaton under the *-semantics against the formula", effort, fails)
    return replace(found, bound=f"{found.bound}; the automaton of A : B has others")


def star_difference(A: CEA, step: Step) -> Stream | None:
    """A shortest stream at whose end the formula built has not the complex events of A under the *-semantics."""
    phi = theorem_8_9(A, step)
    over = algebra(phi, of=A.predicates, schema=SCHEMA)
    return separated(single_variable(star(A)), single_variable(compile_cel(phi, algebra=over)), over)


@claim(
    "tods21.thm8.9:to-cel",
    "The proof of Theorem 8.9 builds from a CEA a formula of CEL* with the same complex events under the *-semantics",
    "construction",
    reading="our copy has phi_kk without + in the recursion, perhaps a lost sign, since Theorem 6.3 iterates it. "
    "Both are checked: it fails without + and holds with it. FILTER P' of rho_P tests an event without a "
    "variable; here it tests a fresh variable, bound by IN",
)
def _(effort: Effort) -> Finding:
    loop = CEA(1, (Transition(0, OfType("A"), frozenset({"A"}), 0),), frozenset({0}), frozenset({0}))
    S = star_difference(loop, star_step)
    assert S is not None
    phi = theorem_8_9(loop, star_step)
    sides = shown(S, expected=single_variable(star(loop)), got=single_variable(compile_cel(phi)))
    counterexample = {"automaton": "one state, with a loop (A, {A})", "compared with": show(phi), **sides}
    for cases, A in enumerate(automata(effort, seed=4), 1):
        written = not beyond_star(theorem_8_9(A, star_step_iterated))
        if not written or star_difference(A, star_step_iterated) is not None:
            return Finding("refuted", "decided", f"after {cases} automata", counterexample)
    bound = f"{in_words(effort, seed=4)}; on all streams of A and B"
    return Finding("holds-corrected", "decided", bound, counterexample, "`φ_kk+` in the place of `φ_kk`")


@claim("tods21.rem8.9", "Theorem 8.9 does not hold for valuations: R marked with T only has no formula", "remark")
def _(effort: Effort) -> Finding:
    def fails(phi: cel.Formula) -> bool:
        """Whether an event may be marked and not by its type."""
        A = trim(compile_cel(phi, algebra=algebra(phi)))
        over = algebra(phi)
        return any(
            over.mask(t.predicate) & ~sum(over.mask(OfType(R)) for R in ("A", "B") if R in t.marks)
            for t in A.transitions
            if t.marks
        )

    return decided("each event of a valuation is in the variable of its type, which T is not", effort, fails)


@claim(
    "tods21.cor8.10",
    "A CEA has the *-property exactly if its complex events are those of a unary CEL* formula",
    "corollary",
    "the CEA come from unary formulas; the library finds the formulas",
)
def _(effort: Effort) -> Finding:
    space, counts = smaller(WHOLE, effort), [0, 0]
    for phi in space.every():
        answer = star_form(phi)
        if not isinstance(answer, InStar | NotInStar):
            return Finding("refuted", "decided", show(phi))
        counts[isinstance(answer, InStar)] += 1
        if isinstance(answer, InStar):
            if _beyond(answer.phi) or not isinstance(equivalent(phi, answer.phi, "events"), Equivalent):
                return Finding("refuted", "decided", f"{show(phi)} became {show(answer.phi)}")
        elif not _sensitive(phi, answer):
            return Finding("refuted", "decided", f"{show(phi)} and its streams")
    bound = (
        f"{counts[1]} formulas with an equivalent one in CEL*, {counts[0]} with a match that by Definition 8.4 shows "
        f"why not; {space.formulas_in_words}"
    )
    return Finding("holds", "decided", bound)


def _beyond(phi: cel.Formula) -> bool:
    """Whether it is no formula of unary CEL*."""
    return bool(beyond_star(phi)) or not is_unary(phi)


def _sensitive(phi: cel.Formula, answer: NotInStar) -> bool:
    """Whether the streams are asked rightly: a match not at its last event, or two streams that agree on the events."""
    (S, C), other = answer.matched, answer.unmatched
    if C not in complex_events(phi, S, len(S) - 1):
        return False
    if other is None:
        return len(S) - 1 not in C
    alike = [S[p] for p in sorted(C)] == [other[0][p] for p in sorted(other[1])]
    return alike and other[1] not in complex_events(phi, other[0], len(other[0]) - 1)


def _expressible(name: str, operator: Callable[[cel.Formula, cel.Formula], cel.Formula]) -> None:
    @claim(
        f"tods21.cor8.11:{name}",
        f"{name.upper()} of two formulas of unary CEL* has the complex events of some formula of unary CEL*",
        "corollary",
        "the library finds the formulas",
    )
    def check(effort: Effort) -> Finding:
        space, cases = replace(STAR, nodes=3), 0
        small = space if effort == "full" else replace(space, nodes=2)
        streams = [S for n in (1, 2, 3) for S in space.streams(n)]
        for left, right in product(space.every(), list(small.every())):
            cases += 1
            phi, answer = operator(left, right), star_form(operator(left, right))
            if (
                not isinstance(answer, InStar)
                or _beyond(answer.phi)
                or not isinstance(equivalent(phi, answer.phi, "events"), Equivalent)
                or any(complex_events(phi, S, len(S) - 1) != complex_events(answer.phi, S, len(S) - 1) for S in streams)
            ):
                return Finding("refuted", "decided", show(operator(left, right)))
        few = f", the right one to {small.nodes}" if small.nodes < space.nodes else ""
        bound = f"{cases} formulas, with operands from {space.formulas_in_words}{few}; on all streams, and "
        return Finding("holds", "decided", bound + "compared with the meaning on all to 3 events over 3 tuples")


_expressible("and", cel.And)
_expressible("all", cel.All)


def _every_choice(right: Callable[..., CEA]) -> Callable[..., CEA]:
    return lambda phi, chain, algebra: cea_compile._thompson(phi.phi, algebra)


_IGNORED = {
    "cseq": ("`:` is ;", "_contiguous_sequence", lambda right: cea_compile._sequence),
    "cplus": ("`:+` is +", "_contiguous_iterate", lambda right: cea_compile._iterate),
    "project": ("what is left out is kept", "_project", broken.same()),
    "start": ("START keeps everything", "_anchor", broken.same()),
    "unless": ("UNLESS keeps everything", "unless", broken.same()),
    "nxt": ("NXT keeps everything", "greatest_of_chain", _every_choice),
    "strict": ("STRICT keeps everything", "strict", broken.same()),
    "last": ("LAST keeps everything", "greatest_of_chain", _every_choice),
    "max": ("MAX keeps everything", "max_", broken.same()),
}
for _name, (_what, _attribute, _broken) in _IGNORED.items():
    plant(f"tods21.cor8.6:{_name}", _what, cea_compile, _attribute, _broken)
plant(
    "tods21.cor8.6:unless-printed",
    "UNLESS keeps everything",
    interpreter,
    "clause",
    broken.for_root(cel.Unless, broken.operand),
)
plant("tods21.thm8.9:to-cea", "the *-semantics is the other", sys.modules[__name__], "star", broken.same())
plant(
    "tods21.rem8.9",
    "no event has the variable of its type",
    sys.modules[__name__],
    "compile_cel",
    broken.result(lambda A: A.remarked({L: L - {"A", "B"} | {"T"} if L else L for L in A.marks})),
)
_ANOTHER = broken.result(
    lambda answer: replace(answer, phi=cel.Plus(answer.phi)) if isinstance(answer, InStar) else answer
)
plant(
    "tods21.cor8.10 tods21.cor8.11:and tods21.cor8.11:all",
    "the formula of CEL* is iterated",
    sys.modules[__name__],
    "star_form",
    _ANOTHER,
)
