"""Claims of vldb92 that are examples: sections 2.4, 5, 6.2 and 7."""

from __future__ import annotations

import sys
from itertools import pairwise, product

from cerify.automata.dfa.compile import compile_expression
from cerify.semantics.event_expressions.parse import parse
from cerify.semantics.events import Event, Stream
from proofs_tests.claims import broken
from proofs_tests.claims.ledger import Effort, Finding, Status, claim, plant
from proofs_tests.claims.vldb92_search import passed, same
from proofs_tests.unit.semantics import expression_cases as examples


def _example(
    id_: str,
    title: str,
    cases: list[tuple[str, str, list[int]]],
    reading: str | None = None,
    of: str = "made by hand",
) -> None:
    @claim(id_, title, "example", reading)
    def check(effort: Effort) -> Finding:
        wrong = [(query, S) for query, S, expected in cases if examples.found(query, S) != expected]
        histories = len({S for _, S, _ in cases})
        bound = f"{histories} histories {of}" if histories > 1 else f"a history {of}"
        bound += f", by {len(cases)} expressions" if len(cases) > histories else ""
        return Finding("refuted" if wrong else "holds", "example", bound)


for _name, (_query, _S, _expected) in examples.EXAMPLES.items():
    _reading = "without start, which is not an a: after it nothing is left" if _name == "a series" else None
    _id = f"vldb92.ex2.4.1:{_name.replace(' ', '-')}"
    _of = "E ^ !prior(!E, E), for E = a" if _name == "a series" else _query
    _example(_id, f"{_name.capitalize()}: {_of}", [(_query, _S, _expected)], _reading)

_cuts = [examples.NESTED_CUT, examples.PIPED_CUT]
_example(
    "vldb92.ex2.4.2:history",
    "Three or more cuts without a raise between: the last two D of a history",
    [(q, "D x D I D D x D D", [7, 8]) for q in _cuts],
    "the drawing of the text's history is missing; ours replaces it",
)


@claim("vldb92.ex2.4.2", "Both expressions for three cuts without a raise agree", "example")
def _(effort: Effort) -> Finding:
    return passed(same(*map(parse, _cuts)), "on all histories: their minimal automata are equal", "decided")


@claim(
    "vldb92.discount-corr",
    "The expression with a correlation variable agrees with both expressions of section 2.4.2",
    "example",
    "the text has no quantifier; the variable is bound around the whole expression",
)
def _(effort: Effort) -> Finding:
    ok = same(parse(examples.CORRELATED_CUT), *map(parse, _cuts))
    return passed(ok, "on all histories: their minimal automata are equal", "decided")


_SCOPE = "∃x is around the whole expression; the text has no parentheses"
_example(
    "vldb92.corr:second",
    "The second example of section 5",
    [(examples.E_NO_D, "a b d c a b c", [6])],
    _SCOPE,
    "of the text",
)


@claim(
    "vldb92.corr:first",
    "E, E' and E'' at the last event of h1, h2 and h3; no history that begins with h1 has E'' at its end",
    "example",
    _SCOPE,
)
def _(effort: Effort) -> Finding:
    expected = {
        examples.E: (False, False, True),
        examples.E_PRIME: (False, True, True),
        examples.E_SECOND: (False, False, False),
    }
    hs = (examples.H1, examples.H2, examples.H3)
    ok = all(tuple(len(h.split()) - 1 in examples.found(E, h) for h in hs) == at for E, at in expected.items())
    bound = "the three histories of the text, and all histories that begin with h1, by the library's automaton of E''"
    return passed(ok and not _may_come(examples.E_SECOND, examples.H1), bound, "example")


def _may_come(query: str, h: str) -> bool:
    """Whether the expression takes place at the end of h, or of some longer history that begins with it."""
    A = compile_expression(parse(query))
    q = 0
    for event in h.split():
        q = A.step(q, A.alphabet.type_of(Event(event)))
    reached, pending = {q}, [q]
    while pending:
        more = set(A.following[pending.pop()].values()) - reached
        reached |= more
        pending += more
    return not reached.isdisjoint(A.accepting)


def _end_of_the_point(history: tuple[str, ...]) -> int | None:
    """Where the rules of section 7.1 end a point that begins with a serve; None if it may go on."""
    to_hit, state = {"s1": "h2", "s2": "h1"}[history[0]], "served"
    for n, event in enumerate(history[1:], 1):
        match state, event:
            case "served" | "hit", "front":  # the other player has to hit it now
                state = "in play"
            case "hit" | "in play" | "bounced", "wall":
                pass
            case "in play", "floor":
                state = "bounced"
            case "in play" | "bounced", hit if hit == to_hit:
                state, to_hit = "hit", "h1" if to_hit == "h2" else "h2"
            case _:
                return n
    return None


