"""Claims of tods21 that a formula, or a strategy on an automaton, has an automaton: Theorems 6.2 and 7.2, case by case.

Each case is the induction step of its proof: the printed construction on correct automata of the operands, so that an
error in one case is not counted against another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import chain

from cerify.automata.cea import compile as cea_compile
from cerify.automata.cea.compile import compile_cel
from cerify.automata.cea.model import CEA, UNMARKED, Transition, io_determinize
from cerify.semantics.cel import syntax as cel
from cerify.semantics.cel.parse import parse
from cerify.semantics.cel.syntax import show
from cerify.semantics.events import Stream, Valuation
from cerify.semantics.predicates import Anything, Attribute, Both, Comparison, Constant, Either, Not, Predicate
from cerify.semantics.trees import children
from proofs_tests.claims import broken, cea_runs, printed_tods21
from proofs_tests.claims.decide import algebra, differ, separated
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.search import BINARY, ONE_EVENT, UNARY, Difference, Space, first_difference, meaning

HERE = sys.modules[__name__]
CORE = ("in", "filter", "plus", "cplus", "seq", "cseq", "or")
CASES = (*CORE, "project", "start", "and", "all", "unless")
STRATEGIES = ("strict", "nxt", "last", "max")
SIGNS = {"event": "R", "seq": ";", "cseq": "`:`", "plus": "+", "cplus": ":+"}
"""What an operator is called that is not called by its word."""

# Where each case is looked at: the core below every operator; anchored and projected operands, which end or begin where
# nothing is marked; and for the strategies formulas that mark one event in several ways.
WIDE = Space(CORE, nodes=5, events=4)
ANCHORED = Space(("in", "seq", "plus", "project", "start"), nodes=4, events=4)
MARKED = Space(("in", "seq", "plus", "or", "start"), nodes=9, events=3, alphabet=ONE_EVENT)

SUPPORTS = (
    "compare supports: in addition to R keep the states of all runs with the same support, and let these win and lose"
)
CORRECTIONS = {
    "tods21.thm6.2:cplus": "add (q, P, L, q) for every marking transition (q', P, L, q'') with q' initial "
    "and q'' final, so that a round of one event leads from the state between rounds "
    "back to it",
    "tods21.thm6.2:all": "give each operand a state to wait in before its run and a state to rest in after "
    "it, each with a loop (TRUE, ∅). At least one operand begins in one of its own "
    "initial states, and at least one ends in one of its own final states",
    "tods21.thm6.2:unless": "let the determinized automaton recognize that ψ2 has a match on some interval "
    "inside: add loops (TRUE, ∅) before its initial and after its final states",
    **dict.fromkeys(("tods21.thm7.2:nxt", "tods21.thm7.2:last", "tods21.thm7.2:max"), SUPPORTS),
}


def outputs(A: CEA, S: Stream) -> list[frozenset[Valuation]]:
    """The valuations of an automaton at each position, by its runs."""
    return [cea_runs.valuations(A, S, n) for n in range(len(S))]


def by_theorem_6_2(phi: cel.Formula) -> CEA:
    """The printed case for phi's operator, on automata of its operands."""
    given = lambda psi: printed_tods21.lifted(compile_cel(psi))  # noqa: E731
    return printed_tods21.numbered(printed_tods21.construct(phi, given))


def by_theorem_7_2(strategy: str) -> Callable[[cel.Formula], CEA]:
    """The printed construction of the strategy, on an automaton of its operand."""
    return lambda phi: printed_tods21.construct_72(strategy, compile_cel(children(phi)[0]))


def construction(
    id_: str, printed: Callable[[cel.Formula], CEA], spaces: tuple[Space, ...], quick: tuple[Space, ...]
) -> None:
    """Enter the case of an operator: the printed construction and, where that fails, the corrected one.

    Both are compared over the same spaces, so a printed construction that fails does so on a formula of them.
    """
    operator = id_.split(":")[1]

    @claim(
        id_,
        f"the automaton of {SIGNS.get(operator, operator.upper())}",
        "construction",
        "the operands' automata are the library's"
        + "; our copy has `:` for ; at the head of this case, and I_ψ for I_ψ1" * (id_ == "tods21.thm6.2:seq"),
    )
    def check(effort: Effort) -> Finding:
        sized = spaces if effort == "full" else quick
        bound = "; and ".join(space.describe(operator) for space in sized)
        found, decided = None, 0
        for phi in dict.fromkeys(chain.from_iterable(space.topped(operator) for space in sized)):
            decided += 1
            if (found := difference(phi, printed(phi))) is not None:
                break
        cases = chain.from_iterable(space.cases(operator) for space in sized)
        still, looked_at = first_difference(lambda phi, S: outputs(compile_cel(phi), S), dict.fromkeys(cases))
        if found is None:
            against = f"{looked_at} cases against the meaning, {bound}"
            agreed: Status = "holds" if still is None else "refuted"
            return Finding(agreed, "decided", f"{decided} formulas against the compiler on all streams; {against}")
        status: Status = "holds-corrected" if still is None else "refuted"
        return Finding(status, "exhaustive", f"{bound}: {looked_at} cases", found.as_json(), CORRECTIONS.get(id_))


