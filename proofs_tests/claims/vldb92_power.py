"""Claims of vldb92 about what can be said: the base set is minimal, and has the power of regular expressions."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from itertools import product

from cerify.automata.dfa.compile import compile_expression
from cerify.automata.dfa.model import DFA
from cerify.semantics.event_expressions import syntax as expr
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, claim, plant
from proofs_tests.claims.vldb92_search import (
    BASE,
    LETTERS,
    difference,
    expressions,
    histories,
    meaning,
    over,
    passed,
)
from proofs_tests.unit.semantics import expression_cases as examples


def _also_behind(A: DFA) -> bool:
    """Whether E takes place wherever it does on the history without its first events."""
    reached = {(0, q) for q in set(A.following[0].values())}
    seen: set[tuple[int, int]] = set()
    while reached - seen:
        seen |= reached
        reached = {
            (A.following[p][s], A.following[q][s]) for p, q in seen for s in A.following[p] if s in A.following[q]
        }
    return all(q in A.accepting for p, q in seen if p in A.accepting)


def _by_last_event(A: DFA) -> bool:
    """Whether it depends on nothing but the last event."""
    symbols = {s for step in A.following for s in step}
    return all(len({step[s] in A.accepting for step in A.following if s in step}) == 1 for s in symbols)


def _counts(A: DFA) -> bool:
    """Whether some word of the letters moves states around in a circle, in the automaton or below it."""
    steps = [
        tuple(step.get(s, q) for q, step in enumerate(A.following)) for s in {s for step in A.following for s in step}
    ]
    monoid, pending = set(steps), list(steps)
    while pending:
        f = pending.pop()
        for g in steps:
            composed = tuple(g[q] for q in f)
            if composed not in monoid:
                monoid.add(composed)
                pending.append(composed)
    for f in monoid:
        power, seen = f, []
        while power not in seen:
            seen.append(power)
            power = tuple(f[q] for q in power)
        if power != seen[-1]:
            return True
    return False


LACKING: dict[str, tuple[str, Callable[[DFA], bool], int, list[expr.Expression], str]] = {
    "not": (
        "what takes place at the end of h also does at the end of every g h, by induction. a, b and NULL test only "
        "the last event, and tests both sides, and relative and relative+ find after g the events that they find "
        "in h",
        _also_behind,
        5,
        expressions(5, unary=[expr.RelativePlus], leaves=BASE),
        "!relative(!NULL, !NULL)",
    ),
    "relative": (
        "an expression depends on the last event only",
        _by_last_event,
        5,
        expressions(5, binary=[expr.ExpressionAnd], leaves=BASE),
        "relative(a, b)",
    ),
    "relative+": (
        "only star-free (counter-free) sets can be expressed, and (aa)+ is not one",
        lambda A: not _counts(A),
        4,
        expressions(4, unary=[expr.ExpressionNot], leaves=BASE),
        "relative+(relative(a and !relative(!NULL, !NULL), a and !relative(!NULL, !NULL)))",
    ),
}


def _minimal(
    name: str, title: str, has: Callable[[DFA], bool], nodes: int, without: list[expr.Expression], witness: str
) -> None:
    @claim(f"vldb92.minimal:{name}", f"without {name}, less can be expressed", "theorem")
    def check(effort: Effort) -> Finding:
        ok = all(has(compile_expression(E)) for E in without) and not has(compile_expression(parse(witness)))
        bound = (
            f"without it, {title}: decided for {len(without)} expressions, all to {nodes} nodes over a, b and NULL "
            f"with the other three operators; {witness} violates this"
        )
        return passed(ok, bound, "proof" if name == "not" else "exhaustive")


for _name, _lacking in LACKING.items():
    _minimal(_name, *_lacking)


@claim("vldb92.minimal:and", "without and, less can be expressed", "theorem")
def _(effort: Effort) -> Finding:
    """An operator's language up to a length depends on its operands' up to that length: all of them can be listed."""
    words = list(histories(2))

    def language(E: expr.Expression) -> frozenset[tuple[str, ...]]:
        return frozenset(h for h in words if len(h) - 1 in meaning(E, h))

    found = {language(E): E for E in BASE}
    pending = list(found.values())
    for E in pending:
        pairs = [expr.Relative(pair) for F in list(found.values()) for pair in ((E, F), (F, E))]
        for G in (expr.ExpressionNot(E), expr.RelativePlus(E), *pairs):
            if language(G) not in found:
                found[language(G)] = G
                pending.append(G)
    ok = language(parse("a and !relative(!NULL, !NULL)")) not in found
    return passed(
        ok,
        f"without it, expressions give {len(found)} of the {2 ** len(words)} sets of histories to 2 events over a and "
        "b; that of a and !relative(!NULL, !NULL), which is the single event a, is not among them",
        "decided",
    )


def _regexes(nodes: int) -> list[tuple[str, expr.Expression]]:
    """Regular expressions without ε, as text for Python and as event expressions."""
    by_size: dict[int, list[tuple[str, expr.Expression]]] = {
        1: [(letter, expr.ExpressionAnd(expr.Primitive(letter), expr.First())) for letter in LETTERS]
    }
    for size in range(2, nodes + 1):
        by_size[size] = [(f"(?:{r})+", expr.RelativePlus(E)) for r, E in by_size[size - 1]]
        for left in range(1, size - 1):
            for (r, E), (s, F) in product(by_size[left], by_size[size - 1 - left]):
                by_size[size] += [(f"(?:{r})(?:{s})", expr.Relative((E, F))), (f"(?:{r}|{s})", expr.ExpressionOr(E, F))]
    return [pair for size in sorted(by_size) for pair in by_size[size]]


@claim(
    "vldb92.regular:from",
    "Every regular expression without ε has an event expression",
    "theorem",
    "by the library's automata of event expressions, which regular:to compares with the meaning",
)
def _(effort: Effort) -> Finding:
    nodes = 4 if effort == "quick" else 5
    pairs = _regexes(nodes)
    ok = True
    for text, E in pairs:
        pattern, A = re.compile(text), compile_expression(E)
        types = {letter: A.alphabet.type_of(Event(letter)) for letter in LETTERS}
        for h in histories(5):
            q = 0
            for letter in h:
                q = A.step(q, types[letter])
            ok = ok and (q in A.accepting) == bool(pattern.fullmatch("".join(h)))
    return passed(
        ok,
        f"all {len(pairs)} regular expressions to {nodes} nodes over a and b, with +, | and one after the other, all "
        "words to 5 letters",
        "exhaustive",
    )


@claim(
    "vldb92.regular:to",
    "Every event expression has a finite automaton",
    "theorem",
    "by the library; thm1 checks the printed construction",
)
def _(effort: Effort) -> Finding:
    nodes = 3 if effort == "quick" else 4
    Es = expressions(nodes)
    found, cases = difference(
        ((E, h) for E in Es for h in histories(4)),
        lambda E, h: compile_expression(E).events(examples.history(" ".join(h))),
    )
    return Finding(
        "holds" if found is None else "refuted",
        "exhaustive",
        f"{cases} cases: all expressions to {nodes} nodes {over(nodes)}, all histories to 4 events",
        found,
    )


def _read_as(kind: type[expr.Expression], instead: Callable[..., expr.Expression]) -> broken.Broken:
    """Read an operator as another expression of its operands."""

    def changed(E: expr.Expression) -> expr.Expression:
        below = tuple(map(changed, expr.children(E)))
        return instead(*below) if isinstance(E, kind) else expr.rebuilt(E, below)

    return broken.argument(changed)


HERE = sys.modules[__name__]
plant(
    "vldb92.minimal:not",
    "relative+ is read as !",
    HERE,
    "compile_expression",
    _read_as(expr.RelativePlus, expr.ExpressionNot),
)
plant(
    "vldb92.minimal:relative",
    "relative+(E) is read as relative(E, E)",
    HERE,
    "compile_expression",
    _read_as(expr.RelativePlus, lambda E: expr.Relative((E, E))),
)
plant(
    "vldb92.minimal:relative+",
    "relative(E, F) is read as one or more rounds, each of two events",
    HERE,
    "compile_expression",
    _read_as(
        expr.Relative,
        lambda *both: expr.RelativePlus(expr.Relative(tuple(expr.ExpressionAnd(E, expr.First()) for E in both))),
    ),
)
plant(
    "vldb92.minimal:and",
    "! takes place at the first event alone",
    HERE,
    "meaning",
    lambda right: lambda E, h: right(E, h) & {0} if isinstance(E, expr.ExpressionNot) else right(E, h),
)
plant(
    "vldb92.regular:from vldb92.regular:to",
    "relative+ is one round",
    HERE,
    "compile_expression",
    _read_as(expr.RelativePlus, lambda E: E),
)