def _first_differences(query: str, serves: tuple[str, ...], length: int) -> list[tuple[tuple[str, ...], int | None]]:
    """The points at whose end by the rules, or at whose every event, the expression does not take place first."""
    automaton, found = compile_expression(parse(query)), []
    for n in range(length + 1):
        for serve, rest in product(serves, product(("h1", "h2", "front", "floor", "wall"), repeat=n)):
            at, end = automaton.events(Stream(map(Event, (serve, *rest)))), _end_of_the_point((serve, *rest))
            if min(at, default=None) != end:
                found.append(((serve, *rest), end))
    return found


FIRST_OF = "the point ends where the expression first takes place after the serve"


def _point(id_: str, title: str, printed: str, corrected: str, shown: str, serves: tuple[str, ...], words: str) -> None:
    """An expression for the end of a point, as printed and as corrected, against the rules."""

    @claim(f"vldb92.racket:{id_}", title, "example", FIRST_OF)
    def check(effort: Effort) -> Finding:
        length = 4 if effort == "quick" else 6
        wrong = _first_differences(corrected, serves, length)
        history = tuple(shown.split())
        counterexample = {
            "query": printed.strip().splitlines()[-1].strip(),
            "events": [{"type": t} for t in history],
            "expected": [_end_of_the_point(history)],
            "got": examples.found(printed, shown),
        }
        points = len(serves) * sum(5**n for n in range(length + 1))
        bound = (
            f"corrected: all {points:,} points of {length} events and fewer after the serve, of hits, front, floor and "
        )
        bound += "wall, against the rules"
        fails = (history, counterexample["expected"][0]) in _first_differences(printed, serves, len(history) - 1)
        status: Status = "refuted" if wrong else "holds-corrected" if fails else "holds"
        return Finding(status, "exhaustive", bound, counterexample, words)


_point(
    "points",
    "The end of a point: H1 ∨ H2 ∨ H3",
    examples.END_OF_POINT,
    examples.END_OF_POINT_CORRECTED,
    "s1 front h1",
    ("s1", "s2"),
    "H2 as in racket:H2, and a fourth way, the wrong player: `H4 = (h1 ∨ h2 ∨ s1 ∨ s2) | (sequence(s1 ∨ h1, h1) ∨ "
    "sequence(s2 ∨ h2, h2))`",
)
_point(
    "prefix",
    "The end of a point: the point cannot go on",
    examples.END_BY_PREFIX_AS_PRINTED,
    examples.END_BY_PREFIX_CORRECTED,
    "s1 front front",
    ("s1",),
    "sequence(first ∧ h2, ...) and sequence(first ∧ floor, ...) in the four exchanges; and ∨ sequence(s1, !front), for "
    "a bad serve",
)


H2 = "!wall | ((first and !front) /+ (h1 or h2))"
H2_CORRECTED = "!wall | sequence(h1 or h2, !front)"


def _after_a_hit(history: tuple[str, ...]) -> list[int]:
    """Where the sentence of H2 ends the point: at the first event after a hit, walls left out, unless it is front."""
    seen = [n for n, event in enumerate(history) if event != "wall"]
    return [n for m, n in pairwise(seen) if history[m] in ("h1", "h2") and history[n] != "front"]


@claim("vldb92.racket:H2", "H2: ignoring walls, the next event after a hit must be the front wall", "example")
def _(effort: Effort) -> Finding:
    length, wrong = 4 if effort == "quick" else 5, 0
    histories = [h for n in range(1, length + 1) for h in product(("h1", "h2", "front", "floor", "wall"), repeat=n)]
    corrected = compile_expression(parse(H2_CORRECTED))
    for h in histories:
        wrong += sorted(corrected.events(Stream(map(Event, h)))) != _after_a_hit(h)
    S = "s1 front h2 h1"
    got, expected = examples.found(H2, S), _after_a_hit(tuple(S.split()))
    counterexample = {
        "query": H2,
        "events": [{"type": t} for t in S.split()],
        "expected": expected,
        "got": got,
        "why": "/+ leaves out the events at which a hit takes place, and so a hit right after a hit",
    }
    bound = f"corrected: all {len(histories)} histories to {length} events of hits, front, floor and wall"
    status: Status = "refuted" if wrong else "holds" if got == expected else "holds-corrected"
    return Finding(status, "exhaustive", bound, counterexample, "`(!wall) | sequence(h1 ∨ h2, !front)`")


plant(
    "vldb92.racket:H2",
    "the sentence is corrected to two hits in a row",
    sys.modules[__name__],
    "H2_CORRECTED",
    lambda right: right.replace("!front", "(h1 or h2)"),
)