def difference(phi: cel.Formula, A: CEA) -> Difference | None:
    """A shortest stream on which the automaton departs from the compiler, with what the meaning is there."""
    if (S := differ(phi, A)) is None:
        return None
    n = len(S) - 1
    return Difference(phi, S, n, meaning(phi, S)[n], cea_runs.valuations(A, S, n))


QUICK = (replace(ANCHORED, nodes=3, events=3), replace(WIDE, nodes=4, events=3))
# The printed ALL is right below 4 nodes, and the printed NXT, LAST and MAX where an event is marked in one way only.
QUICK_BINARY = (replace(ANCHORED, events=3), QUICK[1])
TWO_WAYS = Space(
    ("seq", "plus", "start"), nodes=5, events=3, alphabet=ONE_EVENT, leaves=(parse("A"), parse("A OR A+ IN X"))
)

for _operator in CASES:
    _quick = QUICK_BINARY if _operator in BINARY else QUICK
    construction(f"tods21.thm6.2:{_operator}", by_theorem_6_2, (ANCHORED, WIDE), _quick)
for _strategy in STRATEGIES:
    construction(
        f"tods21.thm7.2:{_strategy}", by_theorem_7_2(_strategy), (ANCHORED, MARKED, TWO_WAYS), (QUICK[0], TWO_WAYS)
    )


@claim("tods21.thm6.2:event", "the automaton of R, of Figure 5", "construction")
def _(effort: Effort) -> Finding:
    atoms = [parse("A"), parse("B")]
    cases = [(phi, S) for phi in atoms for n in range(1, 4) for S in WIDE.streams(n)]
    still, looked_at = first_difference(lambda phi, S: outputs(by_theorem_6_2(phi), S), cases)
    agreed = still is None and all(difference(phi, by_theorem_6_2(phi)) is None for phi in atoms)
    bound = f"A and B against the compiler on all streams; {looked_at} cases against the meaning, all streams to 3 "
    return Finding("holds" if agreed else "refuted", "decided", bound + f"events over {len(WIDE.alphabet)} tuples")


plant("tods21.thm6.2:event", "any event will do", printed_tods21, "OfType", lambda right: lambda R: printed_tods21.TRUE)


@claim(
    "tods21.thm7.2:size",
    "The automaton is I/O-deterministic, its size at most exponential",
    "theorem",
    "the size of Definition 5.1 counts states and transitions. Only reached states with a non-empty set R are "
    "counted: the others accept nothing, and with them some automata exceed 2^|A|",
)
def _(effort: Effort) -> Finding:
    space, cases = replace(WIDE, nodes=3 if effort == "quick" else 4), 0
    for phi in space.every():
        A = compile_cel(phi)
        for strategy in STRATEGIES:
            cases += 1
            B = printed_tods21.construct_72(strategy, A)
            corrected = io_determinize(compile_cel(UNARY[strategy](phi)))
            sets = {"strict": 1, "last": 3}.get(strategy, 2)
            if not is_io_deterministic(B) or B.states > 3 * 2 ** (sets * A.states) or B.size > 2**A.size:
                return Finding("refuted", "exhaustive", f"{strategy} of {show(phi)}")
            if corrected.states > 3 * 2 ** ((sets + 1) * A.states) or corrected.size > 2**A.size:
                return Finding("refuted", "exhaustive", f"{strategy} of {show(phi)}, corrected")
    bound = (
        f"{cases} automata, of {space.formulas_in_words}: the printed ones are I/O-deterministic and have at most 3 "
        "* 2^(k |Q|) states, where k is 1 for STRICT, 3 for LAST, and 2 for NXT and MAX. For the corrected ones, "
        "determinized, put k + 1 for k. Both have a size of at most 2^|A|"
    )
    return Finding("holds", "exhaustive", bound)


def loops(n: int) -> CEA:
    """One state with n loops, each with a predicate on an attribute of its own and a set of variables of its own."""
    variables = [frozenset(f"A{i}" for i in range(3) if number >> i & 1) for number in range(1, n + 1)]
    edges = (Transition(0, Comparison(">", Attribute(f"x{i}"), Constant(0)), L, 0) for i, L in enumerate(variables))
    return CEA(1, tuple(edges), frozenset({0}), frozenset({0}))


