"""Claims of vldb92 about automata: section 3, and appendix 2 for correlation variables."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import product
from typing import Any

from cerify.automata.dfa.compile import compile_expression
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.denote import ANY, definition, free_variables
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.event_expressions.syntax import show
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import broken
from proofs_tests.claims import printed_vldb92 as printed
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.printed_vldb92 import marked
from proofs_tests.claims.vldb92_search import (
    AFTER_A,
    BINARY,
    IN_WORDS,
    LETTERS,
    all_such,
    difference,
    expressions,
    histories,
    meaning,
    over,
    passed,
    same,
    separated,
)

# --- section 3, case by case ------------------------------------------------------------------------------------------

ROOTS: dict[str, type[expr.Expression]] = {
    "null": expr.Null,
    "event": expr.Primitive,
    "and": expr.ExpressionAnd,
    "not": expr.ExpressionNot,
    "relative": expr.Relative,
    "relative+": expr.RelativePlus,
    "pipe": expr.Pipe,
    "slashplus": expr.ExpressionBetween,
    "prefix": expr.Prefix,
}


def rooted(case: str, nodes: int) -> list[expr.Expression]:
    """The expressions with the operator of the case on top, and base operators below."""
    match case:
        case "pipe":
            return [expr.Pipe(E, F) for E, F in product(expressions(nodes - 1), repeat=2)]
        case "slashplus":
            return [expr.ExpressionBetween(F, E) for E, F in product(expressions(nodes - 1), repeat=2)]
        case "prefix":
            return [expr.Prefix(E) for E in [*expressions(nodes), AFTER_A]]
        case _:
            return [E for E in expressions(nodes + 1) if isinstance(E, ROOTS[case])]


def shown(E: expr.Expression, h: tuple[str, ...], M: printed.Machine) -> dict[str, Any]:
    return {
        "query": show(E),
        "events": [{"type": letter} for letter in h],
        "expected": sorted(meaning(E, h)),
        "got": sorted(M.events(h)),
    }


LIBRARY = "against the library's automata"
GOES_ON = (
    "the empty moves lead from an accepting state of M_E to the pair of this state and the start state of M_F, so that "
    "E is read further"
)


def _corrected_between(E: expr.ExpressionBetween) -> printed.Machine:
    MF, ME = (printed.determinized(printed.machine(F, LETTERS)) for F in (E.left, E.right))
    return printed.slash_plus(MF, ME, corrected=True)


def _which(name: str, nodes: int) -> str:
    """Say what the expressions of `rooted` are."""
    match name:
        case "pipe" | "slashplus" if nodes > 2:
            return f"all such expressions with operands to {nodes - 1} nodes {over(nodes - 1)}"
        case "prefix":
            return f"prefix of all to {nodes} nodes {over(nodes)}, and of {show(AFTER_A)}"
        case _:
            return all_such(name, nodes + 1)


def agrees(Es: list[expr.Expression]) -> tuple[dict[str, Any] | None, str]:
    """The compiled automata against the meaning, on small histories."""
    found, cases = difference(
        product(Es, histories(4)), lambda E, h: compile_expression(E).events(Stream(map(Event, h)))
    )
    return found, f"{cases} cases of these against the meaning, all histories to 4 events"


def _construction(name: str, reading: str | None = None) -> None:
    @claim(f"vldb92.constr:{name}", f"the automaton, case {name}", "construction", reading)
    def check(effort: Effort) -> Finding:
        nodes = 2 if effort == "quick" else 3
        Es = rooted(name, nodes)
        wrong, against = agrees(Es)
        if wrong is not None:
            return Finding("refuted", "exhaustive", "the compiled automaton", wrong)
        of = f"{len(Es)} expressions: {_which(name, nodes)}" if len(Es) > 2 else _which(name, nodes)
        bound = f"{of}, on all histories of a and b {LIBRARY}; {against}"
        wrong = None
        for E in Es:
            M = printed.machine(E, LETTERS)
            if (h := separated(E, M)) is not None:
                wrong = wrong or shown(E, h, M)
                if not isinstance(E, expr.ExpressionBetween) or separated(E, _corrected_between(E)) is not None:
                    return Finding("refuted", "decided", bound, wrong)
        return Finding("holds-corrected" if wrong else "holds", "decided", bound, wrong, wrong and GOES_ON)


def _also(M: printed.Machine, more: Iterable[printed.State]) -> printed.Machine:
    return replace(M, accepting=M.accepting | frozenset(more))


def _or(M1: printed.Machine, M2: printed.Machine) -> printed.Machine:
    M = _CONJUNCTION(M1, M2)
    return _also(M, ((p, q) for p, q in M.states if p in M1.accepting or q in M2.accepting))


def _left_too(M1: printed.Machine, M2: printed.Machine) -> printed.Machine:
    return _also(_RELATIVE(M1, M2), ((1, q) for q in M1.accepting))


def _next_alone(M: printed.Machine, empty_sequences: bool) -> printed.Machine:
    return replace(M, accepting=frozenset(q for q in M.states if any(M.after({q}, a) & M.accepting for a in M.letters)))


_RELATIVE, _CONJUNCTION = printed.relative, printed.conjunction
_OR = ("one of the two is enough", "conjunction", lambda right: _or)
WRONG_CASES: dict[str, tuple[str, str, broken.Broken]] = {
    "null": ("its second state accepts", "null", broken.result(lambda M: _also(M, {1}))),
    "event": (
        "one a after another is not seen",
        "primitive",
        broken.result(
            lambda M: replace(M, moves={(q, a): {"q"} if q == "p" else to for (q, a), to in M.moves.items()})
        ),
    ),
    "and": _OR,
    "not": ("the automaton is not made deterministic", "determinized", broken.same()),
    "relative": ("E alone is enough", "relative", lambda right: _left_too),
    "relative+": ("one round only", "relative_plus", broken.same()),
    "pipe": ("F reads all events", "pipe", lambda right: printed.conjunction),
    "slashplus": (
        "corrected, it reads E from its start state too",
        "slash_plus",
        lambda right: lambda MF, ME, corrected=False: right(MF, ME),
    ),
    "prefix": ("one event more at most", "prefix", lambda right: _next_alone),
}
for _name, (_what, _attribute, _wrong) in WRONG_CASES.items():
    plant(f"vldb92.constr:{_name}", _what, printed, _attribute, _wrong)

for _name in ROOTS:
    if _name not in ("not", "prefix"):
        _construction(_name)
_construction(
    "not",
    "the deterministic automaton comes from the subset construction on the text's automata. Another one serves "
    "only if no step leads back to its start state (constr:not-any)",
)
_construction(
    "prefix",
    "the start state is not accepting, as section 3 says of all machines; the sequence of primitive events is "
    "not empty (constr:prefix-empty)",
)


@claim(
    "vldb92.constr:not-any",
    "!E from a deterministic automaton for E with no step into its start state",
    "construction",
    'the text says "a deterministic automaton for E" and means one that it builds: these have no move into '
    "the start state, and the subset construction keeps this. The one-state automaton of NULL would not serve",
)
def _(effort: Effort) -> Finding:
    one_state = printed.Machine(LETTERS, 0, frozenset(), {(0, a): frozenset({0}) for a in LETTERS})
    E = parse("!NULL")
    ok = separated(E, printed.negation(printed.null(LETTERS))) is None
    other = separated(E, printed.negation(one_state)) is not None
    bound = "!NULL from the automaton of NULL that the text builds, which has two states, on all histories of a and b "
    bound += LIBRARY
    return passed(ok and other, bound, "decided")


@claim(
    "vldb92.constr:prefix-empty",
    "prefix(E): the sequence that leads to an accepting state has at least one event",
    "construction",
    'the text says "a sequence of primitive events". In section 2.3 a later event satisfies E, so the '
    "sequence is not empty; with an empty one, prefix(first) would take place at the first event",
)
def _(effort: Effort) -> Finding:
    E = parse("prefix(first)")
    ok = separated(E, printed.machine(E, LETTERS)) is None
    other = separated(E, printed.machine(E, LETTERS, empty_sequences=True)) is not None
    return passed(ok and other, f"prefix(first), on all histories of a and b {LIBRARY}", "decided")


ALL_UNARY: tuple[Callable[[expr.Expression], expr.Expression], ...] = (
    *(expr.ExpressionNot, expr.RelativePlus, expr.Before, expr.Happened, expr.Prefix),
    lambda E: expr.Nth(2, E),
    lambda E: expr.EveryNth(2, E),
)
ALL_BINARY: tuple[Callable[[expr.Expression, expr.Expression], expr.Expression], ...] = (
    *(expr.ExpressionAnd, expr.ExpressionOr, expr.Pipe, expr.After, expr.ExpressionBetween, expr.ExpressionSeries),
    lambda E, F: expr.Relative((E, F)),
    lambda E, F: expr.Prior((E, F)),
    lambda E, F: expr.Sequence((E, F)),
)


def _compiled(id_: str, title: str, everywhere: bool) -> None:
    @claim(
        id_,
        title,
        "theorem" if not everywhere else "corollary",
        "all operators except /+ (after the corollary, see constr:slashplus) and firstAfter, which uses it. prefix "
        "is as in constr:prefix-empty. The operators that section 2.3 defines by a formula use it as corrected",
    )
    def check(effort: Effort) -> Finding:
        nodes, length = (3, 3) if effort == "quick" else (4, 4)
        binary = [make for make in ALL_BINARY if make is not expr.ExpressionBetween]
        Es = [expr.AnyEvent(), *expressions(nodes, ALL_UNARY, binary)]
        for E in Es:
            M = printed.machine(E, LETTERS)
            for h in histories(length):
                asked = frozenset(range(len(h)) if everywhere else {len(h) - 1})
                if M.events(h) & asked != meaning(E, h) & asked:
                    return Finding("refuted", "exhaustive", "the automata as printed", shown(E, h, M))
        bound = (
            f"the printed automata of {len(Es)} expressions: any, and all to {nodes} nodes over {IN_WORDS} with the "
            "operators of section 2.2 and later, except /+ and firstAfter (with <2> for <n>, and two operands for m); "
            f"on all histories to {length} events of a and b"
        )
        return Finding("holds", "exhaustive", bound)

    plant(id_, _OR[0], printed, _OR[1], _OR[2])


_compiled("vldb92.thm1", "The last event is in E[h] exactly if the deterministic automaton accepts h", False)
_compiled("vldb92.cor1", "E[h] is the events at which the automaton is in an accepting state", True)

# --- correlation variables --------------------------------------------------------------------------------------------

SEQUENCE = "exists x (relative(!NULL = x, b and first) and relative(a = x, !NULL))"
"""sequence(a, b): by the event of x alone, at which both sides have to be, is it not prior(a, b)."""

IN_CASES: dict[str, list[str]] = {
    "no-variables": ["relative(a, b)", "!a and b"],
    "equated": ["exists x (relative(a, b) = x)", "exists x (exists y (relative(a = x, b) = y))", SEQUENCE],
    "relative": ["exists x (relative(relative(a, b = x), a))", "exists x (relative(a = x, x))"],
    "and": [
        "exists x (relative(relative(a, b = x), a) and relative(x, !b))",
        "exists x (exists y (relative(a = x, b = y) and relative(x, relative+(b))))",
        "exists x (relative(a = x, a) and relative(relative(b, x), a))",  # one side's mark alone is another meaning
        "exists x (relative(b, !NULL) and relative(a = x, b))",
    ],
    "exists": [
        "exists x (exists y (prior(a = x, b = y) and y))",
        "!(exists x (relative(a, b = x) and relative(x, a)))",
        "relative+(exists x (a = x and first))",
        SEQUENCE,
        "exists x (relative(exists y (relative(a = y, b = x)), b))",
        # b may be where x is, but not where y is
        "exists x (exists y (relative(b = x, !NULL) and relative(!NULL = y, b and first) and relative(a = y, !NULL)))",
    ],
}
ALONE = "the text has no construction for a variable on its own; we read it as !NULL = x"
ALSO = {
    "and": "no two variables share an event in both operands; where they do, the product may fail (thm2)",
    "equated": "for E = x = y the empty move passes x before y, which may fail below an and (thm2)",
}


def _correlated(name: str, texts: list[str]) -> None:
    alone = any(isinstance(E, expr.ExpressionVariable) for text in texts for E in expr.subexpressions(parse(text)))
    reading = "; ".join([*[ALONE] * alone, *[text for case, text in ALSO.items() if case == name]]) or None

    @claim(f"vldb92.constr-corr:{name}", f"the marked automaton, case {name}", "construction", reading)
    def check(effort: Effort) -> Finding:
        Es = list(map(parse, texts))
        wrong, against = agrees(Es)
        for E in Es:
            M = marked(E, LETTERS).machine
            if wrong is None and (h := separated(E, M)) is not None:
                wrong = shown(E, h, M)
        bound = f"{'; '.join(texts)}, on all histories of a and b {LIBRARY}; {against}"
        return Finding("holds" if wrong is None else "refuted", "decided", bound, wrong)


for _name, _texts in IN_CASES.items():
    _correlated(_name, _texts)


@claim(
    "vldb92.thm2",
    "If no negated sub-expression has a variable, the marked automaton accepts where E takes place",
    "theorem",
    "in a product of two automata, one side at a time makes an empty move; with both at once `a` is not "
    "accepted either",
)
def _(effort: Effort) -> Finding:
    E = parse("exists x (exists y (a = x = y and a = y = x))")
    M = marked(E, LETTERS).machine
    found = separated(E, M)
    assert found is not None
    by_hand = list(dict.fromkeys([E, *(parse(text) for texts in IN_CASES.values() for text in texts)]))
    wrong, against = agrees(by_hand)
    bound = f"corrected, the automata of the library, of {len(by_hand)} hand-made expressions, the one of "
    bound += f"the counterexample and the {len(by_hand) - 1} of the rows constr-corr, each once: {against}"
    correction = "letters that say which variables are at an event, instead of marks on states"
    status: Status = "holds-corrected" if wrong is None else "refuted"
    return Finding(status, "example", bound, shown(E, found, M), correction)


@claim(
    "vldb92.slashplus-corr",
    "F /+ E by correlation variables",
    "definition",
    reading="the text has no quantifier; the variable is bound around the whole expression",
)
def _(effort: Effort) -> Finding:
    nodes = 2 if effort == "quick" else 3
    small = expressions(nodes)
    pairs = [
        (expr.ExpressionBetween(F, E), definition(expr.ExpressionBetween(F, E), ANY)) for E in small for F in small
    ]
    ok = all(by is not None and same(E, by) for E, by in pairs)
    return passed(
        ok,
        f"{len(pairs)} pairs of operands, all to {nodes} nodes {over(nodes)}, on all histories: equal minimal automata",
        "decided",
    )


@claim(
    "vldb92.corr-general",
    "Correlation variables under a negation have automata too",
    "theorem",
    "by the library: the text omits the full construction",
)
def _(effort: Effort) -> Finding:
    nodes, length = (4, 4) if effort == "quick" else (5, 5)
    a, b = map(expr.Primitive, LETTERS)
    leaves, binary = (
        (a, b, expr.ExpressionVariable("x"), expr.Equated(a, "x")),
        (*BINARY, lambda E, F: expr.Prior((E, F))),
    )
    bodies = expressions(nodes, [expr.ExpressionNot], binary, leaves)
    Es = [expr.Exists("x", E) for E in bodies if any(map(_denies_variable, expr.subexpressions(E)))]
    for E in Es:
        A = compile_expression(E)
        for h in histories(length):
            if A.events(Stream(map(Event, h))) != meaning(E, h):
                return Finding("refuted", "exhaustive", f"{show(E)} over {' '.join(h)}")
    bound = f"{len(Es)} expressions exists x (E), all with E over a, b, x and a = x with !, and, relative and prior to "
    bound += f"{nodes} nodes and x below a !, on all histories to {length} events of a and b"
    return Finding("holds", "exhaustive", bound)


def _denies_variable(E: expr.Expression) -> bool:
    return isinstance(E, expr.ExpressionNot) and "x" in free_variables(E)


plant("vldb92.constr:not-any", "nothing is negated", printed, "negation", broken.same())
plant(
    "vldb92.constr:prefix-empty",
    "sequences of no event count",
    printed,
    "machine",
    lambda right: lambda E, letters, empty_sequences=True: right(E, letters, empty_sequences=True),
)


def _any_event(E: expr.Expression) -> expr.Expression:
    """Read a variable that stands alone as any event."""
    if isinstance(E, expr.ExpressionVariable):
        return expr.ExpressionNot(expr.Null())
    return expr.rebuilt(E, tuple(map(_any_event, expr.children(E))))


plant(
    "vldb92.thm2 vldb92.corr-general",
    "a variable that stands alone is any event",
    sys.modules[__name__],
    "compile_expression",
    broken.argument(_any_event),
)
plant("vldb92.constr-corr:no-variables", "E alone is enough", printed, "relative", lambda right: _left_too)
plant(
    "vldb92.constr-corr:equated",
    "each state is marked",
    printed,
    "equated",
    lambda right: lambda M, w: replace(M, marks={q: M.marks_of(q) | {w} for q in M.machine.states}),
)
plant(
    "vldb92.constr-corr:relative",
    "a variable of both sides is as one of each",
    printed,
    "free_variables",
    broken.always(frozenset()),
)
plant(
    "vldb92.constr-corr:and",
    "marked with a variable of both where one of them is",
    printed,
    "conjunction_app2",
    lambda right: lambda M1, M2, *_: right(M1, M2, frozenset(), frozenset()),
)
plant(
    "vldb92.constr-corr:exists",
    "the mark is taken away, and nothing else",
    printed,
    "exists",
    lambda right: lambda M, w: replace(M, marks={q: m - {w} for q, m in M.marks.items()}),
)
plant(
    "vldb92.slashplus-corr",
    "what defines it lacks its last !E",
    sys.modules[__name__],
    "definition",
    broken.result(lambda E: replace(E, operand=E.operand.left)),
)