AIRPORT = {
    "AT_A": "plane I is expected to land at A but has not landed there as yet",
    "LAST_B": "last planned landing of plane I at B",
    "UB": "an unexpected landing by plane I at B",
    "ELAB": "a landing expected in A that happened at B",
}
for _query, _cases in {
    "AT_A": [("EA(8) EA(7) LA(8) LA(7) x", [2]), ("EA(7) EB(7) x", [1, 2])],
    "LAST_B": [("EB(7) LB(8) LB(7) LB(7)", [2]), ("EB(7) LA(7) LB(7)", []), ("EB(7) EA(7) LB(7)", [2])],
    "UB": [
        ("EA(7) LB(8) LB(7) LB(7)", [2]),
        ("EA(7) LA(7) LB(7)", []),
        ("EB(7) x LB(7)", []),
        ("EA(7) EB(7) LB(7)", [2]),
    ],
    "ELAB": [("EA(8) EA(7) LB(8) LB(7)", [3]), ("EA(7) LA(7) LB(7)", []), ("EA(7) EB(7) LB(7)", [2])],
}.items():
    _example(
        f"vldb92.airport:{_query}",
        f"{_query} of section 7.2: {AIRPORT[_query]}",
        [(f"{examples.AIRPORT}{_query}(7)", h, at) for h, at in _cases],
        "as printed, a declaration for one runway does not cancel the one for the other. The text speaks of the "
        "last declaration, or of the previous one, and shows no history with both",
    )

_example(
    "vldb92.attr:complete",
    "complete(I): an order and a perform of one account",
    [
        ("complete(I) := prior(order(I, Q), perform(I, A)); complete(I)", "order(1,5) perform(1,5)", [1]),
        ("complete(I) := prior(order(I, Q), perform(I, A)); complete(I)", "order(1,5) perform(2,5)", []),
    ],
)


def _misread(what: str, *instead: str) -> broken.Broken:
    """Read another text than the one that stands there."""
    return broken.argument(lambda text: text.replace(what, *instead))


for _id, (_what, _misreading) in {
    "ex2.4.1:all": ("the first a alone", _misread("a", "a ^ first")),
    "ex2.4.1:fifth": ("the fourth", _misread("<5>", "<4>")),
    "ex2.4.1:followed-immediately": ("sequence is read as prior", _misread("sequence", "prior")),
    "ex2.4.1:followed-eventually": ("prior is read as sequence", _misread("prior", "sequence")),
    "ex2.4.1:none-between": ("what is between is not asked", _misread("!before(interest)", "any")),
    "ex2.4.1:a-series": ("what is before is not asked", _misread(" ^ !prior(!a, a)", "")),
    "ex2.4.2:history": (
        "raises are not asked",
        broken.argument(lambda text: text.replace("!prior(I, D)", "any").replace("I ∨ D", "D")),
    ),
    "corr:second": ("the last x is read as b", _misread("relative(x, prior(d", "relative(b, prior(d")),
    "airport:AT_A": ("a landing is not asked", _misread("!happened(LA(I))", "any")),
    "airport:LAST_B": ("each landing counts, and not the first alone", _misread(" | first", "")),
    "airport:UB": ("a landing at A before is not asked", _misread(" ∧ !before(LA(I))", "")),
    "airport:ELAB": ("a landing at B is not asked", _misread("AT_A(I) ∧ UB(I)", "AT_A(I)")),
    "attr:complete": ("the accounts need not be equal", _misread("perform(I,", "perform(J,")),
}.items():
    plant(f"vldb92.{_id}", _what, examples, "parse", _misreading)
plant(
    "vldb92.corr:first",
    "E'' asks for a b just before the c behind a, so that it may still come behind h1",
    examples,
    "E_SECOND",
    lambda right: right.replace("relative(b, prior(a, c))", "relative(a, sequence(b, c))"),
)
plant(
    "vldb92.racket:points vldb92.racket:prefix",
    "a hit by the other player is as good",
    sys.modules[__name__],
    "parse",
    broken.argument(
        lambda text: text.replace("sequence(s1 ∨ h1, h1)", "s1").replace(", h1, front)", ", h1 ∨ h2, front)")
    ),
)


plant(
    "vldb92.ex2.4.2",
    "the cuts need not follow each other",
    sys.modules[__name__],
    "parse",
    _misread("sequence(D, D, D)", "prior(D, D, D)"),
)
plant(
    "vldb92.discount-corr",
    "a raise before the third cut is not asked",
    sys.modules[__name__],
    "parse",
    _misread("!prior(I, d3)", "any"),
)