@claim(
    "tods21.thm7.2:nxt-size",
    "Each state of the automaton of NXT has 2 * 2^|Δ| possible transitions, two for each type",
    "remark",
    "the number is a maximum, counted for the initial state; all states have the same",
)
def _(effort: Effort) -> Finding:
    space = replace(WIDE, nodes=3 if effort == "quick" else 4)
    failing = None
    automata = [*map(loops, range(1, 6)), *map(compile_cel, space.every())]
    for A in automata:
        leaving = printed_tods21.leaving_72("nxt", A, (A.initial, printed_tods21.NONE))
        labels, possible = {UNMARKED, *(t.marks for t in A.transitions)}, 2 ** len(A.transitions)
        if leaving > 2 * possible and failing is None:
            failing = {
                "automaton": f"one state with {len(A.transitions)} loops, each with a predicate on its own "
                "attribute and its own set of variables",
                "by the text": f"at most {2 * possible} transitions leave a state",
                "by the definition printed": f"{leaving}",
            }
        if leaving > len(labels) * possible:
            return Finding("refuted", "exhaustive", f"{A}: {leaving} transitions")
    trimmed = printed_tods21.construct_72("nxt", loops(5)).size - 1
    bound = (
        f"{len(automata)} automata: 5 with 1 to 5 loops, independent predicates and different sets of variables, "
        f"and those of {space.formulas_in_words}. With 5 loops, {trimmed} transitions lead to a state with a "
        "non-empty set R, also more than 2 * 2^5"
    )
    correction = "at most (l + 1) * 2^|Δ|, with l the number of sets of variables that are not empty"
    ok = failing is not None and trimmed > 64
    return Finding("holds-corrected" if ok else "refuted", "exhaustive", bound, failing, correction)


def strict_of_deterministic(A: CEA) -> CEA:
    """Three copies of the states of A, before, in and after the marks, with the transitions of A as they are."""
    steps = [
        t._replace(source=3 * t.source + i, target=3 * t.target + j)
        for t in A.transitions
        for i, j in (((0, 1), (1, 1)) if t.marks else ((0, 0), (1, 2), (2, 2)))
    ]
    final = frozenset(3 * q + i for q in A.final for i in range(3))
    return CEA(3 * A.states, tuple(steps), frozenset(3 * q for q in A.initial), final)


@claim(
    "tods21.thm7.2:strict-size",
    "Of an I/O-deterministic CEA, the automaton of STRICT is of size at most linear",
    "remark",
    "the size of Definition 5.1 counts states and transitions. Reached states whose set of states is empty "
    "accept nothing and are not counted; with them the printed automaton is larger",
)
def _(effort: Effort) -> Finding:
    space, cases, given, printed = replace(WIDE, nodes=3 if effort == "quick" else 4), 0, list[int](), list[int]()
    for n in (2, 4, 8):
        edges = (
            Transition(q, Comparison(">", Attribute(f"x{q}"), Constant(0)), frozenset({"A"}), q + 1) for q in range(n)
        )
        A = CEA(n + 1, tuple(edges), frozenset({0}), frozenset({n}))
        given.append(A.size)
        printed.append(printed_tods21.construct_72("strict", A).size)
    for phi in space.every():
        over = algebra(phi)
        A = io_determinize(compile_cel(phi, algebra=over), algebra=over)
        B = strict_of_deterministic(A)
        cases += 1
        linear = is_io_deterministic(B) and B.size <= 3 * A.size
        if not linear or separated(B, compile_cel(cel.Strict(phi), algebra=over), over) is not None:
            return Finding("refuted", "decided", show(phi))
    in_words = [", ".join(map(str, sizes)) for sizes in (given, printed)]
    return Finding(
        "holds-corrected" if printed[-1] > 2**8 else "refuted",
        "decided",
        f"{cases} I/O-determinized automata of {space.formulas_in_words}: the corrected one has at most 3 times the "
        "size, and is STRICT on all streams",
        {
            "automaton": "n transitions in a row, each with a mark and a predicate on its own attribute",
            "values": "n = 2, 4, 8",
            "expected": f"sizes linear in {in_words[0]}",
            "got": f"sizes {in_words[1]}",
        },
        "three copies of the states, with the predicates of A instead of their types",
    )


def is_io_deterministic(A: CEA) -> bool:
    """Definition 5.4."""
    over = algebra(of=generators_of(A))
    return len(A.initial) == 1 and not any(
        t.marks == u.marks and over.mask(t.predicate) & over.mask(u.predicate)
        for leaving in A.leaving
        for n, t in enumerate(leaving)
        for u in leaving[:n]
    )


def generators_of(A: CEA) -> list[Predicate]:
    """The predicates that those of the automaton are combinations of."""
    found: list[Predicate] = []
    pending = list(A.predicates)
    while pending:
        match pending.pop():
            case Both(left, right) | Either(left, right):
                pending += [left, right]
            case Not(inner):
                pending.append(inner)
            case Anything():
                pass
            case P:
                found.append(P)
    return found


plant("tods21.thm6.2:in", "IN binds nothing", cea_compile, "_bind", broken.same())
plant("tods21.thm6.2:filter", "FILTER keeps everything", cea_compile, "_filter", broken.same())
plant("tods21.thm6.2:or", "OR is its left side", cea_compile, "union", broken.same())
plant("tods21.thm6.2:and", "AND is its left side", cea_compile, "conjunction", broken.same())
plant("tods21.thm7.2:strict-size", "gaps are let through", HERE, "strict_of_deterministic", broken.same())
plant(
    "tods21.thm7.2:nxt-size",
    "a step for each variable set twice",
    printed_tods21,
    "STEPS",
    lambda right: right | {"nxt": lambda state, delta: 2 * list(right["nxt"](state, delta))},
)
plant(
    "tods21.thm7.2:size",
    "the automaton has two initial states",
    printed_tods21,
    "construct_72",
    broken.result(lambda A: replace(A, initial=frozenset({0, 1}))),
)
